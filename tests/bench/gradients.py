"""Cost of derivatives: a chain of 20 bodies, by few and by many parameters, in runs.

``python tests/bench/gradients.py [STEPS]``: process time of a run, of the way back for 1 and 100
parameters, and of tangents forwards, each beside that of the run; preparation is apart.
"""

import sys
import time

import mbd
from mbd.derivatives.adjoint import _backward, _gradients
from mbd.derivatives.forward import forward_tangents
from mbd.derivatives.runs import run

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


def timed(function, *args):
    """Return result and process time [s]."""
    begin = time.process_time()
    result = function(*args)
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
    options = (STEP * steps, STEP, None, None, False, False, None, ())
    for some in (names[:1], names[:10], names):
        run("bench", system, some, *options)  # kernels
        of, whole = timed(run, "bench", system, some, *options)
        J = _gradients(of, objective)
        _backward(of, J)
        (_, stats), back = timed(_backward, of, J)
        line = f"{len(some):4d} parameters: run {of.solution.stats['seconds']:.3f} s, "
        line += f"with stencils {whole:.3f} s, backwards {back:.3f} s "
        line += f"= {back / of.solution.stats['seconds']:.2f} runs, {stats}"
        if len(some) < len(names):
            forward_tangents(of)
            _, ahead = timed(forward_tangents, of)
            line += f", forwards {ahead:.3f} s = {ahead / of.solution.stats['seconds']:.2f} runs"
        print(line, flush=True)


if __name__ == "__main__":
    main()
