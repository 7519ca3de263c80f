r"""Small motions in independent coordinates.

.. math:: \delta = N_p\,\eta, \qquad w = N\,\zeta + W\,\eta, \qquad
          B_p N_p = 0, \quad \begin{bmatrix} B_p \\ B_v \end{bmatrix} N = 0, \quad
          \begin{bmatrix} B_p \\ B_v \end{bmatrix} W
          = -\begin{bmatrix} B_p A \\ H \end{bmatrix} N_p

and the equations of motion tested with the left null space :math:`L^T B^T = 0`. The independent
coordinates :math:`\eta` and rates :math:`\zeta` are entries of :math:`\delta` and w themselves.

About a motion that is not steady the bases change with time. From the rates of the rows,

.. math:: B w + R\delta = 0, \qquad B\dot w + P w + Q\delta = 0, \qquad
          \dot w = N\dot\zeta + V x

with :math:`R = \partial\dot\Phi/\partial q`, :math:`P = \partial\ddot\Phi/\partial v`,
:math:`Q = \partial\ddot\Phi/\partial q`; V has no part along :math:`\zeta`. In coordinates that
are carried along by a steady motion R = B A, and :math:`V x = W\dot\eta`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mbd.base.tolerances import ROUND_OFF
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.null_space import independent, null_space
from mbd.small_motions.row_slopes import RowSlopes
from mbd.small_motions.small_motion import SmallMotion
from mbd.small_motions.spectrum import Pencil


@dataclass(frozen=True, eq=False)
class Bases:
    """Independent coordinates: where they are, and what depends on them; V (n_v, n), or W eta'."""

    positions: np.ndarray
    velocities: np.ndarray
    Np: np.ndarray
    N: np.ndarray
    W: np.ndarray
    V: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Minimal:
    r"""The pencil of :math:`x = (\eta, \zeta)`, :math:`E\dot x = A x`, and what x stands for.

    Attributes
    ----------
    pencil : Pencil
    L : (n_v, f)
        Left null space; loads f on the rows enter as :math:`(L^TMN)^{-1}L^Tf`.
    mass : (f, f)
        :math:`L^T M N`.
    """

    motion: SmallMotion
    bases: Bases
    pencil: Pencil
    L: np.ndarray
    mass: np.ndarray

    @cached_property
    def S(self) -> np.ndarray:
        """The state matrix :math:`E^{-1}A`."""
        k = self.n_positions
        A = self.pencil.A
        return np.vstack([A[:k], np.linalg.solve(self.mass, A[k:])])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the states: coordinates, then rates."""
        names = self.motion.model.numbering.v_labels
        b = self.bases
        return (*(names[i] for i in b.positions), *(f"{names[i]} rate" for i in b.velocities))

    @property
    def n_positions(self) -> int:
        """Number of independent coordinates."""
        return len(self.bases.positions)

    def positions(self, x: np.ndarray) -> np.ndarray:
        """Return delta (n_v, ...) of states (n, ...)."""
        return self.bases.Np @ x[: self.n_positions]

    def velocities(self, x: np.ndarray) -> np.ndarray:
        """Return w (n_v, ...) of states (n, ...)."""
        k = self.n_positions
        return self.bases.N @ x[k:] + self.bases.W @ x[:k]

    def rates(self, x: np.ndarray) -> np.ndarray:
        """Return the time derivative of delta (n_v, ...) of states (n, ...)."""
        return self.velocities(x) + self.motion.A @ self.positions(x)

    def sizes(self) -> tuple[np.ndarray, float]:
        """Return the size of a small change of each state, and the fastest rate in S [1/s].

        Rates are compared with coordinates over the time of the fastest motion.
        """
        scale, b, k = self.motion.scale, self.bases, self.n_positions
        size = np.concatenate([scale[b.positions], scale[b.velocities]])
        balanced = np.abs(self.S * size / size[:, None])
        stiff = balanced[k:, :k].max(initial=0.0) ** 0.5
        rest = max(balanced[k:, k:].max(initial=0.0), balanced[:k, :k].max(initial=0.0))
        fastest = float(max(stiff, rest))
        size[k:] *= fastest or 1.0
        return size, fastest

    def driven(self, loads: np.ndarray) -> np.ndarray:
        """Return what loads (n_v, k) on the rows of the residual do to the states, (n, k)."""
        zeta = np.linalg.solve(self.mass, self.L.T @ loads)
        return np.concatenate([np.zeros((self.n_positions, zeta.shape[1])), zeta])

    def multipliers(self, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest mu = R x + Q u for states x and loads u, as R and Q."""
        motion, b, k = self.motion, self.bases, self.n_positions
        unit = np.eye(len(self.S))
        accelerate = b.N @ self.S[k:] + (b.W @ self.S[:k] if b.V is None else b.V)
        used = (
            motion.M @ accelerate
            + motion.G @ self.velocities(unit)
            + motion.K @ self.positions(unit)
        )
        direct = motion.M @ (b.N @ self.driven(loads)[k:]) - loads
        back = np.linalg.pinv(motion.Bt.toarray(), rcond=1e-10)
        return -back @ used, -back @ direct


