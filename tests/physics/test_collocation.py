"""Collocation at the points of Radau: order, loops, rows of every kind, tolerances, events."""

import numpy as np
import pytest
from charts import TOP
from families import spread
from scenes import chain, hinged

import mbd
from mbd.algebra.radau_points import radau
from mbd.formulations.families import family
from mbd.machine import buffer as m
from mbd.model.workspace import Workspace

from .tools import RIGID, published, scene

SHARP = {s: mbd.RadauCollocation(stages=s, tol=1e-14) for s in (3, 5)}
OTHERS = {
    "scalable in u": mbd.Scalable(velocities="u"),
    "Euler parameters, B1": mbd.EulerParameters("full", force_map="B1"),
    "Euler parameters, reduced": mbd.EulerParameters("reduced"),
    "tetrahedral": mbd.Unified("tetrahedral"),
    "three angles": TOP,
}
FORMS = {**{name: name for name in RIGID}, **OTHERS}
MAPS = [("full", x) for x in ("B1", "H", "Q_p2")] + [("reduced", x) for x in ("B2", "H", "Q_p2")]
FREE = FORMS | {f"{form}, {x}": mbd.EulerParameters(form, x) for form, x in MAPS}
FREE["projected"] = mbd.EulerParameters("projected")


# --- the numbers of the method --------------------------------------------------------------------
@pytest.mark.parametrize("s", [3, 5])
def test_weights_are_those_of_collocation_and_sweeps_contract_as_told(s):
    """B(2s - 1) and C(s) of Butcher; the contraction over the imaginary and the negative axis."""
    r = radau(s)
    for k in range(1, 2 * s):
        assert r.A[-1] @ r.c ** (k - 1) == pytest.approx(1 / k, abs=2e-15)
    for k in range(1, s + 1):
        assert np.allclose(r.A @ r.c ** (k - 1), r.c**k / k, rtol=0, atol=2e-15)
    assert np.all(np.triu(r.W, 1) == 0.0)
    assert np.ptp(np.diag(r.W)) == 0.0
    worst = max(
        np.abs(np.linalg.eigvals(np.linalg.solve(np.eye(s) - z * r.W, z * (r.A - r.W)))).max()
        for size in np.logspace(-2, 4, 200) for z in (-size, 1j * size)
    )  # fmt: skip
    assert worst < {3: 0.25, 5: 0.38}[s]
    # y' = y over one step: e - R(1), of size C e
    step = np.linalg.solve(np.eye(s) - r.A, np.ones(s))
    error = abs(1 + r.A[-1] @ step - np.e)
    assert s == 5 or error == pytest.approx(r.error * np.e, rel=0.5)


@pytest.mark.parametrize("name", FORMS)
def test_the_rate_of_an_increment_moves_the_pose_with_the_velocity(name):
    """k = T^-1(d) v: the face at q [+] (d + e k) changes by Y v e."""
    system = mbd.System()
    system.add(mbd.RigidBody("body", mass=2.0, inertia=(0.3, 0.4, 0.5), position=(1, 2, 3),
                             formulation=FORMS[name]))  # fmt: skip
    model = system.build()
    work, rng = Workspace(model, model.state, own=int(model.I[m.N_U])), np.random.default_rng(4)
    n, d, v = model.n_v, work.vector(m.D), work.vector(m.V)
    at = model.numbering.v
    d[at], v[at] = 0.4 * rng.standard_normal(n), rng.standard_normal(n)
    work.evaluate()
    face, rate = (work.vector(k, 24)[12:].copy() for k in (m.Y, m.YD))
    flow = family(model.system["body"].formulation).flow
    flow(work.I, work.F, int(work.S[work.S[m.PLACE] + 1]))
    k, start = work.vector(m.METHOD)[at].copy(), d[at].copy()
    faces = []
    for e in (1e-4, -1e-4):
        d[at] = start + e * k
        work.evaluate()
        faces.append(work.vector(m.Y, 24)[12:].copy())
    assert np.abs(face).max() > 1.0
    assert np.allclose((faces[0] - faces[1]) / 2e-4, rate, rtol=0, atol=1e-6)


# --- order ----------------------------------------------------------------------------------------
def top(form, h, s, t_end=0.1):
    run = mbd.simulate(scene("heavy_top").build(form), t_end, h, method=SHARP[s], every=1000)
    body = run["top"]
    return {"x": body.position[-1], "v": body.velocity[-1], "R": body.rotation[-1],
            "Omega": body.angular_velocity_body[-1],
            "reaction": run["pin"].force[-1]}  # fmt: skip


