r"""Starts of steps: how their states depend on parameters, on the state before, and on time.

A run makes its start consistent and shifts it, :math:`a_0 = \dot v_0 + \Delta_\alpha h \ddot v_0`
and the velocities with which the first step meets :math:`\Phi = 0`. It restarts after events
that change something, and at position level before a step of another size. Each of these is
differentiated as one function, by the stencil. Tangents of positions follow from those of the
faces, :math:`Y\,\delta q = \delta y`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.base.sensitivity_tolerances import BEGIN_REACH, START_MET
from mbd.derivatives.differences import CENTRAL, differentiated
from mbd.derivatives.stencil import Stencil
from mbd.integration.consistent import consistent, described_starts
from mbd.integration.method import Method
from mbd.integration.starting_values import resumed, started
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced

_STATE = ("q", "v", "a", "lam", "alg")
_TOGETHER = 16  # parameters of which the starts are taken in one batch


@dataclass(frozen=True, eq=False)
class Tangent:
    """The derivative of a state; q in the increments at it, `before` of v' one step earlier."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    alg: np.ndarray
    before: np.ndarray


@dataclass(frozen=True, eq=False)
class Begun:
    """Where steps begin: the instant, recorded or not, the state of the method, v' before it."""

    first: State
    begun: State
    before: np.ndarray
    recorded: bool = True


@dataclass(frozen=True, eq=False)
class _Many:
    """Where steps begin beside a place: faces (n, .), states of arrays (n, .), v' before them.

    ``good`` (n,) are those for which that holds.
    """

    faces: np.ndarray
    first: State
    begun: State
    before: np.ndarray
    good: np.ndarray

    @property
    def arrays(self) -> list[np.ndarray]:
        """Faces, v' before, then v, v', multipliers and algorithmic v' of both states."""
        return [
            self.faces, self.before,
            *(x for s in (self.first, self.begun)
              for x in (s.v, s.a, s.lam, s.a if s.alg is None else s.alg)),
        ]  # fmt: skip

    def part(self, which: slice) -> _Many:
        """Return some of them."""
        first, begun = (
            x.replace(**{name: getattr(x, name)[which] for name in _STATE})
            for x in (self.first, self.begun)
        )
        return _Many(self.faces[which], first, begun, self.before[which], self.good[which])


# of a model, from a state, with steps of size h; the last: none, or where the run itself began, if
# it is to be a beginning beside that one
Begin = Callable[[FrozenModel, State | None, float, Begun | None], Begun]


def _held(beside: Begun | None) -> bool | None:
    """Return whether accelerations change smoothly: as in the run, which judged that."""
    return None if beside is None else bool((beside.begun.a != beside.before).any())


def _shifted(
    method: Method, model: FrozenModel, first: State, h: float, beside: Begun | None
) -> Begun:
    """Return where steps begin from a consistent state."""
    facts = method.facts
    assert facts.weights is not None
    by_position = facts.level == "position"
    work, held = Workspace(model), _held(beside)
    begun, change = started(work, first, h, facts.weights, by_position, held)
    return Begun(first, begun, begun.a - change)


