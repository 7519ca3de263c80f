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
   S = \begin{bmatrix} M + h\gamma G + h^2\gamma^2 K & B^T \\ B & 0 \end{bmatrix}, \qquad
   \delta v_i = \delta v_i^0 + h\gamma\,\delta\dot v_i ,

S that of :math:`t_n`; a step that fails takes one of each stage instead, then smaller steps.

The error of a step that is chosen is that of order s,
:math:`h\gamma\, S^{-1}(r(q_n, v_n, \dot v^*, \lambda^*); 0)` with the stages extrapolated back to
:math:`t_n`; its power 2s/(s + 1) is held to the share of the step in the tolerance, where forces
are not smooth the error itself. States within a step are those of the polynomial of
:math:`\dot v, \lambda` through :math:`t_n` and the stages and of its integrals, moved onto the
rows.

References
----------
.. [1] Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.8, VII.4, VII.5.
   Van der Houwen and de Swart, SIAM J. Sci. Comput. 18 (1997): triangular sweeps.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from mbd.algebra.radau_points import STAGES, cardinal, integral, radau
from mbd.algebra.vec import add, clear, copy
from mbd.base.checked import whole
from mbd.base.door import number
from mbd.base.tolerances import COLLOCATION_STRICT, HALVED, SWEEP_SHARE
from mbd.integration.adaptive import GROWS, SAFE, share_of_step
from mbd.integration.method import Facts, FreeSteps, once
from mbd.integration.newton_loop import CONVERGED, FAILED, keep_record, next_time
from mbd.integration.one_step import (
    AT_BEGIN,
    choosing,
    first_step,
    go_on,
    on_rates,
    set_flows,
    undo_step,
)
from mbd.integration.radau_sweeps import (
    ACC,
    BACK,
    BEGIN_A,
    BEGIN_V,
    EACH,
    GAMMA,
    ORDER,
    PASSES,
    RATE,
    ROUGH,
    SPARE,
    START_Q,
    SWEEP,
    SWEEPS,
    VECTORS,
    WEIGHTS,
    C,
    base,
    finish,
    is_rough,
    iterate,
    local_error,
    other,
    own,
)  # fmt: skip
from mbd.integration.updates import record
from mbd.linear.onto_rows import onto_rows
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.model.evaluation import copy_remembered, note_rates
from mbd.model.frozen import FrozenModel
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
        undo_step(I, F, t)
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
    for _ in range(1 if leave else 1 + HALVED):
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


@jit
def attempt(I: Any, F: Any, t: float, h: float) -> float:
    """Find the stages of a step; return its error, in units of what is allowed, or infinity."""
    S, b = ints(F), base(I)
    tol, allowed, bound = F[m.TOL], math.inf, math.inf
    if F[m.RTOL] < 1e300:
        allowed = F[m.RTOL] * share_of_step(F, h, t)
        tol = SWEEP_SHARE * allowed
        bound = COLLOCATION_STRICT * allowed ** (0.5 * order(I, F) / F[b + ORDER])
        if t < F[b + ROUGH]:
            bound = min(bound, allowed)
    each = S[m.N_TAKEN] < F[b + EACH]
    status = iterate(I, F, h, tol, each)
    if status == FAILED and not each:
        undo_step(I, F, t)
        status = iterate(I, F, h, tol, True)
        F[b + EACH] = S[m.N_TAKEN] + 20.0 if status == CONVERGED else 0.0
    if status != CONVERGED:
        return math.inf
    if bound == math.inf:
        return 0.0
    error = local_error(I, F, t, h, bound)
    return error / min(bound, allowed if is_rough(I, F, t, h, error, allowed) else bound)


@jit
def order(I: Any, F: Any) -> float:
    """Return the order of the estimate."""
    return F[base(I) + ORDER] + 1.0  # type: ignore[no-any-return]


@jit
def most(I: Any, F: Any) -> float:
    """Return how much larger the next step may be: no larger where sweeps are slow."""
    return SAFE if F[base(I) + SWEEPS] > 0.75 * ints(F)[m.MAX_ITER] else GROWS


choose = choosing(attempt, give, finish, order, most, go_on)


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
    fewest : int
        With ``rtol``: as many steps at least, if ``max_step`` is not given.

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
    fewest: int = 10

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "RadauCollocation"
        whole(who, "stages", self.stages, 1)
        if self.stages not in STAGES:
            raise ValueError(f"{who}: stages must be 5 or 3, got {self.stages}")
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        whole(who, "max_iterations", self.max_iterations, 2)
        whole(who, "fewest", self.fewest, 1)

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return advance

    @property
    @once
    def facts(self) -> Facts:
        """Facts for runs."""
        order = 2 * self.stages - 1
        return Facts(
            title=f"collocation at {self.stages} points of Radau",
            orders=(order, order),
            error=(radau(self.stages).error, order - 1),
            start=on_rates,
            own_floats=self._own_floats,
            free=FreeSteps(
                kernel=choose,
                first_step=partial(first_step, order=2 * self.stages),
                fewest=self.fewest,
            ),
            failure=_failed,
            sharp={"tol": 1e-14},
        )

    def _own_floats(self, model: FrozenModel) -> int:
        """Return how many numbers the method keeps."""
        return VECTORS + (6 * self.stages + 5) * int(model.I[N_U]) + 2 * model.n_q

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        s, numbers = self.stages, radau(self.stages)
        S[m.MAX_ITER] = self.max_iterations
        S[m.LEVEL], S[m.HISTORY] = m.STABILIZED, 0
        F[m.TOL] = self.tol
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = 0.0, 0.0, 1.0, 1.0
        set_flows("RadauCollocation", model, S)
        b = int(model.I[m.METHOD] + model.I[N_U])
        F[b + ORDER], F[b + GAMMA] = s, numbers.W[0, 0]
        F[b + PASSES] = 1 if all(x.formulation.linear for x in model.nodes.values()) else 2
        for where, values in ((C, numbers.c), (BACK, numbers.back)):
            F[b + where : b + where + s] = values
        for where, matrix in ((WEIGHTS, numbers.A), (SWEEP, numbers.W)):
            F[b + where : b + where + s * s] = matrix.ravel()


def _failed(work: Workspace, where: str) -> str:
    """Return the message on a step that failed."""
    del work
    return (
        f"the sweeps over the stages did not converge {where}, stages=3, or let steps be chosen "
        "(rtol=1e-6); look at model.report(state) for a singular pose, which rows at the level of "
        "accelerations do not pass: GeneralizedAlpha does"
    )
