r"""Contact of a point or a ball with a plane: unilateral rows with dry friction.

A ball of radius r (a point: r = 0) with its centre Q on the body with the directors
:math:`b_1, b_2, b_3` meets the plane through P with the axes :math:`a_1, a_2` and the normal
:math:`n = a_3` of another body, or of ground, at :math:`x = Q - r\,n`. Gap and relative velocity of
the two material points that meet there are

.. math:: \Phi = n\cdot(Q - P) - r, \qquad
   u = \dot Q + \sum_k\rho_k\dot b_k - \dot P - \sum_k\sigma_k\dot a_k, \quad
   \rho_k = -r\,b_k\cdot n, \quad \sigma_k = a_k\cdot(x - P),

with :math:`u\cdot n = \dot\Phi`. Rows of the model are the negatives,
:math:`-\Phi, -u_1, -u_2` along :math:`n, a_1, a_2`, so that the multipliers p are the force on the
body of the ball [N]: :math:`p_N \ge 0`, :math:`|p_T| \le \mu p_N`.

The law is set-valued. Which of its branches acts is for a method to say that declares
``Facts(set_valued=True)``; it writes the branch to the element, where the tangent finds it:

======== =============================================================== =======================
branch   rows of the matrix                                              p
======== =============================================================== =======================
OPEN     :math:`-\Delta p`                                               0
STICK    :math:`B\Delta x - \epsilon\Delta p`                            closes N, holds T
SLIP     N as above, T: :math:`QB_T\Delta x - D(I - Q)\Delta p_T         :math:`p_T = \mu p_N e`
         + D\mu e\,\Delta p_N`
======== =============================================================== =======================

with the direction e of the friction force, :math:`Q = q(I - ee^T)` and the Delassus number D of the
rows of T. Before a method has said so an element is idle: it has no force and its rows are none.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.vec import dot, load3, minus, plus, store3, times
from mbd.base.tolerances import CONTACT_SOFT
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import (
    add_column,
    add_row,
    add_through,
    at,
    clear,
    each,
    form_maps,
    map_of,
    push,
    vector,
    velocity_map,
)
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add4

N = 8  # vectors of both frames: Q, b1, b2, b3, P, a1, a2, a3
FRAME, NORMAL = 4, 7
DIRECTIONS = (NORMAL, 5, 6)  # of the rows
# numbers of an element: what a part gives, ...
RADIUS, FRICTION, STATIC, RESTITUTION = range(4)
# ... and what a method writes after them
(
    ACTIVE,  # whether a method knows the contact
    BRANCH,  # which rows the tangent writes
    E1, E2,  # direction of the friction force along a1, a2
    SHARE,  # q of the rows that slip
    DELASSUS_N, DELASSUS_T,  # change of accelerations by a unit of force
    MODE,  # at the start of the step
    BEFORE,  # velocity of the gap at the start of the step [m/s]
    SLIP1, SLIP2,  # velocity of slip there
    NEXT,  # mode in which it leaves the step
    LEAST,  # Delassus number below which joints leave a body nothing to move by
    NUMBERS,
) = range(4, 18)  # fmt: skip
OPEN, STICK, SLIP = 0.0, 1.0, 2.0

_C = 0  # place of the weights c in the scratch space
_COLUMN, _ROW = 3, 4  # vectors of a face; the first three hold a map


@jit
def weights(I: Any, F: Any, e: Any) -> Any:
    """Write the weights c of the eight vectors; return the normal, x - Q and x - P."""
    s = I[m.SCRATCH] + _C
    n = at(I, F, m.Y, I[e.ends + NORMAL])
    arm = times(-F[e.numbers + RADIUS], n)
    x = plus(minus(at(I, F, m.Y, I[e.ends]), at(I, F, m.Y, I[e.ends + FRAME])), arm)
    F[s], F[s + FRAME] = 1.0, -1.0
    for k in range(1, 4):
        F[s + k] = dot(at(I, F, m.Y, I[e.ends + k]), arm)
        F[s + FRAME + k] = -dot(at(I, F, m.Y, I[e.ends + FRAME + k]), x)
    return n, arm, x


@jit
def slip_velocity(I: Any, F: Any, e: Any) -> Any:
    """Return u, by the weights in the scratch space."""
    s, u = I[m.SCRATCH] + _C, (0.0, 0.0, 0.0)
    for a in range(N):
        u = plus(u, times(F[s + a], at(I, F, m.YD, I[e.ends + a])))
    return u


@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Write -Phi; take p from the faces at the point where they meet."""
    n, _, x = weights(I, F, e)
    s, p = I[m.SCRATCH] + _C, load3(F, I[m.A] + e.u)
    store3(F, I[m.X] + e.u, (0.0, 0.0, 0.0))
    if F[e.numbers + ACTIVE] != 0.0:
        F[I[m.X] + e.u] = -dot(n, x)
    f = times(p[0], n)
    f = plus(f, times(p[1], at(I, F, m.Y, I[e.ends + 5])))
    f = plus(f, times(p[2], at(I, F, m.Y, I[e.ends + 6])))
    for a in range(N):
        push(I, F, m.FY, I[e.ends + a], -F[s + a], f)


