"""Derivatives through events, shorter steps and steps that were chosen."""

import warnings

import numpy as np
import pytest
from scenes import hinged, with_point

import mbd
from mbd.derivatives.restarts import Initialisation
from mbd.derivatives.runs import HeldSteps, Setup

WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
TIGHT = mbd.GeneralizedAlpha(tol=1e-12)
LEVELS = {x: mbd.GeneralizedAlpha(tol=1e-12, constraints=x) for x in ("position", "velocity")}


def differences(system, name, of, run):
    """Return derivatives of results of runs of other values, by differences of order eight."""
    model, total = system.build(), 0.0
    value = VALUES[name]
    e = 2e-3 * abs(value)
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            total += sign * w / e * of(run(model.with_values({name: value + sign * k * e})))
    return total


def close(x, y, tolerance):
    assert np.abs(x - y).max() <= tolerance * np.abs(y).max()


def ball():
    """A ball that is dropped from 0.8 m."""
    system = mbd.System(gravity=(0, 0, -9.81))
    system.add(mbd.PointMass("ball", mass=0.3, position=(0, 0, 0.8), velocity=(0.5, 0, 0)))
    return system


def rebound(restitution):
    """Return the event of a ball on the floor."""

    def change(model, state):
        v = np.array(state.v)
        v[2] *= -restitution
        return state.replace(v=v)

    return mbd.Event("floor", lambda s: s["ball"].position[:, 2], direction=-1, change=change)


def test_instants_and_height_of_a_ball_that_rebounds():
    """t_1 = sqrt(2 H/g), t_2 = t_1 + 2 e u/g with u = sqrt(2 H g), by hand."""
    e, H, g, T = 0.7, 0.8, 9.81, 1.2
    s = mbd.sensitivities(
        ball(), ["gravity.z", "ball.position.z", "ball.mass"], T, 0.01, events=rebound(e)
    )
    t, u = np.sqrt(2 * H / g), np.sqrt(2 * H * g)
    by_g = s["gravity.z"]  # g = -gravity.z
    assert np.allclose([x.t for x in s.solution.events], [t, t * (1 + 2 * e)])
    assert np.allclose(by_g.events["floor"], [t / (2 * g), (1 + 2 * e) * t / (2 * g)], rtol=1e-9)
    by_H = s["ball.position.z"].events["floor"]
    assert np.allclose(by_H, np.array([1, 1 + 2 * e]) / u, rtol=1e-9)
    assert np.allclose(s["ball.mass"].events["floor"], 0.0, atol=1e-12)
    # after both: z = w (T - t_2) - g (T - t_2)^2/2, w = e^2 u, by H
    w, dt = e**2 * u, T - t * (1 + 2 * e)
    exact = e**2 * g / u * dt - (w - g * dt) * by_H[1]
    assert s["ball.position.z"]["ball"].position[-1, 2] == pytest.approx(exact, rel=1e-8)
    end = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    back = mbd.gradient(end, ball(), list(s), T, 0.01, events=rebound(e))
    assert back["ball.position.z"] == pytest.approx(exact, rel=1e-8)


VALUES = {"rod.mass": 1.3, "hinge.at.x": 0.02}


def pendulum():
    """A rod on a hinge."""
    system, *_ = hinged(
        "rod", "hinge", at=(0.02, 0, 0), mass=1.3, inertia=(0.1, 0.2, 0.2),
        center_of_mass=(0.05, 0, 0),
    )  # fmt: skip
    return system


EVENTS = {
    "wall": mbd.Event(
        "wall", lambda s: s["rod"].position[:, 0] - 0.2, direction=-1,
        change=lambda model, state: state.replace(v=-0.8 * state.v),
    ),
    "look": mbd.Event("look", lambda s: s["rod"].position[:, 0] - 0.3),
    "kick": mbd.Event(
        "kick", lambda s: s.t - 0.165, change=lambda model, state: state.replace(
            v=state.v + 0.05 * state.a)
    ),
    "stop": mbd.Event("stop", lambda s: s["rod"].velocity[:, 0] + 0.8, terminal=True),
    "loose": mbd.Event("loose", lambda s: s["rod"].position[:, 0] - 0.35, release="hinge"),
}  # fmt: skip


def running(run):
    """Return a term of the instants, of time too."""
    return run["rod"].velocity[:, 0] ** 2 * (1 + run.t) + 1e-3 * run["hinge"].force[:, 2]


