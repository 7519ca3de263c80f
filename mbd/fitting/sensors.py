r"""Sensors: what a measured curve is of a quantity, with numbers of the sensor that are fitted.

.. math:: \hat y(t) = g\,y(t - \tau) + b

with the gain g, the lag tau and the offset b. A sensor that lags shows what was at the start until
the run is as old as that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mbd.base.door import number
from mbd.fitting.curve import Curve, sampled

_RATE = 1e-3  # of the span of a curve over which it is differenced by the lag, relative


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
