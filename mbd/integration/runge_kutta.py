r"""The loop of explicit Runge-Kutta methods, and the one that composes exponentials.

`commutator_free`, after Celledoni et al., has no tangent operator, with :math:`K_i = h v_i`,
:math:`k_i = h\dot v_i` of the classical stages,

.. math::
   q_2 &= q_n \boxplus \tfrac12 K_1, \quad q_3 = q_n \boxplus \tfrac12 K_2, \quad
   q_4 = q_2 \boxplus (K_3 - \tfrac12 K_1), \\
   q_{n+1} &= q_n \boxplus \tfrac1{12}(3K_1 + 2K_2 + 2K_3 - K_4)
              \boxplus \tfrac1{12}(-K_1 + 2K_2 + 2K_3 + 3K_4) .

The last acceleration of a step is the first of the next one: four evaluations a step.

References
----------
Celledoni, Marthinsen and Owren, "Commutator-free Lie group methods", 2003.
"""

import math
from collections.abc import Callable
from typing import Any

from mbd.integration.compiled_steps import nothing, step_loop
from mbd.integration.newton_loop import CONVERGED, FAILED, next_time
from mbd.integration.one_step import go_on
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit
from mbd.machine.unknowns import own_vector
from mbd.model.evaluation import evaluate, linearise, stage
from mbd.model.frozen import FrozenModel

A, AL, D, H, N_Q, N_U, Q, QN, T, V, VN, X = (
    m.A, m.AL, m.D, m.H, m.N_Q, m.N_U, m.Q, m.QN, m.T, m.V, m.VN, m.X,
)  # fmt: skip
# vectors of the method: sums of the weighted slopes of both increments and of velocity; after them
# the coordinates at the start
FIRST, LAST, CHANGE, START = 0, 1, 2, 3


def own_floats(model: FrozenModel) -> int:
    """Return how many numbers the method keeps of its own."""
    return START * int(model.I[N_U]) + model.n_q


# --- what all methods share -----------------------------------------------------------------------
@jit
def solve(I: Any, F: Any) -> bool:
    """Write accelerations and multipliers from the residual in X; return whether they are good."""
    S = ints(F)
    linearise(I, F)
    S[m.SMALL_PIVOTS] = 0
    call(S[m.LINEAR], I, F, 1)
    good = True
    for i in range(I[N_U]):
        F[I[A] + i] = -F[I[X] + i]
        good = good and abs(F[I[X] + i]) < math.inf
    return good and S[m.SMALL_PIVOTS] == 0


@jit
def _accelerate(I: Any, F: Any) -> bool:
    """Write the accelerations at q = q_0 [+] d, v; return whether they are numbers."""
    for i in range(I[N_U]):
        F[I[A] + i] = 0.0
    evaluate(I, F)
    return solve(I, F)


@jit
def start_from(I: Any, F: Any, q: int) -> None:
    """Count increments from the coordinates at F[q] on."""
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[q + i]
    for i in range(I[N_U]):
        F[I[D] + i] = 0.0


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
            return FAILED  # type: ignore[no-any-return]
        F[T] = next_time(I, F)
        return CONVERGED  # type: ignore[no-any-return]

    return step_loop(begin_piece, timed, back, verdict)


# --- commutator free ------------------------------------------------------------------------------
@jit
def _back_home(I: Any, F: Any) -> None:
    """Return to the start of the step."""
    for i in range(I[N_Q]):
        F[I[Q] + i] = F[own_vector(I, START) + i]
    for i in range(I[N_U]):
        F[I[V] + i] = F[I[VN] + i]


@jit
def _go_on(I: Any, F: Any) -> None:
    """Begin the next increment where this one ends."""
    stage(I, F, m.PLACE)
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[I[Q] + i]


@jit
def _velocity(I: Any, F: Any, weight: float, first: float, last: float) -> None:
    """Add K_i, k_i of the present V, A to both increments and to the change of velocity."""
    h = F[H]
    D_1, D_2, change = own_vector(I, FIRST), own_vector(I, LAST), own_vector(I, CHANGE)
    for i in range(I[N_U]):
        F[D_1 + i] += first * h * F[I[V] + i]
        F[D_2 + i] += last * h * F[I[V] + i]
        F[change + i] += weight * h * F[I[A] + i]


@jit
def _composed_step(I: Any, F: Any, t: float) -> bool:
    """Take one step from t; A holds the acceleration at its start, and then at its end."""
    h, q_n = F[H], own_vector(I, START)
    D_1, D_2, change = own_vector(I, FIRST), own_vector(I, LAST), own_vector(I, CHANGE)
    start_from(I, F, I[Q])
    for i in range(I[N_Q]):
        F[q_n + i] = F[I[Q] + i]
    for i in range(I[N_U]):
        F[I[VN] + i] = F[I[V] + i]
        F[D_1 + i] = 0.0
        F[D_2 + i] = 0.0
        F[change + i] = 0.0
    _velocity(I, F, 1 / 6, 3 / 12, -1 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[VN] + i]
        F[I[V] + i] = F[I[VN] + i] + 0.5 * h * F[I[A] + i]
    F[T] = t + 0.5 * h
    if not _accelerate(I, F):
        return False
    _velocity(I, F, 2 / 6, 2 / 12, 2 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[V] + i]
        F[I[V] + i] = F[I[VN] + i] + 0.5 * h * F[I[A] + i]
    if not _accelerate(I, F):
        return False
    _velocity(I, F, 2 / 6, 2 / 12, 2 / 12)
    for i in range(I[N_U]):
        F[I[D] + i] = 0.5 * h * F[I[VN] + i]
    _go_on(I, F)
    for i in range(I[N_U]):
        F[I[D] + i] = h * F[I[V] + i] - 0.5 * h * F[I[VN] + i]
        F[I[V] + i] = F[I[VN] + i] + h * F[I[A] + i]
    F[T] = t + h
    if not _accelerate(I, F):
        return False
    _velocity(I, F, 1 / 6, -1 / 12, 3 / 12)
    for i in range(I[N_Q]):
        F[I[QN] + i] = F[q_n + i]
    for i in range(I[N_U]):
        F[I[D] + i] = F[D_1 + i]
    _go_on(I, F)
    for i in range(I[N_U]):
        F[I[D] + i] = F[D_2 + i]
        F[I[V] + i] = F[I[VN] + i] + F[change + i]
    good = _accelerate(I, F)
    for i in range(I[N_U]):
        F[I[AL] + i] = F[I[A] + i]
    return good


commutator_free = explicit(_composed_step, _back_home, go_on)
