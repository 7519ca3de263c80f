"""Surfaces of solids: vertices (n, 3) in body axes and faces (m, 4) of their indices.

A triangle has its last corner twice. Faces turn about their outward normals; they are small enough
to be sorted by their distance when they are painted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mbd.parts.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

_AROUND = 24
_CELLS = 10  # at most so many along a bar or an edge

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
    return vertices.reshape(-1, 3), _grid(len(r), _AROUND)


def _grid(n: int, around: int) -> np.ndarray:
    """Return the faces between n closed rings of vertices."""
    i, j = np.meshgrid(np.arange(n - 1), np.arange(around), indexing="ij")
    a, b = i * around + j, i * around + (j + 1) % around
    return np.stack([a, b, b + around, a + around], -1).reshape(-1, 4)


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
        quads = np.column_stack([a, a + 1, a + n + 2, a + n + 1])
        for side in (-0.5, 0.5):
            points = np.empty((p.size, 3))
            points[:, axis], points[:, u], points[:, v] = side, p.ravel(), q.ravel()
            vertices.append(points * shape.size)
            faces.append(at + (quads if side > 0 else quads[:, ::-1]))
            at += p.size
    return np.vstack(vertices), np.vstack(faces)


def _cylinder(shape: Cylinder) -> Surface:
    r, half = shape.radius, 0.5 * shape.length
    z = np.linspace(-half, half, _cells(shape.length, 1.5 * r) + 1)
    side = np.column_stack([np.full(len(z), r), z])
    rings = r * np.array([0.0, 0.3, 0.6, 0.85])
    ends = [np.column_stack([x, np.full(4, z)]) for x, z in ((rings, -half), (rings[::-1], half))]
    return _turned(np.vstack([ends[0], side, ends[1]]))


def _sphere(shape: Sphere) -> Surface:
    turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 15)
    return _turned(shape.radius * np.column_stack([np.cos(turn), np.sin(turn)]))


def _capsule(shape: Capsule) -> Surface:
    r, half = shape.radius, 0.5 * shape.length
    turn = np.linspace(0, 0.5 * np.pi, 5)
    cap = np.column_stack([r * np.cos(turn), half + r * np.sin(turn)])
    z = np.linspace(-half, half, _cells(shape.length, 1.5 * r) + 1)[1:-1]
    side = np.column_stack([np.full(len(z), r), z])
    return _turned(np.vstack([cap[::-1] * (1.0, -1.0), side, cap]))


def _mesh(shape: Mesh) -> Surface:
    return shape.vertices, shape.triangles[:, [0, 1, 2, 2]]


_SURFACES: dict[type, Callable[[Any], Surface]] = {
    Box: _box,
    Sphere: _sphere,
    Cylinder: _cylinder,
    Capsule: _capsule,
    Mesh: _mesh,
}


@lru_cache(maxsize=4096)
def surface(shape: Shape) -> Surface:
    """Return vertices in body axes [m] and faces of a shape."""
    vertices, faces = _SURFACES[type(shape)](shape)
    return shape.at + vertices @ shape.rotation.T, faces
