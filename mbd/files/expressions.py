"""Expressions in a small language: laws in a model file.

Numbers, names of variables, ``pi``, ``+ - * / ** %``, comparisons, ``and or not``,
``a if c else b`` and the functions below. The text is parsed, every node is checked against this
list, and what is left is compiled: nothing else of Python can be reached.

``piecewise(c1, a1, c2, a2, ..., b)``
    The first a whose condition holds, else b.
``table(x, [x1, x2, ...], [y1, y2, ...])``
    Straight lines through points, constant outside.
"""

import ast
import bisect
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mbd.base.checked import absent, floats, scalar, shown
from mbd.base.recorded_call import Recorded


def _piecewise(*values: float) -> float:
    for i in range(0, len(values) - 1, 2):
        if values[i]:
            return values[i + 1]
    return values[-1]


def _table(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    if x != x:
        return x
    if x <= xs[0] or x >= xs[-1]:
        return ys[0] if x <= xs[0] else ys[-1]
    i = bisect.bisect_right(xs, x)
    w = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return (1 - w) * ys[i - 1] + w * ys[i]


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


FUNCTIONS: dict[str, Callable[..., float]] = {
    **{
        name: getattr(math, name)
        for name in (
            *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
            *("exp", "log", "sqrt", "floor"),
        )
    },
    "abs": abs,
    "min": min,
    "max": max,
    "sign": _sign,
    "piecewise": _piecewise,
    "table": _table,
}
_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Load, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.UAdd, ast.USub, ast.Not, ast.And, ast.Or, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
)  # fmt: skip
_LONGEST = 2000
_ARGUMENTS = {"atan2": (2, 2), "log": (1, 2), "min": (2, 99), "max": (2, 99), "piecewise": (1, 999)}
_DIGITS = re.compile(r"(?<!\w)\d[\d_]*")
_GROUPS = re.compile(r"\d+|\d{1,3}(_\d{3})+")  # 1_000


