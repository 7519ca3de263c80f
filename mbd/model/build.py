"""``System.build()``: numbering of the unknowns, layout of the buffers, tables."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.interactions.kind import Attachment, Element, Kind
from mbd.interactions.unwrapped_angle import unwrapped_angle
from mbd.machine import buffer as m
from mbd.machine.pivots import pivots_kernel
from mbd.model.description import Description, origin
from mbd.model.evaluation import clear_stretch
from mbd.model.frozen import Numbering
from mbd.model.layout import Buffers, Layout, Owned
from mbd.model.model import Model
from mbd.model.topology import eliminate, eliminate_order
from mbd.parts.part import Part


def build(system: Description) -> Model:
    """Freeze a system.

    Everything made here stays, so that looking for garbage meanwhile is half the time for nothing.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return built(system, Buffers())
    finally:
        if collecting:
            gc.enable()


def built(system: Description, buffers: Buffers) -> Model:
    """Freeze a system, with tables in these buffers."""
    if not system.bodies:
        raise ValueError(
            "System.build: there is no body; call system.add(mbd.RigidBody(...)) first"
        )
    system = _frozen(system)
    bodies = list(system.bodies.values())
    index = {b.name: i for i, b in enumerate(bodies)}
    index["ground"] = -1
    parts = system.parts
    owned = [
        _owned(part.name, e, index, f"{part.name}.{word}{i}")
        for part in parts.values()
        for word in ("element " if part.nodes() else "",)
        for i, e in enumerate(part.elements())
    ]
    rows = [o for o in owned if o.element.kind.n_rows]
    pairs = {(o.ends[a], o.ends[b]) for o in owned for a, b in o.element.kind.pairs}
    couplings = [c for c in pairs if -1 not in c and c[0] != c[1]]
    links = [*(o.ends for o in rows), *couplings]
    freedoms = [b.formulation.n_v - b.formulation.n_own for b in bodies]
    order = eliminate_order(len(bodies), links)
    fronts = eliminate(
        freedoms, [o.element.kind.n_rows for o in rows], [o.bodies for o in rows], couplings, order
    )

    layout = Layout(buffers, bodies, rows, fronts)
    nodes = _nodes(buffers, system, bodies, layout)
    attachments = _Attachments(buffers, bodies, index, nodes, layout.face)
    stages = _Stages()
    for i, stretch in enumerate(layout.stretches):
        stages.fill(i, clear_stretch, buffers.table(stretch))
    records: dict[str, list[int]] = {name: [] for name in parts}
    remembered = _interactions(buffers, owned, rows, layout, attachments, stages, records)
    remembered += _turns(buffers, parts.values(), attachments, stages, records)
    _families(buffers, bodies, nodes, layout, stages)
    stages.kernels[m.TANGENT] = [
        call for i in range(len(layout.stretches)) for call in stages.tangents[i]
    ]
    for n in layout.pivots:
        stages.add(m.PIVOTS, pivots_kernel(n), 0)
    calls = {stage: [at for _, at in kernels] for stage, kernels in stages.kernels.items()}
    calls[m.FLOW] = calls[m.CONVECT] = calls[m.PLACE]  # explicit methods write their addresses
    I, F, size = buffers.arrays(calls)
    numbering = layout.numbering(bodies, rows)
    _check_labels(numbering)
    where = {body.name: node for body, node in zip(bodies, nodes, strict=True)}
    laws = [o.element.law for o in owned if o.element.law is not None]
    model = Model(system, I, F, size, numbering, fronts, stages.kernels, where, records, laws,
                  tuple(remembered))  # fmt: skip
    I[m.LOOPS] = model.loops()
    I.flags.writeable = False
    model.prepare()
    return model


def _owned(owner: str, element: Element, index: dict[str, int], label: str) -> Owned:
    """Return an element with the bodies that it is attached to."""
    try:
        ends = [index[a.body] for a in element.attachments]
    except KeyError as error:
        raise ValueError(
            f"{owner}: an element is attached to {error.args[0]!r}, which is no body of the "
            "system; the part must have it among its bodies or nodes"
        ) from None
    return Owned(owner, element, ends, sorted({*ends} - {-1}), label)


def _check_labels(numbering: Numbering) -> None:
    """Refuse rows of one part that have the same name."""
    if len(set(numbering.lam_labels)) == len(numbering.lam_labels):
        return
    twice = next(x for x, n in Counter(numbering.lam_labels).items() if n > 1)
    owner = next(x for x, rows in numbering.owners.items() if twice in numbering.lam_labels[rows])
    raise ValueError(
        f"{owner}: two of its rows are called {twice!r}; each element must name its rows apart"
    )


