r"""Starting values of generalized-alpha that keep second order in the multipliers.

The algorithmic acceleration of the method is that of a shifted time,
:math:`a_n = \dot v(t_n + \Delta_\alpha h) + O(h^2)`, :math:`\Delta_\alpha = \alpha_m - \alpha_f`;
begun with :math:`a_0 = \dot v(t_0)` multipliers have an error of first order that rings for some
hundred steps. Hence

.. math:: a_0 = \dot v_0 + \Delta_\alpha h\, \ddot v_0 .

Where rows are met at the level of positions, the velocities of the method leave them by
:math:`O(h^2)`: those with which smooth accelerations carry the first step to :math:`\Phi = 0`,

.. math:: v_0 = v(t_0) - \tfrac1h M^{-1}B^T(BM^{-1}B^T)^{-1}\,
   \Phi\bigl(q_0 \boxplus (h v(t_0) + h^2((\tfrac12-\beta)a_0 + \beta a_1))\bigr).

What velocities lack of the rows belongs to the size of the step: beside a step of another size it
would be divided by that, and multipliers be off by :math:`h_0^2/h`. There the run begins anew.

References
----------
.. [1] Arnold, Bruels and Cardona, Error analysis of generalized-alpha Lie group time integration
   methods for constrained mechanical systems, Numer. Math. 129 (2015).
"""

from __future__ import annotations

import numpy as np

from mbd.algebra.newmark import Weights
from mbd.base.tolerances import START_DIFFERENCE, START_SMOOTH
from mbd.integration.consistent import Saddle, accelerate, consistent, violations
from mbd.machine import buffer as m
from mbd.model.displacement import ahead
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["Size", "begin", "first_step", "jerk", "resumed", "started"]


def jerk(model: FrozenModel, state: State, h: float) -> np.ndarray:
    """Return the change of the accelerations in a time h, or zeros where it is not smooth.

    Smooth is what the derivative foretells; the measure of that is the metric of the mass matrix,
    which does not know the choice of coordinates.
    """
    rate = (_later(model, state, START_DIFFERENCE * h) - state.a) / START_DIFFERENCE
    whole = _later(model, state, h) - state.a
    size = Size(model, state)
    if not size(whole - rate) <= START_SMOOTH * max(size(rate), size(state.a)):
        return np.zeros(model.n_v)
    return rate


class Size:
    """The size of accelerations or velocities a, root of a.M a, with M a from two residuals."""

    def __init__(self, model: FrozenModel, state: State) -> None:
        self.work, self.v = Workspace(model, state), model.numbering.v
        self.rest = self._residual(np.zeros(model.n_v))

    def _residual(self, a: np.ndarray) -> np.ndarray:
        self.work.vector(m.A)[self.v] = a
        self.work.evaluate()
        return self.work.vector(m.X)[self.v].copy()

    def __call__(self, a: np.ndarray) -> float:
        """Return the size of a."""
        return float(np.sqrt(abs(a @ (self._residual(a) - self.rest))))


def _later(model: FrozenModel, state: State, s: float) -> np.ndarray:
    """Return consistent accelerations a time s later, q and v by their Taylor series."""
    there = ahead(model, state, s, state.a)
    return accelerate(there, dependent=False)[model.numbering.v].copy()


def started(
    model: FrozenModel, state: State, h: float, weights: Weights, by_position: bool
) -> tuple[State, np.ndarray]:
    """Return the state from which steps of size h begin, and the change of accelerations in h."""
    change = jerk(model, state, h)
    if not change.any():
        return state, change
    shift = weights.alpha_m - weights.alpha_f
    alg = state.a + shift * change
    begun = state.replace(alg=alg)
    if not by_position or not model.n_lam:
        return begun, change
    v, lam = model.numbering.v, model.numbering.lam
    work = Workspace(model, state)
    saddle = Saddle(work)
    beta = weights.beta
    work.vector(m.D)[v] = h * state.v + h * h * ((0.5 - beta) * alg + beta * (alg + change))
    work.F[m.T] = state.t + h
    r = np.zeros(int(work.I[m.N_U]))
    r[lam] = violations(work)[0]
    r[lam[model.numbering.lam_kinds == m.VELOCITY_ROW]] = 0.0
    return begun.replace(v=state.v - saddle.solve(r)[v] / h, alg=alg), change


def begin(
    model: FrozenModel, state: State, h: float, continued: bool, *, weights: Weights,
    by_position: bool,
) -> tuple[State, np.ndarray | None]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    The state of a run that is `continued` with the same step is left as it is. ``by_position``:
    rows are met at the level of positions.
    """
    if not continued:
        return started(model, state, h, weights, by_position)
    if state.step is None or np.isclose(state.step, h, rtol=1e-12, atol=0.0):
        return state, None
    return resumed(model, state, h, weights, by_position)


def resumed(
    model: FrozenModel, state: State, h: float, weights: Weights, by_position: bool
) -> tuple[State, np.ndarray]:
    """Return the state of a run from which steps of another size begin; what `started` returns."""
    anywhere = np.zeros(model.n_lam, bool)  # at velocity level positions have drifted
    state = consistent(model, state, project="velocities", rows=anywhere)
    return started(model, state, h, weights, by_position)


def first_step(
    model: FrozenModel, state: State, allowed: np.ndarray, largest: float, *, weights: Weights
) -> float:
    """Return a step whose error of positions is what is allowed, (n_v,), in a unit of time."""
    short = 1e-6 * largest
    rate = np.abs(_later(model, state, short) - state.a) / short
    c = abs(1 / 6 - weights.beta - 0.5 * (weights.alpha_m - weights.alpha_f))
    h = np.sqrt(np.min(allowed / np.maximum(c * rate, 1e-300)))
    return float(min(max(h, 1e-9 * largest), largest))
