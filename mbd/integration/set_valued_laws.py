r"""Set-valued laws of all elements at once: forces z that meet them where rates are w(z).

With the Delassus operator D, the answers of rates to forces, all that set-valued laws ask for is

.. math:: w = w_0 + D\,(z - z_0), \qquad z = \Pi_{C(z)}(z - r w)

with the projection on the set C of each law (``mbd/interactions/set_valued.py``): a half-line, a
disk of radius :math:`\mu z_N`, an interval, which in a bearing depends on its reaction, linear in z
too. Sweeps of Gauss and Seidel go from law to law; Newton's method solves all of them from there.
Forces are compared as :math:`\sqrt{D_{ii}}\,z_i`, of one unit for forces, moments and impulses.

The numbers of a method that meets such laws begin here: vectors over the unknowns, then arrays over
the rows of the laws.

References
----------
.. [1] P. Alart and A. Curnier, A mixed formulation for frictional contact problems prone to Newton
   like solution methods, Comput. Methods Appl. Mech. Eng. 92 (1991).
"""

from __future__ import annotations

import math
from typing import Any

from mbd.base.tolerances import CONTACT_RESOLVED, CONTACT_SOFT, ROUND_OFF
from mbd.interactions import set_valued as c
from mbd.linear.onto_rows import copy
from mbd.machine import buffer as m
from mbd.machine.jit import jit

# vectors over the unknowns that the method keeps of its own
(
    JUMP,  # W of velocities, Lambda of rows
    SHIFT,  # delta of velocities, kappa of rows
    JUMP0, SHIFT0,  # those without forces of set-valued laws
    THERE,  # accelerations that are put aside
    SPEED,  # velocities that are put aside
    PRODUCT,  # B x of rows, for accelerations x
    IS_LAW,  # one for rows of set-valued laws
    N_VECTORS,
) = range(9)  # fmt: skip
# numbers after these vectors, then arrays over the rows of the laws
COUNT, N_ROWS, STARTED, QUIET, RESTITUTION_PART, ARRAYS = range(6)
(
    RECORDS,  # places of the numbers of laws
    FIRST_ROWS,  # first of their rows among those of all laws
    ROWS,  # unknown of each row
    POINT, RATE, ACCELERATION,  # Phi, u and their second rate without forces of laws
    KAPPA, IMPULSE, FORCE,  # totals of the three levels
    KAPPA_0, IMPULSE_0,  # their part by quadrature of the accelerations
    FORCE_0,  # forces at the iterate
    MOVED,  # rates with the forces at hand
    KEPT,  # forces that are put aside
    REACTION,  # of bearings without forces of laws; three numbers a law, as in all that follow
    _R2, _R3,
    LAWS, _L2, _L3, _L4,  # of each law which set, and three numbers of it
    N_ARRAYS,
) = range(22)  # fmt: skip
# LAWS: no force, only the one along the normal, the whole set, on the edge of it by the slip
NONE, FIXED, WHOLE, ALONG = 0.0, 1.0, 2.0, 3.0
ROUNDS, SWEEPS, NEWTONS = 40, 30, 12  # of the laws: rounds, and of each sweeps and Newton's steps


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
    """Return where the answer to a unit of force of row j is, over the unknowns."""
    n = int(F[place(I, N_ROWS)])
    return matrix(I, F) + n * n + j * I[m.N_U]


@jit
def _system(I: Any, F: Any) -> int:
    """Return where the equations of Newton's method for all laws are."""
    n = int(F[place(I, N_ROWS)])
    return matrix(I, F) + n * (n + I[m.N_U])


def numbers_of_method(n: int, n_u: int) -> int:
    """Return how many numbers a method keeps for laws of n rows."""
    return N_VECTORS * n_u + ARRAYS + N_ARRAYS * n + n * (2 * n + n_u + 1)


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
def size_of(F: Any, at: int, r: int, z: float) -> float:
    """Return a force of row r of a law as sqrt(D) |z|."""
    return math.sqrt(F[at + (c.DELASSUS_N if r == 0 else c.DELASSUS_T)]) * abs(z)


