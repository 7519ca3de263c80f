"""The quadruped of ``models``: it stays where it stands, falls and lands, and trots."""

import numpy as np
import pytest

import mbd
from tests.models.test_scenes import load

SCENE = load("quadruped")


def feet(run, floor="floor"):
    return [mbd.contacts(run, f"{leg} shank on {floor}") for leg in SCENE.LEGS]


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_it_stays_where_it_stands(slope):
    """Servos have settled after 5 s; for the 10 s that follow nothing goes anywhere."""
    system = SCENE.build(slope)
    run = mbd.simulate(system, 15.0, 2e-3)
    late = run.t > 5.0 - 1e-9
    for foot in feet(run):
        assert set(foot.mode[late, 0]) == {"stick"}
        assert np.abs(foot.point[late] - foot.point[late][0]).max() < 1e-9
        assert np.abs(foot.gap).max() < 1e-13
    assert np.abs(run["trunk"].velocity[-1]).max() < 1e-13
    force = sum(run[f"{leg} shank on floor"].force[-1] for leg in SCENE.LEGS)
    mass = sum(x.mass for x in system.bodies.values())
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    assert force == pytest.approx(9.81 * mass * up, abs=1e-9)


def test_it_lands_on_its_feet():
    """Dropped by 0.2 m: no step is taken in parts, the balance of energies is of second order."""
    drift = []
    for h in (1e-3, 5e-4):
        run = mbd.simulate(SCENE.build(height=0.2), 1.0, h)
        assert run.stats["rejected"] == 0
        assert min(x.gap.min() for x in feet(run, "ground")) > -1e-13
        assert run["trunk"].position[-1, 2] == pytest.approx(0.294 - 0.2, abs=2e-3)
        drift.append(np.ptp(run.energy.balance))
    assert drift[0] < 0.03 * run.energy.impacts[-1]
    assert drift[1] < 0.35 * drift[0]


def test_it_trots():
    """Legs lift off and land all the time; it goes ahead, upright."""
    run = mbd.simulate(SCENE.build(trot=2.0), 2.0, 1e-3)
    trunk = run["trunk"]
    assert trunk.position[-1, 0] > 0.3
    assert np.abs(trunk.position[:, 2] - 0.29).max() < 0.02
    assert trunk.rotation[:, 2, 2].min() > 0.99
    for foot in feet(run):
        assert 0.2 < np.mean(foot.mode == "open") < 0.6
        assert foot.gap.min() > -1e-13
