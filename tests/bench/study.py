"""Members of a study a second and core, by kind of member; what a run costs besides its steps.

    python tests/bench/study.py [members]

CPU seconds of this process, so that other work on the machine counts as little as possible; the
steps alone are those of one run in one call of the compiled loop.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mbd
from mbd.machine import buffer as m
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan
from mbd.runs.stretch import Stretch

STEPS, H = 100, 1e-3


def links(mass=1.0, length=1.0):
    """Three links on hinges, released at rest from the horizontal."""
    system = mbd.System(gravity=(0, 0, -9.81))
    before = system.ground
    for i in range(3):
        body = system.add(mbd.RigidBody(f"link{i}", mass=mass, inertia=(0.1, 0.1, 0.01),
                                        position=((i + 0.5) * length, 0, 0)))  # fmt: skip
        at = (i * length, 0, 0)
        system.add(mbd.Revolute(f"hinge{i}", before, body, at=at, axis=(0, 1, 0)))
        before = body
    return system


def steps_alone(model, repeats=300):
    """Return the CPU time [s] of the steps of one run."""
    method = mbd.GeneralizedAlpha().facts.complete(False)
    first = mbd.consistent(model)
    begun, change = method.facts.start(model, first, H, False)
    run = Stretch(model, begun, method, Plan(STEPS * H, H), Interrupt())
    run.remember(begun.a - change)
    start = run.work.F.copy()
    spent = []
    for _ in range(5):
        clock = time.process_time()
        for _ in range(repeats):
            run.work.F[:] = start
            run.work.S[m.N_STEPS] = STEPS
            run.advance(run.work.I, run.work.F)
        spent.append((time.process_time() - clock) / repeats)
    return min(spent)


def main():
    """Print a table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    model = links().build()
    masses = mbd.sample({"link1.mass": (0.5, 2.0), "link2.mass": (0.5, 2.0)}, n)
    lengths = mbd.sample({"length": (0.5, 2.0)}, n // 8)
    final = [("link2.position", "final")]
    cases = {
        "masses, last position": (model, masses, final),
        "masses, largest force": (model, masses, [("hinge0.force", "max")]),
        "masses, all positions": (model, masses, ["link2.position"]),
        "masses, last angle": (model, masses, [("hinge2.angle", "final")]),
        "masses, last energy": (model, masses, [("energy.total", "final")]),
        "masses, all energies": (model, masses, ["energy.balance", "energy.kinetic", "gap"]),
        "lengths, last position": (links, lengths, final),
    }  # fmt: skip
    alone = steps_alone(model)
    print(f"steps alone: {1e6 * alone:.0f} us a run, {1 / alone:.0f} runs a second")
    clock = time.process_time()
    for x in np.linspace(0.5, 2.0, 100):
        mbd.simulate(model.with_values({"link1.mass": x}), STEPS * H, H)["link2"].position  # noqa: B018
    each = (time.process_time() - clock) / 100
    print(f"{'a plain loop':>24}: {1e6 * each:6.0f} us, {1 / each:5.0f} a second and core")
    with ThreadPoolExecutor(1) as pool:
        for name, (build, members, outputs) in cases.items():
            best = np.inf
            for _ in range(3):
                clock = time.process_time()
                done = mbd.study(build, members, t_end=STEPS * H, step=H, outputs=outputs, on=pool,
                                 chunk=256)  # fmt: skip
                best = min(best, (time.process_time() - clock) / len(members))
                assert not done.status.any()
            print(
                f"{name:>24}: {1e6 * best:6.0f} us, {1 / best:5.0f} a second and core, "
                f"{1e6 * (best - alone):4.0f} us besides the steps"
            )


if __name__ == "__main__":
    main()
