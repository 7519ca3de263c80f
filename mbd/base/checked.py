"""Checks of plain values: numbers, whole numbers, switches, words of a short list.

Every error says who, what must be which [unit], got what, what to do.
"""

import difflib
import importlib
import inspect
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.dual import Dual, LostParameterError, carries, plain
from mbd.base.tolerances import LARGEST

_SHOWN_NAMES = 20  # of what there is, in an error
_WIDTH = 200  # characters of a value in an error
_LARGEST_WHOLE = 1 << 62  # of a table of integers
_LONGEST_PATH, _LONGEST_NAME = 4095, 255  # bytes that file systems take
_PLAIN = frozenset((float, int))
_FEW = 16  # numbers, which Python looks at faster than numpy
_ELSEWHERE = {  # what other programs call arguments
    "dt": "step", "h": "step", "timestep": "step", "duration": "t_end", "t_final": "t_end",
    "integrator": "method", "solver": "method",
}  # fmt: skip


def shown(value: Any) -> str:
    """Return a value as an error shows it: one line, not too long, whatever the value does."""
    if isinstance(value, int) and abs(value) > 10**60:
        return f"an integer of about {int(value.bit_length() * 0.30103) + 1} digits"
    try:
        text = repr(value)
    except Exception:  # of any class of the user, of lists that hold themselves many times
        return f"an object of {type(value).__name__} that cannot be shown"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."


def called(
    who: str, function: Callable[..., Any], *arguments: Any,
    lacks: tuple[type[Exception], ...] = (), **options: Any,
) -> Any:  # fmt: skip
    """Return what a function of a user returns; what it raises is raised with its name.

    Errors of values stay such, for there are others; so are those that `lacks` names.
    """
    try:
        return function(*arguments, **options)
    except (ValueError, ArithmeticError, *lacks) as error:
        raise ValueError(f"{who} raised {type(error).__name__}: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{who} raised {type(error).__name__}: {error}") from error


def extra(who: str, needs: str, module: str, name: str) -> None:
    """Refuse to go on without a module of a package of the extra ``mbd[name]``."""
    try:
        importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"{who}: {needs} {package}, which is an extra; pip install 'mbd[{name}]'"
        ) from None


