r"""``se3``: the rigid body on SE(3), body-fixed components, a constant mass matrix.

:math:`q = (x, p)` with the unit quaternion p of R, :math:`v = (U, \Omega)` with
:math:`\dot x = RU`, :math:`\dot R = R\tilde\Omega`, and
:math:`q \boxplus \Delta = H\psi(\Delta)` with a local map (``algebra/local_maps.py``), by default
:math:`\psi = \exp`. With :math:`s = m\rho_c` and J about the origin, both in body axes,
:math:`\gamma = R^Tg` and :math:`\phi_k = R^Tf_k` the face force in body axes,

.. math::
   M &= \begin{bmatrix} mI & -\tilde s \\ \tilde s & J \end{bmatrix}, \qquad
   r = M\dot v - \mathrm{ad}_v^TMv - \begin{bmatrix} m\gamma \\ \tilde s\gamma \end{bmatrix}
     + \begin{bmatrix} \phi_0 \\ \sum_k \tilde e_k\phi_k \end{bmatrix} \\
   G &= \begin{bmatrix}
        m\tilde\Omega & -m\tilde U - \widetilde{\tilde\Omega s} - \tilde\Omega\tilde s \\
        \tilde s\tilde\Omega & \tilde\Omega J - \widetilde{J\Omega} - \tilde s\tilde U
        \end{bmatrix}, \qquad
   K = \begin{bmatrix} 0 & \tilde\phi_0 - m\tilde\gamma \\
       0 & \sum_k\tilde e_k\tilde\phi_k - \tilde s\tilde\gamma \end{bmatrix} .

References
----------
.. [1] Brüls, Cardona and Arnold, "Lie group generalized-alpha time integration of constrained
   flexible multibody systems", 2012.

[Holzinger 2020, (1)-(22)]: see the page *From paper to code* of the documentation.
"""

