"""Eigenvalues of largest size, by Arnoldi's method."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np


def largest(
    step: Callable[[np.ndarray], np.ndarray], start: np.ndarray, k: int, count: int,
    dtype: Any = float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the k largest eigenvalues of x -> step(x) and their vectors.

    ``count`` vectors are kept, more where ARPACK gives up: beyond an invariant space that they
    fill, it depends on round-off whether it finds shifts.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    n = len(start)
    # vectors that ARPACK draws are the same in every run: before scipy 1.17 without asking
    seed = {"rng": 0} if "rng" in signature(eigs).parameters else {}
    operator = LinearOperator((n, n), matvec=step, dtype=dtype)
    while True:
        try:
            values, vectors = eigs(operator, k=k, v0=start, ncv=count, **seed)
        except ArpackError:
            if count == n:
                raise
            count = min(count + k, n)
        else:
            return values, vectors
