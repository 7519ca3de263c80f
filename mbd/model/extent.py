"""How large a model is, and the point from which it stores positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbd.base.tolerances import MODEL_FAR

if TYPE_CHECKING:
    from mbd.model.description import Description

__all__ = ["lengths", "origin"]


def lengths(system: Description) -> tuple[float, float]:
    """Return the extent of a system at the initial pose and the size of its bodies [m]."""
    places = np.array([b.position for b in system.bodies.values()])
    extent = float(np.ptp(places, axis=0).max())
    arms = sorted(
        arm
        for j in system.joints.values()
        for f in (j.A, j.B)
        if f.body is not system.ground and (arm := max(map(abs, f.position.tolist()))) > 0.0
    )
    length = max([extent, *arms[-1:]]) or 1.0
    return length, arms[len(arms) // 2] if arms else length


def origin(system: Description) -> np.ndarray:
    r"""Return the point near the system from which its model stores positions, (3,) [m].

    Round-off of a position is that of its distance from there; on rows met by positions it is a
    force of its size times :math:`m/h^2`. The point is zero unless the system is far from the
    inertial origin; coordinates are multiples of a power of two, differences to them exact.
    """
    length, _ = lengths(system)
    places = np.array([b.position for b in system.bodies.values()])
    middle = 0.5 * (places.min(0) + places.max(0))
    if np.abs(middle).max() < MODEL_FAR * length:
        return np.zeros(3)
    grid = 2.0 ** np.ceil(np.log2(length))
    return np.asarray(grid * np.round(middle / grid) + 0.0)
