"""Geoms of MJCF: their frames, masses and shapes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbd.base.checked import shown
from mbd.files.robots import solids
from mbd.files.robots.description import Origin, Touch, Visual
from mbd.files.robots.mjcf_source import MjcfSource
from mbd.files.robots.solids import Solid
from mbd.files.robots.xml_tree import Node, Notes
from mbd.parts.meshes import read_mesh

_TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
_SOLIDS: dict[str, Callable[..., Solid]] = {
    "sphere": lambda r: solids.ellipsoid(r, r, r), "ellipsoid": solids.ellipsoid,
    "capsule": solids.capsule, "cylinder": solids.cylinder, "box": solids.box,
}  # fmt: skip
_WHOLE = {"box": (2, 2, 2), "capsule": (1, 2), "cylinder": (1, 2)}  # lengths for half ones
_EMPTY = ("plane", "hfield")  # without mass
_WATER = 1000.0  # kg/m^3, the density of what does not say it


@dataclass(frozen=True)
class Geom:
    """A geom: mass [kg] about its centre, in the axes of the body; its shape; who sees it.

    Of a plane the shape has no numbers.
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    shape: Visual
    group: int


class Geoms:
    """Reader of geoms: meshes and colours by name."""

    def __init__(self, source: MjcfSource, notes: Notes) -> None:
        self.source, self.notes = source, notes
        c = source.compiler
        folder = c.text("meshdir", c.text("assetdir", ""))
        self.folder = source.folder / folder
        self.strip = c.choice("strippath", ("false", "true"), "false") == "true"
        self.meshes, self.colors = dict[str, Node](), dict[str, tuple[float, ...]]()
        self.solids: dict[tuple[str, str], Solid] = {}
        for assets in source.sections("asset"):
            for node in assets.all("mesh"):
                mesh = source.merged(node)
                name = mesh.text("name", Path(mesh.attributes.get("file", "")).stem)
                self.meshes[name] = mesh.called(f"mesh {name!r}")
            for node in assets.all("material"):
                material = source.merged(node)
                rgba = material.numbers("rgba", (1.0, 1.0, 1.0, 1.0), 4)
                self.colors[material.text("name", "")] = rgba

    def read(
        self, raw: Node, childclass: str, frame: Origin, body: str, *, weighs: bool
    ) -> Geom | None:
        """Return a geom of a body, in a frame of it; its mass where it weighs."""
        node = self.source.merged(raw, childclass)
        node.called(f"geom {node.attributes.get('name', '')!r}")
        shape = node.choice("type", _TYPES, "sphere")
        group = int(node.number("group", 0.0))
        color = node.numbers("rgba", (), 4)
        color = color or self.colors.get(node.text("material", ""), ())
        touch = self._touch(node, body)
        if shape in _EMPTY:
            self.notes.add(f"<geom> of type {shape} is not drawn", node)
            node.numbers("size", (0.0,) * 3, (1, 3))
            if shape == "hfield":
                return None
            at = frame @ self.source.origin(node)
            return Geom(0.0, np.zeros(3), np.zeros((3, 3)), Visual(shape, at, touch=touch), group)
        if shape == "sdf" or ("mesh" in node.attributes and shape != "mesh"):
            what = "an sdf" if shape == "sdf" else f"a {shape} fitted to a mesh"
            if weighs and node.number("mass", 1.0) and node.number("density", 1.0):
                raise node.error(f"is {what}, whose mass is not known; give the body <inertial>")
            self.notes.add(f"<geom>: {what} is not drawn", node)
            return None
        if "fromto" in node.attributes and shape in ("capsule", "cylinder", "box", "ellipsoid"):
            at, sizes = self._between(node, shape)
        else:
            at = self.source.origin(node)
            sizes = self._sizes(node, shape)
        at = frame @ at
        rgb = tuple(color[:3]) or None
        if shape == "mesh":
            mesh = self._mesh(node)
            at = at @ self.turn(mesh)
            visual = Visual("mesh", at, self._scale(mesh), str(self._file(mesh)), rgb, touch)
        else:
            lengths = tuple(np.multiply(sizes, _WHOLE.get(shape, 1)).tolist())
            visual = Visual(shape, at, lengths, color=rgb, touch=touch)
        solid = self._solid(node, shape, sizes) if weighs else None
        if solid is None:
            return Geom(0.0, np.zeros(3), np.zeros((3, 3)), visual, group)
        m = self._weight(node, solid)
        R = at.rotation
        J = m / solid.volume * (R @ solid.inertia @ R.T)
        return Geom(m, at.position + R @ solid.center, J, visual, group)

    def _touch(self, node: Node, body: str) -> Touch | None:
        """Return how a geom touches others, None where it never does."""
        types = ("contype", 1), ("conaffinity", 1), ("condim", 3), ("priority", 0)
        contype, conaffinity, condim, priority = (int(node.number(x, n)) for x, n in types)
        mu, *_ = node.numbers("friction", (1.0,), (1, 3))
        if not contype and not conaffinity:
            return None
        if mu < 0.0:
            raise node.error(f"friction must not be negative [-], got {mu:g}")
        if condim not in (1, 3):
            self.notes.add(f"<geom> condim {condim}: friction that drills or rolls", node)
        return Touch(body, mu, contype, conaffinity, condim, priority)

    def _weight(self, node: Node, solid: Solid) -> float:
        """Return the mass of a geom."""
        if node.text("shellinertia", "false") == "true":
            raise node.error("shellinertia is not read; give the body <inertial>")
        density = node.number("density", _WATER)
        mass = node.number("mass") if "mass" in node.attributes else density * solid.volume
        if mass < 0.0:
            raise node.error(f"mass must not be negative [kg], got {mass:g}")
        return mass

    def _sizes(self, node: Node, shape: str) -> tuple[float, ...]:
        n = _SIZES.get(shape, 0)
        return _positive(node, node.numbers("size", None if n else (), (n, 3))[:n])

    def _between(self, node: Node, shape: str) -> tuple[Origin, tuple[float, ...]]:
        """Return frame and sizes of what goes from one point to another."""
        at, half = self.source.between(node)
        size = _positive(node, node.numbers("size", None, (1, 3))[:1])
        wide = (size[0],) if shape in ("capsule", "cylinder") else (size[0], size[0])
        return at, (*wide, half)

    def _solid(self, node: Node, shape: str, sizes: tuple[float, ...]) -> Solid | None:
        if shape == "mesh":
            # what does not weigh need not be readable
            light = "mass" in node.attributes and not node.number("mass")
            return None if light or not node.number("density", _WATER) else self._enclosed(node)
        return _SOLIDS[shape](*sizes)

    def _mesh(self, node: Node) -> Node:
        name = node.text("mesh")
        if name not in self.meshes:
            raise node.error(f"there is no mesh {name!r}")
        return self.meshes[name]

    def _scale(self, mesh: Node) -> tuple[float, ...]:
        return mesh.numbers("scale", (1.0, 1.0, 1.0), 3)

    def turn(self, mesh: Node) -> Origin:
        """Return the frame of a file in that of its mesh."""
        place = Node("", {new: mesh.attributes[old] for new, old in
                          (("pos", "refpos"), ("quat", "refquat")) if old in mesh.attributes},
                     mesh.file, mesh.line).called(mesh.who)  # fmt: skip
        mesh.read |= {"refpos", "refquat"}
        return self.source.origin(place).inverse

    def _file(self, mesh: Node) -> Path:
        name = Path(mesh.text("file", f"no file of {mesh.who}"))
        return self.folder / (name.name if self.strip else name)

    def _enclosed(self, node: Node) -> Solid:
        """Return what the mesh of a geom encloses, as it says how."""
        mesh = self._mesh(node)
        how = mesh.choice("inertia", ("legacy", "exact", "convex", "shell"), "legacy")
        if how == "shell":
            raise mesh.error("inertia must be legacy, exact or convex, got 'shell'")
        key = (mesh.who, how)
        if key not in self.solids:
            try:
                vertices, triangles = read_mesh(self._file(mesh))
            except (ValueError, OSError) as error:
                raise mesh.error(f"{error}; it has mass, or give the body <inertial>") from error
            vertices = vertices * np.array(self._scale(mesh))
            corners = _hull(vertices) if how == "convex" else vertices[triangles]
            if np.prod(self._scale(mesh)) < 0 and how != "convex":
                corners = corners[:, ::-1]
            self.solids[key] = solids.of_triangles(corners, folded=how == "legacy")
        solid = self.solids[key]
        if not solid.volume > 0.0:
            raise mesh.error(f"must enclose a volume [m^3], got {solid.volume:.3g}")
        return solid


def _hull(vertices: np.ndarray) -> np.ndarray:
    """Return the triangles of the convex hull, outward."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except QhullError as error:
        raise ValueError(f"its vertices have no convex hull: {shown(str(error)[:60])}") from None
    corners = vertices[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ni,ni->n", normals, hull.equations[:, :3]) < 0
    corners[inward] = corners[inward][:, ::-1]
    return np.asarray(corners)


def _positive(node: Node, sizes: tuple[float, ...]) -> tuple[float, ...]:
    if not all(x > 0.0 for x in sizes):
        raise node.error(f"size must be positive [m], got {list(sizes)}")
    return sizes
