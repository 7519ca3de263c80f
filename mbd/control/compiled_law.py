"""A user's numba function of arrays, compiled to an address that kernels call.

Its inputs lie one after the other, a number and two arrays, and it writes to its outputs; what it
returns may be a number, a tuple, a list or an array.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mbd.machine.jit import external, is_compiled, jit, vector_at

OTHER_SIZE = 2  # what a law returns to a kernel, next to 0, all is well, and 1, it raised


class CompiledLaw(NamedTuple):
    """A law that kernels call: its address, and what must stay alive meanwhile."""

    address: int
    keeper: Any


_COMPILED_LAWS: WeakKeyDictionary[Any, dict[Any, CompiledLaw]] = WeakKeyDictionary()


def _and_element(write: Any, k: int) -> Any:
    """Return what also writes element k of a tuple, whose elements are of several types."""

    def more(value: Any, out: Any, at: int) -> None:
        write(value, out, at)
        out[at + k] = value[k]

    return jit(more)


def _nothing(value: Any, out: Any, at: int) -> None:
    """Write nothing."""


def _form(answer: Any) -> int:
    """Return -1 for a number, 0 for numbers of one type, else how many of several types."""
    if np.ndim(answer) == 0:
        return -1
    return len(answer) if isinstance(answer, tuple) and len({type(x) for x in answer}) > 1 else 0


def _writer(form: int) -> Any:
    """Return the compiled function (value, out, at, n) -> status that writes such an answer."""
    if form > 0:
        size, write = form, jit(_nothing)
        for k in range(size):
            write = _and_element(write, k)

        def mixed(value: Any, out: Any, at: int, n: int) -> int:
            if n != size:
                return OTHER_SIZE
            write(value, out, at)
            return 0

        return jit(mixed)
    if form < 0:

        def number(value: Any, out: Any, at: int, n: int) -> int:
            out[at] = value
            return 0 if n == 1 else OTHER_SIZE

        return jit(number)

    def several(value: Any, out: Any, at: int, n: int) -> int:
        if len(value) != n:
            return OTHER_SIZE
        for i in range(n):
            out[at + i] = value[i]
        return 0

    return jit(several)


def compiled_law(
    law: Callable[..., Any], n_u: int, t: float, y: np.ndarray, x: np.ndarray | None
) -> CompiledLaw | None:
    """Compile ``law(t, y) -> u`` or ``law(t, y, x) -> (u, x_next)``; None if it stays in Python.

    That is one that is no numba function, does not compile for arrays, or gives something else
    than numbers in one row. It is tried at t, y and x. Inputs are t, y, x, outputs u and x_next.
    """
    if not is_compiled(law):
        return None
    try:
        answer = law(t, y.copy()) if x is None else law(t, y.copy(), x.copy())
        forms = tuple(map(_form, (answer,) if x is None else answer))
        key = len(y), n_u, None if x is None else len(x), forms
        laws = _COMPILED_LAWS.setdefault(law, {})
        if key not in laws:
            laws[key] = CompiledLaw(*external(_guarded(_evaluation(law, *key)), compiled=True))
        return laws[key]
    except Exception:  # whatever is wrong with it, in Python it says so
        return None


def _evaluation(
    law: Any, n_y: int, n_u: int, n_x: int | None, forms: tuple[int, ...]
) -> Callable[[Any, Any], int]:
    """Return the function (inputs, outputs) -> status of a law with answers of these forms."""
    write, *others = map(_writer, forms)
    if n_x is None:

        def evaluate(inputs: Any, outputs: Any) -> int:
            return write(law(inputs[0], vector_at(inputs, 1, n_y)), outputs, 0, n_u)  # type: ignore[no-any-return]

        return evaluate
    (write_states,) = others

    def with_states(inputs: Any, outputs: Any) -> int:
        y, x = vector_at(inputs, 1, n_y), vector_at(inputs, 1 + n_y, n_x)
        u, new = law(inputs[0], y, x)
        return max(write(u, outputs, 0, n_u), write_states(new, outputs, n_u, n_x))

    return with_states


def _guarded(function: Callable[[Any, Any], int]) -> Callable[[Any, Any, Any], int]:
    """Return what tells whether a law raised."""
    evaluate = jit(function)

    def guarded(inputs: Any, outputs: Any, _: Any) -> int:
        try:
            status = evaluate(inputs, outputs)
        except Exception:  # numba knows no other
            return 1
        return status  # type: ignore[no-any-return]

    return guarded
