"""The recorded call of a part or object: its class or function, and the arguments.

Files and generated scenes repeat what the user wrote. So parts keep their call (``Recorded.call``),
and functions that return objects with options are ``remembered``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mbd.base.checked import absent
from mbd.base.pickling import again, placed, portable

Maker = TypeVar("Maker", bound=Callable[..., Any])
PLAIN = frozenset((float, int, str, bool, type(None)))
_CALLS: weakref.WeakKeyDictionary[Any, Call] = weakref.WeakKeyDictionary()


class Call(NamedTuple):
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
    cls = type(value)
    if cls in PLAIN or (cls is tuple and PLAIN.issuperset(map(type, value))):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Recorded) or (isinstance(value, tuple) and cls is not tuple):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_kept(x) for x in value)
    return dict(value) if isinstance(value, dict) else value


def _call(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Call:
    try:
        return _copied(maker, args, options)
    except RecursionError:
        raise ValueError(f"{maker.__name__}: an argument is a list that holds itself") from None


def _copied(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Call:
    return Call(maker, tuple(map(_kept, args)), {k: _kept(x) for k, x in options.items()})


class Recorded:
    """An object that a user makes by a class and arguments; it keeps this call.

    After it is made it does not change: what is set would be lost, or not be what files say.
    """

    __slots__ = ("call", "complete")
    call: Call
    complete: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _recorded(cls.__init__)  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "complete", False):
            own = type(self).__name__
            raise AttributeError(
                f"{getattr(self, 'name', own)}: a {own} does not change after it is made, got a "
                f"new value of {name!r}; make a new one with {name}=..., in a new system"
            )
        object.__setattr__(self, name, value)

    def _completed(self) -> None:
        """Do what is to be done when the object has all that its arguments say."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return class and arguments: whoever unpickles it makes it anew."""
        if not hasattr(self, "call"):
            return super().__reduce_ex__(protocol)
        maker, args, options = self.call
        owner = getattr(self, "name", type(self).__name__)
        return again, (maker, portable(owner, args), portable(owner, options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'name', '')!r})"

    def __setstate__(self, state: Any) -> None:
        for table in state if isinstance(state, tuple) else (state,):
            for name, value in (table or {}).items():
                object.__setattr__(self, name, value)


def _recorded(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def init_and_record(self: Any, *args: Any, **options: Any) -> None:
        # an __init__ of the base, called by that of the class, is not the user's call
        outermost = not hasattr(self, "call")
        if outermost:
            _check_names(type(self), options)
            object.__setattr__(self, "call", _call(type(self), args, options))
        init(self, *args, **options)
        if outermost:
            self._completed()
            object.__setattr__(self, "complete", True)

    return init_and_record


def _check_names(maker: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse arguments that a class does not have, and say which one may be meant."""
    parameters = signature(maker).parameters
    for name in options:
        if name not in parameters and not any(x.kind is x.VAR_KEYWORD for x in parameters.values()):
            raise TypeError(f"{maker.__name__}: {absent('argument ', name, parameters)}")


def remembered(make: Maker) -> Maker:
    """Keep the call by which a function returned an object."""

    @functools.wraps(make)
    def make_and_record(*args: Any, **options: Any) -> Any:
        product = make(*args, **options)
        _CALLS.setdefault(product, _call(make_and_record, args, options))
        return product

    return make_and_record  # type: ignore[return-value]


def remembered_method(make: Maker) -> Maker:
    """Keep the call of a class method by which it returned a recorded object."""

    @functools.wraps(make)
    def make_and_record(cls: Any, *args: Any, **options: Any) -> Any:
        product = make(cls, *args, **options)
        call = _call(getattr(cls, make.__name__), args, options)
        object.__setattr__(product, "call", call)
        return product

    return make_and_record  # type: ignore[return-value]


def reduced(thing: Any) -> Any:
    """Return the ``__reduce__`` of an object that is one of a kind."""
    if thing in _CALLS:
        return again, tuple(_CALLS[thing])
    place = placed(thing)
    if place is None:
        raise TypeError(
            f"{thing!r} cannot be carried into another process or copied: no variable of a module "
            "has it; define it at the top of a module"
        )
    return place


def recorded_call(thing: Any) -> Call | None:
    """Return the call that makes a part, a remembered object or a dataclass; None if unknown."""
    if isinstance(thing, Recorded):
        return thing.call
    if isinstance(thing, type) or not dataclasses.is_dataclass(thing):
        return None
    if thing in _CALLS:
        return _CALLS[thing]
    fields = [f.name for f in dataclasses.fields(thing) if f.init]
    return Call(type(thing), (), {name: getattr(thing, name) for name in fields})
