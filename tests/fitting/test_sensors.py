"""Sensors: an arm with an encoder whose zero, gain and delay nobody knows."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mbd

TRUE = {"spring.stiffness": 8.0, "spring.damping": 0.3}
OFFSET, GAIN, LAG, SIGMA = 0.07, 1.03, 0.021, 2e-3
STEP, T = 0.01, 2.0


def arm():
    system = mbd.System(gravity=(0, 0, -9.81))
    bar = system.add(mbd.RigidBody("arm", mass=1.2, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0)))
    hinge = system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis="y"))
    system.add(mbd.JointSpring("spring", hinge, stiffness=8.0, damping=0.3))
    return system.build()


@pytest.fixture(scope="module")
def encoder():
    """Return what the encoder shows at some instants, by gain, and these."""
    run = mbd.simulate(arm(), T, STEP)
    angle, t = CubicSpline(run.t, run["hinge"].angle), run.t[::4]
    return lambda gain: gain * angle(np.maximum(t - LAG, 0.0)) + OFFSET, t


def test_offset_gain_and_lag_are_found_with_the_parameters(encoder):
    shown, t = encoder
    sensor = mbd.Sensor(offset=0.0, gain=1.0, lag=0.01)
    starts = {"spring.stiffness": 7.0, "spring.damping": 0.25}
    fit = mbd.fit(arm(), {"hinge.angle": (t, shown(GAIN), SIGMA)}, starts, STEP,
                  sensors={"hinge.angle": sensor})  # fmt: skip
    truth = {**TRUE, "hinge.angle.offset": OFFSET, "hinge.angle.gain": GAIN, "hinge.angle.lag": LAG}
    assert list(fit) == list(truth)
    assert fit.success
    for name, value in truth.items():
        assert fit[name] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("draws", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_in_nine_of_ten_draws(encoder, draws):
    """Of an arm with an encoder whose zero is unknown: of 100 draws 89, 91, of the offset 86."""
    shown, t = encoder
    model, names = arm(), [*TRUE, "hinge.angle.offset"]
    clean, hits = shown(1.0), dict.fromkeys(names, 0)
    starts = {"spring.stiffness": 7.5, "spring.damping": 0.25}
    for seed in range(draws):
        noise = SIGMA * np.random.default_rng(seed).normal(size=len(t))
        fit = mbd.fit(model, {"hinge.angle": (t, clean + noise, SIGMA)}, starts, STEP,
                      sensors={"hinge.angle": mbd.Sensor(offset=0.0, lag=0.01)})  # fmt: skip
        for name, (low, high) in fit.confidence(0.9).items():
            if name in hits:
                hits[name] += low <= {**TRUE, "hinge.angle.offset": OFFSET}[name] <= high
    deviation = np.sqrt(0.09 * draws)
    assert all(abs(x - 0.9 * draws) <= 3 * deviation for x in hits.values()), hits


@pytest.mark.parametrize(("sensors", "error", "words"), [
    ({"hinge.angel": mbd.Sensor(offset=0.0)}, ValueError, "did you mean 'hinge.angle'"),
    ({"hinge.angle": 0.0}, TypeError, "sensors must be"),
])  # fmt: skip
def test_what_sensors_cannot_be_is_said(encoder, sensors, error, words):
    shown, t = encoder
    with pytest.raises(error, match=words):
        mbd.fit(arm(), {"hinge.angle": (t, shown(1.0))}, ["spring.stiffness"], STEP,
                sensors=sensors)  # fmt: skip


def test_a_sensor_of_nothing_is_refused():
    with pytest.raises(ValueError, match="give offset="):
        mbd.Sensor()
