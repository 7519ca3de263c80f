r"""Eigenvalues s and shapes of small motions, :math:`\delta(t) = \hat\delta\,e^{st}`.

`dense` works in independent coordinates, with all eigenvalues of a pencil: of the squares,
:math:`L^T K N \hat\eta = -s^2 L^T M N \hat\eta`, where nothing moves and nothing damps, otherwise
of the states. `sparse` finds the modes nearest to a shift :math:`\sigma` of
the whole descriptor pencil by Arnoldi's method [1]_; one step of it solves, with
:math:`w = \delta_x + (\sigma - A)\delta`,

.. math::
   \begin{bmatrix} K + (G + \sigma M)(\sigma - A) & B^T \\ B_p & 0 \\ H + B_v(\sigma - A) & 0
   \end{bmatrix}
   \begin{bmatrix} \delta \\ \mu \end{bmatrix}
   = -\begin{bmatrix} M w_x + (G + \sigma M)\,\delta_x \\ 0 \\ B_v\,\delta_x \end{bmatrix} .

References
----------
.. [1] R. B. Lehoucq, D. C. Sorensen and C. Yang, ARPACK users' guide, SIAM, 1998.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import FREQUENCY_REAL, UNSTABLE
from mbd.linear.arnoldi import largest
from mbd.machine import buffer as m
from mbd.small_motions.minimal import Minimal
from mbd.small_motions.small_motion import SmallMotion
from mbd.small_motions.spectrum import Eigenvalues, Pencil, spectrum


def dense(minimal: Minimal) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return all eigenvalues, one of each conjugate pair, and shapes (n_v, modes), slowest first.

    A free motion appears once, with the eigenvalue zero. Last come the zeros by level.
    """
    motion, k = minimal.motion, minimal.n_positions
    if not len(minimal.pencil.A):
        return np.zeros(0, complex), np.zeros((motion.model.n_v, 0), complex), ()
    plain = motion.at_rest and not motion.G.nnz and not motion.Bv.shape[0]
    solved = spectrum(_of_squares(minimal.pencil, k) if plain else minimal.pencil)
    s, X = _roots(solved) if plain else (solved.s, solved.X)
    turned = np.abs(s.imag) > FREQUENCY_REAL * np.abs(s)
    keep = (s.imag > 0.0) | ~turned
    s = np.where(turned, s, s.real)[keep]
    free = solved.zeros[0] if solved.zeros else np.zeros((len(X), 0))
    s = np.concatenate([np.zeros(free.shape[1], complex), s])
    eta = np.hstack([free, X[:, keep]])[:k].astype(complex)
    order = np.lexsort((s.imag, np.round(np.abs(s), 9)))
    # a zero of the squares is a position and its velocity
    levels = tuple(n for x in solved.levels for n in (x,) * (2 if plain else 1))
    return s[order], minimal.bases.Np @ eta[:, order], levels


def _of_squares(pencil: Pencil, k: int) -> Pencil:
    """Return the pencil of squares: of nothing that moves or damps positions alone are states."""
    down, up = slice(k, None), slice(None, k)
    return Pencil(
        pencil.A[down, up], pencil.E[down, down], pencil.A_size[down, up], pencil.E_size[down, down]
    )  # fmt: skip


def _roots(squares: Eigenvalues) -> tuple[np.ndarray, np.ndarray]:
    """Return both roots of each square; of real ones exactly on an axis."""
    real = np.abs(squares.s.imag) <= FREQUENCY_REAL * np.abs(squares.s)
    root = np.sqrt(np.where(real, squares.s.real, squares.s).astype(complex))
    return np.concatenate([root, -root]), np.hstack([squares.X, squares.X])


def grows(s: np.ndarray) -> np.ndarray:
    """Tell which motions grow."""
    return s.real > UNSTABLE * np.abs(s)


def alike(s: np.ndarray) -> list[np.ndarray]:
    """Return the groups of modes with the same eigenvalue, each of two or more."""
    groups: list[list[int]] = []
    for i, value in enumerate(s):
        for group in groups:
            if abs(value - s[group[0]]) <= 1e-9 * max(abs(value), 1e-9 * np.abs(s).max()):
                group.append(i)
                break
        else:
            groups.append([i])
    return [np.array(g) for g in groups if len(g) > 1]


