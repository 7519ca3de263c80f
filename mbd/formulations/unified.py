r"""``unified``: six translational velocities of points of the body, and no others.

:math:`w_i = b_i\cdot\bar v(y_i)`, the velocity of the body point :math:`y_i` along the direction
:math:`b_i`, both in body axes. With :math:`V = (U, \Omega)` of ``se3``

.. math::
   w = DV, \qquad D_i = [\,b_i^T,\; (y_i\times b_i)^T\,], \qquad
   \bar M = D^{-T}MD^{-1}, \qquad \bar N(y) = [\,I,\; \tilde y^T\,]\,D^{-1}, \qquad
   \bar\Gamma w = D^{-T}\Psi MD^{-1}w

and the position :math:`q = (x, p)` moves by :math:`H\psi(D^{-1}\Delta)`: all functions are those of
``se3`` between :math:`D^{-T}` and :math:`D^{-1}`.

References
----------
[Holzinger 2020, (23)-(107)]: see the page *From paper to code* of the documentation.
"""

import math
from functools import cache
from typing import Any, Literal

import numpy as np

from mbd.algebra.local_maps import EXPONENTIAL, LocalMap, local_map_of
from mbd.algebra.vec import clear, load3, store3, times
from mbd.base.checked import numbers, one_of
from mbd.base.dual import value_of
from mbd.base.recorded_call import remembered
from mbd.formulations import se3
from mbd.formulations.formulation import Formulation, no_rates
from mbd.formulations.so3 import constants as rigid_constants
from mbd.formulations.so3 import face
from mbd.formulations.velocity_sets import hexahedral, inverse, projection, six, tetrahedral
from mbd.machine.buffer import MAP_ROW, TRANSLATION
from mbd.machine.jit import jit

_CONSTANTS = 13  # numbers of se3; after them D^-1 and 36 numbers to work in


# --- six numbers through a 6x6 matrix row by row --------------------------------------------------
@jit
def _row(E: Any, i: int, v: Any) -> Any:
    return (
        E[i] * v[0] + E[i + 1] * v[1] + E[i + 2] * v[2]
        + E[i + 3] * v[3] + E[i + 4] * v[4] + E[i + 5] * v[5]
    )  # fmt: skip


@jit
def _column(E: Any, i: int, a: Any, b: Any) -> Any:
    return (
        E[i] * a[0] + E[i + 6] * a[1] + E[i + 12] * a[2]
        + E[i + 18] * b[0] + E[i + 24] * b[1] + E[i + 30] * b[2]
    )  # fmt: skip


@jit
def _through(E: Any, F: Any, v: int) -> Any:
    """Return both halves of E F[v:v+6]."""
    a = (F[v], F[v + 1], F[v + 2], F[v + 3], F[v + 4], F[v + 5])
    upper = (_row(E, 0, a), _row(E, 6, a), _row(E, 12, a))
    return upper, (_row(E, 18, a), _row(E, 24, a), _row(E, 30, a))


@jit
def _write(D: Any, F: Any, x: int, a: Any, b: Any) -> None:
    """Write D (a, b) to F[x:x+6]."""
    v = (a[0], a[1], a[2], b[0], b[1], b[2])
    for i in range(6):
        F[x + i] = _row(D, 6 * i, v)


@jit
def _back(E: Any, F: Any, x: int, s: float, a: Any, b: Any) -> None:
    """Write s E^T (a, b) to F[x:x+6]."""
    for i in range(6):
        F[x + i] = s * _column(E, i, a, b)


@jit
def _map_back(E: Any, F: Any, P: int) -> None:
    """Write P E in place of the map P."""
    for row in range(P, P + 3 * MAP_ROW, MAP_ROW):
        _back(E, F, row, 1.0, load3(F, row), load3(F, row + 3))


@jit
def _add_between(F: Any, E: int, A: int, S: int, ld: int) -> None:
    """Add E^T A E to the 6x6 block at F[S]; A, at F[A], becomes A E."""
    for i in range(A, A + 36, 6):
        r = (F[i], F[i + 1], F[i + 2], F[i + 3], F[i + 4], F[i + 5])
        for j in range(6):
            F[i + j] = (
                r[0] * F[E + j] + r[1] * F[E + j + 6] + r[2] * F[E + j + 12]
                + r[3] * F[E + j + 18] + r[4] * F[E + j + 24] + r[5] * F[E + j + 30]
            )  # fmt: skip
    for i in range(6):
        for j in range(6):
            F[S + i * ld + j] += (
                F[E + i] * F[A + j] + F[E + i + 6] * F[A + j + 6]
                + F[E + i + 12] * F[A + j + 12] + F[E + i + 18] * F[A + j + 18]
                + F[E + i + 24] * F[A + j + 24] + F[E + i + 30] * F[A + j + 30]
            )  # fmt: skip


