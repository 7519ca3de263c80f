"""Tables and numbers that a tree adds to those of its model, and what is made of its elements."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from mbd.base.tolerances import RANK, RANK_LACK
from mbd.interactions.kind import Element
from mbd.joint_tree import layout as t
from mbd.joint_tree.structure import Placement, Tree
from mbd.machine import buffer as m
from mbd.model.appendix import Appendix
from mbd.model.frozen import FrozenModel
from mbd.parts.part import Body

_LENGTHS = {"m": 1, "m^2": 2, "m/s": 1}  # powers of a length in the units of rows


class TreeLoop(NamedTuple):
    """Elements whose rows share columns, and which of these depend on the others."""

    elements: list[tuple[str, int, Element, int]]  # part, number in it, element, first row
    columns: list[int]
    dependent: list[int]

    @property
    def name(self) -> str:
        """Name of the first part."""
        return self.elements[0][0]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(e.kind.n_rows for _, _, e, _ in self.elements)


class TreeTables(Appendix):
    """Tables that a tree adds to its model, and its header while that is written."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__(model)
        self.header = [0] * t.T_SIZE


def extra_elements(model: FrozenModel, tree: Tree) -> list[tuple[str, int, Element, int]]:
    """Return the elements with rows that the tree does not meet: part, number, element, row."""
    extra = []
    for name, some in model.numbering.elements.items():
        numbers = [i for i, e in enumerate(model.elements[name]) if e.kind.n_rows]
        pairs = zip(numbers, some, strict=True) if name not in tree.joints else ()
        extra += [(name, i, e, row) for i, (e, row) in pairs if not e.kind.own_block]
    return extra


def found_loops(
    extra: Sequence[tuple[str, int, Element, int]], last: dict[str, int], before: Sequence[int],
) -> list[TreeLoop]:  # fmt: skip
    """Return loops: elements, together where they share a column of the tree.

    Columns of an element are those on the ways to its bodies, but for those common to all.
    """
    graph = nx.Graph()
    for number, (_, _, element, _) in enumerate(extra):
        ways: list[set[Any]] = []
        for body in dict.fromkeys(x.body for x in element.attachments):
            way, j = list[int](), last[body]
            while j >= 0:
                way.append(j)
                j = before[j]
            ways.append(set(way))
        all_of = set.union(*ways) - (set.intersection(*ways) if len(ways) > 1 else set())
        graph.add_node(~number)
        graph.add_edges_from((~number, j) for j in all_of)
    loops = []
    for part in nx.connected_components(graph):
        columns = sorted(j for j in part if j >= 0)
        elements = [extra[~j] for j in sorted((j for j in part if j < 0), reverse=True)]
        loops.append(TreeLoop(elements, columns, []))
    return loops


def dependent_columns(G: np.ndarray, order: np.ndarray, gap: float) -> list[int]:
    """Return columns of rows, in kinematic units, that follow from the others.

    Those of a lower order are tried first, each time the largest pivot. Rows are known as well as
    they are met, `gap`.
    """
    G, chosen, most = G.copy(), list[int](), 0.0
    for which in np.unique(order):
        while True:
            left = np.abs(G) * (order == which)
            r, c = np.unravel_index(int(left.argmax()), G.shape)
            size = left[r, c]
            most = max(most, float(size), float(np.abs(G).max()) if not chosen else 0.0)
            if not size > max(RANK * most, RANK_LACK * gap):
                break
            chosen.append(int(c))
            row = G[r] / G[r, c]
            G = np.delete(G, r, axis=0)
            G -= np.outer(G[:, c], row)
            G[:, c] = 0.0
            if not len(G):
                return chosen
    return chosen


