r"""Rigid motions: exponential, logarithm and tangent operators, body-fixed components.

With :math:`\Delta = (u, \theta)`, :math:`\varphi = |\theta|` and increments on the right,

.. math::
   H \exp(\Delta) &= (x + R\,T(\theta)^T u,\; R\exp(\tilde\theta)), \\
   T(\theta) &= I - a\tilde\theta + b\tilde\theta^2, \qquad
   T^{-1}(\theta) = I + \tfrac12\tilde\theta + c\,\tilde\theta^2, \\
   T(u, \theta) &= \begin{bmatrix} T(\theta) & T'(\theta)[u] \\ 0 & T(\theta) \end{bmatrix}, \qquad
   T^{-1}(u, \theta) = \begin{bmatrix} T^{-1}(\theta) & (T^{-1})'(\theta)[u] \\
   0 & T^{-1}(\theta) \end{bmatrix}

with :math:`a = (1-\cos\varphi)/\varphi^2`, :math:`b = (\varphi-\sin\varphi)/\varphi^3`,
:math:`c = (1 - \tfrac\varphi2\cot\tfrac\varphi2)/\varphi^2`. The blocks off the diagonal are the
derivatives of those on it along u, so that :math:`H^{-1}\delta H = T(\Delta)\,\delta\Delta`.
Below :math:`\varphi = 1/2` all coefficients are series, exact to round-off.

Source: [Holzinger 2020, (16)-(22)], see the page *From paper to code* of the documentation. The
block off the diagonal of the printed inverse (22) is not used: it is the derivative here, checked
by differences.
"""

import math
from typing import Any

import numpy as np

from mbd.algebra.so3 import quaternion_exp
from mbd.algebra.vec import dot, mat_mat, mat_plus, outer, tilde, vec_mat
from mbd.machine.jit import jit

_SMALL = 0.25  # of phi^2; below it series
A = tuple((-1) ** k / math.factorial(2 * k + 2) for k in range(8))
B = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(8))
DA, DB = (tuple(2 * k * c[k] for k in range(1, 8)) for c in (A, B))  # a'/phi = 2 da/dx


@jit
def coefficients(x: Any) -> Any:
    """Return a, b, a'/phi, b'/phi for phi^2 = x."""
    if x < _SMALL:
        a = A[0] + x * (A[1] + x * (A[2] + x * (A[3] + x * (A[4] + x * (A[5] + x * A[6])))))
        b = B[0] + x * (B[1] + x * (B[2] + x * (B[3] + x * (B[4] + x * (B[5] + x * B[6])))))
        da = DA[0] + x * (DA[1] + x * (DA[2] + x * (DA[3] + x * (DA[4] + x * (DA[5] + x * DA[6])))))
        db = DB[0] + x * (DB[1] + x * (DB[2] + x * (DB[3] + x * (DB[4] + x * (DB[5] + x * DB[6])))))
    else:
        f = math.sqrt(x)
        s = math.sin(f) / f
        a = (1 - math.cos(f)) / x
        b = (1 - s) / x
        da = (s - 2 * a) / x
        db = (a - 3 * b) / x
    return a, b, da, db


@jit
def inverse_coefficients(x: Any) -> Any:
    """Return c and c'/phi for phi^2 = x, phi below 2 pi."""
    if x < _SMALL:
        c = 1 / 12 + x * (1 / 720 + x * (1 / 30240 + x * (1 / 1209600 + x * (1 / 47900160 + x * (
            691 / 1307674368000 + x / 74724249600)))))  # fmt: skip
        dc = 1 / 360 + x * (1 / 7560 + x * (1 / 201600 + x * (1 / 5987520 + x * (
            691 / 130767436800 + x * (1 / 6227020800 + x * 3617 / 762187345920000)))))  # fmt: skip
    else:
        f = math.sqrt(x)
        s = math.sin(f) / f
        a = (1 - math.cos(f)) / x
        g = 0.5 * s / a
        c = (1 - g) / x
        # derivative of g by x, from those of s and a
        slope = (0.25 * (math.cos(f) - s) - 0.5 * g * (s - 2 * a)) / (x * a)
        dc = -2 * (slope + c) / x
    return c, dc


