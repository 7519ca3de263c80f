"""Runs that write to files and are killed: ``python killed.py FILE ...``.

Prints for each file how many instants were read from it while its run was alive.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import mbd
from mbd.store import stream
from tests.results.samples import spinner


def instants(path: Path) -> int:
    """Wait until something can be read; return how many instants."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.exists() and (n := len(mbd.load(path).t)):
            return n
        time.sleep(0.002)
    raise TimeoutError(f"{path} was not written")


def main() -> None:
    """Kill a child at a random moment for each file."""
    stream._SECONDS = 0.01  # write often, so that a kill comes in the midst of it
    model = spinner().build()
    mbd.simulate(model, 0.01, 1e-3)
    for path in map(Path, sys.argv[1:]):
        child = os.fork()
        if not child:
            mbd.simulate(model, 1e4, 1e-3, stream=path, progress=False)
            os._exit(0)
        try:
            alive = instants(path)
            time.sleep(random.uniform(0.0, 0.1))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        print(alive, flush=True)


if __name__ == "__main__":
    main()
