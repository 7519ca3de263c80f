"""``mbd.sensitivities``: derivatives of a run by parameters, discretely exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.linearize import Linearized
from mbd.analyses.modes import Modes
from mbd.base.checked import absent, shown
from mbd.base.parameter import Parameter
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives import one_step, sweeps
from mbd.derivatives.begins import BeginChanges, Tangent, Threshold
from mbd.derivatives.critical_loads import BucklingTangent, FactorSlopes
from mbd.derivatives.legs import Ending, Leg, Onward
from mbd.derivatives.named import Named, Tangents, derivative_by_name, not_unique
from mbd.derivatives.objective import View
from mbd.derivatives.pencils import EigenvalueSlopes, LinearTangent, LinearTangents, ModesTangent
from mbd.derivatives.poses import PoseTangent, of_equilibrium
from mbd.derivatives.runs import DifferentiableRun, keeping, run
from mbd.derivatives.stencil import Stencil
from mbd.derivatives.sweep import Sweep
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System
from mbd.small_motions.eigenvalues import alike


class Sensitivities:
    """Derivatives of a run by parameters, each as a solution is read by name.

    Attributes
    ----------
    solution : Solution
        The run itself.
    parameters : dict
        Values by name.
    """

    def __init__(
        self, solution: Solution, of: Sequence[Stencil], tangents: Sequence[Tangents]
    ) -> None:
        self.solution = solution
        self.parameters = {s.name: s.value for s in of}
        self._of = {s.name: (s, z) for s, z in zip(of, tangents, strict=True)}
        self._named: dict[str, Named] = {}

    def __getitem__(self, parameter: str | Parameter) -> Any:
        """Return the derivative by a parameter: what ``solution`` has by name, time first."""
        name = self._name(parameter)
        if name not in self._named:
            self._named[name] = derivative_by_name(self.solution, *self._of[name], self._not_unique)
        return self._named[name]

    def tangents(self, parameter: str | Parameter) -> Tangents:
        """Return the derivatives of q (in increments), v, a and lam, time first."""
        return self._of[self._name(parameter)][1]

    def _name(self, parameter: Any) -> str:
        name = parameter.name if isinstance(parameter, Parameter) else parameter
        if name not in self._of:
            raise KeyError(f"Sensitivities: {absent('parameter ', name, self._of)}")
        return str(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    @cached_property
    def _not_unique(self) -> dict[str, str]:
        """The parts of which reactions are not unique, with the reason."""
        return not_unique(self.solution.model)

    def __repr__(self) -> str:
        return f"Sensitivities({len(self.solution.t)} instants by {', '.join(self._of)})"


class Roots:
    """Eigenvalues or critical loads, of which an objective may read.

    Attributes
    ----------
    names : list of str
        Of the parameters.
    values : dict
        What may be read: the eigenvalues or factors.
    """

    def __init__(self, of: EigenvalueSlopes | FactorSlopes) -> None:
        self.of, self.names, self.values = of, of.names, {"": of.roots}

    @property
    def stats(self) -> dict[str, int]:
        """What it cost."""
        return self.of.stats

    def view(self, values: Mapping[Any, np.ndarray]) -> View:
        """Return what an objective sees."""
        return self.of.view(values[""])

    def tangents(self) -> dict[str, Any]:
        """Return the derivatives by the parameters."""
        slopes = self.of.slopes(np.arange(len(self.of.roots)))
        return {name: self.of.tangent(x) for name, x in zip(self.names, slopes.T, strict=True)}

    def gradient(self, weights: Mapping[Any, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of the derivatives of single ones, (n_p,)."""
        which = np.flatnonzero(weights[""])
        slopes = self.of.slopes(which)[which]
        several = [int(i) for group in alike(self.of.roots) for i in group]
        if np.isin(which, several).any() or not np.isfinite(slopes).all():
            raise ValueError(
                "Objective: a term of modes or critical loads must be of single ones, of motions "
                "that are resisted; those of a repeated eigenvalue are a set, which has no gradient"
            )
        return np.asarray(np.real(weights[""][which] @ slopes))


def tangents_of(
    owner: str, result: Modes | Linearized | Buckling, parameters: Any
) -> Roots | LinearTangents:
    """Return the derivatives of what small motions, or loads, have."""
    if isinstance(result, Linearized):
        return LinearTangents(owner, result, parameters)
    if isinstance(result, Modes):
        return Roots(EigenvalueSlopes(owner, result, parameters))
    return Roots(FactorSlopes(owner, result, parameters))


