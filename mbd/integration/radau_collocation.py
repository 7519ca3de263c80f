r"""Collocation at the points of Radau, of order 5 and 9 in positions, velocities and multipliers.

Unknown are :math:`\dot v_i, \lambda_i` at the stages :math:`t_n + c_i h` of a step,

.. math::
   v_i &= v_n + h\sum_j a_{ij}\dot v_j, \qquad
   \Delta_i = h\sum_j a_{ij}\, T^{-1}(\Delta_j)\, v_j, \qquad q_i = q_n \boxplus \Delta_i, \\
   r(q_i, v_i, \dot v_i, \lambda_i, t_i) &= 0, \qquad
   \ddot\Phi(q_i, v_i, \dot v_i, t_i) = 0 .

The last stage is the end of the step, :math:`c_s = 1`; there :math:`\Phi` and :math:`\dot\Phi` are
met by a correction of positions and one of velocities, :math:`S(\delta; \eta) = -(0; \Phi)`. One
real factor serves all stages: with :math:`\delta v_i^0 = h\sum_{j<i} W_{ij}\,\delta\dot v_j` and
:math:`\delta\Delta_i^0 = h\sum_{j<i} W_{ij}\,\delta v_j + h\gamma\,\delta v_i^0` a sweep evaluates
each stage at :math:`v_i + \delta v_i^0,\ \Delta_i + \delta\Delta_i^0` and solves

.. math::
   S\,(\delta\dot v_i; \delta\lambda_i) = -(r; \ddot\Phi), \qquad
   S = \begin{bmatrix} M + h\gamma G + h^2\gamma^2 K & B^T \\ B & 0 \end{bmatrix}, \qquad
   \delta v_i = \delta v_i^0 + h\gamma\,\delta\dot v_i ,

S that of :math:`t_n`; a step that fails takes one of each stage instead, then smaller steps.

The error of a step that is chosen is that of order s,
:math:`h\gamma\, S^{-1}(r(q_n, v_n, \dot v^*, \lambda^*); 0)` with the stages extrapolated back to
:math:`t_n`; its power 2s/(s + 1) is held to the share of the step in the tolerance, where forces
are not smooth the error itself. States within a step are those of the polynomial of
:math:`\dot v, \lambda` through :math:`t_n` and the stages and of its integrals, moved onto the
rows.

References
----------
.. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.8, VII.4, VII.5.
   Van der Houwen and de Swart, SIAM J. Sci. Comput. 18 (1997): triangular sweeps.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from mbd.algebra.radau_points import STAGES, cardinal, integral, radau
from mbd.algebra.vec import add, clear, copy, larger
from mbd.base import tolerances
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.integration import newton_loop, one_step
from mbd.integration.adaptive import GROWS, SAFE, share_of_step
from mbd.integration.method import Facts, FreeSteps, once, says
from mbd.integration.updates import record
from mbd.linear.onto_rows import onto_rows
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation
from mbd.model.frozen import FrozenModel

# what the method keeps: numbers of it and of the last step, then vectors over the unknowns (at the
# places of multipliers those of velocities and increments mean nothing)
ORDER, GAMMA, H_OLD, SWEEPS, PASSES, SIZES = 0, 1, 2, 3, 4, 5  # ORDER: stages; SIZES by kind
# NOISE: negative if not known; EACH: the step up to which each stage has a matrix of its own;
# ROUGH: the time up to which forces are not smooth; LAST: the attempt before, its estimate
C, WEIGHTS, SWEEP, BACK, NOISE, EACH, ROUGH, LAST_ERROR, LAST_H, LAST_T, VECTORS = (
    13, 18, 43, 68, 73, 74, 75, 76, 77, 78, 79,
)  # fmt: skip
# of each stage: v' and lam, v, increment, its rate; corrections of the first two
ACC, VEL, INC, RATE, DACC, DVEL = 0, 1, 2, 3, 4, 5
SPARE, BEGIN_V, BEGIN_A, START_Q = 0, 2, 3, 4  # after them: room for two; starts of steps
base, own, other = one_step.kept_vectors(ORDER, VECTORS, DVEL + 1)


# --- stages ---------------------------------------------------------------------------------------
@jit
def guess(I: Any, F: Any, h: float) -> None:
    """Start a step: v' and lam of the stages from the polynomial of the last one, or constants."""
    S, b, n = ints(F), base(I), I[m.N_U]
    s, ratio = int(F[b + ORDER]), h / F[b + H_OLD] if F[b + H_OLD] > 0.0 else 0.0
    if S[m.HISTORY] and 0.0 < ratio <= 2.0:
        for i in range(s):
            to, x = own(I, F, DACC, i), 1.0 + F[b + C + i] * ratio
            clear(F, to, n)
            for j in range(s + 1):
                source = own(I, F, ACC, j - 1) if j > 0 else I[m.AN]
                add(F, to, cardinal(F, b + C, s, j, x), source, n)
        copy(F, own(I, F, ACC, 0), own(I, F, DACC, 0), n * s)
    else:
        for i in range(s):
            copy(F, own(I, F, ACC, i), I[m.A], n)
    one_step.begin_step(I, F)


