"""Optimisation: known optima, multipliers, equilibria, values without runs, files, interrupts."""

import signal

import numpy as np
import pytest

import mbd


def ball():
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=1.0, velocity=(1.0, 0, 1.0)))
    return system


def last(axis):
    return mbd.Objective(terminal=lambda last: last["ball"].position[axis])


def test_the_slowest_throw_that_hits():
    """Least v^2 with x(T) = X, z(T) >= Z: v = (X/T, Z/T + gT/2), multipliers 2v/T."""
    T, X, Z = 0.8, 3.0, 0.5
    best = mbd.optimize(
        lambda p: p["ball.velocity.x"] ** 2 + p["ball.velocity.z"] ** 2, ball(),
        ["ball.velocity.x", "ball.velocity.z"], T, 0.1,
        constraints={"far": (last(0), X, X), "high": (last(2), Z, None)},
    )  # fmt: skip
    v = np.array([X / T, Z / T + 9.81 * T / 2])
    assert best.success, best
    assert np.allclose(list(best.values.values()), v, rtol=1e-6)
    assert best.value == pytest.approx(v @ v, rel=1e-6)
    assert best.active == {"far": "low", "high": "low"}
    assert np.allclose([best.multipliers[x] for x in ("far", "high")], 2 * v / T, rtol=1e-4)
    assert best.model.state.v[0] == best["ball.velocity.x"]


def damped():
    system = mbd.System()
    mass = system.add(mbd.PointMass("mass", mass=2.0, position=(1.5, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=18.0, damping=1.0, length=0.5))
    return system


ISE = mbd.Objective(running=lambda run: (run["mass"].position[:, 0] - 0.5) ** 2)


@pytest.mark.parametrize("solver", ["SLSQP", "L-BFGS-B"])
def test_the_damping_of_the_least_squared_error_is_one_half(solver):
    """Of a step response, (1 + 4 D^2)/(4 D w) is least at D = 1/2: c = sqrt(k m)."""
    best = mbd.optimize(ISE, damped(), ["spring.damping"], 6.0, 0.01, solver=solver)
    assert best.success, best
    assert best["spring.damping"] == pytest.approx(6.0, rel=2e-3)  # steps of 0.01 s
    assert best.value == pytest.approx(1 / 3, rel=2e-3)
    assert not best.active
    held = mbd.optimize(ISE, damped(), ["spring.damping"], 6.0, 0.01, solver=solver,
                        bounds={"spring.damping": (0, 4.0)})  # fmt: skip
    assert held.success
    assert held.active == {"spring.damping": "high"}
    assert held.multipliers["spring.damping"] > 0
    assert "spring.damping  4  high" in repr(held)
    assert "high" in held._repr_html_()


def hanging():
    system = mbd.System(gravity=(0, 0, -9.81))
    mass = system.add(mbd.PointMass("ball", mass=2.0, position=(0, 0, -1)))
    system.add(mbd.PrescribedMotion("line", system.ground, mass, position=[0, 0, None]))
    system.add(mbd.Spring("spring", system.ground, mass, stiffness=50.0, length=0.7))
    return system


def test_an_equilibrium_within_a_limit():
    """The softest spring with which a mass sags by no more than s has k = m g/s."""
    best = mbd.optimize(
        lambda p: p["spring.stiffness"], hanging(), ["spring.stiffness"],
        constraints={"sag": (last(2), -0.9, None)},
    )  # fmt: skip
    assert best.success, best
    assert best["spring.stiffness"] == pytest.approx(2 * 9.81 / 0.2, rel=1e-6)
    assert best.constraints["sag"] == pytest.approx(-0.9)
    assert best.multipliers["sag"] == pytest.approx(2 * 9.81 / 0.2**2, rel=1e-4)


def test_values_without_a_run_are_kept_away_from():
    """To a heavy mass from a light one and back, and to one that is none."""
    for target, success in ((5.0, True), (-1.0, False)):
        best = mbd.optimize(lambda p, x=target: (p["ball.mass"] - x) ** 2, ball(), ["ball.mass"],
                            0.2, 0.1, solver="L-BFGS-B")  # fmt: skip
        assert best.success == success, best
        assert best["ball.mass"] == pytest.approx(max(target, 0.0), abs=1e-5)
    assert "no run" in best.message
    assert "mass must be positive" in best.failures[0][1]
    both = {"both": (lambda p: p["ball.mass"] ** 2, None, -1.0)}
    bad = mbd.optimize(lambda p: p["ball.mass"], ball(), ["ball.mass"], 0.2, 0.1, constraints=both)
    assert not bad.success
    assert bad.message.startswith("both cannot be met from here")


def test_an_optimisation_goes_on_where_it_was_killed_and_stops_when_told(tmp_path):
    file, how = tmp_path / "a.opt", (damped(), ["spring.damping"], 1.0, 0.01)
    whole = mbd.optimize(ISE, *how, file=file)
    text = file.read_bytes()
    file.write_bytes(text[: len(text) * 2 // 3])
    again = mbd.optimize(ISE, *how, file=file)
    assert (again.values, again.history) == (whole.values, whole.history)
    assert file.read_bytes() == text
    few = mbd.optimize(ISE, *how, max_evaluations=3)
    assert (few.status, few.evaluations) == (1, 3)
    assert "3 evaluations were not enough" in few.message
    calls = []

    def stopped(p):
        calls.append(1)
        if len(calls) == 25:
            signal.raise_signal(signal.SIGINT)
        return (p["ball.mass"] - 3.0) ** 4

    best = mbd.optimize(stopped, ball(), ["ball.mass"], 0.2, 0.1)
    assert (best.status, best.success, best.message) == (-1, False, "interrupted by the user")
    assert best["ball.mass"] >= 1.0


def test_an_option_that_gradients_do_not_have_is_named():
    with pytest.raises(TypeError, match="optimize: there is no option 'metod' .did you mean 'met"):
        mbd.optimize(ISE, damped(), ["spring.damping"], 6.0, 0.01, metod=None)
