r"""Collocation at the points of Radau, of order 5 and 9 in positions, velocities and multipliers.

Unknown are :math:`\dot v_i, \lambda_i` at the stages :math:`t_n + c_i h` of a step,

.. math::
   v_i &= v_n + h\sum_j a_{ij}\dot v_j, \qquad
   \Delta_i = h\sum_j a_{ij}\, T^{-1}(\Delta_j)\, v_j, \qquad q_i = q_n \boxplus \Delta_i, \\
   r(q_i, v_i, \dot v_i, \lambda_i, t_i) &= 0, \qquad
   \ddot\Phi(q_i, v_i, \dot v_i, t_i) = 0 .

The last stage is the end of the step, :math:`c_s = 1`; there :math:`\Phi` and :math:`\dot\Phi` are
met by a correction of positions and one of velocities, :math:`S(\delta; \eta) = -(0; \Phi)`. One
real factor serves all stages: with :math:`\delta v_i^0 = h\sum_{j<i} W_{ij}\,\delta\dot v_j` and
:math:`\delta\Delta_i^0 = h\sum_{j<i} W_{ij}\,\delta v_j + h\gamma\,\delta v_i^0` a sweep evaluates
each stage at :math:`v_i + \delta v_i^0,\ \Delta_i + \delta\Delta_i^0` and solves

.. math::
   S\,(\delta\dot v_i; \delta\lambda_i) = -(r; \ddot\Phi), \qquad
   S = \begin{bmatrix} M + h\gamma G + h^2\gamma^2 K & B^T \\ B & -\epsilon \end{bmatrix}, \qquad
   \delta v_i = \delta v_i^0 + h\gamma\,\delta\dot v_i ,

S that of :math:`t_n`; a step that fails takes one of each stage instead, then smaller steps. Rows
that are redundant contradict each other at the stages by :math:`O(h^{s+1})`, which divides by
:math:`\epsilon`: it is taken out of each solution by :math:`S^{-1}(0; -\epsilon\,\delta\lambda)`,
and of the starting values of multipliers by :math:`S^{-1}(B^T\lambda; 0)`.

The error of a step that is chosen is that of order s,
:math:`h\gamma\, S^{-1}(r(q_n, v_n, \dot v^*, \lambda^*); 0)` with the stages extrapolated back to
:math:`t_n`; its power 2s/(s + 1) is held to the share of the step in the tolerance. States within a
step are those of the polynomial of :math:`\dot v, \lambda` through :math:`t_n` and the stages and
of its integrals, moved onto the rows.

References
----------
.. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.8, VII.4, VII.5.
   Van der Houwen and de Swart, SIAM J. Sci. Comput. 18 (1997): triangular sweeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd.algebra.radau_points import STAGES, cardinal, integral, radau
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.base.tolerances import (
    COLLOCATION_PARTS,
    COLLOCATION_STRICT,
    ERROR_FIRST,
    STEP_GROWS,
    STEP_SAFE,
    STEP_SHRINKS,
    SWEEP_SHARE,
)
from mbd.formulations.families import family
from mbd.integration.adaptive import add_time, next_size
from mbd.integration.consistent import consistent, violations
from mbd.integration.method import Facts, FreeSteps
from mbd.integration.newton_loop import CONVERGED, FAILED, REFUSED, keep_record, next_time
from mbd.integration.radau_sweeps import (
    ACC,
    AT_BEGIN,
    BACK,
    BEGIN_A,
    BEGIN_V,
    EACH,
    GAMMA,
    ORDER,
    PASSES,
    RATE,
    SPARE,
    START_Q,
    SWEEP,
    SWEEPS,
    VECTORS,
    WEIGHTS,
    C,
    base,
    finish,
    iterate,
    local_error,
    other,
    own,
    undo,
)  # fmt: skip
from mbd.integration.starting_values import Nearby
from mbd.integration.updates import record
from mbd.linear.onto_rows import add, clear, copy, onto_rows
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import own_vector
from mbd.model.evaluation import copy_remembered, note_rates
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

A, AN, D, FORCE, UNKNOWN_KIND, N_U, QN, T, V, VN, X = (
    m.A, m.AN, m.D, m.FORCE, m.UNKNOWN_KIND, m.N_U, m.QN, m.T, m.V, m.VN, m.X,
)  # fmt: skip


# --- steps of one size ----------------------------------------------------------------------------
@jit
def one_step(I: Any, F: Any, end: float, h: float, leave: bool) -> int:
    """Take one step, with matrices of each stage if it must be; one that fails is undone."""
    t = F[T]
    for each in range(2):
        status = iterate(I, F, h, F[m.TOL], each == 1)
        if status == CONVERGED and finish(I, F, end, h):
            return CONVERGED
        ints(F)[m.N_REJECT] += 1
        if leave:
            break
        undo(I, F, t)
    return FAILED


@jit
def whole_step(I: Any, F: Any, end: float, leave: bool) -> int:
    """Take one step of F[H], in 2, 4, ... smaller ones if it fails."""
    S, n, begin_q, t = ints(F), I[N_U], other(I, F, START_Q) + I[m.N_Q], F[T]
    copy(F, other(I, F, BEGIN_V), I[V], n)
    copy(F, other(I, F, BEGIN_A), I[A], n)
    copy(F, begin_q, I[m.Q], I[m.N_Q])
    copy_remembered(I, F, 0, AT_BEGIN)
    status, parts = CONVERGED, 1
    for _ in range(1 if leave else COLLOCATION_PARTS):
        for i in range(parts):
            until = end if i + 1 == parts else t + (end - t) * (i + 1) / parts
            status = one_step(I, F, until, F[m.H] / parts, leave)
            if status != CONVERGED:
                break
        if status == CONVERGED or leave:
            break
        copy(F, I[V], other(I, F, BEGIN_V), n)
        copy(F, I[A], other(I, F, BEGIN_A), n)
        copy(F, I[m.Q], begin_q, I[m.N_Q])
        copy_remembered(I, F, AT_BEGIN, 0)
        F[m.T_LAST] = t
        S[m.HISTORY], F[T] = 0, t
        parts *= 2
    return status  # type: ignore[no-any-return]


@loop
@flushing
def advance(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a step that failed as it is."""
    S = ints(F)
    S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
    note_rates(I, F)
    for step in range(S[m.N_STEPS]):
        t = F[T]
        if whole_step(I, F, next_time(I, F), k == 1) != CONVERGED:
            S[m.STATUS], S[m.HISTORY], F[T] = FAILED, 0, t
            return
        S[m.STEPS_DONE] = step + 1
        keep_record(I, F)


