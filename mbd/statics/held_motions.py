r"""Newton's step with a singular stiffness: motions without stiffness are held.

Such motions shall stay where they are. With a little stiffness W added, :math:`A = K + \epsilon W`
on the motions that the rows allow,

.. math:: \delta = -A^{-1} K A^{-1} g

is Newton's step where the stiffness is well above :math:`\epsilon W`, and zero where there is none,
whatever round-off leaves of g there. W has the size of the stiffness body by body.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mbd.statics.balance import SaddlePoint


class HeldTangent:
    """The matrix [[K + W, B^T], [B, 0]], factored; W is small."""

    def __init__(
        self, K: sp.csr_matrix, W: sp.csr_matrix, B: sp.csr_matrix, Bt: sp.csr_matrix
    ) -> None:
        self.W, self.none = W, np.zeros(B.shape[0])
        self.point = SaddlePoint(sp.csr_matrix(K + W), B, Bt)

    def step(self, g: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Return delta for out-of-balance forces and open rows; not finite where singular."""
        delta, back = self.parts(g, gap)
        return delta - back

    def parts(self, g: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step with W added and what of it is taken back."""
        delta, _ = self.point.solve(-g, -gap)
        return delta, self.point.solve(self.W @ delta, self.none)[0]
