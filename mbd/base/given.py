"""What a thing was made from: its function or class, and the arguments as they were given.

Files and generated scenes say what the user said. So parts keep their arguments (``Part``), and
functions that return objects with options are remembered (``remembered``).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mbd.base.carried import again, placed, portable
from mbd.base.checked import meant

__all__ = ["Given", "Part", "carried", "given", "remembered", "signature"]

Maker = TypeVar("Maker", bound=Callable[..., Any])
_PLAIN = (float, int, str, bool, type(None))
_MADE: weakref.WeakKeyDictionary[Any, Given] = weakref.WeakKeyDictionary()


class Given(NamedTuple):
    """The name of a class or function of ``mbd``, and the arguments it was called with."""

    maker: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments by name; those left out are not in it."""
        return signature(self.maker).bind(*self.args, **self.options).arguments


@functools.cache
def signature(maker: Any) -> inspect.Signature:
    """Return the signature of a class or function; asking for it takes longer than a call."""
    return inspect.signature(maker)


def _kept(value: Any) -> Any:
    """Return a copy that later changes of the caller's arrays and lists do not reach."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_kept(x) for x in value)
    return dict(value) if isinstance(value, dict) else value


def _call(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Given:
    try:
        return _copied(maker, args, options)
    except RecursionError:
        raise ValueError(f"{maker.__name__}: an argument is a list that holds itself") from None


def _copied(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Given:
    return Given(maker, tuple(map(_kept, args)), {k: _kept(x) for k, x in options.items()})


class Part:
    """What a user writes by a class and arguments; it keeps them in ``given``.

    After it is made it does not change: what is set would be lost, or not be what files say.
    """

    __slots__ = ("complete", "given")
    given: Given
    complete: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _recorded(cls.__init__)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "complete", False):
            kind = type(self).__name__
            raise AttributeError(
                f"{getattr(self, 'name', kind)}: a {kind} does not change after it is made, got a "
                f"new value of {name!r}; make a new one with {name}=..., in a new system"
            )
        object.__setattr__(self, name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return class and arguments: whoever unpickles it makes it anew."""
        if not hasattr(self, "given"):
            return super().__reduce_ex__(protocol)
        maker, args, options = self.given
        owner = getattr(self, "name", type(self).__name__)
        return again, (maker, portable(owner, args), portable(owner, options))

    def __setstate__(self, state: Any) -> None:
        for table in state if isinstance(state, tuple) else (state,):
            for name, value in (table or {}).items():
                object.__setattr__(self, name, value)


def _recorded(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def made(self: Any, *args: Any, **options: Any) -> None:
        # an __init__ of the base, called by that of the class, has not been given anything
        outermost = not hasattr(self, "given")
        if outermost:
            _check_names(type(self), options)
            object.__setattr__(self, "given", _call(type(self), args, options))
        init(self, *args, **options)
        if outermost:
            object.__setattr__(self, "complete", True)

    return made


def _check_names(maker: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse arguments that a class does not have, and say which one may be meant."""
    parameters = signature(maker).parameters
    for name in options:
        if name not in parameters and not any(x.kind is x.VAR_KEYWORD for x in parameters.values()):
            raise TypeError(
                f"{maker.__name__}: there is no argument {name!r}{meant(name, parameters)}; there "
                f"are {', '.join(parameters)}"
            )


def remembered(make: Maker) -> Maker:
    """Let the objects that a function returns be known by its arguments."""

    @functools.wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        found = make(*args, **options)
        _MADE.setdefault(found, _call(made, args, options))
        return found

    return made  # type: ignore[return-value]


def carried(thing: Any) -> Any:
    """Return what ``__reduce__`` does of an object that is one of a kind."""
    if thing in _MADE:
        return again, tuple(_MADE[thing])
    return placed(thing) or object.__reduce_ex__(thing, 2)


def given(thing: Any) -> Given | None:
    """Return what a part, a remembered object or a dataclass was made from; None if unknown."""
    if isinstance(thing, Part):
        return thing.given
    if isinstance(thing, type) or not dataclasses.is_dataclass(thing):
        return None
    if thing in _MADE:
        return _MADE[thing]
    fields = [f.name for f in dataclasses.fields(thing) if f.init]
    return Given(type(thing), (), {name: getattr(thing, name) for name in fields})
