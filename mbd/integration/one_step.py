r"""Methods of one step whose stages count increments from its start: what they share.

A step attempted from q_n, v_n leaves the increment D, the velocities V and the accelerations and
multipliers A of its end. There rows and their rates are met by corrections of D and V. A step whose
size is chosen is refused where that fails, or where its error is too large.
"""

import math
from typing import Any

import numpy as np

from mbd.algebra.vec import clear, copy
from mbd.base.tolerances import ERROR_SLOW, ROUND_OFF
from mbd.formulations.families import family
from mbd.integration.adaptive import SHRINKS, add_time, factor_after, factor_refused, next_size
from mbd.integration.consistent import consistent, violations
from mbd.integration.newton_loop import CONVERGED, FAILED, REFUSED, keep_record
from mbd.integration.starting_values import Nearby
from mbd.integration.updates import back_to_start, keep_start, record
from mbd.integration.verdicts import dropped_open
from mbd.linear.onto_rows import once_onto_rows, onto_rows
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace

AT_START, AT_END, AT_BEGIN = 1, 2, 3  # memory that is put aside: of a step, of one in parts
CORRECTIONS = 8  # of the end, most of one or two; a matrix of its own is made for slow ones


# --- compiled: what a method keeps ---------------------------------------------------------------
def kept_vectors(stages: int, numbers: int, kinds: int) -> tuple[Any, Any, Any]:
    """Return functions of (I, F, ...) that say where the numbers and vectors of a method are.

    After vector 0, which FLOW writes, there are so many numbers, the one at `stages` is that of
    stages; then vectors of stages, of so many kinds, (which, i), and others, (which).
    """

    @jit
    def base(I: Any) -> int:
        return own_vector(I, 1)  # type: ignore[no-any-return]

    @jit
    def own(I: Any, F: Any, which: int, i: int) -> int:
        b = base(I)
        return b + numbers + (which * int(F[b + stages]) + i) * I[m.N_U]  # type: ignore[no-any-return]

    @jit
    def other(I: Any, F: Any, which: int) -> int:
        return own(I, F, kinds, which)  # type: ignore[no-any-return]

    return base, own, other


# --- compiled: the ends of a step -----------------------------------------------------------------
@jit
def begin_step(I: Any, F: Any) -> None:
    """Keep the state at the start of a step, and count the increment from it."""
    keep_start(I, F)
    clear(F, I[m.D], I[m.N_U])


@jit
def undo_step(I: Any, F: Any, t: float) -> None:
    """Go back to the start of the step, and forget the last one."""
    evaluation.copy_remembered(I, F, AT_START, 0)
    F[m.T_LAST] = t
    back_to_start(I, F)
    ints(F)[m.HISTORY] = 0
    F[m.T] = t


@jit
def within_tolerance(I: Any, F: Any) -> bool:
    """Tell whether increments D are less than the tolerance of free steps, if they are free."""
    for u in range(I[m.N_U] if F[m.RTOL] < 1e300 else 0):
        k = I[I[m.UNKNOWN_KIND] + u]
        if k < m.FORCE and not abs(F[I[m.D] + u]) <= F[m.RTOL] * F[m.UNIT + k] + F[m.ATOL + k]:
            return False
    return True


@jit
def end_on_rows(
    I: Any, F: Any, t: float, start_q: int, spare: int, most: int, of_end: bool
) -> bool:
    """End a step at D, V, A, moved onto the rows; return whether it meets them.

    Not where rows move positions by more than the tolerance of free steps: a law jumps. By most
    corrections, 0 where there are no rows. F[start_q] is room for coordinates, F[spare] for
    a vector. The matrix, GAP and PHID are those `of_end`, or were evaluated elsewhere since.
    """
    F[m.T] = t
    evaluation.stage(I, F, m.PLACE)
    copy(F, start_q, I[m.QN], I[m.N_Q])
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])  # increments of corrections are those from the end
    clear(F, I[m.D], I[m.N_U])
    met = most == 0 or (of_end and ints(F)[m.N_OFF] == 0 and once_onto_rows(I, F))
    met = met or (onto_rows(I, F, spare, most, True) and not dropped_open(I, F))
    if not (met and within_tolerance(I, F)):
        copy(F, I[m.QN], start_q, I[m.N_Q])
        return False
    copy(F, I[m.AL], I[m.A], I[m.N_U])
    ints(F)[m.HISTORY] = 1
    evaluation.accept_stage(I, F)
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    clear(F, I[m.D], I[m.N_U])
    return True


