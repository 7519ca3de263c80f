r"""Unwrapped angles: their full turns are counted while a run goes on.

From one accepted pose to the next an angle goes where its rate points, :math:`u_n + h\,\dot u`; of
the values :math:`u + 2\pi k` the nearest to that one is kept. Where no step was made
(statics, a pose) h is zero and the nearest to the last one counts. No force acts on the bodies:
the angle is part of the state, and results and continued runs take the full turns from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, store3
from mbd.interactions.kind import Kind
from mbd.interactions.measures import GRAD, XA, Measure, unwrap
from mbd.interactions.pullback import at
from mbd.machine import buffer as m
from mbd.machine.jit import kernel

__all__ = ["unwrapped_angle"]

ELAPSED, SCRATCH, Y, YD = m.ELAPSED, m.SCRATCH, m.Y, m.YD


@cache
def unwrapped_angle(measure: Measure) -> Kind:
    """Return the kind that counts the turns of a periodic measure; it needs no maps."""
    evaluate, n = measure.evaluate, measure.n

    @kernel
    def accept(I: Any, F: Any, k: int) -> None:
        s = I[SCRATCH]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            for a in range(n):
                store3(F, s + XA + 3 * a, at(I, F, Y, I[i + a]))
            u, rate = evaluate(F, s), 0.0
            for a in range(n):
                rate += dot(load3(F, s + GRAD + 3 * a), at(I, F, YD, I[i + a]))
            last = I[i + n + 2]
            F[last] = unwrap(u, F[last] + F[ELAPSED] * rate)

    return Kind(f"turns of {measure.name}", n, 0, (), None, None, accept=accept)
