r"""Set-valued laws of all elements at once: forces z that meet them where rates are w(z).

With the Delassus operator D, the answers of rates to forces, all that set-valued laws ask for is

.. math:: w = w_0 + D\,(z - z_0), \qquad z = \Pi_{C(z)}(z - r w)

with the projection on the set C of each law (``mbd/interactions/set_valued.py``): a half-line, a
disk of radius :math:`\mu z_N`, an interval, which in a bearing depends on its reaction, linear in z
too. Sweeps of Gauss and Seidel go from law to law; Newton's method solves all of them from there.
Where corners are redundant and slip, its branches come back without end. Then the corners of the
laws are rounded, :math:`\max(y, 0) \to \tfrac12(y + \sqrt{y^2 + 4\epsilon^2})`, and
:math:`\epsilon` goes to zero with Newton's steps [2]_: 10 to 20 of them, whatever the branches are.
Forces are compared as :math:`\sqrt{D_{ii}}\,z_i`, of one unit for forces, moments and impulses.

Only laws that may act take part, *candidates*; what stays open has no force, and is looked at again
at the next iterate. Candidates that share no bodies, nor others that do, are solved apart: islands.

The numbers of a method that meets such laws begin here: vectors over the unknowns, then arrays over
the rows of the laws.

References
----------
.. [1] P. Alart and A. Curnier, A mixed formulation for frictional contact problems prone to Newton
   like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
.. [2] C. Chen and O. L. Mangasarian, A class of smoothing functions for nonlinear and mixed
   complementarity problems, Comput. Optim. Appl. 5 (1996).
"""

import math
from typing import Any, NamedTuple

from mbd.algebra.vec import clear
from mbd.base.tolerances import CONTACT_RESOLVED, CONTACT_SOFT, CONTACT_UNMET, ROUND_OFF
from mbd.interactions import set_valued as c
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.machine.unknowns import own_vector

# vectors over the unknowns that the method keeps of its own
(
    JUMP,  # W of velocities, Lambda of rows
    SHIFT,  # delta of velocities, kappa of rows
    JUMP0, SHIFT0,  # those without forces of set-valued laws
    THERE,  # accelerations that are put aside
    SPEED,  # velocities that are put aside
    BEGIN,  # accelerations and multipliers with which the step begins
    PRODUCT,  # B x of rows, for accelerations x
    IS_LAW,  # one for rows of set-valued laws
    TREE,  # tree of bodies that an unknown belongs to; negative: rows of laws
    N_VECTORS,
) = range(11)  # fmt: skip
# numbers after these vectors, then arrays over the rows of the laws
(
    COUNT, N_ROWS, STARTED, QUIET, RESTITUTION_PART,
    N_ENTRIES, N_TREES,
    N_LISTED,  # rows of candidates
    UNMET,  # one if a law was not met
    PAST,  # what accelerations of the method know at the start of a step
    STIFF,  # one if there are elements with energies, springs and dampers: forces may be stiff
    ARRAYS,
) = range(12)  # fmt: skip
UNTOLD, FORGOTTEN, CONTINUED = 0.0, 1.0, 2.0  # PAST
(
    RECORDS,  # places of the numbers of laws
    FIRST_ROWS,  # first of their rows among those of all laws
    ROWS,  # unknown of each row
    POINT, RATE, ACCELERATION,  # Phi, u and their second rate without forces of laws
    KAPPA, IMPULSE, FORCE,  # totals of the three levels
    KAPPA_0, IMPULSE_0,  # their part by quadrature of the accelerations
    FORCE_0,  # forces at the iterate
    MOVED,  # rates with the forces at hand
    KEPT, LEFT,  # forces that are put aside, in a step of Newton's method and before many
    REACTION,  # of bearings without forces of laws; three numbers a law, as in all that follow
    _R2, _R3,
    LAWS, _L2, _L3, _L4,  # of each law which set, and three numbers of it
    TREES, _T2,  # of each law the two trees of bodies that it joins; negative: ground
    CANDIDATE,  # of each law whether it may act
    ISLAND,  # of each law the one that names its island
    LIST, ROW_LIST,  # candidates, and their rows, island by island
    LOCAL,  # of each row its number in its island
    RESOLVED,  # of each law how far forces of its island are sure
    ENTRIES, OWN,  # of each row where its entries begin, and the place of its diagonal
    N_ARRAYS,
) = range(33)  # fmt: skip
# LAWS: no force, only the one along the normal, the whole set, on the edge of it by the slip
NONE, FIXED, WHOLE, ALONG = 0.0, 1.0, 2.0, 3.0
# of the laws: rounds, and of each sweeps, Newton's steps, those of rounded laws, each in parts
ROUNDS, SWEEPS, NEWTONS, ROUNDINGS, HALVINGS = 12, 10, 12, 25, 10


