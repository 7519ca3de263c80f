"""Richardson's extrapolation of runs to the step zero, with an estimate of the error of results."""

import numpy as np
import pytest

import mbd
from mbd.front.richardson import weights

from .tools import SHARP, published, scene

STABLE = mbd.GeneralizedAlpha(constraints="stabilized", newton="full", tol=1e-12)


def test_weights_take_the_first_terms_of_an_expansion_away():
    assert np.allclose(weights(2, np.array([1.0, 0.5])), (-1 / 3, 4 / 3))
    for p, n in ((1, 3), (2, 3), (2, 4), (4, 3)):
        h = 0.5 ** np.arange(n)
        assert weights(p, h) @ np.ones(n) == pytest.approx(1)
        for k in range(p, p + n - 1):
            assert weights(p, h) @ h**k == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("form", ["so3", "directors"])
@pytest.mark.parametrize("order", [3, 4])
def test_the_order_is_that_which_is_asked_for(form, order):
    """Heavy top at its published instant, in position, velocity, rotation and reaction."""
    exact = {k: np.array(x) for k, x in published("heavy top")["0.1"].items()}
    errors, estimates = [], []
    for h in (1e-3, 5e-4):
        run = mbd.simulate(scene("heavy_top").build(form), 0.1, h, order=order, method=STABLE)
        both = [
            {"x": x["top"].position[-1], "v": x["top"].velocity[-1], "R": x["top"].rotation[-1],
             "reaction": x["pin"].force[-1]} for x in (run, run.lower)
        ]  # fmt: skip
        errors.append({k: np.abs(both[0][k] - exact[k]).max() for k in both[0]})
        estimates.append({k: np.abs(both[0][k] - both[1][k]).max() for k in both[0]})
        assert np.array_equal(run.t, np.linspace(0, 0.1, len(run.t)))
        if form == "so3":  # unit quaternions stay so; rows of directors are off by the error
            assert np.allclose(np.linalg.det(run["top"].rotation), 1.0, rtol=0, atol=1e-13)
    for k in errors[0]:
        observed = np.log2(errors[0][k] / errors[1][k])
        assert observed > order - 0.5, (k, observed)
        assert errors[1][k] < estimates[1][k] < 1e3 * errors[1][k]


def test_what_it_cost_is_the_sum_and_a_run_goes_on_from_its_end():
    system = scene("heavy_top").build()
    run = mbd.simulate(system, 0.02, 1e-3, order=4, every=5)
    assert run.stats["steps"] == 20 + 40 + 80
    assert len(run.t) == 5
    assert run.lower.stats["steps"] == 40 + 80
    on = mbd.simulate(system, 0.03, 1e-3, state=run.state)
    assert on.t[0] == 0.02
    assert np.abs(on.q[0] - run.q[-1]).max() < 1e-7


def test_fourth_order_steps_become_of_order_six():
    """A free body: explicit steps have an expansion from h^4 on."""
    system = mbd.System()
    system.add(mbd.RigidBody("b", mass=1.0, inertia=(1.0, 2.0, 2.5), formulation="so3",
                             angular_velocity=(1.0, 2.0, 0.5)))  # fmt: skip
    method = mbd.LieRungeKutta4()
    exact = mbd.simulate(system, 1.0, 0.01, order=7, method=method)["b"].rotation[-1]
    errors = [
        np.abs(mbd.simulate(system, 1.0, h, order=6, method=method)["b"].rotation[-1] - exact).max()
        for h in (0.2, 0.1)
    ]
    assert np.log2(errors[0] / errors[1]) > 5.5


def test_what_has_no_expansion_is_refused_by_name():
    system, low = scene("heavy_top").build(), mbd.Event("e", lambda x: x.t - 0.01)
    for options, words in (
        ({"events": low}, "cannot have events"),
        ({"rtol": 1e-6}, "cannot have rtol"),
        ({"t_eval": [0.01]}, "cannot have t_eval"),
        ({"stream": "run.nc"}, "cannot have stream"),
        ({"step": 3e-3}, r"the step must divide the time 0.02 s.*take 0.00285714286 s"),
        ({"step": None}, r"step \[s\] must be given with order"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            mbd.simulate(system, 0.02, **{"step": 1e-3, "order": 4, "method": SHARP} | options)
    for order in (2, 6, 3.5, "4", True):
        with pytest.raises(ValueError, match="order must be a whole number from 3 to 5"):
            mbd.simulate(system, 0.02, 1e-3, order=order)


def test_a_run_that_fails_is_returned_as_it_is():
    system = mbd.System()
    point = system.add(mbd.PointMass("m", mass=1.0))
    system.add(mbd.PointForce("f", point, force=lambda t: (1.0 if t < 0.05 else np.nan, 0, 0)))
    with pytest.raises(mbd.SimulationError):
        mbd.simulate(system, 0.1, 1e-2, order=4)
    run = mbd.simulate(system, 0.1, 1e-2, order=4, raise_on_failure=False)
    assert not run.success
    assert run.lower is None
