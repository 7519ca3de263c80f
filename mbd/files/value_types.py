"""Types of values in a model file: how each is read, and its JSON schema for editors.

Every type has ``read(value, place)``, which returns what the constructor takes, and ``schema()``, a
piece of JSON schema. An error names the place inside the file, what must be there and what was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mbd.base.checked import absent, floats, shown
from mbd.base.door import AXES
from mbd.base.parameter import Formula, Parameter, evaluated
from mbd.files.expressions import Expression
from mbd.files.formulas import formula, text_of, used
from mbd.files.units import NUMBER, convert, has_unit

_FINITE = re.compile(rf"\s*{NUMBER}\s*")
_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}


class PlaceError(ValueError):
    """An error at a place of a file; ``keys`` lead to it."""

    def __init__(self, text: str, keys: tuple[str, ...]) -> None:
        super().__init__(text)
        self.keys = keys


@dataclass(frozen=True)
class Place:
    """A place in a file: the path that errors name, the folder of the file, the objects of it.

    ``part(table, name, place)`` returns the body or joint that a name refers to,
    ``arguments(maker)`` the types of the arguments of a class or function; ``shared`` holds
    objects that several parts may share, ``parameters`` those of the file; ``above`` and
    ``beside`` are the place that this one is in and all that stands there.
    """

    path: str
    folder: Path
    part: Callable[[str, str, Place], Any]
    arguments: Callable[[Callable[..., Any]], dict[str, ValueType]]
    shared: dict[str, Any] = field(default_factory=dict)
    above: Place | None = None
    keys: tuple[str, ...] = ()
    beside: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)

    def __truediv__(self, key: object) -> Place:
        word = str(key) if str(key).isprintable() else ascii(key)
        inside = f"[{key}]" if isinstance(key, int) else f".{word}" if self.path else word
        keys = self.keys if isinstance(key, int) else (*self.keys, str(key))
        return Place(
            self.path + inside, self.folder, self.part, self.arguments, self.shared, self, keys,
            parameters=self.parameters,
        )  # fmt: skip

    def among(self, values: dict[str, Any]) -> Place:
        """Return this place, knowing what stands in its table."""
        return replace(self, beside=values)

    def must(self, expected: str, got: Any) -> PlaceError:
        """Return the error that something else must be here."""
        return self.error(f"must be {expected}, got {shown(got)}")

    def error(self, text: object) -> PlaceError:
        """Return an error of this place."""
        return PlaceError(f"{self.path}: {text}" if self.path else str(text), self.keys)


def check_keys(place: Place, values: Iterable[str], keys: Iterable[str]) -> None:
    """Refuse keys of a table that it cannot have."""
    keys = [*keys]
    for key in values:
        if key not in keys:
            raise PlaceError(str(place.error(absent("key ", key, keys))), (*place.keys, key))


class ValueType(Protocol):
    """Type of a value of a file."""

    def read(self, value: Any, place: Place) -> Any:
        """Return the argument."""

    def schema(self) -> dict[str, Any]:
        """Return a JSON schema."""


def list_of(n: int, items: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list of n items."""
    return {"type": "array", "items": items, "minItems": n, "maxItems": n}


def _plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _expression(value: Any, place: Place) -> Expression:
    """Return an expression of variables and of the parameters of the file."""
    try:
        return Expression(value, **used(str(value), place.parameters))
    except ValueError as error:
        names = ", ".join(place.parameters)
        unknown = names and str(error).startswith("there is no name")
        raise ValueError(f"{error}; parameters are {names}" if unknown else error) from None


def _number(value: Any, unit: str, place: Place, expected: str) -> Any:
    """Return a number, a number with a unit, or an expression in SI: constant, or of parameters."""
    if _plain(value):
        return value
    if not isinstance(value, str):
        raise place.must(expected, value)
    try:
        number = convert(value, unit)
    except ValueError as error:
        raise place.error(error) from None
    if number is not None:
        return number
    try:
        law = _expression(value, place)
    except ValueError as error:
        raise place.error(f"must be {expected}, got {shown(value)}: {error}") from None
    if law.names:
        raise place.must(expected, value)
    if law.parameters:
        return _formula(value, unit, place)
    try:
        x = float(value) if _FINITE.fullmatch(value) else law(0.0)
    except (ValueError, ArithmeticError) as error:
        raise place.error(f"must be {expected}, got {shown(value)}: {error}") from None
    if not math.isfinite(x):
        raise place.error(f"must be finite [{unit}], got {shown(value)}")
    return x


