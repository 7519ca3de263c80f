"""Subnormal numbers, taken for zero in compiled loops.

Numbers below 2.2e-308 have fewer digits and cost a processor a hundredfold; what damping shrinks
for thousands of steps ends there. A bit of the control register makes them zero.
"""

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mbd.machine.jit import PYTHON, jit

# bits that flush subnormal results and operands to zero: FTZ and DAZ of MXCSR, FZ of FPCR
_FLUSH = {"x86": 0x8040, "arm": 1 << 24}
_MACHINE = {"x86_64": "x86", "AMD64": "x86", "aarch64": "arm", "arm64": "arm"}.get(
    platform.machine(), ""
)


@intrinsic
def _float_mode(_typing: Any) -> Any:
    """Return the control register of floating point arithmetic."""

    def codegen(_context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        if _MACHINE == "arm":
            signature = ir.FunctionType(ir.IntType(64), [])
            get = cgutils.get_or_insert_function(builder.module, signature, "llvm.aarch64.get.fpcr")
            return builder.call(get, [])
        place = cgutils.alloca_once(builder, ir.IntType(32))
        _x86_mode(builder, "llvm.x86.sse.stmxcsr", place)
        return builder.zext(builder.load(place), ir.IntType(64))

    return types.int64(), codegen


@intrinsic
def _set_float_mode(_typing: Any, _mode: Any) -> Any:
    """Set the control register of floating point arithmetic."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        if _MACHINE == "arm":
            signature = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
            put = cgutils.get_or_insert_function(builder.module, signature, "llvm.aarch64.set.fpcr")
            builder.call(put, args)
        else:
            place = cgutils.alloca_once(builder, ir.IntType(32))
            builder.store(builder.trunc(args[0], ir.IntType(32)), place)
            _x86_mode(builder, "llvm.x86.sse.ldmxcsr", place)
        return context.get_dummy_value()

    return types.void(types.int64), codegen


def _x86_mode(builder: Any, name: str, place: Any) -> None:
    """Move the control register of x86 to or from memory."""
    signature = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    move = cgutils.get_or_insert_function(builder.module, signature, name)
    builder.call(move, [builder.bitcast(place, ir.IntType(8).as_pointer())])


def flushing(loop: Callable[..., None]) -> Callable[..., None]:
    """Let a kernel take subnormal numbers for zero; the mode of its caller is restored."""
    if PYTHON or not _MACHINE:
        return loop
    body, bits = jit(loop), _FLUSH[_MACHINE]
    get: Any = _float_mode
    put: Any = _set_float_mode

    def flushed(I: Any, F: Any, k: int) -> None:
        mode = get()
        put(mode | bits)
        body(I, F, k)
        put(mode)

    flushed.__name__, flushed.__doc__ = loop.__name__, loop.__doc__
    return flushed
