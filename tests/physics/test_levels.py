"""Rows met by positions, by velocities, and by both: orders, drift, smooth reactions."""

import numpy as np
import pytest
from families import spread
from scenes import chain
from scipy.integrate import solve_ivp

import mbd
from mbd.model.state import State
from mbd.model.workspace import Workspace

from .tools import RIGID, converge, ends, published, scene

LEVELS = ("position", "velocity", "stabilized")


def top(formulation, level, h, rho=0.8, t_end=0.1, **options):
    method = mbd.GeneralizedAlpha(rho=rho, constraints=level, **options)
    return mbd.simulate(scene("heavy_top").build(formulation), t_end, h, method=method)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("formulation", RIGID)
def test_heavy_top_is_second_order_in_positions_velocities_and_multipliers(formulation, level):
    exact = published("heavy top")["0.1"]
    method = mbd.GeneralizedAlpha(rho=0.8, constraints=level)
    run = ends(scene("heavy_top").build(formulation), 0.1, method=method, x="top.position",
               Omega="top.angular_velocity_body", reaction="pin.force")  # fmt: skip
    wide = {"x": 2e-4, "Omega": 5e-3, "reaction": 0.5}
    wanted = {name: exact[name] for name in wide}
    converge(run, wanted, step=5e-4, tolerance=wide, noise=1e-7)


@pytest.mark.filterwarnings("ignore:at velocity level positions left the rows")
@pytest.mark.parametrize("level", ["velocity", "stabilized"])
@pytest.mark.parametrize("formulation", RIGID)
def test_reactions_do_not_oscillate_near_rho_1_where_positions_alone_make_them(formulation, level):
    # directors at position level, rho = 0.9 and h = 1 ms are lost before t = 1 s
    solution = top(formulation, level, 1e-3, rho=0.9, t_end=1.0)
    force = solution["pin"].force
    rough = np.abs(np.diff(force, 2, axis=0)).max(0)
    assert np.all(rough < 0.15 * np.abs(force).max(0))
    error = np.abs(solution["top"].position[-1] - published("heavy top")["1.0"]["x"]).max()
    assert error < (0.1 if formulation in ("se3", "unified") else 1e-2)


@pytest.mark.filterwarnings("ignore:at velocity level positions left the rows")
def test_the_stabilised_form_is_the_most_accurate_on_the_heavy_top():
    exact = published("heavy top")["1.0"]["x"]
    errors = {
        level: np.abs(top("so3", level, 1e-3, rho=0.9, t_end=1.0)["top"].position[-1] - exact).max()
        for level in LEVELS
    }
    assert errors["stabilized"] < 0.1 * errors["position"]
    assert errors["stabilized"] < 3.8e-4  # of an established stabilised code at this step


