r"""Compiled loops over the steps of a run: tangents forwards, adjoints backwards.

With :math:`\gamma', \beta'` of the method, c = 1/gamma', the increment D of the step, and all
matrices at its end,

.. math:: \delta a^* &= c_1\delta\dot v_n + c_2\delta a_n, \quad
   \delta v^* = \delta v_n + h((1-\gamma)\delta a_n + \gamma\,\delta a^*), \quad
   \hat D = T(-D)^{-1}\delta q_n + h\,\delta v_n
            + h^2((\tfrac12-\beta)\delta a_n + \beta\,\delta a^*) \\
   \hat S \begin{bmatrix} x \\ \beta h^2\delta\lambda \end{bmatrix} &=
   -\begin{bmatrix} \beta h^2(r_p + G\,\delta v^* + K T\hat D) \\
                    \Phi_p + B T \hat D \end{bmatrix}

and :math:`\delta q = T(\hat D + x)`, :math:`\delta v = \delta v^* + \gamma' x`,
:math:`\delta\dot v = \beta' x`, :math:`\delta a = \delta a^* + x/(\beta h^2)`. A row that is met by
its rate, :math:`Bv + b = 0`, has :math:`c\,(B\,\delta v^* + N T\hat D + (Bv + b)_p)` on the right.

With :math:`w = c\,\delta v^* - \hat D` all of this is two matrices: E, filled as :math:`\hat S`
without M, times :math:`\hat D`, and the damping with the rows by velocities times w. Backwards, the
transposes in the reverse order. Tangents of all parameters lie side by side, a row of numbers for
each unknown.

Where the end of a step moves in time by :math:`\delta t` its right-hand side has
:math:`(r_t, \Phi_t)\,\delta t` too; where its size changes by :math:`\delta h`, :math:`\hat D` and
:math:`\delta v^*` have the derivatives of :math:`h v_n + \dots` by h, times that. Between steps of
other sizes algorithmic accelerations move, :math:`a \mathrel{+}= \mu(\dot v_n - \dot v_{n-1})`.

A retraction carries tangents by :math:`\delta(q \boxplus D) = P\,\delta q + T(D)\,\delta D` with
:math:`T(D)^{-1}P = T(-D)^{-1}` in every formulation. The flow of a formulation writes
:math:`T(D)^{-1}v`: its columns at D and -D are all that is needed. What interactions without mass
add to the matrix of a step without M and to that with it is the same: it is filled once, stored,
and added again. Those with mass go with the nodes.
"""

from typing import Any

from mbd.algebra.newmark import change_rates
from mbd.algebra.vec import add, clear, copy
from mbd.derivatives.variations import add_variation, subtracted_from, variation_along
from mbd.integration.newton_loop import set_weights
from mbd.interactions.laws import STEP
from mbd.linear.products import add_transposed_product
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity
from mbd.model import evaluation

