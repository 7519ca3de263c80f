"""Histories of bodies and points: the quantities of the table that they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mbd.base.door import vector
from mbd.base.read_only import read_only
from mbd.history.quantities import PartHistory, PointHistory, Reaction
from mbd.history.quantity import Owner, Quantity

if TYPE_CHECKING:
    from mbd.formulations.modal.constants import NodalShapes
    from mbd.parts.part import Body

AT_ONCE = 1 << 16  # instants whose faces are kept, some 20 MB; of more they are made in pieces
Shown = tuple[np.ndarray, np.ndarray, np.ndarray]  # faces, rates, second rates


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

    methods: tuple[str, ...] = ("at(point)",)

    def __init__(
        self,
        body: Body,
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray],
        faces: Callable[[slice], Shown],
        origin: np.ndarray,
        before: np.ndarray | None = None,
        lam: np.ndarray | None = None,
        name: str = "",
    ) -> None:
        self.body, self.name, self.origin = body, name or body.name, origin
        self.q, self.v, self.a = read_only(numbers)
        self._shown = faces  # of some instants
        self.before = before  # quaternion at the instant before the first one
        self.instants = len(self.q)
        self.lam = read_only(
            np.empty((self.instants, 0)) if lam is None else lam
        )  # of its own rows
        turning = (Owner.TURNING, Owner.BREATHING) if body.formulation.axes else ()
        self.owners = (Owner.BODY, *turning, *((Owner.ROWS,) if self.lam.shape[1] else ()))

    @cached_property
    def _faces(self) -> Shown:
        return read_only(self._shown(slice(None)))

    @property
    def y(self) -> np.ndarray:  # type: ignore[override]  # of joints a coordinate
        """Face (n, 4, 3): origin [m], from the origin of the model, and directors."""
        return self._faces[0]

    @property
    def yd(self) -> np.ndarray:
        """Rates of the face (n, 4, 3)."""
        return self._faces[1]

    @property
    def ydd(self) -> np.ndarray:
        """Second rates of the face (n, 4, 3)."""
        return self._faces[2]

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.of in (Owner.TURNING, Owner.BREATHING) and quantity.of not in self.owners:
            raise AttributeError(f"{self.name!r} is a point, it has no {quantity.words}")
        if self.instants <= AT_ONCE or quantity.of is Owner.ROWS:
            return super()._value(quantity)
        return self._joined(lambda piece: (getattr(piece, quantity.name),))[0]

    def _joined(self, take: Callable[[Self], tuple[np.ndarray, ...]]) -> list[np.ndarray]:
        """Return arrays of a long run, joined from pieces, so that faces of few are in memory."""
        whole: list[np.ndarray] = []
        before = self.before
        for first in range(0, self.instants, AT_ONCE):
            here = slice(first, first + AT_ONCE)
            piece = self._piece(here, before)
            values = take(piece)
            whole = whole or [np.empty((self.instants, *x.shape[1:])) for x in values]
            for x, own in zip(whole, values, strict=True):
                x[here] = own
            before = vars(piece)["quaternion"][-1] if "quaternion" in vars(piece) else before
        return whole

    def _piece(self, here: slice, before: np.ndarray | None) -> Self:
        """Return some instants; `before` is the quaternion at the instant before them."""
        faces = self._shown(here)
        numbers = (self.q[here], self.v[here], self.a[here])
        return type(self)(
            self.body, numbers, lambda _: faces, self.origin, before, self.lam[here], self.name
        )

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m]."""
        where = vector(f"solution[{self.name!r}].at", "point", point, "m")
        w = np.concatenate([[1.0], where])

        def motion(piece: BodyHistory) -> tuple[np.ndarray, ...]:
            x, xd, xdd = (np.einsum("k,nkc->nc", w, x) for x in (piece.y, piece.yd, piece.ydd))
            return x + self.origin, xd, xdd

        long = self.instants > AT_ONCE
        return PointHistory(*(self._joined(motion) if long else motion(self)))


class FlexibleHistory(BodyHistory):
    """A flexible body over time: its frame, its modal coordinates, its nodes."""

    methods = ("at(point)", "deformation(nodes)", "points(nodes)", "recovered(matrix)")

    @property
    def _shapes(self) -> NodalShapes:
        assert self.body.nodal is not None
        return self.body.nodal

    def _columns(self) -> list[str]:
        return ["modal", "modal_rate"]

    def _column(self, name: str) -> np.ndarray:
        """Return modal coordinates p (n, m) [m], or their rates [m/s]."""
        if name not in self._columns():
            return super()._column(name)
        numbers = self.q if name == "modal" else self.v
        return np.asarray(numbers[:, -self.body.formulation.n_inner :])

    def deformation(self, nodes: Any = None) -> np.ndarray:
        """Return displacements of nodes, by number, in the axes of the frame (n, k, 3) [m]."""
        here = slice(None) if nodes is None else np.atleast_1d(nodes)
        return np.einsum("tj,ncj->tnc", self.modal, self._shapes.values[here, :3])

    def points(self, nodes: Any = None) -> np.ndarray:
        """Return positions of nodes, by number, inertial (n, k, 3) [m]."""
        here = slice(None) if nodes is None else np.atleast_1d(nodes)
        w = self._shapes.x[here] + self.deformation(nodes)
        return np.asarray(self.origin + self.y[:, None, 0] + w @ self.y[:, 1:])

    def recovered(self, matrix: Any) -> np.ndarray:
        """Return a matrix (k, degrees of freedom) times displacements of nodes: stresses (n, k)."""
        psi = self._shapes.values.reshape(-1, self._shapes.values.shape[2])
        if np.ndim(matrix) != 2 or matrix.shape[1] != len(psi):
            raise ValueError(
                f"solution[{self.name!r}].recovered: matrix must be (k, {len(psi)}), a column for "
                f"each degree of freedom of the mesh, got shape {np.shape(matrix)}"
            )
        return np.asarray(self.modal @ (matrix @ psi).T)


class StructureHistory(PartHistory):
    """The nodes of a part together, over time: arrays (n, k, 3) in the order of its k nodes.

    Parameters
    ----------
    name : str
    nodes : sequence of k histories
        The attribute ``nodes`` has them by name.
    rows : PartHistory, optional
        The rows of the part.
    words : sequence of str
        What else the part has, which `take` evaluates.
    take : callable, optional
        ``(word) -> array``, computed or stored.
    """

    def __init__(
        self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None,
        words: Sequence[str] = (), take: Callable[[str], np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.instants, self._rows = name, nodes[0].instants, rows
        self._words, self._take = words, take
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
        of_rows = [] if self._rows is None else self._rows._columns()
        return list(dict.fromkeys((*self._words, *of_rows)))

    def _column(self, name: str) -> np.ndarray:
        if self._take is not None and name in self._words:
            return self._take(name)
        if self._rows is None or name not in self._rows._columns():
            raise AttributeError(self._lacks(name))
        return self._rows._column(name)

    def reaction(self, on: str = "", at: str = "") -> Reaction:
        """Return force and moment of the rows (about its origin) on a body, by its name."""
        if self._rows is None:
            raise AttributeError(self._lacks("reaction"))
        del at
        return self._rows.reaction(on)
