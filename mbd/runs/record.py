"""Records of a run: the recorded instants, in memory or in a file."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from mbd.base.free_bytes import free_bytes
from mbd.base.tolerances import KEPT_MANY
from mbd.history.impacts import NO_IMPACTS
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State

_CHUNK_BYTES = 1 << 20  # bytes of recorded steps that are taken over together
_SMALL = 2**27  # bytes, about what the libraries take themselves: nobody asks the system for less

# t (n,), q (n, n_q), v (n, n_v), a (n, n_v), lam (n, n_lam), work of impulses (n, n_impulsive)
Histories = tuple[Any, Any, Any, Any, Any, Any]


def impulsive_so_far(model: Model, F: np.ndarray) -> np.ndarray:
    """Return the work of impulses so far, (n_impulsive,) [J]."""
    return F[m.IMPULSIVE : m.IMPULSIVE + model.n_impulsive].copy()


def at_once(model: Model) -> tuple[int, int]:
    """Return how many floats a recorded step has, and how many steps are taken over at once."""
    size = 1 + model.n_q + 2 * int(model.I[m.N_U]) + model.n_impulsive
    return size, max(_CHUNK_BYTES // (8 * size), 8)


def columns(model: Model) -> tuple[Any, Any, Any, Any, Any]:
    """Return where q, v, a, lam and the work of impulses stand in a recorded row, after time."""
    v, lam = model.numbering.v, model.numbering.lam
    n_v = 1 + model.n_q
    n_a = n_v + int(model.I[m.N_U])
    end = n_a + int(model.I[m.N_U])
    return slice(1, n_v), n_v + v, n_a + v, n_a + lam, slice(end, end + model.n_impulsive)


class RecordError(RuntimeError):
    """Instants cannot be kept: the disk is full, say. What was kept before can be had."""


class Record(Protocol):
    """Protocol of the place that instants of a run go to; their number need not be known."""

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray,
        impulsive: np.ndarray,
    ) -> None:  # fmt: skip
        """Keep n instants, time first; see ``Histories``.

        Raises
        ------
        RecordError
        """

    def happened(self, name: str, t: float) -> None:
        """Keep an event: its name and time."""

    def struck(self, impacts: np.ndarray) -> None:
        """Keep impacts (n, 13), in the order of time; see ``mbd/history/impacts.py``."""

    def complete(self, status: int, message: str) -> tuple[int, str]:
        """Bring the last instants to their place, when the run is over.

        Return status and message, which say more if they cannot be kept.
        """

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> None:
        """Take leave of the run: how it ended, what it cost, its last state."""

    def histories(self) -> Histories:
        """Return t, q, v, a, lam and work of impulses of all instants kept so far."""

    @property
    def impacts(self) -> np.ndarray:
        """All impacts kept so far."""

    @property
    def stored(self) -> Mapping[str, Any] | None:
        """Quantities by name that were evaluated already, if any were."""


class ArrayRecord:
    """Keep the instants in memory, in arrays that grow.

    Parameters
    ----------
    model : Model
    expected : int
        Room made at once; beyond it the room doubles, so that an instant costs the same however
        many there are.
    """

    def __init__(self, model: Model, expected: int = 64) -> None:
        n_q, n_v, n_lam, n_impulsive = model.n_q, model.n_v, model.n_lam, model.n_impulsive
        widths = ((), (n_q,), (n_v,), (n_v,), (n_lam,), (n_impulsive,))
        self._bytes = 8 * (1 + n_q + 2 * n_v + n_lam + n_impulsive)  # of an instant
        need = expected * self._bytes
        if need > _SMALL and need > (free := free_bytes()):
            raise ValueError(
                f"simulate: {expected:.3g} instants of {len(model.bodies)} bodies need "
                f"{need / 1e9:.3g} GB of memory, but {free / 1e9:.3g} GB are free; keep every so "
                f"many steps only, such as every={math.ceil(2 * need / max(free, 1.0))}, or write "
                "them to a file while the run goes on, stream='run.nc'"
            )
        self._arrays = [np.empty((max(1, expected) + 1, *width)) for width in widths]
        self._spare = 1  # rows kept for the last state, should memory be full
        self._n = 0
        self._impacts = list[np.ndarray]()

    def append(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, lam: np.ndarray,
        impulsive: np.ndarray,
    ) -> None:  # fmt: skip
        """Keep n instants."""
        n, end = self._n, self._n + len(t)
        if end > len(self._arrays[0]) - self._spare:
            room = max(end + 1, 2 * len(self._arrays[0]))
            need = room * self._bytes
            if need > _SMALL and need > free_bytes():
                rest = len(self._arrays[0]) - self._spare - n
                self._spare = 0
                self._put(*(x[:rest] for x in (t, q, v, a, lam, impulsive)))
                raise MemoryError(
                    f"simulate: memory is full after {self._n} instants; keep fewer with every=, "
                    "or write them to a file while the run goes on, stream='run.nc'"
                )
            grown = [np.empty((room, *old.shape[1:])) for old in self._arrays]
            for new, old in zip(grown, self._arrays, strict=True):
                new[:n] = old[:n]
            self._arrays = grown  # all at once: Ctrl-C may come at any line
        self._put(t, q, v, a, lam, impulsive)

    def _put(self, *instants: np.ndarray) -> None:
        """Keep instants for which there is room."""
        end = self._n + len(instants[0])
        for array, new in zip(self._arrays, instants, strict=True):
            array[self._n : end] = new
        self._n = end

    def __len__(self) -> int:
        return self._n

    def happened(self, name: str, t: float) -> None:
        """Do nothing: the run knows its events."""

    def struck(self, impacts: np.ndarray) -> None:
        """Keep impacts."""
        self._impacts.append(impacts)

    @property
    def impacts(self) -> np.ndarray:
        """All impacts kept so far."""
        return np.concatenate(self._impacts) if self._impacts else NO_IMPACTS

    def complete(self, status: int, message: str) -> tuple[int, str]:
        """Say in the message what very many instants cost."""
        cost = self._cost()
        return status, f"{message}; {cost}" if cost else message

    def close(
        self, status: int, message: str, stats: dict[str, float], last: State | None = None
    ) -> None:
        """Do nothing: the solution knows how the run ended."""

    def _cost(self) -> str:
        """Return what very many instants cost, and what one does about it; few are no words."""
        if self._n < KEPT_MANY:
            return ""
        size, every = self._n * self._bytes / 10**6, math.ceil(self._n / KEPT_MANY) + 1
        return (
            f"{self._n:.3g} instants take {size:.0f} MB of memory; keep every so many steps only, "
            f"such as every={every}, or write them to a file while the run goes on, stream='run.nc'"
        )

    @property
    def stored(self) -> None:
        """Nothing is evaluated before it is asked for."""

    def histories(self) -> Histories:
        """Return t, q, v, a, lam and work of impulses of all instants kept so far."""
        t, q, v, a, lam, impulsive = (array[: self._n] for array in self._arrays)
        return t, q, v, a, lam, impulsive
