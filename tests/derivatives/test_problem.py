"""Problems: controls against differences of runs, parameters against gradients, what is counted."""

import numpy as np
import pytest
from scenes import with_body, with_point

import mbd
from mbd.runs.stretch import Stretch
from tests.hard.test_inputs import lattice

T, STEP, N = 0.3, 0.01, 5
TIMES = np.linspace(0.0, T, N)
VALUES = 3.0 * np.sin(1.0 + 2.0 * np.arange(N))
TIP = mbd.sum_of_squares(["tip.position", "tip.velocity"], 0.3, 0.5)
OBJECTIVE = mbd.Objective(terminal=TIP, running="elbow.angle")
LEVELS = {x: mbd.GeneralizedAlpha(tol=1e-11, constraints=x) for x in ("position", "velocity")}


def arm(between, *, formulation="so3", loop=False):
    """Return an arm of two bars with a motor, a push and a drive, each by a control."""
    control = mbd.Interpolated(TIMES, VALUES, between)
    system = mbd.System(gravity=(0, 0, -9.81))
    bars = [
        system.add(mbd.RigidBody(name, mass=1.0, inertia=(0.01, 0.1, 0.1), position=(x, 0, 0),
                                 formulation=formulation))
        for name, x in (("upper", 0.5), ("tip", 1.5))
    ]  # fmt: skip
    shoulder = system.add(mbd.Revolute("shoulder", system.ground, bars[0], at=(0, 0, 0), axis="y"))
    elbow = system.add(mbd.Revolute("elbow", *bars, at=(1, 0, 0), axis="y"))
    system.add(mbd.Motor("motor", shoulder, control))
    system.add(mbd.PointForce("push", bars[1], (0.0, 0.0, control), at=(2, 0, 0)))
    if loop:
        slider = system.add(mbd.RigidBody("slider", mass=0.5, inertia=(0.1, 0.1, 0.1),
                                          position=(2, 0, 0)))  # fmt: skip
        system.add(mbd.Revolute("pin", bars[1], slider, at=(2, 0, 0), axis="y"))
        system.add(mbd.Prismatic("rail", system.ground, slider, at=(2, 0, 0), axis="x"))
    else:
        system.add(mbd.JointSpring("spring", elbow, stiffness=3.0, damping=0.2))
    return system


def difference(problem, x, j, size=1e-2):
    """Return the derivative of a value by a number, of order four."""
    unit = np.eye(len(x))[j]
    near, far = (problem(x + k * size * unit)[0] - problem(x - k * size * unit)[0] for k in (1, 2))
    return (8 * near - far) / (12 * size)


CASES = [
    ("hold", "position", {}),
    ("line", "velocity", {}),
    ("spline", "position", {"formulation": "directors"}),
    ("line", "position", {"loop": True}),  # its rows depend on each other
]


@pytest.mark.parametrize(("between", "level", "of"), CASES)
def test_controls_against_differences_and_parameters_against_gradients(between, level, of):
    system = arm(between, **of)
    names = ["upper.mass", "motor.effort", "push.force.z"]
    problem = mbd.Problem(system, names, OBJECTIVE, T, STEP, method=LEVELS[level])
    x = problem.start
    value, slopes = problem(x)
    size = np.abs(slopes).max()
    for j in (1, 2, 4, N, N + 1, N + 3):
        assert slopes[j] == pytest.approx(difference(problem, x, j), abs=1e-7 * size)
    g = mbd.gradient(OBJECTIVE, system, names, T, STEP, method=LEVELS[level])
    assert value == pytest.approx(g.value, rel=1e-12)
    assert np.allclose(slopes, g.array, rtol=1e-9, atol=1e-9 * size)
    assert list(g)[:2] == problem.labels[:2] == ["upper.mass", "motor.effort[0]"]
    s = mbd.sensitivities(system, ["upper.mass"], T, STEP, method=LEVELS[level])
    y, dy = s.solution["tip"], s["upper.mass"]["tip"]
    end = np.sum((y.position[-1] - 0.3) * dy.position[-1])
    end += np.sum((y.velocity[-1] - 0.3) * dy.velocity[-1])
    forwards = end + np.trapezoid(s["upper.mass"]["elbow"].angle, s.solution.t)
    assert slopes[0] == pytest.approx(forwards, rel=1e-8)


