"""Three-blade rotor on a tower: seconds of motion in a second of the processor, h = 5 ms.

Run ``python tests/bench/rotor_in_real_time.py``. The model is ``models/three_blade_rotor.py``:
three blades and a tower of 20 elements each, nacelle and hub. Printed is the median of some runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import mbd

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))
import three_blade_rotor as scene


def ratio(model: mbd.Model, t_end: float, step: float) -> float:
    """Return seconds of motion in a second."""
    start = time.process_time()
    mbd.simulate(model, t_end, step)
    return t_end / (time.process_time() - start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=20, help="of a blade and of the tower")
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    model = scene.build(options.elements).build()
    step = scene.RUN["step"]
    ratio(model, 10 * step, step)
    ratios = [ratio(model, 2.0, step) for _ in range(options.turns)]
    print(
        f"{len(model.nodes)} bodies, h = {step:g} s: {statistics.median(ratios):.1f} times faster "
        f"than real time ({min(ratios):.1f} to {max(ratios):.1f})"
    )
