r"""Invariants of inertia of a body with modes: constant 4x4 matrices.

A point of the body is :math:`x = \sum_k w_k(p)\,y_k` on the face y of its frame,
:math:`w(p) = (1, \rho) + \sum_j p_j (0, \psi_j)`. All that its inertia knows of the mesh is

.. math:: W_0 = \int w_0 w_0^T dm, \qquad W_{1,j} = \int w_0\psi_j^T dm, \qquad
          W_{2,ij} = \int\psi_i\psi_j^T dm .

Of matrices :math:`M = m\otimes I_3` these are exact for the interpolation of the mesh. A node with
rotations is a rigid body with the second moments E, whose points move by
:math:`\vartheta_j\times\rho`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mbd.flexible.mesh import Mesh
from mbd.flexible.reduction import Shapes

__all__ = ["Invariants", "invariants"]

_SAME = 1e-9  # of the largest entry of M
_TILDE = np.array([np.cross(e, np.eye(3)).T for e in np.eye(3)])  # of the unit vectors


class Invariants(NamedTuple):
    """The matrices W0 (4, 4), W1 (m, 4, 3), W2 (m, m, 3, 3): rows or columns of zeros left out."""

    W0: np.ndarray
    W1: np.ndarray
    W2: np.ndarray


def invariants(mesh: Mesh, shapes: Shapes) -> Invariants:
    """Return the invariants of a mesh with shapes."""
    m, J = _nodal(mesh)
    w0 = np.column_stack([np.ones(len(mesh.x)), mesh.x])
    psi = shapes.values[:, :3]
    m_psi = np.asarray(m @ psi.reshape(len(psi), -1)).reshape(psi.shape)
    W0 = w0.T @ (m @ w0)
    W1 = np.einsum("nk,nlj->jkl", w0, m_psi)
    W2 = np.einsum("nki,nlj->ijkl", psi, m_psi, optimize=True)
    if J is not None:
        E = 0.5 * np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J
        theta = shapes.values[:, 3:]
        turn = np.einsum("akx,naj->nkxj", _TILDE, theta)
        W0[1:, 1:] += E.sum(axis=0)
        W1[:, 1:] += np.einsum("nkx,nlxj->jkl", E, turn)
        W2 += np.einsum("nkxi,nxz,nlzj->ijkl", turn, E, turn, optimize=True)
    return Invariants(W0, W1, W2)


def _nodal(mesh: Mesh) -> tuple[sp.csc_array, np.ndarray | None]:
    """Return m of M = m (x) I3, and of nodes with rotations their inertia (n, 3, 3)."""
    d, M = mesh.d, sp.csr_array(mesh.M)
    m = sp.csc_array(M[0::d][:, 0::d])
    most = abs(M).max()
    if d == 3:
        if abs(M - sp.kron(m, np.eye(3))).max() > _SAME * most:
            raise ValueError(
                f"{mesh.who}: M must be the same along x, y and z and not couple them, as that of "
                "solid elements or of lumps; take one of these forms"
            )
        return m, None
    n = len(mesh.x)
    J = np.array([M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6].toarray() for i in range(n)])
    lumps = sp.block_diag(
        [sp.block_diag([mass * np.eye(3), own]) for mass, own in zip(m.diagonal(), J, strict=True)]
    )
    if abs(M - lumps).max() > _SAME * most:
        raise ValueError(
            f"{mesh.who}: M of nodes with rotations must be lumped, a mass and an inertia (3, 3) "
            "for each node and nothing between nodes or between shifts and turns; lump it"
        )
    return m, J
