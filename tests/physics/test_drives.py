"""Drives, motors, stops, springs on coordinates, and the inverse problems."""

import math
import re
import warnings

import numba
import numpy as np
import pytest
from scenes import with_body
from scipy.special import lambertw

import mbd

from .tools import RIGID, SHARP, published, scene

EVERY = pytest.mark.parametrize("formulation", RIGID)
G, MASS, LENGTH, J = 9.81, 2.0, 0.7, 0.3


@EVERY
def test_inverse_dynamics_of_the_slider_crank(formulation):
    system = scene("driven_slider_crank").build(formulation)
    table = published("K01 inverse")
    times = [math.radians(row["degrees"] - 30) / 20 for row in table]
    solution = mbd.inverse_dynamics(system, times)
    for i, row in enumerate(table):
        assert abs(solution["motor"].load[i] - row["moment"]) < 1e-10
        for joint in ("bearing", "crank pin", "slider pin"):
            assert np.allclose(solution[joint].force[i, :2], row[joint], rtol=0, atol=1e-9)
        assert abs(solution["guide"].force[i, 1] - row["guide"]) < 1e-9
        body = solution["slider"]
        found = body.position[i, 0], body.velocity[i, 0], body.acceleration[i, 0]
        assert np.allclose(found, row["slider"], rtol=0, atol=1e-9)
    angle = solution["bearing"].angle
    assert np.allclose(angle, 20 * np.array(times), rtol=0, atol=1e-12)


def test_crank_at_150_radians_per_second():
    """Rigid version of the slider-crank of the IVP test set: phi = 150 t."""
    system = scene("slider_crank").build(rate=150.0, angle=0.0, torque=0.0)
    system.add(mbd.Drive("motor", system["bearing"], position=lambda t: (150 * t, 150.0, 0.0)))
    solution = mbd.simulate(system, 0.1, 1e-4, method=SHARP)
    phi = 150 * solution.t
    exact = 0.1 * np.cos(phi) + np.sqrt(0.3**2 - (0.1 * np.sin(phi)) ** 2)
    assert np.allclose(solution["slider"].position[:, 0], exact, rtol=0, atol=1e-11)
    assert np.allclose(solution["bearing"].angle, phi, rtol=0, atol=1e-11)


def arm(formulation="so3", rate=0.0):
    system, bar = with_body(
        "bar", gravity=(0, 0, -G), mass=MASS, inertia=(J, J, J), position=(LENGTH, 0, 0),
        velocity=(0, 0, -rate * LENGTH), angular_velocity=(0, rate, 0), formulation=formulation,
    )  # fmt: skip
    hinge = mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0))
    return system, system.add(hinge)


def needed(law, t):
    """Return the moment that moves the arm along a law."""
    phi, _, second = law(t)
    return (J + MASS * LENGTH**2) * second - MASS * G * LENGTH * math.cos(phi)


@EVERY
def test_load_of_a_motor_at_the_start(formulation):
    """The second derivative of the law is part of the first accelerations."""
    law = mbd.Harmonic(amplitude=0.3, frequency=4.0, phase=0.6, mean=-0.3 * math.sin(0.6))
    system, hinge = arm(formulation, law(0.0)[1])
    system.add(mbd.Drive("motor", hinge, position=law))
    solution = mbd.simulate(system, 1e-4, 1e-4)
    assert np.isclose(solution["motor"].load[0], needed(law, 0.0), rtol=1e-12)
    assert np.isclose(solution["hinge"].angle_second_rate[0], law(0.0)[2], rtol=1e-12)


def test_a_law_by_its_value_alone():
    law = mbd.Harmonic(amplitude=0.3, frequency=4.0)
    system, hinge = arm(rate=law(0.0)[1])
    system.add(mbd.Drive("motor", hinge, position=lambda t: law(t)[0]))
    times = np.linspace(0, 1, 7)
    load = mbd.inverse_dynamics(system, times)["motor"].load
    assert np.allclose(load, [needed(law, t) for t in times], rtol=0, atol=1e-7)


