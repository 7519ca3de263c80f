r"""Quaternions p = (p0, e), scalar first, of any length; e = (p1, p2, p3).

.. math:: L(p) = [-e,\; p_0 I - \tilde e], \quad G(p) = [-e,\; p_0 I + \tilde e], \quad
          A(p) = G L^T = (p_0^2 - e^Te) I + 2(ee^T + p_0\tilde e),

so that :math:`A = |p|^2 R`, and for unit p the angular velocity in body axes is
:math:`2 L\dot p`. Everything is polynomial: :math:`L(p)x = -L(x)p`, :math:`L^T(p) w = H(w) p`,
and with the symmetric bilinear :math:`A(p, x)`, :math:`A(p, p) = A(p)`,

.. math:: \frac{\partial}{\partial p} A(p) u = B_2(p, u) = 2 G(p) H(u), \qquad
          B_2(p, u) x = 2 A(p, x) u = B_2(x, u) p .

First what kernels use (tuples), then the matrices as arrays.

References
----------
[Sherif 2015], [Moeller 2012]: see the page *From paper to code* of the documentation.
"""

from typing import Any

import numpy as np

from mbd.algebra.rotations import tilde
from mbd.machine.jit import jit


# --- for kernels: tuples --------------------------------------------------------------------------
@jit
def mix4(s: float, a: Any, t: float, b: Any) -> Any:
    """Return s*a + t*b."""
    return (
        s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2], s * a[3] + t * b[3],
    )  # fmt: skip


@jit
def bilinear(p: Any, x: Any) -> Any:
    """Return A(p, x), row by row."""
    a = p[0] * x[0]
    b = p[1] * x[1]
    c = p[2] * x[2]
    d = p[3] * x[3]
    bc, ad = p[1] * x[2] + p[2] * x[1], p[0] * x[3] + p[3] * x[0]
    bd, ac = p[1] * x[3] + p[3] * x[1], p[0] * x[2] + p[2] * x[0]
    cd, ab = p[2] * x[3] + p[3] * x[2], p[0] * x[1] + p[1] * x[0]
    return (
        a + b - c - d, bc - ad, bd + ac,
        bc + ad, a - b + c - d, cd - ab,
        bd - ac, cd + ab, a - b - c + d,
    )  # fmt: skip


@jit
def slopes(x: Any) -> Any:
    """Return A(x, unit quaternion j) for j = 0..3: half the derivatives of A at x."""
    a, b, c, d = x[0], x[1], x[2], x[3]
    return (
        (a, -d, c, d, a, -b, -c, b, a),
        (b, c, d, c, -b, -a, d, a, -b),
        (-c, b, a, b, c, d, -a, d, -c),
        (-d, -a, b, a, -d, c, b, c, d),
    )


@jit
def form(P: Any) -> Any:
    r"""Return the symmetric N with :math:`\sum_k f_k \cdot A(p)e_k = p^T N p`; P has columns f_k.

    :math:`N = [[t, n^T], [n, P + P^T - t I]]`, :math:`t = tr P`, :math:`n = \sum_k e_k\times f_k`.
    """
    t = P[0] + P[4] + P[8]
    x, y, z = P[7] - P[5], P[2] - P[6], P[3] - P[1]
    xy, xz, yz = P[1] + P[3], P[2] + P[6], P[5] + P[7]
    return (
        (t, x, y, z),
        (x, 2 * P[0] - t, xy, xz),
        (y, xy, 2 * P[4] - t, yz),
        (z, xz, yz, 2 * P[8] - t),
    )


@jit
def times_form(P: Any, p: Any) -> Any:
    """Return N(P) p."""
    t = P[0] + P[4] + P[8]
    x, y, z = P[7] - P[5], P[2] - P[6], P[3] - P[1]
    xy, xz, yz = P[1] + P[3], P[2] + P[6], P[5] + P[7]
    return (
        t * p[0] + x * p[1] + y * p[2] + z * p[3],
        x * p[0] + (2 * P[0] - t) * p[1] + xy * p[2] + xz * p[3],
        y * p[0] + xy * p[1] + (2 * P[4] - t) * p[2] + yz * p[3],
        z * p[0] + xz * p[1] + yz * p[2] + (2 * P[8] - t) * p[3],
    )


