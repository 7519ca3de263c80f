r"""Floor 4. The compiled loop of the energy-momentum scheme (average vector field).

.. math:: \frac{2}{h^2} M (q_1 - q_0 - h v_0) - Q_{1/2} + H_d^T \lambda = 0, \qquad h(q_1) = 0,
          \qquad v_1 = \frac{2}{h}(q_1 - q_0) - v_0

Rows are quadratic in linear coordinates, so that :math:`H_d`, the mean of their gradient along the
step, is the gradient at the midpoint and :math:`h(q_1) - h(q_0) = H_d (q_1 - q_0)` exactly:
constraints do no work. Springs act by the secant of their energy (``interactions/springs.py``).

A step is found in :math:`\Delta = q_1 - q_0` and :math:`\lambda`. Every iteration evaluates the
end, for the rows, and the middle, for the forces; the matrix is that of the middle.

References
----------
.. [1] Gebhardt and Romero, 2020; Gonzalez, J. Nonlinear Sci. 6 (1996); Betsch and Steinmann.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.algebra import memory as m
from mbd.algebra.jit import call, jit, kernel
from mbd.model.kernels import evaluate, linearise, stage
from mbd.solvers.advance import CONVERGED, FAILED, PIVOTS, keep_record

__all__ = ["conserve"]

_CLOSE, _STAGNATED = 10.0, 1e4  # in units of round-off of the positions

A, AL, AN, D, FLOOR, H, KIND, Q, QN, T, V, VN, X = (
    m.A, m.AL, m.AN, m.D, m.FLOOR, m.H, m.KIND, m.Q, m.QN, m.T, m.V, m.VN, m.X,
)  # fmt: skip
FR_NP, FR_NV, FR_SIZE, FR_U, FRONTS, N_FRONTS = (
    m.FR_NP, m.FR_NV, m.FR_SIZE, m.FR_U, m.FRONTS, m.N_FRONTS,
)  # fmt: skip


@jit
def _evaluate_end(I: Any, F: Any) -> None:
    """Evaluate at q_0 + Delta; keep the rows in AN, behind the velocities."""
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        for i in range(I[j + FR_U], I[j + FR_U] + I[j + FR_NV]):
            F[I[D] + i] = F[I[AL] + i]
    I[m.PHASE] = m.END
    evaluate(I, F)
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            F[I[AN] + i] = F[I[X] + i]


@jit
def _evaluate_middle(I: Any, F: Any, t: float) -> None:
    """Evaluate at q_0 + Delta/2, v = Delta/h, v' = 2 (Delta/h - v_0)/h; rows from the end."""
    h = F[H]
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        for i in range(I[j + FR_U], I[j + FR_U] + I[j + FR_NV]):
            delta = F[I[AL] + i]
            F[I[D] + i] = 0.5 * delta
            F[I[V] + i] = delta / h
            F[I[A] + i] = 2 / h * (delta / h - F[I[VN] + i])
    I[m.PHASE] = m.MIDDLE
    F[T] = t + 0.5 * h
    evaluate(I, F)
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            if I[I[KIND] + i] != m.VELOCITY_ROW:  # these hold in the middle
                F[I[X] + i] = F[I[AN] + i]


@jit
def _correct(I: Any, F: Any) -> float:
    """Subtract the solution from Delta and lam; return its size in units of round-off."""
    size = 0.0
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u, u + I[j + FR_NV]):
            x = F[I[X] + i]
            F[I[AL] + i] -= x
            size = max(size, abs(x) / F[FLOOR + I[I[KIND] + i]])
            if x != x:
                size = math.inf
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            F[I[A] + i] -= F[I[X] + i] / F[m.SCALE_R]
    return size


@jit
def _begin(I: Any, F: Any) -> None:
    """Keep the state, guess Delta, measure the springs at the start."""
    h = F[H]
    for i in range(I[m.N_Q]):
        F[I[QN] + i] = F[I[Q] + i]
    for i in range(I[m.N_U]):
        F[I[VN] + i] = F[I[V] + i]
        F[I[D] + i] = 0.0
        F[I[AL] + i] = h * F[I[V] + i]
    I[m.PHASE] = m.START
    stage(I, F, m.PLACE)
    stage(I, F, m.FORCES)


@jit
def _iterate(I: Any, F: Any, t: float) -> int:
    """Find Delta and lam; return the status."""
    last = math.inf
    for iteration in range(I[m.MAX_ITER]):
        _evaluate_end(I, F)
        _evaluate_middle(I, F, t)
        if not I[m.HAVE_FACTOR]:
            I[m.SMALL_PIVOTS] = 0
            linearise(I, F)
            call(I[m.LINEAR], I, F, 1)
            I[m.HAVE_FACTOR] = 1
            if I[m.SMALL_PIVOTS]:
                return PIVOTS
        else:
            call(I[m.LINEAR], I, F, 0)
        size = _correct(I, F)
        I[m.N_ITER] += 1
        if not size < 1e300:
            return FAILED
        if size <= _CLOSE or (size > 0.5 * last and size < _STAGNATED):
            return CONVERGED
        if size > 0.05 * last or iteration == 3:
            I[m.HAVE_FACTOR] = 0
        last = size
    return FAILED


@kernel
def conserve(I: Any, F: Any, k: int) -> None:
    """Take I[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step for inspection."""
    h = F[H]
    F[m.SCALE_R] = 0.5 * h * h
    F[m.W_M], F[m.W_G], F[m.W_K] = 1.0, 0.5 * h, 0.25 * h * h
    F[m.ROW_RATE], F[m.ROW_TURN] = h, 0.5 * h
    I[m.STATUS] = CONVERGED
    I[m.STEPS_DONE] = 0
    start = F[T]
    for step in range(I[m.N_STEPS]):
        t = start + step * h
        _begin(I, F)
        status = _iterate(I, F, t)
        if status == FAILED:
            I[m.N_REJECT] += 1
        if status != CONVERGED:
            I[m.HAVE_FACTOR] = 0
            I[m.PHASE] = m.ORDINARY
            F[T] = t
            I[m.STATUS] = status
            if k == 0:
                for i in range(I[m.N_Q]):
                    F[I[Q] + i] = F[I[QN] + i]
                for i in range(I[m.N_U]):
                    F[I[V] + i] = F[I[VN] + i]
            return
        _evaluate_end(I, F)
        for f in range(I[N_FRONTS]):
            j = I[FRONTS] + f * FR_SIZE
            for i in range(I[j + FR_U], I[j + FR_U] + I[j + FR_NV]):
                F[I[V] + i] = 2 / h * F[I[AL] + i] - F[I[VN] + i]
                F[I[A] + i] = (F[I[V] + i] - F[I[VN] + i]) / h
        stage(I, F, m.ACCEPT)
        I[m.PHASE] = m.ORDINARY
        F[T] = t + h
        I[m.STEPS_DONE] = step + 1
        keep_record(I, F)
