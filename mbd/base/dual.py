r"""Numbers that carry derivatives: what a description makes of them shows what it depends on.

A `Dual` is a value x and its derivatives by named numbers, :math:`x + \sum_p x_p\,dp`; arithmetic
and functions of numpy keep both. It decides by its value alone, so that a description of duals is
that of their values. Nothing makes a plain number of one without a word: ``float`` of it raises.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np

_NUMPY = str(Path(np.__file__).parent)
_NOTHING: frozenset[str] = frozenset()


class LostParameterError(TypeError):
    """A formula of parameters was read as a plain number, which would forget them."""


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

    def _through(self, value: float, slope: float) -> Dual:
        """Return a function of it, by value and derivative."""
        slopes = {p: slope * d for p, d in self.slopes.items()}
        return Dual(value, slopes, frozenset(self.slopes))

    def _by(self, factor: float) -> Dual:
        return Dual(
            self.value * factor, {p: d * factor for p, d in self.slopes.items()}, self.curved
        )

    def _with(self, other: Dual, value: float, a: float, b: float, curved: frozenset[str]) -> Dual:
        """Return a function of both, with derivatives a by the first and b by the other one."""
        slopes = {p: a * d for p, d in self.slopes.items()}
        for p, d in other.slopes.items():
            slopes[p] = slopes.get(p, 0.0) + b * d
        return Dual(value, slopes, curved)

    def _bent(self, other: Dual) -> frozenset[str]:
        """Return by what a product is curved."""
        return self.curved | other.curved | (self.slopes.keys() & other.slopes.keys())

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            curved = self.curved | other.curved
            return self._with(other, self.value + other.value, 1.0, 1.0, curved)
        if isinstance(other, _PLAIN):
            return Dual(self.value + float(other), self.slopes, self.curved)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return self._by(-1.0)

    def __pos__(self) -> Dual:
        return self

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            curved = self.curved | other.curved
            return self._with(other, self.value - other.value, 1.0, -1.0, curved)
        if isinstance(other, _PLAIN):
            return Dual(self.value - float(other), self.slopes, self.curved)
        return NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            a, b = self.value, other.value
            return self._with(other, a * b, b, a, self._bent(other))
        return self._by(float(other)) if isinstance(other, _PLAIN) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            q = self.value / other.value
            curved = self.curved | frozenset(other.slopes)
            return self._with(other, q, 1 / other.value, -q / other.value, curved)
        if isinstance(other, _PLAIN):
            x, d = float(other), self.slopes
            return Dual(self.value / x, {p: s / x for p, s in d.items()}, self.curved)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, _PLAIN):
            q = float(other) / self.value
            return self._through(q, -q / self.value)
        return NotImplemented

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            y, x = self.value**other.value, self.value
            by_power = y * math.log(x)
            curved = frozenset((*self.slopes, *other.slopes))
            return self._with(other, y, y * other.value / x, by_power, curved)
        if isinstance(other, _PLAIN):
            n, x = float(other), self.value
            return self._through(x**n, n * x ** (n - 1.0) if n else 0.0)
        return NotImplemented

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, _PLAIN):
            y = float(other) ** self.value
            return self._through(y, y * math.log(other))
        return NotImplemented

    def __abs__(self) -> Dual:
        return -self if self.value < 0.0 else self

    def sqrt(self) -> Dual:
        """Return its square root."""
        y = math.sqrt(self.value)
        return self._through(y, 0.5 / y if y else math.inf)

    def arctan2(self, other: Any) -> Dual:
        """Return the angle whose sine and cosine are as it and the other one."""
        x = other if isinstance(other, Dual) else Dual(float(other), {})
        squares = self.value * self.value + x.value * x.value
        angle = math.atan2(self.value, x.value)
        curved = frozenset((*self.slopes, *x.slopes))
        return self._with(x, angle, x.value / squares, -self.value / squares, curved)

    def hypot(self, other: Any) -> Dual:
        """Return the root of the sum of both squares."""
        return cast(Dual, self * self + other * other).sqrt()

    def conjugate(self) -> Dual:
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

    def __eq__(self, other: object) -> bool:
        return bool(self.value == value_of(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < value_of(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= value_of(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > value_of(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= value_of(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __repr__(self) -> str:
        return f"Dual({self.value:g}, {dict(self.slopes)})"


_PLAIN = (float, int, np.number)


def _elementary(
    f: Callable[[float], float], slope: Callable[[float, float], float]
) -> Callable[[Dual], Dual]:
    """Return a function of a dual from one of numbers and its derivative, of x and f(x)."""

    def of(x: Dual) -> Dual:
        y = f(x.value)
        return x._through(y, slope(x.value, y))

    return of


for _name, _f, _slope in (
    ("sin", math.sin, lambda x, y: math.cos(x)),
    ("cos", math.cos, lambda x, y: -math.sin(x)),
    ("tan", math.tan, lambda x, y: 1 + y * y),
    ("arcsin", math.asin, lambda x, y: 1 / math.sqrt(1 - x * x)),
    ("arccos", math.acos, lambda x, y: -1 / math.sqrt(1 - x * x)),
    ("arctan", math.atan, lambda x, y: 1 / (1 + x * x)),
    ("sinh", math.sinh, lambda x, y: math.cosh(x)),
    ("cosh", math.cosh, lambda x, y: math.sinh(x)),
    ("tanh", math.tanh, lambda x, y: 1 - y * y),
    ("exp", math.exp, lambda x, y: y),
    ("log", math.log, lambda x, y: 1 / x),
    ("radians", math.radians, lambda x, y: math.pi / 180),
    ("degrees", math.degrees, lambda x, y: 180 / math.pi),
    ("square", lambda x: x * x, lambda x, y: 2 * x),
    ("reciprocal", lambda x: 1 / x, lambda x, y: -y * y),
    ("exp2", lambda x: 2.0**x, lambda x, y: y * math.log(2)),
    ("expm1", math.expm1, lambda x, y: y + 1),
    ("log10", math.log10, lambda x, y: 1 / (x * math.log(10))),
    ("log2", math.log2, lambda x, y: 1 / (x * math.log(2))),
    ("log1p", math.log1p, lambda x, y: 1 / (1 + x)),
    ("cbrt", math.cbrt, lambda x, y: y / (3 * x)),
    ("arcsinh", math.asinh, lambda x, y: 1 / math.sqrt(x * x + 1)),
    ("arccosh", math.acosh, lambda x, y: 1 / math.sqrt(x * x - 1)),
    ("arctanh", math.atanh, lambda x, y: 1 / (1 - x * x)),
    ("fabs", abs, lambda x, y: math.copysign(1.0, x)),
    ("floor", math.floor, lambda x, y: 0.0),
    ("ceil", math.ceil, lambda x, y: 0.0),
    ("rint", round, lambda x, y: 0.0),
    ("trunc", math.trunc, lambda x, y: 0.0),
):  # what numpy's functions of objects call
    setattr(Dual, _name, _elementary(_f, _slope))
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
    return np.array(
        [y.sqrt() if type(y) is Dual else math.sqrt(y) for y in x.flat], object
    ).reshape(x.shape)[()]


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
        return (y if type(y) is Dual else Dual(float(y), {})).arctan2(x)
    return math.atan2(y, x)


def stacked(values: Any) -> np.ndarray:
    """Return numbers in an array, of objects if some are duals."""
    flat = np.array(values, object)
    return flat if carries(flat) else flat.astype(float)
