"""Result files in netCDF-4, which is HDF5: written and read by h5netcdf and h5py.

The layout is that of ``contents.py``: `xarray.open_dataset` and `h5py.File` read it without mbd.
Each chunk of an array over time has a checksum (Fletcher's), which HDF5 compares when it is read.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np

from mbd.base.atomic import replaced
from mbd.base.read_only import read_only
from mbd.history.impacts import NO_IMPACTS
from mbd.history.trajectory import Trajectory
from mbd.store.contents import (
    Contents,
    DamagedFileError,
    OfSolution,
    PastEvent,
    Tables,
    labels,
    numbers,
)
from mbd.store.fields import chosen

_CHUNK = 1 << 14  # numbers in one chunk of a file, 128 kB
_CACHE = 1 << 20  # bytes of chunks that each array keeps in memory
_WIDE = 64  # at most so many bodies, rows, ... in one chunk
_FORMAT = "v110"  # of HDF5, whose metadata have checksums
_HEAP, _HEAD = b"GCOL\1\0\0\0", 1 << 26  # of texts, which stand before the numbers; bytes read


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


# --- writing --------------------------------------------------------------------------------------
def save_netcdf(
    solution: Trajectory, path: str | Path, quantities: Sequence[str] | None = None,
    single: bool = False, **notes: Any,
) -> Path:  # fmt: skip
    """Write a solution; of some quantities, and in single precision, if asked."""
    path = Path(path)
    arrays = chosen(solution.model, quantities)
    digits = "f4" if single else "f8"
    return write(OfSolution(solution, arrays, notes, path.parent, digits), path, "save")


def write(tables: Tables, path: Path, who: str) -> Path:
    """Write the results of a run, piece by piece."""
    h5py, h5netcdf = libraries(f"{who} {path.name}")
    how = {"libver": (_FORMAT, _FORMAT), "track_order": True, "rdcc_nbytes": _CACHE}
    with replaced(path, who) as file, _Disk(file) as disk, h5py.File(disk, "w", **how) as h5:
        with h5netcdf.File(h5, "r+") as nc:  # leaves h5 open
            _describe(nc, tables)
        for name in tables.contents.over_time():
            h5[name].resize(tables.n, axis=0)
        for name, rows, values in numbers(tables):
            h5[name][rows] = _fitting(name, values, tables.contents.dtype(name))
            disk.check()
    return path


class _Disk:
    """A file for HDF5 in which no writing fails: HDF5 cannot recover from errors, and may crash.

    What is written after an error is lost; at the end of the block the error is raised.
    """

    def __init__(self, file: Any) -> None:
        self._file = file.raw
        self._error: BaseException | None = None
        self.read, self.readinto = self._file.read, self._file.readinto
        self.seek, self.tell = self._file.seek, self._file.tell

    def write(self, data: Any) -> int:
        """Write all bytes."""
        left = memoryview(data)
        while left and self._error is None:
            left = left[self._tried(self._file.write, left) or 0 :]
        return len(data)

    def truncate(self, size: int) -> None:
        """Set the length of the file."""
        self._tried(self._file.truncate, size)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def _tried(self, act: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return act(*arguments)
        except BaseException as error:
            self._error = error
        return None

    def check(self) -> None:
        """Raise the first error of writing, if there was one."""
        if self._error is not None:
            raise self._error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: Any, error: BaseException | None, trace: Any) -> None:
        """Raise the first error of writing, also where HDF5 fails over bytes that were lost."""
        if error is not self._error:
            self.check()


def _describe(nc: Any, tables: Tables) -> None:
    """Write labels and empty arrays."""
    contents, coordinates = tables.contents, labels(tables)
    h5py, _ = libraries("save")
    happened = {x: np.shape(values)[0] for x, (_, values, _) in coordinates.items()
                if x in ("event_time", "impact_number")}  # fmt: skip
    happened |= {"impact": len(tables.impacts)} if len(tables.impacts) else {}
    nc.dimensions = {"time": None} | contents.sizes | happened
    for name, (dims, values, about) in coordinates.items():
        data = np.asarray(values)
        if data.dtype.kind in "UO":
            data = data.astype(object)
        dtype = h5py.string_dtype() if data.dtype == object else float
        nc.create_variable(name, dims, dtype, data=data).attrs.update(about)
    for name, (dims, about) in contents.arrays.items():
        how: dict[str, Any] = {"fillvalue": np.nan}
        if dims[0] == "time":
            # many instants in a chunk, not too many of anything else
            tail = [min(n, _WIDE) for n in contents.shape(name)]
            most = max(1, min(tables.n, _CHUNK // prod(tail)))
            how |= {"chunks": (most, *tail), "fletcher32": True}
        nc.create_variable(name, dims, contents.dtype(name), **how).attrs.update(about)
    more = " ".join(name for name, (dims, *_) in coordinates.items() if [*dims] != [name])
    nc.attrs.update(contents.attributes | {"coordinates": more})  # as xarray writes it


def _fitting(name: str, values: np.ndarray, digits: str) -> np.ndarray:
    """Return numbers in single or double precision; raise where one is too large."""
    if digits == "f8":
        return values
    with np.errstate(over="ignore"):
        short = np.asarray(values, np.float32)
    if (np.isinf(short) & np.isfinite(values)).any():
        raise ValueError(
            f"save: {name} is larger than numbers of four bytes can be, "
            f"{np.finfo(np.float32).max:.2g}; save without single=True"
        )
    return short


# --- reading --------------------------------------------------------------------------------------
class NetCDF:
    """Read a netCDF file of results.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._h5 = _opened(path)
        if "schema" not in self._h5.attrs:
            raise DamagedFileError(
                f"load: {path} was not written by mbd: it has no attribute 'schema'"
            )
        attributes = {  # one number is an array of one in netCDF
            name: x[0].item() if isinstance(x, np.ndarray) and x.shape == (1,) else x
            for name, x in self._h5.attrs.items()
            if not name.startswith("_")
        }
        self._coordinates = str(attributes.pop("coordinates", "")).split()
        self.attributes, self.lost = read_only(attributes), ""
        self.n = self.written = len(self._h5["time"])
        times = self._h5["event_time"][:].tolist() if "event_time" in self._h5 else []
        names = self.label("event_name")
        self.events = [PastEvent(*x) for x in zip(names, times, strict=False)]
        there = "impacts" in self._h5
        self.impacts = self._h5["impacts"][:] if there else NO_IMPACTS
        once = ("last_alg", "last_memory", "last_set_valued")
        self.last = read_only({name: self._h5[name][:] for name in once if name in self._h5})

    def label(self, name: str) -> Any:
        """Return a label: texts, or an array of numbers; empty if it is not there."""
        if name not in self._h5:
            return []
        values = self._h5[name][:]
        if values.dtype != object:
            return values
        return np.array([x.decode() for x in values.flat]).reshape(values.shape).tolist()

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return str(self._h5[name].attrs["units"])

    def digits(self, name: str) -> str:
        """Return the type of the numbers of an array, empty if it is not there."""
        return self._h5[name].dtype.str[1:] if name in self._h5 else ""

    def read(self, name: str, rows: slice, *columns: Any) -> np.ndarray:
        """Return instants of an array over time, and of them columns."""
        return np.asarray(self._h5[name][(rows, *columns)])

    @cached_property
    def contents(self) -> Contents:
        """Labels, units, attributes and arrays, without their numbers."""
        _, h5netcdf = libraries("load")
        with h5netcdf.File(self._h5, "r") as nc:
            about = {x: (v.dimensions, dict(v.attrs)) for x, v in nc.variables.items()}
            sizes = {name: x.size for name, x in nc.dimensions.items()}
        labelled, arrays = dict[str, Any](), dict[str, Any]()
        for name, (dims, attributes) in about.items():
            attributes.pop("_FillValue", None)
            if name.startswith(("event_", "impact")):
                continue
            if name != "time" and (name in dims or name in self._coordinates):
                labelled[name] = dims, self.label(name), attributes
            else:
                arrays[name] = dims, attributes
        used = {d for dims, *_ in (*labelled.values(), *arrays.values()) for d in dims} - {"time"}
        digits = "f4" if any(self.digits(x) == "f4" for x in arrays) else "f8"
        return Contents(
            self.attributes, {x: sizes[x] for x in used}, read_only(labelled), arrays, digits
        )

    def close(self) -> None:
        """Close the file."""
        self._h5.close()


