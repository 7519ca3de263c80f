r"""Numbers of each instant: constraint drift, energies, momenta, work.

The kernels of the model run over all instants one after the other, so that angles count turns as in
the run. Elements state their potential energy, the power that they dissipate and that which they
put into the system (``interactions/kind.py``); work is summed by the rule of trapezia,

.. math:: \int_0^{t_n} P\,dt \approx \tfrac12\sum_i (t_{i+1} - t_i)(P_i + P_{i+1}) ,

of second order in the distance of the instants. At an impact, at t, powers jump: there
:math:`(t - t_i) P_i + (t_{i+1} - t) P_{i+1}` is taken, of several impacts with the mean of their
times. Impulses, of changes at events and of steps
of some methods, have a work I that no power shows; runs record it. With D, what dampers took, and
W, what loads, motors and drives put in, T + V + D - W - I stays what it was, up to the error of the
method and of the sums.

One run and many runs of models with the same
tables are evaluated by the same kernel, with the same bits.
"""

from dataclasses import dataclass

import numpy as np

from mbd.history.observed_forces import totals
from mbd.history.program import Program, ProgramTables
from mbd.history.totals import TOTALS, owned_rows
from mbd.history.trajectory import Trajectory
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.turns_so_far import MEMORY, Before

_WORK = ".work"  # key in what came before: t, lost and put in until there, both powers, impacts
_TURNS = ".turns"  # another one: t, all that is remembered there, and its rates
_RUNS = 1 << 20  # bytes of runs that are evaluated at once, and stay in the cache
_NUMBERS = 3 + TOTALS  # numbers of an instant: largest row, both powers, sums


