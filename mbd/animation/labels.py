"""Labels beside bodies and joints, moved or left out where they would cover each other.

``panel.js`` does the same in the page.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mbd.animation.drawing import End, FixedShape, Label, Rod, Wire
from mbd.drawing.surfaces import surface

_GAP = 6.0  # pixels between a point and its name
# where a name may stand: to the right of its point or to the left, above or below
_CORNERS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


def labels(drawn: Iterable[FixedShape | Wire | Rod]) -> tuple[Label, ...]:
    """Return a name for each body, joint and spring, at the first thing that is drawn of it."""
    by_name: dict[str, Label] = {}
    for x in drawn:
        if x.label not in by_name:
            text = x.label if x.layer == "bodies" else x.label.rsplit(" (", 1)[0]
            by_name[x.label] = Label(text, x.layer, _ends(x))
    return tuple(by_name.values())


def _ends(x: FixedShape | Wire | Rod) -> tuple[End, ...]:
    """Return the points in whose middle the name of something is."""
    if isinstance(x, Rod):
        return x.ends
    points = surface(x.shape)[0] if isinstance(x, FixedShape) else x.points
    return (End(x.frame, 0.5 * (points.min(0) + points.max(0))),)


def settled(
    points: np.ndarray, depth: np.ndarray, sizes: np.ndarray
) -> list[tuple[float, float] | None]:
    """Return lower left corners of names that do not cover each other, None for no room.

    Parameters
    ----------
    points, sizes : (n, 2) arrays [pixels]
        Points that are named, y upwards, and widths and heights of their names.
    depth : (n,) array
        Distances from the eye: the nearest name has the choice.
    """
    places: list[tuple[float, float] | None] = [None] * len(points)
    taken: list[tuple[float, float, float, float]] = []
    for i in np.argsort(depth, kind="stable"):
        (x, y), (w, h) = points[i], sizes[i]
        for side, above in _CORNERS:
            left = x + _GAP if side > 0 else x - _GAP - w
            low = y + _GAP if above > 0 else y - _GAP - h
            if all(left >= c or left + w <= a or low >= d or low + h <= b for a, b, c, d in taken):
                places[i] = (left, low)
                taken.append((left, low, left + w, low + h))
                break
    return places