@jit
def measure(I: Any, F: Any) -> None:
    """Note by kind what changes of velocities, and of h lam, are compared with.

    Multipliers of different kinds, and inertia, by the work [J] that they do along
    the units.
    """
    b = base(I)
    for k in range(m.N_UNKNOWN_KINDS):
        F[m.SCALE + k] = 0.0
    one_step.note_accelerations(I, F, I[m.AN])
    for i in range(int(F[b + ORDER])):
        one_step.note_accelerations(I, F, own(I, F, ACC, i))
    sizes, rate, work = b + SIZES, 1e-300, 0.0
    one_step.measure_speeds(F, sizes)
    for k in range(m.FORCE):
        rate = max(rate, F[m.SCALE + k] / F[sizes + k])
    for u in range(I[m.N_U]):  # of inertia: multipliers that carry nothing are round-off of it
        if is_velocity(I, u):
            unit = F[m.UNIT + I[I[m.UNKNOWN_KIND] + u]]
            work = max(work, unit * F[I[m.DIAG] + u] * abs(F[I[m.AN] + u]))
    for k in range(m.FORCE, m.N_UNKNOWN_KINDS):
        work = max(work, F[m.UNIT + k] * F[m.SCALE + k])
    for k in range(m.FORCE, m.N_UNKNOWN_KINDS):
        F[sizes + k] = max(F[m.SCALE + k], tolerances.ERROR_SLOW * work / F[m.UNIT + k]) / rate


@jit
def size_of(I: Any, F: Any, x: int) -> float:
    """Return the largest entry of the vector at F[x], relative to the size of its kind.

    That of velocities is their speed; multipliers, relative to themselves, count as accelerations.
    """
    largest = 0.0
    for u in range(I[m.N_U]):
        size = F[base(I) + SIZES + I[I[m.UNKNOWN_KIND] + u]]
        if size > 0.0:
            largest = larger(largest, abs(F[x + u]) / size)
    return largest


@jit
def move(I: Any, F: Any, h: float, passes: int) -> None:
    """Write velocities and increments of the stages from their accelerations."""
    b, n = base(I), I[m.N_U]
    s = int(F[b + ORDER])
    for i in range(s):
        copy(F, own(I, F, VEL, i), I[m.VN], n)
        for j in range(s):
            add(F, own(I, F, VEL, i), h * F[b + WEIGHTS + s * i + j], own(I, F, ACC, j), n)
    for _ in range(passes):
        for j in range(s):
            copy(F, I[m.D], own(I, F, INC, j), n)
            copy(F, I[m.V], own(I, F, VEL, j), n)
            evaluation.stage(I, F, m.FLOW)
            copy(F, own(I, F, RATE, j), own_vector(I, 0), n)
        for i in range(s):
            clear(F, own(I, F, INC, i), n)
            for j in range(s):
                add(F, own(I, F, INC, i), h * F[b + WEIGHTS + s * i + j], own(I, F, RATE, j), n)


