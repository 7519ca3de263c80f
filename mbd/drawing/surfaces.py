r"""Surfaces of solids and tubes; colours of what surfaces bear.

A surface has vertices (n, 3) in body axes and faces (m, 4) of their indices; a triangle has its
last corner twice. Faces turn about their outward normals; they are small enough to be sorted by
their distance when they are painted.

A bar of free length l that is longer than the distance d of its
ends hangs as a parabola with the sag :math:`0.45\sqrt{l^2 - d^2}`, between that of a taut one
(:math:`\sqrt{3/16}`) and a folded one (1/2).
"""

from functools import lru_cache

import numpy as np

from mbd.beams.swept import SHARES, quads
from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

_AROUND = 24
_CELLS = 10  # at most so many along a bar or an edge
_TUBE = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
#: At equal distances from -1 to 1; between them colours are linear in sRGB.
COLORS = (
    "#3b4cc0", "#6788ee", "#9abbff", "#c9d7f0", "#dddddd", "#f2cbb7", "#f7a889", "#e26952",
    "#b40426",
)  # fmt: skip
_RGB = np.array([[int(x[i : i + 2], 16) for i in (1, 3, 5)] for x in COLORS]) / 255

Surface = tuple[np.ndarray, np.ndarray]


def _cells(length: float, width: float) -> int:
    return int(np.clip(round(length / width), 1, _CELLS))


def _turned(profile: np.ndarray) -> Surface:
    """Return the surface that a profile (k, 2) of radius and height, from below, makes about z."""
    turn = np.linspace(0, 2 * np.pi, _AROUND, endpoint=False)
    r, z = profile.T
    vertices = np.empty((len(r), _AROUND, 3))
    vertices[..., 0] = r[:, None] * np.cos(turn)
    vertices[..., 1] = r[:, None] * np.sin(turn)
    vertices[..., 2] = z[:, None]
    return vertices.reshape(-1, 3), quads(1, len(r), _AROUND)


def _box(shape: Box) -> Surface:
    vertices, faces = [], []
    count = [_cells(x, max(shape.size.min(), 0.1 * shape.size.max())) for x in shape.size]
    at = 0
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        n, m = count[u], count[v]
        p, q = np.meshgrid(np.linspace(-0.5, 0.5, n + 1), np.linspace(-0.5, 0.5, m + 1))
        i, j = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
        a = (i * (n + 1) + j).ravel()
        cells = np.column_stack([a, a + 1, a + n + 2, a + n + 1])
        for side in (-0.5, 0.5):
            points = np.empty((p.size, 3))
            points[:, axis], points[:, u], points[:, v] = side, p.ravel(), q.ravel()
            vertices.append(points * shape.size)
            faces.append(at + (cells if side > 0 else cells[:, ::-1]))
            at += p.size
    return np.vstack(vertices), np.vstack(faces)


def _round(shape: Sphere | Cylinder | Capsule) -> Surface:
    r = shape.radius
    if isinstance(shape, Sphere):
        turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 15)
        return _turned(r * np.column_stack([np.cos(turn), np.sin(turn)]))
    half = 0.5 * shape.length
    z = np.linspace(-half, half, _cells(shape.length, 1.5 * r) + 1)
    side = np.column_stack([np.full(len(z), r), z])
    if isinstance(shape, Cylinder):
        rings = r * np.array([0.85, 0.6, 0.3, 0.0])
        cap = np.column_stack([rings, np.full(4, half)])
    else:
        turn, side = np.linspace(0, 0.5 * np.pi, 5), side[1:-1]
        cap = np.column_stack([r * np.cos(turn), half + r * np.sin(turn)])
    return _turned(np.vstack([cap[::-1] * (1.0, -1.0), side, cap]))


@lru_cache(maxsize=4096)
def surface(shape: Shape) -> Surface:
    """Return vertices in body axes [m] and faces of a shape."""
    if isinstance(shape, Mesh):
        vertices, faces = shape.vertices, shape.triangles[:, [0, 1, 2, 2]]
    else:
        vertices, faces = _box(shape) if isinstance(shape, Box) else _round(shape)
    return shape.at + vertices @ shape.rotation.T, faces


def hanging(points: np.ndarray, lengths: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return points (k, m, 3) along k bars between points (k + 1, 3), of free lengths (k,)."""
    a, d = points[:-1], np.diff(points, axis=0)
    sag = 0.45 * np.sqrt(np.maximum(lengths**2 - (d**2).sum(-1), 0.0))
    s = SHARES[:, None]
    return np.asarray(a[:, None] + s * d[:, None] + 4 * s * (1 - s) * sag[:, None, None] * down)


def tube_rings(path: np.ndarray, radius: float) -> np.ndarray:
    """Return corners (k, m, 8, 3) of circles around lines (k, m, 3)."""
    along = np.gradient(path, axis=1)
    along /= np.linalg.norm(along, axis=-1, keepdims=True).clip(1e-300)
    least = np.eye(3)[np.argmin(np.abs(along), axis=-1)]
    two = np.cross(along, least)
    two /= np.linalg.norm(two, axis=-1, keepdims=True).clip(1e-300)
    three = np.cross(along, two)
    around = (
        np.cos(_TUBE)[:, None] * two[..., None, :] + np.sin(_TUBE)[:, None] * three[..., None, :]
    )
    return np.asarray(path[..., None, :] + radius * around)


def shade(values: np.ndarray, largest: float) -> np.ndarray:
    """Return colours (..., 3) of values between minus and plus the largest (Moreland 2009)."""
    x = np.clip(values / (largest or 1.0), -1.0, 1.0)
    at = np.linspace(-1.0, 1.0, len(COLORS))
    return np.stack([np.interp(x, at, column) for column in _RGB.T], axis=-1)
