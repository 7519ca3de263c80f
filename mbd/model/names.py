r"""Names of numbers: where the arguments of parts are among the constants of a model, with slopes.

.. math:: F(p) = F_0 + F_p\,(p - p_0) + \dots

The parts that mention a name are described once more, with a number that carries derivatives
(``mbd/base/dual.py``) in its place: what arrives at the places that the tables have shows
:math:`F_p`, exactly. Where a description cannot carry them, as through a function of a user, it is
described at four values, and differences of order four stand for the slopes.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from mbd.algebra.differences import FOURTH
from mbd.base.checked import floats, shown
from mbd.base.door import speaking_as
from mbd.base.dual import Dual
from mbd.base.parameter import Formula, Parameter, evaluated, objects_in
from mbd.base.read_only import read_only
from mbd.base.recorded_call import call_of, parameters_in, signature
from mbd.base.tolerances import ROUND_OFF
from mbd.machine import buffer as m
from mbd.model.description import (
    WHO,
    argument_now,
    argument_of,
    component_now,
    described_parameters,
)
from mbd.model.frozen import FrozenModel, per_model
from mbd.model.values import (
    Declared,
    affected,
    changed,
    checked_changes,
    declared,
    declared_anew,
    numbers_of,
)
from mbd.parts.part import Part

_OWNER = "Model.names"
_CENTRAL = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}
_AHEAD = {0: -25 / 12, 1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}
_BEHIND = {-k: -w for k, w in _AHEAD.items()}
_BREAKS = (np.absolute, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin)


class Role(Enum):
    """Role of a name: a constant, an initial value, an input of a run, or gravity."""

    CONSTANT = auto()
    INITIAL = auto()
    INPUT = auto()
    GRAVITY = auto()


@dataclass(frozen=True, eq=False)
class Name:
    """A number of the description, or an array of n of them, among the constants of a model.

    Attributes
    ----------
    name : str
        "rod.mass", "push.force", "rod.inertia.xx", "gravity.z", or that of a ``Parameter``.
    value : array
        As described.
    places : (k,) array of int
        Where F depends on it: constants, and the part of F that is the initial state.
    slopes : (k,) or (k, n) array
        Derivatives of F there, of an array by each of its numbers in order.
    second : bool
        Whether the slopes depend on the value: at another one they must be asked again.
    unit : str
        As its part takes it; empty of a ``Parameter`` that stands in formulas only.
    role : Role
        INPUT and GRAVITY may be set while a run goes on.
    parts : tuple of str
        The parts that depend on it.
    by_law : bool
        Whether laws of elements depend on it too, which no constant shows.
    kinks : tuple of str
        Parts of which a formula breaks at this very value: the slopes are those of one side.
    """

    name: str
    value: np.ndarray
    places: np.ndarray
    slopes: np.ndarray
    second: bool
    unit: str
    role: Role
    parts: tuple[str, ...] = ()
    by_law: bool = False
    kinks: tuple[str, ...] = ()

    @property
    def settable(self) -> bool:
        """Whether it may be set while a run goes on: nothing follows from it but its numbers."""
        return self.role in (Role.INPUT, Role.GRAVITY)


class Names(Mapping[str, Name]):
    """Numbers of the description of a model by name, asked for when they are looked up.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: FrozenModel) -> None:
        self.model = model

    def __getitem__(self, name: str | Parameter) -> Name:
        return self.several([name])[0]

    def several(self, names: Sequence[str | Parameter], who: str = _OWNER) -> list[Name]:
        """Return some names, in order; they are found in one pass."""
        kept = _kept(self.model)
        keys = [x.name if isinstance(x, Parameter) else str(x) for x in names]
        new = [x for x in dict.fromkeys(keys) if x not in kept]
        if new:
            with speaking_as(who, WHO), speaking_as(who, _OWNER):
                kept |= _looked_up(self.model, new)
        return [kept[x] for x in keys]

    def __iter__(self) -> Iterator[str]:
        system = self.model.system
        yield from described_parameters(system)
        yield "gravity"
        for name, part in system.parts.items():
            for argument in part.call.arguments():
                now = argument_now(system, name, argument)
                if isinstance(now, Mapping):
                    yield from (f"{name}.{argument}.{x}" for x in now if not np.ndim(now[x]))
                    continue
                with suppress(TypeError, ValueError):
                    if floats(evaluated(now)).size:
                        yield f"{name}.{argument}"

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Names({len(self)} of {self.model!r})"


