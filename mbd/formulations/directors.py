r"""``directors``: the face itself is the state, orthonormality by six Lagrange rows.

:math:`q = y = (r, d_1, d_2, d_3)`, :math:`v = \dot y`: no curvature, a constant mass matrix
:math:`W \otimes I_3` with :math:`W = [[m, m\rho_c^T], [m\rho_c, E]]`, and the rows

.. math:: \tfrac12(d_i\cdot d_i - 1), \quad d_2\cdot d_3, \quad d_1\cdot d_3, \quad d_1\cdot d_2 .

References
----------
[Gebhardt 2020, (56)-(67)], which prints the last three rows; all six are needed: see the page *From
paper to code* of the documentation.
"""

from typing import Any

import numpy as np

from mbd.algebra.so3 import quaternion_exp, quaternion_matrix
from mbd.algebra.vec import (
    add_identity,
    copy,
    cross,
    dot,
    load3,
    minus,
    plus,
    store3,
    store_multiple,
    times,
)
from mbd.formulations.formulation import (
    Array,
    Formulation,
    InitialValues,
    mass_matrix,
    vector_space,
)
from mbd.machine.buffer import DIRECTOR, GX, OWN, POSITION_TURN, TRANSLATION, W_K, W_M
from mbd.machine.jit import jit

retract, flow = vector_space(12)


def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the 4x4 matrix W row by row."""
    return mass_matrix(mass, center, second).reshape(*second.shape[:-2], 16)


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return the face and its velocity."""
    directors = np.swapaxes(rotation, -1, -2)
    rates, nine = np.cross(omega[..., None, :], directors), (*omega.shape[:-1], 9)
    q = np.concatenate([position, directors.reshape(nine)], -1)
    return q, np.concatenate([velocity, rates.reshape(nine)], -1)


