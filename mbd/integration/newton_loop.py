r"""The compiled time loop: generalized-alpha on manifolds.

With :math:`\gamma' = \gamma/(h\beta)`, :math:`\beta' = (1-\alpha_m)/(h^2\beta(1-\alpha_f))`:

* predict :math:`a, v, \Delta` from :math:`\dot v` and :math:`\lambda`, extrapolated by the
  parabola through the last three, or by a line and the ringing of the method (``updates``);
* iterate :math:`\begin{bmatrix}\beta h^2(\beta' M + \gamma' G + K T) & B^T\\ B T & 0
  \end{bmatrix} \begin{bmatrix}\Delta x\\ \beta h^2\Delta\lambda\end{bmatrix} =
  -\begin{bmatrix}\beta h^2 r\\ \Phi\end{bmatrix}`, then
  :math:`h\Delta \mathrel{+}= \Delta x`, :math:`v \mathrel{+}= \gamma'\Delta x`,
  :math:`\dot v \mathrel{+}= \beta'\Delta x`;
* finish
  :math:`a_{n+1} = ((1-\alpha_f)\dot v_{n+1} + \alpha_f\dot v_n - \alpha_m a_n)/(1-\alpha_m)`.

Rows are those that act: what depends on others is dropped (``acting_rows``), and judged with them.

Where rows are met by their rates, :math:`\dot\Phi/\gamma'` stands in the place of :math:`\Phi`; the
stabilised form moves positions alone by a second solution with the same factors, of which the
right-hand side is what positions lack beyond that, :math:`\Phi - \dot\Phi/\gamma'`.

The iteration ends when the estimated remaining error, increment times
:math:`\theta/(1-\theta)` with the observed contraction :math:`\theta`, is below
``tol`` of the accelerations and multipliers, or at the round-off of the positions.

References
----------
.. [1] Arnold and Bruels, Convergence of the generalized-alpha scheme for constrained mechanical
   systems, Multibody System Dynamics 18 (2007); Bruels and Cardona, J. Comput. Nonlinear Dyn. 5
   (2010); Bottasso et al. on the scaling by h^2.
"""

import math
from typing import Any, NamedTuple

from mbd.algebra.newmark import scaled_rates
from mbd.base.tolerances import (
    MATRIX_CHEAP,
    MATRIX_WORN,
    NEWTON_CONTRACTION,
    NEWTON_PATIENCE,
    NEWTON_REACH,
    NEWTON_ROUND_OFF,
    PARABOLA_MISS,
)
from mbd.integration.updates import back_to_start, finish_vectors, predict_vectors, record
from mbd.integration.verdicts import (
    measure_rows,
    off_the_rows,
    settled,
    still_open,
    velocity_rows_open,
)
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel, loop
from mbd.machine.subnormal import flushing
from mbd.machine.two_threads import by_sides
from mbd.machine.unknowns import faces_of, is_velocity, unknowns_of
from mbd.model import evaluation

CONVERGED, FAILED, PIVOTS = 0, 1, 2
REFUSED = 4  # a free step, for one that is smaller: let rows be looked at
STIFF = 6  # all is well, but steps are bound by stability and not by their error
WORN = 5  # all is well, but acting rows are nearer to each other than where they were chosen


# --- one iteration for all ------------------------------------------------------------------------
class Equations(NamedTuple):
    """Equations that `chord` solves: compiled functions of (I, F), made once for a method.

    Attributes
    ----------
    residual : (I, F, k) -> None
        Evaluate the iterate after k corrections: what is left of the equations to X, the largest
        row to OPEN, in units of what is allowed.
    settled : (I, F) -> bool
        Whether all of X is round-off of its terms.
    solve : (I, F, new) -> None
        X becomes the solution, by a matrix made at the iterate if `new`, else by that at hand.
    correct : (I, F) -> float
        Subtract X from the iterate; return its size, in units of what may be left.
    """

    residual: Any
    settled: Any
    solve: Any
    correct: Any


