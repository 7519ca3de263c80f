r"""The record of a sweep, and a step as it was solved, taken again: its matrices, their solutions.

What interactions without mass add to the matrix of a step without M and to that with it is the
same: it is filled once, put aside, and taken again. Those with mass go with the nodes.
"""

from __future__ import annotations

from typing import Any

from mbd.derivatives.increments import write_maps
from mbd.integration.newton_loop import set_weights
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import clear_off, note_rates, stage, switch_off_in_matrix

# the record of a sweep: steps, where their instants are, size of one; parameters, their programs;
# nodes; kernels of flows, space to invert in; tangents or adjoints; results; work; how far away the
# matrix is put aside, and the part of interactions; right-hand sides; places of what elements
# remember, how much of it is in a step, how much there is; columns, and with those that fill a row;
# how their times and step sizes move, whether any does, derivatives by time and by size; unknowns
# that are velocities and multipliers; pairs (address, table) of tangents of interactions, of those
# with damping or rows on velocities, of nodes; addresses of kernels that evaluate, factor, solve
# with the transpose; of one that multiplies, after it its tables: of q, of w, of what is solved
# for; of one that solves, after it those of x and of what is left
(
    N_STEPS, STEPS, STEP_SIZE, N_PARAMETERS, PROGRAMS, N_NODES, NODES, N_FLOWS, FLOWS, SCRATCH,
    COLUMNS, OUT, WORK, AWAY, PART_AWAY, RESIDUAL, MEMORY, N_MEMORY, N_REMEMBERED, N_COLUMNS, MANY,
    SHIFTS, TIMED, BY_TIME, BY_SIZE, N_V, V, N_LAM, LAM, N_INTERACTIONS, INTERACTIONS, N_DAMPED,
    DAMPED, N_NODE_TANGENTS, NODE_TANGENTS, SOLVERS,
) = range(36)  # fmt: skip
PRODUCTS, SOLVE, SWEEP_SIZE = SOLVERS + 3, SOLVERS + 7, SOLVERS + 10
# an instant: T, size of the step from it and mu, then q, v, v', lam, a, a with which that step
# begins, and what is remembered
STEP_HEAD = 3
# a column: tangents (adjoints) of q, v, (v', lam), a, and of v' one step before
DQ, DV, DA, DL, DB, COLUMN_SIZE = range(6)
# derivatives by time: the stencil of order eight reaches over half a step to both sides
TIME_POINTS, TIME_REACH = 4, 0.5
RATES_ALONE = 1e-300  # rows by velocities without their derivative by positions


@jit
def load(I: Any, F: Any, k: int, row: int) -> None:
    """Take over the step from an instant, as it was solved, and evaluate it; write the maps."""
    n_q, n_v = I[m.N_Q], I[k + N_V]
    beta, gamma = F[m.BETA], F[m.GAMMA]
    next_row, h = row + I[k + STEP_SIZE], F[row + 1]
    for i in range(n_q):
        F[I[m.QN] + i] = F[row + STEP_HEAD + i]
    v = STEP_HEAD + n_q
    a = v + n_v
    alg = a + n_v + I[k + N_LAM]
    old = alg + n_v
    for i in range(I[k + N_MEMORY]):
        F[I[I[k + MEMORY] + i]] = F[row + old + n_v + i]
    if I[m.N_MEMORY] > 0:
        F[m.T], ints(F)[m.HISTORY] = F[row], 0
        for i in range(n_q):
            F[I[m.Q] + i] = F[row + STEP_HEAD + i]
        for e in range(n_v):
            F[I[m.V] + I[I[k + V] + e]] = F[row + v + e]
        note_rates(I, F)
    F[m.T], F[m.H] = F[next_row], h
    for e in range(n_v):
        i = I[I[k + V] + e]
        bent = (0.5 - beta) * F[row + old + e] + beta * F[next_row + alg + e]
        F[I[m.D] + i] = h * F[row + v + e] + h * h * bent
        F[I[m.V] + i] = F[next_row + v + e]
        F[I[m.A] + i] = F[next_row + a + e]
        F[I[k + BY_SIZE] + i] = F[row + v + e] + 2 * h * bent
        F[I[k + BY_SIZE] + I[m.N_U] + i] = (1 - gamma) * F[row + old + e] + gamma * F[
            next_row + alg + e
        ]
    for e in range(I[k + N_LAM]):
        i = I[I[k + LAM] + e]
        F[I[m.D] + i] = F[I[m.V] + i] = 0.0
        F[I[m.A] + i] = F[next_row + a + n_v + e]
    set_weights(I, F)
    if I[k + TIMED]:
        write_rate(I, F, k)
    call(address_at(I, I[k + SOLVERS]), I, F, 0)
    if I[k + N_FLOWS] > 0:
        write_maps(
            I, F, I[k + NODES], I[k + N_NODES], I[k + FLOWS], I[k + N_FLOWS], I[k + WORK],
            I[k + SCRATCH],
        )  # fmt: skip


