"""The numbers of one run of a model, or of many at once, in which kernels work."""

from collections.abc import Iterable
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from mbd.base.read_only import read_only
from mbd.interactions.laws import check, noted
from mbd.machine import buffer as m
from mbd.machine.batch import Batch
from mbd.machine.shared_work import compile_all
from mbd.model.evaluation import evaluate_kernel, linearise_kernel, rates_kernel
from mbd.model.frozen import FrozenModel, checked_set_valued, some_per_model, switchable
from mbd.model.state import State
from mbd.model.turns_so_far import checked_memory

_OF_RESULTS = (m.ENERGY, m.MOMENTA)  # they fill these
_STAGES = tuple(stage for stage in m.STAGES if stage not in _OF_RESULTS)


class Workspace:
    """The floats F of one run, with its integers S among them, and the tables I of the model.

    ``own`` numbers of a method follow those of the model, at F[I[METHOD]], and belong to snapshots;
    after them is room for ``extra`` ones, which do not. ``reused`` is an array of no use any more,
    which is taken if it is large enough. ``stages`` are those that will run.

    With ``runs``, constants (n, .), it is that of n runs of models with the same tables: F is
    (n, size), vectors (n, n_u), and kernels work on those that are ``good``, (n,). What is written
    with an ellipsis, ``F[..., v]``, holds for one run and for many.
    """

    def __init__(
        self, model: FrozenModel, state: State | None = None, extra: int = 0, own: int = 0,
        runs: np.ndarray | None = None, reused: np.ndarray | None = None,
        stages: tuple[int, ...] = _STAGES,
    ) -> None:  # fmt: skip
        self.model = model
        self.off: tuple[str, ...] = ()
        self.I = model.I
        self._header = header = model.I[: m.I_HEADER].tolist()  # looked up faster than in an array
        self._views: dict[tuple[int, int | None], np.ndarray] = {}
        self.size = model.size + own
        self.batch = None if runs is None else Batch(len(runs), self.size + extra)
        if self.batch is not None:
            self.F = self.batch.F
        elif reused is None or len(reused) < self.size + extra:
            self.F = np.empty(self.size + extra)
        else:
            self.F = reused[: self.size + extra]
        self.good: Any = True if runs is None else np.ones(len(runs), bool)
        self.F[..., : len(model.F)] = model.F if runs is None else runs
        matrix = header[m.MATRIX]  # it is cleared each time it is filled
        self.F[..., len(model.F) : matrix] = 0.0
        self.F[..., matrix + header[m.MATRIX_SIZE] : self.size] = 0.0
        self.S = m.integers(self.F)
        self.vector(m.Y, 12)[:] = self.vector(m.GROUND, 12)
        self.vector(m.QN, model.n_q)[:] = self.vector(m.Q, model.n_q)
        self.fill(*stages)
        self.laws = model.laws
        for law in self.laws:  # what nobody asked for of the last one who had this array
            if law.raised:
                law.forget(self.F)
        if state is not None:
            self.load(state)

    def fill(self, *stages: int) -> None:
        """Write the addresses of the kernels of some stages."""
        places, addresses = _addresses(self.model, stages)
        self.S[..., places] = addresses

    def vector(self, name: int, size: int | None = None) -> np.ndarray:
        """Return a view of a vector over the unknowns (or the first `size` numbers there)."""
        view = self._views.get((name, size))
        if view is None:
            at = self._header[name]
            view = self.F[..., at : at + (self._header[m.N_U] if size is None else size)]
            self._views[name, size] = view
        return view

    def faces(self, name: int) -> np.ndarray:
        """Return a view (n, 4, 3) of a vector over all faces of a run, that of ground first."""
        return self.vector(name, 12 * (self.model.n_faces + 1)).reshape(-1, 4, 3)

    def run(self, kernel: Any, k: int = 0) -> None:
        """Call a kernel; of many runs on the good ones."""
        if self.batch is None:
            kernel(self.I, self.F, k)
        else:
            self.batch.run(self.I, kernel, k, self.good)

    def run_each(self, calls: Iterable[tuple[Any, int]]) -> None:
        """Call kernels one after the other, each with its record."""
        for kernel, k in calls:
            self.run(kernel, k)

    def leaves(self, where: Any) -> bool:
        """Tell whether the run goes another way from here; of many those that do are good no more.

        Then they are taken one by one: the other way is written for one run.
        """
        if self.batch is None:
            return bool(where)
        self.good &= ~where
        return False

    def load(self, state: State) -> None:
        """Take over a state."""
        v, lam = self.model.numbering.v, self.model.numbering.lam
        expected = {"q": self.model.n_q, "v": len(v), "a": len(v), "lam": len(lam)}
        for name, size in expected.items():
            x = getattr(state, name)
            if np.shape(x) != (*self.F.shape[:-1], size):
                raise ValueError(
                    f"state.{name} must have shape ({size},) for this model, got {np.shape(x)}; "
                    "was it made by another model?"
                )
            if self.batch is None and not (isfinite(np.dot(x, x)) or np.isfinite(x).all()):
                raise ValueError(
                    f"state.{name} must be finite, got nan or inf at t = {state.t:g} s"
                )
        self.F[..., m.T] = self.F[..., m.T_LAST] = self.F[..., m.T_STEP] = state.t
        self.vector(m.Q, self.model.n_q)[...] = state.q
        self.vector(m.QN, self.model.n_q)[...] = state.q
        self.vector(m.D)[...] = 0.0
        self.vector(m.V)[..., v] = state.v
        self.vector(m.A)[..., v] = state.a
        self.vector(m.A)[..., lam] = state.lam
        self.vector(m.AL)[..., v] = state.a if state.alg is None else state.alg
        self.S[..., m.HISTORY] = 0
        self.S[..., m.HAVE_FACTOR] = 0
        self.remember(state.memory)
        if state.set_valued is not None:
            self.F[self.model.places_set_valued] = checked_set_valued(self.model, state)
        if state.off != self.off:
            self.switch(state.off)

    def switch(self, off: tuple[str, ...]) -> None:
        """Switch off the rows of these parts, and on all others."""
        self.off = switchable(self.model, off, "state.off")
        rows = self.model.numbering.lam[self.model.rows_of(self.off)]
        self.vector(m.OFF)[...] = 0.0
        self.vector(m.OFF)[..., rows] = m.RELEASED
        self.S[..., m.N_OFF], self.S[..., m.N_DROPPED] = len(rows), 0
        self.S[..., m.HAVE_FACTOR] = 0
        self.vector(m.A)[..., rows] = 0.0

    def drop(self, rows: np.ndarray) -> None:
        """Let these rows, which depend on others, act no more, and all others that are on do so."""
        off = self.vector(m.OFF)
        off[off == m.DROPPED] = 0.0
        off[..., self.model.numbering.lam[rows]] = m.DROPPED
        self.S[..., m.N_OFF] = np.count_nonzero(off, axis=-1)
        self.S[..., m.N_DROPPED], self.S[..., m.HAVE_FACTOR] = len(rows), 0

    @property
    def dropped(self) -> np.ndarray:
        """Rows that do not act since they depend on others, (n,) of int; of runs of the first."""
        off = self.vector(m.OFF)[..., self.model.numbering.lam]
        return np.flatnonzero((off if self.batch is None else off[0]) == m.DROPPED)

    def snapshot(self) -> np.ndarray:
        """Return a copy of everything but what was recorded."""
        return self.F[: self.size].copy()

    def restore(self, snapshot: np.ndarray) -> None:
        """Go back to a snapshot; addresses of kernels, which may be more by now, stay."""
        self.F[: m.F_HEADER] = snapshot[: m.F_HEADER]
        first = self.model.first
        self.F[first : self.size] = snapshot[first:]

    def store(self) -> State:
        """Return the state."""
        v, lam = self.model.numbering.v, self.model.numbering.lam
        numbers = (
            self.vector(m.Q, self.model.n_q).copy(),
            self.vector(m.V)[..., v],
            self.vector(m.A)[..., v],
            self.vector(m.A)[..., lam],
            self.vector(m.AL)[..., v],
            self.F[self.model.memory] if self.batch is None else None,
        )
        set_valued = None
        if self.model.set_valued and self.batch is None:
            set_valued = read_only(self.F[self.model.places_set_valued])
        return State(
            float(self.F[..., m.T].flat[0]), *read_only(numbers), self.off, set_valued=set_valued
        )

    def evaluate(
        self, row_rate: float = 0.0, *, declared: bool = False, all_rows: bool = False
    ) -> None:
        """Write faces and the residual (unscaled); rows on velocities times row_rate.

        With `declared` faces have velocities only if a kind declares to need them, as in steps.
        With `all_rows` the rows that are dropped have a residual as all others.
        """
        self.F[..., m.SCALE_R] = 1.0
        self.F[..., m.ROW_RATE] = row_rate  # rows on velocities have no gap of position
        before = self.S[..., m.ALL_ROWS].copy()
        self.S[..., m.ALL_ROWS] = before | all_rows
        self.run(evaluate_kernel, int(declared))
        self.S[..., m.ALL_ROWS] = before
        self.check_laws()

    def accept(self) -> None:
        """Let the elements with a memory take over the present pose (after `evaluate`)."""
        self.run_each(self.model.kernels[m.ACCEPT])

    def remember(self, memory: np.ndarray | None) -> None:
        """Take over the numbers of elements with a memory, if there are any."""
        if memory is not None:
            self.F[self.model.memory] = checked_memory(self.model, memory)

    def linearise(self, w_m: float, w_g: float, w_k: float, turn: float = 0.0) -> None:
        """Fill the fronts with the given weights."""
        for weight, w in zip((m.W_M, m.W_G, m.W_K, m.ROW_TURN), (w_m, w_g, w_k, turn), strict=True):
            self.F[..., weight] = w
        self.run(linearise_kernel)

    @property
    def units(self) -> np.ndarray:
        """Units of changes of positions, (..., n_v), as those of the model."""
        return np.asarray(self.F[..., m.UNIT + self.model.numbering.v_kinds])

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second time derivative of all rows for the accelerations at hand."""
        self.run(rates_kernel)
        for name in (m.PHID, m.PHIDD) if self.off else ():
            self.vector(name)[self.vector(m.OFF) == m.RELEASED] = 0.0
        lam = self.model.numbering.lam
        return self.vector(m.PHID)[..., lam], self.vector(m.PHIDD)[..., lam]

    def check_laws(self) -> None:
        """Raise what a user's law has raised."""
        if self.laws:
            check(self.laws, self.I, self.F)

    def bad_law(self) -> str:
        """Return which law was the first whose answer is not finite, or an empty string."""
        law = noted(self.laws, self.I, self.F)
        return "" if law is None else law.not_finite(self.F)

    def no_numbers(self) -> str:
        """Return on which bodies forces are not finite at the present state, or an empty string."""
        self.evaluate()
        bad = ~np.isfinite(self.vector(m.X)[..., self.model.numbering.v])
        who = [self.model.numbering.body_of_v(i) for i in np.unique(np.nonzero(bad)[-1])]
        if not who:
            return ""
        return (
            f"forces on {', '.join(map(repr, dict.fromkeys(who)))} are no numbers at this pose; a "
            "Bushing, or an element of a beam, must be turned by less than pi"
        )


