r"""Stress of a beam element by its strains: constant stiffness, or a compliance that follows.

Of **order two** in the length of an element, with the strains e and those without stress
:math:`e_0`,

.. math:: V = \tfrac12 x^TKx, \qquad x = e - e_0, \qquad \sigma = f = Kx .

**Order four.** No load acts between the ends, so a wrench is constant in space: in the axes of the
sections it is :math:`f + \xi A^Tf` to first order, :math:`\xi` from -1/2 to 1/2, with A the matrix
ad of SE(3) of the mean strains. Those that it makes are linear along the element, and the second
term of Magnus' expansion of the relative motion exp(e) gives, with :math:`S_k = \int\xi^kC^{-1}ds`,

.. math:: V = \tfrac12 x^TS(e)^{-1}x, \qquad
   S(e) = S_c + AS_1 + S_1A^T + AS_2A^T, \qquad A = ad(e_0 + Wx) .

:math:`S_c` makes S the inverse of K at the strains of the line, where K is exact. W, diagonal, has
the share of x that is strain of the material, :math:`1 - O(h^2)`: the rest, such as
:math:`h^2/12EI` in shear, is bending. With :math:`f = S^{-1}x`, :math:`y = (S_1 + S_2A^T)f` and
:math:`B_f\,\delta e = ad_{\delta e}^Tf`, which is antisymmetric,

.. math:: \sigma = f + WB_f\,y, \qquad
   \frac{\partial\sigma}{\partial e} = G^TS^{-1}G + WB_fS_2B_fW, \qquad
   G = I + \big(ad_y - (S_1 + AS_2)B_f\big)W .

In a search for balance f is the unknown, by :math:`L = f\cdot x - \tfrac12f^TSf`, of which V is the
maximum: about an iterate :math:`\hat f`, with G of it,

.. math:: f \leftarrow S^{-1}(x + G\delta e), \qquad
   \sigma = \frac{\partial L}{\partial e}(\hat f) + G^T(S^{-1}x - \hat f) .

From e' to e'' in a step of the conserving scheme, with y', y'' and A of the mean strains,

.. math:: \bar\sigma = \tfrac12(f' + f'') + \tfrac12W(B_{f'}y'' + B_{f''}y'), \qquad
   \bar\sigma\cdot(e'' - e') = V(e'') - V(e') ,

as L is a polynomial. Twice its derivative by e'' is
:math:`(G')^T(S'')^{-1}G'' + \tfrac12W(B_{f'}S_2B_{f''} + B_{f''}S_2B_{f'})W`.

References
----------
W. Magnus, Commun. Pure Appl. Math. 7 (1954): the expansion. The potential is ours.
"""

import math
from typing import Any, NamedTuple

from mbd.algebra.helicoid import ROW
from mbd.algebra.vec import clear, cross, dot, load3, load6, minus, plus, store6, times
from mbd.interactions.beams.blocks import FZ, GP, KF
from mbd.machine.jit import jit
from mbd.machine.simd import product_of

K, D = 6, 42  # numbers: e0, K and D row by row, then of the second law
_COMPLIANCE, _FIRST, _SECOND, _SHARES = 78, 114, 150, 186  # S_c, S_1, S_2, diagonal of W
# scratch space before the blocks are added: S_2 A^T, the factor of S, S_2 B_f; G, the derivative
_TURNED, _FACTOR, _BENT = GP, GP + 36, GP + 72
_G0, _G1, _H = (GP + 108 + 6 * ROW * i for i in range(3))
_NONE = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
_UNITS = tuple(
    tuple(tuple(float(i == 3 * k + j) for j in range(3)) for k in range(2)) for i in range(6)
)
add_product = product_of(6, 6, 6, ROW, ROW)  # s M X of M with rows 6 apart
_add_product = product_of(6, 6, ROW, ROW, ROW)
_add_transposed = product_of(6, 6, ROW, ROW, ROW, transposed=True)


