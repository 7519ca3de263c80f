"""``mbd.Environment`` and ``mbd.Environments``: models that are acted on, episode by episode.

An action is held for some steps; what is observed after them, a reward and whether the episode ends
are handed back. Many environments lie in the rows of one array, on which one compiled call works
without the lock of the interpreter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbd.base.checked import function, listed, shown, whole
from mbd.base.door import array, number
from mbd.control.compiled_step import EXCHANGE_HEAD, step_kernel
from mbd.control.stepper import Stepper
from mbd.integration.newton_loop import CONVERGED
from mbd.interactions.laws import LawError
from mbd.machine import buffer as m
from mbd.machine.batch import Batch
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.system import System

_WHO = "Environment"
Stepped = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


class Environment:
    """A model that is acted on: reset, then step by step until the episode ends.

    Parameters
    ----------
    system : System or Model
    step : float [s]
    inputs : list of str
        What an action sets, as ``Stepper`` has them.
    observe : list
        What is observed, as ``Model.observe`` takes it.
    reward : callable, optional
        ``reward(y, u) -> float`` of what is observed after the action u; default 0.
    done : callable, optional
        ``done(y) -> bool``: whether the episode ends there.
    substeps : int
        Steps for which an action is held.
    limits : (low, high), optional [SI]
        Numbers or (n_u,) arrays, to which actions are clipped.
    start : callable, optional
        ``start(rng) -> State`` of each episode; default the initial state of the description.
    length : float, optional [s]
        Time after which an episode is truncated.
    method : integrator, optional
        For learning ``GeneralizedAlpha(tol=1e-6)`` takes two thirds of the time.

    Examples
    --------
    >>> import mbd
    >>> system = mbd.System()
    >>> cart = system.add(mbd.PointMass("cart", mass=2.0))
    >>> push = system.add(mbd.PointForce("push", cart, (0.0, 0.0, 0.0)))
    >>> environment = mbd.Environment(
    ...     system, 1e-3, ["push.force"], ["cart.position.x", "cart.velocity.x"],
    ...     reward=lambda y, u: -y[0] ** 2, substeps=10,
    ... )
    >>> y, info = environment.reset(seed=1)
    >>> y, reward, terminated, truncated, info = environment.step([4.0, 0.0, 0.0])
    >>> y.round(6).tolist()
    [0.0001, 0.02]
    """

    def __init__(
        self, system: System | Model, step: float, inputs: Sequence[str], observe: Sequence[Any], *,
        reward: Callable[[np.ndarray, np.ndarray], float] | None = None,
        done: Callable[[np.ndarray], bool] | None = None, substeps: int = 1, limits: Any = None,
        start: Callable[[np.random.Generator], State] | None = None, length: float | None = None,
        method: Any = None,
    ) -> None:  # fmt: skip
        observe = listed(f"{_WHO}: observe must be a list of names", observe)
        self.stepper = Stepper(system, step, method=method, inputs=inputs, observe=observe)
        self.inputs, self.observation = self.stepper.inputs, self.stepper.observation
        n_u = len(self.inputs.labels)
        if not n_u:
            raise ValueError(
                f"{_WHO}: inputs must name what an action sets, such as 'motor.effort'"
            )
        for word, value, form in (
            ("reward", reward, "reward(y, u) -> float"), ("done", done, "done(y) -> bool"),
            ("start", start, "start(rng) -> State"),
        ):  # fmt: skip
            if value is not None:
                function(_WHO, word, value, form)
        self.reward, self.done, self.start = reward, done, start
        self.substeps = whole(_WHO, "substeps", substeps, 1)
        self.length = (
            np.inf if length is None else number(_WHO, "length", length, "s", positive=True)
        )
        low, high = (-np.inf, np.inf) if limits is None else _pair(limits)
        try:
            self.low, self.high = (np.broadcast_to(x, n_u).astype(float) for x in (low, high))
        except ValueError:
            raise ValueError(
                f"{_WHO}: limits must be numbers or {n_u} of them, got {shown(limits)}"
            ) from None
        if not (self.low < self.high).all():
            raise ValueError(
                f"{_WHO}: limits must be (low, high) with low below high, got {limits}"
            )
        self.rng = np.random.default_rng()
        self.t_start = self.stepper.t

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; return what is observed, and nothing else in a dict.

        With a seed the starts of this episode and of those that follow are always the same.
        """
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.stepper.reset(None if self.start is None else self.start(self.rng))
        self.t_start = self.stepper.t
        return self.stepper.y.copy(), {}

    def step(self, action: Any) -> Stepped:
        """Hold an action for some steps; return y, reward, terminated, truncated, info.

        A step that fails ends the episode at the last good one; ``info["failed"]`` says why. What
        a law of the model raises is raised.
        """
        stepper = self.stepper
        stepper.u[:] = self.clipped(action, stepper.u.shape)
        info: dict[str, Any] = {}
        try:
            stepper.step(self.substeps)
        except LawError:
            raise
        except RuntimeError as error:
            info["failed"] = str(error)
        y = stepper.observe().copy() if info else stepper.y.copy()
        reward, ends = self.judged(y, stepper.u)
        late = stepper.t - self.t_start >= self.length - 0.5 * stepper.h
        return y, reward, ends or bool(info), late, info

    def clipped(self, action: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Return actions within their limits; refuse what is no number."""
        u = array(_WHO, "action", action, f"{shape} numbers")
        if u.shape != shape or np.isnan(u).any():
            raise ValueError(
                f"{_WHO}: action must be {shape} numbers ({', '.join(self.inputs.labels)}), got "
                f"{shown(action)}"
            )
        return np.clip(u, self.low, self.high)

    def judged(self, y: np.ndarray, u: np.ndarray) -> tuple[float, bool]:
        """Return the reward, and whether the episode ends."""
        reward = 0.0 if self.reward is None else float(self.reward(y, u))
        return reward, self.done is not None and bool(self.done(y))

    def to_gymnasium(self) -> Any:
        """Return the environment as a ``gymnasium.Env``; needs the extra ``gym``."""
        from mbd.control.gym_wrappers import gymnasium_environment

        return gymnasium_environment(self)

    def to_dm_env(self) -> Any:
        """Return the environment as a ``dm_env.Environment``; needs the extra ``gym``."""
        from mbd.control.gym_wrappers import dm_environment

        return dm_environment(self)


def _pair(limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high."""
    if not isinstance(limits, Sequence) or len(limits) != 2:
        raise ValueError(f"{_WHO}: limits must be (low, high), got {shown(limits)}")
    low, high = (array(_WHO, "limits", x, "numbers [SI]") for x in limits)
    return low, high


class Environments:
    """Many environments of one model, in the rows of one array; a finished one begins again.

    Parameters
    ----------
    environment : Environment
        What each of them is.
    n : int
    starts : int
        How many starts are drawn beforehand; each episode begins at one of them.

    Attributes
    ----------
    y : (n, n_y) array [SI]
        What is observed now.
    """

    def __init__(self, environment: Environment, n: int, starts: int = 64) -> None:
        who = "Environments"
        if not isinstance(environment, Environment):
            raise TypeError(f"{who}: environment must be an Environment, got {shown(environment)}")
        stepper = environment.stepper
        if stepper.run.own is not None or stepper.run.jumps.driven or stepper.model.laws:
            raise ValueError(
                f"{who}: models with laws in Python or laws of motion, and methods in Python, have "
                "one run at a time; describe them by numbers, or use several processes"
            )
        self.environment, self.n = environment, whole(who, "n", n, 1)
        several = whole(who, "starts", starts, 1)
        self.n_starts = several if environment.start is not None else 1
        run = stepper.run
        self._batch = Batch(self.n, run.at)
        F, first = self._batch.F, run.exchange + EXCHANGE_HEAD
        n_u = len(stepper.u)
        self._S = m.integers(F)
        self._u, self.y = F[:, first : first + n_u], F[:, first + n_u :][:, : len(stepper.y)]
        self._all = np.ones(self.n, bool)
        self._done = np.zeros(self.n, np.int64)
        self.reset()

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes, at starts that are drawn again; return what is observed."""
        environment, at = self.environment, self.environment.stepper.run.at
        self._starts = np.empty((self.n_starts, at))
        for k in range(self.n_starts):
            environment.reset(seed if k == 0 else None)
            self._starts[k] = environment.stepper.run.work.F[:at]
        for i in range(self.n):
            self._begin(i)
        return self.y.copy(), {}

    def _begin(self, i: int) -> None:
        """Copy one of the starts to a row."""
        k = self.environment.rng.integers(self.n_starts)
        self._batch.F[i], self._done[i] = self._starts[k], 0

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act on all; return y (n, n_y), rewards, terminated, truncated (n,), info.

        Where an episode ends, y is that of the next start and ``info["final_obs"]`` has the last
        one; ``info["failed"]`` has what steps that failed say, by row.
        """
        environment, S, n = self.environment, self._S, self.environment.substeps
        self._u[:] = environment.clipped(actions, self._u.shape)
        S[:, m.N_STEPS] = n
        stepper = environment.stepper
        self._batch.run(stepper.tables, step_kernel, stepper.record, self._all)
        well = (S[:, m.STATUS] == CONVERGED) & (S[:, m.STEPS_DONE] == n) & (S[:, m.BAD_HOW] == 0)
        failed = {int(i): why for i in np.flatnonzero(~well) if (why := self._with_care(int(i)))}
        self._done += n
        judged = [environment.judged(y, u) for y, u in zip(self.y, self._u, strict=True)]
        rewards, ends = np.array([x[0] for x in judged]), np.array([x[1] for x in judged])
        ends[list(failed)] = True
        late = (self._done + 0.5) * stepper.h >= environment.length
        info: dict[str, Any] = {"failed": failed} if failed else {}
        if over := np.flatnonzero(ends | late).tolist():
            info["final_obs"] = {i: self.y[i].copy() for i in over}
            for i in over:
                self._begin(i)
        return self.y.copy(), rewards, ends, late, info

    def _with_care(self, i: int) -> str:
        """Take the steps of a row that ask for care as a stepper does; return why they failed."""
        stepper, row = self.environment.stepper, self._batch.F[i]
        F, at, left = stepper.run.work.F, stepper.run.at, self.environment.substeps
        F[:at], why = row, ""
        taken, status = stepper.go_on(left)
        while taken < left and status == CONVERGED:
            left -= taken
            taken, status = stepper.take(left)
        if status != CONVERGED:
            why = stepper.run.why()
        stepper.observe()
        row[:] = F[:at]
        return why

    def to_gymnasium(self) -> Any:
        """Return the environments as a ``gymnasium.vector.VectorEnv``; needs the extra ``gym``."""
        from mbd.control.gym_wrappers import gymnasium_environments

        return gymnasium_environments(self)
