"""Programs of observations: what they take from a run, and which kernels they call on it.

An observation has numbers F of its own, laid out as those of every run of the model, and tables I
that begin with those of the model. It copies the time, coordinates, velocities and what else it
needs from the numbers of a run, calls its kernels one after the other, and gathers what they wrote.
A run is only read: its bits stay, and neither addresses nor results of observations lie in what a
snapshot of it restores.

The same program runs over the instants of a result, so that a value over time and the one of an
instant have the same bits.
"""

import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mbd.formulations.families import family
from mbd.history.totals import OF_TOTALS, begin
from mbd.interactions.kind import Attachment, face_name
from mbd.machine import buffer as m
from mbd.machine.jit import (
    address_at,
    address_of,
    call,
    floats_at,
    integers_at,
    jit,
    kernel,
    tables_at,
)
from mbd.model.appendix import Appendix
from mbd.model.frozen import FrozenModel, per_model
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace
from mbd.parts.part import Body

# record of a program: how many numbers it writes, where, where they come from, pairs (place in a
# run, place here), stretches copied from a run alone (first, size), calls (address, record); where
# its own numbers are; instants, where they are and where the numbers of each go; whether angles
# count turns from one of them to the next
(
    N_VALUES, VALUES, SOURCES, N_TAKEN, TAKEN, N_STRETCHES, STRETCHES, N_CALLS, CALLS,
    OWN, _OWN_HIGH, N_INSTANTS, INSTANTS, RESULTS, COUNTS,
) = range(15)  # fmt: skip
_BLOCK = 1 << 13  # floats of instants that are handed over at once, which stay in the cache


@jit
def _observe(I: Any, F: Any, k: int, out: int) -> None:
    """Call all kernels; write what is observed to F[out:]."""
    if I[k + COUNTS] == 0:
        F[m.T_LAST] = F[m.T_STEP] = F[m.T]
    for c in range(I[k + CALLS], I[k + CALLS] + 3 * I[k + N_CALLS], 3):
        call(address_at(I, c), I, F, I[c + 2])
    for i in range(I[k + N_VALUES]):
        F[out + i] = F[I[I[k + SOURCES] + i]]


@jit
def _observe_run(I: Any, F: Any, k: int, run: Any) -> None:
    """Take the numbers of a run and observe them."""
    for s in range(I[k + STRETCHES], I[k + STRETCHES] + 2 * I[k + N_STRETCHES], 2):
        for i in range(I[s], I[s] + I[s + 1]):
            F[i] = run[i]
    for t in range(I[k + TAKEN], I[k + TAKEN] + 2 * I[k + N_TAKEN], 2):
        F[I[t + 1]] = run[I[t]]
    _observe(I, F, k, I[k + VALUES])


@kernel
def observe_kernel(I: Any, F: Any, k: int) -> None:
    """Observe the run whose numbers are F: I are the tables of the program, k its record."""
    _observe_run(I, floats_at(address_at(I, k + OWN)), k, F)


@kernel
def over_time_kernel(I: Any, F: Any, k: int) -> None:
    """Observe instants whose numbers are in F, those of the program."""
    at, out = I[k + INSTANTS], I[k + RESULTS]
    for _ in range(I[k + N_INSTANTS]):
        for i in range(I[k + N_TAKEN]):
            F[I[I[k + TAKEN] + 2 * i + 1]] = F[at + i]
        _observe(I, F, k, out)
        at += I[k + N_TAKEN]
        out += I[k + N_VALUES]


@jit
def _pairing(I: Any, F: Any, k: int, s: int) -> float:
    """Observe; return the product of what is observed with the seeds at F[s:]."""
    _observe(I, F, k, I[k + VALUES])
    total = 0.0
    for i in range(I[k + N_VALUES]):
        total += F[s + i] * F[I[k + VALUES] + i]
    return total


@kernel
def slopes_kernel(I: Any, F: Any, k: int) -> None:
    """Write derivatives of seeds times what is observed of instants, by numbers of the program.

    I[k:] has the program, where seeds are and where derivatives go, pairs (angle, its memory) and
    how many, the numbers, increments and velocities, and their steps. Differences of order four.
    """
    p, seeds, out, pairs, n_pairs = I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4]
    columns, n, steps = I[k + 5], I[k + 6], I[k + 7]
    at = I[p + INSTANTS]
    for _ in range(I[p + N_INSTANTS]):
        for i in range(I[p + N_TAKEN]):
            F[I[I[p + TAKEN] + 2 * i + 1]] = F[at + i]
        _observe(I, F, p, I[p + VALUES])
        for i in range(n_pairs):
            F[I[pairs + 2 * i + 1]] = F[I[pairs + 2 * i]]
        for j in range(n):
            place, e = I[columns + j], F[steps + j]
            x = F[place]
            F[place] = x + e
            near = _pairing(I, F, p, seeds)
            F[place] = x - e
            near -= _pairing(I, F, p, seeds)
            F[place] = x + 2.0 * e
            far = _pairing(I, F, p, seeds)
            F[place] = x - 2.0 * e
            far -= _pairing(I, F, p, seeds)
            F[place] = x
            F[out + j] = (8.0 * near - far) / (12.0 * e)
        at += I[p + N_TAKEN]
        seeds += I[p + N_VALUES]
        out += n


