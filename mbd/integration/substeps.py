r"""Substeps of a step that has no solution near.

Newton's iteration fails where a body turns far within a step, where a pose is nearly singular, and
where multipliers at position level oscillate. The time of such a step is gone through by free steps
of the stabilised form (:eq:`levels`, :eq:`error`), which meet rows and their rates whatever their
sizes are; they start from velocities on the rows and the accelerations that follow. After them the
run restarts with its own step and level, as at its start (:eq:`starting`): the grid of times and
the order stay.

First they are as large as Newton's iteration finds them, each twice the one before where nothing is
in its way. If the latter half of them brings the step no further than steps of which it has too
many, it is hopeless. One that is passed is gone through again within a tolerance; the first way
counts where that takes too many.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbd.base import tolerances
from mbd.integration.adaptive import advance_adaptive, note_time, resize
from mbd.integration.consistent import consistent
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.newton_loop import CONVERGED, PIVOTS, keep_record, next_time
from mbd.integration.starting_values import resumed
from mbd.interactions.laws import LawError
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.state import State
from mbd.model.workspace import Workspace

_COSTS = [m.N_ITER, m.N_EVALUATE, m.N_REJECT, m.N_FACTOR]


class Smaller(NamedTuple):
    """Smaller steps in the place of one.

    Attributes
    ----------
    n : int
        Their number.
    tried : int
        That with those in vain: what a tolerance asks for.
    fastest : int
        Which velocity's acceleration changes most.
    """

    n: int
    tried: int
    fastest: int


class Divided:
    """Steps of a run that were taken in smaller ones.

    Attributes
    ----------
    steps : dict
        The smaller ones, by the time [s] at the end of the step.
    tried : dict
        Their number with those in vain, by the time at its start.
    """

    def __init__(self) -> None:
        self.steps: dict[float, Smaller] = {}
        self.tried: dict[float, int] = {}
        self.spent = False  # whether a step failed for want of more of them

    def take(self, work: Workspace, method: GeneralizedAlpha, done: int) -> bool:
        """Take the step that failed after so many others in smaller ones; tell whether that went.

        What was tried later counts for nothing: a run goes back to look for an event.
        """
        start = float(work.F[m.T])
        before = sum(n for t, n in self.tried.items() if t < start)
        left = int(tolerances.SUBSTEP_ALL * (1 + done / 1000)) - before
        if left <= 0:
            self.spent = True
            return False
        v, units = work.model.numbering.v, work.model.units
        a = work.vector(m.A)[v].copy()
        steps, self.tried[start] = in_substeps(work, method, left)
        self.spent = steps == 0 and self.tried[start] >= left
        if steps:
            fastest = int(np.argmax(np.abs(work.vector(m.A)[v] - a) / units))
            self.steps[float(work.F[m.T])] = Smaller(steps, self.tried[start], fastest)
        return steps > 0


@kernel
def keep(I: np.ndarray, F: np.ndarray, k: int) -> None:
    """Bring the time to that of the end of the step, and record it."""
    F[m.T] = next_time(I, F)
    keep_record(I, F)


def in_substeps(work: Workspace, method: GeneralizedAlpha, most: int) -> tuple[int, int]:
    """Take the step of F[H] that failed in smaller ones, at most so many.

    Return their number, or 0 in vain, and that with those in vain. In vain nothing has changed but
    the counts of what it cost.
    """
    state, steps = _passed(work, method, 1e300, most)
    if state is None:
        return 0, steps
    finer, more = _passed(work, method, tolerances.SUBSTEP_RTOL, most - steps)
    tried = steps + more
    if finer is None and tried >= most:
        return 0, tried
    if finer is not None:
        state, steps = finer, more
    _restart(work, method, state)
    return steps, tried


def _passed(
    work: Workspace, method: GeneralizedAlpha, rtol: float, most: int
) -> tuple[State | None, int]:
    """Return the state at the end of the step by free steps, or None, and their number.

    Of the work space nothing changes but the counts of what it cost.
    """
    begin, through = work.snapshot(), False
    work.S[m.N_TAKEN] = 0
    try:
        through = _free_steps(work, method, rtol, min(tolerances.SUBSTEP_MOST, most))
    except (ValueError, LawError):  # no such velocities or accelerations
        pass
    finally:
        state, costs = work.store() if through else None, work.S[_COSTS]
        steps = int(work.S[m.N_TAKEN])
        work.restore(begin)
        work.S[_COSTS] = costs
    return state, steps


def _free_steps(work: Workspace, method: GeneralizedAlpha, rtol: float, most: int) -> bool:
    """Go through the time of the step by free steps; tell whether its end is reached."""
    I, S, F, model = work.I, work.S, work.F, work.model
    h, start = float(F[m.H]), work.store()
    t_end = float(F[m.T_BASE] + (S[m.N_PREDICTED] + 1 - S[m.BASE]) * h)
    anywhere = np.zeros(model.n_lam, bool)
    work.load(consistent(model, start, project="velocities", rows=anywhere))
    replace(method, constraints="stabilized").prepare(model, S, F)
    note_time(I, F)  # of the whole run
    F[m.T_START], F[m.T_END] = start.t, t_end
    F[m.RTOL], F[m.ERROR], F[m.CARRY] = rtol, 1.0, 0.0
    F[m.ATOL : m.ATOL + m.N_UNKNOWN_KINDS] = 0.0
    F[m.H], F[m.H_MAX], F[m.H_MIN] = 0.25 * h, 0.5 * h, tolerances.SUBSTEP_LEAST * h
    S[m.RECORD_EVERY], S[m.N_OUTPUT] = 0, S[m.N_REACHED]
    looks = [(0, start.t)]  # number of smaller steps, and time that they came to
    while F[m.T] < t_end and S[m.N_TAKEN] < most:
        S[m.N_STEPS] = min(50, most - S[m.N_TAKEN])  # then a look for progress and Ctrl-C
        advance_adaptive(I, F)
        looks.append((int(S[m.N_TAKEN]), float(F[m.T])))
        if S[m.STATUS] == PIVOTS and F[m.H] > F[m.H_MIN]:  # masses count for more in a smaller one
            F[m.H_NEW] = 0.5 * F[m.H]
            resize(I, F)
        elif S[m.STATUS] != CONVERGED:
            return False
        elif rtol >= 1e300 and _hopeless(looks, h):
            return False
    return bool(F[m.T] >= t_end)


def _hopeless(looks: list[tuple[int, float]], h: float) -> bool:
    """Tell whether the latter half of smaller steps is such that a step h has too many of them."""
    (n, t), (half, before) = looks[-1], looks[len(looks) // 2 - 1]
    return t - before < (n - half) * h / tolerances.SUBSTEP_MOST


def _restart(work: Workspace, method: GeneralizedAlpha, state: State) -> None:
    """Keep the state as the end of the step, and begin the next one as at the start of a run."""
    work.load(state)
    keep(work.I, work.F)
    state = state.replace(t=float(work.F[m.T]))
    try:
        begun, change = resumed(
            work.model, state, float(work.F[m.H]), method.alpha, method.level == "position"
        )
    except (ValueError, LawError):  # the next step goes on as it can
        work.load(state)
        return
    work.load(begun)
    work.vector(m.AB)[work.model.numbering.v] = begun.a - change
    work.F[m.H_LAST] = work.F[m.H]
