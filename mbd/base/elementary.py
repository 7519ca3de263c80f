r"""Elementary functions and their derivatives, told once for all numbers that are no plain ones.

.. math:: y = f(a, b), \qquad dy = f_a\,da + f_b\,db

Names are those of numpy, which asks objects in its arrays for methods of these names. Derivatives
are written with arithmetic and functions of this table, for floats as for expressions.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A function of floats, and its derivative by each argument, of y, a (and b)."""

    function: Callable[..., Any]
    slopes: tuple[Callable[..., Any], ...]


def _rule(function: Callable[..., Any], *slopes: Callable[..., Any]) -> Rule:
    return Rule(function, slopes)


def _generic(name: str) -> Callable[[Any], Any]:
    """Return a function of the table, of whatever numbers."""

    def of(x: Any) -> Any:
        return RULES[name].function(x) if isinstance(x, float | int) else getattr(x, name)()

    return of


_sqrt, _sin, _cos, _sinh, _cosh, _log = map(_generic, ("sqrt", "sin", "cos", "sinh", "cosh", "log"))


def _root_slope(y: Any, _x: Any) -> Any:
    return math.inf if isinstance(y, float) and y == 0.0 else 0.5 / y


def _power_slope(_y: Any, a: Any, n: Any) -> Any:
    return 0.0 if isinstance(n, float) and n == 0.0 else n * a ** (n - 1.0)


RULES = {
    "add": _rule(operator.add, lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    "subtract": _rule(operator.sub, lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    "multiply": _rule(operator.mul, lambda y, a, b: b, lambda y, a, b: a),
    "divide": _rule(operator.truediv, lambda y, a, b: 1.0 / b, lambda y, a, b: -y / b),
    "power": _rule(math.pow, _power_slope, lambda y, a, n: y * _log(a)),
    "arctan2": _rule(
        math.atan2, lambda y, a, b: b / (a * a + b * b), lambda y, a, b: -a / (a * a + b * b)
    ),
    "sqrt": _rule(math.sqrt, _root_slope),
    "sin": _rule(math.sin, lambda y, x: _cos(x)),
    "cos": _rule(math.cos, lambda y, x: -_sin(x)),
    "tan": _rule(math.tan, lambda y, x: 1.0 + y * y),
    "arcsin": _rule(math.asin, lambda y, x: 1.0 / _sqrt(1.0 - x * x)),
    "arccos": _rule(math.acos, lambda y, x: -1.0 / _sqrt(1.0 - x * x)),
    "arctan": _rule(math.atan, lambda y, x: 1.0 / (1.0 + x * x)),
    "sinh": _rule(math.sinh, lambda y, x: _cosh(x)),
    "cosh": _rule(math.cosh, lambda y, x: _sinh(x)),
    "tanh": _rule(math.tanh, lambda y, x: 1.0 - y * y),
    "exp": _rule(math.exp, lambda y, x: y),
    "log": _rule(math.log, lambda y, x: 1.0 / x),
    "radians": _rule(math.radians, lambda y, x: math.pi / 180),
    "degrees": _rule(math.degrees, lambda y, x: 180 / math.pi),
    "square": _rule(lambda x: x * x, lambda y, x: 2.0 * x),
    "reciprocal": _rule(lambda x: 1.0 / x, lambda y, x: -y * y),
    "exp2": _rule(lambda x: 2.0**x, lambda y, x: y * math.log(2)),
    "expm1": _rule(math.expm1, lambda y, x: y + 1.0),
    "log10": _rule(math.log10, lambda y, x: 1.0 / (x * math.log(10))),
    "log2": _rule(math.log2, lambda y, x: 1.0 / (x * math.log(2))),
    "log1p": _rule(math.log1p, lambda y, x: 1.0 / (1.0 + x)),
    "cbrt": _rule(math.cbrt, lambda y, x: y / (3.0 * x)),
    "arcsinh": _rule(math.asinh, lambda y, x: 1.0 / _sqrt(x * x + 1.0)),
    "arccosh": _rule(math.acosh, lambda y, x: 1.0 / _sqrt(x * x - 1.0)),
    "arctanh": _rule(math.atanh, lambda y, x: 1.0 / (1.0 - x * x)),
    "fabs": _rule(abs, lambda y, x: math.copysign(1.0, x)),
    "floor": _rule(math.floor, lambda y, x: 0.0),
    "ceil": _rule(math.ceil, lambda y, x: 0.0),
    "rint": _rule(round, lambda y, x: 0.0),
    "trunc": _rule(math.trunc, lambda y, x: 0.0),
}
ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
}  # fmt: skip


def give_operators(cls: type, of: Callable[[str, Any, Any], Any]) -> None:
    """Give a class the operators of arithmetic, `of` a name of the table and two operands."""

    def here(name: str) -> Callable[[Any, Any], Any]:
        return lambda a, b: of(name, a, b)

    def turned(name: str) -> Callable[[Any, Any], Any]:
        return lambda b, a: of(name, a, b)

    for word, name in ARITHMETIC.items():
        setattr(cls, f"__{word}__", here(name))
        setattr(cls, f"__r{word}__", turned(name))


def give_functions(cls: type, names: Any, of: Callable[..., Any]) -> None:
    """Give a class the methods that functions of numpy call, `of` a name and the arguments."""

    def method(name: str) -> Callable[..., Any]:
        return lambda *x: of(name, *x)

    for name in names:
        setattr(cls, name, method(name))
