r"""Constraint rows on faces, from which every joint is assembled.

======== ============================== ==============================================
COINCIDE :math:`P - Q = 0` (3 rows)     P on the first face, Q on the second
row(DOT) :math:`a\cdot b - c = 0`       a vector of each face
OFFSET   :math:`a\cdot(P-Q) - c = 0`    a and P on the first face, Q on the second
SQUARE   :math:`\tfrac12|Q-P|^2 - c`    a distance
======== ============================== ==============================================

``row`` takes any measure; sums of measures with laws of time are in ``driven_rows.py``.

The residual holds :math:`+B^T\lambda`. With P - Q the multipliers of COINCIDE are the force *on the
second body*.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, mat_plus, minus, plus, store3, times
from mbd.interactions.kind import Kind
from mbd.interactions.measures import (
    DOT,
    GRAD,
    HESS,
    MU,
    NORMAL,
    XA,
    XD,
    Measure,
    along,
    bend,
    hessian,
    hessian_times,
    unwrap,
)
from mbd.interactions.pullback import add_gradient, add_product, add_scaled_product, at, push
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_DP, ATT_N, ATT_P, ATT_PT, ATT_PV
from mbd.machine.jit import jit, kernel

__all__ = ["COINCIDE", "DOT_ROW", "add_row", "row"]

A, FY, PHID, PHIDD, POSITION_TURN, SCRATCH, W_K, X, Y, YD, YDD = (
    m.A, m.FY, m.PHID, m.PHIDD, m.POSITION_TURN, m.SCRATCH, m.W_K, m.X, m.Y, m.YD, m.YDD,
)  # fmt: skip


@kernel
def coincide_forces(I: Any, F: Any, k: int) -> None:
    """Write P - Q; add lam at P, -lam at Q."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        P, Q, u = I[i], I[i + 1], I[i + 2]
        lam = load3(F, I[A] + u)
        store3(F, I[X] + u, minus(at(I, F, Y, P), at(I, F, Y, Q)))
        push(I, F, FY, P, 1.0, lam)
        push(I, F, FY, Q, -1.0, lam)


@kernel
def coincide_tangent(I: Any, F: Any, k: int) -> None:
    """Add the 3 x n blocks of B and their transposes."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        sign, turn = 1.0, F[POSITION_TURN]
        for side in range(2):
            a, j = I[i + side], i + 6 + 4 * side
            P, B, ld, Bt, ldt = I[a + ATT_P], I[j], I[j + 1], I[j + 2], I[j + 3]
            PT = I[a + ATT_PT] if turn == 0.0 else I[a + ATT_PV]
            for c in range(I[a + ATT_N]):
                for r in range(3):
                    F[B + r * ld + c] += sign * F[PT + 3 * c + r]
                    F[Bt + c * ldt + r] += sign * F[P + 3 * c + r]
            if turn != 0.0:
                for c in range(I[a + ATT_N]):
                    for r in range(3):
                        F[B + r * ld + c] += sign * turn * F[I[a + ATT_DP] + 3 * c + r]
            sign = -1.0


@kernel
def coincide_rates(I: Any, F: Any, k: int) -> None:
    """Write both derivatives of P - Q."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        P, Q, u = I[i], I[i + 1], I[i + 2]
        store3(F, I[PHID] + u, minus(at(I, F, YD, P), at(I, F, YD, Q)))
        store3(F, I[PHIDD] + u, minus(at(I, F, YDD, P), at(I, F, YDD, Q)))


@jit
def add_row(I: Any, F: Any, a: int, g: Any, rate: Any, to: int) -> None:
    """Add the gradient g of a row on attachment a; by its rate, where that is met, also g' = H x'.

    The rate g.x' of a row has the gradient g in the velocities; by positions it turns with x' and
    with g'.
    """
    n, turn = I[a + ATT_N], F[POSITION_TURN]
    if turn == 0.0:
        add_gradient(F, I[a + ATT_PT], n, 1.0, g, to, 1)
    else:
        add_gradient(F, I[a + ATT_PV], n, 1.0, g, to, 1)
        add_gradient(F, I[a + ATT_DP], n, turn, g, to, 1)
        add_gradient(F, I[a + ATT_PT], n, turn, rate, to, 1)


@kernel
def dot_forces(I: Any, F: Any, k: int) -> None:
    """Write a.b - c; add lam b at a, lam a at b."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        a, b, u = at(I, F, Y, I[i]), at(I, F, Y, I[i + 1]), I[i + 2]
        lam = F[I[A] + u]
        F[I[X] + u] = dot(a, b) - F[I[i + 3]]
        push(I, F, FY, I[i], lam, b)
        push(I, F, FY, I[i + 1], lam, a)


@kernel
def dot_tangent(I: Any, F: Any, k: int) -> None:
    """Add the rows of B, their transposes, and lam P_a P_b^T in both orders."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        lam = F[W_K] * F[I[A] + I[i + 2]]
        for side in range(2):
            a, b, j = I[i + side], I[i + 1 - side], i + 6 + 4 * side
            n = I[a + ATT_N]
            g = at(I, F, Y, b)
            add_row(I, F, a, g, at(I, F, YD, b), I[j])
            add_gradient(F, I[a + ATT_P], n, 1.0, g, I[j + 2], I[j + 3])
            K = I[i + 14 + 2 * side]
            if K >= 0:
                add_scaled_product(F, I[a + ATT_P], n, lam, I[b + ATT_PT], I[b + ATT_N], K,
                                   I[i + 15 + 2 * side])  # fmt: skip