@jit
def place(I: Any, j: int) -> int:
    """Return where a number of the method is."""
    return I[m.METHOD] + N_VECTORS * I[m.N_U] + j


@jit
def array(I: Any, F: Any, j: int) -> int:
    """Return where an array over the rows of laws is."""
    at = place(I, 0)
    return at + ARRAYS + j * int(F[at + N_ROWS])


@jit
def matrix(I: Any, F: Any) -> int:
    """Return where D is, row by row; after it the answers to units of force."""
    return array(I, F, N_ARRAYS)


@jit
def answer(I: Any, F: Any, j: int) -> int:
    """Return where the answer to a unit of force of row j is, over the unknowns of its island."""
    n = int(F[place(I, N_ROWS)])
    return matrix(I, F) + n * n + int(F[array(I, F, LOCAL) + j]) * I[m.N_U]


@jit
def _system(I: Any, F: Any) -> int:
    """Return where the equations of Newton's method for all laws are."""
    n = int(F[place(I, N_ROWS)])
    return matrix(I, F) + n * (n + I[m.N_U])


@jit
def entries(I: Any, F: Any) -> Any:
    """Return where velocities, places and values of the entries of rows are.

    After them of each tree the one that names its island, and of this first row and number of rows
    in ROW_LIST.
    """
    n, k = int(F[place(I, N_ROWS)]), int(F[place(I, N_ENTRIES)])
    first = _system(I, F) + n * (n + 1)
    return first, first + k, first + 2 * k, first + 3 * k


def numbers_of_method(n: int, n_entries: int, n_trees: int, n_u: int) -> int:
    """Return how many numbers a method keeps for laws of n rows, with so many entries in all."""
    square = n * (2 * n + n_u + 1)
    return N_VECTORS * n_u + ARRAYS + N_ARRAYS * n + square + 3 * (n_entries + n_trees)


@jit
def _span(I: Any, F: Any, j: int) -> Any:
    """Return the first entry of a row, and the one after its last."""
    first = array(I, F, ENTRIES) + j
    last = F[first + 1] if j + 1 < int(F[place(I, N_ROWS)]) else F[place(I, N_ENTRIES)]
    return int(F[first]), int(last)


@jit
def open_rows(I: Any, F: Any) -> None:
    """Keep the rows of all laws that the matrix has, and put -1 on the diagonal in their place."""
    _, places, values, _ = entries(I, F)
    for j in range(int(F[place(I, N_ROWS)])):
        first, last = _span(I, F, j)
        for e in range(first, last):
            at = int(F[places + e])
            F[values + e], F[at] = F[at], 0.0
        F[int(F[array(I, F, OWN) + j])] = -1.0


@jit
def row_times(I: Any, F: Any, j: int, x: int) -> float:
    """Return row j, as it was kept, times the accelerations at F[x]."""
    velocities, _, values, _ = entries(I, F)
    first, last = _span(I, F, j)
    total = 0.0
    for e in range(first, last):
        u = int(F[velocities + e])
        if u >= 0:
            total += F[values + e] * F[x + u]
    return total


@jit
def _root(F: Any, parents: int, tree: int) -> int:
    """Return the tree that stands for all that a tree is joined with."""
    while int(F[parents + tree]) != tree:
        tree = int(F[parents + tree])
    return tree