def rates(solution):
    """Return the largest time derivative of a row over some instants."""
    work = Workspace(solution.model)
    found = 0.0
    for i in range(0, len(solution.t), max(1, len(solution.t) // 50)):
        work.load(
            State(solution.t[i], solution.q[i], solution.v[i], solution.a[i], solution.lam[i])
        )
        work.evaluate()
        found = max(found, np.abs(work.rates()[0]).max())
    return found


@pytest.mark.parametrize("formulations", [("so3",), tuple(RIGID)])
def test_a_hundred_thousand_steps_of_a_chain_of_ten_without_drift(formulations):
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    steps = 100_000 if formulations == ("so3",) else 5_000
    solution = mbd.simulate(chain(10, formulations), steps * 1e-3, 1e-3, method=method, every=500)
    assert solution.gap.max() < 1e-10
    assert rates(solution) < 5e-10  # 3e-11 to 2e-10: such a chain never moves twice alike


def test_what_each_level_keeps():
    solutions = {
        level: mbd.simulate(
            chain(3, RIGID), 1.0, 1e-3, method=mbd.GeneralizedAlpha(constraints=level)
        )
        for level in LEVELS
    }
    kept = {level: (s.gap.max(), rates(s)) for level, s in solutions.items()}
    assert kept["position"][0] < 1e-11
    assert kept["position"][1] > 1e-8
    assert kept["velocity"][0] > 1e-8
    assert kept["velocity"][1] < 1e-9
    assert max(kept["stabilized"]) < 1e-9


def force_of_a_bar(bar, t):
    """Return the force of its hinge on a bar let go horizontally, x and z, from energy [N]."""
    J, c, g = 0.02, 0.5, 9.81  # kg m^2, m, m/s^2
    w = bar.mass * g * c / (J + bar.mass * c * c)

    def slopes(_, y):
        return y[1], w * np.cos(y[0])

    angle, rate = solve_ivp(slopes, (0, t), (0, 0), method="DOP853", rtol=1e-13, atol=1e-15).y[
        :, -1
    ]
    x, z = np.array([np.cos(angle), -np.sin(angle)]), np.array([-np.sin(angle), -np.cos(angle)])
    return bar.mass * (c * (w * np.cos(angle) * z - rate**2 * x) + np.array([0, g]))


@spread(rho=[0.8, 0.9], level=LEVELS, formulation=RIGID)
def test_the_force_of_a_pendulum_at_any_step(formulation, level, rho):
    """Second order down to round-off: of positions at position level, which is divided by h^2."""
    # a peer's force flips from -1.67 N to +9.2 N between h = 1e-3 and 1e-4
    model = chain(1, (formulation,)).build()
    bar = next(iter(model.system.bodies.values()))
    exact = force_of_a_bar(bar, 0.1)
    for h in (1e-5, 1e-4, 1e-3, 1e-2):
        method = mbd.GeneralizedAlpha(rho=rho, constraints=level)
        solution = mbd.simulate(model, 0.1, h, method=method)
        force = solution[next(iter(model.system.joints))].force[-1, [0, 2]]
        noise = 2e3 * np.finfo(float).eps * bar.mass / h**2 if level == "position" else 1e-6
        assert np.abs(force - exact).max() < noise + 300 * h**2 * np.abs(exact).max(), h
        assert solution.gap.max() < (1e-12 if level != "velocity" else 1e-3)


@spread(formulation=RIGID, how=["t_end", "t_eval", "state", "event"])
def test_reactions_do_not_feel_a_change_of_the_step(formulation, how):
    """At position level too: a short last step, another step from a state on, an event."""
    system = chain(2, (formulation,))
    pin = list(system.joints)[1]
    model, end, h = system.build(), 0.60003, 3e-3

    def run(t_end, step, **options):
        return mbd.simulate(model, t_end, step, **options)

    exact = mbd.simulate(
        model, end, end / 6000, method=mbd.GeneralizedAlpha(constraints="stabilized")
    )[pin].force[-1]
    if how == "t_end":
        found = run(end, h)
    elif how == "t_eval":
        found = run(end, h, t_eval=[end])
    elif how == "state":
        found = run(end, 3e-5, state=run(0.6, h).state)
    else:
        found = run(1.0, h, events=mbd.Event("then", lambda s: s.t - end, terminal=True))
    assert abs(found.t[-1] - end) < 1e-9
    assert np.linalg.norm(found[pin].force[-1] - exact) < 3e-3 * np.linalg.norm(exact)


def test_free_steps_do_not_take_the_level_of_positions():
    assert mbd.simulate(chain(2), 0.1, rtol=1e-4, method=mbd.GeneralizedAlpha(rho=0.9)).success
    method = mbd.GeneralizedAlpha(rho=0.9, constraints="position")
    with pytest.raises(ValueError, match="rtol needs constraints='stabilized'"):
        mbd.simulate(chain(2), 0.1, rtol=1e-4, method=method)


def test_position_level_starts_without_ringing():
    """With shifted starting values the first reactions are as smooth as the later ones."""
    solution = mbd.simulate(chain(2), 0.2, 1e-3)
    force = solution[next(iter(solution.model.system.joints))].force
    second = np.abs(np.diff(force, 2, axis=0)).max(1)
    assert second[:20].max() < 3 * second[20:].max()
    assert second.max() < 1e-2 * np.abs(force).max()


@pytest.mark.parametrize("method", [
    mbd.GeneralizedAlpha.newmark(constraints="stabilized"),
    mbd.GeneralizedAlpha.hht(0.1),
    mbd.GeneralizedAlpha.hht(0.3, constraints="velocity"),
    mbd.GeneralizedAlpha.bossak(0.1),
    mbd.GeneralizedAlpha.bossak(0.2, constraints="stabilized"),
], ids=lambda m: f"{m.weights} {m.constraints}")  # fmt: skip
def test_other_members_of_the_family_are_second_order(method):
    fine = mbd.simulate(
        chain(2, ("so3", "directors")), 0.4, 1e-4, method=mbd.GeneralizedAlpha(tol=1e-10)
    )

    def run(h):
        solution = mbd.simulate(chain(2, ("so3", "directors")), 0.4, h, method=method)
        joint = next(iter(solution.model.system.joints))
        return {"q": solution.q[-1], "v": solution.v[-1], "force": solution[joint].force[-1]}

    joint = next(iter(fine.model.system.joints))
    exact = {"q": fine.q[-1], "v": fine.v[-1], "force": fine[joint].force[-1]}
    converge(run, exact, step=4e-3, tolerance=0.1, scatter=0.3)


def test_newmark_with_damping_is_of_first_order_and_loses_energy():
    method = mbd.GeneralizedAlpha.newmark(gamma=0.6)
    assert method.beta == pytest.approx(0.25 * 1.1**2)
    solution = mbd.simulate(scene("elastic_pendulum").build(), 2.0, 1e-2, method=method)
    assert solution.energy.total[-1] < solution.energy.total[0]


@pytest.mark.parametrize(("make", "said"), [
    (lambda: mbd.GeneralizedAlpha(constraints="index2"), "constraints must be one of position"),
    (lambda: mbd.GeneralizedAlpha.hht(0.5), r"alpha must be in \[0, 1/3\]"),
    (lambda: mbd.GeneralizedAlpha.bossak(-0.1), r"alpha must be in \[0, 1/3\]"),
])  # fmt: skip
def test_wrong_members_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize("level", ["velocity", "stabilized"])
def test_the_pivoting_solver_takes_the_same_steps(level):
    runs = [
        mbd.simulate(
            chain(2, RIGID),
            0.05,
            1e-3,
            method=mbd.GeneralizedAlpha(constraints=level, linear_solver=solver, newton="full"),
        )
        for solver in ("fronts", "splu")
    ]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)
    assert np.allclose(runs[0].lam, runs[1].lam, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["fourbar", "bennett", "bricard", "door", "n_fourbar"])
def test_redundant_loops_run_stabilised(name):
    method = mbd.GeneralizedAlpha(constraints="stabilized")
    solution = mbd.simulate(scene(name).build(), 0.5, 1e-3, method=method)
    assert solution.gap.max() < 1e-13
    assert rates(solution) < 1e-9


def test_a_loop_that_would_lock_by_drift_does_not_drift():
    method = mbd.GeneralizedAlpha(constraints="velocity")
    solution = mbd.simulate(scene("bennett").build(), 0.5, 1e-3, method=method)
    assert solution.gap.max() < 1e-13
    assert rates(solution) < 1e-9


def test_statics_is_no_trouble_at_any_level():
    for level in LEVELS:
        method = mbd.GeneralizedAlpha(constraints=level)
        solution = mbd.simulate(scene("column").build(), 0.05, 1e-3, method=method)
        assert np.abs(solution.q[-1] - solution.q[0]).max() < 1e-12
