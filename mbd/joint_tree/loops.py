r"""Loops: rows that the tree does not meet by itself, eliminated in kinematic units.

With the rows :math:`G\dot\theta + \Phi_t = 0` of a loop in the columns of its tree, in units of
length of the model and without masses, elimination with full pivoting over the dependent columns d
leaves rows that depend on others (they are redundant) and

.. math:: \dot\theta = Z\dot\theta_i + n_v, \qquad \ddot\theta = Z\ddot\theta_i + n_a, \qquad
          M_r = Z^TMZ, \qquad h_r = Z^T\tau(\theta, \dot\theta, n_a),

:math:`GZ = 0, Gn_v = -\Phi_t, Gn_a = -\ddot\Phi|_{\ddot\theta=0}`; positions by Newton's method,
:math:`\Delta\theta_d = -G_d^{-1}\Phi`. Rows, their gradients and rates are those of the model's
kernels: a gradient is what a multiplier of one does to the faces. Loops that share no column are
taken one by one.
"""

from typing import Any

from mbd.algebra.vec import clear, larger, load6
from mbd.base.tolerances import RANK, RANK_LACK
from mbd.joint_tree import layout as t
from mbd.joint_tree.efforts import push, take_forces, wrench
from mbd.joint_tree.recursions import dot6
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit, kernel


@jit
def _spread_row(I: Any, F: Any, k: int, e: int, row: int) -> None:
    """Write the gradient of a row, whose multiplier is one, to its loop's matrix."""
    for a in range(I[e + t.E_FACES], I[e + t.E_FACES] + t.A_SIZE * I[e + t.E_N_FACES], t.A_SIZE):
        face = I[a + t.A_FACE]
        f = wrench(F, I[m.Y] + face, I[m.FY] + face)
        j = I[a + t.A_LAST] - 1
        while j >= 0:
            S = load6(F, t.numbers_of(I, k, j))
            size = F[I[e + t.E_SCALE]] * F[I[k + t.T_UNITS] + j]
            F[row + I[I[k + t.T_LOCAL] + j]] += dot6(S, f) * size
            j = t.before(I, k, j)


@jit
def _clear_faces(I: Any, F: Any, e: int) -> None:
    """Write zero to the forces on the faces of an element, those of the ground too."""
    clear(F, I[m.FY], 12)
    for a in range(I[e + t.E_FACES], I[e + t.E_FACES] + t.A_SIZE * I[e + t.E_N_FACES], t.A_SIZE):
        clear(F, I[m.FY] + I[a + t.A_FACE], 12)


@kernel
def write_rows(I: Any, F: Any, k: int) -> None:
    """Write the rows of all loops: their gradients, then what they lack in positions."""
    for o in t.loops(I, k):
        clear(F, I[o + t.O_MATRIX], I[o + t.O_ROWS] * I[o + t.O_WIDTH])
    for e in t.closing(I, k):
        o = t.loop_of(I, k, e)
        width, u = I[o + t.O_WIDTH], I[e + t.E_U]
        row = I[o + t.O_MATRIX] + I[e + t.E_FIRST] * width
        clear(F, I[m.A] + u, I[e + t.E_N])
        for r in range(I[e + t.E_N]):
            _clear_faces(I, F, e)
            F[I[m.A] + u + r] = 1.0
            call(address_at(I, e + t.E_FORCES), I, F, I[e + t.E_FORCES_AT])
            F[I[m.A] + u + r] = 0.0
            _spread_row(I, F, k, e, row + r * width)
            gap = F[I[m.X] + u + r] if I[e + t.E_POSITION] else 0.0
            F[row + r * width + width - 2] = gap * F[I[e + t.E_SCALE]]
            F[I[k + t.T_GAP]] = larger(F[I[k + t.T_GAP]], abs(gap * F[I[e + t.E_SCALE]]))
        _clear_faces(I, F, e)


