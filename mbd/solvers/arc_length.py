r"""Floor 4. The path of equilibria over the load factor f, also past limit points [1]_.

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

from mbd.algebra import memory as m
from mbd.algebra.tolerances import ARC_DONE, ARC_ITERATIONS
from mbd.model.model import State
from mbd.solvers.descent import EquilibriumError, Found, nearest, seen
from mbd.solvers.poses import displaced
from mbd.solvers.statics import Balance, SaddlePoint, Statics, accepted

__all__ = ["follow"]


class _Path:
    """The bordered equations of one problem."""

    def __init__(self, problem: Statics) -> None:
        self.problem = problem
        kinds = problem.model.numbering.v_kinds
        length = float(problem.model.F[m.LENGTH])
        self.length = length
        self.W = np.where(kinds == m.TRANSLATION, length**-2, 1.0)

    def solve(
        self, at: Balance, load: np.ndarray, tangent: tuple[np.ndarray, float],
        right: tuple[np.ndarray, np.ndarray, float],
    ) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
        """Return increments of q, lambda and f."""
        t, tf = tangent
        weight = sp.diags(1.0 / self.problem.scale**2)
        soft = 1e-12 * float(np.abs(at.K).max() or 1.0)
        B = sp.vstack([at.B, sp.csr_matrix(self.W * t)])
        Bt = sp.hstack([at.Bt, sp.csr_matrix(load[:, None])])
        solver = SaddlePoint(at.K + soft * weight, sp.csr_matrix(B), sp.csr_matrix(Bt), tf)
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
        f = factor + ds * tf
        for i in range(ARC_ITERATIONS):
            now = self.problem.at(state, f)
            g, gap = now.residual, now.gap
            size = seen(now, self.W**-0.5).max(initial=0.0)
            closed = np.abs(gap).max(initial=0.0) <= 1e-12 * max(1.0, self.length)
            if i and np.abs(g).max(initial=0.0) <= ARC_DONE * size and closed:
                return now, f, i
            x, mu, df = self.solve(now, self.problem.load(now.state), tangent, (-g, -gap, 0.0))
            if not np.isfinite(x).all() or np.sqrt(x @ (self.W * x)) > 5 * ds:
                return None
            state = displaced(model, state, x).replace(lam=state.lam + mu)
            f += df
        return None


def follow(
    problem: Statics, start: State, target: float, ds: float, most: int
) -> list[tuple[float, Found]]:
    """Return the points (load factor, equilibrium) from factor 0 to the target."""
    path = _Path(problem)
    first = nearest(problem, start, 0.0, 100)
    found = [(0.0, first)]
    at, factor, step = first.balance, 0.0, ds
    tangent = path.tangent(at, (np.zeros(problem.model.n_v), np.sign(target) or 1.0))
    while len(found) < most:
        new = path.step(at, factor, tangent, step)
        if new is None:
            step /= 2
            if step < ds / 1000:
                raise EquilibriumError(
                    f"the path of equilibria could not be followed beyond load factor {factor:g}; "
                    "try a smaller arc_length=",
                    at.state,
                )
            continue
        balance, f, iterations = new
        crossed = (f - target) * (factor - target) <= 0.0 and f != factor
        if crossed:
            last = nearest(problem, balance.state, target, 100)
            found.append((target, last))
            return found
        balance = problem.at(accepted(problem.model, balance.state), f)
        found.append((f, Found(balance, iterations)))
        tangent = path.tangent(balance, tangent)
        at, factor = balance, f
        if iterations <= 4:
            step = min(ds, 1.5 * step)
    raise EquilibriumError(
        f"the path of equilibria did not reach load factor {target:g} in {most} points; it ended "
        f"at {factor:g}; try a larger arc_length= or max_iterations=",
        at.state,
    )
