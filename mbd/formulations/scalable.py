r"""``scalable``: a quaternion of any length turns and scales the body.

:math:`\xi = r + sR\varrho`, :math:`s = |A|^2`: directors of length s. Seven degrees of freedom; the
row :math:`\tfrac12(|A|^2 - 1)` makes the body rigid, without it the body breathes.

- ``velocities="rates"``: :math:`v = \dot q`, Lagrange's equations of the homogeneous map
  (`homogeneous.py`), the same as ``euler_parameters`` in its default form.
- ``velocities="u"``: :math:`u = (\dot r, \nu, \omega) = Q\dot q`, :math:`\nu = \dot s`,
  :math:`\omega` s times the angular velocity, body axes, :math:`\dot d_k = R(\nu e_k +
  \omega\times e_k)`. About the centre of mass

  .. math:: m\dot v = F, \quad
            \tfrac12 tr\Theta\,\dot\nu - \omega^T\Theta\omega/s + \tfrac12\lambda = c_S, \quad
            \Theta\dot\omega + (\nu I + \tilde\omega)\Theta\omega / s = M_S .

  Increments :math:`(\delta r, \delta_\nu, \delta_\omega)` follow the flow of constant u,

  .. math:: s = s_n + \delta_\nu, \quad
            A = \sqrt{s/s_n}\, A_n \exp(\tfrac12\theta), \quad
            \theta = \kappa\delta_\omega, \quad \kappa = \ln(s/s_n)/\delta_\nu,

  with the tangent operator (right Jacobian :math:`T(-\theta)` of the rotation)

  .. math:: T = \begin{bmatrix} 1 & 0 \\ s\kappa'\delta_\omega & s\kappa T(-\theta)
                \end{bmatrix}, \qquad s\kappa' = (1 - s\kappa)/\delta_\nu .

  (The increment :math:`A_n + Q^{-1}\Delta` has a simpler T, but its length grows with the square
  of the step: first order for the free body.)

Loads on a body that breathes do the work of loads on a rigid one (``interactions/loads.py``): a
force F at a point that is carried along by the directors has the power :math:`F\cdot\dot x_P`, a
moment m the power m times the angular velocity; what follows the body turns with R and keeps its
size.

The row has the gradient A (in u: one half), so that
:math:`\lambda = 2(\omega^T\Theta\omega/|A|^2 + c_S) = -2\lambda_{MG}` with the multiplier of the
row :math:`|A|^2 - 1` of [Moeller 2012], there on the right-hand side.

References
----------
[Moeller 2012]: see the page *From paper to code* of the documentation.
"""

import math
from functools import cache
from typing import Any, Literal

import numpy as np

from mbd.algebra.quaternions import bilinear, columns, store_columns
from mbd.algebra.rotations import in_body_axes, quaternion_from_matrix
from mbd.algebra.se3 import inverse_tangent
from mbd.algebra.so3 import quaternion_exp, quaternion_product, tangent
from mbd.algebra.vec import (
    ZERO,
    add_identity,
    cross,
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
    tilde,
    tilde_mat,
    times,
    transposed,
    unit,
)
from mbd.base.checked import flag, one_of
from mbd.base.recorded_call import remembered
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates
from mbd.formulations.homogeneous import constants, face, formulation, own_rates
from mbd.machine.buffer import DIRECTOR, GX, OWN, ROTATION, TRANSLATION, W_G, W_K, W_M
from mbd.machine.jit import jit

