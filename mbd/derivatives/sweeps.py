r"""The compiled sweeps over the steps of a run: tangents forwards, adjoints backwards.

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
transposes in the reverse order.

Where the end of a step moves in time by :math:`\delta t` its right-hand side has
:math:`(r_t, \Phi_t)\,\delta t` too; where its size changes by :math:`\delta h`, :math:`\hat D` and
:math:`\delta v^*` have the derivatives of :math:`h v_n + \dots` by h, times that. Between steps of
other sizes algorithmic accelerations move, :math:`a \mathrel{+}= \mu(\dot v_n - \dot v_{n-1})`.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.newmark import change_rates
from mbd.base.sensitivity_tolerances import REFINEMENTS, SENSITIVITY_ROUND_OFF
from mbd.derivatives.increments import (
    carry_back,
    to_positions,
    to_positions_transposed,
    write_maps,
)
from mbd.derivatives.programs import add_variation, taken_along
from mbd.integration.newton_loop import set_weights
from mbd.linear.products import add_product, add_transposed_product
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import stage

__all__ = [
    "AWAY", "BY_TIME", "COLUMNS", "COLUMN_SIZE", "FLOWS", "MEMORY", "NODES", "N_COLUMNS", "N_FLOWS",
    "N_MEMORY", "N_NODES", "N_PARAMETERS", "N_REMEMBERED", "N_STEPS", "OUT", "PROGRAMS", "RESIDUAL",
    "SCRATCH", "SHIFTS", "SOLVERS", "STEPS", "STEP_SIZE", "SWEEP_SIZE", "TIMED", "WORK", "backward",
    "follow", "forward",
]  # fmt: skip

# the record of a sweep: steps, where they are, size of one; parameters, their programs; nodes;
# kernels of flows, space to invert in; tangents or adjoints; results; work; how far away the matrix
# is put aside; right-hand sides; places of what elements remember, how much of it is in a step, how
# much there is; columns, how their times and step sizes move, whether any does, derivative by time;
# addresses of kernels that evaluate, fill, factor, solve, solve with the transpose
(
    N_STEPS, STEPS, STEP_SIZE, N_PARAMETERS, PROGRAMS, N_NODES, NODES, N_FLOWS, FLOWS, SCRATCH,
    COLUMNS, OUT, WORK, AWAY, RESIDUAL, MEMORY, N_MEMORY, N_REMEMBERED, N_COLUMNS, SHIFTS, TIMED,
    BY_TIME, SOLVERS, *_, SWEEP_SIZE,
) = range(28)  # fmt: skip
# a step: T, H, mu, QN, then over the unknowns D, V, A, derivatives of D and v* by h; then what is
# remembered
STEP_HEAD, STEP_VECTORS = 3, 5
# a column: tangents (adjoints) of q, v, (v', lam), a, and of v' one step before
DQ, DV, DA, DL, DB, COLUMN_SIZE = range(6)
# derivatives by time: the stencil of order eight reaches over half a step to both sides
TIME_POINTS, TIME_REACH = 4, 0.5
RATES_ALONE = 1e-300  # rows by velocities without their derivative by positions


@jit
def load(I: Any, F: Any, k: int, row: int) -> None:
    """Take over a step, as it was solved, and evaluate it; write T(D) and T(-D)^-1."""
    n = I[m.N_U]
    F[m.T], F[m.H] = F[row], F[row + 1]
    row += STEP_HEAD
    for i in range(I[m.N_Q]):
        F[I[m.QN] + i] = F[row + i]
    row += I[m.N_Q]
    for i in range(n):
        F[I[m.D] + i] = F[row + i]
        F[I[m.V] + i] = F[row + n + i]
        F[I[m.A] + i] = F[row + 2 * n + i]
    row += STEP_VECTORS * n
    for i in range(I[k + N_MEMORY]):
        F[I[I[k + MEMORY] + i]] = F[row + i]
    set_weights(I, F)
    if I[k + TIMED]:
        write_rate(I, F, k)
    call(I[k + SOLVERS], I, F, 0)
    if I[k + N_FLOWS] > 0:
        write_maps(
            I, F, I[k + NODES], I[k + N_NODES], I[k + FLOWS], I[k + N_FLOWS], I[k + WORK],
            I[k + SCRATCH],
        )  # fmt: skip


@jit
def write_rate(I: Any, F: Any, k: int) -> None:
    """Write the derivative of residual and rows by time alone to BY_TIME."""
    S, n, to, t = ints(F), I[m.N_U], I[k + BY_TIME], F[m.T]
    step = F[m.H] * TIME_REACH / TIME_POINTS
    for i in range(n):
        F[to + i] = 0.0
    weight = 1.0
    for j in range(1, TIME_POINTS + 1):  # 4/5, -1/5, 4/105, -1/280
        weight *= (TIME_POINTS + 1 - j) / (TIME_POINTS + j)
        w = (weight if j % 2 else -weight) / (j * step)
        for side in range(2):
            F[m.T] = t - j * step if side else t + j * step
            call(I[k + SOLVERS], I, F, 0)
            if S[m.LEVEL] != m.POSITION:
                stage(I, F, m.RATES)
            for i in range(n):
                x = F[I[m.X] + i]
                if S[m.LEVEL] != m.POSITION and not is_velocity(I, i):
                    x = F[m.ROW_RATE] * F[I[m.PHID] + i]
                F[to + i] += -w * x if side else w * x
    F[m.T] = t
    clear_off(I, F, to)


@jit
def clear_off(I: Any, F: Any, x: int) -> None:
    """Write zero to the rows of a vector that are switched off."""
    S = ints(F)
    for e in range(S[m.N_OFF]):
        F[x + I[S[m.OFF] + 2 * e]] = 0.0


@jit
def met_by_rate(I: Any, F: Any, i: int) -> bool:
    """Tell whether row i is met by its rate, or is one on velocities."""
    return ints(F)[m.LEVEL] != m.POSITION or I[I[m.KIND] + i] == m.VELOCITY_ROW


@jit
def fill(I: Any, F: Any, k: int, mass: bool, stiff: bool, soft: float) -> None:
    """Fill the iteration matrix, with or without M, or its damping and rows by velocities alone."""
    w_m, w_k, turn, bend = F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN]
    F[m.SOFT] = soft
    if not mass:
        F[m.W_M] = 0.0
    if not stiff:
        F[m.W_K] = F[m.ROW_TURN] = 0.0
        F[m.POSITION_TURN] = RATES_ALONE if bend != 0.0 else 0.0
    call(I[k + SOLVERS + 1], I, F, 0)
    F[m.W_M], F[m.W_K], F[m.ROW_TURN], F[m.POSITION_TURN] = w_m, w_k, turn, bend


@jit
def copy(F: Any, x: int, n: int, to: int, sign: float) -> None:
    """Write sign times a vector."""
    for i in range(n):
        F[to + i] = sign * F[x + i]


@jit
def factor_aside(I: Any, F: Any, k: int) -> None:
    """Fill and factor the whole matrix; keep it as it was where rows may depend on others."""
    fill(I, F, k, True, True, 1.0)
    if I[m.LOOPS]:
        copy(F, I[m.MATRIX], I[m.MATRIX_SIZE], I[m.MATRIX] + I[k + AWAY], 1.0)
    call(I[k + SOLVERS + 2], I, F, 0)


@jit
def solve_refined(I: Any, F: Any, k: int, b: int, x: int, transposed: bool) -> None:
    """Write the solution for b to x: of the matrix without the softness of its rows.

    F[OPEN] has the largest part of a row that is not met, relative to the right-hand side.
    """
    n, r = I[m.N_U], I[m.X]
    copy(F, b, n, r, 1.0)
    for i in range(n):
        F[x + i] = 0.0
    size = 0.0
    for i in range(n):
        size = max(size, abs(F[b + i]))
    for _ in range(REFINEMENTS if I[m.LOOPS] else 1):
        if transposed:
            call(I[k + SOLVERS + 4], I, F, 0)
        else:
            call(I[k + SOLVERS + 3], I, F, 0)
        for i in range(n):
            F[x + i] += F[r + i]
        if not I[m.LOOPS]:
            return
        product, worst = I[k + WORK], 0.0
        for i in range(n):
            F[product + i] = 0.0 if is_velocity(I, i) else F[I[m.EPS] + i] * F[x + i]
        if transposed:
            add_transposed_product(I, F, I[k + AWAY], x, product)
        else:
            add_product(I, F, I[k + AWAY], x, product)
        for i in range(n):
            F[r + i] = F[b + i] - F[product + i]
            worst = max(worst, abs(F[r + i]))
        if worst <= SENSITIVITY_ROUND_OFF * size:
            return
    F[m.OPEN] = max(F[m.OPEN], worst / size)


@loop
@flushing
def forward(I: Any, F: Any, k: int) -> None:
    """Carry the tangents in COLUMNS over the steps at STEPS; write those of each to OUT."""
    S, n = ints(F), I[m.N_U]
    n_p, n_nodes, nodes, work = I[k + N_COLUMNS], I[k + N_NODES], I[k + NODES], I[k + WORK]
    am, af, beta, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA]
    c1, c2 = af / (1 - am), -am / (1 - am)
    w, product, out = work + n, work + 2 * n, I[k + OUT]
    for step in range(I[k + N_STEPS]):
        row = I[k + STEPS] + step * I[k + STEP_SIZE]
        load(I, F, k, row)
        h, move = F[m.H], F[row + 2]
        by_h = row + STEP_HEAD + I[m.N_Q] + 3 * n
        g, b, scale = change_rates(am, af, beta, gamma, h)
        c = 1.0 / g
        for p in range(n_p):
            z = I[k + COLUMNS] + p * COLUMN_SIZE * n
            q, v, a, al, before = z, z + DV * n, z + DA * n, z + DL * n, z + DB * n
            dh = F[I[k + SHIFTS] + 2 * p + 1]
            carry_back(I, F, nodes, n_nodes, q, w, False)
            for i in range(n):
                if is_velocity(I, i):
                    old = F[al + i] + move * (F[a + i] - F[before + i])
                    new = c1 * F[a + i] + c2 * old
                    F[q + i] = F[w + i] + h * F[v + i] + h * h * ((0.5 - beta) * old + beta * new)
                    F[v + i] += h * ((1 - gamma) * old + gamma * new)
                    F[q + i] += dh * F[by_h + i]
                    F[v + i] += dh * F[by_h + n + i]
                    F[al + i], F[before + i] = new, F[a + i]
                else:
                    F[q + i] = F[v + i] = F[al + i] = 0.0
        for part in range(2):
            fill(I, F, k, False, part == 0, 0.0)
            for p in range(n_p):
                z, r = I[k + COLUMNS] + p * COLUMN_SIZE * n, I[k + RESIDUAL] + p * n
                if part == 0:
                    for i in range(n):
                        F[r + i] = 0.0
                    add_product(I, F, 0, z, r)
                else:
                    for i in range(n):
                        F[w + i] = c * F[z + DV * n + i] - F[z + i]
                        F[product + i] = 0.0
                    add_product(I, F, 0, w, product)
                    for i in range(n):
                        if is_velocity(I, i) or met_by_rate(I, F, i):
                            F[r + i] += F[product + i]
        factor_aside(I, F, k)
        for p in range(n_p):
            r, dt = I[k + RESIDUAL] + p * n, F[I[k + SHIFTS] + 2 * p]
            if p < I[k + N_PARAMETERS]:
                add_variation(I, F, I[I[k + PROGRAMS] + p], r, S[m.LEVEL] != m.POSITION)
            if dt != 0.0:
                for i in range(n):
                    F[r + i] += dt * F[I[k + BY_TIME] + i]
            clear_off(I, F, r)
            z = I[k + COLUMNS] + p * COLUMN_SIZE * n
            solve_refined(I, F, k, r, w, False)
            for i in range(n):
                x = -F[w + i]
                if is_velocity(I, i):
                    F[w + i] = F[z + i] + x
                    F[z + DV * n + i] += g * x
                    F[z + DA * n + i] = b * x
                    F[z + DL * n + i] += x / scale
                else:
                    F[z + DA * n + i] = x / scale
            to_positions(I, F, nodes, n_nodes, w, z)
            copy(F, z, 3 * n, out, 1.0)
            out += 3 * n
        F[m.ELAPSED] = h
        stage(I, F, m.ACCEPT)


@loop
@flushing
def follow(I: Any, F: Any, k: int) -> None:
    """Write what elements remember at the beginning of each step to OUT."""
    n, out = I[k + N_REMEMBERED], I[k + OUT]
    for step in range(I[k + N_STEPS]):
        for i in range(n):
            F[out + i] = F[I[I[k + MEMORY] + i]]
        load(I, F, k, I[k + STEPS] + step * I[k + STEP_SIZE])
        F[m.ELAPSED] = F[m.H]
        stage(I, F, m.ACCEPT)
        out += n


@loop
@flushing
def backward(I: Any, F: Any, k: int) -> None:
    """Carry the adjoint in COLUMNS back over the steps at STEPS, the last one first.

    At OUT stand, for each step in that order, the derivatives of the objective by q, v, (v', lam)
    at the beginning of the step, which are added; behind them the gradient is summed, by the
    parameters and by the time of all steps.
    """
    S, n = ints(F), I[m.N_U]
    n_p, n_nodes, nodes, work = I[k + N_PARAMETERS], I[k + N_NODES], I[k + NODES], I[k + WORK]
    am, af, beta, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA]
    c1, c2 = af / (1 - am), -am / (1 - am)
    w, tau, y, masked = work + n, work + 2 * n, work + 3 * n, work + 4 * n
    q = I[k + COLUMNS]
    v, a, al, before = q + DV * n, q + DA * n, q + DL * n, q + DB * n
    gradient = I[k + OUT] + I[k + N_STEPS] * 3 * n
    for step in range(I[k + N_STEPS]):
        row = I[k + STEPS] + step * I[k + STEP_SIZE]
        load(I, F, k, row)
        h, move = F[m.H], F[row + 2]
        g, b, scale = change_rates(am, af, beta, gamma, h)
        c = 1.0 / g
        to_positions_transposed(I, F, nodes, n_nodes, q, tau)
        for i in range(n):
            if is_velocity(I, i):
                F[w + i] = -(F[tau + i] + g * F[v + i] + b * F[a + i] + F[al + i] / scale)
            else:
                F[w + i], F[tau + i] = -F[a + i] / scale, 0.0
        clear_off(I, F, w)
        factor_aside(I, F, k)
        solve_refined(I, F, k, w, y, True)
        fill(I, F, k, False, True, 0.0)
        add_transposed_product(I, F, 0, y, tau)
        for i in range(n):
            F[masked + i] = F[y + i] if is_velocity(I, i) or met_by_rate(I, F, i) else 0.0
            F[w + i] = 0.0
        fill(I, F, k, False, False, 0.0)
        add_transposed_product(I, F, 0, masked, w)
        for i in range(n):
            F[masked + i] = 0.0
        for p in range(n_p):
            program = I[I[k + PROGRAMS] + p]
            add_variation(I, F, program, masked, S[m.LEVEL] != m.POSITION)
            clear_off(I, F, masked)
            F[gradient + p] += taken_along(I, F, program, masked, y)
        if I[k + TIMED]:
            for i in range(n):
                F[gradient + n_p] += F[I[k + BY_TIME] + i] * F[y + i]
        for i in range(n):
            if is_velocity(I, i):
                F[tau + i] -= F[w + i]
        carry_back(I, F, nodes, n_nodes, tau, q, True)
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