class StressLaw(NamedTuple):
    """Stress by strains, both in halves of three.

    It has ``size`` numbers at n, s is the scratch space. ``force(F, n, s, e)`` returns f,
    ``stress(F, n, s, e, f)`` sigma; ``add_tangent(F, n, s, e, f)`` adds the derivative by e, times
    F_z, at KF. In a search for balance ``ahead(..., f, iterate, e')`` is f after a motion, and
    ``here(..., f, iterate)`` sigma about it. Of a conserving step ``mean(F, n, s, e', e'')``
    is the stress, and ``add_mean_tangent`` of the same adds twice the derivative by e''.
    """

    size: int
    force: Any
    stress: Any
    ahead: Any
    here: Any
    add_tangent: Any
    mean: Any
    add_mean_tangent: Any


@jit
def matrix_vector(F: Any, at_matrix: int, x: Any) -> Any:
    """Return the two halves of a 6x6 matrix times x."""
    M = at_matrix
    return (
        (_row(F, M, x), _row(F, M + 6, x), _row(F, M + 12, x)),
        (_row(F, M + 18, x), _row(F, M + 24, x), _row(F, M + 30, x)),
    )


@jit
def _row(F: Any, i: int, x: Any) -> float:
    return dot(load3(F, i), x[0]) + dot(load3(F, i + 3), x[1])


@jit
def sum6(s: float, x: Any, y: Any) -> Any:
    """Return s (x + y), in halves."""
    return times(s, plus(x[0], y[0])), times(s, plus(x[1], y[1]))


@jit
def beyond(F: Any, n: int, e: Any) -> Any:
    """Return x = e - e0."""
    return minus(e[0], load3(F, n)), minus(e[1], load3(F, n + 3))


# --- constant stiffness ---------------------------------------------------------------------------
@jit
def _force(F: Any, n: int, s: int, e: Any) -> Any:
    """Return K x."""
    return matrix_vector(F, n + K, beyond(F, n, e))


@jit
def _same(F: Any, n: int, s: int, e: Any, f: Any) -> Any:
    """Return f."""
    return f


@jit
def _here_same(F: Any, n: int, s: int, e: Any, f: Any, iterate: Any) -> Any:
    """Return f."""
    return f


@jit
def _ahead_same(F: Any, n: int, s: int, e: Any, f: Any, iterate: Any, rates: Any) -> Any:
    """Return f and what rates add."""
    return sum6(1.0, f, matrix_vector(F, n + K, rates))


@jit
def _add_stiffness(F: Any, n: int, s: int, e: Any, f: Any) -> None:
    """Add K F_z."""
    add_product(F, s + KF, 1.0, n + K, s + FZ, ROW)


@jit
def _mean(F: Any, n: int, s: int, before: Any, after: Any) -> Any:
    """Return the stress of the mean strains."""
    return _force(F, n, s, sum6(0.5, before, after))


LINEAR = StressLaw(
    _COMPLIANCE, _force, _same, _ahead_same, _here_same, _add_stiffness, _mean, _add_stiffness
)


# --- a compliance that follows the strains --------------------------------------------------------
@jit
def _moved(e: Any, x: Any) -> Any:
    """Return ad_e x."""
    return plus(cross(e[1], x[0]), cross(e[0], x[1])), cross(e[1], x[1])


@jit
def _wrench(f: Any, y: Any) -> Any:
    """Return B_f y = ad_y^T f."""
    return cross(f[0], y[1]), plus(cross(f[0], y[0]), cross(f[1], y[1]))


@jit
def _column(F: Any, i: int) -> Any:
    """Return a column of a matrix with rows 6 apart."""
    return (F[i], F[i + 6], F[i + 12]), (F[i + 18], F[i + 24], F[i + 30])


@jit
def _shared(F: Any, n: int, s: float, x: Any) -> Any:
    """Return s W x."""
    (v, w), (a, b) = load6(F, n + _SHARES), x
    return (
        (s * v[0] * a[0], s * v[1] * a[1], s * v[2] * a[2]),
        (s * w[0] * b[0], s * w[1] * b[1], s * w[2] * b[2]),
    )


