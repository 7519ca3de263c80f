r"""Measures: scalars of faces with gradient and Hessian, for scalar rows and springs.

A measure u of n attachments :math:`x_a \in R^3` has

.. math:: \frac{\partial u}{\partial x_a} = g_a, \qquad
   \frac{\partial^2 u}{\partial x_a \partial x_b} = h_{ab} I + \kappa\, g_a g_b^T
      - g_a n_b^T - n_a g_b^T + \mu\, n_a n_b^T .

======== =============================================== ==============================
DOT      :math:`a\cdot b`                                a, b
OFFSET   :math:`a\cdot(P - Q)`                           a, P, Q
SLIDE    :math:`a\cdot(P - Q)/|a|`                       a, P, Q, of a body that breathes
SQUARE   :math:`\tfrac12|Q - P|^2`                       P, Q
LENGTH   :math:`|Q - P|`                                 P, Q
ANGLE    atan2(a2.b, a1.b), unwrapped                    a1, a2, b
SINE     :math:`\sqrt{1 - (a\cdot b)^2}`, unit vectors   a, b
======== =============================================== ==============================
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from mbd.algebra.vec import ZERO, clear, dot, load3, mat_plus, minus, outer, plus, store3, times
from mbd.base.recorded_call import reduced
from mbd.machine.jit import jit

# places in the scratch space: vectors, their rates, Hessian times rate, gradient, n, h (4x4)
XA, XD, HXD, GRAD, NORMAL, HESS, LAW_IN, LAW_OUT, KAPPA, MU = 0, 12, 24, 36, 48, 60, 76, 80, 84, 85


@jit
def _h(F: Any, s: int, a: int, b: int, value: float) -> None:
    F[s + HESS + 4 * a + b] = value
    F[s + HESS + 4 * b + a] = value


@jit
def keep_gradient(F: Any, s: int, u: float, first: float, last: float) -> None:
    """Leave the gradient at the midpoint: exact for measures bilinear in the vectors."""


@jit
def length_secant(F: Any, s: int, u: float, first: float, last: float) -> None:
    """Scale d/|d| to d/mean: of the square of the length the midpoint gradient is the secant."""
    mean = 0.5 * (first + last)
    if mean > 1e-12:
        for i in range(GRAD, GRAD + 6):
            F[s + i] *= u / mean
            F[s + i + NORMAL - GRAD] = -0.5 * F[s + i] / mean
        for a in range(2):
            for b in range(2):
                F[s + HESS + 4 * a + b] *= u / mean


@jit
def angle_secant(F: Any, s: int, u: float, first: float, last: float) -> None:
    """With c = cos u, s = sin u bilinear: u1 - u0 = w (-sin m (c1 - c0) + cos m (s1 - s0)).

    Here m is the mean angle and w = (d/2) / sin(d/2) with the turn d of the step.
    """
    mean, half = 0.5 * (first + last), 0.5 * (last - first)
    if abs(half) > 1e-4:
        sine = math.sin(half)
        w, slope = half / sine, (sine - half * math.cos(half)) / (sine * sine)
    else:
        w, slope = 1.0 + half * half / 6, half / 3
    cm, sm = math.cos(mean), math.sin(mean)
    a1, a2, b = load3(F, s), load3(F, s + 3), load3(F, s + 6)
    c, t = -w * sm, w * cm
    store3(F, s + GRAD, times(c, b))
    store3(F, s + GRAD + 3, times(t, b))
    store3(F, s + GRAD + 6, plus(times(c, a1), times(t, a2)))
    _h(F, s, 0, 2, c)
    _h(F, s, 1, 2, t)
    c, t = -0.5 * (slope * sm + w * cm), 0.5 * (slope * cm - w * sm)
    store3(F, s + NORMAL, times(c, b))
    store3(F, s + NORMAL + 3, times(t, b))
    store3(F, s + NORMAL + 6, plus(times(c, a1), times(t, a2)))


class MeasureShape(NamedTuple):
    """Form that kernels are compiled for: number of vectors, form of the Hessian."""

    n: int
    curved: bool
    bent: bool
    full: bool


@dataclass(frozen=True, eq=False)
class Measure:
    r"""A scalar of faces.

    ``evaluate(F, s)`` reads the vectors at F[s + XA], writes gradient, n, h and kappa (and mu, if
    ``bent``), returns u. The value of a ``periodic`` one is an angle; who uses it unwraps it.
    ``secant(F, s, u, first, last)`` turns the gradient at the midpoint of a step into one with
    :math:`g\cdot(x_1 - x_0) = u_1 - u_0`; that of a bilinear measure has the property as it is. It
    leaves in h the derivative of this one by the vectors of the middle, in n that by ``last``.
    ``pairs`` are the (a, b) with a Hessian of their own (h or, if ``curved``, all).
    A ``full`` one has any number of vectors and any Hessian, and takes ``numbers`` of the element,
    see ``recorded.py``: ``evaluate(F, x, k, bends)`` has its vectors at F[x], these at F[k], and
    writes gradient and Hessian times rates, where it ``bends`` all of the Hessian; it is called by
    its address. ``curved`` then says that it is not quadratic.
    """

    name: str
    n: int
    pairs: tuple[tuple[int, int], ...]
    evaluate: Callable[..., Any]
    curved: bool = False
    periodic: bool = False
    bent: bool = False
    secant: Callable[..., Any] = keep_gradient
    unit: str = "-"
    full: bool = False
    numbers: int = 0

    @property
    def code(self) -> tuple[Any, ...]:
        """Compiled function that kernels call by its address."""
        return (self.evaluate,) if self.full else ()

    @property
    def conserves(self) -> bool:
        """Whether ``secant`` has the property: of a curved measure it must be its own."""
        return not self.curved or self.secant is not keep_gradient

    @property
    def shape(self) -> MeasureShape:
        """Form that its kernels are compiled for."""
        return MeasureShape(self.n, self.curved and not self.full, self.bent, self.full)

    @property
    def work(self) -> int:
        """Floats that it needs after the maps of its attachments."""
        return 15 * self.n + 9 * self.n**2 + 1 if self.full else 0

    @property
    def all_pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of attachments, as a spring couples them."""
        return tuple((a, b) for a in range(self.n) for b in range(self.n))

    def __reduce__(self) -> Any:
        return reduced(self)