def meant(name: Any, names: Collection[str]) -> str:
    """Return the question whether a similar name was meant, or nothing."""
    if not isinstance(name, str):
        return ""
    usual = _ELSEWHERE.get(name)
    close = [usual] if usual in names else difflib.get_close_matches(name, names, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def absent(what: str, name: Any, names: Collection[str], where: str = "") -> str:
    """Return that there is no such thing of this name, and which ones there are."""
    there = [*names][:_SHOWN_NAMES] + ["..."] * (len(names) > _SHOWN_NAMES)
    words = ", ".join(there) or "none"
    return f"there is no {what}{shown(name)}{where}{meant(name, names)}; there are {words}"


def _float(value: Any) -> float:
    """Return one number; text, True and complex numbers are none."""
    if isinstance(value, str | bytes | bool | np.bool_ | complex | np.complexfloating):
        raise TypeError("no number")
    try:
        return float(value)
    except OverflowError:  # an integer that is too large
        return np.inf


def floats(value: Any) -> np.ndarray:
    """Return a new float array of any shape; a TypeError for what is not made of numbers.

    Of duals it is one of objects.
    """
    try:
        if (
            type(value) in (tuple, list)
            and len(value) <= _FEW
            and _PLAIN.issuperset(map(type, value))
        ):
            return np.array(value, float)
        if type(value) is np.ndarray and value.dtype == float:
            return value.astype(float)
        if isinstance(value, np.ma.MaskedArray):
            value = value.filled(np.nan)
        raw = np.asarray(value)
        code = raw.dtype.kind
        if code == "O":
            each = [x if type(x) is Dual else _float(x) for x in raw.ravel()]
            return np.array(each, object if carries(raw) else float).reshape(raw.shape)
        if code not in "iuf":
            raise TypeError
        with np.errstate(over="ignore"):  # long double
            return raw.astype(float)
    except LostParameterError:
        raise
    except OverflowError:  # an integer that is too large
        return np.array([_float(x) for x in value], float)
    except Exception as error:  # also what the value's own methods raise
        raise TypeError(f"cannot be read as numbers ({type(error).__name__})") from None


def scalar(owner: str, what: str, value: Any, unit: str) -> float:
    """Return a finite float, or the dual that has it as value."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    if type(value) is Dual:
        scalar(owner, what, value.value, unit)
        tell(value, unit)
        return value  # type: ignore[return-value]
    try:
        x = _float(value) if np.shape(value) == () else None
    except LostParameterError:
        raise
    except Exception:  # also what the value's own methods raise
        x = None
    if x is None:
        raise TypeError(f"{owner}: {what} must be a number [{unit}], got {shown(value)}")
    if not np.isfinite(x):
        raise ValueError(f"{owner}: {what} must be finite [{unit}], got {x}")
    if abs(x) > LARGEST:
        raise ValueError(f"{owner}: {what} must not exceed {LARGEST:g} [{unit}], got {x:g}")
    return x


def tell(x: Any, unit: str) -> None:
    """Tell duals in which unit they are taken."""
    for y in x.flat if isinstance(x, np.ndarray) else (x,):
        if type(y) is Dual and y.units is not None:
            y.units.append(unit)


def sized(owner: str, what: str, x: np.ndarray, unit: str) -> np.ndarray:
    """Return an array that is finite and not too large to compute with."""
    if x.dtype == object:
        tell(x, unit)
        sized(owner, what, plain(x), unit)
        return x
    if x.size <= _FEW and sum(map(abs, x.ravel().tolist())) <= LARGEST:
        return x
    if not np.all(np.isfinite(x)):
        raise ValueError(f"{owner}: {what} must be finite [{unit}], got {shown(x.tolist())}")
    if x.size and np.abs(x).max() > LARGEST:
        raise ValueError(
            f"{owner}: {what} must not exceed {LARGEST:g} [{unit}], got {shown(x.tolist())}"
        )
    return x


def _counted(shape: tuple[int, ...]) -> str:
    """Return how many numbers are in a shape, in words."""
    if not shape:
        return "a number"
    return "x".join(map(str, shape)) + (" number" if shape == (1,) else " numbers")


def numbers(
    owner: str, what: str, value: Any, shapes: tuple[tuple[int, ...], ...], unit: str
) -> np.ndarray:
    """Return a finite array of one of the shapes."""
    try:
        x = floats(value)
    except TypeError:
        x = None
    if x is None or x.shape not in shapes:
        words = " or ".join(_counted(s) for s in shapes if s != (1,) or () not in shapes)
        got = shown(value) if x is None else f"shape {x.shape}"
        error = TypeError if x is None else ValueError
        raise error(f"{owner}: {what} must be {words} [{unit}], got {got}")
    return sized(owner, what, x, unit)


def number_or_array(owner: str, what: str, value: Any, unit: str) -> float | np.ndarray:
    """Return a finite float, or a finite array of any shape."""
    if np.ndim(value) == 0:
        return scalar(owner, what, value, unit)
    try:
        return sized(owner, what, floats(value), unit)
    except TypeError:
        raise TypeError(f"{owner}: {what} must be numbers [{unit}], got {shown(value)}") from None


def is_whole(value: Any, least: int) -> bool:
    """Tell whether a value is a whole number not below the least; True and 2.0 are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(least <= value <= _LARGEST_WHOLE)


def whole(owner: str, what: str, value: Any, least: int) -> int:
    """Return a whole number that is not below the least."""
    if not is_whole(value, least):
        raise ValueError(
            f"{owner}: {what} must be a whole number, at least {least}, got {shown(value)}"
        )
    return int(value)


def place(owner: str, what: str, value: Any, n: int) -> int:
    """Return which of n things, counted from 0, or from the end if negative."""
    if not is_whole(value, -n) or value >= n:
        raise ValueError(
            f"{owner}: {what} must be a whole number, there are {n} counted from 0, got "
            f"{shown(value)}"
        )
    return int(value)


def flag(owner: str, what: str, value: Any) -> bool:
    """Return True or False; "no" and 1 are neither."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{owner}: {what} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(owner: str, what: str, value: Any, words: Collection[str]) -> str:
    """Return one of some words."""
    if not (isinstance(value, str) and value in words):
        raise ValueError(
            f"{owner}: {what} must be one of {', '.join(words)}, got {shown(value)}"
            f"{meant(value, words)}"
        )
    return value


def names(owner: str, what: str, value: Any) -> tuple[str, ...]:
    """Return names, given in a list, or one alone."""
    try:
        several = (value,) if isinstance(value, str) else tuple(value)
    except Exception:  # also what the value's own methods raise
        several = (None,)
    if not all(isinstance(x, str) for x in several):
        raise TypeError(f"{owner}: {what} must be a name or names in a list, got {shown(value)}")
    return several


def listed(expected: str, value: Any) -> tuple[Any, ...]:
    """Return what is in a list; `expected` begins the error, text is no list."""
    if not isinstance(value, str | bytes | type):
        try:
            return tuple(value)
        except Exception:  # also what the value's own methods raise
            pass
    raise TypeError(f"{expected}, got {shown(value)}")


def mapping(owner: str, what: str, value: Any, example: str) -> dict[Any, Any]:
    """Return a dict of what is given by name; None is an empty one."""
    if not (value is None or isinstance(value, Mapping)):
        raise TypeError(f"{owner}: {what} must be a dict such as {example}, got {shown(value)}")
    return dict(value or {})


def check_options(
    maker: Callable[..., Any], options: Collection[str], function: Callable[..., Any],
    own: Collection[str],
) -> None:  # fmt: skip
    """Refuse options that a function does not have, or that their maker decides itself."""
    parameters = inspect.signature(function).parameters.items()
    allowed = [k for k, x in parameters if x.kind is x.KEYWORD_ONLY and k not in own]
    for name in options:
        if name not in allowed:
            near = meant(name, [*inspect.signature(maker).parameters, *allowed])
            raise TypeError(
                f"{maker.__name__}: there is no option {name!r}{near}; besides its own "
                f"there are those of {function.__name__}, {', '.join(allowed)}"
            )


def file_path(owner: str, value: Any) -> Path:
    """Return a path that a file system can have."""
    if not isinstance(value, str | Path):
        raise TypeError(f"{owner}: path must be a str or a Path, got {shown(value)}")
    text = str(value)
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:
        data = b"\0"
    if not text or b"\0" in data:
        raise ValueError(f"{owner}: path must be the name of a file, got {shown(text)}")
    longest = max(len(os.fsencode(part)) for part in Path(text).parts or (text,))
    if len(data) > _LONGEST_PATH or longest > _LONGEST_NAME:
        raise ValueError(
            f"{owner}: path must have at most {_LONGEST_PATH} bytes, and {_LONGEST_NAME} between "
            f"slashes, got {len(data)} bytes, {longest} between slashes: {shown(text[:40])} ..."
        )
    return Path(value)


def function(owner: str, what: str, value: Any, form: str) -> Callable[..., Any]:
    """Return what can be called; a class is no law."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"{owner}: {what} must be a function {form}, got {shown(value)}")
    return value
