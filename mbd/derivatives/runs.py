"""Runs of which derivatives can be taken: what they begin with, their steps, what is refused."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.door import number
from mbd.base.tolerances import WHOLE_STEPS
from mbd.derivatives.controls import Control, control_of, with_values
from mbd.derivatives.parameters import Stencil, stencils
from mbd.derivatives.restarts import Initialisation, Restart
from mbd.derivatives.segments import Segment, segments_of
from mbd.derivatives.steps import steps_of
from mbd.derivatives.variables import Variables
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.integration.newton_loop import CONVERGED, grid_from_here
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import turns_so_far
from mbd.model.values import changed, followed_memory
from mbd.runs.failed_step import explain
from mbd.runs.interrupts import Interrupt
from mbd.runs.methods import checked_method
from mbd.runs.plan import Plan, number_of_steps
from mbd.runs.stretch import Stretch

Taken = tuple[Solution, list[Segment]]  # some steps of a run, all of them kept


@dataclass(frozen=True, eq=False)
class DifferentiableRun:
    """A run in one or more pieces, of which each can be had with all its steps."""

    solution: Solution
    h: float
    pieces: list[Callable[[], Taken]]


@dataclass(frozen=True, eq=False)
class Setup:
    """Start of a run, and the parameters and controls by which it is differentiated.

    ``alone``: terms of objectives that are known to read no parameters.
    """

    owner: str
    model: Any
    method: Method
    start: Initialisation
    stencils: list[Stencil]
    controls: list[Control]
    alone: set[Any] = field(default_factory=set)

    def run(
        self, t_end: Any, step: Any, *, progress: bool | None = None, rtol: float | None = None,
        events: Any = (), every: int = 1,
    ) -> DifferentiableRun:  # fmt: skip
        """Run it, and check that the run has a derivative."""
        others = [("rtol", rtol)] * (rtol is not None)
        if not (isinstance(events, tuple | list) and not events):
            others.append(("events", events))
        if every > 1 and others:
            name, value = others[0]
            raise ValueError(
                f"{self.owner}: every= belongs to steps of one size without events, got {name}="
                f"{shown(value)}; leave one of them out"
            )
        if len(others) > 1:
            raise ValueError(
                f"{self.owner}: events need steps of one size, got rtol= too; give step= alone, of "
                "the size that such a run took"
            )
        with_events = bool(others) and others[-1][0] == "events"
        without = {"events": with_events, "every=": every > 1}
        refuse_where_laws_remember(self.owner, self.model, without)
        if every > 1:
            return _in_pieces(self, t_end, step, progress, every)
        if rtol is None:
            solution = self.simulated(t_end, step, progress=progress, events=events)
            with keeping(solution), quiet():
                taken = self.with_segments(solution, self.start, step, t_end)
            return DifferentiableRun(solution, float(step), [lambda: taken])
        chosen = self.simulated(t_end, step, progress=progress, rtol=rtol)
        sizes = np.diff(np.asarray(chosen.t))
        with keeping(chosen), quiet():
            held = HeldSteps(self, sizes, float(chosen.t[-1]), chosen.options, chosen=True)
            again = held.run()
            if again is None:
                raise RuntimeError(held.why)
        return DifferentiableRun(again[0], float(sizes.max()), [lambda: again])

    def simulated(
        self, t_end: Any, step: Any, state: State | None = None, **options: Any
    ) -> Solution:
        """Return a run from its start, or on from a state of it; refuse steps of other kinds."""
        if state is None:
            options |= {"state": self.start.state, "project": self.start.project}
        else:
            options["state"] = state
        solution = simulate(self.model, t_end, step, method=self.method, **options)
        with keeping(solution):
            if not solution.success:  # one that failed has raised
                raise KeyboardInterrupt(f"{self.owner}: {solution.message}")
            others = solution.stats["divided_steps"] + solution.stats["pivoting_steps"]
            if others:
                raise ValueError(
                    f"{self.owner}: {others:.0f} steps were taken in smaller ones or with other "
                    "pivots, which have no derivative here; take a smaller step"
                )
        return solution

    def with_segments(self, solution: Solution, start: Any, step: Any, t_end: Any) -> Taken:
        """Return a run in steps of one size from a start, with its segments."""
        return solution, segments_of(
            self.owner, self.model, self.method, solution, start, float(step), float(t_end)
        )


def refuse_where_laws_remember(owner: str, model: Any, what: dict[str, bool]) -> None:
    """Refuse what has no derivative where laws of motion remember."""
    wrong = [word for word, is_so in what.items() if is_so]
    if wrong and followed_memory(model):
        raise ValueError(
            f"{owner}: where loads by laws of motion have a memory, derivatives are those of runs "
            f"without {wrong[0]}; leave it out"
        )


def setup(
    owner: str, model: Any, variables: Variables, *, method: Any = None, state: Any = None,
    project: Any = None, free: bool = False, sizes: Iterable[tuple[float, float]] = (),
    alone: set[Any] | None = None,
) -> Setup:  # fmt: skip
    """Check what a run begins with; `free` steps are at velocity level."""
    method = _method(owner, model, method, free)
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
    of = stencils(owner, model, variables.names, sizes) if variables.names else []
    controls = [control_of(model, x.name) for x in variables.controls]
    return Setup(
        owner, model, method, Initialisation(method, state, project), of,
        [x for x in controls if x is not None], set() if alone is None else alone,
    )  # fmt: skip


def _method(owner: str, model: Any, method: Any, free: bool) -> Method:
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
    return method


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


@dataclass(eq=False)
class HeldSteps:
    """Runs in steps of sizes (N,) [s] that are known, without events, in numbers that stay.

    Attributes
    ----------
    chosen : bool
        Whether a run chose these sizes, which has seen no jumps of what is driven.
    why : str
        Why the last run took another way.
    """

    of: Setup
    sizes: np.ndarray
    t_end: float
    options: Mapping[str, Any]
    chosen: bool = False
    why: str = ""
    stretch: Stretch | None = None
    begun: Any = None

    def run(self) -> Taken | None:
        """Return the run with the laws as they are, and its segment; None: it goes another way."""
        of, sizes = self.of, self.sizes
        model, method = of.model, of.method
        begin = Restart(model, of.start, None, float(sizes[0]))
        first, state = begin.here.first, begin.state
        if self.stretch is None:
            plan = Plan(self.t_end, float(sizes[0]))
            self.stretch = Stretch(model, first, method, plan, Interrupt())
            self.begun = self.stretch.work.snapshot()
        run, work = self.stretch, self.stretch.work
        if (run.shortened or run.jumps.driven) and not self.chosen:
            return None
        work.restore(self.begun)
        work.load(state)
        run.remember(begin.before)
        run.done, some = 0, list[list[np.ndarray]]()
        others = np.flatnonzero(np.diff(sizes)) + 1
        for first_step, end in pairwise([0, *others.tolist(), len(sizes)]):
            if first_step:
                grid_from_here(work.I, work.F)
                work.F[m.H_NEW] = sizes[first_step]
                run.facts.resize(work.I, work.F)
            while run.done < end:
                _, status = run.steps(min(run.capacity, end - run.done))
                if status != CONVERGED or run.pivoting or run.divided.steps:
                    self.stretch = None
                    self.why = (
                        f"a step of {work.F[m.H]:.3g} s that a run chose cannot be taken again: "
                        f"{explain(work, method)}"
                    )
                    return None
                some.append([x.copy() for x in run.recorded()[:5]])
        work.check_laws()
        start = (np.array([first.t]), *(x[None] for x in (first.q, first.v, first.a, first.lam)))
        t, *raw = map(np.concatenate, zip(start, *some, strict=True))
        dropped = np.zeros((len(t), model.n_lam), bool)
        steps = steps_of(method, t, tuple(raw), state, begin.before, sizes, dropped)
        solution = Solution(
            model, t, *raw, message=f"reached t = {t[-1]:g} s", stats=run.stats(),
            last=run.state(), method=method, before=turns_so_far(model, first),
            options=self.options,
        )  # fmt: skip
        return solution, [Segment(begin, steps, 0)]


class KeptRuns:
    """Runs at one vector of variables after another; tables stay while parameters do.

    Parameters
    ----------
    owner : str
    model : Model
    variables : Variables
    t_end, step : float [s]
    options : dict
        Of `setup` and of `Setup.run`.
    """

    def __init__(
        self, owner: str, model: Model, variables: Variables, t_end: float, step: float | None,
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.owner, self.variables, self.t_end, self.step = owner, variables, t_end, step
        own = {x.name: x.values for x in variables.controls}
        self.model = with_values(model, own)  # with laws whose values it changes
        self.of_run = {k: x for k, x in options.items() if k in ("rtol", "events", "every")}
        self._of_setup = {k: x for k, x in options.items() if k not in self.of_run}
        self._alone = set[Any]()
        self._kept: tuple[np.ndarray, Setup, HeldSteps | None] | None = None

    def at(self, x: np.ndarray, held: bool = True) -> tuple[Setup, DifferentiableRun]:
        """Return the run with these values; not `held`: as ``mbd.simulate`` takes it."""
        scalars, values = self.variables.split(x)
        of, steps = self.setup(scalars)
        for control, own in zip(of.controls, values, strict=True):
            control.set(own)
        with quiet():
            taken = steps.run() if held and steps is not None else None
            if taken is not None and self.step is not None:
                return of, DifferentiableRun(taken[0], self.step, [lambda: taken])
            return of, of.run(self.t_end, self.step, progress=False, **self.of_run)

    def setup(self, scalars: np.ndarray) -> tuple[Setup, HeldSteps | None]:
        """Return what runs with these parameters begin with, and whole steps of one size."""
        if self._kept is None or not np.array_equal(self._kept[0], scalars):
            changes = dict(zip(self.variables.names, scalars.tolist(), strict=True))
            model = changed(self.model, changes, measured=False) if changes else self.model
            free = self.of_run.get("rtol") is not None
            sizes = zip(scalars.tolist(), self.variables.scales, strict=True)
            options = self._of_setup | {"free": free, "sizes": sizes, "alone": self._alone}
            of = setup(self.owner, model, self.variables, **options)
            self._kept = scalars.copy(), of, self._steps(of)
        return self._kept[1:]

    def _steps(self, of: Setup) -> HeldSteps | None:
        """Return the steps of runs without events, none where they are not all whole."""
        if self.of_run or of.model.redundant or self.step is None:
            return None
        start = of.model.state if of.start.state is None else of.start.state
        n = (self.t_end - start.t) / self.step
        if n < 1.0 - WHOLE_STEPS or abs(n - round(n)) > WHOLE_STEPS:
            return None
        return HeldSteps(of, np.full(round(n), self.step), self.t_end, {"t_end": self.t_end})


# --- runs in pieces: steps between states that are kept are taken again --------------------------
@dataclass(frozen=True, eq=False)
class _RunPiece:
    """Some steps of a run, on from a state of it; none: from its start."""

    of: Setup
    state: State | None
    t_end: float
    step: float

    def run(self, progress: Any, every: int = 1) -> Solution:
        """Take the steps; keep every so many."""
        options = {"progress": progress, "every": every}
        return self.of.simulated(self.t_end, self.step, self.state, **options)

    def __call__(self) -> Taken:
        """Take the steps again; return them, all of them kept, and their segments."""
        start = self.of.start if self.state is None else self.state
        with quiet():
            return self.of.with_segments(self.run(False), start, self.step, self.t_end)


def _in_pieces(of: Setup, t_end: Any, step: Any, progress: Any, every: int) -> DifferentiableRun:
    """Run in pieces of so many steps; its solution has the instants between them."""
    h, end = (number(of.owner, word, x, "s", positive=True) for word, x in
              (("step", step), ("t_end", t_end)))  # fmt: skip
    begin = 0.0 if of.start.state is None else float(of.start.state.t)
    n = int(
        np.ceil(number_of_steps(of.owner, end - begin, every * h) - (1.0 + WHOLE_STEPS) / every)
    )
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
    return DifferentiableRun(_joined(of, runs, end, every), h, list(pieces))


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
