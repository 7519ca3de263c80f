r"""The path of equilibria over the load factor f, also past limit points [1]_.

From a point of the path with the tangent :math:`(t, t_f)` of unit length a step of length s solves

.. math:: g(q, \lambda, f) = 0, \qquad \Phi(q) = 0, \qquad
          t^T W\,\delta + t_f\,(f - f_0) = s

by Newton's method; W measures displacements by the model's length and turns in radians.

References
----------
.. [1] H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems, 1977.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mbd.base.tolerances import ARC_ITERATIONS, ARC_RESOLVED, HELD
from mbd.machine import buffer as m
from mbd.model.state import State
from mbd.model.workspace import displaced
from mbd.small_motions.metric import Metric
from mbd.statics.balance import Balance, SaddlePoint, Statics, accepted
from mbd.statics.descent import nearest
from mbd.statics.search import EquilibriumError, SearchResult


class _Bordered:
    """The bordered equations of one problem."""

    def __init__(self, problem: Statics, start: State) -> None:
        self.problem = problem
        v_kinds = problem.model.numbering.v_kinds
        length = float(problem.model.F[m.LENGTH])
        self.metric = Metric(problem.model, start)
        self.W = np.where(v_kinds == m.TRANSLATION, length**-2, 1.0)

    def solve(
        self, at: Balance, load: np.ndarray, tangent: tuple[np.ndarray, float],
        right: tuple[np.ndarray, np.ndarray, float],
    ) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
        """Return increments of q, lambda and f."""
        t, tf = tangent
        held = sp.csr_matrix(at.K + HELD * self.metric.stiff(at.K))
        B = sp.vstack([at.B, sp.csr_matrix(self.W * t)])
        Bt = sp.hstack([at.Bt, sp.csr_matrix(load[:, None])])
        solver = SaddlePoint(held, sp.csr_matrix(B), sp.csr_matrix(Bt), tf)
        x, y = solver.solve(right[0], np.append(right[1], right[2]))
        return x, y[:-1], float(y[-1])

    def tangent(self, at: Balance, before: tuple[np.ndarray, float]) -> tuple[np.ndarray, float]:
        """Return the tangent of the path that goes on in the same sense."""
        zero = np.zeros_like(at.forces), np.zeros(at.B.shape[0])
        t, _, tf = self.solve(at, self.problem.load(at.state), before, (*zero, 1.0))
        size = float(np.sqrt(t @ (self.W * t) + tf * tf))
        return t / size, tf / size

    def step(
        self, at: Balance, factor: float, tangent: tuple[np.ndarray, float], ds: float
    ) -> tuple[Balance, float, int] | None:
        """Return the next point of the path and its iterations, or None."""
        t, tf = tangent
        model = self.problem.model
        state = displaced(model, at.state, ds * t)
        f, last = factor + ds * tf, np.inf
        for i in range(ARC_ITERATIONS):
            now = self.problem.at(state, f)
            g, gap = now.residual, now.gap
            x, mu, df = self.solve(now, self.problem.load(now.state), tangent, (-g, -gap, 0.0))
            ahead = float(np.sqrt(x @ (self.W * x) + df * df))
            if not np.isfinite(ahead) or ahead > 5 * ds:
                return None
            if ahead <= ARC_RESOLVED or (ahead > 0.5 * last and self._balanced(now, f)):
                return (now, f, i) if self._balanced(now, f) else None
            last = ahead
            state = displaced(model, state, x).replace(lam=state.lam + mu)
            f += df
        return None

    def _balanced(self, at: Balance, f: float) -> bool:
        """Tell whether little is out of balance."""
        return bool(self.problem.imbalance(at, f).balanced)


def follow(
    problem: Statics, start: State, target: float, ds: float, most: int
) -> list[tuple[float, SearchResult]]:
    """Return the points (load factor, equilibrium) from factor 0 to the target."""
    first = nearest(problem, start, 0.0, 100)
    path = _Bordered(problem, first.balance.state)
    points = [(0.0, first)]
    at, factor, step = first.balance, 0.0, ds

    def poses() -> list[tuple[float, State]]:
        return [(f, x.balance.state) for f, x in points]

    tangent = path.tangent(at, (np.zeros(problem.model.n_v), np.sign(target) or 1.0))
    while len(points) < most:
        new = path.step(at, factor, tangent, step)
        if new is None:
            step /= 2
            if step < ds / 1000:
                raise EquilibriumError(
                    f"the path of equilibria could not be followed beyond load factor {factor:g}; "
                    "try a smaller arc_length=",
                    at.state,
                    poses(),
                )
            continue
        balance, f, iterations = new
        crossed = (f - target) * (factor - target) <= 0.0 and f != factor
        if crossed:
            last = nearest(problem, balance.state, target, 100)
            points.append((target, last))
            return points
        balance = problem.at(accepted(problem.model, balance.state), f)
        points.append((f, SearchResult(balance, iterations, problem.imbalance(balance, f))))
        tangent = path.tangent(balance, tangent)
        at, factor = balance, f
        step = min(ds, 2.0 * step)
    limits = f"{min(f for f, _ in points):g} to {max(f for f, _ in points):g}"
    raise EquilibriumError(
        f"the path of equilibria did not reach load factor {target:g} in {most} points, it has "
        f"been at {limits} and ended at {factor:g}; try a larger arc_length= or max_iterations=",
        at.state,
        poses(),
    )