# a record: steps, where their instants are, size of one; parameters, their programs;
# nodes; kernels of flows, space to invert in; tangents or adjoints; results; work; how far away the
# matrix is stored, and the part of interactions; right-hand sides; places of what elements
# remember, how much of it is in a step, how much there is; columns, and with those that fill a row;
# how their times and step sizes move, whether any does, derivatives by time and by size; unknowns
# that are velocities and multipliers; pairs (address, table) of tangents of interactions, of those
# with damping or rows on velocities, of nodes; inputs, their programs; work of the start; numbers
# that laws of motion remember, their places, their tangents and work, constants along parameters;
# addresses of kernels that evaluate, factor, solve with the transpose; of one that multiplies,
# after it its tables: of q, of w, of what is solved for; of one that solves, after it those of x
# and of what is left
(
    N_STEPS, STEPS, STEP_SIZE, N_PARAMETERS, PROGRAMS, N_NODES, NODES, N_FLOWS, FLOWS, SCRATCH,
    COLUMNS, OUT, WORK, AWAY, PART_AWAY, RESIDUAL, MEMORY, N_MEMORY, N_REMEMBERED, N_COLUMNS, MANY,
    SHIFTS, TIMED, BY_TIME, BY_SIZE, N_V, V, N_LAM, LAM, N_INTERACTIONS, INTERACTIONS, N_DAMPED,
    DAMPED, N_NODE_TANGENTS, NODE_TANGENTS, N_INPUTS, INPUTS, BEGIN, N_FOLLOWED, FOLLOWED,
    MEMORY_TANGENTS, LINES, SOLVERS,
) = range(43)  # fmt: skip
PRODUCTS, SOLVE, RECORD_SIZE = SOLVERS + 3, SOLVERS + 7, SOLVERS + 10
# an instant: T, size of the step from it and mu, then q, v, v', lam, a, a with which that step
# begins, and what is remembered
STEP_HEAD = 3
# a column: tangents (adjoints) of q, v, (v', lam), a, and of v' one step before
DQ, DV, DA, DL, DB, COLUMN_SIZE = range(6)
INSTANT_SIZE = 3  # its rows that are of what is recorded: q, v, (v', lam)
# a node: first unknown, number of velocities, where T is; after it is T(-D)^-1
NODE_FIRST, NODE_N, NODE_T, NODE_ENTRY = range(4)
SCRATCH_SIZE = 2 * m.MAP_ROW**2  # floats in which a matrix is inverted
# derivatives by time: the stencil of order eight reaches over half a step to both sides
TIME_POINTS, TIME_REACH = 4, 0.5
RATES_ALONE = 1e-300  # rows by velocities without their derivative by positions
# of a parameter: how many constants it moves, their places, slopes, and after these its scale
LINE_N, LINE_PLACES, LINE_SLOPES, LINE_SIZE = range(4)


@jit
def load(I: Any, F: Any, k: int, row: int) -> None:
    """Take over the step from an instant, as it was solved, and evaluate it; write the maps."""
    n_q, n_v = I[m.N_Q], I[k + N_V]
    beta, gamma = F[m.BETA], F[m.GAMMA]
    next_row, h = row + I[k + STEP_SIZE], F[row + 1]
    copy(F, I[m.QN], row + STEP_HEAD, n_q)
    v = STEP_HEAD + n_q
    a = v + n_v
    alg = a + n_v + I[k + N_LAM]
    old = alg + n_v
    for i in range(I[k + N_MEMORY]):
        F[I[I[k + MEMORY] + i]] = F[row + old + n_v + i]
    if I[m.N_MEMORY] > 0:
        F[m.T], ints(F)[m.HISTORY] = F[row], 0
        copy(F, I[m.Q], row + STEP_HEAD, n_q)
        for e in range(n_v):
            F[I[m.V] + I[I[k + V] + e]] = F[row + v + e]
        evaluation.note_rates(I, F)
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
        write_maps(I, F, k)


@jit
def write_rate(I: Any, F: Any, k: int) -> None:
    """Write the derivative of residual and rows by time alone to BY_TIME."""
    S, n, to, t = ints(F), I[m.N_U], I[k + BY_TIME], F[m.T]
    last = F[m.T_LAST]  # angles stay on their turns
    step = F[m.H] * TIME_REACH / TIME_POINTS
    clear(F, to, n)
    weight = 1.0
    for j in range(1, TIME_POINTS + 1):  # 4/5, -1/5, 4/105, -1/280
        weight *= (TIME_POINTS + 1 - j) / (TIME_POINTS + j)
        w = (weight if j % 2 else -weight) / (j * step)
        for side in range(2):
            away = -j * step if side else j * step
            F[m.T], F[m.T_LAST] = t + away, last + away
            call(address_at(I, I[k + SOLVERS]), I, F, 0)
            if S[m.LEVEL] != m.POSITION:
                evaluation.stage(I, F, m.RATES)
            for i in range(n):
                x = F[I[m.X] + i]
                if S[m.LEVEL] != m.POSITION and not is_velocity(I, i):
                    x = F[m.ROW_RATE] * F[I[m.PHID] + i]
                F[to + i] += -w * x if side else w * x
    F[m.T], F[m.T_LAST] = t, last
    evaluation.clear_off(I, F, to)


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
    """Fill what interactions add to the matrix, and store it."""
    clear(F, I[m.MATRIX], I[m.MATRIX_SIZE])
    call_all(I, F, I[k + INTERACTIONS], I[k + N_INTERACTIONS])
    copy(F, I[m.MATRIX] + I[k + PART_AWAY], I[m.MATRIX], I[m.MATRIX_SIZE])


