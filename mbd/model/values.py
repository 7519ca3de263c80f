"""Other values of arguments in a model: its tables stay, constants and initial state are new.

A part is made again by its recorded call, with the new argument, and so is every part that refers
to it. Where nodes and elements are still of the same kinds, on the same bodies, only their numbers
are written, to the places that the tables have.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import shown
from mbd.base.parameter import Formula, decided_otherwise, mapped, objects_in
from mbd.base.read_only import read_only
from mbd.base.recorded_call import call_of, signature
from mbd.interactions.kind import Attachment, Element
from mbd.machine import buffer as m
from mbd.model.description import (
    WHO,
    Description,
    argument_now,
    argument_of,
    described_parameters,
    origin,
    with_component,
)
from mbd.model.frozen import FrozenModel, per_model, some_per_model
from mbd.model.planar_rows import elements_of
from mbd.parts.bodies import StackedBodies
from mbd.parts.part import Coordinate, Part


def changed(model: Any, values: Any, *, measured: bool = True) -> Any:
    """Return a model with other values of arguments; see ``Model.with_values``.

    One that is not `measured` keeps the sizes of this one, with which equations are scaled: what it
    computes is smooth in the values.
    """
    changes = checked_changes(model.system, values)
    otherwise = decided_otherwise(described_parameters(model.system), changes.get("", {}))
    if otherwise is not None:
        name, line = otherwise
        raise ValueError(
            f"{WHO}: {name!r}: the description compares it in {line}, and would decide otherwise "
            "with this value: describe the system with it, or compare its .value there"
        )
    system, new = declared_anew(model, changes, values)
    if not _of_same_laws(model, new):
        return system.build(model.threads)  # type: ignore[attr-defined]
    return _with_numbers(model, system, new, measured)


def on_tables_of(model: Any, system: Description) -> Any:
    """Return the model of another system on the tables of a model, or None if it has others.

    What it computes is, bit for bit, what a model built of it does.
    """
    parts = list(system.parts.values())
    if [(x.name, x.drawer) for x in parts] != [
        (x.name, x.drawer) for x in model.system.parts.values()
    ] or list(system.bodies) != list(model.system.bodies):
        return None
    new = {part.name: Declared.of(part) for part in parts}
    if any(mine.form != declared(model, name).form for name, mine in new.items()):
        return None
    return _with_numbers(model, system, new) if _of_same_laws(model, new) else None


class Declared(NamedTuple):
    """A part, and what it declares: asked for once, for that takes as long as describing it."""

    part: Part
    elements: Sequence[Element]
    coordinates: Mapping[str, Coordinate]
    form: list[Any]

    @classmethod
    def of(cls, part: Part) -> "Declared":
        """Return what a part declares."""
        elements, coordinates = elements_of(part), part.coordinates
        return cls(part, elements, coordinates, _form(part, elements, coordinates))


@partial(some_per_model, kept=sys.maxsize)
def declared(model: FrozenModel, name: str) -> Declared:
    """Return what a part of a model declares."""
    return Declared.of(model.system.parts[name])


def followed_memory(model: FrozenModel) -> list[int]:
    """Return the places of what laws of motion remember, which has tangents of its own."""
    return [
        int(model.I[record + m.E_MEMORY]) + i
        for part in model.system.parts
        for record, e in zip(model.records[part], declared(model, part).elements, strict=True)
        if e.law is not None and e.law.of_motion
        for i in range(len(e.memory))
    ]


def _of_same_laws(model: FrozenModel, new: Mapping[str, Declared]) -> bool:
    """Tell whether laws of parts are at the addresses that the model has."""
    return all(
        e.law is None or e.law.address == before.law.address
        for name, own in new.items()
        for e, before in zip(own.elements, declared(model, name).elements, strict=True)
    )


def _with_numbers(
    model: Any, system: Description, new: Mapping[str, Declared], measured: bool = True
) -> Any:
    """Return a model with other numbers in its constants."""
    F = model.F.copy()
    if measured:
        F[model.I[m.DIAG] :][: model.I[m.N_U]] = 0.0
    for at, x in numbers_of(model, system, new):
        F[at : at + len(x)] = x
    elements = dict(model.numbering.elements)
    for name, own in new.items():
        if name in elements:
            mine = [e for e in own.elements if e.kind.n_rows]
            rows = [row for _, row in elements[name]]
            elements[name] = list(zip(mine, rows, strict=True))
    numbering = replace(model.numbering, elements=elements)
    # its laws are at the same addresses
    stacked = StackedBodies.of(system.bodies.values())
    owned = model.elements | {name: own.elements for name, own in new.items()}
    other = replace(model, system=system, F=F, numbering=numbering, elements=owned, stacked=stacked)
    if measured:
        other.prepare()
    read_only(F)
    return other


def checked_changes(system: Description, values: Any) -> dict[str, dict[str, Any]]:
    """Return the new arguments of each part by name; "" has those of the system and parameters."""
    if not isinstance(values, Mapping):
        raise TypeError(
            f'{WHO}: values must be a dict such as {{"rod.mass": 2.0}}, got {shown(values)}'
        )
    changes: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        name, argument, places = argument_of(system, str(key))
        of_part = changes.setdefault(name, {})
        if places:
            now = of_part.get(argument, argument_now(system, name, argument))
            of_part[argument] = with_component(str(key), now, places, value)
        else:
            of_part[argument] = value
    return changes


@per_model
def _mentioned(model: FrozenModel) -> dict[str, set[str]]:
    """Return the names of parts, and of parameters, that are among the arguments of each part."""

    def names(values: Any) -> set[str]:
        return set[str]().union(*map(of_one, objects_in(values)))

    def of_one(value: Any) -> set[str]:
        if isinstance(value, Part):
            return {(value.owner or value).name}
        if isinstance(value, Formula):
            return set(value.parameters)
        if isinstance(value, Coordinate):
            return names(value.bodies) | {value.joint}
        return names((call_of(value) or ())[1:])

    return {name: names(part.call[1:]) for name, part in model.system.parts.items()}


def affected(model: FrozenModel, changes: dict[str, dict[str, Any]]) -> set[str]:
    """Return the parts with other arguments, and those that have such parts among theirs."""
    parts, new = set[str](), {*changes, *changes.get("", {})} - {""}
    while new:
        parts |= new
        new = {k for k, its in _mentioned(model).items() if not its.isdisjoint(new)} - parts
    return parts


def declared_anew(
    model: FrozenModel, changes: dict[str, dict[str, Any]], values: Mapping[str, Any]
) -> tuple[Description, dict[str, Declared]]:
    """Return a description with other arguments, and what the parts declare that are new in it."""
    system, own = described_anew(model, changes), model.system.parts
    new = {name: Declared.of(x) for name, x in system.parts.items() if x is not own[name]}
    for name, mine in new.items():
        _check_structure(declared(model, name), mine, values)
    return system, new


def described_anew(model: FrozenModel, changes: dict[str, dict[str, Any]]) -> Description:
    """Return a description in which parts have other arguments; the others are the same objects."""
    system, those = model.system, affected(model, changes)
    own_parts = system.parts
    copies: dict[int, Any] = {}
    of_system = changes.get("", {})
    of_part = {id(part): changes[name] for name, part in own_parts.items() if name in changes}

    def again(value: Any) -> Any:
        """Return an argument in which parts are those of the new description."""
        return mapped(value, renewed)

    def renewed(value: Any) -> Any:
        """Return an object of the new description."""
        if id(value) in copies:
            return copies[id(value)]
        if isinstance(value, Part) and value.owner is not None:
            owner = again(value.owner)
            nodes = () if owner is value.owner else owner.nodes()
            return next((x for x in nodes if x.name == value.name), value)
        if isinstance(value, Coordinate):
            joint = own_parts.get(value.joint)
            if joint is not None:
                return value if again(joint) is joint else again(joint).coordinates[value.name]
            if any(again(x) is not x for x in value.bodies):
                raise ValueError(
                    f"{WHO}: a part acts along {value.joint}.{value.name}, and that joint is not "
                    "in the system; add it, or build() a system with the new values"
                )
            return value
        if call_of(value) is not None:
            return from_call(value)
        if isinstance(value, Formula):
            return value.with_values(of_system)
        return value

    def from_call(thing: Any) -> Any:
        """Return a thing made by its call, or itself if nothing in it is new."""
        maker, args, options = thing.call
        own = again(of_part.get(id(thing), {}))
        new_args, new_options = again(args), again(options)
        copies[id(thing)] = thing
        if own:
            bound = signature(maker).bind(*new_args, **new_options)
            bound.arguments |= own
            new_args, new_options = bound.args, bound.kwargs
        if own or new_args is not args or new_options is not options:
            copies[id(thing)] = maker(*new_args, **new_options)
        return copies[id(thing)]

    described = copy(system)
    gravity = of_system.get("gravity", again(system.gravity_as_written))
    for table in ("bodies", "structures", "joints", "forces"):
        setattr(described, table, {})
    described.gravity = gravity
    for name, part in own_parts.items():
        new = again(part) if name in those else part
        if new.name != name:
            raise ValueError(f"{WHO}: a part keeps its name, got {new.name!r} for {name!r}")
        getattr(described, part.drawer)[name] = new
    owned = [x for part in described.structures.values() for x in part.nodes()]
    by_name = described.bodies | {x.name: x for x in owned}
    described.bodies = {name: by_name[name] for name in system.bodies if name in by_name}
    return described


def _form(part: Part, own: Sequence[Element], coordinates: Mapping[str, Coordinate]) -> list[Any]:
    """Return what of a part and its elements the tables of a model stand for."""
    nodes = [(x.name, x.formulation.like or x.formulation) for x in part.nodes()]
    elements = [
        (
            e.kind, [(a.body, a.face) for a in e.attachments], len(e.numbers), len(e.memory),
            list(e.rows), list(e.row_kinds), None if e.law is None else len(e.law.parameters),
        )
        for e in own
    ]  # fmt: skip
    turns = [(name, x.measure) for name, x in coordinates.items()]
    return [*nodes, *elements, *turns]


def _check_structure(before: Declared, own: Declared, values: Mapping[str, Any]) -> None:
    """Refuse values with which nodes, rows or forces are others than in the model."""
    if own.form == before.form:
        return
    name = own.part.name
    mine = [key for key in values if key.rpartition(".")[0] == name] or list(values)
    raise ValueError(
        f"{WHO}: {', '.join(mine)} would change the structure of the model: {name!r} would "
        "have other coordinates, rows or forces; describe it in a system and build() that"
    )


def _weights(
    model: FrozenModel, record: int, ends: Sequence[Attachment]
) -> Iterator[tuple[int, Any]]:
    """Yield places and weights of the attachments of a record."""
    for j, end in enumerate(ends):
        yield model.I[model.I[record + m.E_ENDS + j] + m.ATT_W], end.weights


def numbers_of(
    model: FrozenModel, system: Description, new: Mapping[str, Declared]
) -> list[tuple[int, Any]]:
    """Return places and numbers."""
    I, here = model.I, origin(system)
    moved = not np.array_equal(here, model.origin)
    numbers: list[tuple[int, Any]] = [(m.GX, system.gravity)]
    if moved:
        numbers.append((int(I[m.GROUND]), -here))
    nodes = (
        system.bodies.values() if moved else [x for own in new.values() for x in own.part.nodes()]
    )
    for body in nodes:
        node, formulation = model.node_records[body.name], body.formulation
        q, v = body.q_and_v(body.position - here)
        constants = formulation.constants(body.mass, body.center_of_mass, body.second_moments)
        numbers += [
            (I[node + m.NODE_PAR], constants), (I[m.Q] + I[node + m.NODE_Q], q),
            (I[m.V] + I[node + m.NODE_U], v),
        ]  # fmt: skip
    for part, own in new.items():
        for record, e in zip(model.records[part], own.elements, strict=True):
            numbers.append((I[record + m.E_NUMBERS], list(e.numbers)))
            numbers.append((I[record + m.E_MEMORY], list(e.memory)))
            if e.law is not None:
                numbers.append((I[I[record + m.E_LAW] + m.LAW_PARAMETERS], list(e.law.parameters)))
            numbers += _weights(model, record, e.attachments)
        for name, free in own.coordinates.items():
            for record in model.records.get(f"{part}.{name}", ()):
                numbers.append((I[record + m.E_MEMORY], [free.start]))
                numbers += _weights(model, record, free.attachments)
    return numbers
