r"""Block LU over the body graph: dense fronts, static order.

A front holds the pivots p of one node (its velocities, its own rows, the joint rows placed with
it): the rows :math:`[A_{pp}, A_{pu}]` in `A`, with the later unknowns u that these pivots reach,
and :math:`A_{up}` in `L`. Eliminating it is one Gauss-Jordan sweep that leaves

.. math:: A_{pp}^{-1} \text{ and } W = A_{pp}^{-1} A_{pu}

in place; the Schur complement :math:`-A_{up} W` is subtracted block by block where the later fronts
keep it. A solution is then three products with short rows a front,

.. math:: y_p = A_{pp}^{-1} b_p, \quad b_u \mathrel{-}= A_{up}\, y_p; \qquad x_p = y_p - W x_u,

without the chain of dependent operations that triangular solves of this size consist of. Rows are
padded with zeros to multiples of four, so that all loops run on whole vector registers.

The order (leaf to root, joint rows behind their body) and the scaling by :math:`\beta h^2` make
pivoting unnecessary as a rule. Pivots are watched all the same: one that cannot be trusted (the
director of a thin plate along which there is no mass) changes place with a later row of its front,
and where the front has none to offer the solver falls back to a sparse LU with pivoting.
"""

from __future__ import annotations

from typing import Any

from mbd.base.tolerances import PIVOT_SMALL, PIVOT_ZERO
from mbd.machine.buffer import (
    BL_COL,
    BL_K,
    BL_LD,
    BL_NC,
    BL_NR,
    BL_ROW,
    BL_SIZE,
    BL_TO,
    DIAG,
    EPS,
    FR_A,
    FR_BLOCKS,
    FR_GROUPS,
    FR_L,
    FR_LDA,
    FR_LDL,
    FR_NB,
    FR_NG,
    FR_NP,
    FR_NV,
    FR_SIZE,
    FR_U,
    FRONTS,
    N_FACTOR,
    N_FRONTS,
    SMALL_PIVOTS,
    SOFT,
    UG_COL,
    UG_K,
    UG_N,
    UG_POS,
    UG_SIZE,
    UG_U,
    XS,
    X,
)
from mbd.machine.jit import ints, jit, kernel
from mbd.machine.simd import dot4, scale4, subtract4, subtract_product4

__all__ = [
    "eliminate",
    "factor",
    "factor_and_solve",
    "factor_kernel",
    "solve",
    "solve_transposed",
    "transposed_kernel",
]


@jit
def _exchange(F: Any, A: int, ld: int, k: int, n_p: int) -> int:
    """Bring the row with the largest entry of column k to row k; return where it was."""
    best = k
    for r in range(k + 1, n_p):
        if abs(F[A + r * ld + k]) > abs(F[A + best * ld + k]):
            best = r
    if best != k:
        for i in range(ld):
            F[A + k * ld + i], F[A + best * ld + i] = F[A + best * ld + i], F[A + k * ld + i]
    return best


@jit
def _sweep(I: Any, F: Any, j: int) -> None:
    """Turn [A_pp, A_pu] into [A_pp^-1, W]; rows change places where a pivot cannot be trusted."""
    S = ints(F)
    A, ld, n_p, u = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP], I[j + FR_U]
    exchanged = False
    for k in range(n_p):
        row = A + k * ld
        least = (
            PIVOT_SMALL * F[I[DIAG] + u + k]
            if k < I[j + FR_NV]
            else 0.5 * F[SOFT] * F[I[EPS] + u + k]
        )
        if exchanged or not abs(F[row + k]) > least:
            if not exchanged:
                for i in range(n_p):
                    F[I[XS] + u + i] = i
                exchanged = True
            F[I[XS] + u + k] = _exchange(F, A, ld, k, n_p)
            if not abs(F[row + k]) > (PIVOT_ZERO * F[I[DIAG] + u + k] if k < I[j + FR_NV] else 0.0):
                S[SMALL_PIVOTS] += 1
        reciprocal = 1.0 / F[row + k]
        F[row + k] = 1.0
        scale4(F, row, reciprocal, ld)
        for r in range(n_p):
            entry = F[A + r * ld + k]
            if entry != 0.0 and r != k:
                F[A + r * ld + k] = 0.0
                subtract4(F, A + r * ld, entry, row, ld)
    if exchanged:  # the inverse of rows in another order has its columns in that order
        for k in range(n_p - 1, -1, -1):
            other = int(F[I[XS] + u + k])
            if other != k:
                for r in range(n_p):
                    i, o = A + r * ld + k, A + r * ld + other
                    F[i], F[o] = F[o], F[i]


