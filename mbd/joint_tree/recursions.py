r"""Recursions over a tree of joints, in world axes about one fixed point O.

Spatial vectors are pairs (w, v_O) of motions and (n_O, f) of forces. With the columns S of the
links, those of a joint fixed in the link before it,

.. math:: V_k = V_p + S v, \qquad A_k = A_p + S' v + S\dot v, \qquad S' = V_p \times S,
          \qquad A_0 = (0, -g)

.. math:: f_k = J_k A_k + V_k \times^* J_k V_k, \qquad \tau = S^T f^C, \qquad
          M_{jk} = S_j^T J^C_k S_k

where :math:`f^C` and :math:`J^C` are sums over all links beyond (Featherstone, Rigid Body Dynamics
Algorithms, 2008, chapters 5 and 6). In these axes nothing is transformed from link to link.

Slopes. All that is beyond column j turns rigidly with :math:`S_j` but for the velocity and the
acceleration of its own link, which do not: with

.. math:: \psi_j = V_k \times S_j, \qquad \psi^2_j = A_k \times S_j + V_k \times \psi_j

forces beyond change by :math:`S_j\times^* f + J\psi^2_j + 2B\psi_j`, where

.. math:: 2Bx = V\times^*Jx - J(V\times x) + x\times^*JV = (2Ka,\ 2a\times p), \qquad
          Ka = -w\times Ea + h\times(a\times v)

of the angular part a of x alone, with the momentum p, the first moment h = m c and the second
moments :math:`E = \tfrac12\mathrm{tr}(I)1 - I` about O. So K, nine numbers, and p are summed up the
tree.
"""

import math
from typing import Any

from mbd.algebra.vec import (
    add,
    add3,
    clear,
    cross,
    dot,
    load3,
    load6,
    load9,
    mat_mat,
    mat_mat_t,
    mat_vec,
    minus,
    plus,
    store3,
    store6,
    times,
    unit,
    vec_mat,
)
from mbd.joint_tree import layout as t
from mbd.machine import buffer as m
from mbd.machine.jit import jit, kernel


@jit
def add6(F: Any, i: int, s: float, X: Any) -> None:
    """Add s X to the one at F[i]."""
    add3(F, i, s, X[0])
    add3(F, i + 3, s, X[1])


@jit
def plus6(X: Any, s: float, Y: Any) -> Any:
    """Return X + s Y."""
    return plus(X[0], times(s, Y[0])), plus(X[1], times(s, Y[1]))


@jit
def dot6(X: Any, f: Any) -> Any:
    """Return the power of a force on a motion."""
    return dot(X[0], f[0]) + dot(X[1], f[1])


@jit
def turned(X: Any, Y: Any) -> Any:
    """Return X x Y, the rate of a motion Y that moves with X."""
    return cross(X[0], Y[0]), plus(cross(X[0], Y[1]), cross(X[1], Y[0]))


@jit
def turned_force(X: Any, f: Any) -> Any:
    """Return X x* f, the rate of a force that moves with X."""
    return plus(cross(X[0], f[0]), cross(X[1], f[1])), cross(X[0], f[1])


@jit
def symmetric(F: Any, i: int, x: Any) -> Any:
    """Return the symmetric matrix at F[i] (xx yy zz xy xz yz) times x."""
    xx, yy, zz, xy, xz, yz = F[i], F[i + 1], F[i + 2], F[i + 3], F[i + 4], F[i + 5]
    return (
        xx * x[0] + xy * x[1] + xz * x[2],
        xy * x[0] + yy * x[1] + yz * x[2],
        xz * x[0] + yz * x[1] + zz * x[2],
    )


@jit
def inertia_times(F: Any, i: int, X: Any) -> Any:
    """Return J X with the inertia (m, h, I_O) at F[i]."""
    h = load3(F, i + 1)
    n = plus(symmetric(F, i + 4, X[0]), cross(h, X[1]))
    return n, minus(times(F[i], X[1]), cross(h, X[0]))


