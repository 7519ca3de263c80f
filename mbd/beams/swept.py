r"""Surfaces of beams: sections swept along helicoids, and the strain along the beam on them.

Between frames a and b of a beam lies :math:`H(s) = H_a\exp(s\,e)`, :math:`e = \log H_a^{-1}H_b`.
Plane sections stay plane: at y, z of a section

.. math:: \varepsilon = \Gamma_1 + \kappa_2 z - \kappa_3 y .
"""

import numpy as np

from mbd.beams.helicoids import frames_between, logarithm

SHARES = np.linspace(0.0, 1.0, 5)  # where elements have sections


def beam_rings(
    r: np.ndarray, R: np.ndarray, outline: np.ndarray, shares: np.ndarray = SHARES
) -> np.ndarray:
    """Return corners (..., m, n, 3) of sections, from both ends r (..., 2, 3), R (..., 2, 3, 3).

    They are at shares (m,) of the elements; outlines (..., 2, n, 2) change evenly between the ends.
    """
    r, R = np.moveaxis(r, -2, 0), np.moveaxis(R, -3, 0)
    e = logarithm(r[0], R[0], r[1], R[1])
    x, turned = frames_between(r[0], R[0], e, shares)
    section = along(outline, shares)
    return np.asarray(x[..., None, :] + section @ np.swapaxes(turned[..., 1:], -1, -2))


def along(ends: np.ndarray, shares: np.ndarray = SHARES) -> np.ndarray:
    """Return values (..., m, n, w) of the rings of elements, from both ends (..., 2, n, w)."""
    s = shares[:, None, None]
    return np.asarray((1 - s) * ends[..., :1, :, :] + s * ends[..., 1:, :, :])


def fibre_strain(strain: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Return strains (..., n) at the corners of outlines (..., n, 2); `strain` has the three."""
    stretch, two, three = np.moveaxis(strain[..., None], -2, 0)
    return np.asarray(stretch + two * outline[..., 1] - three * outline[..., 0])


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


def closed(rings: np.ndarray) -> np.ndarray:
    """Return vertices (..., k m n + 2, w) of rings (..., k, m, n, w) and the middles of ends."""
    *shape, k, m, n, w = rings.shape
    ends = rings[..., [0, -1], [0, -1], :, :].mean(axis=-2)
    return np.concatenate([rings.reshape(*shape, k * m * n, w), ends], axis=-2)
