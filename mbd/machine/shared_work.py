"""Compilation of many kernels, shared by processes: who begins one holds the lock of its file.

Compilers are new interpreters, ``python -m mbd.machine.shared_work``, which know nothing of the
program that wants the kernels: these come as bytes, with the names of the files in which they are
to be kept. Everybody takes what nobody else has begun. A compiler ends when the process that
started it does, or when nothing was asked of it for a while.
"""

import atexit
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from mbd.machine.jit import PYTHON, Kernel, notice
from mbd.machine.private_numba import carried_code

Job = tuple[Path, bytes, Any]  # a kernel to be compiled: its file, its function, its signature
_SIZE = struct.Struct("<Q")  # of jobs, which follow pickled
_PACE = 8.5e-5  # s to compile a byte of a function and those it calls
_LONG = 3.0  # s of compiling, from which on other processes take part
_MOST = 4  # compilers
_IDLE = 20.0  # s, after which one ends


def compile_all(kernels: Iterable[Kernel]) -> None:
    """Load or compile kernels; processes that want the same ones share the work."""
    left = [k for k in dict.fromkeys(kernels) if not k.is_ready]
    if PYTHON or len(left) < 2:
        return
    left = [k for k in ahead(left) if not k.compile(wait=False)]
    for k in left:
        k.compile(wait=True)


def ahead(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Let other processes begin with kernels that are not kept; return all, the longest first."""
    if PYTHON:
        return list(kernels)
    kept, new, jobs = list[Kernel](), list[tuple[int, Kernel]](), list[Job]()
    for k in kernels:
        if k.is_ready or k.file is None or k.file.exists():
            kept.append(k)
            continue
        function = b""
        with suppress(Exception):  # of what cannot be carried over: it is compiled here
            function = carried_code(k.function)
            jobs.append((k.file, function, k.signature))
        new.append((len(function), k))
    seconds = _PACE * sum(size for size, _ in new)
    if seconds > _LONG:
        new.sort(key=lambda x: -x[0])
        jobs.sort(key=lambda job: -len(job[1]))
        notice(f" (some {seconds / (1 + _hand_out(jobs)):.0f} s)")
    return [k for _, k in new] + kept


# --- compilers of this process --------------------------------------------------------------------
_Started = tuple[threading.Lock, list[subprocess.Popen[bytes]]]
_COMPILERS: dict[int, _Started] = {}  # by the process that started them: a fork has none


def _hand_out(jobs: Sequence[Job]) -> int:
    """Let other processes begin to compile kernels, each to its file; return how many they are.

    All of them get all jobs; each takes those that nobody has begun.
    """
    if not (wanted := _wanted()):
        return 0
    content = pickle.dumps(list(jobs))
    lock, running = _COMPILERS.setdefault(os.getpid(), (threading.Lock(), []))
    with lock:
        for compiler in [x for x in running if x.poll() is not None]:
            _close(compiler)
            running.remove(compiler)
        for _ in range(len(running), wanted):
            with suppress(OSError):
                running.append(_start())
        for compiler in running:
            assert compiler.stdin is not None
            with suppress(OSError):  # it has just ended
                compiler.stdin.write(_SIZE.pack(len(content)) + content)
                compiler.stdin.flush()
        return len(running)


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
        [sys.executable, "-m", "mbd.machine.shared_work"], env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _close(compiler: subprocess.Popen[bytes]) -> None:
    """Close the pipe to a compiler."""
    with suppress(OSError):  # what was not sent yet is lost with it
        if compiler.stdin is not None:
            compiler.stdin.close()


@atexit.register
def _end() -> None:
    """End the compilers of this process."""
    _, running = _COMPILERS.get(os.getpid(), (None, []))
    for compiler in running:
        compiler.kill()
        _close(compiler)
        compiler.wait()


# --- what a compiler does -------------------------------------------------------------------------
def compile_to(file: Path, function: bytes, signature: Any) -> None:
    """Compile a kernel to a file, unless it is there or somebody else does.

    What a function reaches is imported here: where that has changed since the program imported it
    (an update of the package while a session is open), this is another kernel and is left alone.
    """
    if not file.exists():
        kernel = Kernel(pickle.loads(function), signature)
        if kernel.file == file:
            kernel.compile(wait=False)


def _read(source: BinaryIO, jobs: queue.SimpleQueue[list[Job]]) -> None:
    """Take jobs from whoever started this process; end with it."""
    while len(head := source.read(_SIZE.size)) == _SIZE.size:
        jobs.put(pickle.loads(source.read(_SIZE.unpack(head)[0])))
    os._exit(0)


def _compile_what_is_asked() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the program
    jobs: queue.SimpleQueue[list[Job]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    with suppress(queue.Empty):
        while True:
            for job in jobs.get(timeout=_IDLE):
                with suppress(Exception):  # whoever needs it compiles it, and sees what is wrong
                    compile_to(*job)


if __name__ == "__main__":
    _compile_what_is_asked()
