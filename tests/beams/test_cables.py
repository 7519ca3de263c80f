"""Cables: the elastic catenary, slack and taut, conservation, results, bad input.

The catenary of span 10 m, L = 12 m, q = 2 N/m, EA = 1000 N: with the horizontal tension H

    span = H L/EA + (2 H/q) asinh(q L/(2 H)),
    sag = q L^2/(8 EA) + (sqrt(H^2 + (q L/2)^2) - H)/q .
"""

from contextlib import suppress

import numpy as np
import pytest
from scipy.optimize import brentq

import mbd

G = 9.81
H, SAG, END = 9.014472554, 3.033107722, 15.008687998


def hanging(n, sag=3.0, length=12.0, **options):
    """Return a cable over a span of 10 m that begins on a parabola."""
    system = mbd.System(gravity=(0, 0, -G))
    options = {"stiffness": 1000, "mass": 2 / G, "smooth": True} | options
    system.add(mbd.Cable("line", points=lambda p: (10 * p, 0, -4 * sag * p * (1 - p)), elements=n,
                         length=length, first=system.ground, last=system.ground,
                         **options))  # fmt: skip
    return system


def at_rest(system):
    """Return the pose, and its results at two instants."""
    pose = mbd.equilibrium(system)
    return pose, mbd.simulate(system, 1e-3, 1e-3, state=pose.state)


@pytest.mark.parametrize(
    ("n", "sag", "tension"),
    [(4, 3.4e-2, -1.7e-2), (8, 8.0e-3, -4.3e-3), (16, 2.0e-3, -1.07e-3), (32, 5.0e-4, -2.7e-4)],
)
def test_catenary_converges_with_the_second_power(n, sag, tension):
    pose, run = at_rest(hanging(n))
    assert -pose[f"line.{n // 2}"].position[2] / SAG - 1 == pytest.approx(sag, rel=0.1)
    cable = run["line"]
    force = cable.reaction(on="line.0").force[0]
    assert abs(force[0]) / H - 1 == pytest.approx(tension, rel=0.1)
    assert force[2] == pytest.approx(12, rel=1e-9)  # half the weight, with that of the end node
    assert np.linalg.norm(force) == pytest.approx(END, rel=1.1 * abs(tension))


def test_another_catenary():
    """Numbers of the formulas, for a stretched cable of other size."""
    EA, q, L, span = 4e4, 35.0, 20.3, 20.0

    def gap(x):
        return x * L / EA + 2 * x / q * np.arcsinh(q * L / (2 * x)) - span

    tension = brentq(gap, 10, 1e5)
    sag = q * L**2 / (8 * EA) + (np.hypot(tension, q * L / 2) - tension) / q
    system = mbd.System(gravity=(0, -5.0, 0))
    cable = system.add(mbd.Cable("c", points=[(-span / 2, 0, 0), (span / 2, 0, 0)], length=L,
                                 stiffness=EA, mass=q / 5, elements=16))  # fmt: skip
    for node in (cable.first, cable.last):
        system.add(mbd.Spherical(f"at {node.name}", system.ground, node, at=node.position))
    pose = mbd.equilibrium(system)
    assert -pose["c.8"].position[1] == pytest.approx(sag, rel=4e-3)


@pytest.mark.parametrize(("sag", "slack"), [(0.0, True), (0.1, True), (6.0, True), (6.0, False)])
def test_the_pose_does_not_depend_on_the_start(sag, slack):
    """From a straight line that is slack, from a steep parabola that is stretched."""
    pose = mbd.equilibrium(hanging(8, sag=sag, slack=slack))
    assert -pose["line.4"].position[2] == pytest.approx(SAG * 1.00803, rel=1e-4)


@pytest.mark.parametrize(("n", "length"), [(16, 102.0), (32, 120.0), (32, 100.1), (32, 99.9)])
def test_steel_ropes_take_some_steps_from_a_parabola(n, length):
    """EA is ten thousand times the weight: tensions are iterates of their own, slack or not."""
    system = mbd.System(gravity=(0, 0, -G))
    sag = np.sqrt(3 / 8 * 100 * max(length - 100, 0.01))
    system.add(mbd.Cable("c", points=lambda p: (100 * p, 0, -4 * sag * p * (1 - p)), mass=2.0,
                         stiffness=2e7, length=length, elements=n, first=system.ground,
                         last=system.ground))  # fmt: skip
    pose, run = at_rest(system)
    assert pose.iterations <= 6
    q, L, EA = 2 * G, length, 2e7

    def gap(x):
        return x * L / EA + 2 * x / q * np.arcsinh(q * L / (2 * x)) - 100

    tension = brentq(gap, 1.0, 1e6)
    assert abs(run["c"].reaction(on="c.0").force[0, 0]) == pytest.approx(tension, rel=4e-3)
    assert run["c"].tension[0].min() > 0


