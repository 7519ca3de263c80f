"""Finite element models for tests, made here: a lattice of springs, a beam of Hermite elements."""

import numpy as np
import scipy.sparse as sp


def lattice(shape=(5, 2, 2), size=(1.0, 0.1, 0.08), stiffness=2e6, mass=1.2, seed=0):
    """Mass points on a grid, springs to all neighbours, diagonals too: M, K, x."""
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), -1).reshape(-1, 3)
    x = grid * np.array(size) / (np.array(shape) - 1)
    x = x + 0.01 * min(size) * np.random.default_rng(seed).normal(size=x.shape)
    n = len(x)
    K = np.zeros((3 * n, 3 * n))
    for a in range(n):
        for b in range(a):
            if np.abs(grid[a] - grid[b]).max() == 1:
                e = x[b] - x[a]
                k = stiffness * np.outer(e, e) / (e @ e)
                for i, j, s in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                    K[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += s * k
    masses = np.random.default_rng(seed + 1).uniform(0.5, 1.5, n)
    masses *= mass / masses.sum()
    return sp.kron(sp.diags(masses), np.eye(3)).tocsc(), sp.csc_matrix(K), x


def ends(x):
    """Nodes at the two ends along the first axis."""
    middle = 0.5 * np.ptp(x[:, 0])
    order = np.argsort(x[:, 0])
    count = int((x[:, 0] < 0.1 * middle).sum())
    return {"left": order[:count], "right": order[-count:]}


def beam(n, length, EA, GJ, EI2, EI3, mass_per_length, inertia=(1e-6, 1e-6, 1e-6)):
    """A straight Euler-Bernoulli beam along x, lumped masses: M, K (6 per node), x."""
    h = length / n
    K = np.zeros((6 * n + 6, 6 * n + 6))
    for e in range(n):
        k = np.zeros((12, 12))
        for stiff, i in ((EA / h, 0), (GJ / h, 3)):
            k[np.ix_([i, 6 + i], [i, 6 + i])] += stiff * np.array([[1, -1], [-1, 1]])
        for EI, w, t, s in ((EI3, 1, 5, 1.0), (EI2, 2, 4, -1.0)):
            b = EI / h**3 * np.array([
                [12, s * 6 * h, -12, s * 6 * h], [s * 6 * h, 4 * h * h, -s * 6 * h, 2 * h * h],
                [-12, -s * 6 * h, 12, -s * 6 * h], [s * 6 * h, 2 * h * h, -s * 6 * h, 4 * h * h],
            ])  # fmt: skip
            dofs = [w, t, 6 + w, 6 + t]
            k[np.ix_(dofs, dofs)] += b
        K[6 * e : 6 * e + 12, 6 * e : 6 * e + 12] += k
    weights = np.full(n + 1, h)
    weights[[0, -1]] = h / 2
    m = mass_per_length * weights
    diagonal = np.concatenate([np.repeat(m[:, None], 3, 1), np.outer(weights, inertia)], axis=1)
    x = np.zeros((n + 1, 3))
    x[:, 0] = np.linspace(0, length, n + 1)
    return sp.diags(diagonal.ravel()).tocsc(), sp.csc_matrix(K), x
