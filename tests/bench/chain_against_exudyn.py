"""Chain of bars with spherical joints: time per step of mbd and of Exudyn, by turns, as ratios.

Run it with ``python tests/bench/chain_against_exudyn.py`` (needs ``pip install exudyn``); one
process, one thread each, the same step and spectral radius. Exudyn runs its default scheme
(generalized-alpha, index 3, modified Newton) with the better of its linear solvers for the size.
Reported are medians of microseconds per step, their ratio, and both errors against a reference of
tolerance 1e-13 where one exists (N = 10, t = 1 s). ``--calls`` times whole calls of few steps, from
the described chain: ``build`` and ``simulate`` against ``Assemble`` and ``SolveDynamic``; the first
of each is made once for many runs, so that a ratio without it follows. These are seconds of the
processor, of which both libraries use one thread. ``--parts`` says what our calls consist of.
Read the ratios: a shared machine is noisy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import mbd

STEP, RHO = 1e-3, 0.8
CALLS = {1: 4000, 10: 600, 100: 100, 1000: 100}  # steps of the calls that are timed whole
# last bar of the chain of ten, t = 1 s; ODE in minimal coordinates at tolerance 1e-13
LAST_OF_TEN = np.array([7.02760142706843, 0.0, -4.90563203998931])
INERTIA = (0.016666666666666666, 0.8416666666666667, 0.8416666666666667)


def ours(n: int, formulation: str, joint: str = "spherical") -> mbd.Model:
    """Build the chain."""
    return described(n, formulation, joint).build()


def described(n: int, formulation: str, joint: str = "spherical") -> mbd.System:
    """Describe the chain."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        bar = mbd.RigidBody(
            f"bar{i}", mass=10.0, inertia=INERTIA, position=(i + 0.5, 0, 0), formulation=formulation
        )
        system.add(bar)
        if joint == "spherical":
            system.add(mbd.Spherical(f"joint{i}", last, bar, at=(i, 0, 0)))
        else:
            system.add(mbd.Revolute(f"joint{i}", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
        last = bar
    return system


def time_ours(model: mbd.Model, t_end: float) -> tuple[float, np.ndarray]:
    """Return seconds per step and the last position."""
    n = len(model.bodies)
    run = mbd.simulate(model, t_end, STEP, method=mbd.GeneralizedAlpha(rho=RHO), every=1000)
    return run.stats["seconds"] / run.stats["steps"], run[f"bar{n - 1}"].position[-1]


def call_ours(system: mbd.System, steps: int) -> tuple[float, float]:
    """Return the seconds of the processor for build and of simulate."""
    start = time.process_time()
    model = system.build()
    middle = time.process_time()
    mbd.simulate(model, steps * STEP, STEP, method=mbd.GeneralizedAlpha(rho=RHO), every=1000)
    return middle - start, time.process_time() - middle


def time_theirs(n: int, t_end: float, sparse: bool) -> tuple[float, np.ndarray]:
    """Return seconds per step and the last position."""
    steps = round(t_end / STEP)
    _, spent, where = call_theirs(n, steps, sparse, time.perf_counter)
    return spent / steps, where


def call_theirs(
    n: int, steps: int, sparse: bool, clock: Callable[[], float]
) -> tuple[float, float, np.ndarray]:
    """Return the seconds of Assemble and of SolveDynamic, and the last position."""
    import exudyn as exu
    from exudyn.utilities import RigidBodyInertia

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.CreateGround()
    last = ground
    inertia = RigidBodyInertia(10.0, np.diag(INERTIA))
    for i in range(n):
        bar = mbs.CreateRigidBody(
            inertia=inertia, referencePosition=[i + 0.5, 0, 0], gravity=[0, 0, -9.81]
        )
        mbs.CreateSphericalJoint(itemNumbers=[last, bar], position=[i, 0, 0], show=False)
        last = bar
    start = clock()
    mbs.Assemble()
    assembled = clock() - start
    settings = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.numberOfSteps = steps
    integration.endTime = t_end = steps * STEP
    integration.generalizedAlpha.spectralRadius = RHO
    integration.verboseMode = 0
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = t_end
    solver = exu.LinearSolverType.EigenSparse if sparse else exu.LinearSolverType.EXUdense
    settings.linearSolver.solverType = solver
    start = clock()
    mbs.SolveDynamic(settings)
    spent = clock() - start
    where = mbs.GetObjectOutputBody(last, exu.OutputVariableType.Position, [0, 0, 0])
    return assembled, spent, np.array(where)


def error(n: int, t_end: float, where: np.ndarray) -> str:
    """Return the error of the last bar where a reference exists."""
    return f"{np.abs(where - LAST_OF_TEN).max():.1e}" if (n, t_end) == (10, 1.0) else ""


def compare(sizes: dict[int, float], formulation: str, turns: int, peer: bool) -> None:
    """Print the table."""
    print(f"chain of bars, spherical joints, h = {STEP:g} s, rho = {RHO:g}, {formulation}")
    print(f"{'N':>7} {'mbd us/step':>12} {'Exudyn':>10} {'ratio':>7}  errors (mbd, Exudyn)")
    for n, t_end in sizes.items():
        model = ours(n, formulation)
        time_ours(model, 5 * STEP)
        # the better of its linear solvers for this size, by trial; dense takes seconds beyond 100
        dense = min(time_theirs(n, t_end, False)[0] for _ in range(2)) if peer and n < 100 else 1e9
        sparse = (
            peer and n <= 10_000 and min(time_theirs(n, t_end, True)[0] for _ in range(2)) < dense
        )
        mine, his, where_mine, where_his = [], [], np.zeros(3), np.zeros(3)
        for _ in range(turns):
            seconds, where_mine = time_ours(model, t_end)
            mine.append(seconds)
            if peer and n <= 10_000:
                seconds, where_his = time_theirs(n, t_end, sparse)
                his.append(seconds)
        ours_us = 1e6 * statistics.median(mine)
        line = f"{n:>7} {ours_us:>12.2f}"
        if his:
            theirs_us = 1e6 * statistics.median(his)
            line += f" {theirs_us:>10.1f} {theirs_us / ours_us:>7.1f}"
            line += f"  {error(n, t_end, where_mine)} {error(n, t_end, where_his)}"
        print(line, flush=True)


def compare_calls(formulation: str, turns: int) -> None:
    """Print the table of whole calls."""
    print(f"whole calls, h = {STEP:g} s, rho = {RHO:g}, {formulation}; processor, ms")
    print(
        f"{'N':>5} {'steps':>6} {'build':>8} {'simulate':>9} {'Assemble':>9} {'Solve':>9}", end=""
    )
    print(f" {'ratio':>6} {'without build, Assemble':>24}")
    clock = time.process_time
    for n, steps in CALLS.items():
        system = described(n, formulation)
        call_ours(system, 5)
        trials = (
            [call_theirs(n, steps, sparse, clock)[1] for sparse in (False, True)] if n < 100 else []
        )
        sparse = not trials or trials[1] < trials[0]
        times = [(*call_ours(system, steps), *call_theirs(n, steps, sparse, clock)[:2])
                 for _ in range(turns)]  # fmt: skip
        build, run, assemble, solve = (1e3 * statistics.median(x) for x in zip(*times, strict=True))
        whole = statistics.median((a + s) / (b + r) for b, r, a, s in times)
        alone = statistics.median(s / r for _, r, _, s in times)
        print(f"{n:>5} {steps:>6} {build:>8.2f} {run:>9.2f} {assemble:>9.2f} {solve:>9.1f}", end="")
        print(f" {whole:>6.1f} {alone:>24.1f}", flush=True)


def parts_of_calls(formulation: str, turns: int) -> None:
    """Print what whole calls consist of, with ball joints and with hinges."""
    print(f"parts of whole calls, h = {STEP:g} s, rho = {RHO:g}, {formulation}; wall, ms")
    words = ("describe", "build", "prepare", "steps", "behind")
    print(f"{'N':>5} {'steps':>6} {'joints':>10} " + " ".join(f"{x:>9}" for x in words))
    for joint in ("spherical", "revolute"):
        for n, steps in CALLS.items():
            times = []
            for _ in range(turns + 1):
                begin = time.perf_counter()
                system = described(n, formulation, joint)
                start = time.perf_counter()
                model = system.build()
                middle = time.perf_counter()
                method = mbd.GeneralizedAlpha(rho=RHO)
                run = mbd.simulate(model, steps * STEP, STEP, method=method, every=1000)
                whole = time.perf_counter() - middle
                before, loop = run.stats["seconds_preparing"], run.stats["seconds"]
                times.append((start - begin, middle - start, before, loop, whole - before - loop))
            each = [1e3 * statistics.median(x) for x in zip(*times[1:], strict=True)]
            line = " ".join(f"{x:>9.3f}" for x in each)
            print(f"{n:>5} {steps:>6} {joint:>10} {line}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--formulation", default="so3")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--large", action="store_true", help="also 10 000 and 100 000 bars")
    parser.add_argument("--calls", action="store_true", help="whole calls in place of steps")
    parser.add_argument("--parts", action="store_true", help="what whole calls consist of")
    options = parser.parse_args()
    if options.parts:
        parts_of_calls(options.formulation, options.turns)
        raise SystemExit
    if options.calls:
        compare_calls(options.formulation, options.turns)
        raise SystemExit
    chosen = {1: 10.0, 10: 1.0, 100: 0.2, 1000: 0.05}
    if options.large:
        chosen |= {10_000: 0.02, 100_000: 0.01}
    compare(chosen, options.formulation, options.turns, not options.no_peer)
