r"""Runs of which derivatives can be taken, and their segments: steps that begin in one way.

At position level the step onto an event, and a last one that is shorter, restart; at other levels
the algorithmic accelerations move to the new size. The size of such a step depends on all that came
before: it is where a function becomes zero,

.. math:: g + g_s\,\delta s + g_p = 0, \qquad \delta s_e = F + \zeta\,\delta h, \qquad
          \delta h = -\frac{g_s F + g_p + g_t\,\delta t_n}{g_s\,\zeta + g_t},

with F the derivative at a held size, :math:`\zeta` that by the size (with the time) alone: the
saltation of a discrete step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.door import number
from mbd.base.tolerances import SENSITIVITY_GRAZES, WHOLE_STEPS
from mbd.derivatives.controls import Control
from mbd.derivatives.objective import Gradients, gradients
from mbd.derivatives.parameters import Stencil, stencils
from mbd.derivatives.restarts import Continuation, EventMap, Initialisation, Restart, StepChange
from mbd.derivatives.step_kernels import INSTANT_SIZE
from mbd.derivatives.steps import Steps, steps_of
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.history.history import History
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.integration.newton_loop import CONVERGED, grid_from_here
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.runs.failed_step import explain
from mbd.runs.interrupts import Interrupt
from mbd.runs.methods import checked_method
from mbd.runs.plan import Plan, number_of_steps
from mbd.runs.stretch import Stretch


@dataclass(frozen=True, eq=False)
class Crossing:
    """What the size of a step follows: the zero of the function of an event; none: its end time.

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
    ) -> Saltation:
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
        if abs(rate) * length <= SENSITIVITY_GRAZES * size:
            raise ValueError(
                f"{owner}: {self.event.name} at t = {s.t:.6g} s only touches zero (its rate is "
                f"{rate:.2g} per second): its instant has no derivative; take a function that "
                "passes through zero, such as a rate, or end the run before"
            )
        return Saltation(g, zeta, rate)


@dataclass(frozen=True, eq=False)
class Saltation:
    """How a state at the end of a step, and its time, follow the function that ends the step.

    ``g`` are the derivatives of the function, ``zeta`` (5, n_u) those of the state by the size of
    the step, ``rate`` that of the function along them and time [1/s].
    """

    g: Gradients
    zeta: np.ndarray
    rate: float

    def apply(self, z: np.ndarray, t: float, j: int) -> float:
        """Add what follows to the tangent z (5, n_u) by the j-th parameter; return that of time.

        z is the tangent at a held size, t that of the time at which the step begins.
        """
        along = np.vdot(self.g.z[0], z[:INSTANT_SIZE])
        longer = -float(along + self.g.p[j, 0] + self.g.t[0] * t) / self.rate
        z += longer * self.zeta
        return t + longer

    def apply_transposed(self, z: np.ndarray, t: float) -> tuple[float, np.ndarray]:
        """Add what follows to the adjoint z (5, n_u); return those of time and parameters."""
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


def held_run(
    model: Model, method: Method, sizes: np.ndarray, start: Initialisation, chosen: Any
) -> tuple[Solution, Segment]:
    """Return a run in steps of such sizes (N,) [s], none of them rejected, and its only segment."""
    begin = Restart(model, start, None, float(sizes[0]))
    first, state = begin.here.first, begin.state
    plan = Plan(first.t + float(sizes.sum()), float(sizes[0]))
    run = Stretch(model, state, method, plan, Interrupt())
    run.remember(begin.before)
    instants = [(first.q, state.v, state.a, state.lam)]
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
    steps = steps_of(method, t, arrays, state, begin.before, sizes, dropped)
    recorded = [x.copy() for x in arrays]
    recorded[1][0], recorded[2][0], recorded[3][0] = first.v, first.a, first.lam
    solution = Solution(
        model, t, *recorded, message=f"reached t = {t[-1]:g} s in held steps", stats=run.stats(),
        last=run.state(), method=method, before=chosen.before, options=chosen.options,
    )  # fmt: skip
    return solution, Segment(begin, steps, 0)


# --- what is refused, and what to take instead ----------------------------------------------------
Taken = tuple[Solution, list[Segment]]  # some steps of a run, all of them kept


@dataclass(frozen=True, eq=False)
class Setup:
    """What a run begins with, and the parameters and controls by which it is differentiated."""

    model: Any
    method: Method
    start: Initialisation
    stencils: list[Stencil]
    controls: tuple[Control, ...] = ()


