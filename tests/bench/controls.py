"""Cost of a value and its gradient by many controls, in runs of the compiled loop.

``python tests/bench/controls.py``: process time of the steps alone, and of a call of
``mbd.Problem``, for 1, 51 and 500 controls of the cart-pole over 200 steps, least of many by turns;
then the swing-up of ``docs/howto/controls.rst``, start to end.
"""

import time

import numpy as np

import mbd
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch

T, STEP = 2.0, 0.01
WHAT = ["rail.displacement", "rail.displacement_rate", "hinge.angle", "hinge.angle_rate"]
UP = mbd.Objective(terminal=mbd.sum_of_squares(WHAT, (1, 0, np.pi, 0), (10, 1, 10, 1)))
METHOD = mbd.GeneralizedAlpha(tol=1e-11)


def system(n):
    """Return a pole that hangs from a cart, which n values of a force move."""
    model = mbd.System(gravity=(0, -9.81, 0))
    cart = model.add(mbd.RigidBody("cart", mass=1.0, inertia=(1, 1, 1)))
    pole = model.add(
        mbd.RigidBody("pole", mass=0.3, inertia=(1e-4, 1e-4, 1e-4), position=(0, -0.5, 0))
    )
    model.add(mbd.Prismatic("rail", model.ground, cart, at=(0, 0, 0), axis="x"))
    model.add(mbd.Revolute("hinge", cart, pole, at=(0, 0, 0), axis="z"))
    t = np.linspace(0, T, n)
    force = mbd.Interpolated(t, 10 * np.sin(np.pi * t) + 1.0, "line")
    model.add(mbd.PointForce("push", cart, (force, 0, 0)))
    return model


def timed(function):
    """Return the process time of a call [ms]."""
    begin = time.process_time()
    function()
    return 1e3 * (time.process_time() - begin)


def steps_of(model):
    """Return what takes all steps of a run again."""
    first = mbd.consistent(model)
    run = Stretch(model, first, METHOD, Plan(T, STEP), Interrupt())
    begin = run.work.snapshot()

    def again():
        run.work.restore(begin)
        run.done = 0
        run.steps(run.n_steps)

    return again


def main():
    """Print the table."""
    for n in (1, 51, 500):
        built = system(n).build()
        problem = mbd.Problem(built, ["push.force.x"], UP, T, STEP, method=METHOD)
        run = steps_of(built)
        call = lambda problem=problem: problem(problem.start)  # noqa: E731
        call()
        turns = [(timed(run), timed(call)) for _ in range(50)]
        alone, whole = (min(x) for x in zip(*turns, strict=True))
        print(f"{n:4d} controls: steps {alone:.3f} ms, value and gradient {whole:.3f} ms: "
              f"{whole / alone:.1f} runs; {problem.stats}", flush=True)  # fmt: skip
    begin, clock = time.process_time(), time.perf_counter()
    best = mbd.optimize(UP, system(51), ["push.force.x"], T, STEP, solver="L-BFGS-B",
                        bounds={"push.force.x": (-20, 20)})  # fmt: skip
    spent = time.process_time() - begin, time.perf_counter() - clock
    print(f"swing-up: {best.evaluations} runs, {spent[0]:.2f} s of the processor, {spent[1]:.2f} s")


if __name__ == "__main__":
    main()
