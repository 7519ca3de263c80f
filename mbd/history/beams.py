r"""Beams over time: forces, moments and strains of their sections, their line, their energy.

The helicoid between two nodes acts on them at their origins; with f the forces on a node's frame
(``interactions/beams/element.py``) and its directors :math:`d_k`, in section axes at the second
end

.. math:: N_i = d_i\cdot f_r, \qquad M_i = d_i\cdot\sum_k d_k\times f_k ,

and at the first end the same with the other sign. In equilibrium these are exact whatever the
length of the element; strains follow from the stiffness of the section, :math:`C^{-1}(N, M)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mbd.base.checked import whole
from mbd.beams.helicoids import logarithm, points_between
from mbd.history.bodies import StructureHistory
from mbd.history.elements import ElementGroup, grouped
from mbd.history.faces import Faces, all_columns, columns_of, faces_over_time
from mbd.history.quantities import COLUMNS, PartHistory
from mbd.history.quantity import Owner, Quantity
from mbd.interactions.beams.element import BEAM
from mbd.interactions.beams.line import Line
from mbd.interactions.kind import Element
from mbd.interactions.measures import LENGTH
from mbd.interactions.springs import tie
from mbd.model.frozen import per_model

if TYPE_CHECKING:
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
BAR_WORDS = [x.flat[1:] for x in COLUMNS if x.of is Owner.BAR]
SECTION_WORDS = [x.flat[1:] for x in COLUMNS if x.of in (Owner.SECTION, Owner.ELEMENT)]


@per_model
def lines(model: Model) -> dict[str, Line]:
    """Return the lines of all beams by name."""
    both = ((name, part.line) for name, part in model.system.structures.items())
    return {name: line for name, line in both if line is not None}


@dataclass(frozen=True)
class Helicoids:
    """The elements of some beams.

    Attributes
    ----------
    elements : tuple of k Elements
    group : ElementGroup
    weights : (k, 2, 4, 4) array
        Of origin and axes of the sections at both ends, in the faces there.
    flexibility : (k, 2, 6, 6) array
        Of the sections at both ends.
    stations : (k, 2) array [m]
        Length along the beam there.
    """

    elements: tuple[Element, ...]
    group: ElementGroup
    weights: np.ndarray
    flexibility: np.ndarray
    stations: np.ndarray

    @classmethod
    def of(cls, some: Collection[Line], column: dict[str, int]) -> Helicoids:
        """Take the elements of lines, at least one; `column` has the places of faces."""
        elements = tuple(x for line in some for x in line.elements)
        (group,) = grouped(elements, column)
        stiffness = np.concatenate([line.stiffness for line in some])
        weights = group.weights.reshape(-1, 2, 4, 4)
        stations = np.concatenate([ends_of(line.stations) for line in some])
        return cls(elements, group, weights, np.linalg.inv(stiffness), stations)


def ends_of(stations: np.ndarray) -> np.ndarray:
    """Return the length at both ends of elements (n, 2), from that at their nodes [m]."""
    return np.column_stack([stations[:-1], stations[1:]])


@per_model
def all_helicoids(model: Model) -> Helicoids | None:
    """Return the elements of all beams of a model."""
    some = lines(model).values()
    return Helicoids.of(some, all_columns(model)) if some else None


def beyond_limits(model: Model, t: np.ndarray, q: Any, v: Any, a: Any) -> str:
    """Return a warning of elements and flexible bodies beyond their limits, or nothing."""
    apart = -(-len(t) // _LOOKED_AT) or 1
    some = slice((len(t) - 1) % apart, None, apart)
    moved = t[some], *(x[some] for x in (q, v, a))
    remarks = [of(model, *moved) for of in (_beyond_elements, _beyond_bushings) if len(t)]
    for name, body in model.nodes.items():
        if body.nodal is not None and len(t):
            faces = faces_over_time(model, q, v, a, [name])
            own = faces.yd[:, faces.column[name]], np.asarray(q[:, columns_of(model)[name][0]])
            remarks.append(body.nodal.remark(*own))
    return "; ".join(filter(None, remarks))


def _beyond_elements(model: Model, t: np.ndarray, q: Any, v: Any, a: Any) -> str:
    r"""Return a warning of an element that turns by nearly pi or is pulled too hard, or nothing.

    Strains jump at a turn of pi. Between its nodes an element has the flexibility of its bending
    without tension, :math:`h^2/12EI` of shear: pulled by :math:`12EI/h^2` it buckles as no beam
    does.
    """
    of = all_helicoids(model)
    if of is None:
        return ""
    sections = Sections(of, faces_over_time(model, q, v, a), model.origin)
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


def _beyond_bushings(model: Model, t: np.ndarray, q: Any, v: Any, a: Any) -> str:
    """Return a warning of a bushing whose turn is nearly pi, where its moment jumps, or nothing."""
    names, bushings = _bushings(model)
    if not names:
        return ""
    (group,) = grouped(bushings, all_columns(model))
    columns, weights = group.ends.reshape(-1, 2, 4), group.weights.reshape(-1, 2, 4, 4)
    directors = faces_over_time(model, q, v, a).vectors(columns, weights)[..., 1:, :]
    if far := _first_far(np.swapaxes(directors, -1, -2), _BUSHING_TURN):
        return (
            f"{names[far[1]]!r} turns by {far[2]:.3g} rad at t = {t[far[0]]:.6g} s: the rotation "
            "vector of a Bushing jumps at pi; for more take a Revolute with a JointSpring"
        )
    return ""


@per_model
def _bushings(model: Model) -> tuple[list[str], list[Element]]:
    """Return the names and the helicoids of the bushings that turns meet."""
    both = ((n, x) for n, part in model.system.forces.items() for x in part.elements())
    pairs = [(n, x) for n, x in both if x.kind is BEAM]
    return [n for n, _ in pairs], [x for _, x in pairs]


def _first_far(R: np.ndarray, most: float) -> tuple[int, int, float] | None:
    """Return the first instant of a larger turn of axes R (n, k, 2, 3, 3), whose, and how far."""
    cosine = 0.5 * (np.einsum("teij,teij->te", R[:, :, 0], R[:, :, 1]) - 1.0)
    turn = np.arccos(cosine.clip(-1.0, 1.0))
    i = int(np.argmax((turn > most).any(axis=1)))
    e = int(np.argmax(turn[i]))
    return (i, e, float(turn[i, e])) if turn[i, e] > most else None


class SectionResults(Protocol):
    """Results of the sections of beams over time, computed or stored."""

    @property
    def force(self) -> np.ndarray:
        """Normal force and two shear forces (n, elements, 2 ends, 3) [N]."""

    @property
    def moment(self) -> np.ndarray:
        """Torsion and two bending moments (n, elements, 2 ends, 3) [N m]."""

    @property
    def stations(self) -> np.ndarray:
        """Length along the beam at both ends of elements (elements, 2) [m]."""

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins (n, k, 2, 3) [m] and axes (n, k, 2, 3, 3) of both ends of elements."""


