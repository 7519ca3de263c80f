"""The solution of a run: histories by name, written to files and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.above import MovingPicture, from_above
from mbd.base.html_tables import facts, page, table
from mbd.history.columns import parts
from mbd.history.history import History
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import turns_so_far

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.figure import Figure


class Solution(History):
    """Results of a run; time is the first axis everywhere.

    ``mbd.simulate`` and ``mbd.load`` make it.

    Parameters
    ----------
    model : Model
    t : (n,) array [s]
    q, v, a, lam : (n, ...) arrays [m, -; m/s, rad/s, 1/s; their rates; N, N m]
        Stored coordinates, velocities, accelerations, multipliers, in the order of the model. Of a
        streamed or loaded run they are on disk: slices of them are numpy arrays.
    status : int
        0: reached the end; 1: failed; -1: interrupted. ``success`` tells whether it is 0.
    message : str
        How the run ended.
    stats : dict
        Steps, iterations, factorizations, evaluations, rejected, seconds, ...
    last : State
        The last state, from which a run can go on: ``solution.state``.
    method : integrator
        Of a loaded run its text.
    before : mapping, optional
        What came before the first instant: of pieces of a long run.
    stored : mapping, optional
        Quantities by name that are in a file already.
    options : mapping, optional
        What ``mbd.simulate`` was asked for: ``t_end`` [s], ``step`` [s], ``rtol``, ``atol``,
        ``max_step`` [s], ``every``, ``project``, ``off`` and the names of ``events``, as given.
    events : list
        Events that happened, each with ``name`` and ``t`` [s], and those of a run that was not
        loaded with ``state``.
    impulsive : (n,) or (n, 3) array, optional [J]
        Work of impulses since the first instant, ``solution.energy.impulsive``, and what of it
        friction and impacts took; default zero.
    impacts : (k, 13) array, optional [s, N s, m/s, J, -]
        The numbers of ``solution.impacts``, a table of all impacts of contacts.
    """

    #: the same run of one order less, if it was extrapolated (``order=`` of ``simulate``)
    lower: Solution | None = None

    def to_xarray(self) -> xr.Dataset:
        """Return everything by name as one labelled data set (needs the extra "results").

        Dimensions time, body, joint, row, component (x, y, z) ...; units
        and frames are attributes of each variable, statistics and method those of the data set.
        """
        return from_above("Solution.to_xarray", self)

    def save(
        self, path: str | Path, *, every: int = 1, quantities: Sequence[str] | None = None,
        single: bool = False, **notes: Any,
    ) -> Path:  # fmt: skip
        """Write the results; the ending of the path says how.

        ==========  ============================================================================
        ``.nc``     netCDF-4, which is HDF5: all of ``to_xarray()``; ``mbd.load`` reads it
        ``.npz``    one numpy array per name; ``mbd.load`` reads it
        ``.csv``    a table of text, one row per instant
        ``.mat``    for MATLAB and Octave: a structure for each part
        ``.pvd``    for ParaView: bodies, joints and their vectors, surfaces of what bends, paths
        ==========  ============================================================================

        Parameters
        ----------
        path : str or Path
        every : int
            Write every so many of the instants; of ``.csv``, ``.mat`` and ``.pvd`` only.
        quantities : list of str, optional
            Write only these arrays of ``to_xarray()``, such as ``["position", "force"]``; of
            ``.nc`` only. ``["q", "v", "a", "multipliers"]`` is all that ``mbd.load`` needs to
            compute the others again, with the same bits.
        single : bool
            Write numbers of four bytes, which have seven digits; of ``.nc`` only.
        notes
            Stored with the results (``.nc`` and ``.npz``): text, numbers, lists of them.
        """
        return from_above("Solution.save", self, path, every, quantities, single, **notes)

    def animate(self, path: str | Path | None = None, **options: Any) -> MovingPicture:
        """Return the moving picture; write ``.html``, ``.gif``, ``.webp`` or ``.mp4`` if asked.

        Jupyter shows what is returned. The page is one file that needs no network.

        Parameters
        ----------
        path : str or Path, optional
        trails : names of bodies, or pairs (name, point in body axes [m])
            Points whose paths are drawn.
        show : tuple of str
            What is visible at first, of "bodies", "joints", "springs", "trails", "loads",
            "reactions", "labels", "grid"; default all but "reactions" and "labels".
        arrows : bool
            False leaves loads and reactions out of the file.
        lines : sequence of sequences of names of bodies, or pairs (name, point in body axes [m])
            Each is a line that is drawn through its points: a rope, a flexible rod.
        speed : float
            Seconds of the model per second; default 1, slower for short runs, faster for long ones.
        up, view : (3,) array
            Upwards (an axis; default against gravity), and from the middle to the eye.
        follow : str
            Body that the eye goes along with; "" for none. Default none, unless all run away.
        title : str
        color_by : str, optional
            What colours beams at first: a section force "N", "V2", "V3", "T", "M2", "M3", or on the
            surface the "strain" or "stress" along the beam; cables have N, flexible bodies with
            faces "strain" and "mises". The page offers all of them.
        ghosts : up to eight instants [s]
            At which all bodies are shown faintly the whole time.
        plots : sequence of str
            Quantities by the names of ``plot``, drawn over time beside the picture of a page; a
            cursor in them is the instant that is shown.
        """
        return from_above("Solution.animate", self, path, **options)

    def snapshot(
        self, path: str | Path, t: float | None = None, *, size: Any = (800, 600), **options: Any
    ) -> Path:
        """Write a picture (``.png``, ``.pdf``, ``.svg``) of the instant nearest to t [s].

        Drawn by matplotlib, without a graphics card; default the last instant. ``size`` is in
        pixels, the other options are those of ``animate``.
        """
        return from_above("Solution.snapshot", self, path, t, size, **options)

    def plot(self, *names: str, ax: Any = None) -> Figure:
        """Draw quantities by name over time (needs the extra "plot").

        Parameters
        ----------
        names : str
            A part ("rod", "hinge"), a quantity of it ("rod.position", "hinge.force") or one
            component ("rod.position.x"); "energy", "momentum", "gap"; "drift" is the change of
            energy and the violation of rows. Default: "energy" and "drift". Each has its own panel.
        ax : matplotlib Axes, optional
            Where to draw; then all quantities must have the same unit.

        Returns
        -------
        Figure
        """
        return from_above("Solution.plot", self, names, ax)

    def diagram(self, beam: str, *names: str, t: Any = None, ax: Any = None) -> Figure:
        """Draw section forces along a beam (needs the extra "plot").

        Parameters
        ----------
        beam : str
        names : str
            "N", "V2", "V3" [N], "T", "M2", "M3" [N m]: normal and shear forces, torsion and bending
            moments in section axes. Default: all.
        t : float, or up to five in a list [s], optional
            The instants nearest to these are drawn; default the envelope of all instants.
        ax : matplotlib Axes, optional
            Where to draw; then all must have one unit.

        Returns
        -------
        Figure
        """
        return from_above("Solution.diagram", self, beam, names, t, ax)

    def _repr_html_(self) -> str:
        t = self.t
        there = parts(self.columns)
        return page(
            repr(self),
            facts(message=self.message, method=self.method, instants=len(t),
                  time=f"{t[0]:.6g} to {t[-1]:.6g} s" if len(t) else "",
                  seconds=self.stats.get("seconds"), events=len(self.events) or ""),
            table("read by name: solution[\"name\"].quantity", ("name", "quantities"),
                  ((name, ", ".join(words)) for name, words in there.items())),
        )  # fmt: skip

    def __repr__(self) -> str:
        n = int(self.stats.get("steps", 0))
        return f"Solution({len(self.t)} instants, {n} steps, {self.message})"


def solution_of(model: Model, states: Sequence[State], **facts: Any) -> Solution:
    """Return the solution whose instants are some states; ``facts`` are other arguments of it."""
    names = "t", "q", "v", "a", "lam"
    histories = [np.array([getattr(x, name) for x in states]) for name in names]
    before = facts.pop("before", None) or turns_so_far(model, states[0])
    last = facts.pop("last", states[-1])
    return Solution(model, *histories, last=last, before=before, **facts)
