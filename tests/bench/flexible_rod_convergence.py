"""The slider crank with a flexible rod against the published end values, to the last digits.

Run it with ``python tests/bench/flexible_rod_convergence.py`` (two minutes). The scene
``flexible_rod`` runs to 0.1 s with steps of 1, 1/2 and 1/4 microsecond, rows on velocities: at
position level the round-off of positions over h limits the rates to 1e-6. The fastest longitudinal
vibration has 24600 rad/s, 390 periods, and larger steps miss its phase. Printed are the differences
of each step and of the values extrapolated with the orders 2 and 4, in parts of the largest value
in the run.

The published start is consistent to 1e-9 only; the scene takes the slider and the rate of the chord
from the rest. The second reference is the solution of the published equations from that start
(``slopes`` of ``tests/physics/test_flexible_rod.py``, DOP853 with 1e-13).
"""

from __future__ import annotations

import runpy

import numpy as np

import mbd
from mbd.files import scenes

STEPS = (1e-6, 5e-7, 2.5e-7)
NAMES = ("phi2", "q1", "q2", "q3", "q4")
PUBLISHED = {  # Test Set for IVP Solvers, MEBDFI with 1e-14
    "": (-0.331173498825626, 1.893192899613509e-4, 2.375751249879174e-5,
         -5.323896770569702e-6, -8.363313279112129e-6),
    "_rate": (60.25346755138369, -0.03005541400289738, -0.005500431812571696,
              4.974111734266989e-4, 1.105560003626645e-3),
}  # fmt: skip
SAME_START = {  # the published equations from the start of the scene
    "": (
        -0.331173498825619,
        0.0001893192843020588,
        2.3757513204885787e-05,
        -5.3238967781903655e-06,
        -8.363313291670267e-06,
    ),
    "_rate": (
        60.25346755129613,
        -0.030055411709501087,
        -0.005500430645930288,
        0.0004974111663949702,
        0.0011055599715491644,
    ),
}


def histories(solution: mbd.Solution, modes: np.ndarray, ending: str) -> np.ndarray:
    """Return phi2, q1 ... q4 or their rates over time."""
    q = [getattr(solution[x], "displacement" + ending) for x in ("q1", "q2", "mode 1", "mode 2")]
    angle = getattr(solution["chord"], "angle" + ending)
    return np.array([angle, *q[:2], *modes @ np.array(q[2:])])


def main() -> None:
    """Print the table."""
    scene = runpy.run_path(str(scenes.named("flexible_rod")))
    method = mbd.GeneralizedAlpha(rho=0.8, tol=1e-10, newton="full", constraints="velocity")
    ends: list[dict[str, np.ndarray]] = []
    for h in STEPS:
        solution = mbd.simulate(scene["build"](), 0.1, h, method=method, every=round(5e-6 / h))
        runs = {x: histories(solution, scene["MODES"], x) for x in PUBLISHED}
        ends.append({x: y[:, -1] for x, y in runs.items()})
    size = {x: np.abs(y).max(axis=1) for x, y in runs.items()}
    for ending, published in PUBLISHED.items():
        a, b, c = (end[ending] for end in ends)
        limit = (16 * (4 * c - b) / 3 - (4 * b - a) / 3) / 15
        print(" " * 26, *(f"{x + ending:>10}" for x in NAMES))
        lines = [(f"{h:.2e} s", y, published) for h, y in zip(STEPS, (a, b, c), strict=True)]
        lines += [("extrapolated", limit, published), ("  to the same start", limit,
                  SAME_START[ending])]  # fmt: skip
        for words, y, reference in lines:
            print(f"{words:26}", *(f"{e:10.1e}" for e in (y - reference) / size[ending]))


if __name__ == "__main__":
    main()