@pytest.mark.parametrize("seek", ["minimum", "nearest"])
def test_a_cable_does_not_carry_what_stands_on_it(seek):
    """Its bars would push: no such pose is returned as a balance."""
    system = mbd.System(gravity=(0, 0, -G))
    weight = system.add(mbd.PointMass("weight", mass=1.0, position=(0, 0, 2)))
    cable = system.add(mbd.Cable("c", points=[(0, 0, 0), (0, 0, 2)], stiffness=1e4, mass=0.01,
                                 elements=2, first=system.ground))  # fmt: skip
    system.add(mbd.Spherical("knot", cable.last, weight, at=(0, 0, 2)))
    with suppress(mbd.EquilibriumError):  # it says so, or finds it hanging
        pose = mbd.equilibrium(system, seek=seek)
        assert pose["weight"].position[2] == pytest.approx(-2.002, abs=1e-3)


def test_a_slack_cable_without_weight_is_at_rest_where_it_is():
    system = mbd.System()
    system.add(mbd.Cable("c", points=[(0, 0, 0), (4, 0, 0)], stiffness=1e3, mass=0.2, length=5,
                         first=system.ground, last=system.ground))  # fmt: skip
    pose, run = at_rest(system)
    assert np.allclose(pose["c.4"].position, (2, 0, 0))
    assert not run["c"].tension.any()
    assert not run["c"].energy.any()


@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize(("slack", "length"), [(True, 1.8), (True, 2.5), (False, 2.5)])
def test_bars_have_the_properties_of_every_part(slack, length, damping):
    """Exact tangents, action and reaction, invariance, power and energy; taut and slack."""
    cable = mbd.Cable("c", points=[(0, 0, 0), (1, 0.2, 0), (2, 0, 0.4)], stiffness=50, mass=0.5,
                      elements=3, length=length, slack=slack, damping=damping,
                      velocity=(0.1, 0.2, 0.3))  # fmt: skip
    assert mbd.check_part(cable).ok


def whip(damping=0.0):
    """Return a free cable, a little slack, with a body at its end that flies."""
    system = mbd.System()
    cable = system.add(
        mbd.Cable("c", points=[(0, 0, 0), (1, 0.4, 0), (2, 0.3, 0.3), (3, 0, 0)], stiffness=200,
                  mass=0.5, elements=6, damping=damping, length=3.1)
    )  # fmt: skip
    body = system.add(mbd.RigidBody("b", mass=1, inertia=(0.1, 0.2, 0.3), position=(3, 0, 0.5),
                                    velocity=(1, 2, 3), angular_velocity=(1, 2, 3),
                                    formulation="directors"))  # fmt: skip
    system.add(mbd.Spherical("eye", cable.last, body, at=(3, 0, 0)))
    return system


@pytest.mark.filterwarnings("ignore:steps of")  # coarse ones: what is conserved does not care
def test_the_conserving_scheme_conserves_over_slack():
    run = mbd.simulate(whip(), 2.0, 0.02, method=mbd.EnergyMomentum(), project=True)
    energy, tension = run.energy, run["c"].tension
    assert 0.1 < (tension == 0).mean() < 0.9  # bars go slack and are taut again
    assert tension.min() == 0.0
    assert np.ptp(energy.potential) > 0.05 * energy.total[0]
    assert np.ptp(energy.total) < 1e-12 * energy.total[0]
    assert np.ptp(run.momentum.linear, axis=0).max() < 1e-12
    assert np.ptp(run.momentum.angular, axis=0).max() < 1e-12
    assert np.allclose(run["c"].energy.sum(axis=1), energy.potential, atol=1e-12)


def test_damping_balances():
    runs = [mbd.simulate(whip(0.02), 0.4, h, project=True) for h in (4e-3, 2e-3)]
    drift = [np.abs(x.energy.balance - x.energy.balance[0]).max() for x in runs]
    assert runs[0].energy.total[-1] < 0.95 * runs[0].energy.total[0]
    assert drift[1] < 0.35 * drift[0]


