"""``mbd.sensitivities``: derivatives of a run by parameters, discretely exact."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from mbd.analyses.buckling import Buckling
from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.linearize import Linearized
from mbd.analyses.modes import Modes
from mbd.base.checked import absent, shown
from mbd.base.parameter import Parameter
from mbd.derivatives.named import Named, Tangents, derivative_by_name, not_unique
from mbd.derivatives.objective import Gradients
from mbd.derivatives.parameters import Stencil
from mbd.derivatives.poses import PoseTangent, of_equilibrium
from mbd.derivatives.runs import DifferentiableRun, Setup, keeping, setup
from mbd.derivatives.segments import Segment
from mbd.derivatives.small_motions import BucklingTangent, LinearTangent, ModesTangent, tangents_of
from mbd.derivatives.step_kernels import DA, DQ, DV, INSTANT_SIZE
from mbd.derivatives.steps import StepMaps
from mbd.derivatives.variables import variables_of
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of

_WHO = "sensitivities"


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
    system: System | Model | Equilibrium | Modes | Linearized | Buckling, parameters: Any = None,
    t_end: float | None = None, step: float | None = None, *, method: Method | None = None,
    state: State | None = None, project: bool | None = None, progress: bool | None = None,
    rtol: float | None = None, events: Any = (),
) -> Any:  # fmt: skip
    """Run a system, and carry the derivatives by parameters along its steps.

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
    model = model_of(_WHO, system)
    variables = variables_of(_WHO, [model], parameters)
    if variables.controls:
        raise ValueError(
            f"{_WHO}: {variables.controls[0].name!r} is interpolated, with many values; take "
            "the gradient of a number by them, mbd.gradient or mbd.Problem"
        )
    of = setup(
        _WHO, model, variables, method=method, state=state, project=project, free=rtol is not None
    )
    return sensitivities_over(of, of.run(t_end, step, progress=progress, rtol=rtol, events=events))


def sensitivities_over(of: Setup, run: DifferentiableRun) -> Sensitivities:
    """Return the derivatives of a run in one piece."""
    with keeping(run.solution):
        forward = Forward(of, *run.pieces[0]())
        tangents = [forward.tangents(j) for j in range(len(of.stencils))]
    return Sensitivities(run.solution, of.stencils, tangents)


class Forward:
    """The tangents of a run by all parameters, segment by segment.

    Attributes
    ----------
    out : (instants, 3 n_v + n_lam, n_p) array
        Tangents of q, v, v' and lam.
    times : (instants, n_p) array
        How the recorded instants move [s].
    happened : dict
        By event, how its instants move: a list of (n_p,) arrays [s].
    """

    def __init__(self, of: Setup, solution: Solution, segments: Sequence[Segment]) -> None:
        self.of, self.solution, self.owner = of, solution, of.owner
        model, n_p = of.model, len(of.stencils)
        sized = any(x.end is not None for x in segments)  # the last column: by the size of a step
        self.maps = StepMaps(model, of.method, of.stencils, n_p + sized)
        self.maps.columns[:] = self.maps.of_memory[:] = 0.0
        self.maps.F[m.OPEN] = 0.0
        if len(segments) > 1 and self.maps.of_memory.size:
            raise ValueError(
                f"{of.owner}: where loads by laws of motion have a memory, derivatives are those "
                "of runs in whole steps: t_end must be a multiple of step, got "
                f"{solution.t[-1]:g} s"
            )
        self.t = np.zeros(n_p)
        n, n_v, n_lam = len(solution.t), model.n_v, model.n_lam
        self.out, self.times = np.zeros((n, 3 * n_v + n_lam, n_p)), np.zeros((n, n_p))
        self.happened: dict[str, list[np.ndarray]] = {}
        for segment in segments:
            kept = self.maps.columns.copy(), self.t.copy()
            self._over(segment)
            if segment.branch:
                self.maps.columns[:], self.t = kept

    def _over(self, segment: Segment) -> None:
        """Carry the tangents over a segment."""
        of, columns, begin = self.of, self.maps.columns, segment.begin
        n_p = len(of.stencils)
        first = np.zeros((n_p, INSTANT_SIZE, columns.shape[2]))
        for j, by_parameter in enumerate(begin.by_parameters(of.stencils)):
            z = by_parameter + begin.apply(columns[j], self.t[j])
            first[j], columns[j] = z[:INSTANT_SIZE], z[INSTANT_SIZE:]
        if begin.recorded:
            self._record(segment.first, first)
        times, sizes = np.zeros((2, len(columns)))
        times[:n_p] = self.t
        if segment.end is not None:
            columns[n_p] = begin.by_size()[INSTANT_SIZE:]
            times[n_p] = sizes[n_p] = 1.0
        elif len(columns) > n_p:
            columns[n_p] = 0.0
        for a, b, out in self.maps.apply(begin.state, segment.steps, times, sizes):
            self.maps.check_rows(self.owner)
            if not segment.branch:
                instants = slice(segment.first + 1 + a, segment.first + 1 + b)
                self.out[instants], self.times[instants] = out[..., :n_p], self.t
        if segment.end is not None:
            crossing, h = segment.end, segment.steps.h[-1]
            saltation = crossing.saltation(self.owner, self.solution, of.stencils, h, columns[n_p])
            for j in range(n_p):
                self.t[j] = saltation.apply(columns[j], self.t[j], j)
            if not segment.branch:
                self._record(segment.first + len(segment.steps), columns[:n_p])
            for name in crossing.names:
                self.happened.setdefault(name, []).append(self.t.copy())

    def _record(self, n: int, z: np.ndarray) -> None:
        """Write the tangents (n_p, ., n_u) of an instant."""
        v, lam = self.of.model.numbering.v, self.of.model.numbering.lam
        blocks = z[:, DQ, v], z[:, DV, v], z[:, DA, v], z[:, DA, lam]
        self.out[n], self.times[n] = np.concatenate(blocks, axis=1).T, self.t

    def along(self, J: Gradients) -> np.ndarray:
        """Return the gradient (n_p,) of a sum over the instants."""
        v, lam = self.of.model.numbering.v, self.of.model.numbering.lam
        z = np.concatenate([J.z[:, DQ, v], J.z[:, DV, v], J.z[:, DA, v], J.z[:, DA, lam]], axis=1)
        return np.asarray(np.einsum("nk,nkp->p", z, self.out) + J.t @ self.times + J.p)

    def tangents(self, j: int) -> Tangents:
        """Return the derivatives of all instants by a parameter."""
        happened = {k: np.array(t)[:, j] for k, t in self.happened.items()}
        n_v = self.of.model.n_v
        q, v, a, lam = np.split(self.out[:, :, j], [n_v, 2 * n_v, 3 * n_v], axis=1)
        return Tangents(q, v, a, lam, self.times[:, j], happened)