@per_model
def _kept(model: FrozenModel) -> dict[str, Name]:
    """Return the names that were asked for so far."""
    del model
    return {}


def described_value(model: FrozenModel, name: str) -> np.ndarray:
    """Return the number, or numbers, of a name as described."""
    part, argument, places = argument_of(model.system, name)
    value = argument_now(model.system, part, argument)
    if places:
        return np.array(component_now(name, value, places))
    try:
        return floats(evaluated(value))
    except TypeError:
        raise TypeError(
            f"{WHO}: {name!r} must be described by numbers, got {shown(value)}; give some there"
        ) from None


def scale_of(model: FrozenModel, name: str) -> float:
    """Return the size of a number; of round-off of zero, that of arguments of its name.

    Where none of these in the model is larger, the length of the model counts. What may not be of
    another sign is no round-off, however small.
    """
    system, length = model.system, float(model.F[m.LENGTH])
    part, argument, _ = argument_of(system, name)

    def size(of: str) -> float:
        with suppress(TypeError, ValueError):  # no numbers
            return float(np.abs(floats(evaluated(argument_now(system, of, argument)))).max())
        return 0.0

    own = size(part)
    if own > ROUND_OFF * max(length, 1.0):
        return own
    parts = system.parts.items()
    alike = (name for name, x in parts if argument in signature(x.call.maker).parameters)
    largest = max([own, *map(size, alike)])
    largest = length if largest == own else largest
    if own == 0.0 or own > ROUND_OFF * largest:
        return own or largest
    value = float(described_value(model, name).flat[0])
    try:
        changed(model, {name: value - math.copysign(largest, value)}, measured=False)
    except ValueError:
        return own
    return largest


class _Written(NamedTuple):
    """Parts that were described once more, and what they write where."""

    new: dict[str, Declared]
    numbers: list[tuple[int, Any]]


def _described(model: FrozenModel, values: Mapping[str, Any]) -> _Written:
    """Describe the parts that mention names again, with other values or duals of them."""
    system, new = declared_anew(model, checked_changes(model.system, values), values)
    return _Written(new, numbers_of(model, system, new))


def _seeds(name: str, value: np.ndarray) -> Any:
    """Return numbers that stand for themselves."""
    if not value.ndim:
        return Dual(float(value), {name: 1.0}, units=[])
    each = [Dual(x, {f"{name}[{i}]": 1.0}, units=[]) for i, x in enumerate(value.flat)]
    seeds = np.empty(value.size, object)
    seeds[:] = each
    return seeds.reshape(value.shape)


def _looked_up(model: FrozenModel, names: Iterable[str]) -> dict[str, Name]:
    """Return the records of names; those that do not stand in each other in one pass."""
    by_law = _in_laws(model).intersection(names)
    several = {name: _by_differences(model, name) for name in by_law}
    for some in _passes(model, (name for name in names if name not in by_law)).values():
        several |= _together(model, some)
    return several


def _passes(model: FrozenModel, names: Iterable[str]) -> dict[tuple[bool, bool], list[str]]:
    """Return names that may be asked for together: none of them stands in another one.

    Parameters may stand in arguments, components do in those that are named as a whole too.
    """
    passes = defaultdict[tuple[bool, bool], list[str]](list)
    described = {name: argument_of(model.system, name) for name in names}
    wholes = {x[:2] for x in described.values() if not x[2]}
    for name, (part, argument, places) in described.items():
        in_whole = bool(places) and (part, argument) in wholes
        passes[bool(part) or argument == "gravity", in_whole].append(name)
    return passes


