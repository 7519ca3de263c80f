"""Inputs of a run by hand: their labels, and where the numbers of an array u go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd.control.settable import Settable

_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class InputArray:
    """Inputs one after the other, as an array u (n,).

    Attributes
    ----------
    labels, units : tuple of str
        Of each number: "motor.effort", "push.force.x"; "N m", "N".
    slices : dict of slice
        Of each input by name.
    places : (k, 2) array of int
        Place in F, number in u.
    slopes : (k,) array [-]
        Its factor there.
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    slices: dict[str, slice]
    places: np.ndarray
    slopes: np.ndarray

    def of(self, F: np.ndarray) -> np.ndarray:
        """Return u (n,) as it stands in the floats of a run."""
        u = np.zeros(len(self.labels))
        u[self.places[:, 1]] = F[self.places[:, 0]] / self.slopes
        return u


def inputs_of(settable: Sequence[Settable]) -> InputArray:
    """Return the record of some inputs."""
    labels, units, slices = list[str](), list[str](), dict[str, slice]()
    rows, slopes = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for x in settable:
        first = len(labels)
        labels += _labels(x)
        units += [x.unit] * x.size
        slices[x.name] = slice(first, len(labels))
        rows.append(np.stack([x.places, first + x.which], axis=1))
        slopes.append(x.sign)
    places = np.concatenate(rows).astype(np.int64)
    return InputArray(tuple(labels), tuple(units), slices, places, np.concatenate(slopes))


def _labels(x: Settable) -> list[str]:
    """Return the labels of the numbers of an input."""
    if x.shape == ():
        return [x.name]
    if x.shape == (3,):
        return [f"{x.name}.{axis}" for axis in _AXES]
    return [f"{x.name}[{', '.join(map(str, i))}]" for i in np.ndindex(x.shape)]
