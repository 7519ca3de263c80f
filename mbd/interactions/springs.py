r"""Springs and dampers on a measure: a tension f(u, du/dt, t) along the gradient.

The residual receives :math:`f g_a` (tension pulls u down). With :math:`k = \partial f/\partial u`,
:math:`c = \partial f/\partial\dot u` and the Hessian of ``measures.py``,

.. math:: K_{ab} = k\, g_a g_b^T + f H_{ab} + c\, g_a (H\dot x)_b^T, \qquad
          G_{ab} = c\, g_a g_b^T .

The geometric part :math:`f H_{ab}` has the sign of the tension: a stretched spring stiffens its
transverse directions, a compressed one softens them.

What the tension holds at rest, :math:`f_0(u) = f(u, 0, 0)`, has the potential

.. math:: V = \int_{u_0}^u f_0(x)\,dx ,

in closed form for linear springs, ties (springs that only pull) and stops; of a user's law from
the measure at the described pose on, by the quadrature of ``discrete_gradient.py``. The rest of the
power is dissipated, :math:`(f(u, \dot u, t) - f(u, 0, t))\,\dot u`, or supplied by what changes
with time, :math:`(f_0(u) - f(u, 0, t))\,\dot u`. A law that jumps at rate zero (dry friction)
holds the mean of both sides there.
"""

import math
from dataclasses import replace
from functools import cache
from typing import Any

from mbd.algebra.vec import load3, store3
from mbd.interactions import discrete_gradient as dg
from mbd.interactions.gradients import accept_of, add_tension, gradient, value_of
from mbd.interactions.kind import Kind
from mbd.interactions.laws import evaluate_law
from mbd.interactions.measures import LAW_IN, LAW_OUT, Measure
from mbd.interactions.pullback import each, each_stiffness, push
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit

_BARELY = 1e-150  # a rate of either sign that no law feels by its size


@jit
def _tension(I: Any, F: Any, e: Any, u: float, ud: float) -> Any:
    """Return f, df/du, df/d(du/dt): k (u - u0) + c du/dt, or the user's law."""
    if e.law == 0:
        return _linear(F, e, u, ud)
    s = I[m.SCRATCH]
    store3(F, s + LAW_IN, (u, ud, F[m.T]))
    evaluate_law(I, F, e.law)
    return load3(F, s + LAW_OUT)


@jit
def _linear(F: Any, e: Any, u: float, ud: float) -> Any:
    """Return k (u - u0) + c du/dt and its derivatives."""
    k, c, u0 = load3(F, e.numbers)
    return k * (u - u0) + c * ud, k, c


@jit
def _pushed_back(I: Any, F: Any, e: Any, u: float, ud: float) -> Any:
    """Return the tension of two stops and its derivatives: k d^n (1 + e d') at d, never a pull.

    Growing with the depth, dissipation makes no jump at the impact (Hunt and Crossley).
    """
    k, lost, low, high, n = dg.load_stop(F, e.numbers)
    if u > high:
        side, depth = 1.0, u - high
    elif u < low:
        side, depth = -1.0, low - u
    else:
        return 0.0, 0.0, 0.0
    factor = 1.0 + lost * side * ud
    if factor <= 0.0:
        return 0.0, 0.0, 0.0
    k *= depth ** (n - 1.0)
    return side * k * depth * factor, n * k * factor, k * depth * lost


@jit
def _pulled(I: Any, F: Any, e: Any, u: float, ud: float) -> Any:
    """Return the tension of what goes slack, max(k (u - u0) + c du/dt, 0), and its derivatives.

    Not while a balance is searched with stresses of their own: that is checked without them.
    """
    f, k, c = _linear(F, e, u, ud)
    return (f, k, c) if f > 0.0 or ints(F)[m.PHASE] >= m.STRESS_AHEAD else (0.0, 0.0, 0.0)


@jit
def _held(I: Any, F: Any, e: Any, u: float, ud: float) -> Any:
    """Return a tension that is a number, and its derivatives."""
    return F[e.numbers], 0.0, 0.0


@jit
def _rubbed(I: Any, F: Any, e: Any, u: float, ud: float) -> Any:
    """Return dry friction, smoothed near rest, mu u'/sqrt(u'^2 + v^2), and its derivatives."""
    mu, v = F[e.numbers], F[e.numbers + 1]
    root = math.sqrt(ud * ud + v * v)
    return mu * ud / root, 0.0, mu * (v / root) ** 2 / root


