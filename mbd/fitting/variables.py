"""Variables of a fit or an optimisation: parameters by name, their start, bounds and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import floats, mapping, meant, shown
from mbd.base.door import number, speaking_as
from mbd.base.parameter import Parameter
from mbd.base.sensitivity_tolerances import SENSITIVITY_STEP
from mbd.derivatives.stencil import named, stencils
from mbd.model.description import WHO, argument_of, described_parameters


@dataclass(frozen=True, eq=False)
class Variables:
    """Parameters that are varied.

    Attributes
    ----------
    names : list of str
    start, low, high, size : (p,) arrays
        Where they start, between which bounds, and of which size they are.
    """

    names: list[str]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return the values that are z times the sizes."""
        return z * self.size

    def by_name(self, x: np.ndarray) -> dict[str, float]:
        """Return values by name."""
        return dict(zip(self.names, map(float, x), strict=True))


def knows(model: Any, name: str) -> bool:
    """Tell whether a parameter is one of a model."""
    try:
        argument_of(model.system, name)
    except ValueError:
        return False
    return True


def interval(pair: Any) -> tuple[float, float]:
    """Return (low, high), infinite for None; NaN where there are no two numbers."""
    try:
        low, high = pair
        return (
            -np.inf if low is None else float(floats(low)),
            np.inf if high is None else float(floats(high)),
        )
    except (TypeError, ValueError):
        return np.nan, np.nan


def variables_of(who: str, models: Sequence[Any], parameters: Any, bounds: Any) -> Variables:
    """Return the variables that arguments ``parameters`` and ``bounds`` stand for."""
    if parameters is None:
        parameters = [name for x in models for name in described_parameters(x.system)]
        if not parameters:
            raise ValueError(
                f"{who}: the systems have no Parameter; name arguments instead, such as "
                'parameters=["rod.mass", "spring.stiffness"]'
            )
    names = named(who, models[0], parameters)
    starts = {}
    if isinstance(parameters, Mapping):
        starts = {
            name: number(who, f"the start of {name!r}", x, "SI")
            for name, x in zip(names, parameters.values(), strict=False)
        }
    start, size = np.zeros((2, len(names)))
    for i, name in enumerate(names):
        model = next((x for x in models if knows(x, name)), models[0])
        if name in starts:
            with speaking_as(who, WHO):
                model = model.with_values({name: starts[name]})
        (stencil,) = stencils(who, model, [name])
        start[i], size[i] = stencil.value, abs(stencil.value) or stencil.step / SENSITIVITY_STEP
    low, high = _bounds(who, names, start, bounds)
    wide = (start == 0.0) & np.isfinite(high - low)
    return Variables(names, start, low, high, np.where(wide, high - low, size))


def _bounds(
    who: str, names: list[str], start: np.ndarray, bounds: Any
) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for key, pair in mapping(who, "bounds", bounds, '{"rod.mass": (0.1, 10.0)}').items():
        name = key.name if isinstance(key, Parameter) else key
        if name not in names:
            raise ValueError(
                f"{who}: bounds are of {shown(name)}, which is no parameter{meant(name, names)}; "
                f"there are {', '.join(names)}"
            )
        i = names.index(name)
        low[i], high[i] = interval(pair)
        if not low[i] < high[i]:
            raise (TypeError if np.isnan(low[i]) else ValueError)(
                f"{who}: bounds of {name!r} must be (low, high), None for none, low < high, got "
                f"{shown(pair)}"
            )
        if not low[i] <= start[i] <= high[i]:
            raise ValueError(
                f"{who}: {name!r} starts at {start[i]:g}, which is not between its bounds "
                f"{low[i]:g} and {high[i]:g}; give another start, {{{name!r}: ...}}"
            )
    return low, high