@jit
def clear_last(I: Any, F: Any, k: int) -> None:
    """Write zero to the last right-hand side of all loops."""
    for o in t.loops(I, k):
        for r in range(I[o + t.O_ROWS]):
            F[I[o + t.O_MATRIX] + (r + 1) * I[o + t.O_WIDTH] - 1] = 0.0


@jit
def add_rates(I: Any, F: Any, k: int, which: int, s: float) -> None:
    """Add s times the rates of all rows, PHID or PHIDD, to the last right-hand side."""
    for e in t.closing(I, k):
        o = t.loop_of(I, k, e)
        width = I[o + t.O_WIDTH]
        at = I[o + t.O_MATRIX] + I[e + t.E_FIRST] * width + width - 1
        call(address_at(I, e + t.E_RATES), I, F, I[e + t.E_RATES_AT])
        for r in range(I[e + t.E_N]):
            F[at + r * width] += s * F[I[which] + I[e + t.E_U] + r] * F[I[e + t.E_SCALE]]


@jit
def _solve(I: Any, F: Any, o: int, at: int) -> None:
    """Solve for the dependent ones: the column `at` of a loop's rows, by the factors before it.

    What rows that depend on others have left stands after it.
    """
    A, w, n = I[o + t.O_MATRIX], I[o + t.O_WIDTH], I[o + t.O_N_DEPENDENT]
    order = I[o + t.O_ORDER]
    for p in range(n):
        r = int(F[order + 2 * p])
        F[A + p * w + at], F[A + r * w + at] = F[A + r * w + at], F[A + p * w + at]
    for p in range(n):
        x = F[A + p * w + at]
        for r in range(p + 1, I[o + t.O_ROWS]):
            F[A + r * w + at] -= F[A + r * w + p] * x
    for p in range(n - 1, -1, -1):
        x = F[A + p * w + at]
        for c in range(p + 1, n):
            x -= F[A + p * w + c] * F[A + c * w + at]
        F[A + p * w + at] = x / F[A + p * w + p]


@jit
def _factor(I: Any, F: Any, o: int) -> Any:
    """Factor the dependent columns of a loop with full pivoting.

    Return a singular one, counted from one, and the largest pivot.
    """
    A, w, n, rows = I[o + t.O_MATRIX], I[o + t.O_WIDTH], I[o + t.O_N_DEPENDENT], I[o + t.O_ROWS]
    order, most = I[o + t.O_ORDER], 0.0
    for c in range(n):
        F[order + 2 * c + 1] = c
    for p in range(n):
        size, row, column = 0.0, p, p
        for r in range(p, rows):
            for c in range(p, n):
                if abs(F[A + r * w + c]) > size:
                    size, row, column = abs(F[A + r * w + c]), r, c
        most = max(most, size)
        if not size > RANK * most:
            return int(F[order + 2 * p + 1]) + 1, most
        F[order + 2 * p] = row
        for c in range(n):
            F[A + p * w + c], F[A + row * w + c] = F[A + row * w + c], F[A + p * w + c]
        for r in range(rows):
            F[A + r * w + p], F[A + r * w + column] = F[A + r * w + column], F[A + r * w + p]
        a, b = order + 2 * p + 1, order + 2 * column + 1
        F[a], F[b] = F[b], F[a]
        for r in range(p + 1, rows):
            x = F[A + r * w + p] / F[A + p * w + p]
            F[A + r * w + p] = x
            for c in range(p + 1, n):
                F[A + r * w + c] -= x * F[A + p * w + c]
    return 0, most


@jit
def _of_pivot(I: Any, F: Any, o: int, p: int) -> int:
    """Return the column of the tree that pivot p of a loop stands for."""
    return I[I[o + t.O_DEPENDENT] + int(F[I[o + t.O_ORDER] + 2 * p + 1])]  # type: ignore[no-any-return]


