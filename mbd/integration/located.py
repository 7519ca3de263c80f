r"""Located events of contacts: steps that end where a contact closes, opens, sticks or slips.

Between events the branches of the contacts are held: rows of closed contacts and of friction are
rows like those of joints, met at all three levels by the quiet iteration of ``nonsmooth``. At the
end of a step the indicators

====== ============================================ ===============================
branch indicators                                   where one falls below zero it
====== ============================================ ===============================
OPEN   :math:`\Phi`                                 closes
STICK  :math:`p_N`, :math:`\mu_s p_N - |p_T|`       opens, begins to slip
SLIP   :math:`p_N`, :math:`u_T\cdot d`              opens, sticks (or turns round)
====== ============================================ ===============================

are looked at, with the direction d of slip at the start of the step. If one is negative the step is
taken again, of the size at which the first of them is zero: by cubics where the rates of the
indicator are known, by secants elsewhere, each fourth time by bisection. At an event

1. what touches and approaches is thrown back: Newton's and Coulomb's laws with the matrix M at the
   pose of the event, where :math:`\Delta T = \tfrac12(u^+ + u^-)\cdot P` is exact, so that e is
   smaller where an impact would gain energy;
2. accelerations decide the branches: a contact without a force opens, one without slip sticks where
   friction can hold it;
3. the method starts again, :math:`a := \dot v, \bar p := p`.

After `MOST_EVENTS` in a step, or where no branches agree, the rest of it is one of ``nonsmooth``.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.base.tolerances import CONTACT_RESOLVED, ROUND_OFF, START_VELOCITY
from mbd.integration.newton_loop import (
    CONVERGED,
    FAILED,
    has_aged,
    keep_record,
    measure_place,
    next_time,
)
from mbd.integration.nonsmooth import (
    ACCELERATION,
    ALONG,
    BISECTIONS,
    COUNT,
    DISK,
    FORCE,
    FORCE_0,
    HALVES,
    IMPULSE,
    IMPULSE_0,
    JUMP,
    LAWS,
    NONE,
    POINT,
    RATE,
    RECORDS,
    ROWS,
    SHIFT,
    STARTED,
    _answer,
    _array,
    _place,
    _system,
    _unmet,
    accept_contacts,
    answers,
    attempt,
    begin_contacts,
    choose_totals,
    correct_quietly,
    evaluate_rows,
    finish_accelerations,
    free_accelerations,
    load,
    meet,
    move,
    set_least,
    set_weights,
    work_of_contacts,
)
from mbd.integration.one_step import AT_START
from mbd.interactions import contact as c
from mbd.linear.onto_rows import add, clear, copy
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model.evaluation import accept_stage, copy_remembered, note_rates, stage

# numbers of one's own, then arrays of three numbers for each contact
GAP_LEAST, SPEED_LEAST, FORCE_LEAST, TAKEN, FIRST = range(5)
(
    DIRECTION,  # d at the start of the step, and whether friction keeps to it
    LOW, LOW_RATE,  # indicators at the largest size at which none is negative, and their rates
    HIGH, HIGH_RATE,  # at the least size at which one is; of LOW the third number: what happens
    NOW, NOW_RATE,
    SPEED,  # velocities after an impact
    N_ARRAYS,
) = range(9)  # fmt: skip
NOTHING, OPENS, SLIPS, ELSE = 0.0, 1.0, 2.0, 3.0  # what happens to a contact at an event
NEVER = 1e300  # an indicator that is none
MOST_EVENTS = 8  # in one step
TRIALS, ITERATIONS, CHOICES = 60, 30, 6
END, EVENT, LOST = 0, 1, 2


def own_floats(contacts: int) -> int:
    """Return how many numbers located events need."""
    return FIRST + 3 * N_ARRAYS * contacts


@jit
def number(I: Any, F: Any, j: int) -> int:
    """Return where a number of the method is, behind those of ``nonsmooth``."""
    n = 3 * int(F[_place(I, COUNT)])
    return _system(I, F) + n * (n + 1) + j


@jit
def array(I: Any, F: Any, j: int) -> int:
    """Return where an array over contacts is, three numbers each."""
    return number(I, F, FIRST) + 3 * j * int(F[_place(I, COUNT)])


@jit
def _static(F: Any, at: int) -> float:
    """Return the coefficient of friction of a contact that sticks."""
    return max(F[at + c.FRICTION], F[at + c.STATIC])


# --- steps in which branches are held -------------------------------------------------------------
@jit
def follow_slip(I: Any, F: Any) -> None:
    """Set the rows of friction where contacts slip: e and q; where slip turns round e = -d."""
    records, rows, d = _array(I, F, RECORDS), _array(I, F, ROWS), array(I, F, DIRECTION)
    for k in range(int(F[_place(I, COUNT)])):
        at, u, own = int(F[records + k]), int(F[rows + 3 * k]), d + 3 * k
        if F[at + c.MODE] != c.SLIP:
            continue
        mu = F[at + c.FRICTION]
        s1, s2 = -F[I[m.PHID] + u + 1], -F[I[m.PHID] + u + 2]
        slow = math.hypot(s1, s2)
        if F[own + 2] == 0.0 and not s1 * F[own] + s2 * F[own + 1] > 0.0:
            F[own + 2] = 1.0
            ints(F)[m.HAVE_FACTOR] = 0
        if mu == 0.0:
            F[at + c.E1] = F[at + c.E2] = F[at + c.SHARE] = 0.0
        elif F[own + 2] == 1.0:
            F[at + c.E1], F[at + c.E2], F[at + c.SHARE] = -F[own], -F[own + 1], 0.0
        else:
            F[at + c.E1], F[at + c.E2] = -s1 / slow, -s2 / slow
            part = max(mu * F[I[m.A] + u], 0.0) * F[m.W_G] * F[at + c.DELASSUS_T] / slow
            F[at + c.SHARE] = part / (1.0 + part)


@jit
def settle(I: Any, F: Any, h: float) -> bool:
    """Find the end of a step of size h in the branches at hand; tell whether that converged."""
    S, n = ints(F), I[m.N_U]
    clear(F, own_vector(I, JUMP), n)
    clear(F, own_vector(I, SHIFT), n)
    last, theta = 0.0, 0.5
    for k in range(ITERATIONS):
        move(I, F, h)
        set_least(I, F, h)
        evaluate_rows(I, F)
        set_weights(I, F, h, True)
        follow_slip(I, F)
        size = correct_quietly(I, F, h)
        S[m.N_ITER] += 1
        if not size < 1e300:
            break
        if last > 0.0:
            theta = max(size / last, 1e-3)
            if theta > 0.3:
                S[m.HAVE_FACTOR] = 0
        if theta < 1.0 and size * theta / (1.0 - theta) <= 1.0:
            if has_aged(I, F, k + 1):
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
    move(I, F, h)
    evaluate_rows(I, F)
    return True


@jit
def go_back(I: Any, F: Any, t: float) -> None:
    """Go back to the start of the step, there evaluated."""
    F[m.T] = t
    copy(F, I[m.V], I[m.VN], I[m.N_U])
    copy(F, I[m.A], I[m.AN], I[m.N_U])
    clear(F, I[m.D], I[m.N_U])
    evaluate_rows(I, F)
    copy(F, I[m.Q], I[m.QN], I[m.N_Q])


# --- indicators -----------------------------------------------------------------------------------
@jit
def set_tolerances(I: Any, F: Any, h: float) -> None:
    """Set what counts as zero of gaps, velocities and forces: what Newton's method leaves."""
    c0 = (1 - F[m.ALPHA_F]) / (1 - F[m.ALPHA_M])
    least, rows, most = 1.0 / F[m.PER_LEAST + m.TRANSLATION], _array(I, F, ROWS), 1e-300
    for k in range(int(F[_place(I, COUNT)])):
        u = int(F[rows + 3 * k])
        most = max(most, abs(F[I[m.A] + u]), abs(F[I[m.AN] + u]))
    gap = max(least, ROUND_OFF * F[m.LENGTH] * F[m.FAR])
    F[number(I, F, GAP_LEAST)] = gap
    F[number(I, F, SPEED_LEAST)] = gap * F[m.GAMMA] / (h * F[m.BETA])
    F[number(I, F, FORCE_LEAST)] = F[m.TOL] * most


