"""Runs of many models that differ in constants only, taken together.

Start and judgement are those of ``mbd.simulate``, on arrays over runs; kernels are called on run
after run in one compiled loop. Bits are those of ``mbd.simulate``. A run that leaves the straight
way (rows that are not met, a start that is not smooth, a step that fails, steps that look too
large) is marked, and goes through ``mbd.simulate`` by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.run_tolerances import (
    LARGE_STEP_COARSE,
    LARGE_STEP_ERROR,
    LARGE_STEP_THROW,
    OSCILLATION_INSTANTS,
)
from mbd.base.tolerances import ERROR_CANCELS
from mbd.integration.consistent import consistent, described_starts
from mbd.integration.method import Method
from mbd.integration.starting_values import begin, started
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.runs.interrupts import Interrupt
from mbd.runs.large_steps import changes, coarseness, thrown
from mbd.runs.oscillation import rough
from mbd.runs.plan import Plan
from mbd.runs.record import columns
from mbd.runs.stretch import Run

__all__ = ["Batches", "Instants"]

_RUNS = 128  # of a batch: what is shared by its runs is then small beside them
_BYTES = 1 << 24  # most that they take
_STEPS = 1 << 16  # and steps of all: Ctrl-C waits for a batch


@dataclass(frozen=True)
class Instants:
    """What n runs recorded.

    Attributes
    ----------
    model : Model
    rows : (n, instants, .) array
        Time, q, v, a, multipliers as they were recorded.
    clean : (n,) array of bool
        The runs that these are good for.
    """

    model: Model
    rows: np.ndarray
    clean: np.ndarray

    @cached_property
    def t(self) -> np.ndarray:
        """Times (instants,) of all runs [s]."""
        return self.rows[int(np.argmax(self.clean)), :, 0].copy()

    @cached_property
    def raw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a, lam, (n, instants, .), as those of solutions."""
        q, v, a, lam = (self.rows[..., x] for x in columns(self.model))
        return q, v, a, lam

    def good(self) -> Instants:
        """Return those of clean runs."""
        if self.clean.all():
            return self
        return Instants(self.model, self.rows[self.clean], self.clean[self.clean])

    def last(self) -> Instants:
        """Return the last instant of each."""
        return Instants(self.model, self.rows[:, -1:], self.clean)


class Batches:
    """The way of runs of one model with other constants, by a method and a plan.

    Parameters
    ----------
    model : Model
    method : integrator
    plan : Plan
    """

    def __init__(self, model: Model, method: Method, plan: Plan) -> None:
        self.model, self.facts, self.kernel, self.plan = model, method.facts, method.kernel, plan
        first = consistent(model)
        run = Run(model, first, method, plan, Interrupt(), continued=True)  # from there as it is
        self.steps, self.h, self.own = run.n_steps, run.h, run.at - model.size
        self.whole = not run.rest and run.n_steps % plan.every == 0 and not run.jumps.driven
        plain = Workspace(model, first, own=self.own).F
        differ = plain.view(np.int64) != run.work.F[: run.at].view(np.int64)
        self.options = np.flatnonzero(differ)  # what a run writes before its first step
        self.written = run.work.F[self.options]
        self.at, self.size, self.kept = run.at, run.size, self.steps // plan.every
        size = 8 * (run.at + (self.kept + 1) * run.size)
        self.together = max(1, min(_RUNS, _BYTES // size, _STEPS // self.steps))

    @property
    def open(self) -> bool:
        """Whether runs can be taken together: steps of one size that fill the time, no user's law.

        Nor laws of motion, which are looked at for jumps.
        """
        start = self.facts.start
        simple = start is None or getattr(start, "func", None) is begin
        steps = self.whole and self.facts.linear_solver == "fronts" and not self.plan.free
        return simple and steps and not self.model.laws

    def go(self, F: np.ndarray) -> Instants:
        """Return what the runs with constants F (n, .) record."""
        room = (self.kept + 1) * self.size
        work = Workspace(self.model, extra=room, own=self.own, runs=F)
        with np.errstate(all="ignore"):  # runs that are marked
            first, saddle = described_starts(work)
            rows = work.F[:, self.at : self.at + room].reshape(len(F), -1, self.size)
            rows[:, 0, 0] = 0.0
            for where, x in zip(
                columns(self.model), (first.q, first.v, first.a, first.lam), strict=True
            ):
                rows[:, 0, where] = x
            self._steps(work, first, saddle)
            instants = Instants(self.model, rows, work.good)
            work.good &= ~self._suspect(instants)
        return instants

    def _steps(self, work: Workspace, first: State, saddle: Saddle | None) -> None:
        """Take all steps; mark the runs in which one fails."""
        begun, change, start, F, S = first, None, self.facts.start, work.F, work.S
        if start is not None:
            begun, change = started(
                work,
                first,
                self.h,
                saddle=saddle,
                **start.keywords,  # type: ignore[attr-defined]
            )
        work.load(begun)
        F[:, self.options] = self.written
        S[:, m.RECORD], S[:, m.N_STEPS] = self.at + self.size, self.steps
        S[:, m.N_RECORDED], S[:, m.CAPACITY] = 0, self.kept + 1
        if change is not None:
            work.vector(m.AB)[:, self.model.numbering.v] = first.a - change
            F[:, m.H_LAST] = F[:, m.H]
        work.run(self.kernel)
        done = (S[:, m.STATUS] == 0) & (S[:, m.STEPS_DONE] == self.steps)
        work.leaves(~done | (S[:, m.BAD_HOW] != 0))

    def _suspect(self, of: Instants) -> Any:
        """Mark runs that ``simulate`` would look at more closely: steps too large, oscillations."""
        model, h = self.model, self.h
        c, order = self.facts.error or (0.0, 1)
        _, v, a, lam = columns(model)
        first = changes(of.rows[..., a], model.units).max(axis=-1, initial=0.0)
        higher = first
        if order > 1:
            higher = changes(of.rows[..., a], model.units, order).max(axis=-1, initial=0.0)
        error = c * h * h * higher.sum(axis=-1) / ERROR_CANCELS
        some = of.rows[:, ::-8]  # the fastest of them bounds the fastest of all from below
        speed = np.abs(some[..., v] / model.units).max(axis=2, initial=0.0)
        throw = thrown(first, speed.max(axis=1), h, float(of.t[-1]))
        marked = ~(error <= 0.999 * LARGE_STEP_ERROR) | ~(throw <= 0.999 * LARGE_STEP_THROW)
        marked |= ~(coarseness(first, speed.mean(axis=1), h) <= 0.999 * LARGE_STEP_COARSE)
        if self.facts.oscillation and self.plan.every == 1:
            last = of.rows[:, -OSCILLATION_INSTANTS:]
            marked |= rough(model.numbering.lam_kinds, last[..., lam])
        return marked
