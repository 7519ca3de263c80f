r"""Slip at a contact point that moves over both bodies (nonholonomic rows).

A body with the frame :math:`Q, b_1, b_2, b_3` touches one with the frame :math:`P, a_1, a_2, a_3`
at :math:`x = Q - \rho\,e`. The material points that meet there have the velocities

.. math:: \dot Q + \sum_k \rho_k \dot b_k, \quad \rho_k = b_k\cdot(x - Q), \qquad
          \dot P + \sum_k \sigma_k \dot a_k, \quad \sigma_k = a_k\cdot(x - P),

and a row says that their difference has no part along a vector d of either frame:
:math:`g = d\cdot\sum_a c_a \dot x_a` with the eight vectors :math:`x_a` of both frames and
:math:`c = (1, \rho_1, \rho_2, \rho_3, -1, -\sigma_1, -\sigma_2, -\sigma_3)`. The multiplier is the
force along d on the body of Q [N], at the contact point. With :math:`G_{ab} = \partial
c_a/\partial x_b` and :math:`f = \sum_d \mu_d d`,

.. math:: K_{ab} = f\,G_{ab}^T + c_a \mu_b I, \qquad
   \frac{\partial g}{\partial x_b} = \sum_a (d\cdot\dot x_a)\,G_{ab}
   + [d = x_b] \sum_a c_a\dot x_a .

========== ================================================== ===========
kind       e                                                  d
========== ================================================== ===========
ROLL_BALL  :math:`a_3`, the normal of a plane                 a1, a2
ROLL_DISC  :math:`(n - (n\cdot b_3)\,b_3)/|\dots|`, n = a3     a1, a2
KNIFE      (radius 0: Q itself touches)                       b2
========== ================================================== ===========
"""

import math
from collections.abc import Callable
from typing import Any

from mbd.algebra.vec import add3, clear, dot, load3, minus, plus, store3, times
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add4, add_outer3

N = 8  # vectors of both frames: Q, b1, b2, b3, P, a1, a2, a3
AXLE, PLANE, NORMAL = 3, 4, 7
ACROSS = (5, 6)  # directions in the plane along which nothing slips that rolls on it
# places in the scratch space: vectors, rates, c, dc/dx (8 x 8 x 3), d.x'
XS, XDS, C, G, ALONG = 0, 24, 48, 56, 248
FRAME = 4  # vectors of one frame, all of one body: pairs of frames stand for those of attachments
COLUMN, ROW = 3, 4  # vectors on a face; the first three hold a map
_PAIRS = tuple((a, b) for a in (0, FRAME) for b in (0, FRAME))


