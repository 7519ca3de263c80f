r"""Stability of an equilibrium, and its free motions.

Few motions are looked at in full. Of many, the eigenvalues x of
:math:`K\delta + B^T\mu = x M\delta,\; B\delta = 0` below any number are counted by the inertia of
:math:`K - xM` [1]_: a few counts bracket the lowest one that is not neutral; inverse iteration
between brackets finds it. What is unstable and what is neutral is counted without M, by the inertia
of :math:`K \pm \tau W`, where W has the size of the stiffness body by body and :math:`\tau` is
round-off: a neutral motion meets no stiffness but that of the springs which it does not stretch,
however heavy or light, stiff or soft the others are.

References
----------
.. [1] B. N. Parlett, The symmetric eigenvalue problem, SIAM, 1998, sections 3.3 and 10.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import HELD, NEUTRAL_MANY, ROUND_OFF
from mbd.linear.arnoldi import largest
from mbd.linear.inertia import Inertia
from mbd.model.model import Model
from mbd.small_motions.eigenvalues import dense, grows, sparse
from mbd.small_motions.minimal import minimal, sizes_of
from mbd.small_motions.small_motion import small_motion
from mbd.small_motions.spectrum import Pencil, is_real, spectrum
from mbd.statics.balance import Balance, SaddlePoint, Statics
from mbd.statics.curvature import Curvature

_FEW = 150  # velocities, up to which all motions are looked at


@dataclass(frozen=True, eq=False)
class Stability:
    """Smallest stiffness over mass [1/s^2], an increment downhill, bodies that move freely."""

    stable: bool
    stiffness: float
    downhill: np.ndarray | None
    free: tuple[str, ...]


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
        return Stability(True, np.inf, None, free)
    real = values.real
    lowest = int(np.argmin(real))
    growing = real[lowest] < 0.0
    flutter = ~is_real(values)
    stable = not (growing or flutter.any())
    downhill = shapes[:, lowest].real if growing else None
    if problem.turning and not stable and model.n_v <= NEUTRAL_MANY:
        s, _, _ = dense(minimal(small_motion(model, balance.state, problem.omega, True)))
        stable = not grows(s).any()
        downhill = None if stable else downhill
    return Stability(stable, float(real[lowest]), downhill, free)


def _counted(problem: Statics, balance: Balance) -> Stability | None:
    """Count what is unstable and what is free; None where forces have no potential."""
    model = problem.model
    curvature = Curvature(model, balance)
    if not (balance.K.count_nonzero() and curvature.symmetric):
        return None
    M = curvature.test.T @ model.assemble(balance.state).M
    try:
        return _bracketed(problem, _CountedSpectrum(model, curvature, M))
    except _UnclearError:
        return None


def _spectrum(problem: Statics, balance: Balance) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvalues of K against M, their shapes (n_v, k), and free motions (n_v, n)."""
    model = problem.model
    if model.n_v > NEUTRAL_MANY and balance.K.count_nonzero():  # else all that may move is free
        motion = small_motion(model, balance.state, problem.omega, True)
        if not problem.turning:  # no dampers, loads by their factor, no motion along any row
            none, rows = 0.0 * motion.M, sp.vstack([motion.Bp, motion.Bv], format="csr")
            motion = replace(motion, K=balance.K, G=none, G_size=none, Bp=rows, Bv=rows[:0],
                             H=rows[:0])  # fmt: skip
        s, shapes, _ = sparse(motion, 6)
        free = s == 0.0
        return -(s[~free] ** 2), shapes[:, ~free], shapes[:, free].real
    curvature = Curvature(model, balance)
    N, L = curvature.allowed, curvature.test @ curvature.allowed
    M = model.assemble(balance.state).M
    sizes = (np.abs(L).T @ sizes_of(model, x) @ np.abs(N) for x in (balance.K, M))
    solved = spectrum(Pencil(L.T @ (balance.K @ N), L.T @ (M @ N), *sizes))
    return solved.s, N @ solved.X.real, N @ np.hstack([N[:0].T, *solved.zeros[:1]])


def _movers(problem: Statics, shapes: np.ndarray) -> tuple[str, ...]:
    """Return the bodies that take part in some motions."""
    if not shapes.shape[1]:
        return ()
    amount = np.abs(shapes / problem.scale[:, None]).max(1)
    moved = set(problem.model.node_of_velocity[amount > 1e-6 * amount.max()].tolist())
    return tuple(name for i, name in enumerate(problem.model.nodes) if i in moved)