@jit
def complete(I: Any, F: Any, k: int, mass: bool, again: bool) -> None:
    """Add what nodes add to the part of interactions, with M or without.

    That part is taken `again` where it is no longer in the fronts.
    """
    w_m = F[m.W_M]
    if again:
        copy(F, I[m.MATRIX], I[m.MATRIX] + I[k + PART_AWAY], I[m.MATRIX_SIZE])
    if not mass:
        F[m.W_M] = 0.0
    call_all(I, F, I[k + NODE_TANGENTS], I[k + N_NODE_TANGENTS])
    F[m.W_M] = w_m
    evaluation.switch_off_in_matrix(I, F)


@jit
def fill_damping(I: Any, F: Any, k: int) -> None:
    """Fill damping and rows by velocities alone."""
    w_m, w_k, turn, bend = F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN]
    F[m.W_M] = F[m.W_K] = F[m.ROW_TURN] = 0.0
    F[m.POSITION_TURN] = RATES_ALONE if bend != 0.0 else 0.0
    clear(F, I[m.MATRIX], I[m.MATRIX_SIZE])
    call_all(I, F, I[k + DAMPED], I[k + N_DAMPED])
    complete(I, F, k, False, False)
    F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN] = w_m, w_k, turn, bend


@jit
def factor(I: Any, F: Any, k: int, again: bool) -> None:
    """Fill and factor the matrix; with all rows, those that are dropped too, it is stored too."""
    S = ints(F)
    complete(I, F, k, True, again)
    if S[m.ALL_ROWS] and S[m.N_DROPPED]:
        copy(F, I[m.MATRIX] + I[k + AWAY], I[m.MATRIX], I[m.MATRIX_SIZE])
        S[m.ALL_ROWS] = 0
        evaluation.switch_off_in_matrix(I, F)
        S[m.ALL_ROWS] = 1
    call(address_at(I, I[k + SOLVERS + 1]), I, F, 0)


@jit
def solve_transposed(I: Any, F: Any, k: int, b: int, x: int) -> None:
    r"""Write the solution of the transpose for b to x.

    Columns of dropped rows are those of all others, :math:`B_2 x_v - x_2 = b_2`: what is left in
    their place, relative to b, is in OPEN, and zero where b is a combination of what is unique.
    """
    n, r = I[m.N_U], I[m.X]
    copy(F, r, b, n)
    call(address_at(I, I[k + SOLVERS + 2]), I, F, 0)
    copy(F, x, r, n)
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
    copy(F, x, b, size)
    dropped = ints(F)[m.N_DROPPED] > 0
    for i in range(n if dropped else 0):
        if F[I[m.OFF] + i] == m.DROPPED:
            clear(F, x + i * many, many)
    call(address_at(I, I[k + SOLVE]), I, F, I[k + SOLVE + 1])
    if not dropped:
        return
    copy(F, r, b, size)
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


@jit
def invert(F: Any, A: int, n: int, lda: int, s: int) -> None:
    """Invert the n x n matrix at F[A], by Gauss-Jordan with exchanges of rows, in 2 n^2 floats."""
    ld = 2 * n
    for r in range(n):
        for c in range(n):
            F[s + r * ld + c] = F[A + r * lda + c]
            F[s + r * ld + n + c] = 1.0 if r == c else 0.0
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(F[s + r * ld + k]) > abs(F[s + best * ld + k]):
                best = r
        if best != k:
            for c in range(ld):
                F[s + k * ld + c], F[s + best * ld + c] = F[s + best * ld + c], F[s + k * ld + c]
        pivot = 1.0 / F[s + k * ld + k]
        for c in range(k, ld):
            F[s + k * ld + c] *= pivot
        for r in range(n):
            entry = F[s + r * ld + k]
            if r != k and entry != 0.0:
                for c in range(k, ld):
                    F[s + r * ld + c] -= entry * F[s + k * ld + c]
    for r in range(n):
        for c in range(n):
            F[A + r * lda + c] = F[s + r * ld + n + c]