@dataclass(frozen=True)
class Start:
    """How a run starts: from the described or another pose.

    Without a word, ``project`` None, small violations are mended; then those of neighbouring values
    of a parameter are too, however large.
    """

    method: Method
    state: State | None = None
    project: bool | None = None

    def first(self, model: FrozenModel, beside: Begun | None = None) -> State:
        """Return the first instant of a run: a consistent state."""
        project = True if beside is not None and self.project is None else self.project
        return consistent(model, self.state, project=project)

    def begun(
        self, model: FrozenModel, first: State, h: float, beside: Begun | None = None
    ) -> Begun:
        """Return where steps begin."""
        return _shifted(self.method, model, first, h, beside)

    def many(self, model: FrozenModel, F: np.ndarray, h: float, beside: Begun) -> _Many:
        """Return the starts of runs with constants F (n, .); those that leave the way are marked.

        Where neighbours of the start are moved to meet the rows, these have to be met to round-off.
        """
        share = START_MET if self.project is None or self.project else 1.0
        work = Workspace(model, runs=F)
        with np.errstate(all="ignore"):  # runs that are marked
            first, saddle = described_starts(work, share)
            weights = self.method.facts.weights
            assert weights is not None
            by_position = self.method.facts.level == "position"
            begun, change = started(work, first, h, weights, by_position, _held(beside), saddle)
            good = work.good.copy()
            work.load(first)
            work.evaluate()
        faces = work.vector(m.Y, 12 * (model.n_faces + 1))[:, 12:]
        return _Many(faces, first, begun, begun.a - change, good)

    def __call__(
        self, model: FrozenModel, state: State | None, h: float, beside: Begun | None
    ) -> Begun:
        """Return the start of a run."""
        return self.begun(model, self.first(model, beside), h, beside)


@dataclass(frozen=True)
class Again:
    """Again, before a step of another size: velocities meet the rows, and are shifted for it."""

    method: Method

    def __call__(
        self, model: FrozenModel, state: State | None, h: float, beside: Begun | None
    ) -> Begun:
        """Return where steps of another size begin."""
        facts = self.method.facts
        assert facts.weights is not None
        assert state is not None
        by_position, held = facts.level == "position", _held(beside)
        begun, change = resumed(model, state, h, facts.weights, by_position, held)
        return Begun(begun, begun, begun.a - change, recorded=False)


@dataclass(frozen=True)
class AfterEvents:
    """After events that change something, in the order in which they happened."""

    method: Method
    events: tuple[Any, ...]

    def __call__(
        self, model: FrozenModel, state: State | None, h: float, beside: Begun | None
    ) -> Begun:
        """Return the instant after the events, and where steps begin; h 0: none follows."""
        assert state is not None
        for event in self.events:
            if event.changes:
                off = (set(state.off) | set(event.release)) - set(event.lock)
                state = state.replace(off=tuple(sorted(off)), alg=None)
                if event.change is not None:
                    state = _by_hand(model, event, state)
                rows = np.zeros(model.n_lam, bool)
                state = consistent(model, state, project="velocities", rows=rows)
        if h == 0.0:
            return Begun(state, state, state.a)
        return _shifted(self.method, model, state, h, beside)


def _by_hand(model: FrozenModel, event: Any, state: State) -> State:
    """Return what the change of a user makes of a state beside that of the run."""
    try:
        new: State = event.change(model, state)
    except Exception as error:
        raise RuntimeError(
            f"{event.name} at t = {state.t:.6g} s: its change raised {type(error).__name__} with a "
            f"state or a parameter beside that of the run: {error}"
        ) from error
    return new


