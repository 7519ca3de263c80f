r"""Constraint rows on faces, from which every joint is assembled.

======== ============================== ==============================================
COINCIDE :math:`P - Q = 0` (3 rows)     P on the first face, Q on the second
IN_PLANE :math:`e_r\cdot(P-Q) = 0`      the same along two inertial directions (2 rows)
row(DOT) :math:`a\cdot b - c = 0`       a vector of each face
OFFSET   :math:`a\cdot(P-Q) - c = 0`    a and P on the first face, Q on the second
SQUARE   :math:`\tfrac12|Q-P|^2 - c`    a distance
TWIST    :math:`-2 q_3 q_k = 0`         three axes of each face, see below
======== ============================== ==============================================

With the Euler parameters q of the rotation :math:`R_{ij} = a_i\cdot b_j` between two frames, no
twist is :math:`q_3 = 0`. The axes give its products with the others,

.. math:: 2 q_3 (q_0, q_1, q_2) = \tfrac12 (R_{21} - R_{12},\ R_{13} + R_{31},\ R_{23} + R_{32}),

each of which says nothing somewhere: the first one where shafts fold back, :math:`q_0 = 0`. The row
is :math:`-2 q_3 q_k` with the largest of the three, that is the first one up to a bend of a right
angle, and with the sign of :math:`q_0 q_k`. Where another one takes over it has the same gradient.

``row`` takes any measure; sums of measures with laws of time are in ``driven_rows.py``.

The residual holds :math:`+B^T\lambda`. With P - Q the multipliers of COINCIDE are the force *on the
second body*.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import (
    dot,
    inner,
    load3,
    mat_mat,
    mat_mat_t,
    minus,
    plus,
    store3,
    times,
    transposed,
)
from mbd.interactions import gradients as gr
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.measures import DOT, Measure
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit


@each
def coincide_forces(I: Any, F: Any, e: Any) -> None:
    """Write P - Q; add lam at P, -lam at Q."""
    P, Q = I[e.ends], I[e.ends + 1]
    lam = load3(F, I[m.A] + e.u)
    store3(F, I[m.X] + e.u, minus(at(I, F, m.Y, P), at(I, F, m.Y, Q)))
    push(I, F, m.FY, P, 1.0, lam)
    push(I, F, m.FY, Q, -1.0, lam)


@jit
def add_coincide(I: Any, F: Any, e: Any) -> None:
    """Add the 3 x n blocks of B and their transposes."""
    turn = F[m.POSITION_TURN]
    on.form_maps(I, F, e, 2, turn != 0.0)
    for a in range(2):
        if I[I[e.ends + a] + m.ATT_N] == 0:
            continue
        sign = 1.0 if a == 0 else -1.0
        rows = on.map_of(I, a, m.PT) if turn == 0.0 else on.velocity_map(I, F, e, a)
        on.add_map_rows(I, F, e, a, sign, rows)
        for r in range(3 if turn != 0.0 else 0):
            on.add_row(I, F, e, a, r, sign * turn, on.map_of(I, a, m.DP) + m.MAP_ROW * r)


@each
def coincide_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows and columns."""
    add_coincide(I, F, e)


@each
def coincide_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of P - Q."""
    P, Q = I[e.ends], I[e.ends + 1]
    store3(F, I[m.PHID] + e.u, minus(at(I, F, m.YD, P), at(I, F, m.YD, Q)))
    store3(F, I[m.PHIDD] + e.u, minus(at(I, F, m.YDD, P), at(I, F, m.YDD, Q)))


@jit
def add_gradient(I: Any, F: Any, e: Any, a: int, r: int, g: Any, rate: Any) -> None:
    """Add the gradient g of row r on attachment a, whose maps are formed; by its rate also g'.

    The rate g.x' of a row has the gradient g in the velocities; by positions it turns with x' and
    with g' = H x'.
    """
    turn = F[m.POSITION_TURN]
    x, column, n_v = on.vector(I, a, gr.ROW), on.vector(I, a, gr.GAMMA), I[I[e.ends + a] + m.ATT_N]
    on.set_through(
        F, x, on.map_of(I, a, m.PT) if turn == 0.0 else on.velocity_map(I, F, e, a), n_v, 1.0, g
    )
    if turn != 0.0:
        on.add_through(F, x, on.map_of(I, a, m.DP), n_v, turn, g)
        on.add_through(F, x, on.map_of(I, a, m.PT), n_v, turn, rate)
    on.set_through(F, column, on.map_of(I, a, m.P), n_v, 1.0, g)
    on.add_row(I, F, e, a, r, 1.0, x)
    on.add_column(I, F, e, a, r, 1.0, column)


@each
def in_plane_forces(I: Any, F: Any, e: Any) -> None:
    """Write e_r.(P - Q); add sum lam_r e_r at P, its negative at Q."""
    P, Q = I[e.ends], I[e.ends + 1]
    between, force = minus(at(I, F, m.Y, P), at(I, F, m.Y, Q)), (0.0, 0.0, 0.0)
    for r in range(2):
        g = load3(F, e.numbers + 3 * r)
        F[I[m.X] + e.u + r] = dot(g, between)
        force = plus(force, times(F[I[m.A] + e.u + r], g))
    push(I, F, m.FY, P, 1.0, force)
    push(I, F, m.FY, Q, -1.0, force)


@each
def in_plane_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows of B and their transposes."""
    on.form_maps(I, F, e, 2, F[m.POSITION_TURN] != 0.0)
    for a in range(2):
        for r in range(2 if I[I[e.ends + a] + m.ATT_N] > 0 else 0):
            g = times(1.0 - 2.0 * a, load3(F, e.numbers + 3 * r))
            add_gradient(I, F, e, a, r, g, (0.0, 0.0, 0.0))


