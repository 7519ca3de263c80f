"""Camera of a painted picture: the same as that of the page when it opens."""

from __future__ import annotations

import numpy as np

from mbd.animation.drawing import Drawing, End

_TALL = np.tan(np.deg2rad(15.0))  # half the height of the picture at distance one
_MARGIN = 0.88


class Camera:
    """A perspective view of all that is to be seen.

    Parameters
    ----------
    drawing : Drawing
    width, height : float
        Of the picture, in pixels.

    Attributes
    ----------
    axes : (3, 3) array
        Rows are to the right, upwards, towards the eye.
    """

    def __init__(self, drawing: Drawing, width: float, height: float) -> None:
        towards = drawing.view
        right = np.cross(drawing.up, towards)
        right /= np.linalg.norm(right)
        self.axes = np.array([right, np.cross(towards, right), towards])
        self.middle = 0.5 * (drawing.low + drawing.high)
        half = 0.5 * (drawing.high - drawing.low)
        signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
        x, y, z = (signs * half @ self.axes.T).T
        tall, wide = _MARGIN * _TALL, _MARGIN * _TALL * width / height
        self.distance = float((z + np.maximum(np.abs(x) / wide, np.abs(y) / tall)).max())
        self.width, self.height = width, height
        self._drawing = drawing

    def eye(self, i: int) -> np.ndarray:
        """Return where the eye is at instant i."""
        return self._target(i) + self.distance * self.axes[2]

    def _target(self, i: int) -> np.ndarray:
        name = self._drawing.follow
        if not name:
            return self.middle
        path = self._drawing.at(End(name, np.zeros(3)))
        return self.middle + path[i] - path[0]

    def project(self, points: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return pixels (..., 2), from the lower left, and distances from the eye (...)."""
        in_view = (points - self.eye(i)) @ self.axes.T
        depth = np.maximum(-in_view[..., 2], 1e-6 * self.distance)
        scale = 0.5 * self.height / _TALL / depth
        pixels = np.stack([in_view[..., 0] * scale, in_view[..., 1] * scale], -1)
        return pixels + 0.5 * np.array([self.width, self.height]), depth

    def pixels(self, length: float) -> float:
        """Return how long a length [m] is in the middle of the picture."""
        return 0.5 * self.height / _TALL / self.distance * length