@jit
def list_islands(I: Any, F: Any) -> None:
    """List the candidates island by island, and their rows.

    Laws whose bodies are joined, by joints or by other candidates, are one island.
    """
    n, trees, candidate = int(F[place(I, COUNT)]), array(I, F, TREES), array(I, F, CANDIDATE)
    _, _, _, parents = entries(I, F)
    island, laws, rows = array(I, F, ISLAND), array(I, F, LIST), array(I, F, ROW_LIST)
    for i in range(int(F[place(I, N_TREES)])):
        F[parents + i] = i
    for k in range(n):
        a, b = int(F[trees + 2 * k]), int(F[trees + 2 * k + 1])
        if F[candidate + k] != 0.0 and a >= 0 and b >= 0:
            F[parents + _root(F, parents, a)] = _root(F, parents, b)
    for k in range(n):
        a, b = int(F[trees + 2 * k]), int(F[trees + 2 * k + 1])
        F[island + k] = _root(F, parents, max(a, b))
    count, n_rows, n_trees = 0, 0, int(F[place(I, N_TREES)])
    for i in range(n_trees):
        F[parents + i] = _root(F, parents, i)
        F[parents + n_trees + i] = F[parents + 2 * n_trees + i] = 0.0
    for k in range(n):
        this = F[island + k]
        if F[candidate + k] == 0.0 or this < 0.0:
            continue
        first = n_rows
        for other in range(k, n):
            if F[candidate + other] == 0.0 or F[island + other] != this:
                continue
            _, j, _, form = law_of(I, F, other)
            F[laws + count] = other
            count += 1
            for r in range(rows_of(form)):
                F[rows + n_rows] = j + r
                F[array(I, F, LOCAL) + j + r] = n_rows - first
                n_rows += 1
            F[island + other] = -1.0 - this  # is listed
        F[parents + n_trees + int(this)] = first
        F[parents + 2 * n_trees + int(this)] = n_rows - first
    F[place(I, N_LISTED)] = n_rows


@jit
def island_of(I: Any, F: Any, tree: int) -> Any:
    """Return the first row in ROW_LIST and the number of rows of the island of a tree."""
    _, _, _, parents = entries(I, F)
    n = int(F[place(I, N_TREES)])
    this = parents + int(F[parents + tree])
    return int(F[this + n]), int(F[this + 2 * n])


@jit
def row_answers(I: Any, F: Any, k: int, j: int, x: int) -> float:
    """Return what row j of law k gets by the forces of its island in a vector over the unknowns."""
    trees, rows, total = array(I, F, TREES) + 2 * k, array(I, F, ROW_LIST), 0.0
    D = matrix(I, F) + int(F[place(I, N_ROWS)]) * j
    first, size = island_of(I, F, int(max(F[trees], F[trees + 1])))
    for l in range(first, first + size):
        i = int(F[rows + l])
        total += F[D + i] * F[x + int(F[array(I, F, ROWS) + i])]
    return total


@jit
def add_answers(I: Any, F: Any, to: int, z: int, z0: int) -> None:
    """Add the answers to forces z - z0 to a vector; of rows of laws the forces themselves."""
    rows, unknowns, n = array(I, F, ROW_LIST), array(I, F, ROWS), int(F[place(I, N_ROWS)])
    first_answer, tree = matrix(I, F) + n * n, own_vector(I, TREE)
    for u in range(I[m.N_U]):
        if F[tree + u] < 0.0:
            continue
        first, size = island_of(I, F, int(F[tree + u]))
        for l in range(size):
            j = int(F[rows + first + l])
            F[to + u] += (F[z + j] - F[z0 + j]) * F[first_answer + l * I[m.N_U] + u]
    for l in range(int(F[place(I, N_LISTED)])):
        j = int(F[rows + l])
        F[to + int(F[unknowns + j])] += F[z + j] - F[z0 + j]


@jit
def law_of(I: Any, F: Any, k: int) -> Any:
    """Return of law k the place of its numbers, its first row, the unknown of that and its form."""
    j = int(F[array(I, F, FIRST_ROWS) + k])
    at = int(F[array(I, F, RECORDS) + k])
    return at, j, int(F[array(I, F, ROWS) + j]), F[at + c.FORM]


@jit
def rows_of(form: float) -> int:
    """Return how many rows a law has."""
    return 3 if form == c.POINT else 1


@jit
def along_plane(F: Any, x: int, form: float) -> tuple[float, float]:
    """Return of the rows of a law at F[x] those along the plane; of a law of one row this one."""
    return (F[x + 1], F[x + 2]) if form == c.POINT else (F[x], 0.0)


