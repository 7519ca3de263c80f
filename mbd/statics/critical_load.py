r"""The first critical point on a path of equilibria: the load factor at which K becomes singular.

On the path q(f), :math:`\lambda(f)` the matrix of small motions is a function of the load factor
alone, and Newton's method for the eigenvalue f of

.. math:: A(f)\,x = 0, \qquad A = \begin{bmatrix} K & B^T \\ B & 0 \end{bmatrix}

goes from f to the next root of :math:`A(f) + \mu A'(f)` [1]_. The derivative is a difference
between poses to both sides on the tangent of the path,

.. math:: A\,(q', \lambda') = -\left(\frac{\partial g}{\partial f}, 0\right) .

Steps go no further than the pose may turn or move in one. A factor at which more motions are
unstable than at the start lies beyond the first critical one; just below it there are no more.

References
----------
.. [1] A. Ruhe, Algorithms for the nonlinear eigenvalue problem, SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import CRITICAL_FAR, CRITICAL_RESOLVED, CRITICAL_STEPS, REST_TURN
from mbd.linear.arnoldi import largest
from mbd.linear.inertia import Inertia
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.face_maps import test_map
from mbd.statics.balance import Balance, SaddlePoint, Statics
from mbd.statics.descent import nearest
from mbd.statics.search import EquilibriumError

_DENSE = 200  # unknowns, up to which all roots are computed
_NEAR = math.sqrt(CRITICAL_RESOLVED)  # of what is so small the square is not resolved


def first_critical(
    problem: Statics, start: Balance, base: float
) -> tuple[State, float, np.ndarray] | None:
    """Return pose, load factor and shape (n_v,) of the first critical point beyond a factor.

    None where none is met.
    """
    inertia = Inertia(problem.model)
    at, factor, low, high = start, base, base, np.inf
    usual, farthest = _unstable(inertia, at), np.inf
    for _ in range(CRITICAL_STEPS):
        roots, shapes, reach = _roots(problem, at, factor)
        ahead = factor + roots
        close = np.abs(roots) <= CRITICAL_RESOLVED * np.abs(ahead)
        inside = np.flatnonzero(close | ((ahead > low) & (ahead < high)))
        if len(inside):
            first = inside[np.argmin(ahead[inside])]
            if close[first]:
                critical = float(ahead[first])
                before = nearest(problem, at.state, critical * (1.0 - _NEAR), 100).balance
                if _unstable(inertia, before) != usual or _stays(problem, at, critical, usual):
                    return None
                return at.state, critical, shapes[:, first]
            wanted = min(float(ahead[first]), factor + reach)
            farthest = min(farthest, factor + CRITICAL_FAR * reach)
        elif np.isfinite(high):
            wanted = 0.5 * (low + high)
        else:
            return None
        if wanted > farthest:  # the pose has stopped moving
            return None
        while True:
            try:
                at = nearest(problem, at.state, wanted, 100).balance
                break
            except EquilibriumError:  # perhaps behind a limit point
                if abs(wanted - factor) <= CRITICAL_RESOLVED * abs(wanted):
                    return None
                high = min(high, wanted)
                wanted = 0.5 * (factor + wanted)
        factor = wanted
        if _unstable(inertia, at) > usual:
            high = min(high, factor)
        else:
            low = max(low, factor)
    return None


def _stays(problem: Statics, at: Balance, critical: float, usual: int) -> bool:
    """Tell whether the pose is as stable beyond a factor; beyond a limit point there is none."""
    try:
        behind = nearest(problem, at.state, critical * (1.0 + _NEAR), 100).balance
    except EquilibriumError:
        return False
    return _unstable(Inertia(problem.model), behind) <= usual


def _unstable(inertia: Inertia, at: Balance) -> int:
    """Return the number of unstable motions; forces without a potential count as they push."""
    K = test_map(inertia.model, at.state).T @ at.K
    return inertia.negative(sp.csr_matrix(K), at.B) or 0


def _roots(problem: Statics, at: Balance, factor: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the real roots mu of A(f) + mu A'(f) next to zero, and their shapes (n_v, k).

    And how far the load factor may go until the pose has moved much.
    """
    model, rows = problem.model, np.zeros(at.B.shape[0])
    point = SaddlePoint(at.K, at.B, at.Bt)
    move, change = point.solve(-problem.load(at.state), rows)
    size = float(np.abs(move / model.units).max())
    if not np.isfinite(size):
        return np.zeros(0), np.zeros((model.n_v, 0)), np.inf
    h = min(1.0, _NEAR / max(size, _NEAR))
    ends = []
    for s in (h, -h):
        state = displaced(model, at.state, s * move)
        ends.append(problem.at(state.replace(lam=at.state.lam + s * change), factor + s))
    K, Bt, B = ((getattr(ends[0], x) - getattr(ends[1], x)) / (2 * h) for x in ("K", "Bt", "B"))
    slope = sp.csr_matrix(sp.block_array([[K, Bt], [B, None]]) if len(rows) else K)
    inverse, shapes = _largest(point, slope)
    inverse, shapes = inverse[np.abs(inverse) > 0.0], shapes[:, np.abs(inverse) > 0.0]
    real = np.abs(inverse.imag) <= 1e-6 * np.abs(inverse)
    reach = REST_TURN / max(size, np.finfo(float).tiny)
    return -1.0 / inverse[real].real, shapes[: model.n_v, real].real, reach


def _largest(point: SaddlePoint, slope: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of A^-1 A' and their vectors."""
    n = slope.shape[0]

    def solved(x: np.ndarray) -> np.ndarray:
        y = slope @ x
        return np.concatenate(point.solve(y[: point.n], y[point.n :]))

    if n <= _DENSE:
        values, vectors = np.linalg.eig(solved(np.eye(n)))
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = largest(solved, start, 8, 20)
    return values, vectors
