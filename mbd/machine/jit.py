"""Compilation, cache and calls of kernels; only this folder knows numba.

Two kinds of compiled function exist in the package:

``@jit``
    a small function of numbers and tuples, compiled into whoever calls it;
``@kernel``
    a loop over all elements of a kind. Every kernel has the one C signature
    ``void (int32 *I, double *F, int64 k)``: the tables of the model, the numbers of a run, and
    where in ``I`` the kernel finds its own record. One signature means that kernels are called
    through their addresses, so a new formulation or force never recompiles the time loop.

A kernel that runs long, a ``loop`` over steps or any on large arrays, releases the lock of the
interpreter: other threads run meanwhile, and laws in Python that it calls back take the lock again.
A short one keeps it: who gives it away waits until the others are ready to return it.

With ``NUMBA_DISABLE_JIT=1`` everything runs as plain Python on numpy arrays: slow, same numbers.
"""

import ctypes
import hashlib
import inspect
import logging
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.errors import NumbaError, NumbaPerformanceWarning
from numba.extending import intrinsic

from mbd.machine import kernel_cache
from mbd.machine.buffer import ENTRY, INTS, integers, joined
from mbd.machine.kernel_cache import FingerprintError, Fingerprints
from mbd.machine.private_numba import (
    CFunction,
    Inlined,
    Kept,
    compiled_for,
    processor,
    source_of,
)
from mbd.machine.tables import TablesPointer, load_entry

PYTHON = bool(getattr(numba.config, "DISABLE_JIT", 0))
_SIGNATURE = types.void(TablesPointer(), types.CPointer(types.float64), types.int64)
_MAPS = types.void(*_SIGNATURE.args, types.int64, types.int64)
_MEASURE = types.float64(types.CPointer(types.float64), *(types.int64,) * 3)
_LAW = types.int64(*(types.CPointer(types.float64),) * 3)  # inputs, outputs, parameters
_CALLING_LAW = types.int64(*_LAW.args[:2], types.CPointer(types.int64))
_C_LAW = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.POINTER(ctypes.c_double),) * 2, ctypes.c_void_p)
_C_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_TABLES = [TablesPointer.__module__, TablesPointer.__qualname__, load_entry]  # as kept in a file
_LARGE = 1 << 16  # floats: a kernel on so many runs longer than the lock takes to come back
_log = logging.getLogger("mbd")

# fused multiply-add is allowed, reordering of sums is not
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a small function into whoever calls it."""
    if PYTHON:
        return function
    return Inlined(
        _named(function), targetoptions={"nopython": True, "boundscheck": None, **_OPTIONS}
    )


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a closure a name of its own, the same in every process.

    The linker knows compiled functions by name. Closures of one function have one name and a number
    that counts in each process: two of them, one from the cache and one made here, could be taken
    for each other.
    """
    if function.__closure__ and "<locals>" in function.__qualname__:
        function.__qualname__ += f"_{Fingerprints(source_of, deep=False)(function)[:16]}"
    return function