@jit
def factor_here(I: Any, F: Any, spare: int) -> bool:
    """Factor S at the pose in D, V, A, with T = 1; X becomes S^-1 X. Tell whether it is regular.

    Rows are those of velocities. F[spare] is room for a vector.
    """
    S = ints(F)
    copy(F, spare, I[m.D], I[m.N_U])
    clear(F, I[m.D], I[m.N_U])
    S[m.SMALL_PIVOTS] = 0
    evaluation.linearise(I, F)
    copy(F, I[m.D], spare, I[m.N_U])
    call(S[m.LINEAR], I, F, 1)
    return S[m.SMALL_PIVOTS] == 0  # type: ignore[no-any-return]


@jit
def nearness(I: Any, F: Any, alone: int) -> float:
    r"""Return how near acting rows are to each other at the pose whose matrix is factored.

    The largest of :math:`(B\,\mathrm{diag}(M)^{-1}B^T)_{ii}\,(A_{pp}^{-1})_{ii}`, a square of one
    over their distance: what others of the front and of those before leave of a row. The first
    factor is in F[alone], see ``mbd.model.assembly.rows_by_mass``.
    """
    most = 0.0
    for f in range(I[m.N_FRONTS]):
        j = I[m.FRONTS] + f * m.FR_SIZE
        for k in range(I[j + m.FR_NV], I[j + m.FR_NP]):
            u = I[j + m.FR_U] + k
            if not evaluation.is_off(I, F, u):
                most = max(most, F[alone + u] * abs(F[I[j + m.FR_A] + k * (I[j + m.FR_LDA] + 1)]))
    return most


# --- compiled: sizes ------------------------------------------------------------------------------
@jit
def note_accelerations(I: Any, F: Any, a: int) -> None:
    """Let SCALE be no less than the largest entries of the vector at F[a], by kind."""
    for u in range(I[m.N_U]):
        scale = m.SCALE + I[I[m.UNKNOWN_KIND] + u]
        F[scale] = max(F[scale], abs(F[a + u]))


@jit
def measure_speeds(F: Any, sizes: int) -> None:
    """Write by kind what changes of velocities are compared with, to F[sizes].

    With the largest, SIZE, and with what the accelerations SCALE make of rest: a load may begin
    from zero.
    """
    fastest = 1e-300
    for k in range(m.FORCE):
        unit = F[m.UNIT + k]
        fastest = max(fastest, F[m.SIZE + k] / unit, math.sqrt(F[m.SCALE + k] / unit))
    for k in range(m.FORCE):
        unit = F[m.UNIT + k]
        speed = max(F[m.SIZE + k], math.sqrt(unit * F[m.SCALE + k]), ERROR_SLOW * unit * fastest)
        F[sizes + k] = speed + F[m.ATOL + k] / F[m.RTOL]


@jit
def _next_sign(signs: int) -> int:
    """Return the next of numbers whose bits are as good as tossed coins."""
    return (25173 * signs + 13849) & 0xFFFF


@jit
def shake(I: Any, F: Any, spare: int) -> None:
    """Write to X what the round-off of D, V and A makes of accelerations and multipliers.

    By the factor at hand. Inputs of the residual are changed by theirs, and its entries by as much,
    with signs that come as they may: small inertia among large forces moves by that. F[spare] is
    room for a vector; D, V and A are left changed.
    """
    n, signs = I[m.N_U], 1
    evaluation.evaluate_second_rates(I, F)
    copy(F, spare, I[m.X], n)
    for u in range(n):
        signs = _next_sign(signs)
        part = ROUND_OFF if signs & 0x4000 else -ROUND_OFF
        F[I[m.V] + u] *= 1.0 + part
        F[I[m.A] + u] *= 1.0 + part
        if is_velocity(I, u):
            F[I[m.D] + u] += part * F[m.UNIT + I[I[m.UNKNOWN_KIND] + u]]
    evaluation.evaluate_second_rates(I, F)
    signs = 1
    for u in range(n):
        signs = _next_sign(signs)
        change = abs(F[I[m.X] + u] - F[spare + u])
        F[I[m.X] + u] = change if signs & 0x2000 else -change
    call(ints(F)[m.LINEAR], I, F, 0)


