r"""Floor 4. The compiled loop of the explicit Lie-group Runge-Kutta method of order four.

With :math:`\dot q = v` along the manifold and :math:`M\dot v = f`, :math:`k_i = h v_i`,
:math:`l_i = h\dot v(q_i, v_i)`, :math:`v_i = v_n + (0, \tfrac12 l_1, \tfrac12 l_2, l_3)`,

.. math::
   q_2 &= q_n \boxplus \tfrac12 k_1, \quad q_3 = q_n \boxplus \tfrac12 k_2, \quad
   q_4 = q_2 \boxplus (k_3 - \tfrac12 k_1), \\
   q_{n+1} &= q_n \boxplus \tfrac1{12}(3k_1 + 2k_2 + 2k_3 - k_4)
              \boxplus \tfrac1{12}(-k_1 + 2k_2 + 2k_3 + 3k_4), \\
   v_{n+1} &= v_n + \tfrac16(l_1 + 2l_2 + 2l_3 + l_4) .

The last acceleration of a step is the first of the next one: four evaluations a step. No tangent
operator is needed, so that one loop serves every group.

References
----------
.. [1] Celledoni, Marthinsen and Owren, "Commutator-free Lie group methods", 2003.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.algebra import memory as m
from mbd.algebra.jit import call, jit, kernel
from mbd.model.kernels import evaluate, linearise, stage
from mbd.solvers.advance import CONVERGED, FAILED, record

__all__ = ["explicit"]

A, AN, AP, AL, D, H, N_Q, N_U, Q, QN, T, V, VN, X, YDD = (
    m.A, m.AN, m.AP, m.AL, m.D, m.H, m.N_Q, m.N_U, m.Q, m.QN, m.T, m.V, m.VN, m.X, m.YDD,
)  # fmt: skip


@jit
def _accelerate(I: Any, F: Any) -> bool:
    """Write the accelerations at q = q_0 [+] d, v; return whether they are numbers."""
    for i in range(I[N_U]):
        F[I[A] + i] = 0.0
    evaluate(I, F)
    linearise(I, F)
    I[m.SMALL_PIVOTS] = 0
    call(I[m.LINEAR], I, F, 1)
    good = True
    for i in range(I[N_U]):
        F[I[A] + i] = -F[I[X] + i]
        good = good and abs(F[I[X] + i]) < math.inf
    return good and I[m.SMALL_PIVOTS] == 0


@jit
def _go_on(I: Any, F: Any) -> None:
    """Begin the next increment where this one ends."""
    stage(I, F, m.PLACE)
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[I[Q] + i]


@jit
def _stage(I: Any, F: Any, weight: float, first: float, last: float) -> None:
    """Add k_i, l_i of the present V, A to both increments and to the change of velocity."""
    h = F[H]
    for i in range(I[N_U]):
        F[I[AN] + i] += first * h * F[I[V] + i]
        F[I[AP] + i] += last * h * F[I[V] + i]
        F[I[AL] + i] += weight * h * F[I[A] + i]


@jit
def _step(I: Any, F: Any, t: float) -> bool:
    """Take one step from t; A holds the acceleration at its start, and then at its end."""
    h = F[H]
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[I[Q] + i]
        F[I[YDD] + i] = F[I[Q] + i]  # faces need no accelerations here: room for q_n
    for i in range(I[N_U]):
        F[I[VN] + i] = F[I[V] + i]
        F[I[AN] + i] = 0.0
        F[I[AP] + i] = 0.0
        F[I[AL] + i] = 0.0
    _stage(I, F, 1 / 6, 3 / 12, -1 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[VN] + i]
        F[I[V] + i] = F[I[VN] + i] + 0.5 * h * F[I[A] + i]
    F[T] = t + 0.5 * h
    if not _accelerate(I, F):
        return False
    _stage(I, F, 2 / 6, 2 / 12, 2 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[V] + i]
        F[I[V] + i] = F[I[VN] + i] + 0.5 * h * F[I[A] + i]
    if not _accelerate(I, F):
        return False
    _stage(I, F, 2 / 6, 2 / 12, 2 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[VN] + i]
    _go_on(I, F)
    for i in range(I[N_U]):
        F[I[D] + i] = h * F[I[V] + i] - 0.5 * h * F[I[VN] + i]
        F[I[V] + i] = F[I[VN] + i] + h * F[I[A] + i]
    F[T] = t + h
    if not _accelerate(I, F):
        return False
    _stage(I, F, 1 / 6, -1 / 12, 3 / 12)
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[I[YDD] + i]
    for i in range(I[N_U]):
        F[I[D] + i] = F[I[AN] + i]
    _go_on(I, F)
    for i in range(I[N_U]):
        F[I[D] + i] = F[I[AP] + i]
        F[I[V] + i] = F[I[VN] + i] + F[I[AL] + i]
    good = _accelerate(I, F)
    for i in range(I[N_U]):
        F[I[AL] + i] = F[I[A] + i]
    return good


@kernel
def explicit(I: Any, F: Any, k: int) -> None:
    """Take I[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step for inspection."""
    F[m.W_M] = 1.0
    F[m.W_G] = 0.0
    F[m.W_K] = 0.0
    F[m.SCALE_R] = 1.0
    I[m.HAVE_FACTOR] = 0
    I[m.STATUS] = CONVERGED
    I[m.STEPS_DONE] = 0
    start = F[T]
    for step in range(I[m.N_STEPS]):
        t = start + step * F[H]
        if not _step(I, F, t):
            I[m.STATUS] = FAILED
            if k == 0:
                for i in range(I[N_Q]):
                    F[I[Q] + i] = F[I[YDD] + i]
                for i in range(I[N_U]):
                    F[I[V] + i] = F[I[VN] + i]
            F[T] = t
            return
        F[T] = start + (step + 1) * F[H]
        stage(I, F, m.ACCEPT)
        I[m.STEPS_DONE] = step + 1
        I[m.N_PREDICTED] += 1
        if I[m.RECORD_EVERY] and I[m.N_PREDICTED] % I[m.RECORD_EVERY] == 0:
            record(I, F)
