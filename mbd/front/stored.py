"""Stored results without their model: histories by name, pictures, copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbd.base.checked import file_path
from mbd.store.stored import StoredHistory

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from mbd.store.contents import Tables


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
        from mbd.store.contents import data_set

        return data_set(self._tables("to_xarray"))

    def save(self, path: str | Path) -> Path:
        """Write what a ``.nc`` file holds to another one, which every program reads.

        Of a run that was killed, everything up to its last writing.
        """
        from mbd.store.netcdf import write

        path = file_path("save", path)
        if path.suffix != ".nc":
            raise ValueError(
                f"save: without its model a run is copied to .nc only, got {str(path)!r}; take "
                "arrays by name from .source, or a data set from to_xarray()"
            )
        return write(self._tables("save"), path, "save")

    def _tables(self, who: str) -> Tables:
        """Return contents and arrays of the file."""
        from mbd.store.source import FileSource

        if not isinstance(self.source, FileSource):
            raise TypeError(
                f"{who}: {self.source.path.name} has arrays without labels and no model; read "
                "arrays by name from .source, or save the run as .nc where it is made"
            )
        return self.source

    def plot(self, *names: str, ax: Any = None) -> Figure:
        """Draw quantities by name over time, as ``Solution.plot`` does."""
        from mbd.pictures.plots import plot

        return plot(self, names, ax)

    def diagram(self, beam: str, *names: str, t: Any = None, ax: Any = None) -> Figure:
        """Draw section forces along a beam, as ``Solution.diagram`` does."""
        from mbd.pictures.diagrams import diagram

        return diagram(self, beam, names, t, ax)
