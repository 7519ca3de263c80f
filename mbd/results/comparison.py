"""Floor 5. What a comparison of formulations found: rows, a table of text, a file, a picture."""

from __future__ import annotations

import csv
import math
import textwrap
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "QUANTITIES", "Comparison"]

#: Columns of the rows with their units; "" for text.
COLUMNS = {
    "formulation": "",
    "step": "s",
    "status": "",
    "position_error": "m",
    "rotation_error": "rad",
    "velocity_error": "m/s",
    "force_error": "N",
    "force_error_relative": "-",
    "position_order": "-",
    "rotation_order": "-",
    "velocity_order": "-",
    "force_order": "-",
    "gap": "m or -",
    "energy_change": "J",
    "conservative": "-",
    "own_multiplier": "N m",
    "steps": "-",
    "iterations": "per step",
    "factorizations": "per step",
    "rejected": "-",
    "step_time": "us",
    "time_ratio": "-",
    "run_time": "s",
    "n_q": "-",
    "n_v": "-",
    "n_rows": "-",
    "message": "",
}
#: What errors are measured of, with units.
QUANTITIES = {"position": "m", "rotation": "rad", "velocity": "m/s", "force": "N"}
_MARKS = "osD^vP*X<>"
_LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))


@dataclass(frozen=True, repr=False)
class Comparison:
    """The same model in several formulations; prints as a table.

    Attributes
    ----------
    title : str
        What was run, with which method.
    rows : list of dict
        One for each formulation and step, with the keys of
        ``mbd.results.comparison.COLUMNS``; numbers that are not known are nan. ``status`` is
        "done", "failed" (the run stopped early) or "refused" (the scene, the method or the initial
        state does not go with the formulation), and ``message`` says why.

        ``position_error`` [m], ``rotation_error`` [rad], ``velocity_error`` [m/s],
        ``force_error`` [N]: the largest at the end, over bodies (position and velocity of the
        origin) and over joints; ``force_error_relative`` is divided by the largest joint force
        there. ``..._order``: slope of the errors of the formulation over its steps. ``gap``
        [m or -]: largest violation of a row in the run. ``energy_change`` [J]: largest departure
        of the total energy from its start, an error where ``conservative``. ``own_multiplier``
        [N m]: largest multiplier of rows of the formulation itself.
        ``step_time`` [us]: median over the turns; ``time_ratio``: to the first formulation at the
        same step; ``run_time`` [s]: of the whole run.
    reference : str
        What errors are measured against.
    reference_error : dict
        Estimate of the error of the reference for "position" [m], "rotation" [rad], "velocity"
        [m/s] and "force" [N]; smaller differences say nothing.
    notes : tuple of str
    orders : tuple of int
        Order of the method in the motion, and in forces at recorded instants.
    """

    title: str
    rows: list[dict[str, Any]]
    reference: str
    reference_error: dict[str, float]
    notes: tuple[str, ...] = ()
    orders: tuple[int, int] = (2, 2)

    def __str__(self) -> str:
        """Return title, accuracy, cost and remarks as text of at most 100 columns."""
        lines = [self.title, f"errors against {self.reference}"]
        if any(math.isfinite(x) for x in self.reference_error.values()):
            lines.append(
                "  which may itself be wrong by "
                + ", ".join(
                    f"{self.reference_error[name]:.1e} {unit}"
                    for name, unit in QUANTITIES.items()
                    if math.isfinite(self.reference_error[name])
                )
            )
        if any(row["status"] == "done" for row in self.rows):
            lines += ["", *_aligned(self._accuracy()), "", *_aligned(self._cost())]
        remarks = [
            f"{row['formulation']}, step {row['step']:g} s: {row['status']}: {row['message']}"
            for row in self.rows
            if row["message"] and row["status"] != "refused"
        ]
        refused = {r["formulation"]: r["message"] for r in self.rows if r["status"] == "refused"}
        remarks += [f"{name}: refused: {message}" for name, message in refused.items()]
        remarks += self.notes
        wrapped = [textwrap.fill(text, 100, subsequent_indent="  ") for text in remarks]
        return "\n".join([*lines, *([""] if wrapped else []), *wrapped])

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        return f"Comparison({done} of {len(self.rows)} runs done)"

    def _groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the rows of each formulation that are done."""
        done = (row for row in self.rows if row["status"] == "done")
        return [(name, list(rows)) for name, rows in groupby(done, lambda r: r["formulation"])]

    def _accuracy(self) -> list[list[str]]:
        kept = all(row["conservative"] for row in self.rows if row["status"] == "done")
        energy = "energy error" if kept else "energy change"
        table = [
            ["formulation", "step", "position", "rotation", "velocity", "force", "relative", "gap",
             energy],
            ["", "s", "m", "rad", "m/s", "N", "-", "m or -", "J"],
        ]  # fmt: skip
        keys = [f"{what}_error" for what in QUANTITIES] + ["force_error_relative"]
        for name, rows in self._groups():
            for i, row in enumerate(rows):
                values = [_short(row[k]) for k in (*keys, "gap", "energy_change")]
                table.append(["" if i else name, f"{row['step']:g}", *values])
            if len(rows) > 1:
                orders = [rows[0][f"{what}_order"] for what in QUANTITIES]
                table.append(["", "order", *(_short(x, ".2f") for x in orders), "", "", ""])
        return table

    def _cost(self) -> list[list[str]]:
        table = [
            ["formulation", "q", "v", "rows", "own mult.", "step", "Newton", "factor.", "time",
             "ratio"],
            ["", "-", "-", "-", "N m", "s", "per step", "per step", "us/step", "-"],
        ]  # fmt: skip
        for name, rows in self._groups():
            for i, row in enumerate(rows):
                head = [name, *(str(row[k]) for k in ("n_q", "n_v", "n_rows"))]
                table.append(
                    (head if not i else [""] * 4)
                    + [_short(row["own_multiplier"], ".3g"), f"{row['step']:g}"]
                    + [_short(row[k], ".2f") for k in ("iterations", "factorizations")]
                    + [_short(row["step_time"], ".3g"), _short(row["time_ratio"], ".2f")]
                )
        return table

    def to_csv(self, path: str | Path) -> Path:
        """Write one line per row; heads are ``name [unit]``, all digits, nan where not known."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"{k} [{unit}]" if unit else k for k, unit in COLUMNS.items()])
            writer.writerows([row[k] for k in COLUMNS] for row in self.rows)
        return path

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values, None where a number is not known."""

        def known(values: dict[str, Any]) -> dict[str, Any]:
            return {
                k: None if isinstance(v, float) and not math.isfinite(v) else v
                for k, v in values.items()
            }

        return {
            "title": self.title,
            "reference": self.reference,
            "reference_error": known(self.reference_error),
            "units": COLUMNS,
            "rows": [known(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None, quantity: str = "position") -> Figure:
        """Draw an error against the step and against the time of the run, both logarithmic.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; the ending says how.
        quantity : {"position", "rotation", "velocity", "force"}
            Which error.

        Returns
        -------
        Figure
            Without times (``turns=0``) the second picture is against Newton iterations.
        """
        if quantity not in QUANTITIES:
            raise ValueError(
                f"plot: quantity must be one of {', '.join(QUANTITIES)}, got {quantity!r}"
            )
        try:
            from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter
        except ImportError:
            raise ImportError(
                "plot: drawing needs matplotlib, which is an extra; pip install 'mbd[plot]'"
            ) from None
        from mbd.results.figures import new_figure

        figure = new_figure("plot", figsize=(8.0, 4.2))
        left, right = figure.subplots(1, 2, sharey=True)
        timed = any(row["run_time"] > 0 for row in self.rows)
        key, points = f"{quantity}_error", []
        for i, (name, rows) in enumerate(self._groups()):
            shown = [row for row in rows if row[key] > 0]
            if not shown:
                continue
            how = {
                "marker": _MARKS[i % len(_MARKS)], "linestyle": _LINES[i % len(_LINES)],
                "color": f"C{i}", "markerfacecolor": "none", "linewidth": 1.4,
                "markersize": 10 - 1.2 * (i % 5), "markeredgewidth": 1.4,
            }  # fmt: skip
            error = [row[key] for row in shown]
            cost = [1e3 * r["run_time"] if timed else r["steps"] * r["iterations"] for r in shown]
            points += [(row["step"], row[key]) for row in shown]
            left.loglog([row["step"] for row in shown], error, label=name, **how)
            right.loglog(cost, error, **how)
        _guide(left, points, self.orders[quantity == "force"])
        left.set_xlabel("step size [s]")
        left.set_ylabel(f"largest {quantity} error at the end [{QUANTITIES[quantity]}]")
        right.set_xlabel("computing time of the run [ms]" if timed else "Newton iterations [-]")
        _decades(left.xaxis, sorted({h for h, _ in points}))
        right.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        right.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        right.xaxis.set_minor_formatter(NullFormatter())
        for ax in (left, right):
            ax.grid(which="major", color="0.85", linewidth=0.7)
            ax.set_axisbelow(True)
        if points:
            figure.legend(loc="outside lower center", ncols=4, frameon=False, handlelength=4)
        figure.suptitle(self.title, fontsize="medium", wrap=True)
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=200)
        return figure


def _short(x: float, form: str = ".1e") -> str:
    """Return a number as text, a dash where it is not known."""
    return format(x, form) if math.isfinite(x) else "-"


def _aligned(table: list[list[str]]) -> list[str]:
    """Return lines of aligned columns, the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            x.ljust(w) if i == 0 else x.rjust(w)
            for i, (x, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _guide(ax: Any, points: list[tuple[float, float]], order: int) -> None:
    """Draw a line of the slope of the method below the points and write so."""
    if not points:
        return
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
