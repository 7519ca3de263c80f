r"""Stencils: models at eight values about that of a parameter.

.. math:: f'(p) = \sum_{k=1}^4 w_k\,\frac{f(p + ks) - f(p - ks)}{s} + O(s^8), \qquad
          w = (\tfrac45, -\tfrac15, \tfrac4{105}, -\tfrac1{280})

With s one per cent of the parameter what is left out is at round-off. Defaults that follow other
arguments, and arguments that say how a part is placed, count: every model is described anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbd.base.checked import floats, listed, shown
from mbd.base.parameter import Parameter
from mbd.base.recorded_call import signature
from mbd.base.sensitivity_tolerances import (
    SENSITIVITY_SHRINKS,
    SENSITIVITY_STEP,
    SENSITIVITY_ZERO,
)
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.values import (
    argument_now,
    argument_of,
    changed,
    component_now,
    described_parameters,
)

__all__ = ["FRACTIONS", "Stencil", "named", "stencils", "value_and_scale"]

#: (k, w_k) of all eight values
FRACTIONS = tuple(
    (sign * k, sign * w)
    for k, w in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    for sign in (1, -1)
)


@dataclass(frozen=True, eq=False)
class Stencil:
    """A parameter, and models at values about its own.

    Parameters
    ----------
    model : Model
        At its own value.
    name : str
    value, step : float
    models : tuple of Model
        At ``value + k step``, in the order of FRACTIONS.
    """

    model: Any
    name: str
    value: float
    step: float
    models: tuple[Any, ...]

    def nearer(self, share: float) -> Stencil:
        """Return the stencil with a share of its step."""
        step = share * self.step
        return replace(self, step=step, models=_models(self.model, self.name, self.value, step))

    @property
    def weighted(self) -> list[tuple[float, Any]]:
        """The models with their weights in a derivative."""
        weights = (w / self.step for _, w in FRACTIONS)
        return list(zip(weights, self.models, strict=True))

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
        raise ValueError(
            f"{owner}: {name!r} must be one number, got {shown(now)}; name a component of it, such "
            f"as {name + '.x'!r}, or give it a value"
        )
    return float(whole), _scale(model, name, float(whole), abs(float(whole)))


def _scale(model: FrozenModel, name: str, value: float, own: float) -> float:
    """Return the scale of a value; where it is round-off of zero, that of its kind in the model.

    Its kind are the arguments of that name; where none is larger, the length of the model counts.
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
    kind = max(sizes)
    if kind == own:
        kind = length
    if own == 0.0:
        return kind
    if own > SENSITIVITY_ZERO * kind:
        return own
    try:
        changed(model, {name: value - math.copysign(4.0 * SENSITIVITY_STEP * kind, value)},
                measured=False)  # fmt: skip
    except ValueError:
        return own
    return kind


def _stencil(owner: str, model: FrozenModel, name: str) -> Stencil:
    """Return the stencil of one parameter, its step as large as parts admit."""
    value, scale = value_and_scale(owner, model, name)
    step = SENSITIVITY_STEP * scale
    for shrinks in range(SENSITIVITY_SHRINKS + 1):
        try:
            models = _models(model, name, value, step)
        except ValueError as error:
            if shrinks == SENSITIVITY_SHRINKS or "structure" in str(error):
                raise ValueError(
                    f"{owner}: {name!r} cannot be varied about {value:g} by {4 * step:.3g}: {error}"
                ) from None
            step /= 8.0
        else:
            _check_origin(owner, model, models, name)
            return Stencil(model, name, value, step, models)
    raise AssertionError


def _models(model: FrozenModel, name: str, value: float, step: float) -> tuple[Any, ...]:
    return tuple(changed(model, {name: value + k * step}, measured=False) for k, _ in FRACTIONS)


def _check_origin(owner: str, model: FrozenModel, models: Sequence[Any], name: str) -> None:
    if not all(np.array_equal(x.origin, model.origin) for x in models):
        raise ValueError(
            f"{owner}: {name!r} moves the point from which positions are stored, since the model "
            "is far from the inertial origin; describe it nearer to the origin"
        )
