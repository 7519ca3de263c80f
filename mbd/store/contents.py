"""Contents of a file of results: labels, units, attributes, and names of its arrays over time.

Every file with labels has the same contents, whatever its form: a data set in memory, netCDF
(``netcdf.py``), the log of a run (``log.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mbd.base.checked import extra
from mbd.history.all_parts import in_pieces
from mbd.history.impacts import COLUMNS
from mbd.store.fields import Field, coordinates, fields, sizes
from mbd.store.run_record import of_model, of_run

if TYPE_CHECKING:
    import xarray as xr

    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model

Variable = tuple[Sequence[str], Any, Mapping[str, Any]]  # dimensions, values, attributes
_IMPACTS = {"units": "mixed", "long_name": "impacts; their element is a number of `set_valued`"}
_EVENT_TIME = {"units": "s", "long_name": "times at which events happened"}


@dataclass(frozen=True)
class Contents:
    """Labels, units and attributes of a file of results, and its arrays, without their numbers.

    Attributes
    ----------
    attributes : dict
        Of the whole file: version, method, options, the model as text, how the run ended, ...
    sizes : dict
        Lengths of all dimensions but time.
    labels : dict
        Coordinates: name -> (dimensions, values, attributes).
    arrays : dict
        Names of arrays -> (dimensions, attributes). The first dimension is time, except for arrays
        of the last instant.
    digits : str
        Type of the numbers over time, "f8" or "f4"; time itself is "f8".
    """

    attributes: dict[str, Any]
    sizes: dict[str, int]
    labels: dict[str, Variable]
    arrays: Mapping[str, tuple[Sequence[str], Mapping[str, str]]]
    digits: str = "f8"

    @classmethod
    def of(
        cls, model: Model, attributes: dict[str, Any], arrays: Sequence[Field], digits: str = "f8"
    ) -> Contents:
        """Return the contents of a file with these arrays of a model."""
        length = {name: n for name, n in sizes(model).items() if n}
        named = {x.name: (x.dims, x.attributes) for x in arrays}
        return cls(attributes, length, dict(coordinates(model)), named, digits)

    def over_time(self) -> list[str]:
        """Return the names of the arrays over time."""
        return [name for name, (dims, _) in self.arrays.items() if dims[0] == "time"]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array, but for time."""
        return tuple(self.sizes[d] for d in self.arrays[name][0] if d != "time")

    def dtype(self, name: str) -> str:
        """Return the type of the numbers of an array."""
        return self.digits if self.arrays[name][0][0] == "time" != name else "f8"


class DamagedFileError(ValueError):
    """A file of results differs from the one that was written."""


@dataclass(frozen=True)
class PastEvent:
    """An event of a run that was stored: name and time [s]; the state there is not."""

    name: str
    t: float


class Tables(Protocol):
    """Contents and numbers of a run, which is in memory or in a file.

    Attributes
    ----------
    n : int
        How many instants there are.
    """

    n: int

    @property
    def events(self) -> Sequence[Any]:
        """Events that happened, each with ``name`` and ``t`` [s]."""

    @property
    def impacts(self) -> np.ndarray:
        """Numbers of the impacts that happened, (n, 13)."""

    @property
    def contents(self) -> Contents:
        """Labels, units, attributes and arrays, without their numbers."""

    def pieces(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of some instants after the other, with those of the last instant."""


class OfSolution:
    """The tables of a solution, evaluated piece by piece."""

    def __init__(
        self, solution: Trajectory, arrays: Sequence[Field], notes: dict[str, Any],
        folder: Path = Path(), digits: str = "f8",
    ) -> None:  # fmt: skip
        s = self._solution = solution
        attributes = of_model(s.model, s.method, notes, folder, s.options)
        attributes |= of_run(s.status, s.message, s.stats, s.state)
        self.contents = Contents.of(s.model, attributes, arrays, digits)
        self._arrays, self.n, self.events = arrays, len(s.t), s.events
        self.impacts = s.impact_numbers

    def pieces(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of some instants after the other, with those of the last instant."""
        for piece in in_pieces(self._solution, alike=True):
            yield {x.name: x.values(piece) for x in self._arrays}


def numbers(tables: Tables) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield names of arrays, instants (all of the array, where it is not over time), numbers."""
    first, over_time = 0, set(tables.contents.over_time())
    for piece in tables.pieces():
        end = first + len(piece["time"])
        for name, values in piece.items():
            yield name, slice(first, end) if name in over_time else ..., values
        first = end


def as_arrays(tables: Tables) -> dict[str, np.ndarray]:
    """Return all arrays."""
    contents, arrays = tables.contents, dict[str, np.ndarray]()
    for name, (dims, _) in contents.arrays.items():
        over_time = (tables.n,) if dims[0] == "time" else ()
        arrays[name] = np.full((*over_time, *contents.shape(name)), np.nan, contents.dtype(name))
    for name, instants, values in numbers(tables):
        arrays[name][instants] = values
    return arrays


def labels(tables: Tables) -> dict[str, Variable]:
    """Return the coordinates of a data set, with events and impacts that happened, if any did."""
    events, impacts, there = tables.events, tables.impacts, dict(tables.contents.labels)
    if events:
        there["event_time"] = ("event_time",), np.array([x.t for x in events]), _EVENT_TIME
        there["event_name"] = ("event_time",), [x.name for x in events], {}
    if len(impacts):
        heads = [f"{name} [{unit}]" for name, unit in COLUMNS]
        there["impact_number"] = ("impact_number",), heads, {}
        there["impacts"] = ("impact", "impact_number"), impacts, _IMPACTS
    return there


def data_set(tables: Tables) -> xr.Dataset:
    """Return everything as an xarray data set."""
    extra("to_xarray", "labelled data need", "xarray", "results")
    import xarray as xr

    arrays, contents = as_arrays(tables), tables.contents
    variables = {x: (dims, arrays[x], about) for x, (dims, about) in contents.arrays.items()}
    time = variables.pop("time")
    return xr.Dataset(variables, coords={"time": time, **labels(tables)}, attrs=contents.attributes)


def to_xarray(solution: Trajectory) -> xr.Dataset:
    """Return everything that a solution has by name as an xarray data set."""
    return data_set(OfSolution(solution, fields(solution.model), {}))