@cache
def _formulation(
    numbers: tuple[float, ...], name: str, sized: bool, local_map: LocalMap
) -> Formulation:
    r"""Return the formulation of a set, points before directions; its D^-1 is compiled in.

    A set that is sized has for each body a length l of its own, :math:`D = D_1\,diag(I, l I)`,
    which is kept after the pose, q = (x, p, l).
    """
    steps = se3.increments(local_map)
    move, tangent_of, blocks = steps.move, steps.tangent, steps.blocks
    rates, motion_of = steps.rates, steps.motion
    set_ = np.reshape(numbers, (2, 6, 3))
    D, E_matrix = projection(*set_), inverse(*set_)
    E = tuple(float(x) for x in E_matrix.ravel())
    D1 = tuple(float(x) for x in D.ravel())

    def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the numbers of se3, D_1^-1 and room for a 6x6 matrix."""
        return np.concatenate([rigid_constants(mass, center, second), E, np.zeros(36)])

    def initial(
        position: np.ndarray,
        rotation: np.ndarray,
        velocity: np.ndarray,
        omega: np.ndarray,
        radius: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q = (x, p) or (x, p, l), and w = D V."""
        q, V = se3.initial(position, rotation, velocity, omega)
        if sized:
            q = np.append(q, length_of(radius))
            V[3:] *= q[7]
        return q, D @ V

    @jit
    def length(F: Any, q: int) -> float:
        return F[q + 7] if sized else 1.0

    @jit
    def halves(F: Any, q: int, v: int) -> Any:
        """Return D^-1 F[v:v+6]."""
        U, Omega = _through(E, F, v)
        return U, times(1.0 / length(F, q), Omega)

    @jit
    def write(F: Any, q: int, x: int, U: Any, Omega: Any) -> None:
        """Write D (U, Omega)."""
        _write(D1, F, x, U, times(length(F, q), Omega))

    @jit
    def map_back(F: Any, q: int, P: int) -> None:
        """Write P D^-1 in place of the map P."""
        for row in range(P, P + 3 * MAP_ROW, MAP_ROW):
            store3(F, row + 3, times(1.0 / length(F, q), load3(F, row + 3)))
        _map_back(E, F, P)

    @jit
    def retract(F: Any, n: Any) -> None:
        u, theta = halves(F, n.q0, n.d)
        move(F, n.q0, u, theta, n.q)
        if sized:
            F[n.q + 7] = F[n.q0 + 7]

    @jit
    def face_velocity(F: Any, n: Any) -> None:
        U, Omega = halves(F, n.q, n.v)
        se3.write_velocity(F, n, U, Omega)

    @jit
    def face_acceleration(F: Any, n: Any) -> None:
        U, Omega = halves(F, n.q, n.v)
        dU, dOmega = halves(F, n.q, n.a)
        se3.write_acceleration(F, n, U, Omega, dU, dOmega)

    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        U, Omega = halves(F, n.q, n.v)
        dU, dOmega = halves(F, n.q, n.a)
        force, moment = se3.body_forces(F, n, U, Omega, dU, dOmega)
        _back(E, F, n.x, s, force, times(1.0 / length(F, n.q), moment))

    @jit
    def tangent(F: Any, n: Any) -> None:
        U, Omega = halves(F, n.q, n.v)
        _, theta = halves(F, n.q, n.d)
        work = n.par + _CONSTANTS + 36
        clear(F, work, 36)
        se3.add_blocks(F, n, U, Omega, tangent_of(theta), work, 6)
        if sized:
            s = 1.0 / F[n.q + 7]
            for i in range(3):
                for j in range(3, 6):
                    F[work + 6 * i + j] *= s
                    F[work + 6 * j + i] *= s
                    F[work + 6 * (i + 3) + j] *= s * s
        _add_between(F, n.par + _CONSTANTS, work, n.S, n.ld)

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        U, Omega = halves(F, n.q, n.v)
        u, theta = halves(F, n.q, n.d)
        se3.write_maps(F, n, to, U, Omega, u, theta, blocks)
        map_back(F, n.q, to.P)
        map_back(F, n.q, to.PT)
        if to.rate:
            map_back(F, n.q, to.DP)

    @jit
    def second_maps(F: Any, n: Any, to: Any) -> None:
        U, Omega = halves(F, n.q, n.v)
        dU, dOmega = halves(F, n.q, n.a)
        _, theta = halves(F, n.q, n.d)
        se3.write_second_maps(F, n, to, U, Omega, dU, dOmega, tangent_of(theta))
        map_back(F, n.q, to.AV)
        map_back(F, n.q, to.AQ)

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        u, theta = halves(F, n.q0, n.d)
        U, Omega = halves(F, n.q0, n.v)
        u, theta = rates(u, theta, U, Omega)
        write(F, n.q0, k, u, theta)

    @jit
    def carry(F: Any, n: Any, motion: int, twist: int) -> None:
        u, theta, U, Omega = motion_of(F, n.q0, motion, twist)
        write(F, n.q0, n.d, u, theta)
        write(F, n.q0, n.v, U, Omega)

    return Formulation(
        name=name, velocities=tuple(f"w_{i}" for i in range(1, 7)),
        velocity_kinds=(TRANSLATION,) * 6, own_rows=(), own_kinds=(), n_q=8 if sized else 7,
        quaternion=3, axes=True, constants=constants, initial=initial, retract=retract, face=face,
        face_velocity=face_velocity, face_acceleration=face_acceleration, residual=residual,
        tangent=tangent, maps=maps, own_rates=no_rates, flow=flow, carry=carry,
        second_maps=second_maps, sized=sized, canonical=local_map is EXPONENTIAL,
    )  # fmt: skip


