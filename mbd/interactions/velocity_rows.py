r"""Nonholonomic rows on velocities: A(q) v = 0.

NON_TWISTING of a face with directors d1, d2 and a parameter a in [0, 1] is

.. math:: g = (1-a)\,\dot d_1\cdot d_2 - a\,\dot d_2\cdot d_1 = 0,

the same as :math:`\omega\cdot d_3 = 0` on orthonormal directors. The residual receives
:math:`A^T\mu` with the gradient of g in the rates; in the iteration the row stands as
:math:`g/\gamma'`, so that its gradient there is A like that of the position rows.

References
----------
[Gebhardt 2020, (72), (80)]: see the page *From paper to code* of the documentation.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.vec import dot, times
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import add_gradient, add_scaled_product, at, push
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_DP, ATT_N, ATT_P, ATT_PT, ATT_PV
from mbd.machine.jit import kernel

__all__ = ["NON_TWISTING"]

A, FY, PHID, PHIDD, ROW_RATE, ROW_TURN, W_K, X, Y, YD, YDD = (
    m.A, m.FY, m.PHID, m.PHIDD, m.ROW_RATE, m.ROW_TURN, m.W_K, m.X, m.Y, m.YD, m.YDD,
)  # fmt: skip


@kernel
def forces(I: Any, F: Any, k: int) -> None:
    """Write g; add mu (1-a) d2 at d1 and -mu a d1 at d2."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        d1, d2, u, a = I[i], I[i + 1], I[i + 2], F[I[i + 3]]
        mu = F[I[A] + u]
        x1, x2 = at(I, F, Y, d1), at(I, F, Y, d2)
        g = (1 - a) * dot(at(I, F, YD, d1), x2) - a * dot(at(I, F, YD, d2), x1)
        F[I[X] + u] = F[ROW_RATE] * g
        push(I, F, FY, d1, mu * (1 - a), x2)
        push(I, F, FY, d2, -mu * a, x1)


@kernel
def tangent(I: Any, F: Any, k: int) -> None:
    """Add A, its transpose, the derivative of A^T mu, and that of g with respect to q."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        a, mu, turn = F[I[i + 3]], F[W_K] * F[I[A] + I[i + 2]], F[ROW_TURN]
        for side in range(2):
            this, other, j = I[i + side], I[i + 1 - side], i + 6 + 4 * side
            n, s = I[this + ATT_N], (1 - a) if side == 0 else -a
            partner = -a if side == 0 else 1 - a  # factor of the rate of the other director
            g = at(I, F, Y, other)
            add_gradient(F, I[this + ATT_PV], n, s, g, I[j], 1)
            add_gradient(F, I[this + ATT_P], n, s, g, I[j + 2], I[j + 3])
            if turn != 0.0:
                add_gradient(F, I[this + ATT_DP], n, turn * s, g, I[j], 1)
                rate = times(partner, at(I, F, YD, other))
                add_gradient(F, I[this + ATT_PT], n, turn, rate, I[j], 1)
            add_scaled_product(F, I[this + ATT_P], n, mu * s, I[other + ATT_PT],
                               I[other + ATT_N], I[i + 14 + 2 * side],
                               I[i + 15 + 2 * side])  # fmt: skip


@kernel
def rates(I: Any, F: Any, k: int) -> None:
    """Write g and its time derivative: such a row begins with its velocity."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        d1, d2, u, a = I[i], I[i + 1], I[i + 2], F[I[i + 3]]
        x1, x2 = at(I, F, Y, d1), at(I, F, Y, d2)
        v1, v2 = at(I, F, YD, d1), at(I, F, YD, d2)
        F[I[PHID] + u] = (1 - a) * dot(v1, x2) - a * dot(v2, x1)
        F[I[PHIDD] + u] = (
            (1 - a) * dot(at(I, F, YDD, d1), x2)
            - a * dot(at(I, F, YDD, d2), x1)
            + (1 - 2 * a) * dot(v1, v2)
        )


NON_TWISTING = Kind(
    "non-twisting row", 2, 1, ((0, 1), (1, 0)), forces, tangent, rates, damped=True, unit="rad/s"
)
