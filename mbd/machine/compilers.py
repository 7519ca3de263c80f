"""Processes that compile kernels next to this one.

They are new interpreters, which know nothing of the program that wants the kernels: these come as
bytes, with the names of the files in which they are to be kept. Who begins a kernel holds the lock
of its file, so that everybody takes what nobody else has begun. A compiler ends when the process
that started it does, or when nothing was asked of it for a while.
"""

from __future__ import annotations

import atexit
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

SIZE = struct.Struct("<Q")  # of jobs, which follow pickled
_MOST = 4


class Job(NamedTuple):
    """A kernel to be compiled: its file, the bytes of its function, its signature."""

    file: Path
    function: bytes
    signature: Any = None


class _Compilers:
    """The compilers of one process."""

    def __init__(self) -> None:
        self.pid, self.running = os.getpid(), list[subprocess.Popen[bytes]]()
        self.lock = threading.Lock()

    def hand_out(self, jobs: Sequence[Job]) -> int:
        """Give all jobs to all compilers; each takes those that nobody has begun."""
        content = pickle.dumps(list(jobs))
        with self.lock:
            for compiler in [x for x in self.running if x.poll() is not None]:
                _close(compiler)
                self.running.remove(compiler)
            for _ in range(len(self.running), _wanted()):
                with suppress(OSError):
                    self.running.append(_start())
            for compiler in self.running:
                assert compiler.stdin is not None
                with suppress(OSError):  # it has just ended
                    compiler.stdin.write(SIZE.pack(len(content)) + content)
                    compiler.stdin.flush()
            return len(self.running)

    def end(self) -> None:
        """End them."""
        if os.getpid() == self.pid:
            for compiler in self.running:
                compiler.kill()
                _close(compiler)
                compiler.wait()


def _close(compiler: subprocess.Popen[bytes]) -> None:
    """Close the pipe to a compiler."""
    with suppress(OSError):  # what was not sent yet is lost with it
        if compiler.stdin is not None:
            compiler.stdin.close()


def _wanted() -> int:
    """Return how many compilers there may be next to this process, ``MBD_COMPILERS`` or fewer."""
    number = os.environ.get("MBD_COMPILERS", "")
    if number.isdigit():
        return int(number)
    if getattr(sys, "frozen", False) or not sys.executable:  # no interpreter to start
        return 0
    affinity = getattr(os, "sched_getaffinity", None)
    return min(_MOST, (len(affinity(0)) if affinity else os.cpu_count() or 1) - 1)


def _start() -> subprocess.Popen[bytes]:
    """Start a compiler that imports what this process does, and nothing of its program."""
    path = os.pathsep.join(x for x in (str(Path(__file__).parents[2]), *sys.path) if x)
    return subprocess.Popen(
        [sys.executable, "-m", "mbd.machine.compiler"], env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


_HERE: list[_Compilers] = []


def hand_out(jobs: Sequence[Job]) -> int:
    """Let other processes begin to compile kernels, each to its file; return how many they are."""
    if not _wanted():
        return 0
    if not _HERE or _HERE[0].pid != os.getpid():
        _HERE[:] = [_Compilers()]
        atexit.register(_HERE[0].end)
    return _HERE[0].hand_out(jobs)
