r"""The beam element: a helicoid between two frames with six strains.

With the strains :math:`e = (e_T, e_R)` of ``algebra/helicoid.py``, their potential V of order two
or four (``stresses.py``), and a symmetric 6x6 matrix D of damping,

.. math:: \sigma = \frac{\partial V}{\partial e} + D\dot e, \qquad
          H = \frac{\partial^2V}{\partial e^2} .

e is a function of seven products of directors, :math:`z = (u, a, t) = \tfrac12 y^T(A\otimes I)y`,
with :math:`F_z = \partial e/\partial z` and :math:`G = \partial z/\partial y`. So with
:math:`q = F_z^T\sigma`

.. math:: f = G^Tq, \qquad
   \frac{\partial f}{\partial y} = G^T\big(F_z^THF_z + \textstyle\sum_i\sigma_i F_{i,zz}\big)G
   + \sum_m q_m A_m\otimes I, \qquad \frac{\partial f}{\partial\dot y} = G^TF_z^TDF_zG ,

and by D also :math:`G^TF_z^TD\,\big((F_{zz}\dot z)\,G + F_z\dot G\big)`. G is pulled back to the
velocities of both nodes first, so all products have the size of the nodes.

In a step of the conserving scheme, from z0 to z1 with G of the middle (an exact secant), the mean
stress :math:`\bar\sigma` does the work of the change of V, and

.. math:: \bar q = \int_0^1 F_z(z_0 + s(z_1 - z_0))^T\bar\sigma\,ds :

five Gauss points leave an error of the energy at round-off. No strain needs a rotation vector, and
a rigid motion of both frames leaves all as they are. At a relative turn of pi it is singular.
"""

from typing import Any

from mbd.algebra import helicoid
from mbd.algebra.vec import (
    clear,
    copy,
    dot,
    load3,
    load6,
    minus,
    plus,
    store3,
    store6,
    times,
    unit,
)
from mbd.interactions.beams.blocks import FZ, GP, KF, WORK, S, add_blocks, frames, work
from mbd.interactions.beams.stresses import (
    FOLLOWING,
    LINEAR,
    D,
    StressLaw,
    add_product,
    beyond,
    matrix_vector,
    sum6,
)
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import each, each_stiffness, form_maps, push
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit
from mbd.machine.simd import product_of

ROOM = 14  # after its numbers: z at both ends of a conserving step; f of a search, which makes none
PAIRS = ((0, 0), (0, 4), (4, 0), (4, 4))
_GAUSS = (
    (0.046910077030668, 0.23076534494715845, 0.5, 0.7692346550528415, 0.953089922969332),
    (0.11846344252809454, 0.23931433524968324, 64 / 225, 0.23931433524968324, 0.11846344252809454),
)


# --- forces ---------------------------------------------------------------------------------------
@jit
def add_forces(I: Any, F: Any, e: Any, both: Any, q: Any) -> None:
    """Add G^T q of both frames to the face forces."""
    (a, b), (qu, qa, qt) = both, q
    half, force = times(0.5, minus(b[0], a[0])), (0.0, 0.0, 0.0)
    ends = e.ends
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        force = plus(force, times(0.5 * qu[i], plus(a[1 + i], b[1 + i])))
        one = plus(times(qu[i], half), times(qt, b[1 + i]))
        one = plus(one, plus(times(0.5 * qa[j], b[1 + k]), times(-0.5 * qa[k], b[1 + j])))
        two = plus(times(qu[i], half), times(qt, a[1 + i]))
        two = plus(two, plus(times(0.5 * qa[k], a[1 + j]), times(-0.5 * qa[j], a[1 + k])))
        push(I, F, m.FY, I[ends + 1 + i], 1.0, one)
        push(I, F, m.FY, I[ends + 5 + i], 1.0, two)
    push(I, F, m.FY, I[ends], -1.0, force)
    push(I, F, m.FY, I[ends + 4], 1.0, force)


# --- derivatives by the seven products ------------------------------------------------------------
add_transposed = product_of(7, 6, helicoid.ROW, helicoid.ROW, helicoid.ROW, transposed=True)


@jit
def erase(F: Any, to: int, rows: int) -> None:
    """Write zeros to rows over z."""
    clear(F, to, rows * helicoid.ROW)


@jit
def is_damped(F: Any, e: Any) -> bool:
    """Tell whether there is any damping: D is positive semidefinite, its diagonal tells."""
    total = 0.0
    for i in range(6):
        total += F[e.numbers + D + 7 * i]
    return total != 0.0


