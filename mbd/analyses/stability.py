"""Stability of an equilibrium, and its free motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd.base.tolerances import NEUTRAL_MANY, UNSTABLE
from mbd.model.null_space import independent, null_space
from mbd.small_motions.eigenvalues import dense, grows, sparse
from mbd.small_motions.face_maps import test_map
from mbd.small_motions.metric import Metric
from mbd.small_motions.minimal import minimal, sizes_of
from mbd.small_motions.small_motion import small_motion
from mbd.small_motions.spectrum import Pencil, spectrum
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
    real = values.real
    lowest = int(np.argmin(real))
    growing = real[lowest] < 0.0
    flutter = np.abs(values.imag) > UNSTABLE * np.abs(values)
    stable = not (growing or flutter.any())
    downhill = shapes[:, lowest].real if growing else None
    if problem.turning and not stable and model.n_v <= NEUTRAL_MANY:
        s, _, _ = dense(minimal(small_motion(model, balance.state, problem.omega)))
        stable = not grows(s).any()
        downhill = None if stable else downhill
    return Stability(stable, float(real[lowest]), free, downhill)


def _counted(problem: Statics, balance: Balance) -> Stability | None:
    """Count what is unstable and what is free; None where forces have no potential."""
    model = problem.model
    test = test_map(model, balance.state).T
    M = test @ model.assemble(balance.state).M
    W = Metric(model, balance.state).stiff(balance.added)
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
        s, shapes, _ = sparse(motion, 6)
        free = s == 0.0
        return -(s[~free] ** 2), shapes[:, ~free], shapes[:, free].real
    size = Metric(model, balance.state).stiff(balance.added).diagonal() ** -0.5
    _, N = independent(null_space(balance.B, size), size)
    _, L = independent(null_space(balance.Bt.T, size), size)
    M = model.assemble(balance.state).M
    sizes = (np.abs(L).T @ sizes_of(model, x) @ np.abs(N) for x in (balance.K, M))
    solved = spectrum(Pencil(L.T @ (balance.K @ N), L.T @ (M @ N), *sizes))
    return solved.s, N @ solved.X.real, N @ np.hstack([N[:0].T, *solved.zeros[:1]])


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
