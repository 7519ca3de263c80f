r"""``mbd.optimize``: the least value of an objective, by bounded and constrained descent.

.. math:: \min_x J(x), \qquad l \le x \le u, \quad l_i \le c_i(x) \le u_i

with the gradients of the adjoint. Where there is no run, the search goes on in a smaller box about
the last good values. At the end the conditions of Karush, Kuhn and Tucker are checked,
:math:`\nabla J + \sum_i \lambda_i n_i = 0,\ \lambda_i \ge 0`, with the outward normals n of what is
active.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize, nnls

from mbd.analyses.equilibrium import equilibrium
from mbd.base.checked import called, check_options, floats, listed, mapping, one_of, shown, whole
from mbd.base.door import number, speaking_as
from mbd.base.html_tables import facts, page, table
from mbd.base.identity import Identity
from mbd.base.tolerances import FIT_TOL, OPTIMUM_MET
from mbd.derivatives.controls import with_values
from mbd.derivatives.differences import slope as slope_of
from mbd.derivatives.gradient import gradient
from mbd.derivatives.objective import Objective
from mbd.derivatives.problem import Problem
from mbd.derivatives.variables import Variables, interval, variables_of
from mbd.fitting.evaluations import Evaluation, Evaluations
from mbd.model.description import put_system
from mbd.model.system import model_of
from mbd.runs.interrupts import listening

_WHO = "optimize"
_SOLVERS = {
    "SLSQP": {"ftol": FIT_TOL},
    "L-BFGS-B": {"ftol": 1e-2 * FIT_TOL, "gtol": 1e-2 * OPTIMUM_MET},
}


@dataclass(frozen=True, eq=False)
class Optimum:
    """The least value of an objective.

    Attributes
    ----------
    values : dict
        Of the parameters, by name; of controls (n,) arrays.
    value : float
        Of the objective.
    constraints : dict
        Values of the constraints, by name.
    active : dict
        "low" or "high" by name of each parameter that is at a bound, and of each constraint.
    multipliers : dict
        By name of what is active, by how much the objective would fall for one unit of room [by
        the units of both].
    success : bool
        Whether no small change within limits is better; `message` says why it ended.
    status : int
        0 a minimum, 1 none, -1 interrupted.
    history : list of dict
        Value and parameters of each iterate, the start first.
    failures : list of (dict, str)
        Values at which there was no run, and why.
    evaluations : int
    model : Model
        With these values.
    """

    values: dict[str, Any]
    value: float
    constraints: dict[str, float]
    active: dict[str, str]
    multipliers: dict[str, float]
    success: bool
    status: int
    message: str
    history: list[dict[str, Any]]
    failures: list[tuple[dict[str, float], str]]
    evaluations: int
    model: Any

    def __getitem__(self, name: Any) -> Any:
        return self.values[getattr(name, "name", name)]

    def _rows(self) -> list[tuple[str, float | str, str]]:
        rows = list[tuple[str, float | str, str]]()
        for k, x in (*self.values.items(), *self.constraints.items()):
            if np.ndim(x) == 0:
                rows.append((k, x, self.active.get(k, "")))
                continue
            held = sum(f"{k}[{i}]" in self.active for i in range(len(x)))
            many = f"{len(x)} values, {min(x):.6g} to {max(x):.6g}"
            rows.append((k, many, f"{held} at bounds" if held else ""))
        return rows

    def __repr__(self) -> str:
        ended = "least" if self.success else "not the least"
        lines = [f"Optimum: {self.value:.6g}, {ended} after {self.evaluations} evaluations"]
        wide = max(len(x[0]) for x in self._rows())
        lines += [
            f"  {k:<{wide}}  {x if isinstance(x, str) else f'{x:.6g}'}  {at}".rstrip()
            for k, x, at in self._rows()
        ]
        return "\n".join(lines if self.success else [*lines, f"  {self.message}"])

    def _repr_html_(self) -> str:
        return page(
            repr(self).partition("\n")[0],
            table("parameters and constraints", ("name", "value", "bound"), self._rows()),
            facts(message=self.message, failures=len(self.failures)),
        )


class _NoRunError(Exception):
    """A trial without a run."""


class _EnoughError(Exception):
    """All evaluations are used up."""


def optimize(
    objective: Any, system: Any, parameters: Any = None, t_end: float | None = None,
    step: float | None = None, *,
    bounds: Mapping[Any, tuple[float | None, float | None]] | None = None,
    constraints: Mapping[str, tuple[Any, float | None, float | None]] | None = None,
    solver: Literal["SLSQP", "L-BFGS-B"] = "SLSQP", max_evaluations: int = 200, file: Any = None,
    progress: bool | None = None, **options: Any,
) -> Optimum:  # fmt: skip
    """Find values of parameters that make an objective least.

    Parameters
    ----------
    objective : Objective or callable
        A number of a run, or of what its ``of=`` returns, such as the frequencies of modes; or a
        function of the values by name, ``lambda p: p["length"]``.
    system : System or Model
    parameters : list of str and Parameter, or dict, optional
        As those of ``mbd.fit``, and controls, which are described by an ``mbd.Interpolated``.
    t_end, step : float, optional [s]
        Without, objectives are of the equilibrium, whose pose is the "last" of ``terminal``.
    bounds : dict, optional
        ``{"length": (0.1, None)}``; of a control of all of its values.
    constraints : dict, optional
        By a name of your own ``(what, low, high)``, `what` as the objective, None for no limit:
        ``{"weight": (lambda p: p["rod.mass"], None, 3.0)}``.
    solver : {"SLSQP", "L-BFGS-B"}
        Of ``scipy.optimize.minimize``; "L-BFGS-B" takes bounds alone.
    max_evaluations, file, progress : optional
        As those of ``mbd.fit``.
    **options
        Of ``mbd.gradient``, such as ``method``; without `t_end` of ``mbd.equilibrium``.

    Returns
    -------
    Optimum

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0, velocity=(1, 0, 4)))
    >>> low = mbd.Objective(terminal=lambda last: last["ball"].position[2] ** 2)
    >>> best = mbd.optimize(low, system, ["ball.velocity.z"], t_end=1.0, step=0.1)
    >>> round(best["ball.velocity.z"], 4)
    4.905
    """
    one_of(_WHO, "solver", solver, _SOLVERS)
    most = whole(_WHO, "max_evaluations", max_evaluations, 1)
    if t_end is not None or step is not None:
        check_options(optimize, options, gradient, ("progress",))
    for word, value in {"t_end": t_end, "step": step}.items():
        if value is not None:
            number(_WHO, word, value, "s")
    limits = _limits(constraints)
    if limits and solver == "L-BFGS-B":
        raise ValueError(f"{_WHO}: solver 'L-BFGS-B' takes no constraints; take 'SLSQP'")
    several = [objective, *(what for what, _, _ in limits.values())]
    for what in several:
        if not isinstance(what, Objective) and (not callable(what) or isinstance(what, type)):
            raise TypeError(
                f"{_WHO}: objective and constraints must be an mbd.Objective, or a function of the "
                f"values by name, got {shown(what)}"
            )
    model = model_of(_WHO, system)
    variables = variables_of(_WHO, [model], parameters).bounded(_WHO, bounds)

    of_run = [what for what in several if isinstance(what, Objective) and what.of is None]
    problem = None
    if of_run and (t_end is not None or step is not None):
        with speaking_as(_WHO, "Problem"):
            problem = Problem(model, variables.arguments, of_run, t_end, step, **options)  # type: ignore[arg-type]
    elif variables.controls:
        name = variables.controls[0].name
        raise ValueError(f"{_WHO}: {name!r} is a control of a run; give t_end= and step= [s]")

    def evaluated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = list[tuple[float, np.ndarray]]()
        of_one_run: Iterator[tuple[float, np.ndarray]]
        if problem is not None:
            of_one_run = iter(list(zip(*problem(x), strict=True)))
        else:
            here = model.with_values(variables.by_name(x))
            of_one_run = iter(_of_one_pose(of_run, here, variables.labels, options))
        for what in several:
            if not isinstance(what, Objective):
                pairs.append(_of_values(what, variables, x))
            elif what.of is None:
                pairs.append(next(of_one_run))
            else:
                here = model.with_values(variables.by_name(x))
                g = gradient(what, here, variables.labels)
                pairs.append((g.value, g.array))
        words = ["the objective", *(f"the constraint {name!r}" for name in limits)]
        for what, (value, slope) in zip(words, pairs, strict=True):
            _check_finite(what, value, slope, variables.labels)
        return np.array([v for v, _ in pairs]), np.array([g for _, g in pairs])

    def carry(into: Identity) -> None:
        put_system(into, model.system)
        into.put("objective", objective)
        for name, (what, _, _) in limits.items():
            into.put(f"constraint {name!r}", what)
        into.put("t_end and step", (t_end, step))
        for name, option in options.items():
            into.put(f"option {name!r}", option)

    with listening(), Evaluations(_WHO, variables.labels, evaluated, carry, file, progress) as runs:
        search = _Iterates(runs, variables, list(limits.values()), solver, most)
        ended = search.run()
        return search.optimum(model, list(limits), ended)


def _limits(constraints: Any) -> dict[str, tuple[Any, float, float]]:
    form = "a constraint must be (what, low, high) by name, None for none, low <= high"
    limits = {}
    named = mapping(_WHO, "constraints", constraints, '{"reach": (objective, 1.0, None)}')
    for name, pair in named.items():
        what, *ends = listed(f"{_WHO}: {form}", pair) or ((),)
        low, high = interval(ends)
        if not (isinstance(name, str) and low <= high and low < np.inf and high > -np.inf):
            raise TypeError(f"{_WHO}: {form}, got {shown(name)}: {shown(pair)}")
        limits[name] = (what, low, high)
    return limits


def _of_one_pose(
    objectives: list[Objective], model: Any, names: list[str], options: Any
) -> list[tuple[float, np.ndarray]]:
    """Return values and gradients of objectives of one equilibrium."""
    if not objectives:
        return []
    if any(what.running is not None for what in objectives):
        raise TypeError(f"{_WHO}: an equilibrium has no time to run; give t_end= and step= [s]")
    pose = equilibrium(model, **options)
    some = [gradient(what, pose, names) for what in objectives]
    return [(g.value, g.array) for g in some]


def _of_values(what: Any, variables: Variables, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a function of the values, and its gradient by differences of order eight."""

    def value(at: np.ndarray) -> float:
        y = called(f"{_WHO}: the function of the values", what, variables.by_name(at))
        try:
            return float(floats(y))
        except TypeError:
            raise TypeError(
                f"{_WHO}: a function of the values must return one number, got {shown(y)}"
            ) from None

    slope, steps = np.zeros(len(x)), 1e-3 * np.where(x != 0.0, np.abs(x), variables.size)
    for j, unit in enumerate(np.eye(len(x))):
        slope[j] = slope_of(lambda e, unit=unit: value(x + e * unit), steps[j])  # type: ignore[misc]
    return value(x), slope