@overload
def sensitivities(system: Equilibrium, parameters: Any = None) -> dict[str, PoseTangent]: ...
@overload
def sensitivities(system: Modes, parameters: Any = None) -> dict[str, ModesTangent]: ...
@overload
def sensitivities(system: Linearized, parameters: Any = None) -> dict[str, LinearTangent]: ...
@overload
def sensitivities(system: Buckling, parameters: Any = None) -> dict[str, BucklingTangent]: ...
@overload
def sensitivities(
    system: System | Model, parameters: Any = None, *args: Any, **options: Any
) -> Sensitivities: ...
def sensitivities(
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
) -> Any:
    """Run a system, and carry the derivatives of all its steps by parameters beside it.

    They are those of what the loop computes, to round-off, the start included; not those of the
    exact motion, from which a coarse run differs. Ten cost some seven runs; one number by whatever
    many parameters costs three, see ``mbd.gradient``.

    Parameters
    ----------
    system : System or Model
        Or, at rest, an ``Equilibrium``, ``Modes``, ``Linearized`` or ``Buckling``, to differentiate
        these, by parameters alone.
    parameters : list of str and Parameter, optional
        Arguments of parts, ``"rod.mass"``, ``"rod.inertia.xx"``, ``"hinge.at.x"``,
        ``"spring.stiffness"``, initial values, ``"rod.velocity.x"``, or ``"gravity.z"``; default
        all ``Parameter`` that the system has.
    t_end, step : float [s]
        The last step is shortened where it does not divide the time.
    method : GeneralizedAlpha, optional
        At position or velocity level; default ``GeneralizedAlpha(tol=1e-11)``, with ``rtol`` at
        velocity level. The accuracy of derivatives is that of the iteration, ``tol``.
    state : State, optional
        Pose and velocities to start from, whatever the parameters; default those described.
    project : bool, optional
        As of ``mbd.simulate``: move inconsistent initial values to the nearest consistent ones, and
        differentiate that too. Without a word small violations are mended; those that a parameter
        makes are then mended too. False refuses both.
    progress : bool, optional
    rtol : float [-]
        Let a first run choose the steps, and hold them in a second one.
    events : Event or sequence of Event
        With steps of one size. Instants after events move, ``s["rod.mass"].t`` [s by the unit of
        the parameter], and so do those of events by name, ``s["rod.mass"].events["touch down"]``.

    Returns
    -------
    Sensitivities
        Of an equilibrium a dict: each is read as the equilibrium is, ``d["k.length"]["rod"]``. Of
        modes a dict of their ``eigenvalues`` [1/s] and ``frequency`` [Hz], of a linear system of
        its ``frequency_response(frequencies)``, of critical loads of their ``factors``.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> s = mbd.sensitivities(system, ["gravity.z", "ball.velocity.x"], t_end=1.0, step=0.1)
    >>> s["gravity.z"]["ball"].position[-1].round(9).tolist()
    [0.0, 0.0, 0.5]
    """
    if isinstance(system, Equilibrium | Modes | Linearized | Buckling):
        for word, value in (("t_end", t_end), ("step", step), ("method", method)):
            if value is not None:
                raise ValueError(f"sensitivities: {word} belongs to a run, got {shown(value)}")
        if isinstance(system, Equilibrium):
            return of_equilibrium("sensitivities", system, parameters)
        return tangents_of("sensitivities", system, parameters).tangents()
    of = run("sensitivities", system, parameters, t_end, step, method, state, project, progress,
             rtol, events)  # fmt: skip
    with keeping(of.solution):
        forward = Forward(of)
        tangents = [forward.tangents(j) for j in range(len(of.stencils))]
    return Sensitivities(of.solution, of.stencils, tangents)


