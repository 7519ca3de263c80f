r"""Stencils: models at eight values about that of a parameter.

.. math:: f'(p) = \sum_{k=1}^4 w_k\,\frac{f(p + ks) - f(p - ks)}{s} + O(s^8), \qquad
          w = (\tfrac45, -\tfrac15, \tfrac4{105}, -\tfrac1{280})

With s one per cent of the parameter what is left out is at round-off. Defaults that follow other
arguments, and arguments that say how a part is placed, count: every model is described anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import floats, listed, shown
from mbd.base.parameter import Parameter
from mbd.base.recorded_call import signature
from mbd.base.sensitivity_tolerances import (
    SENSITIVITY_QUADRATIC,
    SENSITIVITY_SHRINKS,
    SENSITIVITY_STEP,
    SENSITIVITY_ZERO,
)
from mbd.machine import buffer as m
from mbd.model.description import (
    argument_now,
    argument_of,
    component_now,
    described_parameters,
)
from mbd.model.frozen import FrozenModel
from mbd.model.values import changed

#: (k, w_k) of all eight values
FRACTIONS = tuple(
    (sign * k, sign * w)
    for k, w in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    for sign in (1, -1)
)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The constants F of a model with another value, on the tables of the model."""

    I: np.ndarray
    F: np.ndarray
    records: Mapping[str, Sequence[int]]
    node_records: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Stencil:
    """A parameter, and what is beside it at values about its own.

    Parameters
    ----------
    model : Model
        At its own value.
    name : str
    value, step : float
    beside : tuple of Model or Numbers
        At ``value + k step``, in the order of FRACTIONS: what equations read.
    parts : tuple of str
        The parts that are others then.
    degree : int
        Of the polynomial that constants obey: 1 or 2; 0 where they obey none of these.
    """

    model: Any
    name: str
    value: float
    step: float
    beside: tuple[Any, ...]
    parts: tuple[str, ...]
    degree: int

    @cached_property
    def models(self) -> tuple[Any, ...]:
        """Models at ``value + k step``."""
        return tuple(
            _model(self.model, self.name, self.value + k * self.step)
            if isinstance(x, Numbers)
            else x
            for (k, _), x in zip(FRACTIONS, self.beside, strict=True)
        )

    @property
    def alike(self) -> bool:
        """Whether all of them have the tables of the model."""
        return all(x.I is self.model.I for x in self.beside)

    @property
    def described(self) -> tuple[Any, ...]:
        """Those beside that are whole models, on both sides."""
        return tuple(x for x in self.beside if not isinstance(x, Numbers))

    def nearer(self, share: float) -> Stencil:
        """Return the stencil with a share of its step."""
        step = share * self.step
        return _beside(self.model, self.name, self.value, step)

    @property
    def weights(self) -> np.ndarray:
        """Of the values in a derivative, (8,)."""
        return np.array([w for _, w in FRACTIONS]) / self.step

    @property
    def weighted(self) -> list[tuple[float, Any]]:
        """The models with their weights in a derivative."""
        return list(zip(self.weights.tolist(), self.models, strict=True))

    def derivative(self, of: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Return the derivative of a function of the model."""
        return np.asarray(sum(w * of(model) for w, model in self.weighted))


def stencils(owner: str, model: FrozenModel, parameters: Any) -> list[Stencil]:
    """Return the stencils of parameters, names or Parameter; None: all that the system has."""
    return [_stencil(owner, model, name) for name in named(owner, model, parameters)]


def named(owner: str, model: FrozenModel, parameters: Any) -> list[str]:
    """Return the names of parameters, each once."""
    own = described_parameters(model.system)
    if parameters is None:
        parameters = list(own)
        if not parameters:
            raise ValueError(
                f"{owner}: the system has no Parameter; name arguments instead, such as "
                'parameters=["rod.mass", "gravity.z"]'
            )
    expected = f'{owner}: parameters must be names in a list, such as ["rod.mass"], or Parameters'
    several = [parameters] if isinstance(parameters, Parameter) else listed(expected, parameters)
    names = [x.name if isinstance(x, Parameter) else x for x in several]
    if not names or not all(isinstance(x, str) for x in names):
        raise TypeError(f"{expected}, got {shown(parameters)}")
    return list(dict.fromkeys(names))


def value_and_scale(owner: str, model: FrozenModel, name: str) -> tuple[float, float]:
    """Return the value of a parameter, and its scale."""
    part, argument, places = argument_of(model.system, name)
    now = argument_now(model.system, part, argument)
    if places:
        value, whole = component_now(name, now, places), floats(now)
        return value, _scale(model, name, value, float(np.abs(whole).max()))
    try:
        whole = floats(now)
    except TypeError:
        whole = np.zeros(0)
    if whole.ndim:
        instead = f"name a component of it, such as {name + '.x'!r}, or give it a value"
        if not 0 < whole.size <= 9:
            instead = f"numbers of {part!r} are {', '.join(_numbers_of(model, part)) or 'none'}"
        raise ValueError(f"{owner}: {name!r} must be one number, got {shown(now)}; {instead}")
    return float(whole), _scale(model, name, float(whole), abs(float(whole)))


def _numbers_of(model: FrozenModel, part: str) -> list[str]:
    """Return the arguments of a part that are one number, or a vector of them."""
    names = []
    for argument in signature(model.system.parts[part].call.maker).parameters:
        with suppress(TypeError, ValueError):
            if floats(argument_now(model.system, part, argument)).ndim < 2:
                names.append(argument)
    return names


def _scale(model: FrozenModel, name: str, value: float, own: float) -> float:
    """Return the scale of a value; where it is round-off of zero, that of arguments of its name.

    Where none of these in the model is larger, the length of the model counts.
    What may not be of another sign is no round-off, however small.
    """
    length = float(model.F[m.LENGTH])
    if own > SENSITIVITY_ZERO * max(length, 1.0):
        return own
    _, argument, _ = argument_of(model.system, name)
    sizes = [own]
    for part, described in model.system.parts.items():
        if argument in signature(described.call.maker).parameters:
            with suppress(TypeError, ValueError):  # no numbers
                sizes.append(
                    float(np.abs(floats(argument_now(model.system, part, argument))).max())
                )
    size = max(sizes)
    if size == own:
        size = length
    if own == 0.0:
        return size
    if own > SENSITIVITY_ZERO * size:
        return own
    try:
        changed(model, {name: value - math.copysign(4.0 * SENSITIVITY_STEP * size, value)},
                measured=False)  # fmt: skip
    except ValueError:
        return own
    return size


def _stencil(owner: str, model: FrozenModel, name: str) -> Stencil:
    """Return the stencil of one parameter, its step as large as parts admit."""
    value, scale = value_and_scale(owner, model, name)
    step = SENSITIVITY_STEP * scale
    for shrinks in range(SENSITIVITY_SHRINKS + 1):
        try:
            stencil = _beside(model, name, value, step)
        except ValueError as error:
            if shrinks == SENSITIVITY_SHRINKS or "structure" in str(error):
                raise ValueError(
                    f"{owner}: {name!r} cannot be varied about {value:g} by {4 * step:.3g}: {error}"
                ) from None
            step /= 8.0
        else:
            _check_origin(owner, stencil)
            return stencil
    raise AssertionError


def _beside(model: FrozenModel, name: str, value: float, step: float) -> Stencil:
    """Return the stencil of one parameter by itself.

    Constants of which the values at -1 obey a polynomial through those at 0 and 4, or at 0, 4 and
    -4, do so between them: the other models are not described.
    """
    some: dict[float, Any] = {k: _model(model, name, value + k * step) for k in (4, -1)}
    beside, degree = _between(model, some), 1
    if not beside:
        some[-4] = _model(model, name, value - 4 * step)
        beside, degree = _between(model, some), 2
    if not beside:
        beside = {k: _model(model, name, value + k * step) for k, _ in FRACTIONS if k not in some}
        degree = 0
    own, *others = (x.system.parts for x in (model, *some.values()))
    parts = tuple(k for k, x in own.items() if any(other[k] is not x for other in others))
    all_of = {**beside, **some}
    return Stencil(model, name, value, step, tuple(all_of[k] for k, _ in FRACTIONS), parts, degree)


def _between(model: FrozenModel, some: Mapping[float, Any]) -> dict[float, Numbers]:
    """Return the constants at the other values of a stencil; none if they are no polynomial."""
    if any(x.I is not model.I for x in some.values()):
        return {}
    here = model.F.view(np.int64)  # some constants are infinite
    where = np.flatnonzero(sum(x.F.view(np.int64) != here for x in some.values()))
    own, F = model.F[where], {k: x.F[where] for k, x in some.items()}
    slope, bend = 0.25 * (F[4] - own), np.zeros(len(where))
    if -4 in F:
        slope, bend = 0.125 * (F[4] - F[-4]), (0.5 * (F[4] + F[-4]) - own) / 16
    dust = SENSITIVITY_QUADRATIC * np.maximum(np.abs(F[4]), np.abs(F[-1]))
    if not (np.abs(own - slope + bend - F[-1]) <= dust).all():
        return {}
    out = dict[float, Numbers]()
    for k, _ in FRACTIONS:
        if k not in some:
            values = model.F.copy()
            values[where] = own + k * slope + k * k * bend
            out[k] = Numbers(model.I, values, model.records, model.node_records)
    return out


def _model(model: FrozenModel, name: str, value: float) -> Any:
    return changed(model, {name: value}, measured=False)


def _check_origin(owner: str, stencil: Stencil) -> None:
    if not all(np.array_equal(x.origin, stencil.model.origin) for x in stencil.described):
        raise ValueError(
            f"{owner}: {stencil.name!r} moves the point from which positions are stored, since the "
            "model is far from the inertial origin; describe it nearer to the origin"
        )
