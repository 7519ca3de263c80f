"""What is promised is shown by tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.rst").read_text(encoding="utf-8")


def test_every_promise_names_a_test():
    for row in re.split(r"^    \* - ", PAGE, flags=re.M)[1:]:
        if not row.startswith("What happens"):
            assert "::test_" in row, row.splitlines()[0]


def test_every_test_that_is_named_exists():
    named = re.findall(r"``(tests/[\w/]+\.py)::(\w+)``", PAGE)
    assert len(named) >= 12
    for path, name in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.M), f"{path}::{name}"


def test_every_file_of_hard_tests_is_named():
    for path in (ROOT / "tests" / "hard").glob("test_*.py"):
        assert f"tests/hard/{path.name}::" in PAGE, path.name
