r"""Gradients and Hessians of measures, summed on faces and added to the matrix.

With the gradient g, the vectors n and the numbers h, :math:`\kappa`, :math:`\mu` of a measure
(``measures.py``), :math:`\gamma = \sum_a P_a g_a`, :math:`\nu = \sum_a P_a n_a` on each face and
the same with the trial map, :math:`\gamma', \nu'`, the Hessian adds to the block of two faces

.. math:: \gamma\,(\kappa\gamma' - \nu')^T + \nu\,(\mu\nu' - \gamma')^T
          + \sum_{ab} h_{ab} P_a P_{T,b}^T .

That of a full measure is added pair by pair, :math:`\sum_{ab} P_a H_{ab} P_{T,b}^T`.
"""

from functools import cache
from typing import Any

from mbd.algebra.vec import ZERO, dot, load3, minus, plus, store3, times
from mbd.interactions import measures as ms
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.measures import Measure
from mbd.interactions.pullback import at, each
from mbd.interactions.turns import counted, keep, remember
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, jit, measure_call
from mbd.machine.simd import add_outer1, add_outer2

GAMMA, NU, X, Z, ROW = 0, 1, 2, 3, 4  # vectors on a face: gamma, nu, what they are multiplied by


@jit
def vectors(I: Any, of: Any, which: int) -> int:
    """Return where XA, XD, HXD or GRAD of a measure begin; of a full one after all maps."""
    return on.vector(I, of.n, 0) + which // 4 * of.n if of.full else I[m.SCRATCH] + which


@jit
def gradient(I: Any, F: Any, of: Any, a: int) -> Any:
    """Return the gradient of a measure by attachment a."""
    return load3(F, vectors(I, of, ms.GRAD) + 3 * a)


@cache
def evaluation(measure: Measure, first: int, bends: bool = False) -> Any:
    """Return a function that evaluates a measure at its vectors, with numbers from `first` on.

    Where it ``bends``, the Hessian is wanted too.
    """
    evaluate, of, flag = measure.evaluate, measure.shape, int(bends)
    if measure.full:

        @jit
        def full(I: Any, F: Any, e: Any) -> float:
            x, k = vectors(I, of, ms.XA), e.numbers + first
            return measure_call(address_at(I, e.code), F, x, k, flag)  # type: ignore[no-any-return]

        return full

    @jit
    def closed(I: Any, F: Any, e: Any) -> float:
        return evaluate(F, I[m.SCRATCH])  # type: ignore[no-any-return]

    return closed


@cache
def value_of(measure: Measure, first: int = 0, bends: bool = False) -> Any:
    """Return a function that evaluates a measure; with ``rates`` it leaves those of its vectors.

    It returns u and du/dt or zero; of an angle u counts turns, by the memory of the element.
    Numbers of the measure are those of the element from `first` on. A tangent needs one that
    ``bends``.
    """
    if not measure.full and (first or bends):  # which reads no numbers and leaves its Hessian
        return value_of(measure)
    evaluate, of, periodic = evaluation(measure, first, bends), measure.shape, measure.periodic

    @jit
    def value(I: Any, F: Any, e: Any, rates: bool) -> Any:
        moves = rates or (periodic and F[m.T] != F[m.T_LAST])
        _load(I, F, e, of, moves or of.full)
        u = evaluate(I, F, e)
        rate = _rate(I, F, of, ms.GRAD) if moves else 0.0
        if periodic:
            u = counted(I, F, e.memory, u, rate)
        return u, rate

    return value


@cache
def accept_of(measure: Measure) -> Any:
    """Return the kernel that remembers the angle of an accepted pose and its rate, if it is one."""
    if not measure.periodic:
        return None
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, ud = value(I, F, e, True)
        remember(I, F, e.memory, u, ud)

    return accept


@cache
def unwrapped_angle(measure: Measure) -> Kind:
    """Return the kind that counts the turns of a periodic measure, and exerts no force.

    The angle is part of the state: results and continued runs take the full turns from there.
    """
    value = value_of(measure)

    @each
    def accept(I: Any, F: Any, e: Any) -> None:
        u, rate = value(I, F, e, True)
        keep(I, F, e.memory, u, rate)

    return Kind(f"turns of {measure.name}", measure.n, 0, (), None, None, accept=accept, turns=True)


