"""An entry of the table of quantities: owner, unit, axes, meaning, formula."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Self, overload

import numpy as np

from mbd.base.read_only import read_only

Take = Callable[[Any], np.ndarray]
See = Callable[[Any, str], Sequence[int]]
Follow = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Axes(NamedTuple):
    """Components of a quantity: dimensions in labelled data, names, axes of a vector, shape."""

    dimensions: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    frame: str = ""
    shape: tuple[int, ...] = ()


SCALAR = Axes()
INERTIAL = Axes(("component",), ("x", "y", "z"), "inertial axes", (3,))
BODY_AXES = INERTIAL._replace(frame="body axes")
QUATERNION = Axes(("quaternion_component",), ("w", "x", "y", "z"), "", (4,))
MATRIX = Axes(  # of attributes only
    ("matrix",), tuple(i + j for i in "xyz" for j in "xyz"), "", (3, 3)
)
SECTION_AXES = Axes(("end", "section_axis"), (), "section axes", (2, 3))


class Owner(Enum):
    """The owner of a quantity: its dimension in labelled data, the last word of names in files.

    In the last word, ``{}`` is the name of the quantity.
    """

    TIME = ("", "t", "time itself")
    BODY = ("body", ".{}", "every body")
    TURNING = ("body", ".{}", "a body with axes")
    BREATHING = ("body", ".{}", "a body whose directors may change their length")
    JOINT = ("joint", ".{}", "a joint")
    SECTION = ("element", ".{}", "the sections at both ends of an element of a beam")
    ELEMENT = ("element", ".{}", "an element of a beam")
    BAR = ("bar", ".{}", "a bar of a cable")
    MODE = ("mode", ".{}", "a shape of a flexible body")
    COORDINATE = ("freedom", "", "a coordinate that a joint leaves free")
    LOAD = ("reading", "", "a motor, drive, transmission or rope")
    ROWS = ("row", ".{}", "a part with constraint rows")
    TOTAL = ("", "{}", "the whole model")
    SET_VALUED = ("", "{}", "the whole model, if it has set-valued laws: contacts")
    POSITIONS = ("coordinate", "{}", "the stored coordinates of the model")
    SPEEDS = ("speed", "{}", "the velocities of the model")

    @property
    def dimension(self) -> str:
        """Dimension that counts the owners; none for the whole model."""
        return self.value[0]


TOTALS = (Owner.TOTAL, Owner.SET_VALUED)


class Quantity:
    """An entry of the table; of an instance that has it the values over time, (n, ...).

    Parameters
    ----------
    of : Owner
    unit : str
        SI; "-" for a pure number; "{}" stands for the unit of the owner where they differ.
    axes : Axes
    meaning : str
    take : callable, optional
        ``(history) -> array``, time first, of what no kernel observes, or not over time: what looks
        back at earlier instants. Of bodies the argument is a ``BodyHistory``; of joints it has
        ``reactions``, of rows ``lam``; else it is ``AllParts``.
    see : callable, optional
        ``(tables, owner) -> places``: adds to the tables of an observation what observes it, and
        returns the places of its numbers. Results over time follow from it too, without `take`.
    derive : callable, optional
        ``(part) -> array``: how it follows from other quantities, where a file does not have it.
    array : str, optional
        Its name in labelled data, default its own; "" for what no file has.
    flat : str, optional
        Its last word in archives and tables, default as its owner says.
    main : bool
        Whether it is drawn where a part is named alone.
    follow : callable, optional
        ``(values, before) -> values``: how values (n, owners, ...) that are known at each instant
        by itself follow each other; `before` is what came before them, NaN if nothing did.
    keep : bool
        Whether the attribute is evaluated once only.
    """

    def __init__(
        self, of: Owner, unit: str, axes: Axes, meaning: str, take: Take | None = None, *,
        see: See | None = None, derive: Take | None = None, array: str | None = None,
        flat: str = "", main: bool = False, keep: bool = False, follow: Follow | None = None,
    ) -> None:  # fmt: skip
        self.of, self.unit, self.axes, self.meaning, self.see = of, unit, axes, meaning, see
        self.take, self.derive, self.main, self.keep = take, derive, main, keep
        self.follow = follow
        self.name, self._array, self.flat = array or "", array, flat or of.value[1]
        frame = f", {axes.frame}" if axes.frame else ""
        self.__doc__ = f"{meaning[0].upper()}{meaning[1:]} [{unit}]{frame}."

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        full = f"{owner.__name__.lower()}.{name}" if self.of in TOTALS else name
        self.flat = self.flat.format(full)

    @property
    def array(self) -> str:
        """Name in labelled data; empty for a quantity that no file has."""
        return self.name if self._array is None else self._array

    @property
    def words(self) -> str:
        """Name as text."""
        return self.name.replace("_", " ")

    @property
    def by_kernels(self) -> bool:
        """Whether kernels observe it over time too."""
        return self.see is not None and self.take is None

    def of_history(self, history: Any) -> np.ndarray:
        """Return its values, taken of a computed history."""
        take = self.take or self.derive
        assert take is not None
        return take(history)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> np.ndarray: ...
    def __get__(self, instance: Any, owner: type) -> Self | np.ndarray:
        if instance is None:
            return self
        values = read_only(instance._value(self))
        if self.keep:
            vars(instance)[self.name] = values
        return values
