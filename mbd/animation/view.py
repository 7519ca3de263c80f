"""View: shown instants and their speed, the box in the picture, from where it is seen."""

import numpy as np

from mbd.animation.drawing import FixedShape, Rod, Track, nice
from mbd.drawing.surfaces import surface

_FPS = 60
_MOST = 12_000
_SHORTEST, _LONGEST = 4.0, 60.0  # seconds at the viewer, when the speed is chosen here
_BOXES = 100  # instants at which the box is measured
_FLAT = 0.2  # a motion is seen as planar whose third extent is below this part of the largest
_SIGNS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)


def upwards(gravity: np.ndarray) -> np.ndarray:
    """Return the axis against gravity, z without gravity."""
    if not gravity.any():
        return np.array([0.0, 0.0, 1.0])
    i = int(np.argmax(np.abs(gravity)))
    return -np.sign(gravity[i]) * np.eye(3)[i]


def corners(
    tracks: dict[str, Track], solids: list[FixedShape], links: list[Rod], reach: dict[str, float],
    meshes: list[tuple[str, np.ndarray]],
) -> np.ndarray:  # fmt: skip
    """Return corners of boxes around all bodies at up to 100 instants, (n, k, 3).

    Where rods and coils are held by the ground belongs to them. `reach` says how far beams and
    cables go from some frames [m], `meshes` are points of frames.
    """
    n = len(next(iter(tracks.values())).position)
    k = np.unique(np.linspace(0, n - 1, _BOXES).astype(int))
    boxes = []
    fixed = [*((s.frame, surface(s.shape)[0]) for s in solids), *meshes]
    for name in {frame for frame, _ in fixed}:
        points = np.vstack([x for frame, x in fixed if frame == name])
        low, high = points.min(0), points.max(0)
        box = low + _SIGNS * (high - low)
        if name == "ground":
            boxes.append(np.broadcast_to(box, (len(k), 8, 3)))
        else:
            track = tracks[name]
            boxes.append(
                track.position[k][:, None] + np.einsum("nij,kj->nki", track.matrix[k], box)
            )
    for name, far in reach.items():
        if name != "ground":
            boxes.append(tracks[name].position[k][:, None] + far * (2 * _SIGNS - 1))
    held = [end.point for link in links for end in link.ends if end.frame == "ground"]
    if held:
        boxes.append(np.broadcast_to(held, (len(k), len(held), 3)))
    return np.concatenate(boxes, axis=1)


def direction(extent: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return the direction to the eye: a planar motion is seen in its plane, the rest obliquely."""
    level = [e for e in np.eye(3) if not abs(e @ up)]
    right = max(level, key=lambda e: abs(e @ extent))
    normal = np.cross(right, up)
    planar = abs(normal @ extent) < _FLAT * extent.max()
    weights = (0.25, 1.0, 0.25) if planar else (0.6, 1.0, 0.5)
    view = weights[0] * right + weights[1] * normal + weights[2] * up
    return view / np.linalg.norm(view)


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
