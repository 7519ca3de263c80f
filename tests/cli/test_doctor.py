"""``mbd doctor``: what it finds, and that nothing it runs can take it down."""

import json
import subprocess
from importlib import metadata

import pytest

import mbd
import mbd.formulations
from mbd.cli import doctor, main
from mbd.cli.checks import TOLERANCE, usual_systems


def ended(code: int, out: str = "", err: str = "") -> subprocess.CompletedProcess:
    return subprocess.CompletedProcess([], code, out, err)


def test_all_is_well_here(capsys):
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"]
    checks = {x["name"]: x for x in found["checks"]}
    needed = {"python", "numpy", "scipy", "numba", "networkx", "tqdm", "kernels", "run", "start"}
    assert needed <= set(checks)
    assert all(checks[name]["status"] == "ok" for name in needed)
    assert checks["numpy"]["detail"] == metadata.version("numpy")
    assert checks["run"]["numbers"]["error"] < TOLERANCE
    assert set(checks["start"]["numbers"]) == {"python", "import mbd", "mbd --help"}
    assert "a PNG of" in checks["pictures"]["detail"]


def test_text_and_fast(capsys):
    assert main(["doctor", "--fast"]) == 0
    told = capsys.readouterr().out
    assert "  ok       numpy" in told
    assert told.endswith("all that is needed works\n")
    assert "pendulum" not in told


def test_what_is_missing_is_named_with_the_command(monkeypatch, capsys):
    wanted = [
        "numpy>=1.26",
        "scipy>=99.0",
        "nosuchthing>=1.0",
        "alsonot>=2.1; extra == 'plot'",
        "pytest>=1000; extra == 'test'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    assert main(["doctor", "--fast", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    checks = {x["name"]: x for x in found["checks"]}
    assert not found["ok"]
    assert checks["numpy"]["status"] == "ok"
    assert checks["scipy"]["status"] == "failed"
    assert checks["scipy"]["remedy"] == "pip install 'scipy>=99.0'"
    assert checks["nosuchthing"]["detail"] == "is not installed, needs >=1.0"
    assert checks["alsonot"]["status"] == "missing"
    assert checks["alsonot"]["remedy"] == "pip install 'mbd[plot]'"
    assert "pytest" not in checks


def test_a_missing_extra_is_no_failure(monkeypatch, capsys):
    monkeypatch.setattr(metadata, "requires", lambda name: ["alsonot; extra == 'plot'"])
    assert main(["doctor", "--fast"]) == 0
    assert "missing  alsonot      extra 'plot': alsonot\n" in capsys.readouterr().out


def test_a_crash_is_a_finding():
    done, _ = doctor._process("-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert doctor._why(done) == "died of signal 11"
    done, _ = doctor._process("-c", "import nosuchthing")
    assert doctor._why(done) == "ModuleNotFoundError: No module named 'nosuchthing'"
    assert doctor._why(ended(3)) == "ended with code 3"


@pytest.mark.parametrize("words", [("-c", "import mbd"), ("-m", "mbd", "--version")])
def test_the_package_that_runs_is_tested_also_inside_a_clone(words, tmp_path, monkeypatch):
    (tmp_path / "mbd").mkdir()
    (tmp_path / "mbd" / "__init__.py").write_text("raise SystemExit('the wrong mbd')")
    monkeypatch.chdir(tmp_path)
    done, _ = doctor._process(*words)
    assert done.returncode == 0, doctor._why(done)


def test_a_check_that_hangs_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "_LONGEST", 0.2)
    done, _ = doctor._process("-c", "import time; time.sleep(60)")
    assert doctor._why(done) == "did not end within 0.2 s"


def test_pictures_that_crash_are_not_needed(monkeypatch):
    monkeypatch.setattr(doctor, "_process", lambda *command: (ended(-11), 0.1))
    (check,) = doctor._render()
    assert (check.status, check.detail) == ("missing", "cannot be drawn: died of signal 11")
    (check,) = doctor._smoke()
    assert (check.status, check.detail) == ("failed", "died of signal 11")


def test_wrong_numbers_fail(monkeypatch, tmp_path):
    told = {"error": 1e-3, "tolerance": 2e-5, "microseconds_per_step": 1.0, "cache": str(tmp_path)}
    monkeypatch.setattr(doctor, "_process", lambda *c: (ended(0, json.dumps(told)), 0.1))
    kernels, run = doctor._smoke()
    assert kernels.status == "ok"
    assert run.status == "failed"
    assert "wrong numbers" in run.remedy


def test_a_cache_that_cannot_be_written_is_named():
    assert doctor._cache("", "/nosuch/folder").remedy.startswith("set NUMBA_CACHE_DIR")
    assert "compiled just now" in doctor._cache("mbd: compiling kernels", "/").detail
    assert "NUMBA_DISABLE_JIT" in doctor._cache("", None).detail


def test_it_may_not_be_installed(monkeypatch):
    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", none)
    (check,) = doctor._packages()
    assert check.status == "failed"
    assert check.remedy == "pip install -e . in the clone"


def test_usual_models_are_compiled_beforehand(monkeypatch, capsys):
    def process(*command):
        commands.append(command)
        return ended(0, json.dumps({"seconds": 61.2, "systems": 40})), 61.3

    commands = []
    monkeypatch.setattr(doctor, "_process", process)
    assert main(["doctor", "--fast", "--warm", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    (done,) = [x for x in found["checks"] if x["name"] == "warm"]
    assert commands == [("-m", "mbd.cli.checks", "warm")]
    assert (done["status"], done["numbers"]["systems"]) == ("ok", 40)
    assert "compiled, in 61 s" in done["detail"]


def test_a_usual_model_has_every_formulation_and_runs():
    mixed = next(usual_systems())
    assert {b.formulation.name for b in mixed.bodies.values()} >= set(mbd.formulations.NAMES)
    assert mbd.simulate(mixed, 1e-3, 5e-4).success
