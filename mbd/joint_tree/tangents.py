r"""Derivatives of efforts by the model's own tangents, of its forces and of loops.

A direction moves the coordinates of the tree by d, their rates by e, their second rates by g. With
:math:`\psi, \psi^2` of ``recursions.py`` links then change, beyond a turn and a shift D of all that
they do, by

.. math:: D_k = D_p + S d, \qquad U_k = U_p + \psi d + S e, \qquad
          B_k = B_p + \psi^2 d + (S' + \psi) e + S g,

.. math:: \delta x = D(x), \qquad \delta\dot x = w_D\times\dot x + U(x), \qquad
          \delta\ddot x = w_D\times\ddot x + 2 w_U\times\dot x + B(x),

where :math:`X(x) = v + w\times x`. These are the maps of an attachment by eighteen velocities of
its link, and with them the tangents of elements write blocks T. Efforts of forces change by

.. math:: \delta f_a = \sum_b T_{ab}(D, U, B)_b + \sum_k (\delta y_k\times f_k, 0), \qquad
          \delta\tau_j = S_j^T\delta f^C + (D_p\times S_j)^T f^C .

Loops. With multipliers that leave nothing along dependent columns, :math:`G_d^T\lambda = -\tau_d`,
:math:`\tau_r = Z^T(\tau + G^T\lambda)` does not see how Z changes, as only its rows of these
columns do:

.. math:: \delta\tau_r = Z^T(\delta\tau + \delta G^T\lambda), \qquad d = Z d_i,
          \qquad G e = -\delta\dot\Phi, \qquad G g = -\delta\ddot\Phi .

Rows' tangents give :math:`\delta G^T\lambda`. Changes of their rates are differences of fourth
order along :math:`\delta y, \delta\dot y, \delta\ddot y`, exact for rows that are at most quadratic
in the face, as those of joints are.
"""

from collections.abc import Sequence
from typing import Any

from mbd.algebra.differences import FOURTH
from mbd.algebra.vec import clear, copy, cross, load3, load6, plus, store3, store6, times, weighted
from mbd.joint_tree import layout as t
from mbd.joint_tree.efforts import take_forces
from mbd.joint_tree.loops import add_rates, clear_last, follow_last
from mbd.joint_tree.recursions import add6, dot6, plus6, turned
from mbd.joint_tree.tables import TreeLoop, TreeTables
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, kernel, maps_kernel
from mbd.model.frozen import FrozenModel

_WIDTH, _WITH_MASS = 12, 20  # columns of blocks: (D, U), or (D, U, B) and what makes them fours
_ROWS = 40  # more than an element has


