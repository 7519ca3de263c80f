r"""Explicit Runge-Kutta methods on manifolds, joints included.

In coordinates of the first kind :math:`\Delta` about q_n the motion is a plain differential
equation, of which a method of order p keeps its order (Munthe-Kaas),

.. math::
   \dot\Delta = T^{-1}(\Delta)\,v, \qquad \dot v = f(q_n \boxplus \Delta, v, t), \qquad
   \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}
   \begin{bmatrix} \dot v \\ \lambda \end{bmatrix} + \dots = 0: \quad
   r(q, v, \dot v, \lambda, t) = 0, \quad \ddot\Phi(q, v, \dot v, t) = 0 .

One step with the weights :math:`a_{ij}, b_j` (``mbd.integration.explicit_tableaus.py``), its stages
those with :math:`R_j = T^{-1}(\Delta_j)\,v_j`:

.. math::
   \Delta_i = h\sum_{j<i} a_{ij} R_j, \qquad v_i = v_n + h\sum_{j<i} a_{ij}\dot v_j, \qquad
   t_i = t_n + c_i h .

The accelerations and multipliers of the end are those of the first stage of the next step. They are
a smooth function of (q, v, t), and so of the same order. By the matrix of the end, q and v are
moved onto :math:`\Phi = 0, \dot\Phi = 0`, which changes them by :math:`O(h^{p+1})`: the order
stays (Hairer, Lubich and Wanner, IV.4). Rows that depend on others do not act (``acting_rows``):
off the manifold accelerations would be no smooth function.

Where velocities have inertial components (``so3``), `LieRungeKutta4` sums what the body itself
feels, by the stage CONVECT; without kernels in it, sums are those of the components of v.

The error of a step that is chosen is that of the embedded estimate, by the units of increments and
the speeds of their kinds; it is held to the share of the step in the tolerance.

References
----------
.. [1] Munthe-Kaas, High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29 (1999).
   Hairer, Noersett and Wanner, Solving Ordinary Differential Equations I, sections II.4 to II.6.
   Hairer, Lubich and Wanner, Geometric Numerical Integration, section IV.4.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from mbd.algebra.vec import add, clear, copy, larger
from mbd.base import tolerances
from mbd.base.checked import one_of
from mbd.integration import newton_loop, one_step
from mbd.integration.adaptive import share_of_step
from mbd.integration.compiled_steps import nothing, step_loop
from mbd.integration.explicit_tableaus import TABLEAUS, Tableau, tableau
from mbd.integration.method import Facts, FreeSteps, once, says
from mbd.integration.radau_collocation import RadauCollocation
from mbd.integration.updates import record
from mbd.linear.onto_rows import onto_rows
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model.evaluation import accept_stage, copy_remembered, evaluate_second_rates, stage
from mbd.model.frozen import FrozenModel

# numbers of the method: s, all stages, degree within a step, power of the estimate, corrections
# onto rows, nearness of rows (at first, where they were chosen, now); largest h|rho| that is stable
# (infinite: not asked for), whether the step is stiff, such steps and others in a row; whether what
# was evaluated last is the end of the step; whether angles are counted from stage to stage; sizes
# by kind; then tables of 16 columns from 32 on, and vectors over the unknowns
STAGES, ALL, DEGREE, POWER, MOST_CORRECTIONS, FIRST_NEAR, NEAR, NOW_NEAR = range(8)
STABLE, STIFF_STEP, STREAK, EASY, OF_END, TURNING, SIZES = range(8, 15)
WIDTH = 16
C, ERRORS, WEIGHTS, POWERS = 2 * WIDTH, 3 * WIDTH, 5 * WIDTH, 21 * WIDTH  # POWERS: by power of x
VECTORS = 28 * WIDTH
# of each stage: v' and lam, rate of the increment; after them room, sizes of rows by mass, and
# coordinates of a start
ACC, RATE, SPARE, ALONE, START_Q = 0, 1, 0, 3, 4
base, own, other = one_step.kept_vectors(ALL, VECTORS, RATE + 1)


# --- stages ---------------------------------------------------------------------------------------
@jit
def accelerate(I: Any, F: Any) -> bool:
    """Correct v', lam at q_n [+] D, V, and factor there; tell whether they are numbers."""
    evaluate_second_rates(I, F)
    good = one_step.factor_here(I, F, other(I, F, SPARE))
    for i in range(I[m.N_U]):
        F[I[m.A] + i] -= F[I[m.X] + i]
        good = good and abs(F[I[m.X] + i]) < math.inf
    return good


