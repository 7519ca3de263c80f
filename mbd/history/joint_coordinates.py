"""Joint coordinates over time, their rates and second rates; angles count full turns."""

import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from mbd.base.tolerances import TURN_UNSURE
from mbd.history.observed import measured
from mbd.history.program import ProgramTables
from mbd.history.trajectory import Trajectory
from mbd.interactions.turns import with_turns
from mbd.model.frozen import per_model
from mbd.model.model import Model
from mbd.parts.part import Coordinate


def over_time(
    run: Trajectory, some: Mapping[str, Coordinate]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, rates and second rates of coordinates, (n, k) each; angles count full turns.

    From one instant to the next an angle goes where its rate points. The first one is in (-pi, pi],
    or follows what came before: by name its time, angle and rate.
    """
    u, rate, second = each_instant(run, some)
    turning = periodic(some)
    if len(run.t) and len(turning):
        unknown, names = np.full(3, np.nan), [*some]
        last = np.array([run.before.get(names[i], unknown) for i in turning])
        u[:, turning], apart = counted(
            u[:, turning], rate[:, turning], run.t, *last.T, second=second[:, turning]
        )
        if apart.max() > TURN_UNSURE:
            name = names[turning[int(np.argmax(apart))]]
            warnings.warn(
                f"{name!r} turns so far between kept instants that its full turns are not "
                "known: keep more of them (every=, t_eval=), or take smaller steps",
                stacklevel=2,
            )
    return u, rate, second


def each_instant(run: Trajectory, some: Mapping[str, Coordinate]) -> np.ndarray:
    """Return values, rates and second rates (3, n, k), each instant by itself."""

    def add(tables: ProgramTables) -> Iterator[int]:
        for x in some.values():
            yield from measured(tables, x.measure, x.attachments, x.numbers, range(3))

    return np.moveaxis(run.observed(add).reshape(len(run.t), len(some), 3), 2, 0).copy()


def periodic(some: Mapping[str, Coordinate]) -> np.ndarray:
    """Return which coordinates are angles."""
    return np.flatnonzero([x.measure.periodic for x in some.values()])


def after(
    some: Mapping[str, Coordinate], t: np.ndarray, u: np.ndarray, rate: np.ndarray
) -> dict[str, np.ndarray]:
    """Return time, angle and rate at the last instant of each angle."""
    names = [*some]
    return {names[i]: np.array([t[-1], u[-1, i], rate[-1, i]]) for i in periodic(some)}


def counted(
    u: np.ndarray, rate: np.ndarray, t: np.ndarray,
    t_last: np.ndarray, last: np.ndarray, speed: np.ndarray, second: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return angles (n, k) with their turns, and how far from the integrals of their rates they go.

    Integrals are those of Hermite's cubics where second rates are there. What came before (k,) is
    NaN if nothing did; how sure the turns are since then is not told.
    """
    h = np.diff(t)[:, None]
    steps = 0.5 * (rate[1:] + rate[:-1]) * h
    if second is not None:
        steps -= h * h * np.diff(second, axis=0) / 12.0
    lacking = (steps - np.diff(u, axis=0)) / (2 * np.pi)
    turns = np.round(lacking)
    apart = 2 * np.pi * np.abs(lacking - turns).max(axis=0, initial=0.0)
    expected = last + 0.5 * (speed + rate[0]) * (t[0] - t_last)
    first = np.round(np.nan_to_num((expected - u[0]) / (2 * np.pi)))
    return with_turns(u, np.cumsum(np.concatenate([first[None], turns]), axis=0)), apart


@per_model
def freedoms(model: Model) -> dict[str, Coordinate]:
    """Return the coordinates of all joints by name, ``hinge.angle``."""
    return {
        f"{joint.name}.{name}": free
        for joint in model.system.parts.values()
        for name, free in joint.coordinates.items()
    }
