r"""Restarts of steps: initialisation, event maps, changes of the step size, and their derivatives.

A run makes its initial state consistent and shifts it, :math:`a_0 = \dot v_0 + \Delta_\alpha h
\ddot v_0` and the velocities with which the first step meets :math:`\Phi = 0`. It restarts after
events that change something, and at position level before a step of another size. Each of these is
one function of the state before, of time, the step size and the parameters; its derivative is
taken by differences of order eight. Tangents of positions follow from those of the faces,
:math:`Y\,\delta q = \delta y`.

Tangents and adjoints are arrays over the unknowns: (5, n_u) of the state of the method, its rows
those of a column of ``step_kernels.py``; (3, n_u) of a recorded instant, q, v and (v', lam); (8,
n_u) of both, the instant first. A segment of a run begins with a `Restart` or a `Continuation`:
maps from the state before, of which either has the tangent (``apply``), the transpose, and the
derivatives by the parameters and by the size of the steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mbd.algebra.newmark import Weights
from mbd.base.tolerances import BEGIN_REACH, ROUND_OFF, ROWS_MET, START_DIFFERENCE
from mbd.derivatives.differences import CENTRAL, differentiated
from mbd.derivatives.parameters import Stencil
from mbd.derivatives.step_kernels import COLUMN_SIZE, DA, DB, DL, DQ, DV, INSTANT_SIZE
from mbd.integration.consistent import consistent, described_starts
from mbd.integration.method import Method
from mbd.integration.starting_values import Nearby, resumed, started
from mbd.machine import buffer as m
from mbd.model.frozen import FrozenModel
from mbd.model.state import State
from mbd.model.workspace import Workspace, displaced
from mbd.small_motions.face_maps import face_maps, inverses

_TOGETHER = 16  # parameters of which the initial states are computed in one batch


@dataclass(frozen=True, eq=False)
class Restarted:
    """A restart: the consistent state, recorded or not, that of the method, v' one step before.

    ``smooth``: whether accelerations change smoothly there, also where they do not change at all.
    """

    first: State
    state: State
    before: np.ndarray
    recorded: bool = True
    smooth: bool = False


# A restart of a model from a state (none: that described) with steps of size h. Accelerations of a
# neighbour are smooth where those of the run are, whose own restart is the last argument.
Rule = Callable[[FrozenModel, State | None, float, Restarted | None], Restarted]


def _smooth(like: Restarted | None) -> bool | None:
    """Return whether accelerations change smoothly: as in the run, which judged that."""
    return None if like is None else like.smooth


def _scheme(method: Method) -> tuple[Weights, bool]:
    """Return the weights of generalized-alpha, and whether rows are met by positions."""
    assert method.facts.weights is not None
    return method.facts.weights, method.facts.level == "position"


def shifted(
    method: Method, model: FrozenModel, first: State, h: float, like: Restarted | None
) -> Restarted:
    """Return the restart from a consistent state."""
    state, change = started(Workspace(model), first, h, *_scheme(method), _smooth(like))
    smooth = like.smooth if like is not None else _is_smooth(method, model, first, h, change)
    return Restarted(first, state, state.a - change, smooth=smooth)


def _is_smooth(
    method: Method, model: FrozenModel, first: State, h: float, change: np.ndarray
) -> bool:
    """Tell whether accelerations change smoothly, of which the change in a step is known.

    None is as smooth as any; but rows of positions are not met by velocities then.
    """
    if change.any():
        return True
    if method.facts.level == "position" and model.n_lam:
        return False
    return not Nearby(Workspace(model), first).jerk(h, True).any()


@dataclass(frozen=True)
class Initialisation:
    """The start of a run, from the described or another pose.

    Without a word, ``project`` None, small violations are mended; then those of neighbouring values
    of a parameter are too, however large.
    """

    method: Method
    state: State | None = None
    project: bool | None = None

    def __call__(
        self, model: FrozenModel, _: State | None, h: float, like: Restarted | None
    ) -> Restarted:
        """Return the start of a run."""
        project = True if like is not None and self.project is None else self.project
        first = consistent(model, self.state, project=project)
        return shifted(self.method, model, first, h, like)

    def many(
        self, model: FrozenModel, F: np.ndarray, h: float, like: Restarted
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the `_arrays` of runs with constants F (n, .), and which runs stayed in the batch.

        Where neighbours of the start are moved to meet the rows, these have to be met to round-off.
        """
        share = ROUND_OFF / ROWS_MET if self.project is None or self.project else 1.0
        work = Workspace(model, runs=F)
        with np.errstate(all="ignore"):  # runs that leave the batch
            first, saddle = described_starts(work, share)
            state, change = started(work, first, h, *_scheme(self.method), _smooth(like), saddle)
            good = work.good.copy()
            work.load(first)
            work.evaluate()
        faces = work.vector(m.Y, 12 * (model.n_faces + 1))[:, 12:]
        return [faces, state.a - change, *_numbers(first), *_numbers(state)], good


