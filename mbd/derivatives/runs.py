"""A run of which derivatives can be taken: what is refused, and what to take instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.door import number
from mbd.base.tolerances import WHOLE_STEPS
from mbd.derivatives.restarts import Initialisation
from mbd.derivatives.segments import Segment, held_run, segments_of
from mbd.derivatives.stencil import Stencil, stencils
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.model.frozen import state_of
from mbd.model.state import State
from mbd.model.system import model_of
from mbd.runs.methods import checked_method
from mbd.runs.plan import number_of_steps

Taken = tuple[Solution, list[Segment]]  # some steps of a run, all of them kept


@dataclass(frozen=True, eq=False)
class Setup:
    """What a run begins with, and the parameters by which it is differentiated."""

    model: Any
    method: Method
    start: Initialisation
    stencils: list[Stencil]


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


def _setup(
    owner: str, system: Any, parameters: Any, method: Any, state: Any, project: Any, free: bool
) -> Setup:
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
    of = stencils(owner, model, parameters)
    return Setup(model, method, Initialisation(method, state, project), of)


def run(
    owner: str, system: Any, parameters: Any, t_end: Any, step: Any, *, method: Any, state: Any,
    project: Any, progress: Any, rtol: Any, events: Any, every: int = 1,
) -> DifferentiableRun:  # fmt: skip
    """Run a system, and check that the run has a derivative."""
    if every > 1:
        _refuse_with_every(rtol, events)
    of = _setup(owner, system, parameters, method, state, project, rtol is not None)
    if every > 1:
        return _in_pieces(of, t_end, step, progress, every)
    options: dict[str, Any] = {
        "method": of.method, "state": of.start.state, "project": project, "progress": progress,
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
