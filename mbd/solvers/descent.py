r"""Floor 4. From a pose to an equilibrium.

A step solves, with the out-of-balance forces g,

.. math:: \begin{bmatrix} K + \sigma D & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \delta \\ \mu \end{bmatrix} = -\begin{bmatrix} g \\ \Phi \end{bmatrix} .

It is Newton's step for :math:`\sigma = 0` and goes straight down for large ones [1]_. "minimum"
takes a :math:`\sigma` with which the matrix is positive on the motions that the rows allow, as its
inertia says, and a step if the forces have done work on the way. "nearest" takes Newton's steps,
shortened until g falls, and finds unstable equilibria as well.

The multipliers are those that balance forces rather than moments (``metric.py``), so that K holds
the stiffness of tensions, and D is the size of these forces: bodies of a long chain turn side by
side, and the number of steps hardly depends on how many there are.

References
----------
.. [1] J. Nocedal and S. J. Wright, Numerical optimization, 2006, section 10.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.algebra import memory as m
from mbd.algebra.tolerances import (
    REST_CLOSE,
    REST_DONE,
    REST_FAR,
    REST_LEAST,
    REST_NEARER,
    REST_NEWTON,
    REST_REACH,
    REST_SMALL,
)
from mbd.model.model import State
from mbd.solvers.face_maps import test_map
from mbd.solvers.inertia import Inertia
from mbd.solvers.metric import Metric
from mbd.solvers.poses import displaced
from mbd.solvers.statics import Balance, SaddlePoint, Statics, accepted, least_multipliers

__all__ = ["EquilibriumError", "Found", "descend", "nearest", "seen"]


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


@dataclass(frozen=True, eq=False)
class _Place:
    """A pose of the search: its balance, its rows in heavy weights, the drag D, the test map.

    ``K`` is the stiffness with a little of the weight: motions without stiffness stay where they
    are.
    """

    balance: Balance
    K: sp.csr_matrix
    rows: SaddlePoint
    drag: sp.csr_matrix
    test: sp.csr_matrix

    @property
    def residual(self) -> np.ndarray:
        """Out-of-balance forces g."""
        return self.balance.residual

    def dragged(self, sigma: float) -> sp.csr_matrix:
        """Return K + sigma D."""
        return sp.csr_matrix(self.K + sigma * self.drag)

    def work(self, delta: np.ndarray) -> float:
        """Return g times an increment."""
        return float(self.residual @ (self.test @ delta))


class _Search:
    """What both ways share: sizes, steps along the manifold, rows restored."""

    def __init__(self, problem: Statics, factor: float, state: State) -> None:
        self.problem, self.factor, self.model = problem, factor, problem.model
        self.scale, self.extent = problem.scale, problem.model.units
        self.weight = sp.diags(1.0 / self.scale**2)
        self.metric = Metric(self.model, state)
        self.heavy = self.metric.heavy()
        self.inertia = Inertia(self.model)
        self.own = np.flatnonzero(self.model.numbering.lam_kinds == m.OWN)
        self.reach = 1.0
        self.near = 1e-13 * max(1.0, self.metric.length)

    def place(self, state: State) -> _Place:
        """Return a pose that satisfies the rows, with the multipliers of least forces."""
        balance = self.problem.at(state, self.factor)
        rows = SaddlePoint(self.heavy, balance.B, balance.Bt)
        if self.model.n_lam:
            _, lam = rows.solve(-balance.forces, np.zeros(self.model.n_lam))
            lam[self.own] -= self._carried(balance, balance.forces + balance.Bt @ lam)
            balance = self.problem.at(state.replace(lam=lam), self.factor)
        acting = np.abs(balance.forces) + np.abs(balance.Bt) @ np.abs(balance.state.lam)
        test = test_map(self.model, balance.state)
        return _Place(balance, self._held(balance.K), rows, self.metric.drag(acting), test)

    def _held(self, K: sp.csr_matrix) -> sp.csr_matrix:
        """Return K with a little of the weight."""
        size = sp.diags(self.scale) @ K @ sp.diags(self.scale)
        least = REST_LEAST * float(np.abs(size).max()) if K.nnz else 0.0
        return sp.csr_matrix(K + least * self.weight)

    def _carried(self, balance: Balance, g: np.ndarray) -> np.ndarray:
        """Return what the bodies' own rows can carry of forces.

        The heavy weights belong to the start; at a pose far from there they would leave a force
        across a body's own rows, which no motion can see.
        """
        if not len(self.own):
            return np.zeros(0)
        rows = SaddlePoint(self.weight, balance.B[self.own], balance.Bt[:, self.own])
        return rows.solve(g, np.zeros(len(self.own)))[1]

    def size(self, place: _Place) -> float:
        """Return the size of the out-of-balance forces."""
        return float(np.linalg.norm(place.residual * self.scale))

    def share(self, place: _Place) -> float:
        """Return the out-of-balance forces relative to all that could be seen beside them."""
        every = seen(place.balance, self.extent)
        if not every.any():
            return 0.0
        floor = REST_SMALL * float((every * self.scale).max()) / self.scale
        return float((np.abs(place.residual) / np.maximum(every, floor)).max())

    def step(self, place: _Place, sigma: float) -> tuple[np.ndarray, float]:
        """Return the step, not longer than its limits, and how many of that size the way has."""
        at = place.balance
        tangent = SaddlePoint(place.dragged(sigma), at.B, at.Bt)
        delta, _ = tangent.solve(-at.residual, -at.gap)
        if not np.all(np.isfinite(delta)):
            return delta, np.inf
        steps = self.metric.steps(delta)
        return delta / max(1.0, float(steps.max()) / self.reach), float(np.linalg.norm(steps))

    def positive(self, place: _Place, sigma: float) -> bool:
        """Tell whether K + sigma D is positive on the motions that the rows allow.

        In a turning frame forces have no potential, and nothing is asked of K.
        """
        if self.problem.turning:
            return True
        K = place.test.T @ place.dragged(sigma)
        return self.inertia.negative(K, place.balance.B) in (0, None)

    def moved(self, place: _Place, delta: np.ndarray) -> _Place | None:
        """Return where a step leads, rows restored, or None if they could not be."""
        if not np.all(np.isfinite(delta)):
            return None
        restored = self.restored(displaced(self.model, place.balance.state, delta))
        return None if restored is None else self.place(accepted(self.model, restored))

    def restored(self, state: State) -> State | None:
        """Return a pose nearby that satisfies the rows."""
        if not self.model.n_lam:
            return state
        last = np.inf
        for i in range(24):
            at = self.problem.at(state, self.factor)
            worst = float(np.abs(at.gap).max())
            if worst <= self.near:
                return state
            if i > 3 and worst > 0.5 * last:
                break
            last = worst
            rows = SaddlePoint(self.heavy, at.B, at.Bt)
            delta, _ = rows.solve(np.zeros(self.model.n_v), -at.gap)
            if not np.all(np.isfinite(delta)) or self.metric.steps(delta).max() > 4.0:
                return None
            state = displaced(self.model, state, delta)
        return state if worst <= 1e4 * self.near else None

    def found(self, place: _Place, iterations: int) -> Found:
        """Return where the search ended; of multipliers that are not unique the smallest."""
        even = least_multipliers(place.balance, self.scale)
        return Found(self.problem.at(even.state, self.factor), iterations)

    def failure(self, place: _Place, iterations: int) -> EquilibriumError:
        """Name the largest forces that are out of balance."""
        balance, g = place.balance, place.residual
        names = self.model.numbering
        worst = np.argsort(-np.abs(g) * self.scale)[:3]
        units = ["N" if names.v_kinds[i] == m.TRANSLATION else "N m" for i in worst]
        who = ", ".join(
            f"{names.v_labels[i]!r} ({g[i]:.3g} {u})" for i, u in zip(worst, units, strict=True)
        )
        gap = ""
        if self.model.n_lam and np.abs(balance.gap).max() > 1e4 * self.near:
            row = int(np.argmax(np.abs(balance.gap)))
            gap = f"; the row {names.lam_labels[row]!r} is open by {balance.gap[row]:.2g}"
        return EquilibriumError(
            f"no equilibrium found in {iterations} iterations at load factor {self.factor:g}: out "
            f"of balance are {who}{gap}; does anything hold these bodies? try load_steps=, "
            "another start (state=) or seek='nearest'",
            balance.state,
        )

    def start(self, state: State) -> _Place:
        """Return the start, rows satisfied."""
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
        return self.place(restored)


class _Iterations:
    """Iterations, of which so many are given; those that come steadily nearer do not count.

    A spring that is wound up by many turns unwinds by steps of limited size, each of which leaves
    less ahead; they may become longer.
    """

    def __init__(self, search: _Search, most: int) -> None:
        self.search, self.done, self.left, self.ahead = search, 0, most, np.inf

    def took(self, ahead: float) -> None:
        """Count a step that had so many full steps ahead, itself among them."""
        steady = 1.0 < ahead <= self.ahead - REST_NEARER and self.done < REST_FAR
        self.search.reach = min(REST_REACH, 1.3 * self.search.reach) if steady else 1.0
        self.ahead = ahead
        self.done += 1
        self.left -= not steady


def nearest(problem: Statics, state: State, factor: float, most: int) -> Found:
    """Return the equilibrium that Newton's method finds from a pose."""
    search = _Search(problem, factor, state)
    now, count = search.start(state), _Iterations(search, most)
    while count.left:
        i, g, share = count.done, search.size(now), search.share(now)
        if share <= REST_DONE:
            return search.found(now, i)
        delta, ahead = search.step(now, 0.0)
        better = None
        for cut in 0.5 ** np.arange(12):
            trial = search.moved(now, cut * delta)
            if trial is not None and search.size(trial) < (1 - 1e-3 * cut) * g:
                better = trial
                break
            if share <= REST_CLOSE and trial is not None:  # at round-off
                return search.found(trial if search.size(trial) < g else now, i)
        if better is None and share <= REST_CLOSE:
            return search.found(now, i)
        if better is None:
            raise search.failure(now, i)
        now = better
        count.took(ahead)
    raise search.failure(now, count.done)


