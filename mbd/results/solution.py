"""Floor 5. Results by name: bodies, points, joints, energies, momenta, statistics."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.rotations import angular_velocity, quaternion_from_matrix
from mbd.model.model import Model, State
from mbd.results.energy import Energy, Momentum, energy, momentum
from mbd.results.histories import faces

if TYPE_CHECKING:
    from mbd.parts.bodies import Body
    from mbd.parts.joints import Joint
    from mbd.results.animation.animation import Animation

__all__ = ["BodyHistory", "JointHistory", "PointHistory", "Solution"]


@dataclass(frozen=True)
class PointHistory:
    """A body-fixed point over time, inertial: position, velocity, acceleration [m, m/s, m/s^2]."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class BodyHistory:
    """A body over time; (n, 3) arrays in inertial axes unless said otherwise."""

    def __init__(self, body: Body, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        self.body, self.q, self.v, self.a = body, q, v, a
        self.y, self.yd, self.ydd = faces(body.formulation, q, v, a)

    @property
    def position(self) -> np.ndarray:
        """Origin of the body frame [m]."""
        return self.y[:, 0]

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the origin [m/s]."""
        return self.yd[:, 0]

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the origin [m/s^2]."""
        return self.ydd[:, 0]

    def _axes(self, what: str) -> None:
        if not self.body.formulation.axes:
            raise AttributeError(f"{self.body.name!r} is a point, it has no {what}")

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices (n, 3, 3), body to inertial."""
        self._axes("rotation")
        directors = np.swapaxes(self.y[:, 1:], 1, 2)
        return directors if self.body.formulation.rigid else directors / self.scale[:, None, None]

    @property
    def scale(self) -> np.ndarray:
        """Length of the directors (n,): one, but of a body that breathes."""
        self._axes("scale")
        if self.body.formulation.rigid:
            return np.ones(len(self.y))
        return np.asarray(np.linalg.norm(self.y[:, 1:], axis=2).mean(1))

    @property
    def quaternion(self) -> np.ndarray:
        """Unit quaternions (n, 4), scalar first, body to inertial, without jumps of sign."""
        p = quaternion_from_matrix(self.rotation)
        flips = np.where(np.einsum("ij,ij->i", p[1:], p[:-1]) < 0, -1.0, 1.0)
        p[1:] *= np.cumprod(flips)[:, None]
        return p

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity [rad/s], inertial axes."""
        self._axes("angular velocity")
        omega = angular_velocity(self.y[:, 1:], self.yd[:, 1:])
        return omega if self.body.formulation.rigid else omega / self.scale[:, None] ** 2

    @property
    def angular_velocity_body(self) -> np.ndarray:
        """Angular velocity [rad/s], body axes."""
        return np.einsum("nij,ni->nj", self.rotation, self.angular_velocity)

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Angular acceleration [rad/s^2], inertial axes."""
        self._axes("angular acceleration")
        alpha = angular_velocity(self.y[:, 1:], self.ydd[:, 1:])
        if self.body.formulation.rigid:
            return alpha
        # d = s R e: the sum is s^2 alpha + 2 s s' omega, and d . d' is s s'
        grow = np.einsum("nkc,nkc->n", self.y[:, 1:], self.yd[:, 1:]) / 3
        alpha -= 2 * grow[:, None] * self.angular_velocity
        return alpha / self.scale[:, None] ** 2

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m]."""
        w = np.concatenate([[1.0], np.asarray(point, float)])
        return PointHistory(*(np.einsum("k,nkc->nc", w, x) for x in (self.y, self.yd, self.ydd)))


@dataclass(frozen=True)
class Reaction:
    """Force [N] and moment [N m] over time, inertial axes."""

    force: np.ndarray
    moment: np.ndarray


class JointHistory:
    """A joint over time.

    Attributes
    ----------
    multipliers : (n, n_rows) array
    force, moment : (n, 3) arrays [N], [N m]
        On the second body, at the joint (origin of its frame there), inertial axes.
    """

    def __init__(self, joint: Joint, solution: Solution) -> None:
        self.joint, self._solution = joint, solution
        owned = solution.model.numbering.owners[joint.name]
        self.multipliers = solution.lam[:, owned]
        self._start = owned.start

    def reaction(self, on: str = "second", at: str = "second") -> Reaction:
        """Return the reaction on "first" or "second" body, about the origin of either frame."""
        for word, value in (("on", on), ("at", at)):
            if value not in ("first", "second"):
                raise ValueError(f"reaction: {word} must be 'first' or 'second', got {value!r}")
        joint = self.joint
        frame = joint.A if on == "first" else joint.B
        about = joint.A if at == "first" else joint.B
        origin = self._solution.vector_of(about.name, about.point())
        force = np.zeros_like(origin)
        moment = np.zeros_like(origin)
        for element, row in self._solution.model.numbering.elements[joint.name]:
            lam = self.multipliers[:, row - self._start :]
            ends = element.attachments
            values = [self._solution.vector_of(a.body, a.weights) for a in ends]
            for a, x, g in zip(ends, values, _gradient(element, values, lam), strict=True):
                if a.body != frame.name:
                    continue
                if a.weights[0]:
                    force -= g
                    moment -= np.cross(x - origin, g)
                else:
                    moment -= np.cross(x, g)
        return Reaction(force, moment)

    @cached_property
    def _default(self) -> Reaction:
        return self.reaction()

    @property
    def force(self) -> np.ndarray:
        """Force on the second body [N]."""
        return self._default.force

    @property
    def moment(self) -> np.ndarray:
        """Moment on the second body about the joint [N m]."""
        return self._default.moment


def _gradient(element: Any, x: list[np.ndarray], lam: np.ndarray) -> list[np.ndarray]:
    """Return lam times the gradient of a row element for each of its attachments."""
    name = element.kind.name
    if name == "coincide":
        return [lam[:, :3], -lam[:, :3]]
    s = lam[:, :1]
    if name == "dot":
        return [s * x[1], s * x[0]]
    if name == "offset row":
        return [s * (x[1] - x[2]), s * x[0], -s * x[0]]
    return [-s * (x[1] - x[0]), s * (x[1] - x[0])]  # square row


@dataclass(frozen=True)
class RowHistory:
    """Rows that a body wears, over time: their multipliers (n, n_rows)."""

    multipliers: np.ndarray


class Solution:
    """What a run computed; time is the first axis everywhere.

    Attributes
    ----------
    t : (n,) array [s]
    q, v, a, lam : (n, ...) arrays
        Stored coordinates, velocities, accelerations, multipliers, in the order of the model.
    success, status, message
        Status 0: reached the end; 1: failed; -1: interrupted.
    stats : dict
        Steps, iterations, factorizations, evaluations, rejected, seconds, ...
    state : State
        The last state, from which a run can go on.
    """

    def __init__(
        self,
        model: Model,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        lam: np.ndarray,
        *,
        status: int,
        message: str,
        stats: dict[str, float],
        last: State,
        method: Any,
    ) -> None:
        self.model, self.t, self.q, self.v, self.a, self.lam = model, t, q, v, a, lam
        self.status, self.message, self.stats, self.state = status, message, stats, last
        self.method = method
        self.events: list[Any] = []
        self._bodies: dict[str, BodyHistory] = {}

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def __getitem__(self, name: str) -> Any:
        system = self.model.system
        if name in system.bodies:
            return self.body(name)
        if name in system.joints:
            return JointHistory(system.joints[name], self)
        rows = self.model.numbering.owners.get(name)
        if rows is not None:
            return RowHistory(self.lam[:, rows])
        known = [*system.bodies, *system.joints]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise KeyError(f"no body or joint named {name!r}{hint} There are: {', '.join(known[:20])}")

    def body(self, name: str) -> BodyHistory:
        """Return the history of a body."""
        if name not in self._bodies:
            i = self.model.bodies[name]
            n = self.model.numbering
            first = sum(b.formulation.n_v for b in list(self.model.system.bodies.values())[:i])
            body = self.model.system.bodies[name]
            v = slice(first, first + body.formulation.n_v)
            self._bodies[name] = BodyHistory(body, self.q[:, n.q[i]], self.v[:, v], self.a[:, v])
        return self._bodies[name]

    def vector_of(self, body: str, weights: tuple[float, ...]) -> np.ndarray:
        """Return sum w_k y_k of a body (or "ground") over time, (n, 3)."""
        w = np.asarray(weights)
        if body == "ground":
            return np.broadcast_to(w[1:], (len(self.t), 3)).copy()
        return np.einsum("k,nkc->nc", w, self.body(body).y)

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time [J]."""
        return energy(self)

    @cached_property
    def momentum(self) -> Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        return momentum(self)

    @cached_property
    def gap(self) -> np.ndarray:
        """Largest violation of a constraint row at each instant."""
        from mbd.algebra import memory as m
        from mbd.model.model import Workspace

        work = Workspace(self.model)
        found = np.zeros(len(self.t))
        lam = self.model.numbering.lam
        if len(lam):
            for i, t in enumerate(self.t):
                work.load(State(t, self.q[i], self.v[i], self.a[i], self.lam[i]))
                work.evaluate(row_rate=1.0)
                found[i] = np.abs(work.vector(m.X)[lam]).max()
        return found

    def save(self, path: str | Path, **notes: Any) -> Path:
        """Write results by name with units: ``.npz`` or ``.csv`` (see ``results/store.py``)."""
        from mbd.results.store import save

        return save(self, path, **notes)

    def animate(self, path: str | Path | None = None, **options: Any) -> Animation:
        """Return the moving picture of the run; write it to ``.html`` or ``.gif`` if asked.

        Jupyter shows what is returned. The page is one file that needs no network.

        Parameters
        ----------
        path : str or Path, optional
        trails : names of bodies, or pairs (name, point in body axes [m])
            Points whose paths are drawn.
        show : tuple of str
            What is visible at first, of "bodies", "joints", "springs", "trails", "loads",
            "reactions", "labels", "grid"; default all but "reactions" and "labels".
        arrows : bool
            False leaves loads and reactions out of the file.
        speed : float
            Seconds of the model per second; default 1, slower for short runs, faster for long ones.
        up, view : (3,) array
            Upwards (an axis; default against gravity), and from the middle to the eye.
        follow : str
            Body that the eye goes along with; "" for none. Default none, unless all run away.
        title : str
        """
        from mbd.results.animation.animation import animate

        return animate(self, path, **options)

    def snapshot(
        self, path: str | Path, t: float | None = None, *, size: Any = (800, 600), **options: Any
    ) -> Path:
        """Write a picture (``.png``, ``.pdf``, ``.svg``) of the instant nearest to t [s].

        Drawn by matplotlib, without a graphics card; default the last instant. ``size`` is in
        pixels, the other options are those of ``animate``.
        """
        from mbd.results.animation.animation import snapshot

        return snapshot(self, path, t, size, **options)

    def __repr__(self) -> str:
        n = int(self.stats.get("steps", 0))
        return f"Solution({len(self.t)} instants, {n} steps, {self.message})"
