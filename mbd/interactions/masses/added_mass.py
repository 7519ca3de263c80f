r"""Added mass: the kinetic energy of a fluid that a body moves, by a 6x6 matrix in its axes.

With a point r of the body, axes :math:`d_k` fixed to it and the velocity
:math:`V = (U, \Omega)` of that point along these axes, every component of which is bilinear in
:math:`x = (r, d_1, d_2, d_3)` and :math:`\dot x`,

.. math::
   U_k &= \dot r\cdot d_k, \qquad
   \Omega_i = \tfrac12(d_k\cdot\dot d_j - d_j\cdot\dot d_k) \quad (i, j, k \text{ cyclic}), \\
   V_i &= \dot x\cdot N_i x, \qquad T = \tfrac12 V^TAV, \qquad p = AV ,

Lagrange's equations are those of Kirchhoff [1]_ for a body in an ideal fluid at rest. As forces on
the face they are, with :math:`a_i = N_i x`, :math:`n_i = N_i\dot x`, :math:`m_i = N_i^T\dot x` and
:math:`c_i = N_i^T\ddot x`,

.. math::
   f &= \frac{d}{dt}\frac{\partial T}{\partial\dot x} - \frac{\partial T}{\partial x}
      = \sum_i \dot p_i a_i + p_i (n_i - m_i), \qquad
      \dot V_i = \ddot x\cdot a_i + \dot x\cdot n_i \\
   \frac{\partial f}{\partial\ddot x} &= \sum_{ij} A_{ij}\, a_i a_j^T \\
   \frac{\partial f}{\partial\dot x} &= \sum_{ij} A_{ij}\big(a_i (n_j + m_j)^T
      + (n_i - m_i) a_j^T\big) + \sum_i p_i (N_i - N_i^T) \\
   \frac{\partial f}{\partial x} &= \sum_{ij} A_{ij}\big(a_i c_j^T + (n_i - m_i) m_j^T\big)
      + \sum_i \dot p_i N_i .

References
----------
.. [1] H. Lamb, Hydrodynamics, 6th ed., 1932, articles 118 to 124.
"""

from typing import Any

from mbd.algebra.vec import add, add3, clear, load3, store3
from mbd.interactions import pullback as on
from mbd.interactions.kind import Kind
from mbd.interactions.pullback import at, each, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit

# the scratch space after the maps: x and its two rates, p and p', then six vectors of twelve
# numbers each; then the derivatives by acceleration, rate and position
_X, _XD, _XDD, _MOMENTUM, _FORCE = 0, 12, 24, 36, 42
_A, _N, _M, _C, _TURN, _ROWS, _SUM = (48 + 72 * k for k in range(7))
_BY_ACCELERATION, _BY_RATE, _BY_POSITION, _ROOM = (48 + 72 * 7 + 144 * k for k in range(4))


@jit
def _work(I: Any) -> int:
    """Return where the numbers of an element are."""
    return on.vector(I, 4, 0) + 4 * m.SECOND_SIZE


@jit
def _through(F: Any, x: int, to: int) -> None:
    """Write N_i x, i = 1 ... 6, of the vectors x = (r, d_1, d_2, d_3) at F[x]."""
    clear(F, to, 72)
    for i in range(3):
        j, k = 3 + 3 * ((i + 1) % 3), 3 + 3 * ((i + 2) % 3)
        store3(F, to + 12 * i, load3(F, x + 3 + 3 * i))
        add3(F, to + 12 * (3 + i) + j, 0.5, load3(F, x + k))
        add3(F, to + 12 * (3 + i) + k, -0.5, load3(F, x + j))


@jit
def _back(F: Any, x: int, to: int) -> None:
    """Write N_i^T x, i = 1 ... 6."""
    clear(F, to, 72)
    for i in range(3):
        j, k = 3 + 3 * ((i + 1) % 3), 3 + 3 * ((i + 2) % 3)
        store3(F, to + 12 * i + 3 + 3 * i, load3(F, x))
        add3(F, to + 12 * (3 + i) + j, -0.5, load3(F, x + k))
        add3(F, to + 12 * (3 + i) + k, 0.5, load3(F, x + j))


@jit
def _coefficient(F: Any, p: int, a: int, b: int) -> float:
    """Return c of the block c I that sum_i p_i N_i has for the vectors a and b of x."""
    if b in (0, a):
        return 0.0
    if a == 0:
        return F[p + b - 1]
    i = 6 - a - b  # the third axis
    return (0.5 if (a - i) % 3 == 1 else -0.5) * F[p + 2 + i]


@jit
def _product(F: Any, x: int, y: int, n: int) -> float:
    """Return the scalar product of n numbers."""
    s = 0.0
    for t in range(n):
        s += F[x + t] * F[y + t]
    return s


