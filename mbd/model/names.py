r"""Names of numbers: where the arguments of parts are among the constants of a model, with slopes.

.. math:: F(p) = F_0 + F_p\,(p - p_0) + \dots

The parts that mention a name are described once more, with a number that carries derivatives
(``mbd/base/dual.py``) in its place: what arrives at the places that the tables have shows
:math:`F_p`, exactly. Where a description cannot carry them, as through a function of a user, it is
described at four values, and differences of order four stand for the slopes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import floats, shown
from mbd.base.door import speaking_as
from mbd.base.dual import Dual, value_of
from mbd.base.parameter import Formula, Parameter, evaluated, objects_in
from mbd.base.read_only import read_only
from mbd.base.recorded_call import call_of, parameters_in, signature
from mbd.base.tolerances import SECOND_ORDER_STEP, SENSITIVITY_ZERO
from mbd.interactions.kind import Attachment
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
    check_structure,
    checked_changes,
    declared,
    described_anew,
    ends_of,
    numbers_of,
    users_of,
)
from mbd.parts.part import Part

_OWNER = "Model.names"
_CENTRAL = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}
_AHEAD = {0: -25 / 12, 1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}
_BEHIND = {-k: -w for k, w in _AHEAD.items()}
_BREAKS = (
    np.absolute, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin,
    np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip

Ends = tuple[Attachment, ...]


class SharedNumbersError(ValueError):
    """A name that has no places of its own in a model."""


class Role(Enum):
    """What a name stands for: a constant, an initial value, an input of a run, or gravity."""

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
        Where the description breaks at this very value: the slopes are those of one side.
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
                with suppress(TypeError, ValueError):
                    if floats(evaluated(argument_now(system, name, argument))).size:
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
    """Return the size of a number; of zero, that of arguments of its name; else the length."""
    system, length = model.system, float(model.F[m.LENGTH])
    part, argument, _ = argument_of(system, name)

    def size(of: str) -> float:
        with suppress(TypeError, ValueError):  # no numbers
            return float(np.abs(floats(evaluated(argument_now(system, of, argument)))).max())
        return 0.0

    own = size(part)
    if own > SENSITIVITY_ZERO * max(length, 1.0):
        return own
    parts = system.parts.items()
    alike = (name for name, x in parts if argument in signature(x.call.maker).parameters)
    return max([own, *map(size, alike)]) or length


class _Written(NamedTuple):
    """Parts that were described once more, and what they write where."""

    new: dict[str, Declared]
    numbers: list[tuple[int, Any]]


def _anew(model: FrozenModel, system: Any, values: Mapping[str, Any]) -> dict[str, Declared]:
    """Return what the parts declare that are others in another description."""
    own = model.system.parts
    new = {name: Declared.of(x) for name, x in system.parts.items() if x is not own[name]}
    for name, mine in new.items():
        check_structure(declared(model, name), mine, values)
    return new


def _described(model: FrozenModel, values: Mapping[str, Any]) -> _Written:
    """Describe the parts that mention names again, with other values or duals of them."""
    system = described_anew(model, checked_changes(model.system, values))
    new = _anew(model, system, values)
    numbers = numbers_of(model, system, new, laws=False)
    if numbers is None or _shared(model, new):
        raise SharedNumbersError(
            f"{_OWNER}: {', '.join(values)}: some of its numbers are shared with a part that has "
            f"the same ones; give it places of its own, system.build(names={[*values]})"
        )
    return _Written(new, numbers)


def _marks(weights: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the derivatives of weights, None if there are none."""
    marks = tuple(tuple(sorted(x.slopes.items())) if type(x) is Dual else () for x in weights)
    return marks if any(marks) else None


def _shared(model: FrozenModel, new: Mapping[str, Declared]) -> bool:
    """Tell whether an attachment that a name moves shares its weights with one that it does not."""
    marks = defaultdict[int, list[Any]](list)
    for own in new.values():
        for place, weights in ends_of(model, own):
            marks[place].append(_marks(weights))
    return any(
        any(each) and (len(set(each)) > 1 or len(each) < users_of(model)[place])
        for place, each in marks.items()
    )


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
    """Return names of parameters, of arguments and of components, which may stand in each other."""
    passes = defaultdict[tuple[bool, bool], list[str]](list)
    for name in names:
        part, argument, places = argument_of(model.system, name)
        passes[bool(part) or argument == "gravity", bool(places)].append(name)
    return passes


def _together(model: FrozenModel, names: Sequence[str]) -> dict[str, Name]:
    """Return the records of names in one pass, or one by one if one of them fails."""
    try:
        return _by_duals(model, names)
    except (TypeError, ValueError) as error:
        if len(names) > 1:
            return {name: x for each in names for name, x in _together(model, [each]).items()}
        if isinstance(error, ValueError):
            raise
    return {name: _by_differences(model, name) for name in names}  # it takes plain numbers only


@per_model
def _parameters(model: FrozenModel) -> dict[str, Parameter]:
    return described_parameters(model.system)


