"""Robots from URDF: against two other programs, against the file, and what errors say."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd
from mbd.cli import main
from mbd.files import scenes
from mbd.files.modelfile import from_text, to_text

ROOT = Path(__file__).parents[2]
TWO, ARM = Path(__file__).with_name("two_link.urdf"), ROOT / "models" / "arm.urdf"
POSE = {
    TWO: ({"shoulder": 0.7, "elbow": -1.1}, {"shoulder": 1.3, "elbow": -2.1}),
    ARM: (
        {"j1": 0.4, "j2": -0.7, "j3": 0.15, "j4": 1.1, "j5": -2.0, "j6": 0.6},
        {"j1": 0.5, "j2": -1.2, "j3": 0.3, "j4": 1.7, "j5": -0.8, "j6": 2.2},
    ),
}
WHAT = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
# pin 4.1.0, aba with the damping of the file, then frame kinematics; mujoco 4.0.0 has the same
# joint accelerations to 1e-13. In the order of WHAT.
KNOWN = {
    (TWO, "lower"): (
        (0.5196534569285176, 0.11952380999817706, 0.7927017996968261),
        (0.3487285471134894, 0.17077542046801106, -0.6888571377231199),
        (-1.1201585942817984, -0.71036352745491, 0.019794561319139814),
        (3.1198685988791963, 1.7559009556700023, -8.392235638167348),
        (-11.43359738159087, -4.96473354366623, 2.0559601295231786),
    ),
    (ARM, "link6"): (
        (0.30617802309898146, 0.7531793324439501, 0.46046609106275055),
        (-0.1242569816206215, -0.14751857361720142, -0.2862374543194324),
        (-0.19916147505518983, 1.4313417799724175, -2.006859223696163),
        (2.602285428596705, -1.9698850206879075, -7.7248337075205855),
        (-6.806290059778987, 3.8582347273876545, -1.5510405336003799),
    ),
    (ARM, "tool"): (
        (0.3780673401433655, 0.7281634016294265, 0.3841627217931406),
        (-0.28367663350334954, -0.3069870041883577, -0.3841534276578436),
        (-0.19916147505518983, 1.4313417799724175, -2.006859223696163),
        (1.8089064824389336, -2.3002994200062465, -7.571989909684703),
        (-6.806290059778987, 3.8582347273876545, -1.5510405336003799),
    ),
}


def start(path, positions, rates, **options):
    """Return the solution of one tiny step; its first instant is what counts."""
    found = mbd.read(path, positions=positions, rates=rates, **options)
    return mbd.simulate(found.system, 1e-6, 1e-6)


@pytest.mark.parametrize(("path", "link"), KNOWN, ids=lambda x: getattr(x, "stem", x))
@pytest.mark.parametrize("formulation", ["so3", "directors"])
def test_accelerations_are_those_of_pinocchio_and_mujoco(path, link, formulation):
    solution = start(path, *POSE[path], formulation=formulation)
    for what, value in zip(WHAT, KNOWN[path, link], strict=True):
        assert np.allclose(getattr(solution[link], what)[0], value, rtol=0, atol=1e-9), what


@pytest.mark.parametrize("path", POSE, ids=lambda p: p.stem)
def test_against_pinocchio_at_random_states(path):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(path))
    data, rng = model.createData(), np.random.default_rng(3)
    names = [model.names[i] for i in range(1, model.njoints)]
    for _ in range(3):
        positions = dict(zip(names, rng.uniform(-1, 1, len(names)).tolist(), strict=True))
        rates = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        q, v = pin.neutral(model), np.zeros(model.nv)
        for name in names:
            joint = model.joints[model.getJointId(name)]
            x = positions[name]
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
            v[joint.idx_v] = rates[name]
        a = pin.aba(model, data, q, v, -model.damping * v)
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacements(model, data)
        solution = start(path, positions, rates)
        for link in solution.model.system.bodies:
            k = model.getFrameId(link)
            axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            want = pin.getFrameClassicalAcceleration(model, data, k, axes).vector
            got = [*solution[link].acceleration[0], *solution[link].angular_acceleration[0]]
            assert np.allclose(got, want, rtol=1e-8, atol=1e-8)
            assert np.allclose(solution[link].position[0], data.oMf[k].translation, atol=1e-12)


# --- what becomes of a file -----------------------------------------------------------------------
def robot(tmp_path, inside: str) -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">\n{inside}\n</robot>')
    return path


def link(name: str, mass: float = 1.0, extra: str = "") -> str:
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1"/>'
        f"</inertial>{extra}</link>\n"
    )


def joint(kind: str, parent: str, child: str, extra: str = "", name: str = "") -> str:
    return (
        f'<joint name="{name or child + " joint"}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0 1" rpy="0 0 0.5"/>{extra}</joint>\n'
    )


@pytest.mark.parametrize(("kind", "made"), [
    ("revolute", mbd.Revolute),
    ("continuous", mbd.Revolute),
    ("prismatic", mbd.Prismatic),
    ("fixed", mbd.Fixed),
    ("planar", mbd.Planar),
])  # fmt: skip
def test_every_type_of_joint(kind, made, tmp_path):
    text = '<link name="base"/>' + link("arm") + joint(kind, "base", "arm", '<axis xyz="0 2 0"/>')
    system = mbd.read(robot(tmp_path, text)).system
    found = system["arm joint"]
    assert type(found) is made
    if kind != "fixed":
        axis = Rotation.from_rotvec([0, 0, 0.5]).apply([0, 1, 0])
        assert np.allclose(found.A.axes[:, 2], axis)
    assert np.allclose(system["arm"].position, (0, 0, 1))
    solution = mbd.simulate(system, 0.1, 1e-3)
    assert solution.gap.max() < 1e-10


def test_a_floating_joint_leaves_the_body_free(tmp_path):
    text = '<link name="base"/>' + link("box") + joint("floating", "base", "box")
    system = mbd.read(robot(tmp_path, text)).system
    assert not system.joints
    assert np.allclose(system["box"].rotation, Rotation.from_rotvec([0, 0, 0.5]).as_matrix())


def test_a_floating_base_falls(tmp_path):
    found = mbd.read(ARM, base="fixed")
    assert found.system["j1"].A.body is found.system.ground
    text = '<link name="foot"/>' + link("base", 3) + link("arm", 2)
    text += joint("fixed", "foot", "base") + joint("revolute", "base", "arm")
    found = mbd.read(robot(tmp_path, text), base="floating", position=(1, 2, 3))
    assert list(found.system.bodies) == ["base", "arm"]
    assert np.allclose(found.system["base"].position, (1, 2, 4))
    assert any(x.startswith("link 'foot' is left out, with joint") for x in found.notes)
    solution = mbd.simulate(found.system, 0.5, 1e-2)
    assert np.allclose(solution.momentum.linear[-1], (0, 0, -9.81 * 5 * 0.5), rtol=1e-9)
    with pytest.raises(ValueError, match="link 'base': a floating base needs mass; give it <inert"):
        mbd.read(ARM, base="floating")
    with pytest.raises(ValueError, match="base must be one of fixed, floating, got 'free'"):
        mbd.read(ARM, base="free")


@pytest.mark.parametrize(
    ("kind", "what", "scale"),
    [("prismatic", "velocity", 1.0), ("revolute", "angular_velocity", 1.0)],
)
def test_damping_takes_the_rate_away(kind, what, scale, tmp_path):
    text = (
        '<link name="base"/>'
        + link("arm")
        + joint(kind, "base", "arm", '<axis xyz="0 0 1"/><dynamics damping="0.5"/>')
    )
    found = mbd.read(robot(tmp_path, text), gravity=(0, 0, 0), rates={"arm joint": 2.0})
    solution = mbd.simulate(found.system, 1.0, 1e-3)
    rate = getattr(solution["arm"], what)[-1, 2]
    assert rate == pytest.approx(2 * np.exp(-0.5), rel=1e-6)  # unit mass and inertia


def test_mimic_ties_two_coordinates(tmp_path):
    tied = '<axis xyz="0 0 1"/><mimic joint="arm joint" multiplier="-2" offset="0.1"/>'
    text = '<link name="base"/>' + link("arm") + link("leg")
    text += joint("revolute", "base", "arm", '<axis xyz="0 0 1"/>')
    text += joint("prismatic", "base", "leg", tied)
    path = robot(tmp_path, text)
    options = {"positions": {"arm joint": 0.3}, "rates": {"arm joint": 1.5}}
    found = mbd.read(path, gravity=(0, 0, 0), **options)
    assert isinstance(found.system["leg joint mimic"], mbd.Coupler)
    solution = mbd.simulate(found.system, 1.0, 1e-2)
    height = solution["leg"].position[:, 2] - 1
    assert height[0] == pytest.approx(0.1 - 0.6)
    assert height[-1] == pytest.approx(0.1 - 2 * (0.3 + 1.5))  # uniform: no force, no friction
    with pytest.raises(
        ValueError, match="positions: no joint 'leg joint' with a coordinate of its"
    ):
        mbd.read(path, positions={"leg joint": 1.0})
    path.write_text(path.read_text().replace('mimic joint="arm joint"', 'mimic joint="leg joint"'))
    with pytest.raises(ValueError, match="joint 'leg joint': <mimic> must name another joint"):
        mbd.read(path)


def test_angles_count_from_the_zero_of_the_file(tmp_path):
    text = '<link name="base"/>' + link("arm") + joint("revolute", "base", "arm")
    system = mbd.read(robot(tmp_path, text), positions={"arm joint": 0.8}).system
    spring = mbd.RotationalSpring("spring", system["arm joint"], stiffness=1.0)
    system.add(spring)
    assert spring.elements()[0].memory == pytest.approx((0.8,))


def test_loops_can_be_closed_afterwards():
    system = mbd.read(ARM).system
    tip = system["tool"]
    system.add(mbd.Spherical("handle", system.ground, tip, at=tip.position))
    assert system.build().report().freedoms == 3
    assert mbd.simulate(system, 0.02, 1e-3).gap.max() < 1e-9


HEAVY = (
    '<link name="{}"><inertial><origin xyz="0.1 0.2 -0.3" rpy="0.2 0.4 -0.1"/><mass value="{}"/>'
    '<inertia ixx="{}" iyy="{}" izz="{}" ixy="0.01"/></inertial></link>\n'
)


def test_lumped_links_move_as_joined_ones(tmp_path):
    """One body in the place of several at fixed joints: the same accelerations, fewer rows."""
    turned = '<axis xyz="0.3 1 0"/>'
    text = '<link name="base"/><link name="flange"/>' + HEAVY.format("arm", 2, 0.3, 0.4, 0.5)
    text += HEAVY.format("hand", 1.5, 0.2, 0.3, 0.2) + HEAVY.format("tip", 0.5, 0.1, 0.1, 0.1)
    text += link("last") + joint("revolute", "base", "arm", turned)
    text += joint("fixed", "arm", "flange") + joint("fixed", "flange", "hand")
    text += joint("fixed", "hand", "tip") + joint("revolute", "tip", "last", turned)
    options = {"rates": {"arm joint": 1.0, "last joint": -2.0}}
    path = robot(tmp_path, text)
    one, two = (start(path, {"arm joint": 0.4}, fixed=x, **options) for x in ("joint", "lumped"))
    assert list(one.model.system.bodies) == ["arm", "hand", "tip", "last"]
    assert list(two.model.system.bodies) == ["arm", "last"]
    for body in ("arm", "last"):
        for what in WHAT:
            assert np.allclose(getattr(one[body], what)[0], getattr(two[body], what)[0], atol=1e-10)


def test_a_link_that_cannot_be_a_body_is_part_of_its_parent(tmp_path):
    text = '<link name="base"/>' + link("arm", 2) + HEAVY.format("imu", 0.1, 0, 0, 0)
    text += HEAVY.format("a/b", 0.1, 0.1, 0.1, 0.1) + HEAVY.format("flat", 0.1, 0.01, 0.01, 0.9)
    text += joint("revolute", "base", "arm", '<axis xyz="0 1 0"/>')
    text += "".join(joint("fixed", "arm", x, '<axis xyz="0 0 0"/>') for x in ("imu", "a/b", "flat"))
    read = mbd.read(robot(tmp_path, text))
    assert list(read.system.bodies) == ["arm"]
    assert read.system["arm"].mass == pytest.approx(2.3)
    for name in ("imu", "a/b", "flat"):
        assert f"link {name!r} is a part of link 'arm'" in read.notes


def test_a_moving_link_without_mass_is_one_with_what_is_fixed_to_it(tmp_path):
    text = '<link name="base"/><link name="horn"/>' + HEAVY.format("arm", 2, 0.3, 0.4, 0.5)
    text += joint("revolute", "base", "horn", '<axis xyz="0 1 0"/>') + joint("fixed", "horn", "arm")
    system = mbd.read(robot(tmp_path, text)).system
    assert list(system.bodies) == ["horn"]
    assert system["horn"].mass == 2


def test_unphysical_inertia_is_repaired_on_request(tmp_path):
    text = '<link name="base"/>'
    for name, moments in (
        ("rod", (0, 1, 1)),
        ("long", (1, 1, 3)),
        ("minus", (-1, 2, 2)),
        ("dot", (0, 0, 0)),
        ("noise", (-2e-22, 1e-9, 1e-9)),
        ("right", (1, 1, 2)),
    ):
        moments = " ".join(f'i{a}{a}="{x}"' for a, x in zip("xyz", moments, strict=True))
        text += (
            f'<link name="{name}"><inertial><mass value="2"/><inertia {moments}/></inertial></link>'
        )
        text += joint("revolute", "base", name, '<axis xyz="0 1 0"/>')
    path = robot(tmp_path, text)
    with pytest.raises(ValueError, match="or take inertia='repair'"):
        mbd.read(path)
    read = mbd.read(path, inertia="repair")
    changed = [x.split("'")[1] for x in read.notes if "principal moments" in x]
    assert changed == ["rod", "long", "minus", "dot", "noise"]
    body = read.system["long"]
    J = np.trace(body.second_moments) * np.eye(3) - body.second_moments
    assert np.allclose(np.linalg.eigvalsh(J), (1.5, 1.5, 3), rtol=1e-5)
    assert mbd.simulate(read.system, 0.01, 1e-3).success


def test_links_without_mass_are_left_out_or_made_light_on_request(tmp_path):
    axis = '<axis xyz="0 1 0"/>'
    other = '<axis xyz="1 0 0"/>'
    text = '<link name="base"/><link name="cross"/>' + link("arm", 2) + '<link name="pad"/>'
    text += link("leg", 2) + joint("revolute", "base", "cross", axis)
    text += joint("revolute", "cross", "arm", other) + joint("revolute", "arm", "pad", axis)
    text += joint("revolute", "base", "leg", axis + '<mimic joint="pad joint"/>')
    path = robot(tmp_path, text)
    with pytest.raises(ValueError, match="link 'cross': has no inertia .* massless='repair'"):
        mbd.read(path)
    read = mbd.read(path, massless="repair")
    assert set(read.system.bodies) == {"cross", "arm", "leg"}
    assert read.system["cross"].mass == pytest.approx(2e-6)
    notes = "; ".join(read.notes)
    assert "joint 'pad joint' is left out: nothing that has mass moves at it" in notes
    assert "joint 'leg joint': <mimic> of a joint that is left out" in notes
    assert "link 'cross': gets a mass of 2e-06 kg" in notes
    assert mbd.simulate(read.system, 0.2, 1e-3).success


def test_names_of_links_and_joints_may_agree(tmp_path):
    text = '<link name="base"/>' + link("arm") + joint("revolute", "base", "arm", name="arm")
    system = mbd.read(robot(tmp_path, text)).system
    assert (list(system.bodies), list(system.joints)) == (["arm"], ["arm joint"])


def test_what_is_not_used_is_noted(tmp_path):
    more = """<limit lower="-1" upper="1" effort="5" velocity="2"/><safety_controller/>
    <dynamics friction="0.2"/>"""
    text = link("base") + link("arm", extra="<collision/>") + joint("revolute", "base", "arm", more)
    text += '<link name="tip"/>' + joint("fixed", "arm", "tip") + "<gazeboo/><transmission/>"
    with pytest.warns(UserWarning, match="unknown tag <gazeboo> in robot"):
        found = mbd.read(robot(tmp_path, text), positions={"arm joint": 1.5})
    assert found.title == "r"
    assert found.notes == (
        "unknown tag <gazeboo> in robot",
        "a collision shape is not used: link 'arm', collision: must have one shape in <geometry>, "
        "got 0 (line 3)",
        "joint 'arm joint': <safety_controller> is not used (line 4)",
        "robot: <transmission> is not used (line 7)",
        "link 'base' is the ground: its mass is not used",
        "joint 'arm joint' starts outside of its limits, at 1.5: it has no stop there",
    )


LIMITED = '<axis xyz="0 1 0"/><limit lower="{}" upper="{}" effort="5" velocity="2"/>'


def test_limits_hold_a_falling_arm(tmp_path):
    """Unit mass 0.5 m off the axis falls onto a stop and stays there, no farther behind it than
    weight over stiffness; without stops it swings through."""
    arm = link("arm").replace("<mass", '<origin xyz="0.5 0 0"/><mass')
    text = '<link name="base"/>' + arm
    text += joint("revolute", "base", "arm", LIMITED.format(-0.4, 0.3))
    path = robot(tmp_path, text)
    read = mbd.read(path)
    assert read.limits["arm joint"] == (-0.4, 0.3, 5.0, 2.0)
    stop = read.system["arm joint stop"]
    assert stop.stiffness == pytest.approx((40 * np.pi) ** 2 * 1.25)  # 20 Hz of 1 + 0.5^2 kg m^2
    angle = mbd.simulate(read.system, 3.0, 2e-3)["arm joint"].angle
    assert 0.3 < angle[-200:].mean() < 0.3 + 2 * 9.81 * 0.5 / stop.stiffness
    assert angle.max() < 0.35
    free = mbd.read(path, limits="none").system
    assert mbd.simulate(free, 1.5, 2e-3)["arm joint"].angle.max() > 1.5
    outside = mbd.read(path, positions={"arm joint": 0.5}).system["arm joint stop"]
    assert (outside.lower, outside.upper) == (-0.4, np.inf)
    turned = mbd.read(path, positions={"arm joint": 0.1 + 2 * np.pi}, limits="stops").system
    assert turned["arm joint stop"].lower == pytest.approx(-0.4 - 2 * np.pi)


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
def test_dry_friction_takes_the_same_from_every_second(kind, tmp_path):
    text = '<link name="base"/>' + link("arm")
    text += joint(kind, "base", "arm", '<axis xyz="0 0 1"/><dynamics friction="0.5"/>')
    path, still = robot(tmp_path, text), {"gravity": (0, 0, 0), "rates": {"arm joint": 2.0}}
    solution = mbd.simulate(mbd.read(path, **still).system, 5.0, 5e-3)
    what = "velocity" if kind == "prismatic" else "angular_velocity"
    rate = getattr(solution["arm"], what)[:, 2]
    assert rate[400] == pytest.approx(2.0 - 0.5 * 2.0, abs=1e-3)  # unit mass, unit inertia
    assert abs(rate[-1]) < 1e-3
    assert solution.energy.dissipated[-1] == pytest.approx(2.0, rel=1e-3)
    free = mbd.read(path, friction="none", **still).system
    assert list(free.forces) == []


def test_collision_shapes_and_frames_are_kept_by_name(tmp_path):
    ball = '<collision><origin xyz="0 0 0.2"/><geometry><sphere radius="0.3"/></geometry>'
    text = '<link name="base"/>' + link("arm", extra=ball + "</collision>") + '<link name="tip"/>'
    text += joint("revolute", "base", "arm") + joint("fixed", "arm", "tip")
    path = robot(tmp_path, text)
    read = mbd.read(path)
    (shape,) = read.collisions["arm"]
    assert isinstance(shape, mbd.Sphere)
    assert np.allclose(shape.at, (0, 0, 0.2))
    assert read.system["arm"].shapes == ()
    assert mbd.read(path, shapes="collision").system["arm"].shapes[0].radius == 0.3
    tip = read.frames["tip"]
    assert tip.body is read.system["arm"]
    assert np.allclose(tip.position, (0, 0, 1))
    point = mbd.Spherical("held", read.system.ground.frame(tip.start[0]), tip)
    read.system.add(point)  # a frame is taken by joints


def test_xacro_is_expanded_where_that_is_asked_for(tmp_path, monkeypatch):
    text = (
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><link name="base"/>'
        '<xacro:property name="m" value="2"/>' + link("arm", 0).replace("0", "${m * 1.5}", 1)
        + joint("revolute", "base", "arm") + "</robot>"
    )  # fmt: skip
    path = tmp_path / "r.xacro"
    path.write_text(text)
    for name in ("r.xacro", "r.urdf"):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(ValueError, match=r"is a xacro file, which is a program.*xacro=True"):
            mbd.read(path)
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "xacro.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "without"))
    with pytest.raises(ValueError, match=r"not installed: pip install 'mbd\[robots\]'"):
        mbd.read(path, xacro=True)
    monkeypatch.delenv("PYTHONPATH")
    pytest.importorskip("xacro")
    assert mbd.read(path, xacro=True).system["arm"].mass == 3.0


def test_a_mimic_of_nobody_is_noted(tmp_path):
    text = '<link name="base"/>' + link("arm")
    text += joint("revolute", "base", "arm", '<mimic joint="nobody"/>')
    read = mbd.read(robot(tmp_path, text))
    assert "joint 'arm joint': <mimic> is not used, there is no joint 'nobody'" in read.notes
    assert list(read.system.forces) == []


def test_a_robot_can_be_written_as_a_model_file():
    system = mbd.read(ARM).system
    again = from_text(to_text(system)).system
    one, two = system.build(), again.build()
    assert np.array_equal(one.F, two.F)
    assert np.array_equal(one.I, two.I)


# --- shapes ---------------------------------------------------------------------------------------
TRIANGLE = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid t
"""


