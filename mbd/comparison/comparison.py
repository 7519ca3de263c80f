"""What a comparison of formulations found: rows, a table of text, a file, a picture."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.atomic import replaced
from mbd.comparison.judged import QUANTITIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "Comparison"]

#: Columns of the rows with their units; "" for text.
COLUMNS = {
    "formulation": "",
    "step": "s",
    "status": "",
    **{f"{what}_error": x.unit for what, x in QUANTITIES.items()},
    **{f"{what}_error_relative": "-" for what, x in QUANTITIES.items() if x.reaction},
    **{f"{what}_order": "-" for what in QUANTITIES},
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


@dataclass(frozen=True, repr=False)
class Comparison:
    """The same model in several formulations; prints as a table.

    Attributes
    ----------
    title : str
        What was run, with which method.
    rows : list of dict
        One for each formulation and step, with the keys of
        ``mbd.comparison.comparison.COLUMNS``; numbers that are not known are nan. ``status`` is
        "done", "failed" (the run stopped early) or "refused" (the scene, the method or the initial
        state does not go with the formulation), and ``message`` says why.

        ``position_error`` [m], ``rotation_error`` [rad], ``velocity_error`` [m/s],
        ``angular_velocity_error`` [rad/s]: the largest at the end, over bodies (position and
        velocity of the origin). ``force_error`` [N], ``moment_error`` [N m]: over joints;
        ``load_error`` [N m or N]: over drives, motors, transmissions and ropes;
        ``..._error_relative`` is divided by the largest of its kind there. ``..._order``: slope of
        the errors of the formulation over its steps. ``gap``
        [m or -]: largest violation of a row in the run. ``energy_change`` [J]: largest departure
        of the total energy from its start, an error where ``conservative``. ``own_multiplier``
        [N m]: largest multiplier of rows of the formulation itself.
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

    def __str__(self) -> str:
        """Return title, accuracy, cost and remarks as text."""
        from mbd.comparison.table import text

        return text(self)

    def __repr__(self) -> str:
        done = sum(row["status"] == "done" for row in self.rows)
        return f"Comparison({done} of {len(self.rows)} runs done)"

    def groups(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the rows of each formulation that are done."""
        done = (row for row in self.rows if row["status"] == "done")
        return [(name, list(rows)) for name, rows in groupby(done, lambda r: r["formulation"])]

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

        def known(values: dict[str, Any]) -> dict[str, Any]:
            return {
                k: None if isinstance(v, float) and not math.isfinite(v) else v
                for k, v in values.items()
            }

        return {
            "title": self.title,
            "reference": self.reference,
            "reference_error": known(self.reference_error),
            "telling": list(self.telling),
            "units": COLUMNS,
            "rows": [known(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def plot(self, path: str | Path | None = None, quantity: str | None = None) -> Figure:
        """Draw an error against the step and against the time of the run, both logarithmic.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; the ending says how.
        quantity : str, optional
            Which error: "position", "rotation", "velocity", "angular_velocity", "force", "moment"
            or "load"; by default the first of these with errors above round-off. A picture of a
            quantity without any says so.

        Returns
        -------
        Figure
            Without times (``turns=0``) the second picture is against Newton iterations, or against
            steps where the method has none.
        """
        from mbd.figures.comparison import draw

        return draw(self, path, quantity)