def chord(equations: Equations) -> Any:
    r"""Return the iteration (I, F) -> status that keeps a matrix while it serves.

    It ends where the error that is left, :math:`\theta/(1-\theta)` times the last correction with
    the contraction :math:`\theta` of the last two, is below one; or where corrections with a matrix
    of this step no longer shrink and are near to round-off. Whether the iterate is an answer is
    judged elsewhere (``verdicts``).
    """
    residual, settled, solve, correct = equations

    @jit
    def iterate(I: Any, F: Any) -> int:
        S = ints(F)
        last, theta, fresh = 0.0, max(F[m.THETA], 0.05), False
        theta = math.sqrt(theta * math.sqrt(theta))
        cheap, slowest = I[m.PRICE] <= MATRIX_CHEAP, 0.0  # contraction of the matrix at hand
        for k in range(S[m.MAX_ITER]):
            residual(I, F, k)
            if theta > 0.3 and k > 2 and settled(I, F):
                return CONVERGED
            if S[m.FULL_NEWTON] or not S[m.HAVE_FACTOR]:
                fresh, slowest = True, 0.0
                S[m.STEPS_OF_FACTOR], S[m.ITERATIONS_OF_FACTOR] = 0, 0
                S[m.SMALL_PIVOTS], S[m.HAVE_FACTOR] = 0, 1
                solve(I, F, True)
                if S[m.SMALL_PIVOTS]:
                    S[m.HAVE_FACTOR] = 0
                    return PIVOTS
            else:
                solve(I, F, False)
            size = F[m.NORM] = correct(I, F)
            S[m.N_ITER] += 1
            if not size < 1e300:
                return FAILED
            if k == 0:
                F[m.MISS] = size
            else:  # the first ratio may flatter: a bound
                theta = max(size / last, NEWTON_CONTRACTION) if last > 0.0 else NEWTON_CONTRACTION
                F[m.THETA] = theta
                slowest = max(slowest, theta) if cheap else theta
            if k > 0 and theta > 0.5 and fresh and size * F[m.ROUND] < NEWTON_ROUND_OFF:
                F[m.OPEN] = max(F[m.OPEN], 2.0)  # are rows met?
                return CONVERGED
            if k > 0 and (theta > 0.5 or (theta > 0.3 and k > 4)):
                S[m.HAVE_FACTOR] = 0
            if fresh and ((theta > 1e3 and k > 4) or (theta > 1.0 and k > 20)):
                return FAILED
            if theta < 1.0 and size * theta / (1.0 - theta) <= 1.0:
                if slowest > MATRIX_WORN or has_aged(I, F, k + 1):
                    S[m.HAVE_FACTOR] = 0
                return CONVERGED
            last = size
        F[m.OPEN] = max(F[m.OPEN], 2.0)
        return CONVERGED if F[m.NORM] * F[m.ROUND] < NEWTON_ROUND_OFF else FAILED

    return iterate


@jit
def by_fronts(I: Any, F: Any, new: bool) -> None:
    """Solve with the iteration matrix."""
    if new:
        evaluation.linearise(I, F)
    call(ints(F)[m.LINEAR], I, F, 1 if new else 0)


@jit
def has_aged(I: Any, F: Any, iterations: int) -> bool:
    """Tell whether a new matrix pays, after a step of so many iterations with the one at hand.

    It does where one more such step costs more than those since the matrix was made did in the
    mean, its price among them. A cheap one is also new where a step needs a fourth iteration,
    and where one needs a third with it new: that the next one will need more is not in the mean.
    """
    S = ints(F)
    S[m.STEPS_OF_FACTOR] += 1
    S[m.ITERATIONS_OF_FACTOR] += iterations
    if I[m.PRICE] <= MATRIX_CHEAP and iterations > (3 if S[m.STEPS_OF_FACTOR] > 1 else 2):
        return True
    return iterations * S[m.STEPS_OF_FACTOR] > I[m.PRICE] + S[m.ITERATIONS_OF_FACTOR]


# --- generalized-alpha ----------------------------------------------------------------------------
@jit
def predict(I: Any, F: Any) -> None:
    """Start the step: keep the old state, extrapolate v' and lam, predict v and the increment."""
    S = ints(F)
    predict_vectors(I, F)
    most = NEWTON_REACH * F[m.RATE] / F[m.TOL]
    for k in range(m.FORCE):  # what accelerations allow of an increment is bounded by the model
        F[m.SCALE + k] = min(F[m.SCALE + k], most * F[m.UNIT + k])
    if S[m.LEVEL] != m.POSITION:
        measure_speed(I, F)


@jit
def restore(I: Any, F: Any) -> None:
    """Go back to the start of the step, and forget the history."""
    if F[m.T_LAST] != F[m.T_STEP]:
        evaluation.copy_remembered(I, F, 1, 0)
        F[m.T_LAST] = F[m.T_STEP]
    back_to_start(I, F)


@kernel
def undo(I: Any, F: Any, k: int) -> None:
    """Go back to the start of the step, and forget the history."""
    restore(I, F)
    ints(F)[m.HISTORY] = 0