@jit
def unwrap(u: float, last: float) -> float:
    """Return the angle nearest to another one."""
    return last + (u - last) - 2 * math.pi * math.floor((u - last) / (2 * math.pi) + 0.5)


@jit
def hessian_times(F: Any, s: int, n: int, b: int, ud: float, turn: float) -> Any:
    """Return (H xd)_b with ud = g.xd and turn = n.xd, for a measure that is not bent."""
    g, nb = load3(F, s + GRAD + 3 * b), load3(F, s + NORMAL + 3 * b)
    hx = minus(times(F[s + KAPPA] * ud - turn, g), times(ud, nb))
    for c in range(n):
        hx = plus(hx, times(F[s + HESS + 4 * b + c], load3(F, s + XD + 3 * c)))
    return hx


@jit
def along(F: Any, s: int, of: Any, ud: float) -> float:
    """Return xd^T H xd, the part of the second rate that velocities make, of one not full."""
    total = 0.0
    for a in range(of.n):
        for b in range(of.n):
            h = F[s + HESS + 4 * a + b]
            total += h * dot(load3(F, s + XD + 3 * a), load3(F, s + XD + 3 * b))
    if of.curved:
        turn = 0.0
        for a in range(of.n):
            turn += dot(load3(F, s + NORMAL + 3 * a), load3(F, s + XD + 3 * a))
        total += (F[s + KAPPA] * ud - 2 * turn) * ud
        if of.bent:
            total += F[s + MU] * turn * turn
    return total


@jit
def bend(F: Any, s: int, a: int, b: int) -> Any:
    """Return the part mu n_a n_b^T of the Hessian of a bent measure."""
    na, nb = load3(F, s + NORMAL + 3 * a), load3(F, s + NORMAL + 3 * b)
    return mat_plus(ZERO, F[s + MU], outer(na, nb))


@jit
def _clear(F: Any, s: int) -> None:
    clear(F, s + GRAD, LAW_IN - GRAD)
    F[s + KAPPA] = 0.0


@jit
def dot_value(F: Any, s: int) -> float:
    """Return a . b."""
    _clear(F, s)
    a, b = load3(F, s), load3(F, s + 3)
    store3(F, s + GRAD, b)
    store3(F, s + GRAD + 3, a)
    _h(F, s, 0, 1, 1.0)
    return dot(a, b)


@jit
def offset_value(F: Any, s: int) -> float:
    """Return a . (P - Q)."""
    _clear(F, s)
    a, d = load3(F, s), minus(load3(F, s + 3), load3(F, s + 6))
    store3(F, s + GRAD, d)
    store3(F, s + GRAD + 3, a)
    store3(F, s + GRAD + 6, times(-1.0, a))
    _h(F, s, 0, 1, 1.0)
    _h(F, s, 0, 2, -1.0)
    return dot(a, d)


