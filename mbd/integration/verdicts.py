r"""Verdicts about an answer: whether rows are open in it, and whether it has thrown bodies.

What finds an answer (`chord`) looks at increments alone. Rows may contradict each other, equal in
gradient and different in value: those that depend on others are dropped from the iteration, and
stay open. A step is accepted if, after its last correction, every row is met to what is allowed of
it at the start, and a dropped one lacks no more than where it was dropped; else its rows are open,
in units of

.. math:: \max_\delta |B_i \delta| = \sum_j |B_{ij}|\,\delta_j, \qquad |\delta_j| \le
   \text{the length of the model, or one}.
"""

from typing import Any

from mbd.base.tolerances import (
    LOST_VELOCITY,
    RANK,
    RANK_STAYS,
    ROUND_OFF,
    ROWS_MET,
    TURN_UNSURE,
)
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit
from mbd.machine.two_threads import by_sides
from mbd.machine.unknowns import is_velocity, unknowns_of
from mbd.model.evaluation import evaluate_level, is_off, stage


@jit
def _speed(F: Any) -> float:
    """Return the largest velocity up to now, in units of its kind, or one."""
    speed = 1.0
    for k in range(m.FORCE):
        speed = max(speed, F[m.SIZE + k] / F[m.UNIT + k])
    return speed


@jit
def measure_rows(I: Any, F: Any, rows: int) -> float:
    """Return the largest row of the vector at F[rows], and of GAP, in units of what is allowed."""
    S = ints(F)
    by_rates = S[m.LEVEL] != m.POSITION
    place = ROWS_MET * F[m.FAR]
    rate = ROWS_MET * _speed(F) * F[m.ROW_RATE] * F[m.FAR]
    largest = 0.0
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            size = F[I[m.DIAG] + i]
            if is_off(I, F, i):
                if F[I[m.OFF] + i] == m.DROPPED:
                    largest = max(largest, _dropped(I, F, i, by_rates, rate * size))
                continue
            of_rate = by_rates or I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW
            largest = max(largest, abs(F[rows + i]) / ((rate if of_rate else place) * size))
            if S[m.LEVEL] == m.STABILIZED:
                largest = max(largest, abs(F[I[m.GAP] + i]) / (place * size))
    return largest


@jit
def _dropped(I: Any, F: Any, i: int, by_rates: bool, rate: float) -> float:
    """Return what a dropped row lacks more than where it was dropped, in units of what is allowed.

    Rows on velocities are judged where rates of all rows are met: else they lack what these do.
    """
    place = RANK * F[m.FAR] * F[I[m.DIAG] + i]
    if I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW:
        return abs(F[m.ROW_RATE] * F[I[m.PHID] + i]) / rate if by_rates else 0.0
    lack = abs(F[I[m.LEFT] + i] - F[I[m.HELD] + i]) / place
    return max(lack, abs(F[m.ROW_RATE] * F[I[m.PHID] + i]) / rate) if by_rates else lack


@jit
def velocity_rows_open(I: Any, F: Any) -> bool:
    """Tell whether dropped rows on velocities lack more than rates of positions make them lack.

    Such a row is a combination of others and of these rates, which a step at the level of positions
    leaves open by the square of its size.
    """
    S, open_rows = ints(F), False
    if S[m.N_OFF] == 0 or S[m.LEVEL] != m.POSITION:
        return False
    for i in range(I[m.N_U]):
        if F[I[m.OFF] + i] == m.DROPPED and I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW:
            open_rows = True
    if not open_rows:
        return False
    stage(I, F, m.RATES)
    most = 0.0
    for i in range(I[m.N_U]):
        if not is_velocity(I, i) and I[I[m.UNKNOWN_KIND] + i] != m.VELOCITY_ROW:
            most = max(most, abs(F[I[m.PHID] + i]) / F[I[m.DIAG] + i])
    for i in range(I[m.N_U]):
        if F[I[m.OFF] + i] == m.DROPPED and I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW:
            share = 2.0 * (F[I[m.HELD] + i] + RANK_STAYS)
            allowed = ROWS_MET * _speed(F) * F[m.FAR] + share * most
            if abs(F[I[m.LEFT] + i]) > allowed * F[m.ROW_RATE] * F[I[m.DIAG] + i]:
                return True
    return False


@jit
def dropped_open(I: Any, F: Any) -> bool:
    """Tell whether dropped rows lack more than where they were dropped, where rates are met too."""
    rate = ROWS_MET * _speed(F) * F[m.ROW_RATE] * F[m.FAR]
    for i in range(I[m.N_U]):
        if F[I[m.OFF] + i] == m.DROPPED and _dropped(I, F, i, True, rate * F[I[m.DIAG] + i]) > 1.0:
            return True
    return False


