"""Straight-line code: operations on floats, one after the other, as instructions of LLVM.

To find out what types such a function of a thousand lines has takes numba far longer than LLVM
needs to compile it; here all are floats.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mbd.machine.jit import PYTHON, is_compiled

_INSTRUCTIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_FLOAT, _INDEX = ir.DoubleType(), ir.IntType(64)


def straight_line(
    operations: Sequence[tuple[str, tuple[Any, ...]]],
    stores: Sequence[tuple[int, int, Any]],
    functions: Mapping[str, Any],
    n_places: int,
    add: bool,
) -> Any:
    """Return what compiled code calls as ``run(F, places)``, with a tuple of n places in F.

    Parameters
    ----------
    operations : sequence of (str, tuple)
        ``"load"`` with (p, i) is ``F[places[p] + i]``; arithmetic and functions, by name, are of
        results of earlier operations, given by their number (int), and of constants (float).
    stores : sequence of (int, int, int or float)
        (p, i, x) writes x to ``F[places[p] + i]``, after all operations.
    functions : mapping of str to callable
        Those of ``math`` and ``operator``, and compiled ones.
    n_places : int
    add : bool
        Whether to add to what is there.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        F, places = args[0], cgutils.unpack_tuple(builder, args[1])
        results: list[Any] = []

        def at(p: int, i: int) -> Any:
            return builder.gep(F, [builder.add(places[p], ir.Constant(_INDEX, i))])

        def value(x: Any) -> Any:
            return results[x] if isinstance(x, int) else ir.Constant(_FLOAT, x)

        def called(name: str, values: list[Any]) -> Any:
            function, of = functions[name], types.float64(*[types.float64] * len(values))
            if is_compiled(function):
                return context.compile_internal(builder, function.py_func, of, values)
            return context.get_function(function, of)(builder, values)

        for name, operands in operations:
            if name == "load":
                results.append(builder.load(at(*operands)))
            elif name in _INSTRUCTIONS:
                one, two = map(value, operands)
                results.append(getattr(builder, _INSTRUCTIONS[name])(one, two, flags=["contract"]))
            else:
                results.append(called(name, [value(x) for x in operands]))
        for p, i, x in stores:
            there, number = at(p, i), value(x)
            if add:
                number = builder.fadd(builder.load(there), number, flags=["contract"])
            builder.store(number, there)
        return context.get_dummy_value()

    def in_python(F: Any, places: tuple[int, ...]) -> None:
        results: list[float] = []

        def value(x: int | float) -> float:
            return results[x] if isinstance(x, int) else x

        for name, operands in operations:
            if name == "load":
                results.append(F[places[operands[0]] + operands[1]])
            else:
                results.append(functions[name](*map(value, operands)))
        for p, i, x in stores:
            F[places[p] + i] = value(x) + (F[places[p] + i] if add else 0.0)

    if PYTHON:
        return in_python

    @intrinsic
    def run(_typing: Any, F: Any, places: Any) -> Any:
        """Run it."""
        return types.void(F, types.UniTuple(types.int64, n_places)), codegen

    return run
