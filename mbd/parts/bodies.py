"""Bodies: rigid body, mass point, ground; many at once, each of their numbers in one array."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Self

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import inertia_tensor, label, mass_properties, number, rotation_matrix, vector
from mbd.base.read_only import ReadOnly
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.parts.joint import perpendicular
from mbd.parts.part import Body
from mbd.parts.shapes import Capsule, checked_shapes, touching


class RigidBody(Body):
    r"""A rigid body.

    Parameters
    ----------
    name : str
    mass : float [kg]
    inertia : (3,) or (3, 3) array [kg m^2]
        About the centre of mass, in body axes.
    position : (3,) array [m]
        Origin of the body frame, inertial.
    rotation : scipy Rotation or (3, 3) array, optional
        Body to inertial.
    velocity : (3,) array [m/s]
        Of the origin, inertial.
    angular_velocity, angular_velocity_body : (3,) array [rad/s]
        Inertial or in body axes; give one.
    center_of_mass : (3,) array [m]
        In body axes, from the origin.
    formulation : str or Formulation
        The coordinates that carry the body: a name, an object such as
        ``mbd.EulerParameters("reduced")``, or the same as words, "EulerParameters('reduced')".
    shape : Box, Cylinder, Capsule, Sphere, Mesh, or several in a list, optional
        How it looks, in body axes; default derived from mass and joints.
    collision : Sphere, Box, Capsule, or several in a list, optional
        With what it touches others (``mbd.Contact``), in body axes; default its shape. An empty
        list: with nothing.

    Examples
    --------
    >>> import mbd
    >>> mbd.RigidBody("bar", mass=2.0, inertia=(0.01, 0.17, 0.17), position=(0.5, 0, 0))
    RigidBody('bar', mass=2)
    """

    def __init__(
        self, name: str, *, mass: float, inertia: Any, position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None, velocity: Any = (0.0, 0.0, 0.0), angular_velocity: Any = None,
        angular_velocity_body: Any = None, center_of_mass: Any = (0.0, 0.0, 0.0),
        formulation: str | Formulation = "so3", shape: Any = None, collision: Any = None,
    ) -> None:  # fmt: skip
        owner = label(name, "RigidBody")
        m = number(owner, "mass", mass, "kg", positive=True)
        J = inertia_tensor(owner, inertia)
        c = vector(owner, "center_of_mass", center_of_mass, "m")
        R = rotation_matrix(owner, "rotation", rotation)
        if angular_velocity is not None and angular_velocity_body is not None:
            raise ValueError(
                f"{owner}: give angular_velocity or angular_velocity_body, not both [rad/s]"
            )
        if angular_velocity_body is not None:
            omega = R @ vector(owner, "angular_velocity_body", angular_velocity_body, "rad/s")
        else:
            value = (0.0, 0.0, 0.0) if angular_velocity is None else angular_velocity
            omega = vector(owner, "angular_velocity", value, "rad/s")
        if isinstance(formulation, str):
            if formulation == "point":
                raise ValueError(
                    f"{owner}: formulation must be one of {', '.join(NAMES)}, got 'point', which "
                    "has no axes; use PointMass"
                )
            try:
                formulation = named(formulation)
            except ValueError as error:
                raise ValueError(f"{owner}: {error}") from None
            if formulation.name not in NAMES:  # files say the object, not the words
                options = {**self.call.options, "formulation": formulation}
                object.__setattr__(self, "call", self.call._replace(options=options))
        elif not isinstance(formulation, Formulation):
            raise TypeError(
                f"{owner}: formulation must be a name ({', '.join(NAMES)}) or a Formulation, got "
                f"{shown(formulation)}"
            )
        E = -J
        E.flat[::4] += 0.5 * J.trace()
        self._set(
            name=name, formulation=formulation, mass=m, center_of_mass=c,
            second_moments=E + m * (c[:, None] * c),
            position=vector(owner, "position", position, "m"), rotation=R,
            velocity=vector(owner, "velocity", velocity, "m/s"), angular_velocity=omega,
            shapes=checked_shapes(owner, shape),
            collision=None if collision is None
            else touching(owner, "collision", checked_shapes(owner, collision, "collision")),
        )  # fmt: skip
        if not formulation.holonomic or formulation.normal is not None:  # lacks some velocities
            try:
                self.q_and_v(self.position)
            except ValueError as error:
                raise ValueError(f"{owner}: {error}") from None

    @classmethod
    def from_mass_matrix(cls, name: str, matrix: Any, **options: Any) -> "RigidBody":
        r"""Make a body from its 6x6 material mass matrix about the origin of the body frame.

        .. math:: M = \begin{bmatrix} mI & m\tilde c^T\\ m\tilde c & J\end{bmatrix}

        as Kynema states a rigid body: J about the origin, in body axes, c the centre of mass. What
        counts is :math:`J - m(c^Tc\,I - cc^T)` about the centre of mass, which must be that of a
        body that can exist. Files say mass, inertia and centre of mass.

        Parameters
        ----------
        name : str
        matrix : (6, 6) array [kg, kg m, kg m^2]
            Translations before rotations.
        **options
            The other arguments of ``RigidBody``.

        Raises
        ------
        ValueError
            If no rigid body has this matrix: which part of it, and by how much.
        """
        m, c, J = mass_properties(label(name, cls.__name__), matrix)
        return cls(name, mass=m, inertia=J, center_of_mass=c, **options)

    @classmethod
    def bar(
        cls, name: str, start: Any, end: Any, *, mass: float, radius: float | None = None,
        **options: Any,
    ) -> "RigidBody":  # fmt: skip
        r"""Make a uniform round bar between two points.

        Its origin is in the middle, its first axis points from start to end. Across it the inertia
        is :math:`mL^2/12 + mr^2/4`, about its axis :math:`mr^2/2`.

        Parameters
        ----------
        name : str
        start, end : (3,) array [m]
            Inertial, at the initial pose.
        mass : float [kg]
        radius : float [m], optional
            r. Default: a slender bar, :math:`mL^2/12` across, with the axial inertia and the look
            of r = L/50.
        **options
            Velocities, formulation, shape, collision of ``RigidBody``.

        Examples
        --------
        >>> import mbd
        >>> mbd.RigidBody.bar("crank", (0, 0, 0), (0.3, 0, 0.4), mass=1.2).position.tolist()
        [0.15, 0.0, 0.2]
        """
        owner = label(name, cls.__name__)
        m = number(owner, "mass", mass, "kg", positive=True)
        P, Q = vector(owner, "start", start, "m"), vector(owner, "end", end, "m")
        L = float(np.linalg.norm(Q - P))
        if L == 0.0:
            raise ValueError(
                f"{owner}: start and end of a bar must differ, got {P.tolist()} [m] twice; for a "
                "mass without extent use mbd.PointMass"
            )
        slender = radius is None
        r = L / 50 if slender else number(owner, "radius", radius, "m", positive=True)
        across = m * L**2 / 12 + (0.0 if slender else m * r**2 / 4)
        return cls(name, **{
            "mass": m, "inertia": (m * r**2 / 2, across, across), "position": (P + Q) / 2,
            "rotation": perpendicular((Q - P) / L)[:, [2, 0, 1]],
            "shape": Capsule(r, L, axis=(1, 0, 0)), **options,
        })  # fmt: skip


_WITHOUT_EXTENT = {
    "center_of_mass": np.zeros(3), "second_moments": np.zeros((3, 3)), "rotation": np.eye(3),
    "angular_velocity": np.zeros(3),
}  # fmt: skip


class PointMass(Body):
    """A mass without extent: three coordinates, an origin, no axes.

    Parameters
    ----------
    name : str
    mass : float [kg]
    position, velocity : (3,) array [m], [m/s]
    shape : Sphere or another shape, or several in a list, optional
        How it looks, in inertial axes from the point; default a ball.
    """

    def __init__(
        self, name: str, *, mass: float, position: Any = (0.0, 0.0, 0.0),
        velocity: Any = (0.0, 0.0, 0.0), shape: Any = None,
    ) -> None:  # fmt: skip
        owner = label(name, "PointMass")
        self._set(
            name=name,
            formulation=named("point"),
            mass=number(owner, "mass", mass, "kg", positive=True),
            position=vector(owner, "position", position, "m"),
            velocity=vector(owner, "velocity", velocity, "m/s"),
            shapes=checked_shapes(owner, shape),
            **_WITHOUT_EXTENT,
        )


class Ground(Body):
    """The inertial frame: every system has one, ``system.ground``.

    Its origin and axes are those of all positions [m] and velocities [m/s]; it does not move.
    """

    drawer, moves = "", False

    def __init__(self) -> None:
        self._set(
            name="ground", formulation=named("so3"), mass=np.inf, position=np.zeros(3),
            velocity=np.zeros(3), shapes=(), **_WITHOUT_EXTENT,
        )  # fmt: skip


@dataclass(frozen=True)
class StackedBodies(ReadOnly):
    """Mass properties and initial states of n bodies; see ``Body``.

    Attributes
    ----------
    mass : (n,) array [kg]
    center_of_mass : (n, 3) array [m]
    second_moments : (n, 3, 3) array [kg m^2]
    position : (n, 3) array [m]
    rotation : (n, 3, 3) array
    velocity, angular_velocity : (n, 3) arrays [m/s], [rad/s]
    """

    mass: np.ndarray
    center_of_mass: np.ndarray
    second_moments: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray

    @classmethod
    def of(cls, bodies: Iterable[Body]) -> Self:
        """Stack the numbers of some bodies, at least one."""
        return cls(*map(np.array, zip(*map(_numbers, bodies), strict=True)))

    def some(self, which: Any) -> Self:
        """Return some of the bodies, by an index."""
        return type(self)(*(x[which] for x in _numbers(self)))

    def constants(self, law: Formulation) -> np.ndarray:
        """Return the constants of a formulation, (n, n_par)."""
        return _each(law, law.constants, self.mass, self.center_of_mass, self.second_moments)

    def q_and_v(self, law: Formulation, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q (n, n_q) and v (n, n_v) in a formulation, positions from an origin (3,)."""
        here = self.position - origin
        return self.moved(law, here, self.rotation, self.velocity, self.angular_velocity)

    def moved(self, law: Formulation, *motion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v where the bodies are elsewhere: position, rotation and their rates."""
        if law.sized:
            sizes = np.sqrt(np.trace(self.second_moments, axis1=1, axis2=2) / self.mass)
            motion = *motion, sizes
        q, v = _each(law, law.initial, *motion)
        for what, x, n in (("q", q, law.n_q), ("v", v, law.n_v)):
            if x.shape != (len(self.mass), n):
                raise ValueError(
                    f"Formulation {law.name!r}: initial must return q of n_q = {law.n_q} numbers "
                    f"and v of {law.n_v}, one for each velocity, got {what} of {x.shape[1:]}"
                )
        return q, v


_numbers = attrgetter(*(x.name for x in fields(StackedBodies)))


def _each(law: Formulation, function: Any, *numbers: np.ndarray) -> Any:
    """Return what a function of a formulation makes of all bodies: at once, or one by one."""
    if law.stacks:
        try:
            return function(*numbers)
        except Exception as error:
            raise ValueError(
                f"Formulation {law.name!r}: `constants` and `initial` do not take the numbers of "
                f"many bodies, (n, ...) arrays, as stacks=True says ({error}); leave it out"
            ) from error
    made_of_each = [function(*x) for x in zip(*numbers, strict=True)]
    if isinstance(made_of_each[0], tuple):
        return tuple(map(np.array, zip(*made_of_each, strict=True)))
    return np.array(made_of_each)
