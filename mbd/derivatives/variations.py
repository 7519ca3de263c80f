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

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbd.algebra.differences import EIGHTH, SECOND
from mbd.derivatives.differences import PAIRS
from mbd.derivatives.parameters import Stencil
from mbd.formulations.families import family
from mbd.interactions.kind import Element
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit
from mbd.model.appendix import Appendix
from mbd.model.evaluation import clear_off
from mbd.model.frozen import FrozenModel
from mbd.model.values import declared

# a program: number of its points, and where they are; stretches of unknowns, faces
N_POINTS, POINTS, N_RANGES, RANGES, N_FACES, FACES, PROGRAM_SIZE = range(7)
# a point: place of its weight and of gravity; pairs (address, table) of three kinds
WEIGHT, GRAVITY, N_FORCES, FORCES, N_NODES, NODES, N_RATES, RATES, POINT_SIZE = range(9)


def flows(appendix: Appendix) -> list[tuple[Any, int]]:
    """Return kernels that write T^-1 v of the nodes of each formulation, and their tables."""
    model = appendix.model
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
def variation_along(I: Any, F: Any, p: int, x: int, y: int, order: int) -> float:
    """Return the product of y with the derivative by a parameter; x is work, zero, and stays so."""
    add_variation(I, F, p, x, order)
    clear_off(I, F, x)
    s = 0.0
    for r in range(I[p + N_RANGES]):
        r3 = I[p + RANGES] + 3 * r
        for i in range(I[r3], I[r3] + I[r3 + 1]):
            s += F[x + i] * F[y + i]
            F[x + i] = 0.0
    return s


class Touched(NamedTuple):
    """An element that a variation changes, where it is declared, and its record."""

    element: Element
    part: str
    number: int
    record: int


class LinePoint(NamedTuple):
    """A point of a variation: its weight, the constants there, and the laws of elements.

    ``F`` returns constants of the model in which a parameter has places; ``law`` the address of the
    law of an element, 0 for none.
    """

    weight: float
    F: Callable[[slice], np.ndarray]
    law: Callable[[Touched], int]


