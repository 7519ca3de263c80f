r"""Gradients and Hessians of measures, summed on faces and added to the matrix.

With the gradient g, the vectors n and the numbers h, :math:`\kappa`, :math:`\mu` of a measure
(``measures.py``), :math:`\gamma = \sum_a P_a g_a`, :math:`\nu = \sum_a P_a n_a` on each face and
the same with the trial map, :math:`\gamma', \nu'`, the Hessian adds to the block of two faces

.. math:: \gamma\,(\kappa\gamma' - \nu')^T + \nu\,(\mu\nu' - \gamma')^T
          + \sum_{ab} h_{ab} P_a P_{T,b}^T .
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, minus, plus, store3, times
from mbd.interactions.kind import Kind
from mbd.interactions.measures import (
    GRAD,
    HESS,
    KAPPA,
    MU,
    NORMAL,
    XA,
    XD,
    Measure,
    hessian_times,
)
from mbd.interactions.pullback import (
    add_column,
    add_multiple,
    add_row,
    add_through,
    at,
    clear,
    coupled,
    each,
    face,
    form_maps,
    map_of,
    vector,
    velocity_map,
)
from mbd.interactions.turns import counted, keep, remember
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add_outer1, add_outer2

GAMMA, NU, X, Z, ROW = 0, 1, 2, 3, 4  # vectors on a face: gamma, nu, what they are multiplied by


@cache
def value_of(measure: Measure) -> Any:
    """Return a function that evaluates a measure; with ``rates`` it leaves those of its vectors.

    It returns u and du/dt or zero; of an angle u counts turns, by the memory of the element.
    """
    evaluate, n, periodic = measure.evaluate, measure.n, measure.periodic

    @jit
    def value(I: Any, F: Any, e: Any, rates: bool) -> Any:
        moves = rates or (periodic and F[m.T] != F[m.T_LAST])
        _load(I, F, e, n, moves)
        u = evaluate(F, I[m.SCRATCH])
        rate = _rate(I, F, n, GRAD) if moves else 0.0
        if periodic:
            u = counted(I, F, e.memory, u, rate)
        return u, rate

    return value


@cache
def accept_of(measure: Measure) -> Any:
    """Return the kernel that remembers the angle of an accepted pose and its rate, if it is one."""
    if not measure.periodic:
        return None
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, ud = value(I, F, e, True)
        remember(I, F, e.memory, u, ud)

    return accept


@cache
def unwrapped_angle(measure: Measure) -> Kind:
    """Return the kind that counts the turns of a periodic measure, and exerts no force.

    The angle is part of the state: results and continued runs take the full turns from there.
    """
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, rate = value(I, F, e, True)
        keep(I, F, e.memory, u, rate)

    return Kind(f"turns of {measure.name}", measure.n, 0, (), None, None, accept=accept, turns=True)


@jit
def _load(I: Any, F: Any, e: Any, n: int, rates: bool) -> None:
    """Leave n vectors, with ``rates`` theirs too."""
    s = I[m.SCRATCH]
    for a in range(n):
        store3(F, s + XA + 3 * a, at(I, F, m.Y, I[e.ends + a]))
        if rates:
            store3(F, s + XD + 3 * a, at(I, F, m.YD, I[e.ends + a]))


@jit
def _rate(I: Any, F: Any, n: int, which: int) -> float:
    """Return g.x' of the n vectors, or n.x'."""
    s, total = I[m.SCRATCH], 0.0
    for a in range(n):
        total += dot(load3(F, s + which + 3 * a), load3(F, s + XD + 3 * a))
    return total


@jit
def change_of_gradient(I: Any, F: Any, of: Any, a: int, ud: float, turn: float) -> Any:
    """Return (H x')_a with ud = g.x' and turn = n.x'."""
    s = I[m.SCRATCH]
    hx = hessian_times(F, s, of.n, a, ud, turn)
    return plus(hx, times(F[s + MU] * turn, load3(F, s + NORMAL + 3 * a))) if of.bent else hx


@jit
def add_products(I: Any, F: Any, e: Any, n: int, two: bool) -> None:
    """Add gamma x^T, with ``two`` also nu z^T, to the blocks of all faces of n attachments."""
    for a in range(n):
        if face(I, e, a) != a:
            continue
        for b in range(n):
            if face(I, e, b) != b:
                continue
            if not coupled(I, F, e, a * n + b):
                continue
            pair, rows, columns = e.pairs + 2 * (a * n + b), I[e.ends + a], I[e.ends + b]
            to, ld, rows, columns = I[pair], I[pair + 1], I[rows + m.ATT_N], I[columns + m.ATT_N]
            U, V = vector(I, a, GAMMA), vector(I, b, X)
            if two:
                add_outer2(F, to, ld, rows, columns, 1.0, U, V)
            else:
                add_outer1(F, to, ld, rows, columns, 1.0, U, V)


@jit
def add_bent(I: Any, F: Any, e: Any, n: int, weight: float) -> None:
    """Add weight h_ab P_a P_T,b^T of n attachments."""
    h = I[m.SCRATCH] + HESS
    for a in range(n):
        for b in range(n):
            if F[h + 4 * a + b] != 0.0:
                add_multiple(I, F, e, a * n + b, a, b, weight * F[h + 4 * a + b])


@jit
def gather_hessian(I: Any, F: Any, e: Any, of: Any, r: int, a: int, weight: float) -> None:
    """Add the part of attachment a to nu, and to weight times what gamma and nu go with."""
    s, trial, n_v = I[m.SCRATCH], map_of(I, a, m.PT), I[I[e.ends + a] + m.ATT_N]
    g, nu = load3(F, s + GRAD + 3 * a), load3(F, s + NORMAL + 3 * a)
    add_through(F, vector(I, r, NU), map_of(I, a, m.P), n_v, 1.0, nu)
    add_through(F, vector(I, r, X), trial, n_v, weight, minus(times(F[s + KAPPA], g), nu))
    mu = F[s + MU] if of.bent else 0.0
    add_through(F, vector(I, r, Z), trial, n_v, weight, minus(times(mu, nu), g))


@jit
def add_tension(
    I: Any, F: Any, e: Any, of: Any, ud: float, f: float, stiff: float, damp: float
) -> None:
    """Add the tangent of the forces f g: f H, and the change of f with u and its rate, times g."""
    s, wG, wK, n = I[m.SCRATCH], F[m.W_G], F[m.W_K], of.n
    form_maps(I, F, e, n, damp != 0.0)
    turn = _rate(I, F, n, NORMAL) if damp != 0.0 else 0.0
    for a in range(n):
        r = face(I, e, a)
        if r < 0:
            continue
        if r == a:
            clear(F, vector(I, a, GAMMA), 4)
        g, x, n_v = load3(F, s + GRAD + 3 * a), vector(I, r, X), I[I[e.ends + a] + m.ATT_N]
        add_through(F, vector(I, r, GAMMA), map_of(I, a, m.P), n_v, 1.0, g)
        add_through(F, x, map_of(I, a, m.PT), n_v, wK * stiff, g)
        if damp != 0.0:
            change = change_of_gradient(I, F, of, a, ud, turn)
            add_through(F, x, velocity_map(I, F, e, a), n_v, wG * damp, g)
            add_through(F, x, map_of(I, a, m.DP), n_v, wK * damp, g)
            add_through(F, x, map_of(I, a, m.PT), n_v, wK * damp, change)
        if of.curved:
            gather_hessian(I, F, e, of, r, a, wK * f)
    add_products(I, F, e, n, of.curved)
    add_bent(I, F, e, n, wK * f)


@jit
def add_measured_row(
    I: Any, F: Any, e: Any, of: Any, on_rates: bool, ud: float, k: float, lam: float
) -> None:
    """Add k times the row of a measure, its column, and lam k H.

    By its rate g.x', where that is met, the row has the gradient g in the velocities; by positions
    it turns with x' and with g' = H x'. A row on velocities, ``on_rates``, always has.
    """
    s, n = I[m.SCRATCH], of.n
    by_rate = F[m.ROW_TURN] if on_rates else F[m.POSITION_TURN]
    form_maps(I, F, e, n, on_rates or by_rate != 0.0)
    turn = _rate(I, F, n, NORMAL) if by_rate != 0.0 else 0.0
    for a in range(n):
        r = face(I, e, a)
        if r < 0:
            continue
        if r == a:
            clear(F, vector(I, a, GAMMA), 5)
        g, row, n_v = load3(F, s + GRAD + 3 * a), vector(I, r, ROW), I[I[e.ends + a] + m.ATT_N]
        add_through(F, vector(I, r, GAMMA), map_of(I, a, m.P), n_v, 1.0, g)
        by_velocity = on_rates or by_rate != 0.0
        trial = velocity_map(I, F, e, a) if by_velocity else map_of(I, a, m.PT)
        add_through(F, row, trial, n_v, k, g)
        if by_rate != 0.0:
            change = change_of_gradient(I, F, of, a, ud, turn)
            add_through(F, row, map_of(I, a, m.DP), n_v, k * by_rate, g)
            add_through(F, row, map_of(I, a, m.PT), n_v, k * by_rate, change)
        if of.curved:
            gather_hessian(I, F, e, of, r, a, k * lam)
    for a in range(n):
        if face(I, e, a) == a:
            add_row(I, F, e, a, 0, 1.0, vector(I, a, ROW))
            add_column(I, F, e, a, 0, k, vector(I, a, GAMMA))
    if of.curved:
        add_products(I, F, e, n, True)
    add_bent(I, F, e, n, k * lam)
