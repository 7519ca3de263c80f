"""Streamed results: a file that grows during the run.

While the run goes on it is a log (``log.py``) with everything by name; at the end netCDF is made of
it, under the same name. That needs the space of the results twice: where it is not there, or the
process is killed, the log stays, which ``mbd.load`` reads.
"""

import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.atomic import explained
from mbd.history.all_parts import AllParts, in_pieces
from mbd.history.impacts import NO_IMPACTS
from mbd.history.trajectory import Trajectory
from mbd.integration.newton_loop import FAILED
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import MEMORY, turns_so_far
from mbd.runs.record import ArrayRecord, Histories, RecordError
from mbd.store.contents import Contents
from mbd.store.fields import fields, impulses_in
from mbd.store.log import LogWriter
from mbd.store.netcdf import libraries, write
from mbd.store.run_record import of_model, of_run
from mbd.store.source import FileSource

_BYTES = 1 << 23  # raw numbers kept in memory before they go to the file,
_INSTANTS, _MOST = 200, 1 << 26  # of large models more: so many instants, but not more bytes
_SECONDS = 1.0  # they go at the latest after this time, or ten times that which writing takes
_PIECE = 1 << 12  # instants that are evaluated at once
_LONGEST = 1 << 10  # characters of a message, where it must have room on a full disk
_WHO = "simulate: stream"


