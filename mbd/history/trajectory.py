"""The trajectory of a run: numbers of the model over time, and how the run ended."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.bodies import BodyHistory, FlexibleHistory
from mbd.history.impacts import NO_IMPACTS
from mbd.history.observed import point
from mbd.history.program import ProgramTables
from mbd.history.quantity import Quantity
from mbd.machine import buffer as m
from mbd.model.least_multipliers import resolved
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import Before

_RAW = ("q", "v", "a", "lam")


class Trajectory:
    """Numbers of the model over time; the parameters are those of ``Solution``."""

    def __init__(
        self, model: Model, t: np.ndarray, q: Any, v: Any, a: Any, lam: Any, *, status: int = 0,
        message: str = "", stats: Mapping[str, float] | None = None, last: State | None = None,
        method: Any = None, before: Before | None = None, stored: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None, events: Iterable[Any] = (),
        impulsive: np.ndarray | None = None, impacts: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.t, self.q, self.v, self.a, self._lam = map(_view, (t, q, v, a, lam))
        self._is_open = bool(model.I[m.LOOPS]) and isinstance(lam, np.ndarray)
        self._least: Any = None
        self.status, self.message, self.stats = status, message, dict(stats or {})
        self.state = State(*(x[-1] for x in (t, q, v, a, lam))) if last is None else last
        self.method, self.options = method, dict(options or {})
        self.events: list[Any] = list(events)
        # work of impulses since the first instant of the run, (n, 1), or (n, 3) with its parts [J]
        work = np.zeros(len(t)) if impulsive is None else np.asarray(impulsive)
        self.impulses = read_only(work[:, None] if work.ndim == 1 else work.view())
        # of impacts, one line each, see Impacts
        self.impact_numbers = NO_IMPACTS
        if impacts is not None and impacts.size:
            self.impact_numbers = read_only(impacts.view())
        # what came before the first instant, if anything did
        self.before: Before = read_only(before or {})
        self.stored = stored  # quantities by name that are in a file already
        self._bodies: dict[str, BodyHistory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process; numbers that are in a file stay there."""
        state = vars(self) | {"_bodies": {}}
        if self.stored is not None:
            for name in (*_RAW[:3], "_lam"):
                state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(read_only(state))
        if self.stored is not None:
            self.q, self.v, self.a = (self.stored[x] for x in _RAW[:3])
            self._lam = self.stored.get("lam", np.zeros((len(self.t), 0)))

    @property
    def lam(self) -> Any:
        """Multipliers, (n, n_lam) [N, N m]: of rows that depend on others the least ones."""
        if self._is_open and self._least is None:
            self._least = read_only(resolved(self.model, self.t, self.q, self._lam))
        return self._least if self._is_open else self._lam

    def acting_lam(self, instants: Any) -> Any:
        """Return multipliers at some instants as steps have them: of dropped rows next to zero."""
        if not self._is_open:
            return self._lam[instants]
        return np.nan_to_num(self._lam[instants], nan=np.finfo(float).tiny, posinf=0.0)

    def dropped(self, instants: slice) -> np.ndarray:
        """Return which rows some instants were found without, (n, n_lam): they depend on others."""
        lam = np.asarray(self._lam[instants])
        return np.isnan(lam) if self._is_open else np.zeros(lam.shape, bool)

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def observed(
        self, add: Callable[[ProgramTables], Iterable[int]], lam: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the numbers (n, .) at the places that `add` returns, of all instants.

        Multipliers are those of the run, or others.
        """
        tables = ProgramTables(self.model)
        program = tables.program([*add(tables)])
        if lam is None and program.rows:
            lam = self.lam
        return program.over_time(self.t, self.q, self.v, self.a, lam)

    def of_owners(
        self, quantities: Sequence[Quantity], owners: Sequence[str], lam: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """Return what kernels observe of all that some owners have, (n, k, ...) each.

        Multipliers are those of the run, or others.
        """
        counts: list[int] = []

        def add(tables: ProgramTables) -> Iterator[int]:
            for quantity in quantities:
                places = [i for x in owners for i in quantity.see(tables, x)]  # type: ignore[misc]
                counts.append(len(places))
                yield from places

        each = np.split(self.observed(add, lam), np.cumsum(counts)[:-1], axis=1)
        shapes = [x.axes.shape for x in quantities]
        return [
            x.reshape(len(x), x.shape[1] // math.prod(shape), *shape)
            for x, shape in zip(each, shapes, strict=True)
        ]

    def of_bodies(self, quantity: Quantity, names: Sequence[str]) -> np.ndarray:
        """Return a quantity of some bodies, or other faces of them: "rod/1", (n, bodies, ...)."""
        if not quantity.by_kernels:
            each = [quantity.of_history(self.body(x)) for x in names]
            return np.stack(each, axis=1) if each else np.empty((len(self.t), 0))
        (values,) = self.of_owners([quantity], names)
        if quantity.follow is None:
            return values
        unknown = np.full(values.shape[2:], np.nan)
        before = np.array([self.before.get(x, unknown) for x in names])
        return quantity.follow(values, before.reshape(values.shape[1:]))

    def body(self, name: str) -> BodyHistory:
        """Return the history of a body, or of another face of it: "rod/1"."""
        if name not in self._bodies:
            flexible = name in self.model.nodes and self.model.nodes[name].nodal is not None
            self._bodies[name] = (FlexibleHistory if flexible else BodyHistory)(self, name)
        return self._bodies[name]

    def _impacts_of(self, instants: slice | np.ndarray) -> np.ndarray:
        """Return the numbers of the impacts after the instant before some, up to the last one."""
        lines, chosen = self.impact_numbers, np.arange(len(self.t))[instants]
        if not len(chosen):
            return lines[:0]
        first, last = chosen[0], chosen[-1]
        after = self.t[first - 1] if first else -np.inf
        t = lines[:, m.IMPACT_T]
        return lines[(t > after) & (t <= self.t[last])]

    def vector_of(self, body: str, weights: tuple[float, ...]) -> np.ndarray:
        """Return sum w_k y_k of a body or face (or "ground") over time, (n, 3)."""
        return self.observed(lambda tables: point(tables, body, 0, weights))

    def part(self, instants: slice | np.ndarray, before: Before | None = None) -> Self:
        """Return some instants, in memory; `before` is the memory of those before them."""
        arrays = (_taken(x, instants) for x in (self.q, self.v, self.a, self._lam))
        impacts = self._impacts_of(instants) if self.impact_numbers.size else None
        return type(self)(
            self.model, self.t[instants], *arrays, status=self.status, message=self.message,
            stats=self.stats, last=self.state, method=self.method, before=before,
            impulsive=self.impulses[instants], impacts=impacts,
        )  # fmt: skip


def _view(x: Any) -> Any:
    """Return a read-only view of an array; arrays on disk as they are."""
    return read_only(x.view()) if isinstance(x, np.ndarray) else x


def _taken(x: Any, instants: slice | np.ndarray) -> np.ndarray:
    """Return some instants of an array, of an array on disk without reading all of it."""
    if isinstance(instants, slice) or isinstance(x, np.ndarray):
        return np.asarray(x[instants])
    return np.array([x[int(i)] for i in instants])
