"""What the library uses of numba beyond its public interface: all of it, in this one file.

Kernels are C functions (``numba.cfunc``). The public way compiles one at once, and makes a library
of every function that it calls: wrapped for Python, optimised, turned into machine code. Here

- `CFunction` compiles when asked, keeps the result in a file of ours, and gives a kernel copies of
  its own of all functions that it calls, optimised with it;
- `Inlined` makes of these functions no more than intermediate code: half the time of compiling;
- `source_of`, `carried_code` and `processor` tell what a compiled function was made from, and for.

``RELIED_ON`` names everything private that this needs, of numba 0.60 to 0.68; `lacking` checks it
in the installed version.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import ccallback, codegen, compiler, dispatcher, extending, registry, serialize

from mbd.machine import kernel_cache

RELIED_ON = {
    "ccallback.CFunc.compile": "compiles, unless its _cache has the result",
    "ccallback.CFunc._compile_uncached": "returns what was compiled, not yet optimised",
    "compiler.CompileResult._reduce": "turns what was compiled into what can be pickled",
    "compiler.CompileResult._rebuild": "turns that into what was compiled",
    "codegen.CPUCodeLibrary._optimize_final_module": "optimises a library, once it is whole",
    "codegen.CPUCodeLibrary._finalize_final_module": "turns a library into machine code",
    "codegen.CPUCodeLibrary._finalize_dynamic_globals": "marks addresses of this process in it",
    "codegen.CPUCodeLibrary.has_dynamic_globals": "tells whether there are such addresses",
    "codegen.CPUCodeLibrary._finalized": "tells whether a library is done",
    "codegen.JITCPUCodegen.magic_tuple": "names the processor that code is made for",
    "dispatcher._FunctionCompiler._customize_flags": "chooses what is made of a function",
    "dispatcher._FunctionCompiler._compile_core": "compiles a function for some types",
    "dispatcher.Dispatcher.get_call_template": "says what compiled code calls",
    "dispatcher.Dispatcher.add_overload": "keeps what was compiled for some types",
    "extending._Intrinsic": "holds the Python function of an intrinsic, _defn",
    "registry.CPUDispatcher": "is what numba.njit makes",
    "registry.cpu_target.target_context.insert_user_function": "lets compiled code call a function",
    "registry.cpu_target.target_context.refresh": "knows what was registered since",
    "serialize.dumps": "pickles with references to functions",
}


def _nothing(_argument: Any) -> None:
    pass


def _c_function(function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> Any:
    return ccallback.CFunc(function, (signature.args, signature.return_type), {}, options)


def _empty_function() -> Any:
    return _c_function(_nothing, types.void(types.int64), {})


_OWN = {  # attributes that instances have, by what makes one
    "CFunc": (_empty_function, ("_cache", "_compiler", "__wrapped__")),
    "CFunc's result": (
        lambda: _empty_function()._compile_uncached(),
        ("library._final_module.functions", "fndesc.llvm_cfunc_wrapper_name", "_replace",
         "signature.args"),
    ),
    "CPUDispatcher": (
        lambda: registry.CPUDispatcher(_nothing),
        ("_compiler.py_func", "_compiler.targetdescr.target_context", "_compiler.targetoptions",
         "_compiler.locals", "_compiler.pipeline_class", "overloads", "py_func", "targetoptions"),
    ),
    "intrinsic": (lambda: numba.extending.intrinsic(_nothing), ("_defn",)),
}  # fmt: skip


def _has(thing: Any, name: str) -> bool:
    try:
        attrgetter(name)(thing)
    except AttributeError:
        return False
    return True


def lacking() -> list[str]:
    """Return a sentence about everything relied on that the installed numba does not have."""
    rooms = [ccallback, codegen, compiler, dispatcher, extending, registry, serialize]
    by_name = {room.__name__.rpartition(".")[2]: room for room in rooms}
    missing = {f"numba.core.{x}": f", which {y}" for x, y in RELIED_ON.items()
               if not _has(by_name[x.partition(".")[0]], x.partition(".")[2])}  # fmt: skip
    if not missing:  # else no instance can be made
        for owner, (make, names) in _OWN.items():
            instance = make()
            missing |= {f"{name} of a {owner}": "" for name in names if not _has(instance, name)}
    return [
        f"numba {numba.__version__} has no {name}{what}; take a version that has it, or correct "
        "mbd/machine/private_numba.py"
        for name, what in missing.items()
    ]


class CFunction:
    """A function with one C signature, compiled when asked, with copies of what it calls.

    Symbols of shared functions are the same in all kernels, and the linker takes the copy that it
    met first: one of another kernel, in which fused multiply-adds may stand in other places. Then
    the last bits of results would depend on what was compiled or loaded before.

    Parameters
    ----------
    function : callable
    signature : numba signature
    options : dict
        As those of ``numba.njit``.
    kept : Kept, optional
        Where it is loaded from, or saved to.
    """

    def __init__(
        self, function: Callable[..., Any], signature: Any, options: dict[str, Any],
        kept: Kept | None = None,
    ) -> None:  # fmt: skip
        self.compiled = _c_function(function, signature, options)
        self._compile_shared = self.compiled._compile_uncached
        self.compiled._compile_uncached = self._compile_apart
        if kept is not None:
            self.compiled._cache = kept

    def compile(self) -> int:
        """Compile or load it; return its address."""
        self.compiled.compile()
        return int(self.compiled.address)

    def _compile_apart(self) -> Any:
        """Compile, with an optimisation at the end that knows that nobody else calls inside."""
        result = self._compile_shared()
        library, entry = result.library, result.fndesc.llvm_cfunc_wrapper_name
        optimize = library._optimize_final_module

        def apart() -> None:
            for function in library._final_module.functions:
                if not function.is_declaration and function.name != entry:
                    function.linkage = "internal"
            optimize()

        library._optimize_final_module = apart
        return result


class Kept:
    """What stands in the place of numba's own cache.

    Parameters
    ----------
    file : Path or None
        Where the bytes of what is compiled are read and written; None if nowhere.
    missing : callable
        Called before something is compiled, with the error of what could not be loaded, or None.
    """

    def __init__(self, file: Path | None, missing: Callable[[Exception | None], None]) -> None:
        self.file, self.missing = file, missing

    def load_overload(self, _sig: Any, target_context: Any) -> Any:
        """Return what is kept, or None."""
        target_context.refresh()
        try:
            payload = None if self.file is None else kernel_cache.load(self.file)
            if payload is not None:
                return compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))
        except Exception as error:
            self.missing(error)
        else:
            self.missing(None)
        return None

    def save_overload(self, _sig: Any, compiled: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process."""
        if self.file is not None and not compiled.library.has_dynamic_globals:
            kernel_cache.save(self.file, serialize.dumps(compiled._reduce()))


