r"""Set-valued laws on a measure: rigid stops, dry friction, freewheels; the numbers of such laws.

The force p of a set-valued law is no function of positions and velocities, but one of a set:

===== ========== ===================================================================================
form  rows       law
===== ========== ===================================================================================
POINT N, T1, T2  :math:`0\le\Phi\perp p_N\ge 0`, :math:`|p_T|\le\mu p_N`: ``contact.py``
SIDE  N          :math:`0\le\Phi\perp p\ge 0`, :math:`\Phi = \pm(x - c)` of a measure x
DRY   T          :math:`p^-\le p\le p^+`, inside where :math:`\dot x = 0`; :math:`p = p^+` where
                 :math:`\dot x < 0` and :math:`p = p^-` where :math:`\dot x > 0`
===== ========== ===================================================================================

Dry friction has :math:`p^\pm = \pm F`, a freewheel, which only turns forward,
:math:`p^- = 0, p^+ = \infty`. In a bearing :math:`p^\pm = \pm(F + \mu r|R_\perp|)` follows the
force R of its hinge, across the axis.

Rows of the model are the negatives, :math:`-\Phi, -\dot x`, so that the multipliers p are forces
along :math:`\Phi` and x [N or N m]. Which branch of its law acts is for a method to say that knows
it; it writes the branch to the element, where the tangent finds it. Before a method has said so an
element is idle: it has no force and its rows are none.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import cross, store3
from mbd.base.tolerances import CONTACT_SOFT
from mbd.interactions import gradients as gr
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit

POINT, SIDE, DRY = 0.0, 1.0, 2.0  # forms of laws
OPEN, STICK, SLIP = 0.0, 1.0, 2.0  # their branches; what is closed without friction sticks
# The last own numbers of an element: mu (of a bearing mu r), that or a factor of what sticks, e,
# two of the form: radius and OTHER of a POINT, sign and place of a SIDE, bounds of what is DRY.
FRICTION, STATIC, RESTITUTION, FIRST, SECOND, OWN = range(6)
# and what a method writes after them
(
    ACTIVE,  # IDLE before a method knows the law, WAITING before it has a mode, BEGUN
    FORM,
    REACTION,  # first unknown of the force in the bound, negative: none
    AX, AY, AZ,  # axis of the bearing
    BRANCH,  # which rows the tangent writes
    E1, E2,  # direction of the friction force along a1, a2; its sign
    SHARE,  # q of the rows that slip
    DELASSUS_N, DELASSUS_T,  # change of accelerations by a unit of force
    MODE,  # at the start of the step
    BEFORE,  # velocity of the gap at the start of the step [m/s]
    SLIP1, SLIP2,  # velocity of slip there
    NEXT,  # mode in which it leaves the step
    LEAVES1, LEAVES2,  # velocity of slip with which it does
    LEAST,  # Delassus number below which joints leave a body nothing to move by
    NUMBERS,
) = range(OWN, OWN + 21)  # fmt: skip
IDLE, WAITING, BEGUN = 0.0, 1.0, 2.0
ROOM = NUMBERS - OWN


@jit
def _add_column_alone(I: Any, F: Any, e: Any, of: Any, k: float) -> None:
    """Add k times the column of a measure: its row is another one."""
    on.form_maps(I, F, e, of.n, False)
    for a in range(of.n):
        r = on.face(I, e, a)
        if r < 0:
            continue
        if r == a:
            on.clear(F, on.vector(I, a, gr.GAMMA), 1)
        n_v = I[I[e.ends + a] + m.ATT_N]
        on.add_through(
            F, on.vector(I, r, gr.GAMMA), on.map_of(I, a, m.P), n_v, 1.0, gr.gradient(I, F, of, a)
        )
    for a in range(of.n):
        if on.face(I, e, a) == a:
            on.add_column(I, F, e, a, 0, k, on.vector(I, a, gr.GAMMA))


@cache
def rigid_stop(measure: Measure) -> Kind:
    """Return one stop of a measure; numbers are those of the measure, 0, 0, e, the sign, c."""
    return _one_row(f"rigid stop on {measure.name}", measure, True)


@cache
def dry(measure: Measure) -> Kind:
    r"""Return dry friction along a measure; numbers are those of it, mu r, a factor, 0, p-, p+."""
    return _one_row(f"dry friction on {measure.name}", measure, False)


def _one_row(name: str, measure: Measure, stops: bool) -> Kind:
    """Return a law of one row, on a measure or on its rate."""
    n, of, own = measure.n, measure.shape, measure.numbers
    value, bent_value = gr.value_of(measure), gr.value_of(measure, bends=True)

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Write -Phi; take p along the gradient."""
        base, x, sign = e.numbers + own, I[m.X] + e.u, 1.0
        u, _ = value(I, F, e, False)
        F[x] = 0.0
        if stops:
            sign = F[base + FIRST]
            if F[base + ACTIVE] != IDLE:
                F[x] = -sign * (u - F[base + SECOND])
        elif F[base + FRICTION] != 0.0:
            first, second = at(I, F, m.Y, I[e.ends]), at(I, F, m.Y, I[e.ends + 1])
            store3(F, base + AX, cross(first, second))
        for a in range(n):
            push(I, F, m.FY, I[e.ends + a], -sign * F[I[m.A] + e.u], gr.gradient(I, F, of, a))

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add row and column by the branch that acts."""
        base, to, sign = e.numbers + own, I[e.pairs - 2], 1.0
        if stops:
            sign = F[base + FIRST]
        branch = F[base + BRANCH] if F[base + ACTIVE] != IDLE else OPEN
        bent_value(I, F, e, False)
        if branch == STICK:
            gr.add_measured_row(I, F, e, of, True, 0.0, -sign, F[m.W_K] * F[I[m.A] + e.u])
            F[to] -= CONTACT_SOFT * F[base + DELASSUS_T]
            return
        _add_column_alone(I, F, e, of, -sign)
        F[to] -= 1.0 if branch == OPEN else F[base + DELASSUS_T]

    @each
    def rates(I: Any, F: Any, e: Any) -> None:
        """Write minus the rate and its time derivative; of an idle element zeros."""
        base, first, second, sign = e.numbers + own, I[m.PHID] + e.u, I[m.PHIDD] + e.u, 1.0
        F[first] = F[second] = 0.0
        if F[base + ACTIVE] == IDLE:
            return
        if stops:
            sign = F[base + FIRST]
        _, rate = value(I, F, e, True)
        F[first], F[second] = -sign * rate, -sign * gr.second_rate(I, F, e, of, rate)

    return Kind(
        name, n, 1, measure.all_pairs, forces, tangent, rates, gr.accept_of(measure), damped=True,
        turns=measure.periodic, room=ROOM, own_block=True, work=measure.work, code=measure.code,
        set_valued="rigid stop" if stops else "dry friction", unit=measure.unit,
    )  # fmt: skip
