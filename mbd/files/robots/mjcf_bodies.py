"""Reading of MJCF into the description of a robot: bodies, their joints, inertia, sites.

Several joints of a body are a chain of links, with frames that agree where all are at their
reference values; those between have no mass.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import absent
from mbd.files.robots.description import (
    Lift,
    Limits,
    Link,
    LinkFrame,
    Origin,
    Plane,
    RobotDescription,
    RobotJoint,
    Visual,
)
from mbd.files.robots.lumping import with_all
from mbd.files.robots.mjcf_geoms import Geom, Geoms
from mbd.files.robots.mjcf_source import MjcfSource
from mbd.files.robots.xml_tree import Node, Notes

_TYPES = {"hinge": "revolute", "slide": "prismatic", "ball": "ball", "free": "floating"}
_REFUSED = ("composite", "flexcomp", "replicate", "attach")  # they make bodies
_FLAGS = (
    "contact",
    "gravity",
    "equality",
    "limit",
    "frictionloss",
    "actuation",
    "spring",
    "damper",
)
_SHOWN_GROUPS = 2  # groups of geoms up to this one are shown by default
_AUTO, _SWITCH = ("false", "true", "auto"), ("false", "true")


class _BodyElement(NamedTuple):
    """An element of a body: the frame of it that it is in, and its class."""

    node: Node
    frame: Origin
    childclass: str


@dataclass(frozen=True)
class Moving:
    """A joint in the order of the file: its name, what it is, its reference value.

    Of what is free also where the body is without motion, inertial.
    """

    name: str
    type: str
    zero: float
    seat: Origin


class Bodies:
    """Bodies read so far; names of the file and what they are called here."""

    def __init__(self, source: MjcfSource, notes: Notes, name: str) -> None:
        self.source, self.notes = source, notes
        self.geoms = Geoms(source, notes)
        self.robot = RobotDescription(name, {}, [], notes, root="world")
        self.names: dict[str, dict[str, str]] = {"body": {"world": "world"}}
        self.reference: dict[str, Origin] = {}  # poses, inertial
        self.moving: list[Moving] = []
        self.moved: set[str] = set()  # names of bodies that move
        flags = [x for option in source.sections("option") for x in option.all("flag")]
        self.off = {key for x in flags for key in _FLAGS
                    if x.choice(key, ("enable", "disable"), "enable") == "disable"}  # fmt: skip
        c = source.compiler
        self.from_geoms = c.choice("inertiafromgeom", _AUTO, "auto")
        self.groups = c.numbers("inertiagrouprange", (0.0, 5.0), 2)
        self.least = c.number("boundmass", 0.0), c.number("boundinertia", 0.0)
        self.balance = c.choice("balanceinertia", _SWITCH, "false") == "true"
        world: list[_BodyElement] = []
        for node in source.sections("worldbody"):
            world += self._flat(node, Origin(), node.text("childclass", ""))
        self._link("world", Origin(), world, weighs=False)
        total = c.number("settotalmass", -1.0)
        masses = sum(x.mass for x in self.robot.links.values())
        if total > 0.0 and masses > 0.0:
            k = total / masses
            for key, x in self.robot.links.items():
                self.robot.links[key] = replace(x, mass=k * x.mass, inertia=k * x.inertia)

    def named(self, node: Node, tag: str, default: str) -> str:
        """Return what an element is called, without characters that names cannot have."""
        own = node.text("name", "")
        name = re.sub(r"[/\\\x00-\x1f]", "_", own) or default
        taken = self.names.setdefault(tag, {})
        if own and own in taken:
            raise node.error(f"{tag} {own!r} is there twice; names must differ")
        used = {*taken.values(), *({"ground"} if tag == "body" else ())}
        if name in used:
            name = next(x for i in range(2, len(used) + 3) if (x := f"{name} {i}") not in used)
        if own and name != own:
            self.notes.add(f"{tag} {own!r} is called {name!r}", node)
        taken[own or f"\n{name}"] = name
        return name

    def called(self, node: Node, key: str, tag: str) -> str:
        """Return what is called here as an attribute says."""
        target, there = node.text(key), self.names.get(tag, {})
        if target not in there:
            raise node.error(absent(f"{tag} ", target, there))
        return there[target]

    def _flat(self, node: Node, frame: Origin, childclass: str) -> Iterator[_BodyElement]:
        """Yield what is in a body, also in frames of it."""
        for child in node.children:
            if child.tag in _REFUSED:
                raise child.called(f"<{child.tag}>").error(
                    "makes bodies and is not read; write them out, or save the model compiled"
                )
            if child.tag == "frame":
                child.called("frame")
                inner = child.text("childclass", childclass)
                yield from self._flat(child, frame @ self.source.origin(child), inner)
            else:
                yield _BodyElement(child, frame, childclass)

    def _body(self, part: _BodyElement, parent: str) -> None:
        """Read a body, its joints, and all that it carries."""
        node = part.node.called("body")
        name = self.named(node, "body", f"body {len(self.names['body'])}")
        node.called(f"body {name!r}")
        inside = list(self._flat(node, Origin(), node.text("childclass", part.childclass)))
        origin = part.frame @ self.source.origin(node)
        if node.choice("mocap", _SWITCH, "false") == "true":
            self.notes.add(f"body {name!r}: stays where it is (mocap)", node)
        joints = [self._joint(x, name) for x in inside if x.node.tag in ("joint", "freejoint")]
        if not joints:
            joints = [RobotJoint(f"{name} weld", "fixed")]
        if parent in self.moved or any(x.type != "fixed" for x in joints):
            self.moved.add(name)
        seat = self.reference[parent] @ origin
        at, carrier = origin, parent
        for i, joint in enumerate(joints):
            last = i == len(joints) - 1
            child = name if last else f"{name} after {joint.name}"
            if joint.type == "floating" and (len(joints) > 1 or parent != "world"):
                raise node.error("what is free must be in the world and have no other joint")
            self.robot.joints.append(replace(joint, parent=carrier, child=child, origin=at))
            if joint.type != "fixed":
                self.moving.append(Moving(joint.name, joint.type, joint.zero, seat))
            if not last:
                self.robot.links[child] = Link(child)
                self.robot.between.add(child)
            at, carrier = Origin(), child
        there = any(x.node.tag == "inertial" for x in inside)
        weighs = self.from_geoms == "true" or (self.from_geoms == "auto" and not there)
        self._link(name, seat, inside, weighs=weighs)
        link = self.robot.links[name]
        share = node.number("gravcomp", 0.0)
        if share and link.mass:
            place = LinkFrame(name, Origin(link.center_of_mass))
            self.robot.lifts.append(Lift(name, place, share * link.mass))

    def _link(self, name: str, seat: Origin, inside: list[_BodyElement], *, weighs: bool) -> None:
        """Read what is fixed to a body, then what it carries."""
        self.reference[name] = seat
        link, geoms = Link(name), list[Geom]()
        for node, frame, childclass in inside:
            if node.tag == "geom":
                geom = self.geoms.read(node, childclass, frame, name, weighs=weighs)
                if geom is not None and geom.shape.type == "plane":
                    self._plane(node, geom.shape, name)
                elif geom is not None:
                    geoms.append(geom)
            elif node.tag == "site":
                self._site(self.source.merged(node, childclass), name, frame)
            elif node.tag == "inertial" and not weighs:
                link = self._inertial(node, link)
        if weighs:
            low, high = self.groups
            link = with_all(
                link, [(x.mass, x.center, x.inertia) for x in geoms if low <= x.group <= high]
            )
        self.robot.links[name] = replace(
            self._bounded(link),
            visuals=tuple(x.shape for x in geoms if x.group <= _SHOWN_GROUPS),
            collisions=tuple(x.shape for x in geoms if x.shape.touch is not None),
        )
        for part in inside:
            if part.node.tag == "body":
                self._body(part, name)

    def _plane(self, node: Node, shape: Visual, body: str) -> None:
        """Keep a plane that others may touch; it must stay where it is."""
        name = self.named(node, "geom", f"plane {len(self.robot.planes) + 1}")
        if body in self.moved:
            raise node.error(
                f"is a plane of body {body!r}, which moves; only what stays may be one"
            )
        if shape.touch is not None:
            self.robot.planes.append(Plane(name, LinkFrame(body, shape.origin), shape.touch))

    def _bounded(self, link: Link) -> Link:
        """Return a link with the least mass and inertia that the file wants, and as it balances."""
        if link.name == "world" or not (link.mass or any(self.least)):
            return link
        moments, axes = np.linalg.eigh(link.inertia)
        changed = np.maximum(moments, self.least[1])
        if self.balance and 2 * changed.max() > changed.sum():
            changed = np.full(3, changed.mean())
        J = link.inertia if np.array_equal(changed, moments) else axes @ np.diag(changed) @ axes.T
        return replace(link, mass=max(link.mass, self.least[0]), inertia=J)

    def _inertial(self, raw: Node, link: Link) -> Link:
        node = raw.called(f"body {link.name!r}, inertial")
        m, at = node.number("mass"), self.source.origin(node)
        if "fullinertia" in node.attributes:
            return link.with_inertia(m, at, node.numbers("fullinertia", None, 6))
        return link.with_inertia(m, at, node.numbers("diaginertia", (0.0, 0.0, 0.0), 3))

    def _site(self, node: Node, link: str, frame: Origin) -> None:
        name = self.named(node, "site", f"site {len(self.robot.frames) + 1}")
        node.called(f"site {name!r}")
        long = "fromto" in node.attributes
        at = self.source.between(node)[0] if long else self.source.origin(node)
        self.robot.frames[name] = LinkFrame(link, frame @ at)

    def _joint(self, part: _BodyElement, body: str) -> RobotJoint:
        """Return a joint of a body; where it is between is said later."""
        raw = part.node
        node = self.source.merged(raw, part.childclass) if raw.tag == "joint" else raw
        free = raw.tag == "freejoint"
        joint_type = "free" if free else node.called("joint").choice("type", tuple(_TYPES), "hinge")
        name = self.named(node, "joint", f"{body} {joint_type}")
        node.called(f"joint {name!r}")
        anchor = (part.frame @ Origin(np.array(node.numbers("pos", (0.0,) * 3, 3)))).position
        axis = np.array(node.numbers("axis", (0.0, 0.0, 1.0), 3))
        if not axis.any():
            raise node.error(f"axis must have a direction, got {axis.tolist()}")
        if joint_type == "free":
            node.read |= {"pos", "axis", "range", "limited"}  # of no effect
            return RobotJoint(name, "floating", **self._acting(node, 1.0))
        to_si = self.source.angle(1.0) if joint_type == "hinge" else 1.0
        limits = Limits() if joint_type == "ball" else self._limits(node, to_si)
        axis = part.frame.rotation @ axis / np.linalg.norm(axis)
        return RobotJoint(
            name, _TYPES[joint_type], axis=axis, anchor=anchor,
            zero=to_si * node.number("ref", 0.0), limits=limits, **self._acting(node, to_si),
        )  # fmt: skip

    def _acting(self, node: Node, to_si: float) -> dict[str, Any]:
        """Return springs, dampers, friction and armature of a joint."""
        values = {
            "stiffness": 0.0 if "spring" in self.off else node.number("stiffness", 0.0),
            "damping": 0.0 if "damper" in self.off else node.number("damping", 0.0),
            "friction": 0.0 if "frictionloss" in self.off else node.number("frictionloss", 0.0),
            "armature": node.number("armature", 0.0),
            "reference": to_si * node.number("springref", 0.0),
        }
        for what in ("damping", "friction", "armature"):
            if values[what] < 0.0:
                raise node.error(f"{what} must not be negative, got {values[what]:g}")
        return values

    def _limits(self, node: Node, to_si: float) -> Limits:
        low, high = limited(node, "range", "limited", self.source.autolimits)
        _, effort = limited(node, "actuatorfrcrange", "actuatorfrclimited", self.source.autolimits)
        if "limit" in self.off or low is None or high is None:
            return Limits(effort=effort)
        return Limits(to_si * low, to_si * high, effort)


def limited(
    node: Node, key: str, switch: str, automatic: bool
) -> tuple[float | None, float | None]:
    """Return a range, which counts where the element says so, or says a range."""
    low, high = node.numbers(key, (0.0, 0.0), 2)
    how = node.choice(switch, _AUTO, "auto" if automatic else "false")
    counts = how == "true" or (how == "auto" and key in node.attributes)
    return (low, high) if counts else (None, None)
