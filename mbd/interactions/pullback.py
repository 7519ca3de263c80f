r"""Pull-back of forces and stiffness from faces to coordinates.

An interaction sees *attachments*: points and vectors :math:`x_a = \sum_k w_k y_k` fixed to a face.
It returns forces :math:`f_a` and stiffness :math:`K_{ab}` on them; the formulation provides for
each attachment the test map P and the trial map P_T (both n x 3), and

.. math:: r \mathrel{+}= P_a f_a, \qquad K \mathrel{+}= P_a K_{ab} P_{T,b}^T, \qquad
          B \mathrel{+}= g_a^T P_{T,a}^T, \qquad \text{column of } \lambda: P_a g_a .
"""

from __future__ import annotations

from typing import Any

from mbd.algebra.vec import spread, weighted
from mbd.machine.buffer import ATT_W, ATT_Y
from mbd.machine.jit import jit

__all__ = ["add_gradient", "add_product", "add_scaled_product", "at", "push"]


@jit
def at(I: Any, F: Any, base: int, a: int) -> Any:
    """Return the 3-vector of attachment a; base is Y, YD or YDD."""
    return weighted(F, I[base] + I[a + ATT_Y], I[a + ATT_W])


@jit
def push(I: Any, F: Any, base: int, a: int, s: float, f: Any) -> None:
    """Add the force s*f on attachment a to the face force (base is FY)."""
    spread(F, I[base] + I[a + ATT_Y], I[a + ATT_W], s, f)


@jit
def add_gradient(F: Any, P: int, n: int, s: float, g: Any, to: int, step: int) -> None:
    """Add s P g to n entries of F, `step` apart: a row of B or a column of its transpose."""
    for j in range(n):
        F[to + j * step] += s * (
            F[P + 3 * j] * g[0] + F[P + 3 * j + 1] * g[1] + F[P + 3 * j + 2] * g[2]
        )


@jit
def add_scaled_product(F: Any, P: int, n: int, s: float, Q: int, m: int, to: int, ld: int) -> None:
    """Add s P Q^T to the n x m block at F[to]."""
    for i in range(n):
        a, b, c = s * F[P + 3 * i], s * F[P + 3 * i + 1], s * F[P + 3 * i + 2]
        row = to + i * ld
        for j in range(m):
            F[row + j] += a * F[Q + 3 * j] + b * F[Q + 3 * j + 1] + c * F[Q + 3 * j + 2]


@jit
def add_product(F: Any, P: int, n: int, s: float, K: Any, Q: int, m: int, to: int, ld: int) -> None:
    """Add s P K Q^T to the n x m block at F[to]."""
    for i in range(n):
        p0, p1, p2 = s * F[P + 3 * i], s * F[P + 3 * i + 1], s * F[P + 3 * i + 2]
        a = p0 * K[0] + p1 * K[3] + p2 * K[6]
        b = p0 * K[1] + p1 * K[4] + p2 * K[7]
        c = p0 * K[2] + p1 * K[5] + p2 * K[8]
        row = to + i * ld
        for j in range(m):
            F[row + j] += a * F[Q + 3 * j] + b * F[Q + 3 * j + 1] + c * F[Q + 3 * j + 2]
