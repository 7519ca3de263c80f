"""The trajectory of a run: numbers of the model over time, and how the run ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.bodies import AT_ONCE, BodyHistory, FlexibleHistory, Shown
from mbd.history.faces import Faces, columns_of, faces_over_time, places_of
from mbd.machine import buffer as m
from mbd.model.least_multipliers import resolved
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import Before

_RAW = ("q", "v", "a", "lam")
_BODIES_FROM_DISK = 2  # kept in memory where the numbers are in a file


class Trajectory:
    """Numbers of the model over time; the parameters are those of ``Solution``."""

    def __init__(
        self,
        model: Model,
        t: np.ndarray,
        q: Any,
        v: Any,
        a: Any,
        lam: Any,
        *,
        status: int = 0,
        message: str = "",
        stats: Mapping[str, float] | None = None,
        last: State | None = None,
        method: Any = None,
        before: Before | None = None,
        stored: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        events: Iterable[Any] = (),
        impulsive: np.ndarray | None = None,
    ) -> None:
        self.model = model
        self.t, self.q, self.v, self.a, self._lam = map(_view, (t, q, v, a, lam))
        self._is_open = bool(model.I[m.LOOPS]) and isinstance(lam, np.ndarray)
        self._least: Any = None
        self.status, self.message, self.stats = status, message, dict(stats or {})
        self.state = State(*(x[-1] for x in (t, q, v, a, lam))) if last is None else last
        self.method, self.options = method, dict(options or {})
        self.events: list[Any] = list(events)
        # work of impulses since the first instant of the run, (n,) [J]
        self.impulsive = _view(np.zeros(len(t)) if impulsive is None else impulsive)
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

    def faces(self, names: Iterable[str] | None = None, *, second: bool = True) -> Faces:
        """Return the faces of some bodies (default: all), and of ground, at all instants."""
        return faces_over_time(self.model, self.q, self.v, self.a, names, second=second)

    def of_faces(
        self, names: Iterable[str], take: Callable[[Faces, slice], np.ndarray], *,
        second: bool = True,
    ) -> np.ndarray:  # fmt: skip
        """Return `take` of faces over time (n, ...), in pieces where there are many instants."""
        n, names = len(self.t), tuple(names)
        if n <= AT_ONCE:
            return take(self.faces(names, second=second), slice(0, n))
        whole: np.ndarray | None = None
        for first in range(0, n, AT_ONCE):
            here = slice(first, first + AT_ONCE)
            q, v, a = (x[here] for x in (self.q, self.v, self.a))
            values = take(faces_over_time(self.model, q, v, a, names, second=second), here)
            whole = np.empty((n, *values.shape[1:])) if whole is None else whole
            whole[here] = values
        assert whole is not None
        return whole

    def body(self, name: str) -> BodyHistory:
        """Return the history of a body, or of another face of it: "rod/1"."""
        if name not in self._bodies:
            if not isinstance(self.q, np.ndarray) and len(self._bodies) >= _BODIES_FROM_DISK:
                del self._bodies[next(iter(self._bodies))]
            owner = name.partition("/")[0]
            q, v = columns_of(self.model)[owner]
            rows = self.model.numbering.owners.get(name, slice(0, 0))
            lam = self.lam if rows.stop > rows.start else self._lam
            i = places_of(self.model, [name])[name]
            body = self.model.nodes[owner]
            flexible = body.nodal is not None and name == owner
            self._bodies[name] = (FlexibleHistory if flexible else BodyHistory)(
                body,
                (self.q[:, q], self.v[:, v], self.a[:, v]),
                self._shown(name, i),
                self.model.origin,
                self.before.get(name),
                np.asarray(lam[:, rows]),
                name,
            )
        return self._bodies[name]

    def _shown(self, name: str, i: int) -> Callable[[slice], Shown]:
        """Return a function of instants: the face of that number, of a body."""
        model, numbers = self.model, (self.q, self.v, self.a)

        def shown(here: slice) -> Shown:
            q, v, a = numbers if here == slice(None) else (x[here] for x in numbers)  # or on disk
            faces = faces_over_time(model, q, v, a, [name])
            return faces.y[:, i], faces.yd[:, i], faces.ydd[:, i]

        return shown

    def vector_of(self, body: str, weights: tuple[float, ...]) -> np.ndarray:
        """Return sum w_k y_k of a body or face (or "ground") over time, (n, 3)."""
        w = np.asarray(weights)
        if body == "ground":
            return np.broadcast_to(w[1:], (len(self.t), 3)).copy()
        return np.einsum("k,nkc->nc", w, self.body(body).y) + w[0] * self.model.origin

    def part(self, instants: slice | np.ndarray, before: Before | None = None) -> Self:
        """Return some instants, in memory; `before` is the memory of those before them."""
        arrays = (_taken(x, instants) for x in (self.q, self.v, self.a, self._lam))
        return type(self)(
            self.model, self.t[instants], *arrays, status=self.status, message=self.message,
            stats=self.stats, last=self.state, method=self.method, before=before,
            impulsive=self.impulsive[instants],
        )  # fmt: skip


def _view(x: Any) -> Any:
    """Return a read-only view of an array; arrays on disk as they are."""
    return read_only(x.view()) if isinstance(x, np.ndarray) else x


def _taken(x: Any, instants: slice | np.ndarray) -> np.ndarray:
    """Return some instants of an array, of an array on disk without reading all of it."""
    if isinstance(instants, slice) or isinstance(x, np.ndarray):
        return np.asarray(x[instants])
    return np.array([x[int(i)] for i in instants])
