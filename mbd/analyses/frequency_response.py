"""Frequency responses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Steady response to sinusoidal inputs.

    Attributes
    ----------
    frequencies : (n,) array [Hz]
    values : (n, outputs, inputs) complex array
        Output over input, in their units.
    inputs, outputs : tuple of str
    units : dict
    """

    frequencies: np.ndarray
    values: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: dict[str, str]

    @property
    def magnitude(self) -> np.ndarray:
        """Amplitude of the output for an input of one unit, (n, outputs, inputs)."""
        return np.abs(self.values)

    @property
    def phase(self) -> np.ndarray:
        """Phase of the output against the input [rad], without jumps."""
        return np.unwrap(np.angle(self.values), axis=0)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw magnitude and phase over frequency."""
        from mbd.drawing.figure import new_figure, saved

        figure = new_figure("plot", figsize=(7, 5.5))
        top, low = figure.subplots(2, 1, sharex=True)
        used = set()
        for j, into in enumerate(self.inputs):
            for i, out in enumerate(self.outputs):
                name = f"{out} for {into}"
                unit = f"{self.units[out]} per {self.units[into]}"
                used.add(unit)
                top.loglog(self.frequencies, self.magnitude[:, i, j], label=f"{name} [{unit}]")
                low.semilogx(self.frequencies, np.degrees(self.phase[:, i, j]))
        top.set_ylabel(f"magnitude [{used.pop()}]" if len(used) == 1 else "magnitude")
        top.legend(fontsize=8)
        low.set_ylabel("phase [deg]")
        low.set_xlabel("frequency [Hz]")
        for ax in (top, low):
            ax.grid(True, which="both", linewidth=0.3)
        return saved(figure, path)
