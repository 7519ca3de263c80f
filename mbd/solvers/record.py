"""Floor 4. Where the recorded instants of a run go."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mbd.model.model import Model

__all__ = ["Histories", "MemoryRecord", "Record"]

Histories = tuple[Any, Any, Any, Any, Any]  # t (n,), q (n, n_q), v (n, n_v), a (n, n_v), lam (n, .)


class Record(Protocol):
    """What a run needs of the place its instants go to; their number need not be known."""

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray
    ) -> None:
        """Keep n instants, time first: (n,), (n, n_q), (n, n_v), (n, n_v), (n, n_lam)."""

    def histories(self) -> Histories:
        """Return t, q, v, a, lam of all instants kept so far."""


class MemoryRecord:
    """Keep the instants in memory, in arrays that grow.

    Parameters
    ----------
    model : Model
    expected : int
        Room made at once; beyond it the room doubles, so that an instant costs the same however
        many there are.
    """

    def __init__(self, model: Model, expected: int = 64) -> None:
        widths = ((), (model.n_q,), (model.n_v,), (model.n_v,), (model.n_lam,))
        self._arrays = [np.empty((max(1, expected), *width)) for width in widths]
        self._n = 0

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray
    ) -> None:
        """Keep n instants."""
        n, end = self._n, self._n + len(t)
        if end > len(self._arrays[0]):
            room = max(end, 2 * len(self._arrays[0]))
            for i, old in enumerate(self._arrays):
                self._arrays[i] = np.empty((room, *old.shape[1:]))
                self._arrays[i][:n] = old[:n]
        for array, new in zip(self._arrays, (t, q, v, a, lam), strict=True):
            array[n:end] = new
        self._n = end

    def histories(self) -> Histories:
        """Return t, q, v, a, lam of all instants kept so far."""
        t, q, v, a, lam = (array[: self._n] for array in self._arrays)
        return t, q, v, a, lam
