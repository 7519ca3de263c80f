r"""Updates of vectors over the unknowns in a step of generalized-alpha, in one go or by sides.

What is measured on the way are largest sizes, so that the order in which it is gone through does
not matter.
"""

import math
from typing import Any

from mbd.algebra.vec import copy
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit
from mbd.machine.two_threads import by_sides
from mbd.machine.unknowns import coordinates_of, is_velocity, measured, unknowns_of


@jit
def _extrapolation(history: int, af: float) -> tuple[float, float]:
    r"""Return :math:`e_1, e_2` of :math:`a + e_1 (a - a_{-1}) - e_2 (a - a_{-2})`.

    By `history`: 0 constant, 1 a line, 2 a parabola; 3 a line and a ringing :math:`(-\rho)^n`, the
    root :math:`\rho = \alpha_f/(1-\alpha_f)` of multipliers, which a jump of loads excites:
    :math:`(z-1)^2(z+\rho)` is zero for both.
    """
    if history == 3:
        rho = af / (1.0 - af)
        return 1.0 - 2.0 * rho, -rho
    return history * (history + 1) / 2, history * (history - 1) / 2


@jit
def keep_start(I: Any, F: Any) -> None:
    """Keep q, v, a at the start of a step."""
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    copy(F, I[m.VN], I[m.V], I[m.N_U])
    copy(F, I[m.AN], I[m.A], I[m.N_U])


@jit
def back_to_start(I: Any, F: Any) -> None:
    """Go back to q, v, a at the start of the step."""
    copy(F, I[m.Q], I[m.QN], I[m.N_Q])
    copy(F, I[m.V], I[m.VN], I[m.N_U])
    copy(F, I[m.A], I[m.AN], I[m.N_U])


@by_sides(m.PREDICT_TASK)
def _predict(I: Any, F: Any, side: int) -> None:
    """Predict, and measure the accelerations."""
    q0, q1 = coordinates_of(I, side)
    u0, u1 = unknowns_of(I, side)
    scales = m.SCALE if side == m.WHOLE else measured(I, side)
    S = ints(F)
    for k in range(m.N_UNKNOWN_KINDS):
        F[scales + k] = 0.0
    h, am, af = F[m.H], F[m.ALPHA_M], F[m.ALPHA_F]
    beta, gamma = F[m.BETA], F[m.GAMMA]
    for i in range(q0, q1):
        F[I[m.QN] + i] = F[I[m.Q] + i]
    a, ab, al, an, d, v, vn = I[m.A], I[m.AB], I[m.AL], I[m.AN], I[m.D], I[m.V], I[m.VN]
    e1, e2 = _extrapolation(S[m.HISTORY], af)
    c0, c1, c2 = (1 - af) / (1 - am), af / (1 - am), -am / (1 - am)
    for i in range(u0, u1):
        now = F[a + i]
        F[a + i] += e1 * (now - F[ab + i]) - e2 * (now - F[an + i])
        F[an + i] = now
        scale = scales + I[I[m.UNKNOWN_KIND] + i]
        if abs(now) > F[scale]:  # noqa: PLR1730 (a store less is a chain of them less)
            F[scale] = abs(now)
        if is_velocity(I, i):
            new = c0 * F[a + i] + c1 * F[an + i] + c2 * F[al + i]
            old = F[al + i]
            F[vn + i] = F[v + i]
            F[d + i] = h * F[v + i] + h * h * ((0.5 - beta) * old + beta * new)
            F[v + i] += h * ((1 - gamma) * old + gamma * new)


@jit
def predict_vectors(I: Any, F: Any) -> None:
    """Keep the old state, extrapolate v' and lam, predict v and the increment; set SCALE."""
    _predict(I, F)
    if ints(F)[m.SHARED]:
        one, two = measured(I, 0), measured(I, 1)
        for k in range(m.N_UNKNOWN_KINDS):
            F[m.SCALE + k] = max(F[one + k], F[two + k])


@by_sides(m.FINISH_TASK)
def finish_vectors(I: Any, F: Any, side: int) -> None:
    """Set the algorithmic accelerations of the step, and keep those before."""
    u0, u1 = unknowns_of(I, side)
    am, af = F[m.ALPHA_M], F[m.ALPHA_F]
    c0, c1, c2 = (1 - af) / (1 - am), af / (1 - am), -am / (1 - am)
    a, ab, al, an = I[m.A], I[m.AB], I[m.AL], I[m.AN]
    for i in range(u0, u1):
        older = F[ab + i]
        F[ab + i] = F[an + i]
        if is_velocity(I, i):
            F[al + i] = c0 * F[a + i] + c1 * F[an + i] + c2 * F[al + i]
        F[an + i] = older


@jit
def mark_open(I: Any, F: Any, to: int, u0: int, u1: int) -> None:
    """Write to multipliers that are recorded which rows do not act: see `least_multipliers`."""
    for i in range(u0, u1):
        off = F[I[m.OFF] + i]
        if off != 0.0:
            F[to + i] = math.nan if off == m.DROPPED else math.inf


@by_sides(m.RECORD_TASK)
def _record(I: Any, F: Any, side: int) -> None:
    """Append q, v and (v', lam) to the record."""
    q0, q1 = coordinates_of(I, side)
    u0, u1 = unknowns_of(I, side)
    S = ints(F)
    to = S[m.RECORD] + S[m.N_RECORDED] * S[m.RECORD_SIZE] + 1
    for i in range(q0, q1):
        F[to + i] = F[I[m.Q] + i]
    to += I[m.N_Q]
    n = I[m.N_U]
    for i in range(u0, u1):
        F[to + i] = F[I[m.V] + i]
        F[to + n + i] = F[I[m.A] + i]
    if S[m.N_DROPPED]:
        mark_open(I, F, to + n, u0, u1)


@jit
def record(I: Any, F: Any) -> None:
    """Append t, q, v, (v', lam) and the work of impulses to the record."""
    S = ints(F)
    F[S[m.RECORD] + S[m.N_RECORDED] * S[m.RECORD_SIZE]] = F[m.T]
    _record(I, F)
    record_impulsive(I, F)
    S[m.N_RECORDED] += 1


@jit
def record_impulsive(I: Any, F: Any) -> None:
    """Write the work of impulses, and its parts if there is room for them, to the record."""
    S, first = ints(F), 1 + I[m.N_Q] + 2 * I[m.N_U]
    to = S[m.RECORD] + S[m.N_RECORDED] * S[m.RECORD_SIZE] + first
    for j in range(S[m.RECORD_SIZE] - first):
        F[to + j] = F[m.IMPULSIVE + j]
