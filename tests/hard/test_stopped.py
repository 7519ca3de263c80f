"""Runs that are killed or interrupted at random instants: what was computed or written is there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from families import some

import mbd
from mbd.cli import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def stopped(signal, kinds, folder, n, seed):
    """Return what came of n runs that were stopped, one kind after the other."""
    program, many = [sys.executable, str(HERE / "dying.py")], n * len(kinds)
    done = subprocess.run(
        [*program, signal, ",".join(kinds), str(folder), str(n), str(seed)],
        cwd=ROOT, timeout=120 * len(kinds) + 8 * many, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == many
    return found


def check_prefix(path, whole):
    """What is read is the beginning of the whole run, to the last bit."""
    run = mbd.load(path)
    n = len(run.t)
    for name in ("t", "q", "v", "a", "lam"):
        assert np.array_equal(getattr(run, name), np.asarray(getattr(whole, name))[:n]), path
    assert np.array_equal(run["wheel"].position, whole["wheel"].position[:n])
    return run


def many(few, lots):
    """Return how many runs are stopped: few as a rule, many on request."""
    return pytest.mark.parametrize(
        ("n", "seed"), [(few, 1), pytest.param(lots, 2, marks=pytest.mark.slow)]
    )


def no_trace(text):
    """Nothing is told but in words; where Python itself ignores a Ctrl-C it says so."""
    return "Traceback" not in text.partition("Exception ignored in")[0]


# --- Ctrl-C in a program --------------------------------------------------------------------------
@many(5, 400)
def test_ctrl_c_in_a_program(tmp_path, n, seed):
    """Once or twice, at any instant: what was computed comes back, and the next run is right."""
    found = stopped("SIGINT", ["call"], tmp_path, n, seed)
    for run in found:
        assert run["handler"], run
        assert run["again"], run
        assert run.get("read", True), run
        if run["status"] != "KeyboardInterrupt":  # before the first step, or after the last
            assert run["prefix"], run
            assert run["steps"], run
    assert {run["status"] for run in found} >= {-1}


# --- mbd run --stream -----------------------------------------------------------------------------
@pytest.mark.parametrize("signal", some(["SIGINT", "SIGKILL"], 2))
@many(3, 200)
def test_a_stream_that_is_stopped(tmp_path, monkeypatch, signal, n, seed):
    """The file is not there yet, or it is read up to the last writing."""
    found = stopped(signal, ["stream"], tmp_path, n, seed)
    folder = tmp_path / "stream"
    whole = mbd.load(folder / "whole.nc")
    lengths = []
    for run in found:
        assert run["code"] in ((0, -9) if signal == "SIGKILL" else (0, 130)), run
        assert no_trace(run["said"] or ""), run
        path = folder / run["file"]
        if path.exists():
            read = check_prefix(path, whole)
            lengths.append(len(read.t))
            if run["code"] == 0:
                assert len(read.t) == len(whole.t)
            elif signal == "SIGKILL" and read.status:
                assert "was killed or is still going on" in read.message
    assert lengths
    monkeypatch.chdir(folder)
    command = ["run", "scene.py", "-q", "--t-end", "0.01", "--stream", "-o"]
    for name in (found[0]["file"], found[-1]["file"]):  # what was left is tidied up
        assert main([*command, name]) == 0
        assert [p.name for p in folder.glob(f"*{name}*")] == [name]


# --- mbd run -o -----------------------------------------------------------------------------------
@pytest.mark.parametrize("signal", some(["SIGKILL", "SIGINT"], 2))
@many(2, 200)
def test_a_file_that_is_being_replaced(tmp_path, signal, n, seed):
    """It is the old one, whole, or the new one, whole."""
    endings = [".npz", ".nc", ".csv"]
    found = stopped(signal, endings, tmp_path, n, seed)
    assert [Path(run["file"]).suffix for run in found] == [x for x in endings for _ in range(n)]
    whole = {x: mbd.load(tmp_path / x / f"whole{x}") for x in endings[:2]}
    text = (tmp_path / ".csv" / "whole.csv").read_bytes()
    for run in found:
        ending = Path(run["file"]).suffix
        assert run["code"] in ((0, -9) if signal == "SIGKILL" else (0, 130)), run
        assert no_trace(run["said"] or ""), run
        path = tmp_path / ending / run["file"]
        assert run["old"] or run["code"] or path.exists(), run
        if run["old"]:
            continue
        if ending == ".csv":
            content = path.read_bytes()
            assert content.endswith(b"\n")
            assert text.startswith(content) if signal == "SIGINT" else text == content, run
        else:
            check_prefix(path, whole[ending])