def beam(system):
    """Return the joint of a clamped beam with the tip."""
    steel = mbd.Section.rectangle(0.03, 0.02, young=2e9, poisson=0.3, density=7800.0)
    rod = mbd.Beam("rod", [(0, 0, 0), (1, 0, 0)], section=steel, elements=2)
    system.add(rod)
    system.add(mbd.Fixed("clamp", system.ground, rod.first, at=(0, 0, 0)))
    return mbd.Fixed("weld", rod.last, system["tip"], at=(1, 0, 0))


def flexible(system):
    """Return the joint of a bar of finite elements with the tip."""
    bar = system.add(mbd.FlexibleBody("bar", **lattice()))
    return mbd.Spherical("pin", bar.interface("left"), system["tip"])


@pytest.mark.parametrize("make", [beam, flexible])
def test_bodies_that_bend_by_controls_and_parameters(make):
    system = mbd.System(gravity=(0, 0, -9.81))
    tip = mbd.RigidBody("tip", mass=1.0, inertia=(0.01, 0.02, 0.02), position=(1, 0, 0))
    tip = system.add(tip)
    system.add(make(system))
    push = mbd.Interpolated(TIMES, VALUES, "line")
    system.add(mbd.PointForce("push", tip, (0.0, 0.0, push)))
    objective = mbd.Objective(terminal=TIP, running="tip.position.z")
    problem = mbd.Problem(system, ["tip.mass", "push.force.z"], objective, 0.1, STEP)
    x = problem.start * 1.1
    _, slopes = problem(x)
    size = np.abs(slopes).max()
    for j in (0, 1, 2):
        assert slopes[j] == pytest.approx(difference(problem, x, j), abs=1e-7 * size)


def driven(between):
    """Return a bar whose speed follows a control."""
    system = mbd.System()
    bar = system.add(mbd.RigidBody("tip", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0)))
    elbow = system.add(mbd.Revolute("elbow", system.ground, bar, at=(0, 0, 0), axis="y"))
    speeds = np.append(0.0, VALUES[1:])
    system.add(mbd.Drive("drive", elbow, velocity=mbd.Interpolated(TIMES, speeds, between)))
    return system


@pytest.mark.parametrize(("between", "level"), [("line", "position"), ("spline", "velocity")])
def test_speeds_of_drives_are_controls(between, level):
    terminal = lambda last: last["tip"].position[2] + 0.1 * last["elbow"].angle ** 2  # noqa: E731
    problem = mbd.Problem(
        driven(between), "drive.velocity", mbd.Objective(terminal=terminal), T, STEP,
        method=LEVELS[level], project=True,
    )  # fmt: skip
    slopes = problem(problem.start)[1]
    for j in range(N):
        there = difference(problem, problem.start, j)
        assert slopes[j] == pytest.approx(there, abs=1e-7 * np.abs(slopes).max())


def test_events_are_differentiated_with_controls():
    system, ball = with_point("ball", gravity=(0, 0, -9.81), position=(0, 0, 0.3))
    force = mbd.Interpolated(TIMES, VALUES, "line")
    system.add(mbd.PointForce("push", ball, (force, 0.0, force)))
    wall = mbd.Event(
        "wall", lambda run: run["ball"].position[:, 2], direction=-1,
        change=lambda model, state: state.replace(v=-0.5 * state.v),
    )  # fmt: skip
    objective = mbd.Objective(terminal=mbd.sum_of_squares("ball.position", (1.0, 0.0, 0.5)))
    names = ["push.force.x", "push.force.z"]
    problem = mbd.Problem(system, names, objective, T, STEP, events=[wall])
    assert [x.name for x in problem.solution(problem.start).events] == ["wall"]
    slopes = problem(problem.start)[1]
    for j in range(2 * N):
        there = difference(problem, problem.start, j)
        assert slopes[j] == pytest.approx(there, abs=1e-7 * np.abs(slopes).max())