@dataclass(frozen=True, eq=False)
class DifferentiableRun:
    """A run in one or more pieces, of which each can be had with all its steps."""

    setup: Setup
    solution: Solution
    h: float
    pieces: list[Callable[[], Taken]]


def _method(owner: str, method: Any, free: bool) -> Method:
    """Return a method of which steps can be differentiated; `free` ones at velocity level."""
    if method is None:
        method = GeneralizedAlpha(tol=1e-11, constraints="velocity" if free else None)
    method = checked_method(owner, method, free=free)
    if method.facts.weights is None:
        raise ValueError(
            f"{owner}: method must be GeneralizedAlpha, of which steps have an exact derivative, "
            f"got {shown(method)}"
        )
    if method.facts.level == "stabilized":
        raise ValueError(
            f"{owner}: constraints='stabilized' has no exact derivative: its corrections of "
            "positions depend on the history of the iteration; take GeneralizedAlpha("
            "constraints='position') or 'velocity', which is the one for rtol="
        )
    if method.facts.linear_solver != "fronts":
        raise ValueError(
            f"{owner}: linear_solver must be 'fronts', got {method.facts.linear_solver!r}"
        )
    return method


def setup(
    owner: str, system: Any, parameters: Any, method: Any = None, state: Any = None,
    project: Any = None, free: bool = False, controls: tuple[Control, ...] = (),
) -> Setup:  # fmt: skip
    """Check what a run begins with."""
    model = model_of(owner, system)
    method = _method(owner, method, free)
    if method.facts.level == "velocity" and model.redundant:
        raise ValueError(
            f"{owner}: rows of closed loops depend on others, and at velocity level such a run is "
            "stabilised, which has no exact derivative; take steps of one size, and "
            "constraints='position'"
        )
    if method.facts.level == "velocity" and model.compliant.any():
        row = model.numbering.lam_labels[model.compliant.argmax()]
        raise ValueError(
            f"{owner}: at velocity level the compliant row {row!r} acts as a spring, whose force "
            "has no derivative here; take steps of one size, and constraints='position'"
        )
    if state is not None:
        state = state_of(owner, model, state)
        if state.alg is not None:
            raise ValueError(
                f"{owner}: state must be a pose and velocities to start from; that of a run that "
                "goes on depends on parameters too; take State.replace(q=..., v=...) and start "
                "from there"
            )
    if project is not None:
        project = flag(owner, "project", project)
    of = [] if controls and not parameters else stencils(owner, model, parameters)
    return Setup(model, method, Initialisation(method, state, project), of, controls)


def run(
    owner: str, system: Any, parameters: Any, t_end: Any, step: Any, *,
    method: Any = None, state: Any = None, project: Any = None, progress: Any = None,
    rtol: Any = None, events: Any = (), every: int = 1,
) -> DifferentiableRun:  # fmt: skip
    """Run a system, and check that the run has a derivative."""
    of = setup(owner, system, parameters, method, state, project, rtol is not None)
    return run_of(owner, of, t_end, step, progress=progress, rtol=rtol, events=events, every=every)


def run_of(
    owner: str, of: Setup, t_end: Any, step: Any, *, progress: Any = None, rtol: Any = None,
    events: Any = (), every: int = 1,
) -> DifferentiableRun:  # fmt: skip
    """Run what is set up, and check that the run has a derivative."""
    if every > 1:
        _refuse_with_every(rtol, events)
        return _in_pieces(of, t_end, step, progress, every)
    options: dict[str, Any] = {
        "method": of.method, "state": of.start.state, "project": of.start.project,
        "progress": progress,
    }  # fmt: skip
    if rtol is None:
        solution = simulate(of.model, t_end, step, events=events, **options)
        check_steps(owner, solution)
        h = float(step)
        with keeping(solution), quiet():
            segments = segments_of(owner, of.model, of.method, solution, of.start, h, float(t_end))
    else:
        if not (isinstance(events, tuple | list) and not events):
            raise ValueError(
                f"{owner}: events need steps of one size, got rtol= too; give step= alone, of the "
                "size that such a run took"
            )
        chosen = simulate(of.model, t_end, step, rtol=rtol, **options)
        check_steps(owner, chosen)
        sizes = np.diff(np.asarray(chosen.t))
        with keeping(chosen), quiet():
            solution, segment = held_run(of.model, of.method, sizes, of.start, chosen)
        segments, h = [segment], float(segment.steps.h.max())
    return DifferentiableRun(of, solution, h, [lambda: (solution, segments)])


