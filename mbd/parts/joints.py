r"""Lower pairs and other joints: each is a short list of rows of ``interactions/rows.py``.

Each row is an equation between a frame A of the first body, with the origin P and the axes a1, a2,
a3, and a frame B of the second, with Q and b1, b2, b3. ``at`` and ``axis`` make A and B the same at
the initial pose, with the third axis along ``axis``.

The coordinates that a joint leaves free are its properties: ``hinge.angle``,
``slider.displacement``. They carry drives, springs, motors, stops and transmissions. Joints of
shafts, a screw among them, are in ``shaft_joints.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.base.door import label, number
from mbd.interactions.compliant_rows import compliant
from mbd.interactions.kind import Element
from mbd.interactions.measures import LENGTH, SQUARE
from mbd.interactions.rows import row
from mbd.machine.buffer import FORCE
from mbd.parts.joint import Free, Joint, two_points
from mbd.parts.part import Symbol


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
        self,
        name: str,
        first: Any,
        second: Any,
        *,
        at: Any = None,
        to: Any = None,
        length: float | None = None,
        compliance: float = 0.0,
    ):
        self.name = label(name, "Distance")
        self.ends = two_points(self.name, first, second, at, to)
        self._check()
        p, q = (f.start[0] for f in self.ends)
        distance = float(np.linalg.norm(q - p)) if length is None else length
        self.length = number(self.name, "length", distance, "m", positive=True)
        self._give_way("compliance", compliance, "m/N", FORCE)

    def elements(self) -> list[Element]:
        """(|Q - P|^2 - L^2)/2, or |Q - P| - L."""
        C, L = self.compliance, self.length
        kind, numbers = (compliant(LENGTH), (L, 0.0, C)) if C else (row(SQUARE), (0.5 * L**2,))
        ends = (self.A.end(), self.B.end())
        return [Element(kind, ends, numbers, rows=("distance",), row_kinds=(FORCE,))]
