"""Trails of points, and lines through several points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.animation.drawing import End, Rod, Trail
from mbd.base.checked import listed, meant, shown
from mbd.base.door import vector
from mbd.model.model import Model
from mbd.parts.part import Frame, Part

_POINT = "the name of a body, or (name, point in body axes [m])"


def trails(model: Model, ends: Any, colors: dict[str, str]) -> tuple[Trail, ...]:
    """Return the trails of bodies (their origins), frames, or pairs of a name and a point."""
    paths = []
    if isinstance(ends, str | Frame | Part):
        ends = [ends]
    for item in listed(f"animate: trails must be a list, each {_POINT}", ends):
        end = _end(model, item, "trail")
        paths.append(Trail(end, colors[end.frame.partition("/")[0]], f"path of {end.frame}"))
    return tuple(paths)


def lines(model: Model, sequences: Any, colors: dict[str, str], radius: float) -> list[Rod]:
    """Return bars between neighbours of each sequence of points; a radius [m]."""
    bars = []
    for line in listed(f"animate: lines must be a list of lists, each point {_POINT}", sequences):
        if isinstance(line, str) or not isinstance(line, Sequence) or len(line) < 2:
            raise TypeError(
                f"animate: a line must be two or more points, each of them {_POINT}, got "
                f"{shown(line)}"
            )
        ends = [_end(model, item, "line") for item in line]
        label = f"{ends[0].frame} to {ends[-1].frame}"
        color = colors[ends[0].frame.partition("/")[0]]
        bars += [Rod(pair, "rod", radius, color, "bodies", label) for pair in pairwise(ends)]
    return bars


def _end(model: Model, item: Any, what: str) -> End:
    """Return a point of a body."""
    name: Any = item
    point: Any = np.zeros(3)
    if isinstance(item, Frame):
        name, point = item.place, item.position
    elif isinstance(item, Part):
        name = item.name
    elif not isinstance(item, str):
        try:
            name, point = item
        except Exception:  # also what the value's own methods raise
            raise TypeError(f"animate: a {what} must be {_POINT}, got {shown(item)}") from None
    if not (isinstance(name, str) and name.partition("/")[0] in model.nodes):
        raise ValueError(
            f"animate: {what}s must be of bodies, got {shown(name)}"
            f"{meant(name, model.nodes)}; there are {', '.join(model.nodes)}"
        )
    return End(name, vector("animate", f"{what} of {name!r}", point, "m"))
