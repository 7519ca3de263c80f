"""Histories of bodies and points: the quantities of the table that they have."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.door import vector
from mbd.base.read_only import read_only
from mbd.formulations.modal.constants import NodalShapes
from mbd.history.observed import point as see_point
from mbd.history.observed import whole_face
from mbd.history.program import columns_of
from mbd.history.quantities import PartHistory, PointHistory, Reaction
from mbd.history.quantity import Owner, Quantity


class BodyHistory(PartHistory):
    """A body over time; (n, 3) arrays in inertial axes unless said otherwise.

    Attributes
    ----------
    q, v, a : arrays
        Its numbers in the formulation.
    y, yd, ydd : (n, 4, 3) arrays
        Its face and the rates of it: origin [m], from the origin of the model, and directors.
    """

    methods: tuple[str, ...] = ("at(point)",)

    def __init__(self, trajectory: Any, name: str) -> None:
        self._run, self.name, self.instants = trajectory, name, len(trajectory.t)
        owner = name.partition("/")[0]
        self.body = trajectory.model.nodes[owner]
        self._columns_of = columns_of(trajectory.model)[owner]
        self._rows = trajectory.model.numbering.owners.get(name, slice(0, 0))
        turning = (Owner.TURNING, Owner.BREATHING) if self.body.formulation.axes else ()
        own = (Owner.ROWS,) if self._rows.stop > self._rows.start else ()
        self.owners = (Owner.BODY, *turning, *own)

    @property
    def q(self) -> np.ndarray:
        """Its stored coordinates (n, n_q)."""
        return read_only(np.asarray(self._run.q[:, self._columns_of[0]]))

    @property
    def v(self) -> np.ndarray:
        """Its velocities (n, n_v)."""
        return read_only(np.asarray(self._run.v[:, self._columns_of[1]]))

    @property
    def a(self) -> np.ndarray:
        """Its accelerations (n, n_v)."""
        return read_only(np.asarray(self._run.a[:, self._columns_of[1]]))

    @property
    def lam(self) -> np.ndarray:
        """Multipliers of its own rows (n, rows)."""
        lam = self._run.lam if Owner.ROWS in self.owners else np.empty((self.instants, 0))
        return read_only(np.asarray(lam[:, self._rows]))

    def _face(self, order: int) -> np.ndarray:
        values = self._run.observed(lambda tables: whole_face(tables, self.name, order))
        return read_only(values.reshape(-1, 4, 3))

    @cached_property
    def y(self) -> np.ndarray:  # type: ignore[override]  # of joints a coordinate
        """Face (n, 4, 3): origin [m], from the origin of the model, and directors."""
        return self._face(0)

    @cached_property
    def yd(self) -> np.ndarray:
        """Rates of the face (n, 4, 3)."""
        return self._face(1)

    @cached_property
    def ydd(self) -> np.ndarray:
        """Second rates of the face (n, 4, 3)."""
        return self._face(2)

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.of in (Owner.TURNING, Owner.BREATHING) and quantity.of not in self.owners:
            raise AttributeError(f"{self.name!r} is a point, it has no {quantity.words}")
        if not quantity.by_kernels or quantity.of not in self.owners:
            return super()._value(quantity)
        return self._run.of_bodies(quantity, [self.name])[:, 0]

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m]."""
        w = (1.0, *vector(f"solution[{self.name!r}].at", "point", point, "m"))
        motion = self._run.observed(
            lambda tables: (i for order in range(3) for i in see_point(tables, self.name, order, w))
        )
        return PointHistory(motion[:, :3], motion[:, 3:6], motion[:, 6:])


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
        return np.asarray(self._run.model.origin + self.y[:, None, 0] + w @ self.y[:, 1:])

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
