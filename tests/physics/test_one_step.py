"""What collocation and explicit methods with joints meet alike."""

import numpy as np
import pytest
from families import spread
from scenes import hinged, with_body, with_point
from scipy.special import ellipk

import mbd

from .tools import RIGID, published, scene

SHARP = mbd.RadauCollocation(tol=1e-14)
BOTH = [mbd.RadauCollocation(), mbd.ExplicitRungeKutta()]
CHOSEN = [
    mbd.RadauCollocation(3), mbd.RadauCollocation(5), mbd.ExplicitRungeKutta("tsit5"),
    mbd.ExplicitRungeKutta("dop853"),
]  # fmt: skip


@pytest.mark.parametrize("method", CHOSEN, ids=repr)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_the_tolerance_is_met_over_the_whole_run(method, rtol):
    """Heavy top for a second (24 turns) and Andrews' mechanism, against the published ends."""
    exact = published("heavy top")["1.0"]
    run = mbd.simulate(scene("heavy_top").build(), 1.0, rtol=rtol, method=method)
    assert np.abs(run["top"].position[-1] - exact["x"]).max() < rtol
    assert np.abs(run["top"].velocity[-1] - exact["v"]).max() < 5.0 * rtol
    assert run.stats["rejected"] < 0.3 * run.stats["steps"] + 3
    row = published("A03")["0.03"]
    run = mbd.simulate(scene("andrews").build(), 0.03, rtol=rtol, method=method)
    end = 0.007 * np.array([np.cos(row[0]), np.sin(row[0])])
    assert np.abs(run["K1"].at((0.007, 0, 0)).position[-1, :2] - end).max() < 0.1 * rtol


def cart_under(begins, degree, top=False):
    """Return a cart that t^degree pushes from an instant on, x = 3 t^(d + 2)/(2 (d + 1)(d + 2))."""
    system, cart = with_point("cart", mass=2.0)
    system.add(mbd.PointForce("push", cart, lambda t: (3.0 * (t - begins) ** degree * (t >= begins),
                                                       0.0, 0.0)))  # fmt: skip
    if top:  # what is at rest is of the kind of what is fast
        system.add(mbd.RigidBody("top", mass=1, inertia=(1, 2, 2.5), position=(0, 1, 0),
                                 angular_velocity=(0.1, 50, 0.2)))  # fmt: skip
    end = 3.0 * (1.0 - begins) ** (degree + 2) / (2 * (degree + 1) * (degree + 2))
    return system, 1.0, lambda run: run["cart"].position[-1, 0] - end


def geared():
    """Return two wheels and a gear; the second one is turned by 302 rad."""
    system, hinges = mbd.System(), []
    for i, J in enumerate((0.2, 0.15)):
        wheel = system.add(mbd.RigidBody(f"wheel {i}", mass=1, inertia=(0.1, 0.1, J),
                                         position=(i, 0, 0)))  # fmt: skip
        hinges.append(mbd.Revolute(f"hinge {i}", system.ground, wheel, at=(i, 0, 0), axis="z"))
        system.add(hinges[-1])
    system.add(mbd.Gear("gear", *hinges, ratio=-0.37))
    system.add(mbd.Motor("motor", hinges[0], lambda u, rate, t: 40.0))
    end = -0.37 * 0.5 * 40.0 * 3.0**2 / (0.2 + 0.37**2 * 0.15)
    return system, 3.0, lambda run: run["hinge 1"].angle[-1] / end - 1.0


def bennett():
    """Return Bennett's linkage beyond 1.15 s, where it comes close to a singular pose."""

    def change(run):  # of energy by errors of velocities
        return (run.energy.total[-1] - run.energy.total[0]) / (2.0 * run.energy.kinetic.max())

    return scene("bennett").build(), 1.5, change


