r"""Steps of homogeneous quaternions that conserve energy and momenta, rigid or of a free scale.

With :math:`u = (\dot r, \nu, \omega)` of both ends, :math:`\dot D = R(\nu I + \tilde\omega)`,
:math:`D = sR` the directors, c the centre of mass, :math:`E_c` and :math:`\Theta` the second
moments and the inertia about it, the kinetic energy has constant coefficients,

.. math:: 2T = m|\dot x|^2 + \mathrm{tr}(E_c)\,\nu^2 + \omega^T\Theta\omega, \qquad x = r + Dc .

The step from :math:`u_0` to :math:`u_1`, with bars for the means of both ends, moves by the mean
velocities and turns by Cayley's map,

.. math:: \Delta x = h\bar{\dot x}, \qquad \Delta s = h\bar\nu, \qquad
          R_1 = R_0\,\mathrm{cay}(\theta), \quad \theta = h\bar\omega/\bar s
          = 2\,\mathrm{Im}(\bar p_0 p_1)/\mathrm{Re}(\bar p_0 p_1) .

Forces f act on the mean faces :math:`\bar y`. Virtual displacements of these are a translation, a
turn :math:`\vartheta\times\bar d_k` and a growth
:math:`\sigma_k = \tfrac12(R_0 + R_1)^{-T} e_k = R_0(I + \tfrac12\tilde\theta)e_k`, and there is one
for the step itself, :math:`\Delta d_k = \Delta s\,\sigma_k + R_0\theta\times\bar d_k`. With
:math:`P_k = f_k + m c_k\,(\Delta\dot x/h - g)`,

.. math::
   m\,(\Delta\dot x/h - g) + f_0 &= 0 \\
   \tfrac1h\Delta(D\Theta\omega) + \sum_k\bar d_k\times P_k &= 0 \\
   \tfrac1h\mathrm{tr}(E_c)\,\Delta\nu - \bar\omega^T\Theta\bar\omega/\bar s
   + \sum_k\sigma_k\cdot P_k + \tfrac12\lambda &= 0 .

The second line is the balance of angular momentum. Times :math:`\theta` the inertia of it is
:math:`h\bar\omega^T\Theta\Delta\omega + h\Delta s\,\bar\omega^T\Theta\bar\omega/\bar s`, for
:math:`R_0\theta = R_1\theta`: with the third times :math:`\Delta s` it is the change of T, and
forces do the work :math:`f\cdot\Delta y`. Of a rigid body (:math:`s = 1, \nu = 0`) this is the
algorithm of Simo and Wong, and the third line gives the multiplier of the norm.

Rows for the increment of p are both moments as a quaternion,
:math:`t = 2\,(r_\sigma, r_\vartheta/s_0)\,p_0`: to first order those of virtual work.

References
----------
.. [1] Simo and Wong, Int. J. Numer. Methods Eng. 31 (1991): the rotation of a rigid body. Betsch
   and Siebert, Int. J. Numer. Methods Eng. 79 (2009): quaternions with the row of their norm.
"""

from typing import Any, NamedTuple

from mbd.algebra.quaternions import bilinear, columns, mix4, slopes, times_L
from mbd.algebra.so3 import quaternion_product
from mbd.algebra.vec import (
    EYE,
    ZERO,
    add_identity,
    cross,
    dot,
    dot4,
    inner,
    load3,
    load4,
    load9,
    mat_mat_t,
    mat_plus,
    mat_vec,
    minus,
    outer,
    plus,
    store3,
    store_column,
    store_multiple,
    tilde_mat,
    times,
    unit,
    vec_mat,
)
from mbd.formulations.formulation import Conserving
from mbd.machine import buffer as m
from mbd.machine.jit import jit


class Step(NamedTuple):
    """Numbers of a step: poses, scales, velocities at both ends and their means."""

    p0: Any  #: quaternion at the start
    p1: Any  #: at the end
    s0: Any  #: scale at the start
    s: Any  #: its mean
    D0: Any  #: directors at the start
    D1: Any  #: at the end
    mean: Any  #: their mean
    part: Any  #: Re(conj(p0) p1)
    theta: Any  #: Cayley's vector of the turn, body axes
    nu1: Any  #: rate of the scale at the end
    grown: Any  #: its change
    w0: Any  #: omega at the start
    w: Any  #: its mean
    w1: Any  #: omega at the end
    x1: Any  #: velocity of the centre of mass at the end
    u: Any  #: change of that, over h
    c: Any  #: centre of mass, body axes
    trace: Any  #: of the second moments about it
    J: Any  #: inertia about it


