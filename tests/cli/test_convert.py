"""``mbd convert`` and ``mbd schema``: between TOML, Python and URDF, and from results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import mbd
from mbd.cli import main
from mbd.files import scenes

ROOT = Path(__file__).parents[2]
FOURBAR, CRANK = ROOT / "models" / "fourbar.py", ROOT / "models" / "crank_drive.toml"


def same(one, two) -> bool:
    a, b = (scenes.load(x).build({}).build() for x in (one, two))
    return np.array_equal(a.F, b.F) and np.array_equal(a.I, b.I)


def test_there_and_back(tmp_path, capsys):
    toml, python, again = (tmp_path / "deep" / x for x in ("f.toml", "f.py", "g.toml"))
    assert main(["convert", str(FOURBAR), str(toml)]) == 0
    assert main(["convert", str(toml), str(python)]) == 0
    assert main(["convert", str(python), str(again), "--json"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"wrote {toml}\nwrote {python}\n")
    assert json.loads(told.split("\n", 2)[2]) == {"written": [str(again)], "warnings": []}
    assert toml.read_text() == again.read_text()
    assert same(FOURBAR, toml)
    assert same(FOURBAR, python)
    assert scenes.load(python).run == scenes.load(FOURBAR).run
    assert scenes.summary(python) == scenes.summary(FOURBAR)
    other = scenes.load(python).build({"formulation": "directors"})  # the scene has the parameter
    assert other["crank"].formulation.name == "directors"


def test_parameters_and_methods_are_kept(tmp_path):
    path = tmp_path / "c.toml"
    assert main(["convert", "chain", str(path), "-p", "n=3", "-p", "formulation=se3"]) == 0
    system = mbd.read(path).system
    assert [b.formulation.name for b in system.bodies.values()] == ["se3"] * 3
    path = tmp_path / "d.py"
    assert main(["convert", str(CRANK), str(path)]) == 0
    assert scenes.load(path).run["method"] == mbd.GeneralizedAlpha(rho=0.7)
    assert main(["run", str(path), "--t-end", "0.01", "-q"]) == 0


def test_commands_take_model_files(tmp_path, capsys):
    output = tmp_path / "c.npz"
    assert main(["run", str(CRANK), "--t-end", "0.02", "-o", str(output)]) == 0
    told = capsys.readouterr().out
    assert "degrees of freedom: 1" in told
    assert "rho = 0.7" in told
    assert main(["info", str(CRANK), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notes"] == []
    assert len(found["model"]["bodies"]) == 2
    arguments = ["compare", str(ROOT / "models" / "fourbar.toml"), "--formulations", "so3,se3"]
    assert main([*arguments, "--t-end", "0.01", "--steps", "1e-3", "--turns", "0"]) == 0
    assert main(["run", str(CRANK), "-p", "formulation=directors", "--t-end", "0.01", "-q"]) == 0


def test_results_become_tables_and_models(tmp_path, capsys):
    stored = tmp_path / "f.npz"
    assert main(["run", "fourbar", "--t-end", "0.01", "-o", str(stored), "-q"]) == 0
    for name in ("f.csv", "f.mat", "f.pvd", "f.toml", "f.py"):
        assert main(["convert", str(stored), str(tmp_path / name)]) == 0
    assert len((tmp_path / "f.csv").read_text().splitlines()) == 12
    assert "crank.position.x [m]" in (tmp_path / "f.csv").read_text()
    assert same(FOURBAR, tmp_path / "f.toml")
    assert same(FOURBAR, tmp_path / "f.py")
    assert capsys.readouterr().err == ""


def test_results_in_netcdf(tmp_path):
    pytest.importorskip("h5netcdf")
    stored = tmp_path / "f.nc"
    assert main(["run", "pendulum", "--t-end", "0.01", "-o", str(stored), "-q"]) == 0
    assert main(["convert", str(stored), str(tmp_path / "f.npz")]) == 0
    one, two = mbd.load(stored), mbd.load(tmp_path / "f.npz")
    assert np.array_equal(one.q, two.q)


def test_a_missing_library_is_said_before_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    assert main(["run", "pendulum", "--t-end", "1e9", "-o", str(tmp_path / "f.nc"), "-q"]) == 2
    assert "pip install 'mbd[results]'" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "said"), [
    ([FOURBAR, "x.yaml"], "OUT must end in .toml, .py, got 'x.yaml'"),
    ([FOURBAR, "x.csv"], "OUT must end in .toml, .py, got 'x.csv'"),
    (["none.npz", "x.txt"], "OUT must end in .toml, .py, .nc, .npz, .csv, .mat, .pvd"),
    (["none.npz", "x.csv"], "none.npz"),
    ([FOURBAR, "there.toml"], "there is a file already; --force writes over it"),
    ([FOURBAR, "x.toml", "-p", "length=3"], "build has no parameter 'length'"),
    ([CRANK, "x.py", "-p", "length=3"], "build has no parameter 'length'; it has formulation"),
])  # fmt: skip
def test_wrong_input_is_one_line_and_code_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.toml").write_text("")
    assert main(["convert", *map(str, arguments)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mbd: ")
    assert error.count("\n") == 1
    assert said in error
    assert {p.name for p in tmp_path.iterdir()} == {"there.toml"}
    assert main(["convert", str(FOURBAR), "there.toml", "--force"]) == 0


def test_laws_in_python_are_refused_by_name(tmp_path, capsys):
    path = tmp_path / "scene.py"
    path.write_text(
        "import mbd\n\n\ndef build():\n    system = mbd.System()\n"
        "    bob = system.add(mbd.PointMass('bob', mass=1.0))\n"
        "    system.add(mbd.PointForce('wind', bob, lambda t: (t, 0, 0)))\n    return system\n"
    )
    assert main(["convert", str(path), str(tmp_path / "x.toml")]) == 2
    assert "wind: its law is the Python function '<lambda>'" in capsys.readouterr().err


def test_wrong_model_files_are_one_line(tmp_path, capsys):
    path = tmp_path / "model.toml"
    path.write_text(CRANK.read_text().replace('mass = "2 kg"', 'mass = "2 m"'))
    for command in ("run", "info"):
        assert main([command, str(path)]) == 2
        error = capsys.readouterr().err
        place = "bodies.crank.mass: must have a unit of [kg], got 'm' (line 10)"
        assert error == f"mbd: {path}: {place}\n"


def test_schema(tmp_path, capsys):
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "RigidBody" in printed["$defs"]
    path = tmp_path / "deep" / "mbd.json"
    assert main(["schema", "-o", str(path)]) == 0
    assert json.loads(path.read_text()) == printed


def test_events_are_left_out_and_said(tmp_path, capsys):
    path = tmp_path / "scene.py"
    path.write_text(
        "import mbd\n\nRUN = {'t_end': 1.0, 'step': 1e-3, 'events': ()}\n\n\n"
        "def build():\n    system = mbd.System()\n"
        "    system.add(mbd.PointMass('bob', mass=1.0))\n    return system\n"
    )
    assert main(["convert", str(path), str(tmp_path / "x.toml")]) == 0
    assert "warning: events of RUN is left out: files cannot hold it" in capsys.readouterr().err
    assert mbd.read(tmp_path / "x.toml").run == {"t_end": 1.0, "step": 1e-3}


def test_parameters_of_a_scene_are_not_those_of_the_unit(tmp_path, monkeypatch):
    def export(system, path, **options):
        asked.append((system["rod"].position[0], options["parameters"]))
        return Path(path)

    asked = []
    monkeypatch.setattr("mbd.fmi.export.export_fmu", export)
    words = ["export", "fmu", "pendulum", "-o", str(tmp_path / "p.fmu"), "--step", "1e-3"]
    assert main([*words, "-p", "length=2"]) == 0
    assert main([*words, "--parameters", "rod.mass"]) == 0
    assert asked == [(1.0, None), (0.5, ["rod.mass"])]
