"""``model.observe``: quantities by name, at an instant of a run or at a state, in one array."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbd.base.checked import names, shown
from mbd.base.door import vector
from mbd.history.columns import divided, labels, model_columns, of_rows, parts, unknown
from mbd.history.observed import ORIGIN, accelerometer, coordinate, made_of, measured, point
from mbd.history.program import ProgramTables, faces_of
from mbd.history.quantities import COLUMNS, SINCE_THE_START, Energy, Momentum, PartHistory, table
from mbd.history.quantity import INERTIAL, TOTALS, Owner, Quantity
from mbd.interactions.kind import Attachment
from mbd.interactions.measures import LENGTH
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State

_RATES = ("", "_rate", "_second_rate")
_OF_POINTS = {
    "position": "m", "velocity": "m/s", "acceleration": "m/s^2", "accelerometer": "m/s^2",
}  # fmt: skip
_LIKE = {"gyroscope": "angular_velocity_body", "accelerometer": "acceleration"}  # in unit and axes
_OF_MODEL = [x for x in COLUMNS if x.of in (Owner.POSITIONS, Owner.SPEEDS)]  # q, v, a


class RunUnderWay(Protocol):
    """A run that is under way, such as a ``Stepper``."""

    @property
    def floats(self) -> np.ndarray:
        """Its numbers F, with accelerations of the loads that act now."""

    @property
    def state(self) -> State:
        """Its state, with the least multipliers."""


class ObservedNumbers(NamedTuple):
    """A quantity of somebody: label, units and components of its numbers, places of these."""

    label: str
    units: Sequence[str]
    components: Sequence[str]
    places: Sequence[int]


Words = dict[str, Callable[[], Sequence[int]]]  # what finds each quantity of an owner


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
    program : Program
    turning : list of (int, int)
        Places of angles that count turns, and of the memory by which they do.
    angles : list of int
        Which of the numbers these are.
    """

    def __init__(self, model: Model, what: Sequence[Any], who: str = "observe") -> None:
        self.model, self._what = model, tuple(what)
        tables = ProgramTables(model)
        finder = Finder(tables, who)
        some = [finder.find(x) for x in self._what]
        self.labels = tuple(
            f"{x.label}.{c}" if c else x.label for x in some for c in x.components or ("",)
        )
        self.units = tuple(unit for x in some for unit in x.units)
        ends = np.cumsum([0, *(len(x.places) for x in some)]).tolist()
        self.slices = {
            x.label: slice(a, b) for x, a, b in zip(some, ends[:-1], ends[1:], strict=True)
        }
        places = [i for x in some for i in x.places]
        self.program = tables.program(places)
        self.table = self.program.table
        self.turning = tables.turning
        self.angles = [places.index(place) for place, _ in tables.turning]
        # rows that depend on others may be dropped: then least multipliers are found in Python
        self._shared = bool(self.program.rows and model.I[m.LOOPS])

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
            return self.program.of_state(of)
        F = of.floats
        if self._shared and m.integers(F)[m.N_DROPPED]:
            F = F.copy()
            F[self.model.I[m.A] + self.model.numbering.lam] = of.state.lam
        return self.program.of_run(F)

    def value(self, of: RunUnderWay | State) -> Any:
        """Return the only number [SI], or all of them (n,), in memory of their own."""
        values = self(of)
        return float(values[0]) if len(values) == 1 else values.copy()

    def __reduce__(self) -> Any:
        """Return the call that makes the observation again: addresses are those of one process."""
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


def refuse_sum(name: str, who: str) -> None:
    """Refuse what one instant does not have."""
    if name in (*(x.flat for x in SINCE_THE_START), "drift"):
        raise ValueError(
            f"{who}: {name!r} adds up since the start of a run, and there is one instant; name "
            "'energy.total' or 'gap', or take it from the solution of mbd.simulate"
        )


