"""Faces of a body with modes: the frame, interfaces, and products that carry mass."""

from functools import cache
from typing import Any, NamedTuple

from mbd.algebra.vec import add, add3, clear, cross, load3, plus, times, unit
from mbd.formulations.formulation import Formulation, MapRecord, SecondMapRecord
from mbd.formulations.modal import constants as mc
from mbd.formulations.modal.constants import frame_of, table, working_maps
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
    n, k, at, total = int(F[par]), int(F[par + 1]), table(F, par, mc.PLACES), 0.0
    clear(F, to, 12)
    for i in range(k):
        one = at + i * (3 + 6 * n) + 3 + 6 * j
        add_back(F, f + 12 * (1 + i), to, 0.0, load3(F, one), load3(F, one + 3))
    for i in range(12):
        total += F[to + i] * F[y + i]
    return total


@jit
def gathered(F: Any, par: int, w: int, c: int, s: float, to: int) -> None:
    """Write what weights w of all faces are on the frame, by modes at F[c] and s times as rigid."""
    n, k, at = int(F[par]), int(F[par + 1]), table(F, par, mc.PLACES)
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
        add(F, to, F[c + j], w + 4 * (1 + k + j), 4)


@jit
def weights_of_mode(F: Any, par: int, w: int, j: int) -> Any:
    """Return what weights w of all faces are on the frame by p_j: on its origin, on its axes."""
    n, k, at = int(F[par]), int(F[par + 1]), table(F, par, mc.PLACES)
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
    def face(F: Any, n: Any) -> None:
        """Write the frame, the interfaces, the products."""
        n_p, k, at, p = int(F[n.par]), int(F[n.par + 1]), table(F, n.par, mc.PLACES), n.q + n_q
        base_face(F, frame_of(F, n))
        clear(F, n.y + 12, 12 * (1 + k + n_p) - 12)
        for i in range(k):
            x, turn = motion(F, at + i * (3 + 6 * n_p), n_p, p, 1.0)
            add_shown(F, n.y, n.y + 12 + 12 * i, 1.0, x, turn)
        for j in range(n_p):
            for i in range(12):
                F[n.y + 12 * (1 + k + j) + i] = F[p + j] * F[n.y + i]

    @jit
    def face_velocity(F: Any, n: Any) -> None:
        """Write the rates of all faces."""
        n_p, k, at = int(F[n.par]), int(F[n.par + 1]), table(F, n.par, mc.PLACES)
        p, u, b = n.q + n_q, n.v + n_b, frame_of(F, n)
        base_rate(F, b)
        for i in range(12 * (1 + k + n_p)):
            F[n.yd + i] = F[b.yd + i] if i < 12 else 0.0
        for i in range(k):
            one, to = at + i * (3 + 6 * n_p), n.yd + 12 + 12 * i
            x, turn = motion(F, one, n_p, p, 1.0)
            add_shown(F, n.yd, to, 1.0, x, turn)
            x, turn = motion(F, one, n_p, u, 0.0)
            add_shown(F, n.y, to, 0.0, x, turn)
        for j in range(n_p):
            for i in range(12):
                F[n.yd + 12 * (1 + k + j) + i] = F[p + j] * F[n.yd + i] + F[u + j] * F[n.y + i]

    @jit
    def face_acceleration(F: Any, n: Any) -> None:
        """Write the second rates of all faces."""
        n_p, k, at = int(F[n.par]), int(F[n.par + 1]), table(F, n.par, mc.PLACES)
        p, u, a, b = n.q + n_q, n.v + n_b, n.a + n_b, frame_of(F, n)
        base_rate(F, b)
        base_second(F, b)
        for i in range(12 * (1 + k + n_p)):
            F[n.ydd + i] = F[b.ydd + i] if i < 12 else 0.0
        for i in range(k):
            one, to = at + i * (3 + 6 * n_p), n.ydd + 12 + 12 * i
            x, turn = motion(F, one, n_p, p, 1.0)
            add_shown(F, n.ydd, to, 1.0, x, turn)
            x, turn = motion(F, one, n_p, u, 0.0)
            add_shown(F, b.yd, to, 0.0, times(2.0, x), times(2.0, turn))
            x, turn = motion(F, one, n_p, a, 0.0)
            add_shown(F, n.y, to, 0.0, x, turn)
        for j in range(n_p):
            for i in range(12):
                F[n.ydd + 12 * (1 + k + j) + i] = (
                    F[p + j] * F[n.ydd + i] + 2 * F[u + j] * F[b.yd + i] + F[a + j] * F[n.y + i]
                )

    @jit
    def maps(F: Any, n: Any, to: Any) -> None:
        """Write the maps of the weights that p gives to the frame, and the columns of p."""
        n_p, work, p, u = int(F[n.par]), table(F, n.par, mc.WORK), n.q + n_q, n.v + n_b
        b, one = frame_of(F, n), work + mc.ONE
        gathered(F, n.par, to.w, p, 1.0, one)
        if to.rate:  # the velocity of the weighted point is w yd + w' y
            gathered(F, n.par, to.w, u, 0.0, one + 4)
            base_maps(F, b, working_maps(work, one + 4, 0))
            base_rate(F, b)
        base_maps(F, b, MapRecord(one, to.P, to.PT, to.DP, to.PV, to.rate, to.still))
        if to.rate:
            for c in range(3):
                add(F, to.DP + MAP_ROW * c, 1.0, work + mc.PT + MAP_ROW * c, n_b)
        for j in range(n_p):
            w0, c = weights_of_mode(F, n.par, to.w, j)
            x = plus(times(w0, load3(F, n.y)), combined(F, n.y, c))
            for i in range(3):
                F[to.P + MAP_ROW * i + n_b + j] = F[to.PT + MAP_ROW * i + n_b + j] = x[i]
            if to.rate:
                x = plus(times(w0, load3(F, b.yd)), combined(F, b.yd, c))
                for i in range(3):
                    F[to.DP + MAP_ROW * i + n_b + j] = x[i]

    @jit
    def second_maps(F: Any, n: Any, to: Any) -> None:
        """Write those of the weights w of p, twice w' = w(p') and w'' = w(p'') next to them."""
        n_p, work, b = int(F[n.par]), table(F, n.par, mc.WORK), frame_of(F, n)
        p, u, a, one = n.q + n_q, n.v + n_b, n.a + n_b, work + mc.ONE
        base_rate(F, b)
        base_second(F, b)
        gathered(F, n.par, to.w, p, 1.0, one)
        base_second_maps(F, b, SecondMapRecord(one, to.AV, to.AQ))
        gathered(F, n.par, to.w, u, 0.0, one)
        base_maps(F, b, working_maps(work, one, 1))
        for c in range(3):
            for i in range(n_b):
                at = MAP_ROW * c + i
                F[to.AV + at] += 2 * F[work + mc.P + at]
                F[to.AQ + at] += 2 * F[work + mc.DP + at]
        gathered(F, n.par, to.w, a, 0.0, one)
        base_maps(F, b, working_maps(work, one, 0))
        for c in range(3):
            add(F, to.AQ + MAP_ROW * c, 1.0, work + mc.PT + MAP_ROW * c, n_b)
        for j in range(n_p):
            w0, x = weights_of_mode(F, n.par, to.w, j)
            by_rate = plus(times(w0, load3(F, b.yd)), combined(F, b.yd, x))
            by_mode = plus(times(w0, load3(F, b.ydd)), combined(F, b.ydd, x))
            for c in range(3):
                F[to.AV + MAP_ROW * c + n_b + j] = 2 * by_rate[c]
                F[to.AQ + MAP_ROW * c + n_b + j] = by_mode[c]

    return FaceFunctions(face, face_velocity, face_acceleration, maps, second_maps)
