r"""Products of the matrix in the fronts, and of its transpose, with vectors.

Block by block as the fronts hold it before they are factored: A_pp, A_pu and A_up of each. A matrix
that was put aside lies some floats further on.
"""

from __future__ import annotations

from typing import Any

from mbd.machine.buffer import (
    FR_A,
    FR_GROUPS,
    FR_LDA,
    FR_LDW,
    FR_NG,
    FR_NP,
    FR_SIZE,
    FR_U,
    FR_W,
    FRONTS,
    N_FRONTS,
    UG_COL,
    UG_K,
    UG_L,
    UG_LD,
    UG_N,
    UG_SIZE,
    UG_U,
)
from mbd.machine.jit import jit

__all__ = ["add_product", "add_transposed_product"]


@jit
def _add(F: Any, y: int, S: int, ld: int, x: int, n: int, k: int) -> None:
    """Do y += S x with the n x k block at S, its rows ld apart."""
    for r in range(n):
        s = 0.0
        for c in range(k):
            s += F[S + r * ld + c] * F[x + c]
        F[y + r] += s


@jit
def _add_transposed(F: Any, y: int, S: int, ld: int, x: int, n: int, k: int) -> None:
    """Do y += S^T x with the n x k block at S, its rows ld apart."""
    for r in range(n):
        s = F[x + r]
        if s != 0.0:
            for c in range(k):
                F[y + c] += F[S + r * ld + c] * s


@jit
def add_product(I: Any, F: Any, away: int, x: int, y: int) -> None:
    """Do y += S x, vectors over the unknowns at F[x] and F[y]; S lies `away` from the fronts."""
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n, u = I[j + FR_A] + away, I[j + FR_LDA], I[j + FR_NP], I[j + FR_U]
        W, ldw = I[j + FR_W] + away, I[j + FR_LDW]
        _add(F, y + u, A, ld, x + u, n, n)
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            w, k = I[group + UG_U], I[group + UG_N]
            _add(F, y + u, W + I[group + UG_COL], ldw, x + w, n, k)
            k0, L = I[group + UG_K], I[group + UG_L] + away
            _add(F, y + w, L, I[group + UG_LD], x + u + k0, k, n - k0)


@jit
def add_transposed_product(I: Any, F: Any, away: int, x: int, y: int) -> None:
    """Do y += S^T x, vectors over the unknowns at F[x] and F[y]; S lies `away` from the fronts."""
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n, u = I[j + FR_A] + away, I[j + FR_LDA], I[j + FR_NP], I[j + FR_U]
        W, ldw = I[j + FR_W] + away, I[j + FR_LDW]
        _add_transposed(F, y + u, A, ld, x + u, n, n)
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            w, k = I[group + UG_U], I[group + UG_N]
            _add_transposed(F, y + w, W + I[group + UG_COL], ldw, x + u, n, k)
            k0, L = I[group + UG_K], I[group + UG_L] + away
            _add_transposed(F, y + u + k0, L, I[group + UG_LD], x + w, k, n - k0)
