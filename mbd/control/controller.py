r"""``mbd.Controller`` and ``mbd.closed_loop``: feedback laws on quantities by name.

A sampled law holds its outputs between samples. A continuous one has those of the end of a step,
where generalized-alpha meets the equations of motion,

.. math:: u_{n+1} = u(t_{n+1}, y_{n+1}, x_{n+1}), \quad
          x_{n+1} = x_n + \tfrac h2 \left(f_n + f_{n+1}\right), \quad \dot x = f(t, y, x):

second order, as the run. The step is repeated until loads are those of the law at its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.base.checked import flag, floats, function, names, shown, sized, whole
from mbd.base.door import array, label, number
from mbd.base.tolerances import CONTINUOUS_SHARE, CONTINUOUS_STEPS, LARGEST, WHOLE_STEPS
from mbd.control import compiled_loop as cl
from mbd.control.compiled_law import CompiledLaw, compiled_law
from mbd.control.compiled_loop import CompiledLoop, LoopLaw
from mbd.control.stepper import PIECE, Stepper
from mbd.front.simulate import SimulationError
from mbd.front.solution import Solution
from mbd.integration.newton_loop import CONVERGED, FAILED
from mbd.interactions.laws import LawError
from mbd.machine import buffer as m
from mbd.machine.jit import external
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.runs.events import EventInstants
from mbd.runs.failed_step import explain
from mbd.runs.interrupts import Interrupt, listening
from mbd.runs.methods import checked_method, usual
from mbd.runs.plan import whole_steps
from mbd.runs.record import ArrayRecord, impulsive_so_far

_WHO = "closed_loop"


@dataclass(frozen=True)
class Controller:
    r"""A feedback law: continuous, or sampled with its outputs held in between (zero-order hold).

    Parameters
    ----------
    name : str
    inputs : list of str
        What the law sees, quantities by name: "cart.position.x", "hinge.angle", "pin.force".
    outputs : list of str
        What it sets: "push.force", "motor.effort", "drive.velocity", described by numbers.
    law : callable
        ``law(t, y)`` returns u; with states of its own ``law(t, y, x)`` returns ``(u, x_next)``,
        or, continuous, ``(u, x_rate)``. y (n_y,) are the inputs one after the other, u (n_u,) the
        outputs; Python or jitted.
    every : float, optional [s]
        Sampling period, a whole number of steps. Without it the law is continuous: a smooth
        function, which each step of generalized-alpha meets at its end, with an error of second
        order. It is evaluated some times a step.
    start : (n_x,) array, optional [-]
        The law's own states at the start.

    Examples
    --------
    >>> import mbd
    >>> pd = mbd.Controller("pd", ["cart.position.x", "cart.velocity.x"], ["push.force"],
    ...                     law=lambda t, y: (-9.0 * y[0] - 6.0 * y[1], 0.0, 0.0), every=0.01)
    """

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    law: Callable[..., Any] = field(kw_only=True)
    every: float | None = field(default=None, kw_only=True)
    start: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        who = f"Controller {label(self.name, 'Controller')!r}"
        function(who, "law", self.law, "law(t, y) -> u, or law(t, y, x) -> (u, x_next)")
        for what in ("inputs", "outputs"):
            object.__setattr__(self, what, names(who, what, getattr(self, what)))
        if not self.outputs:
            raise ValueError(f"{who}: outputs must name what it sets, such as 'push.force'")
        if self.every is not None:
            number(who, "every", self.every, "s", positive=True)
        if self.start is not None:
            start = array(who, "start", self.start, "numbers [-]").reshape(-1)
            object.__setattr__(self, "start", sized(who, "start", start, "-"))


@dataclass(frozen=True)
class Signals:
    """Signals that a controller has seen and set, at its samples; if continuous, at all steps.

    Attributes
    ----------
    t : (n,) array [s]
    inputs, outputs, states : (n, k) arrays [SI]
        States are those before the law was evaluated.
    """

    t: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class ClosedLoop:
    """A run with controllers: its solution, and the signals of each controller by name.

    In the solution forces of joints and motions are those of the run; the loads that controllers
    set are in their signals, and energy knows of no work of theirs.
    """

    solution: Solution
    signals: dict[str, Signals]


def _is_bounded(x: np.ndarray) -> bool:
    """Tell whether all are numbers, none beyond what is allowed."""
    return bool(np.dot(x, x) <= LARGEST or np.abs(x).max(initial=0.0) <= LARGEST)


def _places(which: slice) -> range:
    """Return the numbers of a slice."""
    return range(which.start, which.stop)


class _Loop:
    """A controller in a run: where what it sees and sets is in the arrays of the stepper."""

    def __init__(self, controller: Controller, stepper: Stepper) -> None:
        self.controller, self.stepper = controller, stepper
        slices_y, slices_u = stepper.observation.slices, stepper.inputs.slices
        self.y = np.array([i for x in controller.inputs for i in _places(slices_y[x])], np.int64)
        self.u = np.array([i for x in controller.outputs for i in _places(slices_u[x])], np.int64)
        self.who = f"Controller {controller.name!r}"
        every = controller.every
        self.period = 0 if every is None else round(every / stepper.h)  # 0: continuous
        if every is None and stepper.method.facts.weights is None:
            raise ValueError(
                f"{self.who}: a continuous law needs method=GeneralizedAlpha(...), whose steps "
                f"meet it at their end; say every={stepper.h:g}: sampled at each step"
            )
        if every and (
            self.period < 1 or abs(self.period * stepper.h - every) > WHOLE_STEPS * every
        ):
            raise ValueError(
                f"{self.who}: every must be a whole number of steps, so that steps end on its "
                f"samples, got {every:g} s with steps of {stepper.h:g} s; take a step of "
                f"{every / max(1, int(np.ceil(every / stepper.h))):.6g} s"
            )
        self.x = np.zeros(0) if controller.start is None else controller.start
        self.rate, self.largest = np.zeros_like(self.x), [0.0, 0.0]
        self.rows: list[tuple[float, *tuple[np.ndarray, ...]] | np.ndarray] = []  # t, y, u, x
        self.exchange = np.zeros(0), np.zeros(0)  # of inputs and outputs in a compiled loop
        self.raised: BaseException | None = None

    def law(self, t: float, y: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the law sets, and its next states or their rates."""
        states = () if self.controller.start is None else (x,)
        try:
            answer = self.controller.law(t, y, *states)
        except Exception as error:
            raise LawError(
                f"{self.who}: its law raised {type(error).__name__}: {error} (at t = "
                f"{t:.6g} s); let it return finite numbers there, or end the run before"
            ) from error
        size = len(self.u)
        try:
            u, new = answer if states else (answer, x)
            u, new = floats(u).reshape(-1), floats(new).reshape(self.x.shape) if states else x
        except (TypeError, ValueError):
            u, new = np.zeros(0), self.x
        if u.size != size or not (_is_bounded(u) and (not states or _is_bounded(new))):
            raise ValueError(
                f"{self.who}: at t = {t:.6g} s its law must return {size} finite "
                f"numbers for {', '.join(self.controller.outputs)}"
                f"{f', and {self.x.size} states' if states else ''}, none beyond {LARGEST:g}, got "
                f"{shown(answer)}"
            )
        return u, new

    def sees(self) -> np.ndarray:
        """Return what the law sees now, an array of its own."""
        return self.stepper.y[self.y]

    def called_back(self) -> CompiledLaw:
        """Return the law as compiled code calls it, in Python; what it raises is kept."""
        n_y, n_u = len(self.y), len(self.u)

        def evaluate(*_: Any) -> int:
            inputs, outputs = self.exchange
            try:
                u, x = self.law(
                    float(inputs[0]), inputs[1 : 1 + n_y].copy(), inputs[1 + n_y :].copy()
                )
            except BaseException as error:
                self.raised = error
                return 1
            outputs[:n_u] = u
            outputs[n_u:] = x
            return 0

        return CompiledLaw(*external(evaluate, compiled=False))

    def sample(self, t: float) -> None:
        """Evaluate the law and set its outputs."""
        y = self.sees()
        u, new = self.law(t, y.copy(), self.x)
        self.note(t, y, u, self.x)
        if self.period:
            self.x = new
        else:
            self.rate = new

    def note(self, t: float, y: np.ndarray, u: np.ndarray, x: np.ndarray) -> None:
        """Keep what was seen and set."""
        self.rows.append((t, y, u, x))

    def outputs(self, back: int = 1) -> np.ndarray:
        """Return what was set so many samples ago, or at the first one."""
        return self.rows[max(len(self.rows) - back, 0)][2]  # type: ignore[return-value]

    def stays(self, which: int, x: np.ndarray, y: np.ndarray) -> bool:
        """Tell whether outputs (0) or states (1) are others by nothing, of the largest so far."""
        self.largest[which] = max(self.largest[which], float(np.abs(y).max(initial=0.0)))
        return bool((np.abs(x - y) <= CONTINUOUS_SHARE * self.largest[which]).all())

    def signals(self) -> Signals:
        """Return what was seen and set."""
        n, width = 1 + len(self.y), 1 + len(self.y) + len(self.u) + len(self.x)
        rows = [np.hstack(row) if isinstance(row, tuple) else row for row in self.rows]
        t, y, u, x = np.split(np.vstack([np.zeros((0, width)), *rows]), (1, n, n + len(self.u)), 1)
        return Signals(*map(np.ascontiguousarray, (t[:, 0], y, u, x)))


