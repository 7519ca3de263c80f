r"""Derivatives by differences of order eight, at the largest distance where a function is smooth.

.. math:: f'(0) = \frac1s\sum_k w_k\, f(k s) + O(s^8)

The same values give an estimate of lower order and the eighth difference, which sees a kink at 0
itself. Where the estimates agree and that vanishes the function has no kink between the values;
elsewhere nearer values are asked, entry by entry. An entry for which that does not end, and which
is straight on either side of a break, has a kink or a jump at 0, and no derivative.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd.algebra.differences import EIGHTH
from mbd.base.tolerances import DERIVATIVE_EXACT, SENSITIVITY_KINK

#: parts of the first distance of the values
SHARES = (1.0, 1.0 / 64, 1.0 / 4096)
NOISE = 16 * np.finfo(float).eps  # of values, round-off
_GROWS = 4.0  # what is left out shrinks with the distance, of kinks it stays, round-off grows
_EVEN_SIDES = 0.1  # of the break between two straight sides, by which they may be uneven


class Fractions(NamedTuple):
    """The values k of a difference: weights of two estimates, and of what a kink at 0 leaves."""

    k: tuple[int, ...]
    high: tuple[float, ...]
    low: tuple[float, ...]
    even: tuple[float, ...]


_C8, _C6 = (4 / 5, -1 / 5, 4 / 105, -1 / 280), (3 / 4, -3 / 20, 1 / 60, 0.0)
_EVEN = (-56 / 64, 28 / 64, -8 / 64, 1 / 64)  # of the eighth difference, 40 for |k|
CENTRAL = Fractions(
    (0, *(s * k for k in (1, 2, 3, 4) for s in (1, -1))),
    (0.0, *(s * w for w in _C8 for s in (1, -1))),
    (0.0, *(s * w for w in _C6 for s in (1, -1))),
    (70 / 64, *(w for w in _EVEN for _ in (1, -1))),
)
PAIRS = tuple((k, w) for k, w in zip(CENTRAL.k, CENTRAL.high, strict=True) if k)
FORWARD = Fractions(
    tuple(range(9)),
    (-761 / 280, 8.0, -14.0, 56 / 3, -35 / 2, 56 / 5, -14 / 3, 8 / 7, -1 / 8),
    (-363 / 140, 7.0, -21 / 2, 35 / 3, -35 / 4, 21 / 5, -7 / 6, 1 / 7, 0.0),
    (0.0,) * 9,
)
BACKWARD = Fractions(*(tuple(-x for x in y) for y in FORWARD))  # type: ignore[arg-type]


class KinkError(ValueError):
    """A function that has no derivative where it is asked for."""


Values = Callable[[float], Sequence[np.ndarray]]


def _estimates(
    x: np.ndarray, step: float, of: Fractions, size: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return derivatives of values (9, ...), and how far these are from those of a polynomial."""
    high, low, even = np.tensordot(np.array(of[1:]) / step, x - x[0], 1)
    noise = NOISE * (np.abs(x).max(0) + size) / step
    return high, np.maximum(np.maximum(np.abs(high - low), np.abs(even)) - noise, 0.0)


def _is_broken(x: np.ndarray, of: Fractions, size: Any = 0.0) -> np.ndarray:
    """Tell which entries of values (9, ...) go straight but for one interval, or on from it.

    That is a jump or a kink, which at the nearest values is all that is left; round-off is uneven,
    or a step of its own size.
    """
    d = np.diff(x[np.argsort(of.k)], axis=0)
    broken = np.zeros(d.shape[1:], bool)
    least = NOISE * (np.abs(x).max(0) + size)
    for j in range(len(d)):
        sides = [part for part in (d[:j], d[j + 1 :]) if len(part)]
        means = [part.mean(0) for part in sides]
        apart = np.maximum(np.abs(means[0] - means[-1]), np.abs(d[j] - means[0]))
        even = sum(np.ptp(part, axis=0) for part in sides) < _EVEN_SIDES * apart
        broken |= even & (apart > least)
    return broken


def differentiated(
    values: Values, step: float, of: Fractions = CENTRAL, sizes: Sequence[float] = ()
) -> list[np.ndarray]:
    """Return the derivatives of several arrays, (...) each.

    Parameters
    ----------
    values : callable
        From a share of the step to the arrays at ``k share step``, (9, ...) each.
    step : float
        Distance of the values.
    sizes : sequence of float, optional
        Of numbers that each array is computed from, if these are larger than its own.
    """
    sizes = sizes or [0.0] * 99
    best: list[np.ndarray] = []
    errors: list[np.ndarray] = []
    rough: list[np.ndarray] = []  # entries for which nearer values are asked
    for share in SHARES:
        arrays, left = list(map(np.asarray, values(share))), False
        for j, x in enumerate(arrays):
            high, error = _estimates(x, share * step, of, sizes[j])
            if share == 1.0:
                best.append(high)
                errors.append(error)
                rough.append(_is_rough(error, high, sizes[j] / step))
            elif rough[j].any():
                nearer = rough[j] & (error < errors[j])
                rough[j] &= (error <= _GROWS * errors[j]) | _is_broken(x, of, sizes[j])
                best[j], errors[j] = np.where(nearer, (high, error), (best[j], errors[j]))
                rough[j] &= _is_rough(errors[j], best[j], sizes[j] / step)
            left |= bool(rough[j].any())
        if not left:
            break
    for j, x in enumerate(arrays):
        open_ = rough[j] & (errors[j] > SENSITIVITY_KINK * np.abs(best[j]).max(initial=0.0))
        if open_.any() and (open_ & _is_broken(x, of, sizes[j])).any():
            raise KinkError("has a kink here, and no derivative")
    return best


def _is_rough(error: np.ndarray, slope: np.ndarray, steepest: float) -> np.ndarray:
    """Tell where an error counts against slopes, and a change of the parameter by its own size."""
    return error > DERIVATIVE_EXACT * max(np.abs(slope).max(initial=0.0), EIGHTH * steepest)


def slope(f: Callable[[float], np.ndarray | float], step: float) -> np.ndarray:
    """Return the derivative of a function of one number at 0."""
    (of,) = differentiated(lambda share: [np.array([f(k * share * step) for k in CENTRAL.k])], step)
    return of