@jit
def place_inertia(F: Any, constants: int, R: Any, x: Any, to: int) -> None:
    """Write (m, h, I_O) of a link with axes R and origin x, from (m, m c, I) in its axes."""
    mass, h0 = F[constants], load3(F, constants + 1)
    c = constants + 4
    A = (F[c], F[c + 3], F[c + 4], F[c + 3], F[c + 1], F[c + 5], F[c + 4], F[c + 5], F[c + 2])
    W = mat_mat_t(mat_mat(R, A), R)
    mc, mx = mat_vec(R, h0), times(mass, x)  # of the centre against the origin of the link
    F[to] = mass
    store3(F, to + 1, plus(mc, mx))
    s = dot(x, mx) + 2 * dot(x, mc)
    F[to + 4] = W[0] + s - x[0] * mx[0] - 2 * x[0] * mc[0]
    F[to + 5] = W[4] + s - x[1] * mx[1] - 2 * x[1] * mc[1]
    F[to + 6] = W[8] + s - x[2] * mx[2] - 2 * x[2] * mc[2]
    F[to + 7] = W[1] - x[0] * mx[1] - x[0] * mc[1] - x[1] * mc[0]
    F[to + 8] = W[2] - x[0] * mx[2] - x[0] * mc[2] - x[2] * mc[0]
    F[to + 9] = W[5] - x[1] * mx[2] - x[1] * mc[2] - x[2] * mc[1]


@jit
def body_pose(I: Any, F: Any, l: int) -> Any:
    """Return origin and axes of the body that a link is."""
    c, link = I[l + t.L_CONSTANTS] + t.K_BODY, I[l + t.L_NUMBERS]
    R = load9(F, link + 3)
    return plus(load3(F, link), mat_vec(R, load3(F, c))), mat_mat(R, load9(F, c + 3))


@jit
def turn_matrix(F: Any, q: int) -> Any:
    """Return the rotation of the quaternion at F[q], scalar first, of any length."""
    a, b, c, d = F[q], F[q + 1], F[q + 2], F[q + 3]
    s = 2.0 / (a * a + b * b + c * c + d * d)
    return (
        1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c),
        s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b),
        s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c),
    )  # fmt: skip


@kernel
def place(I: Any, F: Any, k: int) -> None:
    """Write poses, columns S and inertias of all links from q."""
    clear(F, I[k + t.T_GROUND] + t.N_FORCE, t.N_SIZE - t.N_FORCE)
    F[I[k + t.T_STATUS]] = F[I[k + t.T_GAP]] = 0.0
    for l in t.links(I, k):
        c, parent, to = I[l + t.L_CONSTANTS], I[l + t.L_PARENT], I[l + t.L_NUMBERS]
        motion, q = I[l + t.L_MOTION], I[l + t.L_Q]
        R0 = load9(F, parent + 3)
        x = plus(load3(F, parent), mat_vec(R0, load3(F, c)))
        R = mat_mat(R0, load9(F, c + t.K_AXES))
        a = R[2], R[5], R[8]
        if motion == t.BALL:
            for j in range(3):
                e = R[j], R[j + 3], R[j + 6]
                store6(F, t.numbers_of(I, k, I[l + t.L_COLUMN] + j), (e, cross(x, e)))
            if F[q] == F[q + 1] == F[q + 2] == F[q + 3] == 0.0:
                F[I[k + t.T_STATUS]] = I[k + t.T_N] + 1 + I[l + t.L_COLUMN]
            else:
                R = mat_mat(R, turn_matrix(F, q))
        elif motion != t.RIGID:
            s = t.numbers_of(I, k, I[l + t.L_COLUMN])
            if motion == t.SHIFT:
                x = plus(x, times(F[q], a))
                store6(F, s, ((0.0, 0.0, 0.0), a))
            else:
                pitch, co, si = F[c + t.K_PITCH], math.cos(F[q]), math.sin(F[q])
                x = plus(x, times(pitch * F[q] + F[c + t.K_START], a))
                R = (
                    co * R[0] + si * R[1], co * R[1] - si * R[0], R[2],
                    co * R[3] + si * R[4], co * R[4] - si * R[3], R[5],
                    co * R[6] + si * R[7], co * R[7] - si * R[6], R[8],
                )  # fmt: skip
                store6(F, s, (a, plus(cross(x, a), times(pitch, a))))
        store3(F, to, x)
        for j in range(9):
            F[to + 3 + j] = R[j]
        if F[c + t.K_INERTIA] > 0.0:
            place_inertia(F, c + t.K_INERTIA, R, x, to + t.N_INERTIA)
        else:
            clear(F, to + t.N_INERTIA, 10)


@kernel
def weigh(I: Any, F: Any, k: int) -> None:
    """Let the ground be accelerated against gravity, A_0 = (0, -g)."""
    A = I[k + t.T_GROUND] + t.N_A
    F[A + 3], F[A + 4], F[A + 5] = -F[m.GX], -F[m.GY], -F[m.GZ]


@kernel
def weightless(I: Any, F: Any, k: int) -> None:
    """Let there be no gravity."""
    store3(F, I[k + t.T_GROUND] + t.N_A + 3, (0.0, 0.0, 0.0))


