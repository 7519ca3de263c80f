"""Contacts over time: gaps, pressures, friction and slip of the balls that touch a plane."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.read_only import ReadOnly
from mbd.base.tolerances import NEWTON_FREE
from mbd.history.trajectory import Trajectory
from mbd.parts.part import Frame


@dataclass(frozen=True)
class ContactHistory(ReadOnly):
    """A contact over time, of each of the k balls with which a body touches a plane.

    Attributes
    ----------
    gap : (n, k) array [m]
    pressure : (n, k) array [N]
        Normal force.
    friction : (n, k, 3) array [N]
        Force along the plane on the second body, inertial axes.
    force : (n, k, 3) array [N]
        All of the force on the second body, inertial axes.
    slip : (n, k, 3) array [m/s]
        Velocity of the body against the plane where they meet, along it, inertial axes.
    point : (n, k, 3) array [m]
        Where they meet, inertial.
    mode : (n, k) array of str
        "open", "stick" or "slip".
    impulse : (n, k) array [N s]
        Along the normal, of the impacts so far.
    dissipated : (n, k) array [J]
        What these took, and friction at the instants, summed by the rule of trapezia.
    """

    gap: np.ndarray
    pressure: np.ndarray
    friction: np.ndarray
    force: np.ndarray
    slip: np.ndarray
    point: np.ndarray
    mode: np.ndarray
    impulse: np.ndarray
    dissipated: np.ndarray

    def __repr__(self) -> str:
        return f"ContactHistory({self.gap.shape[0]} instants, {self.gap.shape[1]} balls)"


def contacts(solution: Any, name: str) -> ContactHistory:
    """Return what happens at a contact over time: gaps, pressures, friction, slip, modes.

    Parameters
    ----------
    solution : Solution
        Of ``mbd.simulate``, or loaded.
    name : str
        Of an ``mbd.Contact``.

    Returns
    -------
    ContactHistory
        Of instants: what impacts do within steps is in the velocities after them, and line by line
        in ``solution.impacts``.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, position=(0, 0, 0), velocity=(1, 0, 0)))
    >>> floor = system.add(mbd.Contact("floor", system.ground, ball, friction=0.2))
    >>> on_floor = mbd.contacts(mbd.simulate(system, 1.0, step=1e-3), "floor")
    >>> [str(x) for x in on_floor.mode[[1, -1], 0]], round(float(on_floor.pressure[-1, 0]), 6)
    (['slip', 'stick'], 9.81)
    """
    if not isinstance(solution, Trajectory):
        raise TypeError(f"contacts: solution must be a Solution, got {shown(solution)}")
    run: Any = solution
    part = run.model.system.parts.get(name) if isinstance(name, str) else None
    if part is None or not part.balls:
        there = [x.name for x in solution.model.system.parts.values() if x.balls]
        raise KeyError(
            f"contacts: name must be that of a Contact, got {shown(name)}; there are: "
            f"{', '.join(there) or 'none'}"
        )
    plane, body = part.ends
    P, R, v_P, w_P = _motion(solution, plane)
    Q, A, v_Q, w_Q = _motion(solution, body)
    center = Q[:, None] + np.einsum("tij,kj->tki", A, np.array([x for x, _ in part.balls]))
    radii = np.array([r for _, r in part.balls])[:, None]
    others = [x for x in part.others if x is not None]
    if not others:
        axes = np.broadcast_to((R @ plane.axes)[:, None], (*center.shape, 3))
        n = axes[..., 2]
        tangents = axes[..., :2]
        origin = P[:, None] + np.einsum("tij,j->ti", R, plane.position)[:, None]
        point = center - radii * n
        gap = ((point - origin) * n).sum(-1)
    else:
        origin = P[:, None] + np.einsum("tij,kj->tki", R, np.array([x for x, _ in others]))
        apart, radius = np.linalg.norm(center - origin, axis=-1), np.array([r for _, r in others])
        side = np.copysign(1.0, radius)
        n = side[:, None] * (center - origin) / apart[..., None]
        tangents = _tangents(n)
        point = center - radii * n
        gap = side * apart - radii[:, 0] - radius
    u = v_Q[:, None] + np.cross(w_Q[:, None], point - Q[:, None])
    u -= v_P[:, None] + np.cross(w_P[:, None], point - P[:, None])
    p = np.reshape(run[name].multipliers, (len(gap), -1, 3))
    friction = np.einsum("tkij,tkj->tki", tangents, p[..., 1:])
    # forces are at the bound to what the iteration leaves of them; what sticks may be above it
    bound = part.friction * p[..., 0]
    slips = np.abs(np.linalg.norm(p[..., 1:], axis=-1) - bound) <= NEWTON_FREE * bound
    mode = np.where(p[..., 0] > 0.0, np.where(slips, "slip", "stick"), "open")
    slip = u - (u * n).sum(-1, keepdims=True) * n
    force = p[..., :1] * n + friction
    impulse, dissipated = _of_impacts(solution, name, len(part.balls))
    power = (friction * slip).sum(-1)
    dissipated[1:] -= np.cumsum(0.5 * np.diff(solution.t)[:, None] * (power[1:] + power[:-1]), 0)
    return ContactHistory(
        gap, p[..., 0].copy(), friction, force, slip, point, mode, impulse, dissipated
    )


def _of_impacts(solution: Any, name: str, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal impulses and losses of the impacts of k balls so far, (n, k) each."""
    hits, so_far = solution.impacts[name], np.zeros((2, len(solution.t), k))
    at = np.searchsorted(solution.t, hits.t)
    there = at < len(solution.t)
    for of_step, x in zip(so_far, (hits.impulse[:, 0], hits.lost), strict=True):
        np.add.at(of_step, (at[there], hits.ball[there]), x[there])
    impulse, lost = so_far.cumsum(1)
    return impulse, lost


def _tangents(n: np.ndarray) -> np.ndarray:
    """Return the directions normal to n (..., 3) of the rows of two balls, as columns."""
    e = np.eye(3)[np.abs(n).argmin(-1)]
    w = e - (e * n).sum(-1, keepdims=True) * n
    t = w / np.linalg.norm(w, axis=-1, keepdims=True)
    return np.stack([t, np.cross(n, t)], -1)


def _motion(solution: Any, frame: Frame) -> tuple[Any, Any, Any, Any]:
    """Return position, rotation, velocity and angular velocity of the body of a frame."""
    n = len(solution.t)
    if not frame.body.moves:
        still = np.zeros((n, 3))
        return still, np.broadcast_to(np.eye(3), (n, 3, 3)), still, still
    body = solution[frame.name]
    if not frame.body.formulation.axes:
        still = np.zeros((n, 3))
        return body.position, np.broadcast_to(np.eye(3), (n, 3, 3)), body.velocity, still
    return body.position, body.rotation, body.velocity, body.angular_velocity
