"""Types of values that are objects, or about some: parts, coordinates, frames, rotations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mbd.algebra.rotations import rotation
from mbd.base.checked import floats
from mbd.base.recorded_call import parameters_in, signature
from mbd.files.value_types import Array, Number, Place, ValueType, check_keys, list_of
from mbd.parts.joint import chosen
from mbd.parts.part import Coordinate

_UNIT = "unit"  # what stands next to components that have a unit without a coordinate
_FREE = "free"


@dataclass(frozen=True)
class PartName:
    """The name of a body or a joint of the file."""

    table: str

    def read(self, value: Any, place: Place) -> Any:
        """Return the part."""
        if not isinstance(value, str):
            raise place.must(f"the name of one of the {self.table}", value)
        return place.part(self.table, value, place)

    def schema(self) -> dict[str, Any]:
        """Return a string."""
        return {"type": "string", "description": f"name of one of the {self.table}"}


_JOINT = PartName("joints")


class Chosen:
    """The name of a joint, or a table with ``joint`` and ``coordinate``."""

    def read(self, value: Any, place: Place) -> Any:
        """Return the joint, or its coordinate."""
        if not isinstance(value, dict):
            return _JOINT.read(value, place)
        check_keys(place, value, ("joint", "coordinate"))
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
        """Return the number in SI."""
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
        products = (word.split("/") for word in self.unit.split())
        return Number(" ".join("/".join(units.get(x, x) for x in some) for some in products))

    def schema(self) -> dict[str, Any]:
        """Return number or string."""
        return Number(self.unit).schema()


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
        return {**list_of(3, one), "description": f"[{self.unit}]"}


@dataclass(frozen=True)
class Constructed:
    """A table with the arguments of a class or function; ``type`` names it among several.

    ``names`` stand for themselves, and the name of a class for a table without arguments. Bodies of
    the same formulation share one object.
    """

    title: str
    among: Callable[[], dict[str, Callable[..., Any]]]
    names: tuple[str, ...] = ()
    default: str = ""

    def read(self, value: Any, place: Place) -> Any:
        """Return the object."""
        if isinstance(value, str) and value in self.names:
            return value
        makers = self.among()
        if isinstance(value, str) and value in makers:
            value = {"type": value}  # without options
        choice = ", ".join(self.names)
        choice += (" or " if choice else "") + f"a table with type = {' or '.join(makers)}"
        if not isinstance(value, dict):
            raise place.must(choice, value)
        name = value.get("type", self.default)
        if not isinstance(name, str) or name not in makers:
            raise (place / "type").must(" or ".join(makers), name)
        values = {k: x for k, x in value.items() if k != "type"}
        if not self.names:
            return make(makers[name], values, place)
        key = f"{name} {values!r}"
        if key not in place.shared:
            place.shared[key] = make(makers[name], values, place)
        return place.shared[key]

    def schema(self) -> dict[str, Any]:
        """Return a reference to ``definition``."""
        return {"$ref": f"#/$defs/{self.title}"}


class Turn:
    """A rotation: a matrix, or a table with axis and angle, quaternion, rotvec or rpy."""

    _KEYS: ClassVar[dict[str, ValueType]] = {
        "axis": Array("-"), "angle": Number("rad"), "quaternion": Array("-", ((4,),)),
        "rotvec": Array("rad"), "rpy": Array("rad"),
    }  # fmt: skip

    def read(self, value: Any, place: Place) -> Any:
        """Return a scipy Rotation or a matrix."""
        from scipy.spatial.transform import Rotation

        if isinstance(value, list):
            return Array("-", ((3, 3),)).read(value, place)
        expected = "3x3 numbers, or one of {axis, angle}, {quaternion}, {rotvec}, {rpy}"
        if not isinstance(value, dict):
            raise place.must(expected, value)
        check_keys(place, value, self._KEYS)
        read = {k: self._KEYS[k].read(x, place / k) for k, x in value.items()}
        if parameters_in(read):
            return self._of_parameters(read, place)
        got = {k: floats(x) for k, x in read.items()}
        for k, x in got.items():
            if not np.all(np.abs(x) < 1e100):
                raise (place / k).must("finite, below 1e100", value[k])
        length = float(np.linalg.norm(got.get("axis", got.get("quaternion", 1.0))))
        if not length > 0:
            raise place.must("about an axis, or a quaternion, that is not zero", value)
        match sorted(got):
            case ["angle", "axis"]:
                return Rotation.from_rotvec(got["angle"] * (got["axis"] / length))
            case ["quaternion"]:
                return Rotation.from_quat(got["quaternion"][[1, 2, 3, 0]])
            case ["rotvec"]:
                return Rotation.from_rotvec(got["rotvec"])
            case ["rpy"]:
                return Rotation.from_euler("xyz", got["rpy"])
        raise place.must(expected, value)

    def _of_parameters(self, read: dict[str, Any], place: Place) -> Any:
        """Return the matrix of a rotation by a formula about an axis of numbers."""
        if sorted(read) != ["angle", "axis"] or parameters_in(read["axis"]):
            raise place.error(
                "has parameters, which may be the angle of {axis, angle}, or in a matrix of 3x3"
            )
        n = floats(read["axis"])
        length = float(np.linalg.norm(n))
        if not 0 < length < 1e100:
            raise place.must("about an axis that is not zero", n.tolist())
        return rotation(n / length, read["angle"])

    def schema(self) -> dict[str, Any]:
        """Return matrix or table."""
        keys = {k: x.schema() for k, x in self._KEYS.items()}
        one = {"type": "object", "properties": keys, "additionalProperties": False}
        return {"anyOf": [Array("-", ((3, 3),)).schema(), one]}


def make(
    maker: Callable[..., Any], values: dict[str, Any], place: Place, *args: Any, **fixed: Any
) -> Any:
    """Call a class or function with the arguments of a table; those in `fixed` are no text."""
    takes = place.arguments(maker)
    check_keys(place, values, takes)
    for key, x in signature(maker).parameters.items():
        if x.default is x.empty and key in takes and key not in values:
            raise place.error(f"{key} is missing; a {maker.__name__} needs it")
    inside = place.among(values)
    got = {k: takes[k].read(x, inside / k) for k, x in values.items()}
    try:
        return maker(*args, **{**got, **fixed})
    except (ValueError, TypeError, OSError) as error:
        text = str(error)
        for owner in (maker.__qualname__, *args):  # the place says it already
            text = text.removeprefix(f"{owner}: ")
        word, _, rest = text.partition(" ")
        here = word in takes and word not in fixed
        raise ((place / word).error(rest) if here else place.error(text)) from error
