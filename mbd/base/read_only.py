"""Arrays that cannot be written to: a number that is changed in place would be in no record."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")
PLAIN = frozenset((float, int, str, bool, type(None)))  # of values that are nobody's


def read_only(value: Value) -> Value:
    """Return the value; numpy refuses to write to it, or to arrays in it: tuples, lists, dicts."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple | list | dict):
        for x in value.values() if isinstance(value, dict) else value:
            if type(x) not in PLAIN:
                read_only(x)
    return value


def own(value: Any) -> Any:
    """Return an array that cannot be written to, a copy of one that somebody may write to."""
    if not isinstance(value, np.ndarray) or (value.base is None and not value.flags.writeable):
        return value
    return read_only(value.copy())
