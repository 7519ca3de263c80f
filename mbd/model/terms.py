r"""The residual of a model in parts: by what acts, and by what it belongs to.

.. math:: r = \underbrace{M\dot v}_{\text{inertia}} + \text{gyroscopic} + \text{gravity} +
          \text{internal} + \text{forces} + \underbrace{B^T\lambda}_{\text{rows}}

Both sums are exact: they are the residual of the loop, evaluated with the other terms left out. Its
signs are those of a residual: what drives a motion has the sign of minus a force.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import absent
from mbd.base.read_only import read_only
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import stage
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

_TERMS = ("inertia", "gyroscopic", "gravity", "internal", "forces", "rows")


@kernel
def nodes_kernel(I: Any, F: Any, k: int) -> None:
    """Write the residual of nodes alone under the forces on faces that are there."""
    for i in range(I[m.N_U]):
        F[I[m.X] + i] = 0.0
    stage(I, F, m.RESIDUAL)


@dataclass(frozen=True, eq=False)
class ResidualTerms:
    r"""Terms of the residual at a state, each (n_v,) [N, N m].

    ``terms["spring"]`` is what a part adds: of a body its inertia, gyroscopic and internal forces,
    its weight and its own rows, of a joint :math:`B^T\lambda` of its rows, of a spring, a load or
    a beam its forces. ``terms.parts`` names all. The sum over the parts, and over the six terms,
    is the residual.

    Attributes
    ----------
    inertia : (n_v,) array
        What accelerations add: M v'.
    gyroscopic : (n_v,) array
        What velocities of bodies add by themselves, with the damping of flexible bodies.
    gravity : (n_v,) array
    internal : (n_v,) array
        Elastic forces of flexible bodies.
    forces : (n_v,) array
        Of springs, loads, beams, compliant rows.
    rows : (n_v,) array
        :math:`B^T\lambda` of joints, and of the bodies' own rows.
    """

    model: FrozenModel
    state: State
    inertia: np.ndarray
    gyroscopic: np.ndarray
    gravity: np.ndarray
    internal: np.ndarray
    forces: np.ndarray
    rows: np.ndarray

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all parts that add to the residual."""
        nodes, records = self.model.nodes, self.model.records
        return (*nodes, *(x for x in self.model.system.parts if records.get(x) and x not in nodes))

    @cached_property
    def _evaluator(self) -> "_PartResiduals":
        return _PartResiduals(self.model, self.state)

    def __getitem__(self, part: str) -> np.ndarray:
        """Return what a part adds, (n_v,)."""
        if part not in self.parts:
            raise KeyError(f"ResidualTerms: {absent('part ', part, self.parts)}")
        return read_only(self._evaluator.of_part(part))

    def __repr__(self) -> str:
        sizes = (f"{x} {np.abs(getattr(self, x)).max(initial=0.0):.3g}" for x in _TERMS)
        return f"ResidualTerms(t={self.state.t:g} s, largest: {', '.join(sizes)})"


class _PartResiduals:
    """A work space at a state, in which bodies and elements are evaluated by themselves."""

    def __init__(self, model: FrozenModel, state: State) -> None:
        self.model, self.work = model, Workspace(model, state)
        work = self.work
        self.a, self.v = work.vector(m.A).copy(), work.vector(m.V).copy()
        work.vector(m.A)[model.numbering.lam[~model.compliant]] = 0.0
        work.evaluate(1.0)
        self.faces = work.vector(m.FY, 12 * (model.n_faces + 1))
        self.on_faces = self.faces.copy()  # without those of rows
        self.g = work.F[m.GX : m.GX + 3].copy()
        self.internal = self.of_bodies()
        self.records = dict[int, tuple[Any, int]]()  # kernel and place of its table
        for forces, at in model.kernels[m.FORCES]:
            head = model.I[at : at + m.T_HEAD].tolist()
            ends = head[m.T_FIRST] + head[m.T_SIZE] * head[m.T_NUMBER]
            some = range(head[m.T_FIRST], ends, head[m.T_SIZE])
            self.records |= dict.fromkeys(some, (forces, at))

    def of_bodies(
        self, a: Any = 0.0, v: Any = 0.0, g: Any = 0.0, on_faces: Any = 0.0
    ) -> np.ndarray:
        """Return the residual of bodies (n_v,), with accelerations and multipliers a."""
        work = self.work
        work.vector(m.A)[:], work.vector(m.V)[:], self.faces[:] = a, v, on_faces
        work.F[m.GX : m.GX + 3] = g
        work.run(nodes_kernel)
        return work.vector(m.X)[self.model.numbering.v]

    def under(self, on_faces: np.ndarray) -> np.ndarray:
        """Return what forces on faces add, (n_v,)."""
        return self.of_bodies(on_faces=on_faces) - self.internal

    def of_part(self, part: str) -> np.ndarray:
        """Return what a part adds, (n_v,)."""
        model, work, out = self.model, self.work, np.zeros(self.model.n_v)
        if part in model.nodes:
            own = model.node_of_velocity == model.bodies[part]
            out[own] = self.of_bodies(self.a, self.v, self.g)[own]
        work.vector(m.A)[:], work.vector(m.V)[:], self.faces[:] = self.a, self.v, 0.0
        work.F[m.GX : m.GX + 3] = self.g
        with_forces = (x for x in model.records.get(part, ()) if x in self.records)
        for record in with_forces:
            forces, at = self.records[record]
            one = model.I.copy()
            one[at + m.T_NUMBER], one[at + m.T_FIRST] = 1, record
            forces(one, work.F, at)
        work.check_laws()
        return out + self.under(self.faces.copy())


def terms(A: Any) -> ResidualTerms:
    """Return the terms of the residual of an ``Assembly``."""
    model, state = A.model, A.state
    e, inertia = _PartResiduals(model, state), A.M @ state.a
    forces = e.under(e.on_faces)
    if model.kernels[m.SECOND_MAPS]:  # elements have masses
        a = np.zeros(len(e.a))
        a[model.numbering.v] = state.a
        forces -= inertia - (e.of_bodies(a) - e.internal)
    of_velocities, of_gravity = e.of_bodies(v=e.v) - e.internal, e.of_bodies(g=e.g) - e.internal
    parts = inertia, of_velocities, of_gravity, e.internal, forces, A.Bt @ state.lam
    return ResidualTerms(model, state, *read_only(parts))