@jit
def measure_speed(I: Any, F: Any) -> None:
    """Note the largest velocities, and by them the round-off of a step that meets rates."""
    S = ints(F)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            size = m.SIZE + I[I[m.UNKNOWN_KIND] + i]
            F[size] = max(F[size], abs(F[I[m.V] + i]))
    if S[m.LEVEL] == m.POSITION:
        F[m.ROUND] = 1.0
        return
    moved = 0.0  # in a step, relative to the extent of the model
    for k in range(m.FORCE):
        moved = max(moved, F[m.H] * (F[m.SIZE + k] + F[m.H] * F[m.SCALE + k]) / F[m.UNIT + k])
    F[m.ROUND] = min(1.0, 4.0 * moved + 1e-4)


@by_sides(m.EXTENT_TASK, largest=1)
def _extent(I: Any, F: Any, side: int) -> float:
    """Return the largest coordinate of all faces but that of ground."""
    first, last = faces_of(I, side)
    far = 0.0
    for y in range(I[m.Y] + 12 * first, I[m.Y] + 12 * last, 12):
        far = max(far, abs(F[y]), abs(F[y + 1]), abs(F[y + 2]))
    return far


@jit
def measure_place(I: Any, F: Any) -> None:
    """Let floors follow where bodies are, by a power of two: exactly there and back."""
    scale, length = F[m.FAR], F[m.LENGTH]
    far = _extent(I, F)
    if not far < 1e300:
        return
    while far >= 2 * scale * length:
        scale *= 2
    while scale > 1.0 and far < scale * length:
        scale *= 0.5
    if scale != F[m.FAR]:
        for k in range(m.N_UNKNOWN_KINDS):
            F[m.FLOOR + k] *= scale / F[m.FAR]
        F[m.FAR] = scale


@jit
def set_least(I: Any, F: Any) -> None:
    """Set the smallest increments that count: those of the tolerance, or round-off."""
    measure_place(I, F)
    for k in range(m.N_UNKNOWN_KINDS):
        least = F[m.TOL] * F[m.SCALE + k] / F[m.RATE + k] + F[m.ROUND] * F[m.FLOOR + k]
        F[m.PER_LEAST + k] = 1.0 / least if least > 0.0 else math.inf


@by_sides(m.CORRECT_TASK, largest=1)
def correct(I: Any, F: Any, side: int) -> float:
    """Subtract the solution in X from the iterate; return its size in units of the tolerance."""
    u0, u1 = unknowns_of(I, side)
    g = F[m.W_G] / F[m.W_K]
    a, d, v, x, unknown_kind = I[m.A], I[m.D], I[m.V], I[m.X], I[m.UNKNOWN_KIND]
    size = 0.0
    for i in range(u0, u1):
        y, k = F[x + i], I[unknown_kind + i]
        if is_velocity(I, i):
            F[d + i] -= y
            F[v + i] -= g * y
        F[a + i] -= F[m.RATE + k] * y
        size = max(size, abs(y) * F[m.PER_LEAST + k])
        if y != y:
            size = math.inf
    return size


@jit
def correct_positions(I: Any, F: Any) -> float:
    """Move positions alone, by the solution in X; return its size in units of the tolerance."""
    b = F[m.RATE]
    d, x = I[m.D], I[m.X]
    size = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            y = F[x + i]
            F[d + i] -= y
            k = I[I[m.UNKNOWN_KIND] + i]
            size = max(size, abs(y) / (F[m.TOL] * F[m.SCALE + k] / b + F[m.FLOOR + k]))
            if y != y:
                size = math.inf
    return size


@jit
def ask_positions(I: Any, F: Any) -> None:
    """Put to X what positions lack of their rows: the right-hand side of their correction."""
    x, gap = I[m.X], I[m.GAP]
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[x + i] = 0.0
        else:
            F[x + i] = F[gap + i]


@jit
def _residual(I: Any, F: Any, k: int) -> None:
    """Evaluate the iterate at its level."""
    evaluation.evaluate_level(I, F)
    if k == 0:
        set_least(I, F)
    if I[m.LOOPS]:
        F[m.OPEN] = measure_rows(I, F, I[m.X])


@jit
def _correct(I: Any, F: Any) -> float:
    """Correct the iterate, in the stabilised form positions alone too, by the same factor."""
    size = correct(I, F)
    if ints(F)[m.LEVEL] == m.STABILIZED:
        ask_positions(I, F)
        by_fronts(I, F, False)
        size = max(size, correct_positions(I, F))
    return size


newton = chord(Equations(_residual, settled, by_fronts, _correct))


