r"""Derivatives of the residual and of the rows by a parameter, at a state.

.. math:: \hat r_p = \sum_k w_k\, \hat r(p + k s)

The program of a parameter is a small table of the elements and nodes that it touches: of every
value of its stencil there are records of these alone, with constants of their own after those of
the run. The sum, over the unknowns that are touched, costs eight evaluations of these few. Forces
of the others do not depend on p and drop out, :math:`\sum w_k = 0`. Where an element may have a
kink (a stop, a law, what goes slack) the values are as near as the kink asks for
(``differences.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.base.tolerances import SENSITIVITY_AGREES
from mbd.derivatives.differences import NOISE, SHARES
from mbd.derivatives.parameters import Stencil
from mbd.formulations.families import family
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit
from mbd.model.frozen import FrozenModel
from mbd.model.values import declared

# a program: its levels, of which each has nearer values than the one before, and where they are;
# stretches of unknowns, faces; room for four numbers of each unknown
N_LEVELS, LEVELS, N_RANGES, RANGES, N_FACES, FACES, ROOM, PROGRAM_SIZE = range(8)
# a level: number of its points and where they are
N_POINTS, POINTS, LEVEL_SIZE = range(3)
# a point: place of its two weights and of gravity; pairs (address, table) of three kinds
WEIGHT, GRAVITY, N_FORCES, FORCES, N_NODES, NODES, N_RATES, RATES, POINT_SIZE = range(9)


@dataclass
class Appendix:
    """Tables after those of a model, and numbers after those of a run."""

    I: list[int]
    F: list[float] = field(default_factory=list)
    start: int = 0  # where the numbers begin

    def table(self, values: Any) -> int:
        """Append integers; return where."""
        where = len(self.I)
        self.I.extend(map(int, values))
        return where

    def address(self, address: int) -> int:
        """Append an address; return where it is, for an entry that stands for it."""
        return self.table(m.halves(address))

    def put(self, values: Any) -> int:
        """Append numbers; return where."""
        where = self.start + len(self.F)
        self.F.extend(map(float, values))
        return where


def flows(model: FrozenModel, appendix: Appendix) -> list[tuple[Any, int]]:
    """Return kernels that write T^-1 v of the nodes of each formulation, and their tables."""
    groups: dict[Any, list[int]] = {}
    for name, node in model.nodes.items():
        groups.setdefault(node.formulation, []).append(model.node_records[name])
    pairs = []
    for formulation, records in groups.items():
        flow = family(formulation).flow
        if flow is None:
            raise ValueError(
                f"Formulation {formulation.name!r} must have a flow, by which increments carry "
                "tangents; got none"
            )
        pairs.append((flow, appendix.table([len(records), records[0]])))
    return pairs


@jit
def _evaluate_point(I: Any, F: Any, p: int, point: int, order: int) -> None:
    """Evaluate the residual and the rows of the touched elements and nodes at a point."""
    if I[point + GRAVITY] > 0:
        for k in range(3):
            F[m.GX + k] = F[I[point + GRAVITY] + k]
    for f in range(I[p + N_FACES]):
        y = I[m.FY] + I[I[p + FACES] + f]
        for k in range(12):
            F[y + k] = 0.0
    for e in range(I[point + N_FORCES]):
        e2 = I[point + FORCES] + 2 * e
        call(address_at(I, I[e2]), I, F, I[e2 + 1])
    for e in range(I[point + N_NODES]):
        e2 = I[point + NODES] + 2 * e
        call(address_at(I, I[e2]), I, F, I[e2 + 1])
    if order > 0:
        for e in range(I[point + N_RATES]):
            e2 = I[point + RATES] + 2 * e
            call(address_at(I, I[e2]), I, F, I[e2 + 1])


@jit
def _value(I: Any, F: Any, u: int, order: int) -> float:
    """Return the residual of an unknown, or the first or second rate of a row."""
    if order == 0:
        return F[I[m.X] + u]
    return F[m.ROW_RATE] * F[I[m.PHID] + u] if order == 1 else F[I[m.PHIDD] + u]


@jit
def add_variation(I: Any, F: Any, p: int, to: int, order: int) -> None:
    """Add the derivative of residual and rows by the parameter of the program at I[p] to F[to].

    Of rows that of their rate of this order; values and first rates as they stand, scaled, in the
    equations. Face forces of the touched bodies are lost. Of elements that may have a kink values
    are taken nearer until differences of two orders agree; those that agree best count.
    """
    gx, gy, gz = F[m.GX], F[m.GY], F[m.GZ]
    room, n = I[p + ROOM], 0
    for r in range(I[p + N_RANGES]):
        n += I[I[p + RANGES] + 3 * r + 1]
    least, level = math.inf, 0
    while level < I[p + N_LEVELS]:
        at = I[p + LEVELS] + level * LEVEL_SIZE
        for k in range(3 * n):
            F[room + k] = 0.0
        largest = 0.0
        for j in range(I[at + N_POINTS]):
            point = I[at + POINTS] + j * POINT_SIZE
            _evaluate_point(I, F, p, point, order)
            w, k = I[point + WEIGHT], room
            high, low, even = F[w], F[w + 1], F[w + 2]
            for r in range(I[p + N_RANGES]):
                r3 = I[p + RANGES] + 3 * r
                of_row = order if I[r3 + 2] != 0 else 0
                for u in range(I[r3], I[r3] + I[r3 + 1]):
                    x = _value(I, F, u, of_row)
                    F[k] += high * x
                    F[k + n] += (high - low) * x
                    F[k + 2 * n] += even * x
                    largest = max(largest, abs(high * x), abs(even * x))
                    k += 1
        error, size = 0.0, 0.0
        for k in range(room, room + n):
            error, size = max(error, abs(F[k + n]), abs(F[k + 2 * n])), max(size, abs(F[k]))
        if error < least:
            least = error
            for k in range(room, room + n):
                F[k + 3 * n] = F[k]
        level += 1
        if error <= SENSITIVITY_AGREES * size + NOISE * largest:
            break
    F[m.GX], F[m.GY], F[m.GZ] = gx, gy, gz
    k = room + 3 * n
    for r in range(I[p + N_RANGES]):
        r3 = I[p + RANGES] + 3 * r
        for u in range(I[r3], I[r3] + I[r3 + 1]):
            F[to + u] += F[k]
            k += 1


@jit
def subtracted_from(I: Any, F: Any, p: int, x: int, y: int, many: int) -> None:
    """Subtract a vector x that has entries of one program alone from one of many; leave x zero."""
    for r in range(I[p + N_RANGES]):
        r3 = I[p + RANGES] + 3 * r
        for i in range(I[r3], I[r3] + I[r3 + 1]):
            F[y + i * many] -= F[x + i]
            F[x + i] = 0.0


@jit
def taken_along(I: Any, F: Any, p: int, x: int, y: int) -> float:
    """Return x.y of a vector x that has entries of one program alone; leave it zero."""
    s = 0.0
    for r in range(I[p + N_RANGES]):
        r3 = I[p + RANGES] + 3 * r
        for i in range(I[r3], I[r3] + I[r3 + 1]):
            s += F[x + i] * F[y + i]
            F[x + i] = 0.0
    return s


@dataclass
class _Touched:
    """The elements and nodes that a parameter changes."""

    elements: list[tuple[Any, int, str, int]] = field(default_factory=list)  # record, part, which
    nodes: dict[str, int] = field(default_factory=dict)  # name: record


def _places(model: Any, record: int, element: Any) -> list[slice]:
    """Return where numbers and weights of an element are."""
    I = model.I
    ends = (int(I[record + m.E_ENDS + a]) for a in range(len(element.attachments)))
    weights = (int(I[end + m.ATT_W]) for end in ends)
    at = int(I[record + m.E_NUMBERS])
    return [slice(at, at + len(element.numbers)), *(slice(w, w + 4) for w in weights)]


def _law(model: Any, record: int) -> int:
    """Return the address of the law of an element, 0 without one."""
    at = int(model.I[record + m.E_LAW])
    return m.joined(model.I, at) if at else 0


def _of_node(model: FrozenModel, name: str, there: Any) -> slice:
    """Return where the constants of a node are in a neighbour of the model."""
    body = model.nodes[name]
    n = len(body.formulation.constants(body.mass, body.center_of_mass, body.second_moments))
    at = int(there.I[there.node_records[name] + m.NODE_PAR])
    return slice(at, at + n)


def _touched(model: FrozenModel, stencil: Stencil, weight: bool) -> _Touched:
    """Return what is not the same at all values of a parameter; by gravity all that has mass."""
    touched, neighbours = _Touched(), stencil.described

    def differs(here: list[slice], there: list[list[slice]]) -> bool:
        """Tell whether numbers are others in a neighbour, at places here and there."""
        return any(
            not np.array_equal(model.F[x], other.F[y])
            for other, places in zip(neighbours, there, strict=True)
            for x, y in zip(here, places, strict=True)
        )

    for name in model.system.parts if weight else stencil.parts:
        elements = declared(model, name).elements
        for i, (record, e) in enumerate(zip(model.records[name], elements, strict=True)):
            there = [(x, x.records[name][i]) for x in neighbours]
            if (
                (weight and e.kind.accelerated)
                or any(_law(x, its) != _law(model, record) for x, its in there)
                or differs(_places(model, record, e), [_places(x, its, e) for x, its in there])
            ):
                touched.elements.append((e, record, name, i))
        for node in model.system.parts[name].nodes():
            its_places = [[_of_node(model, node.name, x)] for x in neighbours]
            if differs([_of_node(model, node.name, model)], its_places):
                touched.nodes[node.name] = model.node_records[node.name]
    return touched


def _two_points(touched: _Touched, stencil: Stencil, weight: bool) -> bool:
    """Tell whether residual and rows are at most quadratic in a parameter.

    Then a central difference of two points is exact: weights 1/2 in the place of 4/5. Of nodes
    whose constants are quadratic, the residual is linear in these; of rows that are quadratic in
    the face, whose constants are linear.
    """
    if any(
        not (e.kind.n_rows and e.kind.secant and not e.kind.own_block) or e.law
        for e, *_ in touched.elements
    ):
        return False
    if weight and (touched.nodes or touched.elements):
        return False
    return stencil.degree == 1 or (stencil.degree == 2 and not touched.elements)


def program(model: FrozenModel, appendix: Appendix, stencil: Stencil) -> int:
    """Write the tables of a parameter; return where its program is."""
    weight = any(not np.array_equal(x.F[m.GX : m.GX + 3], model.F[m.GX : m.GX + 3])
                 for x in stencil.others)  # fmt: skip
    I, touched = model.I, _touched(model, stencil, weight)
    names = {record: name for name, record in model.node_records.items()}
    bodies = dict.fromkeys(names.values() if weight else touched.nodes)
    ranges: dict[tuple[int, int, int], None] = {}
    for e, record, *_ in touched.elements:
        for a in range(len(e.attachments)):
            end = I[record + m.E_ENDS + a]
            if I[end + m.ATT_N]:
                bodies[names[int(I[end + m.ATT_NODE])]] = None
        if e.kind.n_rows:
            ranges[int(I[record + m.E_ROW]), e.kind.n_rows, 1] = None
    faces = []
    for name in bodies:
        record = model.node_records[name]
        n = model.nodes[name].formulation
        ranges[int(I[record + m.NODE_U]), n.n_v, 0] = None
        faces += [int(I[record + m.NODE_Y]) + 12 * j for j in range(n.n_faces)]
    kinked = any(not e.kind.smooth or e.law for e, *_ in touched.elements)
    levels: list[int] = []
    for share in SHARES if kinked else SHARES[:1]:
        levels += _level(model, appendix, stencil.nearer(share), touched, bodies, weight, kinked)
    flat = [x for stretch in ranges for x in stretch]
    return appendix.table([
        len(levels) // LEVEL_SIZE, appendix.table(levels), len(ranges), appendix.table(flat),
        len(faces), appendix.table(faces), appendix.put([0.0] * (4 * sum(x[1] for x in ranges))),
    ])  # fmt: skip


def _level(
    model: FrozenModel, appendix: Appendix, stencil: Stencil, touched: _Touched,
    bodies: Iterable[str], weight: bool, kinked: bool,
) -> tuple[int, int]:  # fmt: skip
    """Write the points of a stencil; return how many, and where they are."""
    I, of = model.I, stencil.fractions
    weights = np.array(of[1:]) / stencil.step
    if _two_points(touched, stencil, weight):
        weights = np.array([[0.0, 0.5, -0.5]] * 2 + [[0.0] * 3]) / stencil.step
    elif not kinked:
        weights[2] = 0.0
    points = []
    for w, other in zip(weights.T, stencil.others, strict=False):
        if not w.any():
            continue
        forces, rates, nodes = [], [], []
        for e, record, name, number in touched.elements:
            head = _element(model, appendix, e, record, (other, other.records[name][number]))
            if e.kind.forces is not None:
                forces += [appendix.address(e.kind.forces.address), head]
            if e.kind.rates is not None:
                rates += [appendix.address(e.kind.rates.address), head]
        for name in bodies:
            copy = list(I[model.node_records[name] :][: m.NODE_SIZE])
            if name in touched.nodes:
                copy[m.NODE_PAR] = appendix.put(other.F[_of_node(model, name, other)])
            one = appendix.table([1, len(appendix.I) + 2, *copy])
            kernel = family(model.nodes[name].formulation).residual
            nodes += [appendix.address(kernel.address), one]
        gravity = appendix.put(other.F[m.GX : m.GX + 3]) if weight else 0
        points += [
            appendix.put(w), gravity,
            len(forces) // 2, appendix.table(forces), len(nodes) // 2, appendix.table(nodes),
            len(rates) // 2, appendix.table(rates),
        ]  # fmt: skip
    return len(points) // POINT_SIZE, appendix.table(points)


def _element(
    model: FrozenModel, appendix: Appendix, e: Any, record: int, there: tuple[Any, int]
) -> int:
    """Write the record of an element with constants of another model; return its head's place."""
    other, its = there
    n = len(e.attachments)
    head = e.kind.head(1, 0, len(e.memory))
    copy = list(model.I[record : record + head[m.T_SIZE]])
    numbers, *weights = (other.F[x] for x in _places(other, its, e))
    copy[m.E_NUMBERS] = appendix.put([*numbers, *[0.0] * e.kind.room])
    copy[m.E_LAW] = appendix.address(law) if (law := _law(other, its)) else 0
    for a in range(n):
        end = list(model.I[copy[m.E_ENDS + a] :][: m.ATT_SIZE])
        end[m.ATT_W] = appendix.put(weights[a])
        copy[m.E_ENDS + a] = appendix.table(end)
    head[m.T_FIRST] = appendix.table(copy)
    return appendix.table(head)
