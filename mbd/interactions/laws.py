"""Floor 1. Laws from a user: a Python or a numba function becomes an address in a table.

Law of time: ``f(t) -> 3 numbers``, or one. Law of a spring: ``f(u, rate, t) -> tension`` or
``(tension, d/du, d/drate)``; with a tension alone the derivatives are taken by central differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mbd.algebra.jit import external, is_compiled

__all__ = ["Law", "number_law", "spring_law", "time_law"]

_STEP = 6e-6  # relative, the cube root of round-off


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


def time_law(owner: str, function: Callable[[float], Any]) -> Law:
    """Prepare ``function(t) -> (x, y, z)``."""

    def evaluate(inputs: Any, outputs: Any) -> None:
        value = function(inputs[0])
        outputs[0] = value[0]
        outputs[1] = value[1]
        outputs[2] = value[2]

    value = function(0.0)
    if len(value) != 3:
        raise ValueError(
            f"{owner}: the law of time must return 3 components, got {value!r} at t = 0; "
            "return a tuple (x, y, z)"
        )
    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 3)


def number_law(owner: str, function: Callable[[float], float]) -> Law:
    """Prepare ``function(t) -> number``."""

    def evaluate(inputs: Any, outputs: Any) -> None:
        outputs[0] = function(inputs[0])

    value = function(0.0)
    if not isinstance(value, int | float):
        raise ValueError(f"{owner}: the law of time must return a number, got {value!r} at t = 0")
    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 1)


def spring_law(owner: str, function: Callable[[float, float, float], Any], u: float) -> Law:
    """Prepare ``function(u, rate, t)``; u is a value of the measure to try it at."""
    trial = function(u, 0.0, 0.0)
    many = not isinstance(trial, (int, float)) and hasattr(trial, "__len__")
    if many and len(trial) != 3:
        raise ValueError(
            f"{owner}: the law must return a tension, or (tension, d/du, d/drate), got {trial!r}"
        )
    if many:

        def evaluate(inputs: Any, outputs: Any) -> None:
            value = function(inputs[0], inputs[1], inputs[2])
            outputs[0] = value[0]
            outputs[1] = value[1]
            outputs[2] = value[2]

    else:

        def evaluate(inputs: Any, outputs: Any) -> None:
            u, rate, t = inputs[0], inputs[1], inputs[2]
            du, dr = _STEP * (1 + abs(u)), _STEP * (1 + abs(rate))
            outputs[0] = function(u, rate, t)
            outputs[1] = (function(u + du, rate, t) - function(u - du, rate, t)) / (2 * du)
            outputs[2] = (function(u, rate + dr, t) - function(u, rate - dr, t)) / (2 * dr)

    return _compiled(owner, evaluate) if is_compiled(function) else _python(owner, evaluate, 3)
