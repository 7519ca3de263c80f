"""``mbd.simulate``: from a system to a solution."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.above import from_above
from mbd.base.checked import file_path, flag, names
from mbd.base.tolerances import OSCILLATION_INSTANTS
from mbd.front.richardson import checked_order, of_order
from mbd.front.solution import Solution
from mbd.history.beams import beyond_limits
from mbd.integration.consistent import settled
from mbd.integration.method import Method
from mbd.integration.newton_loop import FAILED
from mbd.linear.fronts import factor_and_solve
from mbd.linear.saddle import Saddle, unmet_kernel
from mbd.machine.shared_work import ahead
from mbd.model.evaluation import evaluate_kernel, linearise_kernel, measure_kernel, rates_kernel
from mbd.model.frozen import state_of, switchable
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.runs.crossings import Watch
from mbd.runs.events import Event, checked_events
from mbd.runs.interrupts import listening
from mbd.runs.large_steps import drifted, too_large
from mbd.runs.methods import checked_method, usual
from mbd.runs.oscillation import oscillation
from mbd.runs.plan import Plan, checked_plan, run_options
from mbd.runs.record import ArrayRecord, Record, at_once
from mbd.runs.run import Run
from mbd.runs.short_contacts import short_contacts
from mbd.runs.stretch import Stretch
from mbd.runs.unresolved_laws import unresolved_laws


class SimulationError(RuntimeError):
    """A run that stopped early; its message says when [s], where and who.

    Its cause is what the user's law or function raised, if that is why.

    Parameters
    ----------
    solution : Solution
        What was computed; the attribute ``solution`` of the error.
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


def simulate(
    system: System | Model, t_end: float, step: float | None = None, *,
    method: Method | None = None, rtol: float | None = None,
    atol: float | Mapping[str, float] | None = None, max_step: float | None = None,
    order: int | None = None, t_eval: Any = None, events: Event | Sequence[Event] = (),
    off: str | Sequence[str] = (), state: State | None = None, project: bool | None = None,
    every: int = 1, progress: bool | None = None, stream: str | Path | None = None,
    raise_on_failure: bool = True,
) -> Solution:  # fmt: skip
    """Integrate in time, by steps of one size, or by steps that meet a tolerance.

    Equation :eq:`residual` of the theory page, its steps chosen by :eq:`error`.

    Parameters
    ----------
    system : System or Model
    t_end : float [s]
    step : float [s]
        Step size; the last step is shortened where it does not divide the time. With ``rtol`` the
        size of the first step (default: estimated).
    method : GeneralizedAlpha, EnergyMomentum, LieRungeKutta4 or one of your own, optional
        Default ``GeneralizedAlpha(rho=0.8)``. With ``rtol`` the default is
        ``RadauCollocation(stages=3)``, below 1e-6 (with beams 1e-8) that of five stages, and
        generalized-alpha, in its stabilised form, with beams from 1e-3 on and where a formulation
        does not say how increments go along with velocities (``flow``).
    rtol : float [-]
        Let the steps be chosen: relative tolerance of positions (to the extent of the model, or to
        one radian) and velocities (to the largest so far) over the whole run.
    atol : float or dict, optional [m, rad, -]
        Absolute tolerance, also by kind of unknown: ``{"translation": 1e-9, "rotation": 1e-9,
        "director": 1e-9}``. Default 0.
    max_step : float [s]
        Largest step of free steps; default a fortieth of the run (a hundredth by
        generalized-alpha, a tenth with a ``RadauCollocation`` or ``ExplicitRungeKutta`` that is
        given).
    order : int, optional
        Extrapolate runs with steps h, h/2, ... (Richardson) to this order, up to three above that
        of the method. ``solution.lower`` has one order less: what any result differs from it by
        estimates its error. The step must divide the time; not with events, ``rtol``, ``t_eval``.
    t_eval : (n,) array [s]
        Keep the states at these times, interpolated within steps, and no others.
    events : Event or sequence of Event
        Zero crossings to locate; ``solution.events`` has those that happened.
    off : str or sequence of str
        Joints that are switched off at the start, until an event locks them.
    state : State, optional
        Where to start; default the initial state of the description. The last state of a run,
        ``solution.state``, goes on as it is.
    project : bool, optional
        Move inconsistent initial positions and velocities to the nearest consistent ones. Without a
        word small violations are mended, with a warning, and large ones refused by name; False
        refuses both.
    every : int
        Keep every so many steps (the first and the last are always kept).
    progress : bool, optional
        Show a progress bar; default on a terminal, when the run is long.
    stream : str or Path, optional
        Write the results to this file (``.nc``) while the run goes on, instead of keeping them in
        memory: for long runs. If the process is killed, ``mbd.load`` reads what was written; so it
        does while the run goes on. Needs the extra "results".
    raise_on_failure : bool
        If false, a failed run is returned with ``success`` False and a ``message``.

    Returns
    -------
    Solution
        Ctrl-C returns what was computed so far, with ``success`` False.

    Raises
    ------
    SimulationError
        If a step fails, or a law, the function of an event or its change raises (which is the
        cause of the error); ``error.solution`` is what was computed up to the last good step.
    """
    likely = checked_method("simulate", method, free=rtol is not None)
    flag("simulate", "raise_on_failure", raise_on_failure)
    for what, value in (("project", project), ("progress", progress)):
        if value is not None:
            flag("simulate", what, value)
    began = time.perf_counter()
    ahead(kernels_of(likely, free=rtol is not None or t_eval is not None))
    model = model_of("simulate", system, set_valued=True)
    method = usual(model, rtol) if method is None else likely
    first, saddle = _first(model, method, state, off, project)
    if order is not None:
        refused = {"rtol": rtol, "t_eval": t_eval, "stream": stream, "events": events or None}
        n, whole = checked_order(order, method, first.t, t_end, step, refused)

        def run_in(parts: int) -> Solution:
            return simulate(
                model, t_end, whole / parts, method=method, off=off, state=state, project=project,
                every=every * parts, progress=progress, raise_on_failure=raise_on_failure,
            )  # fmt: skip

        return of_order(n, run_in, method)
    plan = checked_plan(
        model, first, method, t_end=t_end, step=step, rtol=rtol, atol=atol, max_step=max_step,
        t_eval=t_eval, every=every, saddle=saddle,
    )  # fmt: skip
    happens = checked_events(model, events, first, described=state is None)
    before = turns_so_far(model, first)
    watch = Watch(model, happens, first, before)
    options = run_options(
        t_end=t_end, step=step, rtol=rtol, atol=atol, max_step=max_step, every=every,
        project=project, off=first.off, events=tuple(x.name for x in happens),
    )  # fmt: skip
    if stream is None:
        record: Record = ArrayRecord(model, plan.expected)
    else:
        file_path("simulate", stream)
        record = from_above("simulate(stream=)", model, stream, method, options, first)
    with listening() as interrupt:
        run = Run(model, method, plan, watch, record, progress, interrupt)
        status, message = run.go(first, saddle, first is state, before)
        clock = time.perf_counter()
        run.stats["seconds_preparing"] = min(run.started, clock) - began
        run.stats["seconds_in_all"] = clock - began
        status, message = record.complete(status, message)
        *raw, impulsive = record.histories()
        solution = Solution(
            model, *raw, impulsive=impulsive, status=status, message=message,
            stats=run.stats, last=run.last, method=method, before=before,
            stored=record.stored, options=options, events=run.occurrences, impacts=record.impacts,
        )  # fmt: skip
        trouble = _judged(solution, run, plan, first.t, raise_on_failure)
        record.close(solution.status, solution.message, run.stats, run.last)
    if interrupt.stop and solution.success:  # while it was written
        solution.status, end = -1, run.last.t
        solution.message = f"interrupted by the user at t = {end:.6g} s, when all steps were taken"
    if solution.status == FAILED and raise_on_failure:
        raise SimulationError(solution) from run.cause
    if trouble:
        warnings.warn(trouble, RuntimeWarning, stacklevel=3)
    return solution


