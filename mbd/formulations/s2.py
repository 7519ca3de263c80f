r"""``S2``: the rigid body that does not spin about its third director, on R^3 x S^2.

:math:`d_3` moves on the unit sphere, :math:`d_1, d_2` are transported parallel with it: they do not
turn about it, :math:`\omega\cdot d_3 = 0`. Stored is the pose, :math:`q = (x, p)` with the unit
quaternion p of R: where the transport ends depends on the way. The velocities are
:math:`v = (\dot x, w_1, w_2)` with

.. math:: \omega = d_3\times\dot d_3 = w_1d_1 + w_2d_2, \qquad
          q \boxplus \Delta = (x + \Delta_x,\; R\exp\tilde\vartheta), \quad
          \vartheta = (\Delta_1, \Delta_2, 0):

:math:`d_3` goes along a geodesic, and the frame with it. The row :math:`\omega\cdot d_3 = 0` is
nonholonomic. Virtual displacements are taken from the same set (Lagrange-d'Alembert), so that its
force has no part in the equations, which are the first of the split ones: those of ``so3`` tested
with :math:`d_1` and :math:`d_2`. With :math:`s = m\rho_c`, J about the origin, both in body axes,
:math:`W = (w_1, w_2, 0)`, :math:`\gamma = R^T(\ddot x - g)`, :math:`\phi_k = R^Tf_k` and the first
two columns E of the unit matrix,

.. math::
   r &= \begin{bmatrix} m(\ddot x - g) + Rc + f_0 \\
        E^T\big(J\dot W + \tilde WJW + \tilde s\gamma + \sum_k\tilde e_k\phi_k\big) \end{bmatrix},
        \qquad c = \tilde{\dot W}s + \tilde W\tilde Ws \\
   M &= \begin{bmatrix} mI & -R\tilde sE \\ E^T\tilde sR^T & E^TJE \end{bmatrix}, \qquad
   G = \begin{bmatrix} 0 & -R(\tilde W\tilde s + \widetilde{\tilde Ws})E \\
        0 & E^T(\tilde WJ - \widetilde{JW})E \end{bmatrix} \\
   K &= \begin{bmatrix} 0 & -R\tilde c \\
        0 & E^T(\tilde s\tilde\gamma + \sum_k\tilde e_k\tilde\phi_k) \end{bmatrix}, \qquad
   T = \begin{bmatrix} I & 0 \\ 0 & T(\vartheta)E \end{bmatrix},

with :math:`T(\vartheta)` of body axes: an increment that differs in its direction turns the body
about :math:`d_3` too. Hence increments do not follow a motion that bends on the sphere, and there
is no :math:`T^{-1}`.

References
----------
[Gebhardt 2020, (18)-(26), (51), (69)]: see the page *From paper to code* of the documentation.
"""

from functools import cache
from typing import Any

import numpy as np

from mbd.algebra.local_maps import EXPONENTIAL
from mbd.algebra.rotations import in_body_axes, quaternion_from_matrix
from mbd.algebra.vec import (
    EYE,
    add_identity,
    cross,
    load3,
    load9,
    mat_mat,
    mat_plus,
    mat_tilde,
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
    unit,
    vec_mat,
)
from mbd.base.dual import plain
from mbd.base.recorded_call import remembered
from mbd.base.tolerances import ROWS_MET
from mbd.formulations.formulation import Array, Formulation, InitialValues, no_rates
from mbd.formulations.se3 import body_forces, increments
from mbd.formulations.so3 import constants, face, rotation, write_rates, write_second_rates
from mbd.machine.buffer import GX, ROTATION, TRANSLATION, W_G, W_K, W_M
from mbd.machine.jit import jit

_move, _tangent = increments(EXPONENTIAL)[:2]


def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
    """Return q = (x, p) and v = (velocity, w1, w2)."""
    q = np.concatenate([position, quaternion_from_matrix(rotation)], -1)
    W = in_body_axes(rotation, omega)
    spin = np.abs(plain(W)[..., 2])
    if np.any(spin > ROWS_MET * np.linalg.norm(plain(W), axis=-1)):
        raise ValueError(
            "angular_velocity of a body on S2 must not be about its third director [rad/s], got "
            f"{spin.max():.6g} along it; take that part away, or another formulation"
        )
    return q, np.concatenate([velocity, W[..., :2]], -1)


@jit
def _spin(F: Any, i: int) -> Any:
    """Return (F[i + 3], F[i + 4], 0), what turns the body, in body axes."""
    return F[i + 3], F[i + 4], 0.0


@jit
def retract(F: Any, n: Any) -> None:
    """Write x + d_x and R exp(theta)."""
    _move(F, n.q0, (0.0, 0.0, 0.0), _spin(F, n.d), n.q)
    store3(F, n.q, plus(load3(F, n.q0), load3(F, n.d)))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write x' and omega x d_k."""
    write_rates(F, n, load3(F, n.v), mat_vec(rotation(F, n.y), _spin(F, n.v)))


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write x'' and the accelerations of the directors."""
    R = rotation(F, n.y)
    omega, alpha = mat_vec(R, _spin(F, n.v)), mat_vec(R, _spin(F, n.a))
    write_second_rates(F, n, load3(F, n.a), omega, alpha)


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s r: force and moment are those of ``se3`` at the velocity of the body frame zero."""
    R = rotation(F, n.y)
    acceleration = vec_mat(load3(F, n.a), R)
    still = (0.0, 0.0, 0.0)
    force, moment = body_forces(F, n, still, _spin(F, n.v), acceleration, _spin(F, n.a))
    store3(F, n.x, times(s, mat_vec(R, force)))
    F[n.x + 3] = s * moment[0]
    F[n.x + 4] = s * moment[1]


