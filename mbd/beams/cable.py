"""Cables: a chain of mass points, and bars between them that only pull."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd.base.checked import flag, whole
from mbd.base.door import label, number, vector
from mbd.beams.clamps import clamped, rows_of
from mbd.beams.curve import Path
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import LENGTH
from mbd.interactions.springs import spring, tie
from mbd.parts.bodies import PointMass
from mbd.parts.joints import Spherical
from mbd.parts.part import Body, Part, Symbol
from mbd.parts.shapes import Sphere


class Cable(Part):
    r"""A cable without stiffness of bending: mass points, and bars between them that only pull.

    With the free length l0 of a bar its tension is

    .. math:: N = \max\Big(EA\,\big(\frac{l}{l_0} - 1\big) + \tau\,\frac{EA}{l_0}\,\dot l,\;0\Big) .

    Its nodes ``NAME.0 ... NAME.n`` have half the mass of the bars next to them. Errors of sag and
    tension fall with the second power of the length of a bar.

    Parameters
    ----------
    name : str
    points : (n, 3) array [m], or function of p in [0, 1]
        Line at the described pose, inertial: a smooth curve through the points, or straight pieces
        with ``smooth=False``.
    stiffness : float [N]
        EA, Young's modulus times the area.
    mass : float [kg/m]
        Per free length.
    elements : int
        Number of bars, of equal length in each smooth piece.
    length : float [m], optional
        Free length of the whole cable; default that of the line.
    slack : bool
        Whether bars go slack; without it they push too.
    damping : float [s]
        tau: tensions get the rate of strain times this, as EA times strain.
    first, last : Frame or body, optional
        To which the first and the last node are pinned, with reactions ``NAME`` "first ..." and
        "last ...".
    smooth : bool
    velocity : (3,) array [m/s]
        Of all nodes at the start.

    Notes
    -----
    ``solution[name]`` has ``tension`` (time, bars) [N], ``energy`` (time, bars) [J] and
    ``curve()``. What an end bears is the reaction, half the weight of the last bar beyond its
    tension. Over pulleys: a ``Rope`` from the last node on.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> line = system.add(mbd.Cable("line", points=[(0, 0, 0), (2, 0, -1), (4, 0, 0)],
    ...                             stiffness=1e4, mass=0.2, first=system.ground,
    ...                             last=system.ground))
    >>> sag = -mbd.equilibrium(system)["line.4"].position[2]
    """

    drawer = "structures"
    symbol = Symbol.ROPE

    def __init__(
        self, name: str, points: Any, *, stiffness: float, mass: float, elements: int = 8,
        length: float | None = None, slack: bool = True, damping: float = 0.0, first: Any = None,
        last: Any = None, smooth: bool = True, velocity: Any = (0.0, 0.0, 0.0),
    ) -> None:  # fmt: skip
        self.name = label(name, "Cable")
        n = whole(self.name, "elements", elements, 1)
        EA = number(self.name, "stiffness", stiffness, "N", positive=True)
        mu = number(self.name, "mass", mass, "kg/m", positive=True)
        tau = number(self.name, "damping", damping, "s", positive=False)
        path = Path(self.name, points, smooth)
        s, piece = path.nodes(n)
        free = path.length if length is None else length
        self.length = number(self.name, "length", free, "m", positive=True)
        self.stations = s * (self.length / path.length)  # free lengths at the nodes (n + 1,) [m]
        l0 = np.diff(self.stations)
        places = path.places(s, piece)
        if (gaps := np.linalg.norm(np.diff(places, axis=0), axis=1)).min() < 1e-9 * path.length:
            i = int(np.argmin(gaps))
            raise ValueError(
                f"{self.name}: nodes {i} and {i + 1} must not coincide, got {places[i].tolist()} "
                "[m] twice; take another number of elements"
            )
        m = 0.5 * mu * (np.concatenate([[0.0], l0]) + np.concatenate([l0, [0.0]]))
        v = vector(self.name, "velocity", velocity, "m/s")
        ball = Sphere(0.02 * path.length / len(l0))
        self._nodes = tuple(
            PointMass(
                f"{self.name}.{i}", mass=m[i], position=x.tolist(), velocity=v.tolist(), shape=ball
            )
            for i, x in enumerate(places)
        )
        kind = tie(LENGTH) if flag(self.name, "slack", slack) else spring(LENGTH)
        ends = [Attachment(x.name, (1.0, 0.0, 0.0, 0.0)) for x in self._nodes]
        self.bars = tuple(
            Element(kind, (a, b), (EA / l, tau * EA / l, l))
            for a, b, l in zip(ends[:-1], ends[1:], l0.tolist(), strict=True)
        )
        self.ends = tuple(x.frame() for x in self._nodes)  # between which it is drawn
        self.clamps = clamped(self.name, Spherical, first, self.first, last, self.last)

    @property
    def first(self) -> PointMass:
        """The first node."""
        return self._nodes[0]

    @property
    def last(self) -> PointMass:
        """The last node."""
        return self._nodes[-1]

    def nodes(self) -> tuple[PointMass, ...]:
        """Return the mass points."""
        return self._nodes

    @property
    def bodies(self) -> Sequence[Body]:
        """Nodes, and bodies to which the ends are pinned."""
        return (*self._nodes, *(joint.A.body for _, joint in self.clamps))

    def elements(self) -> list[Element]:
        """Return the bars, and the rows that pin the ends."""
        return [*self.bars, *rows_of(self.clamps)]

    def __repr__(self) -> str:
        return f"Cable({self.name!r}, length={self.length:.6g}, elements={len(self.bars)})"
