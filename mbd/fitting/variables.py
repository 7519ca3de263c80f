"""Variables of a fit or an optimisation: parameters by name, their start, bounds and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import floats, listed, mapping, meant, shown
from mbd.base.door import number
from mbd.base.fit_tolerances import FIT_ZERO
from mbd.base.parameter import Parameter
from mbd.base.sensitivity_tolerances import SENSITIVITY_STEP
from mbd.derivatives.stencil import stencils
from mbd.model.values import argument_of, described_parameters

__all__ = ["Variables", "knows", "variables_of"]


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
        return np.where(np.abs(z) < FIT_ZERO, 0.0, z * self.size)

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


def variables_of(who: str, models: Sequence[Any], parameters: Any, bounds: Any) -> Variables:
    """Return the variables that arguments ``parameters`` and ``bounds`` stand for."""
    if parameters is None:
        parameters = [name for x in models for name in described_parameters(x.system)]
        if not parameters:
            raise ValueError(
                f"{who}: the systems have no Parameter; name arguments instead, such as "
                'parameters=["rod.mass", "spring.stiffness"]'
            )
    expected = f'{who}: parameters must be names, ["rod.mass"], or a dict of where they start, ' \
        '{"rod.mass": 1.0}'  # fmt: skip
    one = isinstance(parameters, Parameter)
    several = (parameters,) if one else listed(expected, parameters)
    names = [x.name if isinstance(x, Parameter) else x for x in several]
    if not names or not all(isinstance(x, str) for x in names):
        raise TypeError(f"{expected}, got {shown(parameters)}")
    names = list(dict.fromkeys(names))
    given = parameters if isinstance(parameters, Mapping) else {}
    starts = {
        name: number(who, f"the start of {name!r}", x, "SI")
        for name, x in zip(names, given.values(), strict=False)
    }
    values: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for name in names:
        model = next((x for x in models if knows(x, name)), models[0])
        there = model.with_values({name: starts[name]}) if name in starts else model
        (stencil,) = stencils(who, there, [name])
        values[name] = stencil.value
        size = stencil.step / SENSITIVITY_STEP
        sizes[name] = abs(stencil.value) or size
    low, high = _bounds(who, names, values, bounds)
    for i, name in enumerate(names):
        if not values[name] and np.isfinite(high[i] - low[i]):
            sizes[name] = float(high[i] - low[i])
    begin, of_size = (np.array([x[name] for name in names]) for x in (values, sizes))
    return Variables(names, begin, low, high, of_size)


def _bounds(
    who: str, names: list[str], start: Mapping[str, float], bounds: Any
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
        ends = f"{who}: bounds of {name!r} must be (low, high), None for none, low < high, got " \
            f"{shown(pair)}"  # fmt: skip
        try:
            one, two = pair
            low[i] = -np.inf if one is None else float(floats(one))
            high[i] = np.inf if two is None else float(floats(two))
        except (TypeError, ValueError):
            raise TypeError(ends) from None
        if not low[i] < high[i]:
            raise ValueError(ends)
        if not low[i] <= start[name] <= high[i]:
            raise ValueError(
                f"{who}: {name!r} starts at {start[name]:g}, which is not between its bounds "
                f"{low[i]:g} and {high[i]:g}; give another start, {{{name!r}: ...}}"
            )
    return low, high
