"""Least multipliers of redundant rows: the smallest of all with the same effect."""

from __future__ import annotations

from typing import Any

from mbd.algebra.newmark import change_rates
from mbd.base.tolerances import (
    SMALLEST_EVERY,
    SMALLEST_LEFT,
    SMALLEST_PASSES,
    SMALLEST_STAYS,
    SOFT_LEAST,
)
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate, linearise

__all__ = ["make_up", "smallest_where_due"]


@jit
def due(F: Any, n: int) -> bool:
    """Tell whether multipliers are made smallest after the n-th step.

    What has no effect on the motion need not be removed before somebody sees it, or it has grown.
    """
    every = ints(F)[m.RECORD_EVERY]
    return every == 0 or n % every == 0 or n % SMALLEST_EVERY == 0


@jit
def smallest_multipliers(I: Any, F: Any) -> None:
    r"""Remove from lam what has no effect, B^T lam_0 = 0: redundant rows share their load evenly.

    Solves :math:`[S, B^T; B, -\epsilon][x; \mu] = [B^T\lambda; 0]`, hence
    :math:`\mu = (BS^{-1}B^T + \epsilon)^{-1} BS^{-1}B^T\lambda`: the part of lam in the range. B is
    that of the present pose (an older one would change lam), so the matrix is made anew; the next
    step begins with it.

    Of rows that are nearly dependent, :math:`s` beside :math:`\epsilon`, that leaves out a part
    :math:`\epsilon/(\epsilon + s)`: as long as :math:`x = S^{-1}B^T(\lambda - \mu)` is seen beside
    the accelerations, the same is done with what is left, :math:`B^T(\lambda - \mu)`.
    """
    S = ints(F)
    a, x, r = I[m.A], I[m.X], I[m.R]
    evaluate(I, F)
    linearise(I, F)
    for i in range(I[m.N_U]):
        F[r + i] = F[x + i]
        if not is_velocity(I, i):
            F[a + i] = 0.0
    last, anew = 0.0, 1
    for _ in range(SMALLEST_PASSES):
        evaluate(I, F)
        for i in range(I[m.N_U]):
            if is_velocity(I, i):
                F[x + i] = F[r + i] - F[x + i]
            else:
                F[x + i] = 0.0
        call(S[m.LINEAR], I, F, anew)
        S[m.HAVE_FACTOR] = 1
        left = _take(I, F)
        if left <= 1.0 or (last > 0.0 and left > SMALLEST_STAYS * last):
            return
        anew = 0
        if left > 0.5 * last > 0.0 and F[m.SOFT] > SOFT_LEAST:
            anew = 1
            F[m.SOFT] = SOFT_LEAST
            linearise(I, F)
        last = left


@jit
def _take(I: Any, F: Any) -> float:
    """Add mu to lam; return what is left, x, in units of what is not seen of the accelerations."""
    _, b, _ = change_rates(F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA], F[m.H])
    left = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            kind = I[I[m.KIND] + i]
            allowed = SMALLEST_LEFT * F[m.SCALE + kind] / b + F[m.FLOOR + kind]
            left = max(left, abs(F[I[m.X] + i]) / allowed)
        else:
            F[I[m.A] + i] += F[I[m.X] + i] / F[m.SCALE_R]
    return left


@jit
def smallest_where_due(I: Any, F: Any) -> None:
    """Make multipliers smallest if that is due after the step at hand.

    What is taken off them is no rate of theirs: none is predicted from here.
    """
    n = ints(F)[m.N_PREDICTED]
    if not due(F, n + 1):
        return
    smallest_multipliers(I, F)
    if due(F, n):
        return
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[I[m.AN] + i] = F[I[m.A] + i]


@kernel
def make_up(I: Any, F: Any, k: int) -> None:
    """Make multipliers smallest now if they were not after the last step: for use from Python."""
    if not due(F, ints(F)[m.N_PREDICTED]):
        smallest_multipliers(I, F)
