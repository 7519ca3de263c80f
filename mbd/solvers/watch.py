r"""Floor 4. The functions of events over all stretches of a run: on which side of zero they are.

A value counts as zero where it is round-off beside the largest so far, :math:`|g| \le \epsilon
\max|g|`. An event happens where its function comes from one side and arrives at zero, or passes it;
one that leaves zero has not happened. Behind an event the side is the one to which the function
leaves, and zeros do not count until it has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mbd.algebra.tolerances import EVENT_ROUND_OFF, EVENT_TOGETHER
from mbd.model.model import Model, State
from mbd.solvers.events import Event, Found, Instants, values_of

__all__ = ["Instant", "Watch"]


@dataclass(frozen=True, eq=False)
class Instant:
    """What happens at an instant that ends a stretch.

    Parameters
    ----------
    state : State
        Before any change.
    events : tuple of int
        Which of the events happen, in the order in which they were given.
    came : (n_events,) array
        Values that tell from which side each function came.
    value : (n_events,) array
        Values there; zero of those that happen.
    step : float [s]
        Size of the step within which it was found.
    """

    state: State
    events: tuple[int, ...]
    came: np.ndarray
    value: np.ndarray
    step: float


class Watch:
    """The events of a run, and the last values of their functions.

    Attributes
    ----------
    value, size : (n_events,) arrays
        Last values; the largest magnitudes so far.
    left : (n_events,) array of bool
        Whether a function has left the zero at which its event happened.
    """

    def __init__(self, model: Model, events: Sequence[Event], first: State, before: Any) -> None:
        self.model, self.events = model, tuple(events)
        self.direction = np.array([event.direction for event in events])
        self.ends = np.array([event.ends for event in events], bool)
        self.size = np.zeros(len(events))
        self.value = self.at(first, before)
        self.left = np.ones(len(events), bool)
        self.times: list[float] = []  # of the last instants that ended a stretch

    def values(self, instants: Instants, before: Any) -> np.ndarray:
        """Return the values of all functions at some instants, (n, n_events)."""
        g = values_of(self.events, self.model, instants, before)
        self.size = np.maximum(self.size, np.abs(g).max(axis=0, initial=0.0))
        return g

    def at(self, state: State, before: Any) -> np.ndarray:
        """Return the values of all functions at one instant, (n_events,)."""
        return self.values(Instants.of(state), before)[0]

    def sides(self, g: np.ndarray) -> np.ndarray:
        """Return -1, 0 or 1 for each value."""
        return np.where(np.abs(g) <= EVENT_ROUND_OFF * self.size, 0.0, np.sign(g))

    def crossed(self, g: np.ndarray) -> np.ndarray:
        """Return which events happen between instants i and i + 1, (n - 1, n_events)."""
        side = self.sides(g)
        rising = (side[:-1] < 0) & (side[1:] >= 0) & (self.direction >= 0)
        falling = (side[:-1] > 0) & (side[1:] <= 0) & (self.direction <= 0)
        return rising | falling

    def look(self, instants: Instants, before: Any) -> np.ndarray:
        """Return the values at instants behind the last one, whose values are known."""
        g = self.values(instants, before)
        g[0] = self.value
        side = self.sides(g)
        for k in np.flatnonzero(~self.left):
            clear = np.flatnonzero(side[1:, k])
            n = int(clear[0]) if len(clear) else len(g) - 1
            least = 2 * EVENT_ROUND_OFF * self.size[k]  # that of a side, whatever the size is now
            g[: n + 1, k] = np.sign(g[0, k]) * max(abs(g[0, k]), least)
            self.left[k] = bool(len(clear))
        self.value = g[-1]
        return g

    def within(
        self, step: float, at: Callable[[float], State], g: np.ndarray, hit: np.ndarray, before: Any
    ) -> tuple[list[Found], Instant | None]:
        """Return the events of a step, in time, up to the first instant that ends a stretch.

        Parameters
        ----------
        step : float [s]
        at : callable
            ``at(h)``: the state a step of size h later.
        g : (n_events,) array
            Values at the start of the step.
        hit : (n_events,) array of bool
            Which events happen within it.
        before : dict
            What came before the step.
        """

        @cache
        def values(h: float) -> np.ndarray:
            return self.at(at(h), before)

        end, hit, sizes = step, hit.copy(), dict[int, float]()
        while True:
            for k in map(int, np.flatnonzero(hit)):
                if k not in sizes:
                    sizes[k] = _zero(lambda h, k=k: float(values(h)[k]), float(g[k]), end)
            ending = [h for k, h in sizes.items() if self.ends[k]]
            if not ending:
                return self._alone(sizes, at), None
            end = min(ending)
            passed = self.crossed(np.array([g, values(end)]))[0]
            if not np.any(passed & ~hit):  # what went there and back within the step
                break
            hit |= passed
        near = EVENT_TOGETHER * step
        first = {k: h for k, h in sizes.items() if h < end - near}
        group = tuple(
            k for k in sorted(sizes) if k not in first and (sizes[k] <= end + near or passed[k])
        )
        state, value = at(end), values(end).copy()
        value[list(group)] = 0.0
        found = self._alone(first, at) + [Found(self.events[k], state) for k in group]
        return found, Instant(state, group, g, value, step)

    def _alone(self, sizes: dict[int, float], at: Callable[[float], State]) -> list[Found]:
        """Return events that end nothing, in order of time."""
        return [Found(self.events[k], at(h)) for k, h in sorted(sizes.items(), key=lambda x: x[1])]


def _zero(f: Callable[[float], float], start: float, end: float) -> float:
    """Return where a function that has the value `start` at 0 becomes zero, at most at the end."""
    from scipy.optimize import brentq

    if f(end) * start > 0.0:  # zero there to round-off
        return end
    h = brentq(lambda h: f(h) if h else start, 0.0, end, xtol=1e-13 * end, rtol=8.9e-16)
    return float(h)
