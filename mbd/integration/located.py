r"""Located events of contacts: steps that end where a contact closes, opens, sticks or slips.

Between events the branches of all set-valued laws are held: rows of closed contacts and of friction
are rows like those of joints, met at all three levels by the quiet iteration of ``nonsmooth``. At
the end of a step the indicators

====== ================================================ =========================
branch indicators                                       where one falls below zero
====== ================================================ =========================
OPEN   :math:`\Phi`                                     it closes
STICK  :math:`p_N`, :math:`\mu_s p_N - |p_T|`;          it opens, it begins to slip
       of dry rows :math:`p - p^-`, :math:`p^+ - p`
SLIP   :math:`p_N`, :math:`u_T\cdot d`                  it opens, it stops or turns
====== ================================================ =========================

are looked at, with the direction d of slip at the start of the step; friction is against d where
slip has turned round. If an indicator is negative the step is taken again, of the size at which the
first of them is zero: by cubics where their rates are known, else by secants, each fourth time by
bisection. At an event

1. what touches and approaches is thrown back: Newton's and Coulomb's laws, with the matrix M at the
   pose of the event. There the work of an impact, :math:`\tfrac12(u^+ + u^-)\cdot P`, is exact;
   e is smaller where it would be positive;
2. accelerations decide the branches: a contact without a force opens, one without slip sticks if
   friction can hold it, else slip begins along its acceleration;
3. the method starts again, :math:`a := \dot v, \bar p := p`, of :math:`\dot v` what a step of its
   size can follow; so it does where a longer step comes after a shorter one.

After `MOST_EVENTS` in a step, or where no branches agree, the rest of it is a step of
``nonsmooth``, which captures all that is left. What closes and opens again within a step, so that
no end of a step sees it, is no event.
"""

import math
from typing import Any

from mbd.algebra.vec import clear, copy
from mbd.base.tolerances import ROUND_OFF, ROWS_MET
from mbd.integration import newton_loop, nonsmooth
from mbd.integration import set_valued_laws as sv
from mbd.integration.one_step import AT_START
from mbd.integration.updates import keep_start
from mbd.interactions import set_valued as c
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model.evaluation import accept_stage, copy_remembered, note_rates, stage

# numbers after those of all steps, then arrays of three numbers for each law
LEAST, FORCE_LEAST, TAKEN, TABLES = range(4)
(
    TURNED,  # whether slip has turned round: friction is against d to the end
    LOW, LOW_RATE,  # indicators at the largest size at which none is negative, and their rates
    HIGH, HIGH_RATE,  # at the least size at which one is
    NOW, NOW_RATE,
    HAPPENS,  # what happens; while branches are chosen also what is tried
    N_TABLES,
) = range(9)  # fmt: skip
NOTHING, OPENS, SLIPS, ELSE = 0.0, 1.0, 2.0, 3.0  # HAPPENS
NEVER = 1e300  # an indicator that is none
INSTANT = 1e-300  # [s] time of an impact: forces do nothing in it, bounds of impulses are none
MOST_EVENTS, MOST_TRIED = 8, 40  # in one step
MOST_HITS = int(nonsmooth.HALVES) * (MOST_TRIED - MOST_EVENTS) + MOST_TRIED  # of a law in a step
TRIALS, ITERATIONS, CHOICES = 60, 30, 6
HIDDEN = 6  # iterations in which accelerations are looked at where positions hide them
END, EVENT, LOST = 0, 1, 2


def numbers_of_events(n: int) -> int:
    """Return how many numbers located events of n laws need."""
    return TABLES + 3 * N_TABLES * n


@jit
def own(I: Any, F: Any, j: int) -> int:
    """Return where a number of located events is."""
    at = sv.place(I, 0)
    n, some, trees = F[at + sv.N_ROWS], F[at + sv.N_ENTRIES], F[at + sv.N_TREES]
    return I[m.METHOD] + _numbers(int(n), int(some), int(trees), I[m.N_U]) + j


_numbers = jit(sv.numbers_of_method)


@jit
def table(I: Any, F: Any, which: int, k: int) -> int:
    """Return where the three numbers of law k are."""
    return own(I, F, TABLES) + 3 * (which * int(F[sv.place(I, sv.COUNT)]) + k)


@jit
def fill(I: Any, F: Any, to: int, source: int) -> None:
    """Copy a table."""
    copy(F, table(I, F, to, 0), table(I, F, source, 0), 3 * int(F[sv.place(I, sv.COUNT)]))