@jit
def slide_value(F: Any, s: int) -> float:
    """Return u = n . (P - Q), n = a/|a|; g of a is (P - Q - u n)/|a|, n of a is n/|a|."""
    _clear(F, s)
    a, d = load3(F, s), minus(load3(F, s + 3), load3(F, s + 6))
    back = 1.0 / math.sqrt(dot(a, a))
    n = times(back, a)
    u = dot(n, d)
    store3(F, s + GRAD, times(back, minus(d, times(u, n))))
    store3(F, s + GRAD + 3, n)
    store3(F, s + GRAD + 6, times(-1.0, n))
    store3(F, s + NORMAL, times(back, n))
    _h(F, s, 0, 0, -u * back * back)
    _h(F, s, 0, 1, back)
    _h(F, s, 0, 2, -back)
    F[s + MU] = u
    return u


@jit
def square_value(F: Any, s: int) -> float:
    """Return |Q - P|^2 / 2."""
    _clear(F, s)
    d = minus(load3(F, s + 3), load3(F, s))
    store3(F, s + GRAD, times(-1.0, d))
    store3(F, s + GRAD + 3, d)
    _h(F, s, 0, 0, 1.0)
    _h(F, s, 1, 1, 1.0)
    _h(F, s, 0, 1, -1.0)
    return 0.5 * dot(d, d)


@jit
def length_value(F: Any, s: int) -> float:
    """Return |Q - P|; where the points meet the direction is zero and so is the force."""
    _clear(F, s)
    d = minus(load3(F, s + 3), load3(F, s))
    u = math.sqrt(dot(d, d))
    if u < 1e-12:
        return 0.0
    store3(F, s + GRAD, times(-1.0 / u, d))
    store3(F, s + GRAD + 3, times(1.0 / u, d))
    _h(F, s, 0, 0, 1.0 / u)
    _h(F, s, 1, 1, 1.0 / u)
    _h(F, s, 0, 1, -1.0 / u)
    F[s + KAPPA] = -1.0 / u
    return u


@jit
def angle_value(F: Any, s: int) -> float:
    r"""Return the angle; with c = a1.b, s = a2.b: g = (c ds - s dc)/r^2, n = (c dc + s ds)/r^2."""
    _clear(F, s)
    a1, a2, b = load3(F, s), load3(F, s + 3), load3(F, s + 6)
    C, S = dot(a1, b), dot(a2, b)
    r = C * C + S * S
    if r < 1e-24:
        return 0.0
    c, t = C / r, S / r
    store3(F, s + GRAD, times(-t, b))
    store3(F, s + GRAD + 3, times(c, b))
    store3(F, s + GRAD + 6, minus(times(c, a2), times(t, a1)))
    store3(F, s + NORMAL, times(c, b))
    store3(F, s + NORMAL + 3, times(t, b))
    store3(F, s + NORMAL + 6, plus(times(c, a1), times(t, a2)))
    _h(F, s, 0, 2, -t)
    _h(F, s, 1, 2, c)
    return math.atan2(S, C)


@jit
def sine_value(F: Any, s: int) -> float:
    """Return the sine of the angle between two unit vectors; n = (b, a), g = -(a.b) n / sine."""
    _clear(F, s)
    a, b = load3(F, s), load3(F, s + 3)
    c = dot(a, b)
    u = math.sqrt(max(1.0 - c * c, 0.0))
    if u < 1e-12:
        F[s + MU] = 0.0
        return u
    slope = -c / u
    store3(F, s + GRAD, times(slope, b))
    store3(F, s + GRAD + 3, times(slope, a))
    store3(F, s + NORMAL, b)
    store3(F, s + NORMAL + 3, a)
    _h(F, s, 0, 1, slope)
    F[s + MU] = 2 * slope - 1.0 / (u * u * u)  # 2 slope: what -g n^T - n g^T takes away
    return u


def _both(*pairs: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted({p for a, b in pairs for p in ((a, b), (b, a))}))


DOT = Measure("dot", 2, _both((0, 1)), dot_value)
OFFSET = Measure("offset", 3, _both((0, 1), (0, 2)), offset_value, unit="m")
SLIDE = Measure(
    "slide", 3, _both((0, 0), (0, 1), (0, 2)), slide_value, curved=True, bent=True, unit="m"
)
SQUARE = Measure("square", 2, _both((0, 0), (1, 1), (0, 1)), square_value, unit="m^2")
LENGTH = Measure(
    "length", 2, _both((0, 0), (1, 1), (0, 1)), length_value, curved=True, secant=length_secant,
    unit="m",
)  # fmt: skip
ANGLE = Measure(
    "angle", 3, _both((0, 2), (1, 2)), angle_value, curved=True, periodic=True, secant=angle_secant,
    unit="rad",
)  # fmt: skip
SINE = Measure("sine", 2, _both((0, 1)), sine_value, curved=True, bent=True)
