"""Identity of what results follow from: digests by name, which tell what differs and where.

A study, a fit or a unit that is kept goes on only with what it was begun with. So all that it
follows from is described, the same in every process: the code of functions without their lines and
files, what they close over, their defaults and the globals that they read, in turn; parts by the
arguments they were made with; arrays; the contents of files whose paths are among these. Modules
that are installed count by their names and versions.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, cached_property, partial
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from mbd.base.parameter import Formula, Parameter
from mbd.base.public import VERSION
from mbd.base.recorded_call import call_of
from mbd.machine.jit import Kernel
from mbd.machine.kernel_cache import code_text, globals_of, imports_of, names_of
from mbd.machine.private_numba import source_of

_Cached = type(cache(int))
_RANDOM: Any = np.random.random.__self__  # type: ignore[attr-defined]  # another in each process
_DEEP = 60  # things within things; what lies deeper counts by its type alone
_LONG = 40  # characters; what is longer is told by a digest
_TOLD = 4  # names in a message
_PATH = 1000  # characters
_NUMERICAL = ("numpy", "scipy", "numba", "llvmlite")  # their versions change round-off alone
_OF_CLASSES = ("__init__", "__call__", "__getattr__", "__getitem__", "__post_init__", "__new__")


class Identity:
    """Digests of values by name.

    Attributes
    ----------
    table : dict
        Short texts as they are, digests of longer ones, by names that errors tell.
    """

    def __init__(self) -> None:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        self.table = {"the version of mbd": VERSION, "the version of Python": python}
        self._named: dict[int, tuple[Any, str]] = {}  # values stay alive, so that ids stay theirs
        self._done: dict[int, tuple[Any, str]] = {}
        self._open: list[int] = []
        self._waiting: list[Callable[[], None]] = []  # functions and classes that were met

    def put(self, name: str, value: Any) -> None:
        """Add what a name stands for; functions that it has add what they are made of."""
        self._add(name, value)
        while self._waiting:
            self._waiting.pop(0)()

    def _add(self, name: str, value: Any) -> None:
        self._enter(name, self._text(value, name))

    def name(self, thing: Any, name: str) -> None:
        """Let a thing that has names of its own in the table be told by one wherever it is met."""
        self._named[id(thing)] = thing, name

    def _enter(self, name: str, text: str) -> None:
        key, n = name, 1
        while key in self.table:
            n += 1
            key = f"{name} ({n})"
        self.table[key] = text if len(text) <= _LONG else _digest(text.encode())

    def _text(self, value: Any, of: str) -> str:
        """Describe a value that belongs to the name `of`."""
        if (plain := _plain(value)) is not None:
            return plain
        if isinstance(value, str | PurePath):
            return self._path(value) or repr(str(value))
        for table in (self._named, self._done):
            if id(value) in table:
                return table[id(value)][1]
        if id(value) in self._open:  # a thing that holds itself
            return f"above {len(self._open) - self._open.index(id(value))}"
        if len(self._open) == _DEEP:
            return type(value).__qualname__
        self._open.append(id(value))
        try:
            text = self._inside(value, of)
        finally:
            self._open.pop()
        text = text if len(text) <= _LONG else _digest(text.encode())
        self._done[id(value)] = value, text
        return text

    def _list(self, values: Iterable[Any], of: str) -> str:
        return f"({', '.join([self._text(x, of) for x in values])})"

    def _inside(self, value: Any, of: str) -> str:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            array = np.ascontiguousarray(value)
            return f"{array.dtype.str} {array.shape} {_digest(array.tobytes())}"
        if isinstance(value, np.ndarray):
            return f"{value.shape} {self._list(value.ravel().tolist(), of)}"
        if isinstance(value, Formula):
            return self._formula(value, of)
        if isinstance(value, set | frozenset):
            return f"{{{', '.join(sorted(self._text(x, of) for x in value))}}}"
        if isinstance(value, Mapping):
            pairs = [f"{self._text(k, of)}: {self._text(x, of)}" for k, x in value.items()]
            return f"{{{', '.join(sorted(pairs))}}}"
        if type(value) in (tuple, list):
            return self._list(value, of)
        return self._code_of(value, of) or self._object(value, of)

    def _formula(self, formula: Formula, of: str) -> str:
        """Describe a formula, which may be a long sum, without what its parameters decided."""
        texts, left = [], [formula]
        while left:
            x: Any = left.pop()
            if isinstance(x, Parameter):
                texts.append(f"{x.name} = {x.value!r}")
            elif isinstance(x, Formula):
                texts.append(f"{self._text(x.function, of)} of {len(x.operands)}")
                left += x.operands
            else:
                texts.append(self._text(x, of))
        return " ".join(texts)

    def _code_of(self, value: Any, of: str) -> str:
        """Describe what is code, or stands for a function; nothing for all else."""
        if isinstance(value, ModuleType):
            self._library(value.__name__)
            return f"module {value.__name__}"
        if isinstance(value, FunctionType):
            return self._function(value, of)
        if isinstance(value, MethodType):
            return self._list((value.__func__, value.__self__), of)
        if isinstance(value, partial):
            return self._list((value.func, value.args, value.keywords), of)
        if isinstance(value, BuiltinFunctionType):
            owner = value.__self__
            own = "" if isinstance(owner, ModuleType | None) else self._text(owner, of)
            return f"{value.__module__}.{value.__qualname__} {own}"
        if isinstance(value, np.ufunc):
            return f"ufunc {value.__name__}"
        if isinstance(value, type):
            return self._class(value, of)
        if isinstance(value, property):
            return self._list((value.fget, value.fset), of)
        if isinstance(value, cached_property):
            return self._text(value.func, of)
        if isinstance(value, Kernel):
            return self._text(value.function, of)
        source = source_of(value)
        if isinstance(value, staticmethod | classmethod | _Cached):
            source = value.__wrapped__
        return "" if source is None else self._text(source, of)

    def _function(self, function: FunctionType, of: str) -> str:
        """Describe a function by its name; its code and what it uses have names of their own."""
        module = function.__module__
        library = self._library(module)
        name = f"{module}.{function.__qualname__}" if library else f"function {function.__name__}"
        self._done[id(function)] = function, name
        self._waiting.append(lambda: self._made_of(function, of, library))
        return name

    def _made_of(self, function: FunctionType, of: str, library: bool) -> None:
        """Add the code of a function and what it uses; of a library what was handed in alone."""
        name, code, of = function.__name__, function.__code__, of.partition(": ")[0]
        for n, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._used(f"{of}: {n!r}, which {name!r} closes over", _content(cell), code)
        if library:
            return
        text = code_text(function, lambda constant: self._text(constant, of))
        self._enter(f"{of}: the code of {name!r}", text)
        takes, last = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
        defaults = dict(zip(takes[len(takes) - len(last) :], last, strict=True))
        for n, x in (defaults | (function.__kwdefaults__ or {})).items():
            self._add(f"{of}: {n!r}, a default of {name!r}", x)
        around = function.__globals__
        for n in sorted(globals_of(code) & around.keys()):
            self._used(f"{of}: {n!r}, a global of {name!r}", around[n], code)
        for n in sorted(imports_of(code)):
            module = _imported(n, around.get("__package__"))
            self._used(f"{of}: {n!r}, which {name!r} imports", module, code)

    def _used(self, key: str, value: Any, code: CodeType) -> None:
        """Add what a function uses; of a module of the user what its code names."""
        self._add(key, value)
        if isinstance(value, ModuleType) and not self._library(value.__name__):
            for n in sorted(names_of(code) & vars(value).keys()):
                x = vars(value)[n]
                if not isinstance(x, ModuleType):
                    self._add(f"{key}: {n!r}", x)
                elif x.__name__.startswith(f"{value.__name__}."):
                    self._used(f"{key}: {n!r}", x, code)

    def _class(self, cls: type, of: str) -> str:
        """Describe a class of a user by its methods, attributes and bases."""
        if self._library(cls.__module__):
            return f"{cls.__module__}.{cls.__qualname__}"
        name = cls.__name__
        self._done[id(cls)] = cls, f"class {name}"
        self._waiting.append(lambda: self._methods(cls, of))
        return f"class {name}"

    def _methods(self, cls: type, of: str) -> None:
        of = of.partition(": ")[0]
        for n, x in sorted(vars(cls).items()):
            if not (n.startswith("__") and n.endswith("__")) or n in _OF_CLASSES:
                self._add(f"{of}: {n!r} of the class {cls.__name__!r}", x)
        self._add(f"{of}: the bases of the class {cls.__name__!r}", cls.__bases__)

    def _object(self, value: Any, of: str) -> str:
        """Describe any other object by what it was made with, or what pickle takes of it."""
        if isinstance(value, Enum):
            return f"{type(value).__qualname__}.{value.name} {self._text(value.value, of)}"
        if value is os.environ or value is _RANDOM:
            return type(value).__qualname__
        if (call := call_of(value)) is not None:
            options = dict(zip(map(str, range(len(call.args))), call.args, strict=True))
            return f"{self._text(call.maker, of)} {self._text(options | call.options, of)}"
        if is_dataclass(value):
            parts = {x.name: getattr(value, x.name, None) for x in fields(value)}
            return f"{self._text(type(value), of)} {self._text(parts, of)}"
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # a lock, a file: it has no content that another process could have
            return self._text(type(value), of)
        if isinstance(reduced, str):
            return reduced
        maker, args, *more = reduced
        state, *items = [*more, None, None, None][:3]
        both = [list(x) for x in items if x is not None]
        return self._list((maker, args, state, both), of)

    def _path(self, value: str | PurePath) -> str:
        """Describe a file that is there by its content; one of Python counts by its functions."""
        text = str(value)
        if not (set(text) & {".", os.sep}) or "\n" in text or len(text) > _PATH:
            return ""
        path = Path(text)
        try:
            if os.sep in text and path.is_dir():
                return f"folder {path.name}"
            if not path.is_file():
                return ""
            if path.suffix != ".py":
                with path.open("rb") as file:
                    content = f"#{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
                if content not in self.table.values():
                    self._enter(f"the file {path.name!r}", content)
        except (OSError, ValueError):  # no name of a file
            return ""
        return f"file {path.name}"

    def _library(self, module: str | None) -> bool:
        """Tell whether a module is one that is installed; note its version."""
        top = (module or "").partition(".")[0]
        if not _installed(top):
            return False
        has = top not in (*_NUMERICAL, "mbd") and top not in sys.stdlib_module_names
        version = getattr(sys.modules.get(top), "__version__", None)
        if has and isinstance(version, str):
            self.table[f"the version of {top}"] = version
        return True


def differences(kept: Any, now: Mapping[str, str]) -> str:
    """Return by name in what a kept identity differs from that of now; nothing where in nothing."""
    if not isinstance(kept, dict):
        return "the version of mbd, which is an earlier one there"
    told = []
    for name in dict.fromkeys((*now, *kept)):
        old, new = kept.get(name), now.get(name)
        if old != new:
            plain = all(isinstance(x, str) and x[:1] != "#" for x in (old, new))
            told.append(f"{name} ({old} there, {new} here)" if plain else name)
    more = len(told) - _TOLD
    return ", ".join(told[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def lasting(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return what did not change while functions were called, such as a list that counts calls."""
    return {name: x for name, x in after.items() if before.get(name, x) == x}


def _plain(value: Any) -> str | None:
    """Return numbers and bytes as text, the same for those of numpy; None for all else."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | bytes):
        return repr(value)
    if isinstance(value, Enum) or not isinstance(value, int | float | complex):
        return None
    plain: Any = int if isinstance(value, int) else float if isinstance(value, float) else complex
    return repr(plain(value))


def _digest(data: bytes) -> str:
    return f"#{hashlib.sha256(data).hexdigest()[:16]}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return None


def _imported(name: str, package: Any) -> Any:
    """Return a module of the user that a function imports; of any other one the name."""
    for full in (f"{package}.{name}", name) if package else (name,):
        if not _installed(full.partition(".")[0]):
            with suppress(Exception):  # the function will say so, if it is called
                return importlib.import_module(full)
    return name


@cache
def _installed(top: str) -> bool:
    """Tell whether a package is of Python, of mbd, or among those that pip installs."""
    if top in ("", "__main__", "__mp_main__"):
        return False
    if top == "mbd" or top in sys.stdlib_module_names:
        return True
    try:
        spec = None if top in sys.modules else importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or (spec.origin if spec else None)
    return bool({"site-packages", "dist-packages"} & set(Path(file or ".").parts))
