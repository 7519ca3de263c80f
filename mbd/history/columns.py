"""The columns of results: quantities of parts by name, labels of arrays, units of each column."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product, repeat
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import meant, shown
from mbd.history.beams import cables, ends_of, lines
from mbd.history.joint_coordinates import freedoms
from mbd.history.loads import units_of_loads
from mbd.history.quantities import table
from mbd.history.quantity import TOTALS, Owner, Quantity
from mbd.machine import buffer as m
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.parts.part import Body

MIXED = "mixed"
_STORED = {m.TRANSLATION: "m", m.ROTATION: "rad", m.DIRECTOR: "1"}
_SPEED = {m.TRANSLATION: "m/s", m.ROTATION: "rad/s", m.DIRECTOR: "1/s"}
# of a multiplier: energy per unit of the row, for rows on velocities power per unit
_MULTIPLIER = {"m": "N", "m/s": "N", "m^2": "N/m", "m^2/s": "N/m"}
_ORDER = ("m", "m^2", "rad", "-", "m/s", "m^2/s", "rad/s", "-/s")
ENDS, SECTION_AXIS = ("first", "last"), ("1", "2", "3")


class Item(NamedTuple):
    """An owner of quantities: name, kinds, index after time in arrays, unit, its columns."""

    name: str
    owners: tuple[Owner, ...]
    place: tuple[Any, ...] = ()
    unit: str = ""
    components: tuple[str, ...] = ()


class Column(NamedTuple):
    """A quantity of someone: unit, components, labelled array that has it, index there, owner."""

    unit: str
    components: tuple[str, ...] = ()
    array: str = ""
    place: tuple[Any, ...] = ()
    owner: str = ""


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

    @classmethod
    def of(cls, name: str, values: np.ndarray, column: Column) -> "Series":
        """Take values (n, ...) of a column, its components side by side."""
        flat = values.reshape(len(values), -1) if column.components else values
        return cls(name, flat, column.unit, column.components)

    @property
    def word(self) -> str:
        """The quantity, without the name of its part."""
        return self.name.rpartition(".")[2].replace("_", " ")

    @property
    def title(self) -> str:
        """Its name, with the component where there is only one."""
        return ".".join([self.name, *self.components]) if len(self.components) == 1 else self.name


Items = Mapping[str, Sequence[Item]]  # by the dimension that counts them


def items_of(
    labels: Callable[[str], Sequence[str]],
    turning: Collection[str],
    breathing: Collection[str],
    gap: str,
) -> Items:
    """Return the owners of quantities, from the labels of a model or of a file.

    Bodies that are `turning` have axes, those that are `breathing` a scale; `gap` is the unit of
    violations of rows.
    """

    def all_of(dimension: str, of: Owner) -> list[Item]:
        units = labels(f"{dimension}_unit") or repeat("")
        both = zip(labels(dimension), units, strict=False)
        return [Item(name, (of,), (i,), unit) for i, (name, unit) in enumerate(both)]

    def counted(dimension: str, of: Owner) -> list[Item]:
        """Return owners of several things that are counted, from 0."""
        some, first = [], 0
        for name, own in groupby(labels(dimension)):
            numbers = tuple(str(i) for i, _ in enumerate(own))
            here = (slice(first, first := first + len(numbers)),)
            some.append(Item(name, (of,), here, "", numbers))
        return some

    elements = counted("beam", Owner.ELEMENT)
    sections = [
        x._replace(owners=(Owner.SECTION,),
                   components=tuple(map(".".join, product(x.components, ENDS, SECTION_AXIS))))
        for x in elements
    ]  # fmt: skip
    rows, first = [], 0
    for name, some in groupby(labels("owner")):
        mine = slice(first, first := first + len(list(some)))
        names = tuple(x.removeprefix(f"{name}.") for x in labels("row")[mine])
        rows.append(Item(name, (Owner.ROWS,), (mine,), "as the rows", names))
    return {
        "": [Item("", (Owner.TIME, *TOTALS[: 1 + bool(labels("set_valued"))]), unit=gap)],
        "body": [
            x._replace(
                owners=(
                    *x.owners,
                    *(Owner.TURNING,) * (x.name in turning),
                    *(Owner.BREATHING,) * (x.name in breathing),
                )
            )
            for x in all_of("body", Owner.BODY)
        ],
        "joint": all_of("joint", Owner.JOINT),
        "element": [*sections, *elements],
        "bar": counted("cable", Owner.BAR),
        "mode": counted("flexible", Owner.MODE),
        "freedom": all_of("freedom", Owner.COORDINATE),
        "reading": all_of("reading", Owner.LOAD),
        "row": rows,
        "coordinate": [Item("", (Owner.POSITIONS,))],
        "speed": [Item("", (Owner.SPEEDS,))],
    }


@per_model
def model_items(model: Model) -> Items:
    """Return the owners of quantities in a model."""
    texts, bodies = labels(model), model.nodes.values()
    return items_of(
        lambda name: texts[name][1] if name in texts else (),
        {x.name for x in bodies if x.formulation.axes},
        {x.name for x in bodies if not x.formulation.rigid},
        of_gap(model),
    )


def of_stored(body: Body) -> list[str]:
    """Return the units of the stored coordinates of a body."""
    formulation = body.formulation
    if formulation.n_q == formulation.n_v:  # velocities are their rates
        return [_STORED[k] for k in formulation.velocity_kinds]
    return ["m"] * 3 + ["1"] * (formulation.n_q - 3)  # a place, and numbers of the rotation


def of_speeds(v_kinds: Iterable[int]) -> list[str]:
    """Return the units of velocities."""
    return [_SPEED[int(k)] for k in v_kinds]


def of_rows(model: Model) -> list[str]:
    """Return the units of multipliers."""
    return [_MULTIPLIER.get(unit, "N m") for unit in model.numbering.lam_units]


def of_gap(model: Model) -> str:
    """Return the units that the largest violation of a row may have: "m or -"."""
    return " or ".join(sorted(set(model.numbering.lam_units), key=_ORDER.index)) or "-"


def labels(model: Model) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return the labels of arrays: name -> (dimensions, values)."""
    system, numbering = model.system, model.numbering
    bodies, joints = model.nodes.values(), system.joints.values()
    labels: dict[str, tuple[tuple[str, ...], Any]] = {
        "component": (("component",), ["x", "y", "z"]),
        "quaternion_component": (("quaternion_component",), ["w", "x", "y", "z"]),
        "body": (("body",), list(model.nodes)),
        "mass": (("body",), np.array([body.mass for body in bodies])),
        "formulation": (("body",), [body.formulation.name for body in bodies]),
        "coordinate": (
            ("coordinate",),
            [f"{body.name}.{i}" for body in bodies for i in range(body.formulation.n_q)],
        ),
        "coordinate_unit": (("coordinate",), [u for body in bodies for u in of_stored(body)]),
        "speed": (("speed",), list(numbering.v_labels)),
        "speed_unit": (("speed",), of_speeds(numbering.v_kinds)),
    }

    def counted(dimension: str, owner: str, each: Iterable[tuple[str, int]]) -> None:
        """Label what owners have several of, "rope.0"."""
        each = list(each)
        alone(dimension, [f"{name}.{i}" for name, i in each], **{owner: [x for x, _ in each]})

    def alone(dimension: str, names: Iterable[str], **more: list[str]) -> None:
        """Label a dimension that the model has, and say more of what it counts."""
        if own := list(names):
            labels.update({x: ((dimension,), y) for x, y in {dimension: own, **more}.items()})

    alone("joint", system.joints, first=[x.A.name for x in joints],
          second=[x.B.name for x in joints], kind=[type(x).__name__ for x in joints])  # fmt: skip
    labels |= _of_beams(model)
    bars = cables(model).items()
    counted("bar", "cable", ((name, i) for name, some in bars for i in range(len(some))))
    modes = ((x.name, i) for x in bodies for i in range(x.formulation.n_inner))
    counted("mode", "flexible", modes)
    free, loads = freedoms(model), units_of_loads(model)
    alone("freedom", free, freedom_unit=[x.unit for x in free.values()])
    alone("reading", loads, reading_unit=list(loads.values()))
    alone("set_valued", model.elements_set_valued)
    owner = [""] * model.n_lam
    for name, rows in numbering.owners.items():
        owner[rows] = [name] * (rows.stop - rows.start)
    alone("row", numbering.lam_labels, owner=owner, row_unit=of_rows(model))
    return labels


