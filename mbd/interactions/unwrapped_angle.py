"""Unwrapped angles: their full turns are counted while a run goes on (``turns.py``).

No force acts on the bodies: the angle is part of the state, and results and continued runs take the
full turns from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.interactions.gradients import value_of
from mbd.interactions.kind import Kind
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import each
from mbd.interactions.turns import keep


@cache
def unwrapped_angle(measure: Measure) -> Kind:
    """Return the kind that counts the turns of a periodic measure; it needs no maps."""
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, rate = value(I, F, e, True)
        keep(I, F, e.memory, u, rate)

    return Kind(f"turns of {measure.name}", measure.n, 0, (), None, None, accept=accept, turns=True)
