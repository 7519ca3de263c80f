"""Readers of result files: quantities by name, coordinates of the model, the record of the run.

A source is a mapping from names (``rod.position``, ``hinge.force``, ``energy.kinetic``, ``gap``,
``t``, ``q``, ``v``, ``a``, ``lam``) to arrays, time first, read when they are asked for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.columns import Column, columns, items_of
from mbd.store.cut_files import cut_of, whole_rows
from mbd.store.damaged_files import CHECKSUM, Checked, DamagedFileError, read_or_refuse
from mbd.store.hdf5 import end_of_file, opened

_ABOUT = ("version", "method", "status", "message", "stats")
_RAW = {"q": "q", "v": "v", "a": "a", "lam": "multipliers"}  # numbers of the model: labelled arrays
Read = Callable[[Callable[[], Any]], Any]  # how something is read


class OnDisk:
    """An array in a file: ``x[100:200, :3]`` reads that part, ``np.asarray(x)`` all of it."""

    def __init__(self, dataset: Any, n: int, read: Read = lambda parts: parts()) -> None:
        self._dataset, self._read = dataset, read
        self.shape = (n, *dataset.shape[1:])
        self.ndim, self.dtype = dataset.ndim, dataset.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        """Read instants, and of them columns."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, slice):
            chosen = range(len(self))[first]
            if chosen.step < 0:
                return self[(slice(chosen[-1], chosen[0] + 1, -chosen.step) if chosen else slice(0),
                             *rest)][::-1]  # fmt: skip
            rows: Any = slice(chosen.start, max(chosen.start, chosen.stop), chosen.step)
        elif isinstance(first, int | np.integer):
            rows = range(len(self))[int(first)]
        else:
            return np.asarray(self)[key]
        if all(isinstance(k, int | np.integer | slice) for k in rest):
            return self._read(lambda: self._dataset[(rows, *rest)])
        if isinstance(rows, int):
            return self._read(lambda: self._dataset[rows])[tuple(rest)]
        return self._read(lambda: self._dataset[rows])[(slice(None), *rest)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read everything."""
        return np.asarray(self._read(lambda: self._dataset[: len(self)]), dtype)

    def __repr__(self) -> str:
        return f"OnDisk(shape={self.shape})"


@dataclass(frozen=True)
class PastEvent:
    """An event of a run that was stored: name and time [s]; the state there is not."""

    name: str
    t: float


class Source(Mapping[str, Any]):
    """What is common to all files of results.

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
    speeds: list[str]
    ends: Mapping[str, Sequence[Any]]
    last_alg: np.ndarray | None = None
    last_memory: np.ndarray | None = None

    @property
    def exact(self) -> bool:
        """Whether the numbers of the model are there with all their digits."""
        return True


class FileSource(Source):
    """A netCDF file, also of a run that was killed or is still going on."""

    def __init__(self, path: Path) -> None:
        self.path, self._cut = path, cut_of(path) if path.is_file() else None
        self.h5 = opened(path)
        growing = end_of_file(path)[1]
        self._read: Read = partial(read_or_refuse, path, growing=growing)
        if not self._read(lambda: "schema" in self.h5.attrs):
            raise ValueError(f"load: {path} was not written by mbd: it has no attribute 'schema'")
        try:
            self._read(self._understand)
        except DamagedFileError:
            if self._cut is None:
                raise
            raise DamagedFileError(
                f"load: {path} is incomplete: {str(self._cut).replace(' of the file', '')}; copy "
                "it again, or run the model again"
            ) from None

    def _understand(self) -> None:
        """Read everything but the histories."""
        n = counted = len(self.h5["time"])
        attributes = {  # one number is an array of one in netCDF
            name: x[0].item() if isinstance(x, np.ndarray) and x.shape == (1,) else x
            for name, x in self.h5.attrs.items()
        }
        if "outcome" in self.h5:
            counted = min(n, int(self.h5["instants"][()]))
            n = self._whole(counted)
            attributes |= self._outcome(n, counted)
        self.n = n
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
        gap = str(self.h5["gap"].attrs["units"]) if "gap" in self.h5 else ""
        both = zip(self._labels("body"), self._labels("formulation"), strict=True)
        turning = {name for name, formulation in both if formulation != "point"}
        breathing = turning if "scale" in self.h5 else ()
        items = items_of(cache(self._labels), turning, breathing, gap)
        self.columns = {k: x for k, x in columns(items).items() if x.array in self.h5}
        self.speeds = self._labels("speed")
        self.ends = self._ends({x.name: x.place for x in items["element"]})
        raw = [name for name, array in _RAW.items() if array in self.h5]
        self._names = dict.fromkeys((*self.columns, *raw))
        times = self._rows("event_time").tolist() if "event_time" in self.h5 else []
        happened = zip(self._labels("event_name"), times, strict=False)  # the last may be written
        self.events = [PastEvent(name, t) for name, t in happened]
        alg = self.h5["last_alg"][:]
        if np.all(np.isfinite(alg)) and n == counted:
            memory = self.h5["last_memory"][:] if "last_memory" in self.h5 else np.zeros(0)
            self.last_alg, self.last_memory = read_only((alg, memory))

    def __reduce__(self) -> Any:
        """Return the file, which another process reads again."""
        return FileSource, (self.path.resolve(),)

    def _ends(self, beams: Mapping[str, Any]) -> dict[str, list[Any]]:
        words = ("end_body", "end_point", "end_axes", "station") if beams else ()
        bodies, *numbers = (self.h5[x][:] for x in words) if beams else ([],)
        names = np.array([[x.decode() for x in both] for both in bodies])
        return {beam: [x[here] for x in (names, *numbers)] for beam, here in beams.items()}

    def _whole(self, n: int) -> int:
        """Return how many of n instants are there, of a file that may have lost its end."""
        for name, array in self.h5.items():
            if not name.startswith("event_") and self._cut:
                n = whole_rows(self.path, array, n, self._cut)
        return n

    def _outcome(self, n: int, counted: int) -> dict[str, Any]:
        """Return how a streamed run ended, of which n instants are read."""
        text = self.h5["outcome"][:].tobytes().rstrip(b"\0")
        if text and n == counted:
            return dict(json.loads(text))
        end = f"read up to t = {float(self.h5['time'][n - 1]) if n else 0.0:.6g} s"
        if self._cut is None:
            return {"status": -1, "message": f"the run was killed or is still going on: {end}"}
        how_many = (
            f"{n} instants that were written" if n == counted else f"{n} of {counted} instants"
        )
        message = f"the run was cut off, {self._cut}: {how_many} are whole, {end}"
        if n < counted:
            warnings.warn(f"load: {self.path}: {message}", RuntimeWarning, stacklevel=2)
        return {"status": -1, "message": message}

    def _rows(self, name: str) -> Any:
        """Return all rows that are there."""
        array = self.h5[name]
        return array[: whole_rows(self.path, array, len(array), self._cut)]

    def _labels(self, name: str) -> list[str]:
        """Return texts; those of a stream are rows of characters."""
        if name not in self.h5:
            return []
        rows = self._rows(name)
        return [(x if rows.ndim == 1 else x.tobytes().rstrip(b"\0")).decode() for x in rows]

    def __getitem__(self, name: str) -> Any:
        """Read a quantity; of the numbers of the model only what is asked of them."""
        if name in self._names and name in _RAW:
            return OnDisk(self._read(lambda: self.array(_RAW[name])), self.n, self._read)
        x = self.columns[name]
        values = self._read(lambda: self.array(x.array)[(slice(0, self.n), *x.place)])
        return read_only(np.asarray(values, float))

    def rows(self, name: str, here: Any) -> Any:
        """Read instants of an array of the file."""
        return self._read(lambda: self.array(name)[here])

    def array(self, name: str) -> Any:
        """Return an array of the file; of a stream one that is compared with its checksums."""
        summed = CHECKSUM in self.h5 and name in str(self.h5[CHECKSUM].attrs["arrays"]).split(" ")
        return Checked(self.h5, name) if summed else self.h5[name]

    @property
    def exact(self) -> bool:
        """Whether the numbers of the model are there with all their digits."""

        def there() -> bool:
            needed = [x for x in _RAW.values() if x != "multipliers" or "row" in self.h5]
            return all(x in self.h5 and self.h5[x].dtype == np.float64 for x in needed)

        return bool(self._read(there))

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
        read_or_refuse(path, self._understand)

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
        for name in ("last_alg", "last_memory"):
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
