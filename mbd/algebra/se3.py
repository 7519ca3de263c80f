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

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mbd.algebra.so3 import SMALL, coefficients, operator, quaternion_exp, rotation_vector, tangent
from mbd.algebra.vec import dot, mat_mat, mat_plus, mat_vec, outer, tilde, vec_mat
from mbd.machine.jit import jit


@jit
def inverse_coefficients(x: Any) -> Any:
    """Return c and c'/phi for phi^2 = x, phi below 2 pi."""
    if x < SMALL:
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
def _slope(p: Any, q: Any, dp: Any, dq: Any, u: Any, theta: Any) -> Any:
    """Return the derivative of `operator` along u; dp, dq are p'/phi, q'/phi."""
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
def inverse_tangent(theta: Any) -> Any:
    """Return the inverse of T(theta) of SO(3), row by row; turns below 2 pi."""
    c, _ = inverse_coefficients(dot(theta, theta))
    return operator(0.5, c, theta)


@jit
def tangent_blocks(u: Any, theta: Any) -> Any:
    """Return the diagonal and the upper right block of T(u, theta) of SE(3)."""
    a, b, da, db = coefficients(dot(theta, theta))
    return operator(-a, b, theta), _slope(-a, b, -da, db, u, theta)


@jit
def inverse_tangent_blocks(u: Any, theta: Any) -> Any:
    """Return the diagonal and the upper right block of the inverse of T(u, theta)."""
    c, dc = inverse_coefficients(dot(theta, theta))
    return operator(0.5, c, theta), _slope(0.5, c, 0.0, dc, u, theta)


@jit
def exp(u: Any, theta: Any) -> Any:
    """Return the unit quaternion and the translation T(theta)^T u [m] of exp(u, theta)."""
    return quaternion_exp(theta), mat_vec(tangent(theta), u)


@jit
def log(p: Any, x: Any) -> Any:
    """Return (u, theta) of the unit quaternion p and the translation x [m]; turns up to pi."""
    theta = rotation_vector(p)
    return vec_mat(x, inverse_tangent(theta)), theta


def matrix(blocks: Any) -> np.ndarray:
    """Return the 6x6 matrix [[A, C], [0, A]] of two blocks (A, C)."""
    diagonal, upper = (np.reshape(b, (3, 3)) for b in blocks)
    return np.block([[diagonal, upper], [np.zeros((3, 3)), diagonal]])
