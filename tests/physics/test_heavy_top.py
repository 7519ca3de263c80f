"""The heavy top (R01): positions, velocities, body rates, rotation and the reaction of the pin."""

import numpy as np
import pytest
from charts import TOP
from scenes import hinged

import mbd

from .tools import RIGID, SHARP, converge, ends, published, scene

WORDS = {
    "x": "top.position", "v": "top.velocity", "R": "top.rotation", "Omega":
    "top.angular_velocity_body", "reaction": "pin.force",
}  # fmt: skip

LIE = {"x": 1e-8, "v": 5e-8, "R": 5e-8, "Omega": 5e-7, "reaction": 2e-4}
FAR = {"x": 5e-5, "v": 5e-4, "reaction": 5e-2}
# on SE(3) a step does not depend on where the frame is: the errors of the frame in the pin, below
SCREW = {"x": 2e-5, "v": 2e-4, "R": 3e-5, "Omega": 5e-4, "reaction": 2e-2}
REDUNDANT = {"x": 2e-7, "v": 1e-6, "R": 2e-4, "Omega": 1e-3, "reaction": 1e-3}


@pytest.mark.parametrize("formulation", [*RIGID, TOP])
def test_heavy_top_is_second_order_in_everything_and_extrapolates_to_the_table(formulation):
    tolerance = {"so3": LIE, "se3": SCREW, "unified": SCREW}.get(formulation, REDUNDANT)
    exact = published("heavy top")["1.0"]
    run = ends(scene("heavy_top").build(formulation), 1.0, **WORDS)
    converge(run, exact, step=5e-4, tolerance=tolerance)


def test_heavy_top_beats_the_scheme_of_kynema_on_the_same_group():
    # largest position error up to t = 0.8 at rho = 0.9: 1.00e-3 at h = 1 ms
    system = scene("heavy_top").build("so3")
    method = mbd.GeneralizedAlpha(rho=0.9)
    fine = mbd.simulate(system, 0.8, 1e-3 / 16, method=method, every=16)["top"].position
    coarse = mbd.simulate(system, 0.8, 1e-3, method=method)["top"].position
    assert np.abs(coarse - fine).max() < 1.02e-3


@pytest.mark.parametrize("formulation", RIGID)
def test_first_reaction_is_mass_times_acceleration_less_weight(formulation):
    solution = mbd.simulate(scene("heavy_top").build(formulation), 1e-3, 1e-3)
    expected = (0, -319.525988166, -317.262461538462)
    assert np.allclose(solution["pin"].force[0], expected, rtol=0, atol=1e-8)
    assert abs(solution.energy.total[0] - 5435.69679086555) < 1e-8


@pytest.mark.parametrize("formulation", RIGID)
def test_heavy_top_keeps_energy_and_its_vertical_angular_momentum(formulation):
    solution = mbd.simulate(scene("heavy_top").build(formulation), 1.0, 2.5e-4, method=SHARP)
    E, L = solution.energy.total, solution.momentum.angular[:, 2]
    assert np.abs(E / E[0] - 1).max() < 1e-4
    assert np.abs(L / L[0] - 1).max() < (5e-3 if formulation in ("se3", "unified") else 1e-3)


def test_heavy_top_with_the_body_frame_in_the_pin_tends_to_the_same_motion():
    # the rotation alone carries the motion: seventy times the error of the frame in the centre of
    # mass, whose translation is slow; the order is the same
    system, *_ = hinged(
        "top", "pin", kind="Spherical", mass=15.0, inertia=(0.234375, 0.46875, 0.234375),
        center_of_mass=(0, 1, 0), angular_velocity=(0, 150, -4.61538), position=(0, 0, 0),
    )  # fmt: skip
    at = "top(0, 1, 0)"
    run = ends(system, 1.0, x=f"{at}.position", v=f"{at}.velocity", reaction="pin.force")
    exact = published("heavy top")["1.0"]
    converge(run, {k: exact[k] for k in ("x", "v", "reaction")}, step=5e-4, tolerance=FAR)
