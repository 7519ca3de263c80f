"""Plots of quantities over time, diagrams of section forces along a beam (matplotlib).

Lines differ by colour and by dashes, so that they can be told apart in print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import absent, shown
from mbd.base.door import array
from mbd.drawing.curves import lines, panels_of
from mbd.drawing.figure import checked_axes, new_figure
from mbd.history.beams import SECTION_FORCES, BeamHistory
from mbd.history.columns import Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.history.history import History
    from mbd.store.stored import Stored

_DASHES = (
    "-", (0, (6, 2)), (0, (1, 1.2)), (0, (7, 2, 1, 2)), (0, (3, 1.5)), (0, (5, 1, 1, 1, 1, 1)),
    (0, (10, 3)), (0, (2, 2, 6, 2)), (0, (8, 1.5, 1, 1.5, 1, 1.5)),
)  # fmt: skip
_ORDER = list(SECTION_FORCES)
_PANELS = (("N",), ("V2", "V3"), ("T",), ("M2", "M3"))  # of section forces, with one unit each
_MOST = 5  # instants in one diagram


def plot(solution: History | Stored, names: tuple[str, ...], ax: Any) -> Figure:
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
        axes = _new_panels("plot", len(panels), 2.1)
    t = np.asarray(solution.t)
    for where, panel in zip(axes, panels, strict=True):
        _draw_panel(where, t, panel)
    axes[-1].set_xlabel("time [s]")
    return axes[0].figure  # type: ignore[no-any-return]


def _draw_panel(ax: Any, t: np.ndarray, panel: list[Series]) -> None:
    """Draw the curves of one panel, with their unit and who they are."""
    alone = len(panel) == 1
    first = len(ax.lines)
    for k, (label, values) in enumerate(lines(panel), first):
        ax.plot(t, values, label=label, color=f"C{k % 10}", linestyle=_DASHES[k % len(_DASHES)],
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
    _finish(ax, len(ax.lines) > 1)


def _new_panels(who: str, n: int, height: float) -> list[Any]:
    """Return axes of a new figure, one below the other, each of a height [inch]."""
    figure = new_figure(who, figsize=(7.0, 0.6 + height * n))
    return list(figure.subplots(n, sharex=True, squeeze=False)[:, 0])


def _finish(ax: Any, legend: bool) -> None:
    """Add a legend beside the axes, and a grid behind the lines."""
    if legend:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
                  handlelength=3.5)  # fmt: skip
    ax.grid(color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)


def diagram(
    solution: History | Stored, beam: str, names: tuple[str, ...], t: Any, ax: Any
) -> Figure:
    """Draw section forces along a beam; see ``Solution.diagram``."""
    history = solution[beam]
    if not isinstance(history, BeamHistory):
        raise ValueError(f"diagram: {beam!r} is no beam; give the name of a mbd.Beam")
    for name in names:
        if name not in SECTION_FORCES:
            raise ValueError(f"diagram: {absent('', name, SECTION_FORCES)}")
    times, k = _instants(np.asarray(solution.t), t)
    s = history.sections.stations.ravel()
    values = history.section_forces.reshape(len(solution.t), -1, 6)
    panels = [tuple(x for x in some if x in (names or some)) for some in _PANELS]
    panels = [some for some in panels if some]
    axes = [checked_axes(ax, "diagram")]
    if axes[0] is None:
        axes = _new_panels("diagram", len(panels), 1.7)
    elif len({SECTION_FORCES[x][0] for some in panels for x in some}) > 1:
        raise ValueError(
            "diagram: with ax= all section forces must have one unit, got "
            f"{', '.join(x for some in panels for x in some)}; name some, such as 'M2', 'M3'"
        )
    else:
        panels = [tuple(x for some in panels for x in some)]
    for where, some in zip(axes, panels, strict=True):
        _draw_forces(where, some, s, values, times, k)
    over = f"t = {times[0]:.4g} s" if len(k) == 1 else f"{len(k)} instants"
    if t is None and len(values) > 1:
        over = f"envelope over {times[0]:.4g} to {times[-1]:.4g} s"
    axes[0].set_title(f"{beam}: {over}", fontsize="medium")
    axes[-1].set_xlabel("length along the beam [m]")
    return axes[0].figure  # type: ignore[no-any-return]


def _instants(there: np.ndarray, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the instants nearest to those asked for; of an envelope the ends, and no lines."""
    if not len(there):
        raise ValueError("diagram: there is nothing to draw, the run has no instants")
    if t is None:
        return there[[0, -1]], np.arange(1 if len(there) == 1 else 0)
    wanted = np.atleast_1d(array("diagram", "t", t, "one or more instants [s]"))
    if wanted.ndim != 1 or not 0 < len(wanted) <= _MOST or not np.isfinite(wanted).all():
        raise ValueError(
            f"diagram: t must be 1 to {_MOST} instants [s], got {shown(t)}; for all of them leave "
            "it out"
        )
    k = np.abs(there - wanted[:, None]).argmin(axis=1)
    return there[k], k


def _draw_forces(
    ax: Any, names: tuple[str, ...], s: np.ndarray, values: np.ndarray, times: Any, k: np.ndarray
) -> None:
    """Draw the section forces of one panel."""
    for i, name in enumerate(names):
        x, color = values[..., _ORDER.index(name)], f"C{i}"
        if not len(k):
            low, high = x.min(axis=0), x.max(axis=0)
            ax.fill_between(s, low, high, color=color, alpha=0.25, linewidth=0.0)
            ax.plot(s, high, color=color, linewidth=1.4, linestyle=_DASHES[i], label=name)
            ax.plot(s, low, color=color, linewidth=1.4, linestyle=_DASHES[i])
        for j, one in enumerate(k):
            label = name if len(k) == 1 else f"{name}, {times[j]:.4g} s"
            dashes = _DASHES[(i + j * len(names)) % len(_DASHES)]
            ax.plot(s, x[one], color=f"C{i + j * len(names)}", linestyle=dashes, label=label)
            if len(k) == 1:
                ax.fill_between(s, 0.0, x[one], color=color, alpha=0.15, linewidth=0.0)
    unit, word = SECTION_FORCES[names[0]]
    ax.set_ylabel(f"{word} [{unit}]" if len(names) > 1 else f"{names[0]}, {word} [{unit}]")
    ax.axhline(0.0, color="0.3", linewidth=0.7, zorder=1)
    _finish(ax, len(ax.get_legend_handles_labels()[1]) > 1)