def kernels_of(method: Method, free: bool) -> list[Any]:
    """Return the kernels of all runs by a method: other processes may compile them by now."""
    free_steps = method.facts.free
    steps = free_steps.kernel if free and free_steps is not None else method.kernel
    always = (evaluate_kernel, linearise_kernel, measure_kernel, rates_kernel)
    return [steps, factor_and_solve, unmet_kernel, *always]


def _judged(solution: Solution, run: Run, plan: Plan, start: float, raises: bool) -> str:
    """Say in the message of a run what is wrong with it; return what is warned of.

    Of a failed run that is raised, nothing is.
    """
    failed = solution.status == FAILED
    beyond = beyond_limits(solution)
    if beyond and failed:
        solution.message += f"; {beyond}"
    if run.stretch is None or (failed and raises):
        return ""
    set_valued = solution.model.set_valued  # without, there are no impacts to look at
    if set_valued and (lowered := solution.impacts.lowered(solution.model.system)):
        solution.message += f"; {lowered}"
    remarks = [beyond, *_trouble(solution, run.stretch, plan, start)]
    if trouble := "; ".join(filter(None, remarks)):
        solution.message += f"; warning: {trouble}"
    return trouble


def _trouble(solution: Solution, stretch: Stretch, plan: Plan, start: float) -> Iterator[str]:
    """Yield what is wrong with a run that looks all right."""
    each_step = plan.every == 1 and not plan.free
    if solution.success and not np.isfinite(plan.rtol):
        by_step = plan.every == 1 and plan.times is None
        yield unresolved_laws(solution, plan.step, start, by_step)
        if by_step:
            yield short_contacts(solution, plan.step)
    if each_step and not solution.events and stretch.facts.oscillation:
        last = solution.acting_lam(slice(-OSCILLATION_INSTANTS, None))
        yield oscillation(solution.model, last, stretch.facts.oscillation * stretch.h**2)
    if solution.success and not np.isfinite(plan.rtol):
        yield too_large(solution, plan.step, each_step and stretch.facts.error is not None)
    if solution.success and stretch.facts.level == "velocity":
        yield drifted(solution, plan.rtol)


def _first(
    model: Model, method: Method, state: State | None, off: Any, project: bool | None
) -> tuple[State, Saddle | None]:
    """Return the consistent state at which a run starts, and the matrix there."""
    if state is not None:
        state = state_of("simulate", model, state)
    if joints := names("simulate", "off", off):
        joints = switchable(model, joints, "simulate: off")
        state = (model.state if state is None else state).replace(off=joints, alg=None)
    if state is not None and state.alg is not None and not project:
        return state, None  # of a run, which meets the rates of the rows to its accuracy only
    size, steps = at_once(model)
    room = method.facts.own_floats(model) + size * steps
    return settled(model, state, project=project, room=room)