@kernel
def still(I: Any, F: Any, k: int) -> None:
    """Let all rates be zero."""
    clear(F, I[k + t.T_IV], I[k + t.T_F])


@kernel
def unaccelerated(I: Any, F: Any, k: int) -> None:
    """Let all second rates be zero."""
    clear(F, I[k + t.T_IA], I[k + t.T_F])


@kernel
def move(I: Any, F: Any, k: int) -> None:
    """Write velocities, accelerations and forces of inertia of all links, and S', from v and a."""
    V, A = I[k + t.T_V], I[k + t.T_A]
    for l in t.links(I, k):
        parent, to = I[l + t.L_PARENT], I[l + t.L_NUMBERS]
        V_p = load6(F, parent + t.N_V)
        V_k, A_k = V_p, load6(F, parent + t.N_A)
        for j in t.columns(I, l):
            s = t.numbers_of(I, k, j)
            S = load6(F, s)
            rate = turned(V_p, S)
            store6(F, s + t.C_RATE, rate)
            V_k = plus6(V_k, F[V + j], S)
            A_k = plus6(plus6(A_k, F[V + j], rate), F[A + j], S)
        store6(F, to + t.N_V, V_k)
        store6(F, to + t.N_A, A_k)
        J = to + t.N_INERTIA
        momentum = inertia_times(F, J, V_k)
        f = plus6(inertia_times(F, J, A_k), 1.0, turned_force(V_k, momentum))
        store6(F, to + t.N_FORCE, f)


@kernel
def gather(I: Any, F: Any, k: int) -> None:
    """Write the efforts: forces are summed from the tips down."""
    for l in t.links_inward(I, k):
        f = load6(F, I[l + t.L_NUMBERS] + t.N_FORCE)
        for j in t.columns(I, l):
            S = load6(F, t.numbers_of(I, k, j))
            F[I[k + t.T_TAU] + j] = dot6(S, f)
        add6(F, I[l + t.L_PARENT] + t.N_FORCE, 1.0, f)


@kernel
def mass(I: Any, F: Any, k: int) -> None:
    """Write M: inertias are summed from the tips down. What is between branches stays zero."""
    n, M = I[k + t.T_N], I[k + t.T_M]
    for l in t.links_inward(I, k):
        J, below = I[l + t.L_NUMBERS] + t.N_INERTIA, I[l + t.L_PARENT] + t.N_INERTIA
        for j in t.columns(I, l):
            U = inertia_times(F, J, load6(F, t.numbers_of(I, k, j)))
            other = j
            while other >= 0:
                value = dot6(load6(F, t.numbers_of(I, k, other)), U)
                F[M + j * n + other] = value
                F[M + other * n + j] = value
                other = t.before(I, k, other)
        add(F, below, 1.0, J, 10)


@jit
def _add_curvature(F: Any, link: int) -> None:
    """Write K and the momentum p of a link."""
    J, V = link + t.N_INERTIA, load6(F, link + t.N_V)
    w, h = V[0], load3(F, J + 1)
    half = 0.5 * (F[J + 4] + F[J + 5] + F[J + 6])
    E = (
        half - F[J + 4], -F[J + 7], -F[J + 8],
        -F[J + 7], half - F[J + 5], -F[J + 9],
        -F[J + 8], -F[J + 9], half - F[J + 6],
    )  # fmt: skip
    for c in range(3):
        a = unit(c)
        column = minus(cross(h, cross(a, V[1])), cross(w, mat_vec(E, a)))
        for r in range(3):
            F[link + t.N_K + 3 * r + c] = column[r]
    store3(F, link + t.N_P, minus(times(F[J], V[1]), cross(h, w)))


@jit
def _twice_B(F: Any, link: int, a: Any) -> Any:
    """Return 2 B x of all beyond a link, x with the angular part a."""
    return times(2.0, mat_vec(load9(F, link + t.N_K), a)), times(
        2.0, cross(a, load3(F, link + t.N_P))
    )


@jit
def _twice_B_t(F: Any, link: int, S: Any) -> Any:
    """Return the angular part of 2 B^T S; the other one is zero."""
    n = vec_mat(S[0], load9(F, link + t.N_K))
    return times(2.0, plus(n, cross(load3(F, link + t.N_P), S[1])))


