"""Runs that derivatives are taken of: kept, whatever stops what comes during or after them."""

import threading

import numpy as np
import pytest

import mbd

HEIGHT = mbd.Objective(terminal=lambda last: last["ball"].position[2])
NAMES = ["ball.mass", "gravity.z"]


def ball(stop=np.inf, on=None, error=KeyboardInterrupt):
    """Return a ball with a force whose law raises after a time, once it is on."""

    def law(t):
        if t > stop and on.locked():
            raise error("stop")
        return 0.0, 0.0, 1.0

    system = mbd.System(gravity=(0, 0, -9.81))
    body = system.add(mbd.PointMass("ball", mass=1.0))
    system.add(mbd.PointForce("push", body, law))
    return system


def by_gradient(model, **options):
    return mbd.gradient(options.pop("objective", HEIGHT), model, NAMES, 0.2, 0.01, **options)


def by_sensitivities(model, **options):
    return mbd.sensitivities(model, NAMES, 0.2, 0.01, **options)


WAYS = {
    "gradient": by_gradient, "sensitivities": by_sensitivities,
    "free": lambda model: by_sensitivities(model, rtol=1e-6),
    "pieces": lambda model: by_gradient(model, every=4),
    "hvp": lambda model: mbd.hvp(HEIGHT, model, NAMES, [1.0, 0.0], 0.2, 0.01),
}  # fmt: skip


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_stopped_in_its_midst(way, error):
    on = threading.Lock()  # no part of what a study is told by
    model = ball(0.105, on, error).build()
    on.acquire()
    expected = KeyboardInterrupt if error is KeyboardInterrupt else mbd.SimulationError
    with pytest.raises(expected, match="stop|interrupted by the user") as raised:
        WAYS[way](model)
    t = raised.value.solution.t
    assert t[0] == 0.0
    assert 0.05 < t[-1] <= 0.105
    assert np.all(np.diff(t) > 0)
    assert raised.value.solution.status == (-1 if error is KeyboardInterrupt else 1)


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("term", ["terminal", "running"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_objective_that_raises_leaves_the_run(term, every, error):
    def raises(_):
        raise error("mine")

    expected = error if error is KeyboardInterrupt else RuntimeError
    with pytest.raises(expected, match="mine") as raised:
        by_gradient(ball(), objective=mbd.Objective(**{term: raises}), every=every)
    assert raised.value.solution.success
    assert raised.value.solution.t[-1] == pytest.approx(0.2)
    if expected is RuntimeError:
        assert str(raised.value) == f"Objective: {term} raised ZeroDivisionError: mine"
        assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_an_objective_of_no_number_leaves_the_run():
    for value in (np.nan, [1.0, 2.0], "x", None):
        with pytest.raises((ValueError, RuntimeError), match="Objective: ") as raised:
            by_gradient(ball(), objective=mbd.Objective(terminal=lambda _, x=value: x))
        assert raised.value.solution.success


def test_an_interrupted_study_goes_on(tmp_path):
    """What was interrupted is no member that failed, and is not kept as one."""
    on = threading.Lock()  # no part of what a study is told by
    model = ball(0.105, on).build()
    how = {"t_end": 0.2, "step": 0.01, "outputs": [("ball.position", "final")]}
    on.acquire()
    with pytest.raises(KeyboardInterrupt):
        mbd.study(model, {"ball.mass": [1.0, 2.0, 3.0]}, directory=tmp_path, **how)
    on.release()
    study = mbd.study(model, {"ball.mass": [1.0, 2.0, 3.0]}, directory=tmp_path, **how)
    assert not study.status.any()