@jit
def _block(e: Any, one: int, two: int) -> int:
    """Return where place and row length of the block of two frames are."""
    return e.pairs + 2 * (2 * (one // FRAME) + two // FRAME)


@jit
def below(n: Any, a: Any) -> Any:
    """Return e = n; of the other numbers `back_below` has no use."""
    return n, 1.0, 0.0


@jit
def back_below(y: Any, e: Any, size: float, D: float, n: Any, a: Any) -> Any:
    """Return (de/dn)^T y and (de/da)^T y."""
    return y, (0.0, 0.0, 0.0)


@jit
def rim(n: Any, a: Any) -> Any:
    """Return the direction e = v/|v| from the lowest point of a disc to its centre, |v|, D = n.a.

    v = n - D a with the axle a.
    """
    D = dot(n, a)
    v = minus(n, times(D, a))
    size = math.sqrt(dot(v, v)) + 1e-300
    return times(1.0 / size, v), size, D


@jit
def back_rim(y: Any, e: Any, size: float, D: float, n: Any, a: Any) -> Any:
    """Return (de/dn)^T y = z - a (a.z) and (de/da)^T y = -D z - n (a.z), z = (I - e e^T) y/|v|."""
    z = times(1.0 / size, minus(y, times(dot(e, y), e)))
    s = dot(a, z)
    return minus(z, times(s, a)), minus(times(-D, z), times(s, n))


def slip(
    name: str, down: Callable[..., Any], back: Callable[..., Any], directions: tuple[int, ...]
) -> Kind:
    """Return the rows against slip along some of the eight vectors; the number is the radius."""
    n_rows = len(directions)
    of_frame = directions[0] // FRAME  # whose vectors d are

    @jit
    def place(I: Any, F: Any, e: Any) -> Any:
        """Write c and G, and return s, the velocity of slip and the force of the multipliers."""
        s, r = I[m.SCRATCH], F[e.numbers]
        for a in range(N):
            store3(F, s + XS + 3 * a, at(I, F, m.Y, I[e.ends + a]))
            store3(F, s + XDS + 3 * a, at(I, F, m.YD, I[e.ends + a]))
        clear(F, s + G, 3 * N * N)
        axle, normal = load3(F, s + XS + 3 * AXLE), load3(F, s + XS + 3 * NORMAL)
        up, size, D = down(normal, axle)
        arm = times(-r, up)
        x = plus(minus(load3(F, s + XS), load3(F, s + XS + 3 * PLANE)), arm)
        F[s + C], F[s + C + PLANE] = 1.0, -1.0
        for k in range(1, 4):
            b, row = load3(F, s + XS + 3 * k), s + G + 3 * N * k
            F[s + C + k] = dot(b, arm)
            add3(F, row + 3 * k, 1.0, arm)
            by_normal, by_axle = back(b, up, size, D, normal, axle)
            add3(F, row + 3 * NORMAL, -r, by_normal)
            add3(F, row + 3 * AXLE, -r, by_axle)
            j = PLANE + k
            a, row = load3(F, s + XS + 3 * j), s + G + 3 * N * j
            F[s + C + j] = -dot(a, x)
            add3(F, row + 3 * j, -1.0, x)
            add3(F, row, -1.0, a)
            add3(F, row + 3 * PLANE, 1.0, a)
            by_normal, by_axle = back(a, up, size, D, normal, axle)
            add3(F, row + 3 * NORMAL, r, by_normal)
            add3(F, row + 3 * AXLE, r, by_axle)
        velocity, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for a in range(N):
            velocity = plus(velocity, times(F[s + C + a], load3(F, s + XDS + 3 * a)))
        for row in range(n_rows):
            mu = F[I[m.A] + e.u + row]
            force = plus(force, times(mu, load3(F, s + XS + 3 * directions[row])))
        return s, velocity, force

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Write g; add c_a f at all vectors."""
        s, velocity, force = place(I, F, e)
        for row in range(n_rows):
            d = load3(F, s + XS + 3 * directions[row])
            F[I[m.X] + e.u + row] = F[m.ROW_RATE] * dot(d, velocity)
        for a in range(N):
            push(I, F, m.FY, I[e.ends + a], F[s + C + a], force)

    @jit
    def add_rows(I: Any, F: Any, e: Any, first: int, velocity: Any) -> None:
        """Add the rows and columns of the frame whose vectors begin with `first`.

        With C = sum_b c_b P_b of the test map, of that of velocities and of their derivative.
        """
        s, turn = I[m.SCRATCH], F[m.ROW_TURN]
        test, trial, drift = (
            on.vector(I, first, 0),
            on.vector(I, first + 1, 0),
            on.vector(I, first + 2, 0),
        )
        column, row = on.vector(I, first, COLUMN), on.vector(I, first, ROW)
        n_v = I[I[e.ends + first] + m.ATT_N]
        on.clear(F, test, 3)
        on.clear(F, trial, 3)
        on.clear(F, drift, 3)
        for b in range(first, first + FRAME):
            c = F[s + C + b]
            add4(F, test, c, on.map_of(I, b, m.P), 3 * m.MAP_ROW)
            add4(F, trial, c, on.velocity_map(I, F, e, b), 3 * m.MAP_ROW)
            add4(F, drift, c * turn, on.map_of(I, b, m.DP), 3 * m.MAP_ROW)
        for r in range(n_rows):
            d = load3(F, s + XS + 3 * directions[r])
            on.clear(F, column, 2)
            on.add_through(F, column, test, n_v, 1.0, d)
            on.add_through(F, row, trial, n_v, 1.0, d)
            if turn != 0.0:
                on.add_through(F, row, drift, n_v, 1.0, d)
                for a in range(N):
                    F[s + ALONG + a] = dot(d, load3(F, s + XDS + 3 * a))
                for b in range(first, first + FRAME):
                    change = velocity if b == directions[r] else (0.0, 0.0, 0.0)
                    for a in range(N):
                        dc = load3(F, s + G + 3 * (N * a + b))
                        change = plus(change, times(F[s + ALONG + a], dc))
                    on.add_through(F, row, on.map_of(I, b, m.PT), n_v, turn, change)
            on.add_row(I, F, e, first, r, 1.0, row)
            on.add_column(I, F, e, first, r, 1.0, column)

    @jit
    def add_block(I: Any, F: Any, e: Any, one: int, two: int, force: Any) -> None:
        """Add sum_ab P_a f (P_T,b G_ab)^T of two frames, and C (sum_b mu_b P_T,b)^T."""
        s, block = I[m.SCRATCH], _block(e, one, two)
        to, ld, rows, columns = I[block], I[block + 1], I[e.ends + one], I[e.ends + two]
        rows, columns = I[rows + m.ATT_N], I[columns + m.ATT_N]
        U, V = on.vector(I, one + 1, 0), on.vector(I, two + 2, 0)
        on.clear(F, U, 3)
        on.clear(F, V, 3)
        for k in range(1, FRAME):  # of the point itself G is zero
            on.add_through(F, U + m.MAP_ROW * (k - 1), on.map_of(I, one + k, m.P), rows, 1.0, force)
            for b in range(two, two + FRAME):
                dc = load3(F, s + G + 3 * (N * (one + k) + b))
                if dc[0] != 0.0 or dc[1] != 0.0 or dc[2] != 0.0:
                    on.add_through(
                        F, V + m.MAP_ROW * (k - 1), on.map_of(I, b, m.PT), columns, 1.0, dc
                    )
        add_outer3(F, to, ld, rows, columns, F[m.W_K], U, V)
        if two == FRAME * of_frame:
            on.clear(F, V, 3)
            for r in range(n_rows):
                mu, d = F[I[m.A] + e.u + r], on.map_of(I, directions[r], m.PT)
                add4(F, V, mu, d, 3 * m.MAP_ROW)
            add_outer3(F, to, ld, rows, columns, F[m.W_K], on.vector(I, one, 0), V)

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add rows and columns, the derivative of A^T mu, and that of g with respect to q."""
        _, velocity, force = place(I, F, e)
        on.form_maps(I, F, e, N, True)
        for one in range(0, N, FRAME):
            if I[I[e.ends + one] + m.ATT_N] > 0:
                add_rows(I, F, e, one, velocity)
        for one in range(0, N, FRAME):
            for two in range(0, N, FRAME):
                if I[_block(e, one, two)] > 0:
                    add_block(I, F, e, one, two, force)

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        """Write g and its time derivative."""
        s, velocity, _ = place(I, F, e)
        change = (0.0, 0.0, 0.0)
        for a in range(N):
            c_rate = 0.0
            for b in range(N):
                dc = load3(F, s + G + 3 * (N * a + b))
                c_rate += dot(dc, load3(F, s + XDS + 3 * b))
            change = plus(change, times(F[s + C + a], at(I, F, m.YDD, I[e.ends + a])))
            change = plus(change, times(c_rate, load3(F, s + XDS + 3 * a)))
        for row in range(n_rows):
            d = load3(F, s + XS + 3 * directions[row])
            d_rate = load3(F, s + XDS + 3 * directions[row])
            F[I[m.PHID] + e.u + row] = dot(d, velocity)
            F[I[m.PHIDD] + e.u + row] = dot(d_rate, velocity) + dot(d, change)

    return Kind(
        name, N, n_rows, _PAIRS, forces, tangent, rates, damped=True, smooth=True, unit="m/s"
    )


ROLL_BALL = slip("rolling ball row", below, back_below, ACROSS)
ROLL_DISC = slip("rolling disc row", rim, back_rim, ACROSS)
#: for bodies that move in a plane, of which the second direction is the normal
ROLL_IN_PLANE = {
    ROLL_BALL: slip("rolling ball in plane", below, back_below, ACROSS[:1]),
    ROLL_DISC: slip("rolling disc in plane", rim, back_rim, ACROSS[:1]),
}
KNIFE = slip("knife edge row", below, back_below, (2,))
