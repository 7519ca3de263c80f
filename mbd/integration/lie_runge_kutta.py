r"""The explicit Lie-group Runge-Kutta methods: parameters, and the models they apply to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import one_of
from mbd.formulations.families import family
from mbd.integration import quaternion_steps, runge_kutta
from mbd.integration.method import Facts
from mbd.integration.quaternion_steps import quaternion
from mbd.integration.runge_kutta import commutator_free, motion_vector
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel

if TYPE_CHECKING:
    from mbd.formulations.formulation import Formulation

__all__ = ["LieRungeKutta4"]

_SCHEMES = {
    "motion_vector": (motion_vector, runge_kutta.memory),
    "commutator_free": (commutator_free, runge_kutta.memory),
    "quaternion": (quaternion, quaternion_steps.memory),
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
        "commutator_free": products of exponentials, no tangent operator [3]_; for the same bodies.
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

    scheme: str = "motion_vector"

    def __post_init__(self) -> None:
        """Check the scheme."""
        one_of("LieRungeKutta4", "scheme", self.scheme, _SCHEMES)

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return _SCHEMES[self.scheme][0]

    @property
    def facts(self) -> Facts:
        """What the runs are told of it."""
        return Facts(
            title=f"Lie-group Runge-Kutta, {self.scheme}", orders=(4, 4), error=(1 / 120, 3),
            level="position", failure=_failed,
            memory=_SCHEMES[self.scheme][1],
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
            S[S[m.FLOW] + 2 * s] = kernel.address
            if kernels.convect is not None and self.scheme == "motion_vector":
                to = S[m.CONVECT] + 2 * S[m.CONVECT + 1]
                S[to : to + 2] = kernels.convect.address, S[S[m.FLOW] + 2 * s + 1]
                S[m.CONVECT + 1] += 1

    def _check(self, name: str, formulation: Formulation) -> None:
        """Refuse a formulation that the scheme cannot move."""
        subject = f"LieRungeKutta4: {name!r} is carried by {formulation.name!r}"
        if self.scheme == "quaternion":
            if formulation.carry is None:
                raise ValueError(
                    f"{subject}, which does not say how a unit quaternion moves it (a body that "
                    "changes its scale has no such motion); use GeneralizedAlpha"
                )
        elif formulation.flow is None:
            way_out = "" if formulation.carry is None else "scheme='quaternion', or "
            raise ValueError(
                f"{subject}, whose coordinates are no group with a tangent operator; the scheme "
                f"{self.scheme!r} needs so3, se3, unified, point, or coordinates without rows of "
                f"their own, such as Scalable(rigid=False); use {way_out}"
                "GeneralizedAlpha"
            )


def _failed(model: FrozenModel, where: str) -> str:
    """Return the message on a step that failed."""
    del model
    return f"the explicit step failed {where}"