def check_steps(owner: str, solution: Solution) -> None:
    """Refuse a run that took steps in another way; pass the interrupt on that ended one."""
    with keeping(solution):
        if not solution.success:  # one that failed has raised
            raise KeyboardInterrupt(f"{owner}: {solution.message}")
        others = solution.stats["divided_steps"] + solution.stats["pivoting_steps"]
        if others:
            raise ValueError(
                f"{owner}: {others:.0f} steps were taken in smaller ones or with other pivots, "
                "which have no derivative here; take a smaller step"
            )


@contextmanager
def keeping(solution: Solution) -> Iterator[None]:
    """Let whatever is raised after a run carry it, as ``error.solution``."""
    try:
        yield
    except BaseException as error:
        vars(error)["solution"] = solution
        raise


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing a second time: the run has said it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- runs in pieces: steps between states that are kept are taken again --------------------------
_WHO = "gradient"


def _refuse_with_every(rtol: Any, events: Any) -> None:
    """Refuse what does not go in pieces of as many steps each."""
    for name, value in (("rtol", rtol), ("events", None if events == () else events)):
        if value is not None and not (isinstance(value, list) and not value):
            raise ValueError(
                f"{_WHO}: every= belongs to steps of one size without events, got {name}="
                f"{shown(value)}; leave one of them out"
            )


@dataclass(frozen=True, eq=False)
class _RunPiece:
    """Some steps of a run, on from a state of it; none: from its start."""

    of: Setup
    state: State | None
    t_end: float
    step: float

    def run(self, progress: Any, every: int = 1) -> Solution:
        """Take the steps; keep every so many."""
        start = self.of.start
        solution = simulate(
            self.of.model, self.t_end, self.step, method=self.of.method, progress=progress,
            every=every, state=start.state if self.state is None else self.state,
            project=start.project if self.state is None else None,
        )  # fmt: skip
        check_steps(_WHO, solution)
        return solution

    def __call__(self) -> Taken:
        """Take the steps again; return them, all of them kept, and their segments."""
        of = self.of
        with quiet():
            solution = self.run(False)
            start = of.start if self.state is None else self.state
            return solution, segments_of(
                _WHO, of.model, of.method, solution, start, self.step, self.t_end
            )


def _in_pieces(of: Setup, t_end: Any, step: Any, progress: Any, every: int) -> DifferentiableRun:
    """Run in pieces of so many steps; its solution has the instants between them."""
    h, end = (number(_WHO, word, x, "s", positive=True) for word, x in
              (("step", step), ("t_end", t_end)))  # fmt: skip
    begin = 0.0 if of.start.state is None else float(of.start.state.t)
    n = int(np.ceil(number_of_steps(_WHO, end - begin, every * h) - (1.0 + WHOLE_STEPS) / every))
    times = [begin + k * every * h for k in range(1, max(n, 1))] + [end]
    pieces, runs = list[_RunPiece](), list[Solution]()
    for t in times:
        pieces.append(_RunPiece(of, runs[-1].state if runs else None, t, h))
        try:
            runs.append(pieces[-1].run(progress, every))
        except BaseException as error:
            own = vars(error).get("solution")
            some = runs if own is None else [*runs, own]
            if some:
                vars(error)["solution"] = _joined(of, some, end, every)
            raise
    return DifferentiableRun(of, _joined(of, runs, end, every), h, list(pieces))


def _joined(of: Setup, runs: list[Solution], end: float, every: int) -> Solution:
    """Return the instants of runs that go on from each other."""
    stats = dict[str, float]()
    for name in runs[0].stats:
        stats[name] = sum(x.stats[name] for x in runs)

    def of_all(name: str) -> np.ndarray:
        first, *others = (np.asarray(getattr(x, name)) for x in runs)
        return np.concatenate([first, *(x[1:] for x in others)])

    return Solution(
        of.model, *(of_all(x) for x in ("t", "q", "v", "a", "lam")), status=runs[-1].status,
        message=runs[-1].message, stats=stats, last=runs[-1].state, method=of.method,
        before=runs[0].before, options=runs[0].options | {"t_end": end, "every": every},
    )  # fmt: skip
