r"""Springs and dampers, friction, motors and stops along a coordinate of a joint."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import label, number, within
from mbd.base.dual import chained, value_of
from mbd.interactions.kind import Element, Kind
from mbd.interactions.laws import spring_law
from mbd.interactions.measures import Measure
from mbd.interactions.set_valued import dry, rigid_stop
from mbd.interactions.springs import held, motor, rubbing, spring, stop
from mbd.parts.forces import tension_law
from mbd.parts.interpolated import Interpolated, interpolated_effort
from mbd.parts.joint import chosen
from mbd.parts.joints import Revolute
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
        self, name: str, joint: Any, *, coordinate: str | None = None,
        stiffness: float | None = None, damping: float | None = None, reference: float = 0.0,
        law: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
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
        numbers = (self.stiffness, self.damping, self.reference)
        return [self.coordinate.element(spring, numbers, law=self.law)]


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
        self, name: str, joint: Any, *, coordinate: str | None = None, friction: float,
        speed: float = 1e-2,
    ) -> None:  # fmt: skip
        self.name = label(name, "JointFriction")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        self.friction = number(self.name, "friction", friction, u.load_unit, positive=False)
        self.speed = number(self.name, "speed", speed, f"{u.unit}/s", positive=True)

    def elements(self) -> list[Element]:
        """Return the friction along the coordinate."""
        return [self.coordinate.element(rubbing, (self.friction, self.speed))]


class DryFriction(Part):
    r"""Dry friction along a joint coordinate that holds: what sticks stays.

    .. math:: |Q| \le F + \mu r|R_\perp| \ \text{at rest}, \qquad
              Q = -(F + \mu r|R_\perp|)\,\operatorname{sign}\dot u

    It is set-valued: ``simulate`` takes ``mbd.NonsmoothAlpha`` where a model has one. What is
    smooth near rest, and creeps there, is an ``mbd.JointFriction``.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    force : float [N or N m]
        F, at any load of the joint.
    coefficient, radius : float [-], [m], optional
        :math:`\mu` and r of the bearing of an ``mbd.Revolute``, whose force across the axis is
        :math:`R_\perp`, impacts included.
    static : float [-]
        Factor of what sticks, not below one.

    Notes
    -----
    ``solution[name].load`` is Q.
    """

    reads: ClassVar[dict[str, float]] = {"load": 1.0}
    coordinate: Coordinate

    def __init__(
        self, name: str, joint: Any, *, coordinate: str | None = None, force: float = 0.0,
        coefficient: float = 0.0, radius: float = 0.0, static: float = 1.0,
    ) -> None:  # fmt: skip
        self.name = label(name, "DryFriction")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        self.units = {"load": u.load_unit}
        self.force = number(self.name, "force", force, u.load_unit, positive=False)
        self.coefficient = number(self.name, "coefficient", coefficient, "-", positive=False)
        self.radius = number(self.name, "radius", radius, "m", positive=False)
        self.static = number(self.name, "static", static, "-", positive=True)
        if self.static < 1.0:
            raise ValueError(f"{self.name}: static must not be below 1 [-], got {static:g}")
        if (self.coefficient > 0.0) != (self.radius > 0.0):
            raise ValueError(
                f"{self.name}: a bearing has a coefficient [-] and a radius [m], got "
                f"{coefficient:g} and {radius:g}; give both or none"
            )
        if self.coefficient:
            if not isinstance(joint, Revolute):
                raise TypeError(
                    f"{self.name}: coefficient and radius are of the bearing of a Revolute, got "
                    f"{shown(joint)}; give a force= [{u.load_unit}]"
                )
            self.reaction_of = joint.name
        elif not self.force:
            raise ValueError(
                f"{self.name}: give force= [{u.load_unit}], above zero, or coefficient= and radius="
            )

    def elements(self) -> list[Element]:
        """Return the friction along the coordinate."""
        numbers = (self.coefficient * self.radius, self.static, 0.0, -self.force, self.force)
        return [one_row(dry, self.coordinate, numbers, "friction")]


class Freewheel(Part):
    r"""A joint coordinate that only goes forward, :math:`0\le\dot u\perp Q\ge 0`.

    A one-way clutch, a ratchet without teeth. It is set-valued: ``simulate`` takes
    ``mbd.NonsmoothAlpha`` where a model has one.

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    most : float [N or N m], optional
        Load from which it slips backwards; default none.
    drag : float [N or N m]
        Dry friction of what runs forward.

    Notes
    -----
    ``solution[name].load`` is Q.
    """

    reads: ClassVar[dict[str, float]] = {"load": 1.0}
    coordinate: Coordinate

    def __init__(
        self, name: str, joint: Any, *, coordinate: str | None = None, most: float | None = None,
        drag: float = 0.0,
    ) -> None:  # fmt: skip
        self.name = label(name, "Freewheel")
        u = self.coordinate = chosen(self.name, joint, coordinate)
        self.units = {"load": u.load_unit}
        self.most = (
            np.inf if most is None else number(self.name, "most", most, u.load_unit, positive=True)
        )
        self.drag = number(self.name, "drag", drag, u.load_unit, positive=False)

    def elements(self) -> list[Element]:
        """Return the row on the rate of the coordinate."""
        return [one_row(dry, self.coordinate, (0.0, 1.0, 0.0, -self.drag, self.most), "clutch")]


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
        if self.tension is not None:
            return [self.coordinate.element(held, (self.tension,))]
        return [self.coordinate.element(motor, (0.0, 0.0, 0.0), law=self.law)]


class Stop(Part):
    r"""Stops of a joint coordinate: rigid with a restitution, or stiff springs that never pull.

    A rigid stop is set-valued, :math:`0\le\Phi\perp p\ge 0`, and throws back with e of the
    velocity; ``simulate`` takes ``mbd.NonsmoothAlpha`` then. A spring exerts
    :math:`k\,d^n\,(1 + \chi\dot d)`, not below zero, at a depth d beyond the limit (Hunt and
    Crossley [1]_).

    Parameters
    ----------
    name : str
    joint : Joint or Coordinate
    coordinate : str, optional
        Which coordinate of the joint, where it has several.
    lower, upper : float [rad or m], optional
        Leave one out for a stop on one side.
    restitution : float [-], optional
        e, from 0 to 1, of a rigid stop; with ``stiffness`` and ``speed`` that of a spring, above 0.
    stiffness : float [N m/rad^n or N/m^n], optional
        k, of a spring instead.
    exponent : float [-]
        n of the spring, at least 1; 3/2 of round bodies (Hertz).
    dissipation : float [s/rad or s/m], optional
        The coefficient :math:`\chi` of the spring: damping grows with the depth, so that an impact
        begins without a jump.
    speed : float [rad/s or m/s], optional
        Of the impacts that a spring throws back with ``restitution``, which takes the place of
        ``dissipation``. Slower ones are thrown back with a larger part of their speed.

    Notes
    -----
    The multipliers of a rigid stop are its loads [N or N m], at least zero: of the lower limit,
    then of the upper one.

    A mass that meets the spring with the velocity u leaves it with e u, whatever its mass, k and n:

    .. math:: \int_{-eu}^{u} \frac{v}{1 + \chi v}\,dv = 0, \qquad
              \chi u\,(1 + e) = \ln\frac{1 + \chi u}{1 - \chi u\,e}

    Steps must resolve the contact, a time of :math:`\pi\sqrt{m/k}` for n = 1, by ten or more.

    References
    ----------
    .. [1] K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in
       vibroimpact, J. Appl. Mech. 42 (1975).
    """

    coordinate: Coordinate

    def __init__(
        self, name: str, joint: Any, *, coordinate: str | None = None, lower: float | None = None,
        upper: float | None = None, restitution: float | None = None,
        stiffness: float | None = None, exponent: float = 1.0, dissipation: float | None = None,
        speed: float | None = None,
    ) -> None:  # fmt: skip
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
        self.rigid = stiffness is None
        if restitution is None and stiffness is None:
            raise ValueError(
                f"{self.name}: give restitution= [-] of a rigid stop, or stiffness= "
                f"[{u.load_unit}/{u.unit}] of a spring, got neither"
            )
        self.exponent = number(self.name, "exponent", exponent, "-")
        if not self.exponent >= 1.0:
            raise ValueError(f"{self.name}: exponent must be at least 1 [-], got {exponent:g}")
        if restitution is not None:
            self.restitution = within(self.name, "restitution", restitution, "-", 0.0, 1.0)
        if stiffness is None:
            self._refuse_of_springs(dissipation, speed)
            return
        power = "" if self.exponent == 1.0 else f"^{self.exponent:g}"
        unit = f"{u.load_unit}/{u.unit}{power}"
        self.stiffness = number(self.name, "stiffness", stiffness, unit, positive=True)
        self.push = self._pushed
        loss = 0.0 if dissipation is None else dissipation
        self.dissipation = number(self.name, "dissipation", loss, f"s/{u.unit}", positive=False)
        if (restitution is None) != (speed is None) or not (speed is None or dissipation is None):
            raise ValueError(
                f"{self.name}: what a spring dissipates must be given by dissipation= [s/{u.unit}],"
                f" or by restitution= [-] and speed= [{u.unit}/s] of an impact, got dissipation "
                f"{shown(dissipation)}, restitution {shown(restitution)}, speed {shown(speed)}"
            )
        if speed is not None:
            self.speed = number(self.name, "speed", speed, f"{u.unit}/s", positive=True)
            self.dissipation = damping_of_impact(self.name, self.restitution) / self.speed

    def _refuse_of_springs(self, dissipation: float | None, speed: float | None) -> None:
        """Refuse what rigid stops do not have."""
        unit = self.coordinate.unit
        springs_have = {
            f"dissipation [s/{unit}]": dissipation,
            f"speed [{unit}/s]": speed,
            "exponent [-]": None if self.exponent == 1.0 else self.exponent,
        }
        for what, value in springs_have.items():
            if value is not None:
                raise ValueError(
                    f"{self.name}: {what} is of a spring, got {shown(value)} with restitution= "
                    "alone; leave it out, or give stiffness="
                )

    def elements(self) -> list[Element]:
        """Return the stops on the coordinate: two rigid ones are two laws, springs are one."""
        u = self.coordinate
        if not self.rigid:
            law = (self.stiffness, self.dissipation, self.lower, self.upper, self.exponent)
            return [u.element(stop, law)]
        sides = (("lower", 1.0, self.lower), ("upper", -1.0, self.upper))
        return [
            one_row(rigid_stop, u, (0.0, 0.0, self.restitution, sign, limit), side)
            for side, sign, limit in sides
            if np.isfinite(limit)
        ]

    def _pushed(self, u: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return the load on the coordinate [N or N m]: upwards at the lower stop."""
        low, high = np.maximum(self.lower - u, 0.0), np.maximum(u - self.upper, 0.0)
        e, n = self.dissipation * rate, self.exponent
        above, below = np.maximum(1.0 + e, 0.0), np.maximum(1.0 - e, 0.0)
        return self.stiffness * (low**n * below - high**n * above)