@dataclass(frozen=True, eq=False)
class BeginChanges:
    """Changes of what steps begin from: of the state, its time, and the size of the steps."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    t: float = 0.0
    h: float = 0.0

    @classmethod
    def none(cls, model: FrozenModel, t: float = 0.0, h: float = 0.0) -> BeginChanges:
        """Return no change of the state."""
        zero = np.zeros(model.n_v)
        return cls(zero, zero, zero, np.zeros(model.n_lam), t, h)


@dataclass(eq=False)
class Threshold:
    """A place in a run where steps begin, and how that depends on all that came before.

    Parameters
    ----------
    model : Model
    begin : callable
    at : State, optional
        From which it begins; none at the start of the run.
    h : float [s]
        Size of the steps.
    """

    model: FrozenModel
    begin: Begin
    at: State | None
    h: float
    here: Begun = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.begin(self.model, self.at, self.h, None)

    @cached_property
    def _to_positions(self) -> dict[str, np.ndarray]:
        """Of each node the least tangent of positions with tangents of faces."""
        rates = _rates_of_faces(self.model, self.here.first)
        return {name: np.linalg.pinv(Y) for name, Y in rates.items()}

    def by_parameters(self, of: Sequence[Stencil]) -> list[tuple[Tangent, Tangent]]:
        """Return the derivatives of the instant, and of where steps begin, by parameters.

        The starts of a run are taken together; what leaves the straight way by itself.
        """
        done: dict[str, tuple[Tangent, Tangent]] = {}
        start = self.begin
        if isinstance(start, Start) and start.state is None and not self.model.laws:
            alike = [s for s in of if s.alike]
            for i in range(0, len(alike), _TOGETHER):
                some, at = alike[i : i + _TOGETHER], 0
                F = np.array([x.F for s in some for x in s.others])
                starts = start.many(self.model, F, self.h, self.here)
                for s in some:
                    own, at = starts.part(slice(at, at + len(s.others))), at + len(s.others)
                    if own.good.all():
                        done[s.name] = self.by_parameter(s, own)
        return [done.get(s.name) or self.by_parameter(s) for s in of]

    def by_parameter(
        self, stencil: Stencil, starts: _Many | None = None
    ) -> tuple[Tangent, Tangent]:
        """Return the derivatives of the instant, and of where steps begin, by a parameter.

        `starts` are those at the values of the stencil, where they are there.
        """

        def values(share: float) -> Sequence[np.ndarray]:
            if share == 1.0 and starts is not None:
                return starts.arrays
            models = stencil.nearer(share).models
            try:
                others = [self.begin(x, self.at, self.h, self.here) for x in models]
            except ValueError as error:
                raise ValueError(
                    f"sensitivities: the start does not follow another value of {stencil.name!r}, "
                    f"{4 * stencil.step:.3g} from its own; give project=True, and the move to the "
                    f"nearest consistent start is differentiated too: {error}"
                ) from None
            return _stacked(models, others).arrays

        return self._tangents(stencil.differentiated(values, self._sizes_of_arrays()))

    def along(self, z: BeginChanges) -> tuple[Tangent, Tangent]:
        """Return the derivatives of the instant, and of where steps begin, along a direction."""
        assert self.at is not None
        at, sizes = self.at, self.sizes
        pairs = (
            (z.q, sizes.q), (z.v, sizes.v), (z.a, sizes.a), (z.lam, sizes.lam), (z.t, sizes.t),
            (z.h, sizes.h),
        )  # fmt: skip
        far = max(float(np.abs(x / size).max(initial=0.0)) for x, size in pairs)
        if far == 0.0:
            zero = np.zeros(self.model.n_v)
            none = Tangent(zero, zero, zero, np.zeros(self.model.n_lam), zero, zero)
            return none, none
        step = BEGIN_REACH / far

        def begun(e: float) -> Begun:
            there = displaced(self.model, at, e * z.q).replace(
                t=at.t + e * z.t, v=at.v + e * z.v, a=at.a + e * z.a, lam=at.lam + e * z.lam
            )
            return self.begin(self.model, there, self.h + e * z.h, self.here)

        def values(share: float) -> Sequence[np.ndarray]:
            others = [begun(k * share * step) for k in CENTRAL.k]
            return _stacked([self.model] * len(others), others).arrays

        return self._tangents(differentiated(values, step, sizes=self._sizes_of_arrays()))

    def _sizes_of_arrays(self) -> list[float]:
        """Return the sizes of the numbers that what is differentiated is computed from."""
        sizes = self.sizes
        v, a, lam = (float(np.max(x, initial=0.0)) for x in (sizes.v, sizes.a, sizes.lam))
        return [float(self.model.F[m.LENGTH]), a, *(v, a, lam, a) * 2]

    @cached_property
    def sizes(self) -> BeginChanges:
        """Changes that are finite."""
        model, at = self.model, self.here.first if self.at is None else self.at

        def of(x: np.ndarray) -> np.ndarray:
            return np.full(len(x), float(np.abs(x).max(initial=0.0)) or 1.0)

        return BeginChanges(
            model.units, of(at.v), of(at.a), of(at.lam), self.h or 1.0, self.h or 1.0
        )

    def units(self) -> list[BeginChanges]:
        """Return unit directions on which the beginning depends: q, v, t, and what else it reads.

        Only changes by hand read accelerations and multipliers.
        """
        none, out = BeginChanges.none(self.model), []
        for name in ("q", "v", "a", "lam"):
            n = len(getattr(none, name))
            if name in ("q", "v") or self._reads(name):
                changes: list[dict[str, Any]] = [{name: unit} for unit in np.eye(n)]
                out += [replace(none, **change) for change in changes]
        return [*out, replace(none, t=1.0)]

    def _reads(self, name: str) -> bool:
        """Tell whether the beginning depends on accelerations or multipliers."""
        assert self.at is not None
        x = getattr(self.at, name)
        wave = (1.5 + np.sin(1.0 + np.arange(len(x)))) * BEGIN_REACH * getattr(self.sizes, name)
        there = self.begin(self.model, self.at.replace(**{name: x + wave}), self.h, self.here).begun
        here = self.begin(self.model, self.at.replace(**{name: x.copy()}), self.h, self.here).begun
        return not (np.array_equal(there.v, here.v) and np.array_equal(there.q, here.q))

    def _tangents(self, slopes: Sequence[np.ndarray]) -> tuple[Tangent, Tangent]:
        """Return the tangents of the instant and of the begin, of the derivatives of `arrays`."""
        faces, before, *rest = slopes
        q = np.zeros(self.model.n_v)
        at = 0
        for name, Y_inverse in self._to_positions.items():
            first, n = 12 * self.model.faces[name], len(Y_inverse)
            q[at : at + n] = Y_inverse @ faces[first : first + Y_inverse.shape[1]]
            at += n

        return Tangent(q, *rest[:4], before), Tangent(q, *rest[4:], before)  # type: ignore[call-arg]


def _stacked(models: Sequence[FrozenModel], beside: Sequence[Begun]) -> _Many:
    """Return where steps of models begin as arrays over them."""

    def arrays(states: list[State]) -> State:
        states = [s.replace(alg=s.a if s.alg is None else s.alg) for s in states]
        stacks = {name: np.array([getattr(s, name) for s in states]) for name in _STATE}
        return states[0].replace(**stacks)

    faces = np.array([faces_of(x, s.first) for x, s in zip(models, beside, strict=True)])
    first, begun = arrays([x.first for x in beside]), arrays([x.begun for x in beside])
    good = np.ones(len(beside), bool)
    return _Many(faces, first, begun, np.array([x.before for x in beside]), good)


def faces_of(model: FrozenModel, state: State) -> np.ndarray:
    """Return the numbers of all faces at a state, (12 n_faces,)."""
    work = Workspace(model, state)
    work.evaluate()
    return work.vector(m.Y, 12 * (model.n_faces + 1))[12:].copy()


def _rates_of_faces(model: FrozenModel, state: State) -> dict[str, np.ndarray]:
    """Return Y of each node, (12 n_faces, n_v): the rates of its faces by its velocities."""
    work = Workspace(model, state.replace(v=np.zeros(model.n_v)))
    V, rates = work.vector(m.V), work.vector(m.YD, 12 * (model.n_faces + 1))
    first = {name: int(model.I[at + m.NODE_U]) for name, at in model.node_records.items()}
    sizes = {name: x.formulation.n_v for name, x in model.nodes.items()}
    columns = []
    for j in range(max(sizes.values())):
        V[:] = 0.0
        for name, u in first.items():
            if j < sizes[name]:
                V[u + j] = 1.0
        work.evaluate()
        columns.append(rates[12:].copy())
    Y = np.array(columns).T
    return {
        name: Y[12 * at : 12 * (at + model.nodes[name].formulation.n_faces), : sizes[name]]
        for name, at in model.faces.items()
    }
