"""Floor 5. Joints, drives and other parts with rows over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.interactions.kinds import Element
from mbd.interactions.sums import total
from mbd.results.elements import over_time

if TYPE_CHECKING:
    from mbd.parts.coordinates import Coordinate
    from mbd.parts.joint import Joint
    from mbd.results.solution import Solution

__all__ = ["JointHistory", "Reaction", "RowHistory", "coordinate_over_time"]


@dataclass(frozen=True)
class Reaction:
    """Force [N] and moment [N m] over time, inertial axes."""

    force: np.ndarray
    moment: np.ndarray


def _reaction(
    solution: Solution, owner: str, body: str, about: np.ndarray | None = None
) -> Reaction:
    """Return what the rows of a part do to a body, moment about a point (n, 3) or its origin."""
    numbering = solution.model.numbering
    y, _, _ = solution.faces_of(body)
    f = np.zeros((len(solution.t), 4, 3))
    for element, row in numbering.elements[owner]:
        found = over_time(element, solution, solution.lam[:, row : row + element.kind.n_rows])
        if body in found.forces:
            f -= found.forces[body]
    arms = np.array(y)
    arms[:, 0] -= y[:, 0] if about is None else about
    return Reaction(f[:, 0], np.cross(arms, f).sum(1))


def coordinate_over_time(
    coordinate: Coordinate, solution: Solution, before: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Return a joint coordinate, its rate and second rate; angles count full turns.

    From one instant to the next an angle goes where its rate points. The first one is in (-pi, pi],
    or follows what came before: time, angle and rate.
    """
    element = Element(total((coordinate.measure,)), coordinate.attachments, (0.0, 0.0, 1.0), (0.0,))
    found = over_time(element, solution)
    u, rate, second = found.value[:, 0], found.rate[:, 0], found.second_rate[:, 0]
    if coordinate.measure.periodic and len(u) > 1:
        steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(solution.t)
        turns = np.round((steps - np.diff(u)) / (2 * np.pi))
        u = u + 2 * np.pi * np.concatenate([[0.0], np.cumsum(turns)])
    if coordinate.measure.periodic and before is not None:
        t, last, speed = before
        expected = last + 0.5 * (speed + rate[0]) * (solution.t[0] - t)
        u = u + 2 * np.pi * np.round((expected - u[0]) / (2 * np.pi))
    return u, rate, second


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
        origin = self._solution.vector_of(about.name, about.point())
        return _reaction(self._solution, self.joint.name, frame.name, origin)

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

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        free = self.joint.coordinates
        for order, ending in ((2, "_second_rate"), (1, "_rate"), (0, "")):
            if name.endswith(ending) and name.removesuffix(ending) in free:
                name = name.removesuffix(ending)
                before = self._solution.before.get(f"{self.joint.name}.{name}")
                return coordinate_over_time(free[name], self._solution, before)[order]
        known = ", ".join(f"{x}, {x}_rate" for x in free) or "none"
        raise AttributeError(
            f"joint {self.joint.name!r} has no {name!r}; its coordinates are {known}; besides "
            "there are force, moment, multipliers, reaction()"
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
        return _reaction(self._solution, self.part.name, on)

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name == "part":
            raise AttributeError(name)
        reads = getattr(type(self.part), "reads", {})
        if name in reads:
            return reads[name] * self.multipliers[:, 0]
        known = ", ".join([*reads, "multipliers", "reaction()"])
        raise AttributeError(f"{self.part.name!r} has no {name!r}; there are {known}")