@jit
def write_maps(I: Any, F: Any, k: int) -> None:
    """Write T(D) and T(-D)^-1 of all nodes, by the flows of their formulations.

    These write the rates of D at velocities V to vector 0 of the method; V is kept meanwhile.
    """
    nodes, n, n_u = I[k + NODES], I[k + N_NODES], I[m.N_U]
    out, v, kept = I[m.METHOD], I[m.V], I[k + WORK]
    copy(F, kept, v, n_u)
    for back in range(2):
        if back:
            _reverse(I, F)
        most = 1
        for j in range(m.MAP_ROW):
            if j >= most:
                break
            clear(F, v, n_u)
            for e in range(n):
                i = nodes + NODE_ENTRY * e
                if j < I[i + NODE_N]:
                    F[v + I[i] + j] = 1.0
                most = max(most, I[i + NODE_N])
            call_all(I, F, I[k + FLOWS], I[k + N_FLOWS])
            for e in range(n):
                i = nodes + NODE_ENTRY * e
                u, n_v = I[i], I[i + NODE_N]
                if j < n_v:
                    to = I[i + NODE_T] + back * n_v * n_v + j
                    for r in range(n_v):
                        F[to + r * n_v] = F[out + u + r]
    _reverse(I, F)
    copy(F, v, kept, n_u)
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        n_v = I[i + NODE_N]
        first = _identity(F, I[i + NODE_T], n_v)
        invert(F, I[i + NODE_T] + first * (n_v + 1), n_v - first, n_v, I[k + SCRATCH])


@jit
def _reverse(I: Any, F: Any) -> None:
    """Let the step go from its end to its beginning."""
    for i in range(I[m.N_Q]):
        F[I[m.Q] + i], F[I[m.QN] + i] = F[I[m.QN] + i], F[I[m.Q] + i]
    for i in range(I[m.N_U]):
        F[I[m.D] + i] = -F[I[m.D] + i]


@jit
def _identity(F: Any, A: int, n: int) -> int:
    """Return how many first rows and columns of a matrix are those of the identity."""
    for k in range(n):
        for i in range(n):
            unit = 1.0 if i == k else 0.0
            if F[A + k * n + i] != unit or F[A + i * n + k] != unit:
                return k
    return n


@jit
def apply_maps(
    I: Any, F: Any, k: int, back: bool, transposed: bool, x: int, y: int, many: int
) -> None:
    """Write T(D) x of all nodes to y, or `back` T(-D)^-1 x; or with the transposes.

    Of `many` vectors over the unknowns side by side.
    """
    for e in range(I[k + N_NODES]):
        i = I[k + NODES] + NODE_ENTRY * e
        u, n = I[i] * many, I[i + NODE_N]
        T = I[i + NODE_T] + (n * n if back else 0)
        for r in range(n):
            row = y + u + r * many
            for p in range(many):
                F[row + p] = 0.0
            for c in range(n):
                factor = F[T + c * n + r] if transposed else F[T + r * n + c]
                if factor != 0.0:
                    for p in range(many):
                        F[row + p] += factor * F[x + u + c * many + p]


@jit
def write_right_sides(I: Any, F: Any, k: int, c: float) -> None:
    """Write what the tangents of q and v of all columns add to right-hand sides."""
    n, many = I[m.N_U], I[k + MANY]
    size, r, z = n * many, I[k + RESIDUAL], I[k + COLUMNS]
    w, product = I[k + WORK], I[k + WORK] + size
    clear(F, r, size)
    clear(F, product, size)
    for i in range(size):
        F[w + i] = c * F[z + DV * size + i] - F[z + i]
    fill_interactions(I, F, k)
    complete(I, F, k, False, False)
    call(address_at(I, I[k + PRODUCTS]), I, F, I[k + PRODUCTS + 1])
    fill_damping(I, F, k)
    call(address_at(I, I[k + PRODUCTS]), I, F, I[k + PRODUCTS + 2])
    for i in range(n):
        if is_velocity(I, i) or met_by_rate(I, F, i):
            for p in range(i * many, (i + 1) * many):
                F[r + p] += F[product + p]


