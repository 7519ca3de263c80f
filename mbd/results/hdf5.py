"""Floor 5. Files of HDF5 opened for reading: whole ones, and those that a run left open.

A file that lost its end must be known before HDF5 opens it: taken for one that is still written, it
would be waited for, for ever. Where a file ends and whether it was left open stand in its first
bytes, the superblock of the HDF5 file format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbd.results.left_open import LeftOpen
from mbd.results.netcdf import libraries

__all__ = ["end_of_file", "opened"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# by version of the superblock: where the size of an address is, and the first address
_PLACES = {0: (13, 24), 1: (13, 28), 2: (9, 12), 3: (9, 12)}
_FLAGS = 11  # of version 3; the lowest bit: open for writing


def opened(path: Path) -> Any:
    """Return a file as ``h5py.File``, or say what is wrong with it."""
    h5py, _ = libraries(f"load {path.name}")
    if not path.is_file():
        raise FileNotFoundError(f"load: {path}: no such file")
    end, left_open = end_of_file(path)
    there = path.stat().st_size  # after its end was read: a file that is written grows
    if there < end:
        raise ValueError(
            f"load: {path} is incomplete: {there} of {end} bytes are there; copy it again, or run "
            "the model again"
        )
    try:
        if left_open:
            return h5py.File(LeftOpen(path), "r")
        return h5py.File(path, "r")
    except Exception as error:
        raise OSError(f"load: {path} cannot be read: {error}") from None


def end_of_file(path: Path) -> tuple[int, bool]:
    """Return where a file ends [bytes], by its own account, and whether it was left open."""
    with path.open("rb") as file:
        head = file.read(96)
    if len(head) < 60 or not head.startswith(_SIGNATURE) or head[8] not in _PLACES:
        raise ValueError(f"load: {path} is not a file of HDF5")
    version = head[8]
    size_at, first = _PLACES[version]
    size = head[size_at]
    base, end = (int.from_bytes(head[first + i * size :][:size], "little") for i in (0, 2))
    return base + end, version == 3 and bool(head[_FLAGS] & 1)
