"""Floor 0. Checks of numbers for functions that stand below the door of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_whole", "numbers", "whole"]


def numbers(
    owner: str, what: str, value: Any, shapes: tuple[tuple[int, ...], ...], unit: str
) -> np.ndarray:
    """Return a finite array of one of the shapes."""
    words = " or ".join("x".join(map(str, s)) + " numbers" if s else "a number" for s in shapes)
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}: {what} must be {words} [{unit}], got {value!r}") from None
    if x.shape not in shapes:
        raise ValueError(f"{owner}: {what} must be {words} [{unit}], got shape {x.shape}")
    if not np.all(np.isfinite(x)):
        raise ValueError(f"{owner}: {what} must be finite [{unit}], got {x.tolist()}")
    return x


def is_whole(value: Any, least: int) -> bool:
    """Tell whether a value is a whole number not below the least; True and 2.0 are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)


def whole(owner: str, what: str, value: Any, least: int) -> int:
    """Return a whole number that is not below the least."""
    if not is_whole(value, least):
        raise ValueError(f"{owner}: {what} must be a whole number, at least {least}, got {value!r}")
    return int(value)
