"""Joints, drives and other parts with rows over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.vec import cross, load3, minus, plus, store3, times
from mbd.history.elements import Table, tables
from mbd.history.faces import Faces, all_columns, per_model
from mbd.history.joint_coordinates import Coordinates
from mbd.machine import buffer as m
from mbd.machine.jit import kernel

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model
    from mbd.parts.joint import Joint

__all__ = ["JointHistory", "Reaction", "RowHistory", "all_reactions"]

_ORIGIN = (1.0, 0.0, 0.0, 0.0)
_AT_ONCE = 1024  # faces whose numbers stay in the cache of the processor


@dataclass(frozen=True)
class Reaction:
    """Force [N] and moment [N m] over time, inertial axes."""

    force: np.ndarray
    moment: np.ndarray


@kernel
def moments_kernel(I: Any, F: Any, k: int) -> None:
    """Write the sum of (y_i - origin) x f_i of k face forces at n instants.

    I[k:] has n, k, the number of faces, the places of points, faces, forces and results; then the
    face of each force, and that in which its origin is a point.
    """
    n, n_k, n_b, w, y, f, out = (
        I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4], I[k + 5], I[k + 6],
    )  # fmt: skip
    for e in range(n):
        for j in range(n_k):
            on = y + 12 * (e * n_b + I[k + 7 + j])
            at = y + 12 * (e * n_b + I[k + 7 + n_k + j])
            arm = load3(F, on)
            for i in range(4):
                arm = minus(arm, times(F[w + 4 * j + i], load3(F, at + 3 * i)))
            to = 12 * (e * n_k + j)
            total = cross(arm, load3(F, f + to))
            for i in range(1, 4):
                total = plus(total, cross(load3(F, on + 3 * i), load3(F, f + to + 3 * i)))
            store3(F, out + 3 * (e * n_k + j), total)


@dataclass(frozen=True)
class Asked:
    """What the rows of a part do to the body `on`, about a point of the body `at`."""

    part: str
    on: str
    at: str
    point: tuple[float, ...] = _ORIGIN


@dataclass(frozen=True)
class Reactions:
    """Reactions of k parts, evaluated kind by kind of their rows.

    Attributes
    ----------
    on, at : (k,) arrays
        Columns of the bodies among the faces.
    points : (k, 4) array
    pushes : list
        Table, columns (k_e, n_rows) of its multipliers, which of its attachments, one after the
        other, push a body in question, where those of each part begin, and which part that is.
    """

    on: np.ndarray
    at: np.ndarray
    points: np.ndarray
    pushes: list[tuple[Table, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls, model: Model, asked: Sequence[Asked], column: dict[str, int], first: int = 0
    ) -> Reactions:
        """Take parts; multipliers come in an array that begins with number `first`."""
        owned = [
            (i, element, row - first)
            for i, x in enumerate(asked)
            for element, row in model.numbering.elements[x.part]
        ]
        pushes = []
        for table in tables([element for _, element, _ in owned], column):
            mine = [owned[i] for i in table.members]
            lam = np.array([row for _, _, row in mine])[:, None] + np.arange(table.kind.n_rows)
            hits = [
                (e * table.kind.n_attachments + a, i)
                for e, (i, element, _) in enumerate(mine)
                for a, end in enumerate(element.attachments)
                if end.body == asked[i].on
            ]
            which, owner = np.array(hits, int).reshape(-1, 2).T
            parts, starts = np.unique(owner, return_index=True)
            pushes.append((table, lam, which, starts, parts))
        on, at = (np.array([column[getattr(x, b)] for x in asked], int) for b in ("on", "at"))
        return cls(on, at, np.array([x.point for x in asked]).reshape(-1, 4), pushes)

    def over_time(self, faces: Faces, lam: np.ndarray) -> Reaction:
        """Return forces and moments, (n, k, 3)."""
        f = np.zeros((len(lam), len(self.on), 4, 3))
        for table, rows, which, starts, parts in self.pushes:
            for here, found in table.forces(faces, lam[:, rows]) if len(parts) else ():
                f[here, parts] -= np.add.reduceat(found[:, which], starts, axis=1)
        return Reaction(f[:, :, 0], self._moments(faces.y, f))

    def _moments(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the moments of face forces (n, k, 4, 3)."""
        k, (n, n_k, n_b) = m.I_HEADER, (*f.shape[:2], y.shape[1])
        found, many = np.empty((n, n_k, 3)), max(1, _AT_ONCE // max(n_k, n_b))
        sizes = (self.points.size, 12 * n_b * many, 12 * n_k * many, 3 * n_k * many)
        points, faces, forces, out, end = np.cumsum([m.F_HEADER, *sizes]).tolist()
        head = (many, n_k, n_b, points, faces, forces, out)
        I = np.concatenate([np.zeros(k), head, self.on, self.at]).astype(np.int64)
        F = np.zeros(end)
        F[points:faces] = self.points.ravel()
        for first in range(0, n, many):
            here = slice(first, min(first + many, n))
            I[k] = here.stop - first
            F[faces:][: y[here].size] = y[here].ravel()
            F[forces:][: f[here].size] = f[here].ravel()
            moments_kernel(I, F, k)
            found[here] = F[out:][: found[here].size].reshape(found[here].shape)
        return found


def _asked(joint: Joint, on: Any, at: Any) -> Asked:
    return Asked(joint.name, on.name, at.name, at.point())


@per_model
def all_reactions(model: Model) -> Reactions:
    """Return the reactions of all joints on their second bodies."""
    asked = [_asked(joint, joint.B, joint.B) for joint in model.system.joints.values()]
    return Reactions.of(model, asked, all_columns(model))


def _reaction(trajectory: Trajectory, asked: Asked) -> Reaction:
    """Return one reaction, for which the bodies of its part are evaluated."""
    model, mine = trajectory.model, trajectory.model.numbering.owners[asked.part]
    ends = (a.body for e, _ in model.numbering.elements[asked.part] for a in e.attachments)
    faces = trajectory.faces((*ends, asked.on, asked.at))
    reactions = Reactions.of(model, [asked], faces.column, mine.start)
    found = reactions.over_time(faces, np.asarray(trajectory.lam[:, mine]))
    return Reaction(found.force[:, 0], found.moment[:, 0])


class JointHistory:
    """A joint over time.

    The coordinates that the joint leaves free are attributes, with their rates:
    ``solution["hinge"].angle`` [rad], ``.angle_rate`` [rad/s], ``.angle_second_rate``.

    Attributes
    ----------
    multipliers : (n, n_rows) array
    force, moment : (n, 3) arrays [N], [N m]
        On the second body, at the joint (origin of its frame there), inertial axes.
    """

    def __init__(self, joint: Joint, trajectory: Trajectory) -> None:
        self.joint, self._trajectory = joint, trajectory
        self.multipliers = trajectory.lam[:, trajectory.model.numbering.owners[joint.name]]

    def reaction(self, on: str = "second", at: str = "second") -> Reaction:
        """Return the reaction on "first" or "second" body, about the origin of either frame."""
        for word, value in (("on", on), ("at", at)):
            if value not in ("first", "second"):
                raise ValueError(f"reaction: {word} must be 'first' or 'second', got {value!r}")
        frame = self.joint.A if on == "first" else self.joint.B
        about = self.joint.A if at == "first" else self.joint.B
        return _reaction(self._trajectory, _asked(self.joint, frame, about))

    @cached_property
    def _default(self) -> Reaction:
        return self.reaction()

    @property
    def force(self) -> np.ndarray:
        """Force on the second body [N]."""
        return self._default.force

    @property
    def moment(self) -> np.ndarray:
        """Moment on the second body about the joint [N m]."""
        return self._default.moment

    def _coordinate(self, name: str) -> tuple[np.ndarray, ...]:
        """Return a free coordinate, its rate and second rate."""
        free, trajectory = self.joint.coordinates[name], self._trajectory
        faces = trajectory.faces(end.body for end in free.attachments)
        one = Coordinates.of({f"{self.joint.name}.{name}": free}, faces.column)
        return tuple(x[:, 0] for x in one.over_time(faces, trajectory.t, trajectory.before))

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        free = self.joint.coordinates
        for order, ending in ((2, "_second_rate"), (1, "_rate"), (0, "")):
            if name.endswith(ending) and name.removesuffix(ending) in free:
                name = name.removesuffix(ending)
                return self._coordinate(name)[order]
        known = ", ".join(f"{x}, {x}_rate" for x in free) or "none"
        raise AttributeError(
            f"joint {self.joint.name!r} has no {name!r}; its coordinates are {known}; besides "
            "there are force, moment, multipliers, reaction()"
        )

    def __repr__(self) -> str:
        free = "".join(f", {x}, {x}_rate" for x in self.joint.coordinates)
        return (
            f"JointHistory({self.joint.name!r}, {len(self._trajectory.t)} instants: force, moment, "
            f"multipliers{free}, reaction())"
        )


class RowHistory:
    """A part with rows that is no joint, over time: drive, transmission, rows that a body wears.

    Attributes
    ----------
    multipliers : (n, n_rows) array
    load, tension : (n,) arrays
        Where the part has them: of a drive the motor's load [N m or N], of a rope its tension [N].
    """

    def __init__(self, part: Any, trajectory: Trajectory) -> None:
        self.part, self._trajectory = part, trajectory
        self.multipliers = trajectory.lam[:, trajectory.model.numbering.owners[part.name]]

    def reaction(self, on: str) -> Reaction:
        """Return force and moment (about its origin) on a body, by the name of the body."""
        known = [b.name for b in self.part.bodies]
        if on not in known:
            raise ValueError(f"reaction: on must be one of {', '.join(known)}, got {on!r}")
        return _reaction(self._trajectory, Asked(self.part.name, on, on))

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name == "part":
            raise AttributeError(name)
        reads = getattr(type(self.part), "reads", {})
        if name in reads:
            return reads[name] * self.multipliers[:, 0]
        known = ", ".join([*reads, "multipliers", "reaction()"])
        raise AttributeError(f"{self.part.name!r} has no {name!r}; there are {known}")

    def __repr__(self) -> str:
        known = ", ".join([*getattr(type(self.part), "reads", {}), "multipliers", "reaction()"])
        return f"RowHistory({self.part.name!r}, {len(self._trajectory.t)} instants: {known})"