# --- steps in which branches are held -------------------------------------------------------------
@jit
def follow_slip(I: Any, F: Any, begins: bool) -> bool:
    """Set the rows of friction of what slips: e and q; from where slip turns round on e = -d.

    Where slip begins e = -d is that of the forces which held it; the iterate has round-off only.
    Tell whether e has turned far: jumps that obeyed other rows are not those of these.
    """
    far = False
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, u, form = sv.law_of(I, F, k)
        d, mu, turned = at + c.LEAVES1, F[at + c.FRICTION], table(I, F, TURNED, k)
        if F[at + c.MODE] != c.SLIP:
            continue
        e1, e2, share = F[at + c.E1], F[at + c.E2], F[at + c.SHARE]
        F[at + c.E1], F[at + c.E2], F[at + c.SHARE] = -F[d], -F[d + 1], 0.0
        if form == c.DRY:
            continue
        if mu == 0.0:
            F[at + c.E1] = F[at + c.E2] = 0.0
            continue
        s1, s2 = -F[I[m.PHID] + u + 1], -F[I[m.PHID] + u + 2]
        if begins and math.hypot(s1, s2) <= speed_least(I, F, k):
            continue
        if F[turned] == 0.0 and not s1 * F[d] + s2 * F[d + 1] > 0.0:
            F[turned] = 1.0
            ints(F)[m.HAVE_FACTOR] = 0
        if F[turned] == 0.0:
            slow = math.hypot(s1, s2)
            part = max(mu * F[I[m.A] + u], 0.0) * F[m.W_G] * F[at + c.DELASSUS_T] / slow
            F[at + c.E1], F[at + c.E2] = -s1 / slow, -s2 / slow
            F[at + c.SHARE] = part / (1.0 + part)
        if abs(F[at + c.SHARE] - share) > nonsmooth.SHARE_CHANGE:
            ints(F)[m.HAVE_FACTOR] = 0
        far = far or (not begins and 2.0 * (e1 * F[at + c.E1] + e2 * F[at + c.E2]) < 1.0)
    return far


@jit
def short(I: Any, F: Any, h: float) -> bool:
    """Tell whether a step is so short that round-off of positions hides that of forces."""
    _, c3 = nonsmooth.steps_of_acceleration(F, h)
    for k in range(m.FORCE):
        if F[m.SCALE + k] * F[m.TOL] * c3 < F[m.FLOOR + k]:
            return True
    return False


@jit
def change_of_accelerations(I: Any, F: Any, old: int) -> float:
    """Return the size of what accelerations have changed from F[old], in units of the tolerance."""
    size = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            most = F[m.TOL] * F[m.SCALE + I[I[m.UNKNOWN_KIND] + i]]
            change = abs(F[I[m.A] + i] - F[old + i])
            size = max(size, change / most if most > 0.0 else change)
    return size


@jit
def settle(I: Any, F: Any, h: float) -> bool:
    """Find the end of a step of size h in the branches at hand; tell whether that converged."""
    S, n = ints(F), I[m.N_U]
    nonsmooth.forget_jumps(I, F)
    last, theta, old = 0.0, 0.5, own_vector(I, sv.JUMP0)
    for k in range(ITERATIONS):
        nonsmooth.move(I, F, h)
        nonsmooth.set_least(I, F, h)
        hidden = k < HIDDEN and short(I, F, h)
        if hidden:
            copy(F, old, I[m.A], n)
        nonsmooth.evaluate_rows(I, F)
        nonsmooth.set_weights(I, F, h, True)
        if follow_slip(I, F, k == 0):
            nonsmooth.forget_jumps(I, F)
            S[m.HAVE_FACTOR], last, theta = 0, 0.0, 0.5
            continue
        size = nonsmooth.correct_quietly(I, F, h)
        S[m.N_ITER] += 1
        if not size < 1e300:
            break
        if last > 0.0:
            theta = max(size / last, 1e-3)
            if theta > 0.3:
                S[m.HAVE_FACTOR] = 0
        hidden = hidden and change_of_accelerations(I, F, old) > 1.0
        if theta < 1.0 and size * theta / (1.0 - theta) <= 1.0 and not hidden:
            if newton_loop.has_aged(I, F, k + 1):
                S[m.HAVE_FACTOR] = 0
            return True
        if k > 12:
            S[m.HAVE_FACTOR] = 0
        last = size
    S[m.HAVE_FACTOR] = 0
    return False


