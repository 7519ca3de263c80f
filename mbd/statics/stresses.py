r"""Stresses of elements as unknowns of their own, in Newton's method for a balance [1]_.

Elements with strains e and stresses :math:`\sigma(e)` act by :math:`f = B^T\sigma`, with
:math:`B = \partial e/\partial y`. With :math:`\hat\sigma` as iterates of their own, Newton's method
for

.. math:: p(y) + B^T\hat\sigma = 0, \qquad \sigma(e(y)) - \hat\sigma = 0

has, after the second is eliminated, the residual of the true stresses and the matrix in which

.. math:: B^T\frac{\partial\sigma}{\partial e}B + \hat\sigma\cdot\partial^2 e, \qquad
          \hat\sigma \leftarrow \sigma + \frac{\partial\sigma}{\partial e}\,B\,\delta .

A turn stretches what is stiff by the square of its size, and the true stresses of that are no
measure of the stiffness across; these iterates never see them. Where the same matrix leads from
elsewhere is, by both equations, the step of :math:`p + B^T\hat\sigma + B_0^T(\sigma - \hat\sigma)`,
with B0 of the pose that made the matrix.

References
----------
.. [1] D. Magisano, L. Leonetti, G. Garcea, Int. J. Numer. Methods Eng. 109 (2017).
"""

from typing import Any

import numpy as np

from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel, per_model
from mbd.model.state import State
from mbd.model.workspace import Workspace


@per_model
def _table(model: FrozenModel) -> tuple[np.ndarray, tuple[tuple[Any, int], ...]]:
    """Return where the stresses of all elements are, and the kernels that write them."""
    where: list[int] = []
    writers = set()
    for name, elements in model.elements.items():
        for record, e in zip(model.records[name], elements, strict=True):
            if e.kind.stresses:
                at = int(model.I[record + m.E_NUMBERS]) + len(e.numbers)
                where += range(at, at + e.kind.stresses)
                writers.add(id(e.kind.forces))
    calls = tuple(x for x in model.kernels[m.FORCES] if id(x[0]) in writers)
    return np.array(where, np.int64), calls


def stresses(
    model: FrozenModel, state: State, delta: np.ndarray, iterate: np.ndarray | None = None
) -> np.ndarray:
    """Return the stresses at a pose, and what an increment (n_v,) adds to first order.

    To first order about an iterate of them, of laws in which they are not linear.
    """
    where, calls = _table(model)
    work = Workspace(model, state.replace(v=delta))
    if iterate is not None:
        work.F[where] = iterate
    work.S[m.PHASE] = m.STRESS_AHEAD
    work.run_each((*model.kernels[m.PLACE], *calls))
    work.check_laws()
    return work.F[where]


def give(work: Workspace, values: np.ndarray, phase: int = m.STRESS_GIVEN) -> None:
    """Put stresses in the place of those of the pose."""
    work.F[_table(work.model)[0]] = values
    work.S[m.PHASE] = phase
