r"""Steps too large for their motion: estimates of their errors, balance of energies, drift of rows.

The error of one step of size h, along the manifold, is that of its Taylor series,

.. math:: e_q = c\, h^2 \Delta^k \dot v,

of which the method says c and k: generalized-alpha :math:`\tfrac16 - \beta - \tfrac12(\alpha_m -
\alpha_f)` and 1, the midpoint rule 1/12 and 1, Runge-Kutta methods of fourth order 1/120 and 3. In
a unit of
:math:`e_q`, the length of the model or one radian, the errors of all steps add up to a part of
their sum. Between instants that are some steps apart accelerations change by no more than the steps
within add up to: for k = 1 the sum over instants is a bound from below.

The balance of energies tells of errors as well: kinetic, potential and dissipated energy less work,
and less that of impulses, stay what they were, as far as work is known: a sum by trapezia, off by
less than the second differences of its parts where these are few; where power changes from step to
step all the time, steps are too large for the loads. It is looked at where errors are large, where
steps failed or throw bodies, where they are coarse, or where instants are not those of all steps.
Of the way of the motion, a step whose velocity turns by :math:`h\omega` adds
:math:`h^2\Delta\dot v \approx (h\omega)^2`, and loses energy as its square: the sum over n steps
counts times the root of n.

Steps that meet the rates of rows alone let positions drift off the rows, by their errors as long as
rates are smooth; where the rate of a law jumps by J within a step, by up to h J, which stays.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from mbd.base import tolerances
from mbd.history.all_parts import past_of
from mbd.history.history import History
from mbd.history.instants import acting, instants
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.turns_so_far import MEMORY
from mbd.model.workspace import Workspace


def too_large(history: History, h: float, in_a_row: bool) -> str:
    """Return a warning with what errors add up to, or an empty string.

    Parameters
    ----------
    history : History
    h : float [s]
    in_a_row : bool
        Whether the instants of the history are those of all steps, of one size, and the method
        says what the error of a step is.
    """
    words, worst, throws, coarse = [], 0.0, False, False
    divided = history.stats.get("divided_steps", 0) > 0
    c, order = history.method.facts.error or (0.0, 0)
    if in_a_row or (order == 1 and not _changed(history)):
        paces = paces_of(history.v, history.a, history.model.units, order)
        apart = history.t[1:] - history.t[:-1]
        if in_a_row:
            large, throws, coarse = judged(paces, apart, h, c)
            if not (large or divided or throws or coarse):
                return ""
        error, at = step_errors(paces, apart, h, c, in_a_row)
        if not error <= tolerances.LARGE_STEP_ERROR:
            whose, when = _worst_at(history, at, order)
            worst = error / tolerances.LARGE_STEP_ERROR
            least = "" if in_a_row else "at least "
            words.append(
                f"errors of steps add up to {least}{error:.2g} (of the length of the model, or "
                f"1 rad), most of them of {history.model.labels[whose]!r}, at t = {when:.6g} s"
            )
    energy = energy_departure(history, h, in_a_row, throws or coarse)
    allowed = tolerances.LARGE_STEP_ONCE if throws or divided else tolerances.LARGE_STEP_ENERGY
    if not energy <= allowed:
        worst = max(worst, energy / allowed)
        words.append(f"the balance of energies departs by {100 * energy:.2g} % of what moves")
    if not words:
        return ""
    step = 0.5 * h / np.sqrt(worst)  # a quarter of what is allowed
    return (
        f"steps of {h:.3g} s are too large for this motion: {'; '.join(words)}; take smaller ones, "
        f"such as {step:.1g} s, or let them be chosen (rtol=1e-6)"
    )


def drifted(history: History, rtol: float) -> str:
    """Return a warning with how far positions left the rows, of a run at velocity level, or ""."""
    model, gap = history.model, history.gap
    least = tolerances.START_NEAR + (rtol if np.isfinite(rtol) else 0.0)
    if not len(gap) or not gap.max() > least * min(1.0, float(model.F[m.LENGTH])):
        return ""
    worst, at = int(np.argmax(gap)), model.numbering
    angles = None
    if len(model.memory):  # with the turns up to there
        angles = past_of(history.part(slice(0, worst + 1), history.before))[MEMORY]
    q, v, a = (np.asarray(x[worst]) for x in (history.q, history.v, history.a))
    lam = np.asarray(history.acting_lam(worst))
    work = Workspace(model, State(float(history.t[worst]), q, v, a, lam, memory=angles))
    work.evaluate()
    rows = np.where(at.lam_kinds == m.VELOCITY_ROW, 0.0, work.vector(m.X)[at.lam])
    rows *= acting(model, lam[None])[0]
    sizes = np.abs(rows) / model.F[m.UNIT + at.lam_kinds]
    row = int(np.argmax(sizes))
    if not sizes[row] > least:
        return ""
    return (
        f"at velocity level positions left the rows, {at.lam_labels[row]!r} by "
        f"{rows[row]:.2g} {at.lam_units[row]} at t = {history.t[worst]:.6g} s: steps are too large "
        "for the motion, or the rate of a law jumps; take "
        "constraints='stabilized', which meets both, or smaller steps"
    )


class Paces(NamedTuple):
    r"""Measures of steps by the instants of runs, the largest of all velocities in their units.

    Attributes
    ----------
    speed : (..., n) array
        Velocity at each instant.
    change : (..., n - 1) array
        :math:`\Delta\dot v` from each to the next.
    higher : (..., n - max(1, p)) array
        :math:`\Delta^p\dot v`, p as the method says.
    """

    speed: np.ndarray
    change: np.ndarray
    higher: np.ndarray


def paces_of(v: np.ndarray, a: np.ndarray, units: np.ndarray, order: int) -> Paces:
    """Return the paces of velocities and accelerations (..., n, n_v) of one run, or of many."""
    *runs, n, _ = a.shape
    paces = Paces(*(np.zeros((*runs, max(0, n - k))) for k in (0, 1, max(1, order))))
    for first in range(0, n, 4096):  # what stays in the cache of the processor
        part = slice(first, first + 4096)
        paces.speed[..., part] = (np.abs(v[..., part, :]) / units).max(axis=-1, initial=0.0)
        for k, of in ((1, paces.change), (order, paces.higher)):
            x = a[..., first : first + 4096 + k, :]
            largest = (np.abs(np.diff(x, k, axis=-2)) / units).max(axis=-1, initial=0.0)
            of[..., part] = largest[..., : of[..., part].shape[-1]]
    return paces


def judged(paces: Paces, apart: np.ndarray, h: float, c: float) -> tuple[Any, Any, Any]:
    """Tell of one run or of many, (...), whether its steps are to be looked at.

    Whether their errors add up to too much, they throw bodies, and are coarse. Instants are those
    of all steps, these times (n - 1,) apart.
    """
    error, _ = step_errors(paces, apart, h, c)
    change = paces.change[..., apart > 0.0]  # not from the one side of an event to the other
    speed, duration = paces.speed, float(apart.sum())
    throw = thrown(change, speed.max(axis=-1, initial=0.0), h, duration)
    part = coarseness(change, speed.mean(axis=-1), h)
    large = ~(error <= tolerances.LARGE_STEP_ERROR)
    return large, ~(throw <= tolerances.LARGE_STEP_THROW), ~(part <= tolerances.LARGE_STEP_COARSE)


def step_errors(
    paces: Paces, apart: np.ndarray, h: float, c: float, in_a_row: bool = True
) -> tuple[Any, Any]:
    """Return what errors of steps add up to, and the first instant of the largest.

    If steps are not kept one after the other, a bound from below.
    """
    whole = apart > (1 - 1e-6) * h  # not those that an event ends, or the last one
    if in_a_row:
        whole &= apart < (1 + 1e-6) * h
    n = paces.higher.shape[-1]
    order = len(apart) + 1 - n
    for k in range(1, order):
        whole[:n] &= whole[k : k + n]
    each = np.where(whole[:n], c * h * h * paces.higher, 0.0)
    return each.sum(axis=-1), each.argmax(axis=-1) if n else 0


def _worst_at(history: History, at: int, order: int) -> tuple[int, float]:
    """Return which velocity has the largest error in the steps after an instant, and when [s]."""
    part = np.asarray(history.a[at : at + order + 1])
    e = np.abs(np.diff(part, order, axis=0)) / history.model.units
    return int(np.argmax(e[0])), float(history.t[at + order])


def thrown(change: np.ndarray, fastest: Any, h: float, duration: float) -> Any:
    """Return the largest change of a velocity that one step adds to another, of the `fastest`.

    Four times what steps change on the average is taken off it: that is a coarse step, no throw.
    Of the largest changes in each step, (..., n).

    A step across a singular pose moves bodies little and throws them: its multipliers are impulses.
    Velocities that in the whole run move bodies by less than what errors may add up to are none.
    """
    least = tolerances.LARGE_STEP_ERROR / max(h, duration)
    most = change.max(axis=-1, initial=0.0) - 4 * change.sum(axis=-1) / (change.shape[-1] + 1)
    return h * most / np.maximum(fastest, least)


def coarseness(change: np.ndarray, speed: Any, h: float) -> Any:
    """Return what steps add to the way of a motion, in parts of it, times the root of their number.

    Of the largest changes in each step, (..., n), and the mean of the largest velocities, in a
    unit of ten steps. A way that is no longer than what is allowed of it may be round-off.
    """
    steps = max(change.shape[-1], 1)
    way = np.maximum(h * steps * speed, tolerances.LARGE_STEP_COARSE)
    return h * h * change.sum(axis=-1) / way * np.sqrt(steps) / 10


def _changed(history: History) -> bool:
    """Tell whether events have changed the state."""
    return any(occurrence.event.changes for occurrence in history.events)


def energy_departure(history: History, h: float, in_a_row: bool, thorough: bool = False) -> float:
    """Return by how much the balance of energies departs, over the largest energy that moves.

    What sums over time may be wrong by is taken off it, the second differences of their parts, if
    that may explain it and does not come from all steps alike.
    Zero where it is not known: unless all instants are evaluated (`thorough`), in long runs with
    work, or with springs that count turns; in those with dampers energy may fall by any amount.
    """
    n, model = len(history.t), history.model
    if n < 2:
        return 0.0
    few = thorough or n <= tolerances.LARGE_STEP_INSTANTS
    if history.stored is None and not few:
        if len(model.memory) and model.kernels[m.ENERGY]:
            return 0.0
        sample = np.unique(np.linspace(0, n - 1, tolerances.LARGE_STEP_INSTANTS).astype(int))
        history = history.part(sample, history.before)
    kinetic, potential, *exchanged, impulsive = _energies(history)
    summed = np.array(exchanged)
    falls = False
    if summed.any() and not (few and in_a_row):
        supplied = summed[1].any() or model.laws or _changed(history)
        if supplied or (np.diff(summed[0]) < 0.0).any():
            return 0.0
        falls, summed = True, np.zeros_like(summed)
    moved = max(kinetic.max(), *(x.max() - x.min() for x in (potential, impulsive, *summed)))
    noise = tolerances.LOST_NOISE * np.finfo(float).eps
    rest = 0.5 * float(model.stacked.mass.sum()) * (noise * float(model.F[m.LENGTH]) / h) ** 2
    rest += noise * float(np.abs(potential).max())
    if history.method.facts.set_valued:  # what rests is held against its weight
        weight = float(model.stacked.mass.sum() * np.linalg.norm(model.F[m.GX : m.GX + 3]))
        rest += tolerances.NEWTON_FREE * weight * float(model.F[m.LENGTH])
    balance = kinetic + potential + summed[0] - summed[1] - impulsive
    with np.errstate(invalid="ignore"):
        departure = np.abs(balance - balance[0]).max()
        if falls or history.method.facts.set_valued:
            # dampers and impacts take: what impacts do is known to a step
            energy = balance - history.impulses[:, 1:].sum(axis=1)
            departure = (energy - np.minimum.accumulate(energy)).max()
        if summed.any():
            bends = np.abs(np.diff(summed, 3, axis=1)).sum(axis=0)
            if 2 * bends.sum() > departure > bends.size * np.median(np.append(bends, 0.0)):
                departure -= bends.sum()
        return float(departure / (moved + rest + 1e-300))


def _energies(history: History) -> tuple[np.ndarray, ...]:
    """Return kinetic, potential and dissipated energy, both works; of laws that raise zeros."""
    if history.stored is not None:
        energy = history.energy
        exchanged = energy.dissipated, energy.work, energy.impulsive
        return energy.kinetic, energy.potential, *exchanged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return instants(history).energies
