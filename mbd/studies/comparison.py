"""Comparison of formulations and methods: rows of numbers, as a table of text and as a picture."""

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mbd.base.atomic import replaced
from mbd.base.checked import one_of
from mbd.drawing.figure import checked_path, new_figure, save_figure
from mbd.studies.error_measures import QUANTITIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH = 100
_MILLISECOND = 1e-3  # s
_MARKS = "osD^vP*X<>"
_LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))


class _TableColumn(NamedTuple):
    """A column of a printed table: its head and unit, the key of its values, how they are written.

    Below the rows of a formulation is the value of `order`, which is one for all of them; `once`
    shows what all of them have alike in the first row alone.
    """

    head: str
    unit: str
    key: str
    form: str = ".1e"
    order: str = ""
    once: bool = False


_STEP = _TableColumn("step", "s", "step", "g")
_COST = (
    _TableColumn("q", "-", "n_q", "d", once=True),
    _TableColumn("v", "-", "n_v", "d", once=True),
    _TableColumn("rows", "-", "n_rows", "d", once=True),
    _TableColumn("cond.", "-", "condition", ".0e"),
    _TableColumn("own mult.", "N m", "own_multiplier", ".3g"),
    _STEP,
    _TableColumn("Newton", "per step", "iterations", ".2f"),
    _TableColumn("factor.", "per step", "factorizations", ".2f"),
    _TableColumn("drift", "-", "rotation_drift", ".0e"),
    _TableColumn("time", "us/step", "step_time", ".3g"),
    _TableColumn("ratio", "-", "time_ratio", ".2f"),
)