def _coupled_step(loops: Sequence[_Loop], stepper: Stepper, done: int) -> tuple[int, int]:
    """Take a step at whose end continuous laws are met; return what ``Run.steps`` does."""
    before, u = stepper.run.work.snapshot(), stepper.u.copy()
    try:
        return _repeated_step(loops, stepper, before, done)
    except BaseException:  # of a law: the state is that of the last good step
        stepper.run.work.restore(before)
        stepper.run.done, stepper.u[:] = done, u
        raise


def _repeated_step(
    loops: Sequence[_Loop], stepper: Stepper, before: np.ndarray, done: int
) -> tuple[int, int]:
    """Repeat a step from a snapshot until outputs and states stay, or the motion, to round-off."""
    run, h, model = stepper.run, stepper.h, stepper.model
    v: Any = np.inf
    us = [2.0 * x.outputs() - x.outputs(back=2) for x in loops]
    xs = [x.x + h * x.rate for x in loops]
    for _ in range(CONTINUOUS_STEPS):
        run.work.restore(before)
        run.done, run.struck = done, []
        for loop, u in zip(loops, us, strict=True):
            stepper.u[loop.u] = u
        stepper.hold()
        taken, status = run.steps(1)
        if status != CONVERGED:
            return taken, status
        stepper.observe()
        t, now = stepper.t, run.work.vector(m.V)[model.numbering.v]
        met = bool((np.abs(now - v) * h <= 4.0 * np.finfo(float).eps * model.units).all())
        ys = [loop.sees() for loop in loops]
        laws = [loop.law(t, y.copy(), x) for loop, y, x in zip(loops, ys, xs, strict=True)]
        new = [a.x + 0.5 * h * (a.rate + rate) for a, (_, rate) in zip(loops, laws, strict=True)]
        met = met or all(
            loop.stays(0, u, law[0]) and loop.stays(1, x, z)
            for loop, law, u, x, z in zip(loops, laws, us, xs, new, strict=True)
        )
        if met:
            for loop, y, (u, rate), x in zip(loops, ys, laws, new, strict=True):
                loop.note(t, y, u, x)
                loop.x, loop.rate = x, rate
            return taken, status
        us, xs, v = [u for u, _ in laws], new, now
    names = ", ".join(repr(loop.controller.name) for loop in loops)
    raise ValueError(
        f"{_WHO}: in the step from t = {stepper.t:.6g} s the motion and the continuous law of "
        f"{names} do not meet: it changes too fast, or jumps; take smaller steps, or sample it "
        "(every=)"
    )


