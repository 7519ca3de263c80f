r"""Maps of degree two, :math:`z = c + Lx + \tfrac12 H[x, x]`, with functions on flat memory.

The constants are read off a function once, by its values at unit vectors, and compiled into the
functions as lists of their nonzeros.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.machine.jit import jit


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A map z(x) of degree two: its constants (m), (m, n), (m, n, n), and its functions."""

    c: np.ndarray
    L: np.ndarray
    H: np.ndarray
    value: Any
    slope: Any
    bend: Any
    back: Any
    matrix: Any
    add_bend: Any
    add_curvature: Any


def _coefficients(who: str, function: Callable[..., Any], n: int) -> Any:
    """Return c (m), L (m, n), H (m, n, n) of a function R^n -> R^m of degree two."""

    def at(x: np.ndarray) -> np.ndarray:
        return np.asarray(function(x), float).ravel()

    one = np.eye(n)
    c = at(np.zeros(n))
    if not np.all(np.isfinite(c)):
        raise ValueError(f"{who} must be finite at zero, got {c.tolist()}")
    ahead = np.array([at(e) for e in one])
    behind = np.array([at(-e) for e in one])
    L = 0.5 * (ahead - behind).T
    H = np.empty((len(c), n, n))
    for j in range(n):
        H[:, j, j] = ahead[j] + behind[j] - 2 * c
        for k in range(j):
            H[:, j, k] = H[:, k, j] = at(one[j] + one[k]) - ahead[j] - ahead[k] + c
    for part in (c, L, H):  # differences leave round-off where nothing is
        part[np.abs(part) < 1e-14 * max(np.abs(L).max(), np.abs(H).max())] = 0.0
    rng = np.random.default_rng(20261)
    for x in rng.normal(size=(3, n)):
        expected, got = at(x), c + L @ x + 0.5 * (H @ x) @ x
        error = np.abs(got - expected).max()
        if not error <= 1e-10 * max(1.0, np.abs(expected).max()):
            raise ValueError(
                f"{who} must be at most quadratic, differs from its second-order polynomial by "
                f"{error:.3g}; other faces need a Formulation with functions of their own"
            )
    return c, L, H


def entries(c: np.ndarray, L: np.ndarray, H: np.ndarray) -> Any:
    """Return the nonzeros of L and of H with their indices, a zero after each, and a stamp.

    The cache of kernels knows arrays by their print only. The stamp, which every function that uses
    the lists refers to, knows them to the last digit.
    """
    text = b"".join(x.tobytes() for x in (c, L, H))
    stamp = int(hashlib.sha256(text).hexdigest()[:12], 16)
    at_l, at_h = np.nonzero(L), np.nonzero(H)
    lists = [*(np.append(i, 0) for i in at_l), np.append(L[at_l], 0.0)]
    more = [*(np.append(i, 0) for i in at_h), np.append(H[at_h], 0.0)]
    return lists, more, stamp


def polynomial(who: str, function: Callable[..., Any], n: int) -> Polynomial:
    """Return the functions of a map of degree two, on the flat buffer."""
    c, L, H = _coefficients(who, function, n)
    m = len(c)
    (li, lj, lc), (hi, hj, hk, hc), stamp = entries(c, L, H)
    n_l, n_h = len(lc) - 1, len(hc) - 1

    @jit
    def value(F: Any, x: int, z: int) -> None:
        """Write z = c + L x + H[x, x] / 2."""
        _ = stamp
        for i in range(m):
            F[z + i] = c[i]
        for t in range(n_l):
            F[z + li[t]] += lc[t] * F[x + lj[t]]
        for t in range(n_h):
            F[z + hi[t]] += 0.5 * hc[t] * F[x + hj[t]] * F[x + hk[t]]

    @jit
    def bend(F: Any, v: int, w: int, z: int) -> None:
        """Add H[v, w] to z."""
        _ = stamp
        for t in range(n_h):
            F[z + hi[t]] += hc[t] * F[v + hj[t]] * F[w + hk[t]]

    @jit
    def slope(F: Any, x: int, v: int, z: int) -> None:
        """Write z = L v + H[x, v]."""
        _ = stamp
        for i in range(m):
            F[z + i] = 0.0
        for t in range(n_l):
            F[z + li[t]] += lc[t] * F[v + lj[t]]
        bend(F, x, v, z)

    @jit
    def back(F: Any, x: int, f: int, r: int) -> None:
        """Add (L + H[x, .])^T f to r."""
        _ = stamp
        for t in range(n_l):
            F[r + lj[t]] += lc[t] * F[f + li[t]]
        for t in range(n_h):
            F[r + hj[t]] += hc[t] * F[x + hk[t]] * F[f + hi[t]]

    @jit
    def add_bend(F: Any, s: float, v: int, A: int) -> None:
        """Add s H[v, .] to the (m, n) matrix A."""
        _ = stamp
        for t in range(n_h):
            F[A + n * hi[t] + hj[t]] += s * hc[t] * F[v + hk[t]]

    @jit
    def matrix(F: Any, x: int, A: int) -> None:
        """Write the (m, n) matrix L + H[x, .]."""
        _ = stamp
        for t in range(m * n):
            F[A + t] = 0.0
        for t in range(n_l):
            F[A + n * li[t] + lj[t]] = lc[t]
        add_bend(F, 1.0, x, A)

    @jit
    def add_curvature(F: Any, s: float, f: int, S: int, ld: int) -> None:
        """Add s f . H to the (n, n) block S."""
        _ = stamp
        for t in range(n_h):
            F[S + ld * hj[t] + hk[t]] += s * hc[t] * F[f + hi[t]]

    return Polynomial(c, L, H, value, slope, bend, back, matrix, add_bend, add_curvature)
