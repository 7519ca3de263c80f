r"""Constraint rows of a driven rotation: one frame turns against another by a law of time.

With the axes :math:`a_k` of the first frame, :math:`b_k` of the second and the rotation
:math:`R(t) = \exp(\tilde\theta(t))` that the law prescribes,

.. math:: \tau_c = \sum_k R_{kc}\,a_k, \qquad
   \Phi = (b_2\cdot\tau_3,\; b_3\cdot\tau_1,\; b_1\cdot\tau_2) = 0 .

Where :math:`b_c = \tau_c` the gradients are :math:`\tau_1, \tau_2, \tau_3` by an angular velocity:
the multipliers are minus the moment on the second body in its own axes [N m].

With the angular velocity and acceleration of R in the axes of the first frame,
:math:`\dot R = \tilde\omega R`, :math:`\ddot R = (\tilde\alpha + \tilde\omega^2) R`,

.. math:: \omega = T\dot\theta, \qquad \alpha = T\ddot\theta + \dot T\dot\theta, \qquad
   \dot T\dot\theta = \dot b\,\theta\times\dot\theta + \dot c\,\theta\times(\theta\times\dot\theta)
       + c\,\dot\theta\times(\theta\times\dot\theta),

b and c the coefficients of the tangent operator T (``algebra/so3.py``). A law gives
:math:`\theta, \dot\theta, \ddot\theta` (9 numbers, the number of the element is 0), or
:math:`\theta` at :math:`t, t - 2h, t - h, t + h, t + 2h` (15 numbers, the number of the element is
the tick h): then :math:`\omega` and :math:`\alpha` are the first and second derivative of the
rotation vector of :math:`R(t + s)R(t)^T` at s = 0, by differences of fourth order; jumps of
:math:`\theta` by full turns do not matter.

Where laws are not evaluated, in results, R is the present rotation between the two frames.

The products vanish too where b is off :math:`\tau` by half a turn, or by a third of one about a
diagonal. So that no such pose is taken for a solution, :math:`\tau` are there the axes that lie
a part of the way from b to the prescribed ones: the residual stays nonzero, and Newton's method
goes on.
"""

import math
from typing import Any

from mbd.algebra.so3 import (
    coefficients,
    quaternion_exp,
    quaternion_matrix,
    quaternion_product,
    tangent,
)
from mbd.algebra.vec import (
    EYE,
    ZERO,
    cross,
    dot,
    load3,
    mat_mat,
    mat_plus,
    mat_vec,
    outer,
    plus,
    tilde,
    times,
    transposed,
)
from mbd.interactions.kind import Kind
from mbd.interactions.laws import evaluate_now
from mbd.interactions.pullback import add_multiple, at, each, form_maps, push
from mbd.interactions.rows import add_gradient
from mbd.machine import buffer as m
from mbd.machine.jit import jit

WITH_RATES, VALUES = 9, 15  # numbers that a law gives
SECOND = 3  # number of the first attachment of the second frame


@jit
def _slopes(x: float) -> Any:
    """Return db/dx, dc/dx of b = (1 - cos f)/f^2, c = (f - sin f)/f^3, x = f^2."""
    if x < 1e-2:
        return (
            -1 / 24 + x * (1 / 360 - x * (1 / 13440 - x / 907200)),
            -1 / 120 + x * (1 / 2520 - x * (1 / 120960 - x / 9979200)),
        )
    a, b, c = coefficients(x)
    return (a - 2 * b) / (2 * x), (b - 3 * c) / (2 * x)


@jit
def spin(theta: Any, rate: Any, second: Any) -> Any:
    """Return omega [rad/s] and alpha [rad/s^2] of exp(tilde(theta))."""
    x, xd = dot(theta, theta), 2 * dot(theta, rate)
    _, _, c = coefficients(x)
    db, dc = _slopes(x)
    T, turned = tangent(theta), cross(theta, rate)
    alpha = plus(mat_vec(T, second), times(db * xd, turned))
    alpha = plus(alpha, times(dc * xd, cross(theta, turned)))
    return mat_vec(T, rate), plus(alpha, times(c, cross(rate, turned)))


