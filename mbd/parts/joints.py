r"""Floor 2. Lower pairs and other joints: each is a short list of rows of ``interactions/rows.py``.

========== =====================================================================================
Spherical  P - Q
Revolute   P - Q, a1.b3, a2.b3
Universal  P - Q, a1.b2
ConstantVelocity P - Q, (a1.b2 - a2.b1)/2
Fixed      P - Q, a2.b3, a3.b1, a1.b2
Prismatic  a1.(P - Q), a2.(P - Q), a2.b3, a3.b1, a1.b2
Cylindrical a1.(P - Q), a2.(P - Q), a1.b3, a2.b3
Screw      those of Cylindrical, displacement - pitch/(2 pi) angle
Planar     a3.(P - Q), a1.b3, a2.b3
PointOnLine a1.(P - Q), a2.(P - Q)
PointInPlane a3.(P - Q)
Distance   (|Q - P|^2 - L^2)/2
========== =====================================================================================

The coordinates that a joint leaves free are its properties: ``hinge.angle``,
``slider.displacement``. They carry drives, springs, motors, stops and transmissions.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from mbd.algebra.memory import FORCE, MOMENT
from mbd.interactions.kinds import Attachment, Element
from mbd.interactions.measures import SQUARE, TWIST
from mbd.interactions.rows import row
from mbd.parts.bodies import Frame
from mbd.parts.coordinates import Coordinate, angle_between
from mbd.parts.door import label, number, unit_vector
from mbd.parts.joint import Joint, two_frames, two_points
from mbd.parts.sums import sum_row

__all__ = [
    "ConstantVelocity",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Joint",
    "Planar",
    "PointInPlane",
    "PointOnLine",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]


class Spherical(Joint):
    """Ball joint: the origins coincide (3 rows)."""

    needs_axis = False

    def elements(self) -> list[Element]:
        """P - Q."""
        return [self._coincide()]


class Revolute(Joint):
    """Hinge: origins and third axes coincide (5 rows)."""

    free = ("angle",)

    @property
    def angle(self) -> Coordinate:
        """Rotation of the second body against the first about the axis [rad]."""
        return self._angle()

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

    free = ("displacement",)

    @property
    def displacement(self) -> Coordinate:
        """Translation of the second body against the first along the axis [m]."""
        return self._displacement()

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a2.b3, a3.b1, a1.b2."""
        lines = [self._offset(0), self._offset(1)]
        return [*lines, self._dot(1, 2), self._dot(2, 0), self._dot(0, 1)]


class Cylindrical(Joint):
    """Translation along and rotation about the third axis (4 rows)."""

    free = ("angle", "displacement")

    @property
    def angle(self) -> Coordinate:
        """Rotation of the second body against the first about the axis [rad]."""
        return self._angle()

    @property
    def displacement(self) -> Coordinate:
        """Translation of the second body against the first along the axis [m]."""
        return self._displacement()

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a1.b3, a2.b3."""
        return [self._offset(0), self._offset(1), self._dot(0, 2), self._dot(1, 2)]


class Planar(Joint):
    """Motion in the plane whose normal is the third axis (3 rows)."""

    free = ("x", "y", "angle")

    @property
    def x(self) -> Coordinate:
        """Translation of the second body along the first axis of the first frame [m]."""
        return self._displacement("x", 0)

    @property
    def y(self) -> Coordinate:
        """Translation of the second body along the second axis of the first frame [m]."""
        return self._displacement("y", 1)

    @property
    def angle(self) -> Coordinate:
        """Rotation of the second body against the first about the axis [rad]."""
        return self._angle()

    def elements(self) -> list[Element]:
        """a3.(P - Q), a1.b3, a2.b3."""
        return [self._offset(2), self._dot(0, 2), self._dot(1, 2)]


class PointOnLine(Joint):
    """A point of the second body on a line of the first, along its third axis (2 rows)."""

    free = ("displacement",)
    needs_axes_of_second = False

    @property
    def displacement(self) -> Coordinate:
        """Translation of the second body against the first along the axis [m]."""
        return self._displacement()

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q)."""
        return [self._offset(0), self._offset(1)]


class PointInPlane(Joint):
    """A point of the second body in a plane of the first, normal to its third axis (1 row)."""

    free = ("x", "y")
    needs_axes_of_second = False

    @property
    def x(self) -> Coordinate:
        """Translation of the second body along the first axis of the first frame [m]."""
        return self._displacement("x", 0)

    @property
    def y(self) -> Coordinate:
        """Translation of the second body along the second axis of the first frame [m]."""
        return self._displacement("y", 1)

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

    free = ("angle_1", "angle_2")

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
        self.A, self.B = two_frames(self.name, first, second, at, axes)
        self._check()

    @property
    def angle_1(self) -> Coordinate:
        """Rotation of the cross against the first body about ``axis`` [rad]."""
        return angle_between(self.name, "angle_1", self.A, 1, 2, self.B, 1)

    @property
    def angle_2(self) -> Coordinate:
        """Rotation of the second body against the cross about ``second_axis`` [rad]."""
        return angle_between(self.name, "angle_2", self.B, 0, 2, self.A, 0)

    def elements(self) -> list[Element]:
        """P - Q, a1.b2."""
        return [self._coincide(), self._dot(0, 1)]


class Screw(Joint):
    r"""Rotation about the axis and translation along it go together (5 rows).

    :math:`s - \tfrac{p}{2\pi}\varphi = 0` with the displacement s, counted from the initial pose,
    and the angle phi over full turns. The multiplier of this row is the axial force between the
    threads [N].

    Parameters
    ----------
    pitch : float [m]
        Displacement per turn; negative for a left-hand thread.
    """

    free = ("angle", "displacement")

    def __init__(
        self,
        name: str,
        first: Any,
        second: Any,
        *,
        pitch: float,
        at: Any = None,
        axis: Any = None,
    ) -> None:
        super().__init__(name, first, second, at=at, axis=axis)
        self.pitch = number(self.name, "pitch", pitch, "m")

    @property
    def angle(self) -> Coordinate:
        """Rotation of the second body against the first about the axis [rad]."""
        return self._angle()

    @property
    def displacement(self) -> Coordinate:
        """Translation of the second body against the first along the axis [m]."""
        return self._displacement()

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a1.b3, a2.b3, displacement - pitch/(2 pi) angle."""
        lines = [self._offset(0), self._offset(1), self._dot(0, 2), self._dot(1, 2)]
        s, phi = self.displacement, self.angle
        thread = sum_row(("thread",), (s, phi), (1.0, -self.pitch / (2 * pi)))
        return [*lines, thread]


class ConstantVelocity(Joint):
    r"""Homokinetic joint: ball joint without twist, for any bend (4 rows).

    :math:`\tfrac12(a_1\cdot b_2 - a_2\cdot b_1) = 0`: the second shaft is bent against the first
    about an axis normal to both, so that it turns as fast as the first at every instant.

    Parameters
    ----------
    axis : (3,) array [-]
        Of both shafts at the initial pose. For shafts that are bent there give two Frames.
    """

    def elements(self) -> list[Element]:
        """P - Q, (a1.b2 - a2.b1)/2."""
        ends = (
            Attachment(self.A.name, self.A.direction(0)),
            Attachment(self.A.name, self.A.direction(1)),
            Attachment(self.B.name, self.B.direction(0)),
            Attachment(self.B.name, self.B.direction(1)),
        )
        twist = Element(row(TWIST), ends, (0.0,), rows=("twist",), row_kinds=(MOMENT,))
        return [self._coincide(), twist]


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
