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

from collections.abc import Callable
from typing import Any, NamedTuple

from mbd.algebra.vec import copy
from mbd.base.tolerances import PIVOT_SMALL, PIVOT_ZERO
from mbd.machine import buffer as m
from mbd.machine.front_records import front, front_at, group, group_at
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
def _least(I: Any, F: Any, f: Any, k: int) -> float:
    """Return the smallest size of the pivot k of a front that is trusted."""
    if k < f.n_v:
        return PIVOT_SMALL * F[I[m.DIAG] + f.u + k]
    return 0.5 * F[m.SOFT] * F[I[m.DIAG] + f.u + k] ** 2


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
    def sweep(I: Any, F: Any, f: Any) -> None:
        S, A, ld, W, ldw, n_p = ints(F), f.A, f.lda, f.W, f.ldw, f.n_p
        exchanged = False
        for k in range(n_p):
            row = A + k * ld
            if exchanged or not abs(F[row + k]) > _least(I, F, f, k):
                if not exchanged:
                    for i in range(n_p):
                        F[I[m.XS] + i] = i
                    exchanged = True
                best = k
                for r in range(k + 1, n_p):
                    if abs(F[A + r * ld + k]) > abs(F[A + best * ld + k]):
                        best = r
                F[I[m.XS] + k] = best
                if best != k:
                    _exchange(F, A, ld, k, best)
                    _exchange(F, W, ldw, k, best)
                zero = PIVOT_ZERO * F[I[m.DIAG] + f.u + k] if k < f.n_v else 0.0
                if not abs(F[row + k]) > zero:
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
                other = int(F[I[m.XS] + k])
                if other != k:
                    for r in range(n_p):
                        i, o = A + r * ld + k, A + r * ld + other
                        F[i], F[o] = F[o], F[i]

    return sweep


_sweep_padded, _sweep = _swept_by(scale4, subtract4), _swept_by(_scale, _subtract)


@jit
def _invert(I: Any, F: Any, f: Any) -> None:
    """Turn A_pp and A_pu of a front into A_pp^-1 and W."""
    S = ints(F)
    if f.kernel == 0:
        _sweep_padded(I, F, f)
        return
    for k in range(f.n_p):
        F[I[m.XS] + k] = _least(I, F, f, k)
    call(S[S[m.PIVOTS] + 2 * (f.kernel - 1)], I, F, f.at)
    if F[I[m.XS]] < 0.0:
        _sweep(I, F, f)


class Rows(NamedTuple):
    """Rows of numbers in F: the place of the first, how far apart they begin."""

    at: int
    ld: int


@jit
def subtract_rows(F: Any, block: Any, n: int, left: Any, k: int, right: Any, rows: int) -> None:
    """Subtract A W, (rows, k) by (k, n), from a block: `Rows` of all three."""
    (to, ld), (A, lda), (W, ldw) = block, left, right
    while rows >= 3:
        subtract_product3(F, to, ld, n, A, lda, k, W, ldw)
        to, A, rows = to + 3 * ld, A + 3 * lda, rows - 3
    while rows > 0:
        subtract_product1(F, to, ld, n, A, lda, k, W, ldw)
        to, A, rows = to + ld, A + lda, rows - 1


@jit
def _subtract_block(F: Any, f: Any, row: Any, column: Any, to: int, ld: int) -> None:
    """Subtract the block A_up W of two update groups of a front from F[to]."""
    W = Rows(f.W + row.k * f.ldw + column.column, f.ldw)
    subtract_rows(F, Rows(to, ld), column.n, Rows(row.L, row.ld), f.n_p - row.k, W, row.n)


@jit
def _schur(I: Any, F: Any, f: Any) -> None:
    """Subtract A_up W from the fronts that wait for it.

    Block row and block column of a group a are those of the front t that eliminates it. The groups
    b after a are among the pivots of t or, in the same order, among its update groups.
    """
    for g in range(f.n_g):
        a = group(I, f, g)
        t = front_at(I, a.front)
        p, other = a.u - t.u, t.groups
        for h in range(g, f.n_g):
            b = group(I, f, h)
            if b.front == a.front:
                q = b.u - t.u
                right, ldr, below, ldb = t.A + p * t.lda + q, t.lda, t.A + q * t.lda + p, t.lda
            else:
                while I[other + m.UG_U] != b.u:
                    other += m.UG_SIZE
                there = group_at(I, other)
                right, ldr = t.W + p * t.ldw + there.column, t.ldw
                below, ldb = there.L + p - there.k, there.ld
            _subtract_block(F, f, a, b, right, ldr)
            if h != g:
                _subtract_block(F, f, b, a, below, ldb)


