r"""Invariants of inertia of a body with modes: constant 4x4 matrices.

A point of the body is :math:`x = \sum_k w_k(p)\,y_k` on the face y of its frame,
:math:`w(p) = (1, \rho) + \sum_j p_j (0, \psi_j)`. All that its inertia knows of the mesh is

.. math:: W_0 = \int w_0 w_0^T dm, \qquad W_{1,j} = \int w_0\psi_j^T dm, \qquad
          W_{2,ij} = \int\psi_i\psi_j^T dm .

Of matrices :math:`M = m\otimes I_3` these are exact for the interpolation of the mesh. With
rotations points move by :math:`\sum_n f_{n0}u_n + \theta_n\times f_n`, and lie at
:math:`\sum_n f_{n0}x_n + f_n`, in lumps, shells and beams; the blocks of M, 6x6, give all products
:math:`\int f_{na}f_{mb}\,dm`, and these are exact too. Beams whose axial displacements have other
functions, linear ones beside Hermite's cubics, have blocks :math:`mI + D` of translations; D acts
by halves on both factors. Rigid motion, the modal mass, which is :math:`\mathrm{tr}W_2`,
:math:`\int\psi\,dm` and :math:`\int\rho\times\psi\,dm` are those of M in all cases; what is left,
how stretching changes the inertia, then converges with the square of the elements' length.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.flexible.mesh import FiniteElementModel, rigid_motions
from mbd.flexible.reduction import Shapes

_SAME = 1e-9  # of the largest entry of M
_TILDE = np.array([np.cross(e, np.eye(3)).T for e in np.eye(3)])  # of the unit vectors


class Invariants(NamedTuple):
    """The matrices W0 (4, 4), W1 (m, 4, 3), W2 (m, m, 3, 3): rows or columns of zeros left out."""

    W0: np.ndarray
    W1: np.ndarray
    W2: np.ndarray


def invariants(mesh: FiniteElementModel, shapes: Shapes) -> Invariants:
    """Return the invariants of a mesh with shapes."""
    n, x = len(mesh.x), mesh.x
    if mesh.d == 6:
        return _with_rotations(mesh, shapes)
    m, w0, psi = _scalar(mesh), np.column_stack([np.ones(n), x]), shapes.values
    m_psi = np.asarray(m @ psi.reshape(n, -1)).reshape(psi.shape)
    W2 = np.einsum("nki,nlj->ijkl", psi, m_psi, optimize=True)
    return Invariants(w0.T @ (m @ w0), np.einsum("nk,nlj->jkl", w0, m_psi), W2)


def _scalar(mesh: FiniteElementModel) -> sp.csc_array:
    """Return m of M = m (x) I3."""
    m = sp.csc_array(sp.csr_array(mesh.M)[0::3][:, 0::3])
    if abs(mesh.M - sp.kron(m, np.eye(3))).max() > _SAME * abs(mesh.M).max():
        raise ValueError(
            f"{mesh.who}: M must be the same along x, y and z and not couple them, as that of "
            "solid elements or of lumps; take one of these forms"
        )
    return m


def _with_rotations(mesh: FiniteElementModel, shapes: Shapes) -> Invariants:
    """Return the invariants of nodes with rotations."""
    n, k, psi = len(mesh.x), len(shapes.K), shapes.values
    M = sp.bsr_array(mesh.M, blocksize=(6, 6))
    T, J = M.data[:, :3, :3], M.data[:, 3:, 3:]
    m = np.trace(T, axis1=1, axis2=2) / 3
    N = np.empty((len(m), 4, 4))
    N[:, 0, 0] = m
    N[:, 0, 1:] = -np.einsum("akx,nkx->na", _TILDE, M.data[:, :3, 3:]) / 2  # the block is -m c~
    N[:, 1:, 0] = np.einsum("akx,nkx->na", _TILDE, M.data[:, 3:, :3]) / 2
    N[:, 1:, 1:] = 0.5 * np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J.swapaxes(1, 2)
    D = sp.bsr_array((T - m[:, None, None] * np.eye(3), M.indices, M.indptr), shape=(3 * n, 3 * n))
    turns = np.einsum("akx,naj->nkxj", _TILDE, psi[:, 3:])
    B = np.concatenate([psi[:, :3, None], turns], axis=2)  # (n, 3, 4, k): of f_n
    A = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
    A[:, 1:, 0] = mesh.x
    W1, W2 = np.zeros((k, 4, 3)), np.zeros((k, k, 3, 3))
    for b in range(4):
        right = B[:, :, b].reshape(n, -1)
        for a in range(4):
            moved = (sp.csr_array((N[:, a, b], M.indices, M.indptr), (n, n)) @ right).reshape(
                n, 3, k
            )
            W1 += np.einsum("nk,nlj->jkl", A[:, :, a], moved)
            W2 += np.einsum("nki,nlj->ijkl", B[:, :, a], moved, optimize=True)
    u = psi[:, :3]
    D_u = (D @ u.reshape(3 * n, k)).reshape(n, 3, k)
    D_x = (D @ mesh.x.ravel()).reshape(n, 3)
    half = np.einsum("nki,nlj->ijkl", u, D_u, optimize=True)
    W2 += 0.5 * (half + half.transpose(1, 0, 3, 2))
    W1[:, 1:] += 0.5 * np.einsum("nk,nlj->jkl", mesh.x, D_u)
    W1[:, 1:] += 0.5 * np.einsum("nk,nlj->jkl", D_x, u)
    return _as_of(mesh, shapes, W1, W2)


def _as_of(mesh: FiniteElementModel, shapes: Shapes, W1: np.ndarray, W2: np.ndarray) -> Invariants:
    """Return invariants with all that M itself says of them."""
    R, psi = rigid_motions(mesh.x, 6), shapes.values.reshape(-1, len(shapes.K))
    rigid, coupling = R.T @ (mesh.M @ R), (R.T @ (mesh.M @ psi)).T
    mass, J = np.trace(rigid[:3, :3]) / 3, rigid[3:, 3:]
    first = np.einsum("akx,kx->a", _TILDE, rigid[3:, :3]) / 2
    body = np.block([[mass * np.eye(3), -np.einsum("akx,a->kx", _TILDE, first)],
                     [np.einsum("akx,a->kx", _TILDE, first), J]])  # fmt: skip
    if np.abs(rigid - body).max() > _SAME * np.abs(rigid).max():
        raise ValueError(
            f"{mesh.who}: M must move rigidly as a body does, its mass the same along x, y and z; "
            "check the order of its degrees of freedom"
        )
    W0 = np.empty((4, 4))
    W0[0, 0], W0[0, 1:], W0[1:, 0] = mass, first, first
    W0[1:, 1:] = 0.5 * np.trace(J) * np.eye(3) - J
    W1[:, 0] = coupling[:, :3]
    skew = np.einsum("akx,jkx->ja", _TILDE, W1[:, 1:])  # -(rho x psi): of what M says
    W1[:, 1:] -= np.einsum("akx,ja->jkx", _TILDE, skew + coupling[:, 3:]) / 2
    lacking = (psi.T @ (mesh.M @ psi) - np.trace(W2, axis1=2, axis2=3)) / 3
    return Invariants(W0, W1, W2 + lacking[..., None, None] * np.eye(3))
