"""From above: the one table of what lower rooms call by name, because it stands above them.

A model can be drawn, a solution saved or shown moving: such methods belong to their objects, which
have their signatures and docstrings, but the work is done in rooms above. ``tests/test_floors.py``
allows imports that go up in this file only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # types of what these methods return
    from mbd.animation.animation import Animation as Animation  # noqa: PLC0414  # taken from here

T = TypeVar("T")

#: who calls it -> "module:name" of a function, whose first argument is the object, or of a class
ABOVE = {
    "Model.plot_topology": "mbd.drawing.topology:plot_topology",
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
    module, _, name = ABOVE[who].partition(":")
    result: T = getattr(importlib.import_module(module), name)(*arguments, **options)
    return result
