r"""Products of the matrix in the fronts, and of its transpose, with vectors.

Block by block as the fronts hold it before they are factored: A_pp, A_pu and A_up of each. A matrix
that was put aside lies some floats further on. Many vectors at once lie side by side, a row of
numbers for each unknown, whose length is a multiple of four.
"""

from typing import Any

from mbd.algebra.vec import clear, copy
from mbd.linear.fronts import Rows, subtract_rows
from mbd.machine import buffer as m
from mbd.machine.front_records import front, group
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
def add_transposed_product(I: Any, F: Any, x: int, y: int) -> None:
    """Do y += S^T x, vectors over the unknowns at F[x] and F[y]."""
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        _add_transposed(F, y + f.u, f.A, f.lda, x + f.u, f.n_p, f.n_p)
        for j in range(f.n_g):
            g = group(I, f, j)
            _add_transposed(F, y + g.u, f.W + g.column, f.ldw, x + f.u, f.n_p, g.n)
            _add_transposed(F, y + f.u + g.k, g.L, g.ld, x + g.u, g.n, f.n_p - g.k)


@kernel
def products_kernel(I: Any, F: Any, k: int) -> None:
    """Do y -= S x for vectors side by side; I[k:] has how far away S lies, x, y, how many."""
    away, x, y, many = I[k], I[k + 1], I[k + 2], I[k + 3]
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        to, source = Rows(y + f.u * many, many), x + f.u * many
        subtract_rows(F, to, many, Rows(f.A + away, f.lda), f.n_p, Rows(source, many), f.n_p)
        for j in range(f.n_g):
            g = group(I, f, j)
            later = Rows(x + g.u * many, many)
            subtract_rows(F, to, many, Rows(f.W + away + g.column, f.ldw), g.n, later, f.n_p)
            below, right = Rows(g.L + away, g.ld), Rows(source + g.k * many, many)
            subtract_rows(F, Rows(y + g.u * many, many), many, below, f.n_p - g.k, right, g.n)


@kernel
def solve_kernel(I: Any, F: Any, k: int) -> None:
    """Solve with the factored matrix for vectors side by side; I[k:] has x, work y, how many."""
    x, y, many = I[k], I[k + 1], I[k + 2]
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        u, end = f.u * many, (f.u + f.n_p) * many
        clear(F, y + u, end - u)
        to, right = Rows(y + u, many), Rows(x + u, many)
        subtract_rows(F, to, many, Rows(f.A, f.lda), f.n_p, right, f.n_p)
        for l in range(u, end):
            F[y + l] = -F[y + l]
        for j in range(f.n_g):
            g = group(I, f, j)
            to, right = Rows(x + g.u * many, many), Rows(y + u + g.k * many, many)
            subtract_rows(F, to, many, Rows(g.L, g.ld), f.n_p - g.k, right, g.n)
    for i in range(I[m.N_FRONTS] - 1, -1, -1):
        f = front(I, i)
        u = f.u * many
        copy(F, x + u, y + u, f.n_p * many)
        for j in range(f.n_g):
            g = group(I, f, j)
            to, later = Rows(x + u, many), Rows(x + g.u * many, many)
            subtract_rows(F, to, many, Rows(f.W + g.column, f.ldw), g.n, later, f.n_p)
