r"""The energy-momentum scheme (average vector field): loop, parameters, models.

.. math:: \frac{2}{h^2} M (q_1 - q_0 - h v_0) - Q_{1/2} + H_d^T \lambda = 0, \qquad h(q_1) = 0,
          \qquad v_1 = \frac{2}{h}(q_1 - q_0) - v_0

On linear coordinates rows are quadratic, so that :math:`H_d`, the mean of their gradient along the
step, is the gradient at the midpoint and :math:`h(q_1) - h(q_0) = H_d (q_1 - q_0)` exactly:
constraints do no work. Springs act by the secant of their energy (``interactions/springs.py``).

Quaternions have steps of their own, with rows and springs on mean faces, of which the same holds
(``Formulation.conserving``, ``formulations/homogeneous_steps.py``).

A step is found in :math:`\Delta = q_1 - q_0` and :math:`\lambda`. Every iteration evaluates the
end, for the rows, and the middle, for the forces; the matrix is exact, with rows of the gradient at
the end, :math:`H(q_1) = H_d + \tfrac12 h\dot H_d`.

The velocities v_1 meet the rates of the rows in the mean of a step only. What is left of them at
its end changes sign from step to step, and along a director without inertia nothing limits it:
where there are earlier steps, a new one begins with their increments, extrapolated, not with
:math:`h v_0`.
A step whose equations have no solution near, for bodies turn too far in it, is taken in parts.

References
----------
[Gebhardt 2020, (85)-(110)]: see the page *From paper to code* of the documentation.
Gonzalez, J. Nonlinear Sci. 6 (1996); Betsch and Steinmann.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from mbd.algebra.vec import add, clear, copy
from mbd.base.checked import one_of, whole
from mbd.base.tolerances import HALVED, NEWTON_ROUND_OFF
from mbd.formulations.families import conserving_family, family
from mbd.integration import newton_loop
from mbd.integration.method import Facts
from mbd.integration.one_step import begin_step
from mbd.integration.updates import back_to_start
from mbd.integration.verdicts import measure_rows
from mbd.machine import buffer as m
from mbd.machine.jit import call, ints, jit, loop
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import is_velocity, own_vector
from mbd.model.evaluation import accept, evaluate, is_off, linearise, stage
from mbd.model.frozen import FrozenModel

# vectors of this method: Delta, those of the two steps before, rows at the end; of a step that is
# taken in parts the way made and the velocities at its start
DELTA, LAST, BEFORE, ROWS, WAY, START, N_VECTORS = range(7)


@jit
def _evaluate_end(I: Any, F: Any, t: float) -> None:
    """Evaluate at q_0 + Delta; keep the rows. Angles follow the rates of the middle."""
    S, delta, rows = ints(F), own_vector(I, DELTA), own_vector(I, ROWS)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.D] + i] = F[delta + i]
            F[I[m.V] + i] = F[delta + i] / F[m.H]
    S[m.PHASE], F[m.T] = m.END, t + F[m.H]
    evaluate(I, F)
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[rows + i] = F[I[m.LEFT] + i] if is_off(I, F, i) else F[I[m.X] + i]


@jit
def _evaluate_middle(I: Any, F: Any, t: float) -> None:
    """Evaluate at q_0 + Delta/2, v = Delta/h, v' = 2 (Delta/h - v_0)/h; rows from the end."""
    S, h, rows = ints(F), F[m.H], own_vector(I, ROWS)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            delta = F[own_vector(I, DELTA) + i]
            F[I[m.D] + i] = 0.5 * delta
            F[I[m.V] + i] = delta / h
            F[I[m.A] + i] = 2 / h * (delta / h - F[I[m.VN] + i])
    S[m.PHASE] = m.MIDDLE
    F[m.T] = t + 0.5 * h
    evaluate(I, F)
    for i in range(I[m.N_U]):  # rows on velocities hold in the middle
        if not (is_velocity(I, i) or I[I[m.UNKNOWN_KIND] + i] == m.VELOCITY_ROW):
            F[(I[m.LEFT] if is_off(I, F, i) else I[m.X]) + i] = F[rows + i]


