r"""Nonholonomic constraints: rolling without slip, the skate, a body that does not twist.

A rolling body B touches a plane of a body A, which may move: a table that turns, a cart, ground.
The normal row is one on positions; along the plane the material points of both bodies that meet
have the same velocity, two rows on velocities (``interactions/slip.py``).
``solution[name].force`` is the contact force on B [N], inertial axes.
"""

from typing import Any

import numpy as np

from mbd.base.door import label, number, unit_vector, vector, within
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.measures import OFFSET, SINE
from mbd.interactions.rows import row
from mbd.interactions.slip import KNIFE, ROLL_BALL, ROLL_DISC
from mbd.interactions.velocity_rows import NON_TWISTING
from mbd.machine.buffer import FORCE, VELOCITY_ROW
from mbd.parts.joint import Joint, acted_upon, check_sides, needs_axes, of_one_size, perpendicular
from mbd.parts.part import Body, Frame, Part, Symbol


def _on_plane(
    who: str, first: Any, second: Any, at: Any, axes: np.ndarray, normal: Any, through: Any
) -> tuple[Frame, Frame]:
    """Return the frame of the plane, its third axis normal, and that of what moves on it."""
    check_sides(who, first, second)
    n = unit_vector(who, "normal", normal)
    if isinstance(first, Body):
        first = first.placed_frame(vector(who, "through", through, "m"), perpendicular(n))
    if isinstance(second, Body):
        where = second.position if at is None else vector(who, "at", at, "m")
        second = second.placed_frame(where, axes)
    of_one_size(who, "roll or are rolled on", first, second)
    return first, second


def _direction(who: str, what: str, axis: Any) -> np.ndarray:
    """Return the direction of what moves on a plane, which must be given."""
    if axis is None:
        raise ValueError(f"{who}: axis must be given: the {what}, inertial at the initial pose")
    return unit_vector(who, "axis", axis)


def _slip(kind: Kind, joint: Joint, number: float, *rows: str) -> Element:
    """Return rows on the eight vectors of both frames, those of the second body first."""
    ends = [frame.end(axis) for frame in (joint.B, joint.A) for axis in (None, 0, 1, 2)]
    return Element(kind, ends, (number,), (), rows, (VELOCITY_ROW,) * len(rows))


def _height(joint: Joint) -> tuple[Attachment, ...]:
    """Return normal, centre and a point of the plane."""
    return (joint.A.end(2), joint.B.end(), joint.A.end())


class RollingDisc(Joint):
    r"""A thin disc or wheel rolls on a plane without slip (1 row on positions, 2 on velocities).

    With the normal n of the plane, the axle a and the centre C,

    .. math:: n\cdot(C - P) - r\sqrt{1 - (n\cdot a)^2} = 0, \qquad
       v_B(x) = v_A(x) \text{ along the plane, at } x = C - r\,\frac{n - (n\cdot a)\,a}{|\dots|} .

    The disc must not lie flat on the plane.

    Parameters
    ----------
    name : str
    first : body, ground, or Frame
        Carries the plane; of a Frame the third axis is the normal.
    second : body or Frame
        The disc; of a Frame the third axis is the axle, the origin its centre.
    radius : float [m]
    axis : (3,) array [-]
        Axle, inertial at the initial pose.
    at : (3,) array [m], optional
        Centre of the disc, inertial at the initial pose; default the origin of the body.
    normal : (3,) array [-]
        Of the plane, inertial at the initial pose, towards the disc.
    through : (3,) array [m]
        A point of the plane, inertial at the initial pose.

    Notes
    -----
    Multipliers: the normal one is the force against n [N], those of the rows "slip" along the axes
    of the plane frame likewise. ``.force`` is their sum on the disc.
    """

    symbol = Symbol.DISC

    def __init__(
        self, name: str, first: Any, second: Any, *, radius: float, axis: Any = None,
        at: Any = None, normal: Any = (0.0, 0.0, 1.0), through: Any = (0.0, 0.0, 0.0),
    ) -> None:  # fmt: skip
        self.name = label(name, "RollingDisc")
        self.radius = number(self.name, "radius", radius, "m", positive=True)
        axes = np.eye(3)
        if isinstance(second, Body):
            axes = perpendicular(_direction(self.name, "axle of the disc", axis))
        self.ends = _on_plane(self.name, first, second, at, axes, normal, through)
        self._check()
        n, a = (f.start[1][:, 2] for f in self.ends)
        if abs(n @ a) > 1 - 1e-9:
            raise ValueError(
                f"{self.name}: the disc lies flat on the plane, its axle must not be the normal"
            )

    def elements(self) -> list[Element]:
        """n.(C - P) - r |sin(n, a)|, and no slip along the plane."""
        ends = _height(self)
        normal = Element(
            total((OFFSET, SINE)), (*ends, ends[0], self.B.end(2)), (0.0, 0.0, 1.0, -self.radius),
            (0.0, 0.0), ("normal",), (FORCE,),
        )  # fmt: skip
        return [normal, _slip(ROLL_DISC, self, self.radius, "slip a1", "slip a2")]


