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


def _residual(face: Polynomial, rows: Polynomial, n: int, k: int) -> Any:
    slope, bend, back = face.slope, face.bend, face.back
    row_value, row_back = rows.value, rows.back

    @jit
    def force(F: Any, par: int, q: int, y: int, v: int, a: int, f: int) -> None:
        """Write phi, all that acts on the faces, after the constants."""
        phi, ydd = par + 16 * k * k, par + 16 * k * k + 12 * k
        slope(F, q, a, ydd)
        bend(F, v, v, ydd)
        for j in range(0, 12 * k, 12):
            for c in range(3):
                F[ydd + j + c] -= F[GX + c]
        for l in range(4 * k):
            for c in range(3):
                i = 3 * l + c
                F[phi + i] = F[f + i]
                for j in range(4 * k):
                    F[phi + i] += F[par + 4 * k * l + j] * F[ydd + 3 * j + c]
        row_back(F, y, a + n, phi)

    @jit
    def residual(
        F: Any, par: int, q: int, y: int, v: int, a: int, f: int, x: int, s: float
    ) -> None:
        """Write s Y^T phi and the own rows."""
        force(F, par, q, y, v, a, f)
        for j in range(n):
            F[x + j] = 0.0
        back(F, q, par + 16 * k * k, x)
        for j in range(n):
            F[x + j] *= s
        row_value(F, y, x + n)

    return residual, force


