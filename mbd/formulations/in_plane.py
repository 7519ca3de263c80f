r"""``InPlane``: the rigid body that moves in a plane, three velocities, on R^2 x SO(2).

With the normal n of the plane and unit vectors :math:`e_1, e_2` in it, inertial axes all three,
:math:`v = (e_1\cdot\dot x, e_2\cdot\dot x, \omega)` and

.. math:: \dot x = v_1e_1 + v_2e_2, \qquad \dot d_k = \omega\,n\times d_k, \qquad
          q \boxplus \Delta = (x + \Delta_1e_1 + \Delta_2e_2,\; \exp(\Delta_3\tilde n)R) .

Stored is the pose, :math:`q = (x, p)` with the unit quaternion p of R: where the body is along n,
and how it is turned at the start, is anything. With :math:`\eta` = R times the first moments and
:math:`J_n = n\cdot RJR^Tn` about the origin, :math:`u = \ddot x - g`, and for any vector b
:math:`b' = n\times b`, :math:`b'' = n\times b'`,

.. math::
   r &= \begin{bmatrix} e_i\cdot(mu + \alpha\eta' + \omega^2\eta'' + f_0) \\
        J_n\alpha + \eta'\cdot u + \sum_k d_k'\cdot f_k \end{bmatrix}, \qquad
   M = \begin{bmatrix} mI & e_i\cdot\eta' \\ e_j\cdot\eta' & J_n \end{bmatrix} \\
   G &= \begin{bmatrix} 0 & 2\omega\,e_i\cdot\eta'' \\ 0 & 0 \end{bmatrix}, \qquad
   K = \begin{bmatrix} 0 & e_i\cdot(\alpha\eta'' - \omega^2\eta') \\
       0 & \eta''\cdot u + \sum_k d_k''\cdot f_k \end{bmatrix}, \qquad T = I

for :math:`b''' = -b'`. They are the rows of ``so3`` along these velocities: what holds the body in
its plane does no work.

Steps that conserve energy and momenta are those of ``homogeneous_steps.py`` in the plane. With bars
for the means of both ends, c the centre of mass from the origin and :math:`\Theta` the inertia
about its normal, a step turns by :math:`\Delta_3` with

.. math:: \theta = 2\tan\tfrac12\Delta_3 = h\bar\omega, \quad \Delta d_k = \theta\,\bar d_k', \quad
          \Delta x + \theta\,\bar c' = h\,\overline{(\dot x + \omega c')} .

With :math:`u = \Delta(\dot x + \omega c')/h - g` its equations are
:math:`e_i\cdot(mu + f_0) = 0` and
:math:`\Theta\Delta\omega/h + m\bar c'\cdot u + \sum_k\bar d_k'\cdot f_k = 0`; times the way of the
centre of mass and :math:`\theta` they say that the change of T is the work of f and weight.
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from mbd.algebra.rotations import quaternion_from_matrix
from mbd.algebra.so3 import quaternion_matrix, quaternion_product
from mbd.algebra.vec import (
    cross,
    dot,
    load3,
    load4,
    load9,
    mat_vec,
    minus,
    plus,
    store3,
    store_column,
    store_unit4,
    times,
    vec_mat,
    weighted,
)
from mbd.base.checked import one_of
from mbd.base.dual import plain
from mbd.base.recorded_call import remembered
from mbd.base.tolerances import ROWS_MET
from mbd.formulations.formulation import Array, Conserving, Formulation, InitialValues, no_rates
from mbd.formulations.so3 import constants as of_spatial
from mbd.formulations.so3 import face, rotation, write_rates, write_second_rates
from mbd.machine.buffer import GX, ROTATION, ROW_RATE, SCALE_R, TRANSLATION, W_G, W_K, W_M
from mbd.machine.jit import jit

AXES = "xyz"
_E1, _E2, _N = 13, 16, 19  # places of the axes among the constants


@jit
def _axes(F: Any, n: Any) -> Any:
    """Return e_1, e_2 and the normal."""
    return load3(F, n.par + _E1), load3(F, n.par + _E2), load3(F, n.par + _N)


@jit
def _in_plane(F: Any, n: Any, i: int) -> Any:
    """Return F[i] e_1 + F[i + 1] e_2 and F[i + 2] n."""
    e1, e2, normal = _axes(F, n)
    return plus(times(F[i], e1), times(F[i + 1], e2)), times(F[i + 2], normal)


@jit
def retract(F: Any, n: Any) -> None:
    """Write x + d_1 e_1 + d_2 e_2 and exp(d_3 n) R, the quaternion at unit length."""
    shift, _ = _in_plane(F, n, n.d)
    store3(F, n.q, plus(load3(F, n.q0), shift))
    half = 0.5 * F[n.d + 2]
    axis = times(np.sin(half), load3(F, n.par + _N))
    p = load4(F, n.q0 + 3)
    store_unit4(F, n.q + 3, quaternion_product((np.cos(half), axis[0], axis[1], axis[2]), p))


@jit
def face_velocity(F: Any, n: Any) -> None:
    """Write x' and omega n x d_k."""
    velocity, omega = _in_plane(F, n, n.v)
    write_rates(F, n, velocity, omega)