@kernel
def lag(I: Any, F: Any, k: int) -> None:
    """Write psi and psi2 of all columns: what lags behind where links beyond them are turned."""
    for l in t.links(I, k):
        link = I[l + t.L_NUMBERS]
        V, A = load6(F, link + t.N_V), load6(F, link + t.N_A)
        for j in t.columns(I, l):
            s = t.numbers_of(I, k, j)
            S = load6(F, s)
            psi = turned(V, S)
            store6(F, s + t.C_PSI, psi)
            store6(F, s + t.C_PSI2, plus6(turned(A, S), 1.0, turned(V, psi)))


@kernel
def slopes(I: Any, F: Any, k: int) -> None:
    """Write M and the slopes of the efforts of inertia and weight, by q and v, after `lag`."""
    n = I[k + t.T_N]
    M, DQ, DV = I[k + t.T_M], I[k + t.T_DQ], I[k + t.T_DV]
    for l in t.links(I, k):
        _add_curvature(F, I[l + t.L_NUMBERS])
    for l in t.links_inward(I, k):
        link, parent = I[l + t.L_NUMBERS], I[l + t.L_PARENT]
        J, f, first = link + t.N_INERTIA, load6(F, link + t.N_FORCE), I[l + t.L_COLUMN]
        end = first + I[l + t.L_COLUMNS]
        for j in range(first, end):
            s = t.numbers_of(I, k, j)
            S, psi, psi2 = load6(F, s), load6(F, s + t.C_PSI), load6(F, s + t.C_PSI2)
            by_q = plus6(inertia_times(F, J, psi2), 1.0, _twice_B(F, link, psi[0]))
            by_q = plus6(by_q, 1.0, turned_force(S, f))
            by_v = inertia_times(F, J, plus6(psi, 1.0, load6(F, s + t.C_RATE)))
            by_v = plus6(by_v, 1.0, _twice_B(F, link, S[0]))
            U, turning = inertia_times(F, J, S), _twice_B_t(F, link, S)
            other = end - 1
            while other >= 0:
                o = t.numbers_of(I, k, other)
                S_o = load6(F, o)
                value = dot6(S_o, U)
                F[DQ + other * n + j], F[DV + other * n + j] = dot6(S_o, by_q), dot6(S_o, by_v)
                F[M + other * n + j] = F[M + j * n + other] = value
                if other < first:
                    psi_o = load6(F, o + t.C_PSI)
                    F[DQ + j * n + other] = dot6(load6(F, o + t.C_PSI2), U) + dot(psi_o[0], turning)
                    both = plus6(psi_o, 1.0, load6(F, o + t.C_RATE))
                    F[DV + j * n + other] = dot6(both, U) + dot(S_o[0], turning)
                other = t.before(I, k, other)
        add(F, parent + t.N_FORCE, 1.0, link + t.N_FORCE, t.N_P + 3 - t.N_FORCE)


@kernel
def factor(I: Any, F: Any, k: int) -> None:
    """Write L with M = L^T L, which has the zeros of the tree (Featherstone, 2008, table 6.3)."""
    n, M, L, before = I[k + t.T_F], I[k + t.T_IM], I[k + t.T_FACTOR], I[k + t.T_CHAIN]
    for i in range(n):
        j = i
        while j >= 0:
            F[L + i * n + j] = F[M + i * n + j]
            j = I[before + j] - 1
    for r in range(n - 1, -1, -1):
        d = math.sqrt(F[L + r * n + r])
        F[L + r * n + r] = d
        i = I[before + r] - 1
        while i >= 0:
            F[L + r * n + i] /= d
            i = I[before + i] - 1
        i = I[before + r] - 1
        while i >= 0:
            x, j = F[L + r * n + i], i
            while j >= 0:
                F[L + i * n + j] -= x * F[L + r * n + j]
                j = I[before + j] - 1
            i = I[before + i] - 1


@kernel
def accelerate(I: Any, F: Any, k: int) -> None:
    """Write the second rates: M a = RESULT - TAU, with the bias in TAU and M factored."""
    n, L, before = I[k + t.T_F], I[k + t.T_FACTOR], I[k + t.T_CHAIN]
    x = I[k + t.T_IA]
    for i in range(n):
        F[x + i] = F[I[k + t.T_RESULT] + i] - F[I[k + t.T_ITAU] + i]
    for i in range(n - 1, -1, -1):
        F[x + i] /= F[L + i * n + i]
        j = I[before + i] - 1
        while j >= 0:
            F[x + j] -= F[L + i * n + j] * F[x + i]
            j = I[before + j] - 1
    for i in range(n):
        j = I[before + i] - 1
        while j >= 0:
            F[x + i] -= F[L + i * n + j] * F[x + j]
            j = I[before + j] - 1
        F[x + i] /= F[L + i * n + i]
