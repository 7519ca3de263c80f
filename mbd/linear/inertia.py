r"""Inertia of the saddle-point matrix: the number of motions a stiffness pushes away.

Eliminated block by block in the order of the fronts, the symmetric matrix

.. math:: \begin{bmatrix} K & B^T \\ B & -\epsilon \end{bmatrix}

leaves the Schur complement of the pivots of each front. Inertias add up [1]_, and every row of B
adds one negative eigenvalue: the rest is the number of directions with :math:`B\delta = 0` in
which :math:`\delta^T K\delta < 0`. Redundant rows do no harm.

Congruence leaves inertia as it is: moves are measured by the size of a body, rows by their largest
entry, so that at any scale of lengths neither loses the other in round-off. Sizes of entries of K
are no measure: what is neutral has none.

References
----------
.. [1] E. V. Haynsworth, Determination of the inertia of a partitioned Hermitian matrix, Linear
   Algebra Appl. 1 (1968).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.algebra.vec import copy
from mbd.base.tolerances import SOFT_LOOPS
from mbd.linear.fronts import eliminate
from mbd.machine import buffer as m
from mbd.machine.front_records import front
from mbd.machine.jit import kernel
from mbd.model.model import Model
from mbd.model.pattern import pattern
from mbd.model.workspace import Workspace


@kernel
def factor_and_keep(I: Any, F: Any, k: int) -> None:
    """Factor front by front, and keep the Schur complements of the pivots from F[k] on."""
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        for r in range(f.n_p):
            copy(F, k, f.A + r * f.lda, f.n_p)
            k += f.n_p
        eliminate(I, F, f)


class Inertia:
    """The fronts of a model, to count negative directions of any stiffness of its pattern."""

    def __init__(self, model: Model) -> None:
        I = model.I
        fronts = I[I[m.FRONTS] :][: I[m.N_FRONTS] * m.FR_SIZE].reshape(-1, m.FR_SIZE)
        self.pivots = fronts[:, m.FR_NP]
        self.ends = np.cumsum(self.pivots**2)
        self.model, self.work = model, Workspace(model, extra=int(self.ends[-1]))
        at = pattern(model)
        self.n = len(at.starts) - 1
        rows = np.repeat(np.arange(self.n, dtype=np.int64), np.diff(at.starts))
        self.keys = rows * self.n + at.columns
        mass = model.F[model.I[m.DIAG] + model.numbering.v]
        self.by_mass = sp.diags(1.0 / np.sqrt(mass))
        moves = model.numbering.v_kinds == m.TRANSLATION
        units = model.units / np.where(moves, len(model.nodes), 1)  # [m, -]
        self.units, mass = sp.diags(units), mass * units**2
        self.largest = float(mass.max(initial=0.0)) or 1.0
        self.work.vector(m.DIAG)[model.numbering.v] = mass / self.largest
        if model.I[m.LOOPS]:
            self.work.F[m.SOFT] = SOFT_LOOPS
        self.work.vector(m.DIAG)[model.numbering.lam] = 1.0

    def negative(self, K: sp.csr_matrix, B: sp.csr_matrix) -> int | None:
        """Return the number of negative directions; None if the pivots do not tell it.

        Parameters
        ----------
        K : (n_v, n_v)
            Its symmetric part counts.
        B : (n_lam, n_v)
        """
        K = 0.5 * (K + K.T)
        size = float(np.abs(self.by_mass @ K @ self.by_mass).max()) or 1.0  # of K against M
        S = sp.coo_array(self.units @ K @ self.units / (size * self.largest))
        if B.shape[0]:
            B = B @ self.units
            rows = np.abs(B).max(axis=1).toarray().ravel()
            rows = 1.0 / np.where(rows > 0.0, rows, 1.0)
            B, soft = sp.diags(rows) @ B, np.full(len(rows), self.work.F[m.SOFT])
            S = sp.coo_array(sp.block_array([[S, B.T], [B, sp.diags(-soft)]]))
        I, S_run, F = self.work.I, self.work.S, self.work.F
        F[I[m.MATRIX] : I[m.MATRIX] + I[m.MATRIX_SIZE]] = 0.0
        places = np.searchsorted(self.keys, S.row.astype(np.int64) * self.n + S.col)
        F[pattern(self.model).places[places]] = S.data
        S_run[m.SMALL_PIVOTS] = 0
        factor_and_keep(I, F, self.model.size)
        blocks = self._complements()
        if S_run[m.SMALL_PIVOTS] or not all(np.isfinite(b).all() for b in blocks):
            return None
        return sum(int((_values(b) < 0.0).sum()) for b in blocks) - B.shape[0]

    def _complements(self) -> list[np.ndarray]:
        """Return what was kept, (fronts, n, n) for every number of pivots n."""
        kept = self.work.F[self.model.size :]
        complements = []
        for n in np.unique(self.pivots):
            starts = (self.ends - self.pivots**2)[self.pivots == n]
            complements.append(kept[starts[:, None] + np.arange(n * n)].reshape(-1, n, n))
        return complements


def _values(blocks: np.ndarray) -> np.ndarray:
    """Return numbers with the signs of the eigenvalues of symmetric matrices."""
    largest = np.abs(blocks).max(axis=2)
    size = np.sqrt(np.maximum(largest, 1e-300 + 1e-20 * largest.max(axis=1, keepdims=True)))
    even = blocks / size[:, :, None] / size[:, None, :]
    return np.linalg.eigvalsh(0.5 * (even + even.swapaxes(1, 2)))
