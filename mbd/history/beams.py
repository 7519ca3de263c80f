"""Beams over time: forces, moments and strains of their sections, their line, their energy."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.checked import whole
from mbd.beams.helicoids import logarithm, points_between
from mbd.history.bodies import StructureHistory
from mbd.history.observed import point
from mbd.history.program import ProgramTables
from mbd.history.quantities import COLUMNS, PartHistory
from mbd.history.quantity import Owner, Quantity
from mbd.history.trajectory import Trajectory
from mbd.interactions.beams.element import BEAM
from mbd.interactions.beams.line import Line
from mbd.interactions.kind import Element
from mbd.model.frozen import per_model
from mbd.model.model import Model

#: The six, force and then moment: unit, what it is.
SECTION_FORCES = {
    "N": ("N", "normal force"),
    "V2": ("N", "shear force"),
    "V3": ("N", "shear force"),
    "T": ("N m", "torsion"),
    "M2": ("N m", "bending moment"),
    "M3": ("N m", "bending moment"),
}
_TURN, _BUSHING_TURN = 2.8, 3.02  # [rad] of an element: nearly pi; the law of a bushing is exact
_PULL = 4.0  # [EI/h^2] tension of an element that is a third of what makes it buckle
_LOOKED_AT = 500  # instants
BAR_WORDS = {x.flat[1:]: x for x in COLUMNS if x.of is Owner.BAR}
SECTION_WORDS = {x.flat[1:]: x for x in COLUMNS if x.of in (Owner.SECTION, Owner.ELEMENT)}


@per_model
def lines(model: Model) -> dict[str, Line]:
    """Return the lines of all beams by name."""
    both = ((name, part.line) for name, part in model.system.structures.items())
    return {name: line for name, line in both if line is not None}


def ends_of(stations: np.ndarray) -> np.ndarray:
    """Return the length at both ends of elements (n, 2), from that at their nodes [m]."""
    return np.column_stack([stations[:-1], stations[1:]])


def beyond_limits(run: Trajectory) -> str:
    """Return a warning of elements and flexible bodies beyond their limits, or nothing."""
    n = len(run.t)
    apart = -(-n // _LOOKED_AT) or 1
    some = run.part(slice((n - 1) % apart, None, apart))
    remarks = [of(some) for of in (_beyond_elements, _beyond_bushings) if n]
    for name, body in run.model.nodes.items():
        if body.nodal is not None and n:
            remarks.append(body.nodal.remark(some.body(name).yd, some.body(name).q))
    return "; ".join(filter(None, remarks))


def _beyond_elements(run: Trajectory) -> str:
    r"""Return a warning of an element that turns by nearly pi or is pulled too hard, or nothing.

    Strains jump at a turn of pi. Between its nodes an element has the flexibility of its bending
    without tension, :math:`h^2/12EI` of shear: pulled by :math:`12EI/h^2` it buckles as no beam
    does.
    """
    model, t = run.model, run.t
    if not lines(model):
        return ""
    sections = Sections(run, [*lines(model).values()])
    names = [(name, e) for name, line in lines(model).items() for e in range(len(line.elements))]

    def remark(i: int, e: int, does: str, why: str, finer: float) -> str:
        name, of_it = names[e]
        n = int(np.ceil(finer * sum(x == name for x, _ in names)))
        return (
            f"element {of_it} of {name!r} {does} at t = {t[i]:.6g} s: {why}; take more, such as {n}"
        )

    if far := _first_far(sections.axes, _TURN):
        i, e, turn = far
        why = "strains jump at pi, and best are below 1 rad"
        return remark(i, e, f"turns by {turn:.2g} rad", why, 4.0)
    few = np.arange((len(t) - 1) % 32, len(t), 32)
    pull = sections.pull(few)
    i, e = divmod(int(np.argmax(pull)), pull.shape[1])
    most = float(pull[i, e])
    if most <= _PULL:
        return ""
    does = f"is pulled by {most:.2g} EI/h^2"
    return remark(int(few[i]), e, does, "at 12 it buckles", float(np.sqrt(most / _PULL)))


def _beyond_bushings(run: Trajectory) -> str:
    """Return a warning of a bushing whose turn is nearly pi, where its moment jumps, or nothing."""
    names, bushings = _bushings(run.model)
    if not names:
        return ""
    if far := _first_far(_frames(run, bushings)[1], _BUSHING_TURN):
        return (
            f"{names[far[1]]!r} turns by {far[2]:.3g} rad at t = {run.t[far[0]]:.6g} s: the "
            "rotation vector of a Bushing jumps at pi; for more take a Revolute with a JointSpring"
        )
    return ""


@per_model
def _bushings(model: Model) -> tuple[list[str], list[Element]]:
    """Return the names and the helicoids of the bushings that turns meet."""
    both = ((n, x) for n in model.system.forces for x in model.elements[n])
    pairs = [(n, x) for n, x in both if x.kind is BEAM]
    return [n for n, _ in pairs], [x for _, x in pairs]


def _first_far(R: np.ndarray, most: float) -> tuple[int, int, float] | None:
    """Return the first instant of a larger turn of axes R (n, k, 2, 3, 3), whose, and how far."""
    cosine = 0.5 * (np.einsum("teij,teij->te", R[:, :, 0], R[:, :, 1]) - 1.0)
    turn = np.arccos(cosine.clip(-1.0, 1.0))
    i = int(np.argmax((turn > most).any(axis=1)))
    e = int(np.argmax(turn[i]))
    return (i, e, float(turn[i, e])) if turn[i, e] > most else None


def _frames(run: Trajectory, elements: Sequence[Element]) -> tuple[np.ndarray, np.ndarray]:
    """Return origins (n, k, 2, 3), from the origin of the model, and axes (n, k, 2, 3, 3).

    Axes are columns; the attachments of an element are origin and axes of both ends.
    """

    def add(tables: ProgramTables) -> Iterator[int]:
        for x in elements:
            for end in x.attachments:
                yield from point(tables, end.place, 0, end.weights, near=True)

    x = run.observed(add).reshape(len(run.t), len(elements), 2, 4, 3)
    return x[..., 0, :], np.swapaxes(x[..., 1:, :], -1, -2)


class Sections:
    """The sections at both ends of the elements of some beams over time."""

    def __init__(self, run: Trajectory, some: Sequence[Line]) -> None:
        self._run = run
        self._elements = [x for line in some for x in line.elements]
        self._flexibility = np.linalg.inv(np.concatenate([line.stiffness for line in some]))
        self.stations = np.concatenate([ends_of(line.stations) for line in some])

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return _frames(self._run, self._elements)

    @property
    def axes(self) -> np.ndarray:
        """Axes (n, k, 2, 3, 3) of both ends of elements."""
        return self._ends[1]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins and axes of both ends of elements."""
        r, R = self._ends
        return r + self._run.model.origin, R

    def pull(self, some: np.ndarray) -> np.ndarray:
        """Return the tension of elements at some instants (n, elements) [EI/h^2]."""
        r, R = (x[some] for x in self._ends)
        numbers = np.array([x.numbers[:12] for x in self._elements])
        x, K = _between(r, R) - numbers[:, :6], numbers[:, 6:]
        softest = self._flexibility[:, :, (4, 5), (4, 5)].max(axis=(1, 2))  # 1/EI
        return np.einsum("tei,ei->te", x, K) * np.diff(self.stations)[:, 0] ** 2 * softest


