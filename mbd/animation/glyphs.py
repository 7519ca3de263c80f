"""Glyphs of joints, springs, drives and motors: how each symbol is drawn, on both bodies."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.animation.drawing import End, FixedShape, Rod, Track, Wire, over_time
from mbd.model.description import Description
from mbd.parts.part import Frame, Part, Symbol
from mbd.parts.shapes import Box, Cylinder, Shape, Sphere

_STEEL, _DARK, _PLATE = "#8a929c", "#525b66", "#c9ced6"
_SPRING, _MOTOR = "#b0632b", "#2e7d32"

Drawn = FixedShape | Rod | Wire


def _end(frame: Frame) -> End:
    return End(frame.place, frame.position)


def _travel(joint: Any, tracks: dict[str, Track]) -> np.ndarray:
    """Return where B goes in the frame A: the corners (2, 3) of a box, in the axes of A."""
    n = len(next(iter(tracks.values())).position)
    A, B = joint.ends
    d = over_time(tracks, _end(B), n) - over_time(tracks, _end(A), n)
    axes = A.axes if A.name == "ground" else tracks[A.place].matrix @ A.axes
    d = np.einsum("...cj,...c->...j", axes, d)
    return np.array([d.min(0), d.max(0)])


def _rail(joint: Any, g: float, tracks: dict[str, Track]) -> tuple[np.ndarray, float]:
    """Return middle and length of the line along which B goes in A."""
    A, _ = joint.ends
    low, high = _travel(joint, tracks)[:, 2]
    return A.position + A.axes[:, 2] * (low + high) / 2, high - low + 6 * g


def _plate(joint: Any, g: float, tracks: dict[str, Track]) -> Box:
    A, _ = joint.ends
    low, high = _travel(joint, tracks)
    middle = A.position + A.axes[:, :2] @ (low + high)[:2] / 2
    size = (*(high - low + 8 * g)[:2], 0.1 * g)
    return Box(size, at=middle, rotation=A.axes)


def _solids(
    part: Any, g: float, tracks: dict[str, Track]
) -> Sequence[tuple[Frame, Shape] | tuple[Frame, Shape, str]]:
    """Return the solids of a joint: the frame each is fixed to, and its colour if it is not dark.

    A wheel is a little smaller than it is: a shape of the body itself lies over it.
    """
    A, B = part.ends[0], part.ends[-1]
    p, q, a, b = A.position, B.position, A.axes[:, 2], B.axes[:, 2]
    match part.symbol:
        case Symbol.HINGE:
            return [(A, Cylinder(0.6 * g, 3.4 * g, p, a))]
        case Symbol.BALL:
            return [(B, Sphere(1.1 * g, q))]
        case Symbol.CROSS:
            return [(x, Cylinder(0.45 * g, 3.4 * g, x.position, x.axes[:, i]))
                    for i, x in enumerate(part.ends)]  # fmt: skip
        case Symbol.BLOCK:
            return [(A, Box((1.9 * g,) * 3, p, A.axes))]
        case Symbol.BLADE:
            return [(B, Box((4 * g, 0.3 * g, 1.2 * g), q, B.axes))]
        case Symbol.BALL_ON_PLATE:
            return [(A, _plate(part, g, tracks), _PLATE), (B, Sphere(0.8 * g, q))]
        case Symbol.DISC:
            r = 0.97 * part.radius
            disc = Cylinder(r, 0.08 * r, q, b)
            return [(A, _plate(part, g, tracks), _PLATE), (B, disc, _STEEL)]
        case Symbol.WHEEL:
            ball = Sphere(0.97 * part.radius, q)
            return [(A, _plate(part, g, tracks), _PLATE), (B, ball, _STEEL)]
    m, length = _rail(part, g, tracks)
    match part.symbol:
        case Symbol.SLIDER:
            rail, size = Box((0.7 * g, 0.7 * g, length), m, A.axes), (1.5 * g, 1.5 * g, 2.6 * g)
            return [(A, rail, _STEEL), (B, Box(size, q, B.axes))]
        case Symbol.SLEEVE:
            axle, sleeve = Cylinder(0.4 * g, length, m, a), Cylinder(0.9 * g, 2.6 * g, q, b)
            return [(A, axle, _STEEL), (B, sleeve)]
        case Symbol.BALL_ON_LINE:
            return [(A, Cylinder(0.3 * g, length, m, a), _STEEL), (B, Sphere(0.8 * g, q))]
    raise KeyError(part.symbol)


def draw_symbol(part: Part, g: float, tracks: dict[str, Track]) -> list[Drawn]:
    """Return the symbol of a part, of size g [m]; nothing for a part without one."""
    label, ends = f"{part.name} ({type(part).__name__})", [_end(x) for x in part.ends]
    match part.symbol:
        case None:
            return []
        case Symbol.ROD:
            return [Rod((ends[0], ends[1]), "rod", 0.4 * g, _STEEL, "joints", label)]
        case Symbol.ROPE:
            return [Rod(x, "rod", 0.2 * g, _STEEL, "joints", label) for x in pairwise(ends)]
        case Symbol.COIL:
            return [Rod((ends[0], ends[1]), "coil", 1.1 * g, _SPRING, "springs", label)]
        case Symbol.SPIRAL:
            A, u = part.ends[0], np.linspace(0, 1, 73)
            r, turn = (1 + 2 * u) * g, 6 * np.pi * u
            flat = np.column_stack([r * np.cos(turn), r * np.sin(turn), np.zeros_like(u)])
            return [Wire(A.place, A.position + flat @ A.axes.T, _SPRING, "springs", label)]
        case Symbol.CUSHION:
            A = part.ends[0]
            block = Box((2.2 * g,) * 3, A.position, A.axes)
            return [FixedShape(A.place, block, _SPRING, "springs", label)]
    return [
        FixedShape(frame.place, shape, color[0] if color else _DARK, "joints", label)
        for frame, shape, *color in _solids(part, g, tracks)
    ]


def _around() -> np.ndarray:
    """Return three quarters of a circle about z with a head, of size 1."""
    turn = np.linspace(-0.25, 1.25, 49) * np.pi
    arc = 2.8 * np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    tip, along, out = arc[-1], np.cross((0, 0, 1), arc[-1]) / 2.8, arc[-1] / 2.8
    return np.vstack([arc, _head(tip, along, out)])


def _both_ways() -> np.ndarray:
    """Return a line beside z with a head at either end, of size 1."""
    up, out = np.array([0.0, 0, 1]), np.array([1.0, 0, 0])
    low, high = 1.8 * out - 3 * up, 1.8 * out + 3 * up
    return np.vstack([low, _head(low, -up, out), high, _head(high, up, out)])


def _head(tip: np.ndarray, along: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return the way along both barbs of an arrow and back to its tip."""
    return np.array([tip - 1.2 * along + 0.6 * out, tip, tip - 1.2 * along - 0.6 * out, tip])


# coordinate of a joint along or about the third axis of its frame A: what is drawn there
_DRIVEN: dict[str, Callable[[], np.ndarray]] = {"angle": _around, "displacement": _both_ways}


def draw_motors(system: Description, size: Callable[..., float]) -> list[Wire]:
    """Return the symbols of drives and motors; `size` gives that [m] of a symbol on some bodies."""
    wires = []
    for part in system.parts.values():
        if part.drives is None:
            continue
        joint: Any = system.joints.get(part.drives.joint)
        symbol = _DRIVEN.get(part.drives.name)
        if joint is None or symbol is None:
            continue
        A = joint.A
        points = A.position + size(*(b.name for b in joint.bodies)) * symbol() @ A.axes.T
        label = f"{part.name} ({type(part).__name__})"
        wires.append(Wire(A.place, points, _MOTOR, "joints", label))
    return wires
