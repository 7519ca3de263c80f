"""Labelled arrays of results, for data sets in memory, in files, and streamed.

Dimensions: ``time``, ``body``, ``joint``, ``element``, ``end`` and ``section_axis`` (of beams),
``bar`` (of cables), ``freedom`` (of joints), ``reading`` (of motors, drives, transmissions),
``row`` (of constraints), ``component`` (x, y, z), ``quaternion_component`` (w, x, y, z),
``coordinate`` (stored coordinates q), ``speed`` (velocities v).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mbd.base.checked import meant, shown
from mbd.history.all_parts import AllParts
from mbd.history.columns import MIXED, fitting, labels, model_items
from mbd.history.quantities import IMPULSES
from mbd.history.quantity import Owner, Quantity
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.model.workspace import Workspace

SCHEMA = "mbd results 1"  # of names, dimensions and meanings; a new number where they change


@dataclass(frozen=True)
class Field:
    """One labelled array.

    Attributes
    ----------
    name : str
    dims : tuple of str
        The first one is time, except for numbers of the last instant.
    unit : str
        SI; "1" for a pure number, "mixed" where it differs from column to column: then there is a
        coordinate with the unit of each, ``speed_unit`` of ``speed``.
    meaning : str
    values : callable
        ``(everything) -> array``.
    frame : str
        Axes of the components, where there are any.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    meaning: str
    values: Callable[[AllParts], np.ndarray]
    frame: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes that are stored with the array."""
        attributes = {"units": self.unit, "long_name": self.meaning, "frame": self.frame}
        return {key: text for key, text in attributes.items() if text}


def _last(what: str, dimension: str, n: int, unit: str, meaning: str) -> Field:
    """Return n numbers of the last state as an array; NaN if it has none."""

    def values(x: AllParts) -> np.ndarray:
        numbers = getattr(x.trajectory.state, what)
        return np.full(n, np.nan) if numbers is None else numbers

    return Field(f"last_{what}", (dimension,), unit, f"{meaning} at the last instant", values)


def _field(x: Quantity, unit: str) -> Field:
    """Return an entry of the table as an array of all its owners; `unit` is that of gaps."""
    dims = tuple(d for d in ("time", x.of.dimension, *x.axes.dimensions) if d)
    mixed = "{}" in x.unit and x.of is not Owner.TOTAL
    pure = "1" if x.unit == "-" else x.unit.format(unit)
    return Field(
        x.array, dims, MIXED if mixed else pure, x.meaning, partial(AllParts.values, quantity=x),
        x.axes.frame,
    )  # fmt: skip


@per_model
def fields(model: Model) -> list[Field]:
    """Return all labelled arrays of the results of a model, time first of all."""
    items = model_items(model)
    arrays = [_field(x, items[""][0].unit) for x in fitting(items)]
    arrays.append(_last("alg", "speed", model.n_v, MIXED, "algorithmic acceleration, as a,"))
    if n := _remembered(model):
        arrays.append(_last("memory", "memory", n, "rad", "angles that count turns,"))
    if n := len(model.places_set_valued):
        meaning = "what steps go on from at set-valued laws,"
        arrays.append(_last("set_valued", "set_valued_number", n, MIXED, meaning))
    names = [x.name for x in arrays] + list(labels(model))
    if twice := sorted({x for x in names if names.count(x) > 1}):
        raise ValueError(
            f"quantities: {', '.join(twice)}: labelled data have that name for something else; "
            "give the entry another one there, array="
        )
    return arrays


def chosen(model: Model, names: Sequence[str] | None) -> list[Field]:
    """Return arrays by name, with time and the arrays of the last instant; None stands for all.

    With coordinates there is the work of impulses, which they do not tell.
    """
    there = fields(model)
    if names is None:
        return there
    over_time = [x.name for x in there if x.dims[0] == "time" and x.name != "time"]
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise TypeError(
            'save: quantities must be a list of names such as ["position", "force"], got '
            f"{shown(names)}"
        )
    for name in names:
        if not isinstance(name, str) or name not in over_time:
            raise ValueError(
                f"save: quantities must be names of labelled arrays, got {shown(name)}"
                f"{meant(str(name), over_time)}; there are {', '.join(over_time)}"
            )
    more = ("time", *names, *(x.array for x in IMPULSES if "q" in names))
    return [x for x in there if x.dims[0] != "time" or x.name in more]


def impulses_in(stored: Mapping[str, Any]) -> np.ndarray | None:
    """Return the work of impulses of a file, (n, 1), or (n, 3) with its parts; None of old ones."""
    there = [stored[x.flat] for x in IMPULSES if x.flat in stored]
    return np.stack(there, axis=-1) if there else None


@per_model
def _remembered(model: Model) -> int:
    """Return how many numbers the elements of a model remember."""
    memory = Workspace(model).store().memory
    return 0 if memory is None else len(memory)


def sizes(model: Model) -> dict[str, int]:
    """Return the length of all dimensions but time."""
    one = {dims[0]: len(values) for dims, values in labels(model).values() if len(dims) == 1}
    numbers = len(model.places_set_valued)
    return one | {"memory": _remembered(model), "set_valued_number": numbers}


def coordinates(model: Model) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
    """Return the labels: name -> (dimensions, values, attributes)."""
    about = {
        "mass": {"units": "kg", "long_name": "mass"},
        "station": {"units": "m", "long_name": "length along the beam at rest"},
        "end_point": {"units": "m", "long_name": "origin of the section in end_body"},
        "end_axes": {"units": "1", "long_name": "axes of the section in end_body"},
    }
    return {name: (*x, about.get(name, {})) for name, x in labels(model).items()}