@jit
def still_open(I: Any, F: Any, before: float) -> bool:
    """Tell whether rows that were open before the last correction are so after it."""
    if before <= 1.0:
        return False
    evaluate_level(I, F)
    return measure_rows(I, F, I[m.X]) > 1.0


@jit
def settled(I: Any, F: Any) -> bool:
    """Tell whether the residual in X is round-off: where a pose is singular, increments are not."""
    x, fastest, round_off = I[m.X], 0.0, F[m.ROUND] * F[m.FAR]
    for k in range(m.FORCE):
        fastest = max(fastest, F[m.SCALE + k])
    push = F[m.SCALE + m.FORCE] * F[m.LENGTH] + F[m.SCALE + m.MOMENT] + F[m.SCALE + m.OWN]
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            force = F[I[m.DIAG] + i] * fastest + push / F[m.UNIT + I[I[m.UNKNOWN_KIND] + i]]
            if not abs(F[x + i]) <= ROUND_OFF * F[m.SCALE_R] * force:
                return False
        elif not abs(F[x + i]) <= ROUND_OFF * F[m.UNIT + I[I[m.UNKNOWN_KIND] + i]] * round_off:
            return False
    return True


@by_sides(m.SPEED_TASK, largest=2)
def _speeds(I: Any, F: Any, side: int) -> tuple[float, float]:
    """Return the largest velocities at the start of the step and now."""
    u0, u1 = unknowns_of(I, side)
    v, vn, unknown_kind = I[m.V], I[m.VN], I[m.UNKNOWN_KIND]
    before, now = 0.0, 0.0
    for i in range(u0, u1):
        if is_velocity(I, i):
            per_unit = F[m.PER_UNIT + I[unknown_kind + i]]
            before = max(before, abs(F[vn + i]) * per_unit)
            now = max(now, abs(F[v + i]) * per_unit)
    return before, now


@jit
def off_the_rows(I: Any, F: Any) -> bool:
    """Tell whether a step has thrown bodies off their rows, as across a singular pose.

    Positions alone meet them there: velocities of a sound step do so by their square in a step,
    and by what laws of time add to them in it. Where a step ends far from where it was headed they
    are compared with what moved before, not with what may be thrown. Where rates alone are met,
    positions leave them, in a sound step by its error. Velocities of a body at rest are round-off,
    and those of no rows.
    """
    level = ints(F)[m.LEVEL]
    if level == m.VELOCITY:
        for i in range(I[m.N_U]):
            if not is_velocity(I, i) and abs(F[I[m.GAP] + i]) > LOST_VELOCITY * F[I[m.DIAG] + i]:
                return True
    if level != m.POSITION:
        return False
    before, now = _speeds(I, F)
    if now <= 2.0 * before or F[m.H] * now <= ROWS_MET:
        return False
    stage(I, F, m.RATES)
    fast = before if _elsewhere(I, F) else now
    if not _lost(I, F, fast, 0.0):
        return False
    _accelerate_laws(I, F)
    stage(I, F, m.RATES)
    return _lost(I, F, fast, F[m.H])


@jit
def _elsewhere(I: Any, F: Any) -> bool:
    """Tell whether a step ends far from where velocities and accelerations at its start lead."""
    h, d, vn, an = F[m.H], I[m.D], I[m.VN], I[m.AN]
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            off = abs(F[d + i] - h * (F[vn + i] + 0.5 * h * F[an + i]))
            if off > TURN_UNSURE * F[m.UNIT + I[I[m.UNKNOWN_KIND] + i]]:
                return True
    return False


@jit
def _lost(I: Any, F: Any, fast: float, h: float) -> bool:
    """Tell whether PHID is more than a sound step leaves; h > 0: GAP is what laws accelerate by."""
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            sound = LOST_VELOCITY * fast * F[I[m.DIAG] + i]
            sound += h * abs(F[I[m.GAP] + i]) if h > 0.0 else 0.0
            if abs(F[I[m.PHID] + i]) > sound:
                return True
    return False


@jit
def _accelerate_laws(I: Any, F: Any) -> None:
    r"""Write :math:`\partial^2\Phi/\partial t^2`, second rates of bodies at rest, to GAP."""
    v, a, kept_v, kept_a = I[m.V], I[m.A], I[m.R], I[m.X]
    for i in range(I[m.N_U]):
        F[kept_v + i], F[v + i] = F[v + i], 0.0
        F[kept_a + i], F[a + i] = F[a + i], 0.0
    stage(I, F, m.RATES)
    for i in range(I[m.N_U]):
        F[I[m.GAP] + i] = F[I[m.PHIDD] + i]
        F[v + i], F[a + i] = F[kept_v + i], F[kept_a + i]
