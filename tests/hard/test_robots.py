"""Nothing that a URDF file holds vanishes: it is read, noted, or refused by name."""

import re
import warnings
from xml.etree import ElementTree as ET

import pytest

import mbd

MASS = """<inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def link(name, inside=MASS):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", inside='<axis xyz="0 0 1"/>'):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f"{inside}</joint>")  # fmt: skip


BASE = link("base", "") + link("a") + link("b") + joint("j", "base", "a") + joint("k", "a", "b")


@pytest.fixture
def read(tmp_path):
    def from_text(inside, **options):
        path = tmp_path / "robot.urdf"
        path.write_text(f'<robot name="r">{inside}</robot>')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return mbd.read(path, **options)

    return from_text


def test_a_file_without_more_has_nothing_to_note(read):
    found = read(BASE)
    assert not found.notes
    assert list(found.system.bodies) == ["a", "b"]
    assert list(found.system.joints) == ["j", "k"]


RING = link("c") + link("d") + joint("m", "c", "d") + joint("n", "d", "c")
LONG = "".join(link(f"r{i}") for i in range(5)) + "".join(
    joint(f"q{i}", f"r{i}", f"r{(i + 1) % 5}") for i in range(5)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE + RING, "links 'd', 'c' form a ring that does not hang on 'base'"),
        (BASE + LONG + link("e") + joint("x", "r3", "e"), "'r1', 'r2', 'r3', 'r4', 'r0', 'e' form"),
        (BASE + link("c") + joint("o", "c", "c"), "links 'c' form a ring"),
        (RING, "got none: the joints form a ring"),
        (BASE + link("c"), "one link that is no child of a joint, got 'base', 'c'; join"),
        (BASE + link("c") + link("d") + joint("m", "c", "d"), "got 'base', 'c'; join"),
        (BASE + link("a"), "link 'a' is there twice"),
        (BASE + link("c") + joint("j", "a", "c"), "joint 'j' is there twice"),
        (BASE + link("c") + joint("x", "a", "c") + joint("y", "b", "c"), "child of two joints"),
        (BASE + joint("x", "a", "nobody"), "there is no link 'nobody'"),
        (BASE + link("c", "") + joint("x", "a", "c"), "link 'c': has no inertia but moves"),
        (BASE + link("x/y") + joint("x", "a", "x/y"), "name must be without slashes"),
        ("", "has no <link>"),
        (BASE.replace('value="1"', 'value="1e400"', 1), "value must be 1 finite numbers"),
        (BASE.replace('value="1"', 'value="-1"', 1), "link a: mass must be positive"),
        (BASE.replace('ixx="1"', 'ixx="9"', 1), "violates the triangle inequality"),
        ("<link", "is no XML"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(read, text, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        read(text)
    assert "robot.urdf: " in str(error.value)


def with_child(text, n, child):
    """Return the text with one more element inside its n-th one, and the tag of that one."""
    root = ET.fromstring(f'<robot name="r">{text}</robot>')
    nodes = list(root.iter())
    if n >= len(nodes):
        return None
    nodes[n].append(child)
    return "".join(ET.tostring(x, "unicode") for x in root)


RICH = BASE + link("f", MASS + '<visual name="v"><origin xyz="1 0 0"/><geometry><box size="1 1 1"/>'
                   '</geometry><material name="red"><color rgba="1 0 0 1"/></material></visual>'
                   ) + joint("l", "b", "f", inside='<origin xyz="0 0 1"/><axis xyz="0 1 0"/>'
                             '<dynamics damping="1"/>')  # fmt: skip


def answer(read, text):
    """Return the notes, or with which words a file is refused."""
    try:
        return read(text).notes
    except ValueError as error:
        return (str(error), "geometry") if "robot.urdf: " in str(error) else ()


@pytest.mark.parametrize(
    "tag",
    "gazebo transmission sensor strange {x.org}y origin inertial axis mass limit visual "
    "safety_controller collision texture mimic dynamics".split(),
)
def test_one_more_element_anywhere(read, tag):
    """It is noted, refused by name, or changes the system."""
    plain = read(RICH)
    assert not plain.notes
    tried = 0
    for n in range(40):
        text = with_child(RICH, n, ET.Element(tag, {"odd": "7"}))
        if text is None:
            break
        told = answer(read, text)
        assert any(tag in x or "geometry" in x for x in told), (tag, n)
        tried += 1
    assert tried > 25


def test_one_more_attribute_anywhere(read):
    root = ET.fromstring(f'<robot name="r">{RICH}</robot>')
    for node in list(root.iter())[1:]:
        node.set("odd", "7")
        found = read("".join(ET.tostring(x, "unicode") for x in root))
        assert any("'odd'" in note for note in found.notes), node.tag
        del node.attrib["odd"]


@pytest.mark.parametrize(
    ("text", "options", "noted"),
    [
        (BASE.replace('value="1"', 'value="0"', 1).replace("revolute", "fixed", 1), {},
         ["link 'base' is the ground: its mass is not used"]),  # inertia alone was lumped into it
        (BASE + '<transmission name="t"><type>x</type></transmission>', {}, ["<transmission> 't'"]),
        (BASE + '<gazebo reference="a"/>', {}, ["robot: <gazebo> is not used"]),
        (BASE.replace("revolute", "floating", 1), {}, ["joint 'j' leaves all free"]),
        (link("base", MASS.replace("<inertial>", '<visual><geometry><sphere radius="1"/></geometry>'
         "</visual><inertial>")) + link("a") + joint("j", "base", "a"), {},
         ["'base' is the ground: its mass", "'base' is the ground: its shape"]),
        (BASE + '<material name="m"><texture filename="x.png"/></material>', {}, ["<texture>"]),
        (BASE.replace("revolute", "fixed", 1), {"base": "floating"},
         ["link 'base' is left out, with joint 'j'"]),
    ],
)  # fmt: skip
def test_what_is_left_out_is_noted(read, text, options, noted):
    notes = read(text, **options).notes
    for words in noted:
        assert any(words in note for note in notes), notes


@pytest.mark.parametrize("depth", [200, 3000])
def test_bodies_nested_deeply_are_read_or_refused_in_words(depth, tmp_path):
    path = tmp_path / "deep.xml"
    body = '<body pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/>'
    inside = body * depth + "</body>" * depth
    path.write_text(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    if depth < 1000:
        assert len(mbd.read(path).system.bodies) == depth
    else:
        with pytest.raises(ValueError, match="deep.xml: is nested too deeply"):
            mbd.read(path)


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1e200"])
def test_a_body_farther_than_can_be_computed_with_is_refused_with_its_line(number, tmp_path):
    path = tmp_path / "far.xml"
    path.write_text(
        f'<mujoco><worldbody>\n<body name="a" pos="{number} 0 0"><joint/><geom size="0.1"/></body>'
        "</worldbody></mujoco>"
    )
    with pytest.raises(ValueError, match=r"far.xml: body 'a': pos must not exceed .*line 2"):
        mbd.read(path)
