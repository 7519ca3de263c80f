"""The recorded call of a part or object: its class or function, and the arguments.

Files and generated scenes repeat what the user wrote. So parts keep their call (``Recorded.call``),
and functions that return objects with options are ``remembered``. Other processes make them again
by it, for compiled code has addresses, which mean nothing elsewhere; a formulation or measure is
carried as the place where it is defined, a function that no other process can import as its code.
"""

import dataclasses
import functools
import importlib
import inspect
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mbd.base.checked import absent
from mbd.base.parameter import (
    PLAIN,
    Formula,
    Parameter,
    evaluated,
    mapped,
    objects_in,
    of_a_library,
)
from mbd.base.read_only import read_only
from mbd.machine.kernel_cache import globals_of

Maker = TypeVar("Maker", bound=Callable[..., Any])
_CALLS: "weakref.WeakKeyDictionary[Any, Call]" = weakref.WeakKeyDictionary()


class Call(NamedTuple):
    """The name of a class or function of ``mbd``, and the arguments it was called with."""

    maker: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]

    @property
    def owner(self) -> str:
        """The name of the part that it makes, or of its class."""
        name = self.args[0] if self.args else self.options.get("name")
        return name if isinstance(name, str) else self.maker.__qualname__

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
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, Recorded) or (isinstance(value, tuple) and cls is not tuple):
        return value
    if cls.__module__.startswith("scipy.sparse"):
        copy = value.tocsc(copy=True)  # of other kinds some need room to write to
        read_only(vars(copy))
        return copy
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_kept(x) for x in value)
    return {key: _kept(x) for key, x in value.items()} if isinstance(value, dict) else value


class _Making(threading.local):
    """Calls that this thread records now: parts that functions of a user make are within them."""

    outermost: str | None = None


_MAKING = _Making()


def _call(
    maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Call, tuple[Any, ...], dict[str, Any]]:
    """Return a call as it is kept, and its arguments with numbers in the place of formulas."""
    try:
        call = Call(maker, tuple(map(_kept, args)), {k: _kept(x) for k, x in options.items()})
        plain = evaluated(call.args), evaluated(call.options)
    except RecursionError:
        raise ValueError(f"{maker.__name__}: an argument is a list that holds itself") from None
    functions = [
        x for x in objects_in(call[1:]) if callable(x) and not isinstance(x, Recorded | type)
    ]
    own = [x for function in functions for x in formulas_within(function)]
    new = plain[0] is not call.args or plain[1] is not call.options
    if own or (new and _MAKING.outermost is not None):
        names = ", ".join({name for x in own for name in x.parameters})
        raise ValueError(
            f"{_MAKING.outermost or call.owner}: a function among its arguments uses "
            f"{f'the parameter {names}' if own else 'a parameter'} of its own, which other values "
            "would not reach; hand it in, mbd.Function(f, k=...), or take its .value"
        )
    return (call, *plain) if new else (call, args, options)


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
        object.__setattr__(self, name, value if type(value) in PLAIN else read_only(value))

    def _completed(self) -> None:
        """Do what is to be done when the object has all that its arguments say."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Return class and arguments: whoever unpickles it makes it again."""
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
        if hasattr(self, "call"):  # an __init__ of the base, called by that of the class
            init(self, *args, **options)
            return
        _check_names(type(self), options)
        call, args, options = _call(type(self), args, options)
        object.__setattr__(self, "call", call)
        before, _MAKING.outermost = _MAKING.outermost, _MAKING.outermost or call.owner
        try:
            init(self, *args, **options)
        finally:
            _MAKING.outermost = before
        self._completed()
        object.__setattr__(self, "complete", True)

    return init_and_record


def formulas_within(thing: Any) -> Iterator[Formula]:
    """Return the formulas that a function of a user closes over, or has as defaults or globals.

    Those of functions that it calls, of objects whose method it is and of parts are among them.
    """
    done: set[int] = set()

    def within(value: Any) -> Iterator[Formula]:
        if isinstance(value, Formula):
            yield value
        elif id(value) not in done:
            done.add(id(value))
            for x in _inside(value):
                yield from within(x)

    return within(thing)


def _inside(value: Any) -> Sequence[Any]:
    """Return what a function, or a thing that it uses, has in it."""
    if isinstance(value, Recorded):
        return tuple(getattr(value, "call", ()))[1:]
    if isinstance(value, tuple | list | set):
        return tuple(value)
    if isinstance(value, dict):
        return tuple(value.values())
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else ()
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, FunctionType):
        if of_a_library(value.__code__.co_filename):
            return ()
        names = globals_of(value.__code__) & value.__globals__.keys()
        used = [value.__globals__[x] for x in sorted(names)]
        return *_cells(value), value.__defaults__, value.__kwdefaults__, *used
    if callable(value) and not isinstance(value, type | BuiltinFunctionType):
        return getattr(value, "py_func", None), getattr(value, "__dict__", None)
    return ()


