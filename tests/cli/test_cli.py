"""The command line: in process for what it says, in processes of its own for how it behaves."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mbd as library
from mbd.cli import main
from mbd.files import scenes

ROOT = Path(__file__).parents[2]
FOURBAR = str(ROOT / "models" / "fourbar.py")
SHORT = ["--t-end", "0.02"]


def mbd(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mbd", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300, **options
    )


@pytest.fixture
def scene(tmp_path):
    """Return a writer of scenes."""

    def write(text: str) -> str:
        path = tmp_path / "scene.py"
        path.write_text(text)
        return str(path)

    return write


PENDULUM = """
import mbd

RUN = {"t_end": 0.05, "step": 1e-3}

def build(length=1.0, turn=0.0):
    system = mbd.System(gravity=(0, 0, -9.81))
    bob = mbd.PointMass("bob", mass=1.0, position=(length, 0, 0), velocity=(turn, 0, 0))
    system.add(bob)
    system.add(mbd.Distance("string", system.ground, bob, at=(0, 0, 0)))
    return system
"""


def test_run_reports_and_writes(tmp_path, capsys):
    output, table = tmp_path / "deep" / "f.npz", tmp_path / "f.csv"
    assert main(["run", FOURBAR, *SHORT, "-o", str(output), "--csv", str(table)]) == 0
    told = capsys.readouterr()
    assert told.err == "" or "compiling" in told.err
    for text in (
        "degrees of freedom: 1",
        "redundant rows: 3",
        "iterations per step",
        "gap",
        str(table),
    ):
        assert text in told.out
    with np.load(output) as data:
        about = json.loads(str(data["about"]))
        named = [n for n in data.files if n in about["units"]]
        assert {"t", "crank.position", "hinge A.force", "energy.kinetic", "gap"} <= set(named)
        for name in named:
            assert data[name].shape[0] == 21
            assert data[name].shape[1:] == tuple(
                [len(about["components"][name])] if about["components"][name] else []
            )
        assert about["scene"] == "fourbar.py"
        assert len(data["v.labels"]) == data["v"].shape[1]
        position = data["crank.position"]
    lines = table.read_text().splitlines()
    heads = lines[0].split(",")
    assert heads[0] == "t [s]"
    values = np.loadtxt(table, delimiter=",", skiprows=1)
    assert values.shape == (21, len(heads))
    assert np.array_equal(values[:, heads.index("crank.position.x [m]")], position[:, 0])


def test_json_is_all_there_is(capsys):
    assert main(["run", FOURBAR, *SHORT, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"]["n_redundant"] == 3
    assert found["model"]["freedoms"] == 1
    assert found["run"]["success"]
    assert found["run"]["conservative"]
    assert found["run"]["gap"] < 1e-9
    assert found["run"]["stats"]["steps"] == 20


def test_options_override_the_scene(capsys):
    options = ["--t-end", "0.01", "--step", "5e-4", "--rho", "0.5", "--every", "4", "--json"]
    assert main(["demo", "fourbar", *options, "-p", "formulation=directors"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"]["stats"]["steps"] == 20
    assert found["run"]["rho"] == 0.5
    assert found["model"]["bodies"][0][1] == "directors"


def test_a_step_in_two_threads(tmp_path, capsys):
    output = tmp_path / "run.npz"
    arguments = ["run", "chain", "-p", "n=9", "--t-end", "0.01", "-o", str(output), "--threads"]
    for threads in (1, 2):
        assert main([*arguments, str(threads)]) == 0
        assert library.load(output).model.threads == threads
    assert main([*arguments, "3"]) == 2
    assert "threads must be 1 or 2, got 3" in capsys.readouterr().err


def test_steps_can_be_chosen_and_streamed(tmp_path, capsys):
    output = tmp_path / "f.nc"
    arguments = ["run", "pendulum", "--t-end", "0.1", "--rtol", "1e-4", "-o", str(output)]
    pytest.importorskip("h5netcdf")
    assert main([*arguments, "--stream"]) == 0
    told = capsys.readouterr().out
    assert "s (mean), collocation at 3 points of Radau" in told
    assert f"wrote {output}" in told
    assert library.load(output).t[-1] == pytest.approx(0.1)
    assert main(["run", "pendulum", "--stream", "-o", str(tmp_path / "f.npz")]) == 2
    assert "--stream writes a .nc file while it runs; give -o NAME.nc" in capsys.readouterr().err


def test_quiet_says_nothing(capsys):
    assert main(["run", FOURBAR, *SHORT, "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_info_writes_matrices_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "pictures" / "spy.png"
    arguments = ["--matrices", str(tmp_path / "m"), "--spy", str(picture)]
    assert main(["info", FOURBAR, *arguments]) == 0
    assert "rank 17" in capsys.readouterr().out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert {p.name for p in (tmp_path / "m").iterdir()} == {
        "M.mtx", "G.mtx", "K.mtx", "B.mtx", "Bt.mtx", "turn.mtx", "labels.txt",
    }  # fmt: skip
    assert main(["info", FOURBAR, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["rank"] == 17


def test_demo_lists_scenes(capsys):
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    for name in scenes.shipped():
        assert f"  {name} " in told
    assert main(["demo", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(scenes.shipped())


@pytest.mark.parametrize(("arguments", "said"), [
    (["run", "nosuch.py"], "no such file"),
    (["run", "README.md"], "must be a Python file"),
    (["run", FOURBAR, "-p", "lenght=3"], "no parameter 'lenght'; it has formulation, closing"),
    (["run", FOURBAR, "-p", "lenght"], "must be written name=value"),
    (["run", FOURBAR, "-p", "formulation=quaternions"], "one of so3"),
    (["run", FOURBAR, "--step", "-1"], "step must be positive [s], got -1"),
    (["run", FOURBAR, "--rho", "2"], "rho must be in [0, 1]"),
    (["run", FOURBAR, "-o", "results.txt"], "must end in .nc or .npz or .csv or .mat or .pvd"),
    (["demo", "nosuch"], "there are andrews"),
])  # fmt: skip
def test_wrong_input_is_one_line_and_code_2(arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(arguments) == 2
    error = re.sub(r"mbd: compiling .*\.\.\.\n", "", capsys.readouterr().err)
    assert error.startswith("mbd: ")
    assert error.count("\n") == 1
    assert said in error


def test_wrong_scenes_are_explained(scene, capsys):
    for text, said in (
        ("x = 1", "must have a function build"),
        ("def build():\n    return 1", "must return an mbd.System, got 1"),
        ("RUN = {'dt': 1}\ndef build(): pass", "RUN has no entry 'dt'"),
        (
            PENDULUM.replace("system.add(", "(").replace("return system", "return mbd.System()"),
            "there is no body",
        ),
        (PENDULUM.replace("0.05", "-1"), "t_end must be positive"),
    ):
        assert main(["run", scene(text)]) == 2
        assert said in capsys.readouterr().err
    assert main(["run", scene(PENDULUM.replace("RUN =", "RAN ="))]) == 2
    assert "t_end is not known [s]; give --t-end" in capsys.readouterr().err


def test_errors_in_a_scene_say_where(scene, capsys):
    assert main(["run", scene("def build(:")]) == 2
    assert "(scene.py, line 1)" in capsys.readouterr().err
    assert main(["run", scene(PENDULUM.replace("mass=1.0", "mass=-1.0"))]) == 2
    assert "scene.py:8: bob: mass must be positive [kg], got -1" in capsys.readouterr().err
    assert main(["run", scene("def build():\n    return 1 / 0")]) == 2
    assert "scene.py:2: ZeroDivisionError: division by zero" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main(["run", "--traceback", scene("def build():\n    return 1 / 0")])


def test_inconsistent_start_is_named_and_projected(scene, capsys):
    path = scene(PENDULUM)
    assert main(["run", path, "-p", "turn=1.0"]) == 2
    assert "'string.distance'" in capsys.readouterr().err
    assert main(["run", path, "-p", "turn=1.0", "--project"]) == 0


def test_failed_run_is_code_1_and_keeps_results(scene, tmp_path, capsys):
    law = """
    system.add(mbd.Spring("breaks", system.ground, bob,
                          law=lambda u, rate, t: 0.0 if t < 0.02 else float("nan")))
    return system
