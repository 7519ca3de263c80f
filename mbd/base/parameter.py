"""Parameters: numbers with a name, and formulas of them, usable wherever a number is.

No formula becomes a plain number without a word. A part keeps formulas as they were written and
is made of their values (:mod:`mbd.base.recorded_call`); wherever else one is read as a number
this is an error, which names the line. What a description decided by comparing one is kept too:
a value with which it would decide otherwise is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from keyword import iskeyword
from operator import is_
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mbd.base.door import label, number
from mbd.base.dual import LostParameterError, one

PLAIN = frozenset((float, int, str, bool, type(None)))
_MOST = 64  # comparisons that are kept of one line
_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_OURS = str(Path(__file__).parents[1])
_LIBRARIES = (_OURS, *(str(Path(np.__file__).parents[1] / x) for x in ("numpy", "scipy", "numba")))


class Decision(NamedTuple):
    """Result of a comparison of a formula, and where it stands; ``formula`` None: it varied."""

    formula: Formula | None
    outcome: bool
    line: str


class Formula(NDArrayOperatorsMixin):
    """A number computed from parameters; arithmetic and numpy's functions make further ones.

    ``value`` is the plain number. Functions of ``math``, ``float`` and arrays of floats would
    forget where it came from, and are refused; take ``np.sin``, lists, or ``value`` where a plain
    number is meant.
    """

    __slots__ = ("function", "operands")

    def __init__(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        self.function, self.operands = function, operands

    @property
    def value(self) -> float:
        """Its value, a plain number."""
        x = self.function(*map(evaluated, self.operands))
        return one(x)  # type: ignore[no-any-return]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that it depends on, by name."""
        inner = [x.parameters for x in self.operands if isinstance(x, Formula)]
        return {name: x for each in inner for name, x in each.items()}

    def with_values(self, values: Mapping[str, float]) -> Formula:
        """Return the formula with other values of some parameters, itself if it has none of them.

        Parameters
        ----------
        values : dict
            Numbers by names of parameters.
        """
        if not values.keys() & self.parameters.keys():
            return self
        operands = (x.with_values(values) if isinstance(x, Formula) else x for x in self.operands)
        return Formula(self.function, tuple(operands))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.nout != 1:
            return NotImplemented
        if any(isinstance(x, _SEVERAL) for x in inputs):  # an array of formulas
            return np.frompyfunc(ufunc, len(inputs), 1)(*(np.asarray(x, object) for x in inputs))
        if not all(isinstance(x, _NUMBERS) for x in inputs):
            return NotImplemented
        formula = Formula(ufunc, inputs)
        return _decided(formula) if ufunc in _COMPARISONS else formula

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (*_NUMBERS, *_SEVERAL)):
            return super().__eq__(other)
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else np.logical_not(equal)

    def __bool__(self) -> bool:
        return _decided(Formula(np.not_equal, (self, 0.0)))

    def __float__(self, *_: Any) -> float:
        names = ", ".join(self.parameters)
        raise LostParameterError(
            f"the parameter {names} becomes a plain number at {_line(_outside())}; take numpy's "
            "functions (np.sin, no math.sin), lists of numbers and formulas (no array of floats), "
            "mbd.Function(f, k=...) for a law of yours, or .value where a plain number is meant"
        )

    __int__ = __index__ = __complex__ = __round__ = __trunc__ = __float__  # type: ignore[assignment]
    __floor__ = __ceil__ = __float__  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        """None: whoever asks for it is about to make an array of floats."""
        return float(self)

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else repr(self)

    def __repr__(self) -> str:
        return f"Formula({self.value:.6g}, of {', '.join(self.parameters)})"


