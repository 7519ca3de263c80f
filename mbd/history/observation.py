"""``model.observe``: quantities by name, at an instant of a run or at a state, in one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbd.base.checked import meant, shown
from mbd.base.door import vector
from mbd.history.observed import accelerometer, measured, point
from mbd.history.program import ProgramTables
from mbd.history.quantities import PartHistory, table
from mbd.history.quantity import INERTIAL, Owner, Quantity
from mbd.interactions.kind import Attachment, face_name
from mbd.interactions.measures import LENGTH
from mbd.model.model import Model
from mbd.model.state import State

_RATES = ("", "_rate", "_second_rate")
_OF_POINTS = ("position", "velocity", "acceleration")


class RunUnderWay(Protocol):
    """A run that is under way, such as a ``Stepper``."""

    @property
    def floats(self) -> np.ndarray:
        """Its numbers F, with accelerations of the loads that act now."""


class ObservedNumbers(NamedTuple):
    """A quantity of somebody: label, unit, components, places of its numbers."""

    label: str
    unit: str
    components: tuple[str, ...]
    places: Sequence[int]


class Observation:
    """Quantities in one array, of a run that is under way or of a state.

    Attributes
    ----------
    labels : tuple of n str
        "hip.angle", "tip.position.x", of each number.
    units : tuple of n str
        SI; "-" for a pure number.
    slices : dict
        Where the numbers of each quantity are, by what it was asked by.
    table : int
        What ``write`` in compiled code takes.
    """

    def __init__(self, model: Model, what: Sequence[Any]) -> None:
        self.model, self._what = model, tuple(what)
        tables = ProgramTables(model)
        finder = Finder(tables)
        some = [finder.find(x) for x in self._what]
        self.labels = tuple(
            f"{x.label}.{c}" if c else x.label for x in some for c in x.components or ("",)
        )
        self.units = tuple(x.unit for x in some for _ in x.places)
        ends = np.cumsum([0, *(len(x.places) for x in some)]).tolist()
        self.slices = {
            x.label: slice(a, b) for x, a, b in zip(some, ends[:-1], ends[1:], strict=True)
        }
        self._program = tables.program([i for x in some for i in x.places])
        self.table = self._program.table

    def __len__(self) -> int:
        return len(self.labels)

    def __call__(self, of: RunUnderWay | State) -> np.ndarray:
        """Return the numbers (n,) [SI], always the same memory.

        Parameters
        ----------
        of : Stepper or State
            Of the model.
        """
        if isinstance(of, State):
            return self._program.of_state(of)
        return self._program.of_run(of.floats)

    def __reduce__(self) -> Any:
        """Return what makes it again: addresses are those of one process."""
        return observe, (self.model, self._what)

    def __repr__(self) -> str:
        return f"Observation({', '.join(self.slices)})"


def observe(model: Model, what: Any) -> Observation:
    """Return an observation; see ``Model.observe``."""
    if isinstance(what, str) or not isinstance(what, Sequence):
        raise TypeError(
            "observe: what must be a list of names such as 'hip.angle', of points "
            f"('tip', (0, 0, 0.1), 'position') or of functions, got {shown(what)}"
        )
    return Observation(model, what)


class Finder:
    """What finds quantities by name, and adds to tables what they need."""

    def __init__(self, tables: ProgramTables, who: str = "observe", *, turns: bool = True) -> None:
        self.tables, self.model, self.who, self.turns = tables, tables.model, who, turns

    def find(self, what: Any) -> ObservedNumbers:
        """Return a quantity, by name or by a tuple."""
        if isinstance(what, str):
            return self._named(what)
        if not isinstance(what, tuple) or len(what) < 2:
            raise TypeError(
                f"{self.who}: a quantity must be a name, (body, point, 'position'), "
                f"(body, body, 'distance') or (name, function, names), got {shown(what)}"
            )
        if len(what) == 3 and callable(what[1]):
            return self._function(*what)
        return self._of_points(what)

    def _named(self, name: str) -> ObservedNumbers:
        """Return a quantity by its name in results, or a component of it."""
        owners = self._owners()
        part, what = name, ""
        while part not in owners and "." in part:
            part, _, tail = part.rpartition(".")
            what = f"{tail}.{what}" if what else tail
        if part not in owners:
            raise self._unknown(name, part, owners)
        word, _, component = what.partition(".")
        words = owners[part]()
        if word not in words:
            raise self._unknown(name, word, list(words), part)
        reading = words[word](f"{part}.{word}" if word else part)
        if not component:
            return reading
        if component not in reading.components:
            raise self._unknown(name, component, reading.components, reading.label)
        i = reading.components.index(component)
        return ObservedNumbers(name, reading.unit, (), reading.places[i : i + 1])

    def _unknown(self, name: str, word: str, names: Any, part: str = "") -> KeyError:
        there = f"{f'{part!r} has' if part else 'there are'}: {', '.join(list(names)[:30])}"
        return KeyError(f"{self.who}: nothing is called {shown(name)}{meant(word, names)}; {there}")

    def _owners(self) -> dict[str, Callable[[], dict[str, Callable[[str], ObservedNumbers]]]]:
        """Return what finds the words of each owner."""
        model = self.model
        owners: dict[str, Any] = {name: lambda x=name: self._of_body(x) for name in model.nodes}
        for name, body in model.nodes.items():
            for i in range(1, body.formulation.n_faces):
                face = face_name(name, i)
                owners[face] = lambda x=face: self._of_body(x)
            for i, own in enumerate(body.face_names, 1):
                face = face_name(name, i)
                owners[f"{name}/{own}"] = lambda x=face: self._of_body(x)
        for name, part in model.system.parts.items():
            if name not in owners and part.coordinates:
                owners[name] = lambda x=part: self._of_part(x)
        return owners

    def _of_body(self, place: str) -> dict[str, Callable[[str], ObservedNumbers]]:
        """Return the quantities of a face of a body by their words."""
        form = self.model.nodes[place.partition("/")[0]].formulation
        owners = (Owner.BODY, *(Owner.TURNING, Owner.BREATHING) * form.axes)
        return {
            x.name: lambda label, x=x: self._entry(x, label, place)
            for x in table(PartHistory) if x.of in owners
        }  # fmt: skip

    def _entry(self, entry: Quantity, label: str, place: str) -> ObservedNumbers:
        """Return a quantity of the table."""
        assert entry.see is not None
        first = entry.see(self.tables, place)
        n = len(entry.axes.components) or 1
        return ObservedNumbers(label, entry.unit, entry.axes.components, range(first, first + n))

    def _of_part(self, part: Any) -> dict[str, Callable[[str], ObservedNumbers]]:
        """Return the coordinates of a part, their rates and second rates, by their words."""
        return {
            f"{name}{ending}": lambda label, x=x, name=name, i=i: self._coordinate(
                label, x, f"{part.name}.{name}", range(i, i + 1)
            )
            for name, x in part.coordinates.items() for i, ending in enumerate(_RATES)
        }  # fmt: skip

    def _coordinate(self, label: str, free: Any, name: str, orders: range) -> ObservedNumbers:
        """Return a coordinate or some of its rates; angles count turns by the memory of a run."""
        memory, remembered = 0, self.model.remembered
        if self.turns and free.measure.periodic and name in remembered:
            memory = int(self.model.memory[remembered.index(name)])
        first = measured(self.tables, free.measure, free.attachments, free.numbers, orders, memory)
        unit = free.unit + ("", "/s", "/s^2")[orders.start]
        return ObservedNumbers(label, unit, (), range(first, first + len(orders)))

    # --- points ----------------------------------------------------------------------------------
    def _of_points(self, what: tuple[Any, ...]) -> ObservedNumbers:
        """Return a quantity of a point of a body, or of two points."""
        *rest, word = what
        points: list[tuple[str, tuple[float, ...], str]] = []
        while rest:
            body = rest.pop(0)
            name = body if isinstance(body, str) else getattr(body, "name", None)
            if name != "ground" and name not in self.model.nodes:
                raise self._unknown(str(name), str(name), self.model.nodes)
            at = (0.0, 0.0, 0.0)
            if rest and isinstance(rest[0], Sequence | np.ndarray) and not isinstance(rest[0], str):
                x = vector(self.who, f"the point of {name!r}", rest.pop(0), "m")
                at = float(x[0]), float(x[1]), float(x[2])
            text = f"{name} at ({', '.join(f'{x:g}' for x in at)})" if any(at) else str(name)
            points.append((str(name), (1.0, *at), text))
        if len(points) == 1 and word in (*_OF_POINTS, "accelerometer"):
            ((name, w, text),) = points
            unit = ("m", "m/s", "m/s^2", "m/s^2")[(*_OF_POINTS, "accelerometer").index(word)]
            first = (
                accelerometer(self.tables, name, w) if word == "accelerometer"
                else point(self.tables, name, _OF_POINTS.index(word), w)
            )  # fmt: skip
            return ObservedNumbers(
                f"{text}.{word}", unit, INERTIAL.components, range(first, first + 3)
            )
        if len(points) == 2 and word in [f"distance{x}" for x in _RATES]:
            order = [f"distance{x}" for x in _RATES].index(word)
            ends = [Attachment(name, (w[0], w[1], w[2], w[3])) for name, w, _ in points]
            first = measured(self.tables, LENGTH, ends, (), range(order, order + 1))
            text = " to ".join(x[2] for x in points)
            return ObservedNumbers(f"{text}.{word}", ("m", "m/s", "m/s^2")[order], (), [first])
        raise ValueError(
            f"{self.who}: of one point there are {', '.join(_OF_POINTS)} and accelerometer, of two "
            f"distance, distance_rate and distance_second_rate, got {shown(what)}"
        )

    def _function(self, name: Any, function: Any, names: Any) -> ObservedNumbers:
        raise NotImplementedError
