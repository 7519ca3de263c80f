r"""``mbd.joint_space``: the equations of motion in coordinates of joints, at one state.

.. math:: M(\theta)\,\ddot\theta + h = \tau

They are those of ``model.joint_coordinates`` (``mbd/joint_tree``), with names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from mbd.analyses.ports import face_at, input_on_faces, name_of_body
from mbd.base.checked import names
from mbd.base.door import array, speaking_as
from mbd.joint_tree.coordinates import JointCoordinates
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of

_WHO = "joint_space"


@dataclass(frozen=True, eq=False)
class JointSpace:
    r"""The equations :math:`M\ddot\theta + h = \tau` at a state, in named joint coordinates.

    Attributes
    ----------
    coordinates : tuple of str
        "shoulder.angle", ...
    positions, rates : (f,) arrays [rad, m; rad/s, m/s]
        Of balls and of what floats the rotation vector, and the angular velocity.
    M : (f, f) array [kg m^2, kg m, kg]
    bias : (f,) array [N m, N]
        h: gravity, springs, dampers, loads, gyroscopic and Coriolis forces; what must be held
        against where nothing accelerates.
    gravity : (f,) array [N m, N]
        The part of the bias that is weight.
    """

    coordinates: tuple[str, ...]
    positions: np.ndarray
    rates: np.ndarray
    M: np.ndarray
    bias: np.ndarray
    gravity: np.ndarray
    _state: State
    _tree: JointCoordinates
    _order: list[int]  # of the coordinates among those of the tree

    def jacobian(self, body: str, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return J (3, f) of a point in body axes [m]: its velocity is J times the rates."""
        return self._jacobian(body, point)[:3]

    def angular_jacobian(self, body: str) -> np.ndarray:
        """Return J (3, f): the angular velocity, in inertial axes, is J times the rates."""
        return self._jacobian(body, (0.0, 0.0, 0.0))[3:]

    def _jacobian(self, body: Any, point: Any) -> np.ndarray:
        tree, state = self._tree, self._state
        with speaking_as(_WHO, "linearize", "JointCoordinates"):
            body = name_of_body(tree.model, body)
            return tree.jacobian(body, point, tree.q(state), t=state.t)[:, self._order]

    def effort(self, load: Any) -> np.ndarray:
        """Return the efforts (f,) along the coordinates of a unit load [N m/N].

        It is named as an input of ``mbd.linearize``: "push.x", "shoulder", (body, point,
        direction).
        """
        tree, effort = self._tree, np.zeros(len(self._order))
        with speaking_as(_WHO, "linearize"):
            on_faces = input_on_faces(tree.model, self._state, load)[2]
        for place, f in on_faces.items():
            y = face_at(tree.model, self._state, place)
            wrench = np.hstack([f[0], np.cross(y[1:], f[1:]).sum(0)])
            effort += self._jacobian(place, (0.0, 0.0, 0.0)).T @ wrench
        return effort

    def accelerations(self, efforts: Any) -> np.ndarray:
        """Return the second rates (f,) [rad/s^2, m/s^2] under efforts (f,) [N m, N]."""
        return np.asarray(scipy.linalg.solve(self.M, self._vector("efforts", efforts) - self.bias))

    def efforts(self, accelerations: Any) -> np.ndarray:
        """Return the efforts (f,) [N m, N] that give second rates (f,) [rad/s^2, m/s^2]."""
        return np.asarray(self.M @ self._vector("accelerations", accelerations) + self.bias)

    def _vector(self, what: str, value: Any) -> np.ndarray:
        x = array(_WHO, what, value, f"{len(self.M)} numbers")
        if x.shape != (len(self.M),):
            raise ValueError(
                f"{_WHO}: {what} must be {len(self.M)} numbers, one for each of "
                f"{', '.join(self.coordinates)}, got shape {x.shape}"
            )
        return x

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of M."""
        return np.linalg.inv(self.M)


def joint_space(
    system: System | Model, state: State | None = None, *,
    coordinates: str | Sequence[str] | None = None,
) -> JointSpace:  # fmt: skip
    """Return the equations of motion in joint coordinates, at a state.

    Parameters
    ----------
    system : System or Model
    state : State, optional
        Default the initial state. It must meet all rows.
    coordinates : sequence of str, optional
        As many as there are freedoms, "shoulder.angle", "slider.displacement". Default: of a tree
        all that joints leave free; of a loop those of them that move most independently.

    Returns
    -------
    JointSpace

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> rod = mbd.RigidBody("rod", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    >>> rod = system.add(rod)
    >>> hinge = mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0))
    >>> hinge = system.add(hinge)
    >>> here = mbd.joint_space(system)
    >>> here.coordinates, here.M.round(12).tolist(), here.gravity.round(9).tolist()
    (('hinge.angle',), [[0.6]], [-9.81])
    """
    model = model_of(_WHO, system)
    state = state_of(_WHO, model, state)
    wanted = None if coordinates is None else list(names(_WHO, "coordinates", coordinates))
    with speaking_as(_WHO, "JointCoordinates"):
        tree = model.joint_coordinates
        if tree.loops or wanted is not None:
            tree = JointCoordinates(model, wanted, state=state)
        if not tree.labels:
            raise ValueError(f"{_WHO}: the joints and drives leave no freedom at this state")
        t, (q, v) = state.t, tree.q_and_v(state)
        M, bias = tree.M_and_bias(q, v, t=t)
        gravity = tree.gravity(q, t=t)
    order = [tree.labels.index(x) for x in wanted or tree.labels]
    vectors = tree.difference(tree.neutral, q), v, M[:, order], bias, gravity
    theta, rates, M, bias, gravity = (x[order] for x in vectors)
    which = tuple(tree.labels[i] for i in order)
    return JointSpace(which, theta, rates, M, bias, gravity, state, tree, order)
