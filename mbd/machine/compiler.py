"""A process that compiles kernels for another one: ``python -m mbd.machine.compiler``."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from mbd.machine.compilers import SIZE, Job
from mbd.machine.shared_work import compile_to

_IDLE = 20.0  # s, after which it ends


def _read(source: BinaryIO, jobs: queue.SimpleQueue[list[Job]]) -> None:
    """Take jobs from whoever started this process; end with it."""
    while len(head := source.read(SIZE.size)) == SIZE.size:
        jobs.put(pickle.loads(source.read(SIZE.unpack(head)[0])))
    os._exit(0)


def main() -> None:
    """Compile what is asked for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the program
    jobs: queue.SimpleQueue[list[Job]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    with suppress(queue.Empty):
        while True:
            for job in jobs.get(timeout=_IDLE):
                with suppress(Exception):  # whoever needs it compiles it, and sees what is wrong
                    compile_to(*job)


if __name__ == "__main__":
    main()