def _formula(text: str, unit: str, place: Place) -> Formula:
    """Return a formula of parameters."""
    try:
        with np.errstate(all="ignore"):
            product = formula(text, place.parameters)
            x = product.value
    except (ValueError, ArithmeticError) as error:
        raise place.error(error) from None
    if not math.isfinite(x):
        raise place.error(f"must be finite [{unit}], got {x} for {shown(text)}")
    return product  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Number:
    """A number: ``0.025``, ``"25 mm"``, ``"1/40"``, ``"2*l"`` with a parameter l."""

    unit: str = "-"

    def read(self, value: Any, place: Place) -> Any:
        """Return the number in SI."""
        return _number(value, self.unit, place, f"a number [{self.unit}]")

    def schema(self) -> dict[str, Any]:
        """Return number or string."""
        return {**_NUMBER, "description": f"[{self.unit}]"}


@dataclass(frozen=True)
class Array:
    """Numbers in lists of one of some shapes; a tuple of units is one for each entry of a row."""

    unit: str | tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...] = ((3,),)

    @cached_property
    def expected(self) -> str:
        """Words of an error."""
        words = ["x".join(map(str, s)) if s else "one" for s in self.shapes]
        units = [self.unit] if isinstance(self.unit, str) else self.unit
        return f"{' or '.join(words)} numbers [{', '.join(dict.fromkeys(units))}]"

    def read(self, value: Any, place: Place) -> Any:
        """Return nested tuples in SI."""
        rows = self._inside(value, place, self.unit)
        shape, x = [], rows
        while isinstance(x, tuple):
            shape.append(len(x))
            x = x[0] if x else None
        if tuple(shape) not in self.shapes:
            raise place.must(self.expected, value)
        try:
            floats(evaluated(rows))
        except TypeError:  # rows of different lengths
            raise place.must(self.expected, value) from None
        return rows

    def _inside(self, value: Any, place: Place, unit: Any) -> Any:
        if not isinstance(value, list):
            return _number(value, unit if isinstance(unit, str) else "-", place, self.expected)
        rows = any(isinstance(x, list) for x in value)
        mixed = not isinstance(unit, str) and not rows
        if mixed and len(unit) != len(value):
            raise place.must(self.expected, value)
        units = unit if mixed else [unit] * len(value)
        return tuple(
            self._inside(x, place / i, u) for i, (x, u) in enumerate(zip(value, units, strict=True))
        )

    def schema(self) -> dict[str, Any]:
        """Return lists of fixed length."""
        choices = []
        for shape in self.shapes:
            items: dict[str, Any] = _NUMBER
            for n in reversed(shape):
                items = list_of(n, items)
            choices.append(items)
        described = {"description": self.expected}
        return {**choices[0], **described} if len(choices) == 1 else {"anyOf": choices, **described}


class AxisValue:
    """Three numbers, or the name of an axis."""

    def read(self, value: Any, place: Place) -> Any:
        """Return the name, or the numbers."""
        return value if isinstance(value, str) and value in AXES else Array("-").read(value, place)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [{"enum": list(AXES)}, Array("-").schema()]}


@dataclass(frozen=True)
class FunctionOf:
    """A function as an expression, in the given variables."""

    variables: tuple[str, ...] = ("u", "rate", "t")

    def read(self, value: Any, place: Place) -> Expression:
        """Return the function."""
        expected = f"an expression in {', '.join(self.variables)}"
        if not isinstance(value, str) and not _plain(value):
            raise place.must(expected, value)
        try:
            law = _expression(value, place)
        except ValueError as error:
            raise place.error(error) from None
        if not law.names <= set(self.variables):
            raise place.must(expected, value)
        return law

    def schema(self) -> dict[str, Any]:
        """Return a string."""
        return {**_NUMBER, "description": f"an expression in {', '.join(self.variables)}"}


class OfPython:
    """A function of Python, which no file can hold."""

    instead = "keep the model as a scene, a Python file with build()"

    def read(self, value: Any, place: Place) -> Any:
        """Refuse whatever there is."""
        raise place.error(f"a function is code, which a file cannot hold; {self.instead}")

    def schema(self) -> dict[str, Any]:
        """Return a schema with which no value agrees."""
        return {"not": {}}