@jit
def _add_frame(I: Any, F: Any, e: Any, first: int, branch: float) -> None:
    """Add rows and columns of the frame whose vectors begin with `first`."""
    s, test, trial = I[m.SCRATCH] + _C, vector(I, first, 0), vector(I, first + 1, 0)
    column, row = vector(I, first, _COLUMN), vector(I, first, _ROW)
    n_v = I[I[e.ends + first] + m.ATT_N]
    clear(F, test, 3)
    clear(F, trial, 3)
    for b in range(first, first + FRAME):
        if I[I[e.ends + b] + m.ATT_N] > 0:
            add4(F, test, -F[s + b], map_of(I, b, m.P), 3 * m.MAP_ROW)
            add4(F, trial, -F[s + b], velocity_map(I, F, e, b), 3 * m.MAP_ROW)
    q, e1, e2 = F[e.numbers + SHARE], F[e.numbers + E1], F[e.numbers + E2]
    for r in range(3):
        d = at(I, F, m.Y, I[e.ends + DIRECTIONS[r]])
        clear(F, column, 2)
        add_through(F, column, test, n_v, 1.0, d)
        add_column(I, F, e, first, r, 1.0, column)
        if branch == OPEN:
            continue
        if branch == SLIP and r > 0:  # Q B_T
            other = at(I, F, m.Y, I[e.ends + DIRECTIONS[3 - r]])
            own = e1 if r == 1 else e2
            d = minus(times(q * (1.0 - own * own), d), times(q * e1 * e2, other))
        add_through(F, row, trial, n_v, 1.0, d)
        add_row(I, F, e, first, r, 1.0, row)


@each
def tangent(I: Any, F: Any, e: Any) -> None:
    """Add rows and columns by the branch that acts."""
    to, ld = I[e.pairs - 2], I[e.pairs - 1]
    branch = F[e.numbers + BRANCH] if F[e.numbers + ACTIVE] != 0.0 else OPEN
    weights(I, F, e)
    form_maps(I, F, e, N, False)
    for first in range(0, N, FRAME):
        if I[I[e.ends + first] + m.ATT_N] > 0:
            _add_frame(I, F, e, first, branch)
    D_n, D_t = F[e.numbers + DELASSUS_N], F[e.numbers + DELASSUS_T]
    if branch == OPEN:
        for r in range(3):
            F[to + r * (ld + 1)] -= 1.0
        return
    F[to] -= CONTACT_SOFT * D_n
    if branch == STICK:
        F[to + ld + 1] -= CONTACT_SOFT * D_t
        F[to + 2 * (ld + 1)] -= CONTACT_SOFT * D_t
        return
    q, mu = F[e.numbers + SHARE], F[e.numbers + FRICTION]
    e1, e2 = F[e.numbers + E1], F[e.numbers + E2]
    F[to + ld] += D_t * mu * e1
    F[to + 2 * ld] += D_t * mu * e2
    F[to + ld + 1] -= D_t * (1.0 - q * (1.0 - e1 * e1) + CONTACT_SOFT)
    F[to + 2 * ld + 2] -= D_t * (1.0 - q * (1.0 - e2 * e2) + CONTACT_SOFT)
    F[to + ld + 2] -= D_t * q * e1 * e2
    F[to + 2 * ld + 1] -= D_t * q * e1 * e2


@each
def rates(I: Any, F: Any, e: Any) -> None:
    """Write -u along n, a1, a2 and its time derivative; of an idle contact zeros."""
    if F[e.numbers + ACTIVE] == 0.0:
        store3(F, I[m.PHID] + e.u, (0.0, 0.0, 0.0))
        store3(F, I[m.PHIDD] + e.u, (0.0, 0.0, 0.0))
        return
    _, arm, x = weights(I, F, e)
    s, u = I[m.SCRATCH] + _C, slip_velocity(I, F, e)
    n_rate = at(I, F, m.YD, I[e.ends + NORMAL])
    arm_rate = times(-F[e.numbers + RADIUS], n_rate)
    x_rate = minus(at(I, F, m.YD, I[e.ends]), at(I, F, m.YD, I[e.ends + FRAME]))
    x_rate = plus(x_rate, arm_rate)
    change = (0.0, 0.0, 0.0)
    for a in range(N):
        y = at(I, F, m.Y, I[e.ends + a])
        yd, ydd = at(I, F, m.YD, I[e.ends + a]), at(I, F, m.YDD, I[e.ends + a])
        c_rate = 0.0
        if 0 < a < FRAME:
            c_rate = dot(yd, arm) + dot(y, arm_rate)
        elif a > FRAME:
            c_rate = -dot(yd, x) - dot(y, x_rate)
        change = plus(change, plus(times(F[s + a], ydd), times(c_rate, yd)))
    for r in range(3):
        d = at(I, F, m.Y, I[e.ends + DIRECTIONS[r]])
        d_rate = at(I, F, m.YD, I[e.ends + DIRECTIONS[r]])
        F[I[m.PHID] + e.u + r] = -dot(d, u)
        F[I[m.PHIDD] + e.u + r] = -dot(d_rate, u) - dot(d, change)


CONTACT = Kind(
    "contact", N, 3, (), forces, tangent, rates, damped=True,
    room=NUMBERS - ACTIVE, own_block=True, set_valued=True, unit="m",
)  # fmt: skip
