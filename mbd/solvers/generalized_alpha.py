r"""Floor 4. Generalized-alpha: the parameters of the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.algebra import memory as m

if TYPE_CHECKING:
    from mbd.model.model import Model


from mbd.parts.door import number

__all__ = ["GeneralizedAlpha"]


@dataclass(frozen=True)
class GeneralizedAlpha:
    r"""Generalized-alpha on manifolds, constraints at position level (index 3).

    .. math:: \alpha_m = \frac{2\rho-1}{\rho+1},\quad \alpha_f = \frac{\rho}{\rho+1},\quad
       \gamma = \tfrac12 + \alpha_f - \alpha_m,\quad \beta = \tfrac14(\gamma + \tfrac12)^2

    Second order in positions, velocities and multipliers.

    Parameters
    ----------
    rho : float
        Spectral radius at infinite frequency, 0 (annihilates what the step cannot resolve) to 1
        (conserves). Redundant coordinates with fast spin want it well below 1.
    tol : float
        Accepted error of accelerations and multipliers in one step, relative to the largest of
        their kind.
    max_iterations : int
        Newton iterations of one step.
    newton : str
        "modified" keeps a factorisation while it converges well, "full" makes a new one each time.
    linear_solver : str
        "fronts" (block LU, static order) or "splu" (SuperLU with pivoting: slow, to compare).

    References
    ----------
    .. [1] Chung and Hulbert, J. Appl. Mech. 60 (1993). Arnold and Bruels, Multibody Syst. Dyn. 18
       (2007). Bruels, Cardona and Arnold, Mech. Mach. Theory 48 (2012).
    """

    rho: float = 0.8
    tol: float = 1e-9
    max_iterations: int = 20
    newton: str = "modified"
    linear_solver: str = "fronts"

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "GeneralizedAlpha"
        if not 0.0 <= number(who, "rho", self.rho, "-") <= 1.0:
            raise ValueError(f"{who}: rho must be in [0, 1] [-], got {self.rho}")
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        if not (isinstance(self.max_iterations, int | np.integer) and self.max_iterations >= 1):
            raise ValueError(
                f"{who}: max_iterations must be a whole number, at least 1, got "
                f"{self.max_iterations!r}"
            )
        for name, value, known in (
            ("newton", self.newton, ("modified", "full")),
            ("linear_solver", self.linear_solver, ("fronts", "splu")),
        ):
            if value not in known:
                raise ValueError(
                    f"GeneralizedAlpha: {name} must be one of {', '.join(known)}, got {value!r}"
                )

    @property
    def alpha_m(self) -> float:
        """Weight of the old algorithmic acceleration."""
        return (2 * self.rho - 1) / (self.rho + 1)

    @property
    def alpha_f(self) -> float:
        """Weight of the old acceleration."""
        return self.rho / (self.rho + 1)

    @property
    def gamma(self) -> float:
        """Newmark's gamma."""
        return 0.5 + self.alpha_f - self.alpha_m

    @property
    def beta(self) -> float:
        """Newmark's beta."""
        return 0.25 * (self.gamma + 0.5) ** 2

    @property
    def kernel(self) -> Any:
        """The compiled loop over steps."""
        from mbd.solvers.advance import advance

        return advance

    def prepare(self, model: Model, I: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method where the loop finds them."""
        I[m.MAX_ITER] = self.max_iterations
        I[m.FULL_NEWTON] = int(self.newton == "full")
        I[m.PROJECT] = int(model.redundant)
        F[m.TOL], F[m.THETA] = self.tol, 0.5
        F[m.ALPHA_M], F[m.ALPHA_F] = self.alpha_m, self.alpha_f
        F[m.BETA], F[m.GAMMA] = self.beta, self.gamma