def _frozen(system: Description) -> Description:
    """Return a copy that parts added to the original later do not reach."""
    mine = copy(system)
    mine.gravity = system.gravity_as_written
    mine.bodies, mine.joints = dict(system.bodies), dict(system.joints)
    mine.structures, mine.forces = dict(system.structures), dict(system.forces)
    return mine


def _by_formulation(bodies: list[Any]) -> dict[Formulation, list[int]]:
    """Return the indices of the bodies of each formulation."""
    groups: dict[Formulation, list[int]] = {}
    for i, body in enumerate(bodies):
        groups.setdefault(body.formulation, []).append(i)
    return groups


def _nodes(buffers: Buffers, system: Description, bodies: list[Any], layout: Layout) -> list[int]:
    """Write constants and initial state; return where the record of each node is."""
    where: dict[int, int] = {}
    header = buffers.I
    here = origin(system)
    header[m.GROUND] = buffers.put([*-here, 1, 0, 0, 0, 1, 0, 0, 0, 1], what="GROUND")
    buffers.write(m.GX, system.gravity)
    for members in _by_formulation(bodies).values():
        for i in sorted(members, key=lambda i: layout.stretch([i])):
            body, formulation = bodies[i], bodies[i].formulation
            par = buffers.put(
                formulation.constants(body.mass, body.center_of_mass, body.second_moments),
                what=body.name,
            )
            place, ld = layout.block(i, i)
            q, v = body.q_and_v(body.position - here)
            buffers.write(header[m.Q] + layout.q[i], q)
            buffers.write(header[m.V] + layout.start[i], v)
            y = 12 * layout.face[i]
            where[i] = buffers.table([layout.q[i], layout.start[i], par, y, place, ld])
    return [where[i] for i in range(len(bodies))]


class _Attachments:
    """Attachments, each once, except those whose weights a law rewrites."""

    def __init__(
        self, buffers: Buffers, bodies: list[Any], index: dict[str, int], nodes: list[int],
        faces: list[int],
    ) -> None:  # fmt: skip
        self.buffers, self.index, self.records = buffers, index, dict[Attachment, int]()
        families = {f: i for i, f in enumerate(_by_formulation(bodies))}
        ground = (0, 1, 1, [0, 0, 0, m.P])  # the last one, -1
        # first face, number of faces, of those shown, and what a record has of the body
        self.bodies = [
            (first, f.n_faces, f.n_shown, [f.n_v, node, families[f], m.P if f.galerkin else m.PV])
            for f, node, first in zip((b.formulation for b in bodies), nodes, faces, strict=True)
        ] + [ground]

    def place(self, end: Attachment) -> tuple[int, int]:
        """Store weights; return where the face and the weights are.

        The maps of a body take weights of all its faces, four each: others are zero.
        """
        first, n_faces, shown, _ = self.bodies[self.index[end.body]]
        if not 0 <= end.face < shown:
            raise ValueError(
                f"{end.body}: an element is attached to face {end.face}, but the body shows "
                f"{shown}, numbered from 0"
            )
        w, weights = 4 * end.face, tuple(end.weights)
        if n_faces > 1:
            weights = (*[0.0] * w, *weights, *[0.0] * (4 * n_faces - 4 - w))
        place = self.buffers.put(weights, what="the weights of an attachment")
        return 12 * (first + end.face), place + w

    def get(self, end: Attachment, *, own: bool) -> int:
        """Return where the record of an attachment is."""
        record = self.records.get(end, 0)
        if not record or own:
            of_body = self.bodies[self.index[end.body]][-1]
            record = self.buffers.table([*self.place(end), *of_body])
            if not own:
                self.records[end] = record
        return record