@jit
def friction_of(F: Any, at: int, sticks: bool) -> float:
    """Return the coefficient of friction of a contact: of what sticks the larger one."""
    return max(F[at + c.STATIC], F[at + c.FRICTION]) if sticks else F[at + c.FRICTION]


@jit
def size_of(F: Any, at: int, r: int, z: float) -> float:
    """Return a force of row r of a law as sqrt(D) |z|."""
    return math.sqrt(F[at + (c.DELASSUS_N if r == 0 else c.DELASSUS_T)]) * abs(z)


@jit
def reaction(I: Any, F: Any, k: int, z: int, z0: int) -> Any:
    """Return the force in bearing k across its axis: its length and direction."""
    at, base = int(F[array(I, F, RECORDS) + k]), array(I, F, REACTION) + 3 * k
    u, x1, x2, x3 = int(F[at + c.REACTION]), F[base], F[base + 1], F[base + 2]
    first, size = island_of(I, F, int(F[own_vector(I, TREE) + u]))
    for i in range(first, first + size):
        j = int(F[array(I, F, ROW_LIST) + i])
        change = F[z + j] - F[z0 + j]
        if change != 0.0:
            y = answer(I, F, j) + u
            x1, x2, x3 = x1 + change * F[y], x2 + change * F[y + 1], x3 + change * F[y + 2]
    return across(F, at, x1, x2, x3)


@jit
def across(F: Any, at: int, x1: float, x2: float, x3: float) -> Any:
    """Return length and direction of a force across the axis of a bearing."""
    a1, a2, a3 = F[at + c.AX], F[at + c.AY], F[at + c.AZ]
    along = (a1 * x1 + a2 * x2 + a3 * x3) / max(a1 * a1 + a2 * a2 + a3 * a3, 1e-300)
    x1, x2, x3 = x1 - along * a1, x2 - along * a2, x3 - along * a3
    size = math.sqrt(x1 * x1 + x2 * x2 + x3 * x3)
    part = 1.0 / size if size > 0.0 else 0.0
    return size, x1 * part, x2 * part, x3 * part


@jit
def _bounds(I: Any, F: Any, k: int, z: int, z0: int) -> Any:
    """Return the interval of a law that is dry; of one that slips its end only."""
    at, law = int(F[array(I, F, RECORDS) + k]), array(I, F, LAWS) + 4 * k
    low, high = F[law + 1], F[law + 2]
    if F[law + 3] != 0.0:
        size, _, _, _ = reaction(I, F, k, z, z0)
        low, high = low - F[law + 3] * size, high + F[law + 3] * size
    if F[law] == ALONG:
        return (low, low) if F[at + c.LEAVES1] > 0.0 else (high, high)
    return low, high


@jit
def _positive(y: float, width: float) -> float:
    """Return max(y, 0), its corner rounded by a width."""
    if width == 0.0:
        return max(y, 0.0)
    return 0.5 * (y + math.sqrt(y * y + 4.0 * width * width)) if y > -math.inf else 0.0


@jit
def _rise(y: float, width: float) -> float:
    """Return the slope of max(y, 0), its corner rounded by a width."""
    if width == 0.0 or abs(y) == math.inf:
        return 1.0 if y > 0.0 else 0.0
    return 0.5 * (1.0 + y / math.sqrt(y * y + 4.0 * width * width))


