r"""Lower pairs and other joints: each is a short list of rows of ``interactions/rows.py``.

Each row is an equation between a frame A of the first body, with the origin P and the axes a1, a2,
a3, and a frame B of the second, with Q and b1, b2, b3. ``at`` and ``axis`` make A and B the same at
the initial pose, with the third axis along ``axis``.

The coordinates that a joint leaves free are its properties: ``hinge.angle``,
``slider.displacement``. They carry drives, springs, motors, stops and transmissions.
"""

from math import pi
from typing import Any

import numpy as np

from mbd.base.door import label, number, unit_vector
from mbd.interactions.compliant_rows import compliant
from mbd.interactions.kind import Element
from mbd.interactions.measures import LENGTH, SQUARE
from mbd.interactions.rows import TWIST, row
from mbd.machine.buffer import FORCE, MOMENT
from mbd.parts.coordinates import AngleBetween, sum_row
from mbd.parts.joint import (
    ANY_TURN,
    SHIFT,
    TURN,
    Free,
    Joint,
    PathStep,
    distance,
    two_ends,
    two_frames,
)
from mbd.parts.part import Frame, Symbol


class Spherical(Joint):
    r"""Ball joint: a point of one body stays at a point of the other (3 rows).

    .. math:: P - Q = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        Centre of the ball, inertial axes, at the initial pose.
    axis : (3,) array [-], optional
        Third axis of both frames, inertial axes, at the initial pose; the motion does not depend on
        it. Default: both frames have inertial axes.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0. It has no moments.
    """

    needs_axis = False
    with_axes = (False, False)
    path = (ANY_TURN,)

    def elements(self) -> list[Element]:
        """P - Q."""
        return [self._coincide()]


class Revolute(Joint):
    r"""Hinge: the second body turns against the first about the axis (5 rows).

    .. math:: P - Q = 0,\quad a_1\cdot b_3 = a_2\cdot b_3 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        A point of the axis, where reactions are given, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of rotation, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0.
    """

    symbol = Symbol.HINGE
    angle = Free.angle()
    path = (PathStep(TURN, 2, "angle"),)

    def elements(self) -> list[Element]:
        """P - Q, a1.b3, a2.b3."""
        return [self._coincide(), self._dot(0, 2), self._dot(1, 2)]


class Fixed(Joint):
    r"""Weld: origins and all axes coincide (6 rows).

    .. math:: P - Q = 0,\quad a_2\cdot b_3 = a_3\cdot b_1 = a_1\cdot b_2 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        A point of the weld, where reactions are given, inertial axes, at the initial pose.
    axis : (3,) array [-], optional
        Third axis of both frames, inertial axes, at the initial pose; the motion does not depend on
        it. Default: both frames have inertial axes.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0.
    """

    symbol = Symbol.BLOCK
    needs_axis = False
    path = ()

    def elements(self) -> list[Element]:
        """P - Q, a2.b3, a3.b1, a1.b2."""
        return [self._coincide(), self._dot(1, 2), self._dot(2, 0), self._dot(0, 1)]


class Prismatic(Joint):
    r"""Slider: the second body moves along the axis and does not turn (5 rows).

    .. math:: a_1\cdot(P - Q) = a_2\cdot(P - Q) = 0,
              \quad a_2\cdot b_3 = a_3\cdot b_1 = a_1\cdot b_2 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        A point of the axis, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of sliding, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0.
    """

    symbol = Symbol.SLIDER
    displacement = Free.shift()
    path = (PathStep(SHIFT, 2, "displacement"),)

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a2.b3, a3.b1, a1.b2."""
        lines = [self._offset(0), self._offset(1)]
        return [*lines, self._dot(1, 2), self._dot(2, 0), self._dot(0, 1)]


class Cylindrical(Joint):
    r"""The second body moves along the axis and turns about it (4 rows).

    .. math:: a_1\cdot(P - Q) = a_2\cdot(P - Q) = 0,\quad a_1\cdot b_3 = a_2\cdot b_3 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        A point of the axis, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of sliding and rotation, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0.
    """

    symbol = Symbol.SLEEVE
    angle = Free.angle()
    displacement = Free.shift()
    path = (PathStep(SHIFT, 2, "displacement"), PathStep(TURN, 2, "angle"))

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a1.b3, a2.b3."""
        return [self._offset(0), self._offset(1), self._dot(0, 2), self._dot(1, 2)]


