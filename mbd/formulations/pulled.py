r"""``pulled``: a complete formulation from its face, everything else by pull-back.

For coordinates in a vector space, :math:`v = \dot q`, the faces y(q) and own rows :math:`\Phi(y)`
say all:

.. math::
   Y(q) &= \frac{\partial y}{\partial q}, \qquad \dot y = Yv, \qquad
   \ddot y = Y\dot v + \dot Y v, \qquad
   C(\varphi) = \sum_i\varphi_i\frac{\partial^2 y_i}{\partial q^2} \\
   \varphi &= (W\otimes I_3)(\ddot y - \ddot y_g) + f_y + \Phi_y^T\lambda, \qquad
   r = Y^T\varphi \\
   M &= Y^T(W\otimes I_3)Y, \qquad G = 2\,Y^T(W\otimes I_3)\dot Y \\
   K &= C(\varphi) + Y^T\Big((W\otimes I_3)\frac{\partial\ddot y}{\partial q} + \Lambda Y\Big),
   \qquad \Lambda = \sum_m\lambda_m\frac{\partial^2\Phi_m}{\partial y^2}, \qquad B = \Phi_y Y

with gravity :math:`\ddot y_g = (g, 0, 0, 0)` of each face. The user's functions are recorded once,
and all of this is written as expressions and compiled (``mbd/algebra/expressions.py``); third
derivatives of the face are in :math:`\partial\ddot y/\partial q`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mbd.algebra import expressions as ex
from mbd.formulations.directors import constants as of_rigid_body
from mbd.formulations.formulation import Array, Formulation, InitialValues, vector_space
from mbd.machine.buffer import GX, MAP_ROW, OWN, POSITION_TURN, W_G, W_K, W_M
from mbd.machine.jit import jit


class _Map:
    """A smooth map z(x) as expressions, with its Jacobian."""

    def __init__(self, who: str, function: Callable[..., Any], n: int) -> None:
        self.x = ex.variables("x", n)
        self.z = ex.record(who, function, self.x)
        self.slope = ex.jacobian(self.z, self.x).reshape(-1, n)

    def rate(self, A: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the change of a matrix of expressions while x changes with u."""
        return np.reshape(ex.along(A.ravel(), self.x, u), A.shape)

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Return the sum of f_i times the second derivatives of z_i, where f is not varied."""
        fixed, n = ex.variables("f", len(f)), len(self.x)
        second = (
            ex.jacobian(ex.gradient(fixed @ self.z, self.x), self.x) if len(f) else np.zeros((n, n))
        )
        return np.reshape(ex.substituted(second.ravel(), fixed, f), (n, n))

    def slope_at(self, x: np.ndarray) -> np.ndarray:
        """Return the Jacobian at numbers; nan where it has none."""
        flat = ex.substituted(self.slope.ravel(), self.x, x.tolist())
        return np.reshape(flat.astype(float), self.slope.shape)


def _are_numbers(values: np.ndarray) -> bool:
    """Tell whether nothing depends on a variable."""
    return not any(isinstance(x, ex.Operation) for x in values.ravel())


def _functions(face: _Map, rows: _Map) -> dict[str, Any]:
    """Return the functions of a node."""
    q, Y, n_q, n_own = face.x, face.slope, len(face.x), len(rows.z)
    size = len(face.z)
    v, a, f, w = (ex.variables(*x) for x in (("v", n_q), ("a", n_q), ("f", size), ("w", size // 3)))
    yd, ydd, lam = (ex.variables(*x) for x in (("yd", size), ("ydd", size), ("lam", n_own)))
    (wM, wG, wK, turn), gravity = ex.variables("w", 4), ex.variables("g", 3)
    W = ex.variables("W", (size // 3) ** 2).reshape(size // 3, -1)
    W = np.triu(W) + np.triu(W, 1).T
    reads = {
        "n.q": q, "n.v": v, "n.a": [*a, *lam], "n.y": rows.x, "n.yd": yd, "n.ydd": ydd, "n.f": f,
        "n.par": W, "to.w": w, W_M: wM, W_G: wG, W_K: wK, POSITION_TURN: turn, GX: gravity,
    }  # fmt: skip

    def inertia(A: np.ndarray) -> np.ndarray:
        """Return (W x I) A."""
        return np.reshape(W @ A.reshape(len(W), -1), A.shape)

    def of_point(A: np.ndarray, to: str) -> dict[str, np.ndarray]:
        """Return where the transposed map w^T A of a weighted point is written."""
        of_w = np.tensordot(w, A.reshape(len(w), 3, -1), 1)
        return {f"{to} + {MAP_ROW * c}": of_w[c] for c in range(3)}

    def compiled(name: str, writes: dict[str, Any], arguments: str = "F, n", add: str = "=") -> Any:
        return ex.program(name, arguments, {str(k): x for k, x in reads.items()}, writes, add)

    Yd = face.rate(Y, v)
    acceleration = Y @ a + Yd @ v
    by_q = face.rate(Y, a) + face.rate(Yd, v)
    falling = np.tile(np.concatenate([gravity, np.zeros(9)]), size // 12)
    phi = inertia(acceleration - falling) + f + rows.slope.T @ lam
    X = inertia(wM * Y + 2 * wG * Yd + wK * by_q) + wK * (rows.curvature(lam) @ Y)
    S, B = Y.T @ X + wK * face.curvature(phi), rows.slope @ Y
    blocks = {f"n.S + n.ld * {i}": [*S[i], *B[:, i]] for i in range(n_q)}
    turned = B + turn * (rows.rate(rows.slope, Y @ v) @ Y + rows.slope @ Yd)
    blocks |= {f"n.S + n.ld * {n_q + i}": turned[i] for i in range(n_own)}
    second_rate = rows.slope @ ydd + rows.rate(rows.slope, yd) @ yd

    equations = compiled("equations", {"n.x": Y.T @ phi, f"n.x + {n_q}": rows.z})
    maps_now = compiled("maps", of_point(Y, "to.P") | of_point(Y, "to.PT"), "F, n, to")
    maps_rate = compiled("maps_rate", of_point(Yd, "to.DP"), "F, n, to")

    @jit
    def residual(F: Any, n: Any, s: float) -> None:
        """Write s Y^T phi and the own rows."""
        equations(F, n)
        for i in range(n_q):
            F[n.x + i] *= s

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        """Write Y^T w, the same for test and trial, and (dY/dt)^T w."""
        maps_now(F, n, to)
        if to.rate:
            maps_rate(F, n, to)

    return {
        "face": compiled("face", {"n.y": face.z}),
        "face_velocity": compiled("face_velocity", {"n.yd": Y @ v}),
        "face_acceleration": compiled("face_acceleration", {"n.ydd": acceleration}),
        "residual": residual,
        "tangent": compiled("tangent", blocks, add="+="),
        "maps": maps,
        "second_maps": compiled(
            "second_maps", of_point(2 * Yd, "to.AV") | of_point(by_q, "to.AQ"), "F, n, to"
        ),
        "own_rates": compiled("own_rates", {"n.rate": rows.slope @ yd, "n.second": second_rate}),
    }


def checked_mass(name: str, W: np.ndarray, size: int) -> np.ndarray:
    """Refuse what is no mass matrix of faces."""
    W = np.asarray(W, float)
    if W.shape != (size, size) or not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
        raise ValueError(
            f"pulled: the mass matrix of {name} must be symmetric, ({size}, {size}), got {W.shape}"
        )
    return W


def pulled(
    name: str, velocities: Mapping[str, int], face: Callable[[np.ndarray], Any],
    coordinates: Callable[[np.ndarray, np.ndarray], Any], own_rows: Sequence[str],
    rows: Callable[[np.ndarray], Any], *, n_faces: int = 1,
    mass_matrix: Callable[[float, np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Formulation:  # fmt: skip
    r"""Return the formulation of a body with given faces, all its functions by pull-back.

    Parameters
    ----------
    name : str
        Of the formulation.
    velocities : mapping of str to int
        Names of the n coordinates and their kinds, ``TRANSLATION`` [m], ``ROTATION`` [rad] or
        ``DIRECTOR`` [-] of ``mbd.machine.buffer``.
    face : callable
        ``q (n,) -> y``, 12 numbers or (4, 3): origin and three directors, smooth in q. Of k faces
        12 k numbers or (k, 4, 3), the first of them at the pose of the body.
    coordinates : callable
        ``(position (3,), rotation (3, 3)) -> q (n,)``, of which the first face is the origin at
        the position and the columns of the rotation.
    own_rows : sequence of str
        Names of the n - 6 own constraint rows, none of six coordinates; fewer of a body of several
        faces that is not rigid.
    rows : callable
        ``y (12 k,) -> (n_own,)``, smooth, zero for every rigid pose; at most quadratic in faces
        that are linear in q. Without units, best of slope near one.
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
    n_q, n_own, size = len(velocities), len(own_rows), 12 * n_faces
    if not 0 <= n_own <= n_q - 6 or (n_faces == 1 and n_own < n_q - 6):
        raise ValueError(
            f"pulled: {name} must have n >= 6 coordinates and n - 6 own rows, fewer if it shows "
            f"several faces and is not rigid, got {n_q} and {n_own}"
        )
    shown = _Map(f"pulled: face of {name}", face, n_q)
    held = _Map(f"pulled: rows of {name}", rows, size)
    if len(shown.z) != size or len(held.z) != n_own:
        raise ValueError(
            f"pulled: {name} must return {size} numbers of the face and {n_own} of rows, got "
            f"{len(shown.z)} and {len(held.z)}"
        )
    linear = _are_numbers(shown.slope)
    if linear and not _are_numbers(ex.jacobian(held.slope.ravel(), held.x)):
        raise ValueError(
            f"pulled: rows of {name} must be at most quadratic in its faces, which are linear in "
            "its coordinates (EnergyMomentum relies on it); write them as products"
        )

    def matrix(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return W."""
        if mass_matrix is not None:
            return checked_mass(name, mass_matrix(mass, center, second), 4 * n_faces)
        W = np.zeros((4 * n_faces, 4 * n_faces))
        W[:4, :4] = of_rigid_body(mass, center, second).reshape(4, 4)
        return W

    def constants(mass: float, center: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return W row by row."""
        return matrix(mass, center, second).ravel()

    def faces(q: np.ndarray) -> np.ndarray:
        """Return the faces (k, 4, 3)."""
        return np.reshape(np.asarray(face(q), float), (n_faces, 4, 3))

    def initial(position: Array, rotation: Array, velocity: Array, omega: Array) -> InitialValues:
        """Return q and the v with Y v = y' that keeps the own rows."""
        q = np.asarray(coordinates(position, rotation), float)
        first = np.concatenate([position, rotation.T.ravel()])
        y = faces(q).ravel() if q.shape == (n_q,) else np.full(size, np.nan)
        if not np.allclose(y[:12], first, atol=1e-9):
            raise ValueError(
                f"pulled: coordinates of {name} must return {n_q} numbers whose face is the given "
                f"pose, got {q.tolist()} for {first.tolist()}"
            )
        Y = shown.slope_at(q)
        gradients = held.slope_at(y) @ Y
        if not np.isfinite(Y).all() or np.linalg.matrix_rank(Y) < n_q:
            here = ", ".join(f"{x} = {value:.6g}" for x, value in zip(velocities, q, strict=True))
            raise ValueError(
                f"pulled: coordinates of {name} must move its faces, each in another way, which "
                f"they do not where {here}; take another pose, or other coordinates"
            )
        rank = np.linalg.matrix_rank(gradients) if np.isfinite(gradients).all() else 0
        if rank != n_own or not np.allclose(rows(y), 0.0, atol=1e-9):
            raise ValueError(
                f"pulled: {name} needs rows of rank {n_own} that are zero in every rigid pose, got "
                f"rank {rank}, rows {rows(y)}"
            )
        rate = np.concatenate([velocity, np.cross(omega, rotation.T).ravel()])
        return q, np.linalg.lstsq(Y[:12], rate, rcond=None)[0]

    initial(np.array([0.3, -0.2, 0.5]), _TURN, np.zeros(3), np.zeros(3))
    retract, flow = vector_space(n_q)
    return Formulation(
        name=name, velocities=tuple(velocities), velocity_kinds=tuple(velocities.values()),
        own_rows=tuple(own_rows), own_kinds=(OWN,) * n_own, n_q=n_q, axes=True, constants=constants,
        initial=initial, retract=retract, flow=flow, linear=linear, n_faces=n_faces, faces=faces,
        mass_matrix=matrix, **_functions(shown, held),
    )  # fmt: skip


_TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
