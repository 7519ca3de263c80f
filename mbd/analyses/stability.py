"""Stability of an equilibrium, and its free motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mbd.base.tolerances import NEUTRAL, NEUTRAL_MANY, UNSTABLE
from mbd.linear.null_space import null_space
from mbd.small_motions.eigenvalues import dense, sparse
from mbd.small_motions.face_maps import test_map
from mbd.small_motions.metric import Metric
from mbd.small_motions.minimal import minimal
from mbd.small_motions.small_motion import small_motion
from mbd.statics.balance import Balance, Statics
from mbd.statics.spectrum_slices import slices

_FEW = 150  # velocities, up to which all motions are looked at


@dataclass(frozen=True, eq=False)
class Stability:
    """Smallest stiffness over mass [1/s^2], bodies that move freely, an increment downhill."""

    stable: bool
    stiffness: float
    free: tuple[str, ...]
    downhill: np.ndarray | None


def stability(problem: Statics, balance: Balance) -> Stability:
    """Look at the stiffness on the motions that the rows allow, in a frame also at the growth."""
    model = problem.model
    if model.n_v > _FEW and not problem.turning:
        counted = _counted(problem, balance)
        if counted is not None:
            return counted
    values, shapes, freely = _spectrum(problem, balance)
    free = _movers(problem, freely)
    if not len(values):
        return Stability(True, np.inf, free, None)
    largest = float(np.abs(values).max())
    real = values.real
    lowest = int(np.argmin(real))
    growing = real[lowest] < 0.0
    flutter = np.abs(values.imag) > UNSTABLE * largest
    stable = not (growing or flutter.any())
    downhill = shapes[:, lowest].real if growing else None
    if problem.turning and not stable and model.n_v <= NEUTRAL_MANY:
        s, _ = dense(minimal(small_motion(model, balance.state, problem.omega)))
        stable = bool(np.all(s.real <= UNSTABLE * np.abs(s).max(initial=0.0)))
        downhill = None if stable else downhill
    return Stability(stable, float(real[lowest]), free, downhill)


def _counted(problem: Statics, balance: Balance) -> Stability | None:
    """Count what is unstable and what is free; None where forces have no potential."""
    model = problem.model
    test = test_map(model, balance.state).T
    M = test @ model.assemble(balance.state).M
    W = Metric(model, balance.state).stiff(balance.K)
    count = slices(model, test @ balance.K, M, W, balance.B, problem.scale)
    if count is None:
        return None
    stable = count.unstable == 0
    free = _movers(problem, count.neutral)
    return Stability(stable, count.lowest, free, None if stable else count.shape)


def _spectrum(problem: Statics, balance: Balance) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvalues of K against M, their shapes (n_v, k), and free motions (n_v, n)."""
    model = problem.model
    if model.n_v > NEUTRAL_MANY:
        motion = small_motion(model, balance.state, problem.omega)
        s, shapes = sparse(motion, 6)
        free = s == 0.0
        return -(s[~free] ** 2), shapes[:, ~free], shapes[:, free].real
    size = Metric(model, balance.state).stiff(balance.K).diagonal() ** -0.5
    N, L = null_space(balance.B, size), null_space(balance.Bt.T, size)
    if not N.shape[1]:
        return np.zeros(0), N, N
    K = L.T @ (balance.K @ N)
    M = L.T @ (model.assemble(balance.state).M @ N)
    left, sizes, right = np.linalg.svd(K)
    rank = int(np.count_nonzero(sizes > NEUTRAL * max(1.0, sizes[0])))
    # against what is free the others have no momentum: x^T M y = 0
    P = scipy.linalg.null_space(right[rank:] @ M.T)
    Q = scipy.linalg.null_space(left[:, rank:].T @ M)
    inverse, vectors = scipy.linalg.eig(P.T @ M @ Q, P.T @ K @ Q)
    return 1.0 / inverse, N @ (Q @ vectors.real), N @ right[rank:].T


def _movers(problem: Statics, shapes: np.ndarray) -> tuple[str, ...]:
    """Return the bodies that take part in some motions."""
    if not shapes.shape[1]:
        return ()
    amount = np.abs(shapes / problem.scale[:, None]).max(1)
    movers = []
    first = 0
    for name, body in problem.model.nodes.items():
        n = body.formulation.n_v
        if amount[first : first + n].max() > 1e-6 * amount.max():
            movers.append(name)
        first += n
    return tuple(movers)
