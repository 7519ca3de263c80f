"""Every number that decides what is zero, met or lost stands in one place, with its reason."""

import ast
from pathlib import Path

import pytest

import mbd
from mbd.algebra import tolerances

ROOT = Path(mbd.__file__).parent
SOLVERS = sorted(p for floor in ("model", "solvers") for p in (ROOT / floor).rglob("*.py"))
# sizes of pieces of memory and of work: they change no number of a result
SIZES = {"_CHUNK_BYTES", "_CHUNK_SECONDS", "_DENSE"}


def table():
    """Return the entries as {name: docstring}."""
    body = ast.parse(Path(tolerances.__file__).read_text(encoding="utf-8")).body
    return {
        a.targets[0].id: b.value.value.strip() if isinstance(b, ast.Expr) else ""
        for a, b in zip(body, [*body[1:], None], strict=True)
        if isinstance(a, ast.Assign)
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
    assert not private_numbers(path), f"{path}: to mbd/algebra/tolerances.py, with a reason"


@pytest.mark.parametrize("name", sorted(table()))
def test_each_has_a_unit_and_a_reason_and_is_used(name):
    text = table()[name]
    assert text.startswith("[")
    assert "] " in text
    assert len(text.split("] ", 1)[1].split()) >= 4
    used = [p for p in ROOT.rglob("*.py") if name in p.read_text(encoding="utf-8")]
    assert len(used) >= 2, f"{name} is not used"
