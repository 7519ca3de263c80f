"""Transmissions against closed forms: gears, rack, screw, planets, ropes, constant velocity."""

import numpy as np
import pytest
from families import spread
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mbd

from .tools import RIGID, SHARP, scene

EVERY = pytest.mark.parametrize("formulation", RIGID)
Z = (0, 0, 1)


def wheel(system, name, J, formulation, place=(0, 0, 0), mass=1.0):
    return system.add(
        mbd.RigidBody(name, mass=mass, inertia=(J, J, J), position=place, formulation=formulation)
    )


@EVERY
def test_gear_pair(formulation):
    system = mbd.System(gravity=(0, 0, -9.81))
    one = wheel(system, "one", 0.02, formulation)
    two = wheel(system, "two", 0.3, formulation, (0.2, 0, 0))
    a = system.add(mbd.Revolute("a", system.ground, one, at=(0, 0, 0), axis=Z))
    b = system.add(mbd.Revolute("b", system.ground, two, at=(0.2, 0, 0), axis=Z))
    system.add(mbd.Gear("teeth", a, b, ratio=-0.05 / 0.15))
    system.add(mbd.Motor("motor", a, 1.5))
    solution = mbd.simulate(system, 1e-4, 1e-4)
    assert np.isclose(solution["a"].angle_second_rate[0], 28.125, rtol=1e-12)
    assert np.isclose(solution["b"].angle_second_rate[0], -9.375, rtol=1e-12)
    assert np.isclose(solution["teeth"].load[0], -18.75 * 0.15, rtol=1e-12)
    assert np.allclose(solution["teeth"].reaction("one").moment[0], (0, 0, -18.75 * 0.05))


@EVERY
def test_rack_and_screw(formulation):
    rack = mbd.simulate(scene("rack_and_pinion").build(formulation), 1e-4, 1e-4)
    assert np.isclose(rack["slide"].displacement_second_rate[0], 2.7272727272727275, rtol=1e-12)
    assert np.isclose(rack["teeth"].load[0], 8.181818181818182, rtol=1e-12)
    screw = mbd.simulate(scene("screw_jack").build(formulation), 1e-4, 1e-4)["screw"]
    assert np.isclose(screw.angle_second_rate[0], 6.23261005836009, rtol=1e-12)
    step = 0.02 / (2 * np.pi)
    assert np.isclose(screw.displacement_second_rate[0], 6.23261005836009 * step, rtol=1e-12)


@EVERY
def test_planets(formulation):
    solution = mbd.simulate(scene("planetary_gear").build(formulation), 1e-3, 1e-3)
    assert np.isclose(solution["carrier"].angular_velocity[0, 2], 2.5, rtol=1e-12)
    assert np.isclose(solution["motor"].load[0], 2.0, rtol=1e-9)


# at rest the loads are round-off, which alternates
@pytest.mark.filterwarnings("ignore:the multiplier of 'drive.position':RuntimeWarning")
def test_ratio_holds_over_many_turns():
    system = mbd.System()
    one, two = (wheel(system, n, 0.1, "so3", (i, 0, 0)) for i, n in enumerate(("one", "two")))
    a = system.add(mbd.Revolute("a", system.ground, one, at=(0, 0, 0), axis=Z))
    b = system.add(mbd.Revolute("b", system.ground, two, at=(1, 0, 0), axis=Z))
    system.add(mbd.Gear("teeth", a, b, ratio=0.37))
    law = mbd.SmoothStep(0.0, 60.0, 0.0, 1.0)
    system.add(mbd.Drive("drive", a, position=law))
    solution = mbd.simulate(system, 1.0, 5e-3)
    assert np.allclose(solution["a"].angle, [law(t)[0] for t in solution.t], rtol=0, atol=1e-10)
    assert np.allclose(solution["b"].angle, 0.37 * solution["a"].angle, rtol=0, atol=1e-10)
    assert solution.gap.max() < 1e-10
    # a run that goes on knows how often the wheels have turned
    more = mbd.simulate(system, 1.2, 5e-3, state=solution.state)
    assert more["two"].angular_velocity[-1] == pytest.approx(0, abs=1e-4)
    assert more.success


