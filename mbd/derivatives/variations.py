r"""Derivatives of the residual and of the rows by a parameter, at a state.

.. math:: \hat r_p = \frac1e\sum_k w_k\, \hat r(F_0 + k e\, F_p)

The program of a parameter is a small table of the elements and nodes that it touches: of every
point of the line along its slopes there are records of these alone, with constants of their own
after those of the run. The sum, over the unknowns that are touched, costs a few evaluations of
these few; forces of the others do not depend on p and drop out, :math:`\sum w_k = 0`. Two points
are exact at any distance where the equations are at most quadratic along the line. Where they may
have a kink (a stop, a law, what goes slack) two are taken near by, so that a kink is between them
as rarely as round-off allows; where they are smooth, those of order eight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.base.tolerances import SENSITIVITY_NEAR, SENSITIVITY_STEP
from mbd.derivatives.differences import PAIRS
from mbd.derivatives.parameters import Stencil
from mbd.formulations.families import family
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit
from mbd.model.frozen import FrozenModel
from mbd.model.values import declared

# a program: number of its points, and where they are; stretches of unknowns, faces
N_POINTS, POINTS, N_RANGES, RANGES, N_FACES, FACES, PROGRAM_SIZE = range(7)
# a point: place of its weight and of gravity; pairs (address, table) of three kinds
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
    equations. Face forces of the touched bodies are lost. Weights have no sum: what does not change
    leaves no round-off where it is the difference to the first point that is weighted.
    """
    gx, gy, gz = F[m.GX], F[m.GY], F[m.GZ]
    for j in range(I[p + N_POINTS]):
        point = I[p + POINTS] + j * POINT_SIZE
        _evaluate_point(I, F, p, point, order)
        for r in range(I[p + N_RANGES]):
            r3 = I[p + RANGES] + 3 * r
            of_row = order if I[r3 + 2] != 0 else 0
            for u in range(I[r3], I[r3] + I[r3 + 1]):
                x, first = _value(I, F, u, of_row), I[m.XS] + u
                if j == 0:
                    F[first] = x
                else:
                    F[to + u] += F[I[point + WEIGHT]] * (x - F[first])
    F[m.GX], F[m.GY], F[m.GZ] = gx, gy, gz


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


class _Touched:
    """The constants of a parameter's model along its slopes, and what they change.

    Attributes
    ----------
    elements : list of (Element, int, str, int)
        With their records, parts and numbers among the elements of these.
    nodes : set of str
    weight : bool
        Whether gravity changes, and with it the forces on all that has mass.
    """

    def __init__(self, model: FrozenModel, stencil: Stencil) -> None:
        self.model, self.stencil = model, stencil
        of = stencil.of
        self.slopes = np.zeros(len(self.model.F))
        self.slopes[of.places] = of.slopes
        self.weight = bool(self.slopes[m.GX : m.GX + 3].any())
        self.elements = list[tuple[Any, int, str, int]]()
        self.nodes = set[str]()
        far = SENSITIVITY_NEAR * stencil.scale
        for name in model.system.parts if self.weight else of.parts:
            elements = declared(model, name).elements
            for i, (record, e) in enumerate(zip(model.records[name], elements, strict=True)):
                if (
                    (self.weight and e.kind.accelerated)
                    or any(self.slopes[x].any() for x in self.places(e, name, i))
                    or (of.by_law and e.law and self.law(record, name, i, far) != e.law.address)
                ):
                    self.elements.append((e, record, name, i))
            nodes = model.system.parts[name].nodes()
            self.nodes |= {x.name for x in nodes if self.slopes[self.of_node(x.name)].any()}

    @property
    def kinked(self) -> bool:
        """Whether equations may have a kink; of laws, those of forces.

        Rates of motions that are laws are differences in time, the round-off of which would drown
        what two near points differ by.
        """
        return any(not e.kind.smooth or (e.law and not e.kind.n_rows) for e, *_ in self.elements)

    @property
    def quadratic(self) -> bool:
        """Whether residual and rows are at most quadratic along the line.

        They are linear in the constants of nodes, and in gravity; quadratic in numbers and
        attachments of rows that are so in the face.
        """
        return not any(
            self.weight or e.law or e.kind.own_block or not (e.kind.n_rows and e.kind.secant)
            for e, *_ in self.elements
        )

    def points(self) -> list[tuple[float, float]]:
        """Return distances and weights of the points."""
        scale, own = self.stencil.scale, ((1, 0.5), (-1, -0.5))
        step = (SENSITIVITY_NEAR if self.kinked else SENSITIVITY_STEP) * scale
        few = self.kinked or self.quadratic
        return [(k * step, w / step) for k, w in (own if few else PAIRS)]

    def at(self, where: slice, e: float) -> np.ndarray:
        """Return constants at a distance along the line."""
        return np.asarray(self.model.F[where] + e * self.slopes[where])

    def places(self, e: Any, part: str, number: int) -> list[slice]:
        """Return where numbers and weights of an element are."""
        I, record = self.model.I, self.model.records[part][number]
        ends = (int(I[record + m.E_ENDS + a]) for a in range(len(e.attachments)))
        weights = (int(I[end + m.ATT_W]) for end in ends)
        at = int(I[record + m.E_NUMBERS])
        return [slice(at, at + len(e.numbers)), *(slice(w, w + 4) for w in weights)]

    def of_node(self, name: str) -> slice:
        """Return where the constants of a node are."""
        body = self.model.nodes[name]
        n = len(body.formulation.constants(body.mass, body.center_of_mass, body.second_moments))
        at = int(self.model.I[self.model.node_records[name] + m.NODE_PAR])
        return slice(at, at + n)

    def law(self, record: int, part: str, number: int, e: float) -> int:
        """Return the address of the law of an element at a distance, 0 without one."""
        model: Any = self.model
        if self.stencil.of.by_law:
            model = self.stencil.described_at(e)
            record = model.records[part][number]
        at = int(model.I[record + m.E_LAW])
        return m.joined(model.I, at) if at else 0


