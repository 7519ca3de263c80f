r"""Coordinates of joints: what a joint leaves free, as a measure on attachments.

An angle turns the second body against the first, is zero where the frames agree and counts full
turns; a displacement is :math:`a\cdot(Q - P)` along an axis of the first frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Element
from mbd.interactions.measures import ANGLE, OFFSET, SLIDE, Measure
from mbd.machine.buffer import VELOCITY_ROW
from mbd.parts.part import Coordinate, Frame


def angle_between(
    joint: str, name: str, base: Frame, i: int, j: int, other: Frame, k: int
) -> Coordinate:
    """Return the angle of axis k of another frame, from axis i towards axis j of the base."""
    ends = (base.end(i), base.end(j), other.end(k))
    a, b = (x.body.face_pose(x.face)[1] @ x.axes for x in (base, other))
    start = math.atan2(a[:, j] @ b[:, k], a[:, i] @ b[:, k])
    return Coordinate(joint, name, "rad", (base.body, other.body), start, ANGLE, ends)


def displacement_between(joint: str, name: str, base: Frame, i: int, other: Frame) -> Coordinate:
    """Return the displacement of another frame from the base along axis i of the base."""
    ends = (base.end(i), other.end(), base.end())
    origin, a = base.start
    start = float(a[:, i] @ (other.start[0] - origin))
    return Coordinate(joint, name, "m", (base.body, other.body), start, offset_along(base), ends)


def offset_along(base: Frame) -> Measure:
    """Return the measure of lengths along an axis of a frame: of a body that breathes, SLIDE."""
    return OFFSET if base.body.formulation.rigid else SLIDE


def sum_row(
    names: tuple[str],
    terms: Sequence[Coordinate],
    factors: Sequence[float],
    *,
    constant: float | None = None,
    slope: float = 0.0,
    law: Any = None,
    rate: bool = False,
) -> Element:
    """Return sum k u - c - s t - f(t) = 0; c is by default what the initial pose satisfies."""
    start = sum(k * x.start for k, x in zip(factors, terms, strict=True))
    return Element(
        total(tuple(x.measure for x in terms), rate),
        [end for x in terms for end in x.attachments],
        (start if constant is None else constant, slope, *factors),
        tuple(x.start for x in terms),
        rows=names,
        row_kinds=(VELOCITY_ROW if rate else terms[0].row_kind,),
        law=law,
    )
