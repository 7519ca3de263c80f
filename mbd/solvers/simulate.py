"""Floor 4. ``mbd.simulate``: from a system to a solution."""

from __future__ import annotations

import logging
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m
from mbd.model.model import Model, State, Workspace
from mbd.parts.door import number
from mbd.solvers.advance import CONVERGED, FAILED, PIVOTS
from mbd.solvers.careful import careful_step
from mbd.solvers.energy_momentum import EnergyMomentum
from mbd.solvers.fronts import factor_and_solve
from mbd.solvers.generalized_alpha import GeneralizedAlpha
from mbd.solvers.health import oscillation
from mbd.solvers.initial import consistent
from mbd.solvers.lie_runge_kutta import LieRungeKutta4
from mbd.solvers.record import MemoryRecord, Record
from mbd.solvers.start import started

if TYPE_CHECKING:
    from mbd.model.system import System
    from mbd.results.solution import Solution

__all__ = ["SimulationError", "simulate"]

_log = logging.getLogger("mbd")
_CHUNK_BYTES = 1 << 23  # recorded steps are taken over in pieces of this size
_CHUNK_SECONDS = 0.1  # how long compiled code runs before Python looks around


class SimulationError(RuntimeError):
    """A run that stopped early; ``.solution`` holds what was computed."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


def simulate(
    system: System | Model,
    t_end: float,
    step: float,
    *,
    method: GeneralizedAlpha | EnergyMomentum | LieRungeKutta4 | None = None,
    state: State | None = None,
    project: bool = False,
    every: int = 1,
    progress: bool | None = None,
    stream: str | Path | None = None,
    raise_on_failure: bool = True,
) -> Solution:
    """Integrate in time.

    Parameters
    ----------
    system : System or Model
    t_end : float [s]
    step : float [s]
        Step size; the last step is shortened where it does not divide the time.
    method : GeneralizedAlpha, EnergyMomentum or LieRungeKutta4, optional
        Default ``GeneralizedAlpha(rho=0.8)``.
    state : State, optional
        Where to start; default the initial state of the description. The last state of a run,
        ``solution.state``, goes on as it is.
    project : bool
        Move inconsistent initial positions and velocities to the nearest consistent ones.
    every : int
        Keep every so many steps (the first and the last are always kept).
    progress : bool, optional
        Show a progress bar; default on a terminal, when the run is long.
    stream : str or Path, optional
        Write the results to this file (``.nc``) while the run goes on, instead of keeping them in
        memory: for long runs. If the process is killed, ``mbd.load`` reads what was written; so it
        does while the run goes on. Needs the extra "results".
    raise_on_failure : bool
        If false, a failed run is returned with ``success`` False and a ``message``.

    Returns
    -------
    Solution
        Ctrl-C returns what was computed so far, with ``success`` False.
    """
    method = GeneralizedAlpha() if method is None else method
    if not isinstance(method, GeneralizedAlpha | EnergyMomentum | LieRungeKutta4):
        raise TypeError(
            "simulate: method must be a method object such as mbd.GeneralizedAlpha(rho=0.8), got "
            f"{method!r}"
        )
    step = number("simulate", "step", step, "s", positive=True)
    t_end = number("simulate", "t_end", t_end, "s", positive=True)
    if isinstance(every, bool) or not (isinstance(every, int | np.integer) and every >= 1):
        raise ValueError(f"simulate: every must be a whole number from 1, got {every!r}")
    if not (state is None or isinstance(state, State)):
        raise TypeError(
            f"simulate: state must be a State (model.state, solution.state), got {state!r}"
        )
    began = time.perf_counter()
    model = system if isinstance(system, Model) else _built(system)
    if state is not None and state.alg is not None and not project:
        first = state  # of a run, which meets the rates of the rows to its accuracy only
    else:
        first = consistent(model, state, project=project)
    if t_end <= first.t:
        raise ValueError(f"simulate: t_end must lie behind the start {first.t:g} s, got {t_end:g}")
    begun = first
    if first is not state and isinstance(method, GeneralizedAlpha):
        begun = started(model, first, method, min(step, t_end - first.t))
    run = _Run(model, begun, method, every, step, t_end)
    record = _record(stream, model, method, run.n_steps // every + 2)
    run.record_to(record, first)
    try:
        status, message = run.loop(progress)
    except BaseException as error:
        record.close(FAILED, f"stopped by {type(error).__name__}: {error}", run.stats())
        raise
    from mbd.results.solution import Solution

    stats, last = run.stats(), run.state()
    stats["seconds_preparing"] = run.started - began
    record.close(status, message, stats, last)
    solution = Solution(
        model, *record.histories(), status=status, message=message, stats=stats, last=last,
        method=method, stored=record.stored,
    )  # fmt: skip
    if status == FAILED and raise_on_failure:
        raise SimulationError(solution)
    trouble = ""
    if every == 1 and isinstance(method, GeneralizedAlpha):
        trouble = oscillation(model, solution.lam, method.beta * run.h**2)
    if trouble:
        warnings.warn(trouble, RuntimeWarning, stacklevel=2)
    return solution


def _record(stream: str | Path | None, model: Model, method: Any, expected: int) -> Record:
    """Return where the instants go."""
    if stream is None:
        return MemoryRecord(model, expected)
    from mbd.results.stream import FileRecord

    return FileRecord(model, stream, method)


def _built(system: Any) -> Model:
    """Return the model of a system."""
    if not hasattr(system, "build"):
        raise TypeError(f"simulate: expected a System or a Model, got {system!r}")
    return system.build()


class _Run:
    """One run: the work space, the record and the outer loop in Python."""

    def __init__(
        self,
        model: Model,
        first: State,
        method: GeneralizedAlpha | EnergyMomentum | LieRungeKutta4,
        every: int,
        h: float,
        t_end: float,
    ) -> None:
        h = min(h, t_end - first.t)
        self.model, self.method, self.every, self.h = model, method, int(every), h
        self.t_end = t_end
        self.n_steps = max(1, int(np.floor((t_end - first.t) / h * (1 + 1e-12) + 1e-9)))
        self.rest = (t_end - first.t) - self.n_steps * h
        if self.rest < 1e-9 * h:
            self.rest = 0.0
        n_u, n_q = int(model.I[m.N_U]), model.n_q
        size = n_q + 2 * n_u
        self.capacity = int(np.clip(_CHUNK_BYTES // (8 * size), 1, 100_000))
        self.work = work = Workspace(model, first, extra=self.capacity * size)
        I, F = work.I, work.F
        I[m.RECORD], I[m.RECORD_SIZE], I[m.RECORD_EVERY] = len(model.F), size, every
        I[m.LINEAR] = factor_and_solve.address
        F[m.H] = h
        method.prepare(model, I, F)
        self.t0, self.done = first.t, 0
        self.numbering = model.numbering
        self.advance = method.kernel
        self.compiled = self.advance.address  # at the latest now: the clock of the steps is theirs
        self.started = time.perf_counter()
        self.rejected_pivots = 0

    def record_to(self, record: Record, first: State) -> None:
        """Keep the first instant and all that come in this record."""
        self.record = record
        self._keep(first)

    def _keep(self, s: State) -> None:
        self.record.append(np.array([s.t]), s.q[None], s.v[None], s.a[None], s.lam[None])
        self.t_kept = s.t

    def loop(self, progress: bool | None) -> tuple[int, str]:
        """Run to the end; return status and message."""
        from tqdm import tqdm

        bar = tqdm(
            total=self.n_steps,
            unit="step",
            delay=0 if progress else 1.0,
            disable=None if progress is None else not progress,
            leave=False,
        )
        chunk, status = 1, CONVERGED
        with bar:
            try:
                while self.done < self.n_steps and status == CONVERGED:
                    n = min(chunk, self.n_steps - self.done, self.capacity * self.every)
                    clock = time.perf_counter()
                    taken, status = self._steps(n)
                    spent = time.perf_counter() - clock
                    bar.update(taken)
                    chunk = int(max(1, min(4 * n, taken * _CHUNK_SECONDS / max(spent, 1e-9))))
                if self.rest and status == CONVERGED:
                    self.work.F[m.H] = self.rest
                    self.work.I[m.HAVE_FACTOR] = 0
                    self.work.I[m.HISTORY] = 0
                    _, status = self._steps(1, last=True)
            except KeyboardInterrupt:
                self._last()
                return -1, f"interrupted by the user at t = {self.work.F[m.T]:.6g} s"
        self._last()
        self.seconds = time.perf_counter() - self.started
        if status == CONVERGED:
            return 0, f"reached t = {self.work.F[m.T]:g} s"
        return FAILED, self._explain()

    def _steps(self, n: int, last: bool = False) -> tuple[int, int]:
        """Take up to n steps and take over what was recorded."""
        work = self.work
        I, F = work.I, work.F
        I[m.N_RECORDED] = 0
        taken, status = 0, CONVERGED
        if self.method.linear_solver == "fronts":
            I[m.N_STEPS] = n
            self.advance(I, F)
            taken, status = int(I[m.STEPS_DONE]), int(I[m.STATUS])
        if status == PIVOTS and isinstance(self.method, EnergyMomentum):
            status = FAILED
        if status == PIVOTS or (self.method.linear_solver == "splu" and taken < n):
            self.rejected_pivots += status == PIVOTS
            status = CONVERGED
            while taken < n and status == CONVERGED:
                status = careful_step(work, self.method.max_iterations)
                taken += status == CONVERGED
                if self.method.linear_solver == "fronts":
                    break  # one careful step, then the fronts again
        first = self.done + 1
        self.done += taken
        if not last:
            F[m.T] = self.t0 + self.done * self.h
        self._take_over(first)
        work.check_laws()
        return taken, status

    def _take_over(self, first: int) -> None:
        """Copy the record of the chunk that began with step `first`."""
        I, F, model = self.work.I, self.work.F, self.model
        n, size = int(I[m.N_RECORDED]), int(I[m.RECORD_SIZE])
        if not n:
            return
        rows = F[len(model.F) : len(model.F) + n * size].reshape(n, size)
        n_q, n_u = model.n_q, int(I[m.N_U])
        v, lam = self.numbering.v, self.numbering.lam
        steps = (np.arange(n) + -(-first // self.every)) * self.every
        t = np.minimum(self.t0 + steps * self.h, F[m.T])  # the last step may be a shorter one
        self.t_kept = float(t[-1])
        n_a = n_q + n_u
        self.record.append(t, rows[:, :n_q], rows[:, n_q + v], rows[:, n_a + v], rows[:, n_a + lam])

    def _last(self) -> None:
        """Keep the last state if the record does not end with it."""
        if self.work.F[m.T] > self.t_kept + 1e-9 * self.h:
            self._keep(self.work.store())

    def _explain(self) -> str:
        """Return when, where and who: the largest residuals of the failed step by name."""
        work, model = self.work, self.model
        t = float(work.F[m.T])
        work.I[m.N_STEPS] = 1
        work.I[m.RECORD_EVERY] = 0
        keep = work.F[: len(model.F)].copy()
        self.advance(work.I, work.F, 1)
        h = float(work.F[m.H])
        work.F[m.T] = t + h
        work.evaluate()
        r = work.vector(m.X).copy()
        work.F[: len(model.F)] = keep
        rows = np.concatenate([r[self.numbering.v], r[self.numbering.lam]])
        kinds = np.concatenate([self.numbering.v_kinds, self.numbering.lam_kinds])
        units = {
            m.TRANSLATION: "N", m.ROTATION: "N m", m.DIRECTOR: "N m", m.FORCE: "m",
            m.MOMENT: "-", m.OWN: "-", m.VELOCITY_ROW: "1/s",
        }  # fmt: skip
        if not np.all(np.isfinite(rows)):
            bad = int(np.argmin(np.isfinite(rows)))
            who = f"not a number at {model.labels[bad]!r}"
        else:
            worst = np.argsort(-np.abs(rows))[:3]
            who = "largest residuals " + ", ".join(
                f"{model.labels[i]!r} ({rows[i]:.2g} {units[int(kinds[i])]})" for i in worst
            )
        if isinstance(self.method, LieRungeKutta4):
            return (
                f"the explicit step failed at t = {t + h:.6g} s (h = {h:g} s): {who}; try a "
                "smaller step"
            )
        return (
            f"Newton did not converge at t = {t + h:.6g} s (h = {h:g} s): {who}; try a "
            "smaller step, a smaller rho, or look at model.report(state) for a singular pose"
        )

    def state(self) -> State:
        """Return the last state."""
        return self.work.store()

    def stats(self) -> dict[str, float]:
        """Return what the run cost."""
        I = self.work.I
        return {
            "steps": self.done,
            "iterations": int(I[m.N_ITER]),
            "factorizations": int(I[m.N_FACTOR]),
            "evaluations": int(I[m.N_EVALUATE]),
            "rejected": int(I[m.N_REJECT]),
            "pivoting_steps": self.rejected_pivots,
            "seconds": getattr(self, "seconds", time.perf_counter() - self.started),
        }