def program(model: FrozenModel, appendix: Appendix, stencil: Stencil) -> int:
    """Write the tables of a parameter; return where its program is."""
    I, along = model.I, _Touched(model, stencil)
    names = {record: name for name, record in model.node_records.items()}
    bodies = dict.fromkeys(names.values() if along.weight else sorted(along.nodes))
    ranges: dict[tuple[int, int, int], None] = {}
    for e, record, *_ in along.elements:
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
    points = along.points()
    table = [x for e, w in points for x in _point(appendix, along, bodies, e, w)]
    flat = [x for stretch in ranges for x in stretch]
    return appendix.table([
        len(points), appendix.table(table), len(ranges), appendix.table(flat),
        len(faces), appendix.table(faces),
    ])  # fmt: skip


def _point(
    appendix: Appendix, along: _Touched, bodies: Iterable[str], e: float, weight: float
) -> list[int]:
    """Return a point of a program, after its tables are written."""
    I, forces, rates, nodes = along.model.I, list[int](), list[int](), list[int]()
    for element, record, part, number in along.elements:
        head = _element(appendix, along, element, record, (part, number), e)
        if element.kind.forces is not None:
            forces += [appendix.address(element.kind.forces.address), head]
        if element.kind.rates is not None:
            rates += [appendix.address(element.kind.rates.address), head]
    for name in bodies:
        copy = list(I[along.model.node_records[name] :][: m.NODE_SIZE])
        if name in along.nodes:
            copy[m.NODE_PAR] = appendix.put(along.at(along.of_node(name), e))
        one = appendix.table([1, len(appendix.I) + 2, *copy])
        kernel = family(along.model.nodes[name].formulation).residual
        nodes += [appendix.address(kernel.address), one]
    gravity = appendix.put(along.at(slice(m.GX, m.GX + 3), e)) if along.weight else 0
    return [
        appendix.put([weight]), gravity,
        len(forces) // 2, appendix.table(forces), len(nodes) // 2, appendix.table(nodes),
        len(rates) // 2, appendix.table(rates),
    ]  # fmt: skip


def _element(
    appendix: Appendix, along: _Touched, e: Any, record: int, which: tuple[str, int], far: float
) -> int:
    """Write the record of an element at a distance along a parameter; return its head's place."""
    I, n = along.model.I, len(e.attachments)
    head = e.kind.head(1, 0, len(e.memory))
    copy = list(I[record : record + head[m.T_SIZE]])
    numbers, *weights = (along.at(x, far) for x in along.places(e, *which))
    copy[m.E_NUMBERS] = appendix.put([*numbers, *[0.0] * e.kind.room])
    copy[m.E_LAW] = appendix.address(law) if (law := along.law(record, *which, far)) else 0
    for a in range(n):
        end = list(I[copy[m.E_ENDS + a] :][: m.ATT_SIZE])
        end[m.ATT_W] = appendix.put(weights[a])
        copy[m.E_ENDS + a] = appendix.table(end)
    head[m.T_FIRST] = appendix.table(copy)
    return appendix.table(head)
