"""Steps that are chosen: the tolerance is met over a run, states at requested times, refusals."""

import numba
import numpy as np
import pytest
from families import spread
from scenes import chain, with_point

import mbd
from mbd.machine import buffer as m

from .tools import RIGID, published, scene

TOP = published("heavy top")["1.0"]
ALPHA = mbd.GeneralizedAlpha()
METHODS = pytest.mark.parametrize("method", [None, ALPHA], ids=["default", "alpha"])


@METHODS
@pytest.mark.parametrize("rtol", [1e-3, 1e-5])
def test_the_heavy_top_meets_its_tolerance(rtol, method):
    solution = mbd.simulate(scene("heavy_top").build(), 1.0, rtol=rtol, method=method)
    assert np.abs(solution["top"].position[-1] - TOP["x"]).max() < 10 * rtol
    rates = solution["top"].angular_velocity_body[-1]
    assert np.abs(rates - TOP["Omega"]).max() < 10 * rtol * 150
    assert solution.gap.max() < 1e-13


NAMES = (
    "andrews", "ball_on_turntable", "bennett", "bicycle", "breathing_body", "bricard", "chain",
    "column", "driven_slider_crank", "dzhanibekov", "elastic_pendulum", "fourbar", "governor",
    "heavy_top", "hooke", "kynema_body", "n_fourbar", "non_twisting", "pendulum", "planetary_gear",
    "rack_and_pinion", "rolling_disc", "rotor", "screw_jack", "skate", "slider_crank", "sling",
    "spring_mass", "squeezed_body", "steady_top", "truss",
)  # fmt: skip


@METHODS
@pytest.mark.parametrize("name", NAMES)
def test_scenes_meet_their_tolerance(name, method):
    module = scene(name)
    model = module.build().build()
    t_end, events = min(0.3, module.RUN["t_end"]), module.RUN.get("events", ())
    fine = mbd.simulate(model, t_end, rtol=1e-8, every=1_000_000, events=events)
    for rtol in (1e-3, 1e-5):
        solution = mbd.simulate(model, t_end, rtol=rtol, every=10, events=events, method=method)
        size = max(1.0, np.abs(fine.q).max())
        assert np.abs(solution.q[-1] - fine.q[-1]).max() < 2 * rtol * size, rtol
        assert solution.t[-1] == t_end
        assert np.all(np.diff(solution.t) >= 0)


@pytest.mark.parametrize("formulation", RIGID)
def test_every_formulation_meets_the_tolerance(formulation):
    exact = mbd.simulate(chain(2), 1.0, rtol=1e-8, every=1_000_000)["bar 1"].position[-1]
    found = mbd.simulate(chain(2, (formulation,)), 1.0, rtol=1e-5)["bar 1"].position[-1]
    assert np.abs(found - exact).max() < 1e-4


@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_waves_of_little_energy_choose_no_steps(formulation):
    """A beam that falls on a hinge: 100 000 steps where its waves of 1e-6 m were followed.

    Ten times as stiff they are smaller, and faster by 3.2: steps do not become as many more.
    """
    steps = []
    for young in (2.1e11, 2.1e12, 2.1e13):
        steel = mbd.Section.rectangle(0.05, 0.05, young=young, poisson=0.3, density=7850)
        system = mbd.System(gravity=(0, 0, -9.81))
        beam = system.add(mbd.Beam("beam", points=[(0, 0, 0), (1, 0, 0)], section=steel,
                                   elements=4, formulation=formulation))  # fmt: skip
        system.add(mbd.Revolute("hinge", system.ground, beam.first, at=(0, 0, 0), axis=(0, 1, 0)))
        run = mbd.simulate(system, 0.2, rtol=1e-3, method=ALPHA)
        steps.append(run.stats["steps"])
        # the whole rod as a pendulum: phi'' = 3 g / 2 L cos(phi), to second order of its angle
        angle = 1.5 * 9.81 * 0.2**2 / 2
        z = run["beam.4"].position[-1, 2]
        assert z == pytest.approx(-np.sin(angle), abs=1e-3 + angle**3 / 6)
    assert steps[0] < 1200
    assert max(np.divide(steps[1:], steps[:-1])) < 2.0