class Parameter(Formula):
    """A number with a name, which several arguments of parts may share.

    Arithmetic with it, and functions of numpy, give formulas that know it.

    Parameters
    ----------
    name : str
        A word; two parameters of a system with one name must have one value.
    value : float
        In the unit of the arguments it is used in [SI].

    Examples
    --------
    >>> import mbd
    >>> l, m = mbd.Parameter("l", 0.3), mbd.Parameter("m", 2.0)
    >>> rod = mbd.RigidBody("rod", mass=m, inertia=(0.01, m*l**2/12, m*l**2/12))
    >>> rod.mass
    2.0
    """

    __slots__ = ("decisions", "name", "value")
    name: str
    value: float  # type: ignore[assignment]
    decisions: dict[str, list[Decision]]

    def __init__(self, name: str, value: float) -> None:
        if not label(name, "Parameter").isidentifier() or iskeyword(name) or name == "gravity":
            raise ValueError(
                "Parameter: name must be a word of letters, digits and _, which expressions can "
                f"use, and not 'gravity', got {name!r}"
            )
        x = number(f"Parameter {name!r}", "value", value, "-")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "value", x)
        object.__setattr__(self, "function", float)
        object.__setattr__(self, "operands", (x,))
        object.__setattr__(self, "decisions", {})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"Parameter {self.name!r}: a parameter does not change after it is made, "
            f"got a new value of {name!r}; make a new one with its name, or take Model.with_values"
        )

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Itself, by its name."""
        return {self.name: self}

    def with_values(self, values: Mapping[str, float]) -> Parameter:
        """Return the parameter with its value among these, or itself."""
        if self.name not in values:
            return self
        other = Parameter(self.name, values[self.name])
        other.decisions.update(self.decisions)
        return other

    def keep(self, decision: Decision) -> None:
        """Keep what a description decided by comparing it; of a loop over time that it varied."""
        kept = self.decisions.setdefault(decision.line, [])
        if len(kept) < _MOST:
            kept.append(decision)
        else:
            kept[:] = [decision._replace(formula=None)] * _MOST

    def __reduce__(self) -> Any:
        return Parameter, (self.name, self.value), self.decisions

    def __setstate__(self, decisions: dict[str, list[Decision]]) -> None:
        self.decisions.update(decisions)

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.value!r})"


def decided_otherwise(
    parameters: Mapping[str, Parameter], values: Mapping[str, float]
) -> tuple[str, str] | None:
    """Return name and line where a description would decide otherwise with other values."""
    now = {name: x.value for name, x in parameters.items()} | dict(values)
    for name in values.keys() & parameters.keys():
        for decisions in parameters[name].decisions.values():
            for formula, outcome, line in decisions:
                if formula is None or bool(formula.with_values(now).value) != outcome:
                    return name, line
    return None


_NUMBERS = (Formula, int, float, np.number)
_SEVERAL = (np.ndarray, list, tuple)


def evaluated(value: Any) -> Any:
    """Return an argument with numbers in the place of formulas; itself where there are none."""
    try:
        return mapped(value, lambda x: x.value if isinstance(x, Formula) else x)
    except RecursionError:  # a list that holds itself, which is refused where it is read
        return value


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return an argument with what a function makes of each object in it, in the place of that.

    Objects are in tuples, lists, dicts and arrays of them. What has nothing new is the same.
    """
    cls = type(value)
    if cls in PLAIN or (cls is tuple and PLAIN.issuperset(map(type, value))):
        return value
    if isinstance(value, dict):
        named = {key: mapped(x, function) for key, x in value.items()}
        return value if all(map(is_, named.values(), value.values())) else named
    if cls is tuple or cls is list:
        items = [mapped(x, function) for x in value]
        return value if all(map(is_, items, value)) else cls(items)
    if isinstance(value, np.ndarray) and value.dtype == object:
        items = [mapped(x, function) for x in value.flat]
        if all(map(is_, items, value.flat)):
            return value
        dtype = object if any(isinstance(x, Formula) for x in items) else None
        return np.array(items, dtype).reshape(value.shape)
    return function(value)


def objects_in(value: Any) -> Iterator[Any]:
    """Yield the objects in an argument, which are in tuples, lists, dicts and arrays of them."""
    cls = type(value)
    if cls in PLAIN or (cls is tuple and PLAIN.issuperset(map(type, value))):
        return
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist() if value.dtype == object else ()
    elif isinstance(value, dict):
        value = tuple(value.values())
    elif not isinstance(value, tuple | list):
        yield value
        return
    for x in value:
        yield from objects_in(x)


def of_a_library(file: str) -> bool:
    """Tell whether a file of code is of this package or of those for numbers."""
    return file.startswith(_LIBRARIES)


def _outside() -> FrameType | None:
    """Return the innermost frame of a user's file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and of_a_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _line(frame: FrameType | None) -> str:
    if frame is None:
        return "an unknown place"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _decided(comparison: Formula) -> bool:
    """Return what a comparison says; keep it with its parameters, if it is of a user."""
    outcome = bool(comparison.function(*map(evaluated, comparison.operands)))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in (__file__, _MIXINS):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_OURS):
        return outcome
    line = _line(_outside())
    for parameter in comparison.parameters.values():
        parameter.keep(Decision(comparison, outcome, line))
    return outcome


_MIXINS = NDArrayOperatorsMixin.__lt__.__code__.co_filename  # type: ignore[attr-defined]
