"""Closed loops: redundant rows, paradoxical mechanisms, singular poses (A02-A04, K01, K03, K05)."""

import numpy as np
import pytest
from families import some, spread
from scipy.integrate import solve_ivp

import mbd

from .tools import PUBLISHED, RIGID, SHARP, converge, ends, planar, published, scene

FREEDOMS = {  # scene, options: freedoms, count of Gruebler, redundant rows
    "fourbar": (1, -2, 3),
    "door": (1, -4, 5),
    "slider_crank": (1, -2, 3),
    "bennett": (1, -2, 3),
    "bricard": (1, 0, 1),
    "hooke": (1, -2, 3),
    "n_fourbar": (1, -2, 3),
    "andrews": (1, -8, 9),
}


@pytest.mark.parametrize("formulation", RIGID)
@pytest.mark.parametrize("name", FREEDOMS)
def test_freedoms_and_redundant_rows_are_counted_right(name, formulation):
    report = scene(name).build(formulation=formulation).build().report()
    found = (report.freedoms, report.gruebler_freedoms, report.n_redundant)
    assert found == FREEDOMS[name]
    assert len(report.redundant) == FREEDOMS[name][2]
    assert report.not_unique


@pytest.mark.parametrize("formulation", RIGID)
@pytest.mark.parametrize("name", FREEDOMS)
def test_loops_stay_closed_to_round_off(name, formulation):
    s = scene(name)
    t_end = 0.1 * s.RUN["t_end"]
    solution = mbd.simulate(s.build(formulation=formulation), t_end, s.RUN["step"], every=10)
    assert solution.gap.max() < 1e-10
    assert solution.gap[-1] < 1e-10


def test_passing_the_singular_pose_of_a_four_bar_changes_the_freedoms_and_not_the_motion():
    s = scene("n_fourbar")
    model = s.build().build()
    solution = mbd.simulate(model, 1.0, 1e-3)
    y = solution["bar 0"].at((0.5, 0, 0)).position[:, 1]
    i = int(np.argmin(np.abs(y)))  # bars on one line, nearly
    q = solution.q[i]
    state = mbd.State(solution.t[i], q, solution.v[i], solution.a[i], solution.lam[i])
    singular_values = np.linalg.svd(model.assemble(state).B.toarray(), compute_uv=False)
    assert singular_values[17] < 3 * abs(y[i])  # the eighteenth falls to zero with the height
    assert model.report(state).freedoms == 1
    # a parallelogram before and after: the top bar does not turn
    assert np.abs(solution["top 1"].rotation - np.eye(3)).max() < 1e-9


@spread(formulation=RIGID, n=[1, 2])
def test_four_bars_in_a_row_pass_singular_poses(n, formulation):
    x, y, vx, vy = published("A02")[str(n)]["2"][:4]
    exact = {"B0": planar((x, y)), "v": planar((vx, vy))}
    top = "bar 0(0.5, 0, 0)"
    system = scene("n_fourbar").build(n, formulation)
    run = ends(system, 2.0, B0=f"{top}.position", v=f"{top}.velocity")
    converge(run, exact, step=2e-3, tolerance={"B0": 1e-8, "v": 1e-7})


@pytest.mark.slow
@pytest.mark.parametrize("step", [1e-2, 5e-3])
def test_forty_windows_swing_for_the_published_time(step):
    """At 18.42 s all bars are nearly on one line: iterations shrink slowly there, and arrive."""
    solution = mbd.simulate(scene("n_fourbar").build(40), 20.0, step, every=10)
    assert solution.success
    assert solution.gap.max() < 1e-11
    energy = solution.energy.total
    assert np.ptp(energy) < 5e-3 * step / 1e-2 * np.ptp(solution.energy.kinetic)


@spread(newton=["modified", "full"], h=[1e-3, 1e-4], formulation=RIGID)
def test_parallelogram_without_redundant_rows_passes_its_singular_pose(formulation, h, newton):
    spatial = scene("n_fourbar").build(1, formulation)
    system = mbd.System(gravity=spatial.gravity)
    system.ground = spatial.ground
    for body in spatial.bodies.values():
        system.add(body)
    for name, joint in spatial.joints.items():
        loose = name == "right 1"
        system.add(mbd.PointOnLine(name, joint.A, joint.B) if loose else joint)
    model = system.build()
    assert model.report().n_redundant == 0
    method = mbd.GeneralizedAlpha(newton=newton)
    solution = mbd.simulate(model, 1.0, h, method=method, every=10)
    assert np.abs(solution["top 1"].rotation - np.eye(3)).max() < 1e-9
    B0 = solution["bar 0"].at((0.5, 0, 0)).position[-1, :2]
    assert np.abs(B0 - published("A02")["1"]["1"][:2]).max() < 40 * h**2