def _tangent(face: Polynomial, rows: Polynomial, force: Any, n: int, n_own: int, k: int) -> Any:
    matrix, add_bend, add_curvature = face.matrix, face.add_bend, face.add_curvature
    row_matrix, row_curvature = rows.matrix, rows.add_curvature

    @jit
    def tangent(
        F: Any, par: int, q: int, y: int, v: int, a: int, f: int, d: int, S: int, ld: int
    ) -> None:
        """Add Y^T (W (w_M Y + 2 w_G H[v, .] + w_K H[v', .]) + w_K Lambda Y) + w_K C, rows."""
        wM, wG, wK = F[W_M], F[W_G], F[W_K]
        size = 12 * k
        Y = par + 16 * k * k + 2 * size
        U, X, Z = Y + size * n, Y + 2 * size * n, Y + 3 * size * n
        force(F, par, q, y, v, a, f)
        matrix(F, q, Y)
        for t in range(size * n):
            F[U + t] = wM * F[Y + t]
        add_bend(F, 2 * wG, v, U)
        add_bend(F, wK, a, U)
        for t in range(size * size):
            F[Z + t] = 0.0
        row_curvature(F, wK, a + n, Z, size)
        for i in range(size):
            for j in range(n):
                value = 0.0
                for l in range(4 * k):
                    value += F[par + 4 * k * (i // 3) + l] * F[U + n * (3 * l + i % 3) + j]
                for l in range(size):
                    value += F[Z + size * i + l] * F[Y + n * l + j]
                F[X + n * i + j] = value
        for i in range(size):
            for j in range(n):
                value = F[Y + n * i + j]
                if value != 0.0:
                    for l in range(n):
                        F[S + ld * j + l] += value * F[X + n * i + l]
        add_curvature(F, wK, par + 16 * k * k, S, ld)
        row_matrix(F, y, Z)
        for i in range(n_own):
            for j in range(n):
                value = 0.0
                for l in range(size):
                    value += F[Z + size * i + l] * F[Y + n * l + j]
                F[S + ld * (n + i) + j] += value
                F[S + ld * j + n + i] += value

    return tangent


def _maps(face: Polynomial, n: int) -> tuple[Any, Any]:
    (li, lj, lc), (hi, hj, hk, hc), stamp = entries(face.c, face.L, face.H)
    n_l, n_h = len(lc) - 1, len(hc) - 1

    @jit
    def maps(
        F: Any, par: int, q: int, y: int, v: int, d: int, w: int, P: int, PT: int, DP: int,
        PV: int, rate: int,
    ) -> None:  # fmt: skip
        """Write Y^T w, the same for test and trial, and H[v, .]^T w."""
        _ = stamp
        for j in range(3 * MAP_ROW):
            F[P + j] = 0.0
            if rate:
                F[DP + j] = 0.0
        for t in range(n_l):
            F[P + MAP_ROW * (li[t] % 3) + lj[t]] += lc[t] * F[w + li[t] // 3]
        for t in range(n_h):
            to, value = MAP_ROW * (hi[t] % 3) + hj[t], hc[t] * F[w + hi[t] // 3]
            F[P + to] += value * F[q + hk[t]]
            if rate:
                F[DP + to] += value * F[v + hk[t]]
        for j in range(3 * MAP_ROW):
            F[PT + j] = F[P + j]

    @jit
    def second_maps(
        F: Any, par: int, q: int, y: int, v: int, a: int, d: int, w: int, AV: int, AQ: int
    ) -> None:
        """Write 2 H[v, .]^T w and H[v', .]^T w."""
        _ = stamp
        for j in range(3 * MAP_ROW):
            F[AV + j] = 0.0
            F[AQ + j] = 0.0
        for t in range(n_h):
            to, value = MAP_ROW * (hi[t] % 3) + hj[t], hc[t] * F[w + hi[t] // 3]
            F[AV + to] += 2 * value * F[v + hk[t]]
            F[AQ + to] += value * F[a + hk[t]]

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
    n, n_own = len(velocities), len(own_rows)
    if n < 7 or n_own > n - 6 or (n_faces == 1 and n_own < n - 6):
        raise ValueError(
            f"pulled: {name} must have n > 6 coordinates and n - 6 own rows, fewer if it shows "
            f"several faces and is not rigid, got {n} and {n_own}"
        )
    shown = polynomial(f"pulled: face of {name}", face, n)
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
        return np.concatenate([W, np.zeros(2 * size + 3 * size * n + size**2)])

    def faces(q: np.ndarray) -> np.ndarray:
        """Return the faces (k, 4, 3)."""
        return np.reshape(np.asarray(face(q), float), (n_faces, 4, 3))

    def initial(
        position: np.ndarray, rotation: np.ndarray, velocity: np.ndarray, omega: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and the v with Y v = y' that keeps the own rows."""
        q = np.asarray(coordinates(position, rotation), float)
        y = np.concatenate([position, rotation.T.ravel()])
        if q.shape != (n,) or not np.allclose(np.ravel(face(q))[:12], y, atol=1e-9):
            raise ValueError(
                f"pulled: coordinates of {name} must return {n} numbers whose face is the given "
                f"pose, got {q.tolist()} for {y.tolist()}"
            )
        y = np.ravel(face(q))
        Y, gradient = shown.L + shown.H @ q, held.L + held.H @ y
        ranks = np.linalg.matrix_rank(Y), np.linalg.matrix_rank(gradient @ Y)
        if ranks != (n, n_own) or not np.allclose(rows(y), 0.0, atol=1e-9):
            raise ValueError(
                f"pulled: {name} needs a face map of rank {n} and rows of rank {n_own} that are "
                f"zero in every rigid pose, got ranks {ranks[0]} and {ranks[1]}, rows {rows(y)}"
            )
        rate = np.concatenate([velocity, np.cross(omega, rotation.T).ravel()])
        return q, np.linalg.lstsq(Y[:12], rate, rcond=None)[0]

    initial(np.array([0.3, -0.2, 0.5]), _TURN, np.zeros(3), np.zeros(3))
    value, slope, bend = shown.value, shown.slope, shown.bend
    row_slope, row_bend = held.slope, held.bend

    @jit
    def retract(F: Any, q0: int, d: int, q: int) -> None:
        """Write q0 + d."""
        for i in range(n):
            F[q + i] = F[q0 + i] + F[d + i]

    @jit
    def shown_faces(F: Any, par: int, q: int, y: int) -> None:
        """Write the faces."""
        value(F, q, y)

    @jit
    def face_velocity(F: Any, par: int, q: int, y: int, v: int, yd: int) -> None:
        """Write Y v."""
        slope(F, q, v, yd)

    @jit
    def face_acceleration(F: Any, par: int, q: int, y: int, v: int, a: int, ydd: int) -> None:
        """Write Y v' + H[v, v]."""
        slope(F, q, a, ydd)
        bend(F, v, v, ydd)

    @jit
    def flow(F: Any, q: int, d: int, v: int, k: int) -> None:
        """Write the rates."""
        for i in range(n):
            F[k + i] = F[v + i]

    @jit
    def own_rates(F: Any, q: int, y: int, yd: int, ydd: int, rate: int, second: int) -> None:
        """Write both derivatives of the rows from those of the face."""
        row_slope(F, y, yd, rate)
        row_slope(F, y, ydd, second)
        row_bend(F, yd, yd, second)

    residual, force = _residual(shown, held, n, n_faces)
    maps, second_maps = _maps(shown, n)
    return Formulation(
        name=name,
        velocities=tuple(velocities),
        velocity_kinds=tuple(velocities.values()),
        own_rows=tuple(own_rows),
        own_kinds=(OWN,) * n_own,
        n_q=n,
        axes=True,
        constants=constants,
        initial=initial,
        retract=retract,
        face=shown_faces,
        face_velocity=face_velocity,
        face_acceleration=face_acceleration,
        residual=residual,
        tangent=_tangent(shown, held, force, n, n_own, n_faces),
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
