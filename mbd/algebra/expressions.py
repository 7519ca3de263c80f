r"""Expressions: smooth functions recorded from Python, differentiated, and compiled.

A function that is called with :func:`variables` returns the expression that it computes, a graph of
sums, products and elementary functions in which nothing occurs twice. Derivatives of expressions
are expressions again, by the chain rule in reverse or along a direction,

.. math:: \bar x_j = \sum_i \bar z_i \frac{\partial z_i}{\partial x_j}, \qquad
          \dot z = \sum_j \frac{\partial z}{\partial x_j}\,\dot x_j ,

so they are exact to any order, and :func:`program` writes what is asked for as one function on flat
memory, for the kernels.

What is recorded is what one call does: a branch on an argument is refused. Functions of the
rotation angle that are smooth in its square are :func:`stumpff`,

.. math:: c_k(x) = \sum_j \frac{(-x)^j}{(k + 2j)!}, \qquad
          c_k' = \tfrac12\,(k\,c_{k+2} - c_{k+1}), \qquad
          c_0(\theta^2) = \cos\theta, \quad c_1(\theta^2) = \frac{\sin\theta}{\theta} .
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from types import CellType, FunctionType, SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from mbd.base.elementary import RULES, give_functions, give_operators
from mbd.machine.jit import is_compiled, jit
from mbd.machine.straight_line import straight_line

_order = count()


class Operation:
    """One operation on numbers, variables or other expressions; equal ones are one object."""

    __slots__ = ("__weakref__", "args", "name", "op", "order")

    __add__: Callable[..., Any]
    __sub__: Callable[..., Any]
    __mul__: Callable[..., Any]
    __truediv__: Callable[..., Any]

    def __init__(self, op: str, args: tuple[Any, ...], name: str) -> None:
        self.op, self.args, self.name, self.order = op, args, name, next(_order)

    def __neg__(self) -> Any:
        return _difference(0.0, self)

    def __pos__(self) -> Any:
        return self

    # --- what cannot be recorded ------------------------------------------------------------------
    def _no(self, *_: Any) -> Any:
        raise TypeError(
            "a function is recorded once and must be smooth: it branches on its arguments, or takes"
            " them as plain numbers (if, abs, max, float, int, ==, a place in np.zeros); write it "
            "with sums, products and functions such as sqrt, sin, exp, arctan2 of numpy or math"
        )

    __bool__ = __float__ = __int__ = __index__ = __abs__ = _no
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _no  # type: ignore[assignment]
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _no
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of numpy entry by entry."""
        one = _OF_NUMPY.get(ufunc.__name__)
        if one is None or method != "__call__" or options:
            return self._no()
        if not any(isinstance(x, np.ndarray) for x in inputs):
            return one(*inputs)
        each = (array([x]) if isinstance(x, Operation) else x for x in inputs)
        return np.frompyfunc(one, len(inputs), 1)(*each)

    def __reduce__(self) -> Any:
        """Return the operation; variables are those of their names."""
        return (variable, (self.name,)) if self.op == "variable" else (_of, (self.op, *self.args))

    def __repr__(self) -> str:
        return self.name or f"{self.op}(...)"


_interned: WeakValueDictionary[Any, Operation] = WeakValueDictionary()


def _of(op: str, *args: Any) -> Any:
    """Return the one expression of an operation; a number, if all arguments are numbers."""
    args = tuple(x if isinstance(x, Operation) else float(x) for x in args)
    if not any(isinstance(x, Operation) for x in args):
        return stumpff(round(args[0]), args[1]) if op == "stumpff" else RULES[op].function(*args)
    key = op, *(id(x) if isinstance(x, Operation) else x for x in args)
    same = _interned.get(key)
    if same is None:
        same = _interned[key] = Operation(op, args, "")
    return same


def _is(x: Any, value: float) -> bool:
    """Tell whether an argument is this number."""
    return not isinstance(x, Operation) and float(x) == value


