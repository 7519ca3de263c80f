"""Histories of joints, drives and other parts with rows: reactions, joint coordinates."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.joint_coordinates import over_time as coordinates_over_time
from mbd.history.loads import over_time as loads_over_time
from mbd.history.observed import ORIGIN
from mbd.history.observed_forces import reaction
from mbd.history.quantities import PartHistory, Reaction
from mbd.history.quantity import Owner, Quantity
from mbd.history.trajectory import Trajectory
from mbd.interactions.kind import face_name
from mbd.parts.joint import Joint

Place = tuple[str, str, str, tuple[float, ...]]  # part, face, face and weights of a point
OF_CONTACT = ("gap", "pressure", "friction", "slip", "point", "mode", "impulse", "dissipated")


class RowHistory(PartHistory):
    """A part that is no joint, over time: drive, motor, transmission, function of places.

    Where the part has them ``load`` and ``tension``: of a drive or a motor its load [N m or N],
    positive where it drives the second body forward, of a rope its tension [N]. Of a ``Gauge``
    its ``value``, ``value_rate`` and ``value_second_rate``. Of a contact what ``mbd.contacts`` has
    of each ball: ``gap``, ``pressure``, ``friction``, ``slip``, ``point``, ``mode``, ``impulse``,
    ``dissipated``.
    """

    def __init__(self, part: Any, trajectory: Trajectory) -> None:
        self.part, self.name, self._trajectory = part, part.name, trajectory
        self.instants = len(trajectory.t)
        if part.name in trajectory.model.numbering.owners:
            self.owners, self.methods = (Owner.ROWS,), ("reaction()",)
        else:
            self.owners = ()

    @property
    def lam(self) -> np.ndarray:
        """Multipliers (n, n_rows)."""
        run = self._trajectory
        return read_only(np.asarray(run.lam[:, run.model.numbering.owners[self.name]]))

    def reaction(self, on: str) -> Reaction:  # type: ignore[override]
        """Return force and moment (about its origin) on a body, by the name of the body."""
        names = [x.name for x in (*self.part.bodies, *self.part.nodes())]
        if on not in names:
            raise ValueError(f"reaction: on must be one of {', '.join(names)}, got {on!r}")
        nodes = self._trajectory.model.nodes
        several = nodes[on].formulation.n_faces if on in nodes else 1  # ground shows one
        return self._reaction([(self.name, face_name(on, i), on, ORIGIN) for i in range(several)])

    def _reaction(self, places: Sequence[Place]) -> Reaction:
        """Return the sum of reactions on faces, about points of faces."""
        run = self._trajectory
        values = run.observed(lambda tables: (i for x in places for i in reaction(tables, *x)))
        both = values.reshape(len(run.t), len(places), 2, 3).sum(axis=1)
        return Reaction(both[:, 0], both[:, 1])

    def _names(self) -> list[str]:
        return [*super()._names(), *(OF_CONTACT if self.part.balls else ())]

    def _columns(self) -> list[str]:
        rates = (f"{x}{ending}" for x in self.part.coordinates for ending in ("", "_rate"))
        return [*self.part.reads, *rates]

    def _column(self, name: str) -> np.ndarray:
        """Return a load, or a coordinate that the part leaves free, its rate or second rate."""
        if name in self.part.reads:
            return loads_over_time(self._trajectory, [(self.part, name)])[:, 0]
        for order, ending in ((2, "_second_rate"), (1, "_rate"), (0, "")):
            what = name.removesuffix(ending)
            if name.endswith(ending) and what in self.part.coordinates:
                one = {f"{self.name}.{what}": self.part.coordinates[what]}
                return coordinates_over_time(self._trajectory, one)[order][:, 0]
        if self.part.balls and name in OF_CONTACT:
            from mbd.history.contacts import contacts  # few runs have some

            return np.asarray(getattr(contacts(self._trajectory, self.name), name))
        raise AttributeError(self._lacks(name))


class JointHistory(RowHistory):
    """A joint over time: force and moment on the second body, at the joint (its frame there).

    The coordinates that the joint leaves free are attributes, with their rates:
    ``solution["hinge"].angle`` [rad], ``.angle_rate`` [rad/s], ``.angle_second_rate``.
    """

    def __init__(self, joint: Joint, trajectory: Trajectory) -> None:
        super().__init__(joint, trajectory)
        self.owners, self.methods = (Owner.JOINT, Owner.ROWS), ("reaction()",)

    def reaction(self, on: str = "second", at: str = "second") -> Reaction:
        """Return the reaction on "first" or "second" body, about the origin of either frame."""
        for word, value in (("on", on), ("at", at)):
            if value not in ("first", "second"):
                raise ValueError(f"reaction: {word} must be 'first' or 'second', got {value!r}")
        frame = self.part.A if on == "first" else self.part.B
        about = self.part.A if at == "first" else self.part.B
        return self._reaction([(self.name, frame.place, about.place, about.point())])

    @cached_property
    def reactions(self) -> Reaction:
        """Force [N] and moment [N m] on the second body, at the joint."""
        return self.reaction()

    def _value(self, quantity: Quantity) -> np.ndarray:
        if not quantity.by_kernels or quantity.of not in self.owners:
            return super()._value(quantity)
        return self._trajectory.of_owners([quantity], [self.name])[0][:, 0]

    def _there(self) -> str:
        own = ", ".join(self._columns()) or "none"
        besides = [x for x in self._names() if x not in self._columns()]
        return f"its coordinates are {own}; besides there are {', '.join(besides)}"
