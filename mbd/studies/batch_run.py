r"""Runs of many models that differ in constants only, stage by stage for all of them at once.

Kernels are called on run after run in one compiled loop; what stands between them is written for
arrays over runs, in the operations of ``consistent``, ``starting_values`` and ``Run``: bits are
those of ``mbd.simulate``. A run that leaves the straight way (rows that are not met, a start that
is not smooth, a step that fails, steps that look too large) is marked, and goes through
``mbd.simulate`` by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.base.run_tolerances import (
    LARGE_STEP_ERROR,
    LARGE_STEP_THROW,
    OSCILLATION_INSTANTS,
    OSCILLATION_SHARE,
)
from mbd.base.tolerances import (
    ERROR_CANCELS,
    MEETING_DUST,
    START_DIFFERENCE,
    START_POSITION,
    START_SMOOTH,
    START_VELOCITY,
)
from mbd.integration.consistent import consistent, unmet_kernel
from mbd.integration.method import Method
from mbd.integration.starting_values import begin
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.machine.batch import Batch
from mbd.model.evaluation import evaluate_kernel, linearise_kernel, rates_kernel
from mbd.model.model import Model
from mbd.model.workspace import Workspace
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Run
from mbd.studies.loading import first_state, load, others

__all__ = ["Batches", "Instants"]

_BYTES = 1 << 24  # of a batch: what is shared by its runs is then small beside them


@dataclass(frozen=True)
class Instants:
    """What n runs recorded: (n, instants, .) arrays, as those of a solution.

    ``clean`` (n,) marks the runs that these are good for; t (instants,) is the same for all.
    """

    clean: np.ndarray
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray

    def good(self) -> Instants:
        """Return those of clean runs."""
        if self.clean.all():
            return self
        some = (x[self.clean] for x in (self.q, self.v, self.a, self.lam))
        return Instants(self.clean[self.clean], self.t, *some)


class Batches:
    """The way of runs of one model with other constants, by a method and a plan.

    Parameters
    ----------
    model : Model
    method : integrator
    plan : Plan
    """

    def __init__(self, model: Model, method: Method, plan: Plan) -> None:
        self.model, self.method, self.plan = model, method, plan
        self.v, self.lam = model.numbering.v, model.numbering.lam
        first = consistent(model)
        run, plain = Run(model, first, method, plan, Interrupt()), Workspace(model, first)
        self.steps, self.h, self.by_position = run.n_steps, run.h, run.by_position
        self.whole = not run.rest and run.n_steps % plan.every == 0 and not run.jumps.driven
        self.options = others(plain.F, run.work.F, 0, first_state(model))
        self.own = slice(model.size, run.at), run.work.F[model.size : run.at].copy()
        self.at, self.record, self.kept = run.at, run.size, self.steps // plan.every
        self.size = run.at + self.kept * run.size
        self.together = max(1, min(64, _BYTES // (8 * self.size)))

    @property
    def open(self) -> bool:
        """Whether runs can be taken together: steps of one size that fill the time, no user's law.

        Nor laws of motion, which are looked at for jumps.
        """
        start, facts = self.method.facts.start, self.method.facts
        simple = start is None or getattr(start, "func", None) is begin
        steps = self.whole and facts.linear_solver == "fronts" and not self.plan.free
        return simple and steps and not self.model.laws

    def go(self, F: np.ndarray) -> Instants:
        """Return what the runs with constants F (n, .) record."""
        return _Start(self, F).run()


class _Start:
    """One batch on its way."""

    def __init__(self, way: Batches, F: np.ndarray) -> None:
        self.way, self.model, self.numbers = way, way.model, F
        self.batch = Batch(way.model.I, len(F), way.size)
        self.F, self.S, self.v, self.lam = self.batch.F, self.batch.S, way.v, way.lam
        self.good = np.ones(len(F), bool)
        load(self.batch, self.model, F, way.at)

    def _state(self, v: Any, a: Any, lam: Any, alg: Any) -> None:
        """Begin with other velocities, accelerations and multipliers."""
        load(self.batch, self.model, self.numbers, self.way.at)
        for name, where, x in (
            (m.V, self.v, v), (m.A, self.v, a), (m.A, self.lam, lam), (m.AL, self.v, alg)
        ):  # fmt: skip
            self._put(name, where, x)

    def _put(self, name: int, where: Any, x: Any) -> None:
        self.batch.vector(name)[:, where] = x

    def _take(self, name: int, where: Any) -> np.ndarray:
        return self.batch.vector(name)[:, where]

    def run(self) -> Instants:
        """Take all steps; return what was recorded."""
        with np.errstate(all="ignore"):  # runs that are marked
            self._accelerate()
            model, v = self.model, self.v
            q0 = self.batch.vector(m.Q, model.n_q).copy()
            v0, a0, lam0 = (self._take(*x) for x in ((m.V, v), (m.A, v), (m.A, self.lam)))
            alg, speed, change = a0, v0, None
            if self.way.method.facts.start is not None:
                alg, speed, change = self._begin(v0, a0, lam0)
            self._prepare(speed, a0, lam0, alg, change)
            self.batch.run(self.way.method.kernel, only=self.good)
            done = (self.S[:, m.STATUS] == 0) & (self.S[:, m.STEPS_DONE] == self.way.steps)
            self.good &= done & (self.S[:, m.BAD_HOW] == 0)
            way, n = self.way, len(self.F)
            rows = self.F[:, way.at : way.at + way.kept * way.record].reshape(n, way.kept, -1)
            n_v = 1 + model.n_q
            n_a = n_v + int(model.I[m.N_U])
            both = (
                np.concatenate([x[:, None], y], axis=1)
                for x, y in (
                    (q0, rows[:, :, 1:n_v]),
                    (v0, rows[:, :, n_v + v]),
                    (a0, rows[:, :, n_a + v]),
                    (lam0, rows[:, :, n_a + self.lam]),
                )
            )
            first = int(np.argmax(self.good))
            t = np.concatenate([[0.0], rows[first, :, 0]])
            instants = Instants(self.good, t, *both)
            self.good &= ~self._suspect(instants)
            return instants

    # --- consistent initial values: equation (consistent) ----------------------------------------
    def _evaluate(self) -> None:
        self.F[:, m.SCALE_R], self.F[:, m.ROW_RATE] = 1.0, 0.0
        self.batch.run(evaluate_kernel, only=self.good)

    def _unmet(self, k: int = 0, only: Any = None) -> None:
        self.batch.run(unmet_kernel, k, only=self.good if only is None else only)

    def _factor(self) -> None:
        """Factor the saddle matrix; mark where pivots are small."""
        F, S = self.F, self.S
        S[:, m.LINEAR] = factor_and_solve.address
        F[:, m.W_M], F[:, m.W_G], F[:, m.W_K], F[:, m.ROW_TURN] = 1.0, 0.0, 0.0, 0.0
        self.batch.run(linearise_kernel, only=self.good)
        S[:, m.SMALL_PIVOTS] = 0
        self.batch.run(factor_and_solve, 1, only=self.good)
        self.good &= S[:, m.SMALL_PIVOTS] == 0

    def _accelerate(self) -> None:
        """Find accelerations and multipliers; mark where rows are not met."""
        model, X, lam = self.model, self.batch.vector(m.X), self.lam
        if model.n_lam:
            self._evaluate()
            gap = X[:, lam]
            self.batch.run(rates_kernel, only=self.good)
            rate = self._take(m.PHID, lam)
            length = self.F[:, m.LENGTH, None]
            size = np.where(model.numbering.lam_kinds == m.FORCE, length, 1.0)
            speed = np.maximum(1.0, np.abs(self.batch.vector(m.V)).max(axis=1))[:, None]
            self.good &= (np.abs(gap) <= START_POSITION * size).all(axis=1)
            self.good &= (np.abs(rate) <= START_VELOCITY * size * speed).all(axis=1)
            self.good &= self.S[:, m.BAD_HOW] == 0
            X[:, lam] = self._take(m.PHIDD, lam)
        else:
            self.F[:, m.SCALE_R], self.F[:, m.ROW_RATE] = 1.0, 0.0
            self._unmet()
        r = X.copy()
        self._factor()
        X[:] = r
        self._unmet(3)
        A = self.batch.vector(m.A)
        if model.n_lam:
            largest = np.abs(A[:, self.v]).max(axis=1, initial=0.0)
            lack = np.array([np.linalg.norm(x) for x in X[:, lam]])
            self.good &= ~(lack > MEETING_DUST * largest)
        self.good &= np.isfinite(A).all(axis=1) & (self.S[:, m.BAD_HOW] == 0)

    # --- starting values of generalized-alpha ----------------------------------------------------
    def _begin(self, v: Any, a: Any, lam: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return algorithmic accelerations, velocities, and the change of accelerations in h."""
        keywords, h = self.way.method.facts.start.keywords, self.way.h  # type: ignore[union-attr]
        weights, model = keywords["weights"], self.model
        self._state(v, a, lam, a)
        here = self.batch.vector(m.A).copy()
        rest = self._residual(0.0)
        self._factor()
        rate = self._change(v, a, here, START_DIFFERENCE * h, 1e-8) / START_DIFFERENCE
        change = self._change(v, a, here, h, 1e-3)
        bend, own = self._size(change - rate, rest), self._size(a, rest)
        smooth = np.asarray(bend <= START_SMOOTH * np.maximum(self._size(rate, rest), own))
        change = np.where(smooth[:, None], rate, 0.0)
        moves = np.asarray(change.any(axis=1))[:, None]
        shift = weights.alpha_m - weights.alpha_f
        alg = np.where(moves, a + shift * change, a)
        if not (keywords["by_position"] and model.n_lam):
            return alg, v, change
        beta = weights.beta
        self._move(h * v + h * h * ((0.5 - beta) * alg + beta * (alg + change)), v, h)
        self._evaluate()
        X = self.batch.vector(m.X)
        X[:, self.v] = 0.0
        X[:, self.lam[model.numbering.lam_kinds == m.VELOCITY_ROW]] = 0.0
        self.batch.run(factor_and_solve, 0, only=self.good)
        return alg, np.where(moves, v - X[:, self.v] / h, v), change

    def _residual(self, a: Any) -> np.ndarray:
        here = self._take(m.A, self.v)
        self._put(m.A, self.v, a)
        self._evaluate()
        self._put(m.A, self.v, here)
        return self._take(m.X, self.v)

    def _size(self, a: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return root of a.M a (n,), with M a from two residuals."""
        force = self._residual(a) - rest
        most, push = (np.abs(x).max(axis=1, initial=1e-300)[:, None] for x in (a, force))
        work = np.array([x @ y for x, y in zip(a / most, force / push, strict=True)])
        return np.asarray(np.sqrt(most[:, 0]) * np.sqrt(push[:, 0]) * np.sqrt(np.abs(work)))

    def _move(self, increment: Any, speed: Any, s: float) -> None:
        self._put(m.D, self.v, increment)
        self._put(m.V, self.v, speed)
        self.F[:, m.T] = s

    def _change(self, v: Any, a: Any, here: Any, s: float, share: float) -> np.ndarray:
        """Return the change of accelerations in a time s along the Taylor series (n, n_v)."""
        self._move(s * v + 0.5 * s * s * a, v + s * a, s)
        rest = 2.0**-44 * np.abs(a).max(axis=1, initial=0.0)
        last, active = np.zeros(len(a)), self.good.copy()
        self.F[:, m.SCALE_R], self.F[:, m.ROW_RATE] = 1.0, 0.0
        self._unmet()
        change = np.zeros_like(a)
        while active.any():
            self._unmet(1, only=active)
            change[active] = self._take(m.A, self.v)[active] - a[active]
            size, whole = self.F[:, m.NORM], np.abs(change).max(axis=1, initial=0.0)
            pace = np.where(last > 0.0, size / last, 1.0)
            active &= size * np.minimum(1.0, pace) > np.maximum(share * whole, rest)
            far = active & (last > 0.0) & (pace > 0.1)
            self.good &= ~far
            active &= ~far
            last = size.copy()
        self._move(0.0, v, 0.0)
        self.batch.vector(m.A)[:] = here
        return change

    # --- the run ---------------------------------------------------------------------------------
    def _prepare(self, v: Any, a: Any, lam: Any, alg: Any, change: Any) -> None:
        """Load the state from which steps begin, as ``Run`` does."""
        way, F = self.way, self.F
        self._state(v, a, lam, alg)
        (places, options), (own, numbers) = way.options, way.own
        F[:, places], F[:, own] = options, numbers
        self.S[:, m.N_STEPS], self.S[:, m.N_RECORDED] = way.steps, 0
        self.S[:, m.RECORD], self.S[:, m.CAPACITY] = way.at, way.kept + 1
        self.S[:, m.RECORD_EVERY] = way.plan.every
        if change is not None:
            self._put(m.AB, self.v, a - change)
            F[:, m.H_LAST] = F[:, m.H]

    def _suspect(self, of: Instants) -> np.ndarray:
        """Mark runs that ``simulate`` would look at more closely: steps too large, oscillations."""
        model, facts, h = self.model, self.way.method.facts, self.way.h
        marked = np.zeros(len(of.q), bool)
        c, order = facts.error or (0.0, 3)
        if order >= 3 or self.way.plan.every != 1:
            return marked
        steps = np.abs(np.diff(of.a, order, axis=1)) / model.units
        error = (c * h * h * steps).max(axis=2, initial=0.0).sum(axis=1) / ERROR_CANCELS
        jumps = np.abs(np.diff(of.a, axis=1) / model.units).max(axis=2, initial=0.0)
        least = LARGE_STEP_ERROR / max(h, float(of.t[-1]))
        fastest = np.maximum(np.abs(of.v / model.units).max(axis=(1, 2), initial=0.0), least)
        thrown = h * (jumps.max(axis=1) - 4 * jumps.mean(axis=1)) / fastest
        marked |= ~(error <= 0.999 * LARGE_STEP_ERROR) | ~(thrown <= 0.999 * LARGE_STEP_THROW)
        last = of.lam[:, -OSCILLATION_INSTANTS:]
        if facts.oscillation and model.n_lam and last.shape[1] == OSCILLATION_INSTANTS:
            second, size = np.abs(np.diff(last, 2, axis=1)).max(axis=1), np.abs(last).max(axis=1)
            largest = np.repeat(1e-3 * size.max(axis=1)[:, None], model.n_lam, axis=1)
            for kind in np.unique(model.numbering.lam_kinds):
                alike = model.numbering.lam_kinds == kind
                of_kind = size[:, alike].max(axis=1)[:, None]
                largest[:, alike] = np.maximum(largest[:, alike], of_kind)
            marked |= (second > OSCILLATION_SHARE * largest).any(axis=1)
        return marked