# --- free steps -----------------------------------------------------------------------------------
@jit
def give(I: Any, F: Any, t: float, h: float) -> None:
    """Record the states at requested times before the end of the step."""
    S, b, n = ints(F), base(I), I[N_U]
    s = int(F[b + ORDER])
    while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] < t + h:
        F[T] = F[S[m.OUTPUT] + S[m.N_REACHED]]
        x = (F[T] - t) / h
        clear(F, I[A], n)
        clear(F, I[D], n)
        copy(F, I[V], I[VN], n)
        for j in range(s + 1):
            weight = h * integral(F, b + C, s, j, x)
            a = own(I, F, ACC, j - 1) if j > 0 else I[AN]
            add(F, I[A], cardinal(F, b + C, s, j, x), a, n)
            add(F, I[V], weight, a, n)
            add(F, I[D], weight, own(I, F, RATE, j - 1) if j > 0 else I[VN], n)
        onto_rows(I, F, other(I, F, SPARE), 4, False)
        record(I, F)
        S[m.N_REACHED] += 1


@loop
@flushing
def choose(I: Any, F: Any, k: int) -> None:
    """Take up to S[N_STEPS] steps, none beyond F[T_END]; F[H] is left for the next one.

    k = 1 returns where stages or rows are not met, with the last increment in vector 0.
    """
    S, b = ints(F), base(I)
    S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
    note_rates(I, F)
    order = F[b + ORDER] + 1.0  # of the estimate
    while S[m.STEPS_DONE] < S[m.N_STEPS] and F[T] < F[m.T_END]:
        t, h = F[T], next_size(I, F)
        if h == 0.0 or S[m.N_RECORDED] + 2 > S[m.CAPACITY]:
            return
        last, tol, bound = h == F[m.T_END] - t, F[m.TOL], math.inf
        if F[m.RTOL] < 1e300:
            share = ERROR_FIRST * h + t - F[m.T_START]
            share /= (ERROR_FIRST + S[m.N_TAKEN]) * (F[m.T_END] - F[m.T_START])
            allowed = F[m.RTOL] * share
            tol = SWEEP_SHARE * allowed
            bound = COLLOCATION_STRICT * allowed ** (0.5 * order / F[b + ORDER])
        error, each = math.inf, S[m.N_TAKEN] < F[b + EACH]
        status = iterate(I, F, h, tol, each)
        if status == FAILED and not each:
            undo(I, F, t)
            status = iterate(I, F, h, tol, True)
            F[b + EACH] = S[m.N_TAKEN] + 20.0 if status == CONVERGED else 0.0
        if status == CONVERGED:
            error = local_error(I, F, t, h, bound) / bound if bound < math.inf else 0.0
        if error <= 1.0:
            give(I, F, t, h)
            if not finish(I, F, t + h, h):
                error = math.inf
        if not error <= 1.0:
            S[m.N_REJECT] += 1
            copy(F, own_vector(I, 0), I[D], I[N_U])
            undo(I, F, t)
            least = STEP_SHRINKS
            if error < 1e300:
                least = max(STEP_SHRINKS, STEP_SAFE * error ** (-1.0 / order))
            F[m.H], F[m.ERROR] = h * least, 1.0
            if F[m.H] < F[m.H_MIN]:
                S[m.STATUS] = FAILED
                return
            if error == math.inf and k == 1:
                S[m.STATUS] = REFUSED
                return
            continue
        F[T] = t
        add_time(F, h)
        if last:
            F[T] = F[m.T_END]
        S[m.STEPS_DONE] += 1
        S[m.N_TAKEN] += 1
        while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] <= F[T]:
            record(I, F)
            S[m.N_REACHED] += 1
        keep_record(I, F)
        error = max(error, 1e-8)
        factor = STEP_SAFE * error ** (-0.7 / order) * F[m.ERROR] ** (0.3 / order)
        factor = min(STEP_GROWS, max(STEP_SHRINKS, factor))
        if F[b + SWEEPS] > 0.75 * S[m.MAX_ITER]:
            factor = min(factor, STEP_SAFE)
        F[m.ERROR] = error
        new = h * factor
        if h < F[m.H] and factor >= 1.0:  # shortened for another reason
            new = max(new, F[m.H])
        F[m.H] = min(F[m.H_MAX], new)


