"""Rotations outside the kernels: matrices, quaternions, checks (numpy, vectorised)."""

from typing import Any

import numpy as np

from mbd.base.checked import floats
from mbd.base.door import number, unit_vector
from mbd.base.dual import sqrt
from mbd.base.parameter import Formula

_IDENTITY = np.eye(3)


def tilde(a: np.ndarray) -> np.ndarray:
    """Return the cross-product matrices (..., 3, 3) of vectors (..., 3)."""
    matrix = np.zeros((*np.shape(a), 3), np.result_type(a, float))  # expressions too
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[..., j, k], matrix[..., k, j] = -a[..., i], a[..., i]
    return matrix


def rotation(axis: Any, angle: Any) -> np.ndarray:
    r"""Return the matrix of a turn about an axis, also by a ``Parameter`` or a formula.

    .. math:: R = \cos\varphi\, I + \sin\varphi\,\tilde n + (1 - \cos\varphi)\, nn^T

    Products with ``@`` are turns one after the other, the right one first.

    Parameters
    ----------
    axis : (3,) array [-]
        Of any length, or the name of an axis, "y".
    angle : float or formula [rad]

    Examples
    --------
    >>> import mbd
    >>> tilt = mbd.Parameter("tilt", 0.3)
    >>> wheel = mbd.RigidBody("wheel", mass=1.0, inertia=(1, 1, 2),
    ...                       rotation=mbd.rotation("z", 0.1) @ mbd.rotation("x", tilt))
    """
    n = unit_vector("rotation", "axis", axis)
    if not isinstance(angle, Formula):
        angle = number("rotation", "angle", angle, "rad")
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(c * np.eye(3) + s * tilde(n) + (1.0 - c) * np.outer(n, n))


def quaternion_from_matrix(R: np.ndarray) -> np.ndarray:
    """Return unit quaternions (..., 4), scalar first, of rotation matrices (..., 3, 3).

    The largest of the four components is taken from its square, the rest by division [1]_.

    References
    ----------
    .. [1] S. W. Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1 (1978).
    """
    R = floats(R)
    if R.dtype == float and (R == _IDENTITY).all():  # most bodies; small turns are not
        p = np.zeros((*R.shape[:-2], 4))
        p[..., 0] = 1.0
        return p
    trace = R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2]
    squares = np.stack([trace] + [2 * R[..., i, i] - trace for i in range(3)], -1) + 1
    skew = np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], -1
    )
    twice = R + np.swapaxes(R, -1, -2)
    table = np.empty((*R.shape[:-2], 4, 4), R.dtype)
    table[..., 0, 1:] = table[..., 1:, 0] = skew
    table[..., 1:, 1:] = twice
    for i in range(4):
        table[..., i, i] = squares[..., i]
    best = np.argmax(squares, -1)
    p = np.take_along_axis(table, best[..., None, None], -2)[..., 0, :]
    return np.asarray(p / sqrt((p * p).sum(-1, keepdims=True)))


def in_body_axes(R: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return R^T a (..., 3) of matrices (..., 3, 3), of many with the same bits as of one."""
    return np.asarray((R * a[..., :, None]).sum(-2))


def angular_velocity(directors: np.ndarray, rates: np.ndarray) -> np.ndarray:
    r"""Return :math:`\tfrac12\sum_k d_k \times \dot d_k`, inertial, from (..., 3, 3) rows."""
    return 0.5 * np.cross(directors, rates).sum(-2)
