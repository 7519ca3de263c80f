"""What steps with contacts cost, beside joints and beside MuJoCo.

    python tests/bench/contacts.py

Counts (steps, iterations and factorisations a step, halved steps), microseconds of the processor a
step in the compiled loop, the least of turns: bodies that rest on a point against bodies that hang
in a spherical joint met by positions, by positions and velocities, and by three levels; stacks that
are dropped and that slide; boxes that tumble, more and more of them. Where MuJoCo is installed, its
own milliseconds, how far a box creeps on a slope, and how deep stacks sink.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import mbd

TURNS = 5


def scene():
    return mbd.System(gravity=(0.0, 0.0, -9.81))


def box_on(system, name, side, **motion):
    """Add a cube of 1 kg."""
    inertia = (side**2 / 6,) * 3
    return system.add(
        mbd.RigidBody(name, mass=1.0, inertia=inertia, shape=mbd.Box((side,) * 3), **motion)
    )


def resting(n):
    """Return n balls on the ground."""
    system = scene()
    for k in range(n):
        ball = mbd.RigidBody(
            f"ball {k}", mass=1.0, inertia=(4e-3,) * 3, shape=mbd.Sphere(0.1), position=(k, 0, 0.1)
        )
        system.add(ball)
        system.add(mbd.Contact(f"floor {k}", system.ground, ball, friction=0.5))
    return system


def hanging(n):
    """Return n balls, each in a spherical joint at its lowest point."""
    system = scene()
    for k in range(n):
        ball = mbd.RigidBody(f"ball {k}", mass=1.0, inertia=(4e-3,) * 3, position=(k, 0, 0.1))
        system.add(ball)
        system.add(mbd.Spherical(f"joint {k}", system.ground, ball, at=(k, 0, 0)))
    return system


def stack(n, gap, tilt, speed):
    """Return n boxes on each other, `gap` apart, turned by `tilt`, the topmost with a speed."""
    system, side = scene(), 0.2
    below = system.ground
    for k in range(n):
        height = k * (side + gap + 0.25 * abs(tilt))
        box = box_on(
            system, f"box {k}", side, position=(0, 0, height + gap + side / 2 + 0.1 * abs(tilt)),
            rotation=Rotation.from_rotvec([0, (-1) ** k * tilt, 0]).as_matrix(),
            velocity=(speed if k == n - 1 else 0.0, 0, 0),
        )  # fmt: skip
        through = (0, 0, 0) if k == 0 else below.position + below.rotation @ [0, 0, side / 2]
        normal = (0, 0, 1) if k == 0 else below.rotation[:, 2]
        contact = mbd.Contact(f"on {k}", below, box, friction=0.5, through=through, normal=normal)
        system.add(contact)
        below = box
    return system


def tumbling(n):
    """Return n boxes that are thrown, on one floor each of 8 corners."""
    system, rng = scene(), np.random.default_rng(1)
    for k in range(n):
        turn = Rotation.from_quat(rng.normal(size=4)).as_matrix()
        box = box_on(
            system, f"box {k}", 0.2, position=(k, 0, 0.35), rotation=turn,
            angular_velocity=6 * rng.normal(size=3),
        )  # fmt: skip
        system.add(mbd.Contact(f"floor {k}", system.ground, box, friction=0.5, restitution=0.2))
    return system


def report(label, system, t_end, h, method=None):
    """Print counts and the least time of turns."""
    model = system.build()
    seconds = np.inf
    for _ in range(TURNS):
        solution = mbd.simulate(model, t_end, h, method=method, progress=False)
        seconds = min(seconds, solution.stats["seconds"])
    s = solution.stats
    n = s["steps"]
    print(
        f"{label:44s} {n:6d} {s['iterations'] / n:6.2f} {s['factorizations'] / n:6.2f}"
        f" {s['rejected']:4d} {1e6 * seconds / n:9.2f}"
    )
    return solution


def mujoco_stack(n, gap, slope=0.0):
    """Return ms a step, and the motion of the topmost box of a stack of MuJoCo in 10 s."""
    import time

    import mujoco

    boxes = "".join(
        f'<body pos="0 0 {k * (0.2 + gap) + gap + 0.1}"><freejoint/>'
        '<geom type="box" size=".1 .1 .1" mass="1" friction="0.6"/></body>'
        for k in range(n)
    )
    g = 9.81
    text = (
        f'<mujoco><option timestep="0.002" gravity="{g * np.sin(slope)} 0 {-g * np.cos(slope)}"'
        ' cone="elliptic"/><worldbody><geom type="plane" size="9 9 1" friction="0.6"/>'
        f"{boxes}</worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    start = time.process_time()
    for _ in range(5000):
        mujoco.mj_step(model, data)
    seconds = time.process_time() - start
    return 1e3 * seconds / 5000, data.qpos[-7:-4]


def main():
    print(f"{'':44s} {'steps':>6s} {'it':>6s} {'LU':>6s} {'half':>4s} {'us':>9s}")
    report("20 balls that rest on a point", resting(20), 2.0, 1e-3)
    for level in ("position", "stabilized"):
        method = mbd.GeneralizedAlpha(constraints=level)
        report(f"20 spherical joints, {level}", hanging(20), 2.0, 1e-3, method)
    report("20 spherical joints, three levels", hanging(20), 2.0, 1e-3, mbd.NonsmoothAlpha())
    for n in (2, 5):
        report(f"stack of {n} at rest", stack(n, 0, 0, 0), 1.0, 2e-3)
        report(f"stack of {n} dropped flat", stack(n, 5e-3, 0, 0), 1.0, 2e-3)
        report(f"stack of {n} dropped tilted", stack(n, 5e-3, 0.1, 0), 1.0, 2e-3)
        report(f"stack of {n}, the uppermost slides", stack(n, 0, 0, 0.5), 1.0, 2e-3)
    for n in (1, 2, 5, 10):
        report(f"{n} boxes that tumble, {8 * n} contacts", tumbling(n), 1.2, 2e-3)
    try:
        import mujoco  # noqa: F401
    except ImportError:
        return
    for n in (1, 2, 5):
        ms, at = mujoco_stack(n, 5e-3)
        print(
            f"MuJoCo, stack of {n}: {1e3 * ms:.1f} us a step, sunk by {0.2 * n - 0.1 - at[2]:.1e} m"
        )
    _, at = mujoco_stack(1, 0.0, np.radians(25))
    print(f"MuJoCo, box on a slope of 25 degrees, friction 0.6: creeps {at[0]:.1e} m in 10 s")


if __name__ == "__main__":
    main()
