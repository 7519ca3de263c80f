r"""Floor 2. Joints: each is a short list of rows of ``interactions/rows.py``.

A joint joins two frames, A on the first body and B on the second; the third axis is the joint's.
It is placed by ``at=`` and ``axis=`` in inertial axes at the initial pose, or by two ``Frame``.

========== =====================================================================================
Spherical  P - Q
Revolute   P - Q, a1.b3, a2.b3
Universal  P - Q, a1.b2
Fixed      P - Q, a2.b3, a3.b1, a1.b2
Prismatic  a1.(P - Q), a2.(P - Q), a2.b3, a3.b1, a1.b2
Cylindrical a1.(P - Q), a2.(P - Q), a1.b3, a2.b3
Planar     a3.(P - Q), a1.b3, a2.b3
PointOnLine a1.(P - Q), a2.(P - Q)
PointInPlane a3.(P - Q)
Distance   (|Q - P|^2 - L^2)/2
========== =====================================================================================

Multipliers
-----------
The residual holds B^T lam. With P - Q the multipliers of the first three rows of a joint are the
force on the second body [N], inertial axes. ``solution[joint].force`` and ``.moment`` are formed
from all rows and need no such knowledge.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mbd.algebra.given import Part
from mbd.algebra.memory import FORCE, MOMENT
from mbd.interactions.kinds import Attachment, Element
from mbd.interactions.measures import OFFSET, SQUARE
from mbd.interactions.rows import COINCIDE, DOT_ROW, row
from mbd.parts.bodies import Body, Frame
from mbd.parts.door import label, number, unit_vector, vector

__all__ = [
    "Cylindrical",
    "Distance",
    "Fixed",
    "Joint",
    "Planar",
    "PointInPlane",
    "PointOnLine",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]


def _perpendicular(axis: np.ndarray) -> np.ndarray:
    """Return axes (columns) whose third one is `axis`; with z the inertial axes themselves."""
    x = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - axis * (axis @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _frames(
    owner: str, first: Any, second: Any, at: Any, axes: np.ndarray | None
) -> tuple[Frame, Frame]:
    """Return the two frames of an interaction, from frames or from a place at the initial pose."""
    for side, part in (("first", first), ("second", second)):
        if not isinstance(part, Frame | Body):
            raise TypeError(
                f"{owner}: {side} must be a body, system.ground or a Frame, got {part!r}"
            )
    if isinstance(first, Frame) and isinstance(second, Frame):
        if at is not None or axes is not None:
            raise ValueError(
                f"{owner}: two Frames say where it is; leave out at= and axis=, got both"
            )
        return first, second
    if isinstance(first, Frame) or isinstance(second, Frame):
        given, other = (first, second) if isinstance(first, Frame) else (second, first)
        raise TypeError(
            f"{owner}: give two Frames, or two bodies with at= and axis=; got a Frame of "
            f"{given.name!r} and the body {other.name!r}"
        )
    if at is None:
        raise ValueError(f"{owner}: at must be a point [m] at the initial pose; give at=(x, y, z)")
    point = vector(owner, "at", at, "m")
    axes = np.eye(3) if axes is None else axes
    return first.placed_frame(point, axes), second.placed_frame(point, axes)


class Joint(Part):
    """Base of all joints: two frames and the rows between them.

    Parameters
    ----------
    name : str
    first, second : body, ground, or Frame
        Multipliers act on the second one.
    at : (3,) array [m]
        Inertial, at the initial pose.
    axis : (3,) array [-]
        Inertial, at the initial pose.
    """

    needs_axis: ClassVar[bool] = True
    needs_axes_of_second: ClassVar[bool] = True

    def __init__(self, name: str, first: Any, second: Any, *, at: Any = None, axis: Any = None):
        self.name = label(name, type(self).__name__)
        axes = None
        if axis is not None:
            axes = _perpendicular(unit_vector(self.name, "axis", axis))
        elif self.needs_axis and not (isinstance(first, Frame) and isinstance(second, Frame)):
            raise ValueError(
                f"{self.name}: axis must be given for a {type(self).__name__}; axis=(x, y, z) in "
                "inertial axes at the initial pose"
            )
        self.A, self.B = _frames(self.name, first, second, at, axes)
        self._check()

    def _check(self) -> None:
        if self.A.body is self.B.body:
            raise ValueError(
                f"{self.name}: a joint must join two bodies, got {self.A.name!r} twice"
            )
        for frame, needed in (
            (self.A, self.needs_axis),
            (self.B, self.needs_axis and self.needs_axes_of_second),
        ):
            if frame.body.formulation.axes:
                continue
            if needed:
                raise ValueError(
                    f"{self.name}: {type(self).__name__} needs axes, but {frame.name!r} is a point "
                    "without axes; use Spherical, Distance or PointOnLine, or make it a RigidBody"
                )
            if np.abs(frame.position).max() > 1e-12:
                raise ValueError(
                    f"{self.name}: {frame.name!r} is a point and can be held at its position only, "
                    f"got an offset of {frame.position.tolist()} [m]; place it at the mass, or "
                    "make it a RigidBody"
                )

    @property
    def bodies(self) -> tuple[Body, Body]:
        """The two bodies."""
        return self.A.body, self.B.body

    def _coincide(self) -> Element:
        ends = (Attachment(self.A.name, self.A.point()), Attachment(self.B.name, self.B.point()))
        return Element(
            COINCIDE, ends, rows=("force x", "force y", "force z"), row_kinds=(FORCE,) * 3
        )

    def _dot(self, i: int, j: int) -> Element:
        ends = (
            Attachment(self.A.name, self.A.direction(i)),
            Attachment(self.B.name, self.B.direction(j)),
        )
        return Element(DOT_ROW, ends, (0.0,), rows=(f"a{i + 1}.b{j + 1}",), row_kinds=(MOMENT,))

    def _offset(self, i: int) -> Element:
        ends = (
            Attachment(self.A.name, self.A.direction(i)),
            Attachment(self.A.name, self.A.point()),
            Attachment(self.B.name, self.B.point()),
        )
        return Element(row(OFFSET), ends, (0.0,), rows=(f"force a{i + 1}",), row_kinds=(FORCE,))

    def elements(self) -> list[Element]:
        """Return the rows of the joint."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.A.name!r}, {self.B.name!r})"