@jit
def _over(a: Any, h: float) -> Any:
    """Return a/h; times 1/h, rates of a uniform motion would grow by its round-off each step."""
    return a[0] / h, a[1] / h, a[2] / h


def _moved(rigid: bool) -> Any:
    @jit
    def moved(F: Any, n: Any, v0: int) -> Any:
        """Return the step of the increment d, from the velocities at v0."""
        h, mass, mc = F[m.ROW_RATE], F[n.par], load3(F, n.par + 1)
        p0, p1, d = load4(F, n.q0 + 3), load4(F, n.q + 3), load4(F, n.d + 3)
        both = mix4(1.0, p0, 1.0, p1)
        s0, ds = dot4(p0, p0), dot4(d, both)
        s, part, w = s0 + 0.5 * ds, s0 + dot4(p0, d), times_L(p0, d)
        theta = times(2.0 / part, w)
        D0, D1, half = bilinear(p0, p0), bilinear(p1, p1), bilinear(d, both)
        rate = load4(F, v0 + 3)
        w0, w = times(2.0, times_L(p0, rate)), _over(times(s, theta), h)
        w1 = minus(times(2.0, w), w0)
        nu0 = 0.0 if rigid else 2 * dot4(p0, rate)
        nu1 = 0.0 if rigid else 2 * (ds / h) - nu0
        c = times(1.0 / mass, mc)
        moves = bilinear(p0, rate)
        x0 = plus(load3(F, v0), times(2.0, mat_vec(moves, c)))
        x = _over(plus(load3(F, n.d), mat_vec(half, c)), h)
        u = times(2.0 / h, minus(x, x0))
        cc = dot(mc, c)
        J = mat_plus(load9(F, n.par + 13), -cc, EYE)
        J = mat_plus(J, 1.0, outer(mc, c))
        trace = F[n.par + 4] + F[n.par + 8] + F[n.par + 12] - cc
        return Step(
            p0, p1, s0, s, D0, D1, mat_plus(D0, 0.5, half), part, theta, nu1, nu1 - nu0, w0, w, w1,
            minus(times(2.0, x), x0), u, c, trace, J,
        )  # fmt: skip

    return moved


@jit
def _turning(D: Any, P: Any) -> Any:
    """Return the moment of forces on directors, sum of d_k x P_k."""
    M = mat_mat_t(P, D)
    return M[7] - M[5], M[2] - M[6], M[3] - M[1]


@jit
def _growth(at: Any) -> Any:
    """Return the matrix of the sigma_k, R_0 (I + tilde(theta)/2)."""
    turn = times(0.5, mat_vec(at.D0, at.theta))
    S = mat_plus(at.D0, 1.0 / at.s0, tilde_mat(turn, at.D0))
    return mat_plus(ZERO, 1.0 / at.s0, S)


@jit
def _rows(at: Any, growth: float, turn: Any) -> Any:
    """Return the four rows of both moments."""
    t = times(2.0 / at.s0, turn)
    return quaternion_product((2 * growth, t[0], t[1], t[2]), at.p0)


@jit
def _forces(F: Any, n: Any, at: Any) -> Any:
    """Return what acts on the directors, with the inertia of the centre of mass, as columns."""
    u = minus(at.u, load3(F, m.GX))
    return mat_plus(columns(F, n.f + 3), F[n.par], outer(u, at.c))


def _residual(rigid: bool) -> Any:
    moved = _moved(rigid)

    @jit
    def residual(F: Any, n: Any, v0: int, s: float) -> None:
        """Write the equations of the step times s, and the row of the norm at its end."""
        at, h = moved(F, n, v0), F[m.ROW_RATE]
        P, Jw = _forces(F, n, at), mat_vec(at.J, at.w)
        u = minus(at.u, load3(F, m.GX))
        store3(F, n.x, times(s, plus(times(F[n.par], u), load3(F, n.f))))
        spin = minus(mat_vec(at.D1, mat_vec(at.J, at.w1)), mat_vec(at.D0, mat_vec(at.J, at.w0)))
        turn = plus(times(1.0 / h, spin), _turning(at.mean, P))
        growth = at.trace * at.grown / h - dot(at.w, Jw) / at.s + inner(_growth(at), P)
        if rigid:
            growth += 0.5 * F[n.a + 7]
            F[n.x + 7] = 0.5 * dot4(at.p1, at.p1) - 0.5
        t = _rows(at, growth, turn)
        for i in range(4):
            F[n.x + 3 + i] = s * t[i]

    return residual


