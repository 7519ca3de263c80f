"""Readers of result files: quantities by name, coordinates of the model, the record of the run.

A source is a mapping from names (``rod.position``, ``hinge.force``, ``energy.kinetic``, ``gap``,
``t``, ``q``, ``v``, ``a``, ``lam``) to arrays, time first, read when they are asked for.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.columns import Column, columns, items_of
from mbd.history.impacts import NO_IMPACTS
from mbd.store.contents import Contents, DamagedFileError, PastEvent
from mbd.store.log import MAGIC, Log
from mbd.store.netcdf import NetCDF, libraries

_T = TypeVar("_T")
_LONGEST = 200  # characters of what a library says of a file
_PIECE = 1 << 12  # instants that are read at once where all are
_ABOUT = ("version", "method", "status", "message", "stats")
_RAW = {"q": "q", "v": "v", "a": "a", "lam": "multipliers"}  # numbers of the model: labelled arrays


def _read_or_refuse(path: Path, read: Callable[[], _T]) -> _T:
    """Return the value of ``read()``; any error that it raises becomes one that names the file.

    Libraries that read a damaged file raise errors of all kinds.
    """
    try:
        return read()
    except (DamagedFileError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:_LONGEST] or "no reason told"
        raise DamagedFileError(
            f"load: {path} is not a whole file of results ({type(error).__name__}: {why}); copy it "
            "again, or run the model again"
        ) from None


class OnDisk:
    """An array in a file: ``x[100:200, :3]`` reads that part, ``np.asarray(x)`` all of it.

    Parameters
    ----------
    read : callable
        ``(instants, *columns) -> array``: a slice forwards, and indices or slices of columns.
    n : int
        How many instants there are.
    """

    def __init__(self, read: Callable[..., np.ndarray], n: int) -> None:
        none = read(slice(0, 0))
        self._read, self.shape = read, (n, *none.shape[1:])
        self.ndim, self.dtype = none.ndim, none.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Read instants, and of them columns."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, int | np.integer):
            row = range(len(self))[int(first)]
            return self[(slice(row, row + 1), *rest)][0]
        if not isinstance(first, slice):
            return np.asarray(self)[key]
        chosen = range(len(self))[first]
        if chosen.step < 0:
            forwards = chosen[::-1]
            return self[(slice(forwards.start, forwards.stop, forwards.step), *rest)][::-1]
        rows = slice(chosen.start, max(chosen.start, chosen.stop), chosen.step)
        if all(isinstance(k, int | np.integer | slice) for k in rest):
            return self._read(rows, *rest)
        return self._read(rows)[(slice(None), *rest)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read everything."""
        return np.asarray(self._read(slice(0, len(self))), dtype)

    def __repr__(self) -> str:
        return f"OnDisk(shape={self.shape})"


class Source(Mapping[str, Any]):
    """A file of results: quantities by name, the record of the run.

    Attributes
    ----------
    path : Path
    about : dict
        version, method, options of the run, status, message, stats, notes; model, its text, empty
        if there is none;
        off, the names of joints that are off at the end.
    columns : dict
        Unit and components of each quantity by its full name, ``rod.position``.
    events : list of PastEvent
    impacts : (n, 13) array
        Numbers of ``Solution.impacts``.
    set_valued : sequence of str
        Names of the elements with set-valued laws.
    speeds : list of str
        Labels of velocities.
    ends : dict
        Of the elements of each beam bodies (k, 2), points (k, 2, 3) and axes (k, 2, 3, 3) in them,
        stations (k, 2).
    """

    path: Path
    about: dict[str, Any]
    columns: dict[str, Column]
    events: list[PastEvent]
    impacts: np.ndarray
    set_valued: Sequence[str]
    speeds: list[str]
    ends: Mapping[str, Sequence[Any]]
    last_alg: np.ndarray | None = None
    last_memory: np.ndarray | None = None
    last_set_valued: np.ndarray | None = None

    @property
    def exact(self) -> bool:
        """Whether the numbers of the model are there with all their digits."""
        return True