def squeezer(h, formulation, t_end=0.03):
    """Return the unknowns of the test set: angles (whole turns left out), rates, multipliers."""
    s = scene("andrews")
    solution = mbd.simulate(s.build(formulation), t_end, h, method=SHARP, every=1_000_000)

    def turn(name):
        R = solution[name].rotation[-1]
        return np.arctan2(R[1, 0], R[0, 0])

    def rate(name):
        return solution[name].angular_velocity[-1, 2]

    def seven(of, half):
        k = {name: of(name) for name in ("K1", "K2", "K3", "K4", "K5", "K6", "K7")}
        return np.array(
            [
                k["K1"],
                k["K2"] - k["K1"] - 2 * half,
                k["K3"] + half,
                k["K4"] - k["K5"] + half,
                k["K5"],
                k["K6"] - k["K7"] - half,
                k["K7"] + half,
            ]
        )

    angles = seven(turn, np.pi / 2)
    return {
        "cos": np.cos(angles),
        "sin": np.sin(angles),
        "rates": seven(rate, 0.0),
        "multipliers": np.concatenate([solution[j].force[-1, :2] for j in ("E3", "E4", "E6")]),
        "out of plane": np.array([np.abs(solution[j].force[:, 2]).max() for j in ("O", "E4", "H")]),
    }


@pytest.mark.parametrize("formulation", some(RIGID, 3))
def test_andrews_squeezer_meets_the_test_set_and_its_recomputed_values(formulation):
    exact, printed = (
        {
            "cos": np.cos(v[:7]),
            "sin": np.sin(v[:7]),
            "rates": np.array(v[7:14]),
            "multipliers": np.array(v[21:27]),
            "out of plane": np.zeros(3),
        }
        for v in (published("A03")["0.03"], PUBLISHED["A03"]["published"])
    )
    tolerance = {
        "cos": 2e-8, "sin": 2e-8, "rates": 2e-5, "multipliers": 5e-4, "out of plane": 1e-6,
    }  # fmt: skip
    noise = dict.fromkeys(exact, 1e-8)
    if formulation == "unified":  # mixes motions in and out of the plane: round-off over h^2
        tolerance["out of plane"] = noise["out of plane"] = 2e-3
    converge(lambda h: squeezer(h, formulation), exact, step=1e-5, tolerance=tolerance, noise=noise)
    # the values printed with the test set are themselves off by this much
    for name, of in (("cos", 2e-9), ("sin", 2e-9), ("rates", 1e-6), ("multipliers", 2e-5)):
        assert np.abs(exact[name] - printed[name]).max() < of


@pytest.mark.parametrize("formulation", RIGID)
def test_bricard_mechanism(formulation):
    tips = [f"rod {i}(0.5, 0, 0)" for i in range(1, 6)]
    run = ends(scene("bricard").build(formulation), 1.0, pos=[f"{x}.position" for x in tips],
               vel=[f"{x}.velocity" for x in tips])  # fmt: skip
    converge(run, published("A04")["1.0"], step=2e-3, tolerance={"pos": 1e-11, "vel": 1e-10})


@pytest.mark.parametrize("formulation", RIGID)
def test_bennett_linkage(formulation):
    names = ("link 1", "link 2", "link 3")
    what = {"com": "position", "v": "velocity", "R": "rotation"}
    run = ends(scene("bennett").build(formulation), 1.0, qdot="link 1.angular_velocity",
               **{k: [f"{b}.{x}" for b in names] for k, x in what.items()})  # fmt: skip
    values = published("K03")["1.0"]
    exact = {k: values[k] for k in what} | {"qdot": (0.0, 0.0, values["qdot"])}
    converge(run, exact, step=2e-3, tolerance={"com": 1e-10, "v": 1e-9, "R": 1e-10, "qdot": 1e-9})


