r"""Block LU over the body graph: dense fronts, static order.

A front holds the pivots p of one node (its velocities, its own rows, the joint rows placed with
it): :math:`A_{pp}`, the columns :math:`A_{pu}` of the later unknowns u that these pivots reach, in
the place of `W`, and :math:`A_{up}` of every group of these unknowns, from the first pivot on that
reaches it. Eliminating it leaves

.. math:: A_{pp}^{-1} \text{ and } W = A_{pp}^{-1} A_{pu}

in place; the Schur complement :math:`-A_{up} W` is subtracted block by block where the later fronts
keep it. A solution is then three products with short rows a front,

.. math:: y_p = A_{pp}^{-1} b_p, \quad b_u \mathrel{-}= A_{up}\, y_p; \qquad x_p = y_p - W x_u,

without the chain of dependent operations that triangular solves of this size consist of. What is
read on the way up lies apart from W, which is read on the way down.

A few pivots are inverted in registers, by code that is unrolled for their number; their rows are no
longer than they must be, since memory is what long chains wait for. More are swept by Gauss and
Jordan in memory, where rows are padded with zeros to multiples of four.

The order (leaf to root, joint rows after their body) and the scaling by :math:`\beta h^2` make
pivoting unnecessary as a rule. Pivots are watched all the same: a front with one that cannot be
trusted (the director of a thin plate along which there is no mass) is swept in memory, where it
changes place with a later row of its front, and where the front has none to offer the solver falls
back to a sparse LU with pivoting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbd.base.tolerances import PIVOT_SMALL, PIVOT_ZERO
from mbd.machine import buffer as m
from mbd.machine.buffer import (
    DIAG,
    EPS,
    FR_A,
    FR_GROUPS,
    FR_LDA,
    FR_LDW,
    FR_NG,
    FR_NP,
    FR_NV,
    FR_SIZE,
    FR_U,
    FR_W,
    FRONTS,
    N_FRONTS,
    SOFT,
    UG_COL,
    UG_FRONT,
    UG_K,
    UG_L,
    UG_LD,
    UG_N,
    UG_SIZE,
    UG_U,
    XS,
    X,
)
from mbd.machine.jit import call, ints, jit, kernel
from mbd.machine.simd import (
    ask_for,
    scale4,
    set_dots,
    subtract4,
    subtract_dots,
    subtract_product1,
    subtract_product3,
)
from mbd.machine.two_threads import by_sides

AHEAD = 512  # floats by which W is asked for before it is read


@jit
def _least(I: Any, F: Any, j: int, k: int) -> float:
    """Return the smallest size of the pivot k of a front that is trusted."""
    u = I[j + FR_U] + k
    return PIVOT_SMALL * F[I[DIAG] + u] if k < I[j + FR_NV] else 0.5 * F[SOFT] * F[I[EPS] + u]


@jit
def _exchange(F: Any, A: int, ld: int, k: int, best: int) -> None:
    """Let two rows change places."""
    for i in range(ld):
        F[A + k * ld + i], F[A + best * ld + i] = F[A + best * ld + i], F[A + k * ld + i]


@jit
def _scale(F: Any, a: int, s: float, n: int) -> None:
    """F[a+i] *= s."""
    for i in range(n):
        F[a + i] *= s


@jit
def _subtract(F: Any, to: int, s: float, source: int, n: int) -> None:
    """F[to+i] -= s F[source+i]."""
    for i in range(n):
        F[to + i] -= s * F[source + i]


def _swept_by(scale: Callable[..., None], subtract: Callable[..., None]) -> Any:
    """Return `_invert` in memory; rows change places where a pivot cannot be trusted."""

    @jit
    def sweep(I: Any, F: Any, j: int) -> None:
        S = ints(F)
        A, ld, W, ldw = I[j + FR_A], I[j + FR_LDA], I[j + FR_W], I[j + FR_LDW]
        n_p, u = I[j + FR_NP], I[j + FR_U]
        exchanged = False
        for k in range(n_p):
            row = A + k * ld
            if exchanged or not abs(F[row + k]) > _least(I, F, j, k):
                if not exchanged:
                    for i in range(n_p):
                        F[I[XS] + i] = i
                    exchanged = True
                best = k
                for r in range(k + 1, n_p):
                    if abs(F[A + r * ld + k]) > abs(F[A + best * ld + k]):
                        best = r
                F[I[XS] + k] = best
                if best != k:
                    _exchange(F, A, ld, k, best)
                    _exchange(F, W, ldw, k, best)
                if not abs(F[row + k]) > (
                    PIVOT_ZERO * F[I[DIAG] + u + k] if k < I[j + FR_NV] else 0.0
                ):
                    S[m.SMALL_PIVOTS] += 1
            reciprocal = 1.0 / F[row + k]
            scale(F, row, reciprocal, ld)
            scale(F, W + k * ldw, reciprocal, ldw)
            for r in range(n_p):
                entry = F[A + r * ld + k]
                if entry != 0.0 and r != k:
                    subtract(F, A + r * ld, entry, row, ld)
                    subtract(F, W + r * ldw, entry, W + k * ldw, ldw)
                    # only now: a vector loaded soon after a part of it was stored has to wait
                    F[A + r * ld + k] = -entry * reciprocal
            F[row + k] = reciprocal
        if exchanged:  # the inverse of rows in another order has its columns in that order
            for k in range(n_p - 1, -1, -1):
                other = int(F[I[XS] + k])
                if other != k:
                    for r in range(n_p):
                        i, o = A + r * ld + k, A + r * ld + other
                        F[i], F[o] = F[o], F[i]

    return sweep


_sweep_padded, _sweep = _swept_by(scale4, subtract4), _swept_by(_scale, _subtract)


@jit
def _invert(I: Any, F: Any, j: int) -> None:
    """Turn A_pp and A_pu of a front into A_pp^-1 and W."""
    S = ints(F)
    kernel = I[j + m.FR_KERNEL]
    if kernel == 0:
        _sweep_padded(I, F, j)
        return
    for k in range(I[j + FR_NP]):
        F[I[XS] + k] = _least(I, F, j, k)
    call(S[S[m.PIVOTS] + 2 * (kernel - 1)], I, F, j)
    if F[I[XS]] < 0.0:
        _sweep(I, F, j)


@jit
def subtract_rows(
    F: Any, to: int, ld: int, n: int, A: int, lda: int, k: int, W: int, ldw: int, rows: int
) -> None:
    """Subtract A W, (rows, k) by (k, n), from F[to]; rows of each begin ld, lda and ldw apart."""
    while rows >= 3:
        subtract_product3(F, to, ld, n, A, lda, k, W, ldw)
        to, A, rows = to + 3 * ld, A + 3 * lda, rows - 3
    while rows > 0:
        subtract_product1(F, to, ld, n, A, lda, k, W, ldw)
        to, A, rows = to + ld, A + lda, rows - 1


@jit
def _subtract_block(I: Any, F: Any, j: int, row: int, column: int, to: int, ld: int) -> None:
    """Subtract the block A_up W of two update groups of a front from F[to]."""
    k, ldw, lda = I[row + UG_K], I[j + FR_LDW], I[row + UG_LD]
    A, n, count = I[row + UG_L], I[column + UG_N], I[j + FR_NP] - k
    W = I[j + FR_W] + k * ldw + I[column + UG_COL]
    subtract_rows(F, to, ld, n, A, lda, count, W, ldw, I[row + UG_N])


@jit
def _schur(I: Any, F: Any, j: int) -> None:
    """Subtract A_up W from the fronts that wait for it.

    Block row and block column of a group a are those of the front t that eliminates it. The groups
    b after a are among the pivots of t or, in the same order, among its update groups.
    """
    end = I[j + FR_GROUPS] + I[j + FR_NG] * UG_SIZE
    for a in range(I[j + FR_GROUPS], end, UG_SIZE):
        t = I[a + UG_FRONT]
        A, ld, W, ldw = I[t + FR_A], I[t + FR_LDA], I[t + FR_W], I[t + FR_LDW]
        p, other = I[a + UG_U] - I[t + FR_U], I[t + FR_GROUPS]
        for b in range(a, end, UG_SIZE):
            if I[b + UG_FRONT] == t:
                q = I[b + UG_U] - I[t + FR_U]
                right, ldr, below, ldb = A + p * ld + q, ld, A + q * ld + p, ld
            else:
                while I[other + UG_U] != I[b + UG_U]:
                    other += UG_SIZE
                right, ldr = W + p * ldw + I[other + UG_COL], ldw
                below, ldb = I[other + UG_L] + p - I[other + UG_K], I[other + UG_LD]
            _subtract_block(I, F, j, a, b, right, ldr)
            if b != a:
                _subtract_block(I, F, j, b, a, below, ldb)


@jit
def eliminate(I: Any, F: Any, j: int) -> None:
    """Eliminate the pivots of one front."""
    _invert(I, F, j)
    _schur(I, F, j)


@jit
def _up(I: Any, F: Any, j: int) -> None:
    """Write y_p of a front to X, by way of XS, and subtract A_up y_p from what follows."""
    n_p, b, y = I[j + FR_NP], I[X] + I[j + FR_U], I[XS]
    set_dots(F, y, I[j + FR_A], I[j + FR_LDA], n_p, b, n_p)
    for g in range(I[j + FR_NG]):
        group = I[j + FR_GROUPS] + g * UG_SIZE
        to, k, ld = I[X] + I[group + UG_U], I[group + UG_K], I[group + UG_LD]
        subtract_dots(F, to, to, I[group + UG_L], ld, I[group + UG_N], y + k, n_p - k)
    for r in range(n_p):
        F[b + r] = F[y + r]


@jit
def _down(I: Any, F: Any, j: int) -> None:
    """Write x_p = y_p - W x_u of a front to X."""
    n_p, x = I[j + FR_NP], I[X] + I[j + FR_U]
    ask_for(F, I[j + FR_W] - AHEAD, n_p * I[j + FR_LDW])  # no machine expects who reads backwards
    for g in range(I[j + FR_NG]):
        group = I[j + FR_GROUPS] + g * UG_SIZE
        later, W = I[X] + I[group + UG_U], I[j + FR_W] + I[group + UG_COL]
        subtract_dots(F, x, x, W, I[j + FR_LDW], n_p, later, I[group + UG_N])


@jit
def _fronts_of(I: Any, side: int) -> tuple[int, int, int, int]:
    """Return the fronts of a side, and which of them are not; their tails are between the sides."""
    at, n = I[m.SIDES], I[N_FRONTS]
    if side == m.WHOLE:
        return 0, n, n, n
    tail, second, second_tail = I[at + m.SD_TAIL], I[at + m.SD_SECOND], I[at + m.SD_SECOND_TAIL]
    if side == m.BETWEEN:
        return tail, n, second, second_tail
    return (second, second_tail, n, n) if side else (0, tail, n, n)


@by_sides(m.FACTOR_TASK, between="after")
def factor_up(I: Any, F: Any, side: int) -> None:
    """Factor the assembled matrix in place, with the right-hand side in X, as `up`."""
    first, last, skip, end = _fronts_of(I, side)
    for f in range(first, last):
        if f < skip or f >= end:
            j = I[FRONTS] + f * FR_SIZE
            eliminate(I, F, j)
            _up(I, F, j)


@by_sides(m.UP_TASK, between="after")
def up(I: Any, F: Any, side: int) -> None:
    """Write y_p of all fronts to X, from the leaves up."""
    first, last, skip, end = _fronts_of(I, side)
    for f in range(first, last):
        if f < skip or f >= end:
            _up(I, F, I[FRONTS] + f * FR_SIZE)


@by_sides(m.BACK_TASK, between="before")
def back(I: Any, F: Any, side: int) -> None:
    """Turn what `up` has left of all fronts into the solution."""
    first, last, skip, end = _fronts_of(I, side)
    for f in range(last - 1, first - 1, -1):
        if f < skip or f >= end:
            _down(I, F, I[FRONTS] + f * FR_SIZE)


@jit
def solve_transposed(I: Any, F: Any) -> None:
    r"""Solve with the transpose of the factored matrix; right-hand side and solution in X.

    .. math:: b_u \mathrel{-}= W^T b_p; \qquad x_p = A_{pp}^{-T} (b_p - A_{up}^T x_u)
    """
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        W, ld, b = I[j + FR_W], I[j + FR_LDW], I[X] + I[j + FR_U]
        for g in range(I[j + FR_NG]):
            group = I[j + FR_GROUPS] + g * UG_SIZE
            later, column = I[X] + I[group + UG_U], W + I[group + UG_COL]
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
            k0 = I[group + UG_K]
            for r in range(I[group + UG_N]):
                row = I[group + UG_L] + r * I[group + UG_LD]
                for k in range(k0, n_p):
                    F[b + k] -= F[row + k - k0] * F[I[X] + I[group + UG_U] + r]
        for r in range(n_p):
            for c in range(n_p):
                F[x + c] += F[A + r * ld + c] * F[b + r]


@kernel
def factor_and_solve(I: Any, F: Any, k: int) -> None:
    """Solve; right-hand side and solution in X. If k is 1, factor first."""
    if k == 1:
        ints(F)[m.N_FACTOR] += 1
        factor_up(I, F)
    else:
        up(I, F)
    back(I, F)


@kernel
def factor_kernel(I: Any, F: Any, k: int) -> None:
    """Factor the assembled matrix in place, for use from Python."""
    ints(F)[m.N_FACTOR] += 1
    for f in range(I[N_FRONTS]):
        eliminate(I, F, I[FRONTS] + f * FR_SIZE)


@kernel
def transposed_kernel(I: Any, F: Any, k: int) -> None:
    """`solve_transposed`, for use from Python."""
    solve_transposed(I, F)