@jit
def take_stage(I: Any, F: Any, i: int, t: float, h: float) -> bool:
    """Go to stage i and keep its rates; tell whether they are numbers."""
    b, n = base(I), I[m.N_U]
    clear(F, I[m.D], n)
    copy(F, I[m.V], I[m.VN], n)
    for j in range(i):
        weight = h * F[b + WEIGHTS + WIDTH * i + j]
        if weight != 0.0:
            add(F, I[m.D], weight, own(I, F, RATE, j), n)
            add(F, I[m.V], weight, own(I, F, ACC, j), n)
    F[m.WAY] = 1.0
    stage(I, F, m.CONVECT)
    F[m.T] = t
    if not accelerate(I, F):
        return False
    if F[b + TURNING] > 0.0 or i == int(F[b + STAGES]):
        accept_stage(I, F)
    if i == int(F[b + STAGES]):
        copy(F, I[m.AL], I[m.A], n)
    stage(I, F, m.FLOW)
    copy(F, own(I, F, RATE, i), own_vector(I, 0), n)
    F[m.WAY] = -1.0
    stage(I, F, m.CONVECT)
    copy(F, own(I, F, ACC, i), I[m.A], n)
    return True


@jit
def turning(I: Any, F: Any, h: float) -> float:
    """Return whether angles turn by as much in a step as they may be unsure of (1.0), or not."""
    for i in range(I[m.N_MEMORY]):
        if not abs(F[I[m.TURN_RATES] + i]) * h <= 0.5 * tolerances.TURN_UNSURE:
            return 1.0
    return 0.0


@jit
def take_stages(I: Any, F: Any, end: float, h: float) -> bool:
    """Take the stages of a step from the present state, up to its end, which D, V, A then are."""
    S, b, n, t = ints(F), base(I), I[m.N_U], F[m.T]
    s = int(F[b + STAGES])
    copy_remembered(I, F, 0, one_step.AT_START)
    F[m.T_STEP], F[m.T_LAST], F[m.UNSURE] = t, t, 0.0
    F[b + TURNING] = turning(I, F, h)
    one_step.begin_step(I, F)
    newton_loop.measure_speed(I, F)
    if S[m.HISTORY]:  # the end of the step before
        copy(F, own(I, F, ACC, 0), I[m.A], n)
        copy(F, own(I, F, RATE, 0), I[m.V], n)
    elif not take_stage(I, F, 0, t, h):
        return False
    newton_loop.measure_place(I, F)
    for i in range(1, s + 1):
        if not take_stage(I, F, i, end if i == s else t + h * F[b + C + i], h):
            return False
    copy(F, I[m.A], I[m.AL], n)
    if F[m.UNSURE] > tolerances.TURN_UNSURE:
        return False
    F[m.UNSURE] = 0.0
    F[b + OF_END] = 1.0
    return I[m.LOOPS] == 0 or not lost(I, F)


@jit
def round_off(I: Any, F: Any) -> None:
    """Write to X what the round-off of the end makes of its accelerations."""
    F[base(I) + OF_END] = 0.0
    n, end_v, end_d = I[m.N_U], other(I, F, SPARE + 1), other(I, F, SPARE + 2)
    copy(F, end_v, I[m.V], n)
    copy(F, end_d, I[m.D], n)
    one_step.shake(I, F, other(I, F, SPARE))
    copy(F, I[m.V], end_v, n)
    copy(F, I[m.D], end_d, n)
    copy(F, I[m.A], I[m.AL], n)


@jit
def lost(I: Any, F: Any) -> bool:
    """Tell whether the accelerations of the end have lost half of their digits, at a singular pose.

    Asked where rows are nearer to each other than at first by as much as lets others be chosen.
    """
    b, n = base(I), I[m.N_U]
    F[b + NOW_NEAR] = one_step.nearness(I, F, other(I, F, ALONE))
    if F[b + FIRST_NEAR] == 0.0:
        F[b + FIRST_NEAR] = F[b + NOW_NEAR]
    if F[b + NOW_NEAR] * tolerances.RANK_STAYS**2 <= F[b + FIRST_NEAR]:
        return False
    round_off(I, F)
    for k in range(m.N_UNKNOWN_KINDS):
        F[m.SCALE + k] = 0.0
    one_step.note_accelerations(I, F, I[m.A])
    for u in range(n):
        allowed = math.sqrt(tolerances.ROUND_OFF) * F[m.SCALE + I[I[m.UNKNOWN_KIND] + u]]
        if is_velocity(I, u) and abs(F[I[m.X] + u]) > allowed:
            return True
    return False


