r"""Laws of time for drives, with exact derivatives: (f, f', f'') at t."""

import math

from mbd.base.door import number
from mbd.base.recorded_call import Recorded


class ConstantSpeed(Recorded):
    """start + speed t; evaluated in the compiled loop, without a call-back.

    Parameters
    ----------
    speed : float [rad/s or m/s]
    start : float [rad or m]
        At t = 0.
    """

    def __init__(self, speed: float, start: float = 0.0) -> None:
        self.speed = number("ConstantSpeed", "speed", speed, "rad/s or m/s")
        self.start = number("ConstantSpeed", "start", start, "rad or m")

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        return self.start + self.speed * t, self.speed, 0.0


class Harmonic(Recorded):
    r"""mean + amplitude sin(frequency t + phase).

    Parameters
    ----------
    amplitude : float [rad or m]
    frequency : float [rad/s]
    phase : float [rad]
    mean : float [rad or m]
    """

    def __init__(
        self, amplitude: float, frequency: float, phase: float = 0.0, mean: float = 0.0
    ) -> None:
        self.amplitude = number("Harmonic", "amplitude", amplitude, "rad or m")
        self.frequency = number("Harmonic", "frequency", frequency, "rad/s")
        self.phase = number("Harmonic", "phase", phase, "rad")
        self.mean = number("Harmonic", "mean", mean, "rad or m")

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        w, x = self.frequency, self.frequency * t + self.phase
        wave = self.amplitude * math.sin(x)
        return self.mean + wave, self.amplitude * w * math.cos(x), -w * w * wave


class SmoothStep(Recorded):
    r"""From one value to another without a jump of the acceleration.

    :math:`f = a + (b - a)(10 s^3 - 15 s^4 + 6 s^5)`, :math:`s = (t - t_0)/(t_1 - t_0)` in [0, 1].

    Parameters
    ----------
    start, end : float [rad or m]
        Values a and b.
    t_start, t_end : float [s]
        Times t0 and t1.
    """

    def __init__(self, start: float, end: float, t_start: float, t_end: float) -> None:
        self.start = number("SmoothStep", "start", start, "rad or m")
        self.end = number("SmoothStep", "end", end, "rad or m")
        self.t_start = number("SmoothStep", "t_start", t_start, "s")
        self.t_end = number("SmoothStep", "t_end", t_end, "s")
        if not self.t_end - self.t_start >= 1e-100:
            raise ValueError(
                f"SmoothStep: t_end must lie at least 1e-100 s after t_start, got {self.t_start} "
                f"and {self.t_end} s"
            )

    def __call__(self, t: float) -> tuple[float, float, float]:
        """Return the value at t [s] and its two derivatives."""
        T, b = self.t_end - self.t_start, self.end - self.start
        s = min(max((t - self.t_start) / T, 0.0), 1.0)
        r = s * (1 - s)
        f = s * s * s * (10 - 15 * s + 6 * s * s)
        return self.start + b * f, b * 30 * r * r / T, b * 60 * r * (1 - 2 * s) / (T * T)
