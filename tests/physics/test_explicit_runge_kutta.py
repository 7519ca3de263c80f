"""Explicit Runge-Kutta methods with joints: order, loops, rows of every kind, tolerances."""

import numpy as np
import pytest
from families import spread
from scenes import chain, hinged

import mbd
from mbd.integration.explicit_tableaus import TABLEAUS, tableau

from .tools import RIGID, published, scene

DOP853, TSIT5, RK4 = (mbd.ExplicitRungeKutta(x) for x in ("dop853", "tsit5", "rk4"))


# --- the numbers of the methods -------------------------------------------------------------------
@pytest.mark.parametrize("name", TABLEAUS)
def test_weights_meet_the_conditions_of_their_order(name):
    """Quadrature to its order, rows that sum to c; y' = A y with A that does not commute."""
    t = tableau(name)
    b, s, n = t.A[t.stages], t.stages, len(t.c)
    assert np.all(np.triu(t.A) == 0.0)
    assert np.allclose(t.A.sum(axis=1), t.c, rtol=0, atol=2e-15)
    assert t.c[s] == pytest.approx(1.0, abs=1e-15)
    for k in range(1, t.order + 1):
        assert b @ t.c ** (k - 1) == pytest.approx(1 / k, abs=2e-14)
    assert np.allclose(t.P.sum(axis=1), b, rtol=0, atol=2e-13)
    assert np.abs(t.errors.sum(axis=1)).max() < 1e-14

    def step(h, x):  # a top that is heavy: y' = y x g + ..., quadratic
        y0 = np.array([1.0, 0.3, -0.2, 0.1, 0.4, 0.8])
        k = np.zeros((n, 6))
        for i in range(n):
            y = y0 + h * t.A[i] @ k
            w = y[:3] / (1.0, 2.0, 3.5)
            k[i] = [*np.cross(y[:3], w), *np.cross(y[3:], w)]
            k[i, :3] += np.cross(y[3:], (0.2, 0, 1.0))
        return y0 + h * (x ** np.arange(1, t.P.shape[1] + 1) @ t.P.T) @ k, y0 + h * t.errors @ k

    def many(h, parts, x):  # the end by small steps
        y = np.array([1.0, 0.3, -0.2, 0.1, 0.4, 0.8])
        fine = tableau("dop853")
        for _ in range(parts):
            k = np.zeros((16, 6))
            for i in range(13):
                z = y + x * h / parts * fine.A[i] @ k
                w = z[:3] / (1.0, 2.0, 3.5)
                k[i] = [*np.cross(z[:3], w), *np.cross(z[3:], w)]
                k[i, :3] += np.cross(z[3:], (0.2, 0, 1.0))
            y = y + x * h / parts * fine.A[12] @ k
        return y

    end = [np.abs(step(h, 1.0)[0] - many(h, 16, 1.0)).max() for h in (0.8, 0.4)]
    assert np.log2(end[0] / end[1]) > t.order + 0.4
    within = [np.abs(step(h, 0.6)[0] - many(h, 16, 0.6)).max() for h in (0.8, 0.4)]
    assert np.log2(within[0] / within[1]) > {"rk4": 3, "tsit5": 4, "dop853": 7}[name] + 0.6


# --- order ----------------------------------------------------------------------------------------
def bars(form, joint):
    """Return three bars that hang out on balls, or on hinges whose axes are not parallel."""
    return chain(
        3, (form,), joint=joint, axis=lambda i: (0, 1, 0.5 * i), along=(0.2, 0, 0), mass=0.5,
        inertia=(0.01, 0.012, 0.008),
    )  # fmt: skip


def driven(form):
    """Return an arm on a drive, a bar on a hinge at its end."""
    system, arm, hinge = hinged("arm", position=(1, 0, 0), formulation=form)
    bar = system.add(mbd.RigidBody("bar", mass=0.5, inertia=(0.1, 0.2, 0.3), position=(2.4, 0, 0),
                                   formulation=form))  # fmt: skip
    system.add(mbd.Revolute("elbow", arm, bar, at=(2, 0, 0), axis=(0, 1, 0.3)))
    system.add(mbd.Drive("motor", hinge.angle, position=mbd.Expression("0.35 * sin(3 * t) ** 2")))
    return system


MOTIONS = {  # model, end [s], steps of DOP853
    "chain of balls": (lambda form: bars(form, "Spherical"), 0.5, 10),
    "chain of hinges": (lambda form: bars(form, "Revolute"), 0.5, 10),
    "top": (lambda form: scene("heavy_top").build(form), 0.1, 24),
    "Andrews": (lambda form: scene("andrews").build(form), 0.006, 6),
    "Bennett": (lambda form: scene("bennett").build(form), 0.5, 5),
    "rolling disc": (lambda form: scene("rolling_disc").build(form), 0.2, 8),
    "driven": (driven, 0.5, 6),
}
STEPS = {"dop853": 1, "tsit5": 4, "rk4": 8}  # beside those of DOP853


