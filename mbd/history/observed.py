r"""What is observed of faces at an instant, kernel by kernel.

With the face y = (r, d_1, d_2, d_3) of a body, its rates and second rates, and weights w of a point
or a vector that is fixed to it,

.. math:: x_P = \sum_k w_k y_k, \qquad s = \tfrac13\sum_k |d_k|, \qquad R = (d_1, d_2, d_3)/s,

.. math:: \omega = \frac{1}{2s^2}\sum_k d_k\times\dot d_k, \qquad
   \alpha = \frac{1}{2s^2}\sum_k d_k\times\ddot d_k - \frac{2\dot s}{s}\,\omega .

An accelerometer at P feels :math:`R^T(\ddot x_P - g)`, a gyroscope :math:`R^T\omega`. The scale s
of a rigid body is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from mbd.algebra.vec import cross, dot, load3, minus, plus, store3, times, weighted
from mbd.history.program import ProgramTables
from mbd.interactions.gradients import second_rate, value_of
from mbd.interactions.kind import Attachment
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import ElementRecord
from mbd.interactions.turns import with_turns
from mbd.machine import buffer as m
from mbd.machine.jit import jit, kernel

Weights = Sequence[float]
ORIGIN = (1.0, 0.0, 0.0, 0.0)


class FaceRecord(NamedTuple):
    """The record of what is seen: where its numbers go, the face and weights on it, and more.

    ``order`` is 0, 1 or 2, of Y, YD or YDD; ``y`` a place in them. A body that is ``rigid`` has
    directors of length one; ``body`` axes are those of the face.
    """

    out: int
    order: int
    y: int
    w: int
    rigid: int
    body: int


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
    """Write a point, as seen from the inertial origin, or its velocity or acceleration."""
    x = weighted(F, I[m.Y + s.order] + s.y, s.w)
    if s.order == 0:
        x = minus(x, load3(F, I[m.GROUND]))
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
    store3(F, s.out, _in_body_axes(I, F, s, x) if s.body == 1 else x)


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

    Records have out, orders from and to, attachments, numbers, the place of a zero, memory: an
    angle is in (-pi, pi], or the nearest one to what that has.
    """
    value, of, periodic = value_of(measure), measure.shape, measure.periodic
    counted = jit(with_turns)

    @kernel
    def coordinate(I: Any, F: Any, k: int) -> None:
        for r in range(k + 1, k + 1 + 7 * I[k], 7):
            first, last = I[r + 1], I[r + 2]
            e = ElementRecord(0, I[r + 4], I[r + 5], 0, I[r + 3], 0, 0, 0)
            u, ud = value(I, F, e, True)
            udd = second_rate(I, F, e, of, ud) if last == 3 else 0.0
            if periodic and I[r + 6] != 0:
                u = counted(u, math.floor((F[I[r + 6]] - u) / (2 * math.pi) + 0.5))
            for i in range(first, last):
                F[I[r] + i - first] = u if i == 0 else ud if i == 1 else udd

    return coordinate


def point(tables: ProgramTables, place: str, order: int, weights: Weights = ORIGIN) -> int:
    """Return where a point of a face, its velocity or acceleration will be."""
    tables.second |= order == 2
    out = tables.room(3)
    tables.call(point_kernel, out, order, tables.face(place), tables.put(weights), 0, 0)
    return out


def turning(
    kernel_: Any, size: int, order: int = 0, *, body: bool = False
) -> Callable[[ProgramTables, str], int]:
    """Return the function that observes what a kernel writes of the directors of a face."""

    def add(tables: ProgramTables, place: str) -> int:
        tables.second |= order == 2
        rigid = tables.model.nodes[place.partition("/")[0]].formulation.rigid
        out = tables.room(size)
        tables.call(kernel_, out, order, tables.face(place), 0, int(rigid), int(body))
        return out

    return add


def accelerometer(tables: ProgramTables, place: str, weights: Weights = ORIGIN) -> int:
    """Return where what an accelerometer at a point of a face feels will be."""
    tables.second = True
    rigid = tables.model.nodes[place.partition("/")[0]].formulation.rigid
    out = tables.room(3)
    tables.call(
        accelerometer_kernel, out, 2, tables.face(place), tables.put(weights), int(rigid), 1
    )
    return out


def measured(
    tables: ProgramTables, measure: Measure, attachments: Sequence[Attachment],
    numbers: Sequence[float], orders: range, memory: int = 0,
) -> int:  # fmt: skip
    """Return where a measure, or some of its rates, will be; `memory` is where its turns are."""
    tables.second |= orders.stop == 3
    tables.scratch = max(tables.scratch, m.SCRATCH_OWN + m.SCRATCH_EACH * measure.n + measure.work)
    out, ends = tables.room(len(orders)), tables.ends(attachments)
    constants, zero = tables.put((*numbers, 0.0)), tables.put((0.0,))
    tables.call(
        coordinate_kernel(measure), out, orders.start, orders.stop, ends, constants, zero, memory
    )
    return out
