"""Every number that decides what is zero, met or lost stands in one place, with its reason."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sources import FILES, ROOT, nodes, text, tree, word


def of_docs():
    """Return the module of the documentation that reads the table."""
    path = ROOT.parent / "docs" / "tolerances.py"
    spec = importlib.util.spec_from_file_location("tolerances_of_docs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = of_docs().entries()
ROOMS = ("model", "linear", "integration", "small_motions", "statics", "runs")
# sizes of pieces of memory and of work: they change no number of a result
SIZES = {
    "_SMALL",
    "_CHUNK_BYTES",
    "_CHUNK_GROWTH",
    "_CHUNK_IMPACTS",
    "_CHUNK_SECONDS",
    "_CHUNK_UNKNOWNS",
    "_DELAY",
    "_DENSE",
    "_HEAD",
    "_BLOCK",
    "_BYTES",
}


def of_rooms(rooms):
    """Return the files of some rooms."""
    return [name for name in FILES if name.split("/")[0] in rooms]


def private_numbers(tree):
    """Return the names of numbers that a module defines for itself alone."""
    found = set()
    for node in tree.body:
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


def test_the_walk_finds_private_numbers():
    code = "_A, _B = 1e-7, 3\n_C = 1 / 64\n_D = (0.1, 2)\n_E: float = -1.0\n_F = 'x'\nG = 2\n"
    assert private_numbers(ast.parse(code)) == {"_A", "_B", "_C", "_D", "_E"}


def test_no_module_has_a_threshold_of_its_own():
    """It goes to mbd/base/tolerances.py, with a reason."""
    own = {name: x for name in of_rooms(ROOMS) if (x := private_numbers(tree(name)))}
    assert own == {"model/topology.py": {"_GROUND"}}  # the index of the ground


DECIDE = {"allclose", "clip", "isclose", "max", "maximum", "min", "minimum"}
DECIDING = (*ROOMS, "analyses", "control", "derivatives", "history", "studies")
EXACT = {0.5, 1e300, 1e-300}  # halves; beyond all numbers, below all


def deciding_numbers(nodes):
    """Return the numbers in comparisons and bounds of a module, and its small or large factors."""
    found = set()
    for node in nodes:
        bound = isinstance(node, ast.Call) and word(node.func) in DECIDE
        if not (bound or isinstance(node, ast.Compare | ast.BinOp)):
            continue
        inner = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        inner = [x for x in inner if type(x) is float]
        if isinstance(node, ast.BinOp):
            found |= {x for x in inner if 0 < x < 1e-2 or x >= 1e3}
        else:
            found |= {x for x in inner if not x.is_integer() or x >= 1e3}
    return found - EXACT


def written():
    """Return the numbers that decide where they stand, by module; each group has a reason."""
    where = {}
    for group in tomllib.loads((Path(__file__).parent / "literals.toml").read_text())["group"]:
        assert len(group["reason"].split()) >= 6
        for line in group["where"]:
            path, *numbers = line.split()
            where.setdefault(path, set()).update(map(float, numbers))
    return where


def test_the_walk_finds_numbers_that_decide():
    code = (
        "a = x < 1e-7 * y\nb = max(x, 3e-9)\nc = 0.25 * x\nd = 1e-4 * x if x > 0.5 else 2.0\n"
        "e = np.clip(x, 0.0, 0.75)\nf = x == 1e300\ng = 16 * eps > x >= 4.0\nh = [1e-5]\n"
    )
    assert deciding_numbers(ast.walk(ast.parse(code))) == {1e-7, 3e-9, 1e-4, 0.75}


def test_what_decides_is_in_a_table_or_has_its_reason():
    """A new threshold goes to a table of mbd/base, with a reason and a guard."""
    seen = {name: x for name in of_rooms(DECIDING) if (x := deciding_numbers(nodes(name)))}
    assert seen == written()


@pytest.mark.parametrize("entry", TABLE, ids=lambda x: x.name)
def test_each_has_a_unit_and_a_reason_and_is_used(entry):
    assert entry.unit
    assert len(entry.reason.split()) >= 4
    used = [name for name in FILES if entry.name in text(name)]
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
        f"import sys, pytest\nfrom mbd.base import tolerances\n"
        f"tolerances.{entry.name} = {entry.without}\n"
        f"sys.exit(pytest.main([{entry.guard!r}, '-x', '-q', '-n0', '-p', 'no:cacheprovider']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True,
        timeout=900, check=False, env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-2000:] + done.stderr
    assert "stopping after 1 failures" in done.stdout  # and nothing else went wrong
