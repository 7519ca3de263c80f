r"""Products of the matrix in the fronts, and of its transpose, with vectors.

Block by block as the fronts hold it before they are factored: A_pp, A_pu and A_up of each. A matrix
that was put aside lies some floats further on. Many vectors at once lie side by side, a row of
numbers for each unknown, whose length is a multiple of four.
"""

from __future__ import annotations

from typing import Any

from mbd.linear.fronts import Rows, subtract_rows
from mbd.machine import buffer as m
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
    for f in range(I[m.N_FRONTS]):
        j = I[m.FRONTS] + f * m.FR_SIZE
        A, ld, n, u = I[j + m.FR_A] + away, I[j + m.FR_LDA], I[j + m.FR_NP], I[j + m.FR_U]
        W, ldw = I[j + m.FR_W] + away, I[j + m.FR_LDW]
        _add_transposed(F, y + u, A, ld, x + u, n, n)
        for g in range(I[j + m.FR_NG]):
            group = I[j + m.FR_GROUPS] + g * m.UG_SIZE
            w, k = I[group + m.UG_U], I[group + m.UG_N]
            _add_transposed(F, y + w, W + I[group + m.UG_COL], ldw, x + u, n, k)
            k0, L = I[group + m.UG_K], I[group + m.UG_L] + away
            _add_transposed(F, y + u + k0, L, I[group + m.UG_LD], x + w, k, n - k0)


@kernel
def products_kernel(I: Any, F: Any, k: int) -> None:
    """Do y -= S x for vectors side by side; I[k:] has how far away S lies, x, y, how many."""
    away, x, y, many = I[k], I[k + 1], I[k + 2], I[k + 3]
    for f in range(I[m.N_FRONTS]):
        j = I[m.FRONTS] + f * m.FR_SIZE
        A, n, u = Rows(I[j + m.FR_A] + away, I[j + m.FR_LDA]), I[j + m.FR_NP], I[j + m.FR_U] * many
        W, ldw = I[j + m.FR_W] + away, I[j + m.FR_LDW]
        own, source = Rows(y + u, many), x + u
        subtract_rows(F, own, many, A, n, Rows(source, many), n)
        for g in range(I[j + m.FR_NG]):
            group = I[j + m.FR_GROUPS] + g * m.UG_SIZE
            w, k = I[group + m.UG_U] * many, I[group + m.UG_N]
            beside = Rows(W + I[group + m.UG_COL], ldw)
            subtract_rows(F, own, many, beside, k, Rows(x + w, many), n)
            k0, below = I[group + m.UG_K], Rows(I[group + m.UG_L] + away, I[group + m.UG_LD])
            right = Rows(source + k0 * many, many)
            subtract_rows(F, Rows(y + w, many), many, below, n - k0, right, k)


@kernel
def solve_kernel(I: Any, F: Any, k: int) -> None:
    """Solve with the factored matrix for vectors side by side; I[k:] has x, work y, how many."""
    x, y, many = I[k], I[k + 1], I[k + 2]
    for f in range(I[m.N_FRONTS]):
        j = I[m.FRONTS] + f * m.FR_SIZE
        n, u = I[j + m.FR_NP], I[j + m.FR_U] * many
        for i in range(u, u + n * many):
            F[y + i] = 0.0
        A = Rows(I[j + m.FR_A], I[j + m.FR_LDA])
        subtract_rows(F, Rows(y + u, many), many, A, n, Rows(x + u, many), n)
        for i in range(u, u + n * many):
            F[y + i] = -F[y + i]
        for g in range(I[j + m.FR_NG]):
            group = I[j + m.FR_GROUPS] + g * m.UG_SIZE
            to, k = Rows(x + I[group + m.UG_U] * many, many), I[group + m.UG_K]
            below, right = Rows(I[group + m.UG_L], I[group + m.UG_LD]), Rows(y + u + k * many, many)
            subtract_rows(F, to, many, below, n - k, right, I[group + m.UG_N])
    for f in range(I[m.N_FRONTS] - 1, -1, -1):
        j = I[m.FRONTS] + f * m.FR_SIZE
        n, u = I[j + m.FR_NP], I[j + m.FR_U] * many
        for i in range(u, u + n * many):
            F[x + i] = F[y + i]
        for g in range(I[j + m.FR_NG]):
            group = I[j + m.FR_GROUPS] + g * m.UG_SIZE
            later = Rows(x + I[group + m.UG_U] * many, many)
            W = Rows(I[j + m.FR_W] + I[group + m.UG_COL], I[j + m.FR_LDW])
            subtract_rows(F, Rows(x + u, many), many, W, I[group + m.UG_N], later, n)