@jit
def add_turning(F: Any, s: int, k: Any, u: Any, a: Any, ud: Any, ad: Any, td: float) -> None:
    """Add F_z^T D (F_zz z') to S; D F_z stands at KF."""
    H, zero = s + GP, (0.0, 0.0, 0.0)
    zd = (ud[0], ud[1], ud[2], ad[0], ad[1], ad[2], td)
    for i in range(6):
        one = unit(i % 3)
        erase(F, H, 7)
        if i < 3:
            helicoid.add_hessian(F, H, 1.0, k, u, a, one, zero)
        else:
            helicoid.add_hessian(F, H, 1.0, k, u, a, zero, one)
        for n in range(7):
            change = 0.0
            for l in range(7):
                change += F[H + helicoid.ROW * n + l] * zd[l]
            for l in range(7):
                F[s + S + helicoid.ROW * l + n] += F[s + KF + helicoid.ROW * i + l] * change


@jit
def keep(F: Any, to: int, u: Any, a: Any, t: float) -> None:
    """Write z."""
    store3(F, to, u)
    store3(F, to + 3, a)
    F[to + 6] = t


@jit
def between(F: Any, z0: int, s: float) -> Any:
    """Return the coefficients, u and a at z0 + s (z1 - z0)."""
    z1 = z0 + 7
    u = plus(times(1.0 - s, load3(F, z0)), times(s, load3(F, z1)))
    a = plus(times(1.0 - s, load3(F, z0 + 3)), times(s, load3(F, z1 + 3)))
    return helicoid.coefficients((1.0 - s) * F[z0 + 6] + s * F[z1 + 6]), u, a


@jit
def ahead(a: Any, ad: Any, h: float) -> Any:
    """Return a frame moved on by its rates."""
    return (
        plus(a[0], times(h, ad[0])), plus(a[1], times(h, ad[1])), plus(a[2], times(h, ad[2])),
        plus(a[3], times(h, ad[3])),
    )  # fmt: skip


