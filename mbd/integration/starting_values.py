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

What velocities lack of the rows belongs to the size of the step: for a step of another size it
would be divided by that, and multipliers be off by :math:`h_0^2/h`. There the run restarts.

References
----------
.. [1] Arnold, Bruels and Cardona, Error analysis of generalized-alpha Lie group time integration
   methods for constrained mechanical systems, Numer. Math. 129 (2015).
"""

import math
from typing import Any

import numpy as np

from mbd.algebra.newmark import Weights
from mbd.algebra.vec import clear, copy, larger
from mbd.base.tolerances import START_DIFFERENCE, START_SMOOTH
from mbd.integration.consistent import settled
from mbd.linear.saddle import Saddle, evaluate_unmet, factor_saddle, subtract
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate, stage
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace


@jit
def _move(I: Any, F: Any, t: float, s: float) -> None:
    """Go to a time s after t, q and v by their Taylor series from VN and AN."""
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            v, a = F[I[m.VN] + i], F[I[m.AN] + i]
            F[I[m.D] + i] = s * v + 0.5 * s * s * a
            F[I[m.V] + i] = v + s * a
    F[m.T] = t + s


@jit
def _write_change(I: Any, F: Any, s: float, share: float, out: int) -> bool:
    """Write the change of accelerations in a time s after the state of VN and AN; tell if it holds.

    It is right to a share of it, or to round-off. Accelerations there are corrected with the factor
    of the state: a motion that is resolved changes the matrix little. Where that does not converge,
    the matrix is factored there, and here again.
    """
    S, n, t, least = ints(F), I[m.N_U], F[m.T], 0.0
    copy(F, I[m.A], I[m.AN], n)
    for i in range(n):
        if is_velocity(I, i):
            least = larger(least, 2.0**-44 * abs(F[I[m.AN] + i]))
    _move(I, F, t, s)
    last, own, wanting = 0.0, 0, True
    while wanting and own < 4:
        evaluate_unmet(I, F)
        if own == 1:
            factor_saddle(I, F)
        else:
            call(S[m.LINEAR], I, F, 0)
        own += own > 0
        subtract(I, F)
        size, change = F[m.NORM], 0.0
        for i in range(n):
            if is_velocity(I, i):
                change = larger(change, abs(F[I[m.A] + i] - F[I[m.AN] + i]))
        pace = 1.0 if last == 0.0 else min(1.0, size / last)
        wanting = size * pace > larger(share * change, least)
        if wanting and last > 0.0 and pace > 0.3 and own == 0:  # far from here
            own = 1
        last = size
    for i in range(n):
        if is_velocity(I, i):
            F[out + i] = F[I[m.A] + i] - F[I[m.AN] + i]
    copy(F, I[m.A], I[m.AN], n)
    _move(I, F, t, 0.0)
    if own > 0:
        evaluate_unmet(I, F)
        factor_saddle(I, F)
    return not wanting


@jit
def _write_force(I: Any, F: Any, a: int) -> None:
    """Write M a to X: the residual with accelerations a less that without any, in R."""
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.A] + i] = F[a + i]
    if ints(F)[m.SECOND_MAPS + 1]:  # forces depend on accelerations
        evaluate(I, F)
    else:
        stage(I, F, m.RESIDUAL)
    for i in range(I[m.N_U]):
        F[I[m.X] + i] -= F[I[m.R] + i]


@jit
def _size_of(I: Any, F: Any, a: int, force: int) -> float:
    """Return the root of a.M a, from a and M a; a may be large: its square is not computed."""
    most, power = 1e-300, 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            most = larger(most, abs(F[a + i]))
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            power += F[a + i] / most * F[force + i]
    return math.sqrt(most) * math.sqrt(abs(power))


@jit
def _begin(I: Any, F: Any) -> None:
    """Note the state from which one looks ahead."""
    for i in range(I[m.N_U]):
        F[I[m.VN] + i], F[I[m.AN] + i] = F[I[m.V] + i], F[I[m.A] + i]
        F[I[m.AB] + i] = F[I[m.AL] + i] = F[I[m.R] + i] = 0.0


@kernel
def change_kernel(I: Any, F: Any, k: int) -> None:
    """Write to AB the change of accelerations in the time H, right to a share TOL of it."""
    _begin(I, F)
    _write_change(I, F, F[m.H], F[m.TOL], I[m.AB])


@kernel
def jerk_kernel(I: Any, F: Any, k: int) -> None:
    """Write to AB what `jerk` returns; k = 1: whether it is smooth or not. H is the time.

    The matrix at the state is factored.
    """
    n, h = I[m.N_U], F[m.H]
    _begin(I, F)
    smooth = _write_change(I, F, START_DIFFERENCE * h, 1e-8, I[m.AB])
    for i in range(n):
        F[I[m.AB] + i] /= START_DIFFERENCE
    if k == 0:
        smooth = smooth and _write_change(I, F, h, 1e-3, I[m.AL])
        for i in range(n):
            F[I[m.AL] + i] -= F[I[m.AB] + i]
            if is_velocity(I, i):
                F[I[m.A] + i] = 0.0
        evaluate(I, F)
        copy(F, I[m.R], I[m.X], n)
        _write_force(I, F, I[m.AL])
        unforeseen = _size_of(I, F, I[m.AL], I[m.X])
        _write_force(I, F, I[m.AB])
        least = larger(_size_of(I, F, I[m.AB], I[m.X]), _size_of(I, F, I[m.AN], I[m.R]))
        smooth = smooth and unforeseen <= START_SMOOTH * least
        copy(F, I[m.A], I[m.AN], n)
        if not smooth:
            clear(F, I[m.AB], n)


class Nearby:
    """Accelerations near a consistent state, in one work space, its saddle factored once.

    The work space may have the saddle already, at this state.
    """

    def __init__(self, work: Workspace, state: State, saddle: Saddle | None = None) -> None:
        self.state, self.v, self.work = state, work.model.numbering.v, work
        if saddle is None:
            work.load(state)
            work.evaluate()
            saddle = Saddle(work)
        self.A = work.vector(m.A)
        self.saddle = saddle

    def change(self, s: float, share: float) -> np.ndarray:
        """Return the change of accelerations in a time s, right to a share of it."""
        self.work.F[..., m.TOL] = share
        return self._look_ahead(change_kernel, 0, s)

    def jerk(self, h: Any, held: bool | None = None) -> np.ndarray:
        """Return the change of the accelerations in a time h, or zeros where it is not smooth.

        Whether it is may be `held`: of a state near another one, of which it is.

        Smooth is what the derivative foretells; the measure of that is the metric of the mass
        matrix, which does not know the choice of coordinates. The residual is zero with the
        accelerations of the state: without them it is what these need.
        """
        if held is False:
            return np.zeros_like(self.state.a)
        return self._look_ahead(jerk_kernel, 0 if held is None else 1, h)

    def _look_ahead(self, kernel: Any, k: int, s: Any) -> np.ndarray:
        self.work.F[..., m.H] = s
        self.work.run(kernel, k)
        self.saddle.check()
        return np.asarray(self.work.vector(m.AB)[..., self.v])

    def velocities_onto(self, step: np.ndarray, h: Any) -> np.ndarray:
        """Return what velocities lack to carry a step (.., n_v) of time h to the rows."""
        work, names = self.work, self.work.model.numbering
        work.vector(m.D)[..., self.v] = step
        work.F[..., m.T] = self.state.t + h
        work.evaluate()
        r = work.vector(m.X)
        r[..., self.v] = 0.0
        r[..., names.lam[names.lam_kinds == m.VELOCITY_ROW]] = 0.0
        return self.saddle.solve(r)[..., self.v] / np.asarray(h)[..., None]


def started(
    work: Workspace, state: State, h: Any, weights: Weights, by_position: bool,
    held: bool | None = None, saddle: Saddle | None = None,
) -> tuple[State, np.ndarray]:  # fmt: skip
    """Return the state from which steps of size h begin, and the change of accelerations in h.

    Of one run or of many, h then (n,); the work space, which may have the `saddle` there, is used
    up. ``held``: whether that is smooth, if it is not to be judged.
    """
    near = Nearby(work, state, saddle)
    change = near.jerk(h, held)
    if not (moved := change.any(-1, keepdims=True)).any():
        return state, change
    shift = weights.alpha_m - weights.alpha_f
    alg = np.where(moved, state.a + shift * change, state.a)
    begun = state.replace(alg=alg)
    if not by_position or not work.model.n_lam:
        return begun, change
    beta = weights.beta
    each = np.asarray(h)[..., None]
    step = each * state.v + each * each * ((0.5 - beta) * alg + beta * (alg + change))
    v = state.v - near.velocities_onto(step, h)
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
    near: Nearby, allowed: np.ndarray, largest: float, *, weights: Weights
) -> np.ndarray:
    """Return steps (...,) whose error of positions is what is allowed, (..., n_v), in a time."""
    short = 1e-6 * largest
    rate = np.abs(near.change(short, 1e-4)) / short
    c = abs(1 / 6 - weights.beta - 0.5 * (weights.alpha_m - weights.alpha_f))
    h = np.sqrt(np.min(allowed / np.maximum(c * rate, 1e-300), axis=-1, initial=np.inf))
    return np.minimum(np.fmax(1e-9 * largest, h), largest)  # the smallest where h is no number
