"""Private interfaces of numba that the library uses: all of them, in this one file.

Kernels are C functions (``numba.cfunc``). The public way compiles one at once, and makes a library
of every function that it calls: wrapped for Python, optimised, turned into machine code. Here

- `CFunction` compiles when asked, keeps the result in a file of ours, and gives a kernel copies of
  its own of all functions that it calls, optimised with it;
- `Inlined` makes of these functions no more than intermediate code, which a kernel links once each:
  a third of the time of compiling;
- `_Pipeline` leaves out of numba's passes what they do for other functions than ours: a sixth less;
- `source_of`, `carried_code` and `processor` tell what a compiled function was made from, and for.

``RELIED_ON`` names everything private that this needs, of numba 0.60 to 0.68; `lacking` checks it
in the installed version.
"""

import builtins
import gc
import math
import operator
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numba
from numba import types
from numba.core import (
    ccallback,
    codegen,
    compiler,
    compiler_machinery,
    dispatcher,
    extending,
    registry,
    runtime,
    serialize,
    typed_passes,
)

from mbd.machine import kernel_cache

RELIED_ON = {
    "ccallback.CFunc.compile": "compiles, unless its _cache has the result",
    "ccallback.CFunc._compile_uncached": "returns what was compiled, not yet optimised",
    "compiler.CompileResult._reduce": "turns what was compiled into what can be pickled",
    "compiler.CompileResult._rebuild": "turns that into what was compiled",
    "codegen.CPUCodeLibrary._optimize_functions": "optimises functions before a library is whole",
    "codegen.CPUCodeLibrary.finalize": "adds all libraries that one calls, makes it whole",
    "codegen.CPUCodeLibrary._get_module_for_linking": "returns _shared_module, made before or then",
    "codegen.CPUCodeLibrary._optimize_final_module": "optimises a library, once it is whole",
    "codegen.CPUCodeLibrary._finalize_final_module": "turns a library into machine code",
    "codegen.CPUCodeLibrary._finalize_dynamic_globals": "marks addresses of this process in it",
    "codegen.CPUCodeLibrary.has_dynamic_globals": "tells whether there are such addresses",
    "codegen.CPUCodeLibrary._finalized": "tells whether a library is done",
    "codegen.JITCPUCodegen.magic_tuple": "names the processor that code is made for",
    "codegen.JITCPUCodegen.create_library": "makes a library of code",
    "compiler.CompilerBase.define_pipelines": "says which passes compile a function",
    "compiler.DefaultPassBuilder.define_nopython_pipeline": "makes the list of numba's passes",
    "compiler_machinery.PassManager.finalize": "prepares a list of passes",
    "compiler_machinery.register_pass": "makes a pass known",
    "typed_passes.AnnotateTypes": "keeps what variables are, for people who read it",
    "typed_passes.NopythonRewrites.run_pass": "rewrites what is done with arrays and records",
    "dispatcher._FunctionCompiler._customize_flags": "chooses what is made of a function",
    "dispatcher._FunctionCompiler._compile_core": "compiles a function for some types",
    "dispatcher.Dispatcher.compile": "compiles a function for some types, once",
    "dispatcher.Dispatcher.get_call_template": "says what compiled code calls",
    "dispatcher.Dispatcher.add_overload": "keeps what was compiled for some types",
    "dispatcher.Dispatcher.enable_caching": "keeps it in files, for njit(cache=True)",
    "extending._Intrinsic": "holds the Python function of an intrinsic, _defn",
    "registry.CPUDispatcher": "is what numba.njit makes",
    "registry.cpu_target.target_context.insert_user_function": "lets compiled code call a function",
    "runtime.rtsys.initialize": "makes known what machine code may call",
    "serialize.dumps": "pickles with references to functions",
}


@contextmanager
def uncached(module: str) -> Iterator[None]:
    """Keep no function of a module in numba's files, which are those of its source.

    They name the module, which has this name in this process only: whoever imports the source under
    another name could not load them.
    """
    owner: Any = dispatcher.Dispatcher
    enable = owner.enable_caching

    def of_others(function: Any) -> None:
        if function.py_func.__module__ != module:
            enable(function)

    owner.enable_caching = of_others
    try:
        yield
    finally:
        owner.enable_caching = enable


def _nothing(_argument: Any) -> None:
    pass


# --- what compiles a function ---------------------------------------------------------------------
_BUILTIN = {f for room in (builtins, math, operator) for f in vars(room).values() if callable(f)}
_NUMBERS = types.Number, types.Boolean, types.Literal, types.RawPointer, types.CPointer
_calls: dict[tuple[Any, Any], Any] = {}  # signature by operator and types of its arguments


def _are_numbers(some: Any) -> bool:
    return all(
        isinstance(x, _NUMBERS) or (isinstance(x, types.BaseTuple) and _are_numbers(x))
        for x in some
    )


class _Typing:
    """A typing context that finds once what operators do with numbers of some types.

    numba asks all templates of an operator wherever it stands, and writes why each does not fit.
    """

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        called = getattr(function, "typing_key", function)
        is_builtin = isinstance(called, Hashable) and called in _BUILTIN
        if kws or not is_builtin or not _are_numbers(args):
            return self._context.resolve_function_type(function, args, kws)
        key = function, tuple(args)
        if (signature := _calls.get(key)) is None:
            signature = _calls[key] = self._context.resolve_function_type(function, args, kws)
        return signature


@compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Rewrites(typed_passes.NopythonRewrites):  # type: ignore[name-defined, misc]
    """Rewrites of arrays and records, where a function has any."""

    _name = "rewrites of arrays"

    def run_pass(self, state: Any) -> bool:
        """Run it."""
        arrays: Any = types.Array, types.Record, types.StringLiteral  # of fields of records
        any_array = any(isinstance(x, arrays) for x in state.typemap.values())
        return any_array and super().run_pass(state)


class _Pipeline(compiler.CompilerBase):  # type: ignore[name-defined, misc]
    """The passes of numba for a function whose code is optimised with that of who calls it.

    So it is not optimised before; nor is kept what its variables are for people who read it.
    """

    def __init__(self, context: Any, *args: Any) -> None:
        super().__init__(_Typing(context), *args)

    def define_pipelines(self) -> list[Any]:
        """Return the one list of passes."""
        state = self.state
        made_for = state.targetctx.codegen()
        library = state.library = made_for.create_library(state.func_id.func_qualname)
        library.enable_object_caching()
        library._optimize_functions = lambda module: setattr(
            module, "data_layout", made_for._data_layout
        )
        instead = {typed_passes.NopythonRewrites: _Rewrites, typed_passes.AnnotateTypes: None}
        passes = compiler_machinery.PassManager("mbd")
        passes.passes = [
            (instead.get(one, one), why)
            for one, why in compiler.DefaultPassBuilder.define_nopython_pipeline(state).passes
            if instead.get(one, one)
        ]
        passes.finalize()
        return [passes]


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely: nearly all that is made of a function lives until it is compiled."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], 20_000), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _c_function(function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> Any:
    types_of, passes = (signature.args, signature.return_type), cast(Any, _Pipeline)
    return ccallback.CFunc(function, types_of, {}, options, pipeline_class=passes)


def _empty_function() -> Any:
    return _c_function(_nothing, types.void(types.int64), {})


_OWN = {  # attributes that instances have, by what makes one
    "CFunc": (_empty_function, ("_cache", "_compiler", "__wrapped__")),
    "CFunc's result": (
        lambda: _empty_function()._compile_uncached(),
        ("library._final_module.functions", "library._linking_libraries", "library._shared_module",
         "library.codegen._data_layout", "fndesc.llvm_cfunc_wrapper_name", "_replace",
         "signature.args"),
    ),
    "CPUDispatcher": (
        lambda: registry.CPUDispatcher(_nothing),
        ("_can_compile", "_compiler.py_func", "_compiler.targetdescr.target_context",
         "_compiler.targetoptions", "_compiler.locals", "_compiler.pipeline_class", "overloads",
         "py_func", "targetoptions"),
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
    rooms = [ccallback, codegen, compiler, compiler_machinery, dispatcher, extending, registry,
             runtime, serialize, typed_passes]  # fmt: skip
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
    the last bits of results would depend on what was compiled or loaded before. And it forgets that
    a function is called inside a kernel alone, where it may take its arguments in another way: so
    a name of its own keeps it apart from a copy for Python, which would be dropped in its favour.

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
        kept: "Kept | None" = None,
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
        with _rare_collections():
            result = self._compile_shared()
        library, entry = result.library, result.fndesc.llvm_cfunc_wrapper_name
        optimize = library._optimize_final_module

        def own() -> list[Any]:
            functions = library._final_module.functions
            return [x for x in functions if not x.is_declaration and x.name != entry]

        def apart() -> None:
            for function in own():
                function.linkage = "internal"
            optimize()
            for i, function in enumerate(own()):
                function.name = f"{entry}.{i}"

        library._optimize_final_module = apart
        return result


class Kept:
    """Cache that stands in the place of numba's own.

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
        # what compiles refreshes all of the context: a third of a second more
        cast(Any, runtime).rtsys.initialize(target_context)
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
        module = library._final_module
        for function in module.functions:  # one of many copies, once it is part of a caller
            if not function.is_declaration:
                function.linkage = "linkonce_odr"

        def finish() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library.finalize, library._shared_module = finish, module
        called = dict.fromkeys(library._linking_libraries)  # in turn with all that they call
        context = self.targetdescr.target_context
        context.insert_user_function(entry, compiled.fndesc, [library, *called])
        return compiled._replace(entry_point=entry)


class Inlined(registry.CPUDispatcher):
    """A function compiled into those that call it: once for all numbers written in calls of it."""

    def __init__(self, *args: Any, **kws: Any) -> None:
        super().__init__(*args, **kws)
        own: Any = self._compiler  # type: ignore[has-type]
        self._compiler = _ToIntermediateCode(
            own.py_func, own.targetdescr, own.targetoptions, own.locals, _Pipeline
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


def compiled_for(function: Any, arguments: tuple[Any, ...]) -> tuple[int, Any, Any]:
    """Return address, type of what is returned, and keeper of a function of a user for some types.

    It is compiled once for all that call it, as its owner says: kept, if with ``cache=True``.
    """
    if isinstance(function, Inlined):
        function = function._from_python
    if not getattr(function, "_can_compile", False):  # it has types of its own, which are converted
        names = ", ".join(f"x{i}" for i in range(len(arguments)))
        function = numba.njit(eval(f"lambda {names}: own({names})", {"own": function}))
    with _rare_collections():
        function.compile(arguments)
    compiled = function.overloads[arguments]
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return int(address), compiled.signature.return_type, compiled


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
