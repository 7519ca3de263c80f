"""Unclosed HDF5 files of killed runs, read as closed ones.

HDF5 reads a file that is still written in a mode of its own (SWMR): where a checksum does not fit,
it takes the writer to be busy, waits, twice as long each time, and reads again. If the writer was
killed and the file is damaged, it waits for ever. What the writer wrote is in an order that keeps
the file whole at any moment, so it can be read as a closed one: with a superblock that says so.
"""

from __future__ import annotations

import io
from pathlib import Path

_SUPERBLOCK, _FLAGS, _END = 44, 11, 28  # bytes of version 3 before its checksum; places in it
_ROOM = 1 << 40  # bytes after the end: a file that is still written grows
_WORD = 0xFFFFFFFF


class LeftOpen(io.RawIOBase):
    """The bytes of a file, but for the superblock: closed, and long enough.

    Parameters
    ----------
    path : Path
        A file with a superblock of version 3 at its start, with addresses of 8 bytes.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb", buffering=0)
        head = bytearray(self._file.read(_SUPERBLOCK))
        self._size = max(path.stat().st_size, int.from_bytes(head[_END : _END + 8], "little"))
        self._size += _ROOM
        head[_FLAGS] = 0
        head[_END : _END + 8] = self._size.to_bytes(8, "little")
        self._head = bytes(head) + lookup3(bytes(head)).to_bytes(4, "little")
        self._at = 0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; zeros after the end of what is there."""
        self._file.seek(self._at)
        data = self._file.read(len(buffer)) or b""
        data += bytes(len(buffer) - len(data))
        if self._at < len(self._head):
            head = self._head[self._at : self._at + len(data)]
            data = head + data[len(head) :]
        buffer[:] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readable(self) -> bool:
        """Bytes can be read."""
        return True

    def seekable(self) -> bool:
        """Any place can be gone to."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _turned(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & _WORD


def lookup3(key: bytes) -> int:
    """Return the checksum of HDF5's metadata: ``hashlittle`` of Jenkins' lookup3.c (2006), seed 0.

    The length of the key must not be zero.
    """
    a = b = c = 0xDEADBEEF + len(key)
    blocks = [key[i : i + 12].ljust(12, b"\0") for i in range(0, len(key), 12)]
    for i, block in enumerate(blocks):
        x, y, z = (int.from_bytes(block[k : k + 4], "little") for k in (0, 4, 8))
        a, b, c = (a + x) & _WORD, (b + y) & _WORD, (c + z) & _WORD
        if i < len(blocks) - 1:
            for k in (4, 6, 8, 16, 19, 4):
                a = ((a - c) & _WORD) ^ _turned(c, k)
                c = (c + b) & _WORD
                a, b, c = b, c, a
        else:
            for k in (14, 11, 25, 16, 4, 14, 24):
                c = ((c ^ b) - _turned(b, k)) & _WORD
                a, b, c = b, c, a
    return b  # three letters have gone round seven times