HARD = {
    "a force begins": lambda: cart_under(0.0, 0), "from rest": lambda: cart_under(0.0, 1),
    "rest beside a fast body": lambda: cart_under(0.0, 1, top=True),
    "jump": lambda: cart_under(0.4567, 0),
    "jump beside a fast body": lambda: cart_under(0.4567, 0, top=True),
    "jump early": lambda: cart_under(0.05, 0),
    "kink": lambda: cart_under(0.123456, 1), "gear": geared, "Bennett": bennett,
}  # fmt: skip


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("motion", HARD)
def test_what_is_not_smooth_or_begins_at_rest_is_within_the_tolerance(motion, rtol):
    """By the default of free steps and by explicit ones."""
    system, t_end, error = HARD[motion]()
    for method in (None, mbd.ExplicitRungeKutta(stiff="radau")):
        run = mbd.simulate(system, t_end, rtol=rtol, method=method)
        assert abs(error(run)) < rtol, method
        assert run.stats["steps"] < 700


@pytest.mark.parametrize("method", BOTH, ids=repr)
def test_contradictory_drives_are_named(method):
    system, _, hinge = hinged("arm", gravity=(0, 0, 0), inertia=(1, 1, 1), position=(0, 0, 0))
    system.add(mbd.Drive("one", hinge.angle, position=mbd.Expression("0.2 * t ** 2")))
    system.add(mbd.Drive("two", hinge.angle, position=mbd.Expression("0.2 * t ** 2 + t ** 4")))
    with pytest.raises(mbd.SimulationError, match="one.*two|two.*one") as error:
        mbd.simulate(system, 1.0, 0.02, method=method)
    assert error.value.solution.t[-1] < 0.1


@pytest.mark.parametrize("method", BOTH, ids=repr)
@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_size_and_place_do_not_matter(size, far, method):
    """A pendulum of a micrometre and of a thousand kilometres, a million sizes from the origin."""

    def end(size, far):
        system = mbd.System(gravity=(0, 0, -9.81 * size))
        place = np.array((far, -far, 2 * far)) * size
        bob = system.add(
            mbd.RigidBody("bob", mass=1.0, inertia=np.array((0.01, 0.1, 0.1)) * size**2,
                          position=np.add(place, (0.5 * size, 0, 0)))
        )  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, bob, at=place, axis=(0, 1, 0)))
        run = mbd.simulate(system, 1.0, rtol=1e-10, method=method)
        return (run["bob"].position[-1] - place) / size

    assert np.abs(end(size, far) - end(1.0, 0.0)).max() < (1e-11 if far == 0.0 else 1e-9)


@pytest.mark.parametrize(
    ("method", "other", "title"),
    [
        (mbd.RadauCollocation(3), "RadauCollocation(stages=3)", "3 points of Radau"),
        (mbd.ExplicitRungeKutta("tsit5"), "ExplicitRungeKutta(tableau='rk4')",
         "explicit Runge-Kutta, rk4"),
    ],
    ids=["collocation", "explicit"],
)  # fmt: skip
def test_it_is_written_in_files_and_named_as_text(method, other, title, tmp_path):
    system = scene("heavy_top").build()
    run = mbd.simulate(system, 0.01, 1e-3, method=method)
    kept = mbd.load(run.save(tmp_path / "run.nc"))
    assert str(kept.method) == repr(run.method)
    table = mbd.compare(
        scene("heavy_top").build, formulations=["so3", "directors"], steps=[2e-3, 1e-3],
        t_end=0.02, method=other,
    )  # fmt: skip
    assert title in str(table)


@pytest.mark.parametrize("method", [SHARP, mbd.ExplicitRungeKutta("dop853")], ids=repr)
def test_events_are_located_to_round_off_and_the_run_goes_on_behind_them(method):
    """A pendulum passes the lowest point at a quarter of its period, in Jacobi's functions."""

    def swing():
        system, bob = with_point("bob", gravity=(0, 0, -9.81), position=(1, 0, 0))
        system.add(mbd.Distance("rod", system.ground, bob))
        return system

    low = mbd.Event("low", lambda x: x["bob"].position[:, 0])
    quarter = ellipk(0.5) / np.sqrt(9.81)
    for how in ({"step": 0.02}, {"rtol": 1e-11}):
        run = mbd.simulate(swing(), 2.5 * quarter, events=low, method=method, **how)
        assert [x.name for x in run.events] == ["low"]
        assert run.events[0].t == pytest.approx(quarter, abs=2e-11)
    stop = mbd.Event("low", lambda x: x["bob"].position[:, 0], terminal=True)
    run = mbd.simulate(swing(), 1.0, 0.02, events=stop, method=method)
    assert run.t[-1] == pytest.approx(quarter, abs=1e-12)
    assert run["bob"].position[-1] == pytest.approx((0, 0, -1), abs=1e-12)

    def throw_back(model, state):
        return state.replace(v=-state.v)

    back = mbd.Event("low", lambda x: x["bob"].position[:, 0], change=throw_back)
    run = mbd.simulate(swing(), 2 * quarter, 0.02, events=back, method=method)
    assert run["bob"].position[-1] == pytest.approx((1, 0, 0), abs=1e-10)


