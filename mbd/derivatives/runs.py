"""A run of which derivatives can be taken: what is refused, and what to take instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.door import number
from mbd.base.run_tolerances import WHOLE_STEPS
from mbd.derivatives.begins import Start
from mbd.derivatives.legs import Leg, held, legs_of
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


@dataclass(frozen=True, eq=False)
class DifferentiableRun:
    """A run with all its steps, and the parameters by which it is differentiated."""

    model: Any
    method: Method
    stencils: list[Stencil]
    solution: Solution
    legs: list[Leg]
    h: float


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


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a run of which derivatives are taken begins with."""

    model: Any
    method: Method
    start: Start
    stencils: list[Stencil]


def prepared(
    owner: str, system: Any, parameters: Any, method: Any, state: Any, project: Any, free: bool
) -> Prepared:
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
    return Prepared(model, method, Start(method, state, project), of)


def run(
    owner: str, system: Any, parameters: Any, t_end: Any, step: Any, method: Any, state: Any,
    project: Any, progress: Any, rtol: Any, events: Any,
) -> DifferentiableRun:  # fmt: skip
    """Run a system, and check that the run has a derivative."""
    of = prepared(owner, system, parameters, method, state, project, rtol is not None)
    model, method, start = of.model, of.method, of.start
    options: dict[str, Any] = {
        "method": method, "state": start.state, "project": project, "progress": progress,
    }  # fmt: skip
    if rtol is None:
        solution = simulate(model, t_end, step, events=events, **options)
        check_steps(owner, solution)
        with keeping(solution), quiet():
            legs = legs_of(owner, model, method, solution, start, float(step), float(t_end))
        h = float(step)
    else:
        _no_events(owner, events)
        chosen = simulate(model, t_end, step, rtol=rtol, **options)
        check_steps(owner, chosen)
        with keeping(chosen), quiet():
            solution, leg = held(model, method, chosen, start)
        legs, h = [leg], float(leg.steps.h.max())
    return DifferentiableRun(model, method, of.stencils, solution, legs, h)


def _no_events(owner: str, events: Any) -> None:
    """Refuse events in a run that chooses its steps."""
    if not (isinstance(events, tuple | list) and not events):
        raise ValueError(
            f"{owner}: events need steps of one size, got rtol= too; give step= alone, of the size "
            "that such a run took"
        )


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


def refuse_with_every(rtol: Any, events: Any) -> None:
    """Refuse what does not go in pieces of as many steps each."""
    for name, value in (("rtol", rtol), ("events", None if events == () else events)):
        if value is not None and not (isinstance(value, list) and not value):
            raise ValueError(
                f"{_WHO}: every= belongs to steps of one size without events, got {name}="
                f"{shown(value)}; leave one of them out"
            )


@dataclass(frozen=True, eq=False)
class RunPiece:
    """Some steps of a run, on from a state of it; none: from its start."""

    of: Prepared
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

    def again(self) -> tuple[Solution, list[Leg]]:
        """Take the steps again; return them, all of them kept, and their legs."""
        with quiet():
            solution = self.run(False)
            start = self.of.start if self.state is None else self.state
            of = self.of
            return solution, legs_of(
                _WHO, of.model, of.method, solution, start, self.step, self.t_end
            )


def in_pieces(
    of: Prepared, t_end: Any, step: Any, progress: Any, every: int
) -> tuple[list[RunPiece], Solution]:
    """Run in pieces of so many steps; return them, and a solution of the instants between them."""
    h, end = (number(_WHO, word, x, "s", positive=True) for word, x in
              (("step", step), ("t_end", t_end)))  # fmt: skip
    begin = 0.0 if of.start.state is None else float(of.start.state.t)
    n = int(np.ceil(number_of_steps(_WHO, end - begin, every * h) - (1.0 + WHOLE_STEPS) / every))
    times = [begin + k * every * h for k in range(1, max(n, 1))] + [end]
    pieces, runs = list[RunPiece](), list[Solution]()
    for t in times:
        pieces.append(RunPiece(of, runs[-1].state if runs else None, t, h))
        try:
            runs.append(pieces[-1].run(progress, every))
        except BaseException as error:
            own = vars(error).get("solution")
            some = runs if own is None else [*runs, own]
            if some:
                vars(error)["solution"] = _joined(of, some, end, every)
            raise
    return pieces, _joined(of, runs, end, every)


def _joined(of: Prepared, runs: list[Solution], end: float, every: int) -> Solution:
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