@jit
def _load(I: Any, F: Any, e: Any, of: Any, rates: bool) -> None:
    """Leave the vectors, with ``rates`` theirs too."""
    x, xd = vectors(I, of, ms.XA), vectors(I, of, ms.XD)
    for a in range(of.n):
        store3(F, x + 3 * a, at(I, F, m.Y, I[e.ends + a]))
        if rates:
            store3(F, xd + 3 * a, at(I, F, m.YD, I[e.ends + a]))


@jit
def _rate(I: Any, F: Any, of: Any, which: int) -> float:
    """Return g.x' of the vectors, or n.x'."""
    g, xd, total = vectors(I, of, which), vectors(I, of, ms.XD), 0.0
    for a in range(of.n):
        total += dot(load3(F, g + 3 * a), load3(F, xd + 3 * a))
    return total


@jit
def _turn(I: Any, F: Any, of: Any, rate: float) -> float:
    """Return n.x', where a rate asks for it and there is an n."""
    return _rate(I, F, of, ms.NORMAL) if rate != 0.0 and not of.full else 0.0


@jit
def second_rate(I: Any, F: Any, e: Any, of: Any, ud: float) -> float:
    """Return g.x'' + x'.H x', the second time derivative; ud = g.x' was evaluated just now."""
    total = 0.0
    if of.full:
        hx, xd = vectors(I, of, ms.HXD), vectors(I, of, ms.XD)
        for a in range(of.n):
            total += dot(load3(F, hx + 3 * a), load3(F, xd + 3 * a))
    else:
        total = ms.along(F, I[m.SCRATCH], of, ud)
    for a in range(of.n):
        total += dot(gradient(I, F, of, a), at(I, F, m.YDD, I[e.ends + a]))
    return total


@jit
def change_of_gradient(I: Any, F: Any, of: Any, a: int, ud: float, turn: float) -> Any:
    """Return (H x')_a with ud = g.x' and turn = n.x'."""
    if of.full:
        return load3(F, vectors(I, of, ms.HXD) + 3 * a)
    s = I[m.SCRATCH]
    hx = ms.hessian_times(F, s, of.n, a, ud, turn)
    return plus(hx, times(F[s + ms.MU] * turn, load3(F, s + ms.NORMAL + 3 * a))) if of.bent else hx


@jit
def add_products(I: Any, F: Any, e: Any, n: int, two: bool) -> None:
    """Add gamma x^T, with ``two`` also nu z^T, to the blocks of all faces of n attachments."""
    for a in range(n):
        if on.face(I, e, a) != a:
            continue
        for b in range(n):
            if on.face(I, e, b) != b:
                continue
            if not on.coupled(I, F, e, a * n + b):
                continue
            pair, rows, columns = e.pairs + 2 * (a * n + b), I[e.ends + a], I[e.ends + b]
            to, ld, rows, columns = I[pair], I[pair + 1], I[rows + m.ATT_N], I[columns + m.ATT_N]
            U, V = on.vector(I, a, GAMMA), on.vector(I, b, X)
            if two:
                add_outer2(F, to, ld, rows, columns, 1.0, U, V)
            else:
                add_outer1(F, to, ld, rows, columns, 1.0, U, V)


@jit
def add_hessian(I: Any, F: Any, e: Any, of: Any, weight: float) -> None:
    """Add weight h_ab P_a P_T,b^T of all attachments; of a full measure weight P_a H_ab P_T,b^T."""
    n = of.n
    h = vectors(I, of, ms.NORMAL) if of.full else I[m.SCRATCH] + ms.HESS
    for a in range(n):
        for b in range(n):
            if of.full:
                x = h + 9 * n * a + 3 * b
                (xx, xy, xz), (yx, yy, yz) = load3(F, x), load3(F, x + 3 * n)
                zx, zy, zz = load3(F, x + 6 * n)
                H = (xx, xy, xz, yx, yy, yz, zx, zy, zz)
                if H != ZERO:
                    on.add_stiffness(I, F, e, a * n + b, a, b, weight, H)
            elif F[h + 4 * a + b] != 0.0:
                on.add_multiple(I, F, e, a * n + b, a, b, weight * F[h + 4 * a + b])


