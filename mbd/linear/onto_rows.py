r"""The way of a state onto its rows.

Positions and velocities go by

.. math:: S\,(\delta; \eta) = -(0; \Phi), \qquad S\,(w; \mu) = -(0; \dot\Phi),

with the matrix S that is factored, until what is left is round-off or stays. By the matrix of the
pose itself Newton's steps are quadratic: one of each is enough where the square of the first is
round-off.
"""

import math
from typing import Any

from mbd.algebra.vec import add, larger
from mbd.base.tolerances import ROUND_OFF, ROWS_MET
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate_rates, linearise, stage


@jit
def once_onto_rows(I: Any, F: Any) -> bool:
    """Move D and V onto the rows by one correction of each; return whether that was enough.

    GAP and PHID have the rows and their rates as they were evaluated, with the matrix, at the pose
    that D is counted from. All rows act.
    """
    S, n, moved, fastest, fast = ints(F), I[m.N_U], 0.0, 1e-300, 0.0
    for k in range(m.FORCE):
        fastest = max(fastest, F[m.SIZE + k] / F[m.UNIT + k])
    for u in range(n):
        holds = I[I[m.UNKNOWN_KIND] + u] != m.VELOCITY_ROW and not is_velocity(I, u)
        F[I[m.X] + u] = F[I[m.GAP] + u] if holds else 0.0
    call(S[m.LINEAR], I, F, 0)
    add(F, I[m.D], -1.0, I[m.X], n)
    for u in range(n):
        if is_velocity(I, u):
            moved = max(moved, abs(F[I[m.X] + u]) / F[m.UNIT + I[I[m.UNKNOWN_KIND] + u]])
    stage(I, F, m.POSE)
    stage(I, F, m.RATES)
    for u in range(n):
        F[I[m.X] + u] = 0.0 if is_velocity(I, u) else F[I[m.PHID] + u]
    call(S[m.LINEAR], I, F, 0)
    add(F, I[m.V], -1.0, I[m.X], n)
    for u in range(n):
        if is_velocity(I, u):
            fast = max(fast, abs(F[I[m.X] + u]) / F[m.UNIT + I[I[m.UNKNOWN_KIND] + u]])
    return moved * moved <= ROUND_OFF and moved * fast <= ROUND_OFF * fastest


@jit
def onto_rows(I: Any, F: Any, spare: int, most: int, renew: bool) -> bool:
    """Move D and V onto the rows, by most corrections; return whether they meet them.

    F[ROW_RATE] is one. With `renew` the matrix is made again at the present pose, which D is
    counted from, where corrections are slow. F[spare] is room for a vector.
    """
    S, n, rate, fresh = ints(F), I[m.N_U], spare, 0
    fastest, last_far, last_fast = 1e-300, math.inf, math.inf
    for k in range(m.FORCE):
        fastest = max(fastest, F[m.SIZE + k] / F[m.UNIT + k])
    for k in range(most + 1):
        evaluate_rates(I, F)
        far, fast = 0.0, 0.0
        for u in range(n):
            row_kind = I[I[m.UNKNOWN_KIND] + u]
            if row_kind >= m.FORCE:
                x = F[I[m.X] + u]
                F[rate + u] = x
                F[I[m.GAP] + u] = 0.0 if row_kind == m.VELOCITY_ROW else F[I[m.GAP] + u] + x
                far = larger(far, abs(F[I[m.GAP] + u]) / (F[I[m.DIAG] + u] * F[m.FAR]))
                fast = larger(fast, abs(x) / (F[I[m.DIAG] + u] * F[m.FAR]))
        done = far <= ROUND_OFF and fast <= ROUND_OFF * fastest
        stays = not (far < 0.7 * last_far or fast < 0.7 * last_fast)
        if k == most or done or (stays and (fresh or not renew)):
            break
        slow = far > 0.1 * last_far or fast > 0.1 * last_fast
        last_far, last_fast = far, fast
        for which in range(2):
            if which == 0 and renew and slow and not fresh:
                linearise(I, F)
                fresh = 1
            source, to = (I[m.GAP], I[m.D]) if which == 0 else (rate, I[m.V])
            for u in range(n):
                row = I[I[m.UNKNOWN_KIND] + u] >= m.FORCE
                F[I[m.X] + u] = F[source + u] if row else 0.0
            call(S[m.LINEAR], I, F, 1 if fresh == 1 else 0)
            fresh = 2 if fresh else 0
            add(F, to, -1.0, I[m.X], n)
    return far <= ROWS_MET and fast <= ROWS_MET * max(1.0, fastest)
