"""Vector instructions of LLVM as compiled functions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


class _Vectors:
    """LLVM instructions on vectors of four floats, by name; see ``simd.py`` for their use."""

    four = ir.VectorType(ir.DoubleType(), 4)
    index = ir.IntType(64)

    def __init__(self, builder: Any) -> None:
        self.b = builder
        self.zero = ir.Constant(self.four, [0.0] * 4)

    def _at(self, F: Any, base: Any, i: Any, of: Any) -> Any:
        place = self.b.gep(F, [self.b.add(base, i)])
        return self.b.bitcast(place, of.as_pointer())

    def load(self, F: Any, base: Any, i: Any) -> Any:
        value = self.b.load(self._at(F, base, i, self.four))
        value.align = 8
        return value

    def load_one(self, F: Any, base: Any, i: Any) -> Any:
        return self.b.load(self.b.gep(F, [self.b.add(base, i)]))

    def prefetch(self, F: Any, i: Any) -> None:
        """Ask for the cache line of a float; a place beyond the end does no harm."""
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        ask = self.b.module.declare_intrinsic("llvm.prefetch", [byte], signature)
        flags = [ir.Constant(flag, k) for k in (0, 3, 1)]  # to read, to the nearest cache, data
        self.b.call(ask, [self.b.bitcast(self.b.gep(F, [i]), byte), *flags])

    def store(self, F: Any, base: Any, i: Any, value: Any) -> None:
        self.b.store(value, self._at(F, base, i, self.four)).align = 8

    def store_one(self, F: Any, i: Any, value: Any) -> None:
        self.b.store(value, self.b.gep(F, [i]))

    def room(self, n: int) -> Any:
        """Return a place for n floats."""
        return cgutils.alloca_once(self.b, ir.DoubleType(), n)

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

    def set(self, place: Any, value: Any) -> None:
        self.b.store(value, place)

    def add_product(self, place: Any, a: Any, b: Any) -> None:
        self.b.store(self.fma(a, b, self.b.load(place)), place)

    def sum(self, value: Any) -> Any:
        parts = [self.b.extract_element(value, ir.Constant(ir.IntType(32), i)) for i in range(4)]
        return self.b.fadd(self.b.fadd(parts[0], parts[1]), self.b.fadd(parts[2], parts[3]))

    def four_sums(self, parts: list[Any]) -> Any:
        """Return the sums of four vectors as one."""
        even, odd = [0, 4, 2, 6], [1, 5, 3, 7]
        pairs = [
            self.b.fadd(self._shuffle(a, b, even), self._shuffle(a, b, odd))
            for a, b in (parts[:2], parts[2:])
        ]
        low, high = [0, 1, 4, 5], [2, 3, 6, 7]
        a, b = pairs
        return self.b.fadd(self._shuffle(a, b, low), self._shuffle(a, b, high))

    def _shuffle(self, a: Any, b: Any, lanes: list[int]) -> Any:
        return self.b.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), 4), lanes))

    def first(self, n: Any, a: Any, b: Any) -> Any:
        """Return the first n entries of a, the others of b."""
        lanes = ir.VectorType(self.index, 4)
        numbers = self.b.insert_element(ir.Constant(lanes, None), n, ir.Constant(self.index, 0))
        numbers = self._shuffle(numbers, numbers, [0] * 4)
        return self.b.select(
            self.b.icmp_signed("<", ir.Constant(lanes, [0, 1, 2, 3]), numbers), a, b
        )

    def minus(self, a: Any, b: Any) -> Any:
        return self.b.sub(a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.b.select(self.b.icmp_signed("<", a, b), a, b)

    def entry(self, value: Any, i: int) -> Any:
        return self.b.extract_element(value, ir.Constant(ir.IntType(32), i))

    def with_entry(self, value: Any, i: int, number: float) -> Any:
        new = ir.Constant(ir.DoubleType(), number)
        return self.b.insert_element(value, new, ir.Constant(ir.IntType(32), i))

    def reciprocal(self, s: Any) -> Any:
        return self.b.fdiv(ir.Constant(ir.DoubleType(), 1.0), s)

    def subtract(self, a: Any, b: Any) -> Any:
        return self.b.fsub(a, b)

    def all_larger(self, numbers: list[Any], least: list[Any]) -> Any:
        """Return whether the size of each number is above the least one for it."""
        size = self.b.module.declare_intrinsic("llvm.fabs", [ir.DoubleType()])
        answer = ir.Constant(ir.IntType(1), 1)
        for s, bound in zip(numbers, least, strict=True):
            larger = self.b.fcmp_ordered(">", self.b.call(size, [s]), bound)
            answer = self.b.and_(answer, larger)
        return answer

    def where(self, condition: Any) -> Any:
        """Return a block of code that runs where the condition holds."""
        return self.b.if_then(condition)

    def at_most(self, a: Any, b: Any) -> Any:
        return self.b.icmp_signed("<=", a, b)

    def as_index(self, condition: Any) -> Any:
        return self.b.zext(condition, self.index)

    @contextmanager
    def loop(self, stop: Any, step: int, start: Any = None) -> Iterator[Any]:
        """Go from start to stop, of which nothing is known: short loops would be unrolled."""
        same = ir.FunctionType(self.index, [self.index])
        stop = self.b.asm(same, "", "=r,0", [stop], False)
        stop.attributes.add("readnone")
        stop.attributes.add("nounwind")
        first = ir.Constant(self.index, 0) if start is None else start
        by = ir.Constant(self.index, step)
        with cgutils.for_range_slice(self.b, first, stop, by, self.index) as (i, _):
            yield i


def vector_intrinsic(emit: Callable[..., Any], arguments: str, result: str) -> Any:
    """Return a compiled function whose body is the vector code that ``emit`` writes.

    ``arguments`` spells the types: F the floats, i an index, f a float; so does ``result``.
    """
    by_letter = {"i": types.int64, "f": types.float64, "": types.void}
    by_letter["F"] = types.CPointer(types.float64)

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = emit(_Vectors(builder), *args)
        return ir.Constant(ir.IntType(8).as_pointer(), None) if value is None else value

    def typed(*received: Any) -> Any:
        full = [F if k == "F" else by_letter[k] for k, F in zip(arguments, received, strict=True)]
        return by_letter[result](*full), codegen

    # numba reads the number of arguments from the signature, so spell it out
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def body(_typing, {names}): return typed({names})", scope)
    return intrinsic(scope["body"])