@kernel
def eliminate(I: Any, F: Any, k: int) -> None:
    """Write Z, the rates of all columns by the independent ones.

    STATUS is zero, or the column, counted from one, that is singular in its loop, or minus one of a
    loop with more rows that are independent than where its columns were chosen.
    """
    f, Z = I[k + t.T_F], I[k + t.T_Z]
    clear(F, Z, I[k + t.T_N] * f)
    for i in range(f):
        F[Z + I[I[k + t.T_INDEPENDENT] + i] * f + i] = 1.0
    for o in t.loops(I, k):
        A, w, n = I[o + t.O_MATRIX], I[o + t.O_WIDTH], I[o + t.O_N_DEPENDENT]
        singular, most = _factor(I, F, o)
        if singular:
            F[I[k + t.T_STATUS]] = I[I[o + t.O_DEPENDENT] + singular - 1] + 1
            return
        _solve(I, F, o, w - 2)
        for c in range(I[o + t.O_N_OTHERS]):
            _solve(I, F, o, n + c)
            other = I[I[o + t.O_OTHERS] + c]
            for p in range(n):
                d = _of_pivot(I, F, o, p)
                size = F[I[k + t.T_UNITS] + d] / F[I[k + t.T_UNITS] + other]
                F[Z + d * f + I[I[k + t.T_IV_OF] + other]] = -F[A + p * w + n + c] * size
            for r in range(n, I[o + t.O_ROWS]):
                left = abs(F[A + r * w + n + c])
                if left > RANK * most + RANK_LACK * F[I[k + t.T_GAP]]:
                    F[I[k + t.T_STATUS]] = -(other + 1)


@jit
def follow_last(I: Any, F: Any, k: int, to: int) -> None:
    """Write what dependent columns do without the independent ones, by the last right side."""
    clear(F, to, I[k + t.T_N])
    for o in t.loops(I, k):
        A, w = I[o + t.O_MATRIX], I[o + t.O_WIDTH]
        _solve(I, F, o, w - 1)
        for p in range(I[o + t.O_N_DEPENDENT]):
            d = _of_pivot(I, F, o, p)
            F[to + d] = -F[A + p * w + w - 1] * F[I[k + t.T_UNITS] + d]


@jit
def _drift(I: Any, F: Any, k: int, which: int, to: int) -> None:
    """Write what dependent columns do by the rates of rows, PHID or PHIDD."""
    clear_last(I, F, k)
    add_rates(I, F, k, which, 1.0)
    follow_last(I, F, k, to)


@kernel
def hold(I: Any, F: Any, k: int) -> None:
    r"""Write multipliers with which nothing is left along dependent columns (after `gather`).

    :math:`G_d^T\lambda = -\tau_d`, those of redundant rows zero.
    """
    for o in t.loops(I, k):
        A, w, n = I[o + t.O_MATRIX], I[o + t.O_WIDTH], I[o + t.O_N_DEPENDENT]
        x, order = A + w - 1, I[o + t.O_ORDER]
        for r in range(I[o + t.O_ROWS]):
            F[x + r * w] = 0.0
        for p in range(n):
            d = _of_pivot(I, F, o, p)
            b = -F[I[k + t.T_TAU] + d] * F[I[k + t.T_UNITS] + d]
            for r in range(p):
                b -= F[A + r * w + p] * F[x + r * w]
            F[x + p * w] = b / F[A + p * w + p]
        for p in range(n - 1, -1, -1):
            for r in range(p + 1, n):
                F[x + p * w] -= F[A + r * w + p] * F[x + r * w]
        for p in range(n - 1, -1, -1):
            r = int(F[order + 2 * p])
            F[x + p * w], F[x + r * w] = F[x + r * w], F[x + p * w]
    for e in t.closing(I, k):
        o = t.loop_of(I, k, e)
        w = I[o + t.O_WIDTH]
        for r in range(I[e + t.E_N]):
            x = F[I[o + t.O_MATRIX] + (I[e + t.E_FIRST] + r + 1) * w - 1]
            F[I[m.A] + I[e + t.E_U] + r] = x * F[I[e + t.E_SCALE]]


