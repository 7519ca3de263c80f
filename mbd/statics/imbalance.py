r"""Forces and moments out of balance on bodies, compared with loads and round-off.

Generalized forces g of a body are what forces f on its face :math:`y = (x, d_1, d_2, d_3)` do,
:math:`g = Z^T f`. With the smallest such f, and in the sizes of ``metric.py``,

.. math:: F = |f_0|, \qquad
          M = \sqrt2\,\textstyle\left(\sum_k |f_k|^2\right)^{1/2}, \quad k = 1, 2, 3

are the force [N] and the moment [N m] about the body's origin, the same in all formulations.

Round-off of a body is that of the forces that were added, :math:`\epsilon\sum_e |f_e|` over all
elements e, and what the stiffness makes of the round-off of positions and turns,
:math:`|K|\,\epsilon\,|x|`. The two are parts of what the computer did, not of the model: a soft
direction has none of the stiff one's unless they share an unknown.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mbd.algebra.norms import norms
from mbd.base.tolerances import REST_BALANCE, ROUND_OFF
from mbd.interactions.loads import FORCE, MOMENT, SCALING
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.small_motions.face_maps import FaceMaps, face_maps

GRAVITY = "gravity"


@dataclass(frozen=True)
class LoadSize:
    """The size of forces [N] and of moments [N m]."""

    force: float
    moment: float

    def __str__(self) -> str:
        return f"{self.force:.3g} N and {self.moment:.3g} N m"


@dataclass(frozen=True, eq=False)
class Imbalance:
    """Forces that are out of balance at a pose.

    Attributes
    ----------
    on_bodies, round_off : (2, bodies) arrays [N, N m]
        Forces and moments out of balance, and what round-off can make of them.
    loads : LoadSize
        The largest on one body of weights, applied loads and forces of steady motion, a force
        over the length of the model being a moment; of all forces that act where there are none.
    loaded : bool
        Whether there are such loads.
    idle : bool
        Whether there are none, and all forces that act on each body are round-off of the stiffness
        of those that rows tie to it.
    """

    on_bodies: np.ndarray
    round_off: np.ndarray
    loads: LoadSize
    loaded: bool
    idle: bool

    @property
    def largest(self) -> LoadSize:
        """The largest force and the largest moment out of balance on a body."""
        return LoadSize(*(float(x.max(initial=0.0)) for x in self.on_bodies))

    @property
    def share(self) -> float:
        """The largest as a share of the loads [-]."""
        return float((self.on_bodies / np.maximum(self._loads, np.finfo(float).tiny)).max())

    @property
    def small(self) -> bool:
        """Whether all is small compared with the loads, or there are none."""
        return self.idle or bool(np.all(self.on_bodies <= REST_BALANCE * self._loads))

    @property
    def round(self) -> bool:
        """Whether all is small compared with the loads, or is round-off."""
        allowed = np.maximum(REST_BALANCE * self._loads, self.round_off)
        return self.idle or bool(np.all(self.on_bodies <= allowed))

    @property
    def balanced(self) -> bool:
        """Whether all is small compared with the loads, or is round-off that is less than they are.

        More than the loads hides whether they are in balance.
        """
        hidden = (
            self.loaded
            & (self.round_off > self._loads)
            & (self.on_bodies > REST_BALANCE * self._loads)
        )
        return self.round and not bool(np.any(hidden))

    @property
    def _loads(self) -> np.ndarray:
        return np.array([[self.loads.force], [self.loads.moment]])


def largest_forces(model: Model, g: np.ndarray, n: int) -> str:
    """Return the n largest of generalized forces (n_v,) by name, with their units."""
    names = model.numbering
    units = np.where(names.v_kinds == m.TRANSLATION, "N", "N m")
    worst = np.argsort(-np.abs(g) * model.units)[:n]
    return ", ".join(f"{names.v_labels[i]!r} ({g[i]:.3g} {units[i]})" for i in worst)


def imbalance(
    model: Model, state: State, g: np.ndarray, K: sp.csr_matrix, maps: list[FaceMaps] | None = None,
    factors: dict[str, float] | None = None,
) -> Imbalance:  # fmt: skip
    """Return what the generalized forces g (n_v,) put out of balance on the bodies at a state.

    Parameters
    ----------
    model : Model
    state : State
        Its velocities and accelerations are those of the steady motion, or zero.
    g : (n_v,) array
    K : (n_v, n_v) array
        Their derivative by the pose.
    maps : list of FaceMaps, optional
        Those at the state.
    factors : dict
        Of loads by name, "gravity" for the weight; default 1.
    """
    maps = face_maps(model, state) if maps is None else maps
    wound = 0.0 if state.memory is None else float(np.abs(state.memory).max(initial=0.0))
    faces = _OntoFaces(maps, max(1.0, wound))
    applied, internal = _acting(model, state, factors or {})
    if state.v.any() or state.a.any():
        applied += faces.turning(_motion(model, state))
    every = applied + internal
    resolved = ROUND_OFF * np.abs(K) @ faces.extent
    on_bodies, round_off = faces.sizes(g), ROUND_OFF * every + faces.bounds(resolved)
    loaded = bool(applied.any())
    idle = not loaded and _is_noise(model, state, np.maximum(every, on_bodies), round_off)
    loads = _either(model, *(applied if loaded else every).max(axis=1, initial=0.0)).tolist()
    return Imbalance(on_bodies, round_off, LoadSize(*loads), loaded, idle)


def _is_noise(model: Model, state: State, acting: np.ndarray, round_off: np.ndarray) -> bool:
    """Tell whether forces and moments on bodies (2, n) are round-off, which rows carry on.

    A force may be a moment over the length of the model.
    """
    body = model.node_of_velocity
    owns = sp.csr_matrix((np.ones(len(body)), (np.arange(len(body)), body)))
    rows = abs(model.assemble(state).B) @ owns
    _, tied = connected_components(rows.T @ rows, directed=False)
    most = np.zeros((2, len(tied)))
    np.maximum.at(most.T, tied, round_off.T)
    return bool(np.all(acting <= _either(model, *most[:, tied])))


def _either(model: Model, force: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return force and moment, each at least what the other is with the length of the model."""
    length = float(model.F[m.LENGTH])
    return np.array([np.maximum(force, moment / length), np.maximum(moment, force * length)])


