"""Description of a robot, as URDF has it, in plain data; what is not used is in ``notes``.

Units are those of the format, SI and radians; rpy are turns about the fixed x, y, z axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import shown

__all__ = ["Description", "Joint", "Link", "Mimic", "Origin", "Visual", "parse"]

_OF_OTHERS = ("gazebo", "transmission", "sensor", "ros2_control", "mujoco")  # noted
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


@dataclass(frozen=True)
class Origin:
    """A frame in another one."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, other: Origin) -> Origin:
        p = self.position + self.rotation @ other.position
        return Origin(p, self.rotation @ other.rotation)


@dataclass(frozen=True)
class Visual:
    """A shape: "box", "cylinder", "sphere" or "mesh", and its attributes."""

    kind: str
    origin: Origin
    numbers: tuple[float, ...] = ()
    file: str = ""
    color: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Link:
    """A body; without mass it is a frame. Inertia about the centre of mass in the link's axes."""

    name: str
    mass: float = 0.0
    center_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[Visual, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """A coordinate that follows another one: factor times it, plus offset."""

    joint: str
    factor: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """A joint; ``origin`` is the frame of the child in the parent where its coordinate is zero."""

    name: str
    type: str
    parent: str
    child: str
    origin: Origin
    axis: np.ndarray
    damping: float = 0.0
    limits: tuple[float, float] | None = None
    mimic: Mimic | None = None


@dataclass
class Description:
    """A robot: its tree of links and joints, and notes of what is not used."""

    name: str
    links: dict[str, Link]
    joints: list[Joint]
    notes: list[str]
    unknown: list[str]
    root: str = ""


class _Reading:
    """What of the file was read: the attributes of each element; and what is said of others.

    What is neither read nor spoken of is noted in the end, so that nothing vanishes.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.attributes: dict[ET.Element, set[str]] = {}
        self.spoken_of: set[ET.Element] = set()

    def left(self, node: ET.Element, who: str) -> Iterator[str]:
        """Return notes of all below an element that was not read."""
        for child in node:
            if not isinstance(child.tag, str) or child in self.spoken_of:
                continue  # a comment
            name = f" {child.get('name')!r}" if child.get("name") else ""
            if child not in self.attributes:
                yield f"{who}: <{child.tag}>{name} is not used"
                continue
            inside = f"{child.tag}{name}" if who == "robot" else f"{who}, {child.tag}"
            for key in child.attrib:
                if key not in self.attributes[child]:
                    yield f"{inside}: the attribute {key!r} is not used"
            yield from self.left(child, inside)


class _Element:
    """An element of the file and how errors call it."""

    def __init__(self, node: ET.Element, who: str, reading: _Reading) -> None:
        self.node, self.who, self.reading = node, who, reading
        self.attributes = reading.attributes.setdefault(node, {"name"})

    def one(self, tag: str) -> _Element | None:
        node = self.node.find(tag)
        return None if node is None else _Element(node, f"{self.who}, {tag}", self.reading)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.node.get(key, default)
        self.attributes.add(key)
        if value is None:
            raise ValueError(f"{self.who}: the attribute {key!r} is missing")
        return value

    def numbers(self, key: str, default: tuple[float, ...] | None, size: int) -> tuple[float, ...]:
        value = self.node.get(key)
        self.attributes.add(key)
        if value is None and default is not None:
            return default
        try:
            values = tuple(float(x) for x in self.text(key).split())
        except ValueError as error:
            if value is None:
                raise
            raise ValueError(f"{self.who}: {key} must be numbers, got {shown(value)}") from error
        if len(values) != size or not all(map(math.isfinite, values)):
            raise ValueError(f"{self.who}: {key} must be {size} finite numbers, got {shown(value)}")
        return values

    def origin(self) -> Origin:
        at = self.one("origin")
        if at is None:
            return Origin()
        turn = Rotation.from_euler("xyz", at.numbers("rpy", (0, 0, 0), 3)).as_matrix()
        return Origin(np.array(at.numbers("xyz", (0, 0, 0), 3)), turn)

    def note_unknown(self, tags: Iterable[str]) -> None:
        """Note the tags that are not among these."""
        for child in self.node:
            if isinstance(child.tag, str) and child.tag not in (*tags, *_OF_OTHERS):
                self.reading.unknown.append(f"unknown tag <{child.tag}> in {self.who}")
                self.reading.spoken_of.add(child)


def parse(path: Path) -> Description:
    """Return what a file says."""
    try:
        robot = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise ValueError(f"is no XML: {error}") from None
    tags = {x.tag for x in robot.iter() if isinstance(x.tag, str)}
    if any("xacro" in x for x in tags):
        raise ValueError("is a xacro file; expand it first: xacro FILE > robot.urdf")
    if robot.tag != "robot":
        raise ValueError(f"must have <robot> at the top, got <{robot.tag}>; is it a URDF file?")
    notes: list[str] = []
    reading = _Reading()
    top = _Element(robot, "robot", reading)
    top.note_unknown(("link", "joint", "material"))
    colors = {m.get("name", ""): _color(_Element(m, "material", reading)) for m in
              robot.findall("material")}  # fmt: skip
    links = _by_name([_link(x, colors, notes, reading) for x in robot.findall("link")], "link")
    joints = list(
        _by_name([_joint(x, notes, reading) for x in robot.findall("joint")], "joint").values()
    )
    notes.extend(reading.left(robot, "robot"))
    description = Description(robot.get("name", ""), links, joints, notes, reading.unknown)
    description.root = _root(description)
    return description


def _by_name(items: list[Any], what: str) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for item in items:
        if item.name in by_name:
            raise ValueError(f"{what} {item.name!r} is there twice; names must differ")
        by_name[item.name] = item
    return by_name


def _link(node: ET.Element, colors: Any, notes: list[str], reading: _Reading) -> Link:
    this = _Element(node, f"link {node.get('name')!r}", reading)
    name = this.text("name")
    this.note_unknown(("inertial", "visual", "collision"))
    visuals = [_visual(_Element(x, f"{this.who}, visual", reading), colors) for x in
               node.findall("visual")]  # fmt: skip
    if node.find("collision") is not None:
        notes.append(f"{this.who}: collision geometry is not used")
        reading.spoken_of.update(node.findall("collision"))
    inertial = this.one("inertial")
    if inertial is None:
        return Link(name, visuals=tuple(visuals))
    inertial.note_unknown(("origin", "mass", "inertia"))
    mass, J = inertial.one("mass"), inertial.one("inertia")
    if mass is None:
        raise ValueError(f"{inertial.who}: <mass> is missing; give it, or leave out <inertial>")
    (m,) = mass.numbers("value", None, 1)
    if m == 0 and J is None:
        return Link(name, visuals=tuple(visuals))
    if J is None:
        raise ValueError(
            f"{inertial.who}: <inertia> is missing; give ixx, ixy, ixz, iyy, iyz, izz [kg m^2]"
        )
    xx, xy, xz, yy, yz, zz = (
        J.numbers(key, (0.0,) if key in ("ixy", "ixz", "iyz") else None, 1)[0]
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    at = inertial.origin()
    inertia = at.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.rotation.T
    return Link(name, m, at.position, inertia, tuple(visuals))


def _color(material: _Element) -> tuple[float, ...] | None:
    color = material.one("color")
    return None if color is None else color.numbers("rgba", None, 4)[:3]  # the fourth: opacity


def _visual(this: _Element, colors: dict[str, Any]) -> Visual:
    this.note_unknown(("origin", "geometry", "material"))
    material, geometry = this.one("material"), this.one("geometry")
    color = None
    if material is not None:
        color = _color(material) or colors.get(material.node.get("name", ""))
    shapes = [] if geometry is None else list(geometry.node)
    if geometry is None or len(shapes) != 1:
        raise ValueError(f"{this.who}: must have one shape in <geometry>, got {len(shapes)}")
    shape = _Element(shapes[0], f"{this.who}, {shapes[0].tag}", this.reading)
    at, kind = this.origin(), str(shapes[0].tag)
    if kind == "mesh":
        scale = shape.numbers("scale", (1.0, 1.0, 1.0), 3)
        return Visual(kind, at, scale, shape.text("filename"), color)
    keys = {"box": (("size", 3),), "sphere": (("radius", 1),),
            "cylinder": (("radius", 1), ("length", 1)), "capsule": (("radius", 1), ("length", 1)),
            }.get(kind)  # fmt: skip
    if keys is None:
        geometry.note_unknown(("box", "sphere", "cylinder", "capsule", "mesh"))
        return Visual("none", at)
    numbers = [x for key, n in keys for x in shape.numbers(key, None, n)]
    return Visual(kind, at, tuple(numbers), color=color)


def _joint(node: ET.Element, notes: list[str], reading: _Reading) -> Joint:
    this = _Element(node, f"joint {node.get('name')!r}", reading)
    name, kind = this.text("name"), this.text("type")
    this.note_unknown(("origin", "parent", "child", "axis", "limit", "dynamics", "mimic",
                "calibration", "safety_controller"))  # fmt: skip
    if kind not in TYPES:
        raise ValueError(f"{this.who}: type must be one of {', '.join(TYPES)}, got {shown(kind)}")
    parent, child = (_end(this, tag) for tag in ("parent", "child"))
    at = this.one("axis")
    axis = np.array((1.0, 0.0, 0.0) if at is None else at.numbers("xyz", None, 3))
    if kind in ("fixed", "floating"):  # which many programs write with an axis of zeros
        axis = np.array((1.0, 0.0, 0.0))
    if not axis.any():
        raise ValueError(f"{this.who}: axis must have a direction, got {axis.tolist()}")
    damping, limits = 0.0, None
    dynamics, limit, mimic = this.one("dynamics"), this.one("limit"), this.one("mimic")
    if dynamics is not None:
        (damping,) = dynamics.numbers("damping", (0.0,), 1)
        if dynamics.numbers("friction", (0.0,), 1)[0]:
            notes.append(f"{this.who}: dry friction is not used")
    if limit is not None:
        if kind in ("revolute", "prismatic"):
            (low,), (high,) = limit.numbers("lower", (0.0,), 1), limit.numbers("upper", (0.0,), 1)
            limits = (low, high)
        attributes = " ".join(f"{key}={value}" for key, value in limit.node.items())
        notes.append(f"{this.who}: its limits are not used ({attributes})")
        limit.attributes.update(limit.node.keys())
    notes.extend(
        f"{this.who}: <{tag}> is not used"
        for tag in ("calibration", "safety_controller")
        if node.find(tag) is not None
    )
    reading.spoken_of.update(x for x in node if x.tag in ("calibration", "safety_controller"))
    source = None
    if mimic is not None:
        (factor,), (offset,) = (
            mimic.numbers(key, (x,), 1) for key, x in (("multiplier", 1.0), ("offset", 0.0))
        )
        source = Mimic(mimic.text("joint"), factor, offset)
        if kind == "fixed":
            notes.append(f"{this.who}: <mimic> is not used, the joint is fixed")
            source = None
    return Joint(name, kind, parent, child, this.origin(), axis, damping, limits, source)


def _end(joint: _Element, tag: str) -> str:
    end = joint.one(tag)
    if end is None:
        raise ValueError(f"{joint.who}: <{tag}> is missing; give <{tag} link=...>")
    return end.text("link")


def _root(robot: Description) -> str:
    """Return the one link that is no child; check that the rest is a tree."""
    if not robot.links:
        raise ValueError("has no <link>")
    parents: dict[str, str] = {}
    for joint in robot.joints:
        for link in (joint.parent, joint.child):
            if link not in robot.links:
                raise ValueError(
                    f"joint {joint.name!r}: there is no link {link!r}; there are "
                    f"{', '.join(robot.links)}"
                )
        if joint.child in parents:
            raise ValueError(
                f"link {joint.child!r} is the child of two joints; URDF is a tree, leave one out "
                "and add it to the system after reading"
            )
        parents[joint.child] = joint.parent
    roots = [name for name in robot.links if name not in parents]
    if len(roots) != 1:
        names = ", ".join(map(repr, roots)) or "none: the joints form a ring"
        raise ValueError(
            f"must have one link that is no child of a joint, got {names}; join the others to it, "
            "for example by a floating joint"
        )
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    tree = roots[:]
    for name in tree:  # which grows meanwhile
        tree += children.get(name, ())
    reached = set(tree)
    detached = [name for name in parents if name not in reached]
    if detached:
        raise ValueError(
            f"the joints of the links {', '.join(map(repr, detached))} form a ring that does not "
            f"hang on {roots[0]!r}; let one of them be the child of a link of the tree"
        )
    return roots[0]
