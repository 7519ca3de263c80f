"""Batches of runs: the floats of many runs in one array, on which a kernel works run by run.

A batch begins with the number of runs that take part and the place of each, then come the floats of
all runs, one run behind the other. The loop over runs is compiled and releases the lock of the
interpreter.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, Kernel, call, maps_kernel

__all__ = ["Batch"]

if PYTHON:

    def beyond(F: Any, i: int) -> Any:
        """Return the floats from number i on."""
        return F[i:]

else:
    from mbd.machine.vector_code import vector_intrinsic

    beyond = vector_intrinsic(lambda v, F, i: v.b.gep(F, [i]), "Fi", "F")


def each_run(I: Any, F: Any, address: int, k: int, _: int) -> None:
    """Call the kernel at `address` on each run that takes part."""
    for j in range(int(F[0])):
        call(address, I, beyond(F, int(F[1 + j])), k)


each = maps_kernel(each_run)
each.long = True


_KEPT = threading.local()  # the memory of the last batch of each thread


def _room(size: int) -> np.ndarray:
    """Return so many floats: those of the last batch of this thread, if nobody has them any more.

    A process whose allocator gives memory back at once, such as a worker of dask, would take as
    long for new pages as for a sixth of the steps.
    """
    kept = getattr(_KEPT, "room", None)
    if kept is None or len(kept) < size or sys.getrefcount(kept) > _KEPT.alone:
        kept = _KEPT.room = np.empty(size)
        _KEPT.alone = sys.getrefcount(kept)  # how many references that is depends on Python
    return kept[:size]


class Batch:
    """The floats of n runs of one model.

    Parameters
    ----------
    I : array of int
        The tables of the model.
    n, size : int
        Runs, and floats of each.

    Attributes
    ----------
    F : (n, size) array
        One run in each row.
    """

    def __init__(self, I: np.ndarray, n: int, size: int) -> None:
        self.I, stride = I, m.padded(size)
        head = m.padded(1 + n)
        self._all = _room(head + n * stride + 4)
        self._places = head + stride * np.arange(n)
        self.F = self._all[head : head + n * stride].reshape(n, stride)[:, :size]

    def run(self, kernel: Kernel, k: int, only: np.ndarray) -> None:
        """Call a kernel on the runs that are marked (n,)."""
        places = self._places[only]
        self._all[0] = len(places)
        self._all[1 : 1 + len(places)] = places
        each(self.I, self._all, kernel.address, k, 0)
