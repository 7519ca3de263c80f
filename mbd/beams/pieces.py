r"""Elements of a beam: flexibility of a piece, masses fitted to its nodes and between them.

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
taper, twist, sweep and coupling; nothing locks. Sections with strains :math:`\varepsilon` without
stress move those of the element without stress by :math:`J\int Q^T\varepsilon\,ds`.

**Mass.** With :math:`L_a` the Lagrange polynomials on the (up to four) nodes of a smooth piece that
are nearest to an element, :math:`\hat A_a = \mathrm{diag}(1, R_a^TR_0(s))` and w per length,

.. math:: W_a = \int L_a\,\hat A_a\,w\,\hat A_a^T\,ds :

mass, centre of mass and inertia of a straight beam are exact, loads :math:`\int L_a q\,ds` of
fourth order. Where that gives a node no mass, linear polynomials take their place; where its
second moments about the centre of mass are those of no body (in strong curves), for these alone.

**Mass of order four.** Fitted masses take inertia for loads at nodes. Stress that grows in a
piece, q by length, bends it aside by :math:`\tfrac12 s(h - s)C^{-1}q`, which they do not feel and
consistent masses feel twice: so half of each, with errors of :math:`h^4`. With
:math:`\Phi = 12EI/GA\,h^2`, the larger one, :math:`c = \Phi/(1 + \Phi)` and Hermite's
polynomials, the latter have

.. math:: r(s) = H_0 r_a + H_1 r_b + h H_2 d_1^a + h H_3 d_1^b
       + c\,(H_2 + H_3)\big(\Gamma - h\,\bar d_1\big), \qquad
   \Gamma = r_b - r_a, \quad \bar d_1 = \tfrac12(d_1^a + d_1^b),

directors in shares of the twist that a moment makes, linear where a section is uniform, to both
what the reference differs from it by, turning with the ends. Where shear
is small, :math:`\Phi\ll 1`, consistent masses are of order four in bending by themselves, and
better: nodes get c/2 of :math:`\mu\,(1, \eta)(1, \eta)^T` in w and half of the rest. Moments that
shear forces make bend a piece as well; with the inertia I by length and :math:`\beta = I\,GA/EI`,
the smaller ones of both directions, they add

.. math:: \frac{h}{24}\,\frac{\beta\,\Phi}{1 + \Phi + \beta/4\mu}\;
       (\dot\Gamma - h\,\dot{\bar d}_1)\cdot h\,\dot{\bar d}_1

to T, by its factor never more than there is. All of it is one constant matrix over r and directors
of both ends: exact in every rigid motion of a bent piece, and conserving steps conserve it.

References
----------
G. Goudreau, R. Taylor, Comput. Methods Appl. Mech. Engrg. 2 (1973): half of each, in rods.
"""

from dataclasses import dataclass, replace

import numpy as np

from mbd.algebra.rotations import tilde
from mbd.beams.curve import ReferenceCurve
from mbd.beams.helicoids import logarithm

_X, _W = np.polynomial.legendre.leggauss(6)
_UP_TO = np.array(  # integrals over [0, 1] to Gauss points, of polynomials of the values there
    [np.polynomial.polynomial.polyval(0.5 + 0.5 * _X, np.polynomial.polynomial.polyint(c)) for c in
     np.linalg.inv(np.vander(0.5 + 0.5 * _X, increasing=True)).T]
).T  # fmt: skip
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
    s, piece = curve.path.nodes(elements)
    count = piece[-1] + 1
    half = 0.5 * np.diff(s)[:, None]
    at, weight = s[:-1, None] + half * (1.0 + _X), half * _W
    inside = np.column_stack([s[:-1], at, s[1:]])
    line, frames = np.empty((len(piece), 8, 3)), np.empty((len(piece), 8, 3, 3))
    for k in range(count):
        own = piece == k
        line[own], frames[own] = curve.at(k, inside[own])
    grid = BeamMesh(s, piece, at, weight, line, frames, np.zeros((len(s), 4, 4)), False)
    mass, linear = _at_nodes(grid, curve.mass(at / curve.path.length))
    return replace(grid, mass=mass, linear=linear)


