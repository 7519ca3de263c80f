r"""Blocks of the tangent of beam elements: the gradient of seven products, pulled back to nodes.

With the gradient G of the products z (``algebra/helicoid.py``) of two frames and a 7x7 matrix S,
the pairs of nodes get :math:`G^TSG` and :math:`\sum_m q_m A_m`: G is pulled back to the velocities
of both nodes first, as seven vectors of each.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.vec import minus, plus, times
from mbd.interactions.pullback import at, clear, coupled, map_of, vector, velocity_map
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_N, DP, MAP_ROW, PT, P
from mbd.machine.jit import jit
from mbd.machine.simd import add4, add_map, add_outer1, add_outer3

__all__ = ["FZ", "GP", "KF", "WORK", "S", "add_blocks", "frame", "work"]

W_G, W_K, YD = m.W_G, m.W_K, m.YD
ENDS = (0, 4)  # first attachments of both frames: origin and three directors each
# scratch space: S, F_z, products with it, then vectors over the velocities of a node
S, FZ, KF, L = 0, 49, 91, 140
_VECTORS = 7 * MAP_ROW
GP, GT, GW, U, WORK = (L + 3 * MAP_ROW + _VECTORS * k for k in (0, 2, 3, 4, 5))


@jit
def work(I: Any) -> int:
    """Return where the scratch space of the kernels begins, behind the maps of both frames."""
    return vector(I, 8, 0)


@jit
def frame(I: Any, F: Any, base: int, e: Any, first: int) -> Any:
    """Return origin and directors of an end; base is Y or YD."""
    ends = e.ends + first
    return (
        at(I, F, base, I[ends]), at(I, F, base, I[ends + 1]), at(I, F, base, I[ends + 2]),
        at(I, F, base, I[ends + 3]),
    )  # fmt: skip


@jit
def add_through(
    I: Any, F: Any, e: Any, to: int, first: int, which: int, w: float, a: Any, b: Any
) -> None:
    """Add w G of frames a, b through maps of one end (0 or 4) to seven vectors."""
    half, n = times(0.5 * w, minus(b[0], a[0])), I[I[e.ends + first] + ATT_N]
    own, other, sign = (a, b, -1.0) if first == 0 else (b, a, 1.0)
    origin = map_of(I, first, which)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        director = map_of(I, first + 1 + i, which)
        mean = times(0.5 * sign * w, plus(own[1 + i], other[1 + i]))
        add_map(F, to + MAP_ROW * i, origin, n, mean[0], mean[1], mean[2])
        add_map(F, to + MAP_ROW * i, director, n, half[0], half[1], half[2])
        # a_k has (d_j^a . d_i^b - d_i^a . d_j^b)/2, a_j has (d_i^a . d_k^b - d_k^a . d_i^b)/2
        x = times(0.5 * sign * w, other[1 + j])
        add_map(F, to + MAP_ROW * (3 + k), director, n, x[0], x[1], x[2])
        x = times(-0.5 * sign * w, other[1 + k])
        add_map(F, to + MAP_ROW * (3 + j), director, n, x[0], x[1], x[2])
        x = times(w, other[1 + i])
        add_map(F, to + MAP_ROW * 6, director, n, x[0], x[1], x[2])


@jit
def add_combined(F: Any, to: int, M: int, w: float, source: int) -> None:
    """Add w M V, a 7x7 matrix times seven vectors, to seven vectors."""
    for i in range(7):
        for j in range(7):
            add4(F, to + MAP_ROW * i, w * F[M + 7 * i + j], source + MAP_ROW * j, MAP_ROW)


@jit
def add_bilinear(
    I: Any, F: Any, e: Any, p: int, first: int, second: int, w: float, qu: Any, qa: Any, qt: float
) -> None:
    """Add w sum_m q_m A_m to the block of a pair of ends, through P and P_T."""
    block, one, two = e.pairs + 2 * p, I[e.ends + first], I[e.ends + second]
    rows, columns = I[one + ATT_N], I[two + ATT_N]
    left = work(I) + L
    sign = -1.0 if first == 0 else 1.0
    for l in range(4):
        clear(F, left, 3)
        if first == second:
            if l == 0:
                for i in range(3):
                    _add_p(I, F, left, first + 1 + i, 0.5 * sign * w * qu[i])
            else:
                _add_p(I, F, left, first, 0.5 * sign * w * qu[l - 1])
        elif l == 0:
            for i in range(3):
                _add_p(I, F, left, first + 1 + i, -0.5 * sign * w * qu[i])
        else:
            i, j, k = l - 1, l % 3, (l + 1) % 3
            _add_p(I, F, left, first, 0.5 * sign * w * qu[i])
            _add_p(I, F, left, first + 1 + i, w * qt)
            # of a director d_i of the second end: a_k with d_j, a_j with d_k
            _add_p(I, F, left, first + 1 + j, 0.5 * -sign * w * qa[k])
            _add_p(I, F, left, first + 1 + k, 0.5 * sign * w * qa[j])
        add_outer3(F, I[block], I[block + 1], rows, columns, 1.0, left, map_of(I, second + l, PT))


@jit
def _add_p(I: Any, F: Any, to: int, a: int, s: float) -> None:
    add4(F, to, s, map_of(I, a, P), 3 * MAP_ROW)


@jit
def add_blocks(
    I: Any, F: Any, e: Any, a: Any, b: Any, last_a: Any, last_b: Any, damped: bool,
    qu: Any, qa: Any, qt: float,
) -> None:  # fmt: skip
    """Add the four blocks: G^T S G, by damping G^T R W, and what is bilinear.

    S is in the scratch space; G on the left of frames a and b, on the right of the last ones.
    R (7x7) stands at KF, W are rates of G.
    """
    s, wK = work(I), F[W_K]
    for end in range(2):
        first = ENDS[end]
        if I[I[e.ends + first] + ATT_N] > 0:
            clear(F, s + GP + _VECTORS * end, 7)
            add_through(I, F, e, s + GP + _VECTORS * end, first, P, 1.0, a, b)
    for right in range(2):
        second = ENDS[right]
        if I[I[e.ends + second] + ATT_N] == 0:
            continue
        clear(F, s + GT, 7)
        add_through(I, F, e, s + GT, second, PT, 1.0, last_a, last_b)
        clear(F, s + U, 7)
        add_combined(F, s + U, s + S, wK, s + GT)
        if damped:
            ad, bd = frame(I, F, YD, e, 0), frame(I, F, YD, e, 4)
            clear(F, s + GW, 7)
            own = velocity_map(I, e, second) - map_of(I, second, 0)
            add_through(I, F, e, s + GW, second, own, F[W_G], a, b)
            add_through(I, F, e, s + GW, second, DP, wK, a, b)
            add_through(I, F, e, s + GW, second, PT, wK, ad, bd)
            add_combined(F, s + U, s + KF, 1.0, s + GW)
        for left in range(2):
            first, p = ENDS[left], 2 * left + right
            if not coupled(I, F, e, p):
                continue
            block, n = e.pairs + 2 * p, I[I[e.ends + first] + ATT_N]
            columns, G = I[I[e.ends + second] + ATT_N], s + GP + _VECTORS * left
            to, ld = I[block], I[block + 1]
            for k in range(0, 6, 3):
                add_outer3(F, to, ld, n, columns, 1.0, G + MAP_ROW * k, s + U + MAP_ROW * k)
            add_outer1(F, to, ld, n, columns, 1.0, G + MAP_ROW * 6, s + U + MAP_ROW * 6)
            add_bilinear(I, F, e, p, first, second, wK, qu, qa, qt)
