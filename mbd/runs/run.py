"""A run: its plan, its stretches, what is kept of them, and why it ends.

1. The plan (`plan.py`) says how far, by which steps of which method, and which instants are kept.
2. A run begins at a consistent state (``mbd/integration/consistent.py``). The method may move it to
   where its steps begin (`Facts.start`).
3. A stretch (`stretch.py`) goes from there to the next event that changes something, or to the end,
   in one work space. Its steps are compiled, some tenth of a second of them at a time; between them
   Python takes over what was recorded, looks for jumps in laws of motion (`law_jumps.py`) and for
   zero crossings (`crossings.py`), draws the bar (`progress.py`), listens to Ctrl-C
   (`interrupts.py`).
4. A step that fails is taken again with other acting rows, then with SuperLU where pivots of the
   fronts are none, then in smaller ones; what helps no more is explained (`failed_step.py`).
5. At an event the step is taken again so that it ends there, the change is made (`after_event.py`),
   and the next stretch begins.
6. Instants go to a record (`record.py`), in memory or in a file.
7. What looks all right is judged when it is over: steps that are too large (`large_steps.py`), laws
   that they do not resolve (`unresolved_laws.py`), multipliers that oscillate (`oscillation.py`).

Whatever is raised on the way, by a law, the function of an event or its change, ends the run as a
failed step does: with all that was computed up to the last good step.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from mbd.integration.method import Method, name_of
from mbd.integration.newton_loop import FAILED, STIFF
from mbd.integration.substeps import Smaller
from mbd.interactions.laws import LawError
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.runs.after_event import after_event, energy_of_change
from mbd.runs.crossings import Instant, Watch
from mbd.runs.events import EventInstants, Occurrence
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.record import Record, RecordError
from mbd.runs.stretch import EVENT, OVER, Stretch, TakenOver

_WORDED = (RuntimeError, ValueError, TypeError)  # of this package: they say who and when


class Run:
    """A run, stretch by stretch.

    Attributes
    ----------
    last : State
        After the last good step.
    occurrences : list of Occurrence
        The events that happened.
    stretch : Stretch, optional
        The last stretch.
    stats : dict
        What all stretches cost.
    divided : dict
        Steps that were taken in smaller ones, by the time [s] at the end.
    poses : list of float
        Starts of steps over poses in which rows lose rank [s].
    started : float
        Clock at the first step [s].
    impulsive : (3,) array
        Work of impulses so far [J]: of changes at events, and of the steps of some methods; its
        parts by friction and impacts.
    cause : BaseException, optional
        What was raised and ended the run.
    """

    def __init__(
        self, model: Model, method: Method, plan: Plan, watch: Watch, record: Record,
        progress: bool | None, interrupt: Interrupt,
    ) -> None:  # fmt: skip
        self.model, self.method, self.plan, self.watch = model, method, plan, watch
        self.record, self.progress, self.interrupt = record, progress, interrupt
        self.stats: dict[str, float] = {}
        self.divided: dict[float, Smaller] = {}
        self.poses = list[float]()
        self.spent = False
        self.occurrences: list[Occurrence] = []
        self.stretch: Stretch | None = None
        self.started = math.inf
        self.impulsive = np.zeros(m.N_IMPULSIVE)
        self.cause: BaseException | None = None

    def go(
        self, first: State, saddle: Saddle | None, continued: bool, before: Any
    ) -> tuple[int, str]:
        """Run to the end; return status and message.

        `continued`: the first state is that of an earlier run, and is left as it is.
        """
        self.last, self.start = first, first.t
        try:
            status = EVENT
            while status in (EVENT, STIFF, OVER):
                if status == STIFF:
                    self._hand_over()
                kept = status in (STIFF, OVER)
                status, message = self._stretch(continued, before, saddle, kept)
                continued, before = False, self.stretch.before if self.stretch else None
                saddle = None
        except KeyboardInterrupt:
            if self.stretch is None:  # nothing was computed
                self.record.close(-1, "interrupted by the user before the first step", self.stats)
                raise
            return -1, f"interrupted by the user at t = {self.last.t:.6g} s"
        except Exception as error:
            if self.stretch is None and not isinstance(error, LawError | RecordError):
                self.record.close(FAILED, str(error), self.stats)
                raise  # nothing was computed: the method refuses the model
            return FAILED, self._failed(error)
        except BaseException as error:
            self.record.close(FAILED, f"stopped by {type(error).__name__}: {error}", self.stats)
            raise
        if self.stretch is not None and self.stretch.error is not None:
            message = self._failed(self.stretch.error)
        if "handed_over" in self.stats:
            message += (
                f"; stiff from t = {self.stats['handed_over']:.6g} s, where "
                f"{name_of(self.method)} went on"
            )
        if self.poses and status == 0:
            message += (
                f"; {len(self.poses)} poses in which rows lose rank were passed by an explicit "
                f"step each, the first from t = {self.poses[0]:.6g} s"
            )
        return status, message + self._divided()

    def _hand_over(self) -> None:
        """Let the method that knows stiffness go on, from the last good step."""
        self.stats["handed_over"] = self.last.t
        self.method = self.method.facts.handed_to
        step = self.plan.step if self.last.step is None else self.last.step
        self.plan = replace(self.plan, step=step)

    def _stretch(
        self, continued: bool, before: Any, saddle: Saddle | None, kept: bool
    ) -> tuple[int, str]:
        """Run to the next event that changes something; ``last`` is then after it.

        `kept`: the first state is the last one of the stretch before.
        """
        plan, first = self.plan, self.last
        taken_over = TakenOver(continued, saddle)
        stretch = Stretch(
            self.model, first, self.method, plan, self.interrupt, self.watch, taken_over
        )
        F, at_impulsive = stretch.work.F, slice(m.IMPULSIVE, m.IMPULSIVE + m.N_IMPULSIVE)
        F[at_impulsive] = self.impulsive
        stretch.record_to(self.record, stretch.first, before, kept)
        self.stretch = stretch
        try:
            status, message = stretch.loop(self.progress)
        finally:
            self.last, self.impulsive = stretch.state(), F[at_impulsive].copy()
            self.occurrences += stretch.occurrences
            self.started = min(self.started, stretch.started)
            self.divided |= stretch.divided.steps
            self.spent = stretch.divided.spent
            for name, value in stretch.stats().items():
                self.stats[name] = self.stats.get(name, 0) + value
        if (passed := stretch.passed) is not None:
            self.poses.append(passed.first.t)
            for name, value in passed.stats().items():
                self.stats[name] += value
            step = min(passed.h, passed.first.step or passed.h)
            self.last, self.plan = passed.state().replace(step=step), replace(plan, step=step)
            if self.last.t >= plan.t_end * (1 - 1e-15):
                return 0, f"reached t = {self.last.t:g} s"
        if stretch.instant is None:
            return status, message
        self.last, set_off = after_event(
            self.watch, stretch.instant, stretch.before, plan.t_end - self.start
        )
        self.impulsive[0] += energy_of_change(
            stretch.model, stretch.instant.state, self.last, stretch.before
        )
        self.occurrences += set_off
        for occurrence in set_off:
            self.record.happened(occurrence.name, occurrence.t)
        over = _over(stretch.instant, self.watch, set_off)
        if over or self.last.t >= plan.t_end * (1 - 1e-15):
            stretch.keep_end(self.last, self.impulsive[: self.model.n_impulsive], over != "")
            return 0, over or f"reached t = {self.last.t:g} s"
        return EVENT, ""

    def _divided(self) -> str:
        """Return the part of the message on steps that were taken in smaller ones."""
        if not (n := len(self.divided)):
            return ""
        tried = Counter[int]()  # by the velocity that changes fastest
        for x in self.divided.values():
            tried[x.fastest] += x.tried
        fastest = self.model.labels[tried.most_common(1)[0][0]]
        return (
            f"; {n} of {self.stats['steps']:.0f} steps failed and {'was' if n == 1 else 'were'} "
            f"taken in {sum(x.n for x in self.divided.values())} smaller ones, the first to "
            f"t = {min(self.divided):.6g} s, most of them for {fastest!r}: steps of "
            f"{self.plan.step * n / tried.total():.1g} s would do"
            + (", and more are not tried, as many were in vain" if self.spent else "")
        )

    def _failed(self, error: Exception) -> str:
        """Note the cause; return the message."""
        if self.stretch is None:
            self.record.append(*EventInstants.of(self.last))
        self.cause = error.__cause__ or error
        return str(error) if isinstance(error, _WORDED) else f"{type(error).__name__}: {error}"


def _over(instant: Instant, watch: Watch, set_off: list[Occurrence]) -> str:
    """Return that a run is over and why, if one of the events at an instant is terminal."""
    events = [
        *(watch.events[k] for k in instant.events),
        *(occurrence.event for occurrence in set_off),
    ]
    names = " and ".join(repr(event.name) for event in events if event.terminal)
    return f"ended by {names} at t = {instant.state.t:.9g} s" if names else ""
