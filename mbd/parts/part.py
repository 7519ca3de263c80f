"""Parts of a system: the nodes and elements that they own, and the facts that they declare.

Whoever evaluates, draws or stores a part asks it for these facts and never for its class. What a
class does not declare is as here: a part without nodes, rows, readings or symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from mbd.base.checked import shown, whole
from mbd.base.door import rotation_matrix, vector
from mbd.base.dual import one, sqrt
from mbd.base.read_only import ReadOnly, read_only
from mbd.base.recorded_call import Call, Recorded
from mbd.formulations.formulation import Formulation, mass_matrix
from mbd.formulations.modal.constants import NodalShapes
from mbd.interactions.beams.line import Line
from mbd.interactions.kind import Attachment, Element, Kind, face_name
from mbd.interactions.laws import Law
from mbd.interactions.measures import Measure
from mbd.machine.buffer import FORCE, MOMENT
from mbd.parts.shapes import Shape
from mbd.parts.skin import Skin


class Symbol(Enum):
    """Symbol of a part at its ends; a DISC and a WHEEL have a ``radius`` [m] too."""

    BALL = auto()
    BALL_ON_LINE = auto()
    BALL_ON_PLATE = auto()
    BLADE = auto()
    BLOCK = auto()
    COIL = auto()
    CROSS = auto()
    CUSHION = auto()
    DISC = auto()
    HINGE = auto()
    ROD = auto()
    ROPE = auto()
    SLEEVE = auto()
    SLIDER = auto()
    SPIRAL = auto()
    WHEEL = auto()


@dataclass(frozen=True)
class Applied(ReadOnly):
    """A force or moment that acts on a body from outside.

    Attributes
    ----------
    body : str
        Name of the face.
    at : (3,) array [m]
        Where it acts, of a moment where it is drawn; in body axes.
    value : (3,) array [N or N m]
        Zero if there is a law of time.
    follow : bool
        Whether components are along body axes, not inertial ones.
    moment : bool
    """

    body: str
    at: np.ndarray
    value: np.ndarray
    law: Law | None
    follow: bool
    moment: bool

    @property
    def unit(self) -> str:
        """Unit of the value."""
        return "N m" if self.moment else "N"


#: units of measures, and of forces along them
LOAD_UNITS = {"m": "N", "rad": "N m", "-": "N m", "m^2": "N/m"}


@dataclass(frozen=True)
class Coordinate:
    """A coordinate that a joint leaves free, such as ``hinge.angle``.

    Attributes
    ----------
    joint, name : str
    unit : str
        "rad" or "m"; of a function "-" or "m^2" too.
    bodies : tuple of Body
    start : float [rad or m]
        Value at the initial pose; an angle in (-pi, pi].
    measure : Measure
        The function of faces that it is, with gradient and Hessian.
    attachments : tuple of Attachment
        Points and directions of the bodies that the measure takes.
    numbers : tuple of float
        Those that it takes besides, in the units [SI] of its function.
    """

    joint: str
    name: str
    unit: str
    bodies: tuple[Any, ...]
    start: float
    measure: Measure
    attachments: tuple[Attachment, ...]
    numbers: tuple[float, ...] = ()

    @property
    def load_unit(self) -> str:
        """Unit of a force along the coordinate."""
        return LOAD_UNITS[self.unit]

    @property
    def row_kind(self) -> int:
        """Kind of the multiplier of a row on the coordinate."""
        return FORCE if self.unit.startswith("m") else MOMENT

    def element(
        self, of: Callable[[Measure], Kind], numbers: Sequence[float], row: str = "",
        law: Any = None,
    ) -> Element:  # fmt: skip
        """Return an element on the coordinate, with a row of this name if it has one."""
        start = (self.start,) if self.measure.periodic or not row else ()
        rows, row_kinds = ((row,), (self.row_kind,)) if row else ((), ())
        numbers = (*numbers, *self.numbers)
        return Element(of(self.measure), self.attachments, numbers, start, rows, row_kinds, law)

    def __repr__(self) -> str:
        return f"Coordinate({self.joint}.{self.name} [{self.unit}])"


class Part(Recorded):
    """Part of a system, which a user adds: base class of bodies, joints, forces and all others.

    Attributes
    ----------
    name : str
    drawer : str
        Which table of the system, and section of a model file, it belongs to: "bodies", "joints",
        "forces", or "structures" of a part that owns nodes. These are named ``NAME.0`` and so on.
    symbol : Symbol or None
    owner : Part that owns it, of a node; else None
    ends : tuple of Frame
        The frames that it joins, mostly two, in order.
    body : Body
        The one that it acts on, instead.
    coordinate, drives : Coordinate
        The one of a joint that it acts on, instead; the one that it drives, by rows or by a law.
    reads, units : dict
        What it reports over time by name: each is a factor times the multiplier of its first row,
        or, of a part without rows, times its tension along ``drives``: of its law, or ``tension``;
        and the unit of each.
    applied : Applied
        The force or moment on a body that it is.
    push : callable or None
        ``(u, rate) -> load`` along ``coordinate`` over time [N m or N], if it is a contact.
    balls, others, friction : sequences, float
        If it is a contact: centres (3,) [m], in the axes of its second body, and radii [m] of what
        touches; those of the first body, None where it is a plane; coefficient of friction.
    reaction_of : str
        Joint whose force is in the bound of its friction, if it is that of a bearing.
    bars : sequence of Element
        Those between neighbours of its nodes, if it is a cable.
    relative : bool
        Whether it acts between its bodies alone, so that action is reaction; else inertial axes are
        a party to it.
    """

    drawer: ClassVar[str] = "forces"
    symbol: ClassVar[Symbol | None] = None
    reads: ClassVar[Mapping[str, float]] = {}
    units: Mapping[str, str] = MappingProxyType({})
    ends: tuple[Frame, ...] = ()
    body: Body | None = None
    coordinate: Coordinate | None = None
    drives: Coordinate | None = None
    applied: Applied | None = None
    push: Callable[[Any, Any], np.ndarray] | None = None
    balls: Sequence[tuple[tuple[float, float, float], float]] = ()
    others: Sequence[tuple[tuple[float, float, float], float] | None] = ()
    friction: float = 0.0
    reaction_of: str = ""
    bars: Sequence[Element] = ()
    relative: bool = True
    name: str
    law: Any = None
    tension: float | None = None
    owner: Part | None = None

    @property
    def bodies(self) -> Sequence[Body]:
        """Bodies of the system that the part is attached to, by what it acts on or joins."""
        if self.coordinate is not None:
            return self.coordinate.bodies
        on = [x.body for x in self.ends] if self.body is None else [self.body]
        return tuple({x.name: x for x in on}.values())

    def nodes(self) -> Sequence[Body]:
        """Return the nodes that the part owns, the same objects every time."""
        return ()

    def _completed(self) -> None:
        for node in self.nodes():
            if node is not self:
                node._set(owner=self)

    def elements(self) -> Sequence[Element]:
        """Return the rows and forces that the part owns."""
        return ()

    @property
    def coordinates(self) -> Mapping[str, Coordinate]:
        """The coordinates that it leaves free, by name."""
        return {}

    @property
    def line(self) -> Line | None:
        """The sections along it, if it is a beam."""
        return None

    def agrees_with(self, other: Any) -> bool:
        """Tell whether another part has the same elements; laws are not compared."""
        return _numbers(self.elements()) == _numbers(other.elements())

    def __repr__(self) -> str:
        on = self.coordinate or (self.body and self.body.name)
        return f"{type(self).__name__}({self.name!r}{f', {on!r}' if on else ''})"


def listed(part: Part) -> str:
    """Return the text of a part with the bodies of its ends."""
    return f"{type(part).__name__}({part.name!r}, {[x.name for x in part.ends]})"


def _numbers(elements: Iterable[Element]) -> list[Any]:
    """Return what elements are made of, without their laws."""
    return [
        (
            x.kind,
            [(end.place, tuple(end.weights)) for end in x.attachments],
            *map(tuple, (x.numbers, x.memory, x.rows)),
        )
        for x in elements
    ]


class Frame(Recorded):
    """An origin and three axes fixed to a body; what joints join.

    Parameters
    ----------
    body : RigidBody, PointMass or Ground
    position : (3,) array [m]
        Origin in the axes of the body.
    axes : (3, 3) array [-]
        Columns are the axes in the axes of the body; the third one is the axis of a joint.
    face : int
        Of a body that shows several faces the one that carries the frame; position and axes are
        in the axes of that face.
    """

    __slots__ = ("axes", "body", "face", "position")

    def __init__(
        self, body: Any, position: Any = (0.0, 0.0, 0.0), axes: Any = None, face: int = 0
    ) -> None:
        if not isinstance(body, Body):
            raise TypeError(f"Frame: body must be a body or system.ground, got {shown(body)}")
        self.body = body
        self.face = whole(f"frame of {body.name!r}", "face", face, 0)
        if face >= body.formulation.n_shown:
            raise ValueError(
                f"frame of {body.name!r}: face must be below {body.formulation.n_shown}, the "
                f"number of faces that {body.formulation.name!r} shows, got {face}"
            )
        self.position = vector(f"frame of {body.name!r}", "position", position, "m")
        self.axes = rotation_matrix(f"frame of {body.name!r}", "axes", axes)

    @classmethod
    def _of(cls, body: Body, position: np.ndarray, axes: np.ndarray) -> Frame:
        """Return a frame whose numbers need no check: joints make two each."""
        frame, call = cls.__new__(cls), Call(cls, (body, *read_only((position, axes))), {})
        facts = {"body": body, "position": position, "axes": axes, "face": 0, "call": call}
        for name, value in {**facts, "complete": True}.items():
            object.__setattr__(frame, name, value)
        return frame

    @property
    def name(self) -> str:
        """Name of the body."""
        return str(self.body.name)

    def point(self) -> tuple[float, float, float, float]:
        """Return the weights of the origin."""
        return (1.0, *self.position.tolist())

    def direction(self, i: int) -> tuple[float, float, float, float]:
        """Return the weights of axis i."""
        return (0.0, *self.axes[:, i].tolist())

    @property
    def place(self) -> str:
        """Name of the face."""
        return face_name(self.name, self.face)

    def end(self, axis: int | None = None) -> Attachment:
        """Return the attachment of the origin, or of an axis."""
        weights = self.point() if axis is None else self.direction(axis)
        return Attachment(self.body.name, weights, self.face)

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Origin (3,) [m] and axes (3, 3) at the initial pose, inertial."""
        position, rotation = self.body.face_pose(self.face)
        return read_only((position + rotation @ self.position, rotation @ self.axes))

    def __repr__(self) -> str:
        return f"Frame({self.place!r}, position={self.position.tolist()})"