def _array(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Leave arrays to numpy, entry by entry."""

    def of_both(a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return NotImplemented
        return function(a, b)

    return of_both


@_array
def _sum(a: Any, b: Any) -> Any:
    if _is(a, 0.0):
        return b
    if _is(b, 0.0):
        return a
    if isinstance(a, Operation) and isinstance(b, Operation) and b.order < a.order:
        a, b = b, a
    return _of("add", a, b)


@_array
def _difference(a: Any, b: Any) -> Any:
    if _is(b, 0.0):
        return a
    return 0.0 if a is b else _of("subtract", a, b)


@_array
def _product(a: Any, b: Any) -> Any:
    if _is(a, 0.0) or _is(b, 0.0):
        return 0.0
    if _is(a, 1.0):
        return b
    if _is(b, 1.0):
        return a
    if isinstance(a, Operation) and isinstance(b, Operation) and b.order < a.order:
        a, b = b, a
    return _of("multiply", a, b)


@_array
def _quotient(a: Any, b: Any) -> Any:
    if _is(a, 0.0) or _is(b, 1.0):
        return a
    return _of("divide", a, b)


@_array
def _power(a: Any, b: Any) -> Any:
    if not isinstance(b, Operation) and float(b) == round(float(b)) and abs(b) <= 8:
        n = round(float(b))
        result = math.prod([a] * abs(n), start=1.0)
        return result if n >= 0 else 1.0 / result
    if _is(b, 0.5):
        return _of("sqrt", a)
    return _of("power", a, b) if not isinstance(b, Operation) else _of("exp", b * _of("log", a))


def _elementary(name: str) -> Callable[..., Any]:
    """Return a function of the table, of expressions and numbers."""
    return lambda *x: _of(name, *x)


_SIMPLIFIED = {
    "add": _sum, "subtract": _difference, "multiply": _product, "divide": _quotient,
    "power": _power,
}  # fmt: skip
_SMOOTH = (
    "sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "arctan2",
)  # fmt: skip
_OF_NUMPY: dict[str, Callable[..., Any]] = {
    **_SIMPLIFIED,
    **{name: _elementary(name) for name in _SMOOTH},
    "hypot": lambda *x: _of("sqrt", sum(a * a for a in x)),
    "square": lambda x: x * x,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
}
give_operators(Operation, lambda name, a, b: _SIMPLIFIED[name](a, b))
give_functions(Operation, _OF_NUMPY, lambda name, *x: _OF_NUMPY[name](*x))


def stumpff(k: int, x: Any) -> Any:
    """Return the function c_k, k = 0 ... 9, of a number or an expression; smooth at zero too."""
    return _of("stumpff", float(k), x) if isinstance(x, Operation) else _stumpff(float(k), x)


@jit
def _stumpff(k: float, x: float) -> float:
    """Return c_k(x): by its series up to a full turn, beyond from c_0, c_1 up.

    There c_(k+2) = (1/k! - c_k)/x loses nothing.
    """
    term, total, n = 1.0, 0.0, k
    for i in range(int(k)):
        term /= i + 1.0
    if abs(x) < 40.0:
        while total + term != total:
            total += term
            term *= -x / ((n + 1.0) * (n + 2.0))
            n += 2.0
        return total
    r = math.sqrt(abs(x))
    if k % 2.0 == 0.0:
        value, at = math.cos(r) if x > 0.0 else math.cosh(r), 0.0
    else:
        value, at = (math.sin(r) if x > 0.0 else math.sinh(r)) / r, 1.0
    term = 1.0
    while at < k:
        value = (term - value) / x
        term /= (at + 1.0) * (at + 2.0)
        at += 2.0
    return value


# --- derivatives ----------------------------------------------------------------------------------
def _partials(z: Operation) -> list[Any]:
    """Return the derivatives of an operation by its arguments; that by a power's is not asked."""
    if z.op == "stumpff":
        k, x = z.args
        return [0.0, 0.5 * (k * stumpff(round(k) + 2, x) - stumpff(round(k) + 1, x))]
    slopes = zip(z.args, RULES[z.op].slopes, strict=True)
    return [f(z, *z.args) if isinstance(x, Operation) else 0.0 for x, f in slopes]


def _graph(outputs: Iterable[Any]) -> list[Operation]:
    """Return all that outputs are made of, arguments before what is made of them."""
    visited: set[int] = set()
    graph, left = [], [x for x in outputs if isinstance(x, Operation)]
    while left:
        z = left.pop()
        if id(z) not in visited:
            visited.add(id(z))
            graph.append(z)
            left += [x for x in z.args if isinstance(x, Operation)]
    return sorted(graph, key=lambda z: z.order)


def gradient(z: Any, variables: Iterable[Any]) -> np.ndarray:
    """Return the derivatives of a scalar by variables, in reverse."""
    bar: dict[int, Any] = {id(z): 1.0}
    for node in reversed(_graph([z])):
        weight = bar.get(id(node), 0.0)
        if node.op != "variable" and not _is(weight, 0.0):
            for x, partial in zip(node.args, _partials(node), strict=True):
                if isinstance(x, Operation):
                    bar[id(x)] = _sum(bar.get(id(x), 0.0), _product(weight, partial))
    return array(bar.get(id(x), 0.0) for x in variables)


def jacobian(outputs: Iterable[Any], variables: Iterable[Any]) -> np.ndarray:
    """Return the derivatives of outputs by variables, (outputs, variables)."""
    return np.array([gradient(z, variables) for z in outputs], object)


def along(outputs: Iterable[Any], variables: Iterable[Any], rates: Iterable[Any]) -> Any:
    """Return the derivatives of outputs along rates of the variables."""
    dot: dict[int, Any] = {id(x): r for x, r in zip(variables, rates, strict=True)}
    for node in _graph(outputs):
        if node.op != "variable":
            change: Any = 0.0
            for x, partial in zip(node.args, _partials(node), strict=True):
                if isinstance(x, Operation):
                    change = _sum(change, _product(dot.get(id(x), 0.0), partial))
            dot[id(node)] = change
    return array(dot.get(id(z), 0.0) for z in outputs)


def substituted(
    outputs: Iterable[Any], variables: Iterable[Any], values: Iterable[Any]
) -> np.ndarray:
    """Return outputs with values, expressions or numbers, in the place of variables.

    NaN is what has no value: a root of a negative number, a quotient by zero.
    """
    new: dict[int, Any] = {id(x): value for x, value in zip(variables, values, strict=True)}
    for z in _graph(outputs):
        if z.op != "variable":
            new[id(z)] = _applied(z.op, [new.get(id(x), x) for x in z.args])
    return array(new.get(id(z), z) for z in outputs)


def _applied(op: str, args: Sequence[Any]) -> Any:
    """Return an operation on other arguments."""
    try:
        return _SIMPLIFIED[op](*args) if op in _SIMPLIFIED else _of(op, *args)
    except (ArithmeticError, ValueError):
        return math.nan


def occurring(outputs: Iterable[Any]) -> frozenset[Operation]:
    """Return the variables that occur in outputs."""
    return frozenset(z for z in _graph(outputs) if z.op == "variable")


# --- recording ------------------------------------------------------------------------------------
@cache
def variable(name: str) -> Operation:
    """Return the one variable of a name: functions recorded with it twice are one expression."""
    return Operation("variable", (), name)


def variables(name: str, n: int) -> np.ndarray:
    """Return n variables, (n,), with a name for messages."""
    return array(Operation("variable", (), f"{name}[{i}]") for i in range(n))


def array(values: Iterable[Any]) -> np.ndarray:
    """Return numbers and expressions as an array of objects."""
    values = list(values)
    result = np.empty(len(values), object)
    result[:] = values
    return result


_OF_MATH = {RULES[name].function: _OF_NUMPY[name] for name in (*_SMOOTH, "power")}
_OF_MATH[math.hypot] = _OF_NUMPY["hypot"]


def _takes(function: Callable[..., Any], record: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of ``math`` that takes expressions too."""
    return lambda *x: (record if any(isinstance(a, Operation) for a in x) else function)(*x)


_MATH = SimpleNamespace(
    **{k: v for k, v in vars(math).items() if not k.startswith("_")}
    | {f.__name__: _takes(f, g) for f, g in _OF_MATH.items()}
)


def _recordable(value: Any, done: dict[int, Any]) -> Any:
    """Return what a function takes from outside, in the form that takes expressions."""
    if value is math:
        return _MATH
    if value in _OF_MATH if isinstance(value, type(math.sin)) else False:
        return getattr(_MATH, value.__name__)
    if value is _stumpff:
        return stumpff
    if is_compiled(value):
        value = value.py_func
    versioned = (getattr(value, "__module__", "") or "").partition(".")[0] == "numpy"
    if not isinstance(value, FunctionType) or versioned:
        return value
    if id(value) not in done:
        copy = done[id(value)] = FunctionType(
            value.__code__, {}, value.__name__, value.__defaults__,
            tuple(CellType() for _ in value.__closure__ or ()),
        )  # fmt: skip
        copy.__kwdefaults__ = value.__kwdefaults__
        for new, old in zip(copy.__closure__ or (), value.__closure__ or (), strict=True):
            new.cell_contents = _recordable(old.cell_contents, done)
        taken = {k: v for k, v in value.__globals__.items() if k in _names(value.__code__)}
        copy.__globals__.update(
            {k: _recordable(v, done) for k, v in taken.items()},
            __builtins__=value.__globals__["__builtins__"],
        )
    return done[id(value)]


def _names(code: Any) -> set[str]:
    """Return the names that a function and those in it take from outside."""
    inner = [c for c in code.co_consts if isinstance(c, type(code))]
    return set(code.co_names).union(*map(_names, inner))


def record(who: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> np.ndarray:
    """Return what a function makes of expressions, (m,): a plain one, or one compiled by numba."""
    try:
        result = _recordable(function, {})(*arguments, **options)
    except TypeError as error:
        hint = (
            "recorded once, in arrays of objects: numpy has sums, products, sqrt, sin, ... for them"
        )
        raise TypeError(
            f"{who}: {error}" + ("" if "recorded once" in str(error) else f" (it is {hint})")
        ) from error
    return np.array(result, object).ravel()


# --- compiled -------------------------------------------------------------------------------------
_FUNCTIONS = {"stumpff": _stumpff, **{name: rule.function for name, rule in RULES.items()}}


def program(
    name: str, arguments: str, reads: Mapping[str, Any], writes: Mapping[str, Any], add: str = "="
) -> Any:
    """Return a compiled function on flat memory that evaluates expressions.

    Parameters
    ----------
    name : str
        Of the function.
    arguments : str
        As they stand in its head, ``"F, n"``.
    reads, writes : mapping of str to (m,) arrays of expressions
        Where variables are read, and what is written: ``{"n.q": q}`` reads q_0 at ``F[n.q]``.
    add : {"=", "+="}
        Whether numbers are written or added; zeros are not added.
    """
    place = {
        id(x): (first, i) for first, values in reads.items() for i, x in enumerate(np.ravel(values))
    }
    flat = [
        (first, i, z)
        for first, values in writes.items()
        for i, z in enumerate(np.ravel(np.asarray(values, object)))
        if add == "=" or not _is(z, 0.0)
    ]
    graph = _graph(z for *_, z in flat)
    number = {id(z): i for i, z in enumerate(graph)}
    used = [place[id(z)][0] for z in graph if z.op == "variable"] + [first for first, *_ in flat]
    places = {first: k for k, first in enumerate(dict.fromkeys(used))}

    def value(x: Any) -> int | float:
        return number[id(x)] if isinstance(x, Operation) else float(x)

    def operation(z: Operation) -> tuple[str, tuple[Any, ...]]:
        if z.op == "variable":
            first, i = place[id(z)]
            return "load", (places[first], i)
        return z.op, tuple(map(value, z.args))

    operations = [operation(z) for z in graph]
    stores = [(places[first], i, value(z)) for first, i, z in flat]
    run = straight_line(operations, stores, _FUNCTIONS, len(places), add == "+=")
    content = repr((operations, stores, add, list(places)))
    called = f"{name}_{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    scope = {"__name__": __name__, "run": run}
    exec(f"def {called}({arguments}):\n    run(F, ({''.join(f'{x}, ' for x in places)}))", scope)
    return jit(scope[called])