#: Columns of the rows with their units; "" for text.
COLUMNS = {
    "problem": "",
    "formulation": "",
    "method": "",
    "step": "s",
    "status": "",
    **{f"{what}_error": x.unit for what, x in QUANTITIES.items()},
    **{f"{what}_error_relative": "-" for what, x in QUANTITIES.items() if x.reaction},
    **{f"{what}_order": "-" for what in QUANTITIES},
    "gap": "m or -",
    "rotation_drift": "-",
    "energy_change": "J",
    "conservative": "-",
    "own_multiplier": "N m",
    "steps": "-",
    "iterations": "per step",
    "factorizations": "per step",
    "condition": "-",
    "rejected": "-",
    "step_time": "us",
    "time_ratio": "-",
    "run_time": "s",
    "n_q": "-",
    "n_v": "-",
    "n_rows": "-",
    "message": "",
}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Comparison of one model in several formulations; prints as a table.

    Attributes
    ----------
    title : str
        What was run, with which method.
    rows : list of dict
        One for each formulation, method and step, with the keys of
        ``mbd.studies.comparison.COLUMNS``; numbers that are not known are nan. ``status`` is
        "done", "failed" (the run stopped early) or "refused" (the scene, the method or the initial
        state does not go with the formulation), and ``message`` says why.

        ``position_error`` [m], ``rotation_error`` [rad], ``velocity_error`` [m/s],
        ``angular_velocity_error`` [rad/s]: the largest at the end, over bodies (position and
        velocity of the origin). ``force_error`` [N], ``moment_error`` [N m]: over joints;
        ``load_error`` [N m or N]: over drives, motors, transmissions and ropes;
        ``multipliers_error`` [N or N m]: over other rows, as those of :class:`mbd.NonTwisting`;
        ``scale_error`` [-]: over bodies that change their size;
        ``..._error_relative`` is divided by the largest of its kind there. ``..._order``: slope of
        the errors of the formulation over its steps. ``gap``
        [m or -]: largest violation of a row in the run. ``energy_change`` [J]: largest departure
        of the total energy from its start, an error where ``conservative``. ``own_multiplier``
        [N m]: largest multiplier of rows of the formulation itself. ``rotation_drift`` [-]: largest
        entry of :math:`R R^T - 1` in the run. ``condition``: of the iteration matrix of
        generalized-alpha at the start, in the 1-norm.
        ``step_time`` [us]: median over the turns; ``time_ratio``: to the first formulation at the
        same step; ``run_time`` [s]: of the whole run.
    reference : str
        What errors are measured against.
    reference_error : dict
        Estimate of the error of the reference for "position" [m], "rotation" [rad] and the others;
        smaller differences say nothing.
    telling : tuple of str
        The quantities that have errors above round-off, which are those of the printed table.
    notes : tuple of str
    orders : tuple of int
        Order of the method in the motion, and in forces at recorded instants.
    """

    title: str
    rows: list[dict[str, Any]]
    reference: str
    reference_error: dict[str, float]
    telling: tuple[str, ...]
    notes: tuple[str, ...] = ()
    orders: tuple[int, int] = (2, 2)

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        return f"{type(self).__name__}({done} of {len(self.rows)} runs done)"

    def __str__(self) -> str:
        """Return title, accuracy, cost and remarks as text."""
        return _text(self)

    def groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the rows of each formulation and method that are done."""
        done = (row for row in self.rows if row["status"] == "done")
        return [(name, list(rows)) for name, rows in groupby(done, self.name)]

    def name(self, row: dict[str, Any]) -> str:
        """Return the formulation of a row, and its method where there are several."""
        several = len({row["method"] for row in self.rows}) > 1
        return f"{row['formulation']}, {row['method']}" if several else row["formulation"]

    def to_csv(self, path: str | Path) -> Path:
        """Write one line per row; heads are ``name [unit]``, all digits, nan where not known."""
        path = Path(path)
        table = io.StringIO(newline="")
        writer = csv.writer(table)
        writer.writerow([f"{k} [{unit}]" if unit else k for k, unit in COLUMNS.items()])
        writer.writerows([row[k] for k in COLUMNS] for row in self.rows)
        with replaced(path, "to_csv") as file:
            file.write(table.getvalue().encode())
        return path

    def plain(self) -> dict[str, Any]:
        """Return everything as plain values, None where a number is not known."""

        def finite_or_none(values: dict[str, Any]) -> dict[str, Any]:
            return {
                k: None if isinstance(v, float) and not math.isfinite(v) else v
                for k, v in values.items()
            }

        return {
            "title": self.title,
            "reference": self.reference,
            "reference_error": finite_or_none(self.reference_error),
            "telling": list(self.telling),
            "units": COLUMNS,
            "rows": [finite_or_none(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None, quantity: str | None = None) -> "Figure":
        """Draw an error against the step and against the time of the run, both logarithmic.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; the ending says how.
        quantity : str, optional
            Which error: "position", "rotation", "velocity", "angular_velocity", "force", "moment",
            "load", "multipliers" or "scale"; by default the first of these with errors above
            round-off. A picture of a quantity without any says so.

        Returns
        -------
        Figure
            Without times (``turns=0``) the second picture is against Newton iterations, or against
            steps where the method has none.
        """
        return _draw(self, path, quantity)


# --- as text


def _text(comparison: Comparison) -> str:
    """Return all of a comparison."""
    lines = [comparison.title, f"errors against {comparison.reference}"]
    lines += _filled(_doubt(comparison), "  ")
    if any(row["status"] == "done" for row in comparison.rows):
        for table in (*_accuracy(comparison), _table(comparison, _COST)):
            lines += ["", *table]
    remarks = [line for remark in _remarks(comparison) for line in _filled(remark)]
    return "\n".join([*lines, *([""] if remarks else []), *remarks])


def _filled(remark: str, first: str = "") -> list[str]:
    """Return lines of a remark that are not too long."""
    return textwrap.wrap(remark, _WIDTH, initial_indent=first, subsequent_indent=first + "  ")


def _doubt(comparison: Comparison) -> str:
    """Return the possible error of the reference itself."""
    unsure = [
        f"{comparison.reference_error[what]:.1e} {QUANTITIES[what].unit}"
        for what in _shown(comparison)
        if math.isfinite(comparison.reference_error[what])
    ]
    return f"which may itself be wrong by {', '.join(unsure)}" if unsure else ""


def _shown(comparison: Comparison) -> list[str]:
    """Return the quantities of the table."""
    return [what for what in QUANTITIES if what in comparison.telling]


def _remarks(comparison: Comparison) -> list[str]:
    """Return the remarks below the tables."""
    remarks = [
        f"{comparison.name(row)}, step {row['step']:g} s: {row['status']}: {row['message']}"
        for row in comparison.rows
        if row["message"] and row["status"] != "refused"
    ]
    refused = {
        comparison.name(r): r["message"] for r in comparison.rows if r["status"] == "refused"
    }
    remarks += [f"{name}: refused: {message}" for name, message in refused.items()]
    silent = [
        what.replace("_", " ")
        for what in QUANTITIES
        if what not in comparison.telling
        and any(math.isfinite(row[f"{what}_error"]) for row in comparison.rows)
    ]
    if silent:
        remarks.append(f"zero or of the size of round-off: errors of {', '.join(silent)}")
    return [*remarks, *comparison.notes]


def _accuracy(comparison: Comparison) -> list[list[str]]:
    """Return errors of the motion and of reactions, side by side where there is room."""
    kept = all(row["conservative"] for row in comparison.rows if row["status"] == "done")
    ends = [
        _TableColumn("gap", "m or -", "gap"),
        _TableColumn("energy error" if kept else "energy change", "J", "energy_change"),
    ]
    motion, reactions = list[_TableColumn](), list[_TableColumn]()
    for what in _shown(comparison):
        x, key = QUANTITIES[what], f"{what}_error"
        (reactions if x.reaction else motion).append(
            _TableColumn(x.head, x.unit, key, order=f"{what}_order")
        )
        if x.reaction:
            reactions.append(_TableColumn("relative", "-", f"{key}_relative"))
    together = _table(comparison, [_STEP, *motion, *reactions, *ends])
    if max(map(len, together)) <= _WIDTH or not reactions:
        return [together]
    return [_table(comparison, [_STEP, *some]) for some in ((*motion, *ends), reactions)]


def _table(comparison: Comparison, columns: Sequence[_TableColumn]) -> list[str]:
    """Return lines with a line for each row and the orders below those of a formulation."""
    table = [["formulation", *(x.head for x in columns)], ["", *(x.unit for x in columns)]]
    for name, rows in comparison.groups():
        for i, row in enumerate(rows):
            values = ("" if i and x.once else _short(row[x.key], x.form) for x in columns)
            table.append(["" if i else name, *values])
        if len(rows) > 1 and any(x.order for x in columns):
            slopes = (_short(rows[0][x.order], ".2f") if x.order else "" for x in columns[1:])
            table.append(["", "order", *slopes])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            x.rjust(w) if i else x.ljust(w)
            for i, (x, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _short(x: float, form: str) -> str:
    """Return a number as text, a dash where it is not known."""
    return format(x, form) if math.isfinite(x) else "-"


# --- as a picture


def checked_quantity(quantity: str) -> str:
    """Return a quantity that has errors to be drawn."""
    return one_of("plot", "quantity", quantity, QUANTITIES)


def _draw(comparison: Comparison, path: str | Path | None, quantity: str | None) -> "Figure":
    """Draw one error, or say that there is none."""
    what = checked_quantity(
        next(iter(comparison.telling), "position") if quantity is None else quantity
    )
    where = None if path is None else checked_path(path, "plot")
    styles = _styles(comparison)
    figure = new_figure("plot", figsize=(8.0, 4.2 + 0.2 * max(0, len(styles) // 4 - 1)))
    left, right = figure.subplots(1, 2, sharey=True)
    unit, key = QUANTITIES[what].unit, f"{what}_error"
    left.set_xlabel("step size [s]")
    left.set_ylabel(f"largest {what.replace('_', ' ')} error at the end [{unit}]")
    cost, cost_label = _price(comparison)
    right.set_xlabel(cost_label)
    if what in comparison.telling:
        _draw_errors(comparison, left, right, key, cost, styles)
    else:
        done = any(math.isfinite(row[key]) for row in comparison.rows)
        for ax in (left, right):
            ax.set(xticks=[], yticks=[])
            why = "zero or of the size of round-off" if done else "not known"
            ax.text(0.5, 0.5, f"all errors are {why}", ha="center", transform=ax.transAxes)
    for ax in (left, right):
        ax.grid(which="major", color="0.85", linewidth=0.7)
        ax.set_axisbelow(True)
    if what in comparison.telling:
        from matplotlib.lines import Line2D

        drawn = [Line2D([], [], label=label, **style) for label, style in styles.items()]
        figure.legend(handles=drawn, loc="outside lower center", ncols=4, frameon=False,
                      handlelength=4)  # fmt: skip
    figure.suptitle(comparison.title, fontsize="medium", wrap=True)
    if where is not None:
        save_figure(figure, where, "plot", 200)
    return figure


def _price(comparison: Comparison) -> tuple[Any, str]:
    """Return what a row costs, and what that is called: times, or else iterations, or steps."""
    rows = [row for row in comparison.rows if row["status"] == "done"]
    if any(row["run_time"] > 0 for row in rows):
        return lambda row: row["run_time"] / _MILLISECOND, "computing time of the run [ms]"
    if all(row["iterations"] > 0 for row in rows):
        return lambda row: row["steps"] * row["iterations"], "Newton iterations [-]"
    return lambda row: row["steps"], "steps of the run [-]"


def _styles(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Return how formulations are drawn, by colour, and several methods, by mark."""
    shown = [row for _, (row, *_) in comparison.groups()]
    formulations, methods = (list(dict.fromkeys(row[k] for row in shown))
                             for k in ("formulation", "method"))  # fmt: skip
    several = len({row["method"] for row in comparison.rows}) > 1
    colours = {x: {"color": f"C{i}", "linewidth": 1.4} for i, x in enumerate(formulations)}
    marks = {
        x: {"marker": _MARKS[i % len(_MARKS)], "linestyle": _LINES[i % len(_LINES)],
            "markerfacecolor": "none", "markeredgewidth": 1.4, "markersize": 10 - 1.2 * (i % 5)}
        for i, x in enumerate(methods if several else formulations)
    }  # fmt: skip
    if not several:
        return {x: colours[x] | marks[x] for x in formulations}
    return colours | {x: marks[x] | {"color": "0.3"} for x in methods}


def _draw_errors(
    comparison: Comparison, left: Any, right: Any, key: str, cost: Any, styles: dict[str, Any]
) -> None:
    """Draw the errors of each formulation over its steps and over what they cost."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    points = []
    for _, rows in comparison.groups():
        shown = [row for row in rows if row[key] > 0]
        if not shown:
            continue
        how = styles.get(rows[0]["method"], {}) | styles[rows[0]["formulation"]]
        error = [row[key] for row in shown]
        points += [(row["step"], row[key], row["method"]) for row in shown]
        left.loglog([row["step"] for row in shown], error, **how)
        right.loglog([cost(row) for row in shown], error, **how)
    what = key.removesuffix("_error")
    first = [(h, e) for h, e, method in points if method == comparison.rows[0]["method"]]
    _guide(left, first, comparison.orders[QUANTITIES[what].reaction])
    if 0 < len(steps := sorted({h for h, *_ in points})) <= 6:  # few, which are the ticks
        left.xaxis.set_ticks(steps, [f"{h:g}" for h in steps])
        left.xaxis.set_ticks([], minor=True)
    right.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    right.xaxis.set_minor_formatter(NullFormatter())


def _guide(ax: Any, points: list[tuple[float, float]], order: int) -> None:
    """Draw a line of the slope of the method below the points and write so."""
    low, high = (f((h for h, _ in points), default=0.0) for f in (min, max))
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
