r"""Floor 4. From a pose to an equilibrium.

A step solves, with the out-of-balance forces g at the multipliers that leave the least of them,

.. math:: \begin{bmatrix} K + \sigma D & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \delta \\ \mu \end{bmatrix} = -\begin{bmatrix} g \\ \Phi \end{bmatrix} .

It is Newton's step for :math:`\sigma = 0` and goes straight down for large ones [1]_. "minimum"
raises :math:`\sigma` until the step goes down, takes it if the forces have done work on the way,
and leaves a saddle along the motion that is unstable there. "nearest" takes Newton's steps,
shortened until g falls, and finds unstable equilibria as well.

References
----------
.. [1] J. Nocedal and S. J. Wright, Numerical optimization, 2006, section 10.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.algebra import memory as m
from mbd.model.model import State
from mbd.solvers.poses import displaced
from mbd.solvers.statics import Balance, SaddlePoint, Statics, accepted, least_multipliers

__all__ = ["EquilibriumError", "Found", "descend", "nearest", "seen"]

_DONE, _CLOSE = 1e-15, 1e-7  # out-of-balance forces relative to all forces; near the end
_SMALL = 1e-8  # forces so much smaller than the largest do not count
_TURN, _MOVE = 0.4, 0.3  # largest step: radians, part of the model's length
_LONG = 25  # steps, after which the way downhill counts as a long one
_NEARER, _FAR = 0.5, 100_000  # full steps by which a long way must get shorter; most of them
_REACH = 3.0  # of full steps on a long way, less than half a turn between two bodies
_LEAST = 1e-10  # smallest sigma, relative: motions without stiffness stay where they are


@dataclass(frozen=True, eq=False)
class Found:
    """A pose in balance and how it was found."""

    balance: Balance
    iterations: int


class EquilibriumError(RuntimeError):
    """No equilibrium was found; the search says why and keeps where it ended.

    Parameters
    ----------
    message : str
        Why, with the largest residuals by name [N, N m].
    state : State
        Where the search ended.
    """

    def __init__(self, message: str, state: State) -> None:
        super().__init__(message)
        self.state = state


def seen(balance: Balance, extent: np.ndarray) -> np.ndarray:
    """Return the size of what acts on each row: forces, multipliers, stiffness over the extent."""
    rows = np.abs(balance.Bt) @ np.abs(balance.state.lam)
    return np.abs(balance.forces) + rows + np.abs(balance.K) @ extent


class _Search:
    """What both ways share: sizes, steps along the manifold, rows restored."""

    def __init__(self, problem: Statics, factor: float) -> None:
        self.problem, self.factor, self.model = problem, factor, problem.model
        self.scale = problem.scale
        self.weight = sp.diags(1.0 / self.scale**2)
        self.length = float(self.model.F[m.LENGTH])
        self.drag = self.weight
        kinds = self.model.numbering.v_kinds
        self.extent = np.where(kinds == m.TRANSLATION, self.length, 1.0)
        self.limit = np.where(kinds == m.TRANSLATION, _MOVE * self.length, _TURN)
        self.reach = 1.0

    def turning(self) -> sp.dia_matrix:
        """Return D of a long way: masses, and for turns masses times length squared.

        With the inertias themselves a long chain falls as in free fall, all of it at once and
        hardly turning; with this its bars turn, which is the way to where it hangs.
        """
        diagonal = 1.0 / self.scale**2
        first = 0
        for body in self.model.system.bodies.values():
            here = slice(first, first + body.formulation.n_v)
            turns = self.model.numbering.v_kinds[here] != m.TRANSLATION
            size = float(diagonal[here][~turns].max(initial=0.0)) * self.length**2
            diagonal[here][turns] = np.maximum(diagonal[here][turns], size)
            first = here.stop
        return sp.diags(diagonal)

    def balance(self, state: State) -> Balance:
        """Return the balance with least multipliers, and the stiffness that belongs to them."""
        first = least_multipliers(self.problem.at(state, self.factor), self.scale)
        return self.problem.at(first.state, self.factor)

    def size(self, balance: Balance) -> float:
        """Return the size of the out-of-balance forces."""
        return float(np.linalg.norm(balance.residual * self.scale))

    def share(self, balance: Balance) -> float:
        """Return the out-of-balance forces relative to all that could be seen beside them."""
        every = seen(balance, self.extent)
        if not every.any():
            return 0.0
        floor = _SMALL * float((every * self.scale).max()) / self.scale
        return float((np.abs(balance.residual) / np.maximum(every, floor)).max())

    def stiffness(self, balance: Balance) -> float:
        """Return the size of K in units of the weight."""
        weighted = sp.diags(self.scale) @ balance.K @ sp.diags(self.scale)
        return float(np.abs(weighted).max()) if balance.K.nnz else 0.0

    def step(self, balance: Balance, sigma: float) -> tuple[np.ndarray, float]:
        """Return the step, not longer than its limits, and how many of that size the way has."""
        least = _LEAST * self.stiffness(balance)
        soft = least * self.weight + max(0.0, sigma - least) * self.drag
        tangent = SaddlePoint(balance.K + soft, balance.B, balance.Bt)
        delta, _ = tangent.solve(-balance.residual, -balance.gap)
        if not np.all(np.isfinite(delta)):
            return delta, np.inf
        steps = delta / self.limit
        longest = float(np.abs(steps).max(initial=0.0))
        return delta / max(1.0, longest / self.reach), float(np.linalg.norm(steps))

    def moved(self, balance: Balance, delta: np.ndarray) -> Balance | None:
        """Return the balance after a step, rows restored, or None if they could not be."""
        if not np.all(np.isfinite(delta)):
            return None
        state = displaced(self.model, balance.state, delta)
        restored = self.restored(state)
        if restored is None:
            return None
        return self.balance(accepted(self.model, restored))

    def restored(self, state: State) -> State | None:
        """Return the nearest pose that satisfies the rows."""
        if not self.model.n_lam:
            return state
        solver = None
        for i in range(24):
            gap = self.problem.gap(state)
            worst = float(np.abs(gap).max())
            if worst <= 1e-13 * max(1.0, self.length):
                return state
            if solver is None or i % 3 == 0:
                A = self.model.assemble(state)
                solver = SaddlePoint(self.weight, A.B, A.Bt)
            delta, _ = solver.solve(np.zeros(self.model.n_v), -gap)
            if not np.all(np.isfinite(delta)) or (np.abs(delta) > 4 * self.limit).any():
                return None
            state = displaced(self.model, state, delta)
        return state if worst <= 1e-9 * max(1.0, self.length) else None

    def failure(self, balance: Balance, iterations: int) -> EquilibriumError:
        """Name the largest forces that are out of balance."""
        g = balance.residual
        names = self.model.numbering
        worst = np.argsort(-np.abs(g) * self.scale)[:3]
        units = ["N" if names.v_kinds[i] == m.TRANSLATION else "N m" for i in worst]
        who = ", ".join(
            f"{names.v_labels[i]!r} ({g[i]:.3g} {u})" for i, u in zip(worst, units, strict=True)
        )
        gap = ""
        if self.model.n_lam and np.abs(balance.gap).max() > 1e-9 * max(1.0, self.length):
            row = int(np.argmax(np.abs(balance.gap)))
            gap = f"; the row {names.lam_labels[row]!r} is open by {balance.gap[row]:.2g}"
        return EquilibriumError(
            f"no equilibrium found in {iterations} iterations at load factor {self.factor:g}: out "
            f"of balance are {who}{gap}; does anything hold these bodies? try load_steps=, "
            "another start (state=) or seek='nearest'",
            balance.state,
        )

    def start(self, state: State) -> Balance:
        """Return the balance at the start, rows satisfied."""
        restored = self.restored(state)
        if restored is None:
            balance = self.problem.at(state, self.factor)
            row = int(np.argmax(np.abs(balance.gap)))
            raise EquilibriumError(
                "the start violates constraints that could not be satisfied nearby: "
                f"{self.model.numbering.lam_labels[row]!r} by {balance.gap[row]:.3g}; give a pose "
                "closer to the joints",
                state,
            )
        return self.balance(restored)


class _Iterations:
    """Iterations, of which so many are given; those that come steadily nearer do not count.

    A spring that is wound up by many turns unwinds by steps of limited size, each of which leaves
    less ahead; they may become longer.
    """

    def __init__(self, search: _Search, most: int) -> None:
        self.search, self.done, self.left, self.ahead = search, 0, most, np.inf

    def took(self, ahead: float) -> None:
        """Count a step that had so many full steps ahead, itself among them."""
        steady = 1.0 < ahead <= self.ahead - _NEARER and self.done < _FAR
        self.search.reach = min(_REACH, 1.3 * self.search.reach) if steady else 1.0
        self.ahead = ahead
        self.done += 1
        self.left -= not steady


def nearest(problem: Statics, state: State, factor: float, most: int) -> Found:
    """Return the equilibrium that Newton's method finds from a pose."""
    search = _Search(problem, factor)
    now, count = search.start(state), _Iterations(search, most)
    while count.left:
        i, g, share = count.done, search.size(now), search.share(now)
        if share <= _DONE:
            return Found(now, i)
        sigma = _LEAST * search.stiffness(now)
        delta, ahead = search.step(now, sigma)
        better = None
        for cut in 0.5 ** np.arange(12):
            trial = search.moved(now, cut * delta)
            if trial is not None and search.size(trial) < (1 - 1e-3 * cut) * g:
                better = trial
                break
            if share <= _CLOSE and trial is not None:
                return Found(trial if search.size(trial) < g else now, i)  # at round-off
        if better is None and share <= _CLOSE:
            return Found(now, i)
        if better is None:
            raise search.failure(now, i)
        now = better
        count.took(ahead)
    raise search.failure(now, count.done)


