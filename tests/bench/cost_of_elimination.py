"""Cost of the elimination: fill, tables, and microseconds a body to factor and to solve.

Run it with ``python tests/bench/cost_of_elimination.py``. Bodies of a chain are turned at random,
so that blocks are full as in any motion in space; of repetitions the fastest counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from chain_against_exudyn import INERTIA, ours

import mbd
from mbd.linear.fronts import factor_and_solve, factor_kernel
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace


def net(n: int, columns: int, joint: str) -> mbd.Model:
    """Build a net of n times `columns` bodies, each joined to its neighbours."""
    system = mbd.System(gravity=(0, 0, -9.81))
    bodies: dict[tuple[int, int], mbd.RigidBody] = {}
    for i in range(n * columns):
        x, y = divmod(i, columns)
        body = mbd.RigidBody(f"b{i}", mass=1.0, inertia=INERTIA, position=(x + 0.5, y + 0.5, 0.0))
        bodies[x, y] = system.add(body)
        for a, at in (((x - 1, y), (x, y + 0.5, 0.0)), ((x, y - 1), (x + 0.5, y, 0.0))):
            if a in bodies and joint == "bushing":
                stiffness = [1e4] * 3 + [1e2] * 3
                system.add(mbd.Bushing(f"{a} {i}", bodies[a], body, at=at, stiffness=stiffness))
            elif a in bodies:
                system.add(mbd.Spherical(f"{a} {i}", bodies[a], body, at=at))
    return system.build()


def filled(model: mbd.Model) -> Workspace:
    """Return a work space with the matrix at a pose in disorder."""
    work = Workspace(model, model.state)
    disorder = 0.3 * np.random.default_rng(0).normal(size=(2, model.n_v))
    work.vector(m.D)[model.numbering.v], work.vector(m.V)[model.numbering.v] = disorder
    work.F[m.SCALE_R] = 1.0
    work.evaluate()
    work.linearise(1.0, 1e-3, 1e-6)
    return work


def fastest(run: Callable[[], None], seconds: float) -> float:
    """Return the time of the fastest of many calls [s]."""
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, model: mbd.Model, seconds: float) -> None:
    """Print one line."""
    work, n = filled(model), len(model.bodies)
    matrix = slice(model.I[m.MATRIX], model.I[m.MATRIX] + model.I[m.MATRIX_SIZE])
    A, b = work.F[matrix].copy(), work.vector(m.X).copy()

    def fill() -> None:
        work.F[matrix] = A

    def factor() -> None:
        fill()
        factor_kernel(work.I, work.F)

    def solve() -> None:
        work.vector(m.X)[:] = b
        factor_and_solve(work.I, work.F)

    factored = fastest(factor, seconds) - fastest(fill, seconds)
    solved = fastest(solve, seconds)
    groups = sum(len(front.updates) for front in model.fronts)
    print(f"{name:>24} {groups / n:>7.1f} {len(model.I) / n:>7.0f} {len(A) / n:>7.0f}"
          f" {1e6 * factored / n:>8.3f} {1e6 * solved / n:>8.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    parser.add_argument("--large", action="store_true", help="also 10 000 bars, a net of 60 by 60")
    options = parser.parse_args()
    print(f"{'':>24} {'groups':>7} {'tables':>7} {'floats':>7} {'factor':>8} {'solve':>8}")
    for form in ("so3", "euler_parameters", "directors"):
        for joint in ("spherical", "revolute"):
            measure(f"{joint} 300 {form}", ours(300, form, joint), options.seconds)
    for n, columns in ((150, 2), (10, 10), (30, 30), *([(60, 60)] if options.large else [])):
        for joint in ("spherical", "bushing"):
            measure(f"net {n} x {columns} {joint}", net(n, columns, joint), options.seconds)
    if options.large:
        measure("spherical 10000 so3", ours(10_000, "so3"), options.seconds)
