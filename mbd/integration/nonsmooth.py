r"""Nonsmooth generalized-alpha: steps that meet contacts, impacts and dry friction.

Every row is met at three levels, by an acceleration, a jump of velocities and a shift of positions,

.. math::
   M\dot v - f + B^T p = 0, \qquad M W + B^T\Lambda = 0, \qquad M\delta + B^T\kappa = 0,

with :math:`a_{n+1} = ((1-\alpha_f)\dot v + \alpha_f\dot v_n - \alpha_m a_n)/(1-\alpha_m)`,
:math:`\bar p` the same of p, and

.. math::
   v &= v_n + h((1-\gamma)a_n + \gamma a_{n+1}) + W, &
   P &= \Lambda + h((1-\gamma)\bar p_n + \gamma\bar p_{n+1}) \\
   q &= q_n \boxplus (h v_n + h^2((\tfrac12-\beta)a_n + \beta a_{n+1}) + \delta), &
   \hat\kappa &= \kappa + h^2((\tfrac12-\beta)\bar p_n + \beta\bar p_{n+1}) .

Rows of joints are zero at all three. At a contact the totals obey the laws

.. math::
   0 \le \hat\kappa \perp \Phi \ge 0, \qquad
   0 \le P_N \perp u_N + e\min(u_N^-, 0) \ge 0, \qquad
   0 \le p_N \perp \ddot\Phi \ge 0,

each where the one before is closed, with :math:`u^-` at the start of the step, and Coulomb's disk
:math:`|P_T| \le \mu P_N`, against the slip; p where it sticks, and along the slip where it slips.

A step is *quiet* while all contacts stay in the branch in which they began. Newton's method then
solves the rows of these branches at all levels with one matrix, that of generalized-alpha: one
iteration where forces are constant.

In any other step each iteration solves the laws themselves, jumps and shifts with M as matrix,
accelerations too where there are no springs or dampers, else with the matrix of
generalized-alpha. Accelerations are those before the jump, with the velocities v - W and without
contact forces: what these do in the step is in P and :math:`\hat\kappa`, and no acceleration of the
motion after an impact acts before it, whatever the axes of the velocities are. All contacts are
left open, what a unit of each contact force does is computed (the Delassus operator D), and sweeps
of Gauss and Seidel with Newton's method find the totals. Along the plane
:math:`\kappa_T = (h\beta/\gamma)\Lambda_T`, by which what sticks goes nowhere. The forces p follow
at the end, from where the method starts again: :math:`a := \dot v, \bar p := p`, of :math:`\dot v`
what the next step can follow. A step for which that does not settle is taken in halves.

Energy does not rise by an impact: where restitution with friction would let it (Kane), e of that
step is smaller.

Rows of joints and drives may hold what a law is to move: no force stops that. In quiet steps what
such a row lacks stays from correction to correction, and counts as long as it is half of what it
was; in others forces without bounds leave more than half of its digits (``set_valued_laws``). The
step fails, and the rows that contradict each other are named.

References
----------
.. [1] Capobianco, Harsch, Eugster and Leine, A nonsmooth generalized-alpha method for mechanical
   systems with frictional contact, Int. J. Numer. Methods Eng. 122 (2021).
.. [2] Bruels, Acary and Cardona, Simultaneous enforcement of constraints at position and velocity
   levels in the nonsmooth generalized-alpha scheme, Comput. Methods Appl. Mech. Eng. 281 (2014).
"""

import math
from typing import Any

from mbd.algebra.vec import add, clear, copy, load3
from mbd.base.tolerances import CONTACT_SOFT, NEWTON_FREE, ROWS_MET
from mbd.integration import set_valued_laws as sv
from mbd.integration.newton_loop import CONVERGED, FAILED, has_aged, keep_record, next_time
from mbd.integration.one_step import AT_START
from mbd.integration.updates import keep_start
from mbd.interactions import set_valued as c
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation

MOST = 60  # iterations
# From this one on friction of a jump moves no positions, a part of the error of the step: where it
# lifts another corner off, whose own friction lets that one down again, no step agrees with it.
FRICTION_MOVES = 8
SHARE_CHANGE = 0.1  # of q in rows of friction, after which their matrix is another one
BISECTIONS = 7  # of restitution
HALVES = 64.0  # the smallest part of a step


# --- kinematics -----------------------------------------------------------------------------------
@jit
def weights_of_method(F: Any) -> tuple[float, float, float]:
    r"""Return the weights of :math:`\dot v, \dot v_n, a_n` in a at the end of the step."""
    am, af = F[m.ALPHA_M], F[m.ALPHA_F]
    return (1 - af) / (1 - am), af / (1 - am), -am / (1 - am)


@jit
def algorithmic(I: Any, F: Any, i: int, weights: tuple[float, float, float]) -> float:
    """Return a of an unknown at the end of the step, of rows p-bar."""
    c0, c1, c2 = weights
    return c0 * F[I[m.A] + i] + c1 * F[I[m.AN] + i] + c2 * F[I[m.AL] + i]


@jit
def quadrature(
    I: Any, F: Any, i: int, h: float, weights: tuple[float, float, float]
) -> tuple[float, float]:
    r"""Return what a, of rows p-bar, add up to in a step: as velocity and as position.

    :math:`h((1-\gamma)a_n + \gamma a_{n+1})` and
    :math:`h^2((\tfrac12-\beta)a_n + \beta a_{n+1})`.
    """
    beta, gamma, old, new = F[m.BETA], F[m.GAMMA], F[I[m.AL] + i], algorithmic(I, F, i, weights)
    return h * ((1 - gamma) * old + gamma * new), h * h * ((0.5 - beta) * old + beta * new)


@jit
def steps_of_acceleration(F: Any, h: float) -> tuple[float, float]:
    """Return by how much one of acceleration moves velocities and positions in a step."""
    c0 = (1 - F[m.ALPHA_F]) / (1 - F[m.ALPHA_M])
    return h * F[m.GAMMA] * c0, h * h * F[m.BETA] * c0


@jit
def forget_jumps(I: Any, F: Any) -> None:
    """Let jumps of velocities and shifts of positions be zero."""
    clear(F, own_vector(I, sv.JUMP), I[m.N_U])
    clear(F, own_vector(I, sv.SHIFT), I[m.N_U])


@jit
def move(I: Any, F: Any, h: float) -> None:
    """Set velocities and increments of the step by A, AN, AL, W and delta."""
    jump, shift, weights = own_vector(I, sv.JUMP), own_vector(I, sv.SHIFT), weights_of_method(F)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            faster, farther = quadrature(I, F, i, h, weights)
            F[I[m.D] + i] = h * F[I[m.VN] + i] + farther + F[shift + i]
            F[I[m.V] + i] = F[I[m.VN] + i] + faster + F[jump + i]


@jit
def finish_accelerations(I: Any, F: Any, quiet: bool) -> None:
    """Set a and p-bar at the end; after a change the past is forgotten."""
    weights = weights_of_method(F)
    for i in range(I[m.N_U]):
        F[I[m.AL] + i] = algorithmic(I, F, i, weights) if quiet else F[I[m.A] + i]


@jit
def evaluate_rows(I: Any, F: Any) -> None:
    """Evaluate the iterate: residual and rows to X, rates to PHID, second rates to PHIDD."""
    F[m.SCALE_R], F[m.ROW_RATE] = 1.0, 0.0
    evaluation.evaluate(I, F)
    evaluation.stage(I, F, m.RATES)