def inertia_in(shape: Placement, body: Body) -> list[float]:
    """Return m, m c and I about the origin of a link, in its axes, of a body at a pose in it."""
    R, r = shape.axes, shape.point
    mass, c = body.mass, r + R @ body.center_of_mass
    J = R @ body.inertia @ R.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return [mass, *mass * c, J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def add_links(
    tables: TreeTables, model: FrozenModel, tree: Tree
) -> tuple[list[int], dict[str, int]]:
    """Write links and columns; return the column before each (-1: none), the last of each body."""
    h = tables.header
    ground = h[t.T_GROUND] = tables.own([*-model.origin, *np.eye(3).ravel()])
    tables.room(t.N_SIZE - t.N_V)  # it is at rest
    numbers = [tables.room(t.N_SIZE) for _ in tree.links]
    columns = sum(len(x.labels) for x in tree.links)
    h[t.T_LINKS], h[t.T_N] = len(tree.links), columns
    h[t.T_MOTION] = tables.room(18 * len(tree.links))
    h[t.T_Q] = tables.room(sum(len(x.positions) for x in tree.links))
    places = [tables.room(t.C_FLOATS) for _ in range(columns)]
    records: list[int] = []
    before: list[int] = []
    last_of_link: list[int] = []
    last_of_body = {"ground": -1}
    owner: list[int] = []
    q = h[t.T_Q]
    for i, link in enumerate(tree.links):
        last = -1 if link.before < 0 else last_of_link[link.before]
        first = len(before)
        for _ in link.labels:
            before.append(last)
            owner.append(i)
            last = len(before) - 1
        last_of_link.append(last)
        body = None if link.body is None else model.nodes[link.body]
        inertia = [0.0] * 10 if body is None else inertia_in(link.shape, body)
        constants = tables.own(
            [*link.joint.point, *link.joint.axes.ravel(), link.pitch, link.start, *inertia,
             *link.shape.point, *link.shape.axes.ravel()],
        )  # fmt: skip
        face = axes = 0
        if body is not None:
            last_of_body[body.name] = last
            face, axes = _face(model, body.name) + 1, int(body.formulation.axes)
        parent = ground if link.before < 0 else numbers[link.before]
        records += (link.motion, len(link.labels), first, q, parent, numbers[i], constants,
                    face, axes, last + 1)  # fmt: skip
        q += len(link.positions)
    h[t.T_LINK] = tables.table(records)
    h[t.T_COLUMN] = tables.table(
        x for j in range(columns) for x in (places[j], before[j] + 1, owner[j])
    )
    return before, last_of_body


def _face(model: FrozenModel, body: str) -> int:
    """Return the place of the face of a body within vectors over faces."""
    return int(model.I[model.node_records[body] + m.NODE_Y])


def add_vectors(
    tables: TreeTables, independent: Sequence[int], before: Sequence[int], bodies: int
) -> None:
    """Give room to vectors and matrices; where columns depend, independent ones have their own."""
    h, n, f = tables.header, tables.header[t.T_N], len(independent)
    for place, size in ((t.T_V, n), (t.T_A, n), (t.T_TAU, n), (t.T_M, n * n)):
        h[place] = tables.room(size)
    of = ((t.T_IV, t.T_V, f), (t.T_IA, t.T_A, f), (t.T_ITAU, t.T_TAU, f), (t.T_IM, t.T_M, f * f))
    every = chain.from_iterable(tables.model.elements.values())
    whole = f < n or any(e.kind.accelerated for e in every)  # masses couple branches
    ends = list(range(f)) if whole else [j + 1 for j in before]
    for place, same, size in of:
        h[place] = h[same] if f == n else tables.room(size)
    h[t.T_F], h[t.T_CHAIN], h[t.T_FACTOR] = f, tables.table(ends), tables.room(f * f)
    h[t.T_DQ], h[t.T_DV] = tables.room(n * n), tables.room(n * n)
    h[t.T_ARGUMENT], h[t.T_PARAMETER] = tables.room(4), tables.room(20)
    h[t.T_RESULT] = tables.room(n * max(10 * bodies, 6) + 4)


def add_forces(tables: TreeTables, model: FrozenModel, turned: Sequence[tuple[int, int]]) -> int:
    """Write which kernels of forces run, without those of rows; return how many there are."""
    elements = chain.from_iterable(model.elements.values())
    of_forces = {e.kind.forces for e in elements if not e.kind.n_rows or e.kind.own_block}
    stage = [x for x in model.kernels[m.FORCES] if x[0] in of_forces]
    h = tables.header
    h[t.T_N_STAGE] = len(stage)
    h[t.T_STAGE] = tables.table(x for k, at in stage for x in (*m.halves(k.address), at))
    h[t.T_N_TURNED] = len(turned)
    h[t.T_TURNED] = tables.table(x for pair in turned for x in pair)
    return len(stage)


def add_loops(
    tables: TreeTables, model: FrozenModel, loops: Sequence[TreeLoop], last: dict[str, int],
    shifts: Sequence[bool],
) -> None:  # fmt: skip
    """Write the tables of loops."""
    h, n = tables.header, tables.header[t.T_N]
    length = float(model.F[m.LENGTH])
    h[t.T_UNITS] = tables.put([length if x else 1.0 for x in shifts])
    h[t.T_STATUS], h[t.T_GAP] = tables.room(1), tables.room(1)
    local, records, of_loops = [0] * n, list[int](), list[int]()
    for number, loop in enumerate(loops):
        others = [j for j in loop.columns if j not in loop.dependent]
        for i, j in enumerate((*loop.dependent, *others)):
            local[j] = i
        width, row = len(loop.columns) + 2, 0
        for part, i, element, first in loop.elements:
            at = model.records[part][i]
            head = tables.table(element.kind.head(1, at))
            faces = [x for x in dict.fromkeys((x.body, x.face) for x in element.attachments)
                     if x[0] != "ground"]  # fmt: skip
            ends = [y for body, _ in faces for y in (_face(model, body), last[body] + 1)]
            scale = length ** -_LENGTHS.get(element.kind.unit, 0)
            of_velocities = element.row_kinds[0] == m.VELOCITY_ROW
            records += (
                *m.halves(element.kind.forces.address), head,
                *m.halves(element.kind.rates.address), head,
                int(model.numbering.lam[first]), element.kind.n_rows, row, number,
                tables.put([scale]), tables.table(ends), len(faces), not of_velocities,
            )  # fmt: skip
            row += element.kind.n_rows
        of_loops += (
            loop.rows, tables.table(loop.dependent), len(loop.dependent), tables.table(others),
            len(others), tables.room(loop.rows * width), width,
            tables.room(2 * len(loop.columns) + 2),
        )  # fmt: skip
    independent = [j for j in range(n) if not any(j in x.dependent for x in loops)]
    number_of = {j: i for i, j in enumerate(independent)}
    h[t.T_INDEPENDENT] = tables.table(independent)
    h[t.T_IV_OF] = tables.table(number_of.get(j, 0) for j in range(n))
    h[t.T_LOCAL], h[t.T_ROWS] = tables.table(local), tables.table(records)
    h[t.T_N_ROWS] = sum(len(x.elements) for x in loops)
    h[t.T_LOOPS], h[t.T_N_LOOPS] = tables.table(of_loops), len(loops)
    h[t.T_Z] = tables.room(n * len(independent))
    h[t.T_DRIFT_V], h[t.T_DRIFT_A] = tables.room(n), tables.room(n)