_fingerprint = Fingerprints(source_of)
_VERSIONS = (
    # how kernels are made, if not of what
    "own copies of functions, optimised with them, under names of their own",
    sys.version, numba.__version__, llvmlite.__version__, np.__version__,
    *(getattr(numba.config, name) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")),
)  # fmt: skip


def _tell(what: str) -> None:
    print(f"mbd: {what}", file=sys.stderr, flush=True)


_NOTICES: list[str] = []


def notice(time: str) -> None:
    """Say that kernels are being compiled, once, or about how long it takes."""
    if not _NOTICES:
        _tell(f"compiling kernels for this machine, once{time} ...")
    elif time:
        _tell(f"compiling more kernels{time} ...")
    _NOTICES.append(time)


def _in_a_sentence(report: str, function: Callable[..., Any]) -> str:
    """Return what numba reports of a function that does not compile: the function, the reason."""
    inner = re.search(
        r"Inlined\(<function (\S+) at|type\(CPUDispatcher\(<function (\S+) at", report
    )
    name = next(filter(None, inner.groups())) if inner else function.__qualname__
    lines = (x.strip() for x in report.splitlines())
    reason = next((x for x in lines if x and not x.startswith("Failed in")), "no reason given")
    where = re.findall(r'^File "(.+)", line (\d+)', report, re.M)
    place = f" ({where[0][0]}, line {where[0][1]})" if where else ""
    return f"{name} does not compile in {function.__name__!r}{place}: {reason}; correct {name}"


_places: dict[int, tuple[ReferenceType[np.ndarray], int]] = {}


def _place(array: np.ndarray, entry: Any) -> int:
    """Return the address of an array's data, which numpy takes longer to tell than a kernel."""
    key = id(array)
    place = _places.get(key)
    if place is None or place[0]() is not array:
        if array.dtype != entry:
            raise TypeError(f"a kernel takes an array of {entry.__name__}, got {array.dtype}")
        alive = ref(array, lambda _: _places.pop(key, None))
        place = _places[key] = alive, int(array.__array_interface__["data"][0])
    return place[1]


class Kernel:
    """A compiled loop; compiled (or loaded from the cache) when its address is first asked for.

    Parameters
    ----------
    function : callable
    long : bool
        Whether it runs long on small arrays too.
    """

    def __init__(
        self, function: Callable[..., None], signature: Any = _SIGNATURE, *, long: bool = False
    ) -> None:
        self.function, self.long = function, long
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.signature = signature
        self._address = 0
        self._compiled: list[tuple[CFunction, int]] = []

    @property
    def is_ready(self) -> bool:
        """Whether it has an address."""
        return bool(self._address)

    @property
    def address(self) -> int:
        """Number under which ``call`` finds this kernel."""
        if not self._address:
            if PYTHON:
                self._address, _ = _in_python(self.function, None)
            else:
                self.compile(wait=True)
        return self._address

    @cached_property
    def file(self) -> Path | None:
        """The file in which the compiled kernel is kept; None if it cannot be."""
        where = kernel_cache.folder(getattr(numba.config, "CACHE_DIR", ""))
        if PYTHON or where is None:
            return None
        try:
            made_from = _fingerprint(
                [self.function, str(self.signature), _TABLES, _VERSIONS, processor(), _OPTIONS]
            )
        except FingerprintError as reason:
            _log.debug("%s cannot be kept: %s", self.function, reason)
            return None
        digest = hashlib.sha256(made_from.encode()).hexdigest()
        return where / f"{self.__name__}-{digest[:40]}.kernel"

    def compile(self, wait: bool) -> bool:
        """Compile, or load from the cache; false where another process does, and we do not wait."""
        file = self.file
        if file in _COMPILED:
            self._compiled, self._address = _COMPILED[file]._compiled, _COMPILED[file]._address
            return True
        kept = Kept(file, self._missing)
        compiled = CFunction(self.function, self.signature, _OPTIONS, kept)
        lock = kernel_cache.locked(file, wait) if file and not file.exists() else nullcontext(True)
        with lock as free:
            if not free:
                return False
            try:
                address = compiled.compile()
            except NumbaError as error:
                _log.debug("%s does not compile", self.__name__, exc_info=True)
                raise TypeError(_in_a_sentence(str(error), self.function)) from None
        self._compiled.append((compiled, address))  # all stay: another thread may be as fast
        self._address = self._compiled[0][1]
        if file is not None:
            _COMPILED[file] = self
        return True

    def _missing(self, error: Exception | None) -> None:
        """Say that the kernel is compiled, and why if it is not for the first time."""
        if error is not None and self.file is not None:
            _tell(f"the kept kernel {self.__name__} is damaged and is compiled again ({error!r})")
            with suppress(OSError):
                self.file.unlink()
        notice("")

    def __call__(self, I: np.ndarray, F: np.ndarray, k: int = 0, *more: int) -> None:
        """Run the kernel on arrays."""
        if PYTHON:
            self.function(I, F, k, *more)
            return
        alone, unlocked = self._calls
        (unlocked if self.long or F.size > _LARGE else alone)(
            _place(I, ENTRY), _place(F, np.float64), k, *more
        )

    @cached_property
    def _calls(self) -> tuple[Any, Any]:
        """The calls that keep and that release the lock of the interpreter."""
        arguments = *(ctypes.c_void_p,) * 2, *(ctypes.c_int64,) * len(self.signature.args[2:])
        alone, unlocked = (
            prototype(None, *arguments) for prototype in (ctypes.PYFUNCTYPE, ctypes.CFUNCTYPE)
        )
        return alone(self.address), unlocked(self.address)


_COMPILED: dict[Path | None, Kernel] = {}  # of this process: equal kernels have one code
_PYTHON_KERNELS: list[Callable[..., Any]] = []
_PYTHON_ARRAYS: list[np.ndarray] = []


def address_of(array: np.ndarray) -> int:
    """Return the number under which compiled code finds an array, which must stay alive.

    There ``floats_at``, ``integers_at`` and ``tables_at`` take it.
    """
    if PYTHON:
        _PYTHON_ARRAYS.append(array)
        return len(_PYTHON_ARRAYS)
    return int(array.__array_interface__["data"][0])


def kernel(function: Callable[..., None]) -> Kernel:
    """Make a kernel of ``function(I, F, k)``."""
    return Kernel(_named(function))


def loop(function: Callable[..., None]) -> Kernel:
    """Make a kernel of ``function(I, F, k)`` that takes many steps."""
    return Kernel(_named(function), long=True)


def maps_kernel(function: Callable[..., None]) -> Kernel:
    """Make a kernel of ``function(I, F, a, to, rate)``, which writes the maps of an attachment."""
    return Kernel(_named(function), _MAPS)


def external(function: Callable[..., int], *, compiled: bool) -> tuple[int, Any]:
    """Return address and keeper of a law from outside the package.

    That is ``function(inputs, outputs, parameters)``, arrays of floats.

    It returns whether it raised (1) or not (0). A law that is not compiled is called back in
    Python: slower, same numbers.
    """
    if compiled and not PYTHON:
        law = CFunction(function, _LAW, _OPTIONS)
        with warnings.catch_warnings():  # of columns of R, which are short, though not contiguous
            warnings.simplefilter("ignore", NumbaPerformanceWarning)
            return law.compile(), law
    return _in_python(function, _C_LAW)


def law_on_arrays(address: int, inputs: np.ndarray, outputs: np.ndarray) -> int:
    """Run the law at an address on arrays of floats."""
    if PYTHON:
        return int(_PYTHON_KERNELS[address - 1](inputs, outputs, None))
    places = (x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (inputs, outputs))
    return int(_C_LAW(address)(*places, None))


def measure_function(function: Callable[..., float]) -> Kernel:
    """Make the kernel of ``function(F, x, k, bends)``, which returns a measure."""
    return Kernel(_named(function), _MEASURE)


def law_of_table(function: Callable[..., Any]) -> Kernel:
    """Make the kernel of laws ``function(inputs, outputs, table)``, which differ by a table."""
    return Kernel(_named(function), _LAW)


def law_of_addresses(function: Callable[..., Any]) -> Kernel:
    """Make the kernel of laws ``function(inputs, outputs, places)``, which differ by addresses.

    They are those of functions of users and of tables.
    """
    return Kernel(_named(function), _CALLING_LAW)


def external_of_table(kernel: Kernel, table: np.ndarray) -> tuple[int, Any]:
    """Return address and keeper of the law that a kernel makes of a table, or of addresses."""
    if PYTHON:
        function: Any = kernel.function
        return external(lambda x, y, _: function(x, y, table), compiled=False)
    of_all, where = kernel.address, address_of(table)
    at = integers_at if table.dtype == np.int64 else floats_at
    law = CFunction(lambda x, y, _: _status_of(of_all, x, y, at(where)), _LAW, _OPTIONS)
    return law.compile(), (law, table)


def user_function(function: Any, arguments: Sequence[Any]) -> tuple[int, Any, Any]:
    """Return address, form and keeper of a user's function for arguments of some types.

    Types are 0 of a number, n of an array of n dimensions, a tuple of these. The form, types of
    what is returned and taken, is that of ``calling``.
    """
    several = tuple(map(_type_of, arguments))
    with warnings.catch_warnings():  # of columns of R, which are short, though not contiguous
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        address, returned, keeper = compiled_for(function, several)
    return address, (returned, several), keeper


def _type_of(argument: Any) -> Any:
    if isinstance(argument, tuple):
        return types.Tuple([_type_of(x) for x in argument])
    return types.Array(types.float64, argument, "C") if argument else types.float64


def calling(returned: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what calls functions of a form: ``called(address, (...))``, in compiled code."""

    def called(_typing: Any, _address: Any, _several: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            convention, values = context.call_conv, cgutils.unpack_tuple(builder, args[1])
            form = convention.get_function_type(returned, arguments)
            function = builder.inttoptr(args[0], form.as_pointer())
            status, value = convention.call_function(builder, function, returned, arguments, values)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return value

        return returned(types.int64, types.Tuple(arguments)), codegen

    return intrinsic(called)


def called_back(function: Callable[[Any, Any, int], None]) -> tuple[int, Any]:
    """Return address and keeper of a kernel ``function(I, F, k)`` that stays in Python.

    I and F are no arrays in it, but addresses. It must not raise.
    """
    return _in_python(function, _C_KERNEL)


def _in_python(function: Callable[..., Any], prototype: Any) -> tuple[int, Any]:
    """Return address and keeper of a function that stays in Python."""
    if PYTHON:
        _PYTHON_KERNELS.append(function)
        return len(_PYTHON_KERNELS), function
    back = prototype(function)
    return int(ctypes.cast(back, ctypes.c_void_p).value or 0), back


def is_compiled(function: object) -> bool:
    """Tell whether a user's function is a numba one."""
    return hasattr(function, "py_func") and not inspect.isfunction(function)


if PYTHON:

    def call(address: int, I: np.ndarray, F: np.ndarray, k: int, *more: int) -> None:
        """Run the kernel at ``address``."""
        _PYTHON_KERNELS[address - 1](I, F, k, *more)

    def law_call(address: int, F: np.ndarray, i: int, o: int, p: int) -> int:
        """Run the law at ``address`` on inputs at F[i:], outputs at F[o:], parameters at F[p:]."""
        return int(_PYTHON_KERNELS[address - 1](F[i:], F[o:], F[p:]))

    def measure_call(address: int, F: np.ndarray, *places: int) -> float:
        """Return the measure that the function at ``address`` writes."""
        return float(_PYTHON_KERNELS[address - 1](F, *places))

    ints: Any = integers

    def _array_at(address: int) -> np.ndarray:
        """Return the array of ``address_of``."""
        return _PYTHON_ARRAYS[address - 1]

    floats_at: Any = _array_at
    integers_at: Any = _array_at
    tables_at: Any = _array_at

    def part(F: np.ndarray, first: int) -> np.ndarray:
        """Return F from a place on: a vector that is changed in place."""
        return F[first:]

    def vector_at(F: np.ndarray, first: int, n: int) -> np.ndarray:
        """Return n floats from a place on as an array, for functions of users."""
        return F[first : first + n]

else:

    def _c_call(returned: Any) -> Any:
        """Return what calls the C function whose address comes before its arguments."""

        def called(_typing: Any, address: Any, *arguments: Any) -> Any:
            def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
                some = cgutils.unpack_tuple(builder, args[1])
                void = returned == types.void
                result = ir.VoidType() if void else context.get_value_type(returned)
                pointer = ir.FunctionType(result, [x.type for x in some]).as_pointer()
                value = builder.call(builder.inttoptr(args[0], pointer), some)
                return context.get_dummy_value() if void else value

            whole = [types.int64 if isinstance(x, types.Integer) else x for x in arguments]
            return returned(types.int64, types.Tuple(whole)), codegen

        return intrinsic(called)

    def _pointer_at(pointer: Any) -> Any:
        """Return the function that takes an address for a pointer."""

        def typed(_typing: Any, address: Any) -> Any:
            def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
                return builder.inttoptr(args[0], context.get_value_type(pointer))

            return pointer(types.int64), codegen

        return intrinsic(typed)

    call, measure_call = _c_call(types.void), _c_call(types.float64)
    _status_of: Any = _c_call(types.int64)
    floats_at = _pointer_at(types.CPointer(types.float64))
    integers_at = _pointer_at(types.CPointer(types.int64))
    tables_at = _pointer_at(TablesPointer())

    @intrinsic
    def ints(_typing: Any, F: Any) -> Any:
        """Return S, the integers of the run, which lie among its floats."""
        pointer = types.CPointer(types.int64)

        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            first = builder.gep(args[0], [ir.Constant(ir.IntType(64), INTS)])
            return builder.bitcast(first, context.get_value_type(pointer))

        return pointer(F), codegen

    @intrinsic
    def part(_typing: Any, F: Any, first: Any) -> Any:
        """Return F from a place on: a vector that is changed in place."""

        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.gep(args[0], [args[1]])

        return F(F, types.int64), codegen

    @jit
    def law_call(address: int, F: Any, i: int, o: int, p: int) -> int:
        """Run the law at ``address`` on inputs at F[i:], outputs at F[o:], parameters at F[p:]."""
        return _status_of(address, part(F, i), part(F, o), part(F, p))  # type: ignore[no-any-return]

    @jit
    def vector_at(F: Any, first: int, n: int) -> Any:
        """Return n floats from a place on as an array, for functions of users."""
        return numba.carray(part(F, first), n)  # type: ignore

    @numba.njit
    def _put(floats: int, first: int, n: int, x: np.ndarray) -> None:
        """Write an array to floats at an address."""
        if len(x) != n:
            raise ValueError("an argument has another length than the tree has coordinates")
        y = carray(floats_at(floats), first + n)
        for i in range(n):
            y[first + i] = x[i]

    @numba.njit
    def _go(
        address: int, tables: int, floats: int, k: int, first: int, n: int, status: int,
        out: np.ndarray,
    ) -> int:  # fmt: skip
        """Run a kernel; write floats to an array, return one of them as an integer."""
        call(address, tables_at(tables), floats_at(floats), k)
        y = carray(floats_at(floats), first + n)
        x = out.reshape(n)
        for i in range(n):
            x[i] = y[first + i]
        return int(carray(floats_at(floats), status + 1)[status])


address_at = jit(joined)


def on_arrays(
    program: Kernel, I: np.ndarray, F: np.ndarray, k: int, taken: Sequence[tuple[int, int]],
    result: tuple[int, int], status: int,
) -> Callable[..., int]:  # fmt: skip
    """Return a numba function ``(*arrays, out)`` that runs a kernel on numbers of its own.

    Arrays are copied to places (first, size) of F, then the result from there to the last one; it
    returns the integer of F[status].
    """
    if PYTHON:

        def in_python(*arrays: np.ndarray) -> int:
            for (at, size), x in zip(taken, arrays[:-1], strict=True):
                F[at : at + size] = x
            program(I, F, k)
            arrays[-1].reshape(-1)[:] = F[result[0] : sum(result)]
            return int(F[status])

        return in_python
    (first, n), address, tables, floats = result, program.address, I.ctypes.data, F.ctypes.data
    places = [*taken, *((0, 0),) * (3 - len(taken))]
    (q0, nq), (v0, nv), (a0, na) = places

    def of_one(q: np.ndarray, out: np.ndarray) -> int:
        _put(floats, q0, nq, q)
        return _go(address, tables, floats, k, first, n, status, out)  # type: ignore[no-any-return]

    def of_two(q: np.ndarray, v: np.ndarray, out: np.ndarray) -> int:
        _put(floats, q0, nq, q)
        _put(floats, v0, nv, v)
        return _go(address, tables, floats, k, first, n, status, out)  # type: ignore[no-any-return]

    def of_three(q: np.ndarray, v: np.ndarray, a: np.ndarray, out: np.ndarray) -> int:
        _put(floats, q0, nq, q)
        _put(floats, v0, nv, v)
        _put(floats, a0, na, a)
        return _go(address, tables, floats, k, first, n, status, out)  # type: ignore[no-any-return]

    function: Any = (of_one, of_two, of_three)[len(taken) - 1]
    function.keeps = I, F  # as long as it lives
    return numba.njit(function)  # type: ignore[no-any-return]
