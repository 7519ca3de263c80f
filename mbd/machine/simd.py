"""Loops over whole vector registers of four floats, for the block LU and the pull-back.

LLVM does not find them by itself in loops as short as a joint has rows, so they are written as
vector instructions here, each with its plain meaning by it (used with ``NUMBA_DISABLE_JIT=1``).
Lengths n are rounded up to multiples of four, rows being padded with zeros, but in products. A
*map* is a matrix of three rows, a *vector* a row, each of MAP_ROW numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.machine.buffer import MAP_ROW, SCRATCH_EACH
from mbd.machine.jit import PYTHON

if PYTHON:

    def ask_for(F: Any, a: int, n: int) -> None:
        """Ask for n floats from F[a] on that are read soon: nothing changes."""

    def set_dots(F: Any, to: int, A: int, ld: int, rows: int, x: int, n: int) -> None:
        """F[to+r] = sum_i F[A+r*ld+i] F[x+i]."""
        for r in range(rows):
            F[to + r] = F[A + r * ld : A + r * ld + n] @ F[x : x + n]

    def subtract_dots(
        F: Any, to: int, start: int, A: int, ld: int, rows: int, x: int, n: int
    ) -> None:
        """F[to+r] = F[start+r] - sum_i F[A+r*ld+i] F[x+i]."""
        for r in range(rows):
            F[to + r] = F[start + r] - F[A + r * ld : A + r * ld + n] @ F[x : x + n]

    def scale4(F: Any, a: int, s: float, n: int) -> None:
        """F[a+i] *= s."""
        F[a : a + n] *= s

    def subtract4(F: Any, to: int, s: float, source: int, n: int) -> None:
        """F[to+i] -= s F[source+i]."""
        F[to : to + n] -= s * F[source : source + n]

    def _tile(rows: int) -> Callable[..., Any]:
        def subtract_product(F: Any, *places: int) -> None:
            """F[to+r*ldt+i] -= sum_k F[A+r*lda+k] F[B+k*ldb+i], k below count, for some rows r.

            Places and lengths are to, ldt, n; A, lda, count; B, ldb.
            """
            to, ldt, n, A, lda, count, B, ldb = places
            for r in range(rows):
                for k in range(count):
                    t, row = to + r * ldt, B + k * ldb
                    F[t : t + n] -= F[A + r * lda + k] * F[row : row + n]

        return subtract_product

    subtract_product1, subtract_product3 = map(_tile, (1, 3))

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

    def _ask_for(b: Any, F: Any, a: Any, n: Any) -> None:
        with b.loop(n, 8) as i:
            b.prefetch(F, b.plus(a, i))

    def _dots(b: Any, F: Any, A: Any, ld: Any, r: Any, rows: Any, x: Any, n: Any) -> Any:
        """Return the products of x with four rows from number r on, or the last of them."""
        last = b.minus(rows, b.number(1))
        numbers = [b.smaller(b.plus(r, b.number(i)), last) for i in range(4)]
        places = [b.plus(A, b.product(i, ld)) for i in numbers]
        totals = [b.accumulator(b.zero) for _ in places]
        with b.loop(n, 4) as j:
            v = b.first(b.minus(n, j), b.load(F, x, j), b.zero)
            for place, total in zip(places, totals, strict=True):
                b.add_product(total, b.load(F, place, j), v)
        return b.four_sums([b.value(total) for total in totals])

    def _set_dots(b: Any, F: Any, to: Any, A: Any, ld: Any, rows: Any, x: Any, n: Any) -> None:
        with b.loop(rows, 4) as r:
            dots = _dots(b, F, A, ld, r, rows, x, n)
            b.store(F, to, r, b.first(b.minus(rows, r), dots, b.load(F, to, r)))

    def _subtract_dots(b: Any, F: Any, *places: Any) -> None:
        to, start, A, ld, rows, x, n = places
        with b.loop(rows, 4) as r:
            less = b.subtract(b.load(F, start, r), _dots(b, F, A, ld, r, rows, x, n))
            b.store(F, to, r, b.first(b.minus(rows, r), less, b.load(F, to, r)))

    def _scale(b: Any, F: Any, a: Any, s: Any, n: Any) -> None:
        factor = b.broadcast(s)
        with b.loop(n, 4) as i:
            b.store(F, a, i, b.times(factor, b.load(F, a, i)))

    def _subtract(b: Any, F: Any, to: Any, s: Any, source: Any, n: Any) -> None:
        factor = b.broadcast(b.negative(s))
        with b.loop(n, 4) as i:
            b.store(F, to, i, b.fma(factor, b.load(F, source, i), b.load(F, to, i)))

    def _tile(rows: int) -> Callable[..., None]:
        def emit(b: Any, F: Any, *places: Any) -> None:
            to, ldt, n, A, lda, count, B, ldb = places
            targets = [b.plus(to, b.product(b.number(r), ldt)) for r in range(rows)]
            left = [b.plus(A, b.product(b.number(r), lda)) for r in range(rows)]
            with b.loop(n, 4) as i:
                before = [b.load(F, t, i) for t in targets]
                totals = [b.accumulator(x) for x in before]
                start = b.plus(B, i)
                with b.loop(count, 1) as k:
                    row = b.load(F, start, b.product(k, ldb))
                    for a, total in zip(left, totals, strict=True):
                        b.add_product(total, b.broadcast(b.negative(b.load_one(F, a, k))), row)
                for t, total, x in zip(targets, totals, before, strict=True):
                    b.store(F, t, i, b.first(b.minus(n, i), b.value(total), x))

        return emit

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

    def _sum_of_outer(starts: list[int], b: Any, F: Any, *places: Any) -> None:
        to, ld, rows, columns, s, U, V = places
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

    ask_for = _make(_ask_for, "Fii", "")
    set_dots, subtract_dots = _make(_set_dots, "Fiiiiii", ""), _make(_subtract_dots, "Fiiiiiii", "")
    scale4 = _make(_scale, "Fifi", "")
    subtract4 = _make(_subtract, "Fifii", "")
    subtract_product1, subtract_product3 = (_make(_tile(k), "Fiiiiiiii", "") for k in (1, 3))
    add4 = _make(_add, "Fifii", "")
    set_map, add_map = (_make(_through_map(add), "Fiiifff", "") for add in (False, True))
    add_outer_maps = _make(_outer_maps, "Fiiiiii", "")
    set_sum = _make(_set_sum, "Fiiiffff", "")
    add_outer1, add_outer2, add_outer3, add_outer7 = (
        _make(_outer(k), "Fiiiifii", "") for k in (1, 2, 3, 7)
    )
