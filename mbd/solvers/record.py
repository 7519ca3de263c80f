"""Floor 4. Where the recorded instants of a run go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from mbd.model.model import Model, State

__all__ = ["Histories", "MemoryRecord", "Record", "RecordError"]

Histories = tuple[Any, Any, Any, Any, Any]  # t (n,), q (n, n_q), v (n, n_v), a (n, n_v), lam (n, .)


class RecordError(RuntimeError):
    """Instants cannot be kept: the disk is full, say. What was kept before can be had."""


class Record(Protocol):
    """What a run needs of the place its instants go to; their number need not be known."""

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray
    ) -> None:
        """Keep n instants, time first: (n,), (n, n_q), (n, n_v), (n, n_v), (n, n_lam).

        Raises
        ------
        RecordError
        """

    def happened(self, name: str, t: float) -> None:
        """Keep an event: its name and time."""

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> tuple[int, str]:
        """Take leave of the run: how it ended, what it cost, its last state.

        Return status and message, which say more if the last instants cannot be kept.
        """

    def histories(self) -> Histories:
        """Return t, q, v, a, lam of all instants kept so far."""

    @property
    def stored(self) -> Mapping[str, Any] | None:
        """Quantities by name that were evaluated already, if any were."""


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
            grown = [np.empty((room, *old.shape[1:])) for old in self._arrays]
            for new, old in zip(grown, self._arrays, strict=True):
                new[:n] = old[:n]
            self._arrays = grown  # all at once: Ctrl-C may come at any line
        for array, new in zip(self._arrays, (t, q, v, a, lam), strict=True):
            array[n:end] = new
        self._n = end

    def __len__(self) -> int:
        return self._n

    def happened(self, name: str, t: float) -> None:
        """Do nothing: the run knows its events."""

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> tuple[int, str]:
        """Do nothing: what is in memory needs no end."""
        return status, message

    @property
    def stored(self) -> None:
        """Nothing is evaluated before it is asked for."""

    def histories(self) -> Histories:
        """Return t, q, v, a, lam of all instants kept so far."""
        t, q, v, a, lam = (array[: self._n] for array in self._arrays)
        return t, q, v, a, lam