class Sections:
    """Results of the sections of beams, computed from the faces of their nodes."""

    def __init__(self, helicoids: Helicoids, faces: Faces, origin: np.ndarray) -> None:
        self._of, self._faces, self._origin = helicoids, faces, origin
        self.stations = helicoids.stations

    @cached_property
    def _frames(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins, from the origin of the model, and axes."""
        columns = self._of.group.ends.reshape(-1, 2, 4)
        x = self._faces.vectors(columns, self._of.weights)
        return x[..., 0, :], np.swapaxes(x[..., 1:, :], -1, -2)

    @property
    def axes(self) -> np.ndarray:
        """Axes (n, k, 2, 3, 3) of both ends of elements."""
        return self._frames[1]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins and axes of both ends of elements."""
        r, R = self._frames
        return r + self._origin, R

    @cached_property
    def loads(self) -> np.ndarray:
        """Force and moment (n, elements, 2 ends, 2, 3) of the sections, in their axes."""
        w, group = self._of.weights, self._of.group
        n, k = len(self._faces.y), len(w)
        f = np.empty((n, k, 2, 4, 3))
        for here, on_faces in group.forces(self._faces, np.zeros((n, k, 0))):
            # element, end, attachment, vector of the face
            f[here] = np.einsum("eabj,teabjx->teabx", w, on_faces.reshape(-1, k, 2, 4, 4, 3))
        d = np.swapaxes(self._frames[1], -1, -2)  # rows are directors
        both = np.stack([f[..., 0, :], np.cross(d, f[..., 1:, :]).sum(-2)], axis=-2)
        both[:, :, 0] *= -1.0
        return np.asarray(np.einsum("...ix,...cx->...ci", d, both))

    @property
    def force(self) -> np.ndarray:
        """Normal force and two shear forces."""
        return self.loads[..., 0, :]

    @property
    def moment(self) -> np.ndarray:
        """Torsion and two bending moments."""
        return self.loads[..., 1, :]

    @cached_property
    def _strains(self) -> np.ndarray:
        loads = self.loads.reshape(*self.loads.shape[:3], 6)
        return np.asarray(np.einsum("eaij,teaj->teai", self._of.flexibility, loads))

    @property
    def strain(self) -> np.ndarray:
        """Stretch and two shears."""
        return self._strains[..., :3]

    @property
    def curvature(self) -> np.ndarray:
        """Twist and two bendings."""
        return self._strains[..., 3:]

    @cached_property
    def energy(self) -> np.ndarray:
        """Elastic energy of each element (n, elements)."""
        numbers = self._of.group.numbers
        x = _between(*self._frames) - numbers[:, :6]
        K = numbers[:, 6:42].reshape(-1, 6, 6)
        return np.asarray(0.5 * np.einsum("tei,eij,tej->te", x, K, x))

    def pull(self, some: np.ndarray) -> np.ndarray:
        """Return the tension of elements at some instants (n, elements) [EI/h^2]."""
        r, R = (x[some] for x in self._frames)
        numbers = self._of.group.numbers
        x, K = _between(r, R) - numbers[:, :6], numbers[:, 6:12]
        softest = self._of.flexibility[:, :, (4, 5), (4, 5)].max(axis=(1, 2))  # 1/EI
        return np.einsum("tei,ei->te", x, K) * np.diff(self._of.stations)[:, 0] ** 2 * softest


def _between(r: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return lengths and turns (n, k, 6) of helicoids between two ends."""
    return logarithm(r[:, :, 0], R[:, :, 0], r[:, :, 1], R[:, :, 1])


class BeamHistory(StructureHistory):
    """A beam over time: its nodes, and results of its sections, (n, elements, 2 ends, 3)."""

    def __init__(
        self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None,
        sections: SectionResults,
    ) -> None:  # fmt: skip
        more = [x for x in SECTION_WORDS if x not in ("force", "moment")]
        super().__init__(name, nodes, rows, more, lambda word: getattr(sections, word))
        self.sections = sections
        self.owners = (*{*self.owners, Owner.JOINT},)
        self.methods = (*self.methods, "curve(points)")

    def _value(self, quantity: Quantity) -> np.ndarray:
        """Return force or moment of the sections in their axes, or a quantity of nodes or rows."""
        if quantity is PartHistory.force:
            return self.sections.force
        return self.sections.moment if quantity is PartHistory.moment else super()._value(quantity)

    @property
    def section_forces(self) -> np.ndarray:
        """The six of ``SECTION_FORCES`` (n, elements, 2 ends, 6) [N, N m]."""
        return np.concatenate([self.sections.force, self.sections.moment], axis=-1)

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


def bars_over_time(bars: Sequence[Element], faces: Faces) -> tuple[np.ndarray, np.ndarray]:
    """Return tension, with that of damping, and elastic energy of bars, (n, bars) each [N, J]."""
    N, W = np.empty((2, len(faces.y), len(bars)))
    for group in grouped(bars, faces.column):
        k = len(group.ends)
        along = np.diff(faces.y[:, group.ends, 0], axis=2)[:, :, 0]
        length = np.linalg.norm(along, axis=-1)
        along /= length.clip(1e-300)[..., None]
        for here, f in group.forces(faces, np.zeros((len(faces.y), k, 0))):
            on_second = f.reshape(-1, k, 2, 4, 3)[:, :, 1, 0]
            N[here, group.members] = (on_second * along[here]).sum(-1)
        stiffness, _, l0 = group.numbers[:, :3].T
        longer = length - l0
        W[:, group.members] = (
            0.5 * stiffness * (longer.clip(0.0) if group.kind is tie(LENGTH) else longer) ** 2
        )
    return N, W


class CableHistory(StructureHistory):
    """A cable over time: its nodes, and tension and energy of its bars, (n, bars)."""

    def __init__(
        self, name: str, nodes: Sequence[PartHistory], rows: PartHistory | None,
        bars: Callable[[str], np.ndarray],
    ) -> None:  # fmt: skip
        super().__init__(name, nodes, rows, BAR_WORDS, bars)
        self.methods = (*self.methods, "curve(points)")

    def curve(self, points: int = 4) -> np.ndarray:
        """Return the line through `points` points a bar, (n, points bars + 1, 3) [m]."""
        n = whole(f"{self.name}.curve", "points", points, 1)
        x = self.position
        inner = x[:, :-1, None] + np.diff(x, axis=1)[:, :, None] * (np.arange(n) / n)[:, None]
        return np.concatenate([inner.reshape(len(x), -1, 3), x[:, -1:]], axis=1)
