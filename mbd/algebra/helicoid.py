r"""Helicoid between two frames: its six strains from products of directors.

The frames :math:`(r, d_1, d_2, d_3)` of the ends a and b have seven products, all quadratic,

.. math::
   u_i = \tfrac12 (d_i^a + d_i^b)\cdot(r_b - r_a), \qquad
   a_i = \tfrac12 (d_k^a\cdot d_j^b - d_j^a\cdot d_k^b), \qquad
   t = \sum_i d_i^a\cdot d_i^b

(i, j, k cyclic). With the relative turn :math:`\varphi`, :math:`x = \cos\varphi = (t-1)/2`,
:math:`c = \varphi/\sin\varphi` and :math:`b = (c - 1)/\sin^2\varphi`, the logarithm of
:math:`H_a^{-1}H_b` on SE(3) is

.. math:: e_T = c\,u - b\,(a\cdot u)\,a, \qquad e_R = c\,a ,

the lengths and turns of the helicoid from a to b. It is smooth at :math:`\varphi = 0`; at
:math:`\varphi = \pi`, c is infinite.

Derivatives by :math:`z = (u, a, t)`, :math:`\partial x = \tfrac12\partial t`, with those of the
scalar :math:`\sigma\cdot e`, :math:`\sigma = (\sigma_T, \sigma_R)`:

.. math::
   \partial_u &= c\,\sigma_T - b\,(\sigma_T\cdot a)\,a, \qquad
   \partial_a = c\,\sigma_R - b\,\big((a\cdot u)\,\sigma_T + (\sigma_T\cdot a)\,u\big), \\
   \partial_x &= c'(\sigma_T\cdot u + \sigma_R\cdot a) - b'(\sigma_T\cdot a)(a\cdot u).

Source: Sonneville, Cardona, Bruels, Comput. Methods Appl. Mech. Engrg. 268 (2014), for the
helicoid; products of directors in place of rotation vectors are ours, checked by the logarithm.
"""

import math
from typing import Any

from mbd.algebra.vec import dot, minus, plus, times
from mbd.machine.jit import jit

ROW = 8  # length of the rows of matrices over z: seven numbers and a zero
_NEAR = 0.1  # of 1 - cos(phi); below it series, whose terms fall by twenty each


@jit
def coefficients(t: float) -> Any:
    """Return c, c', c'', b, b', b'', derivatives by x = cos(phi) = (t - 1)/2.

    With s = 1 - x and g = (c - 1)/s, a series in s: c = 1 + s g and b = g/(2 - s).
    """
    s = 0.5 * (3.0 - t)
    if s < _NEAR:
        g, g1, g2 = 0.0, 0.0, 0.0
        for n in range(14, 0, -1):  # g = k_1 (1 + s k_2 (1 + s k_3 (...))), k_n = n/(2n + 1)
            k = n / (2.0 * n + 1.0)
            g2 = k * (s * g2 + 2.0 * g1)
            g1 = k * (s * g1 + g)
            g = k * (s * g + 1.0)
        c1 = -(g + s * g1)
        c2 = 2.0 * g1 + s * g2
        c = 1.0 + s * g
    else:
        x = 1.0 - s
        size = max(1.0 - x * x, 1e-300)
        c = math.acos(max(-1.0, x)) / math.sqrt(size)
        c1 = (x * c - 1.0) / size
        c2 = (c + 3.0 * x * c1) / size
        g = (c - 1.0) / s
        g1 = (-c1 - g) / s
        g2 = (c2 - 2.0 * g1) / s
    b = g / (2.0 - s)
    b1 = (g1 + b) / (2.0 - s)
    b2 = (g2 + 2.0 * b1) / (2.0 - s)
    return c, c1, c2, b, -b1, b2


@jit
def strains(k: Any, u: Any, a: Any) -> Any:
    """Return e_T and e_R; k are the coefficients."""
    c, _, _, b, _, _ = k
    return plus(times(c, u), times(-b * dot(a, u), a)), times(c, a)


@jit
def gradient(k: Any, u: Any, a: Any, sT: Any, sR: Any) -> Any:
    """Return the derivatives of sT.e_T + sR.e_R by u, a and t: F_z^T sigma."""
    c, c1, _, b, b1, _ = k
    alpha, beta = dot(a, u), dot(sT, a)
    by_u = plus(times(c, sT), times(-b * beta, a))
    by_a = plus(times(c, sR), plus(times(-b * alpha, sT), times(-b * beta, u)))
    by_t = 0.5 * (c1 * (dot(sT, u) + dot(sR, a)) - b1 * beta * alpha)
    return by_u, by_a, by_t