@jit
def multiply(I: Any, F: Any, x: int) -> None:
    """Write B x of all rows to PRODUCT for accelerations x at F[x], at the pose evaluated last."""
    n, there, speed = I[m.N_U], own_vector(I, sv.THERE), own_vector(I, sv.SPEED)
    product = own_vector(I, sv.PRODUCT)
    copy(F, there, I[m.A], n)
    copy(F, speed, I[m.V], n)
    for i in range(n):
        if is_velocity(I, i):
            F[I[m.V] + i] = F[I[m.A] + i] = 0.0
    evaluation.stage(I, F, m.PLACE)
    evaluation.stage(I, F, m.RATES)
    copy(F, product, I[m.PHIDD], n)
    for i in range(n):
        if is_velocity(I, i):
            F[I[m.A] + i] = F[x + i]
    evaluation.stage(I, F, m.PLACE)
    evaluation.stage(I, F, m.RATES)
    for i in range(n):
        F[product + i] = F[I[m.PHIDD] + i] - F[product + i]
    copy(F, I[m.A], there, n)
    copy(F, I[m.V], speed, n)


# --- quiet steps ----------------------------------------------------------------------------------
@jit
def set_weights(I: Any, F: Any, h: float, quiet: bool) -> None:
    """Set the weights of the matrix: M + c2 G + c3 K, or M; rows by velocities."""
    F[m.SCALE_R] = F[m.W_M] = 1.0
    F[m.W_G], F[m.W_K] = steps_of_acceleration(F, h if quiet else 0.0)
    F[m.ROW_RATE] = F[m.ROW_TURN] = F[m.POSITION_TURN] = 0.0


@jit
def solve(I: Any, F: Any, new: bool) -> None:
    """Solve with the matrix, made at the pose evaluated last if it is new."""
    if new:  # by velocities: as at an increment of zero
        there = own_vector(I, sv.THERE)
        copy(F, there, I[m.D], I[m.N_U])
        clear(F, I[m.D], I[m.N_U])
        evaluation.linearise(I, F)
        copy(F, I[m.D], there, I[m.N_U])
    evaluation.clear_off(I, F, I[m.X])
    call(ints(F)[m.LINEAR], I, F, 1 if new else 0)


@jit
def solve_open(I: Any, F: Any) -> None:
    """Solve with a new matrix in which all laws are open; keep their rows."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        F[int(F[sv.array(I, F, sv.RECORDS) + k]) + c.BRANCH] = c.STICK
    evaluation.linearise(I, F)
    sv.open_rows(I, F)
    evaluation.clear_off(I, F, I[m.X])
    call(ints(F)[m.LINEAR], I, F, 1)


@jit
def choose_totals(I: Any, F: Any, h: float) -> None:
    """Write the totals of the contacts by their present p, Lambda and kappa."""
    rows, jump, shift = sv.array(I, F, sv.ROWS), own_vector(I, sv.JUMP), own_vector(I, sv.SHIFT)
    weights = weights_of_method(F)
    P, P0 = sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0)
    kappa, kappa0 = sv.array(I, F, sv.KAPPA), sv.array(I, F, sv.KAPPA_0)
    for j in range(int(F[sv.place(I, sv.N_ROWS)])):
        u = int(F[rows + j])
        F[P0 + j], F[kappa0 + j] = quadrature(I, F, u, h, weights)
        F[P + j], F[kappa + j] = F[jump + u] + F[P0 + j], F[shift + u] + F[kappa0 + j]


@jit
def _in_cone(normal: float, y1: float, y2: float, mu: float) -> bool:
    """Tell whether a force is in the friction cone."""
    return math.sqrt(y1 * y1 + y2 * y2) <= mu * normal


@jit
def add_up_reaction(I: Any, F: Any, at: int, h: float, jump: int, to: int) -> None:
    """Write the impulse in a bearing: quadrature of its forces, and that in a vector of jumps."""
    weights = weights_of_method(F)
    for i in range(3):
        u = int(F[at + c.REACTION]) + i
        F[to + i] = F[jump + u] + quadrature(I, F, u, h, weights)[0]


@jit
def total_reaction(I: Any, F: Any, at: int, h: float) -> float:
    """Return the impulse of a bearing across its axis by the present rows of its joint."""
    base = I[m.SCRATCH]
    add_up_reaction(I, F, at, h, own_vector(I, sv.JUMP), base)
    size, _, _, _ = sv.across(F, at, F[base], F[base + 1], F[base + 2])
    return size  # type: ignore[no-any-return]


@jit
def present_reaction(I: Any, F: Any, at: int) -> float:
    """Return the force in a bearing across its axis."""
    u = I[m.A] + int(F[at + c.REACTION])
    size, _, _, _ = sv.across(F, at, F[u], F[u + 1], F[u + 2])
    return size  # type: ignore[no-any-return]


@jit
def sticks(I: Any, F: Any, k: int) -> bool:
    """Tell whether law k, which sticks, does so by the forces and accelerations at hand."""
    at, _, u, form = sv.law_of(I, F, k)
    p, second, rt = I[m.A] + u, I[m.PHIDD] + u, 1.0 / F[at + c.DELASSUS_T]
    if form == c.DRY:
        force, most = 0.0, F[at + c.STATIC]
        if F[at + c.FRICTION] != 0.0:
            force = F[at + c.FRICTION] * present_reaction(I, F, at)
        y = F[p] + rt * F[second]
        low, high = F[at + c.FIRST] - force, F[at + c.SECOND] + force
        return most * low <= y <= most * high  # type: ignore[no-any-return]
    y1, y2 = F[p + 1] + rt * F[second + 1], F[p + 2] + rt * F[second + 2]
    y = F[p] + F[second] / F[at + c.DELASSUS_N]
    return _in_cone(y, y1, y2, sv.friction_of(F, at, True))  # type: ignore[no-any-return]


@jit
def keeps_dry(I: Any, F: Any, k: int, h: float) -> bool:
    """Tell whether a dry row is in the branch it began the step with; set the sign of its slip."""
    at, j, u, _ = sv.law_of(I, F, k)
    r, rub, impulse = 1.0 / F[at + c.DELASSUS_T], F[at + c.FRICTION], 0.0
    speed = -F[I[m.PHID] + u]
    if F[at + c.MODE] == c.SLIP:
        F[at + c.E1] = -math.copysign(1.0, speed)
        return speed * F[at + c.SLIP1] > 0.0  # type: ignore[no-any-return]
    if rub != 0.0:
        impulse = rub * total_reaction(I, F, at, h)
    low, high, most = F[at + c.FIRST], F[at + c.SECOND], F[at + c.STATIC]
    y = F[sv.array(I, F, sv.IMPULSE) + j] - r * speed
    if not most * (h * low - impulse) <= y <= most * (h * high + impulse):
        return False
    return sticks(I, F, k)  # type: ignore[no-any-return]


@jit
def keeps_branches(I: Any, F: Any, h: float) -> bool:
    """Tell whether all laws are, at all levels, in the branch they began the step with.

    Where one slips its rows of friction are set: e and q.
    """
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, u, form = sv.law_of(I, F, k)
        if form == c.DRY:
            if not keeps_dry(I, F, k, h):
                return False
            continue
        mode, mu, p = F[at + c.MODE], F[at + c.FRICTION], I[m.A] + u
        rn, rt = 1.0 / F[at + c.DELASSUS_N], 1.0 / F[at + c.DELASSUS_T]
        P = sv.array(I, F, sv.IMPULSE) + j
        gap, speed, rise = -F[I[m.X] + u], -F[I[m.PHID] + u], -F[I[m.PHIDD] + u]
        closed = F[sv.array(I, F, sv.KAPPA) + j] - rn * gap > 0.0
        if mode == c.OPEN:
            if closed:
                return False
            continue
        bounce = F[at + c.RESTITUTION] * min(F[at + c.BEFORE], 0.0)
        y = F[P] - rn * (speed + bounce)
        if not closed or y <= 0.0 or bounce < 0.0 or F[p] - rn * rise <= 0.0:
            return False
        if form == c.SIDE:
            continue
        s1, s2 = -F[I[m.PHID] + u + 1], -F[I[m.PHID] + u + 2]
        if mode == c.STICK:
            mu = sv.friction_of(F, at, True)
            if mu == 0.0:
                return False
            jumps = _in_cone(y, F[P + 1] - rt * s1, F[P + 2] - rt * s2, mu)
            if not (jumps and sticks(I, F, k)):
                return False
            continue
        if mu == 0.0:
            F[at + c.E1] = F[at + c.E2] = F[at + c.SHARE] = 0.0
            continue
        slow = math.hypot(s1, s2)
        if not s1 * F[at + c.SLIP1] + s2 * F[at + c.SLIP2] > 0.0 or slow < 1e-300:
            return False
        e1, e2 = -s1 / slow, -s2 / slow
        if 2.0 * (e1 * F[at + c.E1] + e2 * F[at + c.E2]) < 1.0:  # jumps obeyed other rows
            return False
        F[at + c.E1], F[at + c.E2] = e1, e2
        part, share = max(mu * F[p], 0.0) * F[m.W_G] / (rt * slow), F[at + c.SHARE]
        F[at + c.SHARE] = part / (1.0 + part)
        if abs(F[at + c.SHARE] - share) > SHARE_CHANGE:
            ints(F)[m.HAVE_FACTOR] = 0
    return True


@jit
def set_branches(I: Any, F: Any) -> None:
    """Let the tangent write the rows of the modes."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at = int(F[sv.array(I, F, sv.RECORDS) + k])
        F[at + c.BRANCH] = F[at + c.MODE]


