"""The IEA 15 MW turbine against tables of HAWC2 and ROSCO: steady states, modes, production."""

import numpy as np
import pytest

import mbd

from .test_scenes import load

TURBINE = load("iea15")
STEADY = TURBINE.STEADY


def steady(wind, lag=1.0):
    """Return the steady pose of the rotor alone, its power and thrust over those of the table."""
    pitch, rpm, power, thrust = STEADY[wind]
    speed = rpm * np.pi / 30
    pose = mbd.equilibrium(TURBINE.rotor(wind, rpm, pitch, lag=lag), rotating=(speed, 0, 0))
    found = pose["generator"].load * speed, pose["shaft"].force[0]
    return pose, -found[0] / (1e3 * power), -found[1] / (1e3 * thrust)


@pytest.mark.slow
def test_rigid_blades_have_the_coefficients_of_the_rotor():
    """Of the shaft along the wind; those of the table, tilted by 6 degrees, lack cos^3 of power."""
    wind, area = 10.65, np.pi * TURBINE.TIP**2
    for ratio, pitch, cp, ct in TURBINE.DATA["rigid"]["rows"][::4]:
        rpm = ratio * wind / TURBINE.TIP * 30 / np.pi
        power, thrust = TURBINE.of_rigid_blades(wind, rpm, pitch, 24)
        q = 0.5 * TURBINE.DENSITY * area * wind**2
        assert np.isclose(power / (q * wind), cp, rtol=0.035)
        assert np.isclose(thrust / q, ct, rtol=0.03)


@pytest.mark.slow
def test_without_wind_it_stands_on_its_monopile_and_turns_about_its_shaft_alone():
    """Bending of tower and monopile at .17 Hz: report of simis.io 2020; of the tower alone more."""
    first = []
    for monopile in (False, True):
        pose = mbd.equilibrium(TURBINE.build(0.0, elements=6, monopile=monopile))
        found = mbd.modes(pose, n=8)
        first.append(found.frequency[found.frequency > 0.1][:2])
    assert np.allclose(first[1], 0.17, rtol=0.03)
    assert np.all(first[0] > 1.2 * first[1])
    system = TURBINE.rotor(9.0, 6.39, 0.0)
    for k in (1, 2, 3):
        del system.forces[f"air {k}"]
    for about, rate in (((0, 0, 40.0), (0.7, 0, 0)), ((0, 0, 0), (0.7, 0, 0.05))):
        with pytest.raises(ValueError, match="the pose cannot turn with the frame.*'shaft"):
            mbd.equilibrium(system, rotating=rate, about=about)


@pytest.mark.slow
@pytest.mark.parametrize("wind", [x for x in STEADY if x >= 7.0])
def test_steady_power_and_thrust_and_no_mode_that_grows(wind):
    """Within a tenth of HAWC2 and with every mode damped, by fast motions and by slow ones."""
    pose, power, thrust = steady(wind)
    assert abs(power - 1) < 0.1
    assert abs(thrust - 1) < 0.1
    for wake in ("frozen", "equilibrium"):
        found = mbd.modes(pose, n=60, wake=wake)
        assert found.damping[found.frequency > 0.01].min() > 0.01


@pytest.mark.slow
def test_lift_that_is_shed_at_once_takes_the_damping_of_torsion():
    """Quasi-steady lift, C = 1 of Theodorsen: the first torsion, 3.4 Hz, has next to no damping."""
    damped, at_once = (mbd.modes(steady(13.0, lag)[0], n=60) for lag in (1.0, 0.0))
    near = [x.damping[(x.frequency > 3.3) & (x.frequency < 3.7)].min() for x in (damped, at_once)]
    assert near[0] > 0.04
    assert near[1] < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("wind", [9.0, 13.0])
def test_ten_minutes_of_power_production(wind):
    """Power within 5 %, pitch within a degree of the table, and no limit cycle."""
    pitch, _, power, _ = STEADY[wind]
    controller = TURBINE.pitch_controller(pitch)
    run = mbd.closed_loop(TURBINE.build(wind), controller, 600.0, 0.05, every=5)
    solution = run.solution
    end = solution.t > 500.0
    speed = solution["shaft"].angle_rate[end]
    found = np.array([-TURBINE.torque(0.0, x, 0.0) * x for x in speed]) / (1e3 * power)
    angle = pitch + np.degrees(solution["bearing 1"].angle[end])
    assert np.all(abs(found - 1) < 0.05)
    assert np.all(abs(angle - pitch) < 1.0)
    assert np.ptp(speed) < 2e-3 * speed.mean()
    later = solution["blade 1"].moment[:, -3, 0, 0]  # torsion outside: as large in the last minutes
    assert np.ptp(later[solution.t > 550]) < 1.05 * np.ptp(later[(solution.t > 400) & ~end])