def _check_finite(what: str, value: float, slope: np.ndarray, names: list[str]) -> None:
    """Raise that a value, or its derivative by a parameter, is no number."""
    if not np.isfinite(value):
        raise ValueError(f"{_WHO}: {what} is {value}")
    if not np.isfinite(slope).all():
        bad = int(np.argmin(np.isfinite(slope)))
        raise ValueError(f"{_WHO}: the derivative of {what} by {names[bad]!r} is {slope[bad]}")


class _Iterates:
    """The iterates of one optimisation, in parameters over their sizes."""

    def __init__(
        self, runs: Evaluations, variables: Variables, limits: list[Any], solver: str, most: int
    ) -> None:
        self.runs, self.variables, self.solver, self.most = runs, variables, solver, most
        start = runs.first(variables.start)
        slopes = np.linalg.norm(start.jacobian * variables.size, axis=1)
        self.units = np.maximum(np.abs(start.values), slopes)
        self.units[self.units == 0.0] = 1.0
        self.low, self.high = variables.low / variables.size, variables.high / variables.size
        ends = np.array([x[1:] for x in limits], float).reshape(-1, 2).T
        self.c_low, self.c_high = ends / self.units[1:]
        self.iterates: list[Evaluation] = [start]

    def at(self, z: np.ndarray) -> Evaluation:
        """Return the evaluation at z."""
        x = self.variables.values(z)
        if len(self.runs.used) >= self.most and x.tobytes() not in self.runs.used:
            raise _EnoughError
        one = self.runs.at(x)
        if one.failure:
            raise _NoRunError(z)
        return one

    def run(self) -> tuple[int, str]:
        """Descend; return 0 or 1, or -1, and why it ended."""
        box = np.inf
        try:
            while True:
                here = self.iterates[-1].x / self.variables.size
                low, high = np.maximum(self.low, here - box), np.minimum(self.high, here + box)
                try:
                    end = self._minimized(np.clip(here, low, high), low, high)
                except _NoRunError as trial:
                    here = self.iterates[-1].x / self.variables.size
                    box = 0.25 * min(box, float(np.abs(trial.args[0] - here).max()))
                    if box < OPTIMUM_MET:
                        why = self.runs.last_failure()
                        return 1, f"nearer values are better, but there is no run: {why}"
                    continue
                self.iterates.append(self.at(end.x))
                edge = np.abs(end.x - here) >= box * (1 - OPTIMUM_MET)
                if not np.any(edge & (end.x > self.low) & (end.x < self.high)):
                    return 0, str(end.message)
                box *= 2.0
        except _EnoughError:
            return 1, f"{self.most} evaluations were not enough; give max_evaluations="
        except KeyboardInterrupt:
            return -1, "interrupted by the user"

    def _minimized(self, z: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
        size, unit = self.variables.size, self.units

        def keep(xk: np.ndarray, *_: Any) -> None:
            self.iterates.append(self.at(xk))

        limits = [
            NonlinearConstraint(
                lambda z, i=i: self.at(z).values[i] / unit[i], low_c, high_c,
                jac=lambda z, i=i: self.at(z).jacobian[i] * size / unit[i],
            )
            for i, (low_c, high_c) in enumerate(zip(self.c_low, self.c_high, strict=True), 1)
        ]  # fmt: skip
        return minimize(
            lambda z: self.at(z).values[0] / unit[0], z, method=self.solver,
            jac=lambda z: self.at(z).jacobian[0] * size / unit[0],
            bounds=Bounds(low, high, keep_feasible=True), callback=keep,
            constraints=limits,
            options={"maxiter": 10 * self.most, **_SOLVERS[self.solver]},
        )  # fmt: skip

    def _excess(self, one: Evaluation) -> np.ndarray:
        """Return by how much constraints are missed, in their units."""
        c = one.values[1:] / self.units[1:]
        return np.maximum(np.maximum(self.c_low - c, c - self.c_high), 0.0)

    def optimum(self, model: Any, names: list[str], ended: tuple[int, str]) -> Optimum:
        """Return the best iterate, with what is active there."""

        def rank(one: Evaluation) -> tuple[float, float]:
            excess = float(self._excess(one).max(initial=0.0))
            return (0.0 if excess <= OPTIMUM_MET else excess), float(one.values[0])

        best = min(self.iterates, key=rank)
        size, unit = self.variables.size, self.units
        scales = np.concatenate([size, unit[1:]])
        at = np.concatenate([best.x, best.values[1:]]) / scales
        slopes = np.vstack([np.eye(len(size)), best.jacobian[1:] * size / unit[1:, None]])
        ends = (("low", np.concatenate([self.low, self.c_low]), -1.0),
                ("high", np.concatenate([self.high, self.c_high]), 1.0))  # fmt: skip
        sides = [
            ([*self.variables.labels, *names][i], side, unit[0] / scales[i], sign * slopes[i])
            for side, end, sign in ends for i in np.flatnonzero(np.abs(at - end) <= OPTIMUM_MET)
        ]  # fmt: skip
        g = best.jacobian[0] * size / unit[0]
        left, factors = float(np.linalg.norm(g)), np.zeros(0)
        if sides:
            factors, left = nnls(np.column_stack([n for *_, n in sides]), -g)
        order = np.argsort(factors)  # of the two sides of an equation the one that presses
        factors, sides = factors[order], [sides[i] for i in order]
        status, message = ended
        excess = self._excess(best)
        if excess.max(initial=0.0) > OPTIMUM_MET:
            worst = names[int(excess.argmax())]
            status, message = status or 1, f"{worst} cannot be met from here: {message}"
        elif status == 0 and left > OPTIMUM_MET:
            status, message = 1, f"nearby values are better; {message}"
        history = [
            {"value": float(x.values[0]), **self.variables.by_name(x.x)} for x in self.iterates
        ]
        values = self.variables.by_name(best.x)
        return Optimum(
            values, float(best.values[0]), dict(zip(names, best.values[1:].tolist(), strict=True)),
            {name: side for name, side, *_ in sides},
            {name: float(f * scale) for f, (name, _, scale, _) in zip(factors, sides, strict=True)},
            status == 0, status, message, history,
            self.runs.failures, len(self.runs.used), with_values(model, values),
        )  # fmt: skip
