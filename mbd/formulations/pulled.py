r"""``pulled``: a complete formulation from its face, everything else by pull-back.

For coordinates in a vector space, :math:`v = \dot q`, with a face at most quadratic in q and own
rows at most quadratic in the face,

.. math:: y(q) = c + Lq + \tfrac12 H[q, q], \qquad \Phi(y) = c' + L'y + \tfrac12 H'[y, y],

the face and the rows say all (H and H' are constant, there are no third derivatives):

.. math::
   Y(q) &= L + H[q, \cdot\,], \qquad \dot Y v = H[v, v], \qquad C(f)_{jk} = f\cdot H[e_j, e_k] \\
   \varphi &= (W\otimes I_3)(Y\dot v + \dot Y v - \ddot y_g) + f_y + \Phi_y^T\lambda, \qquad
   r = Y^T\varphi \\
   M &= Y^T(W\otimes I_3)Y, \qquad G = 2\,Y^T(W\otimes I_3)H[v, \cdot\,] \\
   K &= C(\varphi) + Y^T\big((W\otimes I_3)H[\dot v, \cdot\,] + \Lambda Y\big), \qquad
   \Lambda = \textstyle\sum_m\lambda_m H'_m, \qquad B = \Phi_y Y

with gravity :math:`\ddot y_g = (g, 0, 0, 0)`. The constants c, L, H are read off the user's
functions once, by evaluating them at unit vectors, and compiled in as lists of their nonzeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mbd.formulations.directors import constants as of_rigid_body
from mbd.formulations.formulation import Formulation
from mbd.formulations.polynomials import Polynomial, entries, polynomial
from mbd.machine.buffer import GX, MAP_ROW, OWN, W_G, W_K, W_M
from mbd.machine.jit import jit


def _residual(face: Polynomial, rows: Polynomial, n_q: int, k: int) -> Any:
    slope, bend, back = face.slope, face.bend, face.back
    row_value, row_back = rows.value, rows.back

    @jit
    def force(F: Any, n: Any) -> None:
        """Write phi, all that acts on the faces, after the constants."""
        phi, ydd = n.par + 16 * k * k, n.par + 16 * k * k + 12 * k
        slope(F, n.q, n.a, ydd)
        bend(F, n.v, n.v, ydd)
        for j in range(0, 12 * k, 12):
            for c in range(3):
                F[ydd + j + c] -= F[GX + c]
        for l in range(4 * k):
            for c in range(3):
                i = 3 * l + c
                F[phi + i] = F[n.f + i]
                for j in range(4 * k):
                    F[phi + i] += F[n.par + 4 * k * l + j] * F[ydd + 3 * j + c]
        row_back(F, n.y, n.a + n_q, phi)

    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        """Write s Y^T phi and the own rows."""
        force(F, n)
        for j in range(n_q):
            F[n.x + j] = 0.0
        back(F, n.q, n.par + 16 * k * k, n.x)
        for j in range(n_q):
            F[n.x + j] *= s
        row_value(F, n.y, n.x + n_q)

    return residual, force


def _tangent(face: Polynomial, rows: Polynomial, force: Any, n_q: int, n_own: int, k: int) -> Any:
    matrix, add_bend, add_curvature = face.matrix, face.add_bend, face.add_curvature
    row_matrix, row_curvature = rows.matrix, rows.add_curvature

    @jit
    def tangent(F: Any, n: Any) -> None:
        """Add Y^T (W (w_M Y + 2 w_G H[v, .] + w_K H[v', .]) + w_K Lambda Y) + w_K C, rows."""
        wM, wG, wK = F[W_M], F[W_G], F[W_K]
        size = 12 * k
        Y = n.par + 16 * k * k + 2 * size
        U, X, Z = Y + size * n_q, Y + 2 * size * n_q, Y + 3 * size * n_q
        force(F, n)
        matrix(F, n.q, Y)
        for t in range(size * n_q):
            F[U + t] = wM * F[Y + t]
        add_bend(F, 2 * wG, n.v, U)
        add_bend(F, wK, n.a, U)
        for t in range(size * size):
            F[Z + t] = 0.0
        row_curvature(F, wK, n.a + n_q, Z, size)
        for i in range(size):
            for j in range(n_q):
                value = 0.0
                for l in range(4 * k):
                    value += F[n.par + 4 * k * (i // 3) + l] * F[U + n_q * (3 * l + i % 3) + j]
                for l in range(size):
                    value += F[Z + size * i + l] * F[Y + n_q * l + j]
                F[X + n_q * i + j] = value
        for i in range(size):
            for j in range(n_q):
                value = F[Y + n_q * i + j]
                if value != 0.0:
                    for l in range(n_q):
                        F[n.S + n.ld * j + l] += value * F[X + n_q * i + l]
        add_curvature(F, wK, n.par + 16 * k * k, n.S, n.ld)
        row_matrix(F, n.y, Z)
        for i in range(n_own):
            for j in range(n_q):
                value = 0.0
                for l in range(size):
                    value += F[Z + size * i + l] * F[Y + n_q * l + j]
                F[n.S + n.ld * (n_q + i) + j] += value
                F[n.S + n.ld * j + n_q + i] += value

    return tangent


def _maps(face: Polynomial, n_q: int) -> tuple[Any, Any]:
    (li, lj, lc), (hi, hj, hk, hc), stamp = entries(face.c, face.L, face.H)
    n_l, n_h = len(lc) - 1, len(hc) - 1

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        """Write Y^T w, the same for test and trial, and H[v, .]^T w."""
        _ = stamp
        for j in range(3 * MAP_ROW):
            F[to.P + j] = 0.0
            if to.rate:
                F[to.DP + j] = 0.0
        for t in range(n_l):
            F[to.P + MAP_ROW * (li[t] % 3) + lj[t]] += lc[t] * F[to.w + li[t] // 3]
        for t in range(n_h):
            at, value = MAP_ROW * (hi[t] % 3) + hj[t], hc[t] * F[to.w + hi[t] // 3]
            F[to.P + at] += value * F[n.q + hk[t]]
            if to.rate:
                F[to.DP + at] += value * F[n.v + hk[t]]
        for j in range(3 * MAP_ROW):
            F[to.PT + j] = F[to.P + j]

    @jit
    def second_maps(F: Any, n: Any, to: Any) -> None:
        """Write 2 H[v, .]^T w and H[v', .]^T w."""
        _ = stamp
        for j in range(3 * MAP_ROW):
            F[to.AV + j] = 0.0
            F[to.AQ + j] = 0.0
        for t in range(n_h):
            at, value = MAP_ROW * (hi[t] % 3) + hj[t], hc[t] * F[to.w + hi[t] // 3]
            F[to.AV + at] += 2 * value * F[n.v + hk[t]]
            F[to.AQ + at] += value * F[n.a + hk[t]]

    return maps, second_maps


def checked_mass(name: str, W: np.ndarray, size: int) -> np.ndarray:
    """Refuse what is no mass matrix of faces."""
    W = np.asarray(W, float)
    if W.shape != (size, size) or not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
        raise ValueError(
            f"pulled: the mass matrix of {name} must be symmetric, ({size}, {size}), got {W.shape}"
        )
    return W


def pulled(
    name: str,
    velocities: Mapping[str, int],
    face: Callable[[np.ndarray], Any],
    coordinates: Callable[[np.ndarray, np.ndarray], Any],
    own_rows: Sequence[str],
    rows: Callable[[np.ndarray], Any],
    *,
    n_faces: int = 1,
    mass_matrix: Callable[[float, np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Formulation:
    r"""Return the formulation of a body with given faces, all its functions by pull-back.

    Parameters
    ----------
    name : str
        Of the formulation.
    velocities : mapping of str to int
        Names of the n coordinates and their kinds, ``TRANSLATION`` [m] or ``DIRECTOR`` [-] of
        ``mbd.machine.buffer``.
    face : callable
        ``q (n,) -> y``, 12 numbers or (4, 3): origin and three directors, at most quadratic in q.
        Of k faces 12 k numbers or (k, 4, 3), the first of them at the pose of the body.
    coordinates : callable
        ``(position (3,), rotation (3, 3)) -> q (n,)``, of which the first face is the origin at
        the position and the columns of the rotation.
    own_rows : sequence of str
        Names of the n - 6 own constraint rows; fewer of a body of several faces that
        is not rigid.
    rows : callable
        ``y (12 k,) -> (n_own,)``, at most quadratic in the faces, zero for every rigid pose;
        without units, best of slope near one.
    n_faces : int
        Number k of faces.
    mass_matrix : callable, optional
        ``(mass, center_of_mass, second_moments) -> W (4 k, 4 k)``, the matrix of the kinetic energy
        :math:`\tfrac12\dot y^T(W\otimes I_3)\dot y`; default the rigid body on the first face.

    Returns
    -------
    Formulation
        For ``RigidBody(formulation=...)``; it is compiled once for each machine, in some seconds.

    Examples
    --------
    The face as coordinates, as in ``directors``:

    >>> import mbd, numpy as np
    >>> from mbd.machine.buffer import DIRECTOR, TRANSLATION
    >>> from mbd.formulations.pulled import pulled
    >>> def gram(y):
    ...     d = y.reshape(4, 3)[1:]
    ...     return 0.5 * (d @ d.T - np.eye(3))[np.triu_indices(3)]
    >>> mine = pulled(
    ...     "mine",
    ...     {f"y{i}": TRANSLATION if i < 3 else DIRECTOR for i in range(12)},
    ...     lambda q: q,
    ...     lambda x, R: np.concatenate([x, R.T.ravel()]),
    ...     ["11", "12", "13", "22", "23", "33"],
    ...     gram,
    ... )
    >>> mine.linear, mine.n_v, mine.n_own
    (True, 12, 6)
    """
    n_q, n_own = len(velocities), len(own_rows)
    if n_q < 7 or n_own > n_q - 6 or (n_faces == 1 and n_own < n_q - 6):
        raise ValueError(
            f"pulled: {name} must have n > 6 coordinates and n - 6 own rows, fewer if it shows "
            f"several faces and is not rigid, got {n_q} and {n_own}"
        )
    shown = polynomial(f"pulled: face of {name}", face, n_q)
    size = 12 * n_faces
    held = polynomial(f"pulled: rows of {name}", rows, size)
    if len(shown.c) != size or len(held.c) != n_own:
        raise ValueError(
            f"pulled: {name} must return {size} numbers of the face and {n_own} of rows, got "
            f"{len(shown.c)} and {len(held.c)}"
        )

    def matrix(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return W."""
        if mass_matrix is not None:
            return checked_mass(name, mass_matrix(mass, center, second), 4 * n_faces)
        W = np.zeros((4 * n_faces, 4 * n_faces))
        W[:4, :4] = of_rigid_body(mass, center, second).reshape(4, 4)
        return W

    def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return W, room for phi and a face acceleration, three (12 k, n), one (12 k, 12 k)."""
        W = matrix(mass, center, second).ravel()
        return np.concatenate([W, np.zeros(2 * size + 3 * size * n_q + size**2)])

    def faces(q: np.ndarray) -> np.ndarray:
        """Return the faces (k, 4, 3)."""
        return np.reshape(np.asarray(face(q), float), (n_faces, 4, 3))

    def initial(
        position: np.ndarray, rotation: np.ndarray, velocity: np.ndarray, omega: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and the v with Y v = y' that keeps the own rows."""
        q = np.asarray(coordinates(position, rotation), float)
        y = np.concatenate([position, rotation.T.ravel()])
        if q.shape != (n_q,) or not np.allclose(np.ravel(face(q))[:12], y, atol=1e-9):
            raise ValueError(
                f"pulled: coordinates of {name} must return {n_q} numbers whose face is the given "
                f"pose, got {q.tolist()} for {y.tolist()}"
            )
        y = np.ravel(face(q))
        Y, gradient = shown.L + shown.H @ q, held.L + held.H @ y
        ranks = np.linalg.matrix_rank(Y), np.linalg.matrix_rank(gradient @ Y)
        if ranks != (n_q, n_own) or not np.allclose(rows(y), 0.0, atol=1e-9):
            raise ValueError(
                f"pulled: {name} needs a face map of rank {n_q} and rows of rank {n_own} that are "
                f"zero in every rigid pose, got ranks {ranks[0]} and {ranks[1]}, rows {rows(y)}"
            )
        rate = np.concatenate([velocity, np.cross(omega, rotation.T).ravel()])
        return q, np.linalg.lstsq(Y[:12], rate, rcond=None)[0]

    initial(np.array([0.3, -0.2, 0.5]), _TURN, np.zeros(3), np.zeros(3))
    value, slope, bend = shown.value, shown.slope, shown.bend
    row_slope, row_bend = held.slope, held.bend

    @jit
    def retract(F: Any, n: Any) -> None:
        """Write q0 + d."""
        for i in range(n_q):
            F[n.q + i] = F[n.q0 + i] + F[n.d + i]

    @jit
    def shown_faces(F: Any, n: Any) -> None:
        """Write the faces."""
        value(F, n.q, n.y)

    @jit
    def face_velocity(F: Any, n: Any) -> None:
        """Write Y v."""
        slope(F, n.q, n.v, n.yd)

    @jit
    def face_acceleration(F: Any, n: Any) -> None:
        """Write Y v' + H[v, v]."""
        slope(F, n.q, n.a, n.ydd)
        bend(F, n.v, n.v, n.ydd)

    @jit
    def flow(F: Any, n: Any, k: int) -> None:
        """Write the rates."""
        for i in range(n_q):
            F[k + i] = F[n.v + i]

    @jit
    def own_rates(F: Any, n: Any) -> None:
        """Write both derivatives of the rows from those of the face."""
        row_slope(F, n.y, n.yd, n.rate)
        row_slope(F, n.y, n.ydd, n.second)
        row_bend(F, n.yd, n.yd, n.second)

    residual, force = _residual(shown, held, n_q, n_faces)
    maps, second_maps = _maps(shown, n_q)
    return Formulation(
        name=name,
        velocities=tuple(velocities),
        velocity_kinds=tuple(velocities.values()),
        own_rows=tuple(own_rows),
        own_kinds=(OWN,) * n_own,
        n_q=n_q,
        axes=True,
        constants=constants,
        initial=initial,
        retract=retract,
        face=shown_faces,
        face_velocity=face_velocity,
        face_acceleration=face_acceleration,
        residual=residual,
        tangent=_tangent(shown, held, force, n_q, n_own, n_faces),
        maps=maps,
        own_rates=own_rates,
        flow=flow,
        second_maps=second_maps,
        linear=not np.any(shown.H),
        n_faces=n_faces,
        faces=faces,
        mass_matrix=matrix,
    )


_TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