@jit
def look(I: Any, F: Any, which: int) -> bool:
    """Write the indicators at hand, in units of what counts, and rates; tell if none is negative.

    Rates are known of gaps and of slip.
    """
    records, rows, d = _array(I, F, RECORDS), _array(I, F, ROWS), array(I, F, DIRECTION)
    values, slopes, good = array(I, F, which), array(I, F, which + 1), True
    gap, speed, force = load(F, number(I, F, GAP_LEAST))
    for k in range(int(F[_place(I, COUNT)])):
        at, u, j = int(F[records + k]), int(F[rows + 3 * k]), 3 * k
        F[values + j + 1], F[slopes + j], F[slopes + j + 1] = NEVER, 0.0, 0.0
        mode, p = F[at + c.MODE], load(F, I[m.A] + u)
        if mode == c.OPEN:
            F[values + j], F[slopes + j] = -F[I[m.X] + u] / gap, -F[I[m.PHID] + u] / gap
        else:
            F[values + j] = p[0] / force
            if mode == c.STICK:
                F[values + j + 1] = (_static(F, at) * p[0] - math.hypot(p[1], p[2])) / force
            elif F[at + c.FRICTION] > 0.0:
                d1, d2, x = F[d + j] / speed, F[d + j + 1] / speed, I[m.PHID] + u
                F[values + j + 1] = -F[x + 1] * d1 - F[x + 2] * d2
                x = I[m.PHIDD] + u
                F[slopes + j + 1] = -F[x + 1] * d1 - F[x + 2] * d2
        good = good and F[values + j] >= -1.0 and F[values + j + 1] >= -1.0
    return good


