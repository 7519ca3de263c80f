"""A run of which derivatives can be taken: what is refused, and what to take instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mbd.base.checked import flag, shown
from mbd.derivatives.begins import Start
from mbd.derivatives.legs import Leg, held, legs_of
from mbd.derivatives.stencil import Stencil, stencils
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.model.frozen import state_of
from mbd.model.system import model_of
from mbd.runs.methods import checked_method


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
    """Let whatever is raised behind a run carry it, as ``error.solution``."""
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