@jit
def face_acceleration(F: Any, n: Any) -> None:
    """Write x'' and the accelerations of the directors."""
    _, omega = _in_plane(F, n, n.v)
    acceleration, alpha = _in_plane(F, n, n.a)
    write_second_rates(F, n, acceleration, omega, alpha)


@jit
def _inertia(F: Any, n: Any) -> Any:
    """Return eta', eta'' and J_n."""
    R, normal = rotation(F, n.y), load3(F, n.par + _N)
    first = cross(normal, mat_vec(R, load3(F, n.par + 1)))
    W = vec_mat(normal, R)
    return first, cross(normal, first), dot(W, mat_vec(load9(F, n.par + 4), W))


@jit
def _write_equations(F: Any, n: Any, s: float, force: Any, moment: float) -> None:
    """Write s times the equations along e_1, e_2 and about the normal; add moments of faces."""
    e1, e2, normal = _axes(F, n)
    for k in range(3, 12, 3):
        moment += dot(cross(normal, load3(F, n.y + k)), load3(F, n.f + k))
    F[n.x] = s * dot(e1, force)
    F[n.x + 1] = s * dot(e2, force)
    F[n.x + 2] = s * moment


@jit
def residual(F: Any, n: Any, s: float) -> None:
    """Write s r."""
    first, second, J = _inertia(F, n)
    omega, alpha = F[n.v + 2], F[n.a + 2]
    u = minus(_in_plane(F, n, n.a)[0], load3(F, GX))
    force = plus(times(F[n.par], u), load3(F, n.f))
    force = plus(force, plus(times(alpha, first), times(omega * omega, second)))
    _write_equations(F, n, s, force, J * alpha + dot(first, u))


@jit
def tangent(F: Any, n: Any) -> None:
    """Add w_M M + w_G G + w_K K."""
    wM, wG, wK = F[W_M], F[W_G], F[W_K]
    e1, e2, normal = _axes(F, n)
    first, second, J = _inertia(F, n)
    omega, alpha = F[n.v + 2], F[n.a + 2]
    u = minus(_in_plane(F, n, n.a)[0], load3(F, GX))
    turned = dot(second, u)
    for k in range(3, 12, 3):
        turned += dot(cross(normal, cross(normal, load3(F, n.y + k))), load3(F, n.f + k))
    above = times(wK, minus(times(alpha, second), times(omega * omega, first)))
    above = plus(plus(times(wM, first), times(2 * wG * omega, second)), above)
    F[n.S] += wM * F[n.par]
    F[n.S + n.ld + 1] += wM * F[n.par]
    F[n.S + 2] += dot(e1, above)
    F[n.S + n.ld + 2] += dot(e2, above)
    F[n.S + 2 * n.ld] += wM * dot(e1, first)
    F[n.S + 2 * n.ld + 1] += wM * dot(e2, first)
    F[n.S + 2 * n.ld + 2] += wM * J + wK * turned


@jit
def _offset(F: Any, n: Any, w: int) -> Any:
    """Return b' of the weighted directors b."""
    b = minus(weighted(F, n.y, w), times(F[w], load3(F, n.y)))
    return cross(load3(F, n.par + _N), b)


@jit
def _store(F: Any, n: Any, i: int, w0: float, turned: Any) -> None:
    """Write the columns w0 e_1, w0 e_2 and that of the turn."""
    store_column(F, i, times(w0, load3(F, n.par + _E1)))
    store_column(F, i + 1, times(w0, load3(F, n.par + _E2)))
    store_column(F, i + 2, turned)


@jit
def maps(F: Any, n: Any, to: Any) -> None:
    """Write [w0 e_1, w0 e_2, b'] for test and trial, and [0, 0, omega b'']."""
    first = _offset(F, n, to.w)
    _store(F, n, to.P, F[to.w], first)
    _store(F, n, to.PT, F[to.w], first)
    if to.rate:
        second = cross(load3(F, n.par + _N), first)
        _store(F, n, to.DP, 0.0, times(F[n.v + 2], second))