class Finder:
    """Search for quantities by name, which adds to tables what they need."""

    def __init__(self, tables: ProgramTables, who: str) -> None:
        self.tables, self.model, self.who = tables, tables.model, who

    def find(self, what: Any) -> ObservedNumbers:
        """Return a quantity, by name or by a tuple."""
        if isinstance(what, str):
            refuse_sum(what, self.who)
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
        part, what = divided(name, self._owners)
        if part not in self._owners:
            raise unknown(self.who, name, part, self._owners)
        word, _, component = what.partition(".")
        words = self._owners[part]()
        if not word and word not in words:
            several = ", ".join(f"{part}.{x}" for x in words)
            raise KeyError(
                f"{self.who}: {name!r} stands for several quantities; name one of {several}"
            )
        if word not in words:
            raise unknown(self.who, name, word, words, part)
        places, label = words[word](), f"{part}.{word}" if word else part
        units, components = self._described(part, word, len(places))
        if not component:
            return ObservedNumbers(label, units, components, places)
        if component not in components:
            raise unknown(self.who, name, component, components, label)
        i = components.index(component)
        return ObservedNumbers(name, [units[i]], (), [places[i]])

    def _described(self, part: str, word: str, n: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return units and components of the n numbers of a quantity."""
        model, numbered = self.model, tuple(map(str, range(n)))
        if not word and part in ("q", "v", "a"):
            kind, per = "coordinate" if part == "q" else "speed", "/s" if part == "a" else ""
            return [f"{x}{per}" for x in labels(model)[f"{kind}_unit"][1]], numbered
        column = model_columns(model).get(f"{part}.{word}" if word else part)
        if word == "multipliers":
            return of_rows(model)[model.numbering.owners[part]], column.components if column else ()
        if column is not None:
            return [column.unit] * n, column.components
        entry = getattr(PartHistory, _LIKE.get(word, word), None)
        if isinstance(entry, Quantity):
            return [entry.unit] * n, entry.axes.components
        coordinate = model.system.parts[part].coordinates[word.removesuffix(_RATES[2])]
        return [f"{coordinate.unit}/s^2"], ()

    @cached_property
    def _owners(self) -> dict[str, Callable[[], Words]]:
        """Functions that find the words of each owner."""
        totals = {x.flat: x for x in table() if x.of in (Owner.TIME, *TOTALS)}
        owners: dict[str, Callable[[], Words]] = {
            "energy": lambda: {x.name: partial(self._entry, x, "") for x in table(Energy)},
            "momentum": lambda: {x.name: partial(self._entry, x, "") for x in table(Momentum)},
        }
        alone = {x: totals[x] for x in ("gap", "t")} | {x.array: x for x in _OF_MODEL}
        owners |= {name: lambda x=x: {"": partial(self._entry, x, "")} for name, x in alone.items()}
        owners |= {x: partial(self._of_part, x) for x in self.model.system.parts}
        for name, body in self.model.nodes.items():
            faces = faces_of(body)
            owners |= {x: partial(self._of_body, x) for x in faces}
            both = zip(body.face_names, faces[1:], strict=False)
            owners |= {f"{name}/{x}": partial(self._of_body, face) for x, face in both}
        return owners

    def _entry(self, entry: Quantity, owner: str) -> Sequence[int]:
        """Return where a quantity of the table will be."""
        if entry.see is None:
            raise ValueError(
                f"{self.who}: {entry.flat.lstrip('.')!r} is computed of results over time: its "
                "entry of the table has no kernel, see=; name 'energy.total' or 'gap', or take it "
                "from the solution of mbd.simulate"
            )
        return entry.see(self.tables, owner)

    @cached_property
    def _results(self) -> tuple[dict[str, list[str]], dict[str, Quantity]]:
        """Words of the parts in results, entries of the table by the array that has them."""
        return parts(model_columns(self.model)), {x.array: x for x in table()}

    def _of_part(self, name: str) -> Words:
        """Return the quantities of a part by their words: those of results, and second rates."""
        words, (there, entries) = Words(), self._results
        for word in there.get(name, ()):
            column = model_columns(self.model)[f"{name}.{word}"]
            words[word] = partial(self._entry, entries[column.array], column.owner)
        part = self.model.system.parts.get(name)
        for x in part.coordinates if part else ():
            words[f"{x}{_RATES[2]}"] = partial(coordinate(2), self.tables, f"{name}.{x}")
        return words

    def _of_body(self, place: str) -> Words:
        """Return the quantities of a face of a body by their words."""
        name, _, face = place.partition("/")
        form = self.model.nodes[name].formulation
        owners = (Owner.BODY, *(Owner.TURNING, Owner.BREATHING) * form.axes)
        words: Words = {
            x.name: partial(self._entry, x, place) for x in table(PartHistory) if x.of in owners
        }
        if form.axes:
            words["gyroscope"] = words["angular_velocity_body"]
            words["accelerometer"] = partial(self._at_point, place, ORIGIN, "accelerometer")
        return words if face else self._of_part(name) | words

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
                raise unknown(self.who, str(name), str(name), self.model.nodes)
            at = (0.0, 0.0, 0.0)
            if rest and isinstance(rest[0], Sequence | np.ndarray) and not isinstance(rest[0], str):
                x = vector(self.who, f"the point of {name!r}", rest.pop(0), "m")
                at = float(x[0]), float(x[1]), float(x[2])
            text = f"{name} at ({', '.join(f'{x:g}' for x in at)})" if any(at) else str(name)
            points.append((str(name), (1.0, *at), text))
        text = " to ".join(x for _, _, x in points) + f".{word}"
        if len(points) == 1 and word in _OF_POINTS:
            name, w, _ = points[0]
            units = [_OF_POINTS[word]] * 3
            return ObservedNumbers(text, units, INERTIAL.components, self._at_point(name, w, word))
        orders = {f"distance{ending}": i for i, ending in enumerate(_RATES)}
        if len(points) == 2 and word in orders:
            i = orders[word]
            ends = [Attachment(name, (w[0], w[1], w[2], w[3])) for name, w, _ in points]
            places = measured(self.tables, LENGTH, ends, (), range(i, i + 1))
            return ObservedNumbers(text, [("m", "m/s", "m/s^2")[i]], (), places)
        raise ValueError(
            f"{self.who}: of one point there are {', '.join(_OF_POINTS)}, of two "
            f"distance, distance_rate and distance_second_rate, got {shown(what)}"
        )

    def _at_point(self, name: str, weights: tuple[float, ...], word: str) -> Sequence[int]:
        """Return what is observed at a point of a body."""
        if name == "ground" and word == "accelerometer":
            raise ValueError(f"{self.who}: an accelerometer must be on a body, got ground")
        turns = name == "ground" or self.model.nodes[name.partition("/")[0]].formulation.axes
        if not turns and (any(weights[1:]) or word == "accelerometer"):
            raise ValueError(f"{self.who}: {name!r} is a point, it has no axes for {word}")
        if word == "accelerometer":
            return accelerometer(self.tables, name, weights)
        return point(self.tables, name, [*_OF_POINTS].index(word), weights)

    def _function(self, name: Any, function: Any, arguments: Any) -> ObservedNumbers:
        """Return what a function of the user makes of other numbers."""
        who = f"{self.who}: the function {name!r}"
        places = [i for x in names(who, "arguments", arguments) for i in self._named(x).places]
        return ObservedNumbers(str(name), [""], (), made_of(self.tables, who, function, places))
