"""Many processes and threads: one model for all, kernels compiled once, kills meanwhile."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mbd.machine import kernel_cache
from tests.test_kernel_cache import MODULE, PLAIN

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def said(program, *arguments, **environment):
    """Return the JSON that a program of this folder prints."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(HERE / program), *map(str, arguments)], cwd=ROOT, timeout=300,
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_threads_forks_and_new_processes_compute_the_same_bits():
    found, _ = said("sharing.py")
    (alone,) = found.pop("alone")
    for way, digests in found.items():
        assert digests, way
        assert set(digests) == {alone}, way
    assert len(found) == 6


@pytest.mark.parametrize("n", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_while_kernels_are_compiled(tmp_path, n):
    """What is left behind is whole, or is not there; nobody waits for the dead."""
    (tmp_path / "own_kernels.py").write_text(MODULE.format(**PLAIN))
    found, told = said("compiling.py", tmp_path, n, 5, NUMBA_DISABLE_JIT="0")
    assert found["killed"] > n // 2
    assert found["answer"] == 6.0
    assert "damaged" not in told
    kept = list((tmp_path / "kept").glob("*.kernel"))
    assert len(kept) == 2
    for file in kept:
        assert kernel_cache.load(file) is not None
