"""Stored results without their model: histories by name, pictures, copies."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.above import from_above
from mbd.base.checked import file_path
from mbd.base.door import vector
from mbd.history import quantities
from mbd.history.beams import BAR_WORDS, SECTION_WORDS, BeamHistory, CableHistory
from mbd.history.bodies import StructureHistory
from mbd.history.columns import Column, parts
from mbd.history.impacts import Impacts
from mbd.history.quantity import Owner, Quantity
from mbd.store.contents import Tables, data_set
from mbd.store.netcdf import write
from mbd.store.source import FileSource, Source

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class StoredPart(quantities.PartHistory):
    """A part over time, read from a file: stored quantities, and others that follow from them."""

    def __init__(self, name: str, words: list[str], source: Source) -> None:
        self.name, self._words, self._source = name, words, source
        self.instants = len(source["t"])
        self.owners = tuple(
            {x.of: None for x in quantities.table(quantities.PartHistory) if x.name in words}
        )
        methods = {Owner.BODY: "at(point)", Owner.JOINT: "reaction()"}
        self.methods = tuple(methods[x] for x in self.owners if x in methods)

    def _value(self, quantity: Quantity) -> np.ndarray:
        if quantity.name in self._words:
            return self._column(quantity.name)
        if quantity.derive is None or quantity.of not in self.owners:
            raise AttributeError(
                f"{self.name!r} has no {quantity.words} in {self._source.path.name}"
            )
        return quantity.derive(self)

    def _columns(self) -> list[str]:
        entries = {x.name for x in quantities.table(quantities.PartHistory)}
        return [x for x in self._words if x not in entries]

    def _column(self, name: str) -> np.ndarray:
        if name not in self._words:
            raise AttributeError(self._lacks(name))
        return np.asarray(self._source[f"{self.name}.{name}"])

    def at(self, point: Any) -> quantities.PointHistory:
        """Return the history of a point given in body axes [m], of a body that is rigid."""
        if Owner.BODY not in self.owners:
            raise AttributeError(self._lacks("at"))
        if np.any(self._source.get(f"{self.name}.scale", 1.0) != 1.0):
            raise AttributeError(f"{self.name!r} breathes: its points are not stored")
        where = vector(f"solution[{self.name!r}].at", "point", point, "m")
        r = np.einsum("nij,j->ni", self.rotation, where)
        omega, alpha = self.angular_velocity, self.angular_acceleration
        turned = np.cross(omega, r)
        return quantities.PointHistory(
            self.position + r,
            self.velocity + turned,
            self.acceleration + np.cross(alpha, r) + np.cross(omega, turned),
        )

    def reaction(self, on: str = "second", at: str = "second") -> quantities.Reaction:
        """Return force and moment on the second body, about the joint."""
        if (on, at) != ("second", "second"):
            raise ValueError(
                f"reaction: {self._source.path.name} has that on the second body, about the joint "
                f"there, got on={on!r}, at={at!r}; others need the model"
            )
        return quantities.Reaction(self.force, self.moment)


class StoredSections:
    """The sections at both ends of the elements of a beam over time, read from a file."""

    def __init__(self, beam: StoredPart, of: Stored) -> None:
        self._beam, self._of = beam, of

    def take(self, name: str) -> np.ndarray:
        """Return forces, moments, strains or curvatures (n, elements, 2, 3), energies (n, k)."""
        values = self._beam._column(name)
        return values.reshape(len(values), -1, *SECTION_WORDS[name].axes.shape)

    @property
    def stations(self) -> np.ndarray:
        """Length along the beam at both ends of elements."""
        return np.asarray(self._of.source.ends[self._beam.name][3])

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins and axes of both ends of elements."""
        names, points, axes, _ = self._of.source.ends[self._beam.name]
        bodies = {x: self._of[x] for x in np.unique(names).tolist()}
        x, R = (
            np.array([[getattr(bodies[b], what) for b in both] for both in names])
            for what in ("position", "rotation")
        )
        r = x + np.einsum("eatij,eaj->eati", R, np.asarray(points))
        return np.moveaxis(r, 2, 0), np.einsum("eatij,eakj->teaik", R, np.asarray(axes))


