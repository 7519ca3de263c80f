r"""Contradicting rows: the part of a violation that no motion reduces.

With rows and velocities in their units, :math:`\hat B = D_r^{-1} B D_v`, and what is left of the
rows, :math:`\hat g`, that part is

.. math:: c = \hat g - \hat B \hat B^+ \hat g .

It is zero where rows are independent, and where they are redundant and agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd.base.tolerances import OPEN_DROPPED, OPEN_LEAST, OPEN_SHARE, RANK
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.workspace import Workspace


def contradiction(
    model: FrozenModel, work: Workspace, by_rates: bool, share: float = OPEN_SHARE
) -> str:
    """Return that rows contradict each other at the pose in a work space, or no words."""
    named = contradicting_rows(model, work, by_rates, share)
    if not named:
        return ""
    return (
        f"rows contradict each other, no motion meets all of them: {named}; two drives or "
        "joints ask for different things: leave one of them out, or make them agree"
    )


def contradicting_rows(
    model: FrozenModel, work: Workspace, by_rates: bool, share: float = OPEN_SHARE
) -> str:
    """Return which rows contradict each other at the pose in a work space, in words, or none.

    They do if more than this share of the largest violation is of that part: far from the rows
    some of it is curvature. At a pose that meets the rows velocities need no such care. Rates are
    those of all rows where they are met ``by_rates``, else of rows on velocities alone.
    """
    if not model.I[m.LOOPS]:
        return ""
    work.evaluate(all_rows=True)
    place = work.vector(m.X)[model.numbering.lam].copy()
    rate = work.rates()[0].copy()
    rate[~np.isfinite(rate)] = place[~np.isfinite(place)] = np.inf
    on_velocities = model.numbering.lam_kinds == m.VELOCITY_ROW
    place[on_velocities] = 0.0
    if not by_rates:
        rate[~on_velocities] = 0.0
    from mbd.model.assembly import assemble  # scipy.sparse, which most runs do not need

    B = assemble(model, work.store()).B
    sizes = model.F[model.I[m.DIAG] + model.numbering.lam]
    names = model.numbering
    least = 0.5 * OPEN_SHARE * OPEN_DROPPED if len(work.dropped) else OPEN_LEAST
    for value, unit in ((place, names.lam_units.__getitem__), (rate, names.rate_unit)):
        left = value / sizes
        if not np.all(np.isfinite(left)):
            continue
        open_part = _unmended(B, sizes, model.units, left)
        worst = float(np.abs(open_part).max(initial=0.0))
        if worst > least and worst > share * np.abs(left).max():
            return _words(model, open_part * sizes, np.abs(open_part) > 0.1 * worst, unit)
    return ""


def _unmended(B: Any, sizes: np.ndarray, units: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return c."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import lsmr

    scaled = sp.diags(1.0 / sizes) @ B @ sp.diags(units)
    if B.shape[0] * B.shape[1] <= 1_000_000:
        dense = scaled.toarray()
        return np.asarray(left - dense @ np.linalg.lstsq(dense, left, rcond=RANK)[0])
    return np.asarray(left - scaled @ lsmr(scaled, left, atol=1e-12, btol=1e-12)[0])


def _words(
    model: FrozenModel, value: np.ndarray, which: np.ndarray, unit: Callable[[int], str]
) -> str:
    most, rows, names = 6, np.flatnonzero(which), model.numbering
    rows = rows[np.argsort(-np.abs(value[rows]))]
    named = ", ".join(f"{names.lam_labels[i]!r} by {value[i]:.3g} {unit(i)}" for i in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{named}{more}"