@dataclass(frozen=True)
class StepChange:
    """Before a step of another size: velocities meet the rows, and are shifted for it."""

    method: Method

    def __call__(
        self, model: FrozenModel, state: State | None, h: float, like: Restarted | None
    ) -> Restarted:
        """Return the restart with steps of another size."""
        assert state is not None
        new, change = resumed(model, state, h, *_scheme(self.method), _smooth(like))
        smooth = bool(change.any()) if like is None else like.smooth
        return Restarted(new, new, new.a - change, recorded=False, smooth=smooth)


@dataclass(frozen=True)
class EventMap:
    """After events that change something, in the order in which they happened."""

    method: Method
    events: tuple[Any, ...]

    def __call__(
        self, model: FrozenModel, state: State | None, h: float, like: Restarted | None
    ) -> Restarted:
        """Return the restart after the events; h 0: no step follows."""
        assert state is not None
        for event in self.events:
            if event.changes:
                off = (set(state.off) | set(event.release)) - set(event.lock)
                state = state.replace(off=tuple(sorted(off)), alg=None)
                if event.change is not None:
                    state = _changed_by_user(model, event, state)
                rows = np.zeros(model.n_lam, bool)
                state = consistent(model, state, project="velocities", rows=rows)
        if h == 0.0:
            return Restarted(state, state, state.a)
        return shifted(self.method, model, state, h, like)


def _changed_by_user(model: FrozenModel, event: Any, state: State) -> State:
    """Return a neighbour of the state of the run after the change of an event."""
    try:
        new: State = event.change(model, state)
    except Exception as error:
        raise RuntimeError(
            f"{event.name} at t = {state.t:.6g} s: its change raised {type(error).__name__} with a "
            f"state or a parameter next to that of the run: {error}"
        ) from error
    return new


# --- their derivatives ----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Continuation:
    """Steps go on: algorithmic accelerations move with the size, a += mu (v' - v'_before).

    ``state`` is that of the method, ``before`` v' one step before it, ``slope`` (n_u,) the
    derivative of a by the size of the step [1/s], ``move`` mu [-], ``recorded``: whether the state
    is the first instant of the segment.
    """

    state: State
    before: np.ndarray
    slope: np.ndarray
    move: float = 0.0
    recorded: bool = False

    def by_parameters(self, of: Sequence[Stencil]) -> list[np.ndarray]:
        """Return zeros."""
        return [np.zeros((INSTANT_SIZE + COLUMN_SIZE, len(self.slope)))] * len(of)

    def by_size(self) -> np.ndarray:
        """Return the derivative by the size of the steps, (8, n_u) [1/s]."""
        out = np.zeros((INSTANT_SIZE + COLUMN_SIZE, len(self.slope)))
        out[INSTANT_SIZE + DL] = self.slope
        return out

    def apply(self, z: np.ndarray, _: float) -> np.ndarray:
        """Return the tangent (8, n_u) with that of the state before; a has no entries of rows."""
        out = np.concatenate([z[:INSTANT_SIZE], z])
        out[INSTANT_SIZE + DL] += self.move * (z[DA] - z[DB])
        return out

    def apply_transposed(self, w: np.ndarray, _: bool) -> tuple[np.ndarray, float]:
        """Return the adjoints of the state before, (5, n_u), and of its time."""
        z = w[INSTANT_SIZE:].copy()
        move = self.move * z[DL]
        z[DA] += move
        z[DB] -= move
        z[:INSTANT_SIZE] += w[:INSTANT_SIZE]
        return z, 0.0