# --- the method -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class RadauCollocation:
    r"""Collocation at the points of Radau: order 9 or 5 in positions, velocities and multipliers.

    For smooth motions to many digits: below an error of about 1e-5 it takes a fraction of the work
    of :class:`mbd.GeneralizedAlpha`. Rows are met by their second derivatives at the stages, by
    positions and velocities at the end of a step. Where forces jump within a step, where stops are
    hit or laws of drives jump, no method is of high order; the steps should end there (events).
    Poses in which rows lose rank, as a flat four-bar, are not passed: a run stops there.

    Equations :eq:`collocation` and :eq:`sweep` of the theory page.

    Parameters
    ----------
    stages : {5, 3}
        Stages of a step, of order 9 and 5. Three are cheaper above an error of about 1e-6, and
        where springs are so stiff that the step does not resolve them.
    tol : float [-]
        Steps of one size: what the iteration may leave of velocities, relative to the largest of
        their kind. With ``rtol`` it follows from that.
    max_iterations : int
        Sweeps over the stages of one step.

    References
    ----------
    .. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.8 and VII.4.
       Van der Houwen and de Swart, SIAM J. Sci. Comput. 18 (1997).

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> bob = system.add(mbd.PointMass("bob", mass=1.0, position=(1, 0, 0)))
    >>> rod = system.add(mbd.Distance("rod", system.ground, bob))
    >>> solution = mbd.simulate(system, 1.0, rtol=1e-9, method=mbd.RadauCollocation())
    """

    stages: Literal[3, 5] = 5
    tol: float = 1e-12
    max_iterations: int = 15

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "RadauCollocation"
        whole(who, "stages", self.stages, 1)
        if self.stages not in STAGES:
            raise ValueError(f"{who}: stages must be 5 or 3, got {self.stages}")
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        whole(who, "max_iterations", self.max_iterations, 2)

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return advance

    @property
    def facts(self) -> Facts:
        """What the runs are told of it."""
        order = 2 * self.stages - 1
        return Facts(
            title=f"collocation at {self.stages} points of Radau",
            orders=(order, order),
            error=(radau(self.stages).error, order - 1),
            start=_start,
            own_floats=self._own_floats,
            free=FreeSteps(kernel=choose, first_step=self._first_step, fewest=10),
            failure=_failed,
            sharp={"tol": 1e-14},
        )

    def _own_floats(self, model: FrozenModel) -> int:
        """Return how many numbers the method keeps."""
        return VECTORS + (6 * self.stages + 5) * int(model.I[N_U]) + 2 * model.n_q

    def _first_step(
        self, model: FrozenModel, state: State, allowed: np.ndarray, largest: float
    ) -> float:
        """Return a step in which accelerations change by as much as the order can follow."""
        short = 1e-6 * largest
        rate = np.abs(Nearby(Workspace(model), state).change(short, 1e-4)) / short
        size = np.abs(state.a) + np.abs(state.v) / largest
        time = np.min(size.max(initial=0.0) / np.maximum(rate, 1e-300), initial=largest)
        part = np.min(allowed * largest / model.units, initial=1.0) ** (0.5 / self.stages)
        return float(min(max(part * time, 1e-9 * largest), largest))

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        s, numbers = self.stages, radau(self.stages)
        S[m.MAX_ITER] = self.max_iterations
        S[m.LEVEL], S[m.HISTORY] = m.STABILIZED, 0
        F[m.TOL] = self.tol
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = 0.0, 0.0, 1.0, 1.0
        bodies = model.nodes
        for k, formulation in enumerate(dict.fromkeys(x.formulation for x in bodies.values())):
            flow = family(formulation).flow
            if flow is None:
                name = next(n for n, x in bodies.items() if x.formulation is formulation)
                raise ValueError(
                    f"RadauCollocation: {name!r} is carried by {formulation.name!r}, which does "
                    "not say how increments go along with velocities (flow); use GeneralizedAlpha"
                )
            S[S[m.FLOW] + 2 * k] = flow.address
        b = int(model.I[m.METHOD] + model.I[N_U])
        F[b + ORDER], F[b + GAMMA] = s, numbers.W[0, 0]
        F[b + PASSES] = 1 if all(x.formulation.linear for x in bodies.values()) else 2
        for where, values in ((C, numbers.c), (BACK, numbers.back)):
            F[b + where : b + where + s] = values
        for where, matrix in ((WEIGHTS, numbers.A), (SWEEP, numbers.W)):
            F[b + where : b + where + s * s] = matrix.ravel()


def _start(
    model: FrozenModel, state: State, h: float, continued: bool, saddle: Saddle | None = None
) -> tuple[State, np.ndarray | None]:
    """Return a state whose velocities meet their rows: those of other methods need not."""
    if continued and model.n_lam:
        work = Workspace(model, state)
        _, rates = violations(work)
        if np.abs(rates).max() > 1e-12 * max(1.0, float(np.abs(state.v).max())):
            anywhere = np.zeros(model.n_lam, bool)
            state = consistent(model, state, project="velocities", rows=anywhere)
    return state, None


def _failed(model: FrozenModel, where: str) -> str:
    """Return the message on a step that failed."""
    del model
    return (
        f"the sweeps over the stages did not converge {where}, stages=3, or let steps be chosen "
        "(rtol=1e-6); look at model.report(state) for a singular pose, which rows at the level of "
        "accelerations do not pass: GeneralizedAlpha does"
    )
