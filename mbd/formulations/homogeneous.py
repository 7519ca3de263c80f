r"""Homogeneous quaternions of any length: faces, inertia and test maps of their formulations.

:math:`q = (r, p)`, :math:`v = \dot q`, directors :math:`d_k = A(p) e_k` of length
:math:`|p|^2`. With :math:`P_{ck}` the component c of the force on director k and N(P) the symmetric
matrix with :math:`\sum_k f_k\cdot d_k = p^T N p`, everything is polynomial:

.. math:: Y^T f = (f_0, z), \quad z = 2 N(P) p, \qquad \text{curvature } 2N(P),

and the inertia of the mass matrix W is that of the face forces
:math:`\ddot A E + \ddot r (m\rho_c)^T`, :math:`\ddot A = 2A(p, \ddot p) + 2A(\dot p, \dot p)`.
The rotational rows may be tested by

- :math:`z`, virtual work (``WORK``): :math:`Z = Y`;
- :math:`\Pi z`, :math:`\Pi = p^Tp I - pp^T` (``MOMENT``): the test map
  :math:`B_1 = -2A\tilde u L` of a moment about the origin, orthogonal to p;
- :math:`z + 2\,\mathrm{tr}(P)\,p` (``INHOMOGENEOUS``), forces only: virtual work with the rotation
  matrix of [Sherif 2015, (5)], :math:`A(p) + (p^Tp - 1) I`, whose derivative (64) is B_2 + 2 u p^T;
- :math:`\tfrac12 L z` (``BODY``): three rows, the moment in body axes.

On the sphere the first three differ by multiples of p, which load the row of the norm only.

References
----------
[Sherif 2015], [Moeller 2012]: see the page *From paper to code* of the documentation.
"""

from typing import Any

import numpy as np

from mbd.algebra.quaternions import (
    H,
    bilinear,
    columns,
    form,
    mix4,
    slopes,
    store_columns,
    times_form,
    times_L,
)
from mbd.algebra.rotations import quaternion_from_matrix
from mbd.algebra.so3 import quaternion_exp, quaternion_product
from mbd.algebra.vec import (  # fmt: skip
    add_identity,
    dot,
    dot4,
    load3,
    load4,
    load9,
    mat_mat,
    mat_plus,
    mat_vec,
    minus,
    outer,
    plus,
    store3,
    store_column,
    store_multiple,
    times,
)
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates, vector_space
from mbd.formulations.homogeneous_steps import conserving
from mbd.machine import buffer as m
from mbd.machine.jit import jit

WORK, MOMENT, BODY, INHOMOGENEOUS = 0, 1, 2, 3
retract, flow = vector_space(7)


