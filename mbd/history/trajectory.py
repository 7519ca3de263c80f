"""The trajectory of a run: numbers of the model over time, and how the run ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from mbd.base.read_only import read_only
from mbd.history.bodies import BodyHistory, FlexibleHistory
from mbd.history.faces import Faces, columns_of, faces_over_time
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.turns_so_far import Before

_RAW = ("q", "v", "a", "lam")
_BODIES_FROM_DISK = 2  # kept in memory where the numbers are in a file


class Trajectory:
    """What a run computed; the parameters are those of ``Solution``."""

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
    ) -> None:
        self.model = model
        self.t, self.q, self.v, self.a, self.lam = map(_view, (t, q, v, a, lam))
        self.status, self.message, self.stats = status, message, dict(stats or {})
        self.state = State(*(x[-1] for x in (t, q, v, a, lam))) if last is None else last
        self.method, self.options = method, dict(options or {})
        self.events: list[Any] = list(events)
        self.before: Before = read_only(
            before or {}
        )  # what came before the first instant, if anything did
        self.stored = stored  # quantities by name that are in a file already
        self._bodies: dict[str, BodyHistory] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs; numbers that are in a file stay there."""
        state = vars(self) | {"_bodies": {}}
        if self.stored is not None:
            for name in _RAW:
                state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(read_only(state))
        if self.stored is not None:
            self.q, self.v, self.a = (self.stored[x] for x in _RAW[:3])
            self.lam = self.stored.get("lam", np.zeros((len(self.t), 0)))

    @property
    def success(self) -> bool:
        """Whether the end was reached."""
        return self.status == 0

    def faces(self, names: Iterable[str] | None = None, *, second: bool = True) -> Faces:
        """Return the faces of some bodies (default: all), and of ground, at all instants."""
        return faces_over_time(self.model, self.q, self.v, self.a, names, second=second)

    def body(self, name: str) -> BodyHistory:
        """Return the history of a body, or of another face of it: "rod/1"."""
        if name not in self._bodies:
            if not isinstance(self.q, np.ndarray) and len(self._bodies) >= _BODIES_FROM_DISK:
                del self._bodies[next(iter(self._bodies))]
            faces, owner = self.faces([name]), name.partition("/")[0]
            q, v = columns_of(self.model)[owner]
            i = faces.column[name]
            body = self.model.nodes[owner]
            flexible = body.nodal is not None and name == owner
            self._bodies[name] = (FlexibleHistory if flexible else BodyHistory)(
                body,
                (self.q[:, q], self.v[:, v], self.a[:, v]),
                (faces.y[:, i], faces.yd[:, i], faces.ydd[:, i]),
                self.model.origin,
                self.before.get(name),
                np.asarray(self.lam[:, self.model.numbering.owners.get(name, slice(0))]),
                name,
            )
        return self._bodies[name]

    def vector_of(self, body: str, weights: tuple[float, ...]) -> np.ndarray:
        """Return sum w_k y_k of a body or face (or "ground") over time, (n, 3)."""
        w = np.asarray(weights)
        if body == "ground":
            return np.broadcast_to(w[1:], (len(self.t), 3)).copy()
        return np.einsum("k,nkc->nc", w, self.body(body).y) + w[0] * self.model.origin

    def part(self, instants: slice | np.ndarray, before: Before | None = None) -> Self:
        """Return some instants, in memory; `before` is what came before them."""
        arrays = (_taken(x, instants) for x in (self.q, self.v, self.a, self.lam))
        return type(self)(
            self.model, self.t[instants], *arrays, status=self.status, message=self.message,
            stats=self.stats, last=self.state, method=self.method, before=before,
        )  # fmt: skip


def _view(x: Any) -> Any:
    """Return a view of an array through which nobody writes; what is on disk is as it is."""
    return read_only(x.view()) if isinstance(x, np.ndarray) else x


def _taken(x: Any, instants: slice | np.ndarray) -> np.ndarray:
    """Return some instants of an array; what is on disk is not read as a whole."""
    if isinstance(instants, slice) or isinstance(x, np.ndarray):
        return np.asarray(x[instants])
    return np.array([x[int(i)] for i in instants])
