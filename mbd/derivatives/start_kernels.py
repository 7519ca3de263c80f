r"""The transpose of the start of a run, in compiled code.

A run begins with accelerations and multipliers :math:`y_0` at the pose :math:`q_0, v_0`, those
:math:`y_1` a short time :math:`\kappa h` later, and velocities that meet the rows at the end of a
step (``starting_values.py``),

.. math:: R(q_0, v_0, y_0) = 0, \quad
   R(q_1, v_1, y_1) = 0, \quad
   q_1 = q_0 \boxplus (\kappa h\,v_0 + \tfrac12(\kappa h)^2 a_0), \quad v_1 = v_0 + \kappa h\,a_0 \\
   c = (a_1 - a_0)/\kappa, \quad a = a_0 + \sigma c, \quad
   \Phi_2 = \Phi\bigl(q_0\boxplus(h v_0 + \tfrac12 h^2 a + \beta h^2 c)\bigr), \quad
   v = v_0 - \tfrac1h S_0^{-1}\Phi_2,

with :math:`R = (r; \ddot\Phi)`, linear in y with the matrix S. Backwards, with adjoints barred and
:math:`x = S_0^{-1}\Phi_2`,

.. math:: z = S_0^{-T}\bar v, \quad \nu = -z_\lambda/h, \quad
   \bar D = T^TB^T\nu, \quad
   \bar a_0 \mathrel{+}= \tfrac12 h^2\bar D, \quad
   \bar c \mathrel{+}= (\tfrac12\sigma + \beta)h^2\bar D \\
   \mu_1 = -S_1^{-T}\bar c/\kappa, \quad
   \bar a_0 \mathrel{+}= \kappa h\,R_v^T\mu_1 + \tfrac12(\kappa h)^2R_q^T\mu_1
   - \bar c/\kappa, \quad \mu_0 = -S_0^{-T}\bar y_0 \\
   \frac{dJ}{dp} = \nu^T\Phi_{2,p} + \mu_1^TR_p(q_1, v_1, y_1) + \mu_0^TR_p(q_0, v_0, y_0)
   + \tfrac1h z^T\bigl(R_p(q_0, v_0, y_0 + x) - R_p(q_0, v_0, y_0)\bigr).

Pose and velocities at the start stay: parameters that move them are differenced in ``restarts.py``.
"""

from typing import Any

from mbd.algebra.vec import clear, copy
from mbd.base.tolerances import START_DIFFERENCE
from mbd.derivatives import step_kernels as at
from mbd.derivatives.variations import N_RANGES, RANGES, add_variation, variation_along
from mbd.linear.products import add_transposed_product
from mbd.linear.saddle import accelerations, evaluate_unmet, factor_saddle
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, kernel
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import clear_off, evaluate, linearise

# vectors at BEGIN: c, adjoints of c and of y_0, mu or nu, x, z, work; q_0; whether c counts
CHANGE, OF_CHANGE, OF_FIRST, MU, SECOND, IMPULSE, FREE, POSE = range(8)


@jit
def _add_products(I: Any, F: Any, k: int, y: int, order: int, of_inputs: int) -> None:
    """Add the products of a vector with the variations by all parameters and inputs."""
    n, n_p = I[m.N_U], I[k + at.N_PARAMETERS]
    free, result = I[k + at.BEGIN] + FREE * n, I[k + at.OUT] + 3 * n
    clear(F, free, n)
    for p in range(n_p + I[k + at.N_INPUTS]):
        own = p < n_p
        program = I[I[k + at.PROGRAMS] + p] if own else I[I[k + at.INPUTS] + p - n_p]
        to = result + p if own else result + n_p + 3 * (p - n_p) + of_inputs
        F[to] += variation_along(I, F, program, free, y, order)


