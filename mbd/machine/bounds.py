"""Bounds of the buffers in Python mode: a place knows the block that it belongs to.

What a kernel reads from ``I`` as a place in ``F`` carries the block with it, and keeps it in sums:
``I[m.X] + u`` is a place in the vector X, whatever u is. Reading or writing ``F`` outside of that
block is an error that names it. Compiled kernels are not checked: they are the same functions.
"""

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np


class Block(NamedTuple):
    """A stretch of F and what it holds."""

    first: int
    end: int
    name: str


class _PlaceInF(int):
    """A place in F, with its block."""

    block: Block

    @classmethod
    def of(cls, value: int, block: Block) -> "_PlaceInF":
        place = cls(value)
        place.block = block
        return place

    def __add__(self, other: Any) -> "_PlaceInF":
        return _PlaceInF.of(int(self) + int(other), self.block)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, _PlaceInF):  # a distance
            return int(self) - int(other)
        return _PlaceInF.of(int(self) - int(other), self.block)


class CheckedTables:
    """The tables I; entries that are places in F come with their blocks."""

    def __init__(
        self, I: np.ndarray, places: np.ndarray, blocks: list[Block], special: dict[int, Block]
    ) -> None:
        self._I, self._places, self._special = I, places, special
        self._blocks = sorted(x for x in blocks if x.end > x.first)
        self._starts = [x.first for x in self._blocks]

    def __getitem__(self, i: Any) -> Any:
        value = self._I[i]
        if not isinstance(i, slice) and int(i) in self._special:
            return _PlaceInF.of(int(value), self._special[int(i)])
        if isinstance(i, slice) or int(i) >= len(self._places) or not self._places[int(i)]:
            return value
        at = bisect_right(self._starts, value) - 1
        block = self._blocks[at]
        if not block.first <= value < block.end:
            block = Block(int(value), int(value), f"nothing (entry {int(i)} of I)")
        return _PlaceInF.of(int(value), block)


class CheckedFloats:
    """The numbers F of a run; outside of the block of a place there is an error."""

    def __init__(self, F: np.ndarray) -> None:
        self._F = F

    def _checked(self, key: Any) -> Any:
        if not isinstance(key, slice):
            if isinstance(key, _PlaceInF):
                _check(int(key), int(key) + 1, key.block)
            return key
        if not isinstance(key.start, _PlaceInF):
            return key
        block, start = key.start.block, int(key.start)
        stop = block.end if key.stop is None else int(key.stop)
        if stop > start:
            _check(start, stop, block)
        return slice(start, stop)

    def __getitem__(self, key: Any) -> Any:
        return self._F[self._checked(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._F[self._checked(key)] = value


def _check(start: int, stop: int, block: Block) -> None:
    if start < block.first or stop > block.end:
        size = block.end - block.first
        raise IndexError(
            f"a kernel reads or writes number {start - block.first} of {block.name}, which has "
            f"{size}; look at the offsets in its record, and at what it reserves"
        )