@jit
def products(a: Any, b: Any) -> Any:
    """Return u, a and t of two frames."""
    line = minus(b[0], a[0])
    u = (
        0.5 * (dot(a[1], line) + dot(b[1], line)),
        0.5 * (dot(a[2], line) + dot(b[2], line)),
        0.5 * (dot(a[3], line) + dot(b[3], line)),
    )
    turn = (
        0.5 * (dot(a[3], b[2]) - dot(a[2], b[3])),
        0.5 * (dot(a[1], b[3]) - dot(a[3], b[1])),
        0.5 * (dot(a[2], b[1]) - dot(a[1], b[2])),
    )
    return u, turn, dot(a[1], b[1]) + dot(a[2], b[2]) + dot(a[3], b[3])


@jit
def rates(a: Any, b: Any, ad: Any, bd: Any) -> Any:
    """Return the rates of u, a and t: products are bilinear, but for the mean director."""
    line, lined = minus(b[0], a[0]), minus(bd[0], ad[0])
    u = (
        0.5 * (dot(plus(a[1], b[1]), lined) + dot(plus(ad[1], bd[1]), line)),
        0.5 * (dot(plus(a[2], b[2]), lined) + dot(plus(ad[2], bd[2]), line)),
        0.5 * (dot(plus(a[3], b[3]), lined) + dot(plus(ad[3], bd[3]), line)),
    )
    _, one, t1 = products(ad, b)
    _, two, t2 = products(a, bd)
    return u, plus(one, two), t1 + t2


@jit
def strain_rates(k: Any, u: Any, a: Any, ud: Any, ad: Any, td: float) -> Any:
    """Return F_z z', the rates of e_T and e_R."""
    c, c1, _, b, b1, _ = k
    along = dot(a, u)
    x = 0.5 * td
    eT = plus(times(c, ud), times(-b * along, ad))
    eT = plus(eT, times(-b * (dot(a, ud) + dot(u, ad)) - b1 * x * along, a))
    return plus(eT, times(c1 * x, u)), plus(times(c, ad), times(c1 * x, a))


@jit
def write_gradients(F: Any, to: int, k: Any, u: Any, a: Any) -> None:
    """Write F_z, 6x7: the rows of the gradient of each strain."""
    c, c1, _, b, b1, _ = k
    along = dot(a, u)
    for i in range(6 * ROW):
        F[to + i] = 0.0
    for i in range(3):
        row, low = to + ROW * i, to + ROW * (3 + i)
        for j in range(3):
            F[row + j] = -b * a[i] * a[j]
            F[row + 3 + j] = -b * a[i] * u[j]
        F[row + i] += c
        F[row + 3 + i] -= b * along
        F[row + 6] = 0.5 * (c1 * u[i] - b1 * a[i] * along)
        F[low + 3 + i] = c
        F[low + 6] = 0.5 * c1 * a[i]


@jit
def add_hessian(F: Any, to: int, w: float, k: Any, u: Any, a: Any, sT: Any, sR: Any) -> None:
    """Add w sum_i sigma_i F_i,zz, 7x7."""
    _, c1, c2, b, b1, b2 = k
    alpha, beta, gamma = dot(a, u), dot(sT, a), dot(sT, u) + dot(sR, a)
    for i in range(3):
        ux = 0.5 * w * (c1 * sT[i] - b1 * beta * a[i])
        ax = 0.5 * w * (c1 * sR[i] - b1 * (alpha * sT[i] + beta * u[i]))
        F[to + ROW * i + 6] += ux
        F[to + 6 * ROW + i] += ux
        F[to + ROW * (3 + i) + 6] += ax
        F[to + 6 * ROW + 3 + i] += ax
        F[to + ROW * i + 3 + i] -= w * b * beta
        F[to + ROW * (3 + i) + i] -= w * b * beta
        for j in range(3):
            F[to + ROW * i + 3 + j] -= w * b * a[i] * sT[j]
            F[to + ROW * (3 + j) + i] -= w * b * a[i] * sT[j]
            F[to + ROW * (3 + i) + 3 + j] -= w * b * (sT[i] * u[j] + u[i] * sT[j])
    F[to + 6 * ROW + 6] += 0.25 * w * (c2 * gamma - b2 * alpha * beta)
