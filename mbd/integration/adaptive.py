r"""Generalized-alpha with steps of its own choice, and states at requested times.

The error of one step of size h, along the manifold, is that of the Taylor series,

.. math:: e_q = (\tfrac16 - \beta - \tfrac12\Delta_\alpha)\, h^3 \ddot v, \qquad
          e_v = c_v\, h^3 \dddot v, \qquad \Delta_\alpha = \alpha_m - \alpha_f,

with the differences of the accelerations, :math:`h\ddot v \approx \dot v_{n+1} - \dot v_n`.
Positions count each for itself, by the length of the model or one radian. An error of velocities
counts by the energy that it brings, against the largest so far; or by the way that it makes in the
time T of the run, where that is less:

.. math:: e = \max\Bigl( \frac{|e_{q,i}|}{\ell_i},\; \min\Bigl( \frac{|v^T M e_v|}{\max v^T M v},\;
          \max_i \frac{T |e_{v,i}|}{\ell_i} \Bigr) \Bigr) .

Waves are orthogonal to what they travel on: where they carry less than the tolerance of the energy
no step follows them. What turns momentum over in an instant is followed, however light it is. Rows
may move positions by no more than the whole tolerance in a step: where a law jumps no smaller step
moves them by less.

A step is allowed a share of the tolerance, one over the number of steps that the whole run takes if
it goes on as so far, so that the sum over the run stays within it; the next step follows from a PI
controller. Where the step changes, the algorithmic acceleration, which belongs to the time
:math:`t_n + \Delta_\alpha h`, is moved along.

States at requested times are those of Hermite's cubics through both ends of a step, positions along
the manifold; multipliers and accelerations in between are linear.

References
----------
.. [1] Gustafsson, Lundh and Soederlind, A PI stepsize control for the numerical solution of
   ordinary differential equations, BIT 28 (1988). Bruels and Arnold, The generalized-alpha scheme
   as a linear multistep integrator, J. Comput. Nonlinear Dyn. 3 (2008).
"""

import math
from typing import Any

from mbd.base.tolerances import ERROR_FIRST, OPEN_STEP, STEP_CONTROL
from mbd.integration import newton_loop
from mbd.integration.updates import mark_open, record_impulsive
from mbd.linear.saddle import accelerations
from mbd.machine import buffer as m
from mbd.machine.jit import ints, jit, kernel, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation
from mbd.model.frozen import FrozenModel

# vectors of free steps: the increment of the whole step, or of one that failed; M v; v' put aside
STEP, MOMENTUM, ASIDE, _SCALARS = range(4)
# after them: largest v^T M v so far [J]; time of the run [s]
ENERGY, TIME, N_SCALARS = range(3)
SAFE, SHRINKS, GROWS, STAYS = STEP_CONTROL


def own_floats(model: FrozenModel) -> int:
    """Return how many numbers steps keep of their own."""
    return _SCALARS * int(model.I[m.N_U]) + N_SCALARS


@jit
def own_scalar(I: Any, which: int) -> int:
    """Return where a number of free steps is in F."""
    return own_vector(I, _SCALARS) + which


@kernel
def note_time(I: Any, F: Any, k: int) -> None:
    """Let the time in which errors of velocities move bodies be that of the run."""
    F[own_scalar(I, TIME)] = F[m.T_END] - F[m.T_START]


@jit
def momentum(I: Any, F: Any) -> int:
    """Write M v of the end of the step to a vector, and return where that is.

    Forces are linear in accelerations: those with v in their place less those with none.
    """
    n, x, a = I[m.N_U], I[m.X], I[m.A]
    aside, p = own_vector(I, ASIDE), own_vector(I, MOMENTUM)
    for i in range(n):
        F[aside + i] = F[a + i]
    for moving in range(2):
        for i in range(n):
            F[p + i] = F[x + i]
            if is_velocity(I, i):
                F[a + i] = moving * F[I[m.V] + i]
        if ints(F)[m.SECOND_MAPS + 1]:  # forces on faces depend on accelerations
            evaluation.evaluate_level(I, F)
        else:
            evaluation.pull_back(I, F)
    for i in range(n):
        F[p + i] = (F[x + i] - F[p + i]) / F[m.SCALE_R]
        F[a + i] = F[aside + i]
    return p


