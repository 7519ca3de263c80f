"""Streamed results: a file that grows during the run.

The file is the one of ``netcdf.py``, written in HDF5's mode for a single writer and many readers:
everything that has labels exists before the first step, arrays only grow, and metadata reach the
disk in an order that leaves the file readable at any moment, so that it survives the death of the
process and can be read while the run goes on. What is not known before the end, how the run ended
and what it cost, is JSON in the variable ``outcome``; ``instants`` counts what is complete.

An append-only file of raw numbers would be simpler to keep whole, but has to be converted at the
end, which needs the space of the results twice and can itself be killed.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from mbd.base.atomic import replaced
from mbd.history.all_parts import AllParts, in_pieces
from mbd.history.trajectory import Trajectory
from mbd.integration.newton_loop import FAILED
from mbd.model.turns_so_far import Before, turns_so_far
from mbd.runs.record import ArrayRecord, Histories, RecordError
from mbd.store.damaged_files import CHECKSUM, blocks
from mbd.store.fields import EVENT_TIME, fields, sizes
from mbd.store.hdf5 import finish, let_go, libraries, named, room
from mbd.store.netcdf import append, create, write_last
from mbd.store.run_record import of_model, of_run
from mbd.store.source import FileSource

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.model.state import State

_BYTES = 1 << 23  # raw numbers kept in memory before they go to the file,
_INSTANTS, _MOST = 200, 1 << 26  # of large models more: so many instants, but not more bytes
_SECONDS = 1.0  # they go at the latest after this time, or ten times that which writing takes
_PIECE = 1 << 12  # instants that are evaluated at once
_OUTCOME = 1 << 14  # characters
_FEW = 16  # instants at least in a chunk: a run may take more steps than expected
_WHO = "simulate: stream"
_CLAIMING = threading.Lock()
_CLAIMED: WeakValueDictionary[Path, FileRecord] = WeakValueDictionary()  # by running records
_EXTRA = (
    ("instants", (), (), "i8", {"long_name": "number of instants that are complete"}),
    ("outcome", ("character",), (_OUTCOME,), "S1", {"long_name": "how the run ended, as JSON"}),
)


def _checksums(model: Model) -> Any:
    """Return the variable of the checksums of all arrays over time."""
    names = [x.name for x in fields(model) if x.dims[0] == "time"]
    length, over_time = sizes(model), [x.dims for x in fields(model) if x.dims[0] == "time"]
    n = sum(blocks((0, *(length[d] for d in dims[1:]))) for dims in over_time)
    about = {"long_name": "checksums of instants and blocks of columns", "arrays": " ".join(names)}
    return (CHECKSUM, ("time", "block"), (None, n), "u4", about)


def _of_events(names: Sequence[str]) -> list[Any]:
    """Return variables for events: times, and names as rows of characters, which may grow."""
    if not names:
        return []
    width, text = max(len(x.encode()) for x in names), {"_Encoding": "utf-8"}
    both = ("event_time", "event_character")
    return [
        ("event_time", both[:1], (None,), float, EVENT_TIME),
        ("event_name", both, (None, width), "S1", text),
    ]


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from others of its name, or None if there is none."""
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


@contextmanager
def _placed(path: Path) -> Iterator[str]:
    """Return where a file is made that has its name when it can be read."""
    if os.name == "nt":  # an open file cannot be moved there
        path.parent.mkdir(parents=True, exist_ok=True)
        yield str(path)
        return
    with replaced(path, _WHO) as file:
        yield file.name


