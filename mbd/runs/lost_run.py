r"""Loss of stability at position level: oscillating multipliers, velocities off the rows.

At index 3 redundant coordinates, fast spin and a spectral radius near 1 do not go together: the
multipliers of the bodies' own rows oscillate while positions still look right. A smooth multiplier
changes little between neighbouring steps, :math:`|\lambda_{n+1} - 2\lambda_n + \lambda_{n-1}| \sim
h^2`; one that oscillates has second differences as large as itself. Later the velocities follow:
those of a sound run leave the rows by a part :math:`(\omega h)^2`, those of a lost one by more than
they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd.base.tolerances import (
    LOST_INSTANTS,
    LOST_NOISE,
    LOST_VELOCITY,
    OSCILLATION_INSTANTS,
    OSCILLATION_SHARE,
)
from mbd.integration.consistent import Saddle, consistent
from mbd.integration.starting_values import Size
from mbd.interactions.laws import LawError
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["departure", "oscillation"]


def oscillation(model: Model, lam: np.ndarray, weight: float) -> str:
    """Return a warning that names the worst multiplier, or an empty string.

    Parameters
    ----------
    lam : (n, n_lam) array
        Multipliers at successive steps; the last ones are looked at.
    weight : float [s^2]
        beta h^2: the round-off of positions divided by it is the round-off of multipliers, which
        alternates by nature and is no alarm where the multipliers themselves are zero.
    """
    last = lam[-OSCILLATION_INSTANTS:]
    if model.n_lam == 0 or len(last) < OSCILLATION_INSTANTS:
        return ""
    second = np.abs(np.diff(last, 2, axis=0))
    size = np.abs(last).max(axis=0)
    kinds = model.numbering.lam_kinds
    # compared with the largest of its kind, or with what the largest of all would be noise of
    of_kind = np.zeros(m.N_KINDS)
    np.maximum.at(of_kind, kinds, size)
    largest = np.maximum(of_kind[kinds], 1e-3 * size.max())
    if (second.max(axis=0) <= OSCILLATION_SHARE * largest).all():
        return ""
    mass = model.heaviest.mass
    length = float(model.F[m.LENGTH])
    force = LOST_NOISE * np.finfo(float).eps * mass * length / weight
    largest = np.maximum(largest, np.where(kinds == m.FORCE, force, force * length))
    share = np.median(second, axis=0) / largest
    # alternating: the second difference is about twice the first; smooth: much smaller
    first = np.abs(np.diff(last, axis=0))
    rough = np.median(second, axis=0) > 1.5 * np.median(first, axis=0)
    bad = np.flatnonzero(rough & (share > OSCILLATION_SHARE))
    if not len(bad):
        return ""
    worst = int(bad[np.argmax(share[bad])])
    return (
        f"the multiplier of {model.numbering.lam_labels[worst]!r} oscillates from step to step (by "
        f"{100 * share[worst]:.0f} % of the largest of its kind), and with it reactions: take "
        "constraints='stabilized', a smaller rho (0.8 or less), a smaller step, or "
        "formulation='so3'"
    )


def departure(model: Model, state: State, step: float, v: Any) -> str:
    """Return a warning that names the row which velocities leave most, or an empty string.

    What velocities lack of the rows is compared, in the metric of the mass matrix, with the largest
    ones of the run, of which some of its v, (n, n_v), are taken, and with what accelerations do in
    a step.
    """
    try:
        work = Workspace(model, state)
        size = Size(work)
        lost = _off_the_rows(work)
        if lost is not None and size(lost) <= 0.5 * LOST_VELOCITY * size(state.v):
            return ""
        nearest = consistent(model, state, project="velocities")
    except (ValueError, LawError):
        return ""
    size = Size(Workspace(model, nearest))
    noise = LOST_NOISE * np.finfo(float).eps / step * model.units  # of velocities: round-off over h
    largest = max(size(v[i]) for i in range(0, len(v), max(1, len(v) // LOST_INSTANTS)))
    gained = min(largest, step * size(nearest.a))  # where all explodes, accelerations do most
    lack = size(state.v - nearest.v) / (largest + gained + size(noise))
    if not lack > LOST_VELOCITY:
        return ""
    work.evaluate()
    worst = int(np.argmax(np.abs(work.rates()[0])))
    return (
        f"the run is lost: at t = {state.t:.6g} s velocities leave the rows, most of all "
        f"{model.numbering.lam_labels[worst]!r}, by {100 * lack:.0f} % of their size; take "
        "constraints='stabilized', a smaller rho (0.8 or less), a smaller step, or "
        "formulation='so3'"
    )


def _off_the_rows(work: Workspace) -> np.ndarray | None:
    """Return about what velocities must lose to meet the rates of the rows, (n_v,).

    None where one solution with the softened rows does not tell.
    """
    v, lam, V = work.model.numbering.v, work.model.numbering.lam, work.vector(m.V)
    work.evaluate()
    r = np.zeros(len(v) + len(lam))
    r[lam] = rate = work.rates()[0]
    here, step = V[v], Saddle(work).solve(r)[v]
    V[v] -= step
    work.evaluate()
    left = work.rates()[0]
    V[v] = here
    return step if np.abs(left).max() <= 0.1 * np.abs(rate).max() else None
