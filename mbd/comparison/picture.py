"""Picture of a comparison: errors over steps and over computing time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.checked import one_of
from mbd.comparison.error_measures import QUANTITIES
from mbd.comparison.outcome import Outcome
from mbd.drawing.figure import checked_path, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "osD^vP*X<>"
_LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))


def checked_quantity(quantity: str) -> str:
    """Return a quantity that has errors to be drawn."""
    return one_of("plot", "quantity", quantity, QUANTITIES)


def draw(outcome: Outcome, path: str | Path | None, quantity: str | None) -> Figure:
    """Draw one error, or say that there is none."""
    what = checked_quantity(
        next(iter(outcome.telling), "position") if quantity is None else quantity
    )
    where = None if path is None else checked_path(path, "plot")
    figure = new_figure("plot", figsize=(8.0, 4.2))
    left, right = figure.subplots(1, 2, sharey=True)
    unit, key = QUANTITIES[what].unit, f"{what}_error"
    left.set_xlabel("step size [s]")
    left.set_ylabel(f"largest {what.replace('_', ' ')} error at the end [{unit}]")
    cost, cost_label = _cost(outcome)
    right.set_xlabel(cost_label)
    if what in outcome.telling:
        _lines(outcome, left, right, key, cost)
    else:
        done = any(math.isfinite(row[key]) for row in outcome.rows)
        for ax in (left, right):
            ax.set(xticks=[], yticks=[])
            why = "zero or of the size of round-off" if done else "not known"
            ax.text(0.5, 0.5, f"all errors are {why}", ha="center", transform=ax.transAxes)
    for ax in (left, right):
        ax.grid(which="major", color="0.85", linewidth=0.7)
        ax.set_axisbelow(True)
    if left.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower center", ncols=4, frameon=False, handlelength=4)
    figure.suptitle(outcome.title, fontsize="medium", wrap=True)
    if where is not None:
        save_figure(figure, where, "plot", 200)
    return figure


def _cost(outcome: Outcome) -> tuple[Any, str]:
    """Return what a row costs, and what that is called: times, or else iterations, or steps."""
    rows = [row for row in outcome.rows if row["status"] == "done"]
    if any(row["run_time"] > 0 for row in rows):
        return lambda row: 1e3 * row["run_time"], "computing time of the run [ms]"
    if all(row["iterations"] > 0 for row in rows):
        return lambda row: row["steps"] * row["iterations"], "Newton iterations [-]"
    return lambda row: row["steps"], "steps of the run [-]"


def _lines(outcome: Outcome, left: Any, right: Any, key: str, cost: Any) -> None:
    """Draw the errors of each formulation over its steps and over what they cost."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    points = []
    for i, (name, rows) in enumerate(outcome.groups()):
        shown = [row for row in rows if row[key] > 0]
        if not shown:
            continue
        how = {
            "marker": _MARKS[i % len(_MARKS)], "linestyle": _LINES[i % len(_LINES)],
            "color": f"C{i}", "markerfacecolor": "none", "linewidth": 1.4,
            "markersize": 10 - 1.2 * (i % 5), "markeredgewidth": 1.4,
        }  # fmt: skip
        error = [row[key] for row in shown]
        points += [(row["step"], row[key]) for row in shown]
        left.loglog([row["step"] for row in shown], error, label=name, **how)
        right.loglog([cost(row) for row in shown], error, **how)
    what = key.removesuffix("_error")
    _guide(left, points, outcome.orders[QUANTITIES[what].reaction])
    _decades(left.xaxis, sorted({h for h, _ in points}))
    right.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    right.xaxis.set_minor_formatter(NullFormatter())


def _guide(ax: Any, points: list[tuple[float, float]], order: int) -> None:
    """Draw a line of the slope of the method below the points and write so."""
    low, high = min(h for h, _ in points), max(h for h, _ in points)
    if high <= low:
        return
    constant = 0.4 * min(error / h**order for h, error in points)
    ends = (constant * low**order, constant * high**order)
    ax.loglog((low, high), ends, color="0.35", linewidth=1.0, zorder=1)
    middle = math.sqrt(low * high)
    ax.annotate(
        f"slope {order}", (middle, constant * middle**order), xytext=(6, -4),
        textcoords="offset points", ha="left", va="top", color="0.35", fontsize="small",
    )  # fmt: skip


def _decades(axis: Any, steps: list[float]) -> None:
    """Label the steps themselves where they are few."""
    if 0 < len(steps) <= 6:
        axis.set_ticks(steps, [f"{h:g}" for h in steps])
        axis.set_ticks([], minor=True)
