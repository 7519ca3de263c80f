r"""Loads by laws of motion: a force and a moment that follow from place and rates of a section.

A section has the point and the axes

.. math:: x = \sum_k p_k, \qquad R = \mathrm{polar}\Big(\sum_k D_k\Big), \qquad
          v = \sum_k \dot p_k, \qquad
          \omega = \sum_k \frac{w_k}{2}\sum_i \frac{d_i\times\dot d_i}{d_i\cdot d_i}

of the nodes k, each with one point :math:`p_k` and three directors :math:`D_k = (d_1, d_2, d_3)`;
shares :math:`w_k` have the sum one. Of one node R and :math:`\omega` are those of the body. The law
gives f and m per length, or as they are (length W = 1), and virtual power makes of them

.. math:: f_{p_k} = W f, \qquad f_{d_i} = \frac{W w_k}{2}\,\frac{m\times d_i}{d_i\cdot d_i} :

their power is :math:`W(f\cdot v + m\cdot\omega)` to the last bit. With
:math:`J = \partial(f, m)/\partial(x, \theta, v, \omega)`, a row :math:`(j_x, j_\theta, j_v,
j_\omega)` of it, and :math:`S = \sum_i b_i r_i^T` of the sums of directors b and columns r of R,

.. math:: \delta\theta = M\sum_i r_i\times\delta b_i, \qquad M = (\mathrm{tr}S\,I - S)^{-1},

so that the derivative by :math:`\dot d_i` is :math:`\kappa_i\, j_\omega\times d_i` and that by
:math:`d_i` is :math:`Mj_\theta\times r_i + \kappa_i\,\dot d_i\times j_\omega
- 4\kappa_i^2 j_\omega\cdot(d_i\times\dot d_i)\,d_i/w_k` with :math:`\kappa_i = w_k/(2d_i^2)`.
All columns are pulled back to the velocities of a node first. A reference body is seen by the law
in the same way and feels nothing.

On a line of mass points R has the tangent as its first column and zeros in the others, and
:math:`\omega = 0`.

J is that of the law, or of central differences in compiled code, whose points turn the columns of R
by :math:`\pm h\,e\times r_i`: what that lacks of a rotation is even in h and drops out.

A memory at rest is :math:`m_* = a(x, \theta, v, \omega, m_*)`, with a what is remembered after an
infinite time, found by Newton's method. In the phases of a search, and of small motions whose
memory follows them, J is that of the load with it,

.. math:: J + J_m\,(I - A_m)^{-1} A, \qquad A = \partial a/\partial(x, \theta, v, \omega),

as elimination leaves it of the derivatives of (f, m) and of a by motion and memory.
"""

import math
from functools import cache
from typing import Any, NamedTuple

from mbd.algebra.vec import (
    cross,
    dot,
    load3,
    mat_plus,
    mat_vec,
    minus,
    outer,
    plus,
    store3,
    tilde,
    times,
)
from mbd.base.tolerances import MEMORY_KEPT, MEMORY_RESTS
from mbd.interactions.kind import Kind
from mbd.interactions.laws import STEP, evaluate_law_at
from mbd.interactions.pullback import (
    add_stiffness,
    at,
    clear,
    coupled,
    each,
    form_maps,
    map_of,
    push,
    vector,
    velocity_map,
)
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit
from mbd.machine.simd import add_map, add_outer3