def sparse(
    motion: SmallMotion, n: int, shift: complex | None = None,
    solved: Callable[[], None] = lambda: None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the n modes whose eigenvalues are nearest to a shift [1/s], like `dense`.

    The default shift is small, real and positive: the slowest modes, free motions included.
    ``solved`` is called behind every solution with the shifted matrix: what takes the time.
    """
    model, n_v = motion.model, motion.model.n_v
    step, dtype = _inverse(motion, _small(motion) if shift is None else shift, solved)
    rng = np.random.default_rng(40961)
    start = step(step(rng.normal(size=2 * n_v)))  # into the motions that the rows allow
    rows = motion.Bp.shape[0] - int(model.compliant.sum())
    rows -= model.report(motion.state).n_redundant if model.redundant else 0
    freedoms = 2 * n_v - 2 * rows - motion.Bv.shape[0]
    wanted = min(2 * n + 2, 2 * n_v - 2, max(freedoms, 2))
    count = min(max(2 * wanted + 1, 20), 2 * n_v)
    inverse, X = largest(step, start, wanted, count, dtype)
    sigma = _small(motion) if shift is None else shift
    finite = np.abs(inverse) > 1e-10 * np.abs(inverse).max()
    s, X = sigma + 1.0 / inverse[finite], X[:, finite]
    slow = 1e-4 * abs(_small(motion))
    s = np.where(np.abs(s) < slow, 0.0, s)
    s = np.where(np.abs(s.imag) <= 1e-7 * np.abs(s), s.real, s)
    keep = np.flatnonzero(s.imag >= 0.0)
    if shift is not None:
        keep = keep[np.argsort(np.abs(s[keep] - shift))][:n]
    keep = keep[np.lexsort((s.imag[keep], np.round(np.abs(s[keep]), 9)))]
    s, X = s[keep], X[:n_v, keep]
    return _without_chains(s, X, motion.scale, n)


def _without_chains(
    s: np.ndarray, X: np.ndarray, scale: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Leave out zero eigenvalues that repeat a free motion, and keep n modes."""
    zero = s == 0.0
    if zero.any():
        U, values, _ = np.linalg.svd(X[:, zero] / scale[:, None], full_matrices=False)
        free = scale[:, None] * U[:, values > 1e-6 * values[0]]
        X = np.hstack([free, X[:, ~zero]])
        s = np.concatenate([np.zeros(free.shape[1]), s[~zero]])
    return s[:n].astype(complex), X[:, :n].astype(complex)


def _small(motion: SmallMotion) -> float:
    """Return a rate [1/s] well below those of the model."""
    size = np.abs(motion.K).multiply(motion.scale[:, None]).multiply(motion.scale[None, :])
    mass = np.abs(motion.M).multiply(motion.scale[:, None]).multiply(motion.scale[None, :])
    rates = [np.sqrt(size.max() / mass.max())] if size.nnz else []
    rates += [np.abs(motion.A).max(), np.linalg.norm(motion.omega)]
    return 1e-3 * float(max(rates)) or 1.0


def _inverse(motion: SmallMotion, sigma: complex, solved: Callable[[], None]) -> tuple[Any, Any]:
    """Return x = (delta, w) -> (Pencil - sigma E)^-1 E x, and its type of numbers."""
    from scipy.sparse.linalg import splu

    n_v, n_p = motion.model.n_v, motion.Bp.shape[0]
    n_lam = n_p + motion.Bv.shape[0]
    shifted = sigma * sp.eye_array(n_v) - motion.A
    heavy = motion.G + sigma * motion.M
    rows = sp.vstack([motion.Bp, motion.H + motion.Bv @ shifted])
    rates = motion.model.numbering.lam_kinds == m.VELOCITY_ROW
    columns = sp.hstack([motion.Bt[:, ~rates], motion.Bt[:, rates]])
    top = motion.K + heavy @ shifted
    full = sp.csc_matrix(sp.block_array([[top, columns], [rows, None]]))
    # redundant rows: soft in the factors only, refined away
    size = np.abs(top).max() or 1.0
    soft = 1e-12 * size * float(motion.model.redundant or motion.model.compliant.any())
    corner = sp.diags(np.concatenate([np.zeros(n_v), np.full(n_lam, -1.0)]))
    factors = splu(sp.csc_matrix(full + (soft / size**2) * corner))
    refine = 3 if soft else 1

    def step(x: np.ndarray) -> np.ndarray:
        delta, w = x[:n_v], x[n_v:]
        right = -np.concatenate([motion.M @ w + heavy @ delta, np.zeros(n_p), motion.Bv @ delta])
        y = factors.solve(right)
        for _ in range(refine):
            y += factors.solve(right - full @ y)
        moved = y[:n_v]
        solved()
        return np.concatenate([moved, delta + shifted @ moved])

    return step, np.result_type(full.dtype, float)
