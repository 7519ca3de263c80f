"""Comparisons: formulations with options, rates, moments and loads, steps, pictures of nothing."""

import math

import matplotlib as mpl
import numpy as np
import pytest

import mbd
from mbd.studies.compare import chosen
from mbd.studies.error_measures import comparable, determined

mpl.use("Agg")

FEW = {"turns": 0, "steps": [4e-3, 2e-3], "t_end": 0.1}


def rod(formulation, drive=False):
    """A rod that falls on a skew hinge, free or driven."""
    system = mbd.System(gravity=(0, 0, -9.81))
    body = system.add(
        mbd.RigidBody("rod", mass=1.0, inertia=(0.02, 0.1, 0.11), position=(0.5, 0, 0.2),
                      formulation=formulation)
    )  # fmt: skip
    hinge = system.add(mbd.Revolute("hinge", system.ground, body, at=(0, 0, 0), axis=(0, 1, 1)))
    if drive:
        system.add(mbd.Drive("drive", hinge.angle, velocity=lambda t: (2 * t, 2.0)))
    return system


def names(found):
    return list(dict.fromkeys(row["formulation"] for row in found.rows))


# --- methods --------------------------------------------------------------------------------------
class Euler:
    """Symplectic, of order one; rows are met by their second rates."""

    orders = (1, 1)

    def step(self, model, state, h):
        A, n = model.assemble(state), model.n_v
        S = np.block(
            [[A.M.toarray(), A.Bt.toarray()], [A.B.toarray(), np.zeros((model.n_lam,) * 2)]]
        )
        f = A.M @ state.a + A.Bt @ state.lam - A.residual
        x = np.linalg.solve(S, np.concatenate([f, A.rates.right]))
        v = state.v + h * x[:n]
        return model.moved(state, h * v).replace(t=state.t + h, v=v, a=x[:n], lam=x[n:])


def test_formulations_by_several_methods():
    methods = [
        mbd.GeneralizedAlpha(),
        mbd.GeneralizedAlpha(rho=0.5),
        mbd.RadauCollocation(),
        Euler(),
    ]
    found = mbd.compare(rod, formulations="so3,unified", method=methods, **FEW)
    words = ["GeneralizedAlpha", "GeneralizedAlpha(rho=0.5)", "RadauCollocation", "Euler"]
    assert [x for x, _ in found.groups()] == [
        f"{f}, {w}" for w in words for f in ("so3", "unified")
    ]
    rows = {(r["formulation"], r["method"], r["step"]): r for r in found.rows}
    assert len(rows) == 16
    for formulation in ("so3", "unified"):
        best, own = (rows[formulation, w, 2e-3] for w in words[2:])
        assert best["rotation_error"] < 1e-6 < own["rotation_error"]
        assert abs(own["rotation_order"] - 1) < 0.2
        assert own["iterations"] == 0
        assert own["rotation_drift"] < 1e-14
        assert 1 < best["condition"] < 1e9
        alone = mbd.compare(rod, formulations="so3," + formulation, method=Euler(), reference=None,
                            **FEW)  # fmt: skip
        assert "Euler" in str(alone)
    assert "so3, GeneralizedAlpha(rho=0.5)" in str(found)
    assert "4 methods" in found.title
    text = mbd.compare(rod, formulations="so3", method="EnergyMomentum, GeneralizedAlpha(rho=1.0)",
                       **FEW)  # fmt: skip
    assert [r["method"] for r in text.rows[::2]] == ["EnergyMomentum", "GeneralizedAlpha"]


def test_methods_that_are_none_are_refused():
    with pytest.raises(
        ValueError, match="method must be an integrator, or several in a list, got no"
    ):
        mbd.compare(rod, method=[], **FEW)
    with pytest.raises(TypeError, match="compare: method must be one of"):
        mbd.compare(rod, method=[mbd.GeneralizedAlpha(), 3], **FEW)


# --- formulations ---------------------------------------------------------------------------------
def test_sets_are_told_apart_and_each_runs_once():
    given = ["unified", mbd.Unified("tetrahedral"), mbd.Unified(), "Unified('tetrahedral')"]
    found = mbd.compare(rod, formulations=given, **FEW)
    assert names(found) == ["unified", "unified (tetrahedral)"]
    assert [row["step"] for row in found.rows] == [4e-3, 2e-3] * 2
    lines = [line.split("  ")[0] for line in str(found).splitlines()]
    assert "unified (tetrahedral)" in lines
    assert sum(line.split()[:1] == ["order"] for line in str(found).splitlines()) == 4
    legend = found.plot().legends[0].get_texts()
    assert [x.get_text() for x in legend] == names(found)


