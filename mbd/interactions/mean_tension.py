r"""Mean tensions over a step: discrete derivatives of the potential of a spring.

With the measure u going straight from :math:`u_0` to :math:`u_1`,

.. math:: \bar f = \int_0^1 f(u_0 + s\,(u_1 - u_0))\,ds = \frac{V(u_1) - V(u_0)}{u_1 - u_0},
          \qquad V' = f .

A linear spring and a stop have this in closed form. A law of the user's is integrated by the rules
of Lobatto (four points) and Kronrod (seven points, exact to degree nine) on pieces that are halved
until both agree: a smooth law takes one or two pieces, a kink or a jump is closed in upon. Rate and
time are those of the middle: what depends on them drives or dissipates and has no potential.

References
----------
.. [1] Quispel and McLaren, J. Phys. A 41 (2008): the average vector field. Gander and Gautschi, BIT
   40 (2000): the rules.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.interactions.law_evaluation import evaluate_law
from mbd.interactions.measures import LAW_IN, LAW_OUT
from mbd.machine import buffer as m
from mbd.machine.jit import jit

__all__ = ["mean_of_law", "mean_push", "mean_tension"]

_AGREE = 1e-13  # of the largest tension: difference of both rules on a piece, by its share
_PIECES = 400  # two jumps are closed in upon to round-off
_NODES = (0.0, 0.5 - math.sqrt(1 / 6), 0.5 - math.sqrt(0.05), 0.5)  # and mirrored
_KRONROD = (11 / 210, 72 / 245, 125 / 294, 16 / 35)  # weights on pieces of length two, as printed
_LOBATTO = (1 / 12, 0.0, 5 / 12, 0.0)
_RULE = tuple(
    (x, 0.5 * k, l)
    for x, k, l in (
        *zip(_NODES, _KRONROD, _LOBATTO, strict=True),
        *((1 - x, k, l) for x, k, l in zip(_NODES[:3], _KRONROD, _LOBATTO[:3], strict=False)),
    )
)  # fmt: skip


@jit
def mean_of_law(I: Any, F: Any, s: int, law: int, first: float, last: float) -> Any:
    """Return the means of f, of 2 x df/du with x from 0 to 1, and of df/d(rate)."""
    turn = last - first
    mean, stiff, damp, size = 0.0, 0.0, 0.0, 0.0
    at, width = 0.0, 1.0
    for piece in range(_PIECES):
        f, k, c, rough = 0.0, 0.0, 0.0, 0.0
        for x, weight, other in _RULE:
            place = at + width * x
            F[s + LAW_IN] = first + place * turn
            evaluate_law(I, F, law)
            now = F[s + LAW_OUT]
            f += weight * now
            rough += (weight - other) * now
            k += weight * place * F[s + LAW_OUT + 1]
            c += weight * F[s + LAW_OUT + 2]
            size = max(size, abs(now))
        if width * abs(rough) > _AGREE * size and piece < _PIECES // 2 and at + 0.5 * width > at:
            width *= 0.5
            continue
        mean += width * f
        stiff += 2 * width * k
        damp += width * c
        at += width
        if at >= 1.0:
            break
        width = min(2 * width, 1.0 - at)
    return mean, stiff, damp


@jit
def mean_tension(
    I: Any, F: Any, s: int, number: int, law: int, first: float, last: float, rate: float
) -> Any:
    """Return the mean of f, twice its derivative by the last measure, and that by the rate."""
    if law == 0:
        k, c, u0 = F[number], F[number + 1], F[number + 2]
        return k * (0.5 * (first + last) - u0) + c * rate, k, c
    F[s + LAW_IN + 1] = rate
    F[s + LAW_IN + 2] = F[m.T]
    return mean_of_law(I, F, s, law, first, last)


@jit
def _mean_depth(first: float, last: float) -> Any:
    """Return the mean of max(x, 0) from first to last, and twice its derivative by last."""
    if first >= 0.0 and last >= 0.0:
        return 0.5 * (first + last), 1.0
    if last > 0.0:
        share = last / (last - first)
        return 0.5 * share * last, (2.0 - share) * share
    if first > 0.0:
        share = first / (first - last)
        return 0.5 * share * first, share * share
    return 0.0, 0.0


@jit
def mean_push(
    I: Any, F: Any, s: int, number: int, law: int, first: float, last: float, rate: float
) -> Any:
    """Return the mean tension of two stops k d (1 + e d') and its derivatives, the same two."""
    k, e, low, high = F[number], F[number + 1], F[number + 2], F[number + 3]
    up, by_up = _mean_depth(first - high, last - high)
    down, by_down = _mean_depth(low - first, low - last)
    above, below = max(1.0 + e * rate, 0.0), max(1.0 - e * rate, 0.0)
    damp = k * e * ((up if above > 0.0 else 0.0) + (down if below > 0.0 else 0.0))
    return k * (above * up - below * down), k * (above * by_up + below * by_down), damp