_SMALL = 1e-2  # below it nine terms of the series are exact to round-off


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return (r, A) at unit length and (velocity, 0, angular velocity in body axes)."""
    q = np.concatenate([position, quaternion_from_matrix(rotation)], -1)
    rate = np.zeros_like(velocity[..., :1])
    return q, np.concatenate([velocity, rate, in_body_axes(rotation, omega)], -1)


@jit
def stretch(z: float) -> Any:
    """Return f = -ln(1 - z)/z and (1 - f)/z."""
    if abs(z) < _SMALL:
        f, g = 0.0, 0.0
        for k in range(10, 1, -1):
            f = f * z + 1.0 / (k - 1)
            g = g * z + 1.0 / k
        return f, -g
    f = -math.log1p(-z) / z
    return f, (1.0 - f) / z


@jit
def retract(F: Any, n: Any) -> None:
    """Write r + d_r and A_n turned and scaled along the flow."""
    store3(F, n.q, plus(load3(F, n.q0), load3(F, n.d)))
    A = load4(F, n.q0 + 3)
    s0 = dot4(A, A)
    s = s0 + F[n.d + 3]
    f, _ = stretch(F[n.d + 3] / s)
    A = quaternion_product(A, quaternion_exp(times(f / s, load3(F, n.d + 4))))
    # the length is set, not accumulated
    scale = math.sqrt(s / dot4(A, A))
    for i in range(4):
        F[n.q + 3 + i] = scale * A[i]


@jit
def pose(F: Any, q: int) -> Any:
    """Return s and the rotation matrix R."""
    A = load4(F, q + 3)
    s = dot4(A, A)
    return s, mat_plus(ZERO, 1.0 / s, bilinear(A, A))


@jit
def spread9(a: float, w: Any) -> Any:
    """Return a I + tilde(w)."""
    return a, -w[2], w[1], w[2], a, -w[0], -w[1], w[0], a


@jit
def body_acceleration(s: float, nu: float, w: Any, nud: float, wd: Any) -> Any:
    """Return nu' I + w'~ + w~ (nu I + w~)/s: second rates of the directors in body axes."""
    return mat_plus(spread9(nud, wd), 1.0 / s, tilde_mat(w, spread9(nu, w)))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write the velocity of the origin and R (nu I + w~)."""
    _, R = pose(F, n.q)
    store3(F, n.yd, load3(F, n.v))
    store_columns(F, n.yd + 3, mat_mat(R, spread9(F[n.v + 3], load3(F, n.v + 4))))


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write the acceleration of the origin and of the directors."""
    s, R = pose(F, n.q)
    B = body_acceleration(s, F[n.v + 3], load3(F, n.v + 4), F[n.a + 3], load3(F, n.a + 4))
    store3(F, n.ydd, load3(F, n.a))
    store_columns(F, n.ydd + 3, mat_mat(R, B))


@jit
def moments(P: Any) -> Any:
    """Return trace and sum of e_k x (column k): virial and moment of director forces P."""
    return P[0] + P[4] + P[8], P[7] - P[5], P[2] - P[6], P[3] - P[1]


@jit
def operator(F: Any, q: int, d: int) -> Any:
    """Return s kappa' d_w and s kappa T(-theta) of the tangent operator."""
    A = load4(F, q + 3)
    s = dot4(A, A)
    f, g = stretch(F[d + 3] / s)
    w = load3(F, d + 4)
    J = tangent(times(-f / s, w))
    return times(g / s, w), mat_plus(J, f - 1.0, J)


def _residual(rigid: bool) -> Any:
    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        """Write s (inertia + face forces less weight + own row), rotation in body axes."""
        size, R = pose(F, n.q)
        B = body_acceleration(size, F[n.v + 3], load3(F, n.v + 4), F[n.a + 3], load3(F, n.a + 4))
        mc, u = load3(F, n.par + 1), minus(load3(F, n.a), load3(F, GX))
        r = plus(times(F[n.par], u), plus(mat_vec(R, mat_vec(B, mc)), load3(F, n.f)))
        store3(F, n.x, times(s, r))
        X = mat_plus(columns(F, n.f + 3), 1.0, outer(u, mc))
        t = moments(mat_plus(mat_mat(B, load9(F, n.par + 4)), 1.0, mat_mat(transposed(R), X)))
        for i in range(4):
            F[n.x + 3 + i] = s * t[i]
        if rigid:
            F[n.x + 3] += 0.5 * s * F[n.a + 7]
            F[n.x + 7] = 0.5 * size - 0.5

    return residual


