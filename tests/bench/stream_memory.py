"""Memory, time and size of a long run that is streamed: ``python tests/bench/stream_memory.py``.

One pendulum of a rigid body, a million steps, every one of them written with everything by name.
Resident memory is read from the system each time the file grows.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import mbd
from mbd.store.stream import FileRecord


def resident() -> float:
    """Return the resident memory of this process [MB] (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def pendulum(n: int) -> mbd.Model:
    """Return a chain of n bars on hinges."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(n):
        bar = mbd.RigidBody(f"bar {i}", mass=1, inertia=(1e-3, 0.1, 0.1), position=(i + 0.5, 0, 0))
        system.add(bar)
        system.add(mbd.Revolute(f"hinge {i}", last, bar, at=(i, 0, 0), axis=(0, 1, 0)))
        last = bar
    return system.build()


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--bodies", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    model = pendulum(options.bodies)
    mbd.simulate(model, 0.01, 1e-4)
    seen: list[tuple[int, float]] = []
    flush = FileRecord.flush

    def watched(self: FileRecord) -> None:
        flush(self)
        seen.append((self._log.n, resident()))

    FileRecord.flush = watched
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        mbd.simulate(model, 0.01, 1e-4, stream=path)
        seen.clear()
        began = time.process_time()
        run = mbd.simulate(model, options.steps * 1e-4, 1e-4, every=options.every, stream=path)
        spent = time.process_time() - began
        size = path.stat().st_size / 1e6
        began = time.process_time()
        last = mbd.load(path)["bar 0"].position[-1]
        reading = time.process_time() - began
    for k in range(0, len(seen), max(1, len(seen) // 10)):
        print(f"{seen[k][0]:10d} instants written, {seen[k][1]:7.1f} MB resident")
    print(f"{run}; {last}")
    print(f"{spent:.1f} s of processor time for {len(run.t)} instants")
    print(f"{size:.0f} MB written, {size / spent:.0f} MB/s")
    print(f"the path of one body read again in {reading:.2f} s")
    began = time.process_time()
    mbd.simulate(model, options.steps * 1e-5, 1e-4, every=options.every)
    print(f"in memory a tenth of it takes {time.process_time() - began:.1f} s")


if __name__ == "__main__":
    main()