@jit
def _cubic(x: float, y0: float, y1: float, r0: float, r1: float) -> float:
    """Return the value at x in [0, 1] of the cubic with values and rates at both ends."""
    change = y1 - y0
    return y0 + x * (r0 + x * (3 * change - 2 * r0 - r1 + x * (r0 + r1 - 2 * change)))


@jit
def _zero_of_cubic(y0: float, y1: float, r0: float, r1: float) -> float:
    """Return the last x in (0, 1) at which a cubic that ends below zero falls through it, or 0."""
    high, low = 1.0, 1.0
    for i in range(15, -1, -1):
        low = i / 16
        if _cubic(low, y0, y1, r0, r1) > 0.0:
            break
        high = low
    if high == 0.0:
        return 0.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _cubic(middle, y0, y1, r0, r1) > 0.0:
            low = middle
        else:
            high = middle
    return low


@jit
def first_zero(I: Any, F: Any, low: float, high: float) -> float:
    """Return the first size at which an indicator is zero that is negative at the size `high`."""
    records, size, first = _array(I, F, RECORDS), high - low, 1.0
    for k in range(int(F[_place(I, COUNT)])):
        mode = F[int(F[records + k]) + c.MODE]
        for w in range(2):
            j = 3 * k + w
            y0, y1 = F[array(I, F, LOW) + j], F[array(I, F, HIGH) + j]
            if y1 >= -1.0:
                continue
            x = y0 / (y0 - y1)
            if (mode == c.OPEN and w == 0) or (mode == c.SLIP and w == 1):
                r0, r1 = F[array(I, F, LOW_RATE) + j], F[array(I, F, HIGH_RATE) + j]
                x = _zero_of_cubic(y0, y1, size * r0, size * r1)
            first = min(first, x)
    return low + size * first


