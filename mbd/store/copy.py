"""Copies of netCDF results without their model: as a data set, or in another file.

A file whose run was killed is marked as open, and other programs refuse it; the copy is one that
they read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.atomic import replaced
from mbd.store.damaged_files import CHECKSUM
from mbd.store.hdf5 import libraries, named, room, whole
from mbd.store.netcdf import FORMAT
from mbd.store.run_record import of_run
from mbd.store.source import FileSource

if TYPE_CHECKING:
    import xarray as xr

    from mbd.store.source import Source

_PIECE = 1 << 12  # instants
_OF_STREAMS = ("instants", "outcome", CHECKSUM)  # what they say is among the attributes of a copy


def _file(source: Source, who: str) -> FileSource:
    if not isinstance(source, FileSource):
        raise TypeError(
            f"{who}: {source.path.name} has arrays without labels and no model; "
            "read arrays by name from .source, or save the run as .nc where it is made"
        )
    return source


def _run(source: FileSource) -> dict[str, Any]:
    """Return how the run ended, as attributes."""
    about = source.about
    return of_run(int(about["status"]), str(about["message"]), about["stats"])


def to_xarray(source: Source) -> xr.Dataset:
    """Return all instants that are complete."""
    import xarray as xr

    source = _file(source, "to_xarray")
    _, h5netcdf = libraries("to_xarray")
    store = xr.backends.H5NetCDFStore(h5netcdf.File(source.h5, "r", decode_vlen_strings=True))
    data = xr.open_dataset(store).drop_vars(_OF_STREAMS, errors="ignore")
    for name in data.variables if CHECKSUM in source.h5 else ():
        if data[name].dims[:1] == ("time",):
            source.rows(str(name), slice(source.n))
    return data.isel(time=slice(source.n)).load().assign_attrs(_run(source))


def save(source: Source, path: Path) -> Path:
    """Write all instants that are complete to a file ``.nc``, piece by piece."""
    if path.suffix != ".nc":
        raise ValueError(
            f"save: without its model a run is copied to .nc only, got {str(path)!r}; take arrays "
            "by name from .source, or a data set from to_xarray()"
        )
    source = _file(source, "save")
    h5py, h5netcdf = libraries(f"save {path.name}")
    with replaced(path, "save") as file, named("save", path):
        how = {"libver": (FORMAT, FORMAT), "track_order": True, "locking": False}
        h5 = h5py.File(file.name, "w", **how)
        with whole(h5), h5netcdf.File(source.h5, "r") as old, h5netcdf.File(h5, "r+") as nc:
            _copy(source, old, nc, h5)
    return path


def _copy(source: FileSource, old: Any, nc: Any, h5: Any) -> None:
    """Copy all variables piece by piece, where there is room for them."""
    kept = {name: x for name, x in old.variables.items() if name not in _OF_STREAMS}
    over_time = [name for name, x in kept.items() if x.dimensions[:1] == ("time",)]
    used = {d for x in kept.values() for d in x.dimensions}
    nc.dimensions = {
        d: None if x.isunlimited() else x.size for d, x in old.dimensions.items() if d in used
    }
    nc.attrs.update({**old.attrs, **_run(source)})
    for name, x in kept.items():
        y = nc.create_variable(
            name, x.dimensions, x.dtype, chunks=x.chunks, fillvalue=None,
            fletcher32=name in over_time,
        )  # fmt: skip
        y.attrs.update(x.attrs)
    room(h5, (h5[name] for name in over_time), 0, source.n)
    for d in nc.dimensions:
        if nc.dimensions[d].isunlimited():
            nc.resize_dimension(d, source.n if d == "time" else len(source.events))
    for name, x in kept.items():
        for first in range(0, source.n if name in over_time else 1, _PIECE):
            here = slice(first, min(first + _PIECE, source.n))
            at = here if name in over_time else ...
            nc[name][at] = source.rows(name, at) if name in over_time else x[at]