_NO_NUMBERS = ("name", "formulation", "shapes", "collision", "face_names")  # of a body


@dataclass(frozen=True, eq=False, init=False)
class Body(Part):
    """A node: coordinates, mass properties and an initial state; base of all bodies.

    ``center_of_mass`` and ``second_moments`` E = integral of rho rho^T dm are about the origin of
    the body frame in its axes; velocities are inertial.
    """

    drawer: ClassVar[str] = "bodies"
    moves: ClassVar[bool] = True

    name: str
    formulation: Formulation
    mass: float
    center_of_mass: np.ndarray
    second_moments: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    shapes: tuple[Shape, ...]
    collision: tuple[Shape, ...] | None = None  # None: its shapes are what touches
    nodal: ClassVar[NodalShapes | None] = None
    skin: ClassVar[Skin | None] = None
    face_names: tuple[str, ...] = ()

    def nodes(self) -> tuple[Body, ...]:
        """Return the body itself."""
        return (self,)

    @property
    def mass_matrix(self) -> np.ndarray:
        """The matrix W of the kinetic energy of all k faces, (4 k, 4 k) [kg, kg m, kg m^2]."""
        facts = self.mass, self.center_of_mass, self.second_moments
        return read_only((self.formulation.mass_matrix or mass_matrix)(*facts))

    @property
    def inertia(self) -> np.ndarray:
        """The inertia tensor about the centre of mass, in body axes (3, 3) [kg m^2]."""
        c = self.center_of_mass
        E = self.second_moments - self.mass * np.outer(c, c)
        return read_only(np.trace(E) * np.eye(3) - E)

    def agrees_with(self, other: Any) -> bool:
        """Tell whether another body has the same mass properties and initial state."""
        numbers = (x.name for x in fields(Body) if x.name not in _NO_NUMBERS)
        return all(np.array_equal(getattr(self, x), getattr(other, x)) for x in numbers)

    def frame(self, position: Any = (0.0, 0.0, 0.0), axes: Any = None, face: int = 0) -> Frame:
        """Return a frame fixed to a face of the body, position [m] and axes in its axes."""
        return Frame(self, position, axes, face)

    def face_pose(self, face: int) -> tuple[np.ndarray, np.ndarray]:
        """Return origin (3,) [m] and rotation (3, 3) of a face at the initial pose."""
        if face == 0:
            return self.position, self.rotation
        assert self.formulation.faces is not None
        y = self.formulation.faces(self.q_and_v(self.position)[0])[face]
        return y[0], y[1:].T

    def placed_frame(self, point: np.ndarray, axes: np.ndarray) -> Frame:
        """Return the frame that has the given inertial origin and axes at the initial pose."""
        to_body = self.rotation.T
        return Frame._of(self, to_body @ (point - self.position), to_body @ axes)

    def q_and_v(
        self,
        position: np.ndarray,
        rotation: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        omega: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v of the body at a position; what else is not given is as described."""
        initial = self.formulation.initial
        motion = (
            position,
            self.rotation if rotation is None else rotation,
            self.velocity if velocity is None else velocity,
            self.angular_velocity if omega is None else omega,
        )
        if not self.formulation.sized:
            return initial(*motion)
        return initial(*motion, one(sqrt(np.trace(self.second_moments) / self.mass)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return the call of the body, or that of the part that owns it."""
        if self.owner is None:
            return super().__reduce_ex__(protocol)
        return _node, (self.owner, self.name)

    def _set(self, **values: Any) -> None:
        vars(self).update(read_only(values))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, mass={self.mass:g})"


def _node(owner: Part, name: str) -> Body:
    """Return a node of a part by name."""
    return next(x for x in owner.nodes() if x.name == name)
