"""Diagrams of section forces along a beam: normal force, shear, torsion, bending (matplotlib)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbd.base.checked import absent, shown
from mbd.base.door import array
from mbd.figures.figure import checked_axes
from mbd.history.beams import SECTION_FORCES, BeamHistory
from mbd.pictures.plots import DASHES, finish, new_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mbd.history.history import History
    from mbd.store.stored import StoredHistory

_ORDER = list(SECTION_FORCES)
_PANELS = (("N",), ("V2", "V3"), ("T",), ("M2", "M3"))
_MOST = 5  # instants in one diagram


def diagram(
    solution: History | StoredHistory, beam: str, names: tuple[str, ...], t: Any, ax: Any
) -> Figure:
    """Draw section forces along a beam; see ``Solution.diagram``."""
    history = solution[beam]
    if not isinstance(history, BeamHistory):
        raise ValueError(f"diagram: {beam!r} is no beam; give the name of a mbd.Beam")
    for name in names:
        if name not in SECTION_FORCES:
            raise ValueError(f"diagram: {absent('', name, SECTION_FORCES)}")
    times, k = _instants(np.asarray(solution.t), t)
    s = history.sections.stations.ravel()
    values = history.section_forces.reshape(len(solution.t), -1, 6)
    panels = [tuple(x for x in some if x in (names or some)) for some in _PANELS]
    panels = [some for some in panels if some]
    axes = [checked_axes(ax, "diagram")]
    if axes[0] is None:
        axes = new_panels("diagram", len(panels), 1.7)
    elif len({SECTION_FORCES[x][0] for some in panels for x in some}) > 1:
        raise ValueError(
            "diagram: with ax= all section forces must have one unit, got "
            f"{', '.join(x for some in panels for x in some)}; name some, such as 'M2', 'M3'"
        )
    else:
        panels = [tuple(x for some in panels for x in some)]
    for where, some in zip(axes, panels, strict=True):
        _draw(where, some, s, values, times, k)
    over = f"t = {times[0]:.4g} s" if len(k) == 1 else f"{len(k)} instants"
    if t is None and len(values) > 1:
        over = f"envelope over {times[0]:.4g} to {times[-1]:.4g} s"
    axes[0].set_title(f"{beam}: {over}", fontsize="medium")
    axes[-1].set_xlabel("length along the beam [m]")
    return axes[0].figure  # type: ignore[no-any-return]


def _instants(there: np.ndarray, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the instants nearest to those asked for; of an envelope the ends, and no lines."""
    if not len(there):
        raise ValueError("diagram: there is nothing to draw, the run has no instants")
    if t is None:
        return there[[0, -1]], np.arange(1 if len(there) == 1 else 0)
    wanted = np.atleast_1d(array("diagram", "t", t, "one or more instants [s]"))
    if wanted.ndim != 1 or not 0 < len(wanted) <= _MOST or not np.isfinite(wanted).all():
        raise ValueError(
            f"diagram: t must be 1 to {_MOST} instants [s], got {shown(t)}; for all of them leave "
            "it out"
        )
    k = np.abs(there - wanted[:, None]).argmin(axis=1)
    return there[k], k


def _draw(
    ax: Any, names: tuple[str, ...], s: np.ndarray, values: np.ndarray, times: Any, k: np.ndarray
) -> None:
    """Draw the section forces of one panel."""
    for i, name in enumerate(names):
        x, color = values[..., _ORDER.index(name)], f"C{i}"
        if not len(k):
            low, high = x.min(axis=0), x.max(axis=0)
            ax.fill_between(s, low, high, color=color, alpha=0.25, linewidth=0.0)
            ax.plot(s, high, color=color, linewidth=1.4, linestyle=DASHES[i], label=name)
            ax.plot(s, low, color=color, linewidth=1.4, linestyle=DASHES[i])
        for j, one in enumerate(k):
            label = name if len(k) == 1 else f"{name}, {times[j]:.4g} s"
            dashes = DASHES[(i + j * len(names)) % len(DASHES)]
            ax.plot(s, x[one], color=f"C{i + j * len(names)}", linestyle=dashes, label=label)
            if len(k) == 1:
                ax.fill_between(s, 0.0, x[one], color=color, alpha=0.15, linewidth=0.0)
    unit, word = SECTION_FORCES[names[0]]
    ax.set_ylabel(f"{word} [{unit}]" if len(names) > 1 else f"{names[0]}, {word} [{unit}]")
    ax.axhline(0.0, color="0.3", linewidth=0.7, zorder=1)
    finish(ax, len(ax.get_legend_handles_labels()[1]) > 1)
