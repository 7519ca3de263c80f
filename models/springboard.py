"""Springboard: a board of solid finite elements that its weight bends.

M and K are those of bricks with twenty nodes, three displacements each, put together here; a finite
element program would write them to files, which ``mbd.FlexibleBody`` reads as well. The board is
straight when its weight begins to act, and swings about the pose of rest. With nu = 0 it is a beam,
however wide it is: with the roots of cos(l) cosh(l) = -1, s = (cosh l + cos l)/(sinh l + sin l),
z(L, t) = -sum 4 (-1)^(n+1) s g/(l w^2) (1 - cos w t), w = (l/L)^2 sqrt(E h^2/(12 rho)).
"""

from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

import mbd

LENGTH, WIDTH, HEIGHT, YOUNG, DENSITY, G = 3.0, 0.4, 0.04, 10e9, 600.0, 9.81
CELLS = (20, 2, 1)  # along, across, through
RUN = {"t_end": 0.6, "step": 1e-3}
# of a brick from -1 to 1: corners and middles of edges, powers of x, y, z in its polynomials
_NODES = np.array([x for x in product((-1, 0, 1), repeat=3) if x.count(0) <= 1])
_POWERS = np.array([x for x in product((0, 1, 2), repeat=3) if x.count(2) <= 1])


def _tip(t: float) -> float:
    roots = np.array((1.87510407, 4.69409113, 7.85475744, 10.99554073))
    s = (np.cosh(roots) + np.cos(roots)) / (np.sinh(roots) + np.sin(roots))
    w = (roots / LENGTH) ** 2 * np.sqrt(YOUNG * HEIGHT**2 / (12 * DENSITY))
    z = -4 * G * np.array((1, -1, 1, -1)) * s / (roots * w**2) * (1 - np.cos(w * t))
    return float(z.sum())


_SOURCE = "Euler-Bernoulli beam, series"
REFERENCE = tuple(
    ("board/tip.position.z", t, _tip(t), 6e-4, _SOURCE) for t in (0.1, 0.17, 0.4, 0.6)
)


def _monomials(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return the polynomials of a brick at places (n, 3), or their slopes along an axis."""
    if axis is None:
        return np.asarray(np.prod(x[:, None] ** _POWERS, axis=2))
    lower = np.maximum(_POWERS - np.eye(3, dtype=int)[axis], 0)
    return np.asarray(_POWERS[:, axis] * np.prod(x[:, None] ** lower, axis=2))


def _brick(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mass and stiffness (60, 60) of a brick with edges of a size [m], nu = 0."""
    to_shapes = np.linalg.inv(_monomials(_NODES.astype(float)))
    points, weights = np.polynomial.legendre.leggauss(3)
    x = np.array([*product(points, repeat=3)])
    w = np.prod([*product(weights, repeat=3)], axis=1) * np.prod(size / 2)
    N = _monomials(x) @ to_shapes
    by = [_monomials(x, a) @ to_shapes * 2 / size[a] for a in range(3)]
    M = DENSITY * np.kron(np.einsum("g,gi,gj->ij", w, N, N), np.eye(3))
    K = np.zeros((20, 3, 20, 3))
    for a, b in product(range(3), repeat=2):  # E/2 (u_a,b + u_b,a) u_a,b
        stretch = 0.5 * YOUNG * np.einsum("g,gi,gj->ij", w, by[b], by[b])
        K[:, a, :, a] += stretch
        K[:, a, :, b] += 0.5 * YOUNG * np.einsum("g,gi,gj->ij", w, by[b], by[a])
    return M, K.reshape(60, 60)


def board() -> dict[str, Any]:
    """Return M, K, coordinates and faces of the board, its root in the origin."""
    size = np.array((LENGTH, WIDTH, HEIGHT)) / CELLS
    grid = np.array(
        [x for x in np.ndindex(*(2 * np.array(CELLS) + 1)) if sum(i % 2 for i in x) < 2]
    )
    number = {tuple(x): i for i, x in enumerate(grid.tolist())}
    n = len(grid)
    rows = [[3 * number[tuple(2 * np.array(cell) + 1 + x)] + a for x in _NODES for a in range(3)]
            for cell in np.ndindex(*CELLS)]  # fmt: skip
    i, j = np.repeat(rows, 60, axis=1).ravel(), np.tile(rows, 60).ravel()
    M, K = (sp.csc_array(sp.coo_array((np.tile(part.ravel(), len(rows)), (i, j)), (3 * n, 3 * n)))
            for part in _brick(size))  # fmt: skip
    corners = [c + 1 for c in CELLS]
    at = np.array([number[2 * i, 2 * j, 2 * k] for i, j, k in np.ndindex(*corners)])
    at = at.reshape(corners)
    sides = [at[0], at[-1], at[:, 0], at[:, -1], at[:, :, 0], at[:, :, -1]]
    faces = [np.stack([s[:-1, :-1], s[1:, :-1], s[1:, 1:], s[:-1, 1:]], axis=-1) for s in sides]
    return {
        "M": M, "K": K, "coordinates": grid * size / 2 - (0, WIDTH / 2, HEIGHT / 2),
        "faces": np.concatenate([x.reshape(-1, 4) for x in faces]),
    }  # fmt: skip


def build() -> mbd.System:
    """Return the board on its wall, without load."""
    system, mesh = mbd.System(gravity=(0, 0, -G)), board()
    x = np.asarray(mesh["coordinates"])[:, 0]
    ends = {"root": np.flatnonzero(x == 0), "tip": np.flatnonzero(x == LENGTH)}
    body = system.add(mbd.FlexibleBody("board", **mesh, interfaces=ends))
    system.add(mbd.Fixed("wall", system.ground, body.interface("root")))
    return system