@jit
def _correct(I: Any, F: Any) -> Any:
    """Subtract the solution from Delta and lam; return its size in round-off, and Delta's, <= 1."""
    size, way, delta = 0.0, 0.0, own_vector(I, DELTA)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            x = F[I[m.X] + i]
            F[delta + i] -= x
            kind = I[I[m.UNKNOWN_KIND] + i]
            size = max(size, abs(x) / F[m.FLOOR + kind])
            way = max(way, abs(F[delta + i]) / F[m.UNIT + kind])
            if x != x:
                size = math.inf
        else:
            F[I[m.A] + i] -= F[I[m.X] + i] / F[m.SCALE_R]
    return size, min(way, 1.0)


@jit
def _begin(I: Any, F: Any, t: float) -> None:
    """Keep the state; measure the springs at the start."""
    S = ints(F)
    begin_step(I, F)
    S[m.PHASE], F[m.T] = m.START, t
    stage(I, F, m.PLACE)
    stage(I, F, m.FORCES)


@jit
def _guess(I: Any, F: Any, steps: int) -> None:
    """Guess Delta by so many steps before this one, and lam by the last; see the head."""
    delta, last, before = own_vector(I, DELTA), own_vector(I, LAST), own_vector(I, BEFORE)
    for i in range(I[m.N_U]):
        if not is_velocity(I, i):
            F[I[m.A] + i] = F[I[m.AN] + i]
        elif steps == 0:
            F[delta + i] = F[m.H] * F[I[m.VN] + i]
        elif steps == 1:
            F[delta + i] = F[last + i]
        else:
            F[delta + i] = 2 * F[last + i] - F[before + i]


@jit
def _iterate(I: Any, F: Any, t: float, careful: bool) -> int:
    """Find Delta and lam, carefully by a new matrix each time; return the status.

    What an iteration leaves, by its rate, must be round-off of the way made in the step and not of
    the positions: it is much the same from step to step, and adds up.
    """
    S = ints(F)
    last = math.inf
    for iteration in range(S[m.MAX_ITER]):
        _evaluate_end(I, F, t)
        if iteration == 0:
            newton_loop.measure_place(I, F)
        _evaluate_middle(I, F, t)
        rows_open = measure_rows(I, F, I[m.X]) if I[m.LOOPS] else 0.0
        if careful or not S[m.HAVE_FACTOR]:
            S[m.SMALL_PIVOTS] = 0
            linearise(I, F)
            call(S[m.LINEAR], I, F, 1)
            S[m.HAVE_FACTOR] = 1
            if S[m.SMALL_PIVOTS]:
                return newton_loop.PIVOTS
        else:
            call(S[m.LINEAR], I, F, 0)
        size, way = _correct(I, F)
        S[m.N_ITER] += 1
        if not size < 1e300:
            return newton_loop.FAILED
        left = size if iteration == 0 else size * (size / last)
        if left * F[m.FAR] <= way or (size > 0.5 * last and size < NEWTON_ROUND_OFF):
            return newton_loop.CONVERGED if rows_open <= 1.0 else newton_loop.FAILED
        if size > 0.05 * last or iteration == 3:
            S[m.HAVE_FACTOR] = 0
        last = size
    return newton_loop.FAILED


@jit
def _solve(I: Any, F: Any, t: float) -> int:
    """Find the step, if need be from other guesses; return the status."""
    S = ints(F)
    history = S[m.HISTORY]
    _guess(I, F, history)
    status = _iterate(I, F, t, False)
    for steps in range(history, -1, -1):
        if status == newton_loop.CONVERGED:
            break
        S[m.N_REJECT] += 1
        _guess(I, F, steps)
        status = _iterate(I, F, t, True)
    return status


@jit
def _finish(I: Any, F: Any, t: float) -> bool:
    """Accept the step, if all turns in it are sure."""
    S = ints(F)
    h = F[m.H]
    _evaluate_end(I, F, t)
    if not accept(I, F):
        return False
    delta, last, before = own_vector(I, DELTA), own_vector(I, LAST), own_vector(I, BEFORE)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.V] + i] = 2 * (F[delta + i] / h) - F[I[m.VN] + i]
    stage(I, F, m.ENDING)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.A] + i] = F[I[m.AL] + i] = (F[I[m.V] + i] - F[I[m.VN] + i]) / h
            F[before + i] = F[last + i]
            F[last + i] = F[delta + i]
    S[m.HISTORY] = min(S[m.HISTORY] + 1, 2)
    return True