@jit
def worn(I: Any, F: Any) -> int:
    """Return WORN where other acting rows might be better by far; these count as new then."""
    b = base(I)
    if I[m.LOOPS] == 0:
        return newton_loop.CONVERGED  # type: ignore[no-any-return]
    if F[b + NEAR] == 0.0:
        F[b + NEAR] = F[b + NOW_NEAR]
    if F[b + NOW_NEAR] * tolerances.RANK_STAYS**2 <= F[b + NEAR]:
        return newton_loop.CONVERGED  # type: ignore[no-any-return]
    F[b + NEAR] = 0.0
    return newton_loop.WORN


@jit
def verdict(I: Any, F: Any) -> int:
    """Return STIFF after 15 steps that are stiff, never 6 others in a row between."""
    b = base(I)
    if F[b + STIFF_STEP] > 0.0:
        F[b + STREAK] += 1.0
        F[b + EASY] = 0.0
        if F[b + STREAK] >= tolerances.STIFF_STEPS[0]:
            return newton_loop.STIFF
    else:
        F[b + EASY] += 1.0
        if F[b + EASY] >= tolerances.STIFF_STEPS[1]:
            F[b + STREAK] = 0.0
    return worn(I, F)  # type: ignore[no-any-return]


@jit
def finish(I: Any, F: Any, t: float, h: float) -> bool:
    """End the step, on the rows; return whether it meets them."""
    b, start_q, spare = base(I), other(I, F, START_Q), other(I, F, SPARE)
    most, of_end = int(F[b + MOST_CORRECTIONS]), F[b + OF_END] > 0.0
    return one_step.end_on_rows(I, F, t, start_q, spare, most, of_end)  # type: ignore[no-any-return]


# --- steps of one size ----------------------------------------------------------------------------
@jit
def set_level(F: Any) -> None:
    """Let stages be evaluated with M and B alone, and rows met by rates of their own."""
    F[m.W_M], F[m.W_G], F[m.W_K], F[m.SCALE_R] = 1.0, 0.0, 0.0, 1.0
    F[m.ROW_TURN], F[m.POSITION_TURN], F[m.ROW_RATE] = 0.0, 0.0, 1.0


def explicit(
    step: Callable[..., Any], back: Callable[..., Any], verdict: Callable[..., Any],
    begin: Callable[..., Any] = nothing,
) -> Any:  # fmt: skip
    """Return the kernel that takes explicit steps; what is passed is that of `step_loop`.

    A step tells whether it went well, and begin is left out where a piece of a run goes on from the
    one before.
    """

    @jit
    def begin_piece(I: Any, F: Any) -> None:
        set_level(F)
        if not ints(F)[m.HISTORY]:
            begin(I, F)

    @jit
    def timed(I: Any, F: Any, t: float) -> int:
        if not step(I, F, t):
            return newton_loop.FAILED  # type: ignore[no-any-return]
        F[m.T] = newton_loop.next_time(I, F)
        return newton_loop.CONVERGED  # type: ignore[no-any-return]

    return step_loop(begin_piece, timed, back, verdict)


@jit
def _step(I: Any, F: Any, t: float) -> bool:
    """Take one step from t."""
    end = newton_loop.next_time(I, F)
    return take_stages(I, F, end, F[m.H]) and finish(I, F, end, F[m.H])


@jit
def _back(I: Any, F: Any) -> None:
    """Return to the start of the step."""
    one_step.undo_step(I, F, F[m.T_STEP])


advance = explicit(_step, _back, worn)


# --- steps that are chosen, states within steps ---------------------------------------------------
@jit
def combined(error: float, lower: float) -> float:
    """Return the estimate of two that counts."""
    if error == 0.0:
        return 0.0
    return error * error / math.sqrt(error * error + 0.01 * lower * lower)


