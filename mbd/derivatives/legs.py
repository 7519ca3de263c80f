r"""The legs of a run: steps that begin in one way, and what the size of the last of them follows.

A run with events goes in stretches. At position level the step onto an event, and a last one that
is shorter, restart; at other levels the algorithmic accelerations move to the new size. The size
of such a step depends on all that came before: it is where a function becomes zero,

.. math:: g + g_s\,\delta s + g_p = 0, \qquad \delta s_e = F + \zeta\,\delta h, \qquad
          \delta h = -\frac{g_s F + g_p + g_t\,\delta t_n}{g_s\,\zeta + g_t},

with F the derivative at a held size, :math:`\zeta` that by the size (with the time) alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbd.base.run_tolerances import WHOLE_STEPS
from mbd.base.sensitivity_tolerances import SENSITIVITY_GRAZES
from mbd.derivatives.begins import AfterEvents, Again, Begun, Start, Threshold
from mbd.derivatives.objective import Gradients, gradients
from mbd.derivatives.stencil import Stencil
from mbd.derivatives.sweep import Steps, steps_of
from mbd.front.solution import Solution
from mbd.history.history import History
from mbd.integration.method import Method
from mbd.integration.newton_loop import CONVERGED, grid_from_here
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import turns_so_far
from mbd.runs.failed_step import explain
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Run


@dataclass(frozen=True, eq=False)
class Onward:
    """No new beginning: a step of another size; algorithmic accelerations move.

    ``move`` [-] of the last change of accelerations, ``slope`` (n_v,) by the size of the step.
    """

    move: float
    slope: np.ndarray


@dataclass(frozen=True, eq=False)
class Ending:
    """What the size of a step follows: an event, or none: the end of the run in time.

    ``also``: names of events that are at the same instant whatever the parameters.
    """

    event: Any
    state: State
    also: tuple[str, ...] = ()

    def gradients(self, model: Model, stencils: list[Stencil], h: float) -> Gradients:
        """Return the derivatives of its function by the instant, by time and parameters."""
        s = self.state
        if self.event is None:
            zero = np.zeros((1, model.n_v))
            none = np.zeros((len(stencils), 1))
            return Gradients(zero, zero, zero, np.zeros((1, model.n_lam)), none, np.ones(1))
        before = turns_so_far(model, s)
        instant = History(
            model, np.array([s.t]), s.q[None], s.v[None], s.a[None], s.lam[None], before=before
        )
        return gradients(self.event.function, instant, stencils, False, h)

    def check(self, owner: str, rate: float, solution: Any) -> None:
        """Refuse a function that does not pass zero but touches it."""
        if self.event is None:
            return
        g = np.asarray(self.event.function(solution), float)
        length = float(solution.t[-1] - solution.t[0])
        if abs(rate) * length <= SENSITIVITY_GRAZES * float(np.abs(g).max()):
            raise ValueError(
                f"{owner}: {self.event.name} at t = {self.state.t:.6g} s only touches zero (its "
                f"rate is {rate:.2g} per second): its instant has no derivative; take a function "
                "that passes through zero, such as a rate, or end the run before"
            )


@dataclass(frozen=True, eq=False)
class Leg:
    """Steps that begin in one way.

    Parameters
    ----------
    begins : Threshold or Onward, optional
        How; without one the steps before go on.
    state : State
        In which they begin, with the joints that are off.
    steps : Steps
    first : int
        The index of the first instant among all that are recorded.
    ends : Ending, optional
        What the size of its only step follows.
    aside : bool
        Whether the run does not go on from its end: an event at which nothing ends was looked up.
    """

    begins: Threshold | Onward | None
    state: State
    steps: Steps
    first: int
    ends: Ending | None = None
    aside: bool = False

    @property
    def restart(self) -> Threshold | None:
        """Where states restart, if they do."""
        return self.begins if isinstance(self.begins, Threshold) else None


def legs_of(
    owner: str, model: Model, method: Method, solution: Any, start: Start | State, step: float,
    t_end: float,
) -> list[Leg]:  # fmt: skip
    """Return the legs of a run in steps of one size; from a state of a run it goes on."""
    t, happened = np.asarray(solution.t), list(solution.events)
    cuts = [*np.flatnonzero(t[1:] == t[:-1]).tolist(), len(t) - 1]
    legs: list[Leg] = []
    goes_on = isinstance(start, State)
    begin: Any = _as_it_is(start) if isinstance(start, State) else start
    at, first = None, 0
    for last in cuts:
        h = min(step, t_end - t[first]) if last > first else 0.0
        here = Threshold(model, begin, at, h)
        there = [x for x in happened if x.t == t[last]]
        group = [x for x in there if x.state is there[0].state and x.event.ends]
        alike = [x for x in there if x.event.ends or x.state is not there[0].state]
        within = [x for x in happened if t[first] < x.t <= t[last] and not x.event.ends]
        within = [x for x in within if not any(x is y for y in alike)]
        if len({id(x.event.function) for x in group}) > 1:
            names = " and ".join(x.name for x in group)
            raise ValueError(
                f"{owner}: {names} happen at one instant, t = {t[last]:.6g} s; with other values "
                "one is before the other, and the run goes on in another way: no derivative; let "
                "one event do both, or move one of them"
            )
        stretch = _Stretch(
            model, method, solution, here, first, last, at is not None, goes_on and at is None
        )
        also = tuple(x.name for x in alike if x is not group[0]) if group else ()
        legs += stretch.legs(group[0] if group else None, within, also)
        if last < len(t) - 1:
            if not there:
                raise ValueError(
                    f"{owner}: steps of {h:.3g} s are lost beside the time {t[last]:.6g} s; take "
                    "larger ones"
                )
            begin = AfterEvents(method, tuple(x.event for x in there))
            at, first = there[0].state, last + 1
    return legs


def _as_it_is(state: State) -> Any:
    """Return the beginning of steps that go on from a state of the run."""
    return lambda *_: Begun(state, state, state.a)


@dataclass(eq=False)
class _Stretch:
    """The instants of a run between two events that change something.

    ``late``: it begins at an event, of which the time moves with parameters; ``goes_on``: steps
    before it go on.
    """

    model: Model
    method: Method
    solution: Any
    here: Threshold
    first: int
    last: int
    late: bool
    goes_on: bool
    steps: Steps = field(init=False)

    def legs(self, event: Any, within: list[Any], also: tuple[str, ...]) -> list[Leg]:
        """Return its legs; it ends at an event, or none; `within` are those that end nothing."""
        t, h, last = np.asarray(self.solution.t), self.here.h, self.last
        size = t[last] - t[last - 1] if last > self.first else h
        off = WHOLE_STEPS * h + 4.0 * np.finfo(float).eps * abs(t[last])
        other = last > self.first and (event is not None or abs(size - h) > off)
        follows = self.late and last == self.first + 1  # one step, to the end of the run
        end = last - 1 if other else last
        self.steps = self._steps(end)
        out: list[Leg] = []
        begins = None if self.goes_on else self.here
        sides = {int(np.searchsorted(t, x.t, side="left")) - 1: x for x in within}
        at = self.first
        for n in sorted({end, *(i for i in sides if i < end)}):
            ends = None
            if follows and n > at:
                ends = Ending(None, self._state(n))
            out.append(Leg(begins, self._state(at),
                           self._part(at, n), at, ends))  # fmt: skip
            begins, at = None, n
            out += [
                self._short(n, x, (), aside=True)
                for x in within
                if t[n] < x.t <= t[min(n + 1, last)] and n < last
            ]
        if other:
            out.append(self._short(end, event, also))
        return out

    def _state(self, n: int) -> State:
        """Return an instant; angles are counted from that of the next event, which is near."""
        if n == self.first:
            return self.here.here.begun
        x, of = self.solution, self.here.here.begun
        near = [e.state.memory for e in x.events if e.t >= x.t[n]]
        memory = near[0] if near else x.state.memory
        return State(float(x.t[n]), x.q[n], x.v[n], x.a[n], x.lam[n], memory=memory, off=of.off,
                     step=self.here.h)  # fmt: skip

    def _steps(self, end: int) -> Steps:
        """Return the steps of one size."""
        x, here, which = self.solution, self.here.here, slice(self.first, end + 1)
        instants = *(np.asarray(y[which]) for y in (x.q, x.v, x.a)), x.acting_lam(which)
        sizes, t = np.full(end - self.first, self.here.h), np.array(x.t[which])
        return steps_of(self.method, t, instants, here.begun, here.before, sizes, x.dropped(which))

    def _part(self, a: int, b: int) -> Steps:
        """Return those between two instants."""
        return self.steps.part(a - self.first, b - self.first)

    def _short(self, n: int, occurrence: Any, also: tuple[str, ...], aside: bool = False) -> Leg:
        """Return the leg of one step of another size, from the n-th instant onto an event."""
        here, h, weights = self._state(n), self.here.h, self.method.facts.weights
        assert weights is not None
        end = occurrence.state if occurrence is not None else self._state(self.last)
        size = end.t - here.t
        by_position = self.method.facts.level == "position" and self.model.n_lam
        ends = None
        if occurrence is not None or self.late:
            ends = Ending(None if occurrence is None else occurrence.event, end, also)
        begins: Threshold | Onward
        if by_position and not np.isclose(size, h, rtol=1e-12, atol=0.0):
            begins = Threshold(self.model, Again(self.method), here, size)
            begun, before = begins.here.begun, begins.here.before
        else:
            so_far = self._part(n, n)
            shift = weights.alpha_m - weights.alpha_f
            change = so_far.a[0] - so_far.before
            begins = Onward(shift * (size - h) / h, shift / h * change)
            begun = here.replace(
                v=so_far.v[0], a=so_far.a[0], alg=so_far.alg[0] + begins.move * change
            )
            before = so_far.before
        instants = tuple(
            np.array([a, b])
            for a, b in ((here.q, end.q), (begun.v, end.v), (begun.a, end.a), (begun.lam, end.lam))
        )
        times = np.array([here.t, end.t])
        steps = steps_of(
            self.method, times, instants, begun, before, np.array([size]),
            self.solution.dropped(slice(n, n + 2)),
        )  # fmt: skip
        return Leg(begins, replace(begun, t=here.t), steps, n, ends, aside)


def held(model: Model, method: Method, chosen: Solution, start: Start) -> tuple[Solution, Leg]:
    """Return the run that takes the steps of a chosen one, none of them rejected, and its leg."""
    return held_run(model, method, np.diff(np.asarray(chosen.t)), start, chosen)


def held_run(
    model: Model, method: Method, sizes: np.ndarray, start: Start, chosen: Any
) -> tuple[Solution, Leg]:
    """Return a run in steps of such sizes (N,) [s], and its only leg."""
    begins = Threshold(model, start, None, float(sizes[0]))
    first, begun, before = begins.here.first, begins.here.begun, begins.here.before
    plan = Plan(first.t + float(sizes.sum()), float(sizes[0]))
    run = Run(model, begun, method, plan, Interrupt())
    run.remember(before)
    instants = [(first.q, begun.v, begun.a, begun.lam)]
    dropped = np.zeros((len(sizes) + 1, model.n_lam), bool)
    times = [first.t]
    for i, h in enumerate(sizes):
        if i:
            grid_from_here(run.work.I, run.work.F)
            run.work.F[m.H_NEW] = h
            run.facts.resize(run.work.I, run.work.F)
        _, status = run.steps(1)
        run.work.check_laws()
        if status != CONVERGED or run.pivoting or run.divided.steps:
            raise RuntimeError(
                f"a step of {h:.3g} s that a run chose cannot be taken again: "
                f"{explain(run.work, method)}"
            )
        s = run.state()
        dropped[i + 1, run.work.dropped] = True
        instants.append((s.q, s.v, s.a, s.lam))
        times.append(s.t)
    arrays = tuple(np.array(x) for x in zip(*instants, strict=True))
    t = np.array(times)
    steps = steps_of(method, t, arrays, begun, before, sizes, dropped)
    recorded = [x.copy() for x in arrays]
    recorded[1][0], recorded[2][0], recorded[3][0] = first.v, first.a, first.lam
    solution = Solution(
        model, t, *recorded, message=f"reached t = {t[-1]:g} s in held steps", stats=run.stats(),
        last=run.state(), method=method, before=chosen.before, options=chosen.options,
    )  # fmt: skip
    return solution, Leg(begins, begun, steps, 0)
