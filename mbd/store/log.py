"""Logs of runs: files that only grow, of which every whole block can be read at any moment.

A stream writes a log while its run goes on. After ``MAGIC`` there are

- the note, in a place of 16 kB, the only one that is written again: how many instants and bytes
  are complete, and how the run ended. So a file that lost its end is told from one whose run was
  killed, and a full disk has room for the reason;
- the contents of the file (``contents.py``);
- blocks of instants: their number n, bytes of text, a checksum of each array and of the text, and
  one of all these; then the arrays in the order of the contents, n instants of each, and the text,
  JSON of what happened: "events" (names and times), "impacts" (their numbers), "last" (arrays of
  the last instant), "outcome" (attributes of the run that ended).

Note and contents are JSON after its length and checksum (CRC-32). Numbers are little-endian.
"""

import json
import os
import struct
import weakref
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from mbd.base.atomic import replaced
from mbd.machine.buffer import IMPACT_SIZE
from mbd.runs.plan import plain
from mbd.store.contents import Contents, DamagedFileError, PastEvent

MAGIC = b"\x89MBDLOG\n"
_NOTE = 1 << 14  # bytes
_TEXT = struct.Struct("<QI")  # bytes, checksum


def _framed(values: Any) -> bytes:
    text = json.dumps(values).encode()
    return _TEXT.pack(len(text), crc32(text)) + text


class _BlockLayout:
    """Places of arrays in a block."""

    def __init__(self, contents: Contents) -> None:
        self.names = contents.over_time()
        self.shapes = [contents.shape(name) for name in self.names]
        sizes = [8 * prod(shape) for shape in self.shapes]
        self.places = [0, *accumulate(sizes)]  # bytes before each array, of one instant
        self.front = struct.Struct(f"<QQ{len(sizes) + 1}I")
        self.head = self.front.size + 4


class LogWriter:
    """Write a log.

    Parameters
    ----------
    path : Path
        A file of that name is replaced, unless somebody writes a log there.
    contents : Contents
    who : str
        Named in errors.
    """

    def __init__(self, path: Path, contents: Contents, who: str) -> None:
        self._path, self._who, self._layout = path, who, _BlockLayout(contents)
        with suppress(OSError), path.open("rb") as old:
            if old.read(len(MAGIC)) == MAGIC:
                self._claim(old.fileno())
        self.n = 0
        head = _framed(plain(asdict(contents)))
        self.size = len(MAGIC) + _NOTE + len(head)
        with replaced(path, who) as file:
            file.write(MAGIC + bytes(_NOTE) + head)
        self._file = path.open("r+b", buffering=0)
        weakref.finalize(self, self._file.close)
        self._claim(self._file.fileno())
        self.note()

    def _claim(self, file: int) -> None:
        """Lock a file, or refuse it: a run writes it, in this process or in another one."""
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{self._who}: {self._path} is being written by another run; give it another name"
            ) from None
        except (ImportError, OSError):  # a system, or a disk, without locks
            pass

    @property
    def replaced(self) -> bool:
        """Whether the name is another file by now."""
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return True

    def append(self, n: int, arrays: Mapping[str, np.ndarray], more: Mapping[str, Any]) -> None:
        """Append a block of n instants, or nothing if there is no room for it."""
        x = self._layout
        parts = [np.asarray(arrays[name], "<f8").tobytes() for name in x.names if n]
        parts += [b""] * (len(x.names) - len(parts)) + [json.dumps(plain(more)).encode()]
        front = x.front.pack(n, len(parts[-1]), *map(crc32, parts))
        try:
            self._write(self.size, front + struct.pack("<I", crc32(front)), *parts)
        except OSError:
            with suppress(OSError):
                self._file.truncate(self.size)
            raise
        self.n, self.size = self.n + n, self.size + x.head + sum(map(len, parts))
        self.note()

    def note(self, **outcome: Any) -> None:
        """Write how many instants and bytes are complete, and how the run ended."""
        told = _framed({"instants": self.n, "bytes": self.size, **outcome})
        self._write(len(MAGIC), told)

    def _write(self, place: int, *parts: bytes) -> None:
        self._file.seek(place)
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[self._file.write(left) :]

    def close(self) -> None:
        """Close the file, which others may write from now on."""
        self._file.close()


class _BlockPlace(NamedTuple):
    """Place of a block: its first instant, how many, its first array, checksums of the arrays."""

    first: int
    n: int
    place: int
    checksums: tuple[int, ...]