@remembered
def Unified(
    kind: Literal["hexahedral", "tetrahedral"] | None = None, *, points: Any = None,
    directions: Any = None, alpha: float | None = None, length: Any = None,
    local_map: LocalMap | Literal["exponential", "cayley"] = "exponential",
) -> Formulation:  # fmt: skip
    r"""Return a formulation with six velocities :math:`w_i = b_i\cdot\bar v(y_i)` [m/s].

    Parameters
    ----------
    kind : {"hexahedral", "tetrahedral"}, optional
        A set of [Holzinger 2020]; default "hexahedral" if points and directions are not given.
    points, directions : (6, 3) arrays [m], [-]
        A set of your own, body axes; directions need not have unit length.
    alpha : float [-]
        Length of the directions of a set of [Holzinger 2020], by default 1/sqrt(2).
    length : float or, hexahedral, 3 floats [m]
        Size of such a set. By default each body has its own: the power of 64 m that is
        next to its radius of gyration about its origin, which is 1 m from 1/8 m to 8 m.
    local_map : {"exponential", "cayley"} or LocalMap
        Of increments of motion, see `mbd.SE3`.

    Returns
    -------
    Formulation
        For ``RigidBody(formulation=...)``; the same one for the same numbers. Its name says the
        options, ``unified (tetrahedral, length 0.3)``, or that the set is your own. A set is
        compiled once for each machine, which takes some seconds.

    Notes
    -----
    The larger the length l over the radius of gyration k, the closer the six velocities come to
    dependence: the mass matrix of the hexahedral set has the condition number (l/k)^2, and the
    self-stress of redundant joints is found to that many digits less. A length near the size of
    the body is best. One that is not given stands after the pose in the stored coordinates.

    Examples
    --------
    >>> import mbd
    >>> bar = mbd.RigidBody(
    ...     "bar", mass=2.0, inertia=(0.01, 0.17, 0.17), formulation=mbd.Unified("tetrahedral")
    ... )
    >>> bar.formulation.velocities
    ('w_1', 'w_2', 'w_3', 'w_4', 'w_5', 'w_6')
    """
    if (points is None) != (directions is None):
        raise ValueError("Unified: give points and directions together, 6x3 numbers each")
    if points is None:
        kind = "hexahedral" if kind is None else kind
        sets = {"hexahedral": hexahedral, "tetrahedral": tetrahedral}
        one_of("Unified", "kind", kind, sets)
        a = _size("alpha", 1 / math.sqrt(2) if alpha is None else alpha, "-", (1,))
        shapes = (1, 3) if kind == "hexahedral" else (1,)
        what = f"length of the {kind} set"
        sizes = _size(what, 1.0 if length is None else length, "m", shapes)
        y, b = sets[kind](float(a[0]), sizes if len(sizes) == 3 else float(sizes[0]))
        name = _called(kind, float(a[0]), None if length is None else sizes.tolist())
    else:
        if kind is not None:
            raise ValueError(
                "Unified: give a kind, or points and directions of your own; got kind "
                f"{kind!r} and points, leave out one of them"
            )
        if alpha is not None or length is not None:
            raise ValueError(
                "Unified: alpha and length belong to the named sets; scale your own points "
                "and directions instead"
            )
        y, b = six("points", points, "m"), six("directions", directions, "-")
        name = "unified (own set)"
    inverse(y, b)
    sized = points is None and length is None
    used = local_map_of("Unified", local_map, motions=True)
    if used is not EXPONENTIAL:
        name = f"{name[:-1]}, {used.name})" if name.endswith(")") else f"{name} ({used.name})"
    return _formulation((*y.ravel().tolist(), *b.ravel().tolist()), name, sized, used)


def length_of(radius: float) -> float:
    """Return the length of a set for a body of a radius of gyration [m]: the next power of 64."""
    radius = value_of(radius)
    return float(64.0 ** round(math.log(radius, 64.0))) if radius > 0.0 else 1.0


def _called(kind: str, alpha: float, sizes: list[float] | None) -> str:
    """Return the name of a published set: its options where they are not the default ones."""
    words = [kind] if kind != "hexahedral" else []
    if alpha != 1 / math.sqrt(2):
        words.append(f"alpha {alpha:.12g}")
    if sizes is not None:
        some = sizes if len(set(sizes)) > 1 else sizes[:1]
        words.append("length " + " x ".join(f"{x:.12g}" for x in some))
    return "unified" + (f" ({', '.join(words)})" if words else "")


def _size(what: str, value: Any, unit: str, shapes: tuple[int, ...]) -> np.ndarray:
    """Return one or three positive numbers."""
    x = np.atleast_1d(numbers("Unified", what, value, ((), *((n,) for n in shapes)), unit))
    if not np.all(x > 0):
        raise ValueError(f"Unified: {what} must be positive [{unit}], got {x.tolist()}")
    return x


UNIFIED = Unified()
