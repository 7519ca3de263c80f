"""``mbd.Problem``: numbers of runs, and their gradients, at one vector of parameters after another.

Between calls it keeps the tables of the model and of its steps, the numbers of a run and the
programs of parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from mbd.base.checked import check_options, listed, shown
from mbd.base.door import array, number
from mbd.base.tolerances import WHOLE_STEPS
from mbd.derivatives.controls import control_of, sorted_out, with_values
from mbd.derivatives.gradient import Backward, gradient, gradients_over
from mbd.derivatives.objective import Objective
from mbd.derivatives.parameters import named, value_and_scale
from mbd.derivatives.restarts import Restart
from mbd.derivatives.segments import (
    DifferentiableRun,
    Segment,
    Setup,
    quiet,
    run_of,
    setup,
)
from mbd.derivatives.steps import steps_of
from mbd.front.simulate import simulate
from mbd.front.solution import Solution
from mbd.integration.newton_loop import CONVERGED
from mbd.model.model import Model
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.model.values import changed
from mbd.runs.events import EventInstants
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch

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
        The values that were described.

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
        self._alone = isinstance(objective, Objective)
        self.t_end = number(_WHO, "t_end", t_end, "s")
        self.step = number(_WHO, "step", step, "s", positive=True)
        self._options = {k: options.pop(k) for k in ("rtol", "events", "every") if k in options}
        self._setup, model = options, model_of(_WHO, system)
        others, controls = sorted_out(_WHO, model, parameters)
        self._names = named(_WHO, model, others) if not controls or others else []
        own = {x.name: x.function.values for x in controls}
        self._own = model = with_values(model, own)  # with laws whose values it changes
        self._controls = [x for x in map(partial(control_of, model), own) if x is not None]
        scalars = [value_and_scale(_WHO, model, name)[0] for name in self._names]
        self.start = np.concatenate([np.array(scalars, float), *own.values()])
        self.labels = [*self._names, *(y for x in self._controls for y in x.labels)]
        self._prepared: _Prepared | None = None
        self._alone_terms = set[Any]()  # those that read no parameters

    def __call__(self, x: Any) -> tuple[Any, np.ndarray]:
        """Return value and gradient (n,) at x (n,); of k objectives (k,) and (k, n).

        Raises
        ------
        SimulationError
            If the run fails, with ``error.solution`` up to there.
        """
        scalars, values = self._split(x)
        prepared = self._at(scalars)
        run = prepared.run(self, values)
        backs = prepared.backs(len(self.objectives))
        J = np.array(gradients_over(run, self.objectives, backs, values, self._alone_terms))
        slopes = np.array([back.gradient for back in backs])
        return (float(J[0]), slopes[0]) if self._alone else (J, slopes)

    @property
    def stats(self) -> dict[str, int]:
        """What the way back of the last call cost: factorizations, and evaluations."""
        return {} if self._prepared is None else self._prepared.backs(1)[0].stats

    def model(self, x: Any) -> Model:
        """Return the model with these values."""
        return with_values(self._own, self.by_name(x))

    def by_name(self, x: Any) -> dict[str, Any]:
        """Return the values by name, of controls (n,) arrays."""
        scalars, values = self._split(x)
        pairs = zip((x.name for x in self._controls), values, strict=True)
        return {**dict(zip(self._names, scalars.tolist(), strict=True)), **dict(pairs)}

    def solution(self, x: Any, **options: Any) -> Solution:
        """Return the run with these values, as ``mbd.simulate`` does with its options."""
        of = self._at(self._split(self.start)[0]).of
        own = {"method": of.method, "state": of.start.state, "project": of.start.project}
        own |= {k: v for k, v in self._options.items() if k != "every"}
        return simulate(self.model(x), self.t_end, self.step, **own | options)

    def _split(self, x: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return parameters, and the values of each control."""
        x = array(_WHO, "x", x, f"{len(self.start)} numbers")
        if x.shape != self.start.shape or not np.isfinite(x).all():
            raise ValueError(
                f"{_WHO}: x must be {len(self.start)} finite numbers, {self.labels[0]} first, got "
                f"{shown(x)}"
            )
        sizes = [len(of.function.times) for of in self._controls]
        ends = len(self._names) + np.cumsum([0, *sizes])
        return x[: ends[0]], [x[a:b] for a, b in pairwise(ends)]

    def _at(self, scalars: np.ndarray) -> _Prepared:
        """Return what is prepared for these parameters, or prepare it."""
        if self._prepared is None or not np.array_equal(self._prepared.scalars, scalars):
            changes = dict(zip(self._names, scalars.tolist(), strict=True))
            model = changed(self._own, changes, measured=False) if changes else self._own
            names = [*self._names, *(x.name for x in self._controls)]
            of = setup(_WHO, model, names, free="rtol" in self._options, **self._setup)
            self._prepared = _Prepared(of, scalars.copy())
        return self._prepared


