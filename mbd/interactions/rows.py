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

from mbd.algebra.vec import dot, load3, minus, store3
from mbd.interactions.gradients import (
    GAMMA,
    ROW,
    add_measured_row,
    value_of,
)
from mbd.interactions.kind import Kind
from mbd.interactions.measures import DOT, GRAD, Measure, along
from mbd.interactions.pullback import (
    add_column,
    add_multiple,
    add_row,
    add_through,
    at,
    each,
    form_maps,
    map_of,
    push,
    set_through,
    vector,
    velocity_map,
)
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_N, DP, MAP_ROW, PT, P
from mbd.machine.jit import jit

__all__ = ["COINCIDE", "DOT_ROW", "add_gradient", "row"]

A, FY, PHID, PHIDD, POSITION_TURN, SCRATCH, W_K, X, Y, YD, YDD = (
    m.A, m.FY, m.PHID, m.PHIDD, m.POSITION_TURN, m.SCRATCH, m.W_K, m.X, m.Y, m.YD, m.YDD,
)  # fmt: skip


@each
def coincide_forces(I: Any, F: Any, e: Any) -> None:
    """Write P - Q; add lam at P, -lam at Q."""
    P, Q = I[e.ends], I[e.ends + 1]
    lam = load3(F, I[A] + e.u)
    store3(F, I[X] + e.u, minus(at(I, F, Y, P), at(I, F, Y, Q)))
    push(I, F, FY, P, 1.0, lam)
    push(I, F, FY, Q, -1.0, lam)


@each
def coincide_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the 3 x n blocks of B and their transposes."""
    turn = F[POSITION_TURN]
    form_maps(I, F, e, 2, turn != 0.0)
    for a in range(2):
        if I[I[e.ends + a] + ATT_N] == 0:
            continue
        sign = 1.0 if a == 0 else -1.0
        rows = map_of(I, a, PT) if turn == 0.0 else velocity_map(I, e, a)
        for r in range(3):
            add_row(I, F, e, a, r, sign, rows + MAP_ROW * r)
            add_column(I, F, e, a, r, sign, map_of(I, a, P) + MAP_ROW * r)
            if turn != 0.0:
                add_row(I, F, e, a, r, sign * turn, map_of(I, a, DP) + MAP_ROW * r)


@each
def coincide_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of P - Q."""
    P, Q = I[e.ends], I[e.ends + 1]
    store3(F, I[PHID] + e.u, minus(at(I, F, YD, P), at(I, F, YD, Q)))
    store3(F, I[PHIDD] + e.u, minus(at(I, F, YDD, P), at(I, F, YDD, Q)))


@jit
def add_gradient(I: Any, F: Any, e: Any, a: int, r: int, g: Any, rate: Any) -> None:
    """Add the gradient g of row r on attachment a, whose maps are formed; by its rate also g'.

    The rate g.x' of a row has the gradient g in the velocities; by positions it turns with x' and
    with g' = H x'.
    """
    turn = F[POSITION_TURN]
    x, column, n_v = vector(I, a, ROW), vector(I, a, GAMMA), I[I[e.ends + a] + ATT_N]
    set_through(F, x, map_of(I, a, PT) if turn == 0.0 else velocity_map(I, e, a), n_v, 1.0, g)
    if turn != 0.0:
        add_through(F, x, map_of(I, a, DP), n_v, turn, g)
        add_through(F, x, map_of(I, a, PT), n_v, turn, rate)
    set_through(F, column, map_of(I, a, P), n_v, 1.0, g)
    add_row(I, F, e, a, r, 1.0, x)
    add_column(I, F, e, a, r, 1.0, column)


@each
def dot_forces(I: Any, F: Any, e: Any) -> None:
    """Write a.b - c; add lam b at a, lam a at b."""
    a, b = at(I, F, Y, I[e.ends]), at(I, F, Y, I[e.ends + 1])
    lam = F[I[A] + e.u]
    F[I[X] + e.u] = dot(a, b) - F[e.numbers]
    push(I, F, FY, I[e.ends], lam, b)
    push(I, F, FY, I[e.ends + 1], lam, a)


@each
def dot_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows of B, their transposes, and lam P_a P_b^T in both orders."""
    lam = F[W_K] * F[I[A] + e.u]
    form_maps(I, F, e, 2, F[POSITION_TURN] != 0.0)
    for a in range(2):
        b = I[e.ends + 1 - a]
        if I[I[e.ends + a] + ATT_N] > 0:
            add_gradient(I, F, e, a, 0, at(I, F, Y, b), at(I, F, YD, b))
        add_multiple(I, F, e, a, a, 1 - a, lam)


@each
def dot_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of a.b."""
    i, j = I[e.ends], I[e.ends + 1]
    a, ad, add = at(I, F, Y, i), at(I, F, YD, i), at(I, F, YDD, i)
    b, bd, bdd = at(I, F, Y, j), at(I, F, YD, j), at(I, F, YDD, j)
    F[I[PHID] + e.u] = dot(a, bd) + dot(ad, b)
    F[I[PHIDD] + e.u] = dot(a, bdd) + 2 * dot(ad, bd) + dot(add, b)


COINCIDE = Kind(
    "coincide", 2, 3, (), coincide_forces, coincide_tangent, coincide_rates, unit="m"
)  # fmt: skip
DOT_ROW = Kind("dot", 2, 1, DOT.pairs, dot_forces, dot_tangent, dot_rates)


@cache
def row(measure: Measure) -> Kind:
    """Return the constraint ``measure - c = 0`` as a kind with one row.

    A periodic measure has one number of memory: the angle last accepted.
    """
    n, curved, bent, periodic = measure.n, measure.curved, measure.bent, measure.periodic
    value, held = value_of(measure), len(measure.pairs) > 0 or curved

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        s = I[SCRATCH]
        u, _ = value(I, F, e, False)
        F[I[X] + e.u] = u - F[e.numbers]
        for a in range(n):
            push(I, F, FY, I[e.ends + a], F[I[A] + e.u], load3(F, s + GRAD + 3 * a))

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        lam = F[W_K] * F[I[A] + e.u]
        _, ud = value(I, F, e, F[POSITION_TURN] != 0.0)
        add_measured_row(I, F, e, n, curved, bent, held, False, ud, 1.0, lam)

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        s = I[SCRATCH]
        _, rate = value(I, F, e, True)
        second = along(F, s, n, rate, curved, bent)
        for a in range(n):
            second += dot(load3(F, s + GRAD + 3 * a), at(I, F, YDD, I[e.ends + a]))
        F[I[PHID] + e.u] = rate
        F[I[PHIDD] + e.u] = second

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        """Remember the angle, so that the next one is the nearest to it."""
        F[e.memory], _ = value(I, F, e, False)

    return Kind(
        f"{measure.name} row", n, 1, measure.all_pairs if held else (), forces,
        tangent, rates, accept if periodic else None, secant=not curved, unit=measure.unit,
    )  # fmt: skip