@jit
def write(F: Any, table: int, out: Any) -> None:
    """Write what is observed of a run to out[0], out[1], ..., in compiled code.

    F are the numbers of the run, which are only read, `table` is ``Observation.table``. Two threads
    take an observation each: it has one memory.
    """
    program = integers_at(table)
    I, own, k = tables_at(program[0]), floats_at(program[1]), program[2]
    _observe_run(I, own, k, F)
    for i in range(I[k + N_VALUES]):
        out[i] = own[I[k + VALUES] + i]


@per_model
def columns_of(model: FrozenModel) -> dict[str, tuple[slice, slice]]:
    """Return the columns of each body in arrays over coordinates and velocities."""
    bodies = model.nodes
    ends = np.cumsum([body.formulation.n_v for body in bodies.values()]).tolist()
    starts = [0, *ends[:-1]]
    v = (slice(a, b) for a, b in zip(starts, ends, strict=True))
    return dict(zip(bodies, zip(model.numbering.q, v, strict=True), strict=True))


def merged(slices: Iterable[slice]) -> list[slice]:
    """Return slices with those that touch each other joined."""
    merged: list[slice] = []
    for s in slices:
        touches = merged and merged[-1].stop == s.start
        merged.append(slice(merged.pop().start, s.stop) if touches else s)
    return merged


def faces_of(body: Body) -> list[str]:
    """Return the names of the faces of a body: its own, "bar/1", ..."""
    return [face_name(body.name, i) for i in range(body.formulation.n_faces)]


