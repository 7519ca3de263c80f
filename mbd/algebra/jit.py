"""Floor 0. The only file that knows numba: how kernels are compiled, cached and called.

Two kinds of compiled function exist in the package:

``@jit``
    a small law on numbers and tuples, compiled into whoever calls it;
``@kernel``
    a loop over all elements of a kind. Every kernel has the one C signature
    ``void (int64 *I, double *F, int64 k)``: the integers of the model, its floats, and where
    in ``I`` the kernel finds its own record. One signature means that kernels are called through
    their addresses, so a new formulation or force never recompiles the time loop.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python on numpy arrays: slow, same numbers.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import caching, cgutils, types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

__all__ = [
    "PYTHON",
    "call",
    "external",
    "is_compiled",
    "jit",
    "kernel",
    "law_call",
    "vector_intrinsic",
]

PYTHON = bool(getattr(numba.config, "DISABLE_JIT", 0))
_SIGNATURE = types.void(types.CPointer(types.int64), types.CPointer(types.float64), types.int64)
_LAW = types.void(types.CPointer(types.float64), types.CPointer(types.float64))
_C_LAW = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
_log = logging.getLogger("mbd")

# fused multiply-add is allowed, reordering of sums is not
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a small law into whoever calls it."""
    return numba.njit(**_OPTIONS)(_named(function))


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a closure a name of its own, the same in every process.

    The linker knows compiled functions by name. Closures of one function have one name and a number
    that counts in each process: two of them, one from the cache and one made here, could be taken
    for each other.
    """
    if function.__closure__ and "<locals>" in function.__qualname__:
        digest = hashlib.sha256(_identity(function).encode()).hexdigest()
        function.__qualname__ += f"_{digest[:16]}"
    return function


def _package_stamp() -> str:
    """Return a digest of all files of the package that can end up in a kernel.

    A kernel is cached with all that it inlines, so its cache is valid while none of them changed.
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        text = file.read_bytes()
        if file.parent == Path(__file__).parent or b"mbd.algebra.jit" in text:
            digest.update(text)
    return digest.hexdigest()


_STAMP = _package_stamp()


def _identity(value: Any) -> str:
    """Return a description of a closed-over value that is the same in every process."""
    function = getattr(value, "py_func", value)
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(value)
    cells = [c.cell_contents for c in function.__closure__ or ()]
    text = f"{function.__module__}.{function.__qualname__}:{code.co_code.hex()}:{code.co_consts!r}"
    return text + "".join(_identity(c) for c in cells)


class _Cache(caching.FunctionCache):
    """Numba's function cache with a key that survives closures and sees the whole package."""

    _told = False

    def __init__(self, function: Callable[..., None]) -> None:
        super().__init__(function)
        self._digest = hashlib.sha256(_identity(function).encode()).hexdigest()
        # closures of one function in one file each: processes that compile two of them at the same
        # time would give both the same place in a common one, and one would get the other's code
        self._cache_file = caching.IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{self._digest[:16]}",
            source_stamp=(_STAMP, self._impl.locator.get_source_stamp()),
        )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._digest

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None and not _Cache._told:
            _Cache._told = True
            _log.info("compiling kernels")
            print(
                "mbd: compiling kernels for this machine, once (up to half a minute) ...",
                file=sys.stderr,
                flush=True,
            )
        return found


def _place(array: np.ndarray) -> int:
    """Return the address of an array's data (``array.ctypes`` leaves objects behind)."""
    return int(array.__array_interface__["data"][0])


