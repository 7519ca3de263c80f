r"""Faces of the links, and the forces that the model's own kernels exert on them.

Springs, motors, loads and laws of users see faces, :math:`y = (r, d_1, d_2, d_3)`, whatever the
coordinates are. The tree writes the faces and their rates, the kernels of the model add their
forces, and these are one moment and one force on each link,

.. math:: n_O = r\times f_0 + \sum_k d_k\times f_k, \qquad f = f_0 .
"""

from typing import Any

from mbd.algebra.vec import clear, cross, load3, load6, plus, store3
from mbd.joint_tree import layout as t
from mbd.joint_tree.recursions import add6, body_pose
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit, kernel


@jit
def wrench(F: Any, y: int, f: int) -> Any:
    """Return moment about O and force of the face forces at F[f] on the face at F[y]."""
    n = cross(load3(F, y), load3(F, f))
    for i in range(3, 12, 3):
        n = plus(n, cross(load3(F, y + i), load3(F, f + i)))
    return n, load3(F, f)


@kernel
def show(I: Any, F: Any, k: int) -> None:
    """Write the faces of all bodies and their rates; let angles have the turns of q."""
    for l in t.links(I, k):
        if I[l + t.L_FACE] == 0:
            continue
        y, yd = I[m.Y] + I[l + t.L_FACE] - 1, I[m.YD] + I[l + t.L_FACE] - 1
        (x, R), (w, v) = body_pose(I, F, l), load6(F, I[l + t.L_NUMBERS] + t.N_V)
        store3(F, y, x)
        store3(F, yd, plus(v, cross(w, x)))
        if I[l + t.L_AXES]:
            for j in range(3):
                d = R[j], R[j + 3], R[j + 6]
                store3(F, y + 3 * j + 3, d)
                store3(F, yd + 3 * j + 3, cross(w, d))
    pair = I[k + t.T_TURNED]
    for i in range(pair, pair + 2 * I[k + t.T_N_TURNED], 2):
        F[I[i]] = F[I[i + 1]]


@kernel
def tell(I: Any, F: Any, k: int) -> None:
    """Write position, rotation, velocity and angular velocity of all bodies to MOTION."""
    for i in range(I[k + t.T_LINKS]):
        l, to = I[k + t.T_LINK] + i * t.L_SIZE, I[k + t.T_MOTION] + 18 * i
        (x, R), (w, v) = body_pose(I, F, l), load6(F, I[l + t.L_NUMBERS] + t.N_V)
        store3(F, to, x)
        for j in range(9):
            F[to + 3 + j] = R[j]
        store3(F, to + 12, plus(v, cross(w, x)))
        store3(F, to + 15, w)


@kernel
def show_accelerations(I: Any, F: Any, k: int) -> None:
    """Write the second rates of the faces of all bodies, without gravity in A_0."""
    for l in t.links(I, k):
        if I[l + t.L_FACE] == 0:
            continue
        link = I[l + t.L_NUMBERS]
        at = I[l + t.L_FACE] - 1
        y, yd, ydd = I[m.Y] + at, I[m.YD] + at, I[m.YDD] + at
        (w, _), (b, a) = load6(F, link + t.N_V), load6(F, link + t.N_A)
        x = load3(F, y)
        store3(F, ydd, plus(plus(a, cross(b, x)), cross(w, load3(F, yd))))
        for j in range(3, 12, 3) if I[l + t.L_AXES] else range(0):
            turning = cross(b, load3(F, y + j))
            store3(F, ydd + j, plus(turning, cross(w, load3(F, yd + j))))


@jit
def push(I: Any, F: Any, k: int) -> None:
    """Add the forces of all elements without rows, with those of compliant rows, to faces."""
    clear(F, I[m.FY], 12 * I[m.N_FACES])
    stage = I[k + t.T_STAGE]
    for i in range(stage, stage + 3 * I[k + t.T_N_STAGE], 3):
        call(address_at(I, i), I, F, I[i + 2])


@kernel
def add_forces(I: Any, F: Any, k: int) -> None:
    """Add the forces of all elements to those on the links."""
    push(I, F, k)
    take_forces(I, F, k, 1.0)


@jit
def take_forces(I: Any, F: Any, k: int, s: float) -> None:
    """Add s times the forces on faces to those on the links."""
    for l in t.links(I, k):
        face = I[l + t.L_FACE] - 1
        if face >= 0:
            f = wrench(F, I[m.Y] + face, I[m.FY] + face)
            add6(F, I[l + t.L_NUMBERS] + t.N_FORCE, s, f)


@kernel
def forces_alone(I: Any, F: Any, k: int) -> None:
    """Let the links have no other forces than those that follow."""
    for l in t.links(I, k):
        clear(F, I[l + t.L_NUMBERS] + t.N_FORCE, 6)
