r"""Base class of joints: two frames, rows between them, the coordinates they leave free.

A joint joins two frames, A on the first body and B on the second; the third axis is the joint's.
It is placed by ``at=`` and ``axis=`` in inertial axes at the initial pose, or by one ``Frame`` or
two.

Multipliers
-----------
The residual holds B^T lam. With P - Q the multipliers of the first three rows of a joint are the
force on the second body [N], inertial axes. ``solution[joint].force`` and ``.moment`` are formed
from all rows and need no such knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mbd.base.checked import meant, shown
from mbd.base.door import label, number, unit_vector, vector
from mbd.base.dual import norm
from mbd.base.tolerances import COMPLIANCE_LEAST
from mbd.interactions.compliant_rows import COMPLIANT_COINCIDE, compliant
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import ANGLE, DOT, OFFSET, Measure
from mbd.interactions.rows import COINCIDE, DOT_ROW, row
from mbd.machine.buffer import FORCE, MOMENT
from mbd.parts.coordinates import AngleBetween, at_start, displacement_between
from mbd.parts.part import Body, Coordinate, Frame, Part, Symbol


def perpendicular(axis: np.ndarray) -> np.ndarray:
    """Return axes (columns) whose third one is `axis`; with z the inertial axes themselves."""
    x = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - axis * (axis @ x)
    (a, b, c), (d, e, f) = axis.tolist(), (x / norm(x)).tolist()
    return np.array([[d, b * f - c * e, a], [e, c * d - a * f, b], [f, a * e - b * d, c]])


def check_sides(owner: str, first: Any, second: Any) -> None:
    """Refuse what is neither a body nor a frame of one."""
    for side, part in (("first", first), ("second", second)):
        if not isinstance(part, Frame | Body):
            raise TypeError(
                f"{owner}: {side} must be a body, system.ground or a Frame, got {shown(part)}"
            )


def acted_upon(owner: str, part: Any, *, frames: bool = False) -> Body:
    """Return a body on which a load may act; with `frames` also that of a Frame."""
    body = part.body if frames and isinstance(part, Frame) else part
    if not isinstance(body, Body) or not body.moves:
        raise TypeError(f"{owner}: must act on a body of the system, got {shown(body)}")
    return body


def compliance_of(owner: str, argument: str, value: Any, unit: str) -> float:
    """Return a compliance: zero, or one that positions can tell from zero."""
    C = number(owner, argument, value, unit, positive=False)
    if 0.0 < C < COMPLIANCE_LEAST:
        raise ValueError(
            f"{owner}: {argument} must be zero or at least {COMPLIANCE_LEAST:g} [{unit}], got "
            f"{C:g}; leave it out: positions cannot tell it from a rigid joint"
        )
    return C


def two_frames(
    owner: str, first: Any, second: Any, at: Any, axes: np.ndarray | None
) -> tuple[Frame, Frame]:
    """Return the two frames of an interaction, from frames or from a place at the initial pose.

    Of a Frame and a body the frame on the body is where the Frame is at the initial pose.
    """
    check_sides(owner, first, second)
    frames = [x for x in (first, second) if isinstance(x, Frame)]
    if frames and not (at is None and axes is None):
        raise ValueError(
            f"{owner}: a Frame says where it is, that of {frames[0].name!r} does; leave out at= "
            "and axes"
        )
    if len(frames) == 2:
        return first, second
    if frames:
        point, axes = frames[0].start
    elif at is None:
        raise ValueError(f"{owner}: at must be a point [m] at the initial pose; give at=(x, y, z)")
    else:
        point, axes = vector(owner, "at", at, "m"), np.eye(3) if axes is None else axes
    A, B = (x if isinstance(x, Frame) else x.placed_frame(point, axes) for x in (first, second))
    return A, B


def apart(owner: str, A: Frame, B: Frame) -> None:
    """Refuse what joins a body to itself."""
    if A.body is B.body:
        raise ValueError(
            f"{owner}: must join two bodies, got {A.name!r} twice; give another body, or "
            "system.ground"
        )


def needs_axes(owner: str, what: str, *ends: Frame | Body, remedy: str = "") -> None:
    """Refuse points, which have no axes."""
    for x in ends:
        if not (x.body if isinstance(x, Frame) else x).formulation.axes:
            raise ValueError(f"{owner}: {what} needs axes, but {x.name!r} is a point{remedy}")


def distance(A: Frame, B: Frame) -> float:
    """Return the distance between the origins of two frames at the initial pose [m]."""
    return norm(B.start[0] - A.start[0])


def of_one_size(owner: str, what: str, *frames: Frame) -> None:
    """Refuse frames of bodies that breathe."""
    for frame in frames:
        if not frame.body.formulation.rigid:
            raise ValueError(
                f"{owner}: bodies that {what} must keep their size, but {frame.body.name!r} "
                "breathes; use mbd.Scalable(rigid=True)"
            )


def at_its_position(
    owner: str, *frames: Frame, only: str = "is a point; hold it at its position"
) -> None:
    """Refuse frames of points that are elsewhere than the points themselves."""
    for frame in frames:
        if not frame.body.formulation.axes and np.abs(frame.position).max() > 1e-12:
            raise ValueError(
                f"{owner}: {frame.name!r} {only}, got an offset of {frame.position.tolist()} [m]; "
                "only a RigidBody has other points"
            )


_FIRST_AXES = AngleBetween(0, 1, 0)  # b1 in the plane of a1 and a2


class PathStep(NamedTuple):
    """One step of the way from the frame A of a joint to its frame B.

    Parameters
    ----------
    motion : int
        SHIFT along an axis, TURN about one, or BALL, any turn.
    axis : int
        0 to 2; of a shift those of A.
    name : str
        Of the coordinate.
    pitch, start : float [m/rad, m]
        A turn by phi shifts by pitch phi + start too.
    """

    motion: int
    axis: int = 0
    name: str = ""
    pitch: float = 0.0
    start: float = 0.0


SHIFT, TURN, BALL = 1, 2, 3
ANY_TURN = PathStep(BALL, name="angular_velocity")


class Free:
    """A coordinate that a joint leaves free; the attribute of a joint is a ``Coordinate``.

    Parameters
    ----------
    make : callable
        ``(joint, name) -> Coordinate``
    doc : str
    """

    #: what it is, if it is an angle between axes of the two frames
    between: AngleBetween | None = None

    def __init__(self, make: Callable[[Any, str], Coordinate], doc: str) -> None:
        self.make, self.__doc__ = make, doc

    @classmethod
    def angle(
        cls,
        between: AngleBetween = _FIRST_AXES,
        doc: str = "Rotation of the second body against the first about the axis [rad].",
    ) -> Free:
        """Return an angle, by default that of b1 in the plane of a1 and a2."""
        free = cls(lambda x, name: between.of(x.name, name, x.ends), doc)
        free.between = between
        return free

    @classmethod
    def shift(cls, i: int = 2) -> Free:
        """Return a_i.(Q - P), with i from 0 to 2."""
        along = f"the {'first second third'.split()[i]} axis of the first frame"
        return cls(
            lambda x, name: displacement_between(x.name, name, x.A, i, x.B),
            f"Translation of the second body against the first along {along} [m].",
        )

    def __set_name__(self, owner: type[Joint], name: str) -> None:
        self.name, owner.free = name, (*owner.free, name)

    def __get__(self, joint: Joint | None, owner: type[Joint]) -> Coordinate:
        return self if joint is None else self.make(joint, self.name)  # type: ignore[return-value]


class Joint(Part):
    """Base of all joints: two frames and the rows between them.

    Parameters
    ----------
    name : str
    first, second : body, ground, or Frame
        P and a1, a2, a3 are origin and axes of the frame A on the first one, Q and b1, b2, b3 of
        the frame B on the second, on which the reaction acts. Two Frames (``body.frame(...)``) are
        these; give them in place of ``at`` and ``axis``. With one Frame the other side has its
        frame where this one is at the initial pose.
    at : (3,) array [m]
        Inertial, at the initial pose.
    axis : (3,) array [-]
        Inertial, at the initial pose.
    compliance, angular_compliance : float [m/N], [rad/(N m)], optional
        With which the rows of forces, and those of moments, give way; default 0, they do not.
    """

    drawer = "joints"
    symbol = Symbol.BALL
    needs_axis: ClassVar[bool] = True  # given, unless by a frame
    with_axes: ClassVar[tuple[bool, bool]] = (True, True)  # of the bodies: no points
    free: ClassVar[tuple[str, ...]] = ()
    path: tuple[PathStep, ...] | None = (
        None  # from A to B: shifts, then turns; None: rows alone know
    )
    compliance: float = 0.0
    angular_compliance: float = 0.0

    def __init__(
        self, name: str, first: Any, second: Any, *, at: Any = None, axis: Any = None,
        compliance: float = 0.0, angular_compliance: float = 0.0,
    ):  # fmt: skip
        self.name = label(name, type(self).__name__)
        axes = None
        if axis is not None:
            axes = perpendicular(unit_vector(self.name, "axis", axis))
        elif self.needs_axis and not (isinstance(first, Frame) or isinstance(second, Frame)):
            raise ValueError(
                f"{self.name}: axis must be given for a {type(self).__name__}; axis=(x, y, z) in "
                "inertial axes at the initial pose"
            )
        self.ends = two_frames(self.name, first, second, at, axes)
        self._check()
        self._give_way("compliance", compliance, "m/N", FORCE)
        self._give_way("angular_compliance", angular_compliance, "rad/(N m)", MOMENT)

    def _give_way(self, argument: str, value: Any, unit: str, kind: int) -> None:
        """Take a compliance for all rows of a kind; refuse one for rows that cannot give way."""
        if isinstance(value, float) and value == 0.0:  # as almost always
            return
        setattr(self, argument, compliance_of(self.name, argument, value, unit))
        rows = [e.kind for e in self.elements() if kind in e.row_kinds]
        rigid = [x for x in rows if not x.own_block]
        if getattr(self, argument) and (rigid or not rows):
            what = "forces" if kind == FORCE else "moments"
            why = f"its row {str(rigid[0])!r} cannot" if rigid else "it has none"
            raise ValueError(
                f"{self.name}: {argument} lets the rows of {what} of a {type(self).__name__} give "
                f"way, but {why}; leave it out, or take a Bushing or JointSpring in its place"
            )

    @property
    def A(self) -> Frame:
        """Its frame on the first body."""
        return self.ends[0]

    @property
    def B(self) -> Frame:
        """Its frame on the second body, on which the reaction acts."""
        return self.ends[1]

    def _check(self) -> None:
        apart(self.name, self.A, self.B)
        needing = [x for x, needed in zip(self.ends, self.with_axes, strict=True) if needed]
        use = " without axes; use Spherical, Distance or PointOnLine, or make it a RigidBody"
        needs_axes(self.name, type(self).__name__, *needing, remedy=use)
        at_its_position(
            self.name, *self.ends, only="is a point and can be held at its position only"
        )

    def _coincide(self) -> Element:
        names = ("force x", "force y", "force z")
        C = self.compliance
        kind, numbers = (COMPLIANT_COINCIDE, (C,)) if C else (COINCIDE, ())
        ends = (self.A.end(), self.B.end())
        return Element(kind, ends, numbers, rows=names, row_kinds=(FORCE,) * 3)

    def _dot(self, i: int, j: int, about: str = "") -> Element:
        """Return a_i.b_j; its multiplier is the moment about a_i x b_j, by default an axis of A."""
        k = 3 - i - j
        about = about or f"{'' if (j - i) % 3 == 1 else '-'}a{k + 1}"
        ends, C = (self.A.end(i), self.B.end(j)), self.angular_compliance
        return _row(DOT, ends, f"moment about {about}", MOMENT, C)

    @property
    def coordinates(self) -> dict[str, Coordinate]:
        """The coordinates that the joint leaves free, by name."""
        return {name: getattr(self, name) for name in self.free}

    def _offset(self, i: int) -> Element:
        ends = (self.A.end(i), self.A.end(), self.B.end())
        return _row(OFFSET, ends, f"force along a{i + 1}", FORCE, self.compliance)

    def elements(self) -> list[Element]:
        """Return the rows of the joint."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.A.name!r}, {self.B.name!r})"