def test_a_swing_on_a_stiff_spring_is_followed():
    """The first step is as long as a third of the swing: what the spring pulls is no wave."""
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.PointMass("ball", mass=1.0, position=(1, 0, 0)))
    system.add(mbd.Spring("spring", system.ground, ball, stiffness=1e4, length=1.0))
    t = np.linspace(0.0, 20.0, 101)
    runs = [mbd.simulate(system, 20.0, rtol=rtol, t_eval=t, method=method)
            for rtol, method in ((1e-2, ALPHA), (1e-9, mbd.ExplicitRungeKutta()))]  # fmt: skip
    apart = runs[0]["ball"].position - runs[1]["ball"].position
    assert np.abs(apart).max() < 2e-2


def test_a_wave_in_resonance_is_followed():
    """x'' + w^2 x = 2 a w/T cos wt grows to a, which larger steps would not see."""
    T, a, w, t = 4.0, 0.02, 1000.0, np.linspace(0.0, 4.0, 201)
    system = mbd.System(gravity=(0, 0, -9.81))
    ball = system.add(mbd.RigidBody("ball", mass=1.0, inertia=(1, 1, 1), position=(0, 1, 0)))
    heavy = system.add(mbd.PointMass("heavy", mass=100.0, position=(1, 0, 0)))
    system.add(mbd.Distance("rod", system.ground, heavy))
    slide = system.add(mbd.Prismatic("slide", system.ground, ball, at=(0, 1, 0), axis=(0, 1, 0)))
    system.add(mbd.JointSpring("spring", slide, stiffness=w**2))
    law = numba.njit(lambda t: (0.0, 2 * a * w / T * np.cos(w * t), 0.0))
    system.add(mbd.PointForce("drive", ball, law))
    run = mbd.simulate(system, T, rtol=1e-2, t_eval=t, method=ALPHA)
    assert np.abs(run["ball"].position[:, 1] - 1 - a * t / T * np.sin(w * t)).max() < 1e-2


def falling_arm(n):
    """Return an arm of n joints, their axes in turn across and along the fall, let go level."""
    return chain(
        n, joint="Revolute", axis=lambda i: ((0, 1, 0), (0, 0, 1), (1, 0, 0))[i % 3],
        along=(0.2, 0, 0), mass=lambda i: 4.0 / (i + 1),
        inertia=lambda i: np.array((5e-3, 8e-3, 8e-3)) * 4.0 / (i + 1),
    )  # fmt: skip


@METHODS
@spread(rtol=[1e-2, 1e-3, 1e-4], name=["andrews", "fourbar", "governor", "arm", "links", "stop"])
def test_the_tolerance_is_delivered_at_all_times(name, rtol, method):
    """Of smooth motions, of one that is chaotic before long, and of hits on a stiff stop."""
    if name == "arm":
        system = falling_arm(7)
    elif name == "links":
        system = chain(2)
    elif name == "stop":
        system = falling_arm(1)
        law = lambda u, rate, t: 3e4 * np.sign(u) * max(0.0, abs(u) - 0.5) ** 1.5  # noqa: E731
        system.add(mbd.JointSpring("stop", system["pin 0"], law=law))
    else:
        system = scene(name).build()
    model, t_end = system.build(), 0.03 if name == "andrews" else 1.0
    times = np.linspace(0, t_end, 41)[1:]
    exact = mbd.simulate(model, t_end, rtol=1e-9, t_eval=times, method=mbd.RadauCollocation())
    run = mbd.simulate(model, t_end, rtol=rtol, t_eval=times, method=method)
    errors = max(
        np.abs(run[body].position - exact[body].position).max() for body in model.system.bodies
    )
    assert errors < rtol * max(1.0, float(model.F[m.LENGTH]))


@pytest.mark.parametrize("name", ["andrews", "heavy_top", "fourbar", "rolling_disc"])
def test_the_default_takes_fewer_evaluations_than_generalized_alpha(name):
    module = scene(name)
    model, t_end = module.build().build(), min(0.3, module.RUN["t_end"])
    chosen, alpha = (
        mbd.simulate(model, t_end, rtol=1e-5, method=x).stats["evaluations"] for x in (None, ALPHA)
    )
    assert chosen < 0.75 * alpha


