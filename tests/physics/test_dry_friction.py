"""Dry friction that holds, rigid stops, freewheels: closed forms and equations of their own."""

import numpy as np
import pytest
from families import some
from scenes import hinged
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import mbd

G = 9.81
FORMULATIONS = ("so3", "se3", "unified", "euler_parameters", "directors", "scalable")


def slider(mass=1.0, gravity=(0, 0, 0), formulation="so3", **motion):
    """Return a system with a body on a rail along x."""
    system = mbd.System(gravity=gravity)
    body = system.add(
        mbd.RigidBody("b", mass=mass, inertia=(1, 1, 1), formulation=formulation, **motion)
    )
    return system, system.add(
        mbd.Prismatic("rail", system.ground, body, at=(0, 0, 0), axis=(1, 0, 0))
    )


def hung_rod(angle=0.5, length=1.2, mass=2.0, formulation="so3"):
    """Return a system with a rod that hangs on a hinge along y."""
    turn = Rotation.from_rotvec([0, angle, 0]).as_matrix()
    inertia = mass * length**2 / 12
    system, rod, hinge = hinged(
        "rod", "hinge", gravity=(0, 0, -G), mass=mass, inertia=(inertia, inertia, 1e-3),
        formulation=formulation, position=turn @ [0, 0, -length / 2], rotation=turn,
    )  # fmt: skip
    return system, rod, hinge


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_oscillator_with_dry_friction_stops_for_ever(formulation):
    """k 100, m 1, 2 N, from 0.35 m: 0.04 m less each half cycle, at rest at 0.01 m at 0.9 pi s."""
    for h, bound in ((2e-3, 2.4e-5), (1e-3, 9e-6)):
        system, rail = slider(position=(0.35, 0, 0), formulation=formulation)
        system.add(mbd.JointSpring("spring", rail, stiffness=100.0, reference=-0.35))
        system.add(mbd.DryFriction("rub", rail, force=2.0))
        solution = mbd.simulate(system, 3.5, h)
        x, v = solution["b"].position[:, 0], solution["b"].velocity[:, 0]
        assert abs(x[-1] - 0.01) < bound
        rest = solution.t > 0.9 * np.pi + 2 * h
        assert np.abs(v[rest]).max() < 1e-12
        assert np.ptp(x[rest]) < 1e-12
        assert solution["rub"].load[-1] == pytest.approx(100 * x[-1], abs=1e-9)
        assert np.abs(solution["rub"].load).max() < 2.0 + 1e-9
        assert np.ptp(solution.energy.balance) < 200 * h * h


