"""Floor 3. ``System.build()``: number the unknowns, lay out the memory, write the tables."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.interactions.kinds import Attachment, Element, Kind
from mbd.model.model import Model, Numbering
from mbd.model.topology import Front, eliminate, eliminate_order

if TYPE_CHECKING:
    from mbd.model.system import System

__all__ = ["build"]


@dataclass
class _Owned:
    """An element with the part it belongs to."""

    owner: str
    element: Element
    bodies: list[int]  # without ground, each once


@dataclass
class _Memory:
    """The two buffers while they grow."""

    I: list[int] = field(default_factory=lambda: [0] * m.I_HEADER)
    n_float: int = m.F_HEADER
    chunks: list[tuple[int, Any]] = field(default_factory=list)

    def room(self, size: int) -> int:
        """Reserve floats."""
        where = self.n_float
        self.n_float += size
        return where

    def put(self, values: Any) -> int:
        """Store constants."""
        where = self.room(len(values))
        if len(values):
            self.chunks.append((where, values))
        return where

    def table(self, values: list[int]) -> int:
        """Append integers."""
        where = len(self.I)
        self.I.extend(values)
        return where


def build(system: System) -> Model:
    """Freeze a system."""
    if not system.bodies:
        raise ValueError(
            "System.build: there is no body; call system.add(mbd.RigidBody(...)) first"
        )
    system = _frozen(system)
    bodies = list(system.bodies.values())
    index = {b.name: i for i, b in enumerate(bodies)}
    index["ground"] = -1
    owned = [
        _Owned(part.name, e, sorted({index[a.body] for a in e.attachments} - {-1}))
        for table in (system.joints, system.forces)
        for part in table.values()
        for e in part.elements()
    ]
    rows = [o for o in owned if o.element.kind.n_rows]
    couplings = [
        (index[o.element.attachments[a].body], index[o.element.attachments[b].body])
        for o in owned
        for a, b in o.element.kind.pairs
    ]
    couplings = [c for c in set(couplings) if -1 not in c and c[0] != c[1]]
    links = [[index[a.body] for a in o.element.attachments] for o in rows] + [
        list(c) for c in couplings
    ]
    freedoms = [b.formulation.n_v - b.formulation.n_own for b in bodies]
    order = eliminate_order(len(bodies), links)
    fronts = eliminate(
        freedoms, [o.element.kind.n_rows for o in rows], [o.bodies for o in rows], couplings, order
    )

    memory = _Memory()
    layout = _Layout(memory, bodies, rows, fronts)
    nodes = _nodes(memory, system, bodies, layout)
    attachments = _Attachments(memory, bodies, index, nodes)
    stages = _Stages()
    _interactions(memory, owned, rows, index, layout, attachments, stages)
    _families(memory, bodies, nodes, attachments, stages)
    stages.write(memory)

    I = np.array(memory.I, np.int64)
    F = np.zeros(memory.n_float)
    for where, values in memory.chunks:
        F[where : where + len(values)] = values
    numbering = layout.numbering(bodies, rows)
    model = Model(system, I, F, numbering, fronts, kernels=stages.kernels)
    model.prepare()
    return model


def _frozen(system: System) -> System:
    """Return a copy that parts added to the original later do not reach."""
    mine = copy(system)
    mine.gravity = system.gravity.copy()
    mine.bodies, mine.joints = dict(system.bodies), dict(system.joints)
    mine.forces = dict(system.forces)
    return mine


class _Layout:
    """Unknowns, fronts and where the blocks of the matrix are."""

    def __init__(
        self, memory: _Memory, bodies: list[Any], rows: list[_Owned], fronts: list[Front]
    ) -> None:
        self.n_q = 0
        self.q = []
        for b in bodies:
            self.q.append(self.n_q)
            self.n_q += b.formulation.n_q
        self.start: dict[int, int] = {}  # group -> first unknown
        self.size: dict[int, int] = {}
        self.front_of: dict[int, int] = {}
        self.kinds: list[int] = []
        self.u0: list[int] = []
        self.n_p: list[int] = []
        self.n_v: list[int] = []
        u = 0
        for f, front in enumerate(fronts):
            self.u0.append(u)
            for g in front.pivots:
                self.front_of[g] = f
                self.start[g] = u
                if g >= 0:
                    law = bodies[g].formulation
                    self.size[g] = law.n_v
                    self.kinds += [*law.velocity_kinds, *law.own_kinds]
                    u += law.n_v + law.n_own
                    self.n_v.append(law.n_v)
                else:
                    self.size[g] = rows[~g].element.kind.n_rows
                    self.kinds += rows[~g].element.row_kinds
                    u += self.size[g]
            self.n_p.append(u - self.u0[-1])
        self.n_u = u
        header = memory.I
        header[m.N_U], header[m.N_Q], header[m.N_NODES] = u, self.n_q, len(bodies)
        header[m.N_FRONTS] = len(fronts)
        for vector in (m.V, m.VN, m.A, m.AN, m.AP, m.AL, m.D, m.X, m.XS, m.DIAG, m.EPS):
            header[vector] = memory.room(u + 4)
        for vector in (m.Q, m.QN):
            header[vector] = memory.room(self.n_q)
        for vector in (m.Y, m.YD, m.YDD, m.FY):
            header[vector] = memory.room(12 * (len(bodies) + 1))
        header[m.SCRATCH] = memory.room(128)
        header[m.KIND] = memory.table(self.kinds)
        self._matrix(memory, fronts)

    def _matrix(self, memory: _Memory, fronts: list[Front]) -> None:
        """Reserve the fronts and write their tables."""
        self.row: list[dict[int, int]] = []  # first row in L of each update group
        self.column: list[dict[int, int]] = []  # first column in A
        self.A: list[int] = []
        self.L: list[int] = []
        self.lda: list[int] = []
        self.ldl: list[int] = []
        first = memory.n_float
        groups = []
        for f, front in enumerate(fronts):
            ordered = sorted(front.updates, key=lambda g, f=front: (f.updates[g], self.start[g]))
            n_p = self.n_p[f]
            row, column = {}, {}
            height, width = 0, m.padded(n_p)
            for g in ordered:
                row[g], column[g] = height, width
                height += self.size[g]
                width += m.padded(self.size[g])
            groups.append(ordered)
            self.row.append(row)
            self.column.append(column)
            self.lda.append(width)
            self.ldl.append(n_p)
            self.A.append(memory.room(n_p * width))
            self.L.append(memory.room(height * n_p))
        memory.room(4)  # vector operations may run over the end
        memory.I[m.MATRIX], memory.I[m.MATRIX_SIZE] = first, memory.n_float - first
        records = []
        for f, front in enumerate(fronts):
            u0 = self.u0[f]
            reached = [self.start[g] - u0 for g in front.pivots]
            row, column = self.row[f], self.column[f]
            group_records = []
            for g in groups[f]:
                k = reached[front.updates[g]]
                group_records += [self.start[g], self.size[g], k, row[g], column[g]]
            blocks = []
            for a in groups[f]:
                k = reached[front.updates[a]]
                for b in groups[f]:
                    to, ld = self.block(a, b)
                    blocks += [row[a], self.size[a], column[b], self.size[b], k, to, ld]
            records += [
                u0, self.n_p[f], self.n_v[f], self.A[f], self.lda[f], self.L[f], self.ldl[f],
                memory.table(group_records), len(groups[f]),
                memory.table(blocks), len(groups[f]) ** 2,
            ]  # fmt: skip
        memory.I[m.FRONTS] = memory.table(records)

    def block(self, row: int, column: int) -> tuple[int, int]:
        """Return place and row length of the block (row group, column group)."""
        r, c = self.front_of[row], self.front_of[column]
        if r == c:
            u0, ld = self.u0[r], self.lda[r]
            return self.A[r] + (self.start[row] - u0) * ld + self.start[column] - u0, ld
        if r < c:
            ld = self.lda[r]
            at = self.column[r][column]
            return self.A[r] + (self.start[row] - self.u0[r]) * ld + at, ld
        ld = self.ldl[c]
        return self.L[c] + self.row[c][row] * ld + self.start[column] - self.u0[c], ld

    def numbering(self, bodies: list[Any], rows: list[_Owned]) -> Numbering:
        """Return the map from the user's order (bodies, then rows) to unknowns."""
        v: list[int] = []
        lam: list[int] = []
        v_labels, lam_labels, owners = [], [], []
        for b, body in enumerate(bodies):
            law, u = body.formulation, self.start[b]
            v += range(u, u + law.n_v)
            v_labels += [f"{body.name}.{n}" for n in law.velocities]
            owners.append((body.name, len(lam), law.n_own))
            lam += range(u + law.n_v, u + law.n_v + law.n_own)
            lam_labels += [f"{body.name}.{n}" for n in law.own_rows]
        elements: dict[str, list[tuple[Element, int]]] = {}
        counted: dict[str, list[int]] = {}
        for e, o in enumerate(rows):
            n = o.element.kind.n_rows
            counted.setdefault(o.owner, [len(lam), 0])[1] += n
            elements.setdefault(o.owner, []).append((o.element, len(lam)))
            lam += range(self.start[~e], self.start[~e] + n)
            lam_labels += [f"{o.owner}.{r}" for r in o.element.rows]
        owners += [(name, at, n) for name, (at, n) in counted.items()]
        kinds = np.array(self.kinds)
        return Numbering(
            v=np.array(v, np.int64),
            lam=np.array(lam, np.int64),
            v_labels=tuple(v_labels),
            lam_labels=tuple(lam_labels),
            v_kinds=kinds[v],
            lam_kinds=kinds[lam] if lam else np.zeros(0, np.int64),
            owners={name: slice(at, at + n) for name, at, n in owners},
            elements=elements,
            q=tuple(slice(a, a + b.formulation.n_q) for a, b in zip(self.q, bodies, strict=True)),
        )


