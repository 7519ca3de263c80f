r"""Contact of a point or a ball with a plane or a ball: unilateral rows with dry friction.

A ball of radius r (a point: r = 0) with its centre Q on the body with the directors
:math:`b_1, b_2, b_3` meets the plane through P with the axes :math:`a_1, a_2` and the normal
:math:`n = a_3` of another body, or of ground, at :math:`x = Q - r\,n`. Gap and relative velocity of
the two material points that meet there are

.. math:: \Phi = n\cdot(Q - P) - r, \qquad
   u = \dot Q + \sum_k\rho_k\dot b_k - \dot P - \sum_k\sigma_k\dot a_k, \quad
   \rho_k = -r\,b_k\cdot n, \quad \sigma_k = a_k\cdot(x - P),

with :math:`u\cdot n = \dot\Phi`. On a face with origin and directors :math:`d_j` the point that
meets has the weights :math:`w_j + d_j\cdot(x - Q)` for :math:`w_j` of Q, and so on. Where a ball of
radius R stands in the place of the plane, P is its centre, and with s = 1

.. math:: n = s\,(Q - P)/|Q - P|, \qquad \Phi = s\,(|Q - P| - R) - r, \qquad
   \sigma_k = s\,R\,a_k\cdot n;

s = -1 of a hollow one, the ball is within. The directions of its tangent plane are made of n and
the inertial axis that is most across.

Rows of the model are the negatives,
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

import math
from typing import Any

from mbd.algebra.vec import add3, cross, dot, load3, minus, plus, store3, times, unit
from mbd.base.tolerances import CONTACT_SOFT
from mbd.interactions import pullback as on
from mbd.interactions import set_valued as sv
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import at, each
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add4

N = 8  # vectors of both frames: Q, b1, b2, b3, P, a1, a2, a3
FRAME = 4
RADIUS, OTHER = sv.FIRST, sv.SECOND  # OTHER: s R, infinite of a plane

# places in the scratch space: the weights c, the directions n, t1, t2 and their rates
_C, _AXES, _RATES = 0, 8, 17
_COLUMN, _ROW = 3, 4  # vectors of a face; the first three hold a map


@jit
def _across(n: Any) -> int:
    """Return the number of the inertial axis that is most across."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        return 0
    return 1 if y <= z else 2


@jit
def _along(n: Any, i: int) -> Any:
    """Return the part of inertial axis i that is normal to n."""
    return minus(unit(i), times(n[i], n))


@jit
def directions(I: Any, F: Any, e: Any) -> Any:
    """Write the directions n, t1, t2; return the gap, x - Q and x - P."""
    s, r, other = I[m.SCRATCH], F[e.numbers + RADIUS], F[e.numbers + OTHER]
    d = minus(at(I, F, m.Y, I[e.ends]), at(I, F, m.Y, I[e.ends + FRAME]))
    if other == math.inf:
        n = at(I, F, m.Y, I[e.ends + 7])
        t1, t2 = at(I, F, m.Y, I[e.ends + 5]), at(I, F, m.Y, I[e.ends + 6])
        arm = times(-r, n)
        x = plus(d, arm)
        gap = dot(n, x)
    else:
        side, length = math.copysign(1.0, other), math.sqrt(dot(d, d)) + 1e-300
        n = times(side / length, d)
        i = _across(n)
        w = _along(n, i)
        t1 = times(1.0 / math.sqrt(dot(w, w)), w)
        t2 = cross(n, t1)
        arm, x, gap = times(-r, n), times(other, n), side * length - r - other
    store3(F, s + _AXES, n)
    store3(F, s + _AXES + 3, t1)
    store3(F, s + _AXES + 6, t2)
    return gap, arm, x


@jit
def weights(I: Any, F: Any, e: Any) -> None:
    """Write the directions n, t1, t2 and the weights c of all vectors."""
    _, arm, x = directions(I, F, e)
    to = I[m.SCRATCH] + _C
    F[to], F[to + FRAME] = 1.0, -1.0
    for k in range(1, FRAME):
        F[to + k] = dot(at(I, F, m.Y, I[e.ends + k]), arm)
        F[to + FRAME + k] = -dot(at(I, F, m.Y, I[e.ends + FRAME + k]), x)


@jit
def _along_directors(I: Any, F: Any, base: int, a: int, x: Any) -> Any:
    """Return the products of x with the directors, or their rates, of the face of I[a]."""
    y = I[base] + I[a + m.ATT_Y] + 3
    return dot(load3(F, y), x), dot(load3(F, y + 3), x), dot(load3(F, y + 6), x)


