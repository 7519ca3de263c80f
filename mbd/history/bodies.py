"""Histories of bodies and points: the quantities of the table that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.door import vector
from mbd.history.quantities import PartHistory, PointHistory, Reaction
from mbd.history.quantity import Owner, Quantity

if TYPE_CHECKING:
    from mbd.parts.part import Body

__all__ = ["BodyHistory", "PointHistory", "StructureHistory"]


class BodyHistory(PartHistory):
    """A body over time; (n, 3) arrays in inertial axes unless said otherwise.

    Of several bodies of one formulation together, of which `body` is one, arrays are (n, k, 3).

    Attributes
    ----------
    q, v, a : arrays
        Its numbers in the formulation.
    y, yd, ydd : (n, 4, 3) arrays
        Its face and the rates of it: origin [m], from the origin of the model, and directors.
    """

    methods = ("at(point)",)

    def __init__(
        self,
        body: Body,
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray],
        faces: tuple[np.ndarray, np.ndarray, np.ndarray],
        origin: np.ndarray,
        before: np.ndarray | None = None,
        lam: np.ndarray | None = None,
        name: str = "",
    ) -> None:
        self.body, self.name, self.origin = body, name or body.name, origin
        self.q, self.v, self.a = numbers
        self.y, self.yd, self.ydd = faces
        self.before = before  # quaternion at the instant before the first one
        self.instants = len(self.y)
        self.lam = np.empty((self.instants, 0)) if lam is None else lam  # of its own rows
        turning = (Owner.TURNING, Owner.BREATHING) if body.formulation.axes else ()
        self.owners = (Owner.BODY, *turning, *((Owner.ROWS,) if self.lam.shape[1] else ()))

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.of in (Owner.TURNING, Owner.BREATHING) and quantity.of not in self.owners:
            raise AttributeError(f"{self.name!r} is a point, it has no {quantity.words}")
        return super()._value(quantity)

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m]."""
        where = vector(f"solution[{self.name!r}].at", "point", point, "m")
        w = np.concatenate([[1.0], where])
        x, xd, xdd = (np.einsum("k,nkc->nc", w, x) for x in (self.y, self.yd, self.ydd))
        return PointHistory(x + self.origin, xd, xdd)


class StructureHistory(PartHistory):
    """The nodes of a part together, over time: arrays (n, k, 3) in the order of its k nodes.

    Attributes
    ----------
    nodes : dict
        The history of each node, by name.
    """

    def __init__(self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None) -> None:
        self.name, self.instants, self._rows = name, nodes[0].instants, rows
        self.nodes = {x.name: x for x in nodes}
        common = set.intersection(*({*x.owners} for x in nodes)) - {Owner.ROWS}
        self.owners = (*common, *(() if rows is None else rows.owners))
        self.methods = () if rows is None else rows.methods

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.of is Owner.ROWS and self._rows is not None:
            return self._rows._value(quantity)
        if quantity.of not in self.owners:
            raise AttributeError(self._lacks(quantity.name))
        return np.stack([x._value(quantity) for x in self.nodes.values()], axis=1)

    def _columns(self) -> list[str]:
        return [] if self._rows is None else self._rows._columns()

    def _column(self, name: str) -> np.ndarray:
        if self._rows is None or name not in self._rows._columns():
            raise AttributeError(self._lacks(name))
        return self._rows._column(name)

    def reaction(self, on: str = "", at: str = "") -> Reaction:
        """Return force and moment of the rows (about its origin) on a body, by its name."""
        if self._rows is None:
            raise AttributeError(self._lacks("reaction"))
        del at
        return self._rows.reaction(on)