@jit
def _met(I: Any, F: Any, k: int, z: int, z0: int, w: int, width: float) -> Any:
    """Return what law k has, from forces at F[z] and rates at F[w]; rounded by a width, or strict.

    P(z - w/D), the nearest point of the set of the law; the width is one of sqrt(D) z.
    """
    at, j, _, form = law_of(I, F, k)
    law, wide = array(I, F, LAWS) + 4 * k, width / math.sqrt(F[at + c.DELASSUS_T])
    if form == c.DRY:
        if F[law] == FIXED:
            return F[z + j], 0.0, 0.0
        low, high = _bounds(I, F, k, z, z0)
        y = F[z + j] - F[w + j] / F[at + c.DELASSUS_T]
        if width == 0.0 or low == high:
            return min(max(y, low), high), 0.0, 0.0
        return y + _positive(low - y, wide) - _positive(y - high, wide), 0.0, 0.0
    if F[law] == NONE:
        return 0.0, 0.0, 0.0
    y = F[z + j] - F[w + j] / F[at + c.DELASSUS_N]
    normal = _positive(y, width / math.sqrt(F[at + c.DELASSUS_N]))
    if form == c.SIDE:
        return normal, 0.0, 0.0
    if F[law] == FIXED:
        return normal, F[z + j + 1], F[z + j + 2]
    most = F[law + 1] * normal
    if F[law] == ALONG:
        return normal, most * F[law + 2], most * F[law + 3]
    y1 = F[z + j + 1] - F[w + j + 1] / F[at + c.DELASSUS_T]
    y2 = F[z + j + 2] - F[w + j + 2] / F[at + c.DELASSUS_T]
    size = math.hypot(y1, y2)
    if width == 0.0 and size <= most:
        return normal, y1, y2
    part = most / max(most + _positive(size - most, wide), 1e-300)
    return normal, y1 * part, y2 * part


@jit
def _slopes(I: Any, F: Any, k: int, z: int, z0: int, w: int, width: float) -> Any:
    """Return the derivative C of what a contact or a stop has by z - w/D, row by row."""
    at, j, _, form = law_of(I, F, k)
    law, wide = array(I, F, LAWS) + 4 * k, width / math.sqrt(F[at + c.DELASSUS_T])
    if F[law] == NONE:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    y, narrow = F[z + j] - F[w + j] / F[at + c.DELASSUS_N], width / math.sqrt(F[at + c.DELASSUS_N])
    closed, mu, e1, e2 = _rise(y, narrow), F[law + 1], F[law + 2], F[law + 3]
    if form == c.SIDE or F[law] == FIXED:
        return closed, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if F[law] == ALONG:
        return closed, 0.0, 0.0, mu * e1 * closed, 0.0, 0.0, mu * e2 * closed, 0.0, 0.0
    y1 = F[z + j + 1] - F[w + j + 1] / F[at + c.DELASSUS_T]
    y2 = F[z + j + 2] - F[w + j + 2] / F[at + c.DELASSUS_T]
    size, most = math.hypot(y1, y2), mu * _positive(y, narrow)
    e1, e2 = y1 / max(size, 1e-300), y2 / max(size, 1e-300)
    outside = _rise(size - most, wide)
    larger = max(most + _positive(size - most, wide), 1e-300)
    q, turn = most / larger, most / larger * outside * size / larger
    grows = (1.0 - most / larger * (1.0 - outside)) * size / larger * mu * closed
    if outside == 0.0:  # also where both are zero
        q, grows = 1.0, 0.0
    return (
        closed, 0.0, 0.0,
        e1 * grows, q - turn * e1 * e1, -turn * e1 * e2,
        e2 * grows, -turn * e1 * e2, q - turn * e2 * e2,
    )  # fmt: skip


class Island(NamedTuple):
    """An island: its laws from a to b in LIST, its rows from i in ROW_LIST, of these n."""

    a: int
    b: int
    i: int
    n: int


@jit
def _apply(I: Any, F: Any, island: Any, j: int, change: float, to: int) -> None:
    """Add D's column j times a change to the rates of an island."""
    n, D, rows = int(F[place(I, N_ROWS)]), matrix(I, F), array(I, F, ROW_LIST) + island.i
    for l in range(island.n):
        i = int(F[rows + l])
        F[to + i] += F[D + n * i + j] * change


@jit
def _rates_of(I: Any, F: Any, island: Any, z: int, z0: int, base: int) -> int:
    """Write w = base + D (z - z0) of an island to MOVED; return its place."""
    rows, to = array(I, F, ROW_LIST) + island.i, array(I, F, MOVED)
    for l in range(island.n):
        j = int(F[rows + l])
        F[to + j] = F[base + j]
    for l in range(island.n):
        j = int(F[rows + l])
        if F[z + j] != F[z0 + j]:
            _apply(I, F, island, j, F[z + j] - F[z0 + j], to)
    return to


