r"""Contradicting rows: the part of a violation that no motion reduces.

With rows and velocities in their units, :math:`\hat B = D_r^{-1} B D_v`, and what is left of the
rows, :math:`\hat g`, that part is

.. math:: c = \hat g - \hat B \hat B^+ \hat g .

It is zero where rows are independent, and where they are redundant and agree, but for curvature:
there motions :math:`-\hat B^+ \hat g` (Gauss and Newton) lead to the rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbd.base import tolerances
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace


class Violation(NamedTuple):
    """Gap of rows, in units of their size, c of it, and the motion that closes the rest.

    Attributes
    ----------
    left, open : (n_lam,) arrays
    move : (n_v,) array
    least : float
        What one row may lack, in the same units.
    unit : callable
        The unit of a row's violation.
    """

    left: np.ndarray
    open: np.ndarray
    move: np.ndarray
    least: float
    unit: Callable[[int], str]


def contradiction(model: FrozenModel, work: Workspace, by_rates: bool, near: float = np.inf) -> str:
    """Return that rows contradict each other near a pose, or no words, as `contradicting_rows`."""
    named = contradicting_rows(model, work, by_rates, near)
    if not named:
        return ""
    return (
        f"rows contradict each other, no motion meets all of them: {named}; two drives or "
        "joints ask for different things: leave one of them out, or make them agree"
    )


def contradicting_rows(
    model: FrozenModel, work: Workspace, by_rates: bool, near: float = np.inf
) -> str:
    """Return which rows contradict each other near the pose in a work space, in words, or none.

    Motions bring the pose to the rows, if it is so `near` them; where they are lost nothing is
    told. Rates are those of all rows where they are met ``by_rates``, else of rows on velocities
    alone. The work space changes.
    """
    if not model.I[m.LOOPS]:
        return ""
    place = _approached(model, work, near)
    if place is None:
        return ""
    return _named(model, place) or _named(model, _rates(model, work, by_rates))


def contradiction_of_step(model: FrozenModel, work: Workspace, start: State, by_rates: bool) -> str:
    """Return that rows contradict each other at the end of a step that failed, or no words.

    From where the iteration was left, if that is near the rows, then from the start of the step: at
    an iterate that is lost what is left of rows tells nothing. Rates are those of the velocities at
    the start. The work space changes.
    """
    end, words = float(work.F[m.T]), ""
    for q, near in ((work.vector(m.Q, model.n_q).copy(), tolerances.START_NEAR), (start.q, np.inf)):
        if np.abs(q).max(initial=0.0) < tolerances.LARGEST and not words:
            work.load(start.replace(t=end, q=q))
            words = contradiction(model, work, by_rates, near)
    return words


def _approached(model: FrozenModel, work: Workspace, near: float) -> Violation | None:
    """Return the rows at the pose to which motions lead, None if they are lost or begin afar."""
    for _ in range(tolerances.LOOP_CLOSINGS):
        at = _positions(model, work)
        mended, c = (float(np.abs(x).max(initial=0.0)) for x in (at.left - at.open, at.open))
        if not max(mended, c) <= near:
            return None
        if mended <= max(tolerances.RANK, c):
            return at
        if not np.abs(at.move / model.units).max() <= tolerances.POSE_STEP:
            return None
        work.vector(m.D)[model.numbering.v] += at.move
        near = np.inf
    return None


def _positions(model: FrozenModel, work: Workspace) -> Violation:
    """Return what positions lack of their rows, those that are dropped more than they did there."""
    work.evaluate(all_rows=True)
    names = model.numbering
    place = work.vector(m.X)[names.lam].copy()
    place[work.dropped] -= work.vector(m.HELD)[names.lam[work.dropped]]
    place[names.lam_kinds == m.VELOCITY_ROW] = 0.0
    least = (tolerances.RANK if len(work.dropped) else tolerances.ROWS_MET) * float(work.F[m.FAR])
    return _violation(model, work, place, least, names.lam_units.__getitem__)


def _rates(model: FrozenModel, work: Workspace, by_rates: bool) -> Violation:
    """Return what velocities lack, of rows on velocities alone unless `by_rates`."""
    rate, names = work.rates()[0].copy(), model.numbering
    if not by_rates:
        rate[names.lam_kinds != m.VELOCITY_ROW] = 0.0
    speed = float(np.abs(work.vector(m.V)[names.v] / model.units).max(initial=1.0))
    least = tolerances.ROWS_MET * speed * float(work.F[m.FAR])
    return _violation(model, work, rate, least, names.rate_unit)


def _violation(
    model: FrozenModel, work: Workspace, value: np.ndarray, least: float, unit: Any
) -> Violation:
    """Return c and the motion of some values of rows at the pose in a work space."""
    from mbd.model.assembly import assemble  # scipy.sparse, which most runs do not need

    sizes = model.F[model.I[m.DIAG] + model.numbering.lam]
    left, none = value / sizes, np.zeros(model.n_v)
    if not np.all(np.isfinite(left)):
        return Violation(left, np.full_like(left, np.nan), none, least, unit)
    open_part, move = _unmended(assemble(model, work.store()).B, sizes, model.units, left)
    return Violation(left, open_part, move, least, unit)


def _named(model: FrozenModel, at: Violation) -> str:
    r"""Return the rows of c, if one of them would lack too much where the others are met.

    Half of what it may is too much: free steps creep up to the whole. With one null vector w of the
    rows, :math:`c = w\,w^Tg/w^Tw`, that is :math:`c^Tc/c_i`.
    """
    worst = float(np.abs(at.open).max(initial=0.0))
    if not at.open @ at.open > 0.5 * at.least * worst:
        return ""
    sizes = model.F[model.I[m.DIAG] + model.numbering.lam]
    return _words(model, at.open * sizes, np.abs(at.open) > 0.1 * worst, at.unit)


def _unmended(
    B: Any, sizes: np.ndarray, units: np.ndarray, left: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return c and the motion that mends the rest."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import lsmr

    scaled = sp.diags(1.0 / sizes) @ B @ sp.diags(units)
    if B.shape[0] * B.shape[1] <= 1_000_000:
        scaled = scaled.toarray()
        x = np.linalg.lstsq(scaled, left, rcond=tolerances.RANK)[0]
    else:
        x = lsmr(scaled, left, atol=1e-12, btol=1e-12)[0]
    return np.asarray(left - scaled @ x), -units * x


def _words(
    model: FrozenModel, value: np.ndarray, which: np.ndarray, unit: Callable[[int], str]
) -> str:
    most, rows, names = 6, np.flatnonzero(which), model.numbering
    rows = rows[np.argsort(-np.abs(value[rows]))]
    named = ", ".join(f"{names.lam_labels[i]!r} by {value[i]:.3g} {unit(i)}" for i in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{named}{more}"
