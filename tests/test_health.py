"""A run says so when its multipliers oscillate from step to step, and only then."""

import warnings

import numpy as np
import pytest
from scenes import spinning_disc, with_body
from scipy.spatial.transform import Rotation

import mbd


def heavy_top(formulation: str) -> mbd.System:
    system = mbd.System(gravity=(0, 0, -9.81))
    omega = np.array([0.0, 150.0, -4.61538])
    top = mbd.RigidBody(
        "top",
        mass=15.0,
        inertia=(0.234375, 0.46875, 0.234375),
        position=(0, 1, 0),
        velocity=np.cross(omega, (0, 1, 0)),
        angular_velocity=omega,
        formulation=formulation,
    )
    system.add(top)
    system.add(mbd.Spherical("tip", system.ground, top, at=(0, 0, 0)))
    return system


def test_fast_spin_on_directors_near_rho_1_is_warned_of_by_name():
    # theory and measurement: at rho = 0.9 and h = 5e-4 the reaction is useless (error > 100 N)
    with pytest.warns(RuntimeWarning, match=r"'(top|tip)\..*' oscillates .* smaller rho"):
        mbd.simulate(heavy_top("directors"), 1.0, 5e-4, method=mbd.GeneralizedAlpha(rho=0.9))


@pytest.mark.parametrize(("formulation", "rho"), [("so3", 0.9), ("directors", 0.8)])
def test_smooth_runs_are_not_warned_of(formulation, rho):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbd.simulate(heavy_top(formulation), 0.5, 5e-4, method=mbd.GeneralizedAlpha(rho=rho))


@pytest.mark.parametrize(
    ("formulation", "step"), [("directors", 5e-3), ("euler_parameters", 1e-2), ("scalable", 1e-2)]
)
def test_a_run_that_is_lost_says_so(formulation, step):
    """Steps that throw velocities off the rows are refused: of 160 J no 100 kJ come."""
    with pytest.warns(RuntimeWarning, match="are too large for this motion"):
        run = mbd.simulate(spinning_disc(formulation), 10.0, step)
    assert run.stats["divided_steps"] > 0
    assert run.energy.kinetic.max() < 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "steps of .* are too large")  # its angle is off by 2 rad
        solution = mbd.simulate(spinning_disc(formulation), 10.0, step / 10)
        mbd.simulate(
            spinning_disc(formulation),
            10.0,
            step,
            method=mbd.GeneralizedAlpha(constraints="stabilized"),
        )
    assert np.ptp(solution.energy.total) < 0.1


def test_a_free_body_on_directors_near_rho_1_says_so():
    system, _ = with_body(
        "a", inertia=(1, 1.1, 1.2), formulation="directors", angular_velocity=(0, 1, 2)
    )
    with pytest.warns(RuntimeWarning, match=r"'a\.\|.*\|' oscillates"):
        mbd.simulate(system, 20.0, 0.01, method=mbd.GeneralizedAlpha(rho=1.0))


def test_rest_is_no_alarm():
    """Nothing moves but round-off, which leaves the rows as it likes."""
    system = mbd.System(gravity=(0, 0, -9.81))
    last = system.ground
    for i in range(6):
        bar = mbd.RigidBody(
            f"bar {i}", mass=1.0, inertia=(1e-2,) * 3, position=(0, 0, -i - 0.5),
            formulation=("so3", "directors")[i % 2],
        )  # fmt: skip
        system.add(bar)
        system.add(mbd.Spherical(f"pin {i}", last, bar, at=(0, 0, -i)))
        last = bar
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbd.simulate(system, 0.5, 1e-3)


def test_multipliers_of_nothing_are_no_alarm():
    """No loads: what is left of multipliers is the round-off of positions over h^2."""
    rng = np.random.default_rng(3)
    system = mbd.System()
    last = system.ground
    for i in range(3):
        at = rng.normal(size=3)
        bar = mbd.RigidBody(
            f"bar {i}", mass=1.0, inertia=(1e-2,) * 3, position=rng.normal(size=3),
            rotation=Rotation.random(random_state=i), formulation="so3",
        )  # fmt: skip
        system.add(bar)
        system.add(mbd.Revolute(f"hinge {i}", last, bar, at=at, axis=rng.normal(size=3)))
        last = bar
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbd.simulate(system, 0.1, 1e-3)