@jit
def _sweeps(I: Any, F: Any, island: Any, z: int, z0: int, w: int) -> bool:
    """Let one law after the other be met, to and fro; tell whether that settled."""
    laws = array(I, F, LIST)
    for sweep in range(SWEEPS):
        worst, largest = 0.0, 0.0
        for one in range(island.b - island.a):
            k = int(F[laws + (island.a + one if sweep % 2 == 0 else island.b - 1 - one)])
            at, j, _, form = law_of(I, F, k)
            for part in range(1 if form != c.POINT else 2):  # the disk is that of the new normal
                x = _met(I, F, k, z, z0, w, 0.0)
                for r in range(1 if part == 0 else 3):
                    change = x[r] - F[z + j + r]
                    if change != 0.0:
                        F[z + j + r] = x[r]
                        _apply(I, F, island, j + r, change, w)
                    worst = max(worst, size_of(F, at, r, change))
                    if change != change:
                        return False
            for r in range(rows_of(form)):
                largest = max(largest, size_of(F, at, r, F[z + j + r]))
        if worst <= ROUND_OFF * largest:
            return True
        if not worst < 1e300:
            return False
    return False


@jit
def _unmet(I: Any, F: Any, island: Any, z: int, z0: int, w: int, width: float) -> Any:
    """Return of changes that laws of an island ask for the largest, the largest force, the norm."""
    worst, largest, squares = 0.0, 0.0, 0.0
    for one in range(island.a, island.b):
        k = int(F[array(I, F, LIST) + one])
        at, j, _, form = law_of(I, F, k)
        x = _met(I, F, k, z, z0, w, width)
        for r in range(rows_of(form)):
            change = size_of(F, at, r, x[r] - F[z + j + r])
            worst = max(worst, change) if change == change else math.inf
            largest, squares = max(largest, size_of(F, at, r, F[z + j + r])), squares + change**2
    return worst, largest, math.sqrt(squares)


@jit
def _dry_equation(
    I: Any, F: Any, island: Any, k: int, z: int, z0: int, w: int, width: float
) -> None:
    """Write the equation of a dry row, whose bounds depend on the reaction of a bearing."""
    at, j, _, _ = law_of(I, F, k)
    law, n, A = array(I, F, LAWS) + 4 * k, island.n, _system(I, F)
    own = int(F[array(I, F, LOCAL) + j])
    F[A + own * (n + 1)] = 1.0
    if F[law] == FIXED:
        return
    low, high = _bounds(I, F, k, z, z0)
    wide = width / math.sqrt(F[at + c.DELASSUS_T])
    y = F[z + j] - F[w + j] / F[at + c.DELASSUS_T]
    below, above = _rise(low - y, wide), _rise(y - high, wide)
    if F[law] == ALONG:
        below, above = (1.0, 0.0) if F[at + c.LEAVES1] > 0.0 else (0.0, 1.0)
    _add_row(I, F, island, own, j, (1.0 - below - above) / F[at + c.DELASSUS_T])
    F[A + own * (n + 1)] -= (1.0 - CONTACT_SOFT) * (1.0 - below - above)
    if F[law + 3] != 0.0:
        _, e1, e2, e3 = reaction(I, F, k, z, z0)
        slope, u = F[law + 3] * (above - below), int(F[at + c.REACTION])
        for l in range(n):
            a = answer(I, F, int(F[array(I, F, ROW_LIST) + island.i + l])) + u
            F[A + own * n + l] -= slope * (e1 * F[a] + e2 * F[a + 1] + e3 * F[a + 2])


@jit
def _add_row(I: Any, F: Any, island: Any, own: int, j: int, weight: float) -> None:
    """Add a weight times row j of D to an equation."""
    if weight == 0.0:
        return
    n, row = island.n, matrix(I, F) + int(F[place(I, N_ROWS)]) * j
    rows, to = array(I, F, ROW_LIST) + island.i, _system(I, F) + own * island.n
    for l in range(n):
        F[to + l] += weight * F[row + int(F[rows + l])]


