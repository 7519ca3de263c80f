"""A sweep over the steps of a run: what the compiled sweeps need, and the steps in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd.derivatives import sweeps
from mbd.derivatives.increments import NODE_ENTRY, SCRATCH
from mbd.derivatives.programs import Tables, program
from mbd.derivatives.stencil import Stencil
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.integration.method import Method
from mbd.interactions.laws import check
from mbd.linear.fronts import factor_and_solve, factor_kernel, transposed_kernel
from mbd.machine import buffer as m
from mbd.model.evaluation import evaluate_kernel, linearise_kernel
from mbd.model.frozen import FrozenModel
from mbd.model.released_rows import tables as tables_of
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["Steps", "Sweep", "steps_of"]

_SOLVERS = (evaluate_kernel, linearise_kernel, factor_kernel, factor_and_solve, transposed_kernel)
_CHUNK_BYTES = 1 << 22  # of steps and results that are in the work space at a time


@dataclass(frozen=True, eq=False)
class Steps:
    """N steps, from where they began, N + 1 instants.

    Attributes
    ----------
    t : (N + 1,) array [s]
    h : (N,) array [s]
    move : (N,) array [-]
        By how much of the last change of accelerations the algorithmic ones move before each step.
    q, v, a, lam, alg : (N + 1, n) arrays
        Of generalized-alpha: velocities of the first instant are those with which it began, `alg`
        the algorithmic accelerations.
    before : (n_v,) array
        Accelerations one step before the first.
    newmark : tuple of float
        beta and gamma of the method.
    """

    t: np.ndarray
    h: np.ndarray
    move: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    alg: np.ndarray
    before: np.ndarray
    newmark: tuple[float, float]

    def __len__(self) -> int:
        return len(self.h)

    def part(self, first: int, last: int) -> Steps:
        """Return those between two of their instants."""
        ends, own = slice(first, last + 1), slice(first, last)
        before = self.a[first - 1] if first else self.before
        return Steps(
            self.t[ends], self.h[own], self.move[own], self.q[ends], self.v[ends], self.a[ends],
            self.lam[ends], self.alg[ends], before, self.newmark,
        )  # fmt: skip

    def increments(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return D of some steps, and the derivatives of D and of velocities by their size h."""
        beta, gamma = self.newmark
        size, v, old, new = self.h[which, None], self.v[which], self.alg[which], self.alg[which + 1]
        if self.move.any():
            before = np.where(which[:, None] > 0, self.a[which - 1], self.before)
            old = old + self.move[which, None] * (self.a[which] - before)
        bent = (0.5 - beta) * old + beta * new
        D = size * v + size * size * bent
        return D, v + 2 * size * bent, (1 - gamma) * old + gamma * new


def steps_of(
    method: Method, t: np.ndarray, instants: tuple[np.ndarray, ...], begun: State,
    before: np.ndarray, h: np.ndarray,
) -> Steps:  # fmt: skip
    """Return the steps of sizes h (N,) at times t (N + 1,), which `begun` in a state.

    `instants` are q, v, a, lam, time first. Algorithmic accelerations are found forwards: backwards
    they would grow at every step.
    """
    from scipy.signal import lfilter

    assert method.facts.weights is not None
    am, af, beta, gamma = method.facts.weights
    q, v, a, lam = instants
    if (v[0] != begun.v).any() or (a[0] != begun.a).any() or (lam[0] != begun.lam).any():
        v, a, lam = (x.copy() for x in (v, a, lam))
        v[0], a[0], lam[0] = begun.v, begun.a, begun.lam
    alg = np.empty_like(a)
    alg[0] = begun.a if begun.alg is None else begun.alg
    source = ((1 - af) * a[1:] + af * a[:-1]) / (1 - am)
    c2, move = -am / (1 - am), np.zeros(len(h))
    move[1:] = (am - af) * np.diff(h) / h[:-1]
    if move.any():
        change = np.diff(a, axis=0, prepend=before[None])
        for i, x in enumerate(source):
            alg[i + 1] = x + c2 * (alg[i] + move[i] * change[i])
    elif len(h):
        alg[1:] = lfilter([1.0], [1.0, -c2], source, axis=0, zi=c2 * alg[:1])[0]
    return Steps(t, h, move, q, v, a, lam, alg, before, (beta, gamma))


