r"""The maps between coordinates and faces at one state, body by body.

.. math:: \delta y = Y\,\delta q, \qquad \delta\dot y = Y\,\delta v + D\,\delta q, \qquad
          D\,\delta q = b(\delta q, v), \qquad \dot Y u = b(v, u),

with the bilinear derivative :math:`b(x, u) = \tfrac{d}{ds} Y(q \boxplus s x)\,u`. D is read from
the formulation's ``maps``; the sum :math:`b(v, u) + b(u, v)` is the polarised quadratic part of its
``face_acceleration``, and so both parts are exact.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import ROUND_OFF
from mbd.formulations.families import family
from mbd.interactions.kind import face_name
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced


@dataclass(frozen=True)
class FaceMaps:
    r"""Maps of one body at a state, of its first face; n velocities.

    Attributes
    ----------
    others : tuple of FaceMaps
        Those of its other faces.
    inner : bool
        Whether it is a multiple of the first face, which only carries mass.
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
    others: "tuple[FaceMaps, ...]" = ()
    inner: bool = False

    @property
    def faces(self) -> "tuple[FaceMaps, ...]":
        """All faces of the body."""
        return (self, *self.others)

    def whole(self, which: str) -> np.ndarray:
        """Return a map of all k faces, (12 k, n)."""
        return np.concatenate([getattr(x, which) for x in self.faces])

    def spins(self, s: np.ndarray) -> list[np.ndarray]:
        r"""Return the spin, :math:`\dot y = s^T y` of the first face, of each face (4, 4)."""
        spins = [s]
        for face in self.others:  # y = A y_1 there
            if face.inner:
                spins.append(s)
                continue
            back = np.linalg.inv(self.y[1:])
            A = np.eye(4)
            A[0, 1:], A[1:, 1:] = (face.y[0] - self.y[0]) @ back, face.y[1:] @ back
            spins.append(np.linalg.solve(A.T, s @ A.T))
        return spins

    @property
    def omega(self) -> np.ndarray:
        """Angular velocity [rad/s], inertial."""
        return self.turn_of(self.yd.reshape(12, 1))[:, 0]

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
    y, yd = work.faces(m.Y).copy(), work.faces(m.YD).copy()
    trial, test, slope = _maps(work)
    both = _polarised(work)
    maps = []
    first = 0
    for b, (name, body) in enumerate(model.nodes.items()):
        n = body.formulation.n_v
        faces: list[FaceMaps] = []
        for i in reversed(range(body.formulation.n_faces)):
            here, face = slice(12 * i, 12 * i + 12), model.faces[name] + i
            D = slope[b][here]
            faces.append(
                FaceMaps(
                    face_name(name, i),
                    slice(first, first + n),
                    body.formulation.axes,
                    y[face + 1],
                    yd[face + 1],
                    trial[b][here],
                    test[b][here],
                    D,
                    both[face][:, :n] - D,
                    () if i else tuple(reversed(faces)),
                    i >= body.formulation.n_shown,
                )
            )
        maps.append(faces[-1])
        first += n
    return maps


def inverses(maps: Sequence[FaceMaps], which: str = "Y") -> list[np.ndarray]:
    """Return the pseudo-inverse of a whole map of each body; those of one shape at once."""
    whole = [body.whole(which) for body in maps]
    backs: list[np.ndarray] = [np.zeros(0)] * len(maps)
    for shape in {x.shape for x in whole}:
        group = [i for i, x in enumerate(whole) if x.shape == shape]
        for i, back in zip(group, np.linalg.pinv(np.array([whole[i] for i in group])), strict=True):
            backs[i] = back
    return backs


def with_faces(model: Model, state: State, ends: Mapping[str, Sequence[np.ndarray]]) -> State:
    """Return the state nearby at which bodies, by name, have these faces (4, 3): as bent as they.

    Newton's steps from bodies that are placed as these are.
    """
    for _ in range(8):
        delta, far = np.zeros(model.n_v), 0.0
        for body in face_maps(model, state):
            if body.name in ends:
                gap = np.concatenate(ends[body.name]) - np.concatenate([x.y for x in body.faces])
                delta[body.v] = np.linalg.lstsq(body.whole("Y"), gap.ravel(), rcond=None)[0]
                far = max(far, *(float(np.abs(x.y).max()) for x in body.faces))
        if np.abs(delta).max() <= ROUND_OFF * far:
            break
        state = displaced(model, state, delta)
    return state


def test_map(model: Model, state: State) -> sp.csr_matrix:
    """Return T with Z T = Y: rows are tested with T delta for an increment delta."""
    if all(b.formulation.galerkin for b in model.nodes.values()):
        return sp.eye(model.n_v, format="csr")
    pairs = [
        np.linalg.lstsq(b.whole("Z"), b.whole("Y"), rcond=None)[0] for b in face_maps(model, state)
    ]
    return sp.block_diag(pairs, format="csr")


def _maps(work: Workspace) -> tuple[list[np.ndarray], ...]:
    """Return Y, Z and D of all bodies, by the kernels ``maps`` at the corners of faces."""
    model = work.model
    bodies = list(model.nodes.values())
    nodes = _nodes(work)
    end, corners = len(work.I), len(work.F)  # after the model: one attachment, its weights
    most = 4 * max(x.formulation.n_faces for x in bodies)
    to = corners + most
    I = m.entries(work.I, np.zeros(m.ATT_SIZE))
    F = np.concatenate([work.F, np.zeros(most + m.MAPS_SIZE)])
    I[end + m.ATT_W] = corners
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for body, node in zip(bodies, nodes, strict=True):
        I[end + m.ATT_NODE], I[end + m.ATT_Y] = node, I[node + m.NODE_Y]
        corner = []
        for k in range(4 * body.formulation.n_faces):
            F[corners:to] = np.eye(most)[k]
            family(body.formulation).maps(I, F, end, to, 1)
            corner.append(F[to:].reshape(4, 3, m.MAP_ROW)[..., : body.formulation.n_v].copy())
        for part, which in zip(parts, (m.PT, m.P, m.DP), strict=True):  # Y, Z, D
            part.append(np.concatenate([c[which // m.PT] for c in corner]))
    return parts


def _nodes(work: Workspace) -> list[int]:
    """Return where the record of each body's node is."""
    I, model = work.I, work.model
    nodes = [0] * len(model.nodes)
    for _, at in model.kernels[m.RESIDUAL]:
        for e in range(I[at]):
            node = int(I[at + 1]) + e * m.NODE_SIZE
            nodes[model.node_of_face[int(I[node + m.NODE_Y]) // 12 - 1]] = node
    return nodes


def _polarised(work: Workspace) -> np.ndarray:
    """Return b(v, e_j) + b(e_j, v) of all faces as (faces, 12, most velocities of a body)."""
    model = work.model
    bodies = list(model.nodes.values())
    V, A, v = work.vector(m.V), work.vector(m.A), model.numbering.v
    speed = V[v].copy()
    sizes = np.array([b.formulation.n_v for b in bodies])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    A[:] = 0.0
    of_face = sizes[model.node_of_face]
    polarised = np.zeros((model.n_faces, 12, int(sizes.max())))
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
            ends.append(work.faces(m.YDD).reshape(-1, 12)[1:].copy())
        polarised[:, :, j] = (ends[0] - ends[1]) / (2 * size)
        polarised[of_face <= j, :, j] = 0.0
    V[v] = speed
    return polarised
