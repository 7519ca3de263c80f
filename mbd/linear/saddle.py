r"""Accelerations and multipliers that a state needs: solutions with the saddle-point matrix.

.. math:: \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}

Rows that depend on others at the pose are dropped from it; far from the rows, where none do that
will, all are met `soft`, with :math:`-\epsilon` in the corner.
"""

from typing import Any

import numpy as np

from mbd.algebra.vec import clear, copy, larger
from mbd.base.tolerances import SOFT_LOOPS
from mbd.linear.fronts import factor_and_solve
from mbd.linear.pivoting import PivotingSolver
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate_second_rates, linearise
from mbd.model.independent_rows import selected
from mbd.model.workspace import Workspace


@jit
def accelerations(I: Any, F: Any, n: int, new: bool) -> None:
    r"""Solve :math:`S(\delta\dot v; \delta\lambda) = -(r; \ddot\Phi)` n times at the pose at hand.

    `new`: S is made there, from where increments are counted then. The equations are linear: a
    second solution removes round-off; more are needed with the matrix of a pose nearby.
    """
    if new:
        copy(F, I[m.QN], I[m.Q], I[m.N_Q])
        clear(F, I[m.D], I[m.N_U])
    for k in range(n):
        evaluate_unmet(I, F)
        if new and k == 0:
            factor_saddle(I, F)
        else:
            call(ints(F)[m.LINEAR], I, F, 0)
        subtract(I, F)


@jit
def evaluate_unmet(I: Any, F: Any) -> None:
    """Write the residual r and the second derivative of the rows to X."""
    F[m.SCALE_R], F[m.ROW_RATE] = 1.0, 0.0
    evaluate_second_rates(I, F)


@jit
def factor_saddle(I: Any, F: Any) -> None:
    """Factor S at the pose evaluated last; X becomes the solution for what it holds."""
    F[m.W_M], F[m.W_G], F[m.W_K] = 1.0, 0.0, 0.0
    F[m.ROW_TURN] = F[m.POSITION_TURN] = 0.0
    linearise(I, F)
    call(ints(F)[m.LINEAR], I, F, 1)


@jit
def subtract(I: Any, F: Any) -> None:
    """Subtract X from accelerations and multipliers; NORM is the largest change of the first."""
    F[m.NORM] = 0.0
    for i in range(I[m.N_U]):
        F[I[m.A] + i] -= F[I[m.X] + i]
        if is_velocity(I, i):
            F[m.NORM] = larger(F[m.NORM], abs(F[I[m.X] + i]))


@kernel
def anew_kernel(I: Any, F: Any, k: int) -> None:
    """Find accelerations and multipliers at the pose at hand, for use from Python."""
    accelerations(I, F, 2, True)


@kernel
def unmet_kernel(I: Any, F: Any, k: int) -> None:
    """Write the residual and the second derivative of the rows to X, after k `accelerations`."""
    accelerations(I, F, k, False)
    evaluate_unmet(I, F)


def unmet(work: Workspace) -> np.ndarray:
    """Return the residual r and the second derivative of the rows, a view (n_u,) of X."""
    work.run(unmet_kernel)
    work.check_laws()
    return work.vector(m.X)


class Saddle:
    """The matrix [[M, B^T], [B, 0]] at the state evaluated last in a work space, factored."""

    def __init__(self, work: Workspace, *, soft: bool = False) -> None:
        self.work = work
        self.pivoting: PivotingSolver | None = None
        work.S[..., m.LINEAR] = factor_and_solve.address
        soft, lam = soft and bool(work.model.I[m.LOOPS]), work.model.numbering.lam
        if soft:
            from mbd.model.assembly import rows_by_mass  # scipy.sparse, which most runs do not need

            work.drop(np.empty(0, np.int64))
            sizes = work.vector(m.DIAG)[..., lam].copy()
            work.vector(m.DIAG)[..., lam] = np.sqrt(rows_by_mass(work.model)[lam])
            work.F[..., m.SOFT] = SOFT_LOOPS
        elif work.model.I[m.LOOPS]:
            state = work.store() if work.batch is None else work.model.state
            if np.isfinite(state.q).all():
                work.drop(selected(work.model, state).dropped)
        work.linearise(1.0, 0.0, 0.0)
        work.S[..., m.SMALL_PIVOTS] = 0
        work.run(factor_and_solve, 1)
        if soft:
            work.vector(m.DIAG)[..., lam], work.F[..., m.SOFT] = sizes, 0.0
        if work.leaves(work.S[..., m.SMALL_PIVOTS] != 0):
            self._pivot()

    def _pivot(self) -> None:
        """Factor the matrix by SuperLU, with which all go on that solve in this work space."""
        work = self.work
        self.pivoting = PivotingSolver(work)
        work.linearise(1.0, 0.0, 0.0)
        work.S[m.SMALL_PIVOTS], work.S[m.LINEAR] = 0, self.pivoting.address
        self.pivoting(work.I, work.F, 1)
        self.check()
        if work.S[m.SMALL_PIVOTS]:
            raise ValueError(
                work.bad_law()
                or work.no_numbers()
                or "the mass matrix is singular on the motions that the constraints allow; "
                "check masses and inertias"
            )

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return S^-1 r, unknowns in solver order; rows that do not act are left out."""
        x = self.work.vector(m.X)
        x[...] = np.where(self.work.vector(m.OFF) == 0.0, r, 0.0)
        self.work.run(self.pivoting or factor_and_solve)
        self.check()
        return x.copy()

    def check(self) -> None:
        """Raise what a law of the user, or a solution in Python, has raised."""
        self.work.check_laws()
        if self.pivoting is not None:
            self.pivoting.check()


def accelerate(work: Workspace, *, evaluated: bool = False) -> tuple[np.ndarray, Saddle]:
    """Find the accelerations and multipliers of the state in a work space, by `accelerations`.

    Return a view of them, and the matrix there, factored. Positions and velocities need not meet
    the rows: their second derivative is made zero. Multipliers of dropped rows are zero. The state
    may be `evaluated` already, by ``violations``.
    """
    if not evaluated:
        unmet(work)
    saddle = Saddle(work)  # away from where increments begin it is near the matrix there
    work.run(unmet_kernel, 6 if work.vector(m.D).any() else 2)
    saddle.check()
    return work.vector(m.A), saddle
