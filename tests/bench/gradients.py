"""Cost of derivatives: a chain of 20 bodies, by few and by many parameters, in runs.

``python tests/bench/gradients.py [STEPS]``: process time of a run, and of all that ``gradient``
does besides it, for 1, 10 and 100 parameters: stencils, tables, the way back; least of three turns.
Tangents forwards for comparison.
"""

import sys
import time

import mbd

N, STEP = 20, 1e-3


def chain(n):
    """Return a chain of bars in so3 on hinges that are not parallel."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        bar = system.add(
            mbd.RigidBody(f"bar {i}", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0))
        )
        axis = ((0, 1, 0), (0, 0, 1))[i % 2]
        system.add(mbd.Revolute(f"pin {i}", last, bar, at=(i, 0, 0), axis=axis))
        last = bar
    return system


def timed(function, *args, **options):
    """Return result and process time [s]."""
    begin = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - begin


def main():
    """Print the table."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    system = chain(N)
    names = [
        f"bar {i}.{x}"
        for i in range(N)
        for x in ("mass", "inertia.xx", "inertia.yy", "inertia.zz", "center_of_mass.x")
    ]
    objective = mbd.Objective(terminal=lambda last: last[f"bar {N - 1}"].position[2])
    t_end, method = STEP * steps, mbd.GeneralizedAlpha(tol=1e-11)
    for some in (names[:1], names[:10], names):
        mbd.gradient(objective, system, some, 20 * STEP, STEP)  # kernels
        turns = []
        for _ in range(3):
            _, alone = timed(mbd.simulate, system, t_end, STEP, method=method)
            _, whole = timed(mbd.gradient, objective, system, some, t_end, STEP)
            turns.append(((whole - alone) / alone, alone, whole))
        back, alone, whole = min(turns)
        line = f"{len(some):4d} parameters: run {alone:.3f} s, gradient {whole:.3f} s: the run and "
        line += f"{back:.2f} more"
        if len(some) < len(names):
            _, ahead = timed(mbd.sensitivities, system, some, t_end, STEP)
            line += f", sensitivities {ahead / alone:.2f} runs in all"
        print(line, flush=True)


if __name__ == "__main__":
    main()
