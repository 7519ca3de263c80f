"""The same model in several formulations: numbers, table, files, picture, command line."""

import csv
import json
import math
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files import scenes
from mbd.formulations import NAMES
from mbd.studies.comparison import COLUMNS, Comparison

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
FAST = {"t_end": 0.1, "turns": 0}


def pendulum(formulation="so3", mass=1.0, turn=0.0):
    """A bar on a hinge; directors of a light bar are refused, for the tests."""
    if formulation == "directors" and mass < 1:
        raise ValueError("pendulum: light bars are not for directors")
    system = mbd.System(gravity=(0, 0, -9.81))
    bar = mbd.RigidBody(
        "bar", mass=mass, inertia=(0.01, 0.1, 0.1), position=(0.5, 0, 0), velocity=(turn, 0, 0),
        formulation=formulation,
    )  # fmt: skip
    system.add(bar)
    system.add(mbd.Revolute("hinge", system.ground, bar, at=(0, 0, 0), axis=(0, 1, 0)))
    return system


@pytest.fixture(scope="module")
def chain() -> Comparison:
    steps = [4e-3, 2e-3, 1e-3]
    return mbd.compare("chain", kind="zigzag", steps=steps, t_end=0.5, turns=1)


def test_every_formulation_is_of_second_order(chain):
    assert [row["formulation"] for row in chain.rows] == [n for n in NAMES for _ in range(3)]
    for row in chain.rows:
        assert row["status"] == "done", row
        for what in ("position", "rotation", "velocity", "force"):
            assert abs(row[f"{what}_order"] - 2) < 0.15, (row["formulation"], what)


def test_rows_say_what_the_models_are(chain):
    first, last = chain.rows[0], chain.rows[-1]
    assert (first["n_q"], first["n_v"], first["n_rows"]) == (14, 12, 6)
    assert first["own_multiplier"] == 0
    directors = next(row for row in chain.rows if row["formulation"] == "directors")
    assert (directors["n_q"], directors["n_v"], directors["n_rows"]) == (24, 24, 18)
    assert directors["own_multiplier"] > 1
    assert [row["step"] for row in chain.rows[:3]] == [4e-3, 2e-3, 1e-3]
    assert [row["steps"] for row in chain.rows[:3]] == [125, 250, 500]
    for row in chain.rows:
        assert set(row) == set(COLUMNS)
        assert row["gap"] < 1e-8
        assert row["conservative"]
        assert 1 <= row["iterations"] < 8
        assert 0 < row["step_time"] == pytest.approx(1e6 * row["run_time"] / row["steps"])
        assert row["time_ratio"] > 0
    assert first["time_ratio"] == 1
    assert last["energy_change"] > 0


def test_reference_is_better_than_what_it_judges(chain):
    """It agrees with what another formulation extrapolates to, within what it says of itself."""
    last = next(n for n in reversed(NAMES) if n != "so3")
    other = mbd.compare(
        "chain", kind="zigzag", steps=[4e-3, 2e-3, 1e-3], t_end=0.5, turns=0, reference=last
    )
    assert last in other.reference
    for what in ("position", "rotation", "velocity", "force"):
        finest = chain.rows[2][f"{what}_error"]
        assert chain.reference_error[what] < 1e-2 * finest
        assert other.rows[2][f"{what}_error"] == pytest.approx(finest, rel=1e-2)


def test_errors_are_those_of_known_values():
    reference = {}
    scene = scenes.load(scenes.named("chain"))
    module = sys.modules["mbd_scene_chain"]
    for name, t, value, _, _ in module.REFERENCE:
        if t == scene.run["t_end"] and name.endswith((".position", ".velocity")):
            reference[name] = value
    assert len(reference) == 3
    found = mbd.compare(
        scene.make, formulations=["so3", "directors"], steps=[2e-3], t_end=1.0, turns=0,
        reference=reference,
    )  # fmt: skip
    auto = mbd.compare(
        "chain", formulations="so3,directors", steps=[2e-3], turns=0, watch=["bar 1", "bar 2"]
    )
    for given, extrapolated in zip(found.rows, auto.rows, strict=True):
        a, b = given["position_error"], extrapolated["position_error"]
        assert a == pytest.approx(b, rel=1e-2)
        assert 1e-6 < a < 1e-3
        assert math.isnan(given["force_error"])
        assert math.isnan(given["position_order"])  # one step has no slope
        assert math.isnan(given["step_time"])
    solution = mbd.simulate(scene.build({}), 1.0, 2e-3)
    same = mbd.compare("chain", formulations="so3", steps=[2e-3], turns=0, reference=solution)
    assert same.rows[0]["position_error"] == 0
    assert same.reference == "the solution given"


