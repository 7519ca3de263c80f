r"""The pencil of small motions with all its rows, sparse, and solutions with it.

For :math:`x = (\delta, w)` one step :math:`y = (A - \sigma E)^{-1} E x` solves

.. math::
   F \begin{bmatrix} \delta_y \\ \mu \end{bmatrix} = R x, \qquad
   F = \begin{bmatrix} K + (G + \sigma M)(\sigma - A) & B^T \\ B_p & 0 \\
   H + B_v(\sigma - A) & 0 \end{bmatrix}, \qquad
   R x = -\begin{bmatrix} M w + (G + \sigma M)\,\delta \\ 0 \\ B_v\,\delta \end{bmatrix}

and :math:`w_y = \delta + (\sigma - A)\,\delta_y`. At :math:`\sigma = 0` null spaces are moved away
as in ``spectrum.py``, :math:`A \to A - \rho E X Z^T`: with :math:`t = Z^T y` that is a step from
:math:`x + \rho X t`, and F gets a column and a row for each t. They are found by inverse iteration
with a little of the stiffness of the bodies added, and told by the same test of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import HELD, ROUND_OFF
from mbd.small_motions.metric import Metric
from mbd.small_motions.small_motion import SmallMotion
from mbd.small_motions.spectrum import Level


@dataclass(frozen=True, eq=False)
class SparsePencil:
    """The pencil less sigma E, null spaces moved away."""

    motion: SmallMotion
    sigma: complex
    moved: tuple[Level, ...] = ()

    def step(self, x: np.ndarray) -> np.ndarray:
        """Return (A - sigma E)^-1 E x."""
        right = np.concatenate([self._right(x), -self._Z[:, self.n :] @ x[: self.n]])
        y = self._solver(right)
        return self._whole(x, y)

    def null_space(self) -> np.ndarray:
        """Return a basis of all x with A x = 0 but for round-off of what is added in each row."""
        C, n, units = self._bordered, self.n, self.motion.model.units
        W = self._little
        solver, k = self._factored(C + HELD * W), 1
        size, added = self._sizes()
        even = size + added[:, self._F.shape[0] - n :] @ np.ones(len(self._Z))
        even = np.where(even > 0.0, even, 1.0)
        while True:
            V = np.random.default_rng(40961).normal(size=(C.shape[0], k))
            for _ in range(24):
                V = np.column_stack([solver(W @ v) for v in V.T])
                V = V @ np.linalg.inv(np.linalg.qr(V[:n] / units[:, None])[1])
            _, _, turn = np.linalg.svd((C @ V) / even[:, None], full_matrices=False)
            V = V @ turn.T
            most = np.outer(size, np.abs(V[:n] / units[:, None]).max(axis=0))
            null = (np.abs(C @ V) <= ROUND_OFF * (most + added @ np.abs(V[n:]))).all(axis=0)
            if not null.all() or k == n:
                break
            k = min(2 * k, n)
        x = np.zeros(2 * n)
        return np.array([self._whole(x, v) for v in V[:, null].T]).reshape(-1, 2 * n).T

    def without(self, X: np.ndarray) -> SparsePencil:
        """Return the pencil with a null space moved to an eigenvalue of its own."""
        scale = self._scale(self._typical)
        Z = np.linalg.pinv(X / scale[:, None]) / scale
        rate = self._typical * np.exp(1.0 / (3.0 + len(self.moved)))
        return replace(self, moved=(*self.moved, Level(X, Z, rate)))

    @property
    def n(self) -> int:
        """Number of velocities."""
        return self.motion.model.n_v

    def scale(self) -> np.ndarray:
        """Return sizes of x in the motions nearest to sigma: of their own rate is w."""
        n, sizes = self.n, self.motion.scale
        w = sizes * np.random.default_rng(40961).normal(size=n)
        squared = 1.0
        for _ in range(4):
            w = w / np.abs(w / sizes).max()
            moved = self.step(np.concatenate([np.zeros(n), w]))[:n]
            squared = float(np.abs(moved / sizes).max())
            w = moved
        return self._scale(squared**-0.5)

    def _scale(self, rate: float) -> np.ndarray:
        """Return sizes of x where displacements change at a rate."""
        sizes = self.motion.scale
        return np.concatenate([sizes, rate * sizes])

    @property
    def dtype(self) -> Any:
        """Type of numbers."""
        return np.result_type(self._F.dtype, float)

    @cached_property
    def _typical(self) -> float:
        """A rate between slow and fast."""
        stiff, heavy = np.abs(self.motion.K.diagonal()), np.abs(self.motion.M.diagonal())
        some = (stiff > 0.0) & (heavy > 0.0)
        return float(np.sqrt(np.median(stiff[some] / heavy[some]))) if some.any() else 1.0

    @cached_property
    def _little(self) -> sp.csc_matrix:
        """Stiffness of the bodies, and rows on velocities as rows on positions."""
        motion = self.motion
        stiff = Metric(motion.model, motion.state).stiff(np.abs(motion.K.diagonal()))
        rows = sp.vstack([0.0 * motion.Bp, self._typical * motion.Bv])
        none = self._bordered.shape[0] - self._F.shape[0]
        left = sp.vstack([stiff, rows, sp.csr_matrix((none, self.n))])
        return sp.csc_matrix(
            sp.hstack([left, sp.csr_matrix((left.shape[0], left.shape[0] - self.n))])
        )

    @cached_property
    def _shifted(self) -> sp.csr_matrix:
        return self.sigma * sp.eye_array(self.n) - self.motion.A

    @cached_property
    def _heavy(self) -> sp.csr_matrix:
        return self.motion.G + self.sigma * self.motion.M

    @cached_property
    def _F(self) -> sp.csc_matrix:
        motion = self.motion
        rows = sp.vstack([motion.Bp, motion.H + motion.Bv @ self._shifted])
        rates = motion.model.rolling
        columns = sp.hstack([motion.Bt[:, ~rates], motion.Bt[:, rates]])
        top = motion.K + self._heavy @ self._shifted
        return sp.csc_matrix(sp.block_array([[top, columns], [rows, None]]))

    @cached_property
    def _X(self) -> np.ndarray:
        """All null spaces times their rates."""
        none = np.zeros((2 * self.n, 0))
        return np.hstack([none, *(x.rate * x.X for x in self.moved)])

    @cached_property
    def _Z(self) -> np.ndarray:
        return np.vstack([np.zeros((0, 2 * self.n)), *(x.Z for x in self.moved)])

    @cached_property
    def _bordered(self) -> sp.csc_matrix:
        X, Z, n = self._X, self._Z, self.n
        if not X.shape[1]:
            return self._F
        columns = -np.column_stack([self._right(x) for x in X.T])
        rows = np.zeros((len(Z), self._F.shape[0]))
        rows[:, :n] = Z[:, :n] + Z[:, n:] @ self._shifted
        corner = Z[:, n:] @ X[:n] - np.eye(len(Z))
        return sp.csc_matrix(sp.block_array([[self._F, columns], [rows, corner]]))

    def _sizes(self) -> tuple[np.ndarray, sp.csr_matrix]:
        """Return what is added in each row, by small changes of delta, and by mu and t.

        Forces of rows are round-off too, of the forces that they carry on.
        """
        motion, n, X, Z = self.motion, self.n, np.abs(self._X), np.abs(self._Z)
        units, columns = motion.model.units, abs(self._F[:n, n:])
        top = (abs(motion.K) + motion.G_size @ motion.A_size) @ units
        rows = sp.vstack([abs(motion.Bp), abs(motion.H) + abs(motion.Bv) @ motion.A_size]) @ units
        reach = sp.diags(units) @ columns
        most = reach.max(axis=0).toarray().ravel() if columns.shape[1] else np.zeros(0)
        ties = (reach @ sp.diags(1.0 / np.where(most > 0.0, most, 1.0))).tocsc()
        ties.data = np.where(ties.data > ROUND_OFF, 1.0, 0.0)
        for _ in range(len(top)):  # from body to body, where none has a size of its own
            work = (sp.diags(top * units) @ ties).max(axis=0).toarray().ravel()
            carried = (ties @ work) / units
            bare = (top == 0.0) & (carried > 0.0)
            top = np.where(bare, carried, np.maximum(top, carried) if not bare.any() else top)
            if not bare.any():
                break
        turns = (Z[:, :n] + Z[:, n:] @ motion.A_size) @ units
        added = abs(self._bordered[:, n:]).tolil()
        if len(turns):
            added[:n, -len(turns) :] += motion.G_size @ X[:n] + abs(motion.M) @ X[n:]
        return np.concatenate([top, rows, turns]), sp.csr_matrix(added)

    @cached_property
    def _soft(self) -> np.ndarray:
        """Softness that keeps redundant rows regular in the factors, refined away."""
        model, F = self.motion.model, self._F
        size = float(np.abs(F[: self.n, : self.n]).max()) or 1.0
        soft = 1e-12 / size * float(model.redundant or model.compliant.any())
        rows = F.shape[0] - self.n
        return -np.concatenate([np.zeros(self.n), np.full(rows, soft)])

    @cached_property
    def _solver(self) -> RefinedFactors:
        return self._factored(self._bordered)

    def _factored(self, matrix: sp.csc_matrix) -> RefinedFactors:
        return RefinedFactors(matrix, self._soft, 3 if self._soft.any() else 1)

    def _right(self, x: np.ndarray) -> np.ndarray:
        """Return R x."""
        delta, w = x[: self.n], x[self.n :]
        motion, none = self.motion, np.zeros(self.motion.Bp.shape[0])
        return -np.concatenate([motion.M @ w + self._heavy @ delta, none, motion.Bv @ delta])

    def _whole(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return (delta, w) of a solution with its t, of a step from x."""
        delta, t = y[: self.n], y[self._F.shape[0] :]
        w = (x + self._X @ t)[: self.n] + self._shifted @ delta
        return np.concatenate([delta, w])


class RefinedFactors:
    """A sparse matrix, factored with a soft corner that is refined away.

    Parameters
    ----------
    matrix : (n, n)
    soft : (k,) array, k <= n
        Added to its diagonal, in the factors alone.
    times : int
        Refinements of a solution.
    """

    def __init__(self, matrix: sp.csc_matrix, soft: np.ndarray, times: int = 3) -> None:
        from scipy.sparse.linalg import splu

        corner = np.concatenate([soft, np.zeros(matrix.shape[0] - len(soft))])
        self.matrix, self.times = matrix, times
        self.factors = splu(sp.csc_matrix(matrix + sp.diags(corner)))

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """Return the solution."""
        y = self.factors.solve(right)
        for _ in range(self.times):
            y = y + self.factors.solve(right - self.matrix @ y)
        return np.asarray(y)
