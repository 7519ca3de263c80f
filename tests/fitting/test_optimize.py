"""Optimisation: known optima, multipliers, equilibria, values without runs, files, interrupts."""

import signal

import numpy as np
import pytest
from scenes import hinged, with_point

import mbd
from mbd.runs.stretch import Stretch


def ball():
    system, _ = with_point("ball", gravity=(0, 0, -9.81), velocity=(1.0, 0, 1.0))
    return system


def last(axis):
    return mbd.Objective(terminal=lambda last: last["ball"].position[axis])


def test_the_slowest_throw_that_hits(monkeypatch):
    """Least v^2 with x(T) = X, z(T) >= Z: v = (X/T, Z/T + gT/2), multipliers 2v/T."""
    T, X, Z = 0.8, 3.0, 0.5
    runs = []
    steps = Stretch.steps
    monkeypatch.setattr(Stretch, "steps", lambda *a: runs.append(1) or steps(*a))
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
    assert len(runs) == best.evaluations  # both constraints are of one run


def damped():
    system, mass = with_point("mass", mass=2.0, position=(1.5, 0, 0))
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
    system, mass = with_point("ball", gravity=(0, 0, -9.81), mass=2.0, position=(0, 0, -1))
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


def pressed():
    """A rigid link upright on a spring hinge, under a load P at its end."""
    system, link, hinge = hinged(
        "link", "hinge", gravity=(0, 0, 0), inertia=(0.1, 0.1, 0.01), position=(0, 0, 0.4)
    )
    system.add(mbd.RotationalSpring("spring", hinge, stiffness=30.0, damping=0.2))
    system.add(mbd.PointForce("push", link, (0, 0, -4.0), at=(0, 0, 0.8)))
    return system


FREQUENCY = mbd.Objective(of=mbd.modes, terminal=lambda modes: modes.frequency[0])
CRITICAL = mbd.Objective(of=mbd.buckling, terminal=lambda critical: critical.factors[0])


@pytest.mark.parametrize(("least", "load"), [(2.0, 3.0), (0.5, 30.0)])
def test_the_softest_spring_that_neither_swings_slowly_nor_gives_way(least, load):
    """J w^2 = k - P L and f = k/(P L): one of both limits decides."""
    best = mbd.optimize(
        lambda p: p["spring.stiffness"], pressed(), ["spring.stiffness"],
        constraints={"frequency": (FREQUENCY, least, None), "load": (CRITICAL, load, None)},
    )  # fmt: skip
    J, PL, c = 0.1 + 0.4**2, 4.0 * 0.8, 0.2
    swings = PL + J * (2 * np.pi * least) ** 2 + c**2 / (4 * J)
    assert best.success, best
    assert best["spring.stiffness"] == pytest.approx(max(swings, load * PL), rel=1e-6)
    assert list(best.active) == ["frequency" if swings > load * PL else "load"]


def test_the_spring_that_answers_most():
    """|1/(k - P L - J w^2 + i w c)| is largest in resonance; its square may be an objective."""

    def response(model):
        return mbd.linearize(model, inputs=["hinge"], outputs=["hinge.angle"])

    least = mbd.Objective(
        of=response, terminal=lambda x: -(x.frequency_response([1.5]).magnitude[0, 0, 0] ** 2)
    )
    best = mbd.optimize(
        least, pressed(), ["spring.stiffness"], bounds={"spring.stiffness": (5, 60)}
    )
    assert best.success, best
    J, w = 0.1 + 0.4**2, 2 * np.pi * 1.5
    assert best["spring.stiffness"] == pytest.approx(4.0 * 0.8 + J * w**2, rel=1e-5)
    both = mbd.gradient(FREQUENCY, pressed(), ["spring.stiffness", "push.force.z"])
    assert both["push.force.z"] == pytest.approx(0.8 * both["spring.stiffness"], rel=1e-8)


@pytest.mark.parametrize(("of", "term", "message"), [
    (mbd.modes, lambda x: x.shapes[0, 0], "'shapes' of Modes has no derivative; there are eig"),
    (mbd.modes, lambda x: x.frequency, "one number, got shape"),
    (mbd.modes, lambda x: x.frequency[0] * np.nan, "must be finite"),
    (lambda model: 3.0, lambda x: x, "must return an Equilibrium, Modes"),
    (lambda model: model.nothing, lambda x: x, "of raised AttributeError"),
])  # fmt: skip
def test_what_is_no_number_of_a_result(of, term, message):
    objective = mbd.Objective(of=of, terminal=term)
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        mbd.gradient(objective, pressed(), ["spring.stiffness"])


def test_a_repeated_frequency_has_no_gradient():
    system, ball = with_point("ball")
    for i, axis in enumerate(np.eye(3)):
        system.add(mbd.Spring(f"k{i}", system.ground, ball, at=5 * axis, to=(0, 0, 0),
                              stiffness=4.0, length=5.0))  # fmt: skip
    with pytest.raises(ValueError, match="those of a repeated eigenvalue are a set"):
        mbd.gradient(FREQUENCY, system, ["ball.mass", "k0.stiffness"])
