"""The sections along a part that is a beam: its elements, stations, stiffness."""

from dataclasses import dataclass

import numpy as np

from mbd.base.read_only import ReadOnly
from mbd.interactions.kind import Element


@dataclass(frozen=True)
class Line(ReadOnly):
    """The sections along a part that is a beam.

    Attributes
    ----------
    elements : tuple of Element
        Between neighbours of its nodes, with strains at rest (6) and stiffness (6, 6) first.
    stations : (n + 1,) array [m]
        Length along the line at the nodes.
    stiffness : (n, 2, 6, 6) array [N, N m, N m^2]
        Of the sections at both ends of each element.
    outline : (n, 2, corners, 2) array [m]
        Of the sections there, along axes 2 and 3, for pictures.
    young : (n, 2) array [Pa]
        Of their material, NaN where it is not known.
    """

    elements: tuple[Element, ...]
    stations: np.ndarray
    stiffness: np.ndarray
    outline: np.ndarray
    young: np.ndarray
