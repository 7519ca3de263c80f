r"""Springs and dampers, friction, motors and stops along a coordinate of a joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mbd.base.door import label, number
from mbd.interactions.kind import Element
from mbd.interactions.laws import spring_law
from mbd.interactions.springs import held, motor, rubbing, spring, stop
from mbd.parts.forces import tension_law
from mbd.parts.interpolated import Interpolated, interpolated_effort
from mbd.parts.joint import chosen
from mbd.parts.part import Coordinate, Part


class JointSpring(Part):
    r"""Spring and damper along a joint coordinate: :math:`-k(u - u_0) - c\,\dot u`, or a law.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    stiffness : float [N m/rad or N/m]
    damping : float [N m s/rad or N s/m]
        Of stiffness and damping one may be left out: it is zero.
    reference : float [rad or m]
        Free value u0; angles count full turns.
    law : callable, optional
        ``f(u, rate, t)`` -> force against the coordinate, or (force, d/du, d/drate), instead.
    """

    coordinate: Coordinate

    def __init__(
        self,
        name: str,
        joint: Any,
        *,
        coordinate: str | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        reference: float = 0.0,
        law: Callable[..., Any] | None = None,
    ) -> None:
        self.name = label(name, "JointSpring")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        if stiffness is None and damping is None and law is None:
            raise ValueError(
                f"{self.name}: give stiffness= [{u.load_unit}/{u.unit}], damping= [{u.load_unit} "
                f"s/{u.unit}] or law=, got none of them"
            )
        k, c = (0.0 if x is None else x for x in (stiffness, damping))
        self.stiffness = number(self.name, "stiffness", k, f"{u.load_unit}/{u.unit}")
        self.damping = number(self.name, "damping", c, f"{u.load_unit} s/{u.unit}")
        self.reference = number(self.name, "reference", reference, u.unit)
        self.law = tension_law(self.name, law, u.start)

    def elements(self) -> list[Element]:
        """Return the spring on the coordinate."""
        u = self.coordinate
        numbers = (self.stiffness, self.damping, self.reference, *u.numbers)
        return [Element(spring(u.measure), u.attachments, numbers, (u.start,), law=self.law)]


class JointFriction(Part):
    r"""Dry friction along a joint coordinate, smoothed near rest.

    .. math:: Q = -\mu\,\frac{\dot u}{\sqrt{\dot u^2 + v^2}}

    Under a load of half the friction the joint creeps at 0.58 v; from ten times v on the friction
    is whole but for half a percent.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    friction : float [N m or N]
        The effort mu that it takes to move the joint.
    speed : float [rad/s or m/s]
        The rate v below which friction is smooth.
    """

    coordinate: Coordinate

    def __init__(
        self,
        name: str,
        joint: Any,
        *,
        coordinate: str | None = None,
        friction: float,
        speed: float = 1e-2,
    ) -> None:
        self.name = label(name, "JointFriction")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        self.friction = number(self.name, "friction", friction, u.load_unit, positive=False)
        self.speed = number(self.name, "speed", speed, f"{u.unit}/s", positive=True)

    def elements(self) -> list[Element]:
        """Return the friction along the coordinate."""
        u = self.coordinate
        numbers = (self.friction, self.speed, *u.numbers)
        return [Element(rubbing(u.measure), u.attachments, numbers, (u.start,))]


class Motor(Part):
    """A torque or force along a joint coordinate: a number, or a law of u, rate and time.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    effort : float or callable [N m or N]
        Positive drives the second body forward along the coordinate. ``f(u, rate, t)`` -> effort,
        or (effort, d/du, d/drate), Python or numba-jitted; or an ``mbd.Interpolated`` of time.
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    """

    reads: ClassVar[dict[str, float]] = {"load": -1.0}
    coordinate: Coordinate

    def __init__(
        self, name: str, joint: Any, effort: Any, *, coordinate: str | None = None
    ) -> None:
        self.name = label(name, "Motor")
        u = self.coordinate = self.drives = chosen(self.name, joint, coordinate)
        self.units = {"load": u.load_unit}
        self.law, self.tension = None, None
        if isinstance(effort, Interpolated):
            self.law = interpolated_effort(self.name, effort)
        elif callable(effort):
            self.law = spring_law(self.name, effort, u.start, -1.0)
        else:
            self.tension = -number(self.name, "effort", effort, u.load_unit)

    def elements(self) -> list[Element]:
        """Return the force on the coordinate."""
        u = self.coordinate
        if self.tension is not None:
            numbers = (self.tension, *u.numbers)
            return [Element(held(u.measure), u.attachments, numbers, (u.start,))]
        numbers = (0.0, 0.0, 0.0, *u.numbers)
        return [Element(motor(u.measure), u.attachments, numbers, (u.start,), law=self.law)]


class Stop(Part):
    r"""Stops of a joint coordinate: one-sided stiff springs that push back, never pull.

    At a depth d behind a stop the force is :math:`k\,d\,(1 + e\,\dot d)`, not below zero.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    lower, upper : float [rad or m], optional
        Leave one out for a stop on one side.
    stiffness : float [N m/rad or N/m]
    dissipation : float [s/rad or s/m]
        The coefficient e: damping grows with the depth, so that an impact begins without a jump.
    """

    coordinate: Coordinate

    def __init__(
        self,
        name: str,
        joint: Any,
        *,
        coordinate: str | None = None,
        lower: float | None = None,
        upper: float | None = None,
        stiffness: float,
        dissipation: float = 0.0,
    ) -> None:
        self.name = label(name, "Stop")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        if lower is None and upper is None:
            raise ValueError(f"{self.name}: give lower= or upper= or both [{u.unit}]")
        self.lower = -np.inf if lower is None else number(self.name, "lower", lower, u.unit)
        self.upper = np.inf if upper is None else number(self.name, "upper", upper, u.unit)
        if not self.lower < self.upper:
            raise ValueError(
                f"{self.name}: lower must be below upper [{u.unit}], got {lower} and {upper}"
            )
        unit = f"{u.load_unit}/{u.unit}"
        self.stiffness = number(self.name, "stiffness", stiffness, unit, positive=True)
        self.dissipation = number(
            self.name, "dissipation", dissipation, f"s/{u.unit}", positive=False
        )

    def elements(self) -> list[Element]:
        """Return the stops on the coordinate."""
        u = self.coordinate
        numbers = (self.stiffness, self.dissipation, self.lower, self.upper, *u.numbers)
        return [Element(stop(u.measure), u.attachments, numbers, (u.start,))]

    def push(self, u: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return the load on the coordinate [N or N m]: upwards at the lower stop."""
        low, high = np.maximum(self.lower - u, 0.0), np.maximum(u - self.upper, 0.0)
        e = self.dissipation * rate
        return self.stiffness * (low * np.maximum(1.0 - e, 0.0) - high * np.maximum(1.0 + e, 0.0))
