"""Outcome of a comparison: one row for each run."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mbd.base.atomic import replaced
from mbd.comparison.error_measures import QUANTITIES

#: Columns of the rows with their units; "" for text.
COLUMNS = {
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
class Outcome:
    """The runs of a comparison; see ``Comparison``."""

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
