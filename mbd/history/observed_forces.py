r"""Quantities of forces: reactions of rows, loads, sections of beams, tensions, sums.

The forces f of the rows of a part on a face, conjugate to its origin and directors, are a force and
a moment about a point P of a face,

.. math:: F = -f_0, \qquad M = -(y_0 - x_P)\times f_0 - \sum_k d_k\times f_k ;

what acts on the section of a beam at its second end is the same with the other sign, in section
axes, and at the first end that of the element on it. In equilibrium these are exact whatever the
length of the element; strains follow from the stiffness of the section, :math:`C^{-1}(N, M)`.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.algebra.vec import cross, dot, load3, minus, plus, store3, times, weighted
from mbd.history.observed import ORIGIN, Weights, measured, turns_of
from mbd.history.program import ProgramTables
from mbd.history.totals import TOTALS, masses, record_of_instant, totals_kernel
from mbd.interactions.kind import Element
from mbd.interactions.laws import evaluate_law
from mbd.interactions.measures import LAW_IN, LAW_OUT
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, kernel
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.parts.part import Part

_SECTION = 24  # numbers of an element of a beam: forces, moments, strains, curvatures at both ends


@jit
def _push(I: Any, F: Any, k: int) -> None:
    """Leave in FY the forces of some elements alone; rows act by their multipliers.

    I[k:] has the number of faces, of tables of elements; the faces; address and record of each.
    """
    S = ints(F)
    elastic, S[m.ELASTIC] = S[m.ELASTIC], 0
    for y in range(k + 2, k + 2 + I[k]):
        for i in range(12):
            F[I[m.FY] + I[y] + i] = 0.0
    first = k + 2 + I[k]
    for c in range(first, first + 3 * I[k + 1], 3):
        call(address_at(I, c), I, F, I[c + 2])
    S[m.ELASTIC] = elastic


@jit
def _moment(I: Any, F: Any, on: int, at: int, w: int) -> Any:
    """Return the moment of what pushes a face, about the point of the face `at` with weights w."""
    y, f = I[m.Y] + on, I[m.FY] + on
    arm = load3(F, y)
    for i in range(4):  # one by one: what is on the same face leaves no round-off of its origin
        arm = minus(arm, times(F[w + i], load3(F, I[m.Y] + at + 3 * i)))
    total = cross(arm, load3(F, f))
    for i in range(3, 12, 3):
        total = plus(total, cross(load3(F, y + i), load3(F, f + i)))
    return total


@kernel
def reaction_kernel(I: Any, F: Any, k: int) -> None:
    """Write force and moment on a face, about a point of another one.

    Records: out, the face, that of the point and its weights, the record of ``_push``.
    """
    for r in range(k + 1, k + 1 + 5 * I[k], 5):
        _push(I, F, I[r + 4])
        store3(F, I[r], times(-1.0, load3(F, I[m.FY] + I[r + 1])))
        store3(F, I[r] + 3, times(-1.0, _moment(I, F, I[r + 1], I[r + 2], I[r + 3])))


@kernel
def section_kernel(I: Any, F: Any, k: int) -> None:
    """Write forces, moments, strains and curvatures of both ends of elements of beams.

    Records: out, the record of ``_push``, then of each end its face, weights of origin and axes,
    flexibility (6, 6).
    """
    for r in range(k + 1, k + 1 + 8 * I[k], 8):
        _push(I, F, I[r + 1])
        for a in range(2):
            on, w, C = I[r + 2 + 3 * a], I[r + 3 + 3 * a], I[r + 4 + 3 * a]
            y, sign, out = I[m.Y] + on, 2.0 * a - 1.0, I[r] + 3 * a
            f, M = load3(F, I[m.FY] + on), _moment(I, F, on, on, w)
            for i in range(3):
                d = weighted(F, y, w + 4 + 4 * i)
                F[out + i], F[out + 6 + i] = sign * dot(d, f), sign * dot(d, M)
            for i in range(6):
                total = 0.0
                for j in range(6):
                    total += F[C + 6 * i + j] * F[out + 6 * (j // 3) + j % 3]
                F[out + 12 + 6 * (i // 3) + i % 3] = total


@kernel
def tension_kernel(I: Any, F: Any, k: int) -> None:
    """Write the tension of bars: records have out, the record of ``_push``, both faces."""
    for r in range(k + 1, k + 1 + 4 * I[k], 4):
        _push(I, F, I[r + 1])
        along = minus(load3(F, I[m.Y] + I[r + 3]), load3(F, I[m.Y] + I[r + 2]))
        length = math.sqrt(dot(along, along))
        pull = dot(along, load3(F, I[m.FY] + I[r + 3]))
        F[I[r]] = pull / length if length > 0.0 else 0.0


@kernel
def energy_kernel(I: Any, F: Any, k: int) -> None:
    """Write the elastic energy of elements: records have out, address of a kernel, its record."""
    for r in range(k + 1, k + 1 + 4 * I[k], 4):
        F[m.POTENTIAL] = 0.0
        call(address_at(I, r + 1), I, F, I[r + 3])
        F[I[r]] = F[m.POTENTIAL]


@kernel
def product_kernel(I: Any, F: Any, k: int) -> None:
    """Write products: records have out and the places of both factors."""
    for r in range(k + 1, k + 1 + 3 * I[k], 3):
        F[I[r]] = F[I[r + 1]] * F[I[r + 2]]


@kernel
def sum_kernel(I: Any, F: Any, k: int) -> None:
    """Write sums: records have out and the places of both terms."""
    for r in range(k + 1, k + 1 + 3 * I[k], 3):
        F[I[r]] = F[I[r + 1]] + F[I[r + 2]]


@kernel
def law_kernel(I: Any, F: Any, k: int) -> None:
    """Write what laws f(u, rate, t) give: out, places of u, of its rate and, in I, of the law."""
    for r in range(k + 1, k + 1 + 4 * I[k], 4):
        s = I[m.SCRATCH] + LAW_IN
        F[s], F[s + 1], F[s + 2] = F[I[r + 1]], F[I[r + 2]], F[m.T]
        evaluate_law(I, F, I[r + 3])
        F[I[r]] = F[I[m.SCRATCH] + LAW_OUT]


def elements(tables: ProgramTables, some: Sequence[tuple[Element, int]], name: str) -> list[int]:
    """Return addresses and records of the kernels `name` of elements, whose rows are given."""
    by_kind: dict[Any, list[tuple[Element, int]]] = {}
    for element, row in some:
        by_kind.setdefault(element.kind, []).append((element, row))
    calls = []
    for kind, mine in by_kind.items():
        records: list[int] = []
        for x, row in mine:
            ends = [
                tables.table([tables.face(a.place), tables.put(a.weights), *[0] * (m.ATT_SIZE - 2)])
                for a in x.attachments
            ]
            u = int(tables.model.numbering.lam[row]) if kind.n_rows else 0
            for i in range(kind.n_rows):
                tables.multiplier(row + i)
            numbers = tables.own([*x.numbers, *[0.0] * kind.room])
            record = [u, numbers, tables.own(x.memory), 0, *ends]
            head = kind.head(1, 0)
            records += record + [0] * (head[m.T_SIZE] - len(record))
        tables.scratch = max(tables.scratch, kind.scratch)
        at = tables.table(kind.head(len(mine), tables.table(records)))
        calls += [*m.halves(getattr(kind, name).address), at]
    return calls


def _pushes(tables: ProgramTables, some: Sequence[tuple[Element, int]]) -> int:
    """Return the record of ``_push`` of some elements."""
    faces = {tables.face(a.place): None for x, _ in some for a in x.attachments}
    calls = elements(tables, some, "forces")
    return tables.table([len(faces), len(calls) // 3, *faces, *calls])


def reaction(
    tables: ProgramTables, part: str, on: str, at: str, weights: Weights = ORIGIN
) -> range:
    """Return the places of force (3) and moment (3) of the rows of a part on a face."""
    key = ("reaction", part, on, at, *weights)
    if key not in tables.places:
        out, pushes = tables.room(6), _pushes(tables, tables.model.numbering.elements[part])
        record = tables.face(on), tables.face(at), tables.put(weights), pushes
        tables.call(reaction_kernel, out, *record)
        tables.places[key] = range(out, out + 6)
    return tables.places[key]


def of_joint(first: int) -> Callable[[ProgramTables, str], range]:
    """Return the function that observes force (0) or moment (3) of a joint on its second body."""

    def add(tables: ProgramTables, joint: str) -> range:
        B = tables.model.system.joints[joint].B
        return reaction(tables, joint, B.place, B.place, B.point())[first : first + 3]

    return add


def section(tables: ProgramTables, element: Element, flexibility: np.ndarray) -> range:
    """Return the places of forces (2, 3), moments, strains and curvatures of an element."""
    key = ("section", id(element))
    if key not in tables.places:
        out, both = tables.room(_SECTION), []
        for a in range(2):
            some = element.attachments[4 * a : 4 * a + 4]
            weights = [w for x in some for w in x.weights]
            both += [
                tables.face(some[0].place), tables.put(weights), tables.put(flexibility[a].ravel())
            ]  # fmt: skip
        tables.call(section_kernel, out, _pushes(tables, [(element, 0)]), *both)
        tables.places[key] = range(out, out + _SECTION)
    return tables.places[key]


def sections(order: int) -> Callable[[ProgramTables, str], Sequence[int]]:
    """Return the function that observes the sections at both ends of the elements of a beam.

    Their forces (order 0), moments, strains or curvatures.
    """
    here = slice(6 * order, 6 * order + 6)

    def add(tables: ProgramTables, beam: str) -> Sequence[int]:
        line = tables.model.system.structures[beam].line
        assert line is not None
        both = zip(line.elements, np.linalg.inv(line.stiffness), strict=True)
        return [i for x, C in both for i in section(tables, x, C)[here]]

    return add


def tensions(tables: ProgramTables, cable: str) -> Sequence[int]:
    """Return the places of the tensions of the bars of a cable, between two origins each."""
    bars = tables.model.system.structures[cable].bars
    out = tables.room(len(bars))
    for i, bar in enumerate(bars, out):
        ends = (tables.face(x.place) for x in bar.attachments)
        tables.call(tension_kernel, i, _pushes(tables, [(bar, 0)]), *ends)
    return range(out, out + len(bars))


def energies(tables: ProgramTables, name: str) -> Sequence[int]:
    """Return the places of the elastic energies of the elements of a beam or cable."""
    part = tables.model.system.structures[name]
    some = part.bars if part.line is None else part.line.elements
    out = tables.room(len(some))
    for i, element in enumerate(some, out):
        tables.call(energy_kernel, i, *elements(tables, [(element, 0)], "energy"))
    return range(out, out + len(some))


def load_by_name(tables: ProgramTables, name: str) -> Sequence[int]:
    """Return the place of a load by its name, ``motor.load``; turns are those of the run."""
    owner, _, what = name.rpartition(".")
    part = tables.model.system.parts[owner]
    return [load(tables, part, what, turns_of(tables.model, part.drives))]


def load(tables: ProgramTables, part: Part, what: str, memory: int = 0) -> int:
    """Return where a load of a part will be: of a row, or of what it is driven by.

    `memory` is where turns of the coordinate that it drives are.
    """
    out, factor = tables.room(1), tables.put([part.reads[what]])
    if part.name in tables.model.numbering.owners:
        tension = tables.multiplier(tables.model.numbering.owners[part.name].start)
    elif part.law is not None:
        assert part.drives is not None
        u = part.drives
        at = measured(tables, u.measure, u.attachments, u.numbers, range(2), memory)
        tension, tables.laws = tables.room(1), True
        (record,) = tables.model.records[part.name]
        law = int(tables.model.I[record + m.E_LAW])
        tables.call(law_kernel, tension, *at, law, level=1)
    else:  # a number, which may be set while a run goes on
        (record,) = tables.model.records[part.name]
        tension = int(tables.model.I[record + m.E_NUMBERS])
        tables.stretches.append((tension, 1))
    tables.call(product_kernel, out, tension, factor, level=2)
    return out


def totals(first: int, size: int = 1) -> Callable[[ProgramTables, str], range]:
    """Return the function that observes some of the numbers of ``write_instant``."""

    def add(tables: ProgramTables, _: str) -> range:
        key, model = ("totals",), tables.model
        if key not in tables.places:
            out = tables.room(3 + TOTALS)
            tables.places[key] = range(out, out + 3 + TOTALS)
            tables.totals = True
            for name in model.nodes:
                tables.face(name)
            tables.rows.update(dict.fromkeys(range(model.n_lam)))
            W = tables.own(masses(model).tolist())
            tables.places["masses",] = range(W, W + 1)
            tables.scratch = max(tables.scratch, _scratch(model))
            spare = [] if tables.counts else _numbers_of_laws(tables)
            kept = tables.room(len(spare))
            pairs = [i for j, at in enumerate(spare) for i in (at, kept + j)]
            tables.of_laws = spare, kept
            start, k = [1, out, len(spare), *pairs], tables.here
            tables.table(start + record_of_instant(model, k + len(start), W))
            tables.first_calls.append((totals_kernel, k))
        return tables.places[key][first : first + size]

    return add


def total_energy(tables: ProgramTables, _: str) -> range:
    """Return the place of kinetic and potential energy together."""
    out = tables.room(1)
    tables.call(sum_kernel, out, *totals(3, 2)(tables, ""), level=1)
    return range(out, out + 1)


@per_model
def _scratch(model: Model) -> int:
    """Return the floats of scratch space that the kinds of all elements need."""
    return max((x.kind.scratch for own in model.elements.values() for x in own), default=0)


def _numbers_of_laws(tables: ProgramTables) -> list[int]:
    """Return the places of constants that kernels write; a run hands over all others."""
    model, places = tables.model, set[int]()
    for name, elements in model.elements.items():
        for x, record in zip(elements, model.records[name], strict=True):
            start = int(model.I[record + m.E_NUMBERS]) + len(x.numbers)
            places |= {*range(start, start + x.kind.room)}
    spare = sorted(places)
    end = int(model.I[m.Q] if not len(model.memory) else min(model.I[m.Q], model.memory.min()))
    for a, b in pairwise([model.first - 1, *spare, end]):
        if b > a + 1:
            tables.stretches.append((a + 1, b - a - 1))
    return spare
