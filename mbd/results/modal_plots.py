"""Floor 5. Pictures of modes, Campbell diagrams and frequency responses (matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.results.modes import Modes

__all__ = ["modes_figure", "pyplot", "saved"]


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "plot: drawing needs matplotlib, which is an extra; pip install 'mbd[plot]'"
        ) from None
    return plt


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure if a path is given; return it."""
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    return figure


def modes_figure(modes: Modes, path: str | Path | None = None) -> Figure:
    """Draw eigenvalues in the complex plane and kinetic energy by body."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    s = modes.eigenvalues
    left.axvline(0.0, color="0.8", linewidth=0.8)
    left.plot(s.real, s.imag / (2 * np.pi), "o", color="C0", markersize=5)
    for i, value in enumerate(s):
        left.annotate(
            str(i), (value.real, value.imag / (2 * np.pi)), xytext=(4, 3),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    left.set_xlabel("growth, Re s [1/s]")
    left.set_ylabel("frequency [Hz]")
    index = np.arange(len(modes))
    base = np.zeros(len(modes))
    for k, body in enumerate(modes.bodies[:20]):
        right.bar(index, modes.kinetic[:, k], bottom=base, label=body, width=0.8)
        base += modes.kinetic[:, k]
    right.set_xlabel("mode")
    right.set_ylabel("part in the kinetic energy [-]")
    right.set_ylim(0.0, 1.0)
    right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return saved(figure, path)