@some_per_model
def _addresses(model: FrozenModel, stages: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return where the addresses of the kernels of some stages belong, and these."""
    kernels = [[kernel for kernel, _ in model.kernels[stage]] for stage in stages]
    compile_all(chain.from_iterable(kernels))
    first = m.integers(model.F)[list(stages)].tolist()
    places = [at + 2 * s for at, some in zip(first, kernels, strict=True) for s in range(len(some))]
    addresses = [kernel.address for some in kernels for kernel in some]
    return np.array(places, np.int64), np.array(addresses, np.int64)


def displaced(model: FrozenModel, state: State, increment: np.ndarray) -> State:
    """Return the state with the positions q [+] increment (n_v,), all else as it is.

    Only multipliers of compliant rows, which follow from positions, are those there.
    """
    work = Workspace(model, state)
    work.vector(m.D)[model.numbering.v] = increment
    work.evaluate()
    lam = work.vector(m.A)[model.numbering.lam]
    return state.replace(q=work.vector(m.Q, model.n_q).copy(), lam=lam)


def ahead(model: FrozenModel, state: State, s: float, a: np.ndarray) -> Workspace:
    """Return a work space a time s later: q [+] (s v + s^2 a / 2), v + s a, t + s."""
    work = Workspace(model, state)
    v = model.numbering.v
    work.vector(m.D)[v] = s * state.v + 0.5 * s * s * a
    work.vector(m.V)[v] = state.v + s * a
    work.F[m.T] = state.t + s
    return work