@jit
def trial(I: Any, F: Any, h: float, t: float) -> bool:
    """Go from the start of the step to the time t, and evaluate; tell whether that converged."""
    F[m.T] = t
    if not settle(I, F, h):
        copy(F, I[m.A], I[m.AN], I[m.N_U])
        return False
    nonsmooth.move(I, F, h)
    nonsmooth.evaluate_rows(I, F)
    return True


@jit
def go_back(I: Any, F: Any, t: float) -> None:
    """Go back to the start of the step, there evaluated."""
    F[m.T] = t
    copy(F, I[m.V], I[m.VN], I[m.N_U])
    copy(F, I[m.A], I[m.AN], I[m.N_U])
    clear(F, I[m.D], I[m.N_U])
    nonsmooth.evaluate_rows(I, F)
    copy(F, I[m.Q], I[m.QN], I[m.N_Q])


# --- indicators -----------------------------------------------------------------------------------
@jit
def set_tolerances(I: Any, F: Any) -> None:
    """Set what counts as zero, of positions relative to their unit: what Newton's method leaves."""
    least, most, rows = ROUND_OFF * F[m.FAR], 1e-300, sv.array(I, F, sv.ROWS)
    for k in range(m.FORCE):
        least = max(least, 1.0 / (F[m.PER_LEAST + k] * F[m.UNIT + k]))
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, _, form = sv.law_of(I, F, k)
        for r in range(sv.rows_of(form)):
            u = int(F[rows + j + r])
            most = max(
                most, sv.size_of(F, at, r, F[I[m.A] + u]), sv.size_of(F, at, r, F[I[m.AN] + u])
            )
    F[own(I, F, LEAST)], F[own(I, F, FORCE_LEAST)] = least, F[m.TOL] * most


@jit
def gap_least(I: Any, F: Any, k: int) -> float:
    """Return the gap of law k that counts as zero [m or rad]."""
    _, _, u, _ = sv.law_of(I, F, k)
    unit = F[m.LENGTH] if I[I[m.UNKNOWN_KIND] + u] == m.FORCE else 1.0
    return F[own(I, F, LEAST)] * unit  # type: ignore[no-any-return]


@jit
def speed_least(I: Any, F: Any, k: int) -> float:
    """Return the velocity of law k that counts as zero: of gaps in a step of the run."""
    return gap_least(I, F, k) * F[m.GAMMA] / (F[m.H] * F[m.BETA])  # type: ignore[no-any-return]


@jit
def bounds(I: Any, F: Any, at: int) -> Any:
    """Return the interval of a dry row that sticks, by the present reaction of its bearing."""
    most, low, high = F[at + c.STATIC], F[at + c.FIRST], F[at + c.SECOND]
    if F[at + c.FRICTION] != 0.0:
        force = F[at + c.FRICTION] * nonsmooth.present_reaction(I, F, at)
        low, high = low - force, high + force
    return most * low, most * high


@jit
def has_rate(mode: float, form: float, w: int) -> bool:
    """Tell whether the rate of indicator w is known: of gaps, and of slip."""
    if mode == c.OPEN:
        return w == 0
    return mode == c.SLIP and w == (0 if form == c.DRY else 1)


@jit
def look(I: Any, F: Any, which: int) -> bool:
    """Write the indicators at hand, in units of what counts; tell whether none is negative."""
    good, force = True, F[own(I, F, FORCE_LEAST)]
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, u, form = sv.law_of(I, F, k)
        to, slope, d = table(I, F, which, k), table(I, F, which + 1, k), at + c.LEAVES1
        mode, p, v, a = F[at + c.MODE], I[m.A] + u, I[m.PHID] + u, I[m.PHIDD] + u
        F[to], F[to + 1], F[slope], F[slope + 1] = NEVER, NEVER, 0.0, 0.0
        gap, speed = gap_least(I, F, k), speed_least(I, F, k)
        normal = math.sqrt(F[at + c.DELASSUS_N]) / force
        along = math.sqrt(F[at + c.DELASSUS_T]) / force
        if form == c.DRY and mode == c.SLIP:
            F[to], F[slope] = -F[v] * F[d] / speed, -F[a] * F[d] / speed
        elif form == c.DRY:
            low, high = bounds(I, F, at)
            F[to], F[to + 1] = min((F[p] - low) * along, NEVER), min((high - F[p]) * along, NEVER)
        elif mode == c.OPEN:
            F[to], F[slope] = -F[I[m.X] + u] / gap, -F[v] / gap
        else:
            F[to] = F[p] * normal
            if form == c.POINT and mode == c.STICK:
                most = sv.friction_of(F, at, True) * F[p]
                F[to + 1] = (most - math.hypot(F[p + 1], F[p + 2])) * along
            elif form == c.POINT and F[at + c.FRICTION] > 0.0:
                F[to + 1] = -(F[v + 1] * F[d] + F[v + 2] * F[d + 1]) / speed
                F[slope + 1] = -(F[a + 1] * F[d] + F[a + 2] * F[d + 1]) / speed
        good = good and F[to] >= -1.0 and F[to + 1] >= -1.0
    return good