from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.algebra.local_maps import EXPONENTIAL, LocalMap, local_map_of
from mbd.algebra.rotations import in_body_axes, quaternion_from_matrix
from mbd.algebra.so3 import quaternion_exp, quaternion_matrix, quaternion_product
from mbd.algebra.vec import (
    ZERO,
    add_identity,
    add_mat,
    cross,
    load3,
    load4,
    load9,
    mat_mat,
    mat_plus,
    mat_tilde,
    mat_vec,
    minus,
    plus,
    store3,
    store_unit4,
    tilde,
    tilde_mat,
    times,
    vec_mat,
)
from mbd.base.recorded_call import remembered
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates
from mbd.formulations.so3 import constants, face, rotation, write_rates, write_second_rates
from mbd.machine.buffer import GX, MAP_ROW, ROTATION, TRANSLATION, W_G, W_K, W_M
from mbd.machine.jit import jit


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return q = (x, p) and v = (R^T velocity, R^T omega)."""
    q = np.concatenate([position, quaternion_from_matrix(rotation)], -1)
    v = in_body_axes(rotation, velocity), in_body_axes(rotation, omega)
    return q, np.concatenate(v, -1)


# --- functions of numbers, also for other velocities on the same group ----------------------------
@jit
def write_velocity(F: Any, n: Any, U: Any, Omega: Any) -> None:
    """Write R U and omega x d_k."""
    R = rotation(F, n.y)
    write_rates(F, n, mat_vec(R, U), mat_vec(R, Omega))


@jit
def write_acceleration(F: Any, n: Any, U: Any, Omega: Any, dU: Any, dOmega: Any) -> None:
    """Write R (U' + Omega x U) and the accelerations of the directors."""
    R = rotation(F, n.y)
    acceleration = mat_vec(R, plus(dU, cross(Omega, U)))
    write_second_rates(F, n, acceleration, mat_vec(R, Omega), mat_vec(R, dOmega))


@jit
def body_forces(F: Any, n: Any, U: Any, Omega: Any, dU: Any, dOmega: Any) -> Any:
    """Return force and moment about the origin of r, in body axes."""
    R = rotation(F, n.y)
    m, s, J = F[n.par], load3(F, n.par + 1), load9(F, n.par + 4)
    acc = minus(plus(dU, cross(Omega, U)), vec_mat(load3(F, GX), R))
    force = plus(times(m, acc), plus(cross(dOmega, s), cross(Omega, cross(Omega, s))))
    moment = plus(mat_vec(J, dOmega), cross(Omega, mat_vec(J, Omega)))
    moment = plus(moment, cross(s, acc))
    force = plus(force, vec_mat(load3(F, n.f), R))
    f1, f2, f3 = (
        vec_mat(load3(F, n.f + 3), R),
        vec_mat(load3(F, n.f + 6), R),
        vec_mat(load3(F, n.f + 9), R),
    )
    return force, plus(moment, (f2[2] - f3[1], f3[0] - f1[2], f1[1] - f2[0]))


@jit
def add_blocks(F: Any, n: Any, U: Any, Omega: Any, T: Any, S: int, ld: int) -> None:
    """Add w_M M + w_G G + w_K K T to the 6x6 block at F[S]; K needs only T of SO(3)."""
    wM, wG, wK = F[W_M], F[W_G], F[W_K]
    R = rotation(F, n.y)
    m, s, J = F[n.par], load3(F, n.par + 1), load9(F, n.par + 4)
    E, eccentric = tilde(s), s[0] != 0.0 or s[1] != 0.0 or s[2] != 0.0
    add_identity(F, S, ld, wM * m)
    add_mat(F, S + 3 * ld + 3, ld, wM, J)
    if eccentric:
        add_mat(F, S + 3, ld, -wM, E)
        add_mat(F, S + 3 * ld, ld, wM, E)
    if wG == 0.0 and wK == 0.0:
        return
    gamma = vec_mat(load3(F, GX), R)
    f0, f1, f2, f3 = (
        vec_mat(load3(F, n.f), R),
        vec_mat(load3(F, n.f + 3), R),
        vec_mat(load3(F, n.f + 6), R),
        vec_mat(load3(F, n.f + 9), R),
    )
    # sum_k tilde(e_k) tilde(phi_k) = sum_k phi_k e_k^T - (e_k . phi_k) I
    t = f1[0] + f2[1] + f3[2]
    K = (
        f1[0] - t, f2[0], f3[0],
        f1[1], f2[1] - t, f3[1],
        f1[2], f2[2], f3[2] - t,
    )  # fmt: skip
    above = tilde(minus(f0, times(m, gamma)))
    G = mat_plus(tilde_mat(Omega, J), -1.0, tilde(mat_vec(J, Omega)))
    over = times(-m, U)
    add_mat(F, S, ld, wG * m, tilde(Omega))
    if eccentric:
        K = mat_plus(K, -1.0, mat_tilde(E, gamma))
        G = mat_plus(G, -1.0, mat_tilde(E, U))
        over = minus(over, cross(Omega, s))
        add_mat(F, S + 3, ld, -wG, tilde_mat(Omega, E))
        add_mat(F, S + 3 * ld, ld, wG, mat_tilde(E, Omega))
    add_mat(F, S + 3, ld, wG, tilde(over))
    add_mat(F, S + 3, ld, wK, mat_mat(above, T))
    add_mat(F, S + 3 * ld + 3, ld, wG, G)
    add_mat(F, S + 3 * ld + 3, ld, wK, mat_mat(K, T))


@jit
def _write9(F: Any, i: int, A: Any) -> None:
    """Write A as three columns of a map, the first of which begins at F[i]."""
    for r in range(3):
        store3(F, i + MAP_ROW * r, (A[3 * r], A[3 * r + 1], A[3 * r + 2]))


@jit
def write_maps(
    F: Any, n: Any, to: Any, U: Any, Omega: Any, u: Any, theta: Any, blocks: Any
) -> None:
    """Write R [w0 I, -b~], the same times [T, C; 0, T], and R [0, -c~] T.

    b is the weighted vector and c its velocity, both in body axes.
    """
    R = rotation(F, n.y)
    w0, b = F[to.w], load3(F, to.w + 1)
    Rb = mat_tilde(R, b)
    if to.still:
        for P in (to.P, to.PT):
            _write9(F, P, mat_plus(ZERO, w0, R))
            _write9(F, P + 3, mat_plus(ZERO, -1.0, Rb))
        return
    T, C = blocks(u, theta)
    A = mat_plus(mat_mat(Rb, T), -w0, mat_mat(R, C))
    B = mat_mat(R, T)
    _write9(F, to.P, mat_plus(ZERO, w0, R))
    _write9(F, to.P + 3, mat_plus(ZERO, -1.0, Rb))
    _write9(F, to.PT, mat_plus(ZERO, w0, B))
    _write9(F, to.PT + 3, mat_plus(ZERO, -1.0, A))
    if to.rate:
        c = plus(times(w0, U), cross(Omega, b))
        _write9(F, to.DP, ZERO)
        _write9(F, to.DP + 3, mat_plus(ZERO, -1.0, mat_mat(mat_tilde(R, c), T)))


@jit
def write_second_maps(
    F: Any, n: Any, to: Any, U: Any, Omega: Any, dU: Any, dOmega: Any, T: Any
) -> None:
    """Write R [w0 Omega~, -w0 U~ - c~ - Omega~ b~], c = Omega x b, and R [0, -x''~] T."""
    R, w0, b = rotation(F, n.y), F[to.w], load3(F, to.w + 1)
    x = plus(times(w0, plus(dU, cross(Omega, U))), cross(dOmega, b))
    x = plus(x, cross(Omega, cross(Omega, b)))
    turned = mat_plus(tilde(plus(times(w0, U), cross(Omega, b))), 1.0, tilde_mat(Omega, tilde(b)))
    _write9(F, to.AV, mat_plus(ZERO, w0, mat_tilde(R, Omega)))
    _write9(F, to.AV + 3, mat_plus(ZERO, -1.0, mat_mat(R, turned)))
    _write9(F, to.AQ, ZERO)
    _write9(F, to.AQ + 3, mat_plus(ZERO, -1.0, mat_mat(mat_tilde(R, x), T)))


class Increments(NamedTuple):
    """Functions of numbers in which the local map is, velocities in body axes."""

    move: Any  #: (F, q0, u, theta, q): write H psi(u, theta)
    tangent: Any  #: theta -> T
    blocks: Any  #: (u, theta) -> T and its derivative along u
    rates: Any  #: (u, theta, U, Omega) -> T^-1(u, theta) (U, Omega)
    motion: Any  #: (F, q0, motion, twist) -> (u, theta), (U, Omega) of what `carry` is given


@cache
def increments(local_map: LocalMap) -> Increments:
    """Return the functions of a local map that has the operators of rigid motions."""
    quaternion, coordinates = local_map.quaternion, local_map.coordinates
    blocks, inverse_blocks = local_map.tangent_blocks, local_map.inverse_tangent_blocks

    @jit
    def tangent(theta: Any) -> Any:
        return blocks(theta, theta)[0]

    @jit
    def move(F: Any, q0: int, u: Any, theta: Any, q: int) -> None:
        p = load4(F, q0 + 3)
        r, t = quaternion(theta), vec_mat(u, tangent(theta))
        # R t = t + 2 e x (e x t + p0 t)
        e = (p[1], p[2], p[3])
        c = plus(cross(e, t), times(p[0], t))
        store3(F, q, plus(load3(F, q0), plus(t, times(2.0, cross(e, c)))))
        store_unit4(F, q + 3, quaternion_product(p, r))

    @jit
    def rates(u: Any, theta: Any, U: Any, Omega: Any) -> Any:
        T, C = inverse_blocks(u, theta)
        return plus(mat_vec(T, U), mat_vec(C, Omega)), mat_vec(T, Omega)

    @jit
    def motion(F: Any, q0: int, d: int, w: int) -> Any:
        turn = load3(F, d + 3)
        p = load4(F, q0 + 3)
        turned = quaternion_matrix(quaternion_product(p, quaternion_exp(turn)))
        x, theta = vec_mat(load3(F, d), quaternion_matrix(p)), coordinates(turn)
        T, _ = inverse_blocks(theta, theta)
        return vec_mat(x, T), theta, vec_mat(load3(F, w), turned), load3(F, w + 3)

    return Increments(move, tangent, blocks, rates, motion)


# --- functions of one node ------------------------------------------------------------------------
@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write R U and omega x d_k."""
    write_velocity(F, n, load3(F, n.v), load3(F, n.v + 3))


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write the acceleration of the origin and of the directors."""
    write_acceleration(F, n, load3(F, n.v), load3(F, n.v + 3), load3(F, n.a), load3(F, n.a + 3))


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s r."""
    U, Omega, dU, dOmega = load3(F, n.v), load3(F, n.v + 3), load3(F, n.a), load3(F, n.a + 3)
    force, moment = body_forces(F, n, U, Omega, dU, dOmega)
    store3(F, n.x, times(s, force))
    store3(F, n.x + 3, times(s, moment))


@cache
def _formulation(name: str, local_map: LocalMap) -> Formulation:
    """Return the formulation whose motions move by a local map."""
    steps = increments(local_map)
    move, tangent, blocks = steps.move, steps.tangent, steps.blocks
    rates, motion_of = steps.rates, steps.motion

    @jit
    def retract(F: Any, n: Any) -> None:
        """Write H psi(d)."""
        move(F, n.q0, load3(F, n.d), load3(F, n.d + 3), n.q)

    @jit
    def add_tangent(F: Any, n: Any) -> None:
        """Add w_M M + w_G G + w_K K T."""
        T = tangent(load3(F, n.d + 3))
        add_blocks(F, n, load3(F, n.v), load3(F, n.v + 3), T, n.S, n.ld)

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        """Write T^-1 (U, Omega)."""
        u, theta = rates(load3(F, n.d), load3(F, n.d + 3), load3(F, n.v), load3(F, n.v + 3))
        store3(F, k, u)
        store3(F, k + 3, theta)

    @jit
    def carry(F: Any, n: Any, motion: int, twist: int) -> None:
        """Write the coordinates of the motion and (U, Omega)."""
        u, theta, U, Omega = motion_of(F, n.q0, motion, twist)
        store3(F, n.d, u)
        store3(F, n.d + 3, theta)
        store3(F, n.v, U)
        store3(F, n.v + 3, Omega)

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        """Write the maps of an attachment."""
        u, theta = load3(F, n.d), load3(F, n.d + 3)
        write_maps(F, n, to, load3(F, n.v), load3(F, n.v + 3), u, theta, blocks)

    @jit
    def second_maps(F: Any, n: Any, to: Any) -> None:
        """Write the maps of the acceleration of an attachment."""
        U, Omega, dU, dOmega = load3(F, n.v), load3(F, n.v + 3), load3(F, n.a), load3(F, n.a + 3)
        write_second_maps(F, n, to, U, Omega, dU, dOmega, tangent(load3(F, n.d + 3)))

    return Formulation(
        name=name, velocities=("U_x", "U_y", "U_z", "Omega_x", "Omega_y", "Omega_z"),
        velocity_kinds=(TRANSLATION,) * 3 + (ROTATION,) * 3, own_rows=(), own_kinds=(), n_q=7,
        quaternion=3, axes=True, constants=constants, initial=initial, stacks=True, retract=retract,
        face=face, face_velocity=face_velocity, face_acceleration=face_acceleration,
        residual=residual, tangent=add_tangent, maps=maps, own_rates=no_rates, flow=flow,
        carry=carry, second_maps=second_maps, canonical=local_map is EXPONENTIAL,
    )  # fmt: skip


@remembered
def SE3(local_map: LocalMap | Literal["exponential", "cayley"] = "exponential") -> Formulation:
    """Return ``se3`` with increments of motion by a local map.

    Parameters
    ----------
    local_map : {"exponential", "cayley"} or LocalMap
        See `mbd.SO3`; one of your own needs ``tangent_blocks`` and their inverse.

    Examples
    --------
    >>> import mbd
    >>> mbd.SE3("cayley").name
    'se3 (cayley)'
    """
    used = local_map_of("SE3", local_map, motions=True)
    return _formulation("se3" if used is EXPONENTIAL else f"se3 ({used.name})", used)


CANONICAL = SE3()
