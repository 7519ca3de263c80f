"""Lists of parts in the documentation are complete, and say of each part what it is."""

import re
import sys

import pytest
from test_examples import ROOT

import mbd
from mbd.parts.part import Part

sys.path += [str(ROOT / "tests" / "kinds")]
from recipes import JOINT_RECIPES, JOINTS, STILL, pair

DOCS = ROOT / "docs"
HOWTO = "\n".join(p.read_text(encoding="utf-8") for p in sorted((DOCS / "howto").glob("*.rst")))
PUBLIC = [getattr(mbd, name) for name in mbd.__all__]
PARTS = [x.__name__ for x in PUBLIC if isinstance(x, type) and issubclass(x, Part)]


def joints():
    """Return the table of joints: name -> (number of rows, coordinates)."""
    text = (DOCS / "howto" / "joints.rst").read_text(encoding="utf-8")
    head, *lines = text.split("joint            free")[1].splitlines()
    columns = [m.span() for m in re.finditer("=+", lines[0])]
    cells = [[line[a : b if i < 3 else None].strip() for i, (a, b) in enumerate(columns)]
             for line in lines[1 : lines.index(lines[0], 1)]]  # fmt: skip
    assert "rows" in head
    return {name: (int(rows), re.findall(r"``(\w+)``", free)) for name, _, rows, free in cells}


def made(name):
    _, one, two = pair("so3", "so3")
    return JOINT_RECIPES[name](one, two, STILL)


def test_parts_are_known():
    assert {"RigidBody", "Revolute", "Spring", "NonTwisting", "Rope"} <= set(PARTS)
    assert set(JOINTS) <= set(PARTS)


@pytest.mark.parametrize("name", [x for x in PARTS if x != "Ground"])
def test_a_howto_tells_of_every_part(name):
    assert re.search(rf"``(mbd\.)?{name}``|mbd\.{name}\(|^{name} ", HOWTO, re.M), (
        f"{name}: on no page of howto"
    )


@pytest.mark.parametrize("name", joints())
def test_the_table_of_joints_is_right(name):
    rows, coordinates = joints()[name]
    joint = made(name)
    assert rows == sum(len(x.rows) for x in joint.elements())
    assert coordinates == list(joint.coordinates)


def test_the_table_of_joints_is_complete():
    """Rolling and prescribed motion have pages of their own."""
    elsewhere = {"RollingDisc", "RollingBall", "KnifeEdge", "PrescribedMotion"}
    assert set(joints()) | elsewhere == set(JOINTS)
    assert not set(joints()) & elsewhere


@pytest.mark.parametrize("label", ["force x", "force along a"])
def test_signs_are_told_of_every_joint_with_such_rows(label):
    text = (DOCS / "notation.rst").read_text(encoding="utf-8")
    entry = re.search(rf"^\* ``{label}.*?(?=^\* |\n\n)", text, re.S | re.M)[0]
    listed = set(re.findall(r"``([A-Z]\w+)``", entry))
    having = {n for n in JOINTS if any(
        row.startswith(label) for x in made(n).elements() for row in x.rows)}  # fmt: skip
    assert listed == having