# --- tables ---------------------------------------------------------------------------------------
def add_tangents(
    tables: TreeTables, model: FrozenModel, loops: Sequence[TreeLoop], links: dict[str, int]
) -> None:
    """Write the tables of all elements' tangents, on links by body, with blocks of their own."""
    I, h = model.I, tables.header
    bodies = {record: name for name, record in model.node_records.items()}
    some = [(x.kind.accelerated, model.records[part][i], x)
            for part, own in model.elements.items() for i, x in enumerate(own)
            if x.kind.own_block or not x.kind.n_rows]  # fmt: skip
    some += [(False, model.records[part][i], x)
             for loop in loops for part, i, x, _ in loop.elements]  # fmt: skip
    width = _WITH_MASS if any(heavy for heavy, _, _ in some) else _WIDTH
    spare = tables.room(_ROWS * _WITH_MASS)
    ends, blocks, by_kind = dict[int, int](), dict[tuple[int, int], int](), dict[Any, list[int]]()
    link_of = dict[int, int]()

    def copied(at: int) -> int:
        """Return an attachment with the maps of its link; the ground has none."""
        if at not in ends:
            end = [int(x) for x in I[at : at + m.ATT_SIZE]]
            link_of[at] = links[bodies[end[m.ATT_NODE]]] if end[m.ATT_N] else -1
            own = end[m.ATT_Y], end[m.ATT_W], width, link_of[at] + 1, 0, m.P
            ends[at] = tables.table(own) if end[m.ATT_N] else at
        return ends[at]

    def block(a: int, b: int) -> tuple[int, int]:
        if a < 0 or b < 0:
            return 0, 0
        if (a, b) not in blocks:
            blocks[a, b] = tables.room(width * width)
        return blocks[a, b], width

    h[t.T_BLOCK] = tables.end
    for _, record, e in some:
        if e.kind.tangent is None:
            continue
        at = [int(x) for x in I[record + m.E_ENDS :][: e.kind.n_attachments]]
        own = [*(int(x) for x in I[record : record + m.E_ENDS]), *map(copied, at)]
        own += (spare, width, spare, e.kind.n_rows) * len(at) * bool(e.kind.n_rows)
        own += (spare, e.kind.n_rows) * e.kind.own_block
        own += [x for a, b in e.kind.pairs for x in block(link_of[at[a]], link_of[at[b]])]
        by_kind.setdefault(e.kind, []).extend(own)
    h[t.T_BLOCK_END], h[t.T_WIDTH] = tables.end, width
    h[t.T_BLOCKS] = tables.table(x for (a, b), to in blocks.items() for x in (a, b, to))
    h[t.T_N_BLOCKS], h[t.T_N_TANGENTS] = len(blocks), len(by_kind)
    stage = list[int]()
    for of, records in by_kind.items():
        head = of.head(0, tables.table(records))
        head[m.T_NUMBER] = len(records) // head[m.T_SIZE]
        stage += (*m.halves(of.tangent.address), tables.table(head))
    h[t.T_TANGENTS] = tables.table(stage)
    h[t.T_MAPS] = tables.table((*m.halves(_maps.address), *m.halves(_second_maps.address)))
    n, f = h[t.T_N], h[t.T_F]
    h[t.T_ADDRESSES], h[t.T_ALONG], h[t.T_CHANGE] = (tables.room(x) for x in (4, 3 * n, n))
    h[t.T_FACES] = tables.room(72 * h[t.T_LINKS])
    h[t.T_IDQ], h[t.T_IDV] = (
        (tables.room(f * f), tables.room(f * f)) if loops else (h[t.T_DQ], h[t.T_DV])
    )
    h[t.T_ZD] = tables.room(n * f)
    heavy = {e.kind.forces for is_heavy, _, e in some if is_heavy}
    stage = [x for k, at in model.kernels[m.FORCES] if k in heavy
             for x in (*m.halves(k.address), at)]  # fmt: skip
    h[t.T_HEAVY], h[t.T_N_HEAVY] = tables.table(stage), len(stage) // 3


@jit
def _spin(F: Any, to: int, i: int, e: int, x: Any, s: float) -> None:
    """Write s e x x, of an axis e, to column i of a map."""
    a = s * (e == 0), s * (e == 1), s * (e == 2)
    y = cross(a, x)
    for c in range(3):
        F[to + m.MAP_ROW * c + i] = y[c]


@maps_kernel
def _maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
    """Write P, P_T and D of an attachment by (D, U, B) of its link."""
    x = weighted(F, I[m.Y] + I[a + m.ATT_Y], I[a + m.ATT_W])
    xd = weighted(F, I[m.YD] + I[a + m.ATT_Y], I[a + m.ATT_W])
    clear(F, to, 9 * m.MAP_ROW)
    for j in range(3):
        _spin(F, to + m.P, j, j, x, 1.0)
        _spin(F, to + m.PT, j, j, x, 1.0)
        _spin(F, to + m.DP, j, j, xd, 1.0)
        _spin(F, to + m.DP, j + 6, j, x, 1.0)
        row, w0 = m.MAP_ROW * j, F[I[a + m.ATT_W]]
        F[to + m.P + row + j + 3] = F[to + m.PT + row + j + 3] = F[to + m.DP + row + j + 9] = w0


@maps_kernel
def _second_maps(I: Any, F: Any, a: int, to: int, rate: int) -> None:
    """Write the map of accelerations by (D, U, B) of its link."""
    clear(F, to, m.SECOND_SIZE)
    x = weighted(F, I[m.Y] + I[a + m.ATT_Y], I[a + m.ATT_W])
    xd = weighted(F, I[m.YD] + I[a + m.ATT_Y], I[a + m.ATT_W])
    xdd = weighted(F, I[m.YDD] + I[a + m.ATT_Y], I[a + m.ATT_W])
    for j in range(3):
        _spin(F, to + m.AQ, j, j, xdd, 1.0)
        _spin(F, to + m.AQ, j + 6, j, xd, 2.0)
        _spin(F, to + m.AQ, j + 12, j, x, 1.0)
        F[to + m.AQ + m.MAP_ROW * j + j + 15] = F[I[a + m.ATT_W]]


