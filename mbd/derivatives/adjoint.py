r"""``mbd.gradient``: the gradient of one number of a run, whatever the number of parameters.

The adjoint of the recursion of ``sweeps.py`` goes back over the steps once; matrices are made again
from the recorded instants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.linearize import Linearized
from mbd.analyses.modes import Modes
from mbd.base.checked import shown, whole
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives import one_step, sweeps
from mbd.derivatives.begins import BeginChanges, Tangent, Threshold
from mbd.derivatives.forward import Forward, check_rows, tangents_of
from mbd.derivatives.legs import Ending, Leg, Onward
from mbd.derivatives.named import not_unique
from mbd.derivatives.objective import Objective, by_values, gradients, last_of, values_of
from mbd.derivatives.poses import gradient_of_pose
from mbd.derivatives.runs import (
    DifferentiableRun,
    Prepared,
    in_pieces,
    keeping,
    prepared,
    refuse_with_every,
    run,
)
from mbd.derivatives.stencil import Stencil
from mbd.derivatives.sweep import Sweep
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of


class Gradient(Mapping[str, float]):
    """The gradient of an objective by parameters, ``g["rod.mass"]``.

    Attributes
    ----------
    value : float
        The objective, in its own unit [-].
    array : (n_p,) array
        The gradient, in the order of the names [by the units of the parameters].
    solution : Solution or None
        The run, or the pose; none of modes, responses and critical loads.
    stats : dict
        What the way back cost: factorizations, and evaluations or, at rest, assemblies.
    """

    def __init__(
        self, value: float, names: list[str], array: np.ndarray, solution: Solution | None,
        stats: dict[str, int],
    ) -> None:  # fmt: skip
        self.value, self.array, self.solution, self.stats = value, array, solution, stats
        self._at = {name: i for i, name in enumerate(names)}

    def __getitem__(self, name: Any) -> float:
        return float(self.array[self._at[getattr(name, "name", name)]])

    def __iter__(self) -> Any:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __repr__(self) -> str:
        each = ", ".join(f"{name}: {self[name]:.6g}" for name in self)
        return f"Gradient({self.value:.6g}; {each})"


def gradient(
    objective: Objective,
    system: System | Model | Equilibrium | Modes | Linearized | Buckling,
    parameters: Any = None,
    t_end: float | None = None,
    step: float | None = None,
    *,
    method: Method | None = None,
    state: State | None = None,
    project: bool | None = None,
    progress: bool | None = None,
    rtol: float | None = None,
    events: Any = (),
    every: int = 1,
) -> Gradient:
    """Run a system, and go back over its steps for the gradient of an objective.

    It costs about three runs, whatever the number of parameters, and is that of what was computed.

    Parameters
    ----------
    objective : Objective
    system, parameters, t_end, step, method, state, project, progress, rtol, events : optional
        As those of ``mbd.sensitivities`` [s]. Of an ``Equilibrium``, ``Modes``, ``Linearized`` or
        ``Buckling``, or where the objective has ``of=``, parameters alone: the terminal term is of
        that. It sees ``eigenvalues`` and ``frequency``, ``frequency_response`` or ``factors``.
    every : int
        Keep every so many steps only, and take the others again on the way back, for one more run:
        of N steps the root of N needs the least memory. Not with events or ``rtol``.

    Returns
    -------
    Gradient

    Raises
    ------
    SimulationError, RuntimeError, ValueError, KeyboardInterrupt
        If the run fails, the objective raises, or you press Ctrl-C: ``error.solution`` is what was
        computed.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> height = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    >>> g = mbd.gradient(height, system, ["gravity.z", "ball.velocity.z"], t_end=2.0, step=0.1)
    >>> round(g["gravity.z"], 9), round(g["ball.velocity.z"], 9)
    (2.0, 2.0)
    """
    if not isinstance(objective, Objective):
        raise TypeError(
            "gradient: objective must be an mbd.Objective(terminal=..., running=...), got "
            f"{shown(objective)}"
        )
    if objective.of is not None:
        model = model_of("gradient", system)
        return _of_result(objective, objective.result(model), parameters, [t_end, step])
    if isinstance(system, Equilibrium | Modes | Linearized | Buckling):
        return _of_result(objective, system, parameters, [t_end, step])
    if whole("gradient", "every", every, 1) > 1:
        refuse_with_every(rtol, events)
        begins = prepared("gradient", system, parameters, method, state, project, False)
        return _in_pieces(objective, begins, t_end, step, progress, every)
    of = run("gradient", system, parameters, t_end, step, method, state, project, progress,
             rtol, events)  # fmt: skip
    with keeping(of.solution):
        if of.model.redundant:
            _check_first_step(of)
        J = terms_of(objective, of.solution, of.stencils, of.h)
        back = Backward(of.model, of.method, of.stencils)
        back.over(of.legs, J)
    names = [s.name for s in of.stencils]
    return Gradient(J.value, names, back.total, of.solution, back.stats)


def _check_first_step(of: DifferentiableRun) -> None:
    """Refuse parameters with which redundant rows contradict each other: adjoints do not see it."""
    leg = of.legs[0]
    Forward(replace(of, legs=[replace(leg, steps=leg.steps.part(0, 1), ends=None)]), "gradient")


def _of_result(objective: Objective, result: Any, parameters: Any, times: list[Any]) -> Gradient:
    """Return the gradient of a number of an equilibrium, of modes, responses or critical loads."""
    if times != [None, None]:
        raise ValueError(f"gradient: t_end and step [s] belong to a run, got {shown(times)}")
    if isinstance(result, Equilibrium):
        value, names, slopes, stats = gradient_of_pose("gradient", objective, result, parameters)
        return Gradient(value, names, slopes, result.solution, stats)
    if not isinstance(result, Modes | Linearized | Buckling):
        raise TypeError(
            "Objective: of must return an Equilibrium, Modes, Linearized or Buckling, got "
            f"{shown(result)}"
        )
    if objective.terminal is None or objective.running is not None:
        raise ValueError("gradient: of modes, responses or loads give an objective terminal= alone")
    of = tangents_of("gradient", result, parameters)
    value, weights = by_values(objective.terminal, of.view, of.values)
    slopes = of.gradient(weights)
    return Gradient(value, of.names, slopes, None, of.stats)


def _in_pieces(
    objective: Objective, of: Prepared, t_end: Any, step: Any, progress: Any, every: int
) -> Gradient:
    """Return the gradient by pieces of a run, each of which is taken again on the way back."""
    pieces, solution = in_pieces(of, t_end, step, progress, every)
    back = Backward(of.model, of.method, of.stencils)
    value, h = 0.0, float(step)
    with keeping(solution):
        if of.model.redundant:
            first, legs = pieces[0].again()
            _check_first_step(DifferentiableRun(of.model, of.method, of.stencils, first, legs, h))
        for k in range(len(pieces) - 1, -1, -1):
            piece, legs = pieces[k].again()
            J = terms_of(objective, piece, of.stencils, h, last=k == len(pieces) - 1)
            back.over(legs, J)
            value += J.value
    names = [s.name for s in of.stencils]
    return Gradient(value, names, back.total, solution, back.stats)


@dataclass(frozen=True, eq=False)
class Terms:
    """Derivatives of an objective by all instants of a run, weighted as its terms are.

    Attributes
    ----------
    value : float
    q, v, a, lam : (n, n_v), (n, n_lam) arrays
    t : (n,) array
        By the times of the instants: of what depends on time, and of the rule of integration.
    p : (n_p,) array
    along : bool
        Whether there is a running term; else those of all instants but the last are zero.
    """

    value: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    t: np.ndarray
    p: np.ndarray
    along: bool


def terms_of(
    objective: Objective, solution: Solution, stencils: list[Stencil], h: float, last: bool = True
) -> Terms:
    """Return the derivatives of a number of a run; ``last``: the run ends there."""
    model, t = solution.model, np.asarray(solution.t)
    n, value = len(t), 0.0
    q, v, a = (np.zeros((n, model.n_v)) for _ in range(3))
    terms = {"q": q, "v": v, "a": a, "lam": np.zeros((n, model.n_lam)), "t": np.zeros(n)}
    p = np.zeros(len(stencils))
    weights = 0.5 * (np.diff(t, prepend=t[0]) + np.diff(t, append=t[-1]))
    parts: list[tuple[Any, Any, np.ndarray, bool]] = []
    if objective.running is not None:
        parts.append((objective.running, solution, weights, False))
    if last and objective.terminal is not None:
        parts.append((objective.terminal, last_of(solution), np.ones(1), True))
    for term, history, w, at_end in parts:
        j = values_of(term, history, at_end)
        value += float(w @ j)
        g = gradients(term, history, stencils, at_end, h)
        which = slice(n - len(w), n)
        for name, x in terms.items():
            of = getattr(g, name)
            x[which] += w[:, None] * of if of.ndim == 2 else w * of
        p += g.p @ w
        if not at_end:  # of the trapezoidal rule: half the sum of the neighbours' differences
            terms["t"] += 0.5 * (np.append(j[:1], j[:-1]) - np.append(j[1:], j[-1:]))
            terms["t"][0] -= j[0]
            terms["t"][-1] += j[-1]
    return Terms(value, q, v, a, terms["lam"], terms["t"], p, objective.running is not None)


class Backward:
    """The adjoint of a run, carried back leg by leg.

    Attributes
    ----------
    total : (n_p,) array
        The gradient, as far as it was summed up.
    stats : dict
    """

    def __init__(self, model: Model, method: Method, stencils: list[Stencil]) -> None:
        self.model, self.method, self.stencils = model, method, stencils
        self.v, self.lam, self.n = model.numbering.v, model.numbering.lam, int(model.I[m.N_U])
        self.sweep = Sweep(model, method, stencils, 1, remembers=True)
        self.ahead = Sweep(model, method, [], 1)  # by the size of a step, and what is remembered
        self.z = self.sweep.columns[0]
        self.z[:] = 0.0
        self.t = 0.0  # adjoint of the time of the steps
        self.total = np.zeros(len(stencils))

    @property
    def stats(self) -> dict[str, int]:
        """What the way back cost."""
        S = self.sweep.work.S
        return {"factorizations": int(S[m.N_FACTOR]), "evaluations": int(S[m.N_EVALUATE])}

    def over(self, legs: list[Leg], J: Terms) -> None:
        """Go back over the legs of a run."""
        self.total += J.p
        timed = [leg.ends is not None and leg.ends.event is not None for leg in legs]
        for k in range(len(legs) - 1, -1, -1):
            if not legs[k].aside:
                late = any(timed[:k]) or timed[k]
                self._leg(legs[k], J, late)
        if legs[0].begins is None:  # a piece of a run that goes on
            self.z[: one_step.DL] += self._terms(J, [0])[0]
            self.t += float(J.t[0])

    def _terms(self, J: Terms, which: Any) -> np.ndarray:
        """Return derivatives by (q, v, (v', lam)) of some instants over the unknowns, (k, 3, n)."""
        terms = np.zeros((len(J.t[which]), 3, self.n))
        for i, x in enumerate((J.q, J.v, J.a)):
            terms[:, i, self.v] = x[which]
        terms[:, 2, self.lam] = J.lam[which]
        return terms

    def _leg(self, leg: Leg, J: Terms, timed: bool) -> None:
        """Go back over a leg."""
        n_p, n, N, sweep = len(self.stencils), self.n, len(leg.steps), self.sweep
        if N:
            self.z[: one_step.DL] += self._terms(J, [leg.first + N])[0]
            self.t += float(J.t[leg.first + N])
        if leg.ends is not None:
            self._end(leg, leg.ends)
        memory = self._memory(leg) if len(self.model.memory) else None
        sweep.load(leg.state)
        sweep.shift(0.0, 0.0, timed)
        sweep.F[m.OPEN] = 0.0
        for first, end in reversed(leg.steps.pieces(sweep.room)):
            sweep.rows(leg.steps, first, end, memory)
            size = (end - first) * 3 * n
            out = sweep.out(size + n_p + 1)
            out[:] = 0.0
            if J.along:
                terms = out[:size].reshape(-1, 3, n)
                terms[:] = self._terms(J, slice(leg.first + first, leg.first + end))
                terms[: first == 0] = 0.0  # the first instant is added where the leg begins
            sweep.run(sweeps.backward)
            self.total += out[size : size + n_p]
            self.t += float(out[size + n_p])
            self._check(J)
        self.t += float(J.t[leg.first + 1 : leg.first + N].sum())
        if leg.restart is not None:
            self._begin(leg, leg.restart, J, timed)
        elif isinstance(leg.begins, Onward):
            move = leg.begins.move * self.z[one_step.DL, self.v]
            self.z[one_step.DA, self.v] += move
            self.z[one_step.DB, self.v] -= move

    def _begin(self, leg: Leg, threshold: Threshold, J: Terms, timed: bool) -> None:
        """Go back to what a state was made of."""
        v, lam = self.v, self.lam
        Q, V, W, A, B = (self.z[row, v].copy() for row in range(one_step.COLUMN_SIZE))
        L, at = self.z[one_step.DA, lam].copy(), leg.first
        recorded = threshold.here.recorded

        def by(both: tuple[Tangent, Tangent]) -> float:
            one, two = both
            J_1 = Q @ two.q + V @ two.v + W @ two.a + L @ two.lam + A @ two.alg + B @ two.before
            if recorded:
                J_1 += J.q[at] @ one.q + J.v[at] @ one.v + J.a[at] @ one.a + J.lam[at] @ one.lam
            return float(J_1)

        self.total += [by(both) for both in threshold.by_parameters(self.stencils)]
        if recorded:
            self.t += float(J.t[at])
        self.z[:] = 0.0
        if threshold.at is None:
            return
        rows = {"q": (one_step.DQ, v), "v": (one_step.DV, v), "a": (one_step.DA, v),
                "lam": (one_step.DA, lam)}  # fmt: skip
        for z in threshold.units():
            name = next((x for x in rows if getattr(z, x).any()), "")
            if name:
                row, of = rows[name]
                self.z[row, of[int(np.argmax(getattr(z, name)))]] += by(threshold.along(z))
            elif timed:
                self.t += by(threshold.along(z))

    def _end(self, leg: Leg, ending: Ending) -> None:
        """Let the size of the step follow what ends it."""
        ahead, v, lam = self.ahead, self.v, self.lam
        z = ahead.columns[0]
        z[:] = 0.0
        if leg.restart is not None:
            begun = leg.restart.along(BeginChanges.none(self.model, h=1.0))[1]
            for row, x in enumerate((begun.q, begun.v, begun.a, begun.alg, begun.before)):
                z[row, v] = x
        else:
            assert isinstance(leg.begins, Onward)
            z[one_step.DL, v] = leg.begins.slope
        ahead.load(leg.state)
        ahead.shift(1.0, 1.0, True)
        ahead.rows(leg.steps, 0, 1)
        ahead.run(sweeps.forward, all_rows=True)
        g = ending.gradients(self.model, self.stencils, leg.steps.h[-1])
        a = z[one_step.DA]
        rate = g.along(z[one_step.DQ, v], z[one_step.DV, v], a[v], a[lam]) + float(g.t[0])
        longer = float(np.vdot(self.z[: one_step.DL], z[: one_step.DL])) + self.t
        share = -longer / rate
        self.z[one_step.DQ, v] += share * g.q[0]
        self.z[one_step.DV, v] += share * g.v[0]
        self.z[one_step.DA, v] += share * g.a[0]
        self.z[one_step.DA, lam] += share * g.lam[0]
        self.total += share * g.p[:, 0]
        self.t += share * float(g.t[0])

    def _check(self, J: Terms) -> None:
        """Refuse an objective that reads how rows share a load, and parameters that open rows."""
        if self.sweep.F[m.OPEN] > SENSITIVITY_MET:
            numbering, read = self.model.numbering, np.abs(J.lam).max(axis=0, initial=0.0) > 0.0
            for name in not_unique(self.model):
                if read[numbering.owners[name]].any():
                    raise ValueError(
                        f"gradient: the objective depends on forces of {name!r}, which are not "
                        "unique: rows of loops depend on others, and how they share the load has "
                        "no exact derivative; leave out redundant rows, such as by a Spherical in "
                        "the place of a Revolute, or take motions, or forces of other joints"
                    )
        check_rows(self.sweep, self.stencils, "gradient")

    def _memory(self, leg: Leg) -> np.ndarray:
        """Return what elements remember at the beginning of each step, (N, n_memory)."""
        sweep, n = self.ahead, len(self.model.memory)
        sweep.load(leg.state)
        sweep.shift(0.0, 0.0, False)
        flows = sweep.I[sweep.k + one_step.N_FLOWS]
        sweep.I[sweep.k + one_step.N_FLOWS] = 0
        pieces = [np.zeros((0, n))]
        for first, last in leg.steps.pieces(sweep.room):
            sweep.rows(leg.steps, first, last)
            sweep.run(sweeps.follow)
            pieces.append(sweep.out((last - first) * n).reshape(-1, n).copy())
        sweep.I[sweep.k + one_step.N_FLOWS] = flows
        return np.concatenate(pieces)