@pytest.mark.parametrize("formulation", RIGID)
def test_hooke_joint_turns_its_shafts_and_passes_their_torques(formulation):
    x = published("K05")["1"]
    names = (
        "theta1",
        "omega1",
        "omega2",
        "alpha1",
        "alpha2",
        "torque_in_shaft",
        "torque_out_shaft",
    )
    beta = scene("hooke").BETA
    axes = np.array([[1, 0, 0], [np.cos(beta), np.sin(beta), 0]])

    def run(h):
        system = scene("hooke").build(formulation)
        solution = mbd.simulate(system, 1.0, h, method=SHARP, every=1_000_000)
        shafts = solution["input"], solution["output"]
        arm = shafts[0].rotation[-1, :, 1]
        cross = solution["cross"]
        values = [np.arctan2(arm[2], arm[1]) + 4 * np.pi]
        values += [s.angular_velocity[-1] @ a for s, a in zip(shafts, axes, strict=True)]
        values += [s.angular_acceleration[-1] @ a for s, a in zip(shafts, axes, strict=True)]
        values.append(cross.reaction(on="first").moment[-1] @ axes[0])
        values.append(cross.moment[-1] @ axes[1])
        return dict(zip(names, values, strict=True))

    tolerance = dict.fromkeys(names[:3], 5e-9) | dict.fromkeys(names[3:], 5e-6)
    noise = dict.fromkeys(names[:3], 1e-9) | dict.fromkeys(names[3:], 1e-4)
    converge(
        run, {n: x[n] for n in names}, step=2e-3, tolerance=tolerance, noise=noise, levels=4,
        coarse=names[3:],
    )  # fmt: skip


@pytest.mark.parametrize("formulation", RIGID)
def test_slider_crank_runs_freely(formulation):
    bodies, values = ("crank", "rod", "slider"), published("K01")["1.0"]
    run = ends(scene("slider_crank").build(formulation), 1.0, qdot="crank.angular_velocity",
               com=[f"{b}.position" for b in bodies], v=[f"{b}.velocity" for b in bodies]
               )  # fmt: skip
    exact = {"com": values["com"], "v": values["v"], "qdot": (0.0, 0.0, values["qdot"])}
    converge(run, exact, step=1e-3, tolerance={"com": 5e-10, "v": 1e-9, "qdot": 5e-9})


def crank_rocker(t):
    """Return angle and rate of the crank of the scene `fourbar` at some times.

    One equation in the crank angle: I theta'' + I'/2 theta'^2 + V' = 0 with 2 T = I theta'^2.
    """
    s = scene("fourbar")
    a, b, c, d, g = s.CRANK, s.COUPLER, s.ROCKER, s.GROUND, 9.81

    def angles(x):
        """Angles of coupler and rocker, open assembly; analytic, so that complex steps work."""
        px, pz = d - a * np.cos(x), -a * np.sin(x)
        D2 = px * px + pz * pz
        along = (b * b - c * c + D2) / 2
        up = np.sqrt(b * b * D2 - along * along)
        # cos and sin of the coupler, then of the rocker
        cb, sb = (along * px - up * pz) / (D2 * b), (along * pz + up * px) / (D2 * b)
        cc = (a * np.cos(x) + b * cb - d) / c
        sc = (a * np.sin(x) + b * sb) / c
        return cb, sb, cc, sc

    def inertia(x):
        cb, sb, cc, sc = angles(x)
        ca, sa = np.cos(x), np.sin(x)
        across = cb * sc - sb * cc  # sin(rocker - coupler)
        wb = a * (sc * ca - cc * sa) / (b * -across)
        wc = a * (sa * cb - ca * sb) / (c * across)
        v2 = a * a + a * b * wb * (ca * cb + sa * sb) + b * b * wb * wb / 4
        return a * a * a / 3 + b * (v2 + b * b * wb * wb / 12) + c * c * c * wc * wc / 3

    def potential(x):
        _, sb, _, sc = angles(x)
        sa = np.sin(x)
        return g * (a * a * sa / 2 + b * (a * sa + b * sb / 2) + c * c * sc / 2)

    def rhs(_, y):
        x, w = y
        dI = inertia(x + 1e-30j).imag / 1e-30
        dV = potential(x + 1e-30j).imag / 1e-30
        return [w, -(0.5 * dI * w * w + dV) / inertia(x)]

    return solve_ivp(
        rhs, (0, max(t)), (s.ANGLE, s.RATE), "DOP853", t_eval=t, rtol=1e-13, atol=1e-14
    ).y


