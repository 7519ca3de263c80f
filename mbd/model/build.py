"""``System.build()``: numbering of the unknowns, layout of the buffers, tables."""

import gc
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np

from mbd.base.checked import whole
from mbd.base.read_only import read_only
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.interactions.gradients import unwrapped_angle
from mbd.interactions.kind import Attachment, Kind
from mbd.machine import buffer as m
from mbd.machine.buffer import BETWEEN
from mbd.machine.pivots import pivots_kernel
from mbd.model.description import Description, origin
from mbd.model.evaluation import clear_stretch
from mbd.model.independent_rows import misplaced
from mbd.model.layout import (
    Buffers,
    Layout,
    Owned,
    Stages,
    check_accelerations,
    check_names,
    owned_element,
)
from mbd.model.model import Model
from mbd.model.planar_rows import elements_of
from mbd.model.topology import closes, elimination
from mbd.parts.bodies import StackedBodies
from mbd.parts.joint import turning
from mbd.parts.part import Part


def build(system: Description, threads: int = 1) -> Model:
    """Freeze a system, for so many threads.

    Everything made here stays, so that looking for garbage meanwhile is half the time for nothing.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        threads = whole("System.build", "threads", threads, 1)
        model, after = built(system, Buffers(), threads), dict[int, int]()
        while new := misplaced(model):
            after |= new
            model = built(system, Buffers(), threads, after)
        return model
    finally:
        if collecting:
            gc.enable()


def built(
    system: Description, buffers: Buffers, threads: int = 1, after: Mapping[int, int] | None = None
) -> Model:  # fmt: skip
    """Freeze a system, with tables in these buffers; `after` is that of `eliminate`."""
    if threads > 2:
        raise ValueError(f"System.build: threads must be 1 or 2, got {threads}")
    if not system.bodies:
        raise ValueError(
            "System.build: there is no body; call system.add(mbd.RigidBody(...)) first"
        )
    system = system.frozen()
    bodies = list(system.bodies.values())
    planar = {b.name: axis for b in bodies if (axis := b.formulation.normal) is not None}
    for name, axis in planar.items():
        if system.gravity[axis] != 0.0:
            raise ValueError(
                f"System: gravity must be in the plane of {name!r}, which moves normal to "
                f"{'xyz'[axis]}, got {system.gravity.tolist()} [m/s^2]; turn it, or take another "
                "formulation"
            )
    index = {b.name: i for i, b in enumerate(bodies)}
    index["ground"] = -1
    parts = system.parts
    elements = {
        name: elements_of(part) if planar else part.elements() for name, part in parts.items()
    }
    owned = [
        owned_element(part.name, e, index, word, i)
        for part in parts.values()
        for word in ("element " if part.nodes() else "",)
        for i, e in enumerate(elements[part.name])
    ]
    rows = [o for o in owned if o.element.kind.n_rows]
    check_names(rows)
    pairs = {(o.ends[a], o.ends[b]) for o in owned for a, b in o.element.kind.pairs}
    couplings = [c for c in pairs if -1 not in c and c[0] != c[1]]
    links = [*dict.fromkeys(tuple(o.ends) for o in rows), *couplings]
    freedoms = [b.formulation.n_v - b.formulation.n_own for b in bodies]
    fronts, division = elimination(
        freedoms, [o.element.kind.n_rows for o in rows], [o.bodies for o in rows], couplings, links,
        in_two=threads == 2, after=after or {}, masses=[b.mass for b in bodies],
    )  # fmt: skip

    layout = Layout(buffers, bodies, rows, fronts, division)
    stacked = StackedBodies.of(bodies)
    nodes = _nodes(buffers, system, bodies, stacked, layout)
    attachments = _Attachments(buffers, bodies, nodes, layout.face)
    stages = Stages()
    for i, (*stretch, of_side) in enumerate(layout.stretches):
        stages.fill((of_side, i), clear_stretch, buffers.table(stretch))
    records: dict[str, list[int]] = {name: [] for name in parts}
    first = buffers.sizes[m.STATE]
    remembered = _interactions(buffers, owned, rows, layout, attachments, stages, records)
    remembered += _turns(buffers, parts.values(), attachments, stages, records)
    _memories(buffers, first)
    moving = any(o.element.kind.damped or o.element.kind.turns for o in owned)
    heavy = [o for o in owned if o.element.kind.accelerated]
    check_accelerations(bodies, heavy)
    _families(buffers, bodies, nodes, layout, stages, moving, bool(heavy))
    for (of_side, _), some in sorted(stages.tangents.items()):
        stages.by_side[m.TANGENT][of_side] += some
    for n in layout.pivots:
        stages.add(m.PIVOTS, pivots_kernel(n), 0)
    layout.write_sides(buffers, stages.by_side)
    kernels = {stage: [x for some in of for x in some] for stage, of in stages.by_side.items()}
    calls = {stage: [at for _, at in some] for stage, some in kernels.items()}
    for stage in (m.FLOW, m.CONVECT, m.ENDING):  # methods write their addresses
        calls[stage] = calls[m.VELOCITIES]
    I, F, size = buffers.arrays(calls)
    numbering = layout.numbering(bodies, rows)
    where = {body.name: node for body, node in zip(bodies, nodes, strict=True)}
    laws = [o.element.law for o in owned if o.element.law is not None]
    unsaid = ((o.owner, o.element.kind.law) for o in owned if o.element.kind.set_valued)
    model = Model(system, I, F, size, numbering, fronts, kernels, where, elements, records, laws,
                  stacked, tuple(remembered), set_valued=tuple(dict.fromkeys(unsaid)))  # fmt: skip
    I[m.LOOPS] = closes(x.bodies for x in model.links())
    I.flags.writeable = False
    model.prepare()
    read_only(F)
    if any(x.formulation.normal is not None for x in bodies) and not model.set_valued:
        _refuse_constant_rows(model)
    return model


def _refuse_constant_rows(model: Model) -> None:
    """Refuse rows that nothing moves, of parts that do not leave them out in a plane."""
    acting = model.compliant.copy()  # B has none of these
    B = model.assemble().B.tocoo()
    acting[B.coords[0][B.data != 0.0]] = True
    for i in np.flatnonzero(~acting):
        label = model.numbering.lam_labels[i]
        name = label.rpartition(".")[0]
        raise ValueError(
            f"{label}: this row of a {type(model.system[name]).__name__} is constant where its "
            "bodies move in a plane; let another formulation carry one of them"
        )


def _by_formulation(bodies: list[Any]) -> dict[Formulation, list[int]]:
    """Return the indices of the bodies of each formulation."""
    groups: dict[Formulation, list[int]] = {}
    for i, body in enumerate(bodies):
        groups.setdefault(body.formulation, []).append(i)
    return groups


def _nodes(
    buffers: Buffers, system: Description, bodies: list[Any], stacked: StackedBodies, layout: Layout
) -> list[int]:
    """Write constants and initial state; return where the record of each node is."""
    where = [0] * len(bodies)
    header, here = buffers.I, origin(system)
    header[m.GROUND] = buffers.put([*-here, 1, 0, 0, 0, 1, 0, 0, 0, 1], what="GROUND")
    buffers.write(m.GX, system.gravity)
    Q, V = np.zeros(layout.n_q), np.zeros(layout.n_u)
    for formulation, members in _by_formulation(bodies).items():
        members.sort(key=layout.stretch_of.__getitem__)
        mine = stacked if members == [*range(len(bodies))] else stacked.some(members)
        constants = mine.constants(formulation).tolist()
        pars = buffers.put_all(constants, m.CONSTANTS, (bodies[i].name for i in members))
        records: list[int] = []
        blocks = zip(*layout.blocks(members, members), strict=True)
        for i, par, block in zip(members, pars, blocks, strict=True):
            where[i] = len(header) + len(records)
            records += (layout.q[i], layout.start[i], par, 12 * layout.face[i], *block)
        buffers.table(records)
        first = np.array(records).reshape(-1, m.NODE_SIZE)
        q, v = mine.q_and_v(formulation, here)
        Q[first[:, m.NODE_Q, None] + np.arange(formulation.n_q)] = q
        V[first[:, m.NODE_U, None] + np.arange(formulation.n_v)] = v
    buffers.write(header[m.Q], Q)
    buffers.write(header[m.V], V)
    return where


class _Attachments:
    """Attachments of elements and coordinates, each with weights of its own."""

    def __init__(
        self, buffers: Buffers, bodies: list[Any], nodes: list[int], faces: list[int]
    ) -> None:
        self.buffers = buffers
        families = {f: i for i, f in enumerate(_by_formulation(bodies))}
        # first face, number of those shown, zeros of the others, and what a record has of the body
        self.bodies = {"ground": (0, 1, (), (0, 0, 0, m.P))}
        for body, node, first in zip(bodies, nodes, faces, strict=True):
            f = body.formulation
            others = (0.0,) * (4 * f.n_faces - 4)
            own = (f.n_v, node, families[f], m.P if f.galerkin else m.PV)
            self.bodies[body.name] = first, f.n_shown, others, own

    def put(self, ends: Iterable[Attachment]) -> range:
        """Write the records of attachments; return where they are.

        The maps of a body take weights of all its faces, four each: others are zero.
        """
        of = [(*self.bodies[name], name, w, face) for name, w, face in ends]
        for _, shown, _, _, name, _, face in of:
            if not 0 <= face < shown:
                raise ValueError(
                    f"{name}: an element is attached to face {face}, but the body shows "
                    f"{shown}, numbered from 0"
                )
        weights = [
            (*others[: 4 * face], *w, *others[4 * face :]) for _, _, others, _, _, w, face in of
        ]
        places = self.buffers.put_all(weights, m.CONSTANTS, repeat("the weights of an attachment"))
        both = zip(of, places, strict=False)  # there is one place of none
        at = self.buffers.table(
            [
                x
                for (first, _, _, own, _, _, face), place in both
                for x in (12 * (first + face), place + 4 * face, *own)
            ]
        )
        return range(at, at + m.ATT_SIZE * len(of), m.ATT_SIZE)


def _interactions(
    buffers: Buffers, owned: list[Owned], rows: list[Owned], layout: Layout,
    attachments: _Attachments, stages: Stages, records_of: dict[str, list[int]],
) -> list[str]:  # fmt: skip
    """Write the tables of all interactions, kind by kind; return labels of what they remember."""
    labels: list[str] = []
    where: dict[int, int] = {}
    number = {id(o): e for e, o in enumerate(rows)}
    with_law = [o for o in owned if o.element.law is not None]  # in the order of the model's laws
    laws = {
        id(o): buffers.table(o.element.law.record(i, buffers.put(o.element.law.parameters)))
        for i, o in enumerate(with_law)
    }
    by_kind: dict[tuple[Kind, int], list[Owned]] = {}  # those of a table remember as much
    for o in owned:
        by_kind.setdefault((o.element.kind, len(o.element.memory)), []).append(o)
    scratch = max((k.scratch for k, _ in by_kind), default=m.SCRATCH_OWN)
    for place in (m.SCRATCH, m.SCRATCH_BESIDE)[: 2 if layout.borders else 1]:
        buffers.I[place] = buffers.room(scratch, what="SCRATCH, the floats for laws")
        buffers.room(m.LINE)
    for (kind, n_kept), of_kind in by_kind.items():
        members, several = _in_order(of_kind, layout)
        elements, spare = [o.element for o in members], (0.0,) * kind.room
        k = kind.n_attachments
        places = attachments.put(a for e in elements for a in e.attachments)
        numbers, kept = [(*e.numbers, *spare) for e in elements], [e.memory for e in elements]
        numbers_at = buffers.put_all(numbers, m.CONSTANTS, (o.label for o in members))
        kept_at = buffers.put_all(kept, m.STATE, (o.label for o in members))
        columns: list[Iterable[int]] = [numbers_at, kept_at]
        columns.append(0 if o.element.law is None else laws[id(o)] for o in members)
        columns += (places[j::k] for j in range(k))
        groups = [~number[id(o)] for o in members] if kind.n_rows else []
        columns.insert(0, map(layout.start.__getitem__, groups) if groups else repeat(0))
        ends = [
            [None if b < 0 else b for b in x] for x in zip(*(o.ends for o in members), strict=True)
        ]
        for end in ends if groups else ():
            columns += (*layout.blocks(groups, end), *layout.blocks(end, groups))
        if kind.own_block:
            columns += layout.blocks(groups, groups)
        for a, b in kind.pairs:
            columns += layout.blocks(ends[a], ends[b])
        records = [x for row in zip(*columns, strict=False) for x in row]
        remembered = 0 if kind.stateless else n_kept
        first = buffers.table(records)
        at = buffers.table(kind.head(len(members), first, remembered))
        of_side = Counter[int]()
        for (k, _), n in several.items():
            of_side[k] += n
        size = buffers.I[at + m.T_SIZE]
        where |= zip(map(id, members), range(first, at, size), strict=True)
        start = first
        for k, n in of_side.items():
            part = buffers.table(kind.head(n, start, remembered)) if n < len(members) else at
            stages.add(m.FORCES, kind.forces, part, k)
            start += n * size
        start = first
        for stretch, n in several.items():
            part = buffers.table(kind.head(n, start, remembered)) if n < len(members) else at
            stages.fill(stretch, kind.tangent, part)
            start += n * size
        stages.add(m.RATES, kind.rates, at)
        stages.add(m.ACCEPT, kind.accept, at)
        stages.add(m.ENERGY, kind.energy, at)
        stages.add(m.LOADS, kind.forces if kind.loads else None, at)
        stages.add(m.MOMENTA, kind.momenta, at)
        if kind.accept is not None and not kind.stateless:
            for o in members:  # a label for each number that an element remembers
                n = len(o.element.memory)
                labels += [o.label] if n == 1 else [f"{o.label}.{j}" for j in range(n)]
    for o in owned:
        records_of[o.owner].append(where[id(o)])
    return labels


def _memories(buffers: Buffers, first: int) -> None:
    """Note where numbers that are remembered are; make room for rates, and to put both aside."""
    n = buffers.sizes[m.STATE] - first
    places = range((m.STATE << m.REGION_BITS) + first, (m.STATE << m.REGION_BITS) + first + n)
    buffers.I[m.REMEMBERED], buffers.I[m.N_MEMORY] = places.start, n
    buffers.I[m.PLACES_REMEMBERED] = buffers.table(places)
    buffers.I[m.TURN_RATES] = buffers.room(n, m.STATE, what="rates of angles")
    buffers.I[m.KEPT] = buffers.room(6 * n, what="memory that is put aside")


def _in_order(members: list[Owned], layout: Layout) -> tuple[list[Owned], Counter[tuple[int, int]]]:
    """Return elements by the stretch of the matrix that they belong to, and how many each has."""
    if len(layout.stretches) == 1:
        return members, Counter({(BETWEEN, 0): len(members)})
    stretches = [layout.stretch(o.bodies, o.element.law is not None) for o in members]
    order = sorted(range(len(members)), key=stretches.__getitem__)
    return [members[i] for i in order], Counter(sorted(stretches))


def _turns(
    buffers: Buffers, parts: Iterable[Part], attachments: _Attachments, stages: Stages,
    records_of: dict[str, list[int]],
) -> list[str]:  # fmt: skip
    """Write the tables that count the turns of the joints' angles; return the labels of these."""
    labels: list[str] = []
    for measure, angles in turning(parts).items():
        kind = unwrapped_angle(measure)
        kept = buffers.put_all([[start] for start, _ in angles.values()], m.STATE, angles)
        ends = attachments.put(end for _, its in angles.values() for end in its)
        own = zip(*[iter(ends)] * measure.n, strict=True)
        records = [x for at, some in zip(kept, own, strict=True) for x in (0, 0, at, 0, *some)]
        head = kind.head(len(angles), buffers.table(records), 1)
        at, first, size = buffers.table(head), head[m.T_FIRST], head[m.T_SIZE]
        records_of |= {label: [first + e * size] for e, label in enumerate(angles)}
        stages.add(m.ACCEPT, kind.accept, at)
        labels += angles
    return labels


