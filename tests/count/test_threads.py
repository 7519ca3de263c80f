"""Runs in threads: compiled loops run beside each other, and beside Python."""

import threading
import time

import numpy as np
import pytest
from scenes import chain, with_body

import mbd
from mbd.machine import buffer as m
from mbd.machine.jit import PYTHON, address_at, call, kernel, loop
from mbd.runs import record, stretch
from mbd.runs.interrupts import Interrupt
from mbd.runs.plan import Plan

pytestmark = pytest.mark.skipif(PYTHON, reason="Python itself runs one thread at a time")

LONG = 200_000  # steps of one body: some tenth of a second


@kernel
def look(I, F, k):
    """Write what the other one has said: a call, so that memory is read anew."""
    F[2 + k] = F[1 - k]


def spin(I, F, k):
    """Say that one is here, and wait for the other one; F[4 + k] is 1 where it came."""
    F[k] = 1.0
    for _ in range(2_000_000_000):
        call(address_at(I, 0), I, F, k)
        if F[2 + k] != 0.0:
            F[4 + k] = 1.0
            return


meet, meet_on_large_arrays = loop(spin), kernel(spin)


@pytest.mark.parametrize(("wait", "size"), [(meet, 6), (meet_on_large_arrays, 100_000)])
def test_two_threads_are_within_one_kernel_at_once(wait, size):
    """Each waits in compiled code for the other one: alone, none would see it."""
    I, F = m.entries(m.halves(look.address)), np.zeros(size)
    threads = [threading.Thread(target=wait, args=(I, F, k)) for k in range(2)]
    assert wait.address
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert F[4:6].tolist() == [1, 1]


@pytest.mark.parametrize(("method", "rtol"), [
    (mbd.GeneralizedAlpha(), np.inf),
    (mbd.GeneralizedAlpha(constraints="stabilized"), 1e-3),
    (mbd.EnergyMomentum(), np.inf),
    (mbd.LieRungeKutta4(), np.inf),
    (mbd.ExplicitRungeKutta(), 1e-3),
    (mbd.LieRungeKutta4("commutator_free"), np.inf),
], ids=str)  # fmt: skip
def test_python_goes_on_beside_a_loop(method, rtol, monkeypatch):
    """A thread that sleeps for a thousandth of a second wakes up within one call of the loop."""
    monkeypatch.setattr(record, "_CHUNK_BYTES", 1000)
    model, _ = with_body(
        "b", inertia=(1, 2, 2.5), angular_velocity=(1, 0.1, 0.2),
        formulation="directors" if isinstance(method, mbd.EnergyMomentum) else "so3",
    )  # fmt: skip
    model = model.build()
    plan = Plan(1e6, 1e-3, every=10**9, rtol=rtol, max_step=1e-3)
    run = stretch.Stretch(model, mbd.consistent(model), method, plan, Interrupt())
    run.work.S[m.N_STEPS] = LONG
    woken, over = [0], threading.Event()

    def watch():
        while not over.is_set():
            time.sleep(1e-3)
            woken[0] += 1

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        before = woken[0]
        run.advance(run.work.I, run.work.F)
        during = woken[0] - before
    finally:
        over.set()
        thread.join()
    assert run.work.S[m.STEPS_DONE] == LONG
    assert during >= 5


def test_laws_in_python_are_called_back_in_many_threads():
    """They take the lock of the interpreter again; each run has the bits that it has alone."""

    def gust(t):
        time.sleep(0.0)  # another thread's turn
        return 0.3 * t, 0.0, 0.1

    system = chain(2)
    system.add(mbd.PointForce("wind", list(system.bodies.values())[1], gust))
    model = system.build()
    alone, done = mbd.simulate(model, 0.05, 1e-3), {}

    def work(i):
        done[i] = mbd.simulate(model, 0.05, 1e-3)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    for solution in done.values():
        assert np.array_equal(solution.q, alone.q)
        assert np.array_equal(solution.lam, alone.lam)