def test_the_cost_does_not_follow_the_number_of_controls(monkeypatch):
    """One run, and one factorisation a step back, with tables that stay."""
    stretches, steps = [], Stretch.steps
    monkeypatch.setattr(Stretch, "steps", lambda *a: stretches.append(a[0]) or steps(*a))
    terminal = mbd.Objective(terminal="tip.position.x")
    taken = []
    for n in (1, 500):
        system = arm("hold")
        force = mbd.Interpolated(np.linspace(0, T, n + 1)[:-1], 1.0)
        problem = mbd.Problem(
            system.build().with_values({"push.force": (0.0, 0.0, force)}), ["push.force.z"],
            terminal, T, STEP,
        )  # fmt: skip
        problem(problem.start)
        stretches.clear()
        values = [problem(problem.start + k)[0] for k in range(3)]
        assert len(stretches) == 3
        assert len(set(map(id, stretches))) == 1
        assert len(set(values)) == 3
        taken.append((stretches[0].stats()["iterations"], problem.stats))
    assert taken[0][1] == taken[1][1]
    assert taken[0][1]["factorizations"] == round(T / STEP) + 3


def test_values_do_not_follow_the_pieces_in_which_steps_are_recorded(monkeypatch):
    x, values = np.sin(np.arange(N)), []
    for floats in (1 << 20, 1):
        monkeypatch.setattr("mbd.runs.record._CHUNK_BYTES", floats)
        problem = mbd.Problem(arm("line"), ["push.force.z"], OBJECTIVE, T, STEP)
        value, slopes = problem(x)
        values.append([value, *slopes])
    assert np.array_equal(*values)


def test_a_solution_is_that_of_simulate_and_the_user_s_model_stays():
    model = arm("line").build()
    before = mbd.simulate(model, T, STEP).q
    problem = mbd.Problem(model, ["motor.effort"], OBJECTIVE, T, STEP)
    x = 2.0 * problem.start
    value = problem(x)[0]
    run = problem.solution(x)
    again = mbd.simulate(problem.model(x), T, STEP, method=mbd.GeneralizedAlpha(tol=1e-11))
    assert np.array_equal(run.q, again.q)
    y = np.hstack([run["tip"].position[-1], run["tip"].velocity[-1]])
    whole = 0.5 * np.sum((y - 0.3) ** 2) + np.trapezoid(run["elbow"].angle, run.t)
    assert value == pytest.approx(whole, rel=1e-12)
    assert np.array_equal(mbd.simulate(model, T, STEP).q, before)


@pytest.mark.parametrize("between", ["hold", "line", "spline"])
def test_tables_of_time_have_the_numbers_of_functions(between):
    """Compiled and Python: values of the time before, up to and with a time, however rounded."""
    function = mbd.Interpolated([0.1, 0.2, 0.3], [1.0, 4.0, 2.0], between)
    assert function(0.0) == function(0.1) == 1.0
    assert function(0.1 + 0.2) == (4.0 if between == "hold" else pytest.approx(2.0))
    t = np.linspace(0.0, 0.4, 57)
    which, factors = function.rows(t)
    values = np.array([function(x) for x in t])
    assert np.allclose((factors * function.values[which]).sum(axis=1), values, rtol=1e-14)
    if between == "spline":  # a parabola through three neighbours is met
        x = np.linspace(0, 1, 6)
        parabola = mbd.Interpolated(x, x**2, "spline")
        assert parabola(0.5) == pytest.approx(0.25, rel=1e-14)
    model = arm(between).build()
    law = mbd.Interpolated(TIMES, VALUES, between)
    runs = [
        mbd.simulate(model.with_values({"push.force": force}), T, STEP).q
        for force in ((0.0, 0.0, law), lambda t: (0.0, 0.0, law(t)))
    ]
    assert np.allclose(*runs, rtol=1e-13, atol=1e-13)