@kernel
def form_blocks(I: Any, F: Any, k: int) -> None:
    """Write the blocks of all elements, at the faces and rates that are shown."""
    S, maps = ints(F), I[k + t.T_ADDRESSES]
    clear(F, I[k + t.T_BLOCK], I[k + t.T_BLOCK_END] - I[k + t.T_BLOCK])
    S[maps], S[maps + 2] = address_at(I, I[k + t.T_MAPS]), address_at(I, I[k + t.T_MAPS] + 2)
    first, second = S[m.MAPS], S[m.SECOND_MAPS]
    S[m.MAPS], S[m.SECOND_MAPS] = maps, maps + 2
    F[m.W_M], F[m.W_G], F[m.W_K], F[m.SCALE_R] = 0.0, 0.0, 1.0, 1.0
    F[m.ROW_TURN] = F[m.POSITION_TURN] = 0.0
    stage = I[k + t.T_TANGENTS]
    for i in range(stage, stage + 3 * I[k + t.T_N_TANGENTS], 3):
        call(address_at(I, i), I, F, I[i + 2])
    S[m.MAPS], S[m.SECOND_MAPS] = first, second


# --- along a direction ----------------------------------------------------------------------------
@jit
def _vary(I: Any, F: Any, k: int) -> None:
    """Write D, U and B of all links along a direction, and which of them it moves."""
    n, d = I[k + t.T_N], I[k + t.T_ALONG]
    for l in t.links(I, k):
        to, parent = I[l + t.L_NUMBERS], I[l + t.L_PARENT]
        F[to + t.N_MOVED] = F[parent + t.N_MOVED]
        copy(F, to + t.N_D, parent + t.N_D, t.N_DF - t.N_D)
        for j in t.columns(I, l):
            s = t.numbers_of(I, k, j)
            by_q, by_v, by_a = F[d + j], F[d + n + j], F[d + 2 * n + j]
            if by_q == by_v == by_a == 0.0:
                continue
            F[to + t.N_MOVED] = 1.0
            S, psi = load6(F, s), load6(F, s + t.C_PSI)
            add6(F, to + t.N_D, by_q, S)
            add6(F, to + t.N_U, by_q, psi)
            add6(F, to + t.N_U, by_v, S)
            add6(F, to + t.N_B, by_q, load6(F, s + t.C_PSI2))
            add6(F, to + t.N_B, by_v, plus6(load6(F, s + t.C_RATE), 1.0, psi))
            add6(F, to + t.N_B, by_a, S)


@jit
def _change(I: Any, F: Any, k: int) -> None:
    """Write how the efforts of forces change along a direction, to CHANGE."""
    links, width = I[k + t.T_LINK], I[k + t.T_WIDTH]
    for l in t.links(I, k):
        link, face = I[l + t.L_NUMBERS], I[l + t.L_FACE] - 1
        clear(F, link + t.N_DF, 6)
        if face < 0 or F[link + t.N_MOVED] == 0.0:
            continue
        (w, v), y, f = load6(F, link + t.N_D), I[m.Y] + face, I[m.FY] + face
        turning = cross(v, load3(F, f))
        for j in range(0, 12, 3):
            turning = plus(turning, cross(cross(w, load3(F, y + j)), load3(F, f + j)))
        store3(F, link + t.N_DF, turning)
    for i in range(I[k + t.T_BLOCKS], I[k + t.T_BLOCKS] + 3 * I[k + t.T_N_BLOCKS], 3):
        a = I[links + I[i] * t.L_SIZE + t.L_NUMBERS]
        b = I[links + I[i + 1] * t.L_SIZE + t.L_NUMBERS]
        if F[b + t.N_MOVED] == 0.0:
            continue
        for r in range(6):
            x = 0.0
            for c in range(min(width, 18)):
                x += F[I[i + 2] + r * width + c] * F[b + t.N_D + c]
            F[a + t.N_DF + r] += x
    for l in t.links_inward(I, k):
        link, parent = I[l + t.L_NUMBERS], I[l + t.L_PARENT]
        f, held, D = load6(F, link + t.N_DF), load6(F, link + t.N_FORCE), load6(F, parent + t.N_D)
        for j in t.columns(I, l):
            S = load6(F, t.numbers_of(I, k, j))
            F[I[k + t.T_CHANGE] + j] = dot6(S, f) + dot6(turned(D, S), held)
        add6(F, parent + t.N_DF, 1.0, f)


@jit
def _add_changes(I: Any, F: Any, k: int, which: int, to: int) -> None:
    """Add changes by each coordinate (0), rate (1) or second rate (2) to columns of a matrix."""
    n, d, change = I[k + t.T_N], I[k + t.T_ALONG], I[k + t.T_CHANGE]
    clear(F, d, 3 * n)
    for j in range(n):
        F[d + which * n + j] = 1.0
        _vary(I, F, k)
        _change(I, F, k)
        F[d + which * n + j] = 0.0
        for i in range(n):
            F[to + i * n + j] += F[change + i]


