r"""Blocks of the tangent of beam elements: the gradient of seven products, pulled back to nodes.

With the gradient G of the products z (``algebra/helicoid.py``) of two frames and a 7x7 matrix S,
the pairs of nodes get :math:`G^TSG` and :math:`\sum_m q_m A_m`: G is pulled back to the velocities
of both nodes first, as seven vectors of each.
"""

from typing import Any

from mbd.algebra.helicoid import ROW
from mbd.algebra.vec import minus, plus, times
from mbd.interactions.pullback import at, clear, coupled, map_of, vector, velocity_map
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add_map, add_outer3, add_outer7, add_outer_maps, product_of, set_sum

ENDS = (0, 4)  # first attachments of both frames: origin and three directors each
# scratch space: S, F_z, products with it, then vectors over the velocities of a node
S, FZ, KF, L = 0, 7 * ROW, 13 * ROW, 20 * ROW
_VECTORS = 7 * m.MAP_ROW
GP, GT, GW, U, WORK = (L + 12 * m.MAP_ROW + _VECTORS * k for k in (0, 2, 3, 4, 5))


@jit
def work(I: Any) -> int:
    """Return where the scratch space of the kernels begins, after the maps of both frames."""
    return vector(I, 8, 0)


@jit
def frames(I: Any, F: Any, base: int, e: Any) -> Any:
    """Return both ends."""
    return _frame(I, F, base, e, 0), _frame(I, F, base, e, 4)


@jit
def _frame(I: Any, F: Any, base: int, e: Any, first: int) -> Any:
    """Return origin and directors of an end; base is Y or YD."""
    ends = e.ends + first
    return (
        at(I, F, base, I[ends]), at(I, F, base, I[ends + 1]), at(I, F, base, I[ends + 2]),
        at(I, F, base, I[ends + 3]),
    )  # fmt: skip


@jit
def add_through(
    I: Any, F: Any, e: Any, to: int, first: int, which: int, w: float, ends: Any
) -> None:
    """Add w G of both frames through maps of one end (0 or 4) to seven vectors."""
    a, b = ends
    half, n = times(0.5 * w, minus(b[0], a[0])), I[I[e.ends + first] + m.ATT_N]
    own, other, sign = (a, b, -1.0) if first == 0 else (b, a, 1.0)
    origin = map_of(I, first, which)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        director = map_of(I, first + 1 + i, which)
        mean = times(0.5 * sign * w, plus(own[1 + i], other[1 + i]))
        add_map(F, to + m.MAP_ROW * i, origin, n, mean[0], mean[1], mean[2])
        add_map(F, to + m.MAP_ROW * i, director, n, half[0], half[1], half[2])
        # a_k has (d_j^a . d_i^b - d_i^a . d_j^b)/2, a_j has (d_i^a . d_k^b - d_k^a . d_i^b)/2
        x = times(0.5 * sign * w, other[1 + j])
        add_map(F, to + m.MAP_ROW * (3 + k), director, n, x[0], x[1], x[2])
        x = times(-0.5 * sign * w, other[1 + k])
        add_map(F, to + m.MAP_ROW * (3 + j), director, n, x[0], x[1], x[2])
        x = times(w, other[1 + i])
        add_map(F, to + m.MAP_ROW * 6, director, n, x[0], x[1], x[2])


add_combined = product_of(7, 7, ROW, m.MAP_ROW, m.MAP_ROW)  # s M V, 7x7 times seven vectors


@jit
def add_bilinear(I: Any, F: Any, e: Any, p: int, first: int, second: int, w: float, q: Any) -> None:
    """Add w sum_m q_m A_m to the block of a pair of ends, through P and P_T."""
    qu, qa, qt = q
    block, one, two = e.pairs + 2 * p, I[e.ends + first], I[e.ends + second]
    to, ld, rows, columns = I[block], I[block + 1], I[one + m.ATT_N], I[two + m.ATT_N]
    origin, trial, left = map_of(I, first, m.P), map_of(I, second, m.PT), work(I) + L
    half = -0.5 * w if first == 0 else 0.5 * w
    x, y, z = half * qu[0], half * qu[1], half * qu[2]
    if first == second:  # the origin with all directors, and they with it
        set_sum(F, left, origin, rows, 0.0, x, y, z)
        add_outer3(F, to, ld, rows, columns, 1.0, left, trial)
        set_sum(F, left, trial, columns, 0.0, x, y, z)
        add_outer3(F, to, ld, rows, columns, 1.0, origin, left)
        return
    # what stands with the origin of the second end, and with each director there
    t, a1, a2, a3 = w * qt, half * qa[0], half * qa[1], half * qa[2]
    set_sum(F, left, origin, rows, 0.0, -x, -y, -z)
    set_sum(F, left + 3 * m.MAP_ROW, origin, rows, x, t, -a3, a2)
    set_sum(F, left + 6 * m.MAP_ROW, origin, rows, y, a3, t, -a1)
    set_sum(F, left + 9 * m.MAP_ROW, origin, rows, z, -a2, a1, t)
    add_outer_maps(F, to, ld, rows, columns, left, trial)


@jit
def add_blocks(I: Any, F: Any, e: Any, ends: Any, last: Any, damped: bool, q: Any) -> None:
    """Add the four blocks: G^T S G, by damping G^T R W, and what is bilinear.

    S is in the scratch space; G on the left of the frames at both ends, on the right of the last.
    R (7x7) stands at KF, W are rates of G.
    """
    s, wK = work(I), F[m.W_K]
    for end in range(2):
        first = ENDS[end]
        if I[I[e.ends + first] + m.ATT_N] > 0:
            clear(F, s + GP + _VECTORS * end, 7)
            add_through(I, F, e, s + GP + _VECTORS * end, first, m.P, 1.0, ends)
    for right in range(2):
        second = ENDS[right]
        columns = I[I[e.ends + second] + m.ATT_N]
        if columns == 0:
            continue
        clear(F, s + GT, 7)
        add_through(I, F, e, s + GT, second, m.PT, 1.0, last)
        clear(F, s + U, 7)
        add_combined(F, s + U, wK, s + S, s + GT, columns)
        if damped:
            clear(F, s + GW, 7)
            own = velocity_map(I, F, e, second) - map_of(I, second, 0)
            add_through(I, F, e, s + GW, second, own, F[m.W_G], ends)
            add_through(I, F, e, s + GW, second, m.DP, wK, ends)
            add_through(I, F, e, s + GW, second, m.PT, wK, frames(I, F, m.YD, e))
            add_combined(F, s + U, 1.0, s + KF, s + GW, columns)
        for left in range(2):
            first, p = ENDS[left], 2 * left + right
            if not coupled(I, F, e, p):
                continue
            block, n = e.pairs + 2 * p, I[I[e.ends + first] + m.ATT_N]
            to, ld, G = I[block], I[block + 1], s + GP + _VECTORS * left
            add_outer7(F, to, ld, n, columns, 1.0, G, s + U)
            add_bilinear(I, F, e, p, first, second, wK, q)
