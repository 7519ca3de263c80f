"""Reader of model files: from tables to a system and the settings of its run."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from mbd.base.checked import absent, shown
from mbd.base.parameter import Parameter
from mbd.base.recorded_call import signature
from mbd.files.formulas import RESERVED
from mbd.files.references import make
from mbd.files.units import unit_in
from mbd.files.value_types import Number, Place, PlaceError, check_keys
from mbd.files.vocabulary import SCHEMA, SECTIONS, arguments, parts, run_settings
from mbd.model.system import System

_POSITIVE = ("t_end", "step", "rtol", "max_step")  # of run
_TOP = ("schema", "mbd", "title", "parameters", "system", *SECTIONS, "run")
_DEFAULT = {"bodies": "RigidBody"}  # type of a part that does not say it


def toml_tables(text: str) -> dict[str, Any]:
    """Return the tables of a text of TOML with a known schema."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is no TOML: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deeply for a model file") from None
    except ValueError:  # more digits than Python reads
        digits = re.search(r"\d[\d_]{4000}", text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise ValueError(f"has an integer of thousands of digits (line {line})") from None
    version = data.get("schema")
    if version != SCHEMA or isinstance(version, bool):
        newer = isinstance(version, int) and version > SCHEMA
        remedy = "it was written by a newer mbd" if newer else f"write schema = {SCHEMA} at the top"
        text = f"schema: must be {SCHEMA}, got {shown(version)}; {remedy}"
        raise PlaceError(text, ("schema",))
    return data


class Reader:
    """The parts of a file, each made when it is first needed.

    Parameters
    ----------
    data : dict
        As ``tables`` returns it.
    folder : Path
        Where files that it names are.
    formulation : str, optional
        In place of that of every rigid body.
    parameters : dict, optional
        In place of values of parameters of the file.
    """

    def __init__(
        self, data: dict[str, Any], folder: Path, formulation: Any = None, parameters: Any = None
    ) -> None:
        self.data, self.formulation = data, formulation
        self.place = Place("", folder, self._part, arguments)
        check_keys(self.place, data, _TOP)
        for key in ("title", "mbd"):
            if not isinstance(data.get(key, ""), str):
                raise (self.place / key).must("a string", data[key])
        self.place = replace(self.place, parameters=self._parameters(parameters or {}))
        self.system: System = make(System, self._table("system"), self.place / "system")
        self.parts: dict[str, Any] = {}
        self.begun: list[str] = []

    def _table(self, *path: str) -> dict[str, Any]:
        value, place = self.data, self.place
        for key in path:
            value, place = value.get(key, {}), place / key
            if not isinstance(value, dict):
                raise place.must("a table", value)
        return value

    def _parameters(self, instead: dict[str, Any]) -> dict[str, Parameter]:
        """Return the parameters of the file, with other values of some."""
        place, values = self.place / "parameters", self._table("parameters")
        check_keys(place, instead, values)
        parameters = {}
        for name, value in (values | instead).items():
            if name in RESERVED:
                raise (place / name).error("has a meaning in expressions; choose another name")
            unit = unit_in(value) if isinstance(value, str) else "-"
            try:
                parameters[name] = Parameter(name, Number(unit).read(value, place / name))
            except PlaceError:
                raise
            except (ValueError, TypeError) as error:
                raise (place / name).error(str(error).partition(": ")[2]) from None
        return parameters

    def read(self) -> System:
        """Return the system with all parts in the order of the file."""
        for table in SECTIONS:
            for name in self._table(table):
                part = self._built(table, name)
                try:
                    self.system.add(part)
                except (ValueError, TypeError) as error:
                    raise (self.place / table / name).error(error) from None
        return self.system

    def run(self) -> dict[str, Any]:
        """Return the arguments of ``mbd.simulate`` that the file has."""
        place, settings, arguments = self.place / "run", run_settings(), {}
        check_keys(place, self._table("run"), settings)
        for key, value in self._table("run").items():
            arguments[key] = settings[key].read(value, place / key)
            if key in _POSITIVE and arguments[key] <= 0:
                raise (place / key).must("positive", value)
        return arguments

    def _part(self, table: str, name: str, place: Place) -> Any:
        """Return the part that a name at a place refers to."""
        if table == "bodies" and name == "ground":
            return self.system.ground
        members = self._table(table)
        owner = name.rpartition(".")[0]
        if table == "bodies" and owner in self._table("structures"):
            nodes = {x.name: x for x in self._built("structures", owner).nodes()}
            if name in nodes:
                return nodes[name]
        if name not in members:
            names = ["ground", *members] if table == "bodies" else list(members)
            raise place.error(absent("", name, names, f" among the {table}"))
        return self._built(table, name)

    def _built(self, table: str, name: str) -> Any:
        key = f"{table}.{name}"
        if key in self.parts:
            return self.parts[key]
        place = self.place / table / name
        if key in self.begun:
            raise place.error(f"refers to itself, by {' -> '.join([*self.begun, key])}")
        self.begun.append(key)
        values = dict(self._table(table, name))
        maker = self._maker(table, values.pop("type", _DEFAULT.get(table)), place / "type")
        fixed = {}
        if self.formulation is not None and "formulation" in signature(maker).parameters:
            fixed["formulation"] = self.formulation
        self.parts[key] = make(maker, values, place, name, **fixed)
        self.begun.pop()
        return self.parts[key]

    def _maker(self, table: str, name: Any, place: Place) -> Any:
        makers = {n: x for n, x in parts().items() if x.drawer == table}
        if isinstance(name, str) and name in makers:
            return makers[name]
        elsewhere = parts().get(name) if isinstance(name, str) else None
        if elsewhere is not None:
            raise place.error(f"a {name} belongs to [{elsewhere.drawer}], not to [{table}]")
        raise place.must(f"one of {', '.join(makers)}", name)