def visual(geometry: str) -> str:
    return (
        '<visual><origin xyz="1 2 3" rpy="0.5 0 0"/><geometry>' + geometry + "</geometry>"
        '<material name="red"><color rgba="1 0 0 1"/></material></visual>'
    )


def test_visuals_become_shapes(tmp_path):
    shown = visual('<box size="1 2 3"/>') + visual('<sphere radius="0.5"/>')
    shown += visual('<cylinder radius="0.1" length="2"/>')
    text = '<link name="base"/>' + link("arm", extra=shown) + joint("fixed", "base", "arm")
    box, ball, rod = mbd.read(robot(tmp_path, text)).system["arm"].shapes
    assert isinstance(box, mbd.Box)
    assert np.allclose(box.size, (1, 2, 3))
    assert np.allclose(box.at, (1, 2, 3))
    assert box.color == "#ff0000"
    assert ball.radius == 0.5
    assert np.allclose(rod.axis, (0, -np.sin(0.5), np.cos(0.5)))


def test_meshes_are_found_in_packages(tmp_path):
    folder = tmp_path / "my_robot"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes" / "t.stl").write_text(TRIANGLE)
    (folder / "urdf" / "t.stl").write_text(TRIANGLE)

    def read(name, **options):
        mesh = visual(f'<mesh filename="{name}" scale="0.5 0.5 0.5"/>')
        text = '<link name="base"/>' + link("arm", extra=mesh) + joint("fixed", "base", "arm")
        return mbd.read(robot(folder / "urdf", text), **options)

    for name, options in (
        ("package://my_robot/meshes/t.stl", {}),
        ("package://my_robot/meshes/t.stl", {"packages": tmp_path}),
        ("package://other/t.stl", {"packages": {"other": folder / "meshes"}}),
        ("t.stl", {}),
        (f"file://{folder}/meshes/t.stl", {}),
    ):
        found = read(name, **options)
        assert not found.notes
        (mesh,) = found.system["arm"].shapes
        assert mesh.vertices.max() == 0.5
    assert "its mesh" not in str(found.notes)
    for name, said in (
        ("package://nowhere/t.stl", "no folder of the package 'nowhere' has it; give packages="),
        ("none.stl", "there is no such file"),
        ('t.stl" scale="1 2 3', "differs from axis to axis"),
    ):
        if "scale" in name:
            mesh = visual('<mesh filename="t.stl" scale="1 2 3"/>')
            text = '<link name="base"/>' + link("arm", extra=mesh) + joint("fixed", "base", "arm")
            found = mbd.read(robot(folder / "urdf", text))
        else:
            found = read(name)
        assert said in found.notes[0]
        assert found.system["arm"].shapes == ()