OBJECTIVE = mbd.Objective(
    terminal=lambda last: last["rod"].position[2] + last["hinge"].angle ** 2 + 0.1 * last.t,
    running=running,
)


def forwards(s, name):
    """Return the derivative of OBJECTIVE, put together from those of results."""
    run, z = s.solution, s[name]
    t, rod = run.t, z["rod"]
    change = 2 * run["rod"].velocity[:, 0] * rod.velocity[:, 0] * (1 + t)
    change += run["rod"].velocity[:, 0] ** 2 * z.t + 1e-3 * z["hinge"].force[:, 2]
    j = running(run)
    end = rod.position[-1, 2] + 2 * run["hinge"].angle[-1] * z["hinge"].angle[-1] + 0.1 * z.t[-1]
    moved = np.sum(np.diff(z.t) * (j[:-1] + j[1:]) / 2)
    return end + np.trapezoid(change, t) + moved


# of each level of rows, each kind of event, and of steps that do not divide the time
RUNS = [
    ("position", ("wall", "look"), 1.1, 0.02),
    pytest.param("velocity", ("kick", "look", "wall"), 0.95, 0.03, marks=pytest.mark.slow),
    ("position", ("kick", "stop"), 0.9, 0.03),
    pytest.param("position", ("loose",), 0.5, 0.02, marks=pytest.mark.slow),
    ("velocity", (), 0.1, 0.03),
    ("position", (), 0.007, 0.01),
]


@pytest.mark.parametrize(("level", "names", "t_end", "step"), RUNS)
def test_runs_with_events(level, names, t_end, step):
    """Instants, what was recorded there, and after."""
    events, method = [EVENTS[x] for x in names], LEVELS[level]
    options = {"t_end": t_end, "step": step, "method": method, "events": events}
    s = mbd.sensitivities(pendulum(), list(VALUES), **options)
    assert {x.name for x in s.solution.events} == set(names)

    def of(run):
        x = run["rod"]
        return np.hstack([x.position, x.velocity, np.reshape(run.t, (-1, 1))])

    g = mbd.gradient(OBJECTIVE, pendulum(), list(VALUES), **options)
    for name, value in VALUES.items():
        runs = []

        def run(model, runs=runs):
            runs.append(mbd.simulate(model, **options))
            return runs[-1]

        close(of(s[name]), differences(pendulum(), name, of, run), 1e-8)
        # after one step round-off of rows by parameters, over the step, is 4e-9 of a force
        assert g[name] == pytest.approx(forwards(s, name), rel=1e-8 if t_end < step else 1e-9)
        for event in names:
            times = {1: [], -1: []}
            for i, other in enumerate(runs[:2]):
                times[(1, -1)[i]] = [x.t for x in other.events if x.name == event]
            slope = np.subtract(times[1], times[-1]) / (4e-3 * abs(value))
            assert np.allclose(s[name].events[event], slope, rtol=1e-3, atol=1e-7)


def test_steps_that_were_chosen_are_held():
    """The derivative is that of the sequence of steps that the run chose."""
    method = LEVELS["velocity"]
    s = mbd.sensitivities(pendulum(), list(VALUES), 0.5, rtol=1e-4)
    sizes = np.diff(s.solution.t)
    assert sizes.max() > 1.5 * sizes.min()
    chosen = mbd.simulate(pendulum(), 0.5, rtol=1e-4, method=method)
    assert np.allclose(s.solution["rod"].position, chosen["rod"].position, atol=1e-4)

    def of(run):
        return np.hstack([run["rod"].position, run["rod"].velocity])

    def run(model):
        of = Setup("run", model, method, Initialisation(method), [], [])
        return HeldSteps(of, sizes, 0.5, {}, chosen=True).run()[0]

    for name in VALUES:
        close(of(s[name]), differences(pendulum(), name, of, run), 1e-9)
    g = mbd.gradient(OBJECTIVE, pendulum(), list(VALUES), 0.5, rtol=1e-4)
    for name in VALUES:
        assert g[name] == pytest.approx(forwards(s, name), rel=1e-10)