@jit
def add_tangent(F: Any, n: Any) -> None:
    """Add w_M M + w_G G + w_K K T."""
    wM, wG, wK = F[W_M], F[W_G], F[W_K]
    R, W, dW = rotation(F, n.y), _spin(F, n.v), _spin(F, n.a)
    s, J = load3(F, n.par + 1), load9(F, n.par + 4)
    gamma = vec_mat(minus(load3(F, n.a), load3(F, GX)), R)
    T, E = _tangent(_spin(F, n.d)), tilde(s)
    K, trace = mat_tilde(E, gamma), 0.0
    for k in range(3):
        phi = vec_mat(load3(F, n.f + 3 + 3 * k), R)
        e = unit(k)
        K = mat_plus(K, 1.0, outer(phi, e))
        trace += phi[0] * e[0] + phi[1] * e[1] + phi[2] * e[2]
    K = mat_plus(K, -trace, EYE)
    G = mat_plus(tilde_mat(W, J), -1.0, tilde(mat_vec(J, W)))
    c = plus(cross(dW, s), cross(W, cross(W, s)))
    # of the negative upper right block
    RE = mat_mat(R, E)
    above = mat_mat(mat_tilde(R, c), T)
    turning = mat_mat(R, mat_plus(tilde_mat(W, E), 1.0, tilde(cross(W, s))))
    below = mat_mat(K, T)

    add_identity(F, n.S, n.ld, wM * F[n.par])
    for i in range(3):
        for j in range(2):
            at = 3 * i + j
            F[n.S + i * n.ld + 3 + j] -= wM * RE[at] + wG * turning[at] + wK * above[at]
            F[n.S + (3 + j) * n.ld + i] -= wM * RE[at]
    for i in range(2):
        for j in range(2):
            at = 3 * i + j
            F[n.S + (3 + i) * n.ld + 3 + j] += wM * J[at] + wG * G[at] + wK * below[at]


@jit
def maps(F: Any, n: Any, to: Any) -> None:
    """Write [w0 I, R (e_j x b)], [w0 I, R (T e_j x b)] and [0, R (T e_j x (W x b))]."""
    R, W, T = rotation(F, n.y), _spin(F, n.v), _tangent(_spin(F, n.d))
    b = load3(F, to.w + 1)
    store_multiple(F, to.P, F[to.w])
    store_multiple(F, to.PT, F[to.w])
    if to.rate:
        store_multiple(F, to.DP, 0.0)
    for j in range(2):
        turn = (T[j], T[3 + j], T[6 + j])
        store_column(F, to.P + 3 + j, mat_vec(R, cross(unit(j), b)))
        store_column(F, to.PT + 3 + j, mat_vec(R, cross(turn, b)))
        if to.rate:
            store_column(F, to.DP + 3 + j, mat_vec(R, cross(turn, cross(W, b))))


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write R (e_j x (W x b) + W x (e_j x b)) by velocities; R (T e_j x b'') by increments."""
    R, W, T = rotation(F, n.y), _spin(F, n.v), _tangent(_spin(F, n.d))
    b = load3(F, to.w + 1)
    second = plus(cross(_spin(F, n.a), b), cross(W, cross(W, b)))
    store_multiple(F, to.AV, 0.0)
    store_multiple(F, to.AQ, 0.0)
    for j in range(2):
        e = unit(j)
        both = plus(cross(e, cross(W, b)), cross(W, cross(e, b)))
        store_column(F, to.AV + 3 + j, mat_vec(R, both))
        store_column(F, to.AQ + 3 + j, mat_vec(R, cross((T[j], T[3 + j], T[6 + j]), second)))


@cache
def _formulation() -> Formulation:
    return Formulation(
        name="s2", velocities=("x", "y", "z", "w_1", "w_2"),
        velocity_kinds=(TRANSLATION,) * 3 + (ROTATION,) * 2, own_rows=(), own_kinds=(), n_q=7,
        quaternion=3, axes=True, constants=constants, initial=initial, stacks=True, retract=retract,
        face=face, face_velocity=face_velocity, face_acceleration=face_acceleration,
        residual=residual, tangent=add_tangent, maps=maps, own_rates=no_rates,
        second_maps=second_maps, holonomic=False,
    )  # fmt: skip


@remembered
def S2() -> Formulation:
    r"""Return the formulation of a rigid body that cannot spin about its third director.

    Five velocities, those of the origin and :math:`w_1, w_2` of :math:`\omega = w_1d_1 + w_2d_2`;
    the third director moves on the sphere S^2, the others are transported parallel with it. The
    motion is that of a body that wears `mbd.NonTwisting`, without the row and its multiplier.

    It is nonholonomic: no method that goes along an increment (``RadauCollocation``, motion
    vectors, unit quaternions) can move it, and none takes its sensitivities. ``GeneralizedAlpha``
    and ``LieRungeKutta4("commutator_free")`` do.

    Examples
    --------
    >>> import mbd
    >>> disc = mbd.RigidBody("disc", mass=1.0, inertia=(1, 1, 2), formulation=mbd.S2())
    >>> disc.formulation.velocities
    ('x', 'y', 'z', 'w_1', 'w_2')
    """
    return _formulation()
