"""Derivatives near kinks: those of the side on which the state is, or a refusal by name."""

from contextlib import suppress

import numpy as np
import pytest
from families import some, spread
from scenes import hinged, with_body, with_point

import mbd
from mbd.derivatives.differences import (
    BACKWARD,
    CENTRAL,
    FORWARD,
    KinkError,
    differentiated,
    slope,
)

PLACES = [
    0.0,
    1e-9,
    1e-6,
    1e-4,
    2.4e-4,
    2.5e-4,
    6e-4,
    1.1e-3,
    0.5,
    1.0,
    2.5,
    3.999,
    4.001,
    7.0,
    1e3,
]  # in steps


@pytest.mark.parametrize("place", [s * x for x in PLACES for s in (1.0, -1.0)])
@pytest.mark.parametrize("kink", ["corner", "bend", "jump"])
def test_a_function_with_a_kink_at_any_distance(kink, place):
    """Nearer than the nearest value it cannot be seen which side counts: never in silence."""
    step = 1e-2
    at = place * step
    shapes = {
        "corner": (lambda x: max(x - at, 0.0), lambda x: float(x > at)),
        "bend": (lambda x: max(x - at, 0.0) ** 2, lambda x: 2 * max(x - at, 0.0)),
        "jump": (lambda x: 0.1 * (x > at), lambda x: 0.0),
    }
    f, df = shapes[kink]
    expected = np.cos(0.0) + df(0.0)
    try:
        found = slope(lambda x: np.sin(x) + f(x), step)
    except KinkError:
        assert abs(place) < 1e-3  # closer than the nearest of the values
        return
    assert found == pytest.approx(expected, rel=1e-7, abs=2e-5)


def test_entries_of_an_array_are_differentiated_each_at_its_own_distance():
    """Where one has a kink nearby the others keep their digits; round-off is no kink."""
    rng = np.random.default_rng(58071)
    at = 10.0 ** rng.uniform(-2.9, 1, 40) * rng.choice([-1, 1], 40)

    def f(x):
        return np.exp(x) + np.maximum(x - 1e-2 * at, 0.0)

    found = slope(f, 1e-2)
    assert np.abs(found - (1.0 + (at < 0.0))).max() < 1e-7
    assert np.abs((found - (1.0 + (at < 0.0)))[np.abs(at) > 4]).max() < 1e-13
    far = 1e9  # round-off of values: 1e-7, of their differences 1e-5
    assert slope(lambda x: far + np.sin(x), 1e-2) == pytest.approx(1.0, abs=1e-3)
    assert slope(lambda x: x * 1e-30 * np.array([1.0, -1.0]), 1e-2) == pytest.approx(
        [1e-30, -1e-30]
    )


@pytest.mark.parametrize("of", [CENTRAL, FORWARD, BACKWARD])
def test_differences_to_one_side_are_of_order_eight_too(of):
    def values(share):
        return [np.array([np.exp(0.01 * share * k) for k in of.k])]

    assert differentiated(values, 0.01, of)[0] == pytest.approx(1.0, rel=1e-11)
    powers = np.array(of.k, float)[:, None] ** np.arange(9)
    assert np.abs(np.array(of.high) @ powers - np.eye(9)[1]).max() < 1e-8
    assert np.abs(np.array(of.low) @ powers[:, :7] - np.eye(9)[1][:7]).max() < 1e-9


def pendulum(formulation="so3"):
    system, rod, hinge = hinged(
        "rod", "hinge", axis="y", inertia=(1e-3, 0.08, 0.08), formulation=formulation
    )
    return system, rod, hinge.angle


def stop(upper):
    system, _, angle = pendulum()
    stop = mbd.Stop("part", angle, lower=-9.0, upper=upper, stiffness=300.0, dissipation=0.2)
    system.add(stop)
    return system


def law(length):
    system, rod, _ = pendulum()
    tension = mbd.Expression("200*max(u - part, 0)", part=mbd.Parameter("part", length))
    system.add(mbd.Spring("spring", system.ground, rod, at=(0, 0, 1), to=(1, 0, 0), law=tension))
    return system


def function(length):
    system, rod, _ = pendulum()
    tension = mbd.Function(
        lambda u, rate, t, part: 200 * max(u - part, 0.0), part=mbd.Parameter("part", length)
    )
    system.add(mbd.Spring("spring", system.ground, rod, at=(0, 0, 1), to=(1, 0, 0), law=tension))
    return system


def cable(length):
    """A rope from a point above to the end of the rod, which pulls it up when it falls."""
    system, rod, _ = pendulum()
    tip = rod.frame((0.5, 0, 0))
    system.add(
        mbd.Cable("part", [(0, 0, 1), (1, 0, 0)], stiffness=300.0, mass=0.1, elements=2,
                  length=length, first=system.ground, last=tip)
    )  # fmt: skip
    return system