@jit
def ask_level(I: Any, F: Any, level: int, h: float) -> None:
    """Put to X what rows lack at a level, after what the levels before will have moved."""
    c2, c3 = F[m.W_G], F[m.W_K]
    x, first, second, contact = I[m.X], I[m.PHID], I[m.PHIDD], own_vector(I, sv.IS_LAW)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            if level > 1:
                F[x + i] = 0.0
        elif F[contact + i] == 0.0:
            faster = F[first + i] - c2 * F[second + i]
            if level == 1:
                F[I[m.GAP] + i] = F[x + i]
                F[x + i] = F[second + i]
            elif level == 2:
                F[x + i] = faster
            elif I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW:
                F[x + i] = 0.5 * h * faster
            else:
                F[x + i] = F[I[m.GAP] + i] - c3 * F[second + i]
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, u, form = sv.law_of(I, F, k)
        mode = F[at + c.MODE]
        if level == 1:
            F[I[m.GAP] + u] = F[x + u]
        for r in range(sv.rows_of(form)):
            i = u + r
            faster = F[first + i] - c2 * F[second + i]
            if mode == c.OPEN:
                F[x + i] = F[I[m.A] + i] * (-1.0 if level == 1 else 0.0)
            elif level == 1:
                F[x + i] = F[second + i]
            elif level == 2:
                F[x + i] = faster
            elif r > 0 or form == c.DRY:
                F[x + i] = 0.5 * h * faster
            else:
                F[x + i] = F[I[m.GAP] + i] - c3 * F[second + i]
        if mode == c.SLIP:
            ask_slip(I, F, k, level, h)


@jit
def ask_slip(I: Any, F: Any, k: int, level: int, h: float) -> None:
    """Put to X what the friction of a law that slips lacks of its bound."""
    at, _, u, form = sv.law_of(I, F, k)
    x, D, rub = I[m.X] + u, F[at + c.DELASSUS_T], F[at + c.FRICTION]
    e1, e2 = F[at + c.E1], F[at + c.E2]
    if form == c.DRY:
        F[x] = 0.0
        if level == 1:
            most = F[at + (c.SECOND if e1 > 0.0 else c.FIRST)]
            if rub != 0.0:
                most += e1 * rub * present_reaction(I, F, at)
            F[x] = -D * (F[I[m.A] + u] - most)
        elif level == 2 and rub != 0.0:  # the jump alone, along the present reaction
            R, jump = int(F[at + c.REACTION]), own_vector(I, sv.JUMP)
            a, l = I[m.A] + R, jump + R
            _, n1, n2, n3 = sv.across(F, at, F[a], F[a + 1], F[a + 2])
            part = n1 * F[l] + n2 * F[l + 1] + n3 * F[l + 2]
            F[x] = -D * (F[jump + u] - e1 * rub * part)
        return
    F[x + 1] = F[x + 2] = 0.0
    if level == 1:
        (p, p1, p2), q = load3(F, I[m.A] + u), F[at + c.SHARE]
        along = p1 * e1 + p2 * e2
        F[x + 1] = -D * (p1 - q * (p1 - along * e1) - rub * p * e1)
        F[x + 2] = -D * (p2 - q * (p2 - along * e2) - rub * p * e2)


@jit
def measure(I: Any, F: Any, weight: float) -> float:
    """Return the size of a change of velocities' unknowns in X, in units of what is allowed."""
    size = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            y = weight * abs(F[I[m.X] + i])
            size = max(size, y * F[m.PER_LEAST + I[I[m.UNKNOWN_KIND] + i]])
            if y != y:
                size = math.inf
    return size


@jit
def set_least(I: Any, F: Any, h: float) -> None:
    """Set what counts of increments: a tolerance of accelerations, jumps and shifts, round-off."""
    c2, c3 = steps_of_acceleration(F, h)
    jump, shift = own_vector(I, sv.JUMP), own_vector(I, sv.SHIFT)
    weight = math.sqrt(F[m.GX] ** 2 + F[m.GY] ** 2 + F[m.GZ] ** 2) / F[m.LENGTH]
    for k in range(m.N_UNKNOWN_KINDS):  # what rests is held against its weight
        F[m.SCALE + k] = weight * F[m.UNIT + k]
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            k = m.SCALE + I[I[m.UNKNOWN_KIND] + i]
            size = max(abs(F[I[m.AN] + i]), abs(F[I[m.A] + i]), abs(F[jump + i]) / c2)
            F[k] = max(F[k], size, abs(F[shift + i]) / c3)
    for k in range(m.N_UNKNOWN_KINDS):
        least = F[m.TOL] * F[m.SCALE + k] * c3 + F[m.FLOOR + k]
        F[m.PER_LEAST + k] = 1.0 / least if least > 0.0 else math.inf


@jit
def left_of_rows(I: Any, F: Any) -> float:
    """Return the largest velocity that rows of laws lack after a correction, in X, as a size.

    Rows count that lack half of what they lacked before, or more: all that is left is what their
    softness takes. It goes slowly where bodies are light, and stays where rows contradict others.
    """
    c2, c3, x, size = F[m.W_G], F[m.W_K], I[m.X], 0.0
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, u, form = sv.law_of(I, F, k)
        mode = F[at + c.MODE]
        if mode == c.OPEN or (mode == c.SLIP and form == c.DRY):
            continue
        for r in range(1 if mode == c.SLIP else sv.rows_of(form)):
            i = u + r
            left = CONTACT_SOFT * F[at + (c.DELASSUS_N if r == 0 else c.DELASSUS_T)] * abs(F[x + i])
            if 2.0 * left > abs(F[I[m.PHID] + i] - c2 * F[I[m.PHIDD] + i]):
                by = m.TRANSLATION if I[I[m.UNKNOWN_KIND] + i] == m.FORCE else m.ROTATION
                size = max(size, c3 / c2 * left * F[m.PER_LEAST + by])
    return size


