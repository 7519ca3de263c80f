"""The tables and labels of a built system."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import accumulate
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from mbd.base.checked import floats, scalar, shown
from mbd.base.door import array
from mbd.base.read_only import read_only
from mbd.base.tolerances import ROWS_MET
from mbd.interactions.kind import Element
from mbd.machine import buffer as m
from mbd.model.description import Description
from mbd.model.state import State
from mbd.model.topology import Front
from mbd.parts.bodies import StackedBodies
from mbd.parts.part import Body

Value = TypeVar("Value")
SomeModel = TypeVar("SomeModel", bound="FrozenModel")
Key = TypeVar("Key")


@dataclass(frozen=True)
class Numbering:
    """Between the user's order (bodies as added, then rows as added) and the solver's unknowns.

    ``v`` and ``lam`` give the unknown of each velocity and multiplier; ``owners`` the slice of
    ``lam`` of each body and joint; ``elements`` the row elements of a joint with their place in
    ``lam``; ``q`` the slice of stored coordinates of each body; ``v_names`` and ``row_names`` the
    names of velocities and rows by owner, and the unit of the rows.
    """

    v: np.ndarray
    lam: np.ndarray
    v_names: list[tuple[str, Sequence[str]]]
    row_names: list[tuple[str, Sequence[str], str]]
    v_kinds: np.ndarray
    lam_kinds: np.ndarray
    owners: dict[str, slice]
    elements: dict[str, list[tuple[Any, int]]]
    q: tuple[slice, ...]

    def __post_init__(self) -> None:
        """Let nobody write to its numbers."""
        read_only((self.v, self.lam, self.v_kinds, self.lam_kinds))

    @cached_property
    def v_labels(self) -> tuple[str, ...]:
        """Name of each velocity."""
        return tuple(f"{owner}.{x}" for owner, words in self.v_names for x in words)

    @cached_property
    def lam_labels(self) -> tuple[str, ...]:
        """Name of each row."""
        return tuple(f"{owner}.{x}" for owner, words, _ in self.row_names for x in words)

    @cached_property
    def lam_units(self) -> tuple[str, ...]:
        """Unit of each row."""
        return tuple(unit for _, words, unit in self.row_names for _ in words)

    def body_of_v(self, i: int) -> str:
        """Return the body that owns velocity i."""
        return self.v_labels[i].rsplit(".", 1)[0]

    def rate_unit(self, i: int) -> str:
        """Return the unit of the rate of row i; one on velocities is a rate itself."""
        unit = self.lam_units[i]
        if self.lam_kinds[i] == m.VELOCITY_ROW:
            return unit
        return "1/s" if unit == "-" else f"{unit}/s"


class LinkedBodies(NamedTuple):
    """Bodies, ground among them, that some rows of a part link."""

    owner: str
    bodies: list[str]
    rows: list[int]


@dataclass(eq=False)
class FrozenModel:
    """The tables and labels of a built system; see ``Model``."""

    system: Description
    I: np.ndarray
    F: np.ndarray
    size: int
    numbering: Numbering
    fronts: list[Front]
    kernels: dict[int, list[tuple[Any, int]]] = field(repr=False)
    node_records: dict[str, int] = field(repr=False)
    elements: dict[str, Sequence[Element]] = field(repr=False)  # of each part
    records: dict[str, list[int]] = field(repr=False)  # where those of its elements are
    laws: list[Any] = field(repr=False)  # of all elements, which may have raised
    stacked: StackedBodies = field(repr=False)  # of all nodes
    remembered: tuple[str, ...] = ()
    redundant: bool = False
    set_valued: tuple[tuple[str, str], ...] = ()  # parts with such a law, and its kind

    def __reduce__(self) -> Any:
        """Return the description: addresses of kernels and laws are those of one process."""
        return methodcaller("build", threads=self.threads), (self.system,)

    @property
    def threads(self) -> int:
        """Number of threads of a step: 2 if it was built for them and falls into two sides."""
        return 2 if self.I[m.SIDES] else 1

    @cached_property
    def origin(self) -> np.ndarray:
        """Point from which positions are stored, (3,) [m]; zero unless the system is far off."""
        ground = int(self.I[m.GROUND])
        return read_only(0.0 - self.F[ground : ground + 3])

    @cached_property
    def first(self) -> int:
        """Place where constants begin in F, after the header and the addresses of all stages."""
        S = m.integers(self.F)
        return m.INTS + max(int(S[stage] + 2 * S[stage + 1]) for stage in m.STAGES)

    @property
    def n_q(self) -> int:
        """Number of stored coordinates."""
        return int(self.I[m.N_Q])

    @property
    def n_v(self) -> int:
        """Number of velocities."""
        return len(self.numbering.v)

    @property
    def n_lam(self) -> int:
        """Number of constraint rows."""
        return len(self.numbering.lam)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all unknowns."""
        return self.numbering.v_labels + self.numbering.lam_labels

    @property
    def nodes(self) -> dict[str, Body]:
        """All nodes by name, with their formulations and masses: bodies, and those of parts."""
        return self.system.bodies

    @cached_property
    def bodies(self) -> dict[str, int]:
        """Index of each node."""
        return {name: i for i, name in enumerate(self.nodes)}

    @cached_property
    def faces(self) -> dict[str, int]:
        """Index of the first face of each node among the faces of all."""
        ends = accumulate((x.formulation.n_faces for x in self.nodes.values()), initial=0)
        return dict(zip(self.nodes, ends, strict=False))

    @cached_property
    def node_of_face(self) -> np.ndarray:
        """Index of the node of each face."""
        counts = [x.formulation.n_faces for x in self.nodes.values()]
        return read_only(np.repeat(np.arange(len(counts)), counts))

    @cached_property
    def node_of_velocity(self) -> np.ndarray:
        """Index of the node of each velocity."""
        counts = [x.formulation.n_v for x in self.nodes.values()]
        return read_only(np.repeat(np.arange(len(counts)), counts))

    @property
    def n_faces(self) -> int:
        """Number of faces of all nodes."""
        return int(self.I[m.N_FACES]) - 1

    @cached_property
    def heaviest(self) -> Body:
        """The node of the largest mass."""
        return max(self.nodes.values(), key=lambda x: x.mass)

    @property
    def state(self) -> State:
        """The initial state as described; accelerations and multipliers zero."""
        q = self.F[self.I[m.Q] : self.I[m.Q] + self.n_q].copy()
        v = self.F[self.I[m.V] + self.numbering.v]
        zero = np.zeros(self.n_v)
        return State(0.0, q, v, zero, np.zeros(self.n_lam))

    @cached_property
    def quaternions(self) -> np.ndarray:
        """Places in q of quaternions whose unit length no row of the body holds, (n, 4)."""
        starts = [
            at.start + body.formulation.quaternion
            for body, at in zip(self.nodes.values(), self.numbering.q, strict=True)
            if body.formulation.quaternion is not None
        ]
        return read_only(np.array(starts, np.intp)[:, None] + np.arange(4))

    @cached_property
    def memory(self) -> np.ndarray:
        """Places of the numbers of ``state.memory``."""
        where = [np.empty(0, np.int64)]
        for _, at in self.kernels[m.ACCEPT]:
            head = self.I[at : at + m.T_HEAD].tolist()
            records = head[m.T_FIRST] + head[m.T_SIZE] * np.arange(head[m.T_NUMBER])
            starts = self.I[records + m.E_MEMORY]
            where.append((starts[:, None] + np.arange(head[m.T_MEMORY])).ravel())
        return read_only(np.concatenate(where))

    @cached_property
    def n_impulsive(self) -> int:
        """Number of recorded sums of the work of impulses: of set-valued laws parts of it too."""
        return m.N_IMPULSIVE if self.set_valued else 1

    @cached_property
    def elements_set_valued(self) -> tuple[str, ...]:
        """Names of the elements with set-valued laws: "floor.0", of each part from 0."""
        if not self.set_valued:
            return ()
        elements = {x: [e for e, _ in some] for x, some in self.numbering.elements.items()}
        parts = [x for x, _ in self.set_valued if x not in elements]  # without rows
        elements |= {x: [*self.elements[x]] for x in parts}
        return tuple(
            f"{part}.{k}"
            for part, some in elements.items()
            for k, _ in enumerate(x for x in some if x.kind.set_valued)
        )

    @cached_property
    def places_set_valued(self) -> np.ndarray:
        """Places of the numbers of ``state.set_valued``: of methods, and the history of forces."""
        where = [np.empty(0, np.int64)]
        for name, elements in self.numbering.elements.items() if self.set_valued else ():
            for record, (element, row) in zip(self.records[name], elements, strict=False):
                if element.kind.set_valued:
                    at = self.I[record + m.E_NUMBERS] + len(element.numbers)
                    where.append(at + np.arange(element.kind.room))
                    rows = self.numbering.lam[row : row + element.kind.n_rows]
                    where.append(self.I[m.AL] + rows)
            if joint := self.system.parts[name].reaction_of:  # that the bound of the law follows
                where.append(self.I[m.AL] + self.I[self.records[joint][0] + m.E_ROW] + np.arange(3))
        return read_only(np.concatenate(where))

    @cached_property
    def compliant(self) -> np.ndarray:
        """Which rows have a block of their own, (n_lam,) of bool: they give way."""
        which = np.zeros(self.n_lam, bool)
        for elements in self.numbering.elements.values():
            for element, row in elements:
                which[row : row + element.kind.n_rows] = element.kind.own_block
        return read_only(which)

    @property
    def units(self) -> np.ndarray:
        """Size of a finite change of the pose, by velocity: the length of the model [m], or one."""
        return read_only(self.F[m.UNIT + self.numbering.v_kinds])

    def row_bodies(self) -> dict[str, list[str]]:
        """Return the bodies of every joint and of all other parts with rows, ground included."""
        return {
            name: list({a.body: None for element, _ in elements for a in element.attachments})
            for name, elements in self.numbering.elements.items()
        }

    def rows_of(self, names: Iterable[str]) -> np.ndarray:
        """Return the rows of these parts, (n,) of int."""
        owned = [np.arange(self.n_lam)[self.numbering.owners[name]] for name in names]
        return np.concatenate([np.empty(0, np.int64), *owned])

    def body_of_coordinate(self, i: int) -> str:
        """Return the body that stored coordinate i belongs to."""
        both = zip(self.nodes, self.numbering.q, strict=True)
        return next(name for name, at in both if at.start <= i < at.stop)

    def links(self) -> list[LinkedBodies]:
        """Return what rows link: each joint or other part, of structures each element.

        What holds one body alone holds it to the ground.
        """
        links = []
        for name, elements in self.numbering.elements.items():
            together = [[x] for x in elements] if name in self.system.structures else [elements]
            for some in together:
                bodies = [*{a.body: None for element, _ in some for a in element.attachments}]
                bodies = bodies if bodies[1:] else ["ground", *bodies]
                rows = [row + i for x, row in some for i in range(x.kind.n_rows)]
                links.append(LinkedBodies(name, bodies, rows))
        return links


