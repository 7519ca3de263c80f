"""Rows on sums of joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Element
from mbd.machine.buffer import VELOCITY_ROW
from mbd.parts.coordinates import Coordinate

__all__ = ["sum_row"]


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
