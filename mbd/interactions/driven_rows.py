r"""Constraint rows on sums of measures with a law of time: drives, transmissions, ropes.

With factors :math:`k_j`, a constant c, a slope s and a user's law f(t),

.. math:: \Phi = \sum_j k_j u_j - c - s\,t - f(t) = 0
   \qquad\text{or, on velocities,}\qquad
   g = \sum_j k_j \dot u_j - c - s\,t - f(t) = 0 .

Angles are unwrapped, each against its value at the last accepted step, and an angle alone against
the law it follows. Time derivatives hold those
of the law, so that the first accelerations are consistent ones. Numbers of an element are
:math:`(c, s, k_1, k_2, \dots)`, its memory is one number for each measure.

The laws of one measure are compiled once and chained, whatever the sum.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mbd.algebra.vec import dot, load3, mat_plus, plus, store3, times
from mbd.interactions.kind import Kind
from mbd.interactions.law_evaluation import evaluate_law
from mbd.interactions.measures import (
    GRAD,
    LAW_IN,
    LAW_OUT,
    MU,
    NORMAL,
    XA,
    XD,
    Measure,
    along,
    bend,
    hessian,
    hessian_times,
    unwrap,
)
from mbd.interactions.pullback import add_gradient, add_product, at, push
from mbd.machine import buffer as m
from mbd.machine.buffer import ATT_DP, ATT_N, ATT_P, ATT_PT, ATT_PV
from mbd.machine.jit import jit, kernel

__all__ = ["total"]

A, FY, PHID, PHIDD, POSITION_TURN, ROW_RATE, ROW_TURN, SCRATCH, SUPPLIED = (
    m.A, m.FY, m.PHID, m.PHIDD, m.POSITION_TURN, m.ROW_RATE, m.ROW_TURN, m.SCRATCH, m.SUPPLIED,
)  # fmt: skip
T, W_K, X, Y, YD, YDD = (
    m.T, m.W_K, m.X, m.Y, m.YD, m.YDD,
)  # fmt: skip
CONSTANT, SLOPE, FACTORS = 0, 1, 2  # places of the numbers


@jit
def _motion(I: Any, F: Any, fields: int) -> Any:
    """Return c + s t + f(t) and its two derivatives; ``fields`` is behind the attachments."""
    number, law, s = I[fields + 1], I[fields + 3], I[SCRATCH]
    f, f1, f2 = F[number + CONSTANT] + F[number + SLOPE] * F[T], F[number + SLOPE], 0.0
    if law != 0:
        F[s + LAW_IN] = F[T]
        evaluate_law(I, F, law)
        f += F[s + LAW_OUT]
        f1 += F[s + LAW_OUT + 1]
        f2 += F[s + LAW_OUT + 2]
    return f, f1, f2


@cache
def _value(measure: Measure) -> Any:
    """Return a function that evaluates one measure of which the first attachment is at ``I[i]``."""
    evaluate, n, periodic = measure.evaluate, measure.n, measure.periodic

    @jit
    def value(I: Any, F: Any, i: int, last: int) -> float:
        s = I[SCRATCH]
        for a in range(n):
            store3(F, s + XA + 3 * a, at(I, F, Y, I[i + a]))
            store3(F, s + XD + 3 * a, at(I, F, YD, I[i + a]))
        u = evaluate(F, s)
        return unwrap(u, F[last]) if periodic else u

    return value


@cache
def _forces(measures: tuple[Measure, ...]) -> Any:
    """Return a function that adds lam k g of all measures, and returns sum k u and sum k du/dt."""
    if not measures:

        @jit
        def nothing(I: Any, F: Any, fields: int, i: int, j: int, lam: float) -> Any:
            return 0.0, 0.0

        return nothing
    value, n, following = _value(measures[0]), measures[0].n, _forces(measures[1:])

    @jit
    def forces(I: Any, F: Any, fields: int, i: int, j: int, lam: float) -> Any:
        s, k = I[SCRATCH], F[I[fields + 1] + FACTORS + j]
        u, ud = value(I, F, i, I[fields + 2] + j), 0.0
        for a in range(n):
            g = load3(F, s + GRAD + 3 * a)
            ud += dot(g, load3(F, s + XD + 3 * a))
            push(I, F, FY, I[i + a], lam * k, g)
        rest, rest_rate = following(I, F, fields, i + n, j + 1, lam)
        return k * u + rest, k * ud + rest_rate

    return forces


@cache
def _second_rates(measures: tuple[Measure, ...]) -> Any:
    """Return a function that returns the second time derivative of sum k u."""
    if not measures:

        @jit
        def nothing(I: Any, F: Any, fields: int, i: int, j: int) -> float:
            return 0.0

        return nothing
    value, n, following = _value(measures[0]), measures[0].n, _second_rates(measures[1:])
    curved, bent = measures[0].curved, measures[0].bent

    @jit
    def second(I: Any, F: Any, fields: int, i: int, j: int) -> float:
        s, k = I[SCRATCH], F[I[fields + 1] + FACTORS + j]
        value(I, F, i, I[fields + 2] + j)
        ud, udd = 0.0, 0.0
        for a in range(n):
            g = load3(F, s + GRAD + 3 * a)
            ud += dot(g, load3(F, s + XD + 3 * a))
            udd += dot(g, at(I, F, YDD, I[i + a]))
        udd += along(F, s, n, ud, curved, bent)
        return k * udd + following(I, F, fields, i + n, j + 1)

    return second


@cache
def _tangent(measures: tuple[Measure, ...], rate: bool) -> Any:
    """Return a function that adds the blocks of all measures; ``blocks``, ``pairs``: where."""
    if not measures:

        @jit
        def nothing(
            I: Any, F: Any, fields: int, i: int, j: int, blocks: int, pairs: int, lam: float
        ) -> None:
            pass

        return nothing
    value, n, following = _value(measures[0]), measures[0].n, _tangent(measures[1:], rate)
    bent = measures[0].bent

    @jit
    def tangent(
        I: Any, F: Any, fields: int, i: int, j: int, blocks: int, pairs: int, lam: float
    ) -> None:
        s, k = I[SCRATCH], F[I[fields + 1] + FACTORS + j]
        value(I, F, i, I[fields + 2] + j)
        ud, turn = 0.0, 0.0
        for a in range(n):
            xd = load3(F, s + XD + 3 * a)
            ud += dot(load3(F, s + GRAD + 3 * a), xd)
            turn += dot(load3(F, s + NORMAL + 3 * a), xd)
        for a in range(n):
            one, block = I[i + a], blocks + 4 * a
            n_v, B, g = I[one + ATT_N], I[block], load3(F, s + GRAD + 3 * a)
            add_gradient(F, I[one + ATT_P], n_v, k, g, I[block + 2], I[block + 3])
            by_rate = F[ROW_TURN] if rate else F[POSITION_TURN]
            if not rate and by_rate == 0.0:
                add_gradient(F, I[one + ATT_PT], n_v, k, g, B, 1)
                continue
            add_gradient(F, I[one + ATT_PV], n_v, k, g, B, 1)
            if by_rate != 0.0:
                hx = hessian_times(F, s, n, a, ud, turn)
                if bent:
                    hx = plus(hx, times(F[s + MU] * turn, load3(F, s + NORMAL + 3 * a)))
                add_gradient(F, I[one + ATT_DP], n_v, k * by_rate, g, B, 1)
                add_gradient(F, I[one + ATT_PT], n_v, k * by_rate, hx, B, 1)
        for a in range(n):
            for b in range(n):
                pair = pairs + 2 * (a * n + b)
                if I[pair] < 0:
                    continue
                H = hessian(F, s, a, b)
                if bent:
                    H = mat_plus(H, 1.0, bend(F, s, a, b))
                one, two = I[i + a], I[i + b]
                add_product(F, I[one + ATT_P], I[one + ATT_N], k * lam, H, I[two + ATT_PT],
                            I[two + ATT_N], I[pair], I[pair + 1])  # fmt: skip
        following(I, F, fields, i + n, j + 1, blocks + 4 * n, pairs + 2 * n * n, lam)

    return tangent


@cache
def total(measures: tuple[Measure, ...], rate: bool = False) -> Kind:
    """Return the row on a sum of measures as a kind; with ``rate`` the row is on velocities."""
    n = sum(x.n for x in measures)
    add_forces, second_rate = _forces(measures), _second_rates(measures)
    add_tangent = _tangent(measures, rate)
    alone = len(measures) == 1 and measures[0].periodic and not rate
    pairs: list[tuple[int, int]] = []
    first = 0
    for x in measures:
        pairs += [(first + a, first + b) for a, b in x.all_pairs]
        first += x.n

    @kernel
    def forces(I: Any, F: Any, k: int) -> None:
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            row = I[i + n]
            f, _, _ = _motion(I, F, i + n)
            if alone:
                F[I[i + n + 2]] = f / F[I[i + n + 1] + FACTORS]
            u, ud = add_forces(I, F, i + n, i, 0, F[I[A] + row])
            F[I[X] + row] = F[ROW_RATE] * (ud - f) if rate else u - f

    @kernel
    def tangent(I: Any, F: Any, k: int) -> None:
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            blocks = i + n + 4
            lam = F[W_K] * F[I[A] + I[i + n]]
            add_tangent(I, F, i + n, i, 0, blocks, blocks + 4 * n, lam)

    @kernel
    def rates(I: Any, F: Any, k: int) -> None:
        """Write both derivatives; of a row on velocities its value and its derivative."""
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            row = I[i + n]
            f, f1, f2 = _motion(I, F, i + n)
            _, ud = add_forces(I, F, i + n, i, 0, 0.0)
            F[I[PHID] + row] = ud - (f if rate else f1)
            F[I[PHIDD] + row] = second_rate(I, F, i + n, i, 0) - (f1 if rate else f2)

    @kernel
    def energy(I: Any, F: Any, k: int) -> None:
        """Add the power -lam df/dt with which the motion drives; of a row on velocities -lam f."""
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            f, f1, _ = _motion(I, F, i + n)
            F[SUPPLIED] -= F[I[A] + I[i + n]] * (f if rate else f1)

    some = any(x.periodic for x in measures) and not rate and not alone
    remember = _remember(measures) if some else None
    names = " + ".join(x.name for x in measures)
    name = f"{'rate of ' if rate else ''}sum {names} row"
    unit = measures[0].unit + ("/s" if rate else "")
    return Kind(
        name, n, 1, tuple(pairs), forces, tangent, rates, remember, damped=rate, secant=False,
        energy=energy, unit=unit,
    )  # fmt: skip


@cache
def _store(measures: tuple[Measure, ...]) -> Any:
    """Return a function that keeps the values of all measures."""
    if not measures:

        @jit
        def nothing(I: Any, F: Any, i: int, last: int) -> None:
            pass

        return nothing
    value, n, following = _value(measures[0]), measures[0].n, _store(measures[1:])

    @jit
    def store(I: Any, F: Any, i: int, last: int) -> None:
        F[last] = value(I, F, i, last)
        following(I, F, i + n, last + 1)

    return store


@cache
def _remember(measures: tuple[Measure, ...]) -> Any:
    """Return the kernel that keeps the angles of an accepted step."""
    n, store = sum(x.n for x in measures), _store(measures)

    @kernel
    def accept(I: Any, F: Any, k: int) -> None:
        for e in range(I[k]):
            i = I[k + 1] + e * I[k + 2]
            store(I, F, i, I[i + n + 2])

    return accept