class FileSource(Source):
    """A netCDF file, or the log of a run that was killed or is still going on.

    What is in it can be written to another one (``Tables`` of ``contents.py``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        libraries(f"load {path.name}")
        if not path.is_file():
            raise FileNotFoundError(f"load: {path}: no such file")
        self.open()

    def open(self) -> None:
        """Read all but the histories, of the file that has that name now."""
        with self.path.open("rb") as file:
            reader = Log if file.read(len(MAGIC)) == MAGIC else NetCDF
        self._file: Log | NetCDF = _read_or_refuse(self.path, lambda: reader(self.path))
        _read_or_refuse(self.path, self._understand)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _understand(self) -> None:
        """Read all but the histories."""
        file = self._file
        attributes = file.attributes
        attributes |= self._unfinished()
        head = "statistics_"
        self.about = {
            "version": attributes["mbd_version"],
            "model": attributes.get("model", ""),
            "method": attributes["method"],
            "status": attributes["status"],
            "message": attributes["message"],
            "stats": {k.removeprefix(head): x for k, x in attributes.items() if k.startswith(head)},
            "options": json.loads(attributes.get("run", "{}")),
            "notes": json.loads(attributes.get("notes", "{}")),
            "off": json.loads(attributes.get("off", "[]")),
            "last_step": attributes.get("last_step"),
            "threads": attributes.get("threads", 1),
        }
        gap = file.unit("gap") if file.digits("gap") else ""
        both = zip(file.label("body"), file.label("formulation"), strict=True)
        turning = {name for name, formulation in both if formulation != "point"}
        breathing = turning if file.digits("scale") else ()
        items = items_of(cache(file.label), turning, breathing, gap)
        self.columns = {k: x for k, x in columns(items).items() if file.digits(x.array)}
        self.speeds, self.set_valued = file.label("speed"), file.label("set_valued")
        self.impacts = file.impacts
        words = ("end_body", "end_point", "end_axes", "station") if items["element"] else ()
        texts = [np.asarray(file.label(x)) for x in words]
        self.ends = read_only({x.name: [y[x.place] for y in texts] for x in items["element"]})
        raw = [name for name, array in _RAW.items() if file.digits(array)]
        self._names = dict.fromkeys((*self.columns, *raw))
        self.n, self.events = file.n, file.events
        if file.n == file.written:
            there = read_only({k: x for k, x in file.last.items() if np.isfinite(x).all()})
            self.last_alg, self.last_set_valued = map(there.get, ("last_alg", "last_set_valued"))
            if len(there.get("last_memory", ())):  # alone of a run that was killed
                self.last_memory = there["last_memory"]

    def _unfinished(self) -> dict[str, Any]:
        """Return the outcome of a run that did not tell it."""
        x = self._file
        if "status" in x.attributes and x.n == x.written:
            return {}
        t = float(x.read("time", slice(x.n - 1, x.n))[0]) if x.n else 0.0
        end = f"read up to t = {t:.6g} s"
        if not x.lost:
            return {"status": -1, "message": f"the run was killed or is still going on: {end}"}
        how_many = (
            f"{x.n} instants that were written" if x.n == x.written
            else f"{x.n} of {x.written} instants"
        )  # fmt: skip
        message = f"the run was cut off, {x.lost}: {how_many} are whole, {end}"
        if x.n < x.written:
            warnings.warn(f"load: {self.path}: {message}", RuntimeWarning, stacklevel=2)
        return {"status": -1, "message": message}

    @property
    def contents(self) -> Contents:
        """Labels, units, attributes and arrays, without their numbers."""
        return _read_or_refuse(self.path, lambda: self._file.contents)

    def pieces(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the arrays of some instants after the other, with those of the last instant."""
        names = self.contents.over_time()
        for first in range(0, self.n or 1, _PIECE):
            here = slice(first, min(first + _PIECE, self.n))
            yield {name: self.rows(name, here) for name in names} | self._file.last

    def __reduce__(self) -> Any:
        """Return the file, which another process reads again."""
        return FileSource, (self.path.resolve(),)

    def __getitem__(self, name: str) -> Any:
        """Read a quantity; numbers of the model when instants of them are asked for."""
        if name in self._names and name in _RAW:
            return OnDisk(partial(self.rows, _RAW[name]), self.n)
        x = self.columns[name]
        return read_only(np.asarray(self.rows(x.array, slice(0, self.n), *x.place), float))

    def rows(self, name: str, rows: slice, *columns: Any) -> np.ndarray:
        """Read instants of an array of the file, and of them columns."""
        return _read_or_refuse(self.path, lambda: self._file.read(name, rows, *columns))

    @property
    def exact(self) -> bool:
        """Whether the numbers of the model are there with all their digits."""
        needed = [x for x in _RAW.values() if x != "multipliers" or self._file.label("row")]
        return all(self._file.digits(x) == "f8" for x in needed)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class ArchiveSource(Source):
    """A numpy archive, read at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise FileNotFoundError(f"load: {path}: no such file")
        _read_or_refuse(path, self._understand)

    def _understand(self) -> None:
        """Read everything."""
        path = self.path
        with path.open("rb") as file:
            head = file.read(6)
        if head and head[:2] != b"PK" and head != b"\x93NUMPY":
            raise DamagedFileError(
                f"load: {path} is not a whole file of results (no archive of numpy, by its first "
                f"bytes {head!r}); copy it again, or run the model again"
            )
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            if isinstance(data, np.ndarray):
                raise DamagedFileError(f"load: {path} is not an archive of numpy, but one array")
            self._arrays = read_only({name: data[name] for name in data.files})
        if "about" not in self._arrays:
            raise DamagedFileError(f"load: {path} was not written by mbd: it has no array 'about'")
        record = json.loads(str(self._arrays.pop("about")))
        self._check_states()
        self.about = {name: record.pop(name) for name in _ABOUT}
        self.about["model"] = record.pop("model", "")
        self.about |= {"off": record.pop("off", []), "options": record.pop("run", {})}
        self.about["last_step"] = record.pop("last_step", None)
        self.about["threads"] = record.pop("threads", 1)
        self.events = [PastEvent(*x) for x in record.pop("events", [])]
        record.pop("loads", None)
        self.ends, self.speeds = record.pop("ends", {}), self._arrays["v.labels"].tolist()
        inside = record.get("components", {})
        self.columns = {k: Column(x, tuple(inside.get(k, ()))) for k, x in record["units"].items()}
        self.about["notes"] = {k: x for k, x in record.items() if k not in ("units", "components")}
        self.impacts = self._arrays.pop("impacts", NO_IMPACTS)
        self.set_valued = record.pop("set_valued", [])
        for name in ("last_alg", "last_memory", "last_set_valued"):
            setattr(self, name, self._arrays.pop(name, None))

    def _check_states(self) -> None:
        """Refuse a file without instants and the state at each, numbers of one length."""
        n = self._arrays["t"].shape
        for name, rank in (("t", 1), ("q", 2), ("v", 2), ("a", 2), ("lam", 2)):
            x = self._arrays[name]
            if x.dtype != float or x.ndim != rank or x.shape[:1] != n:
                raise ValueError(f"{name!r} must be numbers over time, got shape {x.shape}")

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)
