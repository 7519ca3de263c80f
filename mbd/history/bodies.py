"""Bodies and points over time, made from the numbers of the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.rotations import angular_velocity, quaternion_from_matrix
from mbd.base.door import vector

if TYPE_CHECKING:
    from mbd.parts.bodies import Body

__all__ = ["BodyHistory", "PointHistory"]


@dataclass(frozen=True)
class PointHistory:
    """A body-fixed point over time, inertial: position, velocity, acceleration [m, m/s, m/s^2]."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class BodyHistory:
    """A body over time; (n, 3) arrays in inertial axes unless said otherwise.

    Of several bodies of one formulation together, of which `body` is one, arrays are (n, k, 3).
    """

    def __init__(
        self,
        body: Body,
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray],
        faces: tuple[np.ndarray, np.ndarray, np.ndarray],
        origin: np.ndarray,
        before: np.ndarray | None = None,
    ) -> None:
        self.body, self._origin = body, origin
        self.q, self.v, self.a = numbers
        self.y, self.yd, self.ydd = faces
        self._before = before  # quaternion at the instant before the first one

    @property
    def position(self) -> np.ndarray:
        """Origin of the body frame [m]."""
        return np.asarray(self.y[..., 0, :] + self._origin)

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the origin [m/s]."""
        return self.yd[..., 0, :]

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the origin [m/s^2]."""
        return self.ydd[..., 0, :]

    def _axes(self, what: str) -> None:
        if not self.body.formulation.axes:
            raise AttributeError(f"{self.body.name!r} is a point, it has no {what}")

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices (n, 3, 3), body to inertial."""
        self._axes("rotation")
        directors = np.swapaxes(self.y[..., 1:, :], -1, -2)
        return directors if self.body.formulation.rigid else directors / self.scale[..., None, None]

    @property
    def scale(self) -> np.ndarray:
        """Length of the directors (n,): one, but of a body that breathes."""
        self._axes("scale")
        if self.body.formulation.rigid:
            return np.ones(self.y.shape[:-2])
        return np.asarray(np.linalg.norm(self.y[..., 1:, :], axis=-1).mean(-1))

    @cached_property
    def quaternion(self) -> np.ndarray:
        """Unit quaternions (n, 4), scalar first, body to inertial, without jumps of sign."""
        p = quaternion_from_matrix(self.rotation)
        last = p[:1] if self._before is None else self._before[None]
        back = (p * np.concatenate([last, p[:-1]])[: len(p)]).sum(-1) < 0
        p *= np.cumprod(np.where(back, -1.0, 1.0), axis=0)[..., None]
        return p

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity [rad/s], inertial axes."""
        self._axes("angular velocity")
        omega = angular_velocity(self.y[..., 1:, :], self.yd[..., 1:, :])
        return omega if self.body.formulation.rigid else omega / self.scale[..., None] ** 2

    @property
    def angular_velocity_body(self) -> np.ndarray:
        """Angular velocity [rad/s], body axes."""
        return np.einsum("nij,ni->nj", self.rotation, self.angular_velocity)

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Angular acceleration [rad/s^2], inertial axes."""
        self._axes("angular acceleration")
        alpha = angular_velocity(self.y[..., 1:, :], self.ydd[..., 1:, :])
        if self.body.formulation.rigid:
            return alpha
        # d = s R e: the sum is s^2 alpha + 2 s s' omega, and d . d' is s s'
        grow = (self.y[..., 1:, :] * self.yd[..., 1:, :]).sum((-1, -2)) / 3
        alpha -= 2 * grow[..., None] * self.angular_velocity
        return alpha / self.scale[..., None] ** 2

    def __repr__(self) -> str:
        turns = ", rotation, quaternion, angular_velocity, angular_acceleration"
        known = "position, velocity, acceleration" + turns * self.body.formulation.axes
        return f"BodyHistory({self.body.name!r}, {len(self.y)} instants: {known}, at(point))"

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m]."""
        where = vector(f"solution[{self.body.name!r}].at", "point", point, "m")
        w = np.concatenate([[1.0], where])
        x, xd, xdd = (np.einsum("k,nkc->nc", w, x) for x in (self.y, self.yd, self.ydd))
        return PointHistory(x + self._origin, xd, xdd)