@jit
def reaction(I: Any, F: Any, k: int, z: int, z0: int) -> Any:
    """Return the force in bearing k across its axis: its length and direction."""
    at, u = int(F[array(I, F, RECORDS) + k]), 0
    u, base = int(F[at + c.REACTION]), array(I, F, REACTION) + 3 * k
    x1, x2, x3 = F[base], F[base + 1], F[base + 2]
    for j in range(int(F[place(I, N_ROWS)])):
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
def _disk(y1: float, y2: float, most: float) -> Any:
    """Return the nearest point of a disk."""
    size = math.hypot(y1, y2)
    if size <= most:
        return y1, y2
    return y1 * most / size, y2 * most / size


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
def _met(I: Any, F: Any, k: int, z: int, z0: int, w: int) -> Any:
    """Return what law k has, from forces at F[z] and rates at F[w]."""
    at, j, _, form = law_of(I, F, k)
    law = array(I, F, LAWS) + 4 * k
    if form == c.DRY:
        if F[law] == FIXED:
            return F[z + j], 0.0, 0.0
        low, high = _bounds(I, F, k, z, z0)
        y = F[z + j] - F[w + j] / F[at + c.DELASSUS_T]
        return min(max(y, low), high), 0.0, 0.0
    if F[law] == NONE:
        return 0.0, 0.0, 0.0
    normal = max(0.0, F[z + j] - F[w + j] / F[at + c.DELASSUS_N])
    if form == c.SIDE:
        return normal, 0.0, 0.0
    most = F[law + 1] * normal
    if F[law] == FIXED:
        return normal, F[z + j + 1], F[z + j + 2]
    if F[law] == ALONG:
        return normal, most * F[law + 2], most * F[law + 3]
    r = 1.0 / F[at + c.DELASSUS_T]
    y1, y2 = _disk(F[z + j + 1] - r * F[w + j + 1], F[z + j + 2] - r * F[w + j + 2], most)
    return normal, y1, y2


@jit
def _apply(F: Any, D: int, n: int, j: int, change: float, to: int) -> None:
    """Add D's column j times a change."""
    for i in range(n):
        F[to + i] += F[D + n * i + j] * change


@jit
def rates_of(I: Any, F: Any, z: int, z0: int, base: int) -> int:
    """Write w = base + D (z - z0) to MOVED; return its place."""
    n, D, to = int(F[place(I, N_ROWS)]), matrix(I, F), array(I, F, MOVED)
    copy(F, to, base, n)
    for j in range(n):
        if F[z + j] != F[z0 + j]:
            _apply(F, D, n, j, F[z + j] - F[z0 + j], to)
    return to


@jit
def _sweeps(I: Any, F: Any, z: int, z0: int, w: int) -> bool:
    """Let one law after the other be met, to and fro; tell whether that settled."""
    n, n_rows, D = int(F[place(I, COUNT)]), int(F[place(I, N_ROWS)]), matrix(I, F)
    for sweep in range(SWEEPS):
        worst, largest = 0.0, 0.0
        for one in range(n):
            k = one if sweep % 2 == 0 else n - 1 - one
            at, j, _, form = law_of(I, F, k)
            for part in range(1 if form != c.POINT else 2):  # the disk is that of the new normal
                x = _met(I, F, k, z, z0, w)
                for r in range(1 if part == 0 else 3):
                    change = x[r] - F[z + j + r]
                    if change != 0.0:
                        F[z + j + r] = x[r]
                        _apply(F, D, n_rows, j + r, change, w)
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
def unmet(I: Any, F: Any, z: int, z0: int, w: int) -> Any:
    """Return the largest change that a law asks for, and the largest force."""
    worst, largest = 0.0, 0.0
    for k in range(int(F[place(I, COUNT)])):
        at, j, _, form = law_of(I, F, k)
        x = _met(I, F, k, z, z0, w)
        for r in range(rows_of(form)):
            change = size_of(F, at, r, x[r] - F[z + j + r])
            worst = max(worst, change) if change == change else math.inf
            largest = max(largest, size_of(F, at, r, F[z + j + r]))
    return worst, largest


@jit
def _held(F: Any, A: int, D: int, n: int, j: int, r: float, w: int) -> None:
    """Write the equation of a row that holds, r w = 0, next to the present force."""
    for i in range(n):
        F[A + j * n + i] = r * F[D + j * n + i]
    F[A + j * (n + 1)] += CONTACT_SOFT
    F[A + n * n + j] = -r * F[w + j]


@jit
def _dry_equation(I: Any, F: Any, k: int, z: int, z0: int, w: int) -> None:
    """Write the equation of a dry row: it holds, or it has its bound, by the reaction there."""
    at, j, _, _ = law_of(I, F, k)
    law, n, A = array(I, F, LAWS) + 4 * k, int(F[place(I, N_ROWS)]), _system(I, F)
    if F[law] == FIXED:
        return
    low, high = _bounds(I, F, k, z, z0)
    r = 1.0 / F[at + c.DELASSUS_T]
    y = F[z + j] - r * F[w + j]
    if low < y < high:
        _held(F, A, matrix(I, F), n, j, r, w)
        return
    upper = y >= high
    F[A + n * n + j] = (high if upper else low) - F[z + j]
    if F[law + 3] != 0.0:
        _, e1, e2, e3 = reaction(I, F, k, z, z0)
        slope, u = F[law + 3] * (1.0 if upper else -1.0), int(F[at + c.REACTION])
        for i in range(n):
            a = answer(I, F, i) + u
            F[A + j * n + i] -= slope * (e1 * F[a] + e2 * F[a + 1] + e3 * F[a + 2])


