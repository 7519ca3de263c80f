r"""Stages of a step of collocation at the points of Radau: triangular sweeps, the end of the step.

Equations and letters are those of `radau_collocation.py`. A method keeps its numbers and vectors
at F[I[METHOD]]; vectors are over all unknowns, and at the places of multipliers those of velocities
and increments mean nothing.
"""

import math
from typing import Any

from mbd.algebra.radau_points import cardinal
from mbd.algebra.vec import add, clear, copy, larger
from mbd.base.tolerances import ERROR_ROUGH, ERROR_SLOW, NEWTON_CONTRACTION, TURN_UNSURE
from mbd.integration import newton_loop, one_step
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation

A, AN, D, FORCE, UNKNOWN_KIND, N_U, Q, QN, T, V, VN, X = (
    m.A, m.AN, m.D, m.FORCE, m.UNKNOWN_KIND, m.N_U, m.Q, m.QN, m.T, m.V, m.VN, m.X,
)  # fmt: skip
# what the method keeps: numbers of it and of the last step, then vectors over the unknowns
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


@jit
def guess(I: Any, F: Any, h: float) -> None:
    """Start a step: v' and lam of the stages from the polynomial of the last one, or constants."""
    S, b, n = ints(F), base(I), I[N_U]
    s, ratio = int(F[b + ORDER]), h / F[b + H_OLD] if F[b + H_OLD] > 0.0 else 0.0
    if S[m.HISTORY] and 0.0 < ratio <= 2.0:
        for i in range(s):
            to, x = own(I, F, DACC, i), 1.0 + F[b + C + i] * ratio
            clear(F, to, n)
            for j in range(s + 1):
                source = own(I, F, ACC, j - 1) if j > 0 else I[AN]
                add(F, to, cardinal(F, b + C, s, j, x), source, n)
        copy(F, own(I, F, ACC, 0), own(I, F, DACC, 0), n * s)
    else:
        for i in range(s):
            copy(F, own(I, F, ACC, i), I[A], n)
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
    one_step.note_accelerations(I, F, I[AN])
    for i in range(int(F[b + ORDER])):
        one_step.note_accelerations(I, F, own(I, F, ACC, i))
    sizes, rate, work = b + SIZES, 1e-300, 0.0
    one_step.measure_speeds(F, sizes)
    for k in range(FORCE):
        rate = max(rate, F[m.SCALE + k] / F[sizes + k])
    for u in range(I[N_U]):  # of inertia: multipliers that carry nothing are round-off of it
        if is_velocity(I, u):
            unit = F[m.UNIT + I[I[UNKNOWN_KIND] + u]]
            work = max(work, unit * F[I[m.DIAG] + u] * abs(F[I[AN] + u]))
    for k in range(FORCE, m.N_UNKNOWN_KINDS):
        work = max(work, F[m.UNIT + k] * F[m.SCALE + k])
    for k in range(FORCE, m.N_UNKNOWN_KINDS):
        F[sizes + k] = max(F[m.SCALE + k], ERROR_SLOW * work / F[m.UNIT + k]) / rate


@jit
def size_of(I: Any, F: Any, x: int) -> float:
    """Return the largest entry of the vector at F[x], relative to the size of its kind.

    That of velocities is their speed; multipliers, relative to themselves, count as accelerations.
    """
    largest = 0.0
    for u in range(I[N_U]):
        size = F[base(I) + SIZES + I[I[UNKNOWN_KIND] + u]]
        if size > 0.0:
            largest = larger(largest, abs(F[x + u]) / size)
    return largest


@jit
def move(I: Any, F: Any, h: float, passes: int) -> None:
    """Write velocities and increments of the stages from their accelerations."""
    b, n = base(I), I[N_U]
    s = int(F[b + ORDER])
    for i in range(s):
        copy(F, own(I, F, VEL, i), I[VN], n)
        for j in range(s):
            add(F, own(I, F, VEL, i), h * F[b + WEIGHTS + s * i + j], own(I, F, ACC, j), n)
    for _ in range(passes):
        for j in range(s):
            copy(F, I[D], own(I, F, INC, j), n)
            copy(F, I[V], own(I, F, VEL, j), n)
            evaluation.stage(I, F, m.FLOW)
            copy(F, own(I, F, RATE, j), own_vector(I, 0), n)
        for i in range(s):
            clear(F, own(I, F, INC, i), n)
            for j in range(s):
                add(F, own(I, F, INC, i), h * F[b + WEIGHTS + s * i + j], own(I, F, RATE, j), n)