class Spherical(Joint):
    """Ball joint: the origins coincide (3 rows)."""

    needs_axis = False

    def elements(self) -> list[Element]:
        """P - Q."""
        return [self._coincide()]


class Revolute(Joint):
    """Hinge: origins and third axes coincide (5 rows)."""

    def elements(self) -> list[Element]:
        """P - Q, a1.b3, a2.b3."""
        return [self._coincide(), self._dot(0, 2), self._dot(1, 2)]


class Fixed(Joint):
    """Weld: origins and all axes coincide (6 rows)."""

    needs_axis = False

    def _check(self) -> None:
        super()._check()
        for frame in (self.A, self.B):
            if not frame.body.formulation.axes:
                raise ValueError(
                    f"{self.name}: Fixed needs axes, but {frame.name!r} is a point without axes; "
                    "use Spherical"
                )

    def elements(self) -> list[Element]:
        """P - Q, a2.b3, a3.b1, a1.b2."""
        return [self._coincide(), self._dot(1, 2), self._dot(2, 0), self._dot(0, 1)]


class Prismatic(Joint):
    """Slider: translation along the third axis only (5 rows)."""

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a2.b3, a3.b1, a1.b2."""
        lines = [self._offset(0), self._offset(1)]
        return [*lines, self._dot(1, 2), self._dot(2, 0), self._dot(0, 1)]


class Cylindrical(Joint):
    """Translation along and rotation about the third axis (4 rows)."""

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a1.b3, a2.b3."""
        return [self._offset(0), self._offset(1), self._dot(0, 2), self._dot(1, 2)]


