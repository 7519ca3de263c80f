r"""``so3``: the rigid body on R^3 x SO(3), inertial components (Kynema's rigid body).

:math:`q = (x, p)` with the unit quaternion p of R, :math:`v = (\dot x, \omega)`,
:math:`q \boxplus \Delta = (x + \Delta_x, \psi(\Delta_\theta) R)` with a local map
(``algebra/local_maps.py``), by default :math:`\psi = \exp\tilde\Delta_\theta`. With
:math:`\eta` the offset of the centre of mass and :math:`\varrho` the inertia about the origin of
the body frame, both in inertial components, and :math:`\ddot u` the acceleration of the origin
less gravity,

.. math::
   M &= \begin{bmatrix} mI & m\tilde\eta^T \\ m\tilde\eta & \varrho \end{bmatrix}, \qquad
   g = \begin{bmatrix} m\tilde\omega\tilde\omega\eta \\ \tilde\omega\varrho\omega \end{bmatrix} \\
   G &= \begin{bmatrix} 0 & (\widetilde{\tilde\omega m\eta})^T + \tilde\omega m\tilde\eta^T \\
        0 & \tilde\omega\varrho - \widetilde{\varrho\omega} \end{bmatrix} \\
   K &= \begin{bmatrix} 0 & (\dot{\tilde\omega}+\tilde\omega\tilde\omega)m\tilde\eta^T \\
        0 & \tilde{\ddot u}m\tilde\eta + \varrho\dot{\tilde\omega} - \widetilde{\varrho\dot\omega}
        + \tilde\omega(\varrho\tilde\omega - \widetilde{\varrho\omega}) \end{bmatrix}

References
----------
[Kynema, (5), (6)]: see the page *From paper to code* of the documentation.
"""

from functools import cache
from typing import Any, Literal

import numpy as np

from mbd.algebra.local_maps import EXPONENTIAL, LocalMap, local_map_of
from mbd.algebra.rotations import quaternion_from_matrix
from mbd.algebra.so3 import quaternion_exp, quaternion_matrix, quaternion_product
from mbd.algebra.vec import (
    EYE,
    add_identity,
    add_mat,
    cross,
    dot,
    load3,
    load4,
    load9,
    mat_mat,
    mat_mat_t,
    mat_plus,
    mat_tilde,
    mat_vec,
    minus,
    outer,
    plus,
    store3,
    store_column,
    store_multiple,
    store_unit4,
    tilde,
    tilde_mat,
    times,
    unit,
    vec_mat,
    weighted,
)
from mbd.base.recorded_call import remembered
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates
from mbd.machine.buffer import GX, ROTATION, TRANSLATION, W_G, W_K, W_M
from mbd.machine.jit import jit


def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return (m, m eta, inertia about the origin of the body frame) in body axes."""
    m, e = np.asarray(mass)[..., None], second.reshape(*second.shape[:-2], 9)
    inertia = 0.0 - e
    inertia[..., ::4] += e[..., ::4].sum(-1, keepdims=True)
    return np.concatenate([m, m * center, inertia], -1)


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return q = (x, p) and v = (velocity, omega), inertial components."""
    q = np.concatenate([position, quaternion_from_matrix(rotation)], -1)
    return q, np.concatenate([velocity, omega], -1)


@jit
def rotation(F: Any, y: int) -> Any:
    """Return R, whose columns are the directors of the face."""
    return (
        F[y + 3], F[y + 6], F[y + 9],
        F[y + 4], F[y + 7], F[y + 10],
        F[y + 5], F[y + 8], F[y + 11],
    )  # fmt: skip


@jit
def face(F: Any, n: Any) -> None:
    """Write x and the columns of R."""
    R = quaternion_matrix(load4(F, n.q + 3))
    store3(F, n.y, load3(F, n.q))
    store3(F, n.y + 3, (R[0], R[3], R[6]))
    store3(F, n.y + 6, (R[1], R[4], R[7]))
    store3(F, n.y + 9, (R[2], R[5], R[8]))


@jit
def write_rates(F: Any, n: Any, velocity: Any, omega: Any) -> None:
    """Write the velocity of the origin and omega x d_k, inertial components."""
    store3(F, n.yd, velocity)
    for k in range(3, 12, 3):
        store3(F, n.yd + k, cross(omega, load3(F, n.y + k)))


