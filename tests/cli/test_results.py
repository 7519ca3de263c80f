"""Results on the command line: their model, runs that were killed, and JSON whatever happens."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import mbd
from mbd.cli import main
from mbd.cli.output import collected, print_json
from mbd.files import scenes
from mbd.store.stream import FileRecord
from tests.results.samples import spinner

ROOT = Path(__file__).parents[2]
FOURBAR = str(ROOT / "models" / "fourbar.py")
FAILING = """
import mbd

RUN = {"t_end": 1.0, "step": 1e-3}

def build():
    system = mbd.System()
    body = system.add(mbd.RigidBody("b", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.add(mbd.PointForce("f", body, mbd.Expression("1/(0.5-t)**20*1e40", 0, 0)))
    return system
"""


def said(capsys):
    """Return the JSON of the output, and the lines of the error stream."""

    def never(text):
        raise AssertionError(f"{text} is no JSON")

    told = capsys.readouterr()
    return json.loads(told.out, parse_constant=never), told.err.splitlines()


# --- files of results -----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return the file of a run that went away without an end."""
    path = tmp_path_factory.mktemp("killed") / "killed.nc"

    def gone(*_):
        raise EOFError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileRecord, "close", gone)
        with pytest.raises(EOFError):
            mbd.simulate(spinner(), 0.05, 1e-3, stream=path)
    return path


def test_info_shows_the_model_in_a_file_of_results(tmp_path, capsys):
    run = mbd.simulate(spinner(), 0.02, 1e-3)
    for ending in ("nc", "npz"):
        path = str(run.save(tmp_path / f"run.{ending}"))
        assert main(["info", path]) == 0
        text = capsys.readouterr().out
        assert str(run.model.report()) in text
        assert run.message in text
        assert main(["info", path, "--json", "--matrices", str(tmp_path / "m.npz")]) == 0
        found, _ = said(capsys)
        assert found["run"]["success"]
        assert found["run"]["instants"] == len(run.t)
        assert found["run"]["t_end"] == run.t[-1]
        assert found["model"]["bodies"] == [list(x) for x in run.model.report().bodies]
        matrices = np.load(tmp_path / "m.npz")
        assert tuple(matrices["rows"]) == run.model.assemble().rows
    assert main(["info", path, "-p", "n=3"]) == 2
    assert "-p is for a model" in capsys.readouterr().err


def test_info_of_results_without_a_model_says_how_the_run_ended(tmp_path, capsys):
    system = spinner()
    system.add(mbd.Motor("motor", system.joints["hinge"].angle, lambda u, rate, t: 0.1))
    path = str(mbd.simulate(system, 0.01, 1e-3).save(tmp_path / "run.npz"))
    assert main(["info", path]) == 0
    text = capsys.readouterr().out
    assert "the model is not in" in text
    assert "11 instants" in text
    assert main(["info", path, "--matrices", str(tmp_path / "m")]) == 2
    assert "laws in Python" in capsys.readouterr().err


def test_a_killed_run_is_shown_and_that_is_no_failure(killed, tmp_path, capsys):
    assert main(["info", str(killed)]) == 0
    assert "was killed or is still going on" in capsys.readouterr().out
    page = tmp_path / "x.html"
    assert main(["view", str(killed), "--no-open", "-o", str(page)]) == 0
    assert page.stat().st_size > 10_000
    assert "was killed or is still going on" in capsys.readouterr().err


def test_half_a_file_is_refused_with_its_name(killed, tmp_path, capsys):
    half = tmp_path / "half.nc"
    data = killed.read_bytes()
    half.write_bytes(data[: len(data) // 2])  # all of the first block is there
    with pytest.warns(RuntimeWarning, match=rf"{len(data) // 2} of .*: 1 of 51 instants are whole"):
        assert len(mbd.load(half).t) == 1
    half.write_bytes(data[:17_000])
    for command in (["view", "--no-open"], ["info"], ["convert", str(tmp_path / "x.csv")]):
        assert main([command[0], str(half), *command[1:]]) == 2
        assert f"{half} is incomplete: 17000 of" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["empty.npz", "none.npz", "none.nc", "empty.nc"])
def test_a_file_that_is_none_is_wrong_input(tmp_path, capsys, name):
    path = tmp_path / name
    if name.startswith("empty"):
        path.touch()
    assert main(["view", str(path), "--no-open"]) == 2
    assert str(path) in capsys.readouterr().err


def test_matrices_go_to_an_archive_that_needs_no_mbd(tmp_path, capsys):
    path = tmp_path / "deep" / "m.npz"
    assert main(["info", FOURBAR, "--matrices", str(path)]) == 0
    assert f"wrote {path}" in capsys.readouterr().out
    found = np.load(path)
    A = scenes.load(FOURBAR).build({}).build().assemble()
    for name in "MGKB":
        parts = (found[f"{name}.{x}"] for x in ("data", "indices", "indptr"))
        S = csr_matrix(tuple(parts), shape=found[f"{name}.shape"])
        assert (S != getattr(A, name)).nnz == 0
    assert np.array_equal(found["residual"], A.residual)
    assert np.array_equal(found["gap"], A.gap)
    assert tuple(found["rows"]) == A.rows
    assert tuple(found["constraints"]) == A.constraints
    with pytest.raises(ValueError, match=r"file that ends in \.npz or \.mat"):
        A.save(tmp_path / "m.h5")


# --- JSON whatever happens ------------------------------------------------------------------------
@pytest.fixture
def failing(tmp_path):
    path = tmp_path / "fail.py"
    path.write_text(FAILING)
    return str(path)


def test_json_of_a_failed_run_has_no_nan(failing, tmp_path, capsys):
    assert main(["run", failing, "--json", "-o", str(tmp_path / "f.npz")]) == 1
    found, lines = said(capsys)
    assert not found["run"]["success"]
    assert found["run"]["message"] in lines[-1]
    assert len(set(found["warnings"])) == len(found["warnings"])
    assert len(set(lines)) == len(lines)
    assert all(line.startswith("mbd: ") for line in lines)


def test_warnings_of_a_failed_run_are_single_lines_said_once(failing, capsys):
    assert main(["run", failing, "-q"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("mbd: ") for line in lines)
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize("command", [
    ["run", FOURBAR, "--t-end", "-1"],
    ["run", FOURBAR, "--t-end", "soon"],
    ["run", "nowhere.py"],
    ["run", FOURBAR, "--no-such-option"],
    ["info", "nowhere.nc"],
    ["convert", FOURBAR, "x.doc"],
    ["modes", FOURBAR, "-p", "nonsense"],
])  # fmt: skip
def test_wrong_input_is_json_too(command, capsys):
    try:
        code = main([*command, "--json"])
    except SystemExit as stop:  # of argparse
        code = stop.code
    assert code == 2
    found, lines = said(capsys)
    assert list(found) == ["error"]
    assert found["error"] in lines[-1]


def test_numbers_that_json_does_not_have_are_null(capsys):
    print_json({"a": [1.0, math.nan, (math.inf, {"b": -math.inf})], "c": "NaN"})
    assert json.loads(capsys.readouterr().out) == {
        "a": [1.0, None, [None, {"b": None}]],
        "c": "NaN",
    }


def test_warnings_are_collected_once_and_on_one_line():
    with collected() as found:
        for _ in range(3):
            warnings.warn("two\n  lines", RuntimeWarning, stacklevel=1)
        np.log(np.zeros(2))
    assert found == ["two lines", "divide by zero encountered in log"]


def test_settings_of_a_model_file_are_checked_where_they_are(tmp_path, capsys):
    path = tmp_path / "model.toml"
    mbd.write(spinner(), path, run={"t_end": 0.1, "step": 1e-3})
    path.write_text(path.read_text().replace("step = 0.001", 'step = "-1 ms"'))
    assert main(["run", str(path)]) == 2
    assert f"{path}: run.step: must be positive, got '-1 ms'" in capsys.readouterr().err


def test_an_unknown_option_of_read_is_named_with_those_there_are(tmp_path):
    path = mbd.write(spinner(), tmp_path / "model.toml")
    with pytest.raises(TypeError, match=r"^read: .* 'foo' for model.* formulation, parameters$"):
        mbd.read(path, foo=1)
    with pytest.raises(TypeError, match="takes base, position"):
        mbd.read(ROOT / "models" / "arm.urdf", foo=1)


RAISING = """
import mbd

RUN = {"t_end": 1.0, "step": 1e-3}


def law(t):
    if t > 0.0305:
        raise ArithmeticError("off the drum")
    return 0.0, 0.0, 1.0


def build():
    system = mbd.System()
    body = system.add(mbd.RigidBody("b", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    system.add(mbd.PointForce("f", body, law))
    return system
"""


@pytest.mark.parametrize("ending", ["npz", "nc"])
def test_a_run_whose_law_raises_is_written_with_its_outcome(ending, tmp_path, capsys):
    scene, out = tmp_path / "raising.py", tmp_path / f"out.{ending}"
    scene.write_text(RAISING)
    assert main(["run", str(scene), "-q", "-o", str(out)]) == 1
    assert "f: its law raised ArithmeticError: off the drum" in capsys.readouterr().err
    written = mbd.load(out)
    assert not written.success
    assert "f: its law raised ArithmeticError: off the drum (at t = 0.031 s)" in written.message
    assert np.allclose(written.t, np.arange(31) * 1e-3, rtol=0, atol=1e-15)


def test_the_clock_of_the_steps_is_theirs(monkeypatch, tmp_path, capsys):
    """What is imported on the way is no step: a clock that only the bar of progress moves."""
    from mbd.runs import stretch as module

    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    make, steps = module.Stretch._bar, module.Stretch.steps

    def bar(run, progress):
        clock[0] += 100.0
        return make(run, progress)

    def taken(run, n, kernel=None):
        done, status = steps(run, n, kernel)
        clock[0] += 1e-3 * done
        return done, status

    monkeypatch.setattr(module.Stretch, "_bar", bar)
    monkeypatch.setattr(module.Stretch, "steps", taken)
    stats = mbd.simulate(spinner(), 0.05, 1e-3, progress=False).stats
    assert math.isclose(stats["seconds"], 0.05)
    assert math.isclose(stats["seconds_in_all"], 100.05)
    assert main(["run", FOURBAR, "--t-end", "0.05", "--step", "1e-3"]) == 0
    assert "time            1e+03 us per step, 0.05 s for all steps; 100 s with" in (
        capsys.readouterr().out
    )
