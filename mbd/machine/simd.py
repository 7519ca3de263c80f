"""Loops over whole vector registers of four floats, for the block LU and the pull-back.

LLVM does not find them by itself in loops as short as a joint has rows, so they are written as
vector instructions here, each with its plain meaning beside it (used with ``NUMBA_DISABLE_JIT=1``).
All lengths n are rounded up to multiples of four: rows are padded with zeros. A *map* is a matrix
of three rows, a *vector* a row, each of MAP_ROW numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.machine.buffer import MAP_ROW, SCRATCH_EACH
from mbd.machine.jit import PYTHON

__all__ = [
    "add4",
    "add_map",
    "add_outer1",
    "add_outer2",
    "add_outer3",
    "add_outer7",
    "add_outer_maps",
    "dot4",
    "product_of",
    "scale4",
    "set_map",
    "set_sum",
    "subtract4",
    "subtract_product4",
]

if PYTHON:

    def dot4(F: Any, a: int, b: int, n: int) -> float:
        """Return the sum of F[a+i] F[b+i]."""
        return float(F[a : a + n] @ F[b : b + n])

    def scale4(F: Any, a: int, s: float, n: int) -> None:
        """F[a+i] *= s."""
        F[a : a + n] *= s

    def subtract4(F: Any, to: int, s: float, source: int, n: int) -> None:
        """F[to+i] -= s F[source+i]."""
        F[to : to + n] -= s * F[source : source + n]

    def subtract_product4(F: Any, to: int, n: int, row: int, count: int, B: int, ld: int) -> None:
        """F[to+i] -= sum_k F[row+k] F[B+k*ld+i], k below count."""
        for k in range(count):
            F[to : to + n] -= F[row + k] * F[B + k * ld : B + k * ld + n]

    def add4(F: Any, to: int, s: float, source: int, n: int) -> None:
        """F[to+i] += s F[source+i]."""
        F[to : to + n] += s * F[source : source + n]

    def set_map(F: Any, to: int, A: int, n: int, x: float, y: float, z: float) -> None:
        """Write n numbers of the vector (x, y, z) A of a map A."""
        F[to : to + n] = (x, y, z) @ F[A : A + 3 * MAP_ROW].reshape(3, MAP_ROW)[:, :n]

    def add_map(F: Any, to: int, A: int, n: int, x: float, y: float, z: float) -> None:
        """Add n numbers of (x, y, z) A of a map A to a vector."""
        F[to : to + n] += (x, y, z) @ F[A : A + 3 * MAP_ROW].reshape(3, MAP_ROW)[:, :n]

    def _outer(terms: int) -> Callable[..., Any]:
        def add_outer(
            F: Any, to: int, ld: int, rows: int, columns: int, s: float, U: int, V: int
        ) -> None:
            """Add s sum_k U_k V_k^T of vectors to the block at F[to]."""
            u, v = (F[x : x + MAP_ROW * terms].reshape(terms, MAP_ROW) for x in (U, V))
            block = s * u[:, :rows].T @ v[:, :columns]
            for i in range(rows):
                F[to + i * ld : to + i * ld + columns] += block[i]

        return add_outer

    add_outer1, add_outer2, add_outer3, add_outer7 = map(_outer, (1, 2, 3, 7))

    def add_outer_maps(F: Any, to: int, ld: int, rows: int, columns: int, U: int, V: int) -> None:
        """Add the sum of U_k V_k^T over twelve vectors and the rows of four attachments' maps."""
        for k in range(4):
            add_outer3(F, to, ld, rows, columns, 1.0, U + 3 * MAP_ROW * k, V + SCRATCH_EACH * k)

    def set_sum(F: Any, to: int, A: int, n: int, *w: float) -> None:
        """Write the sum of the maps of four attachments that follow each other, each w times."""
        for row in range(0, 3 * MAP_ROW, MAP_ROW):
            maps = range(A + row, A + row + 4 * SCRATCH_EACH, SCRATCH_EACH)
            F[to + row : to + row + n] = sum(x * F[i : i + n] for x, i in zip(w, maps, strict=True))

    def product_of(
        rows: int, terms: int, ld: int, gap: int, each: int, transposed: bool = False
    ) -> Callable[..., Any]:
        """Return a function that adds s M X, M of a fixed size, rows ld apart, or its transpose."""

        def add_product(F: Any, to: int, s: float, M: int, source: int, n: int) -> None:
            """Add s M X to rows of n numbers, gap apart; those of X are each apart."""
            size = (terms, rows) if transposed else (rows, terms)
            A = np.array([F[M + ld * i : M + ld * i + size[1]] for i in range(size[0])])
            X = np.array([F[source + each * k : source + each * k + n] for k in range(terms)])
            for i, row in enumerate(s * (A.T if transposed else A) @ X):
                F[to + gap * i : to + gap * i + n] += row

        return add_product