@jit
def _meets(I: Any, F: Any, a: int, x: Any) -> Any:
    """Return the weights of the material point at x from the point of the attachment I[a]."""
    w, (x1, x2, x3) = I[a + m.ATT_W], _along_directors(I, F, m.Y, a, x)
    return F[w], F[w + 1] + x1, F[w + 2] + x2, F[w + 3] + x3


@jit
def _on_face(I: Any, F: Any, base: int, a: int, w: Any) -> Any:
    """Return the vector with the weights w on the face of the attachment I[a]."""
    y = I[base] + I[a + m.ATT_Y]
    first, second = times(w[0], load3(F, y)), times(w[1], load3(F, y + 3))
    third, fourth = times(w[2], load3(F, y + 6)), times(w[3], load3(F, y + 9))
    return plus(plus(first, second), plus(third, fourth))


@jit
def _push_point(I: Any, F: Any, a: int, w: Any, s: float, f: Any) -> None:
    """Add the force s f on the point with the weights w on the face of I[a]."""
    for k in range(4):
        add3(F, I[m.FY] + I[a + m.ATT_Y] + 3 * k, s * w[k], f)


@jit
def direction_rates(I: Any, F: Any, e: Any) -> Any:
    """Write the rates of the directions; return those of x - Q and x - P."""
    s, r, other = I[m.SCRATCH], F[e.numbers + RADIUS], F[e.numbers + OTHER]
    d_rate = minus(at(I, F, m.YD, I[e.ends]), at(I, F, m.YD, I[e.ends + FRAME]))
    if other == math.inf:
        n_rate = at(I, F, m.YD, I[e.ends + 7])
        t1_rate, t2_rate = at(I, F, m.YD, I[e.ends + 5]), at(I, F, m.YD, I[e.ends + 6])
        arm_rate = times(-r, n_rate)
        x_rate = plus(d_rate, arm_rate)
    else:
        n, t1 = load3(F, s + _AXES), load3(F, s + _AXES + 3)
        d = minus(at(I, F, m.Y, I[e.ends]), at(I, F, m.Y, I[e.ends + FRAME]))
        side, length = math.copysign(1.0, other), math.sqrt(dot(d, d)) + 1e-300
        n_rate = times(side / length, minus(d_rate, times(dot(n, d_rate), n)))
        i = _across(n)
        w = _along(n, i)
        w_rate = times(-1.0, plus(times(n[i], n_rate), times(n_rate[i], n)))
        t1_rate = times(1.0 / math.sqrt(dot(w, w)), minus(w_rate, times(dot(t1, w_rate), t1)))
        t2_rate = plus(cross(n_rate, t1), cross(n, t1_rate))
        arm_rate, x_rate = times(-r, n_rate), times(other, n_rate)
    store3(F, s + _RATES, n_rate)
    store3(F, s + _RATES + 3, t1_rate)
    store3(F, s + _RATES + 6, t2_rate)
    return arm_rate, x_rate