@jit
def _vector(p: Any) -> Any:
    """Return the rotation vector of a unit quaternion, shorter than pi."""
    sine = math.sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    sign = -1.0 if p[0] < 0.0 else 1.0
    k = 2 * sign if sine < 1e-12 else 2 * math.atan2(sign * sine, sign * p[0]) / sine
    return k * p[1], k * p[2], k * p[3]


@jit
def _turned_by(F: Any, at: int, p: Any) -> Any:
    """Return the rotation vector from the quaternion p to the rotation vector at F[at]."""
    return _vector(quaternion_product(quaternion_exp(load3(F, at)), (p[0], -p[1], -p[2], -p[3])))


@jit
def _present(I: Any, F: Any, e: Any) -> Any:
    """Return the rotation that the frames have, a_k . b_c row by row."""
    a, b = e.ends, e.ends + SECOND
    a1, a2, a3 = at(I, F, m.Y, I[a]), at(I, F, m.Y, I[a + 1]), at(I, F, m.Y, I[a + 2])
    b1, b2, b3 = at(I, F, m.Y, I[b]), at(I, F, m.Y, I[b + 1]), at(I, F, m.Y, I[b + 2])
    k = 1 / math.sqrt(dot(a1, a1) * dot(b1, b1))
    return (
        k * dot(a1, b1), k * dot(a1, b2), k * dot(a1, b3),
        k * dot(a2, b1), k * dot(a2, b2), k * dot(a2, b3),
        k * dot(a3, b1), k * dot(a3, b2), k * dot(a3, b3),
    )  # fmt: skip


@jit
def _axis(S: Any) -> Any:
    """Return the axis of a rotation by more than a right angle, from its largest square."""
    x, y, z = S[0] - S[4] - S[8], S[4] - S[0] - S[8], S[8] - S[0] - S[4]  # 4 e e^T - I: diagonal
    if x >= y and x >= z:
        e = (x + 1, S[1] + S[3], S[2] + S[6])
        w = S[7] - S[5]
    elif y >= z:
        e = (S[1] + S[3], y + 1, S[5] + S[7])
        w = S[2] - S[6]
    else:
        e = (S[2] + S[6], S[5] + S[7], z + 1)
        w = S[3] - S[1]
    k = 1 / math.sqrt(dot(e, e))
    return times(k if w >= 0.0 else -k, e)


@jit
def _nearer(I: Any, F: Any, e: Any, R: Any) -> Any:
    """Return R, or a rotation on the way to it from a pose where the rows vanish by mistake.

    From half a turn off, the step tan 1.176 = 2.4 rad of Newton's method ends 0.74 rad from R.
    """
    C = _present(I, F, e)
    S = mat_mat(transposed(C), R)
    if S[0] + S[4] + S[8] >= 1.0 or S[1] * S[1] + S[5] * S[5] + S[6] * S[6] > 1e-4:
        return R
    return mat_mat(C, quaternion_matrix(quaternion_exp(times(1.176, _axis(S)))))


@jit
def _target(I: Any, F: Any, e: Any) -> Any:
    """Return R, R', R'' row by row."""
    if e.law == 0:
        return _present(I, F, e), ZERO, ZERO
    h, o = F[e.numbers], evaluate_now(I, F, e.law)
    p = quaternion_exp(load3(F, o))
    if h == 0.0:
        w, alpha = spin(load3(F, o), load3(F, o + 3), load3(F, o + 6))
    else:
        a, b = _turned_by(F, o + 3, p), _turned_by(F, o + 6, p)
        d, e = _turned_by(F, o + 9, p), _turned_by(F, o + 12, p)
        w = plus(times(8 / (12 * h), plus(d, times(-1.0, b))),
                 times(-1 / (12 * h), plus(e, times(-1.0, a))))  # fmt: skip
        alpha = plus(times(16 / (12 * h * h), plus(b, d)), times(-1 / (12 * h * h), plus(a, e)))
    R, W = quaternion_matrix(p), tilde(w)
    second = mat_plus(mat_plus(tilde(alpha), 1.0, outer(w, w)), -dot(w, w), EYE)
    return R, mat_mat(W, R), mat_mat(second, R)