@jit
def sweep(I: Any, F: Any, t: float, h: float, each: bool) -> float:
    """Correct the accelerations of all stages; return the largest change of a velocity by it."""
    S, b, n, increment = ints(F), base(I), I[m.N_U], I[m.D]
    s, diagonal, remembers = int(F[b + ORDER]), h * F[b + GAMMA], S[m.ACCEPT + 1] > 0
    evaluation.copy_remembered(I, F, one_step.AT_START, 0)
    F[m.T_LAST], F[m.UNSURE] = t, 0.0
    for i in range(s):
        step, to = own(I, F, DVEL, i), own(I, F, DACC, i)
        clear(F, step, n)
        copy(F, increment, own(I, F, INC, i), n)
        for j in range(i):
            add(F, step, h * F[b + SWEEP + s * i + j], own(I, F, DACC, j), n)
            add(F, increment, h * F[b + SWEEP + s * i + j], own(I, F, DVEL, j), n)
        add(F, increment, diagonal, step, n)
        copy(F, I[m.V], own(I, F, VEL, i), n)
        add(F, I[m.V], 1.0, step, n)
        copy(F, I[m.A], own(I, F, ACC, i), n)
        F[m.T] = t + F[b + C + i] * h
        evaluation.evaluate_second_rates(I, F)
        if remembers:  # angles go from stage to stage
            evaluation.accept_stage(I, F)
        if each:
            if not one_step.factor_here(I, F, other(I, F, SPARE)):
                return math.inf
        else:
            call(S[m.LINEAR], I, F, 0)
        clear(F, to, n)
        add(F, to, -1.0, I[m.X], n)
        add(F, step, diagonal, to, n)
    add(F, own(I, F, ACC, 0), 1.0, own(I, F, DACC, 0), s * n)
    measure(I, F)
    largest = 0.0
    for i in range(s):
        largest = larger(largest, h * size_of(I, F, own(I, F, DACC, i)))
    return largest


@jit
def noise(I: Any, F: Any, t: float, h: float) -> float:
    """Return what the round-off of its terms makes of a sweep; what it leaves is no change."""
    b, n = base(I), I[m.N_U]
    if F[b + NOISE] >= 0.0:
        return F[b + NOISE]  # type: ignore[no-any-return]
    last = int(F[b + ORDER]) - 1
    F[m.T] = t + h
    copy(F, I[m.D], own(I, F, INC, last), n)
    copy(F, I[m.V], own(I, F, VEL, last), n)
    copy(F, I[m.A], own(I, F, ACC, last), n)
    one_step.shake(I, F, other(I, F, SPARE))
    size = h * size_of(I, F, I[m.X])
    F[b + NOISE] = size if size < 1e300 else 0.0
    return F[b + NOISE]  # type: ignore[no-any-return]


@jit
def iterate(I: Any, F: Any, h: float, tol: float, each: bool) -> int:
    """Find the stages of a step of size h from the present state; return a status.

    ``tol``: what velocities may still change, relative to their speed; ``each``: each stage has a
    matrix of its own. What is remembered is that of the start, that of the end is put aside.
    """
    t = F[m.T_STEP] = F[m.T]
    evaluation.copy_remembered(I, F, 0, one_step.AT_START)
    status = _sweeps(I, F, h, tol, each)
    if status != newton_loop.CONVERGED:
        F[m.UNSURE] = 0.0
    elif F[m.UNSURE] > tolerances.TURN_UNSURE:
        status = newton_loop.FAILED
    evaluation.copy_remembered(I, F, 0, one_step.AT_END)
    evaluation.copy_remembered(I, F, one_step.AT_START, 0)
    F[m.T_LAST] = t
    return status


@jit
def _sweeps(I: Any, F: Any, h: float, tol: float, each: bool) -> int:
    """Iterate with what is remembered as the last sweep leaves it."""
    S, b, t = ints(F), base(I), F[m.T]
    s, diagonal, passes = int(F[b + ORDER]), h * F[b + GAMMA], int(F[b + PASSES])
    guess(I, F, h)
    newton_loop.measure_speed(I, F)
    F[b + NOISE] = -1.0
    F[m.W_M], F[m.W_G], F[m.W_K], F[m.SCALE_R] = 1.0, diagonal, diagonal * diagonal, 1.0
    F[m.ROW_TURN], F[m.POSITION_TURN], F[m.ROW_RATE] = 0.0, 0.0, 1.0
    evaluation.evaluate(I, F)
    newton_loop.measure_place(I, F)
    if not one_step.factor_here(I, F, other(I, F, SPARE)):
        return newton_loop.PIVOTS
    for i in range(s):  # along the velocities at the start
        clear(F, own(I, F, INC, i), I[m.N_U])
        add(F, own(I, F, INC, i), h * F[b + C + i], I[m.VN], I[m.N_U])
    move(I, F, h, 2 * passes)
    last, theta = 0.0, 1.0
    for k in range(S[m.MAX_ITER]):
        size = sweep(I, F, t, h, each)
        S[m.N_ITER] += 1
        F[b + SWEEPS] = k + 1.0
        if not size < 1e300:
            return newton_loop.FAILED
        move(I, F, h, passes)
        if k > 0:
            theta = (
                max(size / last, tolerances.NEWTON_CONTRACTION)
                if last > 0.0
                else tolerances.NEWTON_CONTRACTION
            )
            if theta > 0.5 and size <= noise(I, F, t, h):
                return newton_loop.CONVERGED
        if theta < 1.0 and size * theta / (1.0 - theta) <= tol:
            return newton_loop.CONVERGED
        last = size
    return newton_loop.FAILED