@jit
def times_L(p: Any, x: Any) -> Any:
    """Return L(p) x."""
    return (
        -p[1] * x[0] + p[0] * x[1] + p[3] * x[2] - p[2] * x[3],
        -p[2] * x[0] - p[3] * x[1] + p[0] * x[2] + p[1] * x[3],
        -p[3] * x[0] + p[2] * x[1] - p[1] * x[2] + p[0] * x[3],
    )


@jit
def columns(F: Any, i: int) -> Any:
    """Return the 3x3 matrix whose columns are the three vectors at F[i]."""
    return (
        F[i], F[i + 3], F[i + 6],
        F[i + 1], F[i + 4], F[i + 7],
        F[i + 2], F[i + 5], F[i + 8],
    )  # fmt: skip


@jit
def store_columns(F: Any, i: int, A: Any) -> None:
    """Write the columns of a 3x3 matrix one after the other."""
    for k in range(3):
        F[i + 3 * k] = A[k]
        F[i + 3 * k + 1] = A[3 + k]
        F[i + 3 * k + 2] = A[6 + k]


# --- arrays ---------------------------------------------------------------------------------------
def L(p: np.ndarray) -> np.ndarray:
    r"""Return :math:`L = [-e, p_0 I - \tilde e]`, (3, 4), [Sherif 2015, (9)]."""
    return np.column_stack([-p[1:], p[0] * np.eye(3) - tilde(p[1:])])


def G(p: np.ndarray) -> np.ndarray:
    r"""Return :math:`G = [-e, p_0 I + \tilde e]`, (3, 4), [Sherif 2015, (8)]."""
    return np.column_stack([-p[1:], p[0] * np.eye(3) + tilde(p[1:])])


def H(u: np.ndarray) -> np.ndarray:
    r"""Return :math:`H = [[0, -u^T], [u, -\tilde u]]`, (4, 4), [Sherif 2015, (67)]."""
    matrix = np.zeros((4, 4), np.asarray(u).dtype)
    matrix[0, 1:] = -u
    matrix[1:, 0] = u
    matrix[1:, 1:] = -tilde(u)
    return matrix


def scaled_rotation(p: np.ndarray) -> np.ndarray:
    r"""Return :math:`A(p) = |p|^2 R`, (3, 3), homogeneous of degree two; [Sherif 2015, (7)]."""
    return G(p) @ L(p).T


def B1(p: np.ndarray, u: np.ndarray) -> np.ndarray:
    r"""Return :math:`B_1 = -2 A \tilde u L`, (3, 4), [Sherif 2015, (51)]."""
    return -2 * scaled_rotation(p) @ tilde(u) @ L(p)


def B2(p: np.ndarray, u: np.ndarray, *, homogeneous: bool = True) -> np.ndarray:
    r"""Return :math:`B_2 = \partial(A u)/\partial p`, (3, 4), [Sherif 2015, (54), (68)].

    Of the homogeneous :math:`A(p)` this is :math:`2GH`; with ``homogeneous=False`` of the printed
    :math:`A = (2p_0^2 - 1) I + 2(ee^T + p_0\tilde e)`: :math:`2 G H + 2 u p^T`. On the unit sphere
    both, and B1, differ by a multiple of :math:`p^T`.
    """
    derivative: np.ndarray = 2 * G(p) @ H(u)
    return derivative if homogeneous else derivative + 2 * np.outer(u, p)


def Q(p: np.ndarray) -> np.ndarray:
    r"""Return the quaternion part of Q, (4, 4): :math:`(\nu, \omega) = Q\dot p`, [Moeller 2012].

    :math:`Q^{-1} = Q^T / (4|p|^2)`.
    """
    return 2 * np.vstack([p, L(p)])