"""
    path, output = scene(PENDULUM.replace("    return system\n", law)), tmp_path / "r.npz"
    assert main(["run", path, "-o", str(output)]) == 1
    assert "the step to t = 0.02 s" in capsys.readouterr().err
    with np.load(output) as data:
        assert 0.015 < data["t"][-1] < 0.021
        assert json.loads(str(data["about"]))["status"] == 1


def test_warnings_are_one_line(scene, capsys):
    law = """
    told = []

    def slack(u, rate, t):
        if t > 0.02 and not told:
            told.append(t)
            warnings.warn("the rope is slack")
        return 0.0

    system.add(mbd.Spring("rope", system.ground, bob, law=slack))
    return system
"""
    path = scene("import warnings\n" + PENDULUM.replace("    return system\n", law))
    assert main(["run", path, "-q"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "mbd: warning: the rope is slack"
    assert main(["run", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == ["the rope is slack"]


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_help_loads_nothing_heavy(word):
    """That is what makes it fast; ``tests/bench/start.py`` times it."""
    command = [sys.executable, "-X", "importtime", "-m", "mbd", word]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "mbd" in done.stdout
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert {"mbd", "argparse"} <= loaded
    assert not loaded & {"numpy", "numba", "scipy", "networkx", "tqdm", "matplotlib", "xarray"}


def test_a_process_of_its_own(tmp_path):
    output = tmp_path / "f.npz"
    done = mbd("run", FOURBAR, *SHORT, "-o", str(output))
    assert (done.returncode, output.is_file()) == (0, True)
    done = mbd("run", "nosuch.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert mbd("run").returncode == 2  # argparse


def test_reader_that_leaves_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-u", "-m", "mbd", "demo"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


SLOW = """
import mbd
from pathlib import Path


