"""Records of the fronts of the matrix and of their update groups; see ``linear/fronts.py``."""

from typing import Any, NamedTuple

from mbd.machine import buffer as m
from mbd.machine.jit import jit


class FrontRecord(NamedTuple):
    """A front, as its table has it: places of rows in F, of update groups in I, sizes."""

    u: int  #: first unknown
    n_p: int  #: pivots
    n_v: int  #: velocities among them
    A: int  #: A_pp, which becomes its inverse
    lda: int
    W: int  #: A_pu, which becomes W
    ldw: int
    groups: int  #: first update group
    n_g: int  #: number of them
    kernel: int  #: which kernel of the stage PIVOTS it takes, from 1 on; 0: it has too many pivots
    at: int  #: its record


class GroupRecord(NamedTuple):
    """An update group of a front, as its table has it."""

    u: int  #: first unknown
    n: int  #: unknowns
    k: int  #: first pivot that reaches them
    column: int  #: first column in W
    L: int  #: rows in A_up, from that pivot on
    ld: int
    front: int  #: record of the front that eliminates it


@jit
def front_at(I: Any, j: int) -> Any:
    """Return the front whose record is at I[j]."""
    return FrontRecord(
        I[j + m.FR_U], I[j + m.FR_NP], I[j + m.FR_NV], I[j + m.FR_A], I[j + m.FR_LDA],
        I[j + m.FR_W], I[j + m.FR_LDW], I[j + m.FR_GROUPS], I[j + m.FR_NG], I[j + m.FR_KERNEL], j,
    )  # fmt: skip


@jit
def front(I: Any, f: int) -> Any:
    """Return front number f."""
    return front_at(I, I[m.FRONTS] + f * m.FR_SIZE)


@jit
def group_at(I: Any, j: int) -> Any:
    """Return the update group whose record is at I[j]."""
    return GroupRecord(
        I[j + m.UG_U], I[j + m.UG_N], I[j + m.UG_K], I[j + m.UG_COL], I[j + m.UG_L],
        I[j + m.UG_LD], I[j + m.UG_FRONT],
    )  # fmt: skip


@jit
def group(I: Any, f: Any, g: int) -> Any:
    """Return update group number g of a front."""
    return group_at(I, f.groups + g * m.UG_SIZE)