def test_the_method_follows_from_the_tolerance_and_the_formulations():
    def runs(rtol, formulation="so3"):
        """Return a run, and the end of one that a study made."""
        system = mbd.System(gravity=(0, 0, -9.81))
        disc = mbd.RigidBody("disc", mass=1.0, inertia=(1, 1, 2), formulation=formulation)
        system.add(disc)
        done = mbd.study(system, {"disc.mass": [1.0, 2.0]}, t_end=0.1, rtol=rtol,
                         outputs=[("disc.position", "final")], progress=False)  # fmt: skip
        return mbd.simulate(system, 0.1, rtol=rtol), done["disc.position final"].values[0]

    for rtol, stages in ((1e-3, 3), (1e-6, 3), (9e-7, 5)):
        run, member = runs(rtol)
        assert run.method == mbd.RadauCollocation(stages=stages, fewest=40)
        assert run.stats["steps"] >= 40
        assert np.array_equal(member, run["disc"].position[-1])
    run, member = runs(1e-5, "S2")
    assert run.method == mbd.GeneralizedAlpha(constraints="stabilized")
    assert np.array_equal(member, run["disc"].position[-1])
    beam = scene("spin_up_beam").build().build()
    run = mbd.simulate(beam, 1e-5, rtol=1e-3)
    assert run.method == mbd.GeneralizedAlpha(constraints="stabilized")
    for rtol, stages in ((1e-6, 3), (1e-8, 3), (9e-9, 5)):  # fast waves
        run = mbd.simulate(beam, 1e-5, rtol=rtol)
        assert run.method == mbd.RadauCollocation(stages=stages, fewest=40)


def test_chosen_steps_are_no_more_than_the_order_asks_for():
    """Two bodies and a spring, 3.6 turns: two thirds as many steps of one size do worse."""
    system = mbd.System(gravity=(0, 0, -9.81))
    rod, inertia = {"mass": 1.0}, (0.01, 0.01, 0.01)
    first, last = (
        system.add(mbd.RigidBody(name, inertia=inertia, position=(x, 0, 0), **rod))
        for name, x in (("first", 0.5), ("last", 1.5))
    )
    system.add(mbd.Revolute("hinge", system.ground, first, at=(0, 0, 0), axis=(0, 1, 0)))
    system.add(mbd.Spring("spring", first, last, stiffness=1e3, length=0.8))
    exact = mbd.simulate(system, 0.5, rtol=1e-10, method=mbd.RadauCollocation())
    chosen = mbd.simulate(system, 0.5, rtol=1e-5, method=ALPHA)
    step = 0.5 / round(chosen.stats["steps"] / 1.5)
    even = mbd.simulate(system, 0.5, step, method=mbd.GeneralizedAlpha(constraints="stabilized"))
    errors = [np.abs(x.q[-1] - exact.q[-1]).max() for x in (chosen, even)]
    assert errors[0] < min(1e-5, errors[1])


@METHODS
def test_a_cart_of_a_millionth_of_its_load(method):
    """A09: steps from 1e-2 s down to the 4e-7 s within which the rod turns, eleven times."""
    # position at 5 s and 10 s by quadrature of energy and momentum; acceptance of the proposal 1e-6
    reference = {
        5.0: (0.48673208655541, 0.53898764971035),
        10.0: (1.9997632824687, -1.5491294418948),
    }
    model, times = scene("cart_pole").build(), list(reference)
    solution = mbd.simulate(model, 10.0, rtol=1e-6, t_eval=times, method=method)
    assert np.array_equal(solution.t, list(reference))
    for i, (x, phi) in enumerate(reference.values()):
        wanted = (x + np.sin(phi), -np.cos(phi))
        assert np.abs(solution["mass"].position[i, :2] - wanted).max() < 1e-6
        assert abs(solution["cart"].position[i, 0] - x) < 1e-6
    assert solution.stats["rejected"] > 0


@METHODS
def test_steps_grow_and_shrink_with_the_motion(method):
    solution = mbd.simulate(scene("cart_pole").build(), 0.5, rtol=1e-4, method=method)
    steps = np.diff(solution.t)
    assert steps.max() > 1e3 * steps.min()
    assert solution.t[np.argmin(steps)] == pytest.approx(0.45152, abs=2e-4)  # where the rod turns


@pytest.mark.parametrize("how", [{"rtol": 1e-6}, {"step": 1e-3}])
def test_states_at_requested_times(how):
    times = np.linspace(0, 1.0, 38)
    system = chain(2, ("so3", "directors"))
    at = mbd.simulate(system, 1.0, t_eval=times, **how)
    fine = mbd.simulate(system, 1.0, rtol=1e-8, t_eval=times)
    assert np.array_equal(at.t, times)
    for name in ("bar 0", "bar 1"):
        assert np.abs(at[name].position - fine[name].position).max() < 1e-4
        assert np.abs(at[name].velocity - fine[name].velocity).max() < 1e-3
        assert np.abs(at[name].acceleration - fine[name].acceleration).max() < 2e-2
    whole = mbd.simulate(system, 1.0, **how)
    assert at.stats["steps"] == pytest.approx(whole.stats["steps"], rel=1e-3)
    assert np.allclose(at.state.q, whole.state.q, rtol=0, atol=1e-8)