@each
def in_plane_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of e_r.(P - Q)."""
    P, Q = I[e.ends], I[e.ends + 1]
    first = minus(at(I, F, m.YD, P), at(I, F, m.YD, Q))
    second = minus(at(I, F, m.YDD, P), at(I, F, m.YDD, Q))
    for r in range(2):
        g = load3(F, e.numbers + 3 * r)
        F[I[m.PHID] + e.u + r] = dot(g, first)
        F[I[m.PHIDD] + e.u + r] = dot(g, second)


@each
def dot_forces(I: Any, F: Any, e: Any) -> None:
    """Write a.b - c; add lam b at a, lam a at b."""
    a, b = at(I, F, m.Y, I[e.ends]), at(I, F, m.Y, I[e.ends + 1])
    lam = F[I[m.A] + e.u]
    F[I[m.X] + e.u] = dot(a, b) - F[e.numbers]
    push(I, F, m.FY, I[e.ends], lam, b)
    push(I, F, m.FY, I[e.ends + 1], lam, a)


@each
def dot_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows of B, their transposes, and lam P_a P_b^T in both orders."""
    lam = F[m.W_K] * F[I[m.A] + e.u]
    on.form_maps(I, F, e, 2, F[m.POSITION_TURN] != 0.0)
    for a in range(2):
        b = I[e.ends + 1 - a]
        if I[I[e.ends + a] + m.ATT_N] > 0:
            add_gradient(I, F, e, a, 0, at(I, F, m.Y, b), at(I, F, m.YD, b))
        on.add_multiple(I, F, e, a, a, 1 - a, lam)


