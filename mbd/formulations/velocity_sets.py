r"""Six velocities of body points along six directions: the sets and their matrices.

With points :math:`y_i` and directions :math:`b_i` in body axes and :math:`V = (U, \Omega)`,

.. math:: w = DV, \qquad D_i = [\,b_i^T,\; (y_i\times b_i)^T\,], \qquad
   \bar M = D^{-T}MD^{-1}, \qquad \bar N(y) = [\,I,\; \tilde y^T\,]\,D^{-1}, \qquad
   \bar\Gamma w = D^{-T}\Psi MD^{-1}w .

Source: [Holzinger 2020], see the page *From paper to code* of the documentation.
"""

import math
from typing import Any

import numpy as np

from mbd.algebra.rotations import tilde
from mbd.base.checked import numbers

_WORST = 1e6  # largest condition number of D that is accepted


def hexahedral(alpha: float = 1 / math.sqrt(2), length: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
    r"""Return points [m] and directions, (6, 3) each, of the hexahedral set.

    ``length`` is one or three half edges l1, l2, l3 [m]. Signs are those of [Holzinger 2020, (70)]:
    det D = -8 alpha^6 l1 l2 l3, and D is orthogonal for alpha = 1/sqrt(2) and lengths 1 m.
    """
    _positive("hexahedral", "alpha", alpha)
    half = numbers("hexahedral", "length", length, ((), (3,)), "m")
    if not np.all(half > 0):
        raise ValueError(
            f"hexahedral: length must be positive, one number or three [m], got {half.tolist()}"
        )
    l1, l2, l3 = np.broadcast_to(half, 3)
    both = np.array([1.0, -1.0])
    b, y = np.zeros((6, 3)), np.zeros((6, 3))
    for k, (along, at, size) in enumerate(((0, 1, l2), (1, 2, l3), (2, 0, l1))):
        b[2 * k : 2 * k + 2, along] = alpha * both
        y[2 * k : 2 * k + 2, at] = -size * both
    return y, b


def tetrahedral(
    alpha: float = 1 / math.sqrt(2), length: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return points [m] and directions, (6, 3) each, of the tetrahedral set.

    Middles and directions of the edges of the tetrahedron of the origin and ``length`` [m] on the
    three axes: det D = alpha^6 length^3, [Holzinger 2020, (74)-(81)].
    """
    _positive("tetrahedral", "alpha", alpha)
    _positive("tetrahedral", "length", length)
    corners = np.vstack([np.zeros(3), length * np.eye(3)])
    edges = ((0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1))
    y = np.array([0.5 * (corners[i] + corners[j]) for i, j in edges])
    b = np.array([alpha * (corners[j] - corners[i]) / length for i, j in edges])
    return y, b


def projection(points: Any, directions: Any) -> np.ndarray:
    """Return D (6, 6), rows [b_i, y_i x b_i], [Holzinger 2020, (68)]; points [m], directions."""
    y = numbers("projection", "points", points, ((6, 3),), "m")
    b = numbers("projection", "directions", directions, ((6, 3),), "-")
    return np.hstack([b, np.cross(y, b)])


def _positive(who: str, what: str, value: Any) -> None:
    """Refuse what is not one positive number."""
    x = numbers(who, what, value, ((),), "-" if what == "alpha" else "m")
    if not x > 0:
        raise ValueError(f"{who}: {what} must be positive, got {x:g}")


def _inverted(who: str, D: Any) -> np.ndarray:
    """Return D^-1; refused with the condition number, which here has the units of the points."""
    D = numbers(who, "D", D, ((6, 6),), "-, m")
    condition = float(np.linalg.cond(D / np.abs(D).max(0, initial=0.0, keepdims=True).clip(1e-300)))
    if not condition < _WORST:
        raise ValueError(
            f"{who}: D must be regular, got condition number {condition:.3g} (largest accepted "
            f"{_WORST:.0e}, columns at size one); move points or turn directions so that no motion "
            "of the body leaves all six at rest"
        )
    return np.linalg.inv(D)


def inverse(points: Any, directions: Any) -> np.ndarray:
    """Return D^-1 (6, 6); a set that cannot carry a body is refused with its condition number.

    The condition number is that of D for unit directions and lengths in units of the farthest
    point, so that it does not depend on the size of the body.
    """
    y, b = six("points", points, "m"), six("directions", directions, "-")
    sizes = np.linalg.norm(b, axis=1)
    far = np.linalg.norm(y, axis=1).max()
    D = projection(y / (far or 1.0), b / np.where(sizes > 0, sizes, 1.0)[:, None])
    condition = float(np.linalg.cond(D))
    if not condition < _WORST:
        raise ValueError(
            "Unified: six velocities must determine the motion of the body, got D with condition "
            f"number {condition:.3g} (largest accepted {_WORST:.0e}, lengths in units of the "
            "farthest point); move points or turn directions so that no motion of the body leaves "
            "all six at rest"
        )
    return np.linalg.inv(projection(y, b))


def six(what: str, value: Any, unit: str) -> np.ndarray:
    """Return a finite (6, 3) array."""
    return numbers("Unified", what, value, ((6, 3),), unit)


def mass_matrix(M: Any, D: Any) -> np.ndarray:
    """Return D^-T M D^-1 (6, 6) [kg] of the mass matrix M of ``se3``, [Holzinger 2020, (86)]."""
    E = _inverted("mass_matrix", D)
    return E.T @ numbers("mass_matrix", "M", M, ((6, 6),), "kg, kg m, kg m^2") @ E


def velocity_interpolation(y: Any, D: Any) -> np.ndarray:
    """Return N = [I, tilde(y)^T] D^-1 (3, 6), body components, at y [m], [Holzinger 2020, (83)].

    The velocity at y is N w; a force f at y, body components, gives the generalized force N^T f.
    """
    who = "velocity_interpolation"
    at = numbers(who, "y", y, ((3,),), "m")
    return np.hstack([np.eye(3), tilde(at).T]) @ _inverted(who, D)


def quadratic_velocity_matrix(w: Any, M: Any, D: Any) -> np.ndarray:
    r"""Return Gamma (6, 6) [kg/s] with :math:`\bar M\dot w + \bar\Gamma w = \bar Q`.

    [Holzinger 2020, (97)]; one second J22 of the printed (100) has the wrong sign.

    Psi has :math:`\tilde\Omega` in both diagonal blocks; with an eccentric centre of mass
    :math:`\tilde U` stands below the diagonal, which has no effect if M is block diagonal.
    """
    who = "quadratic_velocity_matrix"
    E = _inverted(who, D)
    V = E @ numbers(who, "w", w, ((6,),), "m/s")
    U, Omega = tilde(V[:3]), tilde(V[3:])
    psi = np.block([[Omega, np.zeros((3, 3))], [U, Omega]])
    M = numbers(who, "M", M, ((6, 6),), "kg, kg m, kg m^2")
    if not np.any(M[:3, 3:]):
        psi[3:, :3] = 0.0
    return E.T @ psi @ M @ E
