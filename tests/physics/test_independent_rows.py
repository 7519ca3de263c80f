"""Rows that depend on others: families with a parameter, and what holds for all its values."""

import numpy as np
import pytest
from scenes import four_bar, parallelograms

import mbd
from mbd.model import independent_rows, least_multipliers

from .tools import RIGID

LEVELS = ("position", "velocity", "stabilized")
METHODS = [
    *(mbd.GeneralizedAlpha(constraints=x) for x in LEVELS), mbd.RadauCollocation(),
    mbd.ExplicitRungeKutta(),
]  # fmt: skip


def angle(n, lean, speed, t):
    """Return the angle of equal rods without couplers' mass by an accurate solution."""
    from scipy.integrate import solve_ivp

    inertia = (n + 1) * (0.1 + 0.25)
    load = (n + 1) * 0.5 * 9.81
    right = lambda _, y: [y[1], load / inertia * np.sin(y[0])]  # noqa: E731
    return solve_ivp(right, (0, t), [lean, speed], rtol=1e-12, atol=1e-12).y[0, -1]


def test_mass_has_no_say_in_which_rows_are_independent():
    """A coupler of 1e-14 to 1e14 kg between bars of 1 kg."""
    spent = []
    for mass in 10.0 ** np.arange(-14, 15, 4):
        run = mbd.simulate(parallelograms(mass=mass), 0.5, 1e-3)
        spent.append(run.stats["iterations"])
        assert run.gap.max() < 1e-12
        assert run.stats["divided_steps"] == run.stats["pivoting_steps"] == 0
        assert run.stats["factorizations"] < 200
    assert max(spent) < 1.25 * min(spent)


@pytest.mark.parametrize("length", [1.0, 1e-2, 1e-5])
def test_short_levers_run(length):
    run = mbd.simulate(parallelograms(length=length), 0.02 * np.sqrt(length), 1e-5)
    assert run.gap.max() < 1e-13
    assert run.stats["divided_steps"] == 0


