"""Models from MJCF: against mujoco, against the file, and what errors say."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd
from mbd.cli import main

LEG = Path(__file__).parents[2] / "models" / "leg.xml"
OPEN = {"limits": "none", "friction": "none", "loops": "open"}
COORDINATES = ["rail.displacement", *(f"{x}.angle" for x in "hip knee roll pitch pivot".split())]
# mujoco 4.0.0, models/leg.xml at its key, without limits, friction and equalities
QACC = [-0.19300206543130372, -49.40199864599183, 169.2133443792898, -7.661664581951945,
        -31.51221306765457, -21.745413525099668]  # fmt: skip
MASS_MATRIX = [
    [4.00656628621017, -0.11628391808266025, -0.02731828893453831, -0.0010947754310809512,
     -0.0008021623372772325, -0.022224798191278275],
    [-0.11628391808266025, 0.036294163373484206, 0.007542156377932915, 0.0002729831359442128,
     0.0005112707607825849, 0.0],
    [-0.02731828893453831, 0.007542156377932915, 0.019630901284018062, 5.318474195646271e-05,
     0.0010309637152038727, 0.0],
    [-0.0010947754310809512, 0.0002729831359442128, 5.318474195646271e-05, 0.004312128841711589,
     0.0, 0.0],
    [-0.0008021623372772325, 0.0005112707607825849, 0.0010309637152038727, 0.0,
     0.004167384056583265, 0.0],
    [-0.022224798191278275, 0.0, 0.0, 0.0, 0.0, 0.008823525962098086],
]  # fmt: skip
FOOT = {
    "mass": 0.11309733552923257,
    "position": (0.04330535510440026, -3.2212401026871645e-07, 0.7458292042724165),
    "quaternion": (0.6147041354911145, 0.06267073520414794, 0.7824142858682621,
                   -0.07771158233076171),
    "center": (0.09091366062360039, -0.00993298335373766, 0.7342192306942394),
    "inertia": ((7.382716435913357e-05, -2.1176008425638336e-06, -1.0814296274865363e-05),
                (-2.117600842563835e-06, 6.604254019425217e-05, 6.106428264756499e-07),
                (-1.081429627486536e-05, 6.106428264756498e-07, 3.203824545104784e-05)),
}  # fmt: skip


def test_the_leg_moves_as_mujoco_says():
    """Two hinges in one body have a little mass between them: accelerations to its share."""
    system = mbd.read(LEG, keyframe="kick", **OPEN).system
    here = mbd.joint_space(system, coordinates=COORDINATES)
    assert np.allclose(here.M, MASS_MATRIX, rtol=0, atol=1e-8)
    got = here.accelerations(np.zeros(6))
    assert np.allclose(got, QACC, rtol=0, atol=1e-8 * np.abs(QACC).max())
    foot = system["foot"]
    R = foot.rotation
    assert foot.mass == pytest.approx(FOOT["mass"], rel=1e-12)
    assert np.allclose(foot.position, FOOT["position"], rtol=0, atol=1e-12)
    want = Rotation.from_quat(FOOT["quaternion"], scalar_first=True).as_matrix()
    assert np.allclose(R, want, rtol=0, atol=1e-12)
    center = foot.position + R @ foot.center_of_mass
    assert np.allclose(center, FOOT["center"], rtol=0, atol=1e-12)
    assert np.allclose(R @ foot.inertia @ R.T, FOOT["inertia"], rtol=0, atol=1e-16)


def test_the_leg_runs_closed_and_all_of_it_is_read():
    read = mbd.read(LEG)
    assert read.title == "leg"
    assert read.run == {"t_end": 2.0, "step": 1e-3}
    assert [x for x in read.notes if "ellipsoid" not in x] == []
    system = read.system
    assert isinstance(system["pin"], mbd.Spherical)
    assert isinstance(system["servo"], mbd.JointSpring)
    assert isinstance(system["pusher"], mbd.Motor)
    assert system["hip stop"].upper == pytest.approx(np.deg2rad(70))
    assert read.frames["toe"].body is system["foot"]
    solution = mbd.simulate(system, 0.2, 1e-3)
    assert solution.gap.max() < 1e-10


def model(tmp_path, inside, name="m.xml", head=""):
    path = tmp_path / name
    path.write_text(f'<mujoco model="m">\n{head}\n<worldbody>\n{inside}\n</worldbody>\n</mujoco>')
    return path


BALL = '<geom type="sphere" size="0.1"/>'


@pytest.mark.parametrize(("said", "turn"), [
    ('quat="0.5 0.5 0.5 0.5"', Rotation.from_rotvec(np.full(3, 2 * np.pi / 3 / 3**0.5))),
    ('axisangle="0 2 0 30"', Rotation.from_euler("y", 30, degrees=True)),
    ('euler="10 20 30"', Rotation.from_euler("XYZ", (10, 20, 30), degrees=True)),
    ('xyaxes="0 2 0 -1 5 0"', Rotation.from_euler("z", 90, degrees=True)),
    ('zaxis="3 0 0"', Rotation.from_euler("y", 90, degrees=True)),
    ('zaxis="0 0 -1"', Rotation.from_euler("x", 180, degrees=True)),
])  # fmt: skip
def test_orientations(said, turn, tmp_path):
    body = f'<body name="a" {said}><freejoint/>{BALL}</body>'
    assert np.allclose(mbd.read(model(tmp_path, body)).system["a"].rotation, turn.as_matrix())


def test_settings_of_the_compiler(tmp_path):
    head = '<compiler angle="radian" eulerseq="ZYx" settotalmass="7"/>'
    body = f'<body name="a" euler="0.1 0.2 0.3"><joint range="-1 2" ref="0.5"/>{BALL}</body>'
    path = model(tmp_path, body, head=head)
    system = mbd.read(path).system
    fixed = Rotation.from_euler("zyx", (0.1, 0.2, 0), degrees=False)  # Z, then Y about fixed axes
    want = fixed * Rotation.from_euler("x", 0.3)
    assert np.allclose(system["a"].rotation, want.as_matrix())
    assert system["a"].mass == pytest.approx(7.0)
    stop, hinge = system["a hinge stop"], system["a hinge"]
    assert (stop.lower, stop.upper) == (-1.0, 2.0)
    assert hinge.angle.start == pytest.approx(0.5)
    path.write_text(path.read_text().replace("angle", 'autolimits="false" angle'))
    assert "a hinge stop" not in mbd.read(path).system.forces


# body_mass and body_inertia of mujoco 4.0.0, density 1000
SOLIDS = {
    'type="sphere" size="0.1"': (4.188790204786391, (0.01675516081914556,) * 3),
    'type="box" size="0.1 0.2 0.3"': (48.0, (2.08, 1.6, 0.8)),
    'type="ellipsoid" size="0.1 0.2 0.3"': (
        25.132741228718345, (0.653451271946677, 0.5026548245743669, 0.25132741228718347)),
    'type="cylinder" size="0.1 0.2"': (
        12.566370614359172, (0.19896753472735362, 0.19896753472735362, 0.06283185307179588)),
    'type="capsule" size="0.1 0.2"': (
        16.75516081914557, (0.44610615680975085, 0.44610615680975085, 0.07958701389094144)),
}  # fmt: skip


@pytest.mark.parametrize("said", SOLIDS)
def test_solids(said, tmp_path):
    body = f'<body name="a"><freejoint/><geom {said} pos="1 2 3" quat="0.8 0.6 0 0"/></body>'
    a = mbd.read(model(tmp_path, body)).system["a"]
    mass, moments = SOLIDS[said]
    R = Rotation.from_quat((0.8, 0.6, 0, 0), scalar_first=True).as_matrix()
    assert a.mass == pytest.approx(mass, rel=1e-12)
    assert np.allclose(a.center_of_mass, (1, 2, 3))
    assert np.allclose(a.inertia, R @ np.diag(moments) @ R.T, rtol=1e-12, atol=1e-14)


def test_a_mesh_weighs_what_it_encloses(tmp_path):
    """A box of 0.2, 0.4, 0.6 m as triangles, mirrored by its scale."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)]
    faces = "1 2 4 3|5 7 8 6|1 5 6 2|3 4 8 7|1 3 7 5|2 6 8 4"
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
    (tmp_path / "box.obj").write_text(text + "".join(f"f {x}\n" for x in faces.split("|")))
    body = '<body name="a"><freejoint/><geom type="mesh" mesh="box"/></body>'
    for how in ("legacy", "exact", "convex"):
        asset = f'<asset><mesh file="box.obj" scale="-0.1 0.1 0.1" inertia="{how}"/></asset>'
        a = mbd.read(model(tmp_path, body, head=asset)).system["a"]
        assert a.mass == pytest.approx(48.0)
        assert np.allclose(a.inertia, np.diag((2.08, 1.6, 0.8)))


