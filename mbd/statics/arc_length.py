r"""The path of equilibria over the load factor f, also past limit points [1]_.

From a point of the path with the tangent :math:`(t, t_f)` of unit length a step of length s solves

.. math:: g(q, \lambda, f) = 0, \qquad \Phi(q) = 0, \qquad
          t^T W\,\delta + t_f\,(f - f_0) = s

by Newton's method (``load_path.py``); W measures displacements by the model's length and turns in
radians.

References
----------
.. [1] H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems, 1977.
"""

from __future__ import annotations

import numpy as np

from mbd.model.state import State
from mbd.statics.balance import Statics
from mbd.statics.descent import nearest
from mbd.statics.load_path import LoadPath, PathTangent
from mbd.statics.search import EquilibriumError, SearchResult


def follow(
    problem: Statics, start: State, target: float, ds: float, most: int
) -> list[tuple[float, SearchResult]]:
    """Return the points (load factor, equilibrium) from factor 0 to the target."""
    first = nearest(problem, start, 0.0, 100)
    points = [(0.0, first)]
    path, step = LoadPath(problem, first.balance, 0.0), ds
    at = path.start

    def poses() -> list[tuple[float, State]]:
        return [(f, x.balance.state) for f, x in points]

    tangent = path.tangent(at, PathTangent(np.zeros(problem.model.n_v), np.sign(target) or 1.0))
    while len(points) < most:
        new = path.ahead(at, tangent, step)
        if new is None:
            step /= 2
            if step < ds / 1000:
                raise EquilibriumError(
                    f"the path of equilibria could not be followed beyond load factor "
                    f"{at.factor:g}; try a smaller arc_length=",
                    at.balance.state,
                    poses(),
                )
            continue
        state, f = new.balance.state, new.factor
        if (f - target) * (at.factor - target) <= 0.0 and f != at.factor:
            return [*points, (target, nearest(problem, state, target, 100))]
        balance, iterations = problem.at(state, f), new.iterations - at.iterations
        points.append((f, SearchResult(balance, iterations, problem.imbalance(balance, f))))
        tangent, at = path.tangent(new, tangent), new
        step = min(ds, 2.0 * step)
    limits = f"{min(f for f, _ in points):g} to {max(f for f, _ in points):g}"
    raise EquilibriumError(
        f"the path of equilibria did not reach load factor {target:g} in {most} points, it has "
        f"been at {limits} and ended at {at.factor:g}; try a larger arc_length= or "
        "max_iterations=",
        at.balance.state,
        poses(),
    )
