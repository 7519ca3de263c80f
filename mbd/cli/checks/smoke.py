"""A short run whose result is known: ``python -m mbd.cli.checks.smoke`` prints JSON."""

from __future__ import annotations

import json
import time

EXACT = (-0.0902292085737, 0.0, -0.9959210259454)  # [m], sin(theta/2) = k sn(K - w t), at 0.5 s
TOLERANCE = 2e-5  # [m], for steps of 1 ms


def main() -> None:
    """Swing a rod from the horizontal and print what came out, and how long it took."""
    clock = time.perf_counter()
    import mbd

    system = mbd.System(gravity=(0, 0, -9.81))
    J = (1e-4, 1 / 12, 1 / 12)
    rod = system.add(mbd.RigidBody("rod", mass=1.0, inertia=J, position=(0.5, 0, 0)))
    system.add(mbd.Revolute("hinge", system.ground, rod, at=(0, 0, 0), axis=(0, 1, 0)))
    model = system.build()
    mbd.simulate(model, 1e-3, 1e-3)
    first = time.perf_counter() - clock
    solution = mbd.simulate(model, 0.5, 1e-3)
    tip = solution["rod"].at((0.5, 0, 0)).position[-1].tolist()
    stats = solution.stats
    from mbd.integration.newton_loop import advance
    from mbd.machine.jit import PYTHON

    result = {
        "tip": tip,
        "error": max(abs(a - b) for a, b in zip(tip, EXACT, strict=True)),
        "tolerance": TOLERANCE,
        "seconds_to_first_step": first,
        "microseconds_per_step": 1e6 * stats["seconds"] / stats["steps"],
        "cache": None if PYTHON else str(advance.file.parent) if advance.file else "",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