@jit
def note_event(I: Any, F: Any, which: int) -> bool:
    """Note which contacts have an indicator that is zero and about to fall; tell whether one has.

    From what is at the size of `which`, zero or positive, and at HIGH, negative.
    """
    records, happens, found = _array(I, F, RECORDS), array(I, F, LOW), False
    values, slopes, high = array(I, F, which), array(I, F, which + 1), array(I, F, HIGH)
    for k in range(int(F[_place(I, COUNT)])):
        j, mode = 3 * k, F[int(F[records + k]) + c.MODE]
        what = NOTHING
        for w in range(2):
            if F[high + j + w] < -1.0 and F[values + j + w] <= 1.0:
                known = (mode == c.OPEN and w == 0) or (mode == c.SLIP and w == 1)
                if known and F[slopes + j + w] > 0.0:
                    continue
                if mode != c.OPEN and w == 0:
                    what = OPENS
                elif what == NOTHING:
                    what = SLIPS if mode == c.STICK else ELSE
        F[happens + j + 2] = what
        found = found or what != NOTHING
    return found


@jit
def go_to_event(I: Any, F: Any, h: float, end: float) -> int:
    """Take a step of size h to the time `end`, or a shorter one to the first event; or none."""
    S, n, n_c, t = ints(F), I[m.N_U], 3 * int(F[_place(I, COUNT)]), F[m.T]
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    copy(F, I[m.VN], I[m.V], n)
    copy(F, I[m.AN], I[m.A], n)
    copy_remembered(I, F, 0, AT_START)
    measure_place(I, F)
    taken, high, d = number(I, F, TAKEN), h, array(I, F, DIRECTION)
    for k in range(n_c // 3):
        F[d + 3 * k + 2] = 0.0
    F[taken] = 0.0
    if not trial(I, F, h, end):
        go_back(I, F, t)
        return LOST
    set_tolerances(I, F, h)
    if look(I, F, HIGH):
        F[taken] = h
        return END
    go_back(I, F, t)
    if not look(I, F, LOW):
        copy(F, array(I, F, HIGH), array(I, F, LOW), n_c)
    if note_event(I, F, LOW):
        return EVENT
    low, last, known = 0.0, h, True
    for i in range(TRIALS):
        size = 0.5 * (low + high)
        if known and i % 4 != 3:
            size = min(max(first_zero(I, F, low, high), low + 1e-6 * (high - low)), high)
        if abs(size - last) > 0.1 * last:
            S[m.HAVE_FACTOR] = 0
        last = size
        if not trial(I, F, size, t + size):
            high, known = size, False
        elif look(I, F, NOW):
            if known and note_event(I, F, NOW):
                F[taken] = size
                return EVENT
            low = size
            copy(F, array(I, F, LOW), array(I, F, NOW), 2 * n_c)
        else:
            high, known = size, True
            copy(F, array(I, F, HIGH), array(I, F, NOW), 2 * n_c)
        if high - low <= ROUND_OFF * (abs(end) + h):
            break
    go_back(I, F, t)
    return LOST


@jit
def accept_step(I: Any, F: Any, h: float) -> None:
    """Accept a step in which branches were held."""
    choose_totals(I, F, h)
    F[m.IMPULSIVE] += work_of_contacts(I, F, True)
    accept_contacts(I, F, True)
    accept_stage(I, F)
    finish_accelerations(I, F, True)
    records, d = _array(I, F, RECORDS), array(I, F, DIRECTION)
    for k in range(int(F[_place(I, COUNT)])):
        s1, s2 = F[int(F[records + k]) + c.SLIP1], F[int(F[records + k]) + c.SLIP2]
        slow = math.hypot(s1, s2)
        if slow > 0.0:
            F[d + 3 * k], F[d + 3 * k + 1] = s1 / slow, s2 / slow


# --- events ---------------------------------------------------------------------------------------
@jit
def strike(I: Any, F: Any, part: float) -> Any:
    """Find the percussions of what touches, with a part of restitution; return what it gains.

    Their work, the sum of its magnitudes, and what the forces are sure to. SPEED has the velocities
    after it.
    """
    n, laws, base = int(F[_place(I, COUNT)]), _array(I, F, LAWS), _array(I, F, RATE)
    P, P0, after = _array(I, F, IMPULSE), _array(I, F, IMPULSE_0), array(I, F, SPEED)
    records, gap = _array(I, F, RECORDS), F[number(I, F, GAP_LEAST)]
    for k in range(n):
        at, law, j = int(F[records + k]), laws + 4 * k, 3 * k
        touches = F[at + c.MODE] != c.OPEN or F[_array(I, F, POINT) + j] <= gap
        F[law] = DISK if touches else NONE
        F[law + 1] = _static(F, at) if F[at + c.MODE] == c.STICK else F[at + c.FRICTION]
        for r in range(3):
            F[P + j + r] = F[P0 + j + r] = 0.0
        F[at + c.BEFORE] = F[base + j]
        F[base + j] += part * F[at + c.RESTITUTION] * min(F[base + j], 0.0)
    w = meet(I, F, P, P0, base)
    worst, largest = _unmet(I, F, P, w)
    work, size = 0.0, 0.0
    for k in range(n):
        at, j = int(F[records + k]), 3 * k
        e = part * F[at + c.RESTITUTION] * min(F[at + c.BEFORE], 0.0)
        F[base + j] = F[at + c.BEFORE]
        for r in range(3):
            F[after + j + r] = F[w + j + r] - (e if r == 0 else 0.0)
            work += 0.5 * F[P + j + r] * (F[after + j + r] + F[base + j + r])
            size += abs(F[P + j + r]) * (abs(F[after + j + r]) + abs(F[base + j + r]))
    return work, size, max(worst, CONTACT_RESOLVED * largest), largest


@jit
def impact(I: Any, F: Any) -> bool:
    """Let velocities jump where contacts hit; tell whether the laws could be met."""
    work, size, unsure, largest = strike(I, F, 1.0)
    if work > ROUND_OFF * size:
        ints(F)[m.N_REJECT] += 1
        least, most = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (least + most)
            work, size, unsure, largest = strike(I, F, middle)
            if work > ROUND_OFF * size:
                most = middle
            else:
                least = middle
        work, size, unsure, largest = strike(I, F, least)
    if not unsure <= 100 * CONTACT_RESOLVED * largest:
        return False
    P = _array(I, F, IMPULSE)
    for j in range(3 * int(F[_place(I, COUNT)])):
        y = _answer(I, F, j)
        if F[P + j] != 0.0:
            for i in range(I[m.N_U]):
                if is_velocity(I, i):
                    F[I[m.V] + i] += F[P + j] * F[y + i]
    F[m.IMPULSIVE] += work
    return True


@jit
def choose_branches(I: Any, F: Any, h: float, hit: bool) -> bool:
    """Find the branches that accelerations ask for, and forces; tell whether all laws are met."""
    n, laws, records = int(F[_place(I, COUNT)]), _array(I, F, LAWS), _array(I, F, RECORDS)
    z, now, d = _array(I, F, FORCE), _array(I, F, FORCE_0), array(I, F, DIRECTION)
    u, P, happens = _array(I, F, RATE), _array(I, F, IMPULSE), array(I, F, LOW)
    gap, speed, _ = load(F, number(I, F, GAP_LEAST))
    for j in range(3 * n):
        F[now + j] = 0.0
    for k in range(n):  # NEXT: OPEN, STICK if it has no slip now, SLIP if it has
        at, j = int(F[records + k]), 3 * k
        what, mode = F[happens + j + 2], F[at + c.MODE]
        closed = mode != c.OPEN or F[_array(I, F, POINT) + j] <= gap
        if hit:
            closed = closed and (F[u + j] <= speed or (mode != c.OPEN and F[P + j] > 0.0))
            bounces = F[at + c.RESTITUTION] * min(F[at + c.BEFORE], 0.0) < -speed
            closed = closed and not (bounces and F[P + j] > 0.0)
        elif mode == c.OPEN:
            closed = closed and F[u + j] <= speed
        F[at + c.NEXT] = c.OPEN
        if not closed:
            F[happens + j + 2] = NOTHING
            continue
        slow = math.hypot(F[u + j + 1], F[u + j + 2])
        friction = START_VELOCITY * h * F[at + c.DELASSUS_T] * _static(F, at) * abs(F[z + j])
        slips = slow > 10 * speed + friction
        if hit and mode == c.STICK:
            slips = slow > 10 * speed + friction
        F[at + c.NEXT] = c.SLIP if slips or _static(F, at) == 0.0 else c.STICK
        if slips:
            F[d + j], F[d + j + 1] = F[u + j + 1] / slow, F[u + j + 2] / slow
            if what == SLIPS:
                F[happens + j + 2] = NOTHING
        elif what == SLIPS:
            slow = max(math.hypot(F[z + j + 1], F[z + j + 2]), 1e-300)
            F[d + j], F[d + j + 1] = -F[z + j + 1] / slow, -F[z + j + 2] / slow
    good, begins = False, array(I, F, NOW)
    for k in range(n):  # of those without slip, whether it begins along d
        what = F[happens + 3 * k + 2]
        F[begins + 3 * k] = 1.0 if what == SLIPS else 0.0
        F[begins + 3 * k + 1] = 1.0 if what == OPENS else 0.0
    for _ in range(CHOICES):
        for k in range(n):
            at, law, j = int(F[records + k]), laws + 4 * k, 3 * k
            mode = F[at + c.NEXT]
            slides = mode == c.SLIP or F[begins + j] == 1.0
            F[law] = NONE
            if mode != c.OPEN and F[begins + j + 1] == 0.0:
                F[law] = ALONG if slides else DISK
            F[law + 1] = F[at + c.FRICTION] if slides else _static(F, at)
            F[law + 2], F[law + 3] = -F[d + j], -F[d + j + 1]
            if slides and F[at + c.FRICTION] == 0.0:
                F[law + 2] = F[law + 3] = 0.0
        w = meet(I, F, z, now, _array(I, F, ACCELERATION))
        worst, largest = _unmet(I, F, z, w)
        unsure = 100 * max(worst, CONTACT_RESOLVED * largest)
        good = worst <= 100 * CONTACT_RESOLVED * largest
        again = False
        for k in range(n):
            at, j = int(F[records + k]), 3 * k
            if F[at + c.NEXT] == c.OPEN:
                continue
            D = F[at + c.DELASSUS_T]
            if F[begins + j + 1] == 1.0:
                if F[w + j] < -unsure * F[at + c.DELASSUS_N]:  # it does not go away
                    F[begins + j + 1], again = 0.0, True
            elif F[at + c.NEXT] == c.STICK and F[z + j] > 0.0:
                slow = math.hypot(F[w + j + 1], F[w + j + 2])
                if F[begins + j] == 1.0:
                    if F[w + j + 1] * F[d + j] + F[w + j + 2] * F[d + j + 1] < -unsure * D:
                        F[begins + j], again = 0.0, True
                elif slow > unsure * D:
                    F[begins + j] = 1.0
                    F[d + j], F[d + j + 1] = F[w + j + 1] / slow, F[w + j + 2] / slow
                    again = again or F[at + c.STATIC] > F[at + c.FRICTION]
        if not again:
            break
    for k in range(n):
        at, j = int(F[records + k]), 3 * k
        if not F[z + j] > 0.0 or F[begins + j + 1] == 1.0:
            F[at + c.NEXT] = c.OPEN
        elif F[begins + j] == 1.0:
            F[at + c.NEXT] = c.SLIP
    return good


@jit
def go_on(I: Any, F: Any, h: float) -> bool:
    """Let the state at hand go on in branches that agree, after impacts; tell whether some do."""
    S, n, n_c = ints(F), I[m.N_U], 3 * int(F[_place(I, COUNT)])
    records, rows, z = _array(I, F, RECORDS), _array(I, F, ROWS), _array(I, F, FORCE)
    gap, speed, _ = load(F, number(I, F, GAP_LEAST))
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    clear(F, I[m.D], n)
    S[m.SMALL_PIVOTS], S[m.HAVE_FACTOR] = 0, 0
    for j in range(n_c):
        F[z + j] = F[I[m.A] + int(F[rows + j])]
    free_accelerations(I, F, True)
    answers(I, F)
    hit, good = False, S[m.SMALL_PIVOTS] == 0
    for k in range(n_c // 3):
        touches = F[int(F[records + k]) + c.MODE] != c.OPEN or F[_array(I, F, POINT) + 3 * k] <= gap
        hit = hit or (touches and F[_array(I, F, RATE) + 3 * k] < -speed)
    if hit:
        good = impact(I, F) and good
        free_accelerations(I, F, False)
    good = choose_branches(I, F, h, hit) and good
    for j in range(n_c):
        if F[z + j] != 0.0:
            add(F, I[m.A], F[z + j], _answer(I, F, j), n)
    for k in range(n_c // 3):
        at, rate = int(F[records + k]), _array(I, F, RATE) + 3 * k
        F[at + c.MODE] = F[at + c.NEXT]
        F[at + c.BEFORE] = F[rate] if F[at + c.MODE] == c.OPEN else 0.0
        F[at + c.SLIP1], F[at + c.SLIP2] = F[rate + 1], F[rate + 2]
        F[array(I, F, LOW) + 3 * k + 2] = NOTHING
    copy(F, I[m.AL], I[m.A], n)
    stage(I, F, m.PLACE)
    S[m.HAVE_FACTOR] = 0
    return good


@jit
def capture(I: Any, F: Any, h: float, end: float) -> bool:
    """Take a step of size h to the time `end` by the laws, in parts if need be."""
    left, part, begin, S = 1.0, 1.0, F[m.T], ints(F)
    S[m.HAVE_FACTOR] = 0
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
    S[m.HAVE_FACTOR] = 0
    return True


@jit
def take_step(I: Any, F: Any, h: float, end: float) -> bool:
    """Take a step of size h to the time `end`, with all its events; tell whether that went."""
    S, events, left = ints(F), 0, h
    while events <= MOST_EVENTS:
        how = go_to_event(I, F, left, end)
        if how == LOST:
            break
        part = F[number(I, F, TAKEN)]
        if part > 0.0:
            accept_step(I, F, part)
        if how == END:
            return True
        events += 1
        S[m.N_LOCATED] += 1
        left -= part
        if not go_on(I, F, h):
            break
        if left <= ROUND_OFF * (abs(end) + h):
            F[m.T] = end
            return True
    if not capture(I, F, left, end):
        return False
    go_on(I, F, h)
    return True


@jit
def begin(I: Any, F: Any, h: float) -> None:
    """Find branches and forces of the state that a run begins with, after impacts."""
    begin_contacts(I, F)
    copy(F, I[m.AN], I[m.A], I[m.N_U])
    measure_place(I, F)
    set_least(I, F, h)
    set_tolerances(I, F, h)
    go_on(I, F, h)


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H], with the events in them."""
    S, h = ints(F), F[m.H]
    S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
    note_rates(I, F)
    if F[_place(I, STARTED)] == 0.0:
        begin(I, F, h)
    for step in range(S[m.N_STEPS]):
        if not take_step(I, F, h, next_time(I, F)):
            S[m.STATUS] = FAILED
            return
        S[m.STEPS_DONE] = step + 1
        keep_record(I, F)
