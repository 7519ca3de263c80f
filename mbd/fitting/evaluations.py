"""Evaluations at values of parameters, each made once, kept in memory and in a file.

 Solvers of scipy are deterministic: one that is started again asks for the same
values, and is answered from the file up to where it was stopped.
"""

import json
import os
import warnings
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np

from mbd.base.atomic import explained, replaced
from mbd.base.checked import file_path, flag
from mbd.base.identity import Identity, differences
from mbd.base.tolerances import FIT_SAME
from mbd.front.simulate import SimulationError
from mbd.runs.progress import Progress
from mbd.statics.search import EquilibriumError

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
_FAILURES = (SimulationError, EquilibriumError, ValueError, ArithmeticError)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results at some values of the parameters.

    Attributes
    ----------
    x : (p,) array
    values : (m,) array
    jacobian : (m, p) array
    failure : str
        Why there are no values, or nothing.
    """

    x: np.ndarray
    values: np.ndarray
    jacobian: np.ndarray
    failure: str = ""


class Evaluations:
    """A function with its Jacobian, evaluated once at each point.

    Parameters
    ----------
    who : str
        Who speaks in errors.
    names : list of str
        Of the parameters.
    function : callable
        ``function(x) -> values, jacobian``.
    carry : callable
        ``carry(into)`` adds to an ``Identity`` what evaluations follow from.
    file : path, optional
        Evaluations are appended to it, and those in it are not made again.
    progress : bool, optional
    """

    def __init__(
        self, who: str, names: Sequence[str], function: Function,
        carry: Callable[[Identity], None], file: Any, progress: Any,
    ) -> None:  # fmt: skip
        self.who, self.names, self.function = who, list(names), function
        self.used: dict[bytes, Evaluation] = {}  # in this call
        self.kept: dict[bytes, Evaluation] = {}  # those of the file too
        if progress is not None:
            flag(who, "progress", progress)
        self.bar = Progress(float("inf"), "run", progress)
        self.file = None if file is None else file_path(who, file)
        if self.file is not None:
            now = Identity()
            carry(now)
            self._open(self.file, now.table)

    def __enter__(self) -> Self:
        self.bar.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.__exit__()

    def at(self, x: np.ndarray) -> Evaluation:
        """Return the evaluation at x."""
        key = np.asarray(x, float).tobytes()
        if key not in self.used:
            if key not in self.kept:
                self.kept[key] = self._evaluated(np.array(x, float))
                self._append(self.kept[key])
            self.used[key] = self.kept[key]
            self.bar.update(1)
        return self.used[key]

    def first(self, x: np.ndarray) -> Evaluation:
        """Return the evaluation at the start, which must not fail."""
        start = self.at(x)
        if start.failure:
            where = f"at the start, {self._words(x)}"
            raise ValueError(f"{self.who}: there is no run {where}: {start.failure}")
        return start

    @property
    def failures(self) -> list[tuple[dict[str, float], str]]:
        """Values at which there was no run, and why."""
        return [
            (dict(zip(self.names, x.x.tolist(), strict=True)), x.failure)
            for x in self.used.values() if x.failure
        ]  # fmt: skip

    def last_failure(self) -> str:
        """Return where there was no run last, and why."""
        last = [x for x in self.used.values() if x.failure][-1]
        return f"{last.failure} ({self._words(last.x)})"

    def _words(self, x: np.ndarray) -> str:
        return ", ".join(f"{name} = {v:.6g}" for name, v in zip(self.names, x, strict=True))

    def _evaluated(self, x: np.ndarray) -> Evaluation:
        p = len(self.names)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of trials that are left again
                values, jacobian = self.function(x)
            if np.isfinite(values).all() and np.isfinite(jacobian).all():
                return Evaluation(x, values, jacobian)
            text = "the results are not finite"
        except _FAILURES as error:
            text = " ".join(str(error).split()).removeprefix(f"{self.who}: ")
            text = text or type(error).__name__
        return Evaluation(x, np.zeros(0), np.zeros((0, p)), text)

    def _open(self, path: Path, now: dict[str, str]) -> None:
        """Read what is in the file; leave out a line that was cut off or damaged."""
        if not path.exists() or path.stat().st_size == 0:
            with replaced(path, self.who) as stream:
                head = {"mbd": self.who, "parameters": self.names, "identity": now}
                stream.write(_line(head))
            return
        with path.open("r+b") as stream:
            line = stream.readline()
            head = _read(line)
            if (head.get("mbd"), head.get("parameters")) != (self.who, self.names):
                raise ValueError(
                    f"{self.who}: {path} must be a file of this call with the parameters "
                    f"{', '.join(self.names)}, and is another one; choose another name"
                )
            if other := differences(head.get("identity"), now):
                raise ValueError(
                    f"{self.who}: {path} has evaluations of another call, which differs in "
                    f"{other}; choose another name, or remove it"
                )
            good, p = len(line), len(self.names)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                good += len(line)
                if one := _read(line):  # or it is made again
                    numbers = np.frombuffer(b64decode(one["numbers"]))
                    m = (len(numbers) - p) // (1 + p)
                    x, values, jacobian = np.split(numbers, [p, p + m])
                    self.kept[x.tobytes()] = Evaluation(
                        x, values, jacobian.reshape(m, p), one["failure"]
                    )
            stream.truncate(good)
        if self.kept:
            self._check(path, next(iter(self.kept.values())))

    def _check(self, path: Path, old: Evaluation) -> None:
        """Refuse a file of another model or other measurements: its first values are made again."""
        new = self._evaluated(old.x)
        same = new.values.shape == old.values.shape and bool(new.failure) == bool(old.failure)
        pairs = ((new.values, old.values), (new.jacobian, old.jacobian))
        if not same or any(np.linalg.norm(a - b) > FIT_SAME * np.linalg.norm(b) for a, b in pairs):
            raise ValueError(
                f"{self.who}: {path} has evaluations of another model, other data or another run; "
                "choose another name, or remove it"
            )

    def _append(self, new: Evaluation) -> None:
        if self.file is None:
            return
        numbers = np.concatenate([new.x, new.values, new.jacobian.ravel()])
        line = _line({"numbers": b64encode(numbers.tobytes()).decode(), "failure": new.failure})
        try:
            with self.file.open("ab", buffering=0) as stream:
                whole = stream.tell()
                try:
                    rest = memoryview(line)
                    while rest:  # a disk that is nearly full takes a piece
                        rest = rest[stream.write(rest) :]
                    os.fsync(stream.fileno())
                except BaseException:
                    stream.truncate(whole)  # so that the next one can be read
                    raise
        except OSError as error:  # what was computed is there all the same
            warnings.warn(
                f"{explained(error, self.who, self.file)}; the evaluation is kept in memory alone",
                RuntimeWarning,
                stacklevel=2,
            )


def _line(values: Any) -> bytes:
    """Return a line of a file: a checksum, and JSON."""
    text = json.dumps(values).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _read(line: bytes) -> dict[str, Any]:
    """Return what a line says; nothing of one that is damaged, or of a file of another kind."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    return json.loads(text) if checksum == b"%08x" % crc32(text) else {}