@jit
def write_rate(I: Any, F: Any, k: int) -> None:
    """Write the derivative of residual and rows by time alone to BY_TIME."""
    S, n, to, t = ints(F), I[m.N_U], I[k + BY_TIME], F[m.T]
    last = F[m.T_LAST]  # angles stay on their turns
    step = F[m.H] * TIME_REACH / TIME_POINTS
    for i in range(n):
        F[to + i] = 0.0
    weight = 1.0
    for j in range(1, TIME_POINTS + 1):  # 4/5, -1/5, 4/105, -1/280
        weight *= (TIME_POINTS + 1 - j) / (TIME_POINTS + j)
        w = (weight if j % 2 else -weight) / (j * step)
        for side in range(2):
            away = -j * step if side else j * step
            F[m.T], F[m.T_LAST] = t + away, last + away
            call(address_at(I, I[k + SOLVERS]), I, F, 0)
            if S[m.LEVEL] != m.POSITION:
                stage(I, F, m.RATES)
            for i in range(n):
                x = F[I[m.X] + i]
                if S[m.LEVEL] != m.POSITION and not is_velocity(I, i):
                    x = F[m.ROW_RATE] * F[I[m.PHID] + i]
                F[to + i] += -w * x if side else w * x
    F[m.T], F[m.T_LAST] = t, last
    clear_off(I, F, to)


@jit
def met_by_rate(I: Any, F: Any, i: int) -> bool:
    """Tell whether row i is met by its rate, or is one on velocities."""
    return ints(F)[m.LEVEL] != m.POSITION or I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW


@jit
def call_all(I: Any, F: Any, table: int, n: int) -> None:
    """Call kernels of pairs (address, table)."""
    for e in range(n):
        call(address_at(I, I[table + 2 * e]), I, F, I[table + 2 * e + 1])


@jit
def fill_interactions(I: Any, F: Any, k: int) -> None:
    """Fill what interactions add to the matrix, and put it aside."""
    for i in range(I[m.MATRIX_SIZE]):
        F[I[m.MATRIX] + i] = 0.0
    call_all(I, F, I[k + INTERACTIONS], I[k + N_INTERACTIONS])
    copy(F, I[m.MATRIX], I[m.MATRIX_SIZE], I[m.MATRIX] + I[k + PART_AWAY], 1.0)


@jit
def complete(I: Any, F: Any, k: int, mass: bool, again: bool) -> None:
    """Add what nodes add to the part of interactions, with M or without.

    That part is taken `again` where it is no longer in the fronts.
    """
    w_m = F[m.W_M]
    if again:
        copy(F, I[m.MATRIX] + I[k + PART_AWAY], I[m.MATRIX_SIZE], I[m.MATRIX], 1.0)
    if not mass:
        F[m.W_M] = 0.0
    call_all(I, F, I[k + NODE_TANGENTS], I[k + N_NODE_TANGENTS])
    F[m.W_M] = w_m
    switch_off_in_matrix(I, F)


