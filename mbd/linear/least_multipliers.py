"""Least multipliers of redundant rows: the smallest of all with the same effect."""

from __future__ import annotations

from typing import Any

from mbd.algebra.newmark import change_rates
from mbd.base.tolerances import (
    SMALLEST_LEFT,
    SMALLEST_PASSES,
    SMALLEST_STAYS,
    SOFT_LEAST,
)
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate, linearise


@jit
def smallest_multipliers(I: Any, F: Any) -> None:
    """Make multipliers smallest, with all rows and their softness; the matrix at hand is lost."""
    S = ints(F)
    soft, small = F[m.SOFT], S[m.SMALL_PIVOTS]
    S[m.ALL_ROWS], F[m.SOFT] = 1, 1.0
    _smallest(I, F)
    S[m.ALL_ROWS], F[m.SOFT] = 0, soft
    S[m.HAVE_FACTOR], S[m.SMALL_PIVOTS] = 0, small


@jit
def _smallest(I: Any, F: Any) -> None:
    r"""Remove from lam what has no effect, B^T lam_0 = 0: redundant rows share their load evenly.

    Solves :math:`[S, B^T; B, -\epsilon][x; \mu] = [B^T\lambda; 0]`, hence
    :math:`\mu = (BS^{-1}B^T + \epsilon)^{-1} BS^{-1}B^T\lambda`: the part of lam in the range. B is
    that of the present pose (an older one would change lam), so the matrix is made anew; the next
    step begins with it.

    Of rows that are nearly dependent, :math:`s` beside :math:`\epsilon`, that leaves out a part
    :math:`\epsilon/(\epsilon + s)`: as long as :math:`x = S^{-1}B^T(\lambda - \mu)` is seen beside
    the accelerations, the same is done with what is left, :math:`B^T(\lambda - \mu)`. Multipliers
    stay as they are where that takes too long, or the pivots of the matrix are none.
    """
    S = ints(F)
    a, x, r = I[m.A], I[m.X], I[m.R]
    evaluate(I, F)
    linearise(I, F)
    for i in range(I[m.N_U]):
        F[r + i] = F[x + i]
        if not is_velocity(I, i):
            F[I[m.GAP] + i], F[r + i] = F[r + i], F[a + i]
            F[a + i] = 0.0
    last, anew, S[m.SMALL_PIVOTS] = 0.0, 1, 0
    for _ in range(SMALLEST_PASSES):
        evaluate(I, F)
        for i in range(I[m.N_U]):
            if is_velocity(I, i):
                F[x + i] = F[r + i] - F[x + i]
            else:  # what rows give way, -C (lam - mu): zero of all others
                F[x + i] = F[I[m.GAP] + i] - F[x + i]
        call(S[m.LINEAR], I, F, anew)
        if S[m.SMALL_PIVOTS]:
            S[m.HAVE_FACTOR] = 0
            for i in range(I[m.N_U]):
                if not is_velocity(I, i):
                    F[a + i] = F[r + i]
            return
        S[m.HAVE_FACTOR] = 1
        left = _take(I, F)
        least = F[m.SOFT] <= SOFT_LEAST
        if left <= 1.0 or (least and last > 0.0 and left > SMALLEST_STAYS * last):
            return
        anew = 0
        if left > 0.5 * last > 0.0 and not least:
            anew = 1
            F[m.SOFT] = SOFT_LEAST
            linearise(I, F)
        last = left
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[a + i] = F[r + i]


@jit
def _take(I: Any, F: Any) -> float:
    """Add mu to lam; return what is left, x, in units of what is not seen of the accelerations."""
    _, b, _ = change_rates(F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA], F[m.H])
    left = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            k = I[I[m.UNKNOWN_KIND] + i]
            allowed = SMALLEST_LEFT * F[m.SCALE + k] / b + F[m.FLOOR + k]
            left = max(left, abs(F[I[m.X] + i]) / allowed)
        else:
            F[I[m.A] + i] += F[I[m.X] + i] / F[m.SCALE_R]
    return left
