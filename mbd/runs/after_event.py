r"""Changes at events: the state after an instant at which they happen.

Each event is applied to the state that the one before it left. A change may carry the function of
another event over zero: then that one happens too, each at most once at an instant. To which side a
function leaves is told by a Taylor series that knows the accelerations after,

.. math:: g\bigl(q \boxplus (s v + \tfrac12 s^2 \dot v),\; v + s \dot v,\; t + s\bigr),

with the smallest s at which it is not round-off.
"""

import warnings
from typing import Any

import numpy as np

from mbd.base.checked import called
from mbd.base.tolerances import EVENT_AHEAD, EVENT_MANY, WHOLE_STEPS
from mbd.history.instants import instants
from mbd.history.trajectory import Trajectory
from mbd.integration.consistent import allowed, settled, violated, violations
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace, ahead
from mbd.runs.crossings import Instant, Watch
from mbd.runs.events import Event, EventInstants, Occurrence


class EventError(RuntimeError):
    """An event after which a run cannot go on."""


def after_event(
    watch: Watch, instant: Instant, before: Any, length: float
) -> tuple[State, list[Occurrence]]:
    """Return the state after an instant, and the events that changes there set off.

    ``watch`` then knows the values after. ``length`` is that of the run [s].
    """
    _refuse_crowd(watch, instant, length)
    state, set_off, value = instant.state, list[Occurrence](), instant.value
    queue, happened = list(instant.events), list(instant.events)
    while queue:
        for k in queue:
            state = _changed(watch.model, watch.events[k], state)
        g = watch.at(state, before)
        passed = np.flatnonzero(watch.crossed(np.array([value, g]))[0])
        queue = [int(k) for k in passed if k not in happened]
        set_off += [Occurrence(watch.events[k], state) for k in queue]
        happened += queue
        value = g
        value[happened] = 0.0
    watch.value = value
    _leave(watch, instant, state, happened, before)
    return state, set_off


def energy_of_change(model: Model, ahead: State, after: State, before: Any) -> float:
    """Return the energy [J] that changes at an instant put into the model, from state to state.

    That is kinetic and potential energy as results have them, of which `before` is what came ahead.
    """
    if after is ahead:
        return 0.0
    both = EventInstants.of(ahead).joined(EventInstants.of(after))
    *raw, _ = both
    with warnings.catch_warnings():  # a law that raises is told of by the run, and by results
        warnings.simplefilter("ignore")
        kinetic, potential, *_ = instants(Trajectory(model, *raw, before=before)).energies
    return float(np.diff(kinetic + potential)[0])


def _leave(watch: Watch, instant: Instant, state: State, happened: list[int], before: Any) -> None:
    """Find the sides to which functions leave; refuse one that was turned back and falls through.

    That is: velocities carried it through zero before, its change stopped or turned it, and forces
    carry it through all the same, sooner than a part of a step.
    """
    open_ = list(happened)
    for s in np.multiply(EVENT_AHEAD, instant.step):
        g = watch.at(_later(watch.model, state, s), before)
        side = watch.sides(g)
        for k in [k for k in open_ if side[k]]:
            open_.remove(k)
            watch.value[k] = g[k]
            direction = -np.sign(instant.came[k])
            event = watch.events[k]
            if k in instant.events and event.change is not None and side[k] == direction:
                _refuse_fall(watch, instant, state, k, s, before)
        if not open_:
            break
    watch.left[happened] = False


def _refuse_fall(
    watch: Watch, instant: Instant, state: State, k: int, s: float, before: Any
) -> None:
    """Refuse a function that left to the far side though its velocity does not carry it there."""
    ahead, event = -np.sign(instant.came[k]), watch.events[k]

    def by_velocity(state: State) -> float:
        g = watch.at(_later(watch.model, state, s, forces=False), before)
        return float(ahead * watch.sides(g)[k])

    if by_velocity(instant.state) > 0.0 >= by_velocity(state):
        raise EventError(
            f"{event.name} at t = {state.t:.9g} s: its change turns its function back, but within "
            f"{s:.2g} s it is on the other side again and would stay there unseen: rebounds that "
            "become ever shorter, or a stop that nothing holds; below a speed let it rest: let the "
            "change return state.replace(off=...) with a joint on that holds it, or end the run "
            "by a terminal event"
        )


