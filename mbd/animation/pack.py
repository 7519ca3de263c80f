"""Packed numbers: rounded to a step, differences over time, bytes by weight, gzip.

A table (n, k), time first, is stored column by column as integers value/step. The differences d of
neighbours are written as 2d or -2d - 1 (small whatever the sign), then all lowest bytes, all second
ones, and so on: the high bytes of smooth motions are zero and cost next to nothing. ``unpack.js``
reads it.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np


class Pack:
    """Tables one after the other."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def table(self, values: Any, step: float) -> dict[str, Any]:
        """Append a table (n,) or (n, k) to within step/2; return how to find it."""
        rows = np.asarray(values, float)
        rows = rows.reshape(len(rows), -1)
        whole = np.rint(rows.T / step)
        if not np.isfinite(whole).all() or np.abs(whole).max(initial=0) >= 2**30:
            raise ValueError(
                f"animate: values must be finite and below {2**30 * step:.3g}, got some up to "
                f"{np.abs(rows).max():.3g}; did the run blow up?"
            )
        d = np.diff(whole.astype(np.int64), axis=1, prepend=0)
        zigzag = np.where(d >= 0, 2 * d, -2 * d - 1).astype("<u4").ravel()
        planes = zigzag.view(np.uint8).reshape(-1, 4).T
        entry = {"at": self._size, "rows": rows.shape[0], "columns": rows.shape[1], "step": step}
        self._add(np.ascontiguousarray(planes).tobytes())
        return entry

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def text(self) -> str:
        """Return everything as base64 of a gzip stream."""
        return squeezed(b"".join(self._parts))


def squeezed(data: bytes) -> str:
    """Return base64 of a gzip stream, the same for the same data."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")