def bases(motion: SmallMotion) -> Bases:
    """Choose independent coordinates and rates."""
    scale = motion.scale
    Np = null_space(motion.Bp, scale).toarray()
    positions, Np = independent(Np, scale)
    if motion.Bv.shape[0]:
        rows = sp.vstack([motion.Bp, motion.Bv]).toarray()
        N = null_space(rows, scale).toarray()
        velocities, N = independent(N, scale)
    else:
        rows, N, velocities = motion.Bp.toarray(), Np, positions
    if not motion.carried:
        return _changing(motion, rows, Bases(positions, velocities, Np, N, np.zeros_like(Np)))
    right = sp.vstack([motion.Bp @ motion.A, motion.H]) @ Np
    return Bases(positions, velocities, Np, N, _beside(motion, rows, right, N, velocities))


def _beside(
    motion: SmallMotion, rows: np.ndarray, right: np.ndarray, N: np.ndarray, velocities: np.ndarray
) -> np.ndarray:
    """Return X with rows X = -right, nothing of it in the independent velocities."""
    if not right.any():
        return np.zeros((rows.shape[1], right.shape[1]))
    scale = motion.scale
    X = -scale[:, None] * scipy.linalg.lstsq(rows * scale, right, cond=1e-11)[0]
    return X - N @ X[velocities]


def _changing(motion: SmallMotion, rows: np.ndarray, b: Bases) -> Bases:
    """Return W and V by the rates of the rows, at an instant of any motion."""
    slopes = RowSlopes(motion.model, motion.state)
    first, second = slopes.along(b.Np)
    W = _beside(motion, rows, first, b.N, b.velocities)
    by_position = second + slopes.by_velocity(W)
    right = np.hstack([by_position, slopes.by_velocity(b.N)])
    return replace(b, W=W, V=_beside(motion, rows, right, b.N, b.velocities))


def minimal(motion: SmallMotion, b: Bases | None = None, *, alike: bool = False) -> Minimal:
    """Return the state matrix in independent coordinates.

    ``alike``: rows are tested with the motions that they allow, whatever round-off says.
    """
    b = bases(motion) if b is None else b
    L = b.N
    if not (alike or _tested_alike(motion, b.N)):
        _, L = independent(null_space(motion.Bt.T, motion.scale).toarray(), motion.scale)
    mass = L.T @ (motion.M @ b.N)
    _check(motion, mass)
    A, E = _blocks(motion.M, motion.G, motion.K, motion.A, L, b)
    V = None if b.V is None else np.abs(b.V)
    added = Bases(b.positions, b.velocities, np.abs(b.Np), np.abs(b.N), np.abs(b.W), V)
    M_size, G_size, K_size, A_size = (
        sizes_of(motion.model, x)
        for x in (_size(motion, "M"), motion.G_size, _size(motion, "K"), motion.A_size)
    )
    sizes = _blocks(M_size, G_size, K_size, A_size, np.abs(L), added)
    return Minimal(motion, b, Pencil(A, E, np.abs(sizes[0]), sizes[1]), L, mass)


def _size(motion: SmallMotion, which: str) -> sp.csr_matrix:
    """Return the sizes of the entries of M or K."""
    size = getattr(motion, f"{which}_size")
    return getattr(motion, which) if size is None else size