@kernel
def dot_rates(I: Any, F: Any, k: int) -> None:
    """Write both derivatives of a.b."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        u = I[i + 2]
        a, ad, add = at(I, F, Y, I[i]), at(I, F, YD, I[i]), at(I, F, YDD, I[i])
        b, bd, bdd = at(I, F, Y, I[i + 1]), at(I, F, YD, I[i + 1]), at(I, F, YDD, I[i + 1])
        F[I[PHID] + u] = dot(a, bd) + dot(ad, b)
        F[I[PHIDD] + u] = dot(a, bdd) + 2 * dot(ad, bd) + dot(add, b)


COINCIDE = Kind(
    "coincide", 2, 3, (), coincide_forces, coincide_tangent, coincide_rates, unit="m"
)  # fmt: skip
DOT_ROW = Kind("dot", 2, 1, DOT.pairs, dot_forces, dot_tangent, dot_rates)


@cache
def row(measure: Measure) -> Kind:
    """Return the constraint ``measure - c = 0`` as a kind with one row.

    A periodic measure has one number of memory: the angle last accepted.
    """
    evaluate, n, pairs = measure.evaluate, measure.n, measure.pairs
    curved, bent, periodic = measure.curved, measure.bent, measure.periodic
    if curved:
        pairs = measure.all_pairs
    n_pairs = len(pairs)
    fields = n + 4
    first = tuple(p[0] for p in pairs)
    second = tuple(p[1] for p in pairs)

    @jit
    def value(I: Any, F: Any, i: int, s: int) -> float:
        for a in range(n):
            store3(F, s + XA + 3 * a, at(I, F, Y, I[i + a]))
        u = evaluate(F, s)
        return unwrap(u, F[I[i + n + 2]]) if periodic else u

    @kernel
    def forces(I: Any, F: Any, k: int) -> None:
        s = I[SCRATCH]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            u = I[i + n]
            F[I[X] + u] = value(I, F, i, s) - F[I[i + n + 1]]
            for a in range(n):
                push(I, F, FY, I[i + a], F[I[A] + u], load3(F, s + GRAD + 3 * a))

    @kernel
    def tangent(I: Any, F: Any, k: int) -> None:
        s = I[SCRATCH]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            value(I, F, i, s)
            lam = F[W_K] * F[I[A] + I[i + n]]
            by_rates = F[POSITION_TURN] != 0.0
            ud, turn = 0.0, 0.0
            if by_rates:
                for a in range(n):
                    xd = at(I, F, YD, I[i + a])
                    store3(F, s + XD + 3 * a, xd)
                    ud += dot(load3(F, s + GRAD + 3 * a), xd)
                    turn += dot(load3(F, s + NORMAL + 3 * a), xd)
            for a in range(n):
                j, at_a = i + fields + 4 * a, I[i + a]
                g, change = load3(F, s + GRAD + 3 * a), (0.0, 0.0, 0.0)
                if by_rates:
                    change = hessian_times(F, s, n, a, ud, turn)
                    if bent:
                        change = plus(change, times(F[s + MU] * turn, load3(F, s + NORMAL + 3 * a)))
                add_row(I, F, at_a, g, change, I[j])
                add_gradient(F, I[at_a + ATT_P], I[at_a + ATT_N], 1.0, g, I[j + 2], I[j + 3])
            for p in range(n_pairs):
                a, b, j = first[p], second[p], i + fields + 4 * n + 2 * p
                if I[j] < 0:
                    continue
                one, two = I[i + a], I[i + b]
                P, PT, rows, cols = I[one + ATT_P], I[two + ATT_PT], I[one + ATT_N], I[two + ATT_N]
                if curved:
                    H = hessian(F, s, a, b)
                    if bent:
                        H = mat_plus(H, 1.0, bend(F, s, a, b))
                    add_product(F, P, rows, lam, H, PT, cols, I[j], I[j + 1])
                else:
                    h = lam * F[s + HESS + 4 * a + b]
                    add_scaled_product(F, P, rows, h, PT, cols, I[j], I[j + 1])

    @kernel
    def rates(I: Any, F: Any, k: int) -> None:
        s = I[SCRATCH]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            value(I, F, i, s)
            for a in range(n):
                store3(F, s + XD + 3 * a, at(I, F, YD, I[i + a]))
            rate, second_rate = 0.0, 0.0
            for a in range(n):
                g = load3(F, s + GRAD + 3 * a)
                rate += dot(g, load3(F, s + XD + 3 * a))
                second_rate += dot(g, at(I, F, YDD, I[i + a]))
            F[I[PHID] + I[i + n]] = rate
            F[I[PHIDD] + I[i + n]] = second_rate + along(F, s, n, rate, curved, bent)

    @kernel
    def accept(I: Any, F: Any, k: int) -> None:
        """Remember the angle, so that the next one is the nearest to it."""
        s = I[SCRATCH]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            F[I[i + n + 2]] = value(I, F, i, s)

    return Kind(
        f"{measure.name} row", n, 1, pairs, forces, tangent, rates, accept if periodic else None,
        secant=not curved, unit=measure.unit,
    )  # fmt: skip
