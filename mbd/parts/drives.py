r"""Drives: a coordinate of a joint follows a law of time (a rheonomic row).

.. math:: \Phi = u - f(t) = 0 \qquad\text{or}\qquad g = \dot u - f(t) = 0

The multiplier is the load against the motion; ``solution[drive].load`` is the load of the motor
along the coordinate, :math:`-\lambda` [N m or N]: positive where it pushes the second body forward.
"""

from typing import Any, ClassVar

from mbd.base.door import label, number
from mbd.interactions.compliant_rows import compliant
from mbd.interactions.kind import Element
from mbd.interactions.laws import motion_law
from mbd.parts.coordinates import sum_row
from mbd.parts.interpolated import Interpolated, interpolated_motion
from mbd.parts.joint import chosen, compliance_of
from mbd.parts.motions import ConstantSpeed
from mbd.parts.part import Coordinate, Part


def followed(owner: str, what: str, position: Any, unit: str) -> tuple[float, float, Any]:
    """Return constant, slope and law of c + s t + f(t) for a number, or for a law of time."""
    if isinstance(position, ConstantSpeed):
        start = number(owner, "start", position.start, unit)
        return start, number(owner, "speed", position.speed, f"{unit}/s"), None
    if isinstance(position, Interpolated):
        if position.between != "spline":
            raise ValueError(
                f"{owner}: {what} by a {position.between!r} has velocities that jump; take "
                "between='spline', or drive a velocity"
            )
        return 0.0, 0.0, interpolated_motion(owner, position)
    if callable(position):
        return 0.0, 0.0, motion_law(owner, position, 2)
    return number(owner, what, position, unit), 0.0, None


class Drive(Part):
    r"""A coordinate of a joint is prescribed: position or velocity as a number or a law of time.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
        ``hinge`` or ``hinge.angle``.
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    position : float or callable [rad or m]
        A number locks the coordinate at it; ``ConstantSpeed``, ``SmoothStep``, ``Harmonic``; or a
        function ``f(t)`` -> value or (value, first, second derivative), Python or numba-jitted.
        Given derivatives are checked. Angles count full turns.
    velocity : float or callable [rad/s or m/s]
        Instead of the position: a number, an ``mbd.Interpolated``, or ``f(t)`` -> value or (value,
        derivative). The row is
        one on velocities: the position is what it is at the start and accumulates the error of
        the integration.
    compliance : float [rad/(N m) or m/N], optional
        C, by which the coordinate falls behind a prescribed position under its load, as that of an
        elastic shaft: :math:`u - f(t) = C\lambda`; default 0.

    Notes
    -----
    A law without derivatives is differentiated by differences over 4 ms around t: it must exist a
    little before the start, and the first accelerations are as good as these differences.
    """

    reads: ClassVar[dict[str, float]] = {"load": -1.0}
    coordinate: Coordinate

    def __init__(
        self, name: str, joint: Any, *, coordinate: str | None = None, position: Any = None,
        velocity: Any = None, compliance: float = 0.0,
    ) -> None:  # fmt: skip
        self.name = label(name, "Drive")
        self.coordinate = self.drives = chosen(self.name, joint, coordinate)
        self.units = {"load": self.coordinate.load_unit}
        if (position is None) == (velocity is None):
            got = "neither" if position is None else "both"
            raise ValueError(
                f"{self.name}: give position= or velocity= (a number or a law of time), got {got}"
            )
        self.rate = position is None
        unit = self.coordinate.unit
        if self.rate:
            self.law, self.constant, self.slope = None, 0.0, 0.0
            if isinstance(velocity, Interpolated):
                self.law = interpolated_motion(self.name, velocity)
            elif callable(velocity):
                self.law = motion_law(self.name, velocity, 1)
            else:
                self.constant = number(self.name, "velocity", velocity, f"{unit}/s")
        else:
            self.constant, self.slope, self.law = followed(self.name, "position", position, unit)
        per_load = f"{unit}/({self.coordinate.load_unit})"
        self.compliance = compliance_of(self.name, "compliance", compliance, per_load)
        if self.compliance and self.rate:
            raise ValueError(
                f"{self.name}: compliance needs a position to fall behind, got a velocity=, "
                "which prescribes none; give position=, such as mbd.ConstantSpeed(speed)"
            )

    def elements(self) -> list[Element]:
        """U - f(t), or du/dt - f(t)."""
        name = "velocity" if self.rate else "position"
        if self.compliance:
            numbers = (self.constant, self.slope, self.compliance)
            return [self.coordinate.element(compliant, numbers, name, self.law)]
        motion = {"constant": self.constant, "slope": self.slope, "law": self.law}
        return [sum_row((name,), (self.coordinate,), (1.0,), rate=self.rate, **motion)]