class _Kernel:
    """A compiled loop; compiled (or loaded from the cache) when its address is first asked for."""

    def __init__(self, function: Callable[..., None], signature: Any = _SIGNATURE) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._signature = signature
        self._address = 0
        self._compiled: Any = None
        self._callable: Any = None

    @property
    def address(self) -> int:
        """Number under which ``call`` finds this kernel."""
        if not self._address:
            if PYTHON:
                _PYTHON_KERNELS.append(self.function)
                self._address = len(_PYTHON_KERNELS)
            else:
                args = (self._signature.args, self._signature.return_type)
                compiled: Any = CFunc(self.function, args, {}, _OPTIONS)
                try:
                    compiled._cache = _Cache(self.function)
                except RuntimeError:  # no source file (a shell): compile, do not cache
                    _log.debug("%s cannot be cached", self.function)
                compiled.compile()
                self._compiled = compiled
                self._address = compiled.address
        return self._address

    def __call__(self, I: np.ndarray, F: np.ndarray, k: int = 0) -> None:
        """Run the kernel on arrays."""
        if PYTHON:
            self.function(I, F, k)
            return
        if self._callable is None:
            self._callable = _C_KERNEL(self.address)
        self._callable(_place(I), _place(F), k)


_PYTHON_KERNELS: list[Callable[..., None]] = []
_C_KERNEL = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def kernel(function: Callable[..., None]) -> _Kernel:
    """Make a kernel of ``function(I, F, k)``."""
    return _Kernel(_named(function))


def external(function: Callable[[Any, Any], None], *, compiled: bool) -> tuple[int, Any]:
    """Return address and keeper of a law ``function(inputs, outputs)`` from outside the package.

    A law that is not compiled is called back in Python: slower, same numbers.
    """
    if PYTHON:
        _PYTHON_KERNELS.append(function)
        return len(_PYTHON_KERNELS), function
    if compiled:
        made: Any = CFunc(function, (_LAW.args, _LAW.return_type), {}, _OPTIONS)
        made.compile()
        return int(made.address), made
    back = _C_LAW(function)
    return int(ctypes.cast(back, ctypes.c_void_p).value or 0), back


def is_compiled(function: object) -> bool:
    """Tell whether a user's function is a numba one."""
    return hasattr(function, "py_func") and not inspect.isfunction(function)


def _indirect(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    """Emit a call of the C function whose address is the first argument."""
    address, *rest = args
    kind = ir.FunctionType(ir.VoidType(), [a.type for a in rest])
    builder.call(builder.inttoptr(address, kind.as_pointer()), rest)
    return ir.Constant(ir.IntType(8).as_pointer(), None)


if PYTHON:

    def call(address: int, I: np.ndarray, F: np.ndarray, k: int) -> None:
        """Run the kernel at ``address``."""
        _PYTHON_KERNELS[address - 1](I, F, k)

    def law_call(address: int, F: np.ndarray, i: int, o: int) -> None:
        """Run the law at ``address`` on inputs at ``F[i:]`` and outputs at ``F[o:]``."""
        _PYTHON_KERNELS[address - 1](F[i:], F[o:])

else:

    @intrinsic
    def call(_typing: Any, address: Any, I: Any, F: Any, k: Any) -> Any:
        """Run the kernel at ``address``."""
        signature = types.void(address, I, F, types.int64)
        return signature, _indirect

    @intrinsic
    def law_call(_typing: Any, address: Any, F: Any, i: Any, o: Any) -> Any:
        """Run the law at ``address`` on inputs at ``F[i:]`` and outputs at ``F[o:]``."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            where, base, first, second = args
            inputs = builder.gep(base, [first])
            outputs = builder.gep(base, [second])
            return _indirect(context, builder, signature, [where, inputs, outputs])

        return types.void(address, F, types.int64, types.int64), codegen


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

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        made = emit(_Vectors(builder), *args)
        return ir.Constant(ir.IntType(8).as_pointer(), None) if made is None else made

    def typed(*given: Any) -> Any:
        full = [F if k == "F" else kinds[k] for k, F in zip(arguments, given, strict=True)]
        return kinds[result](*full), codegen

    # numba reads the number of arguments from the signature, so spell it out
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def made(_typing, {names}): return typed({names})", scope)
    return intrinsic(scope["made"])