def test_bodies_that_only_turn_are_judged_by_their_rotation():
    found = mbd.compare("dzhanibekov", formulations="so3,directors", steps=[4e-3, 2e-3], **FAST)
    for row in found.rows:
        assert 0 < row["rotation_error"] < 1e-3
        assert abs(row["rotation_order"] - 2) < 0.15
        assert row["position_error"] == 0
        assert math.isnan(row["position_order"])  # nothing to measure a slope of
    given = {"body.rotation": mbd.simulate(spun(), 0.1, 1e-4)["body"].rotation[-1]}
    known = mbd.compare(
        "dzhanibekov", formulations="directors", steps=[2e-3], reference=given, **FAST
    )
    error = found.rows[3]["rotation_error"]
    assert known.rows[0]["rotation_error"] == pytest.approx(error, rel=1e-2)


def spun():
    return scenes.load(scenes.named("dzhanibekov")).build({})


def test_forces_that_are_not_unique_are_left_out():
    # at 0.5 s multipliers no longer know of their start, which rings out as rho^n
    steps = [2e-3, 1e-3]
    found = mbd.compare("fourbar", formulations="so3,directors", steps=steps, t_end=0.5, turns=0)
    assert any("hinge B (y)" in note for note in found.notes)
    for row in found.rows:
        assert 0 < row["force_error"] < 1e-2
        assert abs(row["force_order"] - 2) < 0.15
    watched = mbd.compare("fourbar", formulations="so3", steps=[2e-3], watch=["crank"], **FAST)
    assert not watched.notes
    assert math.isnan(watched.rows[0]["force_error"])


def test_refusals_and_failures_are_rows():
    found = mbd.compare(
        pendulum, formulations=["so3", "directors"], mass=0.5, steps=[2e-3, 1e-3], **FAST
    )
    assert [row["status"] for row in found.rows] == ["done", "done", "refused"]
    assert found.rows[2]["message"] == "pendulum: light bars are not for directors"
    assert "directors: refused: pendulum: light bars" in str(found)

    def broken(formulation):
        system = pendulum(formulation)
        bar = system.bodies["bar"]
        law = lambda u, rate, t: 0.0 if t < 0.05 else float("nan")  # noqa: E731
        system.add(mbd.Spring("breaks", system.ground.frame((3, 0, 0)), bar, law=law))
        return system

    found = mbd.compare(broken, formulations=["so3"], steps=[2e-3], t_end=0.1, turns=1)
    assert found.rows[0]["status"] == "failed"
    assert "the step to t = 0.05 s" in found.rows[0]["message"]
    assert math.isnan(found.rows[0]["position_error"])
    assert "failed: the step to t = 0.05 s" in str(found)
    found.plot()
    json.dumps(found.plain(), allow_nan=False)


# --- other integrators ----------------------------------------------------------------------------
def free(formulation):
    """A free body that spins about no principal axis, with a spring to ground."""
    system = mbd.System(gravity=(0, 0, -9.81))
    body = system.add(
        mbd.RigidBody("body", mass=1.0, inertia=(0.3, 0.4, 0.5), angular_velocity=(1, 5, 2),
                      velocity=(1, 0, 2), formulation=formulation)
    )  # fmt: skip
    system.add(mbd.Spring("cord", system.ground, body, to=(0.2, 0, 0.1), stiffness=30, length=0.1))
    return system


def test_formulations_that_a_method_cannot_move_are_refused_by_name_and_the_others_run():
    steps = [2e-2, 1e-2, 5e-3]
    method = mbd.LieRungeKutta4()
    found = mbd.compare(free, method=method, steps=steps, t_end=0.5, turns=1, rho=None)
    status = {row["formulation"]: row["status"] for row in found.rows}
    groups = {"so3", "se3", "unified"}
    assert {name for name, x in status.items() if x == "done"} == groups
    assert {name for name, x in status.items() if x == "refused"} == set(NAMES) - groups
    for row in found.rows:
        if row["status"] == "refused":
            assert row["message"].startswith("LieRungeKutta4: 'body' is carried by '")
            continue
        for what in ("position", "rotation", "velocity"):
            assert abs(row[f"{what}_order"] - 4) < 0.2, (row["formulation"], what)
        assert row["time_ratio"] > 0
    assert sum(row["status"] == "refused" for row in found.rows) == 3  # once each
    assert "Lie-group Runge-Kutta, motion_vector" in found.title
    assert "directors: refused: LieRungeKutta4" in str(found)
    figure = found.plot()
    assert [t.get_text() for t in figure.axes[0].texts] == ["slope 4"]


