"""A comparison: its rows as a table of text and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbd.comparison.outcome import Outcome
from mbd.comparison.picture import draw
from mbd.comparison.table import text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Comparison(Outcome):
    """The same model in several formulations; prints as a table.

    Attributes
    ----------
    title : str
        What was run, with which method.
    rows : list of dict
        One for each formulation, method and step, with the keys of
        ``mbd.comparison.outcome.COLUMNS``; numbers that are not known are nan. ``status`` is
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
        [N m]: largest multiplier of rows of the formulation itself. ``rotation_drift`` [-]: largest
        entry of :math:`R R^T - 1` at the end. ``condition``: of the iteration matrix of
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

    def __str__(self) -> str:
        """Return title, accuracy, cost and remarks as text."""
        return text(self)

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
        return draw(self, path, quantity)
