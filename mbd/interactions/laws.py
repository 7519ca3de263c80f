"""Floor 1. Laws from a user: a Python or a numba function becomes an address in a table.

Law of time: ``f(t) -> 3 numbers``, or one. Law of a spring: ``f(u, rate, t) -> tension`` or
``(tension, d/du, d/drate)``; with a tension alone the derivatives are taken by central differences.
Law of a motion: ``f(t) -> value`` or ``(value, d/dt, d2/dt2)``; given derivatives are checked
against differences, those not given are taken by differences of fourth order.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbd.algebra.jit import external, is_compiled

__all__ = ["Law", "motion_law", "number_law", "spring_law", "time_law"]

_STEP = 6e-6  # relative, the cube root of round-off
_TICK = 2e-3  # s, of the differences in time
_TIMES = (0.0, 0.0137, 0.1071, 0.3319, 0.7129, 1.3871, 2.9173, 7.1931)  # where laws are checked [s]
_WRONG = 1e-4  # relative difference that is no round-off


@dataclass
class Law:
    """A user's law: its address and what must stay alive while it is used.

    An exception raised by a Python law cannot pass through compiled code: it is kept here, the
    law returns NaN, the step fails, and the solver raises the kept exception.
    """

    name: str
    address: int = 0
    keeper: Any = None
    raised: list[BaseException] = field(default_factory=list)


def _python(owner: str, evaluate: Callable[[Any, Any], None], n_out: int) -> Law:
    law = Law(owner)

    def guarded(inputs: Any, outputs: Any) -> None:
        try:
            evaluate(inputs, outputs)
        except BaseException as error:
            law.raised.append(error)
            for i in range(n_out):
                outputs[i] = math.nan

    law.address, law.keeper = external(guarded, compiled=False)
    return law


def _compiled(owner: str, evaluate: Callable[[Any, Any], None]) -> Law:
    law = Law(owner)
    law.address, law.keeper = external(evaluate, compiled=True)
    return law


def _tried(owner: str, function: Callable[..., Any], names: str, *at: float) -> Any:
    """Return what a law gives, if it takes these arguments."""
    try:
        inspect.signature(getattr(function, "py_func", function)).bind(*at)
    except TypeError as error:
        raise TypeError(
            f"{owner}: its law must be a function f({names}), got {function!r} ({error})"
        ) from None
    except ValueError:  # built-in functions do not tell
        pass
    try:
        return function(*at)
    except Exception as error:
        raise ValueError(
            f"{owner}: its law f({names}) raised {type(error).__name__}: {error} at "
            f"({', '.join(f'{x:g}' for x in at)}); let it return a value there"
        ) from error


def _alone(owner: str, value: Any, what: str) -> None:
    """Refuse what is no number."""
    try:
        float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: the law must return {what}, got {value!r}") from None


def time_law(owner: str, function: Callable[[float], Any]) -> Law:
    """Prepare ``function(t) -> (x, y, z)``."""

    def evaluate(inputs: Any, outputs: Any) -> None:
        value = function(inputs[0])
        outputs[0] = value[0]
        outputs[1] = value[1]
        outputs[2] = value[2]

    value = _tried(owner, function, "t", 0.0)
    if np.shape(value) != (3,):
        raise ValueError(
            f"{owner}: the law of time must return 3 components, got {value!r} at t = 0; "
            "return a tuple (x, y, z)"
        )
    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 3)


def number_law(owner: str, function: Callable[[float], float]) -> Law:
    """Prepare ``function(t) -> number``."""

    def evaluate(inputs: Any, outputs: Any) -> None:
        outputs[0] = function(inputs[0])

    value = _tried(owner, function, "t", 0.0)
    if not isinstance(value, int | float):
        raise ValueError(f"{owner}: the law of time must return a number, got {value!r} at t = 0")
    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 1)


def _check_motion(owner: str, function: Callable[[float], Any], order: int) -> None:
    """Refuse derivatives that are not those of the law; a kink may lie near some of the times."""
    worst, wrong = "", 0
    for k in range(1, order + 1):
        wrong = 0
        for t in _TIMES:
            given = float(function(t)[k])
            h = 1e-5 * (1 + t)
            before, after = (float(function(t + s * h)[k - 1]) for s in (-1, 1))
            found = (after - before) / (2 * h)
            scale = max(abs(given), abs(found), 1e-6 * (abs(before) + abs(after)) / h, 1e-9)
            if not abs(given - found) <= _WRONG * scale:
                wrong += 1
                worst = (
                    f"{'first' if k == 1 else 'second'} derivative at t = {t:g} s is {given:.9g}, "
                    f"but differences give {found:.9g}"
                )
        if wrong > 2:
            raise ValueError(
                f"{owner}: the derivatives that the law returns are not those of its value: the "
                f"{worst}; correct them, or return the value alone"
            )


def motion_law(owner: str, function: Callable[[float], Any], order: int) -> Law:
    """Prepare ``function(t) -> value`` or (value, d/dt, ...) with `order` derivatives, or more."""
    trial = _tried(owner, function, "t", 0.0)
    many = not isinstance(trial, (int, float)) and hasattr(trial, "__len__")
    if many and len(trial) not in (order + 1, 3):
        wanted = "(value, rate, second rate)" if order == 2 else "(value, rate)"
        raise ValueError(
            f"{owner}: the law of time must return a number or {wanted}, got {trial!r} at t = 0"
        )
    if many:
        _check_motion(owner, function, order)
    else:
        _alone(owner, trial, "a number or (value, rate, second rate)")
    n = len(trial) if many else 1

    if many and n == 3:

        def evaluate(inputs: Any, outputs: Any) -> None:
            value = function(inputs[0])
            outputs[0] = value[0]
            outputs[1] = value[1]
            outputs[2] = value[2]

    elif many:

        def evaluate(inputs: Any, outputs: Any) -> None:
            value = function(inputs[0])
            outputs[0] = value[0]
            outputs[1] = value[1]
            outputs[2] = 0.0

    else:

        def evaluate(inputs: Any, outputs: Any) -> None:
            t, h = inputs[0], _TICK
            a, b, c = function(t - 2 * h), function(t - h), function(t)
            d, e = function(t + h), function(t + 2 * h)
            outputs[0] = c
            outputs[1] = (8 * (d - b) - (e - a)) / (12 * h)
            outputs[2] = (16 * (b + d) - (a + e) - 30 * c) / (12 * h * h)

    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 3)


def spring_law(
    owner: str, function: Callable[[float, float, float], Any], u: float, sign: float = 1.0
) -> Law:
    """Prepare ``function(u, rate, t)``; u is a value to try it at, sign -1 for a push."""
    trial = _tried(owner, function, "u, rate, t", u, 0.0, 0.0)
    many = not isinstance(trial, (int, float)) and hasattr(trial, "__len__")
    if many and len(trial) != 3:
        raise ValueError(
            f"{owner}: the law must return a tension, or (tension, d/du, d/drate), got {trial!r}"
        )
    if not many:
        _alone(owner, trial, "a number, or (number, d/du, d/drate)")
    if many:

        def evaluate(inputs: Any, outputs: Any) -> None:
            value = function(inputs[0], inputs[1], inputs[2])
            outputs[0] = sign * value[0]
            outputs[1] = sign * value[1]
            outputs[2] = sign * value[2]

    else:

        def evaluate(inputs: Any, outputs: Any) -> None:
            u, rate, t = inputs[0], inputs[1], inputs[2]
            du, dr = _STEP * (1 + abs(u)), _STEP * (1 + abs(rate))
            du2, dr2 = 2 * du * sign, 2 * dr * sign  # sign is 1 or -1
            outputs[0] = sign * function(u, rate, t)
            outputs[1] = (function(u + du, rate, t) - function(u - du, rate, t)) / du2
            outputs[2] = (function(u, rate + dr, t) - function(u, rate - dr, t)) / dr2

    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 3)
