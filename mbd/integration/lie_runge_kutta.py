r"""The explicit Lie-group Runge-Kutta methods: parameters, models, two with loops of their own.

The one that is free of commutators (Celledoni, Marthinsen, Owren) has no tangent operator, with
:math:`K_i = h v_i`, :math:`k_i = h\dot v_i` of the classical stages,

.. math::
   q_2 &= q_n \boxplus \tfrac12 K_1, \quad q_3 = q_n \boxplus \tfrac12 K_2, \quad
   q_4 = q_2 \boxplus (K_3 - \tfrac12 K_1), \\
   q_{n+1} &= q_n \boxplus \tfrac1{12}(3K_1 + 2K_2 + 2K_3 - K_4)
              \boxplus \tfrac1{12}(-K_1 + 2K_2 + 2K_3 + 3K_4) .

On unit quaternions (Terze, Müller, Zlatar) a body, whatever its formulation, is moved by its
origin, its quaternion p and the velocities :math:`\dot x` and :math:`\bar\Omega` in body axes; the
formulation gives the accelerations. With a rotation vector :math:`\theta` of the step, body axes,

.. math:: p = p_n \exp(\tfrac12\theta), \qquad \dot\theta = T^{-1}(\theta)\,\bar\Omega, \qquad
          T^{-1}(\theta) = I + \tfrac12\tilde\theta + c\,\tilde\theta^2,

the classical Runge-Kutta method goes along :math:`(x, \theta, \dot x, \bar\Omega)`, and the product
of unit quaternions keeps the norm, and so the own rows of a formulation, by construction. Own rows
enter the accelerations by their second derivatives (index 1).

The last acceleration of a step is the first of the next one: four evaluations a step.

References
----------
.. [1] Terze, Müller and Zlatar, "Singularity-free time integration of rotational quaternions using
   non-redundant ordinary differential equations", Multibody System Dynamics 38, 2016.
.. [2] Celledoni, Marthinsen and Owren, "Commutator-free Lie group methods", 2003.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from mbd.algebra.se3 import inverse_tangent
from mbd.algebra.vec import add, clear, copy, cross, dot, load3, mat_vec, plus, store3
from mbd.base.checked import one_of
from mbd.formulations.families import family
from mbd.formulations.formulation import Formulation
from mbd.integration import explicit_runge_kutta
from mbd.integration.explicit_runge_kutta import explicit
from mbd.integration.explicit_tableaus import tableau
from mbd.integration.method import Facts, says
from mbd.integration.one_step import go_on
from mbd.machine import buffer as m
from mbd.machine.buffer import NODE_SIZE, NODE_U, NODE_Y
from mbd.machine.jit import call, ints, jit
from mbd.machine.unknowns import own_vector
from mbd.model.evaluation import evaluate, evaluate_second_rates, linearise, stage
from mbd.model.frozen import FrozenModel


@jit
def _solve(I: Any, F: Any) -> bool:
    """Write accelerations and multipliers from the residual in X; return whether they are good."""
    S = ints(F)
    linearise(I, F)
    S[m.SMALL_PIVOTS] = 0
    call(S[m.LINEAR], I, F, 1)
    good = True
    for i in range(I[m.N_U]):
        F[I[m.A] + i] = -F[I[m.X] + i]
        good = good and abs(F[I[m.X] + i]) < math.inf
    return good and S[m.SMALL_PIVOTS] == 0


@jit
def _start_from(I: Any, F: Any, q: int) -> None:
    """Count increments from the coordinates at F[q] on."""
    copy(F, I[m.QN], q, I[m.N_Q])
    clear(F, I[m.D], I[m.N_U])


# --- commutator free ------------------------------------------------------------------------------
# vectors: sums of the weighted slopes of both increments and of velocity; after them the
# coordinates at the start
D_1, D_2, KICK, Q_N = 0, 1, 2, 3


def own_floats_composed(model: FrozenModel) -> int:
    """Return how many numbers the method that composes exponentials keeps of its own."""
    return Q_N * int(model.I[m.N_U]) + model.n_q


@jit
def _back_home(I: Any, F: Any) -> None:
    """Return to the start of the step."""
    copy(F, I[m.Q], own_vector(I, Q_N), I[m.N_Q])
    copy(F, I[m.V], I[m.VN], I[m.N_U])


@jit
def _go_on_from_here(I: Any, F: Any) -> None:
    """Begin the next increment where this one ends."""
    stage(I, F, m.PLACE)
    copy(F, I[m.QN], I[m.Q], I[m.N_Q])


@jit
def _add_slopes(I: Any, F: Any, weight: float, first: float, last: float) -> None:
    """Add K_i, k_i of the present V, A to both increments and to the change of velocity."""
    n, h = I[m.N_U], F[m.H]
    add(F, own_vector(I, D_1), first * h, I[m.V], n)
    add(F, own_vector(I, D_2), last * h, I[m.V], n)
    add(F, own_vector(I, KICK), weight * h, I[m.A], n)


@jit
def _accelerate_at(I: Any, F: Any, t: float, weight: float, change: int) -> bool:
    """Write accelerations at q_0 [+] d, v_n + weight F[change]; tell whether they are numbers."""
    n = I[m.N_U]
    copy(F, I[m.V], I[m.VN], n)
    add(F, I[m.V], weight, change, n)
    clear(F, I[m.A], n)
    F[m.T] = t
    evaluate(I, F)
    return _solve(I, F)  # type: ignore[no-any-return]


@jit
def _composed_step(I: Any, F: Any, t: float) -> bool:
    """Take one step from t; A holds the acceleration at its start, and then at its end."""
    h, n, q_n, d = F[m.H], I[m.N_U], own_vector(I, Q_N), I[m.D]
    _start_from(I, F, I[m.Q])
    copy(F, q_n, I[m.Q], I[m.N_Q])
    copy(F, I[m.VN], I[m.V], n)
    clear(F, own_vector(I, D_1), 3 * n)
    _add_slopes(I, F, 1 / 6, 3 / 12, -1 / 12)
    add(F, d, 0.5 * h, I[m.VN], n)
    if not _accelerate_at(I, F, t + 0.5 * h, 0.5 * h, I[m.A]):
        return False
    _add_slopes(I, F, 2 / 6, 2 / 12, 2 / 12)
    clear(F, d, n)
    add(F, d, 0.5 * h, I[m.V], n)
    if not _accelerate_at(I, F, t + 0.5 * h, 0.5 * h, I[m.A]):
        return False
    _add_slopes(I, F, 2 / 6, 2 / 12, 2 / 12)
    clear(F, d, n)
    add(F, d, 0.5 * h, I[m.VN], n)
    _go_on_from_here(I, F)
    clear(F, d, n)
    add(F, d, h, I[m.V], n)
    add(F, d, -0.5 * h, I[m.VN], n)
    if not _accelerate_at(I, F, t + h, h, I[m.A]):
        return False
    _add_slopes(I, F, 1 / 6, -1 / 12, 3 / 12)
    copy(F, I[m.QN], q_n, I[m.N_Q])
    copy(F, d, own_vector(I, D_1), n)
    _go_on_from_here(I, F)
    copy(F, d, own_vector(I, D_2), n)
    good = _accelerate_at(I, F, t + h, 1.0, own_vector(I, KICK))
    copy(F, I[m.AL], I[m.A], n)
    return good


commutator_free = explicit(_composed_step, _back_home, go_on)


# --- unit quaternions -----------------------------------------------------------------------------
# vectors of this method, motions (x, theta) and their velocities (x', Omega): of this evaluation,
# sums of weighted slopes, velocities at the start
MOTION, SPEED, WAY, CHANGE, START = 0, 1, 2, 3, 4


def own_floats(model: FrozenModel) -> int:
    """Return how many numbers the method keeps of its own."""
    return (START + 1) * int(model.I[m.N_U])


@jit
def _turn(F: Any, y: int, rate: int) -> Any:
    """Return half the sum of d_k x rate_k in components along the directors d."""
    w = (0.0, 0.0, 0.0)
    for k in range(3, 12, 3):
        w = plus(w, cross(load3(F, y + k), load3(F, rate + k)))
    return (
        0.5 * dot(load3(F, y + 3), w),
        0.5 * dot(load3(F, y + 6), w),
        0.5 * dot(load3(F, y + 9), w),
    )


@jit
def _is_point(F: Any, y: int) -> bool:
    """Tell whether a face has no directors."""
    d = load3(F, y + 3)
    return d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0


@jit
def _accelerate(I: Any, F: Any) -> bool:
    """Write the accelerations at q = q_n [+] d, v and those of the faces."""
    clear(F, I[m.A], I[m.N_U])
    evaluate_second_rates(I, F)
    good = _solve(I, F)
    stage(I, F, m.RATES)
    return good


@jit
def _begin_step(I: Any, F: Any) -> None:
    """Note the velocities of all faces; clear the sums."""
    S = ints(F)
    _start_from(I, F, I[m.Q])
    motion, way, change, start = (
        own_vector(I, MOTION), own_vector(I, WAY), own_vector(I, CHANGE), own_vector(I, START),
    )  # fmt: skip
    for s in range(S[m.FLOW + 1]):
        k = S[S[m.FLOW] + 2 * s + 1]
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y, yd = I[i + NODE_U], I[m.Y] + I[i + NODE_Y], I[m.YD] + I[i + NODE_Y]
            n = 3 if _is_point(F, y) else 6
            for j in range(n):
                F[motion + u + j] = 0.0
                F[way + u + j] = 0.0
                F[change + u + j] = 0.0
            store3(F, start + u, load3(F, yd))
            if n == 6:
                store3(F, start + u + 3, _turn(F, y, yd))


@jit
def _slope(I: Any, F: Any, weight: float, ahead: float) -> None:
    """Add weight times the slopes to the sums; write how far they go `ahead` to MOTION, SPEED."""
    S = ints(F)
    h, motion, speed = F[m.H], own_vector(I, MOTION), own_vector(I, SPEED)
    way, change, start = own_vector(I, WAY), own_vector(I, CHANGE), own_vector(I, START)
    for s in range(S[m.FLOW + 1]):
        k = S[S[m.FLOW] + 2 * s + 1]
        for e in range(I[k]):
            i = I[k + 1] + e * NODE_SIZE
            u, y = I[i + NODE_U], I[m.Y] + I[i + NODE_Y]
            yd, ydd = I[m.YD] + I[i + NODE_Y], I[m.YDD] + I[i + NODE_Y]
            n = 3
            K, a = load3(F, yd), load3(F, ydd)
            T_Omega, alpha = K, a
            if not _is_point(F, y):
                n = 6
                back = inverse_tangent(load3(F, motion + u + 3))
                T_Omega, alpha = mat_vec(back, _turn(F, y, yd)), _turn(F, y, ydd)
            for j in range(n):
                x = h * (K[j] if j < 3 else T_Omega[j - 3])
                v = h * (a[j] if j < 3 else alpha[j - 3])
                F[way + u + j] += weight * x
                F[change + u + j] += weight * v
                F[motion + u + j] = ahead * x
                F[speed + u + j] = F[start + u + j] + ahead * v


@jit
def _go_along(I: Any, F: Any, s: float) -> None:
    """Write s times the sums to MOTION, SPEED."""
    motion, way, change, start = (
        own_vector(I, MOTION), own_vector(I, WAY), own_vector(I, CHANGE), own_vector(I, START),
    )  # fmt: skip
    for i in range(I[m.N_U]):
        F[motion + i] = s * F[way + i]
        F[own_vector(I, SPEED) + i] = F[start + i] + s * F[change + i]


@jit
def _begin(I: Any, F: Any) -> None:
    """Show the faces of the first instant, with the accelerations given."""
    _start_from(I, F, I[m.Q])
    stage(I, F, m.PLACE)
    stage(I, F, m.RATES)


@jit
def _back(I: Any, F: Any) -> None:
    """Return to the start of the step."""
    _go_along(I, F, 0.0)
    stage(I, F, m.FLOW)
    copy(F, I[m.Q], I[m.QN], I[m.N_Q])


@jit
def _step(I: Any, F: Any, t: float) -> bool:
    """Take one step from t; the faces hold the accelerations at its start, and then at its end."""
    h = F[m.H]
    _begin_step(I, F)
    _slope(I, F, 1 / 6, 0.5)
    stage(I, F, m.FLOW)
    F[m.T] = t + 0.5 * h
    if not _accelerate(I, F):
        return False
    _slope(I, F, 2 / 6, 0.5)
    stage(I, F, m.FLOW)
    if not _accelerate(I, F):
        return False
    _slope(I, F, 2 / 6, 1.0)
    stage(I, F, m.FLOW)
    F[m.T] = t + h
    if not _accelerate(I, F):
        return False
    _slope(I, F, 1 / 6, 0.0)
    _go_along(I, F, 1.0)
    stage(I, F, m.FLOW)
    good = _accelerate(I, F)
    copy(F, I[m.AL], I[m.A], I[m.N_U])
    return good


quaternion = explicit(_step, _back, go_on, _begin)


_SCHEMES: dict[str, tuple[Any, Callable[[FrozenModel], int]]] = {
    "motion_vector": (
        explicit_runge_kutta.advance,
        partial(explicit_runge_kutta.own_floats, tableau("rk4")),
    ),
    "commutator_free": (commutator_free, own_floats_composed),
    "quaternion": (quaternion, own_floats),
}


@dataclass(frozen=True)
class LieRungeKutta4:
    r"""Explicit method of order four on Lie groups, for bodies without joints.

    Four evaluations a step, no iteration; bodies may be coupled by springs and loaded. Rotations
    stay rotations to round-off. The step must resolve the highest frequency, omega h < 2.8.

    Equation :eq:`motionvector` of the theory page.

    Parameters
    ----------
    scheme : {"motion_vector", "commutator_free", "quaternion"}
        "motion_vector": velocities and the incremental motion vector are advanced together, this
        one with :math:`\dot q = T^{-1}(q) v`, then :math:`H_{n+1} = H_n \exp(\Delta q)` [1]_; for
        ``so3``, ``se3``, ``unified``, mass points, and whatever is free on linear coordinates.
        "commutator_free": products of exponentials, no tangent operator [3]_; for the same bodies,
        where increments are canonical coordinates (not those of a Cayley map).
        "quaternion": the body is moved by its unit quaternion and angular velocity in body axes
        [2]_, and the formulation gives the accelerations; for every formulation of the library
        whose body is rigid. Own rows (the norm of Euler parameters, orthonormal directors) hold by
        construction.

    References
    ----------
    .. [1] Holzinger, Schöberl and Gerstmayr, Multibody System Dynamics 48, 2020, section 5.
    .. [2] Terze, Müller and Zlatar, Multibody System Dynamics 38, 2016.
    .. [3] Celledoni, Marthinsen and Owren, "Commutator-free Lie group methods", 2003.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> top = mbd.RigidBody(
    ...     "top", mass=1, inertia=(2, 1, 3), angular_velocity=(0, 0, 1), formulation="se3"
    ... )
    >>> body = system.add(top)
    >>> solution = mbd.simulate(system, 1.0, 1e-2, method=mbd.LieRungeKutta4())
    """

    scheme: Literal["motion_vector", "commutator_free", "quaternion"] = "motion_vector"

    def __post_init__(self) -> None:
        """Check the scheme."""
        one_of("LieRungeKutta4", "scheme", self.scheme, _SCHEMES)

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return _SCHEMES[self.scheme][0]

    @property
    def facts(self) -> Facts:
        """Facts for runs."""
        return Facts(
            title=f"Lie-group Runge-Kutta, {self.scheme}", orders=(4, 4), error=(1 / 120, 3),
            level="position", failure=says("the explicit step failed {where}"),
            own_floats=_SCHEMES[self.scheme][1],
        )  # fmt: skip

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        bodies = model.nodes
        for body in bodies.values():
            self._check(body.name, body.formulation)
        for name, rows in model.numbering.owners.items():
            if rows.stop > rows.start and name not in bodies:
                n = model.n_lam - sum(b.formulation.n_own for b in bodies.values())
                raise ValueError(
                    f"LieRungeKutta4: the method is explicit and cannot keep {n} constraint rows, "
                    f"the first is {model.numbering.lam_labels[rows.start]!r}; use GeneralizedAlpha"
                )
        S[m.CONVECT + 1] = 0
        for s, formulation in enumerate(dict.fromkeys(b.formulation for b in bodies.values())):
            kernels = family(formulation)
            kernel = kernels.carry if self.scheme == "quaternion" else kernels.flow
            if self.scheme != "commutator_free":
                S[S[m.FLOW] + 2 * s] = kernel.address
            if kernels.convect is not None and self.scheme == "motion_vector":
                to = S[m.CONVECT] + 2 * S[m.CONVECT + 1]
                S[to : to + 2] = kernels.convect.address, S[S[m.FLOW] + 2 * s + 1]
                S[m.CONVECT + 1] += 1
        if self.scheme == "motion_vector":
            S[m.LEVEL], S[m.HISTORY] = m.STABILIZED, 0
            explicit_runge_kutta.write_numbers(tableau("rk4"), model, F)

    def _check(self, name: str, formulation: Formulation) -> None:
        """Refuse a formulation that the scheme cannot move."""
        subject = f"LieRungeKutta4: {name!r} is carried by {formulation.name!r}"
        if self.scheme == "quaternion":
            if formulation.carry is None:
                raise ValueError(
                    f"{subject}, which does not say how a unit quaternion moves it (a body that "
                    "changes its scale has no such motion); use GeneralizedAlpha"
                )
        elif formulation.n_own or (formulation.flow is None and self.scheme == "motion_vector"):
            way_out = "" if formulation.carry is None else "scheme='quaternion', or "
            way_out = way_out if formulation.n_own else "scheme='commutator_free', or "
            raise ValueError(
                f"{subject}, whose coordinates are no group with a tangent operator; the scheme "
                f"{self.scheme!r} needs so3, se3, unified, point, or coordinates without rows of "
                f"their own, such as Scalable(rigid=False); use {way_out}"
                "GeneralizedAlpha"
            )
        elif self.scheme == "commutator_free" and not formulation.canonical:
            raise ValueError(
                f"{subject}, whose increments are no canonical coordinates; 'commutator_free' "
                "composes exponentials, use scheme='motion_vector'"
            )