def _refuse_crowd(watch: Watch, instant: Instant, length: float) -> None:
    """Refuse very many instants in very short time."""
    watch.times = [*watch.times[1 - EVENT_MANY :], instant.state.t]
    short = EVENT_MANY * WHOLE_STEPS * length
    if len(watch.times) == EVENT_MANY and watch.times[-1] - watch.times[0] < short:
        names = " and ".join(repr(watch.events[k].name) for k in instant.events)
        raise EventError(
            f"{names} at t = {instant.state.t:.9g} s: the last {EVENT_MANY} events were within "
            f"{watch.times[-1] - watch.times[0]:.2g} s; give each a direction, or let the one not "
            "undo what the other does"
        )


def _later(model: Model, state: State, s: float, forces: bool = True) -> State:
    """Return the state a time s later by its Taylor series, or by its velocities alone."""
    work = ahead(model, state, s, state.a if forces else np.zeros(model.n_v))
    work.evaluate()
    return work.store()


def _changed(model: Model, event: Event, state: State) -> State:
    """Return the consistent state after an event: rows switched, then :eq:`impact`."""
    if not event.changes:
        return state
    who = f"{event.name} at t = {state.t:.6g} s"
    _warn_idle(event, state, who)
    off = (set(state.off) | set(event.release)) - set(event.lock)
    new = state.replace(off=tuple(sorted(off)), alg=None)
    if event.change is not None:
        new = _by_hand(model, event, new, who)
    _check_rows(model, state, new, who)
    try:
        anywhere = np.zeros(model.n_lam, bool)
        return settled(model, new, project="velocities", rows=anywhere)[0]
    except ValueError as error:
        raise EventError(f"{who}: {error}") from error


def _warn_idle(event: Event, state: State, who: str) -> None:
    """Warn of a release or lock that does nothing."""
    for names, word in ((set(event.release) & set(state.off), "off"),
                        (set(event.lock) - set(state.off), "on")):  # fmt: skip
        for name in sorted(names):
            warnings.warn(
                f"{who}: {name!r} is {word} already; give the event a direction, or a function "
                f"that is not zero while {name!r} is {word}",
                RuntimeWarning,
                stacklevel=5,
            )


def _by_hand(model: Model, event: Event, state: State, who: str) -> State:
    """Return what the change of a user makes of a state."""
    assert event.change is not None
    new = called(f"{who}: its change", event.change, model, state)
    if not isinstance(new, State):
        raise TypeError(f"{who}: change must return a State (state.replace(v=...)), got {new!r}")
    if new.t != state.t:
        raise EventError(
            f"{who}: change must leave the time as it is, got t = {new.t:g} s; change velocities, "
            "state.replace(v=...)"
        )
    try:
        new = state_of("change", model, new)
        Workspace(model, new)
    except (TypeError, ValueError) as error:
        raise EventError(f"{who}: change returned what is no state: {error}") from error
    return new


def _check_rows(model: Model, state: State, new: State, who: str) -> None:
    """Refuse positions that do not meet rows that were switched on, or that were moved."""
    moved = not np.array_equal(new.q, state.q)
    size, on = allowed(model), sorted(set(state.off) - set(new.off))
    checked = np.full(model.n_lam, moved)
    for name in on:
        checked[model.numbering.owners[name]] = True
    if not checked.any() and not moved:
        return
    if moved:  # rows are met to the accuracy of the run only
        size = np.maximum(size, 2 * np.abs(violations(Workspace(model, state))[0]))
    gap = violations(Workspace(model, new))[0]
    words = violated(model, np.where(checked, gap, 0.0), size)
    if words and moved:
        raise EventError(
            f"{who}: change moved positions off the rows that hold them: {words}; change "
            "velocities alone, or release the joint by the same event"
        )
    if words:
        names = ", ".join(repr(name) for name in on)
        raise EventError(
            f"{who}: it locks {names}, whose rows are not met there: {words}; a lock stops "
            "velocities and moves nothing: take as function of the event what is zero where the "
            "joint fits, such as this gap"
        )
