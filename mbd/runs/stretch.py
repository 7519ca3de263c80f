"""One stretch of a run: its work space, its steps, the loop in Python around them.

Compiled code takes some tenth of a second of steps at a time; in between Python takes over what was
recorded, looks for events, draws the progress bar and listens to Ctrl-C.
"""

import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbd.base.tolerances import CRAWL_STEPS, NEWTON_FREE, WHOLE_STEPS
from mbd.integration.acting_rows import ActingRows
from mbd.integration.explicit_runge_kutta import ExplicitRungeKutta
from mbd.integration.method import Method, refuse_unmoved
from mbd.integration.newton_loop import (
    CONVERGED,
    FAILED,
    PIVOTS,
    REFUSED,
    STIFF,
    WORN,
    grid_from_here,
    undo,
)
from mbd.integration.substeps import Divided
from mbd.linear.fronts import factor_and_solve
from mbd.linear.pivoting import PivotingSolver
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.machine.two_threads import helper_of
from mbd.model.least_multipliers import of_state
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.runs.crossings import Instant, Watch
from mbd.runs.events import EventInstants, Occurrence, carried
from mbd.runs.failed_step import explain, failed_step, singular_pose, slow_progress
from mbd.runs.interrupts import Interrupt
from mbd.runs.law_jumps import Jump, JumpError, Jumps
from mbd.runs.plan import Plan
from mbd.runs.progress import Progress
from mbd.runs.record import Record, at_once, columns, impulsive_so_far

OVER = 7  # a step over a pose in which rows lose rank ended the stretch
EVENT = 3  # next to CONVERGED, FAILED, PIVOTS: an event ended the stretch
_CHUNK_SECONDS = 0.1  # how long compiled code runs before Python looks around
_CHUNK_UNKNOWNS = 10_000  # in all steps of the first piece: some ms
_CHUNK_IMPACTS = 1000  # at most, that a piece has besides those of its last step
_CHUNK_GROWTH = 32  # most by which a piece has more steps than the one before


class TakenOver(NamedTuple):
    """What a stretch takes over: whether the run goes on, its saddle, the floats of a run before.

    `room` are floats for whoever takes the steps, from ``exchange`` on, which stay where they are
    if floats are `reused`.
    """

    continued: bool = False
    saddle: Saddle | None = None
    room: int = 0
    reused: np.ndarray | None = None


