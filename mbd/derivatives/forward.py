"""``mbd.sensitivities``: derivatives of a run by parameters, discretely exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from mbd.analyses.equilibrium import Equilibrium
from mbd.analyses.modes import Modes
from mbd.base.checked import meant, shown
from mbd.base.parameter import Parameter
from mbd.base.sensitivity_tolerances import SENSITIVITY_MET
from mbd.derivatives import sweeps
from mbd.derivatives.named import Named, Tangents, derivative_by_name
from mbd.derivatives.rest import ModesTangent, PoseTangent, of_equilibrium, of_modes
from mbd.derivatives.runs import DifferentiableRun, run
from mbd.derivatives.starts import start_of
from mbd.derivatives.stencil import Stencil
from mbd.derivatives.sweep import Sweep
from mbd.front.solution import Solution
from mbd.integration.method import Method
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System

__all__ = ["Sensitivities", "sensitivities"]


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
            raise KeyError(
                f"Sensitivities: there is no parameter {shown(parameter)}{meant(name, self._of)}; "
                f"there are {', '.join(self._of)}"
            )
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


def not_unique(model: Model) -> dict[str, str]:
    """Return the parts of which the equations leave multipliers open, with the reason."""
    if not model.redundant:
        return {}
    labels = set(model.report().not_unique)
    owners = {
        name: any(model.numbering.lam_labels[i] in labels for i in range(rows.start, rows.stop))
        for name, rows in model.numbering.owners.items()
    }
    return {
        name: f"sensitivities: forces of {name!r} are not unique: rows of loops depend on "
        "others: how they share the load has no exact derivative; leave out redundant rows, "
        "such as by a Spherical in the place of a Revolute, or ask for motions"
        for name, some in owners.items()
        if some
    }


@overload
def sensitivities(system: Equilibrium, parameters: Any = None) -> dict[str, PoseTangent]: ...
@overload
def sensitivities(system: Modes, parameters: Any = None) -> dict[str, ModesTangent]: ...
@overload
def sensitivities(
    system: System | Model, parameters: Any = None, *args: Any, **options: Any
) -> Sensitivities: ...
def sensitivities(
    system: System | Model | Equilibrium | Modes,
    parameters: Any = None,
    t_end: float | None = None,
    step: float | None = None,
    *,
    method: Method | None = None,
    state: State | None = None,
    project: bool = False,
    progress: bool | None = None,
    rtol: float | None = None,
    events: Any = (),
) -> Any:
    """Run a system, and carry the derivatives of all its steps by parameters beside it.

    They are those of what the loop computes, to round-off, the start included; not those of the
    exact motion, from which a coarse run differs. Each costs about a run; of many parameters and
    one number ``mbd.gradient`` costs three.

    Parameters
    ----------
    system : System or Model
        Or an ``Equilibrium`` or ``Modes`` at rest, to differentiate these, by parameters alone.
    parameters : list of str and Parameter, optional
        Arguments of parts, ``"rod.mass"``, ``"rod.inertia.xx"``, ``"hinge.at.x"``,
        ``"spring.stiffness"``, initial values, ``"rod.velocity.x"``, or ``"gravity.z"``; default
        all ``Parameter`` that the system has.
    t_end, step : float [s]
        The step must divide the time.
    method : GeneralizedAlpha, optional
        At position or velocity level; default ``GeneralizedAlpha(tol=1e-11)``. The accuracy of
        derivatives is that of the iteration, ``tol``.
    state : State, optional
        Pose and velocities to start from, whatever the parameters; default those described.
    project : bool
        Move inconsistent initial values to the nearest consistent ones, and differentiate that too.
    progress : bool, optional
    rtol, events : refused
        Of steps that are chosen, and of runs with events, no derivative is taken: an error says so.

    Returns
    -------
    Sensitivities
        Of an equilibrium a dict: each is read as the equilibrium is, ``d["k.length"]["rod"]``. Of
        modes a dict of their ``eigenvalues`` [1/s] and ``frequency`` [Hz].

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System(gravity=(0, 0, -9.81))
    >>> ball = system.add(mbd.PointMass("ball", mass=1.0))
    >>> s = mbd.sensitivities(system, ["gravity.z", "ball.velocity.x"], t_end=1.0, step=0.1)
    >>> s["gravity.z"]["ball"].position[-1].round(9).tolist()
    [0.0, 0.0, 0.5]
    """
    if isinstance(system, Equilibrium | Modes):
        for word, value in (("t_end", t_end), ("step", step), ("method", method)):
            if value is not None:
                raise ValueError(f"sensitivities: {word} belongs to a run, got {shown(value)}")
        if isinstance(system, Equilibrium):
            return of_equilibrium("sensitivities", system, parameters)
        return of_modes("sensitivities", system, parameters)
    of = run("sensitivities", system, parameters, t_end, step, method, state, project, progress,
             rtol, events)  # fmt: skip
    return Sensitivities(of.solution, of.stencils, forward_tangents(of))


def forward_tangents(of: DifferentiableRun) -> list[Tangents]:
    """Return the tangents of all instants by each parameter."""
    model, n_p, n = of.model, len(of.stencils), int(of.model.I[m.N_U])
    v, lam = model.numbering.v, model.numbering.lam
    sweep = Sweep(model, of.method, of.stencils, n_p)
    sweep.work.load(of.first)
    starts = [start_of(model, s, of.start, of.first, of.begun) for s in of.stencils]
    for j, (_, z) in enumerate(starts):
        column = sweep.column(j)
        column[:] = 0.0
        for row, x in ((sweeps.DQ, z.q), (sweeps.DV, z.v), (sweeps.DA, z.a), (sweeps.DL, z.alg)):
            column[row, v] = x
    N = len(of.steps.t) - 1
    out = np.empty((N + 1, n_p, 3, n))
    for j, (z, _) in enumerate(starts):
        out[0, j, 0, v], out[0, j, 1, v] = z.q, z.v
        out[0, j, 2, v], out[0, j, 2, lam] = z.a, z.lam
    sweep.F[m.OPEN] = 0.0
    for first in range(0, N, sweep.room):
        which = np.arange(first, min(N, first + sweep.room))
        size = sweep.rows(of.steps, which, None) * n_p * 3 * n
        sweep.run(sweeps.forward)
        out[which + 1] = sweep.F[sweep.places["out"] :][:size].reshape(-1, n_p, 3, n)
        check_rows(sweep, of.stencils)
    return [
        Tangents(out[:, j, 0][:, v], out[:, j, 1][:, v], out[:, j, 2][:, v], out[:, j, 2][:, lam])
        for j in range(n_p)
    ]


def check_rows(sweep: Sweep, of: Sequence[Stencil]) -> None:
    """Refuse parameters with which redundant rows would contradict each other."""
    if sweep.F[m.OPEN] <= SENSITIVITY_MET and not sweep.work.S[m.SMALL_PIVOTS]:
        return
    names = ", ".join(s.name for s in of)
    if sweep.work.S[m.SMALL_PIVOTS]:
        raise ValueError(
            f"sensitivities: a matrix of the steps is singular without other pivots (by {names}); "
            "take another formulation, or a smaller step"
        )
    raise ValueError(
        f"sensitivities: redundant rows would contradict each other with another value of one of "
        f"{names}: a part {sweep.F[m.OPEN]:.2g} of their derivative cannot be met; take parameters "
        "that move all of the joints in question together, or leave out redundant rows"
    )