@jit
def second_maps(F: Any, n: Any, to: Any) -> None:
    """Write [0, 0, 2 omega b''] by velocities, [0, 0, alpha b'' - omega^2 b'] by increments."""
    first = _offset(F, n, to.w)
    second = cross(load3(F, n.par + _N), first)
    omega = F[n.v + 2]
    _store(F, n, to.AV, 0.0, times(2 * omega, second))
    turned = minus(times(F[n.a + 2], second), times(omega * omega, first))
    _store(F, n, to.AQ, 0.0, turned)


@jit
def flow(F: Any, n: Any, k: int) -> None:
    """Write v."""
    store3(F, k, load3(F, n.v))


@jit
def carry(F: Any, n: Any, motion: int, twist: int) -> None:
    """Write what of the translation, the turn and their rates is in the plane."""
    e1, e2, normal = _axes(F, n)
    W = vec_mat(normal, quaternion_matrix(load4(F, n.q0 + 3)))  # the same in all poses
    for at, x in ((n.d, motion), (n.v, twist)):
        moved = load3(F, x)
        F[at] = dot(e1, moved)
        F[at + 1] = dot(e2, moved)
        F[at + 2] = dot(W, load3(F, x + 3))


# --- steps that conserve --------------------------------------------------------------------------
class PlanarStep(NamedTuple):
    """Numbers of a step; the velocities and the arms c' are those of the centre of mass."""

    theta: Any  #: 2 tan of half the turn
    c1: Any  #: c' at the end
    c: Any  #: its mean
    x0: Any  #: velocity at the start
    x: Any  #: its mean
    w0: Any  #: omega at the start
    w: Any  #: its mean
    inertia: Any  #: about the centre of mass


@jit
def _moved(F: Any, n: Any, v0: int) -> Any:
    """Return the step of the increment d, from the velocities at v0."""
    h, mass, normal = F[ROW_RATE], F[n.par], load3(F, n.par + _N)
    center = times(1.0 / mass, load3(F, n.par + 1))
    R0 = quaternion_matrix(load4(F, n.q0 + 3))
    W = vec_mat(normal, R0)
    c0 = cross(normal, mat_vec(R0, center))
    c1 = cross(normal, mat_vec(quaternion_matrix(load4(F, n.q + 3)), center))
    c = times(0.5, plus(c0, c1))
    theta = 2.0 * math.tan(0.5 * F[n.d + 2])
    start, spin = _in_plane(F, n, v0)
    way = plus(_in_plane(F, n, n.d)[0], times(theta, c))
    w0 = dot(normal, spin)
    inertia = dot(W, mat_vec(load9(F, n.par + 4), W)) - mass * dot(c0, c0)
    x = (way[0] / h, way[1] / h, way[2] / h)
    return PlanarStep(theta, c1, c, plus(start, times(w0, c0)), x, w0, theta / h, inertia)


@jit
def step_residual(F: Any, n: Any, v0: int, s: float) -> None:
    """Write the equations of the step times s."""
    at, h, mass = _moved(F, n, v0), F[ROW_RATE], F[n.par]
    u = minus(times(2.0 / h, minus(at.x, at.x0)), load3(F, GX))
    force = plus(times(mass, u), load3(F, n.f))
    moment = at.inertia * (2.0 / h) * (at.w - at.w0) + mass * dot(at.c, u)
    _write_equations(F, n, s, force, moment)


@jit
def step_tangent(F: Any, n: Any, v0: int) -> None:
    """Add the derivative of the scaled equations by the increment."""
    at, h, s, mass = _moved(F, n, v0), F[ROW_RATE], F[SCALE_R], F[n.par]
    e1, e2, normal = _axes(F, n)
    by_way = s * 2 * mass / (h * h)
    u = minus(times(2.0 / h, minus(at.x, at.x0)), load3(F, GX))
    turned = mass * dot(cross(normal, at.c1), u)
    for k in range(3, 12, 3):
        d = plus(load3(F, n.y + k), times(0.5 * h, load3(F, n.yd + k)))  # at the end
        turned += dot(cross(normal, cross(normal, d)), load3(F, n.f + k))
    F[n.S] += by_way
    F[n.S + n.ld + 1] += by_way
    F[n.S + 2] += by_way * dot(e1, at.c1)
    F[n.S + n.ld + 2] += by_way * dot(e2, at.c1)
    F[n.S + 2 * n.ld] += by_way * dot(e1, at.c)
    F[n.S + 2 * n.ld + 1] += by_way * dot(e2, at.c)
    spin = s * 2 * at.inertia / (h * h) * (1.0 + 0.25 * at.theta * at.theta)
    F[n.S + 2 * n.ld + 2] += spin + by_way * dot(at.c, at.c1) + 0.5 * s * turned


