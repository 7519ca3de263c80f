"""Moving pictures of modes: one period of each, one after the other, then the model at rest."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.above import MovingPicture, from_above
from mbd.base.checked import listed, place
from mbd.base.door import number
from mbd.front.solution import solution_of
from mbd.model.model import Model
from mbd.model.state import State
from mbd.small_motions.eigenvalues import Exponents

INSTANTS = 41  # of a period
_SMALL = 1e-3  # amplitude whose forces are linear, of the one that is seen
_FEW = 12  # modes that are shown if nobody says which
_PACE = 0.25  # periods per second of the viewer


def period(modes: Exponents, i: int) -> float:
    """Return the period of a mode [s]; one that does not oscillate is shown once a second."""
    return 1.0 / float(modes.frequency[i]) if modes.frequency[i] > 0.0 else 1.0


def animate(
    modes: Exponents, labels: Sequence[str], model: Model,
    pose: Callable[[int, float, float], State], path: str | Path | None,
    which: Iterable[int] | int | None, amplitude: float, options: dict[str, Any],
) -> MovingPicture:  # fmt: skip
    """Return the moving picture of modes, or of one, and write it if there is a path.

    ``pose`` is the state of mode i with an amplitude at a phase [rad]. The time of several modes is
    in periods, that of one in seconds.
    """
    owner = f"{type(modes).__name__}.animate"
    one, n = isinstance(which, int), len(modes)
    wanted = [which] if one else range(min(n, _FEW)) if which is None else listed(
        f"{owner}: which must be a list of numbers of modes", which)  # fmt: skip
    shown = [range(n)[place(owner, "which", i, n)] for i in wanted]
    if not shown:
        raise ValueError(f"{owner}: there is nothing to show: no modes")
    amplitude = number(owner, "amplitude", amplitude, "-")
    unit = period(modes, shown[0]) if one else 1.0

    def poses(a: float, parts: np.ndarray) -> list[State]:
        return [pose(i, a, 2.0 * np.pi * x) for i in shown for x in parts.tolist()]

    period_each = poses(amplitude, np.linspace(0.0, 1.0, INSTANTS))
    large = [*period_each, pose(shown[0], 0.0, 0.0)]
    t = (np.arange(len(large)) * (unit / (INSTANTS - 1))).tolist()
    run = solution_of(model, [x.replace(t=s) for x, s in zip(large, t, strict=True)])
    small = solution_of(model, poses(_SMALL * amplitude, np.arange(4) / 4))
    f, damping = modes.frequency, modes.damping
    words = [(f"{i}: {f[i]:.4g} Hz, damping {damping[i]:.2g}, {labels[i]}",
              1.0 if one else period(modes, i)) for i in shown]  # fmt: skip
    defaults = {"ghosts": t[-1]} | ({} if one else {"speed": _PACE})
    told = small, 1.0 / _SMALL, words
    return from_above("Solution.animate", run, path, told, **(defaults | options))
