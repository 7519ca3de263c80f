"""Glyphs of drives and motors: an arrow around the axis of a hinge, or along a slider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.animation.drawing import Wire
from mbd.model.description import Description

_COLOR = "#2e7d32"


def _around() -> np.ndarray:
    """Return three quarters of a circle about z with a head, of size 1."""
    turn = np.linspace(-0.25, 1.25, 49) * np.pi
    arc = 2.8 * np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    tip, along, out = arc[-1], np.cross((0, 0, 1), arc[-1]) / 2.8, arc[-1] / 2.8
    return np.vstack([arc, _head(tip, along, out)])


def _along() -> np.ndarray:
    """Return a line beside z with a head at either end, of size 1."""
    up, out = np.array([0.0, 0, 1]), np.array([1.0, 0, 0])
    low, high = 1.8 * out - 3 * up, 1.8 * out + 3 * up
    return np.vstack([low, _head(low, -up, out), high, _head(high, up, out)])


def _head(tip: np.ndarray, along: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the way along both barbs of an arrow and back to its tip."""
    return np.array([tip - 1.2 * along + 0.6 * out, tip, tip - 1.2 * along - 0.6 * out, tip])


# coordinate of a joint along or about the third axis of its frame A: what is drawn there
_SYMBOLS: dict[str, Callable[[], np.ndarray]] = {"angle": _around, "displacement": _along}


def draw_motors(system: Description, size: Callable[..., float]) -> list[Wire]:
    """Return the symbols of drives and motors; `size` gives that [m] of a symbol on some bodies."""
    wires = []
    for part in system.parts.values():
        if part.drives is None:
            continue
        joint: Any = system.joints.get(part.drives.joint)
        symbol = _SYMBOLS.get(part.drives.name)
        if joint is None or symbol is None:
            continue
        A = joint.A
        points = A.position + size(*(b.name for b in joint.bodies)) * symbol() @ A.axes.T
        label = f"{part.name} ({type(part).__name__})"
        wires.append(Wire(A.place, points, _COLOR, "joints", label))
    return wires