@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_joints_that_are_there_many_times_are_there_once(times):
    """And each of them carries its share."""
    system = parallelograms()
    bar, ground = system["bar 0"], system.ground
    for k in range(1, times):
        system.add(mbd.Revolute(f"again {k}", ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    run, once = mbd.simulate(system, 0.5, 1e-3), mbd.simulate(parallelograms(), 0.5, 1e-3)
    assert np.allclose(run.q, once.q, rtol=0, atol=1e-12)
    assert run.stats["iterations"] <= 1.05 * once.stats["iterations"]
    share = [run[name].force for name in ("foot 0", *(f"again {k}" for k in range(1, times)))]
    assert np.allclose(share, share[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("corners", [4, 6, 12])
def test_a_box_on_many_corners_stands_and_loads_them_alike(corners):
    system = mbd.System(gravity=(0, 0, -9.81))
    box = system.add(mbd.RigidBody("box", mass=3.0, inertia=(1, 1, 1), position=(0, 0, 1)))
    for i in range(corners):
        turn = 2 * np.pi * i / corners
        at = np.array([np.cos(turn), np.sin(turn), 0])
        system.add(mbd.PointInPlane(f"corner {i}", system.ground, box, at=at, axis=(0, 0, 1)))
    run = mbd.simulate(system, 0.1, 1e-3)
    assert run.stats["factorizations"] <= 3
    force = np.array([run[f"corner {i}"].force[:, 2] for i in range(corners)])
    assert np.allclose(force, 3.0 * 9.81 / corners, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_flat_poses_are_passed(n, step):
    """Bars and couplers come into line, where the rank is lower."""
    system = parallelograms(n, mass=1e-6, lean=1.2, speed=2.0)
    run = mbd.simulate(system, 0.5, step)
    turned = [angle(n, 1.2, 2.0, t) for t in (0.0, 0.5)]
    assert turned[0] < np.pi / 2 < turned[1]
    where = run["bar 0"].rotation[-1] @ (0, 0, 1)
    exact = (np.sin(turned[1]) * np.cos(1.2) - np.cos(turned[1]) * np.sin(1.2), 0,
             np.cos(turned[1]) * np.cos(1.2) + np.sin(turned[1]) * np.sin(1.2))  # fmt: skip
    assert np.allclose(where, exact, rtol=0, atol=20 * step**2 + 1e-5)
    assert run.stats["divided_steps"] == 0


@pytest.mark.parametrize("n", [1, 3])
def test_flat_poses_are_left(n):
    """At the start a row more is dropped; the first step opens it, and takes it back."""
    system = parallelograms(n, mass=1e-6, lean=np.pi / 2, speed=1.0)
    run = mbd.simulate(system, 0.3, 1e-3, project=True)
    turned = angle(n, np.pi / 2, 1.0, 0.3)
    where = run["bar 0"].rotation[-1] @ (0, 0, 1)
    exact = (np.sin(turned - np.pi / 2), 0, np.cos(turned - np.pi / 2))
    assert np.allclose(where, exact, rtol=0, atol=1e-4)
    assert run.stats["divided_steps"] == 0


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_what_is_rigid_at_second_order_only_is_refused_by_name(step):
    """Two bars on one line between fixed hinges: under a load forces are without bound."""
    system = mbd.System(gravity=(0, 0, -9.81))
    a, b = (
        system.add(mbd.RigidBody(x, mass=1, inertia=(0.1, 0.1, 0.1), position=(i + 0.5, 0, 0)))
        for i, x in enumerate("ab")
    )
    for i, (x, y) in enumerate(((system.ground, a), (a, b), (b, system.ground))):
        system.add(mbd.Revolute(f"hinge {i}", x, y, at=(i, 0, 0), axis=(0, 1, 0)))
    with pytest.raises(mbd.SimulationError, match=r"'hinge \d.*second order only"):
        mbd.simulate(system, 0.3, step)


def axle(formulation, yaw=0.7):
    """A body on two wheels on one axle: the lateral slip of one repeats that of the other."""
    system = mbd.System(gravity=(0, 0, -9.81))
    turned = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    frame = system.add(
        mbd.RigidBody("frame", mass=4.0, inertia=(0.3, 0.4, 0.5), position=turned @ (0.1, 0, 0.3),
                      rotation=turned, formulation=formulation, velocity=turned @ (1.0, 0, 0))
    )  # fmt: skip
    for k, side in (("left", 0.4), ("right", -0.4)):
        wheel = system.add(
            mbd.RigidBody(k, mass=0.5, inertia=(0.012, 0.022, 0.012), formulation=formulation,
                          position=turned @ (0, side, 0.3), rotation=turned,
                          velocity=turned @ (1.0, 0, 0),
                          angular_velocity=turned @ (0, 1.0 / 0.3, 0))
        )  # fmt: skip
        system.add(
            mbd.Revolute(f"bearing {k}", frame, wheel, at=turned @ (0, side, 0.3),
                         axis=turned @ (0, 1, 0))
        )  # fmt: skip
        system.add(
            mbd.RollingDisc(f"road {k}", system.ground, wheel, radius=0.3,
                            axis=turned @ (0, 1, 0))
        )  # fmt: skip
    return system


def leaving(p):
    """Return a law that leaves t^2 by a cube of time."""
    return lambda t: (t * t + p * t**3, 2 * t + 3 * p * t * t, 2 + 6 * p * t)


@pytest.mark.parametrize(("steps", "method"), [
    *(((1e-2,), x) for x in METHODS), ((), mbd.GeneralizedAlpha(constraints="velocity")),
], ids=str)  # fmt: skip
def test_contradictions_name_all_rows(steps, method):
    """Two drives of one hinge part by a cube of time; the step at which it shows is named."""
    for part in (1.0, 1e-4, 1e-8):
        system = parallelograms()
        hinge = system["foot 0"]
        for name, p in (("one", 0.0), ("two", part)):
            system.add(mbd.Drive(name, hinge.angle, position=leaving(p)))
        with pytest.raises(mbd.SimulationError, match="contradict each other") as told:
            mbd.simulate(
                system, 0.5, *steps, rtol=None if steps else 1e-3, method=method, project=True
            )
        assert "'one.position'" in str(told.value)
        assert "'two.position'" in str(told.value)


def cross(mass):
    """Two shafts, one bent away from the other, on a cross whose hinges are there twice."""
    system = mbd.System(gravity=(0, 0, -9.81))
    ends = np.array([(1.0, 0, 0), (np.cos(0.5), np.sin(0.5), 0)])
    shafts = [
        system.add(mbd.RigidBody(f"shaft {k}", mass=1.0, inertia=(0.1, 0.1, 0.1),
                                 position=(k - 0.5) * end, angular_velocity=5.0 * end))
        for k, end in enumerate(ends)
    ]  # fmt: skip
    system.add(mbd.Revolute("foot", system.ground, shafts[0], at=-ends[0], axis=ends[0]))
    system.add(mbd.Cylindrical("head", system.ground, shafts[1], at=ends[1], axis=ends[1]))
    light = system.add(mbd.RigidBody("cross", mass=mass, inertia=np.full(3, 0.01 * mass)))
    axes = np.array([0, 0, 1.0]), np.cross(ends[1], (0, 0, 1.0))
    for k, (shaft, axis) in enumerate(zip(shafts, axes, strict=True)):
        for side in (-0.1, 0.1):
            system.add(mbd.Revolute(f"hinge {k} {side}", shaft, light, at=side * axis, axis=axis))
    return system


def test_a_step_in_which_a_light_body_is_lost_is_no_contradiction():
    """Where the iteration is thrown off, what is left of rows there is no word against them."""
    turned, spent = [], []
    for mass in (1.0, 1e-6, 1e-12):
        run = mbd.simulate(cross(mass), 0.4, 1e-3, project=True)
        assert run.gap.max() < 1e-13
        turned.append(run["shaft 1"].rotation[-1])
        spent.append(run.stats["iterations"])
    assert max(spent) < 1.25 * min(spent)
    assert np.abs(turned[1] - turned[2]).max() < 1e-5


@pytest.mark.parametrize("formulation", RIGID)
def test_least_reactions_are_those_of_the_joints_alone(formulation):
    """However the bodies are described, and whatever they weigh beside the load."""
    run = mbd.simulate(parallelograms(formulation=formulation), 0.1, 1e-3)
    other = mbd.simulate(parallelograms(), 0.1, 1e-3)
    for name in ("foot 0", "foot 1", "hinge 00", "hinge 01"):
        for what in ("force", "moment"):
            mine, true = (getattr(x[name], what) for x in (run, other))
            assert np.allclose(mine[0], true[0], rtol=0, atol=1e-10), (name, what)
            assert np.allclose(mine, true, rtol=0, atol=1e-3), (name, what)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_rows_are_released_and_locked_again(method):
    """A second hinge that is redundant lets go, and is taken up again."""
    system = parallelograms()
    system.add(mbd.Revolute("again", system.ground, system["bar 0"], at=(0, 0, 0), axis=(0, 1, 0)))
    events = [
        mbd.Event("go", lambda s: s.t - 0.1, release=("again",)),
        mbd.Event("stop", lambda s: s.t - 0.2, lock=("again",)),
    ]
    run = mbd.simulate(system, 0.3, 1e-3, method=method, events=events)
    once = mbd.simulate(parallelograms(), 0.3, 1e-3, method=method)
    assert np.allclose(run.q[-1], once.q[-1], rtol=0, atol=1e-6)
    off, on = (run.t > 0.1005) & (run.t < 0.1995), (run.t < 0.0995) | (run.t > 0.2005)
    assert np.abs(run["again"].force[off]).max() == 0.0
    assert np.allclose(run["again"].force[on], run["foot 0"].force[on], rtol=0, atol=1e-8)
    assert np.linalg.norm(run["again"].force[on], axis=1).min() > 1.0


@pytest.mark.parametrize("formulation", RIGID)
def test_two_wheels_on_one_axle_converge_with_order_two(formulation):
    """At every level: rows of positions come first, and what slip of one repeats is dropped."""
    for level in LEVELS:
        method, ends = mbd.GeneralizedAlpha(constraints=level), []
        for n in (25, 50, 100):
            system = axle(formulation)
            system.add(mbd.PointForce("push", system["frame"], (0, 0.7, 0)))
            run = mbd.simulate(system, 1.0, 1.0 / n, method=method, project=True)
            ends.append(run["frame"].position[-1])
        one, two = (np.abs(a - b).max() for a, b in zip(ends, ends[1:], strict=False))
        assert 1.9 < np.log2(one / two) < 2.1, level
        assert two < 1e-3


@pytest.mark.parametrize("lean", [0.5, 1.2])
def test_many_rows_are_selected_and_shared_as_few_are(lean, monkeypatch):
    """By sparse factors, and by dense ones: the same reactions, whichever rows are dropped."""
    model = parallelograms(4, lean=lean, formulation="directors").build()
    names = (*(f"foot {i}" for i in range(5)), *(f"hinge {i}0" for i in range(4)))
    dense = mbd.simulate(model, 0.02, 1e-3)
    expected = {name: (dense[name].force, dense[name].moment) for name in names}
    for place in (independent_rows, least_multipliers):
        monkeypatch.setattr(place, "DENSE", 0)
    system = parallelograms(4, lean=lean, formulation="directors")
    sparse = mbd.simulate(system, 0.02, 1e-3)
    assert np.allclose(sparse.q, dense.q, rtol=0, atol=1e-11)
    for name, parts in expected.items():
        for part, mine in zip(parts, (sparse[name].force, sparse[name].moment), strict=True):
            assert np.allclose(mine, part, rtol=0, atol=1e-7), name


@pytest.mark.parametrize("formulation", ["so3", "se3", "euler_parameters", "directors", "scalable"])
def test_rows_that_lack_a_little_depend_on_others_as_those_that_are_met(formulation):
    """Three rows of a parallelogram; hinges that are out of parallel by far more than it lacks."""
    model = four_bar((formulation,)).build()
    aside = np.random.default_rng(1).normal(size=model.n_v)
    for size in (0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6):
        state = model.moved(model.state, size * aside).replace(t=0.1)
        assert len(independent_rows.selected(model, state).dropped) == 3, size


@pytest.mark.parametrize("tilt", [3e-3, 0.1])
def test_rows_that_lack_much_are_independent_where_they_are_so_by_more(tilt):
    """One hinge of a parallelogram is out of parallel: the loop is held, by one row more."""
    system = four_bar()
    coupler, right = (system.bodies[name] for name in ("coupler", "right"))
    del system.joints["C"]
    system.add(mbd.Revolute("C", coupler, right, at=(2, 0, 1), axis=(tilt, 1, 0)))
    model = system.build()
    aside = np.random.default_rng(1).normal(size=model.n_v)
    for size in (0.0, 1e-3, 0.1):
        state = model.moved(model.state, size * tilt * aside).replace(t=0.1)
        assert len(independent_rows.selected(model, state).dropped) == 2, size


def test_a_stepper_that_goes_back_forgets_what_was_refused_since():
    """Loaded bars on one line are refused; without the load flat bars there are left as ever."""
    system = parallelograms(mass=1e-6, lean=np.pi / 2, speed=1.0)
    ends = system.ground, system.ground
    a, b = (
        system.add(mbd.RigidBody(x, mass=1, inertia=(0.1, 0.1, 0.1), position=(i + 0.5, 3, 0)))
        for i, x in enumerate("ab")
    )
    for i, (x, y) in enumerate(((ends[0], a), (a, b), (b, ends[1]))):
        system.add(mbd.Revolute(f"line {i}", x, y, at=(i, 3, 0), axis=(0, 1, 0)))
    for x in (a, b):
        system.add(mbd.PointForce(f"hold {x.name}", x, (0, 0, 9.81)))
        system.add(mbd.PointForce(f"push {x.name}", x, (0, 0, 0)))
    inputs = ["push a.force", "push b.force"]
    stepper = mbd.Stepper(system, 1e-3, inputs=inputs)
    start = stepper.snapshot()
    stepper.step(5)
    there = stepper.state
    stepper.restore(start)
    for name in inputs:
        stepper[name] = (0, 0, 50.0)
    with pytest.raises(RuntimeError, match="second order only"):
        stepper.step(5)
    assert stepper.snapshot().past.shaky
    stepper.restore(start)
    assert not stepper.snapshot().past.shaky
    stepper.step(5)
    assert np.array_equal(stepper.state.q, there.q)
