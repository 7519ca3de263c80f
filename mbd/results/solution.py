"""Floor 5. Results by name: bodies, points, joints, energies, momenta, statistics."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.checked import shown, whole
from mbd.model.model import Model, State
from mbd.parts.actuators import Motor
from mbd.results.by_name import BodyHistory
from mbd.results.energy import Energy, Momentum
from mbd.results.everything import Everything, in_pieces
from mbd.results.freedoms import freedoms
from mbd.results.histories import faces_of, numbers_of
from mbd.results.joints import JointHistory, Reaction, RowHistory
from mbd.results.loads import MotorHistory, all_loads

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from mbd.results.animation.animation import Animation
    from mbd.results.everything import Before

__all__ = ["Solution"]

_RAW = ("q", "v", "a", "lam")
_BODIES_FROM_DISK = 2  # kept in memory where the numbers are in a file


class Solution:
    """What a run computed; time is the first axis everywhere.

    ``mbd.simulate`` and ``mbd.load`` make it.

    Parameters
    ----------
    model : Model
    t : (n,) array [s]
    q, v, a, lam : (n, ...) arrays [m, -; m/s, rad/s, 1/s; their rates; N, N m]
        Stored coordinates, velocities, accelerations, multipliers, in the order of the model. Of a
        streamed or loaded run they are on disk: slices of them are numpy arrays.
    status : int
        0: reached the end; 1: failed; -1: interrupted. ``success`` tells whether it is 0.
    message : str
        How the run ended.
    stats : dict
        Steps, iterations, factorizations, evaluations, rejected, seconds, ...
    last : State
        The last state, from which a run can go on: ``solution.state``.
    method : GeneralizedAlpha, EnergyMomentum or LieRungeKutta4
        Of a loaded run its text.
    before : mapping, optional
        What came before the first instant: of pieces of a long run.
    stored : mapping, optional
        Quantities by name that are in a file already.
    options : mapping, optional
        What ``mbd.simulate`` was asked for: ``t_end`` [s], ``step`` [s], ``rtol``, ``atol``,
        ``max_step`` [s], ``every``, ``project``, ``off`` and the names of ``events``, as given.
    events : list
        Events that happened, each with ``name`` and ``t`` [s], and those of a run that was not
        loaded with ``state``.
    """

    def __init__(
        self,
        model: Model,
        t: np.ndarray,
        q: Any,
        v: Any,
        a: Any,
        lam: Any,
        *,
        status: int,
        message: str,
        stats: dict[str, float],
        last: State,
        method: Any,
        before: Before | None = None,
        stored: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.t, self.q, self.v, self.a, self.lam = model, t, q, v, a, lam
        self.status, self.message, self.stats, self.state = status, message, stats, last
        self.method, self.options = method, dict(options or {})
        self.events: list[Any] = []
        self.before: Before = before or {}  # what came before the first instant, if anything did
        self.stored = stored  # quantities by name that are in a file already
        self._bodies: dict[str, BodyHistory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs; numbers that are in a file stay there."""
        state = vars(self) | {"_bodies": {}}
        if self.stored is not None:
            for name in _RAW:
                state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.stored is not None:
            self.q, self.v, self.a = (self.stored[x] for x in _RAW[:3])
            self.lam = self.stored.get("lam", np.zeros((len(self.t), 0)))

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def __getitem__(self, name: str) -> Any:
        system = self.model.system
        if not isinstance(name, str):
            raise TypeError(f"Solution: a part is asked for by its name, got {shown(name)}")
        if name in system.bodies:
            return self.body(name)
        if name in system.joints:
            return JointHistory(system.joints[name], self)
        if name in self.model.numbering.elements:
            return RowHistory(system[name], self)
        part = system.forces.get(name)
        if isinstance(part, Motor):
            return MotorHistory(part, self)
        known = [*system.bodies, *system.joints]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise KeyError(
            f"no body or joint named {shown(name)}{hint}. There are: {', '.join(known[:20])}"
        )

    def body(self, name: str) -> BodyHistory:
        """Return the history of a body."""
        if name not in self._bodies:
            if not isinstance(self.q, np.ndarray) and len(self._bodies) >= _BODIES_FROM_DISK:
                del self._bodies[next(iter(self._bodies))]
            faces = faces_of(self, [name])
            self._bodies[name] = BodyHistory(
                self.model.system.bodies[name],
                numbers_of(self, name),
                (faces.y[:, 0], faces.yd[:, 0], faces.ydd[:, 0]),
                self.model.origin,
                self.before.get(name),
            )
        return self._bodies[name]

    def vector_of(self, body: str, weights: tuple[float, ...]) -> np.ndarray:
        """Return sum w_k y_k of a body (or "ground") over time, (n, 3)."""
        w = np.asarray(weights)
        if body == "ground":
            return np.broadcast_to(w[1:], (len(self.t), 3)).copy()
        return np.einsum("k,nkc->nc", w, self.body(body).y) + w[0] * self.model.origin

    def part(self, instants: slice, before: Before | None = None) -> Solution:
        """Return some instants, in memory; `before` is what came before them."""
        arrays = (np.asarray(x[instants]) for x in (self.q, self.v, self.a, self.lam))
        return Solution(
            self.model, self.t[instants], *arrays, status=self.status, message=self.message,
            stats=self.stats, last=self.state, method=self.method, before=before,
        )  # fmt: skip

    def _all(self, take: Callable[[Everything], tuple[np.ndarray, ...]]) -> list[np.ndarray]:
        """Return what is taken of everything, piece by piece."""
        found = [take(piece) for piece in in_pieces(self)]
        return [np.concatenate(x) for x in zip(*found, strict=True)]

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy, what was dissipated, and work, over time [J]."""
        if self.stored is not None:
            return Energy.stored(self.stored)
        return Energy(*self._all(lambda x: x.energies))

    @cached_property
    def momentum(self) -> Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        if self.stored is not None:
            return Momentum(self.stored["momentum.linear"], self.stored["momentum.angular"])
        return Momentum(*self._all(lambda x: x.momenta))

    @cached_property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant [m, rad, -; on velocities m/s, rad/s]."""
        return self._all(lambda x: (x.gap,))[0] if self.stored is None else self.stored["gap"]

    @cached_property
    def reactions(self) -> dict[str, Reaction]:
        """Force [N] and moment [N m] of each joint on its second body, at the joint."""
        joints, stored = self.model.system.joints, self.stored
        if stored is not None:
            return {x: Reaction(stored[f"{x}.force"], stored[f"{x}.moment"]) for x in joints}
        force, moment = self._all(lambda x: (x.reactions.force, x.reactions.moment))
        return {name: Reaction(force[:, i], moment[:, i]) for i, name in enumerate(joints)}

    @cached_property
    def freedoms(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """What joints leave free, ``hinge.angle``, and its rate, (n,) each [rad, rad/s; m, m/s]."""
        known = freedoms(self.model)
        if self.stored is not None:
            return {name: (self.stored[name], self.stored[f"{name}_rate"]) for name in known}
        u, rate = self._all(lambda x: x.freedoms)
        return {name: (u[:, i], rate[:, i]) for i, name in enumerate(known)}

    @cached_property
    def loads(self) -> dict[str, np.ndarray]:
        """What motors, drives, transmissions and ropes report, ``motor.load``, (n,) each."""
        known = all_loads(self.model).units
        if self.stored is not None:
            return {name: self.stored[name] for name in known}
        return dict(zip(known, self._all(lambda x: (x.loads,))[0].T, strict=True))

    def blocks(self, instants: int = 4096) -> Iterator[Solution]:
        """Yield this solution in pieces of so many instants, one after the other in memory."""
        from mbd.results.blocks import blocks

        return blocks(self, whole("Solution.blocks", "instants", instants, 1))

    def to_xarray(self) -> xr.Dataset:
        """Return everything by name as one labelled data set (needs the extra "results").

        Dimensions time, body, joint, row, component (x, y, z) ...; units
        and frames are attributes of each variable, statistics and method those of the data set.
        """
        from mbd.results.labelled import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path, *, every: int = 1, **notes: Any) -> Path:
        """Write the results; the ending of the path says how.

        ==========  ============================================================================
        ``.nc``     netCDF-4, which is HDF5: all of ``to_xarray()``; ``mbd.load`` reads it
        ``.npz``    one numpy array per name; ``mbd.load`` reads it
        ``.csv``    a table of text, one row per instant
        ``.pvd``    for ParaView: bodies and joints with their vectors at each instant, paths
        ==========  ============================================================================

        Parameters
        ----------
        path : str or Path
        every : int
            Write every so many of the instants; of ``.csv`` and ``.pvd`` only.
        notes
            Stored with the results (``.nc`` and ``.npz``): text, numbers, lists of them.
        """
        from mbd.results.store import save

        return save(self, path, every=every, **notes)

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
        lines : sequence of sequences of names of bodies, or pairs (name, point in body axes [m])
            Each is a line that is drawn through its points: a rope, a flexible rod.
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

    def plot(self, *names: str, ax: Any = None) -> Figure:
        """Draw quantities by name over time (needs the extra "plot").

        Parameters
        ----------
        names : str
            A part ("rod", "hinge"), a quantity of it ("rod.position", "hinge.force") or one
            component ("rod.position.x"); "energy", "momentum", "gap"; "drift" is the change of
            energy and the violation of rows. Default: "energy" and "drift". Each has its own panel.
        ax : matplotlib Axes, optional
            Where to draw; then all quantities must have the same unit.

        Returns
        -------
        Figure
        """
        from mbd.results.plots import plot

        return plot(self, names, ax)

    def __repr__(self) -> str:
        n = int(self.stats.get("steps", 0))
        return f"Solution({len(self.t)} instants, {n} steps, {self.message})"