@jit
def correct_quietly(I: Any, F: Any, h: float) -> float:
    """Take one iteration of Newton's method at all three levels; return its size."""
    S, n = ints(F), I[m.N_U]
    c2, c3 = F[m.W_G], F[m.W_K]
    new = S[m.HAVE_FACTOR] == 0
    if new:
        S[m.SMALL_PIVOTS], S[m.HAVE_FACTOR] = 0, 1
        S[m.STEPS_OF_FACTOR], S[m.ITERATIONS_OF_FACTOR] = 0, 0
        set_branches(I, F)
    ask_level(I, F, 1, h)
    evaluation.switch_off(I, F)
    solve(I, F, new)
    size = measure(I, F, c3)
    add(F, I[m.A], -1.0, I[m.X], n)
    ask_level(I, F, 2, h)
    solve(I, F, False)
    size = max(size, measure(I, F, c3 / c2), left_of_rows(I, F))
    add(F, own_vector(I, sv.JUMP), -1.0, I[m.X], n)
    ask_level(I, F, 3, h)
    solve(I, F, False)
    size = max(size, measure(I, F, 1.0))
    add(F, own_vector(I, sv.SHIFT), -1.0, I[m.X], n)
    return size if S[m.SMALL_PIVOTS] == 0 else math.inf


# --- steps in which something changes -------------------------------------------------------------
@jit
def answers(I: Any, F: Any) -> None:
    """Write what a unit of force of each candidate does, and D; with the matrix at hand."""
    sv.list_islands(I, F)
    n, D, n_trees = int(F[sv.place(I, sv.N_ROWS)]), sv.matrix(I, F), int(F[sv.place(I, sv.N_TREES)])
    rows, some, most = sv.array(I, F, sv.ROWS), sv.array(I, F, sv.ROW_LIST), 0
    _, _, _, islands = sv.entries(I, F)
    for tree in range(n_trees):
        most = max(most, int(F[islands + 2 * n_trees + tree]))
    for l in range(most):  # islands do not know of each other: one row of each at once
        clear(F, I[m.X], I[m.N_U])
        for tree in range(n_trees):
            if F[islands + 2 * n_trees + tree] > l:
                j = int(F[some + int(F[islands + n_trees + tree]) + l])
                F[I[m.X] + int(F[rows + j])] = 1.0
        solve(I, F, False)
        y = D + n * n + l * I[m.N_U]
        for i in range(I[m.N_U]):
            F[y + i] = -F[I[m.X] + i]
        for tree in range(n_trees):
            first, size = int(F[islands + n_trees + tree]), int(F[islands + 2 * n_trees + tree])
            for i in range(first, first + size if size > l else first):
                row = int(F[some + i])
                F[D + n * row + int(F[some + first + l])] = -sv.row_times(I, F, row, y)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        if F[sv.array(I, F, sv.CANDIDATE) + k] == 0.0:
            continue
        at, j, _, form = sv.law_of(I, F, k)
        d = D + (n + 1) * j
        along = max(F[d + n + 1], F[d + 2 * n + 2]) if form == c.POINT else F[d]
        F[at + c.DELASSUS_N] = max(F[d], F[at + c.LEAST])
        F[at + c.DELASSUS_T] = max(along, F[at + c.LEAST])


@jit
def begin_candidates(I: Any, F: Any) -> None:
    """Take as candidates what is closed where the step begins, and all that is dry."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, form = sv.law_of(I, F, k)
        closed = form == c.DRY or F[at + c.MODE] != c.OPEN
        F[sv.array(I, F, sv.CANDIDATE) + k] = 1.0 if closed else 0.0


@jit
def add_candidates(I: Any, F: Any) -> None:
    """Take in as candidates what overlaps by the gaps in POINT."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        _, j, _, form = sv.law_of(I, F, k)
        if form != c.DRY and F[sv.array(I, F, sv.POINT) + j] <= 0.0:
            F[sv.array(I, F, sv.CANDIDATE) + k] = 1.0


@jit
def shifts(I: Any, F: Any, h: float, with_friction: bool) -> None:
    """Find the totals of positions, 0 <= kappa, Phi >= 0; of rows of friction those of Lambda.

    What sticks goes nowhere: there kappa moves positions as Lambda moves velocities, by the weights
    h beta/gamma of the method, about h/2.
    """
    z, z0 = sv.array(I, F, sv.KAPPA), sv.array(I, F, sv.KAPPA_0)
    P, P0 = sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        if F[sv.array(I, F, sv.CANDIDATE) + k] == 0.0:
            continue
        _, j, _, form = sv.law_of(I, F, k)
        F[sv.array(I, F, sv.LAWS) + 4 * k] = sv.FIXED
        for i in range(j if form == c.DRY else j + 1, j + sv.rows_of(form)):
            F[z + i] = F[z0 + i]
            if with_friction:
                F[z + i] += h * F[m.BETA] / F[m.GAMMA] * (F[P + i] - F[P0 + i])
    sv.meet(I, F, z, z0, sv.array(I, F, sv.POINT))


@jit
def set_bounds(I: Any, F: Any, k: int, h: float, sticks: bool) -> None:
    """Set the bounds of a dry row over a time h."""
    at, law = int(F[sv.array(I, F, sv.RECORDS) + k]), sv.array(I, F, sv.LAWS) + 4 * k
    part = F[at + c.STATIC] if sticks else 1.0
    F[law] = sv.WHOLE if sticks else sv.ALONG
    F[law + 1], F[law + 2] = part * h * F[at + c.FIRST], part * h * F[at + c.SECOND]
    F[law + 3] = part * F[at + c.FRICTION]


@jit
def set_impulse_law(I: Any, F: Any, k: int, h: float, closed: bool) -> None:
    """Set the law of the impulse of a candidate over a time h: of a contact that is closed, or not.

    What sticks where the step begins has the larger friction.
    """
    at, _, _, form = sv.law_of(I, F, k)
    law, sticks = sv.array(I, F, sv.LAWS) + 4 * k, F[at + c.MODE] == c.STICK
    if form == c.DRY:
        set_bounds(I, F, k, h, sticks)
    else:
        F[law + 1] = sv.friction_of(F, at, sticks)
    F[law] = sv.WHOLE if closed or form == c.DRY else sv.NONE


@jit
def set_force_law(I: Any, F: Any, k: int, opens: bool, slides: bool, e1: float, e2: float) -> None:
    """Set the law of the force of a law that opens, slides with friction along e, or sticks."""
    at, _, _, form = sv.law_of(I, F, k)
    law = sv.array(I, F, sv.LAWS) + 4 * k
    if form == c.DRY:
        set_bounds(I, F, k, 1.0, not slides)
        return
    F[law] = sv.NONE if opens else sv.ALONG if slides else sv.WHOLE
    F[law + 1], F[law + 2], F[law + 3] = sv.friction_of(F, at, not slides), e1, e2