def _advance(
    loops: Sequence[_Loop], stepper: Stepper, record: ArrayRecord, n: int, every: int
) -> tuple[int, str, BaseException | None]:
    """Take n steps with all laws; return the status, and what ended them in words with a cause."""
    try:
        with listening() as interrupt, interrupt.steps():
            status = _steps_with_laws(loops, stepper, record, n, every, interrupt)
        if interrupt.stop and stepper.run.work.S[m.N_RECORDED]:
            _keep(stepper)
        if interrupt.stop:
            return -1, f"interrupted by the user at t = {stepper.t:.6g} s", None
        return status, "", None
    except LawError as error:
        failed = str(error), error.__cause__
    except Exception as error:
        failed = f"{type(error).__name__}: {error}", error
    if stepper.run.work.S[m.N_RECORDED]:
        _keep(stepper)
    return FAILED, *failed


def _keep(stepper: Stepper) -> None:
    """Keep what was recorded."""
    stepper.run.keep(stepper.run.recorded())
    stepper.run.work.S[m.N_RECORDED] = 0


def _steps_with_laws(
    loops: Sequence[_Loop], stepper: Stepper, record: ArrayRecord, n: int, every: int,
    interrupt: Interrupt,
) -> int:  # fmt: skip
    """Take n steps with all laws, in compiled code where all of them are; return the status."""
    run, steady, done = stepper.run, [x for x in loops if not x.period], 0
    compiled: CompiledLoop | None = None
    while done < n and not interrupt.stop:
        if compiled is not None:
            compiled.go_on(done, [x.x for x in loops])
            done, status = _compiled_steps(compiled, loops, stepper, n, every, interrupt)
            if done == n or interrupt.stop or status != CONVERGED:
                return status
        _sample(loops, stepper, done)
        if not done:
            if steady:
                stepper.meet()
            here = stepper.state
            run.record_to(record, stepper.first.replace(a=here.a, lam=here.lam))
            compiled = None if steady else _compiled(loops, stepper)
        room = (run.capacity - int(run.work.S[m.N_RECORDED])) * every
        if steady:
            taken, status = _coupled_step(steady, stepper, done)
            _keep(stepper)
        else:
            gap = min(x.period - done % x.period for x in loops)
            taken, status = stepper.take(min(gap, n - done, room))
        done += taken
        run.work.check_laws()
        if status != CONVERGED or taken == room or run.own is not None or compiled is not None:
            _keep(stepper)
        if status != CONVERGED:
            return status
    _keep(stepper)
    return CONVERGED


