"""Unknowns: velocities and rows, told apart by their kind.

Vectors over all unknowns are gone through front by front, where velocities and rows alternate::

    for i in range(I[m.N_U]):
        if is_velocity(I, i):
"""

from __future__ import annotations

from typing import Any

from mbd.machine.buffer import FORCE, METHOD, N_U, UNKNOWN_KIND
from mbd.machine.jit import jit


@jit
def is_velocity(I: Any, i: int) -> bool:
    """Tell whether unknown i is a velocity; the others are rows."""
    return I[I[UNKNOWN_KIND] + i] < FORCE


@jit
def own_vector(I: Any, j: int) -> int:
    """Return where vector j over the unknowns, of those that a method keeps of its own, is in F."""
    return I[METHOD] + j * I[N_U]
