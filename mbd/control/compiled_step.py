r"""Inputs, steps and observations as one compiled call.

A load that jumps by :math:`\delta f` at an instant makes accelerations and multipliers jump by

.. math:: \begin{bmatrix} M & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \delta\dot v \\ \delta\lambda \end{bmatrix}
          = \begin{bmatrix} \delta f \\ 0 \end{bmatrix}.

Where generalized-alpha has a matrix at hand, that is solved once, by
:math:`\beta h^2 (\beta' M + \gamma' G + K)` in the place of M, and the history of accelerations
moves with it: an error :math:`O(h)\,\delta\dot v` of the accelerations from which one step begins
is one of :math:`O(h^3)` in positions, as the step has itself. The residual with the new loads is
:math:`-\delta f`, as that of the step is zero. Elsewhere all is found again, with M at the pose.
"""

from typing import Any

from mbd.algebra.vec import clear, copy
from mbd.base.tolerances import LARGEST
from mbd.history.program import write
from mbd.integration.newton_loop import CONVERGED, FAILED, by_fronts, set_weights
from mbd.linear.saddle import accelerations
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, call, ints, jit, kernel, loop, part
from mbd.machine.unknowns import is_velocity
from mbd.model.evaluation import evaluate

# --- exchange with a run: floats after those of the model -----------------------------------------
# JUMPED: whether loads have jumped since the accelerations were found; REFUSED: number, from one,
# of the first input that is no number; then inputs u, observations y, factors of inputs at places
JUMPED, REFUSED, EXCHANGE_HEAD = range(3)
# --- record at I[k] ------------------------------------------------------------------------------
# address of the steps, whether one that fails is left as it is, whether the matrix at hand serves;
# where the run has its floats; inputs, their places in F and where these begin; how many numbers
# are observed, and the table of the observation
(
    C_STEPS, C_LEAVE, C_SERVES, C_EXCHANGE, C_INPUTS, C_PLACES, C_FIRST, C_OBSERVED, C_TABLE,
    C_SIZE,
) = (0, 2, 3, 4, 5, 6, 7, 8, 9, 11)  # fmt: skip
P_AT, P_INPUT, P_SIZE = range(3)  # place in F: where it is, which input goes there


@jit
def renew(I: Any, F: Any) -> None:
    r"""Find accelerations and multipliers again at the present pose, after loads have jumped.

    Equation (consistent); steps go on from :math:`a = \dot v`, without extrapolation.
    """
    S = ints(F)
    accelerations(I, F, 2, True)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.AL] + i] = F[I[m.A] + i]
    S[m.HISTORY] = S[m.HAVE_FACTOR] = 0


@kernel
def renew_kernel(I: Any, F: Any, k: int) -> None:
    """`renew`, for use from Python."""
    renew(I, F)


@jit
def shift(I: Any, F: Any) -> None:
    """Move accelerations, multipliers and their history by a jump of loads, evaluated to X."""
    S = ints(F)
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[I[m.X] + i] = 0.0
    by_fronts(I, F, S[m.HAVE_FACTOR] == 0)
    S[m.HAVE_FACTOR] = 1
    for i in range(I[m.N_U]):
        change = -F[m.RATE + I[I[m.UNKNOWN_KIND] + i]] * F[I[m.X] + i]
        F[I[m.A] + i] += change
        F[I[m.AN] + i] += change
        F[I[m.AB] + i] += change
        if is_velocity(I, i):
            F[I[m.AL] + i] += change


@jit
def take_inputs(I: Any, F: Any, k: int) -> bool:
    """Write the inputs that are others to their places; tell whether all are numbers."""
    exchange = I[k + C_EXCHANGE]
    u = exchange + EXCHANGE_HEAD
    for j in range(I[k + C_INPUTS]):
        if not abs(F[u + j]) <= LARGEST:
            F[exchange + REFUSED] = j + 1
            return False
    slopes = u + I[k + C_INPUTS] + I[k + C_OBSERVED]
    for i in range(I[k + C_PLACES]):
        p = I[k + C_FIRST] + i * P_SIZE
        value = F[slopes + i] * F[u + I[p + P_INPUT]]
        if F[I[p + P_AT]] != value:
            F[I[p + P_AT]] = value
            F[exchange + JUMPED] = 1.0
    return True


@jit
def meet_jump(I: Any, F: Any, k: int) -> None:
    """Find accelerations again if loads have jumped; where a law raises all stays as it is."""
    jumped = I[k + C_EXCHANGE] + JUMPED
    if F[jumped] == 0.0:
        return
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    clear(F, I[m.D], I[m.N_U])
    set_weights(I, F)
    evaluate(I, F)
    if ints(F)[m.BAD_HOW] == m.RAISED:
        return
    if I[k + C_SERVES]:
        shift(I, F)
    else:
        renew(I, F)
    F[jumped] = 0.0


@jit
def steps_with_inputs(I: Any, F: Any, k: int) -> bool:
    """Take inputs, find new accelerations where they jump, take S[N_STEPS] steps, observe.

    Tell whether all went well: else S[STATUS] says how it went after S[STEPS_DONE] steps.
    """
    S = ints(F)
    n = S[m.N_STEPS]
    S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
    well = take_inputs(I, F, k)
    if well and n > 0:
        meet_jump(I, F, k)
        well = S[m.BAD_HOW] != m.RAISED
    if not well:
        S[m.STATUS] = FAILED
        return False
    if n > 0:
        call(address_at(I, k + C_STEPS), I, F, I[k + C_LEAVE])
        if S[m.STATUS] != CONVERGED or S[m.STEPS_DONE] < n:
            return False
    observe(I, F, k)
    return True


@jit
def observe(I: Any, F: Any, k: int) -> None:
    """Write the observations of the present instant."""
    if I[k + C_OBSERVED]:
        y = I[k + C_EXCHANGE] + EXCHANGE_HEAD + I[k + C_INPUTS]
        write(F, address_at(I, k + C_TABLE), part(F, y))


@loop
def step_kernel(I: Any, F: Any, k: int) -> None:
    """`steps_with_inputs`, by the record at I[k]."""
    steps_with_inputs(I, F, k)