@each
def dot_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives of a.b."""
    i, j = I[e.ends], I[e.ends + 1]
    a, ad, add = at(I, F, m.Y, i), at(I, F, m.YD, i), at(I, F, m.YDD, i)
    b, bd, bdd = at(I, F, m.Y, j), at(I, F, m.YD, j), at(I, F, m.YDD, j)
    F[I[m.PHID] + e.u] = dot(a, bd) + dot(ad, b)
    F[I[m.PHIDD] + e.u] = dot(a, bdd) + 2 * dot(ad, bd) + dot(add, b)


COINCIDE = Kind(
    "coincide", 2, 3, (), coincide_forces, coincide_tangent, coincide_rates, smooth=True,
    unit="m",
)  # fmt: skip
COINCIDE_IN_PLANE = Kind(
    "coincide in plane", 2, 2, (), in_plane_forces, in_plane_tangent, in_plane_rates, smooth=True,
    unit="m",
)  # fmt: skip
DOT_ROW = Kind("dot", 2, 1, DOT.pairs, dot_forces, dot_tangent, dot_rates, smooth=True)


@jit
def _axes(I: Any, F: Any, e: Any, base: int, first: int) -> Any:
    """Return three axes of a face, or their rates, as the rows of a matrix."""
    end = e.ends + first
    x, y, z = at(I, F, base, I[end]), at(I, F, base, I[end + 1]), at(I, F, base, I[end + 2])
    return (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])


@jit
def twist_weights(A: Any, B: Any) -> Any:
    r"""Return C of :math:`\Phi = \sum C_{ij}\,a_i\cdot b_j`, by the largest of three q_k^2."""
    R = mat_mat_t(A, B)
    x, y, z = R[0], R[4], R[8]
    if y + z >= 0.0 and x + z >= 0.0:
        return (0.0, 0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    if x >= y:
        c = 0.5 if R[7] < R[5] else -0.5
        return (0.0, 0.0, c, 0.0, 0.0, 0.0, c, 0.0, 0.0)
    c = 0.5 if R[2] < R[6] else -0.5
    return (0.0, 0.0, 0.0, 0.0, 0.0, c, 0.0, c, 0.0)


@jit
def _row(A: Any, i: int) -> Any:
    """Return row i."""
    return (A[3 * i], A[3 * i + 1], A[3 * i + 2])


@each
def twist_forces(I: Any, F: Any, e: Any) -> None:
    """Write sum C_ij a_i.b_j; add lam times its gradients C b and C^T a."""
    A, B, lam = _axes(I, F, e, m.Y, 0), _axes(I, F, e, m.Y, 3), F[I[m.A] + e.u]
    C = twist_weights(A, B)
    G, H = mat_mat(C, B), mat_mat(transposed(C), A)
    F[I[m.X] + e.u] = inner(A, G)
    for a in range(3):
        push(I, F, m.FY, I[e.ends + a], lam, _row(G, a))
        push(I, F, m.FY, I[e.ends + 3 + a], lam, _row(H, a))


@each
def twist_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows of B, their transposes, and lam C_ij P_i P_j^T in both orders."""
    A, B = _axes(I, F, e, m.Y, 0), _axes(I, F, e, m.Y, 3)
    C, lam = twist_weights(A, B), F[m.W_K] * F[I[m.A] + e.u]
    Ct = transposed(C)
    G, Gd = mat_mat(C, B), mat_mat(C, _axes(I, F, e, m.YD, 3))
    H, Hd = mat_mat(Ct, A), mat_mat(Ct, _axes(I, F, e, m.YD, 0))
    on.form_maps(I, F, e, 6, F[m.POSITION_TURN] != 0.0)
    for a in range(3):
        if I[I[e.ends + a] + m.ATT_N] > 0:
            add_gradient(I, F, e, a, 0, _row(G, a), _row(Gd, a))
        if I[I[e.ends + 3 + a] + m.ATT_N] > 0:
            add_gradient(I, F, e, 3 + a, 0, _row(H, a), _row(Hd, a))
    p = 0
    for a in range(3):
        for b in range(3):
            if C[3 * a + b] != 0.0:
                on.add_multiple(I, F, e, p, a, 3 + b, lam * C[3 * a + b])
                on.add_multiple(I, F, e, p + 1, 3 + b, a, lam * C[3 * a + b])
            p += 2 if a != b else 0


@each
def twist_rates(I: Any, F: Any, e: Any) -> None:
    """Write both derivatives."""
    A, B = _axes(I, F, e, m.Y, 0), _axes(I, F, e, m.Y, 3)
    Ad, Bd = _axes(I, F, e, m.YD, 0), _axes(I, F, e, m.YD, 3)
    C = twist_weights(A, B)
    G, H = mat_mat(C, B), mat_mat(transposed(C), A)
    F[I[m.PHID] + e.u] = inner(G, Ad) + inner(H, Bd)
    F[I[m.PHIDD] + e.u] = (
        inner(G, _axes(I, F, e, m.YDD, 0)) + inner(H, _axes(I, F, e, m.YDD, 3))
        + 2 * inner(mat_mat(C, Bd), Ad)
    )  # fmt: skip


_PAIRS = tuple(pair for a in range(3) for b in (3, 4, 5) if b != a + 3 for pair in ((a, b), (b, a)))
TWIST = Kind("twist", 6, 1, _PAIRS, twist_forces, twist_tangent, twist_rates, smooth=True)


@cache
def row(measure: Measure) -> Kind:
    """Return the constraint ``measure - c = 0`` as a kind with one row.

    Numbers are c and those of the measure. A periodic measure has one number of memory: the angle
    last accepted.
    """
    n, of, value = measure.n, measure.shape, gr.value_of(measure, 1)
    bent_value = gr.value_of(measure, 1, bends=True)

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        u, _ = value(I, F, e, False)
        F[I[m.X] + e.u] = u - F[e.numbers]
        for a in range(n):
            push(I, F, m.FY, I[e.ends + a], F[I[m.A] + e.u], gr.gradient(I, F, of, a))

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        lam = F[m.W_K] * F[I[m.A] + e.u]
        _, ud = bent_value(I, F, e, F[m.POSITION_TURN] != 0.0)
        gr.add_measured_row(I, F, e, of, False, ud, 1.0, lam)

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        _, rate = value(I, F, e, True)
        F[I[m.PHID] + e.u] = rate
        F[I[m.PHIDD] + e.u] = gr.second_rate(I, F, e, of, rate)

    return Kind(
        f"{measure.name} row", n, 1, measure.all_pairs, forces, tangent, rates,
        gr.accept_of(measure), turns=measure.periodic, smooth=True, secant=not measure.curved,
        work=measure.work, code=measure.code, unit=measure.unit,
    )  # fmt: skip
