"""Runs of many models that differ in constants only, taken together.

Start and judgement are those of ``mbd.simulate``, on arrays over runs; kernels are called on run
after run in one compiled loop. Bits are those of ``mbd.simulate``. A run that leaves the straight
way (rows that are not met, a start that is not smooth, a step that fails, steps that look too
large) is marked, and goes through ``mbd.simulate`` by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.tolerances import OSCILLATION_INSTANTS
from mbd.integration.consistent import described_starts, settled
from mbd.integration.method import Method
from mbd.integration.starting_values import begin, started
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.model.least_multipliers import resolved
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.runs.interrupts import Interrupt
from mbd.runs.large_steps import judged, paces_of
from mbd.runs.oscillation import rough, roughness
from mbd.runs.plan import Plan
from mbd.runs.record import columns
from mbd.runs.stretch import Stretch

_RUNS = 512  # of a batch: what is shared by its runs is then small compared with them
_BYTES = 1 << 24  # most that they take
_AT_ONCE = 4096  # faces over all instants of the runs that are evaluated together
_STEPS = 1 << 16  # and steps of all: Ctrl-C waits for a batch


@dataclass(frozen=True)
class BatchColumns:
    """Numbers (k n, .) of the instants of n runs, one run after another, taken column by column.

    Attributes
    ----------
    rows : (n, k, .) array
        As they were recorded.
    where : (.,) array of int
        The places of the numbers in them.
    """

    rows: np.ndarray
    where: np.ndarray

    def __len__(self) -> int:
        return self.rows.shape[0] * self.rows.shape[1]

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        """Return some columns at all instants."""
        where = self.where[key[1]]
        first, n = (int(where[0]), len(where)) if len(where) else (0, 0)
        beside = n == 0 or (int(where[-1]) - first == n - 1 and bool((np.diff(where) == 1).all()))
        taken = self.rows[..., first : first + n] if beside else self.rows[..., where]
        return taken.reshape(len(self), n)


@dataclass(frozen=True)
class BatchRecord:
    """What n runs recorded.

    Attributes
    ----------
    model : Model
    rows : (n, instants, .) array
        Time, q, v, a, multipliers, work of impulses, as they were recorded.
    clean : (n,) array of bool
        The runs that these are good for.
    F : (n, .) array
        Constants of the runs.
    """

    model: Model
    rows: np.ndarray
    clean: np.ndarray
    F: np.ndarray

    @cached_property
    def t(self) -> np.ndarray:
        """Times (instants,) of all runs [s]."""
        return self.rows[int(np.argmax(self.clean)), :, 0].copy()

    @cached_property
    def raw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a, lam, (n, instants, .), as those of solutions."""
        q, v, a, lam = (self.rows[..., x] for x in columns(self.model))
        return q, v, a, lam

    @property
    def motion(self) -> list[BatchColumns]:
        """q, v, a of all instants of all runs."""
        places = np.arange(self.rows.shape[2])
        return [BatchColumns(self.rows, places[x]) for x in columns(self.model)[:3]]

    @property
    def multipliers(self) -> Any:
        """Multipliers of all instants of all runs, of rows that depend on others the least."""
        q, _, _, lam = self.raw
        if not np.isnan(lam).any():
            return BatchColumns(self.rows, np.arange(self.rows.shape[2])[columns(self.model)[3]])
        least = [resolved(self.model, self.t, *run) for run in zip(q, lam, self.F, strict=True)]
        return np.concatenate(least)

    def good(self) -> BatchRecord:
        """Return those of clean runs."""
        if self.clean.all():
            return self
        good = self.clean
        return BatchRecord(self.model, self.rows[good], good[good], self.F[good])

    def pieces(self) -> Iterator[BatchRecord]:
        """Yield some runs after the other: what is computed of them stays in the cache."""
        some = max(1, _AT_ONCE // (self.rows.shape[1] * self.model.n_faces))
        for first in range(0, len(self.rows), some):
            here = slice(first, first + some)
            yield BatchRecord(self.model, self.rows[here], self.clean[here], self.F[here])

    def last(self) -> BatchRecord:
        """Return the last instant of each."""
        return BatchRecord(self.model, self.rows[:, -1:], self.clean, self.F)


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
        first = settled(model)[0]
        run = Stretch(model, first, method, plan, Interrupt(), continued=True)  # as it is there
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
        return simple and steps and self.facts.in_python is None and not self.model.laws

    def go(self, F: np.ndarray) -> BatchRecord:
        """Return what the runs with constants F (n, .) record."""
        room = (self.kept + 1) * self.size
        work = Workspace(self.model, extra=room, own=self.own, runs=F)
        with np.errstate(all="ignore"):  # runs that are marked
            first, saddle = described_starts(work)
            rows = work.F[:, self.at : self.at + room].reshape(len(F), -1, self.size)
            rows[:, 0, [0, -1]] = 0.0
            for where, x in zip(
                columns(self.model), (first.q, first.v, first.a, first.lam), strict=True
            ):
                rows[:, 0, where] = x
            self._steps(work, first, saddle)
            instants = BatchRecord(self.model, rows, work.good, F)
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

    def _suspect(self, of: BatchRecord) -> Any:
        """Mark runs that ``simulate`` would look at more closely: steps too large, oscillations."""
        model, (c, order) = self.model, self.facts.error or (0.0, 1)
        _, v, a, lam = of.raw
        units = of.F[:, None, m.UNIT + model.numbering.v_kinds]
        marked = np.any(judged(paces_of(v, a, units, order), np.diff(of.t), self.h, c), axis=0)
        enough = self.kept + 1 >= OSCILLATION_INSTANTS and self.plan.every == 1
        if self.facts.oscillation and enough and model.n_lam:
            marked |= rough(model.numbering.lam_kinds, *roughness(lam))
        return marked
