r"""Methods of one step that are compiled: their vectors, their matrix, the loop over steps.

A method of one's own is a function ``step(I, F, t) -> bool``, compiled by `jit`, that goes from the
state at t to that at `next_time`: coordinates :math:`q_n \boxplus d`, velocities, accelerations and
multipliers of `vectors`. `steps_of` makes its kernel; what is around it, ``Facts`` and ``prepare``,
is that of all methods (``mbd/integration/method.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mbd.integration.newton_loop import (
    CONVERGED,
    FAILED,
    PIVOTS,
    by_fronts,
    keep_record,
    restore,
)
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, loop, part
from mbd.machine.subnormal import flushing
from mbd.model.evaluation import accept, note_rates, stage


class StepVectors(NamedTuple):
    """StepVectors over the unknowns of a run, velocities and rows, which are changed in place.

    Attributes
    ----------
    d : (n,)
        Increment from the coordinates at the start of the step; of rows nobody reads it.
    v : (n,)
        Velocities; of rows nobody reads it.
    a : (n,)
        Accelerations, and multipliers at the places of rows.
    alg : (n,)
        ``State.alg``, what a method carries from step to step; of rows it is its own.
    x : (n,)
        What `evaluate_level` leaves of the equations, and what `solve` makes of it.
    v_n, a_n : (n,)
        v and a at the start of the step.
    """

    d: Any
    v: Any
    a: Any
    alg: Any
    x: Any
    v_n: Any
    a_n: Any


@jit
def vectors(I: Any, F: Any) -> StepVectors:
    """Return the vectors of a run, whose length is I[N_U]."""
    return StepVectors(
        part(F, I[m.D]), part(F, I[m.V]), part(F, I[m.A]), part(F, I[m.AL]), part(F, I[m.X]),
        part(F, I[m.VN]), part(F, I[m.AN]),
    )  # fmt: skip


@jit
def begin_step(I: Any, F: Any) -> None:
    """Keep q, v, a at the start of a step."""
    for i in range(I[m.N_Q]):
        F[I[m.QN] + i] = F[I[m.Q] + i]
    for i in range(I[m.N_U]):
        F[I[m.VN] + i] = F[I[m.V] + i]
        F[I[m.AN] + i] = F[I[m.A] + i]


@jit
def solve(I: Any, F: Any, new: bool) -> bool:
    """Let x be the solution, by a matrix of the iterate if `new`; tell whether it is regular."""
    S = ints(F)
    S[m.N_ITER] += 1
    if new:
        S[m.SMALL_PIVOTS] = 0
    by_fronts(I, F, new)
    return S[m.SMALL_PIVOTS] == 0  # type: ignore[no-any-return]


def steps_of(step: Callable[[Any, Any, float], Any]) -> Any:
    """Return the kernel that takes steps of a method, from its compiled function.

    Parameters
    ----------
    step : (I, F, t) -> bool
        Go from the state at t to the next one; return whether that went well.
    """

    @loop
    @flushing
    def steps(I: Any, F: Any, k: int) -> None:
        """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step as it is."""
        S = ints(F)
        note_rates(I, F)
        S[m.STATUS], S[m.STEPS_DONE], S[m.HAVE_FACTOR] = CONVERGED, 0, 0
        for i in range(S[m.N_STEPS]):
            t = F[m.T]
            begin_step(I, F)
            good = step(I, F, t)
            if good:
                stage(I, F, m.PLACE)
                good = accept(I, F)
            if not good:
                S[m.STATUS] = PIVOTS if S[m.SMALL_PIVOTS] else FAILED
                S[m.HISTORY] = 0
                if k == 0:
                    restore(I, F)
                F[m.T] = t
                return
            S[m.STEPS_DONE], S[m.HISTORY] = i + 1, 1
            keep_record(I, F)

    return steps