@jit
def percussions(I: Any, F: Any, h: float, part: float) -> None:
    """Find the totals of velocities where positions are closed: impulses of the step.

    NEXT becomes the mode in which each law leaves the step.
    """
    n, laws, base = int(F[sv.place(I, sv.COUNT)]), sv.array(I, F, sv.LAWS), sv.array(I, F, sv.RATE)
    z, z0 = sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0)
    candidate, kappa = sv.array(I, F, sv.CANDIDATE), sv.array(I, F, sv.KAPPA)
    for k in range(n):
        at, j, _, form = sv.law_of(I, F, k)
        F[at + c.NEXT] = c.OPEN
        if F[candidate + k] == 0.0:
            continue
        set_impulse_law(I, F, k, h, F[kappa + j] > 0.0)
        if form != c.DRY:
            F[base + j] += part * F[at + c.RESTITUTION] * min(F[at + c.BEFORE], 0.0)
    w = sv.meet(I, F, z, z0, base)
    for k in range(n):
        if F[candidate + k] == 0.0:
            continue
        at, j, _, form = sv.law_of(I, F, k)
        worst = F[sv.array(I, F, sv.RESOLVED) + k]  # what forces are sure to
        s1, s2 = sv.along_plane(F, w + j, form)
        slips = math.hypot(s1, s2) > 100 * worst * math.sqrt(F[at + c.DELASSUS_T])
        F[at + c.NEXT] = c.SLIP if slips else c.STICK
        F[at + c.LEAVES1], F[at + c.LEAVES2] = s1, s2
        if form == c.DRY:
            continue
        bounces = part * F[at + c.RESTITUTION] * F[at + c.BEFORE] < 0.0
        closed = F[laws + 4 * k] == sv.WHOLE and F[z + j] - F[w + j] / F[at + c.DELASSUS_N] > 0.0
        if bounces or not closed:
            F[at + c.NEXT] = c.OPEN
        elif form == c.SIDE:
            F[at + c.NEXT] = c.STICK
        elif not F[laws + 4 * k + 1] > 0.0:
            F[at + c.NEXT] = c.SLIP


@jit
def pressures(I: Any, F: Any, base: int) -> None:
    """Find the forces where velocities are closed; of those without any NEXT becomes OPEN.

    Where none meet the laws (Painleve) contacts have none: the percussion of the next step acts.
    """
    n = int(F[sv.place(I, sv.COUNT)])
    z, rows, now = sv.array(I, F, sv.FORCE), sv.array(I, F, sv.ROWS), sv.array(I, F, sv.FORCE_0)
    for j in range(int(F[sv.place(I, sv.N_ROWS)])):
        F[now + j] = F[I[m.A] + int(F[rows + j])]
    candidate = sv.array(I, F, sv.CANDIDATE)
    for k in range(n):
        if F[candidate + k] == 0.0:
            continue
        at, _, _, form = sv.law_of(I, F, k)
        mode, s1, s2 = F[at + c.NEXT], F[at + c.LEAVES1], F[at + c.LEAVES2]
        slow = max(math.hypot(s1, s2), 1e-300)
        set_force_law(I, F, k, mode == c.OPEN, mode == c.SLIP, -s1 / slow, -s2 / slow)
        if form == c.DRY and F[at + c.FRICTION] != 0.0:
            copy(F, sv.array(I, F, sv.REACTION) + 3 * k, I[m.A] + int(F[at + c.REACTION]), 3)
    sv.meet(I, F, z, now, base)
    for k in range(n):
        at, j, _, form = sv.law_of(I, F, k)
        if F[candidate + k] != 0.0 and F[sv.array(I, F, sv.RESOLVED) + k] == math.inf:
            copy(F, z + j, now + j, sv.rows_of(form))
        if form != c.DRY and not F[z + j] > 0.0:
            F[at + c.NEXT] = c.OPEN


@jit
def _take(I: Any, F: Any, base: int, vector: int, z: int, z0: int) -> None:
    """Write base + answers times (z - z0) to a vector, of rows of laws z - z0 itself."""
    copy(F, vector, base, I[m.N_U])
    sv.add_answers(I, F, vector, z, z0)


@jit
def _changed(I: Any, F: Any, old: int, new: int, weight: float) -> float:
    """Return the size of a change between two vectors, in units of what is allowed."""
    for i in range(I[m.N_U]):
        F[I[m.X] + i] = F[new + i] - F[old + i]
    return measure(I, F, weight)


@jit
def free_accelerations(I: Any, F: Any, h: float, new: bool) -> float:
    """Find accelerations without contact forces at the state at hand; return a size of the change.

    It is one correction by the matrix of a step of size h; afterwards M is the matrix at hand. It
    is new, or the last one, M of the same pose. Of contacts gaps, velocities and accelerations are
    then in POINT, RATE and ACCELERATION, of all rows what they lack in GAP and R, and B times the
    change in PRODUCT.
    """
    n, n_c, rows = I[m.N_U], int(F[sv.place(I, sv.N_ROWS)]), sv.array(I, F, sv.ROWS)
    contact, product = own_vector(I, sv.IS_LAW), own_vector(I, sv.PRODUCT)
    gaps, speeds, change = (
        sv.array(I, F, sv.POINT), sv.array(I, F, sv.RATE), own_vector(I, sv.JUMP0),
    )  # fmt: skip
    for j in range(n_c):
        F[I[m.A] + int(F[rows + j])] = 0.0
    evaluate_rows(I, F)
    copy(F, I[m.GAP], I[m.X], n)
    copy(F, I[m.R], I[m.PHID], n)
    for j in range(n_c):
        u = int(F[rows + j])
        F[gaps + j], F[speeds + j] = -F[I[m.X] + u], -F[I[m.PHID] + u]
        F[sv.array(I, F, sv.ACCELERATION) + j] = -F[I[m.PHIDD] + u]
    for i in range(n):
        if not is_velocity(I, i):
            F[I[m.X] + i] = 0.0 if F[contact + i] != 0.0 else F[I[m.PHIDD] + i]
    copy(F, own_vector(I, sv.THERE), I[m.D], n)
    clear(F, I[m.D], n)
    set_weights(I, F, h, h > 0.0)
    if new:
        solve_open(I, F)
    else:
        solve(I, F, False)
    size = measure(I, F, 1.0)
    copy(F, change, I[m.X], n)
    if h > 0.0:
        set_weights(I, F, 0.0, False)
        solve_open(I, F)
    copy(F, I[m.D], own_vector(I, sv.THERE), n)
    multiply(I, F, change)
    add(F, I[m.A], -1.0, change, n)
    for j in range(n_c):
        F[sv.array(I, F, sv.ACCELERATION) + j] += F[product + int(F[rows + j])]
    return size


@jit
def add_forces(I: Any, F: Any) -> None:
    """Find the contact forces of the branches, and what they add to accelerations without them."""
    n_c, rows = int(F[sv.place(I, sv.N_ROWS)]), sv.array(I, F, sv.ROWS)
    for j in range(n_c):
        F[sv.array(I, F, sv.FORCE) + j] = F[I[m.AN] + int(F[rows + j])]
    pressures(I, F, sv.array(I, F, sv.ACCELERATION))
    sv.add_answers(I, F, I[m.A], sv.array(I, F, sv.FORCE), sv.array(I, F, sv.FORCE_0))