@pytest.mark.parametrize("jitted", [False, True])
def test_run_along_a_law_converges(jitted):
    def f(t):
        return 0.4 * math.sin(3 * t), 1.2 * math.cos(3 * t), -3.6 * math.sin(3 * t)

    law = numba.njit(f) if jitted else f
    errors = []
    for h in (4e-3, 2e-3):
        system, hinge = arm(rate=1.2)
        system.add(mbd.Drive("motor", hinge, position=law))
        solution = mbd.simulate(system, 0.8, h, method=SHARP)
        exact = [needed(f, t) for t in solution.t]
        errors.append(np.abs(solution["motor"].load - exact).max())
        assert np.allclose(solution["hinge"].angle, 0.4 * np.sin(3 * solution.t), atol=1e-11)
    assert errors[1] < 0.3 * errors[0] < 0.3 * 0.05


@EVERY
def test_drive_on_velocity(formulation):
    system, hinge = arm(formulation, rate=0.5)
    system.add(mbd.Drive("motor", hinge, velocity=lambda t: (0.5 + t * t, 2 * t)))
    solution = mbd.simulate(system, 1.0, 2e-3)
    assert np.allclose(solution["hinge"].angle_rate, 0.5 + solution.t**2, rtol=0, atol=1e-8)
    assert np.isclose(solution["hinge"].angle[-1], 0.5 + 1 / 3, rtol=0, atol=1e-5)
    assert np.isclose(solution["motor"].load[0], -MASS * G * LENGTH, rtol=1e-10)


def test_constant_speed_needs_no_call_back():
    system, hinge = arm(rate=2.0)
    drive = system.add(mbd.Drive("motor", hinge, position=mbd.ConstantSpeed(2.0)))
    assert drive.law is None
    solution = mbd.simulate(system, 10.0, 2e-2)
    assert np.allclose(solution["hinge"].angle, 2 * solution.t, rtol=0, atol=1e-10)
    assert solution["hinge"].angle[-1] > 3 * 2 * np.pi


def test_derivatives_are_checked():
    _, hinge = arm()
    with pytest.raises(ValueError, match=r"motor: the derivatives.*first derivative at t = .*is"):
        mbd.Drive("motor", hinge, position=lambda t: (math.sin(3 * t), math.cos(3 * t), 0.0))
    with pytest.raises(ValueError, match="second derivative"):
        mbd.Drive("motor", hinge, position=lambda t: (t**3, 3 * t**2, 3 * t))
    kink = lambda t: (abs(t - 0.4), math.copysign(1, t - 0.4), 0.0)  # noqa: E731
    mbd.Drive("motor", hinge, position=kink)
    for law in (mbd.SmoothStep(0, 2, 0.1, 1.2), mbd.Harmonic(2.0, 30.0, 1.0), lambda t: (t, 1, 0)):
        mbd.Drive("motor", hinge, position=law)


def test_motor_spring_and_stop():
    """A motor against a spring comes to rest where both agree; a stop gives energy back."""
    system, hinge = arm()
    system.gravity = np.zeros(3)
    system.add(mbd.JointSpring("coil", hinge, stiffness=2.0, damping=3.0, reference=1.0))
    system.add(mbd.Motor("motor", hinge.angle, 20.0))
    at_rest = mbd.simulate(system, 40.0, 2e-2)
    assert np.isclose(at_rest["hinge"].angle[-1], 11.0, atol=1e-6)  # more than a turn

    system, hinge = arm(rate=3.0)
    system.gravity = np.zeros(3)
    system.add(mbd.Stop("stop", hinge, upper=0.5, lower=-0.5, stiffness=5e3))
    solution = mbd.simulate(system, 2.0, 5e-4)
    rate, angle = solution["hinge"].angle_rate, solution["hinge"].angle
    free = np.abs(angle) < 0.499
    assert np.allclose(np.abs(rate[free]), 3.0, rtol=0, atol=2e-3)
    assert (np.diff(np.sign(rate)) != 0).sum() >= 4
    assert 0.5 < np.abs(angle).max() < 0.56

    system, hinge = arm(rate=3.0)
    system.gravity = np.zeros(3)
    system.add(mbd.Stop("stop", hinge, upper=0.5, stiffness=5e3, dissipation=0.3))
    rate = mbd.simulate(system, 1.0, 2e-4)["hinge"].angle_rate
    assert -2.0 < rate[-1] < -1.0