class Planar(Joint):
    r"""The second body moves in a plane and turns about its normal (3 rows).

    .. math:: a_3\cdot(P - Q) = 0,\quad a_1\cdot b_3 = a_2\cdot b_3 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        A point of the plane, zero of ``x`` and ``y``, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Normal to the plane, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0.
    """

    symbol = Symbol.BALL_ON_PLATE
    x = Free.shift(0)
    y = Free.shift(1)
    angle = Free.angle()
    path = (PathStep(SHIFT, 0, "x"), PathStep(SHIFT, 1, "y"), PathStep(TURN, 2, "angle"))

    def elements(self) -> list[Element]:
        """a3.(P - Q), a1.b3, a2.b3."""
        return [self._offset(2), self._dot(0, 2), self._dot(1, 2)]


class PointOnLine(Joint):
    r"""A point of the second body stays on a line of the first, free to turn (2 rows).

    .. math:: a_1\cdot(P - Q) = a_2\cdot(P - Q) = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        The point, and a point of the line, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of the line, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0. It has no moments.
    """

    symbol = Symbol.BALL_ON_LINE
    with_axes = (True, False)
    displacement = Free.shift()
    path = (PathStep(SHIFT, 2, "displacement"), ANY_TURN)

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q)."""
        return [self._offset(0), self._offset(1)]


class PointInPlane(Joint):
    r"""A point of the second body stays in a plane of the first, free to turn (1 row).

    .. math:: a_3\cdot(P - Q) = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        The point, and a point of the plane, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Normal to the plane, inertial axes, at the initial pose; of any length.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0. It has no moments.
    """

    symbol = Symbol.BALL_ON_PLATE
    with_axes = (True, False)
    x = Free.shift(0)
    y = Free.shift(1)
    path = (PathStep(SHIFT, 0, "x"), PathStep(SHIFT, 1, "y"), ANY_TURN)

    def elements(self) -> list[Element]:
        """a3.(P - Q)."""
        return [self._offset(2)]


class Distance(Joint):
    r"""Constant distance between two points (1 row): a rod without mass.

    .. math:: \tfrac12(|Q - P|^2 - L^2) = 0

    The multiplier times L is the tension of the rod [N]. A compliant rod has the row
    :math:`|Q - P| - L - C\lambda = 0`, and its multiplier is the tension.

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        P is a point of the first one, Q of the second, on which the reaction acts; the origin of a
        Frame, in place of ``at`` or ``to``.
    at, to : (3,) array [m]
        Points on the first and on the second body, inertial axes, at the initial pose; default the
        origins of the bodies.
    length : float [m], optional
        L; default the distance at the initial pose.
    compliance : float [m/N], optional
        C, by which the rod lengthens under its tension; default 0.
    """

    symbol = Symbol.ROD
    with_axes = (False, False)

    def __init__(
        self, name: str, first: Any, second: Any, *, at: Any = None, to: Any = None,
        length: float | None = None, compliance: float = 0.0,
    ):  # fmt: skip
        self.name = label(name, "Distance")
        self.ends = two_ends(self.name, first, second, at, to)
        length = distance(*self.ends) if length is None else length
        self.length = number(self.name, "length", length, "m", positive=True)
        self._give_way("compliance", compliance, "m/N", FORCE)

    def elements(self) -> list[Element]:
        """(|Q - P|^2 - L^2)/2, or |Q - P| - L."""
        C, L = self.compliance, self.length
        kind, numbers = (compliant(LENGTH), (L, 0.0, C)) if C else (row(SQUARE), (0.5 * L**2,))
        ends = (self.A.end(), self.B.end())
        return [Element(kind, ends, numbers, rows=("distance",), row_kinds=(FORCE,))]


class Universal(Joint):
    r"""Cardan joint: a cross that turns in a fork of each body (4 rows).

    .. math:: P - Q = 0,\quad a_1\cdot b_2 = 0

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        P and a1, a2, a3 are origin and axes of a frame on the first one, Q and b1, b2, b3 of one on
        the second, on which the reaction acts. Two Frames (``body.frame(...)``) are these; give
        them in place of ``at`` and the axes. With one Frame the other side has its frame where
        this one is at the initial pose.
    at : (3,) array [m]
        Centre of the cross, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Pin of the cross in the fork of the first body (a1), inertial axes, at the initial pose.
    second_axis : (3,) array [-]
        Pin of the cross in the fork of the second body (b2), inertial axes, normal to ``axis``.
    """

    symbol = Symbol.CROSS
    angle_1 = Free.angle(
        AngleBetween(1, 2, 1), "Rotation of the cross against the first body about ``axis`` [rad]."
    )
    angle_2 = Free.angle(
        AngleBetween(0, 2, 0, base=1),
        "Rotation of the second body against the cross about ``second_axis`` [rad].",
    )
    path = (PathStep(TURN, 0, "angle_1"), PathStep(TURN, 1, "angle_2"))

    def __init__(
        self, name: str, first: Any, second: Any, *, at: Any = None, axis: Any = None,
        second_axis: Any = None,
    ):  # fmt: skip
        self.name = label(name, "Universal")
        axes = None
        if not (isinstance(first, Frame) or isinstance(second, Frame)):
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
        self.ends = two_frames(self.name, first, second, at, axes)
        self._check()

    def elements(self) -> list[Element]:
        """P - Q, a1.b2."""
        return [self._coincide(), self._dot(0, 1, "a1 x b2")]


class Screw(Joint):
    r"""Screw: the second body turns about the axis and moves along it, together (5 rows).

    .. math:: a_1\cdot(P - Q) = a_2\cdot(P - Q) = 0,\quad a_1\cdot b_3 = a_2\cdot b_3 = 0,
              \quad s - \tfrac{p}{2\pi}\varphi = 0

    with the displacement s [m], counted from the initial pose, and the angle phi [rad] over full
    turns. The multiplier of the last row is the axial force between the threads [N].

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    pitch : float [m]
        p, the displacement per turn; negative for a left-hand thread.
    at : (3,) array [m]
        A point of the axis, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of the screw, inertial axes, at the initial pose; of any length.
    """

    symbol = Symbol.SLEEVE
    angle = Free.angle()
    displacement = Free.shift()

    def __init__(
        self, name: str, first: Any, second: Any, *, pitch: float, at: Any = None, axis: Any = None
    ) -> None:
        super().__init__(name, first, second, at=at, axis=axis)
        self.pitch = number(self.name, "pitch", pitch, "m")
        lead = self.pitch / (2 * pi)
        start = self.displacement.start - lead * self.angle.start
        self.path = (PathStep(TURN, 2, "angle", lead, start),)

    def elements(self) -> list[Element]:
        """a1.(P - Q), a2.(P - Q), a1.b3, a2.b3, displacement - pitch/(2 pi) angle."""
        lines = [self._offset(0), self._offset(1), self._dot(0, 2), self._dot(1, 2)]
        s, phi = self.displacement, self.angle
        thread = sum_row(("thread",), (s, phi), (1.0, -self.pitch / (2 * pi)))
        return [*lines, thread]


class ConstantVelocity(Joint):
    r"""Homokinetic joint: ball joint without twist, for any bend (4 rows).

    .. math:: P - Q = 0,\quad q_3 = 0

    The second shaft is bent against the first about an axis normal to both, so that it turns as
    fast as the first at every instant: of the Euler parameters of the rotation between the frames
    that of their third axes is zero. The row is that of ``mbd/interactions/rows.py``: for small
    bends the third axis gives the twist itself, and a bend beyond half a turn is one like any.

    Parameters
    ----------
    name : str
    first, second : body, ``system.ground``, or Frame
        Frames A and B are on them; see :class:`~mbd.parts.joints.Joint`.
    at : (3,) array [m]
        Centre of the joint, inertial axes, at the initial pose.
    axis : (3,) array [-]
        Of both shafts, inertial axes, at the initial pose. For shafts that are bent there
        give two Frames.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces and of moments give way; default 0. Its moments cannot.
    """

    def elements(self) -> list[Element]:
        """P - Q, twist."""
        ends = [frame.end(i) for frame in self.ends for i in range(3)]
        twist = Element(TWIST, ends, rows=("twist",), row_kinds=(MOMENT,))
        return [self._coincide(), twist]
