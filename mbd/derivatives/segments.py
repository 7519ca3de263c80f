r"""Runs of which derivatives can be taken, and their segments: steps that begin in one way.

At position level the step onto an event, and a last one that is shorter, restart; at other levels
the algorithmic accelerations move to the new size. The size of such a step depends on all that came
before: it is where a function becomes zero,

.. math:: g + g_s\,\delta s + g_p = 0, \qquad \delta s_e = F + \zeta\,\delta h, \qquad
          \delta h = -\frac{g_s F + g_p + g_t\,\delta t_n}{g_s\,\zeta + g_t},

with F the derivative at a held size, :math:`\zeta` that by the size (with the time) alone: the
saltation of a discrete step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.tolerances import EVENT_ROUND_OFF, WHOLE_STEPS
from mbd.derivatives.objective import Gradients, gradients
from mbd.derivatives.parameters import Stencil
from mbd.derivatives.restarts import Continuation, EventMap, Initialisation, Restart, StepChange
from mbd.derivatives.step_kernels import INSTANT_SIZE
from mbd.derivatives.steps import Steps, steps_of
from mbd.history.history import History
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import turns_so_far


@dataclass(frozen=True, eq=False)
class Crossing:
    """End of a step whose size follows the zero of the function of an event; none: its end time.

    ``also``: names of events that are at the same instant whatever the parameters.
    """

    event: Any
    state: State
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the events there."""
        return () if self.event is None else (self.event.name, *self.also)

    def saltation(
        self, owner: str, solution: Any, stencils: list[Stencil], h: float, zeta: np.ndarray
    ) -> "Saltation":
        """Return how state and time at its end follow; zeta (5, n_u) are those by the size h."""
        model, s = solution.model, self.state
        if self.event is None:
            still = np.zeros((1, INSTANT_SIZE, int(model.I[m.N_U])))
            g = Gradients(np.zeros(1), still, np.zeros((len(stencils), 1)), np.ones(1))
            return Saltation(g, zeta, 1.0)
        before = turns_so_far(model, s)
        instant = History(
            model, np.array([s.t]), s.q[None], s.v[None], s.a[None], s.lam[None], before=before
        )
        g = gradients(self.event.function, instant, stencils, False, h)
        rate = float(np.vdot(g.z[0], zeta[:INSTANT_SIZE]) + g.t[0])
        size = float(np.abs(np.asarray(self.event.function(solution), float)).max())
        length = float(solution.t[-1] - solution.t[0])
        if abs(rate) * length <= EVENT_ROUND_OFF**0.5 * size:
            raise ValueError(
                f"{owner}: {self.event.name} at t = {s.t:.6g} s only touches zero (its rate is "
                f"{rate:.2g} per second): its instant has no derivative; take a function that "
                "passes through zero, such as a rate, or end the run before"
            )
        return Saltation(g, zeta, rate)


@dataclass(frozen=True, eq=False)
class Saltation:
    """Derivatives of a state at the end of a step, and of its time, by the function that ends it.

    ``g`` are the derivatives of the function, ``zeta`` (5, n_u) those of the state by the size of
    the step, ``rate`` that of the function along them and time [1/s].
    """

    g: Gradients
    zeta: np.ndarray
    rate: float

    def apply(self, z: np.ndarray, t: float, j: int) -> float:
        """Add the saltation to the tangent z (5, n_u) by the j-th parameter; return that of time.

        z is the tangent at a held size, t that of the time at which the step begins.
        """
        along = np.vdot(self.g.z[0], z[:INSTANT_SIZE])
        longer = -float(along + self.g.p[j, 0] + self.g.t[0] * t) / self.rate
        z += longer * self.zeta
        return t + longer

    def apply_transposed(self, z: np.ndarray, t: float) -> tuple[float, np.ndarray]:
        """Add the saltation to the adjoint z (5, n_u); return those of time and parameters."""
        share = -(float(np.vdot(z[:INSTANT_SIZE], self.zeta[:INSTANT_SIZE])) + t) / self.rate
        z[:INSTANT_SIZE] += share * self.g.z[0]
        return t + share * float(self.g.t[0]), share * self.g.p[:, 0]


@dataclass(frozen=True, eq=False)
class Segment:
    """Steps that begin in one way.

    Parameters
    ----------
    begin : Restart or Continuation
    steps : Steps
    first : int
        The index of its first instant among all that are recorded.
    end : Crossing, optional
        What the size of its only step follows.
    branch : bool
        Whether the run does not go on from its end: an event at which nothing ends was located.
    """

    begin: Restart | Continuation
    steps: Steps
    first: int
    end: Crossing | None = None
    branch: bool = False


