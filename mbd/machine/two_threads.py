"""Two threads that go through a step side by side: one posts jobs, the other takes what it can.

A job is a kernel on side 1 of a model, while whoever posted it runs the same kernel on side 0. It
is free until one of the two takes it, by exchanging a word in memory: where the other thread does
not have a core just now, the first one does the job itself and waits for nobody. What is computed
does not depend on who did it. The other thread never sleeps while steps are taken; where it waits
for long it offers its core to others.

A pass through a model is written once, for a side, and may be called for the whole model::

    @by_sides(m.CORRECT_TASK, largest=1)
    def correct(I, F, side):
        u0, u1 = unknowns_of(I, side)
        ...

Where a step is shared, ``correct(I, F)`` is a job; else it is ``correct`` of the side WHOLE.
"""

import os
import platform
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, Kernel, call, ints, jit, kernel, loop
from mbd.machine.shared_work import compile_all
from mbd.machine.subnormal import flushing
from mbd.machine.unknowns import measured

_SPINS = 4096  # looks at a word before the core is offered to others
_PATIENCE = 1 << 22  # looks without a job, most of them with that offer
_X86 = platform.machine() in ("x86_64", "AMD64")
_YIELDS = sys.platform != "win32"

if PYTHON:

    def look(F: Any, i: int) -> int:
        """Return the word at F[i], written before all that its writer wrote before it."""
        return int(np.asarray(F[i : i + 1]).view(np.int64)[0])

    def tell(F: Any, i: int, value: int) -> None:
        """Write the word at F[i], after all else."""
        F[i : i + 1].view(np.int64)[0] = value

    def take(F: Any, i: int, value: int) -> bool:
        """Write zero in the place of a word; tell whether it was still there."""
        return look(F, i) == value

    def rest(long: bool) -> None:
        """Wait for a moment, or longer."""

else:
    _WORD = ir.IntType(64)

    def _word(builder: Any, F: Any, i: Any) -> Any:
        return builder.bitcast(builder.gep(F, [i]), _WORD.as_pointer())

    @intrinsic
    def look(_typing: Any, F: Any, i: Any) -> Any:
        """Return the word at F[i], written before all that its writer wrote before it."""

        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.load_atomic(_word(builder, *args), "acquire", 8)

        return types.int64(F, types.int64), codegen

    @intrinsic
    def tell(_typing: Any, F: Any, i: Any, value: Any) -> Any:
        """Write the word at F[i], after all else."""

        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            builder.store_atomic(args[2], _word(builder, *args[:2]), "release", 8)
            return context.get_dummy_value()

        return types.void(F, types.int64, types.int64), codegen

    @intrinsic
    def take(_typing: Any, F: Any, i: Any, value: Any) -> Any:
        """Write zero in the place of a word; tell whether it was still there."""

        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            place, zero = _word(builder, *args[:2]), ir.Constant(_WORD, 0)
            pair = builder.cmpxchg(place, args[2], zero, "acq_rel", "acquire")
            return builder.extract_value(pair, 1)

        return types.boolean(F, types.int64, types.int64), codegen

    @intrinsic
    def rest(_typing: Any, long: Any) -> Any:
        """Wait for a moment, or longer."""

        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            if _X86:
                signature = ir.FunctionType(ir.VoidType(), [])
                pause = cgutils.get_or_insert_function(
                    builder.module, signature, "llvm.x86.sse2.pause"
                )
                builder.call(pause, [])
            if _YIELDS:
                with builder.if_then(cgutils.as_bool_bit(builder, args[0])):
                    signature = ir.FunctionType(ir.IntType(32), [])
                    give = cgutils.get_or_insert_function(builder.module, signature, "sched_yield")
                    builder.call(give, [])
            return context.get_dummy_value()

        return types.void(types.boolean), codegen


@kernel
def on_both_sides(I: Any, F: Any, task: int) -> None:
    """Run the kernel with the address S[task] on both sides."""
    S = ints(F)
    address, gate = S[task], I[m.GATE]
    if S[m.HELPED] == 0:
        call(address, I, F, 0)
        call(address, I, F, 1)
        return
    job = S[m.HELPED] + 1
    S[m.HELPED] = job
    job = 64 * job + (task - m.PUSH_TASK)
    tell(F, gate + m.GATE_OPEN, job)
    call(address, I, F, 0)
    if take(F, gate + m.GATE_OPEN, job):
        call(address, I, F, 1)
        return
    waited = 0
    while look(F, gate + m.GATE_DONE) != job:
        waited += 1
        rest(waited > _SPINS)


TASKS: dict[int, Kernel] = {}  # of each pass by sides, what runs it on one; by their place in S