def _tangent(rigid: bool) -> Any:
    moved = _moved(rigid)

    @jit
    def tangent(F: Any, n: Any, v0: int) -> None:
        """Add the derivative of the scaled residual by the increment, column by column."""
        at, h, s, mass = moved(F, n, v0), F[m.ROW_RATE], F[m.SCALE_R], F[n.par]
        P, Jw1, Jw = _forces(F, n, at), mat_vec(at.J, at.w1), mat_vec(at.J, at.w)
        sigma, arm = _growth(at), mat_vec(at.mean, at.c)
        grown, twist = mat_vec(sigma, at.c), times(0.5 / (at.s0 * at.s0), _turning(at.D0, P))
        twist = vec_mat(twist, at.D0)
        spin = dot(at.w, Jw) / (at.s * at.s)
        force = s * 2 * mass / (h * h)  # by the increment of the centre of mass
        add_identity(F, n.S, n.ld, force)
        for i in range(3):
            e = unit(i)
            t = _rows(at, force * grown[i], times(force, cross(arm, e)))
            for k in range(4):
                F[n.S + (3 + k) * n.ld + i] += t[k]
        slope = slopes(at.p1)
        for j in range(4):
            by_p = times_L(at.p0, (1.0 * (j == 0), *unit(j - 1)))
            theta = minus(times(2.0, by_p), times(at.p0[j], at.theta))
            theta = times(1.0 / at.part, theta)
            w = times(1.0 / h, plus(times(at.p1[j], at.theta), times(at.s, theta)))
            half = slope[j]  # of the mean directors
            x = times(2.0, mat_vec(half, at.c))
            turn = times(2.0, plus(mat_vec(half, Jw1), mat_vec(at.D1, mat_vec(at.J, w))))
            turn = plus(times(s / h, turn), times(s, _turning(half, P)))
            turn = plus(turn, times(force, cross(arm, x)))
            growth = at.p1[j] * spin - 2 * dot(w, Jw) / at.s + dot(twist, theta)
            if not rigid:
                growth += 4 * at.trace * at.p1[j] / (h * h)
            t = _rows(at, s * growth + force * dot(grown, x), turn)
            for k in range(3):
                F[n.S + k * n.ld + 3 + j] += force * x[k]
            for k in range(4):
                F[n.S + (3 + k) * n.ld + 3 + j] += t[k]
        if rigid:
            for j in range(4):
                F[n.S + 7 * n.ld + 3 + j] += at.p1[j]
                F[n.S + (3 + j) * n.ld + 7] += at.p0[j]

    return tangent


def _maps(rigid: bool) -> Any:
    moved = _moved(rigid)

    @jit
    def maps(F: Any, n: Any, v0: int, to: Any) -> None:
        """Write how mean faces are displaced, and how faces at the end move with the increment."""
        at, w0, u = moved(F, n, v0), F[to.w], load3(F, to.w + 1)
        arm, grown, slope = mat_vec(at.mean, u), mat_vec(_growth(at), u), slopes(at.p1)
        a, x, y, z = at.p0
        turns = ((-x, -y, -z), (a, z, -y), (-z, a, x), (y, -x, a))  # Im(e_j conj(p_0))
        store_multiple(F, to.P, w0)
        store_multiple(F, to.PT, w0)
        if to.rate:
            store_multiple(F, to.DP, 0.0)
        for j in range(4):
            turn = cross(times(2.0 / at.s0, turns[j]), arm)
            store_column(F, to.P + 3 + j, plus(turn, times(2 * at.p0[j], grown)))
            store_column(F, to.PT + 3 + j, times(2.0, mat_vec(slope[j], u)))
            if to.rate:
                store_column(F, to.DP + 3 + j, (0.0, 0.0, 0.0))

    return maps


def _ending(rigid: bool) -> Any:
    moved = _moved(rigid)

    @jit
    def ending(F: Any, n: Any, v0: int) -> None:
        """Write the velocities at the end, p' = p (nu, omega)/(2 s)."""
        at = moved(F, n, v0)
        w, half = at.w1, 0.5 / dot4(at.p1, at.p1)
        rate = quaternion_product(at.p1, (at.nu1, w[0], w[1], w[2]))
        store3(F, n.v, minus(at.x1, times(2 * half, mat_vec(bilinear(at.p1, rate), at.c))))
        for i in range(4):
            F[n.v + 3 + i] = half * rate[i]

    return ending


def conserving(rigid: bool) -> Conserving:
    """Return the functions of a step on (r, p), of unit length or of a free one."""
    return Conserving(_residual(rigid), _tangent(rigid), _maps(rigid), _ending(rigid))
