"""Files of compiled kernels, named by digests of what they were compiled from.

That is the bytecode of the kernel, everything it reaches (functions that it calls or closes over,
constants), the versions of the compiler and the processor. So a comment compiles nothing again, a
changed function compiles the kernels that reach it and no others, and all copies of the package
share their kernels. A file also holds a digest of its content: one that is damaged is deleted.
"""

import dis
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

try:
    import fcntl
except ImportError:  # no file locks: two processes may compile the same kernel
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"mbd kernel 1\n"
_UNUSED = 60 * 86400.0  # s, after which a file that nobody reads is deleted
_VERSIONED = frozenset(sys.stdlib_module_names) | {"numba", "llvmlite", "numpy", "scipy"}


class FingerprintError(TypeError):
    """A kernel reaches a value that has no description which is the same in every process."""


class DamagedError(ValueError):
    """A file does not hold what was written."""


class Fingerprints:
    """Descriptions of functions and values that are the same in every process.

    Parameters
    ----------
    source : callable
        From a compiled function to the Python values that it was made from; None for all else.
    deep : bool
        Follow the names that functions take from their modules, not only what they close over.
    """

    def __init__(self, source: Callable[[Any], Any], deep: bool = True) -> None:
        self.source, self.deep = source, deep
        self._digests: dict[int, tuple[Any, str]] = {}  # values stay alive, so that ids stay theirs
        self._open: list[int] = []  # functions within functions that are being described
        self._lowest = sys.maxsize  # the outermost of them that was met again

    def __call__(self, value: Any) -> str:
        """Return the description of a value; that of a function is a digest."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return repr(value)
        if isinstance(value, tuple | list):
            return f"{type(value).__name__}({', '.join(map(self, value))})"
        if isinstance(value, set | frozenset):
            return f"set({', '.join(sorted(map(self, value)))})"
        if isinstance(value, dict):
            return f"dict({', '.join(f'{self(k)}: {self(v)}' for k, v in value.items())})"
        key = id(value)
        if key in self._digests:
            return self._digests[key][1]
        if key in self._open:  # a function that reaches itself
            self._lowest = min(self._lowest, self._open.index(key))
            return f"open {len(self._open) - self._open.index(key)}"
        depth = len(self._open)
        self._open.append(key)
        try:
            digest = hashlib.sha256(self._text(value).encode()).hexdigest()
        finally:
            self._open.pop()
        if self._lowest >= depth:  # else it depends on where we came from
            self._digests[key] = value, digest
            self._lowest = sys.maxsize
        return digest

    def _text(self, value: Any) -> str:
        source = self.source(value)
        if source is not None:
            return f"compiled {self(source)}"
        if isinstance(value, ModuleType):
            return f"module {value.__name__}"
        if isinstance(value, FunctionType | type) and _versioned(value.__module__):
            return f"{value.__module__}.{value.__qualname__}"
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type) and issubclass(value, tuple):
            return f"named {value.__qualname__} {self(getattr(value, '_fields', ()))}"
        if isinstance(value, type):
            members = {k: v for k, v in vars(value).items() if not k.startswith("__")}
            return f"class {value.__qualname__} {self(members)}"
        if is_dataclass(value):
            parts = {f.name: getattr(value, f.name) for f in fields(value)}
            return f"{self(type(value))} {self(parts)}"
        text = value.tobytes().hex() if type(value).__module__ == "numpy" else repr(value)
        if " at 0x" in text:
            raise FingerprintError(text)
        return f"{type(value).__module__}.{type(value).__qualname__} {text}"

    def _function(self, function: FunctionType) -> str:
        code = function.__code__
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        parts = [f"{function.__module__}.{function.__qualname__}", code_text(function, self)]
        parts += map(self, (cells, function.__defaults__, function.__kwdefaults__))
        values, own = function.__globals__, globals_of(code)
        for name in sorted(names_of(code)) if self.deep else ():
            value = values.get(name) if name in own else None
            parts.append(f"{name} {self(value)}" if name in own and name in values else "")
            parts += self._taken(code, value)
        for value in cells if self.deep else ():
            parts += self._taken(code, value)
        return "\n".join(parts)

    def _taken(self, code: CodeType, module: Any, above: tuple[Any, ...] = ()) -> list[str]:
        """Describe what a function may take from a module, and from modules in it."""
        if not isinstance(module, ModuleType) or _versioned(module.__name__) or module in above:
            return []
        own = {n: vars(module)[n] for n in sorted(names_of(code)) if n in vars(module)}
        inner = [self._taken(code, x, (*above, module)) for x in own.values()]
        return [self(own), *(text for some in inner for text in some)]


_LOAD_GLOBAL, _LOAD_NAME = dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_NAME"]  # of classes


def names_of(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function and those inside it."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(names_of, inner))


def code_text(function: FunctionType, described: Callable[[Any], str]) -> str:
    """Describe the bytecode of a function without its lines, its file and its docstring."""
    code, text = function.__code__, function.__doc__
    return _text_of(code, text is not None and code.co_consts[:1] == (text,), described)


def _text_of(code: CodeType, has_text: bool, described: Callable[[Any], str]) -> str:
    constants = code.co_consts[has_text:]
    inner = [
        _text_of(x, False, described) if isinstance(x, CodeType) else described(x)
        for x in constants
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return f"{code.co_code.hex()} {code.co_exceptiontable.hex()} {inner} {names}"


def globals_of(code: CodeType) -> set[str]:
    """Return the names of globals alone: an attribute may be called like one."""
    own = {code.co_names[i >> 1] for i in _arguments(code, _LOAD_GLOBAL)}  # the last bit is no name
    own |= {code.co_names[i] for i in _arguments(code, _LOAD_NAME)}
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return own.union(*map(globals_of, inner))


def imports_of(code: CodeType) -> set[str]:
    """Return the names of modules that a function imports when it is called."""
    own = {code.co_names[i] for i in _arguments(code, dis.opmap["IMPORT_NAME"])}
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return own.union(*map(imports_of, inner))


def _arguments(code: CodeType, which: int) -> Iterator[int]:
    """Yield the arguments of an operation; dis takes thirty times as long."""
    raw = code.co_code
    if which not in raw[::2]:
        return
    high, code_units = 0, iter(raw)
    for operation, low in zip(code_units, code_units, strict=True):
        argument = high | low
        if operation == which:
            yield argument
        high = argument << 8 if operation == dis.EXTENDED_ARG else 0


def _versioned(module: str | None) -> bool:
    """Tell whether a module comes with a version that is part of the name of every file."""
    return (module or "").partition(".")[0] in _VERSIONED


@cache
def folder(path: str) -> Path | None:
    """Return where kernels are kept, `wanted` or a folder of the user's, or None if nowhere."""
    home = Path("~").expanduser()
    if path:
        where = Path(path)
    elif sys.platform == "win32":
        where = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "mbd" / "kernels"
    elif sys.platform == "darwin":
        where = home / "Library" / "Caches" / "mbd" / "kernels"
    else:
        where = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mbd" / "kernels"
    try:
        if not where.exists():
            where.parent.mkdir(parents=True, exist_ok=True)
            where.mkdir(mode=0o700, exist_ok=True)
        tempfile.TemporaryFile(dir=where).close()
    except OSError:
        return None
    if others := _written_by_others(where.resolve()):
        print(
            f"mbd: compiled kernels are not kept in {where}, for they are programs and {others}; "
            "take that right away (chmod go-w), or let NUMBA_CACHE_DIR name a folder of your own",
            file=sys.stderr,
            flush=True,
        )
        return None
    _tidy(where)
    return where