@jit
def iterate(I: Any, F: Any) -> int:
    """Run Newton's iteration, accept its angles; return the status.

    Where rows stay open, F[OPEN] is infinite.
    """
    S = ints(F)
    F[m.T_STEP], F[m.OPEN] = F[m.T_LAST], 0.0
    if S[m.LEVEL] == m.STABILIZED:
        S[m.HAVE_FACTOR] = 0  # the matrix is in the equations of this level: no older step's
    status = newton(I, F)
    if status == CONVERGED and (still_open(I, F, F[m.OPEN]) or velocity_rows_open(I, F)):
        F[m.OPEN] = math.inf
        return FAILED
    if status == CONVERGED and (off_the_rows(I, F) or not evaluation.accept(I, F)):
        return FAILED
    return status


@jit
def finish(I: Any, F: Any) -> None:
    """Accept the step."""
    S = ints(F)
    if F[m.NORM] > 1.0:  # the last correction counts: positions take it too
        evaluation.stage(I, F, m.POSE)
    finish_vectors(I, F)
    F[m.H_LAST], F[m.T_LAST] = F[m.H], F[m.T]
    if S[m.HISTORY] == 0:
        S[m.HISTORY] = 1
    else:
        S[m.HISTORY] = 2 if F[m.MISS] * F[m.TOL] < PARABOLA_MISS else 3


@jit
def next_time(I: Any, F: Any) -> float:
    """Return the time at the end of the step: that of its number, no sum of steps."""
    S = ints(F)
    return F[m.T_BASE] + (S[m.N_PREDICTED] + 1 - S[m.BASE]) * F[m.H]


def grid_from_here(I: Any, F: Any) -> None:
    """Let the times of steps be counted from the present one."""
    S = m.integers(F)
    F[m.T_BASE], S[m.BASE] = F[m.T], S[m.N_PREDICTED]


@jit
def keep_record(I: Any, F: Any) -> None:
    """Count the step; record it if it is its turn. What was no number on the way is forgotten."""
    S = ints(F)
    S[m.N_PREDICTED] += 1
    if S[m.BAD_HOW] == m.NOT_FINITE:
        S[m.BAD_HOW] = 0
    if S[m.RECORD_EVERY] and S[m.N_PREDICTED] % S[m.RECORD_EVERY] == 0:
        record(I, F)


@jit
def set_weights(I: Any, F: Any) -> None:
    """Set the weights of the iteration matrix from step size and method."""
    w_m, w_g, w_k, _ = scaled_rates(F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA], F[m.H])
    scale_matrix(F, w_m, w_g, w_k)


@jit
def scale_matrix(F: Any, w_m: float, w_g: float, w_k: float) -> None:
    r"""Set the weights of the iteration matrix.

    An increment x of positions is one of :math:`w_G/w_K\,x` of velocities and of
    :math:`w_M/w_K\,x` of accelerations. Equations of motion are multiplied by :math:`w_K`, with
    them multipliers; rows on velocities by :math:`w_K/w_G`.
    """
    S, turn = ints(F), w_k / w_g
    F[m.W_M], F[m.W_G], F[m.W_K], F[m.SCALE_R] = w_m, w_g, w_k, w_k
    for k in range(m.N_UNKNOWN_KINDS):
        F[m.PER_UNIT + k] = 1.0 / F[m.UNIT + k]
        F[m.RATE + k] = (w_m if k < m.FORCE else 1.0) / w_k
    F[m.ROW_RATE] = F[m.ROW_TURN] = turn
    F[m.POSITION_TURN] = 0.0 if S[m.LEVEL] == m.POSITION else turn
    F[m.ROUND] = 1.0


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step for inspection."""
    S = ints(F)
    set_weights(I, F)
    evaluation.note_rates(I, F)
    evaluation.forget_velocities(I, F)
    S[m.STATUS] = CONVERGED
    S[m.STEPS_DONE] = 0
    full, most = S[m.FULL_NEWTON], S[m.MAX_ITER]
    for step in range(S[m.N_STEPS]):
        start = F[m.T]
        predict(I, F)
        F[m.T] = next_time(I, F)
        status = iterate(I, F)
        if status == FAILED:  # once more, carefully: no extrapolation, a new matrix each time
            S[m.N_REJECT] += 1
            restore(I, F)
            S[m.HISTORY] = 0
            predict(I, F)
            S[m.FULL_NEWTON], S[m.MAX_ITER] = 1, NEWTON_PATIENCE * most
            F[m.THETA] = 0.5
            status = iterate(I, F)
            S[m.FULL_NEWTON], S[m.MAX_ITER] = full, most
            S[m.HAVE_FACTOR] = 0
        if status != CONVERGED:
            if k == 0:
                restore(I, F)
            S[m.HISTORY] = 0
            F[m.T] = start
            S[m.STATUS] = status
            return
        finish(I, F)
        S[m.STEPS_DONE] = step + 1
        keep_record(I, F)
