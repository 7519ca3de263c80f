r"""Zero crossings of the functions of events, over all stretches of a run.

A value counts as zero where it is round-off of the largest so far, :math:`|g| \le \epsilon
\max|g|`. An event happens where its function comes from one side and arrives at zero, or passes it;
one that leaves zero has not happened. After an event the side is the one to which the function
leaves, and zeros do not count until it has left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mbd.base.tolerances import EVENT_ROUND_OFF, WHOLE_STEPS
from mbd.model.model import Model
from mbd.model.state import State
from mbd.runs.events import Event, EventInstants, Occurrence, carried, values_of


@dataclass(frozen=True, eq=False)
class Instant:
    """Events at an instant that ends a stretch.

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


@dataclass(frozen=True, eq=False)
class Looked:
    """The functions of events at some instants, as far as they have values.

    Parameters
    ----------
    g : (n, n_events) array
    size : (n, n_events) array
        The largest magnitudes up to each instant.
    left : (n, n_events) array of bool
        Whether a function has left the zero at which its event happened.
    error : Exception, optional
        What a function raised at the instant after these.
    """

    g: np.ndarray
    size: np.ndarray
    left: np.ndarray
    error: Exception | None = None


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
        self.value = self.at(first, before)
        self.size = np.abs(self.value)
        self.left = np.ones(len(events), bool)
        self.times: list[float] = []  # of the last instants that ended a stretch

    def at(self, state: State, before: Any) -> np.ndarray:
        """Return the values of all functions at one instant, (n_events,)."""
        if not self.events:
            return np.empty(0)
        return values_of(self.events, self.model, EventInstants.of(state), before)[0]

    def sides(self, g: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
        """Return -1, 0 or 1 for each value, given the largest magnitudes up to each."""
        return np.where(np.abs(g) <= EVENT_ROUND_OFF * (self.size if size is None else size), 0.0,
                        np.sign(g))  # fmt: skip

    def crossed(self, g: np.ndarray, size: np.ndarray | None = None) -> np.ndarray:
        """Return which events happen between instants i and i + 1, (n - 1, n_events)."""
        side = self.sides(g, size)
        rising = (side[:-1] < 0) & (side[1:] >= 0) & (self.direction >= 0)
        falling = (side[:-1] > 0) & (side[1:] <= 0) & (self.direction <= 0)
        return rising | falling

    def look(self, instants: EventInstants, before: Any) -> Looked:
        """Return the values at instants after the last one, whose values are known."""
        error = None
        try:
            g = values_of(self.events, self.model, instants, before)
        except Exception as raised:
            g, error = self._until_it_raises(instants, before, raised)
        g[0] = self.value
        size = np.maximum.accumulate(np.maximum(np.abs(g), self.size))
        side = self.sides(g, size)
        left = np.ones(g.shape, bool)
        for k in np.flatnonzero(~self.left):
            clear = np.flatnonzero(side[1:, k])
            n = 1 + (int(clear[0]) if len(clear) else len(g) - 1)
            least = 2 * EVENT_ROUND_OFF * size[:n, k]  # that of a side
            g[:n, k] = np.sign(g[0, k]) * np.maximum(abs(g[0, k]), least)
            left[:n, k] = False
        return Looked(g, size, left, error)

    def _until_it_raises(
        self, instants: EventInstants, before: Any, error: Exception
    ) -> tuple[np.ndarray, Exception]:
        """Return the values before the first instant at which a function raises; what it raised."""
        good, most = 1, len(instants.t) - 1
        g = self.value[None].copy()
        while good < most:
            n = (good + most + 1) // 2
            try:
                g, good = values_of(self.events, self.model, instants.part(0, n), before), n
            except Exception as raised:
                error, most = raised, n - 1
        try:  # there alone, so that it is named with its instant
            past = carried(self.model, instants.part(0, good), before)
            values_of(self.events, self.model, instants.part(good, good + 1), past)
        except Exception as raised:
            error = raised
        return g, error

    def accept(self, looked: Looked, i: int) -> None:
        """Take the i-th of these instants as the last one."""
        self.value, self.size, self.left = looked.g[i], looked.size[i], looked.left[i].copy()

    def within(
        self, step: float, at: Callable[[float], State], looked: Looked, i: int, hit: np.ndarray,
        before: Any,
    ) -> tuple[list[Occurrence], Instant | None]:  # fmt: skip
        """Return the events of a step, in time, up to the first instant that ends a stretch.

        Parameters
        ----------
        step : float [s]
        at : callable
            ``at(h)``: the state a step of size h later.
        looked, i : Looked, int
            Values at the instants; the step begins at the i-th.
        hit : (n_events,) array of bool
            Which events happen within it.
        before : dict
            What came before the step.
        """
        self.accept(looked, i)
        self.size = looked.size[i + 1]
        g = looked.g[i].copy()

        @cache
        def values(h: float) -> np.ndarray:
            return self.at(at(h), before)

        here = values(0.0)  # what one instant gives, to the last bit, whoever else was asked
        same = self.sides(here) == np.sign(g)
        g[same] = here[same]
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
        near = WHOLE_STEPS * step
        first = {k: h for k, h in sizes.items() if h < end - near}
        group = tuple(
            k for k in sorted(sizes) if k not in first and (sizes[k] <= end + near or passed[k])
        )
        occurrences, value = self._alone(first, at), values(end).copy()
        value[list(group)] = 0.0
        state = at(end)  # the last one that is asked for: the run goes on from there
        occurrences += [Occurrence(self.events[k], state) for k in group]
        return occurrences, Instant(state, group, g, value, step)

    def _alone(self, sizes: dict[int, float], at: Callable[[float], State]) -> list[Occurrence]:
        """Return events that end nothing, in order of time."""
        return [
            Occurrence(self.events[k], at(h)) for k, h in sorted(sizes.items(), key=lambda x: x[1])
        ]


def _zero(f: Callable[[float], float], start: float, end: float) -> float:
    """Return where a function that has the value `start` at 0 becomes zero, at most at the end.

    Where it is too flat there for its values to tell, halves of the interval with their signs do.
    """
    from scipy.optimize import bisect, brentq

    if f(end) * start > 0.0:  # zero there to round-off
        return end
    near = {"xtol": 1e-13 * end, "rtol": 8.9e-16}

    def g(h: float) -> float:
        return f(h) if h else start

    h, way = brentq(g, 0.0, end, **near, full_output=True, disp=False)
    return float(h if way.converged else bisect(g, 0.0, end, **near))
