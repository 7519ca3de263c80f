r"""Elements of a beam: flexibility of a piece, and masses fitted to its nodes.

**Stiffness.** Of a piece between the sections a and b, with the mid frame
:math:`R_m = R_a\exp(\tfrac12\log(R_a^TR_b))`, :math:`r_m = \tfrac12(r_a + r_b)`, force and moment
(N, M) at the mid frame load a section at s by :math:`\sigma(s) = Q(s)\,(N, M)`,

.. math:: A = R_0(s)^T R_m, \quad \varrho = R_m^T(r_m - r_0(s)), \quad
   Q = \begin{bmatrix} A & 0 \\ A\tilde\varrho & A \end{bmatrix}, \qquad
   S = \int Q^T C^{-1} Q\,ds .

With :math:`B_b` the derivative of the strains of the helicoid by motions of b,

.. math:: J = B_b \begin{bmatrix} R_m & -\tilde\ell R_m \\ 0 & R_m \end{bmatrix}, \quad
          \ell = r_b - r_m, \qquad K = J^{-T} S^{-1} J^{-1} .

So the element is exact for every load at its nodes as long as displacements are small, whatever
taper, twist, sweep and coupling; nothing locks.

**Mass.** With :math:`L_a` the Lagrange polynomials on the (up to four) nodes of a smooth piece that
are nearest to an element, :math:`\hat A_a = \mathrm{diag}(1, R_a^TR_0(s))` and w per length,

.. math:: W_a = \int L_a\,\hat A_a\,w\,\hat A_a^T\,ds :

mass, centre of mass and inertia of a straight beam are exact, loads :math:`\int L_a q\,ds` of
fourth order. Where that gives a node no mass, linear polynomials take their place; where its
second moments about the centre of mass are those of no body (in strong curves), for these alone.
"""

from dataclasses import dataclass

import numpy as np

from mbd.algebra.rotations import tilde
from mbd.beams.curve import ReferenceCurve
from mbd.beams.helicoids import logarithm

_X, _W = np.polynomial.legendre.leggauss(6)
_CUBIC, _LINEAR = 4, 2  # nodes of the polynomials


@dataclass(frozen=True)
class BeamMesh:
    """Nodes and elements of a beam.

    Attributes
    ----------
    s : (n + 1,) array [m]
        Length at the nodes.
    piece : (n,) array
        Smooth piece in which an element lies.
    at, weight : (n, 6) arrays [m]
        Gauss points of the elements.
    line, frames : (n, 8, 3), (n, 8, 3, 3) arrays [m], [-]
        Position and section axes at the first end, the Gauss points and the last end of an element.
    mass : (n + 1, 4, 4) array [kg, kg m, kg m^2]
        Of the nodes.
    linear : bool
        Whether the masses of some piece are shared by linear polynomials.
    """

    s: np.ndarray
    piece: np.ndarray
    at: np.ndarray
    weight: np.ndarray
    line: np.ndarray
    frames: np.ndarray
    mass: np.ndarray
    linear: bool

    @property
    def position(self) -> np.ndarray:
        """Positions of the nodes (n + 1, 3) [m]."""
        return np.concatenate([self.line[:, 0], self.line[-1:, -1]])

    @property
    def rotation(self) -> np.ndarray:
        """Axes of the nodes (n + 1, 3, 3): at a corner those of the piece after it."""
        return _of_nodes(self.frames)

    def integral(self, values: np.ndarray) -> np.ndarray:
        """Return integrals of values (n, 6, ...) at Gauss points times the nodes' polynomials."""
        total = np.zeros((len(self.s), *values.shape[2:]))
        nodes_of_a_load = _LINEAR if self.linear else _CUBIC
        for e, at_points in enumerate(values):
            nodes, L = _polynomials(self.s, self.piece, self.at, e, nodes_of_a_load)
            total[nodes] += np.tensordot(self.weight[e] * L, at_points, axes=(1, 0))
        return total


def _of_nodes(frames: np.ndarray) -> np.ndarray:
    return np.concatenate([frames[:, 0], frames[-1:, -1]])


def mesh(curve: ReferenceCurve, elements: int) -> BeamMesh:
    """Return nodes at equal distances in every smooth piece, and their masses."""
    s, piece = curve.nodes(elements)
    count = piece[-1] + 1
    half = 0.5 * np.diff(s)[:, None]
    at, weight = s[:-1, None] + half * (1.0 + _X), half * _W
    inside = np.column_stack([s[:-1], at, s[1:]])
    line, frames = np.empty((len(piece), 8, 3)), np.empty((len(piece), 8, 3, 3))
    for k in range(count):
        own = piece == k
        line[own], frames[own] = curve.at(k, inside[own])
    rotation, per_length = _of_nodes(frames), curve.mass(at / curve.length)
    mass, linear = np.zeros((len(s), 4, 4)), False

    def masses(k: int, most: int) -> np.ndarray:
        """Return the masses that nodes get from one smooth piece."""
        W = np.zeros((len(s), 4, 4))
        for e in np.flatnonzero(piece == k):
            nodes, L = _polynomials(s, piece, at, int(e), most)
            A = np.zeros((len(nodes), len(_X), 4, 4))
            A[..., 0, 0] = 1.0
            A[..., 1:, 1:] = np.swapaxes(rotation[nodes], -1, -2)[:, None] @ frames[e, 1:-1]
            share = A @ per_length[e] @ np.swapaxes(A, -1, -2)
            W[nodes] += ((weight[e] * L)[..., None, None] * share).sum(axis=1)
        return W

    for k in range(count):
        share = masses(k, _CUBIC)
        own = share.any(axis=(1, 2))
        if share[own, 0, 0].min() <= 0.0:
            share, linear = masses(k, _LINEAR), True
        elif not _can_be_bodies(share[own]):
            share[:, 1:, 1:] = _central(masses(k, _LINEAR)) + _eccentric(share)
        mass += share
    return BeamMesh(s, piece, at, weight, line, frames, mass, linear)