@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Write -Phi; take p from the faces at the point where they meet."""
    gap, arm, x = directions(I, F, e)
    s, p, f = I[m.SCRATCH], load3(F, I[m.A] + e.u), (0.0, 0.0, 0.0)
    store3(F, I[m.X] + e.u, (0.0, 0.0, 0.0))
    if F[e.numbers + sv.ACTIVE] != sv.IDLE:
        F[I[m.X] + e.u] = -gap
    for r in range(3):
        f = plus(f, times(p[r], load3(F, s + _AXES + 3 * r)))
    for a, y, sign in ((I[e.ends], arm, -1.0), (I[e.ends + FRAME], x, 1.0)):
        _push_point(I, F, a, _meets(I, F, a, y), sign, f)


@jit
def _add_frame(I: Any, F: Any, e: Any, first: int, branch: float) -> None:
    """Add rows and columns of the frame whose vectors begin with `first`."""
    s, test, trial = I[m.SCRATCH] + _C, on.vector(I, first, 0), on.vector(I, first + 1, 0)
    column, row = on.vector(I, first, _COLUMN), on.vector(I, first, _ROW)
    n_v = I[I[e.ends + first] + m.ATT_N]
    on.clear(F, test, 3)
    on.clear(F, trial, 3)
    for b in range(first, first + FRAME):
        if I[I[e.ends + b] + m.ATT_N] > 0:
            add4(F, test, -F[s + b], on.map_of(I, b, m.P), 3 * m.MAP_ROW)
            add4(F, trial, -F[s + b], on.velocity_map(I, F, e, b), 3 * m.MAP_ROW)
    q, e1, e2 = F[e.numbers + sv.SHARE], F[e.numbers + sv.E1], F[e.numbers + sv.E2]
    for r in range(3):
        d = load3(F, I[m.SCRATCH] + _AXES + 3 * r)
        on.clear(F, column, 2)
        on.add_through(F, column, test, n_v, 1.0, d)
        on.add_column(I, F, e, first, r, 1.0, column)
        if branch == sv.OPEN:
            continue
        if branch == sv.SLIP and r > 0:  # Q B_T
            other = load3(F, I[m.SCRATCH] + _AXES + 3 * (3 - r))
            own = e1 if r == 1 else e2
            d = minus(times(q * (1.0 - own * own), d), times(q * e1 * e2, other))
        on.add_through(F, row, trial, n_v, 1.0, d)
        on.add_row(I, F, e, first, r, 1.0, row)


@each
def tangent(I: Any, F: Any, e: Any) -> None:
    """Add rows and columns by the branch that acts."""
    to, ld = I[e.pairs - 2], I[e.pairs - 1]
    branch = F[e.numbers + sv.BRANCH] if F[e.numbers + sv.ACTIVE] != sv.IDLE else sv.OPEN
    weights(I, F, e)
    on.form_maps(I, F, e, N, False)
    for first in range(0, N, FRAME):
        if I[I[e.ends + first] + m.ATT_N] > 0:
            _add_frame(I, F, e, first, branch)
    D_n, D_t = F[e.numbers + sv.DELASSUS_N], F[e.numbers + sv.DELASSUS_T]
    if branch == sv.OPEN:
        for r in range(3):
            F[to + r * (ld + 1)] -= 1.0
        return
    F[to] -= CONTACT_SOFT * D_n
    if branch == sv.STICK:
        F[to + ld + 1] -= CONTACT_SOFT * D_t
        F[to + 2 * (ld + 1)] -= CONTACT_SOFT * D_t
        return
    q, mu = F[e.numbers + sv.SHARE], F[e.numbers + sv.FRICTION]
    e1, e2 = F[e.numbers + sv.E1], F[e.numbers + sv.E2]
    F[to + ld] += D_t * mu * e1
    F[to + 2 * ld] += D_t * mu * e2
    F[to + ld + 1] -= D_t * (1.0 - q * (1.0 - e1 * e1) + CONTACT_SOFT)
    F[to + 2 * ld + 2] -= D_t * (1.0 - q * (1.0 - e2 * e2) + CONTACT_SOFT)
    F[to + ld + 2] -= D_t * q * e1 * e2
    F[to + 2 * ld + 1] -= D_t * q * e1 * e2


@each
def rates(I: Any, F: Any, e: Any) -> None:
    """Write -u along n, a1, a2 and its time derivative; of an idle contact zeros."""
    if F[e.numbers + sv.ACTIVE] == sv.IDLE:
        store3(F, I[m.PHID] + e.u, (0.0, 0.0, 0.0))
        store3(F, I[m.PHIDD] + e.u, (0.0, 0.0, 0.0))
        return
    _, arm, x = directions(I, F, e)
    arm_rate, x_rate = direction_rates(I, F, e)
    s, u, change = I[m.SCRATCH], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for a, y, y_rate, sign in (
        (I[e.ends], arm, arm_rate, 1.0), (I[e.ends + FRAME], x, x_rate, -1.0),
    ):  # fmt: skip
        w = _meets(I, F, a, y)
        turned, moved = _along_directors(I, F, m.YD, a, y), _along_directors(I, F, m.Y, a, y_rate)
        w_rate = (0.0, turned[0] + moved[0], turned[1] + moved[1], turned[2] + moved[2])
        u = plus(u, times(sign, _on_face(I, F, m.YD, a, w)))
        curved = plus(_on_face(I, F, m.YDD, a, w), _on_face(I, F, m.YD, a, w_rate))
        change = plus(change, times(sign, curved))
    for r in range(3):
        d, d_rate = load3(F, s + _AXES + 3 * r), load3(F, s + _RATES + 3 * r)
        F[I[m.PHID] + e.u + r] = -dot(d, u)
        F[I[m.PHIDD] + e.u + r] = -dot(d_rate, u) - dot(d, change)


CONTACT = Kind(
    "contact", N, 3, (), forces, tangent, rates, damped=True,
    room=sv.ROOM, own_block=True, set_valued=True, unit="m",
)  # fmt: skip
