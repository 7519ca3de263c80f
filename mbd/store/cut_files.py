"""Truncated HDF5 files: the arrays and rows in them that are whole.

A stream onto a full disk is shorter than its superblock says. Read with zeros in place of what is
lost (``left_open.py``) it opens: metadata have signatures and checksums, so that HDF5 refuses zeros
for them; numbers have neither. Which numbers are lost follows from where HDF5 has put them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbd.store.damaged_files import DamagedFileError
from mbd.store.hdf5 import end_of_file


@dataclass(frozen=True)
class Cut:
    """Bytes of a file that are there, and that should be."""

    there: int
    end: int

    def __str__(self) -> str:
        return f"{self.there} of {self.end} bytes of the file are there"


def cut_of(path: Path) -> Cut | None:
    """Return where a file was cut off, None of one that was not."""
    end, _ = end_of_file(path)
    there = path.stat().st_size  # after its end was read: a file that is written grows
    return Cut(there, end) if there < end else None


def whole_rows(path: Path, array: Any, n: int, cut: Cut | None) -> int:
    """Return how many of the first n rows of an array of h5py are within the bytes there.

    Arrays that do not grow are whole, or the file is refused.
    """
    if cut is None:
        return n
    if array.chunks is None:
        first = array.id.get_offset()
        if first is not None and first + array.id.get_storage_size() > cut.there:
            raise DamagedFileError(
                f"load: {path} is incomplete: {cut}, {array.name[1:]} is lost; copy it again, or "
                "run the model again"
            )
        return n
    rows, size = array.chunks[0], array.dtype.itemsize
    for width in array.chunks[1:]:
        size *= width
    across = 1
    for length, width in zip(array.shape[1:], array.chunks[1:], strict=True):
        across *= -(-length // width)
    chunks: dict[int, list[int]] = {}  # first row: rows of each chunk side by side

    def count(chunk: Any) -> None:
        there = max(0, cut.there - chunk.byte_offset) // size
        if array.fletcher32 and there < rows:
            there = 0
        chunks.setdefault(chunk.chunk_offset[0], []).append(min(rows, there))

    array.id.chunk_iter(count)
    for first in range(0, n, rows):
        there = chunks.get(first, [])
        whole = min(there) if len(there) == across else 0
        if whole < rows:
            return min(n, first + whole)
    return n