@jit
def subtract_variations(I: Any, F: Any, k: int, x: int) -> None:
    """Subtract the derivatives by parameters and time from right-hand sides; x is work.

    Face forces are lost: the matrix must be filled before.
    """
    S, n, many, r = ints(F), I[m.N_U], I[k + MANY], I[k + RESIDUAL]
    order = 0 if S[m.LEVEL] == m.POSITION else 1
    clear(F, x, n)
    for p in range(I[k + N_PARAMETERS]):
        program = I[I[k + PROGRAMS] + p]
        add_variation(I, F, program, x, order)
        subtracted_from(I, F, program, x, r + p, many)
    for i in range(n if I[k + TIMED] else 0):
        add(F, r + i * many, -F[I[k + BY_TIME] + i], I[k + SHIFTS], many)
    for i in range(n if S[m.N_OFF] else 0):
        if evaluation.is_off(I, F, i):
            clear(F, r + i * many, many)


@jit
def move_memory(I: Any, F: Any, k: int, p: int, e: float) -> None:
    """Write what laws remember as it was kept, moved by e along its tangent p."""
    many, z = I[k + MANY], I[k + MEMORY_TANGENTS]
    kept = z + 2 * I[k + N_FOLLOWED] * many
    for i in range(I[k + N_FOLLOWED]):
        F[I[I[k + FOLLOWED] + i]] = F[kept + i] + (e * F[z + i * many + p] if e != 0.0 else 0.0)


@jit
def size_of_memory(I: Any, F: Any, k: int, p: int) -> float:
    """Return how fast what laws remember moves along its tangent p, relative to what it is."""
    many, z, size = I[k + MANY], I[k + MEMORY_TANGENTS], 0.0
    kept = z + 2 * I[k + N_FOLLOWED] * many
    for i in range(I[k + N_FOLLOWED]):
        size = max(size, abs(F[z + i * many + p]) / (1.0 + abs(F[kept + i])))
    return size


@jit
def subtract_memory(I: Any, F: Any, k: int) -> None:
    """Subtract what tangents of the memory add to right-hand sides: loads are those with it."""
    n, many, r = I[m.N_U], I[k + MANY], I[k + RESIDUAL]
    kept = I[k + MEMORY_TANGENTS] + 2 * I[k + N_FOLLOWED] * many
    for i in range(I[k + N_FOLLOWED]):
        F[kept + i] = F[I[I[k + FOLLOWED] + i]]
    for p in range(I[k + N_COLUMNS]):
        size = size_of_memory(I, F, k, p)
        if size == 0.0:
            continue
        e = STEP / size
        for side in range(2):
            away = -e if side else e
            move_memory(I, F, k, p, away)
            call(address_at(I, I[k + SOLVERS]), I, F, 0)
            for i in range(n):
                if is_velocity(I, i):
                    F[r + i * many + p] -= F[I[m.X] + i] / (2.0 * away)
    move_memory(I, F, k, 0, 0.0)


@jit
def move_constants(I: Any, F: Any, line: int, e: float) -> None:
    """Move the constants of a model along a parameter by e."""
    for i in range(I[line + LINE_N]):
        F[I[I[line + LINE_PLACES] + i]] += e * F[I[line + LINE_SLOPES] + i]


