r"""Craig-Bampton reduction of a free finite element model with rigid interfaces.

With boundary degrees of freedom b, those of the interfaces, :math:`u_b = T r` of their rigid
motions r, and interior ones i,

.. math::
   u_i = -K_{ii}^{-1}K_{ib}T\,r + \Phi\,\eta, \qquad K_{ii}\Phi = M_{ii}\Phi\Omega^2,

constraint modes and fixed-interface modes. Of the reduced matrices the six rigid motions are taken
out, and the eigenvectors of what is left are the shapes :math:`\psi_j`: free of rigid motion and
orthogonal to it by M, so that the frame of the body is its mean frame.

Loads f on patches that stay soft are spread over their nodes, :math:`f_i = R(R^TR)^{-1} f = L f`
with their rigid motions R. What the shapes above leave out of the deformation under them is added,
residual vectors :math:`K_{ii}^{-1}L - \Phi\Omega^{-2}\Phi^TL`: statics are exact for them too.

References
----------
MacNeal, A hybrid method of component mode synthesis, Computers and Structures 1 (1971).
Craig, Bampton, Coupling of substructures for dynamic analyses, AIAA Journal 6 (1968).
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, null_space

from mbd.flexible.mesh import FiniteElementModel, factor, rigid_motions

_DENSE = 300  # unknowns up to which all eigenvectors are computed
_MORE = 6  # fixed-interface modes beyond the number of shapes
_SOFT = 1e-9  # eigenvalues of a mechanism, or lost in round-off, of their mean
_SHIFT = 1e-4  # of the mean squared frequency
_GROUND = 1e-9  # the same, of springs that hold a free mesh
_LOST = 1e-9  # compliance, of that of a load, that needs no residual vector
_RANK = 1e-6  # smallest singular value of rigid motions and shapes at unit length


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of deformation of a mesh, m of them.

    Attributes
    ----------
    values : (n, d, m) array [-], [1/m]
        Displacements and turns of the nodes for a coordinate of 1 m.
    K, M : (m, m) arrays [N/m], [kg]
    missing_compliance : float [-]
        Largest compliance between the interfaces that the shapes leave out, of the largest one.
    frequencies : (m,) array [Hz]
        Of the free body with these shapes.
    """

    values: np.ndarray
    K: np.ndarray
    M: np.ndarray
    missing_compliance: float

    @property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Circular frequencies (m,) [rad/s] and eigenvectors, of unit modal mass."""
        squared, vectors = eigh(self.K, self.M)
        return np.sqrt(np.maximum(squared, 0.0)), vectors

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the body where its frame is held (m,) [Hz]."""
        return np.asarray(self.modes[0] / (2 * np.pi))


def reduced(
    mesh: FiniteElementModel, count: int | None, cutoff: float | None, fixed: int | None = None
) -> Shapes:
    """Return eigenvectors of the reduced model.

    The lowest so many, those up to a frequency [Hz], or all of them with so many fixed-interface
    modes: then statics at the interfaces are exact.
    """
    V, R = _basis(mesh, count, cutoff, fixed)
    mass = np.einsum("ij,ij->j", V, mesh.M @ V)
    unit = np.sqrt(np.where(mass > 0.0, mass, 1.0))  # in which metres and radians count alike
    own = V / unit
    K, M = own.T @ (mesh.K @ own), own.T @ (mesh.M @ own)
    rigid = M @ (R * unit[:, None])
    elastic = null_space((rigid / np.linalg.norm(rigid, axis=0)).T)
    if not elastic.size:
        raise ValueError(
            f"{mesh.who}: there must be a motion that deforms the mesh, but the interfaces, which "
            "are rigid, hold all its nodes; leave some of them free, or take a RigidBody"
        )
    squared, vectors = _eigh(mesh, elastic.T @ K @ elastic, elastic.T @ M @ elastic)
    soft = int(np.count_nonzero(squared < _SOFT * _mean(mesh)))
    if soft and squared[-1] > 0 and squared[soft - 1] < 1e-6 * squared[min(soft, len(squared) - 1)]:
        raise ValueError(
            f"{mesh.who}: K must resist all motions but the six rigid ones, but {soft} more cost "
            "no energy; connect all parts of the mesh, and give nodes without stiffness one"
        )
    n = len(squared)
    if cutoff is not None:
        n = int(np.count_nonzero(squared <= (2 * np.pi * cutoff) ** 2))
    if count is not None:
        n = count
    if not 0 < n <= len(squared):
        what = f"up to {cutoff:g} Hz" if count is None else f"of {count} shapes"
        raise ValueError(
            f"{mesh.who}: there must be 1 to {len(squared)} modes, the mesh has {n} {what}; its "
            f"lowest frequency is {np.sqrt(max(squared[0], 0.0)) / (2 * np.pi):.6g} Hz"
        )
    return _shapes(mesh, own @ (elastic @ vectors[:, :n]), V)


