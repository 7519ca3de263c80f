"""The same input gives the same bits, however long the pieces are that compiled code takes."""

import math
import threading

import numba
import numpy as np
import pytest
from scenes import hinged
from scipy.spatial.transform import Rotation

import mbd
from mbd.formulations import NAMES, named
from mbd.parts.bodies import StackedBodies
from mbd.runs import stretch as module

STABILIZED = mbd.GeneralizedAlpha(constraints="stabilized")
WHOLE = 10**9  # a piece that ends with the run


def arm(formulation="so3", *, driven=False, law=None, start=0.0):
    """A bar on a hinge, a second one on a ball joint, a spring with a law; perhaps a drive."""
    system = mbd.System(gravity=(0, 0.3, -9.81))
    first, second = (
        mbd.RigidBody(
            name,
            mass=1.3,
            inertia=(0.01, 0.11, 0.1),
            position=(0.5 + i, 0, 0),
            formulation=formulation,
        )
        for i, name in enumerate(("first", "second"))
    )
    system.add(first)
    system.add(second)
    hinge = mbd.Revolute("hinge", system.ground, first, at=(0, 0, 0), axis=(0, 1, 0))
    system.add(hinge)
    system.add(mbd.Spherical("ball", first, second, at=(1, 0, 0)))
    system.add(mbd.PointForce("wind", second, law or gust, at=(1.2, 0, 0)))
    if driven:
        turn = numba.njit(lambda t: 0.2 * (1 - math.cos(3.7 * (t - start))))
        system.add(mbd.Drive("motor", hinge.angle, position=turn))
    return system


@numba.njit
def gust(t):
    return 3.1 * math.sin(7.3 * t), 0.7 * math.cos(11.9 * t), 0.0


def free():
    """A body between springs, which any method can move."""
    system = mbd.System(gravity=(0, 0, -9.81))
    bar = mbd.RigidBody(
        "bar", mass=2.0, inertia=(0.1, 0.2, 0.25), angular_velocity=(0.3, 2.0, 0.1),
        formulation="se3",
    )  # fmt: skip
    system.add(bar)
    for i, at in enumerate(((1, 0, 0), (0, 1, 0), (-1, -1, 0))):
        system.add(mbd.Spring(f"s{i}", system.ground, bar, at=(0, 0, 2), to=at, stiffness=50.0))
    system.add(mbd.PointForce("wind", bar, gust, at=(0.1, 0, 0)))
    return system


def conserving():
    """Directors on a pin, a spring by a law of time: what the energy-momentum scheme takes."""
    system, bar, _ = hinged(
        "bar", "pin", kind="Spherical", inertia=(0.01, 0.1, 0.1), formulation="directors"
    )
    law = numba.njit(lambda u, rate, t: (9 * (u - 0.4) + math.sin(5 * t), 9.0, 0.0))
    system.add(mbd.Spring("cord", system.ground, bar, at=(0, 0.1, 0.7), to=(0.8, 0, 0), law=law))
    return system


def ringing():
    """Events on the way: one that only rings, one that turns the motion back."""

    def back(model, state):
        return state.replace(v=-0.9 * state.v)

    return [
        mbd.Event("low", lambda s: s["second"].position[:, 2] + 0.21),
        mbd.Event("back", lambda s: s["first"].position[:, 2] + 0.37, direction=-1, change=back),
    ]


RUNS = {
    "position": (lambda: arm(driven=True), {}),
    "stabilized": (lambda: arm(driven=True), {"method": STABILIZED}),
    "every": (arm, {"every": 13}),
    "events": (arm, {"events": ringing()}),
    "short last step": (arm, {"t_end": 1.6137}),
    "tolerance": (arm, {"rtol": 1e-5, "step": None}),
    "times": (arm, {"t_eval": np.linspace(0, 1.6, 37)}),
    "careful": (
        arm,
        {"method": mbd.GeneralizedAlpha(linear_solver="splu"), "t_end": 0.1},
    ),
    "energy-momentum": (conserving, {"method": mbd.EnergyMomentum()}),
    "explicit": (arm, {"method": mbd.ExplicitRungeKutta("tsit5")}),
    "motion vector": (free, {"method": mbd.LieRungeKutta4()}),
    "commutator free": (free, {"method": mbd.LieRungeKutta4(scheme="commutator_free")}),
    "quaternion": (free, {"method": mbd.LieRungeKutta4(scheme="quaternion")}),
}


def pieces(monkeypatch, length):
    """Let compiled code take so many steps at a time, as a slow or a fast machine would."""
    steps = module.Stretch._chunk
    monkeypatch.setattr(module, "_CHUNK_SECONDS", math.inf)
    monkeypatch.setattr(
        module.Stretch, "_chunk", lambda run, n, last=False: steps(run, min(n, length), last)
    )


