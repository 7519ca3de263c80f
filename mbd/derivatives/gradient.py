r"""``mbd.gradient``: the gradient of one number of a run, and ``mbd.hvp``, second derivatives.

The transposes of the maps that ``sensitivities.py`` applies, from the last segment to the first:
matrices are made again from the recorded instants.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mbd.algebra.differences import FOURTH, fourth_order
from mbd.analyses.buckling import Buckling
from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.linearize import Linearized
from mbd.analyses.modes import Modes
from mbd.base import tolerances
from mbd.base.checked import shown, whole
from mbd.base.door import number
from mbd.derivatives import runs
from mbd.derivatives.controls import by_control_of_start, by_controls
from mbd.derivatives.named import not_unique
from mbd.derivatives.objective import Gradients, Objective, by_values, summed
from mbd.derivatives.parameters import named, value_and_scale
from mbd.derivatives.poses import gradient_of_pose
from mbd.derivatives.restarts import Restart
from mbd.derivatives.segments import Crossing, Segment
from mbd.derivatives.sensitivities import Forward
from mbd.derivatives.small_motions import tangents_of
from mbd.derivatives.step_kernels import DA, INSTANT_SIZE
from mbd.derivatives.steps import StepMaps
from mbd.derivatives.variables import variables_of
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.names import Role
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.values import changed, followed_memory

_WHO = "gradient"


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
    objective: Objective, system: System | Model | Equilibrium | Modes | Linearized | Buckling,
    parameters: Any = None, t_end: float | None = None, step: float | None = None, *,
    method: Method | None = None, state: State | None = None, project: bool | None = None,
    progress: bool | None = None, rtol: float | None = None, events: Any = (), every: int = 1,
) -> Gradient:  # fmt: skip
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
        result = objective.result(model_of(_WHO, system))
        return _of_result(objective, result, parameters, [t_end, step])
    if isinstance(system, Equilibrium | Modes | Linearized | Buckling):
        return _of_result(objective, system, parameters, [t_end, step])
    every, model = whole(_WHO, "every", every, 1), model_of(_WHO, system)
    variables = variables_of(_WHO, [model], parameters)
    of = runs.setup(
        _WHO, model, variables, method=method, state=state, project=project, free=rtol is not None
    )
    run = of.run(t_end, step, progress=progress, rtol=rtol, events=events, every=every)
    back = Backward(of)
    (J,) = gradients_over(of, run, [objective], [back])
    return Gradient(J, variables.labels, back.gradient, run.solution, back.stats)


def gradients_over(
    of: runs.Setup,
    run: runs.DifferentiableRun,
    objectives: Sequence[Objective],
    backs: "Sequence[Backward]",
) -> list[float]:
    """Go back over a run with the adjoint of each objective; return their values."""
    n, numbers = len(run.pieces), [0.0] * len(objectives)
    with runs.keeping(run.solution):
        if followed_memory(of.model):  # adjoints do not see what laws remember, tangents do
            runs.refuse_where_laws_remember(of.owner, of.model, {"controls": bool(of.controls)})
            solution, segments = run.pieces[0]()
            forward = Forward(of, solution, segments)
            for i, (objective, back) in enumerate(zip(objectives, backs, strict=True)):
                J = summed(objective, solution, of.stencils, run.h, True, of.alone)
                back.begin()
                back.total, numbers[i] = forward.along(J), J.value
            return numbers
        if of.model.redundant and of.stencils:
            # adjoints do not see rows that contradict each other
            solution, (segment, *_) = run.pieces[0]()
            one = replace(segment, steps=segment.steps.part(0, 1), end=None)
            Forward(of, solution, [one])
        for back in backs:
            back.begin()
        for k in range(n - 1, -1, -1):
            solution, segments = run.pieces[k]()
            for i, objective in enumerate(objectives):
                J = summed(objective, solution, of.stencils, run.h, k == n - 1, of.alone)
                backs[i].over(solution, segments, J)
                numbers[i] += J.value
    return numbers


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
    term: Any = objective.terminal
    value, weights = by_values(term, of.view, of.values)
    slopes = of.gradient(weights)
    return Gradient(value, of.names, slopes, None, of.stats)


class Backward:
    """The adjoint of a run, carried back segment by segment.

    Attributes
    ----------
    total : (n_p,) array
        The gradient, as far as it was summed up.
    by_values : list of (n,) arrays
        That by the values of controls.
    stats : dict
    """

    def __init__(self, of: runs.Setup) -> None:
        self.of = of
        inputs = [x for control in of.controls for x in control.inputs]
        self.maps = StepMaps(of.model, of.method, of.stencils, 1, True, inputs)
        self.z = self.maps.columns[0]
        self.begin()

    def begin(self) -> None:
        """Begin at the end of a run."""
        self.z[:] = 0.0
        self.maps.work.S[[m.N_FACTOR, m.N_EVALUATE]] = 0
        self.t = 0.0  # adjoint of the time of the steps
        self.total = np.zeros(len(self.of.stencils))
        self.by_values = [np.zeros(len(x.values)) for x in self.of.controls]

    @cached_property
    def tangent(self) -> StepMaps:
        """The maps of the tangent by the size of a step, and of what elements remember."""
        return StepMaps(self.of.model, self.of.method, [], 1)

    @property
    def gradient(self) -> np.ndarray:
        """The gradient by parameters and the values of controls, (n,)."""
        return np.concatenate([self.total, *self.by_values])

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the way back."""
        S = self.maps.work.S
        return {"factorizations": int(S[m.N_FACTOR]), "evaluations": int(S[m.N_EVALUATE])}

    def over(self, solution: Solution, segments: list[Segment], J: Gradients) -> None:
        """Go back over the segments of a run."""
        self.total += J.p
        at_events = [x.end is not None and x.end.event is not None for x in segments]
        for k in range(len(segments) - 1, -1, -1):
            if not segments[k].branch:
                self._over(solution, segments[k], J, timed=any(at_events[: k + 1]))

    def _over(self, solution: Solution, segment: Segment, J: Gradients, timed: bool) -> None:
        """Go back over a segment; `timed`: its instants move with parameters."""
        begin, steps = segment.begin, segment.steps
        first, N = segment.first, len(steps)
        if N:
            self.z[:INSTANT_SIZE] += J.z[first + N]
            self.t += float(J.t[first + N])
        if segment.end is not None:
            self._end(solution, segment, segment.end)
        memory = self.tangent.memory(begin.state, steps) if len(self.of.model.memory) else None
        self.maps.F[m.OPEN] = 0.0
        by, by_inputs = self.maps.apply_transposed(
            begin.state, steps, memory, timed, J.z[first : first + N]
        )
        self._check(J)
        self.total += by[:-1]
        self.t += by[-1] + float(J.t[first + 1 : first + N].sum())
        w = np.concatenate([np.zeros((INSTANT_SIZE, self.z.shape[1])), self.z])
        if begin.recorded:
            w[:INSTANT_SIZE] = J.z[first]
            self.t += float(J.t[first])
        for j, more in enumerate(by_controls(self.of.controls, steps.t[1:], by_inputs)):
            self.by_values[j] += more
        if isinstance(begin, Restart):
            self._begin(begin, w)
        self.z[:], t = begin.apply_transposed(w, timed)
        self.t += t

    def _begin(self, begin: Restart, w: np.ndarray) -> None:
        """Add the gradient that a restart has: in one way back, or parameter by parameter."""
        stencils, controls = self.of.stencils, self.of.controls
        left = list(range(len(stencils)))
        if begin.is_held:
            by, by_inputs, gaps = self.maps.apply_begin_transposed(begin.here, begin.h, w)
            if not self.maps.work.S[m.SMALL_PIVOTS]:
                sizes = [4.0 * s.step for s in stencils]
                met = tolerances.ROUND_OFF * float(self.of.model.F[m.LENGTH])
                here = [s.of.role is not Role.INITIAL and (gap * size <= met).all()
                        for s, gap, size in zip(stencils, gaps, sizes, strict=True)]  # fmt: skip
                self.total += np.where(here, by, 0.0)
                left = [j for j in left if not here[j]]
                for j, more in enumerate(by_controls(controls, begin.times, by_inputs.T)):
                    self.by_values[j] += 0.0 if controls[j].moves else more
                controls = [x for x in controls if x.moves]
        self.total[left] += [
            np.vdot(w, x) for x in begin.by_parameters([stencils[j] for j in left])
        ]
        for j, x in enumerate(self.of.controls):
            if x in controls:
                self.by_values[j] += by_control_of_start(begin, x, w)

    def _end(self, solution: Solution, segment: Segment, crossing: Crossing) -> None:
        """Add the transpose of the saltation at the end of a segment."""
        begin, steps, zeta = segment.begin, segment.steps, self.tangent.columns[0]
        zeta[:] = begin.by_size()[INSTANT_SIZE:]
        for _ in self.tangent.apply(begin.state, steps, 1.0, 1.0):
            pass
        saltation = crossing.saltation(self.of.owner, solution, self.of.stencils, steps.h[-1], zeta)
        self.t, by_p = saltation.apply_transposed(self.z, self.t)
        self.total += by_p

    def _check(self, J: Gradients) -> None:
        """Refuse an objective that reads how rows share a load, and parameters that open rows."""
        if self.maps.F[m.OPEN] > tolerances.DERIVATIVE_EXACT:
            numbering = self.of.model.numbering
            read = np.abs(J.z[:, DA, numbering.lam]).max(axis=0, initial=0.0) > 0.0
            for name in not_unique(self.of.model):
                if read[numbering.owners[name]].any():
                    raise ValueError(
                        f"gradient: the objective depends on forces of {name!r}, which are not "
                        "unique: rows of loops depend on others, and how they share the load has "
                        "no exact derivative; leave out redundant rows, such as by a Spherical in "
                        "the place of a Revolute, or take motions, or forces of other joints"
                    )
        self.maps.check_rows(self.of.owner)


