"""Kernels run with the bounds of the buffers watched, in Python mode."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.bounds import Block, CheckedFloats, CheckedTables
from mbd.machine.jit import PYTHON
from mbd.model.build import built
from mbd.model.layout import Buffers
from mbd.model.workspace import Workspace


class _NamedBuffers(Buffers):
    """Buffers that note what is reserved, and which integers are places in F."""

    def __init__(self) -> None:
        super().__init__()
        self.reserved: list[tuple[int, int, str]] = []
        self.places = np.zeros(0, bool)

    def room(self, size: int, region: int = m.WORK, what: str = "") -> int:
        """Reserve floats, and note it."""
        place = super().room(size, region)
        self.reserved.append((place, size, what))
        return place

    def rooms(self, sizes: Sequence[int], region: int, what: Iterable[str]) -> list[int]:
        """Reserve floats of some owners, and note each."""
        return [self.room(n, region, x) for n, x in zip(sizes, what, strict=False)]

    def arrays(self, calls: dict[int, list[int]]) -> tuple[np.ndarray, np.ndarray, int]:
        """Note which integers are places, before regions come one after the other."""
        coded = np.array(self.I, np.int64)
        self.places = coded >= 1 << m.REGION_BITS
        I, F, size = super().arrays(calls)
        first = np.zeros(m.N_REGIONS, np.int64)
        where = np.flatnonzero(self.places)
        region = coded[where] >> m.REGION_BITS
        first[region] = I[where] - (coded[where] - (region << m.REGION_BITS))
        offset = (1 << m.REGION_BITS) - 1
        starts = [int(first[at >> m.REGION_BITS]) + (at & offset) for at, _, _ in self.reserved]
        self.blocks = [
            Block(start, start + n, what)
            for start, (_, n, what) in zip(starts, self.reserved, strict=True)
        ]
        return I, F, size


def watched(work: Workspace) -> tuple[Any, Any]:
    """Return I and F of a work space for kernels, which then raise where they leave a block.

    For Python mode, ``NUMBA_DISABLE_JIT=1``; an ``IndexError`` names the vector, or the part whose
    numbers they are.
    """
    if not PYTHON:
        raise RuntimeError("watched: bounds are seen in Python mode only; set NUMBA_DISABLE_JIT=1")
    buffers = _NamedBuffers()
    built(work.model.system, buffers)
    matrix = int(work.I[m.MATRIX])
    special = {
        m.MATRIX: Block(matrix, matrix + int(work.I[m.MATRIX_SIZE]), "the matrix"),
        m.METHOD: Block(work.model.size, work.size, "what the method keeps"),
    }
    return CheckedTables(work.I, buffers.places, buffers.blocks, special), CheckedFloats(work.F)
