"""Lines across parallel axes, one for each member of a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.drawing.figure import checked_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 5000  # lines that a picture has


def parallel_axes(who: str, columns: Mapping[str, np.ndarray], color: str, ax: Any) -> "Figure":
    """Draw each row of columns (n,) as a line, coloured by one of them."""
    ax = checked_axes(ax, who)
    if ax is None:
        ax = new_figure(who, figsize=(1.2 + 1.5 * len(columns), 4.0)).subplots()
    scaled = [_scaled(x) for x in columns.values()]
    y = np.array([x for x, _ in scaled]).T
    y = y[:: -(-len(y) // _MOST)]
    _lines(ax, y, y[:, list(columns).index(color)])
    for i, (_, ticks) in enumerate(scaled):
        ax.axvline(i, color="black", linewidth=0.8)
        for height, text in ticks:
            side = {0.0: -1, 1.0: 1}.get(height, 0)  # ends of the axis stand beyond it
            ax.annotate(
                text, (i, height), (0 if side else 4, 4 * side), textcoords="offset points",
                ha="center" if side else "left", va=("center", "bottom", "top")[side], fontsize=8,
                bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
    ax.set_xticks(range(len(columns)), [x.replace(" ", "\n") for x in columns], fontsize=8)
    ax.set(xlim=(-0.3, len(columns) - 0.7), ylim=(-0.08, 1.08), yticks=[])
    ax.set_title(f"colour: {color}", fontsize=9)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax.figure  # type: ignore[no-any-return]


def _lines(ax: Any, y: np.ndarray, tone: np.ndarray) -> None:
    """Draw lines of heights y (n, axes), coloured by tone (n,); those that end are gray."""
    from matplotlib.collections import LineCollection

    whole = np.isfinite(y).all(axis=1)
    x = np.arange(y.shape[1])
    alpha = float(np.clip(60.0 / max(1, len(y)), 0.15, 0.9))
    for some, ends in ((~whole, True), (whole, False)):
        segments = [np.column_stack([x, line])[np.isfinite(line)] for line in y[some]]
        lines = LineCollection(segments, alpha=alpha, linewidth=0.9, cmap="viridis")
        if ends:
            lines.set(color="0.6", linestyle="--")
        else:
            lines.set_array(tone[some])
            lines.set_clim(0.0, 1.0)
        ax.add_collection(lines)


def _scaled(values: np.ndarray) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """Return heights from 0 to 1, and ticks: both ends, or each text."""
    if values.dtype.kind not in "biuf":
        words, where = np.unique(values.astype(str), return_inverse=True)
        heights = np.linspace(0.0, 1.0, len(words)) if len(words) > 1 else np.array([0.5])
        return heights[where.reshape(-1)], list(zip(heights.tolist(), words.tolist(), strict=True))
    x = np.where(np.isfinite(values.astype(float)), values.astype(float), np.nan)
    if not np.isfinite(x).any():
        return x, []
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    if low == high:
        return np.where(np.isnan(x), np.nan, 0.5), [(0.5, f"{low:.4g}")]
    return (x - low) / (high - low), [(0.0, f"{low:.4g}"), (1.0, f"{high:.4g}")]
