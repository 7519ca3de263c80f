r"""Transmissions: a linear combination of joint coordinates is constant or follows a law.

.. math:: \Phi = \sum_j k_j u_j - c - f(t) = 0

A transmission acts on coordinates of joints that exist besides it; gears that roll on each other
need no contact point, only the ratio. On coordinate :math:`u_j` it acts with the generalised force
:math:`-k_j\lambda` [N m or N].
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mbd.base.checked import shown, sized
from mbd.base.door import array, label, number
from mbd.base.dual import one, sqrt
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Element
from mbd.interactions.laws import motion_law
from mbd.interactions.measures import LENGTH
from mbd.machine.buffer import FORCE
from mbd.parts.coordinates import sum_row
from mbd.parts.joint import at_its_position, chosen
from mbd.parts.part import Body, Coordinate, Frame, Part, Symbol, listed


class Coupler(Part):
    r"""A linear combination of joint coordinates is constant, or a law of time.

    Parameters
    ----------
    name : str
    coordinates : sequence of Joint or Coordinate
        All kinds of joint coordinates, angles over full turns.
    factors : sequence of float
        [-], or [m/rad] and [rad/m] where angles and displacements are combined.
    value : float or callable, optional [rad or m]
        What the combination is; default what it is at the initial pose. A law ``f(t)`` as in
        ``Drive``.

    Notes
    -----
    ``solution[name].load`` is :math:`-\lambda`; coordinate j receives that times its factor.
    """

    reads: ClassVar[dict[str, float]] = {"load": -1.0}

    def __init__(
        self, name: str, coordinates: Sequence[Any], factors: Sequence[float], value: Any = None
    ) -> None:
        self.name = label(name, type(self).__name__)
        if isinstance(coordinates, (str, Coordinate)) or not isinstance(coordinates, Sequence):
            raise TypeError(
                f"{self.name}: coordinates must be a list such as [hinge.angle, "
                f"slider.displacement], got {shown(coordinates)}"
            )
        self.terms = tuple(chosen(self.name, x) for x in coordinates)
        k = np.atleast_1d(array(self.name, "factors", factors, "numbers in a list [-]"))
        self.factors = tuple(sized(self.name, "factors", k, "-").ravel().tolist())
        if not self.terms or len(self.terms) != len(self.factors):
            raise ValueError(
                f"{self.name}: there must be a factor for each coordinate, got "
                f"{len(self.terms)} coordinates and {len(self.factors)} factors"
            )
        total_of: dict[tuple[str, str], float] = {}
        for x, k in zip(self.terms, self.factors, strict=True):
            total_of[x.joint, x.name] = total_of.get((x.joint, x.name), 0.0) + k
        if not any(total_of.values()):
            raise ValueError(
                f"{self.name}: not all factors may be zero, or add up to zero for each coordinate "
                f"[-], got {self.factors}"
            )
        self.units = {"load": self.terms[0].load_unit}
        self.law = motion_law(self.name, value, 2) if callable(value) else None
        self.constant: float | None = None
        if self.law is not None:
            self.constant = 0.0
        elif value is not None:
            self.constant = number(self.name, "value", value, self.terms[0].unit)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """All bodies of the joints."""
        return tuple({b.name: b for x in self.terms for b in x.bodies}.values())

    def elements(self) -> list[Element]:
        """Return the row on the sum."""
        return [sum_row(("ratio",), self.terms, self.factors, constant=self.constant, law=self.law)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {list(self.terms)})"


class Gear(Coupler):
    r"""The second hinge turns ``ratio`` times as much as the first: :math:`u_2 - i\,u_1 = c`.

    Parameters
    ----------
    name : str
    first, second : Joint or Coordinate
        With angles; on one carrier or on two. On a carrier that moves take the hinges between
        carrier and wheels: then the ratio is that of the teeth whatever the carrier does.
    ratio : float [-]
        Negative for wheels that turn against each other: outer teeth with parallel axes,
        :math:`i = -r_1/r_2`.

    Notes
    -----
    ``solution[name].load`` is the moment on the second wheel about its axis [N m]; the first one
    receives :math:`-i` times that. Divided by :math:`r_2` it is the force between the teeth.
    """

    def __init__(self, name: str, first: Any, second: Any, *, ratio: float) -> None:
        i = number(name, "ratio", ratio, "-")
        super().__init__(name, (second, first), (1.0, -i))
        for x in self.terms:
            if x.unit != "rad":
                raise TypeError(
                    f"{self.name}: a Gear joins two angles, got {x!r}; use RackPinion or Coupler"
                )
        if i == 0:
            raise ValueError(f"{self.name}: ratio must not be zero [-]")
        two, one = ((x.joint, x.name) for x in self.terms)
        if one == two:
            raise ValueError(
                f"{self.name}: first and second must be two angles, got {self.terms[0]!r} twice; "
                "give the hinge of each wheel"
            )


class RackPinion(Coupler):
    r"""A rack moves by the rolled arc of its pinion: :math:`s - r\varphi = c`.

    Parameters
    ----------
    name : str
    pinion : Joint or Coordinate
        With an angle.
    rack : Joint or Coordinate
        With a displacement.
    radius : float [m]
        Of the pinion; negative where the rack moves against the angle.

    Notes
    -----
    ``solution[name].load`` is the force on the rack along its displacement [N]; the pinion receives
    the moment :math:`-r` times that.
    """

    def __init__(self, name: str, pinion: Any, rack: Any, *, radius: float) -> None:
        r = number(name, "radius", radius, "m")
        super().__init__(name, (rack, pinion), (1.0, -r))
        if [x.unit for x in self.terms] != ["m", "rad"]:
            raise TypeError(
                f"{self.name}: a RackPinion joins an angle (pinion) and a displacement (rack), got "
                f"{self.terms[1]!r} and {self.terms[0]!r}"
            )
        if r == 0:
            raise ValueError(f"{self.name}: radius must not be zero [m]")


class Rope(Part):
    r"""A taut rope over points: the sum of distances is constant, :math:`\sum |x_{i+1} - x_i| = L`.

    The inner points are small pulleys without friction or mass, on bodies or on ground: a block and
    tackle is a rope that visits a body several times. It pulls and pushes; look at ``tension``.

    Parameters
    ----------
    name : str
    points : sequence of body or Frame
        At least two, in order along the rope; a body stands for its origin.
    length : float [m], optional
        Default that at the initial pose.

    Notes
    -----
    ``solution[name].tension`` [N] is the multiplier. Points of a segment must not meet.
    """

    __repr__ = listed
    symbol = Symbol.ROPE
    reads: ClassVar[dict[str, float]] = {"tension": 1.0}
    units: ClassVar[dict[str, str]] = {"tension": "N"}

    def __init__(self, name: str, points: Sequence[Any], *, length: float | None = None) -> None:
        self.name = label(name, "Rope")
        if not isinstance(points, Sequence) or len(points) < 2:
            raise TypeError(f"{self.name}: points must be two bodies or Frames or more")
        for x in points:
            if not isinstance(x, Body | Frame):
                raise TypeError(f"{self.name}: points must be bodies or Frames, got {shown(x)}")
        self.ends = tuple(x.frame() if isinstance(x, Body) else x for x in points)
        at_its_position(self.name, *self.ends)
        if len({f.name for f in self.ends}) < 2:
            raise ValueError(f"{self.name}: must join two bodies or more")
        places = np.array([f.start[0] for f in self.ends])
        gaps = sqrt((np.diff(places, axis=0) ** 2).sum(1))
        if gaps.min() < 1e-9:
            raise ValueError(
                f"{self.name}: neighbouring points must not coincide, got the distances "
                f"{gaps.tolist()} [m]"
            )
        total = one(gaps.sum()) if length is None else length
        self.length = number(self.name, "length", total, "m", positive=True)

    def elements(self) -> list[Element]:
        """Return the row on the sum of the lengths."""
        n = len(self.ends) - 1
        ends = [f.end() for pair in pairwise(self.ends) for f in pair]
        numbers = (self.length, 0.0, *(1.0,) * n)
        return [Element(total((LENGTH,) * n), ends, numbers, (0.0,) * n, ("length",), (FORCE,))]