def _tangent(rigid: bool) -> Any:
    @jit
    def add_tangent(F: Any, n: Any) -> None:
        """Add w_M M + w_G G + w_K (K + C) T column by column, and the own row."""
        wM, wG, wK = F[W_M], F[W_G], F[W_K]
        s, R = pose(F, n.q)
        nu, w = F[n.v + 3], load3(F, n.v + 4)
        B = body_acceleration(s, nu, w, F[n.a + 3], load3(F, n.a + 4))
        mc, u, E = load3(F, n.par + 1), minus(load3(F, n.a), load3(F, GX)), load9(F, n.par + 4)
        X = mat_mat(transposed(R), mat_plus(columns(F, n.f + 3), 1.0, outer(u, mc)))
        V = spread9(nu, w)
        WV, Bc = tilde_mat(w, V), mat_vec(B, mc)
        low, J = operator(F, n.q, n.d)
        add_identity(F, n.S, n.ld, wM * F[n.par])
        for j in range(4):
            if j == 0:
                e, turn = (0.0, 0.0, 0.0), low
                C = mat_plus(spread9(wM, e), wG / s, tilde(w))
                C = mat_plus(C, -wK / (s * s), WV)
            else:
                e = unit(j - 1)
                turn = mat_vec(J, e)
                U = tilde(e)
                half = mat_plus(tilde_mat(e, V), 1.0, tilde_mat(w, U))
                C = mat_plus(spread9(0.0, times(wM, e)), wG / s, half)
            t = moments(mat_plus(mat_mat(C, E), -wK / s, tilde_mat(turn, X)))
            r = mat_vec(R, plus(mat_vec(C, mc), times(wK / s, cross(turn, Bc))))
            for i in range(3):
                F[n.S + i * n.ld + 3 + j] += r[i]
            for i in range(4):
                F[n.S + (3 + i) * n.ld + 3 + j] += t[i]
        Rc = mat_vec(R, mc)
        for i in range(3):
            t = cross(mc, (R[3 * i], R[3 * i + 1], R[3 * i + 2]))
            F[n.S + 3 * n.ld + i] += wM * Rc[i]
            for j in range(3):
                F[n.S + (4 + j) * n.ld + i] += wM * t[j]
        if rigid:
            F[n.S + 7 * n.ld + 3] += 0.5
            F[n.S + 3 * n.ld + 7] += 0.5

    return add_tangent