def test_a_rounded_start_is_mended_and_differentiated_so():
    """As ``simulate`` does without a word, with one warning."""
    system, point = with_point("m", position=(1.0001, 0, 0), velocity=(0, 2.0, 0))
    system.add(mbd.Distance("rod", system.ground, point, at=(0, 0, 0), length=1.0))
    with pytest.warns(RuntimeWarning, match="violate constraints a little") as told:
        mended = mbd.sensitivities(system, ["rod.length"], 0.1, 0.01, method=TIGHT)["rod.length"]
    assert len(told) == 1
    said = mbd.sensitivities(system, ["rod.length"], 0.1, 0.01, method=TIGHT, project=True)
    assert np.array_equal(mended["m"].position, said["rod.length"]["m"].position)
    with pytest.raises(ValueError, match="violate constraints"):
        mbd.sensitivities(system, ["rod.length"], 0.1, 0.01, project=False)


def test_events_without_a_derivative():
    """A function that touches zero, and two events at one instant."""

    def flat(s):
        z = s["ball"].position[:, 2]
        return np.where(np.abs(z) < 0.05, 1e-9 * z, z)

    touch = mbd.Event("touch", flat, terminal=True)
    with pytest.raises(ValueError, match="touch at t = .* only touches zero"):
        mbd.sensitivities(ball(), ["gravity.z"], 1.0, 0.01, events=touch)
    end = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    with pytest.raises(ValueError, match="gradient: touch at t = .* only touches zero"):
        mbd.gradient(end, ball(), ["gravity.z"], 1.0, 0.01, events=touch)
    floor = rebound(0.5)
    other = mbd.Event("other", lambda s: 2 * s["ball"].position[:, 2], direction=-1,
                      change=lambda model, state: state)  # fmt: skip
    with pytest.raises(ValueError, match="floor and other happen at one instant"):
        mbd.sensitivities(ball(), ["gravity.z"], 1.0, 0.01, events=[floor, other])


def test_angles_at_the_end_count_their_turns():
    """A wheel that turns more than once."""
    system, *_ = hinged(
        "wheel", "axle", axis=(0, 0, 1), gravity=(0, 0, 0), inertia=(1, 1, 1),
        angular_velocity=(0, 0, 9.0), position=(0, 0, 0),
    )  # fmt: skip
    angle = mbd.Objective(terminal=lambda last: last["axle"].angle ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = mbd.gradient(angle, system, ["wheel.angular_velocity.z"], 1.0, 0.01)
    assert g.value == pytest.approx(81.0)
    assert g["wheel.angular_velocity.z"] == pytest.approx(18.0)


def test_a_stiff_beam_restarts_as_the_run_did():
    """Near the run, forces off the slow motion are large: smooth is what the run was told."""
    EI = mbd.Parameter("EI", 20.0)
    system = mbd.System(gravity=(0, 0, -9.81))
    section = mbd.Section(
        stiffness=(1e4, 5e3, 5e3, 20.0, EI, 20.0), mass=0.5, inertia=(2e-4, 1e-4, 1e-4)
    )
    points = [(0, 0, 0), (1, 0, 0)]
    system.add(mbd.Beam("rod", points=points, section=section, elements=2, first=system.ground))
    s = mbd.sensitivities(system, None, 0.03, 0.004, method=TIGHT)  # the last step is shorter
    total = 0.0
    for k, w in WEIGHTS.items():
        for sign in (1, -1):
            other = system.build().with_values({"EI": 20.0 + sign * k * 0.05})
            run = mbd.simulate(other, 0.03, 0.004, method=TIGHT)
            total += sign * w / 0.05 * run["rod.1"].velocity
    close(s["EI"]["rod.1"].velocity, total, 1e-6)
    end = mbd.Objective(terminal=lambda last: last["rod.1"].velocity[2])
    g = mbd.gradient(end, system, None, 0.03, 0.004, method=TIGHT)
    assert g["EI"] == pytest.approx(s["EI"]["rod.1"].velocity[-1, 2], rel=1e-8)


@pytest.mark.parametrize("step", [1e-9, 1e-5, 1e-2])
def test_a_shorter_last_step_of_any_size(step):
    """A falling ball, 3.5 steps: its height is g t^2/2, whatever the unit of time."""
    system, _ = with_point("ball", gravity=(0, 0, -9.81))
    t_end = 3.5 * step
    s = mbd.sensitivities(system, ["gravity.z"], t_end, step)
    height = mbd.Objective(terminal=lambda last: last["ball"].position[2])
    g = mbd.gradient(height, system, ["gravity.z"], t_end, step)
    exact = t_end**2 / 2
    assert s["gravity.z"]["ball"].position[-1, 2] == pytest.approx(exact, rel=1e-9, abs=0)
    assert g["gravity.z"] == pytest.approx(exact, rel=1e-9, abs=0)