else:
    from mbd.machine.vector_code import vector_intrinsic

    def _dot(b: Any, F: Any, first: Any, second: Any, n: Any) -> Any:
        total = b.accumulator(b.zero)
        with b.loop(n, 4) as i:
            b.add_product(total, b.load(F, first, i), b.load(F, second, i))
        return b.sum(b.value(total))

    def _scale(b: Any, F: Any, a: Any, s: Any, n: Any) -> None:
        factor = b.broadcast(s)
        with b.loop(n, 4) as i:
            b.store(F, a, i, b.times(factor, b.load(F, a, i)))

    def _subtract(b: Any, F: Any, to: Any, s: Any, source: Any, n: Any) -> None:
        factor = b.broadcast(b.negative(s))
        with b.loop(n, 4) as i:
            b.store(F, to, i, b.fma(factor, b.load(F, source, i), b.load(F, to, i)))

    def _subtract_product(
        b: Any, F: Any, to: Any, n: Any, row: Any, count: Any, B: Any, ld: Any
    ) -> None:
        with b.loop(n, 4) as i:
            total = b.accumulator(b.load(F, to, i))
            start = b.plus(B, i)
            with b.loop(count, 1) as k:
                factor = b.broadcast(b.negative(b.load_one(F, row, k)))
                b.add_product(total, factor, b.load(F, start, b.product(k, ld)))
            b.store(F, to, i, b.value(total))

    def _add(b: Any, F: Any, to: Any, s: Any, source: Any, n: Any) -> None:
        factor = b.broadcast(s)
        with b.loop(n, 4) as i:
            b.store(F, to, i, b.fma(factor, b.load(F, source, i), b.load(F, to, i)))

    def _through_map(add: bool) -> Callable[..., None]:
        def emit(b: Any, F: Any, to: Any, A: Any, n: Any, x: Any, y: Any, z: Any) -> None:
            factors = [b.broadcast(c) for c in (x, y, z)]
            with b.loop(n, 4) as j:
                total = b.load(F, to, j) if add else b.zero
                for k, factor in enumerate(factors):
                    row = b.load(F, b.plus(A, b.number(MAP_ROW * k)), j)
                    total = b.fma(factor, row, total)
                b.store(F, to, j, total)

        return emit

    def _sum_of_outer(
        starts: list[int], b: Any, F: Any, to: Any, ld: Any, rows: Any, columns: Any, s: Any,
        U: Any, V: Any,
    ) -> None:  # fmt: skip
        with b.loop(columns, 4) as j:
            right = [b.load(F, b.plus(V, b.number(k)), j) for k in starts]
            right = right if s is None else [b.times(b.broadcast(s), v) for v in right]
            with b.loop(rows, 1) as i:
                place = b.plus(b.plus(to, j), b.product(i, ld))
                total = b.load(F, place, b.number(0))
                for k, v in enumerate(right):
                    left = b.broadcast(b.load_one(F, b.plus(U, b.number(MAP_ROW * k)), i))
                    total = b.fma(left, v, total)
                b.store(F, place, b.number(0), total)

    def _outer(terms: int) -> Callable[..., None]:
        def emit(b: Any, F: Any, *places: Any) -> None:
            _sum_of_outer([MAP_ROW * k for k in range(terms)], b, F, *places)

        return emit

    def _outer_maps(
        b: Any, F: Any, to: Any, ld: Any, rows: Any, columns: Any, U: Any, V: Any
    ) -> None:
        starts = [SCRATCH_EACH * k + MAP_ROW * c for k in range(4) for c in range(3)]
        _sum_of_outer(starts, b, F, to, ld, rows, columns, None, U, V)

    def _set_sum(b: Any, F: Any, to: Any, A: Any, n: Any, *w: Any) -> None:
        factors = [b.broadcast(x) for x in w]
        with b.loop(n, 4) as j:
            for row in range(0, 3 * MAP_ROW, MAP_ROW):
                total = b.zero
                for k, factor in enumerate(factors):
                    place = b.plus(A, b.number(row + k * SCRATCH_EACH))
                    total = b.fma(factor, b.load(F, place, j), total)
                b.store(F, b.plus(to, b.number(row)), j, total)

    def _product(rows: int, terms: int, ld: int, gap: int, each: int, transposed: bool) -> Any:
        along, across = (1, ld) if transposed else (ld, 1)

        def emit(b: Any, F: Any, to: Any, s: Any, M: Any, source: Any, n: Any) -> None:
            factor = b.broadcast(s)
            with b.loop(n, 4) as j:
                X = [
                    b.times(factor, b.load(F, b.plus(source, b.number(each * k)), j))
                    for k in range(terms)
                ]
                for i in range(rows):
                    place = b.plus(to, b.number(gap * i))
                    total = b.load(F, place, j)
                    for k, x in enumerate(X):
                        entry = b.load_one(F, M, b.number(along * i + across * k))
                        total = b.fma(b.broadcast(entry), x, total)
                    b.store(F, place, j, total)

        return emit

    _make: Callable[..., Any] = vector_intrinsic

    def product_of(
        rows: int, terms: int, ld: int, gap: int, each: int, transposed: bool = False
    ) -> Any:
        """Return a function that adds s M X to rows gap apart, those of X are each apart.

        M has a fixed size and rows ld apart; ``transposed`` takes its transpose.
        """
        return _make(_product(rows, terms, ld, gap, each, transposed), "Fifiii", "")

    dot4 = _make(_dot, "Fiii", "f")
    scale4 = _make(_scale, "Fifi", "")
    subtract4 = _make(_subtract, "Fifii", "")
    subtract_product4 = _make(_subtract_product, "Fiiiiii", "")
    add4 = _make(_add, "Fifii", "")
    set_map, add_map = (_make(_through_map(add), "Fiiifff", "") for add in (False, True))
    add_outer_maps = _make(_outer_maps, "Fiiiiii", "")
    set_sum = _make(_set_sum, "Fiiiffff", "")
    add_outer1, add_outer2, add_outer3, add_outer7 = (
        _make(_outer(k), "Fiiiifii", "") for k in (1, 2, 3, 7)
    )
