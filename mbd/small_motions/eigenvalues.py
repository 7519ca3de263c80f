r"""Eigenvalues s and shapes of small motions, :math:`\delta(t) = \hat\delta\,e^{st}`.

`dense` works in independent coordinates. Where nothing moves and nothing damps it solves
:math:`L^T K N \hat\eta = -s^2 L^T M N \hat\eta`, which keeps free motions apart from slow ones;
otherwise it takes the state matrix. `sparse` finds the modes nearest to a shift :math:`\sigma` of
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
import scipy.linalg
import scipy.sparse as sp

from mbd.base.tolerances import FREQUENCY_REAL, FREQUENCY_ZERO
from mbd.linear.arnoldi import largest
from mbd.machine import buffer as m
from mbd.small_motions.minimal import Minimal
from mbd.small_motions.small_motion import SmallMotion


def dense(minimal: Minimal) -> tuple[np.ndarray, np.ndarray]:
    """Return all eigenvalues, one of each conjugate pair, and shapes (n_v, modes), slowest first.

    A free motion appears once, with the eigenvalue zero.
    """
    motion = minimal.motion
    if not minimal.S.size:
        return np.zeros(0, complex), np.zeros((motion.model.n_v, 0), complex)
    plain = motion.at_rest and not motion.G.nnz and not motion.Bv.shape[0]
    s, eta = _undamped(minimal) if plain else _general(minimal)
    order = np.lexsort((s.imag, np.round(np.abs(s), 9)))
    return s[order], minimal.bases.Np @ eta[:, order]


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


def _undamped(minimal: Minimal) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the squares of the frequencies."""
    K = minimal.L.T @ (minimal.motion.K @ minimal.bases.Np)
    M = minimal.mass
    # rows tested alike make both symmetric when N is: bring L to N, M = N^T M N
    back = np.linalg.lstsq(minimal.L, minimal.bases.N, rcond=None)[0]
    K, M = back.T @ K, back.T @ M
    fits = np.abs(minimal.L @ back - minimal.bases.N).max() < 1e-9 * np.abs(minimal.bases.N).max()
    lopsided = np.abs(K - K.T).max(initial=0.0) > 1e-9 * np.abs(K).max(initial=0.0)
    if fits and not lopsided:
        squares, shapes = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    elif fits:
        squares, shapes = scipy.linalg.eig(K, M)
    else:
        K, M = minimal.L.T @ (minimal.motion.K @ minimal.bases.Np), minimal.mass
        squares, shapes = scipy.linalg.eig(K, M)
    size = np.abs(squares).max(initial=0.0)
    values, vectors = [], []
    for square, shape in zip(squares, shapes.T, strict=True):
        if abs(square) <= FREQUENCY_ZERO * size or size == 0.0:
            roots = [0.0]
        else:
            if abs(square.imag) <= FREQUENCY_REAL * abs(square):
                square = complex(square.real)  # noqa: PLW2901
            root = np.sqrt(-square)
            roots = [root, -root]
            if square.imag == 0.0 and square.real > 0.0:
                roots = [1j * np.sqrt(square.real)]
        for root in roots:
            if np.imag(root) >= 0.0:
                values.append(complex(root))
                vectors.append(shape.astype(complex))
    return np.array(values), np.array(vectors).T


def _general(minimal: Minimal) -> tuple[np.ndarray, np.ndarray]:
    """Solve for the eigenvalues of the state matrix."""
    size, fastest = minimal.sizes()
    S = minimal.S * size / size[:, None] / (fastest or 1.0)
    free = _kernel(S)
    s, X = _deflated(S)
    turned = np.abs(s.imag) > FREQUENCY_REAL * np.maximum(np.abs(s), 1e-3 * FREQUENCY_REAL)
    keep = (s.imag > 0.0) | ~turned
    s = np.where(turned, s, s.real)[keep]
    X = np.hstack([free.astype(complex), X[:, keep]])
    s = np.concatenate([np.zeros(free.shape[1], complex), s])
    eta = size[: minimal.n_positions, None] * X[: minimal.n_positions]
    shown = np.abs(eta).max(0) > 1e-12 * np.abs(X).max(0)  # a pure rate has no shape
    return fastest * s[shown], eta[:, shown]


def _deflated(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues other than zero, and vectors.

    A free motion and its rate share the eigenvalue zero in a chain of Jordan's, which an eigenvalue
    solver spreads to the root of round-off, and slow modes with it. With the null space first,
    S = [[0, A], [0, S']], and S' is what is left.
    """
    if not len(S):
        return np.zeros(0, complex), np.zeros((0, 0), complex)
    free = _kernel(S)
    k = free.shape[1]
    if not k:
        return scipy.linalg.eig(S)
    Q, _ = scipy.linalg.qr(free)
    T = Q.T @ S @ Q
    s, Y = _deflated(T[k:, k:])
    return s, Q[:, :k] @ (T[:k, k:] @ Y / s) + Q[:, k:] @ Y


def _kernel(S: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the null space of rates relative to the fastest."""
    _, values, Vt = scipy.linalg.svd(S)
    return Vt[values <= FREQUENCY_ZERO * max(1.0, values[0])].T


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
