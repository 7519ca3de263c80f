"""Batches of runs: the floats of many runs in one array, on which a kernel works run by run.

A batch begins with the number of runs that take part and the place of each, then come the floats of
all runs, one run after the other. The loop over runs is compiled and releases the lock of the
interpreter.
"""

import sys
import threading
from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.jit import Kernel, call, maps_kernel, part


def each_run(I: Any, F: Any, address: int, k: int, _: int) -> None:
    """Call the kernel at `address` on each run that takes part."""
    for j in range(int(F[0])):
        call(address, I, part(F, int(F[1 + j])), k)


each = maps_kernel(each_run)
each.long = True


class _KeptBatches(threading.local):
    """The memory of the last batches of each thread, and how many references of it are its own."""

    def __init__(self) -> None:
        self.rooms: list[np.ndarray] = [np.empty(0)]
        self.alone = sys.getrefcount(self.rooms[0])  # how many that is depends on Python


_KEPT = _KeptBatches()


def _room(size: int) -> np.ndarray:
    """Return so many floats: those of a batch of this thread before, if nobody has them any more.

    A process whose allocator gives memory back at once, such as a worker of dask, would take as
    long for new pages as for a sixth of the steps.
    """
    rooms = _KEPT.rooms
    free = [i for i in range(len(rooms)) if sys.getrefcount(rooms[i]) <= _KEPT.alone]
    for i in free:
        if len(rooms[i]) >= size:
            return rooms[i][:size]
    for i in reversed(free):  # too small, as the next ones will be
        del rooms[i]
    rooms.append(np.empty(size))
    return rooms[-1][:size]


class Batch:
    """The floats of n runs of one model.

    Parameters
    ----------
    n, size : int
        Runs, and floats of each.

    Attributes
    ----------
    F : (n, size) array
        One run in each row.
    """

    def __init__(self, n: int, size: int) -> None:
        stride = m.padded(size)
        head = m.padded(1 + n)
        self._all = _room(head + n * stride + 4)
        self._places = head + stride * np.arange(n)
        self.F = self._all[head : head + n * stride].reshape(n, stride)[:, :size]

    def run(self, I: np.ndarray, kernel: Kernel, k: int, only: np.ndarray) -> None:
        """Call a kernel, with the tables I, on the runs that are marked (n,)."""
        places = self._places[only]
        self._all[0] = len(places)
        self._all[1 : 1 + len(places)] = places
        each(I, self._all, kernel.address, k, 0)
