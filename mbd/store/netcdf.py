"""Result files in netCDF-4, which is HDF5: written by h5netcdf and h5py.

The layout is that of ``fields.py``, of all arrays or of some: `xarray.open_dataset` and `h5py.File`
read it without mbd. Each chunk of an array over time has a checksum (Fletcher's), which HDF5
compares when it is read; not in streams, which have checksums of instants (``damaged_files.py``),
as their chunks grow: HDF5 writes a chunk again, in its place, its checksum at the end; who reads
between sees one that does not fit, and so does everyone if the writer is killed there.
Measured with HDF5 2.0 and 20 arrays: of 60 kills at random instants 3 left chunks that cannot be
read, and of 143 reads beside the writer 7 failed; without such checksums none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.atomic import replaced
from mbd.history.all_parts import AllParts, in_pieces
from mbd.store.damaged_files import CHECKSUM, Checked
from mbd.store.fields import Field, chosen, coordinates, fields, happened, sizes, write
from mbd.store.hdf5 import libraries, named, room, whole
from mbd.store.run_record import of_model, of_run

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model

_CHUNK = 1 << 14  # numbers in one chunk of a file, 128 kB
_CACHE = 1 << 20  # bytes of chunks that each array keeps in memory
_WIDE = 64  # at most so many bodies, rows, ... in one chunk
# the oldest format that can be read while it is written
FORMAT = "v110"


def create(
    path: str | Path,
    model: Model,
    attributes: dict[str, Any],
    instants: int,
    extra: Sequence[Any] = (),
    events: Sequence[Any] = (),
    arrays: Sequence[Field] | None = None,
    digits: str = "f8",
) -> Any:
    """Make a file with labels and empty arrays; return it as an h5py file, open for writing.

    `instants` is how many are expected; more may come. `extra` has more variables: (name,
    dimensions, shape, type, attributes); a length may be None. `events` are those that happened.
    `arrays` are not all of them, `digits` not those of the model: the type of arrays over time.
    """
    h5py, _ = libraries("save")
    # it is made in memory, where nothing goes wrong: HDF5 cannot recover from errors in writing
    how = {"libver": (FORMAT, FORMAT), "track_order": True}
    with h5py.File(path, "w", driver="core", backing_store=False, **how) as h5:
        arrays = fields(model) if arrays is None else arrays
        _describe(h5, model, attributes, instants, extra, events, arrays, digits)
        h5.flush()
        image = h5.id.get_file_image()
    Path(path).write_bytes(image)
    # whoever replaces a file has locked the new one
    return h5py.File(path, "r+", rdcc_nbytes=_CACHE, locking=False, **how)


def _describe(
    h5: Any,
    model: Model,
    attributes: dict[str, Any],
    instants: int,
    extra: Sequence[Any],
    events: Sequence[Any],
    arrays: Sequence[Field],
    digits: str,
) -> None:
    """Write labels and empty arrays to a file of HDF5."""
    h5py, h5netcdf = libraries("save")
    length, labels = sizes(model), coordinates(model)
    with h5netcdf.File(h5, "r+") as nc:  # leaves h5 open
        length |= {"event_time": len(events)}
        nc.dimensions = {"time": None} | {d: n for d, n in length.items() if n}
        text = h5py.string_dtype()
        for name, (dims, values, about) in labels.items():
            dtype = text if isinstance(values, list) else float
            data = np.asarray(values, object if dtype is text else float)
            nc.create_variable(name, dims, dtype, data=data).attrs.update(about)
        for name, (dims, values, about) in happened(events).items():
            data = np.asarray(values, object if isinstance(values, list) else float)
            nc.create_variable(name, dims, text if data.dtype == object else float, data=data)
            nc[name].attrs.update(about)
        for x in arrays:
            how: dict[str, Any] = {"fillvalue": np.nan}
            dtype = digits if x.dims[0] == "time" != x.name else "f8"
            if x.dims[0] == "time":
                widths = [length[d] for d in x.dims[1:]]
                how |= {"chunks": _chunks(widths, instants), "fletcher32": not extra}
            nc.create_variable(x.name, x.dims, dtype, **how).attrs.update(x.attributes)
        for name, dims, shape, dtype, about in extra:
            new = dict(zip(dims, shape, strict=True))
            nc.dimensions.update({d: n for d, n in new.items() if d not in nc.dimensions})
            chunks = _chunks(list(shape[1:]), instants) if dims[:1] == ("time",) else None
            nc.create_variable(name, dims, dtype, chunks=chunks).attrs.update(about)
        more = [name for name, (dims, *_) in labels.items() if dims != (name,)]
        more += ["event_name"] if "event_name" in nc.variables else []
        nc.attrs.update(attributes | {"coordinates": " ".join(more)})  # as xarray writes it
    once = [x.name for x in arrays if x.dims[0] != "time"] + [x[0] for x in extra]
    for array in (h5[name] for name in once):
        if array.chunks is None:  # it has its place from now on
            array[...] = np.full(array.shape, array.fillvalue, array.dtype)


def _chunks(widths: list[int], instants: int) -> tuple[int, ...]:
    """Return the shape of a chunk: many instants, not too many of anything else."""
    tail = [min(n, _WIDE) for n in widths]
    return (max(1, min(instants, _CHUNK // int(np.prod(tail)))), *tail)


class _Single:
    """An array over time of numbers of four bytes, which are not larger than these can be."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __setitem__(self, rows: slice, values: Any) -> None:
        with np.errstate(over="ignore"):
            short = np.asarray(values, np.float32)
        if (np.isinf(short) & np.isfinite(values)).any():
            raise ValueError(
                f"save: {self._array.name[1:]} is larger than numbers of four bytes can be, "
                f"{np.finfo(np.float32).max:.2g}; save without single=True"
            )
        self._array[rows] = short


