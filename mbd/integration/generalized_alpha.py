r"""Generalized-alpha and its family: the parameters of the method."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from mbd.algebra.newmark import Weights, damping_weights, largest_damping
from mbd.base.checked import one_of, whole
from mbd.base.door import number, vector, within
from mbd.integration.adaptive import advance_adaptive, own_floats, resize
from mbd.integration.method import Facts, FreeSteps, newton_failed, once
from mbd.integration.newton_loop import advance
from mbd.integration.starting_values import begin, first_step
from mbd.machine import buffer as m
from mbd.machine.two_threads import share
from mbd.model.frozen import FrozenModel
from mbd.model.workspace import Workspace

_LEVELS = {"position": m.POSITION, "velocity": m.VELOCITY, "stabilized": m.STABILIZED}


@dataclass(frozen=True)
class GeneralizedAlpha:
    r"""Generalized-alpha on manifolds.

    .. math:: (1-\alpha_m)\,a_{n+1} + \alpha_m a_n = (1-\alpha_f)\,\dot v_{n+1} + \alpha_f \dot v_n,
       \qquad \alpha_m = \frac{2\rho-1}{\rho+1},\quad \alpha_f = \frac{\rho}{\rho+1},\quad
       \gamma = \tfrac12 + \alpha_f - \alpha_m,\quad \beta = \tfrac14(\gamma + \tfrac12)^2

    Second order in positions, velocities and multipliers. Newmark, HHT and Bossak are members of
    the family: ``GeneralizedAlpha.newmark()``, ``.hht()``, ``.bossak()``.

    Equations :eq:`parameters`, :eq:`step` and :eq:`S` of the theory page; constraint levels in
    :eq:`levels`, the first step in :eq:`starting`.

    Parameters
    ----------
    rho : float [-]
        Spectral radius at infinite frequency, 0 (annihilates what the step cannot resolve) to 1
        (conserves). At position level redundant coordinates with fast spin want it well below 1.
    constraints : {"position", "velocity", "stabilized"}, optional
        Which rows a step meets. "position" (index 3): :math:`\Phi = 0`. "velocity" (index 2):
        :math:`\dot\Phi = 0`; positions drift slowly, except in closed loops with redundant rows,
        which that would lock: they are stabilised. "stabilized": both, by a further set of
        multipliers eta that moves positions, :math:`q_{n+1} = q_n \boxplus (h\Delta + \delta)` with
        :math:`S\delta + B^T\eta = 0`, at the cost of a second solve an iteration. Default
        "position", and "stabilized" where the steps are chosen (``rtol``): at position level
        multipliers would feel every change of the step.
    tol : float [-]
        Accepted error of accelerations and multipliers in one step, relative to the largest of
        their kind.
    max_iterations : int
        Newton iterations of one step.
    newton : {"modified", "full"}
        "modified" keeps a factorisation while it converges well, "full" makes a new one each time.
    linear_solver : {"fronts", "splu"}
        "fronts" (block LU, static order) or "splu" (SuperLU with pivoting: slow, to compare).
    weights : tuple, optional
        (alpha_m, alpha_f, beta, gamma) of another member of the family, in place of those of rho.

    References
    ----------
    .. [1] Chung and Hulbert, J. Appl. Mech. 60 (1993). Arnold and Bruels, Multibody Syst. Dyn. 18
       (2007). Bruels, Cardona and Arnold, Mech. Mach. Theory 48 (2012). Arnold, Bruels and
       Cardona, Numer. Math. 129 (2015): starting values and the stabilised form.
    """

    rho: float = 0.8
    constraints: Literal["position", "velocity", "stabilized"] | None = None
    tol: float = 1e-9
    max_iterations: int = 20
    newton: Literal["modified", "full"] = "modified"
    linear_solver: Literal["fronts", "splu"] = "fronts"
    weights: tuple[float, float, float, float] | None = None

    kernel: ClassVar[Any] = advance  #: the compiled loop over steps

    def __post_init__(self) -> None:
        """Check the parameters."""
        who = "GeneralizedAlpha"
        within(who, "rho", self.rho, "-", 0.0, 1.0)
        if not 0.0 < number(who, "tol", self.tol, "-") < 1.0:
            raise ValueError(f"{who}: tol must be in (0, 1) [-], got {self.tol}")
        for name in ("rho", "tol"):  # methods are keys: numbers, no arrays of one
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(
            self, "max_iterations", whole(who, "max_iterations", self.max_iterations, 1)
        )
        for name, value, choices in (
            (
                "constraints",
                "position" if self.constraints is None else self.constraints,
                tuple(_LEVELS),
            ),
            ("newton", self.newton, ("modified", "full")),
            ("linear_solver", self.linear_solver, ("fronts", "splu")),
        ):
            one_of(who, name, value, choices)
        if self.weights is not None:
            weights = vector(who, "weights", self.weights, "-", 4)
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    @classmethod
    def newmark(cls, gamma: float = 0.5, beta: float | None = None, **options: Any) -> Self:
        """Return Newmark's method; beta (gamma + 1/2)^2/4; second order at gamma = 1/2 only.

        The undamped one (gamma = 1/2) lets multipliers at position level oscillate; take the
        velocity level or the stabilised form.
        """
        gamma = number("GeneralizedAlpha.newmark", "gamma", gamma, "-")
        return cls(
            weights=(0.0, 0.0, largest_damping(gamma) if beta is None else beta, gamma), **options
        )

    @classmethod
    def hht(cls, alpha: float = 0.1, **options: Any) -> Self:
        """Return the method of Hilber, Hughes and Taylor, alpha in [0, 1/3] (damping)."""
        alpha = _damping("hht", alpha)
        return cls(weights=(0.0, alpha, largest_damping(0.5 + alpha), 0.5 + alpha), **options)

    @classmethod
    def bossak(cls, alpha: float = 0.1, **options: Any) -> Self:
        """Return the method of Wood, Bossak and Zienkiewicz, alpha in [0, 1/3] (damping)."""
        alpha = _damping("bossak", alpha)
        return cls(weights=(-alpha, 0.0, largest_damping(0.5 + alpha), 0.5 + alpha), **options)

    @property
    def level(self) -> Literal["position", "velocity", "stabilized"]:
        """Which rows steps of one size meet."""
        return self.constraints or "position"

    @property
    def alpha(self) -> Weights:
        """The weights, given or those of rho."""
        return damping_weights(self.rho) if self.weights is None else Weights(*self.weights)

    @property
    def alpha_m(self) -> float:
        """Weight of the old algorithmic acceleration."""
        return self.alpha.alpha_m

    @property
    def alpha_f(self) -> float:
        """Weight of the old acceleration."""
        return self.alpha.alpha_f

    @property
    def gamma(self) -> float:
        """Newmark's gamma."""
        return self.alpha.gamma

    @property
    def beta(self) -> float:
        """Newmark's beta."""
        return self.alpha.beta

    @property
    @once
    def facts(self) -> Facts:
        """Facts for runs."""
        weights = self.alpha
        am, af, beta, _ = weights
        by_position = self.level == "position"
        rows = "" if by_position else f", {self.level} rows"
        member = f"rho = {self.rho:g}"
        if self.weights:
            member = "weights " + ", ".join(f"{x:g}" for x in self.weights)
        damping = "with weights (hht, bossak, newmark), whose damping they say"
        return Facts(
            title=f"generalized-alpha with {member}{rows}, {self.newton} Newton",
            orders=(2, 2),
            error=(abs(1 / 6 - beta - 0.5 * (am - af)), 1),
            level=self.level,
            velocities_of_step=by_position,
            start=partial(begin, weights=weights, by_position=by_position),
            resize=resize,
            free=FreeSteps(
                kernel=advance_adaptive,
                first_step=partial(first_step, weights=weights),
                check=self._check_free,
            ),
            linear_solver=self.linear_solver,
            divided_by=self,
            weights=weights,
            own_floats=own_floats,
            oscillation=beta,
            failure=self._failed,
            complete=partial(_complete, self),
            fixed={"rho": damping} if self.weights else {},
            sharp={"newton": "full", "tol": 1e-10},
        )

    def _check_free(self, model: FrozenModel, chosen: bool) -> None:
        """Refuse what has no steps within a tolerance."""
        if self.linear_solver != "fronts":
            raise ValueError("simulate: rtol and t_eval need linear_solver='fronts'")
        if chosen and self.constraints == "position" and model.n_lam:
            raise ValueError(
                "simulate: rtol needs constraints='stabilized' (its default) or 'velocity', got "
                "'position', where multipliers feel every change of the step"
            )

        if chosen:
            for body in model.nodes.values():
                if not body.formulation.canonical:
                    raise ValueError(
                        f"simulate: {body.name!r} is carried by {body.formulation.name!r}, whose "
                        "increments are no canonical coordinates: what a step of generalized-alpha "
                        "lacks by them is not estimated; use RadauCollocation for rtol, or steps"
                    )

    def _failed(self, work: Workspace, where: str) -> str:
        """Return the message on a step that failed."""
        stabilized = ", constraints='stabilized'"
        by_position = self.level == "position" and work.model.n_lam
        return newton_failed(work, f"{where}, a smaller rho{stabilized if by_position else ''}")

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Write the parameters of the method where the loop finds them."""
        S[m.MAX_ITER] = self.max_iterations
        S[m.FULL_NEWTON] = int(self.newton == "full")
        F[m.TOL], F[m.THETA] = self.tol, 0.5
        F[m.ALPHA_M], F[m.ALPHA_F], F[m.BETA], F[m.GAMMA] = self.alpha
        F[m.H_LAST] = 0.0
        locks = self.level == "velocity" and model.redundant  # by the drift of positions
        S[m.LEVEL] = m.STABILIZED if locks else _LEVELS[self.level]
        if model.threads == 2:
            share(S)
        S[m.ELASTIC] = int(S[m.LEVEL] != m.POSITION)


@once
def _complete(method: GeneralizedAlpha, free: bool) -> GeneralizedAlpha:
    """Return the method with a level: rows are stabilised where steps are chosen."""
    if method.constraints is not None:
        return method
    return replace(method, constraints="stabilized" if free else "position")


def _damping(who: str, alpha: float) -> float:
    """Check the parameter of HHT and Bossak."""
    if not 0.0 <= number(f"GeneralizedAlpha.{who}", "alpha", alpha, "-") <= 1 / 3:
        raise ValueError(f"GeneralizedAlpha.{who}: alpha must be in [0, 1/3] [-], got {alpha}")
    return float(alpha)
