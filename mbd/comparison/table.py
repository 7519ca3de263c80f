"""A comparison as text: accuracy, cost, remarks."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from mbd.comparison.error_measures import QUANTITIES
from mbd.comparison.outcome import Outcome

_WIDTH = 100
_MOTION = [what for what, x in QUANTITIES.items() if not x.reaction]
_REACTIONS = [what for what, x in QUANTITIES.items() if x.reaction]
Column = tuple[str, str, str, str]  # head, unit, key of the value, key of the order or none


def text(comparison: Outcome) -> str:
    """Return all of a comparison."""
    lines = [comparison.title, f"errors against {comparison.reference}"]
    lines += _filled(_doubt(comparison), "  ")
    if any(row["status"] == "done" for row in comparison.rows):
        for table in (*_accuracy(comparison), _cost(comparison)):
            lines += ["", *table]
    remarks = [line for remark in _remarks(comparison) for line in _filled(remark)]
    return "\n".join([*lines, *([""] if remarks else []), *remarks])


def _filled(remark: str, first: str = "") -> list[str]:
    """Return lines of a remark that are not too long."""
    return textwrap.wrap(remark, _WIDTH, initial_indent=first, subsequent_indent=first + "  ")


def _doubt(comparison: Outcome) -> str:
    """Return the possible error of the reference itself."""
    unsure = [
        f"{comparison.reference_error[what]:.1e} {QUANTITIES[what].unit}"
        for what in _shown(comparison)
        if math.isfinite(comparison.reference_error[what])
    ]
    return f"which may itself be wrong by {', '.join(unsure)}" if unsure else ""


def _shown(comparison: Outcome) -> list[str]:
    """Return the quantities of the table."""
    return [what for what in QUANTITIES if what in comparison.telling]


def _remarks(comparison: Outcome) -> list[str]:
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


def _accuracy(comparison: Outcome) -> list[list[str]]:
    """Return errors of the motion and of reactions, side by side where there is room."""
    kept = all(row["conservative"] for row in comparison.rows if row["status"] == "done")
    ends: list[Column] = [
        ("gap", "m or -", "gap", ""),
        ("energy error" if kept else "energy change", "J", "energy_change", ""),
    ]
    shown = _shown(comparison)
    motion = [_column(what) for what in _MOTION if what in shown]
    reactions = [x for what in _REACTIONS if what in shown for x in (_column(what), _share(what))]
    together = _errors(comparison, [*motion, *reactions, *ends])
    if max(map(len, together)) <= _WIDTH or not reactions:
        return [together]
    return [_errors(comparison, [*motion, *ends]), _errors(comparison, reactions)]


def _column(what: str) -> Column:
    x = QUANTITIES[what]
    return (x.head, x.unit, f"{what}_error", f"{what}_order")


def _share(what: str) -> Column:
    return ("relative", "-", f"{what}_error_relative", "")


def _errors(comparison: Outcome, columns: list[Column]) -> list[str]:
    """Return a table with a line for each row and the orders below those of a formulation."""
    heads, units, keys, orders = zip(*columns, strict=True)
    table = [["formulation", "step", *heads], ["", "s", *units]]
    for name, rows in comparison.groups():
        for i, row in enumerate(rows):
            values = [_short(row[key]) for key in keys]
            table.append(["" if i else name, f"{row['step']:g}", *values])
        if len(rows) > 1 and any(orders):
            slopes = [_short(rows[0][key], ".2f") if key else "" for key in orders]
            table.append(["", "order", *slopes])
    return _aligned(table)


def _cost(comparison: Outcome) -> list[str]:
    """Return the table of sizes, iterations and times."""
    table = [
        ["formulation", "q", "v", "rows", "own mult.", "step", "Newton", "factor.", "time",
         "ratio"],
        ["", "-", "-", "-", "N m", "s", "per step", "per step", "us/step", "-"],
    ]  # fmt: skip
    for name, rows in comparison.groups():
        for i, row in enumerate(rows):
            head = [name, *(str(row[k]) for k in ("n_q", "n_v", "n_rows"))]
            table.append(
                (head if not i else [""] * 4)
                + [_short(row["own_multiplier"], ".3g"), f"{row['step']:g}"]
                + [_short(row[k], ".2f") for k in ("iterations", "factorizations")]
                + [_short(row["step_time"], ".3g"), _short(row["time_ratio"], ".2f")]
            )
    return _aligned(table)


def _short(x: float, form: str = ".1e") -> str:
    """Return a number as text, a dash where it is not known."""
    return format(x, form) if math.isfinite(x) else "-"


def _aligned(table: list[list[Any]]) -> list[str]:
    """Return lines of aligned columns, the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            x.ljust(w) if i == 0 else x.rjust(w)
            for i, (x, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
