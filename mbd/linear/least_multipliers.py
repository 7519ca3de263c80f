"""Least multipliers of redundant rows: the smallest of all with the same effect."""

from __future__ import annotations

from typing import Any

from mbd.machine import buffer as m
from mbd.machine.buffer import FR_NP, FR_NV, FR_SIZE, FR_U, FRONTS, N_FRONTS
from mbd.machine.jit import call, jit
from mbd.model.evaluation import evaluate, linearise

__all__ = ["smallest_multipliers"]


@jit
def smallest_multipliers(I: Any, F: Any) -> None:
    r"""Remove from lam what has no effect, B^T lam_0 = 0: redundant rows share their load evenly.

    Solves :math:`[S, B^T; B, -\epsilon][x; \mu] = [B^T\lambda; 0]`, hence
    :math:`\mu = (BS^{-1}B^T + \epsilon)^{-1} BS^{-1}B^T\lambda`: the part of lam in the range. B is
    that of the present pose (an older one would change lam), so the matrix is made anew; the next
    step begins with it.
    """
    a, x, keep = I[m.A], I[m.X], I[m.GAP]
    evaluate(I, F)
    linearise(I, F)
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u, u + I[j + FR_NP]):
            F[keep + i] = F[x + i]
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            F[a + i] = 0.0
    evaluate(I, F)
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u, u + I[j + FR_NV]):
            F[x + i] = F[keep + i] - F[x + i]
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            F[x + i] = 0.0
    call(I[m.LINEAR], I, F, 1)
    I[m.HAVE_FACTOR] = 1
    for f in range(I[N_FRONTS]):
        j = I[FRONTS] + f * FR_SIZE
        u = I[j + FR_U]
        for i in range(u + I[j + FR_NV], u + I[j + FR_NP]):
            F[a + i] = F[x + i] / F[m.SCALE_R]
