"""Plots of quantities over time (matplotlib).

Lines differ by colour and by dashes, so that they can be told apart in print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.figures.figure import checked_axes, new_figure
from mbd.history.columns import Series
from mbd.pictures.curves import lines, panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.history.history import History
    from mbd.store.stored import StoredHistory

DASHES = (
    "-", (0, (6, 2)), (0, (1, 1.2)), (0, (7, 2, 1, 2)), (0, (3, 1.5)), (0, (5, 1, 1, 1, 1, 1)),
    (0, (10, 3)),
)  # fmt: skip


def plot(solution: History | StoredHistory, names: tuple[str, ...], ax: Any = None) -> Figure:
    """Draw quantities by name, one panel for each; see ``Solution.plot``."""
    panels = panels_of(solution, names or ("energy", "drift"), "plot")
    ax = checked_axes(ax, "plot")
    if ax is not None:
        panels = [[curve for panel in panels for curve in panel]]
        units = sorted({curve.unit for curve in panels[0]})
        if len(units) > 1:
            raise ValueError(
                f"plot: with ax= all quantities must have one unit, got {', '.join(units)}; name "
                "fewer of them, such as 'rod.position'"
            )
        axes = [ax]
    else:
        axes = new_panels("plot", len(panels), 2.1)
    t = np.asarray(solution.t)
    for where, panel in zip(axes, panels, strict=True):
        _draw(where, t, panel)
    axes[-1].set_xlabel("time [s]")
    return axes[0].figure  # type: ignore[no-any-return]


def _draw(ax: Any, t: np.ndarray, panel: list[Series]) -> None:
    """Draw the curves of one panel, with their unit and who they are."""
    alone = len(panel) == 1
    first = len(ax.lines)
    for k, (label, values) in enumerate(lines(panel), first):
        ax.plot(t, values, label=label, color=f"C{k % 10}", linestyle=DASHES[k % len(DASHES)],
                linewidth=1.4)  # fmt: skip
    curve = panel[0]
    if alone:
        ax.set_ylabel(f"{curve.word} [{curve.unit}]")
        ax.set_title(curve.title, fontsize="medium")
    else:
        words = (
            {c.name.split(".")[0] for c in panel}
            if len({c.word for c in panel}) > 1
            else {curve.word}
        )
        ax.set_ylabel(f"{' and '.join(sorted(words)[:2])} [{curve.unit}]")
    if curve.name == "gap" and alone and np.any(curve.values > 0):
        ax.set_yscale("log")
    finish(ax, len(ax.lines) > 1)


def new_panels(who: str, n: int, height: float) -> list[Any]:
    """Return axes of a new figure, one below the other, each of a height [inch]."""
    figure = new_figure(who, figsize=(7.0, 0.6 + height * n))
    return list(figure.subplots(n, sharex=True, squeeze=False)[:, 0])


def finish(ax: Any, legend: bool) -> None:
    """Add a legend beside the axes, and a grid behind the lines."""
    if legend:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
                  handlelength=3.5)  # fmt: skip
    ax.grid(color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)