@jit
def _step(I: Any, F: Any, t: float, k: int) -> int:
    """Take one step of F[H]; return the status. After a failure k = 1 leaves its last iterate."""
    S = ints(F)
    _begin(I, F, t)
    status = _solve(I, F, t)
    if status == newton_loop.CONVERGED and not _finish(I, F, t):
        status = newton_loop.FAILED
    if status != newton_loop.CONVERGED:
        S[m.HAVE_FACTOR] = 0
        if k == 0:
            back_to_start(I, F)
    return status


@jit
def _set_size(I: Any, F: Any, h: float) -> None:
    """Set the size of the step and what depends on it; increments of steps before are scaled."""
    S = ints(F)
    F[m.SCALE_R] = 0.5 * h * h
    F[m.W_M], F[m.W_G], F[m.W_K] = 1.0, 0.5 * h, 0.25 * h * h
    F[m.ROW_RATE], F[m.ROW_TURN], F[m.POSITION_TURN] = h, 0.5 * h, 0.5 * h
    if F[m.H] != h:
        for i in range(I[m.N_U]):
            F[own_vector(I, LAST) + i] *= h / F[m.H]
        F[m.H] = h
        S[m.HISTORY] = min(S[m.HISTORY], 1)
        S[m.HAVE_FACTOR] = 0


@jit
def _in_parts(I: Any, F: Any, t: float, h: float) -> int:
    """Take a step of h in parts, halved where they fail; return the status.

    Every part conserves what the whole conserves.
    """
    delta, way, start = own_vector(I, DELTA), own_vector(I, WAY), own_vector(I, START)
    S = ints(F)
    copy(F, start, I[m.V], I[m.N_U])
    clear(F, way, I[m.N_U])
    at, part = 0.0, 0.5
    while at < 1.0 and part >= 0.5**HALVED:
        _set_size(I, F, part * h)
        if _step(I, F, t + at * h, 0) == newton_loop.CONVERGED:
            at += part
            add(F, way, 1.0, delta, I[m.N_U])
        else:
            part *= 0.5
    _set_size(I, F, h)
    if at >= 1.0:
        return newton_loop.CONVERGED
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])
    copy(F, I[m.V], start, I[m.N_U])
    clear(F, I[m.D], I[m.N_U])
    add(F, I[m.D], -1.0, way, I[m.N_U])
    S[m.PHASE], S[m.HISTORY] = m.START, 0
    stage(I, F, m.PLACE)
    return newton_loop.FAILED


@loop
@flushing
def conserve(I: Any, F: Any, k: int) -> None:
    """Take S[N_STEPS] steps of F[H]; k = 1 leaves the state of a failed step for inspection."""
    S = ints(F)
    h = F[m.H]
    _set_size(I, F, h)
    S[m.STATUS] = newton_loop.CONVERGED
    S[m.STEPS_DONE] = 0
    for step in range(S[m.N_STEPS]):
        t = F[m.T]
        status = _step(I, F, t, k)
        # pivots are none where the iteration went astray
        if status != newton_loop.CONVERGED and k == 0:
            status = _in_parts(I, F, t, h)
        S[m.PHASE] = m.ORDINARY
        F[m.T] = t
        if status != newton_loop.CONVERGED:
            S[m.STATUS] = status
            return
        F[m.T] = newton_loop.next_time(I, F)
        S[m.STEPS_DONE] = step + 1
        newton_loop.keep_record(I, F)


# --- the method -----------------------------------------------------------------------------------
def _own_floats(model: FrozenModel) -> int:
    """Return how many numbers the scheme keeps of its own."""
    return N_VECTORS * int(model.I[m.N_U])


