r"""The unit sphere S^2 and the split equations of a body that turns (numpy, vectorised).

With unit directors d, tangent vectors :math:`v\cdot d = 0` and :math:`\varphi = |v|`,

.. math::
   \exp_d(v) &= \cos\varphi\, d + \frac{\sin\varphi}{\varphi}\, v, &
   \log_{d_0}(d) &= \varphi\,\frac{(I - d_0 d_0^T) d}{|(I - d_0 d_0^T) d|},
   \quad \cos\varphi = d_0\cdot d \\
   \nabla_{\dot d}\, v &= (I - d\,d^T)\,\dot v, &
   w &= w_0 - \frac{(\log_{d_0} d + \log_d d_0)\,(\log_{d_0} d\cdot w_0)}{\varphi^2}

(the last one transports w_0 along the geodesic from d_0 to d). All arrays are (..., 3).

Source: [Gebhardt 2020, (4)-(11), (51), (69), (71)], see the page *From paper to code* of the
documentation.
"""

from __future__ import annotations

import numpy as np


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a . b with the last axis kept."""
    return np.sum(np.asarray(a) * np.asarray(b), axis=-1, keepdims=True)


def exp(d: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the end of the geodesic from d with the tangent vector v, [Gebhardt 2020, (6)]."""
    angle = np.sqrt(_dot(v, v))
    return np.cos(angle) * d + np.sinc(angle / np.pi) * v


def log(d0: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the tangent vector at d0 whose geodesic ends in d, [Gebhardt 2020, (7)].

    Raises
    ------
    ValueError
        If d = -d0: every direction leads there.
    """
    d0, d = np.asarray(d0, float), np.asarray(d, float)
    across = d - d0 * _dot(d0, d)
    sine = np.sqrt(_dot(across, across))
    angle = np.arctan2(sine, _dot(d0, d))  # arccos loses half of the digits near 0 and pi
    if np.any((sine < 1e-15) & (angle > 1.0)):
        raise ValueError("log on the sphere: d must not be opposite to d0, got d = -d0")
    return across / np.sinc(angle / np.pi)


def covariant_derivative(d: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return the covariant derivative of a field on d(t), [Gebhardt 2020, (5)], from its rate."""
    return rate - d * _dot(d, rate)


def parallel_transport(d0: np.ndarray, d: np.ndarray, w0: np.ndarray) -> np.ndarray:
    """Return w0, tangent at d0, transported along the geodesic to d, [Gebhardt 2020, (10)].

    The sum of both logarithms over the square of the angle is ``(d0 + d) / (1 + d0 . d)`` times the
    direction's share of w0, a form without 0/0 where d meets d0.

    Raises
    ------
    ValueError
        If d = -d0: the result depends on the way.
    """
    d0, d = np.asarray(d0, float), np.asarray(d, float)
    share = 1 + _dot(d0, d)
    if np.any(share < 1e-15):
        raise ValueError(
            "parallel transport on the sphere: d must not be opposite to d0, where every geodesic "
            "leads and each gives another result, got d = -d0"
        )
    return w0 - (d0 + d) * _dot(d, w0) / share


def split(d3: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of a vector in the tangent plane of d3, (..., 3), and along d3, (...)."""
    along = _dot(d3, pi)
    return pi - d3 * along, along[..., 0]


def split_balance(
    d3: np.ndarray, d3_rate: np.ndarray, pi: np.ndarray, pi_rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return both sides of the split equations of a rotating body, [Gebhardt 2020, (51), (69)].

    .. math:: \nabla_{\dot d_3}\pi_\perp + \pi_\parallel \dot d_3 \quad (..., 3), \qquad
              \dot\pi_\parallel + \dot\pi_\perp\cdot d_3 =
              \dot\pi_\parallel - \pi_\perp\cdot\dot d_3 \quad (...)

    Both vanish for a free body. For the non-twisting body the first vanishes, pi_parallel = 0, and
    the second is minus the multiplier of the row. (The print shows the second term with a plus and
    the rate on d3; the proof of the theorem has it as here.)

    Parameters
    ----------
    d3, d3_rate : arrays
        Third director and its rate.
    pi, pi_rate : arrays
        Angular momentum J omega about the fixed point [N m s] and its rate [N m], inertial.
    """
    across, along = split(d3, pi)
    along_rate = _dot(d3_rate, pi) + _dot(d3, pi_rate)
    across_rate = pi_rate - d3_rate * along[..., None] - d3 * along_rate
    first = covariant_derivative(d3, across_rate) + along[..., None] * d3_rate
    return first, (along_rate - _dot(across, d3_rate))[..., 0]