@jit
def error_of_velocities(I: Any, F: Any) -> float:
    r"""Return the error :math:`e_v`, in units of what is allowed over the run.

    By the energy :math:`v^T M e_v` that it brings, or the way :math:`T e_v` that it makes.
    """
    h, before = F[m.H], F[m.H_LAST]
    am, af, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.GAMMA]
    shift = am - af
    second = 0.5 * ((1 - af) - (1 - am) * (1 + shift) ** 2 - am * shift * shift)
    c_v = 1 / 6 - 0.5 * ((1 - gamma) * shift**2 + gamma * (1 + shift) ** 2) - second
    a, ab, an, v, p, most = I[m.A], I[m.AB], I[m.AN], I[m.V], momentum(I, F), own_scalar(I, ENERGY)
    energy = error = slack = way = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            energy += F[p + i] * F[v + i]
            k = I[I[m.UNKNOWN_KIND] + i]
            slack += F[I[m.DIAG] + i] * F[m.ATOL + k] ** 2
            if before > 0.0:
                change, last = F[a + i] - F[an + i], F[an + i] - F[ab + i]
                e = c_v * h * 2 * h / (h + before) * (change - last * h / before)
                error += F[p + i] * e
                allowed = F[m.RTOL] * F[m.UNIT + k] + F[m.ATOL + k]
                way = max(way, abs(e) * F[own_scalar(I, TIME)] / allowed)
    F[most] = max(F[most], abs(energy))
    return min(way, abs(error) / (F[m.RTOL] * F[most] + math.sqrt(slack * F[most]) + 1e-300))


@jit
def local_error(I: Any, F: Any) -> float:
    """Return the largest error of the step, in units of what a step of this size is allowed."""
    h, am, af, beta = F[m.H], F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA]
    a, al, an, d, vn = I[m.A], I[m.AL], I[m.AN], I[m.D], I[m.VN]
    c_q = 1 / 6 - beta - 0.5 * (am - af)
    worst = moved = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            k = I[I[m.UNKNOWN_KIND] + i]
            allowed = F[m.RTOL] * F[m.UNIT + k] + F[m.ATOL + k]
            worst = max(worst, abs(c_q * h * h * (F[a + i] - F[an + i])) / allowed)
            new = ((1 - af) * F[a + i] + af * F[an + i] - am * F[al + i]) / (1 - am)
            onto_rows = F[d + i] - h * F[vn + i]
            onto_rows -= h * h * ((0.5 - beta) * F[al + i] + beta * new)
            moved = max(moved, abs(onto_rows) / allowed)
    if F[m.RTOL] < 1e300:
        worst = max(worst, error_of_velocities(I, F))
    return max(moved, worst / share_of_step(F, h, F[m.T] - h))


@jit
def share_of_step(F: Any, h: float, t: float) -> float:
    """Return the part of the run's tolerance that a step of size h from t may use.

    One over the number of steps that the whole run takes if it goes on as so far.
    """
    done = ERROR_FIRST * h + t - F[m.T_START]
    return done / ((ERROR_FIRST + ints(F)[m.N_TAKEN]) * (F[m.T_END] - F[m.T_START]))


@jit
def factor_refused(error: float, order: float) -> float:
    """Return the factor of a step after one whose error was too large; order: of the estimate."""
    return max(SHRINKS, SAFE * error ** (-1.0 / order))


@jit
def factor_after(F: Any, error: float, now: float, before: float) -> float:
    """Return the factor of the step after one that was taken, by a PI controller [1]_.

    Powers of its error and of that before: `now`, negative, and `before`.
    """
    error = max(error, 1e-8)
    factor = SAFE * error**now * F[m.ERROR] ** before
    F[m.ERROR] = error
    return min(GROWS, max(SHRINKS, factor))