def ends(model, t_end, n, **how):
    run = mbd.simulate(model, t_end, t_end / n, every=n, **how)
    return [getattr(run, x)[-1] for x in ("q", "v", "lam")]


def apart(a, b):
    """Return differences of q, v, lam, each relative to its largest entry."""
    return np.array([np.abs(x - y).max() / np.abs(y).max() for x, y in zip(a, b, strict=True)])


@spread(motion=MOTIONS, form=RIGID, name=TABLEAUS)
def test_positions_velocities_and_multipliers_are_of_one_order(motion, form, name):
    """4, 5 and 8, with loops, redundant rows, rows on velocities and laws of time."""
    build, t_end, n = MOTIONS[motion]
    model, method = build(form), mbd.ExplicitRungeKutta(name)
    model = model.build() if isinstance(model, mbd.System) else model
    run = mbd.simulate(model, t_end, rtol=1e-13, method=mbd.RadauCollocation())
    exact = [getattr(run, x)[-1] for x in ("q", "v", "lam")]
    n *= STEPS[name]
    two, one = (apart(ends(model, t_end, k, method=method), exact) for k in (n, 2 * n))
    order = np.log2(two / one)
    p = tableau(name).order
    least = 3e-11 if motion == "driven" else 1e-12  # laws of time, twice differentiated
    assert np.all((one < least) | (order > p - 0.8)), (two, one)
    assert np.all(one < {"dop853": 3e-9, "tsit5": 1e-6, "rk4": 1e-4}[name]), one


@pytest.mark.parametrize("form", ["so3", "directors"])
def test_published_ends_are_met(form):
    """Heavy top, Andrews' mechanism with its multipliers, Bennett's linkage."""
    exact = {k: np.array(x) for k, x in published("heavy top")["0.1"].items()}
    run = mbd.simulate(scene("heavy_top").build(form), 0.1, 1e-3, method=DOP853)
    assert np.abs(run["top"].position[-1] - exact["x"]).max() < 1e-12
    assert np.abs(run["top"].velocity[-1] - exact["v"]).max() < 1e-11
    assert np.abs(run["pin"].force[-1] / exact["reaction"] - 1).max() < 1e-11
    row = published("A03")["0.01"]
    run = mbd.simulate(scene("andrews").build(form), 0.01, 2.5e-4, method=DOP853)
    end = 0.007 * np.array([np.cos(row[0]), np.sin(row[0])])
    assert np.abs(run["K1"].at((0.007, 0, 0)).position[-1, :2] - end).max() < 1e-14
    assert run["K1"].angular_velocity[-1, 2] == pytest.approx(row[7], rel=1e-11)
    assert run["E3"].force[-1, :2] == pytest.approx(row[21:23], rel=1e-8)
    run = mbd.simulate(scene("bennett").build(form), 1.0, 0.0125, method=DOP853)
    assert run.gap.max() < 1e-12
    for name, com in zip(run.model.nodes, published("K03")["1.0"]["com"], strict=True):
        where = run[name].at(run.model.system[name].center_of_mass).position[-1]
        assert np.allclose(where, com, rtol=0, atol=1e-11)


