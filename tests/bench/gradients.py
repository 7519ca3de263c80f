"""Cost of derivatives: a chain of 20 bodies, by few and by many parameters, in runs.

``python tests/bench/gradients.py [STEPS]``: process time of a run, of the way back for 1 and 100
parameters, and of tangents forwards, each beside that of the run; preparation is apart. Over 20000
steps what a parameter costs once does not count.
"""

import sys
import time

import mbd
from mbd.derivatives.adjoint import Backward, terms_of
from mbd.derivatives.forward import Forward
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


def backwards(of, J):
    """Go back over a run; return what that cost."""
    back = Backward(of.model, of.method, of.stencils)
    back.over(of.legs, J)
    return back.stats


def simulated(of, steps):
    """Run once more."""
    return mbd.simulate(of.model, STEP * steps, STEP, method=of.method)


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
    options = (STEP * steps, STEP, None, None, None, False, None, ())
    for some in (names[:1], names[:10], names):
        run("bench", system, some, *options)  # kernels
        of, whole = timed(run, "bench", system, some, *options)
        J = terms_of(objective, of.solution, of.stencils, of.h)
        backwards(of, J)
        stats, back = timed(backwards, of, J)
        _, alone = timed(simulated, of, steps)
        line = f"{len(some):4d} parameters: run {alone:.3f} s, "
        line += f"with stencils {whole:.3f} s, backwards {back:.3f} s "
        line += f"= {back / alone:.2f} runs, {stats}"
        if len(some) < len(names):
            Forward(of)
            _, ahead = timed(Forward, of)
            line += f", forwards {ahead:.3f} s = {ahead / alone:.2f} runs"
        print(line, flush=True)


if __name__ == "__main__":
    main()