# --- errors ---------------------------------------------------------------------------------------
BASE = '<link name="base"/>'
ARM_LINK = link("arm")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE + '<link name="arm"/>' + joint("revolute", "base", "arm"),
         "link 'arm': has no inertia but moves at joint 'arm joint'; give it <inertial>"),
        (BASE + ARM_LINK.replace('<inertia ixx="1" iyy="1" izz="1"/>', "")
         + joint("revolute", "base", "arm"), "link 'arm', inertial: <inertia> is missing; give"),
        (BASE + ARM_LINK.replace('<mass value="1.0"/>', "") + joint("revolute", "base", "arm"),
         "link 'arm', inertial: <mass> is missing"),
        (BASE + ARM_LINK.replace('ixx="1"', 'ixx="0"') + joint("revolute", "base", "arm"),
         "link arm: principal moments of inertia must be positive [kg m^2]"),
        (BASE + ARM_LINK.replace('ixx="1"', 'ixx="one"') + joint("revolute", "base", "arm"),
         "link 'arm', inertial, inertia: ixx must be numbers, got 'one'"),
        (BASE + ARM_LINK.replace('ixx="1"', "") + joint("revolute", "base", "arm"),
         "link 'arm', inertial, inertia: the attribute 'ixx' is missing"),
        (BASE + ARM_LINK + joint("revolute", "base", "arm", '<axis xyz="1 0"/>'),
         "joint 'arm joint', axis: xyz must be 3 finite numbers, got '1 0'"),
        (BASE + ARM_LINK + joint("revolute", "base", "arm", '<axis xyz="0 0 0"/>'),
         "joint 'arm joint': axis must have a direction"),
        (BASE + ARM_LINK + joint("screw", "base", "arm"),
         "joint 'arm joint': type must be one of revolute"),
        (BASE + ARM_LINK + joint("revolute", "base", "leg"),
         "joint 'leg joint': there is no link 'leg'; there are base, arm"),
        (BASE + ARM_LINK, "must have one link that is no child of a joint, got 'base', 'arm'"),
        (BASE + ARM_LINK + joint("fixed", "base", "arm") + joint("fixed", "base", "arm", name="b"),
         "link 'arm' is the child of two joints; URDF is a tree"),
        (BASE + ARM_LINK + ARM_LINK + joint("fixed", "base", "arm"), "link 'arm' is there twice"),
        ("", "has no <link>"),
        (BASE + ARM_LINK + "</wrong>", "is no XML: mismatched tag: line"),
    ],
)  # fmt: skip
def test_errors_name_the_place(text, said, tmp_path):
    path = robot(tmp_path, text)
    with pytest.raises(ValueError, match=r".") as raised:
        mbd.read(path)
    assert str(raised.value).startswith(f"{path}: {said}")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text("<sdf/>")
    with pytest.raises(ValueError, match="must have <robot> at the top, got <sdf>"):
        mbd.read(path)
    path.write_text('<robot xmlns:xacro="http://ros.org/wiki/xacro"><xacro:property/></robot>')
    with pytest.raises(ValueError, match="is a xacro file"):
        mbd.read(path)


