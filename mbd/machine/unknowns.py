"""Unknowns: velocities and rows, told apart by their kind.

Vectors over all unknowns are gone through front by front, where velocities and rows alternate::

    for i in range(I[m.N_U]):
        if is_velocity(I, i):
"""

from __future__ import annotations

from typing import Any

from mbd.machine import buffer as m
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


@jit
def unknowns_of(I: Any, side: int) -> tuple[int, int]:
    """Return the unknowns of a side; those between go with the second one."""
    if side == m.WHOLE:
        return 0, I[m.N_U]
    border = I[I[m.SIDES] + m.SD_U]
    return (border, I[m.N_U]) if side else (0, border)


@jit
def coordinates_of(I: Any, side: int) -> tuple[int, int]:
    """Return the coordinates that are, by and large, those of a side."""
    if side == m.WHOLE:
        return 0, I[m.N_Q]
    border = I[I[m.SIDES] + m.SD_Q]
    return (border, I[m.N_Q]) if side else (0, border)


@jit
def measured(I: Any, side: int) -> int:
    """Return where a side writes what it has measured."""
    return I[m.GATE] + m.GATE_SIDES + m.LINE * side


@jit
def faces_of(I: Any, side: int) -> tuple[int, int]:
    """Return the faces that are, by and large, those of a side; without that of ground."""
    if side == m.WHOLE:
        return 1, I[m.N_FACES]
    border = I[I[m.SIDES] + m.SD_FACE]
    return (border, I[m.N_FACES]) if side else (1, border)
