"""Forces: loads at points, moments, springs and dampers, bushings.

``law=`` takes a Python function (called back, slower) or a numba-jitted one (same numbers).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbd.base.checked import flag, function, shown
from mbd.base.door import label, number, rotation_matrix, symmetric, vector
from mbd.base.dual import plain
from mbd.base.tolerances import ROWS_MET
from mbd.interactions.beams.element import BEAM
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.laws import number_law, spring_law, time_law
from mbd.interactions.loads import FORCE, MOMENT, SCALING
from mbd.interactions.measures import LENGTH
from mbd.interactions.motion_laws import Returns
from mbd.interactions.springs import spring
from mbd.parts.by_motion import PointInputs, law_of_motion, point_load
from mbd.parts.coordinates import AngleBetween, offset_along
from mbd.parts.interpolated import components_law
from mbd.parts.joint import (
    Joint,
    acted_upon,
    apart,
    at_its_position,
    distance,
    frame_at,
    needs_axes,
    of_one_size,
    two_ends,
    two_frames,
)
from mbd.parts.joints import Cylindrical, Planar, Revolute
from mbd.parts.part import Applied, Frame, Part, Symbol


def tension_law(owner: str, law: Any, u: float) -> Any:
    """Return the law of a spring, tried at u, or None."""
    form = "f(u, rate, t) -> tension (for a linear spring give stiffness= and damping=)"
    return None if law is None else spring_law(owner, function(owner, "law", law, form), u)


_DIRECTORS = ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))


def _applied(
    owner: str, frame: Frame, value: Any, follow: Any, at: np.ndarray, *, moment: bool
) -> Applied:
    """Return a force or moment on the face of a frame: three numbers, or a law of time."""
    if flag(owner, "follow", follow) and not frame.body.formulation.axes:
        raise ValueError(
            f"{owner}: a load that follows {frame.name!r} needs its axes, but it is a point"
        )
    what, unit = ("moment", "N m") if moment else ("force", "N")
    law = components_law(owner, value, what, unit)
    if law is None and callable(value):
        law = time_law(owner, value)
    constant = vector(owner, what, value if law is None else (0.0, 0.0, 0.0), unit)
    body, axis = frame.body, frame.body.formulation.normal
    if axis is not None:
        inertial = plain(body.rotation) @ plain(constant) if follow else plain(constant)
        out = np.delete(inertial, axis) if moment else inertial[axis]
        if np.abs(out).max() > ROWS_MET * np.linalg.norm(inertial):
            raise ValueError(
                f"{owner}: {what} must be {'along the normal' if moment else 'in the plane'} of "
                f"{body.name!r}, which moves normal to {'xyz'[axis]}, got {inertial.tolist()} "
                f"[{unit}]; take the rest away, or another formulation"
            )
    return Applied(frame.place, at, constant, law, follow, moment)


def _load(kind: Kind, frame: Frame, ends: Sequence[Attachment], applied: Applied) -> Element:
    """Return the element of a load; its number says whether the body breathes."""
    weights = (0.0, *applied.value.tolist())
    own = Attachment(frame.name, weights, frame.face)
    along = own if applied.follow else Attachment("ground", weights)
    breathes = 0.0 if frame.body.formulation.rigid else 1.0
    return Element(kind, (*ends, along), (breathes,), law=applied.law)


def _by_motion(
    owner: str, frame: Frame, law: Any, returns: Returns, follow: Any, more: PointInputs
) -> Element | None:
    """Return the element of a law of motion, or None where the load is another one."""
    if law_of_motion(law) is None and not (callable(law) and more.memory is not None):
        more.of_nothing_else(owner)
        return None
    if flag(owner, "follow", follow):
        raise ValueError(
            f"{owner}: a law of motion has the axes, so that follow=True says nothing; leave it "
            "out and return R @ components"
        )
    return point_load(owner, frame, law, returns, more)


def _with_reference(load: Any) -> tuple[Any, ...]:
    """Return the body acted upon, and the reference."""
    x = load.reference
    other = x.body if isinstance(x, Frame) else x
    return (load.body,) if other is None or other is load.body else (load.body, other)


class PointForce(Part):
    """A force at a point of a body.

    Parameters
    ----------
    name : str
    body : RigidBody, PointMass or Frame
        A Frame is where the force acts, in place of ``at``.
    force : (3,) array [N] or callable
        Constant, or a law of time ``f(t) -> (x, y, z)``, Python or numba-jitted; components may be
        an ``mbd.Interpolated``. Or a law of motion, a numba-jitted function that takes by name any
        of ``t`` [s], ``x`` (3,) [m], ``R`` (3, 3), ``v`` (3,) [m/s] and ``omega`` (3,) [rad/s] of
        the point and the axes of the body there, all inertial (R is zero of a body without axes);
        an ``mbd.Function`` hands it numbers and arrays.
    at : (3,) array [m], optional
        Inertial, at the initial pose; default the origin of the body.
    follow : bool
        If true, the components are in body axes and turn with the body.
    reference : body, ground or Frame, optional
        What a law of motion sees as ``reference``, (x, R, v, omega).
    memory : int or (k,) array [SI], optional
    accept : callable, optional
    settles : bool
        What a law of motion remembers, as of a ``SectionLoad``.
    """

    relative = False
    applied: Applied | None = None

    def __init__(
        self, name: str, body: Any, force: Any, *, at: Any = None, follow: bool = False,
        reference: Any = None, memory: Any = None, accept: Callable[..., Any] | None = None,
        settles: bool = False,
    ) -> None:  # fmt: skip
        self.name = label(name, "PointForce")
        self.body = acted_upon(self.name, body, frames=True)
        self.frame = frame_at(self.name, body, at)
        place = self.frame.position
        more = PointInputs(reference, memory, accept, settles)
        by_motion = _by_motion(self.name, self.frame, force, "force", follow, more)
        if by_motion is None:
            self.applied = _applied(self.name, self.frame, force, follow, place, moment=False)
            self.law = self.applied.law
            by_motion = _load(FORCE, self.frame, [self.frame.end()], self.applied)
        self.reference, self._element = reference, by_motion
        only = "is a point; a force acts at its position, leave out at="
        at_its_position(self.name, self.frame, only=only)

    bodies = property(_with_reference)

    def elements(self) -> list[Element]:
        """Return the force on its point."""
        return [self._element]


class Moment(Part):
    """A moment on a rigid body.

    Parameters
    ----------
    name : str
    body : RigidBody or Frame
    moment : (3,) array [N m] or callable
        Constant, or a law of time ``f(t) -> (x, y, z)``, Python or numba-jitted; components may be
        an ``mbd.Interpolated``. Or a law of motion, as ``PointForce`` takes it.
    follow : bool
        If true, the components are in body axes and turn with the body.
    reference : body, ground or Frame, optional
        What a law of motion sees as ``reference``, (x, R, v, omega).
    memory : int or (k,) array [SI], optional
    accept : callable, optional
    settles : bool
        What a law of motion remembers, as of a ``SectionLoad``.
    """

    relative = False
    applied: Applied | None = None

    def __init__(
        self, name: str, body: Any, moment: Any, *, follow: bool = False, reference: Any = None,
        memory: Any = None, accept: Callable[..., Any] | None = None, settles: bool = False,
    ) -> None:  # fmt: skip
        self.name = label(name, "Moment")
        self.body = acted_upon(self.name, body, frames=True)
        self.frame = frame_at(self.name, body, None)
        needs_axes(self.name, "a moment", self.frame)
        more = PointInputs(reference, memory, accept, settles)
        by_motion = _by_motion(self.name, self.frame, moment, "moment", follow, more)
        if by_motion is None:
            middle = np.zeros(3) if self.frame.face else self.body.center_of_mass
            self.applied = _applied(self.name, self.frame, moment, follow, middle, moment=True)
            self.law = self.applied.law
            ends = [Attachment(self.frame.name, w, self.frame.face) for w in _DIRECTORS]
            by_motion = _load(MOMENT, self.frame, ends, self.applied)
        self.reference, self._element = reference, by_motion

    bodies = property(_with_reference)

    def elements(self) -> list[Element]:
        """Return the moment on the three directors."""
        return [self._element]


class Spring(Part):
    """Spring and damper between two points: tension k (l - l0) + c dl/dt, or a law.

    Equation :eq:`spring` of the theory page.

    Parameters
    ----------
    name : str
    first, second : body, ground, or Frame
    at, to : (3,) array [m], optional
        Points on the first and second body, inertial at the initial pose; default the origins.
    stiffness : float [N/m]
    damping : float [N s/m]
    length : float [m], optional
        Free length; default the distance at the initial pose.
    law : callable, optional
        ``f(length, rate, t)`` -> tension [N], or (tension, d/dlength, d/drate), instead of the
        linear law; Python or numba-jitted.
    """

    symbol = Symbol.COIL

    def __init__(
        self, name: str, first: Any, second: Any, *, at: Any = None, to: Any = None,
        stiffness: float = 0.0, damping: float = 0.0, length: float | None = None,
        law: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = label(name, "Spring")
        self.ends = self.A, self.B = two_ends(self.name, first, second, at, to)
        self.stiffness = number(self.name, "stiffness", stiffness, "N/m")
        self.damping = number(self.name, "damping", damping, "N s/m")
        now = distance(*self.ends)
        free = now if length is None else length
        self.length = number(self.name, "length", free, "m", positive=False)
        self.law = tension_law(self.name, law, now)

    def elements(self) -> list[Element]:
        """Return the spring on the length."""
        numbers = (self.stiffness, self.damping, self.length)
        ends = [x.end() for x in self.ends]
        return [Element(spring(LENGTH), ends, numbers, law=self.law)]


class RotationalSpring(Part):
    """Rotational spring and damper about the axis of a hinge: moment k (phi - phi0) + c dphi/dt.

    The angle turns the second body against the first about the axis, is zero at the initial pose
    (or where the frames' first axes agree) and counts full turns.

    Parameters
    ----------
    name : str
    joint : Revolute, Cylindrical or Planar
        Whose axis and frames are used.
    stiffness : float [N m/rad]
    damping : float [N m s/rad]
    angle : float [rad]
        Free angle phi0.
    law : callable, optional
        ``f(angle, rate, t)`` -> moment [N m], or (moment, d/dangle, d/drate).
    """

    symbol = Symbol.SPIRAL

    def __init__(
        self, name: str, joint: Joint, *, stiffness: float = 0.0, damping: float = 0.0,
        angle: float = 0.0, law: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = label(name, "RotationalSpring")
        if not isinstance(joint, Revolute | Cylindrical | Planar):
            raise TypeError(
                f"{self.name}: joint must be one with an axis to turn about (Revolute, "
                f"Cylindrical, Planar), got {shown(joint)}"
            )
        self.ends = self.A, self.B = joint.A, joint.B
        self.stiffness = number(self.name, "stiffness", stiffness, "N m/rad")
        self.damping = number(self.name, "damping", damping, "N m s/rad")
        self.angle = number(self.name, "angle", angle, "rad")
        self.law = tension_law(self.name, law, 0.0)

    def elements(self) -> list[Element]:
        """Return the spring on the angle."""
        u = AngleBetween(0, 1, 0).of(self.name, "angle", self.ends)
        return [u.element(spring, (self.stiffness, self.damping, self.angle), law=self.law)]


class Bushing(Part):
    r"""Springs and dampers between two frames, by symmetric 6x6 matrices K and D.

    They act on the lengths and turns e of the helicoid from the first frame to the second: the
    displacement, seen from midway, and the rotation vector,

    .. math:: V = \tfrac12 e^TKe, \qquad \sigma = Ke + D\dot e .

    Turns must stay below half a turn, where a rotation vector jumps. Exchanged bodies move alike.
    Where rotations meet neither stiffness nor damping the bodies may spin, as in a bearing, and
    breathe: displacements are then along the axes of the first frame.

    Parameters
    ----------
    name : str
    first, second : body and body with ``at=`` (and ``axes=``), or Frames
        With one Frame the other side has its frame where this one is at the initial pose.
    at : (3,) array [m]
    axes : (3, 3) array [-], optional
        Inertial at the initial pose, columns.
    stiffness, damping : (6,) or (6, 6) array [N/m, N m/rad], [N s/m, N m s/rad]
        Three translations, then three rotations: diagonals, or full symmetric matrices.
    """

    symbol = Symbol.CUSHION

    def __init__(
        self, name: str, first: Any, second: Any, *, at: Any = None, axes: Any = None,
        stiffness: Any = (0.0,) * 6, damping: Any = (0.0,) * 6,
    ) -> None:  # fmt: skip
        self.name = label(name, "Bushing")
        if axes is not None:
            axes = rotation_matrix(self.name, "axes", axes)
        self.ends = self.A, self.B = two_frames(self.name, first, second, at, axes)
        apart(self.name, *self.ends)
        needs_axes(self.name, "Bushing", *self.ends)
        self.stiffness = symmetric(self.name, "stiffness", stiffness, "N/m, N m/rad")
        self.damping = symmetric(self.name, "damping", damping, "N s/m, N m s/rad")
        self._turns = bool(self.stiffness[3:].any() or self.damping[3:].any())
        if self._turns:
            of_one_size(self.name, "turn against a Bushing", *self.ends)

    def elements(self) -> list[Element]:
        """Return one helicoid, or springs on offsets along principal directions."""
        K, D = self.stiffness, self.damping
        if self._turns:
            ends = [f.end(axis) for f in self.ends for axis in (None, 0, 1, 2)]
            return [Element(BEAM, ends, (*[0.0] * 6, *K.ravel(), *D.ravel()))]
        diagonal = all(np.array_equal(x, np.diag(np.diag(x))) for x in (K, D))
        return [
            self._spring(k[:3, :3], d[:3, :3], n)
            for k, d in ([(K, D)] if diagonal else [(K, 0 * D), (0 * K, D)])
            for n in np.linalg.eigh((k + d)[:3, :3])[1].T
        ]

    def _spring(self, K: np.ndarray, D: np.ndarray, n: np.ndarray) -> Element:
        """Return a spring on the offset along a direction in the first frame."""
        weights = n @ np.array([self.A.direction(i) for i in range(3)])
        along = Attachment(self.A.name, tuple(weights.tolist()), self.A.face)
        ends = (along, self.B.end(), self.A.end())
        return Element(spring(offset_along(self.A)), ends, (n @ K @ n, n @ D @ n, 0.0))


class ScalingForce(Part):
    r"""A force on the scale s of a body, :math:`c_S = \int\varrho\cdot R^TdF` of what swells it.

    It has no resultant force or moment. About the centre of mass

    .. math:: \tfrac12 tr\Theta\,\ddot s - \omega^T\Theta\omega/s = c_S + \lambda .

    A free body breathes under it; of a rigid one it changes the reaction of the row
    :math:`|A|^2 = 1` only, :math:`\lambda = -\omega^T\Theta\omega - c_S`.

    Parameters
    ----------
    name : str
    body : RigidBody
        With the formulation ``scalable``, rigid or free.
    force : float [N m] or callable
        Constant, or a law of time ``f(t) -> number``, Python or numba-jitted; positive swells.
    """

    def __init__(self, name: str, body: Any, force: float | Callable[[float], float]) -> None:
        self.name = label(name, "ScalingForce")
        self.body = acted_upon(self.name, body)
        if not body.formulation.scales:
            raise ValueError(
                f"{self.name}: ScalingForce needs a body with a scale, but {body.name!r} is "
                f"carried by {body.formulation.name!r}, which has none: the force would do no work "
                "and load no row; use formulation='scalable' or mbd.Scalable(...)"
            )
        self.law = number_law(self.name, force) if callable(force) else None
        constant = 0.0 if callable(force) else force
        self.value = number(self.name, "force", constant, "N m")

    def elements(self) -> list[Element]:
        """Return the force along the three directors."""
        ends = [Attachment(self.bodies[0].name, w) for w in _DIRECTORS]
        return [Element(SCALING, ends, (self.value,), law=self.law)]
