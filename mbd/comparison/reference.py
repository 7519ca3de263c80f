"""Reference of a comparison: the values that errors are measured against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import rotation_matrix, vector
from mbd.comparison.error_measures import QUANTITIES, Values, comparable, difference, last, quantity
from mbd.comparison.trials import Trial
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.front.richardson import weights
from mbd.front.solution import Solution
from mbd.runs.methods import sharp


@dataclass
class Reference:
    """Values at the end, what they are and how sure they are."""

    values: Values
    label: str
    error: dict[str, float] = field(default_factory=lambda: dict.fromkeys(QUANTITIES, math.nan))


def reference_of(
    choice: Any,
    trials: list[Trial],
    names: list[str],
    steps: list[float],
    options: dict[str, Any],
    masks: Values,
) -> Reference:
    """Return what errors are measured against."""
    if isinstance(choice, Solution):
        end = options["t_end"]
        if abs(choice.t[-1] - end) > 1e-9 * end:
            raise ValueError(
                f"compare: the reference must end at t_end = {end:g} s, it ends at "
                f"{choice.t[-1]:g} s"
            )
        return Reference(last(choice, names), "the solution given")
    if isinstance(choice, Mapping):
        return Reference(_values(choice, trials, names), "the values given")
    for one in trials if choice is None else [_meant(choice, trials)]:
        if one.model is not None:
            extrapolated = _extrapolated(one, names, steps, options, masks)
            if extrapolated is not None:
                return extrapolated
    return Reference({}, "nothing: the runs of the reference failed")


def _values(given_values: Mapping[str, Any], trials: list[Trial], names: list[str]) -> Values:
    """Return known values by name, checked."""
    can = comparable(next(one.model for one in trials if one.model is not None))
    values = {}
    for key, value in given_values.items():
        if key not in can:
            raise ValueError(
                f"compare: the reference may have {', '.join(list(can)[:20])}, got {shown(key)}"
            )
        what = f"reference {key!r}"
        if can[key] == "rotation":
            checked = rotation_matrix("compare", what, value)
        else:
            size = 1 if can[key] == "load" else 3
            unit = QUANTITIES[can[key]].unit
            one = np.atleast_1d(value) if size == 1 else value
            checked = vector("compare", what, one, unit, size)
        if key.rpartition(".")[0] in names:
            values[key] = checked
    return values


def _meant(choice: Any, trials: list[Trial]) -> Trial:
    """Return the formulation that a reference names: its name, words with options, the object."""
    names = ", ".join(one.name for one in trials)
    formulation = choice
    if isinstance(choice, str):
        for one in trials:
            if one.name == choice:
                return one
        try:
            formulation = named(choice)
        except ValueError:
            formulation = None
    if not isinstance(formulation, Formulation):
        raise ValueError(
            "compare: reference must be a solution, values by name or one of the formulations "
            f"({names}; of {', '.join(NAMES)}), got {shown(choice)}"
        )
    for one in trials:
        if one.formulation is formulation:
            return one
    raise ValueError(
        f"compare: the reference {formulation.name!r} is not among the formulations, {names}; "
        "add it"
    )


def _extrapolated(
    one: Trial,
    names: list[str],
    steps: list[float],
    options: dict[str, Any],
    masks: Values,
) -> Reference | None:
    """Extrapolate a formulation to the step zero; None if a run fails."""
    best = sharp(one.method)
    levels = [*steps[-2:], steps[-1] / 2]
    runs = []
    for h in levels:
        if one.refusal:
            return None
        solution, _ = one.run(h, options, method=best)
        if solution is None or not solution.success:
            return None
        runs.append(last(solution, names))

    def limit(n: int) -> Values:
        of = [weights(p, np.array(levels[-n:])) for p in one.method.facts.orders]
        return {
            k: sum(
                w * r[k]
                for w, r in zip(of[QUANTITIES[quantity(k)].reaction], runs[-n:], strict=True)
            )
            for k in runs[0]
        }

    values = limit(len(levels))
    extrapolated = Reference(
        values, f"{one.name}, extrapolated from steps {', '.join(f'{h:g}' for h in levels)} s"
    )
    if len(levels) == 3:
        extrapolated.error = {
            what: difference(values, limit(2), what, masks) for what in QUANTITIES
        }
    return extrapolated