def bumped(n, mass, u, parts=200, **options):
    """Return a run of a mass that meets a spring k d^n, and depth and time of one without loss.

    By its potential energy, and [K. L. Johnson, Contact Mechanics (1985), 11.4] for every n.
    """
    k, turn = 1e5, 1 / (n + 1)
    depth = ((n + 1) * mass * u**2 / (2 * k)) ** turn
    time = 2 * math.sqrt(math.pi) * math.gamma(1 + turn) / math.gamma(0.5 + turn) * depth / u
    system = mbd.System()
    body = mbd.RigidBody("body", mass=mass, inertia=(mass,) * 3, velocity=(u, 0, 0))
    rail = mbd.Prismatic("rail", system.ground, system.add(body), at=(0, 0, 0), axis=(1, 0, 0))
    system.add(rail)
    system.add(mbd.Stop("stop", rail, upper=0.0, stiffness=k, exponent=n, **options))
    return mbd.simulate(system, 6 * time, time / parts), depth, time


@pytest.mark.parametrize("n", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("mass", [1e-3, 1e6])
def test_a_spring_of_any_power_is_met(n, mass):
    run, depth, time = bumped(n, mass, 2.0)
    x = run["rail"].displacement
    assert x.max() == pytest.approx(depth, rel=1e-4)
    assert np.interp(0.0, -x[len(x) // 12 :], run.t[len(x) // 12 :]) == pytest.approx(
        time, rel=1e-3
    )
    assert run["rail"].displacement_rate[-1] == pytest.approx(-2.0, rel=1e-4)
    assert np.ptp(run.energy.balance) < 1e-3 * run.energy.total[0]
    assert mass * run["body"].acceleration[:, 0].min() == pytest.approx(-1e5 * depth**n, rel=1e-3)


@pytest.mark.parametrize("n", [1.0, 1.5])
@pytest.mark.parametrize("e", [0.1, 0.6, 0.95, 1.0])
def test_a_spring_throws_back_what_it_is_told(n, e):
    """With e at the speed it is told for, any mass; at others as a u (1 + e) = ln(...) asks for."""
    for mass, part in ((1.0, 1.0), (1e4, 1.0), (1.0, 0.25)):
        run, _, _ = bumped(n, mass, 3.0 * part, restitution=e, speed=3.0)
        back = e
        if part != 1.0 and e < 1.0:
            w = 1 + part * 3.0 * run.model.system.parts["stop"].dissipation
            back = (1 + lambertw(-w * np.exp(-w)).real) / (w - 1)
        assert -run["rail"].displacement_rate[-1] / (3.0 * part) == pytest.approx(back, rel=2e-3)


@pytest.mark.parametrize("n", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("parts", [2, 4, 8, 11, 50])
def test_steps_that_do_not_resolve_a_contact_are_told(n, parts):
    """A contact of fewer than ten steps, by the name of the stop; of four in its energies too."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        bumped(n, 1.0, 2.0, parts=parts)
    said = "; ".join(str(x.message) for x in told)
    assert ("are too large for the stop 'stop', at t = " in said) == (parts < 10)
    assert parts > 4 or "are too large for this motion" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stiffness": 1.0, "restitution": 0.5}, "or by restitution= .-. and speed= .m/s."),
        ({"stiffness": 1.0, "speed": 0.5}, "or by restitution= .-. and speed= .m/s."),
        ({"stiffness": 1.0, "dissipation": 1, "restitution": 1, "speed": 1}, "got dissipation 1"),
        ({"stiffness": 1.0, "restitution": 0.0, "speed": 1.0}, "must be above 0 .-., got 0"),
        ({"stiffness": 1.0, "exponent": 0.5}, "exponent must be at least 1 .-., got 0.5"),
        ({"restitution": 0.5, "exponent": 1.5}, "exponent .-. is of a spring, got 1.5"),
        ({"restitution": 0.5, "dissipation": 0.2}, "dissipation .s/m. is of a spring, got 0.2"),
        ({"restitution": 0.5, "speed": 0.2}, "speed .m/s. is of a spring, got 0.2"),
        ({}, "give restitution= .-. of a rigid stop, or stiffness="),
    ],
)  # fmt: skip
def test_stops_say_what_they_need(options, said):
    system, body = with_body("body", inertia=(1, 1, 1))
    rail = mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(1, 0, 0))
    with pytest.raises(ValueError, match=said):
        mbd.Stop("stop", rail, upper=0.0, **options)


def test_motor_with_a_law_of_rate():
    """A motor whose torque falls with the speed: first-order rise to the no-load speed."""
    system, hinge = arm()
    system.gravity = np.zeros(3)
    inertia = J + MASS * LENGTH**2
    system.add(mbd.Motor("motor", hinge, lambda u, rate, t: 5.0 - 2.0 * rate))
    solution = mbd.simulate(system, 1.0, 1e-3)
    exact = 2.5 * (1 - np.exp(-2.0 * solution.t / inertia))
    assert np.allclose(solution["hinge"].angle_rate, exact, rtol=0, atol=1e-5)


# --- inverse problems -----------------------------------------------------------------------------
def two_links(formulation="so3"):
    system = mbd.System()
    make = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1), "formulation": formulation}
    one = system.add(mbd.RigidBody("one", position=(0.5, 0, 0), **make))
    two = system.add(mbd.RigidBody("two", position=(1.5, 0, 0), **make))
    system.add(mbd.Revolute("shoulder", system.ground, one, at=(0, 0, 0), axis=(0, 0, 1)))
    system.add(mbd.Revolute("elbow", one, two, at=(1, 0, 0), axis=(0, 0, 1)))
    return system


@EVERY
def test_pose_by_targets(formulation):
    system = two_links(formulation)
    targets = {"shoulder.angle": 0.3, "elbow.angle": -1.0, "shoulder.angle_rate": 1.0,
               "elbow.angle_rate": 2.0}  # fmt: skip
    state = mbd.assemble_pose(system, targets=targets)
    missed = mbd.target_errors(system, state, targets)
    assert max(np.abs(x).max() for x in missed.values()) < 1e-12
    tip = mbd.assemble_pose(system, targets={"two(0.5, 0, 0).position": (1.0, 1.0, 0)})
    expected = {"shoulder.angle": 0.0, "elbow.angle": math.pi / 2}
    found = mbd.target_errors(system, tip, expected)
    assert max(np.abs(x).max() for x in found.values()) < 1e-9


def test_velocity_of_a_point_as_a_target():
    system = two_links()
    pose = mbd.assemble_pose(system, targets={"elbow.angle": 1.0})
    wanted = {"two(0.5, 0, 0).velocity": (0.3, -0.2, 0.0)}
    state = mbd.assemble_pose(system, pose, targets=wanted)
    assert np.abs(mbd.target_errors(system, state, wanted)[next(iter(wanted))]).max() < 1e-12
    assert np.allclose(state.q, pose.q, rtol=0, atol=1e-12)


def test_what_is_missed_is_named_with_numbers():
    system = scene("slider_crank").build()
    with pytest.raises(ValueError, match=r"'slider.position' by 0\.1 m; ask for what"):
        mbd.assemble_pose(system, targets={"slider.position": (0.5, 0, 0)})
    far = {"slider.position": (0.5, 0, 0)}
    state = mbd.assemble_pose(system, targets=far, weights={"slider.position": 1.0})
    error = mbd.target_errors(system, state, far)["slider.position"]
    assert np.allclose(error, (-0.1, 0, 0), rtol=0, atol=1e-6)
    assert np.abs(system.build().assemble(state).gap).max() < 1e-9  # closed all the same


@pytest.mark.parametrize(
    ("aim", "nearest"),
    [((-2, 0, 0), 0), ((0, 0, 0), 0), ((-1, 0, 0), 0), ((1, 0, 0.5), 0.5), ((0, 0, 2), 2)],
)
def test_a_straight_arm_reaches_what_it_can(aim, nearest):
    """The arm points along x: there the distance to each aim is stationary, but not least."""
    system, tip = two_links().build(), "two(0.5, 0, 0).position"
    near = mbd.assemble_pose(system, targets={tip: aim}, weights={tip: 1.0})
    missed = np.linalg.norm(mbd.target_errors(system, near, {tip: aim})[tip])
    assert missed == pytest.approx(nearest, abs=1e-8)
    if nearest:
        with pytest.raises(ValueError, match=f"'{re.escape(tip)}' by {nearest} m; ask for what"):
            mbd.assemble_pose(system, targets={tip: aim})
    else:
        there = mbd.assemble_pose(system, targets={tip: aim})
        assert np.abs(mbd.target_errors(system, there, {tip: aim})[tip]).max() < 1e-8


def test_a_pose_from_a_wound_state_keeps_its_turns():
    system = mbd.System()
    make = {"mass": 1.0, "inertia": (0.1, 0.1, 0.2)}
    wheel = system.add(mbd.RigidBody("wheel", angular_velocity=(0, 0, 3.0), **make))
    rack = system.add(mbd.RigidBody("rack", velocity=(0.3, 0, 0), **make))
    hinge = mbd.Revolute("hinge", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1))
    rail = mbd.Prismatic("rail", system.ground, rack, at=(0, 0, 0), axis=(1, 0, 0))
    system.add(mbd.RackPinion("teeth", system.add(hinge), system.add(rail), radius=0.1))
    wound = mbd.simulate(system, 3.0, 1e-2).state  # 9 rad, 0.9 m
    state = mbd.assemble_pose(system, wound, targets={"rail.displacement": 1.0})
    run = mbd.simulate(system, 3.01, 1e-2, state=state)
    assert run["rail"].displacement[0] == pytest.approx(1.0, abs=1e-9)
    assert run["hinge"].angle[0] == pytest.approx(10.0, abs=1e-8)


def test_hard_targets_come_before_soft_ones():
    system = two_links()
    tip = "two(0.5, 0, 0).position"
    targets = {"elbow.angle": 1.0, tip: (1.0, 1.0, 0)}
    state = mbd.assemble_pose(system, targets=targets, weights={tip: 2.0})
    missed = mbd.target_errors(system, state, targets)
    assert abs(missed["elbow.angle"][0]) < 1e-9
    reach = 2 * math.cos(0.5)  # the tip points to the target as well as the elbow allows
    assert np.linalg.norm(missed[tip]) == pytest.approx(reach - math.sqrt(2), abs=1e-6)


def test_targets_that_do_not_exist():
    system = two_links()
    for targets, words in (
        ({"elbow.length": 1.0}, "coordinates of the joint are: elbow.angle"),
        ({"hand.position": (0, 0, 0)}, "joints are shoulder, elbow, bodies one, two"),
        ({"two(0, 0).position": (0, 0, 0)}, "must be three numbers"),
        ({"two.position": 3.0}, "must be 3 numbers"),
        ({"elbow.angle": "x"}, "must be a number"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            mbd.assemble_pose(system, targets=targets)
    with pytest.raises(ValueError, match="there is a weight but no target 'x'"):
        mbd.assemble_pose(system, targets={"elbow.angle": 1}, weights={"x": 1})


def test_inverse_dynamics_refuses():
    system, hinge = arm()
    with pytest.raises(ValueError, match="must leave no freedom, but 1 are left"):
        mbd.inverse_dynamics(system, [0.0, 1.0])
    system.add(mbd.Drive("motor", hinge, velocity=1.0))
    with pytest.raises(ValueError, match="rows on velocities leave positions open: 'motor.velo"):
        mbd.inverse_dynamics(system, [0.0])
    system, hinge = arm()
    system.add(mbd.Drive("motor", hinge, position=0.0))
    with pytest.raises(ValueError, match="times must be increasing"):
        mbd.inverse_dynamics(system, [1.0, 0.5])
    crank = scene("slider_crank").build()
    crank.add(mbd.Drive("push", crank["guide"], position=lambda t: (0.1 * t, 0.1, 0.0)))
    with pytest.raises(ValueError, match=r"does not follow its drives at t = "):
        mbd.inverse_dynamics(crank, np.linspace(0, 2, 5))


def test_results_of_a_joint_say_what_there_is():
    system, _ = arm()
    solution = mbd.simulate(system, 1e-3, 1e-3)
    with pytest.raises(AttributeError, match="its coordinates are angle, angle_rate; besides"):
        _ = solution["hinge"].displacement
