r"""Least multipliers: how rows that depend on others share the load.

Steps leave the multipliers of dropped rows zero; all :math:`\lambda - Wc` have the same effect,
with :math:`B^T W = 0`. Of these the smallest are taken, forces of joints in N and moments in N m
over the length of the model, :math:`\hat\lambda = D\lambda`. With :math:`\hat B = D^{-1} B D_v`,
of which rows that act are :math:`\hat B_1` and dropped ones :math:`\hat B_2 = N \hat B_1`,

.. math:: \hat\lambda_2 = (1 + N P N^T)^{-1} N P \hat\lambda_1, \qquad
          \hat\lambda_1 \leftarrow \hat\lambda_1 - N^T \hat\lambda_2 .

P leaves out the own rows of bodies: no mass, no step size, no formulation is in the share of a
joint. Multipliers are computed when somebody reads them: a run records `OPEN` for a dropped row,
and `RELEASED` for one that is switched off where others are dropped.

References
----------
.. [1] M. Wojtyra, M. Pekal and J. Fraczek, Utilization of the Moore-Penrose inverse in the modeling
   of overconstrained mechanisms, Mechanism and Machine Theory 153 (2020): the minimum norm depends
   on units, which are therefore to be stated.
"""

from typing import Any

import numpy as np

from mbd.base.tolerances import RANK
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import evaluate, linearise
from mbd.model.frozen import FrozenModel
from mbd.model.independent_rows import DENSE, Component, combination, combinations, components
from mbd.model.state import State
from mbd.model.workspace import Workspace

OPEN, RELEASED = np.nan, np.inf  # what a record has for rows that do not act
_BYTES = 1 << 24  # of matrices that are had at once


@kernel
def gather_kernel(I: Any, F: Any, k: int) -> None:
    """Write entries of the matrix at poses, one pose after the other.

    I[k:] has the number of poses, where they are (time, coordinates), the number of entries, where
    these go; then the places of the entries.
    """
    at, n, to = I[k + 1], I[k + 2], I[k + 3]
    for _ in range(I[k]):
        F[m.T] = F[at]
        for i in range(I[m.N_Q]):
            F[I[m.QN] + i] = F[at + 1 + i]
        evaluate(I, F)
        linearise(I, F)
        for i in range(n):
            F[to + i] = F[I[k + 4 + i]]
        at, to = at + 1 + I[m.N_Q], to + n


def _entries(
    model: FrozenModel, t: np.ndarray, q: np.ndarray, places: np.ndarray, F: np.ndarray | None
) -> np.ndarray:
    """Return entries of the matrix with weights (1, 0, 0) at poses, (n, entries)."""
    n, size = len(t), 1 + model.n_q
    work = Workspace(model, extra=n * (size + len(places)))
    if F is not None:
        work.F[: len(model.F)] = F[: len(model.F)]
    first = work.size
    poses = work.F[first : first + n * size].reshape(n, size)
    poses[:, 0], poses[:, 1:] = t, q
    work.F[m.SCALE_R], work.F[m.ROW_RATE], work.F[m.ROW_TURN] = 1.0, 0.0, 0.0
    work.F[m.W_M], work.F[m.W_G], work.F[m.W_K], work.S[m.ALL_ROWS] = 1.0, 0.0, 0.0, 1
    to = first + n * size
    work.I = m.entries(model.I, [n, first, len(places), to], places)
    work.run(gather_kernel, len(model.I))
    return work.F[to : to + n * len(places)].reshape(n, -1)


def of_state(work: Workspace) -> State:
    """Return the state in a work space, with the least multipliers of rows that are dropped."""
    state, model, dropped = work.store(), work.model, work.dropped
    lam = state.lam.copy()
    if not len(dropped) or np.abs(lam[dropped]).max() > RANK * np.abs(lam).max(initial=0.0):
        return state  # it was loaded as it is
    lam[dropped] = OPEN
    lam[work.vector(m.OFF)[model.numbering.lam] == m.RELEASED] = RELEASED
    lam = resolved(model, np.array([state.t]), state.q[None], lam[None], work.F)[0]
    return state.replace(lam=lam, alg=state.alg)


def resolved(
    model: FrozenModel, t: np.ndarray, q: np.ndarray, lam: np.ndarray, F: np.ndarray | None = None
) -> np.ndarray:
    """Return multipliers (n, n_lam) with the least ones in the place of `OPEN` ones.

    At times t (n,) [s] and poses q (n, n_q); F are the constants of a run that has others.
    """
    opened = np.isnan(lam)
    if not opened.any():
        return lam
    lam = lam.copy()
    released = np.isposinf(lam)
    lam[released], lam[opened] = 0.0, 0.0
    which = np.flatnonzero(opened.any(axis=1))
    kinds, of = np.unique(opened[which] + 2 * released[which], axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        here = which[of.ravel() == k]
        for part in components(model, "Bt"):
            mine = kind[part.rows]
            if (mine == 1).any():
                some = max(1, _BYTES // (16 * len(part.rows) * len(part.columns)))
                for first in range(0, len(here), some):
                    at = here[first : first + some]
                    its = np.ix_(at, part.rows)
                    lam[its] = _least(model, part, mine, t[at], q[at], lam[its], F)
    return lam


def _least(
    model: FrozenModel, part: Component, kind: np.ndarray, t: np.ndarray, q: np.ndarray,
    lam: np.ndarray, F: np.ndarray | None,
) -> np.ndarray:  # fmt: skip
    """Return the least multipliers of a component; `kind` is 1 of dropped, 2 of released rows."""
    values = _entries(model, t, q, part.places, F)
    B = np.zeros((len(t), len(part.rows), len(part.columns)))
    constants, kinds = model.F if F is None else F, model.numbering.lam_kinds[part.rows]
    units = constants[m.UNIT + model.numbering.v_kinds[part.columns]]
    B[:, part.row, part.column] = values * units[part.column]
    size = constants[m.UNIT + kinds]
    B /= size[:, None]
    one, two = np.flatnonzero(kind == 0), np.flatnonzero(kind == 1)
    lam = lam * size
    if len(one) <= DENSE:
        N = combinations(B[:, one], B[:, two])
    else:
        unknowns = part.unknowns(model, one)
        N = np.array([combination(x[one], x[two], unknowns) for x in B])
    of_joints = N * (kinds[one] != m.OWN)
    shared = np.linalg.solve(
        np.eye(len(two)) + of_joints @ N.transpose(0, 2, 1), of_joints @ lam[:, one, None]
    )
    lam[:, one] -= (N.transpose(0, 2, 1) @ shared)[:, :, 0]
    lam[:, two] = shared[:, :, 0]
    return np.asarray(lam / size)