@kernel
def add_forces_held(I: Any, F: Any, k: int) -> None:
    """Add the forces of all elements, and of all rows of loops, to those on the links."""
    push(I, F, k)
    for e in t.closing(I, k):
        call(address_at(I, e + t.E_FORCES), I, F, I[e + t.E_FORCES_AT])
    take_forces(I, F, k, 1.0)


@jit
def _spread(I: Any, F: Any, k: int, of: int, drift: int, to: int) -> None:
    """Write Z x + drift."""
    f = I[k + t.T_F]
    for j in range(I[k + t.T_N]):
        x = F[drift + j]
        for i in range(f):
            x += F[I[k + t.T_Z] + j * f + i] * F[of + i]
        F[to + j] = x


@kernel
def drifting(I: Any, F: Any, k: int) -> None:
    """Let the columns move as the rows ask while independent ones rest (after `move` at rest)."""
    _drift(I, F, k, m.PHID, I[k + t.T_DRIFT_V])


@kernel
def at_rest(I: Any, F: Any, k: int) -> None:
    """Let all columns of the tree rest."""
    for j in range(I[k + t.T_N]):
        F[I[k + t.T_V] + j] = F[I[k + t.T_A] + j] = 0.0


@kernel
def spread_rates(I: Any, F: Any, k: int) -> None:
    """Write the rates of all columns; their second rates are zero."""
    _spread(I, F, k, I[k + t.T_IV], I[k + t.T_DRIFT_V], I[k + t.T_V])
    clear(F, I[k + t.T_A], I[k + t.T_N])


@kernel
def drifting_on(I: Any, F: Any, k: int) -> None:
    """Write what second rates are while independent ones have none (after `show_accelerations`)."""
    _drift(I, F, k, m.PHIDD, I[k + t.T_DRIFT_A])


@kernel
def spread_accelerations(I: Any, F: Any, k: int) -> None:
    """Write the second rates of all columns."""
    _spread(I, F, k, I[k + t.T_IA], I[k + t.T_DRIFT_A], I[k + t.T_A])


@kernel
def gather_independent(I: Any, F: Any, k: int) -> None:
    """Write the efforts along independent ones, Z^T tau."""
    f = I[k + t.T_F]
    clear(F, I[k + t.T_ITAU], f)
    for j in range(I[k + t.T_N]):
        for i in range(f):
            F[I[k + t.T_ITAU] + i] += F[I[k + t.T_Z] + j * f + i] * F[I[k + t.T_TAU] + j]


@kernel
def reduce_mass(I: Any, F: Any, k: int) -> None:
    """Write Z^T M Z; M is symmetric."""
    f, n, Z, M, to = I[k + t.T_F], I[k + t.T_N], I[k + t.T_Z], I[k + t.T_M], I[k + t.T_IM]
    clear(F, to, f * f)
    for j in range(n):
        for i in range(f):
            x = 0.0
            for c in range(n):
                x += F[M + j * n + c] * F[Z + c * f + i]
            for other in range(f):
                F[to + other * f + i] += F[Z + j * f + other] * x


@kernel
def correct(I: Any, F: Any, k: int) -> None:
    """Write one step of Newton's method of all columns to DRIFT_A, and its size to RESULT."""
    largest = 0.0
    clear(F, I[k + t.T_DRIFT_A], I[k + t.T_N])
    for o in t.loops(I, k):
        A, w = I[o + t.O_MATRIX], I[o + t.O_WIDTH]
        for p in range(I[o + t.O_N_DEPENDENT]):
            j, size = _of_pivot(I, F, o, p), -F[A + p * w + w - 2]
            F[I[k + t.T_DRIFT_A] + j] = size * F[I[k + t.T_UNITS] + j]
            largest = larger(largest, abs(size))
    F[I[k + t.T_RESULT]] = largest