def _compiled(loops: Sequence[_Loop], stepper: Stepper) -> CompiledLoop | None:
    """Return the loop in compiled code, which calls laws in Python; None if steps are in Python."""
    if stepper.run.own is not None:
        return None
    laws = []
    for x in loops:
        states = None if x.controller.start is None else x.x
        law = compiled_law(x.controller.law, len(x.u), stepper.t, x.sees(), states)
        laws.append(LoopLaw(law or x.called_back(), x.period, x.y, x.u, len(x.x)))
    compiled = CompiledLoop(stepper.tables, stepper.record, laws)
    for x, exchange in zip(loops, compiled.exchange, strict=True):
        x.exchange = exchange
    return compiled


def _compiled_steps(
    compiled: CompiledLoop, loops: Sequence[_Loop], stepper: Stepper, n: int, every: int,
    interrupt: Interrupt,
) -> tuple[int, int]:  # fmt: skip
    """Go on in compiled code; return the steps done in all and a status.

    If all is well and steps are left, Python is to go on: to ask a numba law that failed, to take a
    step with care.
    """
    run, S, G = stepper.run, stepper.run.work.S, compiled.floats
    done = int(G[cl.DONE])
    while done < n and not interrupt.stop:
        S[m.N_RECORDED], S[m.N_STEPS] = 0, min(n - done, run.capacity * every, PIECE)
        with run.helper:
            cl.closed_loop_kernel(compiled.tables, run.work.F, compiled.record)
        status, gap = int(S[m.STATUS]), int(S[m.N_STEPS])
        run.done += int(G[cl.DONE]) - done
        done = int(G[cl.DONE])
        for x, rows, states in zip(loops, compiled.rows(), compiled.states(), strict=True):
            x.rows += [rows] * (len(rows) > 0)
            x.x = states
        if G[cl.HALF_WAY]:
            taken, status = stepper.go_on(gap)
            _keep(stepper)
            return done + taken, status
        _keep(stepper)
        if status == cl.LAW_FAILED:
            if raised := next((x.raised for x in loops if x.raised), None):
                raise raised
            return done, CONVERGED
    return done, CONVERGED


