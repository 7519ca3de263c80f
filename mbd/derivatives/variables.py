"""Variables: parameters and the values of controls that are varied, as one vector of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mbd.base.checked import floats, mapping, meant, shown
from mbd.base.door import number, speaking_as
from mbd.base.parameter import Parameter
from mbd.derivatives.controls import Control, sorted_out
from mbd.derivatives.parameters import named, value_and_scale
from mbd.model.description import WHO, argument_of, described_parameters


@dataclass(frozen=True, eq=False)
class Variables:
    """Parameters and controls that are varied.

    Attributes
    ----------
    names : list of str
        Of the parameters.
    controls : list of Control
        Their values come after the parameters.
    scales : list of float
        Sizes of the arguments that parameters are of.
    start, size : (n,) arrays
        Where they start, and of which size they are.
    low, high : (n,) arrays
        Bounds.
    """

    names: list[str]
    scales: list[float]
    controls: list[Control]
    start: np.ndarray
    size: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @cached_property
    def labels(self) -> list[str]:
        """Names of all numbers, "rod.mass", "motor.effort[0]"."""
        return [*self.names, *(y for x in self.controls for y in x.labels)]

    @property
    def arguments(self) -> list[str]:
        """Names of parameters and controls."""
        return [*self.names, *(x.name for x in self.controls)]

    def values(self, z: np.ndarray) -> np.ndarray:
        """Return the values that are z times the sizes."""
        return z * self.size

    def split(self, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the values of parameters, and those of each control."""
        ends = self._ends
        return x[: ends[0]], [x[a:b].copy() for a, b in pairwise(ends)]

    @cached_property
    def _ends(self) -> list[int]:
        """Where the parameters end, and each control."""
        counts = (len(y.labels) for y in self.controls)
        return list(accumulate(counts, initial=len(self.names)))

    def by_name(self, x: np.ndarray) -> dict[str, Any]:
        """Return the values by name, of controls (n,) arrays."""
        scalars, values = self.split(x)
        pairs = zip((y.name for y in self.controls), values, strict=True)
        return {**dict(zip(self.names, scalars.tolist(), strict=True)), **dict(pairs)}

    def bounded(self, who: str, bounds: Any) -> "Variables":
        """Return the variables between bounds by name; those of a control are of all of its values.

        What starts at zero between two bounds is of the size of their distance.
        """
        low, high, labels = self.low.copy(), self.high.copy(), self.labels
        places = {name: [i] for i, name in enumerate(labels)}
        n = len(self.names)
        for x in self.controls:
            places[x.name], n = list(range(n, n + len(x.labels))), n + len(x.labels)
        for key, pair in mapping(who, "bounds", bounds, '{"rod.mass": (0.1, 10.0)}').items():
            name = key.name if isinstance(key, Parameter) else key
            if name not in places:
                raise ValueError(
                    f"{who}: bounds are of {shown(name)}, which is no parameter"
                    f"{meant(name, places)}; there are {', '.join(places)}"
                )
            ends = interval(pair)
            if not ends[0] < ends[1]:
                raise (TypeError if np.isnan(ends[0]) else ValueError)(
                    f"{who}: bounds of {name!r} must be (low, high), None for none, low < high, "
                    f"got {shown(pair)}"
                )
            for i in places[name]:
                low[i], high[i] = ends
                if not low[i] <= self.start[i] <= high[i]:
                    raise ValueError(
                        f"{who}: {labels[i]!r} starts at {self.start[i]:g}, which is not between "
                        f"its bounds {low[i]:g} and {high[i]:g}; give another start, "
                        f"{{{name!r}: ...}}"
                    )
        wide = (self.start == 0.0) & np.isfinite(high - low)
        return replace(self, low=low, high=high, size=np.where(wide, high - low, self.size))


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


def variables_of(
    who: str, models: Sequence[Any], parameters: Any, more: Mapping[str, tuple[float, float]] = {}
) -> Variables:
    """Return the variables that an argument ``parameters`` stands for; in a dict, where they start.

    ``more``: start and size of parameters that are no arguments of parts.
    """
    if parameters is None:
        parameters = [name for x in models for name in described_parameters(x.system)] or None
    starts = dict[str, Any]()
    if isinstance(parameters, Mapping):
        starts = {getattr(key, "name", key): x for key, x in parameters.items()}
        parameters = list(parameters)
    others, controls = sorted_out(who, models[0], parameters)
    names = named(who, models[0], others) if not controls or others else []
    start, size, scales = list[float](), list[float](), list[float]()
    for name in names:
        model = next((x for x in models if knows(x, name)), models[0])
        if name in starts:
            value = number(who, f"the start of {name!r}", starts[name], "SI")
            with speaking_as(who, WHO):
                model = model.with_values({name: value})
        own, scale = value_and_scale(who, model, name)
        start.append(own)
        size.append(abs(own) or scale)
        scales.append(scale)
    start += (x for x, _ in more.values())
    size += (abs(x) or scale for x, scale in more.values())
    for control in controls:
        if control.name in starts:
            with speaking_as(who, "Interpolated"):
                control.values = control.function.replaced(starts[control.name]).values
        start += control.values.tolist()
        size += [float(np.abs(control.values).max()) or 1.0] * len(control.values)
    ends = np.full(len(start), np.inf)
    names += more
    return Variables(names, scales, controls, np.array(start), np.array(size), -ends, ends)
