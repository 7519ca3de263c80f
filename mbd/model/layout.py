"""The layout of a model: unknowns in elimination order, the two buffers, the fronts."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from mbd.interactions.kind import Element
from mbd.machine import buffer as m
from mbd.machine.buffer import BETWEEN
from mbd.machine.pivots import MOST
from mbd.model.frozen import Numbering
from mbd.model.topology import Division, Front

STRETCH = 1 << 15  # floats of the matrix, a quarter of the second cache of common processors


class Owned(NamedTuple):
    """An element with the part it belongs to."""

    owner: str
    element: Element
    ends: list[int]  # body of each attachment, -1 for ground
    bodies: list[int]  # without ground, each once
    word: str  # after which it is counted: an element of a part with nodes is no node
    number: int

    @property
    def label(self) -> str:
        """Its name: of what it remembers."""
        return f"{self.owner}.{self.word}{self.number}"


def owned_element(owner: str, element: Element, index: dict[str, int], word: str, i: int) -> Owned:
    """Return an element with the bodies that it is attached to."""
    try:
        ends = [index[a.body] for a in element.attachments]
    except KeyError as error:
        raise ValueError(
            f"{owner}: an element is attached to {error.args[0]!r}, which is no body of the "
            "system; the part must have it among its bodies or nodes"
        ) from None
    kind = element.kind
    if kind.accept is not None and not len(element.memory):
        raise ValueError(
            f"{owner}: an element of the kind '{kind}' must have a memory, its values at the "
            "start; got none; angles remember the last accepted one"
        )
    return Owned(owner, element, ends, sorted({*ends} - {-1}), word, i)


def check_names(rows: list[Owned]) -> None:
    """Refuse rows of one part that have the same name."""
    of_part: dict[str, tuple[str, ...]] = {}
    for o in rows:
        of_part[o.owner] = of_part.get(o.owner, ()) + tuple(o.element.rows)
    apart = {names: len(set(names)) == len(names) for names in set(of_part.values())}
    for owner, names in of_part.items():
        if not apart[names]:
            twice = next(x for x, n in Counter(names).items() if n > 1)
            raise ValueError(
                f"{owner}: two of its rows are called '{owner}.{twice}'; each element must name "
                "its rows apart"
            )


def check_accelerations(bodies: list[Any], heavy: Iterable[Owned]) -> None:
    """Refuse an element with mass on a body that does not say how its faces accelerate."""
    for o in heavy:
        for body in (bodies[i] for i in o.bodies):
            if body.formulation.second_maps is None:
                raise ValueError(
                    f"{o.owner}: it has mass and is attached to {body.name!r}, which is carried by "
                    f"{body.formulation.name!r}; that formulation must have second_maps, the "
                    "derivatives of accelerations"
                )


@dataclass
class Buffers:
    """The two buffers while they grow; a place in F has its region in its first bits."""

    I: list[int] = field(default_factory=lambda: [0] * m.I_HEADER)
    sizes: list[int] = field(default_factory=lambda: [0] * m.N_REGIONS)
    chunks: list[tuple[int, Sequence[float]]] = field(default_factory=list)

    def room(self, size: int, region: int = m.WORK, what: str = "") -> int:
        """Reserve floats; `what` they are is of interest where bounds are checked."""
        del what
        where = self.sizes[region]
        self.sizes[region] += size
        return (region << m.REGION_BITS) + where

    def rooms(self, sizes: Sequence[int], region: int, what: Iterable[str]) -> list[int]:
        """Reserve floats of some sizes one after the other; return where each of them is."""
        del what
        return list(accumulate(sizes[:-1], initial=self.room(sum(sizes), region)))

    def put_all(
        self, values: Sequence[Sequence[float]], region: int, what: Iterable[str]
    ) -> list[int]:
        """Store numbers of some owners one after the other; return where each has its own."""
        places = self.rooms(list(map(len, values)), region, what)
        if flat := list(chain.from_iterable(values)):
            self.write(places[0], flat)
        return places

    def put(self, values: Any, region: int = m.CONSTANTS, what: str = "") -> int:
        """Store numbers."""
        where = self.room(len(values), region, what)
        if len(values):
            self.write(where, values)
        return where

    def write(self, where: int, values: Any) -> None:
        """Store numbers at a place that they have."""
        self.chunks.append((where, values.tolist() if isinstance(values, np.ndarray) else values))

    def table(self, values: Iterable[int]) -> int:
        """Append integers."""
        where = len(self.I)
        self.I.extend(values)
        return where

    def arrays(self, calls: dict[int, list[int]]) -> tuple[np.ndarray, np.ndarray, int]:
        """Return I, the numbers with which every F begins, and the size of F.

        `calls` are the records of the kernels of each stage; their addresses come when they run.
        """
        n_calls = sum(map(len, calls.values()))
        bases = np.cumsum([0, m.F_HEADER + 2 * n_calls, *self.sizes[1:]])
        bases, size = bases[:-1], int(bases[-1])
        self.I[m.METHOD] = size
        I = np.array(self.I, np.int64)
        regions = np.maximum(I >> m.REGION_BITS, 0)
        I = m.entries(I + bases[regions] - (regions << m.REGION_BITS))
        F = np.zeros(bases[m.WORK])
        for place, values in self.chunks:
            region = place >> m.REGION_BITS
            at = place + int(bases[region]) - (region << m.REGION_BITS)
            F[at : at + len(values)] = values
        S, at = m.integers(F), m.S_HEADER
        for stage, records in calls.items():
            S[stage], S[stage + 1] = at, len(records)
            S[at + 1 : at + 2 * len(records) : 2] = records
            at += 2 * len(records)
        return I, F, size


@dataclass
class Stages:
    """Which kernels run when, each with the record it reads."""

    by_side: dict[int, list[list[tuple[Any, int]]]] = field(
        default_factory=lambda: {stage: [[], [], []] for stage in m.STAGES}
    )
    tangents: dict[tuple[int, int], list[tuple[Any, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, stage: int, kernel: Any, record: int, side: int = BETWEEN) -> None:
        """Run a kernel in a stage; that of a side at the same time as that of the other one."""
        if kernel is not None:
            self.by_side[stage][side].append((kernel, record))

    def fill(self, stretch: tuple[int, int], kernel: Any, record: int) -> None:
        """Run a kernel when a stretch of the matrix is filled."""
        if kernel is not None:
            self.tangents[stretch].append((kernel, record))


class Layout:
    """Unknowns, fronts and where the blocks of the matrix are."""

    def __init__(
        self, buffers: Buffers, bodies: list[Any], rows: list[Owned], fronts: list[Front],
        division: Division | None = None,
    ) -> None:  # fmt: skip
        self.n_q, n_faces = 0, 1
        self.q: list[int] = []
        self.face: list[int] = []  # the first one of each body; before all is that of ground
        for b in bodies:
            self.q.append(self.n_q)
            self.face.append(n_faces)
            self.n_q += b.formulation.n_q
            n_faces += b.formulation.n_faces
        self.start: dict[int, int] = {}  # group -> first unknown
        self.size: dict[int, int] = {}
        self.front_of: dict[int, int] = {}
        self.unknown_kinds: list[int] = []
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
                    formulation = bodies[g].formulation
                    self.size[g] = formulation.n_v
                    self.unknown_kinds += [*formulation.velocity_kinds, *formulation.own_kinds]
                    u += formulation.n_v + formulation.n_own
                    self.n_v.append(formulation.n_v)
                else:
                    self.size[g] = rows[~g].element.kind.n_rows
                    self.unknown_kinds += rows[~g].element.row_kinds
                    u += self.size[g]
            self.n_p.append(u - self.u0[-1])
        self.n_u = u
        header = buffers.I
        header[m.N_U], header[m.N_Q], header[m.N_FACES] = u, self.n_q, n_faces
        header[m.N_FRONTS] = len(fronts)
        sizes = {m.N_U: u + 4, m.N_Q: self.n_q, m.N_FACES: 12 * n_faces}
        for place, vector in m.VECTORS.items():
            header[place] = buffers.room(sizes[vector.over], vector.region, vector.name)
        header[m.UNKNOWN_KIND] = buffers.table(self.unknown_kinds)
        self.side, self.borders = ([BETWEEN] * len(bodies), []) if division is None else division
        self._matrix(buffers, fronts)
        every = range(len(bodies))
        self.stretch_of = [
            (self.side[b], bisect_right(self._starts, self.front_of[b]) - 1) for b in every
        ]
        for stretch in self.stretches:
            stretch.append(self.side[fronts[stretch[0]].body])

    def _matrix(self, buffers: Buffers, fronts: list[Front]) -> None:
        """Reserve the fronts and write their tables.

        What a solution reads on its way up is one stretch, what it reads on its way down another.
        """
        self.column: list[dict[int, int]] = []  # first column in W of each update group
        self.below: list[dict[int, tuple[int, int, int]]] = []  # first pivot, rows in A_up, length
        self.A: list[tuple[int, int]] = []  # place and row length
        self.W: list[tuple[int, int]] = []
        first, factor, solution = buffers.room(0), 0, 0
        for f, front in enumerate(fronts):
            n_p, u0 = self.n_p[f], self.u0[f]
            row = m.padded if n_p > MOST else int  # those of few pivots are as short as they can be
            ld = row(n_p)
            self.A.append((buffers.room(n_p * ld, what="the pivots of a front"), ld))
            column, below, width = {}, {}, 0
            for g in sorted(front.updates, key=self.start.__getitem__):
                k = self.start[front.pivots[front.updates[g]]] - u0
                place = buffers.room(self.size[g] * (n_p - k), what="the rows below a front")
                column[g], below[g] = width, (k, place, n_p - k)
                width += row(self.size[g])
            below_all = sum(self.size[g] * (n_p - k) for g, (k, _, _) in below.items())
            factor += (n_p * n_p + below_all) * width + n_p**3
            solution += n_p * n_p + below_all + n_p * width
            self.column.append(column)
            self.below.append(below)
            self.W.append((0, width))
        for f, (_, ld) in enumerate(self.W):
            place = buffers.room(self.n_p[f] * ld, what="the pivot rows of a front")
            self.W[f] = place, ld
        buffers.I[m.PRICE] = factor // (3 * solution)
        buffers.room(4)  # vector operations may run over the end
        buffers.I[m.MATRIX], buffers.I[m.MATRIX_SIZE] = first, buffers.room(0) - first
        self._stretches(first, buffers.room(0) - first)
        self.pivots = sorted({n for n in self.n_p if n <= MOST})
        kernel = {n: i for i, n in enumerate(self.pivots, 1)}
        buffers.I[m.FRONTS] = at = len(buffers.I)
        groups = at + len(fronts) * m.FR_SIZE
        records: list[int] = []
        of_groups: list[int] = []
        for f, columns in enumerate(self.column):
            records += [
                self.u0[f], self.n_p[f], self.n_v[f], *self.A[f], *self.W[f],
                groups + len(of_groups), len(columns), kernel.get(self.n_p[f], 0),
            ]  # fmt: skip
            for g, c in columns.items():
                k, place, ld = self.below[f][g]
                later = at + self.front_of[g] * m.FR_SIZE
                of_groups += [self.start[g], self.size[g], k, c, place, ld, later]
        buffers.table(records + of_groups)

    def _stretches(self, first: int, size: int) -> None:
        """Divide the fronts into stretches that stay in the cache while they are filled."""
        starts, filled = [0], 0
        ends = [(a - first, w - first) for (a, _), (w, _) in zip(self.A, self.W, strict=True)]
        ends.append((ends[0][1], size))
        for f, (one, two) in enumerate(pairwise(ends)):
            filled += two[0] - one[0] + two[1] - one[1]
            if (filled > STRETCH or f + 1 in self.borders) and f + 1 < len(self.A):
                starts.append(f + 1)
                filled = 0
        self._starts = starts
        self.stretches = [
            [f, g - f, *(x for a, b in zip(ends[f], ends[g], strict=True) for x in (a, b - a))]
            for f, g in pairwise([*starts, len(self.A)])
        ]

    def write_sides(self, buffers: Buffers, kernels: dict[int, list[list[Any]]]) -> None:
        """Write the table of the sides, with the number of kernels of each in some stages."""
        if not self.borders:
            return
        front = self.borders[1]
        body = front  # where both sides meet in vectors that are in order of the bodies
        counts = [
            len(kernels[stage][k])
            for stage in (m.POSE, m.FORCES, m.RESIDUAL, m.TANGENT) for k in (0, 1)
        ]  # fmt: skip
        buffers.I[m.SIDES] = buffers.table(
            [*self.borders, self.u0[front], self.q[body], self.face[body], *counts]
        )
        buffers.I[m.GATE] = buffers.room(m.GATE_SIZE + m.LINE, what="what threads tell each other")

    def stretch(self, bodies: Iterable[int], alone: bool) -> tuple[int, int]:
        """Return the side of some bodies, and the stretch in which the last is eliminated.

        What is to be alone runs while no other thread does.
        """
        places = [self.stretch_of[b] for b in bodies]
        sides = {side for side, _ in places}
        side = BETWEEN if alone or len(sides) != 1 else places[0][0]
        return side, max((at for _, at in places), default=0)

    def blocks(
        self, rows: Iterable[int | None], columns: Iterable[int | None]
    ) -> tuple[list[int], list[int]]:
        """Return places and row lengths of the blocks (row group, column group).

        None is the ground, which has none.
        """
        front_of, start, u0, A, W = self.front_of, self.start, self.u0, self.A, self.W
        places, lengths = list[int](), list[int]()
        for row, column in zip(rows, columns, strict=True):
            if row is None or column is None:
                at, ld = 0, 0
            else:
                r, c = front_of[row], front_of[column]
                if r > c:
                    k, first, ld = self.below[c][row]
                    at = first + start[column] - u0[c] - k
                else:
                    first, ld = A[r] if r == c else W[r]
                    at = start[column] - u0[r] if r == c else self.column[r][column]
                    at += first + (start[row] - u0[r]) * ld
            places.append(at)
            lengths.append(ld)
        return places, lengths

    def numbering(self, bodies: list[Any], rows: list[Owned]) -> Numbering:
        """Return the map from the user's order (bodies, then rows) to unknowns."""
        forms, n = [body.formulation for body in bodies], len(bodies)
        unknown = [
            *map(self.start.__getitem__, range(n)),
            *(self.start[~e] for e in range(len(rows))),
        ]
        sizes = [*(x.n_own for x in forms), *(o.element.kind.n_rows for o in rows)]
        first = [u + f.n_v for u, f in zip(unknown, forms, strict=False)] + unknown[n:]
        both = [
            [i for u, k in zip(starts, lengths, strict=False) for i in range(u, u + k)]
            for starts, lengths in ((unknown, [x.n_v for x in forms]), (first, sizes))
        ]
        v, lam = (np.array(x, np.int64) for x in both)
        row_names = [(x.name, f.own_rows, "-") for x, f in zip(bodies, forms, strict=True)]
        row_names += [(o.owner, o.element.rows, o.element.kind.unit) for o in rows]
        ends = list(accumulate(sizes, initial=0))
        owners = {x.name: slice(*ends[i : i + 2]) for i, x in enumerate(bodies)}
        elements: dict[str, list[tuple[Element, int]]] = {}
        for i, o in enumerate(rows, n):
            elements.setdefault(o.owner, []).append((o.element, ends[i]))
            first = owners[o.owner].start if len(elements[o.owner]) > 1 else ends[i]
            owners[o.owner] = slice(first, ends[i + 1])
        unknown_kinds = np.array(self.unknown_kinds)
        return Numbering(
            v=v, lam=lam,
            v_names=[(x.name, f.velocities) for x, f in zip(bodies, forms, strict=True)],
            row_names=row_names, v_kinds=unknown_kinds[v], lam_kinds=unknown_kinds[lam],
            owners=owners, elements=elements,
            q=tuple(slice(a, a + f.n_q) for a, f in zip(self.q, forms, strict=True)),
        )  # fmt: skip