def per_model(make: Callable[[SomeModel], Value]) -> Callable[[SomeModel], Value]:
    """Let a function of a model, whose result does not refer to it, be evaluated once for each."""
    values: WeakKeyDictionary[FrozenModel, Value] = WeakKeyDictionary()

    @wraps(make)
    def once(model: SomeModel) -> Value:
        try:
            return values[model]
        except KeyError:
            return values.setdefault(model, make(model))

    return once


def some_per_model(
    make: Callable[[SomeModel, Key], Value], kept: int = 8
) -> Callable[[SomeModel, Key], Value]:
    """Let a function of a model and a key be evaluated once for each of few keys, as above."""

    @per_model
    def some(_: SomeModel) -> dict[Any, Value]:
        return {}

    @wraps(make)
    def once(model: SomeModel, key: Key) -> Value:
        there = some(model)
        if key not in there:
            if len(there) >= kept:
                there.clear()
            there[key] = make(model, key)
        return there[key]

    return once


def switchable(model: FrozenModel, names: tuple[str, ...], who: str) -> tuple[str, ...]:
    """Return the names, sorted, each once, if they are those of parts with rows.

    Rows that are released, of a joint that is switched off or of a brake that is open, stay in the
    model, with their numbers and their place in the matrix. In place of each stands lam = 0, and no
    other row or column knows of it.
    """
    owners = [name for name in model.numbering.owners if name not in model.nodes]
    for name in names:
        if name not in owners:
            raise ValueError(
                f"{who}: {shown(name)} has no rows that could be switched; there are "
                f"{', '.join(owners) or 'no joints'}"
            )
        if name in dict(model.set_valued):
            raise ValueError(
                f"{who}: {name!r} has a set-valued law, which is not switched off; leave it "
                "out, or set its friction to zero while the run goes on"
            )
        if model.compliant[model.numbering.owners[name]].any():
            raise ValueError(
                f"{who}: {name!r} has compliant rows, which cannot be switched off; leave out its "
                "compliance, or take a Spring or Bushing whose law lets go"
            )
    return tuple(sorted(set(names)))


