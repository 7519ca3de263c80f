r"""Floor 4. The slowest motion of a large model, by slices of its spectrum.

The eigenvalues x of :math:`K\delta + B^T\mu = x M\delta,\; B\delta = 0` below any number are
counted by the inertia of :math:`K - xM` [1]_. A few counts tell what is unstable and what is
neutral, and bracket the lowest of the others; inverse iteration between brackets finds it.

References
----------
.. [1] B. N. Parlett, The symmetric eigenvalue problem, SIAM, 1998, sections 3.3 and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.algebra.tolerances import NEUTRAL, NEUTRAL_VECTORS, SYMMETRIC
from mbd.model.model import Model
from mbd.solvers.inertia import Inertia
from mbd.solvers.statics import SaddlePoint

__all__ = ["Slices", "slices"]


@dataclass(frozen=True, eq=False)
class Slices:
    """Counts of eigenvalues; the lowest that is not neutral with its shape; neutral motions."""

    unstable: int
    lowest: float
    shape: np.ndarray
    neutral: np.ndarray


class _UnclearError(ArithmeticError):
    """Some pivot did not tell its sign."""


class _Spectrum:
    """K against M on the motions that the rows allow."""

    def __init__(self, model: Model, K: sp.csr_matrix, M: sp.csr_matrix, B: sp.csr_matrix) -> None:
        self.K, self.M, self.B = K, M, B
        self.inertia = Inertia(model)

    def below(self, x: float) -> int:
        """Return the number of eigenvalues below x."""
        for shifted in (x, 1.01 * x, 0.99 * x):
            count = self.inertia.negative(self.K - shifted * self.M, self.B)
            if count is not None:
                return count
        raise _UnclearError

    def near(self, x: float) -> tuple[float, np.ndarray]:
        """Return the eigenvalue nearest to x and its vector."""
        from scipy.sparse.linalg import LinearOperator, eigs

        n = self.K.shape[0]
        rng = np.random.default_rng(40961)
        start = self.solved(x, rng.normal(size=(n, 1)), 2)[:, 0]
        inverse = self._inverse(x)
        operator = LinearOperator((n, n), matvec=inverse, dtype=float)
        _, X = eigs(operator, k=2, v0=start, ncv=min(20, n))  # of one alone ARPACK may miss a twin
        shapes = np.column_stack([X.real, X.imag])
        shapes = shapes[:, np.abs(shapes).max(0) > 1e-3 * np.abs(shapes).max()]
        over = np.einsum("ij,ij->j", shapes, self.K @ shapes)
        values = over / np.einsum("ij,ij->j", shapes, self.M @ shapes)
        best = int(np.argmin(np.abs(values - x)))
        return float(values[best]), shapes[:, best]

    def solved(self, x: float, vectors: np.ndarray, times: int) -> np.ndarray:
        """Return vectors after inverse iteration with the shift x."""
        inverse = self._inverse(x)
        for _ in range(times):
            vectors = np.column_stack([inverse(v) for v in vectors.T])
            vectors = vectors / np.abs(vectors).max(0)
        return vectors

    def _inverse(self, x: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return v -> the delta that M v makes against K - x M."""
        rows = np.zeros(self.B.shape[0])
        solver = SaddlePoint(sp.csr_matrix(self.K - x * self.M), self.B, sp.csr_matrix(self.B.T))
        return lambda v: solver.solve(self.M @ v, rows)[0]


def slices(
    model: Model, K: sp.csr_matrix, M: sp.csr_matrix, B: sp.csr_matrix, scale: np.ndarray
) -> Slices | None:
    """Return what the counts say; None where K is not symmetric, or they say nothing.

    Parameters
    ----------
    K, M : (n_v, n_v)
        Stiffness and mass, rows tested as increments are.
    scale : (n_v,) array
        Size of a small change of each velocity.
    """
    weighted = sp.diags(scale) @ K @ sp.diags(scale)
    mass = float(np.abs(sp.diags(scale) @ M @ sp.diags(scale)).max())
    size = float(np.abs(weighted).max()) if K.nnz else 0.0
    if size == 0.0 or np.abs(weighted - weighted.T).max() > SYMMETRIC * size:
        return None
    spectrum = _Spectrum(model, 0.5 * (K + K.T), 0.5 * (M + M.T), B)
    try:
        return _counted(spectrum, size / mass)
    except _UnclearError:
        return None


def _counted(spectrum: _Spectrum, size: float) -> Slices:
    """Count and bracket."""
    below = spectrum.below
    largest, freedoms = 10.0 * size, below(1e8 * size)
    while below(largest) < freedoms:
        largest *= 10.0
    while freedoms and largest > 1e-12 * size and below(0.3 * largest) == freedoms:
        largest *= 0.3
    least = NEUTRAL * largest
    unstable = below(-least)
    neutral = below(least) - unstable
    n = spectrum.K.shape[0]
    free = np.zeros((n, 0))
    if neutral:
        random = np.random.default_rng(48271).normal(size=(n, NEUTRAL_VECTORS))
        free = spectrum.solved(-0.5 * least, random, 8)
    if unstable:
        far = -least
        while below(far):
            far *= 2.0
        return Slices(unstable, *spectrum.near(far), free)
    if neutral == freedoms:
        return Slices(0, np.inf, np.zeros(n), free)
    low, high = least, 8.0 * least
    while below(high) == neutral:
        low, high = high, 8.0 * high
    while high > 1.5 * low:
        middle = np.sqrt(low * high)
        if below(middle) == neutral:
            low = middle
        else:
            high = middle
    return Slices(0, *spectrum.near(low), free)
