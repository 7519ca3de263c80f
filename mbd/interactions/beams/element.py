r"""The beam element: a helicoid between two frames with six strains and one constant stiffness.

With the strains :math:`e = (e_T, e_R)` of ``algebra/helicoid.py``, e of the reference
:math:`e_0`, and symmetric 6x6 matrices K (stiffness) and D (damping),

.. math:: V = \tfrac12 (e - e_0)^TK(e - e_0), \qquad \sigma = K(e - e_0) + D\dot e .

e is a function of seven products of directors, :math:`z = (u, a, t) = \tfrac12 y^T(A\otimes I)y`,
with :math:`F_z = \partial e/\partial z` and :math:`G = \partial z/\partial y`. So with
:math:`q = F_z^T\sigma`

.. math:: f = G^Tq, \qquad
   \frac{\partial f}{\partial y} = G^T\big(F_z^TKF_z + \textstyle\sum_i\sigma_i F_{i,zz}\big)G
   + \sum_m q_m A_m\otimes I, \qquad \frac{\partial f}{\partial\dot y} = G^TF_z^TDF_zG ,

and by D also :math:`G^TF_z^TD\,\big((F_{zz}\dot z)\,G + F_z\dot G\big)`. G is pulled back to the
velocities of both nodes first, so all products have the size of the nodes.

In a step of the conserving scheme, from z0 to z1 with G of the middle (an exact secant),

.. math:: \bar q = \int_0^1 F_z(z_0 + s(z_1 - z_0))^T\bar\sigma\,ds, \qquad
   \bar\sigma = K\big(\tfrac12(e(z_0) + e(z_1)) - e_0\big) + D\,(e(z_1) - e(z_0))/h :

five Gauss points leave an error of the energy at round-off. No strain needs a rotation vector, and
a rigid motion of both frames leaves all as they are. At a relative turn of pi it is singular.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.helicoid import (
    add_hessian,
    gradient,
    products,
    rates,
    strain_rates,
    strains,
    write_gradients,
)
from mbd.algebra.vec import dot, load3, minus, plus, store3, times
from mbd.interactions.beams.blocks import FZ, GP, KF, WORK, S, add_blocks, frame, work
from mbd.interactions.kind import Kind, each
from mbd.interactions.pullback import form_maps, push
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit

__all__ = ["BEAM"]

DISSIPATED, FY, PHASE, POTENTIAL, ROW_RATE, Y, YD = (
    m.DISSIPATED, m.FY, m.PHASE, m.POTENTIAL, m.ROW_RATE, m.Y, m.YD,
)  # fmt: skip
START, END, STRESS_AHEAD, STRESS_GIVEN = m.START, m.END, m.STRESS_AHEAD, m.STRESS_GIVEN
K, D, Z0, Z1 = 6, 42, 78, 85  # numbers: e0, K, D row by row; z at both ends of a conserving step
STRESS, ROOM = Z0, 14  # sigma of a search for balance, which makes no steps
PAIRS = ((0, 0), (0, 4), (4, 0), (4, 4))
_GAUSS = (
    (0.046910077030668, 0.23076534494715845, 0.5, 0.7692346550528415, 0.953089922969332),
    (0.11846344252809454, 0.23931433524968324, 64 / 225, 0.23931433524968324, 0.11846344252809454),
)


# --- forces ---------------------------------------------------------------------------------------
@jit
def add_forces(I: Any, F: Any, e: Any, a: Any, b: Any, qu: Any, qa: Any, qt: float) -> None:
    """Add G^T q to the face forces."""
    half = times(0.5, minus(b[0], a[0]))
    ends = e.ends
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        mean = times(0.5, plus(a[1 + i], b[1 + i]))
        push(I, F, FY, I[ends], -qu[i], mean)
        push(I, F, FY, I[ends + 4], qu[i], mean)
        one = plus(times(qu[i], half), times(qt, b[1 + i]))
        one = plus(one, plus(times(0.5 * qa[j], b[1 + k]), times(-0.5 * qa[k], b[1 + j])))
        two = plus(times(qu[i], half), times(qt, a[1 + i]))
        two = plus(two, plus(times(0.5 * qa[k], a[1 + j]), times(-0.5 * qa[j], a[1 + k])))
        push(I, F, FY, I[ends + 1 + i], 1.0, one)
        push(I, F, FY, I[ends + 5 + i], 1.0, two)


# --- strains and stresses -------------------------------------------------------------------------
@jit
def matrix_vector(F: Any, at_matrix: int, x: Any, y: Any) -> Any:
    """Return the two halves of a 6x6 matrix times (x, y)."""
    M = at_matrix
    return (
        (_row(F, M, x, y), _row(F, M + 6, x, y), _row(F, M + 12, x, y)),
        (_row(F, M + 18, x, y), _row(F, M + 24, x, y), _row(F, M + 30, x, y)),
    )


@jit
def _row(F: Any, i: int, x: Any, y: Any) -> float:
    return dot(load3(F, i), x) + dot(load3(F, i + 3), y)


@jit
def elastic(F: Any, e: Any, eT: Any, eR: Any) -> Any:
    """Return K (e - e0) in its two halves, and e - e0."""
    x, y = minus(eT, load3(F, e.numbers)), minus(eR, load3(F, e.numbers + 3))
    return *matrix_vector(F, e.numbers + K, x, y), x, y


@jit
def stress(I: Any, F: Any, e: Any, a: Any, b: Any) -> Any:
    """Return z, z' and the stress sigma of the present pose and its rates, ahead or given."""
    u, turn, t = products(a, b)
    ad, bd = frame(I, F, YD, e, 0), frame(I, F, YD, e, 4)
    ud, turnd, td = rates(a, b, ad, bd)
    if ints(F)[PHASE] == STRESS_GIVEN:
        sT, sR = load3(F, e.numbers + STRESS), load3(F, e.numbers + STRESS + 3)
        return u, turn, t, ud, turnd, td, sT, sR
    eT, eR = strains(u, turn, t)
    sT, sR, _, _ = elastic(F, e, eT, eR)
    rT, rR = strain_rates(u, turn, t, ud, turnd, td)
    by_rate = K if ints(F)[PHASE] == STRESS_AHEAD else D
    dT, dR = matrix_vector(F, e.numbers + by_rate, rT, rR)
    return u, turn, t, ud, turnd, td, plus(sT, dT), plus(sR, dR)


