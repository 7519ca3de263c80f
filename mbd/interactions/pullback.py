r"""Elements as their kernels see them, and the pull-back from faces to coordinates.

An interaction sees *attachments*: points and vectors :math:`x_a = \sum_k w_k y_k` fixed to a face.
It returns forces :math:`f_a` and stiffness :math:`K_{ab}` on them; the formulation provides for
each attachment the test map P and the trial map P_T (both n x 3), and

.. math:: r \mathrel{+}= P_a f_a, \qquad K \mathrel{+}= P_a K_{ab} P_{T,b}^T, \qquad
          B \mathrel{+}= g_a^T P_{T,a}^T, \qquad \text{column of } \lambda: P_a g_a .

Maps are formed where they are used, in the scratch space. What acts on several attachments of one
face is summed there first, as a vector over the velocities of its body,
:math:`\gamma = \sum_a P_a g_a`, and enters the matrix once. The first numbers of the scratch
space belong to the kernels of a kind; after them each attachment has five vectors and its maps.

A table holds all elements of one kind, first its head (T_NUMBER ... in ``machine/buffer.py``), then
the addresses of its full measures. The record of an element is laid out as

    first row | numbers | memory | law | attachments | B, ld, Bt, ld per attachment
    | C, ld of rows with a block of their own | K, ld per pair

where B is the block (rows of the element) x (velocities of the attachment's node), Bt its
transpose's place, C that of the rows by themselves, K the block (node of a) x (node of b); 0 where
there is none (ground).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from mbd.algebra.vec import spread, weighted
from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, call, ints, jit, kernel
from mbd.machine.simd import add4, add_map, add_outer3, set_map


class ElementRecord(NamedTuple):
    """The record of an element, as its kernels read it.

    ``u`` is the first unknown of its rows, ``numbers`` and ``memory`` are places in F, ``law`` is
    one in I, where its address is (0: none); ``ends``, ``blocks`` and ``pairs`` are places in I of
    what follows, ``end`` that after the record, ``code`` where the addresses of full measures are.
    """

    u: int
    numbers: int
    memory: int
    law: int
    ends: int
    blocks: int
    pairs: int
    end: int
    code: int


def _all_declared(function: Callable[..., Any], F: Any) -> None:
    """Refuse the writing to a pair that the kind does not declare; plain Python only."""
    pair = int(ints(F)[m.UNDECLARED])
    if pair:
        ints(F)[m.UNDECLARED] = 0
        raise IndexError(
            f"{function.__module__}.{function.__qualname__} writes to pair {pair - 1} of "
            "attachments, which its Kind must declare in `pairs`; declare all that it couples"
        )


def each(function: Callable[[Any, Any, Any], None], stiffness: bool = False) -> Any:
    """Make a kernel that runs ``function(I, F, e)`` for the records e of all elements of a kind.

    One of `stiffness` adds to G and K alone, and is left out where both have no weight.
    """
    of_one = jit(function)

    def of_all(I: Any, F: Any, k: int) -> None:
        if stiffness and F[m.W_G] == 0.0 and F[m.W_K] == 0.0:
            return
        for j in range(I[k + m.T_NUMBER]):
            i = I[k + m.T_FIRST] + j * I[k + m.T_SIZE]
            e = ElementRecord(
                I[i + m.E_ROW], I[i + m.E_NUMBERS], I[i + m.E_MEMORY], I[i + m.E_LAW], i + m.E_ENDS,
                i + I[k + m.T_BLOCKS], i + I[k + m.T_PAIRS], i + I[k + m.T_SIZE], k + m.T_HEAD,
            )  # fmt: skip
            of_one(I, F, e)

    def checked(I: Any, F: Any, k: int) -> None:
        of_all(I, F, k)
        _all_declared(function, F)

    loop = checked if PYTHON else of_all
    loop.__name__, loop.__qualname__ = function.__name__, function.__qualname__
    loop.__doc__ = function.__doc__
    return kernel(loop)


def each_stiffness(function: Callable[[Any, Any, Any], None]) -> Any:
    """Make the kernel of a tangent that adds to G and K alone: of forces without mass and rows."""
    return each(function, stiffness=True)


@jit
def at(I: Any, F: Any, base: int, a: int) -> Any:
    """Return the 3-vector of the attachment at I[a]; base is Y, YD or YDD."""
    return weighted(F, I[base] + I[a + m.ATT_Y], I[a + m.ATT_W])


@jit
def push(I: Any, F: Any, base: int, a: int, s: float, f: Any) -> None:
    """Add the force s*f on the attachment at I[a] to the face force (base is FY)."""
    spread(F, I[base] + I[a + m.ATT_Y], I[a + m.ATT_W], s, f)


# --- attachments by their number in an element, 0, 1, ... -----------------------------------------
@jit
def vector(I: Any, a: int, which: int) -> int:
    """Return the place of a vector, 0 to 4, of attachment a."""
    return I[m.SCRATCH] + m.SCRATCH_OWN + m.SCRATCH_EACH * a + m.MAP_ROW * which


@jit
def map_of(I: Any, a: int, which: int) -> int:
    """Return the place of a map, P, PT or DP, of attachment a."""
    return I[m.SCRATCH] + m.SCRATCH_OWN + m.SCRATCH_VECTORS + m.SCRATCH_EACH * a + which


@jit
def velocity_map(I: Any, F: Any, e: Any, a: int) -> int:
    """Return the place of the map PV of attachment a: P where test = trial.

    In the middle of a conserving step rates are differences over the step, and move as its end.
    """
    in_step = ints(F)[m.PHASE] == m.MIDDLE
    return map_of(I, a, m.PT if in_step else I[I[e.ends + a] + m.ATT_PV])


@jit
def form_maps(I: Any, F: Any, e: Any, n: int, rate: bool) -> None:
    """Form the maps of n attachments, with ``rate`` those of velocities too."""
    S = ints(F)
    for a in range(n):
        end = I[e.ends + a]
        if I[end + m.ATT_N] > 0:
            address = S[S[m.MAPS] + 2 * I[end + m.ATT_MAPS]]
            call(address, I, F, end, map_of(I, a, m.P), 1 if rate else 0)


@jit
def second_map(I: Any, n: int, a: int, which: int) -> int:
    """Return the place of a map of accelerations, AV or AQ, of attachment a of n."""
    return vector(I, n, 0) + m.SECOND_SIZE * a + which


@jit
def form_second_maps(I: Any, F: Any, e: Any, n: int) -> None:
    """Form the maps of accelerations of n attachments, after all others of the element."""
    S = ints(F)
    for a in range(n):
        end = I[e.ends + a]
        if I[end + m.ATT_N] > 0:
            address = S[S[m.SECOND_MAPS] + 2 * I[end + m.ATT_MAPS]]
            call(address, I, F, end, second_map(I, n, a, m.AV), 1)


@jit
def face(I: Any, e: Any, a: int) -> int:
    """Return the first attachment on the body of attachment a; -1 on ground."""
    end = I[e.ends + a]
    if I[end + m.ATT_N] == 0:
        return -1
    for b in range(a):
        if I[I[e.ends + b] + m.ATT_NODE] == I[end + m.ATT_NODE]:
            return b
    return a


@jit
def clear(F: Any, to: int, n: int) -> None:
    """Write zeros to n vectors."""
    for j in range(m.MAP_ROW * n):
        F[to + j] = 0.0


@jit
def add_through(F: Any, to: int, A: int, n: int, s: float, x: Any) -> None:
    """Add s A x to the vector of n velocities at F[to] with the map at F[A]."""
    add_map(F, to, A, n, s * x[0], s * x[1], s * x[2])


@jit
def set_through(F: Any, to: int, A: int, n: int, s: float, x: Any) -> None:
    """Write s A x to the vector of n velocities at F[to] with the map at F[A]."""
    set_map(F, to, A, n, s * x[0], s * x[1], s * x[2])


@jit
def add_row(I: Any, F: Any, e: Any, a: int, r: int, s: float, x: int) -> None:
    """Add s times the vector at F[x] to row r of the element, on the body of attachment a."""
    block = e.blocks + 4 * a
    add4(F, I[block] + r * I[block + 1], s, x, I[I[e.ends + a] + m.ATT_N])


@jit
def add_column(I: Any, F: Any, e: Any, a: int, r: int, s: float, x: int) -> None:
    """Add s times the vector at F[x] to the column of multiplier r, on the body of attachment a."""
    block = e.blocks + 4 * a
    to, ld = I[block + 2] + r, I[block + 3]
    for j in range(I[I[e.ends + a] + m.ATT_N]):
        F[to + j * ld] += s * F[x + j]


@jit
def add_map_rows(I: Any, F: Any, e: Any, a: int, s: float, rows: int) -> None:
    """Add s times a map as the first three rows, s P as their columns, on the body of a."""
    block, columns = e.blocks + 4 * a, map_of(I, a, m.P)
    to, ld, below, ldb = I[block], I[block + 1], I[block + 2], I[block + 3]
    for j in range(I[I[e.ends + a] + m.ATT_N]):  # one by one: a vector would wait for its parts
        for r in range(3):
            F[to + r * ld + j] += s * F[rows + m.MAP_ROW * r + j]
            F[below + j * ldb + r] += s * F[columns + m.MAP_ROW * r + j]


@jit
def subtract_own(I: Any, F: Any, e: Any, n: int, x: float) -> None:
    """Subtract x on the diagonal of the block that n rows of the element have of their own."""
    to, ld = I[e.pairs - 2], I[e.pairs - 1]
    for r in range(n):
        F[to + r * (ld + 1)] -= x


@jit
def coupled(I: Any, F: Any, e: Any, p: int) -> bool:
    """Tell whether pair p has a block: ground has none. One that is not declared is noted."""
    if e.pairs + 2 * p >= e.end:
        ints(F)[m.UNDECLARED] = p + 1
        return False
    return I[e.pairs + 2 * p] > 0


@jit
def _add_product(I: Any, F: Any, e: Any, p: int, a: int, b: int, s: float, V: int) -> None:
    """Add s P_a V^T to the block of pair p, V a map."""
    block, one, two = e.pairs + 2 * p, I[e.ends + a], I[e.ends + b]
    add_outer3(
        F, I[block], I[block + 1], I[one + m.ATT_N], I[two + m.ATT_N], s, map_of(I, a, m.P), V
    )


@jit
def add_multiple(I: Any, F: Any, e: Any, p: int, a: int, b: int, s: float) -> None:
    """Add s P_a P_T,b^T to the block of pair p, if there is one."""
    if s != 0.0 and coupled(I, F, e, p):
        _add_product(I, F, e, p, a, b, s, map_of(I, b, m.PT))


@jit
def add_stiffness(I: Any, F: Any, e: Any, p: int, a: int, b: int, s: float, K: Any) -> None:
    """Add s P_a K P_T,b^T to the block of pair p, if there is one; K by the position of b."""
    if coupled(I, F, e, p):
        V, PT_b, n = vector(I, a, 0), map_of(I, b, m.PT), I[I[e.ends + b] + m.ATT_N]
        for c in range(3):
            set_map(F, V + m.MAP_ROW * c, PT_b, n, K[3 * c], K[3 * c + 1], K[3 * c + 2])
        _add_product(I, F, e, p, a, b, s, V)


@jit
def add_damping(I: Any, F: Any, e: Any, p: int, a: int, b: int, G: Any) -> None:
    """Add P_a G (w_G P_V,b + w_K P_D,b)^T to the block of pair p, if any; G by the rate of b."""
    if coupled(I, F, e, p):
        V, PV_b, DP_b = vector(I, a, 0), velocity_map(I, F, e, b), map_of(I, b, m.DP)
        wG, wK, n = F[m.W_G], F[m.W_K], I[I[e.ends + b] + m.ATT_N]
        for c in range(3):
            x, y, z = G[3 * c], G[3 * c + 1], G[3 * c + 2]
            set_map(F, V + m.MAP_ROW * c, PV_b, n, wG * x, wG * y, wG * z)
            add_map(F, V + m.MAP_ROW * c, DP_b, n, wK * x, wK * y, wK * z)
        _add_product(I, F, e, p, a, b, 1.0, V)


@jit
def add_inertia(I: Any, F: Any, e: Any, a: int, b: int, n: int, by: Any) -> None:
    """Add P_a (M, G, K through the maps of b)^T to the block of a and b, of n attachments, if any.

    Of ``by`` M is by the acceleration of b, G by its rate, K by its position, with the weights of
    the matrix.
    """
    M, G, K = by
    p = a * n + b
    if coupled(I, F, e, p):
        V, columns = vector(I, a, 0), I[I[e.ends + b] + m.ATT_N]
        PT_b, DP_b, PV_b = map_of(I, b, m.PT), map_of(I, b, m.DP), velocity_map(I, F, e, b)
        AV_b, AQ_b = second_map(I, n, b, m.AV), second_map(I, n, b, m.AQ)
        wM, wG, wK = F[m.W_M], F[m.W_G], F[m.W_K]
        for c in range(3):
            to, x, y, z = V + m.MAP_ROW * c, M[3 * c], M[3 * c + 1], M[3 * c + 2]
            u, v, w = G[3 * c], G[3 * c + 1], G[3 * c + 2]
            set_map(F, to, PV_b, columns, wM * x + wG * u, wM * y + wG * v, wM * z + wG * w)
            add_map(F, to, AV_b, columns, wG * x, wG * y, wG * z)
            add_map(F, to, AQ_b, columns, wK * x, wK * y, wK * z)
            add_map(F, to, DP_b, columns, wK * u, wK * v, wK * w)
            add_map(F, to, PT_b, columns, wK * K[3 * c], wK * K[3 * c + 1], wK * K[3 * c + 2])
        _add_product(I, F, e, p, a, b, 1.0, V)