@spread(formulation=RIGID, closing=["revolute", "point on line"])
def test_four_bar_with_and_without_redundant_rows_follows_its_equation(closing, formulation):
    s = scene("fourbar")
    (angle,), (rate,) = crank_rocker([1.0])
    model = s.build(formulation, closing).build()
    assert model.report().n_redundant == (3 if closing == "revolute" else 0)
    run = ends(model.system, 1.0, x="crank.position", rate="crank.angular_velocity")
    A = s.CRANK * np.array([np.cos(angle), 0.0, np.sin(angle)])
    exact = {"x": A / 2, "rate": (0.0, -rate, 0.0)}
    converge(run, exact, step=1e-3, tolerance={"x": 2.5e-9 * s.CRANK, "rate": 2e-7})


@pytest.mark.parametrize("formulation", RIGID)
def test_redundant_four_bar_shares_no_force_out_of_its_plane(formulation):
    s = scene("fourbar")
    redundant = mbd.simulate(s.build(formulation), 1.0, 1e-3, method=SHARP)
    equivalent = mbd.simulate(s.build(formulation, "point on line"), 1.0, 1e-3, method=SHARP)
    assert redundant.gap.max() < 1e-12
    largest = np.abs(equivalent["hinge O"].force).max()
    for name in ("hinge O", "hinge A", "hinge B", "hinge C"):
        x, y = redundant[name], equivalent[name]
        small = (1e-5 if formulation == "unified" else 1e-6) * largest
        assert np.abs(x.force[:, 1]).max() < small
        assert np.abs(x.moment[:, [0, 2]]).max() < small
        assert np.allclose(x.force[:, [0, 2]], y.force[:, [0, 2]], rtol=0, atol=1e-6 * largest)
    for name in ("crank", "coupler", "rocker"):
        assert np.allclose(redundant[name].position, equivalent[name].position, rtol=0, atol=1e-9)


def test_door_shares_its_weight_between_the_hinges():
    # the smallest reactions in the metric of the rows: even in the symmetric start
    s = scene("door")
    solution = mbd.simulate(s.build(), 0.5, 1e-3, method=SHARP)
    axis = np.array([np.sin(s.LEAN), 0, np.cos(s.LEAN)])
    lower, upper = (solution[f"{w} hinge"].force @ axis for w in ("lower", "upper"))
    assert np.isclose(lower[0], upper[0], rtol=1e-6)
    assert np.allclose(lower, upper, rtol=0.01)
    weight = s.MASS * 9.81 * np.cos(s.LEAN)
    assert np.allclose(lower + upper, weight, rtol=1e-6)


@pytest.mark.parametrize("formulation", RIGID)
def test_rows_on_one_body_alone_are_counted_with_those_that_hold_it(formulation):
    """The rank is that of the matrix, also where what a body wears repeats what its joints do."""
    for joint, count in (("Fixed", 1), ("Revolute", 1), ("Spherical", 2), (None, 2)):
        system = mbd.System(gravity=(0.3, 0.1, -0.5))
        body = mbd.RigidBody(
            "body", mass=1.3, inertia=(0.2, 0.3, 0.4), position=(0.1, 0, 0), formulation=formulation
        )
        system.add(body)
        if joint:
            axis = {"axis": (1, 0, 0)} if joint == "Revolute" else {}
            system.add(getattr(mbd, joint)("joint", system.ground, body, at=(0, 0, 0), **axis))
        for i in range(count):
            system.add(mbd.NonTwisting(f"worn {i}", body))
        model = system.build()
        rank = np.linalg.matrix_rank(model.assemble().B.toarray())
        assert model.report().rank == rank
        assert model.report().freedoms == model.n_v - rank
        assert len(model.report().redundant) == model.n_lam - rank
        solution = mbd.simulate(model, 0.1, 1e-3)
        assert solution.gap.max() < 1e-10
        assert abs(solution.energy.balance[-1] - solution.energy.balance[0]) < 1e-6