class ProgramTables(Appendix):
    """The tables of an observation while they grow.

    Attributes
    ----------
    model : Model
    calls : dict
        Records (n, .) by the level and the kernel that reads them, in the order in which they run.
    first_calls : list
        Kernels that run before these, each with a record that is there.
    places : dict
        Where what others may want too is, by what it is.
    stretches : list of (int, int)
        What is copied from a run alone: first number, how many.
    bodies, rows : dict
        Whose numbers are taken.
    second, totals, laws : bool
        Whether something needs accelerations, all stages of the model, laws of a user.
    counts : bool
        Whether elements go on from one instant to the next as in a run: angles count their turns.
    of_laws : (list of int, int)
        Places of constants that laws write, and where they are kept as they are at the start.
    turning : list of (int, int)
        Places of angles that count turns, and of the memory by which they do.
    scratch : int
        Floats of the scratch space.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.model: Model = model
        self.second = self.totals = self.laws = self.counts = False
        self.calls: dict[tuple[int, Any], list[tuple[int, ...]]] = {}
        self.first_calls: list[tuple[Any, int]] = []
        self.places: dict[Any, range] = {}
        self.bodies: dict[str, None] = {}
        self.rows: dict[int, None] = {}
        self.stretches: list[tuple[int, int]] = [(m.GX, 3)]
        if n_memory := int(model.I[m.N_MEMORY]):
            self.stretches.append((int(model.I[m.REMEMBERED]), n_memory))
        self.of_laws: tuple[list[int], int] = [], 0
        self.turning: list[tuple[int, int]] = []
        self.scratch = m.SCRATCH_OWN

    def face(self, place: str) -> int:
        """Return where a face, "rod" or "rod/1", begins in Y; it is placed before kernels run."""
        body, _, number = place.partition("/")
        if body == "ground":
            return 0
        self.bodies[body] = None
        return 12 * (1 + self.model.faces[body] + int(number or 0))

    def ends(self, attachments: Sequence[Attachment]) -> int:
        """Append attachments; return where the places of their records are."""
        records = [
            self.table([self.face(x.place), self.put(x.weights), *[0] * (m.ATT_SIZE - 2)])
            for x in attachments
        ]
        return self.table(records)

    def call(self, kernel_: Any, *record: int, level: int = 0) -> None:
        """Let a kernel have one more record; those of higher levels run later."""
        self.calls.setdefault((level, kernel_), []).append(record)

    def coordinates(self, name: int, body: str) -> range:
        """Return where the numbers of a body are in QN, V or A."""
        self.bodies[body] = None
        node = self.model.node_records[body]
        form = self.model.nodes[body].formulation
        start, n = (m.NODE_Q, form.n_q) if name == m.QN else (m.NODE_U, form.n_v)
        first = int(self.model.I[name] + self.model.I[node + start])
        return range(first, first + n)

    def multiplier(self, row: int) -> int:
        """Return where the multiplier of a row is."""
        self.rows[row] = None
        return int(self.model.I[m.A] + self.model.numbering.lam[row])

    def program(self, places: Sequence[int]) -> "Program":
        """Return the program that gives the numbers at some places."""
        return Program(self, places)


class Program:
    """Tables and numbers of an observation, ready to run.

    Attributes
    ----------
    values : (n,) array
        What was observed last, always the same memory.
    most : int
        Instants that are evaluated at once.

    Of many `runs`, constants (runs, .), with `most` instants each, numbers are (runs, .).
    """

    def __init__(
        self, tables: ProgramTables, places: Sequence[int], runs: np.ndarray | None = None,
        most: int = 0,
    ) -> None:  # fmt: skip
        model, self.n = tables.model, len(places)
        self.model, self.bodies, self.rows = model, list(tables.bodies), list(tables.rows)
        self.second, self.laws = tables.second, tables.laws or tables.totals
        self.stretches = tables.stretches
        calls = self._faces(tables) + tables.first_calls
        for (_, kernel_), some in sorted(tables.calls.items(), key=lambda x: x[0][0]):
            calls.append((kernel_, tables.table([len(some), *chain.from_iterable(some)])))
        taken, out, scratch = self._taken(tables), tables.room(self.n), tables.room(tables.scratch)
        size, own = len(taken) + self.n, tables.end - model.size
        self.most = most or max(1, _BLOCK // size)
        stages = OF_TOTALS if tables.totals else ()
        self.work = Workspace(model, extra=own + self.most * size, runs=runs, stages=stages)
        self.F = F = self.work.F
        F[..., model.size :] = 0.0
        tables.write(F)
        self.values = F[..., out : out + self.n]
        self._first_row = rows = model.size + own
        results, many = rows + self.most * len(taken), F.shape[:-1]
        self._rows = F[..., rows:results].reshape(*many, self.most, -1)
        self._results = F[..., results:].reshape(*many, self.most, self.n)
        record = [
            self.n, out, tables.table(places), len(taken),
            tables.table(chain.from_iterable(taken)), len(tables.stretches),
            tables.table(chain.from_iterable(tables.stretches)), len(calls),
            tables.table(i for x, k in calls for i in (*m.halves(x.address), k)),
            *m.halves(address_of(F)), 0, rows, results, tables.counts,
        ]  # fmt: skip
        self.k = tables.table(record)
        begin(self.work, tables.totals)
        spare, kept = tables.of_laws
        F[..., kept : kept + len(spare)] = F[..., spare]
        self.I = self.work.I = tables.all_entries
        self.I[m.SCRATCH] = scratch
        self._addresses = np.array([address_of(self.I), address_of(F), self.k])
        self.table = address_of(self._addresses)
        self._kept = tables.calls  # kernels of users' functions stay alive

    def _faces(self, tables: ProgramTables) -> list[tuple[Any, int]]:
        """Return the calls that place the faces of the bodies, with rates; sums do so anyway."""
        if tables.totals and not self.second:
            return []
        by_formulation: dict[Any, list[str]] = {}
        for name in self.bodies:
            by_formulation.setdefault(self.model.nodes[name].formulation, []).append(name)
        calls = []
        for formulation, names in by_formulation.items():
            each = np.array([self.model.node_records[x] for x in names])[:, None]
            nodes = tables.table(self.model.I[each + np.arange(m.NODE_SIZE)].ravel().tolist())
            kernels, record = family(formulation), tables.table([len(names), nodes])
            calls += [(kernels.place, record), (kernels.velocities, record)]
            calls += [(kernels.rates, record)] if self.second else []
        return calls

    def _taken(self, tables: ProgramTables) -> list[tuple[int, int]]:
        """Return pairs of places: of time, coordinates, velocities, accelerations, multipliers."""
        I, pairs = self.model.I, [(m.T, m.T)]
        for name in self.bodies:
            away = int(I[m.Q] - I[m.QN])
            pairs += [(i + away, i) for i in tables.coordinates(m.QN, name)]
        for vector in (m.V, m.A) if self.second else (m.V,):
            pairs += [(i, i) for x in self.bodies for i in tables.coordinates(vector, x)]
        lam = (int(I[m.A]) + self.model.numbering.lam[self.rows]).tolist() if self.rows else []
        return pairs + [(i, i) for i in lam]

    def of_run(self, F: np.ndarray) -> np.ndarray:
        """Return what is observed of the numbers of a run."""
        observe_kernel(self.I, F, self.k)
        if self.laws:
            self.work.check_laws()
        return self.values

    def of_state(self, state: State) -> np.ndarray:
        """Return what is observed of a state."""
        for first, n in self.stretches:  # what a run handed over
            self.F[first : first + n] = self.model.F[first : first + n]
        self.work.remember(state.memory)
        numbers = (x[None] for x in (state.q, state.v, state.a, state.lam))
        self.values[:] = self.over_time(np.array([state.t]), *numbers)[0]
        return self.values

    def slopes_over_time(
        self, t: np.ndarray, q: Any, v: Any, seeds: np.ndarray, sizes: np.ndarray,
        turning: Sequence[tuple[int, int]] = (),
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return derivatives of seeds (n, m) times what is observed of instants (n, .).

        By increments and by velocities of the unknowns `which`, (n, k) each; `sizes` (2, n_u) are
        steps of both. Pairs of places (angle, its memory) are ``turning``: it counts turns from
        one instant to the next.
        """
        model, I = self.model, self.model.I
        which = np.concatenate([
            np.arange(f.n_v) + int(I[model.node_records[x] + m.NODE_U])
            for x in self.bodies for f in [model.nodes[x].formulation]
        ] or [np.zeros(0, np.int64)])  # fmt: skip
        places = np.concatenate([int(I[m.D]) + which, int(I[m.V]) + which])
        n, k = len(places), len(self.I)
        block = max(1, min(self.most, _BLOCK // (n + self.n or 1)))
        work = len(self.F)
        F = np.concatenate([self.F, sizes[:, which].ravel(), np.zeros(block * (n + self.n))])
        table = [self.k, work + n, work + n + block * self.n, k + 8, len(turning),
                 k + 8 + 2 * len(turning), n, work]  # fmt: skip
        tables = m.entries(self.I, table, [i for x in turning for i in x], places)
        slopes = np.zeros((len(t), n))
        columns = self._columns(q, v, v, np.zeros((len(t), model.n_lam)))
        rows = F[self._first_row :][: self._rows.size].reshape(self._rows.shape)
        for first in range(0, len(t), block):
            here = slice(first, first + block)
            many = len(t[here])
            self._fill(rows, t, columns, here)
            F[work + n :][: many * self.n] = seeds[here].ravel()
            tables[self.k + N_INSTANTS] = many
            slopes_kernel(tables, F, k)
            slopes[here] = F[work + n + block * self.n :][: many * n].reshape(many, n)
        self.F[:] = F[: len(self.F)]
        return which, slopes[:, : n // 2], slopes[:, n // 2 :]

    def _fill(
        self, rows: np.ndarray, t: np.ndarray, columns: list[np.ndarray], here: slice
    ) -> None:
        """Write instants where kernels take them."""
        n, at = len(t[here]), 1
        rows[:n, 0] = t[here]
        for x in columns:
            rows[:n, at : at + x.shape[1]] = x[here]
            at += x.shape[1]

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return what is observed of up to `most` instants (..., n, .), of the numbers it takes."""
        n = rows.shape[-2]
        self._rows[..., :n, :] = rows
        return self._evaluated(n)

    def _evaluated(self, n: int) -> np.ndarray:
        self.I[self.k + N_INSTANTS] = n
        self.work.run(over_time_kernel, self.k)
        return self._results[..., :n, :]

    def over_time(
        self, t: np.ndarray, q: Any, v: Any, a: Any, lam: Any, *, told: str = ""
    ) -> np.ndarray:
        """Return what is observed of instants (n, .), of numbers in memory or on disk.

        What laws raise is raised; or it is a warning, after what is `told`.
        """
        values = np.empty((len(t), self.n))
        columns = self._columns(q, v, a, lam)
        for first in range(0, len(t), self.most):
            here = slice(first, first + self.most)
            self._fill(self._rows, t, columns, here)
            values[here] = self._evaluated(len(t[here]))
            try:
                if self.laws:
                    self.work.check_laws()
            except RuntimeError as error:
                if not told:
                    raise
                warnings.warn(f"{told}: {error}", stacklevel=2)
                self.work.S[m.BAD_HOW] = 0
        return values

    def _columns(self, q: Any, v: Any, a: Any, lam: Any) -> list[np.ndarray]:
        """Return the columns that are taken of numbers in memory or on disk."""
        both = [columns_of(self.model)[x] for x in self.bodies]
        of_v = merged(x for _, x in both)
        some = [(q, merged(x for x, _ in both)), (v, of_v)]
        some += [(a, of_v)] if self.second else []
        some += [(lam, merged(slice(r, r + 1) for r in self.rows))]
        return [x[:, s] for x, slices in some for s in slices]
