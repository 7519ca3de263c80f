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
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["Steps", "Sweep", "steps_of"]

_SOLVERS = (evaluate_kernel, linearise_kernel, factor_kernel, factor_and_solve, transposed_kernel)
_CHUNK_BYTES = 1 << 22  # of steps and results that are in the work space at a time


@dataclass(frozen=True, eq=False)
class Steps:
    """The N steps of a stretch, from where it began, N + 1 instants.

    Attributes
    ----------
    t : (N + 1,) array [s]
    h : float [s]
    q, v, a, lam, alg : (N + 1, n) arrays
        Of generalized-alpha: velocities of the first instant are those with which it began, `alg`
        the algorithmic accelerations.
    D : (N, n_v) array
        Increments.
    """

    t: np.ndarray
    h: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    alg: np.ndarray
    D: np.ndarray


def steps_of(method: Method, solution: Any, begun: State, h: float, first: int, last: int) -> Steps:
    """Return the steps between two instants of a solution, which `begun` in a state.

    Algorithmic accelerations are found forwards: backwards they would grow at every step.
    """
    from scipy.signal import lfilter

    assert method.facts.weights is not None
    am, af, beta, _ = method.facts.weights
    here = slice(first, last + 1)
    q, v, a, lam = (np.array(x[here]) for x in (solution.q, solution.v, solution.a, solution.lam))
    v[0], a[0], lam[0] = begun.v, begun.a, begun.lam
    alg = np.empty_like(a)
    alg[0] = begun.a if begun.alg is None else begun.alg
    if len(a) > 1:
        source = ((1 - af) * a[1:] + af * a[:-1]) / (1 - am)
        c2 = -am / (1 - am)
        alg[1:] = lfilter([1.0], [1.0, -c2], source, axis=0, zi=c2 * alg[:1])[0]
    D = h * v[:-1] + h * h * ((0.5 - beta) * alg[:-1] + beta * alg[1:])
    return Steps(np.array(solution.t[here]), h, q, v, a, lam, alg, D)


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
        self.model, self.n, self.stencils = model, n, stencils
        memory = model.memory
        n_memory = len(memory) if remembers else 0
        self.size = 2 + model.n_q + 3 * n + n_memory
        self.room = max(1, _CHUNK_BYTES // (8 * (self.size + 3 * n * max(columns, 1))))
        tables = Tables(model.I.tolist(), start=model.size + n)  # behind vector 0 of the method
        programs = [program(model, tables, s) for s in stencils]
        work = [0] * sweeps.SWEEP_SIZE
        own = tables.start + len(tables.F)
        self.places: dict[str, int] = {}
        for name, size in (
            ("columns", columns * sweeps.COLUMN_SIZE * n), ("work", 6 * n), ("scratch", SCRATCH),
            ("residual", max(1, len(stencils)) * n), ("aside", int(model.I[m.MATRIX_SIZE])),
            ("maps", sum(2 * x.formulation.n_v**2 for x in model.nodes.values())),
            ("steps", self.room * self.size),
            ("out", self.room * 3 * n * max(columns, 1) + len(stencils)),
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
        }.items():  # fmt: skip
            work[field] = value
        for i, kernel in enumerate(_SOLVERS):
            work[sweeps.SOLVERS + i] = kernel.address
        self.k = tables.table(work)
        self.work = Workspace(model, None, own=own - model.size)
        self.I, self.F = np.array(tables.I, np.int64), self.work.F
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

    def column(self, j: int) -> np.ndarray:
        """Return a view of tangents or adjoints of q, v, (v', lam), a: (4, n_u)."""
        at = self.places["columns"] + j * sweeps.COLUMN_SIZE * self.n
        return self.F[at : at + sweeps.COLUMN_SIZE * self.n].reshape(sweeps.COLUMN_SIZE, self.n)

    def rows(self, steps: Steps, which: np.ndarray, memory: np.ndarray | None) -> int:
        """Put some steps where the kernel finds them; return their number."""
        v, lam, n_q, n = self.model.numbering.v, self.model.numbering.lam, self.model.n_q, self.n
        table = np.zeros((len(which), self.size))
        table[:, 0], table[:, 1] = steps.t[which + 1], steps.h
        table[:, 2 : 2 + n_q] = steps.q[which]
        at = 2 + n_q
        table[:, at + v] = steps.D[which]
        table[:, at + n + v] = steps.v[which + 1]
        table[:, at + 2 * n + v] = steps.a[which + 1]
        table[:, at + 2 * n + lam] = steps.lam[which + 1]
        if memory is not None:
            table[:, at + 3 * n :] = memory[which]
        self.F[self.places["steps"] :][: table.size] = table.ravel()
        self.I[self.k + sweeps.N_STEPS] = len(which)
        return len(which)

    def run(self, kernel: Any) -> None:
        """Run a compiled sweep over the steps that were put."""
        kernel(self.I, self.F, self.k)
        check([law for s in self.stencils for x in s.models for law in x.laws], self.work.S, self.F)
        self.work.check_laws()
