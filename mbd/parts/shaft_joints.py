r"""Joints of shafts: cardan joint, homokinetic joint, screw.

Frames, points and axes as in ``joints.py``: A, P and a1, a2, a3 of the first body, B, Q and b1, b2,
b3 of the second.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from mbd.base.door import label, number, unit_vector
from mbd.interactions.kind import Element
from mbd.interactions.rows import TWIST
from mbd.machine.buffer import MOMENT
from mbd.parts.coordinates import AngleBetween, sum_row
from mbd.parts.joint import Free, Joint, two_frames
from mbd.parts.part import Frame, Symbol


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
        AngleBetween(1, 2, 1),
        "Rotation of the cross against the first body about ``axis`` [rad].",
    )
    angle_2 = Free.angle(
        AngleBetween(0, 2, 0, base=1),
        "Rotation of the second body against the cross about ``second_axis`` [rad].",
    )

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
