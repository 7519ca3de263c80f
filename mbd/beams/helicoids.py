r"""Many helicoids at once: their lengths and turns between frames, and points on them.

.. math:: e = (e_T, e_R) = \log_{SE(3)} H_a^{-1}H_b, \qquad H(s) = H_a \exp(s\,e) .
"""

import numpy as np

from mbd.algebra.rotations import tilde


def _arm(theta: np.ndarray) -> np.ndarray:
    r"""Return :math:`I + a\tilde\theta + b\tilde\theta^2`, which makes a translation of u."""
    x = (theta**2).sum(-1)
    near = x < 1e-4
    phi = np.sqrt(np.where(near, 1.0, x))
    a = np.where(near, 0.5 - x / 24 + x * x / 720, (1 - np.cos(phi)) / phi**2)
    b = np.where(near, 1 / 6 - x / 120 + x * x / 5040, (phi - np.sin(phi)) / phi**3)
    turn = tilde(theta)
    return np.asarray(np.eye(3) + a[..., None, None] * turn + b[..., None, None] * (turn @ turn))


def logarithm(ra: np.ndarray, Ra: np.ndarray, rb: np.ndarray, Rb: np.ndarray) -> np.ndarray:
    """Return the strains e = (e_T, e_R), (..., 6), between frames (..., 3), (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    turn = np.swapaxes(Ra, -1, -2) @ Rb
    theta = Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_rotvec().reshape(ra.shape)
    x = np.einsum("...ji,...j->...i", Ra, rb - ra)
    return np.concatenate([np.linalg.solve(_arm(theta), x[..., None])[..., 0], theta], axis=-1)


def points_between(ra: np.ndarray, Ra: np.ndarray, e: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return points (..., k, 3) of helicoids from frames, at shares (k,) of their lengths."""
    part = shares[:, None] * e[..., None, :]
    x = np.einsum("...ij,...j->...i", _arm(part[..., 3:]), part[..., :3])
    return np.asarray(ra[..., None, :] + np.einsum("...ij,...kj->...ki", Ra, x))


def frames_between(
    ra: np.ndarray, Ra: np.ndarray, e: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return points (..., k, 3) and rotations (..., k, 3, 3) of helicoids, as `points_between`."""
    from scipy.spatial.transform import Rotation

    theta = shares[:, None] * e[..., None, 3:]
    turn = Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix().reshape(*theta.shape, 3)
    return points_between(ra, Ra, e, shares), np.asarray(Ra[..., None, :, :] @ turn)