@jit
def write_second_rates(F: Any, n: Any, acceleration: Any, omega: Any, alpha: Any) -> None:
    """Write the acceleration of the origin and of the directors, inertial components."""
    store3(F, n.ydd, acceleration)
    for k in range(3, 12, 3):
        d = load3(F, n.y + k)
        store3(F, n.ydd + k, plus(cross(alpha, d), cross(omega, cross(omega, d))))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write x' and omega x d_k."""
    write_rates(F, n, load3(F, n.v), load3(F, n.v + 3))


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write x'' and the accelerations of the directors."""
    write_second_rates(F, n, load3(F, n.a), load3(F, n.v + 3), load3(F, n.a + 3))


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s (M v' + g - weight + Z^T f_y); the rotational part is formed in body axes."""
    R = rotation(F, n.y)
    omega, alpha = load3(F, n.v + 3), load3(F, n.a + 3)
    u = minus(load3(F, n.a), load3(F, GX))
    eta = mat_vec(R, load3(F, n.par + 1))
    J = load9(F, n.par + 4)
    w = vec_mat(omega, R)
    torque = mat_vec(R, plus(mat_vec(J, vec_mat(alpha, R)), cross(w, mat_vec(J, w))))
    force = plus(times(F[n.par], u), plus(cross(alpha, eta), cross(omega, cross(omega, eta))))
    torque = plus(torque, cross(eta, u))
    force = plus(force, load3(F, n.f))
    for k in range(3, 12, 3):
        torque = plus(torque, cross(load3(F, n.y + k), load3(F, n.f + k)))
    store3(F, n.x, times(s, force))
    store3(F, n.x + 3, times(s, torque))


@jit
def add_tangent(F: Any, n: Any, tangent: Any) -> None:
    """Add w_M M + w_G G + w_K (K + C) T."""
    wM, wG, wK = F[W_M], F[W_G], F[W_K]
    R = rotation(F, n.y)
    omega, alpha = load3(F, n.v + 3), load3(F, n.a + 3)
    u = minus(load3(F, n.a), load3(F, GX))
    J = mat_mat_t(mat_mat(R, load9(F, n.par + 4)), R)
    body = load3(F, n.par + 1)
    eccentric = body[0] != 0.0 or body[1] != 0.0 or body[2] != 0.0
    eta = mat_vec(R, body)
    E = tilde(eta)
    add_identity(F, n.S, n.ld, wM * F[n.par])
    add_mat(F, n.S + 3 * n.ld + 3, n.ld, wM, J)
    if eccentric:
        add_mat(F, n.S + 3, n.ld, -wM, E)
        add_mat(F, n.S + 3 * n.ld, n.ld, wM, E)
    if wG == 0.0 and wK == 0.0:
        return
    T = tangent(load3(F, n.d + 3))

    # K_rr, with the curvature C = sum_k d_k f_k^T - (f_k . d_k) I
    K = mat_plus(mat_tilde(J, alpha), -1.0, tilde(mat_vec(J, alpha)))
    B = mat_plus(mat_tilde(J, omega), -1.0, tilde(mat_vec(J, omega)))
    K = mat_plus(K, 1.0, tilde_mat(omega, B))
    trace = 0.0
    for k in range(3, 12, 3):
        dk, fk = load3(F, n.y + k), load3(F, n.f + k)
        K = mat_plus(K, 1.0, outer(dk, fk))
        trace += dot(dk, fk)
    K = mat_plus(K, -trace, EYE)
    G = mat_plus(tilde_mat(omega, J), -1.0, tilde(mat_vec(J, omega)))

    add_mat(F, n.S + 3 * n.ld + 3, n.ld, wG, G)
    if eccentric:
        K = mat_plus(K, 1.0, tilde_mat(u, E))
        WE = tilde_mat(omega, E)
        # -(dG), -(dK) of the upper right block
        upper = mat_plus(tilde(cross(omega, eta)), 1.0, WE)
        stiff = mat_mat(mat_plus(tilde_mat(alpha, E), 1.0, tilde_mat(omega, WE)), T)
        add_mat(F, n.S + 3, n.ld, -wG, upper)
        add_mat(F, n.S + 3, n.ld, -wK, stiff)
    add_mat(F, n.S + 3 * n.ld + 3, n.ld, wK, mat_mat(K, T))


@jit
def write_maps(F: Any, n: Any, to: Any, tangent: Any) -> None:
    """Write P = [w0 I; b~], PT = [w0 I; T^T b~], DP = [0; -T^T b~ omega~], b~ = tilde(b)."""
    w0 = F[to.w]
    b = minus(weighted(F, n.y, to.w), times(w0, load3(F, n.y)))
    B = tilde(b)
    store_multiple(F, to.P, w0)
    store_multiple(F, to.PT, w0)
    if to.still:
        for k in range(3):
            column = (B[3 * k], B[3 * k + 1], B[3 * k + 2])
            store_column(F, to.P + 3 + k, column)
            store_column(F, to.PT + 3 + k, column)
        return
    T = tangent(load3(F, n.d + 3))
    if to.rate:
        store_multiple(F, to.DP, 0.0)
    omega = load3(F, n.v + 3)
    for k in range(3):
        turned = cross((T[k], T[3 + k], T[6 + k]), b)
        store_column(F, to.P + 3 + k, (B[3 * k], B[3 * k + 1], B[3 * k + 2]))
        store_column(F, to.PT + 3 + k, turned)
        if to.rate:
            store_column(F, to.DP + 3 + k, cross(omega, turned))