def _cells(function: FunctionType) -> Iterator[Any]:
    """Return what a function closes over; what is not there yet is left out."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            yield cell.cell_contents


@functools.cache
def _takes(maker: Any) -> tuple[str, ...] | None:
    """Return the names of the arguments of a class or function; None if it takes any."""
    parameters = signature(maker).parameters.items()
    if any(x.kind is x.VAR_KEYWORD for _, x in parameters):
        return None
    return tuple(name for name, x in parameters if x.kind is not x.VAR_POSITIONAL)


def _check_names(maker: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse arguments that a class or function does not have, and say which one may be meant."""
    takes = _takes(maker)
    if takes is None:
        return
    for name in options:
        if name not in takes:
            raise TypeError(f"{maker.__name__}: {absent('argument ', name, takes)}")


def spelt(thing: Any) -> Any:
    """Return a public function or class that says what may be meant by an argument it has not."""
    if isinstance(thing, type) and issubclass(thing, Recorded):  # which do so themselves
        return thing
    call = thing.__init__ if isinstance(thing, type) else thing

    @functools.wraps(call)
    def checked(*args: Any, **options: Any) -> Any:
        if options:
            _check_names(thing, options)
        return call(*args, **options)

    if isinstance(thing, type):
        thing.__init__ = checked  # type: ignore[misc]
        return thing
    checked.__module__ = "mbd"  # where it is found by this name
    return checked


def remembered(make: Maker) -> Maker:
    """Keep the call by which a function returned an object."""

    @functools.wraps(make)
    def make_and_record(*args: Any, **options: Any) -> Any:
        call, args, options = _call(make_and_record, args, options)
        product = make(*args, **options)
        _CALLS.setdefault(product, call)
        return product

    return make_and_record  # type: ignore[return-value]


def remembered_method(make: Maker) -> Maker:
    """Keep the call of a class method by which it returned a recorded object."""

    @functools.wraps(make)
    def make_and_record(cls: Any, *args: Any, **options: Any) -> Any:
        call, args, options = _call(getattr(cls, make.__name__), args, options)
        product = make(cls, *args, **options)
        object.__setattr__(product, "call", call)
        return product

    return make_and_record  # type: ignore[return-value]


def reduced(thing: Any) -> Any:
    """Return the ``__reduce__`` of an object that is one of a kind."""
    if thing in _CALLS:
        return again, tuple(_CALLS[thing])
    place = _placed(thing)
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


def call_of(value: Any) -> Call | None:
    """Return the call by which a part, a frame, a motion or a shape was made."""
    return getattr(value, "call", None) if isinstance(value, Recorded) else None


def parameters_in(things: Any) -> dict[str, Parameter]:
    """Return the parameters among the arguments of things that were made, by name."""
    parameters: dict[str, Parameter] = {}
    done: set[int] = set()

    def look(values: Any) -> None:
        for value in objects_in(values):
            if isinstance(value, Formula):
                for name, x in value.parameters.items():
                    if parameters.setdefault(name, x).value != x.value:
                        raise ValueError(
                            f"Parameter {name!r}: must have one value in a system, got "
                            f"{parameters[name].value:g} and {x.value:g}; name them apart"
                        )
            elif id(value) not in done and (call := call_of(value)) is not None:
                done.add(id(value))
                look((call.args, call.options))

    look(things)
    return parameters


class CarriedFunction:
    """A user's function on its way into another process."""

    def __init__(self, owner: str, function: Callable[..., Any]) -> None:
        self.owner, self.function = owner, function

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.function

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the function by its name, or else its code."""
        from mbd.machine.private_numba import carried_code

        with suppress(Exception):
            pickle.dumps(self.function)  # can it be named? Who pickles may still take its code
            return _itself, (self.function,)
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

    def carried(x: Any) -> Any:
        return CarriedFunction(owner, x) if callable(x) and not isinstance(x, type) else x

    return mapped(value, carried)


def again(maker: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Make an object again."""
    return maker(*args, **options)


def _placed(thing: Any) -> tuple[Any, ...] | None:
    """Return the place of an object among the variables of modules, as ``__reduce__`` does."""
    ours = sorted(sys.modules, key=lambda name: not name.startswith("mbd."))
    for name in ours:
        for attribute, value in tuple(getattr(sys.modules[name], "__dict__", {}).items()):
            if value is thing:
                return _at, (name, attribute)
    return None


def _at(module: str, attribute: str) -> Any:
    return getattr(importlib.import_module(module), attribute)
