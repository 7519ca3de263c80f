r"""Eigenvalues of largest size of :math:`x \to T x`, in a space of vectors that grows.

A block of vectors is multiplied by T again and again, and the space that they span is never
restarted [1]_. Ritz pairs count from the largest on, up to the first that has not converged: where
eigenvalues gather at a point, as those of stiffness-proportional damping do, fewer come out than
were asked for, and none of those is missing that are further away from it.

References
----------
.. [1] Y. Saad, Numerical methods for large eigenvalue problems, SIAM, 2011, section 6.5.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

_BLOCK = 4  # eigenvalues that count so many times are found


def largest(
    step: Callable[[np.ndarray], np.ndarray], n: int, k: int, dtype: Any = float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return at least k eigenvalues of largest size, largest first, vectors, and whether it is so.

    Fewer are all that are not zero, or all that converge: only then it is not so.
    """
    rng = np.random.default_rng(40961)

    def image(X: np.ndarray) -> np.ndarray:
        return np.column_stack([step(x) for x in X.T])

    def fresh() -> np.ndarray:
        return image(rng.normal(size=(n, min(_BLOCK, n))).astype(dtype))

    V = np.zeros((n, 0), dtype)
    TV = np.zeros((n, 0), dtype)
    new = image(fresh())
    check, most = max(4 * _BLOCK, 2 * k), min(n, 50 * _BLOCK + 6 * k)
    while True:
        new = _apart(V, new)
        if new.shape[1] < _BLOCK:  # what is left is round-off, which T may take anywhere
            new = np.hstack([new, _apart(np.hstack([V, new]), fresh())])
        new = new[:, : min(_BLOCK, n - V.shape[1])]
        if new.shape[1]:
            V = np.hstack([V, new])
            new = image(new)
            TV = np.hstack([TV, new])
        ended = not new.shape[1] or V.shape[1] >= most
        if V.shape[1] < check and not ended:
            continue
        values, Y = np.linalg.eig(V.conj().T @ TV)
        order = np.argsort(-np.abs(values), kind="stable")
        values, Y = values[order], Y[:, order]
        left = np.linalg.norm(TV @ Y - V @ (Y * values), axis=0)
        size = np.abs(values)
        good = (left <= 1e-10 * size) & (size > 1e-10 * size[0])  # T takes the others to zero
        count = int(np.argmin(good)) if not good.all() else len(good)
        if count >= k or ended:
            return (
                values[:count],
                V @ Y[:, :count],
                count >= k or not V.shape[1] < n or not new.shape[1],
            )
        check = int(1.3 * check)


def _apart(V: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what vectors add to those of V and is no round-off."""
    size = np.linalg.norm(X, axis=0)
    for _ in range(2):
        X = X - V @ (V.conj().T @ X)
    X = X[:, np.linalg.norm(X, axis=0) > 1e-9 * size]
    if not X.shape[1]:
        return X
    Q, R = np.linalg.qr(X / np.linalg.norm(X, axis=0))
    Q = Q[:, np.abs(np.diagonal(R)) > 1e-9]
    return Q - V @ (V.conj().T @ Q)
