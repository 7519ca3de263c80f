r"""Measured curves, and what sensors show of quantities of a run at their instants.

.. math:: \hat y(t) = g\,y(t - \tau) + b

with the gain g, the lag tau and the offset b of a sensor, which are fitted. A sensor that lags
shows what was at the start until the run is as old as that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from mbd.base.checked import called
from mbd.base.door import number

_RATE = 1e-3  # of the span of a curve over which it is differenced by the lag, relative


@dataclass(frozen=True, eq=False)
class Curve:
    """Measured values of a quantity.

    Attributes
    ----------
    label : str
        The quantity, of several experiments with the number of its own.
    key : str
        The quantity, however many experiments there are.
    name : str
        The quantity; empty if it is a function.
    of : callable
        ``of(run)``: the quantity at the instants of a run, (n,) or (n, k).
    t : (n,) array [s]
    values : (n, k) array
        NaN where there is none.
    sigma : (n, k) array, optional
    """

    label: str
    key: str
    name: str
    of: Callable[[Any], Any]
    t: np.ndarray
    values: np.ndarray
    sigma: np.ndarray | None

    def at(self, t: np.ndarray) -> "Curve":
        """Return the curve at other instants."""
        return replace(self, t=t)

    @property
    def there(self) -> np.ndarray:
        """Mask of the values that are there, (n, k)."""
        return np.isfinite(self.values)

    @property
    def spread(self) -> float:
        """Standard deviation of the values over time, or their size if they do not change."""
        some = [x[np.isfinite(x)] for x in self.values.T]
        off = np.concatenate([x - x.mean() for x in some if len(x)])
        size = float(np.abs(np.concatenate(some)).max())
        return float(np.sqrt(np.mean(off**2))) or size or 1.0


def sampled(
    who: str, solution: Any, curve: Curve, slope: tuple[np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    r"""Return a quantity of a run at the instants of a curve, by cubic splines S between events.

    With the derivatives of its values and of their instants, that at fixed instants,
    :math:`\partial y/\partial p - \dot S\,\partial t/\partial p`.
    """
    t = solution.t
    y = np.asarray(called(f"{who}: the function of {curve.label}", curve.of, solution), float)
    k = curve.values.shape[1]
    if y.shape != (len(t), k) and (y.shape != (len(t),) or k != 1):
        raise ValueError(
            f"{who}: {curve.label} has {k} measured components, and in the run the shape {y.shape} "
            f"at {len(t)} instants"
        )
    small = 1e-6 * (t[-1] - t[0])
    if curve.t.min() < t[0] - small or curve.t.max() > t[-1] + small:
        raise ValueError(
            f"{who}: {curve.label} is measured from {curve.t.min():g} to {curve.t.max():g} s, and "
            f"the run goes from {t[0]:g} to {t[-1]:g} s"
        )
    y, out = y.reshape(len(t), k), np.empty((len(curve.t), k))
    _check_finite(f"{who}: {curve.label} of the run", y, t)
    dy, dt = (y, None) if slope is None else (slope[0].reshape(len(t), k), slope[1])
    _check_finite(f"{who}: the derivative of {curve.label} of the run", dy, t)
    ends = [0, *(np.flatnonzero(np.diff(t) <= 0) + 1), len(t)]
    for first, last in pairwise(ends):
        here = (curve.t >= t[first]) | (first == 0)
        if last - first == 1:
            out[here] = dy[first]
            continue
        own, at = slice(first, last), curve.t[here]
        out[here] = CubicSpline(t[own], dy[own])(at)
        if dt is not None and dt[own].any():
            rate = CubicSpline(t[own], y[own])(at, 1)
            out[here] -= rate * np.interp(at, t[own], dt[own])[:, None]
    return out


def _check_finite(what: str, y: np.ndarray, t: np.ndarray) -> None:
    """Raise that values at instants, (n, k), are no numbers."""
    if not np.isfinite(y).all():
        row, column = np.argwhere(~np.isfinite(y))[0]
        raise ValueError(f"{what} is {y[row, column]} at t = {t[row]:.6g} s")


@dataclass(frozen=True)
class Sensor:
    """Numbers of a sensor that are fitted with the parameters of a model, and where they start.

    The names of its numbers are those of the quantity, "hinge.angle.offset". What is left out is
    that of an ideal sensor.

    Parameters
    ----------
    offset : float, optional [unit of the quantity]
        What it shows of zero.
    gain : float, optional [-]
        What it shows of one, without the offset.
    lag : float, optional [s]
        How long ago what it shows was.
    """

    offset: float | None = None
    gain: float | None = None
    lag: float | None = None

    def __post_init__(self) -> None:
        words = [x.name for x in fields(self)]
        for word in words:
            value = getattr(self, word)
            if value is not None:
                unit = {"gain": "-", "lag": "s"}.get(word, "of the quantity")
                number("Sensor", word, value, unit)
        if all(getattr(self, word) is None for word in words):
            raise ValueError("Sensor: give offset=, gain= or lag=, from which it is fitted")

    @property
    def starts(self) -> dict[str, float]:
        """Starting values of the numbers that are fitted, by name."""
        pairs = ((x.name, getattr(self, x.name)) for x in fields(self))
        return {word: float(x) for word, x in pairs if x is not None}


def shown_by(
    who: str,
    run: Any,
    curve: Curve,
    values: Mapping[str, float],
    slopes: Callable[[], Mapping[str, Any]],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return what the sensor of a curve shows of a run, (n, k), and its derivatives by name.

    ``slopes()`` are those of the quantity at all instants, and these instants, by parameters.
    """
    b, g, lag = (
        float(values.get(f"{curve.key}.{word}", ideal))
        for word, ideal in (("offset", 0.0), ("gain", 1.0), ("lag", 0.0))
    )
    start = float(run.t[0])

    def at(late: float, slope: Any = None) -> np.ndarray:
        then = curve if late == 0.0 else curve.at(np.maximum(curve.t - late, start))
        return sampled(who, run, then, slope)

    y = at(lag)
    by = {name: g * at(lag, slope) for name, slope in slopes().items()}
    by[f"{curve.key}.offset"], by[f"{curve.key}.gain"] = np.ones_like(y), y
    if f"{curve.key}.lag" in values:
        e = _RATE * float(np.diff(run.t).max())
        by[f"{curve.key}.lag"] = g * (at(lag + e) - at(lag - e)) / (2.0 * e)
    return g * y + b, by