class Log:
    """Read a log, as far as it was written when it was opened.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    n, written : int
        Instants in whole blocks, and those that were written.
    lost : str
        What is missing of a file that lost its end; empty of one that did not.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)
        self._memory: dict[str, tuple[int, np.ndarray]] = {}  # the last piece of each array
        note, _ = self._text(len(MAGIC))  # empty if its writer was stopped in the midst of it
        there = self._size()  # read after the note, which is written after its block
        whole, written = note.pop("bytes", 0), note.pop("instants", 0)
        self.lost = f"{there} of {whole} bytes of the file are there" if there < whole else ""
        values, place = self._text(len(MAGIC) + _NOTE)
        if not values and self.lost:
            raise DamagedFileError(
                f"load: {path} is incomplete: {there} of {whole} bytes are there; copy it again, "
                "or run the model again"
            )
        if not values:
            raise self._damaged("its head")
        self.contents = Contents(**values)
        self._layout = _BlockLayout(self.contents)
        self.n, self._blocks = 0, list[_BlockPlace]()
        self.events, self.last = list[PastEvent](), dict[str, np.ndarray]()
        impacts = list[list[float]]()
        outcome: dict[str, Any] = {}
        while block := self._block(place, there):
            more, place = block
            self.events += [PastEvent(*x) for x in more.get("events", [])]
            impacts += more.get("impacts", [])
            self.last |= {name: np.array(x, float) for name, x in more.get("last", {}).items()}
            outcome |= more.get("outcome", {})
        self.impacts = np.reshape(np.array(impacts, float), (-1, IMPACT_SIZE))
        self.written = max(self.n, written)
        if place < whole <= there:
            raise self._damaged(f"a block at byte {place}")
        self.attributes = self.contents.attributes
        self.attributes.update(note | outcome)  # a note may say how the run ended

    def _block(self, place: int, there: int) -> tuple[dict[str, Any], int] | None:
        """List the block at a place, if it is whole; return its text and its end."""
        x = self._layout
        head = self._bytes(place, x.head)
        if len(head) < x.head or crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
            return None
        n, size, *checksums, checksum = x.front.unpack(head[:-4])
        first = place + x.head
        end = first + n * x.places[-1] + size
        if end > there:
            return None
        text = self._bytes(end - size, size)
        if crc32(text) != checksum:
            raise self._damaged(f"the text before byte {end}")
        self._blocks.append(_BlockPlace(self.n, n, first, tuple(checksums)))
        self.n += n
        return json.loads(text), end

    def _text(self, place: int) -> tuple[dict[str, Any], int]:
        """Return the JSON at a place and its end; nothing where it is not whole."""
        n, checksum = _TEXT.unpack(self._bytes(place, _TEXT.size).ljust(_TEXT.size))
        text = self._bytes(place + _TEXT.size, min(n, self._size()))
        whole = text and crc32(text) == checksum
        return json.loads(text) if whole else {}, place + _TEXT.size + n

    def _bytes(self, place: int, n: int) -> bytes:
        """Return n bytes of the file, fewer where it ends."""
        if hasattr(os, "pread"):  # forks of a process share the place of its file
            return os.pread(self._file.fileno(), n, place)
        self._file.seek(place)
        return self._file.read(n) or b""

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _damaged(self, what: str) -> DamagedFileError:
        return DamagedFileError(
            f"load: {self._path} is damaged: {what} is not what was written; copy it again, or run "
            "the model again"
        )

    def read(self, name: str, rows: slice, *columns: Any) -> np.ndarray:
        """Return instants of an array over time, and of them columns."""
        chosen = range(self.n)[rows]
        parts = [np.empty((0, *self.contents.shape(name)))[(slice(0), *columns)]]
        k = bisect_right(self._blocks, chosen.start, key=lambda x: x.first) - 1
        for block in self._blocks[max(k, 0) :] if chosen else ():
            if block.first > chosen[-1]:
                break
            low, high = (
                max(0, -(-(x - chosen.start) // chosen.step))
                for x in (block.first, block.first + block.n)
            )
            if here := chosen[low:high]:
                own = slice(here[0] - block.first, here[-1] + 1 - block.first, here.step)
                parts.append(self._piece(block, name)[(own, *columns)])
        return np.concatenate(parts)

    def _piece(self, block: _BlockPlace, name: str) -> np.ndarray:
        """Return the instants of a block of an array."""
        first, piece = self._memory.get(name, (-1, np.empty(0)))
        if first != block.first:
            x, k = self._layout, self._layout.names.index(name)
            begin, end = (block.place + block.n * x.places[i] for i in (k, k + 1))
            numbers = self._bytes(begin, end - begin)
            if crc32(numbers) != block.checksums[k]:
                last = block.first + block.n - 1
                raise self._damaged(f"{name!r} at the instants {block.first} to {last} (from 0)")
            piece = np.frombuffer(numbers, "<f8").reshape(block.n, *x.shapes[k])
            self._memory[name] = block.first, piece
        return piece

    def label(self, name: str) -> Any:
        """Return a label: texts, or numbers; empty if it is not there."""
        return self.contents.labels.get(name, ((), [], {}))[1]

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return self.contents.arrays[name][1]["units"]

    def digits(self, name: str) -> str:
        """Return the type of the numbers of an array, empty if it is not there."""
        return "f8" if name in self.contents.arrays else ""

    def close(self) -> None:
        """Close the file."""
        self._file.close()
