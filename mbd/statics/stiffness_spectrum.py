"""All eigenvalues of the stiffness at a balance against the mass, on the allowed motions."""

from __future__ import annotations

import numpy as np

from mbd.linear.null_space import independent, null_space
from mbd.small_motions.metric import Metric
from mbd.small_motions.minimal import sizes_of
from mbd.small_motions.spectrum import Eigenvalues, Pencil, spectrum
from mbd.statics.balance import Balance, Statics


def stiffness_spectrum(problem: Statics, balance: Balance) -> tuple[Eigenvalues, np.ndarray]:
    """Return the eigenvalues, and the basis (n_v, f) of the motions that the rows allow."""
    model = problem.model
    size = Metric(model, balance.state).stiff(balance.K).diagonal() ** -0.5
    _, N = independent(null_space(balance.B, size), size)
    _, L = independent(null_space(balance.Bt.T, size), size)
    M = model.assemble(balance.state).M
    sizes = (np.abs(L).T @ sizes_of(model, x) @ np.abs(N) for x in (balance.K, M))
    return spectrum(Pencil(L.T @ (balance.K @ N), L.T @ (M @ N), *sizes)), N