@jit
def _cubic(x: float, y0: float, y1: float, r0: float, r1: float) -> float:
    """Return the value at x in [0, 1] of the cubic with values and rates at both ends."""
    change = y1 - y0
    return y0 + x * (r0 + x * (3 * change - 2 * r0 - r1 + x * (r0 + r1 - 2 * change)))


@jit
def zero_of_cubic(y0: float, y1: float, r0: float, r1: float) -> float:
    """Return the last x in (0, 1) at which a cubic that ends below zero falls through it, or 0."""
    low, high = 1.0, 1.0
    for i in range(15, -1, -1):
        low = i / 16
        if _cubic(low, y0, y1, r0, r1) > 0.0:
            break
        high = low
    if high == 0.0:
        return 0.0
    for _ in range(52):  # to the last digit
        middle = 0.5 * (low + high)
        if _cubic(middle, y0, y1, r0, r1) > 0.0:
            low = middle
        else:
            high = middle
    return low


@jit
def first_zero(I: Any, F: Any, low: float, high: float) -> float:
    """Return the first size at which an indicator is zero that is negative at the size `high`."""
    size, first = high - low, 1.0
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, form = sv.law_of(I, F, k)
        for w in range(2):
            y0, y1 = F[table(I, F, LOW, k) + w], F[table(I, F, HIGH, k) + w]
            if y1 >= -1.0:
                continue
            x = y0 / (y0 - y1)
            if has_rate(F[at + c.MODE], form, w):
                r0, r1 = F[table(I, F, LOW_RATE, k) + w], F[table(I, F, HIGH_RATE, k) + w]
                x = zero_of_cubic(y0, y1, size * r0, size * r1)
            first = min(first, x)
    return low + size * first


@jit
def note_event(I: Any, F: Any, which: int) -> bool:
    """Note what happens to which law: zero or positive in a table, negative at HIGH. Tell if any.

    Where a dry row begins to slip its direction is set.
    """
    any_events = False
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, form = sv.law_of(I, F, k)
        here, there, mode = table(I, F, which, k), table(I, F, HIGH, k), F[at + c.MODE]
        what, slope = NOTHING, table(I, F, which + 1, k)
        for w in range(2):
            if not (F[there + w] < -1.0 and F[here + w] <= 1.0):
                continue
            if has_rate(mode, form, w) and F[slope + w] > 0.0:
                continue
            if form == c.DRY and mode == c.STICK:
                what = SLIPS
                F[at + c.LEAVES1] = 1.0 if w == 0 else -1.0
            elif form != c.DRY and mode != c.OPEN and w == 0:
                what = OPENS
            elif what == NOTHING:
                what = SLIPS if mode == c.STICK else ELSE
        F[table(I, F, HAPPENS, k)] = what
        any_events = any_events or what != NOTHING
    return any_events


