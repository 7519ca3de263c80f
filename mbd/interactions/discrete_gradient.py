r"""Discrete gradient of a spring, for energy-momentum steps: mean tension times secant gradient.

With the measure u going straight from :math:`u_0` to :math:`u_1`,

.. math:: \bar f = \int_0^1 f(u_0 + s\,(u_1 - u_0))\,ds = \frac{V(u_1) - V(u_0)}{u_1 - u_0},
          \qquad V' = f .

A linear spring and a stop have this in closed form. A law of the user's is integrated by the rules
of Lobatto (four points) and Kronrod (seven points, exact to degree nine) on pieces that are halved
until both agree: a smooth law takes one or two pieces, a kink or a jump is closed in upon. Rate and
time are those of the middle: what depends on them drives or dissipates and has no potential.

With these means and the secant gradient g of ``measures.py``,
:math:`g\cdot(x_1 - x_0) = u_1 - u_0`, the force :math:`\bar f g_a` does the work
:math:`V(u_1) - V(u_0)`. Its derivative by the vectors at the end,
:math:`x_1 = x + \tfrac12 h\dot x` from the middle, where the measure has the
ordinary gradient :math:`g^1`, is

.. math:: \Big(\frac{\partial\bar f}{\partial u_1} + \frac1h \frac{\partial\bar f}{\partial\dot u}
   \Big) g_a (g^1_b)^T + \bar f\,\big(\tfrac12 h_{ab} I + n_a (g^1_b)^T\big), \qquad
   \tfrac12 h_{ab} I = \frac{\partial g_a}{\partial x_b} \frac{\partial x_b}{\partial x_{1b}},
   \quad n_a = \frac{\partial g_a}{\partial u_1} .

ROW_RATE, which turns the rate of the middle into the change between the ends, is the h of this.

References
----------
.. [1] Quispel and McLaren, J. Phys. A 41 (2008): the average vector field. Gander and Gautschi, BIT
   40 (2000): the rules.
"""

import math
from typing import Any

from mbd.algebra.vec import load3, plus, store3, times
from mbd.base.tolerances import ROUND_OFF
from mbd.interactions import gradients as gr
from mbd.interactions import pullback as on
from mbd.interactions.laws import evaluate_law
from mbd.interactions.measures import HXD, LAW_IN, LAW_OUT, NORMAL, XA, Measure
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit

_AGREE = 1e-13  # of the largest tension: difference of both rules on a piece, by its share
_PIECES = 400  # two jumps are closed in upon to round-off
_NODES = (0.0, 0.5 - math.sqrt(1 / 6), 0.5 - math.sqrt(0.05), 0.5)  # and mirrored
_KRONROD = (11 / 210, 72 / 245, 125 / 294, 16 / 35)  # weights on pieces of length two, as printed
_LOBATTO = (1 / 12, 0.0, 5 / 12, 0.0)
_RULE = tuple(
    (x, 0.5 * k, l)
    for x, k, l in (
        *zip(_NODES, _KRONROD, _LOBATTO, strict=True),
        *((1 - x, k, l) for x, k, l in zip(_NODES[:3], _KRONROD, _LOBATTO[:3], strict=False)),
    )
)  # fmt: skip


@jit
def mean_of_law(I: Any, F: Any, law: int, first: float, last: float) -> Any:
    """Return the means of f, of 2 x df/du with x from 0 to 1, and of df/d(rate)."""
    s, turn = I[m.SCRATCH], last - first
    mean, stiff, damp, size = 0.0, 0.0, 0.0, 0.0
    at, width = 0.0, 1.0
    for piece in range(_PIECES):
        f, k, c, rough = 0.0, 0.0, 0.0, 0.0
        for x, weight, other in _RULE:
            place = at + width * x
            F[s + LAW_IN] = first + place * turn
            evaluate_law(I, F, law)
            now = F[s + LAW_OUT]
            f += weight * now
            rough += (weight - other) * now
            k += weight * place * F[s + LAW_OUT + 1]
            c += weight * F[s + LAW_OUT + 2]
            size = max(size, abs(now))
        if width * abs(rough) > _AGREE * size and piece < _PIECES // 2 and at + 0.5 * width > at:
            width *= 0.5
            continue
        mean += width * f
        stiff += 2 * width * k
        damp += width * c
        at += width
        if at >= 1.0:
            break
        width = min(2 * width, 1.0 - at)
    return mean, stiff, damp