@jit
def set_step(I: Any, F: Any, h: float) -> None:
    """Set the size of the next step; the algorithmic acceleration moves with it."""
    S = ints(F)
    old = F[m.H]
    if h == old:
        return
    before = F[m.H_LAST]
    if before > 0.0:
        move = (F[m.ALPHA_M] - F[m.ALPHA_F]) * (h - old) / before
        for i in range(I[m.N_U]):
            if is_velocity(I, i):
                F[I[m.AL] + i] += move * (F[I[m.A] + i] - F[I[m.AB] + i])
    F[m.H] = h
    S[m.HISTORY] = 0  # what was extrapolated belonged to the old step
    if not 0.5 < h / old < 2.0:
        S[m.HAVE_FACTOR] = 0
    newton_loop.set_weights(I, F)


@jit
def refresh(I: Any, F: Any) -> None:
    r"""Find accelerations and multipliers again at the start of the step, with \ddot\Phi = 0.

    Those of a step that was too large carry its error, of the order :math:`h^2 \dddot v`: in a much
    smaller step it would pass for a change of the motion.
    """
    S = ints(F)
    elastic, S[m.ELASTIC] = S[m.ELASTIC], 1
    accelerations(I, F, 2, True)
    evaluation.forget_velocities(I, F)
    move = (F[m.ALPHA_M] - F[m.ALPHA_F]) * F[m.H] / F[m.H_LAST] if F[m.H_LAST] > 0.0 else 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.AL] + i] = F[I[m.A] + i] + move * (F[I[m.A] + i] - F[I[m.AB] + i])
    S[m.HAVE_FACTOR], S[m.ELASTIC] = 0, elastic
    newton_loop.set_weights(I, F)


@jit
def give(I: Any, F: Any, start: float) -> None:
    """Record the states at requested times within the step from `start` to F[T]."""
    S = ints(F)
    h, end = F[m.T] - start, F[m.T]
    a, an, d, v, vn, whole = I[m.A], I[m.AN], I[m.D], I[m.V], I[m.VN], own_vector(I, STEP)
    n_u, n_q = I[m.N_U], I[m.N_Q]
    while S[m.N_REACHED] < S[m.N_OUTPUT] and F[S[m.OUTPUT] + S[m.N_REACHED]] <= end:
        time = F[S[m.OUTPUT] + S[m.N_REACHED]]
        s = (time - start) / h
        h01 = s * s * (3 - 2 * s)
        h10, h11 = s * (1 - s) ** 2, s * s * (s - 1)
        for i in range(n_u):
            F[whole + i] = F[d + i]
            F[d + i] = h01 * F[d + i] + h * (h10 * F[vn + i] + h11 * F[v + i])
        evaluation.stage(I, F, m.POSE)
        to = S[m.RECORD] + S[m.N_RECORDED] * S[m.RECORD_SIZE]
        F[to] = time
        for i in range(n_q):
            F[to + 1 + i] = F[I[m.Q] + i]
        to += 1 + n_q
        for i in range(n_u):
            F[to + i] = (
                (1 - h01) * F[vn + i] + h01 * F[v + i] + h * (h10 * F[an + i] + h11 * F[a + i])
            )
            F[to + n_u + i] = (1 - s) * F[an + i] + s * F[a + i]
        if S[m.N_DROPPED]:
            mark_open(I, F, to + n_u, 0, n_u)
        for i in range(n_u):
            F[d + i] = F[whole + i]
        evaluation.stage(I, F, m.POSE)
        record_impulsive(I, F)
        S[m.N_RECORDED] += 1
        S[m.N_REACHED] += 1


@jit
def add_time(F: Any, h: float) -> None:
    """Advance the time; what a sum of very many small steps would lose is carried along."""
    y = h - F[m.CARRY]
    t = F[m.T] + y
    F[m.CARRY] = (t - F[m.T]) - y
    F[m.T] = t


@kernel
def resize(I: Any, F: Any, k: int) -> None:
    """Set the size of the next step to F[H_NEW]."""
    set_step(I, F, F[m.H_NEW])