@jit
def go_to_event(I: Any, F: Any, h: float, end: float) -> int:
    """Take a step of size h to the time `end`, or a shorter one to the first event; or none."""
    t, taken = F[m.T], own(I, F, TAKEN)
    keep_start(I, F)
    copy_remembered(I, F, 0, AT_START)
    newton_loop.measure_place(I, F)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, form = sv.law_of(I, F, k)
        F[table(I, F, TURNED, k)] = 0.0
        if form != c.SIDE and F[at + c.MODE] == c.SLIP:
            s1, s2 = F[at + c.SLIP1], F[at + c.SLIP2] if form == c.POINT else 0.0
            if math.hypot(s1, s2) > speed_least(I, F, k):
                set_direction(F, at, s1, s2)
    F[taken] = 0.0
    if F[sv.place(I, sv.STIFF)] != 0.0 and F[sv.place(I, sv.PAST)] == sv.FORGOTTEN:
        nonsmooth.look_at_start(I, F, h)
        follow_slip(I, F, True)
        nonsmooth.start_accelerations(I, F, h)
        copy(F, I[m.A], I[m.AN], I[m.N_U])
    if not trial(I, F, h, end):
        go_back(I, F, t)
        return LOST
    set_tolerances(I, F)
    if look(I, F, HIGH):
        F[taken] = h
        return END
    go_back(I, F, t)
    if not look(I, F, LOW):
        fill(I, F, HIGH, LOW)
    if note_event(I, F, LOW):
        return EVENT
    low, high, reached = 0.0, h, True
    for i in range(TRIALS):
        size = 0.5 * (low + high)
        if reached and i % 4 != 3:
            size = min(max(first_zero(I, F, low, high), low + 1e-6 * (high - low)), high)
        if not trial(I, F, size, t + size):
            high, reached = size, False
        elif not look(I, F, NOW):
            high, reached = size, True
            fill(I, F, HIGH, NOW)
            fill(I, F, HIGH_RATE, NOW_RATE)
        elif reached and note_event(I, F, NOW):
            F[taken] = size
            return EVENT
        else:
            low = size
            fill(I, F, LOW, NOW)
            fill(I, F, LOW_RATE, NOW_RATE)
        if high - low <= ROUND_OFF * (abs(end) + h):
            break
    go_back(I, F, t)
    return LOST


@jit
def accept_step(I: Any, F: Any, h: float) -> None:
    """Accept a step in which branches were held."""
    F[sv.place(I, sv.PAST)] = (
        sv.CONTINUED if h == F[m.H] else sv.FORGOTTEN
    )  # the next one is longer
    nonsmooth.choose_totals(I, F, h)
    nonsmooth.account(I, F, h, True)
    nonsmooth.accept_contacts(I, F, True)
    accept_stage(I, F)
    nonsmooth.finish_accelerations(I, F, True)


@jit
def set_direction(F: Any, at: int, s1: float, s2: float) -> None:
    """Let d of a law be that of a slip, if there is some."""
    slow = math.hypot(s1, s2)
    if slow > 0.0:
        F[at + c.LEAVES1], F[at + c.LEAVES2] = s1 / slow, s2 / slow


# --- events ---------------------------------------------------------------------------------------
@jit
def touches(I: Any, F: Any, k: int) -> bool:
    """Tell whether law k is at its place: closed, or with a gap that is zero."""
    at, j, _, form = sv.law_of(I, F, k)
    if form == c.DRY or F[at + c.MODE] != c.OPEN:
        return True
    return F[sv.array(I, F, sv.POINT) + j] <= gap_least(I, F, k)  # type: ignore[no-any-return]


@jit
def strike(I: Any, F: Any, part: float) -> Any:
    """Find the percussions of what touches, with a part of restitution.

    Return their work and the sum of its magnitudes; whether the laws are met.
    """
    F[sv.place(I, sv.RESTITUTION_PART)] = part
    base = sv.array(I, F, sv.RATE)
    P, P0 = sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0)
    n, n_rows = int(F[sv.place(I, sv.COUNT)]), int(F[sv.place(I, sv.N_ROWS)])
    clear(F, P, n_rows)
    clear(F, P0, n_rows)
    for k in range(n):
        at, j, _, form = sv.law_of(I, F, k)
        if F[sv.array(I, F, sv.CANDIDATE) + k] == 0.0:
            continue
        nonsmooth.set_impulse_law(I, F, k, INSTANT, True)
        if form == c.DRY:
            clear(F, sv.array(I, F, sv.REACTION) + 3 * k, 3)
            continue
        F[at + c.BEFORE] = F[base + j]
        F[base + j] += part * F[at + c.RESTITUTION] * min(F[base + j], 0.0)
    F[sv.place(I, sv.UNMET)] = 0.0
    w, work, size = sv.meet(I, F, P, P0, base), 0.0, 0.0
    for k in range(n):
        at, j, _, form = sv.law_of(I, F, k)
        if F[sv.array(I, F, sv.CANDIDATE) + k] == 0.0:
            continue
        if form != c.DRY:  # w has e u^- besides
            F[w + j] -= F[base + j] - F[at + c.BEFORE]
            F[base + j] = F[at + c.BEFORE]
        for r in range(sv.rows_of(form)):
            after, before = F[w + j + r], F[base + j + r]
            work += 0.5 * F[P + j + r] * (after + before)
            size += abs(F[P + j + r]) * (abs(after) + abs(before))
    return work, size, F[sv.place(I, sv.UNMET)] == 0.0


