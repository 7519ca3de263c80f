"""Stored results without their model: histories by name, pictures, copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.checked import file_path
from mbd.store.stored import StoredHistory

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class Stored(StoredHistory):
    """What a file of results holds, with the names of a ``Solution``.

    Attributes
    ----------
    source : mapping
        Every quantity by its full name: ``source["rod.position"]``.
    t, q, v, a, lam : arrays
    status, message, method, options, stats, notes, version
        As the run left them; the method as text.
    events : list
        Events that happened, each with ``name`` and ``t``.
    """

    def to_xarray(self) -> xr.Dataset:
        """Return everything that a ``.nc`` file holds as one labelled data set."""
        from mbd.store.copy import to_xarray

        return to_xarray(self.source)

    def save(self, path: str | Path) -> Path:
        """Write what a ``.nc`` file holds to another one, which every program reads.

        Of a run that was killed, everything up to its last writing.
        """
        from mbd.store.copy import save

        return save(self.source, file_path("save", path))

    def plot(self, *names: str, ax: Any = None) -> Figure:
        """Draw quantities by name over time, as ``Solution.plot`` does."""
        from mbd.pictures.plots import plot

        return plot(self, names, ax)

    def diagram(self, beam: str, *names: str, t: Any = None, ax: Any = None) -> Figure:
        """Draw section forces along a beam, as ``Solution.diagram`` does."""
        from mbd.pictures.diagrams import diagram

        return diagram(self, beam, names, t, ax)