class _ToIntermediateCode(dispatcher._FunctionCompiler):  # type: ignore[name-defined, misc]
    """A compiler that leaves optimisation and machine code to those who call the function."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        compiled = super()._compile_core(args, return_type)
        library, entry = compiled.library, object()

        def finish() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library._optimize_final_module = lambda: None
        library._finalize_final_module = finish
        context = self.targetdescr.target_context
        context.insert_user_function(entry, compiled.fndesc, [library])
        return compiled._replace(entry_point=entry)


class Inlined(registry.CPUDispatcher):
    """A function compiled into those that call it: once for all numbers written in calls of it."""

    def __init__(self, *args: Any, **kws: Any) -> None:
        super().__init__(*args, **kws)
        own: Any = self._compiler  # type: ignore[has-type]
        self._compiler = _ToIntermediateCode(
            own.py_func, own.targetdescr, own.targetoptions, own.locals, own.pipeline_class
        )

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what numba calls, for arguments without their values."""
        return super().get_call_template(
            tuple(types.unliteral(a) for a in args), {k: types.unliteral(a) for k, a in kws.items()}
        )

    def add_overload(self, compiled: Any) -> None:
        """Keep a compiled function for who calls it from compiled code."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    @cached_property
    def _from_python(self) -> Any:
        return registry.CPUDispatcher(self.py_func, targetoptions=self.targetoptions)

    def __call__(self, *args: Any) -> Any:
        """Call the function from Python: compiled for that as well, when first called so."""
        return self._from_python(*args)


def source_of(value: Any) -> Any:
    """Return what a compiled function was made from: its Python function and its options."""
    if isinstance(value, dispatcher.Dispatcher):
        return value.py_func, {k: str(v) for k, v in value.targetoptions.items()}
    return value._defn if isinstance(value, extending._Intrinsic) else None


def carried_code(thing: Any, modules: Iterable[Any] = ()) -> bytes:
    """Return what cannot be imported elsewhere as bytes, which ``pickle.loads`` reads.

    Code of the script that runs, and of these modules, is in it; that of others is named.
    """
    from numba import cloudpickle

    registered = list(modules)
    for module in registered:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(thing))
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def processor() -> tuple[Any, ...]:
    """Return what tells processors apart for which other code is made."""
    return tuple(registry.cpu_target.target_context.codegen().magic_tuple())
