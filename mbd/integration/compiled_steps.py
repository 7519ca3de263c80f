r"""Methods of one step that are compiled: their vectors, their matrix, the loop over steps.

A method of one's own is a function ``step(I, F, t) -> bool``, compiled by `jit`, that goes from the
state at t to that at `next_time`: coordinates :math:`q_n \boxplus d`, velocities, accelerations and
multipliers of `vectors`. `steps_of` makes its kernel; what is around it, ``Facts`` and ``prepare``,
is that of all methods (``mbd/integration/method.py``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from mbd.integration import newton_loop
from mbd.integration.one_step import go_on
from mbd.integration.updates import keep_start
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
def solve(I: Any, F: Any, new: bool) -> bool:
    """Let x be the solution, by a matrix of the iterate if `new`; tell whether it is regular."""
    S = ints(F)
    S[m.N_ITER] += 1
    if new:
        S[m.SMALL_PIVOTS] = 0
    newton_loop.by_fronts(I, F, new)
    return S[m.SMALL_PIVOTS] == 0  # type: ignore[no-any-return]


@jit
def nothing(I: Any, F: Any) -> None:
    """Carry nothing from step to step but the state."""


def step_loop(
    begin: Callable[..., Any], step: Callable[..., Any], back: Callable[..., Any],
    verdict: Callable[..., Any],
) -> Any:  # fmt: skip
    """Return the kernel that takes steps.

    Parameters
    ----------
    begin : (I, F)
        What comes before the steps of each piece of a run.
    step : (I, F, t) -> int
        Go from the state at t to the next one; return the status.
    back : (I, F)
        Go back to the start of a step that failed.
    verdict : (I, F) -> int
        The status after a step that went well: what ends the piece of a run.
    """

    @loop
    @flushing
    def steps(I: Any, F: Any, k: int) -> None:
        """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step as it is."""
        S = ints(F)
        S[m.STATUS], S[m.STEPS_DONE], S[m.HAVE_FACTOR] = newton_loop.CONVERGED, 0, 0
        note_rates(I, F)
        begin(I, F)
        for i in range(S[m.N_STEPS]):
            t = F[m.T]
            status = step(I, F, t)
            if status == newton_loop.CONVERGED and not accept(I, F):
                status = newton_loop.FAILED
            if status != newton_loop.CONVERGED:
                S[m.STATUS], S[m.HISTORY] = status, 0
                if k == 0:
                    back(I, F)
                F[m.T] = t
                return
            S[m.STEPS_DONE], S[m.HISTORY] = i + 1, 1
            newton_loop.keep_record(I, F)
            S[m.STATUS] = verdict(I, F)
            if S[m.STATUS] != newton_loop.CONVERGED:
                return

    return steps


def steps_of(step: Callable[[Any, Any, float], Any]) -> Any:
    """Return the kernel that takes steps of a method, from its compiled function.

    Parameters
    ----------
    step : (I, F, t) -> bool
        Go from the state at t to the next one; return whether that went well.
    """

    @jit
    def placed(I: Any, F: Any, t: float) -> int:
        """Take a step from the state that is kept, and place its end."""
        S = ints(F)
        keep_start(I, F)
        if not step(I, F, t):
            return newton_loop.PIVOTS if S[m.SMALL_PIVOTS] else newton_loop.FAILED
        stage(I, F, m.PLACE)
        return newton_loop.CONVERGED  # type: ignore[no-any-return]

    return step_loop(nothing, placed, newton_loop.restore, go_on)