@jit
def local_error(I: Any, F: Any, h: float, allowed: float) -> float:
    r"""Return the error of the step, of increments by their units and velocities by their speeds.

    Note whether the step is stiff: whether :math:`h|\rho|` of the last two stages, both at the end
    of the step, is at the bound of stability; or whether the step covers less of the accelerations
    and increments than one of its order does of a smooth motion, and one of twice the size would
    not do.

    The error of velocities is none where it is more than allowed and round-off of their
    accelerations is as large, but near a singular pose.
    """
    b, sizes = base(I), base(I) + SIZES
    last = int(F[b + STAGES]) + 1
    for k in range(m.N_UNKNOWN_KINDS):
        F[m.SCALE + k] = 0.0
    for i in range(last):
        one_step.note_accelerations(I, F, own(I, F, ACC, i))
    newton_loop.measure_speed(I, F)
    one_step.measure_speeds(F, sizes)
    way, way_lower, change, change_lower, moved, driven = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    covers, power = 0.0, 1.0 / max(F[b + POWER], 1.0)
    for u in range(I[m.N_U]):
        if is_velocity(I, u):
            k = I[I[m.UNKNOWN_KIND] + u]
            far, far_lower, fast, fast_lower, apart, faster = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(last):
                e, e_lower = F[b + ERRORS + i], F[b + ERRORS + WIDTH + i]
                rate, a = F[own(I, F, RATE, i) + u], F[own(I, F, ACC, i) + u]
                far += e * rate
                far_lower += e_lower * rate
                fast += e * a
                fast_lower += e_lower * a
                at = b + WEIGHTS + WIDTH * (last - 1) + i
                apart += (F[at] - F[at - WIDTH]) * rate
                faster += (F[at] - F[at - WIDTH]) * a
            jerk = F[own(I, F, ACC, last - 1) + u] - F[own(I, F, ACC, last - 2) + u]
            of_speed = (h * h * faster / F[m.UNIT + k]) ** 2
            moved += of_speed + (h * apart / F[m.UNIT + k]) ** 2
            driven += of_speed + (h * h * jerk / F[m.UNIT + k]) ** 2
            swing = abs(F[own(I, F, ACC, last - 1) + u] - F[own(I, F, ACC, 0) + u])
            covers = max(covers, abs(F[I[m.D] + u]) / F[m.UNIT + k])
            covers = max(covers, swing / max(F[m.SCALE + k], 1e-300))
            unit = (F[m.UNIT + k] + F[m.ATOL + k] / F[m.RTOL]) / h
            way = larger(way, abs(far) / unit)
            way_lower = larger(way_lower, abs(far_lower) / unit)
            speed = F[sizes + k] / h
            change = larger(change, abs(fast) / speed)
            change_lower = larger(change_lower, abs(fast_lower) / speed)
    error = combined(larger(way, change), larger(way_lower, change_lower))
    at_bound = moved > 0.0 and driven > F[b + STABLE] ** 2 * moved
    short = covers < tolerances.STIFF_COVERS * allowed**power and (error / allowed) ** power > 0.5
    F[b + STIFF_STEP] = 1.0 if F[b + STABLE] < math.inf and (at_bound or short) else 0.0
    if error <= allowed or F[b + NOW_NEAR] * tolerances.RANK_STAYS**2 > F[b + FIRST_NEAR]:
        return error  # type: ignore[no-any-return]
    round_off(I, F)
    noise = 0.0
    for u in range(I[m.N_U]):
        if is_velocity(I, u):
            noise = max(noise, h * abs(F[I[m.X] + u]) / F[sizes + I[I[m.UNKNOWN_KIND] + u]])
    parts = 1.0
    for i in range(last):
        parts += abs(F[b + ERRORS + i])
    if change <= parts * noise:
        error = combined(way, way_lower)
    return error  # type: ignore[no-any-return]


@jit
def attempt(I: Any, F: Any, t: float, h: float) -> float:
    """Take the stages of a step; return its error, in units of what is allowed, or infinity."""
    set_level(F)
    if not take_stages(I, F, t + h, h):
        return math.inf
    if F[m.RTOL] < 1e300:
        allowed = F[m.RTOL] * share_of_step(F, h, t)
        return local_error(I, F, h, allowed) / allowed  # type: ignore[no-any-return]
    return 0.0