def test_classes_frames_and_included_files(tmp_path):
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{BALL}</mujocoinclude>")
    head = """<default><geom density="500"/><default class="heavy"><geom density="2000"/>
    <joint damping="3"/></default></default>"""
    body = """<frame pos="1 0 0" euler="0 0 90" childclass="heavy"><body name="a" pos="1 0 0">
    <joint name="j"/><include file="part.xml"/></body></frame>
    <body name="b"><freejoint/><geom type="sphere" size="0.1"/></body>"""
    system = mbd.read(model(tmp_path, body, head=head)).system
    assert system["a"].mass == pytest.approx(4 * system["b"].mass)
    assert np.allclose(system["a"].position, (1, 1, 0))
    assert system["j damping"].damping == 3.0


def test_free_bodies_and_balls_start_as_the_key_says(tmp_path):
    body = f"""<body name="a" pos="0 0 1"><freejoint name="root"/>{BALL}
    <body name="b" pos="0 0 -1"><joint name="ball" type="ball" pos="0 0 0.5" damping="0.3"/>
    {BALL}</body></body>"""
    key = """</worldbody><keyframe><key name="k" qpos="1 2 3 0.8 0.6 0 0 0.6 0 0.8 0"
    qvel="1 0 0 0 2 0 0 0 3"/></keyframe><worldbody>"""
    path = model(tmp_path, body + key)
    a, b = (mbd.read(path, keyframe="k").system[x] for x in "ab")
    A = Rotation.from_quat((0.8, 0.6, 0, 0), scalar_first=True)
    B = A * Rotation.from_quat((0.6, 0, 0.8, 0), scalar_first=True)
    assert np.allclose(a.position, (1, 2, 3))
    assert np.allclose(a.rotation, A.as_matrix())
    assert np.allclose(a.angular_velocity, A.apply((0, 2, 0)))
    assert np.allclose(a.velocity, (1, 0, 0))
    anchor = a.position + A.apply((0, 0, -0.5))
    assert np.allclose(b.rotation, B.as_matrix())
    assert np.allclose(b.position + B.apply((0, 0, 0.5)), anchor)
    assert np.allclose(b.angular_velocity, a.angular_velocity + B.apply((0, 0, 3)))
    assert isinstance(mbd.read(path).system["ball spring"], mbd.Bushing)
    with pytest.raises(ValueError, match="there are 0 'k'"):
        mbd.read(path, keyframe="q")