def _nodes(memory: _Memory, system: System, bodies: list[Any], layout: _Layout) -> list[int]:
    """Write constants and initial state; return where the record of each node is."""
    where: dict[int, int] = {}
    by_law: dict[Formulation, list[int]] = {}
    for i, b in enumerate(bodies):
        by_law.setdefault(b.formulation, []).append(i)
    header = memory.I
    ground = header[m.Y]
    memory.chunks.append((ground, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]))
    memory.chunks.append((m.GX, system.gravity))
    for members in by_law.values():
        for i in members:
            body, law = bodies[i], bodies[i].formulation
            par = memory.put(law.constants(body.mass, body.center_of_mass, body.second_moments))
            place, ld = layout.block(i, i)
            q, v = law.initial(body.position, body.rotation, body.velocity, body.angular_velocity)
            memory.chunks.append((header[m.Q] + layout.q[i], q))
            memory.chunks.append((header[m.QN] + layout.q[i], q))
            memory.chunks.append((header[m.V] + layout.start[i], v))
            where[i] = memory.table([layout.q[i], layout.start[i], par, 12 * (i + 1), place, ld])
    return [where[i] for i in range(len(bodies))]


class _Attachments:
    """Attachments, each once, except those whose weights a law rewrites."""

    def __init__(
        self, memory: _Memory, bodies: list[Any], index: dict[str, int], nodes: list[int]
    ) -> None:
        self.memory, self.bodies, self.index, self.nodes = memory, bodies, index, nodes
        self.found: dict[tuple[int, tuple[float, ...]], int] = {}
        self.of_body: dict[int, list[int]] = {}

    def get(self, end: Attachment, *, own: bool, rate: bool) -> int:
        """Return where the record of an attachment is."""
        b = self.index[end.body]
        key = (b, end.weights)
        record = self.found.get(key, 0)
        if not record or own:
            n = 0 if b < 0 else self.bodies[b].formulation.n_v
            w = self.memory.put(list(end.weights))
            P, PT, DP = (self.memory.room(3 * n) for _ in range(3))
            record = self.memory.table([12 * (b + 1), w, n, P, PT, DP, b, 0])
            if not own:
                self.found[key] = record
            if b >= 0:
                self.of_body.setdefault(b, []).append(record)
        if rate:
            self.memory.I[record + m.ATT_RATE] = 1
        return record


