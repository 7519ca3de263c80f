"""The frozen model, its state, and the work space a solver computes in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.tolerances import SOFT_LOOPS, SOFT_TREE
from mbd.interactions.laws import check, noted
from mbd.machine import buffer as m
from mbd.machine.jit import compile_all
from mbd.model.evaluation import (
    evaluate_kernel,
    linearise_kernel,
    measure_kernel,
    rates_kernel,
)
from mbd.model.extent import lengths, origin
from mbd.model.released_rows import checked, tables
from mbd.model.state import State
from mbd.model.topology import Front
from mbd.model.turns_so_far import checked_memory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.model.assembly import Assembly, Pattern
    from mbd.model.report import Report
    from mbd.model.system import System

__all__ = ["Model", "Numbering", "State", "Workspace"]


@dataclass(frozen=True)
class Numbering:
    """Between the user's order (bodies as added, then rows as added) and the solver's unknowns.

    ``v`` and ``lam`` give the unknown of each velocity and multiplier; ``owners`` the slice of
    ``lam`` of each body and joint; ``elements`` the row elements of a joint with their place in
    ``lam``; ``q`` the slice of stored coordinates of each body; ``lam_units`` the unit of each row.
    """

    v: np.ndarray
    lam: np.ndarray
    v_labels: tuple[str, ...]
    lam_labels: tuple[str, ...]
    v_kinds: np.ndarray
    lam_kinds: np.ndarray
    owners: dict[str, slice]
    elements: dict[str, list[tuple[Any, int]]]
    q: tuple[slice, ...]
    lam_units: tuple[str, ...]

    def body_of_v(self, i: int) -> str:
        """Return the body that owns velocity i."""
        return self.v_labels[i].rsplit(".", 1)[0]


@dataclass(eq=False)
class Model:
    """A frozen system: tables, labels, sparsity pattern, elimination order.

    ``system.build()`` makes it. Units are those of the description, SI: coordinates [m, -],
    velocities [m/s, rad/s, 1/s], multipliers [N, N m].

    Attributes
    ----------
    system : System
        The description.
    I, F : (n,) arrays of int and of float
        All tables and all numbers, as the kernels see them (``mbd/machine/buffer.py``).
    numbering : Numbering
        Where each body and each row is among the unknowns, and their labels.
    fronts : list of Front
        The order of elimination.
    kernels : dict
        Compiled functions of each stage with their tables.
    redundant : bool
        Whether some rows depend on others.
    labels : tuple of str
        Names of all unknowns, velocities first, then multipliers.
    n_q, n_v, n_lam : int
        Numbers of stored coordinates, velocities, rows.
    remembered : tuple of str
        Names of the numbers in ``state.memory``: ``"hinge.angle"`` of a joint, ``"spring.0"`` of
        the first element of a part.
    """

    system: System
    I: np.ndarray
    F: np.ndarray
    numbering: Numbering
    fronts: list[Front]
    kernels: dict[int, list[tuple[Any, int]]] = field(repr=False)
    remembered: tuple[str, ...] = ()
    redundant: bool = False

    def __reduce__(self) -> Any:
        """Return the description: addresses of kernels and laws are those of one process."""
        return build_again, (self.system,)

    @cached_property
    def origin(self) -> np.ndarray:
        """Point from which positions are stored, (3,) [m]; zero unless the system is far off."""
        return origin(self.system)

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

    @cached_property
    def bodies(self) -> dict[str, int]:
        """Index of each body."""
        return {name: i for i, name in enumerate(self.system.bodies)}

    @cached_property
    def pattern(self) -> Pattern:
        """Where the entries of the matrix are."""
        from mbd.model.assembly import pattern

        return pattern(self)

    @cached_property
    def laws(self) -> list[Any]:
        """Laws of all elements, which may have raised."""
        tables = (self.system.joints, self.system.forces)
        elements = [e for table in tables for part in table.values() for e in part.elements()]
        return [e.law for e in elements if e.law is not None]

    @property
    def state(self) -> State:
        """The initial state as described; accelerations and multipliers zero."""
        q = self.F[self.I[m.Q] : self.I[m.Q] + self.n_q].copy()
        v = self.F[self.I[m.V] + self.numbering.v]
        zero = np.zeros(self.n_v)
        return State(0.0, q, v, zero, np.zeros(self.n_lam))

    @cached_property
    def memory(self) -> np.ndarray:
        """Where the numbers of ``state.memory`` are."""
        where: list[int] = []
        for _, at in self.kernels[m.ACCEPT]:
            n, first, size, field_of_memory, length = (int(x) for x in self.I[at : at + 5])
            for e in range(n):
                start = int(self.I[first + e * size + field_of_memory])
                where += range(start, start + length)
        return np.array(where, np.int64)

    @property
    def units(self) -> np.ndarray:
        """Size of a finite change of the pose, by velocity: the length of the model [m], or one."""
        return self.F[m.UNIT + self.numbering.v_kinds]

    def prepare(self) -> None:
        """Measure sizes once: diagonal of M, softness of the rows, round-off of the unknowns."""
        loops = self._loops()
        length, arm = lengths(self.system)
        self.I[m.LOOPS], self.F[m.LENGTH], self.F[m.FAR] = loops, length, 1.0
        self.F[m.UNIT : m.UNIT + m.N_KINDS] = 1.0
        self.F[[m.UNIT + m.TRANSLATION, m.UNIT + m.FORCE]] = length
        work = Workspace(self)
        work.evaluate()
        work.linearise(1.0, 0.0, 0.0)
        measure_kernel(work.I, work.F)
        u = int(self.I[m.N_U])
        for vector in (m.DIAG, m.EPS):
            at = self.I[vector]
            self.F[at : at + u] = work.F[at : at + u]
        eps = self.F[self.I[m.EPS] : self.I[m.EPS] + u]
        eps *= SOFT_LOOPS if loops else SOFT_TREE
        rows = self.F[self.I[m.DIAG] + self.numbering.lam]  # one without a gradient here: its unit
        sizes = np.where(rows > 0.0, rows, self.F[m.UNIT + self.numbering.lam_kinds])
        self.F[self.I[m.DIAG] + self.numbering.lam] = sizes
        mass = max(b.mass for b in self.system.bodies.values())
        tiny = np.finfo(float).eps
        # the round-off of a position turns a body of size `arm` by length/arm
        turn = length / arm
        force = mass * length * np.sqrt(len(self.system.bodies))  # it adds up along a chain
        floors = (length, turn, turn, force, force * arm, force * arm, force * arm)
        for kind, size in enumerate(floors):
            self.F[m.FLOOR + kind] = tiny * size
        if loops:  # a pose may be singular: what lam does is then seen in v', lam itself is loose
            self.F[m.FLOOR + m.FORCE : m.FLOOR + m.VELOCITY_ROW + 1] = np.inf
        self.redundant = self.n_lam > 0 and loops and self.report().n_redundant > 0

    def _loops(self) -> bool:
        """Tell whether rows close loops (only then rows can be redundant)."""
        parent: dict[Any, Any] = {}

        def root(x: Any) -> Any:
            while parent.setdefault(x, x) != x:
                parent[x] = x = parent[parent[x]]
            return x

        for bodies in self.row_bodies().values():
            for a, b in pairwise(bodies):
                one, two = root(a), root(b)
                if one == two:
                    return True
                parent[one] = two
        return False

    def row_bodies(self) -> dict[str, list[str]]:
        """Return the bodies of every joint and of all other parts with rows, ground included."""
        return {
            name: list({a.body: None for element, _ in found for a in element.attachments})
            for name, found in self.numbering.elements.items()
        }

    def report(self, state: State | None = None) -> Report:
        """Return bodies, joints, freedoms (counted and actual), loops, redundant rows by name."""
        from mbd.model.arguments import state_of
        from mbd.model.report import report

        return report(self, state_of("Model.report", self, state))

    def plot_topology(self, ax: Any = None) -> Figure:
        """Draw bodies, joints and forces between them as a graph; redundant rows are marked.

        Needs the extra "plot"; ``ax`` are matplotlib Axes to draw in.
        """
        from mbd.figures.topology import plot_topology

        return plot_topology(self, ax)

    def assemble(self, state: State | None = None) -> Assembly:
        """Return the labelled global matrices M, G, K, B and the residual at a state."""
        from mbd.model.arguments import state_of
        from mbd.model.assembly import assemble

        return assemble(self, state_of("Model.assemble", self, state))

    def __repr__(self) -> str:
        return (
            f"Model({len(self.system.bodies)} bodies, {len(self.system.joints)} joints, "
            f"{self.n_v} velocities, {self.n_lam} rows)"
        )


def build_again(system: System) -> Model:
    """Return the model of a description that was carried into this process."""
    return system.build()


class Workspace:
    """A private copy of the model's buffers, in which kernels run."""

    def __init__(self, model: Model, state: State | None = None, extra: int = 0) -> None:
        self.model = model
        self.off: tuple[str, ...] = ()
        self.I = model.I.copy()
        self.F = np.empty(len(model.F) + extra)
        self.F[: len(model.F)] = model.F
        self.fill(*(stage for stage in model.kernels if stage != m.ENERGY))  # results fill that
        self.laws = model.laws
        for law in self.laws:  # what nobody asked for of the last one who had this memory
            if law.raised:
                law.forget(self.F)
        if state is not None:
            self.load(state)

    def fill(self, *stages: int) -> None:
        """Write the addresses of the kernels of some stages."""
        kernels = self.model.kernels
        compile_all(k for stage in stages for k, _ in kernels[stage])
        for stage in stages:
            for s, (kernel, _) in enumerate(kernels[stage]):
                self.I[self.I[stage] + 2 * s] = kernel.address

    def vector(self, name: int, size: int | None = None) -> np.ndarray:
        """Return a view of a vector over the unknowns (or the first `size` numbers there)."""
        at = self.I[name]
        return self.F[at : at + (self.I[m.N_U] if size is None else size)]

    def load(self, state: State) -> None:
        """Take over a state."""
        v, lam = self.model.numbering.v, self.model.numbering.lam
        expected = {"q": self.model.n_q, "v": len(v), "a": len(v), "lam": len(lam)}
        for name, size in expected.items():
            got = np.shape(getattr(state, name))
            if got != (size,):
                raise ValueError(
                    f"state.{name} must have shape ({size},) for this model, got {got}; was it "
                    "made by another model?"
                )
            if not np.isfinite(getattr(state, name)).all():
                raise ValueError(
                    f"state.{name} must be finite, got nan or inf at t = {state.t:g} s"
                )
        self.F[m.T] = state.t
        self.vector(m.Q, len(state.q))[:] = state.q
        self.vector(m.QN, len(state.q))[:] = state.q
        self.vector(m.D)[:] = 0.0
        self.vector(m.V)[v] = state.v
        self.vector(m.A)[v] = state.a
        self.vector(m.A)[lam] = state.lam
        self.vector(m.AL)[v] = state.a if state.alg is None else state.alg
        self.I[m.HISTORY] = 0
        self.I[m.HAVE_FACTOR] = 0
        self.remember(state.memory)
        if state.off != self.off:
            self.switch(state.off)

    def switch(self, off: tuple[str, ...]) -> None:
        """Switch off the rows of these parts, and on all others."""
        n = len(self.model.I)
        self.off = checked(self.model, off, "state.off")
        table, cleared = tables(self.model, self.off) if self.off else (np.empty(0, np.int64),) * 2
        self.I = np.concatenate([self.I[:n], table, cleared])
        self.I[m.OFF], self.I[m.N_OFF] = n, len(table) // 2
        self.I[m.CLEARED], self.I[m.N_CLEARED] = n + len(table), len(cleared)
        self.I[m.HAVE_FACTOR] = 0
        self.vector(m.A)[table[::2]] = 0.0

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a copy of everything but what was recorded."""
        return self.I.copy(), self.F[: len(self.model.F)].copy()

    def restore(self, snapshot: tuple[np.ndarray, np.ndarray]) -> None:
        """Go back to a snapshot."""
        self.I[:], self.F[: len(self.model.F)] = snapshot

    def store(self) -> State:
        """Return the state."""
        v, lam = self.model.numbering.v, self.model.numbering.lam
        return State(
            float(self.F[m.T]),
            self.vector(m.Q, self.model.n_q).copy(),
            self.vector(m.V)[v],
            self.vector(m.A)[v],
            self.vector(m.A)[lam],
            self.vector(m.AL)[v],
            self.F[self.model.memory],
            self.off,
        )

    def evaluate(self, row_rate: float = 0.0) -> None:
        """Write faces and the residual (unscaled); rows on velocities times row_rate."""
        self.F[m.SCALE_R] = 1.0
        self.F[m.ROW_RATE] = row_rate  # rows on velocities have no gap of position
        evaluate_kernel(self.I, self.F)
        self.check_laws()

    def accept(self) -> None:
        """Let the elements with a memory take over the present pose (after `evaluate`)."""
        for kernel, at in self.model.kernels[m.ACCEPT]:
            kernel(self.I, self.F, at)

    def remember(self, memory: np.ndarray | None) -> None:
        """Take over the numbers of elements with a memory, if there are any."""
        if memory is not None:
            self.F[self.model.memory] = checked_memory(self.model, memory)

    def linearise(self, w_m: float, w_g: float, w_k: float, turn: float = 0.0) -> None:
        """Fill the fronts with the given weights."""
        self.F[m.W_M], self.F[m.W_G], self.F[m.W_K] = w_m, w_g, w_k
        self.F[m.ROW_TURN] = turn
        linearise_kernel(self.I, self.F)

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return first and second time derivative of all rows for the accelerations at hand."""
        rates_kernel(self.I, self.F)
        for name in (m.AL, m.X):
            self.vector(name)[self.I[self.I[m.OFF] :][: 2 * self.I[m.N_OFF] : 2]] = 0.0
        lam = self.model.numbering.lam
        return self.vector(m.AL)[lam], self.vector(m.X)[lam]

    def check_laws(self) -> None:
        """Raise what a user's law has raised."""
        check(self.laws, self.I, self.F)

    def bad_law(self) -> str:
        """Return which law was the first whose answer is not finite, or an empty string."""
        law = noted(self.laws, self.I)
        return "" if law is None else law.not_finite(self.F)
