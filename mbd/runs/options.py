"""What a run was asked for, as plain values: kept with its results, and given again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["asked", "plain"]


def asked(**options: Any) -> dict[str, Any]:
    """Return the options of a run that were given, numbers in SI, without numpy.

    ``mbd.simulate(model, **options)`` asks for the same again, but for events: of these there are
    the names, and ``t_eval`` is what ``solution.t`` has.
    """
    given = {name: plain(x) for name, x in options.items()}
    return {name: x for name, x in given.items() if x is not None and x != []}


def plain(value: Any) -> Any:
    """Return a value without numpy in it."""
    if isinstance(value, Mapping):
        return {str(key): plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
