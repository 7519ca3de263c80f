r"""Products of the matrix in the fronts, and of its transpose, with vectors.

Block by block as the fronts hold it before they are factored: A_pp, A_pu and A_up of each. A matrix
that was put aside lies some floats further on. Many vectors at once lie side by side, a row of
numbers for each unknown, whose length is a multiple of four.
"""

from __future__ import annotations

from typing import Any

from mbd.linear.fronts import subtract_rows
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
from mbd.machine.jit import jit, kernel


@jit
def _add_transposed(F: Any, y: int, S: int, ld: int, x: int, n: int, k: int) -> None:
    """Do y += S^T x with the n x k block at S, its rows ld apart."""
    for r in range(n):
        s = F[x + r]
        if s != 0.0:
            for c in range(k):
                F[y + c] += F[S + r * ld + c] * s


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


@kernel
def products_kernel(I: Any, F: Any, k: int) -> None:
    """Do y -= S x for vectors side by side; I[k:] has how far away S lies, x, y, how many."""
    away, x, y, many = I[k], I[k + 1], I[k + 2], I[k + 3]
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n, u = I[j + FR_A] + away, I[j + FR_LDA], I[j + FR_NP], I[j + FR_U] * many
        W, ldw = I[j + FR_W] + away, I[j + FR_LDW]
        subtract_rows(F, y + u, many, many, A, ld, n, x + u, many, n)
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            w, k = I[group + UG_U] * many, I[group + UG_N]
            subtract_rows(F, y + u, many, many, W + I[group + UG_COL], ldw, k, x + w, many, n)
            k0, L = I[group + UG_K], I[group + UG_L] + away
            subtract_rows(
                F, y + w, many, many, L, I[group + UG_LD], n - k0, x + u + k0 * many, many, k
            )


@kernel
def solve_kernel(I: Any, F: Any, k: int) -> None:
    """Solve with the factored matrix for vectors side by side; I[k:] has x, work y, how many."""
    x, y, many = I[k], I[k + 1], I[k + 2]
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        n, u = I[j + FR_NP], I[j + FR_U] * many
        for i in range(u, u + n * many):
            F[y + i] = 0.0
        subtract_rows(F, y + u, many, many, I[j + FR_A], I[j + FR_LDA], n, x + u, many, n)
        for i in range(u, u + n * many):
            F[y + i] = -F[y + i]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            to, k, lda = x + I[group + UG_U] * many, I[group + UG_K], I[group + UG_LD]
            below = y + u + k * many
            subtract_rows(
                F, to, many, many, I[group + UG_L], lda, n - k, below, many, I[group + UG_N]
            )
    for f in range(I[N_FRONTS] - 1, -1, -1):
        j = I[FRONTS] + f * FR_SIZE
        n, u = I[j + FR_NP], I[j + FR_U] * many
        for i in range(u, u + n * many):
            F[x + i] = F[y + i]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            later, W = x + I[group + UG_U] * many, I[j + FR_W] + I[group + UG_COL]
            subtract_rows(F, x + u, many, many, W, I[j + FR_LDW], I[group + UG_N], later, many, n)
