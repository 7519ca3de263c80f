"""Histories of joints, drives and other parts with rows: reactions, joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.vec import cross, load3, minus, plus, store3, times
from mbd.base.read_only import read_only
from mbd.history.elements import ElementGroup, grouped
from mbd.history.faces import Faces, all_columns, places_of
from mbd.history.joint_coordinates import coordinate
from mbd.history.loads import of_law
from mbd.history.quantities import PartHistory, Reaction
from mbd.history.quantity import Owner
from mbd.interactions.kind import face_name
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.frozen import per_model, some_per_model

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model
    from mbd.parts.joint import Joint
    from mbd.parts.part import Part

_ORIGIN = (1.0, 0.0, 0.0, 0.0)
_AT_ONCE = 1024  # faces whose numbers stay in the cache of the processor


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


def _total_pushes(x: np.ndarray, which: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sums of some columns of x (n, ., 4, 3), from each start on to the next one."""
    lengths = np.append(starts[1:], len(which)) - starts
    total = x.take(which[starts], axis=1)
    for j in range(1, int(lengths.max())):
        there = np.flatnonzero(lengths > j)
        more = x.take(which[starts[there] + j], axis=1)
        if len(there) == len(starts):
            total += more
        else:
            total[:, there] += more
    return total


@dataclass(frozen=True)
class ReactionSpec:
    """A reaction: of the rows of a part on the face `on`, about a point of the face `at`."""

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
        Columns of the faces.
    points : (k, 4) array
    pushes : list
        Elements, columns (k_e, n_rows) of their multipliers, which of their attachments, one after
        the other, push a body in question, where those of each part begin, and which part that is.
    """

    on: np.ndarray
    at: np.ndarray
    points: np.ndarray
    pushes: list[tuple[ElementGroup, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls, model: Model, specs: Sequence[ReactionSpec], column: dict[str, int], first: int = 0
    ) -> Reactions:
        """Take parts; multipliers come in an array that begins with number `first`."""
        owned = [
            (i, element, row - first)
            for i, x in enumerate(specs)
            for element, row in model.numbering.elements[x.part]
        ]
        pushes = []
        for group in grouped([element for _, element, _ in owned], column):
            mine = [owned[i] for i in group.members]
            lam = np.array([row for _, _, row in mine])[:, None] + np.arange(group.kind.n_rows)
            hits = [
                (e * group.kind.n_attachments + a, i)
                for e, (i, element, _) in enumerate(mine)
                for a, end in enumerate(element.attachments)
                if end.place == specs[i].on
            ]
            which, owner = np.array(hits, int).reshape(-1, 2).T
            parts, starts = np.unique(owner, return_index=True)
            pushes.append((group, lam, which, starts, parts))
        on, at = (np.array([column[getattr(x, b)] for x in specs], int) for b in ("on", "at"))
        return cls(on, at, np.array([x.point for x in specs]).reshape(-1, 4), pushes)

    def over_time(self, faces: Faces, lam: np.ndarray) -> Reaction:
        """Return forces and moments, (n, k, 3)."""
        f = np.zeros((len(lam), len(self.on), 4, 3))
        for group, rows, which, starts, parts in self.pushes:
            for here, face_forces in group.forces(faces, lam[:, rows]) if len(parts) else ():
                f[here, parts] -= _total_pushes(face_forces, which, starts)
        return Reaction(f[:, :, 0], self._moments(faces.y, f))

    def _moments(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the moments of face forces (n, k, 4, 3)."""
        k, (n, n_k, n_b) = m.I_HEADER, (*f.shape[:2], y.shape[1])
        moments, many = np.empty((n, n_k, 3)), max(1, _AT_ONCE // max(n_k, n_b))
        sizes = (self.points.size, 12 * n_b * many, 12 * n_k * many, 3 * n_k * many)
        points, faces, forces, out, end = np.cumsum([m.F_HEADER, *sizes]).tolist()
        head = (many, n_k, n_b, points, faces, forces, out)
        I = m.entries(np.zeros(k), head, self.on, self.at)
        F = np.zeros(end)
        F[points:faces] = self.points.ravel()
        for first in range(0, n, many):
            here = slice(first, min(first + many, n))
            I[k] = here.stop - first
            F[faces:][: y[here].size] = y[here].ravel()
            F[forces:][: f[here].size] = f[here].ravel()
            moments_kernel(I, F, k)
            moments[here] = F[out:][: moments[here].size].reshape(moments[here].shape)
        return moments


def _of_joint(joint: Joint, on: Any, at: Any) -> ReactionSpec:
    return ReactionSpec(joint.name, on.place, at.place, at.point())


@per_model
def all_reactions(model: Model) -> Reactions:
    """Return the reactions of all joints on their second bodies."""
    specs = [_of_joint(joint, joint.B, joint.B) for joint in model.system.joints.values()]
    return Reactions.of(model, specs, all_columns(model))


@some_per_model
def _single(model: Model, spec: ReactionSpec) -> tuple[list[str], Reactions]:
    """Return a reaction, and the bodies whose faces it is evaluated on."""
    ends = [a.body for e, _ in model.numbering.elements[spec.part] for a in e.attachments]
    bodies, first = [*ends, spec.on, spec.at], model.numbering.owners[spec.part].start
    return bodies, Reactions.of(model, [spec], places_of(model, bodies), first)


def _reaction(trajectory: Trajectory, spec: ReactionSpec) -> Reaction:
    """Return one reaction, for which the bodies of its part are evaluated."""
    bodies, reactions = _single(trajectory.model, spec)
    mine = trajectory.model.numbering.owners[spec.part]

    def both(faces: Faces, here: slice) -> np.ndarray:
        reaction = reactions.over_time(faces, np.asarray(trajectory.lam[here, mine]))
        return np.stack([reaction.force[:, 0], reaction.moment[:, 0]], axis=1)

    values = trajectory.of_faces(bodies, both, second=False)
    return Reaction(values[:, 0], values[:, 1])


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
        return _reaction(self._trajectory, _of_joint(self.joint, frame, about))

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
        faces = (ReactionSpec(self.name, face_name(on, i), on) for i in range(several))
        each = [_reaction(self._trajectory, spec) for spec in faces]
        force, moment = (
            np.sum(x, axis=0) for x in ([x.force for x in each], [x.moment for x in each])
        )
        return Reaction(force, moment)

    def _columns(self) -> list[str]:
        return [*self.part.reads, *_of_coordinates(self.part)]

    def _column(self, name: str) -> np.ndarray:
        if name not in self.part.reads:
            column = _coordinate(self.part, name, self._trajectory)
            if column is None:
                raise AttributeError(self._lacks(name))
            return column
        if not self.owners:
            return of_law(self.part, name, self._trajectory)
        return np.asarray(self.part.reads[name] * self.lam[:, 0])


def _of_coordinates(part: Part) -> list[str]:
    """Return the names of the coordinates of a part and of their rates."""
    return [f"{x}{ending}" for x in part.coordinates for ending in ("", "_rate")]


def _coordinate(part: Part, name: str, trajectory: Trajectory) -> np.ndarray | None:
    """Return a coordinate of a part, its rate or second rate; None if it has no such one."""
    for order, ending in ((2, "_second_rate"), (1, "_rate"), (0, "")):
        what = name.removesuffix(ending)
        if name.endswith(ending) and what in part.coordinates:
            bodies, one = coordinate(trajectory.model, f"{part.name}.{what}")
            return one.of_run(trajectory, bodies)[order][:, 0]
    return None


def _multipliers(trajectory: Trajectory, owner: str) -> np.ndarray:
    """Return the multipliers of the rows of a part."""
    return read_only(np.asarray(trajectory.lam[:, trajectory.model.numbering.owners[owner]]))
