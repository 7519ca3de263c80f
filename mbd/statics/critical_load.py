r"""The first critical point on a path of equilibria: the load factor at which K becomes singular.

The path is followed by steps that double until the number of negative curvatures changes. Between
two such factors the root of the curvature nearest to zero, negative where the number is another
one, is found by Brent's method [1]_. Towards a limit point, beyond which there is no pose, Newton's
steps are lost at ever smaller steps, and the curvature vanishes as the root of what is left.

References
----------
.. [1] R. P. Brent, Algorithms for minimization without derivatives, 1973, chapter 4.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from mbd.base.tolerances import ROUND_OFF
from mbd.model.state import State
from mbd.statics.balance import Balance, Statics
from mbd.statics.load_path import LoadPath, LoadPoint


def first_critical(
    problem: Statics, start: Balance, base: float
) -> tuple[State, float, np.ndarray] | None:
    """Return pose, load factor and shape (n_v,) of the first critical point beyond a factor.

    None where none is met.
    """
    path = LoadPath(problem, start, base)
    usual, first = path.negative(path.start), abs(path.lowest(path.start)[0])
    last = path.start
    reach = path.reach()
    step = min(1.0, reach)
    for _ in range(200):
        ahead = path.to(last, last.factor + step)
        if ahead is not None and path.negative(ahead) != usual:
            last = _crossed(path, last, ahead, usual)
            break
        if ahead is None:
            step *= 0.5
            if step <= 1e-10 * abs(last.factor):
                break
        else:
            last, step = ahead, 2.0 * step
            if step * np.finfo(float).eps > reach:  # all stiffness is that of the loads
                return None
    size, shape = path.lowest(last)
    vanished = abs(size) <= ROUND_OFF**0.25 * first
    balanced = problem.imbalance(last.balance, last.factor).balanced
    return (last.balance.state, last.factor, shape) if vanished and balanced else None


def _crossed(path: LoadPath, low: LoadPoint, high: LoadPoint, usual: int) -> LoadPoint:
    """Return the point nearest to where the number of negative curvatures changes."""
    points = {x.factor: x for x in (low, high)}

    def curvature(factor: float) -> float:
        if factor not in points:
            nearest = max(f for f in points if f <= factor)
            point = path.to(points[nearest], factor)
            if point is None:
                return -abs(path.lowest(low)[0])
            points[factor] = point
        point = points[factor]
        size = abs(path.lowest(point)[0])
        return size if path.negative(point) == usual else -size

    root = brentq(curvature, low.factor, high.factor, xtol=np.finfo(float).tiny, rtol=1e-10)
    return points[min(points, key=lambda f: abs(f - root))]