@jit
def step_maps(F: Any, n: Any, v0: int, to: Any) -> None:
    """Write how mean faces are displaced, and how faces at the end move with the increment."""
    first, normal = _offset(F, n, to.w), load3(F, n.par + _N)
    half = times(math.tan(0.5 * F[n.d + 2]), cross(normal, first))
    _store(F, n, to.P, F[to.w], first)
    _store(F, n, to.PT, F[to.w], plus(first, half))
    if to.rate:
        _store(F, n, to.DP, 0.0, (0.0, 0.0, 0.0))


@jit
def ending(F: Any, n: Any, v0: int) -> None:
    """Write the velocities at the end."""
    at = _moved(F, n, v0)
    e1, e2, _ = _axes(F, n)
    w1 = 2 * at.w - at.w0
    velocity = minus(minus(times(2.0, at.x), at.x0), times(w1, at.c1))
    F[n.v] = dot(e1, velocity)
    F[n.v + 1] = dot(e2, velocity)
    F[n.v + 2] = w1


@cache
def _formulation(axis: int) -> Formulation:
    """Return the formulation of a plane; all have the functions of the first."""
    i, j = (k for k in range(3) if k != axis)
    columns = np.eye(3)[[i, j, axis]].ravel()

    def constants(mass: Any, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return those of ``so3``, e_1, e_2 and the normal."""
        spatial = of_spatial(mass, center, second)
        return np.concatenate([spatial, np.broadcast_to(columns, (*spatial.shape[:-1], 9))], -1)

    def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
        """Return q = (x, p) and v."""
        for what, vector, out in (
            ("velocity", plain(velocity), [axis]), ("angular_velocity", plain(omega), [i, j]),
        ):  # fmt: skip
            aside = np.abs(vector[..., out]).max(-1)
            if np.any(aside > ROWS_MET * np.linalg.norm(vector, axis=-1)):
                where = "along" if what == "velocity" else "normal to"
                raise ValueError(
                    f"{what} of a body in the plane with the normal {AXES[axis]} must keep it "
                    f"there, got {aside.max():.6g} {where} {AXES[axis]}; take that part away, or "
                    "another formulation"
                )
        q = np.concatenate([position, quaternion_from_matrix(rotation)], -1)
        v = [velocity[..., [i]], velocity[..., [j]], omega[..., [axis]]]
        return q, np.concatenate(v, -1)

    facts: dict[str, Any] = {
        "name": f"in plane ({AXES[axis]})", "constants": constants, "initial": initial,
        "velocities": (AXES[i], AXES[j], f"theta_{AXES[axis]}"), "normal": axis,
    }  # fmt: skip
    if axis:
        first = _formulation(0)
        return replace(first, like=first, **facts)
    return Formulation(
        velocity_kinds=(TRANSLATION,) * 2 + (ROTATION,), own_rows=(), own_kinds=(), n_q=7,
        quaternion=3, axes=True, stacks=True, retract=retract, face=face,
        face_velocity=face_velocity, face_acceleration=face_acceleration, residual=residual,
        tangent=tangent, maps=maps, own_rates=no_rates, flow=flow, carry=carry,
        second_maps=second_maps,
        conserving=Conserving(step_residual, step_tangent, step_maps, ending), **facts,
    )  # fmt: skip


@remembered
def InPlane(normal: Literal["x", "y", "z"]) -> Formulation:
    r"""Return the formulation of a rigid body that moves in a plane: three velocities.

    Joints between such bodies, and with the ground, have the rows of the plane only: a hinge two,
    none of them redundant. Joints with other bodies have all of theirs.

    Parameters
    ----------
    normal : {"x", "y", "z"}
        Of the plane, an inertial axis. Velocities are those along the other two, in their order,
        and the angular velocity about it.

    Examples
    --------
    >>> import mbd
    >>> rod = mbd.RigidBody("rod", mass=1.0, inertia=(1, 1, 1), formulation=mbd.InPlane("y"))
    >>> rod.formulation.velocities
    ('x', 'z', 'theta_y')
    """
    return _formulation(AXES.index(one_of("InPlane", "normal", normal, tuple(AXES))))