def bent(cls, formulation, bend):
    """Return two shafts in a bend, joined by a joint, the first one driven."""
    system = mbd.System()
    turn = Rotation.from_rotvec([0, bend, 0])
    first = wheel(system, "first", 0.1, formulation)
    second = system.add(
        mbd.RigidBody("second", mass=1, inertia=(0.1, 0.1, 0.1), rotation=turn,
                      formulation=formulation)
    )  # fmt: skip
    a = system.add(mbd.Revolute("a", system.ground, first, at=(0, 0, -1), axis=Z))
    axis = turn.apply(Z)
    b = system.add(mbd.Revolute("b", system.ground, second, at=axis, axis=axis))
    system.add(cls(first, second))
    system.add(mbd.Drive("drive", a, position=mbd.ConstantSpeed(3.0)))
    return mbd.simulate(system, 1.0, 2e-3, project=True), b


@EVERY
def test_constant_velocity(formulation):
    """At any bend; a universal joint is up to 1/cos(bend) faster, in its closed form."""
    bend = 0.5
    solution, _ = bent(lambda a, b: mbd.ConstantVelocity("cv", a.frame(), b.frame()),
                       formulation, bend)  # fmt: skip
    assert np.allclose(solution["b"].angle_rate, 3.0, rtol=0, atol=2e-4)
    assert np.allclose(solution["b"].angle, 3.0 * solution.t, rtol=0, atol=1e-9)


@EVERY
def test_shafts_that_fold_back(formulation):
    r"""Bend theta about an axis at the angle phi, beyond half a turn, as by Lagrange's equations.

    :math:`2T = a\dot\theta^2 + f\dot\phi^2,\ f = a\sin^2\theta + c(1-\cos\theta)^2`.
    """
    a, c, start, rates = 0.1, 0.04, 0.5, (5.0, 3.0)
    system = mbd.System()
    turn = Rotation.from_rotvec([start, 0, 0])
    lift, back = rates[1] * np.sin(start), rates[1] * (1 - np.cos(start))
    spin = (rates[0], lift, -back)  # body axes
    body = system.add(
        mbd.RigidBody("body", mass=1.0, inertia=(a, a, c), rotation=turn, formulation=formulation,
                      angular_velocity=turn.apply(spin))
    )  # fmt: skip
    system.add(mbd.ConstantVelocity("cv", system.ground.frame(), body.frame()))
    run = mbd.simulate(system, 1.0, rtol=1e-6, max_step=1e-2)

    def f(x):
        return a * np.sin(x) ** 2 + c * (1 - np.cos(x)) ** 2

    def rate(t, y):
        slope = 2 * np.sin(y[0]) * (a * np.cos(y[0]) + c * (1 - np.cos(y[0])))
        return y[1], 0.5 * slope * (p / f(y[0])) ** 2 / a, p / f(y[0])

    p = f(start) * rates[1]
    exact = solve_ivp(rate, (0, 1), (start, rates[0], 0.0), rtol=1e-10, atol=1e-12, t_eval=run.t).y
    theta, phi = exact[0], exact[2]
    assert theta[-1] > 4.0
    bends = theta[:, None] * np.stack([np.cos(phi), np.sin(phi), 0 * phi], 1)
    expected = Rotation.from_rotvec(bends).as_matrix()
    assert np.allclose(run["body"].rotation, expected, rtol=0, atol=2e-4)
    # the moment that holds the twist is the rate of the angular momentum, whatever its row is
    moment = np.gradient(run.momentum.angular, run.t, axis=0, edge_order=2)
    middle = slice(3, -3)
    size = np.abs(moment).max()
    assert np.allclose(run["cv"].moment[middle], moment[middle], rtol=0, atol=5e-3 * size)
    assert np.abs(np.diff(run["cv"].moment, axis=0)).max() < 0.05 * size


def test_universal_joint_is_not_of_constant_velocity():
    bend = 0.5
    solution, _ = bent(lambda a, b: mbd.Universal("cross", a.frame(), b.frame()), "so3", bend)
    phi = 3.0 * solution.t
    expected = np.arctan2(np.sin(phi) * np.cos(bend), np.cos(phi))
    found = solution["b"].angle
    other = np.arctan2(np.sin(phi) / np.cos(bend), np.cos(phi))
    error = min(np.abs(np.sin(found - x)).max() for x in (expected, other))
    assert error < 1e-9
    assert np.ptp(solution["b"].angle_rate) > 0.5
    angles = solution["cross"].angle_1, solution["cross"].angle_2
    assert max(np.abs(x).max() for x in angles) == pytest.approx(bend, abs=0.01)