def _of_beams(model: Model) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return elements, their beam, and of both ends length, body, point and axes of the section."""
    beams = lines(model)
    if not beams:
        return {}
    each = [(name, i) for name, line in beams.items() for i in range(len(line.elements))]
    ends = [x.attachments for line in beams.values() for x in line.elements]
    weights = np.array([[x.weights for x in some] for some in ends]).reshape(-1, 2, 4, 4)
    s = [ends_of(x.stations) for x in beams.values()]
    both = ("element", "end")
    return {
        "element": (("element",), [f"{name}.{i}" for name, i in each]),
        "beam": (("element",), [name for name, _ in each]),
        "end": (("end",), list(ENDS)),
        "section_axis": (("section_axis",), list(SECTION_AXIS)),
        "station": (both, np.concatenate(s)),
        "end_body": (both, [[some[0].place, some[4].place] for some in ends]),
        "end_point": ((*both, "component"), weights[:, :, 0, 1:]),
        "end_axes": ((*both, "section_axis", "component"), weights[:, :, 1:, 1:]),
    }


def fitting(items: Items) -> list[Quantity]:
    """Return the quantities that files of a model have."""
    there = {of for some in items.values() for x in some for of in x.owners}
    return [x for x in table() if x.array and x.of in there]


def columns(items: Items) -> dict[str, Column]:
    """Return every quantity of every owner by its flat name; not the numbers of the model."""
    named = [x for x in fitting(items) if x.of not in (Owner.POSITIONS, Owner.SPEEDS)]
    return {
        f"{item.name}{x.flat}": Column(
            x.unit.format(item.unit),
            x.axes.components or item.components,
            x.array,
            item.place,
            item.name,
        )
        for dimension, group in groupby(named, lambda x: x.of.dimension)
        for item, x in product(items[dimension], list(group))
        if x.of in item.owners
    }


def parts(columns: Iterable[str]) -> dict[str, list[str]]:
    """Return the quantities of each part: of ``rod.position`` its last word."""
    totals = {x.flat for x in table() if x.of in (Owner.TIME, *TOTALS)}
    words: dict[str, list[str]] = {}
    for name in columns:
        if name not in totals:
            part, _, word = name.rpartition(".")
            words.setdefault(part, []).append(word)
    return words


def divided(name: str, owners: Collection[str]) -> tuple[str, str]:
    """Return the owner that a name begins with, the longest one, and what follows its dot."""
    part, what = name, ""
    while part not in owners and "." in part:
        part, _, tail = part.rpartition(".")
        what = f"{tail}.{what}" if what else tail
    return part, what


def unknown(who: str, name: str, word: str, names: Iterable[str], part: str = "") -> KeyError:
    """Return the error for a word of a name that a part, or the model, does not have."""
    names = list(names)
    there = f"{f'{part!r} has' if part else 'there are'}: {', '.join(names[:30])}"
    return KeyError(f"{who}: nothing is called {shown(name)}{meant(word, names)}; {there}")


@per_model
def model_columns(model: Model) -> dict[str, Column]:
    """Return every quantity of every owner in a model, by its flat name."""
    return columns(model_items(model))
