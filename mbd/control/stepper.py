"""``mbd.Stepper``: a run that is advanced by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd.base.checked import flag, names, whole
from mbd.base.door import number
from mbd.control.settable import Settable
from mbd.drawing.curves import curves
from mbd.front.solution import Solution
from mbd.history.quantities import SINCE_THE_START
from mbd.integration.acting_rows import Past
from mbd.integration.consistent import settled
from mbd.integration.newton_loop import CONVERGED
from mbd.linear.saddle import accelerations
from mbd.machine import buffer as m
from mbd.machine.jit import ints, kernel
from mbd.machine.unknowns import is_velocity
from mbd.model.frozen import state_of
from mbd.model.model import Model
from mbd.model.names import SharedNumbersError, with_places
from mbd.model.state import State
from mbd.model.system import System, model_of
from mbd.model.turns_so_far import turns_so_far
from mbd.runs.interrupts import Interrupt
from mbd.runs.methods import checked_method
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch

_WHO = "Stepper"
_LONG = 1e12  # steps that a run of unknown length may have


class StepperSnapshot(NamedTuple):
    """All that a stepper goes on from: numbers, steps done, whether loads have jumped since, rows.

    Of the work space, of the run, of the stepper, and what rows were changed; None: no loops.
    """

    numbers: np.ndarray
    done: int
    jumped: bool
    past: Past | None


@kernel
def restart(I: Any, F: Any, k: int) -> None:
    r"""Find accelerations and multipliers again at the present pose, after loads have jumped.

    Equation (consistent); steps go on from :math:`a = \dot v`, without extrapolation.
    """
    S = ints(F)
    accelerations(I, F, 2, True)
    for i in range(I[m.N_U]):
        if is_velocity(I, i):
            F[I[m.AL] + i] = F[I[m.A] + i]
    S[m.HISTORY] = S[m.HAVE_FACTOR] = 0


class Stepper:
    """A run that is advanced by hand.

    Its steps have the bits of ``mbd.simulate`` with the same step. Loads, efforts of motors and
    speeds of drives are set by name between steps, and hold until they are set again; a jump of a
    load is met by new accelerations.

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
        What will be set, if that begins after the first step.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> cart = system.add(mbd.PointMass("cart", mass=2.0))
    >>> push = system.add(mbd.PointForce("push", cart, (0.0, 0.0, 0.0)))
    >>> stepper = mbd.Stepper(system, 1e-3)
    >>> stepper["push.force"] = (4.0, 0.0, 0.0)
    >>> stepper.step(500)
    >>> round(float(stepper["cart.velocity.x"]), 9)
    1.0
    """

    def __init__(
        self, system: System | Model, step: float, *, method: Any = None,
        state: State | None = None, project: bool | None = None, inputs: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.model = model_of(_WHO, system, set_valued=True)
        self.h = number(_WHO, "step", step, "s", positive=True)
        self.method = checked_method(_WHO, method, False)
        self.settable: dict[str, Settable] = {}
        self.model = self._own_places(*names(_WHO, "inputs", inputs))
        if project is not None:
            flag(_WHO, "project", project)
        self._options = state, project
        self._begin(*self._options)

    def _own_places(self, *inputs: str) -> Model:
        """Return the model in which inputs have places of their own."""
        model, every = self.model, [*self.settable, *inputs]
        try:
            settable = {x: Settable(_WHO, model, x) for x in every}
        except SharedNumbersError:
            model = with_places(_WHO, model, every)
            settable = {x: Settable(_WHO, model, x) for x in every}
        self.settable = settable
        return model

    def _begin(self, state: State | None, project: bool | None) -> None:
        if state is not None:
            state = state_of(_WHO, self.model, state)
        continued = state is not None and state.alg is not None and not project
        first, saddle = state, None
        if first is None or not continued:
            first, saddle = settled(self.model, state, project=project)
        self.first = first
        plan = Plan(first.t + _LONG * self.h, self.h, every=2**62)
        self.run = Stretch(
            self.model, first, self.method, plan, Interrupt(), continued=continued, saddle=saddle
        )
        self._jumped = False
        self._start = self.snapshot()

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
    def state(self) -> State:
        """The state now, from which ``mbd.simulate`` goes on too."""
        self._meet()
        return self.run.state()

    @property
    def floats(self) -> np.ndarray:
        """Its numbers F, with the accelerations of the loads that act now; not to be written to."""
        self._meet()
        return self.run.work.F

    def step(self, n: int = 1) -> None:
        """Take n steps.

        Raises
        ------
        RuntimeError
            If one fails; the state is that of the last good step.
        """
        if type(n) is not int or n < 1:
            n = whole(_WHO, "n", n, 1)
        if self._jumped:
            self._meet()
        run, taken, status = self.run, 0, CONVERGED
        first, begin = run.done + 1, run.work.snapshot() if run.jumps.driven else None
        while taken < n and status == CONVERGED:  # one careful step comes by itself
            more, status = run.steps(n - taken)
            taken += more
        if begin is not None:
            jump = run.jumps.first(run.work, begin, taken, status != CONVERGED)
            if jump is not None:
                run.back_before(begin, first, jump)
                raise RuntimeError(jump.words)
        if status != CONVERGED or run.work.S[m.BAD_HOW]:
            run.work.check_laws()
        if status != CONVERGED:
            raise RuntimeError(run.why())

    def reset(self, state: State | None = None) -> None:
        """Go back to the state at which it began, with all inputs as described, or to another."""
        if state is not None:
            self._begin(state, self._options[1])
            return
        self.restore(self._start)

    def snapshot(self) -> StepperSnapshot:
        """Return what ``restore`` takes to go back to this instant, with inputs as they are."""
        acting = self.run.acting
        past = None if acting is None else acting.past
        return StepperSnapshot(self.run.work.snapshot(), self.run.done, self._jumped, past)

    def restore(self, snapshot: StepperSnapshot) -> None:
        """Go back to a snapshot of this stepper; what follows has the same bits as before."""
        numbers, self.run.done, self._jumped, past = snapshot
        self.run.work.restore(numbers)
        if self.run.acting is not None and past is not None:
            self.run.acting.past = past

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an input, "push.force" [N], "motor.effort" [N m, N], "drive.velocity" [rad/s]."""
        if name not in self.settable:
            model = self._own_places(name)
            if model is not self.model:
                if self.run.done or self._jumped:
                    raise ValueError(
                        f"{_WHO}: {name!r} shares its numbers with a part that has the same ones; "
                        f"say at the start that it will be set, Stepper(..., inputs=[{name!r}])"
                    )
                self.model = model
                self._begin(*self._options)
        if self.settable[name].set(self.run.work.F, value):
            self._jumped = True

    def __getitem__(self, name: str) -> Any:
        """Return a quantity now, by its name in results: "cart.position", "hinge.angle"."""
        return read(self.model, self.state, name, _WHO)

    def _meet(self) -> None:
        """Find accelerations again where loads have jumped."""
        if self._jumped:
            self.renew()

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
        tree.put(work, closed, v)
        self.renew()

    def renew(self) -> None:
        """Find accelerations and multipliers again, as after a jump of a load."""
        restart(self.run.work.I, self.run.work.F)
        self.run.work.check_laws()
        self._jumped = False