def descend(problem: Statics, state: State, factor: float, most: int) -> Found:
    """Return an equilibrium that lies downhill of a pose."""
    search = _Search(problem, factor)
    now = search.start(state)
    stiff = search.stiffness(now)
    sigma, count = 1e-3 * stiff or 1.0, _Iterations(search, most)
    while count.left:
        if count.done == _LONG:
            search.drag = search.turning()
        i, g, share = count.done, search.size(now), search.share(now)
        if share <= _DONE:
            return Found(now, i)
        stiff = max(search.stiffness(now), 1e-300)
        least = _LEAST * stiff
        if share <= _CLOSE and _falls(search, now, least):
            sigma = least
        taken = None
        for _ in range(40):
            sigma = max(sigma, least)
            delta, ahead = search.step(now, sigma)
            if np.all(np.isfinite(delta)) and (
                now.residual @ _tested(search, now, delta) <= 0.0 or not now.residual.any()
            ):
                trial = search.moved(now, delta)
                if trial is not None:
                    smaller = search.size(trial)
                    if share <= _CLOSE and smaller >= 0.5 * g:  # round-off
                        return Found(trial if smaller < g else now, i)
                    if _work(search, now, trial, delta) < 0.0 or smaller < 0.1 * g:
                        taken = trial
                        break
            sigma = 8 * sigma
        if taken is None:
            if share <= _CLOSE:
                return Found(now, i)
            raise search.failure(now, i)
        now, sigma = taken, sigma / 30
        count.took(ahead)
    raise search.failure(now, count.done)


def _falls(search: _Search, now: Balance, sigma: float) -> bool:
    """Tell whether the step with this sigma goes down."""
    delta, _ = search.step(now, sigma)
    return bool(np.all(np.isfinite(delta)) and now.residual @ _tested(search, now, delta) <= 0.0)


def _tested(search: _Search, balance: Balance, delta: np.ndarray) -> np.ndarray:
    """Return the virtual displacement that rows are tested with for an increment."""
    if all(b.formulation.galerkin for b in search.model.system.bodies.values()):
        return delta
    from mbd.solvers.face_maps import face_maps

    made = np.empty_like(delta)
    for body in face_maps(search.model, balance.state):
        moved = body.Y @ delta[body.v]
        made[body.v] = np.linalg.lstsq(body.Z, moved, rcond=None)[0]
    return made


def _work(search: _Search, now: Balance, then: Balance, delta: np.ndarray) -> float:
    """Return minus the work of all forces on the way, by the trapezoidal rule."""
    first = now.residual @ _tested(search, now, delta)
    second = then.residual @ _tested(search, then, delta)
    return float(0.5 * (first + second))