@dataclass(frozen=True)
class OrLaw:
    """A number with its unit, a table with a ready-made law, or an expression."""

    number: ValueType
    variables: tuple[str, ...] = ("t",)
    laws: ValueType | None = None

    def read(self, value: Any, place: Place) -> Any:
        """Return number or function."""
        if isinstance(value, dict) and self.laws is not None:
            return self.laws.read(value, place)
        if isinstance(value, str) and not has_unit(value):
            law = FunctionOf(self.variables).read(value, place)
            if law.names:
                return law
        return self.number.read(value, place)

    def schema(self) -> dict[str, Any]:
        """Return all of them."""
        number = self.number.schema()
        words = f"{number.get('description', '')} or an expression in {', '.join(self.variables)}"
        number = {**number, "description": words.strip()}
        return number if self.laws is None else {"anyOf": [number, self.laws.schema()]}


@dataclass(frozen=True)
class LoadValue:
    """Components, each a number with its unit or an expression in t (SI)."""

    unit: str
    laws: ValueType | None = None

    def read(self, value: Any, place: Place) -> Any:
        """Return three numbers or laws of time, or one of expressions."""
        if not isinstance(value, list) or len(value) != 3:
            raise place.must(f"3 numbers [{self.unit}], or expressions in t", value)
        component = OrLaw(Number(self.unit), laws=self.laws)
        components = [component.read(x, place / i) for i, x in enumerate(value)]
        if not any(isinstance(x, Expression) for x in components):
            return tuple(components)
        texts = [
            x.texts[0] if isinstance(x, Expression) else text_of(x) if isinstance(x, Formula) else x
            for x in components
        ]
        return Expression(*texts, **used(" ".join(map(str, texts)), place.parameters))

    def schema(self) -> dict[str, Any]:
        """Return a list of three."""
        component = OrLaw(Number(self.unit), laws=self.laws).schema()
        return {**list_of(3, component), "description": f"[{self.unit}], or expressions in t"}


@dataclass(frozen=True)
class _Typed:
    """A value of a type of TOML as it is."""

    type: type
    expected: str
    json: str

    def read(self, value: Any, place: Place) -> Any:
        """Return the value as it is."""
        if not isinstance(value, self.type) or (self.type is int and isinstance(value, bool)):
            raise place.must(self.expected, value)
        return value

    def schema(self) -> dict[str, Any]:
        """Return its type."""
        return {"type": self.json}


Flag = _Typed(bool, "true or false", "boolean")
Whole = _Typed(int, "a whole number", "integer")
Word = _Typed(str, "a string", "string")


class File:
    """A path, taken from the folder of the model file."""

    def read(self, value: Any, place: Place) -> str:
        """Return the path from the current folder."""
        return str(place.folder / Word.read(value, place))

    def schema(self) -> dict[str, Any]:
        """Return a string."""
        return Word.schema()


@dataclass(frozen=True)
class Several:
    """A list of values of one type, as a tuple; ``single`` lets one stand without brackets."""

    entry: ValueType
    single: bool = False

    def read(self, value: Any, place: Place) -> Any:
        """Return the values."""
        if isinstance(value, list):
            return tuple(self.entry.read(x, place / i) for i, x in enumerate(value))
        if self.single:
            return self.entry.read(value, place)
        raise place.must("a list", value)

    def schema(self) -> dict[str, Any]:
        """Return an array."""
        one = self.entry.schema()
        many = {"type": "array", "items": one}
        return {"anyOf": [one, many]} if self.single else many


@dataclass(frozen=True)
class OneOf:
    """The first of some types that takes the value; ``test`` says which by looking at it."""

    test: Callable[[Any], bool]
    first: ValueType
    other: ValueType

    def read(self, value: Any, place: Place) -> Any:
        """Return the value as the chosen type reads it."""
        return (self.first if self.test(value) else self.other).read(value, place)

    def schema(self) -> dict[str, Any]:
        """Return both."""
        return {"anyOf": [self.first.schema(), self.other.schema()]}


@dataclass(frozen=True)
class Mapping:
    """A table of values of one type, by free names."""

    entry: ValueType

    def read(self, value: Any, place: Place) -> Any:
        """Return a dictionary."""
        return {k: self.entry.read(x, place / k) for k, x in value.items()}

    def schema(self) -> dict[str, Any]:
        """Return an object."""
        return {"type": "object", "additionalProperties": self.entry.schema()}