@jit
def keep_reactions(I: Any, F: Any, h: float) -> None:
    """Write the impulses of bearings without forces of laws: quadrature and the jump without."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, form = sv.law_of(I, F, k)
        if form == c.DRY and F[at + c.FRICTION] != 0.0:
            to = sv.array(I, F, sv.REACTION) + 3 * k
            add_up_reaction(I, F, at, h, own_vector(I, sv.JUMP0), to)


@jit
def correct_by_laws(I: Any, F: Any, h: float, k: int) -> float:
    """Take one iteration in which the laws themselves are solved; return its size.

    Accelerations are those with the velocities before the jump, and without contact forces: what
    these do in the step is in the percussions.
    """
    S, n = ints(F), I[m.N_U]
    n_c, rows = int(F[sv.place(I, sv.N_ROWS)]), sv.array(I, F, sv.ROWS)
    c2, c3 = steps_of_acceleration(F, h)
    jump, shift = own_vector(I, sv.JUMP), own_vector(I, sv.SHIFT)
    jump0, shift0 = own_vector(I, sv.JUMP0), own_vector(I, sv.SHIFT0)
    product, contact = own_vector(I, sv.PRODUCT), own_vector(I, sv.IS_LAW)
    gap, rate, x = I[m.GAP], I[m.R], I[m.X]
    for i in range(n):
        if is_velocity(I, i):
            F[I[m.V] + i] -= F[jump + i]
    S[m.SMALL_PIVOTS], S[m.HAVE_FACTOR] = 0, 0
    size = c3 * free_accelerations(I, F, h if F[sv.place(I, sv.STIFF)] != 0.0 else 0.0, True)
    add_candidates(I, F)
    if S[m.SMALL_PIVOTS]:
        return math.inf
    # what rows lack without jumps and shifts
    for i in range(n):
        if not is_velocity(I, i):
            F[rate + i] -= c2 * F[product + i]
            F[gap + i] -= c3 * F[product + i]
    multiply(I, F, shift)
    add(F, gap, -1.0, product, n)
    # jumps and shifts without forces at contacts
    for which in range(2):
        lacking, to = (rate, jump0) if which == 0 else (gap, shift0)
        for i in range(n):
            F[x + i] = 0.0
            if not is_velocity(I, i) and F[contact + i] == 0.0:
                F[x + i] = F[lacking + i]
                if which == 1 and I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW:
                    F[x + i] = c3 / c2 * F[rate + i]
        solve(I, F, False)
        for i in range(n):
            F[to + i] = -F[x + i]
        multiply(I, F, to)
        base = sv.array(I, F, sv.RATE if which == 0 else sv.POINT)
        for j in range(n_c):
            u = int(F[rows + j])
            F[base + j] = -(F[lacking + u] + F[product + u])
    add_candidates(I, F)
    answers(I, F)
    choose_totals(I, F, h)
    F[sv.place(I, sv.UNMET)] = 0.0
    shifts(I, F, h, k < FRICTION_MOVES)
    keep_reactions(I, F, h)
    percussions(I, F, h, F[sv.place(I, sv.RESTITUTION_PART)])
    new = I[m.GAP]
    _take(I, F, jump0, new, sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0))
    size = max(size, _changed(I, F, jump, new, c3 / c2))
    copy(F, jump, new, n)
    _take(I, F, shift0, new, sv.array(I, F, sv.KAPPA), sv.array(I, F, sv.KAPPA_0))
    size = max(size, _changed(I, F, shift, new, 1.0))
    copy(F, shift, new, n)
    return size


# --- steps ----------------------------------------------------------------------------------------
@jit
def tell_past(I: Any, F: Any) -> None:
    """Note whether accelerations of the method are those of the state: the past is forgotten."""
    F[sv.place(I, sv.PAST)] = sv.FORGOTTEN
    for i in range(I[m.N_U]):
        if is_velocity(I, i) and F[I[m.A] + i] != F[I[m.AL] + i]:
            F[sv.place(I, sv.PAST)] = sv.CONTINUED


@jit
def set_start_branch(I: Any, F: Any, k: int) -> None:
    """Set the branch of law k at the start of a step, by forces and accelerations there.

    What began to stick at the edge of its bounds, but is accelerated, does not hold: friction keeps
    its share of the pressure, or the force.
    """
    at, _, u, form = sv.law_of(I, F, k)
    mode, e1, e2 = F[at + c.MODE], -F[at + c.SLIP1], 0.0 if form == c.DRY else -F[at + c.SLIP2]
    if form == c.SIDE or mode == c.OPEN:
        return
    if mode == c.STICK:
        if sticks(I, F, k):
            return
        F[at + c.BRANCH] = c.OPEN if form == c.DRY else c.SLIP
        if form == c.DRY:
            return
        e1, e2 = F[I[m.A] + u + 1], F[I[m.A] + u + 2]
    size = math.hypot(e1, e2)
    if size > 0.0:
        F[at + c.E1], F[at + c.E2], F[at + c.SHARE] = e1 / size, e2 / size, 0.0


@jit
def look_at_start(I: Any, F: Any, h: float) -> None:
    """Evaluate the start of a step; set the weights of its matrix, and rows by the modes."""
    clear(F, I[m.D], I[m.N_U])
    evaluate_rows(I, F)
    set_least(I, F, h)
    set_weights(I, F, h, True)
    set_branches(I, F)


@jit
def start_accelerations(I: Any, F: Any, h: float) -> None:
    r"""Begin a step after a change with accelerations that it can follow.

    What a jump does to a stiff damper or spring, :math:`\dot v = M^{-1} f`, would throw it over.
    One correction by the matrix of the step, from zero, gives :math:`S^{-1} f`, bounded by the
    velocities over h. It is taken where it misses half of :math:`\dot v`: something decays at a
    rate above 2/h. Branches are those at hand.
    """
    S, n, contacts = ints(F), I[m.N_U], int(F[sv.place(I, sv.COUNT)])
    for i in range(n):
        if is_velocity(I, i):
            F[I[m.A] + i] = 0.0
    evaluate_rows(I, F)
    ask_level(I, F, 1, h)
    for k in range(contacts):
        at, _, u, form = sv.law_of(I, F, k)
        if F[at + c.BRANCH] == c.OPEN:
            clear(F, I[m.X] + u, sv.rows_of(form))
        elif F[at + c.BRANCH] != F[at + c.MODE]:
            clear(F, I[m.X] + u + 1, 2)
    evaluation.switch_off(I, F)
    S[m.SMALL_PIVOTS] = 0
    solve(I, F, True)
    add(F, I[m.A], -1.0, I[m.X], n)
    if S[m.SMALL_PIVOTS]:
        return
    S[m.HAVE_FACTOR], S[m.STEPS_OF_FACTOR], S[m.ITERATIONS_OF_FACTOR] = 1, 0, 0
    missed = _changed(I, F, I[m.A], I[m.AN], 1.0)
    clear(F, own_vector(I, sv.THERE), n)
    if not 2.0 * missed > _changed(I, F, own_vector(I, sv.THERE), I[m.AN], 1.0):
        return
    for i in range(n):
        if is_velocity(I, i):
            F[I[m.AN] + i] = F[I[m.AL] + i] = F[I[m.A] + i]


@jit
def iterate(I: Any, F: Any, h: float) -> bool:
    """Find the end of a step of size h; tell whether that converged."""
    S, n = ints(F), I[m.N_U]
    forget_jumps(I, F)
    begin_candidates(I, F)
    quiet, last, theta = True, 0.0, 0.5
    for k in range(MOST):
        move(I, F, h)
        set_least(I, F, h)
        if quiet:
            evaluate_rows(I, F)
            set_weights(I, F, h, True)
            choose_totals(I, F, h)
            if not keeps_branches(I, F, h):
                quiet, last, theta = False, 0.0, 0.5
                forget_jumps(I, F)
                copy(F, I[m.A], I[m.AN], n)
                set_least(I, F, h)
                move(I, F, h)
        size = correct_quietly(I, F, h) if quiet else correct_by_laws(I, F, h, k)
        S[m.N_ITER] += 1
        if not size < 1e300:
            return False
        if last > 0.0:
            theta = max(size / last, 1e-3)
            if quiet and theta > 0.3:
                S[m.HAVE_FACTOR] = 0
        if theta < 1.0 and size * theta / (1.0 - theta) <= 1.0:
            F[sv.place(I, sv.QUIET)] = 1.0 if quiet else 0.0
            if quiet and has_aged(I, F, k + 1):
                S[m.HAVE_FACTOR] = 0
            return quiet or F[sv.place(I, sv.UNMET)] == 0.0  # type: ignore[no-any-return]
        if not quiet and size <= 1.0:
            F[sv.place(I, sv.QUIET)] = 0.0
            return F[sv.place(I, sv.UNMET)] == 0.0  # type: ignore[no-any-return]
        if quiet and k > 12:
            S[m.HAVE_FACTOR] = 0
        last = size
    return False


@jit
def note_velocities(I: Any, F: Any, k: int) -> None:
    """Note the velocities of law k, in RATE, as those at the start of the next step."""
    at, j, _, form = sv.law_of(I, F, k)
    rate = sv.array(I, F, sv.RATE) + j
    F[at + c.BEFORE] = F[rate] if F[at + c.MODE] == c.OPEN else 0.0
    if form == c.DRY:
        F[at + c.SLIP1] = F[rate]
    elif form == c.POINT:
        F[at + c.SLIP1], F[at + c.SLIP2] = F[rate + 1], F[rate + 2]


@jit
def accept_contacts(I: Any, F: Any, quiet: bool) -> None:
    """Note modes and velocities of the contacts at the end of the step."""
    rate = sv.array(I, F, sv.RATE)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, u, form = sv.law_of(I, F, k)
        if quiet:
            for r in range(sv.rows_of(form)):
                F[rate + j + r] = -F[I[m.PHID] + u + r]
        else:
            F[at + c.MODE] = F[at + c.NEXT]
        note_velocities(I, F, k)
        if F[at + c.MODE] == c.SLIP and form == c.POINT:
            slow = max(math.hypot(F[at + c.SLIP1], F[at + c.SLIP2]), 1e-300)
            F[at + c.E1], F[at + c.E2] = -F[at + c.SLIP1] / slow, -F[at + c.SLIP2] / slow


@jit
def work_of_jumps(I: Any, F: Any) -> Any:
    r"""Return the work of the jumps at contacts, and the sum of its magnitudes.

    :math:`\Lambda\cdot(u^+ + u^-)/2` with :math:`u^- = u^+ - D\Lambda`.
    """
    jump, work, size = own_vector(I, sv.JUMP), 0.0, 0.0
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        _, j, u, form = sv.law_of(I, F, k)
        for r in range(sv.rows_of(form)):
            own, now = F[jump + u + r], -F[I[m.PHID] + u + r]
            if own != 0.0:
                half = 0.5 * sv.row_answers(I, F, k, j + r, jump)
                work += own * (now - half)
                size += abs(own) * (abs(now) + abs(half))
    return work, size


@jit
def _closes(I: Any, F: Any, k: int) -> bool:
    """Tell whether law k was open before the step at hand, and has an impulse in it."""
    at, j, _, form = sv.law_of(I, F, k)
    return form != c.DRY and F[at + c.MODE] == c.OPEN and F[sv.array(I, F, sv.IMPULSE) + j] > 0.0


@jit
def keep_speeds_before(I: Any, F: Any) -> None:
    r"""Write rates before the jump, :math:`u - D\Lambda`, to KEPT; zero where nothing closes."""
    jump, to = own_vector(I, sv.JUMP), sv.array(I, F, sv.KEPT)
    clear(F, to, int(F[sv.place(I, sv.N_ROWS)]))
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        if _closes(I, F, k):
            _, j, u, form = sv.law_of(I, F, k)
            for r in range(sv.rows_of(form)):
                F[to + j + r] = -F[I[m.PHID] + u + r] - sv.row_answers(I, F, k, j + r, jump)


@jit
def _is_hit(I: Any, F: Any, k: int) -> bool:
    """Tell whether an impact is in the island of law k: one is closed by a jump of its velocity."""
    island, before = sv.array(I, F, sv.ISLAND), sv.array(I, F, sv.KEPT)
    for other in range(int(F[sv.place(I, sv.COUNT)])):
        if F[before + int(F[sv.array(I, F, sv.FIRST_ROWS) + other])] < 0.0:
            if F[island + other] == F[island + k]:
                return True
    return False


@jit
def account(I: Any, F: Any, h: float, quiet: bool) -> None:
    r"""Add the work of forces of set-valued laws to the sums of the run, and log impacts.

    That of a percussion with the mean of the velocities at both ends; where a law was open, with
    those before and after the jump at the end of the step. In an island with an impact friction has
    what forces at the start do, :math:`h p_n\cdot u_n`, of what is closed, and impacts the rest.
    """
    P, before = sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.KEPT)
    if not quiet:
        keep_speeds_before(I, F)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, first, u, form = sv.law_of(I, F, k)
        closes, work, steady = not quiet and _closes(I, F, k), 0.0, 0.0
        for r in range(sv.rows_of(form)):
            start = F[at + (c.BEFORE if r == 0 else c.SLIP1 + r - 1)]
            if form == c.DRY:
                start = F[at + c.SLIP1]
            steady += h * F[I[m.AN] + u + r] * start
            if closes:
                start = F[before + first + r]
            work += 0.5 * F[P + first + r] * (start - F[I[m.PHID] + u + r])
        by_impacts = work - steady if not quiet and _is_hit(I, F, k) else 0.0
        F[m.IMPULSIVE] += work
        F[m.FRICTION] -= work - by_impacts
        F[m.IMPACTS] -= by_impacts
        if closes and F[before + first] < 0.0:
            log_impact(I, F, k, -work)


@jit
def log_impact(I: Any, F: Any, k: int, loss: float) -> None:
    """Append a line to the log of impacts, while it has room."""
    S = ints(F)
    at, first, u, form = sv.law_of(I, F, k)
    if S[m.N_IMPACTS] >= S[m.IMPACT_ROOM]:
        return
    to = S[m.IMPACT_LOG] + S[m.N_IMPACTS] * m.IMPACT_SIZE
    S[m.N_IMPACTS] += 1
    clear(F, to, m.IMPACT_SIZE)
    F[to + m.IMPACT_T], F[to + m.IMPACT_ELEMENT], F[to + m.IMPACT_LOSS] = F[m.T], k, loss
    for r in range(sv.rows_of(form)):
        F[to + m.IMPACT_P + r] = F[own_vector(I, sv.JUMP) + u + r]
        F[to + m.IMPACT_BEFORE + r] = F[sv.array(I, F, sv.KEPT) + first + r]
        F[to + m.IMPACT_AFTER + r] = -F[I[m.PHID] + u + r]
    F[to + m.IMPACT_E] = F[sv.place(I, sv.RESTITUTION_PART)] * F[at + c.RESTITUTION]


@jit
def reach_end(I: Any, F: Any, h: float) -> bool:
    """Find the end of a step, there evaluated; tell whether that converged."""
    copy(F, I[m.A], I[m.AN], I[m.N_U])
    if not iterate(I, F, h):
        return False
    move(I, F, h)
    evaluation.stage(I, F, m.PLACE)
    if F[sv.place(I, sv.QUIET)] == 0.0:
        evaluation.stage(I, F, m.RATES)
    return True


@jit
def rebounds(I: Any, F: Any) -> bool:
    """Tell whether a contact is thrown back in the step at hand."""
    kappa = sv.array(I, F, sv.KAPPA)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, _, form = sv.law_of(I, F, k)
        if form == c.DRY:
            continue
        if F[kappa + j] > 0.0 and F[at + c.RESTITUTION] * F[at + c.BEFORE] < 0.0:
            return True
    return False


@jit
def gains(I: Any, F: Any) -> bool:
    """Tell whether jumps put energy into the system."""
    work, size = work_of_jumps(I, F)
    return work > NEWTON_FREE * size  # more than what iterations leave


@jit
def rebound_less(I: Any, F: Any, h: float) -> bool:
    """Take the largest part of all restitution with which the step gains no energy."""
    part, least, most = sv.place(I, sv.RESTITUTION_PART), 0.0, 1.0
    for _ in range(BISECTIONS):
        F[part] = 0.5 * (least + most)
        if not reach_end(I, F, h):
            return False
        if gains(I, F):
            most = F[part]
        else:
            least = F[part]
    F[part] = least
    return reach_end(I, F, h)  # type: ignore[no-any-return]


@jit
def attempt(I: Any, F: Any, h: float, t: float) -> bool:
    """Take a step of size h to the time t; leave everything as it was if it does not converge."""
    S, n = ints(F), I[m.N_U]
    keep_start(I, F)
    copy(F, own_vector(I, sv.BEGIN), I[m.A], n)
    begin = F[m.T]
    evaluation.copy_remembered(I, F, 0, AT_START)
    if F[sv.place(I, sv.STIFF)] != 0.0 and F[sv.place(I, sv.PAST)] == sv.FORGOTTEN:
        look_at_start(I, F, h)
        for k in range(int(F[sv.place(I, sv.COUNT)])):
            set_start_branch(I, F, k)
        start_accelerations(I, F, h)
    F[m.T] = t
    good = reach_end(I, F, h)
    if good and F[sv.place(I, sv.QUIET)] == 0.0 and rebounds(I, F) and gains(I, F):
        good = rebound_less(I, F, h)
        S[m.N_REJECT] += 1
    if not good:
        S[m.HAVE_FACTOR], F[sv.place(I, sv.RESTITUTION_PART)] = 0, 1.0
        F[m.T] = begin
        copy(F, I[m.Q], I[m.QN], I[m.N_Q])
        copy(F, I[m.V], I[m.VN], n)
        copy(F, I[m.A], own_vector(I, sv.BEGIN), n)
        if F[sv.place(I, sv.PAST)] == sv.FORGOTTEN:
            copy(F, I[m.AL], I[m.A], n)
        return False
    quiet = F[sv.place(I, sv.QUIET)] == 1.0
    account(I, F, h, quiet)
    F[sv.place(I, sv.RESTITUTION_PART)] = 1.0
    if not quiet:
        free_accelerations(I, F, 0.0, True)
        add_forces(I, F)
        evaluation.stage(I, F, m.PLACE)
        S[m.HAVE_FACTOR] = 0
    accept_contacts(I, F, quiet)
    evaluation.accept_stage(I, F)
    finish_accelerations(I, F, quiet)
    F[sv.place(I, sv.PAST)] = sv.CONTINUED if quiet else sv.FORGOTTEN
    return True


@jit
def begin_contacts(I: Any, F: Any) -> None:
    """Find modes, accelerations and forces of the state at hand."""
    S, n, fastest = ints(F), I[m.N_U], 1e-300
    n_laws, point, rate = (
        int(F[sv.place(I, sv.COUNT)]),
        sv.array(I, F, sv.POINT),
        sv.array(I, F, sv.RATE),
    )
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    copy(F, I[m.AN], I[m.A], n)
    clear(F, I[m.D], n)
    S[m.SMALL_PIVOTS] = 0
    free_accelerations(I, F, 0.0, True)
    for k in range(n_laws):
        F[sv.array(I, F, sv.CANDIDATE) + k] = 1.0
    answers(I, F)
    for k in range(n_laws):  # speeds as energies
        at, j, _, form = sv.law_of(I, F, k)
        fastest = max(fastest, abs(F[rate + j]) / math.sqrt(F[at + c.DELASSUS_N]))
        if form == c.POINT:
            fast = math.hypot(F[rate + j + 1], F[rate + j + 2])
            fastest = max(fastest, fast / math.sqrt(F[at + c.DELASSUS_T]))
    for k in range(n_laws):
        at, j, _, form = sv.law_of(I, F, k)
        speed, s1, s2 = F[rate + j], 0.0, 0.0
        if form == c.POINT:
            s1, s2 = F[rate + j + 1], F[rate + j + 2]
        elif form == c.DRY:
            speed, s1 = 0.0, F[rate + j]
        still = ROWS_MET * fastest
        touches = form == c.DRY or abs(F[point + j]) <= ROWS_MET * F[m.LENGTH]
        rests = touches and abs(speed) <= still * math.sqrt(F[at + c.DELASSUS_N])
        F[at + c.NEXT] = c.OPEN
        if rests:
            slips = math.hypot(s1, s2) > still * math.sqrt(F[at + c.DELASSUS_T])
            F[at + c.NEXT] = c.SLIP if slips else c.STICK
        F[at + c.BEFORE] = 0.0 if rests else speed
        F[at + c.SLIP1], F[at + c.SLIP2] = s1, s2
        F[at + c.LEAVES1], F[at + c.LEAVES2] = s1, s2
    add_forces(I, F)
    for k in range(n_laws):
        at = int(F[sv.array(I, F, sv.RECORDS) + k])
        F[at + c.MODE], F[at + c.ACTIVE] = F[at + c.NEXT], c.BEGUN
    copy(F, I[m.AL], I[m.A], n)
    F[sv.place(I, sv.STARTED)] = 1.0
    S[m.HAVE_FACTOR] = 0


@jit
def take_in_parts(I: Any, F: Any, h: float, end: float) -> bool:
    """Take a step of size h to the time `end`, in parts if need be; tell whether that went."""
    S, left, part, begin = ints(F), 1.0, 1.0, F[m.T]
    while left > 0.0:
        part = min(part, left)
        last = part == left
        t = end if last else begin + h * (1.0 - left + part)
        if attempt(I, F, h * part, t):
            left = 0.0 if last else left - part
            continue
        S[m.N_REJECT] += 1
        part *= 0.5
        if part * HALVES < 1.0:
            return False
    if part < 1.0:
        S[m.HAVE_FACTOR] = 0
    return True


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H]; one that does not converge is taken in parts."""
    S, h = ints(F), F[m.H]
    S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
    evaluation.note_rates(I, F)
    if F[sv.place(I, sv.STARTED)] == 0.0:
        begin_contacts(I, F)
    if F[sv.place(I, sv.PAST)] == sv.UNTOLD:
        tell_past(I, F)
    most = int(HALVES * F[sv.place(I, sv.COUNT)])  # impacts in a step
    for step in range(S[m.N_STEPS]):
        if S[m.IMPACT_ROOM] and S[m.IMPACT_ROOM] - S[m.N_IMPACTS] < most:
            return  # until they are taken over
        if not take_in_parts(I, F, h, next_time(I, F)):
            S[m.STATUS] = FAILED
            return
        S[m.STEPS_DONE] = step + 1
        keep_record(I, F)


@kernel
def start_kernel(I: Any, F: Any, k: int) -> None:
    """Find modes, accelerations and forces of the state at hand."""
    begin_contacts(I, F)
