"""One evaluation of the whole model: faces, forces and rows, pull-back, matrix.

Data flows one way: q, v -> faces -> face forces and rows -> pull-back -> residual in X and, on
request, the blocks of one fixed-pattern matrix, straight into the fronts that will factor it.
"""

import math
from typing import Any

from mbd.base.tolerances import TURN_UNSURE
from mbd.machine import buffer as m
from mbd.machine.front_records import front, group
from mbd.machine.jit import call, ints, jit, kernel
from mbd.machine.two_threads import by_sides
from mbd.machine.unknowns import is_velocity


@jit
def stage(I: Any, F: Any, which: int) -> None:
    """Call all kernels of a stage."""
    S = ints(F)
    first = S[which]
    for s in range(S[which + 1]):
        call(S[first + 2 * s], I, F, S[first + 2 * s + 1])


@jit
def stage_of(I: Any, F: Any, which: int, borders: int, side: int) -> None:
    """Call the kernels of one side, or those between, or all of a stage."""
    if side == m.WHOLE:
        stage(I, F, which)
        return
    S, at = ints(F), I[m.SIDES] + borders
    first, last = 0, I[at]
    if side > 0:
        first, last = last, last + I[at + 1]
    if side > 1:
        first, last = last, S[which + 1]
    at = S[which]
    for s in range(first, last):
        call(S[at + 2 * s], I, F, S[at + 2 * s + 1])


@by_sides(m.PUSH_TASK, between="after")
def _push(I: Any, F: Any, side: int) -> None:
    """Place faces, with the velocities that are declared, and add the forces on them."""
    stage_of(I, F, m.POSE, m.SD_POSE, side)
    stage_of(I, F, m.FORCES, m.SD_FORCES, side)


@by_sides(m.RESIDUAL_TASK, between="after")
def pull_back(I: Any, F: Any, side: int) -> None:
    """Write the residual of the forces that faces have, with the accelerations in A."""
    stage_of(I, F, m.RESIDUAL, m.SD_RESIDUAL, side)


@by_sides(m.TANGENT_TASK, between="after")
def _fill(I: Any, F: Any, side: int) -> None:
    """Fill the matrix."""
    stage_of(I, F, m.TANGENT, m.SD_TANGENT, side)


@jit
def evaluate(I: Any, F: Any) -> None:
    """Write the residual of the present iterate to X."""
    _evaluate(I, F, m.PLACE)


@jit
def _evaluate(I: Any, F: Any, place: int) -> None:
    """`evaluate`, with faces by the stage PLACE or POSE."""
    S = ints(F)
    S[m.N_EVALUATE] += 1
    if place == m.POSE:
        _push(I, F)
    else:
        stage(I, F, place)
        stage(I, F, m.FORCES)
    pull_back(I, F)
    for i in range(I[m.N_U] if S[m.N_OFF] else 0):
        F[I[m.LEFT] + i] = F[I[m.X] + i]
    switch_off(I, F)


@jit
def is_off(I: Any, F: Any, i: int) -> bool:
    """Tell whether unknown i is a row that does not act: released, or dropped."""
    off = F[I[m.OFF] + i]
    return off == m.RELEASED or (off == m.DROPPED and ints(F)[m.ALL_ROWS] == 0)


@jit
def switch_off(I: Any, F: Any) -> None:
    """Put lam = 0 in the place of rows that do not act."""
    if ints(F)[m.N_OFF] == 0:
        return
    for i in range(I[m.N_U]):
        if is_off(I, F, i):
            F[I[m.X] + i] = -F[m.SCALE_R] * F[I[m.A] + i]
            F[I[m.GAP] + i] = 0.0


@jit
def clear_off(I: Any, F: Any, x: int) -> None:
    """Write zero to the rows of a vector that do not act."""
    if ints(F)[m.N_OFF] == 0:
        return
    for i in range(I[m.N_U]):
        if is_off(I, F, i):
            F[x + i] = 0.0


