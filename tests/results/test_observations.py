"""Observations: the quantities of an instant, in compiled code, with the bits of results."""

import gc
import math
import pickle
import sys

import numba
import numpy as np
import pytest
from scenes import with_body, with_point

import mbd
from mbd.drawing.curves import curves
from mbd.history.columns import model_columns
from mbd.history.program import write
from mbd.history.quantities import SINCE_THE_START
from mbd.machine import buffer as m
from mbd.machine.jit import address_at, address_of, floats_at, kernel
from tests.results.samples import everything, spinner

STEP = 1e-3
SUMS = {x.flat for x in SINCE_THE_START}
RATES = ("angular_velocity_body", "angular_acceleration")  # of bodies, which no file has


@kernel
def write_kernel(I, F, k):
    """Write an observation: I[k:] has the addresses of its table and of an array."""
    write(F, address_at(I, k), floats_at(address_at(I, k + 2)))


def driven():
    """Return a beam, a cable, a motor with a law, one with a number, a drive and a rope."""
    system = mbd.System(gravity=(0, 0.1, -9.81))
    section = mbd.Section(stiffness=(5e3, 2e3, 2e3, 3.0, 4.0, 5.0), mass=0.5)
    system.add(
        mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=section, elements=2, damping=1e-3,
                 first=system.ground)
    )  # fmt: skip
    system.add(
        mbd.Cable("cable", points=[(0, 0, 3), (1, 0, 3)], elements=3, stiffness=1e3, damping=1.0,
                  mass=0.2, first=system.ground, last=system.ground)
    )  # fmt: skip
    for i, name in enumerate(("rod", "wheel", "arm")):
        body = system.add(
            mbd.RigidBody(name, mass=1, inertia=(0.1, 0.1, 0.1), position=(0.5, 2 * i, 0))
        )
        system.add(
            mbd.Revolute(f"{name} hinge", system.ground, body, at=(0, 2 * i, 0), axis=(0, 1, 0))
        )
    system.add(mbd.Motor("law", system["rod hinge"], lambda u, rate, t: 0.3 * u - rate + t))
    system.add(mbd.Motor("motor", system["arm hinge"], 2.0))
    system.add(mbd.Drive("drive", system["wheel hinge"], position=mbd.ConstantSpeed(0.5)))
    return system


MODELS = {"everything": everything, "driven": driven, "turns": spinner}


@pytest.fixture(scope="module", params=list(MODELS))
def run(request):
    """Return a stepper and the solution of the same steps."""
    stepper = mbd.Stepper(MODELS[request.param](), STEP, project=True)
    stepper.step(200)
    return stepper, mbd.simulate(stepper.model, 200 * STEP, STEP, project=True)


def test_an_instant_has_the_bits_of_the_result(run):
    """Every quantity of every owner; the sign of a quaternion is known over time alone."""
    stepper, solution = run
    model = stepper.model
    assert np.array_equal(stepper.state.q, solution.q[-1])
    names = [x for x in model_columns(model) if x not in SUMS and x != "t"]
    for part in model.system.bodies.values():
        names += [f"{part.name}.{x}" for x in RATES if part.formulation.axes]
    observation = model.observe(names)
    values = observation(stepper)
    assert len(values) == len(observation.labels) == len(observation.units) > len(names)
    for name in names:
        (series,) = curves(solution, name)
        there, here = np.atleast_1d(series.values[-1]), values[observation.slices[name]]
        if name.endswith(".quaternion"):
            there, here = np.abs(there), np.abs(here)
        assert np.array_equal(here, there), name
    assert np.array_equal(values.copy(), observation(stepper.state), equal_nan=True)


def test_second_rates_and_matrices(run):
    stepper, solution = run
    for joint in stepper.model.system.joints.values():
        for x in joint.coordinates:
            name = f"{x}_second_rate"
            observation = stepper.model.observe([f"{joint.name}.{name}"])
            assert observation(stepper)[0] == getattr(solution[joint.name], name)[-1]
    for name, body in stepper.model.nodes.items():
        if body.formulation.axes:
            R = stepper.model.observe([f"{name}.rotation"])(stepper)
            assert np.array_equal(R.reshape(3, 3), solution[name].rotation[-1])
            felt = stepper.model.observe([(name, (0.1, -0.2, 0.3), "accelerometer")])(stepper)
            a = solution[name].at((0.1, -0.2, 0.3)).acceleration[-1]
            a = a - np.array(stepper.model.system.gravity)
            assert felt == pytest.approx(a @ R.reshape(3, 3), rel=1e-12, abs=1e-12)


def test_an_observation_leaves_the_run_as_it_is(run):
    """Snapshots, observations and steps in any order; the run has the bits of one alone."""
    stepper, _ = run
    model = stepper.model
    observation = model.observe(["energy.total", *(f"{x}.acceleration" for x in model.nodes)])
    snapshot = stepper.snapshot()
    before = stepper.run.work.F.tobytes()
    first = observation(stepper).copy()
    assert stepper.run.work.F.tobytes() == before
    assert observation(stepper) is observation(stepper)
    stepper.step(5)
    moved, alone = observation(stepper).copy(), stepper.state.q
    assert not np.array_equal(moved, first)
    stepper.restore(snapshot)
    assert np.array_equal(observation(stepper), first)
    stepper.step(5)
    assert np.array_equal(stepper.state.q, alone)
    assert np.array_equal(observation(stepper), moved)
    stepper.restore(snapshot)


def test_an_observation_makes_nothing(run):
    """A thousand of them leave no memory behind: arrays are made once."""
    stepper, _ = run
    observation = stepper.model.observe([f"{x}.position" for x in stepper.model.nodes])
    observation(stepper)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(1000):
        observation(stepper)
    assert sys.getallocatedblocks() - before < 100


