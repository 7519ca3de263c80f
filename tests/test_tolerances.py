"""Every number that decides what is zero, met or lost stands in one place, with its reason."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mbd

ROOT = Path(mbd.__file__).parent


def of_docs():
    """Return the module of the documentation that reads the table."""
    path = ROOT.parent / "docs" / "tolerances.py"
    spec = importlib.util.spec_from_file_location("tolerances_of_docs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = of_docs().entries()
ROOMS = ("model", "linear", "integration", "small_motions", "statics", "runs")
SOLVERS = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))
# sizes of pieces of memory and of work: they change no number of a result
SIZES = {
    "_SMALL",
    "_CHUNK_BYTES",
    "_CHUNK_GROWTH",
    "_CHUNK_SECONDS",
    "_DELAY",
    "_DENSE",
    "_HEAD",
    "_BLOCK",
}


def private_numbers(path):
    """Return the names of numbers that a module defines for itself alone."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            inner = list(ast.walk(node.value)) if node.value else []
            number = any(
                isinstance(n, ast.Constant) and type(n.value) in (int, float) for n in inner
            )
            text = any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in inner)
            made = any(isinstance(n, ast.Call | ast.Attribute | ast.Dict) for n in inner)
            for n in ast.walk(node):
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                    private = n.id.startswith("_") and n.id != "_"
                    if private and number and not text and not made:
                        found.add(n.id)
    return found - SIZES


def test_the_walk_finds_private_numbers(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "_A, _B = 1e-7, 3\n_C = 1 / 64\n_D = (0.1, 2)\n_E: float = -1.0\n_F = 'x'\nG = 2\n"
    )
    assert private_numbers(file) == {"_A", "_B", "_C", "_D", "_E"}


@pytest.mark.parametrize("path", SOLVERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_has_a_threshold_of_its_own(path):
    if path.name == "topology.py":
        assert private_numbers(path) == {"_GROUND"}  # the index of the ground
        return
    assert not private_numbers(path), f"{path}: to mbd/base/tolerances.py, with a reason"


@pytest.mark.parametrize("entry", TABLE, ids=lambda x: x.name)
def test_each_has_a_unit_and_a_reason_and_is_used(entry):
    assert entry.unit
    assert len(entry.reason.split()) >= 4
    used = [p for p in ROOT.rglob("*.py") if entry.name in p.read_text(encoding="utf-8")]
    assert len(used) >= 2, f"{entry.name} is not used"


def test_guards_are_tests():
    """A guard is a test that fails when the number is what the table says."""
    guarded = [x for x in TABLE if x.guard]
    for x in guarded:
        path, _, name = x.guard.partition("::")
        names = re.findall(r"^def (test_\w+)", (ROOT.parent / path).read_text(), re.M)
        assert name in names, f"{x.name}: {x.guard} is no test"
        ast.literal_eval(x.without)


def test_each_has_a_guard():
    assert not [x.name for x in TABLE if not x.guard]


@pytest.mark.slow
@pytest.mark.parametrize("entry", [x for x in TABLE if x.guard], ids=lambda x: x.name)
def test_its_guard_fails_without_it(entry):
    """In a process of its own, where the number is another one."""
    code = (
        f"import sys, pytest\nfrom mbd.base import {entry.module}\n"
        f"{entry.module}.{entry.name} = {entry.without}\n"
        f"sys.exit(pytest.main([{entry.guard!r}, '-x', '-q', '-n0', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True,
        timeout=900, check=False, env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-2000:] + done.stderr
    assert "stopping after 1 failures" in done.stdout  # and nothing else went wrong