def _between(r: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return lengths and turns (n, k, 6) of helicoids between two ends."""
    return logarithm(r[:, :, 0], R[:, :, 0], r[:, :, 1], R[:, :, 1])


class BeamHistory(StructureHistory):
    """A beam over time: its nodes, and results of its sections, (n, elements, 2 ends, 3).

    `sections` are ``Sections``, or those of a file: the length along the beam at both ends of
    elements, ``stations`` (elements, 2) [m], ``ends``, their origins (n, k, 2, 3) [m] and axes
    (n, k, 2, 3, 3).
    """

    def __init__(
        self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None,
        sections: Any, take: Callable[[str], np.ndarray],
    ) -> None:  # fmt: skip
        more = [x for x in SECTION_WORDS if x not in ("force", "moment")]
        super().__init__(name, nodes, rows, more, take)
        self.sections, self._section = sections, take
        self.owners = (*{*self.owners, Owner.JOINT},)
        self.methods = (*self.methods, "curve(points)")

    def _value(self, quantity: Quantity) -> np.ndarray:
        """Return force or moment of the sections in their axes, or a quantity of nodes or rows."""
        if quantity in (PartHistory.force, PartHistory.moment):
            return self._section(quantity.name)
        return super()._value(quantity)

    @property
    def section_forces(self) -> np.ndarray:
        """The six of ``SECTION_FORCES`` (n, elements, 2 ends, 6) [N, N m]."""
        return np.concatenate([self.force, self.moment], axis=-1)

    @property
    def axial_strains(self) -> np.ndarray:
        """Strains along the beam (n, elements, 2 ends, 3): stretch, two bendings [-], [1/m]."""
        return np.concatenate([self.strain[..., :1], self.curvature[..., 1:]], axis=-1)

    def curve(self, points: Any = 4) -> np.ndarray:
        """Return the line through `points` points an element, (n, points elements + 1, 3) [m]."""
        n = whole(f"{self.name}.curve", "points", points, 1)
        r, R = self.sections.ends
        shares = np.arange(n) / n
        inner = points_between(r[:, :, 0], R[:, :, 0], _between(r, R), shares)
        return np.concatenate([inner.reshape(len(r), -1, 3), r[:, -1:, 1]], axis=1)


@per_model
def cables(model: Model) -> dict[str, Sequence[Element]]:
    """Return the bars of all cables by name."""
    return {name: x.bars for name, x in model.system.structures.items() if x.bars}


class CableHistory(StructureHistory):
    """A cable over time: its nodes, and tension and energy of its bars, (n, bars)."""

    def __init__(
        self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None,
        bars: Callable[[str], np.ndarray],
    ) -> None:  # fmt: skip
        super().__init__(name, nodes, rows, [*BAR_WORDS], bars)
        self.methods = (*self.methods, "curve(points)")

    def curve(self, points: int = 4) -> np.ndarray:
        """Return the line through `points` points a bar, (n, points bars + 1, 3) [m]."""
        n = whole(f"{self.name}.curve", "points", points, 1)
        x = self.position
        inner = x[:, :-1, None] + np.diff(x, axis=1)[:, :, None] * (np.arange(n) / n)[:, None]
        return np.concatenate([inner.reshape(len(x), -1, 3), x[:, -1:]], axis=1)