def test_rope_of_a_block_and_tackle():
    """Three strands carry the load: its acceleration and the tension in closed form."""
    system = mbd.System(gravity=(0, 0, -9.81))
    load = system.add(mbd.PointMass("load", mass=5.0, position=(0, 0, -2)))
    weight = system.add(mbd.PointMass("weight", mass=1.0, position=(1, 0, -2)))
    for name, body, x in (("left", load, 0), ("right", weight, 1)):
        system.add(mbd.PointOnLine(name, system.ground, body, at=(x, 0, -2), axis=Z))
    # two strands on the load, one on the weight; the points on ground are straight above
    top, over = system.ground.frame((0, 0, 0)), system.ground.frame((1, 0, 0))
    rope = system.add(mbd.Rope("rope", [top, load, top, over, weight]))
    assert rope.length == pytest.approx(2 + 2 + 1 + 2)
    solution = mbd.simulate(system, 0.5, 1e-2, method=SHARP)
    # 2 z_load + z_weight is constant
    a = (5 * 9.81 - 2 * 9.81) / (5 + 4 * 1)
    assert np.allclose(solution["load"].acceleration[:, 2], -a, rtol=0, atol=1e-7)
    assert np.allclose(solution["weight"].acceleration[:, 2], 2 * a, rtol=0, atol=1e-7)
    assert np.allclose(solution["rope"].tension, 9.81 + 2 * a, rtol=0, atol=1e-6)


def test_coupler_follows_a_law():
    """Two sliders whose sum is prescribed: each takes what its mass gives it."""
    system = mbd.System()
    made = []
    for i, mass in enumerate((1.0, 3.0)):
        body = system.add(mbd.PointMass(f"m{i}", mass=mass, position=(0, i, 0)))
        made.append(
            system.add(mbd.PointOnLine(f"s{i}", system.ground, body, at=(0, i, 0), axis=(1, 0, 0)))
        )
    law = mbd.Harmonic(amplitude=0.1, frequency=5.0, phase=-np.pi / 2, mean=0.1)
    system.add(mbd.Coupler("sum", made, (1.0, 1.0), law))
    solution = mbd.simulate(system, 0.5, 5e-3, method=SHARP)
    x, y = solution["s0"].displacement, solution["s1"].displacement
    assert np.allclose(x + y, [law(t)[0] for t in solution.t], rtol=0, atol=1e-12)
    assert np.allclose(x, 3 * y, rtol=0, atol=1e-9)
    assert np.ptp(x) > 0.05


@pytest.mark.parametrize("name", ["rack_and_pinion", "ball_on_turntable", "rolling_disc"])
def test_the_conserving_scheme_refuses_rows_it_cannot_conserve(name):
    with pytest.raises(
        ValueError, match=r"has a row that is not quadratic .* use GeneralizedAlpha"
    ):
        mbd.simulate(scene(name).build("directors"), 0.01, 1e-3, method=mbd.EnergyMomentum())


@spread(
    level=["velocity", "stabilized"], name=["planetary_gear", "rolling_disc", "driven_slider_crank"]
)
@EVERY
def test_levels_of_constraints(name, formulation, level):
    """Rows with laws of time and rows on velocities at the other levels: the same motion."""
    module = scene(name)
    h, n = module.RUN["step"], 40
    method = mbd.GeneralizedAlpha(constraints=level)
    one = mbd.simulate(module.build(formulation), n * h, h, method=method)
    two = mbd.simulate(module.build(formulation), n * h, h)
    for body in one.model.bodies:
        assert np.allclose(one[body].position, two[body].position, rtol=0, atol=2e-4)
        assert np.allclose(one[body].rotation, two[body].rotation, rtol=0, atol=5e-3)
    assert one.stats["iterations"] <= 5.5 * n
    if level == "stabilized":
        assert one.gap.max() < 1e-10
