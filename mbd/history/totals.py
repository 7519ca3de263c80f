r"""Sums over the whole model at an instant: constraint drift, energies, momenta, powers.

With :math:`W = [[m, m\rho_c^T],[m\rho_c, E]]`,

.. math:: T = \tfrac12\,\dot y^T (W\otimes I_3)\,\dot y, \qquad
          p = \sum_k (W\dot y)_k \text{ at } r, \qquad L = \sum_k y_k \times (W\dot y)_k .

The potential energy is that of gravity, :math:`-\sum W_{0k}\, g \cdot y_k` over the origins of
faces, and of the elements. Those with mass, with momenta p on faces, have
:math:`T = \tfrac12 p\cdot\dot y`.

Elements state their potential energy, the power that they dissipate and that which they put into
the system (``interactions/kind.py``).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbd.algebra.vec import cross, dot, larger, load3, plus, store3, times
from mbd.formulations.formulation import mass_matrix
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, kernel
from mbd.model.evaluation import accept_stage, evaluate, stage
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.model.workspace import Workspace

OF_TOTALS = (m.PLACE, m.FORCES, m.RESIDUAL, m.ACCEPT, m.LOADS)  # stages that run besides theirs
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


@jit
def write_instant(I: Any, F: Any, k: int, out: int) -> None:
    """Write the numbers of the instant whose coordinates, velocities and multipliers are in F.

    I[k:] has the number of bodies and the place of their records, the number of owners of rows;
    then where the rows of each begin among those that follow, and their end.
    """
    bodies, of_bodies, owners, faces = I[k], I[k + 1], I[k + 2], 12 * I[m.N_FACES]
    evaluate(I, F)
    largest = 0.0
    for j in range(owners):
        acts = j == 0  # the own rows of bodies
        for r in range(I[k + 3 + j], I[k + 4 + j]):
            acts = acts or F[I[m.A] + I[r]] != 0.0 or F[I[m.OFF] + I[r]] == m.DROPPED
        for r in range(I[k + 3 + j], I[k + 4 + j]):
            gap = abs(F[I[m.X] + I[r]]) if acts else 0.0
            largest = larger(largest, gap)
    F[out] = largest
    write_totals(I, F, bodies, of_bodies, out + 3)
    for i in range(faces):
        F[I[m.FY] + i] = 0.0
    if ints(F)[m.MOMENTA + 1]:
        stage(I, F, m.MOMENTA)
        add_totals_of_elements(I, F, out + 3)
        for i in range(faces):
            F[I[m.FY] + i] = 0.0
    F[m.POTENTIAL], F[m.DISSIPATED], F[m.SUPPLIED] = 0.0, 0.0, 0.0
    stage(I, F, m.LOADS)
    for i in range(faces):  # the residual holds minus the load
        F[m.SUPPLIED] -= F[I[m.FY] + i] * F[I[m.YD] + i]
    stage(I, F, m.ENERGY)
    F[out + 1], F[out + 2] = F[m.DISSIPATED], F[m.SUPPLIED]
    F[out + 4] += F[m.POTENTIAL]
    accept_stage(I, F)  # angles count turns from instant to instant


@kernel
def totals_kernel(I: Any, F: Any, k: int) -> None:
    """Write the numbers of one instant: I[k:] has 1, where they go, how many numbers of laws.

    Then pairs of places: these numbers and where they are as the described pose leaves them; then
    the record of ``write_instant``.
    """
    for p in range(k + 3, k + 3 + 2 * I[k + 2], 2):
        F[I[p]] = F[I[p + 1]]
    write_instant(I, F, k + 3 + 2 * I[k + 2], I[k + 1])


@per_model
def owned_rows(model: Model) -> np.ndarray:
    """Return where the rows of each joint, or other part with rows, begin: one after another."""
    numbering = model.numbering
    return np.array([numbering.owners[name].start for name in numbering.elements], int)


def record_of_instant(model: Model, k: int, of_masses: int) -> list[int]:
    """Return the record of ``write_instant`` at I[k]; `of_masses` is the place of `masses`."""
    bodies = places_of_masses(model) + np.array([0, 0, of_masses])
    lam = model.numbering.lam
    starts = np.array([0, *owned_rows(model), len(lam)])
    first = k + 3 + len(starts)
    return [
        len(bodies), first + len(lam), len(starts) - 1, *(first + starts).tolist(), *lam.tolist(),
        *bodies.ravel().tolist(),
    ]  # fmt: skip


def begin(work: Workspace, totals: bool) -> None:
    """Make a work space ready to evaluate instants; of all `totals` potentials of laws begin here.

    Here is the described pose.
    """
    work.vector(m.A)[...] = work.vector(m.D)[...] = 0.0
    work.F[..., m.SCALE_R] = work.F[..., m.ROW_RATE] = 1.0
    energies = work.model.kernels[m.ENERGY] if totals else []
    work.fill(*((m.ENERGY, m.MOMENTA) if totals else ()))
    work.S[..., m.PHASE] = m.START
    for kernel_, record in [*work.model.kernels[m.PLACE], *energies] if energies else ():
        work.run(kernel_, record)
    work.S[..., m.PHASE] = m.ORDINARY