@jit
def _point_equations(
    I: Any, F: Any, island: Any, k: int, z: int, z0: int, w: int, width: float
) -> None:
    """Write the equations of a contact, or the one of a stop."""
    at, j, _, form = law_of(I, F, k)
    C, n, A = _slopes(I, F, k, z, z0, w, width), island.n, _system(I, F)
    own, m_rows = int(F[array(I, F, LOCAL) + j]), rows_of(form)
    for r in range(m_rows):
        for s in range(m_rows):
            part, to = C[3 * r + s], A + (own + r) * n + own + s
            delassus = F[at + (c.DELASSUS_N if s == 0 else c.DELASSUS_T)]
            _add_row(I, F, island, own + r, j + s, part / delassus)
            F[to] += (1.0 - (1.0 - CONTACT_SOFT) * part) if r == s else -part


@jit
def _newton(I: Any, F: Any, island: Any, z: int, z0: int, w: int, width: float) -> bool:
    r"""Take a step of Newton's method for all laws of an island at once; tell whether it went.

    :math:`(I - C + C\,\mathrm{diag}(D)^{-1} D)\,\Delta z = P - z`. Of redundant contacts the
    solution next to the present one is taken.
    """
    n, A, laws = island.n, _system(I, F), array(I, F, LIST)
    x, rows = A + n * n, array(I, F, ROW_LIST) + island.i
    clear(F, A, n * (n + 1))
    for one in range(island.a, island.b):
        k = int(F[laws + one])
        _, j, _, form = law_of(I, F, k)
        own, x_met = int(F[array(I, F, LOCAL) + j]), _met(I, F, k, z, z0, w, width)
        for r in range(rows_of(form)):
            F[x + own + r] = x_met[r] - F[z + j + r]
        if form == c.DRY:
            _dry_equation(I, F, island, k, z, z0, w, width)
        else:
            _point_equations(I, F, island, k, z, z0, w, width)
    if not _eliminate(F, A, x, n):
        return False
    for l in range(n):
        F[z + int(F[rows + l])] += F[x + l]
    return True