def _written_by_others(where: Path) -> str:
    """Return who else may change a folder, or put another in its place; "" if nobody may."""
    if sys.platform == "win32":  # folders of a user are kept from others
        return ""
    for path in (where, *where.parents):
        about = path.stat()
        if about.st_uid not in (0, os.getuid()):
            return f"{path} belongs to another user (number {about.st_uid})"
        sticky = path != where and about.st_mode & stat.S_ISVTX  # what is in it is its owner's
        if about.st_mode & stat.S_IWOTH and not sticky:
            return f"everybody may write to {path}"
        if about.st_mode & stat.S_IWGRP and not sticky and not _has_one_member(about.st_gid):
            return f"a group may write to {path}"
    return ""


def _has_one_member(group: int) -> bool:
    """Tell whether a group is that which many systems make for each user, of the user's name."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.getuid())
        about = grp.getgrgid(group)
    except KeyError:
        return False
    own = about.gr_name == user.pw_name or group == 0
    return own and set(about.gr_mem) <= {user.pw_name}


def _tidy(where: Path) -> None:
    """Delete what nobody read for a long time."""
    with suppress(OSError):
        for file in where.iterdir():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > _UNUSED:
                    file.unlink()


def load(file: Path) -> bytes | None:
    """Return what was saved in a file, or None if there is none."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    payload = content[len(_MAGIC) + 32 :]
    if content != _sealed(file, payload):
        raise DamagedError(str(file))
    with suppress(OSError):
        os.utime(file)  # it is in use
    return payload


def _sealed(file: Path, payload: bytes) -> bytes:
    """Return the content of a file: a digest of its name and payload, and the payload."""
    return _MAGIC + hashlib.sha256(file.name.encode() + payload).digest() + payload


def save(file: Path, payload: bytes) -> None:
    """Write a file whole or not at all; a folder that is full or closed is no error."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        try:
            with os.fdopen(handle, "wb") as new:
                new.write(_sealed(file, payload))
            os.replace(name, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


@contextmanager
def locked(file: Path, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file that is being made; without waiting, tell whether it was free."""
    name = file.with_suffix(".lock")
    try:
        lock = open(name, "wb") if fcntl is not None else None
    except OSError:
        lock = None
    if lock is None:
        yield True
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            yield False
            return
        yield True
        with suppress(OSError):
            name.unlink()
