r"""Floor 4. Block LU over the body graph: dense fronts, static order, no pivoting.

A front holds the pivots of one node (its velocities, its own rows, the joint rows placed with it)
in `A`, row by row, followed by the columns of the later unknowns that these pivots reach, and in
`L` the rows of those. Eliminating it is a dense LU of the pivots, a triangular solve for L, and
the Schur complement :math:`-L U`, subtracted block by block where the later fronts keep it.

The order (leaf to root, joint rows behind their body) and the scaling by :math:`\beta h^2` make
pivoting unnecessary; small pivots of velocities are counted, and the solver then falls back to a
pivoting sparse LU. ``A`` stores the reciprocal of its diagonal.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.jit import jit, kernel
from mbd.algebra.memory import (
    BL_COL,
    BL_K,
    BL_LD,
    BL_NC,
    BL_NR,
    BL_ROW,
    BL_SIZE,
    BL_TO,
    DIAG,
    FR_A,
    FR_BLOCKS,
    FR_EXT,
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
    UG_K,
    UG_N,
    UG_POS,
    UG_SIZE,
    UG_U,
    X,
)

__all__ = ["factor", "factor_and_solve", "solve"]

_TINY = 1e-10  # a pivot this much smaller than the diagonal it came from is not trusted


@jit
def _subtract(F: Any, to: int, s: float, source: int, n: int) -> None:
    """F[to:to+n] -= s * F[source:source+n], four at a time (loads before stores: vectorised)."""
    i = 0
    while i + 4 <= n:
        a0 = F[to + i] - s * F[source + i]
        a1 = F[to + i + 1] - s * F[source + i + 1]
        a2 = F[to + i + 2] - s * F[source + i + 2]
        a3 = F[to + i + 3] - s * F[source + i + 3]
        F[to + i] = a0
        F[to + i + 1] = a1
        F[to + i + 2] = a2
        F[to + i + 3] = a3
        i += 4
    while i < n:
        F[to + i] -= s * F[source + i]
        i += 1


@jit
def _pivots(I: Any, F: Any, j: int) -> None:
    """Factor the pivot rows of the front at I[j]."""
    A, ld, n_p, ext, u = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP], I[j + FR_EXT], I[j + FR_U]
    for k in range(n_p):
        pivot = F[A + k * ld + k]
        if not abs(pivot) > _TINY * F[I[DIAG] + u + k] and k < I[j + FR_NV]:
            I[SMALL_PIVOTS] += 1
        reciprocal = 1.0 / pivot
        width = I[ext + k] - k - 1
        for r in range(k + 1, n_p):
            entry = F[A + r * ld + k]
            if entry != 0.0:
                entry *= reciprocal
                F[A + r * ld + k] = entry
                _subtract(F, A + r * ld + k + 1, entry, A + k * ld + k + 1, width)
        F[A + k * ld + k] = reciprocal


@jit
def _lower(I: Any, F: Any, j: int) -> None:
    """Solve for the rows below the pivots: L := L U^-1."""
    A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
    for g in range(I[j + FR_NG]):
        group = I[j + FR_GROUPS] + g * UG_SIZE
        for r in range(I[group + UG_N]):
            row = I[j + FR_L] + (I[group + UG_POS] + r) * I[j + FR_LDL]
            for k in range(I[group + UG_K], n_p):
                entry = F[row + k]
                if entry != 0.0:
                    entry *= F[A + k * ld + k]
                    F[row + k] = entry
                    _subtract(F, row + k + 1, entry, A + k * ld + k + 1, n_p - k - 1)


@jit
def _schur(I: Any, F: Any, j: int) -> None:
    """Subtract L U from the fronts that wait for it."""
    A, ld, n_p = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP]
    for b in range(I[j + FR_NB]):
        block = I[j + FR_BLOCKS] + b * BL_SIZE
        n_c, k0 = I[block + BL_NC], I[block + BL_K]
        column = A + I[block + BL_COL]
        for r in range(I[block + BL_NR]):
            row = I[j + FR_L] + (I[block + BL_ROW] + r) * I[j + FR_LDL]
            to = I[block + BL_TO] + r * I[block + BL_LD]
            c = 0
            while c + 2 <= n_c:
                a0, a1 = F[to + c], F[to + c + 1]
                for k in range(k0, n_p):
                    entry = F[row + k]
                    a0 -= entry * F[column + k * ld + c]
                    a1 -= entry * F[column + k * ld + c + 1]
                F[to + c] = a0
                F[to + c + 1] = a1
                c += 2
            while c < n_c:
                a0 = F[to + c]
                for k in range(k0, n_p):
                    a0 -= F[row + k] * F[column + k * ld + c]
                F[to + c] = a0
                c += 1


@jit
def factor(I: Any, F: Any) -> None:
    """Factor the assembled matrix in place."""
    I[N_FACTOR] += 1
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        _pivots(I, F, j)
        _lower(I, F, j)
        _schur(I, F, j)


@jit
def _forward(I: Any, F: Any) -> None:
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        A, ld, n_p, x = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP], I[X] + I[j + FR_U]
        for r in range(1, n_p):
            row = A + r * ld
            s = F[x + r]
            for k in range(r):
                s -= F[row + k] * F[x + k]
            F[x + r] = s
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            to = I[X] + I[group + UG_U]
            for r in range(I[group + UG_N]):
                row = I[j + FR_L] + (I[group + UG_POS] + r) * I[j + FR_LDL]
                s = F[to + r]
                for k in range(I[group + UG_K], n_p):
                    s -= F[row + k] * F[x + k]
                F[to + r] = s


@jit
def _backward(I: Any, F: Any) -> None:
    for b in range(I[N_FRONTS]):
        j = I[FRONTS] + (I[N_FRONTS] - 1 - b) * FR_SIZE
        A, ld, n_p, x = I[j + FR_A], I[j + FR_LDA], I[j + FR_NP], I[X] + I[j + FR_U]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            source, column = I[X] + I[group + UG_U], A + n_p + I[group + UG_POS]
            for k in range(I[group + UG_K], n_p):
                s = F[x + k]
                for c in range(I[group + UG_N]):
                    s -= F[column + k * ld + c] * F[source + c]
                F[x + k] = s
        for i in range(n_p):
            k = n_p - 1 - i
            row = A + k * ld
            s = F[x + k]
            for c in range(k + 1, n_p):
                s -= F[row + c] * F[x + c]
            F[x + k] = s * F[row + k]


@jit
def solve(I: Any, F: Any) -> None:
    """Solve with the factored matrix; right-hand side and solution in X."""
    _forward(I, F)
    _backward(I, F)


@kernel
def factor_and_solve(I: Any, F: Any, k: int) -> None:
    """Factor if k is 1, then solve: for use from Python."""
    if k == 1:
        factor(I, F)
    solve(I, F)
