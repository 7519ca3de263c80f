r"""Kinetic and potential energy, linear and angular momentum.

With :math:`W = [[m, m\rho_c^T],[m\rho_c, E]]`,

.. math:: T = \tfrac12\,\dot y^T (W\otimes I_3)\,\dot y, \qquad
          p = \sum_k (W\dot y)_k \text{ at } r, \qquad L = \sum_k y_k \times (W\dot y)_k .

The potential energy is that of gravity, :math:`-\sum W_{0k}\, g \cdot y_k` over the origins of
faces, and of the elements (``instants.py``). Those with mass, with momenta p on faces, have
:math:`T = \tfrac12 p\cdot\dot y`. What dampers take and loads, motors and drives put in
is summed over time. Impulses, of changes at events and of steps of some methods, have a work I that
no power shows; runs record it. Then

.. math:: T + V + D - W - I

stays what it was, up to the error of the method and of the sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra.vec import cross, dot, load3, plus, store3, times
from mbd.machine import buffer as m
from mbd.machine.jit import jit
from mbd.model.frozen import per_model
from mbd.parts.part import mass_matrix

if TYPE_CHECKING:
    from mbd.model.model import Model

TOTALS = 8  # numbers that `write_totals` writes: T, V of gravity, p, L


@jit
def write_totals(I: Any, F: Any, bodies: int, k: int, out: int) -> None:
    """Write kinetic energy and that of gravity, linear and angular momentum to F[out:].

    I[k:] has of each of the bodies its first face, four times the number of its faces, and the
    place of its matrix W; the first one is after the point that faces are seen from.
    """
    kinetic, potential, mass = 0.0, 0.0, 0.0
    linear, angular = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    g, c = load3(F, m.GX), load3(F, I[k + 2] - 3)
    for b in range(bodies):
        at, size, W = I[k + 3 * b], I[k + 1 + 3 * b], I[k + 2 + 3 * b]
        for i in range(size):
            w, p, yi = W + size * i, (0.0, 0.0, 0.0), load3(F, I[m.Y] + at + 3 * i)
            for j in range(size):
                p = plus(p, times(F[w + j], load3(F, I[m.YD] + at + 3 * j)))
            kinetic += 0.5 * dot(load3(F, I[m.YD] + at + 3 * i), p)
            for j in range(0, size, 4):  # origins
                mass += F[w + j] if i % 4 == 0 else 0.0
                potential -= F[w + j] * dot(g, yi)
            angular = plus(angular, cross(yi, p))
            if i % 4 == 0:
                linear = plus(linear, p)
    F[out], F[out + 1] = kinetic, potential - mass * dot(g, c)
    store3(F, out + 2, linear)
    store3(F, out + 5, plus(angular, cross(c, linear)))


@jit
def add_totals_of_elements(I: Any, F: Any, out: int) -> None:
    """Add kinetic energy and momenta of elements with mass: FY holds their momenta on faces."""
    kinetic, linear, angular = 0.0, (0.0, 0.0, 0.0), load3(F, out + 5)
    ground = load3(F, I[m.GROUND])  # the origin, seen from where faces are
    for y in range(0, 12 * I[m.N_FACES], 12):
        linear = plus(linear, load3(F, I[m.FY] + y))
        for i in range(y, y + 12, 3):
            p = load3(F, I[m.FY] + i)
            kinetic += 0.5 * dot(load3(F, I[m.YD] + i), p)
            angular = plus(angular, cross(load3(F, I[m.Y] + i), p))
    F[out] += kinetic
    store3(F, out + 2, plus(load3(F, out + 2), linear))
    store3(F, out + 5, plus(angular, cross(linear, ground)))


def masses(model: Model) -> np.ndarray:
    """Return the point that faces are seen from, and the matrices W of all bodies, flat."""
    nodes, stacked = model.nodes.values(), model.stacked
    W = mass_matrix(stacked.mass, stacked.center_of_mass, stacked.second_moments)
    flat: Iterable[np.ndarray] = [W.ravel()]
    if any(x.formulation.mass_matrix is not None for x in nodes):  # of several faces
        own = (x.formulation.mass_matrix is not None for x in nodes)
        matrices = zip(nodes, own, W, strict=True)
        flat = (x.mass_matrix.ravel() if many else one.ravel() for x, many, one in matrices)
    return np.concatenate([model.origin, *flat])


@per_model
def places_of_masses(model: Model) -> np.ndarray:
    """Return first face, 4 n_faces and place among `masses` of each body, in a row."""
    places = np.empty((len(model.nodes), 3), np.int64)
    places[:, 1] = [4 * body.formulation.n_faces for body in model.nodes.values()]
    records = np.fromiter(map(model.node_records.__getitem__, model.nodes), np.int64)
    places[:, 0] = model.I[records + m.NODE_Y]
    squares = places[:, 1] ** 2
    places[:, 2] = 3 + np.cumsum(squares) - squares
    return places