def test_equalities_of_joints_and_what_cannot_hold(tmp_path):
    arms = "".join(
        f'<body name="{x}" pos="{i} 0 0"><joint name="j{x}" axis="0 1 0"/>{BALL}</body>'
        for i, x in enumerate("abc")
    )
    more = """</worldbody><tendon><fixed name="t"><joint joint="jb" coef="2"/>
    <joint joint="jc" coef="1"/></fixed><spatial name="s"/></tendon>
    <equality><joint name="e" joint1="jb" joint2="ja" polycoef="0 2"/><tendon tendon1="t"/>
    <joint name="curved" joint1="jc" joint2="ja" polycoef="0 1 1"/>
    <weld name="w" body1="a" body2="c" active="false"/></equality>
    <actuator><muscle name="mu" joint="ja"/><general name="g" joint="ja" dyntype="filter"/>
    <velocity name="v" joint="ja" kv="2" gear="3"/></actuator><worldbody>"""
    read = mbd.read(model(tmp_path, arms + more), rates={"ja": 1.0}, gravity=(0, 0, 0))
    system = read.system
    for words in (
        "equality 'curved': is curved",
        "<spatial> is not used",
        "<muscle> is not used",
        "actuator 'g' is not used: it has dynamics",
        "equality 'w' is not active",
    ):
        assert sum(words in x and "line" in x for x in read.notes) == 1, words
    assert system["v"].damping == 18.0
    assert system.build().report().freedoms == 1
    solution = mbd.simulate(system, 1e-3, 1e-4, project=True)
    rate = {x: solution[f"j{x}"].angle_rate[-1] for x in "abc"}
    assert rate["b"] == pytest.approx(2 * rate["a"])
    assert rate["c"] == pytest.approx(-4 * rate["a"])


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        (f'<body name="a">{BALL}</body><body name="a">{BALL}</body>', "body 'a' is there twice"),
        ('<body name="a"><joint type="hing"/></body>', "type must be one of hinge, slide, ball"),
        ('<body name="a"><joint/><geom size="0"/></body>', "size must be positive [m], got [0.0]"),
        ('<body name="a"><geom type="mesh" mesh="x"/></body>', "there is no mesh 'x' (line 4)"),
        ('<body name="a" quat="1 0 0 0" euler="0 0 0"/>', "must say one of quat"),
        ('<body name="a" pos="1 2"/>', "pos must be 3 finite numbers, got '1 2' (line 4)"),
        ('<body name="a" xyaxes="1 0 0 2 0 0"/>', "xyaxes must be two directions"),
        ('<body name="a"><joint/></body>', "link 'a': has no inertia but moves at joint 'a hinge'"),
        (f'<body name="a"><joint axis="0 0 0"/>{BALL}</body>', "axis must have a direction"),
        (f'<body name="a"><joint class="c"/>{BALL}</body>', "there is no default class 'c'"),
        (f'<body name="a"><joint damping="-1"/>{BALL}</body>', "damping must not be negative"),
        ('<include file="nowhere.xml"/>', "there is no file 'nowhere.xml' (line 4)"),
        ('<include file="m.xml"/>', "m.xml includes itself (line 4)"),
        ('<replicate count="3"/>', "<replicate>: makes bodies and is not read"),
        (f'<body><body name="a"><freejoint/>{BALL}</body></body>', "must be in the world"),
        (f'<body name="a">{BALL}', "is no XML: mismatched tag"),
    ],
)  # fmt: skip
def test_errors_name_the_place(inside, said, tmp_path):
    path = model(tmp_path, inside)
    with pytest.raises(ValueError, match=r".") as raised:
        mbd.read(path)
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"{path}: ")


