"""What the errors of a comparison are measured against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import rotation_matrix, vector
from mbd.comparison.judged import QUANTITIES, Values, comparable, difference, last, quantity
from mbd.comparison.trials import Trial
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.front.solution import Solution
from mbd.integration.methods import orders, sharp

__all__ = ["Truth", "reference"]


@dataclass
class Truth:
    """Values at the end, what they are and how sure they are."""

    values: Values
    said: str
    error: dict[str, float] = field(default_factory=lambda: dict.fromkeys(QUANTITIES, math.nan))


def reference(
    given: Any,
    found: list[Trial],
    names: list[str],
    steps: list[float],
    integrator: Any,
    options: dict[str, Any],
    masks: Values,
) -> Truth:
    """Return what errors are measured against."""
    if isinstance(given, Solution):
        end = options["t_end"]
        if abs(given.t[-1] - end) > 1e-9 * end:
            raise ValueError(
                f"compare: the reference must end at t_end = {end:g} s, it ends at "
                f"{given.t[-1]:g} s"
            )
        return Truth(last(given, names), "the solution given")
    if isinstance(given, Mapping):
        return Truth(_values(given, found, names), "the values given")
    for one in found if given is None else [_meant(given, found)]:
        if one.model is not None:
            truth = _extrapolated(one, names, steps, integrator, options, masks)
            if truth is not None:
                return truth
    return Truth({}, "nothing: the runs of the reference failed")


def _values(given: Mapping[str, Any], found: list[Trial], names: list[str]) -> Values:
    """Return known values by name, checked."""
    can = comparable(next(one.model for one in found if one.model is not None))
    values = {}
    for key, value in given.items():
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


def _meant(given: Any, found: list[Trial]) -> Trial:
    """Return the formulation that a reference names: its name, words with options, the object."""
    known = ", ".join(one.name for one in found)
    law = given
    if isinstance(given, str):
        for one in found:
            if one.name == given:
                return one
        try:
            law = named(given)
        except ValueError:
            law = None
    if not isinstance(law, Formulation):
        raise ValueError(
            "compare: reference must be a solution, values by name or one of the formulations "
            f"({known}; of {', '.join(NAMES)}), got {shown(given)}"
        )
    for one in found:
        if one.formulation is law:
            return one
    raise ValueError(
        f"compare: the reference {law.name!r} is not among the formulations, {known}; add it"
    )


def _extrapolated(
    one: Trial,
    names: list[str],
    steps: list[float],
    method: Any,
    options: dict[str, Any],
    masks: Values,
) -> Truth | None:
    """Extrapolate a formulation to the step zero; None if a run fails."""
    best = sharp(method)
    levels = [*steps[-2:], steps[-1] / 2]
    runs = []
    for h in levels:
        if one.refusal:
            return None
        solution, _ = one.run(h, best, options)
        if solution is None or not solution.success:
            return None
        runs.append(last(solution, names))
    of_motion, of_reactions = orders(method)

    def limit(n: int) -> Values:
        h = np.array(levels[-n:])

        def weights(p: int) -> np.ndarray:
            powers = np.vstack([np.ones(n), *(h**k for k in range(p, p + n - 1))])
            return np.linalg.solve(powers, np.eye(n)[0])

        of = {False: weights(of_motion), True: weights(of_reactions)}
        return {
            k: sum(
                w * r[k]
                for w, r in zip(of[QUANTITIES[quantity(k)].reaction], runs[-n:], strict=True)
            )
            for k in runs[0]
        }

    values = limit(len(levels))
    truth = Truth(
        values, f"{one.name}, extrapolated from steps {', '.join(f'{h:g}' for h in levels)} s"
    )
    if len(levels) == 3:
        truth.error = {what: difference(values, limit(2), what, masks) for what in QUANTITIES}
    return truth
