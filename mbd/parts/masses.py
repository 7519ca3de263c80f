"""Parts with mass that are no bodies: bars between points, the fluid around a body."""

from math import pi, sqrt
from sys import float_info
from typing import Any

import numpy as np

from mbd.base.checked import numbers
from mbd.base.door import label, number, rotation_matrix, symmetric
from mbd.base.dual import plain
from mbd.interactions.kind import Element
from mbd.interactions.masses.added_mass import ADDED_MASS
from mbd.interactions.masses.points import masses
from mbd.parts.joint import acted_upon, frame_at, needs_axes, of_one_size, two_ends
from mbd.parts.part import Frame, Part, Symbol

_TWO_POINTS = masses(2)
_DUPLICATIONS = 40  # each takes three quarters of what is left: more than enough for any shape


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
        self.ends = self.A, self.B = two_ends(self.name, first, second, at, to)
        self.mass = number(self.name, "mass", mass, "kg", positive=True)

    def elements(self) -> list[Element]:
        """Return the masses of both points."""
        own, shared = self.mass / 3, self.mass / 6
        return [Element(_TWO_POINTS, [x.end() for x in self.ends], (own, shared, shared, own))]


class AddedMass(Part):
    r"""The inertia of the fluid that a body moves: a symmetric 6x6 matrix in axes of the body.

    With the velocity U of a point and the angular velocity :math:`\Omega`, along axes fixed to the
    body, the fluid has the energy and the impulse

    .. math:: T = \tfrac12 V^TAV, \qquad p = AV, \qquad V = (U, \Omega),

    and acts on the body by Kirchhoff's equations. For an ideal fluid that is at rest far away; its
    motion depends on that of the body alone. It has no weight: buoyancy is a force of its own.
    Methods that conserve energy refuse it.

    Equation :eq:`added-mass` of the theory page.

    Parameters
    ----------
    name : str
    body : RigidBody, FlexibleBody or Frame
        A Frame says point and axes, in place of ``at`` and ``axes``.
    matrix : (6,) or (6, 6) array [kg, kg m, kg m^2]
        Three translations, then three rotations: diagonal, or full symmetric matrix; positive
        semidefinite.
    at : (3,) array [m], optional
        The point, inertial at the initial pose; default the origin of the body.
    axes : (3, 3) array [-], optional
        Inertial at the initial pose, columns; default the axes of the body.

    References
    ----------
    .. [1] H. Lamb, Hydrodynamics, 6th ed., 1932, articles 114 to 124.

    Examples
    --------
    Of a sphere it is half of the displaced mass:

    >>> import mbd
    >>> ball = mbd.RigidBody("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    >>> water = mbd.AddedMass.ellipsoid("water", ball, (0.1, 0.1, 0.1), density=1000.0)
    >>> water.matrix.diagonal().round(4).tolist()
    [2.0944, 2.0944, 2.0944, 0.0, 0.0, 0.0]
    """

    def __init__(
        self, name: str, body: Any, matrix: Any, *, at: Any = None, axes: Any = None
    ) -> None:
        self.name = label(name, "AddedMass")
        self.body = acted_upon(self.name, body, frames=True)
        needs_axes(self.name, "added mass", self.body)
        frame = frame_at(self.name, body, at)
        if axes is not None:
            if isinstance(body, Frame):
                raise ValueError(f"{self.name}: a Frame says its axes; leave out axes=")
            turned = rotation_matrix(self.name, "axes", axes)
            frame = self.body.placed_frame(frame.start[0], turned)
        of_one_size(self.name, "move a fluid", frame)
        self.frame = frame
        self.matrix = _semidefinite(self.name, matrix)

    @classmethod
    def ellipsoid(
        cls, name: str, body: Any, semi_axes: Any, density: float, *, at: Any = None,
        axes: Any = None,
    ) -> "AddedMass":  # fmt: skip
        r"""Return the added mass of an ellipsoid in unbounded fluid about its centre.

        With the semi-axes a, b, c, the displaced mass :math:`m = \tfrac43\pi\rho\,abc` and

        .. math:: \alpha_0 = abc\int_0^\infty \frac{d\lambda}{(a^2 + \lambda)
                  \sqrt{(a^2 + \lambda)(b^2 + \lambda)(c^2 + \lambda)}}

        it is :math:`\alpha_0/(2 - \alpha_0)\,m` along a, and about a

        .. math:: \frac{(b^2 - c^2)^2(\gamma_0 - \beta_0)}
                  {2(b^2 - c^2) + (b^2 + c^2)(\beta_0 - \gamma_0)}\,\frac m5 .

        Parameters
        ----------
        name : str
        body : RigidBody, FlexibleBody or Frame
        semi_axes : (3,) array [m]
        density : float [kg/m^3]
            Of the fluid.
        at, axes
            As of ``AddedMass``: centre and principal axes.
        """
        owner = label(name, cls.__name__)
        size = numbers(owner, "semi_axes", semi_axes, ((3,),), "m")
        if not (size > 0.0).all():
            raise ValueError(f"{owner}: semi_axes must be positive [m], got {size.tolist()}")
        rho = number(owner, "density", density, "kg/m^3", positive=True)
        diagonal = 4 / 3 * pi * rho * float(size.prod()) * np.array(_of_ellipsoid(*size.tolist()))
        return cls(name, body, diagonal, at=at, axes=axes)

    def elements(self) -> list[Element]:
        """Return the mass on a point and three axes."""
        ends = [self.frame.end(axis) for axis in (None, 0, 1, 2)]
        return [Element(ADDED_MASS, ends, self.matrix.ravel().tolist())]