def _loads(mesh: FiniteElementModel) -> np.ndarray:
    """Return nodal forces of unit forces and moments on soft patches, and of reference loads."""
    columns = [mesh.references.T.reshape(mesh.M.shape[0], -1)]
    for name in mesh.interfaces:
        if name in mesh.soft:
            _, dofs, R = mesh.patches[name]
            columns.append(np.zeros((mesh.M.shape[0], 6)))
            columns[-1][dofs] = R @ np.linalg.inv(R.T @ R)
    return np.hstack(columns)


def _mean(mesh: FiniteElementModel) -> float:
    """Return the mean squared frequency of a mesh."""
    return float(mesh.K.diagonal().sum() / mesh.M.diagonal().sum())


def _eigh(mesh: FiniteElementModel, K: np.ndarray, M: np.ndarray) -> tuple[Any, Any]:
    r"""Return squared frequencies, rising, and eigenvectors of unit modal mass.

    Light nodes have frequencies whose round-off reaches the low ones. Then those of
    :math:`Mv = \mu(K + sM)v`, :math:`\mu = 1/(\omega^2 + s)`, of which the low frequencies are the
    largest; motions without mass have none.
    """
    mean, eps = _mean(mesh), float(np.finfo(float).eps)
    with suppress(np.linalg.LinAlgError):
        squared, vectors = eigh(K, M)
        if eps * squared[-1] < _SOFT * mean:
            return squared, vectors
    s = _SHIFT * mean
    try:
        mu, vectors = eigh(M, K + s * M)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{mesh.who}: M, K and coordinates must be of sizes that can be computed with; check "
            "their units, and that K resists all motions but the rigid ones"
        ) from None
    heavy = np.flatnonzero(mu > eps * mu.max())[::-1]
    return 1.0 / mu[heavy] - s, vectors[:, heavy] / np.sqrt(mu[heavy])


def given_shapes(mesh: FiniteElementModel, basis: np.ndarray) -> Shapes:
    """Return given shapes (n d, m); refuse those that contain a rigid motion."""
    if basis.ndim != 2 or basis.shape[0] != mesh.M.shape[0] or not np.isfinite(basis).all():
        raise ValueError(
            f"{mesh.who}: modes must be a number, or finite shapes ({mesh.M.shape[0]}, m), got "
            f"shape {basis.shape}"
        )
    both = np.column_stack([rigid_motions(mesh.x - mesh.x.mean(axis=0), mesh.d), basis])
    length = np.sqrt(np.einsum("ij,ij->j", both, mesh.M @ both))
    if not (length > 0).all():
        raise ValueError(f"{mesh.who}: shape {int(np.argmin(length)) - 6} of modes is zero")
    both /= length
    if np.linalg.eigvalsh(both.T @ (mesh.M @ both))[0] < _RANK**2 * both.shape[1]:
        raise ValueError(
            f"{mesh.who}: modes must be free of rigid motion and independent of each other; take "
            "the rigid motions out, the frame of the body carries them"
        )
    V = _basis(mesh, None, None, 0)[0] if len(mesh.interfaces) > 1 else basis
    return _shapes(mesh, basis, V, True)


