"""Loads by laws of motion on frames, on points between them, and on lines of mass points.

What a law sees, and what it returns, is in ``interactions/motion_laws.py``.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import flag, is_whole, number_or_array, shown
from mbd.base.door import array
from mbd.base.dual import plain
from mbd.base.function import Function
from mbd.base.read_only import read_only
from mbd.interactions import motion_loads as ml
from mbd.interactions.kind import Attachment, Element
from mbd.interactions.laws import Law
from mbd.interactions.motion_laws import LawOfMotion, Returns
from mbd.interactions.motion_loads import SiteForm, motion_load
from mbd.machine.jit import is_compiled
from mbd.parts.joint import frame_at, needs_axes
from mbd.parts.part import Frame

_NONE = np.zeros(3)
_OF_POINT = ("t", "x", "R", "v", "omega", "reference", "memory", "dt")
_OF_SECTION = (*_OF_POINT, "s")


@dataclass(frozen=True, eq=False)
class Site:
    """A section that a law of motion sees, fixed to some nodes.

    Attributes
    ----------
    s : float [m]
    nodes : tuple of tuples of Attachment
        Of each node the point, and three directors if it has axes.
    shares : tuple of float
        Of the axes of each node, with the sum one.
    tangent : tuple of Attachment
        Two points, in the direction of which a line of mass points goes.
    start : (x, R, v, omega)
        At the described pose.
    """

    s: float
    nodes: tuple[tuple[Attachment, ...], ...]
    shares: tuple[float, ...]
    tangent: tuple[Attachment, ...]
    start: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def on(cls, frame: Frame, s: float = 0.0) -> "Site":
        """Return the section that a frame is, or the point of a body without axes."""
        axes = (0, 1, 2) if frame.body.formulation.axes else ()
        x, R = frame.start
        body = frame.body
        v = body.velocity + np.cross(body.angular_velocity, x - body.position)
        start = (x, R, v, body.angular_velocity) if axes else (x, 0 * R, v, _NONE)
        ends = tuple(frame.end(axis) for axis in (None, *axes))
        return cls(s, (ends,), (1.0,), (), read_only(start))

    def form(self, reference: bool, remembers: bool) -> SiteForm:
        """Return how a law sees it."""
        frames = len(self.nodes[0]) > 1
        return SiteForm(len(self.nodes), frames, bool(self.tangent), reference, remembers)


@dataclass(frozen=True, eq=False)
class LawInputs:
    """Inputs of a law of motion in addition to the section: numbers, tables, a reference, memory.

    Attributes
    ----------
    parameters : dict of arrays (n,) or (n, k)
        Of n sites.
    tables : dict of arrays
    reference : Frame or None
    memory : (n, k) array
    along : bool
        Whether sites are along a line, so that there is a length s.
    settles : bool
        Whether the memory is at rest in equilibria.
    """

    parameters: Mapping[str, np.ndarray]
    tables: Mapping[str, np.ndarray]
    reference: Frame | None
    memory: np.ndarray
    along: bool = True
    settles: bool = False

    @classmethod
    def of(
        cls, owner: str, n: int, parameters: Any, tables: Any, reference: Any, memory: Any,
        along: bool = True, settles: Any = False,
    ) -> "LawInputs":  # fmt: skip
        """Return arguments of a part, checked."""
        numbers = {
            name: _of_sites(owner, name, x, n)
            for name, x in _named(owner, "parameters", parameters).items()
        }
        arrays = {
            name: np.ascontiguousarray(_table(owner, name, x))
            for name, x in _named(owner, "tables", tables).items()
        }
        every, own = [*numbers, *arrays], _OF_SECTION if along else _OF_POINT
        for name in (x for x in every if x in own or every.count(x) > 1):
            raise ValueError(
                f"{owner}: {name!r} must name one thing that the law takes; take another name for "
                "the parameter or the table"
            )
        if sum(x.size // n for x in numbers.values()) > ml.MOST:
            raise ValueError(
                f"{owner}: parameters must be at most {ml.MOST} numbers for each section; larger "
                "ones are tables="
            )
        frame = None if reference is None else frame_at(owner, reference, None)
        if frame is not None:
            needs_axes(owner, "a reference", frame)
        if flag(owner, "settles", settles) and memory is None:
            raise ValueError(f"{owner}: settles=True is of a memory, which needs memory=, accept=")
        kept = read_only(_memory(owner, memory, n))
        return cls(numbers, arrays, frame, kept, along, settles)

    def law(
        self, owner: str, sites: Sequence[Site], load: Any, returns: Returns,
        derivative: Any = None, accept: Any = None,
    ) -> Law:  # fmt: skip
        """Return the law of functions, tried at the described pose."""
        k = self.memory.shape[1]
        if bool(k) != (accept is not None):
            raise ValueError(
                f"{owner}: memory= and accept= must be given together: what is remembered at the "
                "start, and the function that returns what is remembered after each step"
            )
        of = LawOfMotion(
            owner, load, returns, derivative, accept,
            tuple((name, x.shape[1] if x.ndim > 1 else 0) for name, x in self.parameters.items()),
            tuple((name, x.shape, x.tobytes()) for name, x in self.tables.items()),
            k, self.reference is not None, self.along,
        )  # fmt: skip
        inputs = np.zeros((len(sites), ml.NUMBERS + 2 * ml.MOST))
        for i, (row, site) in enumerate(zip(inputs, sites, strict=True)):
            row[ml.PLACE] = site.s
            starts = [site] if self.reference is None else [site, Site.on(self.reference)]
            for first, of_frame in zip((ml.SECTION, ml.REFERENCE), starts, strict=False):
                row[first : first + ml.OF_FRAME] = np.concatenate(
                    [np.ravel(plain(np.asarray(x, object).ravel())) for x in of_frame.start]
                )
            own = [*plain(self.numbers(i)), *self.memory[i]]
            row[ml.NUMBERS : ml.NUMBERS + len(own)] = own
        return of.prepared(inputs)

    def numbers(self, i: int) -> list[Any]:
        """Return the parameters of site i, one after the other."""
        return [y for x in self.parameters.values() for y in np.ravel(x[i])]

    def element(
        self, i: int, site: Site, law: Law | None, length: Any, load: Sequence[Any] = (0.0,) * 6,
        told: bool = False,
    ) -> Element:  # fmt: skip
        """Return the element of site i: its law, which may have told its derivative, or a load."""
        frame = self.reference
        others = () if frame is None else tuple(frame.end(axis) for axis in (None, 0, 1, 2))
        k = self.memory.shape[1]
        shares, own, switches = (*site.shares, 0.0)[:2], self.numbers(i), told + 2.0 * self.settles
        switches += 4.0 * (0 if law is None else law.reads)
        numbers = (site.s, length, *shares, switches, float(len(own)), float(k), *load, *own)
        ends = (*(x for node in site.nodes for x in node), *site.tangent, *others)
        kind = motion_load(site.form(frame is not None, bool(k)))
        return Element(kind, ends, numbers, tuple(self.memory[i].tolist()), law=law)


def law_of_motion(law: Any) -> Callable[..., Any] | None:
    """Return the function of a law that depends on motion: not on the time alone."""
    function = law.function if isinstance(law, Function) else law
    handed = set(law.parameters) if isinstance(law, Function) else set()
    if not callable(function):
        return None
    try:
        names = set(inspect.signature(getattr(function, "py_func", function)).parameters)
    except (TypeError, ValueError):  # built-in functions do not tell
        return None
    of_motion = names & {"x", "R", "v", "omega", "reference"}
    return (
        function
        if of_motion - handed and (is_compiled(function) or len(names - handed) > 1)
        else None
    )


class PointInputs(NamedTuple):
    """What a law of motion at a point takes in addition to the motion, as a part is given it."""

    reference: Any = None
    memory: Any = None
    accept: Any = None
    settles: Any = False

    @property
    def of_one(self) -> Any:
        """The memory as that of one site."""
        number = self.memory is None or is_whole(self.memory, 0)
        return self.memory if number else [self.memory]

    def of_nothing_else(self, owner: str) -> None:
        """Refuse what no other law takes."""
        _memory(owner, self.of_one, 1)
        for word, value in self._asdict().items():
            if value is not None and value is not False:
                raise ValueError(f"{owner}: {word}= is of a law of motion only; leave it out")


def point_load(owner: str, frame: Frame, law: Any, returns: Returns, more: PointInputs) -> Element:
    """Return the element of a law of motion at a frame: numbers of a Function are parameters."""
    handed = law.parameters if isinstance(law, Function) else {}
    numbers = {name: x for name, x in handed.items() if not np.ndim(x)}
    tables = {name: x for name, x in handed.items() if np.ndim(x)}
    of = LawInputs.of(owner, 1, numbers, tables, more.reference, more.of_one, False, more.settles)
    site, function = Site.on(frame), law.function if isinstance(law, Function) else law
    return of.element(0, site, of.law(owner, [site], function, returns, None, more.accept), 1.0)


def _named(owner: str, word: str, value: Any) -> dict[str, Any]:
    """Return a dictionary by names."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(x, str) for x in value):
        raise TypeError(
            f"{owner}: {word} must be a dictionary of numbers by name, got {shown(value)}"
        )
    return dict(value)