def test_quaternions_run_in_all_formulations():
    method = "LieRungeKutta4('quaternion')"
    found = mbd.compare(free, method=method, steps=[2e-2, 1e-2], t_end=0.5, turns=0)
    assert [row["status"] for row in found.rows] == ["done"] * 12
    errors = [row["rotation_error"] for row in found.rows[::2]]
    assert np.ptp(errors) < 1e-3 * errors[0]  # they differ by round-off


def test_energy_momentum_runs_where_it_can_and_its_forces_are_of_first_order():
    found = mbd.compare("chain", method="EnergyMomentum", steps=[4e-3, 2e-3, 1e-3], t_end=0.4,
                        turns=1, formulations="so3,directors")  # fmt: skip
    assert [row["status"] for row in found.rows] == ["refused", "done", "done", "done"]
    assert "'bar 1' is carried by 'so3'" in found.rows[0]["message"]
    row = found.rows[1]
    assert abs(row["position_order"] - 2) < 0.15
    assert abs(row["force_order"] - 1) < 0.15
    assert row["energy_change"] < 1e-9
    assert row["time_ratio"] == 1  # the first that runs is the unit
    assert found.reference.startswith("directors, extrapolated")


def test_scene_says_its_method(tmp_path, capsys):
    path = tmp_path / "spun.py"
    path.write_text(
        "import mbd\n"
        "RUN = {'t_end': 0.1, 'step': 1e-3, 'method': mbd.LieRungeKutta4('quaternion')}\n"
        "def build(formulation='so3'):\n"
        "    system = mbd.System()\n"
        "    system.add(mbd.RigidBody('b', mass=1, inertia=(1, 2, 2.5), formulation=formulation,\n"
        "                             angular_velocity=(1, 2, 3)))\n"
        "    return system\n"
    )
    found = mbd.compare(path, turns=0)
    assert "Runge-Kutta, quaternion" in found.title
    assert [row["status"] for row in found.rows] == ["done"] * 18
    assert main(["run", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["method"].startswith("LieRungeKutta4")
    assert (
        main(["run", str(path), "--method", "EnergyMomentum", "-p", "formulation=directors"]) == 0
    )
    assert "energy-momentum scheme" in capsys.readouterr().out
    assert main(["compare", str(path), "--method", "GeneralizedAlpha", "--rho", "0.6"]) == 0
    assert "generalized-alpha with rho = 0.6" in capsys.readouterr().out
    assert main(["run", str(path), "--rho", "0.6"]) == 2
    assert "rho is no option of LieRungeKutta4, which has scheme" in capsys.readouterr().err
    assert main(["run", str(path), "--method", "Euler"]) == 2
    assert "method must be one of GeneralizedAlpha, " in capsys.readouterr().err
    assert main(["compare", str(path), "--method", "EnergyMomentum", "--formulations", "so3"]) == 1
    assert "so3: refused: EnergyMomentum" in capsys.readouterr().out


def test_a_scene_may_name_its_method_in_words(tmp_path):
    path = tmp_path / "named.py"
    text = (ROOT / "models" / "unstable_axis.py").read_text()
    words = text.replace('mbd.LieRungeKutta4("quaternion")', '"LieRungeKutta4"')
    assert words != text
    path.write_text(words)
    assert scenes.load(path).run["method"] == mbd.LieRungeKutta4()
    found = mbd.compare(path, turns=0, t_end=0.01, formulations="so3,se3")
    assert "Runge-Kutta, motion_vector" in found.title
    path.write_text(words.replace('"LieRungeKutta4"', '"rk4"'))
    with pytest.raises(ValueError, match=r"named.py: RUN: method must be one of Gen.*got 'rk4'"):
        mbd.compare(path)


def test_forcing_is_labelled():
    def driven(formulation):
        system = pendulum(formulation)
        system.add(mbd.PointForce("push", system.bodies["bar"], force=(0, 0, 1.0)))
        return system

    found = mbd.compare(driven, formulations=["so3"], steps=[2e-3], **FAST)
    assert not found.rows[0]["conservative"]
    assert "energy change" in str(found)
    assert "do work" in found.notes[-1]


def test_warnings_of_a_run_are_its_message():
    found = mbd.compare(
        "heavy_top", formulations=["directors"], rho=0.95, steps=[1e-3], t_end=0.3, turns=0
    )
    assert found.rows[0]["status"] == "done"
    assert "oscillates from step to step" in found.rows[0]["message"]


def test_formulations_may_be_objects():
    from mbd.formulations import named

    found = mbd.compare(pendulum, formulations=[named("directors"), "so3"], steps=[2e-3], **FAST)
    assert [row["formulation"] for row in found.rows] == ["directors", "so3"]
    assert found.reference.startswith("directors, extrapolated from steps 0.002, 0.001 s")


@pytest.mark.parametrize(("options", "said"), [
    ({"formulations": "quaternions"}, "all or of so3, directors, .*got 'quaternions'"),
    ({"formulations": [3]}, "must be a name or a Formulation, got 3"),
    ({"formulations": []}, "name formulations, of so3"),
    ({"steps": None}, "steps must be given"),
    ({"steps": []}, "at least one step"),
    ({"steps": [-1e-3]}, "step must be positive"),
    ({"steps": [0.2]}, "not be longer than t_end"),
    ({"t_end": None}, "t_end must be a number"),
    ({"turns": -1}, "turns must be a whole number"),
    ({"rho": 2.0}, r"rho must be in \[0, 1\]"),
    ({"method": "euler"}, "method must be one of GeneralizedAlpha, EnergyMomentum, .*'euler'"),
    ({"method": "GeneralizedAlpha(rho=)"}, "method must be a name"),
    ({"method": "print('x')"}, "method must be one of GeneralizedAlpha"),
    ({"method": "GeneralizedAlpha(rho=x)"}, "method must be a name"),
    ({"method": 3}, "method must be one of .* or its name, got 3"),
    ({"method": "EnergyMomentum", "rho": 0.5}, "rho is no option of EnergyMomentum"),
    ({"newton": "none"}, "modified, full"),
    ({"watch": ["rod"]}, "no body or joint 'rod' to watch; there are bar, hinge"),
    ({"reference": "nosuch"}, r"reference must be a solution, .*\(so3, directors; .*'nosuch'"),
    ({"reference": 3}, "reference must be a solution, .*got 3"),
    ({"reference": mbd.EulerParameters("reduced")}, r"'euler_parameters \(reduced, B1\)' is not"),
    ({"reference": "Unified('cubic')"}, "reference must be a solution"),
    ({"reference": {"hinge.moment": 1.0}}, "reference 'hinge.moment' must be 3 numbers"),
    ({"formulations": 3}, "names or Formulations in a list, or names with commas, got 3"),
    ({"formulations": "EulerParameters('r')"}, "EulerParameters: form must be one of full"),
    ({"formulations": "EulerParameters(x=1)"}, "takes the options form, force_map, got"),
    ({"steps": "1e-3"}, r"steps must be a number or a list of numbers \[s\], .* got '1e-3'"),
    ({"steps": {}}, "at least one step"),
    ({"steps": object()}, "steps must be a number or a list of numbers"),
    ({"watch": "pin"}, "no body or joint 'pin' to watch; there are bar, hinge"),
    ({"watch": 3}, "watch must be names of bodies, joints and drives in a list, got 3"),
    ({"watch": []}, "watch must name something, got none"),
    ({"length": 2.0}, "pendulum has no parameter 'length'; it has formulation, mass, turn"),
    ({"method": mbd.GeneralizedAlpha.hht(0.3), "rho": 0.5}, "rho is no option of a .* weights"),
    ({"reference": "directors", "formulations": ["so3"]}, "not among the formulations"),
    ({"reference": {"bar.force": (0, 0, 0)}}, "reference may have bar.position"),
    ({"mass": -1.0}, "mass must be positive"),
])  # fmt: skip
def test_wrong_input_is_named(options, said):
    given = {"steps": [2e-3], "formulations": ["so3", "directors"], **FAST, **options}
    if options.get("mass"):
        given["formulations"] = ["so3"]
    with pytest.raises((ValueError, TypeError), match=said):
        mbd.compare(pendulum, **given)


def test_a_model_without_a_choice_is_named():
    with pytest.raises(ValueError, match="no parameter 'formulation' to compare; it has length"):
        mbd.compare("simple_pendulum")
    with pytest.raises(TypeError, match="build must be a function"):
        mbd.compare(3)


def test_table_is_aligned_and_fits_a_page(chain):
    lines = str(chain).splitlines()
    assert max(map(len, lines)) <= 100
    head = next(line for line in lines if line.startswith("formulation"))
    assert "energy error" in head
    orders = [line for line in lines if line.split()[:1] == ["order"]]
    assert len(orders) == 2 * len(NAMES)  # of motion and reactions
    assert all(line.split()[1].startswith(("1.9", "2.0")) for line in orders)
    assert repr(chain) == f"Comparison({len(chain.rows)} of {len(chain.rows)} runs done)"


def test_table_of_text_has_all_columns(chain, tmp_path):
    path = chain.to_csv(tmp_path / "deep" / "c.csv")
    with path.open(newline="") as file:
        heads, *rows = list(csv.reader(file))
    assert heads == [f"{name} [{unit}]" if unit else name for name, unit in COLUMNS.items()]
    assert len(rows) == len(chain.rows)
    assert {len(row) for row in rows} == {len(COLUMNS)}
    at = heads.index("position_error [m]")
    assert [float(row[at]) for row in rows] == [row["position_error"] for row in chain.rows]


def test_picture(chain, tmp_path):
    path = tmp_path / "pictures" / "c.png"
    figure = chain.plot(path, quantity="force")
    assert path.read_bytes()[:4] == b"\x89PNG"
    left, right = figure.axes
    assert left.get_xlabel() == "step size [s]"
    assert left.get_ylabel() == "largest force error at the end [N]"
    assert right.get_xlabel() == "computing time of the run [ms]"
    assert [t.get_text() for t in figure.legends[0].get_texts()] == list(NAMES)
    guide = left.lines[-1]
    x, y = np.log(guide.get_xdata()), np.log(guide.get_ydata())
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(2)
    assert [t.get_text() for t in left.texts] == ["slope 2"]
    with pytest.raises(ValueError, match="one of position, rotation, .*, scale, got 'energy'"):
        chain.plot(quantity="energy")


def test_what_is_built_must_be_a_system():
    with pytest.raises(TypeError, match="compare: build must return an mbd.System, got None"):
        mbd.compare(lambda formulation: None, formulations="so3", steps=[1e-3], t_end=0.1)


def test_picture_without_matplotlib_names_the_extra(chain, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'mbd\[plot\]'"):
        chain.plot()


def test_command_line(tmp_path, capsys):
    table, picture = tmp_path / "c.csv", tmp_path / "c.png"
    arguments = ["compare", "chain", "-p", "n=3", "--formulations", "so3,directors"]
    arguments += ["--steps", "2e-3,1e-3", "--t-end", "0.1", "--turns", "1", "--newton", "full"]
    assert main([*arguments, "--csv", str(table), "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    assert "chain to t = 0.1 s, generalized-alpha with rho = 0.8, full Newton" in told
    assert f"wrote {table}" in told
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert len(table.read_text().splitlines()) == 5
    path = str(ROOT / "models" / "chain.py")
    assert main(["compare", path, *arguments[2:], "--json", "--rho", "0.5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "rho = 0.5" in found["title"]
    assert {row["n_v"] for row in found["rows"]} == {18, 36}
    assert found["units"]["position_error"] == "m"


@pytest.mark.parametrize(("arguments", "said"), [
    (["chain", "--formulations", "quaternions"], f"all or of {', '.join(NAMES)}, got"),
    (["chain", "--steps", "fine"], "--steps must be numbers with commas"),
    (["chain", "-p", "formulation=so3"], "choose by --formulations"),
    (["chain", "-p", "steps=3"], "'steps' is its own option"),
    (["chain", "-p", "m=3"], "no parameter 'm'"),
    (["chain", "--csv", "a.txt"], "must end in .csv"),
    (["chain", "--plot", "x.xyz"], "the name of a picture must end in .eps, "),
    (["chain", "--plot", "x.png", "--quantity", "angle"], "quantity must be one of position"),
    (["chain", "--quantity", "force"], "--quantity says what --plot draws, got 'force'"),
    (["chain", "--watch", "bar 7", "--steps", "1e-3", "--turns", "0"], "no body or joint 'bar 7'"),
    (["chain", "--formulations", "Unified('cubic')"], "Unified: kind must be one of hexahedral"),
    (["multipliers", "--formulations", "so3"], "formulation must be Euler parameters"),
    (["nosuch"], "there is no scene 'nosuch'; there are andrews"),
    (["nosuch.py"], "no such file"),
    (["chain", "-p", "kind=knot"], "kind must be one of spherical"),
])  # fmt: skip
def test_wrong_input_is_one_line_and_code_2(arguments, said, capsys):
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mbd: ")
    assert error.count("\n") == 1
    assert said in error
