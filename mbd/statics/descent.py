r"""Descent from a pose to an equilibrium.

A step solves, with the out-of-balance forces g,

.. math:: \begin{bmatrix} K + \sigma D & B^T \\ B & 0 \end{bmatrix}
          \begin{bmatrix} \delta \\ \mu \end{bmatrix} = -\begin{bmatrix} g \\ \Phi \end{bmatrix} .

It is Newton's step for :math:`\sigma = 0` and goes straight down for large ones [1]_. "minimum"
takes a :math:`\sigma` with which the matrix is positive on the motions that the rows allow, as its
inertia says, and a step if the forces have done work on the way. "nearest" takes Newton's steps,
shortened until the step that the same matrix makes from their end is shorter (the natural test of
monotony [2]_), and finds unstable equilibria as well.

Both begin with Newton's steps in which stresses are iterates of their own (``stresses.py``): a step
along what is soft stretches what is stiff by the square of its length, which they do not see.
Beams whose stiffness along is 1e12 times that across bend far in some ten steps. "minimum" goes on
with them while K is positive. Where they do not lead to a balance, "minimum" goes by way of the
load (``branches.py``), and both then go downhill from the start, by Newton's steps where K is
positive.

The search ends where Newton's steps stop getting shorter, or are shorter than positions are
resolved. Steps know stiff directions from soft ones; forces do not: beside what a stiff direction
makes of the round-off of positions, or of a displacement, a real load may be small.

The multipliers are those that balance forces rather than moments (``metric.py``), so that K holds
the stiffness of tensions, and D is the size of these forces: bodies of a long chain turn side by
side, and the number of steps hardly depends on how many there are.

References
----------
.. [1] J. Nocedal and S. J. Wright, Numerical optimization, 2006, section 10.3.
.. [2] P. Deuflhard, Newton methods for nonlinear problems, 2004, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd.base.tolerances import REST_NEARER
from mbd.model.state import State
from mbd.statics.balance import Statics
from mbd.statics.search import Search, SearchPose, SearchResult, Way

ByLoad = Callable[[], SearchResult | None]


class _Iterations:
    """Iterations, of which so many are given; those that come steadily nearer do not count.

    A spring that is wound up by many turns unwinds by steps of limited size, each of which leaves
    less ahead; they may become longer. In all there are no more than five times as many.
    """

    def __init__(self, search: Search, most: int) -> None:
        self.search, self.done, self.left, self.most = search, 0, most, 5 * most
        self.ahead = np.inf

    def took(self, ahead: float) -> None:
        """Count a step that had so many full steps ahead, itself among them."""
        nearer = REST_NEARER * min(self.search.reach, ahead)
        steady = 1.0 < ahead <= self.ahead - nearer and self.done < self.most
        self.search.reach = 1.3 * self.search.reach if steady else 1.0
        self.ahead = ahead
        self.done += 1
        self.left -= 0 if steady else 1


class _LastSteps:
    """Where Newton's steps end: they are not resolved any more, or do not get shorter."""

    def __init__(self, search: Search) -> None:
        self.search, self.last = search, np.inf
        self.before: SearchPose | None = None

    def at(self, now: SearchPose, way: Way, iterations: int) -> SearchResult | None:
        """Return the pose at which the steps end, in balance or not, if they do."""
        search, last, before = self.search, self.last, self.before
        # after a short step a longer one, even a long one, is round-off over no stiffness
        self.last, self.before = (way.whole if way.short else np.inf), now
        if search.resolved < way.whole <= 0.5 * last:
            return None
        result = search.result(now, iterations)
        if before is not None and last < way.whole:
            result = min(search.result(before, iterations), result, key=lambda x: x.imbalance.share)
        shrinks = 0.0 < way.whole <= 0.5 * last  # less than positions are resolved is seen at zero
        return None if shrinks and not result.imbalance.small else result


def _newton(
    search: Search, now: SearchPose, count: _Iterations, down: bool
) -> SearchResult | SearchPose:
    """Return the balance at which Newton's steps end, or the place from where they lead nowhere.

    With ``down`` they are not taken where K is not positive.
    """
    ending = _LastSteps(search)
    while count.left > 0:
        way = search.way(now, 0.0)
        end = ending.at(now, way, count.done)
        if end is not None and search.in_balance(end, now, way):
            return end
        if end is not None or (down and not search.positive(now, 0.0)):
            break
        count.took(way.ahead)
        better = search.nearer(now, way)
        if better is None:
            break
        now = better
    return now


def _downhill(search: Search, now: SearchPose, count: _Iterations) -> SearchResult | SearchPose:
    """Return the balance at which steps downhill end, or the place from where they lead nowhere.

    Those of Newton where K is positive, others with a sigma with which it is.
    """
    ending, sigma = _LastSteps(search), 1.0
    while count.left > 0:
        taken, way = None, search.way(now, 0.0)
        if way.short or search.positive(now, 0.0):  # to a balance, which may be unstable
            end = ending.at(now, way, count.done)
            if end is not None and search.in_balance(end, now, way):
                return end
            taken = None if end is not None else search.downhill(now, way)
        for _ in range(0 if taken else 40):
            if search.positive(now, sigma):
                way = search.way(now, sigma)
                taken = search.downhill(now, way)
                if taken is not None:
                    break
            sigma = 8 * sigma
        if taken is None:
            break
        now, sigma = taken, sigma / 30
        count.took(way.ahead)
    return now


def nearest(problem: Statics, state: State, factor: float, most: int) -> SearchResult:
    """Return the equilibrium that Newton's method finds from a pose, stable or not.

    Where its steps lead nowhere, one downhill.
    """
    return _searched(problem, state, factor, most, down=False, by_load=lambda: None)


def descend(
    problem: Statics, state: State, factor: float, most: int, by_load: ByLoad = lambda: None
) -> SearchResult:
    """Return an equilibrium that lies downhill of a pose, or one by way of the load."""
    return _searched(problem, state, factor, most, down=True, by_load=by_load)


def _searched(
    problem: Statics, state: State, factor: float, most: int, down: bool, by_load: ByLoad
) -> SearchResult:
    """Return the balance to which Newton's steps lead, else the load, else steps downhill.

    Without stresses of their own those go straight down, and the load comes last.
    """
    search = Search(problem, factor, state)
    count, now, stressed = _Iterations(search, most), search.start(state), False
    for start in search.starts(now, down):
        end = _newton(search, start, count, down)
        search.reach, count.ahead, stressed = 1.0, np.inf, True
        if isinstance(end, SearchResult):
            return end
        now = now if count.left > 0 else end
    if stressed and (loaded := by_load()) is not None:
        return loaded
    end = _downhill(search, now, count)
    if isinstance(end, SearchPose):
        end = by_load() or search.stopped(end, count.done)
    return end