def test_tension_is_the_law():
    """EA (l/l0 - 1) + tau EA l'/l0 where that is positive, on every bar and at every instant."""
    system = whip(0.05)
    run = mbd.simulate(system, 0.4, 4e-3, project=True)
    x, v = (np.diff(getattr(run["c"], name), axis=1) for name in ("position", "velocity"))
    l = np.linalg.norm(x, axis=-1)
    rate = (x * v).sum(-1) / l
    l0 = np.array([bar.numbers[2] for bar in system["c"].bars])
    assert l0.sum() == pytest.approx(3.1)
    want = np.maximum(200 * (l / l0 - 1) + 0.05 * 200 / l0 * rate, 0)
    assert want.max() > 10
    assert np.allclose(run["c"].tension, want, atol=1e-9)


def test_a_cable_runs_on_over_a_pulley_as_a_rope():
    """A weight of 3 kg over a pulley stretches what is before it by 3 g l/EA."""
    system = mbd.System(gravity=(0, 0, -G))
    cable = system.add(mbd.Cable("line", points=[(0, 0, 0), (4, 0, 0)], stiffness=1e4, mass=1e-6,
                                 elements=4, first=system.ground))  # fmt: skip
    weight = system.add(mbd.PointMass("weight", mass=3.0, position=(5, 0, -2)))
    pulley = system.ground.frame((5, 0, 0))
    system.add(mbd.Rope("rope", [cable.last, pulley, weight]))
    pose = mbd.equilibrium(system)
    run = mbd.simulate(system, 1e-3, 1e-3, state=pose.state)
    assert run["rope"].tension[0] == pytest.approx(3 * G)
    assert np.allclose(run["line"].tension[0], 3 * G, rtol=1e-6)
    assert pose["weight"].position[2] == pytest.approx(-2 - 3 * G * 4 / 1e4, rel=1e-6)


def test_results_and_files_and_processes(tmp_path):
    import pickle

    system = mbd.System(gravity=(0, 0, -G))
    bob = system.add(mbd.RigidBody("bob", mass=1, inertia=(0.1,) * 3, position=(2, 0, -2)))
    system.add(mbd.Cable("c", points=[(0, 0, 0), (1, 0, 0), (2, 0, -1)], stiffness=1e4, mass=0.1,
                         elements=5, smooth=False, length=2.5, damping=1e-3, first=system.ground,
                         last=bob.frame((0, 0, 1)), slack=False))  # fmt: skip
    run = mbd.simulate(system, 0.02, 1e-3)
    cable = run["c"]
    assert cable.tension.shape == cable.energy.shape == (21, 5)
    assert {"tension", "position", "velocity"} <= set(cable.quantities)
    assert "quaternion" not in cable.quantities
    assert cable.curve(3).shape == (21, 16, 3)
    assert np.allclose(cable.curve(3)[:, ::3], cable.position)
    with pytest.raises(AttributeError, match="'c' has no 'tensoin'.*tension"):
        cable.tensoin  # noqa: B018
    mbd.write(system, tmp_path / "cable.toml")
    again = mbd.read(tmp_path / "cable.toml").system
    for other in (again, pickle.loads(pickle.dumps(system))):
        assert list(other.bodies) == list(system.bodies)
        assert other["c"].agrees_with(system["c"])


GOOD = {"points": [(0, 0, 0), (1, 0, 0)], "stiffness": 1.0, "mass": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [(0, 0, 0)]}, "c: points must be two or more finite points"),
        ({"points": [(0, 0, 0), (0, 0, 0)]}, "c: points 0 and 1 must differ"),
        ({"points": [(0, 0), (1, 1)]}, "c: points must be two or more finite points"),
        ({"points": lambda p: (np.cos(2 * np.pi * p), np.sin(2 * np.pi * p), 0), "elements": 1},
         "c: nodes 0 and 1 must not coincide"),
        ({"stiffness": 0.0}, r"c: stiffness must be positive \[N\]"),
        ({"stiffness": np.nan}, "c: stiffness must be"),
        ({"mass": -1.0}, r"c: mass must be positive \[kg/m\]"),
        ({"length": 0.0}, r"c: length must be positive \[m\]"),
        ({"elements": 2.5}, "c: elements must be"),
        ({"damping": -1e-3}, "c: damping must"),
        ({"slack": "yes"}, "c: slack must be True or False"),
        ({"smooth": 1}, "c: smooth must be True or False"),
        ({"first": "ground"}, "c: first must be a body or a frame of one"),
    ],
)  # fmt: skip
def test_bad_cables_are_refused_by_name(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mbd.Cable("c", **(GOOD | options))
