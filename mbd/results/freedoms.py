"""Floor 5. The coordinates that joints leave free, over time, also piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd.results.joints import coordinate_over_time

if TYPE_CHECKING:
    from mbd.model.model import Model
    from mbd.parts.coordinates import Coordinate
    from mbd.results.solution import Solution

__all__ = ["freedom", "freedoms", "last_of_freedoms"]


def freedoms(model: Model) -> dict[str, Coordinate]:
    """Return the coordinates of all joints by name, ``hinge.angle``."""
    return {
        f"{joint.name}.{name}": free
        for joint in model.system.joints.values()
        for name, free in joint.coordinates.items()
    }


def freedom(solution: Solution, name: str, coordinate: Coordinate) -> tuple[np.ndarray, np.ndarray]:
    """Return a coordinate and its rate, (n,); an angle goes on from what came before."""
    u, rate, _ = coordinate_over_time(coordinate, solution, solution.before.get(name))
    return u, rate


def last_of_freedoms(solution: Solution) -> dict[str, np.ndarray]:
    """Return time, angle and rate at the last instant of each coordinate that counts turns."""
    found = {}
    for name, coordinate in freedoms(solution.model).items():
        if coordinate.measure.periodic:
            u, rate = solution.freedoms[name]
            found[name] = np.array([solution.t[-1], u[-1], rate[-1]])
    return found
