r"""Accelerations and multipliers that a state needs: solutions with the saddle-point matrix.

.. math:: \begin{bmatrix} M & B^T \\ B & -\epsilon \end{bmatrix}

The corner keeps redundant rows regular; refinement takes its effect away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.base.tolerances import (
    MEETING_DUST,
    MEETING_LEFT,
    MEETING_SHARE,
    MEETING_STEPS,
    SOFT_LEAST,
)
from mbd.linear.fronts import factor_and_solve
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import clear_off, evaluate_second_rates
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
    """The matrix [[M, B^T], [B, -eps]] at the state evaluated last in a work space, factored."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.pivoting: Any = None
        work.S[..., m.LINEAR] = factor_and_solve.address
        work.linearise(1.0, 0.0, 0.0)
        work.S[..., m.SMALL_PIVOTS] = 0
        work.run(factor_and_solve, 1)
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
        """Return S^-1 r, unknowns in solver order."""
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


def accelerate(work: Workspace, *, evaluated: bool = False) -> tuple[np.ndarray, Saddle | None]:
    """Find the accelerations and multipliers of the state in a work space.

    Return a view of them, and the matrix there, factored, if it serves for other right-hand sides.
    Positions and velocities need not meet the rows: their second derivative is made zero, of rows
    that are nearly dependent too. The state may be `evaluated` already, by ``violations``.
    """
    lam, v = work.model.numbering.lam, work.model.numbering.v
    A, r = work.vector(m.A), (work.vector(m.X) if evaluated else unmet(work)).copy()
    if evaluated:
        r[..., lam] = work.vector(m.PHIDD)[..., lam]
    free = np.abs(r[..., v] / work.vector(m.DIAG)[..., v]).max(-1, initial=0.0)  # without rows
    saddle: Saddle | None = _solve(work, r)
    lack, largest = _lack(work), np.abs(A[..., v]).max(-1, initial=0.0)
    if work.leaves(lack > MEETING_LEFT * np.maximum(free, largest)):
        before = A.copy()
        work.F[..., m.SOFT] = SOFT_LEAST  # beside light bodies it is soft beside heavy ones
        _solve(work, unmet(work).copy())
        work.F[..., m.SOFT], saddle = 1.0, None
        if not _lack(work) < lack:
            A[:] = before
            unmet(work)
    return A, saddle


def _solve(work: Workspace, r: np.ndarray) -> Saddle:
    """Subtract from accelerations and multipliers what removes the residual and the rates r."""
    lam = work.model.numbering.lam
    saddle = Saddle(work)
    r = saddle.correct(r, 3)  # linear: two of them remove the effect of eps and round-off
    meet_rows(saddle, work.vector(m.A), r[..., lam], lambda: unmet(work)[lam])
    return saddle


def _lack(work: Workspace) -> Any:
    """Return what rows lack of zero at the residual in X."""
    return np.abs(work.vector(m.X)[..., work.model.numbering.lam]).max(-1, initial=0.0)


def meet_rows(
    saddle: Saddle, x: np.ndarray, lack: np.ndarray, rates: Callable[[], np.ndarray]
) -> None:
    r"""Move x by :math:`M^{-1}B^T\mu` until its rates, now `lack`, are zero or stay.

    They are affine.

    One solve shrinks what a row lacks by :math:`\epsilon/(\epsilon + \sigma^2)`, which is little
    where the rows are nearly dependent (:math:`\sigma` small). Generalised conjugate residuals with
    this solve as preconditioner (Eisenstat, Elman, Schultz, SIAM J. Numer. Anal. 20, 1983) need one
    step for each such direction.
    """
    lam, v = saddle.work.model.numbering.lam, saddle.work.model.numbering.v
    if not len(lam):
        return
    steps: list[np.ndarray] = []
    images: list[np.ndarray] = []
    for _ in range(MEETING_STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.sqrt((lack**2).sum(-1))
        largest = np.abs(x[..., v]).max(-1, initial=0.0)
        if not saddle.work.leaves(size > MEETING_DUST * largest):
            return
        r = np.zeros(int(saddle.work.I[m.N_U]))
        r[lam] = lack
        step, start = saddle.solve(r), x.copy()
        x -= step
        image = lack - rates()
        for s, y in zip(steps, images, strict=True):
            part = float(y @ image)
            step, image = step - part * s, image - part * y
        norm = float(np.linalg.norm(image))
        x[:] = start
        if not 0.0 < norm < np.inf:
            return
        steps.append(step / norm)
        images.append(image / norm)
        x -= float(images[-1] @ lack) * steps[-1]
        left = rates()
        if not np.linalg.norm(left) < MEETING_SHARE * size:  # round-off, or rows that contradict
            x[:] = start
            rates()
            return
        lack = left