def _row(
    measure: Measure, ends: Sequence[Attachment], name: str, row_kind: int, C: float
) -> Element:
    """Return the row that a measure is zero, or C times its multiplier."""
    rigid = DOT_ROW if measure is DOT else row(measure)
    kind, numbers = (compliant(measure), (0.0, 0.0, C)) if C else (rigid, (0.0,))
    return Element(kind, ends, numbers, rows=(name,), row_kinds=(row_kind,))


Angles = dict[str, tuple[float, Sequence[Attachment]]]  # start [rad] and attachments by label


def turning(parts: Iterable[Part]) -> dict[Measure, Angles]:
    """Return all coordinates that turn, by their measure; starts of angles are found at once."""
    angles: dict[Measure, Angles] = {}
    turns: dict[str, tuple[AngleBetween, Sequence[Frame]]] = {}
    for part in parts:
        usual = isinstance(part, Joint) and type(part).coordinates is Joint.coordinates
        for name in part.free if isinstance(part, Joint) and usual else part.coordinates:
            label = f"{part.name}.{name}"
            between = getattr(type(part), name).between if usual else None
            if between is not None:
                turns[label] = between, part.ends
                angles.setdefault(ANGLE, {})[label] = 0.0, between.attachments(part.ends)
            elif (free := part.coordinates[name]).measure.periodic:
                angles.setdefault(free.measure, {})[label] = free.start, free.attachments
    if turns:
        starts = at_start(*zip(*turns.values(), strict=True))
        for label, start in zip(turns, starts, strict=True):
            angles[ANGLE][label] = start, angles[ANGLE][label][1]
    return angles


