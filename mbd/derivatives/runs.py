"""A run of which derivatives can be taken: what is refused, and what to take instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown
from mbd.base.door import number
from mbd.derivatives.starts import Start
from mbd.derivatives.stencil import Stencil, stencils
from mbd.derivatives.sweep import Steps, steps_of
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.method import Method
from mbd.model.frozen import state_of
from mbd.model.state import State
from mbd.model.system import model_of
from mbd.runs.methods import checked_method
from mbd.runs.plan import number_of_steps

__all__ = ["DifferentiableRun", "run"]


@dataclass(frozen=True, eq=False)
class DifferentiableRun:
    """A run with all its steps, and the parameters by which it is differentiated."""

    model: Any
    method: Method
    stencils: list[Stencil]
    start: Start
    first: State
    begun: State
    solution: Solution
    steps: Steps


def _method(owner: str, method: Any) -> Method:
    """Return a method of which steps can be differentiated."""
    if method is None:
        method = GeneralizedAlpha(tol=1e-11)
    method = checked_method(owner, method, free=False)
    if method.facts.weights is None:
        raise ValueError(
            f"{owner}: method must be GeneralizedAlpha, of which steps have an exact derivative, "
            f"got {shown(method)}"
        )
    if method.facts.level == "stabilized":
        raise ValueError(
            f"{owner}: constraints='stabilized' has no exact derivative: its corrections of "
            "positions depend on the history of the iteration; take GeneralizedAlpha("
            "constraints='position') or 'velocity'"
        )
    if method.facts.linear_solver != "fronts":
        raise ValueError(
            f"{owner}: linear_solver must be 'fronts', got {method.facts.linear_solver!r}"
        )
    return method


def run(
    owner: str, system: Any, parameters: Any, t_end: Any, step: Any, method: Any, state: Any,
    project: Any, progress: Any, rtol: Any, events: Any,
) -> DifferentiableRun:  # fmt: skip
    """Run a system in steps of one size, and check that the run has a derivative."""
    if rtol is not None:
        raise ValueError(
            f"{owner}: steps that are chosen (rtol={shown(rtol)}) are stabilised, which has no "
            "exact derivative; give step= alone, of the size that such a run took"
        )
    if not (isinstance(events, tuple | list) and not events):
        raise ValueError(
            f"{owner}: events move with the parameters, and have no derivative here, got "
            f"{shown(events)}; end the run before, or take smooth forces, such as a Stop"
        )
    model = model_of(owner, system)
    method = _method(owner, method)
    if method.facts.level == "velocity" and model.redundant:
        raise ValueError(
            f"{owner}: rows of closed loops depend on others, and at velocity level such a run is "
            "stabilised, which has no exact derivative; take constraints='position'"
        )
    if state is not None:
        state = state_of(owner, model, state)
        if state.alg is not None or state.off:
            raise ValueError(
                f"{owner}: state must be a pose and velocities to start from, with all joints on; "
                "that of a run that goes on depends on parameters too; take State.replace(q=..., "
                "v=...) and start from there"
            )
    of = stencils(owner, model, parameters)
    start = Start(method, number(owner, "step", step, "s", positive=True), state,
                  flag(owner, "project", project))  # fmt: skip
    first = start.first(model)
    length = number(owner, "t_end", t_end, "s", positive=True) - first.t
    n = round(number_of_steps(owner, length, start.h))
    if n < 1 or abs(n * start.h - length) > 1e-9 * start.h:
        raise ValueError(
            f"{owner}: t_end must be a whole number of steps, got {length / start.h:.6g} of them; "
            f"take step={length / max(1, np.ceil(length / start.h - 1e-9)):.9g} s"
        )
    solution = simulate(
        model,
        t_end,
        step,
        method=method,
        state=state,
        project=project,
        progress=progress,  # type: ignore[arg-type]
    )
    if solution.stats["divided_steps"] or solution.stats["pivoting_steps"]:
        raise ValueError(
            f"{owner}: {solution.stats['divided_steps'] + solution.stats['pivoting_steps']:.0f} "
            "steps were taken in smaller ones or with other pivots, which have no derivative here; "
            "take a smaller step"
        )
    begun = start.begun(model, first)
    steps = steps_of(method, solution, begun, start.h, 0, n)
    return DifferentiableRun(model, method, of, start, first, begun, solution, steps)
