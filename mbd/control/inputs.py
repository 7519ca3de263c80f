"""InputArray of a run by hand: their labels, and where the numbers of an array u go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd.control.settable import Settable

_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class InputArray:
    """InputArray one after the other, as an array u (n,).

    Attributes
    ----------
    labels : tuple of str
        Of each number: "motor.effort", "push.force.x".
    slices : dict of slice
        Of each input by name.
    places : (k, 3) array of int
        Place in F, number in u, whether it goes there with the opposite sign.
    """

    labels: tuple[str, ...]
    slices: dict[str, slice]
    places: np.ndarray

    def of(self, F: np.ndarray) -> np.ndarray:
        """Return u (n,) as it stands in the floats of a run."""
        at, which, minus = self.places.T
        u = np.zeros(len(self.labels))
        u[which] = np.where(minus, -F[at], F[at])
        return u


def inputs_of(settable: Sequence[Settable]) -> InputArray:
    """Return the record of some inputs."""
    labels, slices, rows = list[str](), dict[str, slice](), [np.zeros((0, 3), np.int64)]
    for x in settable:
        first = len(labels)
        labels += _labels(x)
        slices[x.name] = slice(first, len(labels))
        rows.append(np.stack([x.places, first + x.which, x.sign < 0.0], axis=1))
    return InputArray(tuple(labels), slices, np.concatenate(rows).astype(np.int64))


def _labels(x: Settable) -> list[str]:
    """Return the labels of the numbers of an input."""
    if x.shape == ():
        return [x.name]
    if x.shape == (3,):
        return [f"{x.name}.{axis}" for axis in _AXES]
    return [f"{x.name}[{', '.join(map(str, i))}]" for i in np.ndindex(x.shape)]
