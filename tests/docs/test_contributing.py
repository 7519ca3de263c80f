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


def test_the_map_answers_questions():
    questions = re.findall(r"^- [^?]+\?\s[^?]*?``", section("Where is ..."), re.M)
    assert len(questions) == 19
    for entry in re.split(r"^- ", section("Where is ..."), flags=re.M)[1:]:
        assert named(entry), f"no file is named: {entry}"


ANSWERS = {
    "mbd/integration/newton_loop.py": "newton", "mbd/integration/verdicts.py": "still_open",
    "mbd/interactions/tables_of_time.py": "TimeTable", "mbd/derivatives/controls.py": "Control",
    "mbd/derivatives/step_kernels.py": "forward", "mbd/model/evaluation.py": "evaluate",
    "mbd/parts/joints.py": "Revolute", "mbd/interactions/rows.py": "COINCIDE",
    "mbd/model/planar_rows.py": "elements_of",
    "mbd/interactions/contact.py": "CONTACT", "mbd/integration/nonsmooth.py": "attempt",
    "mbd/integration/located.py": "go_to_event",
    "mbd/integration/set_valued_laws.py": "meet", "mbd/interactions/set_valued.py": "rigid_stop",
    "mbd/parts/part.py": "Part", "mbd/algebra/so3.py": "tangent",
    "mbd/formulations/so3.py": "add_tangent", "mbd/interactions/springs.py": "spring",
    "mbd/interactions/measures.py": "LENGTH", "mbd/interactions/laws.py": "Law",
    "mbd/interactions/motion_loads.py": "motion_load",
    "mbd/interactions/motion_laws.py": "LawOfMotion", "mbd/parts/by_motion.py": "Site",
    "mbd/algebra/expressions.py": "record", "mbd/machine/straight_line.py": "straight_line",
    "mbd/model/topology.py": "eliminate", "mbd/linear/fronts.py": "factor_up",
    "mbd/integration/consistent.py": "consistent", "mbd/runs/crossings.py": "Watch",
    "mbd/runs/events.py": "Event", "mbd/history/quantities.py": "PartHistory",
    "mbd/history/observed.py": "point_kernel", "mbd/history/program.py": "write",
    "mbd/store/fields.py": "fields",
    "mbd/store/netcdf.py": "save_netcdf", "mbd/store/log.py": "LogWriter",
    "mbd/files/robots/robot.py": "built", "mbd/files/wind/records.py": "Slender",
    "mbd/statics/search.py": "descend", "mbd/analyses/equilibrium.py": "equilibrium",
    "mbd/animation/arrows.py": "loads", "mbd/animation/painter.py": "_arrow",
    "mbd/animation/world.js": "arrow", "mbd/parts/functions.py": "Row",
    "mbd/joint_tree/recursions.py": "turned",
    "mbd/model/names.py": "Names", "mbd/base/dual.py": "Dual", "mbd/base/elementary.py": "RULES",
}  # fmt: skip


def test_the_files_of_the_map_hold_what_is_asked_for():
    assert set(ANSWERS) == set(named(section("Where is ...")))
    for name, word in ANSWERS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        begins = rf"^(def|class) {word}\b|^{word} = " if name.endswith(".py") else word
        assert re.search(begins, text, re.M), f"{name} does not define {word}"


@pytest.mark.parametrize("page", PAGES)
def test_doors_are_linked(page):
    assert f"docs/contributing/{page}" in named(section("How to add ..."))
    index = (ROOT / "docs" / "contributing.rst").read_text(encoding="utf-8")
    assert f"    contributing/{page[:-4]}\n" in index
