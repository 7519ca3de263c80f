"""Floor 5. The largest violation of a constraint row at each instant, evaluated by the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m
from mbd.algebra.jit import kernel
from mbd.model.kernels import evaluate, stage
from mbd.model.model import Workspace
from mbd.results.histories import per_model

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.results.solution import Solution

__all__ = ["MEMORY", "gaps", "remembers"]

MEMORY = ""  # its key in what came before; no part has this name

_BYTES = 1 << 23  # of instants that are handed over at once


@kernel
def gaps_kernel(I: Any, F: Any, k: int) -> None:
    """Write the largest row of n instants.

    I[k:] has n, the place of the instants (t, q, all unknowns of each, and whether each row acts),
    their length, the place of the results, the number of rows and their unknowns.
    """
    n, at, size, out, n_rows = I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4]
    n_q, n_u = I[m.N_Q], I[m.N_U]
    for e in range(n):
        F[m.T] = F[at]
        for i in range(n_q):
            F[I[m.QN] + i] = F[at + 1 + i]  # poses are placed by an increment from here
        for i in range(n_u):
            F[I[m.V] + i] = F[at + 1 + n_q + i]
        evaluate(I, F)
        largest = 0.0
        for r in range(n_rows):
            gap = abs(F[I[m.X] + I[k + 5 + r]]) if F[at + 1 + n_q + n_u + r] != 0.0 else 0.0
            if not gap <= largest:  # not a number wins
                largest = gap
        F[out + e] = largest
        stage(I, F, m.ACCEPT)  # angles count turns from instant to instant
        at += size


@per_model
def _owned(model: Model) -> np.ndarray:
    """Return where the rows of each joint, or other part with rows, begin: one behind another."""
    numbering = model.numbering
    return np.array([numbering.owners[name].start for name in numbering.elements], int)


def _acting(model: Model, lam: np.ndarray) -> np.ndarray:
    """Return which rows act, (n, n_lam): those of a joint that is switched off carry nothing."""
    acts, starts = np.ones(lam.shape), _owned(model)
    if len(starts):
        any_of = np.logical_or.reduceat(lam != 0.0, starts, axis=1)
        lengths = np.diff(starts, append=lam.shape[1])
        acts[:, starts[0] :] = np.repeat(any_of, lengths, axis=1)
    return acts


@per_model
def remembers(model: Model) -> bool:
    """Tell whether rows need what elements with a memory know."""
    return any(e.memory for found in model.numbering.elements.values() for e, _ in found)


def gaps(solution: Solution) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the largest violation of a row, (n,): m, m^2 or a pure number, as the row has it.

    And what elements with a memory know after the last instant. A joint counts while it acts: not
    where all its multipliers are exactly zero. Rows on sums of angles need instants between which
    no angle turns by more than pi.
    """
    model, t = solution.model, solution.t
    rows = model.numbering.lam
    found = np.zeros(len(t))
    if not len(rows):
        return found, None
    n_q, n_u = model.n_q, int(model.I[m.N_U])
    size = 1 + n_q + n_u + len(rows)
    many = int(np.clip(_BYTES // (8 * size), 1, max(1, len(t))))
    work = Workspace(model, extra=many * (size + 1))
    work.remember(solution.before.get(MEMORY))
    at, k = len(model.F), len(work.I)
    out = at + many * size
    work.I = np.concatenate([work.I, [0, at, size, out, len(rows)], rows]).astype(np.int64)
    work.F[m.SCALE_R] = work.F[m.ROW_RATE] = 1.0
    work.vector(m.A)[:] = work.vector(m.D)[:] = 0.0
    table = work.F[at:out].reshape(many, size)
    table[:] = 0.0
    for first in range(0, len(t), many):
        n = min(many, len(t) - first)
        here = slice(first, first + n)
        table[:n, 0], table[:n, 1 : 1 + n_q] = t[here], solution.q[here]
        table[:n, 1 + n_q + model.numbering.v] = solution.v[here]
        table[:n, 1 + n_q + n_u :] = _acting(model, np.asarray(solution.lam[here]))
        work.I[k] = n
        gaps_kernel(work.I, work.F, k)
        work.check_laws()
        found[here] = work.F[out : out + n]
    return found, work.store().memory
