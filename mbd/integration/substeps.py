r"""Substeps of a step that has no solution near.

Newton's iteration fails where a body turns far within a step, where a pose is nearly singular, and
where multipliers at position level oscillate. The time of such a step is gone through by free steps
of the stabilised form (:eq:`levels`, :eq:`error`), which meet rows and their rates whatever their
sizes are; they start from velocities on the rows and the accelerations that follow. Behind them the
run begins anew with its own step and level, as at its start (:eq:`starting`): the grid of times and
the order stay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mbd.base.tolerances import STEP_SHRINKS, SUBSTEP_LEAST, SUBSTEP_MOST, SUBSTEP_RTOL
from mbd.integration.adaptive import advance_adaptive, resize
from mbd.integration.consistent import consistent
from mbd.integration.generalized_alpha import GeneralizedAlpha
from mbd.integration.newton_loop import CONVERGED, PIVOTS, keep_least_record, next_time
from mbd.integration.starting_values import resumed
from mbd.interactions.laws import LawError
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["in_substeps"]

_COSTS = [m.N_ITER, m.N_EVALUATE, m.N_REJECT, m.N_FACTOR]


@kernel
def keep(I: np.ndarray, F: np.ndarray, k: int) -> None:
    """Bring the time to that of the end of the step, and record it."""
    F[m.T] = next_time(I, F)
    keep_least_record(I, F)


def in_substeps(work: Workspace, method: GeneralizedAlpha) -> int:
    """Take the step of F[H] that failed in smaller ones; return their number, or 0 in vain.

    In vain nothing has changed but the counts of what it cost.
    """
    for rtol in (SUBSTEP_RTOL, 1e300):  # else whatever Newton's iteration finds
        begin, steps = work.snapshot(), 0
        try:
            steps = _free_steps(work, method, rtol)
        except (ValueError, LawError):  # no such velocities or accelerations
            pass
        finally:
            state, costs = work.store() if steps else None, work.S[_COSTS]
            work.restore(begin)
            work.S[_COSTS] = costs
        if state is not None:
            _begin_anew(work, method, state)
            return steps
    return 0


def _free_steps(work: Workspace, method: GeneralizedAlpha, rtol: float) -> int:
    """Go through the time of the step by free steps; return their number, or 0 in vain."""
    I, S, F, model = work.I, work.S, work.F, work.model
    h, start = float(F[m.H]), work.store()
    t_end = float(F[m.T_BASE] + (S[m.N_PREDICTED] + 1 - S[m.BASE]) * h)
    anywhere = np.zeros(model.n_lam, bool)
    work.load(consistent(model, start, project="velocities", rows=anywhere))
    replace(method, constraints="stabilized").prepare(model, S, F)
    F[m.T_START], F[m.T_END] = start.t, t_end
    F[m.RTOL], F[m.ERROR], F[m.CARRY] = rtol, 1.0, 0.0
    F[m.ATOL : m.ATOL + m.N_KINDS] = 0.0
    F[m.H], F[m.H_MAX], F[m.H_MIN] = 0.25 * h, 0.5 * h, SUBSTEP_LEAST * h
    S[m.N_TAKEN], S[m.RECORD_EVERY], S[m.N_OUTPUT] = 0, 0, S[m.N_REACHED]
    while F[m.T] < t_end and S[m.N_TAKEN] < SUBSTEP_MOST:
        S[m.N_STEPS] = min(50, SUBSTEP_MOST - S[m.N_TAKEN])  # then a look for Ctrl-C
        advance_adaptive(I, F)
        if S[m.STATUS] == PIVOTS and F[m.H] > F[m.H_MIN]:  # masses count for more in a smaller one
            F[m.H_NEW] = STEP_SHRINKS * F[m.H]
            resize(I, F)
        elif S[m.STATUS] != CONVERGED:
            return 0
    return int(S[m.N_TAKEN]) if F[m.T] >= t_end else 0


def _begin_anew(work: Workspace, method: GeneralizedAlpha, state: State) -> None:
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
