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

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mbd.algebra.vec import add3, dot, load3, mat_plus, minus, outer, plus, store3, times
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import add_gradient, add_product, at, push
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_DP, ATT_N, ATT_P, ATT_PT, ATT_PV
from mbd.machine.jit import jit, kernel

__all__ = ["KNIFE", "ROLL_BALL", "ROLL_DISC"]

A, FY, PHID, PHIDD, ROW_RATE, ROW_TURN, SCRATCH, W_K, X, Y, YD, YDD = (
    m.A, m.FY, m.PHID, m.PHIDD, m.ROW_RATE, m.ROW_TURN, m.SCRATCH, m.W_K, m.X, m.Y, m.YD, m.YDD,
)  # fmt: skip
N = 8  # vectors of both frames: Q, b1, b2, b3, P, a1, a2, a3
AXLE, PLANE, NORMAL = 3, 4, 7
XS, XDS, C, G = 0, 24, 48, 56  # places in the scratch space: vectors, rates, c, dc/dx (8 x 8 x 3)
_EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


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
    fields = N + 4

    @jit
    def place(I: Any, F: Any, i: int) -> Any:
        """Write c and G, and return s, the velocity of slip and the force of the multipliers."""
        s, r = I[SCRATCH], F[I[i + N + 1]]
        for a in range(N):
            store3(F, s + XS + 3 * a, at(I, F, Y, I[i + a]))
            store3(F, s + XDS + 3 * a, at(I, F, YD, I[i + a]))
        for j in range(3 * N * N):
            F[s + G + j] = 0.0
        axle, normal = load3(F, s + XS + 3 * AXLE), load3(F, s + XS + 3 * NORMAL)
        e, size, D = down(normal, axle)
        arm = times(-r, e)
        x = plus(minus(load3(F, s + XS), load3(F, s + XS + 3 * PLANE)), arm)
        F[s + C], F[s + C + PLANE] = 1.0, -1.0
        for k in range(1, 4):
            b, row = load3(F, s + XS + 3 * k), s + G + 3 * N * k
            F[s + C + k] = dot(b, arm)
            add3(F, row + 3 * k, 1.0, arm)
            by_normal, by_axle = back(b, e, size, D, normal, axle)
            add3(F, row + 3 * NORMAL, -r, by_normal)
            add3(F, row + 3 * AXLE, -r, by_axle)
            j = PLANE + k
            a, row = load3(F, s + XS + 3 * j), s + G + 3 * N * j
            F[s + C + j] = -dot(a, x)
            add3(F, row + 3 * j, -1.0, x)
            add3(F, row, -1.0, a)
            add3(F, row + 3 * PLANE, 1.0, a)
            by_normal, by_axle = back(a, e, size, D, normal, axle)
            add3(F, row + 3 * NORMAL, r, by_normal)
            add3(F, row + 3 * AXLE, r, by_axle)
        velocity, force = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for a in range(N):
            velocity = plus(velocity, times(F[s + C + a], load3(F, s + XDS + 3 * a)))
        for row in range(n_rows):
            mu = F[I[A] + I[i + N] + row]
            force = plus(force, times(mu, load3(F, s + XS + 3 * directions[row])))
        return s, velocity, force

    @kernel
    def forces(I: Any, F: Any, k: int) -> None:
        """Write g; add c_a f at all vectors."""
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            s, velocity, force = place(I, F, i)
            for row in range(n_rows):
                d = load3(F, s + XS + 3 * directions[row])
                F[I[X] + I[i + N] + row] = F[ROW_RATE] * dot(d, velocity)
            for a in range(N):
                push(I, F, FY, I[i + a], F[s + C + a], force)

    @kernel
    def tangent(I: Any, F: Any, k: int) -> None:
        """Add rows and columns, the derivative of A^T mu, and that of g with respect to q."""
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            s, velocity, force = place(I, F, i)
            for row in range(n_rows):
                d = load3(F, s + XS + 3 * directions[row])
                for b in range(N):
                    one, j = I[i + b], i + fields + 4 * b
                    n_v, B = I[one + ATT_N], I[j] + row * I[j + 1]
                    c = F[s + C + b]
                    add_gradient(F, I[one + ATT_P], n_v, c, d, I[j + 2] + row, I[j + 3])
                    add_gradient(F, I[one + ATT_PV], n_v, c, d, B, 1)
                    if F[ROW_TURN] == 0.0:
                        continue
                    turn = velocity if b == directions[row] else (0.0, 0.0, 0.0)
                    for a in range(N):
                        along = dot(d, load3(F, s + XDS + 3 * a))
                        turn = plus(turn, times(along, load3(F, s + G + 3 * (N * a + b))))
                    add_gradient(F, I[one + ATT_DP], n_v, F[ROW_TURN] * c, d, B, 1)
                    add_gradient(F, I[one + ATT_PT], n_v, F[ROW_TURN], turn, B, 1)
            for a in range(N):
                for b in range(N):
                    j = i + fields + 4 * N + 2 * (N * a + b)
                    if I[j] < 0:
                        continue
                    one, two = I[i + a], I[i + b]
                    K = outer(force, load3(F, s + G + 3 * (N * a + b)))
                    for row in range(n_rows):
                        if b == directions[row]:
                            mu = F[I[A] + I[i + N] + row]
                            K = mat_plus(K, F[s + C + a] * mu, _EYE)
                    add_product(F, I[one + ATT_P], I[one + ATT_N], F[W_K], K, I[two + ATT_PT],
                                I[two + ATT_N], I[j], I[j + 1])  # fmt: skip

    @kernel
    def rates(I: Any, F: Any, k: int) -> None:
        """Write g and its time derivative."""
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            s, velocity, _ = place(I, F, i)
            change = (0.0, 0.0, 0.0)
            for a in range(N):
                c_rate = 0.0
                for b in range(N):
                    dc = load3(F, s + G + 3 * (N * a + b))
                    c_rate += dot(dc, load3(F, s + XDS + 3 * b))
                change = plus(change, times(F[s + C + a], at(I, F, YDD, I[i + a])))
                change = plus(change, times(c_rate, load3(F, s + XDS + 3 * a)))
            for row in range(n_rows):
                d = load3(F, s + XS + 3 * directions[row])
                d_rate = load3(F, s + XDS + 3 * directions[row])
                u = I[i + N] + row
                F[I[PHID] + u] = dot(d, velocity)
                F[I[PHIDD] + u] = dot(d_rate, velocity) + dot(d, change)

    pairs = tuple((a, b) for a in range(N) for b in range(N))
    return Kind(name, N, n_rows, pairs, forces, tangent, rates, damped=True, unit="m/s")


ROLL_BALL = slip("rolling ball row", below, back_below, (5, 6))
ROLL_DISC = slip("rolling disc row", rim, back_rim, (5, 6))
KNIFE = slip("knife edge row", below, back_below, (2,))
