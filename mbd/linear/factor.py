"""The factors of an iteration matrix as a value: solutions with it and with its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.linear.fronts import factor_and_solve, factor_kernel, transposed_kernel
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

__all__ = ["Factor"]


class Factor:
    """The factors of the matrix that ``Workspace.linearise`` has filled; the work space goes on.

    Attributes
    ----------
    trusted : bool
        Whether all pivots were large enough.
    """

    def __init__(self, work: Workspace) -> None:
        self._I, self._F = work.I, work.F[: work.model.size].copy()
        self._order = np.concatenate([work.model.numbering.v, work.model.numbering.lam])
        S = m.integers(self._F)
        S[m.SMALL_PIVOTS] = 0
        factor_kernel(self._I, self._F)
        self.trusted = bool(S[m.SMALL_PIVOTS] == 0)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return S^-1 b, (n_v + n_lam,), velocities first, then rows, as in `labels`."""
        return self._solved(factor_and_solve, b)

    def solve_transposed(self, b: np.ndarray) -> np.ndarray:
        """Return S^-T b, with the same factors: what adjoint sensitivities need."""
        return self._solved(transposed_kernel, b)

    def _solved(self, kernel: Any, b: np.ndarray) -> np.ndarray:
        at = self._I[m.X] + self._order
        self._F[at] = b
        kernel(self._I, self._F)
        return self._F[at]