@dataclass(frozen=True)
class EnergyMomentum:
    r"""Midpoint scheme that conserves energy and momenta to round-off, joints and springs included.

    Springs with laws and stops too: they act by their mean over the elongation. A law of rate or
    time drives or dissipates; its means are taken at the rate and time of the middle.

    For bodies with ``formulation="directors"``, ``"euler_parameters"`` or ``"scalable"``, rigid or
    of a free scale, bodies in a plane and point masses. Second order; a conservative system keeps
    its total energy, whatever the step, and what symmetry conserves is conserved. Accelerations are
    mean values over a step, and multipliers those of its middle: they are first order at the
    recorded instants.

    Equations :eq:`midpoint` and :eq:`meanface` of the theory page.

    Parameters
    ----------
    max_iterations : int
        Newton iterations of one step; they go on to round-off of the positions.
    linear_solver : {"fronts"}
        There is one: the compiled elimination, front by front.

    References
    ----------
    .. [1] Gebhardt and Romero, The rotating rigid body model based on a non-twisting frame, 2020.
       Gonzalez, J. Nonlinear Science 6 (1996). Simo and Wong, Int. J. Numer. Methods Eng. 31,
       1991.
    """

    max_iterations: int = 40
    linear_solver: Literal["fronts"] = "fronts"

    kernel: ClassVar[Any] = conserve  #: the compiled loop over steps

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole("EnergyMomentum", "max_iterations", self.max_iterations, 2)
        one_of("EnergyMomentum", "linear_solver", self.linear_solver, ("fronts",))

    @property
    def facts(self) -> Facts:
        """Facts for runs: multipliers are those of the middle of the step."""
        return Facts(
            title="energy-momentum scheme", orders=(2, 1), error=(1 / 12, 1), level="position",
            own_floats=_own_floats,        )  # fmt: skip

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot conserve."""
        for body in model.nodes.values():
            if body.formulation.n_inner:
                raise ValueError(
                    f"EnergyMomentum: {body.name!r} has modes, whose mass depends on its pose, so "
                    "that the midpoint rule does not conserve its energy; use GeneralizedAlpha, or "
                    "a Beam with formulation='directors'"
                )
            if not (body.formulation.linear or body.formulation.conserving):
                raise ValueError(
                    f"EnergyMomentum: {body.name!r} is carried by {body.formulation.name!r}, whose "
                    "face is not linear in its coordinates and which has no step that conserves "
                    "its energy and momenta; use formulation='euler_parameters', 'scalable' or "
                    "formulation='directors', or GeneralizedAlpha"
                )
        for name, elements in model.numbering.elements.items():
            if not all(element.kind.secant for element, _ in elements):
                raise ValueError(
                    f"EnergyMomentum: {name!r} has a row that is not quadratic in positions or "
                    "follows a law of time, so that the midpoint rule does not conserve energy; "
                    "use GeneralizedAlpha"
                )
        for name, own in model.elements.items():
            if not all(element.kind.secant for element in own):
                raise ValueError(
                    f"EnergyMomentum: {name!r} has a force whose work over a step is not that "
                    "of an energy yet (a measure without a secant gradient, an added mass); use "
                    "GeneralizedAlpha"
                )
        self._refuse_masses(model)
        self._replace(model, S)
        S[m.MAX_ITER] = self.max_iterations

    @staticmethod
    def _refuse_masses(model: FrozenModel) -> None:
        """Refuse elements with mass on bodies whose faces move on curves within a step."""
        for part, elements in model.elements.items():
            for element in elements:
                for end in element.attachments if element.kind.accelerated else ():
                    body = model.nodes.get(end.body)
                    if body is not None and not body.formulation.linear:
                        raise ValueError(
                            f"EnergyMomentum: {part!r} has mass and moves with {body.name!r}, "
                            f"which is carried by {body.formulation.name!r}; its energy is kept on "
                            "linear coordinates only: use formulation='directors', or "
                            "GeneralizedAlpha"
                        )

    @staticmethod
    def _replace(model: FrozenModel, S: np.ndarray) -> None:
        """Let springs act by their means and secants, and bodies by their own steps."""
        kinds = {e.kind for own in model.elements.values() for e in own}
        stands_for: dict[Any, Any] = {}
        for kind in kinds:
            if kind.conserving is not None:
                stands_for |= dict(zip((kind.forces, kind.tangent), kind.conserving, strict=True))
        S[m.ENDING + 1] = 0
        for s, form in enumerate(dict.fromkeys(x.formulation for x in model.nodes.values())):
            if form.conserving is None:
                continue
            one, own = family(form), conserving_family(form)
            for name in ("place", "velocities", "residual", "tangent", "maps"):
                stands_for[getattr(one, name)] = getattr(own, name)
            to = S[m.ENDING] + 2 * S[m.ENDING + 1]
            S[to : to + 2] = own.ending.address, model.kernels[m.VELOCITIES][s][1]
            S[m.ENDING + 1] += 1
        for which in (m.PLACE, m.FORCES, m.RESIDUAL, m.TANGENT, m.MAPS):
            for s, (kernel, _) in enumerate(model.kernels[which]):
                if kernel in stands_for:
                    S[S[which] + 2 * s] = stands_for[kernel].address