@jit
def sweep(I: Any, F: Any, t: float, h: float, each: bool) -> float:
    """Correct the accelerations of all stages; return the largest change of a velocity by it."""
    S, b, n, increment = ints(F), base(I), I[N_U], I[D]
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
        copy(F, I[V], own(I, F, VEL, i), n)
        add(F, I[V], 1.0, step, n)
        copy(F, I[A], own(I, F, ACC, i), n)
        F[T] = t + F[b + C + i] * h
        evaluation.evaluate_second_rates(I, F)
        if remembers:  # angles go from stage to stage
            evaluation.accept_stage(I, F)
        if each:
            if not one_step.factor_here(I, F, other(I, F, SPARE)):
                return math.inf
        else:
            call(S[m.LINEAR], I, F, 0)
        clear(F, to, n)
        add(F, to, -1.0, I[X], n)
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
    b, n = base(I), I[N_U]
    if F[b + NOISE] >= 0.0:
        return F[b + NOISE]  # type: ignore[no-any-return]
    last = int(F[b + ORDER]) - 1
    F[T] = t + h
    copy(F, I[D], own(I, F, INC, last), n)
    copy(F, I[V], own(I, F, VEL, last), n)
    copy(F, I[A], own(I, F, ACC, last), n)
    one_step.shake(I, F, other(I, F, SPARE))
    size = h * size_of(I, F, I[X])
    F[b + NOISE] = size if size < 1e300 else 0.0
    return F[b + NOISE]  # type: ignore[no-any-return]


@jit
def iterate(I: Any, F: Any, h: float, tol: float, each: bool) -> int:
    """Find the stages of a step of size h from the present state; return a status.

    ``tol``: what velocities may still change, relative to their speed; ``each``: each stage has a
    matrix of its own. What is remembered is that of the start, that of the end is put aside.
    """
    t = F[m.T_STEP] = F[T]
    evaluation.copy_remembered(I, F, 0, one_step.AT_START)
    status = _sweeps(I, F, h, tol, each)
    if status != newton_loop.CONVERGED:
        F[m.UNSURE] = 0.0
    elif F[m.UNSURE] > TURN_UNSURE:
        status = newton_loop.FAILED
    evaluation.copy_remembered(I, F, 0, one_step.AT_END)
    evaluation.copy_remembered(I, F, one_step.AT_START, 0)
    F[m.T_LAST] = t
    return status


@jit
def _sweeps(I: Any, F: Any, h: float, tol: float, each: bool) -> int:
    """Iterate with what is remembered as the last sweep leaves it."""
    S, b, t = ints(F), base(I), F[T]
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
        clear(F, own(I, F, INC, i), I[N_U])
        add(F, own(I, F, INC, i), h * F[b + C + i], I[VN], I[N_U])
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
            theta = max(size / last, NEWTON_CONTRACTION) if last > 0.0 else NEWTON_CONTRACTION
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
    S, b, n, far = ints(F), base(I), I[N_U], 0.0
    clear(F, I[A], n)
    copy(F, I[D], I[VN], n)
    for i in range(int(F[b + ORDER])):
        add(F, I[A], F[b + BACK + i], own(I, F, ACC, i), n)
        add(F, I[D], -F[b + BACK + i], own(I, F, RATE, i), n)
    for u in range(n):
        k = I[I[UNKNOWN_KIND] + u]
        if k < FORCE:
            far = larger(far, abs(F[I[D] + u]) / (F[m.UNIT + k] + F[m.ATOL + k] / F[m.RTOL]))
    copy(F, I[V], I[VN], n)
    clear(F, I[D], n)
    F[T] = t
    evaluation.evaluate(I, F)
    for u in range(n):
        if I[I[UNKNOWN_KIND] + u] >= FORCE:
            F[I[X] + u] = 0.0
    call(S[m.LINEAR], I, F, 0)
    part, error, parts = h * F[b + GAMMA], size_of(I, F, I[X]), 1.0
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
        if error > ERROR_ROUGH * expected or (again and ERROR_ROUGH * error < expected):
            F[b + ROUGH] = max(F[b + ROUGH], t + max(h, size) if again else t + h)
    return t < F[b + ROUGH]  # type: ignore[no-any-return]


@jit
def finish(I: Any, F: Any, t: float, h: float) -> bool:
    """End the step at the last stage, on the rows; return whether it meets them."""
    evaluation.copy_remembered(I, F, one_step.AT_END, 0)
    F[m.T_LAST] = t
    b, n = base(I), I[N_U]
    s = int(F[b + ORDER]) - 1
    copy(F, I[V], own(I, F, VEL, s), n)
    copy(F, I[D], own(I, F, INC, s), n)
    copy(F, I[A], own(I, F, ACC, s), n)
    if not one_step.end_on_rows(
        I, F, t, other(I, F, START_Q), other(I, F, SPARE), one_step.CORRECTIONS, False
    ):
        return False
    F[b + H_OLD] = h
    return True