def constants(mass: Any, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return (m, m rho_c, E, J): second moments and inertia about the origin, body axes."""
    mass, nine = np.asarray(mass)[..., None], (*second.shape[:-2], 9)
    trace = np.asarray(np.trace(second, axis1=-2, axis2=-1))
    J = trace[..., None, None] * np.eye(3) - second
    return np.concatenate([mass, mass * center, second.reshape(nine), J.reshape(nine)], -1)


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return (r, p) at unit length and the rates, (omega, 0) p / 2."""
    p = quaternion_from_matrix(rotation)
    rate = 0.5 * H(rotation.T @ omega) @ p  # L^T w = H(w) p
    return np.concatenate([position, p]), np.concatenate([velocity, rate])


@jit
def face(F: Any, n: Any) -> None:
    """Write r and the columns of A(p)."""
    p = load4(F, n.q + 3)
    store3(F, n.y, load3(F, n.q))
    store_columns(F, n.y + 3, bilinear(p, p))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write the rates, 2 A(p, p')."""
    A = bilinear(load4(F, n.q + 3), load4(F, n.v + 3))
    store3(F, n.yd, load3(F, n.v))
    store_columns(F, n.yd + 3, mat_plus(A, 1.0, A))


@jit
def second_rate(p: Any, pd: Any, pdd: Any) -> Any:
    """Return the second time derivative of A(p)."""
    half = mat_plus(bilinear(p, pdd), 1.0, bilinear(pd, pd))
    return mat_plus(half, 1.0, half)


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write the second rates."""
    store3(F, n.ydd, load3(F, n.a))
    A = second_rate(load4(F, n.q + 3), load4(F, n.v + 3), load4(F, n.a + 3))
    store_columns(F, n.ydd + 3, A)


@jit
def own_rates(F: Any, n: Any) -> None:
    """Write both derivatives of (s - 1)/2 from those of the directors, of length s = |p|^2."""
    p = load4(F, n.q + 3)
    s = dot4(p, p)
    first, both = 0.0, 0.0
    for k in range(3, 12, 3):
        d, dd, ddd = load3(F, n.y + k), load3(F, n.yd + k), load3(F, n.ydd + k)
        first += dot(d, dd)
        both += dot(dd, dd) + dot(d, ddd)
    sd = first / (3 * s)
    F[n.rate] = 0.5 * sd
    F[n.second] = 0.5 * (both / 3 - sd * sd) / s


@jit
def carry(F: Any, n: Any, motion: int, twist: int) -> None:
    """Write the differences to r and to the unit quaternion p, and p' = p (0, Omega) / 2."""
    p0, Omega = load4(F, n.q0 + 3), load3(F, twist + 3)
    p = quaternion_product(p0, quaternion_exp(load3(F, motion + 3)))
    s = 1.5 - 0.5 * dot4(p, p)  # the length is set, not accumulated
    rate = quaternion_product(p, (0.0, Omega[0], Omega[1], Omega[2]))
    store3(F, n.d, load3(F, motion))
    store3(F, n.v, load3(F, twist))
    for i in range(4):
        F[n.d + 3 + i] = s * p[i] - p0[i]
        F[n.v + 3 + i] = 0.5 * s * rate[i]


@jit
def tested(which: int, p: Any, z: Any) -> Any:
    """Return the rotational rows (4) of a face force with z = 2 N p, or z = 2 (N + tr P I) p."""
    if which in (WORK, INHOMOGENEOUS):
        return z
    if which == MOMENT:
        return mix4(dot4(p, p), z, -dot4(p, z), p)
    w = times_L(p, z)
    return 0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]


@jit
def tested_slope(which: int, p: Any, z: Any, j: int) -> Any:
    """Return the derivative of `tested` by p_j with z held."""
    if which in (WORK, INHOMOGENEOUS):
        return 0.0, 0.0, 0.0, 0.0
    if which == MOMENT:
        d = mix4(2 * p[j], z, -z[j], p)
        pz = dot4(p, z)
        return (
            d[0] - (pz if j == 0 else 0.0), d[1] - (pz if j == 1 else 0.0),
            d[2] - (pz if j == 2 else 0.0), d[3] - (pz if j == 3 else 0.0),
        )  # fmt: skip
    # L(p) z = -L(z) p
    if j == 0:
        return 0.0, 0.5 * z[1], 0.5 * z[2], 0.5 * z[3]
    if j == 1:
        return 0.0, -0.5 * z[0], 0.5 * z[3], -0.5 * z[2]
    if j == 2:
        return 0.0, -0.5 * z[3], -0.5 * z[0], 0.5 * z[1]
    return 0.0, 0.5 * z[2], -0.5 * z[1], -0.5 * z[0]


def _residual(inertia: int, force: int, reduced: bool, row: bool) -> Any:
    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        """Write s (tested inertia + tested face forces less weight + own row p lam)."""
        p, pd = load4(F, n.q + 3), load4(F, n.v + 3)
        g, mc = load3(F, m.GX), load3(F, n.par + 1)
        u, A = load3(F, n.a), second_rate(p, pd, load4(F, n.a + 3))
        r = plus(times(F[n.par], minus(u, g)), plus(mat_vec(A, mc), load3(F, n.f)))
        store3(F, n.x, times(s, r))
        Pi = mat_plus(mat_mat(A, load9(F, n.par + 4)), 1.0, outer(u, mc))
        Pf = mat_plus(columns(F, n.f + 3), -1.0, outer(g, mc))
        if inertia == force:
            z = times_form(mat_plus(Pi, 1.0, Pf), p)
            t = tested(inertia, p, mix4(1.0, z, 1.0, z))
        else:
            zi, zf = times_form(Pi, p), times_form(Pf, p)
            if force == INHOMOGENEOUS:
                zf = mix4(1.0, zf, Pf[0] + Pf[4] + Pf[8], p)
            zi, zf = mix4(1.0, zi, 1.0, zi), mix4(1.0, zf, 1.0, zf)
            t = mix4(1.0, tested(inertia, p, zi), 1.0, tested(force, p, zf))
        if reduced:
            w = times_L(p, pd)
            t = mix4(1.0, t, -8 * dot(w, mat_vec(load9(F, n.par + 13), w)), p)
        if row:
            lam = F[n.a + 7]
            t = (t[0] + lam, t[1], t[2], t[3]) if inertia == BODY else mix4(1.0, t, lam, p)
            F[n.x + 7] = 0.5 * dot4(p, p) - 0.5
        for i in range(4):
            F[n.x + 3 + i] = s * t[i]

    return residual


def _tangent(inertia: int, force: int, reduced: bool, row: bool) -> Any:
    @jit
    def tangent(F: Any, n: Any) -> None:
        """Add w_M M + w_G G + w_K (K + C) and the own row.

        The face forces of inertia are quadratic: their weighted derivative by p_j is 2 A(x, e_j) E
        with x = w_M p + 2 w_G p' + w_K p''.
        """
        wM, wG, wK = F[m.W_M], F[m.W_G], F[m.W_K]
        p, pd, pdd = load4(F, n.q + 3), load4(F, n.v + 3), load4(F, n.a + 3)
        g, mc, u, E = load3(F, m.GX), load3(F, n.par + 1), load3(F, n.a), load9(F, n.par + 4)
        Pi = mat_plus(mat_mat(second_rate(p, pd, pdd), E), 1.0, outer(u, mc))
        Pf = mat_plus(columns(F, n.f + 3), -1.0, outer(g, mc))
        if inertia == force:
            Pi = mat_plus(Pi, 1.0, Pf)
        Ni, Nf = form(Pi), form(Pf)
        zi, zf = times_form(Pi, p), times_form(Pf, p)
        zi, zf = mix4(1.0, zi, 1.0, zi), mix4(1.0, zf, 1.0, zf)
        X, B = slopes(mix4(2.0, mix4(wM, p, 2 * wG, pd), 2 * wK, pdd)), slopes(p)
        eccentric = mc[0] != 0.0 or mc[1] != 0.0 or mc[2] != 0.0
        lam = F[n.a + 7] if row else 0.0
        w, wd = times_L(p, pd), load9(F, n.par + 13)
        Jw = mat_vec(wd, w)
        kappa, pull = 8 * dot(w, Jw), (0.0, 0.0, 0.0, 0.0)
        if reduced:  # derivative of kappa, 16 (J L p')^T (w_G L(p) - w_K L(p'))
            o = mix4(wG, p, -wK, pd)
            pull = (
                -16 * (o[1] * Jw[0] + o[2] * Jw[1] + o[3] * Jw[2]),
                16 * (o[0] * Jw[0] - o[3] * Jw[1] + o[2] * Jw[2]),
                16 * (o[3] * Jw[0] + o[0] * Jw[1] - o[1] * Jw[2]),
                16 * (-o[2] * Jw[0] + o[1] * Jw[1] + o[0] * Jw[2]),
            )
        add_identity(F, n.S, n.ld, wM * F[n.par])
        pp = n.S + 3 * n.ld + 3
        for j in range(4):
            z = times_form(mat_mat(X[j], E), p)
            column = tested(inertia, p, mix4(2.0, z, 2 * wK, Ni[j]))
            column = mix4(1.0, column, wK, tested_slope(inertia, p, zi, j))
            if inertia != force:
                more = mix4(2.0, tested(force, p, Nf[j]), 1.0, tested_slope(force, p, zf, j))
                column = mix4(1.0, column, wK, more)
                if force == INHOMOGENEOUS:
                    F[pp + j * n.ld + j] += 2 * wK * (Pf[0] + Pf[4] + Pf[8])
            if reduced:
                column = mix4(1.0, column, -pull[j], p)
            for i in range(4):
                F[pp + i * n.ld + j] += column[i]
            diagonal = 0.0 if inertia == BODY else wK * lam
            if reduced:
                diagonal -= wK * kappa
            F[pp + j * n.ld + j] += diagonal
            if eccentric:
                c = mat_vec(X[j], mc)
                for i in range(3):
                    F[n.S + i * n.ld + 3 + j] += c[i]
        if eccentric:
            b0, b1 = mat_vec(B[0], mc), mat_vec(B[1], mc)
            b2, b3 = mat_vec(B[2], mc), mat_vec(B[3], mc)
            for i in range(3):
                column = tested(inertia, p, (b0[i], b1[i], b2[i], b3[i]))
                for j in range(4):
                    F[pp - 3 + j * n.ld + i] += 2 * wM * column[j]
        if row:
            for i in range(4):
                F[n.S + 7 * n.ld + 3 + i] += p[i] + F[m.POSITION_TURN] * pd[i]
                if inertia != BODY:
                    F[pp + i * n.ld + 4] += p[i]
            if inertia == BODY:
                F[pp + 4] += 1.0

    return tangent


@jit
def store_slopes(F: Any, to: int, w0: float, s: float, p: Any, u: Any) -> None:
    """Write w0 I and the columns s A(p, e_j) u."""
    store_multiple(F, to, w0)
    B = slopes(p)
    for j in range(4):
        store_column(F, to + 3 + j, times(s, mat_vec(B[j], u)))


def _maps(force: int) -> Any:
    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        """Write w (x) I and 2 A(p, e_j) u of the trial, their tested combinations as test map."""
        p, u = load4(F, n.q + 3), load3(F, to.w + 1)
        for A in (to.P, to.PT, to.PV):
            store_slopes(F, A, F[to.w], 2.0, p, u)
        if force != WORK:
            for i in range(3):
                z = load4(F, to.PT + m.MAP_ROW * i + 3)
                t = tested(force, p, z)
                if force == INHOMOGENEOUS:
                    t = mix4(1.0, t, 2 * u[i], p)
                for j in range(4):
                    F[to.P + m.MAP_ROW * i + 3 + j] = t[j]
        if to.rate:
            store_slopes(F, to.DP, 0.0, 2.0, load4(F, n.v + 3), u)

    return maps


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write 4 A(p', e_j) u and 2 A(p'', e_j) u."""
    store_slopes(F, to.AV, 0.0, 4.0, load4(F, n.v + 3), load3(F, to.w + 1))
    store_slopes(F, to.AQ, 0.0, 2.0, load4(F, n.a + 3), load3(F, to.w + 1))


def formulation(
    name: str, *, inertia: int = WORK, force: int = WORK, reduced: bool = False, row: bool = True,
    scales: bool = False,
) -> Formulation:  # fmt: skip
    """Return a formulation on (r, p): how inertia and forces are tested, with the own row or free.

    ``reduced`` takes the part along p out of the gyroscopic moment; ``scales`` says that p of any
    length has a meaning.
    """
    galerkin = inertia == force == WORK
    return Formulation(
        name=name, velocities=("x", "y", "z", "p0", "p1", "p2", "p3"),
        velocity_kinds=(m.TRANSLATION,) * 3 + (m.DIRECTOR,) * 4, own_rows=("|p|",) if row else (),
        own_kinds=(m.OWN,) if row else (), n_q=7, axes=True, constants=constants, initial=initial,
        retract=retract, face=face, face_velocity=face_velocity,
        face_acceleration=face_acceleration, residual=_residual(inertia, force, reduced, row),
        tangent=_tangent(inertia, force, reduced, row), maps=_maps(force),
        own_rates=own_rates if row else no_rates, flow=flow, carry=carry if row else None,
        second_maps=second_maps, galerkin=galerkin,
        conserving=conserving(rigid=row) if galerkin and not reduced else None, rigid=row,
        scales=scales,
    )  # fmt: skip