def _of_sites(owner: str, name: str, value: Any, n: int) -> np.ndarray:
    """Return a parameter of n sites, (n,) or (n, k): one number is that of all."""
    x = np.asarray(number_or_array(owner, f"parameters[{name!r}]", value, "SI"))
    if x.ndim == 0:
        return np.broadcast_to(x, (n,))
    if x.shape[0] != n or x.ndim > 2 or not x.size:
        raise ValueError(
            f"{owner}: parameters[{name!r}] must be a number, or ({n},) or ({n}, k) numbers for "
            f"the {n} sections, got the shape {x.shape}; what all of them share is a table"
        )
    return x


def _table(owner: str, name: str, value: Any) -> np.ndarray:
    """Return a table of finite numbers."""
    x = array(owner, f"tables[{name!r}]", value, "an array of numbers")
    if x.dtype == object or not x.size or not x.ndim or not np.isfinite(x).all():
        raise ValueError(
            f"{owner}: tables[{name!r}] must be an array of finite numbers, got {shown(value)}"
        )
    return x.astype(float)


def _memory(owner: str, memory: Any, n: int) -> np.ndarray:
    """Return what is remembered at the start (n, k): a number k stands for k zeros."""
    if memory is None:
        return np.zeros((n, 0))
    if is_whole(memory, 0):
        x = np.zeros((n, min(int(memory), ml.MOST + 1)))
    else:
        x = array(owner, "memory", memory, f"a number of numbers, or ({n}, k) numbers")
    fits = x.ndim == 2 and len(x) == n and 0 < x.shape[1] <= ml.MOST
    if not fits or not np.isfinite(x).all():
        raise ValueError(
            f"{owner}: memory must say how many numbers each section remembers, 1 to {ml.MOST}, or "
            f"be ({n}, k) finite numbers, got {shown(memory)}"
        )
    return x
