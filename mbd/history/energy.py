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
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.model.frozen import per_model

if TYPE_CHECKING:
    from mbd.model.model import Model

SUMS = 8  # kinetic energy, that of gravity, linear and angular momentum


@jit
def write_sums(I: Any, F: Any, k: int, W: int, out: int) -> None:
    """Write kinetic energy and that of gravity, linear and angular momentum of the faces at hand.

    I[k:] has the number of bodies and of each its first face, four times their number, and where
    its matrix is behind F[W].
    """
    g, zero = load3(F, m.GX), (0.0, 0.0, 0.0)
    kinetic, potential, linear, angular = 0.0, 0.0, zero, zero
    for b in range(I[k]):
        first, size, w = I[k + 1 + 3 * b], I[k + 2 + 3 * b], W + I[k + 3 + 3 * b]
        y, yd = I[m.Y] + 12 * first, I[m.YD] + 12 * first
        for i in range(size):
            p, yi = zero, load3(F, y + 3 * i)
            for j in range(size):
                p = plus(p, times(F[w + size * i + j], load3(F, yd + 3 * j)))
            kinetic += 0.5 * dot(load3(F, yd + 3 * i), p)
            for j in range(0, size, 4):  # origins
                potential -= F[w + size * i + j] * dot(g, yi)
            angular = plus(angular, cross(yi, p))
            if i % 4 == 0:
                linear = plus(linear, p)
    F[out] = kinetic
    F[out + 1] = potential
    store3(F, out + 2, linear)
    store3(F, out + 5, angular)


@per_model
def masses(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return what `write_sums` reads: integers, and the matrices W of all bodies."""
    matrices = [body.mass_matrix for body in model.nodes.values()]
    sizes = np.array([len(W) for W in matrices])
    first = 1 + np.array(list(model.faces.values()))  # before all is ground
    places = np.cumsum(sizes**2) - sizes**2
    table = np.stack([first, sizes, places], 1).ravel()
    return np.array([len(matrices), *table]), np.concatenate([W.ravel() for W in matrices])


def add_origin(model: Model, totals: np.ndarray) -> None:
    """Let sums (n, 8) be about the inertial origin: faces are seen from that of the model."""
    if (c := model.origin).any():
        mass = sum(float(body.mass_matrix[::4, ::4].sum()) for body in model.nodes.values())
        totals[:, 1] -= mass * (model.system.gravity @ c)
        totals[:, 5:] += np.cross(c, totals[:, 2:5])