@jit
def local_error(I: Any, F: Any, t: float, h: float, bound: float) -> float:
    """Return the error of order s of velocities, relative to their speed, and of increments.

    That of velocities is none where round-off of their accelerations is as large.
    """
    S, b, n, far = ints(F), base(I), I[m.N_U], 0.0
    clear(F, I[m.A], n)
    copy(F, I[m.D], I[m.VN], n)
    for i in range(int(F[b + ORDER])):
        add(F, I[m.A], F[b + BACK + i], own(I, F, ACC, i), n)
        add(F, I[m.D], -F[b + BACK + i], own(I, F, RATE, i), n)
    for u in range(n):
        k = I[I[m.UNKNOWN_KIND] + u]
        if k < m.FORCE:
            far = larger(far, abs(F[I[m.D] + u]) / (F[m.UNIT + k] + F[m.ATOL + k] / F[m.RTOL]))
    copy(F, I[m.V], I[m.VN], n)
    clear(F, I[m.D], n)
    F[m.T] = t
    evaluation.evaluate(I, F)
    for u in range(n):
        if I[I[m.UNKNOWN_KIND] + u] >= m.FORCE:
            F[I[m.X] + u] = 0.0
    call(S[m.LINEAR], I, F, 0)
    part, error, parts = h * F[b + GAMMA], size_of(I, F, I[m.X]), 1.0
    for i in range(int(F[b + ORDER])):
        parts += abs(F[b + BACK + i])
    matters = F[b + NOISE] >= 0.0 or part * max(far, error) > bound  # or sweeps ended in it
    if matters and h * error <= parts * noise(I, F, t, h):
        error = 0.0
    return part * larger(far, error)  # type: ignore[no-any-return]


@jit
def is_rough(I: Any, F: Any, t: float, h: float, error: float, allowed: float) -> bool:
    """Tell whether forces are not smooth in the step from t, by its estimate and that before.

    Of a smooth motion estimates go with h^(s + 1), and no step brings a multiple of the one before,
    or of what is allowed. Where they do not, none has the power of another: the error is as large.
    """
    b = base(I)
    last, size, again = F[b + LAST_ERROR], F[b + LAST_H], t == F[b + LAST_T]
    F[b + LAST_ERROR], F[b + LAST_H], F[b + LAST_T] = error, h, t
    if size > 0.0:
        expected = max(last, allowed) * (h / size) ** (F[b + ORDER] + 1.0)
        if error > tolerances.ERROR_ROUGH * expected or (
            again and tolerances.ERROR_ROUGH * error < expected
        ):
            F[b + ROUGH] = max(F[b + ROUGH], t + max(h, size) if again else t + h)
    return t < F[b + ROUGH]  # type: ignore[no-any-return]


@jit
def finish(I: Any, F: Any, t: float, h: float) -> bool:
    """End the step at the last stage, on the rows; return whether it meets them."""
    evaluation.copy_remembered(I, F, one_step.AT_END, 0)
    F[m.T_LAST] = t
    b, n = base(I), I[m.N_U]
    s = int(F[b + ORDER]) - 1
    copy(F, I[m.V], own(I, F, VEL, s), n)
    copy(F, I[m.D], own(I, F, INC, s), n)
    copy(F, I[m.A], own(I, F, ACC, s), n)
    if not one_step.end_on_rows(
        I, F, t, other(I, F, START_Q), other(I, F, SPARE), one_step.CORRECTIONS, False
    ):
        return False
    F[b + H_OLD] = h
    return True


# --- steps of one size ----------------------------------------------------------------------------
@jit
def undivided_step(I: Any, F: Any, end: float, h: float, leave: bool) -> int:
    """Take one step, with matrices of each stage if it must be; one that fails is undone."""
    t = F[m.T]
    for each in range(2):
        status = iterate(I, F, h, F[m.TOL], each == 1)
        if status == newton_loop.CONVERGED and finish(I, F, end, h):
            return newton_loop.CONVERGED
        ints(F)[m.N_REJECT] += 1
        if leave:
            break
        one_step.undo_step(I, F, t)
    return newton_loop.FAILED