@jit
def maps(F: Any, n: Any, to: Any) -> None:
    """Write w0 I and the columns R u, R (e_j x u); T^T of them; T^T R (e_j x (nu u + w x u))/s."""
    s, R = pose(F, n.q)
    u, nu, omega = load3(F, to.w + 1), F[n.v + 3], load3(F, n.v + 4)
    low, J = operator(F, n.q, n.d)
    store_multiple(F, to.P, F[to.w])
    store_multiple(F, to.PT, F[to.w])
    Ru = mat_vec(R, u)
    store_column(F, to.P + 3, Ru)
    store_column(F, to.PT + 3, plus(Ru, mat_vec(R, cross(low, u))))
    moved = times(1.0 / s, plus(times(nu, u), cross(omega, u)))
    if to.rate:
        store_multiple(F, to.DP, 0.0)
        store_column(F, to.DP + 3, mat_vec(R, cross(low, moved)))
    for j in range(3):
        e = unit(j)
        turn = mat_vec(J, e)
        store_column(F, to.P + 4 + j, mat_vec(R, cross(e, u)))
        store_column(F, to.PT + 4 + j, mat_vec(R, cross(turn, u)))
        if to.rate:
            store_column(F, to.DP + 4 + j, mat_vec(R, cross(turn, moved)))


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write R dB u by velocities; by increments T^T R (e_j x B u)/s, and R dB/ds u with s."""
    s, R = pose(F, n.q)
    u, nu, omega = load3(F, to.w + 1), F[n.v + 3], load3(F, n.v + 4)
    low, J = operator(F, n.q, n.d)
    moved = plus(times(nu, u), cross(omega, u))
    x = mat_vec(body_acceleration(s, nu, omega, F[n.a + 3], load3(F, n.a + 4)), u)
    store_multiple(F, to.AV, 0.0)
    store_multiple(F, to.AQ, 0.0)
    store_column(F, to.AV + 3, mat_vec(R, times(1.0 / s, cross(omega, u))))
    grown = minus(cross(low, x), times(1.0 / s, cross(omega, moved)))
    store_column(F, to.AQ + 3, mat_vec(R, times(1.0 / s, grown)))
    for j in range(3):
        e = unit(j)
        both = plus(cross(e, moved), cross(omega, cross(e, u)))
        store_column(F, to.AV + 4 + j, mat_vec(R, times(1.0 / s, both)))
        store_column(F, to.AQ + 4 + j, mat_vec(R, times(1.0 / s, cross(mat_vec(J, e), x))))


@jit
def flow(F: Any, n: Any, k: int) -> None:
    """Write the velocity, nu and (s kappa T(-theta))^-1 (omega - s kappa' nu d_w)."""
    A, w, nu = load4(F, n.q0 + 3), load3(F, n.d + 4), F[n.v + 3]
    s = dot4(A, A) + F[n.d + 3]
    f, g = stretch(F[n.d + 3] / s)
    turn = minus(load3(F, n.v + 4), times(nu * g / s, w))
    store3(F, k, load3(F, n.v))
    F[k + 3] = nu
    store3(F, k + 4, times(1.0 / f, mat_vec(inverse_tangent(times(f / s, w)), turn)))


@jit
def carry(F: Any, n: Any, motion: int, twist: int) -> None:
    """Write the increments to scale one (set, not accumulated) and u = (velocity, 0, Omega)."""
    A = load4(F, n.q0 + 3)
    store3(F, n.d, load3(F, motion))
    F[n.d + 3] = 1.0 - dot4(A, A)
    store3(F, n.d + 4, load3(F, motion + 3))
    store3(F, n.v, load3(F, twist))
    F[n.v + 3] = 0.0
    store3(F, n.v + 4, load3(F, twist + 3))


@remembered
def Scalable(*, rigid: bool = True, velocities: Literal["rates", "u"] = "rates") -> Formulation:
    """Return the formulation of a scalable body.

    Parameters
    ----------
    rigid : bool
        Whether a row holds the length of the quaternion at one; otherwise the body breathes.
    velocities : {"rates", "u"}
        The rates of the coordinates, or velocity, rate of scale and angular velocity times scale.

    Examples
    --------
    >>> import mbd
    >>> balloon = mbd.Scalable(rigid=False, velocities="u")
    >>> mbd.RigidBody("b", mass=1.0, inertia=(1, 1, 1), formulation=balloon).formulation.n_own
    0
    """
    one_of("Scalable", "velocities", velocities, ("rates", "u"))
    return _scalable(flag("Scalable", "rigid", rigid), velocities)


@cache
def _scalable(rigid: bool, velocities: str) -> Formulation:
    """Return the formulation of checked options, one object for each."""
    words = [] if velocities == "rates" else ["u"]
    words += [] if rigid else ["free"]
    name = "scalable" + (f" ({', '.join(words)})" if words else "")
    if velocities == "rates":
        return formulation(name, row=rigid, scales=True)
    return Formulation(
        name=name, velocities=("x", "y", "z", "scale", "theta_1", "theta_2", "theta_3"),
        velocity_kinds=(TRANSLATION,) * 3 + (DIRECTOR,) + (ROTATION,) * 3,
        own_rows=("|p|",) if rigid else (), own_kinds=(OWN,) if rigid else (), n_q=7, axes=True,
        constants=constants, initial=initial, stacks=True, retract=retract, face=face,
        face_velocity=face_velocity, face_acceleration=face_acceleration, residual=_residual(rigid),
        tangent=_tangent(rigid), maps=maps, own_rates=own_rates if rigid else no_rates, flow=flow,
        carry=carry if rigid else None, second_maps=second_maps, rigid=rigid, scales=True,
    )  # fmt: skip


SCALABLE = Scalable()