class RollingBall(Joint):
    r"""A ball rolls on a plane without slip (1 row on positions, 2 on velocities).

    .. math:: n\cdot(C - P) - r = 0, \qquad
       v_B(x) = v_A(x) \text{ along the plane, at } x = C - r n .

    The ball may spin about the normal.

    Parameters
    ----------
    name : str
    first : body, ground, or Frame
        Carries the plane; of a Frame the third axis is the normal.
    second : body or Frame
        The ball; its centre is the origin of the Frame.
    radius : float [m]
    at : (3,) array [m], optional
        Centre of the ball, inertial at the initial pose; default the origin of the body.
    normal : (3,) array [-]
        Of the plane, inertial at the initial pose, towards the ball.
    through : (3,) array [m]
        A point of the plane, inertial at the initial pose.
    """

    symbol = Symbol.WHEEL

    def __init__(
        self, name: str, first: Any, second: Any, *, radius: float, at: Any = None,
        normal: Any = (0.0, 0.0, 1.0), through: Any = (0.0, 0.0, 0.0),
    ) -> None:  # fmt: skip
        self.name = label(name, "RollingBall")
        self.radius = number(self.name, "radius", radius, "m", positive=True)
        self.ends = _on_plane(self.name, first, second, at, np.eye(3), normal, through)
        self._check()

    def elements(self) -> list[Element]:
        """n.(C - P) - r, and no slip along the plane."""
        normal = Element(row(OFFSET), _height(self), (self.radius,), (), ("normal",), (FORCE,))
        return [normal, _slip(ROLL_BALL, self, self.radius, "slip a1", "slip a2")]


class KnifeEdge(Joint):
    r"""A skate: a point moves along its blade only, not across (1 row on velocities).

    .. math:: b_2\cdot(v_B - v_A) = 0

    at the point Q of the second body, with the lateral direction :math:`b_2` fixed to that body.
    Another joint holds the skate on its plane, ``Planar`` or ``PointInPlane``.

    Parameters
    ----------
    name : str
    first : body, ground, or Frame
        What is cut.
    second : body or Frame
        The skate; the first axis of a Frame is the blade, the second one across, the origin Q.
    axis : (3,) array [-]
        Direction of the blade, inertial at the initial pose.
    at : (3,) array [m], optional
        Point Q, inertial at the initial pose; default the origin of the body.
    normal : (3,) array [-]
        Normal of the plane, inertial at the initial pose; across is normal x blade.

    Notes
    -----
    The multiplier is the force against the lateral direction [N].
    """

    symbol = Symbol.BLADE

    def __init__(
        self, name: str, first: Any, second: Any, *, axis: Any = None, at: Any = None,
        normal: Any = (0.0, 0.0, 1.0),
    ) -> None:  # fmt: skip
        self.name = label(name, "KnifeEdge")
        axes = np.eye(3)
        if isinstance(second, Body):
            blade = _direction(self.name, "direction of the blade", axis)
            n = unit_vector(self.name, "normal", normal)
            if abs(blade @ n) > 1e-9:
                raise ValueError(
                    f"{self.name}: the blade must lie in the plane, got a cosine of "
                    f"{blade @ n:.3g} between axis and normal"
                )
            axes = np.column_stack([blade, np.cross(n, blade), n])
        through = np.zeros(3) if at is None else vector(self.name, "at", at, "m")
        self.ends = _on_plane(self.name, first, second, at, axes, normal, through)
        self._check()

    def elements(self) -> list[Element]:
        """b2.(v_B - v_A)."""
        return [_slip(KNIFE, self, 0.0, "across")]


class NonTwisting(Part):
    r"""The body does not turn about its third director: :math:`\omega\cdot d_3 = 0`.

    As a row on velocities, :math:`(1-a)\,\dot d_1\cdot d_2 - a\,\dot d_2\cdot d_1 = 0`, for a body
    of any formulation. No position row says the same: the constraint is nonholonomic. Without load
    the kinetic energy and the momenta about d1 and d2 are conserved, the spatial angular momentum
    is not.

    Equation :eq:`nontwisting` of the theory page.

    Parameters
    ----------
    name : str
    body : RigidBody
    a : float
        In [0, 1]; on orthonormal directors it changes nothing.

    References
    ----------
    [Gebhardt 2020, (72), (80)]: see the page *From paper to code* of the documentation.
    """

    def __init__(self, name: str, body: Any, a: float = 0.5) -> None:
        self.name = label(name, "NonTwisting")
        self.body = acted_upon(self.name, body)
        needs_axes(self.name, "NonTwisting", self.body)
        if not self.body.formulation.holonomic:
            raise ValueError(
                f"{self.name}: {self.body.name!r} must be able to twist, got one on "
                f"{self.body.formulation.name!r}, which has the row built in; leave the part out"
            )
        self.a = within(self.name, "a", a, "-", 0.0, 1.0)

    def elements(self) -> list[Element]:
        """Return the row on the rates of d1 and d2."""
        ends = [x.frame().end(i) for x in self.bodies for i in (0, 1)]
        return [
            Element(NON_TWISTING, ends, (self.a,), rows=("twist rate",), row_kinds=(VELOCITY_ROW,))
        ]