@jit
def _schur(I: Any, F: Any, j: int) -> None:
    """Subtract A_up W from the fronts that wait for it."""
    A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
    for b in range(I[j + FR_NB]):
        block = I[j + FR_BLOCKS] + b * BL_SIZE
        n_c, k0 = I[block + BL_NC], I[block + BL_K]
        column = A + I[block + BL_COL]
        for r in range(I[block + BL_NR]):
            row = I[j + FR_L] + (I[block + BL_ROW] + r) * I[j + FR_LDL]
            to = I[block + BL_TO] + r * I[block + BL_LD]
            subtract_product4(F, to, n_c, row + k0, n_p - k0, column + k0 * ld, ld)


@jit
def eliminate(I: Any, F: Any, j: int) -> None:
    """Eliminate the pivots of one front."""
    _sweep(I, F, j)
    _schur(I, F, j)


@jit
def factor(I: Any, F: Any) -> None:
    """Factor the assembled matrix in place."""
    S = ints(F)
    S[N_FACTOR] += 1
    for f in range(I[N_FRONTS]):
        eliminate(I, F, I[FRONTS] + f * FR_SIZE)


@jit
def solve(I: Any, F: Any) -> None:
    """Solve with the factored matrix; right-hand side and solution in X."""
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
        b, y = I[X] + I[j + FR_U], I[XS] + I[j + FR_U]
        for r in range(n_p):
            F[y + r] = dot4(F, A + r * ld, b, n_p)
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            to, k0 = I[X] + I[group + UG_U], I[group + UG_K]
            row = I[j + FR_L] + I[group + UG_POS] * I[j + FR_LDL]
            for r in range(I[group + UG_N]):
                s = F[to + r]
                for k in range(k0, n_p):
                    s -= F[row + k] * F[y + k]
                F[to + r] = s
                row += I[j + FR_LDL]
    for f in range(I[N_FRONTS] - 1, -1, -1):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
        x, y = I[X] + I[j + FR_U], I[XS] + I[j + FR_U]
        for r in range(n_p):
            F[x + r] = F[y + r]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            later, column = I[X] + I[group + UG_U], A + I[group + UG_COL]
            for r in range(n_p):
                F[x + r] -= dot4(F, column + r * ld, later, I[group + UG_N])


@jit
def solve_transposed(I: Any, F: Any) -> None:
    r"""Solve with the transpose of the factored matrix; right-hand side and solution in X.

    .. math:: b_u \mathrel{-}= W^T b_p; \qquad x_p = A_{pp}^{-T} (b_p - A_{up}^T x_u)
    """
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, b = I[j + FR_A], I[j + FR_LDA], I[X] + I[j + FR_U]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            later, column = I[X] + I[group + UG_U], A + I[group + UG_COL]
            for r in range(I[j + FR_NP]):
                for c in range(I[group + UG_N]):
                    F[later + c] -= F[column + r * ld + c] * F[b + r]
    for f in range(I[N_FRONTS] - 1, -1, -1):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
        x, b = I[X] + I[j + FR_U], I[XS] + I[j + FR_U]
        for k in range(n_p):
            F[b + k] = F[x + k]
            F[x + k] = 0.0
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            for r in range(I[group + UG_N]):
                row = I[j + FR_L] + (I[group + UG_POS] + r) * I[j + FR_LDL]
                for k in range(I[group + UG_K], n_p):
                    F[b + k] -= F[row + k] * F[I[X] + I[group + UG_U] + r]
        for r in range(n_p):
            for c in range(n_p):
                F[x + c] += F[A + r * ld + c] * F[b + r]


@kernel
def factor_and_solve(I: Any, F: Any, k: int) -> None:
    """Factor if k is 1, then solve: for use from Python."""
    if k == 1:
        factor(I, F)
    solve(I, F)


@kernel
def factor_kernel(I: Any, F: Any, k: int) -> None:
    """`factor`, for use from Python."""
    factor(I, F)


@kernel
def transposed_kernel(I: Any, F: Any, k: int) -> None:
    """`solve_transposed`, for use from Python."""
    solve_transposed(I, F)
