"""Vector instructions of LLVM as compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["vector_intrinsic"]


class _Vectors:
    """LLVM instructions on vectors of four floats, by name; see ``simd.py`` for their use."""

    four = ir.VectorType(ir.DoubleType(), 4)
    index = ir.IntType(64)

    def __init__(self, builder: Any) -> None:
        self.b = builder
        self.zero = ir.Constant(self.four, [0.0] * 4)

    def _at(self, F: Any, base: Any, i: Any, kind: Any) -> Any:
        place = self.b.gep(F, [self.b.add(base, i)])
        return self.b.bitcast(place, kind.as_pointer())

    def load(self, F: Any, base: Any, i: Any) -> Any:
        value = self.b.load(self._at(F, base, i, self.four))
        value.align = 8
        return value

    def load_one(self, F: Any, base: Any, i: Any) -> Any:
        return self.b.load(self.b.gep(F, [self.b.add(base, i)]))

    def store(self, F: Any, base: Any, i: Any, value: Any) -> None:
        self.b.store(value, self._at(F, base, i, self.four)).align = 8

    def broadcast(self, s: Any) -> Any:
        first = self.b.insert_element(self.zero, s, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        return self.b.shuffle_vector(first, self.zero, lanes)

    def number(self, n: int) -> Any:
        return ir.Constant(self.index, n)

    def negative(self, s: Any) -> Any:
        return self.b.fneg(s)

    def plus(self, a: Any, b: Any) -> Any:
        return self.b.add(a, b)

    def product(self, a: Any, b: Any) -> Any:
        return self.b.mul(a, b)

    def times(self, a: Any, b: Any) -> Any:
        return self.b.fmul(a, b)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.b.fadd(self.b.fmul(a, b, flags=["contract"]), c, flags=["contract"])

    def accumulator(self, start: Any) -> Any:
        place = cgutils.alloca_once(self.b, self.four)
        self.b.store(start, place)
        return place

    def value(self, place: Any) -> Any:
        return self.b.load(place)

    def add_product(self, place: Any, a: Any, b: Any) -> None:
        self.b.store(self.fma(a, b, self.b.load(place)), place)

    def sum(self, value: Any) -> Any:
        parts = [self.b.extract_element(value, ir.Constant(ir.IntType(32), i)) for i in range(4)]
        return self.b.fadd(self.b.fadd(parts[0], parts[1]), self.b.fadd(parts[2], parts[3]))

    @contextmanager
    def loop(self, stop: Any, step: int) -> Iterator[Any]:
        zero, by = ir.Constant(self.index, 0), ir.Constant(self.index, step)
        with cgutils.for_range_slice(self.b, zero, stop, by, self.index) as (i, _):
            yield i


def vector_intrinsic(emit: Callable[..., Any], arguments: str, result: str) -> Any:
    """Return a compiled function whose body is the vector code that ``emit`` writes.

    ``arguments`` spells the kinds: F the floats, i an index, f a float; so does ``result``.
    """
    kinds = {"i": types.int64, "f": types.float64, "": types.void}
    kinds["F"] = types.CPointer(types.float64)

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = emit(_Vectors(builder), *args)
        return ir.Constant(ir.IntType(8).as_pointer(), None) if value is None else value

    def typed(*received: Any) -> Any:
        full = [F if k == "F" else kinds[k] for k, F in zip(arguments, received, strict=True)]
        return kinds[result](*full), codegen

    # numba reads the number of arguments from the signature, so spell it out
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def body(_typing, {names}): return typed({names})", scope)
    return intrinsic(scope["body"])