def steps(end):
    """A rod on a drive whose law ends within the run."""
    system, _, angle = pendulum()
    law = mbd.SmoothStep(0.0, 0.5, 0.0, mbd.Parameter("part", end))
    system.add(mbd.Drive("drive", angle, position=law))
    return system


FAMILIES = {
    "stop": (stop, "part.upper", [0.3, 0.55, 0.8, 1.05, 1.3]),
    "law": (law, "part", [1.45, 1.55, 1.65, 1.75]),
    "function": (function, "part", [1.55, 1.75]),
    "slack cable": (cable, "part.length", [1.43, 1.5, 1.6]),
    "end of a motion": (steps, "part", [0.21, 0.4, 0.61]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_that_move_a_kink(family):
    """Against differences of runs, one-sided where both sides differ."""
    make, name, places = FAMILIES[family]
    options = {"t_end": 0.8, "step": 4e-3, "method": mbd.GeneralizedAlpha(tol=1e-12)}

    def angle(value):
        return mbd.simulate(make(value), **options)["hinge"].angle

    for value in places:
        s = mbd.sensitivities(make(value), [name], **options)
        mine = s[name]["hinge"].angle
        e = 1e-6 * value
        here, up, down = angle(value), angle(value + e), angle(value - e)
        sides = np.array([(up - here) / e, (here - down) / e, (up - down) / (2 * e)])
        assert np.abs(sides - mine).min(axis=0).max() < 2e-4 * np.abs(sides).max(), value
        assert np.median(np.abs(sides - mine).min(axis=0)) < 1e-5 * np.abs(sides).max(), value
        g = mbd.gradient(
            mbd.Objective(terminal=lambda last: last["hinge"].angle), make(value), [name], **options
        )
        assert g[name] == pytest.approx(mine[-1], rel=1e-8, abs=1e-10)


@pytest.mark.filterwarnings("ignore:steps of .* too large")
@spread(end=[0.02, 0.1, 0.5], formulation=["directors", "so3"])
def test_drives_that_begin_have_derivatives(formulation, end):
    """From rest, whatever part of the motion a step is: no step is divided, rates follow laws."""
    for step in (0.5e-3, 1e-3, 2e-3):
        turn = mbd.Parameter("turn", 0.7)
        system, _, angle = pendulum(formulation)
        system.add(mbd.Drive("drive", angle, position=mbd.SmoothStep(0.0, turn, 0.0, end)))
        s = mbd.sensitivities(system, ["turn"], 5 * step, step)
        law = mbd.SmoothStep(0.0, 1.0, 0.0, end)
        expected = [law(t)[0] for t in s.solution.t]
        np.testing.assert_allclose(s["turn"]["hinge"].angle, expected, rtol=1e-6, atol=1e-12)
        assert s.solution.stats["divided_steps"] == 0


@pytest.mark.parametrize("where", ["terminal", "running"])
@pytest.mark.parametrize("name", ["dissipated", "work", "impulsive", "balance"])
def test_sums_over_a_run_are_no_terms(name, where):
    """A term sees single instants: it would be zero, and its derivative too."""
    system, _, _ = pendulum()
    objective = mbd.Objective(**{where: lambda x: getattr(x.energy, name)})
    with pytest.raises(RuntimeError, match=f"energy.{name} adds up since the first instant"):
        mbd.gradient(objective, system, ["rod.mass"], 0.1, 1e-2)


@pytest.mark.parametrize("limit", some([0.9999, 0.25, 1.0001, 0.5, 0.75, 1.25], 2))
def test_objectives_with_a_kink(limit):
    """The largest, the absolute value, a penalty beyond a limit: of the side where the run is."""
    system, _, _ = pendulum()
    options = {"t_end": 0.31, "step": 1e-2}
    end = float(mbd.simulate(system, **options)["hinge"].angle[-1]) * limit
    terms = {
        "abs": {"terminal": lambda last: abs(last["hinge"].angle - end)},
        "max": {"terminal": lambda last: max(last["hinge"].angle - end, 0.0)},
        "running": {"running": lambda run: np.maximum(run["hinge"].angle - end, 0.0)},
    }
    name = "rod.inertia.yy"
    for word, term in terms.items():
        objective = mbd.Objective(**term)
        g = mbd.gradient(objective, system, [name], **options)
        model = system.build()

        def J(value, objective=objective, model=model):
            return mbd.gradient(
                objective, model.with_values({name: value}), [name], **options
            ).value

        e = 1e-7
        sides = [(J(0.08 + s * e) - J(0.08)) / (s * e) for s in (1, -1)]
        assert min(abs(g[name] - x) for x in sides) < 1e-6 * max(1.0, *map(abs, sides)), word


@pytest.mark.parametrize("other", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", ["rod.mass", "rod.center_of_mass.x"])
def test_sizes_that_judge_have_no_kinks(name, other):
    """The heaviest body sets what round-off is: where two change places no equation has a kink."""
    system, rod, _ = pendulum()
    system.add(mbd.PointMass("other", mass=other, position=(0.5, 1, 0)))
    system.add(mbd.PointForce("push", rod, lambda t: (0.0, 0.0, 3.0 * np.sin(t))))
    s = mbd.sensitivities(system, [name], 0.05, 5e-3)
    model, e = system.build(), 1e-6
    value = {"rod.mass": 1.0, "rod.center_of_mass.x": 0.0}[name]
    ends = [
        mbd.simulate(model.with_values({name: value + k * e}), 0.05, 5e-3)["hinge"].angle[-1]
        for k in (1, -1)
    ]
    assert s[name]["hinge"].angle[-1] == pytest.approx((ends[0] - ends[1]) / (2 * e), rel=1e-6)


def test_a_kink_at_the_state_itself_is_refused():
    system, _, _ = pendulum()
    end = float(mbd.simulate(system, 0.3, 1e-2)["hinge"].angle[-1])
    objective = mbd.Objective(terminal=lambda last: abs(last["hinge"].angle - end))
    with pytest.raises(ValueError, match=r"Objective: terminal has a kink here.*np.sqrt"):
        mbd.gradient(objective, system, ["rod.mass"], t_end=0.3, step=1e-2)
    p = mbd.Parameter("p", 1.0)
    system, _ = with_point("ball", gravity=(0, 0, -9.81), position=(0, 0, np.maximum(p, 1.0)))
    with pytest.raises(ValueError, match="the description by 'p' has a kink here"):
        mbd.sensitivities(system, ["p"], t_end=0.1, step=1e-2)
    with pytest.raises(ValueError, match="'part.upper' has a kink here"):  # the start leans on it
        mbd.sensitivities(stop(0.0), ["part.upper"], t_end=0.1, step=1e-2)


BODIES = {"disc": (0.05, 0.05, 0.1), "plate": (0.02, 0.07, 0.09), "rod": (1e-4, 0.05, 0.05)}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_bodies_whose_moments_meet_the_triangle_inequality(body, axis):
    """A thin disc admits no larger moment about its axis, and yet has a derivative by it."""

    def spinning(inertia):
        system, _ = with_body("body", inertia=inertia, angular_velocity=(1.0, 0.2, 2))
        return system

    name = f"body.inertia.{'xyz'[axis] * 2}"
    inertia = np.array(BODIES[body])
    options = {"t_end": 0.2, "step": 1e-2, "method": mbd.GeneralizedAlpha(tol=1e-12)}
    s = mbd.sensitivities(spinning(inertia), [name], **options)
    runs: dict[int, np.ndarray] = {}
    for share in (1e-4, 1e-5):
        e = share * inertia[axis] * np.eye(3)[axis]
        for k in (-2, -1, 0, 1, 2):
            with suppress(ValueError):
                runs[k] = mbd.simulate(spinning(inertia + k * e), **options)["body"].rotation
        side = 1 if 2 in runs else -1
        if {0, side, 2 * side} <= set(runs):
            break
    if {-1, 1} <= set(runs):
        quotient = (runs[1] - runs[-1]) / (2 * e.max())
    else:
        quotient = side * (-3 * runs[0] + 4 * runs[side] - runs[2 * side]) / (2 * e.max())
    mine = s[name]["body"].rotation
    assert np.abs(mine - quotient).max() < 1e-5 * max(np.abs(quotient).max(), 1 / inertia[axis])


@pytest.mark.parametrize("formulation", ["so3", "se3", "euler_parameters", "unified"])
def test_round_off_of_what_rests_is_no_kink(formulation):
    """The first velocities of an arm of six are zero whatever its pins, but for round-off."""
    system = mbd.System(gravity=(0, 0, -9.81))
    before, names = system.ground, []
    for i in range(6):
        body = mbd.RigidBody(
            f"bar {i}", mass=1 + 0.1 * i, inertia=(0.01, 0.1, 0.1), position=(i + 0.5, 0, 0),
            formulation=formulation,
        )  # fmt: skip
        system.add(body)
        pin = system.add(mbd.Revolute(f"pin {i}", before, body, at=(i, 0, 0), axis="y"))
        system.add(mbd.JointSpring(f"spring {i}", pin, stiffness=3.0, damping=0.2))
        before, names = body, [*names, f"pin {i}.at.x"]
    end = mbd.Objective(terminal=lambda last: last["bar 5"].position[2])
    s = mbd.sensitivities(system, names, 0.01, 0.002)
    g = mbd.gradient(end, system, names, 0.01, 0.002)
    forwards = [s[name]["bar 5"].position[-1, 2] for name in names]
    assert forwards == pytest.approx(g.array.tolist(), rel=1e-6, abs=1e-12)
