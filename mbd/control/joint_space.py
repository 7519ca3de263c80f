r"""``mbd.joint_space``: the equations of motion in coordinates of joints, of trees and loops.

With :math:`\dot\theta = G v` and allowed velocities :math:`v = N\dot\theta`, :math:`BN = 0`,
:math:`GN = I`, and the same for forces, :math:`L^TB^T = 0`, the efforts :math:`\tau` along the
coordinates give

.. math:: M(\theta)\,\ddot\theta + h = \tau, \quad M = L^T M N, \quad
          h = L^T(r + M\dot v_0), \quad
          \begin{bmatrix} B \\ G \end{bmatrix}\dot v_0
          = -\begin{bmatrix} \ddot\Phi \\ \ddot\theta \end{bmatrix}_{\dot v = 0}

with the residual r at rest of accelerations and without multipliers (Featherstone, Rigid Body
Dynamics Algorithms, 2008, chapters 6 and 8).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from mbd.analyses.ports import input_column, named_coordinates, output_rows
from mbd.base.door import array, speaking_as
from mbd.history.observation import Observation
from mbd.integration.consistent import consistent
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.null_space import independent, null_space
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.workspace import Workspace
from mbd.small_motions.small_motion import SmallMotion, small_motion

_WHO = "joint_space"
_ORDERS = ("", "_rate", "_second_rate")
_DEPENDENT = 1e-8  # least singular value of the largest, where coordinates are independent


@dataclass(frozen=True, eq=False)
class JointSpace:
    r"""The equations :math:`M\ddot\theta + h = \tau` at a state, in named joint coordinates.

    Attributes
    ----------
    coordinates : tuple of str
        "shoulder.angle", ...
    positions, rates : (f,) arrays [rad, m; rad/s, m/s]
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
    _motion: SmallMotion
    _N: np.ndarray
    _L: np.ndarray

    def jacobian(self, body: str, point: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
        """Return J (3, f) of a point in body axes [m]: its velocity is J times the rates."""
        return self._reached((body, point, "velocity"))

    def angular_jacobian(self, body: str) -> np.ndarray:
        """Return J (3, f): the angular velocity, in inertial axes, is J times the rates."""
        return self._reached(f"{body}.angular_velocity")

    def _reached(self, what: Any) -> np.ndarray:
        with speaking_as(_WHO, "linearize"):
            return np.asarray(output_rows(self._motion, what).velocity @ self._N)

    def effort(self, load: Any) -> np.ndarray:
        """Return the efforts (f,) along the coordinates of a unit load [N m/N].

        It is named as an input of ``mbd.linearize``: "push.x", "shoulder", (body, point,
        direction).
        """
        with speaking_as(_WHO, "linearize"):
            return np.asarray(self._L.T @ input_column(self._motion, load)[2])

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
    state = state_of(_WHO, model, state)  # velocities of a run leave the rows by h^2
    state = consistent(model, state, project=state.step is not None and "velocities")
    motion = small_motion(model, state, np.zeros(3))
    numbering = model.numbering
    rows = model.assemble(state).B.toarray()
    free = null_space(rows, motion.scale)
    f = free.shape[1]
    if not f:
        raise ValueError(f"{_WHO}: the joints and drives leave no freedom at this state")
    which, G = _chosen(motion, free, coordinates)
    N = free @ np.linalg.inv(G @ free)
    C = np.array([_effort(motion, name) for name in which]).T
    left = null_space(motion.Bt.T, motion.scale)
    L = left @ np.linalg.inv(C.T @ left)
    observation = Observation(model, [name + x for x in _ORDERS for name in which], _WHO)
    here = observation(state.replace(a=np.zeros(model.n_v)))
    theta, rate, second = here.reshape(3, f).copy()
    work = Workspace(model, state)
    work.vector(m.A)[:] = 0.0
    work.evaluate()
    residual = work.vector(m.X)[numbering.v].copy()
    stacked = np.vstack([rows, G])
    right = -np.concatenate([work.rates()[1], second])
    still = motion.scale * scipy.linalg.lstsq(stacked * motion.scale, right)[0]
    work.F[m.GX : m.GX + 3] = 0.0
    work.evaluate()
    weight = residual - work.vector(m.X)[numbering.v]
    return JointSpace(
        which,
        theta,
        rate,
        L.T @ (motion.M @ N),
        L.T @ (residual + motion.M @ still),
        L.T @ weight,
        motion, N, L,
    )  # fmt: skip


def _gradient(motion: SmallMotion, name: str) -> np.ndarray:
    """Return G (n_v,) of a coordinate: its rate is G v."""
    return np.asarray(output_rows(motion, name).position[0])


def _effort(motion: SmallMotion, name: str) -> np.ndarray:
    """Return the load (n_v,) of a unit effort along a coordinate."""
    joint, _, what = name.rpartition(".")
    return np.asarray(input_column(motion, motion.model.system.joints[joint].coordinates[what])[2])


def _chosen(
    motion: SmallMotion, free: np.ndarray, wanted: Any
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the names of independent coordinates and their gradients (f, n_v)."""
    f = free.shape[1]
    which = named_coordinates(_WHO, motion, wanted)
    if len(which) < f or (wanted is not None and len(which) > f):
        raise ValueError(
            f"{_WHO}: the system has {f} freedoms, which as many coordinates must describe, got "
            f"{', '.join(which) or 'none'}; a body that floats, or a ball joint, has none"
        )
    G = np.array([_gradient(motion, name) for name in which])
    moved = G @ free
    if len(which) > f:
        sizes = np.linalg.norm(moved, axis=1).clip(1e-300)
        pick, _ = independent(moved, np.full(len(which), sizes.max()))
        which, G, moved = [which[i] for i in pick], G[pick], moved[pick]
    sizes = np.linalg.svd(moved, compute_uv=False)
    if not sizes[-1] > _DEPENDENT * sizes[0]:
        raise ValueError(
            f"{_WHO}: {', '.join(which)} do not describe the motion here: they depend on each "
            "other, or the pose is singular; name others with coordinates="
        )
    return tuple(which), G