def read(model: Model, state: State, name: str, who: str) -> Any:
    """Return a quantity at a state, a number or (k,) [SI]."""
    return value_of(solution_at(model, state), name, who)


def solution_at(model: Model, state: State) -> Solution:
    """Return a solution of one instant."""
    raw = (x[None] for x in (state.q, state.v, state.a, state.lam))
    return Solution(model, np.array([state.t]), *raw, before=turns_so_far(model, state))


def refuse_sum(name: str, who: str) -> None:
    """Refuse what one instant does not have."""
    if name in (*(x.flat for x in SINCE_THE_START), "drift"):
        raise ValueError(
            f"{who}: {name!r} adds up since the start of a run, and there is one instant; name "
            "'energy.total' or 'gap', or take it from the solution of mbd.simulate"
        )


def value_of(solution: Solution, name: str, who: str) -> Any:
    """Return a quantity at the last instant of a solution, a number or (k,)."""
    refuse_sum(name, who)
    several: Sequence[Any] = curves(solution, name, who)
    if len(several) > 1:
        names = ", ".join(x.name for x in several)
        raise KeyError(f"{who}: {name!r} stands for several quantities; name one of {names}")
    value = np.asarray(several[0].values, float)[-1]
    return float(value.ravel()[0]) if value.size == 1 else value