def _writer(h5: Any, name: str) -> Any:
    """Return what writes an array over time."""
    if CHECKSUM in h5:
        return Checked(h5, name)
    return _Single(h5[name]) if h5[name].dtype == np.float32 else h5[name]


def append(h5: Any, first: int, x: AllParts) -> None:
    """Write everything after the first instants of a file, which has room for it."""
    end = first + len(x.trajectory.t)
    names = [f.name for f in fields(x.model) if f.dims[0] == "time" and f.name in h5]
    for name in [*names, CHECKSUM] if CHECKSUM in h5 else names:
        h5[name].resize(end, axis=0)
    write({name: _writer(h5, name) for name in names}, first, x)


def write_last(h5: Any, x: AllParts) -> None:
    """Write what there is of the last instant only."""
    for field in fields(x.model):
        if field.dims[0] != "time":
            h5[field.name][...] = field.values(x)


def save_netcdf(
    solution: Trajectory, path: str | Path, quantities: Sequence[str] | None = None,
    single: bool = False, **notes: Any,
) -> Path:  # fmt: skip
    """Write a solution, piece by piece; of some quantities, and in single precision, if asked."""
    path, model = Path(path), solution.model
    arrays = chosen(model, quantities)
    libraries(f"save {path.name}")
    attributes = of_model(model, solution.method, notes, path.parent, solution.options) | of_run(
        solution.status, solution.message, solution.stats, solution.state
    )
    n = len(solution.t)
    with replaced(path, "save") as file, named("save", path):
        h5 = create(
            file.name, model, attributes, n, (), solution.events, arrays, "f4" if single else "f8"
        )
        with whole(h5):
            first = 0
            room(h5, [h5[x.name] for x in arrays if x.dims[0] == "time"], 0, n)
            for piece in in_pieces(solution, alike=True):
                append(h5, first, piece)
                first += len(piece.trajectory.t)
            write_last(h5, piece)
    return path