def _eccentric(W: np.ndarray) -> np.ndarray:
    """Return m c c^T of masses (n, 4, 4); zero where there is none."""
    m = np.where(W[:, 0, 0] != 0.0, W[:, 0, 0], 1.0)
    return np.asarray(W[:, 1:, :1] @ W[:, :1, 1:] / m[:, None, None])


def _central(W: np.ndarray) -> np.ndarray:
    """Return second moments about centres of mass."""
    return np.asarray(W[:, 1:, 1:] - _eccentric(W))


def _can_be_bodies(W: np.ndarray) -> bool:
    """Tell whether second moments about centres of mass are not negative, but for round-off."""
    E = np.linalg.eigvalsh(_central(W))
    return bool((E[:, 0] >= -1e-9 * E[:, 2]).all())


def _stencil(piece: np.ndarray, e: int, most: int) -> np.ndarray:
    """Return the nodes nearest to element e in its smooth piece, up to a number."""
    (own,) = np.nonzero(piece == piece[e])
    first, last = int(own[0]), int(own[-1]) + 1  # nodes
    n = min(most, last - first + 1)
    start = min(max(e - (n - 2) // 2, first), last - n + 1)
    return np.arange(start, start + n)


def _polynomials(
    s: np.ndarray, piece: np.ndarray, at: np.ndarray, e: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes near an element, and their Lagrange polynomials at its Gauss points (n, 6)."""
    nodes = _stencil(piece, e, most)
    L = np.ones((len(nodes), at.shape[1]))
    for a, x in enumerate(s[nodes]):
        for b, other in enumerate(s[nodes]):
            if b != a:
                L[a] *= (at[e] - other) / (x - other)
    return nodes, L


def stiffness(curve: ReferenceCurve, grid: BeamMesh) -> tuple[np.ndarray, np.ndarray]:
    """Return the strains e0 (n, 6) and the stiffness K (n, 6, 6) of all elements at rest."""
    from scipy.spatial.transform import Rotation

    (ra, rb), (Ra, Rb) = (np.swapaxes(x[:, [0, -1]], 0, 1) for x in (grid.line, grid.frames))
    e0 = logarithm(ra, Ra, rb, Rb)
    Rm, rm = Ra @ Rotation.from_rotvec(0.5 * e0[:, 3:]).as_matrix(), 0.5 * (ra + rb)
    A = np.swapaxes(grid.frames[:, 1:-1], -1, -2) @ Rm[:, None]
    arms = np.einsum("eji,egj->egi", Rm, rm[:, None] - grid.line[:, 1:-1])
    Q = np.zeros((*grid.at.shape, 6, 6))
    Q[..., :3, :3] = Q[..., 3:, 3:] = A
    Q[..., 3:, :3] = A @ tilde(arms)
    C = curve.stiffness(grid.at / curve.length)
    S = (grid.weight[..., None, None] * (np.swapaxes(Q, -1, -2) @ np.linalg.inv(C) @ Q)).sum(axis=1)
    arm = _blocks(Rm, -tilde(rb - rm) @ Rm)
    back = _blocks(np.swapaxes(Rb, -1, -2), np.zeros_like(Rb))
    J = np.linalg.solve(_tangent(e0), back @ arm)
    inverse = np.linalg.inv(J)
    K = np.swapaxes(inverse, -1, -2) @ np.linalg.inv(S) @ inverse
    return e0, 0.5 * (K + np.swapaxes(K, -1, -2))


def _blocks(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return [[A, B], [0, A]] of (..., 3, 3) arrays."""
    return np.concatenate(
        [np.concatenate([A, B], axis=-1), np.concatenate([np.zeros_like(A), A], axis=-1)], axis=-2
    )


def _tangent(e: np.ndarray) -> np.ndarray:
    r"""Return the tangent operator T(e) of SE(3), (n, 6, 6).

    :math:`T = \varphi_1(-\mathrm{ad}_e)`, a block of the exponential of
    :math:`[[-\mathrm{ad}_e, I], [0, 0]]`; motions of b in its own axes are T times changes of e.
    """
    from scipy.linalg import expm

    both = np.zeros((len(e), 12, 12))
    both[:, :6, :6] = -_blocks(tilde(e[:, 3:]), tilde(e[:, :3]))
    both[:, :6, 6:] = np.eye(6)
    return np.asarray(expm(both)[:, :6, 6:])