@jit
def _mean_rub(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return the friction at the rate of a step, and its derivatives."""
    return _rubbed(I, F, e, last, rate)


@jit
def _without(I: Any, F: Any, e: Any, u: float, last: float, V: float) -> Any:
    """Return no potential: all of the power is dissipated."""
    return 0.0, 0.0, 0.0


@jit
def _at_rest(I: Any, F: Any, law: int, u: float, t: float) -> float:
    """Return the tension of a law at rest: the mean of what it is just before and after."""
    s, both = I[m.SCRATCH], 0.0
    for side in range(2):
        store3(F, s + LAW_IN, (u, _BARELY if side == 0 else -_BARELY, t))
        evaluate_law(I, F, law)
        both += F[s + LAW_OUT]
    return 0.5 * both


@jit
def _potential(I: Any, F: Any, e: Any, u: float, last: float, V: float) -> Any:
    """Return the potential at u, the tension at rest now, and that which has the potential.

    Of a law the potential V at the measure `last` is known.
    """
    if e.law == 0:
        x = u - F[e.numbers + 2]
        f = F[e.numbers] * x
        return 0.5 * f * x, f, f
    if u != last:
        for side in range(2):
            F[I[m.SCRATCH] + LAW_IN + 1] = _BARELY if side == 0 else -_BARELY
            F[I[m.SCRATCH] + LAW_IN + 2] = 0.0
            mean, _, _ = dg.mean_of_law(I, F, e.law, last, u)
            V += 0.5 * mean * (u - last)
    return V, _at_rest(I, F, e.law, u, F[m.T]), _at_rest(I, F, e.law, u, 0.0)


@jit
def _pushed_in(I: Any, F: Any, e: Any, u: float, last: float, V: float) -> Any:
    """Return the potential k d^(n + 1)/(n + 1) of two stops at d, and the tension at rest twice."""
    k, _, low, high, n = dg.load_stop(F, e.numbers)
    depth = max(u - high, 0.0) + min(u - low, 0.0)
    f = k * abs(depth) ** (n - 1.0) * depth
    return f * depth / (n + 1.0), f, f


@jit
def _stretched(I: Any, F: Any, e: Any, u: float, last: float, V: float) -> Any:
    """Return the potential k max(u - u0, 0)^2/2, and the tension at rest twice."""
    x = max(u - F[e.numbers + 2], 0.0)
    f = F[e.numbers] * x
    return 0.5 * f * x, f, f


@jit
def _lifted(I: Any, F: Any, e: Any, u: float, last: float, V: float) -> Any:
    """Return the potential of a tension that is a number, and this twice."""
    return F[e.numbers] * u, F[e.numbers], F[e.numbers]


@cache
def potential(measure: Measure) -> Kind:
    """Return the force of a potential that is the measure itself [J]; its number is one."""
    force = _acting("potential", measure, _held, dg.mean_held, _lifted, 1, smooth=True)
    return replace(force, damped=False)


@cache
def spring(measure: Measure) -> Kind:
    """Return the spring-damper on a measure; numbers are (stiffness, damping, reference)."""
    return _acting("spring", measure, _tension, dg.mean_tension, _potential, 3, smooth=True)


@cache
def motor(measure: Measure) -> Kind:
    """Return a spring with a law all of whose work is put into the system."""
    return replace(spring(measure), name=f"motor on {measure.name}", energy=None)


@cache
def held(measure: Measure) -> Kind:
    """Return a tension that is a number, all of whose work is put into the system."""
    effort = _acting("held effort", measure, _held, dg.mean_held, _potential, 1, smooth=True)
    return replace(effort, energy=None)


@cache
def stop(measure: Measure) -> Kind:
    """Return the stops of a measure; numbers: stiffness, dissipation, lower, upper, exponent."""
    return _acting("stop", measure, _pushed_back, dg.mean_push, _pushed_in, 5)


@cache
def tie(measure: Measure) -> Kind:
    """Return the spring-damper that only pulls; numbers are (stiffness > 0, damping, reference)."""
    return _acting("tie", measure, _pulled, dg.mean_pull, _stretched, 3)


@cache
def rubbing(measure: Measure) -> Kind:
    """Return the dry friction along a measure; numbers are (friction, speed > 0)."""
    return _acting("friction", measure, _rubbed, _mean_rub, _without, 2)


def _acting(
    word: str, measure: Measure, tension: Any, mean: Any, potential: Any, size: int,
    smooth: bool = False,
) -> Kind:  # fmt: skip
    """Return the force along the gradient of a measure: tension, mean over a step, potential.

    Of its numbers there are `size`, then come those of the measure; two more hold the measure at
    the ends of a conserving step, and where energies are asked for the last measure and its
    potential.
    """
    n, of, value = measure.n, measure.shape, value_of(measure, size)
    bent_value = value_of(measure, size, bends=True)
    conserving = dg.discrete_gradient(measure, mean, size) if measure.conserves else None
    size += measure.numbers

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        phase, (u, ud) = ints(F)[m.PHASE], value(I, F, e, True)
        f, stiff, _ = tension(I, F, e, u, 0.0 if phase == m.STRESS_AHEAD else ud)
        if phase == m.STRESS_AHEAD:
            F[e.numbers + size] = f + stiff * ud
            return
        if phase == m.STRESS_GIVEN:
            f = F[e.numbers + size]
        for a in range(n):
            push(I, F, m.FY, I[e.ends + a], f, gradient(I, F, of, a))

    @each_stiffness
    def tangent(I: Any, F: Any, e: Any) -> None:
        u, ud = bent_value(I, F, e, True)
        f, stiff, damp = tension(I, F, e, u, ud)
        if ints(F)[m.PHASE] == m.STRESS_GIVEN:
            f = F[e.numbers + size]
        add_tension(I, F, e, of, ud, f, stiff, damp)

    @each
    def energy(I: Any, F: Any, e: Any) -> None:
        """Add the potential, the power dissipated and that supplied by what changes with time."""
        (u, ud), number, V = value(I, F, e, True), e.numbers, 0.0
        if ints(F)[m.PHASE] != m.START:
            last, V = F[number + size], F[number + size + 1]
            V, now, held = potential(I, F, e, u, last, V)
            f, _, _ = tension(I, F, e, u, ud)
            F[m.POTENTIAL] += V
            F[m.DISSIPATED] += (f - now) * ud
            F[m.SUPPLIED] += (held - now) * ud
        F[number + size], F[number + size + 1] = u, V

    return Kind(
        f"{word} on {measure.name}", n, 0, measure.all_pairs, forces, tangent,
        accept=accept_of(measure), damped=True, turns=measure.periodic, smooth=smooth, room=2,
        stresses=1, secant=measure.conserves, conserving=conserving, work=measure.work,
        energy=energy, code=measure.code, unit=measure.unit,
    )  # fmt: skip
