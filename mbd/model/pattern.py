"""The sparsity pattern of the iteration matrix, as it lies in the fronts."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, per_model


@dataclass(frozen=True, eq=False)
class Pattern:
    """Place in F of each entry of the matrix, row by row, in the order of the model.

    Attributes
    ----------
    places, columns, starts : arrays
        Of the entries of row i those from ``starts[i]`` to ``starts[i + 1]``.
    """

    places: np.ndarray
    columns: np.ndarray
    starts: np.ndarray

    def read(self, F: np.ndarray) -> sp.csr_matrix:
        """Return the filled (not yet factored) fronts: velocities first, then rows."""
        n = len(self.starts) - 1
        S = sp.csr_matrix((F[self.places], self.columns, self.starts), (n, n), copy=True)
        S.eliminate_zeros()
        return S


@per_model
def pattern(model: FrozenModel) -> Pattern:
    """Return where the entries of a model are."""
    I = model.I
    places, rows, columns = [], [], []
    order = np.empty(int(I[m.N_U]), np.int64)  # of unknowns among velocities and rows
    order[np.concatenate([model.numbering.v, model.numbering.lam])] = np.arange(len(order))

    def add(start: int, ld: int, r: np.ndarray, c: np.ndarray) -> None:
        places.append((start + ld * np.arange(len(r))[:, None] + np.arange(len(c))).ravel())
        rows.append(np.repeat(order[r], len(c)))
        columns.append(np.tile(order[c], len(r)))

    for f in range(I[m.N_FRONTS]):
        at = I[m.FRONTS] + f * m.FR_SIZE
        record = I[at : at + m.FR_SIZE]
        W, ld = record[m.FR_W], record[m.FR_LDW]
        u = record[m.FR_U] + np.arange(record[m.FR_NP])
        add(record[m.FR_A], record[m.FR_LDA], u, u)
        groups = I[record[m.FR_GROUPS] :][: record[m.FR_NG] * m.UG_SIZE].reshape(-1, m.UG_SIZE)
        for g in groups:
            later = g[m.UG_U] + np.arange(g[m.UG_N])
            add(W + g[m.UG_COL], ld, u, later)
            add(g[m.UG_L], g[m.UG_LD], later, u[g[m.UG_K] :])
    where, i, j = (np.concatenate(x) for x in (places, rows, columns))
    sort = np.lexsort((j, i))
    starts = np.searchsorted(i[sort], np.arange(len(order) + 1))
    return Pattern(where[sort], j[sort].astype(np.int32), starts.astype(np.int32))


def sparse(model: FrozenModel, F: np.ndarray) -> sp.csc_matrix:
    """Return the filled (not yet factored) fronts as one matrix in the order of the unknowns."""
    back = np.argsort(np.concatenate([model.numbering.v, model.numbering.lam]))
    return pattern(model).read(F)[back][:, back].tocsc()
