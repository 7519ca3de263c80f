"""Null spaces of constraint rows, and coordinates that stay independent in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mbd.base.tolerances import RANK, ROUND_OFF


def null_space(rows: Any, scale: np.ndarray) -> np.ndarray:
    """Return a basis of all x with rows x = 0, (n, n - rank), orthonormal in x / scale.

    Parameters
    ----------
    rows : (k, n) array or sparse matrix
        Redundant rows do no harm: the rank is found by QR with column pivoting.
    scale : (n,) array
        Size of a small change of each unknown, so that lengths and angles may be compared.
    """
    B = sp.csr_matrix(rows).toarray() * scale
    length = np.linalg.norm(B, axis=1)
    B = B[length > 0.0] / length[length > 0.0, None]
    if not len(B):
        return np.diag(scale)
    Q, R, _ = scipy.linalg.qr(B.T, pivoting=True)
    sizes = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(sizes > RANK * sizes[0]))
    return scale[:, None] * Q[:, rank:]


def independent(N: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a basis that are independent, and the basis with the identity in them.

    The rows come from QR with pivoting, so that the rest depends on them by moderate factors; what
    of these is round-off is zero.
    """
    f = N.shape[1]
    if not f:
        return np.zeros(0, int), N
    _, _, order = scipy.linalg.qr((N / scale[:, None]).T, pivoting=True, mode="economic")
    chosen = np.sort(order[:f])
    basis = np.linalg.solve(N[chosen].T, N.T).T
    none = np.abs(basis) * scale[chosen] <= ROUND_OFF * scale[:, None]
    return chosen, np.where(none, 0.0, basis)
