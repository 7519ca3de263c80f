"""Colours of numbers that may be positive or negative: blue, grey, red (Moreland 2009)."""

from __future__ import annotations

import numpy as np

#: At equal distances from -1 to 1; between them colours are linear in sRGB.
COLORS = (
    "#3b4cc0", "#6788ee", "#9abbff", "#c9d7f0", "#dddddd", "#f2cbb7", "#f7a889", "#e26952",
    "#b40426",
)  # fmt: skip
_RGB = np.array([[int(x[i : i + 2], 16) for i in (1, 3, 5)] for x in COLORS]) / 255


def shade(values: np.ndarray, largest: float) -> np.ndarray:
    """Return colours (..., 3) of values between minus and plus the largest."""
    x = np.clip(values / (largest or 1.0), -1.0, 1.0)
    at = np.linspace(-1.0, 1.0, len(COLORS))
    return np.stack([np.interp(x, at, column) for column in _RGB.T], axis=-1)
