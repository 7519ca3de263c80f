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
no step follows them. What turns momentum over in an instant is followed, however light it is.

A wave of frequency :math:`\omega` is :math:`\varphi = c\,T h^2 \omega^3` rad late after the run, c
the smaller of both factors. Beyond one its error is the wave itself, once, and no longer the sum
over the steps. So both errors are what stiffness leaves of them,

.. math:: e \leftarrow e - x, \qquad
          \begin{bmatrix} M + \tau^2 K & B^T \\ B & 0 \end{bmatrix} (x; \mu) = (\tau^2 K e; 0),
          \qquad \tau^3 = c\,T h^2 ,

:math:`\varphi/(1 + \varphi^{2/3})` of the wave, at least half of :math:`\min(\varphi, 1)`. This is
asked where changes of accelerations turn by more than :math:`h/\tau` in a step, else nothing is as
fast, and K is that of forces alone. A wave in resonance with a law of time is :math:`\varphi` times
as large as that of such steps: with laws of time errors are counted in full.

Rows may move positions by no more than the whole tolerance in a step: where a law jumps no smaller
step moves them by less.

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

from mbd.algebra.vec import larger
from mbd.base.tolerances import ERROR_FIRST, OPEN_STEP, STEP_CONTROL
from mbd.integration import newton_loop
from mbd.integration.updates import mark_open, record_impulsive
from mbd.linear.products import add_transposed_product
from mbd.linear.saddle import accelerations
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, kernel, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model import evaluation
from mbd.model.frozen import FrozenModel

# vectors of free steps: the increment of the whole step, or of one that failed; M v; what is put
# aside; e_q and e_v of the step; tau^2 K of both
STEP, MOMENTUM, ASIDE, ERROR, _E_V, STIFF, _STIFF_V, _SCALARS = range(8)
# after them: largest v^T M v so far [J]; time of the run [s]; steps until waves are asked for
# again, and how many these were
ENERGY, TIME, WAIT, PAUSE, N_SCALARS = range(5)
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
def error_constants(F: Any) -> tuple[float, float]:
    """Return the factors of the errors of a step, that of e_q and c_v."""
    am, af, gamma = F[m.ALPHA_M], F[m.ALPHA_F], F[m.GAMMA]
    shift = am - af
    second = 0.5 * ((1 - af) - (1 - am) * (1 + shift) ** 2 - am * shift * shift)
    c_v = 1 / 6 - 0.5 * ((1 - gamma) * shift**2 + gamma * (1 + shift) ** 2) - second
    return 1 / 6 - F[m.BETA] - 0.5 * shift, c_v


@jit
def estimate(I: Any, F: Any) -> float:
    r"""Write e_q and e_v of the step to vectors; in a first step e_v is not known, 0.

    Return :math:`(h\omega)^2` of what changes accelerations, by the inertia of the unknowns;
    infinite in a first step.
    """
    h, before = F[m.H], F[m.H_LAST]
    c_q, c_v = error_constants(F)
    a, ab, an, e_q, e_v = I[m.A], I[m.AB], I[m.AN], own_vector(I, ERROR), own_vector(I, ERROR + 1)
    first = second = 0.0
    for i in range(I[m.N_U]):
        F[e_q + i] = F[e_v + i] = 0.0
        if is_velocity(I, i):
            change, last = F[a + i] - F[an + i], F[an + i] - F[ab + i]
            F[e_q + i] = c_q * h * h * change
            first += F[I[m.DIAG] + i] * change * change
            if before > 0.0:
                turn = 2 * h / (h + before) * (change - last * h / before)
                F[e_v + i] = c_v * h * turn
                second += F[I[m.DIAG] + i] * turn * turn
    return second / first if before > 0.0 and first > 0.0 else math.inf


@jit
def linearise(I: Any, F: Any, w_k: float) -> None:
    """Fill the matrix M + w_K K | B at the iterate evaluated last; that of steps is gone."""
    F[m.W_M], F[m.W_G], F[m.W_K] = 1.0, 0.0, w_k
    F[m.ROW_TURN] = F[m.POSITION_TURN] = 0.0
    evaluation.linearise(I, F)
    ints(F)[m.HAVE_FACTOR] = 0


@jit
def multiply(I: Any, F: Any, x: int, y: int) -> None:
    """Do y = S x - y with the matrix, symmetric, and vectors of velocities."""
    for i in range(I[m.N_U]):
        F[y + i] *= -1.0
    add_transposed_product(I, F, x, y)
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[y + i] = 0.0


@jit
def momentum(I: Any, F: Any) -> None:
    """Write M v of the end of the step to MOMENTUM."""
    p, v = own_vector(I, MOMENTUM), own_vector(I, ASIDE)
    for i in range(I[m.N_U]):
        F[p + i], F[v + i] = 0.0, F[I[m.V] + i] if is_velocity(I, i) else 0.0
    linearise(I, F, 0.0)
    multiply(I, F, v, p)


