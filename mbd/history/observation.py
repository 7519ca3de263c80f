"""``model.observe``: quantities by name, at an instant of a run or at a state, in one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbd.base.checked import meant, names, shown
from mbd.base.door import vector
from mbd.history.beams import BAR_WORDS, SECTION_WORDS
from mbd.history.columns import ENDS, SECTION_AXIS, of_gap
from mbd.history.observed import ORIGIN, accelerometer, made_of, measured, point
from mbd.history.observed_forces import energy, load, section, tension
from mbd.history.program import ProgramTables, faces_of
from mbd.history.quantities import (
    COLUMNS,
    SINCE_THE_START,
    Energy,
    Momentum,
    PartHistory,
    table,
)
from mbd.history.quantity import INERTIAL, Owner, Quantity
from mbd.interactions.beams.line import Line
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.measures import LENGTH
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State

_RATES = ("", "_rate", "_second_rate")
_OF_POINTS = ("position", "velocity", "acceleration", "accelerometer")


class RunUnderWay(Protocol):
    """A run that is under way, such as a ``Stepper``."""

    @property
    def floats(self) -> np.ndarray:
        """Its numbers F, with accelerations of the loads that act now."""

    @property
    def state(self) -> State:
        """Its state, with the least multipliers."""


class ObservedNumbers(NamedTuple):
    """A quantity of somebody: label, unit, components, places of its numbers."""

    label: str
    unit: str
    components: tuple[str, ...]
    places: Sequence[int]


Words = dict[str, Callable[[str], ObservedNumbers]]  # what finds each quantity, by its label


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
        What ``write`` in compiled code takes. There multipliers of rows that depend on others are
        those of the step; elsewhere they are the least ones.
    """

    def __init__(self, model: Model, what: Sequence[Any], who: str = "observe") -> None:
        self.model, self._what = model, tuple(what)
        tables = ProgramTables(model)
        finder = Finder(tables, who)
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
        # rows that depend on others may be dropped: then least multipliers are found in Python
        self._shared = bool(self._program.rows and model.I[m.LOOPS])

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
        F = of.floats
        if self._shared and m.integers(F)[m.N_DROPPED]:
            return self._program.of_state(of.state)
        return self._program.of_run(F)

    def value(self, of: RunUnderWay | State) -> Any:
        """Return the only number [SI], or all of them (n,), in memory of their own."""
        values = self(of)
        return float(values[0]) if len(values) == 1 else values.copy()

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

    def _owners(self) -> dict[str, Callable[[], Words]]:
        """Return what finds the words of each owner."""
        model = self.model
        owners: dict[str, Any] = {"energy": Energy, "momentum": Momentum}
        owners = {x: partial(self._of_class, of) for x, of in owners.items()}
        owners |= {x: partial(self._of_model, x) for x in ("gap", "t", "q", "v", "a")}
        owners |= {x: partial(self._of_part, part) for x, part in model.system.parts.items()}
        for name, body in model.nodes.items():
            faces = faces_of(body)
            owners |= {x: partial(self._of_body, x) for x in faces}
            names = [f"{name}/{x}" for x in body.face_names]
            both = zip(names, faces[1:], strict=False)
            owners |= {x: partial(self._of_body, face) for x, face in both}
        return owners

    def _entry(self, entry: Quantity, place: str, label: str) -> ObservedNumbers:
        """Return a quantity of the table."""
        if entry.see is None and entry not in SINCE_THE_START:
            raise ValueError(
                f"{self.who}: {label!r} is computed of results over time: its entry of the table "
                "has no kernel, see=; take it from the solution of mbd.simulate"
            )
        if entry.see is None:
            raise ValueError(
                f"{self.who}: {label!r} adds up from the start of a run, and there is one instant; "
                "name 'energy.total' or 'gap', or take it from the solution of mbd.simulate"
            )
        first = entry.see(self.tables, place)
        n, unit = len(entry.axes.components) or 1, entry.unit.format(of_gap(self.model))
        return ObservedNumbers(label, unit, entry.axes.components, range(first, first + n))

    def _of_class(self, of: type) -> Words:
        """Return the energies, or the momenta."""
        return {x.name: partial(self._entry, x, "") for x in table(of)}

    def _of_model(self, word: str) -> Words:
        """Return numbers of the whole model."""
        if word == "gap":
            (entry,) = (x for x in COLUMNS if x.flat == "gap")
            return {"": partial(self._entry, entry, "")}
        return {"": partial(self._numbers, word)}

    def _numbers(self, word: str, label: str) -> ObservedNumbers:
        """Return time, or all numbers q, v or a of the model."""
        if word == "t":
            return ObservedNumbers(label, "s", (), [m.T])
        vector = {"q": m.QN, "v": m.V, "a": m.A}[word]
        self.tables.second |= word == "a"
        places = [i for x in self.model.nodes for i in self.tables.coordinates(vector, x)]
        return ObservedNumbers(label, "as the model", tuple(map(str, range(len(places)))), places)

    def _of_body(self, place: str) -> Words:
        """Return the quantities of a face of a body by their words."""
        name, _, face = place.partition("/")
        form = self.model.nodes[name].formulation
        owners = (Owner.BODY, *(Owner.TURNING, Owner.BREATHING) * form.axes)
        words: Words = {
            x.name: partial(self._entry, x, place) for x in table(PartHistory) if x.of in owners
        }
        if form.axes:
            words["gyroscope"] = partial(self._entry, PartHistory.angular_velocity_body, place)
            words["accelerometer"] = partial(self._at_point, place, ORIGIN, "accelerometer")
        if not face and form.n_own:
            words["multipliers"] = partial(self._multipliers, name)
        if not face and form.n_inner:
            words |= {x: partial(self._modal, name) for x in ("modal", "modal_rate")}
        return words

    def _modal(self, body: str, label: str) -> ObservedNumbers:
        """Return the coordinates of the shapes of a flexible body, or their rates."""
        rate = label.endswith("_rate")
        n = self.model.nodes[body].formulation.n_inner
        places = self.tables.coordinates(m.V if rate else m.QN, body)[-n:]
        return ObservedNumbers(label, "m/s" if rate else "m", tuple(map(str, range(n))), places)

    def _multipliers(self, owner: str, label: str) -> ObservedNumbers:
        """Return the multipliers of the rows of a part, or of a body."""
        rows = self.model.numbering.owners[owner]
        names = [x.removeprefix(f"{owner}.") for x in self.model.numbering.lam_labels[rows]]
        places = [self.tables.multiplier(i) for i in range(rows.start, rows.stop)]
        return ObservedNumbers(label, "as the rows", tuple(names), places)

    def _of_part(self, part: Any) -> Words:
        """Return the quantities of a part that is no body, by their words."""
        name, words = part.name, Words()
        if name in self.model.system.joints:
            entries = PartHistory.force, PartHistory.moment
            words |= {x.name: partial(self._entry, x, name) for x in entries}
        if name in self.model.numbering.owners:
            words["multipliers"] = partial(self._multipliers, name)
        for x, free in part.coordinates.items():
            for i, ending in enumerate(_RATES):
                words[f"{x}{ending}"] = partial(
                    self._coordinate, free, f"{name}.{x}", range(i, i + 1)
                )
        words |= {x: partial(self._load, part, x) for x in part.reads}
        if getattr(part, "line", None) is not None:
            words |= {x: partial(self._sections, part.line, x) for x in SECTION_WORDS}
        if getattr(part, "bars", ()):
            words |= {x: partial(self._bars, part.bars, x) for x in BAR_WORDS}
        return words

    def _load(self, part: Any, what: str, label: str) -> ObservedNumbers:
        """Return the load of a motor, drive, transmission or rope."""
        driven = f"{part.drives.joint}.{part.drives.name}" if part.drives is not None else ""
        first = load(self.tables, part, what, self._memory(driven))
        return ObservedNumbers(label, part.units[what], (), [first])

    def _sections(self, line: Line, word: str, label: str) -> ObservedNumbers:
        """Return forces, moments or strains of the sections of a beam, or energies."""
        if word == "energy":
            return self._energies(line.elements, label)
        order = ("force", "moment", "strain", "curvature").index(word)
        both = zip(line.elements, np.linalg.inv(line.stiffness), strict=True)
        starts = [section(self.tables, x, C) + 6 * order for x, C in both]
        n = range(len(starts))
        names = tuple(f"{e}.{end}.{i}" for e in n for end in ENDS for i in SECTION_AXIS)
        unit = ("N", "N m", "-", "rad/m")[order]
        return ObservedNumbers(label, unit, names, [i for x in starts for i in range(x, x + 6)])

    def _energies(self, elements: Sequence[Element], label: str) -> ObservedNumbers:
        """Return the elastic energies of elements."""
        places = [energy(self.tables, x) for x in elements]
        return ObservedNumbers(label, "J", tuple(map(str, range(len(places)))), places)

    def _bars(self, bars: Sequence[Element], word: str, label: str) -> ObservedNumbers:
        """Return tensions or energies of the bars of a cable."""
        if word == "energy":
            return self._energies(bars, label)
        places = [tension(self.tables, x) for x in bars]
        return ObservedNumbers(label, "N", tuple(map(str, range(len(places)))), places)

    def _memory(self, name: str) -> int:
        """Return where the turns of an angle are remembered, if they are to be counted."""
        if not self.turns or name not in self.model.remembered:
            return 0
        return int(self.model.memory[self.model.remembered.index(name)])

    def _coordinate(self, free: Any, name: str, orders: range, label: str) -> ObservedNumbers:
        """Return a coordinate or some of its rates; angles count turns by the memory of a run."""
        memory = self._memory(name)
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
            owner = self.model.nodes.get(str(name).partition("/")[0])
            if name != "ground" and (owner is None or name not in faces_of(owner)):
                raise self._unknown(str(name), str(name), self.model.nodes)
            at = (0.0, 0.0, 0.0)
            if rest and isinstance(rest[0], Sequence | np.ndarray) and not isinstance(rest[0], str):
                x = vector(self.who, f"the point of {name!r}", rest.pop(0), "m")
                at = float(x[0]), float(x[1]), float(x[2])
            text = f"{name} at ({', '.join(f'{x:g}' for x in at)})" if any(at) else str(name)
            points.append((str(name), (1.0, *at), text))
        if len(points) == 1 and word in _OF_POINTS:
            name, w, text = points[0]
            return self._at_point(name, w, word, f"{text}.{word}")
        if len(points) == 2 and word in [f"distance{x}" for x in _RATES]:
            order = [f"distance{x}" for x in _RATES].index(word)
            ends = [Attachment(name, (w[0], w[1], w[2], w[3])) for name, w, _ in points]
            first = measured(self.tables, LENGTH, ends, (), range(order, order + 1))
            text = " to ".join(x[2] for x in points)
            return ObservedNumbers(f"{text}.{word}", ("m", "m/s", "m/s^2")[order], (), [first])
        raise ValueError(
            f"{self.who}: of one point there are {', '.join(_OF_POINTS)}, of two "
            f"distance, distance_rate and distance_second_rate, got {shown(what)}"
        )

    def _at_point(
        self, name: str, weights: tuple[float, ...], word: str, label: str
    ) -> ObservedNumbers:
        """Return what is observed at a point of a body."""
        if name == "ground" and word == "accelerometer":
            raise ValueError(f"{self.who}: an accelerometer must be on a body, got ground")
        if not (name == "ground" or self.model.nodes[name.partition("/")[0]].formulation.axes):
            if any(weights[1:]) or word == "accelerometer":
                raise ValueError(f"{self.who}: {name!r} is a point, it has no axes; got {label!r}")
        if word == "accelerometer":
            first = accelerometer(self.tables, name, weights)
        else:
            first = point(self.tables, name, _OF_POINTS.index(word), weights)
        unit = ("m", "m/s", "m/s^2", "m/s^2")[_OF_POINTS.index(word)]
        return ObservedNumbers(label, unit, INERTIAL.components, range(first, first + 3))

    def _function(self, name: Any, function: Any, arguments: Any) -> ObservedNumbers:
        """Return what a function of the user makes of other numbers."""
        who = f"{self.who}: the function {name!r}"
        places = [i for x in names(who, "arguments", arguments) for i in self._named(x).places]
        return ObservedNumbers(str(name), "", (), [made_of(self.tables, who, function, places)])