@jit
def follow_memory(I: Any, F: Any, k: int) -> None:
    """Carry the tangents of what laws remember over a step, by differences along them.

    Of the end of the step: pose and velocities, what was remembered before, and the parameter.
    """
    n, n_q, many, n_k = I[m.N_U], I[m.N_Q], I[k + MANY], I[k + N_FOLLOWED]
    z = I[k + MEMORY_TANGENTS]
    new, kept = z + n_k * many, z + 2 * n_k * many
    q, v = I[k + COLUMNS], I[k + COLUMNS] + DV * n * many
    own = kept + n_k  # QN, Q, D, V of the step
    copy(F, own, I[m.QN], n_q)
    copy(F, own + n_q, I[m.Q], n_q)
    copy(F, own + 2 * n_q, I[m.D], n)
    copy(F, own + 2 * n_q + n, I[m.V], n)
    evaluation.copy_remembered(I, F, 0, 2)
    copy(F, I[m.QN], own + n_q, n_q)
    fast = 0.0
    for i in range(n):
        fast = max(fast, abs(F[I[m.V] + i]))
    for p in range(I[k + N_COLUMNS]):
        size = size_of_memory(I, F, k, p)
        line = 0
        if p < I[k + N_PARAMETERS]:
            line = I[k + LINES] + LINE_SIZE * p
            size = max(size, 1.0 / F[I[line + LINE_SLOPES] + I[line + LINE_N]])
        for i in range(n):
            if is_velocity(I, i):
                moved = abs(F[q + i * many + p]) * F[m.PER_UNIT + I[I[m.UNKNOWN_KIND] + i]]
                size = max(size, moved, abs(F[v + i * many + p]) / (1.0 + fast))
        for i in range(n_k):
            F[new + i * many + p] = 0.0
        if size == 0.0:
            continue
        e = STEP / size
        for side in range(2):
            away = -e if side else e
            for i in range(n):
                move = is_velocity(I, i)
                F[I[m.D] + i] = away * F[q + i * many + p] if move else 0.0
                F[I[m.V] + i] = F[own + 2 * n_q + n + i] + (
                    away * F[v + i * many + p] if move else 0.0
                )
            if line > 0:
                move_constants(I, F, line, away)
            move_memory(I, F, k, p, away)
            evaluation.stage(I, F, m.PLACE)
            evaluation.stage(I, F, m.ACCEPT)
            for i in range(n_k):
                F[new + i * many + p] += F[I[I[k + FOLLOWED] + i]] / (2.0 * away)
            evaluation.copy_remembered(I, F, 2, 0)
            if line > 0:
                move_constants(I, F, line, -away)
    copy(F, z, new, n_k * many)
    copy(F, I[m.QN], own, n_q)
    copy(F, I[m.D], own + 2 * n_q, n)
    copy(F, I[m.V], own + 2 * n_q + n, n)
    evaluation.stage(I, F, m.PLACE)


@loop
@flushing
def forward(I: Any, F: Any, k: int) -> None:
    """Carry the tangents in COLUMNS over the steps at STEPS; write those of each to OUT.

    Of velocities those of q, v and v', then those of multipliers.
    """
    n, many, n_v = I[m.N_U], I[k + MANY], I[k + N_V]
    size = n * many
    w, x = I[k + WORK], I[k + WORK] + 2 * size
    am, af, beta, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA]
    c1, c2 = af / (1 - am), -am / (1 - am)
    q, out, sizes = I[k + COLUMNS], I[k + OUT], I[k + SHIFTS] + many
    v, a, al, before = q + DV * size, q + DA * size, q + DL * size, q + DB * size
    for step in range(I[k + N_STEPS]):
        row = I[k + STEPS] + step * I[k + STEP_SIZE]
        load(I, F, k, row)
        h, move = F[m.H], F[row + 2]
        g, b, scale = change_rates(am, af, beta, gamma, h)
        apply_maps(I, F, k, True, False, q, w, many)
        for i in range(n):
            if is_velocity(I, i):
                for p in range(i * many, (i + 1) * many):
                    old = F[al + p] + move * (F[a + p] - F[before + p])
                    new = c1 * F[a + p] + c2 * old
                    F[q + p] = F[w + p] + h * F[v + p] + h * h * ((0.5 - beta) * old + beta * new)
                    F[v + p] += h * ((1 - gamma) * old + gamma * new)
                    F[al + p], F[before + p] = new, F[a + p]
                if I[k + TIMED]:
                    for p in range(many):
                        F[q + i * many + p] += F[sizes + p] * F[I[k + BY_SIZE] + i]
                        F[v + i * many + p] += F[sizes + p] * F[I[k + BY_SIZE] + n + i]
            else:
                for p in range(i * many, (i + 1) * many):
                    F[q + p] = F[v + p] = F[al + p] = 0.0
        write_right_sides(I, F, k, 1.0 / g)
        factor(I, F, k, True)
        subtract_variations(I, F, k, x)
        if I[k + N_FOLLOWED] > 0:
            subtract_memory(I, F, k)
        solve_many(I, F, k)
        for i in range(n):
            if is_velocity(I, i):
                for p in range(i * many, (i + 1) * many):
                    F[w + p] = F[q + p] + F[x + p]
                    F[v + p] += g * F[x + p]
                    F[a + p] = b * F[x + p]
                    F[al + p] += F[x + p] / scale
            else:
                for p in range(i * many, (i + 1) * many):
                    F[a + p] = F[x + p] / scale
        apply_maps(I, F, k, False, False, w, q, many)
        for vector in range(3):
            for e in range(n_v):
                copy(F, out, q + vector * size + I[I[k + V] + e] * many, many)
                out += many
        for e in range(I[k + N_LAM]):
            copy(F, out, a + I[I[k + LAM] + e] * many, many)
            out += many
        if I[k + N_FOLLOWED] > 0:
            follow_memory(I, F, k)
        evaluation.accept_stage(I, F)