@jit
def _eliminate(F: Any, A: int, x: int, n: int) -> bool:
    """Solve A y = x, y in the place of x, with row pivots; tell whether A is regular."""
    for k in range(n):
        best, row = 0.0, k
        for i in range(k, n):
            if abs(F[A + i * n + k]) > best:
                best, row = abs(F[A + i * n + k]), i
        if not 0.0 < best < 1e300:
            return False
        if row != k:
            for i in range(k, n):
                F[A + k * n + i], F[A + row * n + i] = F[A + row * n + i], F[A + k * n + i]
            F[x + k], F[x + row] = F[x + row], F[x + k]
        for i in range(k + 1, n):
            factor = F[A + i * n + k] / F[A + k * n + k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    F[A + i * n + j] -= factor * F[A + k * n + j]
                F[x + i] -= factor * F[x + k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            F[x + k] -= F[A + k * n + i] * F[x + i]
        F[x + k] /= F[A + k * n + k]
    return True


@jit
def _put_aside(I: Any, F: Any, island: Any, z: int, to: int) -> None:
    """Keep the forces of an island."""
    rows = array(I, F, ROW_LIST) + island.i
    for l in range(island.n):
        j = int(F[rows + l])
        F[to + j] = F[z + j]


@jit
def _go_back(I: Any, F: Any, island: Any, z: int, kept: int, part: float) -> None:
    """Go back by a part of the way from forces that are kept."""
    rows = array(I, F, ROW_LIST) + island.i
    for l in range(island.n):
        j = int(F[rows + l])
        F[z + j] = F[kept + j] if part == 1.0 else F[z + j] + part * (F[kept + j] - F[z + j])


@jit
def _by_newton(I: Any, F: Any, island: Any, z: int, z0: int, base: int) -> bool:
    """Take steps of Newton's method while they halve what is unmet; tell whether laws are met."""
    w, kept = array(I, F, MOVED), array(I, F, KEPT)
    worst, largest, _ = _unmet(I, F, island, z, z0, w, 0.0)
    for _ in range(NEWTONS):
        _put_aside(I, F, island, z, kept)
        went = _newton(I, F, island, z, z0, w, 0.0)
        if went:
            _rates_of(I, F, island, z, z0, base)
        now, largest, _ = _unmet(I, F, island, z, z0, w, 0.0)
        if not (went and now < 0.5 * worst):
            _go_back(I, F, island, z, kept, 1.0)
            _rates_of(I, F, island, z, z0, base)
            break
        worst = now
    return worst <= CONTACT_RESOLVED * largest  # type: ignore[no-any-return]


@jit
def _by_rounding(I: Any, F: Any, island: Any, z: int, z0: int, base: int) -> bool:
    """Take steps of Newton's method for rounded laws, the width going to zero; tell if it went.

    Where corners are redundant or slip, branches of the strict laws change from step to step and
    come back. Rounded laws have no branches; a step is halved until less is unmet.
    """
    w, kept, left = array(I, F, MOVED), array(I, F, KEPT), array(I, F, LEFT)
    worst, size, _ = _unmet(I, F, island, z, z0, w, 0.0)
    began, width = worst / max(size, 1e-300), 0.1 * max(worst, size)
    _put_aside(I, F, island, z, left)
    for _ in range(ROUNDINGS):
        _, _, before = _unmet(I, F, island, z, z0, w, width)
        _put_aside(I, F, island, z, kept)
        now = math.inf
        if _newton(I, F, island, z, z0, w, width):
            for halving in range(HALVINGS):
                if halving > 0:
                    _go_back(I, F, island, z, kept, 0.5)
                _rates_of(I, F, island, z, z0, base)
                _, _, now = _unmet(I, F, island, z, z0, w, width)
                if now < before or now <= ROUND_OFF * size:
                    break
        worst, size, _ = _unmet(I, F, island, z, z0, w, 0.0)
        if worst <= CONTACT_RESOLVED * size:
            return True
        if not now < math.inf:
            break
        if now < 3.0 * width * math.sqrt(island.n):
            width *= 0.2
    if not worst < began * size:
        _go_back(I, F, island, z, left, 1.0)
        _rates_of(I, F, island, z, z0, base)
    return False


@jit
def _needs(I: Any, F: Any, island: Any, z0: int, base: int) -> float:
    """Return the largest force that the rates of an island ask for, or that it has at the start."""
    size = 0.0
    for one in range(island.a, island.b):
        at, j, _, form = law_of(I, F, int(F[array(I, F, LIST) + one]))
        for r in range(rows_of(form)):
            D = F[at + (c.DELASSUS_N if r == 0 else c.DELASSUS_T)]
            size = max(size, size_of(F, at, r, max(abs(F[base + j + r]) / D, abs(F[z0 + j + r]))))
    return size


@jit
def _meet_island(I: Any, F: Any, island: Any, z: int, z0: int, base: int) -> None:
    """Let the forces of an island meet its laws.

    Some sweeps, then Newton's method from there while it helps, then that for rounded laws.
    """
    w = _rates_of(I, F, island, z, z0, base)
    for _ in range(ROUNDS):
        if _sweeps(I, F, island, z, z0, w):
            break
        if _by_newton(I, F, island, z, z0, base):
            break
        if _by_rounding(I, F, island, z, z0, base):
            break
    worst, largest, _ = _unmet(I, F, island, z, z0, w, 0.0)
    sure = max(worst, CONTACT_RESOLVED * largest)
    # forces without bounds hide what is left: half of the digits of what rates ask for go
    needs = _needs(I, F, island, z0, base)
    if not (worst <= CONTACT_UNMET * largest and worst <= CONTACT_UNMET**0.5 * needs):
        F[place(I, UNMET)], sure = 1.0, math.inf
    for one in range(island.a, island.b):
        k = int(F[array(I, F, LIST) + one])
        F[array(I, F, RESOLVED) + k] = sure


@jit
def meet(I: Any, F: Any, z: int, z0: int, base: int) -> int:
    """Let the forces at F[z] meet the laws with w = base + D (z - z0); return the place of w."""
    n, laws, names = int(F[place(I, N_LISTED)]), array(I, F, LIST), array(I, F, ISLAND)
    a, first = 0, 0
    while first < n:
        b, rows, this = a, 0, F[names + int(F[laws + a])]
        while first + rows < n and F[names + int(F[laws + b])] == this:
            _, _, _, form = law_of(I, F, int(F[laws + b]))
            rows += rows_of(form)
            b += 1
        _meet_island(I, F, Island(a, b, first, rows), z, z0, base)
        a, first = b, first + rows
    return array(I, F, MOVED)  # type: ignore[no-any-return]