@jit
def _mean_strains(F: Any, n: int, e: Any) -> Any:
    """Return e0 + W x, of which A is."""
    return sum6(1.0, load6(F, n), _shared(F, n, 1.0, beyond(F, n, e)))


@jit
def _turn(F: Any, n: int, s: int, e: Any) -> None:
    """Write S_2 A^T, row by row: S_2 is symmetric."""
    e = _mean_strains(F, n, e)
    for i in range(6):
        store6(F, s + _TURNED + 6 * i, _moved(e, load6(F, n + _SECOND + 6 * i)))


@jit
def _factor(F: Any, n: int, s: int, e: Any) -> None:
    """Write S_2 A^T and the factor of Cholesky of S(e), with inverses on its diagonal."""
    _turn(F, n, s, e)
    mean = _mean_strains(F, n, e)
    L, Z = s + _FACTOR, s + _BENT
    for i in range(6):  # Z = S_1 A^T + A S_2 A^T / 2
        half, one = _column(F, s + _TURNED + i), load6(F, n + _FIRST + 6 * i)
        x = plus(one[0], times(0.5, half[0])), plus(one[1], times(0.5, half[1]))
        store6(F, Z + 6 * i, _moved(mean, x))
    for i in range(6):
        for j in range(i + 1):
            x = F[n + _COMPLIANCE + 6 * i + j] + F[Z + 6 * i + j] + F[Z + 6 * j + i]
            for k in range(j):
                x -= F[L + 6 * i + k] * F[L + 6 * j + k]
            F[L + 6 * i + j] = x * F[L + 7 * j] if j < i else 1.0 / math.sqrt(x)


@jit
def _following(F: Any, n: int, s: int, e: Any) -> Any:
    """Return f = S^-1 x; S_2 A^T and the factor of S stay."""
    _factor(F, n, s, e)
    return _solved(F, s, beyond(F, n, e))


