r"""Volume, centre and inertia of solids of uniform density: of simple ones, and of triangles.

A tetrahedron from a point o to the triangle a, b, c has with :math:`s = a + b + c` from o

.. math:: 6V = a\cdot(b\times c), \quad \textstyle\int x\,dV = \tfrac V4 s, \quad
          \int xx^T\,dV = \tfrac V{20}(aa^T + bb^T + cc^T + ss^T) .
"""

from math import pi
from typing import NamedTuple

import numpy as np


class Solid(NamedTuple):
    """Volume [m^3], its centre (3,) [m] and inertia (3, 3) about it, of density one [m^5]."""

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def _round(volume: float, across: float, along: float) -> Solid:
    """Return a solid with the second moments of its volume about the centre."""
    moments = (across + along, across + along, 2 * across)
    return Solid(volume, np.zeros(3), np.diag(moments))


def _centred(V: float, a: float, b: float, c: float, n: int) -> Solid:
    """Return a solid of half lengths whose points have the mean squares a^2/n, b^2/n, c^2/n."""
    moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / n
    return Solid(V, np.zeros(3), V * np.diag(moments))


def ellipsoid(a: float, b: float, c: float) -> Solid:
    """Return an ellipsoid of half axes."""
    return _centred(4 / 3 * pi * a * b * c, a, b, c, 5)


def box(a: float, b: float, c: float) -> Solid:
    """Return a box of half edges."""
    return _centred(8 * a * b * c, a, b, c, 3)


def cylinder(r: float, half: float) -> Solid:
    """Return a cylinder along z."""
    V = 2 * pi * r**2 * half
    return _round(V, V * r**2 / 4, V * half**2 / 3)


def capsule(r: float, half: float) -> Solid:
    """Return a cylinder along z between two half balls, each 3 r/8 off its flat side."""
    bar, balls = 2 * pi * r**2 * half, 4 / 3 * pi * r**3
    across = bar * r**2 / 4 + balls * r**2 / 5
    along = bar * half**2 / 3 + balls * (half**2 + 0.75 * r * half + r**2 / 5)
    return _round(bar + balls, across, along)


def of_triangles(corners: np.ndarray, *, folded: bool = False) -> Solid:
    """Return what triangles (n, 3, 3) enclose, seen from outside anticlockwise.

    The centre is by tetrahedra from the centre of the faces, the rest by those from this one, which
    is the same where the surface is closed. With `folded` all tetrahedra count as full, whatever
    side they are seen from.
    """
    a, b, c = corners.transpose(1, 0, 2)
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    start = areas @ corners.mean(axis=1) / areas.sum()
    sizes, corner_sums, _ = _tetrahedra(corners - start, folded)
    center = start + sizes @ corner_sums / (4 * sizes.sum())
    sizes, corner_sums, squares = _tetrahedra(corners - center, folded)
    V = float(sizes.sum())
    E = (
        np.einsum("n,nij->ij", sizes, squares + corner_sums[:, :, None] * corner_sums[:, None, :])
        / 20
    )
    return Solid(V, center, np.trace(E) * np.eye(3) - E)


def _tetrahedra(corners: np.ndarray, folded: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return volumes, sums of corners and of their squares, of tetrahedra from the origin."""
    a, b, c = corners.transpose(1, 0, 2)
    sizes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6
    squares = np.einsum("nki,nkj->nij", corners, corners)
    return (np.abs(sizes) if folded else sizes), corners.sum(axis=1), squares
