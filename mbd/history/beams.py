r"""Beams over time: forces, moments and strains of their sections, their line, their energy.

The helicoid between two nodes acts on them at their origins; with f the forces on a node's frame
(``interactions/beams/element.py``) and its directors :math:`d_k`, in section axes at the second
end

.. math:: N_i = d_i\cdot f_r, \qquad M_i = d_i\cdot\sum_k d_k\times f_k ,

and at the first end the same with the other sign. In equilibrium these are exact whatever the
length of the element; strains follow from the stiffness of the section, :math:`C^{-1}(N, M)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mbd.base.checked import whole
from mbd.beams.helicoids import logarithm, points_between
from mbd.history.bodies import StructureHistory
from mbd.history.elements import tables
from mbd.history.faces import Faces, faces_over_time
from mbd.history.quantities import PartHistory
from mbd.history.quantity import Owner, Quantity
from mbd.history.trajectory import Trajectory
from mbd.interactions.beams.line import Line

__all__ = ["BeamHistory"]


class BeamHistory(StructureHistory):
    """A beam over time: its nodes, and what its sections bear, (n, elements, 2 ends, 3)."""

    def __init__(
        self,
        name: str,
        line: Line,
        run: Trajectory,
        nodes: Sequence[PartHistory],
        rows: PartHistory | None,
    ) -> None:
        super().__init__(name, nodes, rows)
        self._line, self._run = line, run
        self.owners = (*self.owners, Owner.JOINT)
        self.methods = (*self.methods, "strain", "curvature", "energy", "curve(points)")

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n, k, 2, 3), from the origin of the model, and axes of both ends of elements."""
        ends = [[x.place for x in e.attachments] for e in self._line.elements]
        w = np.array([[x.weights for x in e.attachments] for e in self._line.elements])
        columns = np.array([[self._faces.column[x] for x in element] for element in ends])
        x = self._faces.vectors(columns, w).reshape(self.instants, len(w), 2, 4, 3)
        return x[..., 0, :], np.swapaxes(x[..., 1:, :], -1, -2)

    @cached_property
    def _faces(self) -> Faces:
        run = self._run
        return faces_over_time(run.model, run.q, run.v, run.a, self.nodes)

    @cached_property
    def _loads(self) -> np.ndarray:
        """Force and moment (n, elements, 2 ends, 2, 3) of the sections, in their axes."""
        elements, faces = list(self._line.elements), self._faces
        (table,) = tables(elements, faces.column)
        k = len(elements)
        f = np.empty((self.instants, k, 2, 4, 3))
        w = table.weights.reshape(k, 2, 4, 4)  # element, end, attachment, vector of the face
        for here, on_faces in table.forces(faces, np.zeros((self.instants, k, 0))):
            f[here] = np.einsum("eabj,teabjx->teabx", w, on_faces.reshape(-1, k, 2, 4, 4, 3))
        d = np.swapaxes(self._ends[1], -1, -2)  # rows are directors
        both = np.stack([f[..., 0, :], np.cross(d, f[..., 1:, :]).sum(-2)], axis=-2)
        both[:, :, 0] *= -1.0
        return np.asarray(np.einsum("...ix,...cx->...ci", d, both))

    def _value(self, quantity: Quantity) -> np.ndarray:
        """Return force or moment of the sections, in their axes, or what nodes and rows have."""
        if quantity is PartHistory.force or quantity is PartHistory.moment:
            return self._loads[..., 0 if quantity is PartHistory.force else 1, :]
        return super()._value(quantity)

    @cached_property
    def _strains(self) -> np.ndarray:
        flexibility = np.linalg.inv(self._line.stiffness)
        loads = self._loads.reshape(*self._loads.shape[:3], 6)
        return np.asarray(np.einsum("eaij,teaj->teai", flexibility, loads))

    @property
    def strain(self) -> np.ndarray:
        """Stretch and two shears [-], section axes."""
        return self._strains[..., :3]

    @property
    def curvature(self) -> np.ndarray:
        """Twist and two bendings [rad/m], section axes, from those at rest."""
        return self._strains[..., 3:]

    @cached_property
    def _helicoids(self) -> np.ndarray:
        """Lengths and turns of the elements (n, elements, 6)."""
        r, R = self._ends
        return logarithm(r[:, :, 0], R[:, :, 0], r[:, :, 1], R[:, :, 1])

    @property
    def energy(self) -> np.ndarray:
        """Elastic energy of each element (n, elements) [J]."""
        numbers = np.array([x.numbers for x in self._line.elements])
        x = self._helicoids - numbers[:, :6]
        K = numbers[:, 6:42].reshape(-1, 6, 6)
        return np.asarray(0.5 * np.einsum("tei,eij,tej->te", x, K, x))

    def curve(self, points: int = 4) -> np.ndarray:
        """Return the line through `points` points an element, (n, points elements + 1, 3) [m]."""
        n = whole(f"{self.name}.curve", "points", points, 1)
        r, R = self._ends
        shares = np.arange(n) / n
        inner = points_between(r[:, :, 0], R[:, :, 0], self._helicoids, shares)
        line = np.concatenate([inner.reshape(len(r), -1, 3), r[:, -1:, 1]], axis=1)
        return np.asarray(line + self._run.model.origin)
