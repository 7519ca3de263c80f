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

from mbd.algebra.vec import dot, load3, minus, plus, times
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import add_inertia, at, each, form_maps, form_second_maps, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit

_ZERO = (0.0,) * 9


@jit
def _weight(I: Any, F: Any, a: int) -> Any:
    """Return the acceleration of gravity of the attachment at I[a]: of a vector there is none."""
    return times(F[I[a + m.ATT_W]], load3(F, m.GX))


@cache
def masses(n: int) -> Kind:
    """Return the kind of constant masses of n points; numbers are the (n, n) matrix [kg]."""

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Add the inertia of all points, less their weight."""
        for b in range(n):
            end = I[e.ends + b]
            x = minus(at(I, F, m.YDD, end), _weight(I, F, end))
            for a in range(n):
                push(I, F, m.FY, I[e.ends + a], F[e.numbers + n * a + b], x)

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add m_ab I by accelerations."""
        form_maps(I, F, e, n, True)
        form_second_maps(I, F, e, n)
        for a in range(n):
            for b in range(n):
                mass = F[e.numbers + n * a + b]
                if mass != 0.0:
                    M = (mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, mass)
                    add_inertia(I, F, e, a, b, n, (M, _ZERO, _ZERO))

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

    return Kind(
        f"masses of {n} points", n, 0, tuple((a, b) for a in range(n) for b in range(n)), forces,
        tangent, damped=True, accelerated=True, smooth=True, work=m.SECOND_SIZE * n, energy=energy,
        momenta=momenta,
    )  # fmt: skip