class _UnclearError(ArithmeticError):
    """Some pivot did not tell its sign."""


class _CountedSpectrum:
    """K against M on the motions that the rows allow."""

    def __init__(self, model: Model, curvature: Curvature, M: sp.csr_matrix) -> None:
        self.K, self.M = (0.5 * (x + x.T) for x in (curvature.K, M))
        self.B, W = curvature.B, curvature.W
        self.inertia = Inertia(model)
        size = ROUND_OFF
        while (
            model.n_v > NEUTRAL_MANY
            and size <= ROUND_OFF**0.5
            and None in (self._count_if_clear(size * W, x) for x in (-1.0, 1.0))
        ):  # else one looks at all of the spectrum
            size *= 10.0
        self.W = size * W

    def below(self, x: float) -> int:
        """Return the number of eigenvalues below x."""
        return self._count(self.M, x)

    def unstable(self) -> int:
        """Return the number of motions with a negative stiffness."""
        return self._count(self.W, -1.0)

    def neutral(self) -> int:
        """Return the number of motions that meet no stiffness."""
        return self._count(self.W, 1.0) - self.unstable()

    def at_most(self, x: float, n: int) -> bool:
        """Tell whether at most n eigenvalues are below x; so few too where pivots are too small."""
        count = self._count_if_clear(self.M, x)
        return count is None or count <= n

    def _count(self, of: sp.csr_matrix, x: float) -> int:
        count = self._count_if_clear(of, x)
        if count is None:
            raise _UnclearError
        return count

    def _count_if_clear(self, of: sp.csr_matrix, x: float) -> int | None:
        """Return the number of negative eigenvalues of K - x of; None if pivots are too small."""
        counts = (self.inertia.negative(self.K - y * of, self.B) for y in (x, 1.01 * x, 0.99 * x))
        return next((count for count in counts if count is not None), None)

    def near(self, x: float) -> tuple[float, np.ndarray]:
        """Return the eigenvalue nearest to x and its vector."""
        _, X, _ = largest(self._inverse(self.M, x), self.K.shape[0], 1)
        shapes = np.column_stack([X.real, X.imag])
        shapes = shapes[:, np.abs(shapes).max(0) > 1e-3 * np.abs(shapes).max()]
        over = np.einsum("ij,ij->j", shapes, self.K @ shapes)
        values = over / np.einsum("ij,ij->j", shapes, self.M @ shapes)
        best = int(np.argmin(np.abs(values - x)))
        return float(values[best]), shapes[:, best]

    def free(self) -> np.ndarray:
        """Return a random neutral motion, in which everything neutral takes part."""
        vector = np.random.default_rng(48271).normal(size=self.K.shape[0])
        inverse = self._inverse(self.W, -HELD / ROUND_OFF)
        for _ in range(8):
            vector = inverse(vector)
            vector = vector / np.abs(vector).max()
        return vector[:, None]

    def _inverse(self, of: sp.csr_matrix, x: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return v -> the delta that M v makes against K - x M; M may be W."""
        rows = np.zeros(self.B.shape[0])
        solver = SaddlePoint(sp.csr_matrix(self.K - x * of), self.B, sp.csr_matrix(self.B.T))
        return lambda v: solver.solve(of @ v, rows)[0]


def _bracketed(problem: Statics, counted: _CountedSpectrum) -> Stability:
    """Count and bracket, from round-off of the largest stiffness over mass on."""
    scale = sp.diags(problem.scale)
    stiff, heavy = (float(np.abs(scale @ x @ scale).max()) for x in (counted.K, counted.M))
    size = stiff / heavy
    freedoms, unstable, neutral = counted.below(1e8 * size), counted.unstable(), counted.neutral()
    free = _movers(problem, counted.free()) if neutral else ()
    step = float(np.finfo(float).eps) * size
    if unstable:
        while not counted.at_most(-step, 0):
            step *= 4.0
        return Stability(False, *counted.near(-step), free)
    if neutral == freedoms:
        return Stability(True, np.inf, None, free)
    low, high = step, 8.0 * step
    while counted.at_most(high, neutral):
        low, high = high, 8.0 * high
    while high > 1.5 * low:
        middle = np.sqrt(low * high)
        if counted.at_most(middle, neutral):
            low = middle
        else:
            high = middle
    return Stability(True, counted.near(low)[0], None, free)