@dataclass(frozen=True)
class Instants:
    """Numbers of n instants, of one run or, (runs, n, ...), of many.

    Attributes
    ----------
    values : (n, 11) array
        Largest violation of a row in its unit, power dissipated and put in [W], kinetic and
        potential energy [J], linear [N s] and angular momentum [N m s].
    exchanged : (n, 2) array [J]
        Since the first instant of the run: lost to dampers, put in by loads, motors and drives.
    impulses : (n, 1) or (n, 3) array [J]
        Put in by impulses since then; of set-valued laws what friction and impacts took.
    after : dict
        What the instants that follow need of the last one; of one run.
    """

    values: np.ndarray
    exchanged: np.ndarray
    impulses: np.ndarray
    after: Before

    @property
    def gap(self) -> np.ndarray:
        """Largest violation of a row."""
        return self.values[..., 0]

    @property
    def energies(self) -> tuple[np.ndarray, ...]:
        """Kinetic, potential and dissipated energy, work, and that of impulses."""
        values, exchanged = self.values, self.exchanged
        return (values[..., 3], values[..., 4], exchanged[..., 0], exchanged[..., 1],
                self.impulses[..., 0])  # fmt: skip

    @property
    def losses(self) -> np.ndarray:
        """Energy that friction and impacts of set-valued laws took, (n, 2)."""
        parts = self.impulses[..., 1:]
        return parts if parts.shape[-1] else np.zeros((*parts.shape[:-1], 2))

    @property
    def momenta(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear and angular momentum."""
        return self.values[..., 5:8], self.values[..., 8:]


def acting(model: Model, lam: np.ndarray) -> np.ndarray:
    """Return which rows act, (n, n_lam): those of a joint that is switched off carry nothing."""
    acts, starts = np.ones(lam.shape), owned_rows(model)
    if len(starts):
        any_of = np.logical_or.reduceat(lam != 0.0, starts, axis=1)
        lengths = np.diff(starts, append=lam.shape[1])
        acts[:, starts[0] :] = np.repeat(any_of, lengths, axis=1)
    return acts


def _work(
    t: np.ndarray, power: np.ndarray, impulses: np.ndarray, last: np.ndarray | None = None,
    hits: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the integrals (..., n, 2) of dissipated and supplied power; `last`: see _WORK.

    The times of impacts are `hits`, by default the ends of the steps in which they are.
    """
    if last is None and not power.any():  # most models: nothing to sum
        return np.zeros_like(power)
    first, so_far, t_last = power[..., :1, :], np.zeros_like(power[..., :1, :]), t[0]
    lost = _of_impacts(impulses)
    lost_before = lost[..., :1, :]
    if last is not None:
        first, so_far, t_last = last[None, 3:5], last[None, 1:3], last[0]
        lost_before = last[None, 5:]
    h = np.diff(t, prepend=t_last)[:, None]
    before = np.concatenate([first, power[..., :-1, :]], axis=-2)
    hit = np.diff(lost, axis=-2, prepend=lost_before) != 0.0
    part = np.ones_like(h) if hits is None else _before_impacts(t, hits, t_last)
    mean = np.where(hit, part * before + (1.0 - part) * power, 0.5 * (power + before))
    return np.cumsum(np.concatenate([so_far, h * mean], axis=-2), axis=-2)[..., 1:, :]


def _before_impacts(t: np.ndarray, hits: np.ndarray, t_last: float) -> np.ndarray:
    """Return which part of each step (n, 1) is before the impacts in it; one where it has none."""
    n, begin = len(t), np.append(t_last, t[:-1])
    step = np.searchsorted(t, hits)
    times, step = hits[step < n], step[step < n]
    number = np.bincount(step, minlength=n)
    way = np.bincount(step, times - begin[step], minlength=n)
    whole = number * (t - begin)
    part = np.divide(way, whole, out=np.ones(n), where=whole > 0.0)
    return part[:, None]


def _of_impacts(impulses: np.ndarray) -> np.ndarray:
    """Return what impacts took, (..., n, 1); zeros of models without set-valued laws."""
    return impulses[..., 2:] if impulses.shape[-1] > 1 else np.zeros_like(impulses)


def _program(model: Model, runs: np.ndarray | None = None, most: int = 0) -> tuple[Program, int]:
    """Return the program of the numbers of instants, and where the matrices of bodies are."""
    tables = ProgramTables(model)
    tables.counts = True
    program = Program(tables, totals(0, _NUMBERS)(tables, ""), runs, most)
    return program, tables.places["masses",].start


def instants(trajectory: Trajectory) -> Instants:
    """Return the numbers of all instants of a solution in memory.

    A joint's rows count while it acts: not where all its multipliers are exactly zero.
    """
    model, t = trajectory.model, trajectory.t
    if not len(t):
        values = np.zeros((0, _NUMBERS))
        return Instants(values, values[:, 1:3], trajectory.impulses, {})
    program, _ = _program(model)
    work = program.work
    work.remember(trajectory.before.get(MEMORY))
    first, rates, n = (int(model.I[x]) for x in (m.REMEMBERED, m.TURN_RATES, m.N_MEMORY))
    turns = np.r_[first : first + n, rates : rates + n]
    t_last, *angles = trajectory.before.get(_TURNS, [t[0], *work.F[turns]])
    work.F[[m.T_LAST, m.T_STEP]], work.F[turns] = t_last, angles
    v, lam = trajectory.v, trajectory.acting_lam(slice(None))
    # results are not lost by what they are asked for
    values = program.over_time(t, trajectory.q, v, v, lam, told="energies are not known")
    hits = trajectory.impact_numbers[:, m.IMPACT_T]
    exchanged = _work(t, values[:, 1:3], trajectory.impulses, trajectory.before.get(_WORK), hits)
    lost = _of_impacts(trajectory.impulses)[-1]
    last = np.concatenate([t[-1:], exchanged[-1], values[-1, 1:3], lost])
    now = np.concatenate([t[-1:], work.F[turns]])
    after = {MEMORY: work.F[model.memory], _WORK: last, _TURNS: now}
    return Instants(values, exchanged, trajectory.impulses, after)


def instants_of_runs(
    model: Model, constants: np.ndarray, of_masses: np.ndarray, rows: np.ndarray
) -> Instants:
    """Return the numbers of the instants of n runs: constants (n, .), `masses`, rows (n, k, .)."""
    n, k, size = rows.shape
    n_q, n_u = model.n_q, int(model.I[m.N_U])
    v, lam = 1 + n_q + model.numbering.v, 1 + n_q + n_u + model.numbering.lam
    taken = np.r_[: 1 + n_q, v, lam]
    values = np.empty((n, k, _NUMBERS))
    some = max(1, _RUNS // (8 * (model.size + k * (size + _NUMBERS))))
    for first in range(0, n, some):
        here = slice(first, first + some)
        program, at = _program(model, constants[here], k)
        program.F[:, at : at + of_masses.shape[1]] = of_masses[here]
        program.F[:, [m.T_LAST, m.T_STEP]] = rows[here, :1, 0]
        values[here] = program.of_rows(rows[here][..., taken])
    t = rows[0, :, 0] if n else np.empty(0)
    impulses = rows[..., 1 + n_q + 2 * n_u :]
    return Instants(values, _work(t, values[..., 1:3], impulses), impulses, {})
