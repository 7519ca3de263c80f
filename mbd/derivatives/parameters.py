r"""Parameters and their stencils: models at eight values about that of a parameter.

The values are one per cent of the parameter apart: what differences of order eight leave out is at
round-off. Where a part admits none on one side, as a plate whose moments of inertia meet the
triangle inequality with equality, all are on the other. Defaults that follow other arguments, and
arguments that say how a part is placed, count: every model is described again.
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
from mbd.base.door import speaking_as
from mbd.base.parameter import Parameter, evaluated
from mbd.base.recorded_call import signature
from mbd.base.tolerances import SENSITIVITY_QUADRATIC, SENSITIVITY_STEP, SENSITIVITY_ZERO
from mbd.derivatives.differences import (
    BACKWARD,
    CENTRAL,
    FORWARD,
    SHARES,
    Fractions,
    KinkError,
    differentiated,
    near_enough,
)
from mbd.machine import buffer as m
from mbd.model.description import (
    WHO,
    argument_now,
    argument_of,
    component_now,
    described_parameters,
)
from mbd.model.frozen import FrozenModel
from mbd.model.values import changed


@dataclass(frozen=True, eq=False)
class Numbers:
    """The constants F of a model with another value, on the tables of the model."""

    I: np.ndarray
    F: np.ndarray
    records: Mapping[str, Sequence[int]]
    node_records: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Stencil:
    """A parameter, and models with other values of it.

    Parameters
    ----------
    model : Model
        At its own value.
    name : str
    value, step : float
    fractions : Fractions
        k and weights of the other values, ``value + k step``.
    others : tuple of Model or Numbers
        At these values: what equations read.
    parts : tuple of str
        The parts that are others then.
    degree : int
        Of the polynomial that constants obey: 1 or 2; 0 where they obey none of these.
    """

    model: Any
    name: str
    value: float
    step: float
    fractions: Fractions
    others: tuple[Any, ...]
    parts: tuple[str, ...]
    degree: int

    @cached_property
    def models(self) -> tuple[Any, ...]:
        """Models at ``value + k step``."""
        return tuple(
            _model(self.model, self.name, self.value + k * self.step)
            if isinstance(x, Numbers)
            else x
            for k, x in zip(self.fractions.k, self.others, strict=True)
        )

    @property
    def alike(self) -> bool:
        """Whether all of them have the tables of the model."""
        return all(x.I is self.model.I for x in self.others)

    @property
    def described(self) -> tuple[Any, ...]:
        """Those of them that are whole models and others than the model, the farthest first."""
        return tuple(x for x in self.others if not isinstance(x, Numbers) and x is not self.model)

    @property
    def laws(self) -> list[Any]:
        """Laws of the other models, of those nearer too."""
        some = (self, *self._nearer.values())
        return [law for s in some if not s.alike for x in s.models for law in x.laws]

    def nearer(self, share: float) -> Stencil:
        """Return the stencil with a share of its step."""
        if share == 1.0:
            return self
        if share not in self._nearer:
            step = share * self.step
            self._nearer[share] = _about(self.model, self.name, self.value, step, self.fractions)
        return self._nearer[share]

    @cached_property
    def _nearer(self) -> dict[float, Stencil]:
        return {}

    def derivative(self, of: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Return the derivative of a function of the model."""

        def values(share: float) -> list[np.ndarray]:
            return [np.array([of(x) for x in self.nearer(share).models])]

        return self.differentiated(values)[0]

    def differentiated(
        self, values: Callable[[float], Sequence[np.ndarray]], sizes: Sequence[float] = ()
    ) -> list[np.ndarray]:
        """Return derivatives of what `values` are at shares of the step; name what has a kink."""
        try:
            return differentiated(values, self.step, self.fractions, sizes)
        except KinkError as error:
            raise KinkError(f"sensitivities: what follows {self.name!r} {error}") from None


def stencils(owner: str, model: FrozenModel, parameters: Any) -> list[Stencil]:
    """Return the stencils of parameters, names or Parameter; None: all that the system has."""
    with speaking_as(owner, WHO):
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
    with speaking_as(owner, WHO):
        part, argument, places = argument_of(model.system, name)
    now = evaluated(argument_now(model.system, part, argument))
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
            if floats(evaluated(argument_now(model.system, part, argument))).ndim < 2:
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
                numbers = evaluated(argument_now(model.system, part, argument))
                sizes.append(float(np.abs(floats(numbers)).max()))
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
    """Return the stencil of one parameter: to both sides, or to the one that parts admit."""
    value, scale = value_and_scale(owner, model, name)
    stencil = _admitted(owner, model, name, value, SENSITIVITY_STEP * scale)
    size = len(model.F)
    if not stencil.degree and all(len(x.F) == size for x in stencil.others):
        changes = np.flatnonzero(np.any([x.F != model.F for x in stencil.others], axis=0))
        changes = changes[(changes < m.SCALE) | (changes >= m.INTS)]  # those judge, no equation

        def constants(share: float) -> list[np.ndarray]:
            return [np.array([x.F[changes] for x in stencil.nearer(share).others])]

        neighbours = np.clip(changes[:, None] + np.arange(-3, 4), 0, size - 1)
        near = np.abs(model.F[neighbours]).max(1, initial=0.0)  # numbers of one point, one block
        try:
            share = near_enough(constants, stencil.step, stencil.fractions, near)
        except KinkError as error:
            raise KinkError(f"{owner}: the description by {name!r} {error}") from None
        stencil = stencil.nearer(share)
    _check_origin(owner, stencil)
    return stencil


def _admitted(owner: str, model: FrozenModel, name: str, value: float, step: float) -> Stencil:
    """Return the widest stencil that parts admit."""
    refused = ""
    for share in (*SHARES, SHARES[1] ** 3):
        for fractions in (CENTRAL, FORWARD, BACKWARD):
            try:
                return _about(model, name, value, share * step, fractions)
            except ValueError as error:
                if "structure" in str(error):
                    raise
                refused = refused or str(error)
    raise ValueError(f"{owner}: {name!r} cannot be varied about {value:g}: {refused}")


def _about(
    model: FrozenModel, name: str, value: float, step: float, fractions: Fractions
) -> Stencil:
    """Return the stencil of one parameter by itself.

    Constants of which the values at -1 obey a polynomial through those at 0 and 4, or at 0, 4 and
    -4, do so between them: the other models are not described.
    """

    def there(k: int) -> Any:
        return _model(model, name, value + k * step)

    some, others, degree = dict[int, Any](), dict[int, Any](), 1
    if fractions is CENTRAL:
        some = {k: there(k) for k in (4, -1)}
        others = _between(model, some)
        if not others:
            some[-4] = there(-4)
            others, degree = _between(model, some), 2
    if not others:
        others, degree = {k: there(k) for k in fractions.k if k and k not in some}, 0
    own, *parts_of = (
        x.system.parts
        for x in (model, *some.values(), *others.values())
        if not isinstance(x, Numbers)
    )
    parts = tuple(k for k, x in own.items() if any(other[k] is not x for other in parts_of))
    of = {0: model, **others, **some}
    return Stencil(
        model, name, value, step, fractions, tuple(of[k] for k in fractions.k), parts, degree
    )


def _between(model: FrozenModel, some: Mapping[int, Any]) -> dict[int, Numbers]:
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
    out = dict[int, Numbers]()
    for k in CENTRAL.k:
        if k and k not in some:
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