@dataclass(eq=False)
class Restart:
    """A restart of a run, and how it depends on all that came before.

    Parameters
    ----------
    model : Model
    rule : callable
    at : State, optional
        The state before; none at the start of the run.
    h : float [s]
        Size of the steps.
    """

    model: Any
    rule: Rule
    at: State | None
    h: float
    here: Restarted = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.rule(self.model, self.at, self.h, None)
        self.state, self.before = self.here.state, self.here.before
        self.recorded = self.here.recorded
        v, lam = self.model.numbering.v, self.model.numbering.lam
        self._blocks = {"q": (DQ, v), "v": (DV, v), "a": (DA, v), "lam": (DA, lam)}

    @property
    def times(self) -> np.ndarray:
        """Times at which loads count in it: of the start, a short time and a step later [s]."""
        return self.here.first.t + self.h * np.array([0.0, START_DIFFERENCE, 1.0])

    @property
    def is_held(self) -> bool:
        """Whether it is a start whose pose and velocities are those described: nothing moved."""
        model, rule, first = self.model, self.rule, self.here.first
        if not isinstance(rule, Initialisation) or model.redundant or model.compliant.any():
            return False
        own = model.state if rule.state is None else rule.state
        return np.array_equal(first.q, own.q) and np.array_equal(first.v, own.v)

    # --- forwards ---
    def again(self) -> Restarted:
        """Return the restart again, of laws that have other values by now."""
        return self.rule(self.model, self.at, self.h, self.here)

    def difference(self, one: Restarted, other: Restarted) -> np.ndarray:
        """Return the tangent (8, n_u) that leads from one of its neighbours to another one."""
        return self._tangent([x[0] - x[1] for x in _arrays([self.model] * 2, [one, other])])

    def by_parameters(self, of: Sequence[Stencil]) -> list[np.ndarray]:
        """Return the derivatives by parameters, (8, n_u) each.

        Initial states at the values of many parameters are computed in one batch; those that leave
        it, one by one.
        """
        done: dict[str, np.ndarray] = {}
        rule = self.rule
        if isinstance(rule, Initialisation) and rule.state is None and not self.model.laws:
            alike = [s for s in of if s.alike]
            for i in range(0, len(alike), _TOGETHER):
                some, at = alike[i : i + _TOGETHER], 0
                F = np.array([x.F for s in some for x in s.others])
                arrays, good = rule.many(self.model, F, self.h, self.here)
                for s in some:
                    own, at = slice(at, at + len(s.others)), at + len(s.others)
                    if good[own].all():
                        done[s.name] = self._by_parameter(s, [x[own] for x in arrays])
        return [done[s.name] if s.name in done else self._by_parameter(s) for s in of]

    def _by_parameter(self, stencil: Stencil, arrays: list[np.ndarray] | None = None) -> np.ndarray:
        """Return the derivative by a parameter; `arrays` of its neighbours, if they are known."""
        rule = self.rule  # changes of a user may read the description
        described = isinstance(rule, EventMap) and any(x.change for x in rule.events)

        def values(share: float) -> Sequence[np.ndarray]:
            if share == 1.0 and arrays is not None:
                return arrays
            near = stencil.nearer(share)
            models = near.models if described else near.others
            try:
                others = [self.rule(x, self.at, self.h, self.here) for x in models]
            except ValueError as error:
                raise ValueError(
                    f"sensitivities: the start does not follow another value of {stencil.name!r}, "
                    f"{4 * stencil.step:.3g} from its own; give project=True, and the move to the "
                    f"nearest consistent start is differentiated too: {error}"
                ) from None
            return _arrays(models, others)

        k = stencil.fractions if described else stencil.line
        return self._tangent(stencil.differentiated(values, k, self._sizes_of_arrays()))

    def by_size(self) -> np.ndarray:
        """Return the derivative by the size of the steps, (8, n_u) [1/s]."""
        return self._along(np.zeros((INSTANT_SIZE, int(self.model.I[m.N_U]))), h=1.0)

    def apply(self, z: np.ndarray, t: float) -> np.ndarray:
        """Return the tangent (8, n_u) with that of the state before (5, n_u) and of its time."""
        if self.at is None:
            return np.zeros((INSTANT_SIZE + COLUMN_SIZE, z.shape[1]))
        return self._along(z[:INSTANT_SIZE], t)

    def _along(self, z: np.ndarray, t: float = 0.0, h: float = 0.0) -> np.ndarray:
        """Return the derivative along a direction of state, time and size of the steps."""
        assert self.at is not None
        at = self.at
        q, v, a, lam = (z[row, of] for row, of in self._blocks.values())
        pairs = (*zip((q, v, a, lam), self._sizes.values(), strict=True), (t, self.h or 1.0),
                 (h, self.h or 1.0))  # fmt: skip
        far = max(float(np.abs(x / size).max(initial=0.0)) for x, size in pairs)
        if far == 0.0:
            return np.zeros((INSTANT_SIZE + COLUMN_SIZE, z.shape[1]))
        step = BEGIN_REACH / far

        def neighbour(e: float) -> Restarted:
            there = displaced(self.model, at, e * q)
            there = there.replace(t=at.t + e * t, v=at.v + e * v, a=at.a + e * a,
                                  lam=at.lam + e * lam)  # fmt: skip
            return self.rule(self.model, there, self.h + e * h, self.here)

        def values(share: float) -> Sequence[np.ndarray]:
            others = [neighbour(k * share * step) for k in CENTRAL.k]
            return _arrays([self.model] * len(others), others)

        return self._tangent(differentiated(values, step, sizes=self._sizes_of_arrays()))

    @cached_property
    def _sizes(self) -> dict[str, Any]:
        """Finite changes of q (n_v,), v, a and the multipliers."""
        at = self.here.first if self.at is None else self.at
        v, a, lam = (float(np.abs(x).max(initial=0.0)) or 1.0 for x in (at.v, at.a, at.lam))
        return {"q": self.model.units, "v": v, "a": a, "lam": lam}

    def _sizes_of_arrays(self) -> list[float]:
        """Return the sizes of the numbers that `_arrays` are computed from."""
        v, a, lam = (self._sizes[name] for name in ("v", "a", "lam"))
        return [float(self.model.F[m.LENGTH]), a, *(v, a, lam, a) * 2]

    def _tangent(self, slopes: Sequence[np.ndarray]) -> np.ndarray:
        """Return the tangent (8, n_u), of the derivatives of `_arrays`."""
        faces, before, *rest = slopes
        model, (v, lam) = self.model, (self._blocks["v"][1], self._blocks["lam"][1])
        q = np.zeros(model.n_v)
        at = 0
        for name, Y_inverse in self._to_positions.items():
            first, n = 12 * model.faces[name], len(Y_inverse)
            q[at : at + n] = Y_inverse @ faces[first : first + Y_inverse.shape[1]]
            at += n
        out = np.zeros((INSTANT_SIZE + COLUMN_SIZE, int(model.I[m.N_U])))
        for top, of in ((0, rest[:4]), (INSTANT_SIZE, rest[4:])):
            out[top + DQ, v], out[top + DV, v], out[top + DA, v] = q, of[0], of[1]
            out[top + DA, lam] = of[2]
        out[INSTANT_SIZE + DL, v], out[INSTANT_SIZE + DB, v] = rest[-1], before
        return out

    @cached_property
    def _to_positions(self) -> dict[str, np.ndarray]:
        """Of each node the least tangent of positions with tangents of its faces."""
        maps = face_maps(self.model, self.here.first)
        return dict(zip((x.name for x in maps), inverses(maps), strict=True))

    # --- backwards ---
    def apply_transposed(self, w: np.ndarray, timed: bool) -> tuple[np.ndarray, float]:
        """Return the adjoints of the state before (5, n_u), and if `timed` of its time."""
        z = np.zeros((COLUMN_SIZE, w.shape[1]))
        if self.at is None:
            return z, 0.0
        unit = np.zeros((INSTANT_SIZE, w.shape[1]))
        for name, (row, of) in self._blocks.items():
            for i in of if name in ("q", "v") or self._reads(name) else ():
                unit[row, i] = 1.0
                z[row, i] = np.vdot(w, self._along(unit))
                unit[row, i] = 0.0
        return z, float(np.vdot(w, self._along(unit, t=1.0))) if timed else 0.0

    def _reads(self, name: str) -> bool:
        """Tell whether the restart depends on v' or multipliers: events may read them."""
        assert self.at is not None
        x = getattr(self.at, name)
        wave = (1.5 + np.sin(1.0 + np.arange(len(x)))) * BEGIN_REACH * self._sizes[name]
        there, here = (
            self.rule(self.model, self.at.replace(**{name: y}), self.h, self.here).state
            for y in (x + wave, x.copy())
        )
        return not (np.array_equal(there.v, here.v) and np.array_equal(there.q, here.q))


def _arrays(models: Sequence[FrozenModel], of: Sequence[Restarted]) -> list[np.ndarray]:
    """Return faces, v' before, and v, v', multipliers and a of instants and states, (n, .) each."""
    rows = [
        (faces_of(x, r.first), r.before, *_numbers(r.first), *_numbers(r.state))
        for x, r in zip(models, of, strict=True)
    ]
    return [np.array(x) for x in zip(*rows, strict=True)]


def _numbers(s: State) -> tuple[np.ndarray, ...]:
    """Return v, v', multipliers and algorithmic v' of a state."""
    return s.v, s.a, s.lam, s.a if s.alg is None else s.alg


def faces_of(model: FrozenModel, state: State) -> np.ndarray:
    """Return the numbers of all faces at a state, (12 n_faces,)."""
    work = Workspace(model, state)
    work.evaluate()
    return work.vector(m.Y, 12 * (model.n_faces + 1))[12:].copy()