class _Prepared:
    """What is kept while parameters stay: stencils, tables of steps, the numbers of a run."""

    def __init__(self, of: Setup, scalars: np.ndarray) -> None:
        self.of, self.scalars = of, scalars
        self._backs = list[Backward]()
        self._runner: _Runner | None = None

    def backs(self, n: int) -> list[Backward]:
        """Return adjoints of n objectives."""
        self._backs += [Backward(self.of) for _ in range(n - len(self._backs))]
        return self._backs

    def run(self, problem: Problem, values: Sequence[np.ndarray]) -> DifferentiableRun:
        """Return the run with these values of controls."""
        for control, own in zip(self.of.controls, values, strict=True):
            control.set(own)
        plain = not problem._options and not self.of.model.redundant
        if plain and self._runner is None:
            self._runner = _Runner(self.of, problem.t_end, problem.step)
        taken = self._runner.run() if plain and self._runner is not None else None
        if taken is not None:
            return taken
        with quiet():
            return run_of(_WHO, self.of, problem.t_end, problem.step, progress=False,
                          **problem._options)  # fmt: skip


@dataclass(eq=False)
class _Runner:
    """Runs in whole steps of one size without events, in the numbers of the first of them."""

    of: Setup
    t_end: float
    h: float
    stretch: Stretch | None = None
    begun: np.ndarray | None = None

    def run(self) -> DifferentiableRun | None:
        """Return the run with the laws as they are; None where it goes another way."""
        of, h = self.of, self.h
        model = of.model
        with quiet():
            begin = Restart(model, of.start, None, h)
        n = (self.t_end - begin.here.first.t) / h
        if not (n >= 1.0 - WHOLE_STEPS and abs(n - round(n)) <= WHOLE_STEPS):
            return None
        if self.stretch is None:
            plan = Plan(self.t_end, h)
            self.stretch = Stretch(model, begin.here.first, of.method, plan, Interrupt())
            self.begun = self.stretch.work.snapshot()
        run, work = self.stretch, self.stretch.work
        if run.jumps.driven or run.shortened:
            return None
        assert self.begun is not None
        work.restore(self.begun)
        work.load(begin.state)
        run.remember(begin.before)
        run.done, some = 0, list[EventInstants]()
        while run.done < run.n_steps:
            _, status = run.steps(min(run.capacity, run.n_steps - run.done))
            if status != CONVERGED or run.pivoting or run.divided.steps:
                self.stretch = None
                return None
            some.append(run.recorded())
        work.check_laws()
        first, last = begin.here.first, run.state()
        t = np.concatenate([[first.t], *(x.t for x in some)])
        columns = zip((first.q, first.v, first.a, first.lam),
                      *((x.q, x.v, x.a, x.lam) for x in some), strict=True)  # fmt: skip
        raw = [np.concatenate([x[None], *rest]) for x, *rest in columns]
        dropped = np.zeros((len(t), model.n_lam), bool)
        sizes = np.full(len(t) - 1, h)
        steps = steps_of(of.method, t, tuple(raw), begin.state, begin.before, sizes, dropped)
        solution = Solution(
            model, t, *raw, message=f"reached t = {t[-1]:g} s", stats=run.stats(), last=last,
            method=of.method, before=turns_so_far(model, first), options={"t_end": self.t_end},
        )  # fmt: skip
        segments = [Segment(begin, steps, 0)]
        return DifferentiableRun(of, solution, h, [lambda: (solution, segments)])
