"""Writer of model files: from a system to the arguments of its parts as plain values.

Every part is made again from its arguments and compared, so that what was changed after it was made
is refused, not lost.
"""

import functools
import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.algebra.local_maps import LocalMap
from mbd.base.parameter import Formula
from mbd.base.public import PLACES, VERSION, public
from mbd.base.recorded_call import recorded_call, signature
from mbd.files.expressions import Expression
from mbd.files.formulas import law_texts, text_of
from mbd.files.value_types import Array, OfPython, Several
from mbd.files.vocabulary import SCHEMA, arguments, parts
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.model.description import Description, described_parameters
from mbd.parts.part import Coordinate, Frame, Part


def minimal_call(part: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return class or function and the arguments it needs: neither None nor default."""
    call = recorded_call(part)
    name = call.maker.__qualname__ if call else ""
    first, *rest = name.split(".")
    there: Any = functools.reduce(getattr, rest, public(first)) if first in PLACES else None
    if call is None or inspect.unwrap(there) is not inspect.unwrap(call.maker):
        name = type(part).__name__
        raise ValueError(f"{name} is not a part of mbd; a file cannot say what it is")
    default = {k: x.default for k, x in signature(call.maker).parameters.items()}
    got = call.arguments()
    left = {k: x for k, x in got.items() if x is not None and not _same(x, default[k])}
    return call.maker, left


def _same(x: Any, y: Any) -> bool:
    """Tell whether a value is the default; a number is compared by value and sign, not by type.

    Of a rotation, whose default is None, the identity.
    """
    if y is None:
        return isinstance(x, np.ndarray) and x.shape == (3, 3) and np.array_equal(x, np.eye(3))
    if isinstance(x, tuple | np.ndarray) and isinstance(y, tuple):
        return len(x) == len(y) and all(map(_same, x, y))
    numbers = isinstance(x, int | float | np.number) and isinstance(y, int | float)
    if numbers and not isinstance(x, bool):
        return bool(x == y and math.copysign(1, x) == math.copysign(1, y))
    return type(x) is type(y) and bool(x is y or (isinstance(x, str | bool) and x == y))


class Writer:
    """Plain values of the arguments of the parts of a system.

    Parameters
    ----------
    system : System
    folder : Path
        Of the file, from which it names others.
    """

    def __init__(self, system: Description, folder: Path) -> None:
        self.system, self.folder = system, folder

    def part(self, part: Any) -> dict[str, Any]:
        """Return the table of a part."""
        if type(part) not in parts().values():
            raise ValueError(
                f"{part.name}: {type(part).__name__} is not a part of mbd, and a file cannot say "
                "what it is; keep the model as a scene, a Python file with build(); files know "
                f"{', '.join(parts())}"
            )
        try:
            maker, got = minimal_call(part)
            call = part.call
            if not part.agrees_with(call.maker(*call.args, **call.options)):
                raise ValueError(
                    "was changed after it was made; make it again with what it should have"
                )
            _check_functions(maker, got)
            values = {k: self.plain(x) for k, x in got.items() if k != "name"}
        except ValueError as error:
            text = str(error).removeprefix(f"{part.name}: ")
            raise ValueError(f"{part.name}: {text}") from None
        return {"type": maker.__qualname__, **_ordered(maker, values)}

    def plain(self, value: Any) -> Any:
        """Return a value as numbers, strings, lists and dictionaries."""
        match value:
            case None:  # a component, of three, that no law prescribes
                return "free"
            case np.generic() | np.ndarray():
                return self.plain(value.tolist()) if value.dtype == object else value.tolist()
            case int() | float() | str():
                return value
            case tuple() | list():
                return [self.plain(x) for x in value]
            case dict():
                return {k: self.plain(x) for k, x in value.items()}
            case Path():
                try:
                    return Path(os.path.relpath(value, self.folder)).as_posix()
                except ValueError:  # another drive
                    return value.resolve().as_posix()
            case Expression():
                texts = law_texts(value)
                return texts[0] if len(texts) == 1 else [_number_or_text(x) for x in texts]
            case Formula():
                return text_of(value)
            case Rotation():
                return _rotation(value)
            case Formulation():
                return self._formulation(value)
            case Frame():
                _, got = minimal_call(value)
                return _ordered(Frame, {k: self.plain(x) for k, x in got.items()})
            case Coordinate() if value.joint in self.system.joints:
                return {"joint": value.joint, "coordinate": value.name}
            case Coordinate() | Part():
                name = value.joint if isinstance(value, Coordinate) else value.name
                there = name in self.system and self.system[name] is value
                if value is not self.system.ground and not there:
                    raise ValueError(
                        f"refers to {name!r}, which was not added to the system; add it"
                    )
                return name
        if callable(value) and recorded_call(value) is None:
            name = getattr(value, "__name__", type(value).__name__)
            raise ValueError(
                f"its law is the Python function {name!r}, which a file cannot hold; write it as "
                'mbd.Expression("...")'
            )
        from scipy.sparse import issparse

        if issparse(value):
            raise ValueError(
                "its matrices are in memory, which a file cannot hold; save them with "
                "scipy.sparse.save_npz and give the names of the files"
            )
        return self._table(value)

    def _table(self, value: Any) -> dict[str, Any]:
        """Return the call that makes a value."""
        maker, got = minimal_call(value)
        values = {k: self.plain(x) for k, x in got.items()}
        return {"type": maker.__qualname__, **_ordered(maker, values)}

    def _formulation(self, value: Formulation) -> Any:
        """Return the name of a formulation, or the call that makes one with options."""
        if value.name in NAMES and named(value.name) is value:
            return value.name
        call = recorded_call(value)
        arguments = () if call is None else (*call.args, *call.options.values())
        own = any(isinstance(x, LocalMap) for x in arguments)
        if call is None or call.maker is Formulation or own:
            raise ValueError(
                f"{value.name!r} is a formulation of your own, which is code and not data: a model "
                f"file can say {', '.join(NAMES)} and what mbd.SO3, mbd.SE3, mbd.S2, mbd.InPlane, "
                "mbd.Unified, mbd.EulerParameters and mbd.Scalable make; keep such a model as a "
                "scene in Python, a file with build() that mbd run takes as well, or give the body "
                "one of these"
            )
        return self._table(value)


def _rotation(value: Rotation) -> Any:
    """Return the shortest form that gives the same matrix to the last bit."""
    R, turn, quaternion = value.as_matrix(), value.as_rotvec(), value.as_quat()
    if np.array_equal(Rotation.from_rotvec(turn).as_matrix(), R):
        return {"rotvec": turn.tolist()}
    if np.array_equal(Rotation.from_quat(quaternion).as_matrix(), R):
        return {"quaternion": quaternion[[3, 0, 1, 2]].tolist()}
    return R.tolist()


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _ordered(maker: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    return {k: values[k] for k in signature(maker).parameters if k in values}


def _check_functions(maker: Callable[..., Any], got: dict[str, Any]) -> None:
    """Refuse functions where a file has lists of numbers or objects, and no law."""
    for name, value in got.items():
        value_type = None if name == "name" else arguments(maker)[name]
        if isinstance(value_type, OfPython):
            raise ValueError(f"{name} is Python code, which a file cannot hold; {OfPython.instead}")
        of_python = callable(value) and recorded_call(value) is None
        if of_python and isinstance(value_type, Several | Array):
            instead = "several values in a list" if isinstance(value_type, Several) else "numbers"
            raise ValueError(
                f"{name} is a Python function, which a file cannot hold; give {instead}"
            )


def document(system: Description, run: dict[str, Any], title: str, folder: Path) -> dict[str, Any]:
    """Return a whole file as plain values."""
    writer = Writer(system, folder)
    tables: dict[str, Any] = {"schema": SCHEMA, "mbd": VERSION}
    if title:
        tables["title"] = title
    if parameters := described_parameters(system):
        tables["parameters"] = {k: x.value for k, x in parameters.items()}
    if np.any(system.gravity):
        tables["system"] = {"gravity": writer.plain(system.gravity_as_written)}
    for part in system.parts.values():
        tables.setdefault(part.drawer, {})[part.name] = writer.part(part)
    if run:
        tables["run"] = {k: writer.plain(x) for k, x in run.items()}
    return tables
