r"""Unwrapped angles: their full turns are counted while a run goes on.

From one accepted pose to the next an angle goes where its rate points, :math:`u_n + h\,\dot u`; of
the values :math:`u + 2\pi k` the nearest to that one is kept. Where no step was made
(statics, a pose) h is zero and the nearest to the last one counts. No force acts on the bodies:
the angle is part of the state, and results and continued runs take the full turns from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.interactions.gradients import value_of
from mbd.interactions.kind import Kind
from mbd.interactions.measures import Measure, unwrap
from mbd.interactions.pullback import each
from mbd.machine import buffer as m

ELAPSED = m.ELAPSED


@cache
def unwrapped_angle(measure: Measure) -> Kind:
    """Return the kind that counts the turns of a periodic measure; it needs no maps."""
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, rate = value(I, F, e, True)
        F[e.memory] = unwrap(u, F[e.memory] + F[ELAPSED] * rate)

    return Kind(f"turns of {measure.name}", measure.n, 0, (), None, None, accept=accept)