@jit
def _prepare(I: Any, F: Any, e: Any) -> int:
    """Write x, its rates, vectors, momentum p and p'; return where."""
    w = _work(I)
    for a in range(4):
        end = I[e.ends + a]
        store3(F, w + _X + 3 * a, at(I, F, m.Y, end))
        store3(F, w + _XD + 3 * a, at(I, F, m.YD, end))
        store3(F, w + _XDD + 3 * a, at(I, F, m.YDD, end))
    _through(F, w + _X, w + _A)
    _through(F, w + _XD, w + _N)
    _back(F, w + _XD, w + _M)
    for i in range(6):
        F[w + _MOMENTUM + i] = 0.0
        F[w + _FORCE + i] = 0.0
    for j in range(6):
        velocity = _product(F, w + _XD, w + _A + 12 * j, 12)
        rate = _product(F, w + _XDD, w + _A + 12 * j, 12)
        rate += _product(F, w + _XD, w + _N + 12 * j, 12)
        for i in range(6):
            A = F[e.numbers + 6 * i + j]
            F[w + _MOMENTUM + i] += A * velocity
            F[w + _FORCE + i] += A * rate
    for t in range(72):
        F[w + _TURN + t] = F[w + _N + t] - F[w + _M + t]
    return w


@each
def forces(I: Any, F: Any, e: Any) -> None:
    """Add sum_i p_i' a_i + p_i (n_i - m_i)."""
    w = _prepare(I, F, e)
    for a in range(4):
        for i in range(6):
            t = 12 * i + 3 * a
            push(I, F, m.FY, I[e.ends + a], F[w + _FORCE + i], load3(F, w + _A + t))
            push(I, F, m.FY, I[e.ends + a], F[w + _MOMENTUM + i], load3(F, w + _TURN + t))


@jit
def _add_outer(F: Any, e: Any, w: int, left: int, right: int, to: int) -> None:
    """Add sum_ij A_ij l_i r_j^T of vectors of twelve numbers."""
    clear(F, w + _ROWS, 72)
    for i in range(6):
        for j in range(6):
            A = F[e.numbers + 6 * i + j]
            if A != 0.0:
                add(F, w + _ROWS + 12 * i, A, right + 12 * j, 12)
    for i in range(6):
        for s in range(12):
            x = F[left + 12 * i + s]
            if x != 0.0:
                add(F, to + 12 * s, x, w + _ROWS + 12 * i, 12)


@jit
def _block(F: Any, S: int, a: int, b: int, c: float) -> Any:
    """Return the block (a, b) of a 12x12 matrix at F[S], with c I."""
    s = S + 36 * a + 3 * b
    return (
        F[s] + c, F[s + 1], F[s + 2], F[s + 12], F[s + 13] + c, F[s + 14], F[s + 24], F[s + 25],
        F[s + 26] + c,
    )  # fmt: skip


@each
def tangent(I: Any, F: Any, e: Any) -> None:
    """Add the derivatives by acceleration, rate and position."""
    w = _prepare(I, F, e)
    on.form_maps(I, F, e, 4, True)
    on.form_second_maps(I, F, e, 4)
    _back(F, w + _XDD, w + _C)
    for t in range(72):
        F[w + _SUM + t] = F[w + _N + t] + F[w + _M + t]
    M, G, K = w + _BY_ACCELERATION, w + _BY_RATE, w + _BY_POSITION
    clear(F, M, w + _ROOM - M)
    _add_outer(F, e, w, w + _A, w + _A, M)
    _add_outer(F, e, w, w + _A, w + _SUM, G)
    _add_outer(F, e, w, w + _TURN, w + _A, G)
    _add_outer(F, e, w, w + _A, w + _C, K)
    _add_outer(F, e, w, w + _TURN, w + _M, K)
    for a in range(4):
        for b in range(4):
            turn = _coefficient(F, w + _MOMENTUM, a, b) - _coefficient(F, w + _MOMENTUM, b, a)
            bend = _coefficient(F, w + _FORCE, a, b)
            by = _block(F, M, a, b, 0.0), _block(F, G, a, b, turn), _block(F, K, a, b, bend)
            on.add_inertia(I, F, e, a, b, 4, by)


@each
def momenta(I: Any, F: Any, e: Any) -> None:
    """Add sum_i p_i a_i."""
    w = _prepare(I, F, e)
    for a in range(4):
        for i in range(6):
            a_i = load3(F, w + _A + 12 * i + 3 * a)
            push(I, F, m.FY, I[e.ends + a], F[w + _MOMENTUM + i], a_i)


ADDED_MASS = Kind(
    "added mass", 4, 0, tuple((a, b) for a in range(4) for b in range(4)), forces, tangent,
    damped=True, accelerated=True, smooth=True, work=4 * m.SECOND_SIZE + _ROOM, secant=False,
    momenta=momenta,
)  # fmt: skip
