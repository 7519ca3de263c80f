"""Floor 5. Joints, drives and other parts with rows over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.results.elements import Table, tables
from mbd.results.freedoms import Coordinates
from mbd.results.histories import Faces, all_columns, faces_of, per_model

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.joint import Joint
    from mbd.results.solution import Solution

__all__ = ["JointHistory", "Reaction", "RowHistory", "all_reactions"]

_ORIGIN = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Reaction:
    """Force [N] and moment [N m] over time, inertial axes."""

    force: np.ndarray
    moment: np.ndarray


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
            found = table.forces(faces, lam[:, rows])
            found = found.reshape(len(lam), -1, 4, 3)[:, which]
            if len(parts):
                f[:, parts] -= np.add.reduceat(found, starts, axis=1)
        arms = faces.y[:, self.on]
        arms[:, :, 0] -= faces.vectors(self.at, self.points)
        return Reaction(f[:, :, 0], np.cross(arms, f).sum(2))


def _asked(joint: Joint, on: Any, at: Any) -> Asked:
    return Asked(joint.name, on.name, at.name, at.point())


@per_model
def all_reactions(model: Model) -> Reactions:
    """Return the reactions of all joints on their second bodies."""
    asked = [_asked(joint, joint.B, joint.B) for joint in model.system.joints.values()]
    return Reactions.of(model, asked, all_columns(model))


def _reaction(solution: Solution, asked: Asked) -> Reaction:
    """Return one reaction, for which the bodies of its part are evaluated."""
    model, mine = solution.model, solution.model.numbering.owners[asked.part]
    ends = (a.body for e, _ in model.numbering.elements[asked.part] for a in e.attachments)
    faces = faces_of(solution, (*ends, asked.on, asked.at))
    reactions = Reactions.of(model, [asked], faces.column, mine.start)
    found = reactions.over_time(faces, np.asarray(solution.lam[:, mine]))
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

    def __init__(self, joint: Joint, solution: Solution) -> None:
        self.joint, self._solution = joint, solution
        self.multipliers = solution.lam[:, solution.model.numbering.owners[joint.name]]

    def reaction(self, on: str = "second", at: str = "second") -> Reaction:
        """Return the reaction on "first" or "second" body, about the origin of either frame."""
        for word, value in (("on", on), ("at", at)):
            if value not in ("first", "second"):
                raise ValueError(f"reaction: {word} must be 'first' or 'second', got {value!r}")
        frame = self.joint.A if on == "first" else self.joint.B
        about = self.joint.A if at == "first" else self.joint.B
        return _reaction(self._solution, _asked(self.joint, frame, about))

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
        free, solution = self.joint.coordinates[name], self._solution
        faces = faces_of(solution, (end.body for end in free.attachments))
        one = Coordinates.of({f"{self.joint.name}.{name}": free}, faces.column)
        return tuple(x[:, 0] for x in one.over_time(faces, solution.t, solution.before))

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
            f"JointHistory({self.joint.name!r}, {len(self._solution.t)} instants: force, moment, "
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

    def __init__(self, part: Any, solution: Solution) -> None:
        self.part, self._solution = part, solution
        self.multipliers = solution.lam[:, solution.model.numbering.owners[part.name]]

    def reaction(self, on: str) -> Reaction:
        """Return force and moment (about its origin) on a body, by the name of the body."""
        known = [b.name for b in self.part.bodies]
        if on not in known:
            raise ValueError(f"reaction: on must be one of {', '.join(known)}, got {on!r}")
        return _reaction(self._solution, Asked(self.part.name, on, on))

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
        return f"RowHistory({self.part.name!r}, {len(self._solution.t)} instants: {known})"
