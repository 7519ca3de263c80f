"""Bodies: rigid body, mass point, ground; and frames fixed to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import (
    inertia_tensor,
    label,
    mass_properties,
    number,
    rotation_matrix,
    vector,
)
from mbd.base.recorded_call import Part
from mbd.formulations import NAMES, named
from mbd.formulations.formulation import Formulation
from mbd.parts.shapes import Shape, checked_shapes

__all__ = ["Body", "Frame", "Ground", "PointMass", "RigidBody"]


class Frame(Part):
    """An origin and three axes fixed to a body; what joints join.

    Parameters
    ----------
    body : RigidBody, PointMass or Ground
    position : (3,) array [m]
        Origin in the axes of the body.
    axes : (3, 3) array [-]
        Columns are the axes in the axes of the body; the third one is the axis of a joint.
    """

    __slots__ = ("axes", "body", "position")

    def __init__(self, body: Any, position: Any = (0.0, 0.0, 0.0), axes: Any = None) -> None:
        if not isinstance(body, Body):
            raise TypeError(f"Frame: body must be a body or system.ground, got {shown(body)}")
        self.body = body
        self.position = vector(f"frame of {body.name!r}", "position", position, "m")
        self.axes = rotation_matrix(f"frame of {body.name!r}", "axes", axes)

    @property
    def name(self) -> str:
        """Name of the body."""
        return str(self.body.name)

    def point(self) -> tuple[float, float, float, float]:
        """Return the weights of the origin."""
        x, y, z = self.position.tolist()
        return (1.0, x, y, z)

    def direction(self, i: int) -> tuple[float, float, float, float]:
        """Return the weights of axis i."""
        x, y, z = self.axes[:, i].tolist()
        return (0.0, x, y, z)

    def __repr__(self) -> str:
        return f"Frame({self.name!r}, position={self.position.tolist()})"


@dataclass(frozen=True, eq=False, init=False)
class Body(Part):
    """What all bodies have: a name, a formulation, mass properties and an initial state.

    ``center_of_mass`` and ``second_moments`` E = integral of rho rho^T dm are about the origin of
    the body frame in its axes; velocities are inertial.
    """

    name: str
    formulation: Formulation
    mass: float
    center_of_mass: np.ndarray
    second_moments: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    shapes: tuple[Shape, ...]

    def frame(self, position: Any = (0.0, 0.0, 0.0), axes: Any = None) -> Frame:
        """Return a frame fixed to the body, position [m] and axes in body axes."""
        return Frame(self, position, axes)

    def placed_frame(self, point: np.ndarray, axes: np.ndarray) -> Frame:
        """Return the frame that has the given inertial origin and axes at the initial pose."""
        return Frame(self, self.rotation.T @ (point - self.position), self.rotation.T @ axes)

    def coordinates(
        self,
        position: np.ndarray,
        rotation: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        omega: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v of the body at a position; what else is not given is as described."""
        law = self.formulation
        motion = (
            position,
            self.rotation if rotation is None else rotation,
            self.velocity if velocity is None else velocity,
            self.angular_velocity if omega is None else omega,
        )
        if not law.sized:
            return law.initial(*motion)
        return law.initial(*motion, float(np.sqrt(np.trace(self.second_moments) / self.mass)))

    def _set(self, **values: Any) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, mass={self.mass:g})"


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

    Examples
    --------
    >>> import mbd
    >>> mbd.RigidBody("bar", mass=2.0, inertia=(0.01, 0.17, 0.17), position=(0.5, 0, 0))
    RigidBody('bar', mass=2)
    """

    def __init__(
        self,
        name: str,
        *,
        mass: float,
        inertia: Any,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = None,
        velocity: Any = (0.0, 0.0, 0.0),
        angular_velocity: Any = None,
        angular_velocity_body: Any = None,
        center_of_mass: Any = (0.0, 0.0, 0.0),
        formulation: str | Formulation = "so3",
        shape: Any = None,
    ) -> None:
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
                options = {**self.given.options, "formulation": formulation}
                self._set(given=self.given._replace(options=options))
        elif not isinstance(formulation, Formulation):
            raise TypeError(
                f"{owner}: formulation must be a name ({', '.join(NAMES)}) or a Formulation, got "
                f"{shown(formulation)}"
            )
        self._set(
            name=name,
            formulation=formulation,
            mass=m,
            center_of_mass=c,
            second_moments=0.5 * np.trace(J) * np.eye(3) - J + m * np.outer(c, c),
            position=vector(owner, "position", position, "m"),
            rotation=R,
            velocity=vector(owner, "velocity", velocity, "m/s"),
            angular_velocity=omega,
            shapes=checked_shapes(owner, shape),
        )

    @classmethod
    def from_mass_matrix(cls, name: str, matrix: Any, **options: Any) -> RigidBody:
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
        self,
        name: str,
        *,
        mass: float,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        shape: Any = None,
    ) -> None:
        owner = label(name, "PointMass")
        self._set(
            name=name,
            formulation=named("point"),
            mass=number(owner, "mass", mass, "kg", positive=True),
            center_of_mass=np.zeros(3),
            second_moments=np.zeros((3, 3)),
            position=vector(owner, "position", position, "m"),
            rotation=np.eye(3),
            velocity=vector(owner, "velocity", velocity, "m/s"),
            angular_velocity=np.zeros(3),
            shapes=checked_shapes(owner, shape),
        )


class Ground(Body):
    """The inertial frame: every system has one, ``system.ground``.

    Its origin and axes are those of all positions [m] and velocities [m/s]; it does not move.
    """

    def __init__(self) -> None:
        self._set(
            name="ground",
            formulation=named("so3"),
            mass=np.inf,
            center_of_mass=np.zeros(3),
            second_moments=np.zeros((3, 3)),
            position=np.zeros(3),
            rotation=np.eye(3),
            velocity=np.zeros(3),
            angular_velocity=np.zeros(3),
            shapes=(),
        )