@jit
def next_size(I: Any, F: Any) -> float:
    """Return F[H], less if the end or a full record is near; 0 if the record must be emptied."""
    S, h, left = ints(F), F[m.H], F[m.T_END] - F[m.T]
    if left < 1.000001 * h:
        h = left
    elif left < 2 * h and F[m.RTOL] < 1e300:
        h = 0.5 * left
    room = S[m.CAPACITY] - S[m.N_RECORDED] - 1  # one is for the step itself
    if S[m.N_OUTPUT] - S[m.N_REACHED] > room:  # what is asked for in a step must fit
        limit = F[S[m.OUTPUT] + S[m.N_REACHED] + room] - F[m.T]
        if limit <= h:
            h = 0.0 if S[m.N_RECORDED] > 0 else 0.999 * limit
    return h


@jit
def _refuse(I: Any, F: Any, h: float, error: float) -> bool:
    """Go back to the start of a step, and to a smaller one; tell whether it is large enough."""
    S = ints(F)
    newton_loop.restore(I, F)
    S[m.N_REJECT] += 1
    S[m.HISTORY] = S[m.HAVE_FACTOR] = 0
    smaller = h * (factor_refused(error, 3.0) if error < 1e300 else 0.25)
    set_step(I, F, smaller)
    F[m.ERROR] = 1.0
    if smaller < (F[m.H_MIN] if F[m.OPEN] < math.inf else OPEN_STEP * F[m.H_MAX]):
        return False
    refresh(I, F)
    return True


@jit
def _next_size(I: Any, F: Any, h: float, wanted: float, error: float) -> None:
    """Set the size of the step after one that was taken, by its error and that before."""
    factor = factor_after(F, error, -0.25, 0.15)
    new = min(F[m.H_MAX], h * factor)
    if h < wanted:
        new = max(new, min(wanted, F[m.H_MAX])) if factor >= 1.0 else new
    if not (h <= new < STAYS * h):
        set_step(I, F, new)


@loop
@flushing
def advance_adaptive(I: Any, F: Any, k: int) -> None:
    """Take up to S[N_STEPS] steps, none beyond F[T_END]; F[H] is left for the next one.

    k = 1 returns where an iteration fails, with the increment at which it was left in STEP.
    """
    S = ints(F)
    newton_loop.set_weights(I, F)
    evaluation.note_rates(I, F)
    evaluation.forget_velocities(I, F)
    S[m.STATUS], S[m.STEPS_DONE] = newton_loop.CONVERGED, 0
    if F[own_scalar(I, TIME)] == 0.0:
        F[own_scalar(I, TIME)] = F[m.T_END] - F[m.T_START]
    while S[m.STEPS_DONE] < S[m.N_STEPS] and F[m.T] < F[m.T_END]:
        if S[m.N_RECORDED] + 2 > S[m.CAPACITY]:
            return
        start, left, wanted = F[m.T], F[m.T_END] - F[m.T], F[m.H]
        h = next_size(I, F)
        if h == 0.0:
            return
        set_step(I, F, h)
        newton_loop.predict(I, F)
        F[m.T] = start + h
        status = newton_loop.iterate(I, F)
        error = local_error(I, F) if status == newton_loop.CONVERGED else math.inf
        F[m.T] = start
        if status == newton_loop.PIVOTS:
            newton_loop.restore(I, F)
            S[m.HISTORY] = 0
            S[m.STATUS] = newton_loop.PIVOTS
            return
        if status == newton_loop.FAILED:
            for i in range(I[m.N_U]):
                F[own_vector(I, STEP) + i] = F[I[m.D] + i]
        if not error <= 1.0:
            if not _refuse(I, F, h, error):
                S[m.STATUS] = newton_loop.FAILED
                return
            if status == newton_loop.FAILED and k == 1:
                S[m.STATUS] = newton_loop.REFUSED
                return
            continue
        add_time(F, h)
        if left == h:
            F[m.T] = F[m.T_END]
        give(I, F, start)
        newton_loop.finish(I, F)
        S[m.STEPS_DONE] += 1
        S[m.N_TAKEN] += 1
        newton_loop.keep_record(I, F)
        _next_size(I, F, h, wanted, error)
