"""Results of a model that a file does not hold: what was stored, by the same names."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.door import vector
from mbd.history.quantities import Energy, Momentum, PointHistory, Reaction

if TYPE_CHECKING:
    from mbd.store.source import Source

__all__ = ["StoredBody", "StoredHistory", "StoredJoint", "StoredRows"]


def _said(part: Any, name: str, source: Source) -> str:
    """Return the name of a part and what is stored of it."""
    known = ", ".join(x.rpartition(".")[2] for x in source if x.rpartition(".")[0] == name)
    return f"{type(part).__name__}({name!r}, {len(source['t'])} instants: {known})"


class StoredBody:
    """A body over time; (n, 3) arrays in inertial axes unless said otherwise."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self._source = name, source

    def _get(self, what: str) -> np.ndarray:
        try:
            return self._source[f"{self.name}.{what}"]
        except KeyError:
            raise AttributeError(
                f"{self.name!r} has no {what.replace('_', ' ')} in {self._source.path.name}"
            ) from None

    @property
    def position(self) -> np.ndarray:
        """Origin of the body frame [m]."""
        return self._get("position")

    @property
    def velocity(self) -> np.ndarray:
        """Velocity of the origin [m/s]."""
        return self._get("velocity")

    @property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the origin [m/s^2]."""
        return self._get("acceleration")

    @property
    def quaternion(self) -> np.ndarray:
        """Unit quaternions (n, 4), scalar first, body to inertial, without jumps of sign."""
        return self._get("quaternion")

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices (n, 3, 3), body to inertial, made from the quaternions."""
        p = self.quaternion
        E = np.zeros((len(p), 3, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            E[:, k, j], E[:, j, k] = p[:, 1 + i], -p[:, 1 + i]
        return np.eye(3) + 2 * p[:, :1, None] * E + 2 * E @ E

    @property
    def angular_velocity(self) -> np.ndarray:
        """Angular velocity [rad/s], inertial axes."""
        return self._get("angular_velocity")

    @property
    def angular_velocity_body(self) -> np.ndarray:
        """Angular velocity [rad/s], body axes."""
        return np.einsum("nij,ni->nj", self.rotation, self.angular_velocity)

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Angular acceleration [rad/s^2], inertial axes."""
        return self._get("angular_acceleration")

    @property
    def scale(self) -> np.ndarray:
        """Length of the directors (n,) of a body that may breathe."""
        return self._get("scale")

    def at(self, point: Any) -> PointHistory:
        """Return the history of a point given in body axes [m], of a body that is rigid."""
        if np.any(self._source.get(f"{self.name}.scale", 1.0) != 1.0):
            raise AttributeError(f"{self.name!r} breathes: its points are not stored")
        where = vector(f"solution[{self.name!r}].at", "point", point, "m")
        r = np.einsum("nij,j->ni", self.rotation, where)
        omega, alpha = self.angular_velocity, self.angular_acceleration
        turned = np.cross(omega, r)
        return PointHistory(
            self.position + r,
            self.velocity + turned,
            self.acceleration + np.cross(alpha, r) + np.cross(omega, turned),
        )

    def __repr__(self) -> str:
        return _said(self, self.name, self._source)


def _of_part(kind: str, part: str, name: str, source: Source) -> np.ndarray:
    """Return what is stored of a part by name."""
    if name.startswith("_"):
        raise AttributeError(name)
    if f"{part}.{name}" not in source:
        there = [x.rpartition(".") for x in source]
        known = ", ".join(x for owner, _, x in there if owner == part)
        raise AttributeError(f"{kind}{part!r} has no {name!r}; there are {known}")
    return np.asarray(source[f"{part}.{name}"])


class StoredJoint:
    """A joint over time: force and moment on the second body, at the joint, inertial axes.

    Its free coordinates and their rates are attributes: ``angle``, ``angle_rate``.
    """

    def __init__(self, name: str, source: Source) -> None:
        self.name, self._source = name, source

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers (n, n_rows)."""
        return self._source[f"{self.name}.multipliers"]

    @property
    def force(self) -> np.ndarray:
        """Force on the second body [N]."""
        return self._source[f"{self.name}.force"]

    @property
    def moment(self) -> np.ndarray:
        """Moment on the second body about the joint [N m]."""
        return self._source[f"{self.name}.moment"]

    def __getattr__(self, name: str) -> np.ndarray:
        return _of_part("joint ", self.name, name, self._source)

    def reaction(self) -> Reaction:
        """Return force and moment on the second body, about the joint."""
        return Reaction(self.force, self.moment)

    def __repr__(self) -> str:
        return _said(self, self.name, self._source)


class StoredRows:
    """A drive, motor, transmission or another part with rows: ``multipliers``, ``load``."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self._source = name, source

    def __getattr__(self, name: str) -> np.ndarray:
        return _of_part("", self.name, name, self._source)

    def __repr__(self) -> str:
        return _said(self, self.name, self._source)


class StoredHistory:
    """What a file of results holds, with the names of a ``Solution``.

    Attributes
    ----------
    source : mapping
        Every quantity by its full name: ``source["rod.position"]``.
    t, q, v, a, lam : arrays
    status, message, method, options, stats, notes, version
        As the run left them; the method as text.
    events : list
        Events that happened, each with ``name`` and ``t``.
    """

    def __init__(self, source: Source) -> None:
        self.source, about = source, source.about
        self.t = source["t"]
        self.q, self.v, self.a = source["q"], source["v"], source["a"]
        self.lam = source["lam"] if "lam" in source else np.zeros((len(self.t), 0))
        self.status, self.message = int(about["status"]), str(about["message"])
        self.method, self.version = str(about["method"]), str(about["version"])
        self.stats: dict[str, float] = about["stats"]
        self.notes: dict[str, Any] = about["notes"]
        self.options: dict[str, Any] = about["options"]
        self.events = list(source.events)

    def __reduce__(self) -> Any:
        return type(self), (self.source,)

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def __getitem__(self, name: str) -> Any:
        """Return a body, a joint or rows by name."""
        owners = self.source.owners
        if not isinstance(name, str):
            raise TypeError(f"Stored: a part is asked for by its name, got {shown(name)}")
        if name not in owners:
            close = difflib.get_close_matches(name, owners, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise KeyError(
                f"no body or joint named {shown(name)}{hint}. There are: "
                f"{', '.join(list(owners)[:20])}"
            )
        if owners[name] == "joint":
            return StoredJoint(name, self.source)
        if owners[name] in ("rows", "motor"):
            return StoredRows(name, self.source)
        return StoredBody(name, self.source)

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy, what was dissipated, and work, over time [J]."""
        return Energy(self.source)

    @cached_property
    def momentum(self) -> Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        return Momentum(self.source)

    @property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant [m, rad, -; on velocities m/s, rad/s]."""
        return self.source["gap"]

    def __repr__(self) -> str:
        file = self.source.path.name
        return f"{type(self).__name__}({file!r}, {len(self.t)} instants, {self.message})"
