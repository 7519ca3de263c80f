"""Description of a robot in plain data, as URDF and MJCF have it; what is not used is in ``notes``.

Units are SI and radians.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mbd.files.robots.xml_tree import Notes

JOINTS = {"revolute": 1, "continuous": 1, "prismatic": 1, "fixed": 0, "planar": 3, "floating": 6,
          "ball": 3}  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """A frame in another one."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, other: Origin) -> Origin:
        p = self.position + self.rotation @ other.position
        return Origin(p, self.rotation @ other.rotation)

    @property
    def inverse(self) -> Origin:
        """The other frame in this one."""
        return Origin(-self.rotation.T @ self.position, self.rotation.T)


@dataclass(frozen=True)
class Touch:
    """Contact of a geom of MJCF with others: of which body, with which friction, by which bits.

    Of two the friction of the one with the higher priority counts, of equal ones the larger.
    """

    body: str
    friction: float
    contype: int = 1
    conaffinity: int = 1
    condim: int = 3
    priority: int = 0


@dataclass(frozen=True)
class Visual:
    """A shape: "box", "cylinder", "capsule", "sphere" or "mesh", and its numbers.

    Those of a mesh are its scales. Lengths are whole ones.
    """

    type: str
    origin: Origin
    numbers: tuple[float, ...] = ()
    file: str = ""
    color: tuple[float, ...] | None = None
    touch: Touch | None = None


@dataclass(frozen=True)
class Link:
    """A body; without mass it is a frame. Inertia about the centre of mass in the link's axes."""

    name: str
    mass: float = 0.0
    center_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[Visual, ...] = ()
    collisions: tuple[Visual, ...] = ()

    def with_inertia(self, mass: float, at: Origin, moments: tuple[float, ...]) -> Link:
        """Return the link with a mass at a frame, of moments xx, yy, zz, or also xy, xz, yz."""
        xx, yy, zz, xy, xz, yz = moments if len(moments) == 6 else (*moments, 0.0, 0.0, 0.0)
        J = at.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.rotation.T
        return replace(self, mass=mass, center_of_mass=at.position, inertia=J)


@dataclass(frozen=True)
class Mimic:
    """A coordinate that follows another one: factor times it, plus offset."""

    joint: str
    factor: float
    offset: float


class Limits(NamedTuple):
    """Limits of a joint: range [rad or m], effort [N m or N] and rate; None: no limit."""

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None


@dataclass(frozen=True)
class RobotJoint:
    """A joint; ``origin`` is the frame of the child in the parent where its coordinate is ``zero``.

    It is at the point ``anchor`` of the child. ``motion`` and ``twist`` (velocity of the origin in
    the axes of the parent, angular velocity in those of the child) are the start of a ball, or of
    what floats.
    """

    name: str
    type: str
    parent: str = ""
    child: str = ""
    origin: Origin = field(default_factory=Origin)
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    zero: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    reference: float = 0.0
    armature: float = 0.0
    limits: Limits = field(default_factory=Limits)
    mimic: Mimic | None = None
    motion: Origin = field(default_factory=Origin)
    twist: tuple[np.ndarray, np.ndarray] = field(default_factory=lambda: (np.zeros(3), np.zeros(3)))


@dataclass
class LinkFrame:
    """A frame of a link, which stays where it is when links become one."""

    link: str
    origin: Origin


@dataclass(frozen=True)
class Closure:
    """Joint of two places outside the tree: "ball" or "fixed"."""

    name: str
    type: str
    first: LinkFrame
    second: LinkFrame


@dataclass(frozen=True)
class Tie:
    """A linear combination of coordinates that is constant."""

    name: str
    joints: tuple[str, ...]
    factors: tuple[float, ...]
    value: float


@dataclass(frozen=True)
class Lift:
    """Support of a part of a weight: a mass [kg] without weight at a place."""

    name: str
    place: LinkFrame
    mass: float


@dataclass(frozen=True)
class Plane:
    """A plane without bounds, the third axis of a frame its normal."""

    name: str
    place: LinkFrame
    touch: Touch


@dataclass(frozen=True)
class Effort:
    """An actuator at the coordinate u of a joint: effort - stiffness (u - u0) - damping du/dt."""

    name: str
    joint: str
    effort: float
    stiffness: float = 0.0
    damping: float = 0.0
    reference: float = 0.0


@dataclass
class RobotDescription:
    """A robot: its tree of links and joints, what acts besides, and notes of what is not used."""

    name: str
    links: dict[str, Link]
    joints: list[RobotJoint]
    notes: Notes
    unknown: list[str] = field(default_factory=list)
    root: str = ""
    frames: dict[str, LinkFrame] = field(default_factory=dict)
    closures: list[Closure] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    efforts: list[Effort] = field(default_factory=list)
    lifts: list[Lift] = field(default_factory=list)
    planes: list[Plane] = field(default_factory=list)
    excluded: set[frozenset[str]] = field(default_factory=set)  # pairs of bodies that do not touch
    between: set[str] = field(default_factory=set)  # links without mass inside of several joints

    def places(self) -> list[LinkFrame]:
        """Return all places on links."""
        ends = [place for x in self.closures for place in (x.first, x.second)]
        here = [x.place for x in self.lifts] + [x.place for x in self.planes]
        return [*self.frames.values(), *ends, *here]
