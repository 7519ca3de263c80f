"""Error measures of a comparison: quantities of bodies, joints and drives at the end."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbd.base.tolerances import ROUND_OFF
from mbd.front.solution import Solution
from mbd.history.columns import model_items
from mbd.history.quantities import PartHistory
from mbd.history.quantity import Owner, Quantity
from mbd.interactions.rows import COINCIDE
from mbd.machine import buffer as m
from mbd.model.model import Model

#: "bar 1.position": (3,), "bar 1.rotation": (3, 3), "drive.load": (1,), ...
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class ErrorMeasure:
    """Measure of the error of one quantity, and how it is shown.

    Attributes
    ----------
    of : Owner
    unit : str
    head : str
        Of its column.
    power : int
        Round-off of positions is divided by that power of the step.
    """

    of: Owner
    unit: str
    head: str
    power: int

    @property
    def reaction(self) -> bool:
        """Whether it comes with the multipliers, and has their order."""
        return self.of in (Owner.JOINT, Owner.LOAD, Owner.ROWS)


def _measure(quantity: Quantity, head: str, power: int, unit: str = "") -> ErrorMeasure:
    return ErrorMeasure(quantity.of, unit or quantity.unit, head, power)


QUANTITIES = {
    "position": _measure(PartHistory.position, "position", 0),
    "rotation": _measure(PartHistory.rotation, "rotation", 0, "rad"),
    "velocity": _measure(PartHistory.velocity, "velocity", 1),
    "angular_velocity": _measure(PartHistory.angular_velocity, "ang. vel.", 1),
    "force": _measure(PartHistory.force, "force", 2),
    "moment": _measure(PartHistory.moment, "moment", 2),
    "load": ErrorMeasure(Owner.LOAD, "N m or N", "load", 2),
    "multipliers": _measure(PartHistory.multipliers, "multiplier", 2, "N or N m"),
    "scale": _measure(PartHistory.scale, "scale", 0),
}
_IN_BODY_AXES = {"angular_velocity_body": "angular_velocity"}  # is known of some bodies instead


def comparable(model: Model) -> dict[str, str]:
    """Return the quantity of everything that can be compared, such as "bar 1.position".

    Multipliers are those of parts that are neither bodies, joints nor drives, as a `NonTwisting`.
    """
    items = model_items(model)
    named = {load.name.rpartition(".")[0] for load in items["reading"]}
    named |= model.nodes.keys() | model.system.joints.keys()
    rows = [part for part in items["row"] if part.name not in named]
    parts = {
        f"{part.name}.{what}": what
        for part in (*items["body"], *items["joint"], *rows)
        for what, x in QUANTITIES.items()
        if x.of in part.owners
    }
    return parts | {load.name: "load" for load in items["reading"]}


def known_as(model: Model) -> dict[str, str]:
    """Return the quantity of everything of which a value may be given: rates in body axes too."""
    can = comparable(model)
    here = {f"{key.rpartition('.')[0]}.{other}": what for other, what in _IN_BODY_AXES.items()
            for key, of in can.items() if of == what}  # fmt: skip
    return can | here


def owner(key: str) -> str:
    """Return the name of the part in "bar 1.position"."""
    return key.rpartition(".")[0]


def last(solution: Solution, keys: Iterable[str]) -> Values:
    """Return quantities of parts by their names at the last instant, those that the model has."""
    there = known_as(solution.model)
    return {
        key: np.atleast_1d(np.array(getattr(solution[owner(key)], key.rpartition(".")[2])[-1]))
        for key in keys
        if key in there
    }


def quantity(key: str) -> str:
    """Return the quantity of a name; a tension is a load."""
    what = key.rpartition(".")[2]
    what = _IN_BODY_AXES.get(what, what)
    return what if what in QUANTITIES else "load"


def difference(a: Values, b: Values, what: str, masks: Values) -> float:
    """Return the largest distance of the two of one quantity; nan if there is none.

    Masks (k,) say which components count, by name; all, where there is none.
    """
    distances = [math.nan]
    for key in a.keys() & b.keys():
        mask = masks.get(key, np.ones(len(a[key]), bool))
        if quantity(key) == what and mask.any():
            gap = a[key] - b[key]  # of rotations: twice the sine of half the angle, times root 2
            distances.append(
                float(np.linalg.norm(gap[mask]) / (math.sqrt(2) if gap.ndim > 1 else 1))
            )
    return max(distances[1:], default=math.nan)


def determined(model: Model, names: Iterable[str]) -> Values:
    """Return which components of forces, moments and loads redundant rows leave unique."""
    free = set(model.report().not_unique)
    labels, system = model.numbering.lam_labels, model.system
    keys = [k for k in comparable(model) if QUANTITIES[quantity(k)].reaction]
    masks: Values = {}
    for name in names:
        force, moment = np.ones(3, bool), np.ones(3, bool)
        for element, row in model.numbering.elements.get(name, ()):
            hit = [labels[row + i] in free for i in range(element.kind.n_rows)]
            if element.kind is COINCIDE:  # components at the joint, without a moment
                force &= ~np.array(hit)
            elif any(hit):
                moment[:] = False
                if any(a.weights[0] for a in element.attachments):
                    force[:] = False
        mine = [k for k in keys if owner(k) == name]
        if name in system.joints:
            masks |= {f"{name}.force": force, f"{name}.moment": moment}
        elif f"{name}.multipliers" in mine:
            rows = labels[model.numbering.owners[name]]
            masks[f"{name}.multipliers"] = np.array([x not in free for x in rows])
        else:
            masks |= dict.fromkeys(mine, moment[:1])
    return masks


def noise(model: Model, what: str, h: float) -> float:
    """Return what round-off of positions may do to a quantity with steps h."""
    length = float(model.F[m.LENGTH])
    mass = model.heaviest.mass
    either = mass * length * max(1.0, length)  # a force or a moment
    size = {"rotation": 1.0, "angular_velocity": 1.0, "scale": 1.0, "force": mass * length,
            "moment": mass * length**2, "load": either, "multipliers": either}  # fmt: skip
    return ROUND_OFF * size.get(what, length) / h ** QUANTITIES[what].power