@per_model
def _in_laws(model: FrozenModel) -> set[str]:
    """Return the parameters that are handed to laws, which are compiled with their values."""
    parts = (
        part.call[1:]
        for name, part in model.system.parts.items()
        if any(e.law is not None for e in declared(model, name).elements)
    )
    return {name for values in parts for f in _functions_in(values) for name in parameters_in([f])}


def _functions_in(values: Any) -> Iterator[Any]:
    """Yield what can be called among arguments, and among those of things made of some."""
    for x in objects_in(values):
        call = None if isinstance(x, Part) else call_of(x)
        if call is not None and callable(x):
            yield x
        elif call is not None:
            yield from _functions_in(call[1:])


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
            _admitted(model, name, values[name], np.full(values[name].shape, _step(model, name)))
        units = dict.fromkeys(unit for x in each for unit in x.units)
        unit = next(iter(units)) if len(units) == 1 else ""
        several[name] = _name(
            model, name, values[name], np.array(where, np.int64), slopes, second, unit
        )
    return several


def _by_differences(model: FrozenModel, name: str) -> Name:
    """Return a name from descriptions at other values, for each of its numbers."""
    value, step = described_value(model, name), _step(model, name)
    own = _described(model, {name: _argument(value)})
    at = np.concatenate([at + np.arange(len(x)) for at, x in own.numbers])
    here, slopes, laws = _flat(own), [], False
    for i in range(value.size):
        shift = np.zeros(value.size)
        shift[i] = step
        weights, others = _admitted(model, name, value, shift.reshape(value.shape))
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


def _step(model: FrozenModel, name: str) -> float:
    return SECOND_ORDER_STEP * scale_of(model, name)


def _argument(value: np.ndarray) -> Any:
    return value if value.ndim else float(value)


def _admitted(
    model: FrozenModel, name: str, value: np.ndarray, shift: np.ndarray
) -> tuple[list[float], list[_Written]]:
    """Return weights and descriptions at values on both sides, or on the one that parts admit."""
    refused: ValueError | None = None
    for weights in (_CENTRAL, _AHEAD, _BEHIND):
        try:
            others = [_described(model, {name: _argument(value + k * shift)}) for k in weights]
        except ValueError as error:
            refused = refused or error
        else:
            return list(weights.values()), others
    assert refused is not None
    raise ValueError(
        f"{_OWNER}: {name!r} cannot be varied about {_argument(value)}: {refused}"
    ) from None


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


def _formulas_in(values: Any) -> Iterator[Formula]:
    """Yield the formulas among arguments, and among those of things made of some, parts apart."""
    for x in objects_in(values):
        if isinstance(x, Formula):
            yield x
        elif not isinstance(x, Part) and (call := call_of(x)) is not None:
            yield from _formulas_in(call[1:])


def _kinks(model: FrozenModel, name: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Return where the description breaks at the value of a parameter: a line, or a part."""
    parameter = _parameters(model).get(name)
    if parameter is None:
        return ()
    seed = {name: Dual(parameter.value, {name: 1.0})}
    decided = (x for some in parameter.decisions.values() for x in some if x.formula is not None)
    lines = [x.line for x in decided if x.formula is not None and _breaks(x.formula, seed)]
    written = {k: _formulas_in(model.system.parts[k].call[1:]) for k in parts}
    lines += [k for k, some in written.items() if any(_breaks(x, seed) for x in some)]
    return tuple(dict.fromkeys(lines))


def moved_apart(model: FrozenModel, names: Sequence[str]) -> dict[tuple[str, Any], Ends] | None:
    """Return the attachments of elements and coordinates that names move; None if none are shared.

    Keys are part and number of an element, or "" and the name of a coordinate.
    """
    apart, shared = dict[tuple[str, Any], Ends](), False
    for some in _passes(model, names).values():
        seeds = {name: _seeds(name, described_value(model, name)) for name in some}
        try:
            new = _anew(model, described_anew(model, checked_changes(model.system, seeds)), seeds)
            shared = shared or _shared(model, new)
        except TypeError:  # it takes plain numbers only: all that it has is apart
            parts, shared = affected(model, checked_changes(model.system, seeds)), True
            new = {part: declared(model, part) for part in parts & model.system.parts.keys()}
            seeds = {}
        for part, own in new.items():
            ends = {(part, i): e.attachments for i, e in enumerate(own.elements)}
            ends |= {("", f"{part}.{k}"): x.attachments for k, x in own.coordinates.items()}
            for key, its in ends.items():
                before = apart.get(key, its)
                marks = [_marks(x.weights) if seeds else (key, j) for j, x in enumerate(its)]
                apart[key] = tuple(map(_marked, its, before, marks))
    return apart if shared else None


def _marked(end: Attachment, before: Attachment, marks: Any) -> Attachment:
    """Return an attachment of plain weights that is another one than those with other marks."""
    both = (before.apart, marks) if before.apart or marks else None
    return Attachment(end.body, tuple(map(value_of, end.weights)), end.face, both)