@jit
def face(F: Any, n: Any) -> None:
    """Copy the coordinates."""
    copy(F, n.y, n.q, 12)


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Copy the velocities."""
    copy(F, n.yd, n.v, 12)


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Copy the accelerations."""
    copy(F, n.ydd, n.a, 12)


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s ((W (x) I) v' - weight + f_y + own B^T lam) and the six rows."""
    d1, d2, d3 = load3(F, n.q + 3), load3(F, n.q + 6), load3(F, n.q + 9)
    lam = n.a + 12
    l4, l5, l6 = F[lam + 3], F[lam + 4], F[lam + 5]
    g = load3(F, GX)
    own = (
        (0.0, 0.0, 0.0),
        plus(times(F[lam], d1), plus(times(l5, d3), times(l6, d2))),
        plus(times(F[lam + 1], d2), plus(times(l4, d3), times(l6, d1))),
        plus(times(F[lam + 2], d3), plus(times(l4, d2), times(l5, d1))),
    )
    for k in range(4):
        r = plus(own[k], load3(F, n.f + 3 * k))
        r = plus(r, times(-F[n.par + 4 * k], g))
        for j in range(4):
            r = plus(r, times(F[n.par + 4 * k + j], load3(F, n.a + 3 * j)))
        store3(F, n.x + 3 * k, times(s, r))
    store3(F, n.x + 12, (0.5 * dot(d1, d1) - 0.5, 0.5 * dot(d2, d2) - 0.5, 0.5 * dot(d3, d3) - 0.5))
    store3(F, n.x + 15, (dot(d2, d3), dot(d1, d3), dot(d1, d2)))


@jit
def tangent(F: Any, n: Any) -> None:
    """Add w_M W (x) I + w_K Lambda (x) I and the gradients of the six rows."""
    wM, wK, turn = F[W_M], F[W_K], F[POSITION_TURN]
    lam = n.a + 12
    for k in range(4):
        for j in range(4):
            add_identity(F, n.S + 3 * k * n.ld + 3 * j, n.ld, wM * F[n.par + 4 * k + j])
    for i in range(3):
        add_identity(F, n.S + 3 * (i + 1) * (n.ld + 1), n.ld, wK * F[lam + i])
        # row i: d_i on director i; row 3 + i: the two other directors, crosswise
        j, k = (i + 1) % 3, (i + 2) % 3
        add_identity(F, n.S + 3 * (j + 1) * n.ld + 3 * (k + 1), n.ld, wK * F[lam + 3 + i])
        add_identity(F, n.S + 3 * (k + 1) * n.ld + 3 * (j + 1), n.ld, wK * F[lam + 3 + i])
        for c in range(3):
            ci, cj, ck = 3 + 3 * i + c, 3 + 3 * j + c, 3 + 3 * k + c
            di, dj, dk = F[n.q + ci], F[n.q + cj], F[n.q + ck]
            F[n.S + ci * n.ld + 12 + i] += di
            F[n.S + cj * n.ld + 15 + i] += dk
            F[n.S + ck * n.ld + 15 + i] += dj
            F[n.S + (12 + i) * n.ld + ci] += di + turn * F[n.v + ci]
            F[n.S + (15 + i) * n.ld + cj] += dk + turn * F[n.v + ck]
            F[n.S + (15 + i) * n.ld + ck] += dj + turn * F[n.v + cj]


@jit
def maps(F: Any, n: Any, to: Any) -> None:
    """Write w (x) I, the same for test and trial; the velocity does not depend on q."""
    for k in range(4):
        store_multiple(F, to.P + 3 * k, F[to.w + k])
        store_multiple(F, to.PT + 3 * k, F[to.w + k])
        if to.rate:
            store_multiple(F, to.DP + 3 * k, 0.0)


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write zeros: accelerations are those of the coordinates."""
    for k in range(0, 12, 3):
        store_multiple(F, to.AV + k, 0.0)
        store_multiple(F, to.AQ + k, 0.0)


@jit
def own_rates(F: Any, n: Any) -> None:
    """Write both derivatives of the six rows."""
    for i in range(3):
        a, b = n.y + 3 + 3 * ((i + 1) % 3), n.y + 3 + 3 * ((i + 2) % 3)
        ad, bd, add, bdd = a - n.y + n.yd, b - n.y + n.yd, a - n.y + n.ydd, b - n.y + n.ydd
        c, cd, cdd = n.y + 3 + 3 * i, n.yd + 3 + 3 * i, n.ydd + 3 + 3 * i
        C, Cd, Cdd = load3(F, c), load3(F, cd), load3(F, cdd)
        A, Ad, Add = load3(F, a), load3(F, ad), load3(F, add)
        B, Bd, Bdd = load3(F, b), load3(F, bd), load3(F, bdd)
        F[n.rate + i] = dot(C, Cd)
        F[n.rate + 3 + i] = dot(A, Bd) + dot(Ad, B)
        F[n.second + i] = dot(Cd, Cd) + dot(C, Cdd)
        F[n.second + 3 + i] = dot(A, Bdd) + 2 * dot(Ad, Bd) + dot(Add, B)


@jit
def turned(F: Any, q0: int, X: Any, k: int) -> Any:
    """Return R_0 X e_k of the directors at q0."""
    a, b = times(X[k], load3(F, q0 + 3)), times(X[3 + k], load3(F, q0 + 6))
    return plus(plus(a, b), times(X[6 + k], load3(F, q0 + 9)))


@jit
def straight(a: Any, b: Any, c: Any) -> Any:
    """Return a less half of what keeps it from being orthonormal to b and c."""
    x = times(1.5 - 0.5 * dot(a, a), a)
    return plus(x, plus(times(-0.5 * dot(a, b), b), times(-0.5 * dot(a, c), c)))


@jit
def carry(F: Any, n: Any, motion: int, twist: int) -> None:
    """Write the differences to origin and turned directors, and omega x d_k."""
    X, Omega = quaternion_matrix(quaternion_exp(load3(F, motion + 3))), load3(F, twist + 3)
    d1, d2, d3 = turned(F, n.q0, X, 0), turned(F, n.q0, X, 1), turned(F, n.q0, X, 2)
    e1, e2, e3 = straight(d1, d2, d3), straight(d2, d3, d1), straight(d3, d1, d2)
    omega = plus(plus(times(Omega[0], e1), times(Omega[1], e2)), times(Omega[2], e3))
    store3(F, n.d, load3(F, motion))
    store3(F, n.d + 3, minus(e1, load3(F, n.q0 + 3)))
    store3(F, n.d + 6, minus(e2, load3(F, n.q0 + 6)))
    store3(F, n.d + 9, minus(e3, load3(F, n.q0 + 9)))
    store3(F, n.v, load3(F, twist))
    store3(F, n.v + 3, cross(omega, e1))
    store3(F, n.v + 6, cross(omega, e2))
    store3(F, n.v + 9, cross(omega, e3))


DIRECTORS = Formulation(
    name="directors", velocities=("x", "y", "z", *(f"d{k}_{c}" for k in "123" for c in "xyz")),
    velocity_kinds=(TRANSLATION,) * 3 + (DIRECTOR,) * 9,
    own_rows=("|d1|", "|d2|", "|d3|", "d2.d3", "d1.d3", "d1.d2"), own_kinds=(OWN,) * 6, n_q=12,
    axes=True, constants=constants, initial=initial, stacks=True, retract=retract, face=face,
    face_velocity=face_velocity, face_acceleration=face_acceleration, residual=residual,
    tangent=tangent, maps=maps, own_rates=own_rates, flow=flow, carry=carry,
    second_maps=second_maps, linear=True,
)  # fmt: skip
