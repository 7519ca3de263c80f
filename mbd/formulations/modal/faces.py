"""Faces of a body with modes: the frame, interfaces, and products that carry mass."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from mbd.algebra.vec import add3, cross, load3, plus, times
from mbd.formulations.formulation import Formulation
from mbd.formulations.modal.constants import (
    ACCELERATION,
    DP,
    FRAME,
    ONE,
    PLACES,
    PT,
    VELOCITY,
    WORK,
    P,
    table,
)
from mbd.machine.buffer import MAP_ROW
from mbd.machine.jit import jit


@jit
def motion(F: Any, at: int, n: int, p: int, s: float) -> Any:
    """Return s X + sum_j p_j a_j and sum_j p_j theta_j of the interface at F[at]."""
    x, turn = times(s, load3(F, at)), (0.0, 0.0, 0.0)
    for j in range(n):
        x = plus(x, times(F[p + j], load3(F, at + 3 + 6 * j)))
        turn = plus(turn, times(F[p + j], load3(F, at + 6 + 6 * j)))
    return x, turn


@jit
def combined(F: Any, y: int, a: Any) -> Any:
    """Return a_1 d_1 + a_2 d_2 + a_3 d_3."""
    d = plus(times(a[0], load3(F, y + 3)), times(a[1], load3(F, y + 6)))
    return plus(d, times(a[2], load3(F, y + 9)))


@jit
def unit(i: int) -> Any:
    """Return the unit vector e_i."""
    return 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2)


@jit
def add_shown(F: Any, y: int, to: int, s: float, x: Any, turn: Any) -> None:
    """Add the face s y at the place x, turned by s 1 + tilde(turn)."""
    add3(F, to, s, load3(F, y))
    add3(F, to, 1.0, combined(F, y, x))
    for i in range(3):
        e = unit(i)
        add3(F, to + 3 * i + 3, 1.0, combined(F, y, plus(times(s, e), cross(turn, e))))


@jit
def add_back(F: Any, f: int, to: int, s: float, x: Any, turn: Any) -> None:
    """Add what forces f on such a face are on y: the transpose of `add_shown`."""
    add3(F, to, s, load3(F, f))
    for k in range(3):
        add3(F, to + 3 * k + 3, x[k], load3(F, f))
        for i in range(3):
            e = unit(i)
            a = plus(times(s, e), cross(turn, e))
            add3(F, to + 3 * k + 3, a[k], load3(F, f + 3 * i + 3))


@jit
def pull(F: Any, par: int, y: int, f: int, to: int, j: int) -> Any:
    """Write by how much p_j raises the load on the frame; return the load on p_j."""
    n, k, at, total = int(F[par]), int(F[par + 1]), table(F, par, PLACES), 0.0
    for i in range(12):
        F[to + i] = 0.0
    for i in range(k):
        one = at + i * (3 + 6 * n) + 3 + 6 * j
        add_back(F, f + 12 * (1 + i), to, 0.0, load3(F, one), load3(F, one + 3))
    for i in range(12):
        total += F[to + i] * F[y + i]
    return total


@jit
def gathered(F: Any, par: int, w: int, c: int, s: float, to: int) -> None:
    """Write what weights w of all faces are on the frame, by modes at F[c] and s times as rigid."""
    n, k, at = int(F[par]), int(F[par + 1]), table(F, par, PLACES)
    for i in range(4):
        F[to + i] = s * F[w + i]
    for i in range(k):
        wi = w + 4 * (1 + i)
        if F[wi] != 0.0 or F[wi + 1] != 0.0 or F[wi + 2] != 0.0 or F[wi + 3] != 0.0:
            x, turn = motion(F, at + i * (3 + 6 * n), n, c, s)
            F[to] += s * F[wi]
            vector = plus(times(F[wi], x), times(s, load3(F, wi + 1)))
            add3(F, to + 1, 1.0, plus(vector, cross(turn, load3(F, wi + 1))))
    for j in range(n):
        for i in range(4):
            F[to + i] += F[c + j] * F[w + 4 * (1 + k + j) + i]


@jit
def weights_of_mode(F: Any, par: int, w: int, j: int) -> Any:
    """Return what weights w of all faces are on the frame by p_j: on its origin, on its axes."""
    n, k, at = int(F[par]), int(F[par + 1]), table(F, par, PLACES)
    w0, b = F[w + 4 * (1 + k + j)], load3(F, w + 4 * (1 + k + j) + 1)
    for i in range(k):
        wi, mode = w + 4 * (1 + i), at + i * (3 + 6 * n) + 3 + 6 * j
        b = plus(b, times(F[wi], load3(F, mode)))
        b = plus(b, cross(load3(F, mode + 3), load3(F, wi + 1)))
    return w0, b


class FaceFunctions(NamedTuple):
    """Faces of a node with their rates, and its maps, whatever the number of modes."""

    face: Any
    face_velocity: Any
    face_acceleration: Any
    maps: Any
    second_maps: Any


@cache
def faces_on(frame: Formulation) -> FaceFunctions:
    """Return the functions on a frame of this formulation."""
    n_b, n_q = frame.n_v, frame.n_q
    base_face, base_rate, base_second = frame.face, frame.face_velocity, frame.face_acceleration
    base_maps, base_second_maps = frame.maps, frame.second_maps

    @jit
    def face(F: Any, par: int, q: int, y: int) -> None:
        """Write the frame, the interfaces, the products."""
        n, k, at, p = int(F[par]), int(F[par + 1]), table(F, par, PLACES), q + n_q
        base_face(F, table(F, par, FRAME), q, y)
        for i in range(12, 12 * (1 + k + n)):
            F[y + i] = 0.0
        for i in range(k):
            x, turn = motion(F, at + i * (3 + 6 * n), n, p, 1.0)
            add_shown(F, y, y + 12 + 12 * i, 1.0, x, turn)
        for j in range(n):
            for i in range(12):
                F[y + 12 * (1 + k + j) + i] = F[p + j] * F[y + i]

    @jit
    def face_velocity(F: Any, par: int, q: int, y: int, v: int, yd: int) -> None:
        """Write the rates of all faces."""
        n, k, at, p, u = int(F[par]), int(F[par + 1]), table(F, par, PLACES), q + n_q, v + n_b
        base_rate(F, table(F, par, FRAME), q, y, v, yd)
        for i in range(12, 12 * (1 + k + n)):
            F[yd + i] = 0.0
        for i in range(k):
            one, to = at + i * (3 + 6 * n), yd + 12 + 12 * i
            x, turn = motion(F, one, n, p, 1.0)
            add_shown(F, yd, to, 1.0, x, turn)
            x, turn = motion(F, one, n, u, 0.0)
            add_shown(F, y, to, 0.0, x, turn)
        for j in range(n):
            for i in range(12):
                F[yd + 12 * (1 + k + j) + i] = F[p + j] * F[yd + i] + F[u + j] * F[y + i]

    @jit
    def face_acceleration(F: Any, par: int, q: int, y: int, v: int, a: int, ydd: int) -> None:
        """Write the second rates of all faces."""
        n, k, at, p, u, b = (
            int(F[par]), int(F[par + 1]), table(F, par, PLACES), q + n_q, v + n_b, a + n_b
        )  # fmt: skip
        own, yd = table(F, par, FRAME), table(F, par, WORK) + VELOCITY
        base_rate(F, own, q, y, v, yd)
        base_second(F, own, q, y, v, a, ydd)
        for i in range(12, 12 * (1 + k + n)):
            F[ydd + i] = 0.0
        for i in range(k):
            one, to = at + i * (3 + 6 * n), ydd + 12 + 12 * i
            x, turn = motion(F, one, n, p, 1.0)
            add_shown(F, ydd, to, 1.0, x, turn)
            x, turn = motion(F, one, n, u, 0.0)
            add_shown(F, yd, to, 0.0, times(2.0, x), times(2.0, turn))
            x, turn = motion(F, one, n, b, 0.0)
            add_shown(F, y, to, 0.0, x, turn)
        for j in range(n):
            for i in range(12):
                F[ydd + 12 * (1 + k + j) + i] = (
                    F[p + j] * F[ydd + i] + 2 * F[u + j] * F[yd + i] + F[b + j] * F[y + i]
                )

    @jit
    def maps(
        F: Any, par: int, q: int, y: int, v: int, d: int, w: int, P_: int, PT_: int, DP_: int,
        PV_: int, rate: int,
    ) -> None:  # fmt: skip
        """Write the maps of the weights that p gives to the frame, and the columns of p."""
        n, work, p, u = int(F[par]), table(F, par, WORK), q + n_q, v + n_b
        own, one, yd = table(F, par, FRAME), work + ONE, work + VELOCITY
        gathered(F, par, w, p, 1.0, one)
        if rate:  # the velocity of the weighted point is w yd + w' y
            gathered(F, par, w, u, 0.0, one + 4)
            base_maps(F, own, q, y, v, d, one + 4, work + P, work + PT, work + DP, work + P, 0)
            base_rate(F, own, q, y, v, yd)
        base_maps(F, own, q, y, v, d, one, P_, PT_, DP_, PV_, rate)
        if rate:
            for c in range(3):
                for i in range(n_b):
                    F[DP_ + MAP_ROW * c + i] += F[work + PT + MAP_ROW * c + i]
        for j in range(n):
            w0, b = weights_of_mode(F, par, w, j)
            x = plus(times(w0, load3(F, y)), combined(F, y, b))
            for c in range(3):
                F[P_ + MAP_ROW * c + n_b + j] = F[PT_ + MAP_ROW * c + n_b + j] = x[c]
            if rate:
                x = plus(times(w0, load3(F, yd)), combined(F, yd, b))
                for c in range(3):
                    F[DP_ + MAP_ROW * c + n_b + j] = x[c]

    @jit
    def second_maps(
        F: Any, par: int, q: int, y: int, v: int, a: int, d: int, w: int, AV_: int, AQ_: int
    ) -> None:
        """Write those of the weights w of p, twice w' = w(p') and w'' = w(p'') beside them."""
        n, work, p, u, b = int(F[par]), table(F, par, WORK), q + n_q, v + n_b, a + n_b
        own, one, yd, ydd = table(F, par, FRAME), work + ONE, work + VELOCITY, work + ACCELERATION
        base_rate(F, own, q, y, v, yd)
        base_second(F, own, q, y, v, a, ydd)
        gathered(F, par, w, p, 1.0, one)
        base_second_maps(F, own, q, y, v, a, d, one, AV_, AQ_)
        gathered(F, par, w, u, 0.0, one)
        base_maps(F, own, q, y, v, d, one, work + P, work + PT, work + DP, work + P, 1)
        for c in range(3):
            for i in range(n_b):
                to, from_ = MAP_ROW * c + i, work + MAP_ROW * c + i
                F[AV_ + to] += 2 * F[from_ + P]
                F[AQ_ + to] += 2 * F[from_ + DP]
        gathered(F, par, w, b, 0.0, one)
        base_maps(F, own, q, y, v, d, one, work + P, work + PT, work + DP, work + P, 0)
        for c in range(3):
            for i in range(n_b):
                F[AQ_ + MAP_ROW * c + i] += F[work + PT + MAP_ROW * c + i]
        for j in range(n):
            w0, x = weights_of_mode(F, par, w, j)
            by_rate = plus(times(w0, load3(F, yd)), combined(F, yd, x))
            by_mode = plus(times(w0, load3(F, ydd)), combined(F, ydd, x))
            for c in range(3):
                F[AV_ + MAP_ROW * c + n_b + j] = 2 * by_rate[c]
                F[AQ_ + MAP_ROW * c + n_b + j] = by_mode[c]

    return FaceFunctions(face, face_velocity, face_acceleration, maps, second_maps)