@jit
def impact(I: Any, F: Any) -> bool:
    """Let velocities jump by what hits; tell whether the laws could be met.

    Then JUMP has the jumps of velocities and, of all rows, the percussions.
    """
    work, size, good = strike(I, F, 1.0)
    if work > ROUND_OFF * size:
        ints(F)[m.N_REJECT] += 1
        least, most = 0.0, 1.0
        for _ in range(nonsmooth.BISECTIONS):
            work, size, good = strike(I, F, 0.5 * (least + most))
            if work > ROUND_OFF * size:
                most = 0.5 * (least + most)
            else:
                least = 0.5 * (least + most)
        work, size, good = strike(I, F, least)
    if not good:
        return False
    jump = own_vector(I, sv.JUMP)
    clear(F, jump, I[m.N_U])
    sv.add_answers(I, F, jump, sv.array(I, F, sv.IMPULSE), sv.array(I, F, sv.IMPULSE_0))
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.V] + i] += F[jump + i]
    F[m.IMPULSIVE] += work
    F[m.IMPACTS] -= work
    nonsmooth.evaluate_rows(I, F)
    note_impacts(I, F)
    return True


@jit
def note_impacts(I: Any, F: Any) -> None:
    """Log what hits."""
    before, P = sv.array(I, F, sv.KEPT), sv.array(I, F, sv.IMPULSE)
    copy(F, before, sv.array(I, F, sv.RATE), int(F[sv.place(I, sv.N_ROWS)]))
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        _, j, u, form = sv.law_of(I, F, k)
        if form == c.DRY or not (F[P + j] > 0.0 and F[before + j] < -speed_least(I, F, k)):
            continue
        loss = 0.0
        for r in range(sv.rows_of(form)):
            loss += 0.5 * F[P + j + r] * (F[I[m.PHID] + u + r] - F[before + j + r])
        nonsmooth.log_impact(I, F, k, loss)


@jit
def closes(I: Any, F: Any, k: int, hit: bool) -> bool:
    """Tell whether law k is closed with its velocity now, after an impact or without one.

    What rises so little before it is back that its gap counts as zero is closed.
    """
    at, j, _, form = sv.law_of(I, F, k)
    if form == c.DRY or (not hit and F[at + c.MODE] != c.OPEN):
        return True
    rate, rise = F[sv.array(I, F, sv.RATE) + j], F[sv.array(I, F, sv.ACCELERATION) + j]
    if not touches(I, F, k):
        return False
    return rate <= speed_least(I, F, k) or rate * rate <= -2 * rise * gap_least(I, F, k)  # type: ignore[no-any-return]


@jit
def begin_choice(I: Any, F: Any, h: float, hit: bool) -> None:
    """Let NEXT be OPEN, STICK where there is no slip now, SLIP where there is, along d."""
    z, rate = sv.array(I, F, sv.FORCE), sv.array(I, F, sv.RATE)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, _, form = sv.law_of(I, F, k)
        what, F[at + c.NEXT] = table(I, F, HAPPENS, k), c.OPEN
        if not closes(I, F, k, hit):
            F[what] = NOTHING
            continue
        F[at + c.NEXT] = c.STICK
        if form == c.SIDE:
            continue
        (s1, s2), most = sv.along_plane(F, rate + j, form), abs(F[z + j])
        if form == c.POINT:
            most *= sv.friction_of(F, at, True)
            F[at + c.NEXT] = c.STICK if most > 0.0 or F[at + c.FRICTION] > 0.0 else c.SLIP
        # what friction stops in no time is none
        slow = 10 * speed_least(I, F, k) + ROWS_MET * h * F[at + c.DELASSUS_T] * most
        if math.hypot(s1, s2) > slow:
            F[at + c.NEXT] = c.SLIP
            set_direction(F, at, s1, s2)
        else:
            clear(F, rate + (j if form == c.DRY else j + 1), 1 if form == c.DRY else 2)
        if F[what] == SLIPS:
            if F[at + c.NEXT] == c.SLIP:
                F[what] = NOTHING
            elif form == c.POINT:
                set_direction(F, at, -F[z + j + 1], -F[z + j + 2])