# --- products with second derivatives -------------------------------------------------------------
def hvp(
    objective: Objective, system: System | Model, parameters: Any,
    direction: Mapping[Any, float] | Sequence[float], t_end: float | None = None,
    step: float | None = None, *, method: Method | None = None, state: State | None = None,
    project: bool | None = None, progress: bool | None = None, events: Any = (), every: int = 1,
) -> dict[str, float]:  # fmt: skip
    r"""Return the product of the second derivative of an objective with a direction.

    Gradients are exact, so that one difference is left, along the direction, of order four,

    .. math:: H d \approx \sum_{k=1}^2 w_k\,\frac{\nabla J(p + ksd) - \nabla J(p - ksd)}{s},
       \qquad w = (\tfrac23, -\tfrac1{12}) .

    It costs four gradients, whatever the number of parameters. What a direction of one, and zeros,
    gives is a column of the second derivative. It is right to about 1e-8 of its largest entry in
    the parameters' own sizes.

    Parameters
    ----------
    objective, system, parameters, t_end, step, method, state, project, progress : optional
    events, every : optional
        As those of ``mbd.gradient`` [s], and of results without time where the objective has
        ``of=``. Not ``rtol``: other values of the parameters would take other steps.
    direction : dict, or numbers in the order of the parameters
        In the units of the parameters; what a dict leaves out is zero.

    Returns
    -------
    dict
        By the names of the parameters, in their order.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> reach = mbd.Objective(terminal=lambda last: last["ball"].position[2] ** 2)
    >>> h = mbd.hvp(reach, system, ["gravity.z"], [1.0], t_end=2.0, step=0.1)
    >>> round(h["gravity.z"], 6)  # 2 (t^2/2)^2
    8.0
    """
    model = model_of("hvp", system)
    if state is not None:
        state = state_of("hvp", model, state)
    names = named("hvp", model, parameters)
    along = _direction(names, direction)
    sizes = [value_and_scale("hvp", model, name) for name in names]
    far = max(abs(d) / scale for d, (_, scale) in zip(along, sizes, strict=True))
    if far == 0.0:
        return dict.fromkeys(names, 0.0)
    s = FOURTH / far

    def at(k: float) -> np.ndarray:
        """Return the gradient at k steps along the direction."""
        pairs = zip(names, sizes, along, strict=True)
        values = {name: value + k * s * d for name, (value, _), d in pairs if d}
        try:
            other = changed(model, values, measured=False)
        except ValueError as error:
            raise ValueError(
                f"hvp: the direction cannot be followed by {k * s:.3g} of itself: {error}"
            ) from None
        return gradient(
            objective, other, names, t_end, step, method=method, state=state, project=project,
            progress=progress, events=events, every=every,
        ).array  # fmt: skip

    return dict(zip(names, (fourth_order(at) / s).tolist(), strict=True))


def _direction(names: list[str], direction: Any) -> list[float]:
    """Return the direction in the order of the parameters."""
    if isinstance(direction, Mapping):
        by_name = {getattr(key, "name", key): x for key, x in direction.items()}
        strange = [x for x in by_name if x not in names]
        if strange:
            raise ValueError(
                f"hvp: direction has {shown(strange[0])}, which is none of the parameters "
                f"{', '.join(names)}"
            )
        values = [by_name.get(name, 0.0) for name in names]
    else:
        try:
            values = list(direction)
        except TypeError:
            values = []
        if len(values) != len(names) or isinstance(direction, str):
            raise ValueError(
                f"hvp: direction must be {len(names)} numbers, one for each parameter, or a dict "
                f"by their names, got {shown(direction)}"
            )
    pairs = zip(names, values, strict=True)
    return [number("hvp", f"direction of {name!r}", x, "-") for name, x in pairs]