def _shapes(
    mesh: FiniteElementModel, values: np.ndarray, V: np.ndarray, as_they_are: bool = False
) -> Shapes:
    """Return shapes, the largest displacement of each 1, and positive; V has all of a basis."""
    size = float(np.ptp(mesh.x, axis=0).max())
    nodal = values.reshape(len(mesh.x), mesh.d, -1)
    if not as_they_are:
        lengths = (nodal * np.repeat([1.0, size], 3)[: mesh.d, None]).reshape(values.shape)
        largest = lengths[np.abs(lengths).argmax(axis=0), np.arange(values.shape[1])]
        values = values / largest
        nodal = values.reshape(nodal.shape)
    K, M = values.T @ (mesh.K @ values), values.T @ (mesh.M @ values)
    K, M = 0.5 * (K + K.T), 0.5 * (M + M.T)
    return Shapes(nodal, K, M, _missing_compliance(mesh, values, K, V))


def _missing_compliance(
    mesh: FiniteElementModel, values: np.ndarray, K: np.ndarray, V: np.ndarray
) -> float:
    r"""Return the largest compliance between interfaces that shapes leave out, of the largest.

    Loads F on the interfaces, in balance with each other, take :math:`F^TK_{rr}^{-1}F` with all
    constraint modes and :math:`F^TGK^{-1}G^TF` with the shapes, that move the interfaces by G;
    moments and turns are counted with the size of the mesh as a lever.
    """
    patches = [x for name, x in mesh.patches.items() if name not in mesh.soft]
    if len(patches) < 2:
        return 0.0
    lever = np.tile(np.repeat([1.0, np.ptp(mesh.x, axis=0).max()], 3), len(patches))
    R = rigid_motions(np.array([center for center, _, _ in patches]), 6) * lever[:, None]
    N = null_space(R.T)
    constraint = V[:, : len(lever)] / lever
    full = np.linalg.inv(N.T @ (constraint.T @ (mesh.K @ constraint)) @ N)
    G = np.vstack([np.linalg.lstsq(T, values[dofs], rcond=None)[0] for _, dofs, T in patches])
    G = N.T @ (G * lever[:, None])
    lacking = np.linalg.eigvalsh(full - G @ np.linalg.solve(K, G.T))[-1]
    return max(0.0, float(lacking / np.linalg.eigvalsh(full)[-1]))


