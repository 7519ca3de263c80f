r"""Transport of tangents of positions by an increment of a step, for every formulation.

.. math:: \delta(q \boxplus D) = P\,\delta q + T(D)\,\delta D, \qquad T(D)^{-1}P = T(-D)^{-1}

The flow of a formulation writes :math:`T(D)^{-1}v`: its columns at D and -D are all that is needed.
"""

from __future__ import annotations

from typing import Any

from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, jit

SCRATCH = 2 * m.MAP_ROW**2  # floats in which a matrix is inverted
# a node: first unknown, number of velocities, where T is; after it is T(-D)^-1
NODE_FIRST, NODE_N, NODE_T, NODE_ENTRY = range(4)


@jit
def invert(F: Any, A: int, n: int, lda: int, s: int) -> None:
    """Invert the n x n matrix at F[A], by Gauss-Jordan with exchanges of rows, in 2 n^2 floats."""
    ld = 2 * n
    for r in range(n):
        for c in range(n):
            F[s + r * ld + c] = F[A + r * lda + c]
            F[s + r * ld + n + c] = 1.0 if r == c else 0.0
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(F[s + r * ld + k]) > abs(F[s + best * ld + k]):
                best = r
        if best != k:
            for c in range(ld):
                F[s + k * ld + c], F[s + best * ld + c] = F[s + best * ld + c], F[s + k * ld + c]
        pivot = 1.0 / F[s + k * ld + k]
        for c in range(k, ld):
            F[s + k * ld + c] *= pivot
        for r in range(n):
            entry = F[s + r * ld + k]
            if r != k and entry != 0.0:
                for c in range(k, ld):
                    F[s + r * ld + c] -= entry * F[s + k * ld + c]
    for r in range(n):
        for c in range(n):
            F[A + r * lda + c] = F[s + r * ld + n + c]


@jit
def write_maps(
    I: Any, F: Any, nodes: int, n: int, flows: int, n_flows: int, kept: int, scratch: int
) -> None:
    """Write T(D) and T(-D)^-1 of all nodes, by the flows of their formulations.

    These write the rates of D at velocities V to vector 0 of the method; V is kept meanwhile.
    """
    out, v, n_u = I[m.METHOD], I[m.V], I[m.N_U]
    for i in range(n_u):
        F[kept + i] = F[v + i]
    for back in range(2):
        if back:
            _turn_round(I, F)
        most = 1
        for j in range(m.MAP_ROW):
            if j >= most:
                break
            for i in range(n_u):
                F[v + i] = 0.0
            for e in range(n):
                i = nodes + NODE_ENTRY * e
                if j < I[i + NODE_N]:
                    F[v + I[i] + j] = 1.0
                most = max(most, I[i + NODE_N])
            for f in range(n_flows):
                call(address_at(I, I[flows + 2 * f]), I, F, I[flows + 2 * f + 1])
            for e in range(n):
                i = nodes + NODE_ENTRY * e
                u, k = I[i], I[i + NODE_N]
                if j < k:
                    to = I[i + NODE_T] + back * k * k + j
                    for r in range(k):
                        F[to + r * k] = F[out + u + r]
    _turn_round(I, F)
    for i in range(n_u):
        F[v + i] = F[kept + i]
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        n_v = I[i + NODE_N]
        first = _identity(F, I[i + NODE_T], n_v)
        invert(F, I[i + NODE_T] + first * (n_v + 1), n_v - first, n_v, scratch)


@jit
def _turn_round(I: Any, F: Any) -> None:
    """Let the step go from its end to its beginning."""
    for i in range(I[m.N_Q]):
        F[I[m.Q] + i], F[I[m.QN] + i] = F[I[m.QN] + i], F[I[m.Q] + i]
    for i in range(I[m.N_U]):
        F[I[m.D] + i] = -F[I[m.D] + i]


@jit
def _identity(F: Any, A: int, n: int) -> int:
    """Return how many first rows and columns of a matrix are those of the identity."""
    for k in range(n):
        for i in range(n):
            unit = 1.0 if i == k else 0.0
            if F[A + k * n + i] != unit or F[A + i * n + k] != unit:
                return k
    return n


@jit
def _set_rows(F: Any, y: int, T: int, k: int, x: int, many: int) -> None:
    """Do y = T x for `many` vectors side by side."""
    for r in range(k):
        row = y + r * many
        for p in range(many):
            F[row + p] = 0.0
        for c in range(k):
            factor = F[T + r * k + c]
            if factor != 0.0:
                for p in range(many):
                    F[row + p] += factor * F[x + c * many + p]


@jit
def to_positions(I: Any, F: Any, nodes: int, n: int, d: int, q: int, many: int) -> None:
    """Write T d to q, `many` vectors over the unknowns side by side."""
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        u, k = I[i] * many, I[i + NODE_N]
        _set_rows(F, q + u, I[i + NODE_T], k, d + u, many)


@jit
def to_positions_transposed(I: Any, F: Any, nodes: int, n: int, q: int, d: int) -> None:
    """Write T^T q to d."""
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        u, k, T = I[i], I[i + NODE_N], I[i + NODE_T]
        for c in range(k):
            s = 0.0
            for r in range(k):
                s += F[T + r * k + c] * F[q + u + r]
            F[d + u + c] = s


@jit
def carry_back(I: Any, F: Any, nodes: int, n: int, x: int, y: int, many: int) -> None:
    """Write T(-D)^-1 x to y, `many` vectors over the unknowns side by side."""
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        u, k = I[i] * many, I[i + NODE_N]
        _set_rows(F, y + u, I[i + NODE_T] + k * k, k, x + u, many)


@jit
def carry_back_transposed(I: Any, F: Any, nodes: int, n: int, x: int, y: int) -> None:
    """Write T(-D)^-T x to y."""
    for e in range(n):
        i = nodes + NODE_ENTRY * e
        u, k = I[i], I[i + NODE_N]
        U = I[i + NODE_T] + k * k
        for r in range(k):
            F[y + u + r] = 0.0
        for c in range(k):
            for r in range(k):
                F[y + u + r] += F[U + c * k + r] * F[x + u + c]