# --- compiled: steps whose size is chosen ---------------------------------------------------------
def choosing(attempt: Any, give: Any, finish: Any, order: Any, most: Any, verdict: Any) -> Any:
    """Return the kernel of free steps, from functions of (I, F, ...).

    Parameters
    ----------
    attempt : (I, F, t, h) -> float
        Take the stages of a step; return its error, in units of what is allowed, or infinity.
    give : (I, F, t, h) -> None
        Record the states at requested times before the end of the step.
    finish : (I, F, t, h) -> bool
        End the step of size h at the time t; return whether rows are met.
    order : (I, F) -> float
        Power of h of the error.
    most : (I, F) -> float
        Largest factor of the step after this one.
    verdict : (I, F) -> int
        What ends the piece of a run after a step that is well: WORN, STIFF, or nothing, CONVERGED.
    """

    @loop
    @flushing
    def choose(I: Any, F: Any, k: int) -> None:
        """Take up to S[N_STEPS] steps, none beyond F[T_END]; F[H] is left for the next one.

        k = 1 returns where stages or rows are not met, with the last increment in vector 0. In
        loops a step that was refused and then taken ends the piece: rows may lose rank ahead.
        """
        S, refused = ints(F), False
        S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
        evaluation.note_rates(I, F)
        power = order(I, F)
        while S[m.STEPS_DONE] < S[m.N_STEPS] and F[m.T] < F[m.T_END]:
            t, h = F[m.T], next_size(I, F)
            if h == 0.0 or S[m.N_RECORDED] + 2 > S[m.CAPACITY]:
                return
            last = h == F[m.T_END] - t
            error = attempt(I, F, t, h)
            if error <= 1.0:
                give(I, F, t, h)
                if not finish(I, F, t + h, h):
                    error = math.inf
            if not error <= 1.0:
                S[m.N_REJECT] += 1
                refused = I[m.LOOPS] > 0
                copy(F, own_vector(I, 0), I[m.D], I[m.N_U])
                undo_step(I, F, t)
                F[m.H], F[m.ERROR] = (
                    h * (factor_refused(error, power) if error < 1e300 else SHRINKS),
                    1.0,
                )
                if F[m.H] < F[m.H_MIN]:
                    S[m.STATUS] = FAILED
                    return
                if error == math.inf and k == 1:
                    S[m.STATUS] = REFUSED
                    return
                continue
            F[m.T] = t
            add_time(F, h)
            if last:
                F[m.T] = F[m.T_END]
            S[m.STEPS_DONE] += 1
            S[m.N_TAKEN] += 1
            while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] <= F[m.T]:
                record(I, F)
                S[m.N_REACHED] += 1
            keep_record(I, F)
            factor = factor_after(F, error, -0.7 / power, 0.3 / power)
            factor = min(factor, most(I, F))
            new = h * factor
            if h < F[m.H] and factor >= 1.0:  # shortened for another reason
                new = max(new, F[m.H])
            F[m.H] = min(F[m.H_MAX], new)
            S[m.STATUS] = verdict(I, F)
            if refused or S[m.STATUS] != CONVERGED:
                return

    return choose


@jit
def go_on(I: Any, F: Any) -> int:
    """Return that nothing but a step that fails ends the piece of a run."""
    return CONVERGED


# --- what methods declare -------------------------------------------------------------------------
def on_rates(
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


def first_step(near: Nearby, allowed: np.ndarray, largest: float, order: int) -> np.ndarray:
    """Return steps (...,) in which accelerations change by as much as the order can follow."""
    short, state = 1e-6 * largest, near.state
    rate = np.abs(near.change(short, 1e-4)) / short
    size = (np.abs(state.a) + np.abs(state.v) / largest).max(-1, keepdims=True, initial=0.0)
    least = np.maximum(size / largest, 1e-300)  # with which it would be `largest`
    time = np.min(size / np.maximum(rate, least), axis=-1, initial=largest)
    part = np.min(allowed * largest / near.work.units, axis=-1, initial=1.0)
    steps = np.power(np.atleast_1d(part), 1.0 / order).reshape(time.shape) * time
    return np.minimum(np.fmax(steps, 1e-9 * largest), largest)  # the smallest where it is no number


def set_flows(who: str, model: FrozenModel, S: np.ndarray) -> None:
    """Let the stage FLOW write the rates of increments; refuse bodies that do not say them."""
    bodies = model.nodes
    for k, formulation in enumerate(dict.fromkeys(x.formulation for x in bodies.values())):
        flow = family(formulation).flow
        if flow is None:
            name = next(n for n, x in bodies.items() if x.formulation is formulation)
            raise ValueError(
                f"{who}: {name!r} is carried by {formulation.name!r}, which does "
                "not say how increments go along with velocities (flow); use GeneralizedAlpha"
            )
        S[S[m.FLOW] + 2 * k] = flow.address
