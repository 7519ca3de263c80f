"""Lengths of vectors whose squares may be too small or too large for a number."""

from typing import Any

import numpy as np


def norms(x: Any, axis: int = -1) -> np.ndarray:
    """Return the Euclidean lengths of vectors of any size, such as forces of 1e-200 N.

    Squares of numbers below 1e-154 are zero, those above 1e154 infinite; over the largest
    component they are neither.
    """
    x = np.asarray(x, float)
    largest = np.abs(x).max(axis, initial=0.0, keepdims=True)
    scale = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
    return np.asarray(scale.squeeze(axis) * np.linalg.norm(x / scale, axis=axis))
