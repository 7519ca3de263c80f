"""Systems from URDF files.

Units are those of the format, SI and radians; rpy are turns about the fixed x, y, z axes.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import absent, flag, one_of
from mbd.base.door import rotation_matrix, vector
from mbd.files.modelfile import ModelFile
from mbd.files.robots import description
from mbd.files.robots.lumping import settle_root
from mbd.files.robots.options import RobotOptions, reader
from mbd.files.robots.robot import built
from mbd.files.robots.xacro import expanded
from mbd.files.robots.xml_tree import Node, Notes, by_name, parsed, unread

_OF_OTHERS = ("gazebo", "transmission", "sensor", "ros2_control", "mujoco")  # noted
_TYPES = tuple(x for x in description.JOINTS if x != "ball")
_BAR = (("radius", 1), ("length", 1))
_SHAPES = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": _BAR, "capsule": _BAR}


@reader("actuators", "loops")
def read_urdf(
    path: Path, *, base: str = "fixed", position: Any = (0.0, 0.0, 0.0), rotation: Any = None,
    xacro: bool = False, **options: Any,
) -> ModelFile:  # fmt: skip
    """Read a URDF file; ``mbd.read`` calls it for ``.urdf`` and ``.xacro``.

    Parameters
    ----------
    path : Path
    base : {"fixed", "floating"}
        Whether the root link is the ground or a free body.
    position, rotation : (3,) array [m], scipy Rotation or (3, 3) array
        Of the root link.
    xacro : bool
        Whether a xacro file is expanded, by the package ``xacro`` with the arguments that the file
        has by default. Such a file is a program: trust it, or do not.
    **options
        Those of :class:`~mbd.files.robots.options.RobotOptions`.
    """
    how = RobotOptions(**{"gravity": (0.0, 0.0, -9.81), **options})
    floating = one_of("read", "base", base, ("fixed", "floating")) == "floating"
    start = description.Origin(
        vector("base", "position", position, "m"), rotation_matrix("base", "rotation", rotation)
    )
    robot = _parsed(path, flag("read", "xacro", xacro))
    if floating:
        start = start @ settle_root(robot)
    return built(robot, path, how, {"t_end": 2.0, "step": 1e-3}, start, floating=floating)


def _parsed(path: Path, xacro: bool) -> description.RobotDescription:
    """Return what a file says; a xacro file is expanded if that is asked for."""
    top = parsed(path.read_bytes())
    if path.suffix == ".xacro" or _is_xacro(top):
        if not xacro:
            raise ValueError(
                "is a xacro file, which is a program: it may read any file of yours. Expand it "
                "yourself (xacro FILE > robot.urdf) or, if you trust it, let it be expanded: "
                "mbd.read(path, xacro=True), mbd run FILE -p xacro=True"
            )
        top = parsed(expanded(path))
    if top.tag != "robot":
        raise ValueError(f"must have <robot> at the top, got <{top.tag}>; is it a URDF file?")
    reading = _Reading()
    top.called("robot")
    reading.unknown_in(top, ("link", "joint", "material"))
    reading.colors = {m.attributes.get("name", ""): _color(m) for m in top.all("material")}
    links = by_name([reading.link(x) for x in top.all("link")], "link")
    joints = list(by_name([reading.joint(x) for x in top.all("joint")], "joint").values())
    for text, node in unread(top, "robot"):
        reading.notes.add(text, node)
    for i, joint in enumerate(joints):
        if joint.mimic is not None and joint.mimic.joint not in {j.name for j in joints}:
            reading.notes.add(
                f"joint {joint.name!r}: <mimic> is not used, there is no joint "
                f"{joint.mimic.joint!r}"
            )
            joints[i] = replace(joint, mimic=None)
    name = top.attributes.get("name", "")
    return description.RobotDescription(
        name, links, joints, reading.notes, reading.unknown, _root(links, joints)
    )


def _is_xacro(node: Node) -> bool:
    return "xacro" in node.tag or any(map(_is_xacro, node.children))


class _Reading:
    """State of the reader: colours by name, notes, tags that nobody knows."""

    def __init__(self) -> None:
        self.notes, self.unknown = Notes(), list[str]()
        self.colors: dict[str, Any] = {}

    def unknown_in(self, node: Node, tags: tuple[str, ...]) -> None:
        """Note the tags in an element that are not among these."""
        for child in node.children:
            if child.tag not in (*tags, *_OF_OTHERS):
                self.unknown.append(f"unknown tag <{child.tag}> in {node.who}")
                child.passed()

    def link(self, node: Node) -> description.Link:
        """Return a link."""
        node.called(f"link {node.attributes.get('name')!r}")
        name = node.text("name")
        self.unknown_in(node, ("inertial", "visual", "collision"))
        visuals = tuple(v for x in node.all("visual") if (v := self.visual(x)) is not None)
        link = description.Link(name, visuals=visuals, collisions=tuple(self.collisions(node)))
        inertial = node.one("inertial")
        if inertial is None:
            return link
        self.unknown_in(inertial, ("origin", "mass", "inertia"))
        mass, J = inertial.one("mass"), inertial.one("inertia")
        if mass is None:
            raise inertial.error("<mass> is missing; give it, or leave out <inertial>")
        m = mass.number("value")
        if m == 0 and J is None:
            return link
        if J is None:
            raise inertial.error("<inertia> is missing; give ixx, ixy, ixz, iyy, iyz, izz [kg m^2]")
        moments = [J.number(key) for key in ("ixx", "iyy", "izz")]
        products = [J.number(key, 0.0) for key in ("ixy", "ixz", "iyz")]
        return link.with_inertia(m, _origin(inertial), (*moments, *products))

    def collisions(self, node: Node) -> Iterator[description.Visual]:
        """Yield the shapes that others may touch; those that cannot be read are noted."""
        for x in node.all("collision"):
            try:
                shape = self.visual(x)
            except ValueError as error:
                self.notes.add(f"a collision shape is not used: {error}")
                x.passed()
                continue
            if shape is not None:
                yield shape

    def visual(self, node: Node) -> description.Visual | None:
        """Return a shape."""
        self.unknown_in(node, ("origin", "geometry", "material"))
        material, geometry = node.one("material"), node.one("geometry")
        color = None
        if material is not None:
            color = _color(material) or self.colors.get(material.attributes.get("name", ""))
        shapes = [] if geometry is None else geometry.children
        if geometry is None or len(shapes) != 1:
            raise node.error(f"must have one shape in <geometry>, got {len(shapes)}")
        tag = shapes[0].tag
        if tag not in ("mesh", *_SHAPES):
            self.unknown_in(geometry, ("mesh", *_SHAPES))
            return None
        shape, at = shapes[0].called(f"{node.who}, {tag}"), _origin(node)
        if tag == "mesh":
            scale = shape.numbers("scale", (1.0, 1.0, 1.0), 3)
            return description.Visual(tag, at, scale, shape.text("filename"), color)
        numbers = [x for key, n in _SHAPES[tag] for x in shape.numbers(key, None, n)]
        return description.Visual(tag, at, tuple(numbers), color=color)

    def joint(self, node: Node) -> description.RobotJoint:
        """Return a joint."""
        node.called(f"joint {node.attributes.get('name')!r}")
        name = node.text("name")
        node.text("type")
        joint_type = node.choice("type", _TYPES, "")
        self.unknown_in(node, ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic",
                        "calibration", "safety_controller"))  # fmt: skip
        parent, child = (_end(node, tag) for tag in ("parent", "child"))
        at = node.one("axis")
        axis = np.array((1.0, 0.0, 0.0) if at is None else at.numbers("xyz", None, 3))
        if joint_type in ("fixed", "floating"):  # which many programs write with an axis of zeros
            axis = np.array((1.0, 0.0, 0.0))
        if not axis.any():
            raise node.error(f"axis must have a direction, got {axis.tolist()}")
        damping, friction = 0.0, 0.0
        if (dynamics := node.one("dynamics")) is not None:
            damping, friction = (dynamics.number(key, 0.0) for key in ("damping", "friction"))
        for tag in ("calibration", "safety_controller"):
            for other in node.all(tag):
                self.notes.add(f"{node.who}: <{tag}> is not used", other)
                other.passed()
        return description.RobotJoint(
            name, joint_type, parent, child, _origin(node), axis / np.linalg.norm(axis),
            damping=damping, friction=friction, limits=_limits(node, joint_type),
            mimic=self.mimic(node, joint_type),
        )  # fmt: skip

    def mimic(self, node: Node, joint_type: str) -> description.Mimic | None:
        """Return which joint a joint follows."""
        mimic = node.one("mimic")
        if mimic is None:
            return None
        factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        source = description.Mimic(mimic.text("joint"), factor, offset)
        if joint_type == "fixed":
            self.notes.add(f"{node.who}: <mimic> is not used, the joint is fixed", mimic)
            return None
        return source


def _origin(node: Node) -> description.Origin:
    at = node.one("origin")
    if at is None:
        return description.Origin()
    turn = Rotation.from_euler("xyz", at.numbers("rpy", (0, 0, 0), 3)).as_matrix()
    return description.Origin(np.array(at.numbers("xyz", (0, 0, 0), 3)), turn)


def _color(material: Node) -> tuple[float, ...] | None:
    color = material.one("color")
    return None if color is None else color.numbers("rgba", None, 4)[:3]  # the fourth: opacity


def _limits(node: Node, joint_type: str) -> description.Limits:
    """Return the limits of a joint; only two types have a range, zero if they do not say it."""
    limit = node.one("limit")
    if limit is None:
        return description.Limits()
    ranged = joint_type in ("revolute", "prismatic")
    maxima = {key: limit.number(key) for key in ("effort", "velocity") if key in limit.attributes}
    lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
    return description.Limits(lower, upper, **maxima) if ranged else description.Limits(**maxima)


def _end(joint: Node, tag: str) -> str:
    end = joint.one(tag)
    if end is None:
        raise joint.error(f"<{tag}> is missing; give <{tag} link=...>")
    return end.text("link")


def _root(links: dict[str, description.Link], joints: list[description.RobotJoint]) -> str:
    """Return the one link that is no child; check that the rest is a tree."""
    if not links:
        raise ValueError("has no <link>")
    parents: dict[str, str] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ValueError(f"joint {joint.name!r}: {absent('link ', link, links)}")
        if joint.child in parents:
            raise ValueError(
                f"link {joint.child!r} is the child of two joints; URDF is a tree, leave one out "
                "and add it to the system after reading"
            )
        parents[joint.child] = joint.parent
    roots = [name for name in links if name not in parents]
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
