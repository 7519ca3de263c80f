"""A sweep over the steps of a run: what the compiled sweeps need, and the steps in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.derivatives import one_step
from mbd.derivatives.increments import NODE_ENTRY, SCRATCH
from mbd.derivatives.programs import Appendix, program
from mbd.derivatives.stencil import Stencil
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.integration.method import Method
from mbd.interactions.laws import check
from mbd.linear.fronts import factor_kernel, transposed_kernel
from mbd.linear.products import products_kernel, solve_kernel
from mbd.machine import buffer as m
from mbd.model.evaluation import evaluate_kernel
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.values import declared
from mbd.model.workspace import Workspace

_SOLVERS = (evaluate_kernel, factor_kernel, transposed_kernel)
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
    dropped : (N + 1, n_lam) array of bool
        Rows that depend on others, without which an instant was found.
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
    dropped: np.ndarray

    def __len__(self) -> int:
        return len(self.h)

    def pieces(self, most: int) -> list[tuple[int, int]]:
        """Return between which instants steps have the same rows, at most so many at a time."""
        other = 1 + np.flatnonzero((self.dropped[2:] != self.dropped[1:-1]).any(axis=1))
        ends = [0, *other.tolist(), len(self)]
        return [
            (i, min(i + most, end))
            for first, end in pairwise(ends)
            for i in range(first, end, most)
        ]

    def part(self, first: int, last: int) -> Steps:
        """Return those between two of their instants."""
        ends, own = slice(first, last + 1), slice(first, last)
        before = self.a[first - 1] if first else self.before
        return Steps(
            self.t[ends], self.h[own], self.move[own], self.q[ends], self.v[ends], self.a[ends],
            self.lam[ends], self.alg[ends], before, self.dropped[ends],
        )  # fmt: skip


def steps_of(
    method: Method, t: np.ndarray, instants: tuple[np.ndarray, ...], begun: State,
    before: np.ndarray, h: np.ndarray, dropped: np.ndarray,
) -> Steps:  # fmt: skip
    """Return the steps of sizes h (N,) at times t (N + 1,), which `begun` in a state.

    `instants` are q, v, a, lam, time first. Algorithmic accelerations are found forwards: backwards
    they would grow at every step. Rows that are ``dropped`` (N + 1, n_lam) depend on others.
    """
    from scipy.signal import lfilter

    assert method.facts.weights is not None
    am, af, *_ = method.facts.weights
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
    return Steps(t, h, move, q, v, a, lam, alg, before, dropped)


class Sweep:
    """A work space with tables of parameters, in which the steps of a run are gone through.

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
        n, n_v, n_lam = int(model.I[m.N_U]), model.n_v, model.n_lam
        self.model, self.n, self.stencils, self.n_columns = model, n, stencils, columns
        self.many = many = 1 if remembers else m.padded(columns)
        memory = model.memory
        n_memory = len(memory) if remembers else 0
        self.size = one_step.STEP_HEAD + model.n_q + 4 * n_v + n_lam + n_memory
        self.of_step = 3 * n if remembers else max(many * (3 * n_v + n_lam), len(memory))
        self.room = max(1, _CHUNK_BYTES // (8 * (self.size + self.of_step)))
        appendix = Appendix(model.I.tolist(), start=model.size + n)  # after vector 0 of the method
        programs = [program(model, appendix, s) for s in stencils]
        work = [0] * one_step.SWEEP_SIZE
        own = appendix.start + len(appendix.F)
        aside = int(model.I[m.MATRIX_SIZE])
        self.places: dict[str, int] = {}
        for name, size in (
            ("columns", many * one_step.COLUMN_SIZE * n), ("work", 6 * n * many),
            ("scratch", SCRATCH), ("residual", many * n), ("shifts", 2 * many), ("rate", n),
            ("by size", 2 * n), ("aside", aside), ("part", aside),
            ("maps", sum(2 * x.formulation.n_v**2 for x in model.nodes.values())),
            ("steps", (self.room + 1) * self.size),
            ("out", self.room * self.of_step + len(stencils) + 1),
        ):  # fmt: skip
            self.places[name], own = own, own + size + 8
        nodes, flows = self._nodes(appendix)
        n_nodes, n_flows = len(nodes) // NODE_ENTRY, len(flows) // 2
        interactions, damped, of_nodes = self._tangents(appendix, method.facts.level == "position")
        for field, value in {
            one_step.STEPS: self.places["steps"], one_step.STEP_SIZE: self.size,
            one_step.N_PARAMETERS: len(stencils), one_step.PROGRAMS: appendix.table(programs),
            one_step.N_NODES: n_nodes, one_step.NODES: appendix.table(nodes),
            one_step.N_FLOWS: n_flows,
            one_step.FLOWS: appendix.table(flows),
            one_step.SCRATCH: self.places["scratch"], one_step.COLUMNS: self.places["columns"],
            one_step.OUT: self.places["out"], one_step.WORK: self.places["work"],
            one_step.AWAY: self.places["aside"] - int(model.I[m.MATRIX]),
            one_step.PART_AWAY: self.places["part"] - int(model.I[m.MATRIX]),
            one_step.RESIDUAL: self.places["residual"], one_step.MEMORY: appendix.table(memory),
            one_step.N_MEMORY: n_memory, one_step.N_REMEMBERED: len(memory),
            one_step.N_COLUMNS: columns, one_step.MANY: many,
            one_step.SHIFTS: self.places["shifts"],
            one_step.BY_TIME: self.places["rate"], one_step.BY_SIZE: self.places["by size"],
            one_step.N_V: n_v, one_step.V: appendix.table(model.numbering.v),
            one_step.N_LAM: n_lam, one_step.LAM: appendix.table(model.numbering.lam),
            one_step.N_INTERACTIONS: len(interactions) // 2,
            one_step.INTERACTIONS: appendix.table(interactions),
            one_step.N_DAMPED: len(damped) // 2, one_step.DAMPED: appendix.table(damped),
            one_step.N_NODE_TANGENTS: len(of_nodes) // 2,
            one_step.NODE_TANGENTS: appendix.table(of_nodes),
        }.items():  # fmt: skip
            work[field] = value
        for i, kernel in enumerate(_SOLVERS):
            work[one_step.SOLVERS + i] = appendix.address(kernel.address)
        z, r, y = (self.places[x] for x in ("columns", "residual", "work"))
        left, x = y + n * many, y + 2 * n * many
        away = work[one_step.AWAY]
        for at, kernel, records in (
            (one_step.PRODUCTS, products_kernel, ((0, z, r), (0, y, left), (away, x, left))),
            (one_step.SOLVE, solve_kernel, ((x, y), (left, y))),
        ):
            work[at] = appendix.address(kernel.address)
            work[at + 1 : at + 1 + len(records)] = (appendix.table([*e, many]) for e in records)
        self.k = appendix.table(work)
        self.work = Workspace(model, None, own=own - model.size)
        self.I, self.F = m.entries(appendix.I), self.work.F
        self.F[appendix.start : appendix.start + len(appendix.F)] = appendix.F
        method.prepare(model, self.work.S, self.F)

    def _tangents(
        self, appendix: Appendix, by_position: bool
    ) -> tuple[list[int], list[int], list[int]]:
        """Return pairs (address, table) of tangents: of interactions, some of these, of nodes.

        Those are of kinds that depend on velocities, or have rows that are met by their rates. With
        the nodes are elements with mass.
        """
        model, velocity = self.model, set[int]()
        heavy = {id(family(x.formulation).tangent) for x in model.nodes.values()}
        for name in model.system.parts:
            for e in declared(model, name).elements:
                if e.kind.accelerated:
                    heavy.add(id(e.kind.tangent))
                rated = e.kind.n_rows and (not by_position or m.VELOCITY_ROW in e.row_kinds)
                if e.kind.damped or rated:
                    velocity.add(id(e.kind.tangent))
        out: tuple[list[int], list[int], list[int]] = [], [], []
        for kernel, table in model.kernels[m.TANGENT]:
            pair = appendix.address(kernel.address), table
            if id(kernel) in heavy:
                out[2].extend(pair)
                continue
            out[0].extend(pair)
            if id(kernel) in velocity:
                out[1].extend(pair)
        return out

    def _nodes(self, appendix: Appendix) -> tuple[list[int], list[int]]:
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
            flows += [appendix.address(kernel.address), appendix.table([len(records), records[0]])]
            for record in records:
                nodes += [int(I[record + m.NODE_U]), formulation.n_v, to]
                to += 2 * formulation.n_v**2
        return nodes, flows

    def load(self, state: State) -> None:
        """Take over where steps begin, and which joints are off."""
        self.work.load(state)

    @property
    def columns(self) -> np.ndarray:
        """A view of tangents or adjoints of q, v, (v', lam), a, v' before: (columns, 5, n_u)."""
        n = self.many * one_step.COLUMN_SIZE * self.n
        whole = self.F[self.places["columns"] :][:n].reshape(
            one_step.COLUMN_SIZE, self.n, self.many
        )
        return whole.transpose(2, 0, 1)[: self.n_columns]

    def shift(self, times: np.ndarray | float, sizes: np.ndarray | float, timed: bool) -> None:
        """Say how the ends of steps move in time, and their sizes, by each column [s]."""
        shifts = self.F[self.places["shifts"] :][: 2 * self.many].reshape(2, -1)
        shifts[0, : self.n_columns], shifts[1, : self.n_columns] = times, sizes
        self.I[self.k + one_step.TIMED] = timed

    def out(self, size: int) -> np.ndarray:
        """Return a view of what a sweep writes."""
        return self.F[self.places["out"] :][:size]

    def rows(self, steps: Steps, first: int, last: int, memory: np.ndarray | None = None) -> None:
        """Put the steps between two instants, with the same rows, where the kernel finds them."""
        if self.model.I[m.LOOPS]:
            self.work.drop(np.flatnonzero(steps.dropped[last]))
        n_q, n_v, n_lam = self.model.n_q, self.model.n_v, self.model.n_lam
        where, n = self.places["steps"], last - first
        table = self.F[where : where + (n + 1) * self.size].reshape(n + 1, self.size)
        ends, own = slice(first, last + 1), slice(first, last)
        table[:, 0], table[:n, 1], table[:n, 2] = steps.t[ends], steps.h[own], steps.move[own]
        at = one_step.STEP_HEAD
        sizes = (n_q, n_v, n_v, n_lam, n_v)
        vectors = (steps.q, steps.v, steps.a, steps.lam, steps.alg)
        for x, size in zip(vectors, sizes, strict=True):
            table[:, at : at + size] = x[ends]
            at += size
        table[:n, at : at + n_v] = steps.alg[own]
        if steps.move[own].any():
            last_a = steps.a[first - 1 : last - 1] if first else np.vstack(
                [steps.before, steps.a[: n - 1]]
            )  # fmt: skip
            table[:n, at : at + n_v] += steps.move[own, None] * (steps.a[own] - last_a)
        if memory is not None:
            table[:n, at + n_v :] = memory[own]
        self.I[self.k + one_step.N_STEPS] = n

    def run(self, kernel: Any, all_rows: bool = False) -> None:
        """Run a compiled sweep over the steps that were put; dropped rows are met or looked at."""
        self.work.S[m.ALL_ROWS] = all_rows
        kernel(self.I, self.F, self.k)
        check([law for s in self.stencils for law in s.laws], self.work.S, self.F)
        self.work.check_laws()