def beam(name: str, law: StressLaw) -> Kind:
    """Return the kind of the element with a law of stress."""

    @jit
    def stress(I: Any, F: Any, e: Any, both: Any, damped: bool) -> Any:
        """Return coefficients, z, z', strains, f and the stress of the pose, ahead of it or given.

        Rates are zero where there is no damping.
        """
        u, turn, t = helicoid.products(*both)
        k, phase = helicoid.coefficients(t), ints(F)[m.PHASE]
        zd = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
        strains, n, s = helicoid.strains(k, u, turn), e.numbers, work(I)
        rates = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if damped or phase == m.STRESS_AHEAD:
            zd = helicoid.rates(*both, *frames(I, F, m.YD, e))
            rates = helicoid.strain_rates(k, u, turn, *zd)
        f = load6(F, n + law.size) if phase == m.STRESS_GIVEN else law.force(F, n, s, strains)
        sigma = f
        if phase == m.STRESS_AHEAD:
            f = law.ahead(F, n, s, strains, f, load6(F, n + law.size), rates)
        elif phase == m.STRESS_HERE:
            sigma = law.here(F, n, s, strains, f, load6(F, n + law.size))
        else:
            sigma = law.stress(F, n, s, strains, f)
        if damped and phase != m.STRESS_GIVEN:
            sigma = sum6(1.0, sigma, matrix_vector(F, n + D, rates))
        return k, u, turn, zd, strains, f, sigma

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Add G^T F_z^T sigma."""
        both = frames(I, F, m.Y, e)
        k, u, turn, _, _, f, sigma = stress(I, F, e, both, is_damped(F, e))
        if ints(F)[m.PHASE] == m.STRESS_AHEAD:
            store6(F, e.numbers + law.size, f)
            return
        add_forces(I, F, e, both, helicoid.gradient(k, u, turn, *sigma))

    @each_stiffness
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add the derivatives of the forces by positions and velocities."""
        s = work(I)
        damped = is_damped(F, e)
        both = frames(I, F, m.Y, e)
        k, u, turn, zd, strains, f, sigma = stress(I, F, e, both, damped)
        helicoid.write_gradients(F, s + FZ, k, u, turn)
        erase(F, s + KF, 6)
        law.add_tangent(F, e.numbers, s, strains, f)
        erase(F, s + S, 7)
        add_transposed(F, s + S, 1.0, s + FZ, s + KF, helicoid.ROW)
        helicoid.add_hessian(F, s + S, 1.0, k, u, turn, *sigma)
        if damped:
            # F_z^T D (F_zz z'): column by column of F_zz z' = sum_i unit_i (H_i z')^T
            erase(F, s + KF, 6)
            add_product(F, s + KF, 1.0, e.numbers + D, s + FZ, helicoid.ROW)
            add_turning(F, s, k, u, turn, *zd)
            erase(F, s + GP, 7)
            add_transposed(F, s + GP, 1.0, s + KF, s + FZ, helicoid.ROW)
            copy(F, s + KF, s + GP, 7 * helicoid.ROW)
        form_maps(I, F, e, 8, damped)
        add_blocks(I, F, e, both, both, damped, helicoid.gradient(k, u, turn, *sigma))

    @each
    def energy(I: Any, F: Any, e: Any) -> None:
        """Add the potential f.x/2 and the power that damping takes."""
        both = frames(I, F, m.Y, e)
        u, turn, t = helicoid.products(*both)
        k = helicoid.coefficients(t)
        strains = helicoid.strains(k, u, turn)
        fT, fR = law.force(F, e.numbers, work(I), strains)
        x, y = beyond(F, e.numbers, strains)
        F[m.POTENTIAL] += 0.5 * (dot(fT, x) + dot(fR, y))
        rates = helicoid.strain_rates(k, u, turn, *helicoid.rates(*both, *frames(I, F, m.YD, e)))
        dT, dR = matrix_vector(F, e.numbers + D, rates)
        F[m.DISSIPATED] += dot(dT, rates[0]) + dot(dR, rates[1])

    # --- the conserving scheme ----------------------------------------------------------------
    @jit
    def mean_stress(I: Any, F: Any, e: Any) -> Any:
        """Return the stress of a conserving step, and the mean of F_z^T times it."""
        z, n = e.numbers + law.size, e.numbers
        before, after = helicoid.strains(*between(F, z, 0.0)), helicoid.strains(*between(F, z, 1.0))
        rate = 1.0 / F[m.ROW_RATE]
        rates = times(rate, minus(after[0], before[0])), times(rate, minus(after[1], before[1]))
        sigma = law.mean(F, n, work(I), before, after)
        sT, sR = sum6(1.0, sigma, matrix_vector(F, n + D, rates))
        qu, qa, qt = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
        for g in range(5):
            k, u, a = between(F, z, _GAUSS[0][g])
            by_u, by_a, by_t = helicoid.gradient(k, u, a, sT, sR)
            w = _GAUSS[1][g]
            qu, qa, qt = plus(qu, times(w, by_u)), plus(qa, times(w, by_a)), qt + w * by_t
        return before, after, sT, sR, (qu, qa, qt)

    @each
    def conserving_forces(I: Any, F: Any, e: Any) -> None:
        """At the ends of the step keep z; in the middle act."""
        both, phase = frames(I, F, m.Y, e), ints(F)[m.PHASE]
        if phase in (m.START, m.END):
            u, turn, t = helicoid.products(*both)
            keep(F, e.numbers + law.size + (0 if phase == m.START else 7), u, turn, t)
        else:
            _, _, _, _, q = mean_stress(I, F, e)
            add_forces(I, F, e, both, q)

    @each
    def conserving_tangent(I: Any, F: Any, e: Any) -> None:
        """Add the derivative by the end, twice: stiffness has the weight of the middle."""
        s, h, z = work(I), F[m.ROW_RATE], e.numbers + law.size
        both, rate = frames(I, F, m.Y, e), frames(I, F, m.YD, e)
        last = ahead(both[0], rate[0], 0.5 * h), ahead(both[1], rate[1], 0.5 * h)
        before, after, sT, sR, q = mean_stress(I, F, e)
        # 2 d sigma / d z1, left at KF
        helicoid.write_gradients(F, s + FZ, *between(F, z, 1.0))
        erase(F, s + KF, 6)
        law.add_mean_tangent(F, e.numbers, s, before, after)
        add_product(F, s + KF, 2.0 / h, e.numbers + D, s + FZ, helicoid.ROW)
        erase(F, s + S, 7)
        for g in range(5):
            x, w = _GAUSS[0][g], _GAUSS[1][g]
            k, u, turn = between(F, z, x)
            helicoid.write_gradients(F, s + FZ, k, u, turn)
            add_transposed(F, s + S, w, s + FZ, s + KF, helicoid.ROW)
            helicoid.add_hessian(F, s + S, 2.0 * w * x, k, u, turn, sT, sR)
        form_maps(I, F, e, 8, False)
        add_blocks(I, F, e, both, last, False, q)

    return Kind(
        name, 8, 0, PAIRS, forces, tangent, damped=True, smooth=True, room=ROOM,
        stresses=6, work=WORK,
        conserving=(conserving_forces, conserving_tangent), energy=energy,
    )  # fmt: skip


BEAM, BEAM_4 = beam("beam", LINEAR), beam("beam of order four", FOLLOWING)