@jit
def _solved(F: Any, s: int, x: Any) -> Any:
    """Return S^-1 x with the factor."""
    L, f = s + _FACTOR, s + _BENT
    store6(F, f, x)
    for i in range(6):
        for k in range(i):
            F[f + i] -= F[L + 6 * i + k] * F[f + k]
        F[f + i] *= F[L + 7 * i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            F[f + i] -= F[L + 6 * k + i] * F[f + k]
        F[f + i] *= F[L + 7 * i]
    return load6(F, f)


@jit
def _arm(F: Any, n: int, s: int, f: Any) -> Any:
    """Return y = (S_1 + S_2 A^T) f."""
    return sum6(1.0, matrix_vector(F, n + _FIRST, f), matrix_vector(F, s + _TURNED, f))


@jit
def _stress(F: Any, n: int, s: int, e: Any, f: Any) -> Any:
    """Return f + W B_f y."""
    _turn(F, n, s, e)
    return sum6(1.0, f, _shared(F, n, 1.0, _wrench(f, _arm(F, n, s, f))))


@jit
def _write_G(F: Any, n: int, s: int, to: int, f: Any) -> None:
    """Write G = I + (ad_y - (S_1 + A S_2) B_f) W; rows x times B_f are -B_f x."""
    y = _arm(F, n, s, f)
    for i in range(6):
        x = sum6(1.0, load6(F, n + _FIRST + 6 * i), _column(F, s + _TURNED + i))
        row = sum6(1.0, _wrench(f, x), _wrench(_UNITS[i], y))
        store6(F, to + ROW * i, sum6(1.0, _UNITS[i], _shared(F, n, 1.0, row)))
        F[to + ROW * i + 6] = F[to + ROW * i + 7] = 0.0


@jit
def _ahead(F: Any, n: int, s: int, e: Any, f: Any, iterate: Any, rates: Any) -> Any:
    """Return f + S^-1 G e', G of the iterate."""
    _factor(F, n, s, e)
    G = s + _G1
    _write_G(F, n, s, G, iterate)
    moved = (
        (_row(F, G, rates), _row(F, G + ROW, rates), _row(F, G + 2 * ROW, rates)),
        (_row(F, G + 3 * ROW, rates), _row(F, G + 4 * ROW, rates), _row(F, G + 5 * ROW, rates)),
    )
    return sum6(1.0, f, _solved(F, s, moved))


@jit
def _here(F: Any, n: int, s: int, e: Any, f: Any, iterate: Any) -> Any:
    """Return the stress of the iterate, and to first order what f differs from it."""
    sigma = _stress(F, n, s, e, iterate)
    G = s + _G1
    _write_G(F, n, s, G, iterate)
    for i in range(6):
        less = _pick(f, i) - _pick(iterate, i)
        sigma = sum6(1.0, sigma, sum6(less, load6(F, G + ROW * i), _NONE))
    return sigma


@jit
def _pick(x: Any, i: int) -> float:
    return x[i // 3][i % 3]


@jit
def _forward(F: Any, s: int, to: int) -> None:
    """Solve with the factor of S, in place of a matrix with rows ROW apart."""
    L = s + _FACTOR
    for i in range(6):
        for k in range(i):
            for c in range(6):
                F[to + ROW * i + c] -= F[L + 6 * i + k] * F[to + ROW * k + c]
        for c in range(6):
            F[to + ROW * i + c] *= F[L + 7 * i]


@jit
def _add_derivative(F: Any, n: int, s: int, G0: int, fa: Any, fb: Any) -> None:
    """Add (L^-1 G0)^T L^-1 G1 + (B_a S_2 B_b + B_b S_2 B_a)/2, times F_z."""
    H, bent = s + _H, s + _BENT
    clear(F, H, 6 * ROW)
    for one, other in ((fa, fb), (fb, fa)):
        for i in range(6):  # -S_2 B
            store6(F, bent + 6 * i, _wrench(one, load6(F, n + _SECOND + 6 * i)))
        for i in range(6):
            half = -0.5 * F[n + _SHARES + i]
            T, R = _shared(F, n, half, _wrench(other, _column(F, bent + i)))
            for c in range(3):
                F[H + ROW * i + c] += T[c]
                F[H + ROW * i + 3 + c] += R[c]
    _add_transposed(F, H, 1.0, G0, s + _G1, ROW)
    _add_product(F, s + KF, 1.0, H, s + FZ, ROW)


@jit
def _add_tangent(F: Any, n: int, s: int, e: Any, f: Any) -> None:
    """Add the derivative of the stress, times F_z."""
    _factor(F, n, s, e)
    _write_G(F, n, s, s + _G1, f)
    _forward(F, s, s + _G1)
    _add_derivative(F, n, s, s + _G1, f, f)


@jit
def _mean_following(F: Any, n: int, s: int, before: Any, after: Any) -> Any:
    """Return the stress with the work of the change of V."""
    f0, f1 = _following(F, n, s, before), _following(F, n, s, after)
    _turn(F, n, s, sum6(0.5, before, after))
    y0, y1 = _arm(F, n, s, f0), _arm(F, n, s, f1)
    turned = sum6(1.0, _wrench(f0, y1), _wrench(f1, y0))
    return sum6(0.5, sum6(1.0, f0, f1), _shared(F, n, 1.0, turned))


@jit
def _add_mean_tangent(F: Any, n: int, s: int, before: Any, after: Any) -> None:
    """Add twice the derivative of the mean stress by the strains at the end, times F_z."""
    f0, f1 = _following(F, n, s, before), _following(F, n, s, after)
    _write_G(F, n, s, s + _G1, f1)
    _turn(F, n, s, sum6(0.5, before, after))
    _write_G(F, n, s, s + _G0, f0)
    _forward(F, s, s + _G0)
    _forward(F, s, s + _G1)
    _add_derivative(F, n, s, s + _G0, f0, f1)


FOLLOWING = StressLaw(
    192, _following, _stress, _ahead, _here, _add_tangent, _mean_following, _add_mean_tangent
)
