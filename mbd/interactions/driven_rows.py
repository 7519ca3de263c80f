r"""Constraint rows on sums of measures with a law of time: drives, transmissions, ropes.

With factors :math:`k_j`, a constant c, a slope s and a user's law f(t),

.. math:: \Phi = \sum_j k_j u_j - c - s\,t - f(t) = 0
   \qquad\text{or, on velocities,}\qquad
   g = \sum_j k_j \dot u_j - c - s\,t - f(t) = 0 .

Angles count turns (``turns.py``); an angle alone begins with those of the law that it follows.
Time derivatives hold those of the law, so that the first accelerations are consistent ones. Numbers
of an element are
:math:`(c, s, k_1, k_2, \dots)`, after each factor those of its measure; its memory is one number
for each measure.

The laws of one measure are compiled once and chained, whatever the sum.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from mbd.algebra.vec import load3, plus
from mbd.interactions.gradients import add_measured_row, gradient, second_rate, value_of
from mbd.interactions.kind import Kind
from mbd.interactions.laws import evaluate_now
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import ElementRecord, each, push
from mbd.interactions.turns import remember
from mbd.machine import buffer as m
from mbd.machine.jit import jit

CONSTANT, SLOPE, FACTORS = 0, 1, 2  # places of the numbers


@jit
def motion(I: Any, F: Any, e: Any) -> Any:
    """Return c + s t + f(t) and its two derivatives."""
    slope = F[e.numbers + SLOPE]
    f, f1, f2 = F[e.numbers + CONSTANT] + slope * F[m.T], slope, 0.0
    if e.law == 0:
        return f, f1, f2
    return plus((f, f1, f2), load3(F, evaluate_now(I, F, e.law)))


# --- the record of one term of the sum: its factor, the memory of its angle, its attachments ------
@jit
def _first(e: Any) -> Any:
    """Return the record of the first term."""
    return ElementRecord(
        e.u, e.numbers + FACTORS, e.memory, e.law, e.ends, e.blocks, e.pairs, e.end, e.code
    )  # fmt: skip


@jit
def _following(e: Any, of: Any, numbers: int) -> Any:
    """Return the record of the term after one of this shape with so many numbers."""
    n = of.n
    return ElementRecord(
        e.u, e.numbers + 1 + numbers, e.memory + 1, e.law, e.ends + n, e.blocks + 4 * n,
        e.pairs + 2 * n * n, e.end, e.code + (2 if of.full else 0),
    )  # fmt: skip


@jit
def _begin_with_the_law(I: Any, F: Any, e: Any) -> None:
    """Let the angle last accepted be that of the law, where no step is made."""
    if F[m.T] == F[m.T_STEP]:
        f, _, _ = motion(I, F, e)
        F[e.memory] = f / F[e.numbers + FACTORS]


@cache
def _summed(term: Callable[..., Any], measures: tuple[Measure, ...], *options: bool) -> Any:
    """Return a function of the first record and lam: the sums of what a `term` of each returns."""
    if not measures:

        @jit
        def nothing(I: Any, F: Any, e: Any, lam: float) -> Any:
            return 0.0, 0.0

        return nothing
    own, following = term(measures[0], *options), _summed(term, measures[1:], *options)
    of, numbers = measures[0].shape, measures[0].numbers

    @jit
    def both(I: Any, F: Any, e: Any, lam: float) -> Any:
        x, y = own(I, F, e, lam)
        others = following(I, F, _following(e, of, numbers), lam)
        return x + others[0], y + others[1]

    return both


def _forces(measure: Measure) -> Any:
    """Return a function that adds lam k g, and returns k u and k du/dt."""
    value, of, n = value_of(measure, 1), measure.shape, measure.n

    @jit
    def forces(I: Any, F: Any, e: Any, lam: float) -> Any:
        k = F[e.numbers]
        u, ud = value(I, F, e, True)
        for a in range(n):
            push(I, F, m.FY, I[e.ends + a], lam * k, gradient(I, F, of, a))
        return k * u, k * ud

    return forces


def _second_rates(measure: Measure) -> Any:
    """Return a function that returns the second time derivative of k u, and zero."""
    value, of = value_of(measure, 1), measure.shape

    @jit
    def second(I: Any, F: Any, e: Any, lam: float) -> Any:
        _, ud = value(I, F, e, True)
        return F[e.numbers] * second_rate(I, F, e, of, ud), 0.0

    return second


def _tangent(measure: Measure, rate: bool) -> Any:
    """Return a function that adds the blocks of a measure, and returns zeros."""
    value, of = value_of(measure, 1, bends=True), measure.shape

    @jit
    def tangent(I: Any, F: Any, e: Any, lam: float) -> Any:
        _, ud = value(I, F, e, True)
        add_measured_row(I, F, e, of, rate, ud, F[e.numbers], lam)
        return 0.0, 0.0

    return tangent


def _remembered(measure: Measure) -> Any:
    """Return a function that remembers an angle, and returns zeros."""
    value, periodic = value_of(measure, 1), measure.periodic

    @jit
    def store(I: Any, F: Any, e: Any, lam: float) -> Any:
        if periodic:
            u, ud = value(I, F, e, True)
            remember(I, F, e.memory, u, ud)
        return 0.0, 0.0

    return store


@cache
def total(measures: tuple[Measure, ...], rate: bool = False) -> Kind:
    """Return the row on a sum of measures as a kind; with ``rate`` the row is on velocities."""
    n = sum(x.n for x in measures)
    add_forces, second_rates = _summed(_forces, measures), _summed(_second_rates, measures)
    add_tangent, store = _summed(_tangent, measures, rate), _summed(_remembered, measures)
    alone = len(measures) == 1 and measures[0].periodic and not rate
    pairs: list[tuple[int, int]] = []
    first = 0
    for x in measures:
        pairs += [(first + a, first + b) for a, b in x.all_pairs]
        first += x.n

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        f, _, _ = motion(I, F, e)
        if alone:
            _begin_with_the_law(I, F, e)
        u, ud = add_forces(I, F, _first(e), F[I[m.A] + e.u])
        F[I[m.X] + e.u] = F[m.ROW_RATE] * (ud - f) if rate else u - f

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        add_tangent(I, F, _first(e), F[m.W_K] * F[I[m.A] + e.u])

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        """Write both derivatives; of a row on velocities its value and its derivative."""
        f, f1, f2 = motion(I, F, e)
        _, ud = add_forces(I, F, _first(e), 0.0)
        udd, _ = second_rates(I, F, _first(e), 0.0)
        F[I[m.PHID] + e.u] = ud - (f if rate else f1)
        F[I[m.PHIDD] + e.u] = udd - (f1 if rate else f2)

    @each
    def energy(I: Any, F: Any, e: Any) -> None:
        """Add the power -lam df/dt with which the motion drives; of a row on velocities -lam f."""
        f, f1, _ = motion(I, F, e)
        F[m.SUPPLIED] -= F[I[m.A] + e.u] * (f if rate else f1)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        """Keep the angles of an accepted step."""
        if alone:
            _begin_with_the_law(I, F, e)
        store(I, F, _first(e), 0.0)

    some = any(x.periodic for x in measures) and not rate
    names = " + ".join(x.name for x in measures)
    name = f"{'rate of ' if rate else ''}sum {names} row"
    unit = measures[0].unit + ("/s" if rate else "")
    return Kind(
        name, n, 1, tuple(pairs), forces, tangent, rates, accept if some else None, damped=rate,
        turns=some, stateless=alone, smooth=True, secant=False, integrable=rate, energy=energy,
        unit=unit, work=max(x.work for x in measures),
        code=tuple(f for x in measures for f in x.code),
    )  # fmt: skip