@loop
@flushing
def follow(I: Any, F: Any, k: int) -> None:
    """Write what elements remember at the beginning of each step to OUT."""
    n, out = I[k + N_REMEMBERED], I[k + OUT]
    for step in range(I[k + N_STEPS]):
        for i in range(n):
            F[out + i] = F[I[I[k + MEMORY] + i]]
        load(I, F, k, I[k + STEPS] + step * I[k + STEP_SIZE])
        evaluation.accept_stage(I, F)
        out += n


@loop
@flushing
def backward(I: Any, F: Any, k: int) -> None:
    """Carry the adjoint in COLUMNS back over the steps at STEPS, the last one first.

    At OUT stand, for each step, the derivatives of the objective by q, v, (v', lam) at the
    beginning of the step, which are added; after them the gradient is summed, by the parameters
    and by the time of all steps; after that stand those by the inputs at the end of each step.
    """
    n, order = I[m.N_U], 0 if ints(F)[m.LEVEL] == m.POSITION else 1
    n_p, work = I[k + N_PARAMETERS], I[k + WORK]
    am, af, beta, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA]
    c1, c2 = af / (1 - am), -am / (1 - am)
    w, tau, y, masked = work + n, work + 2 * n, work + 3 * n, work + 4 * n
    q = I[k + COLUMNS]
    v, a, al, before = q + DV * n, q + DA * n, q + DL * n, q + DB * n
    gradient = I[k + OUT] + I[k + N_STEPS] * 3 * n
    for step in range(I[k + N_STEPS] - 1, -1, -1):
        row = I[k + STEPS] + step * I[k + STEP_SIZE]
        load(I, F, k, row)
        h, move = F[m.H], F[row + 2]
        g, b, scale = change_rates(am, af, beta, gamma, h)
        c = 1.0 / g
        apply_maps(I, F, k, False, True, q, tau, 1)
        for i in range(n):
            if is_velocity(I, i):
                F[w + i] = -(F[tau + i] + g * F[v + i] + b * F[a + i] + F[al + i] / scale)
            else:
                F[w + i], F[tau + i] = -F[a + i] / scale, 0.0
        evaluation.clear_off(I, F, w)
        fill_interactions(I, F, k)
        factor(I, F, k, False)
        solve_transposed(I, F, k, w, y)
        complete(I, F, k, False, True)
        add_transposed_product(I, F, y, tau)
        for i in range(n):
            F[masked + i] = F[y + i] if is_velocity(I, i) or met_by_rate(I, F, i) else 0.0
            F[w + i] = 0.0
        fill_damping(I, F, k)
        add_transposed_product(I, F, masked, w)
        clear(F, masked, n)
        for p in range(n_p):
            program = I[I[k + PROGRAMS] + p]
            F[gradient + p] += variation_along(I, F, program, masked, y, order)
        for p in range(I[k + N_INPUTS]):
            at = gradient + n_p + 1 + step * I[k + N_INPUTS] + p
            F[at] = variation_along(I, F, I[I[k + INPUTS] + p], masked, y, order)
        if I[k + TIMED]:
            for i in range(n):
                F[gradient + n_p] += F[I[k + BY_TIME] + i] * F[y + i]
        for i in range(n):
            if is_velocity(I, i):
                F[tau + i] -= F[w + i]
        apply_maps(I, F, k, True, True, tau, q, 1)
        add = I[k + OUT] + step * 3 * n
        for i in range(n):
            if is_velocity(I, i):
                V = F[v + i] + c * F[w + i]
                A = F[al + i] + h * gamma * V + h * h * beta * F[tau + i]
                F[q + i] += F[add + i]
                F[v + i] = V + h * F[tau + i] + F[add + n + i]
                old = c2 * A + h * (1 - gamma) * V + h * h * (0.5 - beta) * F[tau + i]
                F[a + i] = c1 * A + move * old + F[before + i] + F[add + 2 * n + i]
                F[al + i], F[before + i] = old, -move * old
            else:
                F[a + i] = F[add + 2 * n + i]