@pytest.mark.parametrize("method", [SHARP, mbd.ExplicitRungeKutta("dop853")], ids=repr)
def test_requested_times_and_chosen_steps_go_together(method):
    system = scene("heavy_top").build()
    times = np.linspace(0.0, 0.1, 41)
    fine = mbd.simulate(system, 0.1, 0.1 / 400, every=10, method=method)
    for how in ({"rtol": 1e-9}, {"step": 2.5e-3}, {"step": 2.3e-3}):
        run = mbd.simulate(system, 0.1, t_eval=times, method=method, **how)
        assert np.array_equal(run.t, times)
        assert np.abs(run["top"].position - fine["top"].position).max() < 1e-8
        assert np.abs(run["pin"].force - fine["pin"].force).max() < 1e-3
        assert run.gap.max() < 1e-9


@pytest.mark.parametrize("method", [SHARP, mbd.ExplicitRungeKutta("dop853")], ids=repr)
def test_a_run_goes_on_and_takes_over_from_another_method(method):
    system = scene("heavy_top").build()
    whole = mbd.simulate(system, 0.1, 2e-3, method=method)
    half = mbd.simulate(system, 0.05, 2e-3, method=method)
    rest = mbd.simulate(system, 0.1, 2e-3, method=method, state=half.state)
    assert np.abs(rest.q[-1] - whole.q[-1]).max() < 1e-11
    other = mbd.simulate(system, 0.01, 1e-4, method=mbd.GeneralizedAlpha())
    taken = mbd.simulate(system, 0.02, 1e-3, method=method, state=other.state)
    assert np.abs(taken.energy.total / taken.energy.total[0] - 1).max() < 1e-11


# --- velocities without a scale, large round-off --------------------------------------------------
def pushed(power, formulation):
    """A free body at rest under a force 3 t^p: x = 3 t^(p + 2)/((p + 1)(p + 2))."""
    system, body = with_body(
        "b", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.25), formulation=formulation
    )
    system.add(mbd.PointForce("f", body, lambda t: (3 * t**power, 0, 0)))
    return system, lambda run: run["b"].position[-1, 0], 1.0


def turned(power, formulation):
    """A body at rest on a hinge under a moment 3 t^p."""
    system, _, hinge = hinged(
        "b", "h", gravity=(0, 0, 0), inertia=(0.1, 0.2, 0.25), formulation=formulation
    )
    system.add(mbd.Motor("f", hinge, lambda u, rate, t: 3 * t**power))
    return system, lambda run: run["h"].angle[-1], 0.45


@spread(method=BOTH, make=[pushed, turned], formulation=RIGID)
def test_a_load_that_grows_from_zero_moves_what_is_at_rest(method, make, formulation):
    """Whatever its power: nothing has moved, and nothing pushes, at the start."""
    for power in (1, 2, 3, 4, 7):
        system, result, inertia = make(power, formulation)
        exact = 3 / ((power + 1) * (power + 2)) / inertia
        for options in ({"rtol": 1e-6}, {"rtol": 1e-9}, {"step": 0.02}):
            run = mbd.simulate(system, 1.0, method=method, **options)
            error = abs(result(run) - exact)
            assert error < 2 * options.get("rtol", 1e-9), (power, options)
            assert run.stats["steps"] < 100