@jit
def _point_equations(I: Any, F: Any, k: int, z: int, w: int) -> None:
    """Write the equations of a contact by its branch, or the one of a stop."""
    at, j, _, form = law_of(I, F, k)
    law, n, A, D = array(I, F, LAWS) + 4 * k, int(F[place(I, N_ROWS)]), _system(I, F), matrix(I, F)
    x = A + n * n
    rn, rt, mu = 1.0 / F[at + c.DELASSUS_N], 1.0 / F[at + c.DELASSUS_T], F[law + 1]
    if F[law] == NONE or F[z + j] - rn * F[w + j] <= 0.0:
        for r in range(1 if F[law] == FIXED else rows_of(form)):
            F[x + j + r] = -F[z + j + r]
        return
    _held(F, A, D, n, j, rn, w)
    if form == c.SIDE or F[law] == FIXED:
        return
    y1, y2 = F[z + j + 1] - rt * F[w + j + 1], F[z + j + 2] - rt * F[w + j + 2]
    size, most, q = math.hypot(y1, y2), mu * max(F[z + j], 0.0), 0.0
    if F[law] == WHOLE and size <= most:
        for r in range(1, 3):
            _held(F, A, D, n, j + r, rt, w)
        return
    e1, e2 = F[law + 2], F[law + 3]
    if F[law] == WHOLE:
        e1, e2, q = y1 / size, y2 / size, most / size
    for r in range(1, 3):  # e, and the row r of Q = q (I - e e^T)
        e, one, two = (e1, 1.0, 0.0) if r == 1 else (e2, 0.0, 1.0)
        a, b = q * (one - e * e1), q * (two - e * e2)
        row, first, second = A + (j + r) * n, D + (j + 1) * n, D + (j + 2) * n
        for i in range(n):
            F[row + i] = rt * (a * F[first + i] + b * F[second + i])
        F[row + j + 1] += one - a
        F[row + j + 2] += two - b
        F[row + j] -= mu * e
        lack = F[z + j + r] - a * F[z + j + 1] - b * F[z + j + 2] - mu * F[z + j] * e
        F[x + j + r] = -lack - rt * (a * F[w + j + 1] + b * F[w + j + 2])


@jit
def _newton(I: Any, F: Any, z: int, z0: int, w: int) -> bool:
    """Take a step of Newton's method for all laws at once; F[z] and F[w] follow. Tell if it went.

    Of redundant contacts the solution next to the present one is taken.
    """
    n, D, A = int(F[place(I, N_ROWS)]), matrix(I, F), _system(I, F)
    x = A + n * n
    for i in range(n * (n + 1)):
        F[A + i] = 0.0
    for i in range(n):
        F[A + i * (n + 1)] = 1.0
    for k in range(int(F[place(I, COUNT)])):
        _, _, _, form = law_of(I, F, k)
        if form == c.DRY:
            _dry_equation(I, F, k, z, z0, w)
        else:
            _point_equations(I, F, k, z, w)
    if not _eliminate(F, A, x, n):
        return False
    for j in range(n):
        F[z + j] += F[x + j]
        _apply(F, D, n, j, F[x + j], w)
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
def meet(I: Any, F: Any, z: int, z0: int, base: int) -> int:
    """Let the forces at F[z] meet the laws with w = base + D (z - z0); return the place of w.

    Some sweeps, then Newton's method from there while it helps, then sweeps again.
    """
    n, kept = int(F[place(I, N_ROWS)]), array(I, F, KEPT)
    w = rates_of(I, F, z, z0, base)
    for _ in range(ROUNDS):
        if _sweeps(I, F, z, z0, w):
            break
        worst, largest = unmet(I, F, z, z0, w)
        for _ in range(NEWTONS):
            copy(F, kept, z, n)
            went = _newton(I, F, z, z0, w)
            if went:
                rates_of(I, F, z, z0, base)
            now, largest = unmet(I, F, z, z0, w)
            if not (went and now < 0.5 * worst):
                copy(F, z, kept, n)
                rates_of(I, F, z, z0, base)
                break
            worst = now
        if worst <= CONTACT_RESOLVED * largest:
            break
    return w