@dataclass(frozen=True, eq=False)
class Variation:
    """Elements and nodes that a parameter or an input touches, with their constants at some points.

    Attributes
    ----------
    elements : list of Touched
    nodes : set of str
    points : list of LinePoint
    gravity : bool
        Whether gravity changes, and with it the forces on all that has mass.
    """

    elements: list[Touched]
    points: list[LinePoint]
    nodes: Collection[str] = ()
    gravity: bool = False

    def program(self, appendix: Appendix) -> int:
        """Write the tables; return where the program is."""
        model = appendix.model
        I, names = model.I, {record: name for name, record in model.node_records.items()}
        bodies = dict.fromkeys(names.values() if self.gravity else sorted(self.nodes))
        ranges: dict[tuple[int, int, int], None] = {}
        for e, _, _, record in self.elements:
            for a in range(len(e.attachments)):
                end = I[record + m.E_ENDS + a]
                if I[end + m.ATT_N]:
                    bodies[names[int(I[end + m.ATT_NODE])]] = None
            if e.kind.n_rows:
                ranges[int(I[record + m.E_ROW]), e.kind.n_rows, 1] = None
        faces = []
        for name in bodies:
            record, n = model.node_records[name], model.nodes[name].formulation
            ranges[int(I[record + m.NODE_U]), n.n_v, 0] = None
            faces += [int(I[record + m.NODE_Y]) + 12 * j for j in range(n.n_faces)]
        table = [x for point in self.points for x in self._point(appendix, bodies, point)]
        flat = [x for stretch in ranges for x in stretch]
        return appendix.table([
            len(self.points), appendix.table(table), len(ranges), appendix.table(flat),
            len(faces), appendix.table(faces),
        ])  # fmt: skip

    def _point(self, appendix: Appendix, bodies: Iterable[str], at: LinePoint) -> list[int]:
        """Return the record of a point, after its tables are written."""
        model, forces, rates, nodes = appendix.model, list[int](), list[int](), list[int]()
        for one in self.elements:
            head = self._element(appendix, one, at)
            forces += _pair(appendix, one.element.kind.forces, head)
            rates += _pair(appendix, one.element.kind.rates, head)
        for name in bodies:
            copy = list(model.I[model.node_records[name] :][: m.NODE_SIZE])
            if name in self.nodes:
                copy[m.NODE_PAR] = appendix.put(at.F(constants_of_node(model, name)))
            kernel = family(model.nodes[name].formulation).residual
            one_node = appendix.table([1, appendix.here + 2, *copy])
            nodes += [appendix.address(kernel), one_node]
        gravity = appendix.put(at.F(slice(m.GX, m.GX + 3))) if self.gravity else 0
        lists = (
            x for some in (forces, nodes, rates) for x in (len(some) // 2, appendix.table(some))
        )
        return [appendix.put([at.weight]), gravity, *lists]

    def _element(self, appendix: Appendix, one: Touched, at: LinePoint) -> int:
        """Write the record of an element at a point; return the place of its head."""
        e, I, law = one.element, appendix.model.I, at.law(one)
        head = e.kind.head(1, 0, len(e.memory))
        copy = list(I[one.record : one.record + head[m.T_SIZE]])
        numbers, of_law, *weights = (at.F(x) for x in constants_of(appendix.model, one))
        copy[m.E_NUMBERS] = appendix.own([*numbers, *[0.0] * e.kind.room])
        if law:
            number, parameters = I[copy[m.E_LAW] + m.LAW_NUMBER], appendix.put(of_law)
            copy[m.E_LAW] = appendix.table([*m.halves(law), number, parameters])
        for a, w in enumerate(weights):
            end = list(I[copy[m.E_ENDS + a] :][: m.ATT_SIZE])
            end[m.ATT_W] = appendix.put(w)
            copy[m.E_ENDS + a] = appendix.table(end)
        head[m.T_FIRST] = appendix.table(copy)
        return appendix.table(head)


def _pair(appendix: Appendix, kernel: Any, table: int) -> list[int]:
    return [] if kernel is None else [appendix.address(kernel), table]


def constants_of(model: FrozenModel, one: Touched) -> list[slice]:
    """Return where the numbers of an element, those of its law and weights of its ends are."""
    I, record, e = model.I, model.records[one.part][one.number], one.element
    weights = (int(I[I[record + m.E_ENDS + a] + m.ATT_W]) for a in range(len(e.attachments)))
    at = int(I[record + m.E_NUMBERS])
    law = int(I[I[record + m.E_LAW] + m.LAW_PARAMETERS]) if e.law else 0
    of_law = slice(law, law + len(e.law.parameters) if e.law else 0)
    return [slice(at, at + len(e.numbers)), of_law, *(slice(w, w + 4) for w in weights)]


def constants_of_node(model: FrozenModel, name: str) -> slice:
    """Return where the constants of a node are."""
    body = model.nodes[name]
    n = len(body.formulation.constants(body.mass, body.center_of_mass, body.second_moments))
    at = int(model.I[model.node_records[name] + m.NODE_PAR])
    return slice(at, at + n)


def law_of(model: FrozenModel, one: Touched) -> int:
    """Return the address of the law of an element in a model, 0 without one."""
    at = int(model.I[model.records[one.part][one.number] + m.E_LAW])
    return m.joined(model.I, at) if at else 0


def by_parameter(model: FrozenModel, stencil: Stencil) -> Variation:
    """Return the variation by a parameter, along the slopes of its constants.

    Equations may have a kink where an element is not smooth, or has a law of forces. Rates of
    motions that are laws are differences in time, the round-off of which would drown what two near
    points differ by. They are at most quadratic along the line in numbers and attachments of rows
    that are so in the face, in the constants of nodes, and in gravity.
    """
    of, scale = stencil.of, stencil.scale
    slopes = np.zeros(len(model.F))
    slopes[of.places] = of.slopes
    gravity = bool(slopes[m.GX : m.GX + 3].any())

    def law(one: Touched, e: float) -> int:
        return law_of(stencil.described_at(e) if of.by_law else model, one)

    elements, nodes = list[Touched](), set[str]()
    for name in model.system.parts if gravity else of.parts:
        pairs = zip(model.records[name], declared(model, name).elements, strict=True)
        for i, (record, e) in enumerate(pairs):
            one = Touched(e, name, i, record)
            if (
                (gravity and e.kind.accelerated)
                or any(slopes[x].any() for x in constants_of(model, one))
                or (of.by_law and e.law and law(one, SECOND * scale) != e.law.address)
            ):
                elements.append(one)
        own = (x.name for x in model.system.parts[name].nodes())
        nodes |= {x for x in own if slopes[constants_of_node(model, x)].any()}
    some = [x.element for x in elements]
    kinked = any(not e.kind.smooth or (e.law and not e.kind.n_rows) for e in some)
    quadratic = not any(
        gravity or e.law or e.kind.own_block or not (e.kind.n_rows and e.kind.secant) for e in some
    )
    step = (SECOND if kinked else EIGHTH) * scale
    points = [
        LinePoint(w / step, lambda at, e=k * step: model.F[at] + e * slopes[at],  # type: ignore[misc]
              partial(law, e=k * step))
        for k, w in (((1, 0.5), (-1, -0.5)) if kinked or quadratic else PAIRS)
    ]  # fmt: skip
    return Variation(elements, points, nodes, gravity)
