"""Floor 5. Row elements over time: their kernels run for all instants at once.

What a row does to faces, and what it measures on them, is said in its kernels only; here they get a
table in which every instant is an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m

if TYPE_CHECKING:
    from mbd.results.solution import Solution

__all__ = ["RowsOverTime", "over_time"]


@dataclass(frozen=True)
class RowsOverTime:
    """One row element at n instants.

    Attributes
    ----------
    value, rate, second_rate : (n, n_rows) arrays
    forces : dict of (n, 4, 3) arrays
        By body, conjugate to its face: what the rows put into the residual.
    """

    value: np.ndarray
    rate: np.ndarray
    second_rate: np.ndarray
    forces: dict[str, np.ndarray]


def over_time(element: Any, solution: Solution, lam: np.ndarray | None = None) -> RowsOverTime:
    """Evaluate a row element, without its law of time, at all instants of a solution."""
    kind, n = element.kind, len(solution.t)
    bodies = list({a.body: None for a in element.attachments})
    n_b, n_r, n_a = len(bodies), kind.n_rows, kind.n_attachments
    I = np.zeros(m.I_HEADER + 4 + n_a * n * m.ATT_SIZE + n * kind.size, np.int64)
    numbers = [*element.numbers, *[0.0] * kind.room]
    sizes = {m.X: n * n_r, m.A: n * n_r, m.AL: n * n_r, m.SCRATCH: m.SCRATCH_SIZE}
    sizes |= dict.fromkeys((m.Y, m.YD, m.YDD, m.FY), 12 * n * n_b)
    at = m.F_HEADER
    for name, size in sizes.items():
        I[name] = at
        at += size
    weights, constants, memory = at, at + 4 * n_a, at + 4 * n_a + len(numbers)
    F = np.zeros(memory + len(element.memory))
    F[weights:constants] = np.ravel([a.weights for a in element.attachments])
    F[constants:memory] = numbers
    F[memory:] = element.memory
    F[m.ROW_RATE] = 1.0
    if lam is not None:
        F[I[m.A] :][: n * n_r] = lam[:, :n_r].ravel()
    for b, name in enumerate(bodies):
        for place, x in zip((m.Y, m.YD, m.YDD), solution.faces_of(name), strict=True):
            F[I[place] :][: 12 * n * n_b].reshape(n, n_b, 4, 3)[:, b] = x
    e = np.arange(n)
    k = m.I_HEADER
    first = k + 4 + n_a * n * m.ATT_SIZE
    I[k : k + 3] = n, first, kind.size
    ends = I[k + 4 : first].reshape(n, n_a, m.ATT_SIZE)
    records = I[first:].reshape(n, kind.size)
    records[:] = -1
    for a, end in enumerate(element.attachments):
        ends[:, a, m.ATT_Y] = 12 * (e * n_b + bodies.index(end.body))
        ends[:, a, m.ATT_W] = weights + 4 * a
        records[:, a] = k + 4 + (e * n_a + a) * m.ATT_SIZE
    records[:, n_a], records[:, n_a + 1] = e * n_r, constants
    records[:, n_a + 2], records[:, n_a + 3] = memory, 0
    kind.forces(I, F, k)
    value = F[I[m.X] :][: n * n_r].reshape(n, n_r).copy()
    faces = F[I[m.FY] :][: 12 * n * n_b].reshape(n, n_b, 4, 3).copy()
    kind.rates(I, F, k)
    rate, second = (F[I[x] :][: n * n_r].reshape(n, n_r).copy() for x in (m.AL, m.X))
    return RowsOverTime(value, rate, second, {b: faces[:, i] for i, b in enumerate(bodies)})
