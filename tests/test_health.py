"""A run says so when its multipliers oscillate from step to step, and only then."""

import warnings

import numpy as np
import pytest

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
