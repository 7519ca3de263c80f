"""Collision shapes of URDF and MJCF become contacts: which shapes, which planes, which friction."""

import numpy as np
import pytest

import mbd

MASS = ('<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>")  # fmt: skip
G = 9.81


def shape(tag, at, inside):
    return f'<{tag}><origin xyz="{at}"/><geometry>{inside}</geometry></{tag}>'


def fixed(name, parent, child, at):
    return (f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{at}"/></joint>')  # fmt: skip


# a trunk of a mesh and a cylinder, two feet that look smaller than they are, and one all of show
URDF = f"""<robot name="r">
<link name="trunk">{MASS}{shape("visual", "0 0 0", '<box size="1 1 1"/>')}
{shape("collision", "0 0 0", '<cylinder radius="0.1" length="0.3"/>')}
{shape("collision", "0 0 0", '<mesh filename="nowhere.stl"/>')}</link>
<link name="left">{MASS}{shape("visual", "0 0 0.1", '<sphere radius="0.01"/>')}
{shape("collision", "0 0 -0.2", '<sphere radius="0.05"/>')}</link>
<link name="right">{MASS}{shape("collision", "0 0 -0.2", '<box size="0.2 0.2 0.1"/>')}</link>
<link name="flag">{MASS}{shape("visual", "0 0 0", '<sphere radius="0.3"/>')}</link>
{fixed("l", "trunk", "left", "0 0.3 0")}{fixed("r", "trunk", "right", "0 -0.3 0")}
{fixed("f", "trunk", "flag", "0 0 0.5")}</robot>"""


def urdf(tmp_path, **options):
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    return mbd.read(path, base="floating", position=(0, 0, 0.25), **options)


@pytest.mark.parametrize("links", ["joint", "lumped"])
def test_a_robot_stands_on_its_collision_shapes(links, tmp_path):
    """Its feet are 0.25 m below its origin; the shapes of the pictures are elsewhere."""
    robot = urdf(tmp_path, fixed=links)
    contacts = robot.add_contacts(friction=0.5)
    whole = links == "lumped"
    names = ["trunk on ground"] if whole else ["left on ground", "right on ground"]
    assert [x.name for x in contacts] == names
    assert sum(len(x.balls) for x in contacts) == 9
    solution = mbd.simulate(robot.system, 0.1, 1e-3)
    assert np.abs(solution["trunk"].position - (0, 0, 0.25)).max() < 1e-12
    force = sum(solution[name].force[-1] for name in names)
    assert force == pytest.approx([0, 0, 4 * G], abs=1e-9)
    for kind in ("cylinder", "mesh"):
        assert any(f"of type {kind} touch nothing" in x and "trunk" in x for x in robot.notes)
    again = mbd.read(mbd.write(robot.system, tmp_path / "r.toml")).system
    assert [x.balls for x in again.joints.values() if x.name in names] == [
        x.balls for x in contacts
    ]


def test_shapes_for_show_and_others_are_refused_by_name(tmp_path):
    robot = urdf(tmp_path)
    system, ground = robot.system, robot.system.ground
    with pytest.raises(ValueError, match=r"c: 'trunk' must have a shape .* is for show"):
        mbd.Contact("c", ground, system["trunk"])
    with pytest.raises(ValueError, match=r"c: 'flag' must have a shape .* is for show"):
        mbd.Contact("c", ground, system["flag"])
    own = mbd.Contact("c", ground, system["flag"], shape=mbd.Sphere(0.3, at=(0, 0, 1)))
    assert own.balls == (((0.0, 0.0, 1.0), 0.3),)
    turned = mbd.rotation("y", np.pi / 2)
    of_frame = mbd.Frame(system["flag"], (1.0, 0, 0), turned)
    placed = mbd.Contact("c", ground, of_frame, shape=mbd.Sphere(0.3, at=(0, 0, 1)))
    assert np.allclose(placed.balls[0][0], (2, 0, 0))
    point = mbd.PointMass("p", mass=1.0)
    for attempt, words in (
        (robot.add_contacts, "friction must be given"),
        (lambda: robot.add_contacts("nobody", friction=1), "there is no body 'nobody'"),
        (lambda: robot.add_contacts([], friction=1), "bodies must be a name or several"),
        (lambda: robot.add_contacts(["left", "trunk"], friction=1), "'trunk' must have a shape"),
        (lambda: robot.add_contacts(friction=1, plane=3), "plane must be system.ground or a Frame"),
        (lambda: mbd.Contact("c", ground, point, shape=mbd.Sphere(1)), "leave out shape="),
        (lambda: mbd.Contact("c", ground, system["left"], shape=mbd.Cylinder(1, 2)), "a Cylinder"),
        (lambda: mbd.RigidBody("b", mass=1, inertia=(1, 1, 1), collision=mbd.Cylinder(1, 2)),
         "b: collision must be spheres, boxes or capsules, got a Cylinder"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=words):
            attempt()
    assert not [x for x in system.joints.values() if isinstance(x, mbd.Contact)]


GEOMS = """<mujoco model="touch">
<default><geom size="0.1" friction="0.4"/>
  <default class="odd"><geom contype="2" conaffinity="2"/></default></default>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.6"/>
  <geom name="ice" type="plane" size="1 1 1" friction="0.05" priority="1" condim="1" pos="0 0 .03"/>
  <geom name="ghost" type="plane" size="1 1 1" contype="0" conaffinity="0"/>
  <body name="post" pos="4 0 0.05">
    <geom name="slab" type="plane" size="1 1 1" pos="0 0 -.1" contype="2" conaffinity="1"/>
    <geom name="top"/></body>
  <body name="a" pos="0 0 0.05"><freejoint/><geom name="a1"/>
    <geom name="a2" friction="0.9" pos="0.3 0 0"/><geom name="a3" class="odd" pos="-0.3 0 0"/>
    <geom name="a4" contype="0" conaffinity="0" pos="0 0.5 0"/></body>
  <body name="b" pos="1 0 0.05"><freejoint/><geom name="b1" condim="4" friction="0.7 0.01"/>
    <body name="tip" pos="0.3 0 0"><geom name="t1" friction="0.8"/></body></body>
  <body name="c" pos="2 0 0.05"><freejoint/><geom name="c1"/></body>
  <body name="d" pos="3 0 0.05"><freejoint/>
    <geom name="d1" type="capsule" fromto="0 0 0 0 .1 0" priority="1" friction="0.2"/></body>
</worldbody>
<contact><exclude body1="world" body2="c"/></contact></mujoco>"""
PLACE = {"a1": (0, 0, 0), "a2": (0.3, 0, 0), "a3": (-0.3, 0, 0), "b1": (0, 0, 0),
         "t1": (0, 0, 0), "c1": (0, 0, 0), "d1": (0, 0.05, 0)}  # fmt: skip
BODY = {"t": "tip", "a": "a", "b": "b", "c": "c", "d": "d"}
# contacts with planes that mujoco 4.0.0 finds in GEOMS (mj_forward), and friction[0]; 0: condim 1
MUJOCO = {
    "floor": {"a1": 0.6, "a2": 0.9, "b1": 0.7, "t1": 0.8, "d1": 0.2},
    "ice": {"a1": 0.0, "a2": 0.0, "b1": 0.0, "t1": 0.0, "d1": 0.2},
    "slab": {"a1": 0.4, "a2": 0.9, "a3": 0.4, "b1": 0.7, "t1": 0.8, "c1": 0.4, "d1": 0.2},
}


def mjcf(tmp_path, text=GEOMS, **options):
    path = tmp_path / "touch.xml"
    path.write_text(text)
    return mbd.read(path, **options)


def test_geoms_touch_the_planes_that_mujoco_lets_them_touch(tmp_path):
    robot = mjcf(tmp_path)
    pairs = {
        (x.plane, x.body, *np.round(s.at, 9).tolist()): x.friction
        for x in robot.meetings
        for s in x.shapes
    }
    assert pairs == {
        (plane, BODY[geom[0]], *PLACE[geom]): mu
        for plane, geoms in MUJOCO.items()
        for geom, mu in geoms.items()
    }
    assert list(robot.planes) == ["floor", "ice", "slab"]
    assert robot.planes["slab"].start[0] == pytest.approx([4, 0, -0.05])
    names = [x.name for x in robot.add_contacts(["a", "d"])]
    assert names == ["a on floor", "a on floor 2", "d on floor", "a on ice", "d on ice",
                     "a on slab", "a on slab 2", "d on slab"]  # fmt: skip
    assert robot.system["a on floor 2"].friction == 0.9
    assert robot.system["d on floor"].balls[0][1] == 0.1
    with pytest.raises(ValueError, match="does not let post touch one of its planes"):
        robot.add_contacts("post")


def test_planes_and_what_is_off(tmp_path):
    """A flag takes all planes away; a plane stays where it is, lumped or not."""
    off = GEOMS.replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    assert not mjcf(tmp_path, off).planes
    lumped = mjcf(tmp_path, fixed="lumped")
    assert lumped.planes["slab"].name == "ground"
    assert {x.body for x in lumped.meetings} == {"a", "b", "c", "d"}
    moving = GEOMS.replace('<geom name="c1"/>', '<geom name="c1" type="plane" size="1 1 1"/>')
    with pytest.raises(ValueError, match="is a plane of body 'c', which moves"):
        mjcf(tmp_path, moving)
    negative = GEOMS.replace('friction="0.9"', 'friction="-1"')
    with pytest.raises(ValueError, match=r"friction must not be negative .*, got -1"):
        mjcf(tmp_path, negative)


def test_a_ball_rolls_on_a_plane_of_mjcf(tmp_path):
    """It falls on a slope of 20 degrees and rolls: 5/7 g sin a (solid ball)."""
    a = np.radians(20)
    text = f"""<mujoco><worldbody>
    <geom type="plane" size="1 1 1" zaxis="{np.sin(a)} 0 {np.cos(a)}" pos="0 0 0.5"/>
    <body pos="{0.1 * np.sin(a)} 0 {0.5 + 0.1 * np.cos(a)}"><freejoint/>
    <geom size="0.1" friction="0.9"/></body></worldbody></mujoco>"""
    robot = mjcf(tmp_path, text)
    robot.add_contacts()
    v = mbd.simulate(robot.system, 0.5, 1e-3)["body 1"].velocity[-1]
    want = 5 / 7 * G * np.sin(a) * 0.5 * np.array([np.cos(a), 0, -np.sin(a)])
    assert v == pytest.approx(want, abs=1e-9)
