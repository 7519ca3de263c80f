"""Calls of rooms above: the one table of what lower rooms call by name, because it stands above.

A model can be drawn, a solution saved or shown moving: such methods belong to their objects, which
have their signatures and docstrings, but the work is done in rooms above them.
"""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, TypeVar

import numpy as np

T = TypeVar("T")


class MovingPicture(Protocol):
    """Result of ``solution.animate``: an ``mbd.animation.animation.Animation``."""

    @property
    def html(self) -> str:
        """The page: one file that needs no network and no other file."""

    def save(self, path: str | Path, **options: Any) -> Path:
        """Write ``.html``, ``.gif``, ``.webp`` or ``.mp4``."""


class Observing(Protocol):
    """Result of ``model.observe``: an ``mbd.history.observation.Observation``."""

    labels: tuple[str, ...]
    units: tuple[str, ...]
    slices: dict[str, slice]

    def __call__(self, of: Any) -> np.ndarray:
        """Return the numbers at the instant of a ``Stepper``, or at a ``State``."""


#: who calls it -> "module:name" of a function, whose first argument is the object, or of a class
ABOVE = {
    "Model.joint_coordinates": "mbd.joint_tree.coordinates:JointCoordinates",
    "Model.plot_topology": "mbd.drawing.topology:plot_topology",
    "Model.observe": "mbd.history.observation:observe",
    "Assembly.spy": "mbd.drawing.matrix_pattern:spy",
    "simulate(stream=)": "mbd.store.stream:FileRecord",
    "Solution.to_xarray": "mbd.store.contents:to_xarray",
    "Solution.save": "mbd.store.file_kinds:save",
    "Solution.animate": "mbd.animation.animation:animate",
    "Solution.snapshot": "mbd.animation.animation:snapshot",
    "Solution.plot": "mbd.drawing.plots:plot",
    "Solution.diagram": "mbd.drawing.plots:diagram",
    "Stored.plot": "mbd.drawing.plots:plot",
    "Stored.diagram": "mbd.drawing.plots:diagram",
}


def from_above(who: str, *arguments: Any, **options: Any) -> T:  # type: ignore[type-var]
    """Return the result of what stands above for a caller of the table; imported when called."""
    result: T = resolve_name(ABOVE[who])(*arguments, **options)
    return result
