"""Pictures of modes and Campbell diagrams (matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbd.drawing.figure import new_figure, saved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


def modes_figure(
    s: np.ndarray, bodies: Sequence[str], kinetic: np.ndarray, path: str | Path | None = None
) -> Figure:
    """Draw eigenvalues s in the complex plane and kinetic energy (modes, bodies)."""
    figure = new_figure("plot", figsize=(10, 4.2))
    left, right = figure.subplots(1, 2)
    left.axvline(0.0, color="0.8", linewidth=0.8)
    left.plot(s.real, s.imag / (2 * np.pi), "o", color="C0", markersize=5)
    for i, value in enumerate(s):
        left.annotate(
            str(i), (value.real, value.imag / (2 * np.pi)), xytext=(4, 3),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    left.locator_params(axis="x", nbins=5)
    left.set_xlabel("growth, Re s [1/s]")
    left.set_ylabel("frequency [Hz]")
    index = np.arange(len(s))
    base = np.zeros(len(s))
    for k, body in enumerate(bodies[:20]):
        right.bar(index, kinetic[:, k], bottom=base, label=body, width=0.8)
        base += kinetic[:, k]
    right.set_xlabel("mode")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set_ylabel("part in the kinetic energy [-]")
    right.set_ylim(0.0, 1.0)
    right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return saved(figure, path)


def campbell_figure(
    speed: np.ndarray,
    frequency: np.ndarray,
    whirl: np.ndarray,
    path: str | Path | None = None,
    orders: Sequence[float] = (1.0,),
) -> Figure:
    """Draw frequencies [Hz] over speed: forward whirl red, backward blue, along a line grey."""
    figure = new_figure("plot", figsize=(7.5, 5))
    ax = figure.subplots()
    rpm = speed * 30 / np.pi
    order_of = np.argsort(rpm)
    for k in range(frequency.shape[1]):
        turn = np.nanmean(whirl[:, k])
        colour, dash = ("C3", "-") if turn > 0.1 else ("C0", "-.") if turn < -0.1 else ("0.5", ":")
        ax.plot(rpm[order_of], frequency[order_of, k], dash, color=colour, linewidth=1.6)
    top = float(np.nanmax(frequency)) * 1.05
    for k, order in enumerate(orders):
        ax.plot(rpm[order_of], order * speed[order_of] / (2 * np.pi), color="0.3",
                linestyle=(0, (6, 2) + (1, 2) * k), label=f"{order:g} x speed")  # fmt: skip
    drawn = {line.get_color() for line in ax.lines}
    for name, colour, dash in (
        ("forward whirl", "C3", "-"), ("backward whirl", "C0", "-."), ("along a line", "0.5", ":"),
    ):  # fmt: skip
        if colour in drawn:
            ax.plot([], [], dash, color=colour, label=name)
    ax.set_ylim(0.0, top)
    ax.set_xlabel("speed [rpm]")
    ax.set_ylabel("frequency [Hz]")
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
              handlelength=4.0)  # fmt: skip
    return saved(figure, path)
