r"""Curvatures of the energy at a balance: the stiffness on the motions that the rows allow.

Rows of K are tested as increments are: with T, :math:`Z T = Y`, the curvature along a motion is
:math:`\delta^T T^T K\,\delta`, symmetric where forces have a potential. What is round-off of it is
told by the sizes of what is added; stiffness is compared with W, that of the bodies.
"""

from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mbd.base.tolerances import ROUND_OFF
from mbd.linear.inertia import Inertia
from mbd.model.model import Model
from mbd.model.null_space import independent, null_space
from mbd.small_motions.face_maps import test_map
from mbd.small_motions.metric import Metric
from mbd.small_motions.spectrum import is_real
from mbd.statics.balance import Balance, SaddlePoint


class Curvature:
    """K (n_v, n_v) tested as increments are, W of the size of the stiffness body by body, rows B.

    Parameters
    ----------
    model : Model
    balance : Balance
    W : (n_v, n_v), optional
        Default that of the pose.
    """

    def __init__(self, model: Model, balance: Balance, W: sp.csr_matrix | None = None) -> None:
        self.model, self.at, self.B = model, balance, balance.B
        self.test = test_map(model, balance.state)
        self.W = Metric(model, balance.state).stiff(balance.added) if W is None else W

    @cached_property
    def K(self) -> sp.csr_matrix:
        """The stiffness, rows tested."""
        return sp.csr_matrix(self.test.T @ self.at.K)

    @cached_property
    def symmetric(self) -> bool:
        """Whether K is symmetric but for round-off on the motions that the rows allow."""
        weight, units = sp.diags(self.model.units**-2.0), self.model.units
        onto = SaddlePoint(weight, self.B, sp.csr_matrix(self.B.T))
        some = np.random.default_rng(48271).normal(size=(2, self.model.n_v)) / units
        x, y = (onto.solve(s, np.zeros(self.B.shape[0]))[0] for s in some)
        K = self.K
        return bool(abs(x @ (K @ y) - y @ (K @ x)) <= ROUND_OFF * (abs(x) @ (abs(K) @ abs(y))))

    @property
    def allowed(self) -> np.ndarray:
        """A basis (n_v, f) of the motions that the rows allow."""
        return self._allowed(self.B)

    def negative(self, inertia: Inertia, free: np.ndarray) -> int:
        """Return the number of negative curvatures, apart from motions (n_v, k) that are free.

        By inertia where K is symmetric; else real negative eigenvalues count.
        """
        count = None
        if self.symmetric and not free.shape[1]:
            count = inertia.negative(self.K, self.B)
        return self._counted_in_full(free) if count is None else count

    def _allowed(self, rows: sp.csr_matrix) -> np.ndarray:
        size = self.W.diagonal() ** -0.5
        return independent(null_space(rows, size).toarray(), size)[1]

    def _counted_in_full(self, free: np.ndarray) -> int:
        """Return the number of negative curvatures, from all of K on the allowed motions."""
        X = sp.csr_matrix(self.model.units[:, None] ** -2.0 * free)
        N = self._allowed(sp.csr_matrix(sp.vstack([self.B, X.T])))
        A = N.T @ (self.K @ N)
        even = np.abs(A).max(axis=1, initial=0.0)
        even = np.where(even > 0.0, even, 1.0) ** -0.5
        A = even[:, None] * A * even
        if self.symmetric:
            _, D, _ = scipy.linalg.ldl(0.5 * (A + A.T))
            return int(np.count_nonzero(scipy.linalg.eigvalsh(D) < 0.0))
        values = np.linalg.eigvals(A)
        return int(np.count_nonzero(values[is_real(values)].real < 0.0))