def test_requested_times_are_interpolated_to_the_order_of_the_method():
    system = chain(1, ("directors",))
    times = np.array([0.1234, 0.777])
    exact = mbd.simulate(system, 1.0, rtol=1e-9, t_eval=times)["bar 0"].position
    errors = [
        np.abs(mbd.simulate(system, 1.0, h, t_eval=times)["bar 0"].position - exact).max()
        for h in (4e-3, 2e-3, 1e-3)
    ]
    assert np.polyfit(np.log([4, 2, 1]), np.log(errors), 1)[0] == pytest.approx(2, abs=0.3)


def test_many_requested_times_in_one_step():
    times = np.linspace(0, 1, 250_001)
    system, _ = with_point("m", gravity=(0, 0, -9.81), velocity=(1, 0, 0))
    solution = mbd.simulate(system, 1.0, rtol=1e-3, max_step=0.5, t_eval=times)
    assert np.array_equal(solution.t, times)
    assert np.abs(solution["m"].position[:, 2] + 0.5 * 9.81 * times**2).max() < 1e-13
    assert solution.stats["steps"] < 60


@METHODS
def test_tolerances_by_kind_and_largest_step(method):
    options = {"rtol": 1e-7, "max_step": 0.5, "method": method}
    loose = mbd.simulate(chain(2), 0.5, atol=1e-2, **options)
    sharp = mbd.simulate(chain(2), 0.5, atol={"translation": 1e-12}, **options)
    assert loose.stats["steps"] < 0.5 * sharp.stats["steps"]
    short = mbd.simulate(chain(2), 0.5, rtol=1e-2, max_step=1e-3, method=method)
    assert np.diff(short.t).max() < 1.0001e-3


def test_free_steps_go_on_from_a_state():
    system = chain(2)
    whole = mbd.simulate(system, 1.0, rtol=1e-6)
    half = mbd.simulate(system, 0.5, rtol=1e-6)
    rest = mbd.simulate(system, 1.0, rtol=1e-6, state=half.state)
    assert np.abs(rest.q[-1] - whole.q[-1]).max() < 1e-5


@METHODS
def test_a_law_that_jumps_makes_short_steps_and_no_harm(method):
    system, mass = with_point("m")
    force = mbd.PointForce("f", mass, force=lambda t: (1.0 if t > 0.3 else 0.0, 0, 0))
    system.add(force)
    solution = mbd.simulate(system, 1.0, rtol=1e-6, method=method)
    assert solution["m"].position[-1, 0] == pytest.approx(0.5 * 0.7**2, abs=1e-5)
    assert np.diff(solution.t).min() < 1e-4


@pytest.mark.parametrize(("arguments", "error", "said"), [
    ({}, TypeError, "step .s. must be given, or rtol"),
    ({"rtol": 2.0}, ValueError, "rtol must be in"),
    ({"step": 1e-3, "atol": 1e-3}, ValueError, "atol belongs to free steps"),
    ({"step": 1e-3, "max_step": 1e-3}, ValueError, "max_step belongs to free steps"),
    ({"rtol": 1e-3, "atol": {"angle": 1}}, ValueError, "atol has no kind 'angle'; there are"),
    ({"step": 1e-3, "t_eval": [0.2, 0.1]}, ValueError, "t_eval must rise within"),
    ({"step": 1e-3, "t_eval": [0.2, 5.0]}, ValueError, "t_eval must rise within"),
    ({"step": 1e-3, "t_eval": [np.nan]}, ValueError, "t_eval must be finite"),
    ({"rtol": 1e-3, "method": mbd.LieRungeKutta4()}, ValueError, "need GeneralizedAlpha"),
    ({"rtol": 1e-3, "method": mbd.GeneralizedAlpha(linear_solver="splu")}, ValueError,
     "need linear_solver='fronts'"),
])  # fmt: skip
def test_refusals(arguments, error, said):
    with pytest.raises(error, match=said):
        mbd.simulate(chain(1), 1.0, **arguments)


def test_a_tolerance_that_is_less_than_round_off_says_so():
    with pytest.raises(mbd.SimulationError, match="over 1e\\+06 s leaves less than round-off"):
        mbd.simulate(chain(1), 1e6, rtol=1e-7, method=ALPHA)
