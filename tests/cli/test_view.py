"""`mbd view`: from a model to a page."""

import json
import webbrowser

import pytest

from mbd.cli import main


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


def test_without_a_name_the_page_is_temporary(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    arguments = ["view", "slider_crank", "--t-end", "0.1", "--step", "1e-3", "-p", "rate=2"]
    assert main([*arguments, "--no-open", "--json", "--speed", "0.1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["success"]
    assert told["instants"] == 61
    assert told["written"][0].startswith(str(tmp_path))
    assert opened == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["view", "pendulumm"], "there is no scene 'pendulumm'"),
        (["view", "pendulum", "-o", "a.mp4"], "must end in .html or .gif, got 'a.mp4'"),
        (["view", "pendulum", "--no-open", "--trail", "road"], "trails must be of bodies, got"),
        (["view", "pendulum", "--speed", "-1"], "speed must be positive"),
    ],
)
def test_wrong_input_is_code_2(arguments, said, capsys, opened):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert opened == []