@jit
def whole_step(I: Any, F: Any, end: float, leave: bool) -> int:
    """Take one step of F[H], in 2, 4, ... smaller ones if it fails."""
    S, n, begin_q, t = ints(F), I[m.N_U], other(I, F, START_Q) + I[m.N_Q], F[m.T]
    copy(F, other(I, F, BEGIN_V), I[m.V], n)
    copy(F, other(I, F, BEGIN_A), I[m.A], n)
    copy(F, begin_q, I[m.Q], I[m.N_Q])
    evaluation.copy_remembered(I, F, 0, one_step.AT_BEGIN)
    status, parts = newton_loop.CONVERGED, 1
    for _ in range(1 if leave else 1 + tolerances.HALVED):
        for i in range(parts):
            until = end if i + 1 == parts else t + (end - t) * (i + 1) / parts
            status = undivided_step(I, F, until, F[m.H] / parts, leave)
            if status != newton_loop.CONVERGED:
                break
        if status == newton_loop.CONVERGED or leave:
            break
        copy(F, I[m.V], other(I, F, BEGIN_V), n)
        copy(F, I[m.A], other(I, F, BEGIN_A), n)
        copy(F, I[m.Q], begin_q, I[m.N_Q])
        evaluation.copy_remembered(I, F, one_step.AT_BEGIN, 0)
        F[m.T_LAST] = t
        S[m.HISTORY], F[m.T] = 0, t
        parts *= 2
    return status  # type: ignore[no-any-return]


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a step that failed as it is."""
    S = ints(F)
    S[m.STATUS], S[m.STEPS_DONE] = newton_loop.CONVERGED, 0
    evaluation.note_rates(I, F)
    for step in range(S[m.N_STEPS]):
        t = F[m.T]
        if whole_step(I, F, newton_loop.next_time(I, F), k == 1) != newton_loop.CONVERGED:
            S[m.STATUS], S[m.HISTORY], F[m.T] = newton_loop.FAILED, 0, t
            return
        S[m.STEPS_DONE] = step + 1
        newton_loop.keep_record(I, F)


# --- free steps -----------------------------------------------------------------------------------
@jit
def give(I: Any, F: Any, t: float, h: float) -> None:
    """Record the states at requested times before the end of the step."""
    S, b, n = ints(F), base(I), I[m.N_U]
    s = int(F[b + ORDER])
    while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] < t + h:
        F[m.T] = F[S[m.OUTPUT] + S[m.N_REACHED]]
        x = (F[m.T] - t) / h
        clear(F, I[m.A], n)
        clear(F, I[m.D], n)
        copy(F, I[m.V], I[m.VN], n)
        for j in range(s + 1):
            weight = h * integral(F, b + C, s, j, x)
            a = own(I, F, ACC, j - 1) if j > 0 else I[m.AN]
            add(F, I[m.A], cardinal(F, b + C, s, j, x), a, n)
            add(F, I[m.V], weight, a, n)
            add(F, I[m.D], weight, own(I, F, RATE, j - 1) if j > 0 else I[m.VN], n)
        onto_rows(I, F, other(I, F, SPARE), 4, False)
        record(I, F)
        S[m.N_REACHED] += 1


@jit
def attempt(I: Any, F: Any, t: float, h: float) -> float:
    """Find the stages of a step; return its error, in units of what is allowed, or infinity."""
    S, b = ints(F), base(I)
    tol, allowed, bound = F[m.TOL], math.inf, math.inf
    if F[m.RTOL] < 1e300:
        allowed = F[m.RTOL] * share_of_step(F, h, t)
        tol = tolerances.SWEEP_SHARE * allowed
        bound = tolerances.COLLOCATION_STRICT * allowed ** (0.5 * order(I, F) / F[b + ORDER])
        if t < F[b + ROUGH]:
            bound = min(bound, allowed)
    each = S[m.N_TAKEN] < F[b + EACH]
    status = iterate(I, F, h, tol, each)
    if status == newton_loop.FAILED and not each:
        one_step.undo_step(I, F, t)
        status = iterate(I, F, h, tol, True)
        F[b + EACH] = S[m.N_TAKEN] + 20.0 if status == newton_loop.CONVERGED else 0.0
    if status != newton_loop.CONVERGED:
        return math.inf
    if bound == math.inf:
        return 0.0
    error = local_error(I, F, t, h, bound)
    return error / min(bound, allowed if is_rough(I, F, t, h, error, allowed) else bound)


@jit
def order(I: Any, F: Any) -> float:
    """Return the order of the estimate."""
    return F[base(I) + ORDER] + 1.0  # type: ignore[no-any-return]


@jit
def most(I: Any, F: Any) -> float:
    """Return how much larger the next step may be: no larger where sweeps are slow."""
    return SAFE if F[base(I) + SWEEPS] > 0.75 * ints(F)[m.MAX_ITER] else GROWS


choose = one_step.choosing(attempt, give, finish, order, most, one_step.go_on)


# --- the method -----------------------------------------------------------------------------------
_failed = says(
    "the sweeps over the stages did not converge {where}, stages=3, or let steps be chosen "
    "(rtol=1e-6); look at model.report(state) for a singular pose, which rows at the level of "
    "accelerations do not pass: GeneralizedAlpha does"
)


@dataclass(frozen=True)
class RadauCollocation:
    r"""Collocation at the points of Radau: order 9 or 5 in positions, velocities and multipliers.

    For smooth motions to many digits: below an error of about 1e-5 it takes a fraction of the work
    of :class:`mbd.GeneralizedAlpha`. Rows are met by their second derivatives at the stages, by
    positions and velocities at the end of a step. Where forces jump within a step, where stops are
    hit or laws of drives jump, no method is of high order; the steps should end there (events).
    Poses in which rows lose rank, as a flat four-bar, are not passed by steps of one size: a run
    stops there. Where steps are chosen, one explicit step passes them.

    Equations :eq:`collocation` and :eq:`sweep` of the theory page.

    Parameters
    ----------
    stages : {5, 3}
        Stages of a step, of order 9 and 5. Three are cheaper above an error of about 1e-6, and
        where springs are so stiff that the step does not resolve them.
    tol : float [-]
        Steps of one size: what the iteration may leave of velocities, relative to the largest of
        their kind. With ``rtol`` it follows from that.
    max_iterations : int
        Sweeps over the stages of one step.
    fewest : int
        With ``rtol``: as many steps at least, if ``max_step`` is not given.

    References
    ----------
    .. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.8 and VII.4.
       Van der Houwen and de Swart, SIAM J. Sci. Comput. 18 (1997).

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> bob = system.add(mbd.PointMass("bob", mass=1.0, position=(1, 0, 0)))
    >>> rod = system.add(mbd.Distance("rod", system.ground, bob))
    >>> solution = mbd.simulate(system, 1.0, rtol=1e-9, method=mbd.RadauCollocation())
    """

    stages: Literal[3, 5] = 5
    tol: float = 1e-12
    max_iterations: int = 15
    fewest: int = 10

    kernel: ClassVar[Any] = advance  #: the compiled loop over steps

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "RadauCollocation"
        whole(who, "stages", self.stages, 1)
        if self.stages not in STAGES:
            raise ValueError(f"{who}: stages must be 5 or 3, got {self.stages}")
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        whole(who, "max_iterations", self.max_iterations, 2)
        whole(who, "fewest", self.fewest, 1)

    @property
    @once
    def facts(self) -> Facts:
        """Facts for runs."""
        order = 2 * self.stages - 1
        return Facts(
            title=f"collocation at {self.stages} points of Radau",
            orders=(order, order),
            error=(radau(self.stages).error, order - 1),
            start=one_step.on_rates,
            own_floats=self._own_floats,
            free=FreeSteps(
                kernel=choose,
                first_step=partial(one_step.first_step, order=2 * self.stages),
                fewest=self.fewest,
            ),
            failure=_failed,
            sharp={"tol": 1e-14},
        )

    def _own_floats(self, model: FrozenModel) -> int:
        """Return how many numbers the method keeps."""
        return VECTORS + (6 * self.stages + 5) * int(model.I[m.N_U]) + 2 * model.n_q

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        s, numbers = self.stages, radau(self.stages)
        S[m.MAX_ITER] = self.max_iterations
        S[m.LEVEL], S[m.HISTORY] = m.STABILIZED, 0
        F[m.TOL] = self.tol
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = 0.0, 0.0, 1.0, 1.0
        one_step.set_flows("RadauCollocation", model, S)
        b = int(model.I[m.METHOD] + model.I[m.N_U])
        F[b + ORDER], F[b + GAMMA] = s, numbers.W[0, 0]
        F[b + PASSES] = 1 if all(x.formulation.linear for x in model.nodes.values()) else 2
        for where, values in ((C, numbers.c), (BACK, numbers.back)):
            F[b + where : b + where + s] = values
        for where, matrix in ((WEIGHTS, numbers.A), (SWEEP, numbers.W)):
            F[b + where : b + where + s * s] = matrix.ravel()