def errors_of(values, exact):
    """Return errors relative to the largest entry, by name."""
    return {k: np.abs(values[k] - exact[k]).max() / np.abs(exact[k]).max() for k in exact}


@pytest.mark.parametrize("name", FORMS)
def test_the_heavy_top_is_of_order_five_and_nine(name):
    """The published end, in positions, velocities and the reaction; 150 rad/s."""
    exact = {k: np.array(x) for k, x in published("heavy top")["0.1"].items()}
    two, one = (errors_of(top(FORMS[name], h, 3), exact) for h in (1e-3, 5e-4))
    for quantity in exact:
        order = np.log2(two[quantity] / one[quantity])
        assert one[quantity] < 1e-11 or 4.3 < order < 8.0, f"{quantity}: {two}, {one}"
    nine = errors_of(top(FORMS[name], 2e-3, 5), exact)
    assert all(x < 2e-9 for x in nine.values()), nine
    nine = errors_of(top(FORMS[name], 1e-3, 5), exact)
    assert all(x < 1e-11 for x in nine.values()), nine


def squeezer(form, steps, s, t_end=0.01):
    run = mbd.simulate(scene("andrews").build(form), t_end, t_end / steps, method=SHARP[s],
                       every=steps)  # fmt: skip
    K1 = run["K1"]
    return np.array([*K1.at((0.007, 0, 0)).position[-1, :2], K1.angular_velocity[-1, 2] / 1e3,
                     *run["E3"].force[-1, :2] / 1e2])  # fmt: skip


@pytest.mark.parametrize("form", ["so3", "directors"])
def test_three_loops_of_spatial_hinges_are_of_order_five_and_meet_the_table(form):
    """Andrews' mechanism, planar loops of hinges in space: rows are redundant."""
    row = published("A03")["0.01"]
    exact = np.array([0.007 * np.cos(row[0]), 0.007 * np.sin(row[0]), row[7] / 1e3,
                      row[21] / 1e2, row[22] / 1e2])  # fmt: skip
    two, one = (np.abs(squeezer(form, n, 3) - exact) for n in (40, 80))
    assert np.all(np.log2(two[[0, 1, 2]] / one[[0, 1, 2]]) > 4.5), (two, one)
    fine = np.abs(squeezer(form, 40, 5) - exact)
    assert np.all(fine < (1e-14, 1e-14, 1e-12, 1e-7, 1e-7)), fine


@pytest.mark.parametrize("form", ["so3", "directors"])
def test_a_loop_of_four_hinges_keeps_its_rows_and_its_published_pose(form):
    """Bennett's linkage moves by its redundant rows alone: what they contradict is filtered."""
    system = scene("bennett").build(form)
    run = mbd.simulate(system, 1.0, 0.025, method=SHARP[5])
    assert run.gap.max() < 1e-13
    values = published("K03")["1.0"]
    for name, com in zip(run.model.nodes, values["com"], strict=True):
        where = run[name].at(run.model.system[name].center_of_mass).position[-1]
        assert np.allclose(where, com, rtol=0, atol=1e-12)
    ends = [mbd.simulate(system, 0.5, 0.5 / n, method=SHARP[3], every=n) for n in (20, 40, 160)]
    two, one = (np.abs(x.v[-1] - ends[-1].v[-1]).max() for x in ends[:2])
    assert 4.5 < np.log2(two / one) < 5.5


def test_formulations_mix_in_one_chain():
    """Bodies of four formulations on spherical joints move as those of a single one."""

    def run(forms):
        system = chain(
            4, forms, mass=lambda i: 1.0 + i, inertia=(0.1, 0.2, 0.15), angular_velocity=(0, 1, 2),
            velocity=lambda i: (0, 2 * i + 1, -i - 0.5),
        )  # fmt: skip
        return mbd.simulate(system, 0.2, 0.02, method=SHARP[5], project=True)

    mixed = run(("so3", "directors", "se3", "euler_parameters"))
    single = run(("so3",) * 4)
    for i in range(4):
        assert np.allclose(
            mixed[f"bar {i}"].position, single[f"bar {i}"].position, rtol=0, atol=1e-12
        )
        force = single[f"pin {i}"].force
        assert np.allclose(mixed[f"pin {i}"].force, force, rtol=0, atol=1e-9 * abs(force).max())