def test_formulations_of_one_name_are_numbered():
    sets = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        sets.append(
            mbd.Unified(points=rng.uniform(-1, 1, (6, 3)), directions=rng.normal(size=(6, 3)))
        )
    assert sets[0] is not sets[1]
    found = chosen("compare", [*sets, sets[0], "unified"])
    assert [one.name for one in found] == ["unified (own set)", "unified (own set) 2", "unified"]


@pytest.mark.parametrize("reference", [
    "euler_parameters (reduced, B1)", "EulerParameters('reduced')", mbd.EulerParameters("reduced"),
])  # fmt: skip
def test_reference_may_have_options(reference):
    given = ["so3", mbd.EulerParameters("reduced")]
    found = mbd.compare(rod, formulations=given, reference=reference, **FEW)
    assert found.reference.startswith("euler_parameters (reduced, B1), extrapolated")


def test_multipliers_of_forms_are_compared():
    given = "euler_parameters,EulerParameters('reduced'),EulerParameters('projected')"
    found = mbd.compare("multipliers", formulations=given, t_end=0.1, steps=[2e-3, 1e-3], turns=0)
    own = [row["own_multiplier"] for row in found.rows[1::2]]
    energy = 2 * np.dot((0.3, 0.3, 0.5), np.square((3.0, -4.0, 5.0)))  # 4 T of the scene
    assert own == pytest.approx([energy + 8.0, energy, 0.0], rel=1e-4, abs=1e-6)
    refused = mbd.compare("multipliers", formulations="euler_parameters,so3", **FEW).rows[-1]
    assert refused["status"] == "refused"
    assert "formulation must be Euler parameters" in refused["message"]


# --- quantities -----------------------------------------------------------------------------------
def test_rates_and_moments_have_errors_of_second_order():
    found = mbd.compare(rod, formulations="so3,directors,se3", turns=0, t_end=0.5,
                        steps=[4e-3, 2e-3, 1e-3])  # fmt: skip
    for row in found.rows:
        for what in ("angular_velocity", "force", "moment"):
            assert row[f"{what}_error"] > 0
            assert abs(row[f"{what}_order"] - 2) < 0.15, (row["formulation"], what)
        assert row["moment_error_relative"] < 1e-3
        assert math.isnan(row["load_error"])
    assert found.telling == (
        "position", "rotation", "velocity", "angular_velocity", "force", "moment",
    )  # fmt: skip


def test_errors_of_rates_are_those_of_the_solution():
    reference = mbd.simulate(rod("so3"), 0.1, 1e-4)
    run = mbd.simulate(rod("directors"), 0.1, 4e-3)
    found = mbd.compare(rod, formulations="directors", reference=reference, turns=0, t_end=0.1,
                        steps=[4e-3])  # fmt: skip
    for what, part, name in (
        ("angular_velocity", "rod", "angular_velocity"), ("moment", "hinge", "moment"),
        ("force", "hinge", "force"),
    ):  # fmt: skip
        a, b = (getattr(x[part], name)[-1] for x in (run, reference))
        assert found.rows[0][f"{what}_error"] == pytest.approx(np.linalg.norm(a - b), rel=1e-6)


def test_loads_of_drives_are_compared():
    found = mbd.compare(rod, formulations="so3", drive=True, turns=0, t_end=0.5,
                        steps=[4e-3, 2e-3, 1e-3])  # fmt: skip
    for row in found.rows:
        assert row["load_error"] > 0
        assert abs(row["load_order"] - 2) < 0.15
    exact = {"hinge.moment": (0.0, 0.0, 0.0), "drive.load": 0.0}
    known = mbd.compare(rod, formulations="so3", drive=True, reference=exact, **FEW)
    run = mbd.simulate(rod("so3", drive=True), 0.1, 4e-3)
    assert known.rows[0]["load_error"] == pytest.approx(abs(run["drive"].load[-1]))
    assert known.rows[0]["moment_error"] == pytest.approx(np.linalg.norm(run["hinge"].moment[-1]))
    assert math.isnan(known.rows[0]["position_error"])
    watched = mbd.compare(rod, formulations="so3", drive=True, watch="drive", **FEW)
    assert watched.rows[0]["load_error"] > 0
    assert math.isnan(watched.rows[0]["moment_error"])