@jit
def gather_hessian(I: Any, F: Any, e: Any, of: Any, r: int, a: int, weight: float) -> None:
    """Add the part of attachment a to nu, and to weight times what gamma and nu go with."""
    s, trial, n_v = I[m.SCRATCH], on.map_of(I, a, m.PT), I[I[e.ends + a] + m.ATT_N]
    g, nu = load3(F, s + ms.GRAD + 3 * a), load3(F, s + ms.NORMAL + 3 * a)
    on.add_through(F, on.vector(I, r, NU), on.map_of(I, a, m.P), n_v, 1.0, nu)
    on.add_through(F, on.vector(I, r, X), trial, n_v, weight, minus(times(F[s + ms.KAPPA], g), nu))
    mu = F[s + ms.MU] if of.bent else 0.0
    on.add_through(F, on.vector(I, r, Z), trial, n_v, weight, minus(times(mu, nu), g))


@jit
def add_tension(
    I: Any, F: Any, e: Any, of: Any, ud: float, f: float, stiff: float, damp: float
) -> None:
    """Add the tangent of the forces f g: f H, and the change of f with u and its rate, times g."""
    wG, wK, n = F[m.W_G], F[m.W_K], of.n
    on.form_maps(I, F, e, n, damp != 0.0)
    turn = _turn(I, F, of, damp)
    for a in range(n):
        r = on.face(I, e, a)
        if r < 0:
            continue
        if r == a:
            on.clear(F, on.vector(I, a, GAMMA), 4)
        g, x, n_v = gradient(I, F, of, a), on.vector(I, r, X), I[I[e.ends + a] + m.ATT_N]
        on.add_through(F, on.vector(I, r, GAMMA), on.map_of(I, a, m.P), n_v, 1.0, g)
        on.add_through(F, x, on.map_of(I, a, m.PT), n_v, wK * stiff, g)
        if damp != 0.0:
            change = change_of_gradient(I, F, of, a, ud, turn)
            on.add_through(F, x, on.velocity_map(I, F, e, a), n_v, wG * damp, g)
            on.add_through(F, x, on.map_of(I, a, m.DP), n_v, wK * damp, g)
            on.add_through(F, x, on.map_of(I, a, m.PT), n_v, wK * damp, change)
        if of.curved:
            gather_hessian(I, F, e, of, r, a, wK * f)
    add_products(I, F, e, n, of.curved)
    add_hessian(I, F, e, of, wK * f)


@jit
def add_measured_row(
    I: Any, F: Any, e: Any, of: Any, on_rates: bool, ud: float, k: float, lam: float
) -> None:
    """Add k times the row of a measure, its column, and lam k H.

    By its rate g.x', where that is met, the row has the gradient g in the velocities; by positions
    it turns with x' and with g' = H x'. A row on velocities, ``on_rates``, always has.
    """
    n = of.n
    by_rate = F[m.ROW_TURN] if on_rates else F[m.POSITION_TURN]
    bends = of.curved and lam != 0.0
    on.form_maps(I, F, e, n, on_rates or by_rate != 0.0)
    turn = _turn(I, F, of, by_rate)
    for a in range(n):
        r = on.face(I, e, a)
        if r < 0:
            continue
        if r == a:
            on.clear(F, on.vector(I, a, GAMMA), 5)
        g, row, n_v = gradient(I, F, of, a), on.vector(I, r, ROW), I[I[e.ends + a] + m.ATT_N]
        on.add_through(F, on.vector(I, r, GAMMA), on.map_of(I, a, m.P), n_v, 1.0, g)
        by_velocity = on_rates or by_rate != 0.0
        trial = on.velocity_map(I, F, e, a) if by_velocity else on.map_of(I, a, m.PT)
        on.add_through(F, row, trial, n_v, k, g)
        if by_rate != 0.0:
            change = change_of_gradient(I, F, of, a, ud, turn)
            on.add_through(F, row, on.map_of(I, a, m.DP), n_v, k * by_rate, g)
            on.add_through(F, row, on.map_of(I, a, m.PT), n_v, k * by_rate, change)
        if bends:
            gather_hessian(I, F, e, of, r, a, k * lam)
    for a in range(n):
        if on.face(I, e, a) == a:
            on.add_row(I, F, e, a, 0, 1.0, on.vector(I, a, ROW))
            on.add_column(I, F, e, a, 0, k, on.vector(I, a, GAMMA))
    if bends:
        add_products(I, F, e, n, True)
    if lam != 0.0:
        add_hessian(I, F, e, of, k * lam)