def segments_of(
    owner: str, model: Model, method: Method, solution: Any, start: Initialisation | State,
    step: float, t_end: float,
) -> list[Segment]:  # fmt: skip
    """Return the segments of a run in steps of one size; from a state of a run it goes on."""
    t, happened = np.asarray(solution.t), list(solution.events)
    cuts = [*np.flatnonzero(t[1:] == t[:-1]).tolist(), len(t) - 1]
    out: list[Segment] = []
    rule: Any = start
    at, first = None, 0
    for last in cuts:
        h = min(step, t_end - t[first]) if last > first else 0.0
        begin: Restart | Continuation
        if isinstance(rule, State):
            still = np.zeros(int(model.I[m.N_U]))
            begin = Continuation(rule, rule.a, still, recorded=True)
        else:
            begin = Restart(model, rule, at, h)
        there = [x for x in happened if x.t == t[last]]
        ending = [x for x in there if x.state is there[0].state and x.event.ends]
        alike = [x for x in there if x.event.ends or x.state is not there[0].state]
        within = [x for x in happened if t[first] < x.t <= t[last] and not x.event.ends]
        within = [x for x in within if not any(x is y for y in alike)]
        if len({id(x.event.function) for x in ending}) > 1:
            names = " and ".join(x.name for x in ending)
            raise ValueError(
                f"{owner}: {names} happen at one instant, t = {t[last]:.6g} s; with other values "
                "one is before the other, and the run goes on in another way: no derivative; let "
                "one event do both, or move one of them"
            )
        stretch = _Interval(model, method, solution, begin, h, first, last, at is not None)
        also = tuple(x.name for x in alike if x is not ending[0]) if ending else ()
        out += stretch.segments(ending[0] if ending else None, within, also)
        if last < len(t) - 1:
            if not there:
                raise ValueError(
                    f"{owner}: steps of {h:.3g} s are lost in the digits of the time "
                    f"{t[last]:.6g} s; take larger ones"
                )
            rule = EventMap(method, tuple(x.event for x in there))
            at, first = there[0].state, last + 1
    return out


@dataclass(eq=False)
class _Interval:
    """The instants first to last of a run, between two events that change something.

    ``moves``: it begins at an event, of which the time moves with parameters.
    """

    model: Model
    method: Method
    solution: Any
    begin: Restart | Continuation
    h: float
    first: int
    last: int
    moves: bool

    def segments(self, event: Any, within: list[Any], also: tuple[str, ...]) -> list[Segment]:
        """Return its segments; it ends at an event, or none; those `within` end nothing."""
        t, h, first, last = np.asarray(self.solution.t), self.h, self.first, self.last
        size = t[last] - t[last - 1] if last > first else h
        off = WHOLE_STEPS * h + 4.0 * np.finfo(float).eps * abs(t[last])
        other = last > first and (event is not None or abs(size - h) > off)
        one_step = self.moves and last == first + 1  # to the end of the run
        end = last - 1 if other else last
        steps = self._steps(end)
        out: list[Segment] = []
        begin, at = self.begin, first
        sides = {int(np.searchsorted(t, x.t, side="left")) - 1 for x in within}
        for n in sorted({end, *(i for i in sides if i < end)}):
            crossing = Crossing(None, self._state(n)) if one_step and n > at else None
            out.append(Segment(begin, steps.part(at - first, n - first), at, crossing))
            still = np.zeros(int(self.model.I[m.N_U]))
            begin, at = Continuation(self._state(n), steps.a[n - first], still), n
            out += [
                self._step_onto(n, steps.part(n - first, n - first), x, (), branch=True)
                for x in within
                if t[n] < x.t <= t[min(n + 1, last)] and n < last
            ]
        if other:
            out.append(self._step_onto(end, steps.part(end - first, end - first), event, also))
        return out

    def _state(self, n: int) -> State:
        """Return an instant; angles are counted from that of the next event, which is near."""
        if n == self.first:
            return self.begin.state
        x = self.solution
        near = [e.state.memory for e in x.events if e.t >= x.t[n]]
        memory = near[0] if near else x.state.memory
        return State(float(x.t[n]), x.q[n], x.v[n], x.a[n], x.lam[n], memory=memory,
                     off=self.begin.state.off, step=self.h)  # fmt: skip

    def _steps(self, end: int) -> Steps:
        """Return the steps of one size."""
        x, which = self.solution, slice(self.first, end + 1)
        instants = *(np.asarray(y[which]) for y in (x.q, x.v, x.a)), x.acting_lam(which)
        sizes, t = np.full(end - self.first, self.h), np.array(x.t[which])
        begin = self.begin
        return steps_of(
            self.method, t, instants, begin.state, begin.before, sizes, x.dropped(which)
        )

    def _step_onto(
        self, n: int, so_far: Steps, occurrence: Any, also: tuple[str, ...], branch: bool = False
    ) -> Segment:
        """Return one step of another size, from the n-th instant onto an event, or the end."""
        here, h, weights = self._state(n), self.h, self.method.facts.weights
        assert weights is not None
        end = occurrence.state if occurrence is not None else self._state(self.last)
        size = end.t - here.t
        crossing = None
        if occurrence is not None or self.moves:
            crossing = Crossing(None if occurrence is None else occurrence.event, end, also)
        by_position = self.method.facts.level == "position" and self.model.n_lam
        begin: Restart | Continuation
        if by_position and not np.isclose(size, h, rtol=1e-12, atol=0.0):
            begin = Restart(self.model, StepChange(self.method), here, size)
        else:
            shift, change = weights.alpha_m - weights.alpha_f, so_far.a[0] - so_far.before
            move = shift * (size - h) / h
            state = here.replace(v=so_far.v[0], a=so_far.a[0], alg=so_far.alg[0] + move * change)
            slope = np.zeros(int(self.model.I[m.N_U]))
            slope[self.model.numbering.v] = shift / h * change
            begin = Continuation(state, so_far.before, slope, move)
        s = begin.state
        instants = tuple(
            np.array(x) for x in ((here.q, end.q), (s.v, end.v), (s.a, end.a), (s.lam, end.lam))
        )
        steps = steps_of(
            self.method, np.array([here.t, end.t]), instants, s, begin.before, np.array([size]),
            self.solution.dropped(slice(n, n + 2)),
        )  # fmt: skip
        return Segment(begin, steps, n, crossing, branch)