def _at_nodes(grid: BeamMesh, w: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return masses that bodies at nodes can have, and whether some are halves of elements."""
    mass, linear = np.zeros_like(grid.mass), False
    for k in range(grid.piece[-1] + 1):
        own = np.flatnonzero(grid.piece == k)
        share = _fitted(grid, w, own, _CUBIC)
        some = share.any(axis=(1, 2))
        if share[some, 0, 0].min() <= 0.0:
            share, linear = _fitted(grid, w, own, _LINEAR), True
        elif not _can_be_bodies(share[some]):
            share[:, 1:, 1:] = _central(_fitted(grid, w, own, _LINEAR)) + _eccentric(share)
        mass += share
    return mass, linear


def _fitted(grid: BeamMesh, w: np.ndarray, elements: np.ndarray, most: int) -> np.ndarray:
    """Return the masses (n + 1, 4, 4) that nodes get from w (n, 6, 4, 4) along some elements."""
    W, rotation = np.zeros_like(grid.mass), grid.rotation
    for e in elements.tolist():
        nodes, L = _polynomials(grid.s, grid.piece, grid.at, e, most)
        A = np.zeros((len(nodes), len(_X), 4, 4))
        A[..., 0, 0] = 1.0
        A[..., 1:, 1:] = _t(rotation[nodes])[:, None] @ grid.frames[e, 1:-1]
        share = A @ w[e] @ _t(A)
        W[nodes] += ((grid.weight[e] * L)[..., None, None] * share).sum(axis=1)
    return W


def masses_between(curve: ReferenceCurve, grid: BeamMesh) -> np.ndarray:
    """Return what masses of order four have beyond those of the nodes.

    Matrices (n, 8, 8) over r, d1, d2, d3 of the first, then of the last end of each element.
    """
    w, C = (f(grid.at / curve.path.length) for f in (curve.mass, curve.stiffness))
    h = grid.weight.sum(axis=1)
    _, GA2, GA3, _, EI2, EI3 = np.diagonal(C.mean(axis=1), axis1=1, axis2=2).T
    lines = np.array([EI3 / GA2, EI2 / GA3])  # squared, of bending along axes 2 and 3
    soft, least = 12.0 / h**2 * lines.max(axis=0), 12.0 / h**2 * lines.min(axis=0)
    c = soft / (1.0 + soft)
    point = w[..., :, :1] * w[..., :1, :] / w[..., :1, :1]
    at_nodes = (0.5 * c)[:, None, None, None] * point + 0.5 * (w - point)
    twisting = np.linalg.inv(C)[..., 3, 3]
    turn = twisting @ _UP_TO.T / (0.5 * twisting @ _W)[:, None]
    psi = _between(grid, c, turn)
    inner = _t(psi) @ (w - at_nodes) @ psi
    M = (grid.weight[..., None, None] * inner).sum(axis=1)
    E = np.diagonal((w - point).mean(axis=1), axis1=1, axis2=2).T
    turned = ((E[1] + E[2:]) / lines).min(axis=0)
    turned *= least / (1.0 + least + 0.25 * turned / w[:, :, 0, 0].mean(axis=1))
    ends = np.zeros((2, len(h), 8))  # of chord - h d, and h d
    ends[0, :, 0], ends[0, :, 4] = -1.0, 1.0
    ends[1, :, 1] = ends[1, :, 5] = 0.5 * h
    ends[0] -= ends[1]
    both = np.einsum("e,ei,ej->eij", h / 24.0 * turned, *ends)
    M += both + _t(both)
    left = _at_nodes(grid, at_nodes)[0] - grid.mass
    left[1:-1] *= 0.5  # to the elements on both sides
    for k, end in ((slice(0, 4), 0), (slice(4, 8), -1)):
        A = np.zeros((len(h), 4, 4))
        nodes = np.arange(len(h)) - end
        A[:, 0, 0] = 1.0
        A[:, 1:, 1:] = _t(grid.rotation[nodes]) @ grid.frames[:, end]
        M[:, k, k] += _t(A) @ left[nodes] @ A
    return M


def _between(grid: BeamMesh, c: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return r and directors at Gauss points, (n, 6, 4, 8), by those of both ends.

    Directors turn in shares (n, 6) from the first end to the last.
    """
    h = grid.weight.sum(axis=1)[:, None]
    x = (grid.at - grid.s[:-1, None]) / h
    odd = c[:, None] * (x - 3 * x**2 + 2 * x**3)
    H1 = 3 * x**2 - 2 * x**3 + odd
    H2, H3 = x - 2 * x**2 + x**3 - 0.5 * odd, x**3 - x**2 - 0.5 * odd
    psi = np.zeros((*x.shape, 4, 8))
    psi[..., 0, 0], psi[..., 0, 1] = 1.0 - H1, h * H2
    psi[..., 0, 4], psi[..., 0, 5] = H1, h * H3
    r, R = grid.line[:, 1:-1], grid.frames[:, 1:-1]
    ends = (
        (grid.line[:, :1], grid.frames[:, :1], 1.0 - turn),
        (grid.line[:, -1:], grid.frames[:, -1:], turn),
    )
    rest = r - sum(
        psi[..., 0, k, None] * ra + psi[..., 0, k + 1, None] * Ra[..., 0]
        for k, (ra, Ra, _) in zip((0, 4), ends, strict=True)
    )
    for k, (_, Ra, L) in zip((1, 5), ends, strict=True):
        back = _t(Ra)
        psi[..., 0, k : k + 3] += L[..., None] * np.einsum(
            "egij,egj->egi", np.broadcast_to(back, R.shape), rest
        )
        psi[..., 1:, k : k + 3] = L[..., None, None] * _t(back @ R)
    return psi


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


def stiffness(curve: ReferenceCurve, grid: BeamMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return strains without stress, stiffness and the compliance that follows strains.

    e0 (n, 6), K (n, 6, 6), and (n, 3, 6, 6) of S_c, S_1, S_2 of ``interactions/beams/stresses.py``.
    """
    from scipy.spatial.transform import Rotation

    (ra, rb), (Ra, Rb) = (np.swapaxes(x[:, [0, -1]], 0, 1) for x in (grid.line, grid.frames))
    e0 = logarithm(ra, Ra, rb, Rb)
    Rm, rm = Ra @ Rotation.from_rotvec(0.5 * e0[:, 3:]).as_matrix(), 0.5 * (ra + rb)
    A = _t(grid.frames[:, 1:-1]) @ Rm[:, None]
    arms = np.einsum("eji,egj->egi", Rm, rm[:, None] - grid.line[:, 1:-1])
    Q = np.zeros((*grid.at.shape, 6, 6))
    Q[..., :3, :3] = Q[..., 3:, 3:] = A
    Q[..., 3:, :3] = A @ tilde(arms)
    C = curve.stiffness(grid.at / curve.path.length)
    S = (grid.weight[..., None, None] * (_t(Q) @ np.linalg.inv(C) @ Q)).sum(axis=1)
    arm = _blocks(Rm, -tilde(rb - rm) @ Rm)
    back = _blocks(_t(Rb), np.zeros_like(Rb))
    J = np.linalg.solve(_tangent(e0), back @ arm)
    inverse = np.linalg.inv(J)
    free = np.einsum(
        "eg,egji,egj->ei", grid.weight, Q, curve.prestrain(grid.at / curve.path.length)
    )
    free = np.einsum("eij,ej->ei", J, free)
    K = _t(inverse) @ np.linalg.inv(S) @ inverse
    K = 0.5 * (K + _t(K))
    following = _following(e0 + free, -free, K, J @ S @ _t(J), grid.weight, np.linalg.inv(C))
    return e0 + free, K, following


def _following(
    e0: np.ndarray, x: np.ndarray, K: np.ndarray, S: np.ndarray, weight: np.ndarray,
    flexible: np.ndarray,
) -> np.ndarray:  # fmt: skip
    r"""Return S_c, S_1, S_2 and the diagonal of W of compliances that are S = K^-1 at e0 + x.

    With a factor that leaves them positive for all strains; it is 1, but for round-off, or
    :math:`1 - O(h^2)`.
    """
    none, first, second = (
        np.einsum("eg,g,egij->eij", weight, (0.5 * _X) ** k, flexible) for k in (0, 1, 2)
    )
    W = np.einsum("eij,eji->ei", none, K).clip(0.0, 1.0)
    A = _ad(e0 + W * x)
    there = A @ first + first @ _t(A) + A @ second @ _t(A)
    C = np.linalg.inv(np.linalg.cholesky(0.5 * (S + _t(S))))
    most = C @ (there + first @ np.linalg.solve(second, first)) @ _t(C)
    factor = 1.0 / np.maximum(1.0, np.linalg.eigvalsh(0.5 * (most + _t(most)))[:, -1])
    factor = (1.0 - np.sqrt(np.finfo(float).eps)) * factor[:, None, None]
    matrices = np.stack([S - factor * there, factor * first, factor * second], axis=1)
    return np.concatenate([matrices.reshape(len(W), -1), W], axis=1)


def _t(A: np.ndarray) -> np.ndarray:
    """Return transposes."""
    return np.swapaxes(A, -1, -2)


def _ad(e: np.ndarray) -> np.ndarray:
    """Return the matrices ad_e (n, 6, 6) of SE(3)."""
    return _blocks(tilde(e[:, 3:]), tilde(e[:, :3]))


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
    both[:, :6, :6] = -_ad(e)
    both[:, :6, 6:] = np.eye(6)
    return np.asarray(expm(both)[:, :6, 6:])
