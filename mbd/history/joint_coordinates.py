"""Joint coordinates over time, their rates and second rates; angles count full turns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.tolerances import TURN_UNSURE
from mbd.history.elements import ElementGroup, grouped
from mbd.history.faces import Faces, all_columns, places_of
from mbd.interactions.driven_rows import total
from mbd.interactions.kind import Element
from mbd.model.frozen import per_model, some_per_model

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.part import Coordinate


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of joints, evaluated measure by measure.

    Attributes
    ----------
    names : tuple of str
    periodic : (k,) array of bool
        Which ones are angles.
    """

    names: tuple[str, ...]
    periodic: np.ndarray
    groups: list[ElementGroup]

    @classmethod
    def of(cls, coordinates: Mapping[str, Coordinate], column: dict[str, int]) -> Coordinates:
        """Take coordinates by name; `column` has the places of bodies among the faces."""
        elements = [
            Element(total((x.measure,)), x.attachments, (0.0, 0.0, 1.0, *x.numbers), (0.0,))
            for x in coordinates.values()
        ]
        periodic = np.array([x.measure.periodic for x in coordinates.values()], bool)
        return cls(tuple(coordinates), periodic, grouped(elements, column))

    def motion(self, faces: Faces) -> np.ndarray:
        """Return values, rates and second rates, (3, n, k), at each instant by itself."""
        motion = np.empty((3, len(faces.y), len(self.names)))
        for group in self.groups:
            for to, x in zip(motion, group.motion(faces), strict=True):
                to[:, group.members] = x[..., 0]
        return motion

    def over_time(
        self, faces: Faces, t: np.ndarray, before: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values, rates and second rates, (n, k) each; angles count full turns.

        From one instant to the next an angle goes where its rate points. The first one is in
        (-pi, pi], or follows what came before: by name its time, angle and rate.
        """
        return self._with_turns(self.motion(faces), t, before)

    def of_run(self, run: Any, bodies: Iterable[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return values, rates and second rates (n, k) of a trajectory, in pieces of its faces."""
        motion = run.of_faces(bodies, lambda faces, _: np.moveaxis(self.motion(faces), 0, 1))
        return self._with_turns(np.moveaxis(motion, 1, 0), run.t, run.before)

    def _with_turns(
        self, motion: np.ndarray, t: np.ndarray, before: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u, rate, second = motion
        if len(t) and self.periodic.any():
            unknown = np.full(3, np.nan)
            turning = np.flatnonzero(self.periodic)
            last = np.array([before.get(self.names[i], unknown) for i in turning])
            u[:, turning], apart = counted(
                u[:, turning], rate[:, turning], t, *last.T, second=second[:, turning]
            )
            if apart.max() > TURN_UNSURE:
                name = self.names[turning[int(np.argmax(apart))]]
                warnings.warn(
                    f"{name!r} turns so far between kept instants that its full turns are not "
                    "known: keep more of them (every=, t_eval=), or take smaller steps",
                    stacklevel=2,
                )
        return u, rate, second

    def after(self, t: np.ndarray, u: np.ndarray, rate: np.ndarray) -> dict[str, np.ndarray]:
        """Return time, angle and rate at the last instant of each angle."""
        turning = np.flatnonzero(self.periodic)
        return {self.names[i]: np.array([t[-1], u[-1, i], rate[-1, i]]) for i in turning}


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
    u = u + 2 * np.pi * np.concatenate([np.zeros((1, u.shape[1])), np.cumsum(turns, axis=0)])
    expected = last + 0.5 * (speed + rate[0]) * (t[0] - t_last)
    lacking = np.nan_to_num((expected - u[0]) / (2 * np.pi))
    return u + 2 * np.pi * np.round(lacking), apart


@per_model
def freedoms(model: Model) -> dict[str, Coordinate]:
    """Return the coordinates of all joints by name, ``hinge.angle``."""
    return {
        f"{joint.name}.{name}": free
        for joint in model.system.parts.values()
        for name, free in joint.coordinates.items()
    }


@some_per_model
def coordinate(model: Model, name: str) -> tuple[tuple[str, ...], Coordinates]:
    """Return a coordinate, and the bodies whose faces it is evaluated on."""
    free = freedoms(model)[name]
    bodies = tuple(end.body for end in free.attachments)
    return bodies, Coordinates.of({name: free}, places_of(model, bodies))


@per_model
def all_freedoms(model: Model) -> Coordinates:
    """Return the coordinates of all joints, with the places of all bodies."""
    return Coordinates.of(freedoms(model), all_columns(model))