@jit
def switch_off_in_matrix(I: Any, F: Any) -> None:
    """Write lam = 0 to the rows of the matrix that do not act.

    Columns of dropped rows stay: what their multipliers were before, others take over.
    """
    if ints(F)[m.N_OFF] == 0:
        return
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        for r in range(f.n_v, f.n_p):
            if is_off(I, F, f.u + r):
                _clear(F, f.A + r * f.lda, 1, f.n_p)
                _clear(F, f.W + r * f.ldw, 1, f.ldw)
                if F[I[m.OFF] + f.u + r] == m.RELEASED:
                    _clear(F, f.A + r, f.lda, f.n_p)
                F[f.A + r * f.lda + r] = -1.0
        for h in range(f.n_g):
            g = group(I, f, h)
            for r in range(f.n_v, f.n_p):
                if r >= g.k and F[I[m.OFF] + f.u + r] == m.RELEASED:
                    _clear(F, g.L + r - g.k, g.ld, g.n)
            for c in range(g.n):
                if is_off(I, F, g.u + c):
                    _clear(F, g.L + c * g.ld, 1, f.n_p - g.k)
                    if F[I[m.OFF] + g.u + c] == m.RELEASED:
                        _clear(F, f.W + g.column + c, f.ldw, f.n_p)


@jit
def _clear(F: Any, first: int, apart: int, n: int) -> None:
    """Write zero to n numbers that are so far apart."""
    for i in range(n):
        F[first + i * apart] = 0.0


@jit
def evaluate_rates(I: Any, F: Any) -> None:
    r"""`evaluate` with the rates of the rows, scaled by ROW_RATE, in the place of the rows.

    What positions lack beyond that goes to GAP, :math:`\Phi - \dot\Phi/\gamma'`; of a row on
    velocities there is none.
    """
    _evaluate(I, F, m.POSE)
    stage(I, F, m.RATES)
    x, gap, rates = I[m.X], I[m.GAP], I[m.PHID]
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            rate = F[m.ROW_RATE] * F[rates + i]
            F[gap + i] = F[x + i] - rate
            F[x + i] = rate
    switch_off(I, F)


@jit
def evaluate_second_rates(I: Any, F: Any) -> None:
    """`evaluate` with the second rates of the rows in the place of the rows; these go to GAP."""
    _evaluate(I, F, m.POSE)
    stage(I, F, m.RATES)
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[I[m.GAP] + i], F[I[m.X] + i] = F[I[m.X] + i], F[I[m.PHIDD] + i]
    switch_off(I, F)


@jit
def evaluate_level(I: Any, F: Any) -> None:
    """Evaluate the iterate with its rows at the level at which they are met.

    Faces have velocities only where something of the model depends on them.
    """
    S = ints(F)
    if S[m.LEVEL] == m.POSITION:
        _evaluate(I, F, m.POSE)
    else:
        evaluate_rates(I, F)


@jit
def _lacks_velocities(F: Any) -> bool:
    """Tell whether faces have no velocities in a step, since no forces declare to need them."""
    S = ints(F)
    return S[m.POSE + 1] < S[m.PLACE + 1]


@jit
def copy_remembered(I: Any, F: Any, source: int, to: int) -> None:
    """Copy all that is remembered, with rates; 0 is what counts, 1 to 3 what is put aside."""
    n = I[m.N_MEMORY]
    for i in range(n):
        one, two = I[m.KEPT] + 2 * n * (source - 1) + i, I[m.KEPT] + 2 * n * (to - 1) + i
        if source == 0:
            F[two], F[two + n] = F[I[I[m.PLACES_REMEMBERED] + i]], F[I[m.TURN_RATES] + i]
        elif to == 0:
            F[I[I[m.PLACES_REMEMBERED] + i]], F[I[m.TURN_RATES] + i] = F[one], F[one + n]
        else:
            F[two], F[two + n] = F[one], F[one + n]


@jit
def accept_stage(I: Any, F: Any) -> None:
    """Let all that remembers take over the pose at hand, with velocities; note its time."""
    stage(I, F, m.ACCEPT)
    F[m.T_LAST] = F[m.T]


@jit
def accept(I: Any, F: Any) -> bool:
    """Let all that remembers take over the pose of the step; not where turns are not sure."""
    if ints(F)[m.ACCEPT + 1] == 0:
        return True
    if _lacks_velocities(F):
        stage(I, F, m.VELOCITIES)
    copy_remembered(I, F, 0, 1)
    last, F[m.UNSURE] = F[m.T_LAST], 0.0
    accept_stage(I, F)
    if F[m.UNSURE] > TURN_UNSURE:
        copy_remembered(I, F, 1, 0)
        F[m.T_LAST] = last
        return False
    return True