class FileRecord:
    """Write the instants of a run to a netCDF file, with everything by name.

    Parameters
    ----------
    model : Model
    path : str or Path
        Ends in ``.nc``; a file of that name is replaced when the run starts.
    method : object
    options : mapping
        What the run was asked for; its "events" are the names of those that may happen.
    first : State
        Where the run starts; it knows the turns of the angles.
    expected : int
        How many instants there will be, about.
    """

    def __init__(
        self, model: Model, path: str | Path, method: Any, options: Mapping[str, Any], first: State,
        expected: int = 1 << 14,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        if self.path.suffix != ".nc":
            raise ValueError(
                f"simulate: stream must be the path of a file that ends in .nc, got {str(path)!r}"
            )
        self.model, self.method = model, method
        libraries(f"{_WHO} {self.path.name}")
        about = of_model(model, method, {}, self.path.parent, options)
        extra = (*_EXTRA, _checksums(model), *_of_events(options.get("events", ())))
        self._claim()
        with _placed(self.path) as new, named(_WHO, self.path):
            self._h5 = create(new, model, about, max(expected, _FEW), extra)
            try:
                self._begin()
            except BaseException:
                let_go(self._h5)
                raise
        self._own = _identity(self.path)
        self._events: list[tuple[str, float]] = []
        self._lost = False  # whether some instants could not be written
        self._n, self._before = 0, turns_so_far(model, first)
        self._buffer, self._clock = ArrayRecord(model), time.perf_counter()
        size = 8 * (2 + model.n_q + 2 * model.n_v + model.n_lam)
        self._room = max(1, _BYTES // size, min(_INSTANTS, _MOST // size))
        self._pause = _SECONDS
        self._source: FileSource | None = None

    def _claim(self) -> None:
        """Refuse a file that a run in another thread writes."""
        where, self._thread = self.path.resolve(), threading.current_thread()
        with _CLAIMING:
            other = _CLAIMED.get(where)
            if other and other._thread is not self._thread and other._thread.is_alive():
                raise ValueError(
                    f"{_WHO}: {self.path} is being written by another run; give it another name"
                )
            _CLAIMED[where] = self

    def _begin(self) -> None:
        """Ask for room for the first instant; from now on arrays only grow."""
        names = [x.name for x in fields(self.model) if x.dims[0] == "time"]
        self._arrays = {name: self._h5[name] for name in (*names, CHECKSUM)}
        self._reserved = room(self._h5, self._arrays.values(), 0, 1)
        self._h5.swmr_mode = True

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray,
        impulsive: np.ndarray,
    ) -> None:  # fmt: skip
        """Keep n instants."""
        if self._lost:
            return  # what follows a hole cannot be read
        self._buffer.append(t, q, v, a, lam, impulsive)
        late = time.perf_counter() > self._clock + self._pause
        if not self._n or len(self._buffer) >= self._room or late:
            self.flush()

    def happened(self, name: str, t: float) -> None:
        """Keep an event."""
        self._events.append((name, t))

    def _write_events(self) -> None:
        """Write the events that are in memory; names before times, which count."""
        first = len(self._h5["event_time"])
        end = first + len(self._events)
        names, times = zip(*self._events, strict=True)
        texts = self._h5["event_name"]
        width = texts.shape[1]
        raw = b"".join(x.encode().ljust(width, b"\0") for x in names)
        for array, values in (
            (texts, np.frombuffer(raw, "S1").reshape(-1, width)),
            (self._h5["event_time"], times),
        ):
            array.resize(end, axis=0)
            array[first:] = values
        self._events = []

    def flush(self) -> None:
        """Evaluate what is in memory and write it."""
        began = time.perf_counter()
        try:
            with named(_WHO, self.path):
                self._write()
        except (OSError, RuntimeError) as error:
            self._lost = True
            raise RecordError(
                f"{error}; {self._n} instants are there, which mbd.load reads"
            ) from error
        self._clock = time.perf_counter()
        self._pause = max(_SECONDS, 10 * (self._clock - began))

    def _write(self) -> None:
        if self._events:
            self._write_events()
        if not len(self._buffer):
            return
        end, full = self._n, None
        for piece in in_pieces(self._kept(self._before), _PIECE):
            s = piece.trajectory
            fit, full = self._fitting(end, len(s.t))
            part = piece if full is None else AllParts(s.part(slice(fit), s.before))
            if fit:
                append(self._h5, end, part)
                end += fit
                before = part.after()
                if not self._reserved:  # the next piece may be the last thing that is written
                    self._complete(end, before)
            if full is not None:
                break
        if end > self._n:
            self._complete(end, before)
        if full is not None:
            raise full
        self._buffer = ArrayRecord(self.model)

    def _complete(self, end: int, before: Before) -> None:
        """Bring so many instants to the file, then their number."""
        self._h5.flush()
        self._h5["instants"][()] = end
        self._h5["instants"].flush()
        self._n, self._before = end, before

    def _fitting(self, first: int, n: int) -> tuple[int, OSError | None]:
        """Return how many of n instants there is room for, and what is wrong if not for all."""
        full = None
        while n:
            try:
                room(self._h5, self._arrays.values(), self._n, first + n)
                return n, full
            except OSError as error:
                full, n = error, n // 2
        return 0, full

    def _kept(self, before: Before, last: State | None = None) -> Trajectory:
        """Return what is in memory."""
        *raw, impulsive = self._buffer.histories()
        return Trajectory(
            self.model, *raw, impulsive=impulsive,
            last=self.model.state if last is None else last, method=self.method, before=before,
        )  # fmt: skip

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> tuple[int, str]:
        """Write what is left, and how the run ended."""
        if not self._lost:
            try:
                self.flush()
            except RecordError as error:
                status, message = FAILED, str(error) if status == 0 else f"{message}; {error}"
        last = None if self._lost else last  # it is not that of the last instant there
        try:
            if last is not None:
                write_last(self._h5, AllParts(self._kept(self._before, last)))
            text = json.dumps(of_run(status, message[: _OUTCOME // 8], stats, last)).encode()
            self._h5["outcome"][: len(text)] = np.frombuffer(text, "S1")
            finish(self._h5)
        except (OSError, RuntimeError):
            let_go(self._h5)
        _CLAIMED.pop(self.path.resolve(), None)
        if self._lost and not self._n:  # the first instant is in memory
            return status, message
        if _identity(self.path) != self._own:
            raise OSError(
                f"{_WHO}: {self.path} is another file than the run wrote to, it was replaced or "
                "removed meanwhile; run again, to a name that nobody else writes to"
            )
        try:
            self._source = FileSource(self.path)
        except (OSError, ValueError):
            if not self._lost:
                raise
        return status, message

    def remark(self, message: str) -> None:
        """Write a message that says more to the place of the first one, where the file is whole."""
        if self._source is None:
            return
        array = self._source.h5["outcome"]
        about = json.loads(array[:].tobytes().rstrip(b"\0") or b"{}")
        if not about:
            return
        about["message"] = message[: _OUTCOME // 8]
        text = json.dumps(about).encode()
        with suppress(OSError), self.path.open("r+b") as file:
            file.seek(array.id.get_offset())
            file.write(text.ljust(array.size, b"\0"))

    @property
    def stored(self) -> Mapping[str, Any] | None:
        """What the file has by name, after it was closed; None of a file that cannot be read."""
        return self._source

    def histories(self) -> Histories:
        """Return t, q, v, a, lam and work of impulses of the file."""
        stored = self.stored
        if stored is None:
            return self._buffer.histories()
        t, q, v, a = (stored[x] for x in ("t", "q", "v", "a"))
        lam = stored.get("lam", np.zeros((len(t), 0)))  # a model without rows
        return t, q, v, a, lam, stored["energy.impulsive"]