@jit
def go_within(I: Any, F: Any, t: float, h: float, x: float) -> None:
    """Go to the state x h after the start of the step, by the polynomial of its stages."""
    b, n = base(I), I[m.N_U]
    clear(F, I[m.D], n)
    copy(F, I[m.V], I[m.VN], n)
    for i in range(int(F[b + ALL])):
        weight = 0.0
        for k in range(int(F[b + DEGREE]) - 1, -1, -1):
            weight = x * (weight + F[b + POWERS + WIDTH * k + i])
        add(F, I[m.D], h * weight, own(I, F, RATE, i), n)
        add(F, I[m.V], h * weight, own(I, F, ACC, i), n)
    F[m.T] = t + x * h
    F[m.WAY] = 1.0
    stage(I, F, m.CONVECT)


@jit
def give(I: Any, F: Any, t: float, h: float) -> None:
    """Record the states at requested times before the end of the step."""
    S, b, n = ints(F), base(I), I[m.N_U]
    if S[m.N_REACHED] == S[m.N_OUTPUT] or F[S[m.OUTPUT] + S[m.N_REACHED]] >= t + h:
        return
    end_v, end_d = other(I, F, SPARE + 1), other(I, F, SPARE + 2)
    copy(F, end_v, I[m.V], n)
    copy(F, end_d, I[m.D], n)
    copy_remembered(I, F, 0, one_step.AT_END)
    F[b + OF_END] = 0.0
    for i in range(int(F[b + STAGES]) + 1, int(F[b + ALL])):
        take_stage(I, F, i, t + h * F[b + C + i], h)
    copy_remembered(I, F, one_step.AT_START, 0)
    F[m.T_LAST] = t
    while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] < t + h:
        go_within(I, F, t, h, (F[S[m.OUTPUT] + S[m.N_REACHED]] - t) / h)
        if accelerate(I, F):
            onto_rows(I, F, other(I, F, SPARE), 4, False)
        F[m.T] = F[S[m.OUTPUT] + S[m.N_REACHED]]
        record(I, F)
        S[m.N_REACHED] += 1
    copy_remembered(I, F, one_step.AT_END, 0)
    F[m.T_LAST] = F[m.T] = t + h
    copy(F, I[m.V], end_v, n)
    copy(F, I[m.D], end_d, n)
    copy(F, I[m.A], I[m.AL], n)


@jit
def power(I: Any, F: Any) -> float:
    """Return the power of h of the estimate."""
    return max(F[base(I) + POWER], 1.0)  # type: ignore[no-any-return]


@jit
def most(I: Any, F: Any) -> float:
    """Return that the next step may be as large as its error lets it."""
    return math.inf


choose = one_step.choosing(attempt, give, finish, power, most, verdict)


# --- the method -----------------------------------------------------------------------------------
def own_floats(numbers: Tableau, model: FrozenModel) -> int:
    """Return how many numbers a method keeps of its own."""
    vectors = 1 + (RATE + 1) * len(numbers.c) + START_Q
    return VECTORS + vectors * int(model.I[m.N_U]) + model.n_q


def write_numbers(numbers: Tableau, model: FrozenModel, F: np.ndarray) -> None:
    """Write the tables of a method where the kernel finds them."""
    b, n = int(model.I[m.METHOD] + model.I[m.N_U]), len(numbers.c)
    F[b + STAGES], F[b + ALL] = numbers.stages, n
    F[b + DEGREE], F[b + POWER] = numbers.P.shape[1], numbers.estimate
    F[b + STABLE] = np.inf
    F[b + MOST_CORRECTIONS] = one_step.CORRECTIONS if model.n_lam else 0
    F[b + C : b + C + n] = numbers.c
    for to, table in ((ERRORS, numbers.errors), (WEIGHTS, numbers.A), (POWERS, numbers.P.T)):
        for i, row in enumerate(table):
            F[b + to + WIDTH * i : b + to + WIDTH * i + n] = row
    if model.I[m.LOOPS]:
        from mbd.model.assembly import rows_by_mass  # scipy.sparse, which most runs do not need

        alone = rows_by_mass(model)
        at = b + VECTORS + ((RATE + 1) * n + ALONE) * len(alone)  # `other`
        F[at : at + len(alone)] = alone


