r"""The energy-momentum scheme: its parameters, and the models it applies to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mbd.base.checked import one_of, whole
from mbd.integration.method import Facts
from mbd.integration.midpoint import N_VECTORS, conserve
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel


def _own_floats(model: FrozenModel) -> int:
    """Return how many numbers the scheme keeps of its own."""
    return N_VECTORS * int(model.I[m.N_U])


@dataclass(frozen=True)
class EnergyMomentum:
    r"""Midpoint scheme that conserves energy and momenta to round-off, joints and springs included.

    Springs with laws and stops too: they act by their mean over the elongation. A law of rate or
    time drives or dissipates; its means are taken at the rate and time of the middle.

    For bodies whose coordinates are linear, ``formulation="directors"``, and point masses. Second
    order; a conservative system keeps its total energy, whatever the step, and what symmetry
    conserves is conserved. Accelerations are mean values over a step, and multipliers those of its
    middle: they are first order at the recorded instants.

    Equation :eq:`midpoint` of the theory page.

    Parameters
    ----------
    max_iterations : int
        Newton iterations of one step; they go on to round-off of the positions.
    linear_solver : {"fronts"}
        There is one: the compiled elimination, front by front.

    References
    ----------
    .. [1] Gebhardt and Romero, The rotating rigid body model based on a non-twisting frame, 2020.
       Gonzalez, J. Nonlinear Science 6 (1996).
    """

    max_iterations: int = 40
    linear_solver: Literal["fronts"] = "fronts"

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole("EnergyMomentum", "max_iterations", self.max_iterations, 2)
        one_of("EnergyMomentum", "linear_solver", self.linear_solver, ("fronts",))

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        return conserve

    @property
    def facts(self) -> Facts:
        """What the runs are told of it: multipliers are those of the middle of the step."""
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
            if not body.formulation.linear:
                raise ValueError(
                    f"EnergyMomentum: {body.name!r} is carried by {body.formulation.name!r}, whose "
                    "face is not linear in its coordinates, so that the midpoint rule does not "
                    "conserve its energy; use formulation='directors', or GeneralizedAlpha"
                )
        for name, elements in model.numbering.elements.items():
            if not all(element.kind.secant for element, _ in elements):
                raise ValueError(
                    f"EnergyMomentum: {name!r} has a row that is not quadratic in positions or "
                    "follows a law of time, so that the midpoint rule does not conserve energy; "
                    "use GeneralizedAlpha"
                )
        for part in model.system.parts.values():
            if not all(element.kind.secant for element in part.elements()):
                raise ValueError(
                    f"EnergyMomentum: {part.name!r} has a force whose work over a step is not that "
                    "of an energy yet (a measure without a secant gradient, an added mass); use "
                    "GeneralizedAlpha"
                )
        self._replace(model, S)
        S[m.MAX_ITER] = self.max_iterations

    @staticmethod
    def _replace(model: FrozenModel, S: np.ndarray) -> None:
        """Let springs act by their means and secants."""
        kinds = {e.kind for part in model.system.parts.values() for e in part.elements()}
        stands_for: dict[Any, Any] = {}
        for kind in kinds:
            if kind.conserving is not None:
                stands_for |= dict(zip((kind.forces, kind.tangent), kind.conserving, strict=True))
        for stage in (m.FORCES, m.TANGENT):
            for s, (kernel, _) in enumerate(model.kernels[stage]):
                if kernel in stands_for:
                    S[S[stage] + 2 * s] = stands_for[kernel].address
