"""Far from the origin, and at any scale of length, mass and time, a run is what it is at home."""

import numpy as np
import pytest
from recipes import JOINT_RECIPES, Motion
from scenes import GRAVITY

import mbd
from mbd.formulations import NAMES

PLACES = [(2048.0, 0.0, -3072.0), (-7.0e5, 2.0**20, 0.0), (1e9, -(2.0**31), 1.5 * 2.0**30)]


@pytest.fixture(autouse=True)
def dyadic(monkeypatch):
    """Points of the recipes that numbers of 1e9 can be added to without rounding."""
    import recipes

    for name, at in (("AT", (0.25, -0.375, 0.3125)), ("TO", (0.875, 0.5, -0.625)),
                     ("BELOW", (0.125, -0.25, 0.1875))):  # fmt: skip
        monkeypatch.setattr(recipes, name, at)


def arm(place, formulation, length=1.0, mass=1.0, time=1.0):
    """Two bars on a hinge and a ball joint, and a spring, at a place; units of all dimensions."""
    at = np.asarray(place, float)
    system = mbd.System(gravity=(0, 0, -9.81 * length / time**2))
    inertia = np.array([0.01, 0.2, 0.2]) * mass * length**2
    one, two = (
        system.add(mbd.RigidBody(name, mass=mass, inertia=inertia, formulation=formulation,
                                 position=at + length * np.array((x, 0.0, 0.0))))
        for name, x in (("one", 0.5), ("two", 1.625))
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", system.ground, one, at=at, axis=(0, 0.6, 0.8)))
    system.add(mbd.Spherical("ball", one, two, at=at + length * np.array((1.125, 0, 0))))
    system.add(
        mbd.Spring("spring", system.ground, two, at=at + length * np.array((2, 0, 0.75)),
                   to=at + length * np.array((2, 0, 0)), stiffness=30.0 * mass / time**2)
    )  # fmt: skip
    return system


def motion_of(solution, at=(0.0, 0.0, 0.0), length=1.0, mass=1.0, time=1.0):
    """Return everything that does not know where the system is, in the units of the system."""
    model, size = solution.model, mass * length / time**2
    found = [getattr(solution[j], x) / s for j in model.system.joints
             for x, s in (("force", size), ("moment", size * length))]  # fmt: skip
    loads = np.concatenate(found, axis=1)
    places, turns = [], []
    for name in model.bodies:
        body = solution[name]
        offset = np.asarray(at) - model.origin
        places += [(body.y[:, 0] - offset) / length, body.velocity * time / length]
        if body.body.formulation.axes:
            turns.append(body.rotation.reshape(-1, 9))
    return np.concatenate(places + turns, axis=1), loads / max(1.0, np.abs(loads).max())


def check_alike(one, two, tolerance=2e-11, of_loads=1e-6):
    assert np.abs(one[0] - two[0]).max() < tolerance
    assert np.abs(one[1] - two[1]).max() < of_loads  # round-off of positions over h^2


@pytest.mark.parametrize("formulation", NAMES)
def test_a_hinge_far_away_moves_as_at_home(formulation):
    method = mbd.GeneralizedAlpha(tol=1e-12)  # what is left is round-off
    home = motion_of(mbd.simulate(arm((0, 0, 0), formulation), 0.3, 1e-3, method=method))
    for place in PLACES:
        solution = mbd.simulate(arm(place, formulation), 0.3, 1e-3, method=method)
        check_alike(motion_of(solution, place), home)
        assert solution.gap.max() < 1e-12
        there = arm(place, formulation).bodies["two"].position
        assert np.array_equal(solution["two"].position[0], there)
        tip = solution["two"].at((0.5, 0, 0)).position
        assert np.abs(tip - place).max() < 3.0 + 1e-7


def jointed(name, place):
    """Return a body on a bearing, and one that a joint of some kind holds to it."""
    motion = Motion(shift=place)
    system = mbd.System(gravity=GRAVITY)
    one, two = (
        system.add(mbd.RigidBody(b, mass=1.5, inertia=(0.1, 0.2, 0.3), angular_velocity=w,
                                 position=motion.point(x), formulation=f))
        for b, x, w, f in (("one", (0.5, 0.25, -0.75), (0, 0, 0), "so3"),
                           ("two", (1.5, -0.5, 0.125), (0.3, 0.2, 0.1), "unified"))
    )  # fmt: skip
    system.add(mbd.Spherical("bearing", system.ground, one, at=motion.point((0, 0.5, 0.5))))
    system.add(JOINT_RECIPES[name](one, two, motion))
    return system


# a prescribed motion has laws of the position itself, rounded as that is
@pytest.mark.parametrize("name", sorted(JOINT_RECIPES.keys() - {"PrescribedMotion"}))
def test_every_joint_far_away(name):
    home = motion_of(mbd.simulate(jointed(name, (0, 0, 0)), 0.05, 1e-3, project=True))
    for place in PLACES[::2]:
        there = mbd.simulate(jointed(name, place), 0.05, 1e-3, project=True)
        check_alike(motion_of(there, place), home, 1e-8, 1e-4)


@pytest.mark.parametrize("options", [
    {"rtol": 1e-5}, {"method": mbd.GeneralizedAlpha(constraints="velocity"), "step": 1e-3},
    {"method": mbd.GeneralizedAlpha(constraints="stabilized"), "step": 1e-3},
    {"method": mbd.EnergyMomentum(), "step": 1e-3},
    {"method": mbd.GeneralizedAlpha(linear_solver="splu"), "step": 1e-2},
], ids=str)  # fmt: skip
def test_every_method_far_away(options):
    times = {"t_eval": np.linspace(0.0, 0.3, 7)} if "rtol" in options else {}
    home = mbd.simulate(arm((0, 0, 0), "directors"), 0.3, **options, **times)
    for place in PLACES:
        there = mbd.simulate(arm(place, "directors"), 0.3, **options, **times)
        check_alike(motion_of(there, place), motion_of(home), 1e-10)
        assert there.stats["steps"] == home.stats["steps"]


def test_events_targets_and_statics_far_away():
    found = []
    for place in ((0.0, 0.0, 0.0), *PLACES):
        system = arm(place, "so3")
        low = mbd.Event("low", lambda s, z=place[2]: s["two"].position[:, 2] - (z - 0.25))
        solution = mbd.simulate(system, 0.5, 1e-3, events=low)
        rest = mbd.equilibrium(system)
        posed = mbd.assemble_pose(system, targets={"two.position": np.add(place, (0.75, 0, -0.5))},
                                  weights={"two.position": 1.0})  # fmt: skip
        offset = np.asarray(place) - system.build().origin
        found.append([solution.events[0].t, *(rest["two"].rotation.ravel()),
                      *(posed.q[:3] - offset), *(posed.q[7:10] - offset)])  # fmt: skip
        place = rest["two"].position - place
        assert np.abs(place).max() < 3.0
    for one in found[1:]:
        assert np.abs(np.subtract(one, found[0])).max() < 2e-6  # a position of 1e9 m, to its digits


def test_energy_and_momentum_are_those_about_the_inertial_origin():
    place = np.array((4096.0, -512.0, 1024.0))
    solution = mbd.simulate(arm(place, "so3"), 0.1, 1e-2)
    assert solution.model.origin.any()
    mass = 1.0
    x = [solution[b].position for b in ("one", "two")]
    spring = solution.energy.potential - sum(mass * 9.81 * p[:, 2] for p in x)
    length = np.linalg.norm(
        solution["two"].at((0.375, 0, 0)).position - place - (2, 0, 0.75), axis=1
    )
    assert np.allclose(np.diff(spring), np.diff(15.0 * (length - 0.75) ** 2), rtol=0, atol=1e-9)
    J = np.diag([0.01, 0.2, 0.2])
    L = 0.0
    for b, p in zip(("one", "two"), x, strict=True):
        h = solution[b]
        spin = np.einsum("nij,jk,nlk,nl->ni", h.rotation, J, h.rotation, h.angular_velocity)
        L = L + mass * np.cross(p, h.velocity) + spin
    assert np.allclose(solution.momentum.angular, L, rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", NAMES)
@pytest.mark.parametrize("level", ["position", "stabilized"])
# in se3 velocities in body axes turn along a straight flight
@pytest.mark.filterwarnings("ignore:steps of 0.005 s are too large:RuntimeWarning")
def test_a_pair_that_flies_far_keeps_running(formulation, level):
    """Round-off grows with the distance, and so does what the iteration calls round-off."""
    system = mbd.System()
    speed = np.array((3e4, -1e4, 2e4))
    one, two = (
        system.add(mbd.RigidBody(name, mass=1.0, inertia=(0.1, 0.2, 0.3), position=(x, 0, 0),
                                 velocity=np.add(speed, (0, w * x, 0)), angular_velocity=(0, 0, w),
                                 formulation=formulation))
        for name, x, w in (("one", -0.5, 2.0), ("two", 0.5, 2.0))
    )  # fmt: skip
    system.add(mbd.Revolute("hinge", one, two, at=(0, 0, 0), axis=(0, 1, 0)))
    solution = mbd.simulate(system, 2.0, 5e-3, method=mbd.GeneralizedAlpha(constraints=level))
    middle = 0.5 * (solution["one"].position + solution["two"].position)[-1]
    assert np.allclose(middle, 2.0 * speed, rtol=1e-4, atol=0)  # body axes turn in a step
    assert solution.gap.max() < 1e-8
    omega = solution["one"].angular_velocity[-1]
    assert np.allclose(omega, (0, 0, 2), rtol=0, atol=1e-5)


UNITS = [(1e-9, 1.0, 1.0), (1e-6, 1e-9, 1e-3), (1e-3, 1e-6, 1.0), (1e9, 1.0, 1e3), (1e6, 1e9, 1e-3)]


@pytest.mark.parametrize("formulation", NAMES)
def test_similar_systems_move_alike(formulation):
    sharp = mbd.GeneralizedAlpha(tol=1e-12)
    one = motion_of(mbd.simulate(arm((0, 0, 0), formulation), 0.3, 1e-3, method=sharp))
    for length, mass, time in UNITS:
        system = arm((0, 0, 0), formulation, length, mass, time)
        other = mbd.simulate(system, 0.3 * time, 1e-3 * time, method=sharp)
        check_alike(motion_of(other, (0, 0, 0), length, mass, time), one, 1e-12 * 20)
