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
from mbd.integration.consistent import consistent
from mbd.linear.saddle import Saddle, unmet
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

__all__ = ["Size", "begin", "first_step", "resumed", "started"]


class Size:
    """The size of accelerations or velocities a, root of a.M a, with M a from two residuals.

    Of the state in a work space, which is left as it is.
    """

    def __init__(self, work: Workspace) -> None:
        self.work, self.v = work, work.model.numbering.v
        self.rest = self._residual(0.0)

    def _residual(self, a: np.ndarray | float) -> np.ndarray:
        A = self.work.vector(m.A)
        here = A[..., self.v]
        A[..., self.v] = a
        self.work.evaluate()
        A[..., self.v] = here
        return self.work.vector(m.X)[..., self.v]

    def __call__(self, a: np.ndarray) -> np.ndarray:
        """Return the size of a, which may be large: its square is not computed."""
        force = self._residual(a) - self.rest
        most, push = (np.abs(x).max(-1, keepdims=True, initial=1e-300) for x in (a, force))
        work = np.abs((a / most * (force / push)).sum(-1))
        return np.asarray(np.sqrt(most[..., 0]) * np.sqrt(push[..., 0]) * np.sqrt(work))


class Nearby:
    """Accelerations near a consistent state, in one work space, its saddle factored once.

    Those there are corrected with this factor: a motion that is resolved changes the matrix little.
    Where that does not converge, the matrix is factored where they are wanted.
    """

    def __init__(self, work: Workspace, state: State) -> None:
        self.state, self.v, self.work = state, work.model.numbering.v, work
        work.load(state)
        self.A = work.vector(m.A)
        self.here = self.A.copy()
        self.size = Size(self.work)
        self.saddle = Saddle(self.work)

    def move(self, increment: np.ndarray | float, speed: np.ndarray, s: float) -> None:
        """Go to q [+] increment with another speed, a time s later."""
        self.work.vector(m.D)[..., self.v] = increment
        self.work.vector(m.V)[..., self.v] = speed
        self.work.F[..., m.T] = self.state.t + s

    def change(self, s: float, share: float) -> np.ndarray:
        """Return the change of accelerations in a time s, q and v by their Taylor series.

        It is right to a share of it, or to round-off.
        """
        state, saddle, work = self.state, self.saddle, self.work
        self.move(s * state.v + 0.5 * s * s * state.a, state.v + s * state.a, s)
        rest = 2.0**-44 * np.abs(state.a).max(-1, initial=0.0)
        r, own, change = unmet(work), 0, np.zeros_like(state.a)
        last, wanting = np.zeros_like(rest), np.ones_like(rest, bool)
        while own < 3 and (wanting := wanting & work.good).any():
            r = saddle.correct(r, only=wanting)
            change = self.A[..., self.v] - state.a
            size, whole = work.F[..., m.NORM].copy(), np.abs(change).max(-1, initial=0.0)
            pace = np.divide(size, last, out=np.ones_like(size), where=last > 0.0)
            own += saddle is not self.saddle
            wanting &= size * np.minimum(1.0, pace) > np.maximum(share * whole, rest)
            slow = wanting & (last > 0.0) & (pace > 0.1)
            if saddle is self.saddle and work.leaves(slow):  # far from here
                self.A[:], last = self.here, np.zeros_like(rest)
                r = unmet(work).copy()
                saddle = Saddle(work)
            else:
                last = size
        self.move(0.0, state.v, 0.0)
        self.A[...] = self.here
        if saddle is not self.saddle:
            self.work.evaluate()
            self.saddle = Saddle(self.work)
        return change


def jerk(near: Nearby, h: float, held: bool | None = None) -> np.ndarray:
    """Return the change of the accelerations in a time h, or zeros where it is not smooth.

    Whether it is may be `held`: of a state beside another one, of which it is.

    Smooth is what the derivative foretells; the measure of that is the metric of the mass matrix,
    which does not know the choice of coordinates.
    """
    rate = near.change(START_DIFFERENCE * h, 1e-8) / START_DIFFERENCE
    if held is not None:
        return rate if held else np.zeros_like(rate)
    whole, size = near.change(h, 1e-3), near.size
    smooth = size(whole - rate) <= START_SMOOTH * np.maximum(size(rate), size(near.state.a))
    return np.where(smooth[..., None], rate, 0.0)


def started(
    work: Workspace, state: State, h: float, weights: Weights, by_position: bool,
    held: bool | None = None,
) -> tuple[State, np.ndarray]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    Of one run or of many; the work space is used up. ``held``: whether that is smooth, if it is
    not to be judged.
    """
    near, names = Nearby(work, state), work.model.numbering
    change = jerk(near, h, held)
    if not (moved := change.any(-1, keepdims=True)).any():
        return state, change
    shift = weights.alpha_m - weights.alpha_f
    alg = np.where(moved, state.a + shift * change, state.a)
    begun = state.replace(alg=alg)
    if not by_position or not work.model.n_lam:
        return begun, change
    beta = weights.beta
    step = h * state.v + h * h * ((0.5 - beta) * alg + beta * (alg + change))
    near.move(step, state.v, h)
    work.evaluate()
    r = work.vector(m.X)
    r[..., near.v] = 0.0
    r[..., names.lam[names.lam_kinds == m.VELOCITY_ROW]] = 0.0
    v = state.v - near.saddle.solve(r)[..., near.v] / h
    return begun.replace(v=np.where(moved, v, state.v), alg=alg), change


def begin(
    model: FrozenModel, state: State, h: float, continued: bool, *, weights: Weights,
    by_position: bool,
) -> tuple[State, np.ndarray | None]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    The state of a run that is `continued` with the same step is left as it is. ``by_position``:
    rows are met at the level of positions.
    """
    if not continued:
        return started(Workspace(model), state, h, weights, by_position)
    if state.step is None or np.isclose(state.step, h, rtol=1e-12, atol=0.0):
        return state, None
    return resumed(model, state, h, weights, by_position)


def resumed(
    model: FrozenModel, state: State, h: float, weights: Weights, by_position: bool,
    held: bool | None = None,
) -> tuple[State, np.ndarray]:  # fmt: skip
    """Return the state of a run from which steps of another size begin; what `started` returns."""
    anywhere = np.zeros(model.n_lam, bool)  # at velocity level positions have drifted
    state = consistent(model, state, project="velocities", rows=anywhere)
    return started(Workspace(model), state, h, weights, by_position, held)


def first_step(
    model: FrozenModel, state: State, allowed: np.ndarray, largest: float, *, weights: Weights
) -> float:
    """Return a step whose error of positions is what is allowed, (n_v,), in a unit of time."""
    short = 1e-6 * largest
    rate = np.abs(Nearby(Workspace(model), state).change(short, 1e-4)) / short
    c = abs(1 / 6 - weights.beta - 0.5 * (weights.alpha_m - weights.alpha_f))
    h = np.sqrt(np.min(allowed / np.maximum(c * rate, 1e-300)))
    return float(min(max(1e-9 * largest, h), largest))  # the smallest where h is no number
