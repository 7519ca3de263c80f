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
transposes in the reverse order. Tangents of all parameters lie side by side, a row of numbers for
each unknown.

Where the end of a step moves in time by :math:`\delta t` its right-hand side has
:math:`(r_t, \Phi_t)\,\delta t` too; where its size changes by :math:`\delta h`, :math:`\hat D` and
:math:`\delta v^*` have the derivatives of :math:`h v_n + \dots` by h, times that. Between steps of
other sizes algorithmic accelerations move, :math:`a \mathrel{+}= \mu(\dot v_n - \dot v_{n-1})`.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.newmark import change_rates
from mbd.derivatives.increments import (
    carry_back,
    carry_back_transposed,
    to_positions,
    to_positions_transposed,
)
from mbd.derivatives.one_step import (
    BY_SIZE,
    BY_TIME,
    COLUMNS,
    DA,
    DB,
    DL,
    DV,
    LAM,
    MANY,
    MEMORY,
    N_LAM,
    N_NODES,
    N_PARAMETERS,
    N_REMEMBERED,
    N_STEPS,
    N_V,
    NODES,
    OUT,
    PRODUCTS,
    PROGRAMS,
    RESIDUAL,
    SHIFTS,
    STEP_SIZE,
    STEPS,
    TIMED,
    WORK,
    V,
    complete,
    copy,
    factor,
    fill_damping,
    fill_interactions,
    load,
    met_by_rate,
    solve_many,
    solve_transposed,
)
from mbd.derivatives.programs import add_variation, subtracted_from, taken_along
from mbd.linear.products import add_transposed_product
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import accept_stage, clear_off, is_off


@jit
def write_right_sides(I: Any, F: Any, k: int, c: float) -> None:
    """Write what the tangents of q and v of all columns add to right-hand sides."""
    n, many = I[m.N_U], I[k + MANY]
    size, r, z = n * many, I[k + RESIDUAL], I[k + COLUMNS]
    w, product = I[k + WORK], I[k + WORK] + size
    for i in range(size):
        F[r + i] = F[product + i] = 0.0
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
    for i in range(n):
        F[x + i] = 0.0
    for p in range(I[k + N_PARAMETERS]):
        program = I[I[k + PROGRAMS] + p]
        add_variation(I, F, program, x, S[m.LEVEL] != m.POSITION)
        subtracted_from(I, F, program, x, r + p, many)
    if I[k + TIMED]:
        for i in range(n):
            for p in range(many):
                F[r + i * many + p] -= F[I[k + SHIFTS] + p] * F[I[k + BY_TIME] + i]
    for i in range(n if S[m.N_OFF] else 0):
        if is_off(I, F, i):
            for p in range(i * many, (i + 1) * many):
                F[r + p] = 0.0


@loop
@flushing
def forward(I: Any, F: Any, k: int) -> None:
    """Carry the tangents in COLUMNS over the steps at STEPS; write those of each to OUT.

    Of velocities those of q, v and v', then those of multipliers.
    """
    n, many, n_v = I[m.N_U], I[k + MANY], I[k + N_V]
    size, n_nodes, nodes = n * many, I[k + N_NODES], I[k + NODES]
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
        carry_back(I, F, nodes, n_nodes, q, w, many)
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
        to_positions(I, F, nodes, n_nodes, w, q, many)
        for vector in range(3):
            for e in range(n_v):
                copy(F, q + vector * size + I[I[k + V] + e] * many, many, out, 1.0)
                out += many
        for e in range(I[k + N_LAM]):
            copy(F, a + I[I[k + LAM] + e] * many, many, out, 1.0)
            out += many
        accept_stage(I, F)


@loop
@flushing
def follow(I: Any, F: Any, k: int) -> None:
    """Write what elements remember at the beginning of each step to OUT."""
    n, out = I[k + N_REMEMBERED], I[k + OUT]
    for step in range(I[k + N_STEPS]):
        for i in range(n):
            F[out + i] = F[I[I[k + MEMORY] + i]]
        load(I, F, k, I[k + STEPS] + step * I[k + STEP_SIZE])
        accept_stage(I, F)
        out += n


@loop
@flushing
def backward(I: Any, F: Any, k: int) -> None:
    """Carry the adjoint in COLUMNS back over the steps at STEPS, the last one first.

    At OUT stand, for each step, the derivatives of the objective by q, v, (v', lam) at the
    beginning of the step, which are added; after them the gradient is summed, by the parameters
    and by the time of all steps.
    """
    S, n = ints(F), I[m.N_U]
    n_p, n_nodes, nodes, work = I[k + N_PARAMETERS], I[k + N_NODES], I[k + NODES], I[k + WORK]
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
        to_positions_transposed(I, F, nodes, n_nodes, q, tau)
        for i in range(n):
            if is_velocity(I, i):
                F[w + i] = -(F[tau + i] + g * F[v + i] + b * F[a + i] + F[al + i] / scale)
            else:
                F[w + i], F[tau + i] = -F[a + i] / scale, 0.0
        clear_off(I, F, w)
        fill_interactions(I, F, k)
        factor(I, F, k, False)
        solve_transposed(I, F, k, w, y)
        complete(I, F, k, False, True)
        add_transposed_product(I, F, 0, y, tau)
        for i in range(n):
            F[masked + i] = F[y + i] if is_velocity(I, i) or met_by_rate(I, F, i) else 0.0
            F[w + i] = 0.0
        fill_damping(I, F, k)
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
        carry_back_transposed(I, F, nodes, n_nodes, tau, q)
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