def descend(problem: Statics, state: State, factor: float, most: int) -> Found:
    """Return an equilibrium that lies downhill of a pose."""
    search = _Search(problem, factor, state)
    now, count, sigma = search.start(state), _Iterations(search, most), 1.0
    while count.left:
        i, g, share = count.done, search.size(now), search.share(now)
        if share <= REST_DONE:
            return search.found(now, i)
        if share <= REST_CLOSE and now.work(search.step(now, 0.0)[0]) <= 0.0:
            sigma = 0.0
        taken = None
        for _ in range(40):
            usable = share <= REST_CLOSE or search.positive(now, sigma)  # all are, near a balance
            delta, ahead = search.step(now, sigma) if usable else (None, np.inf)
            if delta is not None and now.work(delta) <= 0.0:
                trial = search.moved(now, delta)
                if trial is not None:
                    smaller = search.size(trial)
                    if share <= REST_CLOSE and smaller >= 0.5 * g:  # round-off
                        return search.found(trial if smaller < g else now, i)
                    if _work(search, now, trial, delta) < 0.0 or smaller < 0.1 * g:
                        taken = trial
                        break
            sigma = max(8 * sigma, 1e3 * REST_NEWTON)
        if taken is None:
            if share <= REST_CLOSE:
                return search.found(now, i)
            raise search.failure(now, i)
        now, sigma = taken, sigma / 30
        sigma = sigma if sigma > REST_NEWTON else 0.0
        count.took(ahead)
    raise search.failure(now, count.done)


def _work(search: _Search, now: _Place, then: _Place, delta: np.ndarray) -> float:
    """Return minus the work of all forces on the way, by the trapezoidal rule.

    At the end the step is turned into the motions that the rows allow there.
    """
    end, _ = then.rows.solve(search.heavy @ delta, np.zeros(search.model.n_lam))
    return 0.5 * (now.work(delta) + then.work(end))
