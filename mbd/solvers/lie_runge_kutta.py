r"""Floor 4. The explicit Lie-group Runge-Kutta method: what it is for and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbd.algebra import memory as m

if TYPE_CHECKING:
    from mbd.model.model import Model

__all__ = ["LieRungeKutta4"]

_EXPONENTIAL = ("so3", "se3", "unified", "point")  # q [+] d is a flow of constant velocity


@dataclass(frozen=True)
class LieRungeKutta4:
    r"""Explicit method of order four on Lie groups, for bodies without joints.

    Four evaluations a step, no iteration; bodies may be coupled by springs and loaded. Rotations
    stay rotations to round-off. The step must resolve the highest frequency, omega h < 2.8.

    References
    ----------
    .. [1] Celledoni, Marthinsen and Owren, "Commutator-free Lie group methods", 2003. Holzinger,
       Schöberl and Gerstmayr, 2020, section 5, use tangent operators to the same order.

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

    linear_solver: ClassVar[str] = "fronts"
    max_iterations: ClassVar[int] = 1

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        from mbd.solvers.runge_kutta import explicit

        return explicit

    def prepare(self, model: Model, I: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method; refuse what it cannot move."""
        del F
        for body in model.system.bodies.values():
            if body.formulation.name not in _EXPONENTIAL:
                raise ValueError(
                    f"LieRungeKutta4: {body.name!r} is carried by {body.formulation.name!r}; the "
                    f"method needs one of {', '.join(_EXPONENTIAL)}, or use GeneralizedAlpha"
                )
        if model.n_lam:
            raise ValueError(
                f"LieRungeKutta4: the method is explicit and cannot keep {model.n_lam} constraint "
                f"rows, the first is {model.numbering.lam_labels[0]!r}; use GeneralizedAlpha"
            )
        I[m.MAX_ITER] = self.max_iterations
