"""`mbd view`: from a model to a page."""

import json
import webbrowser

import pytest

import mbd
from mbd.cli import main
from mbd.files import scenes


@pytest.fixture
def opened(monkeypatch):
    found = []
    monkeypatch.setattr(webbrowser, "open", found.append)
    return found


def test_it_writes_and_opens_a_page(tmp_path, capsys, opened):
    path = tmp_path / "new" / "run.html"
    assert main(["view", "pendulum", "--t-end", "0.2", "-o", str(path), "--trail", "rod"]) == 0
    assert f"wrote {path}" in capsys.readouterr().out
    assert opened == [path.resolve().as_uri()]
    page = path.read_text(encoding="utf-8")
    assert "<title>pendulum</title>" in page
    assert '"trails":[{' in page


def test_a_model_file_has_a_title(tmp_path, opened):
    path = tmp_path / "run.html"
    file = str(scenes.folder() / "fourbar.toml")
    assert main(["view", file, "--t-end", "0.01", "-o", str(path)]) == 0
    assert "<title>Crank-rocker: three bars between" in path.read_text(encoding="utf-8")


def test_without_a_name_the_page_is_temporary(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    arguments = ["view", "slider_crank", "--t-end", "0.1", "--step", "1e-3", "-p", "rate=2"]
    assert main([*arguments, "--no-open", "--json", "--speed", "0.1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["success"]
    assert told["instants"] == 61
    assert told["written"][0].startswith(str(tmp_path))
    assert opened == []


def test_saved_runs(tmp_path, capsys, opened):
    solution = mbd.simulate(scenes.load("slider_crank").build({}), 0.1, 1e-3, progress=False)
    for name in ("run.nc", "run.npz"):
        file, page = solution.save(tmp_path / name), tmp_path / f"{name}.html"
        assert main(["view", str(file), "-o", str(page), "--no-open"]) == 0
        seen = page.read_text(encoding="utf-8").replace("<title>run<", "<title>mbd<")
        assert (
            seen.split('id="data">')[1] == solution.animate(title="run").html.split('id="data">')[1]
        )
    assert main(["view", str(file), "--t-end", "2"]) == 2
    assert "is a run that was done; --t-end is for a model" in capsys.readouterr().err


def test_a_saved_run_without_its_model_is_explained(tmp_path, capsys, opened):
    system = mbd.System()
    mass = system.add(mbd.PointMass("mass", mass=1.0))
    system.add(mbd.PointForce("push", mass, lambda t: (t, 0, 0)))
    file = mbd.simulate(system, 0.1, 1e-2, progress=False).save(tmp_path / "run.npz")
    assert main(["view", str(file)]) == 2
    assert "does not hold its model" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "said"), [
    (["view", "pendulumm"], "there is no scene 'pendulumm'"),
    (["view", "pendulum", "-o", "a.avi"], "must end in .html, .gif, .webp or .mp4, got 'a.avi'"),
    (["view", "pendulum", "--no-open", "--trail", "road"], "trails must be of bodies, got"),
    (["view", "pendulum", "--speed", "-1"], "speed must be positive"),
])  # fmt: skip
def test_wrong_input_is_code_2(arguments, said, capsys, opened):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert opened == []
