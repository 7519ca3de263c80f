"""Methods in plain Python: a class with ``step(model, state, h) -> state``, run as all others are.

A run takes over the state that comes back, records it, looks for events and goes on. A step may be
taken again from an earlier state and with another size, onto an event: what a method goes on from
is the state, in which ``alg`` (n_v,) is free for a vector of its own.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mbd.base.checked import shown
from mbd.base.tolerances import WHOLE_STEPS
from mbd.integration.method import Facts
from mbd.integration.newton_loop import CONVERGED, FAILED, keep_record, next_time
from mbd.machine import buffer as m
from mbd.machine.jit import ints, kernel
from mbd.model.evaluation import accept, evaluate, note_rates
from mbd.model.frozen import FrozenModel, state_of
from mbd.model.state import State
from mbd.model.workspace import Workspace


@runtime_checkable
class Stepping(Protocol):
    """Protocol of a step: the state a time h [s] after another one."""

    def step(self, model: Any, state: State, h: float) -> State:
        """Return the state at state.t + h, with its accelerations and multipliers."""


@kernel
def begin(I: Any, F: Any, k: int) -> None:
    """Let all that remembers know the rates of the pose that a step begins with."""
    ints(F)[m.HISTORY] = 0
    note_rates(I, F)


@kernel
def take_over(I: Any, F: Any, k: int) -> None:
    """Accept and record the pose at hand; STATUS tells whether its turns are sure."""
    S = ints(F)
    F[m.SCALE_R], F[m.ROW_RATE] = 1.0, 0.0
    F[m.T] = next_time(I, F)
    evaluate(I, F)
    S[m.STATUS] = CONVERGED if accept(I, F) else FAILED
    if S[m.STATUS] == CONVERGED:
        keep_record(I, F)


@dataclass(frozen=True)
class PythonSteps:
    """Steps of an object in Python.

    Parameters
    ----------
    own : object with ``step``
        ``orders``, if it has that, are those of the motion and of forces.
    """

    own: Any

    def __repr__(self) -> str:
        """Return what the object shows of itself, or its class: no address."""
        cls: Any = type(self.own)
        return f"{cls.__name__}()" if cls.__repr__ is object.__repr__ else repr(self.own)

    @property
    def facts(self) -> Facts:
        """Facts for runs."""
        orders = getattr(self.own, "orders", (1, 1))
        return Facts(title=type(self.own).__name__, orders=orders, in_python=self.bound)

    @property
    def kernel(self) -> Any:
        """Kernel that takes over a step: steps themselves are not compiled."""
        return take_over

    def prepare(self, model: FrozenModel, S: np.ndarray, F: np.ndarray) -> None:
        """Rows are met as the steps meet them."""
        S[m.LEVEL] = m.STABILIZED

    def bound(self, work: Workspace) -> "BoundSteps":
        """Return the loop over steps in a work space."""
        return BoundSteps(self.own, work)


class BoundSteps:
    """The loop over steps of an object in Python, in a work space; called as kernels are.

    Attributes
    ----------
    error : Exception, optional
        What the last step raised, or what was wrong with its state.
    """

    address = 0

    def __init__(self, own: Any, work: Workspace) -> None:
        self.own, self.work = own, work
        self.who = f"{type(own).__name__}.step"
        self.error: Exception | None = None

    def __call__(self, I: np.ndarray, F: np.ndarray, k: int) -> None:
        """Take S[N_STEPS] steps of F[H]."""
        S, self.error = self.work.S, None
        S[m.STATUS], S[m.STEPS_DONE] = CONVERGED, 0
        for i in range(int(S[m.N_STEPS])):
            begin(I, F, 0)
            before = self.work.store()
            try:
                new = self._step(before, float(F[m.H]))
            except Exception as error:
                self.error, S[m.STATUS] = error, FAILED
                return
            F[m.T_LAST] = F[m.T_STEP] = before.t
            self.work.load(new)
            F[m.T_LAST] = F[m.T_STEP] = before.t
            take_over(I, F, 0)
            if S[m.STATUS] != CONVERGED:
                self.work.load(before)
                self.error = RuntimeError(
                    f"{self.who}: angles turn by more in a step of {F[m.H]:.3g} s than their rates "
                    f"tell, at t = {before.t:.6g} s; take a smaller one"
                )
                return
            S[m.STEPS_DONE] = i + 1

    def _step(self, before: State, h: float) -> State:
        """Return the state after a step, checked."""
        try:
            new = self.own.step(self.work.model, before, h)
        except Exception as error:
            raise RuntimeError(
                f"{self.who} raised {type(error).__name__} at t = {before.t:.6g} s: {error}"
            ) from error
        if not isinstance(new, State):
            raise TypeError(
                f"{self.who} must return a State, such as state.replace(t=..., v=...), got "
                f"{shown(new)}"
            )
        new = state_of(self.who, self.work.model, new)
        if abs(new.t - (before.t + h)) > WHOLE_STEPS * h + 4 * np.finfo(float).eps * abs(new.t):
            raise ValueError(
                f"{self.who} must return the state at t = {before.t + h:.9g} s, got that at "
                f"{new.t:.9g} s; state.replace(t=state.t + h, ...)"
            )
        if new.off != before.off:
            raise ValueError(
                f"{self.who} must leave off={before.off} as it is, got {new.off}; an mbd.Event "
                "locks and releases joints"
            )
        for name in ("a", "lam"):
            x = getattr(new, name)
            if not np.isfinite(x).all():
                raise ValueError(f"{self.who}: {name} of the state must be finite")
        return new
