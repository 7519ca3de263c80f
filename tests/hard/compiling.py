"""Processes that are killed while they compile: ``python compiling.py FOLDER N SEED``.

FOLDER holds ``own_kernels.py``; its kernels are kept in FOLDER/kept. Prints how many processes were
killed before they were done, and what one that nobody killed computes.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numba
import numpy as np

from mbd.machine.shared_work import compile_all


def child(folder: Path) -> None:
    """Compile and run."""
    sys.path.insert(0, str(folder))
    import own_kernels

    kernels = [own_kernels.first, own_kernels.second]
    compile_all(kernels)
    F = np.ones(2)
    for kernel in kernels:
        kernel(np.zeros(2, np.int32), F)
    (folder / "answer").write_text(str(F[0]))
    os._exit(0)


def main() -> None:
    """Kill at random instants of the time that compiling takes; two at a time."""
    folder, n, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    numba.config.CACHE_DIR = str(folder / "kept")
    began, long, killed = time.monotonic(), 0.0, 0
    for i in range(n + 1):
        for file in (folder / "kept").glob("*.kernel"):
            if i % 2:  # every second time there is something left of the one before
                file.unlink()
        pids = []
        for _ in range(2):
            pids.append(os.fork())
            if not pids[-1]:
                child(folder)
        for pid in pids:
            if i:
                time.sleep(rng.uniform(0.0, 0.6 * long))
                os.kill(pid, signal.SIGKILL)
            killed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
        long = long or time.monotonic() - began
    (folder / "answer").unlink()
    if not os.fork():
        child(folder)
    os.wait()
    print(json.dumps({"killed": killed, "answer": float((folder / "answer").read_text())}))


if __name__ == "__main__":
    main()