@jit
def let_waves_go(I: Any, F: Any, tau: float) -> None:
    """Take from both errors what stiffness keeps from adding up, after `momentum`.

    Rows that turn with the pose are no stiffness here: a light body that turns fast on a joint is
    followed.
    """
    S, n, x, a = ints(F), I[m.N_U], I[m.X], I[m.A]
    aside, e, r = own_vector(I, ASIDE), own_vector(I, ERROR), own_vector(I, STIFF)
    for i in range(2 * n):
        F[r + i] = 0.0
    multiply(I, F, e, r)
    multiply(I, F, e + n, r + n)
    for i in range(n):
        F[aside + i], F[a + i] = F[a + i], 0.0
    evaluation.evaluate_level(I, F)
    linearise(I, F, tau * tau)
    multiply(I, F, e, r)  # tau^2 K e
    multiply(I, F, e + n, r + n)
    small = S[m.SMALL_PIVOTS]
    for k in range(0, 2 * n, n):
        for i in range(n):
            F[x + i] = F[r + k + i]
        call(S[m.LINEAR], I, F, 1 if k == 0 else 0)
        for i in range(n):
            F[e + k + i] -= F[x + i]
    for i in range(n):
        F[a + i] = F[aside + i]
    S[m.SMALL_PIVOTS] = small


@jit
def size_of_errors(I: Any, F: Any) -> float:
    r"""Return the larger one of :math:`e_q, e_v`, in units of what is allowed over the run.

    :math:`e_v` by the energy :math:`v^T M e_v` that it brings, or the way :math:`T e_v` that it
    makes.
    """
    v, p, most = I[m.V], own_vector(I, MOMENTUM), own_scalar(I, ENERGY)
    e_q, e_v = own_vector(I, ERROR), own_vector(I, ERROR + 1)
    worst = energy = error = slack = way = 0.0
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            energy += F[p + i] * F[v + i]
            error += F[p + i] * F[e_v + i]
            k = I[I[m.UNKNOWN_KIND] + i]
            slack += F[I[m.DIAG] + i] * F[m.ATOL + k] ** 2
            allowed = F[m.RTOL] * F[m.UNIT + k] + F[m.ATOL + k]
            way = larger(way, abs(F[e_v + i]) * F[own_scalar(I, TIME)] / allowed)
            worst = larger(worst, abs(F[e_q + i]) / allowed)
    F[most] = max(F[most], abs(energy))
    by_energy = abs(error) / (F[m.RTOL] * F[most] + math.sqrt(slack * F[most]) + 1e-300)
    return larger(worst, min(way, by_energy))  # type: ignore[no-any-return]


@jit
def local_error(I: Any, F: Any) -> float:
    """Return the largest error of the step, in units of what a step of this size is allowed.

    What waves have in it is asked for as long as it is half of the error; then after twice as many
    steps each time, or where a step would be refused.
    """
    h, am, af, beta = F[m.H], F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA]
    a, al, an, d, vn = I[m.A], I[m.AL], I[m.AN], I[m.D], I[m.VN]
    share, worst, moved = share_of_step(F, h, F[m.T] - h), 0.0, 0.0
    if F[m.RTOL] < 1e300:
        turned = estimate(I, F)
        momentum(I, F)
        worst = size_of_errors(I, F)
        c_q, c_v = error_constants(F)
        tau = (min(abs(c_q), abs(c_v)) * F[own_scalar(I, TIME)] * h * h) ** (1 / 3)
        wait, pause = own_scalar(I, WAIT), own_scalar(I, PAUSE)
        F[wait] -= 1.0
        stiff = turned * tau * tau > h * h and not ints(F)[m.DRIVEN]
        if stiff and (F[wait] < 0.0 or worst > share):
            let_waves_go(I, F, tau)
            left = size_of_errors(I, F)
            F[pause] = 0.0 if left < 0.5 * worst else 2.0 * F[pause] + 1.0
            F[wait], worst = F[pause], min(worst, left)
        newton_loop.set_weights(I, F)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            k = I[I[m.UNKNOWN_KIND] + i]
            new = ((1 - af) * F[a + i] + af * F[an + i] - am * F[al + i]) / (1 - am)
            onto_rows = F[d + i] - h * F[vn + i]
            onto_rows -= h * h * ((0.5 - beta) * F[al + i] + beta * new)
            allowed = F[m.RTOL] * F[m.UNIT + k] + F[m.ATOL + k]
            moved = max(moved, abs(onto_rows) / allowed)
    return max(moved, worst / share)


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
