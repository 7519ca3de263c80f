r"""Reading of damaged files: correct, or refused with the name of the file.

Streamed numbers have checksums of their own, one for each instant and block of columns: those of
HDF5 belong to chunks that a stream writes again and again (``netcdf.py``). With the bits of numbers
taken as integers x and odd weights w,

.. math:: c_i = \sum_j w_j x_{ij} + w_0 (i + 1) \mod 2^{64} ,

of which the upper half is kept: one number that is changed changes it, and so does another instant
in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
CHECKSUM = "checksum"  # the variable; its attribute "arrays" has the names, in order
_WIDE = 64  # columns of a block
_LONGEST = 200  # characters of what a library says of a file
_WAITS = (0.0, 0.005, 0.02)  # [s] a run may be writing what is read


class DamagedFileError(ValueError):
    """A file of results that is not what was written."""


def read_or_refuse(path: Path, read: Callable[[], T], *, growing: bool = False) -> T:
    """Return what ``read`` returns; whatever it raises becomes an error that names the file.

    Libraries that read a damaged file raise errors of all kinds.

    Parameters
    ----------
    path : Path
    read : callable
    growing : bool
        A run may still write to the file: read again before it is called damaged.
    """
    for wait in (*(_WAITS if growing else ()), None):
        try:
            return read()
        except (DamagedFileError, FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            if wait is None:
                why = " ".join(str(error).split())[:_LONGEST] or "no reason told"
                text = f"{type(error).__name__}: {why}"
                raise DamagedFileError(
                    f"load: {path} is not a whole file of results ({text}); copy it again, or run "
                    "the model again"
                ) from None
            time.sleep(wait)
    raise AssertionError


def blocks(shape: tuple[int, ...]) -> int:
    """Return how many checksums an instant of an array has."""
    return -(-shape[1] // _WIDE) if len(shape) > 1 else 1


def _checksums(values: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """Return the checksums (n, blocks) of an array (n, columns, ...) at these instants."""
    n, bits = len(values), np.ascontiguousarray(values, float).view(np.uint64)
    weights = 2 * np.arange(bits[0].size + 1, dtype=np.uint64) + np.uint64(1)
    weights *= np.uint64(0x9E3779B97F4A7C15)
    parts = [bits[:, k * _WIDE : (k + 1) * _WIDE] if bits.ndim > 1 else bits
             for k in range(blocks(bits.shape))]  # fmt: skip
    flat = (x.reshape(n, -1) for x in parts)
    own = (instants.astype(np.uint64) + np.uint64(1)) * weights[0]
    checksums = np.stack([x @ weights[1 : 1 + x.shape[1]] + own for x in flat], axis=1)
    return (checksums >> np.uint64(32)).astype(np.uint32)


class Checked:
    """An array over time of a stream: checksums are written with it, and compared when it is read.

    Parameters
    ----------
    h5 : h5py.File
    name : str
    """

    def __init__(self, h5: Any, name: str) -> None:
        self._name, self._array, self._all = name, h5[name], h5[CHECKSUM]
        names = str(self._all.attrs["arrays"]).split(" ")
        widths = [blocks(h5[x].shape) for x in names[: names.index(name)]]
        self._first = sum(widths)
        self.shape, self.dtype, self.ndim = self._array.shape, self._array.dtype, self._array.ndim

    def __setitem__(self, rows: slice, values: Any) -> None:
        """Write instants first:end, and their checksums."""
        instants = np.arange(rows.start, rows.stop)
        values = np.broadcast_to(values, (len(instants), *self.shape[1:]))
        self._array[rows] = values
        columns = slice(self._first, self._first + blocks(self.shape))
        self._all[rows, columns] = _checksums(values, instants)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Read rows, and of them columns; blocks are read whole."""
        rows, *rest = key if isinstance(key, tuple) else (key,)
        one = not isinstance(rows, slice)
        here = slice(rows, rows + 1) if one else rows
        instants = np.arange(len(self._array))[here]
        k, end = 0, blocks(self.shape)
        if rest and isinstance(rest[0], int | np.integer):
            k = range(self.shape[1])[rest[0]] // _WIDE
            end, rest[0] = k + 1, range(self.shape[1])[rest[0]] - k * _WIDE
        at = (here, slice(k * _WIDE, end * _WIDE)) if self.ndim > 1 else here
        values = self._array[at]
        if len(instants):
            checksums = self._all[here, self._first + k : self._first + end]
            wrong = np.flatnonzero((_checksums(values, instants) != checksums).any(axis=1))
            if len(wrong):
                raise ValueError(
                    f"{self._name!r} is not what was written at {len(wrong)} of the instants, the "
                    f"first of them {instants[wrong[0]]} (from 0)"
                )
        return np.asarray(
            (values[0] if one else values)[tuple(rest) if one else (slice(None), *rest)]
        )
