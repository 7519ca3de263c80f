"""Newton step with pivoting sparse LU: slower, where the fronts are not trusted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mbd.integration.adaptive import give
from mbd.integration.newton_loop import (
    CONVERGED,
    FAILED,
    correct,
    correct_positions,
    finish,
    keep_record,
    next_time,
    predict,
    restore,
    set_weights,
)
from mbd.integration.round_off import measure_rows, set_least, velocity_rows_open
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import accept, evaluate_level, forget_velocities, linearise_kernel
from mbd.model.workspace import Workspace


@kernel
def begin(I: Any, F: Any, k: int) -> None:
    """Predict one step: for the iteration in Python; k = 1 for free steps, on no grid of times."""
    set_weights(I, F)
    forget_velocities(I, F)
    predict(I, F)
    F[m.T_STEP] = F[m.T_LAST]
    if k == 0:
        F[m.T] = next_time(I, F)
    else:
        left = F[m.T_END] - F[m.T]
        F[m.T] = F[m.T_END] if left < 1.000001 * F[m.H] else F[m.T] + F[m.H]


@kernel
def look(I: Any, F: Any, k: int) -> None:
    """Evaluate the iterate; k = 1: the last one."""
    evaluate_level(I, F)
    set_least(I, F)
    F[m.OPEN] = measure_rows(I, F, I[m.X]) if I[m.LOOPS] else 0.0
    if k == 1 and velocity_rows_open(I, F):
        F[m.OPEN] = math.inf


@kernel
def apply(I: Any, F: Any, k: int) -> None:
    """Correct the iterate with the solution in X; its size goes to F[m.NORM]."""
    F[m.NORM] = correct(I, F)


@kernel
def apply_positions(I: Any, F: Any, k: int) -> None:
    """Correct positions with the solution in X; its size goes to F[m.NORM]."""
    F[m.NORM] = correct_positions(I, F)


@kernel
def take(I: Any, F: Any, k: int) -> None:
    """Let all that remembers take over the pose; where turns are not sure the step is open."""
    if not accept(I, F):
        F[m.OPEN] = math.inf


@kernel
def end(I: Any, F: Any, k: int) -> None:
    """Accept the step and record it."""
    give(I, F, F[m.T] - F[m.H])
    finish(I, F)
    keep_record(I, F)


@kernel
def undo(I: Any, F: Any, k: int) -> None:
    """Go back to the start of the step."""
    restore(I, F)


def careful_step(work: Workspace, max_iterations: int = 15, free: bool = False) -> int:
    """Take one step by full Newton; return its status.

    The matrix is the one the fronts would factor, in the same order of unknowns, with threshold
    pivoting in SuperLU.
    """
    from scipy.sparse.linalg import splu  # a tenth of a second that other runs need not spend

    from mbd.model.pattern import sparse

    start = work.F[m.T]
    begin(work.I, work.F, int(free))
    status, last = FAILED, np.inf
    try:
        for _ in range(max_iterations):
            look(work.I, work.F)
            linearise_kernel(work.I, work.F)
            x = work.vector(m.X)
            try:
                matrix = splu(sparse(work.model, work.F), permc_spec="COLAMD")
                x[:] = matrix.solve(x)
            except RuntimeError:  # exactly singular
                break
            work.S[m.N_FACTOR] += 1
            work.S[m.N_ITER] += 1
            apply(work.I, work.F)
            size = float(work.F[m.NORM])
            if work.S[m.LEVEL] == m.STABILIZED:
                x[:] = 0.0
                x[work.model.numbering.lam] = work.vector(m.GAP)[work.model.numbering.lam]
                x[:] = matrix.solve(x)
                apply_positions(work.I, work.F)
                size = max(size, float(work.F[m.NORM]))
            if not np.isfinite(size):
                break
            if size <= 1.0 or (size < 1e3 and size > 0.5 * last):
                look(work.I, work.F, 1)
                take(work.I, work.F)
                status = CONVERGED if work.F[m.OPEN] <= 1.0 else FAILED
                break
            last = size
    finally:  # Ctrl-C too leaves no unfinished step
        if status == CONVERGED:
            end(work.I, work.F)
        else:
            undo(work.I, work.F)
            work.S[m.HISTORY] = 0
            work.F[m.T] = start
    return status
