"""Free steps of collocation where velocities have no scale, and where round-off is large."""

import numpy as np
import pytest
from families import spread
from scenes import hinged

import mbd
from mbd.formulations import NAMES

BODIES = [name for name in NAMES if name != "point"]


def pushed(power, formulation):
    """A free body at rest under a force 3 t^p: x = 3 t^(p + 2)/((p + 1)(p + 2))."""
    system = mbd.System(gravity=(0, 0, 0))
    body = system.add(
        mbd.RigidBody("b", mass=1.0, inertia=(0.1, 0.2, 0.25), formulation=formulation)
    )
    system.add(mbd.PointForce("f", body, lambda t: (3 * t**power, 0, 0)))
    return system, lambda run: run["b"].position[-1, 0], 1.0


def turned(power, formulation):
    """A body at rest on a hinge under a moment 3 t^p."""
    system, _, hinge = hinged(
        "b", "h", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.25), formulation=formulation
    )
    system.add(mbd.Motor("f", hinge, lambda u, rate, t: 3 * t**power))
    return system, lambda run: run["h"].angle[-1], 0.45


@spread(scene=[pushed, turned], formulation=BODIES)
def test_a_load_that_grows_from_zero_moves_what_is_at_rest(scene, formulation):
    """Whatever its power: nothing has moved, and nothing pushes, at the start."""
    for power in (1, 2, 3, 4, 7):
        system, result, inertia = scene(power, formulation)
        exact = 3 / ((power + 1) * (power + 2)) / inertia
        for options in ({"rtol": 1e-6}, {"rtol": 1e-9}, {"step": 0.02}):
            run = mbd.simulate(system, 1.0, method=mbd.RadauCollocation(), **options)
            error = abs(result(run) - exact)
            assert error < 2 * options.get("rtol", 1e-9), (power, options)
            assert run.stats["steps"] < 100


def ball(J, formulation):
    """A mass on a string that turns about it: about the string it has next to no inertia."""
    system = mbd.System(gravity=(0, 0, -9.81))
    body = mbd.RigidBody(
        "b", mass=1.0, inertia=(J, J, J), position=(0.5, 0.1, 0.2), angular_velocity=(1, 2, 3),
        formulation=formulation,
    )  # fmt: skip
    system.add(body)
    system.add(mbd.Spherical("h", system.ground, body, at=(0, 0, 0)))
    return system


@pytest.mark.parametrize("formulation", ["so3", "se3", "directors", "euler_parameters"])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_round_off_of_small_inertia_chooses_no_steps(formulation, rtol):
    """1e-16 of the pull of the string is 1e-4 of what turns the body: no step is small enough."""

    def run(J):
        return mbd.simulate(
            ball(J, formulation), 0.3, method=mbd.RadauCollocation(), rtol=rtol, project=True
        )

    ends = []
    for J in 10.0 ** np.arange(-4, -13, -2):
        solution = run(J)
        assert solution.stats["steps"] < 400, J
        ends.append(solution["b"].position[-1])
    assert np.abs(ends[-1] - ends[2]).max() < 1e2 * rtol + 1e-7  # the path without inertia