def sizes_of(model: Model, matrix: sp.csr_matrix) -> np.ndarray:
    """Return the largest entries between vectors of coordinates, which do not depend on axes."""
    codes = model.I[model.I[m.UNKNOWN_KIND] + model.numbering.v]
    _, vector = np.unique(np.stack([model.node_of_velocity, codes]), axis=1, return_inverse=True)
    entries = sp.coo_matrix(abs(matrix))
    largest = np.zeros((vector.max(initial=-1) + 1,) * 2)
    np.maximum.at(largest, (vector[entries.row], vector[entries.col]), entries.data)
    return largest[vector][:, vector]


def _tested_alike(motion: SmallMotion, N: np.ndarray) -> bool:
    """Tell whether motions that the rows allow need no forces of the rows, but for round-off."""
    work = np.abs(motion.Bt.T @ N)
    return bool((work <= ROUND_OFF * (abs(motion.Bt).T @ np.abs(N))).all())


def _blocks(M: Any, G: Any, K: Any, A: Any, L: np.ndarray, b: Bases) -> tuple[Any, Any]:
    r"""Return A and E of :math:`E\dot x = A x`; of absolute values, their sizes."""
    slope = (b.W + A @ b.Np)[b.positions]
    straight = b.N[b.positions]
    k = slope.shape[1]
    V = b.W @ np.hstack([slope, straight]) if b.V is None else b.V
    by_position = L.T @ (G @ b.W + K @ b.Np + M @ V[:, :k])
    by_rate = L.T @ (G @ b.N + M @ V[:, k:])
    lower = -np.hstack([by_position, by_rate])
    E = scipy.linalg.block_diag(np.eye(len(b.positions)), L.T @ (M @ b.N))
    return np.vstack([np.hstack([slope, straight]), lower]), E


def _check(motion: SmallMotion, mass: np.ndarray) -> None:
    """Refuse a mass matrix that is singular on the allowed motions."""
    if mass.shape[0] != mass.shape[1] or (
        mass.size and not np.linalg.cond(mass) < 1.0 / np.finfo(float).eps
    ):
        raise ValueError(
            f"{motion.model!r}: the mass matrix is singular on the motions that the constraints "
            "allow; check masses and inertias"
        )


def changed(
    motion: SmallMotion, P: sp.csr_matrix, rate: sp.csr_matrix | None = None,
    tests: sp.csr_matrix | None = None,
) -> SmallMotion:  # fmt: skip
    """Return the same motion in other coordinates, delta = P delta', w = P w'.

    P may change at a ``rate``; rows of the residual may be tested with increments ``tests``.
    """
    back = _inverse(P)
    rate = sp.csr_matrix(P.shape) if rate is None else rate
    T = sp.eye_array(P.shape[0], format="csr") if tests is None else sp.csr_matrix(tests.T)
    M, G_size = T @ motion.M, motion.G_size @ abs(P) + abs(motion.M) @ abs(rate)
    return replace(
        motion, M=M @ P, G=T @ motion.G @ P + M @ rate, K=T @ motion.K @ P,
        A=back @ (motion.A @ P - rate), A_size=abs(back) @ (motion.A_size @ abs(P) + abs(rate)),
        G_size=abs(T) @ G_size, Bp=motion.Bp @ P, Bv=motion.Bv @ P, H=motion.H @ P,
        Bt=T @ motion.Bt, M_size=abs(T) @ abs(_size(motion, "M")) @ abs(P),
        K_size=abs(T) @ abs(_size(motion, "K")) @ abs(P),
    )  # fmt: skip


def _inverse(P: sp.csr_matrix) -> sp.csr_matrix:
    """Return the pseudo-inverse, of each of the parts that nothing couples."""
    n = P.shape[0]
    none = sp.csr_matrix((n, n))
    _, part = connected_components(sp.block_array([[none, P], [P.T, none]]), directed=False)
    back = sp.lil_array((n, n))
    for k in range(part.max(initial=-1) + 1):
        rows, columns = np.flatnonzero(part[:n] == k), np.flatnonzero(part[n:] == k)
        if len(rows) and len(columns):
            back[np.ix_(columns, rows)] = np.linalg.pinv(P[rows][:, columns].toarray())
    back = sp.csr_matrix(back)
    back.data[np.abs(back.data) <= ROUND_OFF * np.abs(back.data).max(initial=0.0)] = 0.0
    back.eliminate_zeros()
    return back
