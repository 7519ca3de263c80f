"""What observations cost beside a step and names: ``python tests/bench/observations.py``.

By turns in one process, CPU time, the least of some. Counts Python's allocations of a call too.
"""

import gc
import sys
import time

import numpy as np

import mbd

NAMES = [*(f"hinge{i}.angle" for i in range(6)), "link5.position", "link5.velocity"]


def arm(joints=6):
    """Return an arm of hinges about y and z by turns, each with a motor."""
    system = mbd.System(gravity=(0, 0, -9.81))
    before = system.ground
    for i in range(joints):
        link = mbd.RigidBody(
            f"link{i}", mass=2.0, inertia=(0.01, 0.05, 0.05), position=(i + 0.5, 0, 0)
        )
        body = system.add(link)
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        hinge = mbd.Revolute(f"hinge{i}", before, body, at=(i, 0, 0), axis=axis)
        system.add(mbd.Motor(f"motor{i}", system.add(hinge), 0.1 * i))
        before = body
    return system


def spent(call, n):
    """Return the mean CPU time of n calls [us]."""
    clock = time.process_time()
    for _ in range(n):
        call()
    return (time.process_time() - clock) / n * 1e6


def blocks(call, n=1000):
    """Return how many blocks of memory n calls leave behind."""
    call()
    gc.collect()
    gc.disable()
    before = sys.getallocatedblocks()
    for _ in range(n):
        call()
    after = sys.getallocatedblocks()
    gc.enable()
    return after - before


def main():
    """Print a table."""
    stepper = mbd.Stepper(arm(), 1e-3)
    observe = stepper.model.observe
    twelve = observe(NAMES)
    of = {
        "12 numbers": lambda: twelve(stepper),
        "31 numbers": observe(
            [*NAMES, *(f"hinge{i}.angle_rate" for i in range(6)), "link5.quaternion",
             "link5.gyroscope", ("link5", (0.5, 0, 0), "accelerometer"), "hinge0.force"]
        ),
        "total energy": observe(["energy.total"]),
    }  # fmt: skip
    calls = {
        name: x if name == "12 numbers" else (lambda x=x: x(stepper)) for name, x in of.items()
    }
    calls["a step"] = stepper.step
    calls["the 12 by name"] = lambda: [stepper[name] for name in NAMES]
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    for _ in range(15):
        for name, call in calls.items():
            best[name] = min(best[name], spent(call, 5 if "by name" in name else 1000))
    for name, x in best.items():
        print(f"{name:>15}: {x:8.2f} us")
    print(f"blocks of memory that 1000 observations leave: {blocks(calls['12 numbers'])}")


if __name__ == "__main__":
    main()
