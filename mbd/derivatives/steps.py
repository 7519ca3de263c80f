"""Steps of a run, and the maps that carry tangents over them and adjoints back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.base.tolerances import DERIVATIVE_EXACT
from mbd.derivatives import step_kernels as at
from mbd.derivatives.controls import Input
from mbd.derivatives.parameters import Stencil
from mbd.derivatives.restarts import Restarted
from mbd.derivatives.start_kernels import begin_back
from mbd.derivatives.variations import by_parameter, flows
from mbd.formulations.families import family
from mbd.integration.method import Method
from mbd.interactions.laws import check
from mbd.linear.fronts import factor_and_solve, factor_kernel, transposed_kernel
from mbd.linear.products import products_kernel, solve_kernel
from mbd.machine import buffer as m
from mbd.model.appendix import Appendix
from mbd.model.evaluation import evaluate_kernel
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.values import declared, followed_memory
from mbd.model.workspace import Workspace

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

    def part(self, first: int, last: int) -> "Steps":
        """Return the steps between two of their instants."""
        ends, own = slice(first, last + 1), slice(first, last)
        before = self.a[first - 1] if first else self.before
        return Steps(
            self.t[ends], self.h[own], self.move[own], self.q[ends], self.v[ends], self.a[ends],
            self.lam[ends], self.alg[ends], before, self.dropped[ends],
        )  # fmt: skip


def steps_of(
    method: Method, t: np.ndarray, instants: tuple[np.ndarray, ...], state: State,
    before: np.ndarray, h: np.ndarray, dropped: np.ndarray,
) -> Steps:  # fmt: skip
    """Return the steps of sizes h (N,) at times t (N + 1,), from a `state` of the method.

    `instants` are q, v, a, lam, time first. Algorithmic accelerations are found forwards: backwards
    they would grow at every step. Rows that are ``dropped`` (N + 1, n_lam) depend on others.
    """
    from scipy.linalg import solve_banded

    assert method.facts.weights is not None
    am, af, *_ = method.facts.weights
    q, v, a, lam = instants
    if (v[0] != state.v).any() or (a[0] != state.a).any() or (lam[0] != state.lam).any():
        v, a, lam = (x.copy() for x in (v, a, lam))
        v[0], a[0], lam[0] = state.v, state.a, state.lam
    alg = np.empty_like(a)
    alg[0] = state.a if state.alg is None else state.alg
    source = ((1 - af) * a[1:] + af * a[:-1]) / (1 - am)
    c2, move = -am / (1 - am), np.zeros(len(h))
    move[1:] = (am - af) * np.diff(h) / h[:-1]
    if move.any():
        change = np.diff(a, axis=0, prepend=before[None])
        for i, x in enumerate(source):
            alg[i + 1] = x + c2 * (alg[i] + move[i] * change[i])
    elif len(h):
        source[0] += c2 * alg[0]
        bands = np.ones((2, len(source)))  # of a bidiagonal matrix
        bands[1] = -c2
        alg[1:] = solve_banded((1, 0), bands, source)
    return Steps(t, h, move, q, v, a, lam, alg, before, dropped)


def _line(appendix: Appendix, stencil: Stencil) -> tuple[int, int, int]:
    """Return how many constants a parameter moves, and where their places and slopes are."""
    places = np.ravel(stencil.of.places).tolist()
    slopes = appendix.own([*np.ravel(stencil.of.slopes).tolist(), stencil.scale])
    return len(places), appendix.table(places), slopes


class StepMaps:
    """The tangents of steps and their transposes, in a work space with tables of parameters.

    Parameters
    ----------
    model : Model
    method : integrator
    stencils : sequence of Stencil
    columns : int
        How many tangents, or adjoints, are carried.
    backwards : bool
        Whether adjoints are: what elements remember comes with each step, and is not followed.
    inputs : sequence of Input
        By which derivatives at the end of each step are wanted backwards.

    Attributes
    ----------
    columns : (columns, 5, n_u) array
        A view of the tangents or adjoints of q, v, (v', lam), a, and v' one step before.
    """

    def __init__(
        self, model: FrozenModel, method: Method, stencils: Sequence[Stencil],
        columns: int, backwards: bool = False, inputs: Sequence[Input] = (),
    ) -> None:  # fmt: skip
        n, n_v, n_lam = int(model.I[m.N_U]), model.n_v, model.n_lam
        self.model, self.n, self.stencils, self.n_inputs = model, n, stencils, len(inputs)
        self.many = many = 1 if backwards else m.padded(columns)
        memory = model.memory
        n_memory = len(memory) if backwards else 0
        self.size = at.STEP_HEAD + model.n_q + 4 * n_v + n_lam + n_memory
        self.of_step = (
            3 * n + len(inputs) if backwards else max(many * (3 * n_v + n_lam), len(memory))
        )
        self.room = max(1, _CHUNK_BYTES // (8 * (self.size + self.of_step)))
        appendix = Appendix(model, start=model.size + n)  # after vector 0 of the method
        followed = [] if backwards else followed_memory(model)
        lines = [x for s in stencils if followed for x in _line(appendix, s)]
        programs = [by_parameter(model, s).program(appendix) for s in stencils]
        of_inputs = [x.variation(model).program(appendix) for x in inputs]
        own = appendix.end
        matrix = int(model.I[m.MATRIX])
        places: dict[str, int] = {}
        for name, size in (
            ("columns", many * at.COLUMN_SIZE * n), ("work", 6 * n * many),
            ("scratch", at.SCRATCH_SIZE), ("residual", many * n), ("shifts", 2 * many),
            ("by time", n), ("by size", 2 * n), ("whole", int(model.I[m.MATRIX_SIZE])),
            ("begin", 7 * n + model.n_q + 1), ("part", int(model.I[m.MATRIX_SIZE])),
            ("maps", sum(2 * x.formulation.n_v**2 for x in model.nodes.values())),
            ("memory", 2 * len(followed) * many + len(followed) + 2 * (n + model.n_q)),
            ("steps", (self.room + 1) * self.size),
            ("out", self.room * self.of_step + 3 * (len(stencils) + len(inputs)) + 1),
        ):  # fmt: skip
            places[name], own = own, own + size + 8
        self.places = places
        nodes, to = list[int](), places["maps"]
        for name, body in model.nodes.items():
            n_own = body.formulation.n_v
            nodes += [int(model.I[model.node_records[name] + m.NODE_U]), n_own, to]
            to += 2 * n_own**2
        flow_pairs = [x for kernel, table in flows(appendix)
                      for x in (appendix.address(kernel), table)]  # fmt: skip
        interactions, damped, of_nodes = self._tangents(appendix, method.facts.level == "position")
        record = {
            at.STEPS: places["steps"], at.STEP_SIZE: self.size,
            at.N_PARAMETERS: len(stencils), at.PROGRAMS: appendix.table(programs),
            at.N_NODES: len(nodes) // at.NODE_ENTRY, at.NODES: appendix.table(nodes),
            at.N_FLOWS: len(flow_pairs) // 2, at.FLOWS: appendix.table(flow_pairs),
            at.SCRATCH: places["scratch"], at.COLUMNS: places["columns"], at.OUT: places["out"],
            at.WORK: places["work"], at.AWAY: places["whole"] - matrix,
            at.PART_AWAY: places["part"] - matrix, at.RESIDUAL: places["residual"],
            at.MEMORY: appendix.table(memory), at.N_MEMORY: n_memory,
            at.N_REMEMBERED: len(memory), at.N_COLUMNS: columns, at.MANY: many,
            at.SHIFTS: places["shifts"], at.BY_TIME: places["by time"],
            at.BY_SIZE: places["by size"],
            at.N_V: n_v, at.V: appendix.table(model.numbering.v),
            at.N_LAM: n_lam, at.LAM: appendix.table(model.numbering.lam),
            at.N_INTERACTIONS: len(interactions) // 2,
            at.INTERACTIONS: appendix.table(interactions),
            at.N_DAMPED: len(damped) // 2, at.DAMPED: appendix.table(damped),
            at.N_NODE_TANGENTS: len(of_nodes) // 2, at.NODE_TANGENTS: appendix.table(of_nodes),
            at.N_INPUTS: len(of_inputs), at.INPUTS: appendix.table(of_inputs),
            at.BEGIN: places["begin"], at.N_FOLLOWED: len(followed),
            at.FOLLOWED: appendix.table(followed), at.MEMORY_TANGENTS: places["memory"],
            at.LINES: appendix.table(lines),
        }  # fmt: skip
        for i, kernel in enumerate((evaluate_kernel, factor_kernel, transposed_kernel)):
            record[at.SOLVERS + i] = appendix.address(kernel)
        z, r, y = (places[x] for x in ("columns", "residual", "work"))
        left, x, away = y + n * many, y + 2 * n * many, record[at.AWAY]
        for first, kernel, tables in (
            (at.PRODUCTS, products_kernel, ((0, z, r), (0, y, left), (away, x, left))),
            (at.SOLVE, solve_kernel, ((x, y), (left, y))),
        ):
            record[first] = appendix.address(kernel)
            record |= {first + 1 + i: appendix.table([*e, many]) for i, e in enumerate(tables)}
        self.k = appendix.table(record.get(i, 0) for i in range(at.RECORD_SIZE))
        self.work = Workspace(model, None, own=own - model.size)
        self.I, self.F = appendix.all_entries, self.work.F
        appendix.write(self.F)
        method.prepare(model, self.work.S, self.F)
        whole = self.F[z : z + many * at.COLUMN_SIZE * n].reshape(at.COLUMN_SIZE, n, many)
        self.columns = whole.transpose(2, 0, 1)[:columns]
        self.of_memory = self.F[places["memory"] :][: len(followed) * many]

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
            pair = appendix.address(kernel), table
            if id(kernel) in heavy:
                out[2].extend(pair)
                continue
            out[0].extend(pair)
            if id(kernel) in velocity:
                out[1].extend(pair)
        return out

    def apply(
        self, state: State, steps: Steps, times: np.ndarray | float, sizes: np.ndarray | float
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """Carry the tangents over steps from a state; yield those between two of the steps.

        The ends of all steps move by `times` and their sizes by `sizes`, of each column [s]. What
        is yielded is (steps, 3 n_v + n_lam, columns) of q, v, v' and multipliers.
        """
        self._begin(state, times, sizes, bool(np.any(times)))
        for first, last in steps.pieces(self.room):
            self._put(steps, first, last)
            self._run(at.forward, all_rows=True)
            size = (3 * self.model.n_v + self.model.n_lam) * self.many
            out = self._out((last - first) * size).reshape(last - first, -1, self.many)
            yield first, last, out[..., : len(self.columns)]

    def apply_transposed(
        self, state: State, steps: Steps, memory: np.ndarray | None, timed: bool, J: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Carry the adjoint back over steps.

        Return the gradient by parameters and by time, and that by inputs at the ends of the steps,
        (N, n_inputs).

        J (N, 3, n_u) are the derivatives of an objective by the instants at which steps begin; that
        by the first is not added.
        """
        n_p, n_in = len(self.stencils), self.n_inputs
        self._begin(state, 0.0, 0.0, timed)
        total, by_inputs = np.zeros(n_p + 1), np.zeros((len(steps), n_in))
        for first, last in reversed(steps.pieces(self.room)):
            self._put(steps, first, last, memory)
            size = (last - first) * at.INSTANT_SIZE * self.n
            out = self._out(size + n_p + 1 + (last - first) * n_in)
            out[:size], out[size:] = J[first:last].ravel(), 0.0
            if first == 0:
                out[: at.INSTANT_SIZE * self.n] = 0.0
            self._run(at.backward)
            total += out[size : size + n_p + 1]
            by_inputs[first:last] = out[size + n_p + 1 :].reshape(last - first, n_in)
        return total, by_inputs

    def apply_begin_transposed(
        self, begin: Restarted, h: float, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Carry an adjoint (8, n_u) back over the start of a run with steps of size h.

        Return the gradient by parameters, that by inputs at the start, a short time and a step
        later, (n_inputs, 3), and the largest derivatives of rows and their rates by parameters,
        (n_p, 2). Pose and velocities are held.
        """
        n, n_p, n_in, v = self.n, len(self.stencils), self.n_inputs, self.model.numbering.v
        self.work.load(begin.first)
        self.work.S[[m.LINEAR, m.SMALL_PIVOTS]] = factor_and_solve.address, 0
        self.F[m.H] = h
        work = self.F[self.places["begin"] :][: 7 * n + self.model.n_q + 1]
        work[:] = 0.0
        work[-1] = begin.smooth
        work[v] = begin.state.a - begin.before
        out = self._out(3 * (n + n_p + n_in))
        out[: 3 * n], self.columns[0] = w[: at.INSTANT_SIZE].ravel(), w[at.INSTANT_SIZE :]
        self._run(begin_back)
        by_p, by_inputs, gaps = np.split(out[3 * n :].copy(), [n_p, n_p + 3 * n_in])
        return by_p, by_inputs.reshape(-1, 3), gaps.reshape(-1, 2)

    def memory(self, state: State, steps: Steps) -> np.ndarray:
        """Return what elements remember at the beginning of each step, (N, n_memory)."""
        n = len(self.model.memory)
        self._begin(state, 0.0, 0.0, False)
        flows, self.I[self.k + at.N_FLOWS] = self.I[self.k + at.N_FLOWS], 0
        pieces = [np.zeros((0, n))]
        for first, last in steps.pieces(self.room):
            self._put(steps, first, last)
            self._run(at.follow)
            pieces.append(self._out((last - first) * n).reshape(-1, n).copy())
        self.I[self.k + at.N_FLOWS] = flows
        return np.concatenate(pieces)

    def check_rows(self, owner: str) -> None:
        """Refuse parameters with which redundant rows would contradict each other."""
        opened, singular = self.F[m.OPEN], self.work.S[m.SMALL_PIVOTS]
        if opened <= DERIVATIVE_EXACT and not singular:
            return
        names = ", ".join(s.name for s in self.stencils)
        if singular:
            raise ValueError(
                f"{owner}: a matrix of the steps is singular without other pivots (by {names}); "
                "take another formulation, or a smaller step"
            )
        raise ValueError(
            f"{owner}: redundant rows would contradict each other with another value of one of "
            f"{names}: a part {opened:.2g} of their derivative cannot be met; take parameters "
            "that move all of the joints in question together, or leave out redundant rows"
        )

    def _begin(
        self, state: State, times: np.ndarray | float, sizes: np.ndarray | float, timed: bool
    ) -> None:
        """Take over a state, with the joints that are off, and how times and sizes move."""
        self.work.load(state)
        shifts = self.F[self.places["shifts"] :][: 2 * self.many].reshape(2, -1)
        shifts[:, : len(self.columns)] = 0.0
        shifts[0, : len(self.columns)], shifts[1, : len(self.columns)] = times, sizes
        self.I[self.k + at.TIMED] = timed

    def _out(self, size: int) -> np.ndarray:
        """Return a view of what a kernel writes."""
        return self.F[self.places["out"] :][:size]

    def _put(self, steps: Steps, first: int, last: int, memory: np.ndarray | None = None) -> None:
        """Write steps between two instants, which have the same rows, where kernels read them."""
        if self.model.I[m.LOOPS]:
            self.work.drop(np.flatnonzero(steps.dropped[last]))
        n_q, n_v, n_lam = self.model.n_q, self.model.n_v, self.model.n_lam
        where, n = self.places["steps"], last - first
        table = self.F[where : where + (n + 1) * self.size].reshape(n + 1, self.size)
        ends, own = slice(first, last + 1), slice(first, last)
        table[:, 0], table[:n, 1], table[:n, 2] = steps.t[ends], steps.h[own], steps.move[own]
        to = at.STEP_HEAD
        sizes = (n_q, n_v, n_v, n_lam, n_v)
        vectors = (steps.q, steps.v, steps.a, steps.lam, steps.alg)
        for x, size in zip(vectors, sizes, strict=True):
            table[:, to : to + size] = x[ends]
            to += size
        table[:n, to : to + n_v] = steps.alg[own]
        if steps.move[own].any():
            last_a = steps.a[first - 1 : last - 1] if first else np.vstack(
                [steps.before, steps.a[: n - 1]]
            )  # fmt: skip
            table[:n, to : to + n_v] += steps.move[own, None] * (steps.a[own] - last_a)
        if memory is not None:
            table[:n, to + n_v :] = memory[own]
        self.I[self.k + at.N_STEPS] = n

    def _run(self, kernel: Any, all_rows: bool = False) -> None:
        """Run a compiled loop over the steps that were put; dropped rows are met or looked at."""
        self.work.S[m.ALL_ROWS] = all_rows
        kernel(self.I, self.F, self.k)
        check([*self.work.laws, *(x for s in self.stencils for x in s.laws)], self.I, self.F)
