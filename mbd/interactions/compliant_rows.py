r"""Compliant rows: constraints that give way in proportion to their multipliers.

.. math:: \Phi(q, t) - C\lambda = 0, \qquad C > 0,

is the spring :math:`\lambda = \Phi/C` with its force as an unknown of its own. Newton's method has,
with the residual :math:`r + B^T\lambda`,

.. math:: \begin{bmatrix} S & B^T \\ B & -C/w \end{bmatrix}
          \begin{bmatrix} \Delta x \\ w\,\Delta\lambda \end{bmatrix} =
          -\begin{bmatrix} w\,r \\ \Phi - C\lambda \end{bmatrix}, \qquad w = \beta h^2 ,

regular for every :math:`C \ge 0`, with the rigid row as its limit: no number in it grows with the
stiffness. After :math:`\lambda` is eliminated, it is the spring's,
:math:`(S + w\,B^T C^{-1} B)\,\Delta x`. So the rows are rows in the time loop, where positions meet
them. Elsewhere, where S[ELASTIC] is set (accelerations of a state, statics, small motions, methods
that meet rows by their rates), no equation asks for velocities or accelerations of them: they are
springs, write their multipliers themselves, and minus one stands on the diagonal.

Their energy is :math:`\tfrac12\lambda C\lambda = \Phi^2/2C`, and a motion :math:`f(t)` in
:math:`\Phi = u - f(t)` supplies the power :math:`-\lambda\dot f`.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, minus, store3, times
from mbd.interactions.discrete_gradient import discrete_gradient
from mbd.interactions.driven_rows import motion
from mbd.interactions.gradients import accept_of, add_measured_row, add_tension, gradient, value_of
from mbd.interactions.kind import Kind
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import add_multiple, at, each, form_maps, push, subtract_own
from mbd.interactions.rows import add_coincide
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit

COMPLIANCE = 2  # place of the number after those of the motion; then come those of the measure
_PAIRS = ((0, 0), (0, 1), (1, 0), (1, 1))


@jit
def _mean(I: Any, F: Any, e: Any, first: float, last: float, rate: float) -> Any:
    """Return the mean tension of a step, twice its derivative by the last measure, zero."""
    f, _, _ = motion(I, F, e)
    k = 1.0 / F[e.numbers + COMPLIANCE]
    return k * (0.5 * (first + last) - f), k, 0.0


@cache
def compliant(measure: Measure) -> Kind:
    r"""Return :math:`u - c - s\,t - f(t) = C\lambda` of a measure u as a kind with one row.

    Numbers are (c, s, C) and those of the measure; a periodic one has one of memory, the angle last
    accepted.
    """
    n, of, value = measure.n, measure.shape, value_of(measure, COMPLIANCE + 1)
    bent_value = value_of(measure, COMPLIANCE + 1, bends=True)
    stress = COMPLIANCE + 1 + measure.numbers

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        S, lam, x = ints(F), I[m.A] + e.u, I[m.X] + e.u
        phase, C = S[m.PHASE], F[e.numbers + COMPLIANCE]
        f, _, _ = motion(I, F, e)
        u, ud = value(I, F, e, phase == m.STRESS_AHEAD)
        if S[m.ELASTIC]:
            F[x] = 0.0
            if phase == m.STRESS_AHEAD:
                F[e.numbers + stress] = (u - f + ud) / C
                return
            F[lam] = F[e.numbers + stress] if phase == m.STRESS_GIVEN else (u - f) / C
        else:
            F[x] = u - f - C * F[lam]
        for a in range(n):
            push(I, F, m.FY, I[e.ends + a], F[lam], gradient(I, F, of, a))

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        lam, C = F[I[m.A] + e.u], F[e.numbers + COMPLIANCE]
        bent_value(I, F, e, False)
        if ints(F)[m.ELASTIC]:
            add_tension(I, F, e, of, 0.0, lam, 1.0 / C, 0.0)
            subtract_own(I, F, e, 1, 1.0)
        else:
            add_measured_row(I, F, e, of, False, 0.0, 1.0, F[m.W_K] * lam)
            subtract_own(I, F, e, 1, C / F[m.SCALE_R])

    @each
    def energy(I: Any, F: Any, e: Any) -> None:
        """Add lam C lam / 2, free of the round-off of positions, and the power of the motion."""
        lam, (_, speed, _) = F[I[m.A] + e.u], motion(I, F, e)
        F[m.POTENTIAL] += 0.5 * F[e.numbers + COMPLIANCE] * lam * lam
        F[m.SUPPLIED] -= lam * speed

    means = discrete_gradient(measure, _mean, COMPLIANCE + 1, row=True)
    return Kind(
        f"compliant {measure.name} row", n, 1, measure.all_pairs, forces, tangent, _rates(1),
        accept_of(measure), turns=measure.periodic, room=2, stresses=1, secant=measure.conserves,
        conserving=means if measure.conserves else None, smooth=True, own_block=True, energy=energy,
        work=measure.work, code=measure.code, unit=measure.unit,
    )  # fmt: skip


@cache
def _rates(n_rows: int) -> Any:
    """Return the kernel of rows whose rates nobody asks for."""

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        for r in range(n_rows):
            F[I[m.PHID] + e.u + r] = F[I[m.PHIDD] + e.u + r] = 0.0

    return rates


@each
def _coincide_forces(I: Any, F: Any, e: Any) -> None:
    """Write P - Q - C lam, or lam = (P - Q)/C; add lam at P, -lam at Q."""
    P, Q, C = I[e.ends], I[e.ends + 1], F[e.numbers]
    d, lam = minus(at(I, F, m.Y, P), at(I, F, m.Y, Q)), load3(F, I[m.A] + e.u)
    if ints(F)[m.ELASTIC]:
        lam = times(1.0 / C, d)
        store3(F, I[m.A] + e.u, lam)
        store3(F, I[m.X] + e.u, (0.0, 0.0, 0.0))
    else:
        store3(F, I[m.X] + e.u, minus(d, times(C, lam)))
    push(I, F, m.FY, P, 1.0, lam)
    push(I, F, m.FY, Q, -1.0, lam)


@each
def _coincide_tangent(I: Any, F: Any, e: Any) -> None:
    """Add the rows, their columns and their own block, or the stiffness 1/C."""
    C = F[e.numbers]
    if ints(F)[m.ELASTIC]:
        form_maps(I, F, e, 2, False)
        for p, (a, b) in enumerate(_PAIRS):
            add_multiple(I, F, e, p, a, b, (1.0 if a == b else -1.0) * F[m.W_K] / C)
        subtract_own(I, F, e, 3, 1.0)
    else:
        add_coincide(I, F, e)
        subtract_own(I, F, e, 3, C / F[m.SCALE_R])


@each
def _coincide_energy(I: Any, F: Any, e: Any) -> None:
    """Add the potential C lam^2 / 2."""
    lam = load3(F, I[m.A] + e.u)
    F[m.POTENTIAL] += 0.5 * F[e.numbers] * dot(lam, lam)


COMPLIANT_COINCIDE = Kind(
    "compliant coincide", 2, 3, _PAIRS, _coincide_forces, _coincide_tangent, _rates(3),
    smooth=True, own_block=True, energy=_coincide_energy, unit="m",
)  # fmt: skip