class Stretch:
    """A stretch of a run from a state: to the end, or to an event."""

    def __init__(
        self, model: Model, first: State, method: Method, plan: Plan, interrupt: Interrupt,
        watch: Watch | None = None, taken_over: TakenOver | None = None,
    ) -> None:  # fmt: skip
        continued, saddle, room, reused = taken_over or TakenOver()
        refuse_unmoved(method, model)
        self.model, self.method, self.plan, self.interrupt = model, method, plan, interrupt
        self.facts = facts = method.facts
        self.watch = watch if watch is not None and watch.events else None
        left = plan.t_end - first.t
        self.h = h = min(plan.step, left)
        self.n_steps = max(1, int(np.floor(left / h * (1 + 1e-12) + WHOLE_STEPS)))
        self.rest = plan.t_end - (first.t + self.n_steps * h)
        self.rest = 0.0 if self.rest < WHOLE_STEPS * h else self.rest
        start = facts.start
        begun, change = start(model, first, h, continued, saddle) if start else (first, None)
        #: what the run has first: forces of contacts are found by their method
        self.first = begun if facts.set_valued else first
        self.passed: Stretch | None = None  # the step over a pose
        self.size, most = at_once(model)
        most *= 8 if self.watch else 1  # a search costs more
        self.capacity = min(most, 100_000 if plan.free else self.n_steps // plan.every + 3)
        times = np.empty(0) if plan.times is None else plan.times[plan.times > first.t]
        kept = self.capacity * self.size
        self.struck = list[np.ndarray]()  # impacts that are not kept yet
        impacts = 0
        if facts.set_valued and plan.every != plan.NEVER and (most_hits := facts.impacts(model)):
            impacts = most_hits + _CHUNK_IMPACTS
        own, extra = facts.own_floats(model), room + kept + len(times) + impacts * m.IMPACT_SIZE
        if reused is None and saddle is not None:  # its floats are of no use any more
            reused = saddle.work.F
        self.work = work = Workspace(model, begun, extra=extra, own=own, reused=reused)
        self.exchange = model.size + own
        self.at = self.exchange + room  # where instants are recorded
        I, S, F = work.I, work.S, work.F
        S[m.RECORD], S[m.RECORD_SIZE], S[m.CAPACITY] = self.at, self.size, self.capacity
        S[m.RECORD_EVERY] = 1 if self.watch else 0 if plan.times is not None else plan.every
        S[m.OUTPUT], S[m.N_OUTPUT] = self.at + kept, len(times)
        F[S[m.OUTPUT] : S[m.OUTPUT] + len(times)] = times
        S[m.IMPACT_LOG], S[m.IMPACT_ROOM] = self.at + kept + len(times), impacts
        F[m.H], F[m.T_END], F[m.T_START] = h, plan.t_end, first.t
        F[m.H_MAX] = min(plan.max_step, h if np.isinf(plan.rtol) else np.inf)
        F[m.H_MIN] = 1e-15 * max(left, abs(plan.t_end))
        F[m.RTOL], F[m.ERROR] = plan.rtol, 1.0
        grid_from_here(I, F)
        F[m.ATOL : m.ATOL + m.N_UNKNOWN_KINDS] = plan.atol
        method.prepare(model, S, F)
        self.solver: PivotingSolver | None = None
        S[m.LINEAR] = self._solver(facts.linear_solver == "splu")
        self.helper = helper_of(work.I, F)
        self.acting = None
        self.smaller = facts.divided_by is None  # the method takes a step in parts
        self.own = facts.in_python(work) if facts.in_python is not None else None
        self.kernel = method.kernel if self.own is None else self.own
        if I[m.LOOPS] and self.own is None:
            self.acting = ActingRows(work)
        if change is not None:
            self.remember(begun.a - change)
        if np.isfinite(plan.rtol):  # what Newton leaves must not pass for an error of the step
            F[m.TOL] = min(F[m.TOL], NEWTON_FREE * plan.rtol)
        self.done, self.pivoting, self.divided = 0, 0, Divided()
        self.looks = 0  # searches for a step over a pose
        self.begins = list[tuple[int, np.ndarray]]()  # of pieces: first step, what was before it
        self.looked_at = np.inf  # size of a step at which the rank of rows was looked at [s]
        self.crawl = (0, first.t)  # free steps and time at the last look for their progress
        self.advance = facts.free.kernel if plan.free and facts.free else self.kernel
        self.compiled = self.advance.address  # at the latest now: the clock of the steps is theirs
        self.started = self.seconds = 0.0  # clock, and how long the steps took [s]
        self.error: Exception | None = None  # what user code raised, after the last good step
        self.occurrences: list[Occurrence] = []
        self.instant: Instant | None = None  # that ended the stretch
        self.by_position = bool(facts.velocities_of_step and model.n_lam)
        self.jumps = Jumps(model, facts.level, first.t, first.off, plan.free)
        self.shortened = self.rest > 0.0 and (self.by_position or not plan.free)
        if self.shortened:  # the last step comes by itself
            F[m.T_END] = first.t + self.n_steps * h

    def remember(self, before: np.ndarray) -> None:
        """Take these as the accelerations one step before the first: what a new step size needs."""
        self.work.vector(m.AB)[self.model.numbering.v] = before
        self.work.F[m.H_LAST] = self.work.F[m.H]

    def record_to(
        self, record: Record, first: State, before: Any = None, kept: bool = False
    ) -> None:
        """Keep the first instant, if it is not kept, and all that come, in this record.

        `before` is what events know of the stretches before this one.
        """
        self.record, self.before = record, before
        self.last = self._instant(first)
        if kept:
            self.t_kept = first.t
        elif self._is_output(first):
            self.keep(self.last)

    def _instant(self, state: State) -> EventInstants:
        """Return the instant of the state that the work space has."""
        return EventInstants.of(state, impulsive_so_far(self.model, self.work.F))

    def keep_end(self, last: State, impulsive: np.ndarray, wanted: bool) -> None:
        """Keep the state after the event at which the run ends, if something changed there."""
        if self.instant is not None and last is not self.instant.state:
            if wanted or self._is_output(last):
                self.keep(EventInstants.of(last, impulsive))

    def _is_output(self, state: State) -> bool:
        """Whether the time of a state is among those to be kept."""
        return self.plan.times is None or state.t in self.plan.times

    def keep(self, instants: EventInstants) -> None:
        """Keep instants in the record, and the impacts up to now."""
        if self.work.S[m.N_IMPACTS]:
            self._collect()
        if self.struck:
            self.record.struck(np.concatenate(self.struck))
            self.struck = []
        self.record.append(*instants)
        if len(instants.t):
            self.t_kept = float(instants.t[-1])

    def _collect(self) -> None:
        """Take over the impacts that steps have logged."""
        S = self.work.S
        lines = self.work.F[S[m.IMPACT_LOG] :][: int(S[m.N_IMPACTS]) * m.IMPACT_SIZE]
        self.struck.append(lines.reshape(-1, m.IMPACT_SIZE).copy())
        S[m.N_IMPACTS] = 0

    def loop(self, progress: bool | None) -> tuple[int, str]:
        """Run to the end, or until Ctrl-C; return status and message."""
        interrupt, bar, work = self.interrupt, self._bar(progress), self.work
        F, status, careful = work.F, CONVERGED, self.watch or work.laws
        chunk = 1 if careful else 1 + _CHUNK_UNKNOWNS // int(work.I[m.N_U])
        self.started = time.perf_counter()
        with bar, interrupt.steps():
            try:
                while self._more() and status == CONVERGED and not interrupt.stop:
                    n = min(chunk, self.capacity * (1 if self.watch else self.plan.every))
                    clock, before = time.perf_counter(), F[m.T]
                    taken, status = self._chunk(n)
                    spent = time.perf_counter() - clock
                    bar.update(round(F[m.T] - before, 9) if self.plan.free else taken)
                    most = taken * _CHUNK_SECONDS / max(spent, 1e-9)
                    chunk = int(max(1, min(_CHUNK_GROWTH * n, most)))
                if self.shortened and status == CONVERGED and not interrupt.stop:
                    F[m.T_END] = self.plan.t_end
                    self._resize(self.rest)
                    _, status = self._chunk(1, last=True)
            except Exception as error:
                self.error = error
        self.seconds = time.perf_counter() - self.started
        if self.error is not None:
            self._finish(FAILED)
            return FAILED, str(self.error)
        self._finish(CONVERGED if interrupt.stop else status)
        if interrupt.stop and status == CONVERGED:
            return -1, f"interrupted by the user at t = {F[m.T]:.6g} s"
        if status == EVENT:
            return EVENT, f"stopped by an event at t = {F[m.T]:.9g} s"
        if status in (STIFF, OVER):
            return status, ""
        if status == CONVERGED:
            return CONVERGED, f"reached t = {F[m.T]:g} s"
        return FAILED, self.why()

    def why(self) -> str:
        """Return a message on the step that failed."""
        if self.own is not None and self.own.error is not None:
            return str(self.own.error)
        reason = explain(self.work, self.method)
        words = self.acting.words() if self.acting is not None else ""
        return f"{reason}; {words}" if words else reason

    def _bar(self, wanted: bool | None) -> Progress:
        """Return the bar that shows how far the run is."""
        if not self.plan.free:
            return Progress(self.n_steps, "step", wanted)
        length = self.plan.t_end - float(self.work.F[m.T_START])
        return Progress(round(length, 9), "s of the model", wanted)

    def _more(self) -> bool:
        F, free = self.work.F, self.plan.free
        return bool(F[m.T] < F[m.T_END]) if free else self.done < self.n_steps

    def _chunk(self, n: int, last: bool = False) -> tuple[int, int]:
        """Take up to n steps, look for events, keep what was recorded."""
        if self.plan.free:
            n = min(n, self.crawl[0] + CRAWL_STEPS - self.done)
        elif not last:
            n = min(n, self.n_steps - self.done)
        first = self.done + 1
        over = self._steps_over
        begin = self.work.snapshot() if self.watch or self.jumps.driven or over else None
        if over and begin is not None:
            since = begin[m.T] - self.plan.max_step
            late = [k for k, x in enumerate(self.begins) if x[1][m.T] <= since]
            self.begins = [*self.begins[late[-1] if late else 0 :], (first, begin)]
        try:
            with self.interrupt.breaking():
                taken, status = self.steps(n)
        except KeyboardInterrupt:
            self.keep(self.recorded())
            raise
        new = self.recorded()
        failed = status == FAILED
        jump = self.jumps.first(self.work, begin, taken, failed) if begin is not None else None
        if jump is not None:
            new = new.rows(new.t <= jump.t)
            taken, status = self.back_before(begin, first, jump), FAILED
            new = new.rows(new.t <= self.work.F[m.T])
        if self.watch and taken:
            try:
                new = self._look(begin, first, new)
            except BaseException:  # Ctrl-C within a function: as if the steps had not been taken
                self._rewind(begin, first, 0)
                raise
            if self.instant is not None:
                status = EVENT
        if over and begin is not None and jump is None and (failed or taken < n):
            new = new.rows(np.isfinite(new.t))  # a copy: steps are taken again
            if (passed := self._over_pose()) is not None:
                self.passed, there = passed
                kept = max(self.passed.first.t, float(begin[m.T]))
                self.keep(new.rows(new.t <= kept).joined(there.rows(there.t > kept)))
                return taken, OVER
        self.keep(new)
        if jump is not None and self.instant is None and self.error is None:
            self.error = JumpError(jump.words)
        if failed and self.own is not None and self.instant is None and self.error is None:
            self.error = self.own.error
        if self.error is not None:
            raise self.error
        self.work.check_laws()
        if self.plan.free and status == CONVERGED and self.done >= self.crawl[0] + CRAWL_STEPS:
            status = self._progress()
        return taken, status

    @property
    def _steps_over(self) -> bool:
        """Whether steps are free in loops, without events within them."""
        return self.plan.free and self.acting is not None and self.watch is None

    def _over_pose(self) -> "tuple[Stretch, EventInstants] | None":
        """Return the stretch of one step over a pose into which steps shrink, or None.

        The motion is analytic where rows lose rank, accelerations are no smooth function of the
        state there: what round-off leaves of rows is divided by what they still hold. From a state
        close to the pose no step, however small, is within the tolerance; a step that begins and
        ends far from it is. So the run goes back as far as an explicit step may be that reaches as
        far beyond this state as before it, is within the tolerance, and ends where rows hold.
        """
        F, plan = self.work.F, self.plan
        if not F[m.H] < 0.5 * self.looked_at:
            return None
        self.looked_at, end = float(F[m.H]), float(F[m.T])
        if not singular_pose(self.work):
            return None
        states = self._states()
        self.looked_at = self.looked_at if self.looks < 4 else 0.0
        self.looks += 1
        for way in plan.max_step * 0.5 ** np.arange(1, 7):
            before = [x for x in states if x.t <= end - way]
            h = min(2.0 * way, plan.t_end - end + way)
            if before and h > way and (over := self._stepped(before[-1], end - way, h)):
                if over[0].work.F[m.T] > end and not singular_pose(over[0].work):
                    return over
        return None

    def _stepped(self, state: State, t: float, h: float) -> "tuple[Stretch, EventInstants] | None":
        """Return the stretch that goes explicitly from a state to t, and then by one step h."""
        try:
            over = Stretch(
                self.model, state, ExplicitRungeKutta(), replace(self.plan, step=h), self.interrupt
            )
        except ValueError:  # bodies that the method does not move
            return None
        F, kept, status = over.work.F, over.recorded(), CONVERGED
        while status == CONVERGED and F[m.T] < t - WHOLE_STEPS * h:
            F[m.H] = min(h, t - F[m.T])
            status = over.steps(1)[1]
            kept = kept.joined(over.recorded())
        F[m.H] = F[m.H_MIN] = h  # one step, or none
        status = over.steps(1)[1] if status == CONVERGED else status
        kept = kept.joined(over.recorded())
        return (over, kept) if status == CONVERGED and F[m.T] > t + 0.5 * h else None

    def _states(self) -> list[State]:
        """Return the states of the last pieces, without that at hand; it stays where it is."""
        end, done, states = self.work.snapshot(), self.done, list[State]()
        self._rewind(self.begins[0][1], self.begins[0][0], 0)
        while self.done < done:
            states.append(self.state())
            if not self.steps(1)[0]:
                break
        self.work.restore(end)
        self.done = done
        return states

    def _progress(self) -> int:
        """Look whether many free steps brought the run further; return a status."""
        F, before = self.work.F, self.crawl[1]
        self.crawl = (self.done, float(F[m.T]))
        if F[m.T] - before >= (self.plan.t_end - F[m.T_START]) / CRAWL_STEPS:
            return CONVERGED
        self.error = RuntimeError(slow_progress(self.work, CRAWL_STEPS, float(F[m.T] - before)))
        return FAILED

    @property
    def leaves(self) -> bool:
        """Whether a step that fails is left as it is at first, so that its rows are looked at."""
        return self.acting is not None

    def steps(self, n: int, kernel: Any = None, called: bool = False) -> tuple[int, int]:
        """Take up to n steps; return their number and a status.

        The kernel may have been `called` for them, once, with ``leaves``: then from there on.
        """
        S, kernel = self.work.S, kernel or self.advance
        if not called:
            S[m.N_RECORDED], S[m.N_STEPS] = 0, n
        with self.helper:
            taken, status = self._with_rows(n, kernel, called)
            if status == PIVOTS and self.facts.linear_solver == "fronts":  # then the fronts again
                S[m.LINEAR], S[m.N_STEPS] = self._solver(True), 1
                more, status = self._call(kernel)
                S[m.LINEAR], S[m.HAVE_FACTOR] = self._solver(False), 0
                self.pivoting += more
                taken += more
        if S[m.N_IMPACTS]:
            self._collect()
        status = FAILED if status == PIVOTS else status
        # no smaller step mends rows that hold at second order only
        shaky = self.acting is not None and self.acting.past.shaky
        if status == FAILED and not shaky and self._may_divide():
            if self.divided.take(self.work, self.facts.divided_by, self.done):
                self.done += 1
                return taken + 1, CONVERGED
        return taken, status

    def _solver(self, pivoting: bool) -> int:
        """Return the address of what solves linear equations, the fronts or SuperLU."""
        if pivoting and self.solver is None:
            self.solver = PivotingSolver(self.work)
        return self.solver.address if pivoting and self.solver else factor_and_solve.address

    def _call(self, kernel: Any, leave: bool = False) -> tuple[int, int]:
        """Take steps by a kernel; return their number and a status."""
        work = self.work
        kernel(work.I, work.F, int(leave))
        return self._counted()

    def _counted(self) -> tuple[int, int]:
        """Count the steps that a kernel took; return their number and its status."""
        work = self.work
        self.done += int(work.S[m.STEPS_DONE])
        if self.solver is not None and self.solver.error is not None:  # raised in a step
            undo(work.I, work.F)
            self.solver.check()
        return int(work.S[m.STEPS_DONE]), int(work.S[m.STATUS])

    def _with_rows(self, n: int, kernel: Any, called: bool = False) -> tuple[int, int]:
        """Take up to n steps by a kernel; where one fails, once more with other rows."""
        work, acting, taken, tries = self.work, self.acting, 0, 0
        S, leave = work.S, self.leaves
        while True:
            done, status = self._counted() if called else self._call(kernel, leave)
            called = False
            taken, tries = taken + done, 0 if done else tries
            if status == WORN and acting is not None:
                acting.renew()
                S[m.STATUS] = status = CONVERGED
                if taken < n:
                    S[m.N_STEPS] = n - taken
                    continue
            well = status == CONVERGED and (leave or taken == n)
            if acting is None or status == STIFF or well:
                return taken, status
            if status == CONVERGED:
                leave = True
            elif not leave:
                return taken, status
            else:
                changed = acting.again(tries, status == REFUSED)
                tries += changed
                leave = changed or status == REFUSED
                if acting.past.shaky or not (leave or self.smaller):
                    return taken, FAILED if status == REFUSED else status
            S[m.N_STEPS] = n - taken if leave else 1

    def _may_divide(self) -> bool:
        """Whether a step that failed may be taken in smaller ones: they would mend the cause.

        It is no law, no contradiction of rows.
        """
        work = self.work
        if self.plan.free or self.facts.divided_by is None:
            return False
        bad = any(law.raised for law in work.laws) or work.bad_law()
        return not (bad or failed_step(work, self.method.kernel)[1])

    def back_before(self, begin: Any, first: int, jump: Jump) -> int:
        """Go back to the last step before a jump; return how many that are since a snapshot."""
        n = jump.steps
        if self.plan.free:
            self._rewind(begin, first, 0)
            n = 0
            while self.steps(1)[0] and self.work.F[m.T] <= jump.t:
                n += 1
        self._rewind(begin, first, n)
        return n

    def _rewind(self, begin: Any, first: int, n: int) -> None:
        """Go back to a snapshot before step `first`, and n steps on from there."""
        self.work.restore(begin)
        self.struck = []
        self.done, taken = first - 1, 1
        while n and taken:
            taken, _ = self.steps(n)
            n -= taken

    def recorded(self) -> EventInstants:
        """Return what was recorded since this was asked last."""
        S, F = self.work.S, self.work.F
        rows = F[self.at :][: int(S[m.N_RECORDED]) * self.size].reshape(-1, self.size)
        q, v, a, lam, impulsive = (rows[:, x] for x in columns(self.model))
        return EventInstants(rows[:, 0].copy(), q, v, a, lam, impulsive.copy())

    def _look(self, begin: Any, first: int, new: EventInstants) -> EventInstants:
        """Find the events among new instants, up to one that ends the run; return what to keep."""
        assert self.watch is not None
        steps, kept = self._sorted(first, new)
        whole = self.last.joined(steps)
        looked = self.watch.look(whole, self.before)
        hits = self.watch.crossed(looked.g, looked.size)
        end, done, struck = self.work.snapshot(), self.done, self.struck
        good, self.error = len(looked.g) - 1, looked.error
        for index in map(int, np.flatnonzero(hits.any(axis=1))):
            self._rewind(begin, first, index)
            at = partial(self._after, self.work.snapshot(), self.struck)
            step = float(whole.t[index + 1] - whole.t[index])
            before = carried(self.model, whole.part(0, index + 1), self.before)
            try:
                occurrences, instant = self.watch.within(
                    step, at, looked, index, hits[index], before
                )
            except Exception as error:
                good, self.error = index, error
                break
            self.occurrences += occurrences
            for occurrence in occurrences:
                self.record.happened(occurrence.name, occurrence.t)
            if instant is not None:
                self.instant, self.done, self.error = instant, first + index, None
                self.work.load(instant.state)
                there = self._instant(instant.state)
                self.before = carried(self.model, there, before)
                kept = kept.rows(kept.t < instant.state.t)
                wanted = any(self.watch.events[k].terminal for k in instant.events)
                return kept.joined(there) if wanted or self._is_output(instant.state) else kept
        if self.error is not None:
            self._rewind(begin, first, good)
            return kept.rows(kept.t <= whole.t[good])
        self.watch.accept(looked, good)
        self.work.restore(end)
        self.done, self.struck = done, struck
        self.before = carried(self.model, whole, self.before)
        self.last = whole.part(good, good + 1)
        return kept

    def _sorted(self, first: int, new: EventInstants) -> tuple[EventInstants, EventInstants]:
        """Return the instants of steps, and those to be kept: every so many, or at given times."""
        if self.plan.times is None:
            return new, new.rows(np.arange(first, first + len(new.t)) % self.plan.every == 0)
        output = np.isin(new.t, self.plan.times)
        output[1:] &= new.t[1:] != new.t[:-1]  # a step that ends there follows
        return new.rows(~output), new.rows(output)

    def _after(self, here: Any, struck: list[np.ndarray], h: float) -> State:
        """Return the state a step of size h after a snapshot, up to which impacts `struck`."""
        self.work.restore(here)
        self.struck = [*struck]
        if h > 0.0:
            self._resize(h)
            self.steps(1, kernel=self.kernel)
        return self.state()

    def _resize(self, h: float) -> None:
        """Set the size of the next step, and count times from here."""
        grid_from_here(self.work.I, self.work.F)
        start, here = self.facts.start, self.work.store().replace(step=float(self.work.F[m.H]))
        if self.by_position and start is not None:
            try:
                begun, change = start(self.model, here, h, True, None)
            except ValueError:  # a run that is lost goes on as it can
                change = None
            if change is not None:
                self.work.load(begun)
                self.work.F[m.H] = h
                self.remember(begun.a - change)
                return
        self.work.F[m.H_NEW] = h
        self.work.S[m.HAVE_FACTOR] = self.work.S[m.HISTORY] = 0
        self.facts.resize(self.work.I, self.work.F)

    def _finish(self, status: int) -> None:
        """Keep the last state if the record does not end with it."""
        late = self.work.F[m.T] > getattr(self, "t_kept", -np.inf) + WHOLE_STEPS * self.h
        if late and status not in (EVENT, OVER) and self.plan.times is None:
            self.keep(self._instant(self.state()))

    def state(self) -> State:
        """Return the last state, with the least multipliers of rows that depend on others."""
        acting, work = self.acting, self.work
        state = work.store() if acting is None else of_state(work)
        return state.replace(step=float(work.F[m.H]))

    def stats(self) -> dict[str, float]:
        """Return the cost of the run: counts and times."""
        S = self.work.S
        return {
            "steps": self.done,
            "iterations": int(S[m.N_ITER]),
            "factorizations": int(S[m.N_FACTOR]),
            "evaluations": int(S[m.N_EVALUATE]),
            "rejected": int(S[m.N_REJECT]),
            "located": int(S[m.N_LOCATED]),
            "pivoting_steps": self.pivoting,
            "divided_steps": len(self.divided.steps),
            "substeps": sum(x.n for x in self.divided.steps.values()),
            "seconds": self.seconds,
        }
