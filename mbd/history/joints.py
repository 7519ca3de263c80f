"""Histories of joints, drives and other parts with rows: reactions, joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.joint_coordinates import over_time as coordinates_over_time
from mbd.history.loads import over_time as loads_over_time
from mbd.history.observed import ORIGIN
from mbd.history.observed_forces import reaction
from mbd.history.quantities import PartHistory, Reaction
from mbd.history.quantity import Owner
from mbd.interactions.kind import face_name

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model
    from mbd.parts.joint import Joint
    from mbd.parts.part import Frame, Part


Place = tuple[str, str, str, tuple[float, ...]]  # part, face, face and weights of a point


def of_joint(joint: Joint, on: Frame, at: Frame) -> Place:
    """Return the reaction of a joint on one of its frames, about the origin of one."""
    return joint.name, on.place, at.place, at.point()


def over_time(run: Trajectory, some: Sequence[Place], lam: np.ndarray | None = None) -> Reaction:
    """Return reactions of rows of parts on faces, about points of faces, (n, k, 3).

    Multipliers are those of the run, or others.
    """
    values = run.observed(lambda tables: (i for x in some for i in reaction(tables, *x)), lam)
    values = values.reshape(len(run.t), len(some), 2, 3)
    return Reaction(values[:, :, 0], values[:, :, 1])


def of_all_joints(model: Model) -> list[Place]:
    """Return the reactions of all joints on their second bodies."""
    return [of_joint(x, x.B, x.B) for x in model.system.joints.values()]


class JointHistory(PartHistory):
    """A joint over time: force and moment on the second body, at the joint (its frame there).

    The coordinates that the joint leaves free are attributes, with their rates:
    ``solution["hinge"].angle`` [rad], ``.angle_rate`` [rad/s], ``.angle_second_rate``.
    """

    owners, methods = (Owner.JOINT, Owner.ROWS), ("reaction()",)

    def __init__(self, joint: Joint, trajectory: Trajectory) -> None:
        self.joint, self.name, self._trajectory = joint, joint.name, trajectory
        self.instants = len(trajectory.t)

    @property
    def lam(self) -> np.ndarray:
        """Multipliers (n, n_rows)."""
        return _multipliers(self._trajectory, self.name)

    def reaction(self, on: str = "second", at: str = "second") -> Reaction:
        """Return the reaction on "first" or "second" body, about the origin of either frame."""
        for word, value in (("on", on), ("at", at)):
            if value not in ("first", "second"):
                raise ValueError(f"reaction: {word} must be 'first' or 'second', got {value!r}")
        frame = self.joint.A if on == "first" else self.joint.B
        about = self.joint.A if at == "first" else self.joint.B
        return _single(self._trajectory, of_joint(self.joint, frame, about))

    @cached_property
    def reactions(self) -> Reaction:
        """Force [N] and moment [N m] on the second body, at the joint."""
        return self.reaction()

    def _columns(self) -> list[str]:
        return _of_coordinates(self.joint)

    def _column(self, name: str) -> np.ndarray:
        """Return a free coordinate, its rate or second rate."""
        column = _coordinate(self.joint, name, self._trajectory)
        if column is None:
            raise AttributeError(self._lacks(name))
        return column

    def _there(self) -> str:
        own = ", ".join(self._columns()) or "none"
        besides = [x for x in self._names() if x not in self._columns()]
        return f"its coordinates are {own}; besides there are {', '.join(besides)}"


class RowHistory(PartHistory):
    """A part that is no joint, over time: drive, motor, transmission, function of places.

    Where the part has them ``load`` and ``tension``: of a drive or a motor its load [N m or N],
    positive where it drives the second body forward, of a rope its tension [N]. Of a ``Gauge``
    its ``value``, ``value_rate`` and ``value_second_rate``.
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
        return _multipliers(self._trajectory, self.name)

    def reaction(self, on: str) -> Reaction:  # type: ignore[override]
        """Return force and moment (about its origin) on a body, by the name of the body."""
        names = [x.name for x in (*self.part.bodies, *self.part.nodes())]
        if on not in names:
            raise ValueError(f"reaction: on must be one of {', '.join(names)}, got {on!r}")
        nodes = self._trajectory.model.nodes
        several = nodes[on].formulation.n_faces if on in nodes else 1  # ground shows one
        faces = [(self.name, face_name(on, i), on, ORIGIN) for i in range(several)]
        each = over_time(self._trajectory, faces)
        return Reaction(each.force.sum(axis=1), each.moment.sum(axis=1))

    def _columns(self) -> list[str]:
        return [*self.part.reads, *_of_coordinates(self.part)]

    def _column(self, name: str) -> np.ndarray:
        if name not in self.part.reads:
            column = _coordinate(self.part, name, self._trajectory)
            if column is None:
                raise AttributeError(self._lacks(name))
            return column
        return loads_over_time(self._trajectory, [(self.part, name)])[:, 0]


def _single(run: Trajectory, place: Place) -> Reaction:
    both = over_time(run, [place])
    return Reaction(both.force[:, 0], both.moment[:, 0])


def _of_coordinates(part: Part) -> list[str]:
    """Return the names of the coordinates of a part and of their rates."""
    return [f"{x}{ending}" for x in part.coordinates for ending in ("", "_rate")]


def _coordinate(part: Part, name: str, trajectory: Trajectory) -> np.ndarray | None:
    """Return a coordinate of a part, its rate or second rate; None if it has no such one."""
    for order, ending in ((2, "_second_rate"), (1, "_rate"), (0, "")):
        what = name.removesuffix(ending)
        if name.endswith(ending) and what in part.coordinates:
            one = {f"{part.name}.{what}": part.coordinates[what]}
            return coordinates_over_time(trajectory, one)[order][:, 0]
    return None


def _multipliers(trajectory: Trajectory, owner: str) -> np.ndarray:
    """Return the multipliers of the rows of a part."""
    return read_only(np.asarray(trajectory.lam[:, trajectory.model.numbering.owners[owner]]))
