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
from mbd.integration.one_step import on_rates
from mbd.integration.starting_values import Nearby, begin, started
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.model.least_multipliers import resolved
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.runs.interrupts import Interrupt
from mbd.runs.large_steps import judged, paces_of
from mbd.runs.oscillation import rough, roughness
from mbd.runs.plan import Plan, first_steps
from mbd.runs.record import columns
from mbd.runs.stretch import Stretch, TakenOver

_RUNS = 512  # of a batch: what is shared by its runs is then small compared with them
_BYTES = 1 << 24  # most that they take
_AT_ONCE = 4096  # faces over all instants of the runs that are evaluated together
_STEPS = 1 << 16  # and steps of all: Ctrl-C waits for a batch
_FEW = 30  # free steps that are recorded together, until it is known how many there are
_MOST = 8  # times as many bytes are kept of those


@dataclass(frozen=True)
class BatchRecord:
    """Records of n runs.

    Attributes
    ----------
    model : Model
    rows : (n, instants, .) array
        Time, q, v, a, multipliers, work of impulses, as they were recorded.
    clean : (n,) array of bool
        The runs that these are good for.
    F : (n, .) array
        Constants of the runs.
    lengths : (n,) array of int, optional
        How many instants each has, where they differ; the last one then stands for those after it.
    """

    model: Model
    rows: np.ndarray
    clean: np.ndarray
    F: np.ndarray
    lengths: np.ndarray | None = None

    def __getitem__(self, which: Any) -> BatchRecord:
        """Return some runs."""
        lengths = None if self.lengths is None else self.lengths[which]
        return BatchRecord(self.model, self.rows[which], self.clean[which], self.F[which], lengths)

    def of(self, i: int, values: np.ndarray) -> np.ndarray:
        """Return the values of run i that stand for instants of it."""
        return values if self.lengths is None else values[: self.lengths[i]]

    @cached_property
    def t(self) -> np.ndarray:
        """Times (instants,) of all runs [s]."""
        return self.rows[int(np.argmax(self.clean)), :, 0].copy()

    @cached_property
    def raw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a, lam, (n, instants, .), as those of solutions."""
        q, v, a, lam = (self.rows[..., x] for x in columns(self.model)[:-1])
        return q, v, a, lam

    @cached_property
    def flat(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a, lam (n instants, .) of one run after another, as they were recorded."""
        whole = self.rows.reshape(-1, self.rows.shape[2])
        q, v, a, lam = (whole[:, x] for x in columns(self.model)[:-1])
        return q, v, a, lam

    @property
    def multipliers(self) -> np.ndarray:
        """Multipliers (n instants, .), the least ones of rows that depend on others."""
        if not np.isnan(self.flat[3]).any():
            return self.flat[3]
        q, _, _, lam = self.raw
        runs = zip(self.rows[..., 0], q, lam, self.F, strict=True)
        return np.concatenate([resolved(self.model, *run) for run in runs])

    def good(self) -> BatchRecord:
        """Return the values of clean runs."""
        return self if self.clean.all() else self[self.clean]

    def pieces(self) -> Iterator[BatchRecord]:
        """Yield some runs after the other: what is computed of them stays in the cache."""
        some = max(1, _AT_ONCE // (self.rows.shape[1] * self.model.n_faces))
        for first in range(0, len(self.rows), some):
            yield self[first : first + some]

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
        self.model, self.method, self.facts, self.plan = model, method, method.facts, plan
        self.kernel = self.facts.free.kernel if plan.free and self.facts.free else method.kernel
        first, start = settled(model)[0], self.facts.start
        as_it_is = start is not on_rates  # the state is left where steps begin from another one
        over = TakenOver(continued=as_it_is)
        run = Stretch(model, first, method, plan, Interrupt(), taken_over=over)
        self.h, self.own, self.size = run.h, run.at - model.size, run.size
        self.times = run.work.F[run.work.S[m.OUTPUT] :][: run.work.S[m.N_OUTPUT]].copy()
        self.at, self.leaves = run.at, int(run.acting is not None)
        self.open = self._is_open(run)
        plain = Workspace(model, first, own=self.own).F
        differ = plain.view(np.int64) != run.work.F[: run.at].view(np.int64)
        self.options = np.flatnonzero(differ)  # what a run writes before its first step
        self.written = run.work.F[self.options]
        self.steps, self.kept = run.n_steps, run.n_steps // plan.every
        if plan.free:
            self.steps, self.kept = 1, _FEW if plan.times is None else len(self.times) + 2

    def _is_open(self, run: Stretch) -> bool:
        """Tell whether runs can be taken together: no user's law, nothing that is looked at.

        Steps of one size fill the time, and are judged by their error; those that are chosen need
        no other one at the end, and no look at rows.
        """
        plan, facts, start = self.plan, self.facts, self.facts.start
        begins = start is None or start is on_rates or getattr(start, "func", None) is begin
        if plan.free:
            fits = len(self.times) + 2 <= run.capacity and not run.shortened and plan.every == 1
            fits = fits and np.isfinite(plan.rtol) and facts.level != "velocity"
        else:
            fits = not run.rest and run.n_steps % plan.every == 0 and facts.error is not None
        fronts = facts.linear_solver == "fronts" and facts.in_python is None
        return bool(begins and fits and fronts and not self.model.laws and not run.jumps.driven)

    @property
    def together(self) -> int:
        """Number of runs that are taken together."""
        size = 8 * (self.at + (self.kept + 1) * self.size)
        return max(1, min(_RUNS, _BYTES // size, _STEPS // self.steps))

    def go(self, F: np.ndarray) -> BatchRecord:
        """Return what the runs with constants F (n, .) record."""
        kept, size = self.kept + 1, self.size  # once: other threads may raise it
        room = kept * size + len(self.times)
        work = Workspace(self.model, extra=room, own=self.own, runs=F)
        with np.errstate(all="ignore"):  # runs that are marked
            first, saddle = described_starts(work)
            rows = work.F[:, self.at : self.at + kept * size].reshape(len(F), kept, size)
            rows[:, 0, 0] = 0.0
            begun = (first.q, first.v, first.a, first.lam, 0.0)
            for where, x in zip(columns(self.model), begun, strict=True):
                rows[:, 0, where] = x
            self._begin(work, first, saddle, kept)
            if self.plan.free:
                return self._free_steps(work, rows, F)
            work.run(self.kernel)
            done = (work.S[:, m.STATUS] == 0) & (work.S[:, m.STEPS_DONE] == self.steps)
            work.leaves(~done | (work.S[:, m.BAD_HOW] != 0))
            instants = BatchRecord(self.model, rows, work.good, F)
            work.good &= ~self._suspect(instants)
        return instants

    def _begin(self, work: Workspace, first: State, saddle: Saddle | None, kept: int) -> None:
        """Bring all runs to where their steps begin, with room for so many instants each."""
        begun, change, start, F, S = first, None, self.facts.start, work.F, work.S
        h: Any = self.h
        if self.plan.estimated:
            h = first_steps(self.method, self.plan, Nearby(work, first, saddle))
            h = np.minimum(h, min(self.plan.max_step, self.plan.t_end - first.t))
        if start is not None and start is not on_rates:
            begun, change = started(
                work,
                first,
                h,
                saddle=saddle,
                **start.keywords,  # type: ignore[attr-defined]
            )
        work.load(begun)
        F[:, self.options], F[:, m.H] = self.written, h
        S[:, m.RECORD], S[:, m.N_STEPS] = self.at + self.size, self.steps
        S[:, m.N_RECORDED], S[:, m.CAPACITY] = 0, kept - self.plan.free
        S[:, m.OUTPUT] = self.at + kept * self.size
        work.F[:, self.at + kept * self.size :] = self.times
        if change is not None:
            work.vector(m.AB)[:, self.model.numbering.v] = first.a - change
            F[:, m.H_LAST] = F[:, m.H]

    def _free_steps(self, work: Workspace, rows: np.ndarray, F: np.ndarray) -> BatchRecord:
        """Take steps that are chosen, each run its own; return what is recorded.

        Runs that take very many leave: alone they can be interrupted.
        """
        S, plan, end = work.S, self.plan, work.F[:, m.T_END]
        parts: list[list[np.ndarray]] = [[x] for x in rows[:, :1].copy()]
        going, most, S[:, m.N_STEPS] = work.good.copy(), _MOST * _BYTES, _STEPS // len(F) + 1
        while going.any():
            assert work.batch is not None
            work.batch.run(work.I, self.kernel, self.leaves, going)
            work.leaves(going & ((S[:, m.STATUS] != 0) | (S[:, m.BAD_HOW] != 0)))
            work.leaves(going & (S[:, m.N_TAKEN] > _STEPS))
            if plan.times is None:
                for i in np.flatnonzero(going):
                    parts[i].append(rows[i, 1 : 1 + S[i, m.N_RECORDED]].copy())
                    most -= parts[i][-1].nbytes
                S[:, m.N_RECORDED] = 0
            going &= work.good & (work.F[:, m.T] < end)
            if most < 0:
                work.leaves(going)
        if plan.times is not None:
            begun = len(plan.times) - len(self.times)
            work.leaves(S[:, m.N_RECORDED] != len(self.times))
            return BatchRecord(self.model, rows[:, 1 - begun : 1 + len(self.times)], work.good, F)
        runs = [np.concatenate(x) for x in parts]
        lengths = np.array(list(map(len, runs)))
        self.kept = max(self.kept, int(lengths.max()) + 1)
        padded = np.array([x[np.minimum(np.arange(lengths.max()), len(x) - 1)] for x in runs])
        return BatchRecord(self.model, padded, work.good, F, lengths)

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
