r"""Accelerations and multipliers that a state needs: solutions with the saddle-point matrix.

.. math:: \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}

Rows that depend on others at the pose are dropped from it; far from the rows, where none do that
will, all are met `soft`, with :math:`-\epsilon` in the corner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import clear_off, evaluate_second_rates
from mbd.model.independent_rows import selected
from mbd.model.workspace import Workspace


@kernel
def unmet_kernel(I: Any, F: Any, k: int) -> None:
    """Write the residual and the second derivative of the rows to X.

    Before that k times subtract the solution for the ones that are there from accelerations and
    multipliers; NORM is the largest change of a velocity's in the last of these.
    """
    S = ints(F)
    for n in range(-1, k):
        F[m.NORM] = 0.0
        if n >= 0:
            call(S[m.LINEAR], I, F, 0)
            for i in range(I[m.N_U]):
                F[I[m.A] + i] -= F[I[m.X] + i]
                if is_velocity(I, i):
                    F[m.NORM] = max(F[m.NORM], abs(F[I[m.X] + i]))
        if n >= 0 or k == 0:
            evaluate_second_rates(I, F)
            clear_off(I, F, I[m.X])


def unmet(work: Workspace) -> np.ndarray:
    """Return the residual r beside the second derivative of the rows, a view (n_u,) of X."""
    work.F[..., m.SCALE_R], work.F[..., m.ROW_RATE] = 1.0, 0.0
    work.run(unmet_kernel)
    work.check_laws()
    return work.vector(m.X)


class Saddle:
    """The matrix [[M, B^T], [B, 0]] at the state evaluated last in a work space, factored."""

    def __init__(self, work: Workspace, *, soft: bool = False) -> None:
        self.work = work
        self.pivoting: Any = None
        work.S[..., m.LINEAR] = factor_and_solve.address
        if work.model.I[m.LOOPS] and soft:
            work.drop(np.empty(0, np.int64))
            work.F[..., m.SOFT] = 1.0
        elif work.model.I[m.LOOPS]:
            state = work.store() if work.batch is None else work.model.state
            if np.isfinite(state.q).all():
                work.drop(selected(work.model, state).dropped)
        work.linearise(1.0, 0.0, 0.0)
        work.S[..., m.SMALL_PIVOTS] = 0
        work.run(factor_and_solve, 1)
        work.F[..., m.SOFT] = 0.0
        if work.leaves(work.S[..., m.SMALL_PIVOTS] != 0):
            from scipy.sparse.linalg import splu

            from mbd.model.pattern import sparse

            work.linearise(1.0, 0.0, 0.0)
            try:
                self.pivoting = splu(sparse(work.model, work.F))
            except RuntimeError:
                raise ValueError(
                    work.bad_law()
                    or work.no_numbers()
                    or "the mass matrix is singular on the motions that the constraints allow; "
                    "check masses and inertias"
                ) from None

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return S^-1 r, unknowns in solver order; rows that do not act are left out."""
        r = np.where(self.work.vector(m.OFF) == 0.0, r, 0.0)
        if self.pivoting is not None:
            return np.asarray(self.pivoting.solve(r))
        x = self.work.vector(m.X)
        x[...] = r
        self.work.run(factor_and_solve)
        return x.copy()

    def correct(self, r: np.ndarray, n: int = 1) -> np.ndarray:
        """Subtract S^-1 r from accelerations and multipliers, n times; return what is unmet then.

        NORM is the largest change of an acceleration in the last of these.
        """
        work = self.work
        if self.pivoting is None:
            work.vector(m.X)[...] = r
            work.run(unmet_kernel, n)
            work.check_laws()
            return work.vector(m.X)
        for _ in range(n):
            step = self.solve(r)
            work.vector(m.A)[:] -= step
            r = unmet(work)
            work.F[m.NORM] = np.abs(step[work.model.numbering.v]).max(initial=0.0)
        return r


def accelerate(work: Workspace, *, evaluated: bool = False) -> tuple[np.ndarray, Saddle]:
    """Find the accelerations and multipliers of the state in a work space.

    Return a view of them, and the matrix there, factored. Positions and velocities need not meet
    the rows: their second derivative is made zero. Multipliers of dropped rows are zero. The state
    may be `evaluated` already, by ``violations``.
    """
    if not evaluated:
        unmet(work)
    saddle = Saddle(work)
    # linear: the second removes round-off; away from where increments begin the matrix is near
    saddle.correct(unmet(work).copy(), 6 if work.vector(m.D).any() else 2)
    return work.vector(m.A), saddle