class Stored:
    """Results in a file, with the names of a ``Solution``.

    Attributes
    ----------
    source : mapping
        Every quantity by its full name: ``source["rod.position"]``.
    t, q, v, a, lam : arrays
    status, message, method, options, stats, notes, version
        As the run left them; the method as text.
    events : list
        Events that happened, each with ``name`` and ``t``.
    impacts : Impacts
        Of contacts.
    """

    def __init__(self, source: Source) -> None:
        self.source, about = source, source.about
        self.t = source["t"]
        self.q, self.v, self.a = (source.get(x) for x in ("q", "v", "a"))
        self.lam = source["lam"] if "lam" in source else np.zeros((len(self.t), 0))
        self.status, self.message = int(about["status"]), str(about["message"])
        self.method, self.version = str(about["method"]), str(about["version"])
        self.stats: dict[str, float] = about["stats"]
        self.notes: dict[str, Any] = about["notes"]
        self.options: dict[str, Any] = about["options"]
        self.events, self.impacts = list(source.events), Impacts(source.set_valued, source.impacts)

    def __reduce__(self) -> Any:
        return type(self), (self.source,)

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def __getitem__(self, name: str) -> quantities.PartHistory:
        """Return a body, a joint or rows by name."""
        own = None
        if isinstance(name, str) and name in self._parts:
            own = StoredPart(name, self._parts[name], self.source)
        if isinstance(name, str) and name in self._structures:
            nodes = [StoredPart(x, self._parts[x], self.source) for x in self._structures[name]]
            if own is not None and name in self.source.ends:
                words = [x for x in self._parts[name] if x not in SECTION_WORDS]
                rows = StoredPart(name, words, self.source) if words else None
                ends = StoredSections(own, self)
                return BeamHistory(name, nodes, rows, ends, ends.take)
            if own is not None and BAR_WORDS.keys() & {*self._parts[name]}:
                return CableHistory(name, nodes, own, own._column)
            return StructureHistory(name, nodes, own)
        if own is None:
            raise quantities.no_part("Stored", name, self._parts)
        return own

    @cached_property
    def _structures(self) -> dict[str, list[str]]:
        """Bodies with dots in their names, listed by the name before the last dot."""
        names = [x for x, words in self._parts.items() if "." in x and "position" in words]
        stems: dict[str, list[str]] = {}
        for name in names:
            stems.setdefault(name.rpartition(".")[0], []).append(name)
        return stems

    @property
    def columns(self) -> dict[str, Column]:
        """Everything by its flat name, ``rod.position``: units and components."""
        return self.source.columns

    @cached_property
    def _parts(self) -> dict[str, list[str]]:
        return parts(self.columns)

    @cached_property
    def energy(self) -> quantities.Energy:
        """Kinetic and potential energy, what was dissipated, and work, over time [J]."""
        return quantities.Energy(self.source)

    @cached_property
    def momentum(self) -> quantities.Momentum:
        """Linear [N s] and angular momentum about the origin [N m s] over time."""
        return quantities.Momentum(self.source)

    @property
    def gap(self) -> np.ndarray:
        """Largest violation of a row at each instant [m, rad, -; on velocities m/s, rad/s]."""
        if "gap" not in self.source:
            raise AttributeError(f"there is no gap in {self.source.path.name}")
        return self.source["gap"]

    def to_xarray(self) -> xr.Dataset:
        """Return everything that a ``.nc`` file holds as one labelled data set."""
        return data_set(self._tables("to_xarray"))

    def save(self, path: str | Path) -> Path:
        """Write what a ``.nc`` file holds to another one, which every program reads.

        Of a run that was killed, everything up to its last writing.
        """
        path = file_path("save", path)
        if path.suffix != ".nc":
            raise ValueError(
                f"save: without its model a run is copied to .nc only, got {str(path)!r}; take "
                "arrays by name from .source, or a data set from to_xarray()"
            )
        return write(self._tables("save"), path, "save")

    def _tables(self, who: str) -> Tables:
        """Return contents and arrays of the file."""
        if not isinstance(self.source, FileSource):
            raise TypeError(
                f"{who}: {self.source.path.name} has arrays without labels and no model; read "
                "arrays by name from .source, or save the run as .nc where it is made"
            )
        return self.source

    def plot(self, *names: str, ax: Any = None) -> Figure:
        """Draw quantities by name over time, as ``Solution.plot`` does."""
        return from_above("Stored.plot", self, names, ax)

    def diagram(self, beam: str, *names: str, t: Any = None, ax: Any = None) -> Figure:
        """Draw section forces along a beam, as ``Solution.diagram`` does."""
        return from_above("Stored.diagram", self, beam, names, t, ax)

    def __repr__(self) -> str:
        file = self.source.path.name
        return f"{type(self).__name__}({file!r}, {len(self.t)} instants, {self.message})"