def refuse_set_valued(owner: str, model: FrozenModel, accepted: Container[str] = ()) -> None:
    """Refuse a model that has a set-valued law of a kind that is not known, by part and kind.

    The force of such a law is no function of positions and velocities: a floor that nothing falls
    through, dry friction that holds. Its kernels say nothing of it, so that all that evaluates
    forces would go on as if it were not there; only methods that declare to know it move the model.
    """
    unknown = [(part, kind) for part, kind in model.set_valued if kind not in accepted]
    if not unknown:
        return
    part, kind = unknown[0]
    raise ValueError(
        f"{owner}: {part!r} has the set-valued law {kind!r}, which needs a method that declares "
        f"Facts(set_valued=True); {owner} would take it as not there. Run mbd.simulate with such a "
        f"method, for an mbd.Contact mbd.NonsmoothAlpha(), or leave {part!r} out of the system"
    )


def checked_set_valued(model: FrozenModel, state: State) -> np.ndarray:
    """Return the numbers of set-valued laws of a state, if they fit the model."""
    numbers, size = np.asarray(state.set_valued), len(model.places_set_valued)
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ValueError(
            f"state.set_valued must be {size} finite numbers for this model, or None, got "
            f"{shown(numbers)}; was it made by another model?"
        )
    return numbers


