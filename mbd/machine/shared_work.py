"""Compilation of many kernels, shared by processes: who begins one holds the lock of its file."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mbd.machine.compilers import Job, hand_out
from mbd.machine.jit import PYTHON, Kernel, notice
from mbd.machine.private_numba import carried_code

_PACE = 1.1e-4  # s to compile a byte of a function and those it calls
_LONG = 3.0  # s of compiling, from which on other processes take part


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
            jobs.append(Job(k.file, function, k.signature))
        new.append((len(function), k))
    seconds = _PACE * sum(size for size, _ in new)
    if seconds > _LONG:
        new.sort(key=lambda x: -x[0])
        jobs.sort(key=lambda job: -len(job.function))
        notice(f" (some {seconds / (1 + hand_out(jobs)):.0f} s)")
    return [k for _, k in new] + kept


def compile_to(file: Path, function: bytes, signature: Any) -> None:
    """Compile a kernel to a file, unless it is there or somebody else does.

    What a function reaches is imported here: where that has changed since the program imported it
    (an update of the package while a session is open), this is another kernel and is left alone.
    """
    if not file.exists():
        kernel = Kernel(pickle.loads(function), signature)
        if kernel.file == file:
            kernel.compile(wait=False)
