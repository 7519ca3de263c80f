"""Floor 5. Files of results in netCDF-4, which are plain HDF5: written by h5netcdf and h5py.

The layout is that of ``fields.py``: `xarray.open_dataset` and `h5py.File` read it without mbd. A
file is made beside its place and moved there when it can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.results.about import of_model, of_run
from mbd.results.fields import Field, coordinates, fields, sizes

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.results.solution import Solution

__all__ = ["append", "create", "libraries", "save_netcdf"]

_CHUNK = 1 << 14  # numbers in one chunk of a file, 128 kB
_CACHE = 1 << 20  # bytes of chunks that each array keeps in memory
_WIDE = 64  # at most so many bodies, rows, ... in one chunk
# the oldest format that can be read while it is written
FORMAT = "v110"


def libraries(who: str) -> tuple[Any, Any]:
    """Return h5py and h5netcdf."""
    try:
        import h5netcdf
        import h5py
    except ImportError as error:
        raise ImportError(
            f"{who}: files of this kind need h5netcdf and h5py, which are an extra "
            f"({error.name} is missing); pip install 'mbd[results]'"
        ) from None
    return h5py, h5netcdf


def create(path: Path, model: Model, attributes: dict[str, Any], extra: Iterable[Any] = ()) -> Any:
    """Make a file with labels and empty arrays; return it as an h5py file, open for writing.

    `extra` has more variables: (name, dimensions, shape, type, attributes).
    """
    h5py, h5netcdf = libraries(f"save {path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    h5 = h5py.File(path, "w", libver=(FORMAT, FORMAT), track_order=True, rdcc_nbytes=_CACHE)
    length, labels = sizes(model), coordinates(model)
    with h5netcdf.File(h5, "r+") as nc:  # leaves h5 open
        nc.dimensions = {"time": None} | {d: n for d, n in length.items() if n}
        text = h5py.string_dtype()
        for name, (dims, values) in labels.items():
            kind = text if isinstance(values, list) else float
            data = np.asarray(values, object if kind is text else float)
            nc.create_variable(name, dims, kind, data=data)
        for x in fields(model):
            chunks = _chunks([length[d] for d in x.dims[1:]]) if x.dims[0] == "time" else None
            variable = nc.create_variable(x.name, x.dims, float, chunks=chunks, fillvalue=np.nan)
            variable.attrs.update(x.attributes)
        for name, dims, shape, kind, about in extra:
            nc.dimensions.update(dict(zip(dims, shape, strict=True)))
            nc.create_variable(name, dims, kind).attrs.update(about)
        more = [name for name, (dims, _) in labels.items() if dims != (name,)]
        nc.attrs.update(attributes | {"coordinates": " ".join(more)})  # as xarray writes it
    return h5


def _chunks(widths: list[int]) -> tuple[int, ...]:
    """Return the shape of a chunk: many instants, not too many of anything else."""
    tail = [min(n, _WIDE) for n in widths]
    return (max(1, _CHUNK // int(np.prod(tail))), *tail)


def append(arrays: Any, which: list[Field], first: int, solution: Solution) -> None:
    """Write the instants of a solution behind the first ones, to arrays by name."""
    end = first + len(solution.t)
    for x in which:
        array = arrays[x.name]
        if x.dims[0] == "time":
            array.resize(end, axis=0)
            array[first:end] = x.values(solution)
        else:
            array[...] = x.values(solution)


def save_netcdf(solution: Solution, path: str | Path, **notes: Any) -> Path:
    """Write a solution; what is in memory in one go, what is on disk piece by piece."""
    path = Path(path)
    model = solution.model
    new = path.with_name(path.name + ".new")
    attributes = of_model(model, solution.method, notes, path.parent) | of_run(
        solution.status, solution.message, solution.stats, solution.state
    )
    which = fields(model)
    in_memory = isinstance(solution.q, np.ndarray)
    with create(new, model, attributes) as h5:
        for i, piece in enumerate([solution] if in_memory else solution.blocks(_PIECE)):
            append(h5, which, i * _PIECE, piece)
    os.replace(new, path)
    return path


_PIECE = 1 << 12  # instants