def state_of(owner: str, model: FrozenModel, state: Any) -> State:
    """Return a state of a model; None is the described one."""
    if state is None:
        return model.state
    if not isinstance(state, State):
        raise TypeError(
            f"{owner}: state must be a State (model.state, solution.state), got {shown(state)}"
        )
    scalar(owner, "t of the state", state.t, "s")
    for name, size in (("q", model.n_q), ("v", model.n_v), ("a", model.n_v), ("lam", model.n_lam)):
        x = array(owner, f"{name} of the state", getattr(state, name), f"{size} numbers")
        if x.shape != (size,):
            raise ValueError(
                f"{owner}: {name} of the state must be {size} numbers, got shape {x.shape}; it is "
                "of another model"
            )
        if name in ("q", "v") and not np.all(np.isfinite(x)):
            raise ValueError(f"{owner}: {name} of the state must be finite")
    return _of_unit_length(owner, model, state)


def _of_unit_length(owner: str, model: FrozenModel, state: State) -> State:
    """Return the state with quaternions that no row holds at unit length, which they must have.

    Those of a run have it to round-off, and stay what they are.
    """
    where = model.quaternions
    p = floats(state.q)[where]
    lengths = np.linalg.norm(p, axis=1)
    off = np.abs(lengths - 1.0)
    if (off < 1e-15).all():
        return state
    i = int(off.argmax())
    if off[i] > ROWS_MET:
        first = int(where[i, 0])
        body = model.body_of_coordinate(first)
        raise ValueError(
            f"{owner}: the quaternion of {body!r} in the state, q[{first}:{first + 4}], must have "
            f"length one [-], got {lengths[i]:.9g}; divide it by its length"
        )
    q = np.array(state.q, float)
    q[where] = p / lengths[:, None]
    return state.replace(q=q, alg=state.alg)
