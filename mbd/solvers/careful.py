"""Floor 4. The same step by a pivoting sparse LU: slower, where the fronts are not trusted."""

from __future__ import annotations

import numpy as np

from mbd.algebra import memory as m
from mbd.model.kernels import evaluate_kernel, linearise_kernel
from mbd.model.model import Workspace
from mbd.solvers.advance import CONVERGED, FAILED, apply, begin, end, undo

__all__ = ["careful_step"]


def careful_step(work: Workspace, max_iterations: int = 15) -> int:
    """Take one step by full Newton; return its status.

    The matrix is the one the fronts would factor, in the same order of unknowns, with threshold
    pivoting in SuperLU.
    """
    from scipy.sparse.linalg import splu  # a tenth of a second that other runs need not spend

    from mbd.model.assembly import sparse

    start = work.F[m.T]
    begin(work.I, work.F)
    work.F[m.T] = start + work.F[m.H]
    status, last = FAILED, np.inf
    try:
        for _ in range(max_iterations):
            evaluate_kernel(work.I, work.F)
            linearise_kernel(work.I, work.F)
            x = work.vector(m.X)
            try:
                x[:] = splu(sparse(work.model, work), permc_spec="COLAMD").solve(x)
            except RuntimeError:  # exactly singular
                break
            work.I[m.N_FACTOR] += 1
            work.I[m.N_ITER] += 1
            apply(work.I, work.F)
            size = float(work.F[m.NORM])
            if not np.isfinite(size):
                break
            if size <= 1.0 or (size < 1e3 and size > 0.5 * last):
                status = CONVERGED
                break
            last = size
    finally:  # Ctrl-C too leaves no unfinished step
        if status == CONVERGED:
            end(work.I, work.F)
        else:
            undo(work.I, work.F)
            work.I[m.HISTORY] = 0
            work.F[m.T] = start
    return status