def block_on_belt():
    """Return a block that a spring holds, on a belt that runs with 0.2 m/s."""
    system, rail = slider(velocity=(0.2, 0, 0))
    belt = system.add(mbd.RigidBody("belt", mass=1.0, inertia=(1, 1, 1), velocity=(0.2, 0, 0)))
    drive = system.add(mbd.Prismatic("drive", system.ground, belt, at=(0, 0, 0), axis=(1, 0, 0)))
    between = system.add(mbd.Prismatic("between", belt, rail.B.body, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.Drive("motor", drive, velocity=0.2))
    system.add(mbd.JointSpring("spring", rail, stiffness=100.0))
    system.add(mbd.DryFriction("rub", between, force=3.0, static=5 / 3))
    return system


def test_stick_and_slip_on_a_belt():
    """First slip at 0.25 s, period 0.6712388980385 s, between 0.0017157 and 0.0582843 m."""
    for h, bound in ((4e-3, 9.6e-3), (2e-3, 5.6e-3)):
        solution = mbd.simulate(block_on_belt(), 4.0, h)
        x, v = solution["b"].position[:, 0], solution["b"].velocity[:, 0]
        slips = np.abs(v - 0.2) > 1e-9
        first = solution.t[1:][slips[1:] & ~slips[:-1]]
        assert abs(first[0] - 0.25) < 2 * h
        periods = np.diff(first)
        assert np.mean(periods) == pytest.approx(0.6712388980385, abs=bound)
        assert x.max() == pytest.approx(0.0582842712475, abs=0.5 * h)
        assert x[solution.t > 0.3].min() == pytest.approx(0.0017157287525, abs=0.5 * h)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_rod_hits_a_stop(formulation):
    """omega- = 1.7327110750609, omega+ = 0.6 of it; then it comes to rest against the stop."""
    system, _, hinge = hung_rod(formulation=formulation)
    stop = system.add(mbd.Stop("stop", hinge, lower=-0.5, restitution=0.6))
    assert stop.restitution == 0.6
    solution = mbd.simulate(system, 0.6, 5e-3)
    spin = solution["hinge"].angle_rate
    hit = int(np.argmax(np.abs(np.diff(spin))))
    assert spin[hit] == pytest.approx(-1.7327110750609, abs=5e-5)
    assert spin[hit + 1] == pytest.approx(0.6 * 1.7327110750609, abs=5e-5)
    assert np.abs(solution.gap).max() < 1e-9
    assert solution["hinge"].angle.min() > -0.5 - 1e-12


def test_a_mass_between_two_stops():
    """With e = 1 and no other force it runs to and fro for ever; with e = 0 it stays."""
    for e in (1.0, 0.0):
        system, rail = slider(velocity=(3.0, 0, 0))
        system.add(mbd.Stop("walls", rail, lower=-0.35, upper=0.25, restitution=e))
        solution = mbd.simulate(system, 5.0, 7e-3)
        x, v = solution["b"].position[:, 0], solution["b"].velocity[:, 0]
        assert -0.35 - 1e-12 < x.min() < x.max() < 0.25 + 1e-12
        if e:
            assert np.abs(v) == pytest.approx(3.0, abs=1e-12)
            assert np.count_nonzero(np.diff(np.sign(v))) in (24, 25)  # 5 s x 3 m/s / 0.6 m
        else:
            assert x[-1] == pytest.approx(0.25, abs=1e-12)
            assert v[-1] == pytest.approx(0.0, abs=1e-12)
        assert np.ptp(solution.energy.balance) < 1e-12


def test_a_freewheel_only_goes_forward():
    """J omega' = A sin t - B while it runs; it holds with the torque that is asked of it."""
    J, A, B = 0.5, 2.0, 1.0

    def rate(t, omega):
        return [(A * np.sin(t) - B) / J]

    start = np.arcsin(B / A)
    stops = lambda t, omega: omega[0]  # noqa: E731
    stops.terminal, stops.direction = True, -1
    end = solve_ivp(rate, (start + 1e-9, 6.0), [1e-12], events=stops, rtol=1e-11, atol=1e-12).t[-1]
    turned = (A * (np.cos(start) - np.cos(end)) - B * (end - start)) / J
    assert abs(turned) < 1e-6
    for h in (1e-2, 5e-3):
        system = mbd.System(gravity=(0, 0, 0))
        wheel = system.add(mbd.RigidBody("wheel", mass=1.0, inertia=(1, 1, J)))
        axle = system.add(mbd.Revolute("axle", system.ground, wheel, at=(0, 0, 0), axis=(0, 0, 1)))
        system.add(mbd.Motor("motor", axle, lambda u, rate, t: A * np.sin(t) - B))
        system.add(mbd.Freewheel("clutch", axle))
        solution = mbd.simulate(system, 2 * np.pi, h)
        t, omega = solution.t, solution["axle"].angle_rate
        assert omega.min() > -1e-9
        held = (t < start - 2 * h) | (t > end + 2 * h)
        assert np.abs(omega[held]).max() < 1e-9
        assert solution["clutch"].load[held] == pytest.approx(B - A * np.sin(t[held]), abs=1e-6)
        runs = (t > start) & (t < end)
        exact = (A * (np.cos(start) - np.cos(t[runs])) - B * (t[runs] - start)) / J
        assert omega[runs] == pytest.approx(exact, abs=4 * h * A / J * h + 2 * h * h)


def swing(t_end, *, rub, mass=2.0, length=1.2, angle=1.2):
    """Return the angle of a rod in a bearing, by Newton and Euler: J phi'' = M - rub |R| sign."""
    l, J = length / 2, mass * length**2 / 3

    def acceleration(phi, omega):
        a = -mass * G * l * np.sin(phi) / J
        for _ in range(60):
            along = mass * (l * omega**2 + G * np.cos(phi))
            across = mass * (l * a + G * np.sin(phi))
            a = (-mass * G * l * np.sin(phi) - rub * np.hypot(along, across) * np.sign(omega)) / J
        return a

    def rate(t, y):
        return [y[1], acceleration(*y)]

    turns = lambda t, y: y[1] if t > 1e-6 else -1.0  # noqa: E731
    turns.terminal = True
    t, y, ends = 0.0, [angle, -1e-12], []
    while t < t_end:
        done = solve_ivp(rate, (t, t_end), y, events=turns, rtol=1e-10, atol=1e-12)
        t, phi = done.t[-1], done.y[0, -1]
        if done.status == 1:
            ends.append(phi)
            held = mass * G * l * abs(np.sin(phi)) <= rub * mass * G
            if held:
                return phi, ends
            y = [phi, -1e-12 * np.sign(phi)]
        else:
            return phi, ends
    return phi, ends


@pytest.mark.parametrize("formulation", some(FORMULATIONS, 3))
def test_a_rod_in_a_bearing(formulation):
    """Friction by the force in the bearing, against equations of its own, until it holds."""
    coefficient, radius = 0.4, 0.1
    phi, ends = swing(6.0, rub=coefficient * radius)
    assert len(ends) > 3
    for h, bound in ((1e-2, 4e-3), (5e-3, 2.5e-3)):
        system, _, hinge = hung_rod(angle=1.2, formulation=formulation)
        system.add(mbd.DryFriction("bearing", hinge, coefficient=coefficient, radius=radius))
        solution = mbd.simulate(system, 6.0, h)
        angle = 1.2 + solution["hinge"].angle
        assert abs(angle[-1] - phi) < bound
        first = angle[solution.t < 1.5].min()
        assert abs(first - ends[0]) < 1.0 * h * h
        size = np.linalg.norm(solution["hinge"].force, axis=1)
        assert (np.abs(solution["bearing"].load) <= 0.04 * size * (1 + 1e-6)).all()
        assert solution.stats["iterations"] < 8 * solution.stats["steps"]


def test_an_impact_strikes_the_bearing_too():
    """A mass hits a rod that hangs: momenta about the hinge, with its impulse in the friction."""
    M, L, m, v, d, e, rub = 2.0, 1.2, 0.7, 3.0, 1.0, 0.4, 0.5 * 0.08
    J = M * L * L / 3

    def laws(x):
        omega, after, P, X = x
        return [
            J * omega - P * d + rub * abs(X),
            m * (v - after) - P,
            after - omega * d + e * v,
            M * L / 2 * omega - P - X,
        ]

    omega, after, _, _ = fsolve(laws, [1.0, 0.5, 2.0, 0.1], xtol=1e-13)
    system, rod, hinge = hung_rod(angle=0.0)
    ball = system.add(
        mbd.RigidBody(
            "ball", mass=m, inertia=(1e-3,) * 3, position=(-0.11, 0, -d), velocity=(v, 0, 0),
            shape=mbd.Sphere(0.1),
        )
    )  # fmt: skip
    system.add(mbd.PointForce("up", ball, (0, 0, m * G)))
    system.add(mbd.Contact("hit", rod, ball, normal=(-1, 0, 0), restitution=e))
    system.add(mbd.DryFriction("bearing", hinge, coefficient=0.5, radius=0.08))
    solution = mbd.simulate(system, 0.01, 1e-4)
    k = int(np.flatnonzero(np.abs(solution["ball"].velocity[:, 0] - v) > 0.1)[0])
    assert solution["ball"].velocity[k, 0] == pytest.approx(after, abs=2e-3)
    assert -solution["hinge"].angle_rate[k] == pytest.approx(omega, abs=2e-3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("h", [1e-3, 5e-2])
def test_what_is_held_stays(formulation, h):
    system, _, hinge = hung_rod(angle=0.3, formulation=formulation)
    system.add(mbd.DryFriction("brake", hinge, force=4.0))
    solution = mbd.simulate(system, 400 * h, h)
    assert np.abs(solution["hinge"].angle).max() < 1e-12
    assert np.abs(solution["brake"].load) == pytest.approx(2 * G * 0.6 * np.sin(0.3), abs=1e-9)
    assert solution.stats["iterations"] <= 1.02 * solution.stats["steps"] + 3


@pytest.mark.parametrize("mass", [1e-9, 1e9])
@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_units_do_not_matter(mass, length):
    """The oscillator in other units of mass and length has the same motion."""
    ends = []
    for M, L in ((1.0, 1.0), (mass, length)):
        system, rail = slider(mass=M, position=(0.35 * L, 0, 0))
        system.add(mbd.JointSpring("spring", rail, stiffness=100.0 * M, reference=-0.35 * L))
        system.add(mbd.DryFriction("rub", rail, force=2.0 * M * L))
        system.add(mbd.Stop("wall", rail, lower=-0.5 * L, restitution=0.5))
        ends.append(mbd.simulate(system, 3.0, 5e-3)["b"].position[:, 0] / L)
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)
