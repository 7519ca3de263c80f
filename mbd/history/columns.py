"""The columns of results: who has which quantity of the table, under which name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.history.joint_coordinates import freedoms
from mbd.history.loads import all_loads
from mbd.history.quantities import table
from mbd.history.quantity import Owner, Quantity
from mbd.history.units import of_gap
from mbd.model.frozen import per_model

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.bodies import Body

__all__ = [
    "Column", "Item", "Series", "columns", "fitting", "model_columns", "model_items", "owners_of",
    "parts", "with_units",
]  # fmt: skip


@dataclass(frozen=True)
class Item:
    """Someone who has quantities.

    Attributes
    ----------
    name : str
    owners : tuple of Owner
        Whose quantities it has.
    place : tuple
        Index behind time in labelled arrays.
    unit : str
        For quantities whose unit differs from one to the other.
    components : tuple of str
        Names of its own columns.
    """

    name: str
    owners: tuple[Owner, ...]
    place: tuple[Any, ...] = ()
    unit: str = ""
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A quantity of someone: ``rod.position``.

    Attributes
    ----------
    unit : str
    components : tuple of str
        None for a scalar.
    array : str
        Name of the labelled array that has it,
    place : tuple
        and index there, behind time.
    """

    unit: str
    components: tuple[str, ...] = ()
    array: str = ""
    place: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Series:
    """One quantity over time.

    Attributes
    ----------
    name : str
        "rod.position".
    values : (n,) or (n, k) array
    unit : str
        SI; "-" for a pure number.
    components : tuple of str
        Names of the k columns; none for a scalar.
    """

    name: str
    values: np.ndarray
    unit: str
    components: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """What it is, without the part it belongs to."""
        return self.name.rpartition(".")[2].replace("_", " ")


Items = Mapping[str, Sequence[Item]]  # by the dimension of their owners


def owners_of(axes: bool, rigid: bool) -> tuple[Owner, ...]:
    """Return whose quantities a body has in files."""
    turning = (Owner.BODY, Owner.TURNING) if axes else (Owner.BODY,)
    return turning if rigid else (*turning, Owner.BREATHING)


def _of_body(body: Body) -> tuple[Owner, ...]:
    return owners_of(body.formulation.axes, body.formulation.rigid)


@per_model
def model_items(model: Model) -> dict[str, list[Item]]:
    """Return everyone in a model who has quantities."""
    system, numbering = model.system, model.numbering
    return {
        "": [Item("", (Owner.TIME, Owner.TOTAL), unit=of_gap(model))],
        "body": [Item(x.name, _of_body(x), (i,)) for i, x in enumerate(system.bodies.values())],
        "joint": [Item(name, (Owner.JOINT,), (i,)) for i, name in enumerate(system.joints)],
        "freedom": with_units(
            {name: x.unit for name, x in freedoms(model).items()}, Owner.COORDINATE
        ),
        "reading": with_units(all_loads(model).units, Owner.LOAD),
        "row": [
            Item(name, (Owner.ROWS,), (mine,), "as the rows",
                 tuple(x.removeprefix(f"{name}.") for x in numbering.lam_labels[mine]))
            for name, mine in numbering.owners.items()
            if mine.stop > mine.start
        ],
        "coordinate": [Item("", (Owner.POSITIONS,))],
        "speed": [Item("", (Owner.SPEEDS,))],
    }  # fmt: skip


def with_units(units: Mapping[str, str], of: Owner) -> list[Item]:
    """Return those that have a unit each."""
    return [Item(name, (of,), (i,), unit) for i, (name, unit) in enumerate(units.items())]


def fitting(items: Items) -> list[Quantity]:
    """Return the quantities that files of a model have."""
    there = {of for some in items.values() for x in some for of in x.owners}
    return [x for x in table() if x.array and x.of in there]


def columns(items: Items) -> dict[str, Column]:
    """Return every quantity of everyone, by its flat name; not the numbers of the model."""
    named = [x for x in fitting(items) if x.of not in (Owner.POSITIONS, Owner.SPEEDS)]
    return {
        f"{item.name}{x.flat}": Column(
            x.unit.format(item.unit), x.axes.components or item.components, x.array, item.place
        )
        for dimension, group in groupby(named, lambda x: x.of.dimension)
        for item, x in product(items[dimension], list(group))
        if x.of in item.owners
    }


def parts(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the quantities of each part: of ``rod.position`` its last word."""
    totals = {x.flat for x in table() if x.of in (Owner.TIME, Owner.TOTAL)}
    words: dict[str, list[str]] = {}
    for name in columns:
        if name not in totals:
            part, _, word = name.rpartition(".")
            words.setdefault(part, []).append(word)
    return words


@per_model
def model_columns(model: Model) -> dict[str, Column]:
    """Return every quantity of everyone in a model, by its flat name."""
    return columns(model_items(model))