_failed = says(
    "the explicit step failed {where}, or RadauCollocation where springs are stiff; look at "
    "model.report(state) for a singular pose, which rows at the level of accelerations do not "
    "pass: GeneralizedAlpha does"
)


def facts_of(numbers: Tableau, title: str, **more: Any) -> Facts:
    """Return what the runs are told of a method."""
    p = numbers.order
    return Facts(
        title=title, orders=(p, p), error=(1 / math.factorial(p + 1), p - 1),
        own_floats=partial(own_floats, numbers), failure=_failed, **more,
    )  # fmt: skip


@dataclass(frozen=True)
class ExplicitRungeKutta:
    r"""Explicit Runge-Kutta method of order 8, 5 or 4 in positions, velocities and multipliers.

    For small smooth mechanisms, joints included: no iteration, one factorisation a stage. Rows are
    met by their second derivatives at the stages, by positions and velocities at the end of a step.
    The step must resolve the highest frequency; stiff springs and dampers make it small, where
    :class:`mbd.RadauCollocation` goes on with steps of the motion. Where forces jump within a step
    no method is of high order; the steps should end there (events).

    Equation :eq:`explicitrk` of the theory page.

    Parameters
    ----------
    tableau : {"dop853", "tsit5", "rk4"}
        "dop853": order 8 by Dormand and Prince, twelve stages, the least work at all but the
        coarsest tolerances [1]_. "tsit5": order 5 by Tsitouras, six stages [2]_. "rk4": the
        classical method of order 4, with steps of one size only.
    stiff : {"stay", "radau"}
        With ``rtol``, where steps are stiff, fifteen with few others: "radau" lets
        ``RadauCollocation(stages=3)`` go on from there, in the same run; its message says when.
        Only of "dop853".

    References
    ----------
    .. [1] Hairer, Noersett and Wanner, Solving Ordinary Differential Equations I, section II.5.
    .. [2] Tsitouras, Comput. Math. Appl. 62 (2011).

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> bob = system.add(mbd.PointMass("bob", mass=1.0, position=(1, 0, 0)))
    >>> rod = system.add(mbd.Distance("rod", system.ground, bob))
    >>> solution = mbd.simulate(system, 1.0, rtol=1e-9, method=mbd.ExplicitRungeKutta())
    """

    tableau: Literal["dop853", "tsit5", "rk4"] = "dop853"
    stiff: Literal["stay", "radau"] = "stay"

    kernel: ClassVar[Any] = advance  #: the compiled loop over steps

    def __post_init__(self) -> None:
        """Check the options."""
        one_of("ExplicitRungeKutta", "tableau", self.tableau, TABLEAUS)
        one_of("ExplicitRungeKutta", "stiff", self.stiff, ("stay", "radau"))
        if self.stiff == "radau" and self.tableau != "dop853":
            raise ValueError(
                "ExplicitRungeKutta: stiff='radau' needs tableau='dop853', whose last stages tell "
                f"how stiff a motion is, got {self.tableau!r}"
            )

    @property
    @once
    def facts(self) -> Facts:
        """Facts for runs."""
        numbers = tableau(self.tableau)
        free = FreeSteps(
            kernel=choose, first_step=partial(one_step.first_step, order=numbers.order), fewest=10,
            check=self._check,
        )  # fmt: skip
        return facts_of(
            numbers, f"explicit Runge-Kutta, {self.tableau}", start=one_step.on_rates, free=free,
            handed_to=RadauCollocation(stages=3) if self.stiff == "radau" else None,
        )  # fmt: skip

    def _check(self, model: FrozenModel, chosen: bool) -> None:
        """Refuse steps within a tolerance where there is no estimate of their errors."""
        del model
        if chosen and not tableau(self.tableau).estimate:
            raise ValueError(
                f"ExplicitRungeKutta: tableau={self.tableau!r} has no estimate of errors; give a "
                "step without rtol, or take 'dop853' or 'tsit5'"
            )

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        S[m.LEVEL], S[m.HISTORY], S[m.CONVECT + 1] = m.STABILIZED, 0, 0
        one_step.set_flows("ExplicitRungeKutta", model, S)
        write_numbers(tableau(self.tableau), model, F)
        if self.stiff == "radau":
            F[int(model.I[m.METHOD] + model.I[m.N_U]) + STABLE] = tolerances.STIFF_STABLE