def _basis(
    mesh: FiniteElementModel, count: int | None, cutoff: float | None, fixed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis V of the reduction, and the rigid motions in its coordinates."""
    n = mesh.M.shape[0]
    patches = [x for name, x in mesh.patches.items() if name not in mesh.soft]
    boundary = np.concatenate([np.zeros(0, int), *(dofs for _, dofs, _ in patches)])
    inside = np.setdiff1d(mesh.active, boundary)
    if not patches:
        return _free(mesh, count, cutoff, fixed)
    T = sp.block_diag([R for _, _, R in patches]).toarray()
    V = np.zeros((n, T.shape[1]))
    V[boundary] = T
    if inside.size:
        K, M = mesh.K[inside][:, inside], mesh.M[inside][:, inside]
        solve = factor(sp.csc_array(K))
        if solve is None:
            raise ValueError(
                f"{mesh.who}: K must resist all motions of the nodes while the interfaces are "
                "held; connect all parts of the mesh, and give nodes without stiffness one"
            )
        V[inside] = -solve.solve(mesh.K[inside][:, boundary] @ T)
        if fixed != 0:
            some = count if fixed is None else max(fixed - _MORE, 0)
            Phi = _eigenvectors(mesh, sp.csc_array(K), sp.csc_array(M), 0.0, solve, some, cutoff)
            Phi = Phi[:, :fixed]
            V = np.column_stack([V, np.zeros((n, Phi.shape[1]))])
            V[inside, T.shape[1] :] = Phi
        f = _loads(mesh)
        if f[inside].any():
            whole = np.zeros(f.shape)
            whole[inside] = solve.solve(f[inside])
            V = np.column_stack([V, _residual(mesh, V[:, T.shape[1] :], whole)])
    centers = np.array([center for center, _, _ in patches])
    R = np.zeros((V.shape[1], 6))
    R[: T.shape[1]] = rigid_motions(centers, 6)
    return V, R


def _residual(mesh: FiniteElementModel, Phi: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return what modes Phi of unit modal mass leave out of the deformation under loads."""
    whole = whole[:, whole.any(axis=0)]
    vectors = whole / np.sqrt(np.einsum("ij,ij->j", whole, mesh.K @ whole))
    for _ in range(2):
        vectors = vectors - Phi @ (Phi.T @ (mesh.M @ vectors))
    energy, turned = np.linalg.eigh(vectors.T @ (mesh.K @ vectors))
    vectors = vectors @ turned[:, energy > _LOST]
    return np.asarray(vectors / np.sqrt(np.einsum("ij,ij->j", vectors, mesh.M @ vectors)))


def _free(
    mesh: FiniteElementModel, count: int | None, cutoff: float | None, fixed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rigid motions and eigenvectors of a body without interfaces, so many if it says."""
    R, some = rigid_motions(mesh.x, mesh.d), mesh.active
    shift = _SHIFT * _mean(mesh)
    K, M = (sp.csc_array(A[some][:, some]) for A in (mesh.K, mesh.M))
    solve = factor(sp.csc_array(K + shift * M))
    if solve is None:
        raise ValueError(f"{mesh.who}: K must be positive semidefinite; check its signs")
    elastic = count if fixed is None else fixed
    n = None if elastic is None else elastic + 6
    vectors = _eigenvectors(mesh, K, M, -shift, solve, n, cutoff)
    Phi = np.zeros((len(R), vectors.shape[1]))
    Phi[some] = vectors
    MR = mesh.M @ R
    Phi = Phi - R @ np.linalg.solve(R.T @ MR, MR.T @ Phi)
    squared, turned = np.linalg.eigh(Phi.T @ (mesh.M @ Phi))
    Phi = Phi @ turned[:, squared > 0.5]  # at unit length before: rigid ones vanish
    _, turned = _eigh(mesh, Phi.T @ (mesh.K @ Phi), Phi.T @ (mesh.M @ Phi))
    Phi = Phi @ turned[:, :fixed]
    f = _loads(mesh)
    if f.size:  # with the inertia forces that balance them
        f = f - MR @ np.linalg.solve(R.T @ MR, R.T @ f)
        whole = np.zeros(f.shape)
        whole[some] = _balanced(mesh, K, M, R[some], f[some])
        Phi = np.column_stack([Phi, _residual(mesh, Phi, whole)])
    return np.column_stack([R, Phi]), np.eye(6 + Phi.shape[1], 6)


def _balanced(mesh: FiniteElementModel, K: Any, M: Any, R: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return u, free of rigid motions R, with K u = f, loads in balance.

    The equation with K + s M is iterated, whose errors shrink by s/(omega^2 + s).
    """
    s = _GROUND * _mean(mesh)
    solve = factor(sp.csc_array(K + s * M))
    if solve is None:
        raise ValueError(
            f"{mesh.who}: K must resist all motions but the six rigid ones; connect all parts of "
            "the mesh"
        )
    MR = M @ R
    u = np.zeros(f.shape)
    for _ in range(20):
        u = solve.solve(f + s * (M @ u))
        u -= R @ np.linalg.solve(R.T @ MR, MR.T @ u)
    return np.asarray(u)


def _eigenvectors(
    mesh: FiniteElementModel, K: Any, M: Any, shift: float, solve: Any, count: int | None,
    cutoff: float | None,
) -> np.ndarray:  # fmt: skip
    """Return the lowest eigenvectors of unit modal mass: so many and some more, or up to 2 f."""
    n = K.shape[0]
    if n <= _DENSE:
        squared, vectors = _eigh(mesh, K.toarray(), M.toarray())
        few = n if count is None else min(n, count + _MORE)
        if cutoff is not None:
            few = min(n, _MORE + int(np.count_nonzero(squared <= (4 * np.pi * cutoff) ** 2)))
        return np.asarray(vectors[:, :few])
    from scipy.sparse.linalg import LinearOperator, eigsh

    inverse = LinearOperator(K.shape, matvec=solve.solve, dtype=float)
    few = min(n - 1, (20 if count is None else count) + _MORE)
    while True:
        start = np.random.default_rng(1).normal(size=n)  # the same in every run
        squared, vectors = eigsh(K, few, M, sigma=shift, OPinv=inverse, v0=start)
        enough = cutoff is None or squared.max() > (4 * np.pi * cutoff) ** 2
        if enough or few == n - 1:
            break
        few = min(n - 1, 2 * few)
    return np.asarray(vectors)