def test_wrong_coordinates_are_named():
    with pytest.raises(ValueError, match="positions: no joint 'j9' with .* there are j1, j2, j3"):
        mbd.read(ARM, positions={"j9": 1.0})
    with pytest.raises(ValueError, match="rates: j1 must be a number"):
        mbd.read(ARM, rates={"j1": "fast"})


# --- command line ---------------------------------------------------------------------------------
def test_the_command_line_takes_robots(tmp_path, capsys):
    arguments = ["-p", "positions={'j2': 0.3}", "--t-end", "0.01", "--step", "1e-3", "--json"]
    assert main(["run", str(ARM), *arguments]) == 0
    assert main(["info", str(ARM)]) == 0
    assert "degrees of freedom: 6" in capsys.readouterr().out
    assert main(["convert", str(ARM), str(tmp_path / "arm.toml")]) == 0
    assert main(["convert", str(ARM), str(tmp_path / "arm.py"), "-p", "base=fixed"]) == 0
    told = capsys.readouterr()
    assert not told.err
    one = scenes.load(tmp_path / "arm.toml").build({}).build()
    two = scenes.load(tmp_path / "arm.py").build({}).build()
    assert np.array_equal(one.F, two.F)
    assert main(["run", str(ARM)]) == 0
    assert "simulated to t = 2 s" in capsys.readouterr().out
    assert main(["run", str(ARM), "-p", "bas=fixed"]) == 2
    assert (
        "no parameter 'bas' (did you mean 'base'?); it has base, position"
        in capsys.readouterr().err
    )