@jit
def mean_tension(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return the mean of f, twice its derivative by the last measure, and that by the rate."""
    if e.law == 0:
        k, c, u0 = load3(F, e.numbers)
        return k * (0.5 * (first + last) - u0) + c * rate, k, c
    F[I[m.SCRATCH] + LAW_IN + 1] = rate
    F[I[m.SCRATCH] + LAW_IN + 2] = F[m.T]
    return mean_of_law(I, F, e.law, first, last)


@jit
def mean_held(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return a tension that is a number, and its derivatives."""
    return F[e.numbers], 0.0, 0.0


@jit
def _mean_depth(first: float, last: float) -> Any:
    """Return the mean of max(x, 0) from first to last, and twice its derivative by last."""
    if first >= 0.0 and last >= 0.0:
        return 0.5 * (first + last), 1.0
    if last > 0.0:
        share = last / (last - first)
        return 0.5 * share * last, (2.0 - share) * share
    if first > 0.0:
        share = first / (first - last)
        return 0.5 * share * first, share * share
    return 0.0, 0.0


@jit
def _mean_power(first: float, last: float, n: float) -> Any:
    r"""Return the mean of max(x, 0)^n from first to last, and twice its derivative by last.

    .. math:: \frac{b^{n+1} - a^{n+1}}{(n+1)(b - a)}, \quad
              b^{n+1} - a^{n+1} = -b^{n+1}\operatorname{expm1}((n+1)\operatorname{log1p}(a/b - 1))
    """
    if n == 1.0:
        return _mean_depth(first, last)
    a, b, width = max(first, 0.0), max(last, 0.0), last - first
    top = max(a, b)
    if top == 0.0:
        return 0.0, 0.0
    part = abs(width) / top
    if part < math.sqrt(ROUND_OFF):  # the error of the series and that of the quotient are alike
        x = 0.5 * (a + b)
        return x**n, n * x ** (n - 1.0)
    if part > 0.5:
        mean = (b ** (n + 1.0) - a ** (n + 1.0)) / ((n + 1.0) * width)
    else:
        mean = -(top**n) * math.expm1((n + 1.0) * math.log1p(-part)) / ((n + 1.0) * part)
    return mean, 2.0 * (b**n - mean) / width


@jit
def load_stop(F: Any, number: int) -> Any:
    """Return stiffness, dissipation, both limits and exponent of a stop."""
    return F[number], F[number + 1], F[number + 2], F[number + 3], F[number + 4]


@jit
def mean_push(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return the mean tension of two stops k d^n (1 + e d') and its derivatives, the same two."""
    k, lost, low, high, n = load_stop(F, e.numbers)
    up, by_up = _mean_power(first - high, last - high, n)
    down, by_down = _mean_power(low - first, low - last, n)
    above, below = max(1.0 + lost * rate, 0.0), max(1.0 - lost * rate, 0.0)
    damp = k * lost * ((up if above > 0.0 else 0.0) + (down if below > 0.0 else 0.0))
    return k * (above * up - below * down), k * (above * by_up + below * by_down), damp


@jit
def mean_pull(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return the mean of max(k (u - u0) + c u', 0) and its derivatives, the same two."""
    k, c, u0 = load3(F, e.numbers)
    one, two = first - u0 + c * rate / k, last - u0 + c * rate / k
    depth, by_last = _mean_depth(one, two)
    share = 1.0 if two > 0.0 else 0.0  # of the step in which it pulls
    if one * two < 0.0:
        share = max(one, two) / abs(two - one)
    return k * depth, k * by_last, c * share


def discrete_gradient(measure: Measure, mean: Any, size: int, row: bool = False) -> tuple[Any, Any]:
    """Return the kernels of forces and tangent; a spring has `size` numbers and room for two.

    Those of the measure are between them. The mean tension is the multiplier of a compliant
    ``row``.
    """
    n, of, secant, curved = measure.n, measure.shape, measure.secant, measure.curved
    evaluate, value = gr.evaluation(measure, size), gr.value_of(measure, size)
    bent_value = gr.value_of(measure, size, bends=True)
    size += measure.numbers

    @jit
    def look_at_end(I: Any, F: Any, e: Any, h: float) -> None:
        """Evaluate the measure at the end of the step, x + x' h/2."""
        to = gr.vectors(I, of, XA)
        for a in range(n):
            x = plus(at(I, F, m.Y, I[e.ends + a]), times(0.5 * h, at(I, F, m.YD, I[e.ends + a])))
            store3(F, to + 3 * a, x)
        evaluate(I, F, e)

    @jit
    def acting(I: Any, F: Any, e: Any, u: float) -> Any:
        """Leave the secant gradient; return the mean tension and its derivatives."""
        s, first, last = I[m.SCRATCH], F[e.numbers + size], F[e.numbers + size + 1]
        secant(F, s, u, first, last)
        return mean(I, F, e, first, last, (last - first) / F[m.ROW_RATE])

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """At the ends of the step keep the measure; in the middle act."""
        phase = ints(F)[m.PHASE]
        u, _ = value(I, F, e, False)
        if row:
            F[I[m.X] + e.u] = 0.0
        if phase == m.START:
            F[e.numbers + size] = u
        elif phase == m.END:
            F[e.numbers + size + 1] = u
        else:
            f, _, _ = acting(I, F, e, u)
            if row:
                F[I[m.A] + e.u] = f
            for a in range(n):
                push(I, F, m.FY, I[e.ends + a], f, gr.gradient(I, F, of, a))

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add the derivative by the end, twice: the weight of the stiffness is that of the middle.

        The gradient at the end waits where the rates of gradients are elsewhere, or after the
        Hessian of a full measure.
        """
        s, h, wK = I[m.SCRATCH], F[m.ROW_RATE], F[m.W_K]
        last = gr.vectors(I, of, NORMAL) + 9 * n * n if of.full else s + HXD
        look_at_end(I, F, e, h)
        for a in range(n):
            store3(F, last + 3 * a, gr.gradient(I, F, of, a))
        u, _ = bent_value(I, F, e, False)
        f, stiff, damp = acting(I, F, e, u)
        on.form_maps(I, F, e, n, False)
        for a in range(n):
            r = on.face(I, e, a)
            if r < 0:
                continue
            if r == a:
                on.clear(F, on.vector(I, a, gr.GAMMA), 3)
            by_end = times(stiff + 2 * damp / h, gr.gradient(I, F, of, a))
            if curved:
                by_end = plus(by_end, times(2 * f, load3(F, s + NORMAL + 3 * a)))
            n_v = I[I[e.ends + a] + m.ATT_N]
            on.add_through(F, on.vector(I, r, gr.GAMMA), on.map_of(I, a, m.P), n_v, wK, by_end)
            on.add_through(
                F, on.vector(I, r, gr.X), on.map_of(I, a, m.PT), n_v, 1.0, load3(F, last + 3 * a)
            )
        gr.add_products(I, F, e, n, False)
        gr.add_hessian(I, F, e, of, wK * f)
        if row:
            on.subtract_own(I, F, e, 1, 1.0)

    return forces, tangent
