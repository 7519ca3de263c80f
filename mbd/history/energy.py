r"""Kinetic and potential energy, linear and angular momentum.

With :math:`W = [[m, m\rho_c^T],[m\rho_c, E]]`,

.. math:: T = \tfrac12\,\dot y^T (W\otimes I_3)\,\dot y, \qquad
          p = \sum_k (W\dot y)_k \text{ at } r, \qquad L = \sum_k y_k \times (W\dot y)_k .

Potential energy is that of gravity and of the elements (``instants.py``). What dampers take and
loads, motors and drives put in is summed over time, so that

.. math:: T + V + D - W

stays what it was, up to the error of the method and of the sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.vec import cross, dot, load3, plus, store3, times
from mbd.history.faces import Faces
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.frozen import per_model

if TYPE_CHECKING:
    from mbd.model.model import Model

_AT_ONCE = 1024  # faces whose numbers stay in the cache of the processor


@kernel
def sums_kernel(I: Any, F: Any, k: int) -> None:
    """Write kinetic energy and that of gravity, linear and angular momentum at n instants.

    I[k:] has n, the numbers of bodies and of faces, the places of faces and their rates (with
    ground behind all), and of the results, eight for each instant; then of each body its first
    face, four times their number, and the place of its matrix W.
    """
    n, bodies, faces, y, yd, out = I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4], I[k + 5]
    g, zero = load3(F, m.GX), (0.0, 0.0, 0.0)
    for e in range(n):
        kinetic, potential, linear, angular = 0.0, 0.0, zero, zero
        for b in range(bodies):
            first, size, W = I[k + 6 + 3 * b], I[k + 7 + 3 * b], I[k + 8 + 3 * b]
            at = 12 * (e * (faces + 1) + first)
            for i in range(size):
                w, p, yi = W + size * i, zero, load3(F, y + at + 3 * i)
                for j in range(size):
                    p = plus(p, times(F[w + j], load3(F, yd + at + 3 * j)))
                kinetic += 0.5 * dot(load3(F, yd + at + 3 * i), p)
                for j in range(0, size, 4):  # origins
                    potential -= F[w + j] * dot(g, yi)
                angular = plus(angular, cross(yi, p))
                if i % 4 == 0:
                    linear = plus(linear, p)
        F[out + 8 * e] = kinetic
        F[out + 8 * e + 1] = potential
        store3(F, out + 8 * e + 2, linear)
        store3(F, out + 8 * e + 5, angular)


@per_model
def _masses(model: Model) -> tuple[np.ndarray, np.ndarray, float]:
    """Return first face, 4 n_faces and place of W of each body; all W; the mass of all."""
    matrices = [body.mass_matrix for body in model.nodes.values()]
    sizes = np.array([len(W) for W in matrices])
    first = np.array(list(model.faces.values()))
    places = np.cumsum(sizes**2) - sizes**2
    mass = sum(float(W[::4, ::4].sum()) for W in matrices)
    return np.stack([first, sizes, places], 1), np.concatenate([W.ravel() for W in matrices]), mass


def sums(model: Model, faces: Faces) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return kinetic energy and that of gravity (n,), linear and angular momentum (n, 3)."""
    (of_bodies, W, mass), k, n, n_b = _masses(model), m.I_HEADER, len(faces.y), len(faces.column)
    many = max(1, _AT_ONCE // n_b)
    masses, y, yd, out, end = np.cumsum(
        [m.F_HEADER, W.size, 12 * n_b * many, 12 * n_b * many, 8 * many]
    ).tolist()
    head = [many, len(of_bodies), n_b - 1, y, yd, out]
    I = np.concatenate([[0] * k, head, (of_bodies + np.array([0, 0, masses])).ravel()]).astype(
        np.int64
    )
    F, totals = np.zeros(end), np.empty((n, 8))
    F[m.GX : m.GX + 3], F[masses:y] = model.system.gravity, W
    for first in range(0, n, many):
        here = slice(first, min(first + many, n))
        I[k] = here.stop - first
        for place, x in ((y, faces.y[here]), (yd, faces.yd[here])):
            F[place:][: x.size] = x.ravel()
        sums_kernel(I, F, k)
        totals[here] = F[out:][: 8 * I[k]].reshape(-1, 8)
    if (c := model.origin).any():  # faces are seen from there
        totals[:, 1] -= mass * (model.system.gravity @ c)
        totals[:, 5:] += np.cross(c, totals[:, 2:5])
    return totals[:, 0], totals[:, 1], totals[:, 2:5], totals[:, 5:]
