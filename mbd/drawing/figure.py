"""New figures of matplotlib.

Where figures are shown in windows, ``plt.show()`` shows them, so pyplot knows them. Everywhere else
(scripts that write files, servers, notebooks, which show what a cell returns) it does not: it would
keep each one in memory until ``plt.close``, and a notebook would show it twice.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.atomic import replaced
from mbd.base.checked import extra, file_path, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# backends without windows; all others, of whatever package, have some
_WITHOUT_WINDOWS = {
    "agg", "cairo", "pdf", "pgf", "ps", "svg", "template", "inline",
    "module://matplotlib_inline.backend_inline",
}  # fmt: skip


def new_figure(who: str, **options: Any) -> Figure:
    """Return an empty figure; `options` are those of ``matplotlib.figure.Figure``."""
    for module in ("matplotlib.figure", "matplotlib.pyplot"):
        extra(who, "drawing needs", module, "plot")
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    options = {"layout": "constrained"} | options
    # pyplot is there in either case: importing it is how notebooks learn to show figures
    backend = plt.get_backend().lower()
    if "inline" in backend:  # it tells the notebook how figures are shown when it is loaded
        importlib.import_module("matplotlib_inline.backend_inline")
    if backend in _WITHOUT_WINDOWS:
        return Figure(**options)
    return plt.figure(**options)


def checked_axes(ax: Any, who: str) -> Any:
    """Return axes of matplotlib to draw on, or None."""
    if ax is None:
        return None
    extra(who, "drawing needs", "matplotlib.axes", "plot")
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(f"{who}: ax must be axes of matplotlib or None, got {shown(ax)}")
    return ax


def checked_path(path: str | Path, who: str) -> Path:
    """Return where a picture is written, if its ending is one that can be."""
    path = file_path(who, path)
    extra(who, "drawing needs", "matplotlib.figure", "plot")
    from matplotlib.backend_bases import FigureCanvasBase

    endings = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in endings:
        raise ValueError(
            f"{who}: the name of a picture must end in {', '.join(f'.{x}' for x in endings)}, got "
            f"{shown(str(path))}"
        )
    return path


def save_figure(figure: Figure, path: str | Path, who: str, dpi: int = 150) -> Path:
    """Write a picture; the ending says how."""
    path = checked_path(path, who)
    with replaced(path, who) as file:
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=dpi)
    return path


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure if a path is given; return it."""
    if path is not None:
        save_figure(figure, path, "plot")
    return figure
