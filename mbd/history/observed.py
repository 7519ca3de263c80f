r"""Quantities of faces at an instant, kernel by kernel.

With the face y = (r, d_1, d_2, d_3) of a body, its rates and second rates, and weights w of a point
or a vector that is fixed to it,

.. math:: x_P = \sum_k w_k y_k, \qquad s = \tfrac13\sum_k |d_k|, \qquad R = (d_1, d_2, d_3)/s,

.. math:: \omega = \frac{1}{2s^2}\sum_k d_k\times\dot d_k, \qquad
   \alpha = \frac{1}{2s^2}\sum_k d_k\times\ddot d_k - \frac{2\dot s}{s}\,\omega .

An accelerometer at P feels :math:`R^T(\ddot x_P - g)`, a gyroscope :math:`R^T\omega`. The scale s
of a rigid body is one.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from mbd.algebra.vec import cross, dot, load3, minus, plus, store3, times, weighted
from mbd.base.checked import shown
from mbd.history.program import ProgramTables
from mbd.interactions.gradients import gradient, second_rate, value_of
from mbd.interactions.kind import Attachment
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import ElementRecord
from mbd.interactions.turns import with_turns
from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, is_compiled, jit, kernel
from mbd.model.frozen import FrozenModel
from mbd.parts.part import Coordinate

Weights = Sequence[float]
ORIGIN = (1.0, 0.0, 0.0, 0.0)


class FaceRecord(NamedTuple):
    """The record of what is seen: where its numbers go, the face and weights on it, and more.

    ``order`` is 0, 1 or 2, of Y, YD or YDD; ``y`` a place in them. A body that is ``rigid`` has
    directors of length one; a ``flag`` tells axes, or the origin, from others.
    """

    out: int
    order: int
    y: int
    w: int
    rigid: int
    flag: int


_SIZE = len(FaceRecord._fields)


def each_face(function: Callable[[Any, Any, Any], None]) -> Any:
    """Make a kernel that runs ``function(I, F, s)`` for all records s of a table."""
    of_one = jit(function)

    def of_all(I: Any, F: Any, k: int) -> None:
        for r in range(k + 1, k + 1 + _SIZE * I[k], _SIZE):
            of_one(I, F, FaceRecord(I[r], I[r + 1], I[r + 2], I[r + 3], I[r + 4], I[r + 5]))

    of_all.__name__, of_all.__doc__ = function.__name__, function.__doc__
    return kernel(of_all)


@jit
def _director(I: Any, F: Any, s: Any, order: int, k: int) -> Any:
    """Return director k = 0, 1, 2, or its rate."""
    return load3(F, I[m.Y + order] + s.y + 3 + 3 * k)


@jit
def _length(I: Any, F: Any, s: Any) -> float:
    """Return the mean length of the directors."""
    if s.rigid == 1:
        return 1.0
    total = 0.0
    for k in range(3):
        d = _director(I, F, s, 0, k)
        total += math.sqrt(dot(d, d))
    return total / 3


@jit
def _in_body_axes(I: Any, F: Any, s: Any, x: Any) -> Any:
    """Return the components of a vector along the directors, of length one."""
    back = 1.0 / _length(I, F, s)
    return (
        back * dot(_director(I, F, s, 0, 0), x), back * dot(_director(I, F, s, 0, 1), x),
        back * dot(_director(I, F, s, 0, 2), x),
    )  # fmt: skip


@jit
def _spin(I: Any, F: Any, s: Any, order: int) -> Any:
    """Return half the sum of the products of directors and their rates."""
    total = (0.0, 0.0, 0.0)
    for k in range(3):
        total = plus(total, cross(_director(I, F, s, 0, k), _director(I, F, s, order, k)))
    return times(0.5, total)


@each_face
def point_kernel(I: Any, F: Any, s: Any) -> None:
    """Write a point, its velocity or acceleration; from the inertial origin or that of faces."""
    x = weighted(F, I[m.Y + s.order] + s.y, s.w)
    if s.order == 0 and s.flag == 0:
        x = minus(x, times(F[s.w], load3(F, I[m.GROUND])))
    store3(F, s.out, x)


@each_face
def spin_kernel(I: Any, F: Any, s: Any) -> None:
    """Write the angular velocity or acceleration, in inertial or body axes."""
    x = _spin(I, F, s, s.order)
    if s.rigid == 0:
        size = _length(I, F, s)
        if s.order == 2:
            grow = 0.0  # d = s R e: the sum is s^2 alpha + 2 s s' omega, and d . d' is s s'
            for k in range(3):
                grow += dot(_director(I, F, s, 0, k), _director(I, F, s, 1, k)) / 3
            omega = times(1.0 / (size * size), _spin(I, F, s, 1))
            x = minus(x, times(2.0 * grow, omega))
        x = times(1.0 / (size * size), x)
    store3(F, s.out, _in_body_axes(I, F, s, x) if s.flag == 1 else x)


@each_face
def scale_kernel(I: Any, F: Any, s: Any) -> None:
    """Write the length of the directors."""
    F[s.out] = _length(I, F, s)


@each_face
def rotation_kernel(I: Any, F: Any, s: Any) -> None:
    """Write the rotation matrix, row by row: its columns are the directors."""
    back = 1.0 / _length(I, F, s)
    for k in range(3):
        d = _director(I, F, s, 0, k)
        for i in range(3):
            F[s.out + 3 * i + k] = back * d[i]


@each_face
def quaternion_kernel(I: Any, F: Any, s: Any) -> None:
    """Write the unit quaternion, scalar first, whose largest component is positive.

    That one is taken from its square, the rest by division (Shepperd, J. Guidance and Control 1,
    1978).
    """
    back = 1.0 / _length(I, F, s)
    x, y, z = _director(I, F, s, 0, 0), _director(I, F, s, 0, 1), _director(I, F, s, 0, 2)
    trace = back * (x[0] + y[1] + z[2])
    a, b, c, d = 1.0 + trace, 1.0 + 2 * back * x[0], 1.0 + 2 * back * y[1], 1.0 + 2 * back * z[2]
    b, c, d = b - trace, c - trace, d - trace
    u, v, w = back * (y[2] - z[1]), back * (z[0] - x[2]), back * (x[1] - y[0])
    xy, xz, yz = back * (x[1] + y[0]), back * (x[2] + z[0]), back * (y[2] + z[1])
    if a >= b and a >= c and a >= d:
        p = (a, u, v, w)
    elif b >= c and b >= d:
        p = (u, b, xy, xz)
    elif c >= d:
        p = (v, xy, c, yz)
    else:
        p = (w, xz, yz, d)
    size = 1.0 / math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    for i in range(4):
        F[s.out + i] = size * p[i]


@each_face
def accelerometer_kernel(I: Any, F: Any, s: Any) -> None:
    """Write the acceleration of a point less that of gravity, in body axes."""
    felt = minus(weighted(F, I[m.YDD] + s.y, s.w), load3(F, m.GX))
    store3(F, s.out, _in_body_axes(I, F, s, felt))


@cache
def coordinate_kernel(measure: Measure) -> Any:
    """Return the kernel that writes values of a measure, their rates, second rates.

    Records have out, orders from and to, attachments, numbers, the place of a zero, code, memory:
    an angle is in (-pi, pi], or the nearest one to what that has.
    """
    value, of, periodic = value_of(measure), measure.shape, measure.periodic
    counted = jit(with_turns)

    @kernel
    def coordinate(I: Any, F: Any, k: int) -> None:
        for r in range(k + 1, k + 1 + 8 * I[k], 8):
            first, last = I[r + 1], I[r + 2]
            e = ElementRecord(0, I[r + 4], I[r + 5], 0, I[r + 3], 0, 0, 0, I[r + 6])
            u, ud = value(I, F, e, True)
            udd = second_rate(I, F, e, of, ud) if last == 3 else 0.0
            if periodic and I[r + 7] != 0:
                u = counted(u, math.floor((F[I[r + 7]] - u) / (2 * math.pi) + 0.5))
            for i in range(first, last):
                F[I[r] + i - first] = u if i == 0 else ud if i == 1 else udd

    return coordinate


@cache
def _gradient_kernel(measure: Measure) -> Any:
    """Return the kernel that writes the gradient of a measure by each of its vectors.

    Records have out, attachments, numbers, the place of a zero, code.
    """
    value, of = value_of(measure), measure.shape

    @kernel
    def gradients(I: Any, F: Any, k: int) -> None:
        for r in range(k + 1, k + 1 + 5 * I[k], 5):
            value(I, F, ElementRecord(0, I[r + 2], I[r + 3], 0, I[r + 1], 0, 0, 0, I[r + 4]), True)
            for a in range(of.n):
                store3(F, I[r] + 3 * a, gradient(I, F, of, a))

    return gradients


def _of_face(
    tables: ProgramTables, kernel_: Any, size: int, place: str, order: int = 0,
    weights: Weights = ORIGIN, *, flag: bool = False,
) -> range:  # fmt: skip
    """Return the places of the numbers that a kernel writes of a face."""
    tables.second |= order == 2
    body = tables.model.nodes.get(place.partition("/")[0])
    out, rigid = tables.room(size), body is None or body.formulation.rigid
    record = order, tables.face(place), tables.put(weights), int(rigid), int(flag)
    tables.call(kernel_, out, *record)
    return range(out, out + size)


def point(
    tables: ProgramTables, place: str, order: int, weights: Weights = ORIGIN, *, near: bool = False
) -> range:
    """Return the places of a point or vector of a face, of its velocity or acceleration.

    One that is to be `near` is seen from the origin of the model, as faces are.
    """
    return _of_face(tables, point_kernel, 3, place, order, weights, flag=near)


def accelerometer(tables: ProgramTables, place: str, weights: Weights = ORIGIN) -> range:
    """Return the places of what an accelerometer at a point of a face feels."""
    return _of_face(tables, accelerometer_kernel, 3, place, 2, weights)


def turning(
    kernel_: Any, size: int, order: int = 0, *, body: bool = False
) -> Callable[[ProgramTables, str], range]:
    """Return the function that observes what a kernel writes of the directors of a face."""
    return lambda tables, place: _of_face(tables, kernel_, size, place, order, flag=body)


def whole_face(tables: ProgramTables, place: str, order: int) -> range:
    """Return the places of a face, from the origin of the model, or of its rate (12)."""
    tables.second |= order == 2
    first = int(tables.model.I[m.Y + order]) + tables.face(place)
    return range(first, first + 12)


def measured(
    tables: ProgramTables, measure: Measure, attachments: Sequence[Attachment],
    numbers: Sequence[float], orders: range, memory: int = 0,
) -> range:  # fmt: skip
    """Return the places of a measure, or of some rates; `memory` is where its turns are."""
    tables.second |= orders.stop == 3
    out = tables.room(len(orders))
    record = _of_measure(tables, measure, attachments, numbers)
    tables.call(coordinate_kernel(measure), out, orders.start, orders.stop, *record, memory)
    return range(out, out + len(orders))


def turns_of(model: FrozenModel, free: Coordinate | None) -> int:
    """Return where the turns of an angle are remembered, 0 if they are not."""
    name = "" if free is None else f"{free.joint}.{free.name}"
    return int(model.memory[model.remembered.index(name)]) if name in model.remembered else 0


def coordinate(order: int) -> Callable[[ProgramTables, str], range]:
    """Return the function that observes a coordinate of a part, ``hinge.angle``, or its rates.

    Angles count turns by the memory of a run.
    """

    def add(tables: ProgramTables, name: str) -> range:
        part, _, word = name.rpartition(".")
        free = tables.model.system.parts[part].coordinates[word]
        memory, orders = turns_of(tables.model, free), range(order, order + 1)
        places = measured(tables, free.measure, free.attachments, free.numbers, orders, memory)
        if memory and order == 0:
            tables.turning.append((places[0], memory))
        return places

    return add


def modal(vector: int) -> Callable[[ProgramTables, str], range]:
    """Return the function that observes coordinates (QN) of shapes of a body, or rates (V)."""

    def add(tables: ProgramTables, body: str) -> range:
        return tables.coordinates(vector, body)[-tables.model.nodes[body].formulation.n_inner :]

    return add


def numbers_of_model(vector: int) -> Callable[[ProgramTables, str], Sequence[int]]:
    """Return the function that observes all numbers q (QN), v (V) or a (A) of the model."""

    def add(tables: ProgramTables, _: str) -> Sequence[int]:
        tables.second |= vector == m.A
        return [i for x in tables.model.nodes for i in tables.coordinates(vector, x)]

    return add


def multipliers(tables: ProgramTables, owner: str) -> Sequence[int]:
    """Return the places of the multipliers of the rows of a part, or of a body."""
    rows = tables.model.numbering.owners[owner]
    return [tables.multiplier(i) for i in range(rows.start, rows.stop)]


def gradient_of(
    tables: ProgramTables, measure: Measure, attachments: Sequence[Attachment],
    numbers: Sequence[float],
) -> range:  # fmt: skip
    """Return the places of the gradient of a measure by each attachment (n, 3)."""
    out, record = tables.room(3 * measure.n), _of_measure(tables, measure, attachments, numbers)
    tables.call(_gradient_kernel(measure), out, *record)
    return range(out, out + 3 * measure.n)


def _of_measure(
    tables: ProgramTables, measure: Measure, attachments: Sequence[Attachment],
    numbers: Sequence[float],
) -> tuple[int, int, int, int]:  # fmt: skip
    """Return where attachments and numbers of a measure are, a zero, and what it calls."""
    tables.scratch = max(tables.scratch, m.SCRATCH_OWN + m.SCRATCH_EACH * measure.n + measure.work)
    code = tables.table(x for function in measure.code for x in m.halves(function.address))
    return tables.ends(attachments), tables.put((*numbers, 0.0)), tables.put((0.0,)), code


@cache
def _numbers_at(n: int) -> Any:
    """Return a function that returns n numbers of F, whose places are at I[k:]."""
    if n == 0:
        return jit(lambda I, F, k: ())
    before = _numbers_at(n - 1)
    return jit(lambda I, F, k: (*before(I, F, k), F[I[k + n - 1]]))


def made_of(tables: ProgramTables, who: str, function: Any, places: Sequence[int]) -> range:
    """Return the place of what a numba function makes of the numbers at some places."""
    if not (PYTHON or is_compiled(function)):
        raise TypeError(
            f"{who} must be compiled by numba, @numba.njit, to run without Python, got "
            f"{shown(function)}"
        )
    n = len(places)
    arguments = _numbers_at(n)

    @kernel
    def function_kernel(I: Any, F: Any, k: int) -> None:
        for r in range(k + 1, k + 1 + (n + 1) * I[k], n + 1):
            F[I[r]] = function(*arguments(I, F, r + 1))

    try:
        function(*[0.5] * n)
    except Exception as error:
        raise TypeError(
            f"{who} must take {n} numbers, those of its arguments, and return one, but at 0.5, ... "
            f"it raised {type(error).__name__}: {error}"
        ) from error
    out = tables.room(1)
    tables.call(function_kernel, out, *places, level=3)
    return range(out, out + 1)
