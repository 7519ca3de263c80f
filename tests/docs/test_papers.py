"""The page *From paper to code*: every number once, every name and test on it exists."""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

import pytest
from docutils.core import publish_doctree
from sources import FILES, nodes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "papers.rst").read_text(encoding="utf-8")
KEYS = re.findall(r"^\[(\w+(?: \d{4})?)\]$", PAGE, re.M)
LAST = {"Sherif 2015": 84, "Holzinger 2020": 130, "Gebhardt 2020": 123, "Kynema": 6}
LEFT_OUT = {"Gebhardt 2020": {117, 118}}
TABLES = {
    key: [
        [re.sub(r"\s+", " ", cell).strip() for cell in re.split(r"^      - ", row, flags=re.M)]
        for row in re.split(r"^    \* - ", text, flags=re.M)[2:]  # behind the head
    ]
    for key, text in re.findall(r"^\.\. list-table:: \[(.*?)\]\n(.*?)(?=^\S|\Z)", PAGE, re.M | re.S)
}
ROWS = [(key, *row) for key, rows in TABLES.items() for row in rows]
NAMES = sorted(set(re.findall(r"``(mbd\.[\w.]+)``", PAGE)))
TESTS = sorted(set(re.findall(r"``(tests/[^`]*)``", PAGE)))


def numbers(cell):
    """Return the numbers of equations that a cell names."""
    found = []
    for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", cell):
        found += range(int(first), int(last or first) + 1)
    return found


def test_the_page_is_read():
    assert list(TABLES) == KEYS
    assert len(KEYS) == 5
    assert len(ROWS) > 50
    assert len(NAMES) > 40
    assert len(TESTS) > 40


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_every_row_has_code_and_a_test(row):
    _, _, what, code, tests = row
    assert what
    assert re.findall(r"``mbd\.", code)
    assert re.findall(r"``tests/", tests)


@pytest.mark.parametrize("key", LAST)
def test_every_number_stands_once(key):
    found = [n for _, cell, *_ in (r for r in ROWS if r[0] == key) for n in numbers(cell)]
    twice = sorted({n for n in found if found.count(n) > 1})
    assert not twice
    missing = set(range(1, LAST[key] + 1)) - set(found) - LEFT_OUT.get(key, set())
    assert not missing, f"numbers that no row has: {sorted(missing)}"
    assert max(found) == LAST[key]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_imported(name):
    words = name.split(".")
    for n in range(len(words), 0, -1):
        try:
            module = importlib.import_module(".".join(words[:n]))
        except ModuleNotFoundError:
            continue
        reduce(getattr, words[n:], module)
        return
    raise AssertionError(name)


def test_every_test_is_one_that_pytest_collects():
    """A function of its file that is called like a test, and not declared to be none."""
    missing = []
    for path, _, name in (x.partition("::") for x in TESTS):
        text = (ROOT / path).read_text(encoding="utf-8")
        if not re.search(rf"^def {name}\(" if name else "^def test_", text, re.M):
            missing.append((path, name))
        assert "__test" + "__" not in text
    assert not missing


# --- docstrings -----------------------------------------------------------------------------------
def docstrings(name):
    """Return the docstrings of a file."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(x) or "" for x in nodes(name) if isinstance(x, kinds)]


def test_docstrings_name_their_source():
    """By the key of the page and, with a number, as [Sherif 2015, (23)]."""
    cited = set()
    for name in FILES:
        for text in docstrings(name):
            flat = re.sub(r"\s+", " ", text)
            assert not re.search(r"\bthe paper\b", flat, re.I), f"{name}: say which: {flat}"
            lone = re.search(r"\bEqs?\. ?\(", flat)
            assert not lone, f"{name}: whose equation? {flat[lone.start() :][:60]}"
            cited |= set(re.findall(r"\[((?:[A-Z]\w+ \d{4})|Kynema)[,\]]", flat))
    assert cited == set(KEYS)


SHOWN = re.findall(r"automodule:: (mbd\.[\w.]+)", (DOCS / "derivations.rst").read_text("utf-8"))


def test_modules_with_derivations_are_shown():
    wanted = (
        "scalable unified se3 homogeneous euler_parameters energy_momentum velocity_rows "
        "driven_rotation"
    )
    assert set(wanted.split()) <= {x.rpartition(".")[2] for x in SHOWN}


@pytest.mark.parametrize("name", SHOWN)
def test_derivations_are_text_that_can_be_set(name):
    """Plain reStructuredText without a complaint, with formulas."""
    text = importlib.import_module(name).__doc__
    body = re.split(r"^(?:References|Source)\b", text, flags=re.M)[0]
    assert ":math:" in body or ".. math::" in body
    publish_doctree(body, settings_overrides={"halt_level": 2, "report_level": 2})
