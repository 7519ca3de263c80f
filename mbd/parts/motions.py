r"""Laws of time for drives, with exact derivatives: (f, f', f'') at t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mbd.base.door import number


def _check_numbers(motion: Any, *units: tuple[str, str]) -> None:
    """Check the numbers of a motion, each with its unit."""
    for name, unit in units:
        value = number(type(motion).__name__, name, getattr(motion, name), unit)
        object.__setattr__(motion, name, value)


@dataclass(frozen=True)
class ConstantSpeed:
    """start + speed t; evaluated in the compiled loop, without a call-back.

    Parameters
    ----------
    speed : float [rad/s or m/s]
    start : float [rad or m]
        At t = 0.
    """

    speed: float
    start: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(self, ("speed", "rad/s or m/s"), ("start", "rad or m"))

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        return self.start + self.speed * t, self.speed, 0.0


@dataclass(frozen=True)
class Harmonic:
    r"""mean + amplitude sin(frequency t + phase).

    Parameters
    ----------
    amplitude : float [rad or m]
    frequency : float [rad/s]
    phase : float [rad]
    mean : float [rad or m]
    """

    amplitude: float
    frequency: float
    phase: float = 0.0
    mean: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(
            self, ("amplitude", "rad or m"), ("frequency", "rad/s"), ("phase", "rad"),
            ("mean", "rad or m"),
        )  # fmt: skip

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        w, x = self.frequency, self.frequency * t + self.phase
        wave = self.amplitude * math.sin(x)
        return self.mean + wave, self.amplitude * w * math.cos(x), -w * w * wave


@dataclass(frozen=True)
class SmoothStep:
    r"""From one value to another without a jump of the acceleration.

    :math:`f = a + (b - a)(10 s^3 - 15 s^4 + 6 s^5)`, :math:`s = (t - t_0)/(t_1 - t_0)` in [0, 1].

    Parameters
    ----------
    start, end : float [rad or m]
        Values a and b.
    t_start, t_end : float [s]
        Times t0 and t1.
    """

    start: float
    end: float
    t_start: float
    t_end: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_numbers(
            self, ("start", "rad or m"), ("end", "rad or m"), ("t_start", "s"), ("t_end", "s")
        )
        if not self.t_end > self.t_start:
            raise ValueError(
                f"SmoothStep: t_end must lie behind t_start [s], got {self.t_start} and "
                f"{self.t_end}"
            )
        if self.t_end - self.t_start < 1e-100:
            raise ValueError(
                f"SmoothStep: t_end must lie at least 1e-100 s behind t_start, got "
                f"{self.t_end - self.t_start} s"
            )

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        T, b = self.t_end - self.t_start, self.end - self.start
        s = min(max((t - self.t_start) / T, 0.0), 1.0)
        r = s * (1 - s)
        f = s * s * s * (10 - 15 * s + 6 * s * s)
        return self.start + b * f, b * 30 * r * r / T, b * 60 * r * (1 - 2 * s) / (T * T)