def _semidefinite(owner: str, matrix: Any) -> np.ndarray:
    """Return a symmetric (6, 6) matrix that has no negative energy."""
    A = symmetric(owner, "matrix", matrix, "kg, kg m, kg m^2")
    size = np.sqrt(np.abs(plain(A).diagonal()))  # lengths of any unit
    even = plain(A) / np.where(size > 0.0, size, 1.0) / np.where(size > 0.0, size, 1.0)[:, None]
    values, vectors = np.linalg.eigh(even)
    if values[0] < -1e-9 * abs(values[-1]):
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        raise ValueError(
            f"{owner}: matrix must be positive semidefinite [kg, kg m, kg m^2], got a motion of "
            f"negative kinetic energy, mostly in component {worst + 1}, where the diagonal is "
            f"{A[worst, worst]:g}; check signs and the order, translations before rotations"
        )
    return A


def _of_ellipsoid(a: float, b: float, c: float) -> tuple[float, ...]:
    """Return six coefficients of an ellipsoid, masses and inertias [m^2] over the displaced mass.

    [1]_ of AddedMass, articles 114 and 115.
    """
    alpha, beta, gamma = _integral(b, c, a), _integral(c, a, b), _integral(a, b, c)
    along = (x / (2 - x) for x in (alpha, beta, gamma))
    about = (_about(b, c, beta, gamma), _about(c, a, gamma, alpha), _about(a, b, alpha, beta))
    return (*along, *about)


def _about(b: float, c: float, beta: float, gamma: float) -> float:
    """Return the inertia about an axis, over the displaced mass."""
    less, both = b * b - c * c, b * b + c * c
    if less * less <= float_info.epsilon * both * both:  # the inertia is then, of m b^2
        return 0.0
    return less * less * (gamma - beta) / (2 * less + both * (beta - gamma)) / 5


def _integral(b: float, c: float, a: float) -> float:
    r"""Return :math:`\alpha_0 = \tfrac23 abc\,R_D(b^2, c^2, a^2)` by Carlson's duplication."""
    x, y, z = b * b, c * c, a * a
    total, power = 0.0, 1.0
    for _ in range(_DUPLICATIONS):
        step = sqrt(x) * sqrt(y) + sqrt(y) * sqrt(z) + sqrt(z) * sqrt(x)
        total += power / (sqrt(z) * (z + step))
        power /= 4
        x, y, z = (x + step) / 4, (y + step) / 4, (z + step) / 4
    return 2 / 3 * a * b * c * (3 * total + power / (z * sqrt(z)))
