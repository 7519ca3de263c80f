"""Machines with many loops: freedoms, redundant rows by name, loops closed after ten seconds."""

import numpy as np
import pytest

import mbd

from .test_scenes import load, quantity

MACHINES = {  # freedoms, redundant rows, one of the joints that they are of; step [s]
    "scott_russell": (1, 10, "head", 1e-3),
    "strandbeest": (0, 18, "knee", 1e-3),
    "press": (0, 28, "column", 1e-3),
    "stewart": (0, 0, "", 1e-3),
    "cassie": (8, 0, "", 1e-3),
    "scissor": (0, 148, "cross", 2e-3),
}


@pytest.mark.parametrize("name", MACHINES)
def test_freedoms_and_redundant_rows_of_machines(name):
    freedoms, redundant, joint, _ = MACHINES[name]
    report = load(name).build().build().report()
    assert (report.freedoms, report.n_redundant) == (freedoms, redundant)
    assert len(report.redundant) == redundant
    assert any(joint in label for label in report.not_unique) or not redundant


def test_without_its_wheels_the_lift_has_a_small_second_freedom():
    """The table may tilt at first order: counted at the pose, though it leads nowhere."""
    system = load("scott_russell").build()
    del system.forces["wheels"]
    assert system.build().report().freedoms == 2


def test_a_hundred_bars_are_assembled_from_rough_poses_without_a_flip():
    module = load("scissor")
    exact, described = module.build().build(), module.build(rough=0.5).build()
    start = mbd.assemble_pose(described)
    assert np.abs(described.assemble(start).gap).max() < 1e-12
    run = mbd.simulate(described, 5e-3, 5e-3, state=start)
    for name, bar in exact.nodes.items():
        assert np.allclose(run[name].position[0], bar.position, rtol=0, atol=1e-9)
        assert np.allclose(run[name].rotation[0], bar.rotation, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="initial positions violate constraints"):
        mbd.simulate(described, 5e-3, 5e-3)


def later(module, name, t):
    """Return what is at another time where, from the scene's own source of numbers."""
    return {
        "scott_russell": lambda: ("table.position", (0, 0, module.height(t)), 1e-4),
        "strandbeest": lambda: ("right foot.position", module.toe(t, -1.0), 1e-9),
        "press": lambda: ("ram.position", (0, 0, module.ram(t)[0]), 1e-9),
        "stewart": lambda: ("platform(0.5, 0, 0).position", module.place(t, 0.5), 1e-9),
        "cassie": lambda: ("left tarsus.position", module.LATER[t], 1e-4),
        "scissor": lambda: ("falling 50.position", module.middle(49, t), 1e-9),
    }[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_loops_are_closed_after_ten_seconds(name):
    module = load(name)
    run = mbd.simulate(module.build(), 10.0, MACHINES[name][3], every=100)
    words, value, tolerance = later(module, name, 10.0)
    assert np.abs(quantity(run, words)[-1] - np.asarray(value)).max() < tolerance
    assert run.gap.max() < 1e-12
    assert run.gap[-1] < 1e-13
