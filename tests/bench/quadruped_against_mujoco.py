"""A quadruped that stands on a slope, beside MuJoCo, and what its contacts cost.

    python tests/bench/quadruped_against_mujoco.py [slope in rad]

``models/quadruped.xml``, servos hold the joints. Both come to rest for 5 s and stand 10 s more: how
far the feet go in these, and how fast the trunk is at the end. Then what a step costs with other
feet, standing (steps are quiet) and for 0.1 s in which it lands (contacts open and
close). CPU seconds.
"""

import sys
import time
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import mbd

MODELS = Path(__file__).parents[2] / "models"
sys.path.insert(0, str(MODELS))

import quadruped  # noqa: E402

LEGS, G, STEP = [*quadruped.LEGS], 9.81, 1e-3
SETTLED, END = 5.0, 15.0


def ours(slope):
    """Return how far feet go [m], speed of the trunk [m/s], and CPU time of a step [s]."""
    system = quadruped.build(slope)
    mbd.simulate(system, 0.01, STEP)  # compiled
    start = time.process_time()
    run = mbd.simulate(system, END, STEP)
    cost = (time.process_time() - start) / (END / STEP)
    late = run.t >= SETTLED - 1e-9
    feet = [mbd.contacts(run, f"{leg} shank on floor").point[late] for leg in LEGS]
    way = max(np.linalg.norm(x - x[0], axis=-1).max() for x in feet)
    return way, np.linalg.norm(run["trunk"].velocity[-1]), cost


def theirs(slope, **options):
    """Return the same of MuJoCo; `options` of its model."""
    model = mujoco.MjModel.from_xml_path(str(MODELS / "quadruped.xml"))
    model.opt.gravity[:] = -G * np.array([np.sin(slope), 0.0, np.cos(slope)])
    model.opt.timestep = STEP
    for key, x in options.items():
        setattr(model.opt, key, x)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    ids = [model.geom(f"{leg} foot").id for leg in LEGS]
    spent, start = 0.0, None
    for seconds in (SETTLED, END - SETTLED):
        begin = time.process_time()
        for _ in range(round(seconds / STEP)):
            mujoco.mj_step(model, data)
        spent += time.process_time() - begin
        mujoco.mj_forward(model, data)
        if start is None:
            start = data.geom_xpos[ids].copy()
    way = np.linalg.norm(data.geom_xpos[ids] - start, axis=1).max()
    return way, np.linalg.norm(data.qvel[:3]), spent / (END / STEP)


TURNED = Rotation.from_euler("y", 0.8).as_matrix()  # of shanks as they stand
FEET = {
    f"{n} ball{'s' * (n > 1)} a foot": [
        mbd.Sphere(0.02, at=(0, 0.01 * (i - 0.5 * (n - 1)), -0.2)) for i in range(n)
    ]
    for n in (1, 2, 3)
} | {"a box a foot": mbd.Box((0.04, 0.04, 0.04), at=(0, 0, -0.2), rotation=TURNED)}


def scaled(shape, height):
    """Return the robot on feet of some shape, a height [m] above the floor."""
    robot = mbd.read(quadruped.FILE, keyframe="stand")
    system = robot.system
    for leg in LEGS:
        foot = system[f"{leg} shank"]
        system.add(mbd.Contact(f"{leg} foot", system.ground, foot, shape=shape, friction=0.8,
                               through=(0, 0, -height)))  # fmt: skip
    return system.build()


def cost(model, t_end, **options):
    """Return the time of a step [us] and iterations in it, the least of three."""
    mbd.simulate(model, 0.01, STEP, **options)
    runs = [mbd.simulate(model, t_end, STEP, **options).stats for _ in range(3)]
    steps = round(t_end / STEP)
    return 1e6 * min(x["seconds"] for x in runs) / steps, runs[0]["iterations"] / steps


def main():
    """Print the tables."""
    slope = float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    print(f"slope of {slope:g} rad, {END - SETTLED:g} s after {SETTLED:g} s, steps of {STEP:g} s")
    print(f"{'':34} {'feet go':>10} {'trunk':>12} {'a step':>9}")
    elliptic = mujoco.mjtCone.mjCONE_ELLIPTIC
    rows = {
        "ours": ours(slope),
        "mujoco": theirs(slope),
        "mujoco, elliptic": theirs(slope, cone=elliptic),
        "mujoco, elliptic, impratio 100": theirs(slope, cone=elliptic, impratio=100.0),
        "mujoco, the same, noslip 20": theirs(
            slope, cone=elliptic, impratio=100.0, noslip_iterations=20
        ),
    }
    for name, (way, speed, spent) in rows.items():
        print(f"{name:34} {way:8.1e} m {speed:8.1e} m/s {1e6 * spent:6.0f} us")
    print("\nhow a step [us] grows, and iterations in it")
    print(f"{'':34} {'standing':>15} {'as it lands':>15}")
    for name, shape in FEET.items():
        stands, falls = cost(scaled(shape, 0.0), 2.0), cost(scaled(shape, 0.01), 0.1)
        print(f"{name:34} " + " ".join(f"{us:8.0f} {k:6.1f}" for us, k in (stands, falls)))


if __name__ == "__main__":
    main()