MOST = 64  # numbers of parameters, and of memory, that a law may take
# inputs of a law: what is asked for, t, s, dt, the section, the reference, parameters, memory
WHAT, TIME, PLACE, ELAPSED, SECTION = 0, 1, 2, 3, 4
AT_X, AT_R, AT_V, AT_OMEGA, OF_FRAME = 0, 3, 12, 15, 18
REFERENCE = SECTION + OF_FRAME
NUMBERS = REFERENCE + OF_FRAME
ASK_LOAD, ASK_DERIVATIVE, ASK_NEXT = 0.0, 1.0, 2.0
COLUMNS = 12  # of J for each frame: x, theta, v, omega
# what a function takes of the motion, in bits: of the load, then of the next memory, the derivative
READS_X, READS_R, READS_V, READS_OMEGA, READS_REFERENCE, READS_ALL = 1, 2, 4, 8, 16, 31
# SWITCHES: 1 where the law tells its derivative, 2 where the memory settles, 4 times the bits
# numbers of an element, then its parameters
S, LENGTH, SHARES, SWITCHES, N_PARAMETERS, N_MEMORY, CONSTANT, OWN = 0, 1, 2, 4, 5, 6, 7, 13
# scratch space after the maps: inputs, outputs, J by rows, columns U and turns of the test map
_IN, _OUT = 0, NUMBERS + 2 * MOST
_J = _OUT + 6 * 2 * COLUMNS + MOST
_BY_MEMORY = 2 * COLUMNS  # first column of J by what is remembered
_TRIES = 60  # of a memory on its way to rest: each halves a step or comes nearer
_POLAR = 8  # iterations: of directors within a turn of 2 rad, each squares what is left
_GAP = 1e-7  # of the length of the model, steps of x: films and gaps may be thin
_SQUARED = 2.0**-52  # of d, of a memory: the next would change no digit


class SiteForm(NamedTuple):
    """Form of the section that a law of motion sees: by how many nodes, and of what.

    ``frames`` is whether nodes have axes; ``line`` whether two more points say how a line of mass
    points goes; ``reference`` whether there is a reference body; ``remembers`` whether there is
    memory.
    """

    nodes: int
    frames: bool
    line: bool
    reference: bool
    remembers: bool

    @property
    def each(self) -> int:
        """Number of attachments of a node."""
        return 4 if self.frames else 1

    @property
    def own(self) -> int:
        """Number of attachments before those of the reference."""
        return self.nodes * self.each + 2 * self.line

    @property
    def attachments(self) -> int:
        """Number of all of them."""
        return self.own + 4 * self.reference


@jit
def polar(b: Any) -> Any:
    """Return the rotation next to three vectors, as columns: R <- R - d/2, d = R - R^-T."""
    size = math.sqrt((dot(b[0], b[0]) + dot(b[1], b[1]) + dot(b[2], b[2])) / 3.0)
    r1, r2, r3 = times(1.0 / size, b[0]), times(1.0 / size, b[1]), times(1.0 / size, b[2])
    for _ in range(_POLAR):
        c1, c2, c3 = cross(r2, r3), cross(r3, r1), cross(r1, r2)
        k = 1.0 / dot(r1, c1)
        d1, d2, d3 = minus(r1, times(k, c1)), minus(r2, times(k, c2)), minus(r3, times(k, c3))
        r1, r2, r3 = minus(r1, times(0.5, d1)), minus(r2, times(0.5, d2)), minus(r3, times(0.5, d3))
        if dot(d1, d1) + dot(d2, d2) + dot(d3, d3) < _SQUARED:
            break
    return r1, r2, r3


@jit
def turning(b: Any, r: Any) -> Any:
    """Return M = (tr S I - S)^-1 with S = sum b_i r_i^T, row by row; it is symmetric."""
    s11 = b[0][0] * r[0][0] + b[1][0] * r[1][0] + b[2][0] * r[2][0]
    s22 = b[0][1] * r[0][1] + b[1][1] * r[1][1] + b[2][1] * r[2][1]
    s33 = b[0][2] * r[0][2] + b[1][2] * r[1][2] + b[2][2] * r[2][2]
    s12 = b[0][0] * r[0][1] + b[1][0] * r[1][1] + b[2][0] * r[2][1]
    s13 = b[0][0] * r[0][2] + b[1][0] * r[1][2] + b[2][0] * r[2][2]
    s23 = b[0][1] * r[0][2] + b[1][1] * r[1][2] + b[2][1] * r[2][2]
    one, two, three = (s22 + s33, -s12, -s13), (-s12, s11 + s33, -s23), (-s13, -s23, s11 + s22)
    c1, c2, c3 = cross(two, three), cross(three, one), cross(one, two)
    k = 1.0 / dot(one, c1)
    return (
        k * c1[0], k * c1[1], k * c1[2], k * c2[0], k * c2[1], k * c2[2],
        k * c3[0], k * c3[1], k * c3[2],
    )  # fmt: skip


