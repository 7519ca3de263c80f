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

from typing import Any

from mbd.algebra.vec import dot
from mbd.interactions import pullback as on
from mbd.interactions.gradients import GAMMA, ROW
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m


@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Write g; add mu (1-a) d2 at d1 and -mu a d1 at d2."""
    d1, d2, a, mu = I[e.ends], I[e.ends + 1], F[e.numbers], F[I[m.A] + e.u]
    x1, x2 = at(I, F, m.Y, d1), at(I, F, m.Y, d2)
    g = (1 - a) * dot(at(I, F, m.YD, d1), x2) - a * dot(at(I, F, m.YD, d2), x1)
    F[I[m.X] + e.u] = F[m.ROW_RATE] * g
    push(I, F, m.FY, d1, mu * (1 - a), x2)
    push(I, F, m.FY, d2, -mu * a, x1)


@each
def tangent(I: Any, F: Any, e: Any) -> None:
    """Add A, its transpose, the derivative of A^T mu, and that of g with respect to q."""
    a, mu, turn = F[e.numbers], F[m.W_K] * F[I[m.A] + e.u], F[m.ROW_TURN]
    on.form_maps(I, F, e, 2, True)
    for this in range(2):
        other = 1 - this
        if I[I[e.ends + this] + m.ATT_N] == 0:
            continue
        s, partner = (1 - a, -a) if this == 0 else (-a, 1 - a)  # factors of the rates of both
        g, rate = at(I, F, m.Y, I[e.ends + other]), at(I, F, m.YD, I[e.ends + other])
        n_v = I[I[e.ends + this] + m.ATT_N]
        row, column = on.vector(I, this, ROW), on.vector(I, this, GAMMA)
        on.clear(F, row, 1)
        on.clear(F, column, 1)
        on.add_through(F, column, on.map_of(I, this, m.P), n_v, s, g)
        on.add_through(F, row, on.velocity_map(I, F, e, this), n_v, s, g)
        on.add_through(F, row, on.map_of(I, this, m.DP), n_v, turn * s, g)
        on.add_through(F, row, on.map_of(I, this, m.PT), n_v, turn * partner, rate)
        on.add_row(I, F, e, this, 0, 1.0, row)
        on.add_column(I, F, e, this, 0, 1.0, column)
        on.add_multiple(I, F, e, this, this, other, mu * s)


@each
def rates(I: Any, F: Any, e: Any) -> None:
    """Write g and its time derivative: such a row begins with its velocity."""
    d1, d2, a = I[e.ends], I[e.ends + 1], F[e.numbers]
    x1, x2 = at(I, F, m.Y, d1), at(I, F, m.Y, d2)
    v1, v2 = at(I, F, m.YD, d1), at(I, F, m.YD, d2)
    F[I[m.PHID] + e.u] = (1 - a) * dot(v1, x2) - a * dot(v2, x1)
    F[I[m.PHIDD] + e.u] = (
        (1 - a) * dot(at(I, F, m.YDD, d1), x2)
        - a * dot(at(I, F, m.YDD, d2), x1)
        + (1 - 2 * a) * dot(v1, v2)
    )


NON_TWISTING = Kind(
    "non-twisting row", 2, 1, ((0, 1), (1, 0)), forces, tangent, rates, damped=True, smooth=True,
    unit="rad/s",
)  # fmt: skip
