r"""The maps between coordinates and faces at one state, body by body.

.. math:: \delta y = Y\,\delta q, \qquad \delta\dot y = Y\,\delta v + D\,\delta q, \qquad
          D\,\delta q = b(\delta q, v), \qquad \dot Y u = b(v, u),

with the bilinear derivative :math:`b(x, u) = \tfrac{d}{ds} Y(q \boxplus s x)\,u`. D is read from
the formulation's ``maps``; the sum :math:`b(v, u) + b(u, v)` is the polarised quadratic part of its
``face_acceleration``, and so both parts are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["FaceMaps", "face_maps", "test_map"]


@dataclass(frozen=True)
class FaceMaps:
    r"""Maps of one body at a state; n velocities.

    Attributes
    ----------
    v : slice
        The body's velocities among those of the model.
    y, yd : (4, 3) arrays
        Face and its velocity.
    Y, Z, D, Yd : (12, n) arrays
        Trial map, test map, :math:`\partial(Yv)/\partial q`, and :math:`\dot Y` along v.
    """

    name: str
    v: slice
    axes: bool
    y: np.ndarray
    yd: np.ndarray
    Y: np.ndarray
    Z: np.ndarray
    D: np.ndarray
    Yd: np.ndarray

    @property
    def omega(self) -> np.ndarray:
        """Angular velocity [rad/s], inertial."""
        if not self.axes:
            return np.zeros(3)
        scale = np.einsum("kc,kc->", self.y[1:], self.y[1:]) / 3
        return 0.5 * np.cross(self.y[1:], self.yd[1:]).sum(0) / scale

    def at(self, weights: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return the (3, n) map of the weighted point, of a (12, n) map of faces."""
        return np.einsum("k,kcn->cn", weights, which.reshape(4, 3, -1))

    def turn(self) -> np.ndarray:
        """Return the (3, n) map from increments to the small rotation [rad], inertial."""
        return self.turn_of(self.Y)

    def turn_of(self, which: np.ndarray) -> np.ndarray:
        r"""Return :math:`\tfrac12\sum_k d_k\times\delta d_k / |d|^2` of a (12, n) map of faces."""
        if not self.axes:
            return np.zeros((3, which.shape[1]))
        d = self.y[1:]
        scale = np.einsum("kc,kc->", d, d) / 3
        return 0.5 * np.cross(d[:, :, None], which.reshape(4, 3, -1)[1:], axis=1).sum(0) / scale


def face_maps(model: Model, state: State) -> list[FaceMaps]:
    """Return the maps of all bodies, in the order of the model."""
    work = Workspace(model, state)
    work.evaluate()
    y = work.vector(m.Y, 12 * (len(model.bodies) + 1)).reshape(-1, 4, 3).copy()
    yd = work.vector(m.YD, y.size).reshape(y.shape).copy()
    trial, test, slope = _maps(work)
    both = _polarised(work)
    maps = []
    first = 0
    for i, (name, body) in enumerate(model.nodes.items()):
        n = body.formulation.n_v
        D = slope[i]
        maps.append(
            FaceMaps(
                name,
                slice(first, first + n),
                body.formulation.axes,
                y[i + 1],
                yd[i + 1],
                trial[i],
                test[i],
                D,
                both[i][:, :n] - D,
            )
        )
        first += n
    return maps


def test_map(model: Model, state: State) -> sp.csr_matrix:
    """Return T with Z T = Y: rows are tested with T delta for an increment delta."""
    if all(b.formulation.galerkin for b in model.nodes.values()):
        return sp.eye(model.n_v, format="csr")
    pairs = [np.linalg.lstsq(b.Z, b.Y, rcond=None)[0] for b in face_maps(model, state)]
    return sp.block_diag(pairs, format="csr")


def _maps(work: Workspace) -> tuple[list[np.ndarray], ...]:
    """Return Y, Z and D of all bodies, by the kernels ``maps`` at the four corners of a face."""
    model = work.model
    bodies = list(model.nodes.values())
    nodes = _nodes(work, len(bodies))
    tail: list[int] = []  # behind the tables of the model
    base, room = len(work.I), len(work.F)
    corners = room  # the four unit weights
    room += 16
    where: list[list[tuple[int, int, int]]] = []
    records: dict[Formulation, list[int]] = {}
    for i, body in enumerate(bodies):
        n = body.formulation.n_v
        places = []
        for k in range(4):
            P, PT, DP = room, room + 3 * n, room + 6 * n
            PV = P if body.formulation.galerkin else room + 9 * n
            room += 12 * n
            record = base + len(tail)
            tail += [12 * (i + 1), corners + 4 * k, n, P, PT, DP, PV, 1]
            places.append((P, PT, DP))
            records.setdefault(body.formulation, []).extend([record, nodes[i]])
        where.append(places)
    calls = []
    for formulation, pairs in records.items():
        at = base + len(tail)
        tail += [*pairs, 0, 0, len(pairs) // 2, at]
        calls.append((family(formulation).maps, at + len(pairs)))
    I = np.concatenate([work.I, np.array(tail, np.int64)])
    F = np.concatenate([work.F, np.zeros(room - len(work.F))])
    F[corners : corners + 16] = np.eye(4).ravel()
    for kernel, k in calls:
        kernel(I, F, k)
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for body, places in zip(bodies, where, strict=True):
        n = body.formulation.n_v
        for part, entry in zip(parts, (1, 0, 2), strict=True):  # Y, Z, D
            corner = [F[p[entry] :][: 3 * n].reshape(n, 3).T for p in places]
            part.append(np.concatenate(corner))
    return parts


def _nodes(work: Workspace, n: int) -> list[int]:
    """Return where the record of each body's node is."""
    I, nodes = work.I, [0] * n
    for kernel, at in work.model.kernels[m.RESIDUAL]:
        del kernel
        for e in range(I[at]):
            node = int(I[at + 1]) + e * m.NODE_SIZE
            nodes[int(I[node + m.NODE_Y]) // 12 - 1] = node
    return nodes


def _polarised(work: Workspace) -> np.ndarray:
    """Return b(v, e_j) + b(e_j, v) of all bodies as (bodies, 12, most velocities of a body)."""
    model = work.model
    bodies = list(model.nodes.values())
    V, A, v = work.vector(m.V), work.vector(m.A), model.numbering.v
    speed = V[v].copy()
    sizes = np.array([b.formulation.n_v for b in bodies])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    A[:] = 0.0
    polarised = np.zeros((len(bodies), 12, int(sizes.max())))
    if not speed.any():
        return polarised
    size = np.abs(speed).max()
    for j in range(polarised.shape[2]):
        moved = v[first[sizes > j] + j]
        ends = []
        for sign in (1.0, -1.0):
            V[v] = speed
            V[moved] += sign * size
            work.rates()
            ends.append(work.vector(m.YDD, 12 * (len(bodies) + 1)).reshape(-1, 12)[1:].copy())
        polarised[:, :, j] = (ends[0] - ends[1]) / (2 * size)
        polarised[sizes <= j, :, j] = 0.0
    V[v] = speed
    return polarised
