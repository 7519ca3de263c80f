r"""Rotations: exponential, quaternion, tangent operator.

With :math:`\varphi = |\theta|`, increments in inertial components:

.. math:: \exp(\tilde\theta) R_n, \qquad
          T(\theta) = I + a\,\tilde\theta + b\,\tilde\theta^2, \qquad
          a = \frac{1-\cos\varphi}{\varphi^2}, \quad b = \frac{\varphi-\sin\varphi}{\varphi^3},

so that :math:`\delta(\exp(\tilde\theta)R_n) = \widetilde{T\delta\theta}\,\exp(\tilde\theta)R_n`.
Below :math:`\varphi = 1/2` coefficients are series, exact to round-off.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.algebra.vec import dot
from mbd.machine.jit import jit

_HALF_SMALL = 1e-2  # of phi^2/4
C = tuple((-1) ** k / math.factorial(2 * k) for k in range(5))  # cos
S = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(5))  # sin phi / phi
SMALL = 0.25  # of phi^2; below it series
A = tuple((-1) ** k / math.factorial(2 * k + 2) for k in range(8))
B = tuple((-1) ** k / math.factorial(2 * k + 3) for k in range(8))
DA, DB = (tuple(2 * k * c[k] for k in range(1, 8)) for c in (A, B))  # a'/phi = 2 da/dx


@jit
def coefficients(x: Any) -> Any:
    """Return a, b, a'/phi, b'/phi for phi^2 = x."""
    if x < SMALL:
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
def operator(p: Any, q: Any, theta: Any) -> Any:
    """Return I + p tilde(theta) + q tilde(theta)^2."""
    x, y, z = theta[0], theta[1], theta[2]
    return (
        1 - q * (y * y + z * z), q * x * y - p * z, q * x * z + p * y,
        q * x * y + p * z, 1 - q * (x * x + z * z), q * y * z - p * x,
        q * x * z - p * y, q * y * z + p * x, 1 - q * (x * x + y * y),
    )  # fmt: skip


@jit
def quaternion_exp(theta: Any) -> Any:
    """Return the unit quaternion (scalar first) of the rotation vector theta [rad]."""
    x = 0.25 * (theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    if x < _HALF_SMALL:
        c = C[0] + x * (C[1] + x * (C[2] + x * (C[3] + x * C[4])))
        s = S[0] + x * (S[1] + x * (S[2] + x * (S[3] + x * S[4])))
    else:
        f = math.sqrt(x)
        c = math.cos(f)
        s = math.sin(f) / f
    s *= 0.5
    return c, s * theta[0], s * theta[1], s * theta[2]


@jit
def rotation_vector(p: Any) -> Any:
    """Return the rotation vector of a unit quaternion, of half a turn at most [rad]."""
    s = math.sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    sign = 1.0 if p[0] >= 0.0 else -1.0
    if s < 1e-7:  # atan(s / p0) / s
        r = sign * (1 + s * s / 6)
    else:
        r = sign * math.atan2(s, sign * p[0]) / s
    return 2 * r * p[1], 2 * r * p[2], 2 * r * p[3]


@jit
def quaternion_product(p: Any, q: Any) -> Any:
    """Return p q: the rotation q followed by p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@jit
def quaternion_matrix(p: Any) -> Any:
    """Return A(p) = (p0^2 - e.e) I + 2(e e^T + p0 tilde(e)), row by row; R for unit p."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    return (
        a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c),
        2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b),
        2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d,
    )  # fmt: skip


@jit
def tangent(theta: Any) -> Any:
    """Return T(theta), increments in inertial components."""
    a, b, _, _ = coefficients(dot(theta, theta))
    return operator(a, b, theta)