@jit
def fill_damping(I: Any, F: Any, k: int) -> None:
    """Fill damping and rows by velocities alone."""
    w_m, w_k, turn, bend = F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN]
    F[m.W_M] = F[m.W_K] = F[m.ROW_TURN] = 0.0
    F[m.POSITION_TURN] = RATES_ALONE if bend != 0.0 else 0.0
    for i in range(I[m.MATRIX_SIZE]):
        F[I[m.MATRIX] + i] = 0.0
    call_all(I, F, I[k + DAMPED], I[k + N_DAMPED])
    complete(I, F, k, False, False)
    F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN] = w_m, w_k, turn, bend


@jit
def copy(F: Any, x: int, n: int, to: int, sign: float) -> None:
    """Write sign times a vector."""
    for i in range(n):
        F[to + i] = sign * F[x + i]


@jit
def factor(I: Any, F: Any, k: int, again: bool) -> None:
    """Fill and factor the matrix; with all rows, those that are dropped too, it is kept aside."""
    S = ints(F)
    complete(I, F, k, True, again)
    if S[m.ALL_ROWS] and S[m.N_DROPPED]:
        copy(F, I[m.MATRIX], I[m.MATRIX_SIZE], I[m.MATRIX] + I[k + AWAY], 1.0)
        S[m.ALL_ROWS] = 0
        switch_off_in_matrix(I, F)
        S[m.ALL_ROWS] = 1
    call(address_at(I, I[k + SOLVERS + 1]), I, F, 0)


@jit
def solve_transposed(I: Any, F: Any, k: int, b: int, x: int) -> None:
    r"""Write the solution of the transpose for b to x.

    Columns of dropped rows are those of all others, :math:`B_2 x_v - x_2 = b_2`: what is left in
    their place, relative to b, is in OPEN, and zero where b is a combination of what is unique.
    """
    n, r = I[m.N_U], I[m.X]
    copy(F, b, n, r, 1.0)
    call(address_at(I, I[k + SOLVERS + 2]), I, F, 0)
    copy(F, r, n, x, 1.0)
    if ints(F)[m.N_DROPPED] == 0:
        return
    size = open_part = 0.0
    for i in range(n):
        size = max(size, abs(F[b + i]))
        if F[I[m.OFF] + i] == m.DROPPED:
            open_part = max(open_part, abs(F[x + i]))
            F[x + i] = 0.0
    if size > 0.0:
        F[m.OPEN] = max(F[m.OPEN], open_part / size)


@jit
def solve_many(I: Any, F: Any, k: int) -> None:
    """Solve for all right-hand sides; see what dropped rows lack then, relative to what moves.

    Without rows the forces among them would move bodies by their part over the diagonal of M.

    The work has y, what is left and the solution x.
    """
    n, many = I[m.N_U], I[k + MANY]
    b, size = I[k + RESIDUAL], n * many
    r, x = I[k + WORK] + size, I[k + WORK] + 2 * size
    copy(F, b, size, x, 1.0)
    dropped = ints(F)[m.N_DROPPED] > 0
    for i in range(n if dropped else 0):
        if F[I[m.OFF] + i] == m.DROPPED:
            copy(F, x + i * many, many, x + i * many, 0.0)
    call(address_at(I, I[k + SOLVE]), I, F, I[k + SOLVE + 1])
    if not dropped:
        return
    copy(F, b, size, r, 1.0)
    call(address_at(I, I[k + PRODUCTS]), I, F, I[k + PRODUCTS + 3])
    for p in range(I[k + N_COLUMNS]):
        whole = open_part = 0.0
        for i in range(n):
            at = i * many + p
            if is_velocity(I, i):
                mass = F[m.W_M] * F[I[m.DIAG] + i]
                moved = max(abs(F[x + at]), abs(F[b + at]) / mass if mass > 0.0 else 0.0)
                whole = max(whole, moved * F[m.PER_UNIT + I[I[m.UNKNOWN_KIND] + i]])
            else:
                whole = max(whole, abs(F[b + at]) / F[I[m.DIAG] + i])
                if F[I[m.OFF] + i] == m.DROPPED:
                    open_part = max(open_part, abs(F[r + at]) / F[I[m.DIAG] + i])
        if whole > 0.0:
            F[m.OPEN] = max(F[m.OPEN], open_part / whole)
