"""``mbd.Problem``: numbers of runs, and their gradients, at one vector of parameters after another.

Between calls it keeps the tables of the model and of its steps, the numbers of a run and the
programs of parameters.
"""

from typing import Any

import numpy as np

from mbd.base.checked import check_options, listed, shown
from mbd.base.door import array, number
from mbd.derivatives.controls import with_values
from mbd.derivatives.gradient import Backward, gradient, gradients_over
from mbd.derivatives.objective import Objective
from mbd.derivatives.runs import KeptRuns
from mbd.derivatives.variables import variables_of
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.model.model import Model
from mbd.model.system import System, model_of

_WHO = "Problem"


class Problem:
    """Numbers of a run as a function of parameters and controls, with its gradient.

    A control is an argument that is described by an ``mbd.Interpolated``: all of its values are
    varied, and the gradient by them costs as much as by one of them. What can be kept between
    calls is kept: a call costs four to five runs.

    Parameters
    ----------
    system : System or Model
    parameters : list of str and Parameter
        As those of ``mbd.gradient``, and controls by name, "push.force.x", "motor.effort".
    objective : Objective, or a list of these
    t_end, step : float [s]
    **options
        Of ``mbd.gradient``, such as ``method``, ``state``, ``events``.

    Attributes
    ----------
    labels : list of str
        Of all numbers that are varied: "rod.mass", "motor.effort[0]", "motor.effort[1]".
    start : (n,) array [SI]
        The values that were described, or those in a dict of parameters.

    Examples
    --------
    >>> import mbd, numpy as np
    >>> system = mbd.System()
    >>> cart = system.add(mbd.PointMass("cart", mass=2.0))
    >>> force = mbd.Interpolated([0.0, 0.5, 1.0], 1.0, between="hold")
    >>> push = system.add(mbd.PointForce("push", cart, (force, 0.0, 0.0)))
    >>> reach = mbd.Objective(terminal=lambda last: last["cart"].position[0])
    >>> problem = mbd.Problem(system, ["push.force.x"], reach, t_end=1.0, step=0.01)
    >>> value, slopes = problem([4.0, 0.0, 0.0])
    >>> round(value, 2), slopes.round(2).tolist()
    (0.75, [0.19, 0.06, 0.0])
    """

    def __init__(
        self, system: System | Model, parameters: Any, objective: Any, t_end: float, step: float,
        **options: Any,
    ) -> None:  # fmt: skip
        check_options(Problem, options, gradient, ("progress",))
        several = [objective] if isinstance(objective, Objective) else objective
        wanted = f"{_WHO}: objective must be an mbd.Objective, or a list of these"
        self.objectives: list[Objective] = list(listed(wanted, several))
        if not self.objectives or not all(isinstance(x, Objective) for x in self.objectives):
            raise TypeError(f"{wanted}, got {shown(objective)}")
        self._single = isinstance(objective, Objective)
        model, t_end = model_of(_WHO, system), number(_WHO, "t_end", t_end, "s")
        step = number(_WHO, "step", step, "s", positive=True)
        variables = variables_of(_WHO, [model], parameters)
        self.start, self.labels = variables.start, variables.labels
        self._runs = KeptRuns(_WHO, model, variables, t_end, step, options)
        self._backs = list[Backward]()

    def __call__(self, x: Any) -> tuple[Any, np.ndarray]:
        """Return value and gradient (n,) at x (n,); of k objectives (k,) and (k, n).

        Raises
        ------
        SimulationError
            If the run fails, with ``error.solution`` up to there.
        """
        of, run = self._runs.at(self._checked(x))
        if not self._backs or self._backs[0].of is not of:
            self._backs = [Backward(of) for _ in self.objectives]
        backs = self._backs
        J = np.array(gradients_over(of, run, self.objectives, backs))
        slopes = np.array([back.gradient for back in backs])
        return (float(J[0]), slopes[0]) if self._single else (J, slopes)

    @property
    def stats(self) -> dict[str, int]:
        """Cost of the way back of the last call: factorizations, and evaluations."""
        return self._backs[0].stats if self._backs else {}

    def model(self, x: Any) -> Model:
        """Return the model with these values."""
        return with_values(self._runs.model, self.by_name(x))

    def by_name(self, x: Any) -> dict[str, Any]:
        """Return the values by name, of controls (n,) arrays."""
        return self._runs.variables.by_name(self._checked(x))

    def solution(self, x: Any, **options: Any) -> Solution:
        """Return the run with these values, as ``mbd.simulate`` does with its options."""
        runs = self._runs
        of, _ = runs.setup(runs.variables.split(self.start)[0])
        own = {"method": of.method, "state": of.start.state, "project": of.start.project}
        own |= {k: v for k, v in runs.of_run.items() if k != "every"}
        return simulate(self.model(x), runs.t_end, runs.step, **own | options)

    def _checked(self, x: Any) -> np.ndarray:
        """Return numbers (n,) of which all are finite."""
        x = array(_WHO, "x", x, f"{len(self.start)} numbers")
        if x.shape != self.start.shape or not np.isfinite(x).all():
            raise ValueError(
                f"{_WHO}: x must be {len(self.start)} finite numbers, {self.labels[0]} first, got "
                f"{shown(x)}"
            )
        return np.asarray(x)