@jit
def eliminate(I: Any, F: Any, f: Any) -> None:
    """Eliminate the pivots of one front."""
    _invert(I, F, f)
    _schur(I, F, f)


@jit
def _up(I: Any, F: Any, f: Any) -> None:
    """Write y_p of a front to X, by way of XS, and subtract A_up y_p from what follows."""
    b, y = I[m.X] + f.u, I[m.XS]
    set_dots(F, y, f.A, f.lda, f.n_p, b, f.n_p)
    for i in range(f.n_g):
        g = group(I, f, i)
        to = I[m.X] + g.u
        subtract_dots(F, to, to, g.L, g.ld, g.n, y + g.k, f.n_p - g.k)
    copy(F, b, y, f.n_p)


@jit
def _down(I: Any, F: Any, f: Any) -> None:
    """Write x_p = y_p - W x_u of a front to X."""
    x = I[m.X] + f.u
    ask_for(F, f.W - AHEAD, f.n_p * f.ldw)  # no machine expects who reads backwards
    for i in range(f.n_g):
        g = group(I, f, i)
        subtract_dots(F, x, x, f.W + g.column, f.ldw, f.n_p, I[m.X] + g.u, g.n)


@jit
def _fronts_of(I: Any, side: int) -> tuple[int, int, int, int]:
    """Return the fronts of a side, and which of them are not; their tails are between the sides."""
    at, n = I[m.SIDES], I[m.N_FRONTS]
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
    for i in range(first, last):
        if i < skip or i >= end:
            f = front(I, i)
            eliminate(I, F, f)
            _up(I, F, f)


@by_sides(m.UP_TASK, between="after")
def up(I: Any, F: Any, side: int) -> None:
    """Write y_p of all fronts to X, from the leaves up."""
    first, last, skip, end = _fronts_of(I, side)
    for i in range(first, last):
        if i < skip or i >= end:
            _up(I, F, front(I, i))


@by_sides(m.BACK_TASK, between="before")
def back(I: Any, F: Any, side: int) -> None:
    """Turn what `up` has left of all fronts into the solution."""
    first, last, skip, end = _fronts_of(I, side)
    for i in range(last - 1, first - 1, -1):
        if i < skip or i >= end:
            _down(I, F, front(I, i))


@jit
def solve_transposed(I: Any, F: Any) -> None:
    r"""Solve with the transpose of the factored matrix; right-hand side and solution in X.

    .. math:: b_u \mathrel{-}= W^T b_p; \qquad x_p = A_{pp}^{-T} (b_p - A_{up}^T x_u)
    """
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        b = I[m.X] + f.u
        for j in range(f.n_g):
            g = group(I, f, j)
            later, column = I[m.X] + g.u, f.W + g.column
            for r in range(f.n_p):
                for c in range(g.n):
                    F[later + c] -= F[column + r * f.ldw + c] * F[b + r]
    for i in range(I[m.N_FRONTS] - 1, -1, -1):
        f = front(I, i)
        x, b = I[m.X] + f.u, I[m.XS] + f.u
        for k in range(f.n_p):
            F[b + k] = F[x + k]
            F[x + k] = 0.0
        for j in range(f.n_g):
            g = group(I, f, j)
            for r in range(g.n):
                row = g.L + r * g.ld
                for k in range(g.k, f.n_p):
                    F[b + k] -= F[row + k - g.k] * F[I[m.X] + g.u + r]
        for r in range(f.n_p):
            for c in range(f.n_p):
                F[x + c] += F[f.A + r * f.lda + c] * F[b + r]


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
    for i in range(I[m.N_FRONTS]):
        eliminate(I, F, front(I, i))


@kernel
def transposed_kernel(I: Any, F: Any, k: int) -> None:
    """`solve_transposed`, for use from Python."""
    solve_transposed(I, F)
