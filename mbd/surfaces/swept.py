r"""Sections swept along helicoids, and tubes along hanging bars: rings of corners.

Between frames a and b of a beam lies :math:`H(s) = H_a\exp(s\,e)`, :math:`e = \log H_a^{-1}H_b`;
``beams.js`` has the same formula. A bar of free length l that is longer than the distance d of its
ends hangs as a parabola with the sag :math:`0.45\sqrt{l^2 - d^2}`, between that of a taut one
(:math:`\sqrt{3/16}`) and a folded one (1/2).
"""

from __future__ import annotations

import numpy as np

from mbd.beams.helicoids import frames_between, logarithm

SHARES = np.linspace(0.0, 1.0, 5)  # where elements have sections
_AROUND = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)


def beam_rings(r: np.ndarray, R: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Return corners (k, m, n, 3) of sections, from both ends r (k, 2, 3), R (k, 2, 3, 3).

    Outlines (k, 2, n, 2) at the ends change evenly between them.
    """
    e = logarithm(r[:, 0], R[:, 0], r[:, 1], R[:, 1])
    x, turned = frames_between(r[:, 0], R[:, 0], e, SHARES)
    s = SHARES[:, None, None]
    section = (1 - s) * outline[:, :1] + s * outline[:, 1:]
    return np.asarray(x[..., None, :] + section @ np.swapaxes(turned[..., 1:], -1, -2))


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
        np.cos(_AROUND)[:, None] * two[..., None, :]
        + np.sin(_AROUND)[:, None] * three[..., None, :]
    )
    return np.asarray(path[..., None, :] + radius * around)


def quads(k: int, m: int, n: int) -> np.ndarray:
    """Return the faces (k (m - 1) n, 4) between neighbouring rings of each of k elements."""
    e, i, j = np.meshgrid(np.arange(k), np.arange(m - 1), np.arange(n), indexing="ij")
    first = (e * m + i) * n
    a, b = first + j, first + (j + 1) % n
    return np.stack([a, b, b + n, a + n], axis=-1).reshape(-1, 4)


def caps(k: int, m: int, n: int) -> np.ndarray:
    """Return triangles that close both ends; their middles are the last two vertices."""
    j = np.arange(n)
    ends = []
    for middle, ring in ((k * m * n, 0), (k * m * n + 1, (k * m - 1) * n)):
        centre = np.full(n, middle)
        ends.append(np.stack([ring + j, ring + (j + 1) % n, centre, centre], axis=-1))
    return np.concatenate(ends)