@jit
def note_rates(I: Any, F: Any) -> None:
    """Let all that remembers know the rates of the pose that steps begin with."""
    if ints(F)[m.ACCEPT + 1] == 0 or ints(F)[m.HISTORY]:
        return
    F[m.T_LAST] = F[m.T_STEP] = F[m.T]
    for i in range(I[m.N_Q]):
        F[I[m.QN] + i] = F[I[m.Q] + i]
    for i in range(I[m.N_U]):
        F[I[m.D] + i] = 0.0
    stage(I, F, m.PLACE)
    for i in range(I[m.N_Q]):
        F[I[m.Q] + i] = F[I[m.QN] + i]
    accept_stage(I, F)


@jit
def forget_velocities(I: Any, F: Any) -> None:
    """Let velocities of faces be no numbers where nothing declares to need them."""
    if _lacks_velocities(F):
        for i in range(12, 12 * I[m.N_FACES]):
            F[I[m.YD] + i] = math.nan


@jit
def linearise(I: Any, F: Any) -> None:
    """Fill the matrix at the present iterate (after `evaluate`), stretch by stretch of its fronts.

    Rows that do not act stand in it by lam = 0.
    """
    _fill(I, F)
    switch_off_in_matrix(I, F)


@kernel
def clear_stretch(I: Any, F: Any, k: int) -> None:
    """Write the matrix without any tangent: zeros, and -SOFT DIAG^2 in rows of a stretch of fronts.

    The record at I[k]: first front and number, twice a place in the matrix and floats from there.
    """
    for part in range(k + 2, k + 6, 2):
        _clear(F, I[m.MATRIX] + I[part], 1, I[part + 1])
    for i in range(I[k], I[k] + I[k + 1]):
        f = front(I, i)
        for r in range(f.n_v, f.n_p):
            F[f.A + r * (f.lda + 1)] = -F[m.SOFT] * F[I[m.DIAG] + f.u + r] ** 2


@kernel
def evaluate_kernel(I: Any, F: Any, k: int) -> None:
    """`evaluate`, for use from Python; k = 1: with the velocities that are declared alone."""
    if k == 1:
        forget_velocities(I, F)
        _evaluate(I, F, m.POSE)
    else:
        evaluate(I, F)


@kernel
def linearise_kernel(I: Any, F: Any, k: int) -> None:
    """`linearise`, for use from Python."""
    linearise(I, F)


@kernel
def rates_kernel(I: Any, F: Any, k: int) -> None:
    """Write both time derivatives of all rows, to PHID and PHIDD, for the accelerations in A."""
    stage(I, F, m.RATES)


@kernel
def measure_kernel(I: Any, F: Any, k: int) -> None:
    """From the matrix with weights (1, 0, 0): DIAG = diag M, and sizes of rows.

    That of a row is its largest change where no velocity's increment is above its UNIT.
    Of velocities of one kind the body's largest entry counts for all: no mass along one director
    does not make that row unimportant.
    """
    diag, kind = I[m.DIAG], I[m.UNKNOWN_KIND]
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        for u in range(f.u, f.u + f.n_p):
            F[diag + u] = 0.0
            for c in range(f.n_v):
                if I[kind + u] == I[kind + f.u + c]:
                    F[diag + u] = max(F[diag + u], abs(F[f.A + c * (f.lda + 1)]))
    for i in range(I[m.N_FRONTS]):
        f = front(I, i)
        for r in range(f.n_v, f.n_p):
            for c in range(f.n_v):
                _measure(I, F, f.u + r, f.u + c, F[f.A + r * f.lda + c])
        for h in range(f.n_g):
            g = group(I, f, h)
            for j in range(g.n):
                if I[kind + g.u] < m.FORCE:
                    for r in range(f.n_v, f.n_p):
                        entry = F[f.W + r * f.ldw + g.column + j]
                        _measure(I, F, f.u + r, g.u + j, entry)
                else:
                    for c in range(g.k, f.n_v):
                        _measure(I, F, g.u + j, f.u + c, F[g.L + j * g.ld + c - g.k])


@jit
def _measure(I: Any, F: Any, row: int, velocity: int, entry: float) -> None:
    """Add an entry of B to the size of its row."""
    unit = m.UNIT + I[I[m.UNKNOWN_KIND] + velocity]
    F[I[m.DIAG] + row] += abs(entry) * F[unit]