class Expression(Recorded):
    """A law written as text; what files can hold, unlike a Python function.

    Parameters
    ----------
    *texts : str or float
        One for a scalar, three for the components of a load, in the variables ``t`` (time [s]) and,
        for a law of a spring, ``u`` (length or angle) and ``rate``.
    **parameters : float or Parameter
        Further names in the texts, in the units that these imply [SI].

    Examples
    --------
    >>> import mbd
    >>> mbd.Expression("300*(u - 0.5) + 1.5*rate")(1.0, 2.0, 0.0)
    153.0
    >>> mbd.Expression(0, 0, "5*sin(2*pi*t)")(0.25)
    (0.0, 0.0, 5.0)
    """

    __slots__ = ("_laws", "names", "parameters", "texts")

    def __init__(self, /, *texts: str | float, **parameters: Any) -> None:
        if not texts:
            raise ValueError("Expression: give a text such as '5*sin(2*pi*t)'")
        self.texts = tuple(
            x if isinstance(x, str) else repr(scalar("Expression", "a text or number", x, "-"))
            for x in texts
        )
        try:
            self.parameters = {k: scalar("Expression", k, x, "-") for k, x in parameters.items()}
            trees = [_parsed(x, self.parameters) for x in self.texts]
            self._laws = tuple(_compiled(tree) for tree, _ in trees)
        except RecursionError:
            raise ValueError(f"expression is nested too deeply: {shown(texts[0])}") from None
        self.names = frozenset().union(*(names for _, names in trees))

    def __call__(self, *values: float) -> Any:
        """Return the value at ``(t)`` or at ``(u, rate, t)``."""
        if len(values) not in (1, 3):
            raise TypeError(f"Expression: give t, or u, rate and t, got {len(values)} numbers")
        if not all(type(x) is float for x in values):
            values = tuple(_number(x) for x in values)
        u, rate, t = values if len(values) == 3 else (math.nan, math.nan, *values)
        if len(values) == 1 and not self.names <= {"t"}:
            raise ValueError(
                f"Expression: a law of time knows t only, {self!r} uses "
                f"{', '.join(sorted(self.names - {'t'}))}"
            )
        try:
            results = tuple(float(law(u, rate, t)) for law in self._laws)
        except TypeError:  # a power of a negative number
            raise ValueError(f"Expression: {self!r} is complex at {values}") from None
        except (ArithmeticError, ValueError) as error:
            raise ValueError(f"Expression: {self!r} has no value at {values}: {error}") from None
        return results[0] if len(results) == 1 else results

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and (other.texts, other.parameters) == (
            self.texts, self.parameters
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash(self.texts)

    def __repr__(self) -> str:
        own = [f"{name}={x!r}" for name, x in self.parameters.items()]
        return f"Expression({', '.join([*map(repr, self.texts), *own])})"


def _number(value: Any) -> float:
    """Return a number; nan and inf are some, of which a law of a run is told elsewhere."""
    try:
        return float(floats(value).reshape(()))
    except (TypeError, ValueError):
        raise TypeError(
            f"Expression: t, u and rate must be numbers [s, m or rad, per s], got {shown(value)}; "
            "of an array call it for each"
        ) from None


def _compiled(tree: ast.expr) -> Callable[[float, float, float], float]:
    names = [ast.arg(name) for name in ("u", "rate", "t")]
    law = ast.Lambda(ast.arguments([], names, None, [], [], None, []), tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(ast.fix_missing_locations(ast.Expression(law)), "<law>", "eval")
    return eval(code, {"__builtins__": {}, "pi": math.pi, **FUNCTIONS})  # checked node by node


class _WithNumbers(ast.NodeTransformer):
    """Put numbers in the place of names."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.Constant(self.values[node.id]) if node.id in self.values else node


def _parsed(text: str, values: Mapping[str, float]) -> tuple[ast.expr, set[str]]:
    """Return the checked tree of an expression and the variables it uses."""
    if len(text) > _LONGEST:
        raise ValueError(f"expression must be shorter than {_LONGEST} characters, got {len(text)}")
    if not all(map(_GROUPS.fullmatch, _DIGITS.findall(text))):
        raise ValueError(f"{shown(text)} has an underscore that does not part thousands, as 1_000")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the style of Python
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error)
        raise ValueError(f"expression {shown(text)} cannot be read: {reason}") from None
    names: set[str] = set()
    return _checked(_WithNumbers(values).visit(tree), text, names), names


def _checked(node: ast.AST, text: str, names: set[str]) -> Any:
    """Return the node with all numbers as floats; anything that is not on the list is an error."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ValueError(f"{node.value!r} in {shown(text)} is no number")
        return ast.Constant(_finite(node.value, text))
    if isinstance(node, ast.Name):
        if node.id not in ("u", "rate", "t", "pi"):
            variables = ("u", "rate", "t", "pi")
            raise ValueError(absent("name ", node.id, variables, f" in {shown(text)}"))
        if node.id != "pi":
            names.add(node.id)
        return node
    if isinstance(node, ast.Call):
        return _called(node, text, names)
    if not isinstance(node, _ALLOWED):
        if isinstance(node, ast.BitXor):
            raise ValueError(f"'^' in {text!r} is no power; write **, as in t**2")
        raise ValueError(f"{type(node).__name__} in {text!r} is not allowed; it may have numbers, "
                         f"t, u, rate, pi, + - * / **, and {', '.join(FUNCTIONS)}")  # fmt: skip
    for name, child in ast.iter_fields(node):
        if isinstance(child, ast.AST):
            setattr(node, name, _checked(child, text, names))
        elif isinstance(child, list):
            setattr(node, name, [_checked(x, text, names) for x in child])
    return node


def _finite(value: float, text: str) -> float:
    """Return a number that floats can hold."""
    try:
        number = float(value)
    except OverflowError:  # an integer
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{shown(text)} has a number that a float cannot hold")
    return number


def _called(node: ast.Call, text: str, names: set[str]) -> ast.Call:
    if not isinstance(node.func, ast.Name) or node.keywords:
        raise ValueError(f"calls in {text!r} must be of the form f(x), of {', '.join(FUNCTIONS)}")
    name = node.func.id
    if name not in FUNCTIONS:
        raise ValueError(absent("function ", name, FUNCTIONS, f" in {shown(text)}"))
    if name == "table":
        return _tabulated(node, text, names)
    least, most = _ARGUMENTS.get(name, (1, 1))
    if not least <= len(node.args) <= most:
        number = f"{least} argument{'s' * (least > 1)}" + " or more" * (most > least)
        raise ValueError(f"{name} in {shown(text)} must have {number}, got {len(node.args)}")
    if name == "piecewise" and len(node.args) % 2 == 0:
        raise ValueError(f"piecewise in {text!r} must end with the value that holds otherwise")
    return ast.Call(node.func, [_checked(x, text, names) for x in node.args], [])


def _tabulated(node: ast.Call, text: str, names: set[str]) -> ast.Call:
    lists = [x for x in node.args[1:] if isinstance(x, ast.List)]
    sizes = {len(x.elts) for x in lists}
    if len(node.args) != 3 or len(lists) != 2 or len(sizes) != 1 or sizes == {0}:
        raise ValueError(f"table in {text!r} must be table(x, [x1, x2, ...], [y1, y2, ...])")
    columns = []
    for column in lists:
        used: set[str] = set()
        laws = [_compiled(_checked(x, text, used)) for x in column.elts]
        if used:
            raise ValueError(f"the lists of a table must be of numbers, got {shown(text)}")
        try:
            columns.append(tuple(_finite(law(0, 0, 0), text) for law in laws))
        except (ArithmeticError, TypeError) as error:
            raise ValueError(f"the lists of a table must be of numbers: {error}") from None
    if any(a >= b for a, b in zip(columns[0], columns[0][1:], strict=False)):
        raise ValueError(f"the first list of a table must increase, got {list(columns[0])}")
    constants = [ast.Constant(x) for x in columns]  # type: ignore[arg-type]
    return ast.Call(node.func, [_checked(node.args[0], text, names), *constants], [])
