r"""Rotations: exponential, quaternion, tangent operator.

With :math:`\varphi = |\theta|`, increments in inertial components:

.. math:: \exp(\tilde\theta) R_n, \qquad
          T(\theta) = I + \frac{1-\cos\varphi}{\varphi^2}\tilde\theta
                        + \frac{\varphi-\sin\varphi}{\varphi^3}\tilde\theta^2,

so that :math:`\delta(\exp(\tilde\theta)R_n) = \widetilde{T\delta\theta}\,\exp(\tilde\theta)R_n`.
"""

import math
from typing import Any

from mbd.algebra.vec import tilde
from mbd.machine.jit import jit

_SMALL = 1e-2  # below it the series of five terms is exact to round-off
A1, A2, A3, A4 = -1 / 6, 1 / 120, -1 / 5040, 1 / 362880  # sin f = f - f^3/6 + ...
B1, B2, B3, B4 = -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800  # 1 - cos f = f^2/2 - f^4/24 + ...
C1, C2, C3, C4 = -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800  # f - sin f = f^3/6 - f^5/120 + ...


@jit
def coefficients(x: Any) -> Any:
    """Return sin(f)/f, (1-cos f)/f^2, (f-sin f)/f^3 for f^2 = x."""
    if x < _SMALL:
        a = 1 + x * (A1 + x * (A2 + x * (A3 + x * A4)))
        b = 0.5 + x * (B1 + x * (B2 + x * (B3 + x * B4)))
        c = 1 / 6 + x * (C1 + x * (C2 + x * (C3 + x * C4)))
    else:
        f = math.sqrt(x)
        a = math.sin(f) / f
        b = (1 - math.cos(f)) / x
        c = (1 - a) / x
    return a, b, c


@jit
def quaternion_exp(theta: Any) -> Any:
    """Return the unit quaternion (scalar first) of the rotation vector theta [rad]."""
    x = 0.25 * (theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    if x < _SMALL:
        c = 1 + x * (-0.5 + x * (-B1 + x * (-B2 - x * B3)))
        s = 1 + x * (A1 + x * (A2 + x * (A3 + x * A4)))
    else:
        f = math.sqrt(x)
        c = math.cos(f)
        s = math.sin(f) / f
    s *= 0.5
    return c, s * theta[0], s * theta[1], s * theta[2]


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
    _, b, c = coefficients(theta[0] ** 2 + theta[1] ** 2 + theta[2] ** 2)
    x, y, z = theta[0], theta[1], theta[2]
    t = tilde(theta)
    return (
        1 - c * (y * y + z * z), b * t[1] + c * x * y, b * t[2] + c * x * z,
        b * t[3] + c * x * y, 1 - c * (x * x + z * z), b * t[5] + c * y * z,
        b * t[6] + c * x * z, b * t[7] + c * y * z, 1 - c * (x * x + y * y),
    )  # fmt: skip