class FileRecord:
    """Write the instants of a run to a file, with everything by name.

    Parameters
    ----------
    model : Model
    path : str or Path
        Ends in ``.nc``; a file of that name is replaced when the run starts.
    method : object
    options : mapping
        What the run was asked for.
    first : State
        Where the run starts; it knows the turns of the angles.
    """

    def __init__(
        self, model: Model, path: str | Path, method: Any, options: Mapping[str, Any], first: State
    ) -> None:
        self.path = Path(path)
        if self.path.suffix != ".nc":
            raise ValueError(
                f"simulate: stream must be the path of a file that ends in .nc, got {str(path)!r}"
            )
        self.model, self.method = model, method
        libraries(f"{_WHO} {self.path.name}")
        about = of_model(model, method, {}, self.path.parent, options)
        self._log = LogWriter(self.path, Contents.of(model, about, fields(model)), _WHO)
        self._events: list[tuple[str, float]] = []
        self._impacts = NO_IMPACTS  # that are not written yet
        self._lost = False  # whether some instants could not be written
        self._before = turns_so_far(model, first)
        self._buffer, self._clock = ArrayRecord(model), time.perf_counter()
        size = 8 * (2 + model.n_q + 2 * model.n_v + model.n_lam)
        self._room = max(1, _BYTES // size, min(_INSTANTS, _MOST // size))
        self._pause = _SECONDS
        self._source: FileSource | None = None

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray,
        impulsive: np.ndarray,
    ) -> None:  # fmt: skip
        """Keep n instants."""
        if self._lost:
            return  # what follows a hole cannot be read
        self._buffer.append(t, q, v, a, lam, impulsive)
        late = time.perf_counter() > self._clock + self._pause
        if not self._log.n or len(self._buffer) >= self._room or late:
            self.flush()

    def happened(self, name: str, t: float) -> None:
        """Keep an event."""
        self._events.append((name, t))

    def struck(self, impacts: np.ndarray) -> None:
        """Keep impacts."""
        self._impacts = np.concatenate([self._impacts, impacts])

    @property
    def impacts(self) -> np.ndarray:
        """All impacts of the file, when it is complete."""
        return self._impacts if self._source is None else self._source.impacts

    def flush(self) -> None:
        """Evaluate the instants in memory and write them."""
        began = time.perf_counter()
        try:
            self._write()
        except OSError as error:
            self._lost = True
            raise RecordError(
                f"{explained(error, _WHO, self.path)}; {self._log.n} instants are there, which "
                "mbd.load reads"
            ) from error
        self._clock = time.perf_counter()
        self._pause = max(_SECONDS, 10 * (self._clock - began))

    def _write(self) -> None:
        if not len(self._buffer):
            return
        names = [x for x in fields(self.model) if x.dims[0] == "time"]
        for piece in in_pieces(self._kept(), _PIECE):
            arrays = {x.name: x.values(piece) for x in names}
            after = piece.after()
            self._put(arrays, len(piece.trajectory.t), after.get(MEMORY, np.empty(0)))
            self._before = after
        self._buffer = ArrayRecord(self.model)

    def _put(self, arrays: dict[str, np.ndarray], n: int, memory: np.ndarray) -> None:
        """Write n instants, and what elements remember then; or as many as there is room for."""
        full: OSError | None = None
        while n:
            more = self._told()
            if self.model.remembered:
                more |= {"last": {"last_memory": memory if full is None else []}}
            try:
                self._log.append(n, {k: x[:n] for k, x in arrays.items()}, more)
                break
            except OSError as error:
                full, n = error, n // 2
        if full is not None:
            raise full
        self._events, self._impacts = [], self._impacts[:0]

    def _told(self) -> dict[str, Any]:
        """Return the events and impacts that are in memory, as a log has them."""
        told = {"events": self._events, "impacts": self._impacts.tolist()}
        return {name: lines for name, lines in told.items() if lines}

    def _kept(self, last: State | None = None) -> Trajectory:
        """Return the instants in memory."""
        *raw, impulsive = self._buffer.histories()
        return Trajectory(
            self.model, *raw, impulsive=impulsive, method=self.method, before=self._before,
            last=self.model.state if last is None else last,
        )  # fmt: skip

    def complete(self, status: int, message: str) -> tuple[int, str]:
        """Write the last instants; return status and message, which say more if that fails."""
        if self._source is not None:
            return status, message
        if not self._lost:
            try:
                self.flush()
            except RecordError as error:
                status, message = FAILED, str(error) if status == 0 else f"{message}; {error}"
        if self._lost and not self._log.n:  # the first instant is in memory
            return status, message
        if self._log.replaced:
            raise OSError(
                f"{_WHO}: {self.path} is another file than the run wrote to, it was replaced or "
                "removed meanwhile; run again, to a name that nobody else writes to"
            )
        self._source = FileSource(self.path)
        return status, message

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> None:
        """Write how the run ended, and make netCDF of the log; where that fails, it stays a log."""
        status, message = self.complete(status, message)
        try:
            if self._lost:
                self._log.note(status=status, message=message[:_LONGEST])
            else:
                self._end(of_run(status, message, stats, last), last)
        except (OSError, RuntimeError) as error:
            warnings.warn(
                f"{explained(error, _WHO, self.path) if isinstance(error, OSError) else error}; "
                "all instants are there, in the form that runs write: mbd.load reads them, and "
                "solution.save or `mbd convert` write them to another .nc file",
                RuntimeWarning, stacklevel=3,
            )  # fmt: skip
        finally:
            self._log.close()
            if self._source is not None:
                self._source.open()

    def _end(self, outcome: dict[str, Any], last: State | None) -> None:
        """Write how the run ended, and of which state, then all in its last form."""
        at_end: dict[str, np.ndarray] = {}
        if last is not None:
            state = AllParts(self._kept(last))
            at_end = {x.name: x.values(state) for x in fields(self.model) if x.dims[0] != "time"}
        self._log.append(0, {}, {**self._told(), "last": at_end, "outcome": outcome})
        source = FileSource(self.path)
        if os.name != "nt":
            write(source, self.path, _WHO)
            return
        new = write(source, self.path.with_name(f"{self.path.stem}.new.nc"), _WHO)
        source.close()  # an open file cannot be replaced there
        self._log.close()
        if self._source is not None:
            self._source.close()
        os.replace(new, self.path)

    @property
    def stored(self) -> Mapping[str, Any] | None:
        """Quantities of the file by name, when it is complete; None if it cannot be read."""
        return self._source

    def histories(self) -> Histories:
        """Return t, q, v, a, lam and work of impulses of the file."""
        stored = self.stored
        if stored is None:
            return self._buffer.histories()
        t, q, v, a = (stored[x] for x in ("t", "q", "v", "a"))
        lam = stored.get("lam", np.zeros((len(t), 0)))  # a model without rows
        return t, q, v, a, lam, impulses_in(stored)
