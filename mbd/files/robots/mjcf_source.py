"""Text of MJCF: included files, default classes, settings of the compiler, orientations."""

import math
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import absent, shown
from mbd.files.robots.description import Origin
from mbd.files.robots.xml_tree import Node, parsed
from mbd.parts.shapes import smallest_turn

# tags whose defaults are one and the same object
_ONE = {
    **dict.fromkeys(
        ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle",
         "adhesion", "dcmotor", "pid", "orientation", "plugin"), "actuator",
    ),
    **dict.fromkeys(("connect", "weld", "flex", "flexstrain"), "equality"),
    **dict.fromkeys(("spatial", "fixed"), "tendon"),
}  # fmt: skip
_SWITCH = ("false", "true")


class MjcfSource:
    """A file with all that it includes; elements know the defaults of their classes."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.top = parsed(path.read_bytes()).called("mujoco")
        if self.top.tag != "mujoco":
            raise ValueError(f"must have <mujoco> at the top, got <{self.top.tag}>")
        self._include(self.top, (path.resolve(),))
        self.classes: dict[str, list[Node]] = {}  # elements of defaults, of parents first
        self._merged: list[tuple[Node, list[Node]]] = []
        self.classes["main"] = []
        for node in self.sections("default"):
            self._class(node, [], node.text("class", "main"))
        self.compiler = Node("compiler", {}, "", 0)
        for node in self.sections("compiler"):
            self.compiler.attributes.update(node.attributes)
        c = self.compiler.called("compiler")
        self.radians = c.choice("angle", ("degree", "radian"), "degree") == "radian"
        self.autolimits = c.choice("autolimits", _SWITCH, "true") == "true"
        self.sequence = c.text("eulerseq", "xyz")
        if c.text("coordinate", "local") != "local":
            raise c.error("coordinate must be local, as in files of today; convert it")
        if len(self.sequence) != 3 or set(self.sequence) - set("xyzXYZ"):
            raise c.error(f"eulerseq must be three of xyzXYZ, got {shown(self.sequence)}")

    def _include(self, node: Node, above: tuple[Path, ...]) -> None:
        """Put what files hold in the place of each <include>."""
        children: list[Node] = []
        for child in node.children:
            if child.tag != "include":
                self._include(child, above)
                children.append(child)
                continue
            child.called("<include>")
            tried = [x / child.text("file") for x in (self.folder, above[-1].parent)]
            path = next((x.resolve() for x in tried if x.is_file()), None)
            if path is None:
                raise child.error(f"there is no file {child.text('file')!r}")
            if path in above:
                raise child.error(f"{path.name} includes itself")
            inside = parsed(path.read_bytes(), path.name)
            self._include(inside, (*above, path))
            children += inside.children
        node.children = children

    def sections(self, tag: str) -> list[Node]:
        """Return all sections of a name; there may be several of each."""
        return [x.called(tag) for x in self.top.children if x.tag == tag]

    def _class(self, node: Node, inherited: list[Node], name: str) -> None:
        own = [x.called(f"default {name!r}, {x.tag}") for x in node.children if x.tag != "default"]
        self.classes[name] = [*self.classes.get(name, inherited), *own]
        for child in node.children:
            if child.tag == "default":
                child.called(f"default class in {name!r}")
                self._class(child, self.classes[name], child.text("class"))

    def defaults(self, node: Node, childclass: str) -> list[Node]:
        """Return the elements of defaults that hold for one, the strongest last."""
        name = node.text("class", childclass or "main")
        if name not in self.classes:
            raise node.error(absent("default class ", name, self.classes))
        tag = _ONE.get(node.tag, node.tag)
        return [x for x in self.classes[name] if _ONE.get(x.tag, x.tag) == tag]

    def merged(self, node: Node, childclass: str = "") -> Node:
        """Return an element with the attributes of its default class."""
        defaults = self.defaults(node, childclass)
        if not defaults:
            return node
        whole = Node(node.tag, {}, node.file, node.line).called(node.who)
        whole.children = node.children
        for x in (*defaults, node):
            whole.attributes.update(x.attributes)
        self._merged.append((whole, [*defaults, node]))
        return whole

    def close(self) -> None:
        """Count what was read of merged elements as read where it is written."""
        self._merged.append((self.compiler, self.sections("compiler")))
        for whole, parts in self._merged:
            for x in parts:
                x.entered = True
                x.read |= whole.read

    def angle(self, x: float) -> float:
        """Return an angle of the file in radians."""
        return x if self.radians else math.radians(x)

    def origin(self, node: Node) -> Origin:
        """Return the frame of an element."""
        return Origin(np.array(node.numbers("pos", (0.0, 0.0, 0.0), 3)), self.rotation(node))

    def between(self, node: Node) -> tuple[Origin, float]:
        """Return the frame of what goes from one point to another, and half its length."""
        x = np.array(node.numbers("fromto", None, 6))
        along = x[:3] - x[3:]
        long = float(np.linalg.norm(along))
        if not long > 0.0:
            raise node.error(f"fromto must be two points [m], got {x.tolist()}")
        node.read |= {"pos", "quat", "axisangle", "xyaxes", "zaxis", "euler"}  # of no effect
        return Origin(0.5 * (x[:3] + x[3:]), smallest_turn(along / long)), 0.5 * long

    def rotation(self, node: Node) -> np.ndarray:
        """Return the orientation of an element, written in one of five ways."""
        ways = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}
        written = [key for key in ways if key in node.attributes]
        if len(written) > 1:
            raise node.error(f"must say one of {', '.join(ways)}, got {' and '.join(written)}")
        if not written:
            return np.eye(3)
        way = written[0]
        x = np.array(node.numbers(way, None, ways[way]))
        if way == "euler":
            return self._euler(x)
        parts = {"axisangle": (x[:3],), "xyaxes": (x[:3], x[3:])}.get(way, (x,))
        if not all(part.any() for part in parts):
            raise node.error(f"{way} must have a direction, got {x.tolist()}")
        if way == "quat":
            return np.asarray(Rotation.from_quat(x, scalar_first=True).as_matrix())
        if way == "axisangle":
            turn = self.angle(float(x[3])) * x[:3] / np.linalg.norm(x[:3])
            return np.asarray(Rotation.from_rotvec(turn).as_matrix())
        if way == "zaxis":
            return smallest_turn(x / np.linalg.norm(x))
        a = x[:3] / np.linalg.norm(x[:3])
        b = x[3:] - a * (a @ x[3:])
        if not np.linalg.norm(b) > 1e-9 * np.linalg.norm(x[3:]):
            raise node.error(f"xyaxes must be two directions, got {x.tolist()}")
        b = b / np.linalg.norm(b)
        return np.column_stack([a, b, np.cross(a, b)])

    def _euler(self, angles: np.ndarray) -> np.ndarray:
        R = np.eye(3)
        for letter, x in zip(self.sequence, angles, strict=True):
            turn = Rotation.from_euler(letter.lower(), self.angle(float(x))).as_matrix()
            R = R @ turn if letter.islower() else turn @ R  # about moving axes, or fixed ones
        return R