@jit
def _column(I: Any, F: Any, base: int, e: Any, R: Any, c: int) -> Any:
    """Return sum_k R_kc a_k of the axes, or of their rates."""
    x = times(R[c], at(I, F, base, I[e.ends]))
    x = plus(x, times(R[3 + c], at(I, F, base, I[e.ends + 1])))
    return plus(x, times(R[6 + c], at(I, F, base, I[e.ends + 2])))


@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Write b_a . tau_c; add lam tau_c at b_a and lam R_kc b_a at a_k."""
    R, _, _ = _target(I, F, e)
    R = _nearer(I, F, e, R)
    for r in range(3):
        a, c = (r + 1) % 3, (r + 2) % 3
        B = I[e.ends + SECOND + a]
        lam, b, tau = F[I[m.A] + e.u + r], at(I, F, m.Y, B), _column(I, F, m.Y, e, R, c)
        F[I[m.X] + e.u + r] = dot(b, tau)
        push(I, F, m.FY, B, lam, tau)
        for k in range(3):
            push(I, F, m.FY, I[e.ends + k], lam * R[3 * k + c], b)


@each
def tangents(I: Any, F: Any, e: Any) -> None:
    """Add the rows of B, their transposes, and lam R_kc of the pairs (a_k, b_a)."""
    R, Rd, _ = _target(I, F, e)
    R = _nearer(I, F, e, R)
    form_maps(I, F, e, 6, True)
    first, second = I[I[e.ends] + m.ATT_N] > 0, I[I[e.ends + SECOND] + m.ATT_N] > 0
    for r in range(3):
        a, c = (r + 1) % 3, (r + 2) % 3
        B, lam = I[e.ends + SECOND + a], F[m.W_K] * F[I[m.A] + e.u + r]
        b, bd = at(I, F, m.Y, B), at(I, F, m.YD, B)
        if second:
            rate = plus(_column(I, F, m.Y, e, Rd, c), _column(I, F, m.YD, e, R, c))
            add_gradient(I, F, e, SECOND + a, r, _column(I, F, m.Y, e, R, c), rate)
        for k in range(3):
            h = R[3 * k + c]
            if first:
                rate = plus(times(Rd[3 * k + c], b), times(h, bd))
                add_gradient(I, F, e, k, r, times(h, b), rate)
            pair = 2 * (3 * k + a)
            add_multiple(I, F, e, pair, k, SECOND + a, lam * h)
            add_multiple(I, F, e, pair + 1, SECOND + a, k, lam * h)


@each
def rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of b_a . tau_c."""
    R, Rd, Rdd = _target(I, F, e)
    for r in range(3):
        a, c = (r + 1) % 3, (r + 2) % 3
        B = I[e.ends + SECOND + a]
        b, bd, bdd = at(I, F, m.Y, B), at(I, F, m.YD, B), at(I, F, m.YDD, B)
        tau = _column(I, F, m.Y, e, R, c)
        first = plus(_column(I, F, m.Y, e, Rd, c), _column(I, F, m.YD, e, R, c))
        second = plus(_column(I, F, m.Y, e, Rdd, c), _column(I, F, m.YDD, e, R, c))
        second = plus(second, times(2.0, _column(I, F, m.YD, e, Rd, c)))
        F[I[m.PHID] + e.u + r] = dot(bd, tau) + dot(b, first)
        F[I[m.PHIDD] + e.u + r] = dot(bdd, tau) + 2 * dot(bd, first) + dot(b, second)


@each
def energy(I: Any, F: Any, e: Any) -> None:
    """Add the power lam b_a . (sum_k R'_kc a_k) with which the motion drives."""
    _, Rd, _ = _target(I, F, e)
    for r in range(3):
        a, c = (r + 1) % 3, (r + 2) % 3
        driven = dot(at(I, F, m.Y, I[e.ends + SECOND + a]), _column(I, F, m.Y, e, Rd, c))
        F[m.SUPPLIED] += F[I[m.A] + e.u + r] * driven


_PAIRS = tuple(p for k in range(3) for a in range(3) for p in ((k, SECOND + a), (SECOND + a, k)))
DRIVEN_ROTATION = Kind(
    "turned", 6, 3, _PAIRS, forces, tangents, rates, smooth=True, secant=False, energy=energy
)
