"""Names of the edges of a graph, moved along and beside them until all can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# where along an edge and how far beside it, in sizes of the name, a name may be: the best first
_ALONG = (0.5, 0.43, 0.57, 0.36, 0.64, 0.29, 0.71)
_BESIDE = (0.6, -0.6, 1.1, -1.1)
_FAR = (1.7, -1.7, 2.3, -2.3)  # where nothing nearer is free
_GAP = 2.0  # pixels

Box = tuple[float, float, float, float]


def settle(ax: Any, names: list[tuple[Any, np.ndarray]], nodes: list[Any], *, beside: bool) -> bool:
    """Place names on their edges; return whether none covers another one or a node.

    Of the free places a name takes one where it is on few other edges.

    Parameters
    ----------
    ax : matplotlib Axes
    names : list
        A text and its line (n, 2) in data coordinates, for each edge.
    nodes : list
        Texts with a box, which stay where they are.
    beside : bool
        Whether a name that finds no room on its edge may stand beside it.
    """
    ax.figure.draw_without_rendering()  # the layout is known, and with it where points are
    taken: list[Box] = [_box(x) for x in (n.get_bbox_patch() or n for n in nodes)]
    to_data = ax.transData.inverted()
    lines = [ax.transData.transform(line) for _, line in names]
    clear = True
    for i, (text, _) in enumerate(names):
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height]) + _GAP
        others = np.vstack([x for k, x in enumerate(lines) if k != i] or [np.empty((0, 2))])
        boxes: list[Box] = []
        costs: list[tuple[float, int]] = []
        for sides in ((0.0, *_BESIDE), _FAR) if beside else ((0.0,),):
            here = [_around(p, size) for p in _candidates(lines[i], size, sides)]
            costs += [(sum(_common(b, x) for x in taken), _inside(b, others)) for b in here]
            boxes += here
            k = min(range(len(costs)), key=costs.__getitem__)
            if costs[k][0] == 0.0:
                break
        clear &= costs[k][0] == 0.0
        left, low, right, high = boxes[k]
        text.set_position(to_data.transform((0.5 * (left + right), 0.5 * (low + high))))
        taken.append(boxes[k])
    return clear


def _candidates(
    line: np.ndarray, size: np.ndarray, sides: tuple[float, ...]
) -> Iterator[np.ndarray]:
    """Yield middles of a name [pixels]: on the line first, then beside it."""
    n = len(line) - 1
    for beside in sides:
        for along in _ALONG:
            k = round(along * n)
            direction = line[min(k + 1, n)] - line[max(k - 1, 0)]
            normal = np.array([-direction[1], direction[0]])
            normal /= np.linalg.norm(normal) or 1.0
            yield line[k] + beside * normal * size


def _box(artist: Any) -> Box:
    extent = artist.get_window_extent()
    return extent.x0, extent.y0, extent.x1, extent.y1


def _around(middle: np.ndarray, size: np.ndarray) -> Box:
    (x, y), (w, h) = middle, size
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def _common(a: Box, b: Box) -> float:
    """Return the area that two boxes share."""
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    return max(w, 0.0) * max(h, 0.0)


def _inside(box: Box, points: np.ndarray) -> int:
    """Return how many points (n, 2) are in a box."""
    return int(np.all((points > box[:2]) & (points < box[2:]), axis=1).sum())
