r"""Events: zero crossings of a function of the motion, and what changes there.

An event is a function of a solution, written as one would plot it, for instance
``lambda s: s["ball"].position[:, 2] - 0.1``. Its zeros are located by steps of the method itself:
the size of the step is found that ends on the event, so that the state there meets all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import flag, function, listed, names, shown
from mbd.base.door import label, number
from mbd.base.recorded_call import again, portable
from mbd.history.all_parts import past_of
from mbd.history.history import History
from mbd.model.frozen import switchable
from mbd.model.model import Model
from mbd.model.state import State


@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing to look for.

    Joints that are locked there change velocities by :eq:`impact` of the theory page. Of events at
    one instant each is applied, in the order in which they were given, and then the run ends if one
    of them is terminal. A function that jumps over zero because of such a change is an event too.

    Parameters
    ----------
    name : str
    function : callable
        ``f(solution) -> (n,) array``: of all instants of a solution, time first.
    terminal : bool
        Whether the run ends there.
    direction : float [-]
        Positive: rising crossings only; negative: falling ones; 0: both.
    release : sequence of str
        Joints (or other parts with rows) that are switched off there.
    lock : sequence of str
        Joints that are switched on there: velocities jump by the impulses of their rows (a plastic
        impact, kinetic energy is lost). Their rows on positions must be met at that instant.
    change : callable, optional
        ``f(model, state) -> state``: any other change of velocities, e.g. a rebound; of positions
        too, if they meet all rows; and of ``state.off``, the names of joints that are off.

    Examples
    --------
    >>> Event("touch down", lambda s: s["ball"].position[:, 2] - 0.1, terminal=True, direction=-1)
    Event('touch down')
    """

    name: str
    function: Callable[[History], Any]
    terminal: bool = False
    direction: float = 0.0
    release: Sequence[str] = ()
    lock: Sequence[str] = ()
    change: Callable[[Model, State], State] | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a model."""
        label(self.name, "Event")
        flag(self.name, "terminal", self.terminal)
        number(self.name, "direction", self.direction, "-")
        for word in ("release", "lock"):
            object.__setattr__(self, word, names(self.name, word, getattr(self, word)))
        both = sorted(set(self.release) & set(self.lock))
        if both:
            raise ValueError(
                f"{self.name}: a joint is released or locked, got {both[0]!r} in both; two events "
                "of one function do one after the other"
            )
        form = 'of a solution, such as lambda s: s["ball"].position[:, 2]'
        function(self.name, "function", self.function, form)
        if self.change is not None:
            function(self.name, "change", self.change, "change(model, state) -> state")

    @property
    def changes(self) -> bool:
        """Whether the motion goes on differently after the event."""
        return bool(self.release or self.lock or self.change is not None)

    @property
    def ends(self) -> bool:
        """Whether a stretch of the run ends there."""
        return self.terminal or self.changes

    def __reduce__(self) -> Any:
        fields = (getattr(self, x) for x in self.__dataclass_fields__)
        return again, (Event, portable(self.name, tuple(fields)), {})

    def __repr__(self) -> str:
        return f"Event({self.name!r})"


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event that happened: ``event``, the ``state`` there, before any change."""

    event: Event
    state: State

    @property
    def name(self) -> str:
        """Name of the event."""
        return self.event.name

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.state.t

    def __repr__(self) -> str:
        return f"Occurrence({self.name!r}, t={self.t:.9g} s)"


class EventInstants(NamedTuple):
    """Histories of some instants, time first; `impulsive` (n, .) is the work of impulses [J]."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    impulsive: np.ndarray

    @classmethod
    def of(cls, s: State, impulsive: Any = 0.0) -> EventInstants:
        """Return one instant."""
        q, v, a, lam = (x[None] for x in (s.q, s.v, s.a, s.lam))
        return cls(np.array([s.t]), q, v, a, lam, np.array(impulsive, ndmin=2))

    def joined(self, later: EventInstants) -> EventInstants:
        """Return these instants and later ones."""
        return EventInstants(*map(np.concatenate, zip(self, later, strict=True)))

    def rows(self, which: Any) -> EventInstants:
        """Return the instants of the given indices."""
        return EventInstants(*(x[which] for x in self))

    def part(self, first: int, last: int) -> EventInstants:
        """Return the instants from first to last, this excluded."""
        return self.rows(slice(first, last))


def _history(model: Model, instants: EventInstants, before: Any) -> History:
    """Return some instants by name; ``before`` is what came before them (turns counted)."""
    *raw, impulsive = instants
    return History(model, *raw, impulsive=impulsive, before=before)


def carried(model: Model, instants: EventInstants, before: Any) -> Any:
    """Return what is to be known, after these instants, of all that came before."""
    return past_of(_history(model, instants, before))


def values_of(
    events: Sequence[Event], model: Model, instants: EventInstants, before: Any
) -> np.ndarray:
    """Return the values of the functions of events at some instants, (n, n_events)."""
    solution = _history(model, instants, before)
    values = np.empty((len(instants.t), len(events)))
    for k, event in enumerate(events):
        values[:, k] = _values(event, solution)
    return values


def _values(event: Event, solution: History) -> np.ndarray:
    """Return the values of an event's function at all instants of a solution."""
    n = len(solution.t)
    try:
        values = np.asarray(event.function(solution), float)
    except Exception as error:
        raise RuntimeError(
            f"{event.name}: its function raised {type(error).__name__}: {error} (t = "
            f"{solution.t[0]:.6g} s)"
        ) from error
    if values.shape != (n,):
        raise ValueError(
            f"{event.name}: its function must return one finite number for each of {n} instants, "
            f"got shape {values.shape}; take a component, such as .position[:, 2]"
        )
    if not np.isfinite(values).all():
        i = int(np.argmin(np.isfinite(values)))
        raise ValueError(
            f"{event.name}: its function must return finite numbers, got {values[i]} at t = "
            f"{solution.t[i]:.6g} s"
        )
    return values


def checked_events(model: Model, events: Any, first: State, described: bool) -> tuple[Event, ...]:
    """Return the events of a run, if they fit the model.

    Where the run starts from the description, and no event has a change that could switch, it is
    known which joints can be on and off.
    """
    expected = "simulate: events must be an mbd.Event or several in a list"
    many = (events,) if isinstance(events, Event) else listed(expected, events)
    for event in many:
        if not isinstance(event, Event):
            raise TypeError(f"simulate: events must be mbd.Event objects, got {shown(event)}")
        switchable(model, (*event.release, *event.lock), event.name)
    names = [event.name for event in many]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"simulate: two events are named {name!r}; each needs its own name")
    if described and all(event.change is None for event in many):
        _check_switches(many, first)
    return many


def _check_switches(events: Sequence[Event], first: State) -> None:
    """Refuse a lock of what is never off, and a release of what is never on."""
    off = set(first.off).union(*(event.release for event in events))
    locked = set().union(*(event.lock for event in events))
    for event in events:
        for name in event.lock:
            if name not in off:
                raise ValueError(
                    f"{event.name}: lock={name!r} must be off before, but it is on from the start "
                    f"and no event releases it; switch it off by simulate(..., off={name!r})"
                )
        for name in event.release:
            if name in first.off and name not in locked:
                raise ValueError(
                    f"{event.name}: release={name!r} must be on before, but it is off from the "
                    f"start and no event locks it; leave it out of off="
                )
