"""Null spaces of constraint rows, and coordinates that stay independent in them."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mbd.base.tolerances import RANK, ROUND_OFF


def null_space(rows: Any, scale: np.ndarray) -> sp.csr_array:
    """Return a basis of all x with rows x = 0, (n, n - rank), orthonormal in x / scale.

    Unknowns that no chain of rows connects share no column; within such a component columns are
    full: a joint moves all that hangs on it.

    Parameters
    ----------
    rows : (k, n) array or sparse matrix
        Redundant rows do no harm: the rank of a component is found by QR with column pivoting.
    scale : (n,) array
        Size of a small change of each unknown, so that lengths and angles may be compared.
    """
    B = sp.csr_array(rows) @ sp.diags_array(scale)
    length = sp.linalg.norm(B, axis=1)
    B = sp.diags_array(1.0 / length[length > 0.0]) @ B[length > 0.0]
    _, piece = sp.csgraph.connected_components(abs(B).T @ abs(B), directed=False)
    order = np.argsort(piece, kind="stable")
    owner = piece[B.indices[B.indptr[:-1]]]  # of each row
    blocks = []
    for k, unknowns in enumerate(np.split(order, np.cumsum(np.bincount(piece))[:-1])):
        Q, R, _ = scipy.linalg.qr(B[owner == k][:, unknowns].toarray().T, pivoting=True)
        sizes = np.abs(np.diagonal(R))
        rank = int(np.count_nonzero(sizes > RANK * sizes[:1]))
        blocks.append(scale[unknowns, None] * Q[:, rank:])
    N = sp.block_diag(blocks, format="csr")
    return sp.csr_array(N[np.argsort(order)])


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