@jit
def _note_gaps(I: Any, F: Any, k: int) -> None:
    """Write the largest derivative of rows, and of their rates, by each parameter."""
    n, n_p = I[m.N_U], I[k + at.N_PARAMETERS]
    free = I[k + at.BEGIN] + FREE * n
    gaps = I[k + at.OUT] + 3 * n + n_p + 3 * I[k + at.N_INPUTS]
    clear(F, free, n)
    for p in range(n_p):
        program = I[I[k + at.PROGRAMS] + p]
        for order in range(2):
            F[m.ROW_RATE] = 1.0
            add_variation(I, F, program, free, order)
            clear_off(I, F, free)
            F[m.ROW_RATE], largest = 0.0, 0.0
            for r in range(I[program + N_RANGES]):
                r3 = I[program + RANGES] + 3 * r
                for i in range(I[r3], I[r3] + I[r3 + 1]):
                    if I[r3 + 2] != 0:
                        largest = max(largest, abs(F[free + i]))
                    F[free + i] = 0.0
            F[gaps + 2 * p + order] = largest


@jit
def _solve_transposed(I: Any, F: Any, k: int, x: int) -> None:
    """Solve with the transpose of the factored matrix for the vector in X."""
    clear_off(I, F, I[m.X])
    call(address_at(I, I[k + at.SOLVERS + 2]), I, F, 0)
    copy(F, x, I[m.X], I[m.N_U])


@jit
def _load(I: Any, F: Any, b: int, t: float) -> None:
    """Go back to the start, and factor the matrix there."""
    n = I[m.N_U]
    copy(F, I[m.Q], b + POSE * n, I[m.N_Q])
    copy(F, I[m.QN], b + POSE * n, I[m.N_Q])
    clear(F, I[m.D], n)
    copy(F, I[m.V], I[m.VN], n)
    copy(F, I[m.A], I[m.AN], n)
    F[m.T] = t
    evaluate_unmet(I, F)
    factor_saddle(I, F)
    evaluate_unmet(I, F)


@jit
def _end_of_step(I: Any, F: Any, k: int, b: int, t: float, sigma: float) -> None:
    """Go back over the velocities that meet the rows at the end of a step."""
    n, h, beta = I[m.N_U], F[m.H], F[m.BETA]
    z, y, x = b + IMPULSE * n, b + MU * n, b + SECOND * n
    V = I[k + at.COLUMNS] + at.DV * n
    for i in range(n):
        F[I[m.X] + i] = F[V + i] if is_velocity(I, i) else 0.0
    _solve_transposed(I, F, k, z)
    for i in range(n):
        change, a = F[b + CHANGE * n + i], F[I[m.AN] + i]
        F[I[m.D] + i] = 0.0
        if is_velocity(I, i):
            bent = (0.5 - beta) * (a + sigma * change) + beta * (a + (1.0 + sigma) * change)
            F[I[m.D] + i] = h * F[I[m.VN] + i] + h * h * bent
    F[m.T], F[m.SCALE_R], F[m.ROW_RATE] = t + h, 1.0, 0.0
    evaluate(I, F)
    for i in range(n):
        row = not is_velocity(I, i) and I[I[m.UNKNOWN_KIND] + i] != m.VELOCITY_ROW
        F[x + i] = F[I[m.X] + i] if row else 0.0
        F[y + i] = -F[z + i] / h if row else 0.0
    _add_products(I, F, k, y, 0, 2)
    evaluate(I, F)
    F[m.W_M], F[m.W_G], F[m.W_K] = 0.0, 0.0, 1.0
    linearise(I, F)
    clear(F, b + FREE * n, n)
    add_transposed_product(I, F, y, b + FREE * n)
    for i in range(n):
        if is_velocity(I, i):
            D = h * h * F[b + FREE * n + i]
            F[b + OF_FIRST * n + i] += 0.5 * D
            F[b + OF_CHANGE * n + i] += (0.5 * sigma + beta) * D


