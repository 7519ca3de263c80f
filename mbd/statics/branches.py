"""An equilibrium by way of the load, past critical points."""

from __future__ import annotations

import numpy as np

from mbd.model.state import State
from mbd.statics.balance import Statics
from mbd.statics.descent import nearest
from mbd.statics.load_path import LoadPath, LoadPoint
from mbd.statics.search import EquilibriumError, SearchResult


def along_the_load(problem: Statics, start: State, factor: float, most: int) -> SearchResult | None:
    """Return an equilibrium to which a stable one without the load leads, if there is a path.

    In a turning frame forces have no potential, and nothing is asked of K.
    """
    if problem.turning:
        return None
    try:
        point = _followed(problem, start, factor, most)
        if point is None:
            return None
        end = nearest(problem, point.balance.state, factor, most)
    except EquilibriumError:
        return None
    return SearchResult(end.balance, point.iterations + end.iterations, end.imbalance)


def _followed(problem: Statics, start: State, factor: float, most: int) -> LoadPoint | None:
    """Return the point of a path on which no curvature is negative.

    Past a critical point it goes on along another branch. Close to the critical point that begins
    mildly, however stiff the rest is.
    """
    path = LoadPath(problem, nearest(problem, start, 0.0, most).balance, 0.0)
    point, step = path.start, factor
    if path.negative(point) or path.moves_freely(point):
        return None
    for _ in range(most):
        if point.factor == factor or point.iterations > most:
            break
        left = factor - point.factor  # a branch may begin beyond the factor
        step = np.copysign(min(abs(step), abs(left)), left)
        wanted = factor if step == left else point.factor + step
        ahead = path.to(point, wanted)
        if ahead is None:
            step *= 0.5
        elif not path.negative(ahead):
            point, step = ahead, 2.0 * step
        elif abs(step) > 1e-3 * abs(wanted):
            step *= 0.25
        else:
            branch = path.branch(ahead, 0)
            if branch is None:
                return None
            point = branch
        if abs(step) <= 1e-10 * abs(factor):
            return None
    return point if point.factor == factor and point.iterations <= most else None