@kernel
def clear_matrices(I: Any, F: Any, k: int) -> None:
    """Write zero to M and to the slopes, also between branches, where forces couple them."""
    for to in (t.T_M, t.T_DQ, t.T_DV):
        clear(F, I[k + to], I[k + t.T_N] ** 2)


@kernel
def add_slopes(I: Any, F: Any, k: int) -> None:
    """Add the slopes of forces by q and by v, after `form_blocks`, with their sums on links."""
    _add_changes(I, F, k, 0, I[k + t.T_DQ])
    _add_changes(I, F, k, 1, I[k + t.T_DV])


@kernel
def add_masses(I: Any, F: Any, k: int) -> None:
    """Add to M what elements with mass ask for, after `form_blocks`."""
    _add_changes(I, F, k, 2, I[k + t.T_M])


@jit
def _push_heavy(I: Any, F: Any, k: int, s: float) -> None:
    """Add s times the forces of elements with mass to those on the links."""
    clear(F, I[m.FY], 12 * I[m.N_FACES])
    stage = I[k + t.T_HEAVY]
    for i in range(stage, stage + 3 * I[k + t.T_N_HEAVY], 3):
        call(address_at(I, i), I, F, I[i + 2])
    take_forces(I, F, k, s)


@kernel
def add_weightless(I: Any, F: Any, k: int) -> None:
    """Add the forces of elements with mass, without their weight."""
    g = load3(F, m.GX)
    store3(F, m.GX, (0.0, 0.0, 0.0))
    _push_heavy(I, F, k, 1.0)
    store3(F, m.GX, g)


@kernel
def add_weights(I: Any, F: Any, k: int) -> None:
    """Add the weights of elements with mass: forces with gravity less those without."""
    _push_heavy(I, F, k, 1.0)
    g = load3(F, m.GX)
    store3(F, m.GX, (0.0, 0.0, 0.0))
    _push_heavy(I, F, k, -1.0)
    store3(F, m.GX, g)


# --- loops ----------------------------------------------------------------------------------------
@jit
def _keep_faces(I: Any, F: Any, k: int) -> None:
    """Keep faces and rates, and their changes along (D, U, B) of the links."""
    for i in range(I[k + t.T_LINKS]):
        l = I[k + t.T_LINK] + i * t.L_SIZE
        link, at, kept = I[l + t.L_NUMBERS], I[l + t.L_FACE] - 1, I[k + t.T_FACES] + 72 * i
        if at < 0:
            continue
        D, U, B = load6(F, link + t.N_D), load6(F, link + t.N_U), load6(F, link + t.N_B)
        for j in range(0, 12, 3):
            y, yd = load3(F, I[m.Y] + at + j), load3(F, I[m.YD] + at + j)
            ydd = load3(F, I[m.YDD] + at + j)
            store3(F, kept + j, y)
            store3(F, kept + 12 + j, yd)
            store3(F, kept + 24 + j, ydd)
            s = 1.0 if j == 0 else 0.0
            store3(F, kept + 36 + j, _field(D, y, s))
            store3(F, kept + 48 + j, plus(cross(D[0], yd), _field(U, y, s)))
            turning = plus(cross(D[0], ydd), times(2.0, cross(U[0], yd)))
            store3(F, kept + 60 + j, plus(turning, _field(B, y, s)))


@jit
def _field(X: Any, x: Any, s: float) -> Any:
    """Return s v + w x x."""
    return plus(times(s, X[1]), cross(X[0], x))


@jit
def _move_faces(I: Any, F: Any, k: int, s: float) -> None:
    """Write the faces that are kept, moved by s."""
    for i in range(I[k + t.T_LINKS]):
        at, kept = I[I[k + t.T_LINK] + i * t.L_SIZE + t.L_FACE] - 1, I[k + t.T_FACES] + 72 * i
        for j in range(0 if at < 0 else 12):
            F[I[m.Y] + at + j] = F[kept + j] + s * F[kept + 36 + j]
            F[I[m.YD] + at + j] = F[kept + 12 + j] + s * F[kept + 48 + j]
            F[I[m.YDD] + at + j] = F[kept + 24 + j] + s * F[kept + 60 + j]