def _opened(path: Path) -> Any:
    """Return a file as ``h5py.File``, or raise an error that names it."""
    h5py, _ = libraries(f"load {path.name}")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not h5py.is_hdf5(path):
        raise DamagedFileError(f"load: {path} is not a file of HDF5")
    _require_heaps(path, head)
    try:
        try:
            return h5py.File(path, "r")
        except BlockingIOError:  # who has just replaced it holds its lock, and writes no more
            return h5py.File(path, "r", locking=False)
    except Exception as error:
        ends = re.search(r"eof = (\d+).*stored_eof = (\d+)", str(error))
        why = f"is incomplete: {ends[1]} of {ends[2]} bytes are there" if ends else (
            f"cannot be read: {error}"
        )  # fmt: skip
        raise DamagedFileError(
            f"load: {path} {why}; copy it again, or run the model again"
        ) from None


def _require_heaps(path: Path, data: bytes) -> None:
    """Refuse tables of texts (global heaps) with steps of zero, which HDF5 follows for ever."""
    at = data.find(_HEAP)
    while at >= 0:
        place, end = at + 16, min(at + int.from_bytes(data[at + 8 : at + 16], "little"), len(data))
        while place + 16 <= end:
            index = int.from_bytes(data[place : place + 2], "little")
            size = int.from_bytes(data[place + 8 : place + 16], "little")
            step = 16 + (size + 7) // 8 * 8 if index else size
            if not step:
                raise DamagedFileError(f"load: {path} is damaged at byte {place}; copy it again")
            place += step
        at = data.find(_HEAP, at + 8)
