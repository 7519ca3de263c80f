"""The mass of a bar between two points."""

from __future__ import annotations

from typing import Any

from mbd.base.door import label, number
from mbd.interactions.kind import Element
from mbd.interactions.masses.points import masses
from mbd.parts.joint import apart, at_its_position, two_points
from mbd.parts.part import Part, Symbol

_TWO_POINTS = masses(2)


class BarMass(Part):
    r"""The mass of a straight, uniform, thin bar between two points: its consistent mass matrix.

    Every point of the bar moves as the line between both ends does,
    :math:`x = (1 - s)x_1 + s x_2`, so that

    .. math:: T = \tfrac12\int_0^1 m\,\dot x\cdot\dot x\,ds, \qquad
              \frac m6\begin{bmatrix} 2 & 1\\ 1 & 2\end{bmatrix} \otimes I_3 .

    It has weight. What holds the ends together is something else: a Spring, a rod, a joint. Between
    ends at a fixed distance it is a rigid bar, its inertia about the middle m l^2/12 and none about
    its axis; on a spring the bar stretches evenly.

    Equation :eq:`bar-mass` of the theory page.

    Parameters
    ----------
    name : str
    first, second : body, ground, or Frame
    mass : float [kg]
    at, to : (3,) array [m], optional
        Points on the first and second body, inertial at the initial pose; default the origins.

    Examples
    --------
    A spring with a mass of its own, a third of which moves with the body at its end:

    >>> import mbd
    >>> system = mbd.System()
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, position=(1, 0, 0)))
    >>> spring = system.add(mbd.Spring("spring", system.ground, ball, stiffness=100.0))
    >>> system.add(mbd.BarMass("coils", system.ground, ball, mass=0.3))
    BarMass('coils')
    >>> mbd.modes(mbd.equilibrium(system)).frequency[-1].round(4).item()
    1.5175
    """

    symbol = Symbol.ROD

    def __init__(
        self, name: str, first: Any, second: Any, *, mass: float, at: Any = None, to: Any = None
    ) -> None:
        self.name = label(name, "BarMass")
        self.ends = self.A, self.B = two_points(self.name, first, second, at, to)
        apart(self.name, *self.ends)
        at_its_position(self.name, *self.ends)
        self.mass = number(self.name, "mass", mass, "kg", positive=True)

    def elements(self) -> list[Element]:
        """Return the masses of both points."""
        own, shared = self.mass / 3, self.mass / 6
        return [Element(_TWO_POINTS, [x.end() for x in self.ends], (own, shared, shared, own))]
