"""Loops over whole vector registers of four floats, for the block LU.

LLVM does not find them by itself in loops as short as a joint has rows, so they are written as
vector instructions here, each with its plain meaning beside it (used with ``NUMBA_DISABLE_JIT=1``).
All lengths n are rounded up to multiples of four: rows are padded with zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbd.machine.jit import PYTHON

__all__ = ["dot4", "scale4", "subtract4", "subtract_product4"]

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

    _make: Callable[..., Any] = vector_intrinsic
    dot4 = _make(_dot, "Fiii", "f")
    scale4 = _make(_scale, "Fifi", "")
    subtract4 = _make(_subtract, "Fifii", "")
    subtract_product4 = _make(_subtract_product, "Fiiiiii", "")