def by_sides(task: int, *, largest: int = 0, between: str = "") -> Callable[..., Any]:
    """Return a decorator of a pass ``f(I, F, side)``: the function (I, F) that runs it whole.

    Parameters
    ----------
    task : int
        Where in S the address of its kernel is.
    largest : 0, 1 or 2
        How many floats the pass returns; of both sides the larger ones are returned.
    between : {"", "before", "after"}
        Whether the pass also runs on what is between the sides, before or after them.
    """

    def decorator(function: Callable[..., Any]) -> Any:
        each, before, after = jit(function), between == "before", between == "after"

        @jit
        def jobs(I: Any, F: Any) -> None:
            S = ints(F)
            if before:
                call(S[task], I, F, m.BETWEEN)
            call(S[m.SHARED], I, F, task)
            if after:
                call(S[task], I, F, m.BETWEEN)

        def nothing(I: Any, F: Any) -> None:
            if ints(F)[m.SHARED]:
                jobs(I, F)
            else:
                each(I, F, m.WHOLE)

        def one(I: Any, F: Any) -> float:
            if ints(F)[m.SHARED]:
                jobs(I, F)
                return max(F[measured(I, 0)], F[measured(I, 1)])
            return float(each(I, F, m.WHOLE))

        def two(I: Any, F: Any) -> tuple[float, float]:
            if ints(F)[m.SHARED]:
                jobs(I, F)
                a, b = measured(I, 0), measured(I, 1)
                return max(F[a], F[b]), max(F[a + 1], F[b + 1])
            return each(I, F, m.WHOLE)

        def nothing_of_a_side(I: Any, F: Any, side: int) -> None:
            each(I, F, side)

        def one_of_a_side(I: Any, F: Any, side: int) -> None:
            F[measured(I, side)] = each(I, F, side)

        def two_of_a_side(I: Any, F: Any, side: int) -> None:
            to = measured(I, side)
            F[to], F[to + 1] = each(I, F, side)

        whole = (nothing, one, two)[largest]
        job = (nothing_of_a_side, one_of_a_side, two_of_a_side)[largest]
        for pass_, name in ((whole, function.__name__), (job, f"{function.__name__}_side")):
            pass_.__name__, pass_.__doc__ = name, function.__doc__
        TASKS[task] = kernel(job)
        return jit(whole)

    return decorator


def share(S: np.ndarray) -> None:
    """Let steps be shared: write the addresses of all tasks."""
    compile_all([on_both_sides, *TASKS.values()])
    for task, job in ((m.SHARED, on_both_sides), *TASKS.items()):
        S[task] = job.address


@loop
@flushing
def help_out(I: Any, F: Any, k: int) -> None:
    """Take jobs until the word is negative, or none has come for seconds."""
    S, gate = ints(F), I[m.GATE]
    waited = 0
    while True:
        job = look(F, gate + m.GATE_OPEN)
        if job < 0 or waited > _PATIENCE:
            return
        if job > 0 and take(F, gate + m.GATE_OPEN, job):
            call(S[m.PUSH_TASK + job % 64], I, F, 1)
            tell(F, gate + m.GATE_DONE, job)
            waited = 0
        waited += 1
        rest(waited > _SPINS)


def cores() -> int:
    """Return how many cores this process may use."""
    mine = getattr(os, "sched_getaffinity", None)  # not on all systems
    return len(mine(0)) if mine else os.cpu_count() or 1


class Helper:
    """A thread that takes jobs of a run, ``with helper:``, and has scratch space of its own."""

    def __init__(self, I: np.ndarray, F: np.ndarray) -> None:
        self.I, self.F = I.copy(), F
        self.I[m.SCRATCH] = I[m.SCRATCH_BESIDE]
        self.I[m.XS] += I[I[m.SIDES] + m.SD_U]
        self.gate = F[I[m.GATE] :][: m.GATE_SIZE].view(np.int64)
        self.thread: threading.Thread | None = None
        _ = help_out.address  # compiled by now: nobody waits for it

    def __enter__(self) -> None:
        """Begin."""
        self.gate[m.GATE_OPEN] = self.gate[m.GATE_DONE] = 0
        self.thread = threading.Thread(target=help_out, args=(self.I, self.F), daemon=True)
        try:
            self.thread.start()
            m.integers(self.F)[m.HELPED] = 1
        except RuntimeError:  # the system has no more threads: then without
            self.thread = None
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        """End."""
        m.integers(self.F)[m.HELPED], self.gate[m.GATE_OPEN] = 0, -1
        if self.thread is not None:
            self.thread.join()
            self.thread = None


def helper_of(I: np.ndarray, F: np.ndarray) -> AbstractContextManager[None]:
    """Return who helps with steps of a run: another thread, or nobody."""
    if PYTHON or not m.integers(F)[m.SHARED] or cores() < 2:
        return nullcontext()
    return Helper(I, F)