class Planar(Joint):
    """Motion in the plane whose normal is the third axis (3 rows)."""

    def elements(self) -> list[Element]:
        """a3.(P - Q), a1.b3, a2.b3."""
        return [self._offset(2), self._dot(0, 2), self._dot(1, 2)]


class PointOnLine(Joint):
    """A point of the second body on a line of the first, along its third axis (2 rows)."""

    needs_axes_of_second = False

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q)."""
        return [self._offset(0), self._offset(1)]


class PointInPlane(Joint):
    """A point of the second body in a plane of the first, normal to its third axis (1 row)."""

    needs_axes_of_second = False

    def elements(self) -> list[Element]:
        """a3.(P - Q)."""
        return [self._offset(2)]


class Universal(Joint):
    """Cardan joint: the first axis of A stays normal to the second axis of B (4 rows).

    Parameters
    ----------
    axis : (3,) array [-]
        Of the cross, fixed to the first body (a1).
    second_axis : (3,) array [-]
        Of the cross, fixed to the second body (b2), normal to ``axis``.
    """

    def __init__(
        self,
        name: str,
        first: Any,
        second: Any,
        *,
        at: Any = None,
        axis: Any = None,
        second_axis: Any = None,
    ):
        self.name = label(name, "Universal")
        axes = None
        if not (isinstance(first, Frame) and isinstance(second, Frame)):
            if axis is None or second_axis is None:
                raise ValueError(
                    f"{self.name}: a Universal needs axis= (of the first body) and second_axis= "
                    "(of the second body), inertial at the initial pose"
                )
            a = unit_vector(self.name, "axis", axis)
            b = unit_vector(self.name, "second_axis", second_axis)
            if abs(a @ b) > 1e-9:
                raise ValueError(
                    f"{self.name}: axis and second_axis must be normal to each other, got a cosine "
                    f"of {a @ b:.3g}"
                )
            axes = np.column_stack([a, b, np.cross(a, b)])
        self.A, self.B = _frames(self.name, first, second, at, axes)
        self._check()

    def elements(self) -> list[Element]:
        """P - Q, a1.b2."""
        return [self._coincide(), self._dot(0, 1)]


class Distance(Joint):
    """Constant distance between two points (1 row); the multiplier times L is the tension.

    Parameters
    ----------
    at, to : (3,) array [m]
        Points on the first and on the second body, inertial at the initial pose.
    length : float [m], optional
        Default: the distance at the initial pose.
    """

    needs_axis = False

    def __init__(
        self,
        name: str,
        first: Any,
        second: Any,
        *,
        at: Any = None,
        to: Any = None,
        length: float | None = None,
    ):
        self.name = label(name, "Distance")
        self.A, self.B = two_points(self.name, first, second, at, to)
        self._check()
        p, q = (f.body.position + f.body.rotation @ f.position for f in (self.A, self.B))
        found = float(np.linalg.norm(q - p)) if length is None else length
        self.length = number(self.name, "length", found, "m", positive=True)

    def elements(self) -> list[Element]:
        """(|Q - P|^2 - L^2)/2."""
        ends = (Attachment(self.A.name, self.A.point()), Attachment(self.B.name, self.B.point()))
        half = 0.5 * self.length**2
        return [Element(row(SQUARE), ends, (half,), rows=("distance",), row_kinds=(FORCE,))]


def two_points(owner: str, first: Any, second: Any, at: Any, to: Any) -> tuple[Frame, Frame]:
    """Return frames at two points, from Frames or from at= and to= at the initial pose."""
    frames = []
    for part, word, point in ((first, "at", at), (second, "to", to)):
        if isinstance(part, Frame):
            if point is not None:
                raise ValueError(f"{owner}: a Frame says where it is; leave out {word}=")
            frames.append(part)
        elif isinstance(part, Body):
            if point is None:
                frames.append(part.frame())
            else:
                where = vector(owner, word, point, "m")
                frames.append(part.placed_frame(where, part.rotation))
        else:
            raise TypeError(f"{owner}: expected a body, system.ground or a Frame, got {part!r}")
    return frames[0], frames[1]