@jit
def set_laws(I: Any, F: Any) -> None:
    """Set the laws of forces by NEXT and by what is tried: slip that begins, contacts that open."""
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, _ = sv.law_of(I, F, k)
        next_mode, tried, d = F[at + c.NEXT], F[table(I, F, HAPPENS, k)], at + c.LEAVES1
        opens, slides = next_mode == c.OPEN or tried == OPENS, next_mode == c.SLIP or tried == SLIPS
        nonsmooth.set_force_law(I, F, k, opens, slides, -F[d], -F[d + 1])


@jit
def revise(I: Any, F: Any, w: int) -> bool:
    """Change what is tried where accelerations at F[w] are against it; tell whether some are."""
    again, z = False, sv.array(I, F, sv.FORCE)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, j, _, form = sv.law_of(I, F, k)
        tried, d = table(I, F, HAPPENS, k), at + c.LEAVES1
        if F[at + c.NEXT] == c.OPEN:
            continue
        unsure = max(100 * F[sv.array(I, F, sv.RESOLVED) + k], 10 * F[own(I, F, FORCE_LEAST)])
        if F[tried] == OPENS:
            if F[w + j] < -unsure * math.sqrt(F[at + c.DELASSUS_N]):  # it does not go away
                F[tried], again = NOTHING, True
            continue
        if form == c.SIDE or F[at + c.NEXT] == c.SLIP or (form == c.POINT and not F[z + j] > 0.0):
            continue
        (a1, a2), least = sv.along_plane(F, w + j, form), unsure * math.sqrt(F[at + c.DELASSUS_T])
        if F[tried] == SLIPS:
            if a1 * F[d] + (a2 * F[d + 1] if form == c.POINT else 0.0) < -least:
                F[tried], again = NOTHING, True
        elif math.hypot(a1, a2) > least:
            F[tried] = SLIPS
            set_direction(F, at, a1, a2)
            again = again or form == c.DRY or F[at + c.STATIC] > F[at + c.FRICTION]
    return again


@jit
def choose_branches(I: Any, F: Any, h: float, hit: bool) -> bool:
    """Find the branches that accelerations ask for, and forces; tell whether all laws are met."""
    z, now, good = sv.array(I, F, sv.FORCE), sv.array(I, F, sv.FORCE_0), False
    n = int(F[sv.place(I, sv.COUNT)])
    begin_choice(I, F, h, hit)
    for k in range(n):
        at, _, _, form = sv.law_of(I, F, k)
        if form == c.DRY and F[at + c.FRICTION] != 0.0:
            copy(F, sv.array(I, F, sv.REACTION) + 3 * k, I[m.A] + int(F[at + c.REACTION]), 3)
    for _ in range(CHOICES):
        set_laws(I, F)
        F[sv.place(I, sv.UNMET)] = 0.0
        w = sv.meet(I, F, z, now, sv.array(I, F, sv.ACCELERATION))
        good = F[sv.place(I, sv.UNMET)] == 0.0
        if not revise(I, F, w):
            break
    for k in range(n):
        at, j, _, form = sv.law_of(I, F, k)
        tried = table(I, F, HAPPENS, k)
        if (
            F[sv.array(I, F, sv.CANDIDATE) + k] != 0.0
            and F[sv.array(I, F, sv.RESOLVED) + k] == math.inf
        ):
            clear(F, z + j, sv.rows_of(form))  # none meet the laws (Painleve): a percussion has to
        if form != c.DRY and (not F[z + j] > 0.0 or F[tried] == OPENS):
            F[at + c.NEXT] = c.OPEN
        elif F[tried] == SLIPS:
            F[at + c.NEXT] = c.SLIP
        F[tried] = NOTHING
    return good