def test_an_optimum_of_controls_is_a_model_like_any():
    """The least effort that moves a mass by one within one second: a line through 6 to -6."""
    system, cart = with_point("cart")
    t = np.linspace(0.0, 1.0, 21)
    force = mbd.Interpolated(t, 1.0, between="line")
    system.add(mbd.PointForce("push", cart, (force, 0.0, 0.0)))
    there = {
        "there": (mbd.Objective(terminal="cart.position.x"), 1.0, 1.0),
        "at rest": (mbd.Objective(terminal="cart.velocity.x"), 0.0, 0.0),
    }

    def effort(p):
        u = p["push.force.x"]
        return float(np.sum(u[1:] ** 2 + u[1:] * u[:-1] + u[:-1] ** 2)) / 60

    best = mbd.optimize(effort, system, ["push.force.x"], 1.0, 0.01, constraints=there)
    assert best.success, best
    assert best.value == pytest.approx(12.0, rel=1e-3)
    assert np.allclose(best["push.force.x"], 6.0 - 12.0 * t, atol=0.15)
    run = mbd.simulate(best.model, 1.0, 0.01)
    assert run["cart"].position[-1, 0] == pytest.approx(1.0, abs=1e-8)
    assert "21 values" in repr(best)


def hinge():
    """Return a joint."""
    system, body = with_body("body", inertia=(1, 1, 1))
    return mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis="y")


WRONG = [
    (lambda: mbd.Interpolated([0, 1, 1], 1.0), ValueError, "times must increase"),
    (lambda: mbd.Interpolated([], 1.0), ValueError, "n at least 1"),
    (lambda: mbd.Interpolated([0, 1], [1.0, 2.0, 3.0]), ValueError, "values must be"),
    (lambda: mbd.Interpolated([0, 1], 1.0, "step"), ValueError, "between must be"),
    (lambda: mbd.Problem(arm("hold"), "motor.efort", OBJECTIVE, T, STEP), ValueError, "effort"),
    (lambda: mbd.Problem(arm("hold"), [], OBJECTIVE, T, STEP), TypeError, "names in a list"),
    (lambda: mbd.Problem(arm("hold"), "motor.effort", 3, T, STEP), TypeError, "mbd.Objective"),
    (lambda: mbd.Problem(arm("hold"), "motor.effort", OBJECTIVE, T, STEP)([1.0]), ValueError,
     "5 finite numbers"),
    (lambda: mbd.Problem(arm("hold"), "motor.effort", OBJECTIVE, T, STEP)([np.nan] * 5),
     ValueError, "5 finite numbers"),
    (lambda: mbd.sensitivities(arm("hold"), ["motor.effort"], T, STEP), ValueError,
     "take the gradient"),
    (lambda: mbd.Drive("jump", hinge(), position=mbd.Interpolated([0.0], 1.0)), ValueError,
     "velocities that jump"),
    (lambda: mbd.gradient(mbd.Objective(terminal="tip.position"), arm("hold"), ["upper.mass"], T,
                          STEP), ValueError, "name a component"),
    (lambda: mbd.gradient(mbd.Objective(terminal="tip.acceleration.x"), arm("hold"),
                          ["upper.mass"], T, STEP), ValueError, "depends on accelerations"),
    (lambda: mbd.sum_of_squares("tip.position", weight=-1.0), ValueError, "not below zero"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_what_cannot_be_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_run_that_fails_raises_with_what_it_has():
    problem = mbd.Problem(arm("hold"), ["push.force.z"], OBJECTIVE, T, STEP)
    with pytest.raises((RuntimeError, ValueError)) as caught:
        problem(np.full(N, 1e9))
    assert len(caught.value.solution.t) < round(T / STEP) + 1
    value = problem(problem.start)[0]
    assert value == mbd.Problem(arm("hold"), ["push.force.z"], OBJECTIVE, T, STEP)(VALUES)[0]
