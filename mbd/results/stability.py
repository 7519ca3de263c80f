"""Floor 5. Whether an equilibrium is stable, and what moves freely there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mbd.algebra.tolerances import NEUTRAL
from mbd.solvers.eigen import dense, sparse
from mbd.solvers.face_maps import test_map
from mbd.solvers.minimal import minimal
from mbd.solvers.nullspace import null_space
from mbd.solvers.slices import slices
from mbd.solvers.small_motion import small_motion
from mbd.solvers.statics import Balance, Statics

__all__ = ["Stability", "stability"]

_FEW = 150  # velocities, up to which all motions are looked at
_MANY = 900  # above which, where forces have no potential, only the slowest motions are


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
        found = _counted(problem, balance)
        if found is not None:
            return found
    values, shapes, largest = _spectrum(problem, balance)
    if not len(values):
        return Stability(True, np.inf, (), None)
    neutral = np.abs(values) <= NEUTRAL * largest
    free = _movers(problem, shapes[:, neutral])
    real = values.real
    lowest = int(np.argmin(np.where(neutral, np.inf, real)))
    stiffness = np.inf if neutral.all() else float(real[lowest])
    growing = (real < 0.0) & ~neutral
    flutter = np.abs(values.imag) > 1e-7 * largest
    stable = not (growing.any() or flutter.any())
    downhill = shapes[:, lowest].real if growing.any() else None
    if problem.turning and not stable and model.n_v <= _MANY:
        s, _ = dense(minimal(small_motion(model, balance.state, problem.omega)))
        stable = bool(np.all(s.real <= 1e-7 * np.abs(s).max(initial=0.0)))
        downhill = None if stable else downhill
    return Stability(stable, stiffness, free, downhill)


def _counted(problem: Statics, balance: Balance) -> Stability | None:
    """Count what is unstable and what is free; None where forces have no potential."""
    model = problem.model
    test = test_map(model, balance.state).T
    M = test @ model.assemble(balance.state).M
    found = slices(model, test @ balance.K, M, balance.B, problem.scale)
    if found is None:
        return None
    stable = found.unstable == 0
    free = _movers(problem, found.neutral)
    return Stability(stable, found.lowest, free, None if stable else found.shape)


def _spectrum(problem: Statics, balance: Balance) -> tuple[np.ndarray, np.ndarray, float]:
    """Return eigenvalues of K against M, their shapes (n_v, k), and the size of the largest."""
    scale = problem.scale
    if problem.model.n_v > _MANY:
        motion = small_motion(problem.model, balance.state, problem.omega)
        s, shapes = sparse(motion, 6)
        diagonal = np.abs(balance.K).diagonal() * scale**2
        return -(s**2), shapes, float(diagonal.max())
    N = null_space(balance.B, scale)
    L = null_space(balance.Bt.T, scale)
    if not N.shape[1]:
        return np.zeros(0), N, 0.0
    M = problem.model.assemble(balance.state).M
    values, vectors = scipy.linalg.eig(L.T @ (balance.K @ N), L.T @ (M @ N))
    return values, N @ vectors.real, float(np.abs(values).max())


def _movers(problem: Statics, shapes: np.ndarray) -> tuple[str, ...]:
    """Return the bodies that take part in some motions."""
    if not shapes.shape[1]:
        return ()
    amount = np.abs(shapes / problem.scale[:, None]).max(1)
    found = []
    first = 0
    for name, body in problem.model.system.bodies.items():
        n = body.formulation.n_v
        if amount[first : first + n].max() > 1e-6 * amount.max():
            found.append(name)
        first += n
    return tuple(found)