def result(system, state=None, **options):
    options = {"t_end": 1.6, "step": 1e-3, **options}
    solution = mbd.simulate(system, state=state, **options)
    happened = [(found.name, found.t) for found in solution.events]
    histories = (solution.t, solution.q, solution.v, solution.a, solution.lam)
    return [np.asarray(x) for x in histories], happened


def same(one, two):
    for x, y in zip(one[0], two[0], strict=True):
        assert x.tobytes() == y.tobytes()
    assert one[1] == two[1]


@pytest.mark.parametrize("name", RUNS)
def test_the_bits_do_not_depend_on_the_length_of_pieces(name, monkeypatch):
    make, options = RUNS[name]
    model = make().build()
    found = []
    for length in (WHOLE, 1, 7, 1000):
        with monkeypatch.context() as patch:
            pieces(patch, length)
            found.append(result(model, **options))
    assert len(found[0][0][0]) > 30
    if name == "events":
        assert {x for x, _ in found[0][1]} == {"low", "back"}
    for other in found[1:]:
        same(found[0], other)


def test_time_is_that_of_the_step_number_far_from_zero(monkeypatch):
    """t = t0 + n h to the last bit, which a sum of steps would miss; laws see the same."""
    t0, h, n = 1234.5, 0.1 / 3, 3_000
    seen = []

    def law(t):
        seen.append(t)
        return 0.0, 0.0, 1e-3

    system = mbd.System()
    system.add(mbd.PointMass("p", mass=1.0))
    system.add(mbd.PointForce("f", system["p"], law))
    model = system.build()
    pieces(monkeypatch, 77)
    solution = mbd.simulate(model, t0 + n * h, h, state=model.state.replace(t=t0))
    assert np.abs(solution.t - (t0 + np.arange(n + 1) * h)).max() <= np.spacing(t0)
    assert set(solution.t[2:]) <= set(seen)


def test_the_bits_do_not_depend_on_bar_stream_or_threads(tmp_path, monkeypatch):
    model = arm(driven=True).build()
    plain = result(model)
    with monkeypatch.context() as patch:
        pieces(patch, 3)
        same(plain, result(model, progress=True))
    same(plain, result(model, stream=tmp_path / "run.nc"))
    some = result(model, every=8)
    for whole, part in zip(plain[0], some[0], strict=True):
        assert np.array_equal(whole[::8], part)
    found = {}

    def work(i):
        found[i] = result(model)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(3):
        same(plain, found[i])


OTHERS = [mbd.Scalable(velocities="u"), mbd.Scalable(rigid=False, velocities="u"), named("point")]
STACKING = [x for x in (*map(named, NAMES), *OTHERS) if x.stacks]


@pytest.mark.parametrize("law", STACKING, ids=lambda x: x.name)
def test_many_bodies_have_the_numbers_of_each(law):
    """Constants and initial state of a stack, against those of its bodies one by one."""
    rng = np.random.default_rng(7)
    turns = [np.eye(3), *Rotation.random(6, rng=rng).as_matrix()]
    bodies = [
        mbd.RigidBody(
            f"b{i}", mass=rng.uniform(1, 2), inertia=rng.uniform(2, 3, 3), rotation=R,
            position=rng.normal(size=3), velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3), center_of_mass=rng.normal(size=3),
        )
        for i, R in enumerate(turns)
    ]  # fmt: skip
    stack, origin = StackedBodies.of(bodies), rng.normal(size=3)
    q, v = stack.q_and_v(law, origin)
    constants = stack.constants(law)
    for i, x in enumerate(bodies):
        motion = x.position - origin, x.rotation, x.velocity, x.angular_velocity
        own_q, own_v = law.initial(*motion)
        assert np.array_equal(q[i], own_q)
        assert np.array_equal(v[i], own_v)
        own = law.constants(x.mass, x.center_of_mass, x.second_moments)
        assert np.array_equal(constants[i], own)


def test_angles_of_many_joints_start_as_those_of_each():
    """Hinges, cylindrical joints and universal joints between turned frames of turned bodies."""
    rng = np.random.default_rng(3)
    system = mbd.System()
    last = system.ground
    kinds = (mbd.Revolute, mbd.Cylindrical, mbd.Universal)
    for i in range(30):
        R = Rotation.random(3, rng=rng).as_matrix()
        body = mbd.RigidBody(
            f"b{i}", mass=1.0, inertia=(1, 1, 1), position=(i, 0, 0), rotation=R[0]
        )
        system.add(body)
        ends = (last.frame((0.5, 0, 0), axes=R[1]), body.frame((-0.5, 0, 0), axes=R[2]))
        system.add(kinds[i % 3](f"j{i}", *ends))
        last = body
    model = system.build()
    starts = [system[x.split(".")[0]].coordinates[x.split(".")[1]].start for x in model.remembered]
    assert len(starts) == 40
    assert np.array_equal(model.F[model.memory], starts)
