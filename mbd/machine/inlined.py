"""Functions that are compiled into kernels alone: intermediate code, without an entry from Python.

numba makes a library of every function: wrapped for Python, optimised, turned into machine code.
Kernels hold their own copies of all functions that they call and are optimised as a whole; of a
function they need no more than its intermediate code. That is half the time of compiling.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba.core import types
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher


class _ToIntermediateCode(_FunctionCompiler):  # type: ignore[misc]
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


class Inlined(CPUDispatcher):
    """A function compiled once for all numbers written in calls of it, not once for each."""

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
        return CPUDispatcher(self.py_func, targetoptions=self.targetoptions)

    def __call__(self, *args: Any) -> Any:
        """Call the function from Python: compiled for that as well, when first called so."""
        return self._from_python(*args)