def test_restoring_leaves_addresses_of_kernels():
    """A stage that was filled after the snapshot is still there."""
    stepper = mbd.Stepper(spinner(), STEP)
    work = stepper.run.work
    snapshot = stepper.snapshot()
    work.fill(m.ENERGY)
    first = work.S[m.ENERGY]
    calls = work.S[first : first + 2 * work.S[m.ENERGY + 1]].copy()
    assert calls.all()
    stepper.restore(snapshot)
    assert np.array_equal(work.S[first : first + len(calls)], calls)


def test_compiled_code_writes_the_same_numbers(run):
    stepper, _ = run
    observation = stepper.model.observe([f"{x}.velocity" for x in stepper.model.nodes])
    out = np.zeros(len(observation))
    I = m.entries(m.halves(observation.table), m.halves(address_of(out)))
    write_kernel(I, stepper.floats, 0)
    assert np.array_equal(out, observation(stepper))
    again = pickle.loads(pickle.dumps(observation))
    assert again.labels == observation.labels
    assert np.array_equal(again(stepper.state), out)


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_an_accelerometer_feels_no_free_fall(formulation):
    """On a turning body it feels what turns it, -omega^2 r, to the error of steps of 1e-3 s."""
    system, _ = with_body(
        "top", gravity=(0, 0, -9.81), mass=1, inertia=(1, 1, 2), angular_velocity=(0, 0, 3.0),
        formulation=formulation,
    )  # fmt: skip
    stepper = mbd.Stepper(system, 1e-3)
    observation = stepper.model.observe(
        ["top.gyroscope", ("top", (0.5, 0, 0), "accelerometer"), "top.accelerometer"]
    )
    for n in (1, 300):
        stepper.step(n)
        expected = [0, 0, 3.0, -4.5, 0, 0, 0, 0, 0]
        assert observation(stepper) == pytest.approx(expected, abs=1e-4)


def test_points_distances_and_functions():
    system, cart = with_point("cart", mass=2.0, velocity=(3.0, 0, 0))
    rod = system.add(
        mbd.RigidBody("rod", mass=1, inertia=(1, 1, 2), position=(0, 4, 0), velocity=(3.0, 4.0, 0))
    )

    @numba.njit
    def length(x, y, z):
        return math.sqrt(x * x + y * y + z * z)

    stepper = mbd.Stepper(system, 1e-2)
    observation = stepper.model.observe(
        [
            (cart, rod, "distance"), ("cart", rod, (0, 0, 3), "distance_rate"),
            ("ground", (0, 0, 1), "cart", "distance"), ("rod", (1, 0, 0), "position"),
            ("speed", length, ["rod.velocity"]),
        ]
    )  # fmt: skip
    assert observation.labels == (
        "cart to rod.distance", "cart to rod at (0, 0, 3).distance_rate",
        "ground at (0, 0, 1) to cart.distance", "rod at (1, 0, 0).position.x",
        "rod at (1, 0, 0).position.y", "rod at (1, 0, 0).position.z", "speed",
    )  # fmt: skip
    expected = [4.0, 4.0 * 4.0 / 5.0, 1.0, 1.0, 4.0, 0.0, 5.0]
    assert observation(stepper) == pytest.approx(expected, abs=1e-14)
    stepper.step(100)
    assert observation(stepper)[[0, 6]] == pytest.approx([8.0, 5.0], abs=1e-12)


def plain(x):
    return x


@numba.njit
def two(x, y):
    return x + y


@pytest.mark.parametrize(("what", "error", "message"), [
    ("rod.position", TypeError, "what must be a list of names"),
    (["rod.positon"], KeyError, r"nothing is called 'rod.positon' \(did you mean 'position'"),
    (["rood.position"], KeyError, "nothing is called 'rood.position'"),
    (["rod"], KeyError, "'rod' stands for several quantities; name one of rod.position"),
    (["rod.position.w"], KeyError, "'rod.position' has: x, y, z"),
    (["energy.work"], ValueError, "adds up since the start of a run"),
    ([3], TypeError, "a quantity must be a name"),
    ([("rod", "bob", "distance_of")], ValueError, "of two distance, distance_rate"),
    ([("rod", (0, 1), "position")], ValueError, "the point of 'rod' must be 3 numbers"),
    ([("bob", (0, 0, 1), "position")], ValueError, "'bob' is a point, it has no axes"),
    ([("ground", "accelerometer")], ValueError, "must be on a body, got ground"),
    ([("sum", plain, ["rod.position"])], TypeError, r"@numba\.njit"),
    ([("sum", two, ["rod.position"])], TypeError, "must take 3 numbers"),
])  # fmt: skip
def test_what_cannot_be_observed_is_said(what, error, message):
    system, _ = with_body("rod", mass=1, inertia=(1, 1, 2))
    system.add(mbd.PointMass("bob", mass=1))
    with pytest.raises(error, match=message):
        system.build().observe(what)


def test_rows_that_depend_on_others_share_the_load_as_in_results():
    """Of a bar on two collinear hinges each carries half of its weight, not one all of it."""
    system, door = with_body("door", gravity=(0, 0, -9.81), mass=2.0, inertia=(1, 1, 1))
    for i, y in enumerate((-1.0, 1.0)):
        system.add(mbd.Revolute(f"hinge {i}", system.ground, door, at=(0, y, 0), axis=(0, 1, 0)))
    stepper = mbd.Stepper(system, STEP)
    stepper.step(10)
    observation = stepper.model.observe(["hinge 0.force", "hinge 1.force"])
    assert observation(stepper)[[2, 5]] == pytest.approx([9.81, 9.81], abs=1e-9)
