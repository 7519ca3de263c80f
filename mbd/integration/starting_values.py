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
from mbd.integration.consistent import settled
from mbd.linear.saddle import Saddle, unmet
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace


class Nearby:
    """Accelerations near a consistent state, in one work space, its saddle factored once.

    Those there are corrected with this factor: a motion that is resolved changes the matrix little.
    Where that does not converge, the matrix is factored where they are wanted. The work space may
    have the saddle already, at this state.
    """

    def __init__(self, work: Workspace, state: State, saddle: Saddle | None = None) -> None:
        self.state, self.v, self.work = state, work.model.numbering.v, work
        if saddle is None:
            work.load(state)
            work.evaluate()
            saddle = Saddle(work)
        self.A = work.vector(m.A)
        self.here = self.A.copy()
        self.saddle = saddle

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
        r, own, last, wanting = unmet(work), 0, None, work.good
        change = np.zeros_like(state.a)
        while own < 3 and np.any(wanting):
            r = saddle.correct(r, only=wanting)
            change = self.A[..., self.v] - state.a
            size = work.F[..., m.NORM].copy()
            pace = 1.0 if last is None else np.minimum(1.0, size / last)
            least = np.maximum(share * np.abs(change).max(-1, initial=0.0), rest)
            wanting = wanting & (size * pace > least)
            own += saddle is not self.saddle
            near = last is None or saddle is not self.saddle
            if not near and work.leaves(wanting & (pace > 0.3)):  # far from here
                self.A[:], last = self.here, None
                r = unmet(work).copy()
                saddle = Saddle(work)
            else:
                wanting, last = wanting & work.good, size
        self.move(0.0, state.v, 0.0)
        self.A[...] = self.here
        if saddle is not self.saddle:
            self.work.evaluate()
            self.saddle = Saddle(self.work)
        return change

    def force(self, a: np.ndarray | float) -> np.ndarray:
        """Return the residual of the velocities with the accelerations a: M a and what is at rest.

        All else is that of the state.
        """
        self.A[..., self.v] = a
        self.work.evaluate()
        self.A[...] = self.here
        return self.work.vector(m.X)[..., self.v]


def _size(a: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the root of a.M a, from a and M a; a may be large: its square is not computed."""
    most = np.abs(a).max(-1, keepdims=True, initial=1e-300)
    return np.asarray(np.sqrt(most[..., 0]) * np.sqrt(np.abs((a / most * force).sum(-1))))


def jerk(near: Nearby, h: float, held: bool | None = None) -> np.ndarray:
    """Return the change of the accelerations in a time h, or zeros where it is not smooth.

    Whether it is may be `held`: of a state beside another one, of which it is.

    Smooth is what the derivative foretells; the measure of that is the metric of the mass matrix,
    which does not know the choice of coordinates. The residual is zero with the accelerations of
    the state: without them it is what these need.
    """
    rate = near.change(START_DIFFERENCE * h, 1e-8) / START_DIFFERENCE
    if held is not None:
        return rate if held else np.zeros_like(rate)
    unforeseen, rest = near.change(h, 1e-3) - rate, near.force(0.0)
    size, of_rate = (_size(a, near.force(a) - rest) for a in (unforeseen, rate))
    smooth = size <= START_SMOOTH * np.maximum(of_rate, _size(near.state.a, rest))
    return np.where(smooth[..., None], rate, 0.0)


def started(
    work: Workspace, state: State, h: float, weights: Weights, by_position: bool,
    held: bool | None = None, saddle: Saddle | None = None,
) -> tuple[State, np.ndarray]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    Of one run or of many; the work space, which may have the `saddle` there, is used up. ``held``:
    whether that is smooth, if it is not to be judged.
    """
    near, names = Nearby(work, state, saddle), work.model.numbering
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
    model: FrozenModel, state: State, h: float, continued: bool, saddle: Saddle | None = None, *,
    weights: Weights, by_position: bool,
) -> tuple[State, np.ndarray | None]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    The state of a run that is `continued` with the same step is left as it is. ``by_position``:
    rows are met at the level of positions. ``saddle``: that of `settled` at the state, if it is at
    hand; its work space is used up.
    """
    if not continued:
        work = Workspace(model) if saddle is None else saddle.work
        return started(work, state, h, weights, by_position, saddle=saddle)
    if state.step is None or np.isclose(state.step, h, rtol=1e-12, atol=0.0):
        return state, None
    return resumed(model, state, h, weights, by_position)


def resumed(
    model: FrozenModel, state: State, h: float, weights: Weights, by_position: bool,
    held: bool | None = None,
) -> tuple[State, np.ndarray]:  # fmt: skip
    """Return the state of a run from which steps of another size begin; what `started` returns."""
    anywhere = np.zeros(model.n_lam, bool)  # at velocity level positions have drifted
    state, saddle = settled(model, state, project="velocities", rows=anywhere)
    work = Workspace(model) if saddle is None else saddle.work
    return started(work, state, h, weights, by_position, held, saddle)


def first_step(
    model: FrozenModel, state: State, allowed: np.ndarray, largest: float, *, weights: Weights
) -> float:
    """Return a step whose error of positions is what is allowed, (n_v,), in a unit of time."""
    short = 1e-6 * largest
    rate = np.abs(Nearby(Workspace(model), state).change(short, 1e-4)) / short
    c = abs(1 / 6 - weights.beta - 0.5 * (weights.alpha_m - weights.alpha_f))
    h = np.sqrt(np.min(allowed / np.maximum(c * rate, 1e-300)))
    return float(min(max(1e-9 * largest, h), largest))  # the smallest where h is no number