# --- derivatives by the seven products, 7 numbers a row -------------------------------------------
@jit
def write_product(F: Any, to: int, M: int, B: int) -> None:
    """Write M B, a 6x6 matrix times a 6x7 one."""
    for i in range(6):
        for j in range(7):
            total = 0.0
            for k in range(6):
                total += F[M + 6 * i + k] * F[B + 7 * k + j]
            F[to + 7 * i + j] = total


@jit
def add_transposed(F: Any, to: int, w: float, A: int, B: int) -> None:
    """Add w A^T B of two 6x7 matrices, 7x7."""
    for k in range(6):
        for i in range(7):
            x = w * F[A + 7 * k + i]
            for j in range(7):
                F[to + 7 * i + j] += x * F[B + 7 * k + j]


# --- kernels --------------------------------------------------------------------------------------
@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Add G^T F_z^T sigma."""
    a, b = frame(I, F, Y, e, 0), frame(I, F, Y, e, 4)
    u, turn, t, _, _, _, sT, sR = stress(I, F, e, a, b)
    if ints(F)[PHASE] == STRESS_AHEAD:
        store3(F, e.numbers + STRESS, sT)
        store3(F, e.numbers + STRESS + 3, sR)
        return
    qu, qa, qt = gradient(u, turn, t, sT, sR)
    add_forces(I, F, e, a, b, qu, qa, qt)


@each
def tangent(I: Any, F: Any, e: Any) -> None:
    """Add the derivatives of the forces by positions and velocities."""
    s = work(I)
    damped = is_damped(F, e)
    a, b = frame(I, F, Y, e, 0), frame(I, F, Y, e, 4)
    u, turn, t, ud, turnd, td, sT, sR = stress(I, F, e, a, b)
    write_gradients(F, s + FZ, u, turn, t)
    write_product(F, s + KF, e.numbers + K, s + FZ)
    for i in range(49):
        F[s + S + i] = 0.0
    add_transposed(F, s + S, 1.0, s + FZ, s + KF)
    add_hessian(F, s + S, 1.0, u, turn, t, sT, sR)
    if damped:
        # F_z^T D (F_zz z'): column by column of F_zz z' = sum_i unit_i (H_i z')^T
        write_product(F, s + KF, e.numbers + D, s + FZ)
        add_turning(F, s, u, turn, t, ud, turnd, td)
        for i in range(49):
            F[s + GP + i] = 0.0
        add_transposed(F, s + GP, 1.0, s + KF, s + FZ)
        for i in range(49):
            F[s + KF + i] = F[s + GP + i]
    form_maps(I, F, e, 8, damped)
    qu, qa, qt = gradient(u, turn, t, sT, sR)
    add_blocks(I, F, e, a, b, a, b, damped, qu, qa, qt)


@jit
def is_damped(F: Any, e: Any) -> bool:
    """Tell whether there is any damping: D is positive semidefinite, its diagonal tells."""
    total = 0.0
    for i in range(6):
        total += F[e.numbers + D + 7 * i]
    return total != 0.0


@jit
def add_turning(F: Any, s: int, u: Any, a: Any, t: float, ud: Any, ad: Any, td: float) -> None:
    """Add F_z^T D (F_zz z') to S; D F_z stands at KF."""
    H, zero = s + GP, (0.0, 0.0, 0.0)
    zd = (ud[0], ud[1], ud[2], ad[0], ad[1], ad[2], td)
    for i in range(6):
        one = (1.0 if i % 3 == 0 else 0.0, 1.0 if i % 3 == 1 else 0.0, 1.0 if i % 3 == 2 else 0.0)
        for j in range(49):
            F[H + j] = 0.0
        if i < 3:
            add_hessian(F, H, 1.0, u, a, t, one, zero)
        else:
            add_hessian(F, H, 1.0, u, a, t, zero, one)
        for n in range(7):
            change = 0.0
            for k in range(7):
                change += F[H + 7 * n + k] * zd[k]
            for k in range(7):
                F[s + S + 7 * k + n] += F[s + KF + 7 * i + k] * change


@each
def energy(I: Any, F: Any, e: Any) -> None:
    """Add the potential and the power that damping takes."""
    a, b = frame(I, F, Y, e, 0), frame(I, F, Y, e, 4)
    u, turn, t = products(a, b)
    eT, eR = strains(u, turn, t)
    sT, sR, x, y = elastic(F, e, eT, eR)
    F[POTENTIAL] += 0.5 * (dot(sT, x) + dot(sR, y))
    ad, bd = frame(I, F, YD, e, 0), frame(I, F, YD, e, 4)
    ud, turnd, td = rates(a, b, ad, bd)
    rT, rR = strain_rates(u, turn, t, ud, turnd, td)
    dT, dR = matrix_vector(F, e.numbers + D, rT, rR)
    F[DISSIPATED] += dot(dT, rT) + dot(dR, rR)


# --- the conserving scheme ------------------------------------------------------------------------
@jit
def keep(F: Any, to: int, u: Any, a: Any, t: float) -> None:
    """Write z."""
    store3(F, to, u)
    store3(F, to + 3, a)
    F[to + 6] = t


@jit
def between(F: Any, e: Any, s: float) -> Any:
    """Return z0 + s (z1 - z0)."""
    z0, z1 = e.numbers + Z0, e.numbers + Z1
    u = plus(times(1.0 - s, load3(F, z0)), times(s, load3(F, z1)))
    a = plus(times(1.0 - s, load3(F, z0 + 3)), times(s, load3(F, z1 + 3)))
    return u, a, (1.0 - s) * F[z0 + 6] + s * F[z1 + 6]


@jit
def mean_stress(F: Any, e: Any) -> Any:
    """Return the stress of a conserving step, and the mean of F_z^T times it."""
    u, a, t = between(F, e, 0.0)
    T0, R0 = strains(u, a, t)
    u, a, t = between(F, e, 1.0)
    T1, R1 = strains(u, a, t)
    sT, sR, _, _ = elastic(F, e, times(0.5, plus(T0, T1)), times(0.5, plus(R0, R1)))
    rate = 1.0 / F[ROW_RATE]
    dT, dR = matrix_vector(F, e.numbers + D, times(rate, minus(T1, T0)), times(rate, minus(R1, R0)))
    sT, sR = plus(sT, dT), plus(sR, dR)
    qu, qa, qt = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for g in range(5):
        u, a, t = between(F, e, _GAUSS[0][g])
        by_u, by_a, by_t = gradient(u, a, t, sT, sR)
        w = _GAUSS[1][g]
        qu, qa, qt = plus(qu, times(w, by_u)), plus(qa, times(w, by_a)), qt + w * by_t
    return sT, sR, qu, qa, qt


@each
def conserving_forces(I: Any, F: Any, e: Any) -> None:
    """At the ends of the step keep z; in the middle act."""
    a, b = frame(I, F, Y, e, 0), frame(I, F, Y, e, 4)
    phase = ints(F)[PHASE]
    if phase in (START, END):
        u, turn, t = products(a, b)
        keep(F, e.numbers + (Z0 if phase == START else Z1), u, turn, t)
    else:
        _, _, qu, qa, qt = mean_stress(F, e)
        add_forces(I, F, e, a, b, qu, qa, qt)


@each
def conserving_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the derivative by the end, twice: the weight of the stiffness is that of the middle."""
    s, h = work(I), F[ROW_RATE]
    a, b = frame(I, F, Y, e, 0), frame(I, F, Y, e, 4)
    ad, bd = frame(I, F, YD, e, 0), frame(I, F, YD, e, 4)
    last_a, last_b = ahead(a, ad, 0.5 * h), ahead(b, bd, 0.5 * h)
    sT, sR, qu, qa, qt = mean_stress(F, e)
    u, turn, t = between(F, e, 1.0)
    # d sigma / d z1, left at KF: (K/2 + D/h) F_z(z1)
    write_gradients(F, s + FZ, u, turn, t)
    write_product(F, s + KF, e.numbers + K, s + FZ)
    write_product(F, s + GP, e.numbers + D, s + FZ)
    for i in range(42):
        F[s + KF + i] = 0.5 * F[s + KF + i] + F[s + GP + i] / h
    for i in range(49):
        F[s + S + i] = 0.0
    for g in range(5):
        x, w = _GAUSS[0][g], _GAUSS[1][g]
        u, turn, t = between(F, e, x)
        write_gradients(F, s + FZ, u, turn, t)
        add_transposed(F, s + S, 2.0 * w, s + FZ, s + KF)
        add_hessian(F, s + S, 2.0 * w * x, u, turn, t, sT, sR)
    form_maps(I, F, e, 8, False)
    add_blocks(I, F, e, a, b, last_a, last_b, False, qu, qa, qt)


@jit
def ahead(a: Any, ad: Any, h: float) -> Any:
    """Return a frame moved on by its rates."""
    return (
        plus(a[0], times(h, ad[0])), plus(a[1], times(h, ad[1])), plus(a[2], times(h, ad[2])),
        plus(a[3], times(h, ad[3])),
    )  # fmt: skip


BEAM = Kind(
    "beam", 8, 0, PAIRS, forces, tangent, damped=True, room=ROOM, stresses=6,
    work=WORK,
    conserving=(conserving_forces, conserving_tangent), energy=energy,
)  # fmt: skip