def test_a_hinge_that_a_motor_loads_has_moments_and_the_motor_a_load():
    def turned(formulation):
        system = mbd.System()
        body = system.add(mbd.RigidBody("a", mass=1, inertia=(1, 2, 2.5), formulation=formulation))
        hinge = system.add(mbd.Revolute("h", system.ground, body, at=(0, 0, 0), axis=(3, 4, 5)))
        system.add(mbd.Motor("motor", hinge.angle, lambda u, rate, t: 5.0 - rate))
        return system

    found = mbd.compare(turned, formulations="so3,directors", turns=0, t_end=2.0,
                        steps=[2e-2, 1e-2])  # fmt: skip
    assert "moment" in found.telling
    assert "load" in found.telling
    assert "force" not in found.telling
    for row in found.rows:
        assert abs(row["moment_order"] - 2) < 0.15
        assert abs(row["load_order"] - 2) < 0.15
    rate = mbd.simulate(turned("so3"), 0.5, 1e-2)["h"].angle_rate[-1]
    truth = {"motor.load": 5.0 - rate}
    known = mbd.compare(turned, formulations="so3", turns=0, t_end=0.5, steps=[1e-2],
                        reference=truth)  # fmt: skip
    assert known.rows[0]["load_error"] == pytest.approx(0, abs=1e-12)


def test_moments_that_are_not_unique_are_left_out():
    found = mbd.compare("fourbar", formulations="so3", steps=[2e-3], t_end=0.1, turns=0)
    assert math.isnan(found.rows[0]["moment_error"])
    assert found.rows[0]["force_error"] > 0
    assert any(note.startswith("moments that are not unique") for note in found.notes)
    model = rod("so3", drive=True).build()
    masks = determined(model, ["hinge", "drive", "rod"])
    assert set(masks) == {"hinge.force", "hinge.moment", "drive.load"}
    assert all(mask.all() for mask in masks.values())
    assert comparable(model)["drive.load"] == "load"


def test_two_drives_of_one_joint_share_a_load_that_is_not_compared():
    def twice(formulation):
        system = rod(formulation, drive=True)
        hinge = system.joints["hinge"]
        system.add(mbd.Drive("other", hinge.angle, velocity=lambda t: (2 * t, 2.0)))
        return system

    found = mbd.compare(twice, formulations="so3", **FEW)
    assert math.isnan(found.rows[0]["load_error"])
    assert any("loads that are not unique are not compared: drive, other" in x for x in found.notes)


# --- the table and the picture --------------------------------------------------------------------
def test_table_has_the_columns_that_say_something():
    spun = mbd.compare("unstable_axis", formulations="so3,se3", steps=[2e-3, 1e-3], t_end=0.1,
                       turns=0)  # fmt: skip
    text = str(spun)
    head = next(line for line in text.splitlines() if line.startswith("formulation"))
    assert "ang. vel." in head
    assert "position" not in head
    assert "force" not in head
    assert "zero or of the size of round-off: errors of position, velocity" in text
    assert all(abs(row["angular_velocity_order"] - 4) < 0.2 for row in spun.rows)


def test_wide_tables_are_two():
    found = mbd.compare(rod, formulations="so3,EulerParameters('reduced')", drive=True, **FEW)
    lines = str(found).splitlines()
    heads = [line.split() for line in lines if line.startswith("formulation")]
    assert len(heads) == 3  # motion, reactions, cost
    assert "moment" in heads[1]
    assert "load" in heads[1]
    assert max(map(len, lines)) <= 120


def test_a_picture_without_errors_says_so(tmp_path):
    spun = mbd.compare("unstable_axis", formulations="so3,se3", steps=[2e-3, 1e-3], t_end=0.1,
                       turns=0)  # fmt: skip
    left, right = spun.plot(tmp_path / "a.png").axes
    assert left.get_ylabel() == "largest rotation error at the end [rad]"
    assert right.get_xlabel() == "steps of the run [-]"  # no times, and no Newton iterations
    left, _ = spun.plot(tmp_path / "b.png", "position").axes
    assert [x.get_text() for x in left.texts] == ["all errors are zero or of the size of round-off"]
    left, _ = spun.plot(tmp_path / "c.png", "force").axes
    assert [x.get_text() for x in left.texts] == ["all errors are not known"]
    assert all((tmp_path / f"{x}.png").stat().st_size > 0 for x in "abc")
    with pytest.raises(ValueError, match="the name of a picture must end in .*got 'x.xyz'"):
        spun.plot("x.xyz")


def test_steps_that_do_not_divide_the_time_are_named():
    options = {"formulations": "so3", "steps": [4e-3, 2e-3, 1e-3], "turns": 0}
    found = mbd.compare(rod, t_end=0.302, **options)
    assert (
        "t_end = 0.302 s is no multiple of 0.004 s: the last step is a shorter one" in found.notes
    )
    assert "shorter" not in str(mbd.compare(rod, t_end=0.3, **options))
