r"""Applied loads: a force at a point, a moment on a face, a force on its scale.

The direction is an attachment too: its weights w are the components of the load in the axes of a
body (a follower load) or of ground. A law of time rewrites those weights at every evaluation. With
:math:`b = \sum_k w_k d_k` the load is :math:`|w|\,b/|b| = R w`: the axes of a body that breathes
turn it, the length s of the directors does not change its size.

A moment m is the face force :math:`f_{d_i} = \tfrac12\, m\times d_i / (d_i\cdot d_i)`. On directors
:math:`d_i = s R e_i` with :math:`\dot d_i = \omega\times d_i + (\dot s/s)\, d_i` it has the power
:math:`m\cdot\omega` and the moment :math:`\sum_i d_i\times f_{d_i} = m`, and does not act on s.
The number of a load says whether its body breathes (1). On directors that rows hold at length one
the plain forms stand, :math:`\tfrac12\, m\times d_i` and b, also in the middle of a step of the
energy-momentum scheme, where these directors are shorter.
A scaling force c is :math:`f_{d_i} = \tfrac13 c\, d_i/|d_i|`: no force, no moment, and the power
:math:`c\,\dot s`.
"""

import math
from typing import Any

from mbd.algebra.vec import (
    EYE,
    ZERO,
    copy,
    cross,
    dot,
    load3,
    mat_mat,
    mat_plus,
    outer,
    tilde,
    times,
)
from mbd.interactions.kind import Kind
from mbd.interactions.laws import evaluate_now
from mbd.interactions.pullback import add_stiffness, at, each, each_stiffness, form_maps, push
from mbd.machine import buffer as m
from mbd.machine.jit import jit


@jit
def _components(I: Any, F: Any, law: int, direction: int) -> None:
    """Write the components of a load that follows a law of time to the weights of its direction."""
    if law != 0:
        copy(F, I[direction + m.ATT_W] + 1, evaluate_now(I, F, law), 3)


@jit
def _stretch(I: Any, F: Any, b: int) -> Any:
    """Return |w|/|b| and b/|b|; where all components are zero, one and zero."""
    x, w = at(I, F, m.Y, b), load3(F, I[b + m.ATT_W] + 1)
    large = max(abs(w[0]), abs(w[1]), abs(w[2]))
    if large == 0.0:
        return 1.0, x
    x, w = times(1.0 / large, x), times(1.0 / large, w)  # the square of a load may be no number
    length = math.sqrt(dot(x, x))
    return math.sqrt(dot(w, w)) / length, times(1.0 / length, x)


@jit
def _load(I: Any, F: Any, b: int, breathes: float) -> Any:
    """Return the load: b, of a body that breathes |w| b/|b|."""
    x = at(I, F, m.Y, b)
    if breathes == 0.0:
        return x
    size, _ = _stretch(I, F, b)
    return times(size, x)


@jit
def _by_direction(I: Any, F: Any, b: int, breathes: float) -> Any:
    """Return the derivative of the load by b: I, of a body that breathes |w|/|b| (I - n n^T)."""
    if breathes == 0.0:
        return EYE
    size, n = _stretch(I, F, b)
    return mat_plus(ZERO, size, mat_plus(EYE, -1.0, outer(n, n)))


@each
def force_forces(I: Any, F: Any, e: Any) -> None:
    """Apply the force b at the point P."""
    P, b = I[e.ends], I[e.ends + 1]
    _components(I, F, e.law, b)
    push(I, F, m.FY, P, -1.0, _load(I, F, b, F[e.numbers]))


@each_stiffness
def force_tangent(I: Any, F: Any, e: Any) -> None:
    """Add -P_P (df/db) P_b^T where the direction follows a body."""
    b = I[e.ends + 1]
    if I[e.pairs] > 0:
        _components(I, F, e.law, b)
        form_maps(I, F, e, 2, False)
        add_stiffness(I, F, e, 0, 0, 1, -F[m.W_K], _by_direction(I, F, b, F[e.numbers]))


@each
def moment_forces(I: Any, F: Any, e: Any) -> None:
    """Apply the moment m as -m x d_i / (2 d_i.d_i) in the residual."""
    b, breathes = I[e.ends + 3], F[e.numbers]
    _components(I, F, e.law, b)
    moment = _load(I, F, b, breathes)
    for c in range(3):
        d = at(I, F, m.Y, I[e.ends + c])
        dd = dot(d, d) if breathes != 0.0 else 1.0
        push(I, F, m.FY, I[e.ends + c], -0.5 / dd, cross(moment, d))


@each_stiffness
def moment_tangent(I: Any, F: Any, e: Any) -> None:
    """Add (-tilde(m)/2 + (m x d) d^T/d^2)/d^2 on a director, tilde(d)/(2 d^2) dm/db next to it."""
    b, breathes = I[e.ends + 3], F[e.numbers]
    _components(I, F, e.law, b)
    moment = _load(I, F, b, breathes)
    form_maps(I, F, e, 4, False)
    for c in range(3):
        d = at(I, F, m.Y, I[e.ends + c])
        dd = dot(d, d) if breathes != 0.0 else 1.0
        K = tilde(times(-0.5, moment))
        if breathes != 0.0:
            K = mat_plus(K, 1.0 / dd, outer(cross(moment, d), d))
        add_stiffness(I, F, e, c, c, c, F[m.W_K] / dd, K)
        K = mat_mat(tilde(d), _by_direction(I, F, b, breathes))
        add_stiffness(I, F, e, 3 + c, c, 3, 0.5 * F[m.W_K] / dd, K)


@jit
def _size(I: Any, F: Any, e: Any) -> float:
    """Return the scaling force of an element at the present time."""
    return F[e.numbers if e.law == 0 else evaluate_now(I, F, e.law)]  # type: ignore[no-any-return]


@each
def scaling_forces(I: Any, F: Any, e: Any) -> None:
    """Pull the three directors along themselves."""
    third = _size(I, F, e) / 3
    for c in range(3):
        d = at(I, F, m.Y, I[e.ends + c])
        push(I, F, m.FY, I[e.ends + c], -third / math.sqrt(dot(d, d)), d)


@each_stiffness
def scaling_tangent(I: Any, F: Any, e: Any) -> None:
    """Add -c/(3 s) (I - d d^T / s^2) on each director."""
    third = _size(I, F, e) / 3
    form_maps(I, F, e, 3, False)
    for c in range(3):
        d = at(I, F, m.Y, I[e.ends + c])
        s2 = dot(d, d)
        along = mat_plus(EYE, -1 / s2, outer(d, d))
        add_stiffness(I, F, e, c, c, c, -F[m.W_K] * third / math.sqrt(s2), along)


FORCE = Kind("force", 2, 0, ((0, 1),), force_forces, force_tangent, smooth=True)
MOMENT = Kind(
    "moment", 4, 0, ((0, 0), (1, 1), (2, 2), (0, 3), (1, 3), (2, 3)), moment_forces, moment_tangent,
    smooth=True,
)  # fmt: skip
SCALING = Kind(
    "scaling force", 3, 0, ((0, 0), (1, 1), (2, 2)), scaling_forces, scaling_tangent, smooth=True
)
