r"""The sweep of Gauss and Jordan over the pivots of a front, in vector registers.

All loops over the pivots are unrolled: n rows of n numbers are loaded once and stored once,
then the columns next to them, four at a time, take the same steps. These have to be the same: in
:math:`W = A_{pp}^{-1} A_{pu}` as a product the rows that are nearly dependent would cancel late. A
kernel for each number of pivots is made when a model has such a front.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, Kernel, kernel

MOST = 16  # pivots that are unrolled: code grows with their cube

if PYTHON:

    def _sweep(n: int) -> Callable[..., int]:
        def sweep(F: Any, A: int, ld: int, W: int, ldw: int, k0: int, least: int) -> int:
            """Sweep n rows at F[A] and F[W], if all pivots are above F[least:]; tell whether."""
            rows = [(slice(A + r * ld, A + r * ld + n), slice(W + r * ldw, W + r * ldw + ldw))
                    for r in range(n)]  # fmt: skip
            X = np.array([np.concatenate([F[a], F[w]]) for a, w in rows])
            for k in range(n):
                if not abs(X[k, k]) > F[least + k]:
                    return 0
                others = _others(n, k)
                factors, X[:, k] = X[:, k].copy(), np.arange(n) == k
                X[k] *= 1.0 / factors[k]
                X[others] -= factors[others, None] * X[k]
            for (a, w), x in zip(rows, X, strict=True):
                F[a], F[w] = x[:n], x[n:]
            return 1

        return sweep

else:
    from mbd.machine.vector_code import vector_intrinsic

    def _sweep(n: int) -> Any:
        def emit(b: Any, F: Any, A: Any, ld: Any, W: Any, ldw: Any, k0: Any, least: Any) -> Any:
            rows = [b.plus(A, b.product(b.number(r), ld)) for r in range(n)]
            vectors = [b.number(j) for j in range(0, n, 4)]
            X = [[b.load(F, row, j) for j in vectors] for row in rows]
            factors, pivots = b.room(n * n), []
            for k in range(n):
                j, i = divmod(k, 4)
                pivots.append(b.entry(X[k][j], i))
                for r in (k, *_others(n, k)):
                    factor = b.entry(X[r][j], i)
                    factor = b.reciprocal(factor) if r == k else b.negative(factor)
                    b.store_one(factors, b.number(n * k + r), factor)
                    factor, X[r][j] = b.broadcast(factor), b.with_entry(X[r][j], i, float(r == k))
                    X[r] = [
                        b.times(factor, p) if r == k else b.fma(factor, p, x)
                        for p, x in zip(X[k], X[r], strict=True)
                    ]
            trusted = b.all_larger(pivots, [b.load_one(F, least, b.number(k)) for k in range(n)])
            with b.where(trusted):
                # what is stored after the end of a row is written over by the next one
                X[-1][-1] = b.first(
                    b.number(n - 4 * (len(vectors) - 1)),
                    X[-1][-1],
                    b.load(F, rows[-1], vectors[-1]),
                )
                for row, values in zip(rows, X, strict=True):
                    for j, x in zip(vectors, values, strict=True):
                        b.store(F, row, j, x)
                rows = [b.plus(W, b.product(b.number(r), ldw)) for r in range(n)]
                with b.loop(ldw, 4) as j:
                    beside = [b.accumulator(b.load(F, row, j)) for row in rows]
                    for k in range(n):
                        with b.where(b.at_most(k0, b.number(k))):
                            _step(b, beside, k, factors)
                    for row, x in zip(rows, beside, strict=True):
                        new = b.first(b.minus(ldw, j), b.value(x), b.load(F, row, j))
                        b.store(F, row, j, new)
            return b.as_index(trusted)

        def _step(b: Any, x: list[Any], k: int, factors: Any) -> None:
            """Take the step of one pivot with columns of W."""
            factor = [
                b.broadcast(b.load_one(factors, b.number(n * k), b.number(r))) for r in range(n)
            ]
            row = b.times(factor[k], b.value(x[k]))
            b.set(x[k], row)
            for r in _others(n, k):
                b.add_product(x[r], factor[r], row)

        return vector_intrinsic(emit, "Fiiiiii", "i")


def _others(n: int, k: int) -> list[int]:
    return [r for r in range(n) if r != k]


@cache
def pivots_kernel(n: int) -> Kernel:
    """Return the kernel that turns A_pp, A_pu of a front into their inverse and W, or leaves them.

    It expects in XS the least sizes of trusted pivots, and writes -1 there if one is smaller.
    """
    sweep = _sweep(n)

    def pivots(I: Any, F: Any, j: int) -> None:
        k0 = n  # pivots before reach nothing
        for g in range(I[j + m.FR_NG]):
            k0 = min(k0, I[I[j + m.FR_GROUPS] + g * m.UG_SIZE + m.UG_K])
        least = I[m.XS]
        if sweep(F, I[j + m.FR_A], I[j + m.FR_LDA], I[j + m.FR_W], I[j + m.FR_LDW], k0, least) == 0:
            F[least] = -1.0

    return kernel(pivots)