@dataclass
class _Stages:
    """Which kernels run when, each with the record it reads."""

    kernels: dict[int, list[tuple[Any, int]]] = field(
        default_factory=lambda: {
            s: [] for s in (m.PLACE, m.FORCES, m.RESIDUAL, m.MAPS, m.TANGENT, m.RATES, m.ACCEPT)
        }
    )

    def add(self, stage: int, kernel: Any, record: int) -> None:
        """Run a kernel in a stage."""
        if kernel is not None:
            self.kernels[stage].append((kernel, record))

    def write(self, memory: _Memory) -> None:
        """Write the tables; addresses are filled in when the model first runs."""
        for stage, calls in self.kernels.items():
            flat = [x for _, record in calls for x in (0, record)]
            memory.I[stage] = memory.table(flat)
            memory.I[stage + 1] = len(calls)


def _interactions(
    memory: _Memory,
    owned: list[_Owned],
    rows: list[_Owned],
    index: dict[str, int],
    layout: _Layout,
    attachments: _Attachments,
    stages: _Stages,
) -> None:
    """Write the tables of all interactions, kind by kind."""
    number = {id(o): e for e, o in enumerate(rows)}
    by_kind: dict[Kind, list[_Owned]] = {}
    for o in owned:
        by_kind.setdefault(o.element.kind, []).append(o)
    for kind, members in by_kind.items():
        records: list[int] = []
        for o in members:
            e = o.element
            driven = e.law is not None and not kind.damped
            last = len(e.attachments) - 1
            ends = [
                attachments.get(a, own=driven and i == last, rate=kind.damped)
                for i, a in enumerate(e.attachments)
            ]
            group = ~number[id(o)] if kind.n_rows else 0
            u = layout.start[group] if kind.n_rows else -1
            law = e.law.address if e.law is not None else 0
            records += [*ends, u, memory.put(list(e.numbers)), memory.put(list(e.memory)), law]
            bodies = [index[a.body] for a in e.attachments]
            if kind.n_rows:
                for b in bodies:
                    if b < 0:
                        records += [-1, 0, -1, 0]
                    else:
                        records += [*layout.block(group, b), *layout.block(b, group)]
            for a, b in kind.pairs:
                grounded = bodies[a] < 0 or bodies[b] < 0
                records += (-1, 0) if grounded else layout.block(bodies[a], bodies[b])
        at = memory.table([len(members), 0, kind.size, kind.n_attachments + 2])
        memory.I[at + 1] = memory.table(records)
        stages.add(m.FORCES, kind.forces, at)
        stages.add(m.TANGENT, kind.tangent, at)
        stages.add(m.RATES, kind.rates, at)
        stages.add(m.ACCEPT, kind.accept, at)


def _families(
    memory: _Memory,
    bodies: list[Any],
    nodes: list[int],
    attachments: _Attachments,
    stages: _Stages,
) -> None:
    """Write the records of the families; faces first, so that rates find them."""
    by_law: dict[Formulation, list[int]] = {}
    for i, b in enumerate(bodies):
        by_law.setdefault(b.formulation, []).append(i)
    interactions = stages.kernels[m.RATES]
    stages.kernels[m.RATES] = []
    for law, members in by_law.items():
        pairs = [x for i in members for a in attachments.of_body.get(i, ()) for x in (a, nodes[i])]
        at = memory.table([len(members), nodes[members[0]], len(pairs) // 2, memory.table(pairs)])
        kernels = family(law)
        stages.add(m.PLACE, kernels.place, at)
        stages.add(m.RESIDUAL, kernels.residual, at)
        stages.add(m.MAPS, kernels.maps, at)
        stages.add(m.TANGENT, kernels.tangent, at)
        stages.add(m.RATES, kernels.rates, at)
    stages.kernels[m.RATES] += interactions
