r"""Constant masses of points: the consistent mass of a bar.

With a symmetric matrix m of the points :math:`x_a` of faces and gravity g,

.. math:: T = \tfrac12\sum_{ab} m_{ab}\,\dot x_a\cdot\dot x_b, \qquad
          V = -\sum_{ab} m_{ab}\, g\cdot x_a, \qquad
          f_a = \sum_b m_{ab}(\ddot x_b - g) .

The energy-momentum scheme conserves all of it: in a step :math:`\ddot x` is
:math:`(\dot x_1 - \dot x_0)/h`, so that :math:`\sum_a f_a\cdot(x_a^1 - x_a^0)` is the change of
T + V, and nothing but the symmetry of m makes the sum of moments that of angular momentum.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, minus, plus, store3, times
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.simd import add_map, add_outer3, set_map, set_sum

_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@jit
def _weight(I: Any, F: Any, a: int) -> Any:
    """Return the acceleration of gravity of the attachment at I[a]: of a vector there is none."""
    return times(F[I[a + m.ATT_W]], load3(F, m.GX))


@jit
def _write_accelerations(I: Any, F: Any, e: Any, n: int, b: int) -> None:
    """Write the map of the acceleration of b, with the weights of the matrix, as three vectors."""
    V, columns = on.vector(I, b, 0), I[I[e.ends + b] + m.ATT_N]
    PV, AV, AQ = (
        on.velocity_map(I, F, e, b),
        on.second_map(I, n, b, m.AV),
        on.second_map(I, n, b, m.AQ),
    )
    wM, wG, wK = F[m.W_M], F[m.W_G], F[m.W_K]
    for c in range(3):
        to, (x, y, z) = V + m.MAP_ROW * c, _UNITS[c]
        set_map(F, to, PV, columns, wM * x, wM * y, wM * z)
        add_map(F, to, AV, columns, wG * x, wG * y, wG * z)
        add_map(F, to, AQ, columns, wK * x, wK * y, wK * z)


@cache
def masses(n: int, frames: bool = False) -> Kind:
    """Return the kind of constant masses of n points; numbers are the (n, n) matrix [kg].

    Of ``frames``, each of an origin and three directors on one body, pairs are those of bodies.
    """
    size = 4 if frames else 1
    count = n // size

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Add the inertia of all points, less their weight."""
        for b in range(n):
            end = I[e.ends + b]
            store3(F, on.vector(I, b, 0), minus(at(I, F, m.YDD, end), _weight(I, F, end)))
        for a in range(n):
            f = (0.0, 0.0, 0.0)
            for b in range(n):
                f = plus(f, times(F[e.numbers + n * a + b], load3(F, on.vector(I, b, 0))))
            push(I, F, m.FY, I[e.ends + a], 1.0, f)

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add m_ab I by accelerations."""
        on.form_maps(I, F, e, n, True)
        on.form_second_maps(I, F, e, n)
        for b in range(n):
            _write_accelerations(I, F, e, n, b)
            columns, V, left = (
                I[I[e.ends + b] + m.ATT_N],
                on.vector(I, b, 0),
                on.second_map(I, n, b, 0),
            )
            for k in range(count):
                a, p = size * k, count * k + b // size
                if on.coupled(I, F, e, p):
                    rows, P, w = I[I[e.ends + a] + m.ATT_N], on.map_of(I, a, m.P), e.numbers + b
                    scale = 1.0
                    if frames:
                        w0, w1, w2 = F[w + n * a], F[w + n * (a + 1)], F[w + n * (a + 2)]
                        set_sum(F, left, P, rows, w0, w1, w2, F[w + n * (a + 3)])
                        P = left
                    else:
                        scale = F[w + n * a]
                    to = e.pairs + 2 * p
                    add_outer3(F, I[to], I[to + 1], rows, columns, scale, P, V)

    @each
    def energy(I: Any, F: Any, e: Any) -> None:
        """Add the potential energy of gravity, which is zero at the origin of ground."""
        for a in range(n):
            end = I[e.ends + a]
            x = minus(at(I, F, m.Y, end), times(F[I[end + m.ATT_W]], load3(F, I[m.GROUND])))
            for b in range(n):
                mass = F[e.numbers + n * a + b]
                F[m.POTENTIAL] -= mass * dot(_weight(I, F, I[e.ends + b]), x)

    @each
    def momenta(I: Any, F: Any, e: Any) -> None:
        """Add the momenta of all points."""
        for a in range(n):
            p = (0.0, 0.0, 0.0)
            for b in range(n):
                p = plus(p, times(F[e.numbers + n * a + b], at(I, F, m.YD, I[e.ends + b])))
            push(I, F, m.FY, I[e.ends + a], 1.0, p)

    name = f"masses of {count} frames" if frames else f"masses of {n} points"
    first = range(0, n, size)
    return Kind(
        name, n, 0, tuple((a, b) for a in first for b in first), forces, tangent, damped=True,
        accelerated=True, smooth=True, work=m.SECOND_SIZE * n, energy=energy, momenta=momenta,
    )  # fmt: skip