@jit
def _ask(I: Any, F: Any, e: Any, w: int, what: float, n: int) -> None:
    """Run the law; of n outputs the first is NaN if one is none."""
    F[w + _IN + WHAT] = what
    evaluate_law_at(I, F, e.law, (w + _IN, w + _OUT, n, w + _IN + TIME))


_FORMS: dict[str, SiteForm] = {}  # of the kinds that there are


def form_of(kind: Kind) -> SiteForm | None:
    """Return the form of the sections of a kind, None if it is no load of motion."""
    return _FORMS.get(kind.name)


def settles(e: Any) -> bool:
    """Tell whether an element has a memory that comes to rest with a pose."""
    of_motion = bool(e.memory) and e.law is not None and e.law.of_motion
    return of_motion and bool(int(e.numbers[SWITCHES]) & 2)


@jit
def _read(F: Any, e: Any, which: int) -> bool:
    """Tell whether some function of a law takes some part of the motion."""
    bits = int(F[e.numbers + SWITCHES]) >> 2
    return ((bits | bits >> 5 | bits >> 10) & which) != 0  # type: ignore[no-any-return]


@cache
def motion_load(form: SiteForm) -> Kind:
    """Return the kind of loads by a law of motion on sections of a form."""
    nodes, each_has, own, n = form.nodes, form.each, form.own, form.attachments
    frames, line, reference, remembers = form[1:]
    columns = COLUMNS * (2 if reference else 1)
    # blocks by the first attachments: of nodes with nodes, ends of the tangent and reference
    starts = [each_has * k for k in range(nodes)]
    starts += [own - 2, own - 1] * line + [own] * reference
    n_starts = len(starts)
    pairs = tuple((each_has * k, b) for k in range(nodes) for b in starts)
    row = 2 * COLUMNS + MOST * remembers  # of J, which has rows and columns of what is remembered
    to_U = _J + (6 + MOST * remembers) * row
    to_turn = to_U + 6 * m.MAP_ROW

    @jit
    def directors(I: Any, F: Any, base: int, e: Any, a: int) -> Any:
        """Return the three directors from attachment a on."""
        ends = e.ends + a
        return at(I, F, base, I[ends]), at(I, F, base, I[ends + 1]), at(I, F, base, I[ends + 2])

    @jit
    def sum_of_directors(I: Any, F: Any, e: Any) -> Any:
        """Return the sums of directors of all nodes together."""
        b = directors(I, F, m.Y, e, 1)
        for k in range(1, nodes):
            c = directors(I, F, m.Y, e, 4 * k + 1)
            b = plus(b[0], c[0]), plus(b[1], c[1]), plus(b[2], c[2])
        return b

    @jit
    def tangent_of_line(I: Any, F: Any, e: Any) -> Any:
        """Return the direction between both ends of the tangent, and one over its length."""
        d = minus(at(I, F, m.Y, I[e.ends + own - 1]), at(I, F, m.Y, I[e.ends + own - 2]))
        k = 1.0 / math.sqrt(dot(d, d))
        return times(k, d), k

    @jit
    def write_axes(F: Any, to: int, r: Any) -> None:
        """Write columns as a matrix, row by row."""
        for i in range(3):
            F[to + 3 * i], F[to + 3 * i + 1], F[to + 3 * i + 2] = r[0][i], r[1][i], r[2][i]

    @jit
    def add_turning(I: Any, F: Any, e: Any, a: int, share: float, omega: Any) -> Any:
        """Return the rate of turning with that of the directors from attachment a on."""
        d, dd = directors(I, F, m.Y, e, a), directors(I, F, m.YD, e, a)
        for i in range(3):
            omega = plus(omega, times(0.5 * share / dot(d[i], d[i]), cross(d[i], dd[i])))
        return omega

    @jit
    def place(I: Any, F: Any, e: Any) -> int:
        """Write what the law sees; return where the scratch space is."""
        w, origin = vector(I, n, 0), load3(F, I[m.GROUND])  # of the inertial axes, as faces see it
        to = w + _IN + SECTION
        x, v, omega = times(-1.0, origin), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for k in range(nodes):
            x = plus(x, at(I, F, m.Y, I[e.ends + each_has * k]))
            v = plus(v, at(I, F, m.YD, I[e.ends + each_has * k]))
            if frames and _read(F, e, READS_OMEGA):
                omega = add_turning(I, F, e, 4 * k + 1, F[e.numbers + SHARES + k], omega)
        F[w + _IN + TIME], F[w + _IN + PLACE] = F[m.T], F[e.numbers + S]
        F[w + _IN + ELAPSED] = F[m.T] - F[m.T_LAST]
        store3(F, to + AT_X, x)
        store3(F, to + AT_V, v)
        store3(F, to + AT_OMEGA, omega)
        if frames and _read(F, e, READS_R):
            write_axes(F, to + AT_R, polar(sum_of_directors(I, F, e)))
        else:
            for i in range(9):
                F[to + AT_R + i] = 0.0
        if line:
            d, _ = tangent_of_line(I, F, e)
            F[to + AT_R], F[to + AT_R + 3], F[to + AT_R + 6] = d
        if reference:
            to = w + _IN + REFERENCE
            store3(F, to + AT_X, minus(at(I, F, m.Y, I[e.ends + own]), origin))
            store3(F, to + AT_V, at(I, F, m.YD, I[e.ends + own]))
            store3(F, to + AT_OMEGA, add_turning(I, F, e, own + 1, 1.0, (0.0, 0.0, 0.0)))
            write_axes(F, to + AT_R, polar(directors(I, F, m.Y, e, own + 1)))
        to, count = w + _IN + NUMBERS, int(F[e.numbers + N_PARAMETERS])
        for i in range(count):
            F[to + i] = F[e.numbers + OWN + i]
        for i in range(int(F[e.numbers + N_MEMORY])):
            F[to + count + i] = F[e.memory + i]
        return w

    @jit
    def difference(
        I: Any, F: Any, e: Any, w: int, question: Any, column: int, apart: float
    ) -> None:
        """Write answers at the lower point (apart = 0) to a column of J, then the quotient.

        What is asked for, of how many numbers, and their first row of J are those of the load or of
        the next memory.
        """
        what, count, first = question
        _ask(I, F, e, w, what, count)
        for r in range(count):
            to = w + _J + row * (first + r) + column
            F[to] = F[w + _OUT + r] if apart == 0.0 else (F[w + _OUT + r] - F[to]) / apart

    @jit
    def by_memory(I: Any, F: Any, e: Any, w: int, question: Any) -> None:
        """Write the columns of J by what is remembered."""
        first = w + _IN + NUMBERS + int(F[e.numbers + N_PARAMETERS])
        for i in range(int(F[e.numbers + N_MEMORY])):
            here, h = F[first + i], STEP * (1.0 + abs(F[first + i]))
            F[first + i] = lower = here - h
            difference(I, F, e, w, question, _BY_MEMORY + i, 0.0)
            F[first + i] = here + h
            difference(I, F, e, w, question, _BY_MEMORY + i, F[first + i] - lower)
            F[first + i] = here

    @jit
    def eliminate(F: Any, w: int, k: int, n_columns: int) -> bool:
        """Eliminate k numbers of memory, a - m = 0, from all rows of J; tell whether it can be."""
        J = w + _J
        for j in range(k):
            F[J + row * (6 + j) + _BY_MEMORY + j] -= 1.0
        for j in range(k):
            best, own = j, J + row * (6 + j)
            for i in range(j + 1, k):
                x = abs(F[J + row * (6 + i) + _BY_MEMORY + j])
                if x > abs(F[J + row * (6 + best) + _BY_MEMORY + j]):
                    best = i
            other, pivot = J + row * (6 + best), F[J + row * (6 + best) + _BY_MEMORY + j]
            if not abs(pivot) > MEMORY_KEPT:
                return False
            for c in range(_BY_MEMORY + k):
                x, F[other + c] = F[other + c], F[own + c]
                F[own + c] = x / pivot
            for r in range(6 + k):
                to = J + row * r
                x = F[to + _BY_MEMORY + j]
                if to == own or x == 0.0:
                    continue
                for c in range(n_columns):
                    F[to + c] -= x * F[own + c]
                for c in range(_BY_MEMORY + j, _BY_MEMORY + k):
                    F[to + c] -= x * F[own + c]
        return True

    @jit
    def no_rest(I: Any, F: Any, e: Any) -> None:
        """Note that the memory does not come to rest."""
        run = ints(F)
        if not run[m.BAD_HOW]:
            run[m.BAD_LAW], run[m.BAD_HOW] = e.law, m.NO_REST
            F[m.BAD_AT], F[m.BAD_AT + 1] = F[m.T], F[e.numbers + S]

    @jit
    def follows(F: Any, e: Any) -> bool:
        """Tell whether the memory is at rest with the motion, in a search and about its end."""
        phase = ints(F)[m.PHASE]
        at_rest = phase == m.AT_REST or phase >= m.STRESS_AHEAD
        return remembers and at_rest and (int(F[e.numbers + SWITCHES]) & 2) != 0

    @jit
    def bring_to_rest(I: Any, F: Any, e: Any, w: int, k: int) -> None:
        """Bring what is remembered to rest by Newton's method, with shorter steps where it must."""
        first, last = w + _IN + NUMBERS + int(F[e.numbers + N_PARAMETERS]), math.inf
        F[w + _IN + ELAPSED] = math.inf
        for i in range((6 + k) * row):
            F[w + _J + i] = 0.0
        for _ in range(_TRIES):
            _ask(I, F, e, w, ASK_NEXT, k)
            gap, size = 0.0, 0.0
            for i in range(k):
                gap += abs(F[w + _OUT + i] - F[first + i])
                size += abs(F[w + _OUT + i]) + abs(F[first + i])
            near = gap <= MEMORY_RESTS * size
            if math.isnan(gap) or gap <= _SQUARED * size or (near and gap > 0.1 * last):
                return
            if gap >= last:  # half of the step, in the second column, was too long
                for i in range(k):
                    F[w + _J + row * (6 + i) + 1] *= 0.5
                    F[first + i] -= F[w + _J + row * (6 + i) + 1]
                continue
            last = gap
            for i in range(k):
                F[w + _J + row * (6 + i)] = F[w + _OUT + i] - F[first + i]
            by_memory(I, F, e, w, (ASK_NEXT, k, 6))
            if not eliminate(F, w, k, 1):
                break
            for i in range(k):
                F[w + _J + row * (6 + i) + 1] = -F[w + _J + row * (6 + i)]
                F[first + i] -= F[w + _J + row * (6 + i)]
        no_rest(I, F, e)

    @jit
    def load(I: Any, F: Any, e: Any) -> Any:
        """Return the scratch space, force and moment."""
        if e.law == 0:
            return 0, load3(F, e.numbers + CONSTANT), load3(F, e.numbers + CONSTANT + 3)
        w = place(I, F, e)
        if follows(F, e):
            bring_to_rest(I, F, e, w, int(F[e.numbers + N_MEMORY]))
        _ask(I, F, e, w, ASK_LOAD, 6)
        return w, load3(F, w + _OUT), load3(F, w + _OUT + 3)

    @each
    def forces(I: Any, F: Any, e: Any) -> None:
        """Apply W f at points, W w/2 m x d/d^2 at directors; the residual holds minus these."""
        _, f, moment = load(I, F, e)
        W = F[e.numbers + LENGTH]
        for k in range(nodes):
            a = each_has * k
            push(I, F, m.FY, I[e.ends + a], -W, f)
            if frames:
                half = -0.5 * W * F[e.numbers + SHARES + k]
                for i in range(3):
                    d = at(I, F, m.Y, I[e.ends + a + 1 + i])
                    push(I, F, m.FY, I[e.ends + a + 1 + i], half / dot(d, d), cross(moment, d))

    @jit
    def by_frame(
        I: Any, F: Any, e: Any, w: int, question: Any, frame: int, column: int, turns: bool
    ) -> None:
        """Write the columns of J that belong to a frame, by central differences."""
        size, spin, x = 0.0, 0.0, w + _IN + frame
        reads = int(F[e.numbers + SWITCHES]) >> 2
        if question[0] == ASK_NEXT:
            reads >>= 5
        if frame == REFERENCE:
            reads = READS_ALL * ((reads & READS_REFERENCE) // READS_REFERENCE)
        for i in range(3):
            size += abs(F[x + AT_V + i])
            spin += abs(F[x + AT_OMEGA + i])
        for i in range(3):
            for c in range(3):
                place_, h = x + AT_X + c, _GAP * F[m.LENGTH]
                if i == 1:
                    place_, h = x + AT_V + c, STEP * (1.0 + size)
                elif i == 2:
                    place_, h = x + AT_OMEGA + c, STEP * (1.0 + spin)
                needed = (READS_X, READS_V, READS_OMEGA)[i]
                if (i == 2 and not turns) or (reads & needed) == 0:
                    continue
                here, first = F[place_], column + c + (0 if i == 0 else 3 + 3 * i)
                F[place_] = lower = here - h
                difference(I, F, e, w, question, first, 0.0)
                F[place_] = here + h
                difference(I, F, e, w, question, first, F[place_] - lower)
                F[place_] = here
        for c in range(3 if (turns or line) and (reads & READS_R) != 0 else 0):
            p, q = x + AT_R + 3 * ((c + 1) % 3), x + AT_R + 3 * ((c + 2) % 3)
            one, two = load3(F, p), load3(F, q)
            store3(F, p, plus(one, times(STEP, two)))
            store3(F, q, minus(two, times(STEP, one)))
            difference(I, F, e, w, question, column + 3 + c, 0.0)
            store3(F, p, minus(one, times(STEP, two)))
            store3(F, q, plus(two, times(STEP, one)))
            difference(I, F, e, w, question, column + 3 + c, 2.0 * STEP)
            store3(F, p, one)
            store3(F, q, two)

    @jit
    def by_motion(I: Any, F: Any, e: Any, w: int, question: Any) -> None:
        """Write all columns of J that are by motion."""
        by_frame(I, F, e, w, question, SECTION, 0, frames)
        if reference:
            by_frame(I, F, e, w, question, REFERENCE, COLUMNS, True)

    @jit
    def write_jacobian(I: Any, F: Any, e: Any, w: int) -> int:
        """Write J of the present section, by the law or by differences; return its rows, 3 or 6.

        Three where no number of the moment depends on motion, as of most loads.
        """
        k = int(F[e.numbers + N_MEMORY]) if follows(F, e) else 0
        for r in range(6 + k):
            for c in range(_BY_MEMORY + k):
                F[w + _J + row * r + c] = 0.0
        if int(F[e.numbers + SWITCHES]) & 1:
            _ask(I, F, e, w, ASK_DERIVATIVE, 6 * columns)
            for r in range(6):
                for c in range(columns):
                    F[w + _J + row * r + c] = F[w + _OUT + columns * r + c]
        else:
            by_motion(I, F, e, w, (ASK_LOAD, 6, 0))
        if k > 0:
            by_motion(I, F, e, w, (ASK_NEXT, k, 6))
            by_memory(I, F, e, w, (ASK_NEXT, k, 6))
            by_memory(I, F, e, w, (ASK_LOAD, 6, 0))
            if not eliminate(F, w, k, columns):
                no_rest(I, F, e)
        for r in range(3, 6):
            for c in range(columns):
                if F[w + _J + row * r + c] != 0.0:
                    return 6
        return 3

    @jit
    def add_point(I: Any, F: Any, e: Any, w: int, a: int, c: int, column: int) -> None:
        """Add row c of J through the maps of the point a to the columns."""
        of, to, columns_of = w + _J + row * c + column, w + to_U + m.MAP_ROW * c, I[e.ends + a]
        n_v, wK, wG = I[columns_of + m.ATT_N], F[m.W_K], F[m.W_G]
        jx, jv = load3(F, of), load3(F, of + 6)
        add_map(F, to, map_of(I, a, m.PT), n_v, wK * jx[0], wK * jx[1], wK * jx[2])
        add_map(F, to, map_of(I, a, m.DP), n_v, wK * jv[0], wK * jv[1], wK * jv[2])
        add_map(F, to, velocity_map(I, F, e, a), n_v, wG * jv[0], wG * jv[1], wG * jv[2])

    @jit
    def add_director(
        I: Any, F: Any, e: Any, to: int, a: int, kappa: float, share: float, by: Any
    ) -> None:
        """Add a row (M j_theta, r, j_omega) through the maps of the director a to the columns."""
        mt, r, jw = by
        n_v, wK, wG = I[I[e.ends + a] + m.ATT_N], F[m.W_K], F[m.W_G]
        d, dd = at(I, F, m.Y, I[e.ends + a]), at(I, F, m.YD, I[e.ends + a])
        x, y = cross(mt, r), times(kappa, cross(jw, d))
        x = plus(x, times(kappa, cross(dd, jw)))
        x = minus(x, times(4.0 * kappa * kappa / share * dot(jw, cross(d, dd)), d))
        add_map(F, to, map_of(I, a, m.PT), n_v, wK * x[0], wK * x[1], wK * x[2])
        add_map(F, to, map_of(I, a, m.DP), n_v, wK * y[0], wK * y[1], wK * y[2])
        add_map(F, to, velocity_map(I, F, e, a), n_v, wG * y[0], wG * y[1], wG * y[2])

    @jit
    def add_frame(I: Any, F: Any, e: Any, w: int, a: int, share: float, of: Any) -> None:
        """Add what is by a frame, whose attachments begin with a: rows of J from a column on."""
        rows, column, M, r = of
        for c in range(rows):
            add_point(I, F, e, w, a, c, column)
            at_row = w + _J + row * c + column
            mt, jw = mat_vec(M, load3(F, at_row + 3)), load3(F, at_row + 9)
            if dot(mt, mt) + dot(jw, jw) == 0.0:
                continue
            for i in range(3):
                d = at(I, F, m.Y, I[e.ends + a + 1 + i])
                kappa = 0.5 * share / dot(d, d)
                to = w + to_U + m.MAP_ROW * c
                add_director(I, F, e, to, a + 1 + i, kappa, share, (mt, r[i], jw))

    @jit
    def add_columns(I: Any, F: Any, e: Any, w: int, rows: int, j: int) -> int:
        """Write the rows by what is seen, number j, to U; return its first attachment."""
        a = each_has * j
        if j < nodes:
            if frames:
                b = sum_of_directors(I, F, e)
                r = polar(b)
                add_frame(I, F, e, w, a, F[e.numbers + SHARES + j], (rows, 0, turning(b, r), r))
            else:
                for c in range(rows):
                    add_point(I, F, e, w, a, c, 0)
            return a
        if line and j < nodes + 2:
            a = own - 2 + j - nodes
            d, k = tangent_of_line(I, F, e)
            k = -k * F[m.W_K] if j == nodes else k * F[m.W_K]
            for c in range(rows):
                x = times(k, cross(load3(F, w + _J + row * c + 3), d))
                to = w + to_U + m.MAP_ROW * c
                add_map(F, to, map_of(I, a, m.PT), I[I[e.ends + a] + m.ATT_N], x[0], x[1], x[2])
            return a
        if reference:
            b = directors(I, F, m.Y, e, own + 1)
            r = polar(b)
            add_frame(I, F, e, w, own, 1.0, (rows, COLUMNS, turning(b, r), r))
        return own

    @jit
    def add_turns(I: Any, F: Any, e: Any, w: int, k: int) -> None:
        """Write the test maps of turns of node k: rows c are sum_i kappa_i (e_c x d_i) P_i."""
        clear(F, w + to_turn, 3)
        for i in range(3):
            a = 4 * k + 1 + i
            d, n_v = at(I, F, m.Y, I[e.ends + a]), I[I[e.ends + a] + m.ATT_N]
            kappa, P = 0.5 * F[e.numbers + SHARES + k] / dot(d, d), map_of(I, a, m.P)
            x, y, z = kappa * d[0], kappa * d[1], kappa * d[2]
            add_map(F, w + to_turn, P, n_v, 0.0, -z, y)
            add_map(F, w + to_turn + m.MAP_ROW, P, n_v, z, 0.0, -x)
            add_map(F, w + to_turn + 2 * m.MAP_ROW, P, n_v, -y, x, 0.0)

    @jit
    def add_blocks(I: Any, F: Any, e: Any, w: int, n_rows: int) -> None:
        """Add -W P J of all pairs of nodes with what is seen, of J with some rows."""
        W = F[e.numbers + LENGTH]
        for j in range(n_starts):
            clear(F, w + to_U, n_rows)
            a = add_columns(I, F, e, w, n_rows, j)
            columns_ = I[I[e.ends + a] + m.ATT_N]
            for k in range(nodes):
                p, point = k * n_starts + j, each_has * k
                if not coupled(I, F, e, p):
                    continue
                block, rows = e.pairs + 2 * p, I[I[e.ends + point] + m.ATT_N]
                to, ld, P = I[block], I[block + 1], map_of(I, point, m.P)
                add_outer3(F, to, ld, rows, columns_, -W, P, w + to_U)
                if frames and n_rows > 3:
                    add_turns(I, F, e, w, k)
                    turn, U = w + to_turn, w + to_U + 3 * m.MAP_ROW
                    add_outer3(F, to, ld, rows, columns_, -W, turn, U)

    @jit
    def add_moment_tangent(I: Any, F: Any, e: Any, moment: Any) -> None:
        """Add -W w/2 (tilde(m)/d^2 - 2 (m x d) d^T/d^4) on each director."""
        for k in range(nodes):
            half = -0.5 * F[e.numbers + LENGTH] * F[e.numbers + SHARES + k] * F[m.W_K]
            for i in range(3):
                a = 4 * k + 1 + i
                d = at(I, F, m.Y, I[e.ends + a])
                dd = dot(d, d)
                K = mat_plus(tilde(moment), -2.0 / dd, outer(cross(moment, d), d))
                add_stiffness(I, F, e, k * n_starts + k, a, a, half / dd, K)

    @each
    def tangent(I: Any, F: Any, e: Any) -> None:
        """Add the derivatives of the load by the section, and of the moment's forces."""
        if e.law == 0 and not frames:
            return
        form_maps(I, F, e, n, True)
        w, _, moment = load(I, F, e)
        if e.law != 0:
            add_blocks(I, F, e, w, write_jacobian(I, F, e, w))
        if frames and dot(moment, moment) > 0.0:
            add_moment_tangent(I, F, e, moment)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        """Let the law write its memory, where time has gone by, or any does at rest."""
        k = int(F[e.numbers + N_MEMORY])
        if follows(F, e) or F[m.T] > F[m.T_LAST]:
            w = place(I, F, e)
            if follows(F, e):
                bring_to_rest(I, F, e, w, k)
            else:
                _ask(I, F, e, w, ASK_NEXT, k)
            if math.isnan(F[w + _OUT]):  # of a memory there is no going on
                ints(F)[m.BAD_HOW] = m.RAISED
                return
            for i in range(k):
                F[e.memory + i] = F[w + _OUT + i]

    word = "remembering " * remembers + "reference " * reference
    of = f"{nodes} {'frames' if frames else 'points of a line' if line else 'points'}"
    _FORMS[f"{word}load of motion on {of}"] = form
    return Kind(
        f"{word}load of motion on {of}", n, 0, pairs, forces, tangent,
        accept=accept if remembers else None, damped=True, work=to_turn + 3 * m.MAP_ROW,
    )  # fmt: skip
