"""What a second core could win at most: one chain, and its two halves at once on two threads.

Run it with ``python tests/bench/second_core.py`` on a machine with two idle cores. The halves know
nothing of each other, wait for nobody and have no separator between them: no way to divide a step
among two threads is faster. The compiled loop releases the lock of the interpreter. Reported are,
by turns, the least microseconds per step of the chain and of the slower half, their ratio, and the
ratio that is left if all but the factorisation and the solutions is divided (its share is measured
by running these alone).
"""

from __future__ import annotations

import argparse
import threading
import time

from chain_against_exudyn import ours, time_ours

import mbd
from mbd.linear.fronts import factor_and_solve
from mbd.model.workspace import Workspace


def seconds(model: mbd.Model, steps: int, out: list[float]) -> None:
    """Append the seconds per step."""
    out.append(time_ours(model, steps * 1e-3)[0])


def elimination(model: mbd.Model, factors: float, solutions: float) -> float:
    """Return the seconds that so many factorisations and solutions take."""
    work = Workspace(model, model.state)
    work.evaluate()
    spent = {0: 1e9, 1: 1e9}
    for _ in range(5):
        work.linearise(1.0, 1e-3, 1e-6)
        for k in (1, 0):
            start = time.perf_counter()
            factor_and_solve(work.I, work.F, k)
            spent[k] = min(spent[k], time.perf_counter() - start)
    return factors * spent[1] + (solutions - factors) * spent[0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print(f"{'N':>6} {'us/step':>9} {'halves':>9} {'ratio':>6} {'bodies alone':>13}")
    for n in options.sizes:
        whole, steps = ours(n, "so3"), max(20, 400_000 // n)
        halves = [ours(n // 2, "so3") for _ in range(2)]
        one, two = list[float](), list[float]()
        for _ in range(options.turns):
            seconds(whole, steps, one)
            both = list[float]()
            threads = [threading.Thread(target=seconds, args=(h, steps, both)) for h in halves]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            two.append(max(both))
        stats = mbd.simulate(whole, steps * 1e-3, 1e-3, every=steps).stats
        factors, solutions = (stats[x] / stats["steps"] for x in ("factorizations", "iterations"))
        share = elimination(whole, factors, solutions) / min(one)
        alone = 1.0 / (share + 0.5 * (1.0 - share))
        print(f"{n:>6} {1e6 * min(one):>9.0f} {1e6 * min(two):>9.0f} {min(one) / min(two):>6.2f} "
              f"{alone:>13.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
