"""What a second core wins: models built for one thread and for two, and two halves on their own.

Run it with ``python tests/bench/second_core.py`` on a machine with two idle cores. Three times per
step are taken by turns, the least of each is reported in microseconds: of the model for one thread;
of the one that is divided, on one core (the same bits, another order of elimination); and on two.
Ratios are those of the first to the third, and, as what no way to divide a step exceeds, of the
first to two halves of the chain at once, which know nothing of each other. ``--busy`` lets as many
processes as there are cores want them all the while.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from collections.abc import Callable

from structures_against_exudyn import Structure, chain, ladder, ours, tree

import mbd
from mbd.machine import two_threads

STEP, RHO = 1e-3, 0.8
CASES: dict[str, Callable[[int], Structure]] = {
    "chain of balls": lambda n: chain(n, "ball"),
    "hinged chain": lambda n: chain(n, "hinge"),
    "chain of springs": lambda n: chain(n, "spring"),
    "tree of balls": lambda n: tree(n, "ball"),
    "ladder of balls": lambda n: ladder(n // 3, "ball"),
}


def per_step(model: mbd.Model, cores: int, steps: int) -> float:
    """Return microseconds per step on so many cores."""
    two_threads.cores = lambda: cores
    method = mbd.GeneralizedAlpha(rho=RHO)
    run = mbd.simulate(model, steps * STEP, STEP, method=method, every=steps, progress=False)
    return 1e6 * run.stats["seconds"] / run.stats["steps"]


def at_once(halves: list[mbd.Model], steps: int) -> float:
    """Return microseconds per step of the slower of two models, each on a thread."""
    spent = list[float]()
    method = mbd.GeneralizedAlpha(rho=RHO)

    def run(model: mbd.Model) -> None:
        stats = mbd.simulate(model, steps * STEP, STEP, method=method, every=steps).stats
        spent.append(1e6 * stats["seconds"] / stats["steps"])

    threads = [threading.Thread(target=run, args=(h,)) for h in halves]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return max(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 10_000])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    forever = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(forever) for _ in range(os.cpu_count() or 1) if options.busy]
    print(
        f"{'':18} {'bodies':>7} {'us/step':>9} {'divided':>9} {'two':>9} {'ratio':>6} {'halves':>7}"
    )
    try:
        for name in options.cases:
            for n in options.sizes:
                show(name, n, options.turns)
    finally:
        for process in busy:
            process.kill()


def show(name: str, n: int, turns: int) -> None:
    """Print a line of the table."""
    plain = ours(CASES[name](n), "so3")
    divided = plain.system.build(threads=2)
    halves = [ours(CASES[name](n // 2), "so3") for _ in range(2)]
    steps = max(20, 100_000 // n)
    for model in (plain, divided):
        per_step(model, 2, 20)
    least = [1e99] * 4
    for _ in range(turns):
        spent = (
            per_step(plain, 1, steps), per_step(divided, 1, steps), per_step(divided, 2, steps),
            at_once(halves, steps),
        )  # fmt: skip
        least = [min(x) for x in zip(least, spent, strict=True)]
    one, on_one, on_two, apart = least
    print(f"{name:18} {len(plain.bodies):>7} {one:>9.0f} {on_one:>9.0f} {on_two:>9.0f} "
          f"{one / on_two:>6.2f} {one / apart:>7.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
