"""Types of values about joint coordinates, and numbers in the unit of a coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mbd.files.references import PartName
from mbd.files.units import has_unit
from mbd.files.value_types import FunctionOf, Number, Place, ValueType, unknown_key
from mbd.parts.joint import chosen
from mbd.parts.part import Coordinate

_JOINT = PartName("joints")


class Chosen:
    """The name of a joint, or a table with ``joint`` and ``coordinate``."""

    def read(self, value: Any, place: Place) -> Any:
        """Return the joint, or its coordinate."""
        if not isinstance(value, dict):
            return _JOINT.read(value, place)
        for key in value:
            if key not in ("joint", "coordinate"):
                raise unknown_key(place, key, ("joint", "coordinate"))
        joint = _JOINT.read(value.get("joint"), place / "joint")
        try:
            return chosen(str(joint.name), joint, value.get("coordinate"))
        except (ValueError, TypeError) as error:
            raise place.error(error) from None

    def schema(self) -> dict[str, Any]:
        """Return name or table."""
        name = _JOINT.schema()
        keys = {"joint": name, "coordinate": {"type": "string"}}
        table = {"type": "object", "properties": keys, "required": ["joint"]}
        return {"anyOf": [name, {**table, "additionalProperties": False}]}


@dataclass(frozen=True)
class Along:
    """A number along the coordinate that the part acts on.

    ``unit`` has ``u`` for the unit of the coordinate (rad or m) and ``F`` for that of a force along
    it (N m or N), such as ``F s/u``.
    """

    unit: str

    def read(self, value: Any, place: Place) -> Any:
        """Return it in SI."""
        return self._number(place).read(value, place)

    def _number(self, place: Place) -> Number:
        at = _about(place)
        if at is not None and _UNIT in at.beside:
            units = {"u": str(at.beside[_UNIT])}
        else:
            coordinate = None if at is None else _coordinate(at)
            if coordinate is None:
                return Number("-")  # the part will say what is wrong with its joint
            units = {"u": coordinate.unit, "F": coordinate.load_unit}
        return Number(" ".join(_replaced(word, units) for word in self.unit.split()))

    def schema(self) -> dict[str, Any]:
        """Return number or string."""
        return Number(self.unit).schema()


def _replaced(word: str, units: dict[str, str]) -> str:
    return "/".join(units.get(x, x) for x in word.split("/"))


_UNIT = "unit"  # what stands beside components that have a unit without a coordinate


def _about(place: Place) -> Place | None:
    """Return the nearest table above that says what its numbers are along."""
    at = place.above
    while at is not None and not at.beside.keys() & {"joint", "coordinates", _UNIT}:
        at = at.above
    return at


def _coordinate(at: Place) -> Coordinate | None:
    """Return the coordinate that a table is about."""
    several = at.beside.get("coordinates")
    what = several[0] if isinstance(several, list) and several else at.beside.get("joint")
    part = Chosen().read(what, at / ("coordinates" if several else "joint"))
    try:
        return chosen("", part, at.beside.get("coordinate"))
    except (ValueError, TypeError):
        return None


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
class Three:
    """A list of three components, each a number with its unit or a law of time, or "free"."""

    unit: str
    component: ValueType

    def read(self, value: Any, place: Place) -> Any:
        """Return three of them; None for "free"."""
        if not isinstance(value, list) or len(value) != 3:
            raise place.must(
                f'a list of three numbers or laws of time [{self.unit}], or "free"', value
            )
        inside = place.among({_UNIT: self.unit})
        return tuple(
            None if x == _FREE else self.component.read(x, inside / i) for i, x in enumerate(value)
        )

    def schema(self) -> dict[str, Any]:
        """Return a list of three."""
        one = {"anyOf": [{"const": _FREE}, self.component.schema()]}
        size = {"minItems": 3, "maxItems": 3}
        return {"type": "array", "items": one, **size, "description": f"[{self.unit}]"}


_FREE = "free"