def _together(model: FrozenModel, names: Sequence[str]) -> dict[str, Name]:
    """Return the records of names in one pass, or one by one if one of them fails."""
    try:
        return _by_duals(model, names)
    except (TypeError, ValueError):
        if len(names) > 1:
            return {name: x for each in names for name, x in _together(model, [each]).items()}
    return {name: _by_differences(model, name) for name in names}  # it takes plain numbers only


@per_model
def _parameters(model: FrozenModel) -> dict[str, Parameter]:
    return described_parameters(model.system)


@per_model
def _in_laws(model: FrozenModel) -> set[str]:
    """Return the parameters that laws keep to themselves, as those of Python and of motion do."""
    parts = (
        part.call[1:]
        for name, part in model.system.parts.items()
        if any(e.law is not None for e in declared(model, name).elements)
    )
    numbered = {id(law.function) for law in model.laws if law.parameters}
    functions = (x for x in _within(parts) if callable(x) and id(x) not in numbered
                 and call_of(x) is not None)  # fmt: skip
    return {name for x in functions for name in parameters_in([x])}


def _within(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the objects in arguments, and in those of things made of some, parts apart."""
    for x in (x for each in arguments for x in objects_in(each) if not isinstance(x, Part)):
        yield x
        yield from _within((call_of(x) or ())[1:])


def _by_duals(model: FrozenModel, names: Sequence[str]) -> dict[str, Name]:
    """Return names from one description with duals."""
    values = {name: described_value(model, name) for name in names}
    seeds = {name: _seeds(name, x) for name, x in values.items()}
    _, numbers = _described(model, seeds)
    places = defaultdict[str, dict[int, Dual]](dict)
    for at, some in numbers:
        for i, x in enumerate(some):
            if type(x) is Dual:
                for p, slope in x.slopes.items():
                    if slope or p in x.curved:
                        places[p][int(at) + i] = x
    several = {}
    for name, seed in seeds.items():
        each = [*np.atleast_1d(np.asarray(seed, object)).flat]
        own = [places[p] for x in each for p in x.slopes]
        where = sorted(set().union(*own))
        slopes = np.array([
            [its[at].slopes[p] if at in its else 0.0 for its, x in zip(own, each, strict=True)
             for p in x.slopes]
            for at in where
        ]).reshape(len(where), len(each))  # fmt: skip
        second = any(not x.curved.isdisjoint(y.slopes) for y, its in zip(each, own, strict=True)
                     for x in its.values())  # fmt: skip
        if not where:  # it may decide of what there is, a compliance of zero
            _admitted(
                model,
                name,
                values[name],
                np.full(values[name].shape, FOURTH * scale_of(model, name)),
            )
        units = dict.fromkeys(unit for x in each for unit in x.units)
        unit = next(iter(units)) if len(units) == 1 else ""
        several[name] = _name(
            model, name, values[name], np.array(where, np.int64), slopes, second, unit
        )
    return several


def _by_differences(model: FrozenModel, name: str) -> Name:
    """Return a name from descriptions at other values, for each of its numbers."""
    value, step = described_value(model, name), FOURTH * scale_of(model, name)
    shifts = step * np.eye(value.size).reshape(-1, *value.shape)
    admitted = [_admitted(model, name, value, shift) for shift in shifts]
    own = _described(model, {name: value[()]})
    at = np.concatenate([at + np.arange(len(x)) for at, x in own.numbers])
    here, slopes, laws = _flat(own), [], False
    for weights, others in admitted:
        if any(len(_flat(x)) != len(here) for x in others):
            raise ValueError(
                f"{_OWNER}: {name!r} moves the point from which positions are stored, since the "
                "model is far from the inertial origin; describe it nearer to the origin"
            )
        changes = (w * (_flat(x) - here) for x, w in zip(others, weights, strict=True))
        slopes.append(sum(changes, np.zeros(len(here))) / step)
        laws |= any(_laws(x) != _laws(own) for x in others)
    both = np.array(slopes).T
    moved = both.any(axis=1)
    return _name(model, name, value, at[moved], both[moved], True, "", laws)


def _admitted(
    model: FrozenModel, name: str, value: np.ndarray, shift: np.ndarray
) -> tuple[list[float], list[_Written]]:
    """Return weights and descriptions at values on both sides, or on the one that parts admit."""
    refused: ValueError | None = None
    for weights in (_CENTRAL, _AHEAD, _BEHIND):
        try:
            others = [_described(model, {name: (value + k * shift)[()]}) for k in weights]
        except ValueError as error:
            refused = refused or error
        else:
            return list(weights.values()), others
    assert refused is not None
    raise ValueError(f"{_OWNER}: {name!r} cannot be varied about {value[()]}: {refused}") from None


def _flat(described: _Written) -> np.ndarray:
    return np.concatenate([np.asarray(x, float) for _, x in described.numbers])


def _laws(described: _Written) -> list[int]:
    """Return the addresses of laws."""
    elements = (e for own in described.new.values() for e in own.elements)
    return [e.law.address for e in elements if e.law is not None]


def _name(
    model: FrozenModel, name: str, value: np.ndarray, places: np.ndarray, slopes: np.ndarray,
    second: bool, unit: str, by_law: bool = False,
) -> Name:  # fmt: skip
    """Return the record of a name."""
    part, argument, _ = argument_of(model.system, name)
    own = affected(model, {part: {argument: value}})
    parts = tuple(x for x in model.system.parts if x in own)
    role = Role.CONSTANT
    if (places >= model.I[m.Q]).any():
        role = Role.INITIAL
    elif len(places) and set(places.tolist()) <= {m.GX, m.GY, m.GZ}:
        role, unit = Role.GRAVITY, "m/s^2"
    elif part and part not in model.nodes and not by_law and not second and parts == (part,):
        rows = model.numbering.lam_kinds[model.numbering.owners.get(part, slice(0))]
        ones = (np.abs(slopes) == 1.0).sum(axis=1) == 1
        same = (model.F[places] == slopes @ value.reshape(-1)).all()
        jumps = (rows != m.VELOCITY_ROW).any()  # positions would
        if len(places) and ones.all() and (slopes != 0.0).sum() == len(places) and same:
            role = Role.CONSTANT if jumps else Role.INPUT
    slopes = slopes if value.ndim else slopes[:, 0]
    kinks = _kinks(model, name, parts)
    read_only((value, places, slopes))
    return Name(name, value, places, slopes, second, unit, role, parts, by_law, kinks)


def _breaks(formula: Formula, seed: Mapping[str, Any]) -> bool:
    """Tell whether a formula, or one in it, has one-sided derivatives where its sides are equal."""
    if formula.function in _BREAKS:
        a, b = (*formula.operands, 0.0)[:2]
        sides = (evaluated(x.with_values(seed)) if isinstance(x, Formula) else x for x in (a, b))
        apart = np.subtract(*sides)
        if type(apart) is Dual and apart == 0.0 and any(apart.slopes.values()):
            return True
    return any(_breaks(x, seed) for x in formula.operands if isinstance(x, Formula))


def _kinks(model: FrozenModel, name: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of which a formula breaks at the value of a parameter."""
    parameter = _parameters(model).get(name)
    if parameter is None:
        return ()
    seed = {name: Dual(parameter.value, {name: 1.0})}
    within = {k: _within(model.system.parts[k].call[1:]) for k in parts}
    return tuple(
        k for k, some in within.items()
        if any(_breaks(x, seed) for x in some if isinstance(x, Formula))
    )  # fmt: skip
