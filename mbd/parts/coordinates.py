r"""Coordinates of joints: what a joint leaves free, as a measure on attachments.

An angle turns the second body against the first, is zero where the frames agree and counts full
turns; a displacement is :math:`a\cdot(Q - P)` along an axis of the first frame.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd.base.dual import arctan2, one
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import ANGLE, OFFSET, SLIDE, Measure
from mbd.machine.buffer import VELOCITY_ROW
from mbd.parts.part import Coordinate, Frame


class AngleBetween(NamedTuple):
    """The angle of axis k of a frame, from axis i towards axis j of another one, its base.

    ``base`` is the number, among the two frames of a joint, of the one that is the base.
    """

    i: int
    j: int
    k: int
    base: int = 0

    def frames(self, both: Sequence[Frame]) -> tuple[Frame, Frame]:
        """Return the base and the other one."""
        return both[self.base], both[1 - self.base]

    def attachments(self, both: Sequence[Frame]) -> tuple[Attachment, Attachment, Attachment]:
        """Return the axes i, j and k."""
        base, other = self.frames(both)
        return base.end(self.i), base.end(self.j), other.end(self.k)

    def of(self, joint: str, name: str, both: Sequence[Frame]) -> Coordinate:
        """Return the coordinate of a joint with these frames."""
        bodies = tuple(x.body for x in self.frames(both))
        (start,) = at_start([self], [both])
        return Coordinate(joint, name, "rad", bodies, start, ANGLE, self.attachments(both))


def at_start(angles: Sequence[AngleBetween], ends: Sequence[Sequence[Frame]]) -> list[float]:
    """Return the angles [rad] of some joints, with these frames, at the initial pose."""
    each = (x.frames(both) for x, both in zip(angles, ends, strict=True))
    a, b = (
        np.array([x.body.face_pose(x.face)[1] for x in some]) @ np.array([x.axes for x in some])
        for some in zip(*each, strict=True)
    )
    n, (i, j, k, _) = np.arange(len(angles)), np.array(angles).T
    b_in_a = (a * b[n, :, k, None]).sum(1)
    both = zip(b_in_a[n, j].tolist(), b_in_a[n, i].tolist(), strict=True)
    return [arctan2(y, x) for y, x in both]


def displacement_between(joint: str, name: str, base: Frame, i: int, other: Frame) -> Coordinate:
    """Return the displacement of another frame from the base along axis i of the base."""
    ends = (base.end(i), other.end(), base.end())
    origin, a = base.start
    start = one(a[:, i] @ (other.start[0] - origin))
    return Coordinate(joint, name, "m", (base.body, other.body), start, offset_along(base), ends)


def offset_along(base: Frame) -> Measure:
    """Return the measure of lengths along an axis of a frame: of a body that breathes, SLIDE."""
    return OFFSET if base.body.formulation.rigid else SLIDE


def sum_row(
    names: tuple[str], terms: Sequence[Coordinate], factors: Sequence[float], *,
    constant: float | None = None, slope: float = 0.0, law: Any = None, rate: bool = False,
) -> Element:  # fmt: skip
    """Return sum k u - c - s t - f(t) = 0; c is by default what the initial pose satisfies."""
    start = sum(k * x.start for k, x in zip(factors, terms, strict=True))
    of_terms = [z for k, x in zip(factors, terms, strict=True) for z in (k, *x.numbers)]
    return Element(
        total(tuple(x.measure for x in terms), rate), [end for x in terms for end in x.attachments],
        (start if constant is None else constant, slope, *of_terms), tuple(x.start for x in terms),
        rows=names, row_kinds=(VELOCITY_ROW if rate else terms[0].row_kind,), law=law,
    )  # fmt: skip
