"""Floor 5. Files of results in netCDF-4, which are plain HDF5: written by h5netcdf and h5py.

The layout is that of ``fields.py``: `xarray.open_dataset` and `h5py.File` read it without mbd. A
file is made beside its place and moved there when it can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from errno import EISDIR
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.results.about import of_model, of_run
from mbd.results.everything import Everything, in_pieces
from mbd.results.fields import coordinates, fields, happened, sizes, write

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.results.solution import Solution

__all__ = ["append", "beside", "create", "libraries", "save_netcdf"]

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


def beside(path: Path, who: str) -> Path:
    """Return the place beside a file where it is made; say so if there can be no such file."""
    libraries(f"{who} {path.name}")
    new = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        new.touch()
    except OSError as error:
        raise type(error)(f"{who}: {path} cannot be written: {error.strerror}") from None
    return new


def create(
    path: Path,
    model: Model,
    attributes: dict[str, Any],
    extra: Iterable[Any] = (),
    events: Sequence[Any] = (),
) -> Any:
    """Make a file with labels and empty arrays; return it as an h5py file, open for writing.

    `extra` has more variables: (name, dimensions, shape, type, attributes); a length may be None.
    `events` are those that happened.
    """
    h5py, h5netcdf = libraries(f"save {path.stem}")
    h5 = h5py.File(path, "w", libver=(FORMAT, FORMAT), track_order=True, rdcc_nbytes=_CACHE)
    length, labels = sizes(model), coordinates(model)
    with h5netcdf.File(h5, "r+") as nc:  # leaves h5 open
        length |= {"event_time": len(events)}
        nc.dimensions = {"time": None} | {d: n for d, n in length.items() if n}
        text = h5py.string_dtype()
        for name, (dims, values, about) in labels.items():
            kind = text if isinstance(values, list) else float
            data = np.asarray(values, object if kind is text else float)
            nc.create_variable(name, dims, kind, data=data).attrs.update(about)
        for name, (dims, values, about) in happened(events).items():
            data = np.asarray(values, object if isinstance(values, list) else float)
            nc.create_variable(name, dims, text if data.dtype == object else float, data=data)
            nc[name].attrs.update(about)
        for x in fields(model):
            chunks = _chunks([length[d] for d in x.dims[1:]]) if x.dims[0] == "time" else None
            variable = nc.create_variable(x.name, x.dims, float, chunks=chunks, fillvalue=np.nan)
            variable.attrs.update(x.attributes)
        for name, dims, shape, kind, about in extra:
            new = dict(zip(dims, shape, strict=True))
            nc.dimensions.update({d: n for d, n in new.items() if d not in nc.dimensions})
            nc.create_variable(name, dims, kind).attrs.update(about)
        more = [name for name, (dims, *_) in labels.items() if dims != (name,)]
        more += ["event_name"] if "event_name" in nc.variables else []
        nc.attrs.update(attributes | {"coordinates": " ".join(more)})  # as xarray writes it
    return h5


def _chunks(widths: list[int]) -> tuple[int, ...]:
    """Return the shape of a chunk: many instants, not too many of anything else."""
    tail = [min(n, _WIDE) for n in widths]
    return (max(1, _CHUNK // int(np.prod(tail))), *tail)


def append(arrays: Any, first: int, x: Everything) -> None:
    """Write everything behind the first instants of a file."""
    end = first + len(x.solution.t)
    for field in fields(x.model):
        if field.name in arrays and field.dims[0] == "time":
            arrays[field.name].resize(end, axis=0)
    write(arrays, first, x)


def save_netcdf(solution: Solution, path: str | Path, **notes: Any) -> Path:
    """Write a solution, piece by piece."""
    path = Path(path)
    model = solution.model
    new = beside(path, "save")
    attributes = of_model(model, solution.method, notes, path.parent, solution.options) | of_run(
        solution.status, solution.message, solution.stats, solution.state
    )
    with create(new, model, attributes, events=solution.events) as h5:
        first = 0
        for piece in in_pieces(solution):
            append(h5, first, piece)
            first += len(piece.solution.t)
    os.replace(new, path)
    return path