@jit
def _follow(I: Any, F: Any, k: int, which: int, rest: float, to: int) -> None:
    r"""Write -G_d^-1 times the change of rates of rows, PHID or PHIDD, by the links' (D, U, B).

    The time moves by `rest` too.
    """
    d, size = I[k + t.T_ALONG], rest
    for j in range(I[k + t.T_N]):
        size = max(size, abs(F[d + j]) / F[I[k + t.T_UNITS] + j])
    h = FOURTH / size if size > 0.0 else 1.0
    now = F[m.T]
    _keep_faces(I, F, k)
    clear_last(I, F, k)
    for step, weight in ((h, 8.0), (-h, -8.0), (2 * h, -1.0), (-2 * h, 1.0)):
        F[m.T] = now + rest * step
        _move_faces(I, F, k, step)
        add_rates(I, F, k, which, weight / (12 * h))
    F[m.T] = now
    _move_faces(I, F, k, 0.0)
    follow_last(I, F, k, to)


@jit
def _reduce(I: Any, F: Any, k: int, i: int, to: int) -> None:
    """Write Z^T times the change of all efforts along a direction to column i of a matrix."""
    n, f, Z = I[k + t.T_N], I[k + t.T_F], I[k + t.T_Z]
    d, change = I[k + t.T_ALONG], I[k + t.T_CHANGE]
    _vary(I, F, k)
    _change(I, F, k)
    for r in range(n):
        for c in range(n):
            F[change + r] += F[I[k + t.T_DQ] + r * n + c] * F[d + c]
            F[change + r] += F[I[k + t.T_DV] + r * n + c] * F[d + n + c]
            F[change + r] += F[I[k + t.T_M] + r * n + c] * F[d + 2 * n + c]
    for r in range(f):
        x = 0.0
        for c in range(n):
            x += F[Z + c * f + r] * F[change + c]
        F[to + r * f + i] = x


@kernel
def reduce_slopes(I: Any, F: Any, k: int) -> None:
    """Write the slopes by independent coordinates and rates, after `form_blocks`."""
    n, f, Z, d = I[k + t.T_N], I[k + t.T_F], I[k + t.T_Z], I[k + t.T_ALONG]
    for which, to in ((0, I[k + t.T_IDQ]), (1, I[k + t.T_IDV])):
        for i in range(f):
            clear(F, d, 3 * n)
            for j in range(n):
                F[d + which * n + j] = F[Z + j * f + i]
            _vary(I, F, k)
            if which == 0:
                _follow(I, F, k, m.PHID, 0.0, d + n)
                _vary(I, F, k)
            _follow(I, F, k, m.PHIDD, 0.0, d + 2 * n)
            _reduce(I, F, k, i, to)


@kernel
def rate_of_Z(I: Any, F: Any, k: int) -> None:
    r"""Write the rate of Z: :math:`G\dot Z = -\dot G Z`, after `move`.

    G y are the rates of rows where velocities are y; it changes as the columns move, and in time,
    from which the rates of rows that nothing moves are subtracted.
    """
    n, f, Z, ZD = I[k + t.T_N], I[k + t.T_F], I[k + t.T_Z], I[k + t.T_ZD]
    d, still = I[k + t.T_ALONG], I[k + t.T_CHANGE]
    clear(F, d, 3 * n)
    copy(F, d, I[k + t.T_V], n)
    for i in range(-1, f):
        for l in t.links(I, k):
            to, parent = I[l + t.L_NUMBERS], I[l + t.L_PARENT]
            store6(F, to + t.N_D, load6(F, to + t.N_V))
            U, W = load6(F, parent + t.N_U), load6(F, parent + t.N_B)
            for j in t.columns(I, l):
                S = load6(F, t.numbers_of(I, k, j))
                W = plus6(W, F[Z + j * f + i] if i >= 0 else 0.0, S)
            for j in t.columns(I, l):
                S = load6(F, t.numbers_of(I, k, j))
                U = plus6(U, F[d + j], turned(W, S))
            store6(F, to + t.N_U, U)
            store6(F, to + t.N_B, W)
            at = I[l + t.L_FACE] - 1
            for j in range(0 if at < 0 else 12):
                if j % 3 == 0:
                    y = load3(F, I[m.Y] + at + j)
                    store3(F, I[m.YD] + at + j, _field(W, y, 1.0 if j == 0 else 0.0))
        _follow(I, F, k, m.PHID, 1.0, d + n)
        for j in range(n):
            if i < 0:
                F[still + j] = F[d + n + j]
            else:
                F[ZD + j * f + i] = F[d + n + j] - F[still + j]
