r"""Invariants of inertia of a body with modes: constant 4x4 matrices.

A point of the body is :math:`x = \sum_k w_k(p)\,y_k` on the face y of its frame,
:math:`w(p) = (1, \rho) + \sum_j p_j (0, \psi_j)`. All that its inertia knows of the mesh is

.. math:: W_0 = \int w_0 w_0^T dm, \qquad W_{1,j} = \int w_0\psi_j^T dm, \qquad
          W_{2,ij} = \int\psi_i\psi_j^T dm .

Of matrices :math:`M = m\otimes I_3` these are exact for the interpolation of the mesh. A node with
rotations is a rigid body, whose points move by :math:`\psi_j + \vartheta_j\times\rho`.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.flexible.mesh import FiniteElementModel
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
        N, turns = _rigid_nodes(mesh), shapes.values[:, 3:]
        A = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()  # from (1, rho) of a node to w_0
        A[:, 1:, 0] = x
        B = np.concatenate(  # and to shape j, psi_j + theta_j x rho
            [shapes.values[:, :3, None], np.einsum("akx,naj->nkxj", _TILDE, turns)], axis=2
        )
        W0 = np.einsum("nka,nab,nlb->kl", A, N, A, optimize=True)
        W1 = np.einsum("nka,nab,nlbj->jkl", A, N, B, optimize=True)
        W2 = np.einsum("nkai,nab,nlbj->ijkl", B, N, B, optimize=True)
        return Invariants(W0, W1, W2)
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


def _rigid_nodes(mesh: FiniteElementModel) -> np.ndarray:
    """Return the matrices [[m, m c^T], [m c, E]] (n, 4, 4) of nodes that are rigid bodies."""
    M = sp.csr_array(mesh.M)
    blocks = np.array([M[i : i + 6, i : i + 6].toarray() for i in range(0, M.shape[0], 6)])
    m, J = blocks[:, 0, 0], blocks[:, 3:, 3:]
    first = -np.einsum("akx,nkx->na", _TILDE, blocks[:, :3, 3:]) / 2  # the block is -m c~
    body = np.zeros_like(blocks)
    body[:, :3, :3], body[:, 3:, 3:] = m[:, None, None] * np.eye(3), J
    body[:, :3, 3:] = -np.einsum("akx,na->nkx", _TILDE, first)
    body[:, 3:, :3] = np.swapaxes(body[:, :3, 3:], 1, 2)
    if abs(M - sp.block_diag(list(body), format="csr")).max() > _SAME * abs(M).max():
        raise ValueError(
            f"{mesh.who}: M of nodes with rotations must be lumped, that of a rigid body at each "
            "node, mass, centre of mass and inertia, and nothing between nodes; lump it"
        )
    N = np.empty((len(m), 4, 4))
    N[:, 0, 0] = m
    N[:, 0, 1:] = N[:, 1:, 0] = first
    N[:, 1:, 1:] = 0.5 * np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J
    return N