def _families(
    buffers: Buffers, bodies: list[Any], nodes: list[int], layout: Layout, stages: Stages,
    moving: bool, heavy: bool,
) -> None:  # fmt: skip
    """Write the records of the families; faces first, so that rates find them.

    Forces depend on velocities where something is `moving`, on accelerations where it is `heavy`.
    """
    interactions = stages.by_side[m.RATES][BETWEEN]
    stages.by_side[m.RATES][BETWEEN] = []
    for formulation, members in _by_formulation(bodies).items():
        start = first = min(nodes[i] for i in members)
        at = buffers.table([len(members), start])
        kernels = family(formulation)
        for stage in (m.VELOCITIES, m.RATES):
            stages.add(stage, kernels.velocities, at)
        stages.add(m.MAPS, kernels.maps, at)
        stages.add(m.SECOND_MAPS, kernels.second_maps if heavy else None, at)
        for k, n in sorted(Counter(map(layout.side.__getitem__, members)).items()):
            part = buffers.table([n, first]) if n < len(members) else at
            for stage, rates in ((m.PLACE, True), (m.POSE, moving)):
                stages.add(stage, kernels.place, part, k)
                stages.add(stage, kernels.velocities if rates else None, part, k)
                stages.add(stage, kernels.accelerations if heavy else None, part, k)
            stages.add(m.RESIDUAL, kernels.residual, part, k)
            first += n * m.NODE_SIZE
        for stretch, n in sorted(Counter(map(layout.stretch_of.__getitem__, members)).items()):
            part = buffers.table([n, start]) if n < len(members) else at
            stages.fill(stretch, kernels.tangent, part)
            start += n * m.NODE_SIZE
        stages.add(m.RATES, kernels.rates, at)
        stages.add(m.ENERGY, kernels.energy, at)
    stages.by_side[m.RATES][BETWEEN] += interactions