def test_names_that_parts_cannot_have_are_changed(tmp_path):
    body = f'<body name="walker/torso"><freejoint name="walker/"/>{BALL}</body>'
    read = mbd.read(model(tmp_path, body))
    assert list(read.system.bodies) == ["walker_torso"]
    assert "body 'walker/torso' is called 'walker_torso' (line 4)" in read.notes


def test_what_is_not_used_is_noted_once(tmp_path):
    geom = '<geom type="sphere" size="0.1" solref="0.02 1"/>'
    body = f'<body name="a"><freejoint/>{geom * 5}</body><light/>'
    notes = mbd.read(model(tmp_path, body, head='<option density="3"/><size/>')).notes
    assert notes == (
        "option: density of a fluid is not used (line 2)",
        "<size> is not used (line 2)",
        "<geom> solref is not used (line 4, line 4, line 4 and 2 more)",
        "<light> is not used (line 4)",
        "joint 'a free' leaves all free: it is no part",
        "nothing touches anything before add_contacts() or mbd.Contact says so; collision shapes "
        "that touch: of a",
    )


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.xml"
    path.write_text("<sdf/>")
    with pytest.raises(ValueError, match="must have <mujoco> at the top, got <sdf>"):
        mbd.read(path)
    with pytest.raises(TypeError, match="no option 'base' .* takes keyframe, positions"):
        mbd.read(path, base="floating")


def test_the_command_line_takes_a_model(tmp_path, capsys):
    arguments = ["-p", "keyframe=0", "--project", "--t-end", "0.01", "--json"]
    assert main(["run", str(LEG), *arguments]) == 0
    assert main(["convert", str(LEG), str(tmp_path / "leg.toml")]) == 0
    again = mbd.read(tmp_path / "leg.toml").system
    assert set(again.parts) == set(mbd.read(LEG).system.parts)
    capsys.readouterr()
