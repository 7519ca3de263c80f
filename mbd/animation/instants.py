"""Shown instants, and their speed."""

from __future__ import annotations

import numpy as np

_FPS = 60
_MOST = 12_000
_SHORTEST, _LONGEST = 4.0, 60.0  # seconds at the viewer, when the speed is chosen here


def nice(x: float) -> float:
    """Return the nearest of 1, 2, 5 times a power of ten."""
    ten = 10.0 ** np.floor(np.log10(x))
    return float(ten * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(np.log(x / ten / k))))


def pace(duration: float) -> float:
    """Return the speed at which a run is shown: 1, unless it is over too soon or too late."""
    if duration <= 0 or 1.0 <= duration <= _LONGEST:
        return 1.0
    return nice(duration / (_SHORTEST if duration < 1.0 else _LONGEST))


def chosen(t: np.ndarray, speed: float, fastest: float) -> np.ndarray:
    """Return indices of the instants shown: 60 per second of the viewer, or as many as there are.

    Bodies that turn at the rate `fastest` [rad/s] turn by a radian at most from one to the next.
    """
    step = speed / _FPS
    if fastest > 0:
        step = min(step, 1.0 / fastest)
    n = int(np.clip(np.ceil((t[-1] - t[0]) / step), 1, _MOST))
    if len(t) <= n + 1:
        return np.arange(len(t))
    even = np.linspace(t[0], t[-1], n + 1)
    after = np.clip(np.searchsorted(t, even), 1, len(t) - 1)
    nearest = after - (even - t[after - 1] < t[after] - even)
    return np.unique(nearest)
