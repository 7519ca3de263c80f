"""Types of values that are objects: parts, frames, formulations, rotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mbd.algebra.rotations import rotation
from mbd.base.checked import floats
from mbd.base.recorded_call import parameters_in, signature
from mbd.files.value_types import Array, Number, Place, ValueType, unknown_key


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
        for key in value:
            if key not in self._KEYS:
                raise unknown_key(place, key, self._KEYS)
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
    for key in values:
        if key not in takes:
            raise unknown_key(place, key, takes)
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
