"""What is pickled or deep-copied does what the original does, in a fresh process too."""

import copy
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import mbd
from tests.results.samples import everything, spinner


def push(t):
    return (0.0, 0.1 * t, 1.0)


def run(model):
    """What a model does, in whatever process."""
    r = mbd.simulate(model, 0.02, 1e-3)
    return np.hstack([x[-1] for x in (r.q, r.v, r.lam)])


def bits(x):
    return pickle.loads(pickle.dumps(x))


@pytest.fixture(scope="module")
def system():
    made = everything()
    made.add(mbd.PointForce("push", made["flier"], push))
    made.add(mbd.PointForce("pull", made["bob"], lambda t: (0, 0.2, t)))
    return made


@pytest.mark.parametrize("carry", [bits, copy.deepcopy])
def test_every_part_is_made_again(system, carry):
    for part in [*system.bodies.values(), *system.joints.values(), *system.forces.values()]:
        other = carry(part)
        assert type(other) is type(part)
        assert other is not part
        assert other.name == part.name
        if part.name in system.bodies:  # whose kernels are known by the very formulation
            assert other.formulation is part.formulation
            assert np.array_equal(other.second_moments, part.second_moments)


@pytest.mark.parametrize("carry", [bits, copy.deepcopy])
def test_a_system_and_its_model_run_to_the_same_bits(system, carry):
    model = system.build()
    expected = run(model)
    for thing in (system, model):
        other = carry(thing)
        assert np.array_equal(run(other), expected)
    other = carry(system)
    assert other.ground is not system.ground
    assert all(b is other.bodies[b.name] for j in other.joints.values() for b in j.bodies
               if b.name != "ground")  # fmt: skip


def test_a_fresh_process_gives_the_same_bits(system):
    model = system.build()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert np.array_equal(pool.apply(run, (model,)), run(model))


@pytest.mark.parametrize("carry", [bits, copy.deepcopy])
def test_results_are_carried(carry, tmp_path):
    model = spinner().build()
    event = mbd.Event("half", lambda s: s["hinge"].angle - 0.5)
    for how in ({}, {"stream": tmp_path / "run.nc"}):
        r = mbd.simulate(model, 0.05, 1e-3, events=event, **how)
        r["wheel"].position  # noqa: B018
        other = carry(r)
        for name in ("t", "q", "v", "a", "lam", "gap"):
            assert np.array_equal(getattr(other, name), getattr(r, name)), name
        assert np.array_equal(other["wheel"].quaternion, r["wheel"].quaternion)
        assert [(x.name, x.t) for x in other.events] == [(x.name, x.t) for x in r.events]
        assert (other.status, other.message, other.stats) == (r.status, r.message, r.stats)
        state = carry(r.state)
        assert np.array_equal(
            mbd.simulate(other.model, 0.1, 1e-3, state=state).q[-1],
            mbd.simulate(model, 0.1, 1e-3, state=r.state).q[-1],
        )
    modes, balance = mbd.modes(model), mbd.equilibrium(model)
    assert np.array_equal(carry(modes).eigenvalues, modes.eigenvalues)
    assert np.array_equal(carry(balance)["wheel"].position, balance["wheel"].position)
    assert np.array_equal(carry(model.assemble()).K.toarray(), model.assemble().K.toarray())
    made = spinner()
    made.add(mbd.PointForce("push", made["wheel"], push))
    for ending in ("nc", "npz"):
        stored = mbd.load(mbd.simulate(made, 0.01, 1e-3).save(tmp_path / f"x.{ending}"))
        assert np.array_equal(carry(stored)["wheel"].position, stored["wheel"].position)


def test_laws_that_cannot_be_carried_are_named():
    lock = threading.Lock()

    def law(t):
        with lock:
            return (0, 0, t)

    made = spinner()
    made.add(mbd.PointForce("locked", made["wheel"], law))
    for thing in (made, made.build()):
        with pytest.raises(TypeError, match=r"locked: its function .* cannot be carried.*lock"):
            pickle.dumps(thing)
        copy.deepcopy(thing)
