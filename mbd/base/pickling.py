"""Pickling of parts, formulations and functions, for other processes.

Compiled code has addresses, which mean nothing elsewhere. So a part is pickled as its class and the
arguments of its call, a formulation or measure as the place where it is defined, a function that
no other process can import as its code.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any


class CarriedFunction:
    """A user's function on its way into another process."""

    def __init__(self, owner: str, function: Callable[..., Any]) -> None:
        self.owner, self.function = owner, function

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        """Return it by its name, or else its code."""
        from mbd.machine.private_numba import carried_code

        try:
            pickle.dumps(self.function)
            return _itself, (self.function,)
        except Exception:
            pass
        try:
            return pickle.loads, (carried_code(self.function),)
        except Exception as error:
            raise TypeError(
                f"{self.owner}: its function {self.function!r} cannot be carried into another "
                f"process ({error}); let it use numbers and arrays only, or define it at the top "
                "of a module"
            ) from None


def _itself(function: Any) -> Any:
    return function


def portable(owner: str, value: Any) -> Any:
    """Return arguments in which functions name their owner when they are carried."""
    if type(value) is tuple:
        return tuple(portable(owner, x) for x in value)
    if type(value) is dict:
        return {key: portable(owner, x) for key, x in value.items()}
    if callable(value) and not isinstance(value, type):
        return CarriedFunction(owner, value)
    return value


def again(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Make an object again."""
    return maker(*args, **options)


def placed(thing: Any) -> tuple[Any, ...] | None:
    """Return the place of an object among the variables of modules, as ``__reduce__`` does."""
    ours = sorted(sys.modules, key=lambda name: not name.startswith("mbd."))
    for name in ours:
        for attribute, value in tuple(getattr(sys.modules[name], "__dict__", {}).items()):
            if value is thing:
                return _at, (name, attribute)
    return None


def _at(module: str, attribute: str) -> Any:
    import importlib

    return getattr(importlib.import_module(module), attribute)
