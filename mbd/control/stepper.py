"""``mbd.Stepper``: a run that is advanced by hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import flag, listed, names, shown, whole
from mbd.base.door import array, number
from mbd.base.tolerances import LARGEST
from mbd.control import compiled_step as cs
from mbd.control.inputs import Settable, inputs_of
from mbd.control.linear_model import LinearModel, linear_model
from mbd.history.observation import Observation
from mbd.integration.acting_rows import Past
from mbd.integration.consistent import settled
from mbd.integration.newton_loop import CONVERGED
from mbd.machine import buffer as m
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.runs.interrupts import Interrupt
from mbd.runs.methods import checked_method, usual
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch, TakenOver

_WHO = "Stepper"
_SUCH = "such as ['hinge.angle', 'cart.position']"
_LONG = 1e12  # steps that a run of unknown length may have
PIECE = 1 << 12  # steps in compiled code before Python listens to Ctrl-C


class StepperSnapshot(NamedTuple):
    """All that a stepper goes on from: numbers, steps done, whether loads have jumped since, rows.

    Of the work space, of the run, of the stepper, and what rows were changed; None: no loops.
    ``before`` are time and inputs of the last call that extrapolated.
    """

    numbers: np.ndarray
    done: int
    jumped: bool
    past: Past | None
    before: tuple[float, np.ndarray] | None


class Stepper:
    """A run that is advanced by hand.

    Its steps have the bits of ``mbd.simulate`` with the same step. Loads, efforts of motors and
    speeds of drives are set between steps, by name or in the array ``u``, and hold until they are
    set again; a jump of a load is met by new accelerations.

    Parameters
    ----------
    system : System or Model
    step : float [s]
    method : integrator, optional
    state : State, optional
        Where to begin; default the initial state of the description.
    project : bool, optional
        Move an inconsistent state to the nearest consistent one; as in ``mbd.simulate``.
    inputs : sequence of str
        What will be set: in this order ``u`` has them, and only these can be set after the first
        step if they share their numbers with other parts.
    observe : list
        What ``y`` has, as ``Model.observe`` takes it.
    every : int, optional
        Record every so many steps in ``run``; default none.

    Attributes
    ----------
    inputs : InputArray
        ``labels`` of the numbers of ``u``, ``slices`` of each input by name.
    observation : Observation
        ``labels`` and ``units`` of the numbers of ``y``, ``slices`` of each quantity.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> cart = system.add(mbd.PointMass("cart", mass=2.0))
    >>> push = system.add(mbd.PointForce("push", cart, (0.0, 0.0, 0.0)))
    >>> stepper = mbd.Stepper(system, 1e-3, inputs=["push.force"])
    >>> stepper.inputs.labels
    ('push.force.x', 'push.force.y', 'push.force.z')
    >>> stepper.u[0] = 4.0
    >>> stepper.step(500)
    >>> round(float(stepper["cart.velocity.x"]), 9)
    1.0
    """

    def __init__(
        self, system: System | Model, step: float, *, method: Any = None,
        state: State | None = None, project: bool | None = None, inputs: Sequence[str] = (),
        observe: Sequence[Any] = (), every: int | None = None,
    ) -> None:  # fmt: skip
        self.model = model_of(_WHO, system, set_valued=True)
        self.h = number(_WHO, "step", step, "s", positive=True)
        self.method = usual(self.model) if method is None else checked_method(_WHO, method, False)
        self._inputs = names(_WHO, "inputs", inputs)
        self.settable = {x: Settable(_WHO, self.model, x) for x in self._inputs}
        if project is not None:
            flag(_WHO, "project", project)
        self._observed = listed(f"{_WHO}: observe must be a list of names, {_SUCH}", observe)
        self._every = Plan.NEVER if every is None else whole(_WHO, "every", every, 1)
        self._project = project
        self._begin(state, project)

    def _begin(
        self, state: State | None, project: bool | None, reused: np.ndarray | None = None
    ) -> None:
        if state is not None:
            state = state_of(_WHO, self.model, state)
        continued = state is not None and state.alg is not None and not project
        first, saddle = state, None
        if first is None or not continued:
            first, saddle = settled(self.model, state, project=project)
        self.first = first
        self._before: tuple[float, np.ndarray] | None = None
        plan = Plan(first.t + _LONG * self.h, self.h, every=self._every)
        self.inputs = inputs = inputs_of([self.settable[x] for x in self._inputs])
        self.observation = Observation(self.model, self._observed, _WHO)
        self._read: dict[str, Observation] = {}
        n_u, n_y = len(inputs.labels), len(self.observation)
        room = cs.EXCHANGE_HEAD + n_u + n_y + len(inputs.slopes)
        over = TakenOver(continued, saddle, room, reused)
        self.run = run = Stretch(self.model, first, self.method, plan, Interrupt(), taken_over=over)
        F, exchange, k = run.work.F, run.exchange, len(self.model.I)
        serves = self.method.facts.weights is not None and run.own is None
        record = [
            *m.halves(run.advance.address), run.leaves, serves, exchange, n_u, len(inputs.places),
            k + cs.C_SIZE, n_y, *m.halves(self.observation.table),
        ]  # fmt: skip
        self.record, self.tables = k, m.entries(self.model.I, record, inputs.places.ravel())
        F[exchange : run.at] = 0.0
        ends = np.cumsum([cs.EXCHANGE_HEAD, n_u, n_y])
        self._flags, self._u, self._y, slopes = np.split(F[exchange : run.at], ends)
        slopes[:] = inputs.slopes
        self._u[:] = inputs.of(F)
        self._start = self.snapshot()
        self.observe()

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled: what runs has one work space."""
        raise TypeError(
            f"{_WHO}: a run that is under way cannot be copied or pickled; carry its model and "
            "state, and go on with Stepper(model, step, state=state)"
        )

    @property
    def t(self) -> float:
        """Time now [s]."""
        return float(self.run.work.F[m.T])

    @property
    def u(self) -> np.ndarray:
        """Inputs (n_u,) one after the other [SI], to be changed in place or as a whole."""
        return self._u

    @u.setter
    def u(self, values: Any) -> None:
        u = array(_WHO, "u", values, f"{len(self._u)} numbers")
        if u.shape != self._u.shape:
            raise ValueError(
                f"{_WHO}: u must be {len(self._u)} numbers ({', '.join(self.inputs.labels)}), got "
                f"{shown(values)}"
            )
        self._u[:] = u

    @property
    def y(self) -> np.ndarray:
        """Observations (n_y,) one after the other [SI] at the end of the last step; see observe."""
        return self._y

    @contextmanager
    def _met(self) -> Iterator[Stretch]:
        """Give the run the accelerations of the loads that act now; afterwards it is as before."""
        self._call(0)
        if not self._flags[cs.JUMPED]:
            yield self.run
            return
        before = self.snapshot()
        try:
            cs.renew_kernel(self.run.work.I, self.run.work.F)
            self.run.work.check_laws()
            yield self.run
        finally:
            self._put_back(before)

    @property
    def state(self) -> State:
        """The state now, from which ``mbd.simulate`` goes on too."""
        with self._met() as run:
            return run.state()

    @property
    def floats(self) -> np.ndarray:
        """Its numbers F, with the accelerations of the loads that act now; not to be written to."""
        with self._met() as run:
            return run.work.F.copy() if self._flags[cs.JUMPED] else run.work.F

    def observe(self) -> np.ndarray:
        """Return ``y``, of the present instant with the inputs that are set now."""
        with self._met():
            self._call(0)
        return self.y

    def _call(self, n: int) -> None:
        """Take inputs and up to n steps by compiled code; refuse inputs that are no numbers."""
        run, work = self.run, self.run.work
        work.S[m.N_STEPS], work.S[m.STEPS_DONE] = n, 0
        with run.helper:
            cs.step_kernel(self.tables, work.F, self.record)
        if self._flags[cs.REFUSED]:
            j = int(self._flags[cs.REFUSED]) - 1
            self._flags[cs.REFUSED] = 0.0
            raise ValueError(
                f"{_WHO}: u[{j}], {self.inputs.labels[j]!r}, must be a number, none beyond "
                f"{LARGEST:g} [SI], got {self._u[j]}; nothing was done"
            )

    def meet(self) -> None:
        """Let loads that have jumped act now: find accelerations and multipliers again."""
        self._call(0)
        if self._flags[cs.JUMPED]:
            cs.renew_kernel(self.run.work.I, self.run.work.F)
            self.run.work.check_laws()
            self._flags[cs.JUMPED] = 0.0

    def hold(self) -> None:
        """Let the inputs act from the next step on, as those at its end: no jump of loads."""
        self._call(0)
        self._flags[cs.JUMPED] = 0.0

    def take(self, n: int) -> tuple[int, int]:
        """Take up to n steps; return their number and a status. A law that raises raises here."""
        run, S = self.run, self.run.work.S
        if run.own is not None:  # steps in Python have no address
            self.meet()
            taken, status = run.steps(n)
            self._call(0)  # observe
            S[m.STATUS] = status
            return taken, status
        try:
            self._call(n)
        except KeyboardInterrupt:  # it comes when the steps are taken
            run.done += int(S[m.STEPS_DONE])
            raise
        well = S[m.STATUS] == CONVERGED and S[m.STEPS_DONE] == n and not S[m.BAD_HOW]
        if well and run.solver is None:
            run.done += n
            return n, CONVERGED
        return self.go_on(n)

    def go_on(self, n: int) -> tuple[int, int]:
        """Take what is left of n steps for which compiled code was called; see `take`."""
        run, S = self.run, self.run.work.S
        if self._flags[cs.JUMPED]:  # a law raised where accelerations were looked for
            run.work.check_laws()
        taken, status = run.steps(n, called=True)
        self._call(0)  # observe
        S[m.STATUS] = status
        run.work.check_laws()
        return taken, status

    def step(self, n: int = 1, *, extrapolate: bool = False) -> None:
        r"""Take n steps.

        Parameters
        ----------
        n : int
        extrapolate : bool
            Let ``u`` go on, :math:`u_k + (u_k - u_{k-1})(t - t_k)/(t_k - t_{k-1})`, with what it
            was at the last call with this word, instead of holding it: for loads of another
            program, which knows how the run moves up to here only. The first such call holds.
            Afterwards ``u`` is what acts at the end.

        Raises
        ------
        RuntimeError
            If one fails; the state is that of the last good step.
        KeyboardInterrupt
            By Ctrl-C, after some thousand steps at most; the run can go on from there.
        """
        if type(n) is not int or n < 1:
            n = whole(_WHO, "n", n, 1)
        if flag(_WHO, "extrapolate", extrapolate):
            self._extrapolate(n)
            return
        run = self.run
        first, begin = run.done + 1, run.work.snapshot() if run.jumps.driven else None
        taken, status = self.take(min(n, PIECE))
        while taken < n and status == CONVERGED:  # one careful step comes by itself
            more, status = self.take(min(n - taken, PIECE))
            taken += more
        if begin is not None:
            jump = run.jumps.first(run.work, begin, taken, status != CONVERGED)
            if jump is not None:
                run.back_before(begin, first, jump)
                self._call(0)
                raise RuntimeError(jump.words)
        if status != CONVERGED:
            raise RuntimeError(run.why())

    def _extrapolate(self, n: int) -> None:
        """Take n steps with inputs that go on along the line through these and those before."""
        t, u, before = self.t, self._u.copy(), self._before
        self._before = t, u
        if before is None or not before[0] < t:
            self.step(n)
            return
        slope = (u - before[1]) / (t - before[0])
        for _ in range(n):
            self._u[:] = u + slope * (self.t + self.h - t)
            self.hold()
            self.step()

    def reset(self, state: State | None = None) -> None:
        """Go back to the state at which it began, with all inputs as described, or to another."""
        if state is not None:
            self._begin(state, self._project, self.run.work.F)  # u and y stay where they are
            return
        self.restore(self._start)

    def snapshot(self) -> StepperSnapshot:
        """Return what ``restore`` takes to go back to this instant, with inputs as they are."""
        acting = self.run.acting
        past = None if acting is None else acting.past
        self._call(0)
        numbers, jumped = self.run.work.snapshot(), bool(self._flags[cs.JUMPED])
        return StepperSnapshot(numbers, self.run.done, jumped, past, self._before)

    def restore(self, snapshot: StepperSnapshot) -> None:
        """Go back to a snapshot of this stepper; what follows has the same bits as before."""
        self._put_back(snapshot)
        self.observe()

    def _put_back(self, snapshot: StepperSnapshot) -> None:
        numbers, self.run.done, self._flags[cs.JUMPED], past, self._before = snapshot
        self.run.work.restore(numbers)
        self._u[:] = self.inputs.of(numbers)
        if self.run.acting is not None and past is not None:
            self.run.acting.past = past

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an input, "push.force" [N], "motor.effort" [N m, N], "drive.velocity" [rad/s]."""
        if name not in self.settable:
            self.settable[name] = Settable(_WHO, self.model, name)
        F = self.run.work.F
        if self.settable[name].set(F, value):
            self._flags[cs.JUMPED] = 1.0
        if name in self.inputs.slices:
            here = self.inputs.slices[name]
            self._u[here] = np.reshape(value, -1)

    def __getitem__(self, name: str) -> Any:
        """Return a quantity now, by its name in results: "cart.position", "hinge.angle"."""
        if name not in self._read:
            self._read[name] = Observation(self.model, [name], _WHO)
        return self._read[name].value(self)

    def set(self, q: Any, v: Any) -> None:
        """Go on from a pose and rates in ``model.joint_coordinates``, at the present time.

        Inputs stay as they are; loops are closed, accelerations and multipliers found again.

        Parameters
        ----------
        q, v : arrays [m, rad, -], [m/s, rad/s]
            As ``tree.position_labels`` and ``tree.labels`` say.
        """
        work, tree = self.run.work, self.model.joint_coordinates
        closed = tree.close(q, t=self.t)
        if work.off:
            raise ValueError(
                f"{_WHO}: set moves a tree with all joints, but {', '.join(work.off)} are switched "
                "off; reset the stepper to a state instead"
            )
        self._call(0)
        tree.put(work, closed, v)
        cs.renew_kernel(work.I, work.F)
        work.check_laws()
        self._flags[cs.JUMPED] = 0.0
        self.observe()

    def linear(self) -> LinearModel:
        """Return the linear model of the run at its present state, for predictive control.

        States are coordinates of joints, of ``model.joint_coordinates``, and their rates; inputs
        and outputs are those of ``u`` and ``y``. The run stays as it is.

        Returns
        -------
        LinearModel
            A, B, C, D, the rates f and observations g at the state; ``held(h)`` is over a time.
        """
        return linear_model(self)
