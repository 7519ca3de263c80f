"""Skin of a body that bends: its faces, strain and stress of its shapes there.

Six numbers of a tensor are xx, yy, zz, xy, yz, zx.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Skin:
    """The faces of a mesh, and what the m shapes do to their n nodes.

    Attributes
    ----------
    nodes : (n,) array of int
        Their numbers in the mesh; at a sharp edge a node stands there once for each side.
    x : (n, 3) array [m]
        In the frame of the body.
    faces : (f, 4) array of int
        Of these nodes; a triangle has its last corner twice.
    shapes : (n, 3, m) array [-]
    strain : (n, 6, m) array [1/m]
    stress : (n, 6, m) array [Pa/m], or None
    """

    nodes: np.ndarray
    x: np.ndarray
    faces: np.ndarray
    shapes: np.ndarray
    strain: np.ndarray
    stress: np.ndarray | None

    def values(self, name: str, p: np.ndarray) -> np.ndarray:
        """Return "strain" or "mises" at the nodes (..., n) for modal coordinates p (..., m)."""
        if name == "strain" or self.stress is None:
            return principal(np.einsum("...m,ncm->...nc", p, self.strain))
        return von_mises(np.einsum("...m,ncm->...nc", p, self.stress))


def principal(tensor: np.ndarray) -> np.ndarray:
    """Return the size of the largest principal value (...) of tensors (..., 6)."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(tensor, -1, 0)
    mean = (xx + yy + zz) / 3
    a, b, c = xx - mean, yy - mean, zz - mean
    size = np.sqrt((a * a + b * b + c * c + 2 * (xy * xy + yz * yz + zx * zx)) / 6)
    det = a * (b * c - yz * yz) - xy * (xy * c - yz * zx) + zx * (xy * yz - b * zx)
    angle = np.arccos(np.clip(0.5 * det / np.where(size > 0, size, 1.0) ** 3, -1, 1)) / 3
    high, low = (mean + 2 * size * np.cos(angle + turn) for turn in (0.0, 2 * np.pi / 3))
    return np.asarray(np.maximum(high, -low))


def von_mises(stress: np.ndarray) -> np.ndarray:
    """Return the equivalent stress (...) of von Mises of tensors (..., 6)."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(stress, -1, 0)
    normal = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
    return np.asarray(np.sqrt(0.5 * normal + 3 * (xy * xy + yz * yz + zx * zx)))
