r"""Floor 1. Applied loads: a force at a point, a moment on a face, a force on its scale.

The direction is an attachment too: its weights are the components of the load in the directors of
a body (a follower load) or of ground. A law of time rewrites those weights at every evaluation.
A moment m on unit directors is the face force :math:`f_{d_i} = \tfrac12\, m \times d_i`.
A scaling force c on directors of length s is :math:`f_{d_i} = \tfrac13 c\, d_i/|d_i|`: no force, no
moment, and the power :math:`c\,\dot s`.
"""

from __future__ import annotations

import math
from typing import Any

from mbd.algebra import memory as m
from mbd.algebra.jit import jit, kernel, law_call
from mbd.algebra.memory import ATT_N, ATT_P, ATT_PT, ATT_W
from mbd.algebra.vec import cross, dot, mat_plus, outer, tilde, times
from mbd.interactions.kinds import Kind
from mbd.interactions.measures import LAW_IN, LAW_OUT
from mbd.interactions.pullback import add_product, add_scaled_product, at, push

__all__ = ["FORCE", "MOMENT", "SCALING"]

FY, SCRATCH, T, W_K, Y = m.FY, m.SCRATCH, m.T, m.W_K, m.Y


@jit
def _components(I: Any, F: Any, law: int, direction: int) -> None:
    """Write the components of a load that follows a law of time to the weights of its direction."""
    if law == 0:
        return
    s, w = I[SCRATCH], I[direction + ATT_W]
    F[s + LAW_IN] = F[T]
    law_call(law, F, s + LAW_IN, s + LAW_OUT)
    for c in range(3):
        F[w + 1 + c] = F[s + LAW_OUT + c]


@kernel
def force_forces(I: Any, F: Any, k: int) -> None:
    """Apply the force b at the point P."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        _components(I, F, I[i + 5], I[i + 1])
        push(I, F, FY, I[i], -1.0, at(I, F, Y, I[i + 1]))


@kernel
def force_tangent(I: Any, F: Any, k: int) -> None:
    """Add -P_P P_b^T where the direction follows a body."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        P, b, K = I[i], I[i + 1], I[i + 6]
        if K >= 0:
            _components(I, F, I[i + 5], b)
            add_scaled_product(F, I[P + ATT_P], I[P + ATT_N], -F[W_K], I[b + ATT_PT],
                               I[b + ATT_N], K, I[i + 7])  # fmt: skip


@kernel
def moment_forces(I: Any, F: Any, k: int) -> None:
    """Apply the moment b as -b x d_i / 2 in the residual."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        _components(I, F, I[i + 7], I[i + 3])
        moment = at(I, F, Y, I[i + 3])
        for d in range(3):
            push(I, F, FY, I[i + d], -0.5, cross(moment, at(I, F, Y, I[i + d])))


@kernel
def moment_tangent(I: Any, F: Any, k: int) -> None:
    """Add -tilde(b)/2 on the directors, tilde(d_i)/2 between director and direction."""
    half = 0.5 * F[W_K]
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        b = I[i + 3]
        moment = at(I, F, Y, b)
        for c in range(3):
            d, own, cross_block = I[i + c], i + 8 + 2 * c, i + 14 + 2 * c
            P, n = I[d + ATT_P], I[d + ATT_N]
            if I[own] >= 0:
                add_product(F, P, n, half, tilde(times(-1.0, moment)), I[d + ATT_PT], n, I[own],
                            I[own + 1])  # fmt: skip
            if I[cross_block] >= 0:
                add_product(F, P, n, half, tilde(at(I, F, Y, d)), I[b + ATT_PT], I[b + ATT_N],
                            I[cross_block], I[cross_block + 1])  # fmt: skip


@jit
def _size(I: Any, F: Any, i: int) -> float:
    """Return the scaling force of the element at i, at the present time."""
    law = I[i + 6]
    if law == 0:
        return F[I[i + 4]]
    s = I[SCRATCH]
    F[s + LAW_IN] = F[T]
    law_call(law, F, s + LAW_IN, s + LAW_OUT)
    return F[s + LAW_OUT]


@kernel
def scaling_forces(I: Any, F: Any, k: int) -> None:
    """Pull the three directors along themselves."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        third = _size(I, F, i) / 3
        for d in range(3):
            x = at(I, F, Y, I[i + d])
            push(I, F, FY, I[i + d], -third / math.sqrt(dot(x, x)), x)


@kernel
def scaling_tangent(I: Any, F: Any, k: int) -> None:
    """Add -c/(3 s) (I - d d^T / s^2) on each director."""
    for e in range(I[k]):
        i = I[k + 1] + e * I[k + 2]
        third = _size(I, F, i) / 3
        for c in range(3):
            d, own = I[i + c], i + 7 + 2 * c
            P, n, x = I[d + ATT_P], I[d + ATT_N], at(I, F, Y, d)
            s2 = dot(x, x)
            along = mat_plus((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), -1 / s2, outer(x, x))
            add_product(F, P, n, -F[W_K] * third / math.sqrt(s2), along, I[d + ATT_PT], n, I[own],
                        I[own + 1])  # fmt: skip


FORCE = Kind("force", 2, 0, ((0, 1),), force_forces, force_tangent)
MOMENT = Kind(
    "moment",
    4,
    0,
    ((0, 0), (1, 1), (2, 2), (0, 3), (1, 3), (2, 3)),
    moment_forces,
    moment_tangent,
)
SCALING = Kind("scaling force", 3, 0, ((0, 0), (1, 1), (2, 2)), scaling_forces, scaling_tangent)
