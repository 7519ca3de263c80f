"""CONTRIBUTING.md names files that exist, and the rooms of the package in their order."""

import re

import pytest
from test_examples import ROOT

from tests.test_floors import ORDER

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = (
    "joint.rst", "force.rst", "structure.rst", "integrator.rst", "quantity.rst", "file_kind.rst",
)  # fmt: skip


def section(title):
    """Return what stands under a heading."""
    found = re.search(rf"^{re.escape(title)}\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", TEXT, re.S | re.M)
    return found[1]


def named(text):
    """Return the files and folders that a text names from the root of the repository."""
    words = re.findall(r"``([\w./]+)``", text)
    return sorted({w for w in words if w.startswith(("mbd/", "docs/", "tests/", ".ci/"))})


def test_files_are_named():
    assert len(named(TEXT)) > 30


@pytest.mark.parametrize("name", named(TEXT))
def test_every_file_exists(name):
    assert (ROOT / name).exists()


def test_rooms_are_in_their_order():
    rooms = re.findall(r"^- ``(\w+)``: ", section("Rooms"), re.M)
    assert rooms == [x for x in ORDER if x != "__main__"]


def test_the_map_answers_twelve_questions():
    questions = re.findall(r"^- [^?]+\?\s[^?]*?``", section("Where is ..."), re.M)
    assert len(questions) == 12
    for entry in re.split(r"^- ", section("Where is ..."), flags=re.M)[1:]:
        assert named(entry), f"no file is named: {entry}"


@pytest.mark.parametrize("page", PAGES)
def test_doors_are_linked(page):
    assert f"docs/contributing/{page}" in named(section("How to add ..."))
    for index, link in (
        ("index.rst", "contributing/"),
        ("contributing.rst", ":doc:`contributing/"),
    ):
        assert link + page[:-4] in (ROOT / "docs" / index).read_text(encoding="utf-8")