@dataclass(eq=False)
class Forward:
    """The tangents of a run by all parameters, leg by leg.

    Attributes
    ----------
    out : (instants, 3 n_v + n_lam, n_p) array
        Tangents of q, v, v' and lam.
    times : (instants, n_p) array
        How the recorded instants move [s].
    happened : dict
        By event, how its instants move: a list of (n_p,) arrays [s].
    """

    of: DifferentiableRun
    owner: str = "sensitivities"

    def __post_init__(self) -> None:
        of = self.of
        model, n_p = of.model, len(of.stencils)
        self.v, self.lam = model.numbering.v, model.numbering.lam
        sized = any(leg.ends is not None for leg in of.legs)  # the last: by the size of a step
        self.sweep = Sweep(model, of.method, of.stencils, n_p + sized)
        self.sweep.columns[:] = 0.0
        self.t = np.zeros(n_p)
        n_v = model.n_v
        self.at = [slice(i * n_v, (i + 1) * n_v) for i in range(3)]
        self.at.append(slice(3 * n_v, 3 * n_v + model.n_lam))
        self.out = np.zeros((len(of.solution.t), self.at[-1].stop, n_p))
        self.times = np.zeros((len(of.solution.t), n_p))
        self.happened: dict[str, list[np.ndarray]] = {}
        self.sweep.F[m.OPEN] = 0.0
        for leg in of.legs:
            kept = self.sweep.columns.copy(), self.t.copy()
            self._leg(leg)
            if leg.aside:
                self.sweep.columns[:], self.t = kept

    def _leg(self, leg: Leg) -> None:
        """Carry the tangents over a leg."""
        n_p, sweep = len(self.of.stencils), self.sweep
        sweep.load(leg.state)
        if leg.restart is not None:
            self._begin(leg, leg.restart)
        elif isinstance(leg.begins, Onward):
            z = sweep.columns[:, :, self.v]
            z[:, one_step.DL] += leg.begins.move * (z[:, one_step.DA] - z[:, one_step.DB])
            sweep.columns[:, :, self.v] = z
            if leg.ends is not None:
                sweep.columns[n_p] = 0.0
                sweep.columns[n_p, one_step.DL, self.v] = leg.begins.slope
        n = sweep.n_columns
        sizes = np.zeros(n)
        sizes[n_p:] = leg.ends is not None
        times = np.append(self.t, sizes[n_p:])
        sweep.shift(times, sizes, bool(times.any()))
        for first, last in leg.steps.pieces(sweep.room):
            sweep.rows(leg.steps, first, last)
            sweep.run(sweeps.forward, all_rows=True)
            check_rows(sweep, self.of.stencils, self.owner)
            if not leg.aside:
                of = slice(leg.first + 1 + first, leg.first + 1 + last)
                room, n_p = len(self.out[0]) * sweep.many, len(self.of.stencils)
                out = sweep.out((last - first) * room).reshape(last - first, -1, sweep.many)
                self.out[of] = out[..., :n_p]
                self.times[of] = self.t
        if leg.ends is not None:
            self._end(leg, leg.ends)

    def _begin(self, leg: Leg, threshold: Threshold) -> None:
        """Restart."""
        n_p, v, lam = len(self.of.stencils), self.v, self.lam
        size = BeginChanges.none(self.of.model, h=1.0)
        begun_by = threshold.by_parameters(self.of.stencils)
        for j in range(self.sweep.n_columns):
            z = self.sweep.columns[j]
            both: list[tuple[Tangent, Tangent]] = []
            if j < n_p:
                both.append(begun_by[j])
            if j == n_p:
                both += [threshold.along(size)] if leg.ends is not None else []
            elif threshold.at is not None:
                a = z[one_step.DA]
                both.append(threshold.along(
                    BeginChanges(z[one_step.DQ, v], z[one_step.DV, v], a[v], a[lam], self.t[j])
                ))  # fmt: skip
            z[:] = 0.0
            for first, begun in both:
                for row, x in enumerate((begun.q, begun.v, begun.a, begun.alg, begun.before)):
                    z[row, v] += x
                z[one_step.DA, lam] += begun.lam
                if j < n_p and threshold.here.recorded:
                    out = self.out[leg.first, :, j]
                    for at, x in zip(self.at, (first.q, first.v, first.a, first.lam), strict=True):
                        out[at] += x
                    self.times[leg.first, j] = self.t[j]

    def _end(self, leg: Leg, ending: Ending) -> None:
        """Let the size of the step follow what ends it."""
        of, n_p, v, lam = self.of, len(self.of.stencils), self.v, self.lam
        g = ending.gradients(of.model, of.stencils, leg.steps.h[-1])
        slope = [
            g.along(z[one_step.DQ, v], z[one_step.DV, v], z[one_step.DA, v], z[one_step.DA, lam])
            for z in self.sweep.columns
        ]
        rate = slope[n_p] + g.t[0]
        ending.check("sensitivities", rate, of.solution)
        for j in range(n_p):
            longer = -(slope[j] + g.p[j, 0] + g.t[0] * self.t[j]) / rate
            self.sweep.columns[j] += longer * self.sweep.columns[n_p]
            self.t[j] += longer
        if not leg.aside:
            last = leg.first + len(leg.steps)
            z = self.sweep.columns[:n_p]
            rows = ((one_step.DQ, v), (one_step.DV, v), (one_step.DA, v), (one_step.DA, lam))
            for at, (row, of_these) in zip(self.at, rows, strict=True):
                self.out[last, at, :n_p] = z[:, row, of_these].T
            self.times[last] = self.t
        for name in () if ending.event is None else (ending.event.name, *ending.also):
            self.happened.setdefault(name, []).append(self.t.copy())

    def tangents(self, j: int) -> Tangents:
        """Return the derivatives of all instants by a parameter."""
        happened = {k: np.array(t)[:, j] for k, t in self.happened.items()}
        q, v, a, lam = (self.out[:, at, j] for at in self.at)
        return Tangents(q, v, a, lam, self.times[:, j], happened)


def check_rows(sweep: Sweep, of: Sequence[Stencil], owner: str = "sensitivities") -> None:
    """Refuse parameters with which redundant rows would contradict each other."""
    if sweep.F[m.OPEN] <= SENSITIVITY_MET and not sweep.work.S[m.SMALL_PIVOTS]:
        return
    names = ", ".join(s.name for s in of)
    if sweep.work.S[m.SMALL_PIVOTS]:
        raise ValueError(
            f"{owner}: a matrix of the steps is singular without other pivots (by {names}); "
            "take another formulation, or a smaller step"
        )
    raise ValueError(
        f"{owner}: redundant rows would contradict each other with another value of one of "
        f"{names}: a part {sweep.F[m.OPEN]:.2g} of their derivative cannot be met; take parameters "
        "that move all of the joints in question together, or leave out redundant rows"
    )
