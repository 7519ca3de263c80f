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

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from mbd.algebra.rotations import tilde
from mbd.beams.curve import Curve

__all__ = ["Mesh", "lagrange", "mesh", "stiffness"]

_X, _W = np.polynomial.legendre.leggauss(6)


@dataclass(frozen=True)
class Mesh:
    """Nodes of a beam and their shares of what is spread along it.

    Attributes
    ----------
    s : (n + 1,) array [m]
        Length at the nodes.
    position, rotation : (n + 1, 3), (n + 1, 3, 3) arrays [m], [-]
    piece : (n,) array
        Smooth piece in which an element lies.
    mass : (n + 1, 4, 4) array [kg, kg m, kg m^2]
    linear : tuple of int
        Smooth pieces whose masses are shared by linear polynomials.
    """

    s: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    piece: np.ndarray
    mass: np.ndarray
    linear: tuple[int, ...]


def mesh(curve: Curve, elements: int) -> Mesh:
    """Return nodes at equal distances in every smooth piece, and their masses."""
    counts = _counts(np.diff(curve.corners), elements)
    piece = np.repeat(np.arange(len(counts)), counts)
    s = np.concatenate(
        [np.linspace(a, b, n, endpoint=False)
         for a, b, n in zip(curve.corners[:-1], curve.corners[1:], counts, strict=True)]
        + [[curve.length]]
    )  # fmt: skip
    last = np.append(piece, piece[-1])
    frames = [curve.at(int(k), s[i : i + 1]) for i, k in enumerate(last)]
    position = np.concatenate([r for r, _ in frames])
    rotation = np.concatenate([R for _, R in frames])
    mass = np.zeros((len(s), 4, 4))
    linear = []
    for k in range(len(counts)):
        share = _masses(curve, s, rotation, piece, k, 4)
        own = share.any(axis=(1, 2))
        if share[own, 0, 0].min() <= 0.0:
            share = _masses(curve, s, rotation, piece, k, 2)
            linear.append(k)
        elif not _can_be_bodies(share[own]):
            hats = _masses(curve, s, rotation, piece, k, 2)
            share[:, 1:, 1:] = _central(hats) + _eccentric(share)
        mass += share
    return Mesh(s, position, rotation, piece, mass, tuple(linear))


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


def _counts(lengths: np.ndarray, elements: int) -> np.ndarray:
    """Return numbers of elements of pieces: at least one each, the longest elements divided."""
    counts = np.ones(len(lengths), dtype=int)
    while counts.sum() < elements:
        counts[np.argmax(lengths / counts)] += 1
    return counts


def _stencil(piece: np.ndarray, e: int, most: int) -> np.ndarray:
    """Return the nodes nearest to element e in its smooth piece, up to a number."""
    (own,) = np.nonzero(piece == piece[e])
    first, last = int(own[0]), int(own[-1]) + 1  # nodes
    n = min(most, last - first + 1)
    start = min(max(e - (n - 2) // 2, first), last - n + 1)
    return np.arange(start, start + n)


def lagrange(nodes: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the Lagrange polynomials of nodes (n,) at places (m,): (n, m)."""
    L = np.ones((len(nodes), len(s)))
    for a, x in enumerate(nodes):
        for b, other in enumerate(nodes):
            if b != a:
                L[a] *= (s - other) / (x - other)
    return L


def shares(s: np.ndarray, piece: np.ndarray, most: int = 4) -> list[tuple[np.ndarray, ...]]:
    """Return of each element nodes, their polynomials, places and weights of the integral."""
    of_elements: list[tuple[np.ndarray, ...]] = []
    for e in range(len(piece)):
        a, b = s[e], s[e + 1]
        at, w = 0.5 * (a + b) + 0.5 * (b - a) * _X, 0.5 * (b - a) * _W
        nodes = _stencil(piece, e, most)
        of_elements.append((nodes, lagrange(s[nodes], at), at, w))
    return of_elements


def _masses(
    curve: Curve, s: np.ndarray, rotation: np.ndarray, piece: np.ndarray, k: int, most: int
) -> np.ndarray:
    """Return the masses that nodes get from one smooth piece."""
    W = np.zeros((len(s), 4, 4))
    for e, (nodes, L, at, w) in enumerate(shares(s, piece, most)):
        if piece[e] != k:
            continue
        _, R = curve.at(k, at)
        per_length = curve.mass(at / curve.length)
        for a, polynomial in zip(nodes, L, strict=True):
            A = np.zeros((len(at), 4, 4))
            A[:, 0, 0] = 1.0
            A[:, 1:, 1:] = rotation[a].T @ R
            W[a] += np.einsum("g,gij,gjk,glk->il", w * polynomial, A, per_length, A)
    return W


def stiffness(curve: Curve, grid: Mesh, e: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the strains e0 (6,) and the stiffness K (6, 6) of an element in the reference."""
    k = int(grid.piece[e])
    a, b = grid.s[e], grid.s[e + 1]
    (ra, rb), (Ra, Rb) = curve.at(k, np.array([a, b]))
    at, w = 0.5 * (a + b) + 0.5 * (b - a) * _X, 0.5 * (b - a) * _W
    turn = Rotation.from_matrix(Ra.T @ Rb).as_rotvec()
    Rm, rm = Ra @ Rotation.from_rotvec(0.5 * turn).as_matrix(), 0.5 * (ra + rb)
    r, R = curve.at(k, at)
    A = np.swapaxes(R, -1, -2) @ Rm
    Q = np.zeros((len(at), 6, 6))
    Q[:, :3, :3] = Q[:, 3:, 3:] = A
    Q[:, 3:, :3] = A @ np.array([tilde(Rm.T @ (rm - x)) for x in r])
    C = curve.stiffness(at / curve.length)
    S = np.einsum("g,gji,gjk,gkl->il", w, Q, np.linalg.inv(C), Q)
    e0, T = _logarithm(Ra, ra, Rb, rb, turn)
    ell = tilde(rb - rm)
    arm = np.block([[Rm, -ell @ Rm], [np.zeros((3, 3)), Rm]])
    back = np.block([[Rb.T, np.zeros((3, 3))], [np.zeros((3, 3)), Rb.T]])
    J = np.linalg.solve(T, back @ arm)
    inverse = np.linalg.inv(J)
    K = inverse.T @ np.linalg.inv(S) @ inverse
    return e0, 0.5 * (K + K.T)


def _logarithm(
    Ra: np.ndarray, ra: np.ndarray, Rb: np.ndarray, rb: np.ndarray, turn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`e = \log_{SE(3)} H_a^{-1}H_b` and its tangent operator T(e).

    :math:`T = \varphi_1(-\mathrm{ad}_e)`, a block of the exponential of
    :math:`[[-\mathrm{ad}_e, I], [0, 0]]`; motions of b in its own axes are T times changes of e.
    """
    zero, one = np.zeros((6, 6)), np.eye(6)
    along = expm(np.block([[-tilde(turn), np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
    u = np.linalg.solve(along.T, Ra.T @ (rb - ra))
    ad = np.block([[tilde(turn), tilde(u)], [np.zeros((3, 3)), tilde(turn)]])
    T = expm(np.block([[-ad, one], [zero, zero]]))[:6, 6:]
    return np.concatenate([u, turn]), T
