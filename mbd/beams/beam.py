"""Beams: a chain of bodies at the nodes, and helicoids between them."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mbd.base.checked import flag, shown, sized, whole
from mbd.base.door import array, label, unit_vector, vector
from mbd.beams.clamps import clamped, rows_of
from mbd.beams.curve import Path, ReferenceCurve, checked_profile
from mbd.beams.pieces import masses_between, mesh, stiffness
from mbd.beams.section import Section
from mbd.interactions.beams.element import BEAM, BEAM_4
from mbd.interactions.beams.line import Line
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.laws import number_law
from mbd.interactions.masses.points import masses
from mbd.parts.bodies import RigidBody
from mbd.parts.forces import PointForce
from mbd.parts.joints import Fixed
from mbd.parts.part import Body, Part

_TURN, _MOST = 1.0, 2.0  # of an element in the reference [rad]: warned of, refused; pi is singular
_MASSES = masses(8, frames=True)
_STEEP = 0.5  # sine of the angle between the beam and `up` below which axes may turn quickly


class Beam(Part):
    r"""A beam of any length, taper, twist and stiffness, for displacements and turns of any size.

    Its nodes are rigid bodies ``NAME.0 ... NAME.n``; joints, springs and loads attach to them as to
    any body. Between neighbours is a helicoid with six strains (stretch, two shears, twist, two
    bendings), exact for every strain that is constant, and for small loads at the nodes whatever
    the section does between them. An element must not turn by pi; below 1 rad is good practice.

    Parameters
    ----------
    name : str
    points : (n, 3) array [m], or function of p in [0, 1]
        Line of the section origins at rest, in inertial axes: a smooth curve through the points, or
        straight pieces with ``smooth=False``.
    section : Section, several in a list, or function of p
        Entries of a list are at ``stations``, linear between them.
    elements : int
        They have equal lengths in each smooth piece.
    up : (3,) array [-]
        Axis 3 of the sections lies in the plane of this direction and the line; axis 1 is along the
        line.
    twist : float, several in a list, or function of p [rad], optional
        Turn of axes 2 and 3 about axis 1. One number is the twist at the end, growing evenly.
    stations : (k,) array [-], optional
        The p of the entries of lists, from 0 to 1; default equally spaced.
    formulation : str or Formulation, or a list with one for each node
    damping : float or (6,) array [s]
        Stresses get the rate of strain times this, as stiffness times strain: of a mode with the
        circular frequency w, half of it times w is the damping ratio.
    order : 2 or 4
        Of errors over the length of an element. With 4 elements have mass too, and a flexibility
        that follows their strains: a frequency takes a third to half as many elements, a pose that
        bends and twists or a critical load a quarter; each costs more.
    prestrain : (6,) array [-, 1/m], several in a list, or function of p, optional
        Strains (stretch, two shears) and curvatures (twist, two bendings) that sections have
        without stress, beyond those of the line: of a change of temperature, or minus what they
        are stressed by on the line, such as -N/EA.
    smooth : bool
    first, last : Frame or body, optional
        To which the first and the last node are fixed, with reactions ``NAME`` "first ..." and
        "last ...".
    velocity, angular_velocity : (3,) array [m/s], [rad/s]
        Of the first node, and of the whole beam, which starts as a rigid body.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> steel = mbd.Section.rectangle(0.02, 0.005, young=210e9, poisson=0.3, density=7850)
    >>> ruler = system.add(mbd.Beam("ruler", points=[(0, 0, 0), (1, 0, 0)], section=steel,
    ...                             first=system.ground))
    >>> tip = mbd.equilibrium(system)["ruler.8"].position
    """

    drawer = "structures"

    def __init__(
        self, name: str, points: Any, *,
        section: Section | Sequence[Section] | Callable[[float], Section], elements: int = 8,
        up: Any = (0.0, 0.0, 1.0), twist: Any = None, stations: Any = None,
        formulation: Any = "so3", damping: Any = 0.0, order: int = 2, prestrain: Any = None,
        smooth: bool = True, first: Any = None, last: Any = None,
        velocity: Any = (0.0, 0.0, 0.0), angular_velocity: Any = (0.0, 0.0, 0.0),
    ) -> None:  # fmt: skip
        self.name = label(name, "Beam")
        n = whole(self.name, "elements", elements, 1)
        if whole(self.name, "order", order, 2) not in (2, 4):
            raise ValueError(f"{self.name}: order must be 2 or 4, got {shown(order)}")
        direction = unit_vector(self.name, "up", up)
        path = Path(self.name, points, smooth)
        curve = ReferenceCurve(path, section, stations, direction, twist, prestrain)
        self._curve, self._mesh = curve, mesh(curve, max(n, len(path.pieces)))
        self._warn()
        tau = np.broadcast_to(_damping(self.name, damping), 6)
        self._nodes = self._bodies(
            formulation,
            vector(self.name, "velocity", velocity, "m/s"),
            vector(self.name, "angular_velocity", angular_velocity, "rad/s"),
        )
        kind, more = (BEAM, 0) if order == 2 else (BEAM_4, None)
        self._helicoids = tuple(
            Element(kind, self._ends(e), (*e0, *K.ravel(), *D.ravel(), *S.ravel()[:more]))
            for e, (e0, K, D, S) in enumerate(self._constants(tau))
        )
        self._masses = tuple(
            Element(_MASSES, helicoid.attachments, M.ravel())
            for helicoid, M in zip(self._helicoids, masses_between(curve, self._mesh), strict=True)
            if order == 4
        )
        self.clamps = clamped(self.name, Fixed, first, self.first, last, self.last)

    @property
    def length(self) -> float:
        """Length of the line at rest [m]."""
        return self._curve.path.length

    @property
    def stations(self) -> np.ndarray:
        """Length along the line at the nodes (n + 1,) [m]."""
        return self._mesh.s

    @property
    def first(self) -> RigidBody:
        """The first node."""
        return self._nodes[0]

    @property
    def last(self) -> RigidBody:
        """The last node."""
        return self._nodes[-1]

    def node(self, i: int) -> RigidBody:
        """Return node i, 0 to the number of elements; negative ones count from the end."""
        try:
            return self._nodes[i]
        except (IndexError, TypeError):
            raise IndexError(
                f"{self.name}: there is no node {shown(i)}; there are 0 to {len(self._nodes) - 1}"
            ) from None

    def nodes(self) -> tuple[RigidBody, ...]:
        """Return the bodies at the nodes."""
        return self._nodes

    @property
    def bodies(self) -> Sequence[Body]:
        """Nodes, and bodies to which the ends are fixed."""
        return (*self._nodes, *(joint.A.body for _, joint in self.clamps))

    def elements(self) -> list[Element]:
        """Return the helicoids between the nodes, their masses, and the rows that fix the ends."""
        return [*self._helicoids, *self._masses, *rows_of(self.clamps)]

    @property
    def line(self) -> Line:
        """The sections along it."""
        s, n = self._mesh.s, len(self._helicoids)
        inside = (np.column_stack([s[:-1], s[1:]]) / s[-1]).ravel()
        profiles = (self._curve.stiffness, self._curve.outline, self._curve.young)
        both = (x.reshape(n, 2, *x.shape[1:]) for x in (of(inside) for of in profiles))
        return Line(self._helicoids, s, *both)

    def loads(self, per_length: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the integrals of a function of the length s [m] times the nodes' polynomials."""
        return self._mesh.integral(np.asarray(per_length(self._mesh.at)))

    def section_at(self, e: int, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return r0 (3,) and R0 (3, 3) at a length s [m] in element e, and axis 1 at its ends."""
        r, R = self._curve.at(int(self._mesh.piece[e]), np.array([s]))
        return r[0], R[0], self._mesh.frames[e, [0, -1], :, 0]

    def _warn(self) -> None:
        """Refuse, or warn of, elements that turn far in the reference."""
        turns = self._turns()
        e = int(np.argmax(turns))
        if turns[e] > _TURN:
            text = (
                f"{self.name}: element {e} turns by {turns[e]:.3g} rad at rest, best are below "
                f"{_TURN:g} rad; take elements={int(np.ceil(len(turns) * turns[e] / 0.5))}"
            )
            if self._curve.steepest(self._mesh.frames[e]) < _STEEP:
                text += ", or give another direction up=: it is nearly along the beam there"
            if turns[e] > _MOST:
                raise ValueError(text)
            warnings.warn(text, UserWarning, stacklevel=4)
        if self._mesh.linear:
            warnings.warn(
                f"{self.name}: masses are shared by halves, fitted ones would be negative; let the "
                "section change less from element to element",
                UserWarning,
                stacklevel=4,
            )

    def _turns(self) -> np.ndarray:
        """Return by how much the section turns over each element in the reference [rad]."""
        from scipy.spatial.transform import Rotation

        R = self._mesh.frames
        steps = Rotation.from_matrix((np.swapaxes(R[:, :-1], -1, -2) @ R[:, 1:]).reshape(-1, 3, 3))
        return np.asarray(steps.magnitude().reshape(len(R), -1).sum(axis=1))

    def _constants(self, tau: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield strains at rest, stiffness, damping and compliances of each element."""
        root = np.sqrt(tau)
        for e, (e0, K, S) in enumerate(zip(*stiffness(self._curve, self._mesh), strict=True)):
            if (turn := float(np.linalg.norm(e0[3:]))) > _MOST:
                raise ValueError(
                    f"{self.name}: prestrain turns element {e} to {turn:.3g} rad, best are below "
                    f"{_TURN:g} rad; take more elements"
                )
            yield e0, K, root[:, None] * K * root if np.ptp(tau) else tau[0] * K, S

    def _bodies(self, formulation: Any, v: np.ndarray, omega: np.ndarray) -> tuple[RigidBody, ...]:
        n = len(self._mesh.s)
        several = isinstance(formulation, Sequence) and not isinstance(formulation, str)
        formulations = list(formulation) if several else [formulation] * n
        if len(formulations) != n:
            raise ValueError(
                f"{self.name}: formulation must be one, or one for each of the {n} nodes, got "
                f"{len(formulations)}"
            )
        positions = self._mesh.position
        bodies = []
        for i, (r, R, W) in enumerate(
            zip(positions, self._mesh.rotation, self._mesh.mass, strict=True)
        ):
            m, c = W[0, 0], W[0, 1:] / W[0, 0]
            E = W[1:, 1:] - m * np.outer(c, c)
            bodies.append(
                RigidBody(
                    f"{self.name}.{i}",
                    mass=m,
                    inertia=np.trace(E) * np.eye(3) - E,
                    center_of_mass=c,
                    position=r,
                    rotation=R,
                    velocity=v + np.cross(omega, r - positions[0]),
                    angular_velocity=omega,
                    formulation=formulations[i],
                )
            )
        for body in bodies:
            if not body.formulation.holonomic:
                raise ValueError(
                    f"{self.name}: formulation must let nodes turn about all axes, got "
                    f"{body.formulation.name!r}; take another one"
                )
        return tuple(bodies)

    def _ends(self, e: int) -> tuple[Attachment, ...]:
        """Return origin and axes of both ends of an element; at a corner nodes have other axes."""
        nodes = self._nodes[e : e + 2]
        R = self._mesh.frames[e, [0, -1]]
        frames = [
            x.frame(axes=_cleaned(x.rotation.T @ own)) for x, own in zip(nodes, R, strict=True)
        ]
        return tuple(frame.end(axis) for frame in frames for axis in (None, 0, 1, 2))

    def __repr__(self) -> str:
        return f"Beam({self.name!r}, length={self.length:.6g}, elements={len(self._helicoids)})"


class LineLoad(Part):
    """A force per length along a beam, at the origins of its sections.

    Nodes get the integrals of the load times their polynomials, which is of fourth order.

    Parameters
    ----------
    name : str
    beam : Beam
    force : (3,) array [N/m], or function of p in [0, 1]
        In inertial axes, or with ``follow=True`` in those of the nodes.
    law : callable, optional
        Function of time [s], a factor of the force.
    follow : bool
        Whether the load turns with the nodes.
    """

    relative = False

    def __init__(
        self, name: str, beam: Beam, force: Any, *, law: Callable[[float], float] | None = None,
        follow: bool = False,
    ) -> None:  # fmt: skip
        self.name = label(name, "LineLoad")
        if not isinstance(beam, Beam):
            raise TypeError(f"{self.name}: beam must be a Beam, got {shown(beam)}")
        if law is not None:
            if not callable(law):
                raise TypeError(f"{self.name}: law must be a function of time, got {shown(law)}")
            number_law(self.name, law)
        flag(self.name, "follow", follow)
        self.beam = beam
        if callable(force):
            profile = checked_profile(
                self.name, "force", force, lambda what, x: vector(self.name, what, x, "N/m")
            )
        else:
            constant = vector(self.name, "force", force, "N/m")
            profile = lambda p: np.broadcast_to(constant, (*p.shape, 3))  # noqa: E731
        self.forces = beam.loads(lambda s: profile(s / beam.length))
        loads = [F if law is None else _scaled(law, F) for F in self.forces]
        self._loads = [
            PointForce(f"{self.name}.{i}", node, load, follow=follow)
            for i, (node, load) in enumerate(zip(beam.nodes(), loads, strict=True))
        ]  # fmt: skip

    @property
    def bodies(self) -> Sequence[Body]:
        """The nodes of the beam."""
        return self.beam.nodes()

    def elements(self) -> list[Element]:
        """Return the forces at the nodes."""
        return [x for load in self._loads for x in load.elements()]


def _cleaned(R: np.ndarray) -> np.ndarray:
    """Return a rotation, the identity where it is one but for round-off."""
    return np.eye(3) if np.abs(R - np.eye(3)).max() < 1e-14 else R


def _damping(who: str, value: Any) -> np.ndarray:
    """Return one or six times [s]."""
    tau = np.atleast_1d(array(who, "damping", value, "one or six numbers [s]"))
    if tau.shape not in ((1,), (6,)) or not np.isfinite(tau).all() or (tau < 0).any():
        raise ValueError(
            f"{who}: damping must be one or six numbers, not negative [s], got {shown(value)}"
        )
    return sized(who, "damping", tau, "s")


def _scaled(law: Callable[[float], float], force: np.ndarray) -> Callable[[float], Any]:
    """Return the force times a law of time."""
    x, y, z = force.tolist()

    def scaled(t: float) -> tuple[float, float, float]:
        s = law(t)
        return s * x, s * y, s * z

    return scaled
