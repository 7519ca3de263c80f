"""Plan of a run: end time, step sizes, tolerances, and the instants to be kept; its options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mbd.base.checked import floats, is_whole, shown
from mbd.base.door import number
from mbd.base.parameter import PLAIN
from mbd.base.tolerances import ROUND_OFF, WHOLE_STEPS
from mbd.integration.method import Method, name_of
from mbd.integration.starting_values import Nearby
from mbd.linear.saddle import Saddle
from mbd.machine import buffer as m
from mbd.model.model import Model
from mbd.model.state import State
from mbd.model.workspace import Workspace

MOST_STEPS = 1e15
_UNKNOWN_KINDS = {"translation": m.TRANSLATION, "rotation": m.ROTATION, "director": m.DIRECTOR}


@dataclass(frozen=True)
class Plan:
    """Plan of a run: how far, by which steps, and what is kept.

    Parameters
    ----------
    t_end : float [s]
    step : float [s]
        Of every step, or of the first one where steps are free.
    every : int
        Keep every so many steps.
    rtol : float
        Relative tolerance of free steps; infinite where they are fixed.
    atol : (n_kinds,) tuple
        Absolute tolerances by kind of unknown.
    max_step : float [s]
    times : (n,) array, optional
        Times to be kept instead of steps.
    estimated : bool
        Whether the first of free steps was estimated.
    expected : int
        About how many instants will be kept.
    """

    NEVER: ClassVar[int] = 2**62  #: of `every`: nothing is kept

    t_end: float
    step: float
    every: int = 1
    rtol: float = np.inf
    atol: tuple[float, ...] = (0.0,) * m.N_UNKNOWN_KINDS
    max_step: float = np.inf
    times: np.ndarray | None = None
    expected: int = 64
    estimated: bool = False

    @property
    def free(self) -> bool:
        """Whether the loop chooses its steps, or must look inside of them."""
        return bool(np.isfinite(self.rtol) or self.times is not None)


def number_of_steps(who: str, length: float, step: float) -> float:
    """Return how many steps are in a time; so many that time cannot be counted are refused."""
    if not length < MOST_STEPS * step:
        raise ValueError(
            f"{who}: t_end / step must be less than {MOST_STEPS:.0e} steps, beyond which time "
            f"cannot be counted, got steps of {step:.3g} s in {length:.3g} s; give a larger one"
        )
    return length / step


def whole_steps(who: str, length: float, step: float, why: str = "") -> int:
    """Return how many steps a time has; one that they do not divide is refused."""
    n = number_of_steps(who, length, step)
    if round(n) < 1 or abs(n - round(n)) > WHOLE_STEPS * n:
        whole = length / max(1.0, np.ceil(n))
        raise ValueError(
            f"{who}: the step must divide the time {length:g} s{why}, got {step:g} s; take "
            f"{whole:.9g} s"
        )
    return round(n)


def checked_plan(
    model: Model, first: State, method: Method, *, t_end: Any, step: Any, rtol: Any, atol: Any,
    max_step: Any, t_eval: Any, every: Any, saddle: Saddle | None = None,
) -> Plan:  # fmt: skip
    """Return the plan of a run from the arguments of ``simulate``.

    The `saddle` is the matrix that gave the accelerations of the first state, if it is at hand.
    """
    who = "simulate"
    t_end = number(who, "t_end", t_end, "s", positive=True)
    if t_end <= first.t:
        raise ValueError(f"{who}: t_end must lie after the start {first.t:g} s, got {t_end:g}")
    if not (t_end - first.t) ** 2 >= np.finfo(float).tiny:
        raise ValueError(
            f"{who}: t_end must be so far after the start that the square of the time between is "
            f"a number, some 1e-154 s, got {t_end - first.t:g}"
        )
    if not is_whole(every, 1):
        raise ValueError(f"{who}: every must be a whole number from 1, got {shown(every)}")
    if step is None and rtol is None:
        raise TypeError(
            f"{who}: step [s] must be given, or rtol [-] to let the steps be chosen; e.g. "
            "step=1e-3 or rtol=1e-6"
        )
    if step is not None:
        step = number(who, "step", step, "s", positive=True)
    times = None if t_eval is None else _times(t_eval, first.t, t_end)
    free = rtol is not None or times is not None
    steps_of_choice = method.facts.free
    if free and steps_of_choice is None:
        raise ValueError(
            f"{who}: rtol and t_eval need GeneralizedAlpha, got {name_of(method)}, which has "
            "steps of one size; give step alone"
        )
    if free and steps_of_choice is not None and steps_of_choice.check is not None:
        steps_of_choice.check(model, rtol is not None)
    for word, value in (("atol", atol), ("max_step", max_step)):
        if value is not None and rtol is None:
            raise ValueError(f"{who}: {word} belongs to free steps; give rtol too, got none")
    if rtol is None:
        steps = number_of_steps(who, t_end - first.t, step)
        expected = int(steps / every) + 3 if times is None else len(times) + 2
        return Plan(t_end, step, int(every), times=times, expected=expected)
    if not ROUND_OFF <= number(who, "rtol", rtol, "-", positive=True) < 1.0:
        raise ValueError(f"{who}: rtol must be in [{ROUND_OFF:g}, 1) [-], got {rtol}")
    absolute = _absolute(atol)
    left = t_end - first.t
    fewest = 100 if steps_of_choice is None else steps_of_choice.fewest
    largest = (
        left / fewest if max_step is None else number(who, "max_step", max_step, "s", positive=True)
    )
    plan = Plan(
        t_end, largest, int(every), float(rtol), absolute, largest, times, estimated=step is None
    )
    if step is None:
        work = Workspace(model) if saddle is None else saddle.work
        step = float(first_steps(method, plan, Nearby(work, first, saddle)))
    return replace(plan, step=min(step, largest))


def first_steps(method: Method, plan: Plan, near: Nearby) -> np.ndarray:
    """Return the first of free steps (...,) [s] of one run or of many."""
    assert method.facts.free is not None
    absolute = np.array(plan.atol)[near.work.model.numbering.v_kinds]
    allowed = (plan.rtol * near.work.units + absolute) / (plan.t_end - near.state.t)
    return np.asarray(method.facts.free.first_step(near, allowed, plan.max_step))


def _times(t_eval: Any, start: float, t_end: float) -> np.ndarray:
    """Check the times that are asked for."""
    try:
        times = np.atleast_1d(floats(t_eval))
    except TypeError:
        raise TypeError(f"simulate: t_eval must be times [s], (n,), got {shown(t_eval)}") from None
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
        raise ValueError(f"simulate: t_eval must be finite times [s], (n,), got {shown(t_eval)}")
    if np.any(np.diff(times) <= 0) or times[0] < start or times[-1] > t_end:
        raise ValueError(
            f"simulate: t_eval must rise within [{start:g}, {t_end:g}] s, got values from "
            f"{times.min():g} to {times.max():g}"
        )
    return times


def _absolute(atol: Any) -> tuple[float, ...]:
    """Return the absolute tolerance of each kind of unknown."""
    values = [0.0] * m.N_UNKNOWN_KINDS
    if atol is None:
        return tuple(values)
    tolerances = atol if isinstance(atol, Mapping) else dict.fromkeys(_UNKNOWN_KINDS, atol)
    for name, value in tolerances.items():
        if name not in _UNKNOWN_KINDS:
            raise ValueError(
                f"simulate: atol has no kind {name!r}; there are {', '.join(_UNKNOWN_KINDS)}"
            )
        values[_UNKNOWN_KINDS[name]] = number(
            "simulate", f"atol[{name}]", value, "-", positive=False
        )
    return tuple(values)


def run_options(**options: Any) -> dict[str, Any]:
    """Return the options of a run that are not their default, in SI units, without numpy.

    ``mbd.simulate(model, **options)`` starts the same run again, but for events, of which there are
    the names; ``t_eval`` is what ``solution.t`` has.
    """
    values = {name: plain(x) for name, x in options.items()}
    return {name: x for name, x in values.items() if x is not None and x != []}


def plain(value: Any) -> Any:
    """Return a value without numpy in it."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
