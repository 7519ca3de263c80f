r"""Contacts of bodies with planes: they hold apart, rub and throw back.

.. math:: 0 \le \Phi \perp p_N \ge 0, \qquad |p_T| \le \mu p_N, \qquad u_N^+ = -e\,u_N^-

A body meets a plane with some balls, its points with balls of radius zero
(``mbd/interactions/contact.py``).
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from mbd.base.checked import flag
from mbd.base.door import label, number, unit_vector, vector, within
from mbd.interactions.contact import CONTACT
from mbd.interactions.kind import Attachment, Element
from mbd.machine.buffer import FORCE
from mbd.parts.joint import Joint, apart, check_sides, needs_axes, of_one_size, perpendicular
from mbd.parts.part import Body, Frame, Symbol
from mbd.parts.shapes import Box, Sphere, Touching, checked_shapes, touching


class Contact(Joint):
    r"""A body stays on one side of a plane, or outside of another one, with dry friction.

    A body touches with its ``collision`` shapes, or with those it looks like where it has none: a
    sphere with its lowest point, a box with its eight vertices, a capsule with the balls at its
    ends; a ``PointMass`` or a Frame touches as a point. The plane has no bounds and may move. With
    ``plane=False`` balls touch balls: spheres, ends of capsules, points; with ``inside`` they are
    in a hollow sphere, a bowl.

    It is set-valued: ``simulate`` takes ``mbd.NonsmoothAlpha`` where a model has one.

    Parameters
    ----------
    name : str
    first : body, ground, or Frame
        Carries the plane; of a Frame the third axis is the normal.
    second : body or Frame
        What touches it: the shapes of the body, or the origin of the Frame.
    shape : Sphere, Box, Capsule, or several in a list, optional
        What touches in place of these, in the axes of the body or of the Frame.
    friction : float [-]
        Coefficient :math:`\mu` of sliding.
    friction_static : float, optional [-]
        Coefficient of what sticks, not below that of sliding; default the same.
    restitution : float [-]
        e, from 0 to 1: part of the velocity with which an impact throws back.
    normal : (3,) array [-]
        Of the plane, inertial at the initial pose, towards the second body.
    through : (3,) array [m]
        A point of the plane, or the centre of the hollow sphere, inertial at the initial pose.
    inside : float, optional [m]
        Radius of a hollow sphere in place of the plane; of a Frame the origin is its centre.
    plane : bool
        False: the balls of the first body take the place of the plane, its spheres and both ends
        of its capsules; ``normal`` and ``through`` are of no use then.

    Notes
    -----
    The multipliers of each ball are the force on the second body along the normal and two
    directions of the plane [N]; ``solution[name].force`` is their sum, in inertial axes.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = mbd.RigidBody(
    ...     "ball", mass=1.0, inertia=(4e-3,) * 3, position=(0, 0, 1), shape=mbd.Sphere(0.1)
    ... )
    >>> system.add(ball)
    RigidBody('ball', mass=1)
    >>> system.add(mbd.Contact("floor", system.ground, ball, friction=0.3, restitution=0.5))
    Contact('floor', 'ground', 'ball')
    """

    symbol = Symbol.BALL_ON_PLATE

    def __init__(
        self, name: str, first: Any, second: Any, *, shape: Any = None, friction: float = 0.0,
        friction_static: float | None = None, restitution: float = 0.0,
        normal: Any = (0.0, 0.0, 1.0), through: Any = (0.0, 0.0, 0.0),
        inside: float | None = None, plane: bool = True,
    ) -> None:  # fmt: skip
        self.name = label(name, "Contact")
        check_sides(self.name, first, second)
        n, self.plane = unit_vector(self.name, "normal", normal), flag(self.name, "plane", plane)
        point, first_body = vector(self.name, "through", through, "m"), first
        if isinstance(first, Body):
            first = first.placed_frame(point, perpendicular(n)) if plane else first.frame()
        self.ends = (first, second.frame() if isinstance(second, Body) else second)
        apart(self.name, *self.ends)
        own = _balls(self.name, second, shape)
        if inside is not None:
            needs_axes(self.name, "a hollow sphere", first)
            within_it = -self._radius_around(inside, max(r for _, r in own))
            self.others = ((_three(first.position), within_it),) * len(own)
            self.balls = tuple(own)
        elif plane:
            needs_axes(self.name, "a plane", first)
            self.others, self.balls = (None,) * len(own), tuple(own)
        else:
            pairs = [(x, y) for x in _balls(self.name, first_body) for y in own]
            self.others, self.balls = zip(*pairs, strict=True)
            _check_radii(self.name, pairs)
        of_one_size(self.name, "touch or are touched by others", *self.ends)
        self.friction = number(self.name, "friction", friction, "-", positive=False)
        static = self.friction if friction_static is None else friction_static
        self.friction_static = number(self.name, "friction_static", static, "-", positive=False)
        if self.friction_static < self.friction:
            raise ValueError(
                f"{self.name}: friction_static must not be below friction [-], got "
                f"{self.friction_static:g} and {self.friction:g}"
            )
        self.restitution = within(self.name, "restitution", restitution, "-", 0.0, 1.0)

    def _radius_around(self, inside: float, largest: float) -> float:
        """Return the radius of the hollow sphere; refuse one in which balls have no room."""
        radius = number(self.name, "inside", inside, "m", positive=True)
        if not self.plane:
            raise ValueError(f"{self.name}: give inside= or plane=False, got both")
        if not radius > largest:
            raise ValueError(
                f"{self.name}: inside must be above the radius of what is in it [m], got "
                f"{radius:g} and {largest:g}"
            )
        return radius

    def elements(self) -> list[Element]:
        """Return one contact for each ball, or for each pair of balls."""
        first, second = self.ends
        numbers = (self.friction, self.friction_static, self.restitution)
        # a point does not turn: the axes of the other one stand in, with weights that are zero
        turning = [
            x if x.body.formulation.axes else y for x, y in ((first, second), (second, first))
        ]
        axes, directions = ([x.end(i) for i in range(3)] for x in turning)
        elements = []
        for k, (other, (center, radius)) in enumerate(zip(self.others, self.balls, strict=True)):
            point = first.end() if other is None else _place(first, other[0])
            elements.append(
                Element(
                    CONTACT,
                    (_place(second, center), *directions, point, *axes),
                    (*numbers, radius, math.inf if other is None else other[1]),
                    rows=tuple(f"{row}{k if len(self.balls) > 1 else ''}" for row in _ROWS),
                    row_kinds=(FORCE,) * 3,
                )
            )
        return elements


def _place(frame: Frame, center: tuple[float, float, float]) -> Attachment:
    return Attachment(frame.name, (1.0, *center), frame.face)


def _check_radii(owner: str, pairs: list[tuple[Ball, Ball]]) -> None:
    """Refuse points that would touch points."""
    if any(x[1] + y[1] == 0.0 for x, y in pairs):
        raise ValueError(
            f"{owner}: of two that touch one must have a radius [m], got two points; give a body a "
            "shape, mbd.Sphere or Capsule"
        )


Ball = tuple[tuple[float, float, float], float]
_ROWS = ("normal", "slip 1", "slip 2")


def _balls(owner: str, second: Any, shape: Any = None) -> list[Ball]:
    """Return centres [m], in the axes of the body, and radii [m] of what touches."""
    frame = second if isinstance(second, Frame) else None
    body, what = (second.body if frame else second), "shape"
    shapes = checked_shapes(owner, shape)
    if shape is None:
        if frame or not body.formulation.axes:
            return [(_three(frame.position if frame else np.zeros(3)), 0.0)]
        what = f"shapes of {body.name!r}"
        shapes = body.shapes if body.collision is None else body.collision
    else:
        needs_axes(owner, "what has a shape that touches", body, remedy="; leave out shape=")
    balls = [ball for x in touching(owner, what, shapes) for ball in _of_shape(x)]
    if not balls:
        for_show = " (what it looks like is for show: collision=())" * bool(body.shapes)
        raise ValueError(
            f"{owner}: {body.name!r} must have a shape that touches, got none{for_show}; give "
            "shape= (mbd.Sphere, Box, Capsule), or take a Frame of it, which touches as a point"
        )
    if frame:
        return [(_three(frame.position + frame.axes @ x), r) for x, r in balls]
    return balls


def _of_shape(shape: Touching) -> list[Ball]:
    """Return the balls with which a shape touches a plane."""
    if isinstance(shape, Sphere):
        return [(_three(shape.at), shape.radius)]
    if isinstance(shape, Box):
        corners = 0.5 * shape.size * np.array(list(product((-1.0, 1.0), repeat=3)))
        return [(_three(shape.at + shape.rotation @ x), 0.0) for x in corners]
    half = 0.5 * shape.length * shape.axis
    return [(_three(shape.at + s * half), shape.radius) for s in (-1.0, 1.0)]


def _three(x: np.ndarray) -> tuple[float, float, float]:
    return float(x[0]), float(x[1]), float(x[2])