def frame_at(owner: str, part: Any, point: Any, word: str = "at") -> Frame:
    """Return a Frame, or that of a body at an inertial point at the initial pose; None: its origin.

    The point was given as the argument `word`.
    """
    if isinstance(part, Frame):
        if point is not None:
            raise ValueError(f"{owner}: a Frame says where it is; leave out {word}=")
        return part
    if not isinstance(part, Body):
        raise TypeError(f"{owner}: expected a body, system.ground or a Frame, got {shown(part)}")
    if point is None:
        return part.frame()
    return part.placed_frame(vector(owner, word, point, "m"), part.rotation)


def two_ends(owner: str, first: Any, second: Any, at: Any, to: Any) -> tuple[Frame, Frame]:
    """Return frames at points of two bodies, from Frames or from at= and to= at the initial pose.

    Masses without extent are held where they are.
    """
    ends = frame_at(owner, first, at), frame_at(owner, second, to, "to")
    apart(owner, *ends)
    at_its_position(owner, *ends)
    return ends


def chosen(owner: str, what: Any, name: str | None = None) -> Coordinate:
    """Return the coordinate that a user means: given as such, or a joint and a name."""
    if isinstance(what, Coordinate):
        if not (name is None or (isinstance(name, str) and name == what.name)):
            raise ValueError(
                f"{owner}: {what!r} says which coordinate is meant; leave out coordinate="
                f"{shown(name)}"
            )
        return what
    if not isinstance(what, Joint) and not (isinstance(what, Part) and what.coordinates):
        raise TypeError(
            f"{owner}: must act on a joint or one of its coordinates (such as hinge.angle), got "
            f"{shown(what)}"
        )
    coordinates = what.coordinates
    if not coordinates:
        raise TypeError(
            f"{owner}: {type(what).__name__} {what.name!r} has no coordinate of its own; use a "
            "joint that has (Revolute, Prismatic, Cylindrical, Planar, Universal, Screw, ...)"
        )
    if name is None and len(coordinates) > 1:
        raise ValueError(
            f"{owner}: {what.name!r} has the coordinates {', '.join(coordinates)}; say which "
            f"one, for example coordinate={next(iter(coordinates))!r}"
        )
    if name is None:
        return next(iter(coordinates.values()))
    if not (isinstance(name, str) and name in coordinates):
        raise ValueError(
            f"{owner}: {what.name!r} has no coordinate {shown(name)}{meant(name, coordinates)}; it "
            f"has {', '.join(coordinates)}"
        )
    return coordinates[name]