@dataclass
class _Stages:
    """Which kernels run when, each with the record it reads."""

    kernels: dict[int, list[tuple[Any, int]]] = field(
        default_factory=lambda: {stage: [] for stage in m.STAGES}
    )
    tangents: dict[int, list[tuple[Any, int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, stage: int, kernel: Any, record: int) -> None:
        """Run a kernel in a stage."""
        if kernel is not None:
            self.kernels[stage].append((kernel, record))

    def fill(self, stretch: int, kernel: Any, record: int) -> None:
        """Run a kernel when a stretch of the matrix is filled."""
        if kernel is not None:
            self.tangents[stretch].append((kernel, record))


def _interactions(
    buffers: Buffers,
    owned: list[Owned],
    rows: list[Owned],
    layout: Layout,
    attachments: _Attachments,
    stages: _Stages,
    records_of: dict[str, list[int]],
) -> list[str]:
    """Write the tables of all interactions, kind by kind; return labels of what they remember."""
    labels: list[str] = []
    where: dict[int, int] = {}
    number = {id(o): e for e, o in enumerate(rows)}
    by_kind: dict[Kind, list[Owned]] = {}
    for o in owned:
        by_kind.setdefault(o.element.kind, []).append(o)
    scratch = max((k.scratch for k in by_kind), default=m.SCRATCH_OWN)
    buffers.I[m.SCRATCH] = buffers.room(scratch, what="SCRATCH, the floats for laws")
    for kind, members in by_kind.items():
        records: list[int] = []
        members.sort(key=lambda o: layout.stretch(o.bodies))
        for o in members:
            e = o.element
            driven = e.law is not None and not kind.damped and not kind.n_rows  # rewrites it
            last = len(e.attachments) - 1
            ends = [
                attachments.get(a, own=driven and i == last) for i, a in enumerate(e.attachments)
            ]
            group = ~number[id(o)] if kind.n_rows else 0
            u = layout.start[group] if kind.n_rows else -1
            law = e.law.address if e.law is not None else 0
            numbers = buffers.put([*e.numbers, *[0.0] * kind.room], what=o.label)
            kept = buffers.put(list(e.memory), m.STATE, o.label)
            records += [u, numbers, kept, law, *ends]
            if kind.n_rows:
                for b in o.ends:
                    if b < 0:
                        records += [-1, 0, -1, 0]
                    else:
                        records += [*layout.block(group, b), *layout.block(b, group)]
            for a, b in kind.pairs:
                grounded = o.ends[a] < 0 or o.ends[b] < 0
                records += (-1, 0) if grounded else layout.block(o.ends[a], o.ends[b])
        remembered = len(members[0].element.memory)
        head = kind.head(len(members), buffers.table(records), remembered)
        at, first, size = buffers.table(head), head[m.T_FIRST], head[m.T_SIZE]
        where |= {id(o): first + e * size for e, o in enumerate(members)}
        stages.add(m.FORCES, kind.forces, at)
        start = first
        for stretch, n in Counter(layout.stretch(o.bodies) for o in members).items():
            part = buffers.table(kind.head(n, start, remembered)) if n < len(members) else at
            stages.fill(stretch, kind.tangent, part)
            start += n * size
        stages.add(m.RATES, kind.rates, at)
        stages.add(m.ACCEPT, kind.accept, at)
        stages.add(m.ENERGY, kind.energy, at)
        stages.add(m.LOADS, kind.forces if kind.loads else None, at)
        if kind.accept is not None:
            labels += [x for o in members for x in _memory_labels(o)]
    for o in owned:
        records_of[o.owner].append(where[id(o)])
    return labels


def _memory_labels(o: Owned) -> list[str]:
    """Return a label for each number that an element remembers."""
    n = len(o.element.memory)
    return [o.label] if n == 1 else [f"{o.label}.{j}" for j in range(n)]


def _turns(
    buffers: Buffers, parts: Iterable[Part], attachments: _Attachments, stages: _Stages,
    records_of: dict[str, list[int]],
) -> list[str]:  # fmt: skip
    """Write the tables that count the turns of the joints' angles; return the labels of these."""
    by_measure: dict[Any, dict[str, Any]] = {}
    for joint in parts:
        for name, free in joint.coordinates.items():
            if free.measure.periodic:
                by_measure.setdefault(free.measure, {})[f"{joint.name}.{name}"] = free
    labels: list[str] = []
    for measure, angles in by_measure.items():
        kind = unwrapped_angle(measure)
        records: list[int] = []
        for free in angles.values():
            records += [-1, 0, buffers.put([free.start], m.STATE), 0]
            for end in free.attachments:
                records.append(buffers.table([*attachments.place(end), *[0] * (m.ATT_SIZE - 2)]))
        head = kind.head(len(angles), buffers.table(records), 1)
        at, first, size = buffers.table(head), head[m.T_FIRST], head[m.T_SIZE]
        records_of |= {label: [first + e * size] for e, label in enumerate(angles)}
        stages.add(m.ACCEPT, kind.accept, at)
        labels += angles
    return labels


def _families(
    buffers: Buffers,
    bodies: list[Any],
    nodes: list[int],
    layout: Layout,
    stages: _Stages,
) -> None:
    """Write the records of the families; faces first, so that rates find them."""
    interactions = stages.kernels[m.RATES]
    stages.kernels[m.RATES] = []
    for formulation, members in _by_formulation(bodies).items():
        start = min(nodes[i] for i in members)
        at = buffers.table([len(members), start])
        kernels = family(formulation)
        stages.add(m.PLACE, kernels.place, at)
        stages.add(m.RESIDUAL, kernels.residual, at)
        stages.add(m.MAPS, kernels.maps, at)
        for stretch, n in sorted(Counter(layout.stretch([i]) for i in members).items()):
            part = buffers.table([n, start]) if n < len(members) else at
            stages.fill(stretch, kernels.tangent, part)
            start += n * m.NODE_SIZE
        stages.add(m.RATES, kernels.rates, at)
        stages.add(m.ENERGY, kernels.energy, at)
    stages.kernels[m.RATES] += interactions