@jit
def restart(I: Any, F: Any, h: float) -> bool:
    """Let impacts be, and the state at hand go on in branches that agree; tell whether some do."""
    S, n, n_rows, hit = ints(F), I[m.N_U], int(F[sv.place(I, sv.N_ROWS)]), False
    z, rows, rate = sv.array(I, F, sv.FORCE), sv.array(I, F, sv.ROWS), sv.array(I, F, sv.RATE)
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    clear(F, I[m.D], n)
    S[m.SMALL_PIVOTS], S[m.HAVE_FACTOR] = 0, 0
    for j in range(n_rows):
        F[z + j] = F[I[m.A] + int(F[rows + j])]
    nonsmooth.free_accelerations(I, F, 0.0, True)
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        _, j, _, form = sv.law_of(I, F, k)
        here = touches(I, F, k)
        F[sv.array(I, F, sv.CANDIDATE) + k] = 1.0 if here else 0.0
        hit = hit or (form != c.DRY and here and F[rate + j] < -speed_least(I, F, k))
        if not here:
            clear(F, z + j, sv.rows_of(form))
    nonsmooth.answers(I, F)
    good = S[m.SMALL_PIVOTS] == 0
    clear(F, sv.array(I, F, sv.FORCE_0), n_rows)
    if hit:
        good = impact(I, F) and good
        F[sv.place(I, sv.RESTITUTION_PART)] = 1.0
        nonsmooth.free_accelerations(I, F, 0.0, False)
    chosen = good or not hit  # else it is still to hit
    if chosen:
        good = choose_branches(I, F, h, hit) and good
    sv.add_answers(I, F, I[m.A], z, sv.array(I, F, sv.FORCE_0))
    for k in range(int(F[sv.place(I, sv.COUNT)])):
        at, _, _, _ = sv.law_of(I, F, k)
        if chosen:
            F[at + c.MODE] = F[at + c.NEXT]
        nonsmooth.note_velocities(I, F, k)
    copy(F, I[m.AL], I[m.A], n)
    F[sv.place(I, sv.PAST)] = sv.FORGOTTEN
    stage(I, F, m.PLACE)
    S[m.HAVE_FACTOR] = 0
    return good


# --- steps ----------------------------------------------------------------------------------------
@jit
def capture(I: Any, F: Any, h: float, end: float) -> bool:
    """Take a step of size h to the time `end` by the laws, in parts if need be."""
    ints(F)[m.HAVE_FACTOR] = 0
    nonsmooth.tell_past(I, F)
    went = nonsmooth.take_in_parts(I, F, h, end)
    ints(F)[m.HAVE_FACTOR] = 0
    return went  # type: ignore[no-any-return]


@jit
def take_step(I: Any, F: Any, h: float, end: float) -> bool:
    """Take a step of size h to the time `end`, with all its events; tell whether that went.

    From `MOST_EVENTS` on the rest is captured, or where that fails from the next event on.
    """
    S, events, left = ints(F), 0, h
    while events <= MOST_TRIED:
        how = go_to_event(I, F, left, end)
        part = F[own(I, F, TAKEN)]
        if how != LOST:
            if part > 0.0:
                accept_step(I, F, part)
            if how == END:
                return True
            events += 1
            S[m.N_LOCATED] += 1
            left -= part
            if not restart(I, F, h):
                how = LOST
            elif left <= ROUND_OFF * (abs(end) + h):
                F[m.T] = end
                return True
        if how == LOST or events > MOST_EVENTS:
            if capture(I, F, left, end):
                restart(I, F, h)
                return True
            if how == LOST:
                return False
            left = end - F[m.T]
    return False


@jit
def begin(I: Any, F: Any, h: float) -> None:
    """Find branches and forces of the state that a run begins with, after impacts."""
    nonsmooth.begin_contacts(I, F)
    copy(F, I[m.AN], I[m.A], I[m.N_U])
    newton_loop.measure_place(I, F)
    nonsmooth.set_least(I, F, h)
    set_tolerances(I, F)
    restart(I, F, h)


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H], with the events in them."""
    S, h = ints(F), F[m.H]
    S[m.STATUS], S[m.STEPS_DONE] = newton_loop.CONVERGED, 0
    note_rates(I, F)
    if F[sv.place(I, sv.STARTED)] == 0.0:
        begin(I, F, h)
    for step in range(S[m.N_STEPS]):
        if (
            S[m.IMPACT_ROOM]
            and S[m.IMPACT_ROOM] - S[m.N_IMPACTS] < MOST_HITS * F[sv.place(I, sv.COUNT)]
        ):
            return  # until they are taken over
        if not take_step(I, F, h, newton_loop.next_time(I, F)):
            S[m.STATUS] = newton_loop.FAILED
            return
        S[m.STEPS_DONE] = step + 1
        newton_loop.keep_record(I, F)