def _sample(loops: Sequence[_Loop], stepper: Stepper, done: int) -> None:
    """Evaluate the laws that are due after so many steps; all of them see the same state."""
    due = [x for x in loops if (done % x.period if x.period else done) == 0]
    for x in due:
        x.sample(stepper.t)
    for x in due:
        stepper.u[x.u] = x.outputs()


def closed_loop(
    system: System | Model, controllers: Controller | Sequence[Controller], t_end: float,
    step: float, *, method: Any = None, state: State | None = None, project: bool | None = None,
    every: int = 1,
) -> ClosedLoop:  # fmt: skip
    """Integrate a system with feedback laws, by steps of one size that end on all samples.

    Continuous laws act all the time. At a sample all controllers see the same state; where their
    outputs change, accelerations are found again, so that a held load acts from the sample on.

    Parameters
    ----------
    system : System or Model
    controllers : Controller or sequence of Controller
    t_end, step : float [s]
    method : integrator, optional
    state : State, optional
    project : bool, optional
        As in ``mbd.simulate``.
    every : int
        Keep every so many steps.

    Returns
    -------
    ClosedLoop
        Its ``solution``, and ``signals["pd"]`` of the controller "pd".

    Raises
    ------
    SimulationError
        If a step fails or a law raises; ``error.solution`` is what was computed before.
    """
    all_of_them = [controllers] if isinstance(controllers, Controller) else controllers
    if not (isinstance(all_of_them, Sequence) and all_of_them) or not all(
        isinstance(x, Controller) for x in all_of_them
    ):
        raise TypeError(f"{_WHO}: controllers must be mbd.Controller, got {shown(controllers)}")
    model = model_of(_WHO, system, set_valued=True)
    step = number(_WHO, "step", step, "s", positive=True)
    t_end = number(_WHO, "t_end", t_end, "s", positive=True)
    if state is not None:
        state = state_of(_WHO, model, state)
    method = usual(model) if method is None else checked_method(_WHO, method, False)
    if project is not None:
        flag(_WHO, "project", project)
    if len({x.name for x in all_of_them}) < len(all_of_them):
        raise ValueError(f"{_WHO}: two controllers have the same name")
    every = whole(_WHO, "every", every, 1)
    sets = [x for each in all_of_them for x in each.outputs]
    if twice := {x for x in sets if sets.count(x) > 1}:
        raise ValueError(f"{_WHO}: {', '.join(twice)} must be set by one controller, got several")
    sees = list(dict.fromkeys(x for each in all_of_them for x in each.inputs))
    stepper = Stepper(
        model, step, method=method, state=state, project=project, inputs=sets, observe=sees,
        every=every,
    )  # fmt: skip
    loops = [_Loop(x, stepper) for x in all_of_them]
    model, run, first = stepper.model, stepper.run, stepper.first
    stepper.y[:] = stepper.observation(first)
    n = whole_steps(_WHO, t_end - first.t, stepper.h)
    record = ArrayRecord(model, n // every + 2)
    status, message, cause = _advance(loops, stepper, record, n, every)
    last = stepper.state
    if not len(record):
        run.record_to(record, first)
    if status > CONVERGED:
        message = message or explain(run.work, stepper.method)
    elif run.done % every:
        run.keep(EventInstants.of(last, impulsive_so_far(model, run.work.F)))
    message = message or f"reached t = {last.t:g} s"
    *raw, impulsive = record.histories()
    solution = Solution(
        model, *raw, impulsive=impulsive, status=status, message=message, stats=run.stats(),
        last=last, method=stepper.method, before=turns_so_far(model, first), impacts=record.impacts,
        options={"t_end": t_end, "step": stepper.h, "every": every},
    )  # fmt: skip
    if status > CONVERGED:
        raise SimulationError(solution) from cause
    return ClosedLoop(solution, {x.controller.name: x.signals() for x in loops})
