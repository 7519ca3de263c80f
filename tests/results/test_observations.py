"""Observations: the quantities of an instant, in compiled code, with the bits of results."""

import numpy as np
import pytest

import mbd
from mbd.history.program import write
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, address_of, floats_at, kernel
from tests.results.samples import everything


@kernel
def write_kernel(I, F, k):
    """Write an observation: I[k:] has the addresses of its table and of an array."""
    write(F, address_at(I, k), floats_at(address_at(I, k + 2)))


@pytest.fixture(scope="module")
def stepper():
    stepper = mbd.Stepper(everything(), 1e-3)
    stepper.step(20)
    return stepper


def test_an_observation_leaves_the_run_as_it_is(stepper):
    names = [f"{x}.position" for x in stepper.model.nodes]
    names += [f"{x}.acceleration" for x in stepper.model.nodes]
    observation = stepper.model.observe(names)
    before = stepper.run.work.F.tobytes()
    y = observation(stepper)
    assert stepper.run.work.F.tobytes() == before
    assert observation(stepper) is y
    assert np.array_equal(y, observation(stepper.state).copy())
    snapshot = stepper.snapshot()
    first = observation(stepper).copy()
    stepper.step(5)
    assert not np.array_equal(observation(stepper), first)
    stepper.restore(snapshot)
    assert np.array_equal(observation(stepper), first)


def test_compiled_code_writes_the_same_numbers(stepper):
    observation = stepper.model.observe([f"{x}.velocity" for x in stepper.model.nodes])
    out = np.zeros(len(observation))
    I = m.entries(m.halves(observation.table), m.halves(address_of(out)))
    write_kernel(I, stepper.floats, 0)
    assert np.array_equal(out, observation(stepper))