class Sweep:
    """A work space with the tables of parameters, in which the steps of a run are gone through.

    Parameters
    ----------
    model : Model
    method : integrator
    stencils : sequence of Stencil
    columns : int
        How many tangents or adjoints are carried.
    remembers : bool
        Whether what elements remember comes with each step; otherwise it is followed forwards.
    """

    def __init__(
        self, model: FrozenModel, method: Method, stencils: Sequence[Stencil],
        columns: int, remembers: bool = False,
    ) -> None:  # fmt: skip
        n = int(model.I[m.N_U])
        self.model, self.n, self.stencils, self.n_columns = model, n, stencils, columns
        memory = model.memory
        n_memory = len(memory) if remembers else 0
        self.size = sweeps.STEP_HEAD + model.n_q + sweeps.STEP_VECTORS * n + n_memory
        self.room = max(1, _CHUNK_BYTES // (8 * (self.size + 3 * n * max(columns, 1))))
        tables = Tables(model.I.tolist(), start=model.size + n)  # behind vector 0 of the method
        programs = [program(model, tables, s) for s in stencils]
        work = [0] * sweeps.SWEEP_SIZE
        own = tables.start + len(tables.F)
        self.places: dict[str, int] = {}
        for name, size in (
            ("columns", columns * sweeps.COLUMN_SIZE * n), ("work", 6 * n), ("scratch", SCRATCH),
            ("residual", columns * n), ("shifts", 2 * columns), ("rate", n),
            ("aside", int(model.I[m.MATRIX_SIZE])),
            ("maps", sum(2 * x.formulation.n_v**2 for x in model.nodes.values())),
            ("steps", self.room * self.size),
            ("out", self.room * 3 * n * max(columns, 1) + len(stencils) + 1),
        ):  # fmt: skip
            self.places[name], own = own, own + size + 8
        nodes, flows = self._nodes(tables)
        n_nodes, n_flows = len(nodes) // NODE_ENTRY, len(flows) // 2
        for field, value in {
            sweeps.STEPS: self.places["steps"], sweeps.STEP_SIZE: self.size,
            sweeps.N_PARAMETERS: len(stencils), sweeps.PROGRAMS: tables.table(programs),
            sweeps.N_NODES: n_nodes, sweeps.NODES: tables.table(nodes), sweeps.N_FLOWS: n_flows,
            sweeps.FLOWS: tables.table(flows),
            sweeps.SCRATCH: self.places["scratch"], sweeps.COLUMNS: self.places["columns"],
            sweeps.OUT: self.places["out"], sweeps.WORK: self.places["work"],
            sweeps.AWAY: self.places["aside"] - int(model.I[m.MATRIX]),
            sweeps.RESIDUAL: self.places["residual"], sweeps.MEMORY: tables.table(memory),
            sweeps.N_MEMORY: n_memory, sweeps.N_REMEMBERED: len(memory),
            sweeps.N_COLUMNS: columns, sweeps.SHIFTS: self.places["shifts"],
            sweeps.BY_TIME: self.places["rate"],
        }.items():  # fmt: skip
            work[field] = value
        for i, kernel in enumerate(_SOLVERS):
            work[sweeps.SOLVERS + i] = kernel.address
        self.k = tables.table(work)
        self.work = Workspace(model, None, own=own - model.size)
        self.tables, self.F = np.array(tables.I, np.int64), self.work.F
        self.I = self.tables
        self.F[tables.start : tables.start + len(tables.F)] = tables.F
        method.prepare(model, self.work.S, self.F)

    def _nodes(self, tables: Tables) -> tuple[list[int], list[int]]:
        """Return the table of nodes and their matrices, and that of their flows."""
        model, to, I = self.model, self.places["maps"], self.model.I
        groups: dict[Formulation, list[int]] = {}
        for name, body in model.nodes.items():
            groups.setdefault(body.formulation, []).append(model.node_records[name])
        nodes, flows = [], []
        for formulation, records in groups.items():
            kernel = family(formulation).flow
            if kernel is None:
                raise ValueError(
                    f"Formulation {formulation.name!r} must have a flow, by which increments carry "
                    "tangents; got none"
                )
            flows += [kernel.address, tables.table([len(records), records[0]])]
            for record in records:
                nodes += [int(I[record + m.NODE_U]), formulation.n_v, to]
                to += 2 * formulation.n_v**2
        return nodes, flows

    def load(self, state: State) -> None:
        """Take over where steps begin, and which joints are off."""
        self.work.load(state)
        off, cleared = tables_of(self.model, state.off) if state.off else (np.empty(0, int),) * 2
        S, n = self.work.S, len(self.tables)
        S[m.OFF], S[m.CLEARED] = n, n + len(off)
        self.I = np.concatenate([self.tables, off, cleared])

    @property
    def columns(self) -> np.ndarray:
        """A view of tangents or adjoints of q, v, (v', lam), a, v' before: (columns, 5, n_u)."""
        n = self.n_columns * sweeps.COLUMN_SIZE * self.n
        whole = self.F[self.places["columns"] :][:n]
        return whole.reshape(self.n_columns, sweeps.COLUMN_SIZE, self.n)

    def shift(self, times: np.ndarray | float, sizes: np.ndarray | float, timed: bool) -> None:
        """Say how the ends of steps move in time, and their sizes, by each column [s]."""
        shifts = self.F[self.places["shifts"] :][: 2 * self.n_columns].reshape(-1, 2)
        shifts[:, 0], shifts[:, 1] = times, sizes
        self.tables[self.k + sweeps.TIMED] = self.I[self.k + sweeps.TIMED] = timed

    def out(self, size: int) -> np.ndarray:
        """Return a view of what a sweep writes."""
        return self.F[self.places["out"] :][:size]

    def rows(self, steps: Steps, which: np.ndarray, memory: np.ndarray | None) -> int:
        """Put some steps where the kernel finds them; return their number."""
        v, lam, n_q, n = self.model.numbering.v, self.model.numbering.lam, self.model.n_q, self.n
        where = self.places["steps"]
        table = self.F[where : where + len(which) * self.size].reshape(len(which), self.size)
        table[...] = 0.0
        table[:, 0], table[:, 1] = steps.t[which + 1], steps.h[which]
        table[:, 2] = steps.move[which]
        at = sweeps.STEP_HEAD + n_q
        table[:, sweeps.STEP_HEAD : at] = steps.q[which]
        vectors = table[:, at : at + sweeps.STEP_VECTORS * n].reshape(len(which), -1, n)
        D, D_h, v_h = steps.increments(which)
        for i, x in enumerate((D, steps.v[which + 1], steps.a[which + 1], D_h, v_h)):
            vectors[:, i, v] = x
        vectors[:, 2, lam] = steps.lam[which + 1]
        if memory is not None:
            table[:, at + sweeps.STEP_VECTORS * n :] = memory[which]
        self.I[self.k + sweeps.N_STEPS] = len(which)
        return len(which)

    def run(self, kernel: Any) -> None:
        """Run a compiled sweep over the steps that were put."""
        kernel(self.I, self.F, self.k)
        check([law for s in self.stencils if not s.alike for x in s.models for law in x.laws],
              self.work.S, self.F)  # fmt: skip
        self.work.check_laws()