def push(t):
    if t > 0.1:
        Path(__file__).with_name("running").touch()
    return 0.0, 0.0, 0.0


def build():
    system = mbd.System()
    system.add(mbd.PointForce("push", system.add(mbd.PointMass("p", mass=1.0)), push))
    return system
"""


def test_ctrl_c_keeps_results(tmp_path):
    """One signal, when the steps go on; the law tells that they do."""
    scene, output, running = (tmp_path / x for x in ("slow.py", "part.npz", "running"))
    scene.write_text(SLOW)
    arguments = [str(scene), "--t-end", "1000", "--step", "1e-3", "-o", str(output)]
    run = subprocess.Popen(
        [sys.executable, "-m", "mbd", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + 100  # kernels may have to be compiled
        while not running.exists() and run.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        told, error = run.communicate(timeout=30)
    finally:
        run.kill()
    assert run.returncode == 130, error
    assert "interrupted by the user" in error
    assert "wrote" in told
    with np.load(output) as data:
        assert 0.1 < data["t"][-1] < 1000


@pytest.mark.parametrize("words", [
    "run pendulum --t-end 0.01", "run pendulum --t-end 0.01 -o run.npz",
    "run free.py --t-end 0.01 --step 1e-3 -p mass=2.0", "run pendulum --t-end 0.01 -o run.csv",
    "view pendulum --t-end 0.01 --no-open -o page.html", "info slider_crank",
    "equilibrium pendulum", "convert pendulum model.py", "convert pendulum model.toml",
    "schema -o mbd.json", "demo pendulum --t-end 0.01", "demo",
])  # fmt: skip
def test_what_comes_next_can_be_done(words, tmp_path, monkeypatch, capsys):
    """At a terminal a command ends with the next one, and that one works as it stands."""
    monkeypatch.chdir(tmp_path)
    Path("free.py").write_text(
        "import mbd\n\ndef build(mass=1.0):\n    system = mbd.System()\n"
        '    system.add(mbd.PointMass("m", mass=mass))\n    return system\n'
    )
    assert main(words.split()) == 0
    assert "next:" not in capsys.readouterr().err  # in a file nobody reads it
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    more = ["--force"] if words.startswith("convert") else []
    assert main([*words.split(), *more]) == 0
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "next:" in x]
    commands = [shlex.split(x) for x in re.findall(r"`mbd ([^`]*)`", line)]
    assert commands or words.startswith(("demo", "schema"))
    for command in commands:
        quick = {"view": ["--no-open"], "run": ["-q"], "demo": ["-q"]}.get(command[0], [])
        short = ["--t-end", "0.01"] if command[0] in ("run", "view") else []
        short = [] if "--t-end" in command or command[1].startswith("run.") else short
        assert main([*command, *quick, *short]) == 0


def test_what_a_robot_says_and_is_not_used_is_not_silent(tmp_path, capsys):
    robot = tmp_path / "arm.xml"
    robot.write_text(
        '<mujoco><worldbody><body name="a"><joint name="j" springdamper="0.1 1"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert main(["run", str(robot), "--t-end", "0.002", "--step", "1e-3"]) == 0
    assert "note: 2 things that arm.xml says" in capsys.readouterr().out
    assert main(["info", str(robot)]) == 0
    assert "<joint> springdamper is not used" in capsys.readouterr().out


@pytest.mark.parametrize("scene", ["pendulum", "door", "chain", "catenary", "elastic_pendulum"])
def test_an_equilibrium_shows_no_round_off(scene, capsys):
    assert main(["equilibrium", scene]) == 0
    _, told = capsys.readouterr().out.split("\n", 1)  # behind what is out of balance
    assert "position (" in told
    assert not re.search(r"e-(1[3-9]|[2-9]\d)", told), told