@jit
def _operator(p: Any, q: Any, theta: Any) -> Any:
    """Return I + p tilde(theta) + q tilde(theta)^2."""
    x, y, z = theta[0], theta[1], theta[2]
    return (
        1 - q * (y * y + z * z), q * x * y - p * z, q * x * z + p * y,
        q * x * y + p * z, 1 - q * (x * x + z * z), q * y * z - p * x,
        q * x * z - p * y, q * y * z + p * x, 1 - q * (x * x + y * y),
    )  # fmt: skip


@jit
def _slope(p: Any, q: Any, dp: Any, dq: Any, u: Any, theta: Any) -> Any:
    """Return the derivative of `_operator` along u; dp, dq are p'/phi, q'/phi."""
    t = tilde(theta)
    ut, along = dot(u, theta), outer(u, theta)
    # tilde(u) tilde(theta) = theta u^T - (u . theta) I and its transpose
    both = (
        2 * along[0] - 2 * ut, along[1] + along[3], along[2] + along[6],
        along[1] + along[3], 2 * along[4] - 2 * ut, along[5] + along[7],
        along[2] + along[6], along[5] + along[7], 2 * along[8] - 2 * ut,
    )  # fmt: skip
    line = mat_plus((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), p, tilde(u))
    line = mat_plus(line, q, both)
    line = mat_plus(line, ut * dp, t)
    return mat_plus(line, ut * dq, mat_mat(t, t))


@jit
def tangent(theta: Any) -> Any:
    """Return T(theta) of SO(3), increments in body-fixed components, row by row."""
    a, b, _, _ = coefficients(dot(theta, theta))
    return _operator(-a, b, theta)


@jit
def inverse_tangent(theta: Any) -> Any:
    """Return the inverse of T(theta) of SO(3), row by row; turns below 2 pi."""
    c, _ = inverse_coefficients(dot(theta, theta))
    return _operator(0.5, c, theta)


@jit
def tangent_blocks(u: Any, theta: Any) -> Any:
    """Return the diagonal and the upper right block of T(u, theta) of SE(3)."""
    a, b, da, db = coefficients(dot(theta, theta))
    return _operator(-a, b, theta), _slope(-a, b, -da, db, u, theta)


@jit
def inverse_tangent_blocks(u: Any, theta: Any) -> Any:
    """Return the diagonal and the upper right block of the inverse of T(u, theta)."""
    c, dc = inverse_coefficients(dot(theta, theta))
    return _operator(0.5, c, theta), _slope(0.5, c, 0.0, dc, u, theta)


@jit
def exp(u: Any, theta: Any) -> Any:
    """Return the unit quaternion and the translation T(theta)^T u [m] of exp(u, theta)."""
    return quaternion_exp(theta), vec_mat(u, tangent(theta))


@jit
def log(p: Any, x: Any) -> Any:
    """Return (u, theta) of the unit quaternion p and the translation x [m]; turns up to pi."""
    s = math.sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    sign = 1.0 if p[0] >= 0.0 else -1.0
    if s < 1e-7:  # atan(s / p0) / s
        r = sign * (1 + s * s / 6)
    else:
        r = sign * math.atan2(s, sign * p[0]) / s
    theta = (2 * r * p[1], 2 * r * p[2], 2 * r * p[3])
    return vec_mat(x, inverse_tangent(theta)), theta


def matrix(blocks: Any) -> np.ndarray:
    """Return the 6x6 matrix [[A, C], [0, A]] of two blocks (A, C)."""
    diagonal, upper = (np.reshape(b, (3, 3)) for b in blocks)
    return np.block([[diagonal, upper], [np.zeros((3, 3)), diagonal]])