# --- rows of every kind ---------------------------------------------------------------------------
def test_a_row_on_velocities_keeps_the_order():
    """The skate on a slope, against its closed form."""
    exact = {t: row for _, t, row, *_ in scene("skate").REFERENCE[:2]}
    for s, n, error in ((3, 20, 3e-6), (3, 40, 1e-7), (5, 10, 2e-9), (5, 20, 4e-12)):
        run = mbd.simulate(scene("skate").build(), 2.0, 2.0 / n, method=SHARP[s])
        assert np.abs(run["skate"].position[n // 2] - exact[1.0]).max() < error
        assert np.abs(run["skate"].position[-1] - exact[2.0]).max() < error
        assert run.gap.max() < 1e-12


def driven():
    """Return an arm on a drive, a ball hanging on it by a rope."""
    system, arm, hinge = hinged("arm", position=(1, 0, 0))
    ball = system.add(mbd.PointMass("ball", mass=0.5, position=(2, 0, -1)))
    system.add(mbd.Distance("rope", mbd.Frame(arm, position=(1, 0, 0)), ball))
    system.add(mbd.Drive("motor", hinge.angle, position=mbd.Expression("0.35 * sin(3 * t) ** 2")))
    return system


def test_a_row_that_follows_a_law_of_time_keeps_the_order():
    """Against the pendulum with a moving support, in one angle."""
    from scipy.integrate import solve_ivp

    def support(t):  # acceleration of the end of the arm, (x, z); angles about y
        angle, rate = 0.35 * np.sin(3 * t) ** 2, 1.05 * np.sin(6 * t)
        second = 6.3 * np.cos(6 * t)
        end = 2.0 * np.array([np.cos(angle), -np.sin(angle)])
        return end, -(rate**2) * end + second * np.array([end[1], -end[0]])

    def rhs(t, y):  # ball at end + (sin, -cos) of y[0]
        a = support(t)[1] + (0, 9.81)
        return y[1], -(a[0] * np.cos(y[0]) + a[1] * np.sin(y[0]))

    exact = solve_ivp(rhs, (0, 1), (0, 0), method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]
    wanted = support(1.0)[0] + (np.sin(exact), -np.cos(exact))
    error = {}
    for s, n in ((3, 20), (3, 40), (5, 20)):
        run = mbd.simulate(driven(), 1.0, 1.0 / n, method=SHARP[s])
        error[s, n] = np.abs(run["ball"].position[-1, ::2] - wanted).max()
        assert run.gap.max() < 1e-13
    assert 4.5 < np.log2(error[3, 20] / error[3, 40]) < 5.5
    assert error[5, 20] < 1e-10


def test_rows_that_are_switched_off_stay_off():
    """Of two bars on hinges the second falls, and the first one swings as if it were alone."""
    runs = []
    for n in (1, 2):
        system = chain(n, joint="Revolute", inertia=(0.01, 0.1, 0.1))
        off = ("pin 1",) if n == 2 else ()
        runs.append(mbd.simulate(system, 0.5, 0.05, method=SHARP[5], off=off))
    assert np.allclose(*(run["bar 0"].position for run in runs), rtol=0, atol=1e-13)
    t = runs[1].t
    assert np.allclose(runs[1]["bar 1"].position[:, 2], -0.5 * 9.81 * t**2, rtol=0, atol=1e-13)
    assert np.all(runs[1]["pin 1"].force == 0.0)


# --- steps that are chosen, states within them, events --------------------------------------------
def test_ten_digits_cost_a_fraction_of_generalized_alpha():
    """Counted, heavy top for 0.1 s: evaluations of the model."""
    exact = published("heavy top")["0.1"]["x"]
    system = scene("heavy_top").build()
    high = mbd.simulate(system, 0.1, rtol=1e-9, method=mbd.RadauCollocation())
    second = mbd.simulate(system, 0.1, rtol=1e-6, method=mbd.GeneralizedAlpha())
    assert np.abs(high["top"].position[-1] - exact).max() < 1e-9
    assert np.abs(second["top"].position[-1] - exact).max() > 1e-9
    assert high.stats["evaluations"] < 0.3 * second.stats["evaluations"]
    # one factor a step, and those of rejected steps
    assert high.stats["factorizations"] < 2.5 * (high.stats["steps"] + high.stats["rejected"])


def test_states_within_steps_are_nearly_as_accurate():
    """Heavy top at 3/8 of a step, against steps that end there; order of q, v, then lam."""
    system = scene("heavy_top").build("directors")
    for s, of_motion, of_forces in ((3, 4.3, 3.3), (5, 5.5, 4.5)):
        errors = []
        for n in (20, 40):
            h, method = 0.02 / n, SHARP[s]
            t = h * (n - 5 / 8)
            run = mbd.simulate(system, 0.02, h, t_eval=[t], method=method)
            ends = mbd.simulate(system, t, t / 100, method=SHARP[5], every=100)
            assert run.t.tolist() == [t]
            assert run.gap.max() < 1e-12
            errors.append([np.abs(a[-1] - b[-1]).max() / np.abs(b[-1]).max()
                           for a, b in ((run.q, ends.q), (run.v, ends.v), (run.lam, ends.lam))]
                          )  # fmt: skip
        order = np.log2(np.array(errors[0]) / errors[1])
        small = np.array(errors[1]) < (1e-13, 1e-12, 1e-9)
        assert np.all(small | (order > (of_motion, of_motion, of_forces))), (errors, order)


def test_energy_is_kept_to_what_the_step_resolves():
    method = mbd.RadauCollocation(tol=1e-18)
    run = mbd.simulate(scene("heavy_top").build(), 1.0, 2e-3, method=method)
    assert run.stats["rejected"] == 0  # a tolerance below round-off does not fail a step
    assert np.abs(run.energy.total / run.energy.total[0] - 1).max() < 3e-12


# --- what goes wrong ------------------------------------------------------------------------------
def test_steps_that_are_too_large_are_taken_in_parts():
    """A step of a whole turn of the top fails with any matrix: halves of it, and so on, do not."""
    exact = published("heavy top")["0.1"]["x"]
    run = mbd.simulate(scene("heavy_top").build(), 0.1, 0.05, method=mbd.RadauCollocation())
    assert run.stats["steps"] == 2
    assert run.stats["rejected"] > 2
    assert np.abs(run["top"].position[-1] - exact).max() < 1e-6


def test_a_stiff_spring_that_turns_does_not_stop_it():
    """k = 1e8 N/m beside a slow motion: no order is lost where the spring is at rest."""
    system, bar, _ = hinged("bar", "pin", inertia=(0.01, 0.1, 0.1))
    ball = system.add(mbd.PointMass("ball", mass=1.0, position=(1.5, 0, 0)))
    end = mbd.Frame(bar, position=(0.5, 0, 0))
    system.add(mbd.Spring("stiff", end, ball, stiffness=1e8, damping=5e4, length=0.5))
    ends = [
        mbd.simulate(system, 0.3, rtol=rtol, method=mbd.RadauCollocation(3))["ball"].position[-1]
        for rtol in (1e-5, 1e-7, 1e-9)
    ]
    assert np.abs(ends[0] - ends[2]).max() < 1e-5
    assert np.abs(ends[1] - ends[2]).max() < 1e-7


def test_a_singular_pose_stops_the_run_by_name():
    """Four-bars in a row are flat at 0.73 s: rows of accelerations have lower rank there."""
    with pytest.raises(mbd.SimulationError, match="singular pose.*GeneralizedAlpha") as error:
        mbd.simulate(scene("n_fourbar").build(), 2.0, 0.01, method=mbd.RadauCollocation())
    assert 0.5 < error.value.solution.t[-1] < 1.0
    assert error.value.solution.gap.max() < 1e-10


@spread(formulation=RIGID, n=[1, 2, 3], rtol=[1e-4, 1e-7])
def test_flat_poses_are_stepped_over_where_steps_are_chosen(n, rtol, formulation):
    """Four-bars in a row keep their energy at a pose into which steps shrank, and every instant."""
    solution = mbd.simulate(scene("n_fourbar").build(n, formulation), 1.0, rtol=rtol)
    assert np.ptp(solution.energy.total) < 10 * rtol * np.ptp(solution.energy.kinetic)
    assert (np.diff(solution.t) > 0).all()
    times = np.linspace(0.0, 1.0, 41)
    given = mbd.simulate(scene("n_fourbar").build(n, formulation), 1.0, rtol=rtol, t_eval=times)
    assert np.array_equal(given.t, times)
    assert np.ptp(given.energy.total) < 10 * rtol * np.ptp(given.energy.kinetic)
    for i in range(1, n + 1):
        assert np.abs(solution[f"top {i}"].rotation - np.eye(3)).max() < 10 * rtol


def test_what_it_does_not_take_is_refused_by_name():
    for stages in (4, 0, 2.5, "5", True, None):
        with pytest.raises((ValueError, TypeError), match="RadauCollocation: stages must be"):
            mbd.RadauCollocation(stages)
    for tol in (0.0, 1.0, np.nan, "small"):
        with pytest.raises((ValueError, TypeError), match="RadauCollocation: tol must be"):
            mbd.RadauCollocation(tol=tol)
    with pytest.raises(ValueError, match="max_iterations must be a whole number, at least 2"):
        mbd.RadauCollocation(max_iterations=1)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", FREE)
def test_multipliers_that_carry_nothing_stop_no_sweep(name, held):
    """Force maps without a share of inertia, and a ball joint between two mass centres."""
    system = mbd.System()
    J, omega = np.diag([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    options = {"velocity": (1, 0, 0), "angular_velocity": omega, "formulation": FREE[name]}
    a = system.add(mbd.RigidBody("a", mass=1.0, inertia=J, **options))
    if held:
        b = system.add(mbd.RigidBody("b", mass=2.0, inertia=J, velocity=(1, 0, 0)))
        system.add(mbd.Spherical("ball", a, b, at=(0, 0, 0)))
    for h in (0.05, 0.01):
        body = mbd.simulate(system, 1.0, h, method=SHARP[5])["a"]
        momentum = (body.rotation[-1] @ J @ body.rotation[-1].T) @ body.angular_velocity[-1]
        np.testing.assert_allclose(momentum, J @ omega, atol=1e-9)
        np.testing.assert_allclose(
            body.angular_velocity[-1] @ momentum, omega @ J @ omega, rtol=1e-9
        )


def test_velocities_of_round_off_choose_no_steps():
    """Four discs on one axis turn at 3 rad/s; their origins move by round-off alone."""
    system = mbd.System()
    before = system.ground
    for i in range(4):
        disc = mbd.RigidBody(
            f"disc {i}", mass=1.0, inertia=(1, 1, 2), position=(0.1, 0.2, 0.3 + 0.2 * i),
            angular_velocity=(0, 0, 3.0), formulation="euler_parameters",
        )  # fmt: skip
        system.add(disc)
        at = (0.1, 0.2, 0.3 if i == 0 else 0.2 + 0.2 * i)
        hinge = system.add(mbd.Revolute(f"h{i}", before, disc, at=at, axis=(0, 0, 1)))
        if i == 0:
            system.add(mbd.Motor("m", hinge.angle, lambda u, rate, t: -5 * np.sin(7 * t)))
        before = disc
    run = mbd.simulate(system, 2.0, rtol=1e-6, method=mbd.RadauCollocation())
    assert run.stats["steps"] < 40
    assert run.stats["rejected"] < 4


# --- large round-off ------------------------------------------------------------------------------
def ball(J, formulation):
    """A mass on a string that turns about it: about the string it has next to no inertia."""
    system = mbd.System(gravity=(0, 0, -9.81))
    body = mbd.RigidBody(
        "b", mass=1.0, inertia=(J, J, J), position=(0.5, 0.1, 0.2), angular_velocity=(1, 2, 3),
        formulation=formulation,
    )  # fmt: skip
    system.add(body)
    system.add(mbd.Spherical("h", system.ground, body, at=(0, 0, 0)))
    return system


@pytest.mark.parametrize("formulation", ["so3", "se3", "directors", "euler_parameters"])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_round_off_of_small_inertia_chooses_no_steps(formulation, rtol):
    """1e-16 of the pull of the string is 1e-4 of what turns the body: no step is small enough."""

    def run(J):
        return mbd.simulate(
            ball(J, formulation), 0.3, method=mbd.RadauCollocation(), rtol=rtol, project=True
        )

    ends = []
    for J in 10.0 ** np.arange(-4, -13, -2):
        solution = run(J)
        assert solution.stats["steps"] < 400, J
        ends.append(solution["b"].position[-1])
    assert np.abs(ends[-1] - ends[2]).max() < 1e2 * rtol + 1e-7  # the path without inertia