@jit
def _short_time(I: Any, F: Any, k: int, b: int, t: float) -> None:
    """Go back over the change of accelerations in a short time."""
    n, s = I[m.N_U], START_DIFFERENCE * F[m.H]
    y, change, first = b + MU * n, b + OF_CHANGE * n, b + OF_FIRST * n
    fast = START_DIFFERENCE * F[m.LENGTH] / F[m.H]
    copy(F, I[m.QN], b + POSE * n, I[m.N_Q])
    for i in range(n):
        v, a = F[I[m.VN] + i], F[I[m.AN] + i]
        F[I[m.D] + i], F[I[m.V] + i], F[I[m.A] + i] = 0.0, v, a
        if is_velocity(I, i):
            fast = max(fast, abs(v))
            F[I[m.D] + i], F[I[m.V] + i] = s * v + 0.5 * s * s * a, v + s * a
            F[I[m.A] + i] = a + START_DIFFERENCE * F[b + CHANGE * n + i]
    F[m.T] = t + s
    evaluate_unmet(I, F)
    accelerations(I, F, 3, True)
    for i in range(n):
        F[I[m.X] + i] = -F[change + i] / START_DIFFERENCE if is_velocity(I, i) else 0.0
    _solve_transposed(I, F, k, y)
    evaluate_unmet(I, F)
    _add_products(I, F, k, y, 2, 1)
    e = START_DIFFERENCE * fast
    for j in range(n):
        if is_velocity(I, j):
            v, slope = F[I[m.V] + j], 0.0
            for side in range(2):
                w = -e if side else e
                F[I[m.V] + j], F[I[m.D] + j] = v + w, 0.5 * s * w
                evaluate_unmet(I, F)
                for i in range(n):
                    slope += F[y + i] * (-F[I[m.X] + i] if side else F[I[m.X] + i])
            F[I[m.V] + j], F[I[m.D] + j] = v, 0.0
            F[first + j] += s * slope / (2.0 * e) - F[change + j] / START_DIFFERENCE


@kernel
@flushing
def begin_back(I: Any, F: Any, k: int) -> None:
    """Write the gradient by parameters and inputs that the adjoint of a start has.

    The state is loaded, c is at BEGIN. At OUT stand the adjoints of the first instant, in COLUMNS
    those of the state of the method. After the first are written the gradient by parameters, by
    inputs at the three times, and largest derivatives of rows and of their rates by parameters.
    """
    n, b, t = I[m.N_U], I[k + at.BEGIN], F[m.T]
    top, state = I[k + at.OUT], I[k + at.COLUMNS]
    sigma, rows = F[m.ALPHA_M] - F[m.ALPHA_F], False
    moved = F[b + POSE * n + I[m.N_Q]] != 0.0
    copy(F, I[m.VN], I[m.V], n)
    copy(F, I[m.AN], I[m.A], n)
    copy(F, b + POSE * n, I[m.Q], I[m.N_Q])
    clear(F, top + 3 * n, 3 * (I[k + at.N_PARAMETERS] + I[k + at.N_INPUTS]))
    for i in range(n):
        F[b + OF_FIRST * n + i] = F[top + at.DA * n + i] + F[state + at.DA * n + i]
        F[b + OF_CHANGE * n + i] = 0.0
        if is_velocity(I, i):
            F[b + OF_FIRST * n + i] += F[state + at.DL * n + i] + F[state + at.DB * n + i]
            F[b + OF_CHANGE * n + i] = sigma * F[state + at.DL * n + i] - F[state + at.DB * n + i]
        else:
            rows = True
    shifts = moved and rows and ints(F)[m.LEVEL] == m.POSITION
    _load(I, F, b, t)
    _note_gaps(I, F, k)
    if shifts:
        _end_of_step(I, F, k, b, t, sigma)
    if moved:
        _short_time(I, F, k, b, t)
    _load(I, F, b, t)
    y, x, z = b + MU * n, b + SECOND * n, b + IMPULSE * n
    for i in range(n):
        F[I[m.X] + i] = -F[b + OF_FIRST * n + i]
    _solve_transposed(I, F, k, y)
    if shifts:
        copy(F, I[m.X], x, n)
        clear_off(I, F, I[m.X])
        call(ints(F)[m.LINEAR], I, F, 0)
        for i in range(n):
            F[x + i] = F[I[m.X] + i]
            F[I[m.A] + i] += F[x + i]
            F[z + i] /= F[m.H]
            F[y + i] -= F[z + i]
        evaluate_unmet(I, F)
        _add_products(I, F, k, z, 2, 0)
        copy(F, I[m.A], I[m.AN], n)
    evaluate_unmet(I, F)
    _add_products(I, F, k, y, 2, 0)
