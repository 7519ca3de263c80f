"""Steps that end at events of contacts, stops and dry friction: closed forms, to round-off.

Scenes and constants are those of test_contact.py and test_dry_friction.py; g = 9.81 m/s^2.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd
from tests.physics import test_contact as contact
from tests.physics.test_dry_friction import block_on_belt, hung_rod, slider, swing

G = contact.G
FORMULATIONS = contact.FORMULATIONS
LOCATE = mbd.NonsmoothAlpha(contacts="locate")


def run(system, t_end, h):
    return mbd.simulate(system, t_end, h, method=LOCATE)


@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_a_ball_bounces(h):
    """Impacts at t1 (3 - 2^(2-k)), t1 = sqrt(2/g), each half as fast; at rest at 3 t1."""
    system = contact.ground()
    ball = contact.ball_on(system, position=(0, 0, 1.1))
    system.add(mbd.Contact("floor", system.ground, ball, restitution=0.5))
    solution = run(system, 2.0, h)
    first = np.sqrt(2 / G)
    sure = 12  # then they are so dense that they are captured
    k = np.arange(1, sure + 1)
    assert solution.impacts.t[:sure] == pytest.approx(first * (3 - 2.0 ** (2 - k)), abs=1e-13)
    speed = np.sqrt(2 * G) * 2.0 ** (1 - k)
    assert solution.impacts.before[:sure, 0] == pytest.approx(-speed, abs=1e-11)
    assert solution.impacts.after[:sure, 0] == pytest.approx(speed / 2, abs=1e-11)
    assert solution.impacts.lost[:sure] == pytest.approx(3 / 8 * speed**2, abs=1e-10)
    assert sure <= solution.stats["located"] <= 30
    flight = solution.t < first
    height = solution["ball"].position[:, 2] - 0.1
    assert height[flight] == pytest.approx(1 - G / 2 * solution.t[flight] ** 2, abs=1e-13)
    assert np.abs(height[solution.t > 3 * first]).max() < 1e-15
    assert np.diff(contact.energy(solution)).max() < 1e-13
    assert solution.t == pytest.approx(h * np.arange(len(solution.t)), abs=1e-12)


@pytest.mark.parametrize(("mu", "stays"), [(0.6, True), (0.3, False)])
def test_what_is_thrown_up_a_slope(mu, stays):
    """It stays where it stops, or slides back: both without an error."""
    a, v = np.radians(25), 3.0
    system = contact.ground((-G * np.sin(a), 0, -G * np.cos(a)))
    body = system.add(mbd.PointMass("p", mass=1.0, velocity=(v, 0, 0)))
    system.add(mbd.Contact("slope", system.ground, body, friction=mu))
    solution = run(system, 1.0, 1e-2)
    up, down = (G * (np.sin(a) + s * mu * np.cos(a)) for s in (1, -1))
    back = 0.0 if stays else 1.0 - v / up
    assert solution["p"].position[-1, 0] == pytest.approx(
        v * v / 2 / up - down * back**2 / 2, abs=5e-14
    )
    assert solution["p"].velocity[-1, 0] == pytest.approx(-down * back, abs=1e-12)
    assert solution.stats["located"] == 1


def test_a_ball_slides_until_it_rolls():
    system = contact.ground()
    ball = contact.ball_on(system, position=(0, 0, 0.1), velocity=(2, 0, 0))
    system.add(mbd.Contact("floor", system.ground, ball, friction=0.2))
    solution = run(system, 1.0, 1e-2)
    assert solution["ball"].position[-1, 0] == pytest.approx(1.5117851421914, abs=1.6e-13)
    assert solution.energy.friction[-1] == pytest.approx(4 / 7, abs=1e-12)
    assert np.ptp(solution.energy.balance) < 1e-12


def test_what_slides_off_a_ball():
    """Without friction it leaves at cos theta = 2/3: order 2 through the event, then free fall."""
    errors = []
    for h in (1e-2, 5e-3, 2.5e-3):
        system, angle = contact.ground(), 0.2
        start, speed = 1.1 * np.array([np.sin(angle), 0, np.cos(angle)]), 0.5
        top = system.add(mbd.RigidBody("top", mass=1.0, inertia=(1, 1, 1), shape=mbd.Sphere(1.0)))
        system.add(mbd.Fixed("pin", system.ground, top, at=(0, 0, 0)))
        small = contact.ball_on(
            system, position=start, velocity=speed * np.array([np.cos(angle), 0, -np.sin(angle)])
        )
        system.add(mbd.Contact("on", top, small, plane=False))
        solution = run(system, 1.0, h)
        v2, height = speed**2, start[2]  # v^2 = g R cos where it leaves
        cosine = (v2 + 2 * G * height) / (3 * G * 1.1)
        v = np.sqrt(G * 1.1 * cosine)
        sine = np.sqrt(1 - cosine**2)
        along = v * cosine  # the horizontal velocity stays
        assert solution.stats["located"] == 1
        end = solution["ball"]
        errors.append(abs(end.velocity[-1, 0] - along))
        fall = end.velocity[-1, 2] ** 2 - (v * sine) ** 2
        level = 1.1 * cosine - end.position[-1, 2]
        assert fall == pytest.approx(2 * G * level, abs=30 * h * h)
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2, 2], abs=0.3)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_an_oscillator_stops(formulation):
    """Nine half cycles, each with an event; friction then holds: of order 2 and more."""
    for h, bound in ((4e-3, 5e-7), (2e-3, 5.2e-8)):
        system, rail = slider(position=(0.35, 0, 0), formulation=formulation)
        system.add(mbd.JointSpring("spring", rail, stiffness=100.0, reference=-0.35))
        system.add(mbd.DryFriction("rub", rail, force=2.0))
        solution = run(system, 3.2, h)
        assert abs(solution["b"].position[-1, 0] - 0.01) < bound
        assert solution["b"].velocity[-1, 0] == pytest.approx(0.0, abs=1e-14)
        assert solution.stats["located"] == 9


def test_stick_and_slip_on_a_belt():
    """First slip at 0.25 s, period 0.6712388980385 s: of order 2."""
    errors = []
    for h in (4e-3, 2e-3):
        solution = run(block_on_belt(), 4.0, h)
        x, v = solution["b"].position[:, 0], solution["b"].velocity[:, 0]
        last = np.flatnonzero((np.abs(v[1:] - 0.2) > 1e-7) & (np.abs(v[:-1] - 0.2) < 1e-7))
        slips = solution.t[last] + (0.05 - x[last]) / 0.2  # it rides until the force is 5 N
        assert slips[0] == pytest.approx(0.25, abs=1e-10)
        errors.append(np.diff(slips).mean() - 0.6712388980385)
    assert errors[0] == pytest.approx(6.56e-5, abs=2e-6)
    assert errors[1] == pytest.approx(errors[0] / 4, rel=0.02)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", ["contact", "stop"])
def test_a_pendulum_hits_a_stop(formulation, kind):
    """omega- = 1.7327110750609, omega+ = 0.6 of it, P = J (1 + e) omega-/d: of order 2."""
    errors = []
    for h in (5e-3, 2.5e-3):
        system, rod, hinge = hung_rod(formulation=formulation)
        if kind == "stop":
            depth = 1.0
            system.add(mbd.Stop("stop", hinge, lower=-0.5, restitution=0.6))
        else:
            depth = 0.8
            tip = rod.frame((0, 0, 0.6 - depth))
            system.add(mbd.Contact("stop", system.ground, tip, normal=(-1, 0, 0), restitution=0.6))
        impacts = run(system, 0.6, h).impacts
        assert len(impacts) == 1
        before, after = impacts.before[0, 0], impacts.after[0, 0]
        assert after == pytest.approx(-0.6 * before, abs=1e-12)
        assert impacts.impulse[0, 0] == pytest.approx(
            2.0 * 1.2**2 / 3 * 1.6 * -before / depth**2, abs=1e-12
        )
        errors.append(abs(before / depth + 1.7327110750609))
    assert errors[0] < 6e-5
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.filterwarnings("ignore:contacts that are closed approach")
@pytest.mark.parametrize(("n", "gap"), [(3, 0.0), (5, 1e-3)])
def test_balls_in_a_row(n, gap):
    """With e = 1 and gaps all of the speed goes to the last; touching they share it by Newton."""
    system = mbd.System()
    balls = [
        contact.ball_on(
            system, name=f"ball {k}", position=(k * (0.2 + gap), 0, 0), velocity=(k == 0, 0, 0)
        )
        for k in range(n)
    ]
    for k in range(n - 1):
        system.add(mbd.Contact(f"{k}", balls[k], balls[k + 1], plane=False, restitution=1.0))
    end = run(system, 0.1, 1e-2).v[-1].reshape(n, 6)[:, :3]
    expected = [0.0] * (n - 1) + [1.0] if gap else [2 / n - 1] + [2 / n] * (n - 1)
    assert end[:, 0] == pytest.approx(expected, abs=1e-12)


def test_a_rod_in_a_bearing():
    """Friction by the force in the bearing, until it holds: of order 2 through six turns."""
    phi, _ = swing(6.0, rub=0.04)
    for h, bound in ((1e-2, 5e-4), (5e-3, 1.3e-4)):
        system, _, hinge = hung_rod(angle=1.2)
        system.add(mbd.DryFriction("bearing", hinge, coefficient=0.4, radius=0.1))
        solution = run(system, 6.0, h)
        assert abs(1.2 + solution["hinge"].angle[-1] - phi) < bound


def check_tumbling(monkeypatch, seeds, mu, restitution, h):
    simulate = mbd.simulate
    monkeypatch.setattr(mbd, "simulate", lambda *args: simulate(*args, method=LOCATE))
    for seed in seeds:
        solution = contact.tumbling(seed, mu, restitution, h)
        assert mbd.contacts(solution, "floor").gap.min() > -1e-12
        assert np.diff(contact.energy(solution)).max() < 1e-3
        assert np.ptp(solution.energy.balance) < 0.1


@pytest.mark.parametrize(("mu", "restitution", "h"), contact.FAMILY)
def test_a_box_that_tumbles(monkeypatch, mu, restitution, h):
    check_tumbling(monkeypatch, range(3), mu, restitution, h)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "restitution", "h"), contact.FAMILY)
def test_many_boxes_that_tumble(monkeypatch, mu, restitution, h):
    check_tumbling(monkeypatch, range(3, 200), mu, restitution, h)


@pytest.mark.slow
def test_chains_and_stacks(monkeypatch):
    """Families of test_contact.py, located: rods in all formulations, redundant corners."""
    for joint in ("Revolute", "Spherical"):
        for n in (1, 2, 3):
            for seed in range(len(FORMULATIONS)):
                contact.check_pendulum(seed, n, joint, LOCATE)
    simulate = mbd.simulate
    monkeypatch.setattr(mbd, "simulate", lambda *args: simulate(*args, method=LOCATE))
    for mu in (1.0, 1.4, 5.0):
        contact.test_a_rod_that_jams(mu, 1e-3)
    for n, gap, speed in ((5, 0, 0), (5, 5e-3, 0), (3, 0, 0.5)):
        solution = mbd.simulate(contact.stack(n, gap, speed), 0.4, 2e-3)
        assert np.abs(solution.v[-1]).max() < 1e-9
        assert np.diff(contact.energy(solution)).max() < 1e-9


def test_it_is_of_order_two_through_events():
    """A box that hits with a corner, turns, slides on: errors at the end fall by four."""
    ends = []
    for h in (2e-3, 1e-3, 5e-4):
        system = contact.ground()
        turn = Rotation.from_rotvec([0.3, 0.5, 0.1]).as_matrix()
        box = contact.box_on(
            system, position=(0, 0, 0.3), rotation=turn, velocity=(1, 0.2, 0),
            angular_velocity=(1, 2, 0.5),
        )  # fmt: skip
        system.add(mbd.Contact("floor", system.ground, box, friction=0.3, restitution=0.5))
        solution = run(system, 0.4, h)
        assert solution.stats["located"] >= 2
        ends.append([*solution["box"].position[-1], *solution["box"].velocity[-1]])
    first, second = (np.abs(np.subtract(a, b)).max() for a, b in zip(ends, ends[1:], strict=False))
    assert np.log2(first / second) == pytest.approx(2, abs=0.25)


def test_runs_go_on_and_modes_are_named():
    whole = run(contact.stack(2, 0, 0.5), 0.2, 2e-3)
    half = run(contact.stack(2, 0, 0.5), 0.1, 2e-3)
    rest = mbd.simulate(half.model, 0.2, 2e-3, state=half.state, method=LOCATE)
    assert rest.q[-1] == pytest.approx(whole.q[-1], abs=1e-9)
    assert np.abs(whole.v[-1]).max() < 1e-9
    for wrong in ("x", None, 3):
        with pytest.raises((TypeError, ValueError), match=r"NonsmoothAlpha: contacts must be"):
            mbd.NonsmoothAlpha(contacts=wrong)
