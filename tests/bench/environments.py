"""What acting on an arm of six for 5 steps costs, by turns with MuJoCo, CPU time.

``python tests/bench/environments.py``; MuJoCo, if it is there, steps the same bodies.
"""

import time

import numpy as np

import mbd

AXES = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]
LENGTHS, MASSES = [0.3, 0.4, 0.4, 0.2, 0.2, 0.1], [4.0, 3.0, 3.0, 1.5, 1.0, 0.5]
SUBSTEPS, MANY = 5, 64


def arm():
    """Return an arm of six links on hinges with motors, and the same for MuJoCo."""
    system, before, at = mbd.System(gravity=(0, 0, -9.81)), None, np.zeros(3)
    head, tail, motors, offset = "", "", "", np.zeros(3)
    for i, (axis, length, mass) in enumerate(zip(AXES, LENGTHS, MASSES, strict=True)):
        way = length * np.array([0.0, 0, 1] if i == 0 else [1.0, 0, 0])
        inertia = mass * np.array([0.02, 0.03, 0.03])
        link = mbd.RigidBody(f"link{i}", mass=mass, inertia=inertia, position=at + 0.5 * way)
        system.add(link)
        joint = mbd.Revolute(f"joint{i}", before or system.ground, link, at=at, axis=axis)
        system.add(joint)
        system.add(mbd.Motor(f"motor{i}", joint, 0.0))
        pos, axis_, com, diagonal = (
            " ".join(map(str, x)) for x in (offset, axis, 0.5 * way, inertia)
        )
        head += f'<body pos="{pos}"><joint name="j{i}" axis="{axis_}"/>'
        head += f'<inertial pos="{com}" mass="{mass}" diaginertia="{diagonal}"/>'
        tail, motors = tail + "</body>", motors + f'<motor joint="j{i}"/>'
        before, at, offset = link, at + way, way
    option = '<option timestep="1e-3" integrator="implicitfast"/>'
    body = f"<worldbody>{head}{tail}</worldbody><actuator>{motors}</actuator>"
    return system, f"<mujoco>{option}{body}</mujoco>"


def main():
    """Print microseconds for each action."""
    system, xml = arm()
    model = system.build()
    sets = [f"motor{i}.effort" for i in range(6)]
    sees = [f"joint{i}.{x}" for x in ("angle", "angle_rate") for i in range(6)]
    actions = np.random.default_rng(0).normal(size=(200, 6))
    calls = {}
    for tol in (1e-9, 1e-6):
        method = mbd.GeneralizedAlpha(tol=tol)
        one = mbd.Environment(model, 1e-3, sets, sees, substeps=SUBSTEPS, method=method)
        many = mbd.Environments(one, MANY)
        calls[f"Environment, tol={tol:g}"] = one.reset, one.step, 1
        calls[f"Environments, tol={tol:g}"] = many.reset, lambda u, e=many: e.step([u] * MANY), MANY
    try:
        import mujoco
    except ImportError:
        print("no MuJoCo here")
    else:
        other = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(other)

        def act(u):
            data.ctrl[:] = u
            mujoco.mj_step(other, data, SUBSTEPS)

        calls["mj_step"] = lambda: mujoco.mj_resetData(other, data), act, 1
    best = dict.fromkeys(calls, np.inf)
    for _ in range(7):
        for name, (reset, step, n) in calls.items():
            reset()
            clock = time.process_time()
            for u in actions:
                step(u)
            best[name] = min(best[name], (time.process_time() - clock) / len(actions) / n)
    for name, spent in best.items():
        print(f"{name:>28}: {1e6 * spent:7.1f} us")


if __name__ == "__main__":
    main()