class _OntoFaces:
    """From generalized forces to those on faces; how finely positions and turns are resolved."""

    def __init__(self, maps: list[FaceMaps], turned: float) -> None:
        self.first = np.array([body.v.start for body in maps])
        back: list[np.ndarray] = [np.zeros(0)] * len(maps)
        extent = []
        for n in {body.Z.shape[1] for body in maps}:
            group = [i for i, body in enumerate(maps) if body.Z.shape[1] == n]
            inverse = np.linalg.pinv(np.array([maps[i].Z.T for i in group]))
            for i, f in zip(group, inverse, strict=True):
                back[i] = f
        for body in maps:
            every = np.array([x.Y for x in body.faces])  # of modes the first face may know nothing
            move = np.linalg.norm(every[:, :3], axis=1).max(0)
            turn = np.sqrt(0.5) * np.linalg.norm(every[:, 3:], axis=1).max(0)
            far = max(float(np.linalg.norm(x.y[0])) for x in body.faces)
            moves, turns = move > 1e-12 * move.max(), turn > 1e-12 * turn.max(initial=0.0)
            sizes = np.zeros(len(move))
            sizes[moves] = far / move[moves]
            sizes[turns & (turn > 0.0)] = turned / turn[turns & (turn > 0.0)]
            extent.append(sizes)
        self.extent = np.concatenate(extent)
        self.y = np.array([body.y for body in maps])
        self.back = sp.block_diag(back, format="csr")

    def sizes(self, g: np.ndarray) -> np.ndarray:
        """Return force and moment on each body, (2, bodies)."""
        return _norms((self.back @ g).reshape(-1, 4, 3))

    def bounds(self, g: np.ndarray) -> np.ndarray:
        """Return `sizes` of the worst signs that generalized forces of these sizes may have."""
        return _norms((abs(self.back) @ g).reshape(-1, 4, 3))

    def turning(self, g: np.ndarray) -> np.ndarray:
        """Return force and moment without what stretches bodies."""
        return _turning(self.y, (self.back @ g).reshape(-1, 4, 3))


def _turning(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the resultant force and moment of forces on faces y, f (n, 4, 3)."""
    moment = np.cross(y[:, 1:], f[:, 1:]).sum(1)
    return np.array([norms(f[:, 0]), norms(moment)])


def _norms(f: np.ndarray) -> np.ndarray:
    """Return F and M of forces on faces (n, 4, 3)."""
    return np.array([norms(f[:, 0]), np.sqrt(2.0) * norms(f[:, 1:].reshape(len(f), -1))])


def _motion(model: Model, state: State) -> np.ndarray:
    """Return the generalized forces of a motion, those of its dampers among them."""
    zero = np.zeros(model.n_v)
    at_rest = state.replace(v=zero, a=zero, alg=None)
    return generalized_forces(model, state) - generalized_forces(model, at_rest)


def generalized_forces(model: Model, state: State) -> np.ndarray:
    """Return the residual (n_v,) of the equations of motion at a state."""
    work = Workspace(model, state)
    work.evaluate()
    return work.vector(m.X)[model.numbering.v].copy()


def _acting(model: Model, state: State, factors: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the sizes of weights and loads, and of all else, (2, bodies) each."""
    bodies = model.nodes.values()
    n = len(bodies)
    gravity = abs(factors.get(GRAVITY, 1.0)) * float(norms(model.system.gravity))
    loads = np.array(
        [[gravity * b.mass, gravity * b.mass * np.linalg.norm(b.center_of_mass)] for b in bodies]
    ).T
    internal = np.zeros((2, n))
    work = Workspace(model, state)
    work.evaluate()
    owners = {record: name for name, some in model.records.items() for record in some}
    applied = {id(kind.forces) for kind in (FORCE, MOMENT, SCALING)}
    for kernel, at in model.kernels[m.FORCES]:
        for record, where, y, f in _each(work, kernel, at):
            if id(kernel) not in applied:
                np.add.at(internal.T, where, _norms(f).T)
            else:
                resultant = _turning(y, f)
                size = resultant if resultant.any() else _norms(f)  # a force that stretches
                np.add.at(loads.T, where, abs(factors.get(owners[record], 1.0)) * size.T)
    return loads, internal


def _each(
    work: Workspace, kernel: object, at: int
) -> Iterator[tuple[int, list[int], np.ndarray, np.ndarray]]:
    """Run a kernel element by element; yield its record, bodies, their faces, forces on these."""
    I, F, node = work.I.copy(), work.F, work.model.node_of_face
    n, first, size = (int(I[at + x]) for x in (m.T_NUMBER, m.T_FIRST, m.T_SIZE))
    y, faces = work.faces(m.Y), work.faces(m.FY)
    I[at + m.T_NUMBER] = 1
    for e in range(n):
        record = first + e * size
        attached = I[record + m.E_ENDS :][: I[at + m.T_ENDS]]
        ends = {int(I[int(a) + m.ATT_Y]) // 12 for a in attached}
        where = sorted(ends - {0})
        faces[where] = 0.0
        I[at + m.T_FIRST] = record
        kernel(I, F, at)  # type: ignore[operator]
        yield record, [node[i - 1] for i in where], y[where], faces[where]