@jit
def write_second_maps(F: Any, n: Any, to: Any, tangent: Any) -> None:
    """Write, by omega, e x (omega x b) + omega x (e x b); by increments (alpha~ + omega~^2) db."""
    b = minus(weighted(F, n.y, to.w), times(F[to.w], load3(F, n.y)))
    T, omega, alpha = tangent(load3(F, n.d + 3)), load3(F, n.v + 3), load3(F, n.a + 3)
    store_multiple(F, to.AV, 0.0)
    store_multiple(F, to.AQ, 0.0)
    for k in range(3):
        e = unit(k)
        both = plus(cross(e, cross(omega, b)), cross(omega, cross(e, b)))
        store_column(F, to.AV + 3 + k, both)
        db = cross((T[k], T[3 + k], T[6 + k]), b)
        store_column(F, to.AQ + 3 + k, plus(cross(alpha, db), cross(omega, cross(omega, db))))


@cache
def _formulation(name: str, local_map: LocalMap) -> Formulation:
    """Return the formulation whose rotations move by a local map."""
    quaternion, coordinates = local_map.quaternion, local_map.coordinates
    tangent, inverse_tangent = local_map.tangent, local_map.inverse_tangent

    @jit
    def retract(F: Any, n: Any) -> None:
        """Write x + d_x and psi(d_theta) R, the quaternion at unit length."""
        store3(F, n.q, plus(load3(F, n.q0), load3(F, n.d)))
        p = load4(F, n.q0 + 3)
        store_unit4(F, n.q + 3, quaternion_product(quaternion(load3(F, n.d + 3)), p))

    @jit
    def tangent_of(F: Any, n: Any) -> None:
        add_tangent(F, n, tangent)

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        write_maps(F, n, to, tangent)

    @jit
    def second_maps(F: Any, n: Any, to: Any) -> None:
        write_second_maps(F, n, to, tangent)

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        """Write the velocity and T^-1 omega."""
        back = inverse_tangent(load3(F, n.d + 3))
        store3(F, k, load3(F, n.v))
        store3(F, k + 3, mat_vec(back, load3(F, n.v + 3)))

    @jit
    def convect(F: Any, s: float, d: int, w: int) -> None:
        """Turn the angular part of w by s theta."""
        turned = quaternion_matrix(quaternion(times(s, load3(F, d + 3))))
        store3(F, w + 3, mat_vec(turned, load3(F, w + 3)))

    @jit
    def carry(F: Any, n: Any, motion: int, twist: int) -> None:
        """Write the translation and R_0 theta; the velocity and R Omega."""
        theta = load3(F, motion + 3)
        p = load4(F, n.q0 + 3)
        turned = quaternion_product(p, quaternion_exp(theta))
        store3(F, n.d, load3(F, motion))
        store3(F, n.d + 3, mat_vec(quaternion_matrix(p), coordinates(theta)))
        store3(F, n.v, load3(F, twist))
        store3(F, n.v + 3, mat_vec(quaternion_matrix(turned), load3(F, twist + 3)))

    return Formulation(
        name=name, velocities=("x", "y", "z", "theta_x", "theta_y", "theta_z"),
        velocity_kinds=(TRANSLATION,) * 3 + (ROTATION,) * 3, own_rows=(), own_kinds=(), n_q=7,
        quaternion=3, axes=True, constants=constants, initial=initial, stacks=True, retract=retract,
        face=face, face_velocity=face_velocity, face_acceleration=face_acceleration,
        residual=residual, tangent=tangent_of, maps=maps, own_rates=no_rates, flow=flow,
        convect=convect, carry=carry, second_maps=second_maps, canonical=local_map is EXPONENTIAL,
    )  # fmt: skip


@remembered
def SO3(local_map: LocalMap | Literal["exponential", "cayley"] = "exponential") -> Formulation:
    """Return ``so3`` with increments of rotation by a local map.

    Parameters
    ----------
    local_map : {"exponential", "cayley"} or LocalMap
        "exponential": rotation vectors, canonical coordinates of the first kind; "cayley": twice
        the tangent of half the angle, along the axis. The motion is the same to the order of the
        method; at "cayley" a step must turn the body by much less than half a circle.

    Examples
    --------
    >>> import mbd
    >>> mbd.SO3("cayley").name, mbd.SO3().name
    ('so3 (cayley)', 'so3')
    """
    used = local_map_of("SO3", local_map)
    return _formulation("so3" if used is EXPONENTIAL else f"so3 ({used.name})", used)


CANONICAL = SO3()
