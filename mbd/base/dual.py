r"""Numbers that carry derivatives: what a description makes of them shows what it depends on.

A `Dual` is a value x and its derivatives by named numbers, :math:`x + \sum_p x_p\,dp`; arithmetic
and functions of numpy keep both. It decides by its value alone, so that a description of duals is
that of their values. Nothing makes a plain number of one without a word: ``float`` of it raises.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from mbd.base.elementary import ARITHMETIC, RULES, give_functions, give_operators

_NUMPY = str(Path(np.__file__).parent)
_NOTHING: frozenset[str] = frozenset()


class LostParameterError(TypeError):
    """A formula of parameters was read as a plain number, which would forget them."""


def _compared(how: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    """Return the comparison of a dual, by its value, with any number."""
    return lambda a, b: bool(how(a.value, value_of(b)))


class Dual:
    """A number and its derivatives.

    Parameters
    ----------
    value : float
    slopes : dict
        Derivatives by name.
    curved : frozenset of str
        Those of which the derivative depends on the number it is taken by.
    units : list of str, optional
        Units in which doors took it, of one that stands for itself.
    """

    __slots__ = ("curved", "slopes", "units", "value")

    def __init__(
        self, value: float, slopes: Mapping[str, float], curved: frozenset[str] = _NOTHING,
        units: list[str] | None = None,
    ) -> None:  # fmt: skip
        self.value, self.slopes, self.curved, self.units = value, slopes, curved, units

    def __neg__(self) -> Any:
        return _function("multiply", self, -1.0)

    def __pos__(self) -> "Dual":
        return self

    def __abs__(self) -> Any:
        return -self if self.value < 0.0 else self

    def hypot(self, other: Any) -> Any:
        """Return the root of the sum of both squares."""
        return _function("sqrt", _function("square", self) + other * other)

    def conjugate(self) -> "Dual":
        """Return itself: it is real."""
        return self

    def __float__(self) -> float:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_NUMPY):
            frame = frame.f_back
        file, line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        raise LostParameterError(
            f"what depends on {', '.join(self.slopes)} becomes a plain number at "
            f"{Path(file).name}:{line}; take numpy's functions there, and arrays of objects"
        )

    __int__ = __index__ = __complex__ = __round__ = __trunc__ = __float__
    __floor__ = __ceil__ = __float__

    def __bool__(self) -> bool:
        return bool(self.value)

    __eq__, __lt__, __le__, __gt__, __ge__ = map(_compared, (eq, lt, le, gt, ge))

    def __hash__(self) -> int:
        return hash(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __repr__(self) -> str:
        return f"Dual({self.value:g}, {dict(self.slopes)})"


_PLAIN = (float, int, np.number)


def _function(name: str, *arguments: Any) -> Any:
    """Return a function of the table, by value and derivatives, of duals and plain numbers."""
    of = [x if type(x) is Dual else Dual(float(x), {}) for x in arguments]
    rule, values = RULES[name], [x.value for x in of]
    y, slopes = rule.function(*values), dict[str, float]()
    for x, slope in zip(of, rule.slopes, strict=True):
        if x.slopes:
            factor = slope(y, *values)
            for p, d in x.slopes.items():
                slopes[p] = slopes.get(p, 0.0) + factor * d
    return Dual(y, slopes, _curved(name, *of))


def _curved(name: str, a: Dual, *b: Dual) -> frozenset[str]:
    """Return by what a function is curved; sums are not, a quotient is by its denominator."""
    names = a.curved.union(*(x.curved for x in b))
    match name:
        case "add" | "subtract":
            return names
        case "multiply":
            return names.union(*(a.slopes.keys() & x.slopes.keys() for x in b))
        case "divide":
            return a.curved.union(*(x.slopes for x in b))
    return frozenset(a.slopes).union(*(x.slopes for x in b))


def _operator(name: str, a: Any, b: Any) -> Any:
    plain = all(isinstance(x, (Dual, *_PLAIN)) for x in (a, b))
    return _function(name, a, b) if plain else NotImplemented


give_operators(Dual, _operator)
give_functions(Dual, RULES.keys() - ARITHMETIC.values(), _function)
Dual.deg2rad, Dual.rad2deg = Dual.radians, Dual.degrees  # type: ignore[attr-defined]


def value_of(x: Any) -> Any:
    """Return a number without its derivatives."""
    return x.value if type(x) is Dual else x


def plain(x: Any) -> np.ndarray:
    """Return numbers without their derivatives, an array of floats."""
    x = np.asarray(x)
    if x.dtype != object:
        return x
    return np.array([value_of(y) for y in x.flat], float).reshape(x.shape)


def carries(x: Any) -> bool:
    """Tell whether a number, or one in an array, carries derivatives."""
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(type(y) is Dual for y in x.flat)
    return type(x) is Dual


def one(x: Any) -> Any:
    """Return a number as a float, or as the dual that it is."""
    return x if type(x) is Dual else float(x)


def sqrt(x: Any) -> Any:
    """Return the square root of a number or of each of an array."""
    x = np.asarray(x)
    if x.dtype != object:
        return np.sqrt(x)
    roots = [_function("sqrt", y) if type(y) is Dual else math.sqrt(y) for y in x.flat]
    return np.array(roots, object).reshape(x.shape)[()]


def norm(x: np.ndarray) -> Any:
    """Return the length of a vector (n,)."""
    return one(sqrt(x @ x))


def chained(value: float, gradient: Sequence[float], at: np.ndarray) -> Any:
    """Return a function of numbers by its value and gradient there."""
    slopes = dict[str, float]()
    for g, x in zip(gradient, at, strict=True):
        if type(x) is Dual:
            for p, d in x.slopes.items():
                slopes[p] = slopes.get(p, 0.0) + float(g) * d
    return Dual(float(value), slopes, frozenset(slopes)) if slopes else value


def arctan2(y: Any, x: Any) -> Any:
    """Return the angle whose sine and cosine are as y and x."""
    if type(y) is Dual or type(x) is Dual:
        return _function("arctan2", y, x)
    return math.atan2(y, x)


def stacked(values: Any) -> np.ndarray:
    """Return numbers in an array, of objects if some are duals."""
    flat = np.array(values, object)
    return flat if carries(flat) else flat.astype(float)
