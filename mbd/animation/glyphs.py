"""Glyphs of joints, springs, drives and motors: how each symbol is drawn, on both bodies."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.animation.drawing import End, FixedShape, Rod, Track, Wire, over_time
from mbd.model.description import Description
from mbd.parts.part import Frame, Part, Symbol
from mbd.parts.shapes import Box, Cylinder, Shape, Sphere

_STEEL, _DARK, _SPRING, _MOTOR = "#8a929c", "#525b66", "#b0632b", "#2e7d32"

Drawn = FixedShape | Rod | Wire
# symbol of the part: (part, size g [m], tracks, label) -> what is drawn
Rule = Callable[[Any, float, dict[str, Track], str], Iterator[Drawn]]


def _end(frame: Frame) -> End:
    return End(frame.place, frame.position)


def _steel(frame: Frame, shape: Shape, label: str, color: str = _STEEL) -> FixedShape:
    return FixedShape(frame.place, shape, color, "joints", label)


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


def _revolute(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, _ = joint.ends
    yield _steel(A, Cylinder(0.6 * g, 3.4 * g, A.position, A.axes[:, 2]), label, _DARK)


def _ball(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    _, B = joint.ends
    yield _steel(B, Sphere(1.1 * g, B.position), label, _DARK)


def _universal(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    for i, frame in enumerate(joint.ends):
        axis = frame.axes[:, i]
        yield _steel(frame, Cylinder(0.45 * g, 3.4 * g, frame.position, axis), label, _DARK)


def _fixed(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, _ = joint.ends
    yield _steel(A, Box((1.9 * g,) * 3, A.position, A.axes), label, _DARK)


def _prismatic(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    middle, length = _rail(joint, g, tracks)
    yield _steel(A, Box((0.7 * g, 0.7 * g, length), middle, A.axes), label)
    yield _steel(B, Box((1.5 * g, 1.5 * g, 2.6 * g), B.position, B.axes), label, _DARK)


def _cylindrical(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    middle, length = _rail(joint, g, tracks)
    yield _steel(A, Cylinder(0.4 * g, length, middle, A.axes[:, 2]), label)
    yield _steel(B, Cylinder(0.9 * g, 2.6 * g, B.position, B.axes[:, 2]), label, _DARK)


def _on_line(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    middle, length = _rail(joint, g, tracks)
    yield _steel(A, Cylinder(0.3 * g, length, middle, A.axes[:, 2]), label)
    yield _steel(B, Sphere(0.8 * g, B.position), label, _DARK)


def _in_plane(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    yield _steel(A, _plate(joint, g, tracks), label, "#c9ced6")
    yield _steel(B, Sphere(0.8 * g, B.position), label, _DARK)


def _distance(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    yield Rod((_end(A), _end(B)), "rod", 0.4 * g, _STEEL, "joints", label)


def _disc(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    # a little smaller than the wheel: a shape of the body itself lies over it
    yield _steel(A, _plate(joint, g, tracks), label, "#c9ced6")
    r = 0.97 * joint.radius
    yield _steel(B, Cylinder(r, 0.08 * r, B.position, B.axes[:, 2]), label)


def _rolling(joint: Any, g: float, tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = joint.ends
    yield _steel(A, _plate(joint, g, tracks), label, "#c9ced6")
    yield _steel(B, Sphere(0.97 * joint.radius, B.position), label)


def _blade(joint: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    _, B = joint.ends
    yield _steel(B, Box((4 * g, 0.3 * g, 1.2 * g), B.position, B.axes), label, _DARK)


def _rope(rope: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    for first, second in pairwise(rope.ends):
        yield Rod((_end(first), _end(second)), "rod", 0.2 * g, _STEEL, "joints", label)


def _coil(spring: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, B = spring.ends
    yield Rod((_end(A), _end(B)), "coil", 1.1 * g, _SPRING, "springs", label)


def _spiral(spring: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, _ = spring.ends
    u = np.linspace(0, 1, 73)
    r, turn = (1 + 2 * u) * g, 6 * np.pi * u
    flat = np.column_stack([r * np.cos(turn), r * np.sin(turn), np.zeros_like(u)])
    yield Wire(A.place, A.position + flat @ A.axes.T, _SPRING, "springs", label)


def _block(bushing: Any, g: float, _tracks: dict[str, Track], label: str) -> Iterator[Drawn]:
    A, _ = bushing.ends
    yield FixedShape(A.place, Box((2.2 * g,) * 3, A.position, A.axes), _SPRING, "springs", label)


_RULES: dict[Symbol, Rule] = {
    Symbol.BALL: _ball,
    Symbol.BALL_ON_LINE: _on_line,
    Symbol.BALL_ON_PLATE: _in_plane,
    Symbol.BLADE: _blade,
    Symbol.BLOCK: _fixed,
    Symbol.COIL: _coil,
    Symbol.CROSS: _universal,
    Symbol.CUSHION: _block,
    Symbol.DISC: _disc,
    Symbol.HINGE: _revolute,
    Symbol.ROD: _distance,
    Symbol.ROPE: _rope,
    Symbol.SLEEVE: _cylindrical,
    Symbol.SLIDER: _prismatic,
    Symbol.SPIRAL: _spiral,
    Symbol.WHEEL: _rolling,
}


def draw_symbol(part: Part, g: float, tracks: dict[str, Track]) -> list[Drawn]:
    """Return the symbol of a part, of size g [m]; nothing for a part without one."""
    if part.symbol is None:
        return []
    return list(_RULES[part.symbol](part, g, tracks, f"{part.name} ({type(part).__name__})"))


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
