"""HDF5 files: opening for reading; reserved space and closing when written.

Reading: a file that lost its end must be known before HDF5 opens it: taken for one that is still
written, it would be waited for, for ever. Where a file ends and whether it was left open stand in
its first bytes, the superblock of the HDF5 file format.

Writing: HDF5 cannot recover from a disk that is full in the midst of its work, not even to close
the file. So room is asked for before it is needed. A file that cannot be written all the same is
let go: HDF5 closes it into nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS, ENOTSUP
from math import prod
from pathlib import Path
from typing import Any

from mbd.base.atomic import explained
from mbd.store.left_open import LeftOpen

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# by version of the superblock: where the size of an address is, and the first address
_PLACES = {0: (13, 24), 1: (13, 28), 2: (9, 12), 3: (9, 12)}
_VERSION, _FLAGS = 8, 11  # places; of the flags of version 3 the lowest: open for writing
_HEAP, _HEAD = b"GCOL\1\0\0\0", 1 << 26  # of texts, which stand before the numbers; bytes read
_SLACK, _INDEX = 1 << 16, 64  # bytes of metadata, in all and for each chunk


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


@contextmanager
def named(who: str, path: Path) -> Iterator[None]:
    """Say who could not write what; HDF5 has the number of the error in its text."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        code = re.search(r"errno = (\d+)", str(error))
        if code is not None:
            error = OSError(int(code[1]), os.strerror(int(code[1])))
        if isinstance(error, OSError) and error.strerror:
            raise explained(error, who, path) from None
        raise


def room(h5: Any, arrays: Iterable[Any], first: int, end: int) -> bool:
    """Take the room on the disk that arrays over time need for so many instants, or raise.

    The file becomes longer than what HDF5 has of it, until `finish` cuts it off. The `first`
    instants have been flushed: what HDF5 still keeps in memory has no place in the file yet.
    False where files cannot take room.
    """
    need = _SLACK
    for x in arrays:
        rows = -(-end // x.chunks[0]) - -(-first // x.chunks[0])
        across = prod(-(-n // c) for n, c in zip(x.shape[1:], x.chunks[1:], strict=True))
        need += rows * across * (x.dtype.itemsize * prod(x.chunks) + _INDEX)
    reserve = getattr(os, "posix_fallocate", None)  # not everywhere
    if reserve is None:
        return False
    try:
        reserve(h5.id.get_vfd_handle(), h5.id.get_filesize(), need)
    except OSError as error:
        if error.errno not in (EINVAL, ENOTSUP, ENOSYS):
            raise
        return False
    return True


@contextmanager
def whole(h5: Any) -> Iterator[None]:
    """Close a file at the end of the block, whatever happens."""
    try:
        yield
        finish(h5)
    except BaseException:
        let_go(h5)
        raise


def finish(h5: Any) -> None:
    """Close a file; room that was not needed is given back."""
    h5.flush()  # what goes wrong in closing cannot be mended
    os.ftruncate(h5.id.get_vfd_handle(), h5.id.get_filesize())
    h5.close()


def let_go(h5: Any) -> None:
    """Close a file that cannot be written: what HDF5 still has for it goes nowhere."""
    with suppress(Exception):
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(nowhere, h5.id.get_vfd_handle())
        finally:
            os.close(nowhere)
    with suppress(Exception):
        h5.close()


def opened(path: Path) -> Any:
    """Return a file as ``h5py.File``, or say what is wrong with it."""
    h5py, _ = libraries(f"load {path.name}")
    if not path.is_file():
        raise FileNotFoundError(f"load: {path}: no such file")
    end, left_open = end_of_file(path)
    there = path.stat().st_size  # after its end was read: a file that is written grows
    incomplete = ValueError(
        f"load: {path} is incomplete: {there} of {end} bytes are there; copy it again, or run "
        "the model again"
    )
    if there < end and not _has_version_3(path):
        raise incomplete
    _require_heaps(path)
    try:
        file = LeftOpen(path) if left_open or there < end else path
        try:
            h5 = h5py.File(file, "r")
        except BlockingIOError:  # who has just replaced it holds its lock, and writes no more
            h5 = h5py.File(file, "r", locking=False)
        if there >= end or "instants" in h5:  # a stream, which counts what is complete
            return h5
    except Exception as error:
        raise (
            OSError(f"load: {path} cannot be read: {error}") if there >= end else incomplete
        ) from None
    raise incomplete


def _has_version_3(path: Path) -> bool:
    """Whether the superblock is one that can be read with another end."""
    with path.open("rb") as file:
        head = file.read(_VERSION + 2)
    return head[_VERSION:] == bytes((3, 8))  # and the size of an address


def _require_heaps(path: Path) -> None:
    """Refuse tables of texts (global heaps) with steps of zero, which HDF5 follows for ever."""
    with path.open("rb") as file:
        data = file.read(_HEAD)
    at = data.find(_HEAP)
    while at >= 0:
        place, end = at + 16, min(at + int.from_bytes(data[at + 8 : at + 16], "little"), len(data))
        while place + 16 <= end:
            index = int.from_bytes(data[place : place + 2], "little")
            size = int.from_bytes(data[place + 8 : place + 16], "little")
            step = 16 + (size + 7) // 8 * 8 if index else size
            if not step:
                raise ValueError(f"load: {path} is damaged at byte {place}; copy it again")
            place += step
        at = data.find(_HEAP, at + 8)


def end_of_file(path: Path) -> tuple[int, bool]:
    """Return where a file ends [bytes], by its own account, and whether it was left open."""
    with path.open("rb") as file:
        head = file.read(96)
    if len(head) < 60 or not head.startswith(_SIGNATURE) or head[_VERSION] not in _PLACES:
        raise ValueError(f"load: {path} is not a file of HDF5")
    version = head[_VERSION]
    size_at, first = _PLACES[version]
    size = head[size_at]
    base, end = (int.from_bytes(head[first + i * size :][:size], "little") for i in (0, 2))
    return base + end, version == 3 and bool(head[_FLAGS] & 1)
