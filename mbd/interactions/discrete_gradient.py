r"""Discrete gradient of a spring, for energy-momentum steps: mean tension times secant gradient.

With the means :math:`\bar f` of ``mean_tension.py`` and the secant gradient g of ``measures.py``,
:math:`g\cdot(x_1 - x_0) = u_1 - u_0`, the force :math:`\bar f g_a` does the work
:math:`V(u_1) - V(u_0)`. Its derivative by the vectors at the end,
:math:`x_1 = x + \tfrac12 h\dot x` from the middle, where the measure has the
ordinary gradient :math:`g^1`, is

.. math:: \Big(\frac{\partial\bar f}{\partial u_1} + \frac1h \frac{\partial\bar f}{\partial\dot u}
   \Big) g_a (g^1_b)^T + \bar f\,\big(\tfrac12 h_{ab} I + n_a (g^1_b)^T\big), \qquad
   \tfrac12 h_{ab} I = \frac{\partial g_a}{\partial x_b} \frac{\partial x_b}{\partial x_{1b}},
   \quad n_a = \frac{\partial g_a}{\partial u_1} .

ROW_RATE, which turns the rate of the middle into the change between the ends, is the h of this.
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.vec import load3, mat_plus, outer, plus, store3, times
from mbd.interactions.measures import GRAD, HESS, HXD, NORMAL, XA, Measure, unwrap
from mbd.interactions.pullback import add_product, at, push
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_N, ATT_P, ATT_PT
from mbd.machine.jit import ints, jit, kernel

__all__ = ["discrete_gradient"]

END, FY, PHASE, ROW_RATE, SCRATCH, START, W_K, Y, YD = (
    m.END, m.FY, m.PHASE, m.ROW_RATE, m.SCRATCH, m.START, m.W_K, m.Y, m.YD,
)  # fmt: skip
_EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def discrete_gradient(measure: Measure, mean: Any, size: int) -> tuple[Any, Any]:
    """Return the kernels of forces and tangent; a spring has `size` numbers and room for two."""
    evaluate, n, periodic, secant = measure.evaluate, measure.n, measure.periodic, measure.secant
    n_fields = n + 4

    @jit
    def value(I: Any, F: Any, i: int, s: int, ahead: float) -> float:
        """Evaluate the measure at x + ahead x'."""
        for a in range(n):
            x = plus(at(I, F, Y, I[i + a]), times(ahead, at(I, F, YD, I[i + a])))
            store3(F, s + XA + 3 * a, x)
        u = evaluate(F, s)
        return unwrap(u, F[I[i + n + 2]]) if periodic else u

    @jit
    def acting(I: Any, F: Any, i: int, s: int, u: float) -> Any:
        """Leave the secant gradient; return the mean tension and its derivatives."""
        number = I[i + n + 1]
        first, last = F[number + size], F[number + size + 1]
        secant(F, s, u, first, last)
        return mean(I, F, s, number, I[i + n + 3], first, last, (last - first) / F[ROW_RATE])

    @kernel
    def forces(I: Any, F: Any, k: int) -> None:
        """At the ends of the step keep the measure; in the middle act."""
        S = ints(F)
        s, phase = I[SCRATCH], S[PHASE]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            u = value(I, F, i, s, 0.0)
            if phase == START:
                F[I[i + n + 1] + size] = u
            elif phase == END:
                F[I[i + n + 1] + size + 1] = u
            else:
                f, _, _ = acting(I, F, i, s, u)
                for a in range(n):
                    push(I, F, FY, I[i + a], f, load3(F, s + GRAD + 3 * a))

    @kernel
    def tangent(I: Any, F: Any, k: int) -> None:
        """Add the derivative by the end, twice: the weight of the stiffness is that of the middle.

        The gradient at the end waits where the rates of gradients are elsewhere.
        """
        s, h, wK = I[SCRATCH], F[ROW_RATE], F[W_K]
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            value(I, F, i, s, 0.5 * h)
            for a in range(n):
                store3(F, s + HXD + 3 * a, load3(F, s + GRAD + 3 * a))
            f, stiff, damp = acting(I, F, i, s, value(I, F, i, s, 0.0))
            for a in range(n):
                ga, na = load3(F, s + GRAD + 3 * a), load3(F, s + NORMAL + 3 * a)
                by_end = plus(times(stiff + 2 * damp / h, ga), times(2 * f, na))
                one = I[i + a]
                for b in range(n):
                    j = i + n_fields + 2 * (a * n + b)
                    if I[j] >= 0:
                        two = I[i + b]
                        K = outer(by_end, load3(F, s + HXD + 3 * b))
                        K = mat_plus(K, f * F[s + HESS + 4 * a + b], _EYE)
                        add_product(F, I[one + ATT_P], I[one + ATT_N], wK, K, I[two + ATT_PT],
                                    I[two + ATT_N], I[j], I[j + 1])  # fmt: skip

    return forces, tangent
