"""Entries after the tables of a model, and numbers after those of its runs."""

from array import array
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel


class Appendix:
    """Entries and numbers added to I and F of a model, for kernels that read both.

    Parameters
    ----------
    model : Model
    start : int, optional
        Where the first number goes, if not after those of the model.
    """

    def __init__(self, model: FrozenModel, start: int | None = None) -> None:
        self.model = model
        self.first = model.size if start is None else start
        self._entries: list[int] = []
        self._numbers = array("d")

    @property
    def here(self) -> int:
        """Place of the next entry."""
        return len(self.model.I) + len(self._entries)

    @property
    def end(self) -> int:
        """Place of the next number."""
        return self.first + len(self._numbers)

    def table(self, entries: Iterable[Any]) -> int:
        """Append entries; return the place of the first."""
        at = self.here
        self._entries.extend(map(int, entries))
        return at

    def address(self, kernel: Any) -> int:
        """Append the address of a kernel; return where it is."""
        return self.table(m.halves(kernel.address))

    def room(self, n: int) -> int:
        """Append n zeros; return the place of the first."""
        at = self.end
        self._numbers.frombytes(bytes(8 * n))
        return at

    def own(self, numbers: Iterable[float]) -> int:
        """Append numbers that may be written; return the place of the first."""
        at = self.end
        self._numbers.extend(map(float, numbers))
        return at

    @cached_property
    def _places(self) -> dict[tuple[float, ...], int]:
        return {}

    def put(self, numbers: Iterable[float]) -> int:
        """Return the place of constants; the same ones are there once."""
        key = tuple(map(float, numbers))
        if key not in self._places:
            self._places[key] = self.own(key)
        return self._places[key]

    @property
    def all_entries(self) -> np.ndarray:
        """Entries of the model, and these."""
        return np.concatenate([self.model.I, m.entries(self._entries)])

    def write(self, F: np.ndarray) -> None:
        """Write the numbers to those of a run, or of many."""
        F[..., self.first : self.end] = np.frombuffer(self._numbers)
