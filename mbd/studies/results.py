"""Results of a study: arrays over members, failed ones NaN; as a labelled data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.studies.samples import Members, labels

Packed = dict[str, np.ndarray]  # "t", "status", "message", and "=NAME" of each output, (n, ...)


def packed(
    values: Mapping[str, Sequence[Any]], t: Sequence[Any], status: Sequence[int],
    message: Sequence[str],
) -> Packed:  # fmt: skip
    """Return the results of a chunk, lists over its members, as arrays; None where there is none.

    Of the instants t the most, which those of the others are among or begin.
    """
    arrays = {f"={name}": _stacked(x) for name, x in values.items()}
    longest = max((x for x in t if x is not None), key=len, default=np.empty(0))
    return arrays | {"t": longest, "status": np.array(status), "message": np.array(message, str)}


def _stacked(values: Sequence[Any]) -> np.ndarray:
    """Return values of one rank as an array over members, NaN where there is none."""
    there = [np.asarray(x, float) for x in values if x is not None]
    if not there:
        return np.full(len(values), np.nan)
    if len(there) == len(values) and len({x.shape for x in there}) == 1:
        return np.array(there)
    rank = max(x.ndim for x in there)
    shape = tuple(max(x.shape[i] for x in there if x.ndim == rank) for i in range(rank))
    whole = np.full((len(values), *shape), np.nan)
    for i, x in enumerate(values):
        if x is not None:
            value = np.asarray(x, float)
            place: tuple[Any, ...] = (i, *map(slice, value.shape))
            whole[place] = value
    return whole


def joined(pieces: Sequence[Packed]) -> Packed:
    """Return the results of chunks one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    whole: Packed = {"t": max((x["t"] for x in pieces), key=len)}
    for name in pieces[0]:
        parts = [x[name] for x in pieces]
        if name.startswith("=") and len({x.shape[1:] for x in parts}) > 1:
            whole[name] = _stacked([y for x in parts for y in x])
        elif name != "t":
            whole[name] = np.concatenate(parts)
    return whole


@dataclass(frozen=True)
class StudyTable:
    """Results of a study without xarray: arrays by name, with the names of their dimensions.

    Attributes
    ----------
    values : dict
        Arrays by name of the output; "status" and "message" of members.
    dimensions : dict
        Names of the dimensions of each array.
    coordinates : dict
        By name of a dimension its values; of a list or a sample also the values of parameters.
    units : dict
    """

    values: Mapping[str, np.ndarray]
    dimensions: Mapping[str, tuple[str, ...]]
    coordinates: Mapping[str, np.ndarray]
    units: Mapping[str, str]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name] if name in self.values else self.coordinates[name]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs of a study."""
        return tuple(x for x in self.values if x not in ("status", "message"))

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Values of the parameters of each member, (n,)."""
        over = self.dimensions["status"]
        if over != ("member",) or "member" in self.coordinates:
            grid = np.meshgrid(*(self.coordinates[x] for x in over), indexing="ij")
            return {name: x.reshape(-1) for name, x in zip(over, grid, strict=True)}
        inner = {d for dims in self.dimensions.values() for d in dims}
        return {k: x for k, x in self.coordinates.items() if k not in inner}

    def labelled(self) -> Any:
        """Return an ``xarray.Dataset``, or the table itself where there is no xarray."""
        try:
            return self.to_xarray()
        except ImportError:
            return self

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset``."""
        import xarray as xr

        names = [d for dims in self.dimensions.values() for d in dims]
        coordinates = {
            k: ((k,) if k in names else ("member",), x) for k, x in self.coordinates.items()
        }
        variables = {
            k: (self.dimensions[k], x, {"units": self.units[k]} if self.units.get(k) else {})
            for k, x in self.values.items()
        }
        return xr.Dataset(variables, coordinates)


def table_of_study(who: str, done: Any) -> StudyTable:
    """Return the results of a study, which may be labelled already, as a table."""
    table = done
    if not isinstance(done, StudyTable):
        try:
            arrays, coordinates = done.data_vars, done.coords
            table = StudyTable(
                {str(k): x.values for k, x in arrays.items()},
                {str(k): tuple(x.dims) for k, x in arrays.items()},
                {str(k): x.values for k, x in coordinates.items()},
                {},
            )
        except Exception:  # also what the value's own methods raise
            table = StudyTable({}, {}, {}, {})
    if "status" not in table.values:
        raise TypeError(f"{who}: done must be what mbd.study returns, without summary=, got "
                        f"{shown(done)}")  # fmt: skip
    return table


def table_of(
    results: Packed, members: Members, about: Mapping[str, Mapping[str, Any]]
) -> StudyTable:
    """Return the results of all members; `about` has components, unit and time of each output."""
    over = members.dimensions
    grid, shape = tuple(over), tuple(over.values())
    values: dict[str, np.ndarray] = {}
    dimensions: dict[str, tuple[str, ...]] = {}
    coordinates: dict[str, np.ndarray] = {}
    if members.axes is None:
        coordinates |= {name: members.column(name) for name in members.names}
    else:
        coordinates |= {name: labels(x) for name, x in members.axes.items()}
    for name in ("status", "message"):
        values[name], dimensions[name] = results[name].reshape(shape), grid
    for name, facts in about.items():
        x = results[f"={name}"]
        inner, own = inner_dimensions(name, facts, x.shape[1:], results["t"])
        values[name] = x.reshape(*shape, *x.shape[1:])
        dimensions[name] = grid + inner
        coordinates |= own
    units = {name: str(facts["unit"]) for name, facts in about.items()}
    return StudyTable(values, dimensions, coordinates, units)


def inner_dimensions(
    name: str, facts: Mapping[str, Any], shape: tuple[int, ...], t: np.ndarray
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Return the dimensions after those of members, and the labels there."""
    dims: list[str] = []
    own: dict[str, np.ndarray] = {}
    components = facts["components"]
    for i, size in enumerate(shape):
        if i == 0 and facts["over_time"] and size == len(t):
            dims.append("time")
            own["time"] = t
        elif i == len(shape) - 1 and size == len(components):
            same = tuple(components) == ("x", "y", "z")
            dims.append("component" if same else f"{name} component")
            own[dims[-1]] = np.array(components)
        else:
            dims.append(f"{name} {i}")
    return tuple(dims), own