_SERIES = 24  # terms, for a up to 0.1


def damping_of_impact(owner: str, e: float) -> Any:
    r"""Return :math:`a = \chi u` of a spring that throws back with e of the velocity u.

    .. math:: g(a) = \int_{-e}^{1} \frac{s}{1 + as}\,ds
                   = \frac{1}{a}\Bigl(1 + e - \frac{1}{a}\ln\frac{1 + a}{1 - ae}\Bigr) = 0

    It falls with a from :math:`(1 - e^2)/2` to minus infinity at 1/e.
    """
    r = value_of(e)
    if not r > 0.0:
        raise ValueError(
            f"{owner}: restitution of a spring must be above 0 [-], got {r:g}; take a small number,"
            " or a rigid stop (without stiffness=)"
        )

    def g(a: float) -> float:  # or a g, of the same sign
        if a < 0.1:
            terms = ((-a) ** k * (1.0 - (-r) ** (k + 2)) / (k + 2) for k in range(_SERIES))
            return math.fsum(terms)
        left = 1.0 - a * r
        return 1.0 + r - math.log((1.0 + a) / left) / a if left > 0.0 else -math.inf

    low, high = 0.0, 1.0 / r
    while low < (a := 0.5 * (low + high)) < high:
        low, high = (a, high) if g(a) > 0.0 else (low, a)
    slope = r * a * (1.0 + a) / ((1.0 + r) * (1.0 - r - a * r)) if r < 1.0 else -1.5
    return chained(a if r < 1.0 else 0.0, [slope], np.array([e], object))


def one_row(
    kind: Callable[[Measure], Kind], u: Coordinate, numbers: tuple[float, ...], row: str
) -> Element:
    """Return a set-valued law of one row on a coordinate."""
    start = (u.start,) if u.measure.periodic else ()
    return Element(
        kind(u.measure), u.attachments, (*u.numbers, *numbers), start, (row,), (u.row_kind,)
    )
