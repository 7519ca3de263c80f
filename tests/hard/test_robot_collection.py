"""The robots of two collections: read, and moving as pinocchio says.

They are extras: without them there is nothing to run here (pip install pin example-robot-data
rtb-data).
"""

import re
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import mbd

pin = pytest.importorskip("pinocchio")


def _robots(package):
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())) for f in files if f.suffix == ".urdf")


ROBOTS = [x for package in ("example-robot-data", "rtb-data") for x in _robots(package)]
if not ROBOTS:
    pytest.skip("no collection is installed", allow_module_level=True)
REPAIR = {"inertia": "repair", "massless": "repair"}

# why these are refused, and the reason holds for everyone
REFUSED = {
    "ur3": "has no <link>",
    "test": "is no XML",
}
# no link has mass: nothing can float
KINEMATIC = {"irb140", "irb140QT", "lbr_iiwa_14_r820", "puma560_robot"}
# these are read by request only: with inertia that no body has, or links that have no mass
UNPHYSICAL = {
    "allegro_left_hand", "allegro_right_hand", "finger_edu", "human", "icub", "icub_reduced",
    "romeo", "romeo_laas_small", "romeo_small", "al5d_robot", *KINEMATIC,
}  # fmt: skip


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return mbd.read(path, **options)


@pytest.mark.parametrize("path", ROBOTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("options", [{}, REPAIR, {**REPAIR, "fixed": "lumped", "base": "floating"}])
def test_a_robot_is_read_or_refused_with_the_reason(path, options):
    if path.stem in REFUSED or (path.stem in UNPHYSICAL and not options):
        reason = REFUSED.get(path.stem, "take (inertia|massless)='repair'")
        with pytest.raises(ValueError, match=reason):
            read(path, **options)
        return
    if path.stem in KINEMATIC and "base" in options:
        with pytest.raises(ValueError, match="a floating base needs mass"):
            read(path, **options)
        return
    robot = read(path, **options)
    if robot.system.bodies:
        assert robot.system.build().n_v == 6 * len(robot.system.bodies)
    lumped = {x for note in robot.notes for x in re.findall(r"^link '(.*)' is a part", note)}
    assert not lumped & set(robot.system.bodies)


@pytest.mark.parametrize("path", ROBOTS, ids=lambda p: p.stem)
@pytest.mark.parametrize("fixed", ["joint", "lumped"])
def test_accelerations_are_those_of_pinocchio(path, fixed, tmp_path):
    if path.stem in REFUSED or path.stem in UNPHYSICAL:
        pytest.skip("is not read as it stands")
    text = re.sub(r"<mimic[^>]*/>", "", path.read_text())  # free joints there
    copy = tmp_path / "robot.urdf"
    copy.write_text(text)
    model = pin.buildModelFromUrdf(str(copy))
    if any(j.nv != 1 for j in model.joints[1:]):
        pytest.skip("joints of several coordinates")
    data, rng = model.createData(), np.random.default_rng(5)
    names = [model.names[i] for i in range(1, model.njoints)]
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
    options = {"fixed": fixed, "limits": "none", "friction": "none"}
    system = read(copy, positions=positions, rates=rates, **options).system
    if not system.bodies:
        pytest.skip("nothing moves")
    solution = mbd.simulate(system, 1e-6, 1e-6)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    links = {b: b.removesuffix(" link") for b in system.bodies}  # joints have that name
    frames = {b: model.getFrameId(x, pin.FrameType.BODY) for b, x in links.items()}
    want = {b: pin.getFrameClassicalAcceleration(model, data, k, axes).vector
            for b, k in frames.items()}  # fmt: skip
    most = max(np.abs(x).max() for x in want.values())
    for body, k in frames.items():
        motion = solution[body]
        got = [*motion.acceleration[0], *motion.angular_acceleration[0]]
        assert np.allclose(got, want[body], rtol=1e-7, atol=1e-7 * (1 + most)), body
        assert np.allclose(motion.position[0], data.oMf[k].translation, atol=1e-12)