def test_a_row_on_velocities_meets_the_closed_form():
    """The skate on a slope."""
    exact = {t: row for _, t, row, *_ in scene("skate").REFERENCE[:2]}
    for method, n, error in ((RK4, 40, 1e-5), (TSIT5, 40, 2e-8), (DOP853, 20, 1e-10)):
        run = mbd.simulate(scene("skate").build(), 2.0, 2.0 / n, method=method)
        assert np.abs(run["skate"].position[n // 2] - exact[1.0]).max() < error
        assert np.abs(run["skate"].position[-1] - exact[2.0]).max() < error
        assert run.gap.max() < 1e-12


def test_without_joints_the_classical_method_is_that_of_lie_groups():
    """Where velocities are those that the body feels, both sum the same; for so3 they do not."""

    def spun(form, method):
        system = mbd.System()
        system.add(mbd.RigidBody("body", mass=1.0, inertia=(1, 2, 2.5), velocity=(1, 0, 0),
                                 angular_velocity=(1, 2, 3), formulation=form))  # fmt: skip
        return mbd.simulate(system, 1.0, 0.05, method=method)["body"].rotation[-1]

    for form in ("se3", "unified"):
        assert np.allclose(spun(form, RK4), spun(form, mbd.LieRungeKutta4()), rtol=0, atol=1e-15)
    other = np.abs(spun("so3", RK4) - spun("so3", mbd.LieRungeKutta4())).max()
    assert 1e-8 < other < 1e-3


# --- steps that are chosen, states within them, events --------------------------------------------
@pytest.mark.parametrize(("name", "order"), [("rk4", 3), ("tsit5", 4), ("dop853", 7)])
def test_states_within_steps_are_of_the_order_of_the_continuation(name, order):
    """At 3/8 of a step, against collocation; on the rows, forces of the same order."""
    model, method = bars("se3", "Revolute").build(), mbd.ExplicitRungeKutta(name)
    errors = []
    for n in (6 * STEPS[name], 12 * STEPS[name]):
        h = 0.3 / n
        t = [h * (n - 5 / 8)]
        run = mbd.simulate(model, 0.3, h, t_eval=t, method=method)
        exact = mbd.simulate(model, t[0], rtol=1e-13, method=mbd.RadauCollocation())
        assert run.t.tolist() == t
        assert run.gap.max() < 1e-13
        errors.append(apart(*([x.q[-1], x.v[-1], x.lam[-1]] for x in (run, exact))))
    assert np.all((errors[1] < 1e-12) | (np.log2(errors[0] / errors[1]) > order - 0.4)), errors


def test_a_joint_that_an_event_opens_carries_nothing_afterwards():
    """A bar on a hinge is let go at the lowest point: a parabola of its centre from there."""
    system, bar, _ = hinged("bar", "pin", inertia=(0.01, 0.1, 0.1))
    low = mbd.Event("low", lambda x: x["bar"].position[:, 0], release=("pin",))
    run = mbd.simulate(system, 1.0, 0.01, events=low, method=DOP853)
    (happened,) = run.events
    at = int(np.searchsorted(run.t, happened.t, side="right"))
    after = run.t[at:] - run.t[at]
    start, speed = run[bar.name].position[at], run[bar.name].velocity[at]
    path = start + after[:, None] * speed - 0.5 * 9.81 * after[:, None] ** 2 * (0, 0, 1)
    assert len(after) > 20
    assert np.allclose(run[bar.name].position[at:], path, rtol=0, atol=1e-13)


# --- what a step begins with ----------------------------------------------------------------------
def test_loads_that_are_set_between_steps_act_from_there_on():
    """What the end of a step had for accelerations does not serve the next one then."""
    system = mbd.System()
    cart = system.add(mbd.PointMass("cart", mass=2.0))
    system.add(mbd.PointForce("push", cart, (0.0, 0.0, 0.0)))
    stepper = mbd.Stepper(system, 0.1, method=DOP853, inputs=["push.force"])
    x = v = 0.0
    for force in (4.0, -1.0, 0.0, 8.0):
        stepper["push.force"] = (force, 0.0, 0.0)
        stepper.step(5)
        x, v = x + 0.5 * v + 0.125 * force / 2.0, v + 0.5 * force / 2.0
        assert stepper.state.q[0] == pytest.approx(x, abs=1e-14)
        assert stepper.state.v[0] == pytest.approx(v, abs=1e-14)


# --- what goes wrong ------------------------------------------------------------------------------
@spread(form=RIGID, how=[{"rtol": 1e-5}, {"rtol": 1e-9}, {"step": 0.005}])
def test_rows_that_come_near_to_each_other_are_chosen_again(form, how):
    """Bennett's linkage beyond 1.15 s: of rows that are kept all the way, some come to depend."""
    run = mbd.simulate(scene("bennett").build(form), 1.5, method=DOP853, **how)
    allowed = 3.0 * how.get("rtol", 1e-11)
    assert np.abs(run.energy.total - run.energy.total[0]).max() < allowed
    assert run.gap.max() < 1e-11


@pytest.mark.parametrize("how", [{"step": 0.01}, *({"rtol": 10.0**-k} for k in (5, 7, 9, 10))])
def test_a_singular_pose_is_passed_or_stops_the_run_by_name(how):
    """Four-bars in a row are flat at 0.71 s and 1.22 s: freedoms jump from 1 to N + 1.

    Steps go over these poses, or run into them.
    """
    model, exact = scene("n_fourbar").build(), published("A02")["1"]["2"][:2]
    run = mbd.simulate(model, 2.0, method=DOP853, raise_on_failure=False, **how)
    assert np.abs(run.energy.total / run.energy.total[0] - 1).max() < 1e-4
    if run.success:
        end = run["bar 0"].at((0.5, 0, 0)).position[-1, :2]
        assert np.abs(end - exact).max() < how.get("rtol", 1e-8)
    else:
        assert how.get("rtol", 1.0) < 1e-8
        assert "the pose is singular" in run.message


def sprung(stiffness, share):
    """Return a bar on a hinge and a bar that hangs on it by a damped spring."""
    system, bar, _ = hinged("bar", "pin", inertia=(0.01, 0.1, 0.1))
    far = system.add(mbd.RigidBody("far", mass=1.0, inertia=(0.01, 0.1, 0.1),
                                   position=(1.5, 0, 0)))  # fmt: skip
    system.add(mbd.Spring("spring", mbd.Frame(bar, position=(0.5, 0, 0)), far, length=0.5,
                          stiffness=stiffness, damping=2.0 * share * stiffness**0.5))  # fmt: skip
    return system.build()


def test_what_turns_out_stiff_is_handed_over():
    """A spring of 1e6 N/m, overdamped, beside a slow swing: no step of the motion is stable."""
    method = mbd.ExplicitRungeKutta(stiff="radau")
    model = sprung(1e6, 5.0)
    exact = mbd.simulate(model, 0.5, rtol=1e-10, method=mbd.RadauCollocation(3))
    run = mbd.simulate(model, 0.5, rtol=1e-5, method=method)
    assert "stiff from t = 0.01" in run.message
    assert "where RadauCollocation went on" in run.message
    assert 0.0 < run.stats["handed_over"] < 0.05
    assert np.all(np.diff(run.t) > 0.0)
    assert run.stats["steps"] == len(run.t) - 1
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 1e-5
    alone = mbd.simulate(model, 0.5, rtol=1e-5, method=mbd.RadauCollocation(3))
    assert run.stats["evaluations"] < 2.5 * alone.stats["evaluations"]
    times = np.linspace(0.0, 0.5, 11)
    some = mbd.simulate(model, 0.5, rtol=1e-5, method=method, t_eval=times)
    assert np.array_equal(some.t, times)
    low = mbd.Event("low", lambda x: x["bar"].position[:, 2] + 0.3)
    crossed = mbd.simulate(model, 0.5, rtol=1e-6, method=method, events=low)
    same = mbd.simulate(model, 0.5, rtol=1e-8, method=mbd.RadauCollocation(3), events=low)
    assert "went on" in crossed.message
    assert [x.t for x in crossed.events] == pytest.approx([x.t for x in same.events], abs=1e-6)


@pytest.mark.parametrize(
    ("stiffness", "share", "rtol"),
    [
        (1e4, 5.0, 1e-5),
        (1e4, 5.0, 1e-7),
        (1e6, 0.01, 1e-3),
        (1e6, 0.1, 1e-5),
        (1e6, 1.0, 1e-7),
        (1e6, 5.0, 1e-3),
        (1e6, 5.0, 1e-7),
        (1e8, 0.1, 1e-7),
        (1e8, 5.0, 1e-7),
    ],
)
def test_stiff_springs_cost_little_more_than_with_collocation(stiffness, share, rtol):
    """2.5 times as many evaluations at most, overdamped or not; explicit ones alone up to 40.

    Long before stability ends stiffness reduces the order: steps cover little of the motion.
    """
    model = sprung(stiffness, share)
    alone = mbd.simulate(model, 0.5, rtol=rtol, method=mbd.RadauCollocation(3))
    run = mbd.simulate(model, 0.5, rtol=rtol, method=mbd.ExplicitRungeKutta(stiff="radau"))
    assert "handed_over" in run.stats
    assert run.stats["evaluations"] < 2.5 * alone.stats["evaluations"]
    assert np.abs(run.q[-1] - alone.q[-1]).max() < 3.0 * rtol


@pytest.mark.parametrize("motion", MOTIONS)
def test_what_is_not_stiff_is_not_handed_over(motion):
    """Chains, loops, tops, drives: the bound of stability does not choose their steps."""
    build, t_end, _ = MOTIONS[motion]
    for rtol in (1e-3, 1e-6, 1e-9):
        method = mbd.ExplicitRungeKutta(stiff="radau")
        run = mbd.simulate(build("so3"), t_end, rtol=rtol, method=method)
        assert "handed_over" not in run.stats
        assert run.message == f"reached t = {t_end:g} s"


def test_what_it_does_not_take_is_refused_by_name():
    for name in ("euler", 8, None, True):
        with pytest.raises((ValueError, TypeError), match="ExplicitRungeKutta: tableau must be"):
            mbd.ExplicitRungeKutta(name)
    with pytest.raises(ValueError, match="stiff must be one of stay, radau.*got 'wait'"):
        mbd.ExplicitRungeKutta(stiff="wait")
    with pytest.raises(ValueError, match="stiff='radau' needs tableau='dop853'.*got 'tsit5'"):
        mbd.ExplicitRungeKutta("tsit5", stiff="radau")
    with pytest.raises(ValueError, match="tableau='rk4' has no estimate of errors; give a step"):
        mbd.simulate(sprung(1.0, 0.0), 1.0, rtol=1e-6, method=RK4)
