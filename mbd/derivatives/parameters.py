r"""Parameters, and a model along them: on the straight line on which their constants move at first.

.. math:: F(e) = F_0 + e\,F_p

The slopes are those of names (``mbd/model/names.py``), so that derivatives along this line are
those by the parameter, whatever the step: no other model is described, and nothing that a
description decides is in the way. What reads the description itself, as results by name do, asks
for models at other values; these are described when that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.algebra.differences import EIGHTH
from mbd.base.checked import listed, shown
from mbd.base.door import speaking_as
from mbd.base.parameter import Parameter, evaluated
from mbd.derivatives.differences import (
    BACKWARD,
    CENTRAL,
    FORWARD,
    SHARES,
    Fractions,
    KinkError,
    differentiated,
)
from mbd.model.description import WHO, argument_now, argument_of, described_parameters
from mbd.model.frozen import FrozenModel
from mbd.model.names import Name, Names, described_value, scale_of
from mbd.model.values import changed


@dataclass(frozen=True, eq=False)
class Stencil:
    """A parameter, and models with other values of it.

    Parameters
    ----------
    model : Model
        At its own value.
    of : Name
    value, scale : float
    owner : str
        Named in errors.
    share : float
        Of EIGHTH times the scale, the distance of the values.
    root : Stencil, optional
        That of share one, if it is another.
    """

    model: Any
    of: Name
    value: float
    scale: float
    owner: str
    share: float = 1.0
    root: Stencil | None = None

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self.of.name

    @property
    def step(self) -> float:
        """Distance of the values."""
        return self.share * EIGHTH * self.scale

    @property
    def alike(self) -> bool:
        """Whether models along the parameter have the tables of the model."""
        return not self.of.by_law

    def constants(self, e: float) -> np.ndarray:
        """Return F_0 + e F_p."""
        F = self.model.F.copy()
        F[self.of.places] += e * self.of.slopes
        return F

    def described_at(self, e: float) -> Any:
        """Return the model at another value."""
        if e not in self._described:
            values = {self.name: self.value + e}
            self._described[e] = changed(self.model, values, measured=False) if e else self.model
        return self._described[e]

    @cached_property
    def _described(self) -> dict[float, Any]:
        return {}

    @cached_property
    def others(self) -> tuple[Any, ...]:
        """Models along the parameter at the values of `line`; of laws, described ones."""
        if self.of.by_law:
            return self.models
        return tuple(replace(self.model, F=self.constants(k * self.step)) for k in CENTRAL.k)

    @property
    def line(self) -> Fractions:
        """Values k and weights of `others`."""
        return self.fractions if self.of.by_law else CENTRAL

    @cached_property
    def models(self) -> tuple[Any, ...]:
        """Models that are described at other values, those of `fractions`."""
        models = tuple(self.described_at(k * self.step) for k in self.fractions.k)
        if not all(np.array_equal(x.origin, self.model.origin) for x in models):
            raise ValueError(
                f"{self.owner}: {self.name!r} moves the point from which positions are stored, "
                "since the model is far from the inertial origin; describe it nearer to the origin"
            )
        return models

    @cached_property
    def fractions(self) -> Fractions:
        """Values k and weights: to both sides, or to the one that parts admit; the widest."""
        if self.root is not None:
            return self.root.fractions
        refused = ""
        for share in (*SHARES, SHARES[1] ** 3):
            for k, *weights in (CENTRAL, FORWARD, BACKWARD):
                try:
                    for x in k:
                        self.described_at(x * share * self.step)
                except ValueError as error:
                    refused = refused or str(error)
                else:
                    each = (tuple(w / share for w in of) for of in weights)
                    return Fractions(tuple(x * share for x in k), *each)
        raise ValueError(
            f"{self.owner}: {self.name!r} cannot be varied about {self.value:g}: {refused}"
        )

    @property
    def described(self) -> tuple[Any, ...]:
        """Parameters that are described, the farthest first."""
        return self.models[:0:-1]

    @property
    def laws(self) -> list[Any]:
        """Laws of the models that were described."""
        some = (self, *self._nearer.values())
        return [law for s in some if s.of.by_law for x in s._described.values() for law in x.laws]

    def nearer(self, share: float) -> Stencil:
        """Return the stencil with a share of its step."""
        if share == 1.0:
            return self
        if share not in self._nearer:
            self._nearer[share] = replace(self, share=share * self.share, root=self.root or self)
        return self._nearer[share]

    @cached_property
    def _nearer(self) -> dict[float, Stencil]:
        return {}

    def derivative(self, of: Callable[[Any], np.ndarray]) -> np.ndarray:
        """Return the derivative of a function of the described model."""

        def values(share: float) -> list[np.ndarray]:
            return [np.array([of(x) for x in self.nearer(share).models])]

        return self.differentiated(values, self.fractions)[0]

    def differentiated(
        self, values: Callable[[float], Sequence[np.ndarray]], fractions: Fractions,
        sizes: Sequence[float] = (),
    ) -> list[np.ndarray]:  # fmt: skip
        """Return derivatives of what `values` are at shares of the step; name what has a kink."""
        try:
            return differentiated(values, self.step, fractions, sizes)
        except KinkError as error:
            raise KinkError(f"sensitivities: what follows {self.name!r} {error}") from None


def stencils(
    owner: str, model: FrozenModel, parameters: Any, sizes: Iterable[tuple[float, float]] = ()
) -> list[Stencil]:
    """Return the stencils of parameters, names or Parameter; None: all that the system has.

    ``sizes``: their values and scales, where these are known.
    """
    names = named(owner, model, parameters)
    sizes = list(sizes) or [value_and_scale(owner, model, name) for name in names]
    with speaking_as(owner, WHO):
        records = Names(model).several(names, owner)
    for x in records:
        if x.kinks:
            raise KinkError(
                f"{owner}: the description by {x.name!r} has a kink here, and no derivative, in "
                f"{', '.join(x.kinks)}; take another value, or smooth it"
            )
    both = zip(records, sizes, strict=True)
    return [Stencil(model, x, value, scale, owner) for x, (value, scale) in both]


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


def value_and_scale(owner: str, model: Any, name: str) -> tuple[float, float]:
    """Return the value of a parameter, and its scale."""
    with speaking_as(owner, WHO):
        part, argument, _ = argument_of(model.system, name)
        try:
            value = described_value(model, name)
        except TypeError:  # described by no numbers
            value = np.zeros(0)
    if value.ndim:
        instead = f"name a component of it, such as {name + '.x'!r}, or give it a value"
        if not 0 < value.size <= 9:
            numbers = [x.removeprefix(f"{part}.") for x in model.names if x.startswith(f"{part}.")]
            instead = f"numbers of {part!r} are {', '.join(numbers) or 'none'}"
        now = shown(evaluated(argument_now(model.system, part, argument)))
        raise ValueError(f"{owner}: {name!r} must be one number, got {now}; {instead}")
    return float(value), scale_of(model, name)
