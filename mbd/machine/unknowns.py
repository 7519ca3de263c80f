"""Unknowns: velocities and rows, told apart by their kind.

Vectors over all unknowns are gone through front by front, where velocities and rows alternate::

    for i in range(I[m.N_U]):
        if is_velocity(I, i):
"""

from typing import Any

from mbd.machine import buffer as m
from mbd.machine.jit import jit


@jit
def is_velocity(I: Any, i: int) -> bool:
    """Tell whether unknown i is a velocity; the others are rows."""
    return I[I[m.UNKNOWN_KIND] + i] < m.FORCE


@jit
def own_vector(I: Any, j: int) -> int:
    """Return where vector j over the unknowns, of those that a method keeps of its own, is in F."""
    return I[m.METHOD] + j * I[m.N_U]


@jit
def _of_side(I: Any, side: int, first: int, border: int, last: int) -> tuple[int, int]:
    """Return the numbers from ``first`` to I[last] of a side, or all; entry `border` parts them."""
    if side == m.WHOLE:
        return first, I[last]
    middle = I[I[m.SIDES] + border]
    return (middle, I[last]) if side else (first, middle)


@jit
def unknowns_of(I: Any, side: int) -> tuple[int, int]:
    """Return the unknowns of a side; those between go with the second one."""
    return _of_side(I, side, 0, m.SD_U, m.N_U)  # type: ignore[no-any-return]


@jit
def coordinates_of(I: Any, side: int) -> tuple[int, int]:
    """Return the coordinates that are, by and large, those of a side."""
    return _of_side(I, side, 0, m.SD_Q, m.N_Q)  # type: ignore[no-any-return]


@jit
def faces_of(I: Any, side: int) -> tuple[int, int]:
    """Return the faces that are, by and large, those of a side; without that of ground."""
    return _of_side(I, side, 1, m.SD_FACE, m.N_FACES)  # type: ignore[no-any-return]


@jit
def measured(I: Any, side: int) -> int:
    """Return where a side writes what it has measured."""
    return I[m.GATE] + m.GATE_SIDES + m.LINE * side
