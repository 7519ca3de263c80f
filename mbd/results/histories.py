"""Floor 5. Faces over time: the kernels that run for all bodies run here for all instants."""

from __future__ import annotations

import numpy as np

from mbd.algebra import memory as m
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation

__all__ = ["faces"]

_AT_ONCE = 1024  # instants whose numbers stay in the cache of the processor


def faces(
    law: Formulation, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return faces (n, 4, 3), their velocities and accelerations of one body over n instants."""
    n = len(q)
    y, yd, ydd = (np.empty((n, 4, 3)) for _ in range(3))
    for first in range(0, n, _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        y[here], yd[here], ydd[here] = _faces(law, q[here], v[here], a[here])
    return y, yd, ydd


def _faces(
    law: Formulation, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return views of them, of a few instants."""
    n = len(q)
    stride = law.n_v + law.n_own
    I = np.zeros(m.I_HEADER + 4 + n * m.NODE_SIZE, np.int64)
    sizes = {
        m.Q: n * law.n_q, m.QN: n * law.n_q, m.V: n * stride, m.A: n * stride, m.D: n * stride,
        m.AL: n * stride, m.X: n * stride, m.Y: 12 * n, m.YD: 12 * n, m.YDD: 12 * n, m.FY: 12 * n,
    }  # fmt: skip
    at = m.F_HEADER
    for name, size in sizes.items():
        I[name] = at
        at += size
    F = np.zeros(at)
    F[I[m.QN] :][: q.size] = q.ravel()
    F[I[m.V] :][: n * stride].reshape(n, stride)[:, : law.n_v] = v
    F[I[m.A] :][: n * stride].reshape(n, stride)[:, : law.n_v] = a
    k = m.I_HEADER
    I[k : k + 2] = n, k + 4
    e = np.arange(n)
    nodes = I[k + 4 :].reshape(n, m.NODE_SIZE)
    nodes[:, m.NODE_Q], nodes[:, m.NODE_U], nodes[:, m.NODE_Y] = e * law.n_q, e * stride, 12 * e
    kernels = family(law)
    kernels.place(I, F, k)
    kernels.rates(I, F, k)
    y, yd, ydd = (F[I[x] : I[x] + 12 * n].reshape(n, 4, 3) for x in (m.Y, m.YD, m.YDD))
    return y, yd, ydd
