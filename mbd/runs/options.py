"""Options of a run as plain values, kept with its results: they start the same run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbd.base.parameter import PLAIN


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
