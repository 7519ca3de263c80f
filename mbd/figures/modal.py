"""Pictures of modes, Campbell diagrams and frequency responses (matplotlib)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbd.figures.figure import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.analyses.campbell import Campbell
    from mbd.analyses.modes import Modes

__all__ = ["campbell_figure", "modes_figure", "saved"]


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure if a path is given; return it."""
    if path is not None:
        save_figure(figure, path, "plot")
    return figure


def modes_figure(modes: Modes, path: str | Path | None = None) -> Figure:
    """Draw eigenvalues in the complex plane and kinetic energy by body."""
    figure = new_figure("plot", figsize=(10, 4.2))
    left, right = figure.subplots(1, 2)
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
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set_ylabel("part in the kinetic energy [-]")
    right.set_ylim(0.0, 1.0)
    right.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return saved(figure, path)


def campbell_figure(
    diagram: Campbell, path: str | Path | None = None, orders: tuple[float, ...] = (1.0,)
) -> Figure:
    """Draw frequencies over speed: forward whirl red, backward blue, along a line grey."""
    figure = new_figure("plot", figsize=(7.5, 5))
    ax = figure.subplots()
    speed = diagram.speeds
    rpm = speed * 30 / np.pi
    order_of = np.argsort(rpm)
    for k in range(diagram.eigenvalues.shape[1]):
        turn = np.nanmean(diagram.whirl[:, k])
        colour, dash = ("C3", "-") if turn > 0.1 else ("C0", "-.") if turn < -0.1 else ("0.5", ":")
        ax.plot(rpm[order_of], diagram.frequency[order_of, k], dash, color=colour, linewidth=1.6)
    top = float(np.nanmax(diagram.frequency)) * 1.05
    for order in orders:
        name = f"{order:g} x speed"
        ax.plot(rpm[order_of], order * speed[order_of] / (2 * np.pi), "--", color="0.3", label=name)
    for name, colour, dash in (
        ("forward whirl", "C3", "-"), ("backward whirl", "C0", "-."), ("along a line", "0.5", ":"),
    ):  # fmt: skip
        ax.plot([], [], dash, color=colour, label=name)
    ax.set_ylim(0.0, top)
    ax.set_xlabel("speed [rpm]")
    ax.set_ylabel("frequency [Hz]")
    ax.legend(fontsize=8)
    return saved(figure, path)
