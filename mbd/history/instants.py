r"""Energies, momenta, work and constraint drift at each instant.

The kernels of the model run over all instants one after the other, so that angles count turns as in
the run. Elements tell their potential energy, the power that they dissipate and the power that they
put into the system (``interactions/kind.py``); work is summed by the rule of trapezia,

.. math:: \int_0^{t_n} P\,dt \approx \tfrac12\sum_i (t_{i+1} - t_i)(P_i + P_{i+1}) ,

of second order in the distance of the instants.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.history.energy import SUMS, add_origin, masses, write_sums
from mbd.machine import buffer as m
from mbd.machine.jit import kernel
from mbd.model.evaluation import evaluate, stage
from mbd.model.frozen import per_model
from mbd.model.turns_so_far import MEMORY, Before
from mbd.model.workspace import Workspace

if TYPE_CHECKING:
    from mbd.history.trajectory import Trajectory
    from mbd.model.model import Model

_WORK = ".work"  # key in what came before: t, dissipated energy and work there, both powers
_BYTES = 1 << 23  # of instants that are handed over at once


@dataclass(frozen=True)
class Instants:
    """What the model tells of some instants.

    Attributes
    ----------
    gap : (n,) array
        Largest violation of a row, in its unit.
    kinetic, potential : (n,) arrays [J]
    linear, angular : (n, 3) arrays [N s], [N m s]
        Momentum; the angular one about the inertial origin.
    dissipated, work : (n,) arrays [J]
        Since the first instant of the run: lost to dampers, put in by loads, motors and drives.
    after : dict
        What the instants that follow need of the last one.
    """

    gap: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    dissipated: np.ndarray
    work: np.ndarray
    after: Before


@kernel
def instants_kernel(I: Any, F: Any, k: int) -> None:
    """Write largest row, potential, dissipated and supplied power of n instants, and their sums.

    I[k:] has n, the place of the instants (t, q, velocities and then multipliers among all unknowns
    of each, and whether each row acts), their length, the places of the results and of matrices W,
    the number of rows and their unknowns, and what `write_sums` reads.
    """
    n, at, size, out, W, n_rows = I[k], I[k + 1], I[k + 2], I[k + 3], I[k + 4], I[k + 5]
    n_q, n_u, faces = I[m.N_Q], I[m.N_U], 12 * I[m.N_FACES]
    for _ in range(n):
        F[m.T] = F[at]
        for i in range(n_q):
            F[I[m.QN] + i] = F[at + 1 + i]  # poses are placed by an increment from here
        for i in range(n_u):
            F[I[m.V] + i] = F[at + 1 + n_q + i]
            F[I[m.A] + i] = F[at + 1 + n_q + n_u + i]
        evaluate(I, F)
        largest = 0.0
        for r in range(n_rows):
            acts = F[at + 1 + n_q + 2 * n_u + r] != 0.0
            gap = abs(F[I[m.X] + I[k + 6 + r]]) if acts else 0.0
            if not gap <= largest:  # not a number wins
                largest = gap
        for i in range(faces):
            F[I[m.FY] + i] = 0.0
        F[m.POTENTIAL], F[m.DISSIPATED], F[m.SUPPLIED] = 0.0, 0.0, 0.0
        stage(I, F, m.LOADS)
        for i in range(faces):  # the residual holds minus the load
            F[m.SUPPLIED] -= F[I[m.FY] + i] * F[I[m.YD] + i]
        stage(I, F, m.ENERGY)
        F[out], F[out + 1], F[out + 2], F[out + 3] = (
            largest, F[m.POTENTIAL], F[m.DISSIPATED], F[m.SUPPLIED]
        )  # fmt: skip
        write_sums(I, F, k + 6 + n_rows, W, out + 4)
        stage(I, F, m.ACCEPT)  # angles count turns from instant to instant
        at += size
        out += 4 + SUMS


@per_model
def _owned(model: Model) -> np.ndarray:
    """Return where the rows of each joint, or other part with rows, begin: one behind another."""
    numbering = model.numbering
    return np.array([numbering.owners[name].start for name in numbering.elements], int)


def acting(model: Model, lam: np.ndarray) -> np.ndarray:
    """Return which rows act, (n, n_lam): those of a joint that is switched off carry nothing."""
    acts, starts = np.ones(lam.shape), _owned(model)
    if len(starts):
        any_of = np.logical_or.reduceat(lam != 0.0, starts, axis=1)
        lengths = np.diff(starts, append=lam.shape[1])
        acts[:, starts[0] :] = np.repeat(any_of, lengths, axis=1)
    return acts


def _work(t: np.ndarray, power: np.ndarray, before: Before) -> np.ndarray:
    """Return the integrals (n, 2) of dissipated and supplied power; key _WORK: what was before."""
    last = before.get(_WORK)
    if not len(t):
        return np.zeros((0, 2))
    if last is None:
        last = np.array([t[0], 0.0, 0.0, *power[0]])
    h = np.diff(t, prepend=last[0])[:, None]
    mean = 0.5 * (power + np.concatenate([last[None, 3:], power[:-1]]))
    return np.cumsum(np.concatenate([last[None, 1:3], h * mean]), axis=0)[1:]


def instants(trajectory: Trajectory) -> Instants:
    """Return what the model tells of all instants of a solution in memory.

    A joint's rows count while it acts: not where all its multipliers are exactly zero. Rows and
    springs on angles need instants between which no angle turns by more than pi.
    """
    model, t = trajectory.model, trajectory.t
    rows = model.numbering.lam
    values = np.zeros((len(t), 4 + SUMS))
    (of_bodies, W), n_q, n_u = masses(model), model.n_q, int(model.I[m.N_U])
    size = 1 + n_q + 2 * n_u + len(rows)
    many = int(np.clip(_BYTES // (8 * size), 1, max(1, len(t))))
    work = Workspace(model, extra=many * (size + 4 + SUMS) + len(W))
    work.fill(m.ENERGY)
    work.vector(m.A)[:] = work.vector(m.D)[:] = 0.0
    work.F[m.SCALE_R] = work.F[m.ROW_RATE] = 1.0
    work.S[m.PHASE] = m.START  # potentials of laws begin at the described pose
    for calls in (model.kernels[m.PLACE], model.kernels[m.ENERGY]):
        for kernel_, record in calls:
            kernel_(work.I, work.F, record)
    work.S[m.PHASE] = m.ORDINARY
    work.remember(trajectory.before.get(MEMORY))
    at, k = model.size, len(work.I)
    out = at + many * size
    of_W = out + many * (4 + SUMS)
    work.F[of_W:] = W
    work.I = np.concatenate([work.I, [0, at, size, out, of_W, len(rows)], rows, of_bodies])
    table = work.F[at:out].reshape(many, size)
    table[:] = 0.0
    v, lam, acts = (1 + n_q + x for x in (model.numbering.v, n_u + rows, 2 * n_u))
    for first in range(0, len(t), many):
        n = min(many, len(t) - first)
        here = slice(first, first + n)
        table[:n, 0], table[:n, 1 : 1 + n_q] = t[here], trajectory.q[here]
        table[:n, v], table[:n, lam] = trajectory.v[here], trajectory.lam[here]
        table[:n, acts:] = acting(model, np.asarray(trajectory.lam[here]))
        work.I[k] = n
        instants_kernel(work.I, work.F, k)
        try:
            work.check_laws()
        except RuntimeError as error:  # results are not lost by what they are asked for
            warnings.warn(f"energies are not known: {error}", stacklevel=2)
            work.S[m.BAD_HOW] = 0
        values[here] = work.F[out:of_W].reshape(many, -1)[:n]
    powers, totals = values[:, 2:4], values[:, 4:]
    add_origin(model, totals)
    after: Before = {}
    dissipated, supplied = _work(t, powers, trajectory.before).T
    if len(t):
        after[MEMORY] = work.F[model.memory]
        after[_WORK] = np.array([t[-1], dissipated[-1], supplied[-1], *powers[-1]])
    return Instants(
        values[:, 0], totals[:, 0], totals[:, 1] + values[:, 1], totals[:, 2:5], totals[:, 5:],
        dissipated, supplied, after,
    )  # fmt: skip
