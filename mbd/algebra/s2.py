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


# --- frames along a path of their third director --------------------------------------------------
def _turn(d1: np.ndarray, moved: np.ndarray, d3: np.ndarray) -> np.ndarray:
    """Return the angle about d3 by which d1 is ahead of a transported one [rad]."""
    across = _dot(np.cross(moved, d1), d3)[..., 0]
    return np.arctan2(across, _dot(moved, d1)[..., 0])


def twist_angle(rotation: np.ndarray) -> np.ndarray:
    r"""Return the twist angle of a frame over time, from its first instant on (n,) [rad].

    The angle :math:`\psi` about d3 by which its d1 is ahead of one that is transported parallel,
    [Gebhardt 2020, (24)], with :math:`\dot\psi = \omega\cdot d_3`; zero of a body on ``S2``. From
    one instant to the next d3 is taken to go along the geodesic, so that the error is of the order
    of the square of the time between.

    Parameters
    ----------
    rotation : (n, 3, 3) array
        Such as ``solution["body"].rotation``, the directors in columns.
    """
    d1, d3 = np.asarray(rotation)[..., 0], np.asarray(rotation)[..., 2]
    steps = _turn(d1[1:], parallel_transport(d3[:-1], d3[1:], d1[:-1]), d3[1:])
    return np.concatenate([[0.0], np.cumsum(steps)])


def holonomy(rotation: np.ndarray) -> np.ndarray:
    """Return the angle about d3 of a frame against its first one, (n,) [rad] in (-pi, pi].

    That one transported along the geodesic from the first d3 to the present one. Of a frame without
    twist it is the area of the unit sphere between its path and the geodesic, counted to the left
    of the path: where d3 comes back, the angle by which d1 and d2 do not.

    Parameters
    ----------
    rotation : (n, 3, 3) array
    """
    d1, d3 = np.asarray(rotation)[..., 0], np.asarray(rotation)[..., 2]
    return _turn(d1, parallel_transport(d3[0], d3, d1[0]), d3)


def scalar_curvature(rotation: np.ndarray, omega: np.ndarray) -> np.ndarray:
    r"""Return the scalar curvature of a frame without twist, (n,) [1/s^2], [Gebhardt 2020, (23)].

    .. math:: \dot d_1\cdot\dot d_2 = (d_1\cdot\dot d_3)(d_2\cdot\dot d_3)

    Parameters
    ----------
    rotation : (n, 3, 3) array
    omega : (n, 3) array
        Angular velocity, inertial [rad/s].
    """
    d = np.swapaxes(rotation, -1, -2)
    d3_rate = np.cross(omega, d[..., 2, :])
    return (_dot(d[..., 0, :], d3_rate) * _dot(d[..., 1, :], d3_rate))[..., 0]
